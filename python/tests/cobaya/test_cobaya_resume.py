"""A run that was stopped, or killed, continues to the draws that it would have had."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from cobaya.log import LoggedError
from cobaya.run import run
from problems import chains, neal

OPTIONS = {"chains": 2, "warmup": 100, "Rminus1_stop": 1e-4}
HERE = Path(__file__).parent
SCRIPT = """
import sys, time
sys.path.insert(0, {here!r})
import problems
from cobaya.run import run
calculate = problems.Sine.calculate
def slowly(self, state, want_derived=True, **params):
    time.sleep(0.002)
    return calculate(self, state, want_derived, **params)
problems.Sine.calculate = slowly
run(problems.neal(1, **{options!r}, max_samples=400) | {{"output": {output!r}}})
"""


def text_of(folder, name):
    return [(folder / f"{name}.{k}.txt").read_text() for k in (1, 2)]


def test_more_draws_are_those_of_a_longer_run(tmp_path):
    run(neal(1, **OPTIONS, max_samples=150) | {"output": str(tmp_path / "a")})
    _, again = run(neal(1, **OPTIONS, max_samples=400) | {"output": str(tmp_path / "a"), "resume": True})
    _, whole = run(neal(1, **OPTIONS, max_samples=400) | {"output": str(tmp_path / "b")})
    assert np.array_equal(chains(again, "x"), chains(whole, "x"))
    assert text_of(tmp_path, "a") == text_of(tmp_path, "b")


def test_a_killed_run_resumes_to_the_same_draws(tmp_path):
    output = str(tmp_path / "killed")
    script = SCRIPT.format(here=str(HERE), options=OPTIONS, output=output)
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    rows = tmp_path / "killed.towline" / "chain-0.f64"
    deadline = time.monotonic() + 60
    while not (rows.exists() and rows.stat().st_size > 0) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    assert process.poll() is None, "it ended before it could be killed"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    _, again = run(neal(1, **OPTIONS, max_samples=400) | {"output": output, "resume": True})
    _, whole = run(neal(1, **OPTIONS, max_samples=400) | {"output": str(tmp_path / "whole")})
    assert np.array_equal(chains(again, "x"), chains(whole, "x"))


def test_old_output_is_not_overwritten_unless_that_is_asked_for(tmp_path):
    info = neal(1, **OPTIONS, max_samples=20) | {"output": str(tmp_path / "a")}
    run(info)
    with pytest.raises(LoggedError, match="(?i)force|resume|delete"):
        run(info)
    _, sampler = run(info | {"force": True})
    assert len(chains(sampler, "x")[0]) == 20


def test_another_model_is_not_resumed(tmp_path):
    run(neal(1, **OPTIONS, max_samples=20) | {"output": str(tmp_path / "a")})
    with pytest.raises(LoggedError):
        run(neal(2, **OPTIONS, max_samples=40) | {"output": str(tmp_path / "a"), "resume": True})
