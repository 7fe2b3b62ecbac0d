"""What all tests share: the path of their models, and how runs are compared."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))


def chain_bytes(run):
    """All draws of a run, to the bit."""
    return [(run.path / f"chain-{k}.f64").read_bytes() for k in range(run.chains)]
