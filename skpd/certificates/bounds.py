"""Upper and lower bounds on the optimal objective value."""

from collections.abc import Callable
from math import inf, isnan
from typing import Any, TypeVar

import numpy as np

from .._floats import LEAST
from .._typing import Array, Numbers
from ..penalties import Penalty, Structure
from .certificate import Certificate, DualBound
from .coefficients import implied_bounds_of
from .dual_corrections import DualCorrections
from .interface import DualVector, Objective
from .relative_gaps import ROUNDING, reference_of, relative_gap
from .row_bounds import row_bounds

C = TypeVar("C", bound=Certificate)


def primal_objective(
    objective: Objective, coef: Array, intercept: Numbers, accuracy: float = 0.0
) -> float:
    """The objective value P(w, b), rounded up; inf where it is NaN.

    Where the model has other free coordinates, ``intercept`` holds all of them.

    A bound on the rounding errors of products with X is added. Where it is above ``accuracy``, the
    products are repeated in twice the working precision.

    Raises
    ------
    ValueError
        If there is an intercept in a problem without one.
    """
    coef = np.ascontiguousarray(coef, dtype=np.float64)
    value = objective.mean_loss(coef, intercept, accuracy)
    alpha = objective.alpha
    penalty = float(objective.penalty.value_within(coef, accuracy / alpha))
    value += alpha * penalty + (LEAST if penalty > 0.0 else 0.0)  # as the product may underflow
    return inf if isnan(value) else value * (1.0 + ROUNDING)


