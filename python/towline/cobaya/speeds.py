"""Which parameters are slow and which are fast, in a Cobaya model: its blocks, what each costs, and where to cut."""

from dataclasses import dataclass

from cobaya.log import LoggedError

# Below this ratio of costs there is nothing to gain from two speeds. It is low, since warm-up finds out by itself how much
# dragging pays: a fast evaluation that costs half a slow one is still worth having where y follows x closely.
LEAST_RATIO = 1.3
# Fast blocks whose costs differ by less than this are one: dragging the faster for every step of the slower would not pay.
LEVEL_RATIO = 4.0
# What a fast evaluation costs around the likelihood itself, in seconds, and what a slow one does with all that comes with a
# draw (derived parameters, a row of the chain), measured on the report's tests.
FAST_OVERHEAD = 3e-6
SLOW_OVERHEAD = 150e-6


@dataclass
class Speeds:
    """Blocks of sampled parameters from slowest to fastest, the first `n_slow` of them slow."""

    blocks: list
    n_slow: int
    # Seconds that a change of each block costs, with all that is faster.
    costs: list
    # How many fast evaluations a slow one costs.
    ratio: float
    # Why it is as it is, for the log.
    reason: str

    @property
    def slow(self):
        """The names of the slow parameters."""
        return [name for block in self.blocks[: self.n_slow] for name in block]

    @property
    def fast(self):
        """The names of the fast parameters, those of slower blocks first."""
        return [name for block in self.blocks[self.n_slow :] for name in block]

    @property
    def levels(self):
        """The fast blocks, from slower to faster."""
        return self.blocks[self.n_slow :]

    def following(self, slow, fast):
        """The same with parameters in this order, slow and fast; nothing where the blocks do not allow that."""
        for n_slow in [self.n_slow, *range(1, len(self.blocks) + 1)]:
            if {name for block in self.blocks[:n_slow] for name in block} == set(slow):
                break
        else:
            return None
        rest = list(fast)
        levels = []
        for block in self.blocks[n_slow:]:
            head, rest = rest[: len(block)], rest[len(block) :]
            if set(head) != set(block):
                return None
            levels.append(head)
        costs = [self.costs[0], *self.costs[n_slow:]]
        ratio = self.ratio if n_slow == self.n_slow else _ratio(costs, 1)
        return Speeds([list(slow), *levels], 1, costs, ratio, "as the run has it whose tuning is used")


def find(model, blocking=None, log=None):
    """The speeds of a model: Cobaya's own blocks, or those that the user wrote under `blocking`."""
    if blocking:
        blocks, factors = model.check_blocking(blocking)
        blocks = [list(block) for block in blocks]
        slowest = min(factors)
        n_slow = next((k for k, factor in enumerate(factors) if factor > slowest), len(blocks))
        costs = _costs(model, blocks)
        reason = "as `blocking` says"
        if any(factor <= slowest for factor in factors[n_slow:]):
            raise LoggedError(
                log, "`blocking`: blocks with the smallest factor are the slow ones and must come first; got %r.", blocking
            )
    else:
        blocks = [list(block) for block in model.get_param_blocking_for_sampler(split_fast_slow=False)[0]]
        costs = _costs(model, blocks)
        n_slow, reason = _cut(costs)
        blocks, costs = _merged(blocks, costs, n_slow)
    return Speeds(blocks, n_slow, costs, _ratio(costs, n_slow), reason)


def levels_of_components(model, blocks):
    """For every component the index of the fastest block that it depends on: once that is known it can be computed."""
    index = {name: k for k, block in enumerate(blocks) for name in block}
    levels = dict.fromkeys(model._component_order, 0)
    for name, components in model.sampled_dependence.items():
        for component in components:
            if component in levels:
                levels[component] = max(levels[component], index[name])
    return levels


def _costs(model, blocks):
    speeds = [component.speed for component in model.components if getattr(component, "speed", -1) > 0]
    slowest = min(speeds, default=1.0)
    seconds = {c: 1.0 / (c.speed if getattr(c, "speed", -1) > 0 else slowest) for c in model.components}
    levels = levels_of_components(model, blocks)
    return [sum(seconds[c] for c, level in levels.items() if level >= k) for k in range(len(blocks))]


def _cut(costs):
    """How many blocks are slow: up to the largest drop in cost."""
    if len(costs) == 1:
        return 1, "all parameters enter the same components, so there is one speed: everything is slow"
    drops = [_padded(a) / _padded(b) for a, b in zip(costs, costs[1:])]
    best = max(range(len(drops)), key=drops.__getitem__)
    if drops[best] < LEAST_RATIO:
        reason = (
            f"the slowest block costs only {drops[best]:.2g} times the next, so there is one speed: everything is slow "
            "(to say otherwise give components a `speed` and `measure_speeds: False`, or use `blocking`)"
        )
        return len(costs), reason
    return best + 1, "by the largest drop in cost from one block to the next"


def _merged(blocks, costs, n_slow):
    """The fast blocks of nearly the same speed together, at the cost of the slowest of them."""
    kept, prices = blocks[: n_slow + 1], costs[: n_slow + 1]
    for block, cost in zip(blocks[n_slow + 1 :], costs[n_slow + 1 :]):
        if _padded(prices[-1]) < LEVEL_RATIO * _padded(cost):
            kept[-1] = kept[-1] + block
        else:
            kept.append(block)
            prices.append(cost)
    return kept, prices


def _padded(cost):
    return cost + FAST_OVERHEAD


def _ratio(costs, n_slow):
    if n_slow == len(costs):
        return 1.0
    return max(1.0, (costs[0] + SLOW_OVERHEAD) / _padded(costs[n_slow]))
