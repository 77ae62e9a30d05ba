"""Least squares for many outputs over a ball of the trace norm, as products of whole matrices.

    minimise over ||W||_* <= radius, b   sum_i c_i ||W'x_i + b - y_i||^2 / 2 + (alpha/2) ||W||_F^2

With intercepts, the features may be replaced by x_i - m and the targets by y_i - t for any m and
t, if b + W' m - t replaces the intercept. The equivalence is exact for rounded means m and t.

A single output may be predicted by <A_i, W> + b in place of W'x_i + b, for matrices A_i, with the
rows of A_i one after the other in a row of X.
"""

import numpy as np

from ..._typing import Array, Indices
from ...designs import Design
from ...penalties.spectral import singular_value_rounding
from ...problems import Problem
from ..low_rank.factors import Factors


class Table:
    """The samples of a problem of several outputs, centred if an intercept is fitted.

    Parameters
    ----------
    problem : Problem
        A problem with one X for all outputs, the squared loss, and a ball of the trace norm with
        half the squared Frobenius norm as penalty.

    Attributes
    ----------
    n_columns : int
        The number of columns of the matrix that a row of X holds; 1 for a row of features.
    shape : tuple of int
        The number of samples, and the shape of W.
    weights : ndarray of shape (n_samples,)
    targets : ndarray of shape (n_samples, n_outputs)
        The targets, minus their means with an intercept.
    alpha, radius : float
        The weight of half the squared Frobenius norm, and the radius of the ball.
    inner_radius : float
        The radius reduced by a bound on the rounding errors of all singular values.
    """

    def __init__(self, problem: Problem) -> None:
        design, K = problem.design, problem.n_outputs
        penalty = problem.penalty
        base, Y = design.base.by_rows, problem.y.reshape(-1, K)
        self.n_columns = (penalty.n_outputs or K) // K
        self.X = base.as_given
        self.shape = base.shape[0], *penalty.shape_of(problem.n_coefficients)
        self.weights = np.ascontiguousarray(problem.weights[::K])
        of_values = penalty.of_conjugate_arguments
        self.alpha, self.radius = problem.alpha * of_values.without_ridge()[0], of_values.l1_radius
        self.is_centred = problem.fit_intercept
        self.x_mean, self.y_mean = np.zeros(base.shape[1]), np.zeros(K)
        if self.is_centred:
            ones = np.ones(len(Y))
            self.x_mean, _ = base.rmatvec_compensated(self.weights, ones)
            self.y_mean, _ = Design(Y).rmatvec_compensated(self.weights, ones)
        self.targets = Y - self.y_mean
        room = 2.0 * min(self.shape[1:]) * singular_value_rounding(self.shape[1:])
        self.inner_radius = self.radius * (1.0 - 1e-12 - room)

    def matmul(self, M: Array) -> Array:
        M = M if self.n_columns == 1 else M.reshape(-1, 1)
        product: Array = self.X @ M
        return product - self.x_mean @ M if self.is_centred else product

    def matmul_factors(self, factors: Factors) -> Array:
        """The products with U V'."""
        U, V = factors.U, factors.V
        product: Array = self.matmul(U) @ V.T if self.n_columns == 1 else self.matmul(U @ V.T)
        return product

    def rmatmul(self, R: Array, rows: Indices | None = None) -> Array:
        """The product X' R over all rows or some of them, with centred features."""
        X = self.X if rows is None else self.X[rows]
        product = np.asarray(X.T @ R)
        if self.is_centred:
            product = product - np.outer(self.x_mean, R.sum(axis=0))
        return product if self.n_columns == 1 else product.reshape(-1, self.n_columns)

    def mean_square(self, residuals: Array) -> float:
        """The mean loss of residuals, half the weighted mean of their squared norms."""
        return 0.5 * float(np.sum(self.weights @ residuals**2))

    def intercept(self, W: Array) -> Array:
        """The best intercepts b for W, rounded."""
        return self.y_mean - self.x_mean @ W.reshape(len(self.x_mean), -1)
