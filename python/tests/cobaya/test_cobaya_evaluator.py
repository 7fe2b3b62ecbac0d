"""The way around Cobaya's overhead gives what Cobaya gives, for every kind of model; where it does not, it is not taken."""

import pickle

import numpy as np
import pytest
from cobaya.likelihood import Likelihood
from cobaya.model import get_model
from cobaya.theory import Theory
from problems import COUNT, Neal1, Sine, neal

from towline.cobaya import speeds
from towline.cobaya.evaluator import Bypass, Ordinary


def both(info, blocking=None):
    model = get_model(info)
    found = speeds.find(model, blocking)
    return model, Bypass(model, found), Ordinary(model, found)


def points(model, count=6):
    rng = np.random.default_rng(3)
    return [model.prior.reference(random_state=rng, warn_if_no_ref=False) for _ in range(count)]


class Needy(Likelihood):
    """Wants a theory's derived parameter as an input."""

    speed = 500
    params = {"w": None}

    def get_requirements(self):
        return ["square"]

    def logp(self, _derived=None, **params):
        return -0.5 * (params["w"] - self.provider.get_param("square")) ** 2


def many_kinds():
    info = neal(2)
    info["likelihood"] |= {
        "needy": {"external": Needy},
        "function": {"external": lambda y, total: -0.5 * (y - 0.1 * total) ** 2, "speed": 3000},
    }
    info["params"] |= {
        "w": {"prior": {"dist": "halfnorm", "loc": 0.5, "scale": 2.0}},
        "u": {"prior": {"dist": "truncnorm", "a": -np.inf, "b": 0.5, "loc": 1.0, "scale": 2.0}, "drop": True},
        "v": {"prior": {"dist": "beta", "a": 2, "b": 3}, "drop": True},
        "total": {"value": "lambda u, v, w: u + v + w", "derived": True},
        "ratio": {"derived": "lambda square, w: square / w"},
    }
    info["prior"] = {"ridge": lambda y, z: -0.5 * (y + z) ** 2, "slowly": lambda x: -abs(x)}
    return info


@pytest.mark.parametrize("info", [neal(1), neal(2), many_kinds()], ids=["test 1", "test 2", "many kinds"])
def test_both_ways_give_what_cobaya_gives(info):
    model, bypass, ordinary = both(info)
    assert bypass.agrees(points(model), model.log)
    assert ordinary.agrees(points(model), model.log)


def test_a_disagreement_is_seen():
    model, bypass, _ = both(neal(1))
    original = bypass.log_likelihood
    bypass.log_likelihood = lambda cache, y: original(cache, y) + 1e-6
    assert not bypass.agrees(points(model), model.log)


def test_both_ends_of_a_drag_are_held_and_no_theory_runs_twice():
    model, bypass, _ = both(neal(1))
    before = COUNT["slow"]
    ends = [bypass.prepare(np.array([x])) for x in (0.3, -0.7)]
    for k in range(50):
        y = np.array([0.01 * k])
        for cache, x in zip(ends, (0.3, -0.7)):
            expected = -x * x - 50 * (1 + x * x) ** 2 * (0.01 * k - np.sin(x)) ** 2
            assert bypass.log_likelihood(cache, y) == pytest.approx(expected, rel=1e-12)
    assert COUNT["slow"] - before == 2


def test_fast_components_untouched_by_a_move_are_not_computed_again():
    calls = {"a": 0, "b": 0}

    def first(a):
        calls["a"] += 1
        return -0.5 * a * a

    def second(a, b):
        calls["b"] += 1
        return -0.5 * (b - a) ** 2

    info = neal(1)
    info["likelihood"] |= {"first": {"external": first, "speed": 300}, "second": {"external": second, "speed": 3000}}
    info["params"] |= {"a": {"prior": {"min": -9, "max": 9}}, "b": {"prior": {"min": -9, "max": 9}}}
    model, bypass, _ = both(info)
    cache = bypass.prepare(np.array([0.2]))
    place = bypass.fast.index("b")
    y = np.zeros(3)
    bypass.log_likelihood(cache, y)
    before = dict(calls)
    for k in range(5):
        y[place] = k + 1
        bypass.log_likelihood(cache, y)
    assert calls["a"] == before["a"] and calls["b"] == before["b"] + 5


def test_what_is_impossible_is_no_error():
    class Failing(Theory):
        speed = 1
        params = {"x": None}

        def get_can_provide(self):
            return ["sine"]

        def calculate(self, state, want_derived=True, **params):
            if params["x"] > 1:
                return False
            if params["x"] < -1:
                raise ValueError("no such universe")
            state["sine"] = (params["x"], np.sin(params["x"]))
            return True

        def get_sine(self):
            return self.current_state["sine"]

    info = neal(1)
    info["theory"] = {"failing": {"external": Failing}}
    del info["params"]["square"]
    model, bypass, _ = both(info)
    assert bypass.prepare(np.array([1.5])) is None
    assert bypass.prepare(np.array([-1.5])) is None
    assert bypass.prepare(np.array([0.5])) is not None
    model.theory["failing"].stop_at_error = True
    with pytest.raises(ValueError, match="no such universe"):
        bypass.prepare(np.array([-1.6]))


def test_not_a_number_is_zero_likelihood():
    info = neal(1)
    info["likelihood"]["odd"] = {"external": lambda y: float("nan") if y > 0 else 0.0, "speed": 2000}
    _, bypass, _ = both(info)
    cache = bypass.prepare(np.array([0.2]))
    assert bypass.log_likelihood(cache, np.array([0.5])) == -np.inf
    assert np.isfinite(bypass.log_likelihood(cache, np.array([-0.5])))
    assert bypass.not_numbers == 1


def test_an_evaluator_can_be_sent_to_another_process():
    info = many_kinds()
    model, bypass, _ = both(info)
    again = pickle.loads(pickle.dumps(bypass.prepare)).__self__
    x, y = bypass.split(points(model, 1)[0])
    assert again.log_likelihood(again.prepare(x), y) == bypass.log_likelihood(bypass.prepare(x), y)


def test_blocks_and_speeds_are_cobayas():
    model, bypass, _ = both(neal(2))
    assert bypass.slow == ["x"] and sorted(bypass.fast) == ["y", "z"]
    assert bypass.speeds.ratio == pytest.approx(1000, rel=0.05)
    _, by_hand, _ = both(neal(2), [[1, ["x", "y"]], [7, ["z"]]])
    assert by_hand.slow == ["x", "y"] and by_hand.fast == ["z"]


def test_one_speed_is_all_slow():
    info = neal(1)
    info["likelihood"]["test"]["speed"] = 0.2
    model = get_model(info)
    found = speeds.find(model)
    assert found.fast == [] and "one speed" in found.reason


def test_classes_are_as_the_tests_take_them():
    assert Sine.speed < Neal1.speed
