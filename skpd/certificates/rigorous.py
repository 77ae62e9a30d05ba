"""Lower bounds that hold in exact arithmetic, with what that costs.

`dual_bound` allows for rounding as it goes, with one allowance for many small things. Here
a dual point and a model are evaluated once more, every rounding error bounded by itself.
With u = 2^-53, n rows and d features:

products with X
    in twice the working precision, with the error bound of Ogita, Rump and Oishi (2005)
    that `Design` returns.
sums
    of n terms of one sign err by at most (64 + n_terms) 2u of themselves, and so do norms,
    dual norms and conjugates, which are sums of such terms: their arguments are enlarged and
    alpha is reduced before, and the value is enlarged after.
losses and conjugate losses
    elementary operations err by u; exp, log, log1p and what NumPy, SciPy and the C library
    make of them by a few units in the last place, for which 16 are allowed.
predictions
    enter the loss as intervals, at the ends of which a convex function is largest.
the intercept's interval
    is multiplied by a number that rounding has left of 0, so that a millionth of its size
    more is as good as exact; a dual point that is balanced exactly needs none
    (`skpd.certificates.balance`).
weights and alpha
    (s_i / sum(s), 1 / (C sum(s)) and the like) carry relative errors of at most
    delta = (64 + log2 n) 2u. All terms of the objective are non-negative, so that it changes
    by the factor 1 +- delta, and so does its least value.
"""

from dataclasses import dataclass, field
from math import fsum, log2

import numpy as np

from .. import kernels
from .._typing import Array
from ..losses.base import EPSILON
from ..problems import Point, Problem
from .balance import Balance, balance_exactly
from .bounds import relative_gap
from .certificate import Certificate
from .repairs import WORTH, _least_linear, loss_by_precision

__all__ = ["RigorousCertificate", "rigorous_certificate", "rigorous_dual", "rigorous_primal"]

UNDERFLOW = 1e-290  # no sum here can lose more to numbers below the smallest


@dataclass(frozen=True)
class RigorousCertificate(Certificate):
    """A certificate whose interval holds the optimal value in exact arithmetic.

    It has the attributes of `Certificate` and one more.

    Attributes
    ----------
    rounding : float
        By how much the bounds on rounding errors widen the interval: included in ``gap``.
    """

    rounding: float = field(kw_only=True)


def rigorous_certificate(
    problem: Problem, point: Point, best: Point, kind: str
) -> RigorousCertificate:
    """The certificate of a model with every rounding error bounded.

    Parameters
    ----------
    problem : Problem
    point : Point
        The model, with the dual point.
    best : Point
        The best model known, from which the radius follows.
    kind : {"exact", "scaling", "lipschitz"}
        How the dual point was found.

    Raises
    ------
    ValueError
        If the problem is another than a mean loss and a penalty.
    """
    if type(problem) is not Problem:
        raise ValueError(
            "rigorous=True is not offered for DRSVMClassifier: its bound allows for rounding "
            "errors, but some of them jointly."
        )
    primal, above = rigorous_primal(problem, point.coef, point.intercept)
    upper = min(primal, rigorous_primal(problem, best.coef, best.intercept)[0])
    dual, below = rigorous_dual(problem, point.dual_coef, upper, best.coef)
    dual = min(dual, primal)
    interval = _interval(problem, upper)
    return RigorousCertificate(
        primal=primal,
        dual=dual,
        gap=primal - dual,
        relative_gap=relative_gap(problem, primal - dual),
        kind=kind,
        radius=upper / problem.alpha,
        intercept_radius=0.5 * (interval[1] - interval[0]),
        rounding=above + below,
    )


def of_weights(n_samples: int) -> float:
    """delta: the relative error of the weights and of alpha, and of a sum over the rows."""
    return (64.0 + log2(n_samples + 1.0)) * EPSILON


def of_coefficients(n_features: int) -> float:
    """The relative error of a norm or a conjugate."""
    return (64.0 + n_features) * EPSILON


def rigorous_primal(problem: Problem, coef: Array, intercept: float) -> tuple[float, float]:
    """An upper bound on P(w, b), and by how much it is above the value as computed."""
    coef = np.ascontiguousarray(coef, dtype=np.float64)
    y, loss, weights = problem.y, problem.loss, problem.weights
    z, low, error = problem.design.matvec_compensated(coef, float(intercept))
    losses = loss.largest(y, z, low, error)
    penalty = problem.alpha * problem.penalty.value(coef)
    plain = float(np.sum(weights * loss.value(y, z, low))) + penalty
    delta = of_weights(problem.n_samples)
    value = float(np.sum(weights * losses)) * (1.0 + 16.0 * EPSILON) * (1.0 + delta)
    value += penalty * (1.0 + of_coefficients(problem.n_features))
    value = value * (1.0 + delta) + UNDERFLOW
    return (value, value - plain) if np.isfinite(value) else (np.inf, 0.0)


