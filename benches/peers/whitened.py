"""NUTS whitened by the joint precision at the mode, as SparseNUTS does: nutpie on z, where (θ, latents) = mode + L⁻ᵀ z and Q = L Lᵀ, sparse.

usage: whitened.py DATA MODEL THETA.json [WARMUP DRAWS CHAINS]

THETA.json has the posterior mean and covariance of θ, which SparseNUTS has from TMB's fit; here they are those of Towline's draws, so that
neither the fit nor any compiling is part of the time. Q is the precision of everything at that θ and the mode of the rest; the rank-one part
of a soft constraint is kept apart and whitened exactly. Densities, gradients and triangular solves are compiled by numba.
"""
import json
import os
import sys
import time

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = "1"
import arviz
import numpy as np
import nutpie
import nutpie.compiled_pyfunc
import scipy.sparse as sparse
from numba import njit
from scipy.sparse.linalg import splu

import fields

DATA, NAME, THETA = sys.argv[1:4]
WARMUP, DRAWS, CHAINS = [int(v) for v in (sys.argv[4:7] or ["800", "1500", "2"])]
#: The step of differences of gradients, and what is no entry of a precision.
STEP, NOTHING = 1e-5, 1e-7


def hessian(density, at):
    """Minus the second derivatives, by differences of gradients."""
    dim = len(at)
    above, below, out = np.empty(dim), np.empty(dim), np.empty((dim, dim))
    for k in range(dim):
        moved = at.copy()
        moved[k] += STEP
        density(moved, above)
        moved[k] -= 2 * STEP
        density(moved, below)
        out[k] = (below - above) / (2 * STEP)
    out = 0.5 * (out + out.T)
    out[np.abs(out) < NOTHING] = 0.0
    return out


def factor(q):
    """L and the order of Q[order][:, order] = L Lᵀ, by columns."""
    lu = splu(sparse.csc_matrix(q), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    pivots = lu.U.diagonal()
    if not (pivots > 0).all() or not (lu.perm_r == lu.perm_c).all():
        raise SystemExit("the precision is not positive definite")
    order = np.argsort(lu.perm_c)
    root = sparse.csc_matrix(lu.L @ sparse.diags(np.sqrt(pivots)))
    root.sort_indices()
    return root, order


def mode(model, theta):
    """The mode of everything else at this θ, by Newton's method."""
    k = len(theta)
    v, gradient = np.zeros(model.dim), np.empty(model.dim)
    v[:k] = theta
    for _ in range(30):
        model.density(v, gradient)
        q = hessian(model.density, v)[k:, k:]
        g = gradient[k:].copy()
        if model.soft is not None:
            q += np.outer(model.soft[k:], model.soft[k:])
            g -= model.soft[k:] * (model.soft @ v)
        step = np.linalg.solve(q, g)
        v[k:] += step * min(1.0, 3.0 / np.abs(step).max())
        if np.abs(step).max() < 1e-6:
            return v
    raise SystemExit("no mode was found")


def whitening(model, theta):
    """The centre, L with its order, and w of I + w wᵀ, what a soft constraint adds."""
    mean, covariance = np.array(theta["mean"]), np.atleast_2d(theta["covariance"])
    k = len(mean)
    centre = mode(model, mean)
    q = hessian(model.density, centre)
    across = np.linalg.solve(q[k:, k:], q[k:, :k])
    q[:k, :k] = np.linalg.inv(covariance) + q[:k, k:] @ across
    root, order = factor(q)
    w = np.zeros(model.dim)
    if model.soft is not None:
        w = sparse.linalg.spsolve_triangular(sparse.csr_matrix(root), model.soft[order], lower=True)
    return centre, root, order, w


def target(model, centre, root, order, w):
    """The log density of z with its gradient, and what z stands for."""
    starts, rows, values = root.indptr.astype(np.int64), root.indices.astype(np.int64), root.data
    dim, length = model.dim, w @ w
    soft = model.soft if model.soft is not None else np.zeros(0)
    bend = (1.0 - 1.0 / np.sqrt(1.0 + length)) / length if length > 0 else 0.0
    density = model.density

    @njit(cache=False)
    def place(z):
        u = z - (bend * (w @ z)) * w
        for j in range(dim - 1, -1, -1):
            total = u[j]
            for s in range(starts[j] + 1, starts[j + 1]):
                total -= values[s] * u[rows[s]]
            u[j] = total / values[starts[j]]
        v = centre.copy()
        for j in range(dim):
            v[order[j]] += u[j]
        return v

    @njit(cache=False)
    def whitened(z):
        v, gradient = place(z), np.empty(dim)
        value = density(v, gradient)
        if len(soft) > 0:
            total = soft @ v
            value -= 0.5 * total * total
            gradient -= total * soft
        g = np.empty(dim)
        for j in range(dim):
            g[j] = gradient[order[j]]
        for j in range(dim):
            g[j] /= values[starts[j]]
            for s in range(starts[j] + 1, starts[j + 1]):
                g[rows[s]] -= values[s] * g[j]
        return value, g - (bend * (w @ g)) * w

    return whitened, place


def main():
    model = fields.model(NAME, DATA)
    with open(THETA) as file:
        centre, root, order, w = whitening(model, json.load(file))
    whitened, place = target(model, centre, root, order, w)
    names = model.theta + model.fixed
    # Compiled, and checked where the gradient must be small and the density about a normal's.
    rng = np.random.default_rng(1)
    z = rng.normal(size=model.dim)
    value, gradient = whitened(z)
    nudge = rng.normal(size=model.dim) * 1e-6
    slope = (whitened(z + nudge)[0] - whitened(z - nudge)[0]) / 2
    assert abs(slope - gradient @ nudge) < 1e-3 * np.linalg.norm(nudge) * np.linalg.norm(gradient), "the gradient is wrong"
    compiled = nutpie.compiled_pyfunc.from_pyfunc(
        model.dim,
        lambda: whitened,
        lambda *_: lambda z: {"shown": place(z)[: len(names)]},
        [np.dtype("float64")],
        [(len(names),)],
        ["shown"],
        make_initial_point_fn=lambda seed: np.random.default_rng(seed).normal(size=model.dim) * 0.1,
    )
    begun = time.process_time()
    trace = nutpie.sample(compiled, draws=DRAWS, tune=WARMUP, chains=CHAINS, cores=1, seed=1, progress_bar=False, save_warmup=False)
    cpu = time.process_time() - begun
    steps = float(trace.sample_stats["n_steps"].mean())
    print(
        f"{NAME}: warmup {WARMUP} draws {DRAWS} chains {CHAINS}; cpu {cpu:.1f}s; mean leapfrog/draw {steps:.1f}; "
        f"divergences {int(trace.sample_stats['diverging'].sum())}; entries of L {root.nnz}"
    )
    print("param,mean,sd,q05,q50,q95,ess,rhat,ess_per_cpu_s")
    for k, name in enumerate(names):
        one = trace.posterior["shown"].values[..., k]
        ess, rhat = float(arviz.ess(one)), float(arviz.rhat(one))
        row = [one.mean(), one.std(), *np.quantile(one, [0.05, 0.5, 0.95]), ess, rhat, ess / cpu]
        print(name + "," + ",".join(f"{v:.6g}" for v in row))


if __name__ == "__main__":
    main()
