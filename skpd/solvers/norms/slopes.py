"""Penalties V(||w||) by rounds of problems with s ||w||, for slopes s of V at their norms."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isfinite, sqrt
from typing import Any

import numpy as np

from ...problems import Point
from ..solver_context import SolverContext

Method = Callable[..., None]


@dataclass(frozen=True)
class SlopeSettings:
    """Settings of the rounds."""

    # The relative gap of a problem with a norm, as a share of the requested one, or of the gap of
    # the previous round. A smaller gap is lost when the slope changes, a larger one hides the
    # progress of the next slope.
    share: float = 0.1
    loosest: float = 1e-2
    # A step of the secant method closer than this share to an end of the interval is moved inside
    least_share: float = 0.05
    # If the gap is still large for an interval of this relative width, the root is outside of it
    narrow: float = 1e-9
    rounds: int = 60
    # Bisections for the share of one model in a mixture
    halvings: int = 50


SETTINGS = SlopeSettings()


def by_slopes(context: SolverContext, *, method: Method) -> None:
    """Solve a problem with a penalty V(||w||) by rounds of problems with s ||w||.

    The method applies Lemma 16 of Yang et al. (2015) to the whole objective. At an optimum,
    alpha V(||w||) has the subgradients alpha s g with s a slope of V at ||w|| and g a subgradient
    of the norm, so that w also minimises the loss plus alpha s ||w||. For a given s the norm of
    the minimiser decreases with s, and with it the slope of V. The s that is equal to this slope
    is found by the secant method within an interval. For losses with kinks the norm may jump at
    that s from one minimiser to another. Then all points between them are optimal for s, and for
    one of them s is the slope of V at its norm.

    Parameters
    ----------
    context : SolverContext
        Its iterations are those of all rounds.
    method : callable
        The method that solves a problem with the norm.
    """
    problem, monitor, start = context.problem, context.monitor, context.start
    penalty: Any = problem.penalty
    norm, function = penalty.norm, penalty.function
    # alpha V(||w||) <= P at the best constant
    most = function.slope(function.inverse(problem.null_objective / problem.alpha))
    largest = norm.largest_alpha(-problem.null_gradient) / problem.alpha
    most = min(most, largest) if largest > 0.0 else most
    if not (isfinite(most) and most > 0.0):
        return
    search, between = _Search(0.0, most), _Between(norm, function, problem.null_point, most)
    slope, n_iter = 0.5 * most, 0
    if start is not None and np.any(start.coef):
        slope = search.within(function.slope(norm.value(start.coef)))
    for _ in range(SETTINGS.rounds):
        tol = min(SETTINGS.loosest, max(monitor.tol, monitor.relative_gap)) * SETTINGS.share
        own = problem.with_penalty(norm, problem.alpha * slope).in_workspace()
        tol = max(tol, SETTINGS.share * monitor.tol)
        limited = context._replace(start=start, max_iter=context.max_iter - n_iter)
        inner = limited.solved(own, tol, method)
        n_iter += max(inner.n_iter, 1)
        start = inner.best
        if start.dual_coef is None:
            return
        between.add(slope, start)
        mixed = between.mixture()
        if mixed is not None:
            monitor.consider(start)
        monitor.check(n_iter, start if mixed is None else mixed)
        if context.is_over(n_iter):
            return
        slope = search.next(slope, function.slope(norm.value(start.coef)))


class _Between:
    """The last models below and above the root, and mixtures of both."""

    def __init__(self, norm: Any, function: Any, null: Point, most: float) -> None:
        self.norm, self.function = norm, function
        self.below: tuple[float, Point] | None = None
        self.above: tuple[float, Point] = most, null

    def add(self, slope: float, point: Point) -> None:
        if slope < self.function.slope(self.norm.value(point.coef)):
            self.below = slope, point
        else:
            self.above = slope, point

    def mixture(self) -> Point | None:
        """The mixture whose slope is that of V at its norm; None without a model below."""
        if self.below is None:
            return None
        (s, first), (t, second) = self.below, self.above
        a, b = self.norm.value(first.coef), self.norm.value(second.coef)
        least, most = 0.0, 1.0
        for _ in range(SETTINGS.halvings):
            share = 0.5 * (least + most)
            found = self.function.slope(share * a + (1.0 - share) * b)
            too_large = found > share * s + (1.0 - share) * t
            least, most = (least, share) if too_large else (share, most)
        share = 0.5 * (least + most)
        numbers = [
            share * np.asarray(x) + (1.0 - share) * np.asarray(y)
            for x, y in (
                (first.coef, second.coef), (first.intercept, second.intercept),
                (first.dual_coef, second.dual_coef),
            )
        ]  # fmt: skip
        return Point(numbers[0], float(numbers[1]), numbers[2])


class _Search:
    """The search for the root of the increasing function slope - found(slope)."""

    def __init__(self, least: float, most: float) -> None:
        self.least, self.most = least, most
        self.excess: list[tuple[float, float]] = []  # (slope, slope - found) of the last two

    def within(self, slope: float) -> float:
        """The slope, moved away from the ends of the interval if necessary."""
        room = SETTINGS.least_share * (self.most - self.least)
        return min(max(slope, self.least + room), self.most - room)

    def next(self, slope: float, found: float) -> float:
        excess = slope - found
        if excess > 0.0:
            self.most = min(self.most, slope)
        else:
            self.least = max(self.least, slope)
        self.excess = [*self.excess[-1:], (slope, excess)]
        if len(self.excess) < 2:
            # exact for a norm proportional to 1 / s and a quadratic V
            return self._inside(sqrt(slope * found) if found > 0.0 else 0.0)
        if self.most - self.least <= SETTINGS.narrow * self.most:  # by errors of the norms
            self.least, self.most = 0.5 * self.least, 2.0 * self.most
        (s, e), (t, f) = self.excess
        return self._inside(t - f * (t - s) / (f - e) if f != e else inf)

    def _inside(self, slope: float) -> float:
        inside = isfinite(slope) and self.least < slope < self.most
        return slope if inside else 0.5 * (self.least + self.most)
