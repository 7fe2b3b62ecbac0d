"""What an earlier run learned is matched by name, or refused with words; and the way from the start to the posterior is no part of the chains."""

import numpy as np
import pytest
from cobaya.likelihood import Likelihood
from cobaya.log import LoggedError
from cobaya.run import run
from cobaya.theory import Theory
from problems import COUNT, VARIANCE_X, assert_mean, chains, neal

ONCE = {"chains": 2, "warmup": 150, "Rminus1_stop": 1e-4}
# Very different widths, so that a tuning in another order moves nothing.
WIDTHS = {"tau": 0.007, "logA": 3.0, "ns": 200.0}


class Three(Theory):
    """Three slow parameters, handed on."""

    speed = 1
    params = dict.fromkeys(WIDTHS)

    def get_can_provide(self):
        return ["three"]

    def calculate(self, state, want_derived=True, **params):
        state["three"] = sum(-0.5 * (params[name] / width) ** 2 for name, width in WIDTHS.items()), params["tau"] / WIDTHS["tau"]

    def get_three(self):
        return self.current_state["three"]


class Follows(Likelihood):
    """Two fast ones, of which one follows tau."""

    speed = 1000
    params = {"cal": None, "dust": None}

    def get_requirements(self):
        return ["three"]

    def logp(self, _derived=None, **params):
        value, tau = self.provider.get_three()
        return value - 0.5 * ((params["cal"] - tau) / 0.1) ** 2 - 0.5 * (params["dust"] / 40) ** 2


def three(order=("tau", "logA", "ns", "cal", "dust"), far=1.0, **options):
    """An input with its parameters in this order, beginning so many widths from the middle."""
    widths = WIDTHS | {"cal": 1.0, "dust": 40.0}
    params = {n: {"prior": {"min": -60 * widths[n], "max": 60 * widths[n]}, "ref": far * widths[n], "proposal": widths[n]} for n in order}
    return {
        "theory": {"three": {"external": Three}},
        "likelihood": {"follows": {"external": Follows}},
        "params": params,
        "sampler": {"towline.cobaya.Towline": {"measure_speeds": False, "seed": 1, **options}},
    }


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    folder = tmp_path_factory.mktemp("learned")
    run(three(**ONCE, max_samples=10) | {"output": str(folder / "first")})
    return folder / "first"


@pytest.mark.parametrize("order", [("tau", "logA", "ns", "cal", "dust"), ("dust", "ns", "cal", "logA", "tau")])
def test_a_tuning_is_matched_by_name(order, learned):
    # The run directory, or the output that it belongs to.
    given = learned if order[0] == "dust" else f"{learned}.towline"
    _, sampler = run(three(order, chains=2, tuning=str(given), max_samples=600, Rminus1_stop=1e-4))
    assert sampler.speeds.slow == ["tau", "logA", "ns"] and sampler.speeds.fast == ["cal", "dust"]
    assert sampler.acceptance_rate > 0.6
    assert list(sampler.products()["sample"].sampled_params) == list(order)
    for name, width in WIDTHS.items():
        assert_mean((chains(sampler, name) / width) ** 2, 1.0)
    assert_mean((chains(sampler, "dust") / 40) ** 2, 1.0)


def test_a_tuning_of_other_parameters_is_refused_with_words(learned, tmp_path):
    given = f"{learned}.towline"
    more = three(tuning=given)
    more["likelihood"]["w"] = {"external": lambda w: -0.5 * w * w, "speed": 900}
    more["params"]["w"] = {"prior": [-5, 5]}
    with pytest.raises(LoggedError, match="knows nothing of w"):
        run(more)
    fewer = three(tuning=given)
    fewer["params"]["dust"] = 0.0
    with pytest.raises(LoggedError, match="it has dust, which this run does not sample"):
        run(fewer)
    bounds = three(tuning=given)
    bounds["params"]["logA"]["prior"]["max"] = 50
    with pytest.raises(LoggedError, match=r"the prior of logA was uniform_wide\(-180.0, 180.0, 3.0\) .* uniform_wide\(-180.0, 50.0, 3.0\)"):
        run(bounds)
    slower = three(tuning=given, blocking=[[1, ["tau", "logA", "ns", "cal"]], [9, ["dust"]]])
    with pytest.raises(LoggedError, match="slow parameters were tau, logA, ns and the fast ones cal, dust"):
        run(slower)
    with pytest.raises(LoggedError, match="there is no run directory"):
        run(three(tuning=str(tmp_path / "nowhere")))
    with pytest.raises(LoggedError, match="must be the run directory"):
        run(three(tuning={"centre": [0.0]}))


