"""Towline beside NUTS on the same models, priors and data, in one run: `make bench-peers`.

usage: compare.py TOWLINE [--only NAME …] [--ours] [--peers FOLDER] [--data FOLDER] [--out FILE.csv]

With --out the rows of these models in that file are replaced; docs/build/tables.py makes the pages' tables of it. With --ours only
Towline is run, and the peers' rows stay as they are: for an engine that has changed while its peers have not.

Run with a Python that has NumPyro, PyMC and nutpie. For each model `towline fit`, NumPyro's NUTS (../shared/peers/nuts_ref.py, or
nuts_more.py beside this file) and nutpie's (nutpie_ref.py) follow each other; what counts is the effective draws of the worst parameter
per CPU second, warm-up included for all. Parameters are the fixed effects and the covariance parameters. Compilation is part of
NumPyro's time, as its users pay it; nutpie's takes longer than many of its runs, and is left out of the time that counts (and shown).
The ratio is to the faster of the two. Some models have a third: NUTS whitened by the joint precision at the mode (whitened.py),
whose time is that of sampling alone, the mode and the precision being given to it.
"""
import argparse
import csv
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "data"))
import check  # noqa: E402
import simulate  # noqa: E402

# For each model: NUTS' warm-up and draws (as in the peers' own outputs).
NUTS = {
    "pima": (400, 600),
    "loaloa": (300, 500),
    "rongelap": (500, 1000),
    "rongelap_nugget": (300, 500),
    "ncsids": (300, 500),
    "epil": (1000, 2000),
    "toenail": (800, 1500),
    "salamander": (1000, 2000),
    "contraception": (800, 1500),
    "rwm5yr": (400, 500),
    "rwm5yr_c": (300, 500),
    "immunised": (500, 700),
    "months": (800, 1500),
    "districts": (600, 1000),
    "nyc": (700, 1000),
}
# Those whose NumPyro model is in nuts_more.py, and of these the ones that are for nutpie too, plain and whitened.
OURS = ("ncsids", "contraception", "verbagg", "crabs", "immunised", "months", "districts", "nyc")
FIELDS = ("immunised", "months", "nyc")
# Models of simulated data: draws of each of two chains, and our columns for θ as whitened.py has it.
SIMULATED = {
    "immunised": (3000, ["sd_community", "sd_mother"]),
    "months": (4000, ["sd_rw1_t"]),
    "districts": (2000, None),
}
NYC = ["sd_areal_area", "mix_areal_area"]
PEERS = {"NumPyro": 22, "nutpie": 34, "whitened": 22}
# NumPyro's run of this one (not centred) is slower by far than that of the centred one, and is left out.
ONLY_NUTPIE = ("rwm5yr",)


def run_peer(script, name, more=()):
    """A peer's effective draws of the worst parameter, its CPU seconds, and those of compiling where it tells them."""
    warmup, draws = NUTS[name]
    command = [sys.executable, *script, name, *more, warmup, draws, 2]
    said = subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout
    cpu = float(re.search(r"cpu ([\d.]+)s", said)[1])
    compiling = re.search(r"compile ([\d.]+)s", said)
    rows = [line.split(",") for line in said.splitlines() if re.match(r"(beta|log_|logit_|rho)", line)]
    least = min(float(row[6]) for row in rows)
    return least, cpu, float(compiling[1]) if compiling else 0.0


def theta_of(name, run):
    """The posterior mean and covariance of θ, for the peer that is whitened by them."""
    draws = check.columns(run)
    rows = []
    for column in SIMULATED[name][1] if name in SIMULATED else NYC:
        share = column.startswith("mix_")
        rows.append([math.log(v / (1 - v)) if share else math.log(v) for v in draws[column]])
    means = [math.fsum(row) / len(row) for row in rows]
    cross = [[math.fsum((a - m) * (b - k) for a, b in zip(one, other)) / (len(one) - 1) for other, k in zip(rows, means)] for one, m in zip(rows, means)]
    return {"mean": means, "covariance": cross}


def peers_of(name, peers, data, theta):
    """What the peers give, by their names."""
    found = {}
    if name not in ONLY_NUTPIE:
        script = [HERE / "nuts_more.py", data, ROOT / "examples"] if name in OURS else [peers / "nuts_ref.py"]
        found["NumPyro"] = run_peer(script, name)
    if name not in OURS or name in FIELDS:
        found["nutpie"] = run_peer([HERE / "nutpie_ref.py", data, ROOT / "examples"], name)
    if name in FIELDS:
        with tempfile.TemporaryDirectory() as work:
            path = pathlib.Path(work) / "theta.json"
            path.write_text(json.dumps(theta))
            found["whitened"] = run_peer([HERE / "whitened.py", data], name, [path])
    return found


