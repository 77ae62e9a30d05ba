"""Sums whose parts are computed in different processes, with bounds on their rounding errors."""

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any

import numpy as np

from .._floats import EPSILON, sum_and_rest
from .._typing import Array, Numbers


class BoundedSum:
    """Numbers or arrays high + low, with a bound on their errors.

    The rounding errors of adding the highs are added to the lows (Knuth's TwoSum), so that sums in
    any order are as accurate as in twice the working precision.

    Parameters
    ----------
    high, low, error : float or ndarray
    """

    def __init__(self, high: Numbers, error: Numbers = 0.0, low: Numbers = 0.0) -> None:
        self.high, self.error, self.low = high, error, low

    def __add__(self, other: "BoundedSum") -> "BoundedSum":
        total, lost = sum_and_rest(self.high, other.high)
        low_change = lost + other.low
        low = self.low + low_change
        error = self.error + other.error + EPSILON * (np.abs(low) + np.abs(low_change))
        return BoundedSum(total, error * (1.0 + 4.0 * EPSILON), low)

    @property
    def bounded(self) -> tuple[Numbers, Numbers]:
        """The sum as numbers, and a bound on their errors."""
        total = self.high + self.low
        error = self.error + 4.0 * EPSILON * np.abs(total)
        return total, error * (1.0 + 4.0 * EPSILON)


class Largest:
    """A number whose "sum" with another is the maximum of both."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __add__(self, other: "Largest") -> "Largest":
        return Largest(np.maximum(self.value, other.value))


class RowFactor:
    """The triangular factor R of rows of a table, whose "sum" is that of all of these rows."""

    def __init__(self, rows: Array) -> None:
        self.R = np.linalg.qr(rows, mode="r")

    def __add__(self, other: "RowFactor") -> "RowFactor":
        return RowFactor(np.vstack([self.R, other.R]))


Summand = float | Array | BoundedSum | Largest | RowFactor
Sums = dict[str, Summand]  # by name


def halves(first: int, last: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """The two halves of a range of parts, whose sums are added for the sum of the range.

    The halves depend on the range only, so that rounding errors are the same wherever the parts
    are computed.
    """
    middle = (first + last) // 2
    return (first, middle), (middle, last)


def added(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The sums by name of parts with the same names, added in their order."""

    def both(one: Any, other: Any) -> Any:
        return {name: value + other[name] for name, value in one.items()}

    return dict(reduce(both, parts))
