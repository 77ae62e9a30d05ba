"""V(||w||) by rounds of models with s ||w||, for the s that is the slope of V at their norm."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isfinite, sqrt
from typing import Any

import numpy as np

from ...problems import Point, Problem
from ..monitor import Monitor

__all__ = ["SETTINGS", "SlopeSettings", "by_slopes"]

Method = Callable[..., None]


@dataclass(frozen=True)
class SlopeSettings:
    """Numbers of the rounds."""

    # Of a model with a norm: its relative gap as a share of that which is asked for, or of the
    # gap of the round before: less would be lost by the next slope, more would hide what it gains
    share: float = 0.1
    loosest: float = 1e-2
    # A step of the secant that stays so close to an end of the interval is one of halving
    least_share: float = 0.05
    # An interval so narrow, in units of the slope, is without the zero if the gap is not closed
    narrow: float = 1e-9
    rounds: int = 60
    # Of the share of one model in a mixture: to the precision of numbers
    halvings: int = 50


SETTINGS = SlopeSettings()


def by_slopes(
    problem: Problem,
    monitor: Monitor,
    start: Point | None,
    *,
    max_iter: int,
    random_state: np.random.RandomState,
    method: Method,
) -> None:
    """A penalty V(||w||) by rounds (Yang et al., 2015, Lemma 16, for the whole objective).

    At an optimum alpha V(||w||) has the subgradients alpha s g, with s a slope of V at ||w|| and
    g a subgradient of the norm: so w minimises the loss plus alpha s ||w|| as well. The norm of
    the w of a given s falls with s, and the slope of V there with it: the s that equals it is
    found by secants within an interval that holds it. Where the loss has kinks the norm may jump
    at that s, from one w to another; then those between them are optimal for it, and one of these
    has the norm of which s is the slope.

    Parameters
    ----------
    problem, monitor, start, max_iter, random_state
        As for `skpd.solvers.proximal.pdprox.pdprox_dual`; iterations are those of all rounds.
    method : callable
        What solves a model with the norm.
    """
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
        inner = Monitor(own, max(tol, SETTINGS.share * monitor.tol))
        inner.begin(has_start=start is not None)
        method(own, inner, start, max_iter=max_iter - n_iter, random_state=random_state)
        n_iter += max(inner.n_iter, 1)
        start = inner.best
        if start.dual_coef is None:
            return
        between.add(slope, start)
        mixed = between.mixture()
        if mixed is not None:
            monitor.consider(start)
        monitor.check(n_iter, start if mixed is None else mixed)
        if monitor.done or n_iter >= max_iter:
            return
        slope = search.next(slope, function.slope(norm.value(start.coef)))


class _Between:
    """Models between the last two, one with a smaller slope than its norm asks for, one not."""

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
        """That whose norm has about its slope; None without a model below."""
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
    """The zero of slope - found(slope), which rises with the slope."""

    def __init__(self, least: float, most: float) -> None:
        self.least, self.most = least, most
        self.excess: list[tuple[float, float]] = []  # the last two slopes, and those less theirs

    def within(self, slope: float) -> float:
        """The slope, or one between the ends and not close to them."""
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
            # as by a norm that falls like 1 / s, and a V like a square
            return self._inside(sqrt(slope * found) if found > 0.0 else 0.0)
        if self.most - self.least <= SETTINGS.narrow * self.most:  # by errors of the norms
            self.least, self.most = 0.5 * self.least, 2.0 * self.most
        (s, e), (t, f) = self.excess
        return self._inside(t - f * (t - s) / (f - e) if f != e else inf)

    def _inside(self, slope: float) -> float:
        inside = isfinite(slope) and self.least < slope < self.most
        return slope if inside else 0.5 * (self.least + self.most)
