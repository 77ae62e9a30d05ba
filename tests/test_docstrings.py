"""The examples in the docstrings say what they print."""

import doctest
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

import skpd
import skpd.metrics

sys.path.insert(0, str(Path(__file__).parents[1] / "doc"))
import shared_docstrings

NOT_IMPORTED = ("__main__", "_kernels") + (() if find_spec("distributed") else ("skpd.dask",))
MODULES = ["skpd"] + [
    module.name
    for module in pkgutil.walk_packages(skpd.__path__, "skpd.")
    if not module.name.endswith(NOT_IMPORTED)
]
WITH_EXAMPLES = [
    name for name in MODULES
    if ">>>" in Path(find_spec(name).origin).read_text(encoding="utf-8")
]  # fmt: skip
ESTIMATORS = [
    name for name in skpd.__all__
    if hasattr(getattr(skpd, name), "fit") and name not in ("BlockScaler", "PathCV")
]  # fmt: skip
WITHOUT_EXAMPLES = {  # base classes, and members of a family that has one example
    "RigorousCertificate", "CoupledLoss", "LabelLoss", "Loss", "PrecisionAtK", "RecallAtK",
    "RocAuc", "FactoredTraceNorm", "FreeFeatures", "IncreasingFunction", "Norm", "Penalty",
    "Structure",
}  # fmt: skip
PUBLIC = [
    getattr(package, name)
    for package in (skpd, skpd.losses, skpd.metrics, skpd.penalties) for name in package.__all__
    if name not in WITHOUT_EXAMPLES
]  # fmt: skip


@pytest.mark.parametrize("name", WITH_EXAMPLES)
# data of a few rows, of which there is little to learn
@pytest.mark.filterwarnings("ignore:.*(all coefficients are 0|end of the grid)")
def test_docstring_examples(name, monkeypatch):
    monkeypatch.setattr(plt, "show", plt.close)
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_what_is_public_has_an_example():
    assert [each.__name__ for each in PUBLIC if ">>>" not in each.__doc__] == []


@pytest.mark.parametrize("name", [*ESTIMATORS, "PathCV"])
def test_estimators_document_their_parameters(name):
    text = inspect.getdoc(getattr(skpd, name)).split("Parameters\n")[1].split("Attributes\n")[0]
    entries = re.sub(r"\\\n", "", text)  # lines that go on
    documented = re.findall(r"^(\w[\w, ]*?)(?: :.*)?$", entries, re.MULTILINE)
    documented = {word for entry in documented for word in re.findall(r"\w+", entry)}
    assert set(inspect.signature(getattr(skpd, name)).parameters) <= documented


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_document_the_names_that_they_take_and_their_gaps(name):
    """In their docstrings, or in those of the estimators to which these refer."""
    text = inspect.getdoc(getattr(skpd, name))
    attributes = text.split("Attributes\n")[1]
    for attribute in ("certificate_", "duality_gap_", "relative_gap_", "gap_history_"):
        assert attribute in attributes
    referred = set(re.findall(r"`(\w+)`", text.split("Attributes\n")[0])) & set(ESTIMATORS)
    text += "".join(inspect.getdoc(getattr(skpd, other)) for other in referred)
    for parameter in ("loss", "penalty", "solver"):
        constraints = getattr(skpd, name)._parameter_constraints.get(parameter, [])
        names = {name for each in constraints for name in getattr(each, "options", ())}
        assert {name for name in names if f'"{name}"' not in text} == set(), parameter


@pytest.mark.parametrize("package", [name for name in ("skpd", "skpd.dask") if name in MODULES])
def test_no_import_reads_docstrings(package):
    """Python 3.13 removes their indentation, and ``python -OO`` leaves all of them out.

    Modules of skpd are compiled as by ``-OO``; it would compile all that they import, too.
    """
    code = f"""
from importlib.machinery import SourceFileLoader
usual = SourceFileLoader.get_code
def get_code(loader, name):
    if not name.startswith("skpd"):
        return usual(loader, name)
    path = loader.get_filename(name)
    return compile(loader.get_data(path), path, "exec", dont_inherit=True, optimize=2)
SourceFileLoader.get_code = get_code
import {package}
print({package}.PdproxSVC.__doc__)
"""
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert process.stdout.split() == ["None"], process.stderr


def test_shared_docstrings_are_current():
    changed = shared_docstrings.main(write=False)
    assert changed == [], "run python doc/shared_docstrings.py"


def test_shared_docstrings_replace_what_was_edited():
    table = tomllib.loads(shared_docstrings.TABLE.read_text(encoding="utf-8"))
    table["tol"]["text"] = "tol : float, default=1.0\n    Another text."
    source = (shared_docstrings.ROOT / "skpd/estimators/regression.py").read_text(encoding="utf-8")
    shared = {
        "PdproxRegressor": shared_docstrings.texts(table)["estimators.regression.PdproxRegressor"]
    }
    text = shared_docstrings.updated(source, shared)
    assert "    tol : float, default=1.0\n        Another text.\n    max_iter : int" in text
    assert shared_docstrings.updated(text, shared) == text
    assert text.count("\n") < source.count("\n")


def test_shared_docstrings_name_what_is_missing():
    shared = {"PdproxSVC": {("Parameters", "temperature"): (["temperature : float"], False)}}
    source = (shared_docstrings.ROOT / "skpd/estimators/svm.py").read_text(encoding="utf-8")
    with pytest.raises(ValueError, match=r"PdproxSVC has no \[\('Parameters', 'temperature'\)\]"):
        shared_docstrings.updated(source, shared)


def test_no_docstring_has_a_place_holder():
    for path in sorted((shared_docstrings.ROOT / "skpd").rglob("*.py")):
        assert not re.search(r"^ *\{\w+\}$", path.read_text(encoding="utf-8"), re.MULTILINE), path
