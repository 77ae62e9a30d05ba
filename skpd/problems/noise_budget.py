"""The hinge loss with a noise budget, a bound on its multipliers, for labels that may be wrong.

    minimise over w, b   max over p in [0, 1]^n, sum_i c_i p_i <= nu
                             of sum_i c_i p_i (1 - y_i (x_i.w + b))  +  alpha R(w)

(Yang, Mahdavi, Jin and Zhu, 2015, (19), with nu = m / n.) Without the budget the maximum is the
mean hinge loss; the budget limits the influence of rows that no model fits. The multiplier of the
noise budget is a number t >= 0 that is added to all margins ::

    minimise over w, b, t   nu t + sum_i c_i max(0, 1 - t - y_i (x_i.w + b)) + alpha R(w)

As the hinge loss decreases with the margin, nu |t| has the same minimum as nu t with t >= 0. This
is therefore an ordinary problem with an additional feature, y itself, whose penalty is
(nu / alpha) |t|. It is called the *lifted* problem, and certificates are computed for it. The
coefficients of a model are w, and t is the best one for them.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from .. import kernels
from .._floats import EPSILON
from .._typing import Array
from ..certificates.objective import DualPoint, Interval
from ..penalties import Penalty
from ..penalties.weighted import with_coefficient
from .columns import Columns
from .null_model import NullModel
from .problem import Problem
from .solution import Point


@dataclass(frozen=True, eq=False)
class NoiseBudgetProblem(Problem):
    """A `Problem` with the hinge loss and a noise budget.

    Parameters
    ----------
    budget : float
        The upper bound nu > 0 on sum_i c_i p_i.

    Raises
    ------
    ValueError
        If the penalty is not one that `with_coefficient` takes.
    """

    has_noise_budget = True

    budget: float = field(kw_only=True)

    known: Problem | None = field(default=None, repr=False)  # the lifted problem of another alpha

    @cached_property
    def lifted(self) -> Problem:
        """The lifted problem, whose coefficients are (w, t)."""
        if self.known is not None:
            return self.known.with_penalty(self.dual_penalty, self.alpha)
        rows = self.rows.with_design(self.design.with_column(self.y))
        return Problem(rows, Columns(self.dual_penalty, self.alpha)).in_workspace()

    @cached_property
    def dual_penalty(self) -> Penalty:
        one_more = with_coefficient(self.penalty, self.n_coefficients, self.budget / self.alpha)
        return one_more.bind(self.n_coefficients + 1)

    def with_alpha(self, alpha: float) -> "NoiseBudgetProblem":
        """The problem with another alpha, which shares the data of the lifted problem."""
        return replace(super().with_alpha(alpha), known=self.lifted)

    @property
    def centred(self) -> None:
        """None, as solvers centre the lifted problem."""
        return None

    # Models

    def shift_of_margins(self, coef: Array, intercept: float) -> float:
        """The best t, the least for which rows with margins below 1 - t have weight at most nu."""
        margins = self.y * self.predictions(coef, intercept)[0]
        order = np.argsort(margins)
        beyond = np.cumsum(self.weights[order]) > self.budget
        if not beyond.any():
            return 0.0
        shift = 1.0 - float(margins[order[np.argmax(beyond)]])
        return max(shift, 0.0) if np.isfinite(shift) else 0.0

    def lifted_point(self, point: Point) -> Point:
        """A point of this problem as one of the lifted problem."""
        shift = self.shift_of_margins(point.coef, point.intercept)
        return Point(np.append(point.coef, shift), point.intercept, point.dual_coef)

    def mean_loss(self, coef: Array, free: Any, accuracy: float) -> float:
        shift = self.shift_of_margins(coef, free)
        value = self.lifted.mean_loss(np.append(coef, shift), free, accuracy)
        return value + self.budget * shift * (1.0 + EPSILON)

    def precise_mean_loss(self, coef: Array, free: Any) -> tuple[float, float]:
        shift = self.shift_of_margins(coef, free)
        most, about = self.lifted.precise_mean_loss(np.append(coef, shift), free)
        return most + self.budget * shift * (1.0 + EPSILON), about + self.budget * shift

    def estimated_gap(self, point: Point) -> float:
        return self.lifted.estimated_gap(self.lifted_point(point))

    @cached_property
    def null(self) -> NullModel:
        """The best constant: that of the hinge loss, or 0 with t = 1 where nu is less."""
        null = self.rows.null
        # the sum of the multipliers, which is the mean loss of the best constant
        total = kernels.dot(self.weights, np.abs(null.point.dual_coef))
        if total <= self.budget:
            return replace(null, rounding=0.0, unit=max(null.objective, EPSILON))
        point = Point(null.point.coef, 0.0, (self.budget / total) * null.point.dual_coef)
        objective = self.budget * (1.0 + EPSILON)
        # the mean slope of the losses at margins of 0 is 1, which makes this the scale as well
        return NullModel(
            point, objective, unit=max(objective, EPSILON), prediction_scale=objective
        )

    @property
    def null_point(self) -> Point:
        return self.null.point

    @cached_property
    def null_gradient(self) -> Array:
        return self.design.rmatvec(self.weights * self.null_point.dual_coef)

    def coef_table(self, coef: Array) -> Array:
        """The coefficients w, without t."""
        return coef[: self.n_coefficients]

    # Dual points

    def prox_dual(self, theta: Array, step: Array | float) -> Array:
        """The prox of the conjugates: a step, then a projection onto box and budget (Lemma 13)."""
        found = super().prox_dual(theta, step)
        if kernels.dot(self.weights, np.abs(found)) <= self.budget:
            return found
        return -self.y * self._within_budget(step - self.y * theta)

    def _within_budget(self, p: Array) -> Array:
        """The projection of multipliers p onto the box and sum_i c_i p_i = nu."""
        zeros, ones = np.zeros_like(p), np.ones_like(p)
        return kernels.project_box_hyperplane(
            p, zeros, ones, self.weights, self.weights, self.budget
        )

    def feasible_point(self, theta: Array) -> DualPoint | None:
        theta = self.loss.project_dual(self.y, theta)
        if kernels.dot(self.weights, np.abs(theta)) > self.budget:
            theta = -self.y * self._within_budget(-self.y * theta)
        return self.lifted.feasible_point(theta)

    def projected(self, point: DualPoint) -> DualPoint:
        return self.lifted.projected(point)

    def balanced(self, point: DualPoint, near: Array | None) -> DualPoint:
        # optimal products by coefficients near the optimum do not include the budget
        return self.lifted.balanced(point, None)

    def free_intervals(self, upper: float) -> list[Interval]:
        return self.lifted.free_intervals(upper)
