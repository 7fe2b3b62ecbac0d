"""Exact draws beside the approximation: `towline fit` to 400 effective draws of every parameter, and glmmTMB's or TMB's Laplace fit.

usage: laplace.py TOWLINE [--only NAME …] [--data FOLDER] [--out FILE.csv]

Needs R with glmmTMB and TMB, and a C++ compiler for the BYM2 (Debian: r-cran-glmmtmb, r-cran-tmb, g++). A Laplace fit gives the mode of
the parameters with standard errors; its time is that of the fit alone, everything being loaded and compiled. Ours is that of the whole
command with two chains, until every parameter has 400 effective draws and an R-hat below 1.01. Times by the clock are
those of a machine that others may use; those of the processor are what a ratio is made of.
"""
import argparse
import csv
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "data"))
import check  # noqa: E402

#: The models, and what Laplace's fit is made by. The last is the scale of New York's graph (areal/tests.rs knows its square).
MODELS = {"epil": "glmmTMB", "salamander": "glmmTMB", "contraception": "glmmTMB", "nyc": "TMB"}
SCALE = 0.84480
HEADER = ["model", "program", "clock_seconds", "cpu_seconds", "least_effective_draws"]
EFFECTIVE, MOST_DRAWS = 400, 20_000


def laplace(name, folder):
    """Seconds by the clock and of the processor of one fit."""
    shutil.copy(HERE / "bym2.cpp", folder)
    command = ["Rscript", HERE / "laplace.R", name, folder, SCALE]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    said = subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True, env=environment).stdout
    return tuple(float(re.search(rf"^{what} ([\d.e-]+)", said, re.M)[1]) for what in ("clock", "cpu"))


def ours(towline, model, run):
    """The same, and the effective draws of the worst parameter."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    sampling = ["--chains", 2, "--draws", MOST_DRAWS, "--ess", EFFECTIVE, "--thin-latents", 10, "--quiet"]
    subprocess.run([str(part) for part in [towline, "fit", model, "--out", run, *sampling]], check=True)
    clock, after = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    said = subprocess.run([towline, "summary", run, "--json"], check=True, capture_output=True).stdout
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return clock, cpu, min(min(p["ess_bulk"], p["ess_tail"]) for p in json.loads(said)["parameters"])


def write(path, name, rows):
    """Replaces a model's rows, and keeps the order of the models."""
    kept = {}
    if path.exists():
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                kept.setdefault(row["model"], []).append([row[key] for key in HEADER])
    kept[name] = rows
    with path.open("w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerows([HEADER, *(row for model in MODELS if model in kept for row in kept[model])])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("towline")
    parser.add_argument("--only", nargs="+", choices=MODELS)
    parser.add_argument("--data", type=pathlib.Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    for name in options.only or MODELS:
        with tempfile.TemporaryDirectory() as temporary:
            work = pathlib.Path(temporary)
            model = check.model_file(check.FITS[name][0], name, work, options.data)
            if model is None:
                print(f"{name}: skipped, its data are not here")
                continue
            theirs = laplace(name, model.parent)
            clock, cpu, least = ours(options.towline, model, work / "run")
        shown = f"{name}: {MODELS[name]} {theirs[0]:.2f} s ({theirs[1]:.2f} CPU); Towline {clock:.1f} s ({cpu:.1f} CPU), least ESS {least:.0f}"
        print(f"{shown}: {clock / theirs[0]:.1f} times by the clock, {cpu / theirs[1]:.1f} of the processor", flush=True)
        if options.out:
            rows = [[name, MODELS[name], f"{theirs[0]:.3g}", f"{theirs[1]:.3g}", ""], [name, "Towline", f"{clock:.3g}", f"{cpu:.3g}", f"{least:.0f}"]]
            write(options.out, name, rows)


if __name__ == "__main__":
    main()
