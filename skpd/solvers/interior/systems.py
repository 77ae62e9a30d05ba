"""The linear systems of Newton steps: X' H X, a sparse matrix of the penalty, and borders.

The unknowns are the coefficients and the intercepts, and a few more with their own rows and
columns, the borders ::

    ( K   B ) ( dx )   ( r )        K = X' H X + D + E'E
    ( B'  C ) ( dy ) = ( t )

X has a column for each coefficient, also of several outputs. H is diagonal plus, if the loss
couples the predictions of a sample, a block for each sample. D is diagonal, or has a term of rank
one for each group. E are additional rows of a penalty, such as those of differences. The borders
are eliminated last, so that C need not be positive definite.
"""

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dpotrf, dpotrs

from ..._typing import Array, Indices, Table
from ...designs import Design
from .settings import SETTINGS


def cholesky(matrix: Array) -> Array:
    """The lower Cholesky factor of a regularised positive semidefinite matrix, in its place."""
    diagonal = matrix.diagonal().copy()
    diagonal[diagonal == 0.0] = 1.0  # unknowns without any curvature do not change
    for regularisation in SETTINGS.regularisation:
        np.fill_diagonal(matrix, diagonal * (1.0 + regularisation))
        factor, info = dpotrf(matrix, lower=1, clean=0)
        if info == 0:
            return factor
    raise LinAlgError("a Newton system is not positive definite")


def solved(factor: Array, right: Array) -> Array:
    """The solution of a system with the given lower Cholesky factor."""
    solution, _ = dpotrs(factor, right, lower=1)
    return solution


def _dense(table: Table) -> Array:
    return table.toarray() if sp.issparse(table) else table


class RowsOfBlock(NamedTuple):
    """The indices of the rows and columns of X that belong to an output, and their entries."""

    rows: Indices
    columns: Indices
    design: Design


class NewtonSystem(ABC):
    """The Newton system of one iteration, for several right sides.

    Parameters
    ----------
    design : Design
        X of shape (n_rows, n_core), with last columns for intercepts that are 1 in data rows.
    n_coefficients : int
        The number of coefficients among its columns.
    n_borders : int
        The number of additional unknowns.
    outputs : list of RowsOfBlock, default=None
        The parts of X of several outputs, whose columns have no rows in common.

    Attributes
    ----------
    groups : tuple of (starts, scales, v) or None
        scale_g v_g v_g' is subtracted for groups of consecutive coefficients.
    blocks : ndarray of shape (n_samples, n_rows, n_outputs) or None
        The roots R of the blocks R'R of H, in systems of several outputs.
    penalty_rows : ndarray or sparse array of shape (n_rows, n_coefficients)
        The rows E, in systems of features.
    """

    def __init__(
        self, design: Design, n_coefficients: int, n_borders: int,
        outputs: list[RowsOfBlock] | None = None,
    ) -> None:  # fmt: skip
        self.design, self.n_coefficients = design, n_coefficients
        self.n_core, self.n_borders = design.shape[1], n_borders
        rows, columns = map(np.arange, design.shape)
        self.outputs = outputs or [RowsOfBlock(rows, columns, design)]
        self.clear()

    def clear(self) -> None:
        """Set the system to 0."""
        self.h = np.zeros(self.design.shape[0])
        self.diagonal = np.zeros(self.n_core)
        self.groups: tuple[Indices, Array, Array] | None = None
        self.blocks: Array | None = None
        self.penalty_rows: Table = np.zeros((0, self.n_coefficients))
        self.borders = np.zeros((self.n_core, self.n_borders))
        self.corner = np.zeros((self.n_borders, self.n_borders))

    def add_rows(self, h: Array, rows: Indices | None = None) -> None:
        """Add X' diag(h) X over the given rows, by default over the first ``len(h)`` rows."""
        self.h[slice(len(h)) if rows is None else rows] += h

    def curvature_of_rows(self) -> Array:
        """The blocks of H, of shape (n_samples, n_outputs, n_outputs), or (n_rows, 1, 1)."""
        if self.blocks is None:
            return self.h[:, np.newaxis, np.newaxis]
        H, outputs = np.swapaxes(self.blocks, 1, 2) @ self.blocks, np.arange(len(self.outputs))
        H[:, outputs, outputs] += self.h.reshape(-1, len(outputs))
        return H

    def border(self, place: int) -> Array:
        """The column of B of the border with the index ``place``, which may be changed."""
        return self.borders[:, place - self.n_core]

    def add_corner(self, row: int, column: int, value: float) -> None:
        """Add a number to C, and to its mirror image."""
        row, column = row - self.n_core, column - self.n_core
        self.corner[row, column] += value
        if row != column:
            self.corner[column, row] += value

    @abstractmethod
    def factorise(self) -> None:
        """Factorise K.

        Raises
        ------
        LinAlgError
            If K is indefinite because of rounding.
        """

    @abstractmethod
    def solve_core(self, right: Array) -> Array:
        """The product K^-1 right, for a vector or a table."""

    def prepare(self) -> None:
        """Factorise the system after everything has been added."""
        self.factorise()
        if self.borders.shape[1]:
            self.inverse_borders = self.solve_core(self.borders)
            self.schur = self.corner - self.borders.T @ self.inverse_borders

    def solve(self, right: Array) -> Array:
        """The solution, with all unknowns."""
        n_core, n_borders = self.borders.shape
        core = self.solve_core(right[:n_core])
        if not n_borders:
            return core
        border = np.linalg.solve(self.schur, right[n_core:] - self.borders.T @ core)
        return np.concatenate([core - self.inverse_borders @ border, border])


