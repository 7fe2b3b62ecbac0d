"""The report's first test with a theory that takes its time, so that a run can be watched."""

import time

import problems


class Slowly(problems.Sine):
    """As the class says."""

    seconds = 0.004

    def calculate(self, state, want_derived=True, **params):
        time.sleep(self.seconds)
        super().calculate(state, want_derived, **params)


def slowly(seconds, **options):
    """An input with it."""
    info = problems.neal(1, **options)
    info["theory"] = {"sine": {"external": Slowly, "seconds": seconds}}
    return info
