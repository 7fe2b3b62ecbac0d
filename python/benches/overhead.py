"""What a fast evaluation costs beyond the model's own time, for a Python function of ten parameters.

The model's own time is that of the same function called in a Python loop, each call with another of some arrays that are there
already. Both are measured in this one run, in turns, in windows of about a thousand evaluations: in a run, from one slow evaluation
to the next. Other programs only ever add, so that a low quantile of the windows is what counts.

    python python/benches/overhead.py
"""

import time

import numpy as np

import towline

DIM, DRAWS, ROUNDS = 10, 400, 5
QUANTILE = 0.05
STAMPS: list[float] = []


def prepare(x):
    STAMPS.append(time.perf_counter())
    return float(x[0])


def log_density(cache, y):
    residual = y - cache
    return -0.5 * (float(residual.dot(residual)) + cache * cache)


def in_a_loop(window: int) -> np.ndarray:
    """Seconds of a call in a Python loop, window by window."""
    ys = [np.random.default_rng(k).normal(size=DIM) for k in range(window)]
    seconds = []
    for _ in range(DRAWS):
        begun = time.perf_counter()
        for y in ys:
            log_density(0.5, y)
        seconds.append((time.perf_counter() - begun) / window)
    return np.array(seconds)


def in_a_run(tuning: dict) -> tuple[np.ndarray, int]:
    """Seconds of a run's fast evaluation, everything included, drag by drag; and how many a drag has."""
    STAMPS.clear()
    run = towline.sample_density(
        prepare, log_density, [0.0], np.zeros(DIM), chains=1, draws=DRAWS, tuning=tuning, parallel="serial", progress=False
    )
    evaluations = run.statistics["fast_evals"][0]
    # The first slow evaluations are those of the start; then each draw has one.
    seconds = np.diff(STAMPS[-DRAWS:])
    return seconds / evaluations[:-1], int(evaluations.mean())


def long_drags() -> dict:
    """A tuning with drags of 200 intervals, so that almost all of the time goes to fast evaluations."""
    run = towline.sample_density(
        prepare, log_density, [0.0], np.zeros(DIM), chains=1, draws=100, cost_ratio=20, parallel="serial", progress=False
    )
    tuning = run.tuning
    tuning["main"]["n"] = tuning["safe"]["n"] = 200
    tuning["main"]["frame"] = "Linear"
    tuning["surrogate"], tuning["shares"], tuning["extra"] = None, [0.0, 0.5, 0.5], 0
    return tuning


def main() -> None:
    tuning = long_drags()
    loop, run = [], []
    for _ in range(ROUNDS):
        seconds, window = in_a_run(tuning)
        run.append(seconds)
        loop.append(in_a_loop(window))
    own, whole = (1e6 * float(np.quantile(np.concatenate(all_of_them), QUANTILE)) for all_of_them in (loop, run))
    print(f"{own:.3f} µs in a Python loop, {whole:.3f} µs in a run: {whole - own:.3f} µs more")


if __name__ == "__main__":
    main()