def towline(name, data, work):
    """Ours, and θ where a peer asks for it."""
    if name in SIMULATED:
        draws = SIMULATED[name][0]
        model = simulate.write(name, work / "model")
    else:
        folder, draws, _ = check.FITS[name]
        model = check.model_file(folder, name, work, data)
    if model is None:
        return None
    cpu = check.fit(check.TOWLINE, model, work / name, draws)
    said = subprocess.run([check.TOWLINE, "summary", work / name, "--json"], check=True, capture_output=True).stdout
    least = min(p["ess_bulk"] for p in json.loads(said)["parameters"])
    return least, cpu, theta_of(name, work / name) if name in FIELDS else None


HEADER = ["model", "program", "draws_per_cpu_second", "compiling_seconds", "ratio"]


def stored(path, name):
    """The peers' rows of a model in the file, as `peers_of` would give them: effective draws of one CPU second."""
    if not path or not path.exists():
        return {}
    with path.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["model"] == name and row["program"] != "Towline"]
    return {row["program"]: (float(row["draws_per_cpu_second"]), 1.0, float(row["compiling_seconds"] or 0)) for row in rows}


def rounded(value):
    """Three digits, which is more than such a figure is good for."""
    return f"{float(f'{value:.3g}'):g}"


def write(path, name, found, rate, ratio):
    """Replaces a model's rows in the file that the docs' tables are made of. Of two forms of a model it keeps the better."""
    model = name.removesuffix("_c")
    old = []
    if path.exists():
        with path.open(newline="") as file:
            old = list(csv.DictReader(file))
    before = {row["program"]: row for row in old if row["model"] == model}
    rows = [[peer, rounded(least / cpu), rounded(compiling) if compiling else "", ""] for peer, (least, cpu, compiling) in found.items()]
    rows.append(["Towline", rounded(rate), "", rounded(ratio)])
    if name != model:
        # The second form of a model that was run just before: the faster of both stands for a program.
        rows = [row if row[0] == "Towline" or row[0] not in before or float(row[1]) > float(before[row[0]]["draws_per_cpu_second"])
                else [before[row[0]][key] for key in HEADER[1:]] for row in rows]
        best = max(float(row[1]) for row in rows if row[0] in ("NumPyro", "nutpie"))
        rows[-1][3] = rounded(rate / best)
    place = next((k for k, row in enumerate(old) if row["model"] == model), len(old))
    kept = [[row[key] for key in HEADER] for row in old if row["model"] != model]
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([HEADER, *kept[:place], *([model, *row] for row in rows), *kept[place:]])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("towline")
    parser.add_argument("--only", nargs="+", choices=NUTS)
    parser.add_argument("--ours", action="store_true", help="Towline alone, beside the peers' rows of the file")
    parser.add_argument("--peers", type=pathlib.Path, default=ROOT.parent / "shared" / "peers")
    parser.add_argument("--data", type=pathlib.Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    check.TOWLINE = options.towline
    print("effective draws of the worst parameter per CPU second (effective draws / CPU seconds)")
    print(f"{'model':16} " + " ".join(f"{peer:>{width}}" for peer, width in PEERS.items()) + f" {'Towline':>22} {'ratio':>7} {'whitened':>9}")
    for name in options.only or NUTS:
        with tempfile.TemporaryDirectory() as work:
            mine = towline(name.removesuffix("_c"), options.data, pathlib.Path(work))
        if mine is None:
            print(f"{name:16} skipped: its data are not here")
            continue
        least, cpu, theta = mine
        rate = least / cpu
        found = stored(options.out, name) if options.ours else peers_of(name, options.peers, options.data, theta)
        cells = []
        for peer, width in PEERS.items():
            text = ""
            if peer in found:
                theirs, seconds, compiling = found[peer]
                text = f"{theirs / seconds:.2f} ({theirs:.0f} / {seconds:.1f}" + (f", compiling {compiling:.1f})" if compiling else ")")
            cells.append(f"{text:>{width}}")
        rates = {peer: theirs / seconds for peer, (theirs, seconds, _) in found.items()}
        ratio = rate / max((r for peer, r in rates.items() if peer != "whitened"), default=math.nan)
        third = f"{rate / rates['whitened']:9.1f}" if "whitened" in rates else ""
        print(f"{name:16} {' '.join(cells)} {f'{rate:.1f} ({least:.0f} / {cpu:.1f})':>22} {ratio:7.1f} {third}", flush=True)
        if options.out:
            write(options.out, name, found, rate, ratio)


if __name__ == "__main__":
    main()
