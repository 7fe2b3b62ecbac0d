"""Towline as a sampler of Cobaya: `sampler: {towline.cobaya.Towline: {...}}` in an input file.

It takes parameters, priors, blocks and speeds from Cobaya, runs slow theory codes once for every proposal, and gives back
what Cobaya's own samplers give back. Written against Cobaya 3.6.
"""

from .sampler import Towline

__all__ = ["Towline"]


def get_cobaya_class():
    """What Cobaya asks a module for when an input names it alone (`sampler: towline.cobaya`)."""
    return Towline
