"""Rows in the memory of this process, with the interface of the method of multipliers."""

from typing import Any, Self

import numpy as np

from ..._typing import Array, Indices
from ...designs import Design, newton_cost
from ...kernels import dot
from ...problems import Point, Problem
from .rows import AllRows, ShrunkRows
from .settings import SETTINGS


class InMemory(AllRows):
    """Rows in the memory of this process."""

    def __init__(
        self, evaluator: Any, gram: Any, design: Design, y: Array, weights: Array, theta: Array,
        z: Array,
    ) -> None:  # fmt: skip
        # The problem is not stored: its workspace refers to the rows, and the reference cycle
        # would keep both in memory after the run.
        self.evaluator, self.gram = evaluator, gram
        self.design, self.y, self.weights, self.theta, self.z = design, y, weights, theta, z
        self.derivative = np.empty(len(y))
        self._gradient = np.empty(len(y))  # the derivatives times the weights
        self.h = np.empty(len(y))  # the second derivatives over sigma, times the weights
        self._at: tuple[Any, ...] = (None, None, None)
        self._values: tuple[float, float] = (np.nan, np.nan)
        self._before = self._along = z
        self._remaining: Indices = np.empty(0, dtype=np.int64)

    @classmethod
    def of(cls, problem: Problem, start: Point | None, gram: Any) -> Self:
        """All rows of a problem, at a start or at the best constant prediction."""
        loss, y = problem.loss, problem.y
        point = problem.rows.null_point if start is None else start
        if start is None:
            z = problem.rows.null_predictions
        else:
            z = problem.matvec(problem.join(point.coef, point.intercept))
        longest = np.inf
        if not loss.linear_tails:
            theta = np.zeros(problem.n_samples)
        else:
            lower, upper = loss.dual_bounds(y)
            if loss.lipschitz == np.inf:  # cut off at the steepest slope at the best constant
                steepest = np.max(
                    np.abs(loss.gradient(y, problem.rows.null_predictions)), initial=0.0
                )
                lower, upper = np.maximum(lower, -steepest), np.minimum(upper, steepest)
            longest = float(np.max(upper - lower))
            theta = 0.5 * (lower + upper) if start is None else start.dual_coef
            theta = loss.project_dual(y, theta)
        rows = cls(loss.evaluator, gram, problem.design, y, problem.weights, theta, z)
        rows.dual_range = longest
        return rows

    def _matvec(self, variables: Array) -> Array:
        n_coefficients = self.design.shape[1]
        z = self.design.matvec(np.ascontiguousarray(variables[:n_coefficients]))
        return z + variables[-1] if len(variables) > n_coefficients else z

    def move_to(self, variables: Array) -> None:
        self.z = self._matvec(variables)

    def evaluate(self, sigma: float) -> tuple[float, float]:
        at = self.z, self.theta, sigma
        if not (at[0] is self._at[0] and at[1] is self._at[1] and sigma == self._at[2]):
            self._at = at
            self._values = self._derivatives(sigma)
        return self._values

    def _derivatives(self, sigma: float) -> tuple[float, float]:
        """Compute the derivatives; return the mean loss and the losses' part of the dual value."""
        values: tuple[float, float] = self.evaluator.smoothed_derivatives(
            self.y, self.weights, self.theta, self.z, sigma,
            self.derivative, self._gradient, self.h,
        )  # fmt: skip
        return values

    def _sums(self, rows: Array) -> Any:
        """The entry of A' rows for the intercept, 0 without an intercept."""
        return float(rows.sum()) if self.gram.ones else 0.0

    def gradient(self, columns: Indices | None = None) -> tuple[Array, Any]:
        if columns is None:
            coef = self.design.rmatvec(self._gradient)
        else:
            coef = self.design.rmatvec_some(self._gradient, columns)
        return coef, self._sums(self._gradient)

    def certified_gradient(self, problem: Problem, coef: Array) -> tuple[Array, float]:
        product, _ = problem.products(self.derivative, problem.regularisation.threshold, coef)
        return product, dot(self.weights, self.derivative)

    def curvature(self, columns: Indices, scale: float, ridge: Array | None) -> Any:
        return self.gram.curvature(self.design, self.h, scale, columns, ridge)

    @property
    def n_curved(self) -> int:
        return int(np.count_nonzero(self.h))

    def may_hold(self, n_columns: int) -> bool:
        # with fewer rows than columns the curvature is given by columns, which are in memory
        return min(n_columns, self.n_curved) <= SETTINGS.largest_working_set

    def cost(self, n_columns: int) -> float:
        return newton_cost(self.design, self.n_curved, n_columns)

    def go_along(self, direction: Array) -> None:
        self._before, self._along = self.z, self._matvec(direction)
        self.z = self._before + self._along

    def slope(self, sigma: float) -> float:
        self.evaluate(sigma)
        return dot(self._gradient, self._along)

    def slopes(self, lengths: list[float], sigma: float) -> list[float]:
        vectors = self.y, self.weights, self.theta, self._before, self._along
        return [self.evaluator.smoothed_slope(*vectors, length, sigma) for length in lengths]

    def go_back(self, length: float) -> None:
        self.z = self._before + length * self._along

    def dual_point(self) -> Array:
        return self.derivative

    def update_multipliers(self) -> None:
        self.theta = self.derivative.copy()

    def shrink(
        self, gradient: Array, sigma: float, radius: float | None
    ) -> tuple[ShrunkRows | None, float | None]:
        weights = self.weights
        total = float(np.sum(weights))
        if float(weights @ (self.h > 0.0)) > SETTINGS.curved_share * total:
            return None, radius
        if radius is None:
            centre = dot(weights, self.z) / total
            radius = float(np.sqrt(dot(weights, (self.z - centre) ** 2) / total))
        curvable = self.evaluator.rows_that_bend(
            self.y, self.theta, self.z, sigma, self.derivative, self.h, radius
        )
        curvable = self.design.whole_rows(curvable)
        if len(curvable) > self.design.most_copied_rows:
            return None, SETTINGS.radius_shrink * radius
        if not 0.0 < float(np.sum(weights[curvable])) < SETTINGS.bending_share * total:
            return None, SETTINGS.radius_shrink * radius
        remaining = self.__class__(
            self.evaluator, self.gram, self.design.rows(curvable), self.y[curvable],
            weights[curvable], self.theta[curvable], self.z[curvable],
        )  # fmt: skip
        self._remaining = curvable
        self.gram.forget()
        return ShrunkRows(remaining, sigma, self._values, gradient), radius

    def restore(self, shrunk: ShrunkRows, variables: Array, sigma: float) -> float:
        if shrunk.updated:
            self.theta = self.derivative.copy()
        remaining: Any = shrunk.rows
        self.theta[self._remaining] = remaining.theta
        before = self.z
        self.z = self._matvec(variables)
        moved = np.abs(self.z - before)
        moved[self._remaining] = 0.0
        self.gram.forget()
        return float(np.max(moved, initial=0.0))
