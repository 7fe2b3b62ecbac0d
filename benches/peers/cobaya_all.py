"""All comparisons with Cobaya one after another, as JSON lines: `make bench-cobaya`.

With --out FOLDER also as cobaya.csv, frequencies.csv and cmb.csv there, of which docs/build/tables.py makes the pages' tables.
"""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
RUNS = [
    *(["cobaya_paper.py", test, which, "6000"] for test in "12" for which in ("exact", "learned")),
    *(["cobaya_frequencies.py", "400", seed] for seed in "123"),
    *(["towline_paper.py", test, which, "20000", "1", ratio] for test in "12" for which in ("plain", "cobaya") for ratio in ("1000", "3")),
]
CMB = [["drag", "700"], ["plain", "9000"], ["towline", "400"]]


#: What the samplers are called on the pages, by what their scripts print.
NAMES = {
    "cobaya mcmc, drag, 20 steps, exact covariance": "Cobaya, exact covariance",
    "cobaya mcmc, drag, 20 steps, learned covariance": "Cobaya, learned covariance",
    "towline, plain, cost ratio 1000": "Towline, plain functions",
    "towline, cobaya, cost ratio 1000": "Towline as Cobaya's sampler",
    "towline, cobaya, cost ratio 3": "Towline as Cobaya's sampler, cost ratio 3",
}


def four(value):
    """Four digits, without an exponent."""
    return f"{float(f'{value:.4g}'):g}"


def write(folder, results):
    """The files of the pages."""
    paper = [
        [f"test {one['test']}", NAMES[one["sampler"]], four(one["per_second"]), f"{one['per_slow']:.3f}", f"{one['fast_per_slow']:.0f}"]
        for one in results
        if one["sampler"] in NAMES
    ]
    header = ["problem", "sampler", "draws_per_cpu_second", "draws_per_slow_evaluation", "fast_per_slow"]
    table(folder / "cobaya.csv", header, sorted(paper, key=lambda row: row[0]))
    three = [one for one in results if one["sampler"] == "frequencies"]
    columns = ["seed", "slow", "warmup", "slow_per_draw", "slow_per_draw_of_all", "fast_per_slow", "frame"]
    table(folder / "frequencies.csv", columns, [[one[name] for name in columns] for one in three])
    found = {one["sampler"]: one for one in results if "slow_per_draw" in one and one["sampler"] != "frequencies"}
    if found:
        line = lambda name, one: [name, one["slow"], round(min(one["ess"].values())), one["slow_per_draw"], f"{one['fast_per_slow']:.0f}"]
        drag, plain, ours = (found[name] for name in ("drag", "plain", "towline"))
        total = [ours["slow"] + ours["warmup"], round(min(ours["ess"].values())), ours["with_warmup"], ""]
        rows = [
            line(f"Cobaya, dragged ({drag['drag_steps']} steps)", drag),
            line("Cobaya, not dragged (`oversample_power: 0.4`)", plain),
            line(f"Towline as Cobaya's sampler, 2 chains of {ours['steps'] // 2}", ours),
            ["the same with its warm-up", *total],
        ]
        table(folder / "cmb.csv", ["sampler", "slow_evaluations", "least_effective_draws", "slow_per_draw", "fast_per_slow"], rows)


def table(path, header, rows):
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])


def main():
    results = []
    runs = list(RUNS)
    data = os.environ.get("TOWLINE_CMB_DATA")
    if data:
        runs += [["cobaya_cmb.py", which, data, samples] for which, samples in CMB]
    else:
        print("TOWLINE_CMB_DATA is not set: the CMB posterior is left out", file=sys.stderr)
    for arguments in runs:
        done = subprocess.run([sys.executable, *arguments], cwd=HERE, capture_output=True, text=True)
        lines = [line.removeprefix("RESULT ") for line in done.stdout.splitlines() if line.startswith("RESULT ")]
        print(*(lines or [f"{arguments} failed: {done.stderr[-500:]}"]), sep="\n", flush=True)
        results += [json.loads(line) for line in lines]
    if "--out" in sys.argv:
        write(Path(sys.argv[sys.argv.index("--out") + 1]).resolve(), results)


if __name__ == "__main__":
    main()
