"""`sample` and `resume`: settings checked, chains run where they are to run, the run handed back."""

from __future__ import annotations

import json
import math
import os
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

from . import _towline
from ._display import watch
from ._fit import Fit
from ._model import DENSITY_OPTIONS, CFunction, Density, Model, as_model
from ._run import Run, open as open_run

_MODES = ("processes", "threads", "serial")


def sample(
    model: Model | Density | Fit,
    chains: int | None = None,
    draws: int = 2000,
    warmup: int | None = None,
    seed: int = 1,
    out: str | os.PathLike[str] | None = None,
    cost_ratio: float | None = None,
    tuning: Any = None,
    time_limit: float | None = None,
    rhat: float | None = None,
    ess: float | None = None,
    error: float | None = None,
    workers: int | None = None,
    thin_latents: int = 1,
    parallel: Any = None,
    cores: int | None = None,
    progress: Any = None,
    failures: str = "end",
    evaluation_limit: float | None = None,
    checkpoint_every: float | None = None,
) -> Run:
    """Samples a model and returns the run, whose draws are in a run directory that the command `towline` reads too.

    Parameters
    ----------
    model
        A `Model`, `Density`, `gp` or `glmm`; or an object that has `slow`, `fast`, `prepare` and `log_likelihood`.
    chains, draws
        How many chains (4, or one for each rank of a communicator), and how many draws of each.
    warmup
        Slow evaluations of each chain's warm-up; by default a number that suits the model.
    seed, cost_ratio
        The same seed gives the same draws whatever `parallel` is. The cost ratio is how many fast evaluations a slow one costs; without
        one it is measured once, and rounded to two decades so that a busy machine chooses as an idle one does.
    out
        The run directory; without one a temporary directory is used, which goes away with the run.
    tuning
        What an earlier run learned (`run.tuning`, the run, or its directory), instead of a warm-up.
    time_limit, rhat, ess
        Stop after so many seconds; once every R-hat is below this; once every effective sample size is above this.
    error
        Stop once the standard error of every slow parameter is so many of its standard deviations (0.03, say), by weighing slow
        points or by draws, whichever is predicted to take fewer slow evaluations. Then see `run.estimates()` and `run.evidence()`.
    workers
        How many slow evaluations are made at a time, in warm-up, with `error` of the points that are weighed, and where there are more workers than
        chains of the proposals that come next: in processes that have the model too (what `prepare` returns is pickled), or with `parallel="threads"` in
        threads, for a `prepare` that lets go of the interpreter. By default one for each core where points are weighed, in threads, and one of each chain. Nothing
        depends on how many there are, to the bit; draws without `workers` are other ones than with any number of them.
    thin_latents
        Latents are stored once in so many draws.
    parallel
        Where chains run: "processes", each in one of its own; "threads", which is parallel where the model lets go of the
        interpreter's lock or there is none; "serial"; or an mpi4py communicator, a chain on each rank. By default
        threads where the fast function is machine code, else processes. Draws are the same everywhere.
    cores
        How many chains work at a time; by default all of them in processes, and in threads one for each core.
    progress
        True, False, or a function that is given a dictionary several times a second; by default shown in terminals and notebooks.
    failures
        "end": an exception or NaN ends the run, which can be resumed; "outside": such a point counts as outside the support.
    evaluation_limit
        Seconds that one evaluation may take; a longer one ends the run.
    checkpoint_every
        Seconds between two checkpoints: what a killed run repeats at most.
    """
    model = _check_model(model)
    if failures not in ("end", "outside"):
        raise ValueError(f'failures = {failures!r}: it must be "end" or "outside"')
    communicator = _communicator(parallel)
    if communicator is not None:
        size = communicator.Get_size()
        if chains is not None and _whole("chains", chains, 1) != size:
            raise ValueError(f"chains = {chains}, but the communicator has {size} ranks: each runs one chain")
        chains = size
    settings = {
        "chains": 4 if chains is None else _whole("chains", chains, 1),
        "draws": _whole("draws", draws, 1),
        "seed": _whole("seed", seed, 0, 2**64 - 1),
        "warmup": None if warmup is None else _whole("warmup", warmup, 1),
        "cost_ratio": _number("cost_ratio", cost_ratio),
        "tuning": _tuning(tuning),
        "time_limit": _number("time_limit", time_limit),
        "checkpoint_every": _number("checkpoint_every", checkpoint_every),
        "rhat": _number("rhat", rhat),
        "ess": _number("ess", ess),
        "error": _number("error", error),
        "workers": None if workers is None else _whole("workers", workers, 1),
        "thin_latents": _whole("thin_latents", thin_latents, 1),
        "failures_outside": failures == "outside",
        "evaluation_limit": _number("evaluation_limit", evaluation_limit),
    }
    return _run(model, settings, None, out, parallel, communicator, cores, progress)


