"""Fits every example to its data and compares with the results of other programs: `make check-data`.

usage: check.py TOWLINE [--data FOLDER] [--out FOLDER] [--only NAME …] [--figures FILE]

TOWLINE is the built command. Data that may not be part of this repository are looked for in FOLDER (by default ../shared/data);
data sets that are absent are skipped, and said to be. Results of other programs are in answers/, with what gave them.
Two means agree where they differ by less than four combined Monte Carlo standard errors.
"""
import argparse
import array
import csv
import json
import math
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LIMIT = 4.0
# How far from the posterior's mean, in its standard deviations, an estimate by maximum likelihood may lie. Scales of random
# effects are skewed, and their means lie above their modes.
NEAR = 1.0
# The command, once main has read where it is.
TOWLINE = "towline"


def log(name):
    """The logarithm of a column: peers report scales by their logarithms."""
    return ("log", name)


# For each fit: the example's folder, draws of each of two chains, and our column for each parameter of theirs.
LENGTHS = ["npreg", "glu", "bp", "skin", "bmi", "ped", "age"]
LOALOA = [
    "Intercept",
    "I(ELEVATION/1000)",
    "I(max(ELEVATION-650,0)/1000)",
    "I(max(ELEVATION-1000,0)/1000)",
    "I(max(ELEVATION-1300,0)/1000)",
    "standardise(min(MAX9901,0.8))",
    "standardise(STDEV9901)",
]
EPIL = ["Intercept", "log(base/4)", "trtprogabide", "log(base/4):trtprogabide", "log(age)", "V4"]
RWM = ["Intercept", "outwork", "female", "I((age-44)/10)", "factor(edlevel)2", "factor(edlevel)3", "factor(edlevel)4"]
SALAMANDER = ["CrossR/R", "CrossR/W", "CrossW/R", "CrossW/W"]
TOENAIL = ["Intercept", "treatmentterbinafine", "time", "treatmentterbinafine:time"]
CONTRACEPTION = ["Intercept", "age", "I(age^2)", "urbanY", "livch1", "livch2", "livch3+"]
VERBAGG = ["Intercept", "Anger", "GenderM", "btypescold", "btypeshout", "situself", "modedo"]
GP = {"log_sigma": log("gp_sd"), "log_phi": log("gp_length"), "log_tau": log("gp_nugget")}


def betas(names):
    return {f"beta[{k}]": name for k, name in enumerate(names)}


def lengths(names):
    return {f"log_ell[{k}]": log(f"gp_length_{name}") for k, name in enumerate(names)}


FITS = {
    "pima": ("gp_pima", 2500, {"log_eta": log("gp_sd"), **lengths(LENGTHS)}),
    "crabs": ("gp_crabs", 2500, {"log_eta": log("gp_sd"), **lengths(["FL", "RW", "CL", "CW", "BD"])}),
    "rongelap": ("geo_rongelap", 3000, {"beta": "Intercept", **GP}),
    "rongelap_nugget": ("geo_rongelap", 3000, {"beta": "Intercept", **GP}),
    "loaloa": ("geo_loaloa", 3000, {**betas(LOALOA), **GP}),
    "ncsids": ("geo_ncsids", 3000, {**betas(["Intercept", "center(nonwhite74/births74)"]), **GP}),
    "epil": ("glmm_epil", 4000, {**betas(EPIL), "log_sigma[0]": log("sd_subject"), "log_sigma[1]": log("sd_row")}),
    "contraception": ("glmm_contraception", 3000, {**betas(CONTRACEPTION), "log_sigma": log("sd_district")}),
    "toenail": ("glmm_toenail", 6000, {**betas(TOENAIL), "log_sigma": log("sd_patientID")}),
    "salamander": (
        "glmm_salamander",
        6000,
        {**betas(SALAMANDER), "log_sigma[0]": log("sd_Female"), "log_sigma[1]": log("sd_Male")},
    ),
    "verbagg": ("glmm_verbagg", 2000, {**betas(VERBAGG), "log_sigma[0]": log("sd_id"), "log_sigma[1]": log("sd_item")}),
    "nyc": (
        "areal_nyc",
        1500,
        {"b0": "Intercept", "log_sigma": log("sd_areal_area"), "rho": "mix_areal_area"},
    ),
    "rwm5yr": ("glmm_rwm5yr", 1000, {**betas(RWM), "log_sigma": log("sd_id")}),
}
# A second model of the same data: what is changed in the example's file.
CHANGES = {
    "rongelap_nugget": [
        ('covariance = "exponential"', 'covariance = "exponential + nugget"'),
        ("[priors]", '[priors]\ngp_nugget = "log_normal(-2, 1)"'),
    ]
}
# Published results on test sets: the example, the file, and the errors and the mean log probability that are not to be exceeded.
# Pima: 68 or 69 errors of 332 (Williams and Barber 1998); NUTS on this model: mean log probability -0.4407.
# Three classes: FBM gives an error of 0.1950 +- 0.0125 and a mean log probability of -0.469 +- 0.023 (their standard errors over cases).
TESTS = {
    "pima": ("gp_pima", "pima_test.csv", "type", 69 / 332, -0.4407, 0.01),
    "neal3class": ("gp_neal3class", "test.csv", "class", 0.1950 + 0.0125, -0.469, 0.023),
}
# A slow evaluation of the three-class problem factors matrices of 1,200 rows: fewer draws, after a shorter warm-up, serve to predict.
TEST_DRAWS, TEST_WARMUP = 200, 300
# Differences of chances that Monte Carlo errors may make (some ten of Pima's 332 cases are within it).
TIE = 0.02


