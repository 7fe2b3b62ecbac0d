"""Runs that stop at a standard error: estimates and evidence by weights, in Cobaya's own products and files."""

import math

import numpy as np
import pytest
from cobaya.log import LoggedError
from cobaya.run import run
from cobaya.yaml import yaml_load_file
from problems import COUNT, VARIANCE_X, neal

# The report's first test integrates to this (0.157… is erfc(1)); its priors are flat over 16 and 24.
LN_Z = 0.5 * math.log(math.pi / 50) + math.log(math.pi * math.e * 0.15729920705028513) - math.log(16 * 24)


def test_an_error_is_reached_with_the_evidence_in_products_and_files(tmp_path):
    before = COUNT["slow"]
    _, sampler = run(neal(1, error_stop=0.03) | {"output": str(tmp_path / "out" / "n")})
    spent = COUNT["slow"] - before
    assert sampler.converged
    products = sampler.products()
    x = products["run"].estimates()["x"]
    assert x["se"] <= 0.03 * x["sd"] and abs(x["mean"]) < 4 * x["se"]
    # What 1,100 independent draws would give.
    assert sampler.cost["slow_evals"] <= 0.6 / 0.03**2
    # Two points are computed twice by Cobaya itself before, and starts are looked at before chains count; places that are asked for again cost nothing.
    assert 0.9 * sampler.cost["slow_evals"] < spent <= sampler.cost["slow_evals"] + 6
    assert abs(products["logZ"] - LN_Z) < 4 * products["logZstd"] < 0.2
    assert yaml_load_file(str(tmp_path / "out" / "n.logZ")) == {"logZ": products["logZ"], "logZstd": products["logZstd"]}
    sample = products["sample"]
    recomputed = sampler.model.logposterior({n: sample[n].iloc[7] for n in ("x", "y")})
    assert sample["minuslogpost"].iloc[7] == pytest.approx(-recomputed.logpost, rel=1e-9)
    from getdist.mcsamples import loadMCSamples

    loaded = loadMCSamples(str(tmp_path / "out" / "n"))
    assert loaded.mean("x") == pytest.approx(x["mean"], abs=0.05 * x["sd"])
    assert loaded.var("x") == pytest.approx(VARIANCE_X, rel=0.2)


def test_a_resumed_run_may_be_given_a_smaller_error_and_repeats_no_point(tmp_path):
    output = {"output": str(tmp_path / "out" / "n")}
    ratio = lambda run: run.products()["run"].estimates()["x"]["se"] / run.products()["run"].estimates()["x"]["sd"]
    _, first = run(neal(1, error_stop=0.1) | output)
    before, error = COUNT["slow"], ratio(first)
    _, second = run(neal(1, error_stop=0.005) | output, resume=True)
    spent = COUNT["slow"] - before
    # Where what was learned is nearly exact, more of its free draws do, and no more points.
    assert second.converged and second.cost["slow_evals"] >= first.cost["slow_evals"] and ratio(second) < error
    new = second.cost["slow_evals"] - first.cost["slow_evals"]
    assert new <= spent <= new + 4
    x = second.products()["run"].estimates()["x"]
    assert x["se"] <= 0.005 * x["sd"] and abs(x["mean"]) < 4 * x["se"]


def test_a_tempered_posterior_has_estimates_and_no_evidence():
    # The root of the density has the marginal exp(-x²/2)/(1 + x²).
    below = math.pi * math.exp(0.5) * math.erfc(math.sqrt(0.5))
    truth = math.sqrt(math.sqrt(2 * math.pi) / below - 1)
    found = []
    for seed in (1, 2, 3):
        _, sampler = run(neal(1, error_stop=0.1, temperature=2, seed=seed))
        x = sampler.products()["run"].estimates()["x"]
        assert abs(x["mean"]) < 4 * x["se"] and abs(x["sd"] - truth) < 4 * x["se_sd"]
        assert "logZ" not in sampler.products()
        found.append((x["sd"], x["se_sd"] ** -2))
    # Together they tell it from the posterior that is not tempered.
    together = sum(sd * weight for sd, weight in found) / sum(weight for _, weight in found)
    assert together > 1.1 * np.sqrt(VARIANCE_X)


@pytest.mark.parametrize("error", [0, 2, True, "small"])
def test_an_error_that_makes_no_sense_is_refused(error):
    with pytest.raises(LoggedError, match="error_stop"):
        run(neal(1, error_stop=error))
