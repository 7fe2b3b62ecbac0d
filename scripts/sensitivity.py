#!/usr/bin/env python3
"""How much the constants of judgement matter: halves and doubles each of them over known targets of the gallery.

    python3 scripts/sensitivity.py [--seeds 4] [--targets neal1,banana,…] [--only NAME,…]

Works on a copy of the committed tree below target/sensitivity, in which each of these constants is read from the environment, so that it is
built once; writes docs/figures/sensitivity.csv, from which docs/build/tables.py makes the table of the docs. Takes about a CPU minute for each
of twice as many variants as there are constants.
"""
import argparse, csv, json, os, re, shutil, subprocess, sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "target/sensitivity"
SOURCE = "crates/towline/src"
# Those that decide how much is learned, what is believed, and what is proposed.
CONSTANTS = ["DEVIATIONS", "FURTHER", "BATCH_SHARE", "SMALL_ERROR", "SURPRISE", "LINEAR_MARGIN", "EXTRA_SHARE", "TAIL_RATE", "POINTS_PER_COEFFICIENT", "JUMP_SPREAD"]
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


def free(tree, name):
    """Makes this constant a function that reads the environment; returns the constant's own value."""
    definition = re.compile(rf"^(\s*)(pub(?:\([a-z]+\))? )?const {name}: f64 = ([0-9.e-]+);", re.M)
    files = [path for folder in FOLDERS for path in sorted((tree / SOURCE / folder).rglob("*.rs"))]
    found = [path for path in files if definition.search(path.read_text())]
    if len(found) != 1:
        sys.exit(f"{name}: {len(found)} constants of this name and type f64 in {', '.join(FOLDERS)}; name another in CONSTANTS")
    value = float(definition.search(found[0].read_text())[3])
    for path in files:
        text, parts, last = path.read_text(), [], 0
        # What is imported keeps its name; what is used becomes a call.
        for kept in [*re.finditer(r"(?m)^\s*(?:pub(?:\([a-z]+\))? )?use [^;]*;", text), None]:
            end = kept.start() if kept else len(text)
            part = text[last:end]
            part = re.sub(rf"(?<!const )\b{name}\b(?!\()", f"{name}()", part)
            parts.append(part + (kept[0] if kept else ""))
            last = kept.end() if kept else end
        text = "".join(parts)
        function = (rf"\1#[allow(non_snake_case)]\n\1\2fn {name}() -> f64 {{\n\1    static VALUE: std::sync::OnceLock<f64> = std::sync::OnceLock::new();\n"
                    rf'\1    *VALUE.get_or_init(|| std::env::var("TOWLINE_{name}").map_or(\3, |text| text.parse().expect("a number")))\n\1}}')
        path.write_text(definition.sub(function, text))
    return value


def build(tree):
    """The gallery's program."""
    env = dict(os.environ, CARGO_TARGET_DIR=str(WORK / "build"))
    subprocess.run(["cargo", "build", "--quiet", "--release", "--package", "towline-gallery", "--bin", "towline-gallery"], cwd=tree, env=env, check=True)
    return WORK / "build/release/towline-gallery"


def measure(program, targets, seeds, **values):
    """What the gallery says of these targets with these values."""
    env = dict(os.environ, **{f"TOWLINE_{name}": repr(value) for name, value in values.items()})
    verdicts = WORK / "verdicts.json"
    subprocess.run([program, f"--seeds={seeds}", f"--json={verdicts}", *targets], env=env, check=True, stdout=subprocess.DEVNULL)
    return json.loads(verdicts.read_text())["targets"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--only", default=",".join(CONSTANTS))
    arguments = parser.parse_args()
    targets, names = arguments.targets.split(","), arguments.only.split(",")
    tree = copy_tree()
    own = {name: free(tree, name) for name in names}
    program = build(tree)
    rows = []

    def run(name, value, factor):
        values = {name: value} if name in own else {}
        for verdict in measure(program, targets, arguments.seeds, **values):
            rows.append({"constant": name, "value": value, "factor": factor, "target": verdict["name"], "right": verdict["right"], "warned": verdict["warned"],
                         "worst_z": round(verdict["worst_z"], 1), "slow_per_effective": round(verdict["slow_per_effective"], 2),
                         "warmup_slow": round(verdict["warmup_slow"]), "fast_per_slow": round(verdict["fast_per_slow"])})
        # Written after every variant: a run that is stopped has not been in vain.
        with open(ROOT / "docs/figures/sensitivity.csv", "w", newline="") as file:
            writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)

    run("as it is", "", 1)
    for name, value in own.items():
        for factor in (0.5, 2):
            print(f"{name} = {factor * value}", flush=True)
            run(name, factor * value, factor)


main()
