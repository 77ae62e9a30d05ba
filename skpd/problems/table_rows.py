"""Least squares for many outputs over a ball of the trace norm.

    minimise over ||W||_* <= radius, b   sum_i c_i ||W'x_i + b - y_i||^2 / 2 + (alpha/2) ||W||_F^2

with W of shape (n_features, n_outputs) and dual points theta of shape (n_samples, n_outputs). The
penalty is a function of the singular values of W (`skpd.penalties.Spectral`), and certificates
are computed as for every objective (`skpd.certificates`).

With intercepts, the features may be replaced by x_i - m and the targets by y_i - t for any m and
t, if b + W' m - t replaces the intercept. The equivalence is exact for rounded means m and t. By
Jensen's inequality the new intercept is at most sqrt(2 P) in size at an optimum, plus a bound on
the effect of the differences between m and t and the exact means.
"""

from dataclasses import dataclass
from functools import cached_property
from math import inf, sqrt
from typing import Any

import numpy as np

from .. import kernels
from .._floats import EPSILON
from .._typing import Array
from ..certificates.objective import NOTHING, DualPoint, Interval, Sum
from ..certificates.repairs import PLAIN
from ..designs import Design
from ..losses import Squared
from ..penalties import L2Norm, Penalty, Spectral, SquaredL2OnL1Ball
from ..penalties.spectral import singular_value_rounding
from .columns import Columns
from .free import Free
from .null_model import NullModel
from .problem import Problem
from .rows import Rows
from .solution import Point

__all__ = ["RowsOfTable", "norm", "trace_norm_problem"]


