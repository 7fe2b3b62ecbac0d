"""The sampler's options: read, checked before anything runs, and those of `mcmc` that mean nothing here said to."""

import math

import numpy as np
from cobaya import mpi
from cobaya.log import LoggedError
from cobaya.tools import NumberWithUnits, get_external_function

# Chains in a single process, where nothing is said.
CHAINS = 4
# Slow evaluations of all chains' warm-ups together, for any model and for every slow parameter; and the least that one
# chain should have.
WARMUP_BASE, WARMUP_EACH, WARMUP_LEAST = 400, 150, 250

MEANINGLESS = {
    "burn_in": "the way to the posterior is not part of the chains",
    "max_tries": "a chain that is stuck shows in R-1",
    "proposal_scale": "the scale of proposals is learned in warm-up",
    "learn_every": "proposals are learned in warm-up, and frozen then",
    "learn_proposal_Rminus1_max": "proposals are learned in warm-up, and frozen then",
    "learn_proposal_Rminus1_max_early": "proposals are learned in warm-up, and frozen then",
    "learn_proposal_Rminus1_min": "proposals are learned in warm-up, and frozen then",
    "oversample_power": "warm-up finds how many fast moves pay",
    "oversample_thin": "there is one draw for each slow proposal",
    "drag": "fast parameters are always dragged where that pays",
}


def read(sampler):
    """Checks the options of a sampler, and puts in place what stands for those that were left out."""
    log = sampler.log
    for name, why in MEANINGLESS.items():
        if getattr(sampler, name) is not None:
            sampler.mpi_info("`%s` means nothing here: %s.", name, why)
    sampler.output_every = NumberWithUnits(sampler.output_every, "s", dtype=int)
    sampler.chains = _chains(sampler)
    # No threads: components keep the state that they are asked about, one for all.
    if sampler.parallel not in ("serial", "processes"):
        raise LoggedError(log, "`parallel` must be serial or processes; got %r.", sampler.parallel)
    if sampler.temperature is None:
        sampler.temperature = 1
    for name, such_as in (("Rminus1_stop", "such as 0.01"), ("temperature", "such as 2; 1 is the posterior")):
        _check_number(sampler, name, f"above 0, {such_as}", lambda value: value > 0)
    _check_number(sampler, "Rminus1_cl_stop", "0 (never) or above, such as 0.2", lambda value: value >= 0)
    if not 0 < sampler.Rminus1_cl_level < 1:
        raise LoggedError(log, "`Rminus1_cl_level` must be between 0 and 1, such as 0.95; got %r.", sampler.Rminus1_cl_level)
    if not (isinstance(sampler.Rminus1_single_split, int) and sampler.Rminus1_single_split >= 2):
        raise LoggedError(log, "`Rminus1_single_split` must be at least 2; got %r.", sampler.Rminus1_single_split)
    if not (isinstance(sampler.max_samples, (int, float)) and sampler.max_samples >= 1):
        raise LoggedError(log, "`max_samples` must be at least 1; got %r.", sampler.max_samples)
    if not sampler.learn_proposal and sampler.tuning is not None:
        raise LoggedError(log, "`learn_proposal: False` takes `covmat`, `tuning` takes an earlier run's: give one.")
    if not sampler.learn_proposal and sampler.covmat is None:
        raise LoggedError(log, "`learn_proposal: False` needs a `covmat`: without one there is nothing to propose by.")
    _check_error(sampler)
    _check_workers(sampler)
    _read_callback(sampler)


def _check_error(sampler):
    """A standard error to stop at, where one is asked for."""
    if sampler.error_stop is None:
        return
    _check_number(sampler, "error_stop", "between 0.005 and 0.5 standard deviations, such as 0.03", lambda value: 0.005 <= value <= 0.5)
    if mpi.more_than_one_process():
        raise LoggedError(sampler.log, "`error_stop` weighs slow points from a single process: run it without mpirun (`workers` makes several evaluations at a time), or leave it out.")
    if sampler.parallel == "processes":
        sampler.mpi_info("`parallel: processes` means nothing with `error_stop`: chains take turns.")
        sampler.parallel = "serial"


def _check_workers(sampler):
    """How many slow evaluations are made at a time."""
    # Draws are the same with any number of workers that is given, one included, and other ones without.
    sampler.has_workers = sampler.workers is not None
    workers = sampler.workers = 1 if sampler.workers is None else sampler.workers
    if isinstance(workers, bool) or not (isinstance(workers, int) and workers >= 1):
        raise LoggedError(sampler.log, "`workers` must be a number above 0; got %r.", workers)
    if workers > 1 and mpi.more_than_one_process():
        raise LoggedError(sampler.log, "`workers` are processes of a single one: run it without mpirun, or leave it out.")
    if workers > 1 and sampler.parallel == "processes":
        sampler.mpi_info("`parallel: processes` means nothing with `workers`: chains run here, and workers evaluate for them.")
        sampler.parallel = "serial"


def _check_number(sampler, name, words, fits):
    value = getattr(sampler, name)
    if isinstance(value, bool) or not (isinstance(value, (int, float)) and fits(value) and math.isfinite(value)):
        raise LoggedError(sampler.log, "`%s` must be %s; got %r.", name, words, value)


def _read_callback(sampler):
    sampler.last_point_callback = 0
    sampler.callback_function_callable = None
    if sampler.callback_function is not None:
        sampler.callback_function_callable = get_external_function(sampler.callback_function)
    if sampler.callback_every is not None:
        if sampler.callback_function is None:
            raise LoggedError(sampler.log, "`callback_every` needs a `callback_function`.")
        sampler.callback_every = NumberWithUnits(sampler.callback_every, "d", scale=sampler.model.prior.d(), dtype=int)


def _chains(sampler):
    given = sampler.chains
    if mpi.more_than_one_process():
        if given not in (None, mpi.size()):
            raise LoggedError(
                sampler.log, "Under MPI there is one chain for each process: %d, not `chains: %r`.", mpi.size(), given
            )
        return mpi.size()
    chains = CHAINS if given is None else given
    if not (isinstance(chains, int) and chains >= 1):
        raise LoggedError(sampler.log, "`chains` must be a number above 0; got %r.", given)
    return chains


def seed(sampler):
    """The engine's seed: the one given, or one that nobody knows; the same in all processes."""
    given = sampler.seed
    if given is None:
        given = int(np.random.SeedSequence().entropy % 2**53)
    elif not (isinstance(given, (int, np.integer)) and given >= 0):
        raise LoggedError(sampler.log, "`seed` must be a number, 0 or above; got %r.", given)
    return mpi.share_mpi(int(given) if mpi.is_main_process() else None)


def warmup(sampler):
    """Slow evaluations of each chain's warm-up."""
    if sampler.warmup is not None:
        return int(sampler.warmup)
    together = WARMUP_BASE + WARMUP_EACH * len(sampler.speeds.slow)
    return max(WARMUP_LEAST, math.ceil(together / sampler.chains))
