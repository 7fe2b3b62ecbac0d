"""The CMB example: the likelihood at the release's own checks, the emulator, and a short version of the whole."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from towline.cobaya import tuning
from towline.cobaya.priors import Mapped

ROOT = Path(__file__).parents[3]
FOLDER = Path(os.environ.get("TOWLINE_CMB_DATA") or ROOT.parent / "shared" / "data" / "cmb_spt3g_eete")
pytestmark = pytest.mark.skipif(
    not (FOLDER / "bandpowers.csv").is_file(),
    reason=f"the SPT-3G data are not in {FOLDER} (they may not be shipped; examples/cmb/README.md says where to get them)",
)
sys.path.insert(0, str(ROOT / "examples" / "cmb"))

import spt3g  # noqa: E402
import theory  # noqa: E402

# Nuisances of the release's check, of CosmoMC's form.
CHECK = np.array([0.0] + [0.1] * 6 + [0.1647, -2.42, 0.0236, -2.42] + [1.0] * 6)
TYPICAL = np.array([spt3g.PRIORS[n][0] if n in spt3g.PRIORS else 1.0 for n in spt3g.NUISANCES])
WIDTHS = np.array([spt3g.PRIORS[n][1] if n in spt3g.PRIORS else 0.006 for n in spt3g.NUISANCES])


@pytest.fixture(scope="module")
def likelihood():
    return spt3g.Likelihood(FOLDER)


@pytest.fixture(scope="module")
def emulator(likelihood):
    return theory.Emulator(likelihood, FOLDER)


@pytest.fixture(scope="module")
def runs():
    return np.load(FOLDER / "camb_runs.npz")


def test_the_releases_own_check():
    exact = spt3g.Likelihood(FOLDER, modes=None)
    check = np.genfromtxt(FOLDER / "check_cosmomc_dl.csv", delimiter=",", skip_header=1)
    value = -2 * exact.log_likelihood(exact.bin(check[:, 1], check[:, 2]), CHECK)
    # Its derivative is one ℓ off centre, as here.
    assert value == pytest.approx(1142.999285, abs=2e-6)


def test_compressed_beams_are_as_good_as_they_say(likelihood, runs):
    exact = spt3g.Likelihood(FOLDER, modes=None)
    rng = np.random.default_rng(1)
    worst = 0.0
    for k in range(0, 192, 12):
        binned = likelihood.bin(runs["TE"][k], runs["EE"][k])
        y = TYPICAL + WIDTHS * rng.standard_normal(17)
        y[spt3g.POSITIVE] = np.abs(y[spt3g.POSITIVE])
        worst = max(worst, abs(likelihood.log_likelihood(binned, y) - exact.log_likelihood(binned, y)))
    assert worst < 0.003


def test_gradients_and_batches_are_those_of_the_likelihood(emulator, likelihood):
    binned, _ = emulator(0.5 * (theory.LOWER + theory.UPPER))
    rng = np.random.default_rng(2)
    ys = TYPICAL + 0.5 * WIDTHS * rng.standard_normal((5, 17))
    ys[0, 3] = -1.0
    singly = [likelihood.log_likelihood(binned, y) for y in ys]
    assert np.array_equal(likelihood.log_likelihood_batch(binned, ys), singly) and singly[0] == -np.inf
    value, gradient = likelihood.gradient(binned, ys[1])
    assert value == pytest.approx(singly[1], abs=1e-9)
    for k, width in enumerate(WIDTHS):
        step = 1e-4 * width * np.eye(17)[k]
        slope = (likelihood.log_likelihood(binned, ys[1] + step) - likelihood.log_likelihood(binned, ys[1] - step)) / (2e-4 * width)
        assert gradient[k] * width == pytest.approx(slope * width, abs=1e-5)


def test_the_emulator_gives_its_runs_back(emulator, likelihood, runs):
    apart = []
    for k in range(0, 192, 8):
        binned, derived = emulator(runs["X"][k])
        exact = likelihood.bin(runs["TE"][k], runs["EE"][k])
        apart.append(abs(likelihood.log_likelihood(binned, TYPICAL) - likelihood.log_likelihood(exact, TYPICAL)))
        assert derived[0] == pytest.approx(runs["D"][k][0], rel=1e-4)
    assert np.median(apart) < 0.02 and max(apart) < 0.2
    assert emulator(theory.LOWER - 1e-6) is None


def tuning_of_the_reference(path):
    """A tuning from the posterior's covariance, so that a short run needs no warm-up."""
    names = theory.COSMOLOGY + spt3g.NUISANCES
    covariance = np.genfromtxt(FOLDER / "reference_covmat.csv", delimiter=",", skip_header=1)
    priors = {n: Mapped("Uniform", (a, b)) for n, a, b in zip(theory.COSMOLOGY, theory.LOWER, theory.UPPER)}
    priors |= {"tau": Mapped("Normal", theory.TAU_PRIOR)} | {n: Mapped("Normal", p) for n, p in spt3g.PRIORS.items()}
    priors |= {n: Mapped("Uniform", spt3g.CALIBRATION_BOUNDS) for n in spt3g.CALIBRATIONS}
    centre = [theory.START[n] for n in theory.COSMOLOGY] + list(TYPICAL)
    made = tuning.from_covariance(covariance, names, priors, theory.COSMOLOGY, spt3g.NUISANCES, centre, 1000.0)
    path.write_text(json.dumps(made))
    return str(path)


