"""`cobaya-run` on one input, but for the sampler's line: means and covariances are those of Cobaya's own mcmc.

Theory codes are counted where they run, in the other process: by what they write, or by Cobaya's own `timing`.
"""

import contextlib
import re
from pathlib import Path

import numpy as np
import pytest
from beside import OURS, OWN, assert_same, run, run_both

import towline

HERE = Path(__file__).parent
# mcmc goes by the covariance that it is given and by no other, and makes all the samples that it may (R - 1 is never below
# 0): so its errors are what they are said to be. Towline learns its own, and stops by Rminus1_stop.
SAMPLER = """
sampler:
  mcmc:
    covmat: {covmat}
    covmat_params: [{params}]
    learn_proposal_Rminus1_max: 0
    burn_in: 100
    max_tries: .inf
    oversample_power: 0.1
    measure_speeds: False
    max_samples: {samples}
    Rminus1_stop: 0.01
    Rminus1_cl_stop: 0
    seed: 1
output: chains/run
"""
MIXTURE = """
likelihood:
  slow:
    class: gaussian_mixture
    input_params: [a]
    means: [[-0.8], [0.9]]
    covs: [[[0.3]], [[0.5]]]
    weights: [0.4, 0.6]
    speed: 5
  fast:
    class: gaussian_mixture
    input_params: [a, b, c]
    means: [0.2, 0.1, 0.3]
    covs: [[4, 2, 1], [2, 1.5, 0.4], [1, 0.4, 0.8]]
    speed: 100
params:
  a: {prior: {min: -8, max: 8}, ref: {dist: norm, loc: 0, scale: 0.5}}
  b: {prior: {min: -8, max: 8}, ref: {dist: norm, loc: 0, scale: 0.5}}
  c: {prior: {dist: norm, loc: 0, scale: 3}, ref: {dist: norm, loc: 0, scale: 0.5}}
"""
# Beyond 1.5, where one per cent of the mass is, mcmc stays for thousands of steps at a time: y has hardly any room there.
NEAL = """
theory:
  recorded.Sine: {{python_path: {here}}}
likelihood:
  problems.Neal{test}: {{python_path: {here}}}
params:
  x: {{prior: {{min: -1.5, max: 1.5}}, ref: {{dist: norm, loc: 0, scale: 0.5}}}}
  y: {{prior: {{min: -12, max: 12}}, ref: {{dist: norm, loc: 0, scale: 0.3}}}}
"""
Z = """\
  z: {prior: {min: -12, max: 12}, ref: {dist: norm, loc: 0, scale: 0.3}}
"""
CAMB = """
timing: True
theory:
  camb:
likelihood:
  test_cobaya_camb.Distances: {{python_path: {here}, speed: 15}}
params:
  ombh2: 0.0224
  omch2: {{prior: {{min: 0.02, max: 0.30}}, ref: {{dist: norm, loc: 0.14, scale: 0.02}}}}
  H0: {{prior: {{min: 50, max: 90}}, ref: {{dist: norm, loc: 68, scale: 1}}}}
  M: {{prior: {{dist: norm, loc: 0, scale: 0.02}}, ref: {{dist: norm, loc: 0, scale: 0.01}}}}
"""
# At the start two points are computed by Cobaya and around it; and every chain begins somewhere.
CHECKS, CHAINS = 4, 4


def again_without_warm_up(text, folder, draws):
    """Another run of ours with what the first has learned: what it said, and how many theory calls there should be."""
    text = re.sub(r"max_samples: \d+", f"max_samples: {draws}", text)
    said = run(text.replace(OWN, OURS + "    tuning: ../towline/chains/run.towline\n"), folder / "again")
    ours = towline.open(folder / "again" / "chains" / "run.towline")
    assert ours.statistics["slow_evals"].sum() == CHAINS * draws
    # All that the run counts: proposals, and the way from the start with the start itself.
    return said, CHECKS + ours.summary().cost["slow_evals"]


