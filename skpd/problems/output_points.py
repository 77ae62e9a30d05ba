"""Dual points of several outputs, and the free directions of their intercepts."""

from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property, partial
from math import inf, log, sqrt
from typing import Any, NamedTuple, cast

import numpy as np

from .. import kernels
from .._floats import EPSILON, without_negligible
from .._immutable_base import computed
from .._typing import Array, Indices, Numbers
from ..certificates.interface import NOTHING, DualPoint, Interval, Sum
from ..designs import Design
from ..designs.outputs import SharedDesign
from ..penalties import Separable, Structure
from .balance import NEGLIGIBLE, BalanceBounds, balance_nearby
from .dependence import Dependence
from .dual_points import BalancedPoint, RowPoint
from .free_directions import LIKELY, TINY, FreeDirections
from .free_features import dependence, project_onto_free
from .in_memory import RowsInMemory, linear_problem
from .interfaces import ProblemParts, Rows, Support
from .problem import Problem
from .tilting import tilted

BALANCE_STEPS = 30  # most Newton steps of a projection; about five are usual
NONE = np.empty(0, dtype=np.int64)
RIDGE = 1e-12  # relative ridge, as coupled losses have a direction without curvature


class OutputsPoint(RowPoint):
    """A dual point of several outputs, with a free sum for each."""

    problem: ProblemParts

    @cached_property
    def _spread(self) -> Array | None:
        """The weighted errors of the entries of theta that stand for exact sums, or None."""
        problem = self.problem
        if not problem.loss.of_classes:
            return None
        return problem.weights * problem.loss.spread(problem.y, self.theta)

    def products(self, precise: bool) -> tuple[Array, Array]:
        product, error = super().products(precise)
        if self._spread is None:
            return product, error
        design = self.problem.design.as_kind(SharedDesign)
        return product, error + 1.01 * design.largest_products(self._spread)

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


class TiltedPoint(OutputsPoint):
    """A dual point of classes that stands for one nearby whose free sums vanish exactly.

    Parameters
    ----------
    problem : Problem
    theta : ndarray
    distance : float
        The distance of the latter (`skpd.problems.tilting`): a bound on the root of the sum of the
        variances of the changes of scores, which with the standard deviations of x_ij and of the
        logarithms of probabilities bounds the changes of products and entropies.
    """

    def __init__(self, problem: ProblemParts, theta: Array, distance: float) -> None:
        super().__init__(problem, theta)
        self.distance = distance

    def value(self, scale: float) -> Sum:
        value, rounding = super().value(scale)
        return value, rounding + self.distance * (2.0 + log(self.problem.n_outputs))

    def products(self, precise: bool) -> tuple[Array, Array]:
        products, errors = super().products(precise)
        return products, errors + 0.5 * self.distance * self.problem.norms

    def free_sums(self, products: Array, errors: Array) -> list[Sum]:
        return [NOTHING] * len(super().free_sums(products, errors))

    def largest_scale(self) -> float:
        return 1.0


