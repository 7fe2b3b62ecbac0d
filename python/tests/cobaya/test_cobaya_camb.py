"""CAMB as the slow theory, at low accuracy: its caches survive the way around Cobaya, and posteriors are right."""

import numpy as np
import pytest
from cobaya.likelihood import Likelihood
from cobaya.model import get_model
from cobaya.run import run
from problems import assert_mean, chains

from towline.cobaya import speeds
from towline.cobaya.evaluator import Bypass

pytest.importorskip("camb", reason="CAMB is not installed")
REDSHIFTS = np.array([0.1, 0.3, 0.5, 0.8, 1.2])
# ln of angular diameter distances, near those of H0 = 68 and omch2 = 0.12, with errors of two per cent.
DISTANCES = np.array([5.9744, 6.8286, 7.1412, 7.3399, 7.4453])
ERROR = 0.02


class Distances(Likelihood):
    """Distances with a common calibration, which is fast."""

    params = {"M": None}

    def get_requirements(self):
        return {"angular_diameter_distance": {"z": REDSHIFTS}}

    def logp(self, _derived=None, **params):
        distances = np.log(self.provider.get_angular_diameter_distance(REDSHIFTS))
        return -0.5 * (((distances + params["M"] - DISTANCES) / ERROR) ** 2).sum()


def distances(**options):
    return {
        "theory": {"camb": None},
        "likelihood": {"distances": {"external": Distances, "speed": 5000}},
        "params": {
            "ombh2": 0.0224,
            "omch2": {"prior": {"min": 0.02, "max": 0.30}, "ref": {"dist": "norm", "loc": 0.12, "scale": 0.02}},
            "H0": {"prior": {"min": 50, "max": 90}, "ref": {"dist": "norm", "loc": 68, "scale": 1}},
            "M": {"prior": {"dist": "norm", "loc": 0, "scale": 0.02}, "ref": 0.0},
            "omegam": None,
        },
        "sampler": {"towline.cobaya.Towline": {"measure_speeds": False, "seed": 1, "Rminus1_stop": 1e-4, **options}},
    }


def by_quadrature(model):
    """Means of H0 and omch2, with M integrated out: a grid of CAMB runs."""
    h0, omch2 = np.linspace(58, 79, 12), np.linspace(0.025, 0.29, 12)
    covariance = ERROR**2 * np.eye(5) + 0.02**2 * np.ones((5, 5))
    inverse = np.linalg.inv(covariance)
    log = np.empty((12, 12))
    for i, a in enumerate(h0):
        for j, b in enumerate(omch2):
            model.loglike({"H0": a, "omch2": b, "M": 0.0})
            apart = np.log(model.provider.get_angular_diameter_distance(REDSHIFTS)) - DISTANCES
            log[i, j] = -0.5 * apart @ inverse @ apart
    weight = np.exp(log - log.max())
    return (weight.sum(1) @ h0) / weight.sum(), (weight.sum(0) @ omch2) / weight.sum()


def test_a_posterior_with_camb():
    _, sampler = run(distances(chains=2, warmup=120, max_samples=150))
    assert sampler.speeds.slow == ["omch2", "H0"] and sampler.speeds.fast == ["M"]
    h0, omch2 = by_quadrature(sampler.model)
    assert_mean(chains(sampler, "H0"), h0)
    assert_mean(chains(sampler, "omch2"), omch2)
    sample = sampler.products()["sample"]
    row = {name: sample[name].iloc[5] for name in ("omch2", "H0", "M")}
    assert sample["omegam"].iloc[5] == pytest.approx((row["omch2"] + 0.0224 + 0.00064) / (row["H0"] / 100) ** 2, rel=2e-3)


class Heights(Likelihood):
    """A few points of the temperature spectrum, with a calibration."""

    params = {"A": None}

    def get_requirements(self):
        return {"Cl": {"tt": 100}}

    def logp(self, _derived=None, **params):
        return -1e-6 * ((params["A"] * self.provider.get_Cl(ell_factor=True)["tt"][20:100] - 1000) ** 2).sum()


def heights(**options):
    """ombh2 changes CAMB's transfers, logA its primordial spectrum alone."""
    quick = {"lens_potential_accuracy": 0, "DoLensing": False, "AccuracyBoost": 0.4, "lAccuracyBoost": 0.4}
    return {
        "theory": {"camb": {"extra_args": quick}},
        "likelihood": {"heights": {"external": Heights, "speed": 2000}},
        "params": {
            "ombh2": {"prior": [0.02, 0.025]},
            "logA": {"prior": [2.9, 3.2], "drop": True},
            "As": {"value": "lambda logA: 1e-10 * np.exp(logA)"},
            "A": {"prior": [0.9, 1.1]},
            **{"omch2": 0.12, "H0": 68, "tau": 0.055, "ns": 0.965},
        },
        "sampler": {"towline.cobaya.Towline": {"seed": 1, "measure_speeds": False, "Rminus1_stop": 1e-4, **options}},
    }


def counted(model):
    """How often each of CAMB's two stages is computed from now on."""
    calls = {}
    for component in model.theory.values():
        stage = "transfers" if "transfers" in component.get_name() else "spectra"

        def calculate(state, want_derived=True, original=component.calculate, stage=stage, **params):
            calls[stage] = calls.get(stage, 0) + 1
            return original(state, want_derived, **params)

        component.calculate = calculate
    return calls


def test_spectra_of_camb_are_kept_for_both_ends_of_a_drag():
    # CAMB writes into the object that holds its transfer functions: what is cached must not change with it.
    model = get_model({name: part for name, part in heights().items() if name != "sampler"})
    found = speeds.find(model)
    assert found.blocks == [["ombh2"], ["logA"], ["A"]]
    bypass = Bypass(model, found)
    assert bypass.slow == ["ombh2", "logA"]
    points = [(0.022, 3.0), (0.022, 3.1), (0.0235, 3.0), (0.022, 3.15)]
    calls = counted(model)
    caches = [bypass.prepare(np.array(x)) for x in points]
    # A new amplitude needs no new transfers, even after others were computed in between.
    assert calls == {"transfers": 2, "spectra": 4}
    for A in (0.95, 1.02):
        for x, cache in zip(points, caches):
            expected = model.loglike({"ombh2": x[0], "logA": x[1], "A": A}, return_derived=False)
            assert bypass.log_likelihood(cache, np.array([A])) == pytest.approx(expected, rel=1e-9)
