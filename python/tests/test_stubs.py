"""The stub says what the module has, and the package what it offers."""

import ast
from pathlib import Path

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
