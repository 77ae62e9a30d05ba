"""The linear systems of Newton steps: X' diag(h) X, a sparse matrix of the penalty, and borders.

The unknowns are the coefficients and the intercept, and a few more with their own rows and
columns, the borders ::

    ( K   B ) ( dx )   ( r )        K = X' diag(h) X + D
    ( B'  C ) ( dy ) = ( t )

D is diagonal, or tridiagonal (for differences of coefficients), or has a term of rank one for each
group. The borders are eliminated last, so that C need not be positive definite.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import cast

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dpotrf, dpotrs

from ... import kernels
from ..._floats import EPSILON
from ..._typing import Array, Indices, Table
from ...designs import Design
from ...designs.conjugate_gradients import conjugate_gradients
from .settings import SETTINGS


def _cholesky(matrix: Array) -> Array:
    """The lower Cholesky factor of a regularised positive semidefinite matrix, in its place."""
    diagonal = matrix.diagonal().copy()
    diagonal[diagonal == 0.0] = 1.0  # unknowns without any curvature do not change
    for regularisation in SETTINGS.regularisation:
        np.fill_diagonal(matrix, diagonal * (1.0 + regularisation))
        factor, info = dpotrf(matrix, lower=1, clean=0)
        if info == 0:
            return cast(Array, factor)
    raise LinAlgError("a Newton system is not positive definite")


def _solved(factor: Array, right: Array) -> Array:
    """The solution of a system with the given lower Cholesky factor."""
    solution, _ = dpotrs(factor, right, lower=1)
    return cast(Array, solution)


class NewtonSystem(ABC):
    """The Newton system of one iteration, for several right sides.

    Parameters
    ----------
    design : Design
        X of shape (n_rows, n_core), with a last column for an intercept that is 1 in data rows.
    n_coefficients : int
        The number of coefficients among its columns.
    n_borders : int
        The number of additional unknowns.
    precise : bool, default=False
        Whether accuracy is more important than time: the system has a matrix over the features,
        which is decomposed if that takes at most a tenth of a second.
    """

    def __init__(
        self, design: Design, n_coefficients: int, n_borders: int, precise: bool = False
    ) -> None:
        self.design, self.n_coefficients, self.precise = design, n_coefficients, precise
        self.n_core, self.n_borders = design.shape[1], n_borders
        self.clear()

    def clear(self) -> None:
        """Set the system to 0."""
        self.h = np.zeros(self.design.shape[0])
        self.diagonal = np.zeros(self.n_core)
        self.off_diagonal = np.zeros(max(self.n_core - 1, 0))
        self.groups: tuple[Indices, Array, Array] | None = None
        self.blocks: Array | None = None
        self.penalty_rows = np.zeros((0, self.n_coefficients))
        self.borders = np.zeros((self.n_core, self.n_borders))
        self.corner = np.zeros((self.n_borders, self.n_borders))

    def add_rows(self, h: Array, rows: Indices | None = None) -> None:
        """Add X' diag(h) X over the given rows, by default over the first ``len(h)`` rows."""
        self.h[slice(len(h)) if rows is None else rows] += h

    def add_combinations(self, h: Array, rows: Indices, matrix: Array) -> None:
        """Add C' diag(h) C for a matrix C of combinations, whose rows are among those of X."""
        self.add_rows(h, rows)

    def take_groups(self, starts: Indices, scales: Array, v: Array) -> None:
        """Subtract scale_g v_g v_g' for groups of consecutive coefficients."""
        self.groups = starts, scales, v

    def add_blocks(self, roots: Array) -> None:
        """Add X' H X by roots R of the blocks R'R of H, in systems of several outputs.

        The roots have the shape (n_samples, n_rows, n_outputs).
        """
        self.blocks = roots

    def add_penalty_rows(self, rows: Array) -> None:
        """Add B'B for rows B over the coefficients, in systems of features."""
        self.penalty_rows = np.vstack([self.penalty_rows, rows])

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
        if self.n_borders:
            self.inverse_borders = self.solve_core(self.borders)
            self.schur = self.corner - self.borders.T @ self.inverse_borders

    def solve(self, right: Array) -> Array:
        """The solution, with all unknowns."""
        core = self.solve_core(right[: self.n_core])
        if not self.n_borders:
            return core
        border = np.linalg.solve(self.schur, right[self.n_core :] - self.borders.T @ core)
        return np.concatenate([core - self.inverse_borders @ border, border])


