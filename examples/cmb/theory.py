"""What makes binned spectra of six cosmological parameters: CAMB, or a cubic emulator of stored CAMB runs.

Both are called with (ombh2, omch2, 100 θ_MC, ln(10¹⁰ A_s e^−2τ), n_s, τ) and return what `spt3g.Likelihood.bin` would, with
derived parameters beside it.
"""

import itertools

import numpy as np

COSMOLOGY = ["ombh2", "omch2", "theta100", "logA", "ns", "tau"]
LABELS = {
    "ombh2": r"\Omega_b h^2",
    "omch2": r"\Omega_c h^2",
    "theta100": r"100\theta_\mathrm{MC}",
    "logA": r"\ln(10^{10} A_s e^{-2\tau})",
    "ns": r"n_s",
    "tau": r"\tau",
    "H0": r"H_0",
    "sigma8": r"\sigma_8",
    "omegam": r"\Omega_m",
    "clamp": r"10^9 A_s e^{-2\tau}",
}
# The box that the emulator's runs fill; the posterior lies five sds and more inside it.
LOWER = np.array([0.0207, 0.097, 1.0358, 2.79, 0.90, 0.015])
UPPER = np.array([0.0241, 0.133, 1.0434, 3.01, 1.10, 0.095])
TAU_PRIOR = (0.0543, 0.0073)
# Where chains begin: near enough to the posterior that no CAMB runs are wasted on finding it, far enough apart to tell.
START = {"ombh2": 0.0224, "omch2": 0.116, "theta100": 1.0396, "logA": 2.90, "ns": 0.99, "tau": 0.0543}
START_SPREAD = {"ombh2": 0.0003, "omch2": 0.0035, "theta100": 0.0007, "logA": 0.022, "ns": 0.018, "tau": 0.007}
DEGREE = 3


class Emulator:
    """Cubic polynomials through CAMB runs in `camb_runs.npz` of the data folder; also H₀ and Ω_m."""

    derived_names = ["H0", "omegam"]

    def __init__(self, likelihood, folder):
        runs = np.load(folder / "camb_runs.npz")
        powers = [e for e in itertools.product(range(DEGREE + 1), repeat=len(LOWER)) if sum(e) <= DEGREE]
        self._powers = np.array(powers)
        x = runs["X"]
        binned = np.array([likelihood.bin(te, ee) for te, ee in zip(runs["TE"], runs["EE"])])
        # The spectra are all but in proportion to the amplitude: what is left is smooth.
        scaled = binned / np.exp(x[:, 3])[:, None, None, None]
        features = self._features(x)
        unit = np.sqrt((features**2).mean(0))

        def fit(values):
            return np.linalg.lstsq(features / unit, values, rcond=None)[0] / unit[:, None]

        self._shape = binned.shape[1:]
        self._spectra = fit(scaled.reshape(len(x), -1))
        self._derived = fit(runs["D"][:, [0, 2]])

    def _features(self, x):
        u = 2 * (x - LOWER) / (UPPER - LOWER) - 1
        table = u[..., None] ** np.arange(DEGREE + 1)
        return np.prod(table[..., np.arange(len(LOWER)), self._powers], axis=-1)

    def __call__(self, x):
        if (x < LOWER).any() or (x > UPPER).any():
            return None
        features = self._features(x)
        return (np.exp(x[3]) * (features @ self._spectra)).reshape(self._shape), features @ self._derived


class Camb:
    """CAMB itself. `accuracy` lowers ℓ_max's accompanying settings for quick tests: 0 is for smoke only."""

    derived_names = ["H0", "omegam", "sigma8"]

    def __init__(self, likelihood, lens_potential_accuracy=1):
        import camb

        self._camb = camb
        self._bin = likelihood.bin
        self._lens = lens_potential_accuracy
        self.calls = 0

    def __call__(self, x):
        camb = self._camb
        ombh2, omch2, theta100, log_amplitude, ns, tau = (float(v) for v in x)
        self.calls += 1
        try:
            params = camb.set_params(
                ombh2=ombh2,
                omch2=omch2,
                cosmomc_theta=theta100 / 100,
                tau=tau,
                mnu=0.06,
                nnu=3.046,
                num_massive_neutrinos=1,
                As=1e-10 * np.exp(log_amplitude + 2 * tau),
                ns=ns,
                lmax=3500,
                lens_potential_accuracy=self._lens,
                halofit_version="mead",
            )
            params.WantTransfer = True
            results = camb.get_results(params)
        except camb.CAMBError:
            # Parameters for which there is no such universe.
            return None
        cls = results.get_lensed_scalar_cls(lmax=3300, CMB_unit="muK")
        derived = np.array([params.H0, params.omegam, results.get_sigma8_0()])
        return self._bin(cls[:, 3], cls[:, 1]), derived
