"""Runs: the tutorial's first block, exactness, the same draws everywhere, resume."""

import math
import subprocess
import sys

import numpy as np
import pytest
from conftest import chain_bytes

import models
import towline

SETTINGS = {"chains": 2, "draws": 150, "warmup": 150, "cost_ratio": 50, "seed": 5}


def test_the_first_block_of_the_tutorial_gives_a_summary_and_a_plot(tmp_path):
    script = tmp_path / "first.py"
    script.write_text(
        """
import math
import towline

def prepare(x):                          # slow
    return x[0], math.sin(x[0])

def log_likelihood(cache, y):            # fast
    x, sin_x = cache
    return -0.5 * ((y[0] - sin_x) / 0.1) ** 2

model = towline.Model(
    slow={"x": towline.Normal(0, 1)}, fast={"y": towline.Uniform(-3, 3)},
    prepare=prepare, log_likelihood=log_likelihood)
run = towline.sample(model, chains=2, draws=200, out="runs/first")
print(run.summary())
run.plot().savefig("first.png")
"""
    )
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "ESS bulk" in done.stdout and "2 chains of 200 draws" in done.stdout
    assert (tmp_path / "first.png").stat().st_size > 1000
    assert done.stderr == "", "nothing is said of progress where there is no terminal"


def test_the_reports_first_test_has_its_exact_variance():
    run = towline.sample_density(
        models.prepare1, models.density1, [0.5], [0.0], chains=4, draws=2500, cost_ratio=100, parallel="threads"
    )
    squares = run["x0"] ** 2
    effective = run.summary()["x0"]["ess_bulk"]
    # By batch means, since what is averaged is x², not x.
    means = squares.reshape(4, 25, 100).mean(axis=2).ravel()
    error = means.std(ddof=1) / math.sqrt(len(means))
    assert effective > 400
    assert abs(squares.mean() - 0.3194838) < 4 * error


def test_all_modes_give_the_same_draws(tmp_path):
    runs = {
        name: towline.sample(models.line(), out=tmp_path / name, **SETTINGS, **how)
        for name, how in {
            "serial": {"parallel": "serial"},
            "threads": {"parallel": "threads"},
            "processes": {"parallel": "processes"},
            "one-core": {"parallel": "processes", "cores": 1},
        }.items()
    }
    assert all(run.ended == "finished" for run in runs.values())
    first = chain_bytes(runs["serial"])
    assert first[0] != first[1] and len(first[0]) == 150 * (3 + 4) * 8
    for name, run in runs.items():
        assert chain_bytes(run) == first, name


class Line:
    """A model that is an object."""

    slow = {"slope": towline.Normal(0, 5), "width": towline.HalfNormal(2)}
    fast = {"offset": towline.Normal(0, 5)}

    def prepare(self, x):
        return models.line_prepare(x)

    def log_likelihood(self, cache, y):
        return models.line_log_likelihood(cache, y)


def test_a_model_may_be_an_object():
    run = towline.sample(Line(), parallel="processes", **SETTINGS)
    same = towline.sample(models.line(), parallel="serial", **SETTINGS)
    np.testing.assert_array_equal(run["slope"], same["slope"])


def test_a_stopped_run_resumes_to_the_same_bytes(tmp_path):
    whole = towline.sample(models.line(), out=tmp_path / "whole", parallel="serial", **SETTINGS)
    short = {**SETTINGS, "draws": 60}
    part = towline.sample(models.line(), out=tmp_path / "part", parallel="processes", **short)
    assert part.draws_made == 60
    again = towline.resume(part.path, models.line(), draws=150, parallel="threads")
    assert again.ended == "finished" and chain_bytes(again) == chain_bytes(whole)


def test_a_time_limit_ends_a_run_that_can_be_resumed(tmp_path):
    run = towline.sample(models.line(), out=tmp_path / "run", parallel="serial", **{**SETTINGS, "chains": 1})
    run = towline.resume(run.path, models.line(), draws=10**7, time_limit=0.5, parallel="serial")
    assert run.ended == "time limit" and not run.finished
    assert 150 < run.draws_made < 10**7


def test_a_run_stops_when_it_is_good_enough(tmp_path):
    run = towline.sample(models.line(), **{**SETTINGS, "draws": 10**6}, rhat=1.2, ess=50, parallel="threads")
    assert run.ended == "target reached" and run.draws_made < 10**5


def test_a_tuning_is_taken_over():
    first = towline.sample(models.line(), parallel="serial", **SETTINGS)
    for given in (first, first.tuning, first.path):
        second = towline.sample(models.line(), parallel="serial", tuning=given, **{**SETTINGS, "draws": 20})
        assert second.summary().cost["slow_evals"] < 100
        assert second.tuning["scale"] == first.tuning["scale"]


def periodic_prepare(x):
    return x[0]


def periodic_log_likelihood(cache, y):
    return 1.8 * math.cos(y[0] - 3.0) + 0.3 * math.cos(2 * (y[0] - cache))


