"""Slow evaluations per effective draw on the emulated CMB posterior: Cobaya's mcmc, dragged or not, and Towline in Cobaya.

    python cobaya_cmb.py drag|plain|towline|known DATA SAMPLES [SEED [OUTPUT]]

SAMPLES are accepted steps of mcmc's chain, and draws of each of Towline's two (`known`: with the covariance matrix that mcmc is given). With
OUTPUT a run of Towline can be continued.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
from cobaya.run import run
from effective import ess, expand

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "cmb"))
from cobaya_spt3g import SPT3G, Emulated, emulated_input
from spt3g import NUISANCES
from theory import COSMOLOGY

# Towline, without and with that matrix.
OURS = ("towline", "known")
# Slow evaluations of each of Towline's two warm-ups.
WARMUP = 400


def main():
    which, data, samples = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    covmat = np.genfromtxt(data / "reference_covmat.csv", delimiter=",", skip_header=1)
    common = {"measure_speeds": False, "covmat": covmat, "covmat_params": COSMOLOGY + NUISANCES, "seed": seed}
    if which in OURS:
        own = {"chains": 2, "warmup": WARMUP, "max_samples": samples, "Rminus1_stop": 1e-6, "output_every": "20s"}
        given = common if which == "known" else {name: common[name] for name in ("measure_speeds", "seed")}
        sampler = {"towline.cobaya.Towline": {**given, **own}}
    else:
        sampler = {
            "mcmc": {
                **common,
                "drag": which == "drag",
                "oversample_power": 0.4,
                "learn_proposal": False,
                "max_samples": samples,
                "Rminus1_stop": 1e-9,
                "burn_in": 0,
            }
        }
    begun = time.process_time()
    info = emulated_input(data, sampler)
    if len(sys.argv) > 5:
        info |= {"output": sys.argv[5], "resume": True}
    _, sampler = run(info)
    seconds = time.process_time() - begun
    report(which, sampler, seconds)


def report(which, sampler, seconds):
    """Prints what was found, in one line."""
    names = [*COSMOLOGY, *NUISANCES]
    if which in OURS:
        chains = [expand(chain.collection, names) for chain in sampler.chains_here]
        length = min(len(chain["tau"]) for chain in chains)
        values = {name: np.array([chain[name][:length] for chain in chains]) for name in names}
    else:
        values = {name: v[None] for name, v in expand(sampler.products()["sample"], names).items()}
    effective = {name: round(ess(v), 1) for name, v in values.items()}
    least, of_all = min(effective[name] for name in COSMOLOGY), min(effective.values())
    slow, fast, warmup = Emulated.calls, SPT3G.calls, 0
    if which in OURS:
        statistics = sampler.engine_run.statistics
        slow, fast = (int(statistics[name].sum()) for name in ("slow_evals", "fast_evals"))
        warmup = sampler.warmup_evaluations()
    print(
        "RESULT",
        json.dumps(
            dict(
                sampler=which,
                steps=int(values["tau"].size),
                slow=slow,
                fast=fast,
                warmup=warmup,
                cpu=round(seconds, 1),
                ess=effective,
                slow_per_draw=round(slow / least, 2),
                slow_per_draw_of_all=round(slow / of_all, 2),
                with_warmup=round((slow + warmup) / least, 2),
                fast_per_slow=round(fast / slow, 1),
                drag_steps=getattr(sampler, "drag_interp_steps", None),
                mean={n: float(f"{v.mean():.6g}") for n, v in values.items()},
                sd={n: float(f"{v.std():.4g}") for n, v in values.items()},
            )
        ),
    )


if __name__ == "__main__":
    main()
