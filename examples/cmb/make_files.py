"""Makes the files that this example reads, from public repositories and (for the emulator) CAMB runs of your own.

    python examples/cmb/make_files.py FOLDER            # clones three repositories, some 60 MB, and checks what it made
    python examples/cmb/make_files.py FOLDER --camb 192 # and runs CAMB that often, for the emulator: two to three seconds each

Clones that are there already are used: --release, --windows and --check say where.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

HOST = "https://github.com/"
# What is cloned: repository, branch, the folder in it.
RELEASE = ("SouthPoleTelescope/spt3g_y1_dist", "v3", "spt3g_Y1_v3_EETE.clik/clik/lkl_0")
WINDOWS = ("ksardase/SPT3G-montepython", None, "data/spt3g/windows")
CHECK = ("xgarrido/spt_likelihoods", None, "spt3g_2020/tests/data")
SPECTRA = [f"{kind}_{pair}" for pair in ("90x90", "90x150", "90x220", "150x150", "150x220", "220x220") for kind in ("EE", "TE")]
BINS = 44
# -2 ln L of the check's spectrum, as its authors have it; their derivative is one ℓ off centre, as here.
EXPECTED = 1142.999285
CALIBRATIONS = "mapTcal90,mapTcal150,mapTcal220,mapPcal90,mapPcal150,mapPcal220"


def fits(path):
    """The numbers of a FITS file that holds one array and nothing else: a header of 80-character cards in blocks of 2880 bytes."""
    data = path.read_bytes()
    cards, at = {}, 0
    while "END" not in cards:
        block = data[at : at + 2880].decode("ascii")
        at += 2880
        for card in (block[k : k + 80] for k in range(0, 2880, 80)):
            key, _, value = card.partition("=")
            cards[key.strip()] = value.partition("/")[0].strip()
    if not cards.get("SIMPLE", "").startswith("T"):
        raise SystemExit(f"{path} is no FITS file")
    kind = {"-64": ">f8", "-32": ">f4", "64": ">i8", "32": ">i4"}[cards["BITPIX"]]
    count = int(np.prod([int(cards[f"NAXIS{k + 1}"]) for k in range(int(cards["NAXIS"]))]))
    return np.frombuffer(data, kind, count, at).astype(float)


def clone(repository, work):
    """The folder of a repository, cloned where it is not there yet."""
    name, branch, folder = repository
    target = work / name.replace("/", "-")
    if not target.exists():
        which = ["--branch", branch] if branch else []
        subprocess.run(["git", "clone", "--depth", "1", *which, HOST + name, str(target)], check=True)
    return target / folder


def release(source, folder):
    """Band powers and covariances of the data release."""
    size = len(SPECTRA) * BINS
    powers = fits(source / "SPT3G_Y1_EETE_bandpower")
    if len(powers) != size:
        raise SystemExit(f"{source}: {len(powers)} band powers, where {size} were expected")
    np.save(folder / "cov.npy", fits(source / "SPT3G_Y1_EETE_covariance_matrix").reshape(size, size))
    np.save(folder / "beam_cov.npy", fits(source / "SPT3G_Y1_EETE_beam_covariance_matrix").reshape(size, size))
    calibration = fits(source / "SPT3G_Y1_EETE_cal_inv_covariance_matrix").reshape(6, 6)
    np.savetxt(folder / "cal_inv_cov.csv", calibration, delimiter=",", header=CALIBRATIONS, comments="")
    return powers


def windows(source, folder):
    """Window functions: a file for each bin, a line for each ℓ. Returns effective ℓ."""
    tables = [np.loadtxt(source / f"window_{b + 1}.txt") for b in range(BINS)]
    stacked = np.array([table[:, 1:].T for table in tables]).transpose(1, 0, 2)
    ell = tables[0][:, 0]
    np.savez_compressed(folder / "windows.npz", windows=stacked, ell=ell)
    return (stacked[0] * ell).sum(1) / stacked[0].sum(1)


def check_spectrum(source, folder):
    """The spectrum at which the likelihood is known, ℓ from 0."""
    te, ee = np.load(source / "dlte_ee_from_cosmomc.npy")
    table = np.column_stack([np.arange(len(te)), te, ee])
    np.savetxt(folder / "check_cosmomc_dl.csv", table, delimiter=",", header="ell,Dl_TE,Dl_EE", comments="", fmt=["%d", "%.17g", "%.17g"])


def write_powers(powers, ell, folder):
    """A line for each bin."""
    header = ",".join(["bin", "ell_eff", *SPECTRA])
    table = np.column_stack([np.arange(1, BINS + 1), np.round(ell, 2), powers.reshape(len(SPECTRA), BINS).T])
    np.savetxt(folder / "bandpowers.csv", table, delimiter=",", header=header, comments="", fmt=["%d", "%.2f", *["%.12f"] * len(SPECTRA)])


def check(folder):
    """-2 ln L at the check's spectrum, with its nuisances."""
    import spt3g

    likelihood = spt3g.Likelihood(folder, modes=None)
    spectrum = np.genfromtxt(folder / "check_cosmomc_dl.csv", delimiter=",", skip_header=1)
    nuisances = np.array([0.0] + [0.1] * 6 + [0.1647, -2.42, 0.0236, -2.42] + [1.0] * 6)
    return -2 * likelihood.log_likelihood(likelihood.bin(spectrum[:, 1], spectrum[:, 2]), nuisances)


