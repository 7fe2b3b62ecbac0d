"""Latent Gaussian models of data in a table: what `towline fit` fits, from frames and dictionaries."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import _towline
from ._priors import Prior

_FILE = "data.csv"


class Fit:
    """A latent Gaussian model and its data: `towline.gp` and `towline.glmm` make one, `towline.sample` takes it.

    It prints as what was settled: sizes, and every parameter's prior with its reason.
    """

    def __init__(self, model: dict[str, Any], data: Any) -> None:
        self._model = model
        self._path = Path(data).absolute() if isinstance(data, str | os.PathLike) else None
        self._csv = None if self._path is not None else _as_csv(_columns(data))
        with tempfile.TemporaryDirectory(prefix="towline-") as folder:
            text = self._build(Path(folder))[2]
            # That file is soon gone: nobody could look at it.
            self._text = text.replace(str(Path(folder) / _FILE), _kind(data))

    @classmethod
    def _of_run(cls, folder: Path) -> Fit:
        """The model of a run, to continue it."""
        fit = cls.__new__(cls)
        fit._model, fit._path, fit._csv, fit._text = {}, None, None, f"the model of {folder}"
        _towline.fit_from_manifest(folder)
        return fit

    def _build(self, folder: Path) -> tuple[_towline.Target, str, str]:
        file = self._path
        if file is None:
            file = folder / _FILE
            file.write_text(self._csv or "", encoding="utf-8")
        model = {**self._model, "data": {**self._model["data"], "file": str(file)}}
        return _towline.fit(json.dumps(model), folder)

    def _begin(self, folder: Path) -> tuple[_towline.Target, str]:
        """The model with its data in a new run's folder, and its description."""
        if (folder / "manifest.json").exists():
            raise _towline.Error(f"{folder} holds a run already: resume that one, or choose another directory")
        folder.mkdir(parents=True, exist_ok=True)
        return self._build(folder)[:2]

    def _target_in(self, folder: Path) -> _towline.Target:
        return _towline.fit_from_manifest(folder)

    def __repr__(self) -> str:
        return self._text.strip()


def glmm(
    formula: str,
    data: Any,
    family: str,
    link: str | None = None,
    success: str | None = None,
    trials: str | None = None,
    exposure: str | None = None,
    priors: Mapping[str, Prior | str] | None = None,
    centre: bool = False,
    standardise: Sequence[str] = (),
    levels: Mapping[str, Sequence[str]] | None = None,
    missing: str = "refuse",
) -> Fit:
    """A mixed model with a formula in the manner of lme4: `glmm("use ~ age + (1 | district)", data, "bernoulli")`.

    Parameters
    ----------
    formula
        Response, fixed effects, and random effects in brackets.
    data
        A pandas or polars frame, a dictionary of columns, or the path of a CSV file with a header.
    family
        bernoulli, binomial, poisson, negative_binomial, gaussian or softmax.
    link
        logit or probit, for bernoulli and binomial.
    success, trials, exposure
        The value of a response of text that counts as 1; the column with a binomial response's numbers of trials; the
        column that multiplies the mean of a count.
    priors
        Priors by the names of parameters; print the model to see which there are. The others have defaults.
    centre, standardise, levels, missing
        Whether the mean is taken off every column of the fixed effects; columns that are brought to mean 0 and standard
        deviation 1; the levels of factors in order, the reference first; "refuse" or "drop" rows with missing values.
    """
    model = _model(family, link, success, trials, exposure, priors, centre, standardise, levels, missing)
    return Fit({**model, "formula": formula}, data)


def gp(
    data: Any,
    response: str | None = None,
    family: str = "gaussian",
    inputs: Sequence[str] | str = (),
    covariance: str = "matern32",
    formula: str | None = None,
    great_circle: bool = False,
    standardise_inputs: bool = False,
    jitter: float | None = None,
    link: str | None = None,
    success: str | None = None,
    trials: str | None = None,
    exposure: str | None = None,
    priors: Mapping[str, Prior | str] | None = None,
    centre: bool = False,
    standardise: Sequence[str] = (),
    levels: Mapping[str, Sequence[str]] | None = None,
    missing: str = "refuse",
) -> Fit:
    """A Gaussian process over some inputs: classification, geostatistics, regression.

    `covariance` is a sum or product of covariance functions: "exponential", "matern32 + nugget", "squared_exponential_ard", ….
    A `formula` (instead of `response`) adds fixed and random effects. With `great_circle` the inputs are longitude and latitude
    in degrees, and distances in km. The rest is as for `glmm`.
    """
    inputs = [inputs] if isinstance(inputs, str) else list(inputs)
    if not inputs:
        raise TypeError("inputs are missing: the columns over which the process runs, such as inputs=['x', 'y']")
    if (response is None) == (formula is None):
        raise TypeError("one of response and formula is needed: the column of the response, or a formula that names it")
    model = _model(family, link, success, trials, exposure, priors, centre, standardise, levels, missing)
    process: dict[str, Any] = {"inputs": inputs, "covariance": covariance}
    if great_circle:
        process["distance"] = "great_circle"
    if standardise_inputs:
        process["standardise"] = True
    if jitter is not None:
        process["jitter"] = float(jitter)
    if response is not None:
        model["data"]["response"] = response
    else:
        model["formula"] = formula
    return Fit({**model, "gp": [process]}, data)


