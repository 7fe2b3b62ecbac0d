"""A model in several processes: `workers` slow evaluations at a time, where a Cobaya model can make only one.

A component of Cobaya keeps the state that it is asked about, so that one model serves one caller at a time. Each worker is a fresh
interpreter with a model of its own, built from the same input. What a slow evaluation leaves behind stays in the worker
that made it, and is known here by a number; fast evaluations at that place go there too. So the engine's threads may call from
everywhere: whoever needs a worker that is at work waits for it.
"""

import atexit
import itertools
import pickle
import socket
import subprocess
import sys
import threading
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

import towline

# Seconds that a worker may take to end by itself.
PATIENCE = 5.0
_HERE = str(Path(towline.__file__).parent.parent)


class WorkerLost(RuntimeError):
    """A worker's process has ended: it was killed, or its code ended it."""


class Place:
    """What a slow evaluation has left behind in some worker."""

    __slots__ = ("worker", "key", "__weakref__")

    def __init__(self, worker, key):
        self.worker, self.key = worker, key

    def __del__(self):
        self.worker.forgotten.append(self.key)


class Worker:
    """One process, and what goes to and from it."""

    def __init__(self, payload):
        self.payload = payload
        self.forgotten = []
        self.busy = False
        self.process = None

    def start(self):
        """Begins the process, or begins it anew: a theory code may have taken its process with it."""
        ours, theirs = socket.socketpair()
        with theirs:
            # What was imported from here, functions of an input among it, is imported from the same places there.
            code = f"import sys; sys.path[:] = {[_HERE, *sys.path]!r}; from towline.cobaya.workers import serve; serve({theirs.fileno()})"
            command = [sys.executable, "-P", "-c", code]
            self.process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
        self.connection = Connection(ours.detach())
        self.connection.send_bytes(self.payload)

    def ask(self, what, *arguments):
        """Asks, and waits for the answer; the caller has the worker for itself."""
        if self.process is None:
            self.start()
        forgotten, self.forgotten = self.forgotten, []
        try:
            self.connection.send((what, arguments, forgotten))
            kind, answer = self.connection.recv()
        except (EOFError, OSError) as gone:
            code = self.process.wait()
            self.process = None
            how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
            raise WorkerLost(f"a worker's process ended {how} in the middle of an evaluation") from gone
        if kind == "failed":
            raise answer
        return answer

    def end(self):
        """Ends the process."""
        if self.process is None:
            return
        self.connection.close()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None


class Team:
    """An evaluator whose slow evaluations are made by several processes; for the engine it is like any other."""

    def __init__(self, evaluator, count):
        self.evaluator = evaluator
        payload = pickle.dumps(evaluator)
        self.workers = [Worker(payload) for _ in range(count)]
        self._free = threading.Condition()
        self._keys = itertools.count()
        atexit.register(self.end)

    def _take(self, worker=None):
        """This worker, or any, for the caller alone."""
        with self._free:
            while True:
                if worker is None:
                    found = next((w for w in self.workers if not w.busy), None)
                else:
                    found = None if worker.busy else worker
                if found is not None:
                    found.busy = True
                    return found
                self._free.wait()

    def _give(self, worker):
        with self._free:
            worker.busy = False
            self._free.notify_all()

    def _ask(self, worker, what, *arguments):
        worker = self._take(worker)
        try:
            return worker, worker.ask(what, *arguments)
        finally:
            self._give(worker)

    def prepare(self, x):
        """A slow evaluation by whoever is free."""
        key = next(self._keys)
        worker, alive = self._ask(None, "prepare", key, np.array(x))
        return Place(worker, key) if alive else None

    def log_likelihood(self, place, y):
        return self._ask(place.worker, "log_likelihood", place.key, np.array(y))[1]

    def log_likelihood_batch(self, place, ys):
        return self._ask(place.worker, "batch", place.key, np.array(ys))[1]

    def derived(self, place, x, y):
        return self._ask(place.worker, "derived", place.key, np.array(x), np.array(y))[1]

    def end(self):
        """Ends all processes."""
        atexit.unregister(self.end)
        for worker in self.workers:
            worker.end()


def serve(descriptor):
    """What a worker's process does, until nobody asks any more."""
    import signal

    # Ctrl-C is for whoever began the run, who ends this process when it is time.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    connection = Connection(descriptor)
    evaluator, places = None, {}
    try:
        payload = connection.recv_bytes()
    except (EOFError, OSError):
        return
    while True:
        try:
            what, arguments, forgotten = connection.recv()
        except (EOFError, OSError):
            return
        for key in forgotten:
            places.pop(key, None)
        try:
            if evaluator is None:
                evaluator = pickle.loads(payload)
            answer = _answer(evaluator, places, what, *arguments)
        except Exception as error:
            connection.send(("failed", _portable(error)))
        else:
            connection.send(("answer", answer))


def _answer(evaluator, places, what, key, *arguments):
    fast = evaluator.log_likelihood if evaluator.temperature == 1 else evaluator.log_tempered
    if what == "prepare":
        cache = evaluator.prepare(*arguments)
        if cache is not None:
            places[key] = cache
        return cache is not None
    if key not in places:
        raise RuntimeError("what a slow evaluation had left behind went with its worker's process: resume the run")
    if what == "log_likelihood":
        return float(fast(places[key], *arguments))
    if what == "batch":
        return np.array([fast(places[key], y) for y in arguments[0]])
    return [float(value) for value in evaluator.derived(places[key], *arguments)]


def _portable(error):
    """An exception that can be sent: as it is, or in words."""
    try:
        pickle.loads(pickle.dumps(error))
        return error
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
