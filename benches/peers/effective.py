"""Effective draws of chains with weights, as ArviZ counts them: the same for every sampler that is compared."""

import arviz
import numpy as np


def expand(collection, names):
    """One row for each step: a weight of three is three equal rows."""
    weights = np.round(np.asarray(collection["weight"])).astype(int)
    return {name: np.repeat(np.asarray(collection[name], dtype=float), weights) for name in names}


def ess(values):
    """Effective draws for the mean of one chain, or of several in rows."""
    values = np.atleast_2d(values)
    return float(arviz.ess(arviz.convert_to_dataset({"v": values}), method="mean")["v"])
