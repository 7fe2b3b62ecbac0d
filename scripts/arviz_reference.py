"""Makes the fixed draws of crates/towline/tests/data/arviz and what ArviZ says of them.

    python -m venv venv && venv/bin/pip install arviz==0.23.4 arviz-stats==0.8.0
    venv/bin/python scripts/arviz_reference.py

Writes one NAME.f64 per case (little-endian doubles, chain after chain) and expected.json with the
shapes, the figures and the versions that gave them. The draws come from NumPy's legacy generator,
whose streams are frozen, so running this again changes nothing but figures that ArviZ itself changed.

`tests/arviz_agreement.rs` compares with ArviZ 0.23. Where arviz-stats (ArviZ 1.x) says otherwise
by more than 1e-8, its figure is recorded under "arviz_stats_differs".
"""

import json
import math
import pathlib
import warnings

import arviz
import numpy as np
import scipy

OUT = pathlib.Path(__file__).resolve().parents[1] / "crates/towline/tests/data/arviz"


def ar1(rng, phi, shape):
    noise = rng.standard_normal(shape)
    draws = np.empty(shape)
    draws[:, 0] = noise[:, 0]
    for t in range(1, shape[1]):
        draws[:, t] = phi * draws[:, t - 1] + math.sqrt(1 - phi * phi) * noise[:, t]
    return draws


def cases():
    """Name and draws, shape (chains, draws); the seed of each is its place in the list."""
    makers = {
        "iid_normal": lambda r: 3 + 2 * r.standard_normal((4, 250)),
        "ar1_slow": lambda r: ar1(r, 0.9, (4, 500)),
        "ar1_very_slow": lambda r: ar1(r, 0.99, (4, 300)),
        "ar1_antithetic": lambda r: ar1(r, -0.5, (4, 250)),
        "cauchy": lambda r: r.standard_cauchy((4, 250)),
        "different_means": lambda r: r.standard_normal((4, 250)) + np.array([[0.0], [0], [0.5], [2]]),
        "different_spreads": lambda r: r.standard_normal((4, 250)) * np.array([[1.0], [1], [1], [4]]),
        "discrete": lambda r: r.poisson(3.0, (4, 250)).astype(float),
        "two_values": lambda r: (ar1(r, 0.8, (4, 250)) > 0.7).astype(float),
        "repeated_rows": lambda r: np.repeat(ar1(r, 0.5, (4, 84)), 3, axis=1),
        "odd_length": lambda r: ar1(r, 0.5, (4, 251)),
        "one_chain": lambda r: ar1(r, 0.7, (1, 500)),
        "one_chain_odd": lambda r: ar1(r, 0.3, (1, 499)),
        "two_chains": lambda r: ar1(r, 0.6, (2, 333)),
        "large_offset": lambda r: 1e6 + ar1(r, 0.5, (4, 100)),
        "infinite_draw": lambda r: np.where(np.arange(400).reshape(4, 100) == 137, np.inf, ar1(r, 0.5, (4, 100))),
        "nan_draw": lambda r: np.where(np.arange(80).reshape(4, 20) == 37, np.nan, r.standard_normal((4, 20))),
        "one_constant_chain": lambda r: np.vstack([np.full((1, 200), 0.25), ar1(r, 0.5, (3, 200))]),
        "constant": lambda r: np.full((4, 50), 2.5),
        "constant_one_chain": lambda r: np.full((1, 50), 2.5),
    }
    for length in range(3, 13):
        makers[f"short_{length}"] = lambda r, n=length: r.standard_normal((4, n))
    for seed, (name, make) in enumerate(makers.items()):
        yield name, make(np.random.RandomState(seed))


PROBABILITIES = [0.05, 0.25, 0.5, 0.9, 0.95]


def figures(rhat, ess, mcse, draws):
    """ArviZ's figures, by name, through whichever version's functions are handed in."""
    answers = {
        "rhat": rhat(draws),
        "ess_bulk": ess(draws, "bulk", None),
        "ess_tail": ess(draws, "tail", (0.05, 0.95)),
        "ess_mean": ess(draws, "mean", None),
        "mcse_mean": mcse(draws, "mean", None),
        "mcse_sd": mcse(draws, "sd", None),
    }
    for p in PROBABILITIES:
        answers[f"ess_quantile_{p}"] = ess(draws, "quantile", p)
        answers[f"mcse_quantile_{p}"] = mcse(draws, "quantile", p)
    return {name: float(value) for name, value in answers.items()}


def by_arviz(draws):
    return figures(
        lambda d: arviz.rhat(d, method="rank"),
        lambda d, method, prob: arviz.ess(d, method=method, prob=prob),
        lambda d, method, prob: arviz.mcse(d, method=method, prob=prob),
        draws,
    )


def by_arviz_stats(draws):
    from arviz_stats.base import array_stats

    axes = {"chain_axis": 0, "draw_axis": 1}
    return figures(
        lambda d: array_stats.rhat(d, **axes),
        lambda d, method, prob: array_stats.ess(d, method=method, prob=prob, **axes),
        lambda d, method, prob: array_stats.mcse(d, method=method, prob=prob, **axes),
        draws,
    )


def moments(draws):
    answers = {"mean": float(np.mean(draws)), "sd": float(np.std(draws, ddof=1))}
    for p in PROBABILITIES:
        answers[f"quantile_{p}"] = float(np.quantile(draws, p))
    return answers


def plain(value):
    """JSON has no NaN and no infinity."""
    return value if math.isfinite(value) else str(value)


def same(a, b):
    return a == b or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= 1e-8 * abs(a)


def main():
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    OUT.mkdir(parents=True, exist_ok=True)
    versions = {"arviz": arviz.__version__, "numpy": np.__version__, "scipy": scipy.__version__}
    try:
        import arviz_stats

        versions["arviz_stats"] = arviz_stats.__version__
    except ImportError:
        arviz_stats = None
    expected = {"versions": versions, "cases": {}}
    for name, draws in cases():
        draws.astype("<f8").tofile(OUT / f"{name}.f64")
        answers = by_arviz(draws)
        case = {"chains": draws.shape[0], "draws": draws.shape[1]}
        case["expected"] = {k: plain(v) for k, v in (answers | moments(draws)).items()}
        if arviz_stats:
            newer = by_arviz_stats(draws)
            case["arviz_stats_differs"] = {
                k: plain(newer[k]) for k in answers if not same(answers[k], newer[k])
            }
        expected["cases"][name] = case
    (OUT / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main()
