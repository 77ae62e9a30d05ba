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
WITH_EXAMPLES = {
    f"skpd.{name}" for name in (
        "_version", "dask.certify", "dask.models",
        "certificates.certificate", "certificates.digits", "designs.design",
        "designs.row_blocks", "estimators.block_scaler",
        "estimators.boosting", "estimators.chains", "estimators.coefficient_table",
        "estimators.counts_and_costs", "estimators.displays",
        "estimators.elastic_net", "estimators.group_lasso",
        "estimators.groups", "estimators.kernel_machines", "estimators.lasso",
        "estimators.logistic", "estimators.multiple_kernels",
        "estimators.matrix_completion", "estimators.multi_task",
        "estimators.multinomial", "estimators.multivariate", "estimators.ordinal",
        "estimators.survival",
        "estimators.path", "estimators.path_cv",
        "estimators.quantiles", "estimators.regression", "estimators.regularization_path",
        "estimators.robust_grid", "estimators.robust_svm", "estimators.sourced", "estimators.svm",
        "estimators.trace_norm", "foreign.certify", "losses.multivariate",
        "losses.checks", "losses.classes", "losses.coupled", "losses.deviances",
        "losses.knots", "losses.margin",
        "losses.quantiles", "losses.residual", "losses.tubes", "penalties.balls",
        "penalties.chains", "penalties.checks", "penalties.epigraph",
        "penalties.functions_of_norms", "penalties.generalized",
        "penalties.group_norms", "penalties.groups", "penalties.kernel_norm", "penalties.norms",
        "penalties.separable", "penalties.spectral", "penalties.weighted",
    )
}  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name, monkeypatch):
    monkeypatch.setattr(plt, "show", plt.close)
    found = doctest.testmod(importlib.import_module(name))
    assert found.failed == 0
    assert (found.attempted > 0) == (name in WITH_EXAMPLES)


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
