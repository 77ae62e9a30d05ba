"""Kernel machines with a weight for each row, instead of coefficients of a factor of K.

With one kernel and half the squared norm as penalty, the functions are f = sum_j a_j k(x_j, .) and

    primal   P(a, b) = sum_i c_i l_i((K a)_i + b) + (alpha / 2) a'(K + S) a

with S as in `skpd.problems.kernel`. A method that works on K itself then needs no factor. The dual
problem is that of a `KernelProblem` whose factor has no columns, so that all features are residual
features.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._floats import EPSILON
from .._typing import Array
from ..certificates.objective import DualPoint
from ..designs import KernelMatrix
from .kernel import ExpandedModel, KernelProblem
from .solution import Point


@dataclass(frozen=True, eq=False)
class RepresenterProblem(KernelProblem):
    """A `KernelProblem` of one kernel, whose ``coef`` are the weights a of the rows."""

    by_kernel_matrix = True

    @property
    def kernel(self) -> KernelMatrix:
        """The kernel matrix K."""
        return self.matrices[0]

    @cached_property
    def null_point(self) -> Point:  # type: ignore[override]
        return replace(super().null_point, coef=np.zeros(self.n_samples))

    def penalty_value(self, coef: Array, accuracy: float = 0.0) -> float:
        value, error = self.kernel.squared_norm(coef)
        if 0.5 * self.alpha * error > accuracy:
            value, error = self.kernel.squared_norm(coef, precise=True)
        return 0.5 * max(value + error, 0.0) * (1.0 + EPSILON)

    def norms_of(self, coef: Array) -> Array:
        return np.sqrt([max(self.kernel.squared_norm(coef)[0], 0.0)])

    def predictions(self, coef: Array, intercept: float) -> tuple[Array, Array]:
        z, _, error = self._predictions(coef, intercept, precise=False)
        return z, error

    def precise_predictions(self, coef: Array, intercept: Any) -> tuple[Array, Array, Array]:
        return self._predictions(coef, float(intercept), precise=True)

    def _predictions(
        self, coef: Array, intercept: float, precise: bool
    ) -> tuple[Array, Array, Array]:
        values, low, error = self.kernel.predictions_of(coef, *self.kernel.product(coef, precise))
        z = values + intercept
        return z, low, error + EPSILON * np.abs(z)

    def balanced(self, point: DualPoint, near: Array | None) -> DualPoint:
        # weights of the rows do not determine the optimal products with features
        return super().balanced(point, None)

    def expanded(self, point: Point, accuracy: float = 0.0) -> ExpandedModel:
        return self._expansion(point.coef[np.newaxis], point.intercept, accuracy)


def in_rows(problem: KernelProblem) -> RepresenterProblem:
    """The problem of one kernel and half the squared norm as a `RepresenterProblem`."""
    return RepresenterProblem(
        problem.rows, problem.columns, matrices=problem.matrices, factors=problem.factors,
        penalty_of=problem.penalty_of,
    )  # fmt: skip
