"""Dual points of the observed entries of a matrix, with the interface of `DualPoint`."""

from math import inf

import numpy as np

from ..._floats import EPSILON
from ..._typing import Array
from ...certificates.interface import NOTHING, DualPoint, Interval, Sum
from ...problems.dual_points import RowPoint
from ...problems.interfaces import Free, ProblemParts

MIN_SLACK = 1e-9  # relative distance of dual variables from their bounds, for exact balancing


class FreeOfEntries(Free):
    """Unpenalised numbers of groups of entries, such as biases, whose sums must vanish exactly."""

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
        connected = self.rows.is_connected
        return np.where(connected, lower, 0.0), np.where(connected, upper, 0.0)


class EntryPoint(RowPoint):
    """A dual point in the box of the conjugate losses."""

    def products(self, precise: bool) -> tuple[Array, Array]:
        """The entries of A' diag(c) theta at the observed indices, and bounds on their errors."""
        product = self.problem.weights * self.theta
        design = self.problem.design
        sizes = design.of_rows(np.abs(product))
        return design.of_rows(product), (design.most_repeats + 1.0) * EPSILON * sizes

    def sums_without_products(self) -> list[Sum]:
        groups = self.problem.rows.groups
        return [NOTHING if groups is None else (groups.largest_sums(self.theta), 0.0)]


class BalancedEntryPoint(EntryPoint):
    """A dual point with a proof that a point nearby has sums of exactly 0 over all groups.

    See `skpd.models.completion.free_groups` for the existence of that point and its distance.
    """

    def __init__(self, problem: ProblemParts, theta: Array) -> None:
        lower, upper = problem.free.balanced_bounds
        super().__init__(problem, np.clip((1.0 - 2.0 * MIN_SLACK) * theta, lower, upper))
        groups = problem.rows.groups
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
