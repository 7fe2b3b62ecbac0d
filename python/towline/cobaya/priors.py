"""Cobaya's one-dimensional priors as Towline's: the same where there is one, else a base and what it lacks.

A prior that Towline does not have is written as base × correction, with a base on the same support. The base goes to
Towline, which needs it for its scale and bounds; the correction is added to the likelihood. Exact whatever the base is.
"""

import math
from dataclasses import dataclass
from typing import Callable, Optional

import numpy as np


@dataclass
class Mapped:
    """A Towline prior, by the name of its class and its arguments, and the log of the factor it lacks."""

    family: str
    arguments: tuple
    correction: Optional[Callable[[float], float]] = None


def mapped(pdf, periodic):
    """The prior of one parameter, from its frozen SciPy distribution."""
    name = pdf.dist.name
    lower, upper = (float(bound) for bound in pdf.interval(1))
    if name == "uniform":
        return Mapped("UniformPeriodic" if periodic else "Uniform", (lower, upper))
    if periodic:
        return Mapped("UniformPeriodic", (lower, upper), _beside_constant(pdf, lower, upper))
    if name == "norm":
        return Mapped("Normal", (float(pdf.mean()), float(pdf.std())))
    if math.isfinite(lower) and math.isfinite(upper):
        return Mapped("Uniform", (lower, upper), _beside_constant(pdf, lower, upper))
    centre, width = _middle(pdf)
    return Mapped("Normal", (centre, width), _beside_normal(pdf, centre, width))


def _beside_constant(pdf, lower, upper):
    log_base = -math.log(upper - lower)
    return lambda value: float(pdf.logpdf(value)) - log_base


def _beside_normal(pdf, centre, width):
    constant = math.log(width) + 0.5 * math.log(2 * math.pi)

    def correction(value):
        return float(pdf.logpdf(value)) + constant + 0.5 * ((value - centre) / width) ** 2

    return correction


def _middle(pdf):
    """A centre and a width: the moments where they exist, else quantiles."""
    centre, width = float(pdf.mean()), float(pdf.std())
    if not (np.isfinite(centre) and np.isfinite(width) and width > 0):
        low, centre, high = (float(q) for q in pdf.ppf([0.16, 0.5, 0.84]))
        width = 0.5 * (high - low)
    return centre, width
