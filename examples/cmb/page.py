"""A page that shows the constraints beside the published ones, and the band powers beside what the posterior predicts."""

import base64
import html
import io
import json

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from spt3g import BINS, NUISANCES, SPECTRA
from theory import COSMOLOGY

# Dutcher et al. 2021, SPT-3G alone: H0 and sigma8 as in the abstract; the others from notes made from memory, not read again in
# the paper's table.
PUBLISHED = {
    "ombh2": (0.02242, 0.00033),
    "omch2": (0.1150, 0.0037),
    "theta100": (1.03961, 0.00071),
    "clamp": (1.819, 0.038),
    "ns": (0.999, 0.019),
    "H0": (68.8, 1.5),
    "sigma8": (0.789, 0.016),
}
SHOWN = {
    "ombh2": r"$\Omega_b h^2$",
    "omch2": r"$\Omega_c h^2$",
    "theta100": r"$100\,\theta_\mathrm{MC}$",
    "clamp": r"$10^9 A_s e^{-2\tau}$",
    "ns": r"$n_s$",
    "tau": r"$\tau$",
    "H0": r"$H_0$",
    "sigma8": r"$\sigma_8$",
    "omegam": r"$\Omega_m$",
}
PLAIN = {
    "ombh2": "Ω<sub>b</sub>h²",
    "omch2": "Ω<sub>c</sub>h²",
    "theta100": "100 θ<sub>MC</sub>",
    "clamp": "10⁹ A<sub>s</sub>e<sup>−2τ</sup>",
    "ns": "n<sub>s</sub>",
    "tau": "τ",
    "H0": "H₀ (km/s/Mpc)",
    "sigma8": "σ₈",
    "omegam": "Ω<sub>m</sub>",
}
OURS, THEIRS = "#1b6ca8", "#d1495b"


