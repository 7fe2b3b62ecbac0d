"""These tests need Cobaya (`tests/python/requirements.in`): without it they are left out, so that the package's others can be run alone."""

import importlib.util

collect_ignore_glob = [] if importlib.util.find_spec("cobaya") else ["test_*.py"]
