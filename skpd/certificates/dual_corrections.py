"""Lower bounds from dual points that are not feasible, by repairs and the choice among them."""

from collections.abc import Callable, Iterator
from math import inf, isfinite, isnan

import numpy as np
from scipy.optimize import minimize_scalar

from .. import kernels
from .._floats import EPSILON
from .._typing import Array
from .certificate import DualBound
from .interface import NOTHING, DualPoint, Interval, Objective, Sum

Ball = Callable[[Array, float, float], float]

GOOD = 10.0  # no better bound is tried for a gap of at most this times the accuracy
WORTH = 0.01  # rounding errors below this times the gap are accepted
PLAIN = 1e-13  # rounding errors below this times the objective are accepted
PARABOLAS = 4  # steps of parabolic interpolation for the best scale


class DualCorrections:
    """The repairs of dual points of one objective, given an upper bound on its optimal value.

    Parameters
    ----------
    objective : Objective
    upper : float
        The upper bound.
    ball : callable
        The ``bounded_conjugate`` of the penalty, or a function with the same arguments: the
        conjugate of alpha R on a ball that contains an optimum.
    scaling : bool
        Whether to try scaled dual points.
    accuracy : float
        See `dual_bound`.

    Attributes
    ----------
    radius : float
        An upper bound on R at an optimum, upper / alpha, as losses are non-negative.
    intervals : list of tuple
        Intervals that contain the free coordinates of an optimum.
    has_free : bool
        Whether there are free coordinates.
    """

    def __init__(
        self, objective: Objective, upper: float, ball: Ball, scaling: bool, accuracy: float
    ) -> None:
        self.objective, self.upper, self.ball = objective, upper, ball
        self.penalty = objective.penalty.of_conjugate_arguments
        self.scaling, self.accuracy = scaling, accuracy
        self.radius = upper / objective.alpha
        self.intervals = objective.free_intervals(upper)
        self.has_free = any(map(NOTHING.__ne__, self.intervals))
        # with an unbounded interval the bound is finite only if the free sum is exactly 0
        self.must_balance = (-inf, inf) in self.intervals

    def best(self, point: DualPoint) -> DualBound:
        """The best bound from a dual point, its projection and the balanced point."""
        best = DualBound(-inf, "exact", point.theta, by_free_sums=inf)
        for other in self._as_it_is_and_projected(point):
            best = _better(best, self.of(other))
            if self._is_good(best):
                return best
        # the point can be balanced exactly by a change below its precision
        if self.has_free and not best.by_free_sums < WORTH * (self.upper - best.value):
            balanced = self.objective.balanced(point)
            if balanced is not point:
                best = _better(best, self.of(balanced))
        if self.must_balance and best.value == -inf:  # the sums of the given point may be 0
            best = _better(best, self.of(point))
        return best

    def _is_good(self, bound: DualBound) -> bool:
        return self.upper - bound.value <= GOOD * self.accuracy

    def _as_it_is_and_projected(self, point: DualPoint) -> Iterator[DualPoint]:
        """The point and its projection, the more promising one first."""
        if self.must_balance:
            return
        sums = point.sums_without_products() if self.has_free else []
        far = -self._from_free(sums) > WORTH * self.accuracy
        if not far:
            yield point
        # the projection of a point with small sums can be better only by being scaled up
        if far or (self.has_free and self.scaling and self.penalty.is_norm):
            projected = self.objective.projected(point)
            if projected is not point:
                yield projected
        if far:
            yield point

    def of(self, point: DualPoint) -> DualBound:
        """The best bound from one dual point, with precise products where rounding matters."""
        if not point.only_precise:
            sums = self._sums(point, precise=False)
            plain = self._repaired(point, *sums)
            worth = max(WORTH * (self.upper - plain.value), PLAIN * self.upper, self.accuracy)
            if self._is_good(plain) or self._by_rounding(*sums) <= worth:
                return plain
        return self._repaired(point, *self._sums(point, precise=True))

    def _sums(self, point: DualPoint, precise: bool) -> tuple[Array, Array, list[Sum]]:
        """The argument -A' diag(c) theta of the conjugate with its error, and the free sums."""
        products, errors = point.products(precise)
        sums = point.free_sums(products, errors)
        v = -products
        # frees memory for `conjugate_arguments`, as there may be as many products as rows
        del products
        return *self.objective.penalty.conjugate_arguments(v, errors), sums

    def _by_rounding(self, v: Array, error: Array, sums: list[Sum]) -> float:
        """The reduction of a bound by the errors of the products."""
        by_sums = -self._from_free([(0.0, error) for _, error in sums])
        alpha, worst_case = self.objective.alpha, self.penalty.worst_case(v, error)
        bounds = [float(self.ball(x, alpha, self.radius)) for x in (worst_case, v)]
        losses = [bounds[0] - bounds[1]]
        if self.penalty.is_norm:
            norm = self.penalty.dual_norm
            losses.append(self.radius * float(norm(worst_case) - norm(v)))
        return max(losses) + (by_sums if by_sums < inf else 0.0)

    def _from_free(self, sums: list[Sum]) -> float:
        """The sum of the least values of slope times coordinate over the free coordinates."""
        least = 0.0
        for pair in zip(sums, self.intervals, strict=False):
            least += least_linear(*pair)
        return least

    def _repaired(self, point: DualPoint, v: Array, error: Array, sums: list[Sum]) -> DualBound:
        penalty, alpha, theta = self.penalty, self.objective.alpha, point.theta
        none = DualBound(-inf, "exact", theta, by_free_sums=inf)
        if not isfinite(kernels.max_abs(v) + kernels.max_abs(error)):
            return none
        from_free = self._from_free(sums)
        if from_free == -inf:
            return none
        slopes = v, error
        v = penalty.worst_case(v, error)

        def bound(scale: float, conjugate: float = 0.0) -> float:
            value, rounding = point.value(scale)
            # the factor 64 bounds the rounding of a dual norm, of its product with the radius,
            # and of the few operations here
            terms = abs(value) + abs(conjugate) + abs(scale * from_free) + self.upper
            return value - conjugate + scale * from_free - rounding - 64.0 * EPSILON * terms

        exact = penalty.conjugate(v, alpha)
        bounded = exact if exact == 0.0 else self.ball(v, alpha, self.radius)
        kind = "exact" if exact <= bounded else "lipschitz"
        least = min(exact, bounded)
        best = DualBound(
            bound(1.0, least), kind, theta, by_free_sums=-from_free, conjugate=least, slopes=slopes
        )
        if self.scaling and not self._is_good(best):

            def scaled(scale: float, conjugate: float) -> DualBound:
                lost, value = -scale * from_free, bound(scale, conjugate)
                return DualBound(
                    value, "scaling", scale * theta, by_free_sums=lost, conjugate=conjugate,
                    slopes=(scale * slopes[0], scale * slopes[1]),
                )  # fmt: skip

            if penalty.is_norm:
                norm = penalty.dual_norm(v)
                largest = alpha / norm if norm > 0.0 else inf
                if largest > 1.0:
                    largest = min(largest, point.largest_scale())
                best = _better(best, scaled(_best_scale(point, largest, bound), 0.0))
            elif exact == inf:

                def conjugate(t: float) -> float:
                    u = t * v
                    return min(penalty.conjugate(u, alpha), self.ball(u, alpha, self.radius))

                search = minimize_scalar(
                    lambda t: -bound(t, conjugate(t)), bounds=(0.0, 1.0), method="bounded"
                )
                best = _better(best, scaled(search.x, conjugate(search.x)))
        return none if isnan(best.value) else best


