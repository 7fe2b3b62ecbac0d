"""Towline samples posteriors with slow and fast parameters by dragging the fast ones along.

Some parameters are *slow*: changing one costs a long computation, `prepare(x)`. The others are *fast*: given what
`prepare` left behind, the log likelihood is cheap. A model is those two functions and priors::

    import towline

    model = towline.Model(
        slow={"H0": towline.Uniform(40, 100)},
        fast={"A": towline.Normal(0, 1)},
        prepare=lambda x: spectrum(x[0]),                 # slow
        log_likelihood=lambda cache, y: fit(cache, y[0])) # fast
    run = towline.sample(model, out="runs/first")
    print(run.summary())
"""

from ._answers import Check, Comparison, Effects, Map, compare
from ._fit import Fit, gp, glmm
from ._model import CFunction, Density, Model
from ._priors import (
    Beta,
    Cauchy,
    Exponential,
    Gamma,
    HalfCauchy,
    HalfNormal,
    HalfNormalAbove,
    HalfNormalBelow,
    HalfStudentT,
    InverseGamma,
    LogNormal,
    Normal,
    PcRange,
    PcSd,
    Prior,
    StudentT,
    Uniform,
    UniformPeriodic,
    UniformWide,
)
from ._run import Run, Summary, open
from ._sampling import resume, sample, sample_density
from ._towline import Error, ModelError
from ._version import __version__ as __version__

__all__ = [
    "Beta",
    "CFunction",
    "Cauchy",
    "Check",
    "Comparison",
    "Density",
    "Effects",
    "Error",
    "Exponential",
    "Fit",
    "Gamma",
    "HalfCauchy",
    "HalfNormal",
    "HalfNormalAbove",
    "HalfNormalBelow",
    "HalfStudentT",
    "InverseGamma",
    "LogNormal",
    "Map",
    "Model",
    "ModelError",
    "Normal",
    "PcRange",
    "PcSd",
    "Prior",
    "Run",
    "StudentT",
    "Summary",
    "Uniform",
    "UniformPeriodic",
    "UniformWide",
    "compare",
    "glmm",
    "gp",
    "open",
    "resume",
    "sample",
    "sample_density",
]
