"""A run stops by Cobaya's own R-1, which is what the log, `.progress` and the products show; a resumed run may be given another."""

import arviz
import numpy as np
import pytest
from cobaya.collection import SampleCollection
from cobaya.model import get_model
from cobaya.run import run
from problems import chains, neal

from towline.cobaya import convergence

SHORT = {"chains": 2, "warmup": 150}


class Quiet:
    """What Cobaya's mcmc needs of a logger."""

    def __getattr__(self, name):
        return lambda *arguments: None


def by_mcmc(collections, split=4):
    """R-1 of means and bounds by Cobaya's own code: its method, run on these chains as one process sees them."""
    from cobaya.samplers.mcmc import mcmc

    class Bare:
        """What `check_convergence_and_learn_proposal` of one process looks at."""

        log, Rminus1_single_split, Rminus1_cl_level, oversample_thin = Quiet(), split, 0.95, 1
        Rminus1_last, Rminus1_stop, Rminus1_cl_stop, i_learn, learn_proposal = 0.0, np.inf, 0.0, 1, False
        converged = False

        def __init__(self, collection):
            import pandas

            self.collection = collection
            self.progress = pandas.DataFrame(columns=["N", "timestamp", "acceptance_rate", "Rminus1", "Rminus1_cl"])
            self.model = collection_model

        def n(self, burn_in=False):
            return len(self.collection)

        def get_acceptance_rate(self, first=0, last=None):
            return 1.0

        def write_checkpoint(self):
            pass

        mpi_info = mpi_debug = Quiet().info

    collection_model = collections.model
    bare = Bare(collections.chain)
    mcmc.MCMC.check_convergence_and_learn_proposal(bare)
    return bare.progress.at[1, "Rminus1"], bare.progress.at[1, "Rminus1_cl"]


def test_the_statistic_of_a_single_chain_is_that_of_cobayas_own_code():
    info = {"likelihood": {"one": lambda a, b: 0.0}, "params": {n: {"prior": [-9, 9]} for n in "ab"}}
    model = get_model(info)
    rng = np.random.default_rng(1)
    steps = np.cumsum(rng.standard_normal((400, 2)) * 0.1, axis=0) + rng.standard_normal((400, 2))
    draws = np.repeat(steps, rng.integers(1, 5, 400), axis=0)
    collection = SampleCollection(model, None)
    values, weights = convergence.collapsed(draws)
    assert weights.sum() == len(draws) and len(values) == 400
    for value, weight in zip(values, weights):
        collection.add(value, logpriors=[0.0], loglikes=[0.0], derived=[], weight=weight)
    collections = type("Collections", (), {"model": model, "chain": collection})
    means, bounds = by_mcmc(collections)
    parts = convergence.pieces([draws], 4)
    assert convergence.r_minus_one(parts) == pytest.approx(means, rel=1e-9)
    assert convergence.r_minus_one_of_bounds(parts, 0.95) == pytest.approx(bounds, rel=1e-9)


def test_several_chains_are_compared_by_their_second_halves():
    rng = np.random.default_rng(2)
    draws = [rng.standard_normal((1000, 3)) + [k, 0, 0] for k in range(4)]
    for one in draws:
        one[:500] += 100.0
    expected = np.var([one[500:, 0].mean() for one in draws], ddof=1) / np.mean([one[500:, 0].var() for one in draws])
    assert convergence.r_minus_one(convergence.pieces(draws, 4)) == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("stop, stop_bounds", [(0.05, 0.2), (0.05, 0.03)])
def test_a_run_stops_by_the_statistic_that_it_shows(stop, stop_bounds, tmp_path):
    _, sampler = run(neal(1, **SHORT, Rminus1_stop=stop, Rminus1_cl_stop=stop_bounds, max_samples=6000) | {"output": str(tmp_path / "a")})
    assert sampler.converged
    x, y = chains(sampler, "x"), chains(sampler, "y")
    draws = x.shape[1]
    assert draws in list(convergence.checks(draws))

    def shown(n):
        parts = convergence.pieces([np.column_stack([a, b])[:n] for a, b in zip(x, y)], 4)
        return convergence.r_minus_one(parts), convergence.r_minus_one_of_bounds(parts, 0.95)

    # It stopped at the first check at which both hold, R-1 of the means at the one before as well.
    before = list(convergence.checks(draws))
    holds = [max(shown(b)[0], shown(a)[0]) < stop and shown(b)[1] < stop_bounds for a, b in zip(before, before[1:])]
    assert holds[-1] and not any(holds[:-1])
    assert sampler.Rminus1_last < stop and sampler.Rminus1_last == pytest.approx(shown(draws)[0], rel=1e-9)
    # Rows of `.progress` at all the checks, and their last is what the run ended with.
    rows = np.loadtxt(tmp_path / "a.progress", usecols=(0, 2, 3, 4))
    assert rows[:, 0].tolist() == [2 * at for at in before]
    assert rows[-1, 2:] == pytest.approx(shown(draws), abs=1e-6)
    accepted = sampler.engine_run.statistics["outer_accepted"]
    assert sampler.acceptance_rate == accepted.mean() == pytest.approx(rows[-1, 1], abs=1e-6)
    # Fast moves make every row a different one: their share would be 1.
    assert rows[-1, 1] < 0.99


