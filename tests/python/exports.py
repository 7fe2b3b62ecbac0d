"""ArviZ and GetDist read towline's exports, and their own numbers are ours.

Usage: python tests/python/exports.py TOWLINE [RUN]

TOWLINE is the command; RUN a run directory, made anew with the paper's first example where it is not given.
"""

import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np


def towline(*arguments):
    done = subprocess.run([TOWLINE, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, f"towline {arguments}: {done.stderr}"
    return done.stdout


def close(ours, theirs, what, relative=1e-8):
    assert np.isclose(ours, theirs, rtol=relative, atol=0), f"{what}: ours {ours}, theirs {theirs}"


def draws_of(run):
    """The rows as the manifest says, with NumPy alone: (chain, draw, column)."""
    manifest = json.loads((run / "manifest.json").read_text())
    width = len(manifest["columns"]) + len(manifest["statistics"])
    chains = [np.fromfile(run / f"chain-{k}.f64", "<f8") for k in range(manifest["chains"])]
    shortest = min(len(chain) // width for chain in chains)
    return manifest, np.stack([chain[: shortest * width].reshape(-1, width) for chain in chains])


def arviz_agrees(run, folder, summary):
    import arviz
    import xarray

    towline("export", run, "--to", "zarr", "--out", folder / "draws.zarr")
    # ArviZ 1 works on xarray's trees; 0.23 makes its own of them (its from_zarr refuses Zarr 3's library).
    data = xarray.open_datatree(folder / "draws.zarr", engine="zarr")
    if hasattr(arviz, "InferenceData"):
        data = arviz.InferenceData.from_datatree(data)
    table = arviz.summary(data, kind="diagnostics")
    assert list(table.index) == [entry["name"] for entry in summary["parameters"]]
    manifest, draws = draws_of(run)
    posterior = data["posterior"]
    assert dict(posterior.sizes) == {"chain": draws.shape[0], "draw": draws.shape[1]}
    stats = data["sample_stats"]
    place = len(manifest["columns"]) + manifest["statistics"].index("log_density")
    assert np.array_equal(stats["lp"].values, draws[:, :, place])
    for k, entry in enumerate(summary["parameters"]):
        name = entry["name"]
        values = posterior[name].values
        assert np.array_equal(values, draws[:, :, k]), name
        close(entry["mean"], values.mean(), f"mean of {name}")
        close(entry["sd"], values.std(ddof=1), f"sd of {name}")
        for ours, p in (("q5", 0.05), ("median", 0.5), ("q95", 0.95)):
            close(entry[ours], np.quantile(values, p), f"{ours} of {name}")
        close(entry["rhat"], float(arviz.rhat(values)), f"R-hat of {name}")
        close(entry["ess_bulk"], float(arviz.ess(values, method="bulk")), f"bulk ESS of {name}")
        close(entry["mcse_mean"], float(arviz.mcse(values, method="mean")), f"MCSE of {name}")
        # ArviZ's versions differ where a quantile ties with draws (see towline::diagnose).
        close(entry["ess_tail"], float(arviz.ess(values, method="tail", prob=(0.05, 0.95))), f"tail ESS of {name}", 0.02)
    return len(summary["parameters"])


def getdist_agrees(run, folder, summary):
    from getdist import loadMCSamples

    root = folder / "getdist" / "run"
    towline("export", run, "--to", "getdist", "--out", root)
    manifest, draws = draws_of(run)
    samples = loadMCSamples(str(root), no_cache=True, settings={"ignore_rows": 0})
    assert samples.getParamNames().list() == [c["name"] for c in manifest["columns"]]
    # Weights are lengths of runs of equal rows: they add up to the draws.
    close(samples.weights.sum(), draws.shape[0] * draws.shape[1], "the sum of weights", 1e-12)
    for k, entry in enumerate(summary["parameters"]):
        close(entry["mean"], samples.mean(entry["name"]), f"GetDist's mean of {entry['name']}", 1e-10)
        count = draws.shape[0] * draws.shape[1]
        sd = samples.std(entry["name"]) * np.sqrt(count / (count - 1))
        close(entry["sd"], sd, f"GetDist's sd of {entry['name']}", 1e-8)
    for column in manifest["columns"]:
        lower = samples.ranges.getLower(column["name"])
        assert lower == column.get("lower"), f"lower end of {column['name']}: {lower}"
    weights = [np.loadtxt(f"{root}_{k + 1}.txt") for k in range(manifest["chains"])]
    place = len(manifest["columns"]) + manifest["statistics"].index("log_density")
    for k, rows in enumerate(weights):
        back = np.repeat(rows[:, 1:], rows[:, 0].astype(int), axis=0)
        assert np.array_equal(-back[:, 0], draws[k, :, place])
        assert np.array_equal(back[:, 1:], draws[k, :, : len(manifest["columns"])])


def tables_agree(run, folder):
    manifest, draws = draws_of(run)
    names = [c["name"] for c in manifest["columns"]] + manifest["statistics"]
    towline("export", run, "--to", "csv", "--out", folder / "draws.csv")
    with open(folder / "draws.csv") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["chain", "draw", *names]
    flat = np.array(rows[1:], dtype=float)
    assert np.array_equal(flat[:, 2:], draws.reshape(-1, draws.shape[2]))
    if "parquet:" in subprocess.run([TOWLINE, "export", "--help"], capture_output=True, text=True).stdout:
        import pyarrow.parquet

        towline("export", run, "--to", "parquet", "--out", folder / "draws.parquet")
        table = pyarrow.parquet.read_table(folder / "draws.parquet")
        assert table.column_names == ["chain", "draw", *names]
        for k, name in enumerate(names):
            assert np.array_equal(table[name].to_numpy(), draws[:, :, k].ravel()), name
        return "csv and parquet"
    return "csv (no parquet in this build)"


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        if len(sys.argv) > 2:
            run = Path(sys.argv[2])
        else:
            run = folder / "run"
            towline("run", "neal1", "--out", run, "--chains", 4, "--draws", 1000, "--seed", 1, "--cost-ratio", 100, "--quiet")
        summary = json.loads(towline("summary", run, "--json"))
        count = arviz_agrees(run, folder, summary)
        getdist_agrees(run, folder, summary)
        tables = tables_agree(run, folder)
        print(f"exports: ArviZ and GetDist agree on {count} parameters; tables: {tables}")


if __name__ == "__main__":
    TOWLINE = sys.argv[1]
    main()