def _model(
    family: str,
    link: str | None,
    success: str | None,
    trials: str | None,
    exposure: str | None,
    priors: Mapping[str, Prior | str] | None,
    centre: bool,
    standardise: Sequence[str],
    levels: Mapping[str, Sequence[str]] | None,
    missing: str,
) -> dict[str, Any]:
    data = {
        "success": None if success is None else _text(success),
        "trials": trials,
        "exposure": exposure,
        "standardise": [standardise] if isinstance(standardise, str) else list(standardise),
        "levels": {name: [_text(level) for level in given] for name, given in (levels or {}).items()},
        "missing": missing,
    }
    model: dict[str, Any] = {"family": family, "data": data, "centre": bool(centre)}
    if link is not None:
        model["link"] = link
    model["priors"] = {name: prior.text if isinstance(prior, Prior) else prior for name, prior in (priors or {}).items()}
    return model


def _numbers(cells: list[str]) -> np.ndarray:
    """Numbers, or text where they are none (the most probable class)."""
    try:
        return np.array([float(cell) for cell in cells])
    except ValueError:
        return np.array(cells)


def predict(folder: Path, data: Any, level: float = 0.95, draws: int = 1000) -> Any:
    """The linear predictor, the expected response and a new response at new rows, over draws of a fit.

    Returns columns `latent_mean`, `latent_sd`, quantiles, and the same of `mean` (the expected response) and of `predictive` (a new
    response, with its noise): in a frame where `data` is one, else in a dictionary of arrays.
    """
    columns = None if isinstance(data, str | os.PathLike) else _columns(data)
    with tempfile.TemporaryDirectory(prefix="towline-") as temporary:
        at = Path(data) if columns is None else Path(temporary) / _FILE
        if columns is not None:
            at.write_text(_as_csv(columns), encoding="utf-8")
        table, notes, _ = _towline.predict(folder, at, float(level), int(draws))
    for note in notes:
        import warnings

        warnings.warn(note, stacklevel=3)
    rows = list(csv.reader(io.StringIO(table)))
    names = rows[0]
    first = next(k for k, name in enumerate(names) if name.startswith("latent") and name.endswith("_mean"))
    predicted = {name: _numbers([row[k] for row in rows[1:]]) for k, name in enumerate(names) if k >= first}
    module = type(data).__module__.split(".")[0]
    if module == "pandas":
        return type(data)(predicted, index=data.index)
    if module == "polars":
        return type(data)(predicted)
    return predicted


def _kind(data: Any) -> str:
    """What data are called that have no file."""
    return "a dictionary" if isinstance(data, Mapping) else f"a {type(data).__module__.split('.')[0]} frame"


def _columns(data: Any) -> dict[str, list[Any]]:
    if isinstance(data, Mapping):
        names = list(data)
    elif hasattr(data, "columns") and hasattr(data, "__getitem__"):
        names = list(data.columns)
    else:
        raise TypeError(
            f"data must be a pandas or polars frame, a dictionary of columns or the path of a CSV file, not {type(data).__name__}"
        )
    columns: dict[str, list[Any]] = {}
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"data: the name of the column {name!r} must be text")
        values = data[name]
        if isinstance(values, str) or not hasattr(values, "__iter__"):
            raise TypeError(f"data: the column {name!r} must be a sequence of values, not {type(values).__name__}")
        columns[name] = list(values)
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        said = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise ValueError(f"data: all columns must have as many rows ({said})")
    return columns


def _as_csv(columns: dict[str, list[Any]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values()):
        writer.writerow([_text(value) for value in row])
    return out.getvalue()


def _text(value: Any) -> str:
    """A value as a CSV file has it: numbers to the last bit, what is missing as nothing."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return ""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float):
        if math.isnan(value):
            return ""
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return str(value)
