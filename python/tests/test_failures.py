"""What goes wrong in models: each a clear message, and a run that can be continued."""

import math
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import chain_bytes

import models
import towline

SETTINGS = {"chains": 2, "draws": 150, "warmup": 150, "cost_ratio": 50, "seed": 5}
ALONE = {**SETTINGS, "chains": 1, "warmup": 100, "draws": 50, "parallel": "serial"}
MODES = ["serial", "threads", "processes"]


class Fails:
    """A likelihood that raises once a file says so."""

    def __init__(self, flag):
        self.flag = str(flag)

    def __call__(self, cache, y):
        if os.path.exists(self.flag) and y[0] > 0.5:
            raise ZeroDivisionError("the spectrum is empty")
        return models.line_log_likelihood(cache, y)


@pytest.mark.parametrize("parallel", MODES)
def test_an_exception_surfaces_with_its_traceback_and_the_point_and_the_run_resumes(tmp_path, parallel):
    whole = towline.sample(models.line(), out=tmp_path / "whole", parallel="serial", **SETTINGS)
    model = models.line(log_likelihood=Fails(tmp_path / "flag"))
    towline.sample(model, out=tmp_path / "run", parallel=parallel, **{**SETTINGS, "draws": 60})
    (tmp_path / "flag").touch()
    with pytest.raises(ZeroDivisionError) as raised:
        towline.resume(tmp_path / "run", model, draws=150, parallel=parallel)
    notes = "\n".join(raised.value.__notes__)
    assert "log_likelihood at slope = " in notes and "offset = " in notes and "after " in notes
    assert f"towline.resume({str(tmp_path / 'run')!r}, model)" in notes
    if parallel == "processes":
        assert "in __call__" in str(raised.value.__cause__) and "the spectrum is empty" in str(raised.value.__cause__)
    else:
        assert raised.traceback[-1].name == "__call__"
    assert "ZeroDivisionError" in towline.open(tmp_path / "run").failures[0]["message"]
    (tmp_path / "flag").unlink()
    run = towline.resume(tmp_path / "run", model, draws=150, parallel=parallel)
    assert chain_bytes(run) == chain_bytes(whole)


def test_an_exception_in_prepare_ends_the_run_at_once():
    calls = []

    def prepare(x):
        calls.append(x)
        raise OSError("no such table")

    with pytest.raises(OSError, match="no such table") as raised:
        towline.sample(models.line(prepare=prepare), **ALONE)
    assert len(calls) == 1 and "prepare at slope = " in raised.value.__notes__[0]


class Odd(Exception):
    """It cannot be pickled: its arguments are not what it is made of."""

    def __init__(self, a, b):
        super().__init__(f"{a} and {b}")


def raises_odd(cache, y):
    raise Odd(1, 2)


def test_an_exception_that_cannot_be_sent_still_says_what_it_was():
    with pytest.raises((Odd, towline.ModelError), match="1 and 2"):
        towline.sample(models.line(log_likelihood=raises_odd), parallel="processes", **SETTINGS)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_nan_names_the_point_on_the_users_scale(value):
    def log_likelihood(cache, y):
        if y[0] > 0.5:
            return value
        # Half of the places have no mass here: warm-up looks for some at widths whose square is no number.
        return models.line_log_likelihood(cache, y) if cache[2] > 1e-100 else -math.inf

    with pytest.raises(towline.ModelError) as raised:
        towline.sample(models.line(log_likelihood=log_likelihood), **ALONE)
    text = str(raised.value)
    assert f"log_likelihood returned {value} at slope = " in text and "return -inf outside" in text
    assert 0 < float(text.split("width = ")[1].split(",")[0])


def test_failures_may_count_as_outside():
    def log_likelihood(cache, y):
        if y[0] > 0.9:
            raise ValueError("too far")
        return models.line_log_likelihood(cache, y)

    with pytest.warns(UserWarning, match="failed and counted as outside the support; the first: ValueError: too far"):
        run = towline.sample(
            models.line(log_likelihood=log_likelihood), parallel="serial", failures="outside", **{**SETTINGS, "draws": 1000}
        )
    assert run["offset"].max() <= 0.9 and len(run.failures) > 0


