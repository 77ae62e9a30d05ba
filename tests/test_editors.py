"""What editors and type checkers, which read the source and run nothing, know of the package."""

from typing import Literal, Union, get_args, get_origin

import pytest

import skpd

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
