"""The examples in the docstrings say what they print."""

import doctest
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys

import matplotlib.pyplot as plt
import pytest

import skpd
import skpd.dask as skpd_dask

MODULES = ["skpd"] + [
    module.name
    for module in pkgutil.walk_packages(skpd.__path__, "skpd.")
    if not module.name.endswith(("__main__", "_kernels"))
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


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_document_their_gaps(name):
    attributes = inspect.getdoc(getattr(skpd, name)).split("Attributes\n")[1]
    for attribute in ("certificate_", "duality_gap_", "relative_gap_", "gap_history_"):
        assert attribute in attributes


def test_no_import_reads_docstrings():
    """Python 3.13 removes their indentation, and ``python -OO`` leaves all of them out.

    Modules of skpd are compiled as by ``-OO``; it would compile all that they import, too.
    """
    code = """
from importlib.machinery import SourceFileLoader
usual = SourceFileLoader.get_code
def get_code(loader, name):
    if not name.startswith("skpd"):
        return usual(loader, name)
    path = loader.get_filename(name)
    return compile(loader.get_data(path), path, "exec", dont_inherit=True, optimize=2)
SourceFileLoader.get_code = get_code
import skpd.dask
print(skpd.PdproxSVC.__doc__, skpd.dask.PdproxSVC.__doc__)
"""
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert process.stdout.split() == ["None", "None"], process.stderr


@pytest.mark.parametrize("name", skpd_dask.models.__all__)
def test_estimators_of_dask_document_what_the_others_lack(name):
    local, remote = getattr(skpd, name), getattr(skpd_dask, name)
    others = set(inspect.signature(remote).parameters) - set(inspect.signature(local).parameters)
    entries = inspect.getdoc(remote).split("Parameters\n")[1].split("Attributes\n")[0]
    assert set(re.findall(r"(?m)^(\w+) :", entries)) == others == {"client"}
    assert f"`skpd.{name}`" in inspect.getdoc(remote)
