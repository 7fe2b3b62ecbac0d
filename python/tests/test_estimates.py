"""`error=`: slow points weighed instead of draws; evidence, weighted draws, workers, failures."""

import math
import time

import numpy as np
import pytest
import towline

LN_Z = 0.5 * math.log(math.pi / 50) + math.log(math.pi * math.e * math.erfc(1))


def prepare(x):
    return x[0], math.sin(x[0])


def log_density(cache, y):
    x, sine = cache
    return -x * x - 50 * (1 + x * x) ** 2 * (y[0] - sine) ** 2


def many(cache, ys):
    x, sine = cache
    return -x * x - 50 * (1 + x * x) ** 2 * (ys[:, 0] - sine) ** 2


def sampled(out, prepare=prepare, **options):
    options = {"error": 0.05, "cost_ratio": 1000, "chains": 2, "progress": False, "out": out, **options}
    names = {"slow_names": ["x"], "fast_names": ["y"], "log_density_batch": many}
    return towline.sample_density(prepare, log_density, [0.5], [0.0], **names, **options)


def test_estimates_evidence_and_weighted_draws(tmp_path):
    run = sampled(tmp_path / "run")
    assert run.ended == "target reached" and run.draws_made == 0
    x = run.estimates()["x"]
    assert x["se"] <= 0.05 * x["sd"]
    assert abs(x["mean"]) < 4 * x["se"]
    found = run.evidence()
    assert abs(found["ln_z"] - LN_Z) < 4 * found["se"]
    draws = run.weighted
    assert draws["weight"].sum() == pytest.approx(1)
    assert np.sum(draws["weight"] * draws["x"]) == pytest.approx(x["mean"], abs=0.2 * x["sd"])
    assert "worth draws" in str(run.summary())
    assert run.summary()["x"]["estimate"]["se"] == x["se"]


def test_a_smaller_error_adds_points(tmp_path):
    calls = []

    def counted(x):
        calls.append(x[0])
        return prepare(x)

    first = sampled(tmp_path / "run", counted)
    before = list(calls)
    calls.clear()
    model = towline.Density(counted, log_density, [0.5], [0.0], slow_names=["x"], fast_names=["y"], log_density_batch=many)
    second = towline.resume(first, model, error=0.01, progress=False)
    assert second.estimates()["x"]["se"] <= 0.01 * second.estimates()["x"]["sd"]
    assert not set(calls) & set(before)


def test_getdist_and_arviz_know_the_weighted_draws(tmp_path):
    run = sampled(tmp_path / "run")
    x = run.estimates()["x"]
    getdist = pytest.importorskip("getdist")
    assert getdist
    samples = run.to_getdist()
    assert samples.mean("x") == pytest.approx(x["mean"], abs=0.1 * x["sd"])
    pytest.importorskip("arviz")
    posterior = run.to_arviz().posterior
    assert float(posterior["x"].std()) == pytest.approx(x["sd"], rel=0.2)


def test_workers_wait_together_and_change_no_bit(tmp_path):
    def slow(x):
        time.sleep(0.02)
        return prepare(x)

    def timed(workers):
        begun = time.perf_counter()
        run = sampled(tmp_path / f"run{workers}", slow, workers=workers, error=0.01)
        return run.estimates(), run.evidence(), time.perf_counter() - begun

    one, many_ = timed(1), timed(16)
    assert one[:2] == many_[:2]


def test_a_failing_point_is_raised_and_the_rest_is_kept(tmp_path):
    learned = sampled(tmp_path / "first")
    points = len(np.unique(learned.weighted["x"]))
    before = learned.summary().cost["slow_evals"] - points
    calls = []

    def fails_late(x):
        calls.append(x[0])
        if len(calls) > before + 4 and x[0] > 0.6:
            raise RuntimeError("no convergence")
        return prepare(x)

    with pytest.raises(RuntimeError, match="no convergence") as caught:
        sampled(tmp_path / "run", fails_late)
    assert any("slow points failed" in note for note in caught.value.__notes__)
    model = towline.Density(prepare, log_density, [0.5], [0.0], slow_names=["x"], fast_names=["y"], log_density_batch=many)
    run = towline.resume(tmp_path / "run", model, progress=False)
    assert run.estimates() == learned.estimates()


def test_what_makes_no_sense_is_refused(tmp_path):
    with pytest.raises(ValueError, match="0.03"):
        sampled(tmp_path / "run", error=3.0)
    with pytest.raises(ValueError, match="workers"):
        sampled(tmp_path / "run", parallel="processes")
    plain = sampled(tmp_path / "plain", error=None, draws=50, parallel="threads")
    with pytest.raises(ValueError, match="error="):
        plain.evidence()
