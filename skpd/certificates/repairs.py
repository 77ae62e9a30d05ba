"""Lower bounds from dual points that are not feasible."""

from collections.abc import Callable
from math import fsum, inf, isfinite, isnan

import numpy as np

from .. import kernels
from .._typing import Array
from ..losses.base import EPSILON
from ..problems import Problem
from .balance import balance_exactly
from .certificate import DualBound

__all__ = ["loss_by_precision"]


GOOD = 10.0  # times the accuracy asked for: a gap that needs no better bound


NEGLIGIBLE = 1e-9  # multipliers beside the largest: 0 may do as well


WORTH = 0.01  # of the gap: what rounding may cost before more precise sums are worth it


PLAIN = 1e-11  # of the objective: where rounding matters less, plain sums will do


PARABOLAS = 4  # through the last three of the scales tried; of the concave dual along a ray


def _balanced(problem: Problem, theta: Array):
    """The nearest theta in the box with sum_i c_i theta_i = 0."""
    lower, upper = problem.loss.dual_bounds(problem.y)
    weights = problem.weights
    return kernels.project_box_hyperplane(theta, lower, upper, weights, weights, 0.0)


def _slope(problem, theta):
    """sum_i c_i theta_i, what a free intercept costs, and a bound on its rounding error."""
    if not problem.fit_intercept:
        return 0.0, 0.0
    return kernels.compensated_dot(problem.weights, theta)


def _bound_once_balanced(problem, theta, coef, how):
    """The bound of theta after the change of `balance_exactly`, if there is one."""
    balance = balance_exactly(problem, theta, coef)
    if balance is None:  # perhaps only rows that the free directions classify are in its way
        theta = kernels.without_negligible(theta, NEGLIGIBLE)
        balance = balance_exactly(problem, theta, coef)
    if balance is None:
        return _best_repair(problem, theta, _slope(problem, theta), *how)
    return _repair_balanced(problem, theta, balance, *how)


def _beyond_precision(problem, theta, coef, best, length, how):
    """The best bound, after changes below the precision of theta if that may matter."""
    upper, radius, *_, accuracy = how
    worth = WORTH * (upper - best.value)
    by_rounding = 2.0 * length * EPSILON * kernels.dot(problem.weights, np.abs(theta))
    rough = coef is not None and loss_by_precision(problem, theta, radius) > worth
    if not (by_rounding > worth or rough or problem.has_free_level):
        return best
    theta = _balanced(problem, theta) if problem.fit_intercept else theta
    for near in (coef, None) if rough else (None,):
        best = max(best, _bound_once_balanced(problem, theta, near, how), key=lambda b: b.value)
        if upper - best.value <= GOOD * accuracy:
            break
    return best


def loss_by_precision(problem: Problem, theta: Array, radius: float) -> float:
    """About how much a bound loses as theta is rounded to numbers."""
    u, _ = problem.products(theta, problem.threshold)
    error = EPSILON * np.sqrt(problem.squares[: problem.n_features])
    error *= np.sqrt(kernels.dot(problem.weights * theta, theta))
    return _loss_by_rounding(problem, u, error, radius, problem.penalty.bounded_conjugate)


def _best_repair(problem, theta, slope, upper, radius, interval, ball, scaling, accuracy):
    along = _along(problem, theta)

    def repaired(u, error):
        if not isfinite(kernels.max_abs(u) + kernels.max_abs(error)):
            return DualBound(-inf, "exact", theta)
        v = problem.penalty.widest(-u, error)
        level = (0.0, 0.0)
        if problem.has_free_level:
            level = (fsum(u), fsum(error) + EPSILON * abs(fsum(u)))
        products = (v, slope, level, along)
        points = (theta,)
        return _repair(problem, points, products, upper, radius, interval, ball, scaling, accuracy)

    u, error = problem.products(theta, problem.threshold)
    plain = repaired(u, error)
    if upper - plain.value <= GOOD * accuracy:
        return plain
    worth = max(WORTH * (upper - plain.value), PLAIN * upper, accuracy)
    if not problem.has_free_level and _loss_by_rounding(problem, u, error, radius, ball) <= worth:
        return plain
    return repaired(*problem.design.rmatvec_compensated(problem.weights, theta))


def _repair_balanced(
    problem, theta, balance, upper, radius, interval, ball, scaling, accuracy
):  # fmt: skip
    """The best repair of theta + balance.change, in twice the working precision."""
    u, error = problem.design.rmatvec_compensated(problem.weights, theta)
    change, of_change = problem.design.rmatvec_compensated(problem.weights, balance.change)
    u = u + change
    error = error + of_change + EPSILON * np.abs(u)
    error = error + 1.01 * balance.rest * problem.design.column_norms(problem.weights)
    if not (np.isfinite(u).all() and np.isfinite(error).all()):
        return DualBound(-inf, "exact", theta)
    here, there = _along(problem, theta), _along(problem, balance.towards)

    def along(scale):  # conjugates are convex
        (value, rounding), (other, more) = here(scale), there(scale)
        rounding += balance.share * more + 4.0 * EPSILON * (abs(value) + abs(other))
        rounding += max(1.0, scale) * (max(1.0, scale) * balance.cost)
        return (1.0 - balance.share) * value + balance.share * other, rounding

    nothing = (0.0, 0.0)  # is left of the sums over the free directions
    products = (problem.penalty.widest(-u, error), nothing, nothing, along)
    points = (theta, balance.towards)
    return _repair(problem, points, products, upper, radius, interval, ball, scaling, accuracy)


