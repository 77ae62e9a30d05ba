"""The regularisation of a problem: its penalty with weight alpha, and its constraints."""

from dataclasses import dataclass, replace
from functools import cached_property
from math import fsum
from typing import cast

import numpy as np

from .._immutable_base import computed
from .._typing import Array
from ..penalties import Penalty, Structure
from .linear_constraints import LinearConstraints


@dataclass(frozen=True, eq=False)
class Regularisation:
    """The penalty of the coefficients with its weight, and linear constraints on them.

    Parameters
    ----------
    penalty : Penalty
    alpha : float
        Weight of the penalty, greater than 0.
    constraints : LinearConstraints, default=None
    """

    penalty: Penalty
    alpha: float
    constraints: LinearConstraints | None = None

    def for_n_features(self, n_coefficients: int) -> "Regularisation":
        """The regularisation of coefficients of this length.

        Raises
        ------
        ValueError
            If the penalty does not fit the features.
        """
        return replace(self, penalty=self.penalty.for_n_features(n_coefficients))

    def require_consistent(self) -> None:
        """Raise a ValueError if constraints involve coefficients or a level without a penalty."""
        if self.constraints is None:
            return
        matrix = self.constraints.matrix
        if matrix[:, self.penalty.free_features.columns].count_nonzero():
            raise ValueError(
                "constraints on features without a penalty need finite bounds of these features: "
                "nothing else says how far the optimum may be. Pass bounds=(lower, upper)."
            )
        rows = zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)
        if self.penalty.free_level and any(fsum(matrix.data[i:j]) != 0.0 for i, j in rows):
            raise ValueError(
                f"constraints with the penalty {self.penalty!r}, which leaves the mean of the "
                "coefficients free, must have rows of A that sum to 0."
            )

    @cached_property
    def threshold(self) -> float:
        """A size below which entries of X' diag(c) theta have no effect on bounds and steps.

        The products of constraints are added to these entries, so that all of them matter.
        """
        if self.constraints is not None or self.penalty.structure is not Structure.SEPARABLE:
            return 0.0
        # a little below alpha times the least weight of the terms abs(w_j)
        return 0.999 * self.alpha * float(np.min(self.penalty.terms[0]))

    # Whether w = 0 satisfies the constraints.
    allow_zero = computed(lambda self: self.constraints is None or self.constraints.allow_zero)

    def hold(self, coef: Array) -> bool:
        """Whether coefficients satisfy the constraints, up to rounding."""
        return self.constraints is None or self.constraints.hold(coef)

    def restored(self, coef: Array) -> Array:
        """Coefficients near feasible ones of the penalty that satisfy the constraints too."""
        constraints = cast(LinearConstraints, self.constraints)
        restored = constraints.restored(coef)
        if restored is not coef:
            restored = self.penalty.feasible(restored)
        if constraints.model is not None and not constraints.hold(restored):
            restored = constraints.model
        return restored
