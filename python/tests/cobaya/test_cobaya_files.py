"""The script that makes the CMB example's files, on files of the form of the public ones (made from those at hand)."""

import sys

import numpy as np
import pytest
from test_cobaya_cmb import FOLDER, ROOT

pytestmark = pytest.mark.skipif(not (FOLDER / "bandpowers.csv").is_file(), reason=f"the SPT-3G data are not in {FOLDER}")
sys.path.insert(0, str(ROOT / "examples" / "cmb"))

import make_files  # noqa: E402


def write_fits(path, values):
    """An array as cfitsio writes it."""
    cards = [
        "SIMPLE  =                    T",
        "BITPIX  =                  -64",
        "NAXIS   =                    1",
        f"NAXIS1  = {values.size:20d} / length",
        "END",
    ]
    header = "".join(card.ljust(80) for card in cards).ljust(2880).encode("ascii")
    data = values.astype(">f8").tobytes()
    path.write_bytes(header + data + b"\0" * (-len(data) % 2880))


@pytest.fixture
def public(tmp_path):
    """The three folders of the public repositories."""
    release, windows, check = (tmp_path / name for name in ("release", "windows", "check"))
    for folder in (release, windows, check):
        folder.mkdir()
    powers = np.genfromtxt(FOLDER / "bandpowers.csv", delimiter=",", skip_header=1)[:, 2:].T
    write_fits(release / "SPT3G_Y1_EETE_bandpower", powers.ravel())
    write_fits(release / "SPT3G_Y1_EETE_covariance_matrix", np.load(FOLDER / "cov.npy").ravel())
    write_fits(release / "SPT3G_Y1_EETE_beam_covariance_matrix", np.load(FOLDER / "beam_cov.npy").ravel())
    calibration = np.genfromtxt(FOLDER / "cal_inv_cov.csv", delimiter=",", skip_header=1)
    write_fits(release / "SPT3G_Y1_EETE_cal_inv_covariance_matrix", calibration.ravel())
    for b, one in enumerate(np.load(FOLDER / "windows.npz")["windows"].transpose(1, 2, 0)):
        table = np.column_stack([np.arange(1, 3201), one])
        np.savetxt(windows / f"window_{b + 1}.txt", table, header=f"Window Function Bin {b + 1}.", fmt=["%d", *["%.6E"] * 12])
    spectrum = np.genfromtxt(FOLDER / "check_cosmomc_dl.csv", delimiter=",", skip_header=1)
    np.save(check / "dlte_ee_from_cosmomc.npy", spectrum[:, 1:].T)
    return {"--release": release, "--windows": windows, "--check": check}


def test_the_files_are_made_and_checked(public, tmp_path, capsys):
    folder = tmp_path / "made"
    arguments = [str(folder), *(str(v) for pair in public.items() for v in pair)]
    make_files.main(arguments)
    assert "-2 ln L of the check's spectrum: 1142.9992" in capsys.readouterr().out
    ours, given = (np.genfromtxt(one / "bandpowers.csv", delimiter=",", skip_header=1) for one in (folder, FOLDER))
    assert np.allclose(ours, given, rtol=1e-9, atol=6e-3)
    for name in ("cov.npy", "beam_cov.npy"):
        assert np.array_equal(np.load(folder / name), np.load(FOLDER / name))
    # Band powers that are not these are seen.
    wrong = np.roll(np.genfromtxt(FOLDER / "bandpowers.csv", delimiter=",", skip_header=1)[:, 2:].T, 1, axis=1)
    write_fits(public["--release"] / "SPT3G_Y1_EETE_bandpower", wrong.ravel())
    with pytest.raises(SystemExit, match="not what they should be"):
        make_files.main(arguments)
