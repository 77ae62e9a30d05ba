"""The interface of coordinates that the penalty leaves free (`Free`)."""

from abc import ABC, abstractmethod
from math import nan
from typing import Any

from .._typing import Array
from ..certificates.objective import DualPoint, Interval
from ..penalties import Penalty


class Free(ABC):
    """Coordinates that the penalty leaves free, such as intercepts, biases and levels.

    Each of them defines a sum over the rows that should vanish for a dual point.

    Parameters
    ----------
    rows : Rows
    penalty : Penalty

    Attributes
    ----------
    left_out : ndarray of int
        Free coefficients that are fixed at 0, as their columns are combinations of those of
        others up to rounding: certificates are of the problem with this restriction.
    """

    left_out: Any = ()

    def __init__(self, rows: Any, penalty: Penalty) -> None:
        self.rows, self.penalty = rows, penalty

    @abstractmethod
    def intervals(self, alpha: float, upper: float) -> list[Interval]:
        """Intervals that contain the free coordinates of every model with P <= upper."""

    def restricted(self, coef: Array, intercept: Any) -> tuple[Array, Any]:
        """A model with nearly the same predictions whose ``left_out`` coefficients are 0."""
        return coef, intercept

    def largest_alpha(self, problem: Any) -> float:
        """An alpha at and above which the best constant is optimal; nan if none is known."""
        return nan

    def projected(self, problem: Any, point: Any) -> DualPoint:
        """The point projected so that its free sums are small; the given point if that fails."""
        return point

    def balanced(self, problem: Any, point: Any, near: Array | None) -> DualPoint:
        """A point nearby whose free sums vanish in exact arithmetic, if one is proven to exist."""
        return self.projected(problem, point)