class FeatureSystem(NewtonSystem):
    """A Newton system with a matrix over the features.

    If it is small, its factor is computed by an orthogonal decomposition of a matrix A with
    A'A = K instead of from K itself. Rounding of the entries of K would lose curvature below 1e-16
    times the largest, such as that of a small penalty along nearly equal features. One step of
    iterative refinement follows (Björck, 1987).
    """

    def factorise(self) -> None:
        """Factorise K, or the blocks of the outputs where only groups of the penalty tie these.

        For the 139 tasks of 28 features of the School data, the blocks take 1/100 of the time;
        for two outputs, K takes less than its blocks.
        """
        self.root: Array | None = None
        self.factors: list[Array] = []
        tied = self.blocks is not None or self.penalty_rows.shape[0] > 0 or len(self.outputs) <= 2
        if self._is_decomposed:
            self.root = self._root()
            self.factor = np.asarray(np.linalg.qr(self.root, mode="r")).T
        elif tied or self.groups is None:
            matrix = self._gram()
            self._add_penalty(matrix)
            self.factor = cholesky(matrix.T)  # in the memory order of LAPACK
        else:
            self._factorise_outputs(*self.groups)

    def _factorise_outputs(self, starts: Indices, scales: Array, v: Array) -> None:
        for rows, columns, design in self.outputs:
            gram = design.gram(self.h[rows], np.arange(len(columns)), False)
            gram.ravel()[:: len(columns) + 1] += self.diagonal[columns]
            self.factors.append(cholesky(gram.T))
        shape = self.n_core, len(scales)
        self.ties = sp.csc_array((v, np.arange(len(v)), starts), shape=shape)
        self.solved_ties = self._of_outputs(self.ties.toarray())
        self.scales, product = scales, self.ties.T @ self.solved_ties
        self.small = np.eye(len(scales)) - scales[:, np.newaxis] * product

    def _of_outputs(self, right: Array) -> Array:
        """The solution without the groups of the penalty."""
        solution = np.empty_like(right)
        for factor, (_, columns, _) in zip(self.factors, self.outputs, strict=True):
            solution[columns] = solved(factor, right[columns])
        return solution

    @property
    def _is_decomposed(self) -> bool:
        limit = SETTINGS.largest_decomposition
        if len(self.outputs) > 1:
            limit = SETTINGS.largest_outputs_decomposition
        of_blocks = 0 if self.blocks is None else self.blocks[:, :, 0].size
        n_rows = np.count_nonzero(self.h) + of_blocks + self.n_core + self.penalty_rows.shape[0]
        return bool(n_rows * self.n_core**2 <= limit)

    def _gram(self) -> Array:
        """The matrix X' H X, computed output by output; with blocks, outputs share their data."""
        if len(self.outputs) == 1:
            return self.design.gram(self.h, np.arange(self.n_core), False)
        matrix, H = np.zeros((self.n_core, self.n_core)), self.curvature_of_rows()
        for k, (rows, columns, _) in enumerate(self.outputs):
            for other in [k] if self.blocks is None else range(k + 1):
                _, others, design = self.outputs[other]
                h = self.h[rows] if self.blocks is None else np.array(H[:, k, other])
                if h.any():
                    gram = design.gram(h, np.arange(len(others)), False)[: len(columns)]
                    matrix[np.ix_(columns, others)] = gram
                    matrix[np.ix_(others, columns)] = gram.T
        return matrix

    def _add_penalty(self, matrix: Array) -> None:
        """Add D to a matrix."""
        d = self.n_core
        matrix.ravel()[:: d + 1] += self.diagonal
        if self.groups is not None:
            starts, scales, v = self.groups
            for g, scale in enumerate(scales):
                block = slice(starts[g], starts[g + 1])
                matrix[block, block] -= scale * np.outer(v[block], v[block])
        block = slice(self.n_coefficients)
        matrix[block, block] += _dense(self.penalty_rows.T @ self.penalty_rows)

    def _root(self) -> Array:
        """The matrix A, with rows of the data, of the penalty and of the regularisation."""
        diagonal, penalty = self._penalty_root()
        return self._regularised(np.vstack([self._data_root(), *penalty]), diagonal == 0.0)

    def _data_root(self) -> Array:
        """A matrix A with A'A = X' H X."""
        table = self.design.table(np.arange(self.n_core))
        rows: Array = np.sqrt(self.h)[:, np.newaxis] * table
        if self.blocks is None:
            return rows
        n, *_, K = self.blocks.shape  # rows of linear constraints follow those of the data
        products = self.blocks @ table[: n * K].reshape(n, K, self.n_core)
        return np.vstack([rows[self.h > 0.0], products.reshape(-1, self.n_core)])

    def _penalty_root(self) -> tuple[Array, list[Array]]:
        """The diagonal of D + E'E, and a root of D and E."""
        root = np.sqrt(np.maximum(self.diagonal, 0.0))
        penalty = np.diag(root)
        if self.groups is not None:
            # the square of I - k u u' is I - scale u u' for k = scale / (1 + sqrt(1 - scale u.u))
            starts, scales, v = self.groups
            for g, scale in enumerate(scales):
                block = slice(starts[g], starts[g + 1])
                u = v[block] / root[block]
                k = scale / (1.0 + np.sqrt(max(1.0 - scale * float(u @ u), 0.0)))
                penalty[block, block] -= k * np.outer(u, v[block])
        table = np.zeros((self.penalty_rows.shape[0], self.n_core))
        table[:, : self.n_coefficients] = _dense(self.penalty_rows)
        return self.diagonal + np.sum(table * table, axis=0), [table, penalty]

    def _regularised(self, table: Array, free: Array) -> Array:
        """The rows of A and of the regularisation; ``free`` are unknowns without a penalty.

        Intercepts of different outputs count as independent.
        """
        sizes = np.sqrt(np.sum(table * table, axis=0))
        shares = np.full(self.n_core, SETTINGS.root_regularisation)
        if np.count_nonzero(free) > 1 and free[: self.n_coefficients].any():
            shares[free] = SETTINGS.free_root_regularisation
        return np.vstack([table, np.diag(np.where(sizes > 0.0, shares * sizes, 1.0))])

    def solve_core(self, right: Array) -> Array:
        if self.factors:  # Woodbury's identity for the groups
            solution = self._of_outputs(right)
            inside = (self.scales * (self.ties.T @ solution).T).T
            return solution + self.solved_ties @ np.linalg.solve(self.small, inside)
        solution = solved(self.factor, right)
        if self.root is not None:
            left = right - self.root.T @ (self.root @ solution)
            solution += solved(self.factor, left)
        return solution
