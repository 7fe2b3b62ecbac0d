"""One input file, run by `cobaya-run` with Cobaya's own `mcmc` and with Towline, and whether their posteriors are the same."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from problems import standard_error

COBAYA_RUN = str(Path(sys.executable).with_name("cobaya-run"))
OWN, OURS = "  mcmc:\n", "  towline.cobaya.Towline:\n"


def run(text, folder):
    """What `cobaya-run` says of an input with `output: chains/run`."""
    folder.mkdir()
    (folder / "posterior.yaml").write_text(text)
    done = subprocess.run(
        [COBAYA_RUN, "posterior.yaml"],
        cwd=folder,
        capture_output=True,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        timeout=1200,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def run_both(text, folder):
    """The input as it is, and with one line changed: what was said in the second run."""
    assert text.count(OWN) == 1
    run(text, folder / "mcmc")
    return run(text.replace(OWN, OURS), folder / "towline")


def chains(folder, names):
    """Of each parameter, the steps of every chain in rows: a weight of three is three equal steps."""
    rows = []
    for path in sorted((folder / "chains").glob("run.[0-9]*.txt")):
        with open(path, encoding="utf-8") as file:
            columns = file.readline().lstrip("#").split()
        table = np.loadtxt(path)
        rows.append(np.repeat(table[:, [columns.index(name) for name in names]], table[:, 0].astype(int), axis=0))
    length = min(map(len, rows))
    return np.array([row[:length] for row in rows]).transpose(2, 0, 1)


def moments(values):
    """All means and covariances with their Monte Carlo errors, by the parameters that they are of."""
    apart = values - values.mean(axis=(1, 2), keepdims=True)
    found = {}
    for i, one in enumerate(values):
        found[i] = (one.mean(), standard_error(one))
        for j in range(i + 1):
            product = apart[i] * apart[j]
            found[i, j] = (product.mean(), standard_error(product))
    return found


def assert_same(folder, names, effective):
    """Every mean and covariance within four combined standard errors, each by at least so many effective draws."""
    found = [moments(chains(folder / sampler, names)) for sampler in ("mcmc", "towline")]
    for which in found[0]:
        (own, own_error), (ours, our_error) = (one[which] for one in found)
        apart = (ours - own) / np.hypot(own_error, our_error)
        of = names[which] if isinstance(which, int) else [names[k] for k in which]
        assert abs(apart) < 4, f"{of}: {own:.5g} ± {own_error:.2g} by mcmc, {ours:.5g} ± {our_error:.2g} by Towline, z = {apart:.1f}"
        if isinstance(which, int):
            for sampler, one in zip(("mcmc", "Towline"), found):
                draws = one[which, which][0] / one[which][1] ** 2
                assert draws > effective, f"only {draws:.0f} effective draws of {of} by {sampler}"
