"""Makes crates/towline-models/tests/data/loo.json: matrices of log likelihoods and what ArviZ's `loo` and `waic` say of them.

    python -m venv venv && venv/bin/pip install arviz==0.23.4
    venv/bin/python scripts/loo_reference.py

The draws come from NumPy's legacy generator, whose streams are frozen.
"""

import json
import pathlib
import warnings

import arviz
import numpy as np

OUT = pathlib.Path(__file__).resolve().parents[1] / "crates/towline-models/tests/data/loo.json"
CHAINS, DRAWS = 2, 150


def matrices(rng):
    """Name and log likelihoods, shape (draws, observations): easy, with an outlier, and with heavy tails."""
    mean = rng.standard_normal(CHAINS * DRAWS)[:, None]
    y = rng.standard_normal(8)
    yield "normal", -0.5 * (y - 0.3 * mean) ** 2
    yield "outlier", -0.5 * (np.append(y, 9.0) - mean) ** 2
    rate = np.exp(0.7 * mean)
    counts = np.array([0.0, 1.0, 4.0, 30.0])
    yield "counts", counts * np.log(rate) - rate
    yield "constant", np.full((CHAINS * DRAWS, 2), -1.25)


def main():
    warnings.simplefilter("ignore")
    rng = np.random.RandomState(7)
    cases = []
    for efficiency in (1.0, 0.37):
        for name, matrix in matrices(rng):
            matrix = np.round(matrix, 4)
            shaped = matrix.reshape(CHAINS, DRAWS, -1)
            data = arviz.from_dict(posterior={"a": shaped[:, :, 0]}, log_likelihood={"y": shaped})
            loo = arviz.loo(data, pointwise=True, reff=efficiency)
            waic = arviz.waic(data, pointwise=True)
            cases.append(
                {
                    "name": f"{name}, efficiency {efficiency}",
                    "efficiency": efficiency,
                    "log_likelihood": matrix.tolist(),
                    "elpd_loo": loo.elpd_loo,
                    "se_loo": loo.se,
                    "p_loo": loo.p_loo,
                    "loo_i": loo.loo_i.values.tolist(),
                    "pareto_k": [min(k, 1e308) for k in loo.pareto_k.values.tolist()],
                    "elpd_waic": waic.elpd_waic,
                    "se_waic": waic.se,
                    "p_waic": waic.p_waic,
                }
            )
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps({"arviz": arviz.__version__, "draws": CHAINS * DRAWS, "cases": cases}))


main()
