"""Cobaya's priors as Towline's: flat ones far wider than the posterior are sampled on their own scale."""

import numpy as np
import pytest
from scipy import stats

from towline.cobaya.priors import Mapped, expected_width, mapped
from towline.cobaya.tuning import _unconstrained

FLAT = stats.uniform(-1, 41)


@pytest.mark.parametrize(
    "info, width",
    [
        ({"proposal": 1.5, "ref": {"dist": "norm", "loc": 3, "scale": 0.2}}, 1.5),
        ({"ref": {"dist": "norm", "loc": 3, "scale": 0.2}}, 0.2),
        ({"ref": 3.0}, None),
        ({"ref": {"dist": "uniform", "loc": 3, "scale": 9}}, None),
        ({"proposal": None}, None),
        ({}, None),
    ],
)
def test_the_width_of_a_posterior_is_what_the_input_says(info, width):
    assert expected_width(info) == width


def test_a_flat_prior_is_wide_where_the_posterior_is_known_to_be_narrow():
    assert mapped(FLAT, False, 1.5) == Mapped("UniformWide", (-1.0, 40.0, 1.5))
    assert mapped(FLAT, False, 10.0) == mapped(FLAT, False) == Mapped("Uniform", (-1.0, 40.0))
    assert mapped(FLAT, True, 1.5).family == "UniformPeriodic"
    assert mapped(stats.norm(0, 1), False, 0.01).family == "Normal"


@pytest.mark.parametrize("prior", [Mapped("Uniform", (-1.0, 40.0)), Mapped("UniformWide", (-1.0, 40.0, 1.5)), Mapped("UniformWide", (-1.0, 40.0, 1e3))])
def test_slopes_of_the_scale_are_its_derivatives(prior):
    for value in (-0.99, 0.5, 20.0, 39.0, 39.99):
        slope, middle = _unconstrained([prior], [value])
        step = 1e-5
        ends = [_unconstrained([prior], [value + h])[1][0] for h in (step, -step)]
        assert slope[0, 0] == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-5)
    # With a width beyond the ends it is the logit.
    if prior.arguments[-1] == 1e3:
        assert middle[0] == pytest.approx(np.log(40.99 / 0.01), rel=1e-2)
