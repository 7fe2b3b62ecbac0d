"""The posterior of six cosmological parameters (slow) and seventeen nuisances (fast), as a Towline model."""

import numpy as np
import towline
from spt3g import CALIBRATION_BOUNDS, CALIBRATIONS, NUISANCES, PRIORS, Likelihood, data_folder
from theory import COSMOLOGY, LABELS, LOWER, START, START_SPREAD, TAU_PRIOR, UPPER, Camb, Emulator


class Posterior:
    """The functions of the model; it can be sent to other processes, which read the data again."""

    def __init__(self, data=None, camb=False, lens_potential_accuracy=1):
        self._made_from = (data, camb, lens_potential_accuracy)
        folder = data_folder(data)
        self.likelihood = Likelihood(folder)
        self.theory = Camb(self.likelihood, lens_potential_accuracy) if camb else Emulator(self.likelihood, folder)

    def __reduce__(self):
        return Posterior, self._made_from

    def prepare(self, x):
        """The spectra at x in band powers, and derived parameters; None where there are none."""
        return self.theory(x)

    def log_likelihood(self, cache, y):
        return float(self.likelihood.log_likelihood(cache[0], y))

    def log_likelihood_batch(self, cache, ys):
        return self.likelihood.log_likelihood_batch(cache[0], ys)

    def gradient(self, cache, y):
        value, slopes = self.likelihood.gradient(cache[0], y)
        return float(value), slopes

    def derived(self, cache, x, y):
        return [0.1 * np.exp(x[3]), *cache[1]]

    def start(self, seed):
        rng = np.random.default_rng(seed)
        return {name: START[name] + START_SPREAD[name] * rng.standard_normal() for name in COSMOLOGY} | {
            name: PRIORS[name][0] for name in PRIORS
        } | dict.fromkeys(CALIBRATIONS, 1.0)

    def model(self):
        """As Towline takes it."""
        slow = {n: towline.Uniform(a, b) for n, a, b in zip(COSMOLOGY, LOWER, UPPER)}
        slow["tau"] = towline.Normal(*TAU_PRIOR)
        fast = {n: towline.Normal(*PRIORS[n]) if n in PRIORS else towline.Uniform(*CALIBRATION_BOUNDS) for n in NUISANCES}
        derived = ["clamp", *self.theory.derived_names]
        return towline.Model(
            slow=slow,
            fast=fast,
            prepare=self.prepare,
            log_likelihood=self.log_likelihood,
            log_likelihood_batch=self.log_likelihood_batch,
            gradient=self.gradient,
            derived=self.derived,
            derived_names=derived,
            labels={n: LABELS[n] for n in [*COSMOLOGY, *derived]},
            start=self.start,
        )