def _loss_by_rounding(problem, u, error, radius, ball):
    """How much the errors of u take off a bound."""
    penalty, alpha = problem.penalty, problem.alpha
    v = penalty.widest(-u, error)
    losses = [float(ball(v, alpha, radius)) - float(ball(-u, alpha, radius))]
    if hasattr(penalty, "dual_norm"):
        losses.append(radius * float(penalty.dual_norm(v) - penalty.dual_norm(-u)))
    return max(losses)


def _along(problem, theta):
    """The loss's part of the dual value of scale theta, as a function, with its rounding error."""

    known: dict[tuple, list] = {}

    def values(*scales):
        if scales not in known:
            known[scales] = problem.loss.dual_values(problem.y, problem.weights, theta, scales)
        return known[scales]

    def value(scale):
        return values(scale)[0]

    def parabola(scale):  # through 0, and the values at 1/2 and 1
        if scale == 1.0:
            return value(1.0)
        shares = (4.0 * scale * (1.0 - scale), scale * (2.0 * scale - 1.0))
        parts = [(share, *at) for share, at in zip(shares, values(0.5, 1.0), strict=True)]
        rounding = sum(abs(share) * (r + 4.0 * EPSILON * abs(v)) for share, v, r in parts)
        return sum(share * v for share, v, _ in parts), rounding

    return parabola if problem.loss.quadratic_conjugate else value


def _repair(problem, points, products, upper, radius, interval, ball, scaling, accuracy):
    """The best repair of the first point; its scales must keep all points in the box."""
    penalty, alpha, theta = problem.penalty, problem.alpha, points[0]
    v, slope, level, along = products
    free = _least_linear(slope, interval) + _least_linear(level, problem.level_interval(upper))
    if free == -inf:
        return DualBound(-inf, "exact", theta)

    def bound(scale, conjugate):
        value, rounding = along(scale)
        # 64: the rounding of a dual norm, of its product with the radius, and of the
        # few operations here
        terms = abs(value) + abs(conjugate) + abs(scale * free) + upper
        return value - conjugate + scale * free - rounding - 64.0 * EPSILON * terms

    exact = penalty.conjugate(v, alpha)
    bounded = exact if exact == 0.0 else ball(v, alpha, radius)
    if exact <= bounded:
        best = DualBound(bound(1.0, exact), "exact", theta)
    else:
        best = DualBound(bound(1.0, bounded), "lipschitz", theta)
    if scaling and hasattr(penalty, "dual_norm") and not upper - best.value <= GOOD * accuracy:
        scale = _best_scale(problem, points, penalty.dual_norm(v), lambda t: bound(t, 0.0))
        scaled = DualBound(bound(scale, 0.0), "scaling", scale * theta)
        if scaled.value > best.value:
            best = scaled
    return best if not np.isnan(best.value) else DualBound(-inf, "exact", theta)


def _least_linear(slope, interval):
    """The least value of s b over an interval of b and s in slope = (value, error)."""
    if interval == (0.0, 0.0) or slope == (0.0, 0.0):
        return 0.0
    value, error = slope
    lower, upper = interval
    corners = (
        (value - error) * lower, (value - error) * upper,
        (value + error) * lower, (value + error) * upper,
    )  # fmt: skip
    return -inf if any(map(isnan, corners)) else min(corners)


def _best_scale(
    problem: Problem, points: tuple, dual_norm: float, value: Callable[[float], float]
) -> float:
    """The scale t in [0, alpha / R°(u)] with all t theta in the box that maximises the bound."""
    largest = problem.alpha / dual_norm if dual_norm > 0 else inf
    if largest > 1.0 and np.isfinite(problem.loss.conjugate_domain).any():
        # theta itself is in the box, and so is 0
        lower, upper = problem.loss.dual_bounds(problem.y)
        with np.errstate(divide="ignore", invalid="ignore"):
            for theta in points:
                room = np.where(theta > 0, upper / theta, np.where(theta < 0, lower / theta, inf))
                largest = min(float(np.min(room)), largest)
    largest *= 1.0 - 4.0 * EPSILON
    if problem.loss.linear_conjugate or largest == 0.0:
        return largest if np.isfinite(largest) else 1.0
    if problem.loss.quadratic_conjugate:  # a parabola through 0 and two more points
        reach = min(largest, 1.0)
        whole, half = value(reach), value(0.5 * reach)
        linear = 4.0 * half - whole
        square = linear - whole
        peak = 0.5 * reach * linear / square if square > 0.0 else largest
        return min(max(peak, 0.0), largest) if np.isfinite(peak) else reach
    # concave in t: widen the range while the value rises, then climb by parabolas
    reach = 1.0
    while 2.0 * reach < largest and reach < 1e30 and value(2.0 * reach) > value(reach):
        reach *= 2.0
    largest = min(2.0 * reach, largest)
    scales = [0.0, 0.5 * largest, largest]
    values = [0.0, *(value(scale) for scale in scales[1:])]
    for _ in range(PARABOLAS):
        next_scale = min(_vertex(scales[-3:], values[-3:]), largest)
        if not next_scale > 0.0 or next_scale in scales:
            break
        scales.append(next_scale)
        values.append(value(next_scale))
    return scales[int(np.argmax(values))]


def _vertex(t, f):
    """Where the parabola through three points is largest, inf where it has no such point."""
    first, second = (f[1] - f[0]) / (t[1] - t[0]), (f[2] - f[1]) / (t[2] - t[1])
    curvature = (second - first) / (t[2] - t[0])
    return 0.5 * (t[0] + t[1] - first / curvature) if curvature < 0.0 else inf
