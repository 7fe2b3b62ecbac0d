"""A Cobaya model in two stages, around most of what Cobaya does for every evaluation.

`Model.logposterior` costs some thirty microseconds around the likelihood, whatever that costs. `Bypass` computes the
components that depend on slow parameters alone once for each x and keeps their states, as many as are asked for; a fast
evaluation puts those states in place and calls the other components only. That touches what Cobaya does not promise to
keep (`_current_state`, `_component_order`), so whoever makes one checks it against `logposterior` first (`agrees`), and
falls back on `Ordinary`, which asks Cobaya for everything.
"""

import weakref

import numpy as np
from cobaya.log import LoggedError

from . import speeds as speeds_module
from .components import Cache, Step, call, compute, direct, scalar
from .failures import Failures
from .portable import pack
from .priors import expected_width, mapped, tempered

# Caches kept beside those that the engine holds, so that asking again for a place just left is free.
REMEMBERED = 3
# Results of a fast component kept at each x: a nested drag holds its medium parameters at two places while faster ones move.
MEMORIES = 4
# States per component that Cobaya keeps where everything goes the ordinary way: both ends of a drag, and some.
ORDINARY_STATES = 12


class Evaluator:
    """What both ways share: names, priors, and what is reported of a draw."""

    def __init__(self, model, speeds, temperature=1):
        self.model = model
        self.speeds = speeds
        self.temperature = temperature
        self.failures = Failures()
        self.names = list(model.parameterization.sampled_params())
        self.slow, self.fast = speeds.slow, speeds.fast
        self._order = [(self.slow + self.fast).index(name) for name in self.names]
        periodic = set(model.prior._periodic_bounds)
        widths = {name: expected_width(info) for name, info in model.parameterization.sampled_params_info().items()}
        self.priors = {
            name: tempered(mapped(pdf, k in periodic, widths.get(name)), temperature)
            for k, (name, pdf) in enumerate(zip(self.names, model.prior.pdf))
        }
        self._slow_corrections = self._corrections(self.slow)
        self._fast_corrections = self._corrections(self.fast)
        self.prior_names = list(model.prior)
        self.like_names = list(model.likelihood)
        self.derived_params = list(model.parameterization.derived_params())
        self.not_numbers = 0

    def _corrections(self, names):
        return [(k, self.priors[name].correction) for k, name in enumerate(names) if self.priors[name].correction]

    def log_tempered(self, cache, y):
        """The log likelihood to the power 1 / temperature: with the tempered priors, the posterior to that power."""
        return self.log_likelihood(cache, y) / self.temperature

    @property
    def derived_names(self):
        """What `derived` returns, by name: Cobaya's derived parameters, then log priors and log likelihoods."""
        priors = [f"logprior__{name}" for name in self.prior_names]
        return self.derived_params + priors + [f"loglike__{name}" for name in self.like_names]

    def point(self, x, y):
        """Slow and fast values in Cobaya's order."""
        both = np.concatenate([x, y])
        return both[self._order]

    def split(self, point):
        """The other way round."""
        values = dict(zip(self.names, point))
        return np.array([values[n] for n in self.slow]), np.array([values[n] for n in self.fast])

    def left(self):
        """Somebody else has used the model: whatever is in place there is not what was left."""

    def start(self, seed):
        """A place to begin at, from Cobaya's reference distribution: the same for the same seed."""
        point = self.model.prior.reference(random_state=np.random.default_rng(seed), warn_if_no_ref=False)
        return {name: float(value) for name, value in zip(self.names, point)}

    def __reduce__(self):
        return pack(self)

    def _number(self, value, point):
        """A log likelihood as the engine wants it: what is no number has no mass here, as with Cobaya's own samplers."""
        if value == value:
            return value
        self.not_numbers += 1
        if self.not_numbers == 1:
            self.model.log.warning(
                "The log posterior is not a number at %r: taken as zero likelihood (said once).", dict(zip(self.names, point))
            )
        return -np.inf

    def agrees(self, points, log):
        """Whether this gives what `Model.logposterior` gives at these points, to rounding."""
        for point in points:
            x, y = self.split(point)
            expected = self.model.logposterior(point, cached=False)
            cache = self.prepare(x)
            found = -np.inf if cache is None else self.log_likelihood(cache, y)
            expected_like = sum(expected.loglikes) if len(expected.loglikes) else -np.inf
            expected_value = expected_like + self._log_corrections(x, y) + sum(expected.logpriors[1:])
            if not _close(found, expected_value):
                log.debug("log likelihood: %r, and %r by Cobaya, at %r", found, expected_value, point)
                return False
            if np.isfinite(found):
                wanted = [*expected.derived, *expected.logpriors, *expected.loglikes]
                if not np.allclose(self.derived(cache, x, y), wanted, rtol=1e-7, atol=1e-9, equal_nan=True):
                    log.debug("derived parameters differ at %r", point)
                    return False
        return True

    def _log_corrections(self, x, y):
        return sum(f(x[k]) for k, f in self._slow_corrections) + sum(f(y[k]) for k, f in self._fast_corrections)


