"""Latent fields and nested groups as the peers see them: data, and log densities with their gradients compiled by numba.

`immunised` (nested groups, zeros and ones), `months` (a random walk) and `districts` (space × time) are simulated by simulate.py; `nyc` is New York's BYM2, whose data
may not be part of this repository. Each model's vector is θ (log standard deviations and the like), fixed effects, and latent values that
are standard a priori; a soft constraint on the sum of an intrinsic field is apart (`soft`), so that what is left is sparse.
"""
import csv
import math
import pathlib
import random

import numpy as np
from numba import njit

import simulate

BERNOULLI, POISSON = 0, 1


def numbers(rows, name):
    return np.array([float(row[name]) for row in rows])


def levels(rows, name):
    names, index = np.unique([row[name] for row in rows], return_inverse=True)
    return index.astype(np.int64), len(names)


def table(path):
    with open(path, newline="") as lines:
        return list(csv.DictReader(lines))


def immunised():
    rows = simulate.immunised(random.Random(1))
    x = np.column_stack([np.ones(len(rows))] + [numbers(rows, c) for c in ("old", "schooled", "share")])
    community, communities = levels(rows, "community")
    mother, mothers = levels(rows, "mother")
    return numbers(rows, "y"), x, (community, mother), (communities, mothers)


def months():
    rows = simulate.months(random.Random(1))
    x = np.column_stack([np.ones(len(rows))] + [numbers(rows, c) for c in ("law", "c", "s")])
    return numbers(rows, "y"), x, np.argsort(numbers(rows, "t"))


def walk_scale(n):
    """The typical (geometric mean) standard deviation of a random walk of n times that sums to zero."""
    q = 2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    q[0, 0] = q[-1, -1] = 1.0
    return math.exp(0.5 * np.log(np.diag(np.linalg.pinv(q))).mean())


def root(precision):
    """V with V Vᵀ the pseudo-inverse of an intrinsic precision, scaled to a typical variance of one."""
    values, vectors = np.linalg.eigh(precision)
    kept = values > 1e-9 * values[-1]
    v = vectors[:, kept] / np.sqrt(values[kept])
    return v / math.exp(0.5 * np.log((v**2).sum(axis=1)).mean())


def districts():
    """Counts (districts by years), expected ones, and the roots of both factors' covariances."""
    rows = simulate.districts(random.Random(1))
    shape = (simulate.YEARS, simulate.SIDE**2)
    areas, years = np.zeros((shape[1], shape[1])), np.zeros((shape[0], shape[0]))
    for q, pairs in ((areas, simulate.neighbours()), (years, [(k, k + 1) for k in range(shape[0] - 1)])):
        for a, b in pairs:
            q[a, a] += 1
            q[b, b] += 1
            q[a, b] -= 1
            q[b, a] -= 1
    return numbers(rows, "y").reshape(shape).T, numbers(rows, "expected").reshape(shape).T, root(areas), root(years)


def nyc(data):
    folder = pathlib.Path(data) / "areal_nyc"
    rows = table(folder / "nyc.csv")
    place = {row["area"]: k for k, row in enumerate(rows)}
    pairs = table(folder / "edges.csv")
    one, other = list(pairs[0])
    edges = np.array([[place[row[one]], place[row[other]]] for row in pairs], dtype=np.int64)
    q = np.zeros((len(rows), len(rows)))
    for a, b in edges:
        q[a, a] += 1
        q[b, b] += 1
        q[a, b] -= 1
        q[b, a] -= 1
    scale = math.exp(0.5 * np.log(np.diag(np.linalg.pinv(q, hermitian=True))).mean())
    return numbers(rows, "y"), np.log(numbers(rows, "E")), edges, scale


@njit(cache=False)
def observed(family, y, eta):
    """The log density of one observation and its slope."""
    if family == POISSON:
        mean = math.exp(eta)
        return y * eta - mean, y - mean
    if eta > 0:
        small = math.exp(-eta)
        return y * eta - eta - math.log1p(small), y - 1.0 / (1.0 + small)
    small = math.exp(eta)
    return y * eta - math.log1p(small), y - small / (1.0 + small)


