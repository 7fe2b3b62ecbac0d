"""The sampler that Cobaya sees: options in, a run of the engine, Cobaya's own products out."""

import datetime
import math
import os
import re
import tempfile

import numpy as np
from cobaya import mpi
from cobaya.conventions import Extension
from cobaya.log import LoggedError
from cobaya.sampler import CovmatSampler
from cobaya.tools import NumberWithUnits
from cobaya.yaml import yaml_dump_file

import towline

from . import speeds, tuning
from .chains import Chain, r_minus_one
from .evaluator import Bypass, Ordinary

# Chains in a single process, where nothing is said.
CHAINS = 4
# Draws of each chain, where nothing is said: far more than a run should need, so that R - 1 decides.
MOST_DRAWS = 1_000_000
# Slow evaluations of all chains' warm-ups together, for any model and for every slow parameter; and the least that one
# chain should have.
WARMUP_BASE, WARMUP_EACH, WARMUP_LEAST = 400, 150, 250
# What the run directory's name ends with.
RUN_DIRECTORY = "towline"
# Points at which the bypass is compared with Cobaya before it is trusted.
CHECKS = 2

MEANINGLESS = {
    "burn_in": "warm-up is not part of the chains",
    "max_tries": "a chain that is stuck shows in R-1",
    "proposal_scale": "the scale of proposals is learned in warm-up",
    "learn_every": "proposals are learned in warm-up, and frozen then",
    "learn_proposal_Rminus1_max": "proposals are learned in warm-up, and frozen then",
    "learn_proposal_Rminus1_max_early": "proposals are learned in warm-up, and frozen then",
    "learn_proposal_Rminus1_min": "proposals are learned in warm-up, and frozen then",
    "Rminus1_cl_stop": "Rminus1_stop and ess decide when to stop",
    "Rminus1_cl_level": "Rminus1_stop and ess decide when to stop",
    "Rminus1_single_split": "a single chain is compared with itself as it is",
    "oversample_power": "warm-up finds how many fast moves pay",
    "oversample_thin": "there is one draw for each slow proposal",
    "drag": "fast parameters are always dragged where that pays",
}


