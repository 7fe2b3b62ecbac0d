"""The sampler that Cobaya sees: options in, a run of the engine, Cobaya's own products out."""

import dataclasses
import os
import re
import tempfile

import numpy as np
from cobaya import mpi
from cobaya.conventions import Extension
from cobaya.log import LoggedError
from cobaya.sampler import CovmatSampler
from cobaya.yaml import yaml_dump_file

import towline

from . import options, speeds, tuning, weighing
from .convergence import Convergence
from .evaluator import Bypass, Ordinary
from .matching import Learned
from .watching import Watch
from .workers import Team

# Draws of each chain, where nothing is said: far more than a run should need, so that R - 1 decides.
MOST_DRAWS = 1_000_000
# What the run directory's name ends with.
RUN_DIRECTORY = "towline"
# Points at which the bypass is compared with Cobaya before it is trusted.
CHECKS = 2
# Reference points that are tried before it is said that none has a likelihood.
STARTS = 20
# What to do about a run that did not come to its end, in the words of `cobaya-run`.
CONTINUES = "its draws are kept: `cobaya-run INPUT.yaml --resume` (or `resume: True`) continues it"


class Towline(CovmatSampler):
    """Drags fast parameters along with slow ones (Neal 2005), with frames and proposals learned in warm-up."""

    sampler_type = "mcmc"
    supports_periodic_params = True
    _at_resume_prefer_new = CovmatSampler._at_resume_prefer_new + [
        *("Rminus1_stop", "Rminus1_cl_stop", "Rminus1_cl_level", "Rminus1_single_split", "ess", "max_samples", "time_limit"),
        *("error_stop", "workers"),
        *("parallel", "output_every", "bypass", "measure_speeds", "callback_function", "callback_every"),
        *("covmat", "covmat_params", "cost_ratio", "warmup", "tuning", "learn_proposal"),
        *options.MEANINGLESS,
    ]
    _at_resume_prefer_old = CovmatSampler._at_resume_prefer_old + ["blocking", "chains", "seed", "temperature"]
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
        options.read(self)
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
        self.learned = None
        self.speeds = mpi.share_mpi(speeds.find(self.model, self.blocking, self.log) if mpi.is_main_process() else None)
        self._follow_tuning()
        self._say_speeds()
        self._updated_info["blocking"] = self._blocking()
        self.evaluator = self._evaluator()
        if self.learned is not None:
            self.learned.check_priors({n: self._prior(n).text for n in self.evaluator.names}, self.log)
        self.engine_seed = options.seed(self)
        self._watch = self._team = None
        if mpi.is_main_process() and self.output and not self.output.is_resuming():
            Watch(self, None, None).header()
            self._write_checkpoint()
        mpi.sync_processes()

    def _get_requested_cache_size(self):
        return self.evaluator.cache_size

    # Speeds and the evaluator.

    def _follow_tuning(self):
        """Slow and fast parameters in the order in which an earlier run learned them. A resumed run has its own."""
        resuming = self.output and os.path.exists(os.path.join(self.run_directory, "manifest.json")) and self.output.is_resuming()
        given = self.run_directory if resuming else self.tuning
        if given is not None:
            learned = Learned(given, self.log, bare=resuming)
            self.speeds = learned.speeds(self.speeds, self.log)
            self.learned = None if resuming else learned
            if resuming:
                self.speeds.reason = "as in the run that is continued"

    def _say_speeds(self):
        s = self.speeds
        self.mpi_info("Slow: %r", s.slow)
        if s.fast:
            ratio = self._cost_ratio() or s.ratio
            self.mpi_info("Fast: %r (a slow evaluation costs as much as %.3g fast)", s.levels, ratio)
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
        bypass = problem = lifeless = None
        try:
            bypass = Bypass(self.model, self.speeds, self.temperature)
        except AttributeError as missing:
            # Another version of Cobaya, whose insides are different.
            problem = f"this Cobaya has other insides ({missing})"
        if bypass is not None and mpi.is_main_process():
            points = [self._reference() for _ in range(CHECKS)]
            if self.bypass and not bypass.agrees(points, self.log):
                problem = "components called directly do not give what they give through Cobaya"
            else:
                lifeless = self._lifeless(bypass, points)
        problem, lifeless = mpi.share_mpi((problem, lifeless))
        if lifeless is not None:
            raise LoggedError(self.log, lifeless)
        if problem is None and self.bypass:
            return bypass
        if problem is not None:
            self.mpi_warning("Going through Cobaya for every evaluation, which is slower: %s.", problem)
        return Ordinary(self.model, self.speeds, self.temperature)

    def _reference(self):
        return self.model.prior.reference(random_state=self._rng, warn_if_no_ref=False)

    def _lifeless(self, evaluator, points):
        """What is wrong where no reference point has a likelihood, in the words of what failed; nothing where one has."""
        for k in range(STARTS):
            point = points[k] if k < len(points) else self._reference()
            x, y = evaluator.split(point)
            cache = evaluator.prepare(x)
            if cache is not None and np.isfinite(evaluator.log_likelihood(cache, y)):
                return None
        values = ", ".join(f"{name} = {value:.6g}" for name, value in zip(evaluator.names, point))
        return (
            f"None of {STARTS} points of the reference distribution (`ref`, or the prior) has a likelihood above zero; the last was {values}."
            f"{evaluator.failures.in_words()} Give a `ref` where the model can be computed (`stop_at_error: True` shows a failure's traceback)."
        )

    def _prior(self, name):
        mapped = self.evaluator.priors[name]
        return getattr(towline, mapped.family)(*mapped.arguments)

    def engine_model(self, convergence=None):
        """The model as the engine takes it."""
        e, s = self.evaluator, self.speeds
        # Who evaluates: this process, or others with a model each.
        by = e if self._team is None else self._team
        fast = e.log_tempered if self.temperature != 1 and self._team is None else by.log_likelihood
        labels = self.model.parameterization.labels()
        model = towline.Model(
            slow={name: self._prior(name) for name in s.slow},
            fast={name: self._prior(name) for name in s.fast},
            prepare=by.prepare,
            log_likelihood=fast,
            log_likelihood_batch=None if self._team is None else self._team.log_likelihood_batch,
            derived=by.derived,
            derived_names=e.derived_names,
            labels={name: label for name, label in labels.items() if name in e.names + e.derived_params},
            blocks=[list(block) for block in s.levels] if len(s.levels) > 1 else None,
            start=e.start,
            # An error that is asked for is the engine's to look at.
            enough=convergence if self.error_stop is None else None,
        )
        model._continues = CONTINUES
        return model

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
        convergence = self._convergence(folder)
        self._watch = Watch(self, folder, dataclasses.replace(convergence))
        if self.parallel == "serial" or mpi.more_than_one_process():
            convergence.at_check = self._watch.at_check
        if resuming:
            self._watch.already_there()
        self.mpi_info("Continuing the run in %s", folder) if resuming else self.mpi_info("Sampling!")
        with mpi.ProcessState(self) as state:
            self._state = state
            self._team = Team(self.evaluator, self.workers) if self.workers > 1 else None
            try:
                model = self.engine_model(convergence)
                self.engine_run = self._resume(folder, model) if resuming else self._begin(folder, model)
            finally:
                if self._team is not None:
                    self._team.end()
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

    def _convergence(self, folder):
        return Convergence(
            folder=folder,
            names=list(self.evaluator.names),
            stop=float(self.Rminus1_stop),
            stop_bounds=float(self.Rminus1_cl_stop),
            level=float(self.Rminus1_cl_level),
            split=self.Rminus1_single_split,
            ess=None if self.ess is None else float(self.ess),
        )

    def _how(self):
        """What a run is told, whether it begins or continues."""
        parallel = mpi.get_mpi_comm().Dup() if mpi.more_than_one_process() else self.parallel
        draws = int(min(self.max_samples, MOST_DRAWS))
        how = dict(draws=draws, parallel=parallel, time_limit=self.time_limit, progress=self._watch.look)
        if self.error_stop is not None:
            how["error"] = float(self.error_stop)
            # A component of Cobaya keeps the state that it is asked about: one evaluation at a time.
            how["workers"] = 1
        if self.has_workers:
            how["workers"] = self.workers
        if self.workers > 1:
            # Chains wait in threads of this process, and workers evaluate for as many of them as there are.
            how.update(parallel="threads", cores=self.chains)
        return how

    def _begin(self, folder, model):
        tuned = self._tuning()
        if tuned is None and self.covmat is not None:
            model._slow_covariance = self._known()
        return towline.sample(
            model,
            chains=self.chains,
            warmup=None if tuned else options.warmup(self),
            seed=self.engine_seed,
            out=folder,
            cost_ratio=self._cost_ratio(),
            tuning=tuned,
            **self._how(),
        )

    def _resume(self, folder, model):
        return towline.resume(folder, model, **self._how())

    # What is known beforehand.

    def _tuning(self):
        if self.learned is not None:
            return self.learned.tuning
        if self.learn_proposal:
            return None
        covmat, _ = self._load_covmat(prefer_load_old=False)
        e, s = self.evaluator, self.speeds
        return tuning.from_covariance(self.temperature * covmat, e.names, e.priors, s.slow, s.fast, self._centre(), self._cost_ratio())

    def _known(self):
        """The covariance of the slow parameters where chains move, for warm-up to begin with; nothing where the file lacks some."""
        covmat, lacking = self._load_covmat(prefer_load_old=False)
        e, s = self.evaluator, self.speeds
        missing = [name for name in s.slow if name in {e.names[k] for k in np.flatnonzero(lacking)}]
        if missing:
            self.mpi_info("`covmat` has no %s: it is not used, warm-up learns all covariances.", ", ".join(missing))
            return None
        self.mpi_info("Warm-up begins with the covariance of the slow parameters in `covmat`, and learns on from there.")
        return tuning.slow_covariance(self.temperature * covmat, e.names, e.priors, s.slow, self._centre())

    def _centre(self):
        """A place where priors' scales are looked at: the same in all processes."""
        random = np.random.default_rng(self.engine_seed)
        point = self.model.prior.reference(random_state=random, warn_if_no_ref=False) if mpi.is_main_process() else None
        return mpi.share_mpi(point)

    # The end.

    @property
    def chains_here(self):
        """The chains of this process, each with its `collection`."""
        return [] if self._watch is None else self._watch.chains

    @property
    def collection(self):
        """The first chain of this process, as callback functions expect it; nothing before there are draws."""
        return self.chains_here[0].collection if self.chains_here else None

    def n(self, burn_in=False):
        """Rows of that chain so far."""
        return len(self.collection) if self.collection is not None else 0

    def _finish(self):
        self.evidence = {}
        if self.error_stop is not None and (self.engine_run.path / "estimates.json").exists():
            self.evidence = weighing.evidence(self.engine_run) if self.temperature == 1 else {}
        if weighing.is_weighed(self.engine_run):
            self._finish_weighed()
            return
        self._watch.finish()
        mpi.sync_processes()
        everywhere = [chain for some in mpi.allgather(self.chains_here) for chain in some]
        draws = min(chain.draws for chain in everywhere)
        convergence = self._convergence(self._watch.folder)
        self.Rminus1_last, self.Rminus1_cl_last = convergence.of(draws)
        self.acceptance_rate = convergence.rows().acceptance()
        self.converged = self.engine_run.ended == "target reached"
        self.cost = self.engine_run.summary().cost
        self.mpi_info(
            "%d draws of %d chains, acceptance rate %.3f, R-1 = %.4g of means and %.4g of bounds: %s",
            sum(chain.draws for chain in everywhere),
            len(everywhere),
            self.acceptance_rate,
            self.Rminus1_last,
            self.Rminus1_cl_last,
            "The run has converged!" if self.converged else f"not yet as asked for ({self.Rminus1_stop:g} and {self.Rminus1_cl_stop:g})",
        )
        if self.output and not self.converged:
            self.mpi_info("Ended: %s; %s.", self.engine_run.ended, CONTINUES)
        if mpi.is_main_process() and self.output:
            self._write_files(everywhere)
            weighing.write_evidence(self.output, self.evidence)

    def _finish_weighed(self):
        """The end of a run in which no chain drew."""
        weighted = weighing.Weighted(self, self.engine_run)
        self._watch.chains = [weighted]
        self.converged = self.engine_run.ended == "target reached"
        self.cost = self.engine_run.summary().cost
        name, error = weighing.worst(self.engine_run, self.speeds.slow)
        self.mpi_info(
            "%d slow evaluations in all: the largest standard error of a slow parameter is %.3g of its standard deviation (%s; %.3g asked).%s",
            self.cost["slow_evals"],
            error,
            name,
            self.error_stop,
            " ln Z = {logZ:.4f} ± {logZstd:.4f}.".format(**self.evidence) if self.evidence else "",
        )
        if self.output:
            self._write_files([weighted])
            weighing.write_evidence(self.output, self.evidence)

    def warmup_evaluations(self):
        """Slow evaluations of all chains' warm-ups, or of their ways to the posterior where there was none."""
        return self.cost["slow_evals"] - int(self.engine_run.statistics["slow_evals"].sum())

    # Files.

    def _write_files(self, chains):
        with_rows = [chain.collection for chain in chains if len(chain.collection) > 1]
        if with_rows:
            weights = [collection["weight"].sum() for collection in with_rows]
            covariance = np.average([collection.cov(tempered=True) for collection in with_rows], weights=weights, axis=0)
            self.dump_covmat(covariance / self.temperature)
        self._write_checkpoint()

    def _write_checkpoint(self):
        """What Cobaya sets on a sampler before it is initialised again. The run itself is in the run directory."""
        state = {"converged": bool(self.converged), "Rminus1_last": float(self.Rminus1_last), "mpi_size": mpi.size()}
        yaml_dump_file(self.checkpoint_filename(), {"sampler": {self.get_name(): state}}, error_if_exists=False)

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
        """`sample` as [`samples`] has it; `run` is the engine's own, with its summary and diagnostics; with `error_stop`, `logZ` and `logZstd`."""
        return {
            "sample": self.samples(combined=combined, skip_samples=skip_samples, to_getdist=to_getdist),
            "run": getattr(self, "engine_run", None),
            **getattr(self, "evidence", {}),
        }

    @classmethod
    def output_files_regexps(cls, output, info=None, minimal=False):
        """Chains, and the run directory: what is there when there is something to resume."""

        def named(ending):
            return re.compile(output.prefix_regexp_str + re.escape(ending) + "$")

        patterns = [output.collection_regexp(name=None), named(RUN_DIRECTORY)]
        if not minimal:
            patterns += [named(ext.lstrip(".")) for ext in (Extension.checkpoint, Extension.progress, Extension.covmat, Extension.evidence)]
        return [(pattern, None) for pattern in patterns]

    @classmethod
    def get_version(cls):
        """Towline's."""
        return towline.__version__
