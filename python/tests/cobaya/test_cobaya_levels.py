"""Three speeds in a Cobaya input: nested drags, and medium components run for medium parameters only."""

import math
import time

import numpy as np
from cobaya.likelihood import Likelihood
from cobaya.run import run
from cobaya.theory import Theory
from problems import VARIANCE_X, assert_mean, chains, neal
from test_cobaya_evaluator import both

CALLS = {"medium": 0, "fast": 0}
# What the medium computation takes: a long while beside the fast one.
SECONDS = 2e-3


class Medium(Theory):
    """sin(m), after a while."""

    speed = 1 / SECONDS
    params = {"m": None}

    def get_can_provide(self):
        return ["middle"]

    def calculate(self, state, want_derived=True, **params):
        CALLS["medium"] += 1
        begun = time.perf_counter()
        while time.perf_counter() - begun < SECONDS:
            pass
        state["middle"] = (params["m"], math.sin(params["m"]))

    def get_middle(self):
        return self.current_state["middle"]


class Follows(Likelihood):
    """The report's first test in x and y; m is standard normal, and v follows its sine."""

    speed = 1e5
    params = {"y": None, "v": None}

    def get_requirements(self):
        return ["sine", "middle"]

    def logp(self, _derived=None, **params):
        CALLS["fast"] += 1
        x, sin_x = self.provider.get_sine()
        m, sin_m = self.provider.get_middle()
        report = -x * x - 50 * (1 + x * x) ** 2 * (params["y"] - sin_x) ** 2
        return report - 0.5 * m * m - 0.5 * ((params["v"] - sin_m) / 0.2) ** 2


def three_speeds(**options):
    """x is slow, m medium, y and v are fast."""
    info = neal(1, **options)
    info["theory"]["medium"] = {"external": Medium}
    info["likelihood"] = {"follows": {"external": Follows}}
    flat = {"prior": {"min": -8, "max": 8}, "ref": {"dist": "norm", "loc": 0, "scale": 0.3}, "proposal": 0.3}
    info["params"] |= {"m": dict(flat), "v": dict(flat)}
    return info


def test_three_levels_are_dragged_within_each_other():
    _, sampler = run(three_speeds(chains=1, warmup=150, max_samples=400, Rminus1_stop=1e-4))
    assert sampler.speeds.slow == ["x"] and sampler.speeds.levels[0] == ["m"]
    assert sorted(sampler.speeds.levels[1]) == ["v", "y"]
    # Evaluations are timed: one ratio could not say what a nested drag saves.
    assert sampler.engine_run.manifest["options"].get("cost_ratio") is None
    x, m, v = (chains(sampler, name) for name in ("x", "m", "v"))
    assert_mean(x, 0.0)
    assert_mean(x**2, VARIANCE_X)
    assert_mean(m, 0.0)
    assert_mean((v - np.sin(m)) ** 2, 0.04)


def test_a_medium_component_runs_once_for_each_end_of_a_nested_drag():
    _, bypass, _ = both(three_speeds())
    cache = bypass.prepare(np.array([0.2]))
    before = dict(CALLS)
    medium, fast = bypass.fast.index("m"), bypass.fast.index("v")
    for k in range(20):
        for end in (0.5, -0.4):
            y = np.zeros(3)
            y[medium], y[fast] = end, 0.01 * k
            bypass.log_likelihood(cache, y)
    assert CALLS["medium"] - before["medium"] == 2
    assert CALLS["fast"] - before["fast"] == 40
