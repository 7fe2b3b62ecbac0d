"""What a covariance matrix gives: where chains move, for warm-up to begin with; or a whole tuning, for runs without warm-up
(random walks in x, y carried along the regression on x).

Whatever the matrix, the run is exact: it says how to move, not where the posterior is.
"""

import math

import numpy as np

# Intervals of a drag: modest, since nothing was measured. Fast moves between slow ones: several for each parameter, if they cost no
# more than this share of a slow evaluation.
INTERVALS = 8
MOVES_EACH, EXTRA_SHARE = 8, 0.25
# Shares of the learned proposal, of the main drag and of the safe one: with one frame the two drags are the same.
SHARES = [0.0, 1.0, 0.0]


def slow_covariance(covmat, names, priors, slow, centre):
    """The covariance of the slow parameters on the scale on which chains move, row by row."""
    return _moved(covmat, names, priors, slow, centre)[0].ravel().tolist()


def _moved(covmat, names, priors, which, centre):
    """The covariance of these parameters on the scale on which chains move, and where the centre lies there."""
    place = {name: k for k, name in enumerate(names)}
    order = [place[name] for name in which]
    jacobian, middle = _unconstrained([priors[n] for n in which], [centre[place[n]] for n in which])
    full = jacobian @ np.asarray(covmat)[np.ix_(order, order)] @ jacobian.T
    # A circle takes two coordinates, of which one is the distance from its middle: it has a width of its own.
    for k, width in enumerate(_own_widths([priors[n] for n in which])):
        full[k, k] += width**2
    return 0.5 * (full + full.T), middle


def from_covariance(covmat, names, priors, slow, fast, centre, ratio):
    """The tuning, as the dictionary that a run directory's manifest holds, from a matrix in the order of `names`."""
    full, middle = _moved(covmat, names, priors, slow + fast, centre)
    p = sum(2 if priors[n].family == "UniformPeriodic" else 1 for n in slow)
    xx, yx, yy = full[:p, :p], full[p:, :p], full[p:, p:]
    slope = np.linalg.solve(xx, yx.T).T if p else np.zeros((len(yy), 0))
    given = yy - slope @ yx.T
    d = len(yy)
    setting = {"frame": "Linear", "n": INTERVALS, "inner": _inner(d)}
    return {
        "centre": middle[:p].tolist(),
        "slow": _factor(xx),
        "scale": 2.38 / math.sqrt(max(p, 1)),
        "linear": {
            "x": middle[:p].tolist(),
            "centre": middle[p:].tolist(),
            "slope": slope.ravel().tolist(),
            "root": _factor(given),
        },
        "main": setting,
        "safe": setting,
        "shares": SHARES,
        "surrogate": None,
        "extra": max(1, min(MOVES_EACH * d, int(EXTRA_SHARE * (ratio or 1.0)))),
        "prices": {"slow": ratio or 1.0, "nested": None, "measured": None},
        "trials": [],
        "notes": ["made from a covariance matrix: there was no warm-up"],
    }


def _inner(d):
    size = 2.38 / math.sqrt(max(d, 1))
    return {"RandomWalk": {"factor": {"Diagonal": [size] * d}}}


def _factor(covariance):
    if not len(covariance):
        return {"Diagonal": []}
    root = np.linalg.cholesky(0.5 * (covariance + covariance.T))
    return {"Lower": {"dim": len(root), "rows": root[np.tril_indices(len(root))].tolist()}}


def _unconstrained(priors, values):
    """Where values lie on the scale on which chains move, and the slopes of that map: logits of intervals (of wide ones, lines
    but near their ends), logarithms of distances from a single end, angles as points."""
    rows, middle = [], []
    for k, (prior, value) in enumerate(zip(priors, values)):
        unit = np.eye(len(priors))[k]
        if prior.family == "Uniform":
            lower, upper = prior.arguments
            share = min(max((value - lower) / (upper - lower), 1e-6), 1 - 1e-6)
            rows.append(unit / ((upper - lower) * share * (1 - share)))
            middle.append(math.log(share / (1 - share)))
        elif prior.family == "UniformWide":
            lower, upper, width = prior.arguments
            left, right = (max(away / width, 1e-6) for away in (value - lower, upper - value))
            # As the engine has it: ln(e^left - 1) - ln(1 - e^-right).
            middle.append(left + math.log(-math.expm1(-left)) - math.log(-math.expm1(-right)))
            rows.append(unit / width * (1 / -math.expm1(-left) - math.exp(-right) / math.expm1(-right)))
        elif prior.family == "UniformPeriodic":
            lower, upper = prior.arguments
            turn = 2 * math.pi / (upper - lower)
            angle = turn * (value - lower)
            rows += [-math.sin(angle) * turn * unit, math.cos(angle) * turn * unit]
            middle += [math.cos(angle), math.sin(angle)]
        elif prior.family in ("HalfNormalAbove", "HalfNormalBelow"):
            away = value - prior.arguments[0]
            away = math.copysign(max(abs(away), 1e-6 * prior.arguments[1]), away)
            rows.append(unit / away)
            middle.append(math.log(abs(away)))
        else:
            rows.append(unit)
            middle.append(value)
    return np.array(rows).reshape(-1, len(priors)), np.array(middle)


def _own_widths(priors):
    for prior in priors:
        yield from (0.35, 0.35) if prior.family == "UniformPeriodic" else (0.0,)