class FeatureSystem(NewtonSystem):
    """A Newton system with a matrix over the features.

    If it is small, its factor is computed by an orthogonal decomposition of a matrix A with
    A'A = K instead of from K itself. Rounding of the entries of K would lose curvature below 1e-16
    times the largest, such as that of a small penalty along nearly equal features. One step of
    iterative refinement follows (Björck, 1987).
    """

    def factorise(self) -> None:
        self.root = None
        if self._is_decomposed:
            self.root = self._root()
            self.factor = np.asarray(np.linalg.qr(self.root, mode="r")).T
            return
        matrix = self._gram()
        self._add_penalty(matrix)
        self.factor = _cholesky(matrix.T)  # in the memory order of LAPACK

    @property
    def _is_decomposed(self) -> bool:
        n, d = self._n_rows, self.n_core
        if self.precise:
            return bool((n + d) * d**2 <= SETTINGS.largest_precise_decomposition)
        return bool(n * d**2 <= self._largest_decomposition)

    @property
    def _largest_decomposition(self) -> float:
        return SETTINGS.largest_decomposition

    @property
    def _n_rows(self) -> int:
        """The number of rows of A that determine the cost of its decomposition."""
        return len(self.h)

    def _gram(self) -> Array:
        """The matrix X' diag(h) X."""
        return self.design.gram(self.h, np.arange(self.n_core), False)

    def _add_penalty(self, matrix: Array) -> None:
        """Add D to a matrix."""
        d = self.n_core
        matrix.ravel()[:: d + 1] += self.diagonal
        if self.off_diagonal.any():
            matrix.ravel()[1 :: d + 1] += self.off_diagonal
            matrix.ravel()[d :: d + 1] += self.off_diagonal
        if self.groups is not None:
            starts, scales, v = self.groups
            for g, scale in enumerate(scales):
                block = slice(starts[g], starts[g + 1])
                matrix[block, block] -= scale * np.outer(v[block], v[block])
        block = slice(self.n_coefficients)
        matrix[block, block] += self.penalty_rows.T @ self.penalty_rows

    def _root(self) -> Array:
        """The matrix A, with rows of the data, of the penalty and of the regularisation."""
        diagonal, penalty = self._penalty_root()
        return self._regularised(np.vstack([self._data_root(), *penalty]), diagonal == 0.0)

    def _data_root(self) -> Array:
        X = self.design.rows_as_they_are(np.arange(len(self.h)))
        table: Array = X if isinstance(X, np.ndarray) else X.toarray()
        return np.sqrt(self.h)[:, np.newaxis] * table

    def _penalty_root(self) -> tuple[Array, list[Array]]:
        """The diagonal of D, and matrices B_i with D = sum_i B_i' B_i."""
        rows: list[Array] = []
        diagonal, off_diagonal = self.diagonal.copy(), self.off_diagonal
        if off_diagonal.any():
            diagonal[1:] += off_diagonal
            diagonal[:-1] += off_diagonal
            differences = np.diff(np.eye(self.n_core), axis=0)
            rows.append(np.sqrt(-off_diagonal)[:, np.newaxis] * differences)
        root = np.sqrt(np.maximum(diagonal, 0.0))
        penalty = np.diag(root)
        if self.groups is not None:
            # the square of I - k u u' is I - scale u u' for k = scale / (1 + sqrt(1 - scale u.u))
            starts, scales, v = self.groups
            for g, scale in enumerate(scales):
                block = slice(starts[g], starts[g + 1])
                u = v[block] / root[block]
                k = scale / (1.0 + np.sqrt(max(1.0 - scale * float(u @ u), 0.0)))
                penalty[block, block] -= k * np.outer(u, v[block])
        if len(self.penalty_rows):
            table = np.zeros((len(self.penalty_rows), self.n_core))
            table[:, : self.n_coefficients] = self.penalty_rows
            diagonal += np.sum(table * table, axis=0)
            rows.append(table)
        return diagonal, [*rows, penalty]

    def _regularised(self, table: Array, free: Array) -> Array:
        """The rows of A and of the regularisation; ``free`` are unknowns without a penalty."""
        sizes = np.sqrt(np.sum(table * table, axis=0))
        shares = np.full(self.n_core, SETTINGS.root_regularisation)
        if np.count_nonzero(free) > 1:
            shares[free] = SETTINGS.free_root_regularisation
        return np.vstack([table, np.diag(np.where(sizes > 0.0, shares * sizes, 1.0))])

    def solve_core(self, right: Array) -> Array:
        solution = _solved(self.factor, right)
        if self.root is not None:
            left = right - self.root.T @ (self.root @ solution)
            solution += _solved(self.factor, left)
        return solution


