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


def line_prepare(x):
    return np.array([x[0], x[1]])


def line_log_likelihood(cache, y):
    """A line with a slow slope and width and a fast offset, and data that were drawn once."""
    residual = DATA - y[0] - cache[0] * PLACES
    return float(-0.5 * np.sum((residual / cache[1]) ** 2) - len(DATA) * math.log(cache[1]))


PLACES = np.linspace(-1.0, 1.0, 8)
DATA = np.array([-1.3, -0.2, -0.4, 0.6, 0.9, 0.7, 2.1, 2.0])


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
