"""Slow evaluations per effective draw on the simulated three-frequency likelihood with twenty coupled nuisances, over the slow parameters and over all.

    python cobaya_frequencies.py DRAWS [SEED [WARMUP]]

Two chains of Towline in Cobaya, fast evaluations said to be five thousand times cheaper.
"""

import json
import sys
import time

import numpy as np
from cobaya.run import run
from effective import ess, expand
from frequencies import COSMOLOGY, NUISANCES, frequencies


def main():
    draws, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    more = {"warmup": int(sys.argv[3])} if len(sys.argv) > 3 else {}
    begun = time.process_time()
    _, sampler = run(frequencies(chains=2, max_samples=draws, Rminus1_stop=1e-6, seed=seed, output_every="20s", **more))
    names = [*COSMOLOGY, *NUISANCES]
    chains = [expand(chain.collection, names) for chain in sampler.chains_here]
    effective = {name: ess(np.array([chain[name][:draws] for chain in chains])) for name in names}
    statistics = sampler.engine_run.statistics
    slow, fast = (int(statistics[name].sum()) for name in ("slow_evals", "fast_evals"))
    tuning = sampler.engine_run.manifest["tuning"]
    found = dict(
        sampler="frequencies",
        seed=seed,
        slow=slow,
        fast_per_slow=round(fast / slow, 1),
        warmup=sampler.warmup_evaluations(),
        slow_per_draw=round(slow / min(effective[name] for name in COSMOLOGY), 2),
        slow_per_draw_of_all=round(slow / min(effective.values()), 2),
        worst=min(effective, key=effective.get),
        acceptance=round(sampler.acceptance_rate, 3),
        extra=tuning["extra"],
        n=tuning["main"]["n"],
        frame=tuning["main"]["frame"],
        cpu=round(time.process_time() - begun, 1),
    )
    print("RESULT", json.dumps(found))


if __name__ == "__main__":
    main()