class RowSystem(NewtonSystem):
    """A Newton system with a matrix over the rows, by Woodbury's identity and refinement.

    It is used if there are fewer rows than features. D must be positive and not tridiagonal. For
    H = R'R, the matrix over the rows is I + R X D^-1 X' R'; here X has the coefficients' columns
    only, and those of the intercepts are additional borders.
    """

    def __init__(
        self, design: Design, n_coefficients: int, n_borders: int, precise: bool = False
    ) -> None:
        super().__init__(design, n_coefficients, n_borders, precise)
        self.ones = design.table(np.arange(n_coefficients, self.n_core))
        self._take_features()

    def _take_features(self) -> None:
        """Set the data without the columns of intercepts."""
        self.features = self.design
        if self.n_core > self.n_coefficients:
            self.features = self.design.columns(np.arange(self.n_coefficients))

    def factorise(self) -> None:
        d = self.n_coefficients
        self.d = self.diagonal[:d]
        self._take_root()
        matrix = self._gram_of_rows(1.0 / self.d)
        if self.groups is not None:  # D^-1 = diag(1 / d) + sum_g s_g y_g y_g' with signs s_g
            starts, scales, v = self.groups
            y = v / self.d[: starts[-1]]  # coefficients without a group follow the others
            left = np.maximum(1.0 - scales * np.add.reduceat(v * y, starts[:-1]), EPSILON)
            y *= np.repeat(np.sqrt(np.abs(scales) / left), np.diff(starts))
            self.group_inverse = starts, np.sign(scales), y
            # the sums over each group of the features times y, of shape (n_groups, n_rows)
            of_groups = sp.csr_array((y, np.arange(len(y)), starts), (len(scales), self.n_core))
            sums = self._times_features(of_groups)
            matrix += Design(sums).gram(np.sign(scales), np.arange(len(self.h)), False)
        matrix = np.ascontiguousarray(self._of_root(self._of_root(matrix).T))
        matrix.ravel()[:: len(matrix) + 1] += 1.0
        self.factor = _cholesky(matrix.T)
        if self.n_core > d:
            weighted = [self._curvature(column) for column in self.ones.T]
            self.of_ones = np.stack([self._rmatvec(column) for column in weighted], axis=1)
            self.inverse_ones = self._for_each(self._refined, self.of_ones)
            self.pivots = self.ones.T @ np.stack(weighted, axis=1) + np.diag(self.diagonal[d:])
            self.pivots -= self.of_ones.T @ self.inverse_ones

    def _take_root(self) -> None:
        """Compute R."""
        self.root = np.sqrt(self.h)

    def _of_root(self, v: Array) -> Array:
        """The product R v, for a vector or a table."""
        return cast(Array, (self.root * v.T).T)

    def _of_root_transposed(self, v: Array) -> Array:
        """The product R'v, for a vector."""
        return self.root * v

    def _curvature(self, v: Array) -> Array:
        """The product H v, for a vector."""
        return self.h * v

    def _matvec(self, w: Array) -> Array:
        """The product X w."""
        return self.features.matvec(w)

    def _rmatvec(self, v: Array) -> Array:
        """The product X'v."""
        return self.features.rmatvec(v)

    def _gram_of_rows(self, of_features: Array) -> Array:
        """The matrix X diag(of_features) X'."""
        return self.features.transposed.gram(of_features, np.arange(len(self.h)), False)

    def _times_features(self, table: sp.csr_array) -> Table:
        """The product with X', for a table with a column for each unknown."""
        return table[:, : self.n_coefficients] @ self.features.as_given.T

    @staticmethod
    def _for_each(solve: Callable[[Array], Array], table: Array) -> Array:
        """The solutions for the columns of a table."""
        return np.stack([solve(np.ascontiguousarray(column)) for column in table.T], axis=1)

    def solve_core(self, right: Array) -> Array:
        if right.ndim > 1:
            return self._for_each(self.solve_core, right)
        d = self.n_coefficients
        solution = self._refined(right[:d])
        if self.n_core == d:
            return solution
        intercepts = np.linalg.solve(self.pivots, right[d:] - self.of_ones.T @ solution)
        return np.append(solution - self.inverse_ones @ intercepts, intercepts)

    def _inverse_of_penalty(self, right: Array) -> Array:
        solution = right / self.d
        if self.groups is not None:
            starts, signs, y = self.group_inverse
            end = starts[-1]
            sums = signs * np.add.reduceat(y * right[:end], starts[:-1])
            solution[:end] += np.repeat(sums, np.diff(starts)) * y
        return solution

    def _penalty(self, x: Array) -> Array:
        image = self.d * x
        if self.groups is not None:
            starts, scales, v = self.groups
            end = starts[-1]
            sums = np.add.reduceat(v * x[:end], starts[:-1])
            image[:end] -= np.repeat(scales * sums, np.diff(starts)) * v
        return image

    def _woodbury(self, right: Array) -> Array:
        first = self._inverse_of_penalty(right)
        rows = _solved(self.factor, self._of_root(self._matvec(first)))
        return first - self._inverse_of_penalty(self._rmatvec(self._of_root_transposed(rows)))

    def _refined(self, right: Array) -> Array:
        """The solution refined by conjugate gradients, which start again while it is inexact.

        Woodbury's identity suffers from cancellation where a feature is active.

        Raises
        ------
        LinAlgError
            If the residual remains large.
        """

        def product(x: Array) -> Array:
            return self._penalty(x) + self._rmatvec(self._curvature(self._matvec(x)))

        size, solution, residual = kernels.max_abs(right), np.zeros_like(right), right
        for _ in range(SETTINGS.refinement_rounds):
            iterate = conjugate_gradients(
                product, self._woodbury, residual, max_iter=SETTINGS.refinements,
                target=SETTINGS.refined_residual * size,
            )  # fmt: skip
            solution = solution + iterate.solution
            residual = right - product(solution)  # that of the iteration accumulates errors
            if kernels.max_abs(residual) <= SETTINGS.usual_residual * size:
                return solution
        if not kernels.max_abs(residual) <= SETTINGS.largest_residual * size:
            raise LinAlgError("a Newton system over the rows cannot be solved")
        return solution
