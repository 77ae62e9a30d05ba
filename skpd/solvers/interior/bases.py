"""The bases of the coefficients in which an objective has simple terms."""

from typing import Any

import numpy as np

from ..._typing import Array, Indices
from ...penalties import Penalty
from .maps import Coefficients, Differences, Map


class Basis:
    """A basis of the coefficients, here their order, that suits the terms of a penalty."""

    dense = False

    def __init__(self, order: Indices) -> None:
        self.order = order

    def columns(self, X: Any) -> Any:
        """The columns of X in the basis."""
        return X if np.array_equal(self.order, np.arange(X.shape[1])) else X[:, self.order]

    def coef(self, x: Array) -> Array:
        """The coefficients of the features from those in the basis."""
        coef = np.empty_like(x)
        coef[self.order] = x
        return coef

    def differences(self, width: Array) -> tuple[Map, Array]:
        """The map to differences of neighbours, and their sizes from those of coefficients."""
        return Differences(len(width)), np.minimum(width[1:], width[:-1])


class Steps(Basis):
    """The basis of one coefficient, the level, and of differences of neighbours.

    The column of a difference is the sum of the features on the side away from the level. The
    level is the coefficient of the largest feature, which would otherwise cause rounding errors in
    all sums.
    """

    dense = True  # columns are sums, also for a sparse X

    def __init__(self) -> None:
        self.level = -1

    def columns(self, X: Any) -> Any:
        table = X if isinstance(X, np.ndarray) else X.toarray()
        if self.level < 0:
            self.level = int(np.argmax(np.max(np.abs(table), axis=0)))
        k, out = self.level, np.empty(table.shape)
        out[:, 0] = np.sum(table, axis=1)
        out[:, 1 : k + 1] = -np.cumsum(table[:, :k], axis=1, dtype=np.float64)
        out[:, k + 1 :] = np.cumsum(table[:, :k:-1], axis=1, dtype=np.float64)[:, ::-1]
        return out

    def coef(self, x: Array) -> Array:
        k, coef = self.level, np.empty_like(x)
        coef[k:] = np.cumsum(np.append(x[0], x[k + 1 :]))
        coef[k::-1] = x[0] - np.cumsum(np.append(0.0, x[k:0:-1]))
        return coef

    def differences(self, width: Array) -> tuple[Map, Array]:
        return Coefficients(np.arange(1, len(width))), width[1:]


def basis_of(penalty: Penalty, n_coefficients: int) -> Basis:
    """The basis that suits the terms of a penalty."""
    if penalty.group_order is not None:
        return Basis(penalty.group_order)
    return Steps() if penalty.of_neighbours else Basis(np.arange(n_coefficients))
