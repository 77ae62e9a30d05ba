"""Dual points of several outputs, and the free directions of their intercepts."""

from dataclasses import replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from .. import kernels
from .._floats import EPSILON
from .._typing import Array, Numbers
from ..certificates.interface import NOTHING, DualPoint, Interval, Sum
from .dual_points import RowPoint
from .free_directions import FreeDirections, Support
from .in_memory import RowsInMemory
from .interfaces import ProblemParts

BALANCE_STEPS = 30  # most Newton steps of a projection; about five are usual
RIDGE = 1e-12  # relative ridge, as coupled losses have a direction without curvature


class OutputsPoint(RowPoint):
    """A dual point of several outputs, with a free sum for each."""

    problem: ProblemParts  # an `OutputsProblem`

    @cached_property
    def _spread(self) -> Array | None:
        """The weighted errors of the entries of theta that stand for exact sums, or None."""
        problem = self.problem
        if not problem.loss.of_classes:
            return None
        return cast(Array | None, problem.weights * problem.loss.spread(problem.y, self.theta))

    def products(self, precise: bool) -> tuple[Array, Array]:
        product, error = super().products(precise)
        if self._spread is None:
            return product, error
        return product, error + 1.01 * self.problem.design.column_sums(self._spread)

    @cached_property
    def _intercept_sums(self) -> list[Sum]:
        problem = self.problem
        if not problem.fit_intercept:
            return [NOTHING] * problem.n_outputs
        sums = []
        for rows in problem.rows.row_indices:
            weights, theta = (np.ascontiguousarray(x[rows]) for x in (problem.weights, self.theta))
            if not theta.any():  # exactly 0, also times an infinite interval
                sums.append(NOTHING)
                continue
            value, error = kernels.compensated_dot(weights, theta)
            if self._spread is not None:
                error += 1.01 * float(np.sum(self._spread[rows]))
            sums.append((value, error))
        return sums

    errors_by_precision = DualPoint.errors_by_precision


class FreeOutputs(FreeDirections):
    """The free directions of several outputs: intercepts and coefficients without a penalty."""

    left_out = np.empty(0, dtype=np.int64)

    def sums(self, gradient: Array, slope: Numbers) -> list[float]:
        sums = np.broadcast_to(slope, self.rows.n_outputs).tolist()
        return cast(list[float], sums + gradient[self.columns].tolist())

    def _intercepts(self, upper: float, radius: float) -> list[Interval]:
        if not self.rows.fit_intercept:
            return [NOTHING] * self.rows.n_outputs
        if self.rows.loss.of_classes:
            return [self.intercept(upper, radius)] * self.rows.n_outputs
        return [one.intercept(upper, radius) for one in self._each]

    def intervals_of_constants(self, upper: float) -> list[Interval]:
        n_outputs = self.rows.n_outputs
        if not self.rows.fit_intercept or self.rows.loss.of_classes:
            return super().intervals_of_constants(upper) * n_outputs
        return [one.interval_of_constants(upper) for one in self._each]

    @cached_property
    def _each(self) -> list[FreeDirections]:
        """The free directions of each output by itself, with weights 0 for other rows."""
        rows, directions, alone = self.rows, [], self.penalty.of_one_output
        for part, place in zip(rows.design.parts, rows.row_indices, strict=True):
            if alone is not None:
                y, weights = (np.ascontiguousarray(x[place]) for x in (rows.y, rows.weights))
                of_output = RowsInMemory(part, y, weights, rows.loss)
                directions.append(FreeDirections(of_output, alone))
            else:
                weights = np.zeros_like(rows.weights)
                weights[place] = rows.weights[place]
                directions.append(FreeDirections(replace(rows, weights=weights), self.penalty))
        return directions

    def _support(self, row: Array, error: Array) -> Support:
        """An upper bound on x.w as a function of the radius, for the mean row x of an output.

        For a loss of classes, w is the difference of the coefficients of the class and another.
        """
        if not self.rows.loss.of_classes:
            return super()._support(row, error)
        n_outputs = self.rows.design.n_outputs
        output = int(np.argmax(np.any(np.reshape(row, (-1, n_outputs)) != 0.0, axis=0)))
        others = [k for k in range(n_outputs) if k != output]
        if self.penalty.symmetric:  # the bound is then the same for all classes
            others = others[:1]
        supports = []
        for other in others:
            table, errors = (np.array(np.reshape(x, (-1, n_outputs))) for x in (row, error))
            table[:, other], errors[:, other] = -table[:, output], errors[:, output]
            supports.append(super()._support(np.ravel(table), np.ravel(errors)))
        return lambda radius: max([support(radius) for support in supports])

    @cached_property
    def likely_sizes(self) -> list[float]:
        sizes = super().likely_sizes
        return sizes[:1] * self.rows.n_outputs + sizes[1:]

    # Dual points

    def projected(self, problem: ProblemParts, point: DualPoint) -> DualPoint:
        rows = self.rows
        if not rows.fit_intercept:
            return point
        if rows.loss.couples_outputs and not rows.loss.of_quantiles:
            theta = _balanced_rows(rows, point.theta)
        else:
            bounds = rows.loss.box_around(rows.y, point.theta)
            theta = on_intervals(rows, point.theta, *bounds)
        return OutputsPoint(problem, rows.loss.project_dual(rows.y, theta))

    def balanced(self, problem: ProblemParts, point: DualPoint, coef: Array | None) -> DualPoint:
        return self.projected(problem, point)


def on_intervals(of_outputs: Any, theta: Array, lower: Array, upper: Array) -> Array:
    """The projection onto the points between bounds whose sums over each output vanish."""
    projected = theta.copy()
    for rows in of_outputs.row_indices:
        values, low, high, c = (
            np.ascontiguousarray(x[rows]) for x in (theta, lower, upper, of_outputs.weights)
        )
        weighty = c > 0.0
        if not (np.any(low[weighty] < 0.0) and np.any(high[weighty] > 0.0)):
            projected[rows] = 0.0  # one class: 0 is the only point whose sum is exactly 0
            continue
        try:
            projected[rows] = kernels.project_box_hyperplane(values, low, high, c, c, 0.0)
        except ValueError:  # because of rounding there may be no such point
            continue
    return projected


def _balanced_rows(rows: Any, theta: Array) -> Array:
    """The approximate projection of theta onto the dual points whose sums vanish.

    The result is the projection of theta - mu onto the dual domain, with a number mu_k for
    each output. The sums of this projection are the gradient of a convex function of mu,
    which Newton's method minimises.
    """
    mu = np.zeros(rows.n_outputs)

    def at(mu: Array) -> tuple[Array, Any, tuple[Array, Array]]:
        x, d, e = rows.loss.projection(rows.y, theta - rows.spread(mu))
        return x, rows.sums(rows.weights * x), (d, e)

    x, sums, curvature = at(mu)
    for _ in range(BALANCE_STEPS):
        if np.max(np.abs(sums)) <= EPSILON * float(np.sum(rows.weights)):
            break
        d, e = (part.reshape(-1, rows.n_outputs) for part in curvature)
        c = rows.weights.reshape(-1, rows.n_outputs)
        system = np.diag(np.sum(c * d, axis=0)) - e.T @ (c * e)
        system += RIDGE * max(float(np.max(np.diag(system))), EPSILON) * np.eye(len(mu))
        step = np.linalg.solve(system, sums)
        length = 1.0
        while length > 1e-3:
            after = at(mu + length * step)
            if np.linalg.norm(after[1]) < np.linalg.norm(sums):
                break
            length *= 0.5
        else:
            break
        mu, (x, sums, curvature) = mu + length * step, after
    return x
