"""The report's slow theory for another process: every call leaves its x in the file `calls.f64`, to be counted."""

import struct

import problems


class Sine(problems.Sine):
    """Its folder is the run's."""

    def calculate(self, state, want_derived=True, **params):
        with open("calls.f64", "ab") as file:
            file.write(struct.pack("<d", params["x"]))
        super().calculate(state, want_derived, **params)