def _close(a, b):
    return a == b or abs(a - b) <= 1e-9 * (1 + abs(a) + abs(b))


class Ordinary(Evaluator):
    """Everything by `Model.loglikes`, with Cobaya's own caches: slower, and always right."""

    cache_size = ORDINARY_STATES

    def prepare(self, x):
        return np.array(x)

    def log_likelihood(self, cache, y):
        point = self.point(cache, y)
        correction = self._log_corrections(cache, y)
        if correction == -np.inf:
            return -np.inf
        external = self._external(point)
        if not external > -np.inf:
            return -np.inf
        # Slow components have to have their derived parameters from the first: else they are computed once more for them.
        likes, _ = self.model.loglikes(point, return_derived=True)
        return self._number(float(np.sum(likes)) + correction + external, point)

    def _external(self, point):
        if not self.model.prior.external:
            return 0.0
        return sum(self.model.prior.logps_external(self.model.parameterization.to_input(point.tolist())))

    def derived(self, cache, x, y):
        point = self.point(x, y)
        found = self.model.logposterior(point)
        return [float(v) for v in (*found.derived, *found.logpriors, *found.loglikes)]


class Bypass(Evaluator):
    """Slow components once for each x, fast ones called directly."""

    cache_size = 3

    def __init__(self, model, speeds, temperature=1):
        super().__init__(model, speeds, temperature)
        levels = speeds_module.levels_of_components(model, speeds.blocks)
        order = model._component_order.items()
        steps = [Step(component, like, k, self.failures) for k, (component, like) in enumerate(order)]
        self._slow_steps = [s for s in steps if levels[s.component] < speeds.n_slow]
        self._fast_steps = [s for s in steps if levels[s.component] >= speeds.n_slow]
        self._levels = {s.place: levels[s.component] for s in self._fast_steps}
        self._want_derived = bool(model.requires_derived)
        self._middle = np.array([self._inside(name) for name in self.fast])
        self._here = None
        self._remembered = []
        # All that anybody still holds: the engine holds both ends of a drag.
        self._caches = weakref.WeakSet()
        for step in self._slow_steps:
            step.needs = tuple(model._dependencies.get(step.component, ()))
        self._sort_inputs()
        needed = {c for s in steps for c in model._dependencies.get(s.component, ())}
        for step in self._fast_steps:
            step.direct = direct(step, step.component in needed, self._want_derived)
        # Where fast components differ in what they depend on, those untouched by a move need not be computed again.
        self._memo = len(self._fast_steps) > 1 and not self._functions
        if self._memo:
            for step in self._fast_steps:
                step.watched = self._watched(step.component)
        # The commonest case has a way of its own: one likelihood takes all fast parameters, and nothing else waits for them.
        alone = len(self._fast_steps) == 1 and self._fast_steps[0].direct is not None
        nothing_else = not (self._functions or self._fast_corrections or self._fast_external)
        if alone and nothing_else and set(self._fast_steps[0].params) == set(self.fast):
            self._only = self._fast_steps[0]
            self.log_likelihood = self._only_one

    def _inside(self, name):
        """A value of a parameter that its prior allows, for input functions that are called before it has one."""
        pdf = self.model.prior.pdf[self.names.index(name)]
        return float(pdf.ppf(0.5))

    def _sort_inputs(self):
        """Which input functions and external priors have to wait for the fast parameters."""
        model, fast = self.model, set(self.fast)
        follow = model.parameterization.sampled_input_dependence()
        waits = set(fast)
        for name in fast:
            waits.update(follow.get(name, ()))
        # Functions of functions: whatever depends on an input that waits, waits.
        depends = model.parameterization.input_dependencies
        grown = True
        while grown:
            more = {p for p, on in depends.items() if set(on) & waits} - waits
            grown = bool(more)
            waits |= more
        self._functions = bool(waits - fast)
        external = model.prior.external.values()
        self._slow_external = [e for e in external if not set(e.params) & waits]
        self._fast_external = [e for e in external if set(e.params) & waits]

    def _watched(self, component):
        return tuple(k for k, name in enumerate(self.fast) if component in self.model.sampled_dependence[name])

    def left(self):
        self._here = None

    # The slow stage.

    def prepare(self, x):
        key = x.tobytes()
        for remembered, cache in self._remembered:
            if remembered == key:
                return cache
        cache = self._prepare(x)
        self._remembered = [(key, cache), *self._remembered[: REMEMBERED - 1]]
        return cache

    def _prepare(self, x):
        point = self.point(x, self._middle)
        # A copy: Cobaya writes the next point into the same dictionary.
        cache = Cache(np.array(x), dict(self.model.parameterization.to_input(point.tolist())))
        self._here = None
        self.model.provider.set_current_input_params(cache.inputs)
        log_slow = sum(f(x[k]) for k, f in self._slow_corrections)
        log_slow += sum(e.logp(**{p: cache.inputs[p] for p in e.params}) for e in self._slow_external)
        if not log_slow > -np.inf:
            return None
        likes = [0.0] * len(self.like_names)
        for step in self._slow_steps:
            # With derived parameters from the first: else accepted points would be computed twice.
            state = self._computed_before(step, cache) or compute(step, cache.inputs, True, self.model.provider)
            if state is None:
                return None
            cache.states[step.component] = state
            if step.like is not None:
                likes[step.like] = scalar(state["logp"])
        if not sum(likes) > -np.inf:
            return None
        cache.likes, cache.log_slow = likes, log_slow
        if self._memo:
            cache.memo = {}
        self._here = cache
        self._caches.add(cache)
        return cache

    def _computed_before(self, step, cache):
        """A component's state at another x where it had the same inputs (CAMB's transfers at another amplitude), put in place."""
        params = {p: cache.inputs[p] for p in step.params}
        if step.extra:
            params.update(zip(step.extra, self.model.provider.get_param(step.extra)))
        for other in list(self._caches):
            state = other.states.get(step.component)
            if state is None or state["params"] != params:
                continue
            if all(other.states.get(c) is cache.states.get(c) for c in step.needs):
                step.component._current_state = state
                return state
        return None

    # The fast stage.

    def _enter(self, cache):
        """Puts a cache's slow states where components look for them."""
        for component, state in cache.states.items():
            component._current_state = state
        self.model.provider.set_current_input_params(cache.inputs)
        self._here = cache

    def log_likelihood(self, cache, y):
        if cache is not self._here:
            self._enter(cache)
        values = y.tolist()
        inputs = cache.inputs
        if self._functions:
            inputs.update(self.model.parameterization.to_input(self.point(cache.x, y).tolist()))
        else:
            inputs.update(zip(self.fast, values))
        log_prior = cache.log_slow
        for k, correction in self._fast_corrections:
            log_prior += correction(values[k])
        for external in self._fast_external:
            log_prior += external.logp(**{p: inputs[p] for p in external.params})
        if not log_prior > -np.inf:
            return -np.inf
        likes = cache.likes
        for step in self._fast_steps:
            value = self._remembering(step, cache, inputs, values) if self._memo else self._value(step, inputs)
            if value is None:
                return -np.inf
            if step.like is not None:
                likes[step.like] = value
        # The same sum in the same order, whatever was remembered: the engine compares bits when it continues a run.
        total = log_prior + sum(likes)
        return total if total == total else self._number(total, self.point(cache.x, y))

    def _only_one(self, cache, y):
        """`log_likelihood` where a single likelihood has all the fast parameters and no others."""
        if cache is not self._here:
            self._enter(cache)
        params = dict(zip(self.fast, y.tolist()))
        cache.inputs.update(params)
        step = self._only
        try:
            value = float(step.direct(**params))
        except Exception:
            value = call(step, cache.inputs) if step.direct is not None else self._value(step, cache.inputs)
            if value is None:
                return -np.inf
        likes = cache.likes
        likes[step.like] = value
        total = cache.log_slow + sum(likes)
        return total if total == total else self._number(total, self.point(cache.x, y))

    def _value(self, step, inputs):
        """A fast component's log likelihood (0 where it has none); None where it fails."""
        if step.direct is not None:
            return call(step, inputs)
        state = compute(step, inputs, self._want_derived, self.model.provider)
        if state is None:
            return None
        return 0.0 if step.like is None else scalar(state["logp"])

    def _remembering(self, step, cache, inputs, values):
        """The same, but not again for values that it had lately at this x: both ends of a nested drag, and where it began."""
        key = tuple([values[k] for k in step.watched])
        known = cache.memo.setdefault(step.place, {})
        if key in known:
            value, state = known[key]
            if state is not None:
                step.component._current_state = state
            return value
        value = self._value(step, inputs)
        if value is not None:
            if len(known) == MEMORIES:
                del known[next(iter(known))]
            known[key] = (value, None if step.direct else step.component._current_state)
        return value

    # What is reported.

    def derived(self, cache, x, y):
        if cache is not self._here:
            self._enter(cache)
        point = self.point(x, y)
        inputs = cache.inputs
        inputs.update(self.model.parameterization.to_input(point.tolist()))
        outputs = {}
        for state in cache.states.values():
            outputs.update(state.get("derived") or {})
        likes = list(cache.likes)
        for step in self._fast_steps:
            state = compute(step, inputs, True, self.model.provider)
            if state is None:
                raise LoggedError(self.model.log, "%s fails where it did not before: %r", step.component, inputs)
            outputs.update(state.get("derived") or {})
            if step.like is not None:
                likes[step.like] = scalar(state["logp"])
        for chi2_name, indices in self.model._chi2_names:
            outputs[chi2_name] = -2 * sum(likes[i] for i in indices)
        derived = self.model.parameterization.to_derived(outputs)
        logpriors = self.model.prior.logps(point)
        return [float(v) for v in (*derived.values(), *logpriors, *likes)]
