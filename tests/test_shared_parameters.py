"""Parameters mean the same in all estimators, as the table of the reference says."""

import inspect
import sys
import tomllib
from pathlib import Path

import pytest

DOC = Path(__file__).parents[1] / "doc"
sys.path.insert(0, str(DOC / "extensions"))
from shared_parameters import estimators, rows, shared_parameters  # noqa: E402

ENTRIES = tomllib.loads((DOC / "parameters.toml").read_text(encoding="utf-8"))
PARAMETERS = shared_parameters()
FIRST = {  # by position; None where all parameters are given by name
    "DRSVMClassifier": "epsilon", "ElasticNetPDCV": None, "LPBoostClassifier": "estimator",
    "LassoPDCertifiedCV": None, "MultiTaskPDCV": None, "PathCV": "estimator",
    "QuantilePD": "quantiles",
}  # fmt: skip
# parameters whose values differ by model: names of losses, and whether there is a model for 0
BY_MODEL = {
    "alpha",
    "eps",
    "epsilon",
    "estimator",
    "l1_ratio",
    "loss",
    "penalty",
    "solver",
    "tasks",
}


def test_the_table_has_every_parameter():
    assert ENTRIES.keys() == PARAMETERS.keys()
    assert len(list(rows(ENTRIES))) == len(PARAMETERS)


@pytest.mark.parametrize("name", PARAMETERS)
def test_every_other_default_has_a_reason(name):
    others = {default for default, _ in PARAMETERS[name][1:] if default}
    assert others == ENTRIES[name].keys() - {"meaning"}


@pytest.mark.parametrize("name", estimators())
def test_alpha_comes_first(name):
    parameters = inspect.signature(estimators()[name]).parameters.values()
    by_position = [each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]
    first = FIRST.get(name, "alpha")
    assert by_position == ([] if first is None else [first])


@pytest.mark.parametrize("name", sorted(PARAMETERS.keys() - BY_MODEL))
def test_the_same_values_are_allowed(name):
    allowed = {
        kind: sorted(map(str, estimators()[kind]._parameter_constraints[name]))
        for _, kinds in PARAMETERS[name] for kind in kinds
        if name in estimators()[kind]._parameter_constraints
    }  # fmt: skip
    assert len(allowed) > 1
    assert len({tuple(each) for each in allowed.values()}) == 1, allowed
