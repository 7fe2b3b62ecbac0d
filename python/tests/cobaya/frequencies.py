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
    | {"dust": (4.0, None), "dust_tilt": (-0.6, 0.15), "dust_beta": (1.6, 0.1)}
    | {"cib": (9.0, None), "cib_tilt": (0.8, 0.15), "cib_beta": (2.1, 0.15)}
    | {"tsz": (5.0, None), "ksz": (3.0, None)}
    | {f"poisson{k}": (p, None) for k, p in enumerate((9.0, 7.0, 8.0, 8.0, 10.0, 14.0))}
)


def cmb(amp, tilt, scale, damp, peaks, phase):
    """Something that looks like a spectrum."""
    u = PIVOT * scale
    wave = 1 + 0.35 * peaks * np.cos(16 * u + phase)
    return 220 * amp * u ** (tilt - 1.0) * wave * np.exp(-0.6 * damp * u**1.5)


def rises(beta):
    """How a foreground grows with frequency."""
    return (FREQUENCIES / 150) ** beta


TSZ = np.array([1.6, 1.0, 0.0])
FIRST, SECOND = (np.array([pair[k] for pair in PAIRS]) for k in (0, 1))


def spectra(signal, v):
    """Six spectra, from the signal and the nuisances in their order."""
    cal, beam = v[:3], v[3:6]
    dust, dust_tilt, dust_beta, cib, cib_tilt, cib_beta, tsz, ksz = v[6:14]
    d, c = rises(dust_beta), rises(cib_beta)
    total = np.multiply.outer(dust * d[FIRST] * d[SECOND], PIVOT**dust_tilt)
    total += np.multiply.outer(cib * c[FIRST] * c[SECOND], PIVOT**cib_tilt)
    total += (tsz * TSZ[FIRST] * TSZ[SECOND] + ksz)[:, None]
    total += np.multiply.outer(v[14:20], PIVOT**2)
    total += signal
    total *= (cal[FIRST] * cal[SECOND])[:, None]
    total *= 1 + np.multiply.outer(beam[FIRST] + beam[SECOND], PIVOT - 1)
    return total


TRUTH = np.array([centre for centre, _ in NUISANCES.values()])
EXPECTED = spectra(cmb(*(centre for centre, _ in COSMOLOGY.values())), TRUTH)
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
        state["signal"] = cmb(**params)

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
        apart = (spectra(self.provider.get_signal(), np.array([params[n] for n in NUISANCES])) - DATA) / ERROR
        return -0.5 * float(np.vdot(apart, apart))


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
