"""Callback functions see the sampler as those of `mcmc` do, and may use the model."""

import numpy as np
import pytest
from cobaya.log import LoggedError
from cobaya.run import run
from problems import chains, neal
from watched import slowly

SHORT = {"chains": 2, "warmup": 150, "Rminus1_stop": 1e-4}


def test_a_callback_is_called_at_the_checks_and_may_use_the_model():
    seen = []

    def look(sampler):
        new = sampler.collection[sampler.last_point_callback :]
        value = sampler.model.logposterior({"x": 0.1, "y": 0.2}).logpost
        seen.append((sampler.n(), len(new), value))

    _, sampler = run(neal(1, **SHORT, max_samples=400, callback_function=look))
    _, without = run(neal(1, **SHORT, max_samples=400))
    # Whatever it does with the model, draws are those of a run without it.
    assert np.array_equal(chains(sampler, "x"), chains(without, "x"))
    # At 100, 120, 144, 172, 206, 247, 296 and 355 draws.
    assert len(seen) == 8
    rows, new, values = zip(*seen)
    assert list(np.diff(rows)) == list(new[1:]) and rows[0] == new[0] > 80
    assert np.ptp(values) == 0


def test_it_is_not_called_before_there_are_enough_rows():
    seen = []
    run(neal(1, **SHORT, max_samples=400, callback_function=lambda sampler: seen.append(sampler.n()), callback_every="60d"))
    # Two parameters: 120 rows at least from one to the next.
    assert 1 <= len(seen) <= 3 and (np.diff(seen) >= 120).all()


def test_it_is_called_where_chains_are_in_other_processes():
    seen = []
    run(slowly(0.01, **SHORT, max_samples=300, callback_function=lambda sampler: seen.append(sampler.n()), parallel="processes"))
    assert seen and seen == sorted(seen)


def test_its_failure_is_told_and_ends_nothing(caplog):
    def broken(sampler):
        raise RuntimeError("the disk of plots is full")

    _, sampler = run(neal(1, **SHORT, max_samples=150, callback_function=broken))
    assert len(chains(sampler, "x")[0]) == 150
    assert "the disk of plots is full" in caplog.text


def test_callback_every_without_a_function_is_refused():
    with pytest.raises(LoggedError, match="`callback_every` needs"):
        run(neal(1, **SHORT, callback_every=10))
