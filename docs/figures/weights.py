"""The picture of docs/explain/estimates: what is learned, how wrong it is, and what is left of that.

Run it with the package installed: python docs/figures/weights.py docs/figures/weights.png
"""

import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import towline

rng = np.random.default_rng(4)
run = towline.sample_density(
    lambda x: (x[0], np.sin(x[0])),
    lambda c, y: -c[0] ** 2 - 50 * (1 + c[0] ** 2) ** 2 * (y[0] - c[1]) ** 2,
    [0.5],
    [0.0],
    slow_names=["x"],
    fast_names=["y"],
    error=0.03,
    cost_ratio=1e5,
    seed=2,
    out=Path(tempfile.mkdtemp()) / "run",
    progress=False,
)
draws = run.weighted
found = run.estimates()["x"]
grid = np.linspace(-2.2, 2.2, 400)
exact = np.exp(-(grid**2)) / (1 + grid**2)
exact /= exact.sum() * (grid[1] - grid[0])

x = draws["x"].reshape(-1)
points, index = np.unique(x, return_index=True)
weight = np.array([draws["weight"][x == point].sum() for point in points]) * len(points)

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
spread = np.ptp(weight)
bottom.set_ylabel("weight")
bottom.set_xlabel("slow parameter x")
slow = run.summary().cost["slow_evals"]
top.set_title(f"{len(points)} slow points after {slow - len(points)} to learn: worth {found['equivalent_draws']:,.0f} independent draws", fontsize=10)
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "weights.png", dpi=150)
