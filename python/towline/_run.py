"""A run: its draws as arrays, its summary, and what other people's tools make of it."""

from __future__ import annotations

import json
import os
import warnings
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from . import _towline


class Run:
    """A run, finished or not: what `sample`, `resume` and `open` return."""

    def __init__(self, path: str | os.PathLike[str], ended: str | None = None, temporary: Any = None, model: Any = None) -> None:
        self.path = Path(path)
        self._directory = _towline.Directory(self.path)
        #: How it ended: "finished", "target reached", "time limit" or "stopped"; None for a run that was opened.
        self.ended = ended
        self._temporary = temporary
        self._model = model

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """What was run."""
        return json.loads(self._directory.manifest())

    @property
    def names(self) -> list[str]:
        """Parameters and derived quantities, without latents."""
        return [column["name"] for column in self.manifest["columns"]]

    @property
    def latent_names(self) -> list[str]:
        """The latents."""
        return [column["name"] for column in self.manifest["latents"]]

    @property
    def chains(self) -> int:
        """How many chains there are."""
        return self.manifest["chains"]

    @property
    def draws_made(self) -> int:
        """How many draws every chain has."""
        return min(self._directory.rows())

    @property
    def finished(self) -> bool:
        """Whether every chain has all its draws, or has reached its target."""
        return self._directory.finished()

    @cached_property
    def draws(self) -> dict[str, np.ndarray]:
        """The draws by name, each an array of shape (chains, draws); latents are in `latents`."""
        return {name: np.array(chains) for name, chains in zip(self.names, self._directory.columns())}

    @cached_property
    def latents(self) -> dict[str, np.ndarray]:
        """The draws of latents by name, once in `thin_latents` draws."""
        names = self.latent_names
        if not names:
            return {}
        chains = []
        for chain, whole in enumerate(self._directory.latent_rows()):  # what follows the rows that were stored is nobody's
            file = self.path / f"latents-{chain}.f64"
            numbers = np.fromfile(file, "<f8", count=whole * len(names)) if whole else np.empty(0)
            chains.append(numbers[: whole * len(names)].reshape(whole, len(names)))
        common = min(len(rows) for rows in chains)
        stacked = np.stack([rows[:common] for rows in chains])
        return {name: stacked[:, :, k] for k, name in enumerate(names)}

    @cached_property
    def statistics(self) -> dict[str, np.ndarray]:
        """Of each draw: log_density, outer_accepted, slow_evals, fast_evals."""
        return {name: np.array(self._directory.column(name, "statistic")) for name in self.manifest["statistics"]}

    def __getitem__(self, name: str) -> np.ndarray:
        if name in self.latent_names:
            return self.latents[name]
        if name not in self.draws:
            raise KeyError(f"there is no {name!r}; there are {', '.join(self.names)}")
        return self.draws[name]

    @property
    def tuning(self) -> dict[str, Any] | None:
        """What warm-up learned: it can be given to another run."""
        return self.manifest["tuning"]

    @property
    def failures(self) -> list[dict[str, Any]]:
        """The evaluations that failed: chain, step, x and y on the chain's scale, message."""
        return json.loads(self._directory.failures())

    def summary(self, params: list[str] | str | None = None) -> Summary:
        """Means, quantiles, effective draws and R-hat of all parameters, or of these (a star at the end is any ending)."""
        return Summary(*_towline.summary(self.path, _chosen(params)))

    @cached_property
    def _estimated(self) -> dict[str, Any]:
        file = self.path / "estimates.json"
        if not file.exists():
            raise ValueError("this run has no weights of slow points: sample with error=0.03, say")
        return json.loads(file.read_text())

    def estimates(self) -> dict[str, dict[str, Any]]:
        """What the weights of slow points say, by name: mean, sd, se, se_sd, equivalent_draws, quantiles (5, 50, 95 %) and their errors.

        For runs made with `error=`. Where the chains' draws were cheaper, these are from the few points that told so.
        """
        return {one["name"]: {key: value for key, value in one.items() if key != "name"} for one in self._estimated["columns"]}

    def evidence(self) -> dict[str, float]:
        """ln Z, the logarithm of the integral of likelihood times priors, and its standard error: `ln_z` and `se`."""
        found = self._estimated["evidence"]
        if found is None:
            raise ValueError("what was learned of the posterior could not be normalised, so there is no evidence")
        if (self._estimated["pareto_k"] or 0.0) > 0.7:
            warnings.warn("the weights have a heavy tail (index above 0.7): do not use this evidence", stacklevel=2)
        return found

    @cached_property
    def weighted(self) -> dict[str, np.ndarray]:
        """Weighted draws by name, with `log_density` and `weight` (which add up to one); empty arrays where there are none."""
        names = [*self.names, "log_density", "weight"]
        file = self.path / "weighted.f64"
        rows = np.fromfile(file, "<f8") if file.exists() else np.empty(0)
        rows = rows.reshape(-1, len(names))
        return {name: rows[:, k] for k, name in enumerate(names)}

    def _has_weights_alone(self) -> bool:
        return self.draws_made == 0 and len(self.weighted["weight"]) > 0

    def _resampled(self) -> dict[str, np.ndarray]:
        """The weighted draws, each as often as its weight says, in one chain and shuffled: for tools that know no weights."""
        weight = self.weighted["weight"]
        rng = np.random.default_rng(self.manifest["seed"])
        ends = np.cumsum(weight) / weight.sum()
        chosen = np.searchsorted(ends, (np.arange(len(weight)) + rng.uniform()) / len(weight)).clip(max=len(weight) - 1)
        rng.shuffle(chosen)
        return {name: self.weighted[name][chosen][None, :] for name in [*self.names, "log_density"]}

    def report(self, path: str | os.PathLike[str] | None = None, params: list[str] | str | None = None) -> Path:
        """Writes one HTML file with interactive plots, and returns its path."""
        path = self.path / "report.html" if path is None else Path(path)
        _towline.report(self.path, path, _chosen(params))
        return path

    def plot(self, params: list[str] | str | None = None) -> Any:
        """Densities and traces, as a Matplotlib figure."""
        from ._plot import densities_and_traces

        return densities_and_traces(self, _chosen(params))

    def to_arviz(self, latents: bool = False) -> Any:
        """The run as ArviZ has it: an InferenceData (before ArviZ 1.0), or a DataTree.

        With `latents`, those are in it too; they must have been stored at every draw. ArviZ knows no weights: weighted draws are
        resampled.
        """
        arviz = _needed("arviz", "to_arviz()")
        if self._has_weights_alone():
            draws = self._resampled()
            log = {"lp": draws.pop("log_density")}
            if int(arviz.__version__.split(".")[0]) >= 1:
                return arviz.from_dict({"posterior": draws, "sample_stats": log})
            return arviz.from_dict(posterior=draws, sample_stats=log)
        posterior = dict(self.draws)
        if latents:
            if self.manifest["latent_every"] != 1:
                raise ValueError("latents were stored once in several draws (thin_latents), which ArviZ has no place for")
            posterior.update(self.latents)
        stats = self.statistics
        sample_stats = {
            "lp": stats["log_density"],
            "accepted": stats["outer_accepted"] > 0,
            "slow_evals": stats["slow_evals"].astype(int),
            "fast_evals": stats["fast_evals"].astype(int),
        }
        if int(arviz.__version__.split(".")[0]) >= 1:
            return arviz.from_dict({"posterior": posterior, "sample_stats": sample_stats})
        return arviz.from_dict(posterior=posterior, sample_stats=sample_stats)

    def _log_jacobian(self) -> np.ndarray:
        """ln|dθ/du|, chain by chain: chains move on unbounded scales u (a logarithm, a logit), and densities are wanted on the user's."""
        return self._log_jacobian_of(self.draws, np.zeros((self.chains, self.draws_made)))

    def _log_jacobian_of(self, draws: dict[str, np.ndarray], total: np.ndarray) -> np.ndarray:
        for column in self.manifest["columns"]:
            lower, upper = column.get("lower"), column.get("upper")
            if column["role"] not in ("slow", "fast") or column.get("periodic"):
                continue
            value = draws[column["name"]]
            if lower is not None:
                total += np.log(value - lower)
            if upper is not None:
                total += np.log(upper - value)
            if lower is not None and upper is not None:
                total -= np.log(upper - lower)
        return total

    def to_getdist(self) -> Any:
        """The run as GetDist has it: MCSamples with labels and ranges, a draw a sample; weighted draws with their weights."""
        getdist = _needed("getdist", "to_getdist()")
        columns = self.manifest["columns"]
        weights = None
        samples = [np.column_stack([self.draws[name][chain] for name in self.names]) for chain in range(self.chains)]
        log = list(self._log_jacobian() - self.statistics["log_density"])
        if self._has_weights_alone():
            all = self.weighted
            weights = all["weight"] * len(all["weight"])
            samples = np.column_stack([all[name] for name in self.names])
            log = self._log_jacobian_of(all, np.zeros(len(weights))) - all["log_density"]
        derived = [column["name"] for column in columns if column["role"] == "derived"]
        return getdist.MCSamples(
            samples=samples,
            loglikes=log,
            weights=weights,
            names=[name + ("*" if name in derived else "") for name in self.names],
            labels=[column.get("label") or column["name"].replace("_", r"\_") for column in columns],
            ranges={
                column["name"]: (column.get("lower"), column.get("upper"), *(["periodic"] if column.get("periodic") else []))
                for column in columns
                if column.get("lower") is not None or column.get("upper") is not None
            },
            sampler="mcmc" if weights is None else "nested",
            label=self.path.name,
        )

    def to_pandas(self) -> Any:
        """All draws as a pandas frame, with the columns chain and draw."""
        pandas = _needed("pandas", "to_pandas()")
        chains, draws = self.chains, self.draws_made
        frame = {"chain": np.repeat(np.arange(chains), draws), "draw": np.tile(np.arange(draws), chains)}
        return pandas.DataFrame({**frame, **{name: values.ravel() for name, values in self.draws.items()}})

    def predict(self, data: Any, level: float = 0.95, draws: int = 1000) -> Any:
        """Predictions at new rows, for runs of `towline.gp`, `towline.glmm` and `towline fit`."""
        from ._fit import predict

        return predict(self.path, data, level, draws)

    def __repr__(self) -> str:
        return f"<towline.Run {self.path}: {self.chains} chains of {self.draws_made} draws of {', '.join(self.names[:8])}>"


