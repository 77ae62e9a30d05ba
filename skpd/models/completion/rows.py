"""The observed entries of a matrix of low rank (`RowsOfEntries`).

    minimise over M, f   sum_i c_i l(y_i, M_a(i)b(i) + f_i) + alpha ||M||_*

with f_i a sum of unpenalised numbers of the groups that observation i belongs to, such as biases
of the rows and columns of M, or thresholds (`FreeGroups`). M is represented by its factors
(`FactoredTraceNorm`).
"""

from dataclasses import dataclass, replace
from functools import cached_property
from math import inf

import numpy as np

from ... import kernels
from ..._floats import EPSILON
from ..._immutable_base import computed
from ..._typing import Array, Indices, Mask, Numbers
from ...certificates.interface import NOTHING, DualPoint, Interval, Sum
from ...certificates.relative_gaps import bound_on_constants
from ...designs.largest_singular import estimated_largest_singular_value
from ...losses import Loss
from ...penalties import Penalty
from ...problems.dual_points import RowPoint
from ...problems.interfaces import NEAR, Free, ProblemParts, Rows
from ...problems.null_model import NullModel
from ...problems.problem import Problem
from ...problems.regularisation import Regularisation
from ...problems.solution import Point
from .design import EntriesDesign
from .factored_trace_norm import FactoredTraceNorm
from .free_groups import FreeGroups, Smooth

MIN_SLACK = 1e-9  # relative distance of dual variables from their bounds, for exact balancing


class FreeOfEntries(Free):
    """Unpenalised numbers of groups of entries, such as biases, whose sums must vanish exactly."""

    rows: "RowsOfEntries"

    def intervals(self, alpha: float, upper: float) -> list[Interval]:
        """The interval for the one free sum of `EntryPoint`, the sum of all sizes of group sums.

        The interval is unbounded, so that this sum must vanish.
        """
        return [NOTHING if self.rows.groups is None else (-inf, inf)]

    def intervals_of_constants(self, upper: float) -> list[Interval]:
        return self.intervals(inf, upper)

    def balanced(self, problem: ProblemParts, point: DualPoint) -> DualPoint:
        """The projection onto the dual points whose sums over all groups vanish."""
        if self.rows.groups is None:
            return point
        lower, upper = self.balanced_bounds
        theta = self.rows.groups.projected(point.theta, lower, upper)
        return BalancedEntryPoint(problem, problem.loss.project_dual(problem.y, theta))

    @property
    def balanced_bounds(self) -> tuple[Array, Array]:
        """Bounds on dual points whose group sums vanish: 0 for rows in no cycle of the graph."""
        lower, upper = self.rows.loss.dual_bounds(self.rows.y)
        connected = self.rows.rows_in_cycles
        return np.where(connected, lower, 0.0), np.where(connected, upper, 0.0)


class EntryPoint(RowPoint):
    """A dual point in the box of the conjugate losses."""

    def products(self, precise: bool) -> tuple[Array, Array]:
        """The entries of A' diag(c) theta at the observed indices, and bounds on their errors."""
        product = self.problem.weights * self.theta
        design = self.problem.rows.as_kind(RowsOfEntries).design
        sizes = design.of_rows(np.abs(product))
        return design.of_rows(product), (design.most_repeats + 1.0) * EPSILON * sizes

    def sums_without_products(self) -> list[Sum]:
        groups = self.problem.rows.as_kind(RowsOfEntries).groups
        return [NOTHING if groups is None else (groups.largest_sums(self.theta), 0.0)]


class BalancedEntryPoint(EntryPoint):
    """A dual point with a proof that a point nearby has sums of exactly 0 over all groups.

    See `skpd.models.completion.free_groups` for the existence of that point and its distance.
    """

    def __init__(self, problem: ProblemParts, theta: Array) -> None:
        lower, upper = problem.free.as_kind(FreeOfEntries).balanced_bounds
        super().__init__(problem, np.clip((1.0 - 2.0 * MIN_SLACK) * theta, lower, upper))
        groups = problem.rows.as_kind(RowsOfEntries).groups
        assert groups is not None
        bounds = lower, upper
        self._slack = [np.where(np.isfinite(x), MIN_SLACK * np.abs(x), 1.0) for x in bounds]
        slacks = np.concatenate(self._slack)
        self._min_slack = float(np.min(slacks[slacks > 0.0], initial=1.0))
        self._flow = groups.largest_sums(self.theta)
        self._change = self._flow / groups.least_strong_weight  # bounds that of an entry of theta
        # an upper bound on the sum of all weighted changes
        self._path = 2.0 * (groups.n_left + groups.n_right) * self._flow

    def value(self, scale: float) -> Sum:
        value, rounding = super().value(scale)
        if not max(scale, 1.0) * self._change <= self._min_slack:
            return -inf, rounding
        return value, rounding + scale * self._path * self._steepest(scale)

    def _steepest(self, scale: float) -> float:
        """The largest slope of chords of the conjugates from theta to the ends of an interval.

        By convexity a smaller change costs at most this slope times the change.
        """
        loss, y, theta = self.problem.loss, self.problem.y, scale * self.theta
        here, steepest = loss.conjugate(y, theta), 0.0
        for side, slack in zip((-1.0, 1.0), self._slack, strict=True):
            movable = slack > 0.0
            there = loss.conjugate(y[movable], theta[movable] + side * slack[movable])
            change = there - here[movable]
            rise = change + 16.0 * EPSILON * (np.abs(there) + np.abs(here[movable]) + 1.0)
            steepest = max(steepest, float(np.max(rise / slack[movable], initial=0.0)))
        return steepest

    def products(self, precise: bool) -> tuple[Array, Array]:
        product, error = super().products(precise)
        # the Euclidean norm of this bound is at least the sum of the norms of both errors
        return product, np.sqrt(2.0 * (error**2 + self._path**2 / len(error)))

    def sums_without_products(self) -> list[Sum]:
        return [NOTHING]

    def largest_scale(self) -> float:
        return super().largest_scale() * (1.0 - 2.0 * MIN_SLACK)


