"""How far the predictions and decisions of a model are from those of an optimal one.

With the gap G = P(w) - D(theta), an optimal model w* with predictions z*, weights c and losses
l_i, both parts of ``G = (P(w) - P(w*)) + (P(w*) - D(theta))`` are sums over the rows, and terms
that are at least 0. For differentiable losses the first is ::

    P(w) - P(w*) = sum_i c_i D_i(z_i, z_i*) + (alpha R(w) - alpha R(w*) - g.(w - w*)),
    D_i(z, z*) = l_i(z) - l_i(z*) - l_i'(z*) (z - z*),        g = -X' diag(c) l'(z*),

where g is a subgradient of alpha R at w* with the constraints, and 0 on free directions, so that
the bracket is at least 0. For any convex loss the second is, by Fenchel and Young, ::

    P(w*) - D(theta) >= sum_i c_i F_i(z_i*),    F_i(z) = l_i(z) + l_i*(theta_i) - theta_i z >= 0.

**Predictions.** For an L-smooth loss ``D_i(z, z*) >= (l_i'(z) - l_i'(z*))^2 / (2 L)``. For least
squares l' is the residual, and for the logistic loss and the softmax, with L = 1/4 and 1/2, the
probability less the label. So the root of the weighted mean square of the distances is at most
sqrt(2 L G), and sqrt(2 G / L) for a parabola of curvature L.

**Means.** For the Poisson and the gamma loss ``D_i(z_i, z_i*) = a_i (1 - f_i + f_i log f_i)``,
where f_i is the factor between the predicted means of both models, and a_i is the predicted mean,
or the target over it. As ``3 (f - 1)^2 <= (4 + 2 f) (1 - f + f log f)``, Cauchy and Schwarz give
for the mean T of ``|f_i - 1|`` with weights a_i, whose sum is S ::

    S T^2 <= G (4 + 2 (1 + T)) / 3,    T <= g + sqrt(g^2 + 6 g),    g = G / (3 S).

**Decisions.** If the decisions of both models on a row differ, z_i* is on the other side of the
boundary, and the row costs at least c_i times the least D_i + F_i there, the cost of turning it
(`skpd.losses.Loss.decision_costs`). The costs of all rows that differ are at most G. So their
number is at most the largest k for which the k smallest costs have a sum of at most G. A row
without weight costs nothing, and counts. Only rows can differ whose interval of predictions
contains the boundary. There are such intervals with a squared part of the penalty
(`skpd.problems.prediction_intervals`), and for the hinge loss (`skpd.problems.pinned_rows`).
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf, sqrt

import numpy as np

from .._typing import Array, Mask, Numbers
from .interface import DualVector, Objective

FEW = 10.0  # the largest share of decisions that is told, in units of the root of a relative gap
ROUNDED = 1.0 + 1e-12  # above the relative rounding errors of sums of costs and of roots


@dataclass(frozen=True)
class RowBounds:
    """The numbers from which `Certificate` says how far predictions and decisions may be off.

    Attributes
    ----------
    factor : float or None
        The distance of predictions is at most ``factor sqrt(gap)``.
    of : str
        Whose distance it is, "predictions" or "predicted probabilities".
    decisions : int or None
        The number of decisions that may differ.
    n_decisions : int
        The number of decisions.
    inactive : ndarray of bool, or None
        The rows that no optimal model depends on.
    reasons : dict
        Why one of these is not known, by the name of the attribute of `Certificate`.
    means : float or None
        A bound on the mean of ``|f - 1|`` for factors f between predicted means.
    of_hazards : bool
        Whether exp(w_j) are hazard ratios.
    """

    factor: float | None = None
    of: str = ""
    decisions: int | None = None
    n_decisions: int = 0
    inactive: Mask | None = None
    reasons: dict[str, str] = field(default_factory=dict)
    means: float | None = None
    of_hazards: bool = False

    def without_decisions(self, reason: str) -> "RowBounds":
        """The implied_bounds for another model of the problem."""
        reasons = {**self.reasons, "decisions_that_may_differ": reason}
        return replace(self, decisions=None, means=None, inactive=None, reasons=reasons)

    def distance(self, gap: float) -> float | None:
        """The bound on the root mean square distance of predictions, for a gap."""
        return None if self.factor is None else self.factor * sqrt(gap) * ROUNDED

    def sentences(
        self, gap: float, relative_gap: float, primal: float, shown: Callable[[float], str]
    ) -> list[str]:
        """What is known, in words, where that excludes more than half of what is possible.

        Distances of predictions are compared with the root mean square of the residuals, which is
        that of the bound for the gap ``primal``. As predictions differ by about the root of a
        small gap, a share of the decisions above `FEW` times that root is left out as well.
        """
        not_known, distance = [], self.distance(gap)
        scale = 1.0 if self.of == "predicted probabilities" else self.distance(primal)
        if distance is not None and scale is not None and distance <= 0.5 * scale:
            not_known.append(
                f"{self.of} within {shown(distance)} of an optimal model's (root mean square)"
            )
        if self.means is not None and self.means <= 0.5:
            change = float(shown(self.means))
            not_known.append(
                f"predicted means within factors of {1.0 - change:.12g} and {1.0 + change:.12g} "
                "of an optimal model's on average"
            )
        most = min(0.5, FEW * sqrt(relative_gap)) if relative_gap >= 0.0 else 0.5
        if self.decisions is not None and self.decisions <= most * self.n_decisions:
            not_known.append(
                f"at most {self.decisions:,} of {self.n_decisions:,} training decisions could "
                "change"
            )
        return not_known


NOT_THERE = "Such bounds are not computed for models of this kind."
NOTHING = RowBounds(
    reasons=dict.fromkeys(("prediction_distance", "decisions_that_may_differ"), NOT_THERE)
)


def row_bounds(
    objective: Objective, gap: float, model: tuple[Array, Numbers] | None,
    theta: DualVector | None, coefficients: Callable[[], Array | None] | None = None,
) -> RowBounds:  # fmt: skip
    """The implied_bounds on predictions of a model, from its gap and a dual point.

    Parameters
    ----------
    objective : Objective
    gap : float
        The objective value of the model less the bound of theta, with room for rounding.
    model : tuple of ndarray and float, or None
        Coefficients and intercept, if they are known.
    theta : ndarray
        The dual point in the domain of the conjugate losses.
    coefficients : callable, default=None
        Returns intervals of the coefficients of optimal models, if they are known.
    """
    loss = objective.loss
    factor, of, reasons = None, "", {}
    if loss.smoothness < inf and loss.constant_curvature:
        factor, of = sqrt(2.0 / loss.smoothness), "predictions"
    elif loss.smoothness < inf and loss.is_log_likelihood:
        factor, of = sqrt(2.0 * loss.smoothness), "predicted probabilities"
    else:
        reasons["prediction_distance"] = (
            "A gap bounds the distance of predictions for least squares, the logistic loss and "
            f"the softmax; the loss is {loss!r}."
        )
    costs = inactive = means = None
    if model is not None:
        means = _change_of_means(objective.sum_of_means(*model), gap)
        costs = objective.decision_costs(*model, theta)
        if costs is None or not most_turned(costs, gap):
            coefficients = None  # no interval can exclude more decisions
        intervals = objective.prediction_intervals(*model, gap, theta, coefficients)
        if intervals is not None:
            lower, upper, z = intervals
            inactive = objective.inactive_rows(lower, upper)
            if costs is not None:  # intervals on the side of z leave no other decision
                same = ((lower > 0.0) & (z > 0.0)) | ((upper < 0.0) & (z < 0.0))
                costs = np.where(same, inf, costs)
    if costs is None:
        reasons["decisions_that_may_differ"] = (
            "Decisions are compared for losses of labels and of classes, with rows in memory and "
            f"without a noise budget; the loss is {loss!r}."
        )
        return RowBounds(
            factor, of, means=means, of_hazards=loss.of_hazards, inactive=inactive, reasons=reasons
        )
    decisions = most_turned(costs, gap)
    return RowBounds(factor, of, decisions, len(costs), inactive=inactive, reasons=reasons)


def _change_of_means(total: float | None, gap: float) -> float | None:
    """The bound on the mean change of predicted means, for their sum S."""
    if total is None or not total > 0.0:
        return None
    g = gap / (3.0 * total)
    return (g + sqrt(g * g + 6.0 * g)) * ROUNDED


def most_turned(costs: Array, gap: float) -> int:
    """The largest number of costs whose sum is at most the gap."""
    sums = np.cumsum(np.sort(costs[costs <= gap * ROUNDED]))
    return int(np.searchsorted(sums, gap * ROUNDED, side="right"))
