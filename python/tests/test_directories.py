"""The command and the package read each other's directories; other people's tools agree with ours."""

import subprocess
import sys

import numpy as np
import pytest
from conftest import chain_bytes

import models
import towline

SETTINGS = {"chains": 2, "draws": 400, "warmup": 150, "cost_ratio": 50, "seed": 5, "parallel": "threads"}


def command(*arguments, check=True):
    code = "import sys; from towline._command import main; sys.exit(main())"
    done = subprocess.run([sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, timeout=300)
    assert not check or done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    model = models.line(derived=lambda cache, x, y: [x[0] + y[0]], derived_names=["sum"], labels={"sum": r"\Sigma"})
    return towline.sample(model, out=tmp_path_factory.mktemp("runs") / "line", **SETTINGS)


def test_the_command_reads_a_run_of_the_package(run, tmp_path):
    assert command("summary", run.path).stdout.strip() == str(run.summary()).strip()
    command("export", run.path, "--to", "csv", "--out", tmp_path / "draws.csv")
    table = np.genfromtxt(tmp_path / "draws.csv", delimiter=",", names=True)
    np.testing.assert_array_equal(table["slope"], run["slope"].ravel())
    command("report", run.path, "--out", tmp_path / "r.html", "--open", "no")
    assert (tmp_path / "r.html").read_text() == run.report(tmp_path / "s.html").read_text()
    refused = command("resume", run.path, check=False)
    assert refused.returncode == 1 and "towline.resume(" in refused.stderr and "Python program" in refused.stderr


def test_the_package_reads_a_run_of_the_command(tmp_path):
    command("run", "neal1", "--out", tmp_path / "neal1", "--chains", 2, "--draws", 200, "--cost-ratio", 100, "--quiet")
    run = towline.open(tmp_path / "neal1")
    assert run.names[:2] == ["x", "y"] and run["x"].shape == (2, 200) and run.finished and run.ended is None
    assert run.statistics["slow_evals"].sum() > 0 and run.tuning["main"]["n"] >= 1


def test_our_figures_are_those_of_arviz(run):
    arviz = pytest.importorskip("arviz")
    data = run.to_arviz()
    np.testing.assert_array_equal(data["posterior"]["slope"].values, run["slope"])
    np.testing.assert_array_equal(data["sample_stats"]["lp"].values, run.statistics["log_density"])
    theirs, ours = arviz.summary(data, round_to="none"), run.summary().to_dict()
    for name in run.names:
        assert abs(theirs.loc[name, "mean"] - ours[name]["mean"]) < 1e-12
        assert abs(theirs.loc[name, "ess_bulk"] / ours[name]["ess_bulk"] - 1) < 1e-6
        assert abs(theirs.loc[name, "r_hat"] - ours[name]["rhat"]) < 1e-6


def test_our_figures_are_those_of_getdist(run):
    pytest.importorskip("getdist")
    samples = run.to_getdist()
    assert [name.name for name in samples.paramNames.names] == run.names
    assert samples.paramNames.parWithName("sum").isDerived and samples.paramNames.parWithName("sum").label == r"\Sigma"
    for name in run.names:
        assert abs(samples.mean(name) - run[name].mean()) < 1e-10
        assert abs(samples.std(name) - run[name].std()) < 1e-10
    assert samples.ranges.getLower("width") == 0


def test_summaries_are_numbers_too(run):
    pandas = pytest.importorskip("pandas")
    summary = run.summary()
    assert isinstance(summary.to_pandas(), pandas.DataFrame)
    assert abs(summary["slope"]["mean"] - run["slope"].mean()) < 1e-12
    assert list(run.summary("s*").to_dict()) == ["slope", "sum"]
    assert summary.cost["chains"] == 2 and summary.cost["slow_evals"] > 800
    frame = run.to_pandas()
    assert len(frame) == 800 and frame["sum"].iloc[401] == run["sum"][1, 1]


def test_plots(run):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    assert len(run.plot().axes) == 8 and len(run.plot(["slope"]).axes) == 2


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    group = rng.integers(0, 6, 80)
    x = rng.normal(size=80)
    y = rng.poisson(np.exp(0.4 + 0.5 * x + 0.5 * rng.normal(size=6)[group]))
    return {"y": y, "x": x, "group": np.array(list("abcdef"))[group], "other": [None, *rng.normal(size=79)]}


FIT = {"chains": 2, "draws": 60, "warmup": 100, "cost_ratio": 50, "seed": 2}


def test_a_mixed_model_of_a_dictionary_is_that_of_the_command(data, tmp_path):
    model = towline.glmm("y ~ x + (1 | group)", data, "poisson", priors={"beta": towline.Normal(0, 4)})
    assert "normal(0, 4)" in repr(model) and "80 rows of a dictionary" in repr(model)
    run = towline.sample(model, out=tmp_path / "ours", **FIT)
    file = tmp_path / "ours" / "data.csv"
    flags = ["--chains", 2, "--draws", 60, "--warmup", 100, "--cost-ratio", 50, "--seed", 2, "--quiet"]
    described = ["--data", file, "--family", "poisson", "--formula", "y ~ x + (1 | group)", "--prior", "beta=normal(0, 4)"]
    command("fit", *described, "--out", tmp_path / "theirs", *flags)
    theirs = towline.open(tmp_path / "theirs")
    assert run.names == theirs.names and chain_bytes(run) == chain_bytes(theirs)
    # Each continues the other's.
    command("resume", run.path, "--draws", 80, "--quiet")
    theirs = towline.resume(theirs.path, draws=80)
    assert chain_bytes(towline.open(run.path)) == chain_bytes(theirs) and theirs.draws_made == 80
    again = towline.resume(run.path, model, draws=90)
    assert again.draws_made == 90


def test_predictions_are_those_of_the_command(data, tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(data)
    run = towline.sample(towline.glmm("y ~ x + (1 | group)", frame, "poisson"), out=tmp_path / "run", **FIT)
    new = pandas.DataFrame({"x": [0.0, 1.5], "group": ["a", "f"]}, index=[7, 9])
    ours = run.predict(new)
    assert list(ours.index) == [7, 9] and "mean_mean" in ours
    new.to_csv(tmp_path / "new.csv", index=False)
    command("predict", run.path, "--at", tmp_path / "new.csv", "--out", tmp_path / "predicted.csv")
    theirs = pandas.read_csv(tmp_path / "predicted.csv")
    for name in ours:  # the file has six decimals
        np.testing.assert_allclose(ours[name].to_numpy(), theirs[name].to_numpy(), rtol=1e-6, atol=1e-6)


def test_a_gaussian_process_of_a_frame_runs_and_predicts(tmp_path):
    x = np.linspace(0, 1, 25)
    data = {"x": x, "y": (np.sin(6 * x) > 0).astype(int)}
    model = towline.gp(data, response="y", family="bernoulli", inputs="x", covariance="squared_exponential")
    run = towline.sample(model, out=tmp_path / "run", **FIT)
    predicted = run.predict({"x": [0.25, 0.75]})
    assert len(run.latents) > 0 and all(values.shape == (2, 60) for values in run.latents.values())
    name = run.latent_names[1]
    np.testing.assert_array_equal(run[name], run._directory.column(name, "latent"))
    assert predicted["mean_mean"][0] > 0.6 and predicted["mean_mean"][1] < 0.4


def test_a_polars_frame_is_as_good_as_a_dictionary(data, tmp_path):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(data).with_columns(
        polars.col("group").cast(polars.Categorical), (polars.col("x") > 0).alias("positive"), polars.lit(None).alias("nothing")
    )
    assert frame["other"].null_count() == 1
    model = towline.glmm("y ~ x + positive + (1 | group)", frame, "poisson")
    assert "80 rows of a polars frame" in repr(model)
    run = towline.sample(model, out=tmp_path / "frame", **FIT)
    same = towline.glmm("y ~ x + positive + (1 | group)", {**data, "positive": data["x"] > 0}, "poisson")
    assert chain_bytes(run) == chain_bytes(towline.sample(same, out=tmp_path / "dictionary", **FIT))
    assert "79 rows" in repr(towline.glmm("y ~ other", frame, "poisson", missing="drop"))
    new = polars.DataFrame({"x": [0.0, 1.5], "positive": [False, True], "group": ["a", "f"]})
    ours = run.predict(new)
    theirs = run.predict(new.to_dict(as_series=False))
    assert isinstance(ours, polars.DataFrame) and {name: ours[name].to_list() for name in ours.columns} == {
        name: values.tolist() for name, values in theirs.items()
    }
    process = towline.gp(frame, response="y", family="poisson", inputs="x")
    assert repr(process).replace("polars frame", "dictionary") == repr(towline.gp(data, response="y", family="poisson", inputs="x"))


def test_models_of_data_that_make_no_sense_are_refused(data):
    with pytest.raises(ValueError, match="nothing"):
        towline.glmm("y ~ nothing", data, "poisson")
    with pytest.raises(ValueError, match="poison"):
        towline.glmm("y ~ x", data, "poison")
    with pytest.raises(ValueError, match="other"):
        towline.glmm("y ~ other", data, "poisson")
    assert "79 rows" in repr(towline.glmm("y ~ other", data, "poisson", missing="drop"))
    with pytest.raises(ValueError, match="all columns must have as many rows"):
        towline.glmm("y ~ x", {"y": [1, 2], "x": [1]}, "poisson")
    with pytest.raises(TypeError, match="data must be a pandas or polars frame"):
        towline.glmm("y ~ x", 3, "poisson")
    with pytest.raises(TypeError, match="inputs are missing"):
        towline.gp(data, response="y")