def dual_bound(
    objective: Objective, theta: DualVector, upper: float, accuracy: float = 0.0, *,
    lipschitz: str = "monotone", scaling: bool = True,
) -> DualBound:  # fmt: skip
    """The best lower bound on the optimal value from the repairs of a dual point.

    Parameters
    ----------
    objective : Objective
    theta : ndarray of shape (n_samples,)
        A dual point; it is moved to the domain of the conjugate loss first.
    upper : float
        The objective value of any model.
    accuracy : float, default=0.0
        Products are computed in twice the working precision only where their rounding errors are
        larger than this and larger than a hundredth of the gap. No further repair is tried once
        the gap is below ten times this.
    lipschitz : {"monotone", "initial", "coordinate"}, default="monotone"
        The set that contains an optimum (Dünner et al., 2016). "monotone" is the ball of radius
        B = P / alpha with P the objective value of the best model. "initial" is the ball with the
        objective value of the best constant prediction for P. "coordinate" is the box
        ``|w_j| <= B``, for a separable penalty. The first is the smallest and gives the best
        bound; the others are for comparison.
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
    if lipschitz == "coordinate" and not _has_l1(objective.penalty):
        raise ValueError(
            "lipschitz='coordinate' needs a penalty like L1 or ElasticNet, got "
            f"{objective.penalty!r}."
        )
    first = objective.null_objective if objective.null_is_allowed else inf
    radius_kind = "initial" if lipschitz == "monotone" and upper >= first else lipschitz
    upper = (first if lipschitz == "initial" else min(upper, first)) * (1.0 + ROUNDING)
    penalty = objective.penalty.of_conjugate_arguments
    ball = penalty.bounded_conjugate
    if lipschitz == "coordinate":
        ball = penalty.coordinate_conjugate
    repairs = DualCorrections(objective, upper, ball, scaling, accuracy)
    point = objective.feasible_point(objective.plain_dual(theta))
    best = None if point is None else repairs.best(point)
    if best is None or not best.value > 0.0:  # theta = 0 gives P >= 0, as losses are not negative
        best = DualBound(0.0, "scaling", objective.zero_dual(theta))
    lowest, highest = repairs.intervals[0]
    return DualBound(
        float(best.value), best.kind, best.theta, repairs.radius, 0.5 * (highest - lowest),
        radius_kind, best.by_free_sums, best.conjugate, best.slopes,
    )  # fmt: skip


def _has_l1(penalty: Penalty) -> bool:
    """Whether a penalty contains an l1 term for every coefficient."""
    return penalty.structure is Structure.SEPARABLE and bool(np.all(penalty.terms[0] > 0.0))


def dual_estimate(
    objective: Objective, value: float, gradient: Array, upper: float,
    penalty: Penalty | None = None,
) -> float:  # fmt: skip
    """An estimate of `dual_bound` from sums that a solver has computed, which proves nothing.

    Parameters
    ----------
    objective : Objective
    value : float
        -sum_i c_i l*(y_i, theta_i) of a dual point theta, minus the estimated loss by its sums
        over the free coordinates.
    gradient : ndarray of shape (n_features,)
        X' (weights * theta).
    upper : float
        The objective value of any model.
    penalty : Penalty, default=None
        The penalty on the features of ``gradient``, where these are a subset of all.
    """
    penalty = objective.penalty if penalty is None else penalty
    alpha = objective.alpha
    upper = min(upper, objective.null_objective)
    if penalty.is_norm:
        norm = penalty.dual_norm(-gradient)
        best = value - (upper / alpha) * max(norm - alpha, 0.0)
        # l* is convex with l*(0) = 0, so that the value at s theta is at least s times that
        best = max(best, alpha / max(norm, alpha) * value)
    else:
        best = value - penalty.bounded_conjugate(-gradient, alpha, upper / alpha)
    return max(0.0, best)  # 0 where the other is NaN


def certify_point(
    objective: Objective, coef: Array, intercept: float, theta: Array, *,
    accuracy: float = 0.0, lipschitz: str = "monotone", scaling: bool = True,
) -> tuple[Certificate, Any]:  # fmt: skip
    """The certificate of a primal and a dual point, and the repaired dual point.

    Parameters
    ----------
    objective : Objective
    coef : ndarray of shape (n_features,)
    intercept : float
    theta : ndarray of shape (n_samples,)
    accuracy, lipschitz, scaling
        See `dual_bound`.

    Returns
    -------
    certificate : Certificate
    theta : ndarray of shape (n_samples,)
        The dual-feasible point from which the bound follows.
    """
    primal = primal_objective(objective, coef, intercept)
    bound = dual_bound(objective, theta, primal, accuracy, lipschitz=lipschitz, scaling=scaling)
    return certificate_of(objective, primal, bound, (coef, intercept))


def certificate_of(
    objective: Objective, primal: float, bound: DualBound,
    model: tuple[Array, Numbers] | None = None,
) -> tuple[Certificate, Any]:  # fmt: skip
    """The certificate of an objective value and a dual bound, and the bound's dual point.

    ``model`` are the coefficients and the intercept with that value, if decisions are asked for.
    """
    room = _rounding_of_bounds(objective, primal)
    return certificate_with(Certificate, objective, primal, bound, model, room), bound.theta


def certificate_with(
    of: Callable[..., C], objective: Objective, primal: float, bound: DualBound,
    model: tuple[Array, Numbers] | None, room: float,
) -> C:  # fmt: skip
    """The certificate of a class, with ``room`` for rounding in the gap that bounds rows."""
    dual = bound_below(objective, bound.value, primal)
    gap = primal - dual
    implied = implied_bounds_of(objective, gap, bound)
    return of(
        primal=primal,
        dual=dual,
        gap=gap,
        relative_gap=relative_gap(objective, primal, dual),
        kind=bound.kind,
        radius=bound.radius,
        intercept_radius=bound.intercept_radius,
        radius_kind=bound.radius_kind,
        implied_bounds=implied,
        coef_shape=objective.table_shape,
        row_bounds=row_bounds(
            objective,
            gap + room,
            model,
            bound.theta,
            None if implied is None else implied.intervals,
        ),
        left_out=tuple(objective.left_out),
        reference=reference_of(objective, dual),
    )


def _rounding_of_bounds(objective: Objective, primal: float) -> float:
    """The most by which rounding errors of sums over the rows may put a lower bound above."""
    return ROUNDING * (primal + objective.objective_unit) + 2.0 * objective.null_rounding


def bound_below(objective: Objective, dual: float, primal: float) -> float:
    """The lower bound ``dual``, or the objective value ``primal`` of a model if that is smaller.

    In exact arithmetic the lower bound is never above the objective value. It may be above by the
    rounding errors of sums over the rows.

    Raises
    ------
    ValueError
        If the lower bound is above by more than rounding errors: then a conjugate or another
        function in the bound does not belong to the loss and the penalty of the objective.
    """
    # the objective of a model that is not restricted may be smaller than that of restricted ones
    restricted, rounding = len(objective.left_out) > 0, _rounding_of_bounds(objective, primal)
    if dual > primal + rounding and not restricted:
        raise ValueError(
            "The mathematics of the loss or of the penalty is inconsistent: a lower bound on the "
            f"objective, {dual:.6g}, is above its value for a model, {primal:.6g}. A conjugate or "
            "a dual norm may be too small. Test what is your own by skpd.losses.check_loss and "
            f"skpd.penalties.check_penalty. The penalty is {objective.penalty!r}."
        )
    return min(dual, max(0.0, primal - rounding) if restricted else primal)