class Groups:
    """η = Xβ + Σ σ u; β normal(0, 5), log σ normal(0, 1)."""

    def __init__(self, family, y, x, groups, counts):
        terms, p = len(groups), x.shape[1]
        group = np.column_stack(groups)
        starts = terms + p + np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)
        self.theta = [f"log_sigma[{k}]" for k in range(terms)]
        self.fixed = [f"beta[{k}]" for k in range(p)]
        self.dim = terms + p + sum(counts)
        self.soft = None

        @njit(cache=False)
        def density(v, gradient):
            gradient[:] = -v
            value = 0.0
            for k in range(len(v)):
                if terms <= k < terms + p:
                    gradient[k] = -v[k] / 25.0
                    value -= 0.5 * v[k] * v[k] / 25.0
                else:
                    value -= 0.5 * v[k] * v[k]
            sd = np.exp(v[:terms])
            for i in range(len(y)):
                eta = 0.0
                for k in range(p):
                    eta += x[i, k] * v[terms + k]
                for k in range(terms):
                    eta += sd[k] * v[starts[k] + group[i, k]]
                height, slope = observed(family, y[i], eta)
                value += height
                for k in range(p):
                    gradient[terms + k] += slope * x[i, k]
                for k in range(terms):
                    place = starts[k] + group[i, k]
                    gradient[place] += slope * sd[k]
                    gradient[k] += slope * sd[k] * v[place]
            return value

        self.density = density


class Walk:
    """η = Xβ + σ φ / s over times, φ a random walk that sums to zero (softly); β normal(0, 5), log σ normal(-1, 1)."""

    def __init__(self, y, x, when, scale):
        p, n = x.shape[1], len(y)
        first = 1 + p
        self.theta = ["log_sigma"]
        self.fixed = [f"beta[{k}]" for k in range(p)]
        self.dim = first + n
        self.soft = np.zeros(self.dim)
        self.soft[first:] = 1.0 / (0.001 * n)

        @njit(cache=False)
        def density(v, gradient):
            gradient[:] = 0.0
            gradient[0] = -(v[0] + 1.0)
            value = -0.5 * (v[0] + 1.0) ** 2
            for k in range(1, first):
                gradient[k] = -v[k] / 25.0
                value -= 0.5 * v[k] * v[k] / 25.0
            for k in range(n - 1):
                d = v[first + k + 1] - v[first + k]
                value -= 0.5 * d * d
                gradient[first + k + 1] -= d
                gradient[first + k] += d
            sd = math.exp(v[0]) / scale
            for k in range(n):
                i = when[k]
                eta = sd * v[first + k]
                for j in range(p):
                    eta += x[i, j] * v[1 + j]
                height, slope = observed(POISSON, y[i], eta)
                value += height
                for j in range(p):
                    gradient[1 + j] += slope * x[i, j]
                gradient[first + k] += slope * sd
                gradient[0] += slope * sd * v[first + k]
            return value

        self.density = density


class Bym2:
    """As posteriordb's bym2_offset_only; θ is log σ and logit ρ."""

    def __init__(self, y, offset, edges, scale):
        n = len(y)
        self.theta = ["log_sigma", "logit_rho"]
        self.fixed = ["beta"]
        self.dim = 3 + 2 * n
        self.soft = np.zeros(self.dim)
        self.soft[3 : 3 + n] = 1.0 / (0.001 * n)

        @njit(cache=False)
        def density(v, gradient):
            gradient[:] = 0.0
            sd, rho = math.exp(v[0]), 1.0 / (1.0 + math.exp(-v[1]))
            value = -0.5 * sd * sd + v[0] + 0.5 * math.log(rho) + 0.5 * math.log1p(-rho) - 0.5 * v[2] * v[2]
            gradient[0] = 1.0 - sd * sd
            gradient[1] = 0.5 - rho
            gradient[2] = -v[2]
            for e in range(len(edges)):
                a, b = 3 + edges[e, 0], 3 + edges[e, 1]
                d = v[a] - v[b]
                value -= 0.5 * d * d
                gradient[a] -= d
                gradient[b] += d
            shared, own = sd * math.sqrt(rho) / scale, sd * math.sqrt(1.0 - rho)
            for i in range(n):
                phi, theta = v[3 + i], v[3 + n + i]
                value -= 0.5 * theta * theta
                height, slope = observed(POISSON, y[i], offset[i] + v[2] + shared * phi + own * theta)
                value += height
                gradient[2] += slope
                gradient[3 + i] += slope * shared
                gradient[3 + n + i] += slope * own - theta
                gradient[0] += slope * (shared * phi + own * theta)
                gradient[1] += slope * (0.5 * shared * phi * (1.0 - rho) - 0.5 * own * theta * rho)
            return value

        self.density = density


def model(name, data):
    """The log density of a model."""
    if name == "immunised":
        return Groups(BERNOULLI, *immunised())
    if name == "months":
        y, x, when = months()
        return Walk(y, x, when, walk_scale(len(y)))
    if name == "nyc":
        return Bym2(*nyc(data))
    raise SystemExit(f"there is no model {name!r}")
