"""A theory in two stages, as CAMB has transfers and primordial spectra: a stage runs where its own inputs changed, and nowhere else."""

import math

import numpy as np
import pytest
from cobaya.likelihood import Likelihood
from cobaya.model import get_model
from cobaya.run import run
from cobaya.theory import Theory
from problems import VARIANCE_X, assert_mean, chains

from towline.cobaya import speeds
from towline.cobaya.evaluator import Bypass

CALLS = {"transfer": [], "primordial": []}


class Transfer(Theory):
    """The long computation."""

    speed = 1
    params = {"x": None}

    def get_can_provide(self):
        return ["transfer"]

    def calculate(self, state, want_derived=True, **params):
        CALLS["transfer"].append(params["x"])
        state["transfer"] = (params["x"], math.sin(params["x"]))

    def get_transfer(self):
        return self.current_state["transfer"]


class Primordial(Theory):
    """The short one after it."""

    speed = 200
    params = {"a": None}

    def get_requirements(self):
        return ["transfer"]

    def get_can_provide(self):
        return ["spectrum"]

    def calculate(self, state, want_derived=True, **params):
        CALLS["primordial"].append((self.provider.get_transfer()[0], params["a"]))
        x, sine = self.provider.get_transfer()
        state["spectrum"] = x, sine, params["a"] * math.exp(0.1 * sine)

    def get_spectrum(self):
        return self.current_state["spectrum"]


class Bands(Likelihood):
    """The report's first test in x and y, and an amplitude that is measured."""

    speed = 5000
    params = {"y": None}

    def get_requirements(self):
        return ["spectrum"]

    def logp(self, _derived=None, **params):
        x, sine, height = self.provider.get_spectrum()
        return -x * x - 50 * (1 + x * x) ** 2 * (params["y"] - sine) ** 2 - 0.5 * ((height - 1) / 0.05) ** 2 + 0.1 * sine


def stages(**options):
    flat = {"prior": {"min": -8, "max": 8}, "ref": {"dist": "norm", "loc": 0, "scale": 0.4}, "proposal": 0.3}
    near_one = {"prior": {"min": 0, "max": 5}, "ref": {"dist": "norm", "loc": 1, "scale": 0.1}, "proposal": 0.05}
    return {
        "theory": {"transfer": {"external": Transfer}, "primordial": {"external": Primordial}},
        "likelihood": {"bands": {"external": Bands}},
        "params": {"x": dict(flat), "a": near_one, "y": dict(flat)},
        "sampler": {"towline.cobaya.Towline": {"measure_speeds": False, "seed": 1, "chains": 2, "Rminus1_stop": 1e-4, **options}},
    }


def test_a_stage_is_computed_again_only_where_its_own_inputs_changed():
    model = get_model(stages())
    bypass = Bypass(model, speeds.find(model, [[1, ["x", "a"]], [9, ["y"]]]))
    assert bypass.slow == ["x", "a"]
    for calls in CALLS.values():
        calls.clear()
    points = [(0.1, 1.0), (0.1, 1.1), (0.3, 1.1), (0.1, 1.2), (0.3, 1.0), (0.1, 1.0)]
    caches = [bypass.prepare(np.array(x)) for x in points]
    # Whatever anybody still holds is not computed again: two transfers, five spectra.
    assert CALLS["transfer"] == [0.1, 0.3]
    assert len(CALLS["primordial"]) == 5 == len(set(CALLS["primordial"]))
    for x, cache in zip(points, caches):
        expected = model.loglike({"x": x[0], "a": x[1], "y": 0.2}, return_derived=False)
        assert bypass.log_likelihood(cache, np.array([0.2])) == pytest.approx(expected, rel=1e-12)
    # What nobody holds is forgotten.
    del caches, cache
    for x in ((0.5, 1.0), (0.6, 1.0), (0.7, 1.0)):
        bypass.prepare(np.array(x))
    CALLS["transfer"].clear()
    bypass.prepare(np.array((0.1, 1.0)))
    assert CALLS["transfer"] == [0.1]


@pytest.mark.parametrize("blocking", [None, [[1, ["x", "a"]], [100, ["y"]]]])
def test_posteriors_are_right_and_transfers_few(blocking):
    for calls in CALLS.values():
        calls.clear()
    _, sampler = run(stages(warmup=200, max_samples=800, blocking=blocking))
    # By the speeds, the amplitude is of a speed in between.
    assert sampler.speeds.slow == (["x"] if blocking is None else ["x", "a"])
    x = chains(sampler, "x")
    assert_mean(x**2, VARIANCE_X)
    assert_mean(chains(sampler, "a") * np.exp(0.1 * np.sin(x)), 1.0)
    transfers, spectra = len(CALLS["transfer"]), len(CALLS["primordial"])
    # Cobaya computes its own at the start, at two points.
    proposals = sampler.cost["slow_evals"] + 4
    assert transfers <= proposals
    if blocking is None:
        assert spectra > 2 * transfers
    else:
        # Where warm-up changes one parameter at a time, half of its steps need no transfer.
        assert transfers < spectra <= proposals
