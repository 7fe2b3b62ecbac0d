"""What an earlier run learned, for a run whose parameters may stand in another order: matched by name, or refused."""

import json
import os
from pathlib import Path

from cobaya.log import LoggedError


class Learned:
    """The tuning of an earlier run, with the names that it is about."""

    def __init__(self, given, log, bare=False):
        """`bare`: the names are enough."""
        self.path = find(given, log)
        manifest = json.loads((self.path / "manifest.json").read_text())
        self.tuning = manifest.get("tuning")
        if self.tuning is None and not bare:
            raise LoggedError(log, "`tuning`: the run in %s has learned nothing yet: it was not through its warm-up.", self.path)
        self.slow, self.fast = (
            [column["name"] for column in manifest["columns"] if column["role"] == role] for role in ("slow", "fast")
        )
        self.priors = manifest.get("model", {}).get("priors", {})

    def speeds(self, speeds, log):
        """The same speeds with slow and fast parameters in the order of the tuning."""
        here = speeds.slow + speeds.fast
        missing, unknown = sorted(set(self.slow + self.fast) - set(here)), sorted(set(here) - set(self.slow + self.fast))
        if missing or unknown:
            parts = [f"it has {', '.join(missing)}, which this run does not sample"] if missing else []
            parts += [f"it knows nothing of {', '.join(unknown)}"] if unknown else []
            raise LoggedError(
                log,
                "`tuning`: %s is of other parameters: %s. Leave `tuning` out (warm-up will learn), or use a run of the same parameters.",
                self.path,
                "; ".join(parts),
            )
        found = speeds.following(self.slow, self.fast)
        if found is None:
            raise LoggedError(
                log,
                "`tuning`: in %s the slow parameters were %s and the fast ones %s; here %s are slow and %s fast, and Cobaya's components "
                "do not allow the other. Give the same speeds (`blocking`), or leave `tuning` out.",
                self.path,
                *(", ".join(names) or "none" for names in (self.slow, self.fast, speeds.slow, speeds.fast)),
            )
        return found

    def check_priors(self, priors, log):
        """Chains move on a scale that the bounds of a prior give: with others the tuning would be about something else."""
        for name, text in priors.items():
            before = self.priors.get(name)
            if before is not None and scale(before) != scale(text):
                raise LoggedError(
                    log,
                    "`tuning`: the prior of %s was %s in %s and is %s here. What was learned is on the scale of its bounds: give the same ones, "
                    "or leave `tuning` out.",
                    name,
                    before,
                    self.path,
                    text,
                )


def find(given, log):
    """The run directory that is meant: itself, or that beside the chains of an output's name."""
    path = getattr(given, "path", given)
    if not isinstance(path, (str, os.PathLike)):
        raise LoggedError(
            log,
            "`tuning` must be the run directory of an earlier run (chains/run.towline), in which parameters have names; got %s.",
            type(given).__name__,
        )
    for candidate in (Path(path), Path(f"{path}.towline")):
        if (candidate / "manifest.json").is_file():
            return candidate
    raise LoggedError(log, "`tuning`: there is no run directory in %s (nor in %s.towline).", path, path)


def scale(text):
    """Of a prior as text, what decides the scale: bounds where there are any."""
    family, _, arguments = text.partition("(")
    family = family.strip().lower()
    if family in ("normal",):
        return "unbounded"
    if family.startswith("half_normal"):
        # The width is none of the scale, the end is.
        return family, arguments.split(",")[0].strip()
    return family, arguments
