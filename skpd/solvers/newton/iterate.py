"""A point of the smoothed problem with its losses, gradient and gap."""

import numpy as np

from ..._typing import Array, Numbers
from ...certificates import dual_estimate
from ...problems import Point, Problem
from ..monitor import Monitor
from .rows import AllRows, RowSide


class NewtonIterate:
    """Variables, derivatives of the smoothed losses, their gradient and the estimated gap.

    "Variables" are the coefficients, followed by the intercept if there is one. The gap is an
    estimate without bounds on rounding; if rows are left out, it is that of the others.

    Parameters
    ----------
    problem : Problem
    all_rows : AllRows
    w : ndarray of shape (n_variables,)

    Attributes
    ----------
    w : ndarray
        The variables.
    rows : RowSide
        All rows, or those that are not left out.
    gradient : ndarray
        A' diag(c) l', followed by the entry of the intercept.
    known_gradient : ndarray or None
        The next gradient, if it is known without a product.
    near_solution : bool
        Whether a certificate is expected next. The gradient is then computed by products that the
        certificate can use again.
    penalty_value : float
        alpha R(w).
    upper : float
        The least known value of P.
    gap : float
    """

    gradient: Array
    loss: float
    dual: float
    penalty_value: float
    gap: float

    def __init__(self, problem: Problem, all_rows: AllRows, w: Array) -> None:
        self.problem, self.w = problem, w
        self.all_rows = all_rows
        self.rows: RowSide = all_rows
        self.known_gradient: Array | None = None
        self.near_solution = False
        self.upper = problem.null_objective

    def evaluate(self, sigma: float) -> None:
        """Compute the losses, smoothed with sigma, and the penalty."""
        self.loss, self.dual = self.rows.evaluate(sigma)
        self.penalty_value = self.penalty_at(self.w)

    def penalty_at(self, w: Array) -> float:
        """The value alpha R(w) for other variables."""
        coef, _ = self.problem.split(w)
        return self.problem.alpha * self.problem.penalty.value(coef)

    def differentiate(self) -> None:
        """Compute the gradient and the gap."""
        problem, rows = self.problem, self.rows
        if self.known_gradient is not None:
            self.gradient, self.known_gradient = self.known_gradient, None
        elif rows is self.all_rows and (self.near_solution or problem.has_incremental_products):
            coef, _ = problem.split(self.w)
            self.gradient = problem.join(*self.all_rows.certified_gradient(problem, coef))
        else:
            self.gradient = problem.join(*rows.gradient())
        upper = min(self.upper, self.objective)
        if rows is self.all_rows:
            self.upper = upper
        coef_gradient, slope = problem.split(self.gradient)
        value = self.dual - self._cost_of_sums(coef_gradient, slope, upper)
        self.gap = upper - dual_estimate(problem, value, coef_gradient, upper, problem.penalty)

    def _cost_of_sums(self, gradient: Array, slope: Numbers, upper: float) -> float:
        """An estimate of the reduction of the bound by the gradient of the free directions.

        For a smooth loss, the nearest dual point whose sums vanish has a bound that is lower by
        -b . slope to first order, with the intercept b. That is far less than for an interval of
        intercepts: the softmax on text then takes 4 instead of 6 Newton steps.
        """
        problem = self.problem
        cost = problem.free.likely_cost(gradient, slope, problem.alpha, upper)
        if problem.loss.linear_tails or problem.free.has_level or len(problem.free_columns):
            return cost
        return min(cost, -float(np.sum(slope * problem.split(self.w)[1])))

    @property
    def bounds(self) -> tuple[float, float]:
        """The estimated gap, and the objective value to which it belongs."""
        return self.gap, self.upper

    @property
    def objective(self) -> float:
        """The smoothed objective without its proximal term, a lower bound on P(w)."""
        return self.loss + self.penalty_value

    def goal(self, monitor: Monitor) -> float:
        """The gap at which the run ends, if the estimated bounds are right."""
        return monitor.goal_at(self.upper, self.upper - self.gap)

    def point(self) -> Point:
        """The primal and the dual point for a certificate, on all rows."""
        return Point(*self.problem.split(self.w), self.all_rows.dual_point())
