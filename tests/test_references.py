"""The modules, names and files that comments, docstrings and the documentation mention exist."""

import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
KERNELS = ROOT / "skpd" / "kernels"
SUFFIXES = {".py", ".rst", ".md", ".toml", ".hpp", ".cpp"}
SOURCES = [
    path
    for folder in ("skpd", "tests", "doc", "benchmarks", "examples")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in SUFFIXES and not {"_build", "auto_examples"} & set(path.parts)
] + [*ROOT.glob("*.md"), ROOT / "CMakeLists.txt"]
NAME = re.compile(r"`~?(skpd(?:\.\w+)+)`")
PATH = re.compile(r"(?<![\w./{}<>-])((?:\w+/)+\w+\.(?:py|hpp|cpp))\b|`(\w+\.(?:py|hpp|cpp))`")
FILES = {path.name for path in SOURCES}


def references(pattern):
    """What the pattern finds, with the files in which it stands."""
    cited = {}
    for path in SOURCES:
        for groups in pattern.findall(path.read_text(encoding="utf-8")):
            name = groups if isinstance(groups, str) else groups[0] or groups[1]
            cited.setdefault(name, set()).add(str(path.relative_to(ROOT)))
    return cited


def is_module(name):
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # the parent is a module without submodules
        return False


def resolves(name):
    """Whether a dotted name is that of a module, or of an attribute of one."""
    parts = name.split(".")
    size = max(k for k in range(1, len(parts) + 1) if is_module(".".join(parts[:k])))
    value = import_module(".".join(parts[:size]))
    for part in parts[size:]:
        if not hasattr(value, part):
            return part in getattr(value, "__annotations__", ())
        value = getattr(value, part)
    return True


def is_file(name, cited_in):
    """Whether a path is that of a file from the root, the code, or a file that cites it."""
    if "/" not in name:
        return name in FILES
    bases = [ROOT, ROOT / "skpd", KERNELS, *((ROOT / path).parent for path in cited_in)]
    return any((base / name).is_file() for base in bases)


def test_names_of_modules_and_attributes():
    cited = references(NAME)
    if not find_spec("distributed"):
        cited = {name: paths for name, paths in cited.items() if "skpd.dask" not in name}
    assert len(cited) > 50
    assert {name: paths for name, paths in cited.items() if not resolves(name)} == {}


def test_paths_of_files():
    cited = references(PATH)
    assert len(cited) > 50
    assert {name: paths for name, paths in cited.items() if not is_file(name, paths)} == {}


@pytest.mark.parametrize(
    ("name", "there"),
    [("skpd.solvers.select", True), ("skpd.solvers.select.select", True),
     ("skpd.regularization_path", True),
     ("skpd.models.robust.nowhere", False), ("skpd.PdproxSVC.nothing", False)],
)  # fmt: skip
def test_names_that_resolve(name, there):
    assert resolves(name) == there