NULL_STEPS = 8  # Lanczos steps to decide whether the zero matrix may be optimal
NULL_ROUNDS = 24  # rounds of multipliers for the best constant prediction
# Sums at which a round ends, relative to the mean slope of losses with kinks and of others
NULL_TARGETS = 1e-8, 1e-13
NULL_FACTOR = 2.0  # by which sigma increases in each of them
NULL_GAP = 1e-9  # the gap at which no other round follows, relative to the mean loss
NULL_ACCURACY = 1e-3  # relative accuracy of their linear systems


@dataclass(frozen=True, eq=False)
class RowsOfEntries(Rows):
    """The observed entries of a matrix, with unpenalised numbers added to groups of them.

    Parameters
    ----------
    design : EntriesDesign
    y, weights : ndarray of shape (n_rows,)
        Targets, and weights c_i >= 0 that sum to 1.
    loss : Loss
        A loss of single predictions.
    groups : FreeGroups or None
        The groups of unpenalised numbers; None where predictions are entries of the matrix only.
    levels : ndarray of shape (n_left,) or None
        A label for each left group: groups of the same label have the same number in the best
        constant prediction. By default all have the same label.
    order : ndarray of shape (n_rows,) or None
        The index of each row in the user's data, where the rows have been sorted.
    """

    design: EntriesDesign
    y: Array
    weights: Array
    loss: Loss
    groups: FreeGroups | None = None
    levels: Indices | None = None
    order: Indices | None = None
    has_values = False
    table_shape = (0,)
    fit_intercept = False

    # The shape of the factors of a matrix of rank 0, (n_left + n_right, 0).
    coef_shape = computed(lambda self: (self.design.n_left + self.design.n_right, 0))

    @cached_property
    def largest_weight(self) -> float:
        """The largest sum of the weights of observations of the same entry."""
        return float(np.max(self.design.of_rows(self.weights)))

    @cached_property
    def largest_target(self) -> float:
        return kernels.max_abs(self.loss.sizes_of(self.y))

    @cached_property
    def rows_in_cycles(self) -> Mask:
        """Whether each row is in a cycle of the graph of the groups."""
        assert self.groups is not None
        return self.groups.connected(*self.loss.dual_bounds(self.y))

    def free_of(self, penalty: Penalty) -> Free:
        return FreeOfEntries(self, penalty)

    # Predictions

    def spread(self, free: Numbers) -> Numbers:
        return 0.0 if self.groups is None else self.groups.values(np.asarray(free))

    def predictions(self, coef: Array, free: Numbers) -> tuple[Array, Array]:
        """The predictions of all rows, and bounds on their rounding errors."""
        z, error = self.design.matvec_bounded(coef)
        if self.groups is None:
            return z, error
        added = self.groups.values(np.asarray(free))
        error = error + 2.0 * EPSILON * (np.abs(added) + np.abs(z + added))
        return z + added, error

    def dual_table(self, dual_coef: Array) -> Array:
        """The dual point in the order of the user's data."""
        if self.order is None:
            return dual_coef
        table = np.empty_like(dual_coef)
        table[self.order] = dual_coef
        return table

    def dual_point_of(self, coef: Array, intercept: Numbers) -> Array:
        return self.loss.gradient(self.y, self.predictions(coef, intercept)[0])

    # The best constant prediction

    @property
    def null_point(self) -> Point:
        """The best constant prediction, with a dual point.

        Its dual variables, which take as much memory as the targets, are kept only where they are
        not the gradient of the losses.
        """
        point = self.null.point
        if point.dual_coef is not None:
            return point
        return replace(point, dual_coef=self.dual_point_of(point.coef, point.intercept))

    @cached_property
    def null(self) -> NullModel:
        coef, free = np.zeros(self.coef_shape), self._best_levels
        objective = self._mean_loss(coef, free)
        # biases that fit all targets leave a loss of the rounding errors of these
        rounding, lower, theta = 64.0 * EPSILON * objective, None, None
        if self.groups is not None:
            free, theta = self._best_free_numbers(self.groups, free, objective)
            objective = self._mean_loss(coef, free)
            problem = Problem(self, Regularisation(FactoredTraceNorm(self.design), 1.0))
            lower = bound_on_constants(problem, objective, theta)
            # what balancing a dual point takes, at a distance from its bounds
            rounding += min(objective - lower, 3.0 * MIN_SLACK * objective)
        kept = theta if self.loss.has_kinks else None  # elsewhere it is the gradient
        return NullModel(Point(coef, free, kept), objective, rounding, objective, lower=lower)

    def _best_free_numbers(
        self, groups: FreeGroups, free: Array, value: float
    ) -> tuple[Array, Array]:
        """The free numbers without M and theta, by multipliers from one number for each level.

        Each round minimises the sum of the envelopes ::

            max over theta of   c.(theta z - l*(y, theta)) - c.(theta - last theta)^2 / (2 sigma)

        whose maximisers are the next theta, and multiplies sigma by `NULL_FACTOR`. The least value
        is a lower bound on the mean loss. A loss without kinks takes one round with an infinite
        sigma. ``value`` is the mean loss at the start.
        """
        c = self.weights
        theta = self.dual_point_of(np.zeros(self.coef_shape), free)
        slope = float(c @ np.abs(theta))
        sigma = slope**2 / value if value > 0.0 else 0.0
        if not 0.0 < sigma < np.inf:
            return free, theta
        slopes, curvature = np.empty((2, self.n_samples))

        def at(scaled: Array) -> Smooth:
            """The envelopes times the scale of the free numbers."""
            z, after = groups.values(scaled / scale), np.empty_like(theta)
            _, dual = self.loss.evaluator.smoothed_derivatives(
                self.y, c, theta, z, sigma, after, slopes, curvature
            )
            value = scale * (float(slopes @ z) + dual)
            value -= 0.5 * scale / sigma * float(c @ (after - theta) ** 2)
            return Smooth(value, slopes, curvature, after)

        n_rounds, scale, target = NULL_ROUNDS, sigma, NULL_TARGETS[0] * slope
        if not self.loss.has_kinks:  # the losses are their own envelopes for an infinite sigma
            n_rounds, scale, sigma, target = 1, 1.0, np.inf, NULL_TARGETS[1] * slope
        largest_sum = target * float(np.max(groups.sums(c)))
        for _ in range(n_rounds):
            scaled, result = groups.minimised(at, scale * free, target, NULL_ACCURACY)
            if not np.isfinite(scaled).all():
                break
            free, theta = scaled / scale, result.known
            value = self._mean_loss(np.zeros(self.coef_shape), free)
            is_least = float(np.max(np.abs(groups.sums(c * theta)))) <= largest_sum
            if is_least and value - result.value / scale <= NULL_GAP * value:
                break
            scale = sigma = NULL_FACTOR * sigma
        return free, theta

    @property
    def _best_levels(self) -> Array:
        """The free numbers that are the best constant of the left groups of each level, and 0."""
        if self.groups is None:
            return np.zeros(0)
        n_left, n_right = self.groups.n_left, self.groups.n_right
        levels = np.zeros(n_left, dtype=int) if self.levels is None else self.levels
        of_row = levels[self.groups.left]
        entries_of = [np.flatnonzero(of_row == k) for k in range(np.max(levels) + 1)]
        constants = self.loss.best_constants(self.y, self.weights, entries_of)
        constants = np.where(np.isfinite(constants), constants, 0.0)
        return np.append(constants[levels], np.zeros(n_right))

    @property
    def null_gradient(self) -> Array:
        """The gradient in the observed entries of M at the best constant prediction."""
        return self.design.of_rows(self.weights * self.null_point.dual_coef)

    def null_may_be_optimal(self, problem: ProblemParts) -> bool:
        """Whether the zero matrix may be optimal, by an estimate of a largest singular value.

        With free groups the answer is always True.
        """
        if self.groups is not None:
            return True
        gradient = self.design.sparse(self.null_gradient)
        lower_estimate, *_ = estimated_largest_singular_value(gradient, steps=NULL_STEPS)
        return bool(problem.alpha >= NEAR * lower_estimate)

    # Sums over the rows

    def mean_loss(
        self, problem: ProblemParts, coef: Array, free: Numbers, accuracy: float
    ) -> float:
        return self._mean_loss(coef, free)

    def _mean_loss(self, coef: Array, free: Numbers) -> float:
        z, error = self.predictions(coef, free)
        return self.loss.largest_mean(self.y, self.weights, z, 0.0, error)

    def precise_mean_loss(
        self, problem: ProblemParts, coef: Array, free: Numbers
    ) -> tuple[float, float]:
        z, error = self.predictions(coef, free)
        about = float(self.weights @ self.loss.value(self.y, z))
        return self.loss.largest_mean(self.y, self.weights, z, 0.0, error), about

    def feasible_point(self, problem: ProblemParts, theta: Array) -> DualPoint | None:
        theta = self.loss.project_dual(self.y, theta)
        return EntryPoint(problem, theta) if theta.any() else None
