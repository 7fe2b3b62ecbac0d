"""NUTS once more, by PyMC's models and nutpie's sampler in Rust (numba, one thread): what `nuts_ref.py` does by NumPyro.

usage: nutpie_ref.py DATA EXAMPLES MODEL [WARMUP DRAWS CHAINS]

DATA holds the data sets that may not be part of this repository, EXAMPLES is this repository's folder of that name. Models,
priors and parameterisations are those of nuts_ref.py. Prints CPU seconds of sampling and of compiling apart.
"""
import csv
import os
import sys
import time

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = "1"
import arviz
import numpy as np
import nutpie
import pymc as pm
import pytensor.tensor as pt

import fields

DATA, EXAMPLES, NAME = sys.argv[1:4]
WARMUP, DRAWS, CHAINS = [int(v) for v in (sys.argv[4:7] or ["800", "1500", "2"])]


def table(folder, file):
    """The columns of a data set, from whichever folder has it."""
    for place in (EXAMPLES, DATA):
        path = os.path.join(place, folder, file)
        if os.path.exists(path):
            with open(path, newline="") as lines:
                rows = list(csv.DictReader(lines))
            return {key: np.array([row[key] for row in rows]) for key in rows[0]}
    raise SystemExit(f"{folder}/{file} is in neither folder")


def numbers(values):
    return np.asarray(values, dtype=float)


def levels(values):
    names, index = np.unique(values, return_inverse=True)
    return index, len(names)


def between(places):
    return np.sqrt(((places[:, None] - places[None]) ** 2).sum(-1))


def centred(mean, covariance, start):
    """A Gaussian vector itself, not a whitened one: data are informative there."""
    return pm.MvNormal("S", mean, cov=covariance, shape=len(start), initval=start)


def whitened(covariance, n):
    return pt.linalg.cholesky(covariance) @ pm.Normal("z", 0, 1, shape=n)


def pima():
    data = table("gp_pima", "pima_train.csv")
    x = np.column_stack([numbers(data[c]) for c in ("npreg", "glu", "bp", "skin", "bmi", "ped", "age")])
    x = (x - x.mean(0)) / x.std(0)
    n, d = x.shape
    squares = ((x[:, None, :] - x[None]) ** 2).reshape(n * n, d)
    log_eta = pm.Normal("log_eta", 0, 1)
    log_ell = pm.Normal("log_ell", 1, 1, shape=d)
    exponent = (squares @ pt.exp(-2 * log_ell)).reshape((n, n))
    covariance = 4.0 + pt.exp(2 * log_eta) * pt.exp(-0.5 * exponent) + 1e-6 * np.eye(n)
    pm.Bernoulli("y", logit_p=whitened(covariance, n), observed=numbers(data["type"]))


def rongelap(nugget=False):
    data = table("geo_rongelap", "rongelap.csv")
    y, t = numbers(data["counts"]), numbers(data["time"])
    distance = between(np.column_stack([numbers(data["x"]), numbers(data["y"])]))
    beta = pm.Normal("beta", 0, 5, initval=1.8)
    log_sigma = pm.Normal("log_sigma", -0.5, 1, initval=-0.6)
    log_phi = pm.Normal("log_phi", 5, 1, initval=5.0)
    covariance = pt.exp(2 * log_sigma) * pt.exp(-distance / pt.exp(log_phi)) + 1e-9 * np.eye(len(y))
    if nugget:
        covariance = covariance + pt.exp(2 * pm.Normal("log_tau", -2, 1, initval=-2.0)) * np.eye(len(y))
    f = centred(beta * np.ones(len(y)), covariance, np.log((y + 0.5) / t))
    pm.Poisson("y", t * pt.exp(f), observed=y)


