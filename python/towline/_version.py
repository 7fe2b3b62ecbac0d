"""Which version this is."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def _of_the_sources() -> str:
    """Where nothing is installed, the version that would be: the workspace's."""
    import tomllib

    with open(Path(__file__).parents[2] / "Cargo.toml", "rb") as file:
        return tomllib.load(file)["workspace"]["package"]["version"]


try:
    __version__: str = version("towline")
except PackageNotFoundError:
    __version__ = _of_the_sources()
