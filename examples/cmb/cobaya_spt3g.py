"""The same posterior for Cobaya: theories that return binned spectra, and a likelihood whose nuisances are fast."""

import sys
from pathlib import Path

import numpy as np
from cobaya.likelihood import Likelihood
from cobaya.theory import Theory

sys.path.insert(0, str(Path(__file__).parent))
from spt3g import CALIBRATION_BOUNDS, NUISANCES, PRIORS, data_folder
from spt3g import Likelihood as BandPowers
from theory import COSMOLOGY, LABELS, LOWER, START, START_SPREAD, TAU_PRIOR, UPPER, Emulator


class Emulated(Theory):
    """Binned spectra by the emulator. Its speed is said to be CAMB's, which it stands for."""

    data: str | None = None
    speed = 0.4
    params = {name: None for name in COSMOLOGY} | {"H0": {"derived": True}, "omegam": {"derived": True}}
    calls = 0

    def initialize(self):
        folder = data_folder(self.data)
        self._emulator = Emulator(BandPowers(folder), folder)

    def get_can_provide(self):
        return ["binned"]

    def calculate(self, state, want_derived=True, **params):
        Emulated.calls += 1
        found = self._emulator(np.array([params[name] for name in COSMOLOGY]))
        if found is None:
            return False
        state["binned"], (h0, omegam) = found
        if want_derived:
            state["derived"] = {"H0": h0, "omegam": omegam}
        return True

    def get_binned(self):
        return self.current_state["binned"]


class Binned(Theory):
    """Spectra of any Boltzmann code in band powers: what would be slow in the likelihood, done once for each spectrum."""

    data: str | None = None
    speed = 80

    def initialize(self):
        self._likelihood = BandPowers(self.data)

    def get_requirements(self):
        return {"Cl": {"te": 3300, "ee": 3300}}

    def get_can_provide(self):
        return ["binned"]

    def calculate(self, state, want_derived=True, **params):
        cl = self.provider.get_Cl(ell_factor=True, units="muK2")
        state["binned"] = self._likelihood.bin(cl["te"], cl["ee"])

    def get_binned(self):
        return self.current_state["binned"]


class SPT3G(Likelihood):
    """ln L of the band powers, given binned spectra."""

    data: str | None = None
    speed = 1000
    params = {name: None for name in NUISANCES}
    calls = 0

    def initialize(self):
        self._likelihood = BandPowers(self.data)

    def get_requirements(self):
        return ["binned"]

    def logp(self, _derived=None, **params):
        SPT3G.calls += 1
        return self._likelihood.log_likelihood(self.provider.get_binned(), np.array([params[n] for n in NUISANCES]))


def emulated_input(data, sampler):
    """An input for Cobaya: the emulated posterior with this sampler."""
    params = {}
    for name, lower, upper in zip(COSMOLOGY, LOWER, UPPER):
        prior = {"min": float(lower), "max": float(upper)}
        if name == "tau":
            prior = {"dist": "norm", "loc": TAU_PRIOR[0], "scale": TAU_PRIOR[1]}
        reference = {"dist": "norm", "loc": START[name], "scale": START_SPREAD[name]}
        params[name] = {"prior": prior, "ref": reference, "proposal": START_SPREAD[name], "latex": LABELS[name]}
    for name in NUISANCES:
        if name in PRIORS:
            centre, width = PRIORS[name]
            params[name] = {"prior": {"dist": "norm", "loc": centre, "scale": width}, "ref": centre, "proposal": width / 2}
        else:
            lower, upper = CALIBRATION_BOUNDS
            params[name] = {"prior": {"min": lower, "max": upper}, "ref": 1.0, "proposal": 0.005}
    params |= {"H0": {"latex": "H_0"}, "omegam": {"latex": r"\Omega_m"}}
    return {
        "theory": {"emulated": {"external": Emulated, "data": str(data)}},
        "likelihood": {"spt3g": {"external": SPT3G, "data": str(data)}},
        "params": params,
        "sampler": sampler,
    }
