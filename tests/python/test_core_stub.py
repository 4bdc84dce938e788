"""Agreement of the typed stub with the module."""

import ast
import inspect

from conftest import ROOT

from airwatt import _core


def test_the_stub_names_what_the_module_has():
    tree = ast.parse((ROOT / "python" / "airwatt" / "_core.pyi").read_text())
    declared = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            declared[node.name] = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
        elif isinstance(node, ast.FunctionDef):
            declared[node.name] = [argument.arg for argument in node.args.args + node.args.kwonlyargs]
        elif isinstance(node, ast.AnnAssign):
            declared[node.target.id] = None
    present = {name for name in dir(_core) if not name.startswith("__")} | {"__version__"}
    assert declared.keys() == present
    for name, inside in declared.items():
        thing = getattr(_core, name)
        if isinstance(inside, set) and not issubclass(thing, Exception):
            methods = {item for item in inside if not item.startswith("__")}
            assert methods == {item for item in vars(thing) if not item.startswith("__")}, name
        elif isinstance(inside, list):
            assert list(inspect.signature(thing).parameters) == inside, name