@pytest.mark.parametrize("way", ["tuning", "covmat"])
def test_the_way_to_the_posterior_is_not_in_the_chains(way, learned):
    if way == "tuning":
        how = {"tuning": f"{learned}.towline"}
    else:
        covmat = np.diag([0.007**2, 9.0, 4e4, 1.01, 1600.0])
        covmat[0, 3] = covmat[3, 0] = 0.007
        how = {"covmat": covmat, "covmat_params": ["tau", "logA", "ns", "cal", "dust"], "learn_proposal": False}
    _, sampler = run(three(far=25.0, chains=4, max_samples=300, Rminus1_stop=1e-4, **how))
    # From 25 standard deviations away in each. Without fast ones, a draw is beyond five of them once in 1.7 million.
    for name, width in WIDTHS.items():
        assert np.abs(chains(sampler, name)).max() < 5 * width, name
    assert np.abs(chains(sampler, "dust")).max() < 5 * 40
    assert 0 < sampler.warmup_evaluations() <= 4 * 400


def test_theory_codes_run_once_for_each_proposal_without_a_warm_up(tmp_path):
    run(neal(1, **ONCE, max_samples=10) | {"output": str(tmp_path / "a")})
    before = COUNT["slow"]
    _, sampler = run(neal(1, chains=2, tuning=str(tmp_path / "a.towline"), max_samples=300, Rminus1_stop=1e-4))
    # Two points at the start are computed once by Cobaya and once around it; each chain begins somewhere and walks to the posterior.
    # (A learned proposal may stay where it is, which costs nothing.)
    most = 4 + 2 + sampler.warmup_evaluations() + 600
    assert 0.98 * most < COUNT["slow"] - before <= most
    assert_mean(chains(sampler, "x") ** 2, VARIANCE_X)


def test_a_covmat_shortens_the_warm_up():
    spent = {}
    covmat = np.diag([0.007**2, 9.0, 4e4])
    for known in ({}, {"covmat": covmat, "covmat_params": list(WIDTHS)}):
        info = three(**ONCE, max_samples=400, far=2.0, **known)
        for param in info["params"].values():
            # Where the input says how wide posteriors are, there is nothing left to shorten in so simple a one.
            del param["proposal"]
        _, sampler = run(info)
        spent[bool(known)] = sampler.warmup_evaluations()
        for name, width in WIDTHS.items():
            assert_mean((chains(sampler, name) / width) ** 2, 1.0)
    print(spent)
    assert spent[True] < spent[False]


def test_a_covmat_that_is_wrong_does_no_harm(caplog):
    # A hundred times too wide, and a correlation that is none.
    covmat = np.diag([0.7**2, 9e4, 4e8])
    covmat[0, 1] = covmat[1, 0] = 0.9 * 0.7 * 300
    _, sampler = run(three(**ONCE, max_samples=400, covmat=covmat, covmat_params=list(WIDTHS)))
    assert "Warm-up begins with the covariance" in caplog.text
    for name, width in WIDTHS.items():
        assert_mean((chains(sampler, name) / width) ** 2, 1.0)


def test_a_covmat_without_some_slow_parameter_is_not_used(caplog):
    run(three(**ONCE, max_samples=10, covmat=np.diag([0.007**2, 9.0]), covmat_params=["tau", "logA"]))
    assert "`covmat` has no ns" in caplog.text
