"""Arguments that make no sense: refused before anything runs, by name."""

import math

import pytest

import models
import towline


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: towline.Uniform(2, 1), ValueError, "lower must be below upper"),
        (lambda: towline.Uniform(1, 1), ValueError, "lower must be below upper"),
        (lambda: towline.Uniform(0, math.inf), ValueError, "upper must be a number"),
        (lambda: towline.UniformPeriodic(3, -3), ValueError, "lower must be below upper"),
        (lambda: towline.Normal(0, 0), ValueError, "sd must be above zero"),
        (lambda: towline.Normal(math.nan, 1), ValueError, "mean must be a number"),
        (lambda: towline.PcSd(1, 2), ValueError, "alpha is a probability"),
        (lambda: towline.Normal(0), TypeError, "sd is missing"),
        (lambda: towline.Normal(0, "1"), TypeError, "sd = '1': a number is needed"),
        (lambda: towline.Normal(0, 1, 2), TypeError, "Normal has the arguments mean, sd"),
        (lambda: towline.Normal(0, scale=1), TypeError, "scale cannot be given"),
    ],
)
def test_impossible_priors_are_refused(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_priors_are_what_they_say():
    prior = towline.Normal(mean=1, sd=2)
    assert prior.mean == 1 and prior.sd == 2 and repr(prior) == "Normal(1, 2)" and prior == towline.Normal(1, 2)
    assert abs(prior.log_density(1) + math.log(2 * math.sqrt(2 * math.pi))) < 1e-12
    assert (towline.Uniform(-1, 3).lower, towline.HalfNormal(1).lower, towline.Beta(1, 2).upper) == (-1, 0, 1)


@pytest.mark.parametrize(
    ("more", "error", "words"),
    [
        ({"slow": {"a": (0, 1)}}, TypeError, "the parameter 'a': a prior is needed, such as towline.Uniform"),
        ({"slow": {"a": "uniform(3, 1)"}}, ValueError, "the parameter 'a': .*lower must be below upper"),
        ({"slow": {"a": "unifrm(0, 1)"}}, ValueError, "the parameter 'a': .*is no prior"),
        ({"slow": [towline.Normal(0, 1)]}, TypeError, "slow must be a dictionary of priors by name, not list"),
        ({"slow": {1: towline.Normal(0, 1)}}, TypeError, "slow: the name 1 must be text"),
        ({"slow": {" ": towline.Normal(0, 1)}}, ValueError, "slow: a name is empty"),
        ({"slow": {"offset": towline.Normal(0, 1)}}, ValueError, "offset: slow or fast, not both"),
        ({"slow": {}, "fast": {}}, ValueError, "a model needs parameters"),
        ({"log_likelihood": None}, TypeError, "log_likelihood must be a function, not NoneType"),
        ({"prepare": 3}, TypeError, "prepare must be a function, not int"),
        ({"gradient": "x"}, TypeError, "gradient must be a function, not str"),
        ({"derived": lambda c, x, y: 1.0}, TypeError, "derived and derived_names go together"),
        ({"derived": lambda c, x, y: 1.0, "derived_names": ["slope"]}, ValueError, "names must differ: slope"),
        ({"labels": {"slop": "b"}}, ValueError, "labels: there is no parameter 'slop'; there are slope, width, offset"),
        ({"blocks": [["offset"], ["else"]]}, ValueError, "blocks: there is no fast parameter 'else'"),
        ({"blocks": [[]]}, ValueError, "blocks: one of them is empty"),
        ({"refine": lambda c, h: c}, TypeError, "refine needs blocks"),
        ({"start": {"width": -1}}, ValueError, "start: width = -1 lies outside the support"),
        ({"start": {"wide": 1}}, ValueError, "start: there is no parameter 'wide'"),
        ({"start": 3}, TypeError, "start must be a dictionary or a function of a seed"),
        ({"latents": ["slope"]}, ValueError, "latents: there is no fast parameter 'slope'"),
    ],
)
def test_models_that_make_no_sense_are_refused(more, error, words):
    with pytest.raises(error, match=words):
        models.line(**more)


@pytest.mark.parametrize(
    ("more", "error", "words"),
    [
        ({"chains": 0}, ValueError, "chains = 0: it must be at least 1"),
        ({"chains": 2.5}, TypeError, "chains = 2.5: a whole number is needed"),
        ({"draws": -1}, ValueError, "draws = -1: it must be at least 1"),
        ({"seed": -1}, ValueError, "seed = -1: it must be at least 0"),
        ({"seed": 2**64}, ValueError, "it must be at most"),
        ({"warmup": 0}, ValueError, "warmup = 0"),
        ({"cost_ratio": math.nan}, ValueError, "cost_ratio = nan: it must be a number above 0"),
        ({"time_limit": 0}, ValueError, "time_limit = 0"),
        ({"rhat": 0.9}, ValueError, "R-hat to stop at = 0.9: it must be above 1"),
        ({"thin_latents": 0}, ValueError, "thin_latents = 0"),
        ({"failures": "ignore"}, ValueError, 'failures = \'ignore\': it must be "end" or "outside"'),
        ({"parallel": "gpu"}, ValueError, "parallel = 'gpu': it must be 'processes', 'threads', 'serial', or an mpi4py"),
        ({"progress": 7}, TypeError, "progress must be True, False or a function"),
        ({"tuning": {"scale": 1}}, towline.Error, "tuning: it is none"),
        ({"tuning": 3}, TypeError, "tuning must be a run"),
    ],
)
def test_settings_that_make_no_sense_are_refused(more, error, words):
    with pytest.raises(error, match=words):
        towline.sample(models.line(), **more)


def test_other_mistakes_are_refused(tmp_path):
    with pytest.raises(TypeError, match="a towline.Model is needed"):
        towline.sample(lambda x: x)
    with pytest.raises(towline.Error, match="not a run directory"):
        towline.open(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="x0 has shape"):
        towline.Density(models.prepare1, models.density1, [[1.0]], [0.0])
    with pytest.raises(ValueError, match="must be finite"):
        towline.Density(models.prepare1, models.density1, [math.nan], [0.0])
    with pytest.raises(ValueError, match="2 names for 1 variables"):
        towline.Density(models.prepare1, models.density1, [1.0], [0.0], slow_names=["a", "b"])
    settings = {"chains": 1, "draws": 5, "warmup": 100, "cost_ratio": 50, "parallel": "serial"}
    run = towline.sample(models.line(), out=tmp_path / "run", **settings)
    with pytest.raises(towline.Error, match="holds a run already"):
        towline.sample(models.line(), out=tmp_path / "run", **settings)
    with pytest.raises(towline.Error, match="ask for at least as many"):
        towline.resume(run, models.line(), draws=2)
    other = models.line(slow={"slope": towline.Normal(0, 5), "breadth": towline.HalfNormal(2)})
    with pytest.raises(towline.Error, match="the model reports other columns than those stored"):
        towline.resume(run, other, draws=10)
    changed = models.line(log_likelihood=lambda cache, y: -y[0] ** 2)
    with pytest.raises(towline.Error, match="the model changed"):
        towline.resume(run, changed, draws=10, parallel="serial")
    with pytest.raises(TypeError, match="the model is needed, since the directory cannot hold it"):
        towline.resume(run.path)
    with pytest.raises(KeyError, match="there are slope, width, offset"):
        run["breadth"]
    with pytest.raises(towline.Error, match="there is no parameter nope"):
        run.summary("nope")
