"""The bases of the coefficients in which an objective has simple terms."""

from math import sqrt
from typing import Any

import numpy as np

from ..._typing import Array, Indices
from ...designs.far_columns import FAR
from ...penalties import Penalty
from .maps import Coefficients, Differences, Map
from .settings import SETTINGS


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


class CentredFeatures:
    """Features minus their means, in a basis.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    weights : ndarray of shape (n_samples,)
    ones : bool
        Whether there is an intercept.
    basis : Basis

    Attributes
    ----------
    table : ndarray of shape (n_samples, n_features)
        The columns, 0 for features that are constant up to rounding.
    mean : ndarray of shape (n_features,)
        The means that were subtracted.
    sizes : ndarray of shape (n_features,)
        The norms of the columns, or of constant ones without an intercept.
    is_far : bool
        Whether the mean of some feature is far from 0.
    """

    def __init__(self, X: Array, weights: Array, ones: bool, basis: Basis) -> None:
        total = float(np.sum(weights)) or 1.0
        features, weights = np.array(X, dtype=np.float64), weights / total
        mean = weights @ features
        features -= mean
        spread = np.sqrt(weights @ features**2)
        far = (np.abs(mean) > FAR * spread) & (spread > SETTINGS.constant_spread * np.abs(mean))
        # the rounding error of sums over features is that of their terms
        terms = np.abs(basis.columns((spread + np.abs(mean))[np.newaxis])[0])
        self.table, self.mean = basis.columns(features), basis.columns(mean[np.newaxis])[0]
        spread = np.sqrt(weights @ self.table**2)
        constant = spread <= SETTINGS.constant_spread * terms
        self.table[:, constant] = 0.0
        sizes = np.where(constant, 0.0 if ones else np.abs(self.mean), spread)
        self.sizes, self.is_far = sqrt(total) * sizes, bool(far.any())
