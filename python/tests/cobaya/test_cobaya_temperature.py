"""Tempered posteriors are exact, priors included; and posteriors that lean on the bounds of their priors are too."""

import numpy as np
import pytest
from cobaya.run import run
from problems import assert_mean, chains, neal
from scipy.stats import truncnorm

ONCE = {"chains": 2, "warmup": 200, "Rminus1_stop": 1e-4}


@pytest.mark.parametrize("temperature", [2, 0.5])
def test_the_posterior_to_a_power(temperature):
    info = neal(1, **ONCE, max_samples=1500, temperature=temperature)
    info["likelihood"]["w"] = {"external": lambda w, h, b: -0.5 * (w - 1) ** 2, "speed": 900}
    info["params"] |= {
        "w": {"prior": {"dist": "norm", "loc": 0, "scale": 2}},
        "h": {"prior": {"dist": "halfnorm", "loc": 1.0, "scale": 2.0}},
        "b": {"prior": {"dist": "beta", "a": 3, "b": 2}},
    }
    _, sampler = run(info)
    # exp(-x²/T) times a conditional of y whose width falls as 1 / (1 + x²).
    grid = np.linspace(-8, 8, 200001)
    weight = np.exp(-grid * grid / temperature) / (1 + grid * grid)
    x = chains(sampler, "x")
    assert_mean(x**2, (grid**2 * weight).sum() / weight.sum())
    assert_mean((chains(sampler, "y") - np.sin(x)) ** 2 * 100 * (1 + x * x) ** 2, temperature)
    # Prior and likelihood of w are normal: the variance grows with the temperature, the mean stays.
    w = chains(sampler, "w")
    assert_mean(w, 0.8)
    assert_mean((w - 0.8) ** 2, 0.8 * temperature)
    assert_mean((chains(sampler, "h") - 1) ** 2, 4 * temperature)
    a, b = 1 + 2 / temperature, 1 + 1 / temperature
    assert_mean(chains(sampler, "b"), a / (a + b))
    # Rows are Cobaya's of a tempered sample: its own means are of the posterior itself.
    sample = sampler.products()["sample"]
    recomputed = sampler.model.logposterior({n: sample[n].iloc[7] for n in ("x", "y", "w", "h", "b")})
    assert sample["minuslogpost"].iloc[7] == pytest.approx(-recomputed.logpost / temperature, rel=1e-9)
    if temperature == 2:
        sample.reset_temperature()
        plain = np.average((sample["w"] - 0.8) ** 2, weights=sample["weight"])
        assert plain == pytest.approx(0.8, abs=0.15)


@pytest.mark.parametrize("slow", [True, False])
@pytest.mark.parametrize("prior", ["uniform", "uniform, width known", "normal below"])
def test_a_posterior_at_the_edge_of_its_prior(slow, prior):
    """The mode lies outside, two widths beyond the bound, where the density is highest: a neutrino mass, say."""
    centre, width = -0.4, 0.2
    info = neal(1, **ONCE, max_samples=1500)
    if slow:
        info["likelihood"]["mass"] = {"external": lambda mass, _self=None: _edge(mass, _self), "requires": ["sine"], "speed": 2}
        info["sampler"]["towline.cobaya.Towline"]["blocking"] = [[1, ["x", "mass"]], [100, ["y"]]]
    else:
        info["likelihood"]["mass"] = {"external": lambda mass: -0.5 * ((mass - centre) / width) ** 2, "speed": 900}
    if prior.startswith("uniform"):
        known = {"proposal": 0.1} if "known" in prior else {}
        info["params"]["mass"] = {"prior": {"min": 0, "max": 5}, "ref": 0.3, **known}
        expected = truncnorm(-centre / width, np.inf, centre, width)
    else:
        # A prior with a wall on one side only.
        info["params"]["mass"] = {"prior": {"dist": "halfnorm", "loc": 0, "scale": 1.0}, "ref": 0.3}
        sd = (1 / width**2 + 1) ** -0.5
        mean = centre / width**2 * sd**2
        expected = truncnorm(-mean / sd, np.inf, mean, sd)
    _, sampler = run(info)
    if prior.startswith("uniform"):
        assert sampler.evaluator.priors["mass"].family == ("UniformWide" if "known" in prior else "Uniform")
    mass = chains(sampler, "mass")
    assert mass.min() >= 0
    assert_mean(mass, expected.mean())
    assert_mean(mass**2, expected.moment(2))
    # The edge itself: as many draws next to it as there should be.
    near = expected.ppf(0.1)
    assert_mean((mass < near).astype(float), 0.1)


def _edge(mass, component):
    component.provider.get_sine()
    return -0.5 * ((mass + 0.4) / 0.2) ** 2
