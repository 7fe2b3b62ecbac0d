"""Models for the tests: the report's two as Cobaya components whose evaluations are counted, and some awkward ones."""

import math

import numpy as np
from cobaya.likelihood import Likelihood
from cobaya.theory import Theory

COUNT = {"slow": 0, "fast": 0}


class Sine(Theory):
    """A slow theory: sin(x) stands for a long computation."""

    speed = 1
    params = {"x": None, "square": {"derived": True}}

    def get_can_provide(self):
        return ["sine"]

    def calculate(self, state, want_derived=True, **params):
        COUNT["slow"] += 1
        x = params["x"]
        state["sine"] = (x, math.sin(x))
        if want_derived:
            state["derived"] = {"square": x * x}

    def get_sine(self):
        return self.current_state["sine"]


class Neal1(Likelihood):
    """The report's first test: x is slow, y fast."""

    speed = 1000
    params = {"y": None}

    def get_requirements(self):
        return ["sine"]

    def logp(self, _derived=None, **params):
        COUNT["fast"] += 1
        x, sin_x = self.provider.get_sine()
        return -x * x - 50 * (1 + x * x) ** 2 * (params["y"] - sin_x) ** 2


class Neal2(Likelihood):
    """The second, with z faster than y in nothing, and a derived parameter of its own."""

    speed = 1000
    params = {"y": None, "z": None, "apart": {"derived": True}}

    def get_requirements(self):
        return ["sine"]

    def logp(self, _derived=None, **params):
        COUNT["fast"] += 1
        x, sin_x = self.provider.get_sine()
        y, z = params["y"], params["z"]
        if _derived is not None:
            _derived["apart"] = z - y
        return -x * x - 50 * (1 + x * x) ** 2 * (y - sin_x) ** 2 - 12.5 * (z - y) ** 2


# Exact moments of the report's tests: of x from REFERENCE's one-dimensional integrals, the others follow.
VARIANCE_X = 0.3194838
FOURTH_X = 0.3402581

X = {"prior": {"min": -8, "max": 8}, "ref": {"dist": "norm", "loc": 0, "scale": 0.5}, "proposal": 0.5}
Y = {"prior": {"min": -12, "max": 12}, "ref": {"dist": "norm", "loc": 0, "scale": 0.3}, "proposal": 0.1}


def neal(test, **options):
    """An input with one of the report's tests."""
    params = {"x": dict(X), "y": dict(Y), "square": None}
    if test == 2:
        params |= {"z": dict(Y), "apart": None}
    return {
        "theory": {"sine": {"external": Sine}},
        "likelihood": {"test": {"external": Neal1 if test == 1 else Neal2}},
        "params": params,
        "sampler": {"towline.cobaya.Towline": {"measure_speeds": False, "seed": 1, **options}},
    }


def standard_error(values):
    """Of the mean of chains in rows, by their autocorrelation."""
    import arviz

    values = np.atleast_2d(values)
    return float(arviz.mcse(arviz.convert_to_dataset({"v": values}), method="mean")["v"])


def chains(sampler, name):
    """A column of all chains of a sampler, one row for each step, as rows of equal length."""
    rows = []
    for chain in sampler.chains_here:
        weights = np.round(np.asarray(chain.collection["weight"])).astype(int)
        rows.append(np.repeat(np.asarray(chain.collection[name], dtype=float), weights))
    length = min(map(len, rows))
    return np.array([row[:length] for row in rows])


def assert_mean(values, expected, z=4.0):
    """The mean of the chains is what it should be, within so many standard errors."""
    error = standard_error(values)
    apart = (values.mean() - expected) / error
    assert abs(apart) < z, f"{values.mean():.5g}, not {expected:.5g} (standard error {error:.2g}, {apart:.1f} of them)"
