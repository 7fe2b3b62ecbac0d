"""What workers save where a slow evaluation sleeps: `make bench-workers`.

usage: workers.py [--out FILE.csv] [WORKERS …]

Six correlated slow parameters, one of them skewed, and three fast ones, estimated to a standard error of 0.03 from a cold start; a slow evaluation
sleeps, which needs no core. What is compared is the time of all slow evaluations that the run needed one after another, as its own summary counts them, which
is the same with any number of workers (they sleep so long, and what else warm-up computes is not added), with the time by the clock of the whole run, warm-up,
its own fits and points; estimates must be the same to the bit. What idle workers guessed and nobody asked for is no gain: it is shown beside.
"""

import argparse
import csv
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import towline

P = 6
ROOT = np.linalg.cholesky(0.6 ** np.abs(np.subtract.outer(np.arange(P), np.arange(P))))
# Seconds of a slow evaluation: longer where many are made at a time, so that each run takes a minute or so.
SECONDS = {2: 0.2, 8: 1.0, 32: 2.0}


class Sleeping:
    """The slow computation, which counts."""

    def __init__(self, seconds):
        self.seconds, self.count, self.lock = seconds, 0, threading.Lock()

    def __call__(self, x):
        time.sleep(self.seconds)
        with self.lock:
            self.count += 1
        z = np.linalg.solve(ROOT, x)
        skewed = (z[0] - np.expm1(0.3 * z[0]) / 0.3) / 0.3
        return np.array([-0.5 * z[1:] @ z[1:] + skewed, *np.sin(x[:3])])


def fast(cache, y):
    return float(cache[0] - 12.0 * np.sum((y - cache[1:]) ** 2))


def many(cache, ys):
    return cache[0] - 12.0 * np.sum((ys - cache[1:]) ** 2, axis=1)


def timed(workers, seconds, out):
    """Seconds by the clock, slow evaluations that were needed and that were made, and what was found."""
    sleeping = Sleeping(seconds)
    model = towline.Density(sleeping, fast, np.full(P, 0.5), np.zeros(3), log_density_batch=many)
    begun = time.perf_counter()
    run = towline.sample(model, error=0.03, cost_ratio=1e5, workers=workers, parallel="threads", progress=False, out=out)
    whole = time.perf_counter() - begun
    needed = int(run.summary().cost["slow_evals"])
    return whole, needed, sleeping.count, (run.estimates(), run.evidence(), needed)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workers", nargs="*", type=int, default=list(SECONDS))
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    rows, first = [], None
    for workers in given.workers:
        seconds = SECONDS.get(workers, 0.2)
        with tempfile.TemporaryDirectory() as folder:
            whole, needed, made, found = timed(workers, seconds, Path(folder) / "run")
        first = first or found
        if found != first:
            raise SystemExit(f"{workers} workers: other estimates")
        rows.append([workers, seconds, needed, made, round(whole, 1), round(needed * seconds / whole, 2)])
        print(*rows[-1], flush=True)
    if given.out:
        with given.out.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerows([["workers", "seconds_each", "needed", "made", "seconds", "speed_up"], *rows])


if __name__ == "__main__":
    main()
