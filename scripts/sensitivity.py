#!/usr/bin/env python3
"""How much the constants of judgement matter: halves and doubles each of them over known targets of the gallery.

    python3 scripts/sensitivity.py [--seeds 4] [--targets neal1,banana,…] [--only NAME,…]

Works on a copy of the committed tree below target/sensitivity, where it rewrites one constant at a time, builds the gallery and runs
it; writes docs/figures/sensitivity.csv, from which docs/build/tables.py makes the table of the docs. Takes about two CPU minutes for each of
twice as many variants as there are constants.
"""
import argparse, csv, json, os, re, shutil, subprocess, sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "target/sensitivity"
SOURCE = "crates/towline/src"
# Those that decide how much is learned, what is believed, and what is proposed.
CONSTANTS = ["HEAT", "FURTHER", "BATCH_SHARE", "SMALL_ERROR", "SURPRISE", "LINEAR_MARGIN", "EXTRA_SHARE", "TAIL_RATE", "POINTS_PER_COEFFICIENT", "JUMP_SPREAD"]
FOLDERS = ["warmup", "slow/surrogate"]
TARGETS = ["neal1", "skew4", "student4", "funnel", "steps", "banana", "twenty", "far2"]


def copy_tree():
    """The committed tree, anew."""
    tree = WORK / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    archive = subprocess.Popen(["git", "archive", "HEAD"], cwd=ROOT, stdout=subprocess.PIPE)
    subprocess.run(["tar", "xf", "-"], cwd=tree, stdin=archive.stdout, check=True)
    return tree


def find(tree, name):
    """The one file that has this constant, its text, and where its number stands in it."""
    pattern = re.compile(rf"^\s*(?:pub(?:\([a-z]+\))? )?const {name}: f64 = ([0-9.e-]+);", re.M)
    found = []
    for folder in FOLDERS:
        for path in sorted((tree / SOURCE / folder).rglob("*.rs")):
            match = pattern.search(path.read_text())
            if match:
                found.append((path, match))
    if len(found) != 1:
        sys.exit(f"{name}: {len(found)} constants of this name and type f64 in {', '.join(FOLDERS)}; name another in CONSTANTS")
    return found[0]


def measure(tree, targets, seeds):
    """What the gallery says of these targets, as the tree stands."""
    env = dict(os.environ, CARGO_TARGET_DIR=str(WORK / "build"))
    json_file = WORK / "verdicts.json"
    subprocess.run(["cargo", "run", "--quiet", "--release", "--package", "towline-gallery", "--", f"--seeds={seeds}", f"--json={json_file}", *targets],
                   cwd=tree, env=env, check=True, stdout=subprocess.DEVNULL)
    return json.load(open(json_file))["targets"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--only", default=",".join(CONSTANTS))
    arguments = parser.parse_args()
    targets, names = arguments.targets.split(","), arguments.only.split(",")
    tree = copy_tree()
    places = {name: find(tree, name) for name in names}
    rows = []

    def run(name, value, factor):
        for verdict in measure(tree, targets, arguments.seeds):
            rows.append({"constant": name, "value": value, "factor": factor, "target": verdict["name"], "right": verdict["right"], "warned": verdict["warned"],
                         "worst_z": round(verdict["worst_z"], 1), "slow_per_effective": round(verdict["slow_per_effective"], 2),
                         "warmup_slow": round(verdict["warmup_slow"]), "fast_per_slow": round(verdict["fast_per_slow"])})
        # Written after every variant: a run that is stopped has not been in vain.
        with open(ROOT / "docs/figures/sensitivity.csv", "w", newline="") as file:
            writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)

    run("as it is", "", 1)
    for name, (path, match) in places.items():
        text = path.read_text()
        for factor in (0.5, 2):
            value = float(match[1]) * factor
            path.write_text(text[:match.start(1)] + repr(value) + text[match.end(1):])
            print(f"{name} = {value}", flush=True)
            run(name, value, factor)
        path.write_text(text)


main()
