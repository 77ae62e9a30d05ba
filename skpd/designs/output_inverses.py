"""Inverses of the matrices M_k = H_k + diag(s_k) of outputs on some features, for linear systems.

A system of all outputs has the matrix diag(M_k) minus D_j u_j u_j' for every feature j with a norm
(`skpd.solvers.newton.output_quadratic`). By Woodbury's identity its solution requires the inverses
of the M_k and a system with an unknown for each feature with a norm, of the matrix

    C = diag(1 / D) - sum_k M_k^-1 o (u_k u_k'),    o being the entrywise product.

Where there are more features than rows, H_k = A_k' A_k has the factor A_k of shape
(n_rows, n_features), and the identity requires systems of rows only::

    M_k^-1 = diag(1 / s_k) - T_k' T_k,   T_k = L^-1 A_k diag(1 / s_k),
                                         L L' = I + A_k diag(1 / s_k) A_k'
    C = diag(sum_k u_k^2 (s_k - D) / (s_k D)) + U'U,   U = the T_k diag(u_k) below each other

Features without a norm, such as the intercepts, have only a small ridge s_F. Their inverses would
be differences of large numbers, so that these columns F of A_k are eliminated first. With
V = L^-1 F and S = diag(s_F) + V'V, the root B_k = (I - V S^-1 V')^(1/2) T_k replaces T_k for the
other features, and the solution of M_k x = r is::

    x_F = S^-1 (r_F - V'T_k r),   x = r / s_k - B_k'B_k r - T_k'V S^-1 r_F
"""

from typing import NamedTuple, Protocol, cast

import numpy as np
from scipy.linalg import cho_factor, cho_solve, get_lapack_funcs, solve_triangular

from .._floats import EPSILON
from .._typing import Array


class OutputInverses(Protocol):
    """The inverses of matrices over features, one for each output or one for all of them."""

    def times(self, table: Array) -> Array:
        """The products with the columns of a table of shape (n_features, n_outputs)."""

    def solve_coupled(self, D: Array, u: Array, right: Array) -> Array:
        """The solution with C, where D (m) and u (m, n_outputs) belong to the first features."""


class FactorInverses:
    """The inverses by Cholesky factors, in the precision of the matrices.

    Parameters
    ----------
    matrices : ndarray of shape (n_matrices, n_features, n_features)

    Raises
    ------
    LinAlgError
        If rounding makes a matrix indefinite.
    """

    def __init__(self, matrices: Array) -> None:
        self._dtype = matrices.dtype
        self._factors = [cho_factor(M, lower=True, check_finite=False) for M in matrices]

    def times(self, table: Array) -> Array:
        """See `OutputInverses`."""
        if len(self._factors) == 1:
            return cast(Array, cho_solve(self._factors[0], table, check_finite=False))
        columns = zip(self._factors, table.T, strict=True)
        return np.column_stack([cho_solve(*pair, check_finite=False) for pair in columns])

    def solve_coupled(self, D: Array, u: Array, right: Array) -> Array:
        """See `OutputInverses`."""
        m, v = len(D), u.astype(self._dtype)
        inverse_of = get_lapack_funcs("potri", dtype=self._dtype)
        system = np.zeros((m, m), dtype=self._dtype)
        for k, (factor, _) in enumerate(self._factors):
            columns = v if len(self._factors) == 1 else v[:, k : k + 1]
            inverse, _ = inverse_of(factor, lower=1)
            system -= inverse[:m, :m] * (columns @ columns.T)
        system.ravel()[:: m + 1] += 1.0 / D
        factor = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
        return cast(Array, cho_solve(factor, right, check_finite=False))


class RowSpaceInverses:
    """The inverses by systems of the rows.

    Parameters
    ----------
    factors : list of ndarray of shape (n_rows, n_features)
        A_k, one for each output or one for all of them; n_rows may differ.
    s : ndarray of shape (n_features, n_outputs)
        Where the outputs share a factor, they share s as well.
    m : int
        The number of features with a norm, which are the first.

    Raises
    ------
    LinAlgError
    """

    def __init__(self, factors: list[Array], s: Array, m: int) -> None:
        self._s, self._shared, self._m = s[:m], len(factors) == 1, m
        self._systems = [_RowSystem.of(A, s[:, k], m) for k, A in enumerate(factors)]

    def times(self, table: Array) -> Array:
        """See `OutputInverses`."""
        if self._shared:
            return self._systems[0].solution(table, self._s[:, :1])
        columns = enumerate(self._systems)
        return np.column_stack([S.solution(table[:, k], self._s[:, k]) for k, S in columns])

    def solve_coupled(self, D: Array, u: Array, right: Array) -> Array:
        """See `OutputInverses`."""
        systems = self._systems * u.shape[1] if self._shared else self._systems
        U = np.vstack([S.root * u[:, k] for k, S in enumerate(systems)])
        diagonal = np.sum(u * u * (self._s - D[:, np.newaxis]) / self._s, axis=1) / D
        diagonal = np.maximum(diagonal, EPSILON / D)  # where s rounds to D
        if len(U) < self._m:
            T, _ = _row_space(U, diagonal)
            return right / diagonal - (T @ right) @ T
        system = U.T @ U
        system.ravel()[:: self._m + 1] += diagonal
        factor = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
        return cast(Array, cho_solve(factor, right, check_finite=False))


class _RowSystem(NamedTuple):
    """The root B, the products T'V and S of one matrix."""

    root: Array
    coupling: Array
    S: Array

    @classmethod
    def of(cls, A: Array, s: Array, m: int) -> "_RowSystem":
        (T, L), V = _row_space(A[:, :m], s[:m]), A[:, m:]
        if V.size > 0:
            V = solve_triangular(L, V, lower=True, check_finite=False)
        # I - V S^-1 V' is the inverse of I + V diag(1 / s_F) V'
        Q, sigma, _ = np.linalg.svd(V / np.sqrt(s[m:]), full_matrices=False)
        damping = 1.0 - 1.0 / np.sqrt(1.0 + sigma**2)
        root = T - (Q * damping) @ (Q.T @ T)
        return cls(root, T.T @ V, np.diag(s[m:]) + V.T @ V)

    def solution(self, r: Array, s: Array) -> Array:
        """The solution of M x = r for a vector or a table."""
        m = len(self.coupling)
        normed, free = r[:m], r[m:]
        of_normed = normed / s - self.root.T @ (self.root @ normed)
        of_normed -= self.coupling @ np.linalg.solve(self.S, free)
        of_free = np.linalg.solve(self.S, free - self.coupling.T @ normed)
        return np.concatenate([of_normed, of_free])


def _row_space(A: Array, s: Array) -> tuple[Array, Array]:
    """T of the inverse diag(1 / s) - T'T of A'A + diag(s), and L."""
    if len(A) == 0:  # no row has curvature
        return A, np.empty((0, 0))
    scaled = A / s
    system = scaled @ A.T
    system.ravel()[:: len(system) + 1] += 1.0
    factor, _ = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
    T = solve_triangular(factor, scaled, lower=True, overwrite_b=True, check_finite=False)
    return cast(Array, T), factor
