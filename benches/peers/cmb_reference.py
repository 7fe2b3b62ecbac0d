"""ln Z of the emulated CMB posterior by brute force: importance sampling of all 23 parameters by a Student's t about the top, half a million points.

No sampler, and no slow computation's price, is involved; it works because this posterior is nearly normal, which nobody knows beforehand. What the samplers
found is held beside it.
"""

import numpy as np
from scipy import stats
from scipy.special import logsumexp
from spt3g import CALIBRATION_BOUNDS, NUISANCES, PRIORS
from theory import COSMOLOGY, LOWER, START, START_SPREAD, TAU_PRIOR, UPPER

# Differences are taken over so much of a parameter's scale.
STEP = 0.1
# Newton's steps to the top; two come so near that a proposal's middle may be there.
STEPS = 3
# Tails heavier than the posterior's, whose weights then have a variance.
DEGREES = 12
# Points in each round: those that teach the mean and covariance, and those that count.
TEACHING, COUNTING = [40_000] * 3, [100_000] * 5


def densities():
    """The prior of each parameter."""
    uniform = lambda low, high: stats.uniform(low, high - low)
    slow = {name: uniform(low, high) for name, low, high in zip(COSMOLOGY, LOWER, UPPER)} | {"tau": stats.norm(*TAU_PRIOR)}
    return slow | {name: stats.norm(*PRIORS[name]) if name in PRIORS else uniform(*CALIBRATION_BOUNDS) for name in NUISANCES}


def evidence(likelihood, seed):
    """ln Z, its standard error, and the spectra that it took; `likelihood` takes a point a row."""
    priors, spectra = list(densities().values()), 0

    def posterior(points):
        nonlocal spectra
        with np.errstate(divide="ignore"):
            values = sum(prior.logpdf(column) for prior, column in zip(priors, points.T))
        inside = np.isfinite(values)
        spectra += int(inside.sum())
        values[inside] += likelihood(points[inside])
        return values

    middle = np.array([START[name] for name in COSMOLOGY] + [PRIORS[name][0] if name in PRIORS else 1.0 for name in NUISANCES])
    scales = np.array([START_SPREAD[name] for name in COSMOLOGY] + [PRIORS[name][1] if name in PRIORS else 0.01 for name in NUISANCES])
    for _ in range(STEPS):
        slope, curvature = derivatives(posterior, middle, scales)
        covariance = np.linalg.inv(curvature)
        middle = middle + scales * (covariance @ slope)
    covariance = covariance * np.outer(scales, scales)

    rng, logs = np.random.default_rng(seed), []
    for count in TEACHING + COUNTING:
        proposal = stats.multivariate_t(middle, covariance, df=DEGREES, seed=rng)
        points = proposal.rvs(count)
        log_weights = posterior(points) - proposal.logpdf(points)
        if len(logs) < len(TEACHING):
            weights = np.exp(log_weights - logsumexp(log_weights))
            middle = weights @ points
            covariance = (points - middle).T @ ((points - middle) * weights[:, None])
        logs.append(log_weights)
    counted = np.concatenate(logs[len(TEACHING) :])
    ln_z = logsumexp(counted) - np.log(len(counted))
    return ln_z, np.exp(counted - ln_z).std() / np.sqrt(len(counted)), spectra


def derivatives(posterior, middle, scales):
    """The slope and minus the second derivatives at a place, in units of the scales."""
    dim = len(middle)
    steps = STEP * np.diag(scales)
    pairs = [(i, j) for i in range(dim) for j in range(i)]
    places = [middle, *(middle + steps), *(middle - steps)]
    places += [middle + steps[i] + steps[j] for i, j in pairs] + [middle - steps[i] - steps[j] for i, j in pairs]
    values = posterior(np.array(places))
    here, up, down, corners = values[0], values[1 : dim + 1], values[dim + 1 : 2 * dim + 1], values[2 * dim + 1 :]
    curvature = np.diag((2 * here - up - down) / STEP**2)
    for (i, j), above, below in zip(pairs, corners[: len(pairs)], corners[len(pairs) :]):
        both = (2 * here - above - below) / STEP**2
        curvature[i, j] = curvature[j, i] = 0.5 * (both - curvature[i, i] - curvature[j, j])
    return (up - down) / (2 * STEP), curvature
