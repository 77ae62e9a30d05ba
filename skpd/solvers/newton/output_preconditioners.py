"""Approximate inverses of the curvature of several outputs and of the ridge beside it.

The curvature is about G (x) C, G of the features and C of the outputs
(`skpd.designs.outputs_moments`), and C alone tells apart what changes the losses and what does
not: of losses of classes a number added to all outputs has no curvature.
"""

from contextlib import suppress
from typing import Any, Protocol

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ..._typing import Array, Indices
from ...designs.outputs_curvature import OutputColumns
from .settings import OUTPUT_QUADRATIC as SETTINGS

__all__ = ["Preconditioner", "preconditioner_of_squares", "preconditioner_on_rows", "without_rows"]


class Preconditioner(Protocol):
    """An approximate inverse M^-1 of a matrix of the entries of a table."""

    def times(self, table: Array) -> Array:
        """M^-1 times a table."""
        ...

    def between(self, rows: Indices, u: Array) -> Array | None:
        """(e_i u_i')' M^-1 (e_j u_j') for vectors u of some rows, or its diagonal alone.

        None where it is not known.
        """
        ...


class _Entrywise:
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
        found: Array = np.sum(u * u * self.inverse[rows], axis=1)
        return found


class _Rowwise:
    """(g_j C + ridge_j I)^-1 for each row.

    Parameters
    ----------
    g, ridge : ndarray of shape (n_support,)
    C : ndarray of shape (n_outputs, n_outputs)
    support : ndarray of shape (n_support,)
        Rows of the tables; others become 0.
    """

    def __init__(self, g: Array, C: Array, ridge: Array, support: Indices) -> None:
        shares, self.outputs = np.linalg.eigh(C)
        values = np.multiply.outer(g, np.maximum(shares, 0.0)) + ridge[:, np.newaxis]
        largest = np.max(values, axis=1, keepdims=True)
        least = np.maximum(SETTINGS.least_curvature * largest, np.finfo(float).tiny)
        self.inverse = 1.0 / np.maximum(values, least)
        self.support = support

    def times(self, table: Array) -> Array:
        out = np.zeros_like(table)
        out[self.support] = (self.inverse * (table[self.support] @ self.outputs)) @ self.outputs.T
        return out

    def between(self, rows: Indices, u: Array) -> Array:
        inverse = self.inverse[np.searchsorted(self.support, rows)]
        found: Array = np.sum(inverse * (u @ self.outputs) ** 2, axis=1)
        return found


class _Averaged:
    """(M + diag(ridge))^-1 for each output, but for what all outputs have in common.

    Parameters
    ----------
    M : ndarray of shape (n_support, n_support)
        The curvature of an output, on the average.
    ridge : ndarray of shape (n_support,)
    support : ndarray
    common : bool
        Whether a number added to all outputs of a row has no curvature, so that only the ridge
        keeps it back; M is then that of what is left.

    Raises
    ------
    LinAlgError
    """

    def __init__(self, M: Array, ridge: Array, support: Indices, common: bool) -> None:
        self.support, self.common = support, common
        least = SETTINGS.least_curvature * np.maximum(M.diagonal(), np.finfo(float).tiny)
        self.ridge = np.maximum(ridge, least)[:, np.newaxis]
        M.ravel()[:: len(M) + 1] += ridge
        M.ravel()[:: len(M) + 1] *= SETTINGS.diagonal_factor
        self._factor = cho_factor(M, lower=True, check_finite=False)

    def times(self, table: Array) -> Array:
        out, own = np.zeros_like(table), table[self.support]
        if not self.common:
            out[self.support] = cho_solve(self._factor, own, check_finite=False)
            return out
        mean = np.mean(own, axis=1, keepdims=True)
        out[self.support] = cho_solve(self._factor, own - mean, check_finite=False)
        out[self.support] += mean / self.ridge
        return out

    def between(self, rows: Indices, u: Array) -> Array:
        places = np.searchsorted(self.support, rows)
        units = np.zeros((len(self.support), len(rows)))
        units[places, np.arange(len(rows))] = 1.0
        inverse = cho_solve(self._factor, units, check_finite=False)[places]
        if not self.common:
            found: Array = inverse * (u @ u.T)
            return found
        mean = np.mean(u, axis=1)
        found = inverse * ((u - mean[:, np.newaxis]) @ u.T)
        found.ravel()[:: len(rows) + 1] += u.shape[1] * mean**2 / self.ridge[places, 0]
        return found


class _ByOutput:
    """The inverse of M + diag(ridge) on rows of its own for each output."""

    def __init__(self, parts: list[tuple[Indices, Any]]) -> None:
        self.parts = parts

    def times(self, table: Array) -> Array:
        out = np.zeros_like(table)
        for k, (rows, factor) in enumerate(self.parts):
            out[rows, k] = cho_solve(factor, table[rows, k], check_finite=False)
        return out

    def between(self, rows: Indices, u: Array) -> None:
        return None


