"""Towline beside NUTS on the same models, priors and data, in one run: `make bench-peers`.

usage: compare.py TOWLINE [--only NAME …] [--peers FOLDER] [--data FOLDER] [--out FILE.csv]

Run with a Python that has NumPyro. For each model NUTS (../shared/peers/nuts_ref.py, or nuts_more.py beside this file) and
`towline fit` follow each other; what counts is the effective draws of the worst parameter per CPU second, warm-up included for
both (compilation by JAX included too, as its users pay it). Parameters are the fixed effects and the covariance parameters.
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
    "ncsids": (500, 1000),
    "epil": (1000, 2000),
    "toenail": (800, 1500),
    "salamander": (1000, 2000),
    "contraception": (800, 1500),
    "rwm5yr": (400, 500),
    "rwm5yr_c": (300, 500),
}
OURS = ("ncsids", "contraception", "verbagg", "crabs")


def nuts(name, peers):
    """NUTS' effective draws per CPU second, of the worst parameter."""
    script = [HERE / "nuts_more.py", ROOT / "examples"] if name in OURS else [peers / "nuts_ref.py"]
    warmup, draws = NUTS[name]
    command = [sys.executable, *script, name, warmup, draws, 2]
    said = subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout
    cpu = float(re.search(r"cpu ([\d.]+)s", said)[1])
    rows = [line.split(",") for line in said.splitlines() if re.match(r"(beta|log_)", line)]
    least = min(float(row[6]) for row in rows)
    return least, cpu


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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("towline")
    parser.add_argument("--only", nargs="+", choices=NUTS)
    parser.add_argument("--peers", type=pathlib.Path, default=ROOT.parent / "shared" / "peers")
    parser.add_argument("--data", type=pathlib.Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    check.TOWLINE = options.towline
    out = options.out.open("a", newline="") if options.out else None
    print(f"{'model':18} {'NUTS: ESS':>10} {'CPU s':>8} {'per s':>8}   {'Towline: ESS':>12} {'CPU s':>8} {'per s':>8} {'ratio':>8}")
    for name in options.only or NUTS:
        with tempfile.TemporaryDirectory() as work:
            mine = towline(name.removesuffix("_c"), options.data, pathlib.Path(work))
        if mine is None:
            print(f"{name:18} skipped: its data are not here")
            continue
        theirs = nuts(name, options.peers)
        row = [name, *theirs, theirs[0] / theirs[1], *mine, mine[0] / mine[1], mine[0] / mine[1] / (theirs[0] / theirs[1])]
        print("{:18} {:10.0f} {:8.1f} {:8.2f}   {:12.0f} {:8.1f} {:8.2f} {:8.1f}".format(*row), flush=True)
        if out:
            csv.writer(out).writerow(row)
            out.flush()


if __name__ == "__main__":
    main()
