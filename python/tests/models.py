"""Models that the tests share; in a module, so that workers can import it."""

import math

import numpy as np

import towline


def prepare1(x):
    """The report's first test: sin(x) stands for a long computation."""
    return float(x[0]), math.sin(x[0])


def density1(cache, y):
    x, sin_x = cache
    return -x * x - 50.0 * (1.0 + x * x) ** 2 * (y[0] - sin_x) ** 2


PLACES = np.linspace(-1.0, 1.0, 8)
DATA = np.array([-1.3, -0.2, -0.4, 0.6, 0.9, 0.7, 2.1, 2.0])


def line_prepare(x):
    """A line with a slow slope and width: what is left of the data, and what the width says of them."""
    slope, width = float(x[0]), float(x[1])
    left = DATA - slope * PLACES
    return float(left.sum()), float(left.dot(left)), width


def line_log_likelihood(cache, y):
    """The same with a fast offset."""
    total, squares, width = cache
    offset = float(y[0])
    return -0.5 * (squares - 2.0 * offset * total + 8.0 * offset * offset) / width**2 - 8.0 * math.log(width)


def line(**more):
    """The posterior of the line."""
    given = {
        "slow": {"slope": towline.Normal(0, 5), "width": towline.HalfNormal(2)},
        "fast": {"offset": towline.Normal(0, 5)},
        "prepare": line_prepare,
        "log_likelihood": line_log_likelihood,
        **more,
    }
    return towline.Model(**given)
