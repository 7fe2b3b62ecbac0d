"""Slow evaluations in several processes: what `workers=` is for a model whose functions hold the interpreter.

Each worker is a fresh interpreter with the model, sent once. The engine's threads ask from wherever they are: each waits for a worker that
is free, and lets go of the interpreter meanwhile. What a slow computation leaves behind comes back pickled, so that fast evaluations
are made here, as without workers. A worker that dies (killed for want of memory, say) is begun anew, and its evaluation made again, once.
"""

from __future__ import annotations

import atexit
import contextlib
import pickle
import signal
import socket
import subprocess
import sys
import threading
import warnings
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

#: Seconds that a worker may take to end by itself.
PATIENCE = 5.0
#: Seconds beyond the limit of an evaluation: it is the engine that judges.
GRACE = 1.0
#: What those are told who wait for an evaluation when the workers are ended.
ENDED = "the workers have been ended"
_HERE = str(Path(__file__).parent.parent)


class WorkerLost(RuntimeError):
    """A worker's process has ended: it was killed, or its code ended it."""


class Worker:
    """One process, and what goes to and from it."""

    def __init__(self, payload: bytes, serving: str, limit: float | None) -> None:
        self.payload, self.serving, self.limit = payload, serving, limit
        self.forgotten: list[int] = []
        self.busy = self.ended = False
        self.process: subprocess.Popen[bytes]

    def start(self) -> None:
        """Begins the process, or begins it anew: a theory code may have taken its process with it."""
        ours, theirs = socket.socketpair()
        with theirs:
            # What was imported from here, functions of a model among it, is imported from the same places there.
            places = [_HERE, *sys.path]
            code = f"import sys; sys.path[:] = {places!r}; from {self.serving} import serve; serve({theirs.fileno()})"
            command = [sys.executable, "-P", "-c", code]
            self.process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
        self.connection = Connection(ours.detach())
        self.connection.send_bytes(self.payload)

    def wait(self, limit: float | None = None) -> Any:
        """The answer to what was asked, or that the process has its model."""
        try:
            kind, answer = self.connection.recv() if self.connection.poll(limit) else ("late", None)
        except (EOFError, OSError) as gone:
            if self.ended:
                raise WorkerLost(ENDED) from gone
            raise WorkerLost(f"a worker's process ended {self._begin_anew()} in the middle of an evaluation") from gone
        if kind == "late":
            # The engine has given it up already, and says so; another process takes its place.
            if not self.ended:
                self._begin_anew()
            raise TimeoutError("the evaluation took longer than it may")
        if kind == "failed":
            raise answer
        return answer

    def ask(self, what: str, *arguments: Any) -> Any:
        """Asks, and waits for the answer; the caller has the worker for itself."""
        forgotten, self.forgotten = self.forgotten, []
        with contextlib.suppress(OSError):  # where it has ended, its answer says so
            self.connection.send((what, arguments, forgotten))
        return self.wait(self.limit)

    def _begin_anew(self) -> str:
        """Ends the process if it has not ended, and begins another, ready before anybody's time is measured; returns how it ended."""
        process = self.process
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.2)
        process.kill()
        code = process.wait()
        self.connection.close()
        self.start()
        with contextlib.suppress(EOFError, OSError):
            self.connection.recv()
        return f"by signal {-code}" if code < 0 else f"with exit code {code}"

    def end(self) -> None:
        """Ends the process."""
        self.ended = True
        process = self.process
        if self.busy:
            # Somebody still waits for an evaluation that hangs, or that nobody needs any more.
            process.kill()
        self.connection.close()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class Team:
    """Workers, of whom each serves one caller at a time."""

    serving = "towline._workers"

    def __init__(self, payload: bytes, count: int, limit: float | None = None) -> None:
        limit = None if limit is None else limit + GRACE
        self.workers = [Worker(payload, self.serving, limit) for _ in range(count)]
        self._free = threading.Condition()
        self.ended = False
        atexit.register(self.end)
        for worker in self.workers:
            worker.start()
        try:
            for worker in self.workers:
                worker.wait()
        except BaseException:
            self.end()
            raise

    def _take(self, worker: Worker | None) -> Worker:
        """This worker, or any, for the caller alone."""
        with self._free:
            while True:
                if self.ended:
                    raise WorkerLost(ENDED)
                candidates = self.workers if worker is None else [worker]
                found = next((one for one in candidates if not one.busy), None)
                if found is not None:
                    found.busy = True
                    return found
                self._free.wait()

    def ask(self, worker: Worker | None, what: str, *arguments: Any) -> tuple[Worker, Any]:
        """What this worker answers, or whoever is free."""
        worker = self._take(worker)
        try:
            return worker, worker.ask(what, *arguments)
        finally:
            with self._free:
                worker.busy = False
                self._free.notify_all()

    def prepare(self, x: np.ndarray) -> Any:
        """A slow evaluation by whoever is free."""
        return self.ask_again("prepare", np.array(x))[1]

    def ask_again(self, what: str, *arguments: Any) -> tuple[Worker, Any]:
        """What whoever is free answers; asked once more where its process ends. Where that ends too, it is the evaluation that ends it."""
        try:
            return self.ask(None, what, *arguments)
        except WorkerLost as lost:
            if self.ended:
                raise
            warnings.warn(f"{lost}: it is made again", stacklevel=2)
            return self.ask(None, what, *arguments)

    def end(self) -> None:
        """Ends all processes. Whoever still waits for an evaluation that nobody needs any more leaves before: a thread that came back while the interpreter
        ends would take the process with it."""
        atexit.unregister(self.end)
        with self._free:
            self.ended = True
            self._free.notify_all()
        for worker in self.workers:
            worker.end()
        with self._free:
            self._free.wait_for(lambda: not any(worker.busy for worker in self.workers), GRACE)


def serve(descriptor: int) -> None:
    """What a worker's process does, until nobody asks any more."""
    answer_with(descriptor, lambda model, what, arguments, forgotten: getattr(model, what)(*arguments))


def answer_with(descriptor: int, answer: Any) -> None:
    """Answers by `answer(model, what, arguments, forgotten)`; exceptions go to whoever asked."""
    # Ctrl-C is for whoever began the run, who ends this process when it is time.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    connection = Connection(descriptor)
    try:
        try:
            model = pickle.loads(connection.recv_bytes())
            data = _pickled(("answer", None))
        except Exception as error:
            data = _pickled(("failed", _portable(error)))
        connection.send_bytes(data)
        while True:
            what, arguments, forgotten = connection.recv()
            try:
                data = _pickled(("answer", answer(model, what, arguments, forgotten)))
            except Exception as error:
                data = _pickled(("failed", _portable(error)))
            connection.send_bytes(data)
    except (EOFError, OSError):
        return


def _pickled(message: tuple[str, Any]) -> bytes:
    try:
        return pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        kind = type(message[1]).__name__
        raise TypeError(
            f"prepare returned a {kind} that cannot be sent from a worker's process ({type(error).__name__}: {error}): "
            "return arrays, or use parallel='threads'"
        ) from error


def _portable(error: Exception) -> Exception:
    """An exception that can be sent: as it is, with the worker's traceback as a note, or in words."""
    import traceback

    lines = "".join(traceback.format_exception(error)).rstrip()
    try:
        pickle.loads(pickle.dumps(error))
        sent = error
    except Exception:
        sent = RuntimeError(f"{type(error).__name__}: {error}")
    sent.add_note(f"in a worker's process:\n{lines}")
    return sent
