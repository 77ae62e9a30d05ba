"""A loss of margins with a noise budget, a bound on its multipliers, for labels that may be wrong.

    minimise over w, b   max over p in [0, 1]^n, sum_i c_i p_i <= nu
                             of sum_i c_i p_i (1 - y_i (x_i.w + b))  +  alpha R(w)

(Yang, Mahdavi, Jin and Zhu, 2015, (19), with nu = m / n.) Without the budget the maximum is the
mean hinge loss; the budget limits the influence of rows that no model fits. The multiplier of the
noise budget is a number t >= 0 that is added to all margins ::

    minimise over w, b, t   nu t + sum_i c_i max(0, 1 - t - y_i (x_i.w + b)) + alpha R(w)

As the loss decreases with the margin, nu |t| has the same minimum as nu t with t >= 0. This
is therefore an ordinary problem with an additional feature, y itself, whose penalty is
(nu / alpha) |t|. The coefficients of a model are w, and t is the best one for them. The same holds
for every loss phi of margins whose multipliers, p_i = -phi', have a sum within the budget.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from .. import kernels
from .._floats import EPSILON
from .._typing import Array, Numbers
from ..certificates.relative_gaps import ROUNDING
from ..losses import Hinge, Loss
from ..penalties import Structure
from ..penalties.increasing_functions import bisected
from ..penalties.weighted import with_extra_coefficient
from .in_memory import RowsInMemory
from .interfaces import Dual, ProblemParts
from .lifts import Lift
from .null_model import NullModel
from .problem import Problem
from .regularisation import Regularisation
from .solution import Point

if TYPE_CHECKING:
    from .interfaces import Rows


@dataclass(frozen=True, eq=False)
class NoiseBudget(Lift):
    """A bound on the multipliers of a loss of margins, as a problem in (w, t).

    Parameters
    ----------
    share : float
        The upper bound nu > 0 on sum_i c_i p_i.
    regularisation : Regularisation
        The regularisation of w.
    n_features : int
    """

    n_more: ClassVar[int] = 1
    same_predictions: ClassVar[bool] = False
    share: float
    regularisation: Regularisation
    n_features: int

    def extend(self, problem: ProblemParts, variables: Array, intercept: Numbers) -> Array:
        """The variables (w, t), with the least t whose multipliers are within the budget."""
        coef = variables[: self.n_features]
        z = problem.predictions(np.append(coef, 0.0), intercept)[0]
        shift = _shift_within(problem.loss, problem.y, problem.weights, z, self.share)
        return np.append(coef, shift)

    def regularisation_at(self, regularisation: Regularisation, alpha: float) -> Regularisation:
        """The regularisation of (w, t).

        Raises
        ------
        ValueError
            If the penalty is not one that `with_extra_coefficient` takes.
        """
        of_model = self.regularisation
        penalty = with_extra_coefficient(of_model.penalty, self.n_features, self.share / alpha)
        constraints = of_model.constraints
        wider = None if constraints is None else constraints.with_zero_column()
        return Regularisation(penalty, alpha, wider)

    def null(self, rows: "Rows[Any]", alpha: float) -> NullModel:
        """The best constant: that without a budget if its multipliers are within it.

        Otherwise those of each class sum to half of the budget, or without an intercept, which
        balances the classes, those of all rows to the budget.
        """
        null, loss, y, weights = rows.null, rows.loss, rows.y, rows.weights
        # the sum of the multipliers, which is the mean loss of the best constant
        total = kernels.dot(rows.weights, np.abs(null.point.dual_coef))
        if total <= self.share:
            lower = null.objective * (1.0 - ROUNDING)
            unit = max(null.objective, EPSILON)
            return replace(null, rounding=0.0, unit=unit, lower=lower)
        parts = [y > 0.0, y < 0.0] if rows.fit_intercept else [np.isfinite(y)]
        share, z = self.share / len(parts), np.full(len(y), float(null.point.intercept))
        theta = -y * sum(part * (share / np.sum(weights[part])) for part in parts)
        shifts = [_shift_within(loss, y, part * weights, z, share) for part in parts]
        shift, change = 0.5 * (shifts[0] + shifts[-1]), 0.5 * (shifts[0] - shifts[-1])
        intercept = null.point.intercept + change
        z = intercept + shift * y
        mean = loss.largest_mean(y, weights, z, 0.0, 4.0 * EPSILON * (np.abs(z) + shift))
        objective = (self.share * shift + mean) * (1.0 + ROUNDING)
        lower, rounding = loss.dual_value(y, weights, theta)
        # that of the hinge loss is nu, which with slopes of 1 is the scale of predictions as well
        return NullModel(
            Point(np.append(null.point.coef[:-1], shift), intercept, theta), objective,
            unit=max(objective, EPSILON), prediction_scale=objective,
            lower=(lower - rounding) * (1.0 - ROUNDING),
        )  # fmt: skip

    def largest_alpha(self, problem: ProblemParts) -> float:
        return self.regularisation.penalty.largest_alpha(-self.project(problem.null_gradient))

    def in_domain(self, rows: "Rows[Any]", theta: Dual) -> Dual:
        """The nearest dual point in the box whose multipliers are within the noise budget."""
        clipped: Array = rows.loss.project_dual(rows.y, cast(Array, theta))
        limit = -rows.loss.conjugate_domain[0]
        multipliers = -rows.y * clipped
        within = _within_budget(clipped, multipliers, rows.y, rows.weights, self.share, limit)
        return cast(Dual, within)

    def problem_of_model(self, problem: ProblemParts) -> Problem | None:
        """The problem in w alone, whose multipliers are within the budget, for the hinge loss."""
        rows = problem.rows
        if rows.loss != Hinge():
            return None
        design = rows.design.columns(np.arange(self.n_features))
        loss = HingeWithinBudget(rows.weights, self.share)
        rows = rows.with_parts(design=design, loss=loss)
        return Problem(rows, replace(self.regularisation, alpha=problem.alpha))


@dataclass(frozen=True, eq=False)
class HingeWithinBudget(Hinge):
    """The hinge loss for methods that keep the multipliers of all rows within a noise budget."""

    couples_rows: ClassVar[bool] = True
    weights: Array
    share: float

    def prox_conjugate(self, y: Array, theta: Array, step: Array | float) -> Array:
        """A step of the multipliers, then the projection onto box and budget (Lemma 13)."""
        clipped = super().prox_conjugate(y, theta, step)
        return _within_budget(clipped, step - y * theta, y, self.weights, self.share, 1.0)


def noise_budget_problem(
    rows: RowsInMemory, regularisation: Regularisation, share: float
) -> Problem:
    """The problem in (w, t) of a loss with a noise budget, a share of the weights.

    Raises
    ------
    ValueError
        If the loss is not one of margins with a multiplier for each row, if there are offsets, or
        if the penalty leaves a level free or is one of singular values.
    """
    loss, penalty = rows.loss, regularisation.penalty
    if loss.has_offset:
        raise ValueError("noise_budget takes no offset.")
    if not loss.of_labels or loss.multipliers(rows.y) is not None:
        raise ValueError(
            f"noise_budget needs a loss of margins with one multiplier a row, got loss={loss!r}."
        )
    if penalty.free_level or penalty.structure is Structure.SPECTRAL:
        raise ValueError(
            "noise_budget needs a penalty of vectors that leaves no level free, such as "
            f"FusedLasso in place of TotalVariation, got {penalty!r}."
        )
    lift = NoiseBudget(share, regularisation, rows.n_coefficients)
    lifted = rows.with_design(rows.design.with_column(rows.y))
    return Problem(lifted, lift.regularisation_at(regularisation, regularisation.alpha), lift=lift)


def _shift_within(loss: Loss, y: Array, weights: Array, z: Array, share: float) -> float:
    """The least number from 0 on which, added to all margins, leaves multipliers within a share.

    It is 0 where none does.
    """

    def beyond(shift: float) -> bool:
        return kernels.dot(weights, np.abs(loss.gradient(y, z + shift * y))) > share

    if not beyond(0.0):
        return 0.0
    upper = 1.0
    while beyond(upper) and upper < np.inf:
        upper *= 2.0
    return bisected(0.0, upper, beyond) if upper < np.inf else 0.0


def _within_budget(
    theta: Array, p: Array, y: Array, weights: Array, share: float, limit: float
) -> Array:
    """The dual point theta, or where it exceeds the budget that of the projection of p.

    The projection of multipliers p is that onto [0, limit]^n and sum_i c_i p_i = nu.
    """
    if kernels.dot(weights, np.abs(theta)) <= share:
        return theta
    zeros, limits = np.zeros_like(p), np.full_like(p, limit)
    return -y * kernels.project_box_hyperplane(p, zeros, limits, weights, weights, share)
