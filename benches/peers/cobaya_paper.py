"""Cobaya's dragging mcmc on the report's two tests: effective draws of x per second of CPU time and per slow evaluation.

    python cobaya_paper.py TEST exact|learned SAMPLES [SEED]
"""

import json
import sys
import time

from cobaya.run import run
from effective import ess, expand
from paper_problems import COUNT, cobaya_input, exact_covariance

# Interpolating steps of a drag, as in the comparison's best setting.
STEPS = 20


def main():
    test, which, samples = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    fast = ["y"] if test == 1 else ["y", "z"]
    covmat = exact_covariance(test)
    options = {
        "drag": True,
        "blocking": [[1, ["x"]], [STEPS // len(fast), fast]],
        "measure_speeds": False,
        "covmat": covmat,
        "covmat_params": ["x", *fast],
        "learn_proposal": which == "learned",
        "max_tries": float("inf"),
        "max_samples": samples,
        "Rminus1_stop": 1e-9,
        "seed": seed,
    }
    before = dict(COUNT)
    begun = time.process_time()
    _, sampler = run(cobaya_input(test, {"mcmc": options}))
    seconds = time.process_time() - begun
    chain = expand(sampler.products()["sample"], ["x"])["x"]
    slow, fast_count = COUNT["slow"] - before["slow"], COUNT["fast"] - before["fast"]
    effective = ess(chain)
    print(
        "RESULT",
        json.dumps(
            dict(
                sampler=f"cobaya mcmc, drag, {sampler.drag_interp_steps} steps, {which} covariance",
                test=test,
                steps=len(chain),
                ess=round(effective, 1),
                cpu=round(seconds, 1),
                per_second=round(effective / seconds, 1),
                per_slow=round(effective / slow, 4),
                fast_per_slow=round(fast_count / slow, 1),
                variance=round(float(chain.var()), 4),
            )
        ),
    )


if __name__ == "__main__":
    main()
