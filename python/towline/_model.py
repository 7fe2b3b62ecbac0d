"""Models: named parameters with priors and two functions, or a plain log density."""

from __future__ import annotations

import copy
import ctypes
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from . import _towline
from ._priors import Prior, as_prior

#: What functions of ctypes libraries and callbacks are.
_CFuncPtr: type = ctypes.CFUNCTYPE(None).__mro__[1]


class CFunction:
    """A fast function in machine code, which is called without the interpreter, so that threads really run in parallel.

    Its signature is::

        double f(const double *cache, size_t n_cache, const double *y, size_t n_y, void *data)

    `cache` holds the float64 array that `prepare` returned, flat; `y` the fast parameters. `address` is a number, a
    ctypes function, or a numba `cfunc` of the signature
    `float64(CPointer(float64), intp, CPointer(float64), intp, voidptr)`; `data` an address that is handed on.
    """

    def __init__(self, address: Any, data: int = 0) -> None:
        self._keep = address
        if isinstance(address, _CFuncPtr):
            address = ctypes.cast(self._keep, ctypes.c_void_p).value or 0
        elif hasattr(address, "address"):
            arguments = getattr(getattr(address, "_sig", None), "args", None)
            if arguments is not None and len(arguments) != 5:
                raise TypeError(
                    f"the numba cfunc has {len(arguments)} arguments; its signature must be float64(CPointer(float64), "
                    "intp, CPointer(float64), intp, voidptr): the cache and its length, y and its length, data"
                )
            address = address.address
        if not isinstance(address, int) or isinstance(address, bool):
            raise TypeError(f"an address, a ctypes function or a numba cfunc is needed, not {type(address).__name__}")
        if address <= 0:
            raise ValueError("the address of the C function is zero: it was not loaded")
        self.address, self.data = address, int(data)

    def __reduce__(self):
        raise TypeError("a C function's address means nothing in another process: use parallel='threads'")


def _is_pointer(function: Any) -> bool:
    if isinstance(function, CFunction | _CFuncPtr):
        return True
    return type(function).__module__.split(".")[0] == "numba" and isinstance(getattr(function, "address", None), int)


def _callable(name: str, function: Any, needed: bool = True) -> None:
    if function is None and not needed:
        return
    if not callable(function):
        raise TypeError(f"{name} must be a function, not {type(function).__name__}")


class _Functions:
    """What both kinds of models have: functions, derived quantities, labels."""

    _fast_called = "log_likelihood"

    def _take(
        self,
        prepare: Any,
        fast: Any,
        batch: Any,
        gradient: Any,
        refine: Any,
        derived: Any,
        derived_names: Any,
        labels: Any,
    ) -> None:
        _callable("prepare", prepare)
        self.prepare = prepare
        if _is_pointer(fast) and not isinstance(fast, CFunction):
            fast = CFunction(fast)
        if not isinstance(fast, CFunction):
            _callable(self._fast_called, fast)
        self._fast_function = fast
        for name, function in (("the batch function", batch), ("gradient", gradient), ("refine", refine), ("derived", derived)):
            _callable(name, function, needed=False)
        self._batch, self.gradient, self.refine, self.derived = batch, gradient, refine, derived
        if isinstance(derived_names, str):
            derived_names = [derived_names]
        self.derived_names = list(derived_names or [])
        if (derived is None) != (not self.derived_names):
            raise TypeError("derived and derived_names go together: a function, and what the quantities it returns are called")
        for name in self.derived_names:
            if not isinstance(name, str) or not name.strip():
                raise TypeError(f"derived_names: {name!r} is no name")
        self.labels = dict(labels or {})

    def _check_labels(self, names: Sequence[str]) -> None:
        for name, label in self.labels.items():
            if name not in names:
                raise ValueError(f"labels: there is no parameter {name!r}; there are {', '.join(names)}")
            if not isinstance(label, str):
                raise TypeError(f"labels: the label of {name!r} must be text, not {type(label).__name__}")

    def _handed_over(self) -> dict[str, Any]:
        pointer = isinstance(self._fast_function, CFunction)
        return {
            "prepare": self.prepare,
            "fast": None if pointer else self._fast_function,
            "pointer": (self._fast_function.address, self._fast_function.data) if pointer else None,
            "batch": self._batch,
            "gradient": self.gradient,
            "refine": self.refine,
            "derived": self.derived,
            "derived_names": self.derived_names,
            "labels": self.labels,
            "enough": self.__dict__.get("enough"),
            "slow_covariance": self.__dict__.get("_slow_covariance"),
        }

    def _with(self, **functions: Any) -> Any:
        """The same with other functions."""
        other = copy.copy(self)
        other.__dict__.update(functions)
        return other

    def _target(self) -> _towline.Target:
        """The model as the engine has it; made when it is first needed, since it cannot be sent to other processes."""
        target = self.__dict__.get("_made")
        if target is None:
            target = self._made = self._make()
        return target

    def _make(self) -> _towline.Target:
        raise NotImplementedError

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_made"}