def rigorous_dual(
    problem: Problem, theta: Array, upper: float, coef: Array
) -> tuple[float, float]:
    """A lower bound on the optimal value, and by how much it is below the value as computed.

    Parameters
    ----------
    problem : Problem
    theta : ndarray of shape (n_samples,)
        A dual point.
    upper : float
        A proven upper bound on the optimal value.
    coef : ndarray of shape (n_features,)
        Coefficients near the optimum, with which theta may be made to agree.
    """
    theta = problem.loss.project_dual(problem.y, theta)
    found = [_dual(problem, theta, upper, None)]
    for near in (None, coef):
        worth = WORTH * (upper - max(found)[0])
        if near is None or loss_by_precision(problem, theta, upper / problem.alpha) > worth:
            balance = balance_exactly(problem, theta, near)
            if balance is not None:
                found.append(_dual(problem, theta, upper, balance))
    return max(found)


def _dual(
    problem: Problem, theta: Array, upper: float, balance: Balance | None
) -> tuple[float, float]:
    """`rigorous_dual` of a feasible point, or of one that is balanced exactly."""
    penalty, alpha, weights = problem.penalty, problem.alpha, problem.weights
    u, error = problem.design.rmatvec_compensated(weights, theta)
    value, rounding = problem.loss.dual_value(problem.y, weights, theta)
    if balance is not None:
        change, of_change = problem.design.rmatvec_compensated(weights, balance.change)
        u, error = u + change, error + of_change + EPSILON * np.abs(u + change)
        error = error + 1.01 * balance.rest * problem.design.column_norms(weights)
        other, more = problem.loss.dual_value(problem.y, weights, balance.towards)
        rounding += balance.share * (more + 4.0 * EPSILON * (abs(value) + abs(other)))
        rounding += balance.cost
        value = (1.0 - balance.share) * value + balance.share * other
    radius = upper / alpha

    def conjugate(v, alpha, radius):
        exact = penalty.conjugate(v, alpha)
        bounded = penalty.bounded_conjugate(v, alpha, radius)
        return min(exact, bounded)

    plain = value - conjugate(-u, alpha, radius)
    wider = 1.0 + 8.0 * EPSILON
    widest = penalty.widest(-u, error * wider) * wider
    above = conjugate(widest, alpha * (1.0 - 8.0 * EPSILON), radius * wider)
    above *= 1.0 + of_coefficients(problem.n_features)
    from_free = 0.0
    if balance is None:
        from_free, about = _from_free_directions(problem, theta, u, error * wider, upper)
        plain += about
    bound = value - 1.01 * rounding - above + from_free
    bound -= 8.0 * EPSILON * (abs(value) + above + abs(from_free)) + UNDERFLOW
    bound *= 1.0 - of_weights(problem.n_samples)
    if not bound > 0.0:  # theta = 0 proves that P >= 0
        return 0.0, max(plain, 0.0) if np.isfinite(plain) else 0.0
    return bound, plain - bound


def _from_free_directions(
    problem: Problem, theta: Array, u: Array, error: Array, upper: float
) -> tuple[float, float]:
    """The least that intercept and level add to a bound, and the same without rounding errors."""
    least = about = 0.0
    if problem.fit_intercept:
        slope = kernels.compensated_dot(problem.weights, theta)
        interval = _interval(problem, upper)
        least += _least_linear(slope, interval)
        about += _least_linear((slope[0], 0.0), interval)
    if problem.has_free_level:
        level = (fsum(u), fsum(error) + EPSILON * abs(fsum(u)))
        interval = _wider(problem, problem.level_interval(upper))
        least += _least_linear(level, interval)
        about += _least_linear((level[0], 0.0), interval)
    return least, about


def _interval(problem: Problem, upper: float) -> tuple[float, float]:
    """The interval of `Problem.intercept_interval`, rounding errors and more included."""
    interval = problem.intercept_interval(upper)
    return _wider(problem, interval) if problem.fit_intercept else interval


def _wider(problem: Problem, interval: tuple[float, float]) -> tuple[float, float]:
    lower, upper = interval
    room = 1e-6 * (max(abs(lower), abs(upper)) + float(np.max(np.abs(problem.y))))
    return lower - room, upper + room
