"""Components of a Cobaya model called one by one: what is kept of them at one x, and how each is called."""

from functools import partial

from cobaya.likelihood import Likelihood, LikelihoodExternalFunction
from cobaya.log import always_stop_exceptions


class Cache:
    """What the slow stage leaves behind: states of slow components, and the input parameters that follow from x."""

    __slots__ = ("inputs", "x", "states", "likes", "log_slow", "memo", "__weakref__")

    def __init__(self, x, inputs):
        self.x = x
        self.inputs = inputs
        self.states = {}
        self.likes = None
        self.log_slow = 0.0
        self.memo = None


class Step:
    """A component to compute: its place among the likelihoods, its parameters, and how to call it."""

    __slots__ = ("component", "like", "params", "extra", "direct", "watched", "place", "failures", "needs")

    def __init__(self, component, like, place, failures):
        self.component = component
        self.like = like
        self.params = tuple(component.input_params)
        self.extra = tuple(component.input_params_extra)
        self.direct = None
        self.watched = ()
        self.place = place
        self.failures = failures
        # The slow components whose results it uses.
        self.needs = ()


def direct(step, needed, want_derived):
    """The function behind a likelihood where nothing but its value is wanted of it: None where something else is."""
    component = step.component
    plain = isinstance(component, Likelihood) and type(component).calculate is Likelihood.calculate
    if not plain or needed or step.extra or component.timer or want_derived or component.delay:
        return None
    if type(component) is LikelihoodExternalFunction:
        same = not component._uses_self_arg and set(step.params) <= component._args and not component.output_params
        if same:
            return component.external_function
    return partial(component.logp, _derived=None)


def call(step, inputs):
    try:
        return float(step.direct(**{p: inputs[p] for p in step.params}))
    except always_stop_exceptions:
        raise
    except TypeError:
        # An array of one, a pair with derived parameters: let Cobaya sort it out from now on.
        step.direct = None
        state = compute(step, inputs, False, None)
        return None if state is None else scalar(state["logp"])
    except Exception as failure:
        if step.component.stop_at_error:
            step.component.log.error("Error at evaluation. See error information below.")
            raise
        step.failures.note(step.component, failure, {p: inputs[p] for p in step.params})
        return None


def compute(step, inputs, want_derived, provider):
    """A component's new state, in place; None where it fails, as Cobaya has it."""
    component = step.component
    params = {p: inputs[p] for p in step.params}
    if step.extra:
        params.update(zip(step.extra, provider.get_param(step.extra)))
    state = {"params": params, "dependency_params": None, "derived": {} if want_derived else None}
    if component.timer:
        component.timer.start()
    try:
        if component.calculate(state, want_derived, **params) is False:
            step.failures.note(component, None, params)
            return None
    except always_stop_exceptions:
        raise
    except Exception as failure:
        if component.stop_at_error:
            component.log.error("Error at evaluation. See error information below.")
            raise
        step.failures.note(component, failure, params)
        return None
    if component.timer:
        component.timer.increment(component.log)
    component._current_state = state
    return state


def scalar(value):
    if hasattr(value, "__len__"):
        value = value[0]
    return float(value)