def test_the_example_runs_from_end_to_end_and_goes_on(tmp_path):
    import run as example

    asked = ["--data", str(FOLDER), "--out", str(tmp_path / "cmb"), "--chains", "2", "--parallel", "serial"]
    asked += ["--tuning", tuning_of_the_reference(tmp_path / "tuning.json")]
    example.main([*asked, "--draws", "20", "--no-page"])
    again = example.main([*asked, "--draws", "60"])
    assert again.draws_made == 60
    # Few draws, but they are where the posterior is: within four of its sds, and moving.
    assert np.abs(again["H0"] - 68.8).max() < 4 * 1.5 and again["H0"].std() > 0.1
    page = (tmp_path / "cmb" / "constraints.html").read_text()
    for words in ("published", "68.8 ± 1.5", "H₀", "data:image/png"):
        assert words in page


def test_the_input_file_runs_as_the_readme_says(tmp_path):
    text = (ROOT / "examples" / "cmb" / "emulated.yaml").read_text()
    covariance = np.genfromtxt(FOLDER / "reference_covmat.csv", delimiter=",", skip_header=1)
    np.savetxt(tmp_path / "posterior.covmat", covariance, header=" ".join(theory.COSMOLOGY + spt3g.NUISANCES))
    # Few draws and no warm-up.
    more = {"chains": 2, "max_samples": 30, "learn_proposal": False, "covmat": tmp_path / "posterior.covmat"}
    options = "".join(f"    {name}: {value}\n" for name, value in more.items())
    assert text.count("    seed: 1\n") == 1
    (tmp_path / "few.yaml").write_text(text.replace("    seed: 1\n", "    seed: 1\n" + options))
    output = tmp_path / "chains" / "cmb"
    done = subprocess.run(
        [str(Path(sys.executable).with_name("cobaya-run")), str(tmp_path / "few.yaml"), "--output", str(output)],
        cwd=ROOT / "examples" / "cmb",
        env=os.environ | {"TOWLINE_CMB_DATA": str(FOLDER), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "Slow: ['ombh2', 'omch2', 'theta100', 'logA', 'ns', 'tau']" in done.stdout and "60 draws of 2 chains" in done.stdout
    from getdist.mcsamples import loadMCSamples

    loaded = loadMCSamples(str(output))
    assert loaded.norm == 60
    # Few draws, but they are where the posterior is.
    assert abs(loaded.mean("H0") - 68.8) < 4 * 1.5 and 0.1 < loaded.std("H0") < 4 * 1.5


def test_without_data_it_says_where_to_get_them(monkeypatch):
    import run as example

    monkeypatch.delenv("TOWLINE_CMB_DATA", raising=False)
    with pytest.raises(SystemExit, match="README.md says where to get them"):
        example.main(["--data", str(FOLDER / "nowhere")])
