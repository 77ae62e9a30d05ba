"""Preconditioners: approximate inverses of the curvature of several outputs plus a ridge.

The curvature sum_i x_i x_i' (x) C_i is approximately G (x) C, with C = sum_i C_i over the outputs
and G = sum_i w_i x_i x_i' over the features, where the w_i sum to 1. C accounts for directions
without curvature: for losses of classes, adding a number to all outputs does not change them.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Protocol

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ..._typing import Array, Indices
from ...designs.outputs_curvature import GramMatrices, OutputColumns
from .settings import OUTPUT_QUADRATIC as SETTINGS


class Preconditioner(Protocol):
    """The base class of an approximate inverse M^-1 of a matrix over the entries of a table."""

    def times(self, table: Array) -> Array:
        """The product of M^-1 with a table."""

    def between(self, rows: Indices, u: Array) -> Array:
        """The numbers (e_i u_i')' M^-1 (e_j u_j') for vectors u of some rows, as a matrix.

        A vector stands for a diagonal matrix.
        """


class _Entrywise(Preconditioner):
    """The inverse of a diagonal.

    Parameters
    ----------
    inverse : ndarray of shape (n_rows, n_outputs)
    """

    def __init__(self, inverse: Array) -> None:
        self.inverse = inverse

    def times(self, table: Array) -> Array:
        return self.inverse * table

    def between(self, rows: Indices, u: Array) -> Array:
        return np.sum(u * u * self.inverse[rows], axis=1)


class _Rowwise(Preconditioner):
    """The inverse of g_j C + ridge_j I for each row j.

    Parameters
    ----------
    g, ridge : ndarray of shape (n_support,)
    C : ndarray of shape (n_outputs, n_outputs)
    support : ndarray of shape (n_support,)
        The rows of tables to which the inverse applies; other rows become 0.
    """

    def __init__(self, g: Array, C: Array, ridge: Array, support: Indices) -> None:
        shares, self.outputs = np.linalg.eigh(C)
        values = np.multiply.outer(g, np.maximum(shares, 0.0)) + ridge[:, np.newaxis]
        largest = np.max(values, axis=1, keepdims=True)
        min_value = np.maximum(SETTINGS.least_curvature * largest, np.finfo(float).tiny)
        self.inverse = 1.0 / np.maximum(values, min_value)
        self.support = support

    def times(self, table: Array) -> Array:
        out = np.zeros_like(table)
        out[self.support] = (self.inverse * (table[self.support] @ self.outputs)) @ self.outputs.T
        return out

    def between(self, rows: Indices, u: Array) -> Array:
        inverse = self.inverse[np.searchsorted(self.support, rows)]
        return np.sum(inverse * (u @ self.outputs) ** 2, axis=1)


class _Averaged(Preconditioner):
    """The inverse of M + diag(ridge) for each output, with the mean over outputs apart.

    Parameters
    ----------
    M : ndarray of shape (n_support, n_support)
        The average curvature of an output.
    ridge : ndarray of shape (n_support,)
    support : ndarray
    common : bool
        Whether adding a number to all outputs of a row has no curvature. The inverse for the mean
        over the outputs is then that of the ridge, and M is the curvature of deviations from it.

    Raises
    ------
    LinAlgError
    """

    def __init__(self, M: Array, ridge: Array, support: Indices, common: bool) -> None:
        self.support, self.common = support, common
        min_value = SETTINGS.least_curvature * np.maximum(M.diagonal(), np.finfo(float).tiny)
        self.ridge = np.maximum(ridge, min_value)[:, np.newaxis]
        M.ravel()[:: len(M) + 1] += ridge
        M.ravel()[:: len(M) + 1] *= 1.0 + 1e-14  # positive definite in spite of rounding
        self._factor = cho_factor(M, lower=True, check_finite=False)

    def times(self, table: Array) -> Array:
        out, on_support = np.zeros_like(table), table[self.support]
        if not self.common:
            out[self.support] = cho_solve(self._factor, on_support, check_finite=False)
            return out
        mean = np.mean(on_support, axis=1, keepdims=True)
        out[self.support] = cho_solve(self._factor, on_support - mean, check_finite=False)
        out[self.support] += mean / self.ridge
        return out

    def between(self, rows: Indices, u: Array) -> Array:
        positions = np.searchsorted(self.support, rows)
        units = np.zeros((len(self.support), len(rows)))
        units[positions, np.arange(len(rows))] = 1.0
        inverse = cho_solve(self._factor, units, check_finite=False)[positions]
        if not self.common:
            return inverse * (u @ u.T)
        mean = np.mean(u, axis=1)
        products = inverse * ((u - mean[:, np.newaxis]) @ u.T)
        products.ravel()[:: len(rows) + 1] += u.shape[1] * mean**2 / self.ridge[positions, 0]
        return products


def preconditioner_on_rows(
    H: GramMatrices | OutputColumns, inside: Any, support: Indices, ridge: Array
) -> Preconditioner:
    """A preconditioner for the curvature plus a ridge on the entries ``inside`` of a support."""
    if not inside[support].all():
        return _diagonal(H, inside, ridge)
    more = (ridge[:, 0] + np.mean(H.ridge, axis=1))[support]
    with suppress(LinAlgError):
        if len(support) <= SETTINGS.newton_rows:
            M = H.averaged[np.ix_(support, support)]
            common = H.n_outputs > 1 and H.is_shift_free
            if common:
                M *= H.n_outputs / (H.n_outputs - 1.0)
            return _Averaged(M, more, support, common)
    return _Rowwise(H.scales[support], H.between_outputs, more, support)


def preconditioner_of_squares(H: OutputColumns, ridge: Array) -> Preconditioner:
    """A preconditioner for the curvature plus the ridge of a squared norm, on all rows."""
    everywhere = np.arange(len(ridge))
    more = ridge[:, 0] + np.mean(H.ridge, axis=1)
    with suppress(LinAlgError):
        if len(ridge) <= SETTINGS.newton_rows:
            return _Averaged(H.averaged.copy(), more, everywhere, False)
    return _diagonal(H, H.mask, ridge)


def without_rows(
    inner: Preconditioner, rows: Indices, D: Array, u: Array
) -> Callable[[Array], Array]:
    """The products with the inverse of M - sum_j D_j (e_j u_j')(e_j u_j')', for M^-1 ``inner``.

    The second derivative D_j (I - u_j u_j') of a row's norm is 0 along the row u_j. Woodbury's
    identity requires a linear system with an unknown for each row. Where D_j is large, this
    direction determines the number of steps of conjugate gradients.
    """
    between, solve = inner.between(rows, u), None
    if between.ndim == 1:
        system = 1.0 / D - between
        if np.all(system > 0.0):
            solve = partial(np.multiply, 1.0 / system)
    else:
        with suppress(LinAlgError):
            factor = cho_factor(np.diag(1.0 / D) - between, lower=True, check_finite=False)
            solve = partial(cho_solve, factor, check_finite=False)
    if solve is None:
        return inner.times

    def times(table: Array) -> Array:
        out = inner.times(table)
        right = solve(np.sum(u * out[rows], axis=1))
        more = np.zeros_like(table)
        more[rows] = right[:, np.newaxis] * u
        return out + inner.times(more)

    return times


def _diagonal(H: GramMatrices | OutputColumns, inside: Any, ridge: Array) -> Preconditioner:
    diagonal = np.where(inside, H.diagonal + H.ridge + ridge, 0.0)
    is_positive = diagonal > 0.0
    return _Entrywise(np.where(is_positive, 1.0 / np.where(is_positive, diagonal, 1.0), 0.0))