def test_a_periodic_fast_parameter_is_exact():
    model = towline.Model(
        slow={"x": towline.Normal(0, 1)},
        fast={"angle": towline.UniformPeriodic(-math.pi, math.pi)},
        prepare=periodic_prepare,
        log_likelihood=periodic_log_likelihood,
    )
    run = towline.sample(model, chains=4, draws=2500, cost_ratio=50, parallel="threads")
    # The truth by quadrature over the plane of x and the angle.
    x = np.linspace(-8, 8, 801)[:, None]
    angle = np.linspace(-math.pi, math.pi, 720, endpoint=False)[None, :]
    weight = np.exp(-0.5 * x**2 + 1.8 * np.cos(angle - 3) + 0.3 * np.cos(2 * (angle - x)))
    truth = float((weight * np.cos(angle - 3)).sum() / weight.sum())
    assert 0.65 < truth < 0.75
    cosine = np.cos(run["angle"] - 3)
    means = cosine.reshape(4, 25, 100).mean(axis=2).ravel()
    assert abs(means.mean() - truth) < 4 * means.std(ddof=1) / 10
    assert np.abs(run["angle"]).max() <= math.pi


def level_prepare(x):
    return x[0]


def level_log_likelihood(cache, y):
    x, middle = cache if isinstance(cache, tuple) else (cache, y[0])
    assert middle == y[0]
    return -0.5 * ((y[0] - x) ** 2 + (y[1] - middle) ** 2 + (y[2] + y[1]) ** 2)


def level_refine(cache, head):
    return (cache if not isinstance(cache, tuple) else cache[0]), head[0]


def test_blocks_of_several_speeds_and_latents():
    model = towline.Model(
        slow={"x": towline.Normal(0, 1)},
        fast={name: towline.Normal(0, 1) for name in ("c", "b", "a")},
        blocks=[["a"], ["b", "c"]],
        refine=level_refine,
        prepare=level_prepare,
        log_likelihood=level_log_likelihood,
        latents=["c"],
    )
    assert model.fast_names == ["a", "b", "c"], "y comes in the order of the blocks"
    run = towline.sample(model, chains=2, draws=100, warmup=150, cost_ratio=50, parallel="serial", thin_latents=10)
    assert run.names == ["x", "a", "b"] and run["c"].shape == (2, 10) and run["a"].shape == (2, 100)


def test_batches_gradients_and_derived_quantities_are_used():
    calls = {"single": 0, "batch": 0}

    def batch(cache, ys):
        calls["batch"] += len(ys)
        assert ys.ndim == 2 and ys.shape[1] == 1
        return [models.line_log_likelihood(cache, y) for y in ys]

    def derived(cache, x, y):
        return {"ratio": x[0] / x[1], "sum": x[0] + y[0]}

    model = models.line(
        log_likelihood_batch=batch, derived=derived, derived_names=["sum", "ratio"], labels={"sum": r"\Sigma", "slope": "b"}
    )
    run = towline.sample(model, parallel="serial", **SETTINGS)
    assert calls["batch"] > 100, "searches for modes take their differences by the batch"
    np.testing.assert_array_equal(run["sum"], run["slope"] + run["offset"])
    np.testing.assert_array_equal(run["ratio"], run["slope"] / run["width"])
    labels = {column["name"]: column.get("label") for column in run.manifest["columns"]}
    assert labels == {"slope": "b", "width": None, "offset": None, "sum": r"\Sigma", "ratio": None}


def test_a_gradient_is_used():
    calls = []

    def gradient(cache, y):
        calls.append(y)
        total, _, width = cache
        return models.line_log_likelihood(cache, y), np.array([(total - 8.0 * y[0]) / width**2])

    run = towline.sample(models.line(gradient=gradient), parallel="serial", **SETTINGS)
    assert len(calls) > 100 and abs(run["offset"].mean() - 0.55) < 0.3


def test_chains_begin_where_they_are_told():
    seen = []

    def prepare(x):
        seen.append(tuple(x))
        return models.line_prepare(x)

    def start(seed):
        return {"slope": 1.25 + seed % 2, "width": 0.75}

    for given, slopes in (({"slope": 1.25, "width": 0.75}, {1.25}), (start, {1.25, 2.25})):
        seen.clear()
        towline.sample(models.line(prepare=prepare, start=given), parallel="serial", **{**SETTINGS, "draws": 5})
        assert seen[0][0] in slopes and abs(seen[0][1] - 0.75) < 1e-12


def test_a_model_without_slow_or_without_fast_parameters_runs():
    fast = towline.Model(fast={"y": towline.Normal(0, 1)}, log_likelihood=lambda cache, y: -0.5 * (y[0] - 1) ** 2)
    run = towline.sample(fast, chains=2, draws=1000, cost_ratio=10)
    assert abs(run["y"].mean() - 0.5) < 0.2
    slow = towline.Model(
        slow={"x": towline.Normal(0, 1)}, prepare=lambda x: -0.5 * (x[0] - 1) ** 2, log_likelihood=lambda cache, y: cache
    )
    run = towline.sample(slow, chains=2, draws=1000, cost_ratio=10)
    assert abs(run["x"].mean() - 0.5) < 0.3


@pytest.mark.parametrize("parallel", ["serial", "processes"])
def test_progress_is_shown_to_a_function(parallel):
    seen = []
    towline.sample(models.line(), parallel=parallel, progress=seen.append, **SETTINGS)
    assert seen[-1]["draws"] == 150 and len(seen[-1]["chains"]) == 2
    if parallel == "serial":
        assert [chain["draws"] for chain in seen[-1]["chains"]] == [150, 150]
