"""Penalties V(||w||) by rounds of problems with s ||w||, for slopes s of V at their norms."""

from collections.abc import Callable
from math import inf, isfinite, sqrt

import numpy as np

from ...penalties import FunctionOfNorm, Norm
from ...penalties.increasing_functions import IncreasingFunction
from ...problems import Point
from ..solver_context import SolverContext

Method = Callable[..., None]


# The relative gap of a problem with a norm, as a share of the requested one, or of the gap of
# the previous round. A smaller gap is lost when the slope changes, a larger one hides the
# progress of the next slope.
SHARE = 0.1
LOOSEST = 1e-2
# A step of the secant method closer than this share to an end of the interval is moved inside
LEAST_SHARE = 0.05
# If the gap is still large for an interval of this relative width, the root is outside of it
NARROW = 1e-9
ROUNDS = 60
# Bisections for the share of one model in a mixture
HALVINGS = 50


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
    penalty = problem.penalty.as_kind(FunctionOfNorm)
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
    for _ in range(ROUNDS):
        tol = min(LOOSEST, max(monitor.tol, monitor.relative_gap)) * SHARE
        with_norm = problem.with_penalty(norm, problem.alpha * slope).in_workspace()
        tol = max(tol, SHARE * monitor.tol)
        limited = context._replace(start=start, max_iter=context.max_iter - n_iter)
        inner = limited.solved(with_norm, tol, method)
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

    def __init__(self, norm: Norm, function: IncreasingFunction, null: Point, most: float) -> None:
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
        lower, upper = 0.0, 1.0
        for _ in range(HALVINGS):
            share = 0.5 * (lower + upper)
            slope = self.function.slope(share * a + (1.0 - share) * b)
            too_large = slope > share * s + (1.0 - share) * t
            lower, upper = (lower, share) if too_large else (share, upper)
        share = 0.5 * (lower + upper)
        numbers = [
            share * np.asarray(x) + (1.0 - share) * np.asarray(y)
            for x, y in (
                (first.coef, second.coef), (first.intercept, second.intercept),
                (first.dual_coef, second.dual_coef),
            )
        ]  # fmt: skip
        return Point(numbers[0], float(numbers[1]), numbers[2])


class _Search:
    """The search for the slope s that is the slope of V at the model for s.

    The excess of s over that slope of V increases with s.
    """

    def __init__(self, lower: float, upper: float) -> None:
        self.lower, self.upper = lower, upper
        self.excess: list[tuple[float, float]] = []  # the last two slopes and their excesses

    def within(self, slope: float) -> float:
        """The slope, moved away from the ends of the interval if necessary."""
        margin = LEAST_SHARE * (self.upper - self.lower)
        return min(max(slope, self.lower + margin), self.upper - margin)

    def next(self, slope: float, slope_of_model: float) -> float:
        excess = slope - slope_of_model
        if excess > 0.0:
            self.upper = min(self.upper, slope)
        else:
            self.lower = max(self.lower, slope)
        self.excess = [*self.excess[-1:], (slope, excess)]
        if len(self.excess) < 2:
            # exact for a norm proportional to 1 / s and a quadratic V
            return self._inside(sqrt(slope * slope_of_model) if slope_of_model > 0.0 else 0.0)
        if self.upper - self.lower <= NARROW * self.upper:  # by errors of the norms
            self.lower, self.upper = 0.5 * self.lower, 2.0 * self.upper
        (s, e), (t, f) = self.excess
        return self._inside(t - f * (t - s) / (f - e) if f != e else inf)

    def _inside(self, slope: float) -> float:
        inside = isfinite(slope) and self.lower < slope < self.upper
        return slope if inside else 0.5 * (self.lower + self.upper)
