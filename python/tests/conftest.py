"""What all tests share: the path of their models, which of them are long, and how runs are compared."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


def pytest_collection_modifyitems(items):
    if "TOWLINE_LONG" not in os.environ:
        skip = pytest.mark.skip(reason="long: runs in `make test-long`")
        for item in items:
            if item.get_closest_marker("long"):
                item.add_marker(skip)


def chain_bytes(run):
    """All draws of a run, to the bit."""
    return [(run.path / f"chain-{k}.f64").read_bytes() for k in range(run.chains)]
