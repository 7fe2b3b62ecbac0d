"""NUTS (NumPyro, one thread, double precision) for the example data sets that come without a peer's result.

usage: nuts_more.py DATA EXAMPLES MODEL [WARMUP DRAWS CHAINS]    with MODEL one of ncsids, contraception, verbagg, crabs, nyc, and the simulated
immunised, months and districts

Prints what ../shared/peers/nuts_ref.py prints for the others: posterior mean, sd, quantiles, ESS, R-hat, CPU seconds.
The models and priors are those of examples/*/model.toml.
"""
import csv
import os
import sys
import time

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.diagnostics import effective_sample_size, split_gelman_rubin
from numpyro.infer import MCMC, NUTS

import fields

jax.config.update("jax_enable_x64", True)

DATA, EXAMPLES, NAME = sys.argv[1:4]
WARMUP, DRAWS, CHAINS = [int(v) for v in (sys.argv[4:7] or ["800", "1500", "2"])]


def table(folder, file):
    with open(os.path.join(EXAMPLES, folder, file), newline="") as lines:
        rows = list(csv.DictReader(lines))
    return {key: np.array([row[key] for row in rows]) for key in rows[0]}


def numbers(values):
    return np.asarray(values, dtype=float)


def levels(values):
    names, index = np.unique(values, return_inverse=True)
    return index, len(names), names


def ncsids():
    data = table("geo_ncsids", "ncsids.csv")
    births, deaths = numbers(data["births74"]), numbers(data["sids74"])
    share = numbers(data["nonwhite74"]) / births
    share = share - share.mean()
    lon, lat = np.deg2rad(numbers(data["lon"])), np.deg2rad(numbers(data["lat"]))
    half = np.sin((lat[:, None] - lat) / 2) ** 2 + np.cos(lat)[:, None] * np.cos(lat) * np.sin((lon[:, None] - lon) / 2) ** 2
    distance = 2 * 6371.0088 * np.arcsin(np.sqrt(half))
    n = len(deaths)

    def model():
        b = numpyro.sample("beta", dist.Normal(0.0, 5.0).expand([2]).to_event(1))
        log_sigma = numpyro.sample("log_sigma", dist.Normal(-1.0, 1.0))
        log_phi = numpyro.sample("log_phi", dist.Normal(4.0, 1.0))
        z = numpyro.sample("z", dist.Normal(0.0, 1.0).expand([n]).to_event(1))
        cov = jnp.exp(2 * log_sigma) * jnp.exp(-distance / jnp.exp(log_phi)) + 1e-8 * jnp.eye(n)
        f = jnp.linalg.cholesky(cov) @ z
        numpyro.sample("y", dist.Poisson(births * jnp.exp(b[0] + b[1] * share + f)), obs=deaths)

    return model, ["beta", "log_sigma", "log_phi"]


def contraception():
    data = table("glmm_contraception", "contraception.csv")
    y = (data["use"] == "Y").astype(float)
    age = numbers(data["age"])
    columns = [np.ones(len(y)), age, age**2, (data["urban"] == "Y").astype(float)]
    columns += [(data["livch"] == level).astype(float) for level in ("1", "2", "3+")]
    x = np.column_stack(columns)
    district, count, _ = levels(data["district"])
    # The sampler sees columns of unit scale; what is reported is on the scale of the data.
    scale = np.array([1.0, age.std(), (age**2).std(), 1.0, 1.0, 1.0, 1.0])

    def model():
        b = numpyro.sample("scaled", dist.Normal(0.0, 5.0 * scale).to_event(1))
        numpyro.deterministic("beta", b / scale)
        log_sigma = numpyro.sample("log_sigma", dist.Normal(0.0, 1.0))
        u = numpyro.sample("u", dist.Normal(0.0, 1.0).expand([count]).to_event(1))
        numpyro.sample("y", dist.Bernoulli(logits=(x / scale) @ b + jnp.exp(log_sigma) * u[district]), obs=y)

    return model, ["beta", "log_sigma"]


