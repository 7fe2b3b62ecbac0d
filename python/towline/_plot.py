"""Pictures of a run, by Matplotlib."""

from __future__ import annotations

from fnmatch import fnmatch
from typing import Any

import numpy as np

#: Rows of a picture, at most: more cannot be looked at.
MOST = 12


def densities_and_traces(run: Any, params: list[str]) -> Any:
    """For each parameter its density (a line a chain) and its trace."""
    try:
        from matplotlib import pyplot

        from ._picture import Picture
    except ImportError:
        raise ImportError("plot() needs matplotlib: pip install matplotlib") from None
    known = [*run.names, *run.latent_names]
    names = [name for name in known if any(fnmatch(name, one) for one in params)] if params else run.names[:MOST]
    if not names:
        raise ValueError(f"there is no parameter {', '.join(params)}; there are {', '.join(run.names)}")
    labels = {column["name"]: column.get("label") for column in [*run.manifest["columns"], *run.manifest["latents"]]}
    size = (9, 1.7 * len(names) + 0.4)
    figure, axes = pyplot.subplots(len(names), 2, squeeze=False, figsize=size, layout="constrained", FigureClass=Picture)
    for row, (left, right) in enumerate(axes):
        name = names[row]
        for chain in run[name]:
            centres, height = _density(chain)
            left.plot(centres, height, linewidth=1)
            right.plot(chain, linewidth=0.5)
        left.set_ylabel(f"${labels[name]}$" if labels[name] else name)
        left.set_yticks([])
        right.margins(x=0)
    axes[-1][1].set_xlabel("draw")
    return figure


def _density(draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A histogram smoothed by a Gaussian of Silverman's width."""
    spread = np.std(draws)
    if not spread > 0 or not np.isfinite(spread):
        return np.asarray(draws[:1]), np.ones(1)
    low, high = np.min(draws), np.max(draws)
    edges = np.linspace(low - 0.1 * (high - low), high + 0.1 * (high - low), 257)
    counts, _ = np.histogram(draws, edges, density=True)
    quartiles = np.subtract(*np.quantile(draws, [0.75, 0.25])) / 1.349
    width = 0.9 * min(spread, quartiles or spread) * len(draws) ** -0.2 / (edges[1] - edges[0])
    reach = np.arange(-127, 128)
    kernel = np.exp(-0.5 * (reach / max(width, 0.5)) ** 2)
    return 0.5 * (edges[1:] + edges[:-1]), np.convolve(counts, kernel / kernel.sum(), mode="same")

