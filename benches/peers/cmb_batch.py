"""The likelihood of the CMB example for many points at once, each with its own spectrum: what lets a nested sampler in Python come to its end.

It is the emulated posterior of `examples/cmb` and nothing else: `check` compares it with that, point by point, before anything is run with it.
"""

import numpy as np
from numpy.polynomial import chebyshev
from scipy.linalg.blas import dtrmm
from spt3g import ABERRATION, ALPHA_CENTRE, ALPHA_REACH, BINS, POSITIVE
from theory import COSMOLOGY, LOWER, UPPER

# Points whose matrices are in memory at a time: 528 × 25 numbers for each.
CHUNK = 100
# How far the two may be apart, in ln L of some hundreds.
TOLERANCE = 1e-8


class Batch:
    """ln L of rows of (six cosmological parameters, seventeen nuisances)."""

    def __init__(self, posterior):
        self.posterior, self.likelihood, self.theory = posterior, posterior.likelihood, posterior.theory
        if self.likelihood.modes is None:
            raise ValueError("only the compressed beams are written for many points at once")

    def __call__(self, points):
        points = np.atleast_2d(points)
        x, y = points[:, : len(COSMOLOGY)], points[:, len(COSMOLOGY) :]
        inside = ~((x < LOWER).any(1) | (x > UPPER).any(1) | (y[:, POSITIVE] < 0).any(1) | (y[:, 11:] <= 0).any(1))
        values = np.full(len(points), -np.inf)
        places = np.flatnonzero(inside)
        for first in range(0, len(places), CHUNK):
            some = places[first : first + CHUNK]
            values[some] = self._inside(x[some], y[some])
        return values

    def check(self, points):
        """The largest difference to one point at a time, which must be below the tolerance."""
        one = np.array([self._one(point) for point in points])
        many = self(points)
        same = np.isfinite(one) == np.isfinite(many)
        both = np.isfinite(one) & np.isfinite(many)
        apart = np.abs(one[both] - many[both]).max(initial=0.0)
        if not same.all() or apart > TOLERANCE:
            raise SystemExit(f"many points at once are not the same as one at a time: apart by {apart}, {(~same).sum()} of them in or out of the support")
        return apart, int(np.isfinite(one).sum())

    def _one(self, point):
        cache = self.posterior.prepare(point[: len(COSMOLOGY)])
        return -np.inf if cache is None else self.posterior.log_likelihood(cache, point[len(COSMOLOGY) :])

    def _inside(self, x, y):
        theory, likelihood = self.theory, self.likelihood
        binned = (np.exp(x[:, 3])[:, None] * (theory._features(x) @ theory._spectra)).reshape(len(x), *theory._shape)
        chi2 = self._chi2((self._uncalibrated(binned, y) * self._gains(y)[:, :, None]).reshape(len(x), -1))
        shift = np.log(y[:, 11:])
        return -0.5 * (chi2 + np.einsum("ij,jk,ik->i", shift, likelihood.calibration, shift))

    def _gains(self, y):
        like = self.likelihood
        t, p = 1 / y[:, 11:14], 1 / y[:, 14:17]
        te = 0.5 * (t[:, like._a] * p[:, like._b] + t[:, like._b] * p[:, like._a])
        return np.where(like.is_ee, p[:, like._a] * p[:, like._b], te)

    def _dust(self, alpha):
        coefficients = self.likelihood._dust
        terms = chebyshev.chebvander((alpha - ALPHA_CENTRE) / ALPHA_REACH, len(coefficients) - 1)
        return np.tensordot(terms, coefficients, 1)

    def _uncalibrated(self, binned, y):
        like, kappa = self.likelihood, y[:, 0, None, None]
        plain = (1 - 2 * kappa) * binned[:, 0] + (ABERRATION - kappa) * binned[:, 1]
        plain[:, ::2] += y[:, 1:7, None] * like.poisson[::2]
        amplitudes = np.where(like.is_ee, y[:, 9, None], y[:, 7, None])
        return plain + amplitudes[:, :, None] * np.where(like.is_ee[:, None], self._dust(y[:, 10]), self._dust(y[:, 8]))

    def _chi2(self, m):
        """By Woodbury's formula as one at a time, with the columns of all points in one product with the triangle."""
        like, count = self.likelihood, len(m)
        columns = m[:, None, :] * like._modes_and_one.T
        columns[:, -1] -= like.data
        width = columns.shape[1]
        white = dtrmm(1.0, like._triangle, columns.reshape(count * width, 12 * BINS).T, lower=1, overwrite_b=1)
        white = white.T.reshape(count, width, 12 * BINS)
        gram = white @ white.transpose(0, 2, 1)
        along, inner = gram[:, :-1, -1], gram[:, :-1, :-1] + np.diag(1 / like._weights)
        solved = np.linalg.solve(inner, along[:, :, None])[:, :, 0]
        return gram[:, -1, -1] - (along * solved).sum(1) + np.linalg.slogdet(inner)[1] + like._log_det
