"""Draws two mixed models' posteriors beside other programs' estimates: mixed.py TOENAIL EPIL PICTURE.

TOENAIL and EPIL are run directories, made by

    towline fit examples/glmm_toenail/model.toml --chains 2 --draws 6000 --out TOENAIL
    towline fit examples/glmm_epil/model.toml --chains 2 --draws 4000 --out EPIL

mixed_peers.csv holds what others give, computed for this project: glmer (lme4) maximises the likelihood, by adaptive
quadrature with 20 points (toenail) or by Laplace's approximation (toenail too; epil's two random effects leave it no choice); its intervals are
the estimate ± 1.645 standard errors, and it gives none for a standard deviation. NUTS is NumPyro's, with our priors: medians and 5
and 95 per cent quantiles (of a standard deviation: the exponentials of those of its logarithm).
"""

import csv
import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

COLOURS = {"Towline": "#2166ac", "NUTS": "#1a1a1a", "glmer Laplace": "#b2182b", "glmer nAGQ = 20": "#e08214"}


def draws(folder):
    """All draws of a run by name."""
    manifest = json.loads((folder / "manifest.json").read_text())
    names = [column["name"] for column in manifest["columns"]]
    width = len(names) + len(manifest["statistics"])
    rows = [np.fromfile(folder / f"chain-{k}.f64", "<f8") for k in range(manifest["chains"])]
    rows = np.concatenate([chain[: len(chain) // width * width].reshape(-1, width) for chain in rows])
    return {name: rows[:, k] for k, name in enumerate(names)}


def density(values):
    """A smoothed histogram."""
    edges = np.linspace(*np.quantile(values, [0.0005, 0.9995]), 81)
    height, _ = np.histogram(values, edges, density=True)
    kernel = np.exp(-0.5 * (np.arange(-9, 10) / 3.0) ** 2)
    return 0.5 * (edges[1:] + edges[:-1]), np.convolve(height, kernel / kernel.sum(), mode="same")


def panel(axes, name, values, peers):
    """One parameter: our density, and below it everybody's interval of 90 per cent."""
    places, height = density(values)
    axes.fill_between(places, height / height.max(), color=COLOURS["Towline"], alpha=0.25, linewidth=0)
    axes.plot(places, height / height.max(), color=COLOURS["Towline"])
    low, middle, high = np.quantile(values, [0.05, 0.5, 0.95])
    bars = [("Towline", middle, low, high)]
    for peer in peers:
        ends = [float(peer[end]) if peer[end] else float(peer["estimate"]) for end in ("low", "high")]
        bars.append((peer["program"], float(peer["estimate"]), *ends))
    for k, (program, middle, low, high) in enumerate(bars):
        axes.plot([low, high], [-0.13 - 0.13 * k] * 2, color=COLOURS[program], linewidth=1.5)
        axes.plot(middle, -0.13 - 0.13 * k, "o", color=COLOURS[program], markersize=4)
    axes.set_title(name, fontsize=9)
    axes.set_yticks([])
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right", "left"]].set_visible(False)


def main(toenail, epil, picture):
    peers = list(csv.DictReader((Path(__file__).parent / "mixed_peers.csv").open(newline="")))
    runs = {"toenail": draws(Path(toenail)), "epil": draws(Path(epil))}
    columns = 5
    shown = [("toenail", name) for name in runs["toenail"]] + [("epil", name) for name in runs["epil"]]
    rows = [shown[:5], shown[5:10], shown[10:]]
    figure, axes = plt.subplots(3, columns, figsize=(12, 6.4), layout="constrained")
    for line, row in zip(axes, rows):
        for k, one in enumerate(line):
            if k >= len(row):
                one.set_visible(False)
                continue
            model, name = row[k]
            of = [peer for peer in peers if (peer["model"], peer["parameter"]) == (model, name)]
            panel(one, f"{model}: {name}", runs[model][name], of)
    for program, colour in COLOURS.items():
        figure.axes[0].plot([], [], "o-", color=colour, label=program)
    figure.legend(loc="lower right", bbox_to_anchor=(0.95, 0.08), frameon=False, title="median or estimate, 90 % interval")
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])
