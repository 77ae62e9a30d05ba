"""Validation of constructor parameters."""

from typing import Any, ClassVar

import numpy as np
from scipy.optimize import Bounds
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import validate_parameter_constraints

from ..penalties import Penalty, for_features

__all__ = ["BY_FEATURE", "ParameterValidation", "penalty_by_feature"]

FLAGS = {"boolean", "verbose", bool}  # constraints that a bool is meant to satisfy


class _Bool:
    """A bool that does not pass for a number, and prints as before."""

    def __init__(self, value: bool) -> None:
        self.value = value

    def __repr__(self) -> str:
        return repr(self.value)


class ParameterValidation(BaseEstimator):
    """An estimator that refuses True and False where numbers are wanted.

    To Python they are the integers 1 and 0, so that scikit-learn's validation takes
    ``alpha=True`` for 1.
    """

    _parameter_constraints: ClassVar[dict]

    def _validate_params(self) -> None:
        values = self.get_params(deep=False)
        for name, value in values.items():
            constraints = self._parameter_constraints.get(name, ())
            if isinstance(value, bool) and FLAGS.isdisjoint(constraints):
                values[name] = _Bool(value)
        validate_parameter_constraints(
            self._parameter_constraints, values, caller_name=type(self).__name__
        )


BY_FEATURE: dict[str, list] = {
    "penalty_weights": ["array-like", None],
    "bounds": [tuple, list, Bounds, None],
}


def penalty_by_feature(penalty: Penalty, penalty_weights: Any, bounds: Any) -> Penalty:
    """A penalty with what the parameters ``penalty_weights`` and ``bounds`` say of each feature.

    Raises
    ------
    ValueError
        If the penalty is not one of single coefficients, or they are not as documented.
    """
    if penalty_weights is None and bounds is None:
        return penalty
    lower, upper = -np.inf, np.inf
    if isinstance(bounds, Bounds):
        # SciPy makes arrays of one number out of numbers
        lower, upper = (x.item() if np.size(x) == 1 else x for x in (bounds.lb, bounds.ub))
    elif bounds is not None:
        if len(bounds) != 2:
            raise ValueError(
                "bounds must be a pair (lower, upper) or an object of scipy.optimize.Bounds, got "
                f"{bounds!r}."
            )
        lower, upper = bounds
    return for_features(penalty, penalty_weights, lower, upper)
