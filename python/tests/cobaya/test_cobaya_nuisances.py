"""Where twenty coupled nuisances would limit a run, fast moves are made until they do not."""

import arviz
import numpy as np
from cobaya.run import run
from frequencies import COSMOLOGY, NUISANCES, frequencies
from problems import chains


def effective(sampler, names):
    """The least effective sample size of these, by ArviZ."""
    return min(float(arviz.ess(chains(sampler, name), method="mean")) for name in names)


def test_the_worst_of_all_parameters_needs_few_slow_evaluations():
    _, sampler = run(frequencies(chains=2, max_samples=400, Rminus1_stop=1e-4))
    assert sampler.speeds.slow == list(COSMOLOGY) and sampler.speeds.fast == list(NUISANCES)
    slow = sampler.engine_run.statistics["slow_evals"].sum()
    over_slow, over_all = (slow / effective(sampler, names) for names in (COSMOLOGY, [*COSMOLOGY, *NUISANCES]))
    print(f"{over_slow:.2f} slow evaluations per effective draw over the slow parameters, {over_all:.2f} over all")
    assert over_all <= 2.5
    # The data were made from the truth.
    for name, (centre, _) in (COSMOLOGY | NUISANCES).items():
        draws = chains(sampler, name)
        assert abs(draws.mean() - centre) < 4 * draws.std(), name
    assert np.all(chains(sampler, "poisson0") > 0)
