"""The stub says what the module has, and the package what it offers and which version it is."""

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import towline
from towline import _towline


def test_the_stub_is_complete():
    package = Path(towline.__file__).parent
    assert (package / "py.typed").exists()
    stub = ast.parse((package / "_towline.pyi").read_text())
    said = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    there = {name for name in dir(_towline) if not name.startswith("_")}
    assert set(said) == there
    for name, node in said.items():
        if isinstance(node, ast.ClassDef) and not issubclass(getattr(_towline, name), Exception):
            methods = {one.name for one in node.body if isinstance(one, ast.FunctionDef)} - {"__init__"}
            assert methods == {one for one in dir(getattr(_towline, name)) if not one.startswith("_")}, name


def test_everything_that_is_offered_is_there_and_documented():
    for name in towline.__all__:
        assert getattr(towline, name).__doc__, name


def test_the_version_is_that_of_the_sources_and_of_the_command():
    sources = Path(__file__).parents[2] / "Cargo.toml"
    assert towline.__version__ == tomllib.loads(sources.read_text())["workspace"]["package"]["version"]
    said = subprocess.run([sys.executable, "-m", "towline._command", "--version"], capture_output=True, text=True, check=True)
    assert said.stdout.split()[-1] == towline.__version__


def test_a_source_tree_that_is_not_installed_has_a_version():
    package = Path(towline.__file__).parent
    if not (package.parents[1] / "Cargo.toml").exists():
        pytest.skip("the package is not that of a source tree")
    # Without site-packages there is no metadata, and no numpy: the module alone.
    code = f"import runpy; print(runpy.run_path({str(package / '_version.py')!r})['__version__'])"
    said = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == towline.__version__
