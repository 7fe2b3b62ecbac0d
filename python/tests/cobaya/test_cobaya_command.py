"""Plain `cobaya-run`, and `mpirun`: inputs as people write them, with the sampler's line changed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from getdist.mcsamples import loadMCSamples
from problems import VARIANCE_X

HERE = Path(__file__).parent
MIXTURE = """
likelihood:
  gaussian_mixture:
    means: [0.2, 0]
    covs: [[0.1, 0.05], [0.05, 0.2]]
    derived: True
params:
  a:
    prior: {min: -3, max: 3}
    latex: \\alpha
  b:
    prior: {dist: norm, loc: 0, scale: 100}
    ref: 0
    proposal: 0.5
    latex: \\beta
  derived_a:
    latex: \\alpha^\\prime
  derived_b:
    latex: \\beta^\\prime
sampler:
  towline.cobaya.Towline:
    burn_in: 100
    max_samples: 1500
    Rminus1_stop: 0.0001
    chains: 2
    warmup: 150
    seed: 1
output: chains/mixture
"""
NEAL = """
theory:
  problems.Sine:
    python_path: {here}
likelihood:
  problems.Neal1:
    python_path: {here}
params:
  x: {{prior: {{min: -8, max: 8}}, ref: {{dist: norm, loc: 0, scale: 0.5}}}}
  y: {{prior: {{min: -12, max: 12}}, ref: {{dist: norm, loc: 0, scale: 0.3}}}}
  square:
sampler:
  towline.cobaya.Towline: {{max_samples: 600, Rminus1_stop: 0.0001, warmup: 150, seed: 1, measure_speeds: False{more}}}
output: {output}
"""


def call(arguments, folder, **environment):
    environment = os.environ | {"OMP_NUM_THREADS": "1", **environment}
    done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, env=environment, timeout=240)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def cobaya_run():
    return [sys.executable, "-m", "cobaya", "run"]


def test_an_input_file_needs_one_changed_line(tmp_path):
    (tmp_path / "mixture.yaml").write_text(MIXTURE)
    said = call([*cobaya_run(), "mixture.yaml"], tmp_path)
    assert "`burn_in` means nothing here" in said
    loaded = loadMCSamples(str(tmp_path / "chains" / "mixture"))
    for name, mean, variance in (("a", 0.2, 0.1), ("b", 0.0, 0.2)):
        effective = loaded.getEffectiveSamples(loaded.paramNames.numberOfName(name))
        assert effective > 300
        assert abs(loaded.mean(name) - mean) < 4 * np.sqrt(variance / effective)
        assert abs(loaded.var(name) - variance) < 4 * variance * np.sqrt(2 / effective)
    assert loaded.cov(["a", "b"])[0, 1] == pytest.approx(0.05, abs=0.02)
    updated = yaml.safe_load((tmp_path / "chains" / "mixture.updated.yaml").read_text())
    assert updated["sampler"]["towline.cobaya.Towline"]["seed"] == 1


@pytest.mark.skipif(not shutil.which("mpirun"), reason="there is no mpirun")
def test_ranks_draw_what_chains_of_one_process_draw(tmp_path):
    pytest.importorskip("mpi4py", reason="mpi4py is not installed")
    for name, more in (("one", ", chains: 2"), ("ranks", "")):
        text = NEAL.format(here=HERE, output=f"chains/{name}", more=more)
        (tmp_path / f"{name}.yaml").write_text(text)
    call([*cobaya_run(), "one.yaml"], tmp_path)
    mpirun = ["mpirun", "-n", "2", "--allow-run-as-root", "--oversubscribe", *cobaya_run(), "ranks.yaml"]
    call(mpirun, tmp_path)
    for k in (1, 2):
        one, ranks = (np.loadtxt(tmp_path / "chains" / f"{name}.{k}.txt") for name in ("one", "ranks"))
        assert np.array_equal(one, ranks)
    x = np.concatenate([np.repeat(c[:, 2], c[:, 0].astype(int)) for c in (one, ranks)])
    assert abs(x.var() - VARIANCE_X) < 0.1