def verbagg():
    data = table("glmm_verbagg", "verbagg.csv")
    y = (data["r2"] == "Y").astype(float)
    columns = [np.ones(len(y)), numbers(data["Anger"]), (data["Gender"] == "M").astype(float)]
    columns += [(data["btype"] == level).astype(float) for level in ("scold", "shout")]
    columns += [(data["situ"] == "self").astype(float), (data["mode"] == "do").astype(float)]
    x = np.column_stack(columns)
    person, persons, _ = levels(data["id"])
    item, items, _ = levels(data["item"])
    centre = x.mean(0)
    centre[0] = 0.0

    def model():
        b = numpyro.sample("beta", dist.Normal(0.0, 5.0).expand([x.shape[1]]).to_event(1))
        log_sigma = numpyro.sample("log_sigma", dist.Normal(0.0, 1.0).expand([2]).to_event(1))
        u = numpyro.sample("u", dist.Normal(0.0, 1.0).expand([persons]).to_event(1))
        w = numpyro.sample("w", dist.Normal(0.0, 1.0).expand([items]).to_event(1))
        f = x @ b + jnp.exp(log_sigma[0]) * u[person] + jnp.exp(log_sigma[1]) * w[item]
        numpyro.sample("y", dist.Bernoulli(logits=f), obs=y)

    return model, ["beta", "log_sigma"]


def crabs():
    data = table("gp_crabs", "crabs.csv")
    y = numbers(data["sex"])
    x = np.column_stack([numbers(data[c]) for c in ("FL", "RW", "CL", "CW", "BD")])
    x = (x - x.mean(0)) / x.std(0)
    n, d = x.shape
    squares = (x[:, None, :] - x[None]) ** 2

    def model():
        log_eta = numpyro.sample("log_eta", dist.Normal(0.0, 1.0))
        log_ell = numpyro.sample("log_ell", dist.Normal(1.0, 1.0).expand([d]).to_event(1))
        z = numpyro.sample("z", dist.Normal(0.0, 1.0).expand([n]).to_event(1))
        cov = 4.0 + jnp.exp(2 * log_eta) * jnp.exp(-0.5 * (squares / jnp.exp(log_ell) ** 2).sum(-1))
        f = jnp.linalg.cholesky(cov + 1e-6 * jnp.eye(n)) @ z
        numpyro.sample("y", dist.Bernoulli(logits=f), obs=y)

    return model, ["log_eta", "log_ell"]


def immunised():
    y, x, groups, counts = fields.immunised()

    def model():
        b = numpyro.sample("beta", dist.Normal(0.0, 5.0).expand([x.shape[1]]).to_event(1))
        log_sigma = numpyro.sample("log_sigma", dist.Normal(0.0, 1.0).expand([2]).to_event(1))
        f = x @ b
        for k, (group, count) in enumerate(zip(groups, counts)):
            f = f + jnp.exp(log_sigma[k]) * numpyro.sample(f"u{k}", dist.Normal(0.0, 1.0).expand([count]).to_event(1))[group]
        numpyro.sample("y", dist.Bernoulli(logits=f), obs=y)

    return model, ["beta", "log_sigma"]


def months():
    y, x, when = fields.months()
    place, scale = np.argsort(when), fields.walk_scale(len(y))

    def model():
        b = numpyro.sample("beta", dist.Normal(0.0, 5.0).expand([x.shape[1]]).to_event(1))
        log_sigma = numpyro.sample("log_sigma", dist.Normal(-1.0, 1.0))
        z = numpyro.sample("z", dist.Normal(0.0, 1.0).expand([len(y) - 1]).to_event(1))
        steps = jnp.concatenate([jnp.zeros(1), jnp.cumsum(z)])
        walk = (steps - steps.mean())[place] / scale
        numpyro.sample("y", dist.Poisson(jnp.exp(x @ b + jnp.exp(log_sigma) * walk)), obs=y)

    return model, ["beta", "log_sigma"]


