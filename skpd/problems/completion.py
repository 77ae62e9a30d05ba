"""Matrix completion: matrices of low rank of which some entries are observed.

    minimise over M, f   sum_i c_i l(y_i, M_a(i)b(i) + f_i) + alpha ||M||_*

with f_i a sum of free numbers of the groups that observation i belongs to, such as biases of the
rows and columns of M, or thresholds (`skpd.problems.free_groups`). M is represented by its factors
(`skpd.penalties.FactoredTraceNorm`).
"""

from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any

import numpy as np

from .. import kernels
from .._floats import EPSILON
from .._typing import Array, Indices
from ..certificates.objective import NOTHING, DualPoint, Interval, Sum
from ..designs import EntriesDesign
from ..designs.largest_singular import estimated_largest_singular_value
from ..losses import Loss
from ..penalties import FactoredTraceNorm
from .base import BaseProblem
from .dual_points import RowPoint
from .free_groups import FreeGroups
from .solution import Point

__all__ = ["CompletionProblem"]

NULL_STEPS = 8  # Lanczos steps to decide whether the zero matrix may be optimal
NEAR = 0.99  # factor on a lower bound on the alpha at and above which it is optimal
ROOM = 1e-9  # relative distance of dual variables from their bounds, for exact balancing


@dataclass(frozen=True, eq=False)
class CompletionProblem(BaseProblem):
    """The problem of matrix completion, with free numbers added to groups of entries.

    Parameters
    ----------
    design : EntriesDesign
    y, weights : ndarray of shape (n_rows,)
        Targets, and weights c_i >= 0 that sum to 1.
    loss : Loss
        A loss of single predictions.
    alpha : float
        Weight of the trace norm, greater than 0.
    groups : FreeGroups or None
        The groups of the free numbers; None where predictions are entries of the matrix only.
    levels : ndarray of shape (n_left,) or None
        A label for each left group: groups of the same label have the same number in the best
        constant prediction. By default all have the same label.
    order : ndarray of shape (n_rows,) or None
        The index of each row in the user's data, where the rows have been sorted.
    """

    design: EntriesDesign  # type: ignore[assignment]
    y: Array
    weights: Array
    loss: Loss
    alpha: float
    groups: FreeGroups | None = None
    levels: Indices | None = None
    order: Indices | None = None
    table_shape = (0,)
    no_path = (
        "A path holds a table of coefficients, which factors of different ranks are not: fit a "
        "model for each alpha, with warm_start=True."
    )

    @cached_property
    def penalty(self) -> FactoredTraceNorm:  # type: ignore[override]
        return FactoredTraceNorm(self.design)

    @property
    def n_samples(self) -> int:
        return self.design.shape[0]

    @property
    def coef_shape(self) -> tuple[int, ...]:
        """The shape of the factors of a matrix of rank 0, (n_left + n_right, 0)."""
        return self.design.n_left + self.design.n_right, 0

    @cached_property
    def largest_weight(self) -> float:
        """The largest sum of the weights of observations of the same entry."""
        return float(np.max(self.design.of_rows(self.weights)))

    @cached_property
    def largest_target(self) -> float:
        return kernels.max_abs(self.y)

    # Predictions

    def free_values(self, free: Array) -> Array | float:
        return 0.0 if self.groups is None else self.groups.values(free)

    def predictions(self, coef: Array, free: Array) -> tuple[Array, Array]:
        """The predictions of all rows, and bounds on their rounding errors."""
        z, error = self.design.matvec_bounded(coef)
        if self.groups is None:
            return z, error
        added = self.groups.values(free)
        error = error + 2.0 * EPSILON * (np.abs(added) + np.abs(z + added))
        return z + added, error

    def dual_table(self, dual_coef: Array) -> Array:
        """The dual point in the order of the user's data."""
        if self.order is None:
            return dual_coef
        table = np.empty_like(dual_coef)
        table[self.order] = dual_coef
        return table

    @property
    def null_gradient(self) -> Array:
        """The gradient in the observed entries of M at the best constant prediction."""
        return self.design.of_rows(self.weights * self.null_point.dual_coef)

    def dual_point_of(self, coef: Array, intercept: Any) -> Array:
        return self.loss.gradient(self.y, self.predictions(coef, intercept)[0])

    # The best constant prediction

    @property
    def null_point(self) -> Point:
        """The best constant prediction, with a dual point.

        The point is not cached, as its dual variables take as much memory as the targets.
        """
        coef, free = np.zeros(self.coef_shape), self._null_free
        return Point(coef, free, self.dual_point_of(coef, free))

    @cached_property
    def _null_free(self) -> Array:
        if self.groups is None:
            return np.zeros(0)
        n_left, n_right = self.groups.n_left, self.groups.n_right
        levels = np.zeros(n_left, dtype=int) if self.levels is None else self.levels
        of_row = levels[self.groups.left]
        places = [np.flatnonzero(of_row == k) for k in range(np.max(levels) + 1)]
        constants = self.loss.best_constants(self.y, self.weights, places)
        constants = np.where(np.isfinite(constants), constants, 0.0)
        return np.append(constants[levels], np.zeros(n_right))

    @cached_property
    def null_objective(self) -> float:
        return self.mean_loss(self.null_point.coef, self.null_point.intercept, 0.0)

    @property
    def null_rounding(self) -> float:
        return 64.0 * EPSILON * self.null_objective

    @cached_property
    def objective_unit(self) -> float:
        return self.null_objective

    @property
    def null_may_be_optimal(self) -> bool:
        """Whether the zero matrix may be optimal, by an estimate of a largest singular value.

        With free groups the answer is always True.
        """
        if self.groups is not None:
            return True
        gradient = self.design.sparse(self.null_gradient)
        least, _ = estimated_largest_singular_value(gradient, steps=NULL_STEPS)
        return self.alpha >= NEAR * least

    def estimated_gap(self, point: Point) -> float:
        """The value 0, as the gap is not known without singular values."""
        return 0.0

    # The interface of certificates

    def mean_loss(self, coef: Array, free: Any, accuracy: float) -> float:
        z, error = self.predictions(coef, free)
        return self.loss.largest_mean(self.y, self.weights, z, 0.0, error)

    def precise_mean_loss(self, coef: Array, free: Any) -> tuple[float, float]:
        z, error = self.predictions(coef, free)
        about = float(self.weights @ self.loss.value(self.y, z))
        return self.loss.largest_mean(self.y, self.weights, z, 0.0, error), about

    def free_intervals(self, upper: float) -> list[Interval]:
        """The interval for the one free sum of `EntryPoint`, the sum of all sizes of group sums.

        The interval is unbounded, so that this sum must vanish.
        """
        return [NOTHING if self.groups is None else (-inf, inf)]

    def feasible_point(self, theta: Array) -> DualPoint | None:
        theta = self.loss.project_dual(self.y, theta)
        return EntryPoint(self, theta) if theta.any() else None

    def projected(self, point: DualPoint) -> DualPoint:
        return point

    def balanced(self, point: DualPoint, near: Array | None) -> DualPoint:
        """The projection onto the dual points whose sums over all groups vanish."""
        if self.groups is None:
            return point
        lower, upper = self.balanced_bounds
        theta = self.groups.projected(point.theta, lower, upper)
        return BalancedEntryPoint(self, self.loss.project_dual(self.y, theta))

    @property
    def balanced_bounds(self) -> tuple[Array, Array]:
        """Bounds on dual points whose group sums vanish: 0 for rows in no cycle of the graph."""
        lower, upper = self.loss.dual_bounds(self.y)
        return np.where(self._is_connected, lower, 0.0), np.where(self._is_connected, upper, 0.0)

    @cached_property
    def _is_connected(self) -> Any:
        assert self.groups is not None
        return self.groups.connected(*self.loss.dual_bounds(self.y))