class Tally:
    """What was compared, and how it went."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        # For each comparison: the data set, the kind, the figure, and whether it passed.
        self.figures = []

    def note(self, fine, fit, kind, figure):
        self.figures.append([fit, kind, f"{figure:.4g}", "passed" if fine else "failed"])
        self.passed += fine
        self.failed += not fine
        return "" if fine else "  <-- FAILED"


def find(folder, data, file):
    """The data of an example: in the repository, or where data are kept that may not be part of it."""
    for place in (ROOT / "examples" / folder, data / folder):
        if (place / file).exists():
            return place
    return None


def model_file(folder, name, work, data):
    """A folder with the model file and its data, or nothing where the data are absent."""
    text = (ROOT / "examples" / folder / "model.toml").read_text()
    for old, new in CHANGES.get(name, []):
        assert old in text, f"{folder}/model.toml has no {old!r} any more"
        text = text.replace(old, new)
    file = next(line.split('"')[1] for line in text.splitlines() if line.startswith("file ="))
    place = find(folder, data, file)
    if place is None:
        return None
    target = work / f"{name}-model"
    target.mkdir()
    shutil.copy(place / file, target)
    for other in re.findall(r'(?:graph|precision) = "([^"]+)"', text):
        shutil.copy(place / other, target)
    (target / "model.toml").write_text(text)
    return target / "model.toml"


def fit(towline, model, run, draws, thin=10, more=()):
    """Fits, and returns the CPU seconds that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [towline, "fit", model, "--out", run, "--chains", "2", "--draws", draws, "--thin-latents", thin, "--quiet", *more]
    subprocess.run([str(part) for part in command], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def columns(run):
    """The draws of every stored column, all chains one after another."""
    manifest = json.loads((run / "manifest.json").read_text())
    names = [column["name"] for column in manifest["columns"]]
    width = len(names) + len(manifest["statistics"])
    values = {name: [] for name in names}
    for path in sorted(run.glob("chain-*.f64")):
        rows = array.array("d")
        rows.frombytes(path.read_bytes())
        for k, name in enumerate(names):
            values[name].extend(rows[k::width])
    return values


def moments(values):
    mean = math.fsum(values) / len(values)
    return mean, math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1))


def answers(name):
    path = HERE / "answers" / f"{name}.csv"
    if not path.exists():
        return {}
    with path.open(newline="") as lines:
        rows = csv.DictReader(line for line in lines if not line.startswith("#"))
        return {row["parameter"]: [float(row[key]) for key in ("mean", "sd", "ess")] for row in rows}


def compare(name, run, mapping, cpu, tally):
    """Our means beside theirs."""
    summary = json.loads(subprocess.run([TOWLINE, "summary", run, "--json"], check=True, capture_output=True).stdout)
    ess = {p["name"]: min(p["ess_bulk"], p["ess_tail"]) for p in summary["parameters"]}
    rhat = {p["name"]: p["rhat"] for p in summary["parameters"]}
    bulk = {p["name"]: p["ess_bulk"] for p in summary["parameters"]}
    draws = columns(run)
    ours = [column[1] if isinstance(column, tuple) else column for column in mapping.values()]
    worst = min(bulk[column] for column in ours if column in bulk)
    print(f"\n{name}: {cpu:.1f} CPU seconds, least ESS {worst:.0f}, {worst / cpu:.1f} per CPU second, worst R-hat {max(rhat.values()):.3f}")
    fine = max(rhat.values()) < 1.02
    print(f"  {'chains agree (R-hat below 1.02)':34}{tally.note(fine, name, 'R-hat', max(rhat.values()))}")
    for parameter, theirs in answers(name).items():
        column = mapping[parameter]
        logged = isinstance(column, tuple)
        column = column[1] if logged else column
        values = [math.log(v) for v in draws[column]] if logged else draws[column]
        mean, sd = moments(values)
        error = math.hypot(sd / math.sqrt(ess[column]), theirs[1] / math.sqrt(theirs[2]))
        z = (mean - theirs[0]) / error
        label = f"log {column}" if logged else column
        print(
            f"  {label:34} {mean:9.4f} ({sd:.4f})   theirs {theirs[0]:9.4f} ({theirs[1]:.4f})   z {z:5.1f}"
            f"{tally.note(abs(z) < LIMIT, name, 'mean', z)}"
        )
    compare_estimates(name, draws, tally)