class _ByRows:
    """(A'A + diag(ridge))^-1 for each output by a system of the rows of A, which are fewer.

    By Woodbury's identity. Without a ridge there is none.
    """

    def __init__(self, A: Array, ridge: Array) -> None:
        self.A, self.inverse = A, 1.0 / ridge[:, np.newaxis]
        inner = A @ (self.inverse * A.T)
        inner.ravel()[:: len(inner) + 1] += 1.0
        self._factor = cho_factor(inner, lower=True, check_finite=False)

    def times(self, table: Array) -> Array:
        scaled = self.inverse * table
        inner = cho_solve(self._factor, self.A @ scaled, check_finite=False)
        found: Array = scaled - self.inverse * (self.A.T @ inner)
        return found

    def between(self, rows: Indices, u: Array) -> None:
        return None


class _WithoutRows:
    """The inverse of M - sum_j D_j (e_j u_j')(e_j u_j')', by Woodbury's identity."""

    def __init__(self, inner: Preconditioner, rows: Indices, u: Array, system: Array) -> None:
        self.inner, self.rows, self.u = inner, rows, u
        self._system: Any = (
            cho_factor(system, lower=True, check_finite=False) if system.ndim == 2 else system
        )

    def times(self, table: Array) -> Array:
        out = self.inner.times(table)
        right = np.sum(self.u * out[self.rows], axis=1)
        if isinstance(self._system, tuple):
            right = cho_solve(self._system, right, check_finite=False)
        else:
            right = right / self._system
        more = np.zeros_like(table)
        more[self.rows] = right[:, np.newaxis] * self.u
        return out + self.inner.times(more)

    def between(self, rows: Indices, u: Array) -> None:
        return None


def preconditioner_on_rows(
    H: OutputColumns, inside: Any, support: Indices, ridge: Array
) -> Preconditioner:
    """For the curvature and a ridge on the entries inside, in the rows of a support."""
    more = ridge[:, 0] + np.mean(H.ridge, axis=1)
    whole = bool(inside[support].all())
    with suppress(LinAlgError):
        if whole and len(support) <= SETTINGS.newton_rows:
            M = H.averaged[np.ix_(support, support)]
            common = H.n_outputs > 1 and H.is_shift_free
            if common:
                M *= H.n_outputs / (H.n_outputs - 1.0)
            return _Averaged(M, more[support], support, common)
        rows_of = [np.flatnonzero(own) for own in inside.T]
        if not whole and max(map(len, rows_of)) <= SETTINGS.newton_rows:
            return _ByOutput([(rows, _factor(H, rows, more[rows])) for rows in rows_of])
    if whole:
        return _Rowwise(H.scales[support], H.of_outputs, more[support], support)
    return _diagonal(H, inside, ridge)


def preconditioner_of_squares(H: OutputColumns, ridge: Array) -> Preconditioner:
    """The same on all rows beside a squared norm."""
    everywhere = np.arange(len(ridge))
    more = ridge[:, 0] + np.mean(H.ridge, axis=1)
    fewer = H.design.shape[0] < min(len(ridge), SETTINGS.newton_rows + 1)
    with suppress(LinAlgError):
        if fewer and bool(np.all(more > 0.0)):
            return _ByRows(H.scaled_table(everywhere), more)
        if len(ridge) <= SETTINGS.newton_rows:
            return _Averaged(H.averaged.copy(), more, everywhere, False)
    return _diagonal(H, H.mask, ridge)


def without_rows(inner: Preconditioner, rows: Indices, D: Array, u: Array) -> Preconditioner:
    """A preconditioner without the curvature D_j that norms do not have along their rows u_j.

    It has a system with a number for each row. Where D_j is large, this direction alone moves, and
    it decides how many steps conjugate gradients take.
    """
    between = inner.between(rows, u)
    if between is None:
        return inner
    if between.ndim == 1:
        system = 1.0 / D - between
        return _WithoutRows(inner, rows, u, system) if np.all(system > 0.0) else inner
    with suppress(LinAlgError):
        return _WithoutRows(inner, rows, u, np.diag(1.0 / D) - between)
    return inner


def _factor(H: OutputColumns, rows: Indices, ridge: Array) -> Any:
    M = H.averaged[np.ix_(rows, rows)]
    M.ravel()[:: len(M) + 1] += ridge
    M.ravel()[:: len(M) + 1] *= SETTINGS.diagonal_factor
    return cho_factor(M, lower=True, check_finite=False)


def _diagonal(H: OutputColumns, inside: Any, ridge: Array) -> Preconditioner:
    diagonal = np.where(inside, H.diagonal + H.ridge + ridge, 0.0)
    some = diagonal > 0.0
    return _Entrywise(np.where(some, 1.0 / np.where(some, diagonal, 1.0), 0.0))
