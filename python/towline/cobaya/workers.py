"""A Cobaya model in several processes: `workers` slow evaluations at a time, where a model can make only one.

A component of Cobaya keeps the state that it is asked about, so that one model serves one caller at a time. Each worker has a model of its own,
built from the same input. What a slow evaluation leaves behind stays in the worker that made it, and is known here by a number; fast
evaluations at that place go there too.
"""

import itertools
import pickle

import numpy as np

from .._workers import Team as Processes
from .._workers import WorkerLost, answer_with


class Lost(RuntimeError):
    """What a slow evaluation had left behind went with its worker's process."""


class Place:
    """What a slow evaluation has left behind in some worker."""

    __slots__ = ("x", "worker", "key", "__weakref__")

    def __init__(self, x, worker, key):
        self.x, self.worker, self.key = x, worker, key

    def __del__(self):
        self.worker.forgotten.append(self.key)


class Team(Processes):
    """An evaluator whose evaluations are made by several processes; for the engine it is like any other."""

    serving = "towline.cobaya.workers"

    def __init__(self, evaluator, count):
        super().__init__(pickle.dumps(evaluator), count)
        self._keys = itertools.count()

    def prepare(self, x):
        """A slow evaluation by whoever is free."""
        x, key = np.array(x), next(self._keys)
        worker, alive = self.ask_again("prepare", key, x)
        return Place(x, worker, key) if alive else None

    def log_likelihood(self, place, y):
        """A fast evaluation, where its slow one was made."""
        return self._at(place, "log_likelihood", np.array(y))

    def log_likelihood_batch(self, place, ys):
        """Many of them."""
        return self._at(place, "batch", np.array(ys))

    def derived(self, place, x, y):
        """Derived parameters, likewise."""
        return self._at(place, "derived", np.array(x), np.array(y))

    def _at(self, place, what, *arguments):
        try:
            return self.ask(place.worker, what, place.key, *arguments)[1]
        except (Lost, WorkerLost):
            # Its worker's process has ended since: the slow evaluation is made again.
            place.worker, _ = self.ask_again("prepare", place.key, place.x)
            return self.ask(place.worker, what, place.key, *arguments)[1]


def serve(descriptor):
    """What a worker's process does, until nobody asks any more."""
    places = {}
    answer_with(descriptor, lambda evaluator, what, arguments, forgotten: _answer(evaluator, places, forgotten, what, *arguments))


def _answer(evaluator, places, forgotten, what, key, *arguments):
    for old in forgotten:
        places.pop(old, None)
    fast = evaluator.log_likelihood if evaluator.temperature == 1 else evaluator.log_tempered
    if what == "prepare":
        cache = evaluator.prepare(*arguments)
        if cache is not None:
            places[key] = cache
        return cache is not None
    if key not in places:
        raise Lost("what a slow evaluation had left behind went with its worker's process")
    if what == "log_likelihood":
        return float(fast(places[key], *arguments))
    if what == "batch":
        return np.array([fast(places[key], y) for y in arguments[0]])
    return [float(value) for value in evaluator.derived(places[key], *arguments)]
