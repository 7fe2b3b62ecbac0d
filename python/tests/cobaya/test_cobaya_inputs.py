"""Inputs whose parameters are all equally fast are run sensibly; what cannot be done is refused, what means nothing is said to."""

import numpy as np
import pytest
from cobaya.likelihood import Likelihood
from cobaya.log import LoggedError
from cobaya.run import run
from problems import assert_mean, chains, neal

SHORT = {"chains": 2, "warmup": 150, "Rminus1_stop": 1e-4}


def test_no_fast_parameter():
    info = neal(1, **SHORT, max_samples=1500)
    # The likelihood has no parameter of its own: everything is in the theory.
    info["likelihood"] = {"only": {"external": lambda _self=None: -_self.provider.get_sine()[0] ** 2, "requires": ["sine"]}}
    del info["params"]["y"]
    _, sampler = run(info)
    assert sampler.speeds.slow == ["x"] and sampler.speeds.fast == []
    assert_mean(chains(sampler, "x") ** 2, 0.5)


def test_no_slow_parameter():
    info = neal(1, **SHORT, max_samples=1500)
    del info["theory"]
    del info["params"]["square"]
    info["likelihood"] = {"both": {"external": lambda x, y: -0.5 * x * x - 2 * (y - x) ** 2}}
    _, sampler = run(info)
    assert sampler.speeds.fast == [] and "one speed" in sampler.speeds.reason
    x, y = chains(sampler, "x"), chains(sampler, "y")
    assert_mean(x * x, 1.0)
    assert_mean((y - x) ** 2, 0.25)


class Line(Likelihood):
    """y about x, which a theory knows."""

    params = {"y": None}

    def get_requirements(self):
        return ["sine"]

    def logp(self, _derived=None, **params):
        x = self.provider.get_sine()[0]
        return -0.5 * x * x - 2 * (params["y"] - x) ** 2


@pytest.mark.parametrize("speed, fast", [(0.1, []), (0.7, ["y"])])
def test_components_of_nearly_one_speed(speed, fast):
    info = neal(1, **SHORT, max_samples=1500)
    info["likelihood"] = {"line": {"external": Line, "speed": speed}}
    _, sampler = run(info)
    assert sampler.speeds.fast == fast
    x, y = chains(sampler, "x"), chains(sampler, "y")
    assert_mean(x * x, 1.0)
    assert_mean((y - x) ** 2, 0.25)


def test_speeds_are_measured_where_that_is_asked_for():
    info = neal(1, **SHORT, max_samples=50)
    info["sampler"]["towline.cobaya.Towline"]["measure_speeds"] = 2
    _, sampler = run(info)
    assert sampler.model.theory["sine"].speed > 1000


@pytest.mark.parametrize(
    "options, message",
    [
        ({"temperature": 0}, "`temperature` must be above 0"),
        ({"Rminus1_cl_stop": -1}, "`Rminus1_cl_stop` must be 0 .never. or above"),
        ({"Rminus1_cl_level": 95}, "`Rminus1_cl_level` must be between 0 and 1"),
        ({"Rminus1_single_split": 1}, "`Rminus1_single_split` must be at least 2"),
        ({"chains": 0}, "`chains` must be"),
        ({"parallel": "threads"}, "`parallel` must be serial or processes"),
        ({"Rminus1_stop": 0}, "`Rminus1_stop` must be above 0"),
        ({"max_samples": 0}, "`max_samples` must be at least 1"),
        ({"learn_proposal": False}, "needs a `covmat`"),
        ({"blocking": [[1, ["x"]], [5, ["nobody"]]]}, "missing parameters"),
        ({"blocking": [[1, ["x"]], [5, ["y"]], [1, []]]}, "must come first"),
        ({"Rminus_1_stop": 0.1}, "Rminus1_stop"),
    ],
)
def test_what_cannot_be_done_is_refused(options, message):
    with pytest.raises(LoggedError, match=message):
        run(neal(1, **options))


def test_a_start_without_likelihood_is_said():
    info = neal(1, **SHORT)
    info["likelihood"]["never"] = {"external": lambda y: -np.inf, "speed": 900}
    with pytest.raises(LoggedError, match="None of 20 points of the reference distribution .* x = .*, y = .*has a likelihood above zero|None of 20 points"):
        run(info)


def test_options_that_mean_nothing_are_said_to(caplog):
    run(neal(1, **SHORT, max_samples=20, burn_in=100, proposal_scale=2.4, oversample_power=0.4, drag=True))
    for name in ("burn_in", "proposal_scale", "oversample_power", "drag"):
        assert f"`{name}` means nothing here" in caplog.text


def test_an_exception_in_a_component_that_stops_at_errors_surfaces():
    info = neal(1, **SHORT)
    info["stop_at_error"] = True

    def broken(y):
        if y > 0.2:
            raise RuntimeError("the calibration file is gone")
        return 0.0

    info["likelihood"]["broken"] = {"external": broken, "speed": 900}
    with pytest.raises(Exception, match="the calibration file is gone"):
        run(info)