@dataclass(frozen=True, eq=False)
class RowsOfTable(Rows):
    """The samples, with centred features and targets if an intercept is fitted.

    Parameters
    ----------
    X : {ndarray, sparse array} of shape (n_samples, n_features)
        The data in float64.
    Y : ndarray of shape (n_samples, n_outputs)
    weights : ndarray of shape (n_samples,)
        The weights c_i >= 0, which sum to 1.
    radius : float
        The radius of the ball, greater than 0.
    fit_intercept : bool
    """

    X: Any
    Y: Array
    weights: Array
    radius: float
    fit_intercept: bool
    of_table = True
    no_path = (
        "A path follows alpha, the weight of the trace norm, which it is not beside a radius: "
        "leave the radius out, or fit a model for each alpha, with warm_start=True."
    )

    @cached_property
    def design(self) -> Design:  # type: ignore[override]
        return Design(self.X)

    @property
    def loss(self) -> Squared:  # type: ignore[override]
        return Squared()

    @cached_property
    def shape(self) -> tuple[int, int, int]:
        """The numbers of samples, features and outputs."""
        return (*self.X.shape, self.Y.shape[1])

    @cached_property
    def _means(self) -> tuple[Array, Array, tuple[float, float]]:
        """The rounded means m and t, and bounds on their distances from the exact means."""
        n, d, c = self.shape
        if not self.fit_intercept:
            return np.zeros(d), np.zeros(c), NOTHING
        ones = np.ones(n)
        m, of_m = self.design.rmatvec_compensated(self.weights, ones)
        t, of_t = Design(self.Y).rmatvec_compensated(self.weights, ones)
        sum_of_weights = 64.0 * EPSILON  # a bound on its difference from 1
        return m, t, (
            norm(of_m) + sum_of_weights * norm(m), norm(of_t) + sum_of_weights * norm(t)
        )  # fmt: skip

    @property
    def distances_of_means(self) -> tuple[float, float]:
        """Bounds on the distances of m and t from the exact means."""
        return self._means[2]

    @property
    def x_mean(self) -> Array:
        return self._means[0]

    @property
    def y_mean(self) -> Array:
        return self._means[1]

    @cached_property
    def targets(self) -> Array:
        return self.Y - self.y_mean

    @cached_property
    def inner_radius(self) -> float:
        """The radius reduced by a bound on the rounding errors of all singular values."""
        room = 2.0 * min(self.coef_shape) * singular_value_rounding(self.coef_shape)
        return self.radius * (1.0 - 1e-12 - room)

    @property
    def n_samples(self) -> int:
        return self.shape[0]

    @property
    def n_outputs(self) -> int:
        return self.shape[2]

    @property
    def intercept_shape(self) -> tuple[int]:
        return (self.shape[2],)

    @property
    def coef_shape(self) -> tuple[int, int]:
        return self.shape[1], self.shape[2]

    @property
    def table_shape(self) -> tuple[int, int]:
        return self.shape[2], self.shape[1]

    def dual_point_of(self, coef: Array, intercept: Any) -> Array:
        """The residuals X W + b - Y, which are the gradient of the loss."""
        return self.X @ coef + intercept - self.Y

    @cached_property
    def null(self) -> NullModel:  # type: ignore[override]
        """The model W = 0 with the mean of the targets, and the residuals as dual point."""
        W = np.zeros(self.shape[1:])
        objective = self.mean_square(-self.targets)
        unit = max(objective, EPSILON * self.mean_square(self.Y))
        return NullModel(Point(W, self.intercept(W), -self.targets), objective, unit=unit)

    @property
    def null_gradient(self) -> Array:
        return self.rmatmul(self.weights[:, np.newaxis] * self.null_point.dual_coef)

    @cached_property
    def largest_target(self) -> float:  # type: ignore[override]
        return kernels.max_abs(np.ravel(self.Y))

    @cached_property
    def column_sizes(self) -> Array:
        """Upper bounds on the Euclidean norms of the features, centred or not."""
        lost = 1e-150 * sqrt(len(self.Y))  # a bound on the effect of underflow of squares
        sizes = self.design.column_norms(np.ones(len(self.Y))) * (1.0 + 1e-9) + lost
        return sizes + sqrt(len(self.Y)) * np.abs(self.x_mean)

    @cached_property
    def row_norms(self) -> Array:
        """Upper bounds on the norms of the rows of X, including underflow of squares."""
        return self.design.row_norms() + 1e-150 * sqrt(self.shape[1])

    def matmul(self, M: Array) -> Array:
        product = self.X @ M
        return product - self.x_mean @ M if self.fit_intercept else product

    def rmatmul(self, R: Array, rows: Any = slice(None)) -> Array:
        """The product X' R over some of the rows, with centred features."""
        X = self.X if len(R) == self.n_samples else self.X[rows]  # a slice of all would be a copy
        product = np.asarray(X.T @ R)
        return product - np.outer(self.x_mean, R.sum(axis=0)) if self.fit_intercept else product

    def mean_square(self, residuals: Array) -> float:
        """The mean loss of residuals, half the weighted mean of their squared norms."""
        return 0.5 * self._mean(residuals**2)

    def _mean(self, rows: Array) -> float:
        return float(np.sum(self.weights @ rows))

    def intercept(self, W: Array) -> Array:
        """The best intercepts b for W, rounded."""
        return self.y_mean - self.x_mean @ W

    @property
    def rounding(self) -> float:
        """A bound on the relative error of a sum over rows, features and outputs of one sign."""
        return (sum(self.shape) + 64) * EPSILON

    def null_may_be_optimal(self, problem: Any) -> bool:
        """The value False, as W = 0 is not optimal for any alpha."""
        return False

    # The interface of certificates

    def mean_loss(self, problem: Any, coef: Array, free: Any, accuracy: float) -> float:
        """The mean loss of the stored numbers W and b, rounded up."""
        b, loss = np.asarray(free), self.loss
        z = self.X @ coef + b
        error = np.outer(self.row_norms, np.linalg.norm(coef, axis=0)) + np.abs(b)
        error *= (self.shape[1] + 4) * EPSILON
        value = self._mean(loss.largest(self.Y, z, 0.0, error))
        if not value - self.mean_square(z - self.Y) <= max(PLAIN * value, accuracy):
            value = self.precise_mean_loss(problem, coef, b)[0]
        return value * (1.0 + self.rounding)

    def precise_mean_loss(self, problem: Any, coef: Array, free: Any) -> tuple[float, float]:
        value, about, loss = 0.0, 0.0, self.loss
        for w, b, y in zip(coef.T, free, self.Y.T, strict=True):
            high, low, error = self.design.matvec_compensated(np.ascontiguousarray(w), float(b))
            value += float(np.sum(self.weights * loss.largest(y, high, low, error)))
            about += float(np.sum(self.weights * loss.value(y, high, low)))
        return value * (1.0 + self.shape[2] * EPSILON), about

    def free_of(self, penalty: Penalty) -> Free:
        return FreeMeans(self, penalty)

    def feasible_point(self, problem: Any, theta: Array) -> "ResidualPoint | None":
        theta = np.nan_to_num(theta, posinf=0.0, neginf=0.0)
        return ResidualPoint(self, theta) if theta.any() else None