def _better(first: DualBound, second: DualBound) -> DualBound:
    return second if second.value > first.value or isnan(first.value) else first


def least_linear(slope: Sum, interval: Interval) -> float:
    """The least value of s b over b in an interval and s in value -+ error, for a given slope."""
    if NOTHING in (interval, slope):
        return 0.0
    value, error = slope
    lower, upper = interval
    corners = (
        (value - error) * lower, (value - error) * upper,
        (value + error) * lower, (value + error) * upper,
    )  # fmt: skip
    return -inf if any(map(isnan, corners)) else min(corners)


def _best_scale(point: DualPoint, largest: float, value: Callable[[float], float]) -> float:
    """The scale t in [0, largest] that maximises a bound."""
    largest *= 1.0 - 4.0 * EPSILON
    if point.linear or largest == 0.0:
        return largest if isfinite(largest) else 1.0
    if point.quadratic:  # a parabola, which its values at 0 and two more points determine
        reach = min(largest, 1.0)
        whole, half = value(reach), value(0.5 * reach)
        linear = 4.0 * half - whole
        square = linear - whole
        peak = 0.5 * reach * linear / square if square > 0.0 else largest
        return min(max(peak, 0.0), largest) if isfinite(peak) else reach
    # The bound is concave in t: double the range while it rises, then interpolate by parabolas.
    reach = 1.0
    while 2.0 * reach < largest and reach < 2.0**100 and value(2.0 * reach) > value(reach):
        reach *= 2.0
    largest = min(2.0 * reach, largest)
    scales = [0.0, 0.5 * largest, largest]
    values = [0.0, *(value(scale) for scale in scales[1:])]
    for _ in range(PARABOLAS):
        next_scale = min(max(0.0, _vertex(scales[-3:], values[-3:])), largest)
        if next_scale in scales:
            break
        scales.append(next_scale)
        values.append(value(next_scale))
    return scales[int(np.argmax(values))]


def _vertex(t: list[float], f: list[float]) -> float:
    """The maximiser of the parabola through three points; inf where it has no maximum."""
    first, second = (f[1] - f[0]) / (t[1] - t[0]), (f[2] - f[1]) / (t[2] - t[1])
    curvature = (second - first) / (t[2] - t[0])
    return 0.5 * (t[0] + t[1] - first / curvature) if curvature < 0.0 else inf
