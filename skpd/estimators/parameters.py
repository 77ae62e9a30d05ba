"""Validation of constructor parameters."""

from typing import ClassVar

from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import validate_parameter_constraints

__all__ = ["ParameterValidation"]

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
