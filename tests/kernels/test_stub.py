"""The stub of the compiled module, which is written by hand, against the module."""

import ast
import re
from pathlib import Path

from skpd import kernels
from skpd.kernels import _kernels

STUB = ast.parse(Path(kernels.__file__).with_name("_kernels.pyi").read_text())
CLASSES = {node.name: node for node in STUB.body if isinstance(node, ast.ClassDef)}


def public(names):
    return {name for name in names if not name.startswith("_") or name == "__init__"}


def functions(body):
    """The number of arguments beside self, or None for a property, by the names of functions."""
    return {
        node.name: sum(argument.arg != "self" for argument in node.args.posonlyargs)
        if not any(isinstance(d, ast.Name) and d.id == "property" for d in node.decorator_list)
        else None
        for node in body
        if isinstance(node, ast.FunctionDef)
    }


def methods(name):
    node = CLASSES[name]
    inherited = [methods(base.id) for base in node.bases]
    return {key: n for base in inherited for key, n in base.items()} | functions(node.body)


def compiled(members):
    """The same of compiled functions, from the signatures that nanobind gives them."""
    return {
        name: None
        if isinstance(member, property)
        else len(re.findall(r"\barg\d*:", member.__nb_signature__[0][0]))
        for name, member in members.items()
        if isinstance(member, property) or hasattr(member, "__nb_signature__")
    }


def test_the_stub_has_the_functions_of_the_module():
    members = {name: getattr(_kernels, name) for name in public(dir(_kernels))}
    assert public(CLASSES) == {name for name in members if isinstance(members[name], type)}
    assert functions(STUB.body) == compiled(members)


def test_the_stub_has_the_methods_of_each_class():
    for name in public(CLASSES):
        members = vars(getattr(_kernels, name))
        assert methods(name) == compiled({key: members[key] for key in public(members)}), name
