"""Sums whose parts are added up in different places, with bounds on what the additions lose."""

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any

import numpy as np

from .._floats import EPSILON

__all__ = ["BoundedSum", "Largest", "added", "halves"]


class BoundedSum:
    """Numbers or arrays high + low with a bound on their errors.

    What an addition of the highs loses is added to the lows (Knuth's TwoSum), so that sums are as
    good as in twice the working precision, in whatever order they are taken.

    Parameters
    ----------
    high, low, error : float or ndarray
    """

    def __init__(self, high: Any, error: Any = 0.0, low: Any = 0.0) -> None:
        self.high, self.error, self.low = high, error, low

    def __add__(self, other: "BoundedSum") -> "BoundedSum":
        total = self.high + other.high
        share = total - self.high
        lost = (self.high - (total - share)) + (other.high - share)
        rest = lost + other.low
        low = self.low + rest
        error = self.error + other.error + EPSILON * (np.abs(low) + np.abs(rest))
        return BoundedSum(total, error * (1.0 + 4.0 * EPSILON), low)

    @property
    def bounded(self) -> tuple[Any, Any]:
        """The sum as numbers, and a bound on their errors."""
        found = self.high + self.low
        error = self.error + 4.0 * EPSILON * np.abs(found)
        return found, error * (1.0 + 4.0 * EPSILON)


class Largest:
    """The largest of some numbers, which is to be kept where others are added."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __add__(self, other: "Largest") -> "Largest":
        return Largest(np.maximum(self.value, other.value))


def halves(first: int, last: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """The two ranges of parts whose sums are added for that of a range.

    They depend on the range alone: so sums are the same numbers wherever the parts are.
    """
    middle = (first + last) // 2
    return (first, middle), (middle, last)


def added(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The sums, by name, of parts that have the same names, in their order."""

    def both(one: Any, other: Any) -> Any:
        return {name: value + other[name] for name, value in one.items()}

    return dict(reduce(both, parts))
