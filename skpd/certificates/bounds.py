"""Upper and lower bounds on the optimal objective value."""

from functools import singledispatch
from math import inf, sqrt
from typing import Any

import numpy as np

from .. import kernels
from .._typing import Array
from ..losses.base import EPSILON
from ..penalties import Norm
from ..problems import Problem
from .certificate import Certificate, DualBound
from .repairs import (
    GOOD,
    PLAIN,
    WORTH,
    _balanced,
    _best_repair,
    _beyond_precision,
    _least_linear,
    _slope,
)

__all__ = [
    "certificate_of",
    "certify_point",
    "dual_bound",
    "dual_estimate",
    "primal_objective",
    "relative_gap",
]


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
        number, they say what it should be (`skpd.certificates.balance`).
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
