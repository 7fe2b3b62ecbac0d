"""The evidence of the emulated CMB posterior (6 slow + 17 fast parameters): by a nested sampler and by Towline's weights, with the spectra that each took.

    python evidence_cmb.py nautilus DATA OUT.csv [SEED]
    python evidence_cmb.py towline DATA OUT.csv [SEED …]

Each replaces its own rows of OUT.csv. Both have the same priors, normalised as they are written, and the same likelihood (with ln|C|, and with the
calibrations' prior, which is not normalised); for the nested sampler every evaluation is one of a spectrum, as it is where a theory code makes it.
"""

import csv
import json
import os
import sys
import time
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "cmb"))
from model import Posterior
from run import COST_RATIO
from spt3g import CALIBRATION_BOUNDS, NUISANCES, PRIORS
from theory import COSMOLOGY, LOWER, TAU_PRIOR, UPPER

HEADER = ["sampler", "seed", "spectra", "ln_z", "se"]
# The standard error of every cosmological parameter that Towline is asked for.
ERROR = 0.05


def write(out, sampler, seed, spectra, ln_z, se):
    """Puts one row into the file, in the place of the one that was there."""
    rows = []
    if out.exists():
        with out.open(encoding="utf-8", newline="") as file:
            rows = [row for row in list(csv.reader(file))[1:] if row[:2] != [sampler, str(seed)]]
    rows.append([sampler, str(seed), str(spectra), f"{ln_z:.3f}", f"{se:.3f}"])
    rows.sort()
    with out.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([HEADER, *rows])


def by_nautilus(posterior, out, seed):
    """Every parameter in one space, as nested samplers have it."""
    import nautilus
    from scipy import stats

    priors = {name: stats.uniform(low, high - low) for name, low, high in zip(COSMOLOGY, LOWER, UPPER)}
    priors["tau"] = stats.norm(*TAU_PRIOR)
    low, high = CALIBRATION_BOUNDS
    for name in NUISANCES:
        priors[name] = stats.norm(*PRIORS[name]) if name in PRIORS else stats.uniform(low, high - low)
    prior = nautilus.Prior()
    for name, density in priors.items():
        prior.add_parameter(name, density)

    def log_likelihood(point):
        values = np.array([point[name] for name in priors])
        cache = posterior.prepare(values[: len(COSMOLOGY)])
        return -np.inf if cache is None else posterior.log_likelihood(cache, values[len(COSMOLOGY) :])

    begun = time.process_time()
    sampler = nautilus.Sampler(prior, log_likelihood, seed=seed, n_live=2000)
    # First what it has once it has explored; then without the points of exploring, which its authors advise where it matters.
    for name, n_eff, alone in (("nautilus", 400, False), ("nautilus, long", 10_000, True)):
        sampler.discard_exploration = alone
        sampler.run(n_eff=n_eff, discard_exploration=alone, verbose="-v" in sys.argv)
        se = 1 / np.sqrt(sampler.n_eff)
        write(out, name, seed, sampler.n_like, sampler.log_z, se)
        report(name, seed, spectra=int(sampler.n_like), ln_z=float(sampler.log_z), se=float(se), n_eff=float(sampler.n_eff), begun=begun)


def by_towline(posterior, out, seed):
    """One chain's learning and the weights of slow points, from a cold start."""
    import towline

    begun = time.process_time()
    run = towline.sample(posterior.model(), error=ERROR, chains=1, draws=1000, seed=seed, cost_ratio=COST_RATIO, progress=False)
    found, spectra = run.evidence(), int(run.summary().cost["slow_evals"])
    write(out, "Towline", seed, spectra, found["ln_z"], found["se"])
    report("Towline", seed, spectra=spectra, ln_z=found["ln_z"], se=found["se"], ended=run.ended, draws=run.draws_made, begun=begun)


def report(sampler, seed, begun, **found):
    print("RESULT", json.dumps(dict(sampler=sampler, seed=seed, **found, cpu=round(time.process_time() - begun))), flush=True)


def main():
    which, posterior, out = sys.argv[1], Posterior(sys.argv[2]), Path(sys.argv[3])
    for seed in [int(seed) for seed in sys.argv[4:] if seed != "-v"] or [1]:
        (by_nautilus if which == "nautilus" else by_towline)(posterior, out, seed)


if __name__ == "__main__":
    main()
