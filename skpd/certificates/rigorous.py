"""Bounds on the optimal value that hold in exact arithmetic, with every rounding error bounded.

`dual_bound` includes a joint allowance for several small rounding errors. Here a dual point and a
model are evaluated once more, and every rounding error is bounded separately. With u = 2^-53, n
rows and d features:

products with X
    in twice the working precision, with the error bound of Ogita, Rump and Oishi (2005)
    that `Design` returns.
sums
    of n terms of one sign have a relative error of at most (64 + n_terms) 2u. The same holds for
    norms, dual norms and conjugates, which are sums of such terms. Their arguments are enlarged
    and alpha is reduced before, and the value is enlarged after.
losses and conjugate losses
    have relative errors of u for elementary operations, and of a few units in the last place for
    exp, log, log1p and the functions of NumPy, SciPy and the C library that use them; the bounds
    include 16 units in the last place.
predictions
    enter the loss as intervals; a convex function is largest at an end of an interval.
the interval of the intercept
    is multiplied by a sum that is 0 except for rounding, so that it may be enlarged by a millionth
    of its size; a dual point that is balanced exactly does not need the interval
    (`skpd.problems.balance`).
weights and alpha
    (s_i / sum(s), 1 / (C sum(s)) and similar quotients) have relative errors of at most
    delta = (64 + log2 n) 2u. All terms of the objective are non-negative, so that the objective
    and its least value change by a factor between 1 - delta and 1 + delta.
"""

from dataclasses import dataclass, field
from functools import partial
from math import log2
from typing import cast

import numpy as np

from .._floats import EPSILON
from .._typing import Array, Numbers
from .bounds import certificate_with
from .certificate import Certificate, DualBound
from .dual_corrections import DualCorrections, least_linear
from .interface import NOTHING, DualPoint, DualVector, Interval, Objective

UNDERFLOW = 1e-290  # an upper bound on the effect of underflow in the sums of this module


@dataclass(frozen=True, repr=False)
class RigorousCertificate(Certificate):
    """A certificate whose interval contains the optimal value in exact arithmetic.

    The class has the attributes of `Certificate` and ``rounding``. Its ``implied_bounds`` is
    None, so that ``coefficient_bounds`` are infinite and no coefficient is ``proven_zero``.

    Attributes
    ----------
    rounding : float
        The width that the bounds on rounding errors add to the interval, included in ``gap``.
    """

    rounding: float = field(kw_only=True)


def rigorous_certificate(
    objective: Objective, model: tuple[Array, Numbers], best: tuple[Array, Numbers],
    bound: DualBound,
) -> RigorousCertificate:  # fmt: skip
    """The certificate of a model with every rounding error bounded separately.

    Parameters
    ----------
    objective : Objective
    model : tuple of ndarray and float
        Coefficients and intercept.
    best : tuple of ndarray and float
        Coefficients and intercept of the best model known, from which the radius follows.
    bound : DualBound
        The lower bound to prove again, from its dual point.
    """
    primal, above = rigorous_primal(objective, *model)
    upper = min(primal, rigorous_primal(objective, *best)[0])
    dual, below = rigorous_dual(objective, cast(DualVector, bound.theta), upper)
    lowest, highest = _intervals(objective, upper)[0]
    radii = upper / objective.alpha, 0.5 * (highest - lowest)
    proven = DualBound(dual, bound.kind, bound.theta, *radii)
    of_class = partial(RigorousCertificate, rounding=above + below)
    return certificate_with(of_class, objective, primal, proven, model, 0.0)


def of_weights(n_samples: int) -> float:
    """The relative error delta of the weights and of alpha, and of a sum over the rows."""
    return (64.0 + log2(n_samples + 1.0)) * EPSILON


def of_coefficients(n_features: int) -> float:
    """The relative error of a norm or a conjugate."""
    return (64.0 + n_features) * EPSILON


def rigorous_primal(objective: Objective, coef: Array, intercept: Numbers) -> tuple[float, float]:
    """An upper bound on P(w, b), and its difference from the value without error bounds."""
    coef = np.ascontiguousarray(coef, dtype=np.float64)
    loss, about = objective.precise_mean_loss(coef, intercept)
    penalty = objective.alpha * float(objective.penalty.value(coef))
    delta = of_weights(objective.n_samples)
    value = loss * (1.0 + 16.0 * EPSILON) * (1.0 + delta)
    value += penalty * (1.0 + of_coefficients(coef.size))
    value = value * (1.0 + delta) + UNDERFLOW
    return (value, value - about - penalty) if np.isfinite(value) else (np.inf, 0.0)


def rigorous_dual(objective: Objective, theta: DualVector, upper: float) -> tuple[float, float]:
    """A lower bound on the optimal value, and its difference from the value without error bounds.

    Parameters
    ----------
    objective : Objective
    theta : ndarray of shape (n_samples,)
        A dual point.
    upper : float
        A proven upper bound on the optimal value.
    """
    point = objective.feasible_point(theta)
    if point is None:  # theta = 0 proves that P >= 0
        return 0.0, 0.0
    ball = objective.penalty.of_conjugate_arguments.bounded_conjugate
    repairs = DualCorrections(objective, upper, ball, False, 0.0)
    bounds = [_dual(objective, point, upper)]
    if repairs.has_free:
        balanced = objective.balanced(point)
        if balanced is not point:
            bounds.append(_dual(objective, balanced, upper))
    return max(bounds)


def _dual(objective: Objective, point: DualPoint, upper: float) -> tuple[float, float]:
    whole, alpha, radius = objective.penalty, objective.alpha, upper / objective.alpha
    u, error = point.products(precise=True)
    wider, penalty = 1.0 + 8.0 * EPSILON, whole.of_conjugate_arguments
    v, error_of_v = whole.conjugate_arguments(-u, error * wider)
    value, rounding = point.value(1.0)

    def conjugate(v: Array, alpha: float, radius: float) -> float:
        return min(penalty.conjugate(v, alpha), penalty.bounded_conjugate(v, alpha, radius))

    worst_case = penalty.worst_case(v, error_of_v) * wider
    above = conjugate(worst_case, alpha * (1.0 - 8.0 * EPSILON), radius * wider)
    above *= 1.0 + of_coefficients(u.size)
    from_free = plain = 0.0
    sums = point.free_sums(u, error * wider)
    for slope, interval in zip(sums, _intervals(objective, upper), strict=True):
        from_free += least_linear(slope, interval)
        plain += least_linear((slope[0], 0.0), interval)
    plain += value - conjugate(v, alpha, radius)
    bound = value - 1.01 * rounding - above + from_free
    bound -= 8.0 * EPSILON * (abs(value) + above + abs(from_free)) + UNDERFLOW
    bound *= 1.0 - of_weights(objective.n_samples)
    bound = max(0.0, bound)  # theta = 0 proves that P >= 0
    return bound, max(0.0, plain - bound)


def _intervals(objective: Objective, upper: float) -> list[Interval]:
    """The intervals of the free coordinates, enlarged by far more than their rounding errors."""
    intervals = []
    for lowest, highest in objective.free_intervals(upper):
        room = 0.0
        if (lowest, highest) != NOTHING:
            room = 1e-6 * (max(abs(lowest), abs(highest)) + objective.largest_target)
        intervals.append((lowest - room, highest + room))
    return intervals
