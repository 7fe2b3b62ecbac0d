"""Cobaya's one-dimensional priors as Towline's: the same where there is one, else a base and what it lacks.

A prior that Towline does not have is written as base × correction, with a base on the same support. The base goes to
Towline, which needs it for its scale and bounds; the correction is added to the likelihood. Exact whatever the base is.
"""

import math
from dataclasses import dataclass
from typing import Callable, Optional

import numpy as np


# A flat prior so many times as wide as its posterior is not sampled on the scale of its ends: an amplitude of 3 ± 2 between 0 and 40 is
# nearly normal as it is, and far from it on the scale of the logit.
WIDE = 8.0


@dataclass
class Mapped:
    """A Towline prior, by the name of its class and its arguments, and the log of the factor it lacks."""

    family: str
    arguments: tuple
    correction: Optional[Callable[[float], float]] = None


def tempered(prior, temperature):
    """The base to the power 1 / temperature, which is one of the same family, or the same. What it lacks is not divided yet."""
    if temperature == 1 or prior.family in ("Uniform", "UniformWide", "UniformPeriodic"):
        return prior
    place, width = prior.arguments
    return Mapped(prior.family, (place, width * math.sqrt(temperature)), prior.correction)


def expected_width(info):
    """How wide its posterior is, as the input has it: its `proposal`, or the width of its `ref`; nothing where neither is a width."""
    ref = info.get("ref")
    for width in (info.get("proposal"), ref.get("scale") if isinstance(ref, dict) and ref.get("dist") == "norm" else None):
        if isinstance(width, (int, float)) and width > 0:
            return float(width)
    return None


def mapped(pdf, periodic, width=None):
    """The prior of one parameter, from its frozen SciPy distribution; `width`: of its posterior, if that is known."""
    name = pdf.dist.name
    lower, upper = (float(bound) for bound in pdf.interval(1))
    if name == "uniform":
        if not periodic and width is not None and upper - lower > WIDE * width:
            return Mapped("UniformWide", (lower, upper, width))
        return Mapped("UniformPeriodic" if periodic else "Uniform", (lower, upper))
    if periodic:
        return Mapped("UniformPeriodic", (lower, upper), _beside_constant(pdf, lower, upper))
    if name == "norm":
        return Mapped("Normal", (float(pdf.mean()), float(pdf.std())))
    if math.isfinite(lower) and math.isfinite(upper):
        return Mapped("Uniform", (lower, upper), _beside_constant(pdf, lower, upper))
    centre, width = _middle(pdf)
    # A wall in the density would spoil frames, whose search for the mode ends at it: bounded on one side means a log scale.
    for family, end in (("HalfNormalAbove", lower), ("HalfNormalBelow", upper)):
        if math.isfinite(end):
            away = abs(centre - end) + width
            return Mapped(family, (end, away), _beside_normal(pdf, end, away, halves=1))
    return Mapped("Normal", (centre, width), _beside_normal(pdf, centre, width))


def _beside_constant(pdf, lower, upper):
    log_base = -math.log(upper - lower)
    log_density = _log_density(pdf)
    return lambda value: log_density(value) - log_base


def _beside_normal(pdf, centre, width, halves=0):
    constant = math.log(width) + 0.5 * math.log(2 * math.pi) - halves * math.log(2)
    log_density = _log_density(pdf)

    def correction(value):
        return log_density(value) + constant + 0.5 * ((value - centre) / width) ** 2

    return correction


def _log_density(pdf):
    """`pdf.logpdf` for single numbers, without what SciPy does around it for arrays, which takes a hundred microseconds."""
    lower, upper = (float(bound) for bound in pdf.interval(1))

    def plainly(value):
        return float(pdf.logpdf(value))

    try:
        shapes, loc, scale = pdf.dist._parse_args(*pdf.args, **pdf.kwds)
        formula, log_scale = pdf.dist._logpdf, math.log(scale)

        def directly(value):
            return float(formula((value - loc) / scale, *shapes)) - log_scale if lower <= value <= upper else -math.inf

        where = [float(q) for q in pdf.ppf([0.01, 0.3, 0.5, 0.9, 0.999])]
        return directly if np.allclose([directly(v) for v in where], [plainly(v) for v in where], rtol=1e-12) else plainly
    except Exception:
        # What SciPy does not promise may be different in its next version.
        return plainly


def _middle(pdf):
    """A centre and a width: the moments where they exist, else quantiles."""
    centre, width = float(pdf.mean()), float(pdf.std())
    if not (np.isfinite(centre) and np.isfinite(width) and width > 0):
        low, centre, high = (float(q) for q in pdf.ppf([0.16, 0.5, 0.84]))
        width = 0.5 * (high - low)
    return centre, width
