"""What is made of a fit, in Python: frames in and out, the command's numbers, and ArviZ's."""

import json

import numpy as np
import pytest

import towline
from test_directories import command

FIT = {"chains": 2, "draws": 120, "warmup": 150, "cost_ratio": 20, "seed": 3}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(4)
    school = rng.integers(0, 5, 90)
    x = rng.normal(size=90)
    wild = rng.gamma(0.8, 1 / 0.8, 90)
    y = rng.poisson(wild * np.exp(0.8 + 0.4 * x + 0.6 * rng.normal(size=5)[school]))
    kind = np.where(rng.random(90) < 0.5, "drug", "placebo")
    return {"y": y, "x": x, "school": np.array(list("abcde"))[school], "kind": kind}


@pytest.fixture(scope="module")
def run(data, tmp_path_factory):
    fit = towline.glmm("y ~ x + kind + (1 | school)", data, "poisson")
    return towline.sample(fit, out=tmp_path_factory.mktemp("fits") / "poisson", **FIT)


@pytest.fixture(scope="module")
def other(data, run):
    fit = towline.glmm("y ~ x + kind + (1 | school)", data, "negative_binomial")
    return towline.sample(fit, out=run.path.parent / "nb", **FIT)


@pytest.fixture(scope="module")
def surface(tmp_path_factory):
    rng = np.random.default_rng(5)
    u, v = rng.random((2, 40))
    data = {"u": u, "v": v, "y": rng.poisson(np.exp(1 + np.sin(4 * u)))}
    fit = towline.gp(data, response="y", family="poisson", inputs=["u", "v"])
    return towline.sample(fit, out=tmp_path_factory.mktemp("fits") / "gp", **FIT)


def test_checks_are_those_of_the_command(run):
    check = run.check()
    theirs = json.loads(command("check", run.path, "--json").stdout)
    assert check.to_dict()["elpd_loo"] == theirs["elpd_loo"] and check.to_dict()["draws"] == 240
    assert len(check.pointwise) == 90 and abs(check.pointwise.sum() - theirs["elpd_loo"]) < 1e-9
    assert check.pareto_k.shape == (90,) and list(check.replicated["name"][:2]) == ["mean", "standard deviation"]
    assert "PSIS-LOO" in repr(check) and "data:image/png;base64," in check._repr_html_()
    prior = run.check(draws=50, prior_only=True)
    assert "the priors alone" in repr(prior) and prior.to_dict() == {"draws": 50}
    with pytest.raises(ValueError, match="priors alone"):
        prior.pareto_k


def test_loo_is_that_of_arviz_on_our_own_groups(run):
    arviz = pytest.importorskip("arviz")
    inference = run.to_arviz()
    theirs = arviz.loo(inference, pointwise=True)
    ours = run.check(draws=10**9)
    elpd, se, p = (
        (theirs.elpd_loo, theirs.se, theirs.p_loo) if hasattr(theirs, "elpd_loo") else (theirs.elpd, theirs.se, theirs.p)
    )
    said = ours.to_dict()
    if not hasattr(theirs, "elpd_loo"):  # ArviZ 1.0 divides the variance by one less, as R's loo does
        se *= np.sqrt(89 / 90)
    assert abs(said["elpd_loo"] - elpd) < 1e-6 and abs(said["se_loo"] - se) < 1e-6 and abs(said["p_loo"] - p) < 1e-6
    pointwise = theirs.loo_i if hasattr(theirs, "loo_i") else theirs.elpd_i
    np.testing.assert_allclose(ours.pointwise, np.asarray(pointwise), atol=1e-6)
    np.testing.assert_allclose(ours.pareto_k, np.asarray(theirs.pareto_k), atol=1e-6)


def test_arviz_has_groups_with_dimensions(run, data):
    pytest.importorskip("arviz")
    inference = run.to_arviz()
    posterior = inference["posterior"]
    assert posterior["effect_school"].dims == ("chain", "draw", "school")
    assert list(posterior["school"].values) == list("abcde")
    np.testing.assert_array_equal(posterior["effect_school"].sel(school="b").values, run["school[b]"])
    np.testing.assert_array_equal(inference["observed_data"]["y"].values, data["y"])
    assert inference["log_likelihood"]["y"].shape == inference["posterior_predictive"]["y"].shape == (2, 120, 90)
    assert inference["prior"]["sd_school"].shape == (1, 1000) and inference["prior_predictive"]["y"].shape == (1, 1000, 90)
    few = run.to_arviz(latents=False, groups=["posterior", "observed_data"])
    names = few.groups() if hasattr(few, "_groups") else [name.strip("/") for name in few.groups if name != "/"]
    assert sorted(names) == ["observed_data", "posterior"] and "effect_school" not in few["posterior"]
    with pytest.raises(ValueError, match="there is no group warmup"):
        run.to_arviz(groups=["warmup"])


