"""The relative gap: the part of what could be gained over a constant that a model may leave.

With P the objective value of a model, D the lower bound on the optimal value and P_0 the objective
value of the best constant prediction, no model gains more than P_0 - D over the constant, and this
model leaves at most P - D of it ::

    relative gap = (P - D) / (P_0 - D)

It is 0 for an optimal model and 1 where nothing was learnt. A constant prediction has coefficients
of 0 for all features, penalised or not; intercepts, thresholds, biases and the like are the best
ones for it. P_0 is a lower bound on that objective value, so that no model is flattered.

Where constraints or bounds exclude all constants, P_0 is the objective value of a feasible model,
or of the best constant if that is smaller. The latter may be below D; then the relative gap is
(P - D) / P.

A gap within `negligible` counts as 0. Just below the largest alpha, P_0 - D decreases with the
square of the distance to it, and rounding errors of P_0 and D limit what can be proven. Where
the gap of the best constant is of their size, nothing can be learnt, and it counts as optimal.

Where P is far below P_0, as for data with little noise, a small share of P_0 - D may be a large
one of P. So the tolerance is met (`largest_gap`) where the gap is also a small share of P. Losses
of decisions are an exception: P is small where classes are far apart, and nearly all is learnt.
"""

from math import inf, isnan

from .._floats import EPSILON
from .dual_corrections import least_linear
from .interface import DualPoint, DualVector, Objective

ROUNDING = 64.0 * EPSILON  # relative rounding error of a norm, a sum and the operations on them
# The gap that counts as 0, relative to P_0: some thousand rounding errors, as certificates add up
NEGLIGIBLE = 1e-12
# The gain over P_0, relative to it, that counts as nothing: bounds for several outputs lose more
NO_GAIN = 1e-11
# The largest share of the objective value that the gap may be, in units of the tolerance
OF_OBJECTIVE = 100.0
# The relative gap below which a share of the objective value is not asked for any more
FINEST = 1e-9
SHARP = 1e-10  # relative distance of a bound on constants at which no other one is tried


def negligible(objective: Objective) -> float:
    """The gap that counts as 0, as rounding errors of the best constant are as large."""
    gap = NEGLIGIBLE * objective.objective_unit + 2.0 * objective.null_rounding
    return gap if gap < inf else 0.0  # nothing follows from a constant whose losses overflow


def _first(objective: Objective) -> float:
    """P_0."""
    allowed = objective.null_is_allowed
    return objective.null_lower_bound if allowed else objective.objective_unit


def reference_of(objective: Objective, dual: float) -> str:
    """What the relative gap is relative to, see `skpd.certificates.Certificate`."""
    if objective.null_is_allowed:
        return "constant"
    return "model" if _first(objective) - dual > negligible(objective) else "objective"


def possible_gain(objective: Objective, primal: float, dual: float) -> float:
    """The denominator of the relative gap, P_0 - D, or P if constants are excluded and below D."""
    gain = primal if reference_of(objective, dual) == "objective" else _first(objective) - dual
    return max(gain, negligible(objective))


def _negligible_gap(objective: Objective, dual: float) -> float:
    """The gap that counts as 0 beside a lower bound: also the best constant's, if that is tiny."""
    least, of_constant = negligible(objective), objective.null_objective - dual
    learns_nothing = 0.0 < of_constant <= NO_GAIN * objective.objective_unit < inf
    return least + of_constant if learns_nothing and objective.null_is_allowed else least


def relative_gap(objective: Objective, primal: float, dual: float) -> float:
    """The relative gap of an objective value and a lower bound, see the module.

    It is above 1 for a model that is worse than the best constant. For D = -inf it is 1, as
    nothing is known.
    """
    gap = primal - dual
    if gap <= _negligible_gap(objective, dual):
        return 0.0
    gain = possible_gain(objective, primal, dual)
    if gain == inf:
        return 1.0
    return float(gap / gain) if gain > 0.0 else inf


def largest_gap(objective: Objective, tol: float, primal: float, dual: float) -> float:
    """The largest gap at which the tolerance is met with these bounds."""
    gain = possible_gain(objective, primal, dual)
    largest = tol * gain
    if not objective.loss.has_decisions:
        largest = min(largest, max(tol * OF_OBJECTIVE * primal, FINEST * gain))
    gap = float(max(largest, _negligible_gap(objective, dual)))
    return gap if gap < inf else 0.0


def bound_on_constants(objective: Objective, upper: float, theta: DualVector) -> float:
    """A lower bound on the objective values of all constant predictions.

    For coefficients of 0, a dual point theta proves for intercepts f, which lie in intervals ::

        sum_i c_i l_i(f) >= - sum_i c_i l*(y_i, theta_i) + s.f,   s = sum_i c_i theta_i

    Parameters
    ----------
    objective : Objective
    upper : float
        The objective value of a constant.
    theta : ndarray of shape (n_samples,)
        A subgradient of the losses at that constant.
    """
    point = objective.feasible_point(theta)
    if point is None:  # theta = 0 proves that losses are not negative
        return 0.0
    bound = _on_constants(objective, upper, point)
    for changed in (objective.projected, objective.balanced):
        if bound >= upper * (1.0 - SHARP):
            break
        bound = max(bound, _on_constants(objective, upper, changed(point)))
    return min(max(bound, 0.0), upper)


def _on_constants(objective: Objective, upper: float, point: DualPoint) -> float:
    """The bound of `bound_on_constants` by one dual point."""
    value, rounding = point.value(1.0)
    sums, intervals = point.sums_without_products(), objective.intervals_of_constants(upper)
    from_free = sum(least_linear(*pair) for pair in zip(sums, intervals, strict=False))
    bound = value + from_free - rounding - ROUNDING * (abs(value) + abs(from_free))
    return -inf if isnan(bound) else bound
