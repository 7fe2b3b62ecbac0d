"""Latent Gaussian models of data in a table: what `towline fit` fits, from frames and dictionaries."""

from __future__ import annotations

import html
import json
import math
import os
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
        self._columns: dict[str, Any] | None = None
        if isinstance(data, str | os.PathLike):
            self._model = {**model, "data": {**model["data"], "file": str(Path(data).absolute())}}
        else:
            self._columns = columns(data)
        text = self._build(None)[0]
        # Frames have no file that anybody could look at.
        self._text = text if self._columns is None else text.replace(_FILE, _kind(data), 1)

    @classmethod
    def _of_run(cls, folder: Path) -> Fit:
        """The model of a run, to continue it."""
        fit = cls.__new__(cls)
        fit._model, fit._columns, fit._text = {}, None, f"the model of {folder}"
        _towline.fit_from_manifest(folder)
        return fit

    def _build(self, folder: Path | None) -> tuple[str, tuple[_towline.Target, str] | None]:
        model = self._model if self._columns is None else {**self._model, "data": {**self._model["data"], "file": _FILE}}
        return _towline.fit(json.dumps(model), self._columns, folder)

    def _begin(self, folder: Path) -> tuple[_towline.Target, str]:
        """The model with its data in a new run's folder, and its description."""
        if (folder / "manifest.json").exists():
            raise _towline.Error(f"{folder} holds a run already: resume that one, or choose another directory")
        folder.mkdir(parents=True, exist_ok=True)
        built = self._build(folder)[1]
        assert built is not None
        return built

    def _target_in(self, folder: Path) -> _towline.Target:
        return _towline.fit_from_manifest(folder)

    def __repr__(self) -> str:
        return self._text.strip()

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(repr(self))}</pre>"


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


def _kind(data: Any) -> str:
    """What data are called that have no file."""
    return "a dictionary" if isinstance(data, Mapping) else f"a {type(data).__module__.split('.')[0]} frame"


def columns(data: Any) -> dict[str, Any]:
    """The columns of a frame or dictionary: arrays of doubles where they are numbers, lists of text elsewhere."""
    if isinstance(data, Mapping):
        names = list(data)
    elif hasattr(data, "columns") and hasattr(data, "__getitem__"):
        names = list(data.columns)
    else:
        raise TypeError(
            f"data must be a pandas or polars frame, a dictionary of columns or the path of a CSV file, not {type(data).__name__}"
        )
    found: dict[str, Any] = {}
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"data: the name of the column {name!r} must be text")
        values = data[name]
        if isinstance(values, str) or not hasattr(values, "__iter__"):
            raise TypeError(f"data: the column {name!r} must be a sequence of values, not {type(values).__name__}")
        found[name] = _cells(values)
    lengths = {name: len(values) for name, values in found.items()}
    if len(set(lengths.values())) > 1:
        said = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise ValueError(f"data: all columns must have as many rows ({said})")
    return found


#: Whole numbers up to here are doubles without rounding.
_EXACT = 2**53


def _cells(values: Any) -> np.ndarray | list[str]:
    kind = getattr(getattr(values, "dtype", None), "kind", None)
    if kind in ("b", "f", "i", "u") and isinstance(values.dtype, np.dtype):
        array = np.asarray(values)
        if array.ndim == 1 and (kind in "bf" or not len(array) or max(abs(int(array.min())), abs(int(array.max()))) <= _EXACT):
            return np.ascontiguousarray(array, dtype=np.float64)
    items = [value.item() if isinstance(value, np.generic) else value for value in values]
    missing = [value is None or type(value).__name__ in ("NAType", "NaTType") for value in items]
    if all(gap or _is_number(value) for gap, value in zip(missing, items)):
        return np.array([math.nan if gap else float(value) for gap, value in zip(missing, items)], dtype=np.float64)
    return ["" if gap else _text(value) for gap, value in zip(missing, items)]


def _is_number(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, int) and abs(value) <= _EXACT)


def _text(value: Any) -> str:
    """A value among words, as a CSV file has it: what is missing is nothing, and 1.0 is 1."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float):
        if math.isnan(value):
            return ""
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return str(value)


def framed(found: dict[str, Any], like: Any = None) -> Any:
    """Columns in a frame of the kind of `like`; without one, in a pandas frame where there is pandas; else in a dictionary."""
    found = {name: values if isinstance(values, np.ndarray) else np.array(values) for name, values in found.items()}
    module = type(like).__module__.split(".")[0]
    if module == "polars":
        return type(like)(found)
    if module == "pandas":
        return type(like)(found, index=like.index) if len(next(iter(found.values()))) == len(like) else type(like)(found)
    if like is None or isinstance(like, str | os.PathLike):
        try:
            from pandas import DataFrame
        except ImportError:
            return found
        return DataFrame(found)
    return found


def place(data: Any) -> Any:
    """New rows as the engine takes them: a path, or columns."""
    return os.fspath(data) if isinstance(data, str | os.PathLike) else columns(data)
