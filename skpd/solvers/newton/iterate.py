"""A point of the smoothed problem, and what is known there."""

from typing import Any

import numpy as np

from ..._typing import Array, Indices
from ...certificates import dual_estimate, relative_gap
from ...penalties import Structure
from ...problems import Point, Problem
from .rows import AllRows, RowSide

__all__ = ["Iterate"]


class Iterate:
    """Variables, the derivatives of the smoothed losses, their gradient and the gap they prove.

    "Variables" are coefficients with the intercept behind them, if there is one. The gap is an
    estimate by plain sums; where some rows or features are left out it is that on the others.

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
        A' diag(c) l' with the intercept's behind; 0 for features whose gradients are not kept.
    known_gradient : ndarray or None
        The next gradient, where it is known beforehand.
    near_solution : bool
        Whether a certificate is likely to come next: the gradient is then taken by the products
        that it will want.
    penalty_value : float
        alpha R(w).
    upper : float
        The least value that P is known to take.
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
        self._restricted: tuple[Any, Any] = None, None  # columns, and the penalty of these

    def evaluate(self, sigma: float, columns: Indices | None) -> None:
        """The losses, smoothed with sigma, and the penalty where w is 0 but on some columns."""
        self.loss, self.dual = self.rows.evaluate(sigma)
        self.penalty_value = self.penalty_at(self.w, columns)

    def penalty_at(self, w: Array, columns: Indices | None) -> float:
        """alpha R of other variables that are 0 but on some columns."""
        coef, _ = self.problem.split(w)
        places, penalty = self._part(columns)
        return self.problem.alpha * penalty.value(coef[places])

    def _part(self, columns: Indices | None) -> tuple[Indices | slice, Any]:
        """What of the coefficients need be looked at, and its penalty."""
        penalty: Any = self.problem.penalty
        if columns is None or penalty.structure is not Structure.SEPARABLE:
            return slice(None), penalty
        if self._restricted[0] is not columns:
            self._restricted = columns, penalty.restricted(columns)
        return self._restricted

    def differentiate(self, columns: Indices | None) -> None:
        """The gradient, of some columns or of all (None), and the gap."""
        problem, rows = self.problem, self.rows
        if self.known_gradient is not None:
            self.gradient, self.known_gradient = self.known_gradient, None
        elif columns is not None:
            coef_gradient = np.zeros(problem.n_features)
            coef_gradient[columns], slope = rows.gradient(columns)
            self.gradient = problem.join(coef_gradient, slope)
        elif rows is self.all_rows and (self.near_solution or problem.incremental_products):
            coef, _ = problem.split(self.w)
            self.gradient = problem.join(*self.all_rows.certified_gradient(problem, coef))
        else:
            self.gradient = problem.join(*rows.gradient())
        upper = min(self.upper, self.objective)
        if rows is self.all_rows:
            self.upper = upper
        coef_gradient, slope = problem.split(self.gradient)
        places, penalty = self._part(columns)
        some = coef_gradient[places]
        value = self.dual - problem.likely_cost_of_free(coef_gradient, slope, upper)
        self.gap = upper - dual_estimate(problem, value, some, upper, penalty)

    @property
    def objective(self) -> float:
        """The smoothed objective without its proximal term, a lower bound on P(w)."""
        return self.loss + self.penalty_value

    def is_within(self, tol: float) -> bool:
        """Whether the relative gap is at most so large, as estimated."""
        return relative_gap(self.problem, self.gap) <= tol

    def point(self) -> Point:
        """What to ask a certificate for, on all rows."""
        return Point(*self.problem.split(self.w), self.all_rows.dual_point())
