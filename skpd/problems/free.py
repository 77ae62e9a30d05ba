"""The interface of coordinates that the penalty leaves free (`Free`)."""

from abc import ABC, abstractmethod
from math import nan
from typing import Any

import numpy as np

from .._typing import Array, Indices, Numbers
from ..certificates.objective import DualPoint, Interval
from ..penalties import Penalty


class Free(ABC):
    """Coordinates that the penalty leaves free, such as intercepts, biases and levels.

    Each of them defines a sum over the rows that should vanish for a dual point.

    Parameters
    ----------
    rows : Rows
    penalty : Penalty
    """

    def __init__(self, rows: Any, penalty: Penalty) -> None:
        self.rows, self.penalty = rows, penalty

    @abstractmethod
    def intervals(self, alpha: float, upper: float) -> list[Interval]:
        """Intervals that contain the free coordinates of every model with P <= upper."""

    @property
    def left_out(self) -> Indices:
        """Free coefficients that are fixed at 0, as their columns are combinations of others.

        They are so up to rounding; certificates are of the problem with this restriction.
        """
        return np.empty(0, dtype=np.int64)

    @property
    def has_level(self) -> bool:
        """Whether R(w + m) = R(w) for every constant m."""
        return self.penalty.free_level

    def restricted(self, coef: Array, intercept: Numbers) -> tuple[Array, Numbers]:
        """A model with nearly the same predictions whose ``left_out`` coefficients are 0."""
        return coef, intercept

    def largest_alpha(self, problem: Any) -> float:
        """An alpha at and above which the best constant is optimal; nan if none is known."""
        return nan

    def likely_cost(self, gradient: Array, slope: Numbers, alpha: float, upper: float) -> float:
        """An estimate of the reduction of a bound by free sums; 0 if none is known."""
        return 0.0

    def projected(self, problem: Any, point: DualPoint) -> DualPoint:
        """The point projected so that its free sums are small; the given point if that fails."""
        return point

    def balanced(self, problem: Any, point: DualPoint, near: Array | None) -> DualPoint:
        """A point nearby whose free sums vanish in exact arithmetic, if one is proven to exist."""
        return self.projected(problem, point)