class EntryPoint(RowPoint):
    """A dual point in the box of the conjugate losses."""

    problem: Any  # a `CompletionProblem`

    def __init__(self, problem: Any, theta: Array) -> None:
        super().__init__(problem, theta)

    def products(self, precise: bool) -> tuple[Array, Array]:
        """The entries of A' diag(c) theta at the observed places, and bounds on their errors."""
        product = self.problem.weights * self.theta
        design = self.problem.design
        sizes = design.of_rows(np.abs(product))
        return design.of_rows(product), (design.most_repeats + 1.0) * EPSILON * sizes

    def sums_without_products(self) -> list[Sum]:
        groups = self.problem.groups
        return [NOTHING if groups is None else (groups.largest_sums(self.theta), 0.0)]

    def free_sums(self, products: Array, errors: Array) -> list[Sum]:
        return self.sums_without_products()

    def errors_by_precision(self) -> Any:
        return 0.0


class BalancedEntryPoint(EntryPoint):
    """A dual point with a proof that a point nearby has sums of exactly 0 over all groups.

    See `skpd.problems.free_groups` for the existence of that point and its distance.
    """

    def __init__(self, problem: CompletionProblem, theta: Array) -> None:
        lower, upper = problem.balanced_bounds
        super().__init__(problem, np.clip((1.0 - 2.0 * ROOM) * theta, lower, upper))
        groups = problem.groups
        assert groups is not None
        self._room = [np.where(np.isfinite(x), ROOM * np.abs(x), 1.0) for x in (lower, upper)]
        rooms = np.concatenate(self._room)
        self._least_room = float(np.min(rooms[rooms > 0.0], initial=1.0))
        self._flow = groups.largest_sums(self.theta)
        self._change = self._flow / groups.least_strong_weight  # bounds that of an entry of theta
        # an upper bound on the sum of all weighted changes
        self._path = 2.0 * (groups.n_left + groups.n_right) * self._flow

    def value(self, scale: float) -> Sum:
        value, rounding = super().value(scale)
        if not max(scale, 1.0) * self._change <= self._least_room:
            return -inf, rounding
        return value, rounding + scale * self._path * self._steepest(scale)

    def _steepest(self, scale: float) -> float:
        """The largest slope of chords of the conjugates from theta to the ends of an interval.

        By convexity a smaller change costs at most this slope times the change.
        """
        loss, y, theta = self.problem.loss, self.problem.y, scale * self.theta
        here, steepest = loss.conjugate(y, theta), 0.0
        for side, room in zip((-1.0, 1.0), self._room, strict=True):
            some = room > 0.0
            there = loss.conjugate(y[some], theta[some] + side * room[some])
            rise = there - here[some] + 16.0 * EPSILON * (np.abs(there) + np.abs(here[some]) + 1.0)
            steepest = max(steepest, float(np.max(rise / room[some], initial=0.0)))
        return steepest

    def products(self, precise: bool) -> tuple[Array, Array]:
        product, error = super().products(precise)
        # the Euclidean norm of this bound is at least the sum of the norms of both errors
        return product, np.sqrt(2.0 * (error**2 + self._path**2 / len(error)))

    def sums_without_products(self) -> list[Sum]:
        return [NOTHING]

    def largest_scale(self) -> float:
        return super().largest_scale() * (1.0 - 2.0 * ROOM)
