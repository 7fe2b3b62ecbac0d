"""The CMB example from end to end: sample, say what was found, and make the page. Run again, it continues where it stopped."""

import argparse
import os
import sys
from pathlib import Path

# One thread for each chain's linear algebra: the matrices are small, and chains run side by side.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

# How many fast evaluations a slow one costs, said beforehand so that a seed gives the same draws on every machine: CAMB takes 2.4 s
# and a fast evaluation 1 ms. The emulator stands for CAMB and is given the same.
COST_RATIO = 2000.0


def arguments(given=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="the folder with the SPT-3G data release (or $TOWLINE_CMB_DATA)")
    parser.add_argument("--camb", action="store_true", help="run CAMB itself, not the emulator")
    parser.add_argument("--accuracy", type=int, default=1, help="CAMB's lens_potential_accuracy (0 only to try things)")
    parser.add_argument("--out", type=Path, help="the run directory (default: runs/cmb, or runs/cmb-camb)")
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument("--draws", type=int, default=1000, help="draws of each chain, at most")
    parser.add_argument("--warmup", type=int, help="slow evaluations of each chain's warm-up")
    parser.add_argument("--tuning", help="a run directory whose tuning to use instead of a warm-up, such as that of a run with the emulator")
    parser.add_argument("--ess", type=float, help="stop at so many effective draws of every parameter")
    parser.add_argument("--error", type=float, help="stop at this standard error of every cosmological parameter, in posterior sds (0.05, say): far fewer CAMB runs than draws need")
    parser.add_argument("--workers", type=int, help="slow evaluations at a time, in processes")
    parser.add_argument("--time-limit", type=float, help="seconds, at most")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--parallel", choices=["processes", "threads", "serial"])
    parser.add_argument("--no-page", action="store_true", help="only sample")
    return parser.parse_args(given)


def main(given=None):
    asked = arguments(given)
    sys.path.insert(0, str(Path(__file__).parent))
    import towline
    from model import Posterior
    from spt3g import DataMissing

    out = asked.out or Path("runs") / ("cmb-camb" if asked.camb else "cmb")
    try:
        posterior = Posterior(asked.data, asked.camb, asked.accuracy)
    except DataMissing as missing:
        raise SystemExit(f"error: {missing}") from None
    common = dict(parallel=asked.parallel, time_limit=asked.time_limit, draws=asked.draws, error=asked.error, workers=asked.workers)
    if (out / "manifest.json").exists():
        print(f"continuing the run in {out}")
        run = towline.resume(out, posterior.model(), **common)
    else:
        run = towline.sample(
            posterior.model(),
            chains=asked.chains,
            warmup=asked.warmup,
            tuning=asked.tuning,
            seed=asked.seed,
            out=out,
            cost_ratio=COST_RATIO,
            ess=asked.ess,
            **common,
        )
    print(run.summary())
    # The page is made of draws.
    if not asked.no_page and run.draws_made:
        from page import write

        print(f"the constraints beside the published ones: {write(out, posterior)}")
    return run


if __name__ == "__main__":
    main()
