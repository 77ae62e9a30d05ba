"""The row side of the method of multipliers: vectors over the rows, behind an interface of sums.

The method works on coefficients, gradients and Gram matrices. Predictions, dual points and
curvatures are behind the interface `RowSide`, whose methods return sums over the rows. So the
same method runs wherever the rows are stored.
"""

from typing import Any, Protocol

import numpy as np

from ..._typing import Array, Indices
from ...kernels import dot
from ...problems import Problem


class RowSide(Protocol):
    """The smoothed losses of some or all rows at an iterate, as sums.

    ``sigma`` is the parameter of the Moreau envelopes; inf for the losses themselves. "Variables"
    are the coefficients, followed by the intercept if there is one.

    Attributes
    ----------
    halvings_at_once : int
        The number of step lengths for which slopes are computed together; more than one where a
        pass over the rows is expensive.
    """

    halvings_at_once: int = 1

    def evaluate(self, sigma: float) -> tuple[float, float]:
        """The mean of the smoothed losses, and the losses' part of the dual value."""

    def gradient(self, columns: Indices | None = None) -> tuple[Array, Any]:
        """The gradient A' diag(c) l' for all or some coefficients, and that of the intercept."""

    def curvature(self, columns: Indices, scale: float, ridge: Array | None) -> Any:
        """The curvature scale sum_i h_i a_i a_i' + diag(ridge) on some columns."""

    def may_hold(self, n_columns: int) -> bool:
        """Whether the curvature on ``n_columns`` columns fits in memory."""

    def cost(self, n_columns: int) -> float:
        """The cost of a Newton step on ``n_columns`` columns, in the units of `newton_cost`."""

    def go_along(self, direction: Array) -> None:
        """Move to the end of a direction, whose start is kept."""

    def slope(self, sigma: float) -> float:
        """The derivative of the mean smoothed loss along the direction, at its end (length 1)."""

    def slopes(self, lengths: list[float], sigma: float) -> list[float]:
        """The derivatives of the mean smoothed loss along the direction, at several lengths."""

    def go_back(self, length: float) -> None:
        """Move to the point of the direction at the given length."""

    def update_multipliers(self) -> None:
        """Set the multipliers to the derivatives of the smoothed losses."""


class AllRows(RowSide, Protocol):
    """All rows of a problem, of which rows with linear losses can be left out.

    Attributes
    ----------
    dual_range : float
        The length of the longest interval of a dual variable.
    far_solutions : bool
        Whether the proximal term decreases for large predictions, because no other method follows
        if it slows down convergence.
    """

    dual_range: float = np.inf
    far_solutions: bool = False

    def move_to(self, variables: Array) -> None:
        """Move to other variables."""

    def certified_gradient(self, problem: Problem, coef: Array) -> tuple[Array, float]:
        """The gradient, computed by products that the problem's certificate can use."""

    def dual_point(self) -> Any:
        """The derivatives of the smoothed losses, which are the dual point for a certificate."""

    def begin_from_solution(self, variables: Array, sigma: float) -> None:
        """Move to a solution on other rows, and set the multipliers accordingly."""
        self.move_to(variables)
        if np.isfinite(sigma):
            self.evaluate(sigma)
            self.update_multipliers()

    def shrink(
        self, gradient: Array, sigma: float, radius: float | None
    ) -> "tuple[ShrunkRows | None, float | None]":
        """Leave out the rows whose losses are linear within a radius around the predictions.

        The radius is the spread of the predictions by default. Returns the remaining rows and the
        radius. The rows are None, with the radius to try next, if too many rows have curvature or
        may have it within the radius.
        """

    def restore(self, shrunk: "ShrunkRows", variables: Array, sigma: float) -> float:
        """Return to all rows; the largest change of a prediction of a row that was left out.

        ``sigma`` is the parameter that is expected next.
        """


class ShrunkRows(RowSide):
    """The rows whose losses may have curvature, and the linear contribution of the others.

    Parameters
    ----------
    rows : RowSide
        The rows that may have curvature.
    sigma : float
    values : tuple of float
        The mean loss and the losses' part of the dual value, of all rows.
    gradient : ndarray of shape (n_variables,)
        The gradient of all rows.
    """

    def __init__(
        self, rows: RowSide, sigma: float, values: tuple[float, float], gradient: Array
    ) -> None:
        loss, dual = rows.evaluate(sigma)
        self.rows, self.loss, self.dual = rows, values[0] - loss, values[1] - dual
        coef, slope = rows.gradient()
        self.coef_linear = gradient[: len(coef)] - coef
        self.slope_linear = gradient[len(coef) :] - slope
        self.linear_part = np.append(self.coef_linear, self.slope_linear)
        self.moved = np.zeros_like(gradient)  # change of the variables since rows were left out
        self.updated = False  # whether the multipliers have changed since then
        self._before = self._along = self.moved
        self.halvings_at_once = rows.halvings_at_once

    def evaluate(self, sigma: float) -> tuple[float, float]:
        loss, dual = self.rows.evaluate(sigma)
        return loss + self.loss + dot(self.linear_part, self.moved), dual + self.dual

    def gradient(self, columns: Indices | None = None) -> tuple[Array, Any]:
        coef, slope = self.rows.gradient(columns)
        linear = self.coef_linear if columns is None else self.coef_linear[columns]
        return coef + linear, slope + self.slope_linear

    def curvature(self, columns: Indices, scale: float, ridge: Array | None) -> Any:
        return self.rows.curvature(columns, scale, ridge)

    def may_hold(self, n_columns: int) -> bool:
        return self.rows.may_hold(n_columns)

    def cost(self, n_columns: int) -> float:
        return self.rows.cost(n_columns)

    def go_along(self, direction: Array) -> None:
        self._before, self._along = self.moved, direction
        self.moved = self._before + direction
        self.rows.go_along(direction)

    def slope(self, sigma: float) -> float:
        return self.rows.slope(sigma) + dot(self.linear_part, self._along)

    def slopes(self, lengths: list[float], sigma: float) -> list[float]:
        constant = dot(self.linear_part, self._along)
        return [slope + constant for slope in self.rows.slopes(lengths, sigma)]

    def go_back(self, length: float) -> None:
        self.moved = self._before + length * self._along
        self.rows.go_back(length)

    def update_multipliers(self) -> None:
        self.updated = True
        self.rows.update_multipliers()
