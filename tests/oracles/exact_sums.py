"""Sums of products of floating-point numbers, in rational arithmetic."""

from fractions import Fraction
from math import prod

import numpy as np


def exact_sum(*vectors):
    """The sum of the products of the entries of several vectors."""
    total = Fraction(0)
    for entries in zip(*(np.asarray(x).tolist() for x in vectors), strict=True):
        total += prod(map(Fraction, entries))
    return total


def within(found, expected, most):
    """Whether a sum differs from a fraction by at most its error, which is at most a number."""
    value, error = (Fraction(float(x)) for x in found)
    return abs(value - expected) <= error <= Fraction(float(most))