def resume(
    out: str | os.PathLike[str] | Run,
    model: Model | Density | Fit | None = None,
    draws: int | None = None,
    time_limit: float | None = None,
    error: float | None = None,
    workers: int | None = None,
    parallel: Any = None,
    cores: int | None = None,
    progress: Any = None,
    checkpoint_every: float | None = None,
) -> Run:
    """Continues a run that was interrupted, or makes more draws, to the bits that it would have had without the interruption.

    The model must be the one that it was begun with. A run of `towline.gp`, `towline.glmm` or `towline fit` needs no
    model: it is in the run directory. A run that was begun with `error` can be given a smaller one; slow points that are
    weighed are never weighed again.
    """
    folder = out.path if isinstance(out, Run) else Path(out)
    kept = out._temporary if isinstance(out, Run) else None
    if model is None:
        kind = open_run(folder).manifest["model"].get("kind")
        if kind != "fit":
            raise TypeError(f"towline.resume({str(folder)!r}, model): the model is needed, since the directory cannot hold it")
        model = Fit._of_run(folder)
    model = _check_model(model)
    settings = {
        "time_limit": _number("time_limit", time_limit),
        "error": _number("error", error),
        "workers": None if workers is None else _whole("workers", workers, 1),
        "checkpoint_every": _number("checkpoint_every", checkpoint_every),
    }
    going_on = {"draws": None if draws is None else _whole("draws", draws, 1)}
    run = _run(model, settings, going_on, folder, parallel, _communicator(parallel), cores, progress)
    run._temporary = kept
    return run


def sample_density(prepare: Any, log_density: Any, x0: Any, y0: Any, **options: Any) -> Run:
    """Samples a plain log density in two stages, without priors, beginning at (x0, y0).

    `prepare(x)` is the slow computation, `log_density(cache, y)` the fast one. Options are those of `Density`
    (`slow_names`, `fast_names`, `log_density_batch`, `gradient`, `derived`, …) and of `sample`.
    """
    model = Density(prepare, log_density, x0, y0, **{name: options.pop(name) for name in DENSITY_OPTIONS if name in options})
    return sample(model, **options)


def _run(
    model: Any,
    settings: dict[str, Any],
    going_on: dict[str, Any] | None,
    out: Any,
    parallel: Any,
    communicator: Any,
    cores: int | None,
    progress: Any,
) -> Run:
    cores = None if cores is None else _whole("cores", cores, 1)
    if communicator is not None:
        from ._mpi import run_on_ranks

        return run_on_ranks(communicator, model, settings, going_on, out, progress)
    temporary = None
    if out is None:
        temporary = tempfile.TemporaryDirectory(prefix="towline-")
        out = Path(temporary.name) / "run"
    folder = Path(out)
    mode = _mode(model, parallel, settings.get("chains"), folder, settings.get("workers") or 1)
    team = None
    if mode == "processes" and (settings.get("workers") or 1) > 1:
        # Chains wait in threads of this process, and processes make slow evaluations for them.
        mode, team = "threads", _team(model, settings["workers"], _limit(settings, folder), parallel)
        cores = cores or settings["workers"]
    if mode == "processes" and _weighs(settings, folder):
        if parallel == "processes":
            raise ValueError("error= weighs slow points, not in a process for each chain: set workers=, or leave parallel= out")
        mode = "threads"
    payload = b""
    if mode == "processes":
        from ._processes import packed

        payload = packed(model)
    threads = 1 if mode == "serial" else cores
    if team is not None:
        model = model._with(prepare=team.prepare)
    session = begin(model, {**settings, "threads": threads}, going_on, folder)
    target = model._target() if not isinstance(model, Fit) else None
    try:
        with watch(progress, folder) as see:
            if mode == "processes":
                from ._processes import run_in_processes

                ended = run_in_processes(session, model, payload, folder, settings, cores, see)
            else:
                ended = session.run(see)
    except Exception as error:
        explain(error, folder, temporary is not None, model)
        raise
    finally:
        session.close()
        if team is not None:
            team.end()
    run = Run(folder, ended, temporary, model)
    if target is not None and mode != "processes":
        tell_of_failures(*target.failures())
    if ended == "stopped":
        note = "" if temporary is not None else f"; {continues(folder, model)}"
        print(f"stopped after {run.draws_made} draws of each chain{note}", file=sys.stderr)
    return run


def begin(model: Any, settings: dict[str, Any], going_on: dict[str, Any] | None, folder: Path) -> _towline.Session:
    """The run's directory, locked and ready."""
    text = json.dumps({name: value for name, value in settings.items() if value is not None})
    if going_on is not None:
        target = model._target() if not isinstance(model, Fit) else model._target_in(folder)
        return _towline.Session.open(target, folder, going_on["draws"], text)
    if isinstance(model, Fit):
        target, description = model._begin(folder)
        return _towline.Session.create(target, folder, description, text)
    return _towline.Session.create(model._target(), folder, json.dumps(model._description()), text)


