"""`workers=`: slow evaluations in several processes or threads: the same bits, sooner; and a process that is killed costs one evaluation."""

import contextlib
import os
import pickle
import signal
import threading
import time
from collections import Counter

import numpy as np
import pytest
import towline

# Fixed, since a measured one may differ from run to run.
OPTIONS = {"cost_ratio": 1e5, "chains": 2, "progress": False}


class Bent:
    """Two slow parameters on a bent ridge and a fast one; each slow evaluation sleeps, and notes who made it, when, and for how long."""

    def __init__(self, folder, seconds=0.01):
        self.folder, self.seconds = str(folder), seconds

    def __call__(self, x):
        began = time.monotonic()
        time.sleep(self.seconds)
        end_if_asked(self.folder)
        hang_if_asked(self.folder)
        with open(os.path.join(self.folder, f"{os.getpid()}-{threading.get_ident()}.log"), "a") as log:
            log.write(f"{float(x[0])!r} {float(x[1])!r} {began} {time.monotonic()}\n")
        return np.array([-0.5 * x[0] ** 2 - 2.0 * (x[1] - 0.3 * x[0] ** 2) ** 2, np.sin(x[0])])


def hang_if_asked(folder):
    """Hangs twice in the middle of warm-up."""
    for left in ("hang", "hang.1"):
        path = os.path.join(folder, left)
        if os.path.exists(path) and len(read(folder)) > 60:
            with contextlib.suppress(FileNotFoundError):
                os.rename(path, os.path.join(folder, "hang.1" if left == "hang" else "hung"))
                time.sleep(60)


def end_if_asked(folder):
    """Ends this process in the middle of warm-up: once where a file says so, or whenever another does."""
    for name in ("once", "always"):
        path = os.path.join(folder, name)
        if os.path.exists(path) and len(read(folder)) > 60:
            # Two may come here at once; one of them ends.
            with contextlib.suppress(FileNotFoundError):
                if name == "once":
                    os.remove(path)
                os.kill(os.getpid(), signal.SIGKILL)


def fast(cache, y):
    return float(cache[0] - 8.0 * (y[0] - cache[1]) ** 2)


def read(folder):
    """x, beginning and end of every evaluation, and the processes that made them."""
    lines = []
    for name in os.listdir(folder):
        if name.endswith(".log"):
            with open(os.path.join(folder, name)) as log:
                lines += [(*map(float, line.split()), name.split("-")[0]) for line in log]
    return sorted(lines, key=lambda line: line[2])


# Guesses of four workers that may prove wrong: a few rounds of each search (from the start, and from a place far outside that is looked at), in each of which three of them
# may be idle.
MOST_GUESSES = 48


def at_a_time(lines):
    """Evaluations under way, on average while any is."""
    ends = sorted([(line[2], 1) for line in lines] + [(line[3], -1) for line in lines])
    some, all_, now, last = 0.0, 0.0, 0, ends[0][0]
    for when, change in ends:
        some += (when - last) * (now > 0)
        all_ += (when - last) * now
        now, last = now + change, when
    return all_ / some


def density(folder, **options):
    folder.mkdir(exist_ok=True)
    return towline.Density(Bent(folder, **options), fast, [0.5, 0.5], [0.0], slow_names=["a", "b"], fast_names=["y"])


def test_workers_of_a_single_chain_are_processes_too(tmp_path):
    """CAMB, called by two threads of one process at a time, ends it."""
    towline.sample(density(tmp_path / "one", seconds=0.002), error=0.2, cost_ratio=1e5, chains=1, workers=2, progress=False)
    made_by = {line[-1] for line in read(tmp_path / "one")}
    assert len(made_by) == 2 and str(os.getpid()) not in made_by


def test_processes_and_threads_give_the_same_estimates_as_one_at_a_time(tmp_path):
    found, lines = {}, {}
    for name, how in {"one": {}, "four": {"workers": 4}, "threads": {"workers": 4, "parallel": "threads"}}.items():
        run = towline.sample(density(tmp_path / name), error=0.05, **OPTIONS, **{"workers": 1, **how})
        found[name], lines[name] = (run.estimates(), run.evidence()), read(tmp_path / name)
    assert found["four"] == found["one"] and found["threads"] == found["one"]
    here = str(os.getpid())
    assert {line[4] for line in lines["four"]}.isdisjoint({here}) and len({line[4] for line in lines["four"]}) == 4
    assert {line[4] for line in lines["threads"]} == {here}
    for name in ("four", "threads"):
        # What one at a time needs is evaluated as often, and beside it only what idle workers guessed in the search for the top.
        made, needed = (Counter(line[:2] for line in lines[which]) for which in (name, "one"))
        assert not needed - made
        assert (made - needed).total() <= MOST_GUESSES, (made - needed).total()
        # Some three on an idle machine; tests run side by side.
        assert at_a_time(lines[name]) > 1.5, at_a_time(lines[name])


