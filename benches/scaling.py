"""How the cost of a fit grows with its size: `make bench-scaling`.

usage: scaling.py TOWLINE [--out FILE.csv] [--dense N …] [--sparse N …] [--spde N …] [--nngp N …] [--draws N] [--warmup N]

With --out the rows of the sizes that were measured are replaced in that file; --spde without numbers measures none. Few draws tell the
time of one, but no autocorrelation time: with fewer than 100 of each chain that is left empty.

Data are simulated here (and are called so). Dense: Poisson counts at N places with an exponential covariance, in a square that
grows with N, so that places are as near each other. Sparse: N groups of four Poisson counts each. Nngp: the same places as dense, given ten
neighbours. Spde: 2,000 such places, and a mesh of about N nodes. A fit of two chains is made
with a warm-up of fixed length, then continued; time per draw is the CPU time of continuing, less that of a resume that makes hardly any draws.
"""
import argparse
import csv
import json
import math
import pathlib
import random
import resource
import subprocess
import sys
import tempfile
import time

CHAINS, WARMUP = 2, 400
#: Draws of each chain that an autocorrelation time wants at least.
ENOUGH = 100
FIRST, MORE = 20, 800
KINDS = ("dense", "sparse", "nngp", "spde")


def poisson(rng, mean):
    """By inversion: means here are small."""
    u, k, p = rng.random(), 0, math.exp(-mean)
    total = p
    while u > total and k < 10_000:
        k += 1
        p *= mean / k
        total += p
    return k


def dense(n, path, rng):
    """Places in a square of side √(n/100), and a surface drawn by a smooth sum of random waves."""
    side = math.sqrt(n / 100)
    places = [(rng.random() * side, rng.random() * side) for _ in range(n)]
    # Random waves whose covariance is near the exponential one: frequencies have a two-dimensional Cauchy-like distribution.
    waves = []
    for _ in range(200):
        radius = math.sqrt(1 / rng.random() ** 2 - 1) / 0.2
        angle = 2 * math.pi * rng.random()
        waves.append((min(radius, 200) * math.cos(angle), min(radius, 200) * math.sin(angle), 2 * math.pi * rng.random()))
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["x", "y", "count"])
        for x, y in places:
            f = math.sqrt(2 / len(waves)) * sum(math.cos(a * x + b * y + c) for a, b, c in waves)
            out.writerow([f"{x:.6f}", f"{y:.6f}", poisson(rng, math.exp(1 + 0.7 * f))])
    return ["--response", "count", "--family", "poisson", "--gp", "x,y", "--covariance", "exponential"]


def sparse(n, path, rng):
    """Groups of four."""
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["group", "w", "count"])
        for group in range(n):
            u = rng.gauss(0, 0.8)
            for _ in range(4):
                w = rng.gauss(0, 1)
                out.writerow([f"g{group}", f"{w:.6f}", poisson(rng, math.exp(0.5 + 0.3 * w + u))])
    return ["--formula", "count ~ w + (1 | group)", "--family", "poisson"]


def nngp(n, path, rng):
    """The dense problem, given neighbours."""
    dense(n, path, rng)
    return ["--formula", 'count ~ nngp(x, y, m = 10, covariance = "exponential")', "--family", "poisson"]


def spde(n, path, rng):
    """2,000 places in a square of side √20, and a mesh of about n nodes: a third of them in the outskirts."""
    dense(2000, path, rng)
    edge = math.sqrt(20 / (0.866 * n / 1.5))
    return ["--formula", f"count ~ spde(x, y, edge = {edge:.5f})", "--family", "poisson"]


def cost(command):
    """CPU seconds and the peak of memory in megabytes (of the program itself: what wait4 tells includes this one)."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL)
    peak = 0.0
    while process.poll() is None:
        try:
            status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            peak = max(peak, *(float(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM")), 0.0)
        except OSError:
            pass  # It has just ended.
        time.sleep(0.02)
    if process.returncode:
        raise SystemExit(f"failed: {' '.join(str(part) for part in command)}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, peak


def measure(towline, kind, n, work, draws, warmup):
    data, run = work / f"{kind}-{n}.csv", work / f"{kind}-{n}"
    flags = {"dense": dense, "sparse": sparse, "nngp": nngp, "spde": spde}[kind](n, data, random.Random(n))
    few = ["--thin-latents", "1000", "--quiet"]
    sampling = ["--chains", CHAINS, "--warmup", warmup, "--draws", FIRST, "--threads", "1", *few]
    warm, _ = cost([towline, "fit", "--data", data, *flags, "--out", run, *sampling])
    start, _ = cost([towline, "resume", run, "--draws", FIRST + 1, "--quiet"])
    going, memory = cost([towline, "resume", run, "--draws", FIRST + 1 + draws, "--quiet"])
    summary = json.loads(subprocess.run([towline, "summary", run, "--json"], check=True, capture_output=True).stdout)
    slow = [p for p in summary["parameters"] if p["name"].startswith(("gp_", "sd_", "range_", "length_"))]
    act = CHAINS * (FIRST + 1 + draws) / min(p["ess_bulk"] for p in slow)
    return {
        "kind": kind,
        "n": n,
        "seconds_per_draw": max(going - start, 1e-9) / (CHAINS * draws),
        "autocorrelation_time": act if draws >= ENOUGH else "",
        "warmup_seconds": warm,
        "megabytes": memory,
    }


def write(path, rows):
    """Replaces what was measured of the same kinds and sizes, and keeps the rest."""
    again, kept = {(row["kind"], row["n"]) for row in rows}, []
    if path.exists():
        with path.open(newline="") as file:
            kept = [row for row in csv.DictReader(file) if (row["kind"], int(row["n"])) not in again]
    shown = [{key: f"{value:.4g}" if isinstance(value, float) else value for key, value in row.items()} for row in rows]
    with path.open("w", newline="") as file:
        out = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        out.writeheader()
        out.writerows(sorted(kept + shown, key=lambda row: (KINDS.index(row["kind"]), int(row["n"]))))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("towline")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--dense", type=int, nargs="*", default=[100, 200, 400, 800, 1600])
    parser.add_argument("--sparse", type=int, nargs="*", default=[1000, 3000, 10_000, 25_000, 50_000])
    parser.add_argument("--nngp", type=int, nargs="*", default=[1000, 3000, 10_000, 30_000, 100_000])
    parser.add_argument("--spde", type=int, nargs="*", default=[1000, 3000, 10_000, 25_000, 50_000])
    parser.add_argument("--draws", type=int, default=MORE, help="of each chain")
    parser.add_argument("--warmup", type=int, default=WARMUP, help="slow evaluations of each chain's")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as work:
        for kind in KINDS:
            for n in getattr(options, kind):
                row = measure(options.towline, kind, n, pathlib.Path(work), options.draws, options.warmup)
                rows.append(row)
                print("  ".join(f"{key} {value:.4g}" if isinstance(value, float) else f"{value}" for key, value in row.items()), flush=True)
                if options.out:
                    write(options.out, rows)


if __name__ == "__main__":
    sys.exit(main())