def continues(folder: Path, model: Any) -> str:
    """How to continue a run, in the words of whoever began it."""
    return getattr(model, "_continues", None) or f"the run's draws are kept: towline.resume({str(folder)!r}, model) continues it"


def explain(error: BaseException, folder: Path, temporary: bool, model: Any = None) -> None:
    """Says on an exception what can be done about the run."""
    if not (folder / "manifest.json").exists():
        return
    if temporary:
        note = "the run was in a temporary directory; give out= a directory to be able to resume a run that failed"
    else:
        note = continues(folder, model)
    error.add_note(note)


def tell_of_failures(count: int, first: BaseException | None) -> None:
    """Says how many evaluations failed, where that did not end the run."""
    if count:
        said = f"; the first: {type(first).__name__}: {first}" if first is not None else ""
        warnings.warn(
            f"{count} evaluations failed and counted as outside the support{said} (see run.failures)", stacklevel=4
        )


def _mode(model: Any, parallel: Any, chains: int | None, folder: Path, workers: int = 1) -> str:
    if chains is None and (folder / "manifest.json").exists():
        chains = open_run(folder).manifest["chains"]
    compiled = isinstance(model, Fit) or isinstance(model._fast_function, CFunction)
    if parallel is None:
        free = not getattr(sys, "_is_gil_enabled", lambda: True)()
        # Workers of a single chain are processes too: few theory codes can be called by two threads at a time.
        alone = chains == 1 and workers == 1
        return "threads" if compiled or free or alone or os.name != "posix" else "processes"
    if parallel not in _MODES:
        names = ", ".join(repr(mode) for mode in _MODES)
        raise ValueError(f"parallel = {parallel!r}: it must be {names}, or an mpi4py communicator")
    if parallel == "processes" and isinstance(model, Fit):
        return "threads"
    if parallel == "processes" and compiled:
        raise ValueError("a C function's address means nothing in another process: use parallel='threads'")
    if parallel == "processes" and os.name != "posix":
        raise ValueError("parallel='processes' needs Linux or macOS: use parallel='threads'")
    return parallel


def _limit(settings: dict[str, Any], folder: Path) -> float | None:
    """Seconds that an evaluation may take, in a run that begins or is resumed."""
    if "evaluation_limit" in settings or not (folder / "manifest.json").exists():
        return settings.get("evaluation_limit")
    return open_run(folder).manifest["options"].get("evaluation_limit")


def _team(model: Any, workers: int, limit: float | None, parallel: Any) -> Any:
    """Processes that make slow evaluations; nothing where the model cannot be sent to them, and nobody insists."""
    from ._processes import packed
    from ._workers import Team

    try:
        return Team(packed(model), workers, limit)
    except _towline.Error as error:
        if parallel == "processes":
            raise
        warnings.warn(f"workers are threads of this process, which help where prepare lets go of the interpreter: {error}", stacklevel=5)
        return None


def _weighs(settings: dict[str, Any], folder: Path) -> bool:
    if settings.get("error") is not None:
        return True
    return (folder / "manifest.json").exists() and open_run(folder).manifest["options"].get("error") is not None


def _communicator(parallel: Any) -> Any:
    if all(hasattr(parallel, name) for name in ("Get_rank", "Get_size", "allgather")):
        return parallel
    return None


def _check_model(given: Any) -> Any:
    model = as_model(given)
    if not isinstance(model, Model | Density | Fit):
        raise TypeError(
            "a towline.Model is needed (or towline.gp, towline.glmm, towline.Density, or an object with slow, fast, prepare and "
            f"log_likelihood), not {type(given).__name__}"
        )
    return model


def _whole(name: str, value: Any, least: int, most: int | None = None) -> int:
    try:
        number = value.__index__()
    except (AttributeError, TypeError):
        raise TypeError(f"{name} = {value!r}: a whole number is needed") from None
    if number < least:
        raise ValueError(f"{name} = {number}: it must be at least {least}")
    if most is not None and number > most:
        raise ValueError(f"{name} = {number}: it must be at most {most}")
    return number


def _number(name: str, value: Any) -> float | None:
    if value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} = {value!r}: a number is needed") from None
    if not math.isfinite(number) or number <= 0:
        raise ValueError(f"{name} = {number:g}: it must be a number above 0")
    return number


def _tuning(given: Any) -> dict[str, Any] | None:
    if given is None:
        return None
    if isinstance(given, Run):
        given = given.tuning
    if isinstance(given, str | os.PathLike):
        path = Path(given)
        path = path / "manifest.json" if path.is_dir() else path
        given = json.loads(path.read_text())
        given = given.get("tuning", given)
    if given is None:
        raise ValueError("tuning: that run has none yet, since it was not through its warm-up")
    if not isinstance(given, dict):
        raise TypeError(f"tuning must be a run, its directory or run.tuning, not {type(given).__name__}")
    return given
