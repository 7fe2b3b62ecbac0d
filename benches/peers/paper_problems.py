"""The report's two tests as Cobaya components and as two plain functions: the same arithmetic in all of them."""

import math

import numpy as np
from cobaya.likelihood import Likelihood
from cobaya.theory import Theory

# Evaluations since the program began.
COUNT = {"slow": 0, "fast": 0}


def sine(x):
    """The slow computation: sin(x) stands for something long."""
    COUNT["slow"] += 1
    return math.sin(x)


def energy1(x, sin_x, y):
    """The first test's energy."""
    COUNT["fast"] += 1
    return x * x + 50.0 * (1.0 + x * x) ** 2 * (y - sin_x) ** 2


def energy2(x, sin_x, y, z):
    """The second's."""
    COUNT["fast"] += 1
    return x * x + 50.0 * (1.0 + x * x) ** 2 * (y - sin_x) ** 2 + 12.5 * (z - y) ** 2


class Sine(Theory):
    """The slow computation, as a theory code."""

    speed = 1
    params = {"x": None}

    def get_can_provide(self):
        return ["sine"]

    def calculate(self, state, want_derived=True, **params):
        state["sine"] = (params["x"], sine(params["x"]))

    def get_sine(self):
        return self.current_state["sine"]


class Test1(Likelihood):
    speed = 1000
    params = {"y": None}

    def get_requirements(self):
        return ["sine"]

    def logp(self, _derived=None, **params):
        x, sin_x = self.provider.get_sine()
        return -energy1(x, sin_x, params["y"])


class Test2(Likelihood):
    speed = 1000
    params = {"y": None, "z": None}

    def get_requirements(self):
        return ["sine"]

    def logp(self, _derived=None, **params):
        x, sin_x = self.provider.get_sine()
        return -energy2(x, sin_x, params["y"], params["z"])


def cobaya_input(test, sampler):
    """An input for Cobaya with flat priors, wide enough not to matter."""
    fast = ["y"] if test == 1 else ["y", "z"]
    params = {"x": {"prior": {"min": -8, "max": 8}, "ref": {"dist": "norm", "loc": 0, "scale": 0.5}, "proposal": 0.5}}
    for name in fast:
        params[name] = {"prior": {"min": -12, "max": 12}, "ref": {"dist": "norm", "loc": 0, "scale": 0.1}, "proposal": 0.1}
    return {
        "theory": {"sine": {"external": Sine}},
        "likelihood": {"test": {"external": Test1 if test == 1 else Test2}},
        "params": params,
        "sampler": sampler,
    }


def exact_covariance(test, draws=2_000_000):
    """The posterior's covariance, from independent draws."""
    rng = np.random.default_rng(1)
    # The marginal of x is exp(−x²) / (1 + x²): from a normal with variance 1/2, by rejection.
    x = rng.normal(0, math.sqrt(0.5), draws)
    x = x[rng.random(draws) < 1 / (1 + x * x)]
    y = np.sin(x) + rng.normal(size=len(x)) / (10 * (1 + x * x))
    columns = [x, y] if test == 1 else [x, y, y + 0.2 * rng.normal(size=len(x))]
    return np.cov(columns)