def assert_counted(calls, folder):
    """So many theory calls there were: one for each proposal, warm-up's too. What its search asks for again is free.

    Returns how many proposals production had.
    """
    ours = towline.open(folder / "towline" / "chains" / "run.towline")
    all_of_them, production = ours.summary().cost["slow_evals"], ours.statistics["slow_evals"].sum()
    assert production == CHAINS * ours.draws_made
    # The way to the posterior takes a few that no row counts.
    assert CHECKS + production + 0.9 * (all_of_them - production) < calls <= CHECKS + all_of_them + 16
    return int(production)


@pytest.mark.parametrize(
    "shift, correlation, words", [(0, 0.5, None), (0.2, 0.5, "b: .* by mcmc"), (0, 0.3, r"\['b', 'a'\]: .* by mcmc")]
)
def test_the_comparison_sees_what_differs(shift, correlation, words, tmp_path):
    rng = np.random.default_rng(1)
    for sampler, mean, r in (("mcmc", 0, 0.5), ("towline", shift, correlation)):
        (tmp_path / sampler / "chains").mkdir(parents=True)
        draws = rng.multivariate_normal([0, mean], [[1, r], [r, 1]], 3000)
        rows = np.column_stack([np.ones(3000), np.zeros(3000), draws])
        np.savetxt(tmp_path / sampler / "chains" / "run.1.txt", rows, header="weight minuslogpost a b")
    with contextlib.nullcontext() if words is None else pytest.raises(AssertionError, match=words):
        assert_same(tmp_path, ["a", "b"], 2000)


def test_a_mixture_of_gaussians(tmp_path):
    sampler = SAMPLER.format(covmat="[[1, 0.5, 0.25], [0.5, 0.75, 0.02], [0.25, 0.02, 0.6]]", params="a, b, c", samples=5000)
    said = run_both(MIXTURE + sampler, tmp_path)
    assert "Slow: ['a']" in said and "Fast: [['b', 'c']]" in said
    assert_same(tmp_path, ["a", "b", "c"], 250)


@pytest.mark.long
@pytest.mark.parametrize("test", [1, 2])
def test_the_reports_tests_with_a_theory_code(test, tmp_path):
    names = ["x", "y", "z"][: test + 1]
    covmat = np.array([[0.29, 0.25, 0.25], [0.25, 0.23, 0.23], [0.25, 0.23, 0.27]])[: test + 1, : test + 1]
    sampler = SAMPLER.format(covmat=covmat.tolist(), params=", ".join(names), samples=9000)
    text = NEAL.format(here=HERE, test=test) + (Z if test == 2 else "") + sampler
    run_both(text, tmp_path)
    assert_same(tmp_path, names, 250)
    calls = np.fromfile(tmp_path / "towline" / "calls.f64")
    production = calls[-assert_counted(len(calls), tmp_path) :]
    assert len(np.unique(production)) == len(production)
    _, expected = again_without_warm_up(text, tmp_path, 200)
    assert len(np.fromfile(tmp_path / "again" / "calls.f64")) == expected


def timed(said, component):
    """How many evaluations Cobaya counted of a component; its average leaves out the first."""
    return 1 + int(re.search(rf"time for {re.escape(component)}: .*\((\d+) evaluations", said)[1])


@pytest.mark.long
def test_camb(tmp_path):
    pytest.importorskip("camb", reason="CAMB is not installed")
    covmat = [[3.5e-4, -8.1e-3, 1.3e-4], [-8.1e-3, 3.5, 2.7e-2], [1.3e-4, 2.7e-2, 4e-4]]
    text = CAMB.format(here=HERE) + SAMPLER.format(covmat=covmat, params="omch2, H0, M", samples=1000)
    said = run_both(text, tmp_path)
    assert_same(tmp_path, ["omch2", "H0", "M"], 100)
    for component in ("camb", "camb.transfers"):
        assert_counted(timed(said, component), tmp_path)
    said, expected = again_without_warm_up(text, tmp_path, 30)
    for component in ("camb", "camb.transfers"):
        assert timed(said, component) == expected