class Model(_Functions):
    """A posterior: priors of named parameters, slow and fast, times a likelihood in two stages.

    Parameters
    ----------
    slow, fast
        Priors by name. Functions see the values in this order, on the scale of the priors.
    prepare
        `prepare(x)`: the slow computation. What it returns is passed to the other functions; `None` means that the
        data are impossible at x. Without slow parameters or without a slow computation it may be left out: x itself is handed on.
    log_likelihood
        `log_likelihood(cache, y)`: a float, -inf where the data are impossible. Or a `CFunction`.
    log_likelihood_batch
        `log_likelihood_batch(cache, ys)`: the same for each row of ys, as an array.
    gradient
        `gradient(cache, y)`: the log likelihood and its gradient in y.
    derived, derived_names
        `derived(cache, x, y)`: further quantities to report of each draw, as a sequence in the order of
        `derived_names`, or as a dictionary.
    labels
        How to typeset names: LaTeX without dollar signs.
    blocks, refine
        For models of more than two speeds: lists of fast names from slower to faster, all of them; y comes in this order.
        `refine(cache, head)` returns a cache that makes fast evaluations cheap while y begins with `head`, or `None`.
    latents
        Fast names that are many: stored once in `thin_latents` draws, and not shown by default.
    start
        Where chains begin: a dictionary, or a function of a seed that returns one. What it does not name is drawn
        from its prior.
    enough
        `enough(draws)`: whether so many draws of each chain are enough, instead of `rhat` and `ess`. Asked in the process of the
        first chain after 100 draws and every fifth more, when all of them are in the run directory.
    """

    def __init__(
        self,
        slow: Mapping[str, Prior | str] | None = None,
        fast: Mapping[str, Prior | str] | None = None,
        prepare: Callable[[np.ndarray], Any] | None = None,
        log_likelihood: Any = None,
        log_likelihood_batch: Callable[[Any, np.ndarray], Any] | None = None,
        gradient: Callable[[Any, np.ndarray], tuple[float, np.ndarray]] | None = None,
        derived: Callable[[Any, np.ndarray, np.ndarray], Any] | None = None,
        derived_names: Sequence[str] | None = None,
        labels: Mapping[str, str] | None = None,
        blocks: Sequence[Sequence[str]] | None = None,
        refine: Callable[[Any, np.ndarray], Any] | None = None,
        latents: Sequence[str] | None = None,
        start: Mapping[str, float] | Callable[[int], Mapping[str, float]] | None = None,
        enough: Callable[[int], bool] | None = None,
    ) -> None:
        self.slow = _priors("slow", slow)
        self.fast = _priors("fast", fast)
        if not self.slow and not self.fast:
            raise ValueError("a model needs parameters: slow={...}, fast={...} with priors by name")
        both = [name for name in self.slow if name in self.fast]
        if both:
            raise ValueError(f"{', '.join(both)}: slow or fast, not both")
        self._take(
            _same if prepare is None else prepare,
            log_likelihood,
            log_likelihood_batch,
            gradient,
            refine,
            derived,
            derived_names,
            labels,
        )
        self._levels = dict.fromkeys(self.fast, 0)
        if blocks is not None:
            self._levels = _levels(self.fast, blocks)
            self.fast = {name: self.fast[name] for name in self._levels}
        elif refine is not None:
            raise TypeError("refine needs blocks: lists of fast names from slower to faster")
        names = [*self.slow, *self.fast, *self.derived_names]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"names must differ: {', '.join(twice)}")
        self._check_labels(names)
        self.latents = list(latents or [])
        for name in self.latents:
            if name not in self.fast:
                raise ValueError(f"latents: there is no fast parameter {name!r}")
        if enough is not None and not callable(enough):
            raise TypeError(f"enough must be a function of the number of draws, not {type(enough).__name__}")
        self.enough = enough
        self.start = start
        if isinstance(start, Mapping):
            _Start(start, {**self.slow, **self.fast})(0)
        elif start is not None and not callable(start):
            raise TypeError(f"start must be a dictionary or a function of a seed, not {type(start).__name__}")

    @property
    def slow_names(self) -> list[str]:
        """The slow parameters in the order in which x has them."""
        return list(self.slow)

    @property
    def fast_names(self) -> list[str]:
        """The fast parameters in the order in which y has them."""
        return list(self.fast)

    @property
    def log_likelihood(self) -> Any:
        """The fast function."""
        return self._fast_function

    @property
    def log_likelihood_batch(self) -> Any:
        """The fast function for many points."""
        return self._batch

    def _make(self) -> _towline.Target:
        parameters: list[tuple[str, str, int | None, str | None, bool]] = []
        for name, prior in self.slow.items():
            parameters.append((name, prior.text, None, self.labels.get(name), False))
        for name, prior in self.fast.items():
            parameters.append((name, prior.text, self._levels[name], self.labels.get(name), name in self.latents))
        start = None if self.start is None else _Start(self.start, {**self.slow, **self.fast})
        return _towline.posterior(parameters, self._handed_over(), start)

    def _description(self) -> dict[str, Any]:
        priors = {name: prior.text for name, prior in {**self.slow, **self.fast}.items()}
        return {"kind": "python", "name": _name_of(self._fast_function), "priors": priors}

    def __repr__(self) -> str:
        return f"Model(slow={self.slow!r}, fast={self.fast!r})"


