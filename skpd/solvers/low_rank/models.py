"""The interface of problems with a matrix of low rank: predictions, gradients, free numbers.

No array of the size of the matrix is formed, and gradients are linear maps.
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from ..._typing import Array
from ...designs import spectral_norm_bound
from ...problems import Point, Problem
from .factors import Factors
from .settings import SETTINGS


class LowRankModel(ABC):
    """The part of a problem that depends on the map from the matrix M to predictions.

    Attributes
    ----------
    problem : Problem
    shape : tuple of int
        The shape of the matrix M.
    has_free : bool
        Whether there are free numbers.
    """

    problem: Any
    shape: tuple[int, int]
    has_free: bool

    @abstractmethod
    def predictions(self, M: Factors) -> Array:
        """The linear part of the predictions of all rows."""

    @abstractmethod
    def gradient(self, theta: Array) -> Any:
        """The gradient A' diag(c) theta as a linear map with products and a transpose."""

    @abstractmethod
    def shifted(self, z: Array, free: Array) -> Array:
        """The predictions z plus the contributions of the free numbers."""

    @abstractmethod
    def free_step(self, theta: Array) -> Array | float:
        """The solution f of F' diag(c) (theta - F f) = 0, a step for losses of curvature 1."""

    @abstractmethod
    def curvature(self, random_state: np.random.RandomState) -> float:
        """An upper bound on the curvature of the mean loss in M."""

    @abstractmethod
    def start(self, point: Point) -> Factors:
        """The matrix of a point."""

    @abstractmethod
    def point(self, M: Factors, free: Array, theta: Array) -> Point: ...

    def fitted(self, z: Array, free: Array) -> tuple[Array, Array]:
        """The derivatives of the losses at z, and free numbers improved by some steps before."""
        problem = self.problem
        rounds = 1 if problem.loss.constant_curvature else SETTINGS.free_steps
        for _ in range(rounds if self.has_free else 0):
            theta = problem.loss.gradient(problem.y, self.shifted(z, free))
            free = free - self.free_step(theta) / problem.loss.smoothness
        return problem.loss.gradient(problem.y, self.shifted(z, free)), free

    def mean_loss_at(self, z: Array) -> float:
        problem = self.problem
        return float(problem.weights @ problem.loss.value(problem.y, z))

    def above_tangent(self, z: Array, tangent: float, move: Array) -> float:
        """The mean loss at z + move minus its tangent from z."""
        loss = self.problem.loss
        if loss.constant_curvature:
            return 0.5 * float(loss.smoothness * (self.problem.weights @ (move * move)))
        return self.mean_loss_at(z + move) - tangent


class EntriesModel(LowRankModel):
    """The model of matrix completion, whose gradients are sparse matrices."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.design = problem, problem.design
        self.shape = self.design.n_left, self.design.n_right
        # the squared norm of the map in the metric of the weights is 1 for the entries, in units
        # of the largest weight, plus 1 for the free numbers in their own metric
        self.has_free = problem.rows.groups is not None
        self.square_of_map = 2.0 if self.has_free else 1.0

    def predictions(self, M: Factors) -> Array:
        return self.design.to_rows(self.design.entries(*M))

    def gradient(self, theta: Array) -> Any:
        return self.design.sparse(self.design.of_rows(self.problem.weights * theta))

    def shifted(self, z: Array, free: Array) -> Array:
        return z + self.problem.rows.spread(free) if self.has_free else z

    def free_step(self, theta: Array) -> Array | float:
        groups = self.problem.rows.groups
        sums = groups.sums(self.problem.weights * theta)
        return groups.solve_for_weights(sums, SETTINGS.free_accuracy)

    def curvature(self, random_state: np.random.RandomState) -> float:
        return self.problem.loss.smoothness * self.problem.rows.largest_weight

    def start(self, point: Point) -> Factors:
        return Factors(point.coef[: self.shape[0]], point.coef[self.shape[0] :])

    def point(self, M: Factors, free: Array, theta: Array) -> Point:
        return Point(M.coef, free, theta)


class OutputsModel(LowRankModel):
    """The model X W of several outputs, whose gradients are products X' R."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        design: Any = problem.design
        self.X = design.base
        self.n_outputs, self.has_free = problem.n_outputs, problem.fit_intercept
        self.shape = self.X.shape[1], self.n_outputs

    def predictions(self, M: Factors) -> Array:
        everything = np.arange(self.shape[0])
        return np.ravel(self.X.matmul(np.ascontiguousarray(M.U), everything) @ M.V.T)

    def gradient(self, theta: Array) -> Any:
        return _OfRows(self.X, (self.problem.weights * theta).reshape(-1, self.n_outputs))

    def shifted(self, z: Array, free: Array) -> Array:
        return z + self.problem.rows.spread(free) if self.has_free else z

    def free_step(self, theta: Array) -> Array | float:
        step: Array = self.problem.rows.sums(self.problem.weights * theta)
        return step / self.problem.rows.sums(self.problem.weights)

    def curvature(self, random_state: np.random.RandomState) -> float:
        root = np.sqrt(self.problem.weights[:: self.n_outputs])
        norm = spectral_norm_bound(
            lambda v: root * self.X.matvec(v), lambda r: self.X.rmatvec(root * r),
            self.X.shape, random_state,
        )  # fmt: skip
        return self.problem.loss.smoothness * norm**2

    def start(self, point: Point) -> Factors:
        W = np.reshape(point.coef, self.shape)
        if not W.any():
            return Factors(np.zeros((self.shape[0], 0)), np.zeros((self.shape[1], 0)))
        left, values, right = np.linalg.svd(W, full_matrices=False)
        kept = values > SETTINGS.negligible * values[0]
        return Factors(left[:, kept] * values[kept], np.ascontiguousarray(right[kept].T))

    def point(self, M: Factors, free: Array, theta: Array) -> Point:
        problem = self.problem
        coef, free = problem.split(problem.join(np.ravel(M.U @ M.V.T), free))
        return Point(coef, free, theta)


class _OfRows:
    """The linear map X' R for a table R of the rows, or its transpose."""

    def __init__(self, X: Any, rows: Array, transposed: bool = False) -> None:
        self.X, self.rows, self.transposed = X, rows, transposed
        self.shape = (X.shape[1], rows.shape[1])[:: -1 if transposed else 1]

    def __matmul__(self, vectors: Array) -> Array:
        table = vectors if vectors.ndim == 2 else vectors[:, np.newaxis]
        if self.transposed:
            everything = np.arange(self.X.shape[1])
            product = self.rows.T @ self.X.matmul(np.ascontiguousarray(table), everything)
        else:
            product = self.X.rmatmul(np.ascontiguousarray(self.rows @ table))
        return product if vectors.ndim == 2 else np.ravel(product)

    @property
    def T(self) -> "_OfRows":
        return _OfRows(self.X, self.rows, not self.transposed)
