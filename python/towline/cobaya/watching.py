"""What is seen of a run under way: chain files, rows of `.progress`, lines in the log, the user's callback."""

import datetime
import os
import threading
import time

import numpy as np
from cobaya import mpi

from towline import _towline

from .chains import Chain
from .convergence import checks

# The stages of a warm-up.
STAGES = 5
# Seconds from one look at the files to the next.
LOOK = 1.0


class Watch:
    """Looks at a run from the process that began it."""

    def __init__(self, sampler, folder, convergence):
        self.sampler, self.folder, self.convergence = sampler, folder, convergence
        self.chains = []
        # The engine's threads look too, at every check.
        self._lock = threading.Lock()
        self._looked = self._said = time.monotonic()
        # Draws at which a row of `.progress` was written last.
        self._reported = 0
        self._began = None
        self.ranks = mpi.more_than_one_process()

    def look(self, progress):
        """Called several times a second while the run is under way."""
        self.sampler._state.check_error()
        now = time.monotonic()
        if now - self._looked < LOOK:
            return
        self._looked = now
        with self._lock:
            self._note_speed(now)
            if mpi.is_main_process():
                self._write_rows()
        if now - self._said >= self.sampler.output_every.value:
            self._said = now
            self.update()
            self.sampler.mpi_info("%s", self.in_words(progress))
        if self.sampler.parallel == "processes" and not self.ranks:
            # Chains are elsewhere, and so are their checks: the model here is free for whatever a callback does with it.
            self.call_back()

    def at_check(self, _draws):
        """Called by the engine while all chains wait: nothing is being evaluated."""
        self.call_back()
        self.sampler.evaluator.left()

    def call_back(self):
        """The user's function, where there is one and enough has been added since."""
        s = self.sampler
        if s.callback_function_callable is None:
            return
        self.update()
        rows = len(s.collection) if s.collection is not None else 0
        if rows - s.last_point_callback < (s.callback_every.value if s.callback_every else 1):
            return
        try:
            s.callback_function_callable(s)
        except Exception as problem:
            s.log.error("The callback function produced an error: %r", problem)
        s.last_point_callback = rows

    # Files.

    def update(self, ended=False):
        """Brings the chain files of this process up to date."""
        s = self.sampler
        with self._lock:
            if not os.path.exists(os.path.join(self.folder, "manifest.json")):
                return
            if not self.chains:
                mine = [mpi.rank()] if self.ranks else range(s.chains)
                self.chains = [
                    Chain(s.model, s.output, s.evaluator, self.folder, k, s.chains > 1, s.temperature) for k in mine
                ]
            for chain in self.chains:
                chain.update(ended)

    def _write_rows(self, ended=False):
        """A row of `.progress` for each check that the draws have passed; at the end, for what there is."""
        if not self.sampler.output or not os.path.exists(os.path.join(self.folder, "manifest.json")):
            return
        rows = self.convergence.rows()
        draws = rows.draws()
        passed = [at for at in checks(draws) if at > self._reported]
        if ended and draws > max(passed, default=self._reported):
            passed.append(draws)
        for at in passed:
            self._reported = at
            means, bounds = self.convergence.of(at)
            stamp = datetime.datetime.now().isoformat(timespec="seconds")
            with open(self.sampler.progress_filename(), "a", encoding="utf-8") as file:
                n = at * self.sampler.chains
                file.write(f"{n:9d} {stamp:>26} {rows.acceptance(at):15.6f} {means:15.6f} {bounds:15.6f}\n")

    def finish(self):
        """The end of the run."""
        self.update(ended=True)
        if mpi.is_main_process():
            with self._lock:
                self._write_rows(ended=True)

    def header(self):
        """Begins `.progress`, with the columns that Cobaya gives it."""
        with open(self.sampler.progress_filename(), "w", encoding="utf-8") as file:
            file.write("#       N                  timestamp acceptance_rate         Rminus1      Rminus1_cl\n")

    def already_there(self):
        """A resumed run: what `.progress` tells already is not told again."""
        if not os.path.exists(self.sampler.progress_filename()):
            return
        with open(self.sampler.progress_filename(), encoding="utf-8") as file:
            rows = [line.split() for line in file if not line.startswith("#")]
        if rows:
            self._reported = int(rows[-1][0]) // self.sampler.chains

    # Words.

    def _note_speed(self, now):
        if self._began is None and os.path.exists(os.path.join(self.folder, "manifest.json")):
            draws = self.convergence.rows().draws()
            if draws:
                self._began = (now, draws)

    def in_words(self, progress):
        """How far the run is, in a line."""
        weighing = progress.get("weighing") if isinstance(progress, dict) else None
        if weighing:
            error = "" if weighing["error"] is None else f", standard error {weighing['error']:.3g} of {weighing['asked']:g} asked"
            return f"{weighing['points']} of {weighing['planned']} slow points weighed{error}; {weighing['learned']} slow evaluations of warm-up"
        chains = progress.get("chains") if isinstance(progress, dict) else None
        if not chains:
            return "Sampling"
        slow = sum(c["slow_evaluations"] for c in chains) * (self.sampler.chains if self.ranks else 1)
        about = "about " if self.ranks else ""
        evaluations = f"{about}{slow} slow evaluations in this session"
        warming = [c["stage"] for c in chains if c["phase"] == "warm-up"]
        if warming or self._began is None:
            stage = f", stage {min(warming)} of {STAGES}" if warming else ""
            return f"Warm-up{stage}; {evaluations}"
        with self._lock:
            rows = self.convergence.rows()
            draws = rows.draws()
            means = self.convergence.means_alone(draws)
            acceptance = rows.acceptance()
        ess = _towline.worst(self.folder)[1]
        return (
            f"{draws * self.sampler.chains} draws, acceptance rate {acceptance:.2f}, R-1 = {means:.3g} (to stop: {self.convergence.stop:g}), "
            f"least effective sample size {ess:.0f}; {evaluations}; {self._left(draws, means, ess)}"
        )

    def _left(self, draws, means, ess):
        """How long it may take: R-1 falls as one over the draws, and nobody knows better."""
        began, before = self._began
        if draws <= before or not np.isfinite(means):
            return "time left not known yet"
        wanted = draws * max(1.0, means / self.convergence.stop, (self.convergence.ess or 0) / ess if ess > 0 else 1.0)
        most = min(wanted, self.sampler.max_samples)
        seconds = (time.monotonic() - began) / (draws - before) * (most - draws)
        return f"about {in_time(seconds)} left"


def in_time(seconds):
    """Seconds, minutes or hours."""
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds >= 1.5 * length:
            return f"{seconds / length:.2g} {unit}" if seconds < 10 * length else f"{seconds / length:.0f} {unit}"
    return f"{max(seconds, 1):.0f} s"