def loaloa():
    data = table("geo_loaloa", "loaloa.csv")
    lon, lat = numbers(data["LONGITUDE"]), numbers(data["LATITUDE"])
    distance = between(np.column_stack([lon * np.cos(np.deg2rad(lat.mean())), lat]) * 111.195)
    y, m = numbers(data["NO_INF"]), numbers(data["NO_EXAM"])
    high = numbers(data["ELEVATION"])
    green, spread = np.minimum(numbers(data["MAX9901"]), 0.8), numbers(data["STDEV9901"])
    bends = [np.maximum(high - k, 0) / 1000 for k in (650, 1000, 1300)]
    scaled = [(v - v.mean()) / v.std() for v in (green, spread)]
    x = np.column_stack([np.ones(len(y)), high / 1000, *bends, *scaled])
    beta = pm.Normal("beta", 0, 5, shape=x.shape[1], initval=np.zeros(x.shape[1]))
    log_sigma, log_phi = pm.Normal("log_sigma", 0, 1), pm.Normal("log_phi", 4, 1)
    log_tau = pm.Normal("log_tau", -1, 1, initval=-0.7)
    covariance = pt.exp(2 * log_sigma) * pt.exp(-distance / pt.exp(log_phi)) + pt.exp(2 * log_tau) * np.eye(len(y))
    f = centred(x @ beta, covariance, np.log((y + 0.5) / (m - y + 0.5)))
    pm.Binomial("y", n=m, logit_p=f, observed=y)


def salamander():
    data = table("glmm_salamander", "salamander.csv")
    (cross, _), (female, females), (male, males) = (levels(data[c]) for c in ("Cross", "Female", "Male"))
    beta, log_sigma = pm.Normal("beta", 0, 5, shape=4), pm.Normal("log_sigma", 0, 1, shape=2)
    u, w = pm.Normal("u", 0, 1, shape=females), pm.Normal("w", 0, 1, shape=males)
    f = beta[cross] + pt.exp(log_sigma[0]) * u[female] + pt.exp(log_sigma[1]) * w[male]
    pm.Bernoulli("y", logit_p=f, observed=numbers(data["Mate"]))


def epil():
    data = table("glmm_epil", "epil.csv")
    y, base = numbers(data["y"]), np.log(numbers(data["base"]) / 4)
    treated = (data["trt"] == "progabide").astype(float)
    x = np.column_stack([base, treated, base * treated, np.log(numbers(data["age"])), numbers(data["V4"])])
    x = np.column_stack([np.ones(len(y)), x - x.mean(0)])
    subject, subjects = levels(data["subject"])
    beta, log_sigma = pm.Normal("beta", 0, 100, shape=6), pm.Normal("log_sigma", -1, 1, shape=2)
    u, w = pm.Normal("u", 0, 1, shape=subjects), pm.Normal("w", 0, 1, shape=len(y))
    pm.Poisson("y", pt.exp(x @ beta + pt.exp(log_sigma[0]) * u[subject] + pt.exp(log_sigma[1]) * w), observed=y)


def toenail():
    data = table("glmm_toenail", "toenail.csv")
    y = np.array([float("moderate" in outcome) for outcome in data["outcome"]])
    treated, month = (data["treatment"] == "terbinafine").astype(float), numbers(data["time"])
    x = np.column_stack([np.ones(len(y)), treated, month, treated * month])
    patient, patients = levels(data["patientID"])
    beta, log_sigma = pm.Normal("beta", 0, 5, shape=4), pm.Normal("log_sigma", 0, 1)
    u = pm.Normal("u", 0, 1, shape=patients)
    pm.Bernoulli("y", logit_p=x @ beta + pt.exp(log_sigma) * u[patient], observed=y)


def rwm5yr(centre=False):
    data = table("glmm_rwm5yr", "rwm5yr.csv")
    y, education = numbers(data["docvis"]), data["edlevel"]
    columns = [np.ones(len(y)), numbers(data["outwork"]), numbers(data["female"]), (numbers(data["age"]) - 44) / 10]
    x = np.column_stack(columns + [(education == level).astype(float) for level in "234"])
    person, persons = levels(data["id"])
    beta, log_sigma = pm.Normal("beta", 0, 5, shape=7), pm.Normal("log_sigma", 0, 1)
    scale = pt.exp(log_sigma)
    u = pm.Normal("u", 0, scale, shape=persons) if centre else scale * pm.Normal("u", 0, 1, shape=persons)
    pm.Poisson("y", pt.exp(x @ beta + u[person]), observed=y)