def camb_runs(folder, runs):
    """Spectra at points that fill the emulator's box evenly; kept as they come, so that it can be stopped and begun again."""
    from scipy.stats import qmc

    import theory

    design = qmc.scale(qmc.Sobol(6, scramble=True, seed=1).random(runs), theory.LOWER, theory.UPPER)
    path = folder / "camb_runs.npz"
    kept = dict(np.load(path)) if path.exists() else {"X": np.empty((0, 6)), "TE": np.empty((0, 3301)), "EE": np.empty((0, 3301)), "D": np.empty((0, 3))}
    spectra = theory.Camb(_Unbinned())
    for x in design[len(kept["X"]) :]:
        found = spectra(x)
        if found is None:
            raise SystemExit(f"CAMB has no spectrum at {dict(zip(theory.COSMOLOGY, x))}")
        (te, ee), (h0, omegam, sigma8) = found
        new = {"X": x, "TE": te, "EE": ee, "D": [h0, sigma8, omegam]}
        kept = {name: np.concatenate([kept[name], [new[name]]]) for name in kept}
        print(f"CAMB run {len(kept['X'])} of {runs}", flush=True)
        if len(kept["X"]) % 16 == 0 or len(kept["X"]) == runs:
            np.savez_compressed(path, **kept)


class _Unbinned:
    """In the place of a likelihood: CAMB's spectra as they are."""

    @staticmethod
    def bin(te, ee):
        return np.array(te), np.array(ee)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the files go; $TOWLINE_CMB_DATA for the example")
    parser.add_argument("--clones", type=Path, help="where repositories are cloned to (by default a temporary folder)")
    parser.add_argument("--release", type=Path, help=f"the folder {RELEASE[2]} of {RELEASE[0]}, branch {RELEASE[1]}")
    parser.add_argument("--windows", type=Path, help=f"the folder {WINDOWS[2]} of {WINDOWS[0]}")
    parser.add_argument("--check", type=Path, help=f"the folder {CHECK[2]} of {CHECK[0]}")
    parser.add_argument("--camb", type=int, metavar="RUNS", help="also run CAMB so often, for the emulator (192 make a good one)")
    asked = parser.parse_args(arguments)
    asked.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        work = asked.clones or Path(temporary)
        powers = release(asked.release or clone(RELEASE, work), asked.folder)
        ell = windows(asked.windows or clone(WINDOWS, work), asked.folder)
        check_spectrum(asked.check or clone(CHECK, work), asked.folder)
    for order in (powers, powers.reshape(BINS, len(SPECTRA)).T.ravel()):
        # Spectrum by spectrum or bin by bin: the check knows.
        write_powers(order, ell, asked.folder)
        value = check(asked.folder)
        if abs(value - EXPECTED) < 1e-4:
            break
    else:
        raise SystemExit(f"-2 ln L of the check's spectrum is {value:.6f}, where it should be {EXPECTED}: the files are not what they should be")
    print(f"-2 ln L of the check's spectrum: {value:.6f}, as it should be")
    if asked.camb:
        camb_runs(asked.folder, asked.camb)


if __name__ == "__main__":
    main()
