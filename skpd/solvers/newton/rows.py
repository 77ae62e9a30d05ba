"""The row side of the method of multipliers: all that is as long as there are rows.

The engine works on coefficients, gradients and Gram matrices. Predictions, dual points and
curvatures stay behind `RowSide`, which answers in sums over the rows: so the same engine runs
wherever the rows are, if something adds up their sums.
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from ..._typing import Array, Indices
from ...kernels import dot
from ...problems import Problem

__all__ = ["AllRows", "RowSide", "ShrunkRows"]


class RowSide(ABC):
    """Losses of some or all rows at an iterate, smoothed by multipliers, as sums.

    ``sigma`` is the parameter of the Moreau envelopes; inf for the losses themselves. "Variables"
    are coefficients with the intercept behind them, if there is one.

    Attributes
    ----------
    halvings_at_once : int
        How many halvings of a step to ask for together: several where asking takes long.
    """

    halvings_at_once: int = 1

    @property
    @abstractmethod
    def system(self) -> Any:
        """The linear systems of the last curvature."""

    @abstractmethod
    def evaluate(self, sigma: float) -> tuple[float, float]:
        """The mean of the smoothed losses, and the losses' part of the dual value."""

    @abstractmethod
    def gradient(self, columns: Indices | None = None) -> tuple[Array, Any]:
        """A' diag(c) l' for all coefficients, or some of them, and its sum for an intercept."""

    @abstractmethod
    def curvature(self, columns: Indices, scale: float, ridge: Array | None, again: bool) -> Any:
        """(sum_i h_i a_i a_i' for some columns over scale, plus a ridge; whether h is the last).

        If ``again``, h is to be that of the last call, if it fits.
        """

    @property
    @abstractmethod
    def n_curved(self) -> int:
        """The rows whose losses have curvature here."""

    @abstractmethod
    def may_hold(self, n_columns: int) -> bool:
        """Whether there is room for the curvature on so many columns."""

    @abstractmethod
    def cost(self, n_columns: int) -> float:
        """What a Newton step on so many columns costs, in the units of `newton_cost`."""

    @abstractmethod
    def go_along(self, direction: Array) -> None:
        """Go to the end of a direction, keeping in mind where it began."""

    @abstractmethod
    def slope(self, sigma: float) -> float:
        """The derivative of the mean of the smoothed losses at the end of the direction, 1."""

    @abstractmethod
    def slopes(self, lengths: list[float], sigma: float) -> list[float]:
        """The same so far along the direction."""

    @abstractmethod
    def go_back(self, length: float) -> None:
        """Go to that point of the direction."""

    @abstractmethod
    def update_multipliers(self) -> None:
        """Take the derivatives for multipliers."""


class AllRows(RowSide):
    """All rows of a problem: what a run begins with, asks for certificates and can shrink.

    Attributes
    ----------
    dual_range : float
        The longest interval of a dual variable.
    far_solutions : bool
        Whether the proximal term is to give way to predictions that are large, as no other method
        goes on where it holds them back.
    """

    dual_range: float
    far_solutions: bool = False

    @abstractmethod
    def move_to(self, variables: Array, problem: Problem | None = None) -> None:
        """Go to other variables; with a problem, by the products that its certificate wants."""

    @abstractmethod
    def certified_gradient(self, problem: Problem, coef: Array) -> tuple[Array, float]:
        """`gradient` by the products that the problem's certificate wants."""

    @abstractmethod
    def dual_point(self) -> Any:
        """The derivatives of the smoothed losses: what a certificate is asked for."""

    def begin_from(self, variables: Array, sigma: float) -> None:
        """Go to a solution on other rows, with multipliers that go with it."""
        self.move_to(variables)
        if np.isfinite(sigma):
            self.evaluate(sigma)
            self.update_multipliers()

    @abstractmethod
    def shrink(
        self, variables: Array, gradient: Array, sigma: float, radius: float | None
    ) -> "tuple[ShrunkRows | None, float | None]":
        """Leave out rows that stay linear while predictions move by at most a radius.

        Without a radius it is the spread of the predictions. The rows that are left are None
        where too many have curvature, or may get it within the radius; beside them is the
        radius taken, or the one to try next.
        """

    @abstractmethod
    def restore(self, shrunk: "ShrunkRows", variables: Array, sigma: float) -> float:
        """Back to all rows; how far the predictions of those left out have moved at most.

        They are likely to be smoothed by ``sigma`` next.
        """


class ShrunkRows(RowSide):
    """The rows whose losses may bend, and what the others add while theirs stay linear.

    Parameters
    ----------
    rows : RowSide
        Those that may bend.
    w : ndarray
        The variables at which the others were left out.
    loss, dual : float
        What the others add to the mean loss, and to the dual value, there.
    rest : tuple of ndarray
        The gradient of what they add, as of `gradient`.
    """

    def __init__(
        self, rows: RowSide, w: Array, loss: float, dual: float, rest: tuple[Array, Array]
    ) -> None:
        self.rows, self.loss, self.dual = rows, loss, dual
        self.coef_rest, self.slope_rest = rest
        self.rest = np.append(self.coef_rest, self.slope_rest)
        self.moved = np.zeros_like(w)  # since they were left out
        self.updated = False  # whether the multipliers have changed since
        self._before = self._along = self.moved
        self.halvings_at_once = rows.halvings_at_once

    @property
    def system(self) -> Any:
        return self.rows.system

    def evaluate(self, sigma: float) -> tuple[float, float]:
        loss, dual = self.rows.evaluate(sigma)
        return loss + self.loss + dot(self.rest, self.moved), dual + self.dual

    def gradient(self, columns: Indices | None = None) -> tuple[Array, Any]:
        coef, slope = self.rows.gradient(columns)
        rest = self.coef_rest if columns is None else self.coef_rest[columns]
        return coef + rest, slope + self.slope_rest

    def curvature(self, columns: Indices, scale: float, ridge: Array | None, again: bool) -> Any:
        return self.rows.curvature(columns, scale, ridge, again)

    @property
    def n_curved(self) -> int:
        return self.rows.n_curved

    def may_hold(self, n_columns: int) -> bool:
        return self.rows.may_hold(n_columns)

    def cost(self, n_columns: int) -> float:
        return self.rows.cost(n_columns)

    def go_along(self, direction: Array) -> None:
        self._before, self._along = self.moved, direction
        self.moved = self._before + direction
        self.rows.go_along(direction)

    def slope(self, sigma: float) -> float:
        return self.rows.slope(sigma) + dot(self.rest, self._along)

    def slopes(self, lengths: list[float], sigma: float) -> list[float]:
        more = dot(self.rest, self._along)
        return [slope + more for slope in self.rows.slopes(lengths, sigma)]

    def go_back(self, length: float) -> None:
        self.moved = self._before + length * self._along
        self.rows.go_back(length)

    def update_multipliers(self) -> None:
        self.updated = True
        self.rows.update_multipliers()
