"""Imports run downwards through the layers, and never in a circle."""

import ast
from graphlib import TopologicalSorter
from importlib.util import resolve_name
from pathlib import Path

import skpd
from skpd.solvers import METHODS
from skpd.solvers.published.methods import PUBLISHED as PUBLISHED_METHODS

LAYERS = [
    "kernels", "designs", "penalties", "losses", "certificates", "problems", "solvers",
    "formulation", "preprocessing", "estimators", "inspection", "model_selection", "models",
    "metrics", "foreign", "dask",
]  # fmt: skip
ROOT = Path(skpd.__file__).parent


def name_of(path):
    parts = ("skpd", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {name_of(path): path for path in ROOT.rglob("*.py")}


def imported(module):
    """The files that a module imports, but for type checkers, or to answer for names of rooms."""
    path = FILES[module]
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    late = {
        id(node)
        for branch in ast.walk(tree)
        if (isinstance(branch, ast.If) and "TYPE_CHECKING" in ast.dump(branch.test))
        or (isinstance(branch, ast.FunctionDef) and branch.name == "__getattr__")
        for node in ast.walk(branch)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and id(node) not in late:
            base = resolve_name("." * node.level + (node.module or ""), package)
            for alias in node.names:
                full = f"{base}.{alias.name}"
                yield full if full in FILES else base


def layer(module):
    return module.split(".")[1] if module.startswith("skpd.") else ""


def test_imports_run_downwards():
    for module in FILES:
        if layer(module) in LAYERS:
            above = LAYERS[LAYERS.index(layer(module)) + 1 :]
            upwards = [other for other in imported(module) if layer(other) in above]
            assert upwards == [], module


def test_rooms_do_not_know_each_other():
    for module in FILES:
        if layer(module) == "models":
            room = ".".join(module.split(".")[:3])
            of_rooms = [other for other in imported(module) if layer(other) == "models"]
            assert all(f"{other}.".startswith(f"{room}.") for other in of_rooms), module


PUBLISHED = "skpd.solvers.published"


def test_published_algorithms_are_apart():
    """Only the selection imports them, and they are imported by their own folder."""
    for module in FILES:
        if layer(module) == "solvers" and not module.startswith(PUBLISHED):
            found = [other for other in imported(module) if other.startswith(PUBLISHED)]
            assert found == [] or module == "skpd.solvers.select", module


def test_rules_name_one_published_algorithm():
    """Block Frank-Wolfe, which is the fastest over well-conditioned l1 balls."""
    sources = [
        FILES[f"skpd.solvers.{name}"].read_text(encoding="utf-8") for name in ("rules", "select")
    ]
    nodes = [node for source in sources for node in ast.walk(ast.parse(source))]
    words = {node.value for node in nodes if isinstance(node, ast.Constant)}
    keys = {key for key in METHODS if key in words}
    assert keys & set(PUBLISHED_METHODS) == {"block-frank-wolfe"}
    assert set(METHODS) - set(PUBLISHED_METHODS) <= keys


def test_no_circle():
    graph = {
        module: {other for other in imported(module) if other in FILES and other != module}
        for module, path in FILES.items()
    }
    TopologicalSorter(graph).prepare()  # raises CycleError
