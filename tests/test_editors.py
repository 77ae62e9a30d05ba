"""What editors and type checkers, which read the source and run nothing, know of the package."""

import json
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Literal, Union, get_args, get_origin

import pytest

import skpd
from skpd.estimators import logistic, multinomial, names
from skpd.estimators import output_parameters as of_outputs
from skpd.models.completion import estimator as matrix_completion
from skpd.models.ordinal import classifier as ordinal

USE = Path(__file__).with_name("ordinary_use.py")
ESTIMATORS = [
    name for name in skpd.__all__
    if hasattr(getattr(skpd, name), "_parameter_constraints") and name != "BlockScaler"
]  # fmt: skip


def names_in(hint):
    """The names that an annotation allows, which editors complete."""
    if get_origin(hint) is Literal:
        return set(get_args(hint))
    parts = get_args(hint) if get_origin(hint) is Union else ()
    return {name for part in parts for name in names_in(part)}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_annotations_have_the_names_that_are_allowed(name):
    kind = getattr(skpd, name)
    allowed = {
        parameter: {
            option for each in constraints for option in getattr(each, "options", ())
            if isinstance(option, str)
        }
        for parameter, constraints in kind._parameter_constraints.items()
        if parameter not in ("groups", "scoring")  # a union of many types; all of scikit-learn's
    }  # fmt: skip
    annotated = {parameter: names_in(kind.__annotations__[parameter]) for parameter in allowed}
    assert annotated == allowed
    assert any(allowed.values())


@pytest.mark.parametrize(
    "name, parameter, table",
    [
        ("PdproxSVC", "loss", names.MARGIN_LOSSES),
        ("PdproxSVC", "penalty", names.PENALTIES),
        ("PdproxRegressor", "loss", names.RESIDUAL_LOSSES),
        ("MultiTaskPD", "loss", of_outputs.OUTPUT_LOSSES),
        ("MultiTaskPD", "penalty", of_outputs.OUTPUT_PENALTIES),
        ("LogisticPD", "penalty", logistic.NAMES),
        ("MultinomialPD", "loss", multinomial.LOSSES),
        ("OrdinalPD", "loss", ordinal.LOSSES),
        ("MatrixCompletionPD", "loss", matrix_completion.NAMED_LOSSES),
    ],
)
def test_annotations_have_the_names_of_tables(name, parameter, table):
    assert names_in(getattr(skpd, name).__annotations__[parameter]) == table.keys()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_ordinary_use_runs(capsys):
    runpy.run_path(str(USE))
    assert capsys.readouterr().out


def test_ordinary_use_has_no_error_of_types(tmp_path):
    command = shutil.which("basedpyright", path=Path(sys.executable).parent)
    command = command or shutil.which("basedpyright")
    if command is None:
        pytest.skip("basedpyright is not installed")
    packages = [place for place in sys.path if place.endswith("-packages")]
    options = {
        "typeCheckingMode": "strict", "extraPaths": [str(USE.parents[1]), *packages],
        "reportMissingTypeStubs": "none",  # scikit-learn has none
    }  # fmt: skip
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(options))
    (tmp_path / USE.name).write_text(USE.read_text("utf-8"), "utf-8")
    arguments = [command, "--outputjson", "-p", str(tmp_path)]
    found = json.loads(subprocess.run(arguments, capture_output=True, text=True).stdout)
    assert found["generalDiagnostics"] == [] and found["summary"]["filesAnalyzed"] == 1
