"""Dual points of soft maxima that are orthogonal to free coefficients, by tilted distributions.

The gradient theta of a soft maximum at scores u is a dual point, the mean of a distribution. Along
u + F t, with F the columns of the free coefficients, the loss is a convex function h of t. Its
gradient g holds the sums F' diag(c) theta of the free coefficients, and Newton's method minimises
it until these are rounding errors. That they vanish exactly at a t nearby follows from ::

    |h'''[s, s, s]| <= M ||s||_H h''[s, s],    H = h''(0),  M = 2 max_i ||F_i||_H^-1,

as a third central moment is at most the range times the variance. Along any direction the slope of
h at the distance 2 q, q = ||g||_H^-1, is then positive if M q <= 1/2. The minimum is therefore
within that distance, and its scores differ by at most M q (Bach, 2010, Self-concordant analysis
for logistic regression, Electronic Journal of Statistics 4).
"""

from math import sqrt
from typing import Protocol, Self, TypeVar

import numpy as np

from .._floats import EPSILON
from .._typing import Array

# Most Newton steps and halvings of them: one to three are usual, and thirty where classes overlap
# by 1e-10 of their distance. A step is halved where a slope did not decrease.
MOST_MOVES = 100
HALVINGS = 20
QUADRATIC = 0.1  # changes of scores from which on steps decrease
SMALL = 1e-14  # changes of scores that are rounding errors
CERTAIN = 1e-8  # a least eigenvalue of a scaled Hessian with which inverses are precise
ROUNDING = 8.0 * EPSILON  # of each row, in a sum over the rows
DIFFERENCES = 2e-11  # more of it where sums are differences (`risk_set_hessians`)
HESSIANS = 2.0  # bounds the ratio of the computed and the exact Hessian, if it is certain


T = TypeVar("T", bound="Tilt")


class Tilt(Protocol):
    """The distribution of a dual point, which scores F t tilt."""

    def sums(self) -> tuple[Array, Array]:
        """The gradient g, with bounds on its errors."""

    @property
    def n_rows(self) -> int:
        """The number of rows."""

    def hessian(self, precise: bool) -> tuple[Array, Array] | None:
        """The Hessian H, and a diagonal matrix above it whose entries are sums of its terms.

        The rounding errors of H, at most `ROUNDING` a row, are relative to the latter. None where
        numbers overflow, or where there is no other one that is more precise.
        """

    def largest_score(self, t: Array) -> float:
        """The largest of the |F_i t|."""

    def largest_norm(self, inverse: Array) -> float:
        """The largest of the ||F_i|| in the norm of a matrix, the inverse of H."""

    def moved(self, t: Array) -> Self:
        """The tilt by -F t."""


def tilted(tilt: T) -> tuple[T, float] | None:
    """The distribution whose sums vanish up to rounding, and its distance from one without sums.

    The distance bounds the norm in H, anywhere between them, of the t that leads to the latter:
    the root of the sum of the variances of the changes of scores. None where there is no proof.
    """
    (sums, errors), last = tilt.sums(), np.inf
    if not len(sums):
        return tilt, 0.0
    left, length = MOST_MOVES, 1.0
    while left > 0:
        if (inverse := _inverse(tilt)) is None:
            return None
        step = inverse @ sums
        size = tilt.largest_score(step)
        if not SMALL < size < last:
            break
        last, length = size if size < QUADRATIC else np.inf, min(1.0, 2.0 * length)
        step *= length
        for _ in range(HALVINGS):
            moved, left = tilt.moved(step), left - 1
            (next_sums, errors), slope = moved.sums(), abs(float(step @ sums))
            if abs(float(step @ next_sums)) <= 0.75 * slope:
                break
            step, length = 0.5 * step, 0.5 * length
        tilt, sums = moved, next_sums
    else:
        return None
    largest = np.abs(sums) + errors
    q = sqrt(HESSIANS * float(largest @ np.abs(inverse) @ largest))
    changed = 2.0 * sqrt(HESSIANS) * tilt.largest_norm(inverse) * q * (1.0 + 1e-6)
    # a variance changes at most by the factor exp(2 changed)
    return (tilt, 2.0 * q * (1.0 + 2.0 * changed)) if changed <= 0.5 else None


def _inverse(tilt: Tilt) -> Array | None:
    """The inverse of the Hessian, or None where rounding errors may change it by half."""
    for precise in (False, True):
        H, diagonal = tilt.hessian(precise) or (np.zeros((1, 1)), np.zeros(1))
        sizes = np.sqrt(diagonal)
        if not np.all(sizes > 0.0):
            continue
        values, vectors = np.linalg.eigh(H / np.outer(sizes, sizes))
        error = len(values) * (tilt.n_rows * ROUNDING + DIFFERENCES)
        if values[0] > max(CERTAIN, 2.0 * error):
            return (vectors / values) @ vectors.T / np.outer(sizes, sizes)
    return None