def test_chains_draw_the_same_with_any_number_of_workers(tmp_path):
    options = {**OPTIONS, "draws": 60, "warmup": 100}
    alone = towline.sample(density(tmp_path / "alone", seconds=0.001), parallel="serial", workers=1, **options)
    helped = towline.sample(density(tmp_path / "helped", seconds=0.001), workers=3, **options)
    for name in ("a", "b", "y"):
        assert np.array_equal(helped[name], alone[name])


def test_a_worker_that_is_killed_is_told_and_the_run_goes_on(tmp_path):
    whole = towline.sample(density(tmp_path / "whole"), error=0.05, workers=3, **OPTIONS)
    broken = density(tmp_path / "broken")
    (tmp_path / "broken" / "once").touch()
    with pytest.warns(UserWarning, match="ended by signal 9"):
        run = towline.sample(broken, error=0.05, workers=3, **OPTIONS)
    assert run.estimates() == whole.estimates()


def test_an_evaluation_that_ends_its_process_ends_the_run_which_then_repeats_little(tmp_path):
    whole = towline.sample(density(tmp_path / "whole"), error=0.05, workers=3, **OPTIONS)
    broken = density(tmp_path / "broken")
    always = tmp_path / "broken" / "always"
    always.touch()
    with pytest.raises(RuntimeError, match="ended by signal 9"), pytest.warns(UserWarning, match="made again"):
        towline.sample(broken, error=0.05, workers=3, out=tmp_path / "run", **OPTIONS)
    always.unlink()
    before = {line[:2] for line in read(tmp_path / "broken")}
    began = time.monotonic()
    resumed = towline.resume(tmp_path / "run", broken, workers=3, progress=False)
    assert resumed.estimates() == whole.estimates()
    again = [line for line in read(tmp_path / "broken") if line[2] > began and line[:2] in before]
    # What was under way beside it, and where two chains stand.
    assert len(again) <= 8, len(again)


def test_evaluations_that_hang_are_given_up_and_their_processes_replaced(tmp_path):
    model = density(tmp_path / "hanging")
    (tmp_path / "hanging" / "hang").touch()
    begun = time.monotonic()
    run = towline.sample(model, error=0.1, workers=2, failures="outside", evaluation_limit=1, **OPTIONS)
    assert time.monotonic() - begun < 50
    assert any("longer than" in str(failure) for failure in run.failures)
    # Both processes hung, and others took their places.
    assert len({line[4] for line in read(tmp_path / "hanging")}) >= 3


def test_a_model_that_cannot_be_sent_is_evaluated_in_threads(tmp_path):
    lock = threading.Lock()

    def prepare(x):
        with lock:
            return x[0]

    def run(**how):
        return towline.sample_density(prepare, lambda c, y: -c * c - (y[0] - c) ** 2, [0.1], [0.0], error=0.1, **OPTIONS, **how)

    with pytest.warns(UserWarning, match="workers are threads"):
        helped = run(workers=2)
    assert helped.estimates() == run(workers=2, parallel="threads").estimates()
    with pytest.raises(towline.Error, match="cannot be sent"):
        run(workers=2, parallel="processes")


def test_what_cannot_come_back_says_what_to_do(tmp_path):
    model = towline.Density(_unsendable, lambda c, y: -(y[0] ** 2), [0.1], [0.0])
    with pytest.raises(TypeError, match="parallel='threads'"):
        towline.sample(model, error=0.1, workers=2, **OPTIONS)


def _unsendable(x):
    return lambda: x


class Sleeps:
    """A model whose slow evaluation takes long."""

    def prepare(self, x):
        time.sleep(30)


def test_who_waits_for_workers_that_are_ended_leaves_and_begins_no_other_process():
    """Threads that came back while the interpreter ended took the process with them, and began workers that nobody needed."""
    from towline._workers import Team, WorkerLost

    team, told = Team(pickle.dumps(Sleeps()), 1), []

    def ask():
        try:
            team.prepare(np.zeros(1))
        except WorkerLost as lost:
            told.append(str(lost))

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    while not team.workers[0].busy:
        time.sleep(0.01)
    process = team.workers[0].process
    team.end()
    for thread in threads:
        thread.join(3)
    assert not any(thread.is_alive() for thread in threads)
    assert told == ["the workers have been ended"] * 2
    assert team.workers[0].process is process and process.poll() is not None