class FreeMeans(Free):
    """The coordinates b + W' m - t, which Jensen's inequality bounds."""

    def intervals(self, alpha: float, upper: float) -> list[Interval]:
        rows = self.rows
        if not rows.fit_intercept:
            return [NOTHING] * rows.n_outputs
        of_m, of_t = rows.distances_of_means
        reach = 1.000001 * sqrt(2.0 * upper) + of_m * rows.radius + of_t
        return [(-reach, reach)] * rows.n_outputs


class ResidualPoint(DualPoint):
    """A dual point theta of shape (n_samples, n_outputs), which is always feasible.

    The conjugate of half a square is finite everywhere.
    """

    linear, quadratic = False, True

    def __init__(self, rows: Any, theta: Array) -> None:
        self.rows, self.theta = rows, theta

    @cached_property
    def _scaled(self) -> Array:
        return self.rows.weights[:, np.newaxis] * self.theta

    def value(self, scale: float) -> Sum:
        theta, targets, weights = scale * self.theta, self.rows.targets, self.rows.weights
        value = float(weights @ (theta * (0.5 * theta + targets)).sum(axis=1))
        terms = float(weights @ (theta**2 + np.abs(theta * targets)).sum(axis=1))
        return -value, self.rows.rounding * terms

    def products(self, precise: bool) -> tuple[Array, Array]:
        """The products (X - m)' diag(c) theta, of shape (n_features, n_outputs)."""
        rows = self.rows
        if not precise:
            product = np.asarray(rows.X.T @ self._scaled)
            product -= np.outer(rows.x_mean, [slope for slope, _ in self._sums])
            sizes = np.sqrt(np.sum(self._scaled**2, axis=0)) + 1e-150 * sqrt(rows.n_samples)
            return product, 2.0 * rows.rounding * np.outer(rows.column_sizes, sizes)
        product, errors = np.empty((2, *rows.shape[1:]))
        mean = np.abs(rows.x_mean)
        for k, (slope, uncertain) in enumerate(self._sums):
            column = np.ascontiguousarray(self.theta[:, k])
            u, error = rows.design.rmatvec_compensated(rows.weights, column)
            shift = slope * rows.x_mean
            product[:, k] = u - shift
            errors[:, k] = error + uncertain * mean
            errors[:, k] += EPSILON * (np.abs(shift) + np.abs(product[:, k]))
        return product, errors

    @cached_property
    def _sums(self) -> list[Sum]:
        if not self.rows.fit_intercept:
            return [NOTHING] * self.rows.shape[2]
        columns = np.ascontiguousarray(self.theta.T)
        return [kernels.compensated_dot(self.rows.weights, column) for column in columns]

    def sums_without_products(self) -> list[Sum]:
        return self._sums

    def free_sums(self, products: Array, errors: Array) -> list[Sum]:
        return self._sums

    def largest_scale(self) -> float:
        return inf


def norm(values: Array) -> float:
    """The Euclidean norm of all entries, safe from under- and overflow."""
    return L2Norm().value(np.ravel(values, order="K"))


def trace_norm_problem(
    X: Any, Y: Array, weights: Array, alpha: float, radius: float, fit_intercept: bool
) -> Problem:
    """The problem of least squares over a ball of the trace norm, see `RowsOfTable`.

    ``alpha`` is the weight of half the squared Frobenius norm.
    """
    rows = RowsOfTable(X, Y, weights, radius, fit_intercept)
    return Problem(rows, Columns(Spectral(SquaredL2OnL1Ball(radius)), alpha))
