"""Linear systems with the curvature X' diag(h) X of all features, for penalties without kinks.

For logistic losses of dense tables they take 1/4 to 1/2 of the time of a Gram matrix for each
Newton step; for sparse tables, and losses whose weights h jump, they would take longer.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from .._typing import Array
from .conjugate_gradients import Product, conjugate_gradients
from .curvature_form import ROUNDING, CurvatureForm
from .design import Design

# The share of the cost of a Gram matrix for the steps of a system without a factor of an earlier
# one, which are lost where a matrix is formed after them
FIRST_SHARE = 0.5


class SystemFactors:
    """What preconditions the next system: the scales of features, or a factor of an earlier one.

    Between Newton steps the weights h change little, so that few steps of conjugate gradients
    solve a system with the factor of an earlier system.
    """

    def __init__(self) -> None:
        self._factor: tuple[Array, bool] | None = None
        self._scales: Array = np.empty(0)
        self._sum = 1.0  # of the weights of the scales

    @property
    def share(self) -> float:
        """The share of the cost of a Gram matrix that conjugate gradients may take."""
        return FIRST_SHARE if self._factor is None else 1.0

    def inverse(self, design: Design, h: Array, ones: bool, ridge: Array) -> Product:
        """The product with an approximate inverse of X' diag(h) X + diag(ridge)."""
        factor = self._factor
        if factor is not None:
            return lambda vector: cho_solve(factor, vector, check_finite=False)
        if not len(self._scales):
            self._sum = float(np.sum(h)) or 1.0
            squares = design.column_norms(h) ** 2
            self._scales = np.append(squares, self._sum) if ones else squares
        scales = self._scales * (float(np.sum(h)) / self._sum) + ridge
        scales[scales == 0.0] = 1.0
        return lambda vector: vector / scales

    def solve(self, matrix: Array, right: Array) -> Array:
        """The solution with a positive definite matrix, whose factor is kept."""
        self._factor = cho_factor(matrix, lower=True, check_finite=False)
        solution: Array = cho_solve(self._factor, right, check_finite=False)
        return solution


@dataclass
class SystemCurvature:
    """The curvature X' diag(h) X of all features, followed by a column of ones if ``ones``.

    Attributes
    ----------
    design : Design
    h : ndarray of shape (n_samples,)
    ones : bool
    max_steps : float
        The number of steps of conjugate gradients that cost as much as the Gram matrix.
    factors : SystemFactors
    """

    form: ClassVar[CurvatureForm] = CurvatureForm.SYSTEM

    design: Design
    h: Array
    ones: bool
    max_steps: float
    factors: SystemFactors

    def times(self, vector: Array) -> Array:
        """The product with a vector of shape (n_features + ones,)."""
        d = self.design.shape[1]
        rows = self.design.matvec(np.ascontiguousarray(vector[:d]))
        rows = self.h * (rows + vector[-1]) if self.ones else self.h * rows
        product = self.design.rmatvec(rows)
        return np.append(product, np.sum(rows)) if self.ones else product

    def solution(self, right: Array, ridge: Array, tol: float) -> Array:
        """The solution with a diagonal ridge, with a residual of maximum norm ``tol``.

        The Gram matrix is formed where conjugate gradients would cost more. Where rounding or
        overflow makes it indefinite, their last iterate is returned.
        """
        iterate = conjugate_gradients(
            lambda vector: self.times(vector) + ridge * vector,
            self.factors.inverse(self.design, self.h, self.ones, ridge), right,
            max_iter=int(self.factors.share * self.max_steps), target=tol,
        )  # fmt: skip
        if float(np.max(np.abs(iterate.residual))) <= tol:
            return iterate.solution
        columns = np.arange(self.design.shape[1])
        matrix = self.design.gram(self.h, columns, self.ones)
        diagonal = matrix.ravel()[:: len(matrix) + 1]
        diagonal += ridge + ROUNDING * diagonal
        try:
            return self.factors.solve(matrix, right)
        except LinAlgError:
            return iterate.solution
