"""Theories that fail: their words, points in the user's parameters, and what to do in the words of `cobaya-run`."""

import numpy as np
import pytest
from cobaya.log import LoggedError
from cobaya.run import run
from problems import Sine, assert_mean, chains, neal

SHORT = {"chains": 2, "warmup": 150, "Rminus1_stop": 1e-4}


class Absent(Sine):
    """A theory whose file is not there."""

    def calculate(self, state, want_derived=True, **params):
        raise FileNotFoundError("the table of opacities is not there")


class Partly(Sine):
    """A theory that fails for part of the parameters, as Boltzmann codes do."""

    limit = 1.0

    def calculate(self, state, want_derived=True, **params):
        if params["x"] > self.limit:
            raise ValueError(f"no recombination for x = {params['x']:.3f}")
        super().calculate(state, want_derived, **params)


def with_theory(theory, stop_at_error=False, **options):
    info = neal(1, **(SHORT | options))
    info["theory"] = {"sine": {"external": theory, "stop_at_error": stop_at_error}}
    return info


@pytest.mark.parametrize("bypass", [True, False])
def test_a_theory_that_fails_at_the_start_says_why(bypass):
    with pytest.raises(LoggedError, match=r"None of 20 points.*x = .*sine raises FileNotFoundError: the table of opacities is not there, at x ="):
        run(with_theory(Absent, bypass=bypass))


@pytest.mark.parametrize("parallel", ["serial", "processes"])
def test_a_theory_that_fails_here_and_there_cuts_the_posterior_there(parallel, caplog):
    _, sampler = run(with_theory(Partly, max_samples=500, parallel=parallel))
    x = chains(sampler, "x")
    assert x.max() <= 1.0
    # The report's first test below 1, by quadrature of exp(-x²) / (1 + x²).
    grid = np.linspace(-8, 1, 200001)
    weight = np.exp(-grid * grid) / (1 + grid * grid)
    assert_mean(x, (grid * weight).sum() / weight.sum())
    if parallel == "serial":
        assert "sine raises ValueError: no recombination for x = " in caplog.text


def test_a_failure_names_the_users_parameters_and_cobayas_way_to_continue(tmp_path):
    class Sometimes(Partly):
        limit = 0.6

    with pytest.raises(ValueError, match="no recombination") as raised:
        run(with_theory(Sometimes, stop_at_error=True) | {"output": str(tmp_path / "a")})
    notes = "\n".join(raised.value.__notes__)
    x = float(str(raised.value).rsplit(" ", 1)[1])
    # In its own parameter, not where chains move: there the same point is -0.15 or so.
    assert f"x = {x:.2f}"[:-1] in notes
    assert "cobaya-run INPUT.yaml --resume" in notes and "towline.resume" not in notes


def test_a_run_that_is_not_done_says_how_to_continue(caplog, tmp_path):
    _, sampler = run(neal(1, **SHORT, max_samples=20) | {"output": str(tmp_path / "a")})
    assert not sampler.converged
    assert "`cobaya-run INPUT.yaml --resume`" in caplog.text and "towline.resume" not in caplog.text
