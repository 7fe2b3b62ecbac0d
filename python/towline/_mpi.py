"""A chain on each rank of an mpi4py communicator: `mpirun -n 4 python script.py`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from . import _towline
from ._display import watch
from ._run import Run


class _Ranks:
    """The chain's exchange over a communicator of its own.

    Every meeting is an `allgather` of a status and a vector. A rank whose chain has ended keeps meeting the others, to say that
    it has left, until all have: so nobody ever waits for one that will not come.
    """

    #: The tag of the word that a chain has failed.
    HALT = 7

    def __init__(self, communicator: Any, stop: _towline.Stop) -> None:
        self.communicator, self.stop = communicator, stop
        self.can_probe = _can_probe(communicator)

    def halt_others(self) -> None:
        """This chain has failed: the others need not run to their end."""
        if self.can_probe:
            for rank in range(self.communicator.Get_size()):
                if rank != self.communicator.Get_rank():
                    self.communicator.isend(None, dest=rank, tag=self.HALT)

    def look(self) -> None:
        """Whether another has failed."""
        while self.can_probe and self.communicator.iprobe(tag=self.HALT):
            self.communicator.recv(tag=self.HALT)
            self.stop.halt()

    def gather(self, mine: bytes) -> list[bytes]:
        met = self.communicator.allgather((None, mine))
        for rank, (left, _) in enumerate(met):
            if left is not None:
                raise ConnectionError(f"chain {rank}: {left}")
        return [vector for _, vector in met]

    def rest(self) -> None:
        """Every rank has its own processor."""

    def leave(self, why: str) -> None:
        while any(left is None for left, _ in self.communicator.allgather((why, b""))):
            pass


def run_on_ranks(
    communicator: Any,
    model: Any,
    settings: dict[str, Any],
    going_on: dict[str, Any] | None,
    out: Any,
    progress: Any,
) -> Run:
    """Runs this rank's chain; every rank returns the run."""
    from ._sampling import begin, explain, tell_of_failures
    from ._fit import Fit

    if out is None:
        raise ValueError("out is missing: on ranks a run needs a directory that all of them can see")
    _check_threads(communicator)
    own = communicator.Dup() if hasattr(communicator, "Dup") else communicator
    rank = own.Get_rank()
    session = None
    problem: Exception | None = None
    if rank == 0:
        try:
            session = begin(model, settings, going_on, Path(out))
            if session.chains() != own.Get_size():
                raise ValueError(f"the run has {session.chains()} chains, and the communicator {own.Get_size()} ranks")
            session.write_manifest(Path(out))
        except Exception as error:
            problem = error
    where, said = own.bcast((str(out), None if problem is None else str(problem)), root=0)
    if said is not None:
        if session is not None:
            session.close()
        raise problem if problem is not None else _towline.Error(f"rank 0: {said}")
    folder = Path(where)
    target = model._target_in(folder) if isinstance(model, Fit) else model._target()
    stop = _towline.Stop()
    link = _Ranks(own, stop)
    failure: BaseException | None = None
    ended = "halted"
    try:
        with watch(progress if rank == 0 else False, folder) as see:
            asked = _asked(folder)

            def show(chain: dict[str, Any]) -> None:
                link.look()
                if see is not None:
                    see({"draws": asked, "chains": [chain]})

            limits = (settings.get("time_limit"), settings.get("checkpoint_every"))
            ended = _towline.run_chain(target, folder, rank, link, stop, *limits, show)
    except ConnectionError as error:
        failure, why = error, str(error)
    except BaseException as error:
        failure, why = error, f"{type(error).__name__}: {error}"
        link.halt_others()
    else:
        why = f"the run was {ended}"
    # A chain that has ended well leaves too: nobody meets any more once all have.
    link.leave(why)
    endings = own.allgather((ended, None if failure is None or isinstance(failure, ConnectionError) else why))
    if session is not None:
        session.close()
    own.barrier()
    link.look()
    if own is not communicator:
        own.Free()
    if failure is not None and not isinstance(failure, ConnectionError):
        explain(failure, folder, False, model)
        raise failure
    for other, (_, why) in enumerate(endings):
        if why is not None:
            problem = _towline.Error(f"the chain of rank {other} failed: {why}")
            explain(problem, folder, False, model)
            raise problem
    how = _together([ended for ended, _ in endings])
    tell_of_failures(*target.failures())
    run = Run(folder, how, None, model)
    if how == "stopped" and rank == 0:
        print(f"stopped after {run.draws_made} draws of each chain", file=sys.stderr)
    return run


def _together(endings: list[str]) -> str:
    for how in ("stopped", "time limit", "target reached"):
        if how in endings:
            return how
    return "finished"


def _asked(folder: Path) -> int:
    from ._run import open as open_run

    return open_run(folder).manifest["draws"]


def _can_probe(communicator: Any) -> bool:
    """Whether two threads may call MPI at a time: one looks while the chain's waits."""
    if type(communicator).__module__.split(".")[0] != "mpi4py":
        return False
    from mpi4py import MPI

    return MPI.Query_thread() >= MPI.THREAD_MULTIPLE


def _check_threads(communicator: Any) -> None:
    """The chain runs in a thread of its own, so MPI must allow calls from it."""
    if type(communicator).__module__.split(".")[0] != "mpi4py":
        return
    from mpi4py import MPI

    if MPI.Query_thread() < MPI.THREAD_SERIALIZED:
        raise _towline.Error(
            'MPI was begun without threads: leave mpi4py.rc.thread_level at "multiple", or set it so before importing MPI'
        )
