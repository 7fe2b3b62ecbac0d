"""Towline beside NUTS on the same models, priors and data, in one run: `make bench-peers`.

usage: compare.py TOWLINE [--only NAME …] [--peers FOLDER] [--data FOLDER] [--out FILE.csv]

With --out the rows of these models in that file are replaced; docs/build/tables.py makes the pages' tables of it.

Run with a Python that has NumPyro, PyMC and nutpie. For each model `towline fit`, NumPyro's NUTS (../shared/peers/nuts_ref.py, or
nuts_more.py beside this file) and nutpie's (nutpie_ref.py) follow each other; what counts is the effective draws of the worst parameter
per CPU second, warm-up included for all. Parameters are the fixed effects and the covariance parameters. Compilation is part of
NumPyro's time, as its users pay it; nutpie's takes longer than many of its runs, and is left out of the time that counts (and shown).
The ratio is to the faster of the two.
"""
import argparse
import csv
import json
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "data"))
import check  # noqa: E402

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
}
OURS = ("ncsids", "contraception", "verbagg", "crabs")
# NumPyro's run of this one (not centred) is slower by far than that of the centred one, and is left out.
ONLY_NUTPIE = ("rwm5yr",)


def run_peer(script, name):
    """A peer's effective draws of the worst parameter, its CPU seconds, and those of compiling where it tells them."""
    warmup, draws = NUTS[name]
    command = [sys.executable, *script, name, warmup, draws, 2]
    said = subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout
    cpu = float(re.search(r"cpu ([\d.]+)s", said)[1])
    compiling = re.search(r"compile ([\d.]+)s", said)
    rows = [line.split(",") for line in said.splitlines() if re.match(r"(beta|log_)", line)]
    least = min(float(row[6]) for row in rows)
    return least, cpu, float(compiling[1]) if compiling else 0.0


def peers_of(name, peers, data):
    """What the peers give, by their names."""
    found = {}
    if name not in ONLY_NUTPIE:
        script = [HERE / "nuts_more.py", ROOT / "examples"] if name in OURS else [peers / "nuts_ref.py"]
        found["NumPyro"] = run_peer(script, name)
    if name not in OURS:
        found["nutpie"] = run_peer([HERE / "nutpie_ref.py", data, ROOT / "examples"], name)
    return found


def towline(name, data, work):
    """Ours."""
    folder, draws, mapping = check.FITS[name]
    model = check.model_file(folder, name, work, data)
    if model is None:
        return None
    cpu = check.fit(check.TOWLINE, model, work / name, draws)
    said = subprocess.run([check.TOWLINE, "summary", work / name, "--json"], check=True, capture_output=True).stdout
    least = min(p["ess_bulk"] for p in json.loads(said)["parameters"])
    return least, cpu


HEADER = ["model", "program", "draws_per_cpu_second", "compiling_seconds", "ratio"]


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
        best = max(float(row[1]) for row in rows if row[0] != "Towline")
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
    parser.add_argument("--peers", type=pathlib.Path, default=ROOT.parent / "shared" / "peers")
    parser.add_argument("--data", type=pathlib.Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    check.TOWLINE = options.towline
    print("effective draws of the worst parameter per CPU second (effective draws / CPU seconds)")
    print(f"{'model':16} {'NumPyro':>22} {'nutpie':>34} {'Towline':>22} {'ratio':>7}")
    for name in options.only or NUTS:
        with tempfile.TemporaryDirectory() as work:
            mine = towline(name.removesuffix("_c"), options.data, pathlib.Path(work))
        if mine is None:
            print(f"{name:16} skipped: its data are not here")
            continue
        found = peers_of(name, options.peers, options.data)
        cells = []
        for peer, width in (("NumPyro", 22), ("nutpie", 34)):
            text = ""
            if peer in found:
                least, cpu, compiling = found[peer]
                text = f"{least / cpu:.2f} ({least:.0f} / {cpu:.1f}" + (f", compiling {compiling:.1f})" if compiling else ")")
            cells.append(f"{text:>{width}}")
        rate = mine[0] / mine[1]
        ratio = rate / max(least / cpu for least, cpu, _ in found.values())
        print(f"{name:16} {cells[0]} {cells[1]} {f'{rate:.1f} ({mine[0]:.0f} / {mine[1]:.1f})':>22} {ratio:7.1f}", flush=True)
        if options.out:
            write(options.out, name, found, rate, ratio)


if __name__ == "__main__":
    main()