class ClassTilt(NamedTuple):
    """The probabilities of all classes but the last, tilted by scores F t of a table F."""

    rows: Rows[Array]
    table: Array
    theta: Array  # of shape (n_samples, n_classes)

    @property
    def n_rows(self) -> int:
        return len(self.table)

    @property
    def _weights(self) -> Array:
        return np.ascontiguousarray(self.rows.weights[:: self.rows.n_outputs])

    @property
    def _probabilities(self) -> Array:
        return self.theta + np.reshape(self.rows.y, self.theta.shape)

    def sums(self) -> tuple[Array, Array]:
        rows, theta = self.rows, np.ravel(self.theta)
        design = SharedDesign(Design(self.table), rows.n_outputs)
        values, errors = design.rmatvec_compensated(rows.weights, theta)
        errors += 1.01 * design.column_sums(rows.weights * rows.loss.spread(rows.y, theta))
        values, errors = (np.reshape(x, (-1, rows.n_outputs)).T[:-1] for x in (values, errors))
        return np.ravel(values), np.ravel(errors)

    def hessian(self, precise: bool) -> tuple[Array, Array] | None:
        if precise:
            return None
        p, k = self._probabilities.T[:-1], self.table.shape[1]
        # theta is more precise than 1 - p where a class is nearly certain
        is_own = np.reshape(self.rows.y, self.theta.shape).T[:-1] > 0.0
        others = np.where(is_own, -self.theta.T[:-1], 1.0 - p)
        blocks = np.empty((len(p), k, len(p), k))
        for a, b in np.ndindex(len(p), len(p)):
            curvature = self._weights * p[a] * (others[a] if a == b else -p[b])
            blocks[a, :, b] = (self.table.T * curvature) @ self.table
        size = len(p) * k
        diagonal = np.ravel((p * others * self._weights) @ np.square(self.table))
        # where only certain classes have features that are not 0, sums are exactly 0
        certain = ~np.ravel((self.theta.T[:-1] != 0.0).astype(float) @ (self.table != 0.0) > 0.0)
        hessian, diagonal = blocks.reshape(size, size), diagonal + certain
        return hessian + np.diag(certain.astype(float)), diagonal

    def largest_score(self, t: Array) -> float:
        return kernels.max_abs(np.ravel(self._scores(t)))

    def _scores(self, t: Array) -> Array:
        return self.table @ np.reshape(t, (-1, self.table.shape[1])).T

    def largest_norm(self, inverse: Array) -> float:
        table, k, largest = self.table, self.table.shape[1], 0.0
        for a in range(0, len(inverse), k):
            squares = np.sum((table @ inverse[a : a + k, a : a + k]) * table, axis=1)
            largest = max(largest, float(np.max(squares)))
        return sqrt(largest)

    def moved(self, t: Array) -> "ClassTilt":
        tilted = self._probabilities.copy()
        tilted[:, :-1] *= np.exp(-self._scores(t))
        tilted /= np.sum(tilted, axis=1, keepdims=True)
        theta = self.rows.loss.project_dual(self.rows.y, np.ravel(tilted) - self.rows.y)
        return self._replace(theta=np.reshape(theta, tilted.shape))


