"""The examples in the docstrings say what they print."""

import doctest
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from importlib.util import find_spec

import matplotlib.pyplot as plt
import pytest

import skpd

NOT_IMPORTED = ("__main__", "_kernels") + (() if find_spec("distributed") else ("skpd.dask",))
MODULES = ["skpd"] + [
    module.name
    for module in pkgutil.walk_packages(skpd.__path__, "skpd.")
    if not module.name.endswith(NOT_IMPORTED)
]
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
    for package in (skpd, skpd.losses, skpd.penalties) for name in package.__all__
    if name not in WITHOUT_EXAMPLES
]  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name, monkeypatch):
    monkeypatch.setattr(plt, "show", plt.close)
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.parametrize("documented", PUBLIC, ids=lambda documented: documented.__name__)
def test_what_is_public_has_an_example(documented):
    assert ">>>" in documented.__doc__


@pytest.mark.parametrize("name", [*ESTIMATORS, "PathCV"])
def test_estimators_document_their_parameters(name):
    text = inspect.getdoc(getattr(skpd, name)).split("Parameters\n")[1].split("Attributes\n")[0]
    entries = re.sub(r"\\\n", "", text)  # lines that go on
    documented = re.findall(r"^(\w[\w, ]*?)(?: :.*)?$", entries, re.MULTILINE)
    documented = {word for entry in documented for word in re.findall(r"\w+", entry)}
    assert set(inspect.signature(getattr(skpd, name)).parameters) <= documented


@pytest.mark.parametrize("parameter", ["loss", "penalty", "solver"])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_document_the_names_that_they_take(name, parameter):
    """In their docstrings, or in those of the estimators to which these refer."""
    text = inspect.getdoc(getattr(skpd, name))
    referred = set(re.findall(r"`(\w+)`", text.split("Attributes\n")[0])) & set(ESTIMATORS)
    text += "".join(inspect.getdoc(getattr(skpd, other)) for other in referred)
    constraints = getattr(skpd, name)._parameter_constraints.get(parameter, [])
    names = {name for each in constraints for name in getattr(each, "options", ())}
    assert {name for name in names if f'"{name}"' not in text} == set()


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_document_their_gaps(name):
    attributes = inspect.getdoc(getattr(skpd, name)).split("Attributes\n")[1]
    for attribute in ("certificate_", "duality_gap_", "relative_gap_", "gap_history_"):
        assert attribute in attributes


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
