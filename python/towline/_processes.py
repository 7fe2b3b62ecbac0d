"""Chains in processes of their own: this one holds the run directory, passes on what they share, and watches over them.

A worker is a fresh interpreter (nothing is forked), which gets the model pickled. Over its socket it sends `gather` with
its vector and waits for everybody's; `rest` where another chain may have its turn; `progress`; and at last how it ended.
"""

from __future__ import annotations

import os
import pickle
import socket
import subprocess
import sys
import time
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from . import _towline

#: Seconds that chains may take to store what they have, once the run is over.
PATIENCE = 30.0


def packed(model: Any) -> bytes:
    """The model in bytes; refuses one that cannot be sent, and says what to do."""
    try:
        import cloudpickle as pickler
    except ImportError:
        pickler = pickle
    try:
        data = pickler.dumps(model)
        if pickler is pickle:
            _refuse_main(model)
        return data
    except Exception as error:
        advice = [
            "define its functions in a module that can be imported, without open files, locks or the like in what they refer to",
            "or run it in this process, with parallel='threads' or parallel='serial'",
        ]
        if pickler is pickle:
            advice.insert(1, "or install cloudpickle, which can send functions that are defined in a script")
        raise _towline.Error(
            f"the model cannot be sent to other processes ({type(error).__name__}: {error}): {', '.join(advice)}"
        ) from error


def _refuse_main(model: Any) -> None:
    functions = (model.prepare, model._fast_function, model._batch, model.gradient, model.refine, model.derived)
    for function in functions:
        if getattr(function, "__module__", None) == "__main__":
            raise TypeError(f"{function.__qualname__} is defined in the script itself")


class _Worker:
    """A chain's process, and what is known of it."""

    def __init__(self, chain: int, task: dict[str, Any]) -> None:
        ours, theirs = socket.socketpair()
        self.chain = chain
        with theirs:
            # This very package, wherever it was imported from, and nothing from the present folder.
            code = f"import sys; sys.path.append({_HERE!r}); from towline._worker import main; main()"
            command = [sys.executable, "-P", "-c", code, str(theirs.fileno())]
            self.process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
        self.connection = Connection(ours.detach())
        self.brought: bytes | None = None
        self.waiting = False
        self.progress: dict[str, Any] = _NOTHING
        self.ended: str | None = None
        self.tell(task)

    def tell(self, message: Any) -> None:
        try:
            self.connection.send(message)
        except OSError:
            pass  # it has ended: its socket will say so


_HERE = str(Path(__file__).parent.parent)
_NOTHING: dict[str, Any] = {
    "phase": "waiting", "stage": 0, "draws": 0, "draws_before": 0, "slow_evaluations": 0, "outer_acceptance": float("nan"),
    "inner_acceptance": float("nan"), "seconds": 0.0, "failures": 0,
}  # fmt: skip


class _Hub:
    """Who passes vectors from chain to chain, and gives turns where there are fewer cores than chains."""

    def __init__(self, workers: list[_Worker], cores: int) -> None:
        self.workers = workers
        self.free = cores
        self.queue: list[tuple[_Worker, Any]] = []
        self.over: str | None = None
        self.failure: BaseException | None = None
        self.halted: float | None = None
        self.counted: list[tuple[int, BaseException | None]] = []

    def living(self) -> list[_Worker]:
        return [worker for worker in self.workers if worker.ended is None]

    def grant(self) -> None:
        """Turns for those who have waited longest."""
        while self.free > 0 and self.queue:
            worker, answer = self.queue.pop(0)
            if worker.ended is None:
                self.free -= 1
                worker.waiting = False
                worker.tell(("turn", answer))

    def ask(self, worker: _Worker, answer: Any) -> None:
        worker.waiting = True
        self.queue.append((worker, answer))

    def hear(self, worker: _Worker) -> None:
        """One message of a worker, or its end."""
        try:
            kind, *content = worker.connection.recv()
        except (EOFError, OSError):
            self.lose(worker)
            return
        if kind == "ready":
            self.ask(worker, None)
        elif kind == "gather":
            self.free += 1
            worker.waiting = True
            if self.over is not None:
                worker.tell(("over", self.over))
                return
            worker.brought = content[0]
            if all(one.brought is not None for one in self.workers):
                all_of_them = [one.brought for one in self.workers]
                for one in self.workers:
                    one.brought = None
                    self.ask(one, all_of_them)
        elif kind == "rest":
            self.free += 1
            self.ask(worker, None)
        elif kind == "progress":
            worker.progress = content[0]
        elif kind == "ended":
            how, count, first = content
            self.counted.append((count, _unpacked(first)))
            self.end(worker, how)
            if how == "stopped" or how == "time limit" or how == "halted":
                self.leave(f"chain {worker.chain}: the run was stopped")
        elif kind == "echo":
            # It ended because another has: that one's failure is the news, unless there is none.
            self.end(worker, "halted")
            self.leave(f"chain {worker.chain}: {content[0]}")
        elif kind == "failed":
            self.fail(worker, _unpacked(content[0]), f"chain {worker.chain} failed")

    def lose(self, worker: _Worker) -> None:
        """Its process ended without a word."""
        code = worker.process.wait()
        how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        error = _towline.Error(f"the process of chain {worker.chain} {how}; the other chains have stored their draws")
        self.fail(worker, error, f"the process of chain {worker.chain} {how}")

    def fail(self, worker: _Worker, error: BaseException, why: str) -> None:
        self.end(worker, "failed")
        if self.failure is None:
            self.failure = error
        self.leave(why)
        self.halted = self.halted or time.monotonic()
        for one in self.living():
            one.tell(("halt",))

    def end(self, worker: _Worker, how: str) -> None:
        if not worker.waiting:
            self.free += 1
        worker.ended = how

    def leave(self, why: str) -> None:
        """Nobody need wait for a chain that will not come."""
        if self.over is None:
            self.over = why
            for one in self.living():
                if one.brought is not None:
                    one.brought = None
                    one.tell(("over", why))

    def stop(self) -> None:
        for one in self.living():
            one.tell(("stop",))


