"""Chains on the ranks of a communicator: by real MPI where there is one, and by one made of threads."""

import importlib.util
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from conftest import chain_bytes

import models
import towline

SETTINGS = {"draws": 100, "warmup": 150, "cost_ratio": 50, "seed": 5}


class Communicator:
    """A communicator of threads, with what mpi4py's has of it."""

    def __init__(self, shared, rank):
        self.shared, self.rank = shared, rank

    @classmethod
    def of(cls, size):
        shared = {"size": size, "slots": [None] * size, "barrier": threading.Barrier(size, timeout=60)}
        return [cls(shared, rank) for rank in range(size)]

    def Get_rank(self):
        return self.rank

    def Get_size(self):
        return self.shared["size"]

    def allgather(self, mine):
        self.shared["slots"][self.rank] = mine
        self.shared["barrier"].wait()
        all_of_them = list(self.shared["slots"])
        self.shared["barrier"].wait()
        return all_of_them

    def bcast(self, mine, root=0):
        return self.allgather(mine)[root]

    def barrier(self):
        self.allgather(None)


def on_ranks(work, size=2):
    """What each rank returns, or the exception it raises."""
    answers = [None] * size

    def one(communicator):
        try:
            answers[communicator.rank] = work(communicator)
        except Exception as error:
            answers[communicator.rank] = error

    threads = [threading.Thread(target=one, args=(communicator,)) for communicator in Communicator.of(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    return answers


def test_ranks_give_the_same_draws_as_threads(tmp_path):
    runs = on_ranks(lambda ranks: towline.sample(models.line(), parallel=ranks, out=tmp_path / "ranks", **SETTINGS))
    assert all(run.ended == "finished" for run in runs), runs
    same = towline.sample(models.line(), chains=2, parallel="threads", out=tmp_path / "threads", **SETTINGS)
    assert chain_bytes(runs[0]) == chain_bytes(same)
    more = on_ranks(lambda ranks: towline.resume(tmp_path / "ranks", models.line(), draws=130, parallel=ranks))
    assert [run.draws_made for run in more] == [130, 130]


def test_a_rank_that_fails_ends_the_others(tmp_path):
    def work(ranks):
        def log_likelihood(cache, y):
            if ranks.rank == 1:
                raise ZeroDivisionError("only here")
            return models.line_log_likelihood(cache, y)

        return towline.sample(models.line(log_likelihood=log_likelihood), parallel=ranks, out=tmp_path / "run", **SETTINGS)

    first, second = on_ranks(work)
    assert isinstance(second, ZeroDivisionError)
    assert isinstance(first, towline.Error) and "the chain of rank 1 failed: ZeroDivisionError: only here" in str(first)


def test_ranks_need_a_directory():
    answers = on_ranks(lambda ranks: towline.sample(models.line(), parallel=ranks))
    assert all("a directory that all of them can see" in str(error) for error in answers)


def test_chains_must_be_as_many_as_ranks(tmp_path):
    answers = on_ranks(lambda ranks: towline.sample(models.line(), chains=3, parallel=ranks))
    assert all("chains = 3, but the communicator has 2 ranks" in str(error) for error in answers)
    towline.sample(models.line(), chains=3, out=tmp_path / "run", parallel="serial", **{**SETTINGS, "draws": 5})
    answers = on_ranks(lambda ranks: towline.resume(tmp_path / "run", models.line(), parallel=ranks))
    assert all("the run has 3 chains, and the communicator 2 ranks" in str(error) for error in answers)


def mpirun(folder, text):
    """A script on two ranks of real MPI."""
    if shutil.which("mpirun") is None or importlib.util.find_spec("mpi4py") is None:
        pytest.skip("no MPI")
    script = folder / "script.py"
    script.write_text(f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n{text}")
    command = ["mpirun", "--oversubscribe", "--allow-run-as-root", "-n", "2", sys.executable, script]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)


def test_mpirun_gives_the_same_draws(tmp_path):
    done = mpirun(
        tmp_path,
        f"""
from mpi4py import MPI
import models, towline
run = towline.sample(models.line(), parallel=MPI.COMM_WORLD, out="ranks", **{SETTINGS!r})
assert run.ended == "finished" and run.chains == 2
""",
    )
    assert done.returncode == 0, done.stderr
    same = towline.sample(models.line(), chains=2, parallel="threads", out=tmp_path / "threads", **SETTINGS)
    assert chain_bytes(towline.open(tmp_path / "ranks")) == chain_bytes(same)


def test_a_rank_of_mpirun_that_fails_in_the_middle_ends_the_others(tmp_path):
    done = mpirun(
        tmp_path,
        f"""
import pathlib
from mpi4py import MPI
import models, towline
rank, calls = MPI.COMM_WORLD.Get_rank(), 0
def log_likelihood(cache, y):
    global calls
    calls += pathlib.Path("run/checkpoint-1.bin").exists() if rank == 1 else 0
    if calls > 500:
        raise ZeroDivisionError("late")
    return models.line_log_likelihood(cache, y)
try:
    towline.sample(models.line(log_likelihood=log_likelihood), parallel=MPI.COMM_WORLD, out="run", **{{**{SETTINGS!r}, "draws": 10**8}})
except Exception as error:
    pathlib.Path(f"said-{{rank}}").write_text(f"{{type(error).__name__}}: {{error}}")
""",
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "said-1").read_text() == "ZeroDivisionError: late"
    assert "the chain of rank 1 failed: ZeroDivisionError: late" in (tmp_path / "said-0").read_text()
    assert 0 < towline.open(tmp_path / "run").draws_made < 10**8