def districts():
    y, expected, areas, years = fields.districts()

    def model():
        def standard(name, *shape):
            return numpyro.sample(name, dist.Normal(0.0, 1.0).expand(list(shape)).to_event(len(shape)))

        b = numpyro.sample("beta", dist.Normal(0.0, 5.0))
        area, course, both = [jnp.exp(numpyro.sample(f"log_sigma_{name}", dist.Normal(-1.0, 1.0))) for name in ("area", "year", "both")]
        mix = numpyro.sample("rho", dist.Uniform(0.0, 1.0))
        spatial = areas @ standard("phi", areas.shape[1])
        own = area * (jnp.sqrt(1 - mix) * standard("theta", len(areas)) + jnp.sqrt(mix) * spatial)
        year = course * (years @ standard("steps", years.shape[1]))
        # The product of both: what sums to zero over areas and over years, exactly, by the roots of the two covariances.
        product = both * areas @ standard("z", areas.shape[1], years.shape[1]) @ years.T
        numpyro.deterministic("effects", jnp.concatenate([own[:3], year[:3], product[0, :3], product[24, 5:8], product[48, 9:]]))
        numpyro.sample("y", dist.Poisson(expected * jnp.exp(b + own[:, None] + year + product)), obs=y)

    return model, ["beta", "log_sigma_area", "log_sigma_year", "log_sigma_both", "rho", "effects"]


def nyc():
    y, offset, edges, scale = fields.nyc(DATA)
    n = len(y)

    def model():
        b = numpyro.sample("beta", dist.Normal(0.0, 1.0))
        sigma = numpyro.sample("sigma", dist.HalfNormal(1.0))
        numpyro.deterministic("log_sigma", jnp.log(sigma))
        rho = numpyro.sample("rho", dist.Beta(0.5, 0.5))
        theta = numpyro.sample("theta", dist.Normal(0.0, 1.0).expand([n]).to_event(1))
        phi = numpyro.sample("phi", dist.ImproperUniform(dist.constraints.real, (), (n,)))
        difference = phi[edges[:, 0]] - phi[edges[:, 1]]
        numpyro.factor("neighbours", -0.5 * (difference**2).sum() - 0.5 * (phi.sum() / (0.001 * n)) ** 2)
        both = sigma * (jnp.sqrt(1 - rho) * theta + jnp.sqrt(rho) / scale * phi)
        numpyro.sample("y", dist.Poisson(jnp.exp(offset + b + both)), obs=y)

    return model, ["beta", "log_sigma", "rho"]


MODELS = {"immunised": immunised, "months": months, "districts": districts, "nyc": nyc, "ncsids": ncsids, "contraception": contraception, "verbagg": verbagg, "crabs": crabs}
if NAME not in MODELS:
    raise SystemExit(f"there is no model {NAME!r}; there are {', '.join(MODELS)}")
model, watched = MODELS[NAME]()
begun, clock = time.process_time(), time.time()
mcmc = MCMC(NUTS(model), num_warmup=WARMUP, num_samples=DRAWS, num_chains=CHAINS, chain_method="sequential", progress_bar=False)
mcmc.run(jax.random.PRNGKey(1), extra_fields=("num_steps", "diverging"))
draws = jax.block_until_ready(mcmc.get_samples(group_by_chain=True))
cpu = time.process_time() - begun
fields = mcmc.get_extra_fields()
print(
    f"{NAME}: warmup {WARMUP} draws {DRAWS} chains {CHAINS}; cpu {cpu:.1f}s wall {time.time() - clock:.1f}s; "
    f"mean leapfrog/draw {np.mean(fields['num_steps']):.1f}; divergences {int(np.sum(fields['diverging']))}"
)
print("param,mean,sd,q05,q50,q95,ess,rhat,ess_per_cpu_s")
for key in watched:
    values = np.asarray(draws[key])
    values = values[..., None] if values.ndim == 2 else values
    for j in range(values.shape[-1]):
        one = values[..., j]
        label = f"{key}[{j}]" if values.shape[-1] > 1 else key
        ess = float(effective_sample_size(one))
        row = [one.mean(), one.std(), *np.quantile(one, [0.05, 0.5, 0.95]), ess, float(split_gelman_rubin(one)), ess / cpu]
        print(label + "," + ",".join(f"{v:.6g}" for v in row))