def test_thinned_latents_have_their_own_draws(data, tmp_path):
    pytest.importorskip("arviz")
    fit = towline.glmm("y ~ x + (1 | school)", data, "poisson")
    run = towline.sample(fit, out=tmp_path / "run", thin_latents=10, **FIT)
    latents = run.to_arviz()["latents"]
    assert latents["draw"].values[:3].tolist() == [9, 19, 29] and latents["effect_school"].shape == (2, 12, 5)


def test_a_wrong_model_is_seen_by_comparison(run, other):
    comparison = towline.compare(run, other)
    assert str(towline.compare([run, other])) == str(comparison)
    assert list(comparison.data["run"]) == ["nb", "poisson"] and comparison.data["elpd_diff"].iloc[1] < -10
    assert "nb predicts better than poisson" in repr(comparison)
    replicated = run.check().replicated.set_index("name")
    assert replicated.loc["standard deviation", "share_above"] < 0.025
    with pytest.raises(towline.Error, match="two runs or more"):
        towline.compare(run)


def test_effects_are_frames_with_pictures(run, tmp_path):
    effects = run.effects("school")
    assert list(effects.data["name"]) == list("abcde") and list(effects.data.columns) == ["name", "mean", "sd", "q2.5", "q97.5"]
    np.testing.assert_allclose(effects.data["mean"][1], run["school[b]"].mean(), rtol=1e-12)
    assert effects.save(tmp_path / "e.svg").read_text().startswith("<svg") and "<img" in effects._repr_html_()
    contrast = run.effects("kind", contrast="drug-placebo", level=0.8)
    assert contrast.data["name"].iloc[2] == "drug - placebo" and "q10" in contrast.data
    with pytest.raises(ValueError, match="no picture"):
        contrast.save(tmp_path / "c.png")
    with pytest.raises(towline.Error, match="neither a grouping"):
        run.effects("nothing")


def test_predictions_take_and_give_arrays(run):
    pandas = pytest.importorskip("pandas")
    new = pandas.DataFrame({"x": [0.0, 1.0], "school": ["a", "zz"], "kind": ["drug", "drug"]}, index=["p", "q"])
    with pytest.warns(UserWarning, match="zz|new"):
        predicted = run.predict(new)
    assert list(predicted.index) == ["p", "q"] and predicted["predictive_sd"].dtype == float
    joint = run.predict_draws(new, draws=100)
    assert joint["latent"].shape == joint["response"].shape == (100, 2)
    z = (joint["latent"][:, 0].mean() - predicted["latent_mean"]["p"]) / predicted["latent_sd"]["p"] * 10
    assert abs(z) < 4


def test_maps_are_frames_with_pictures(surface, tmp_path):
    pandas = pytest.importorskip("pandas")
    grid = surface.map(cells=12)
    assert isinstance(grid.data, pandas.DataFrame) and list(grid.data.columns) == ["u", "v", "mean", "sd"]
    assert grid.save(tmp_path / "map.png").read_bytes().startswith(b"\x89PNG") and "Monte Carlo error" in repr(grid)
    corners = pandas.DataFrame({"u": [0.0, 1, 0], "v": [0.0, 0, 1]})
    inside = surface.map(cells=12, inside=corners, response=True, above=4)
    assert len(inside.data) < len(grid.data) and inside.data["probability_above"].between(0, 1).all()
    at = surface.map(at={"u": [0.1, 0.9], "v": [0.5, 0.5]})
    assert len(at.data["mean"]) == 2
    with pytest.raises(ValueError, match="svg or .png"):
        grid.save(tmp_path / "map.gif")
    with pytest.raises(ValueError, match="from 2 to 500"):
        surface.map(cells=1)


def test_runs_and_summaries_are_tables_in_a_notebook(run):
    shown = run._repr_html_()
    assert "<table>" in shown and "sd_school" in shown and "R-hat" in shown and "poisson" in shown
    assert "<th style='text-align: left'>x</th>" in run.summary()._repr_html_()
    fit = towline.glmm("y ~ x", {"y": [1, 2, 3], "x": ["<a>", "b", "c"]}, "poisson")
    assert "<pre>" in fit._repr_html_() and "<a>" not in fit._repr_html_()


def test_changed_latents_are_noticed(run, tmp_path):
    import shutil

    copy = tmp_path / "run"
    shutil.copytree(run.path, copy)
    file = copy / "latents-0.f64"
    file.write_bytes(file.read_bytes()[:-8] + b"\0" * 8)
    with pytest.raises(towline.Error, match="checksum"):
        towline.open(copy).latents
