"""Slow evaluations in several processes: the same estimates and draws to the bit, also where a process is killed."""

import contextlib
import os
import signal
import time

import numpy as np
import pytest
from cobaya.log import LoggedError
from cobaya.run import run
from cobaya.theory import Theory
from problems import neal

# Fixed, since measured speeds differ from run to run.
FIXED = {"cost_ratio": 1e5, "chains": 2}


class Logged(Theory):
    """The report's theory, asleep for a while, which notes each of its evaluations in a folder and ends its process where that says so."""

    speed = 1
    params = {"x": None, "square": {"derived": True}}
    folder: str = ""

    def get_can_provide(self):
        return ["sine"]

    def calculate(self, state, want_derived=True, **params):
        x = params["x"]
        began = time.monotonic()
        time.sleep(0.02)
        with open(os.path.join(self.folder, f"{os.getpid()}.log"), "a") as log:
            log.write(f"{float(x)!r} {began} {time.monotonic()}\n")
        deadly = os.path.join(self.folder, "deadly")
        if os.path.exists(deadly) and len(read(self.folder)) > 60:
            # Two may come here at once; one of them ends.
            with contextlib.suppress(FileNotFoundError):
                os.remove(deadly)
                os.kill(os.getpid(), signal.SIGKILL)
        state["sine"] = (x, float(np.sin(x)))
        state["derived"] = {"square": x * x}

    def get_sine(self):
        return self.current_state["sine"]


def read(folder):
    """x, beginning and end of every evaluation."""
    lines = []
    for name in os.listdir(folder):
        if name.endswith(".log"):
            with open(os.path.join(folder, name)) as log:
                lines += [tuple(map(float, line.split())) for line in log]
    return sorted(lines, key=lambda line: line[1])


def logged(folder, **options):
    folder.mkdir(exist_ok=True)
    info = neal(1, **FIXED, **options)
    info["theory"] = {"sine": {"external": Logged, "folder": str(folder)}}
    return info


def at_a_time(lines):
    """Evaluations under way, on average while any is."""
    ends = sorted([(begun, 1) for _, begun, _ in lines] + [(end, -1) for *_, end in lines])
    any_, all_, now, last = 0.0, 0.0, 0, ends[0][0]
    for when, change in ends:
        any_ += (when - last) * (now > 0)
        all_ += (when - last) * now
        now, last = now + change, when
    return all_ / any_


def test_workers_change_no_bit_and_work_side_by_side(tmp_path):
    _, alone = run(logged(tmp_path / "1", error_stop=0.05))
    _, helped = run(logged(tmp_path / "4", error_stop=0.05, workers=4))
    one, four = (s.products()["run"] for s in (alone, helped))
    assert four.estimates() == one.estimates() and four.evidence() == one.evidence()
    assert at_a_time(read(tmp_path / "1")) < 1.05
    # Batches of one slow parameter are small, and tests run side by side.
    assert at_a_time(read(tmp_path / "4")) > 1.8


def test_chains_draw_the_same_with_any_number_of_workers(tmp_path):
    options = {"max_samples": 100, "Rminus1_stop": 1e-4, "warmup": 100}
    _, alone = run(logged(tmp_path / "1", workers=1, **options))
    _, helped = run(logged(tmp_path / "3", workers=3, **options))
    for name in ("x", "y"):
        assert np.array_equal(helped.engine_run[name], alone.engine_run[name])


def test_a_worker_that_is_killed_is_told_and_the_run_goes_on(tmp_path):
    _, whole = run(logged(tmp_path / "whole", error_stop=0.05, workers=3))
    broken = logged(tmp_path / "broken", error_stop=0.05, workers=3)
    (tmp_path / "broken" / "deadly").touch()
    with pytest.warns(UserWarning, match="ended by signal 9"):
        _, other = run(broken)
    assert other.products()["run"].estimates() == whole.products()["run"].estimates()


@pytest.mark.parametrize("workers", [0, -1, 1.5, True])
def test_a_number_of_workers_that_makes_no_sense_is_refused(workers):
    with pytest.raises(LoggedError, match="workers"):
        run(neal(1, workers=workers))
