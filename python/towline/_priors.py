"""Priors of single parameters: each is a family with numbers, checked when it is made."""

from __future__ import annotations

import re
from numbers import Real

from . import _towline


class Prior:
    """The prior of one parameter. Written as text it is what a model file has: `normal(0, 2.5)`."""

    _arguments: tuple[str, ...] = ()
    _family = ""

    def __init__(self, *values: float, **named: float) -> None:
        name = type(self).__name__
        if len(values) > len(self._arguments):
            raise TypeError(f"{name} has the arguments {', '.join(self._arguments)}; {len(values)} were given")
        given = dict(zip(self._arguments, values))
        for key, value in named.items():
            if key not in self._arguments or key in given:
                raise TypeError(f"{name}: {key} cannot be given; the arguments are {', '.join(self._arguments)}, each once")
            given[key] = value
        numbers: list[float] = []
        for key in self._arguments:
            if key not in given:
                raise TypeError(f"{name}: {key} is missing; the arguments are {', '.join(self._arguments)}")
            value = given[key]
            if not isinstance(value, Real) or isinstance(value, bool):
                raise TypeError(f"{name}: {key} = {value!r}: a number is needed")
            numbers.append(float(value))
        self._values = tuple(numbers)
        self._text = f"{self._family}({', '.join(map(repr, numbers))})"
        self.lower, self.upper, self.periodic = _towline.prior_support(self._text)

    @property
    def text(self) -> str:
        """The prior as a model file has it."""
        return self._text

    def log_density(self, x: float) -> float:
        """Its normalised log density at x."""
        return _towline.prior_log_density(self._text, float(x))

    def __getattr__(self, name: str) -> float:
        if name in type(self)._arguments and "_values" in self.__dict__:
            return self._values[self._arguments.index(name)]
        raise AttributeError(f"{type(self).__name__} has no {name}")

    def __repr__(self) -> str:
        values = ", ".join(f"{value:g}" if float(f"{value:g}") == value else repr(value) for value in self._values)
        return f"{type(self).__name__}({values})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Prior) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __reduce__(self):
        return (type(self), self._values)


class Normal(Prior):
    """Normal with this mean and standard deviation."""

    _family, _arguments = "normal", ("mean", "sd")


class LogNormal(Prior):
    """The exponential of a normal variable with this mean and standard deviation."""

    _family, _arguments = "log_normal", ("log_mean", "log_sd")


class HalfNormal(Prior):
    """The absolute value of a normal variable with mean zero and this standard deviation."""

    _family, _arguments = "half_normal", ("scale",)


class HalfNormalAbove(Prior):
    """Half a normal, upwards from a lower end where it has its top."""

    _family, _arguments = "half_normal_above", ("lower", "scale")


class HalfNormalBelow(Prior):
    """Half a normal, downwards from an upper end where it has its top."""

    _family, _arguments = "half_normal_below", ("upper", "scale")


class StudentT(Prior):
    """Student's t."""

    _family, _arguments = "student_t", ("df", "location", "scale")


class HalfStudentT(Prior):
    """The absolute value of a Student t variable with centre zero."""

    _family, _arguments = "half_student_t", ("df", "scale")


class Cauchy(Prior):
    """Cauchy."""

    _family, _arguments = "cauchy", ("location", "scale")


class HalfCauchy(Prior):
    """The absolute value of a Cauchy variable with centre zero."""

    _family, _arguments = "half_cauchy", ("scale",)


class Exponential(Prior):
    """Exponential: its mean is 1 / rate."""

    _family, _arguments = "exponential", ("rate",)


class Gamma(Prior):
    """Gamma: its mean is shape / rate."""

    _family, _arguments = "gamma", ("shape", "rate")


class InverseGamma(Prior):
    """One over a gamma variable: its mean is scale / (shape - 1)."""

    _family, _arguments = "inverse_gamma", ("shape", "scale")


class Beta(Prior):
    """Beta, on (0, 1)."""

    _family, _arguments = "beta", ("a", "b")


class Uniform(Prior):
    """Uniform between two ends."""

    _family, _arguments = "uniform", ("lower", "upper")


class UniformWide(Prior):
    """Uniform between two ends that are far apart beside the posterior, whose standard deviation is about this width.

    The same density as `Uniform`; chains move on its own scale instead of the logit's, and only within about a width of an end on that of the logarithm.
    """

    _family, _arguments = "uniform_wide", ("lower", "upper", "width")


class UniformPeriodic(Prior):
    """Uniform on a circle, as of an angle: both ends are the same point."""

    _family, _arguments = "uniform_periodic", ("lower", "upper")


class PcSd(Prior):
    """The prior of a standard deviation that penalises complexity: P(sd > u) = alpha."""

    _family, _arguments = "pc_sd", ("u", "alpha")


class PcRange(Prior):
    """The prior of a field's range in the plane that penalises complexity: P(range < u) = alpha."""

    _family, _arguments = "pc_range", ("u", "alpha")


_FAMILIES = {kind._family: kind for kind in Prior.__subclasses__()}


def as_prior(name: str, given: object) -> Prior:
    """The prior of a parameter, from a prior or from text."""
    if isinstance(given, Prior):
        return given
    if isinstance(given, str):
        matched = re.fullmatch(r"\s*(\w+)\s*\((.*)\)\s*", given)
        family = _FAMILIES.get(matched[1].lower()) if matched else None
        if matched is None or family is None:
            raise ValueError(f"the parameter {name!r}: {given!r} is no prior; the families are {', '.join(_FAMILIES)}")
        try:
            return family(*(float(value) for value in matched[2].split(",")))
        except (TypeError, ValueError) as error:
            raise ValueError(f"the parameter {name!r}: {error}") from None
    raise TypeError(
        f"the parameter {name!r}: a prior is needed, such as towline.Uniform(0, 1) or towline.Normal(0, 1), not "
        f"{type(given).__name__}"
    )