class Towline(CovmatSampler):
    """Drags fast parameters along with slow ones (Neal 2005), with frames and proposals learned in warm-up."""

    sampler_type = "mcmc"
    supports_periodic_params = True
    _at_resume_prefer_new = CovmatSampler._at_resume_prefer_new + [
        *("Rminus1_stop", "ess", "max_samples", "time_limit", "parallel", "output_every", "bypass", "measure_speeds"),
        *("covmat", "covmat_params", "cost_ratio", "warmup", "tuning", "learn_proposal"),
        *MEANINGLESS,
    ]
    _at_resume_prefer_old = CovmatSampler._at_resume_prefer_old + ["blocking", "chains", "seed"]
    file_base_name = "Towline"

    def set_instance_defaults(self):
        """What a checkpoint may overwrite."""
        super().set_instance_defaults()
        self.converged = False
        self.Rminus1_last = np.inf
        self.mpi_size = None

    def initialize(self):
        """Reads the options, finds speeds, and makes the model that the engine samples; checked against Cobaya's."""
        if not self.model.prior.d():
            raise LoggedError(self.log, "No parameters being varied for sampler")
        self._read_options()
        if self.output.is_resuming() and self.mpi_size not in (None, mpi.size()):
            raise LoggedError(
                self.log,
                "Cannot resume a run with a different number of MPI processes: was %d and now is %d.",
                self.mpi_size,
                mpi.size(),
            )
        if self.measure_speeds and not self.blocking and self.cost_ratio is None:
            n = None if self.measure_speeds is True else int(self.measure_speeds)
            self.model.measure_and_set_speeds(n=n, discard=0, random_state=self._rng)
        self.speeds = mpi.share_mpi(speeds.find(self.model, self.blocking, self.log) if mpi.is_main_process() else None)
        self._say_speeds()
        self._updated_info["blocking"] = self._blocking()
        self.evaluator = self._evaluator()
        self.engine_seed = self._seed()
        self.chains_here = []
        if mpi.is_main_process() and self.output and not self.output.is_resuming():
            self._write_progress_header()
            self._write_checkpoint()
        mpi.sync_processes()

    def _get_requested_cache_size(self):
        return self.evaluator.cache_size

    # Options.

    def _read_options(self):
        for name in ("temperature", "callback_function", "callback_every"):
            value = getattr(self, name)
            if value is not None and not (name == "temperature" and value == 1):
                raise LoggedError(
                    self.log, "`%s` is not supported by Towline: leave it out, or use another sampler.", name
                )
        for name, why in MEANINGLESS.items():
            if getattr(self, name) is not None:
                self.mpi_info("`%s` means nothing here: %s.", name, why)
        self.output_every = NumberWithUnits(self.output_every, "s", dtype=int)
        self.chains = self._chains()
        # No threads: components keep the state that they are asked about, one for all.
        if self.parallel not in ("serial", "processes"):
            raise LoggedError(self.log, "`parallel` must be serial or processes; got %r.", self.parallel)
        if not (isinstance(self.Rminus1_stop, (int, float)) and self.Rminus1_stop > 0):
            raise LoggedError(self.log, "`Rminus1_stop` must be above 0, such as 0.01; got %r.", self.Rminus1_stop)
        if not (isinstance(self.max_samples, (int, float)) and self.max_samples >= 1):
            raise LoggedError(self.log, "`max_samples` must be at least 1; got %r.", self.max_samples)
        if self.covmat is not None and self.learn_proposal:
            self.mpi_info("`covmat` is not needed: covariances are learned in warm-up. (With `learn_proposal: False` it is used.)")
        if not self.learn_proposal and self.tuning is not None:
            raise LoggedError(self.log, "`learn_proposal: False` takes `covmat`, `tuning` takes an earlier run's: give one.")

    def _chains(self):
        if mpi.more_than_one_process():
            if self.chains not in (None, mpi.size()):
                raise LoggedError(
                    self.log, "Under MPI there is one chain for each process: %d, not `chains: %r`.", mpi.size(), self.chains
                )
            return mpi.size()
        chains = CHAINS if self.chains is None else self.chains
        if not (isinstance(chains, int) and chains >= 1):
            raise LoggedError(self.log, "`chains` must be a number above 0; got %r.", self.chains)
        return chains

    def _seed(self):
        """The engine's seed: the one given, or one that nobody knows; the same in all processes."""
        seed = self.seed
        if seed is None:
            seed = int(np.random.SeedSequence().entropy % 2**53)
        elif not (isinstance(seed, (int, np.integer)) and seed >= 0):
            raise LoggedError(self.log, "`seed` must be a number, 0 or above; got %r.", self.seed)
        return mpi.share_mpi(int(seed) if mpi.is_main_process() else None)

    def _warmup(self):
        if self.warmup is not None:
            return int(self.warmup)
        together = WARMUP_BASE + WARMUP_EACH * len(self.speeds.slow)
        return max(WARMUP_LEAST, math.ceil(together / self.chains))

    # Speeds and the evaluator.

    def _say_speeds(self):
        s = self.speeds
        self.mpi_info("Slow: %r", s.slow)
        if s.fast:
            ratio = self._cost_ratio() or s.ratio
            self.mpi_info("Fast: %r (a slow evaluation costs %.3g fast ones)", s.levels, ratio)
        self.mpi_info("That is %s.", s.reason)

    def _cost_ratio(self):
        """What a slow evaluation costs in fast ones; None where evaluations are better timed.

        One number cannot tell what a nested drag saves: with more than two speeds the engine goes by seconds.
        """
        if self.cost_ratio is not None:
            return float(self.cost_ratio)
        return None if len(self.speeds.levels) > 1 else self.speeds.ratio

    def _blocking(self):
        """What a resumed run takes for granted: the blocks, with factors that say which are slow."""
        s = self.speeds
        return [[1 if k < s.n_slow else 2, list(block)] for k, block in enumerate(s.blocks)]

    def _evaluator(self):
        """The bypass where it agrees with Cobaya, else the ordinary way; the same in all processes."""
        if not self.bypass:
            return Ordinary(self.model, self.speeds)
        evaluator = problem = None
        try:
            evaluator = Bypass(self.model, self.speeds)
        except AttributeError as missing:
            # Another version of Cobaya, whose insides are different.
            problem = f"this Cobaya has other insides ({missing})"
        if problem is None and mpi.is_main_process():
            points = [self.model.prior.reference(random_state=self._rng, warn_if_no_ref=False) for _ in range(CHECKS)]
            if not evaluator.agrees(points, self.log):
                problem = "components called directly do not give what they give through Cobaya"
        problem = mpi.share_mpi(problem)
        if problem is None:
            return evaluator
        self.mpi_warning("Going through Cobaya for every evaluation, which is slower: %s.", problem)
        return Ordinary(self.model, self.speeds)

    def engine_model(self):
        """The model as the engine takes it."""
        e, s = self.evaluator, self.speeds

        def prior(name):
            return getattr(towline, e.priors[name].family)(*e.priors[name].arguments)

        labels = self.model.parameterization.labels()
        return towline.Model(
            slow={name: prior(name) for name in s.slow},
            fast={name: prior(name) for name in s.fast},
            prepare=e.prepare,
            log_likelihood=e.log_likelihood,
            derived=e.derived,
            derived_names=e.derived_names,
            labels={name: label for name, label in labels.items() if name in e.names + e.derived_params},
            blocks=[list(block) for block in s.levels] if len(s.levels) > 1 else None,
            start=e.start,
        )

    # Running.

    @property
    def run_directory(self):
        """The exact record of the run, from which it is resumed and chains are written."""
        return self.get_run_directory(self.output)

    @classmethod
    def get_run_directory(cls, output):
        """Beside the chains."""
        return os.path.join(output.folder, output.prefix + ("." if output.prefix else "") + RUN_DIRECTORY)

    def run(self):
        """Runs until chains agree, all draws are made, or the time is up."""
        folder = self._folder()
        resuming = mpi.share_mpi(os.path.exists(os.path.join(folder, "manifest.json")) if mpi.is_main_process() else None)
        self._update_from = folder
        self._last_output = datetime.datetime.now()
        self.mpi_info("Continuing the run in %s", folder) if resuming else self.mpi_info("Sampling!")
        with mpi.ProcessState(self) as state:
            self._state = state
            self.engine_run = self._resume(folder) if resuming else self._begin(folder)
            # The run's directory lives as long as the run, which may outlive this object.
            self.engine_run._temporary = self._scratch
            self._finish()

    def _folder(self):
        self._scratch = None
        if self.output:
            return self.run_directory
        # Without output there is nothing to resume; a run directory is needed all the same.
        if mpi.is_main_process():
            self._scratch = tempfile.TemporaryDirectory(prefix="towline-")
        name = mpi.share_mpi(self._scratch.name if self._scratch else None)
        return os.path.join(name, "run")

    def _how(self):
        """What a run is told, whether it begins or continues."""
        parallel = mpi.get_mpi_comm().Dup() if mpi.more_than_one_process() else self.parallel
        draws = int(min(self.max_samples, MOST_DRAWS))
        return dict(draws=draws, parallel=parallel, time_limit=self.time_limit, progress=self._look)

    def _begin(self, folder):
        tuned = self._tuning()
        return towline.sample(
            self.engine_model(),
            chains=self.chains,
            warmup=None if tuned else self._warmup(),
            seed=self.engine_seed,
            out=folder,
            cost_ratio=self._cost_ratio(),
            tuning=tuned,
            **self._stop(),
            **self._how(),
        )

    def _stop(self):
        """R - 1 is a ratio of variances, R-hat of standard deviations; and it falls with the effective draws of each chain."""
        return {"rhat": 1 + 0.5 * self.Rminus1_stop, "ess": self.ess or max(self.chains, 4) / self.Rminus1_stop}

    def _resume(self, folder):
        recorded = towline.open(folder).manifest["options"]
        if recorded.get("stop_rhat") is not None and not np.isclose(recorded["stop_rhat"], self._stop()["rhat"], rtol=1e-12):
            self.mpi_warning(
                "A run keeps the Rminus1_stop that it was begun with. For another, begin anew with `tuning: %s`, which needs no warm-up.",
                folder,
            )
        return towline.resume(folder, self.engine_model(), **self._how())

    def _tuning(self):
        if self.tuning is not None:
            return self.tuning
        if self.learn_proposal:
            return None
        if self.covmat is None:
            raise LoggedError(self.log, "`learn_proposal: False` needs a `covmat`: without one there is nothing to propose by.")
        covmat, _ = self._load_covmat(prefer_load_old=False)
        centre = mpi.share_mpi(
            self.model.prior.reference(random_state=np.random.default_rng(self.engine_seed), warn_if_no_ref=False)
            if mpi.is_main_process()
            else None
        )
        e = self.evaluator
        return tuning.from_covariance(covmat, e.names, e.priors, self.speeds.slow, self.speeds.fast, centre)

    def _look(self, progress):
        """Called now and then while the run is under way."""
        self._state.check_error()
        now = datetime.datetime.now()
        if self.output and (now - self._last_output).total_seconds() >= self.output_every.value:
            self._last_output = now
            self._update_chains(ended=False)
            self.log.info("%s", _in_words(progress))

    def _update_chains(self, ended):
        if not os.path.exists(os.path.join(self._update_from, "manifest.json")):
            return
        if not self.chains_here:
            mine = [mpi.rank()] if mpi.more_than_one_process() else range(self.chains)
            self.chains_here = [
                Chain(self.model, self.output, self.evaluator, self._update_from, k, self.chains > 1) for k in mine
            ]
        for chain in self.chains_here:
            chain.update(ended)

    def _finish(self):
        self._update_chains(ended=True)
        mpi.sync_processes()
        everywhere = [chain for some in mpi.allgather(self.chains_here) for chain in some]
        self.Rminus1_last = r_minus_one(everywhere)
        self.converged = self.engine_run.ended == "target reached"
        self.cost = self.engine_run.summary().cost
        draws = sum(chain.draws for chain in everywhere)
        rows = sum(len(chain.collection) for chain in everywhere)
        self.mpi_info(
            "%d draws of %d chains (%d different ones), R-1 = %.4g: %s",
            draws,
            len(everywhere),
            rows,
            self.Rminus1_last,
            "converged" if self.converged else "not yet as asked for",
        )
        if mpi.is_main_process() and self.output:
            self._write_files(everywhere, draws, rows)

    def warmup_evaluations(self):
        """Slow evaluations of all chains' warm-ups."""
        return self.cost["slow_evals"] - int(self.engine_run.statistics["slow_evals"].sum())

    # Files.

    def _write_files(self, chains, draws, rows):
        covariance = np.average(
            [chain.collection.cov() for chain in chains if len(chain.collection) > 1] or [np.zeros((1, 1))], axis=0
        )
        if len(covariance) == self.model.prior.d():
            self.dump_covmat(covariance)
        self._write_checkpoint()
        with open(self.progress_filename(), "a", encoding="utf-8") as file:
            stamp = datetime.datetime.now().isoformat(timespec="seconds")
            file.write(f"{draws:9d} {stamp:>26} {rows / max(draws, 1):15.6f} {self.Rminus1_last:15.6f} {np.nan:15.6f}\n")

    def _write_checkpoint(self):
        """What Cobaya sets on a sampler before it is initialised again. The run itself is in the run directory."""
        state = {"converged": bool(self.converged), "Rminus1_last": float(self.Rminus1_last), "mpi_size": mpi.size()}
        yaml_dump_file(self.checkpoint_filename(), {"sampler": {self.get_name(): state}}, error_if_exists=False)

    def _write_progress_header(self):
        with open(self.progress_filename(), "w", encoding="utf-8") as file:
            file.write("#       N                  timestamp acceptance_rate         Rminus1      Rminus1_cl\n")

    # Products.

    def samples(self, combined=False, skip_samples=0, to_getdist=False):
        """The chain of this process (all its chains in one, where it has several).

        Warm-up is not part of the chains, so nothing has to be skipped.

        :param combined: under MPI, the chains of all processes in one.
        :param skip_samples: rows, or a fraction of them, to leave out at the beginning of each chain.
        :param to_getdist: all chains of all processes as a `getdist.MCSamples`.
        """
        mine = [chain.collection.skip_samples(skip_samples, inplace=False) for chain in self.chains_here]
        if to_getdist or combined:
            mine = [one for some in mpi.allgather(mine) for one in some]
        if not mine:
            return None
        if to_getdist:
            return mine[0].to_getdist(combine_with=mine[1:])
        first = mine[0].copy()
        for other in mine[1:]:
            first._append(other)
        return first

    def products(self, combined=False, skip_samples=0, to_getdist=False):
        """`sample` as [`samples`] has it; `run` is the engine's own, with its summary and diagnostics."""
        return {
            "sample": self.samples(combined=combined, skip_samples=skip_samples, to_getdist=to_getdist),
            "run": getattr(self, "engine_run", None),
        }

    @classmethod
    def output_files_regexps(cls, output, info=None, minimal=False):
        """Chains, and the run directory: what is there when there is something to resume."""

        def named(ending):
            return re.compile(output.prefix_regexp_str + re.escape(ending) + "$")

        patterns = [output.collection_regexp(name=None), named(RUN_DIRECTORY)]
        if not minimal:
            patterns += [named(ext.lstrip(".")) for ext in (Extension.checkpoint, Extension.progress, Extension.covmat)]
        return [(pattern, None) for pattern in patterns]

    @classmethod
    def get_version(cls):
        """Towline's."""
        return towline.__version__


def _in_words(progress):
    """How far the run is, in a line."""
    chains = progress.get("chains") if isinstance(progress, dict) else None
    if not chains:
        return "Sampling"
    parts = [c["phase"] + (f" ({c['draws']} draws)" if c["phase"] == "sampling" else "") for c in chains]
    slow = sum(c["slow_evaluations"] for c in chains)
    return f"Progress: {', '.join(parts)}; {slow} slow evaluations"
