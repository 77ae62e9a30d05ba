"""The hinge loss with a noise budget, a bound on its multipliers, for labels that may be wrong.

    minimise over w, b   max over p in [0, 1]^n, sum_i c_i p_i <= nu
                             of sum_i c_i p_i (1 - y_i (x_i.w + b))  +  alpha R(w)

(Yang, Mahdavi, Jin and Zhu, 2015, (19), with nu = m / n.) Without the budget the maximum is the
mean hinge loss; the budget limits the influence of rows that no model fits. The multiplier of the
noise budget is a number t >= 0 that is added to all margins ::

    minimise over w, b, t   nu t + sum_i c_i max(0, 1 - t - y_i (x_i.w + b)) + alpha R(w)

As the hinge loss decreases with the margin, nu |t| has the same minimum as nu t with t >= 0. This
is therefore an ordinary problem with an additional feature, y itself, whose penalty is
(nu / alpha) |t|. The coefficients of a model are w, and t is the best one for them.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np

from .. import kernels
from .._floats import EPSILON
from .._typing import Array, Numbers
from ..certificates.relative_gaps import ROUNDING
from ..losses import Hinge
from ..penalties.weighted import with_coefficient
from .in_memory import RowsInMemory
from .interfaces import Dual, ProblemParts
from .lifts import Lift
from .null_model import NullModel
from .problem import Problem
from .regularisation import Regularisation
from .solution import Point

if TYPE_CHECKING:
    from .interfaces import SomeRows


@dataclass(frozen=True, eq=False)
class NoiseBudget(Lift):
    """A bound on the multipliers of the hinge loss, as a problem in (w, t).

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
        """The variables (w, t), with the least t so that margins below 1 - t weigh at most nu."""
        coef = variables[: self.n_features]
        z = problem.predictions(np.append(coef, 0.0), intercept)[0]
        margins = problem.y * z
        order = np.argsort(margins)
        beyond = np.cumsum(problem.weights[order]) > self.share
        shift = 1.0 - float(margins[order[np.argmax(beyond)]]) if beyond.any() else 0.0
        return np.append(coef, shift if 0.0 < shift < np.inf else 0.0)

    def regularisation_at(self, regularisation: Regularisation, alpha: float) -> Regularisation:
        """The regularisation of (w, t).

        Raises
        ------
        ValueError
            If the penalty is not one that `with_coefficient` takes.
        """
        of_model = self.regularisation
        penalty = with_coefficient(of_model.penalty, self.n_features, self.share / alpha)
        constraints = (
            None if of_model.constraints is None else of_model.constraints.with_zero_column()
        )
        return Regularisation(penalty, alpha, constraints)

    def null(self, rows: "SomeRows", alpha: float) -> NullModel:
        """The best constant: that of the hinge loss with t = 0, or 0 with t = 1 if nu is less."""
        null = rows.null
        # the sum of the multipliers, which is the mean loss of the best constant
        total = kernels.dot(rows.weights, np.abs(null.point.dual_coef))
        if total <= self.share:
            lower = null.objective * (1.0 - ROUNDING)
            unit = max(null.objective, EPSILON)
            return replace(null, rounding=0.0, unit=unit, lower=lower)
        coef = np.append(null.point.coef[:-1], 1.0)
        point = Point(coef, 0.0, (self.share / total) * null.point.dual_coef)
        objective = self.share * (1.0 + EPSILON)
        # the mean slope of the losses at margins of 0 is 1, which makes this the scale as well
        return NullModel(
            point, objective, unit=max(objective, EPSILON), prediction_scale=objective,
            lower=self.share * (1.0 - ROUNDING),
        )  # fmt: skip

    def largest_alpha(self, problem: ProblemParts) -> float:
        return self.regularisation.penalty.largest_alpha(-self.project(problem.null_gradient))

    def in_domain(self, rows: "SomeRows", theta: Dual) -> Dual:
        """The nearest dual point in the box whose multipliers are within the noise budget."""
        clipped: Array = rows.loss.project_dual(rows.y, cast(Array, theta))
        multipliers = -rows.y * clipped
        return cast(Dual, _within_budget(clipped, multipliers, rows.y, rows.weights, self.share))

    def problem_of_model(self, problem: ProblemParts) -> Problem:
        """The problem in w alone, whose multipliers are within the noise budget."""
        rows = problem.rows
        design = rows.design.columns(np.arange(self.n_features))
        loss = HingeWithinBudget(rows.weights, self.share)
        rows = replace(rows.with_design(design), loss=loss)
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
        return _within_budget(clipped, step - y * theta, y, self.weights, self.share)


def noise_budget_problem(
    rows: RowsInMemory, regularisation: Regularisation, share: float
) -> Problem:
    """The problem in (w, t) of the hinge loss with a noise budget, a share of the weights.

    Raises
    ------
    ValueError
        If the penalty is not one that `with_coefficient` takes.
    """
    lift = NoiseBudget(share, regularisation, rows.n_coefficients)
    lifted = rows.with_design(rows.design.with_column(rows.y))
    return Problem(lifted, lift.regularisation_at(regularisation, regularisation.alpha), lift=lift)


def _within_budget(theta: Array, p: Array, y: Array, weights: Array, share: float) -> Array:
    """The dual point theta, or where it exceeds the budget that of the projection of p.

    The projection of multipliers p is that onto the box and sum_i c_i p_i = nu.
    """
    if kernels.dot(weights, np.abs(theta)) <= share:
        return theta
    zeros, ones = np.zeros_like(p), np.ones_like(p)
    return -y * kernels.project_box_hyperplane(p, zeros, ones, weights, weights, share)
