"""Certificates: lower bounds on the optimal objective value that hold for any dual point.

For every theta in the domain of the conjugate loss and every (w, b), Fenchel-Young gives ::

    P(w, b) >= - sum_i c_i l*(y_i, theta_i) + u.w + s b + alpha R(w),
    u = X' diag(c) theta,    s = sum_i c_i theta_i.

The least value of the right-hand side over a set that holds an optimal (w, b) bounds
the optimal value from below. Such a set follows from the best objective value P seen:
the loss is non-negative, so R(w) <= P / alpha there, and b lies in an interval
(`Problem.intercept_interval`). Three choices of the point and the set:

exact
    All w: subtract the conjugate ``(alpha R)*(-u)``, where it is finite.
lipschitz
    The ball ``R(w) <= P / alpha``: for a norm subtract ``(P / alpha) max(R°(u) - alpha, 0)``.
    For the lasso this is the gap of Dünner et al. (2016), finite also where ``R°(u) > alpha``
    and the ordinary one is infinite: at nearly every point but the optimum.
scaling
    ``t theta`` in place of theta, with ``t <= alpha / R°(u)``.

A penalty that is blind to a constant added to all coefficients (total variation) has its ball
among those of mean 0; their mean lies in an interval that follows from the loss
(`Problem.level_interval`) and enters as the intercept does.

A free intercept needs ``s = 0`` or the interval; theta is also tried after projection onto
the box and the hyperplane ``s = 0``, and, where the interval is so long that even the rounding
error of s would matter, after a change below its precision with which s = 0 exactly
(`skpd._balance`). So is u, where the penalty leaves so much room to w that theta would have to be
known beyond its precision. The best of all bounds is kept.

No certificate trusts a solver: objective values, u and s are recomputed from the primal
and dual points, and rounding errors are allowed for: those of products with X by the sums
of the magnitudes of their terms, along a path by the norms of the columns
(`skpd.designs.dual_products`), and where that would cost more than a hundredth of the gap, the
products are repeated in twice the working precision. (`dual_estimate` is what solvers steer
by, and proves nothing.)
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from math import fsum, inf, isfinite, isnan, sqrt
from typing import Any, NamedTuple

import numpy as np

from . import kernels
from ._balance import balance_exactly
from ._typing import Array
from .losses.base import EPSILON
from .penalties import Norm
from .problems import Problem

__all__ = [
    "Certificate",
    "DualBound",
    "certificate_of",
    "certify_point",
    "dual_bound",
    "dual_estimate",
    "loss_by_precision",
    "primal_objective",
    "relative_gap",
]

GOOD = 10.0  # times the accuracy asked for: a gap that needs no better bound
NEGLIGIBLE = 1e-9  # multipliers beside the largest: 0 may do as well
WORTH = 0.01  # of the gap: what rounding may cost before more precise sums are worth it
PLAIN = 1e-11  # of the objective: where rounding matters less, plain sums will do
PARABOLAS = 4  # through the last three of the scales tried; of the concave dual along a ray


@dataclass(frozen=True)
class Certificate:
    """An interval [dual, primal] that holds the optimal objective value.

    Attributes
    ----------
    primal : float
        Objective value of the model.
    dual : float
        A lower bound on the objective value of every model.
    gap : float
        primal - dual, which bounds how far the model is from optimal.
    relative_gap : float
        gap over the objective value of the best constant prediction. It has no unit
        and is what ``tol`` is compared with.
    kind : {"exact", "scaling", "lipschitz"}
        Which bound was the best, see `skpd.certificates`.
    radius : float
        The radius B such that R(w) <= B at every optimum, as used by "lipschitz".
    radius_kind : {"monotone", "initial", "coordinate"}
        Where B comes from: the best objective value seen, over alpha; that of the best
        constant prediction, which is what the former is until a model is better; or, asked
        for by name (see `dual_bound`), the former for every coefficient alone.
    intercept_radius : float
        Half the length of the interval that holds every optimal intercept; 0 without one.
    """

    primal: float
    dual: float
    gap: float
    relative_gap: float
    kind: str
    radius: float
    intercept_radius: float
    radius_kind: str = "monotone"


class DualBound(NamedTuple):
    """A lower bound on the optimal value and the dual point it was computed from."""

    value: float
    kind: str
    theta: Any
    radius: float = inf
    intercept_radius: float = inf
    radius_kind: str = "monotone"


@singledispatch
def primal_objective(
    problem: Problem, coef: Array, intercept: float, accuracy: float = 0.0
) -> float:
    """P(w, b), rounded up; inf where it is NaN.

    Rounding errors of products with X are in it, unless they are above ``accuracy`` and
    more precise products lower them.

    Raises
    ------
    ValueError
        If there is an intercept in a problem without one.
    """
    if abs(intercept) > 0.0 and not problem.fit_intercept:
        raise ValueError(f"intercept must be 0 without fit_intercept, got {intercept!r}.")
    coef = np.ascontiguousarray(coef, dtype=np.float64)
    if intercept == problem.null_point.intercept and kernels.max_abs(coef) == 0.0:
        return problem.null_objective * (1.0 + 64.0 * EPSILON)
    z, error = problem.predictions(coef, float(intercept))
    most = problem.loss.largest_mean(problem.y, problem.weights, z, 0.0, error)
    if not _loss_by_errors(problem, most, error) <= max(PLAIN * most, accuracy):
        z, low, error = problem.design.matvec_compensated(coef, float(intercept))
        most = problem.loss.largest_mean(problem.y, problem.weights, z, low, error)
    value = most + problem.alpha * float(problem.penalty.value(coef))
    return inf if np.isnan(value) else value * (1.0 + 64.0 * EPSILON)


def _loss_by_errors(problem, value, error):
    """About how much errors of the predictions may add to a mean loss of this value."""
    loss, weights = problem.loss, problem.weights
    if loss.lipschitz < inf:
        return loss.lipschitz * kernels.dot(weights, error)
    # l' ** 2 <= 2 smoothness l, and the inequality of Cauchy and Schwarz
    return sqrt(2.0 * loss.smoothness * value * kernels.dot(weights, error * error))


@singledispatch
def dual_bound(
    problem: Problem, theta: Array, upper: float, accuracy: float = 0.0, *,
    coef: Array | None = None, lipschitz: str = "monotone", scaling: bool = True,
) -> DualBound:  # fmt: skip
    """The best of the repaired lower bounds that a dual point gives.

    Parameters
    ----------
    problem : Problem
    theta : ndarray of shape (n_samples,)
        Any dual point; it is moved to the domain of the conjugate loss first.
    upper : float
        The objective value of any model.
    accuracy : float, default=0.0
        Rounding errors below it, or below a hundredth of the gap, are not worth products
        in twice the working precision, nor is a gap below ten times it worth any more work.
    coef : ndarray of shape (n_features,), default=None
        Coefficients near the optimum, if they are known: where theta is not precise enough a
        number, they say what it should be (`skpd._balance`).
    lipschitz : {"monotone", "initial", "coordinate"}, default="monotone"
        The ball of Dünner et al. (2016): of radius B = P / alpha, with P the objective value
        of the best model; the same with the value at the start, that of the best constant
        prediction; or ``|w_j| <= B`` for every j, for a separable penalty. The first is the
        smallest of the three and gives the best bound; the others are for comparison.
    scaling : bool, default=True
        Whether to try "scaling" as well.

    Returns
    -------
    bound : DualBound

    Raises
    ------
    ValueError
        If ``lipschitz`` is not one of the three, or "coordinate" and the penalty has no l1
        norm for every coefficient.
    """
    if lipschitz not in ("monotone", "initial", "coordinate"):
        raise ValueError(
            f"lipschitz must be one of 'monotone', 'initial', 'coordinate', got {lipschitz!r}."
        )
    if lipschitz == "coordinate" and not getattr(problem.penalty, "terms", (0.0,))[0] > 0.0:
        raise ValueError(
            "lipschitz='coordinate' needs a penalty like L1 or ElasticNet, got "
            f"{problem.penalty!r}."
        )
    first = problem.null_objective
    radius_kind = "initial" if lipschitz == "monotone" and upper >= first else lipschitz
    upper = first if lipschitz == "initial" else min(upper, first)
    upper *= 1.0 + 64.0 * EPSILON
    radius = upper / problem.alpha
    interval = problem.intercept_interval(upper)
    length = 0.5 * (interval[1] - interval[0])
    theta = problem.loss.project_dual(problem.y, np.ascontiguousarray(theta, dtype=np.float64))
    if kernels.max_abs(theta) == 0.0:  # it proves that P >= 0, as the losses are
        return DualBound(0.0, "scaling", np.zeros_like(theta), float(radius), length, radius_kind)
    theta = kernels.without_negligible(theta, 1e-60)  # which would harm products
    penalty: Any = problem.penalty
    ball = penalty.coordinate_conjugate if lipschitz == "coordinate" else penalty.bounded_conjugate
    how = (upper, radius, interval, ball, scaling, accuracy)
    # nothing is gained by projecting a point whose sum over the intercept is all but 0, unless it
    # is scaled up as well
    slope = _slope(problem, theta)
    free = -_least_linear(slope, interval) <= WORTH * accuracy
    projections = [False] if free else [True, False]
    if free and problem.fit_intercept and scaling and hasattr(penalty, "dual_norm"):
        projections.append(True)
    found: list[DualBound] = []
    for project in projections:
        if project:
            point = _balanced(problem, theta)
            found.append(_best_repair(problem, point, _slope(problem, point), *how))
        else:
            found.append(_best_repair(problem, theta, slope, *how))
        if upper - found[-1].value <= GOOD * accuracy:
            break
    best = max(found, key=lambda bound: bound.value)
    if upper - best.value > GOOD * accuracy:
        best = _beyond_precision(problem, theta, coef, best, length, how)
    if not best.value > 0.0:  # theta = 0 proves that P >= 0
        best = DualBound(0.0, "scaling", np.zeros_like(theta))
    return DualBound(float(best.value), best.kind, best.theta, float(radius), length, radius_kind)


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


def _bound_once_balanced(problem, theta, coef, how):
    """The bound of theta after the change of `balance_exactly`, if there is one."""
    balance = balance_exactly(problem, theta, coef)
    if balance is None:  # perhaps only rows that the free directions classify are in its way
        theta = kernels.without_negligible(theta, NEGLIGIBLE)
        balance = balance_exactly(problem, theta, coef)
    if balance is None:
        return _best_repair(problem, theta, _slope(problem, theta), *how)
    return _repair_balanced(problem, theta, balance, *how)


def dual_estimate(
    problem: Problem, value: float, gradient: Array, slope: float, upper: float
) -> float:
    """`dual_bound` from sums that a solver has at hand: for its decisions, not as proof.

    Parameters
    ----------
    problem : Problem
    value : float
        -sum_i c_i l*(y_i, theta_i) of a dual point theta.
    gradient : ndarray of shape (n_features,)
        X' (weights * theta).
    slope : float
        weights . theta.
    upper : float
        The objective value of any model.
    """
    penalty, alpha = problem.penalty, problem.alpha
    upper = min(upper, problem.null_objective)
    value += _least_linear((slope, 0.0), problem.intercept_interval(upper))
    if problem.has_free_level:
        value += _least_linear((float(np.sum(gradient)), 0.0), problem.level_interval(upper))
    if isinstance(penalty, Norm):
        norm = penalty.dual_norm(-gradient)
        best = value - (upper / alpha) * max(norm - alpha, 0.0)
        # l* is convex with l*(0) = 0, so that s theta has at least s times the value
        best = max(best, min(1.0, alpha / norm) * value if norm > 0.0 else value)
    else:
        best = value - penalty.bounded_conjugate(-gradient, alpha, upper / alpha)
    return best if best > 0.0 else 0.0


def certify_point(
    problem: Problem, coef: Array, intercept: float, theta: Array, **options: Any
) -> tuple[Certificate, Array]:
    """The certificate of a primal and a dual point, and the dual point as repaired.

    Parameters
    ----------
    problem : Problem
    coef : ndarray of shape (n_features,)
    intercept : float
    theta : ndarray of shape (n_samples,)
    **options
        ``lipschitz`` and ``scaling`` of `dual_bound`.

    Returns
    -------
    certificate : Certificate
    theta : ndarray of shape (n_samples,)
        The dual-feasible point from which the bound follows.
    """
    primal = primal_objective(problem, coef, intercept)
    bound = dual_bound(problem, theta, primal, coef=coef, **options)
    return certificate_of(problem, primal, bound)


def certificate_of(problem: Problem, primal: float, bound: DualBound) -> tuple[Certificate, Array]:
    """The certificate of an objective value and a dual bound, and the bound's dual point."""
    dual = min(bound.value, primal)
    gap = primal - dual
    certificate = Certificate(
        primal=primal,
        dual=dual,
        gap=gap,
        relative_gap=relative_gap(problem, gap),
        kind=bound.kind,
        radius=bound.radius,
        intercept_radius=bound.intercept_radius,
        radius_kind=bound.radius_kind,
    )
    return certificate, bound.theta


def relative_gap(problem: Problem, gap: float) -> float:
    """A gap over the objective value of the best constant prediction.

    It is 0 where the gap is no more than what rounding may have added to that value: where all
    targets are in the tube of an epsilon-insensitive loss, say, that value is all rounding.
    """
    if not gap > 2.0 * problem.null_rounding:
        return 0.0
    return gap / problem.objective_unit if problem.objective_unit > 0.0 else inf


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


def loss_by_precision(problem: Problem, theta: Array, radius: float) -> float:
    """About how much a bound loses as theta is rounded to numbers."""
    u, _ = problem.products(theta, problem.threshold)
    error = EPSILON * np.sqrt(problem.squares[: problem.n_features])
    error *= np.sqrt(kernels.dot(problem.weights * theta, theta))
    return _loss_by_rounding(problem, u, error, radius, problem.penalty.bounded_conjugate)


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
