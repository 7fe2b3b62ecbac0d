"""The likelihood of the SPT-3G 2018 EE and TE band powers, in two stages: bin a spectrum, then fit nuisances.

Dutcher et al. 2021 (arXiv:2101.01684), data release v3.0. `Likelihood.bin` is what a new spectrum costs, the rest what a
new set of nuisance parameters costs. The covariance depends on the model through the beams,

    C = S + B ∘ (m mᵀ),    −2 ln L = (m − d)ᵀ C⁻¹ (m − d) + ln|C| + δᵀ K δ,    δ = ln(calibrations),

so that an exact evaluation factors a 528 × 528 matrix. B is nearly of low rank where it matters, that is beside S: with
`modes` of it the factorisation is of a matrix that small, and ln L is off by less than 0.003 with the 24 of the default
(by less than 0.0001 with 40; the tests say how much). `modes=None` is exact.
"""

import os
from pathlib import Path

import numpy as np
from numpy.polynomial import chebyshev
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.linalg.blas import dtrmm

FREQUENCIES = (90, 150, 220)
PAIRS = [(90, 90), (90, 150), (90, 220), (150, 150), (150, 220), (220, 220)]
SPECTRA = [(kind, a, b) for a, b in PAIRS for kind in ("EE", "TE")]
CALIBRATIONS = [f"map{kind}cal{f}" for kind in "TP" for f in FREQUENCIES]
NUISANCES = (
    ["kappa"]
    + [f"Dl_Poisson_{a}x{b}" for a, b in PAIRS]
    + ["ADust_TE_150", "AlphaDust_TE", "ADust_EE_150", "AlphaDust_EE"]
    + CALIBRATIONS
)
# Mean and standard deviation of the normal priors; calibrations have theirs inside the likelihood.
PRIORS = {
    "kappa": (0.0, 0.00045),
    "Dl_Poisson_90x90": (0.040469, 0.012141),
    "Dl_Poisson_90x150": (0.018048, 0.005414),
    "Dl_Poisson_90x220": (0.015719, 0.004716),
    "Dl_Poisson_150x150": (0.011495, 0.003448),
    "Dl_Poisson_150x220": (0.018962, 0.005689),
    "Dl_Poisson_220x220": (0.047557, 0.014267),
    "ADust_TE_150": (0.184, 0.072),
    "AlphaDust_TE": (-2.42, 0.02),
    "ADust_EE_150": (0.095, 0.012),
    "AlphaDust_EE": (-2.42, 0.02),
}
CALIBRATION_BOUNDS = (0.85, 1.15)
# Amplitudes that cannot be negative, by their place among the nuisances.
POSITIVE = [1, 2, 3, 4, 5, 6, 7, 9]

BINS = 44
LMAX = 3200
# Aberration by our motion towards the field's direction.
ABERRATION = 0.0004826
# Effective frequencies in GHz of the three bands, for dust.
BAND = {90: 96.7027, 150: 149.9942, 220: 222.0433}
# h / k in kelvin per GHz, as the release's own code has it.
PLANCK = 6.62606957e-34 / 1.3806488e-23 * 1e9
DUST_TEMPERATURE, CMB_TEMPERATURE, DUST_BETA = 19.6, 2.72548, 1.59
# Dust power laws are tabulated at Chebyshev points this far around the prior's mean, twelve of its sds.
ALPHA_CENTRE, ALPHA_REACH, ALPHA_POINTS = -2.42, 0.25, 12

DATA_VARIABLE = "TOWLINE_CMB_DATA"
MISSING = (
    "the SPT-3G band powers are not there: {problem}. They may not be shipped with Towline; "
    "examples/cmb/README.md says where to get them. Say where they are with --data or in $" + DATA_VARIABLE
)


class DataMissing(FileNotFoundError):
    """The data release is not where it was looked for."""


def data_folder(given=None):
    """The folder with the data release: the one given, or that of the environment."""
    folder = given or os.environ.get(DATA_VARIABLE)
    if not folder:
        raise DataMissing(MISSING.format(problem="no folder was named"))
    folder = Path(folder)
    if not (folder / "bandpowers.csv").is_file():
        raise DataMissing(MISSING.format(problem=f"{folder} holds no bandpowers.csv"))
    return folder


