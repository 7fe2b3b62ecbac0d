"""Evaluations that a component failed at, where that does not end the run: what it said is kept for whoever asks why."""


class Failures:
    """How many there were, and the last one in words."""

    def __init__(self):
        self.count = 0
        self.last = None

    def note(self, component, exception, params):
        """A component raised, or said that there is nothing for these parameters (no exception then)."""
        self.count += 1
        point = ", ".join(f"{name} = {value:.6g}" for name, value in params.items() if isinstance(value, (int, float)))
        said = "gives no result" if exception is None else f"raises {type(exception).__name__}: {exception}"
        self.last = f"{component.get_name()} {said}, at {point}" if point else f"{component.get_name()} {said}"
        if self.count == 1:
            component.log.warning("%s: such points count as zero likelihood (said once).", self.last)

    def in_words(self):
        """What to add to a message."""
        return f" The last failure: {self.last}." if self.last else ""