def estimates(name):
    """Maximum likelihood and published estimates, which a posterior with weak priors has near its middle."""
    with (HERE / "estimates.csv").open(newline="") as lines:
        rows = csv.DictReader(line for line in lines if not line.startswith("#"))
        return [row for row in rows if row["fit"] == name]


def compare_estimates(name, draws, tally):
    for row in estimates(name):
        values = draws[row["column"]]
        mean, sd = moments(values)
        away = (float(row["estimate"]) - mean) / sd
        print(
            f"  {row['column']:34} {mean:9.4f} ({sd:.4f})   estimate {row['estimate']:>8} ({row['source']})   {away:5.2f} sd"
            f"{tally.note(abs(away) < NEAR, name, 'estimate', away)}"
        )


def classify(name, folder, file, response, most_errors, log_probability, margin, work, data, tally):
    """Errors and mean log probability on a test set, beside published ones."""
    place = find(folder, data, file)
    run = work / name
    if not run.exists():
        model = model_file(folder, name, work, data)
        if model is None or place is None:
            skip(name, folder, tally)
            return
        cpu = fit(TOWLINE, model, run, TEST_DRAWS, thin=2, more=["--warmup", TEST_WARMUP])
        print(f"\n{name}: {cpu:.1f} CPU seconds")
    predicted = work / f"{name}-predicted.csv"
    command = [TOWLINE, "predict", run, "--at", place / file, "--out", predicted]
    subprocess.run([str(part) for part in command], check=True, capture_output=True)
    errors, mean = scores(predicted, response)
    print(f"  {name}: test error {errors:.4f}, published at most {most_errors:.4f}{tally.note(errors <= most_errors + 1e-9, name, 'test error', errors)}")
    least = log_probability - margin
    print(f"  {name}: mean log probability {mean:.4f}, published {log_probability:.4f} ± {margin:.4f}{tally.note(mean >= least, name, 'log probability', mean)}")


def scores(predicted, response):
    """The share of errors and the mean log probability of the true classes, from a file of predictions.

    Between two classes whose chances are the same within Monte Carlo errors it is luck which is guessed: that counts as half an error.
    """
    with predicted.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    several = "mean_mean" not in rows[0]
    wrong, logs = 0, []
    for row in rows:
        if several:
            chances = {key[len("mean_") : -len("_mean")]: float(row[key]) for key in row if key.endswith("_mean") and key.startswith("mean_")}
        else:
            chances = {"1": float(row["mean_mean"]), "0": 1.0 - float(row["mean_mean"])}
        first, second = sorted(chances, key=chances.get, reverse=True)[:2]
        if chances[first] - chances[second] < TIE and row[response] in (first, second):
            wrong += 0.5
        else:
            wrong += first != row[response]
        logs.append(math.log(max(chances[row[response]], 1e-12)))
    return wrong / len(rows), math.fsum(logs) / len(logs)


def skip(name, folder, tally):
    tally.skipped += 1
    print(f"\n{name}: skipped, its data are not here; examples/{folder}/README.md says where to get them (--data FOLDER)")


def main():
    global TOWLINE
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("towline")
    parser.add_argument("--data", type=pathlib.Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--out", type=pathlib.Path, help="keep the runs in this folder")
    parser.add_argument("--only", nargs="+", choices=[*FITS, *TESTS], help="some of the data sets")
    parser.add_argument("--figures", type=pathlib.Path, help="write every comparison to this file, where none was left out")
    options = parser.parse_args()
    TOWLINE = options.towline
    tally = Tally()
    with tempfile.TemporaryDirectory() as temporary:
        work = options.out or pathlib.Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        for name, (folder, draws, mapping) in FITS.items():
            if options.only and name not in options.only:
                continue
            model = model_file(folder, name, work, options.data)
            if model is None:
                skip(name, folder, tally)
                continue
            # Predictions are means over stored latents: a tenth of them would leave Monte Carlo errors of a case or two.
            cpu = fit(TOWLINE, model, work / name, draws, thin=2 if name in TESTS else 10)
            compare(name, work / name, mapping, cpu, tally)
        for name, test in TESTS.items():
            if not options.only or name in options.only:
                classify(name, *test, work, options.data, tally)
    if options.figures and not options.only and not tally.skipped:
        with options.figures.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([["fit", "kind", "figure", "outcome"], *tally.figures])
    print(f"\n{tally.passed} passed, {tally.failed} failed, {tally.skipped} skipped")
    sys.exit(1 if tally.failed else 0)


if __name__ == "__main__":
    main()