def dust_factor(frequency):
    """Dust's brightness at a band beside that at 150 GHz, in units of CMB temperature."""
    nu = BAND[frequency]

    def black_body(nu, temperature):
        return (nu / 150.0) ** 3 * np.expm1(PLANCK * 150 / temperature) / np.expm1(PLANCK * nu / temperature)

    def slope(nu, temperature):
        x = PLANCK * nu / temperature
        return x**4 * np.exp(x) / np.expm1(x) ** 2

    unit = slope(nu, CMB_TEMPERATURE) / slope(150.0, CMB_TEMPERATURE)
    return (nu / 150.0) ** DUST_BETA * black_body(nu, DUST_TEMPERATURE) / unit


class Likelihood:
    """ln L of the band powers. `bin` first; then any of the others with what it returned."""

    def __init__(self, data=None, modes=24):
        folder = data_folder(data)
        table = np.genfromtxt(folder / "bandpowers.csv", delimiter=",", skip_header=1)
        self.ell = table[:, 1]
        self.data = table[:, 2:].T.ravel()
        self.covariance = np.load(folder / "cov.npy")
        self.beams = np.load(folder / "beam_cov.npy")
        self.calibration = np.genfromtxt(folder / "cal_inv_cov.csv", delimiter=",", skip_header=1)
        self.windows = np.load(folder / "windows.npz")["windows"]
        self.is_ee = np.array([kind == "EE" for kind, _, _ in SPECTRA])
        self._tabulate_foregrounds()
        self._index_calibrations()
        if modes is not None:
            self._compress_beams(modes, folder)
        self.modes = modes

    # The slow stage.

    def bin(self, te, ee):
        """Band powers of the spectra D_ℓ (µK², indexed by ℓ up to 3202 at least), and of their derivative: (2, 12, 44)."""
        ell = np.arange(1, LMAX + 1.0)
        here = {}
        for kind, dl in (("TE", te), ("EE", ee)):
            around = np.arange(1, LMAX + 3)
            cl = np.asarray(dl)[around] * 2 * np.pi / (around * (around + 1.0))
            # The derivative as the release's reference code has it, one ℓ off centre.
            slope = 0.5 * (cl[2:] - cl[:-2])
            here[kind] = np.stack([dl[1 : LMAX + 1], ell * ell * (ell + 1) / (2 * np.pi) * slope])
        return np.stack([here[kind] @ window.T for (kind, _, _), window in zip(SPECTRA, self.windows)], axis=1)

    # The fast stage.

    def model(self, binned, nuisances):
        """The band powers that these parameters predict, 528 of them."""
        return (self._uncalibrated(binned, nuisances) * self._gains(nuisances)[:, None]).ravel()

    def log_likelihood(self, binned, nuisances):
        """ln L, with the calibrations' prior but not the others'; −∞ where an amplitude is negative."""
        if (nuisances[POSITIVE] < 0).any() or (nuisances[11:] <= 0).any():
            return -np.inf
        m = self.model(binned, nuisances)
        chi2 = self._chi2_exact(m) if self.modes is None else self._chi2_compressed(m)
        shift = np.log(nuisances[11:])
        return -0.5 * (chi2 + shift @ self.calibration @ shift)

    def log_likelihood_batch(self, binned, nuisances):
        """The same for many sets of nuisance parameters, one a row."""
        if self.modes is None:
            return np.array([self.log_likelihood(binned, row) for row in nuisances])
        inside = ~((nuisances[:, POSITIVE] < 0).any(1) | (nuisances[:, 11:] <= 0).any(1))
        values = np.full(len(nuisances), -np.inf)
        rows = nuisances[inside]
        if len(rows):
            chi2 = np.array([self._chi2_compressed(self.model(binned, row)) for row in rows])
            shift = np.log(rows[:, 11:])
            prior = np.einsum("ij,jk,ik->i", shift, self.calibration, shift)
            values[inside] = -0.5 * (chi2 + prior)
        return values

    def gradient(self, binned, nuisances):
        """ln L and its gradient in the nuisances; there is none of the exact form."""
        if self.modes is None:
            raise ValueError("gradients need the compressed beams: make the Likelihood with modes=24, say")
        if (nuisances[POSITIVE] < 0).any() or (nuisances[11:] <= 0).any():
            return -np.inf, np.zeros(len(NUISANCES))
        gains, plain = self._gains(nuisances), self._uncalibrated(binned, nuisances)
        m = (plain * gains[:, None]).ravel()
        white = self._white(m)
        q, g = white[:, -1], white[:, :-1]
        inner = np.linalg.inv(np.diag(1 / self._weights) + g.T @ g)
        along = g.T @ q
        chi2 = q @ q - along @ inner @ along - np.linalg.slogdet(inner)[1] + self._log_det
        # C⁻¹(m − d), and what the covariance's own change adds.
        back = np.asfortranarray(np.column_stack([g @ inner, q - g @ (inner @ along)]))
        back = dtrmm(1.0, self._triangle, back, lower=1, trans_a=1, overwrite_b=1)
        solved = back[:, -1]
        bent = self._modes @ (self._weights * (self._modes.T @ (m * solved)))
        volume = (self._modes * back[:, :-1]).sum(1)
        in_m = -(solved - solved * bent + volume).reshape(12, BINS)
        shift = np.log(nuisances[11:])
        value = -0.5 * (chi2 + shift @ self.calibration @ shift)
        return value, self._pull_back(in_m, binned, nuisances, gains, plain, shift)

    # What they are made of.

    def _tabulate_foregrounds(self):
        ell = np.arange(1, LMAX + 1.0)
        poisson = ell * (ell + 1) / (3000 * 3001.0)
        self.poisson = np.array([w @ poisson if ee else np.zeros(BINS) for w, ee in zip(self.windows, self.is_ee)])
        points = np.cos(np.pi * (np.arange(ALPHA_POINTS) + 0.5) / ALPHA_POINTS)
        brightness = np.array([dust_factor(a) * dust_factor(b) for _, a, b in SPECTRA])
        table = np.array([self.windows @ (ell / 80) ** (ALPHA_CENTRE + ALPHA_REACH * p + 2) for p in points])
        table *= brightness[None, :, None]
        fit = np.linalg.solve(chebyshev.chebvander(points, ALPHA_POINTS - 1), table.reshape(ALPHA_POINTS, -1))
        self._dust = fit.reshape(ALPHA_POINTS, 12, BINS)
        self._dust_slope = chebyshev.chebder(self._dust) / ALPHA_REACH

    def _index_calibrations(self):
        place = {f: k for k, f in enumerate(FREQUENCIES)}
        self._a = np.array([place[a] for _, a, _ in SPECTRA])
        self._b = np.array([place[b] for _, _, b in SPECTRA])

    def _compress_beams(self, modes, folder):
        """B by its leading modes beside S, at the spectrum of the release's own check."""
        check = np.genfromtxt(folder / "check_cosmomc_dl.csv", delimiter=",", skip_header=1)
        binned = self.bin(check[:, 1], check[:, 2])
        m = (binned[0] + ABERRATION * binned[1]).ravel()
        lower = np.linalg.cholesky(self.covariance)
        half = solve_triangular(lower, self.beams * np.outer(m, m), lower=True)
        beside = solve_triangular(lower, half.T, lower=True)
        weights, vectors = np.linalg.eigh(0.5 * (beside + beside.T))
        largest = np.argsort(-np.abs(weights))[:modes]
        self._weights = weights[largest]
        self._modes = (lower @ vectors[:, largest]) / m[:, None]
        # In Fortran's order, as the product with a triangle wants it.
        self._triangle = np.asfortranarray(solve_triangular(lower, np.eye(len(m)), lower=True))
        self._modes_and_one = np.asfortranarray(np.column_stack([self._modes, np.ones(len(m))]))
        self._log_det = 2 * np.log(np.diag(lower)).sum() + np.log(np.abs(self._weights)).sum()

    def _gains(self, nuisances):
        t, p = 1 / nuisances[11:14], 1 / nuisances[14:17]
        te = 0.5 * (t[self._a] * p[self._b] + t[self._b] * p[self._a])
        return np.where(self.is_ee, p[self._a] * p[self._b], te)

    def _dust_at(self, coefficients, alpha):
        u = (alpha - ALPHA_CENTRE) / ALPHA_REACH
        terms = np.cos(np.arange(len(coefficients)) * np.arccos(u)) if abs(u) <= 1 else None
        if terms is None:
            terms = chebyshev.chebvander(np.array([u]), len(coefficients) - 1)[0]
        return np.tensordot(terms, coefficients, 1)

    def _dust_pair(self, coefficients, nuisances):
        """TE spectra with TE's power law, EE spectra with EE's."""
        dust = self._dust_at(coefficients, nuisances[8])
        dust[self.is_ee] = self._dust_at(coefficients, nuisances[10])[self.is_ee]
        return dust

    def _uncalibrated(self, binned, nuisances):
        kappa = nuisances[0]
        plain = (1 - 2 * kappa) * binned[0] + (ABERRATION - kappa) * binned[1]
        plain[::2] += nuisances[1:7, None] * self.poisson[::2]
        amplitudes = np.where(self.is_ee, nuisances[9], nuisances[7])
        return plain + amplitudes[:, None] * self._dust_pair(self._dust, nuisances)

    def _chi2_exact(self, m):
        c = self.beams * np.outer(m, m)
        c += self.covariance
        factor = cho_factor(c, lower=True, overwrite_a=True, check_finite=False)
        r = m - self.data
        return r @ cho_solve(factor, r, check_finite=False) + 2 * np.log(np.diag(factor[0])).sum()

    def _white(self, m):
        """The beams' modes at this model, and last the residual, all in units of the noise."""
        columns = self._modes_and_one * m[:, None]
        columns[:, -1] -= self.data
        return dtrmm(1.0, self._triangle, np.asfortranarray(columns), lower=1, overwrite_b=1)

    def _chi2_compressed(self, m):
        """By Woodbury's formula: a matrix with a row for each mode."""
        white = self._white(m)
        gram = white.T @ white
        along = gram[:-1, -1]
        inner = gram[:-1, :-1]
        inner[np.diag_indices_from(inner)] += 1 / self._weights
        return gram[-1, -1] - along @ np.linalg.solve(inner, along) + np.linalg.slogdet(inner)[1] + self._log_det

    def _pull_back(self, in_m, binned, nuisances, gains, plain, shift):
        """From the gradient in the band powers to that in the nuisances."""
        in_plain = in_m * gains[:, None]
        out = np.empty(len(NUISANCES))
        out[0] = -(in_plain * (2 * binned[0] + binned[1])).sum()
        out[1:7] = (in_plain[::2] * self.poisson[::2]).sum(1)
        dust = (in_plain * self._dust_pair(self._dust, nuisances)).sum(1)
        bent = (in_plain * self._dust_pair(self._dust_slope, nuisances)).sum(1)
        out[7], out[8] = dust[~self.is_ee].sum(), nuisances[7] * bent[~self.is_ee].sum()
        out[9], out[10] = dust[self.is_ee].sum(), nuisances[9] * bent[self.is_ee].sum()
        in_gain = (in_m * plain).sum(1)
        t, p = 1 / nuisances[11:14], 1 / nuisances[14:17]
        in_t, in_p = np.zeros(3), np.zeros(3)
        ee, te = self.is_ee, ~self.is_ee
        np.add.at(in_p, self._a[ee], in_gain[ee] * p[self._b[ee]])
        np.add.at(in_p, self._b[ee], in_gain[ee] * p[self._a[ee]])
        half = 0.5 * in_gain[te]
        for one, other in ((self._a[te], self._b[te]), (self._b[te], self._a[te])):
            np.add.at(in_t, one, half * p[other])
            np.add.at(in_p, other, half * t[one])
        out[11:14], out[14:17] = -in_t * t * t, -in_p * p * p
        out[11:] -= self.calibration @ shift / nuisances[11:]
        return out