class FreeOutputs(FreeDirections):
    """The free directions of several outputs: intercepts and coefficients without a penalty."""

    @cached_property
    def features(self) -> Indices | None:
        """The features without a penalty, if these have none for all outputs."""
        K = self.rows.n_outputs
        features = self.columns[::K] // K
        every = np.ravel(np.add.outer(K * features, np.arange(K)))
        return features if np.array_equal(self.columns, every) else None

    # Whether features without a penalty have none for all outputs, with one X for these.
    _has_table = computed(lambda self: self.features is not None and self.rows.design.shares_data)

    @property
    def _columns_as_given(self) -> Array:
        return np.asfortranarray(self.rows.design.parts[0].table(self.features))

    _heavy = computed(lambda self: self.rows.weights[:: self.rows.n_outputs] > 0.0)

    @cached_property
    def dependence(self) -> Dependence:
        """The dependence of features with one X for all outputs; others count as independent."""
        if not self._has_table:
            return Dependence([], [], np.zeros((0, 0)), [], np.zeros((0, 0)))
        precision = self.rows.design.parts[0].precision
        return dependence(self.table[self._heavy], self.rows.fit_intercept, precision)

    @cached_property
    def left_out(self) -> Indices:  # type: ignore[override]
        nearly = self.dependence.nearly
        return np.ravel(self.columns.reshape(-1, self.rows.n_outputs)[nearly]) if nearly else NONE

    def restricted(self, coef: Array, intercept: Numbers) -> tuple[Array, Numbers]:
        kept, nearly, factors, *_ = self.dependence
        if not (nearly or (self.rows.loss.of_classes and len(self.columns))):
            return coef, intercept
        table, free = coef.reshape(-1, self.rows.n_outputs).copy(), cast(Indices, self.features)
        w = np.ldexp(table[free[nearly]], self.exponents[nearly, np.newaxis])
        table[free[nearly]] = 0.0
        table[free[kept]] += np.ldexp(factors[1:] @ w, -self.exponents[kept, np.newaxis])
        if self.rows.loss.of_classes:  # a number for all classes does not matter
            table[free] -= table[free].mean(axis=1, keepdims=True)
        return np.ravel(table), intercept + factors[0] @ w

    def _in_table(self, coef: Array) -> tuple[Array, Indices, Indices]:
        table, free = coef.reshape(-1, self.rows.n_outputs), cast(Indices, self.features)
        return table, free, self.exponents[:, np.newaxis]

    def sums(self, gradient: Array, slope: Numbers) -> list[float]:
        sums = np.broadcast_to(slope, self.rows.n_outputs).tolist()
        return sums + gradient[self.columns].tolist()

    def _intercepts(self, upper: float, radius: float) -> list[Interval]:
        if not self.rows.fit_intercept:
            return [NOTHING] * self.rows.n_outputs
        if len(self.columns):
            return [(-inf, inf)] * self.rows.n_outputs
        if self.rows.loss.of_classes:
            return [self.intercept(upper, radius)] * self.rows.n_outputs
        return [one.intercept(upper, radius) for one in self._each]

    def intervals_of_constants(self, upper: float) -> list[Interval]:
        if not self.rows.fit_intercept or self.rows.loss.of_classes:
            return super().intervals_of_constants(upper) * self.rows.n_outputs
        return [one.interval_of_constants(upper) for one in self._each]

    @cached_property
    def _each(self) -> list[FreeDirections]:
        """The free directions of each output by itself, with weights 0 for other rows."""
        rows, directions, alone = self.rows, [], self.penalty.of_one_output
        for part, place in zip(rows.design.parts, rows.row_indices, strict=True):
            if alone is not None and not rows.loss.couples_outputs:
                y, weights = (np.ascontiguousarray(x[place]) for x in (rows.y, rows.weights))
                directions.append(FreeDirections(RowsInMemory(part, y, weights, rows.loss), alone))
            else:
                weights = np.zeros_like(rows.weights)
                weights[place] = rows.weights[place]
                directions.append(FreeDirections(rows.with_parts(weights=weights), self.penalty))
        return directions

    def supports(self, means: Sequence[tuple[Array, Array]]) -> list[list[Support]]:
        """Bounds on x.(w_k - w_j) over all other classes j for the mean row of a class k."""
        if not self.rows.loss.of_classes:
            return super().supports(means)
        sides = [1.0, -1.0][: 1 if self.penalty.even else 2]
        return [
            [self._support_of_class(k, side * mean, error) for side in sides]
            for k, (mean, error) in enumerate(means)
        ]

    def _support_of_class(self, k: int, mean: Array, error: Array) -> Support:
        # the bound may be the same for all of them, and that for two classes alone
        most = 1 if self.penalty.symmetric else None
        others = [j for j in range(self.rows.n_outputs) if j != k][:most]
        alone = self.penalty.structure is Structure.SEPARABLE and not len(self.columns)
        alone = alone and self.penalty.of_one_output is not None
        supports = []
        for j in others:
            table, errors = np.zeros((2, len(mean), 2 if alone else self.rows.n_outputs))
            places = [0, 1] if alone else [k, j]
            table[:, places], errors[:, places] = np.stack([mean, -mean], 1), error[:, np.newaxis]
            supports.append(super()._support(np.ravel(table), np.ravel(errors)))
        return lambda radius: max([support(radius) for support in supports])

    @cached_property
    def likely_sizes(self) -> list[float]:
        scale = LIKELY * self.rows.null.prediction_scale
        squares = np.maximum(cast(Array, self.rows.squares)[self.columns], TINY)
        return [scale] * self.rows.n_outputs + (scale / np.sqrt(squares)).tolist()

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

    def balanced(self, problem: ProblemParts, point: DualPoint) -> DualPoint:
        rows = self.rows
        if not len(self.columns):
            return self.projected(problem, point)
        if not rows.loss.couples_outputs:
            return self._balanced_outputs(problem, point)
        certain = without_negligible(point.theta, NEGLIGIBLE)  # for separated classes
        for theta in (point.theta, rows.loss.project_dual(rows.y, certain)):
            table = np.reshape(theta, (-1, rows.n_outputs))
            nearest = tilted(ClassTilt(rows, self._independent, table))
            if nearest is not None:
                tilt, distance = nearest
                return TiltedPoint(problem, np.ravel(tilt.theta), distance)
        return point

    @cached_property
    def _independent(self) -> Array:
        """The independent free columns, after one of ones for an intercept."""
        table = self.table[:, self.dependence.kept]
        return np.column_stack([np.ones(len(table)), table]) if self.rows.fit_intercept else table

    @cached_property
    def _free_parts(self) -> list[tuple[Indices, Problem]]:
        """The free coefficients of each output, and its problem of these alone."""
        (columns, *ends), K, parts = self.penalty.free_features, self.rows.n_outputs, []
        shared = None
        if self._has_table:
            shared = self.rows.design.parts[0].columns(self.features)
        for k in range(K):
            of_output, rows = np.flatnonzero(columns % K == k), self.rows.of_output(k)
            design = rows.design.columns(columns[of_output] // K) if shared is None else shared
            penalty = Separable(0.0, 0.0, *(end[of_output] for end in ends))
            arguments = rows.y, rows.weights, rows.loss, penalty, 1.0
            free = linear_problem(design, *arguments, bool(rows.fit_intercept))
            parts.append((columns[of_output], free))
        return parts

    def _balanced_outputs(self, problem: ProblemParts, point: DualPoint) -> DualPoint:
        """The point balanced for each output by itself."""
        theta, change, balances = np.array(point.theta), np.zeros_like(point.theta), []
        residual = cost = error = 0.0
        for place, (columns, free) in zip(self.rows.row_indices, self._free_parts, strict=True):
            total = float(np.sum(self.rows.weights[place]))
            project = partial(project_onto_free, free)
            start = np.ascontiguousarray(point.theta[place])
            theta[place], balance = balance_nearby(free, start, project)
            if balance is None:
                return point
            change[place] = balance.change
            residual += total * balance.residual**2
            cost += total * balance.cost
            error += total * balance.endpoint_error
            balances.append((balance.share, columns[balance.columns]))
        share = max(share for share, _ in balances)
        vanishing = np.concatenate([vanish for _, vanish in balances])
        endpoint = theta + change / share if share > 0.0 else theta
        bounds = BalanceBounds(share, sqrt(residual), cost, error, vanishing)
        before, end, moved = (OutputsPoint(problem, x) for x in (theta, endpoint, change))
        return BalancedPoint(problem, before, end, moved, bounds)


def on_intervals(outputs: Rows[Any], theta: Array, lower: Array, upper: Array) -> Array:
    """The projection onto the points between bounds whose sums over each output vanish."""
    projected = theta.copy()
    for rows in outputs.row_indices:
        vectors = theta, lower, upper, outputs.weights
        values, low, high, c = (np.ascontiguousarray(x[rows]) for x in vectors)
        weighty = c > 0.0
        if not (np.any(low[weighty] < 0.0) and np.any(high[weighty] > 0.0)):
            projected[rows] = 0.0  # one class: 0 is the only point whose sum is exactly 0
            continue
        with suppress(ValueError):  # because of rounding there may be no such point
            projected[rows] = kernels.project_box_hyperplane(values, low, high, c, c, 0.0)
    return projected


def _balanced_rows(rows: Rows[Array], theta: Array) -> Array:
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
        d, e, c = (x.reshape(-1, rows.n_outputs) for x in (*curvature, rows.weights))
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
