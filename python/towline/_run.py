"""A run: its draws as arrays, its summary, and what other people's tools make of it."""

from __future__ import annotations

import html
import json
import os
import warnings
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _towline

if TYPE_CHECKING:
    from ._answers import Check, Effects, Map

#: The groups of ArviZ that a run can have; those after the second are a fit's.
_GROUPS = (
    "posterior",
    "sample_stats",
    "log_likelihood",
    "posterior_predictive",
    "observed_data",
    "prior",
    "prior_predictive",
)


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
        chains = [numbers.reshape(-1, len(names)) for numbers in self._directory.latent_draws()]
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

    def to_arviz(self, latents: bool = True, groups: list[str] | None = None) -> Any:
        """The run as ArviZ has it: an InferenceData (before ArviZ 1.0), or a DataTree.

        Latents are arrays with a dimension of their own (`place`, `school`); where they were stored once in several draws
        (`thin_latents`), they have a group of their own. A fit also has log_likelihood, posterior_predictive, observed_data, prior and
        prior_predictive. With `groups`, only those are made. ArviZ knows no weights: weighted draws
        are resampled.
        """
        from ._answers import inference

        arviz = _needed("arviz", "to_arviz()")
        if self._has_weights_alone():
            draws = self._resampled()
            log = {"lp": draws.pop("log_density")}
            if int(arviz.__version__.split(".")[0]) >= 1:
                return arviz.from_dict({"posterior": draws, "sample_stats": log})
            return arviz.from_dict(posterior=draws, sample_stats=log)
        wanted = [*_GROUPS, "latents"] if groups is None else list(groups)
        unknown = [name for name in wanted if name not in (*_GROUPS, "latents")]
        if unknown:
            raise ValueError(f"there is no group {', '.join(unknown)}; there can be {', '.join((*_GROUPS, 'latents'))}")
        if latents and "posterior" in wanted:
            wanted.append("latents")
        elif not latents:
            wanted = [name for name in wanted if name != "latents"]
        found = inference(self.path, wanted)
        if "sample_stats" in found:
            found["sample_stats"] = _as_arviz_names(found["sample_stats"])
        if int(arviz.__version__.split(".")[0]) >= 1:
            from xarray import DataTree

            return DataTree.from_dict(found)
        return arviz.InferenceData(**found)

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
        """Predictions at new rows, for runs of `towline.gp`, `towline.glmm` and `towline fit`.

        Columns are `latent_mean`, `latent_sd` and quantiles of the linear predictor, and the same of `mean` (the expected response) and
        of `predictive` (a new response, with its noise): in a frame where `data` is one, else in a dictionary of arrays.
        """
        from ._answers import predict

        return predict(self.path, data, level, draws)

    def predict_draws(self, data: Any, draws: int = 1000) -> dict[str, np.ndarray]:
        """Joint draws at new rows: `latent` and `response`, each of shape (draws, rows); with classes, latents have them last."""
        from ._answers import predict_draws

        return predict_draws(self.path, data, draws)

    def map(
        self,
        response: bool = False,
        with_intercept: bool = False,
        above: float | None = None,
        cells: int = 60,
        at: Any = None,
        inside: Any = None,
        draws: int = 1000,
    ) -> Map:
        """The fitted surface of a process over two inputs, with its uncertainty: `.data` is a frame, and a notebook shows the picture.

        Parameters
        ----------
        response, with_intercept
            Of the mean response, or of the linear predictor, with covariates at their means, instead of the centred process.
        above
            Also the probability that it is above this value.
        cells
            Cells along the longer side of a grid around the data.
        at, inside
            Frames, dictionaries or CSV files with the process's two inputs: the places to map instead of a grid; the corners of a
            polygon to stay in.
        draws
            Draws to average over, evenly spaced over all chains.
        """
        from ._answers import mapped

        return mapped(self.path, with_intercept, response, above, cells, at, inside, draws)

    def check(self, draws: int = 1000, prior_only: bool = False) -> Check:
        """PSIS-LOO, WAIC, and data made by the fitted model beside the observed; with `prior_only`, by the priors alone."""
        from ._answers import Check

        return Check(*_towline.check(self.path, int(draws), bool(prior_only)))

    def effects(self, name: str, contrast: str | None = None, level: float = 0.95, draws: int = 1000) -> Effects:
        """The effects of a grouping's groups, or what a column of the data does to the mean response, with intervals.

        `contrast="a-b"` is the difference between two values of the column.
        """
        from ._answers import Effects

        found, _, text, picture = _towline.effects(self.path, name, contrast, float(level), int(draws))
        return Effects(found, text, picture)

    def __repr__(self) -> str:
        return f"<towline.Run {self.path}: {self.chains} chains of {self.draws_made} draws of {', '.join(self.names[:8])}>"

    def _repr_html_(self) -> str:
        head = f"<p><b>{html.escape(str(self.path))}</b>: {self.chains} chains of {self.draws_made} draws</p>"
        return head + (self.summary()._repr_html_() if self.draws_made > 3 else "")


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
    def remarks(self) -> list[str]:
        """What may be worth knowing, and is no reason to worry."""
        return [_in_python(remark) for remark in self._numbers["remarks"]]

    @property
    def verdict(self) -> str:
        """Whether the draws may be used, in words."""
        return str(self._numbers["verdict"])

    @property
    def trust(self) -> dict[str, Any]:
        """What was checked beside the chains' agreement: kernels, disagreement, uncovered, pareto_index, frames_checked."""
        return dict(self._numbers["trust"])

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

    def _repr_html_(self) -> str:
        from ._display import summary_html

        return summary_html(self)


def _as_arviz_names(stats: Any) -> Any:
    """What a sampler's statistics are called there, and their types."""
    stats = stats.rename(outer_accepted="accepted")
    return stats.assign(
        accepted=stats["accepted"] > 0, slow_evals=stats["slow_evals"].astype(int), fast_evals=stats["fast_evals"].astype(int)
    )


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
