"""What workers save where a slow evaluation sleeps: `make bench-workers`.

usage: workers.py [--seconds S] [--out FILE.csv] [WORKERS …]

Six correlated slow parameters, skewed, and three fast ones, estimated to a standard error of 0.03 from a cold start; a slow evaluation sleeps, which
needs no core. Warm-up and points are timed together; estimates must be the same to the bit.
"""

import argparse
import csv
import tempfile
import time
from pathlib import Path

import numpy as np
import towline

P = 6
ROOT = np.linalg.cholesky(0.6 ** np.abs(np.subtract.outer(np.arange(P), np.arange(P))))


class Sleeping:
    """The slow computation, which counts."""

    def __init__(self, seconds):
        self.seconds, self.count = seconds, 0

    def __call__(self, x):
        time.sleep(self.seconds)
        self.count += 1
        z = np.linalg.solve(ROOT, x)
        skewed = z[0] - np.exp(0.3 * z[0]) / 0.3 + 1 / 0.3
        return np.array([-0.5 * z[1:] @ z[1:] + skewed / 0.3, *np.sin(x[:3])])


def fast(cache, y):
    return float(cache[0] - 12.0 * np.sum((y - cache[1:]) ** 2))


def many(cache, ys):
    return cache[0] - 12.0 * np.sum((ys - cache[1:]) ** 2, axis=1)


def timed(workers, seconds, out):
    sleeping = Sleeping(seconds)
    model = towline.Density(sleeping, fast, np.full(P, 0.5), np.zeros(3), log_density_batch=many)
    begun = time.perf_counter()
    run = towline.sample(model, error=0.03, cost_ratio=1e5, workers=workers, parallel="threads", cores=1 if workers == 1 else None, progress=False, out=out)
    whole = time.perf_counter() - begun
    return whole, sleeping.count, (run.estimates(), run.evidence())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workers", nargs="*", type=int, default=[1, 2, 8, 32])
    parser.add_argument("--seconds", type=float, default=0.25)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    rows, first = [], None
    for workers in given.workers:
        with tempfile.TemporaryDirectory() as folder:
            whole, count, found = timed(workers, given.seconds, Path(folder) / "run")
        first = first or (whole, found)
        if found != first[1]:
            raise SystemExit(f"{workers} workers: other estimates")
        # One worker makes all evaluations one after another; what is not sleeping is in its time too.
        rows.append([workers, count, round(whole, 1), round(first[0] / whole, 2)])
        print(*rows[-1], flush=True)
    if given.out:
        with given.out.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerows([["workers", "slow_evaluations", "seconds", "speed_up"], *rows])


if __name__ == "__main__":
    main()