def returns(value):
    return lambda cache, y: value


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"log_likelihood": returns(None)}, "log_likelihood returned NoneType: a float is needed"),
        ({"log_likelihood": returns("3")}, "log_likelihood returned str: a float is needed"),
        ({"log_likelihood": returns(1 + 2j)}, "log_likelihood returned complex: a float is needed"),
        ({"log_likelihood": returns(np.zeros(3))}, r"log_likelihood returned ndarray of shape \(3,\): a float is needed"),
        ({"gradient": returns(0.0)}, "gradient returned float: a tuple is needed of the value"),
        ({"gradient": returns((0.0, np.zeros(2)))}, r"gradient returned \(float, ndarray of shape \(2,\)\).*array of 1 floats"),
        ({"log_likelihood_batch": returns(np.zeros((2, 1)))}, r"log_likelihood_batch returned ndarray of shape \(2, 1\).*\(2, 1\)"),
        ({"derived": lambda c, x, y: [1.0], "derived_names": ["a", "b"]}, "derived returned 1 numbers: a sequence of 2 numbers"),
        ({"derived": lambda c, x, y: {"a": 1.0}, "derived_names": ["a", "b"]}, "derived returned no b"),
        ({"derived": lambda c, x, y: "x", "derived_names": ["a"]}, "derived returned str: one number is needed"),
        ({"start": lambda seed: {"slope": "high"}}, "start: slope = 'high': a number is needed"),
        ({"start": lambda seed: {"width": -1}}, "start: width = -1 lies outside the support of its prior, HalfNormal"),
        ({"start": lambda seed: 3}, "start returned int: a dictionary"),
    ],
)  # fmt: skip
def test_wrong_answers_say_what_was_expected(more, words):
    with pytest.raises((towline.ModelError, TypeError, ValueError), match=words):
        towline.sample(models.line(**more), **ALONE)


def test_numpy_scalars_and_integers_are_numbers():
    def log_likelihood(cache, y):
        value = models.line_log_likelihood(cache, y)
        return np.float64(value) if y[0] > 0.5 else np.array(value)

    run = towline.sample(models.line(log_likelihood=log_likelihood), **ALONE)
    assert run.ended == "finished"
    flat = models.line(log_likelihood=lambda cache, y: 0)
    assert towline.sample(flat, **ALONE).ended == "finished"


def test_a_model_without_mass_says_so():
    with pytest.raises(towline.Error, match="none of 200 draws from the priors has positive density"):
        towline.sample(models.line(log_likelihood=returns(-np.inf)), **ALONE)
    with pytest.raises(towline.Error, match="none of 200 draws from the priors has positive density"):
        towline.sample(models.line(prepare=lambda x: None), **ALONE)
    with pytest.raises(towline.ModelError, match="the start has no mass .*x0 = 1, y0 = 2"):
        towline.sample_density(models.prepare1, returns(-np.inf), [1.0], [2.0], **ALONE)


def test_a_model_that_changes_its_arguments_changes_nothing():
    def prepare(x):
        result = models.line_prepare(x)
        x[:] = np.nan
        return result

    kept = []

    def log_likelihood(cache, y):
        value = models.line_log_likelihood(cache, y)
        y[:] = np.nan
        kept.append(y)
        return value

    run = towline.sample(models.line(prepare=prepare, log_likelihood=log_likelihood), **ALONE)
    same = towline.sample(models.line(), **ALONE)
    for name in run.names:
        np.testing.assert_array_equal(run[name], same[name])
    assert len({id(y) for y in kept[:50]}) == 50, "every call has an array of its own"


def test_a_model_that_cannot_be_sent_says_what_to_do():
    lock = threading.Lock()

    def log_likelihood(cache, y):
        with lock:
            return models.line_log_likelihood(cache, y)

    model = models.line(log_likelihood=log_likelihood)
    with pytest.raises(towline.Error, match="cannot be sent to other processes.*parallel='threads'"):
        towline.sample(model, **SETTINGS)
    assert towline.sample(model, parallel="threads", **SETTINGS).ended == "finished"


def test_without_cloudpickle_the_message_says_that_it_would_help(monkeypatch):
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(towline.Error, match="cannot be sent to other processes.*install cloudpickle"):
        towline.sample(models.line(log_likelihood=lambda cache, y: 0.0), **SETTINGS)
    assert towline.sample(models.line(), parallel="processes", **SETTINGS).ended == "finished"


def test_a_model_that_breaks_when_made_again_says_where(tmp_path):
    class Breaks:
        def __call__(self, cache, y):
            return 0.0

        def __reduce__(self):
            return (int, ("not a number",))

    with pytest.raises(ValueError, match="not a number") as raised:
        towline.sample(models.line(log_likelihood=Breaks()), parallel="processes", **SETTINGS)
    assert any("could not be made again" in note for note in raised.value.__notes__)


