"""Draws how cost grows with size: scaling.py FILE.csv PICTURE.png (what benches/scaling.py measured)."""
import csv
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

rows = list(csv.DictReader(open(sys.argv[1], newline="")))
figure, axes = plt.subplots(1, 3, figsize=(12, 4.4), constrained_layout=True)
for kind, colour, label, power in (
    ("dense", "#2166ac", "Gaussian process, N places", 3),
    ("sparse", "#b2182b", "grouped effects, N groups", 1),
    ("nngp", "#1b7837", "nngp, N places", 1.5),
    ("spde", "#762a83", "spde, N mesh nodes", 1.5),
):
    of = [row for row in rows if row["kind"] == kind]
    if not of:
        continue
    n = [int(row["n"]) for row in of]
    seconds = [1000 * float(row["seconds_per_draw"]) for row in of]
    axes[0].loglog(n, seconds, "o-", color=colour, label=label)
    # From the last point, where the highest power rules.
    axes[0].loglog(n, [seconds[-1] * (k / n[-1]) ** power for k in n], "--", color=colour, alpha=0.5, label=f"∝ N{ {3: '³', 1.5: '^1.5'}.get(power, '')}")
    timed = [row for row in of if row["autocorrelation_time"]]
    axes[1].semilogx([int(row["n"]) for row in timed], [float(row["autocorrelation_time"]) for row in timed], "o-", color=colour)
    axes[2].loglog(n, [float(row["megabytes"]) for row in of], "o-", color=colour)
axes[0].set_ylabel("CPU milliseconds per draw")
axes[1].set_ylabel("autocorrelation time of the worst covariance parameter")
axes[1].yaxis.label.set_fontsize(8)
axes[1].set_ylim(bottom=0)
axes[2].set_ylabel("peak memory, MB")
figure.legend(loc="outside lower center", ncol=4, frameon=False, fontsize=8)
for axis in axes:
    axis.set_xlabel("N")
    axis.spines[["top", "right"]].set_visible(False)
figure.savefig(sys.argv[2], dpi=130)