class _Start:
    """Where chains begin, as a function of a seed. It knows no model: the engine keeps it, and a model its engine."""

    def __init__(self, start: Any, priors: dict[str, Prior]) -> None:
        self.start, self.priors = start, priors

    def __call__(self, seed: int) -> dict[str, float]:
        start = self.start(seed) if callable(self.start) else self.start
        if not isinstance(start, Mapping):
            raise TypeError(f"start returned {type(start).__name__}: a dictionary of values by name is needed")
        priors = self.priors
        values = {}
        for name, value in start.items():
            if name not in priors:
                raise ValueError(f"start: there is no parameter {name!r}; there are {', '.join(priors)}")
            try:
                values[name] = float(value)
            except (TypeError, ValueError):
                raise TypeError(f"start: {name} = {value!r}: a number is needed") from None
            if not priors[name].log_density(values[name]) > -np.inf:
                raise ValueError(f"start: {name} = {values[name]:g} lies outside the support of its prior, {priors[name]!r}")
        return values


class Density(_Functions):
    """A plain log density in two stages, without priors: `prepare(x)` and `log_density(cache, y)`.

    Its variables are unbounded, and the density must be proper; chains begin at (x0, y0). Names are x0, x1, … and y0, y1, …
    unless they are given.
    """

    _fast_called = "log_density"

    def __init__(
        self,
        prepare: Callable[[np.ndarray], Any],
        log_density: Any,
        x0: Any,
        y0: Any,
        slow_names: Sequence[str] | None = None,
        fast_names: Sequence[str] | None = None,
        log_density_batch: Callable[[Any, np.ndarray], Any] | None = None,
        gradient: Callable[[Any, np.ndarray], tuple[float, np.ndarray]] | None = None,
        derived: Callable[[Any, np.ndarray, np.ndarray], Any] | None = None,
        derived_names: Sequence[str] | None = None,
        labels: Mapping[str, str] | None = None,
        blocks: Sequence[Sequence[str]] | None = None,
        refine: Callable[[Any, np.ndarray], Any] | None = None,
    ) -> None:
        self._take(prepare, log_density, log_density_batch, gradient, refine, derived, derived_names, labels)
        self.x0, self.y0 = _point("x0", x0), _point("y0", y0)
        self.slow_names = _names("slow_names", slow_names, "x", len(self.x0))
        self.fast_names = _names("fast_names", fast_names, "y", len(self.y0))
        names = [*self.slow_names, *self.fast_names, *self.derived_names]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"names must differ: {', '.join(twice)}")
        self._check_labels(names)
        self._blocks: list[int] = []
        if blocks is not None:
            levels = _levels(dict.fromkeys(self.fast_names), blocks)
            if list(levels) != self.fast_names:
                raise ValueError("blocks: y comes in the order of fast_names, so the blocks must follow that order")
            self._blocks = [len(block) for block in blocks][:-1]
        if not len(self.x0) and not len(self.y0):
            raise ValueError("x0 and y0 are both empty: there is nothing to sample")

    def _make(self) -> _towline.Target:
        x, y = self.x0.tolist(), self.y0.tolist()
        return _towline.density(self.slow_names, self.fast_names, self._handed_over(), x, y, self._blocks)

    def _description(self) -> dict[str, Any]:
        return {"kind": "python", "name": _name_of(self._fast_function)}


