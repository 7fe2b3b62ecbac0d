"""Cobaya's own R-1, of means and of bounds, from the rows of a run directory: the log, `.progress` and the stop use the same."""

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from getdist.chains import WeightedSamples

from towline import _towline

# When the engine asks whether there is enough: after so many draws of each chain, and after every fifth more.
FIRST_CHECK = 100


def checks(most):
    """All numbers of draws, up to this, at which convergence is looked at."""
    at = FIRST_CHECK
    while at <= most:
        yield at
        at += at // 5


class Rows:
    """The rows of all chains of a run directory, read as they come."""

    def __init__(self, folder):
        self.folder = Path(folder)
        manifest = json.loads((self.folder / "manifest.json").read_text())
        self.columns = [column["name"] for column in manifest["columns"]]
        self.statistics = manifest["statistics"]
        self.width = len(self.columns) + len(self.statistics)
        self._known = [np.empty((0, self.width)) for _ in range(manifest["chains"])]

    def all(self):
        """What there is of every chain."""
        for k, known in enumerate(self._known):
            path = self.folder / f"chain-{k}.f64"
            if path.exists():
                data = np.fromfile(path, "<f8", offset=8 * self.width * len(known))
                new = data[: len(data) // self.width * self.width].reshape(-1, self.width)
                self._known[k] = np.concatenate([known, new])
        return self._known

    def draws(self):
        """How many draws every chain has."""
        return min(len(rows) for rows in self.all())

    def first(self, draws, names):
        """The first draws of each chain, of these columns."""
        places = [self.columns.index(name) for name in names]
        return [rows[:draws, places] for rows in self.all()]

    def acceptance(self, draws=None):
        """The share of slow proposals that were accepted: of the first draws of each chain, or of all."""
        place = len(self.columns) + self.statistics.index("outer_accepted")
        accepted = np.concatenate([rows[:draws, place] for rows in self.all()])
        return float(accepted.mean()) if len(accepted) else float("nan")


def collapsed(draws):
    """Different rows, and how often each stands there in turn: what Cobaya calls the accepted steps and their weights."""
    if not len(draws):
        return draws, np.zeros(0, dtype=int)
    new = np.r_[True, (draws[1:] != draws[:-1]).any(axis=1)]
    return draws[new], np.diff(np.r_[np.flatnonzero(new), len(draws)])


def pieces(chains, split):
    """What is compared, as `mcmc` does it: the second halves of several chains; of a single one, equal parts without the first."""
    together = [collapsed(draws) for draws in chains]
    if len(together) > 1:
        return [(values[len(values) // 2 :], weights[len(values) // 2 :], len(values)) for values, weights in together]
    values, weights = together[0]
    cut = len(values) // (1 + split)
    ranges = [(i * cut, (i + 1) * cut - 1) for i in range(1, 1 + split)]
    return [(values[a:b], weights[a:b], cut) for a, b in ranges]


def r_minus_one(parts):
    """R-1 of the means: the largest eigenvalue of the means' covariance in units of the mean covariance."""
    d = parts[0][0].shape[1]
    if any(len(values) < 2 for values, _, _ in parts):
        return np.inf
    means = np.array([np.average(values, weights=weights, axis=0) for values, weights, _ in parts])
    within = np.average(
        [np.cov(values.T, ddof=0, fweights=weights).reshape(d, d) for values, weights, _ in parts],
        weights=[number for _, _, number in parts],
        axis=0,
    )
    between = np.cov(means.T).reshape(d, d)
    scale = np.sqrt(np.diag(within))
    if not (scale > 0).all():
        return np.inf
    try:
        root = np.linalg.cholesky(within / np.outer(scale, scale))
    except np.linalg.LinAlgError:
        return np.inf
    half = np.linalg.solve(root, between / np.outer(scale, scale))
    return float(np.abs(np.linalg.eigvalsh(np.linalg.solve(root, half.T))).max())


def r_minus_one_of_bounds(parts, level):
    """The same of the ends of confidence intervals: their spread in units of the standard deviation, of the worst parameter."""
    d = parts[0][0].shape[1]
    try:
        samples = [WeightedSamples(samples=values, weights=weights.astype(float)) for values, weights, _ in parts]
        bounds = [[[s.confidence(i, level / 2, upper) for i in range(d)] for upper in (False, True)] for s in samples]
    except Exception:
        # Too few rows for GetDist: as with mcmc, wait for the next check.
        return np.inf
    numbers = [number for _, _, number in parts]
    variances = [np.cov(values.T, ddof=0, fweights=weights).reshape(d, d).diagonal() for values, weights, _ in parts]
    spread = np.std(bounds, axis=0) / np.sqrt(np.average(variances, weights=numbers, axis=0))
    return float(spread.max()) if np.isfinite(spread).all() else np.inf


@dataclass
class Convergence:
    """What was asked for, and whether so many draws are it. It is sent to other processes as plain data."""

    folder: str
    names: list
    stop: float
    stop_bounds: float
    level: float = 0.95
    split: int = 4
    ess: float | None = None
    # Called with the draws at every check, where that is in the sampler's own process.
    at_check: object = field(default=None, repr=False)

    def __getstate__(self):
        return self.__dict__ | {"at_check": None, "_rows": None}

    def rows(self):
        """The run's."""
        if self.__dict__.get("_rows") is None:
            self._rows = Rows(self.folder)
        return self._rows

    def of(self, draws):
        """R-1 of the means and of the bounds of the first draws of each chain."""
        parts = pieces(self.rows().first(draws, self.names), self.split)
        return r_minus_one(parts), r_minus_one_of_bounds(parts, self.level)

    def means_alone(self, draws):
        """R-1 of the means."""
        return r_minus_one(pieces(self.rows().first(draws, self.names), self.split))

    def __call__(self, draws):
        """Whether it is enough: R-1 of the means twice in a row, then of the bounds, as with `mcmc`; and effective draws."""
        if self.at_check is not None:
            self.at_check(draws)
        before = [at for at in checks(draws) if at < draws]
        if not before or not self.means_alone(draws) < self.stop:
            return False
        if not self.means_alone(before[-1]) < self.stop or not self.of(draws)[1] < self.stop_bounds:
            return False
        # At a check all chains have written their digests up to the same draw.
        return self.ess is None or _towline.worst(self.folder)[1] >= self.ess
