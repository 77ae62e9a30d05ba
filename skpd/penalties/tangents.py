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

from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from .._typing import Array
from .balls import ElasticNetBall, L1Ball, SquaredL2OnL1Ball
from .base import Structure
from .chains import FusedLasso, TotalVariation
from .groups import GroupL2, SparseGroup
from .norms import L2Norm, LInf

__all__ = ["SmoothDirections", "smooth_directions"]

NEAR = 1e-7  # relative distance from a radius or the largest coefficient that counts as 0


class SmoothDirections(NamedTuple):
    """Directions of differentiability, as columns, and a subgradient of R.

    The products of the subgradient with the directions are those of every subgradient.
    """

    directions: Array
    subgradient: Array


def _coordinates(chosen: Any, subgradient: Array) -> SmoothDirections:
    return SmoothDirections(np.eye(len(chosen))[:, chosen], subgradient)


def _proportional(slopes: Array, subgradient: Array) -> SmoothDirections:
    """The directions orthogonal to ``slopes`` among its non-zero entries.

    On a boundary with these slopes, v is known up to a multiple of them.
    """
    some = np.flatnonzero(slopes)
    largest = some[np.argmax(np.abs(slopes[some]))] if len(some) else 0
    table = np.eye(len(slopes))[:, some[some != largest]]
    table[largest] -= slopes[some[some != largest]] / slopes[largest] if len(some) else 0.0
    return SmoothDirections(table, subgradient)


@singledispatch
def smooth_directions(penalty: Any, w: Array) -> SmoothDirections | None:
    """The directions along which R is differentiable at w; None where that is not known."""
    if penalty.structure is not Structure.SEPARABLE:
        return None
    l1, l2, lower, upper = penalty.terms
    inside = (lower < w) & (w < upper) & ((w != 0.0) | (l1 == 0.0))
    return _coordinates(inside, l1 * np.sign(w) + l2 * w)


@smooth_directions.register
def _(penalty: L2Norm, w: Array) -> SmoothDirections:
    norm = penalty.value(w)
    return _coordinates(np.full(len(w), norm > 0.0), w / (norm or 1.0))


@smooth_directions.register
def _(penalty: LInf, w: Array) -> SmoothDirections:
    largest = float(np.max(np.abs(w), initial=0.0))
    at_top = np.abs(w) >= (1.0 - NEAR) * largest
    signs = np.where(at_top, np.sign(w), 0.0)
    subgradient = signs / max(np.count_nonzero(signs), 1)
    if largest == 0.0:
        return _coordinates(~at_top, subgradient)
    return SmoothDirections(np.column_stack([np.eye(len(w))[:, ~at_top], signs]), subgradient)


@smooth_directions.register(GroupL2)
@smooth_directions.register(SparseGroup)
def _(penalty: GroupL2 | SparseGroup, w: Array) -> SmoothDirections:
    l1, weights = penalty.group_terms
    norms = penalty.partition.norms(w)
    slopes = weights / np.where(norms > 0.0, norms, np.inf)
    free = (norms > 0.0)[penalty.labels] & ((w != 0.0) | (l1 == 0.0))
    return _coordinates(free, l1 * np.sign(w) + slopes[penalty.labels] * w)


@smooth_directions.register(TotalVariation)
@smooth_directions.register(FusedLasso)
def _(penalty: TotalVariation | FusedLasso, w: Array) -> SmoothDirections:
    ratio = getattr(penalty, "l1_ratio", 0.0)
    jumps = np.sign(np.diff(w))
    blocks = np.concatenate([[0], np.cumsum(jumps != 0.0)])
    free = np.unique(blocks[(w != 0.0) | (ratio == 0.0)])
    fused = np.append(0.0, jumps) - np.append(jumps, 0.0)
    subgradient = ratio * np.sign(w) + (1.0 - ratio) * fused
    return SmoothDirections((blocks[:, np.newaxis] == free).astype(float), subgradient)


@smooth_directions.register
def _(penalty: ElasticNetBall, w: Array) -> SmoothDirections:
    l1, l2 = penalty.l1_ratio, 1.0 - penalty.l1_ratio
    value = l1 * float(np.sum(np.abs(w))) + 0.5 * l2 * float(w @ w)
    return _ball(value, penalty.radius, l1 * np.sign(w) + l2 * w, np.zeros_like(w))


@smooth_directions.register(L1Ball)
@smooth_directions.register(SquaredL2OnL1Ball)
def _(penalty: L1Ball | SquaredL2OnL1Ball, w: Array) -> SmoothDirections:
    size = float(np.sum(np.abs(w)))
    return _ball(size, penalty.radius, np.sign(w), penalty.without_ridge()[0] * w)


def _ball(value: float, radius: float, slopes: Array, subgradient: Array) -> SmoothDirections:
    if value < (1.0 - NEAR) * radius:
        return _coordinates(np.ones(len(slopes), dtype=bool), subgradient)
    return _proportional(slopes, subgradient)