#: What an object may have that is a model.
_PARTS = tuple(inspect.signature(Model).parameters)
#: What a density may be given beside its functions and its start.
DENSITY_OPTIONS = tuple(name for name, one in inspect.signature(Density).parameters.items() if one.default is not one.empty)


def as_model(given: Any) -> Any:
    """A model of an object that has its parts: `slow`, `fast`, `prepare`, `log_likelihood` and whatever else `Model` takes."""
    if isinstance(given, Model | Density) or not callable(getattr(given, "log_likelihood", None)):
        return given
    return Model(**{name: getattr(given, name) for name in _PARTS if getattr(given, name, None) is not None})


def _same(x: np.ndarray) -> np.ndarray:
    return x


def _name_of(function: Any) -> str:
    name = getattr(function, "__qualname__", type(function).__name__)
    module = getattr(function, "__module__", None)
    return f"{module}.{name}" if module and module != "__main__" else name


def _priors(which: str, given: Mapping[str, Prior | str] | None) -> dict[str, Prior]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise TypeError(f"{which} must be a dictionary of priors by name, not {type(given).__name__}")
    for name in given:
        if not isinstance(name, str):
            raise TypeError(f"{which}: the name {name!r} must be text, not {type(name).__name__}")
        if not name.strip():
            raise ValueError(f"{which}: a name is empty")
    return {name: as_prior(name, prior) for name, prior in given.items()}


def _levels(fast: Mapping[str, Any], blocks: Sequence[Sequence[str]]) -> dict[str, int]:
    levels: dict[str, int] = {}
    for level, block in enumerate(blocks):
        if isinstance(block, str) or not isinstance(block, Sequence):
            raise TypeError("blocks must be lists of fast names, from slower to faster")
        if not block:
            raise ValueError("blocks: one of them is empty")
        for name in block:
            if name not in fast:
                raise ValueError(f"blocks: there is no fast parameter {name!r}; there are {', '.join(fast)}")
            if name in levels:
                raise ValueError(f"blocks: {name!r} is there twice")
            levels[name] = level
    missing = [name for name in fast if name not in levels]
    if missing:
        raise ValueError(f"blocks: {', '.join(missing)} is in none of them; all fast parameters must be")
    return levels


def _point(name: str, given: Any) -> np.ndarray:
    try:
        point = np.array(given, dtype=float, copy=True)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be an array of numbers, not {type(given).__name__}") from None
    point = np.atleast_1d(point)
    if point.ndim != 1:
        raise ValueError(f"{name} has shape {point.shape}: a vector is needed")
    if not np.all(np.isfinite(point)):
        raise ValueError(f"{name} = {point}: its numbers must be finite")
    return point


def _names(what: str, given: Sequence[str] | None, letter: str, count: int) -> list[str]:
    if given is None:
        return [f"{letter}{k}" for k in range(count)]
    names = [str(name) for name in given]
    if len(names) != count:
        raise ValueError(f"{what}: {len(names)} names for {count} variables")
    return names
