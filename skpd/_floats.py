"""The precision of 64-bit floating-point numbers, and sums beyond it."""

from typing import Any

import numpy as np

from ._typing import Array

EPSILON = float(np.finfo(np.float64).eps)  # distance from 1 to the next larger number

LEAST = float(np.finfo(np.float64).smallest_subnormal)  # the least number above 0


def without_negligible(x: Array, share: float) -> Array:
    """The entries whose size is above a share of the largest one; the others become 0."""
    sizes = np.abs(x)
    return np.where(sizes > share * np.max(sizes, initial=0.0), x, 0.0)


def sum_and_rest(a: Any, b: Any) -> tuple[Any, Any]:
    """The rounded sum of a and b, and its exact rounding error (Knuth's TwoSum)."""
    total = a + b
    if not np.any(b):
        return total, 0.0
    share = total - a
    return total, (a - (total - share)) + (b - share)
