"""From a run directory to Cobaya's own collections of samples: weighted rows, text files that GetDist reads."""

import json
from pathlib import Path

import numpy as np
from cobaya.collection import SampleCollection


class Reader:
    """The rows of one chain of a run directory, as they come."""

    def __init__(self, folder, chain):
        self.path = Path(folder) / f"chain-{chain}.f64"
        manifest = json.loads((Path(folder) / "manifest.json").read_text())
        self.columns = [column["name"] for column in manifest["columns"]]
        self.width = len(self.columns) + len(manifest["statistics"])
        self.seen = 0

    def new(self):
        """Whole rows since the last time."""
        if not self.path.exists():
            return np.empty((0, self.width))
        data = np.fromfile(self.path, "<f8", offset=8 * self.width * self.seen)
        rows = data[: len(data) // self.width * self.width].reshape(-1, self.width)
        self.seen += len(rows)
        return rows


class Chain:
    """A chain as a `SampleCollection`, which is a function of the run directory alone.

    Consecutive equal draws are one row with their number as its weight. The last is kept back until a different one comes, or
    the run ends.
    """

    def __init__(self, model, output, evaluator, folder, chain, batch, temperature=1):
        self.collection = SampleCollection(
            model,
            output,
            name=str(chain + 1),
            resuming=False,
            sample_type="mcmc",
            is_batch=batch,
            temperature=temperature,
        )
        self._reader = Reader(folder, chain)
        place = {name: k for k, name in enumerate(self._reader.columns)}
        derived = evaluator.derived_names
        n_derived, n_priors = len(evaluator.derived_params), len(evaluator.prior_names)
        self._sampled = [place[name] for name in evaluator.names]
        self._derived = [place[name] for name in derived[:n_derived]]
        self._priors = [place[name] for name in derived[n_derived : n_derived + n_priors]]
        self._likes = [place[name] for name in derived[n_derived + n_priors :]]
        self._last, self._weight = None, 0
        self.draws = 0

    def update(self, ended=False):
        """Takes in what has been drawn since, and writes it."""
        for row in self._reader.new():
            self.draws += 1
            values = row[self._sampled]
            if self._last is not None and np.array_equal(values, self._last[self._sampled]):
                self._weight += 1
                continue
            self._flush()
            self._last, self._weight = row, 1
        if ended:
            self._flush()
        self.collection.out_update()

    def _flush(self):
        if self._last is not None:
            self.collection.add(
                self._last[self._sampled],
                logpriors=self._last[self._priors],
                loglikes=self._last[self._likes],
                derived=self._last[self._derived],
                weight=self._weight,
            )
        self._last, self._weight = None, 0
