"""The precision of 64-bit floating-point numbers, and sums beyond it."""

from typing import Any

import numpy as np

EPSILON = float(np.finfo(np.float64).eps)  # distance from 1 to the next larger number

LEAST = float(np.finfo(np.float64).smallest_subnormal)  # the least number above 0


def sum_and_rest(a: Any, b: Any) -> tuple[Any, Any]:
    """The rounded sum of a and b, and its exact rounding error (Knuth's TwoSum)."""
    total = a + b
    if not np.any(b):
        return total, 0.0
    share = total - a
    return total, (a - (total - share)) + (b - share)
