"""What a fast evaluation costs beyond the model's own time, for a Python function of ten parameters.

The model's own time is that of the same function called in a Python loop with an array that is there already; both are
measured in this one run, in turns, in processor time, and the least of several is taken, since other programs only ever add.

    python python/benches/overhead.py
"""

import time

import numpy as np

import towline

DIM, DRAWS, ROUNDS = 10, 500, 7


def prepare(x):
    return float(x[0])


def log_density(cache, y):
    residual = y - cache
    return -0.5 * (float(residual.dot(residual)) + cache * cache)


def in_a_loop(function) -> float:
    """Seconds of a call in a Python loop."""
    y, cache, count = np.zeros(DIM), 0.5, 100_000
    begun = time.process_time()
    for _ in range(count):
        function(cache, y)
    return (time.process_time() - begun) / count


def in_a_run(function, tuning) -> float:
    """Seconds of a run's fast evaluation: all that its draws took, divided by the evaluations they made."""
    run = towline.sample_density(
        prepare, function, [0.0], np.zeros(DIM), chains=1, draws=DRAWS, tuning=tuning, parallel="serial", progress=False
    )
    begun = time.process_time()
    before = run.statistics["fast_evals"].sum()
    again = towline.resume(run, run._model, draws=2 * DRAWS, parallel="serial", progress=False)
    seconds = time.process_time() - begun
    return seconds / (again.statistics["fast_evals"].sum() - before)


def long_drags() -> dict:
    """A tuning with drags of 200 intervals, so that almost all of the time goes to fast evaluations."""
    run = towline.sample_density(prepare, log_density, [0.0], np.zeros(DIM), chains=1, draws=100, cost_ratio=20, progress=False)
    tuning = run.tuning
    tuning["main"]["n"] = tuning["safe"]["n"] = 200
    tuning["main"]["frame"] = "Linear"
    tuning["surrogate"], tuning["shares"], tuning["extra"] = None, [0.0, 0.5, 0.5], 0
    return tuning


def main() -> None:
    tuning = long_drags()
    loop, run = float("inf"), float("inf")
    for _ in range(ROUNDS):
        loop = min(loop, in_a_loop(log_density))
        run = min(run, in_a_run(log_density, tuning))
    print(f"{1e6 * loop:.3f} µs in a Python loop, {1e6 * run:.3f} µs in a run: {1e6 * (run - loop):.3f} µs more")


if __name__ == "__main__":
    main()