class Slow:
    """A likelihood slow enough for a worker to be killed, which says what its process is."""

    def __init__(self, folder):
        self.folder = str(folder)

    def __call__(self, cache, y):
        Path(self.folder, str(os.getpid())).touch()
        time.sleep(0.0002)
        return models.line_log_likelihood(cache, y)


def test_a_killed_worker_ends_the_others_and_the_run_resumes(tmp_path):
    whole = towline.sample(models.line(), out=tmp_path / "whole", parallel="serial", **{**SETTINGS, "draws": 200})
    (tmp_path / "workers").mkdir()
    model = models.line(log_likelihood=Slow(tmp_path / "workers"))
    out = tmp_path / "run"
    towline.sample(models.line(), out=out, parallel="serial", **{**SETTINGS, "draws": 20})

    def kill():
        while not (workers := list((tmp_path / "workers").iterdir())):
            time.sleep(0.02)
        time.sleep(0.3)
        os.kill(int(workers[0].name), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(towline.Error, match=r"the process of chain \d was killed by signal 9") as raised:
        towline.resume(out, model, draws=10**6, parallel="processes")
    killer.join()
    assert "towline.resume" in raised.value.__notes__[0]
    made = towline.open(out).draws_made
    assert 20 <= made < 10**6
    run = towline.resume(out, models.line(), draws=max(towline.open(out)._directory.rows()) + 50, parallel="threads")
    whole = towline.resume(whole, models.line(), draws=run.draws_made, parallel="threads") if run.draws_made > 200 else whole
    for name in run.names:
        count = min(run.draws_made, whole.draws_made)
        np.testing.assert_array_equal(run[name][:, :count], whole[name][:, :count])


def test_workers_end_with_the_process_that_began_the_run(tmp_path):
    (tmp_path / "workers").mkdir()
    script = tmp_path / "script.py"
    script.write_text(
        f"""
import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})
import models, test_failures, towline
model = models.line(log_likelihood=test_failures.Slow({str(tmp_path / "workers")!r}))
towline.sample(model, out={str(tmp_path / "run")!r}, parallel="processes", **{{**test_failures.SETTINGS, "draws": 10**7}})
"""
    )
    process = subprocess.Popen([sys.executable, script], stdin=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while len(workers := list((tmp_path / "workers").iterdir())) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    process.kill()
    process.wait()

    def alive(pid):
        try:
            os.kill(pid, 0)
            return Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0] != "Z"
        except OSError:
            return False

    while any(alive(int(worker.name)) for worker in workers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(workers) == 2 and not any(alive(int(worker.name)) for worker in workers)
    assert towline.resume(tmp_path / "run", models.line(), draws=None, time_limit=0.1).path == tmp_path / "run"


def test_an_evaluation_that_hangs_ends_the_run():
    def log_likelihood(cache, y):
        if y[0] > 0.9:
            time.sleep(30)
        return models.line_log_likelihood(cache, y)

    begun = time.monotonic()
    model = models.line(log_likelihood=log_likelihood, start={"offset": 0.5})
    with pytest.raises(towline.Error, match="took longer than the 0.5 s it may take"):
        towline.sample(model, parallel="processes", evaluation_limit=0.5, **{**SETTINGS, "draws": 5000})
    assert time.monotonic() - begun < 28


@pytest.mark.parametrize("parallel", ["serial", "processes"])
def test_ctrl_c_ends_with_what_was_drawn(tmp_path, parallel):
    script = tmp_path / "script.py"
    script.write_text(
        f"""
import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})
import models, towline
print("begun", flush=True)
run = towline.sample(models.line(), chains=2, draws=10**8, warmup=150, cost_ratio=50, out="run", parallel={parallel!r})
print(run.ended, run.draws_made)
"""
    )
    # A shell has what it runs in the background ignore Ctrl-C, and Python leaves it so: as a terminal would have it, then.
    command = [sys.executable, "-c", "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"]
    command += [sys.executable, str(script)]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "begun\n"
    deadline = time.monotonic() + 60
    files = [tmp_path / "run" / f"chain-{k}.f64" for k in range(2)]
    while not all(file.exists() and file.stat().st_size for file in files) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    ended, draws = out.split()
    assert ended == "stopped" and int(draws) > 0
    assert "stopped after" in err and "towline.resume('run', model) continues it" in err
