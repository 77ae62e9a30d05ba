"""Penalties extended by an additional coefficient (`with_coefficient`)."""

from functools import singledispatch
from math import inf
from typing import Any

import numpy as np

from .base import Penalty, Structure
from .groups import GroupL2
from .norms import L2Norm
from .weighted import Separable

__all__ = ["with_coefficient"]


@singledispatch
def with_coefficient(penalty: Any, n_features: int, weight: float) -> Penalty:
    """The penalty R(w) + weight |t| of the coefficients (w, t), of length n_features + 1.

    Parameters
    ----------
    penalty : Penalty
        R: a sum over single coefficients, the Euclidean norm or a group lasso penalty.
    n_features : int
        The number of coefficients that R has.
    weight : float
        The weight of abs(t), at least 0; with 0 the last coefficient is free.

    Raises
    ------
    ValueError
        If R is none of these.
    """
    if penalty.structure is not Structure.SEPARABLE:
        raise ValueError(
            "The penalty must be a sum over single coefficients (L1, SquaredL2, ElasticNet, "
            "WeightedL1, Separable ...), L2Norm or GroupL2 for a model with one more unknown, got "
            f"{penalty!r}."
        )
    l1, l2, lower, upper = (np.broadcast_to(term, n_features) for term in penalty.terms)
    return Separable(
        np.append(l1, weight), np.append(l2, 0.0), np.append(lower, -inf), np.append(upper, inf)
    )


@with_coefficient.register
def _(penalty: L2Norm, n_features: int, weight: float) -> Penalty:
    return GroupL2([n_features, 1], weights=[1.0, weight])


@with_coefficient.register
def _(penalty: GroupL2, n_features: int, weight: float) -> Penalty:
    bound: Any = penalty.bind(n_features)
    labels = np.append(bound.labels, bound.partition.n_groups)
    weights = bound.group_terms[1]
    # labels are taken in the order in which they first appear
    _, first = np.unique(labels, return_index=True)
    order = np.argsort(first)
    return GroupL2(labels, weights=np.append(weights, weight)[order])
