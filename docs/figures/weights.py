"""The picture of docs/howto/estimates.md: slow points drawn from what was learned, and how wrong that is.

Needs NumPy and Matplotlib: python docs/figures/weights.py target/release/towline docs/figures/weights.png
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

command, picture = sys.argv[1:]
folder = Path(tempfile.mkdtemp()) / "run"
options = ["--error", "0.03", "--cost-ratio", "100000", "--seed", "3", "--quiet", "--out", folder]
subprocess.run([command, "run", "neal1", *map(str, options)], check=True)
told = json.loads((folder / "estimates.json").read_text())
found = next(column for column in told["columns"] if column["name"] == "x")
x, _, _, share = np.fromfile(folder / "weighted.f64", "<f8").reshape(-1, 4).T
grid = np.linspace(-2.2, 2.2, 400)
exact = np.exp(-(grid**2)) / (1 + grid**2)
exact /= exact.sum() * (grid[1] - grid[0])

points = np.unique(x)
weight = np.array([share[x == point].sum() for point in points]) * len(points)

figure, (top, bottom) = plt.subplots(2, 1, figsize=(6.4, 5.2), sharex=True, height_ratios=[3, 2], layout="constrained")
top.fill_between(grid, exact, color="0.85", label="the posterior of x (exact)")
top.hist(points, bins=np.linspace(-2.2, 2.2, 23), density=True, histtype="step", color="tab:blue", label="slow points: draws of what was learned")
top.plot(points, np.full(len(points), -0.03), "|", color="tab:blue", ms=7)
top.errorbar(found["mean"], 0.9, xerr=found["se"], fmt="o", color="tab:red", capsize=3, ms=4, label="estimated mean and its error")
top.set_ylabel("density")
top.set_ylim(-0.07, 1.12)
top.legend(frameon=False, fontsize=8, loc="upper left")
bottom.axhline(1, color="0.7", lw=1)
bottom.plot(points, weight, ".", color="tab:blue", ms=5)
bottom.set_ylabel("share × points")
bottom.set_xlabel("slow parameter x")
top.set_title(f"{len(points)} slow points after {told['learning_slow_evals']} to learn: worth {found['equivalent_draws']:,.0f} independent draws", fontsize=10)
figure.savefig(picture, dpi=150)
