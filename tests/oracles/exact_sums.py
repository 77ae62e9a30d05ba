"""Sums of products and solutions of linear equations, in rational arithmetic."""

from fractions import Fraction
from math import prod

import numpy as np


def exact(values):
    return [Fraction(float(value)) for value in values]


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


def solved(matrix, right):
    """The solution of a few linear equations, by elimination."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for k in range(len(rows)):
        pivot = next(i for i in range(k, len(rows)) if rows[i][k] != 0)
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [value / rows[k][k] for value in rows[k]]
        for i in range(len(rows)):
            if i != k:
                factor = rows[i][k]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [row[-1] for row in rows]