def run_in_processes(
    session: _towline.Session,
    model: Any,
    payload: bytes,
    folder: Path,
    settings: dict[str, Any],
    cores: int | None,
    see: Any,
) -> str:
    """Runs all chains, each in a process, and returns how the run ended."""
    from ._sampling import tell_of_failures

    chains = session.chains()
    session.write_manifest(folder)
    draws = _draws(folder)
    task = {
        "path": [entry or os.getcwd() for entry in sys.path],
        "payload": payload,
        "folder": str(folder),
        "time_limit": settings.get("time_limit"),
        "checkpoint_every": settings.get("checkpoint_every"),
    }
    workers: list[_Worker] = []
    interrupted = 0
    try:
        for chain in range(chains):
            workers.append(_Worker(chain, {**task, "chain": chain}))
        hub = _Hub(workers, cores or chains)
        while hub.living():
            try:
                ready = wait([worker.connection for worker in hub.living()], timeout=0.1)
                for worker in workers:
                    if worker.connection in ready and worker.ended is None:
                        hub.hear(worker)
                hub.grant()
                if see is not None:
                    see({"draws": draws, "chains": [worker.progress for worker in workers]})
                if hub.halted is not None and time.monotonic() - hub.halted > PATIENCE:
                    for worker in hub.living():
                        worker.process.kill()
            except KeyboardInterrupt:
                interrupted += 1
                if interrupted > 1:
                    raise
                hub.stop()
    finally:
        for worker in workers:
            worker.connection.close()
            _put_away(worker.process)
    if hub.failure is not None:
        raise hub.failure
    counts = [count for count, _ in hub.counted]
    tell_of_failures(sum(counts), next((first for _, first in hub.counted if first is not None), None))
    endings = [worker.ended for worker in workers]
    for how in ("stopped", "time limit", "target reached"):
        if how in endings:
            return how
    if "halted" in endings:
        raise _towline.Error(f"a chain ended before its time ({hub.over})")
    return "finished"


def _draws(folder: Path) -> int:
    from ._run import open as open_run

    return open_run(folder).manifest["draws"]


def _put_away(process: subprocess.Popen[bytes]) -> None:
    """A worker whose socket is closed stores what it has and ends; one that does not is ended."""
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class RemoteTraceback(Exception):
    """Where an exception was raised in a worker."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f'\n"""\n{self.text}"""'


def _unpacked(content: tuple[bytes | None, str, str] | None) -> Any:
    """An exception from a worker, with its traceback there as its cause."""
    if content is None:
        return None
    data, line, text = content
    error: Any = None
    try:
        error = pickle.loads(data) if data is not None else None
    except Exception:
        pass  # one that is made of other arguments than it shows
    if not isinstance(error, BaseException):
        error = _towline.ModelError(line)
    error.__cause__ = RemoteTraceback(text)
    return error
