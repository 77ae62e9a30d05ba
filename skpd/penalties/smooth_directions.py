"""Directions along which a penalty is differentiable at given coefficients.

At w a penalty R has kinks along some directions, such as the coefficients that are 0 for the l1
norm, and is differentiable along the others, on which all of its subgradients agree. If w is
optimal, v = -X' diag(c) theta of an optimal dual point theta therefore has t'v = alpha t'g for
every such direction t and any subgradient g. These directions span the tangent space of the
manifold on which R is smooth (Lewis, 2002). Along the boundary of a constraint set the gradient
is 0.

The directions are used to improve dual points and are no part of a proof: coefficients that a
solver has left close to a kink are treated as if they were at the kink.
"""

from typing import NamedTuple

import numpy as np

from .._typing import Array, Indices, Mask

NEAR = 1e-7  # relative distance from a radius or the largest coefficient that counts as 0


class SmoothDirections(NamedTuple):
    """Directions of differentiability, as columns, and a subgradient of R.

    The products of the subgradient with the directions are those of every subgradient.
    """

    directions: Array
    subgradient: Array


def of_coordinates(chosen: Indices | Mask, subgradient: Array) -> SmoothDirections:
    """The directions of the coefficients in a mask."""
    return SmoothDirections(np.eye(len(chosen))[:, chosen], subgradient)


def of_level_set(
    value: float, radius: float, slopes: Array, subgradient: Array
) -> SmoothDirections:
    """The directions at a point of a set where a function is at most ``radius``.

    On the boundary they are orthogonal to the ``slopes`` of the function, among the non-zero ones:
    there v is known up to a multiple of the slopes.
    """
    if value < (1.0 - NEAR) * radius:
        return of_coordinates(np.ones(len(slopes), dtype=bool), subgradient)
    largest = np.argmax(np.abs(slopes))
    others = np.flatnonzero(slopes)
    others = others[others != largest]
    table = np.eye(len(slopes))[:, others]
    table[largest] -= slopes[others] / slopes[largest]
    return SmoothDirections(table, subgradient)
