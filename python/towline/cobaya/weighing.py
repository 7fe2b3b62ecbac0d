"""Runs that stop at a standard error: the weighted draws of slow points as Cobaya's collection, and the evidence as its file."""

import os

import numpy as np
from cobaya.collection import SampleCollection
from cobaya.conventions import Extension
from cobaya.yaml import yaml_dump_file


def is_weighed(run):
    """Whether weights of slow points did the work, and no chain drew."""
    return run._has_weights_alone()


class Weighted:
    """What stands in for a chain: all weighted draws of a run."""

    def __init__(self, sampler, run):
        evaluator = sampler.evaluator
        self.collection = SampleCollection(
            sampler.model, sampler.output, name="1", resuming=False, sample_type="nested", temperature=sampler.temperature
        )
        draws = run.weighted
        n_derived, n_priors = len(evaluator.derived_params), len(evaluator.prior_names)
        derived = evaluator.derived_names
        columns = [
            np.column_stack([draws[name] for name in names]) if names else np.empty((len(draws["weight"]), 0))
            for names in (evaluator.names, derived[n_derived : n_derived + n_priors], derived[n_derived + n_priors :], derived[:n_derived])
        ]
        # GetDist takes weights of any size; of about one they are easier to read.
        weights = draws["weight"] / draws["weight"].max()
        for weight, values, priors, likes, more in zip(weights, *columns):
            if weight > 0:
                self.collection.add(values, logpriors=priors, loglikes=likes, derived=more, weight=weight)
        self.collection.out_update()
        self.draws = len(self.collection)


def evidence(run):
    """ln Z and its standard error under the names that Cobaya's nested samplers use; nothing where there is none."""
    try:
        found = run.evidence()
    except ValueError:
        return {}
    return {"logZ": float(found["ln_z"]), "logZstd": float(found["se"])}


def write_evidence(output, found):
    """The file that Cobaya's nested samplers write."""
    if found:
        path = os.path.join(output.folder, output.prefix + Extension.evidence)
        yaml_dump_file(path, found, error_if_exists=False)


def worst(run, names):
    """The slow parameter with the largest error in units of its standard deviation, and that error."""
    found = run.estimates()
    ratio = {name: found[name]["se"] / found[name]["sd"] for name in names}
    name = max(ratio, key=ratio.get)
    return name, ratio[name]
