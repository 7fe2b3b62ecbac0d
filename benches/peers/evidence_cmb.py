"""The evidence of the emulated CMB posterior (6 slow + 17 fast parameters): by a nested sampler and by Towline's weights, with the spectra that each took.

    python evidence_cmb.py nautilus DATA OUT.csv [SEED …]
    python evidence_cmb.py quick DATA OUT.csv [SEED …]
    python evidence_cmb.py towline DATA OUT.csv [SEED …]
    python evidence_cmb.py reference DATA OUT.csv

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

HEADER = ["sampler", "seed", "spectra", "ln_z", "se"]
# The standard error of every cosmological parameter that Towline is asked for.
ERROR = 0.05
# nautilus' live points and networks: its own choice, and half of the points with one of the four networks, by which it takes fewer spectra and a fifth of
# its own arithmetic.
NAUTILUS = {"nautilus": {"n_live": 2000, "n_networks": 4}, "quick": {"n_live": 1000, "n_networks": 1}}
# How its rows are called: with the points of exploring, and without them, which its authors advise where it matters.
NAMES = {"nautilus": ("nautilus, exploring", "nautilus"), "quick": ("nautilus, 1,000 live, exploring", "nautilus, 1,000 live")}
# Points of the prior at which many at once must be the same as one at a time.
CHECKED = 400


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


def by_nautilus(posterior, out, seed, which):
    """Every parameter in one space, as nested samplers have it; many points are computed at once, which saves it time and no spectra."""
    import nautilus
    from cmb_batch import Batch
    from cmb_reference import densities

    priors = densities()

    def from_cube(cube):
        return np.stack([density.ppf(cube[..., k]) for k, density in enumerate(priors.values())], axis=-1)

    likelihood = Batch(posterior)
    apart, inside = likelihood.check(from_cube(np.random.default_rng(seed).random((CHECKED, len(priors)))))
    print(f"many points at once: ln L as one at a time to {apart:.0e} at {inside} of {CHECKED} points, the others outside for both", flush=True)
    begun = time.process_time()
    sampler = nautilus.Sampler(from_cube, likelihood, n_dim=len(priors), pass_dict=False, vectorized=True, seed=seed, **NAUTILUS[which])
    for name, n_eff, alone in zip(NAMES[which], (400, 10_000), (False, True)):
        sampler.discard_exploration = alone
        # A short round at a time, so that whoever waits sees how far it is.
        while not sampler.run(n_eff=n_eff, discard_exploration=alone, timeout=60):
            print(f"  {len(sampler.bounds)} bounds, {sampler.n_like} spectra, ln Z {sampler.log_z:.3f}, effective {sampler.n_eff:.0f}", flush=True)
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


def by_reference(posterior, out, seed):
    """By brute force, which only a likelihood for many points at once can pay."""
    from cmb_batch import Batch
    from cmb_reference import evidence

    begun = time.process_time()
    ln_z, se, spectra = evidence(Batch(posterior), seed)
    write(out, "importance sampling", seed, spectra, ln_z, se)
    report("importance sampling", seed, spectra=spectra, ln_z=ln_z, se=se, begun=begun)


def report(sampler, seed, begun, **found):
    print("RESULT", json.dumps(dict(sampler=sampler, seed=seed, **found, cpu=round(time.process_time() - begun))), flush=True)


def main():
    which, posterior, out = sys.argv[1], Posterior(sys.argv[2]), Path(sys.argv[3])
    for seed in [int(seed) for seed in sys.argv[4:]] or [1]:
        if which in NAUTILUS:
            by_nautilus(posterior, out, seed, which)
        else:
            {"towline": by_towline, "reference": by_reference}[which](posterior, out, seed)


if __name__ == "__main__":
    main()
