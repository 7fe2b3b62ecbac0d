"""Towline on the report's two tests with the same Python functions: plainly, and as a sampler of Cobaya.

    python towline_paper.py TEST plain|cobaya DRAWS [SEED [COST_RATIO]]

One chain, so that seconds of CPU time are those of a single process; warm-up counts.
"""

import json
import sys
import time

import numpy as np
from cobaya.run import run
from effective import ess, expand
from paper_problems import COUNT, cobaya_input, energy1, energy2, sine

import towline


def prepare(x):
    return float(x[0]), sine(float(x[0]))


def fast1(cache, y):
    return -energy1(*cache, y[0])


def fast2(cache, y):
    return -energy2(*cache, y[0], y[1])


def plainly(test, draws, seed, ratio):
    fast = ["y"] if test == 1 else ["y", "z"]
    model = towline.Model(
        slow={"x": towline.Uniform(-8, 8)},
        fast={name: towline.Uniform(-12, 12) for name in fast},
        prepare=prepare,
        log_likelihood=fast1 if test == 1 else fast2,
    )
    done = towline.sample(model, chains=1, draws=draws, seed=seed, cost_ratio=ratio, parallel="serial", progress=False)
    return done["x"], done


def through_cobaya(test, draws, seed, ratio):
    options = {"chains": 1, "max_samples": draws, "Rminus1_stop": 1e-9, "seed": seed, "measure_speeds": False, "cost_ratio": ratio}
    _, sampler = run(cobaya_input(test, {"towline.cobaya.Towline": options}))
    return expand(sampler.chains_here[0].collection, ["x"])["x"], sampler.engine_run


def main():
    test, which, draws = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    ratio = float(sys.argv[5]) if len(sys.argv) > 5 else 1000.0
    begun = time.process_time()
    x, done = {"plain": plainly, "cobaya": through_cobaya}[which](test, draws, seed, ratio)
    seconds = time.process_time() - begun
    effective = ess(x)
    statistics = done.statistics
    slow, fast = (int(statistics[name].sum()) for name in ("slow_evals", "fast_evals"))
    print(
        "RESULT",
        json.dumps(
            dict(
                sampler=f"towline, {which}, cost ratio {ratio:g}",
                test=test,
                steps=int(np.size(x)),
                ess=round(effective, 1),
                cpu=round(seconds, 2),
                per_second=round(effective / seconds, 1),
                per_slow=round(effective / slow, 4),
                per_slow_with_warmup=round(effective / COUNT["slow"], 4),
                fast_per_slow=round(fast / slow, 1),
                variance=round(float(np.var(x)), 4),
            )
        ),
    )


if __name__ == "__main__":
    main()
