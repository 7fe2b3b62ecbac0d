"""The sampler inside Cobaya: right posteriors, Cobaya's own products, theory codes run once for each proposal."""

import numpy as np
import pytest
from cobaya.likelihood import Likelihood
from cobaya.run import run
from problems import COUNT, FOURTH_X, VARIANCE_X, assert_mean, chains, neal
from scipy.stats import truncnorm

ONCE = {"chains": 2, "warmup": 250, "Rminus1_stop": 1e-4}


@pytest.mark.parametrize("test", [1, 2])
def test_the_reports_tests_have_their_exact_moments(test):
    info = neal(test, **ONCE, max_samples=1000)
    _, sampler = run(info)
    x, y = chains(sampler, "x"), chains(sampler, "y")
    assert x.shape == (2, 1000)
    assert_mean(x, 0.0)
    assert_mean(x**2, VARIANCE_X)
    assert_mean(x**4, FOURTH_X)
    # Given x, y is normal about sin x with standard deviation 1 / (10 (1 + x²)).
    assert_mean((y - np.sin(x)) ** 2 * 100 * (1 + x * x) ** 2, 1.0)
    assert_mean((y - np.sin(x)) * x, 0.0)
    assert np.allclose(chains(sampler, "square"), x * x, rtol=1e-6)
    if test == 2:
        assert_mean((chains(sampler, "z") - y) ** 2, 0.04)


# Two points at the start are computed once by Cobaya and once around it.
CHECKS = 4


def test_no_theory_code_runs_twice_and_every_run_is_a_proposal():
    before = COUNT["slow"]
    _, sampler = run(neal(1, chains=2, warmup=100, max_samples=300, Rminus1_stop=1e-4))
    spent = COUNT["slow"] - before
    assert sampler.engine_run.statistics["slow_evals"].sum() == 600
    # Warm-up's search asks for some places again, which costs nothing.
    warmup = sampler.warmup_evaluations()
    assert CHECKS + 600 + 0.9 * warmup < spent <= CHECKS + 600 + warmup


def test_periodic_fast_parameters_are_exact():
    class Ring(Likelihood):
        speed = 1000
        params = {"x": None, "phi": None}

        def logp(self, _derived=None, **params):
            return 2 * np.cos(params["phi"] - 3) - 0.5 * params["x"] ** 2

    info = neal(1, **ONCE, max_samples=1000)
    info["likelihood"] = {"ring": {"external": Ring}, "test": info["likelihood"]["test"]}
    info["params"]["phi"] = {"prior": {"min": -np.pi, "max": np.pi}, "periodic": True, "ref": 3.0, "proposal": 0.5}
    _, sampler = run(info)
    phi = chains(sampler, "phi")
    # Bessel functions: I₁(2) / I₀(2).
    assert_mean(np.cos(phi - 3), 0.6977747)
    assert_mean(np.sin(phi - 3), 0.0)
    assert phi.min() < -2.9 and phi.max() > 2.9


def test_products_are_cobayas_own(tmp_path):
    info = neal(2, **ONCE, max_samples=300) | {"output": str(tmp_path / "out" / "n")}
    _, sampler = run(info)
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    for name in ("n.1.txt", "n.2.txt", "n.covmat", "n.updated.yaml", "n.input.yaml", "n.checkpoint", "n.progress", "n.towline"):
        assert name in names, names
    sample = sampler.products()["sample"]
    assert sample["weight"].sum() == 600
    recomputed = sampler.model.logposterior({n: sample[n].iloc[7] for n in ("x", "y", "z")})
    assert sample["minuslogpost"].iloc[7] == pytest.approx(-recomputed.logpost, rel=1e-9)
    assert sample["chi2__test"].iloc[7] == pytest.approx(-2 * recomputed.loglike, rel=1e-9)
    assert sample["apart"].iloc[7] == pytest.approx(sample["z"].iloc[7] - sample["y"].iloc[7])
    from getdist.mcsamples import loadMCSamples

    loaded = loadMCSamples(str(tmp_path / "out" / "n"))
    in_memory = sampler.products(to_getdist=True)["sample"]
    assert loaded.sampler == in_memory.sampler == "mcmc"
    assert loaded.norm == in_memory.norm == 600
    assert loaded.mean("x") == pytest.approx(in_memory.mean("x"), abs=1e-6)
    covmat = np.loadtxt(tmp_path / "out" / "n.covmat")
    assert covmat.shape == (3, 3) and covmat[0, 0] == pytest.approx(VARIANCE_X, rel=0.4)


def test_the_ordinary_way_gives_the_same_answers_with_hardly_more_theory_runs():
    before = COUNT["slow"]
    _, sampler = run(neal(1, **ONCE, max_samples=1000, bypass=False))
    spent = COUNT["slow"] - before
    # Cobaya's own cache forgets a chain's place while others have their turn: a few more, now and then.
    assert spent <= 1.05 * (2000 + sampler.warmup_evaluations())
    x = chains(sampler, "x")
    assert_mean(x**2, VARIANCE_X)
    assert np.allclose(chains(sampler, "square"), x * x, rtol=1e-6)


def test_priors_that_towline_does_not_have_are_exact():
    info = neal(1, **ONCE, max_samples=800)
    info["likelihood"]["w"] = {"external": lambda w, b, u: 0.0, "speed": 900}
    below = {"dist": "truncnorm", "a": -np.inf, "b": 0.5, "loc": 1.0, "scale": 2.0}
    info["params"] |= {
        "w": {"prior": {"dist": "halfnorm", "loc": 1.0, "scale": 2.0}},
        "b": {"prior": {"dist": "beta", "a": 2, "b": 3}},
        "u": {"prior": below},
    }
    info["prior"] = {"tilt": lambda b: 2 * np.log(b)}
    _, sampler = run(info)
    # Components of nearly the same speed are of one speed.
    assert len(sampler.speeds.levels) == 1
    assert_mean(chains(sampler, "w"), 1 + 2 * np.sqrt(2 / np.pi))
    assert_mean(chains(sampler, "u"), truncnorm(-np.inf, 0.5, 1.0, 2.0).mean())
    assert chains(sampler, "u").max() < 2 and chains(sampler, "w").min() > 1
    # With the external prior b² the beta is one with four and three.
    assert_mean(chains(sampler, "b"), 4 / 7)
    assert_mean(chains(sampler, "x") ** 2, VARIANCE_X)


def test_a_covariance_matrix_replaces_the_warm_up():
    covmat = np.array([[0.32, 0.28], [0.28, 0.26]])
    options = dict(covmat=covmat, covmat_params=["x", "y"], learn_proposal=False, max_samples=3000, chains=2, Rminus1_stop=1e-4)
    _, sampler = run(neal(1, **options))
    # The way from the start, which is no part of the chains.
    assert 0 < sampler.warmup_evaluations() < 400
    x = chains(sampler, "x")
    assert_mean(x**2, VARIANCE_X)


def test_an_earlier_runs_tuning_replaces_the_warm_up(tmp_path):
    run(neal(1, **ONCE, max_samples=10) | {"output": str(tmp_path / "a")})
    _, sampler = run(neal(1, chains=2, tuning=str(tmp_path / "a.towline"), max_samples=800, Rminus1_stop=1e-4))
    assert 0 < sampler.warmup_evaluations() < 200
    assert_mean(chains(sampler, "x") ** 2, VARIANCE_X)


def test_processes_draw_what_a_single_one_draws():
    _, one = run(neal(1, **ONCE, max_samples=200))
    _, several = run(neal(1, **ONCE, max_samples=200, parallel="processes"))
    assert np.array_equal(chains(one, "x"), chains(several, "x"))