def draws_of(folder):
    """The draws of a run directory by name, chains by rows; and the evaluations they took."""
    manifest = json.loads((folder / "manifest.json").read_text())
    names = [column["name"] for column in manifest["columns"]] + manifest["statistics"]
    chains = []
    for k in range(manifest["chains"]):
        data = np.fromfile(folder / f"chain-{k}.f64", "<f8")
        chains.append(data[: len(data) // len(names) * len(names)].reshape(-1, len(names)))
    length = min(len(chain) for chain in chains)
    stacked = np.stack([chain[:length] for chain in chains])
    return {name: stacked[:, :, k] for k, name in enumerate(names)}


def write(folder, posterior):
    """Writes `constraints.html` and its pictures into the run directory, and returns the path."""
    draws = draws_of(folder)
    marginals, spectra = _marginals(draws), _spectra(draws, posterior)
    for name, figure in (("constraints.png", marginals), ("bandpowers.png", spectra)):
        figure.savefig(folder / name, dpi=110)
    count = draws["log_density"].size
    slow, fast = draws["slow_evals"].sum(), draws["fast_evals"].sum()
    code = "CAMB" if type(posterior.theory).__name__ == "Camb" else "a cubic emulator of CAMB runs"
    page = f"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>SPT-3G 2018 EE/TE</title><style>
body{{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#222}}
table{{border-collapse:collapse;margin:1rem 0}}td,th{{padding:.3rem .9rem;text-align:right;border-bottom:1px solid #ddd}}
td:first-child,th:first-child{{text-align:left}}img{{max-width:100%}}.far{{color:{THEIRS};font-weight:600}}</style></head><body>
<h1>ΛCDM from the SPT-3G 2018 EE and TE band powers</h1>
<p>{count:,} draws of {draws["log_density"].shape[0]} chains; spectra by {code}; {slow:,.0f} slow and {fast:,.0f} fast
evaluations after warm-up. Published: Dutcher et al. 2021 (arXiv:2101.01684), SPT-3G alone.</p>
{_table(draws)}
<img alt="marginal posteriors beside the published constraints" src="{_inline(marginals)}">
<h2>Band powers</h2>
<p>150 × 150 GHz, with what draws of the posterior predict.</p>
<img alt="band powers and the posterior's predictions" src="{_inline(spectra)}"></body></html>"""
    path = folder / "constraints.html"
    path.write_text(page, encoding="utf-8")
    plt.close("all")
    return path


def _table(draws):
    rows = []
    for name, label in PLAIN.items():
        if name not in draws:
            continue
        values = draws[name]
        mean, sd = values.mean(), values.std()
        theirs, apart = "–", "–"
        if name in PUBLISHED:
            centre, width = PUBLISHED[name]
            theirs, apart = f"{centre:g} ± {width:g}", f"{(mean - centre) / width:+.2f} sd"
            if abs(mean - centre) > width:
                apart = f'<span class="far">{html.escape(apart)}</span>'
        digits = max(0, 1 - int(np.floor(np.log10(sd)))) if sd > 0 else 3
        rows.append(f"<tr><td>{label}</td><td>{mean:.{digits}f} ± {sd:.{digits}f}</td><td>{theirs}</td><td>{apart}</td></tr>")
    head = "<tr><th>parameter</th><th>here</th><th>published</th><th>means apart</th></tr>"
    return f"<table>{head}{''.join(rows)}</table>"


def _marginals(draws):
    names = [name for name in SHOWN if name in draws]
    columns = 3
    figure, axes = plt.subplots(-(-len(names) // columns), columns, figsize=(11, 2.6 * -(-len(names) // columns)))
    for axis in axes.flat[len(names) :]:
        axis.set_visible(False)
    for axis, name in zip(axes.flat, names):
        values = draws[name].ravel()
        grid = np.linspace(values.mean() - 4 * values.std(), values.mean() + 4 * values.std(), 300)
        axis.fill_between(grid, _density(values, grid), color=OURS, alpha=0.35, lw=0)
        axis.plot(grid, _density(values, grid), color=OURS, label="here")
        if name in PUBLISHED:
            centre, width = PUBLISHED[name]
            axis.plot(grid, np.exp(-0.5 * ((grid - centre) / width) ** 2), color=THEIRS, ls="--", label="published")
        axis.set_xlabel(SHOWN[name])
        axis.set_yticks([])
        axis.locator_params(axis="x", nbins=5)
        for side in ("left", "right", "top"):
            axis.spines[side].set_visible(False)
    axes.flat[0].legend(frameon=False, loc="upper left", fontsize=9)
    figure.tight_layout()
    return figure


def _density(values, grid):
    """A smoothed density, its top at 1."""
    width = 1.06 * values.std() * len(values) ** -0.2
    density = np.exp(-0.5 * ((grid[:, None] - values[None, :: max(1, len(values) // 4000)]) / width) ** 2).sum(1)
    return density / density.max()


def _spectra(draws, posterior, count=200):
    x = np.stack([draws[name].ravel() for name in COSMOLOGY], axis=-1)
    y = np.stack([draws[name].ravel() for name in NUISANCES], axis=-1)
    # CAMB takes seconds for each: three draws have to do.
    count = 3 if type(posterior.theory).__name__ == "Camb" else count
    chosen = np.unique(np.linspace(0, len(x) - 1, count).astype(int))
    predicted = np.array([posterior.likelihood.model(posterior.prepare(x[k])[0], y[k]) for k in chosen])
    data, sd = posterior.likelihood.data, np.sqrt(np.diag(posterior.likelihood.covariance))
    figure, axes = plt.subplots(2, 2, figsize=(11, 5.5), sharex="col", height_ratios=[2.2, 1])
    ell = posterior.likelihood.ell
    for column, kind in enumerate(("EE", "TE")):
        k = SPECTRA.index((kind, 150, 150))
        part = slice(k * BINS, (k + 1) * BINS)
        top, bottom = axes[:, column]
        top.plot(ell, predicted[:, part].T, color=OURS, alpha=0.05 if len(chosen) > 20 else 0.5, lw=1)
        top.errorbar(ell, data[part], sd[part], fmt=".", color="#222", ms=4, lw=0.8)
        top.set_title(f"{kind} 150 × 150 GHz")
        top.set_ylabel(r"$D_b$ ($\mu$K$^2$)")
        middle = predicted[:, part].mean(0)
        bottom.axhline(0, color=OURS, lw=1)
        bottom.errorbar(ell, (data[part] - middle) / sd[part], 1, fmt=".", color="#222", ms=4, lw=0.8)
        bottom.set_xlabel(r"$\ell$")
        bottom.set_ylabel("residual (sd)")
    figure.tight_layout()
    return figure


def _inline(figure):
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()
