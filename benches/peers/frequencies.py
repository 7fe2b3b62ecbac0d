"""A simulated experiment at three frequencies: six cosmological parameters behind a slow theory, twenty coupled nuisances.

Band powers of six cross spectra in sixteen bins. Foregrounds overlap (dust with the infrared background, Poisson power with both, the
Sunyaev-Zeldovich effects with the rest), calibrations multiply everything, amplitudes are positive: what makes nuisances hard to move.
"""

import numpy as np
from cobaya.likelihood import Likelihood
from cobaya.theory import Theory

COSMOLOGY = {"amp": (1.0, 0.02), "tilt": (0.0, 0.02), "scale": (1.0, 0.004), "damp": (1.0, 0.03), "peaks": (1.0, 0.03), "phase": (0.0, 0.05)}
FREQUENCIES = np.array([90.0, 150.0, 220.0])
PAIRS = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]
ELL = np.linspace(500, 3000, 16)
PIVOT = ELL / 1500
CALLS = {"slow": 0, "fast": 0}
# Truth, and where a prior is narrower than flat its width.
NUISANCES = (
    {f"cal{k}": (1.0, 0.01) for k in range(3)}
    | {f"beam{k}": (0.0, 0.02) for k in range(3)}
    | {"dust": (4.0, None), "dust_tilt": (0.0, 0.15), "dust_beta": (0.0, 0.1)}
    | {"cib": (9.0, None), "cib_tilt": (0.0, 0.15), "cib_beta": (0.0, 0.15)}
    | {"tsz": (5.0, None), "ksz": (3.0, None)}
    | {f"poisson{k}": (p, None) for k, p in enumerate((9.0, 7.0, 8.0, 8.0, 10.0, 14.0))}
)


def cmb(amp, tilt, scale, damp, peaks, phase):
    """Something that looks like a spectrum."""
    u = PIVOT * scale
    wave = 1 + 0.35 * peaks * np.cos(16 * u + phase)
    return 220 * amp * u ** (tilt - 1.0) * wave * np.exp(-0.6 * damp * u**1.5)


# Foregrounds to first order in their tilts and exponents: a column for each amplitude, and for each product of two.
FIRST, SECOND = (np.array([pair[k] for pair in PAIRS]) for k in (0, 1))
TSZ = np.array([1.6, 1.0, 0.0])


def columns():
    """What each amplitude adds to the six spectra, one after another."""
    rise = np.log(FREQUENCIES / 150)
    growth, log_ell = rise[FIRST] + rise[SECOND], np.log(PIVOT)
    found = []
    for beta, tilt in ((1.6, -0.6), (2.1, 0.8)):
        shape = np.multiply.outer(np.exp(beta * growth), PIVOT**tilt)
        found += [shape, shape * log_ell, shape * growth[:, None]]
    found += [np.multiply.outer(TSZ[FIRST] * TSZ[SECOND], np.ones_like(PIVOT)), np.ones((6, len(PIVOT)))]
    found += [np.multiply.outer(np.arange(6) == k, PIVOT**2) for k in range(6)]
    return np.array([one.ravel() for one in found]).T.astype(float)


COLUMNS = columns()
SLOPE = np.tile(PIVOT - 1, 6)
PLACES = np.repeat(FIRST, len(PIVOT)), np.repeat(SECOND, len(PIVOT))


def spectra(signal, cal0, cal1, cal2, beam0, beam1, beam2, dust, dust_tilt, dust_beta, cib, cib_tilt, cib_beta, *rest):
    """Six spectra in a row, from the signal and the nuisances."""
    amplitudes = [dust, dust * dust_tilt, dust * dust_beta, cib, cib * cib_tilt, cib * cib_beta, *rest]
    gain = np.array([cal0, cal1, cal2]), np.array([beam0, beam1, beam2])
    first, second = PLACES
    return (
        (signal + COLUMNS @ np.array(amplitudes))
        * gain[0][first]
        * gain[0][second]
        * (1 + (gain[1][first] + gain[1][second]) * SLOPE)
    )


TRUTH = [centre for centre, _ in NUISANCES.values()]
EXPECTED = spectra(np.tile(cmb(*(centre for centre, _ in COSMOLOGY.values())), 6), *TRUTH)
ERROR = 0.009 * EXPECTED + 0.5
DATA = EXPECTED + ERROR * np.random.default_rng(3).standard_normal(EXPECTED.shape)


class Signal(Theory):
    """The slow theory."""

    speed = 1
    params = dict.fromkeys(COSMOLOGY)

    def get_can_provide(self):
        return ["signal"]

    def calculate(self, state, want_derived=True, **params):
        CALLS["slow"] += 1
        state["signal"] = np.tile(cmb(**params), 6)

    def get_signal(self):
        return self.current_state["signal"]


class Frequencies(Likelihood):
    """Band powers; fast evaluations are said to be five thousand times cheaper."""

    speed = 5000
    params = dict.fromkeys(NUISANCES)

    def get_requirements(self):
        return ["signal"]

    def logp(self, _derived=None, **params):
        CALLS["fast"] += 1
        apart = (spectra(self.provider.get_signal(), *[params[n] for n in NUISANCES]) - DATA) / ERROR
        return -0.5 * float(apart @ apart)


def frequencies(**options):
    """An input with it."""
    params = {}
    for name, (centre, width) in COSMOLOGY.items():
        params[name] = {
            "prior": {"min": centre - 12 * width, "max": centre + 12 * width},
            "ref": {"dist": "norm", "loc": centre, "scale": width},
            "proposal": width,
        }
    for name, (centre, width) in NUISANCES.items():
        if width is None:
            params[name] = {"prior": {"min": 0, "max": 40}, "ref": centre, "proposal": 1.0}
        else:
            params[name] = {"prior": {"dist": "norm", "loc": centre, "scale": width}, "ref": centre, "proposal": width / 2}
    return {
        "theory": {"signal": {"external": Signal}},
        "likelihood": {"bands": {"external": Frequencies}},
        "params": params,
        "sampler": {"towline.cobaya.Towline": {"measure_speeds": False, "seed": 1, **options}},
    }