def test_a_single_chain_is_compared_with_itself():
    _, sampler = run(neal(1, chains=1, warmup=200, Rminus1_stop=0.05, max_samples=6000))
    assert sampler.converged and sampler.Rminus1_last < 0.05


def test_a_resumed_run_may_be_given_a_lower_one(tmp_path):
    output = {"output": str(tmp_path / "a")}
    _, first = run(neal(1, **SHORT, Rminus1_stop=0.2, max_samples=5000) | output)
    assert first.converged
    _, again = run(neal(1, **SHORT, Rminus1_stop=0.2, max_samples=5000) | output | {"resume": True})
    assert again.converged and len(chains(again, "x")[0]) == len(chains(first, "x")[0])
    _, lower = run(neal(1, **SHORT, Rminus1_stop=0.004, max_samples=5000) | output | {"resume": True})
    assert lower.converged and lower.Rminus1_last < 0.004
    assert len(chains(lower, "x")[0]) > len(chains(first, "x")[0])
    # To the draws of a run that was asked for it from the beginning.
    _, whole = run(neal(1, **SHORT, Rminus1_stop=0.004, max_samples=5000))
    assert np.array_equal(chains(lower, "x"), chains(whole, "x"))
    rows = np.loadtxt(tmp_path / "a.progress", usecols=0)
    assert (np.diff(rows) > 0).all()


def test_effective_draws_may_be_asked_for_besides():
    _, sampler = run(neal(1, **SHORT, Rminus1_stop=0.5, ess=400, max_samples=6000))
    assert sampler.converged
    least = min(float(arviz.ess(chains(sampler, name), method="mean")) for name in ("x", "y"))
    assert 300 < least < 1200


def test_processes_stop_where_a_single_one_does():
    _, one = run(neal(1, **SHORT, Rminus1_stop=0.1, max_samples=3000))
    _, several = run(neal(1, **SHORT, Rminus1_stop=0.1, max_samples=3000, parallel="processes"))
    assert several.converged
    assert np.array_equal(chains(one, "x"), chains(several, "x"))


def test_the_log_shows_r_minus_one_effective_draws_and_the_time_left(caplog, tmp_path):
    from watched import slowly

    run(slowly(0.004, **SHORT, max_samples=700, Rminus1_stop=1e-3, output_every="1s") | {"output": str(tmp_path / "a")})
    lines = [record.getMessage() for record in caplog.records]
    assert any("Warm-up, stage" in line and "slow evaluations" in line for line in lines), lines
    told = [line for line in lines if "least effective sample size" in line]
    assert told and all("R-1 =" in line and "acceptance rate" in line and "slow evaluations" in line for line in told)
    assert any("left" in line and "not known" not in line for line in told), told


def test_progress_grows_while_the_run_is_under_way(tmp_path):
    """A row for each check that was passed, and chain files, long before the end: Cobaya's users watch them."""
    from watched import slowly

    seen = []

    def look(sampler):
        rows = np.loadtxt(tmp_path / "a.progress", usecols=(0, 2, 3), ndmin=2)
        files = [path for path in (tmp_path / f"a.{k}.txt" for k in (1, 2)) if path.exists() and path.stat().st_size > 0]
        seen.append((sampler.n(), len(rows), len(files)))

    _, sampler = run(
        slowly(0.008, **SHORT, max_samples=500, Rminus1_stop=1e-4, output_every="1s", callback_function=look) | {"output": str(tmp_path / "a")}
    )
    rows = np.loadtxt(tmp_path / "a.progress", usecols=(0, 2, 3), ndmin=2)
    counts = [many for _, many, _ in seen]
    # At the last check before the end the ones before it stand there already.
    assert counts == sorted(counts) and len(rows) // 2 <= counts[-1] < len(rows), (seen, rows)
    assert seen[-1][2] == 2
    assert ((rows[:, 1] > 0) & (rows[:, 1] < 1)).all() and np.isfinite(rows[:, 2]).all()