class Summary:
    """A run's table. It prints as the command shows it; `to_dict` and `to_pandas` have the numbers."""

    def __init__(self, numbers: str, text: str, warnings: list[str]) -> None:
        self._numbers = json.loads(numbers)
        self._text = _in_python(text)
        self.warnings = [_in_python(warning) for warning in warnings]

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Each parameter's figures by name: mean, sd, q5, median, q95, mcse_mean, ess_bulk, ess_tail, rhat, …"""
        nan = float("nan")
        return {
            one["name"]: {key: nan if value is None else value for key, value in one.items() if key != "name"}
            for one in self._numbers["parameters"]
        }

    @property
    def cost(self) -> dict[str, Any]:
        """What the run cost: slow_evals, fast_evals, seconds, acceptances, …"""
        return dict(self._numbers["run"])

    def to_pandas(self) -> Any:
        """The figures as a pandas frame, a row for each parameter."""
        return _needed("pandas", "to_pandas()").DataFrame.from_dict(self.to_dict(), orient="index")

    def __getitem__(self, name: str) -> dict[str, float]:
        figures = self.to_dict()
        if name not in figures:
            raise KeyError(f"there is no {name!r}; there are {', '.join(figures)}")
        return figures[name]

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__


def open(path: str | os.PathLike[str]) -> Run:
    """The run of a directory, whether the package or the command made it, and whether it has ended or is under way."""
    return Run(path)


def _in_python(text: str) -> str:
    """What the command advises, as the package has it."""
    return text.replace("name them with --params", "name them with params=").replace("Run with --chains 4", "Run with chains=4")


def _chosen(params: list[str] | str | None) -> list[str]:
    if params is None:
        return []
    return [params] if isinstance(params, str) else list(params)


def _needed(module: str, use: str) -> Any:
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError:
        raise ImportError(f"{use} needs {module}: pip install {module}") from None