def immunised():
    y, x, groups, counts = fields.immunised()
    beta, log_sigma = pm.Normal("beta", 0, 5, shape=x.shape[1]), pm.Normal("log_sigma", 0, 1, shape=2)
    f = x @ beta
    for k, (group, count) in enumerate(zip(groups, counts)):
        f = f + pt.exp(log_sigma[k]) * pm.Normal(f"u{k}", 0, 1, shape=count)[group]
    pm.Bernoulli("y", logit_p=f, observed=y)


def months():
    y, x, when = fields.months()
    beta, log_sigma = pm.Normal("beta", 0, 5, shape=x.shape[1]), pm.Normal("log_sigma", -1, 1)
    steps = pt.concatenate([[0.0], pt.cumsum(pm.Normal("z", 0, 1, shape=len(y) - 1))])
    walk = (steps - steps.mean())[np.argsort(when)] / fields.walk_scale(len(y))
    pm.Poisson("y", pt.exp(x @ beta + pt.exp(log_sigma) * walk), observed=y)


def nyc():
    y, offset, edges, scale = fields.nyc(DATA)
    beta, sigma, rho = pm.Normal("beta", 0, 1), pm.HalfNormal("sigma", 1), pm.Beta("rho", 0.5, 0.5)
    pm.Deterministic("log_sigma", pt.log(sigma))
    theta, phi = pm.Normal("theta", 0, 1, shape=len(y)), pm.Flat("phi", shape=len(y), initval=np.zeros(len(y)))
    difference = phi[edges[:, 0]] - phi[edges[:, 1]]
    pm.Potential("neighbours", -0.5 * (difference**2).sum() - 0.5 * (phi.sum() / (0.001 * len(y))) ** 2)
    pm.Poisson("y", pt.exp(offset + beta + sigma * (pt.sqrt(1 - rho) * theta + pt.sqrt(rho) / scale * phi)), observed=y)


MODELS = {
    "immunised": immunised,
    "months": months,
    "nyc": nyc,
    "pima": pima,
    "rongelap": rongelap,
    "rongelap_nugget": lambda: rongelap(nugget=True),
    "loaloa": loaloa,
    "salamander": salamander,
    "epil": epil,
    "toenail": toenail,
    "rwm5yr": rwm5yr,
    "rwm5yr_c": lambda: rwm5yr(centre=True),
}
if NAME not in MODELS:
    raise SystemExit(f"there is no model {NAME!r}; there are {', '.join(MODELS)}")
begun = time.process_time()
with pm.Model() as model:
    MODELS[NAME]()
compiled = nutpie.compile_pymc_model(model)
compiling = time.process_time() - begun
begun = time.process_time()
trace = nutpie.sample(compiled, draws=DRAWS, tune=WARMUP, chains=CHAINS, cores=1, seed=1, progress_bar=False, save_warmup=False)
cpu = time.process_time() - begun
steps = float(trace.sample_stats["n_steps"].mean())
print(
    f"{NAME}: warmup {WARMUP} draws {DRAWS} chains {CHAINS}; cpu {cpu:.1f}s compile {compiling:.1f}s; "
    f"mean leapfrog/draw {steps:.1f}; divergences {int(trace.sample_stats['diverging'].sum())}"
)
print("param,mean,sd,q05,q50,q95,ess,rhat,ess_per_cpu_s")
for name in ("beta", "log_eta", "log_ell", "log_sigma", "log_phi", "log_tau", "rho"):
    if name not in trace.posterior:
        continue
    values = trace.posterior[name].values
    values = values[..., None] if values.ndim == 2 else values
    for j in range(values.shape[-1]):
        one = values[..., j]
        label = f"{name}[{j}]" if values.shape[-1] > 1 else name
        ess, rhat = float(arviz.ess(one)), float(arviz.rhat(one))
        row = [one.mean(), one.std(), *np.quantile(one, [0.05, 0.5, 0.95]), ess, rhat, ess / cpu]
        print(label + "," + ",".join(f"{v:.6g}" for v in row))
