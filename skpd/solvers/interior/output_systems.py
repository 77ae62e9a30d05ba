"""The Newton systems of several outputs, with blocks of rows and penalties on matrices.

    X' H X + D + B'B

X has a column for each coefficient of a matrix. H is diagonal plus, if the loss couples the
predictions of a sample, a block for each sample. B are additional rows of a penalty.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..._typing import Array, Indices, Table
from ...designs import Design
from .settings import SETTINGS
from .systems import FeatureSystem, RowSystem, _cholesky, _solved


class OutputRows(NamedTuple):
    """The indices of the rows and columns of X that belong to an output, and their entries."""

    rows: Indices
    columns: Indices
    design: Design


class OutputsSystem(FeatureSystem):
    """The Newton system with a matrix over the coefficients, decomposed if that is fast.

    Parameters
    ----------
    design : Design
        X.
    outputs : list of OutputRows
        The parts of X of the outputs, whose columns have no rows in common.
    n_coefficients, n_borders : int
        See `NewtonSystem`.
    """

    def __init__(
        self, design: Design, outputs: list[OutputRows], n_coefficients: int, n_borders: int
    ) -> None:
        self.outputs = outputs
        super().__init__(design, n_coefficients, n_borders)

    def add_combinations(self, h: Array, rows: Indices, matrix: Array) -> None:
        """Add C' diag(h) C; the X of the outputs has no rows of combinations."""
        self.add_penalty_rows(np.sqrt(h)[:, np.newaxis] * matrix)

    def factorise(self) -> None:
        """Factorise K, or the blocks of the outputs where only groups of the penalty tie these.

        For the 139 tasks of 28 features of the School data, the blocks take 1/100 of the time;
        for two outputs, K takes less than its blocks.
        """
        self.factors: list[Array] = []
        tied = self.blocks is not None or len(self.penalty_rows) > 0 or len(self.outputs) == 2
        if tied or self.groups is None or self._is_decomposed:
            super().factorise()
            return
        for columns, gram in self._grams():
            gram.ravel()[:: len(columns) + 1] += self.diagonal[columns]
            self.factors.append(_cholesky(gram.T))
        starts, self.scales, v = self.groups
        shape = self.n_core, len(self.scales)
        self.ties = sp.csc_array((v, np.arange(len(v)), starts), shape=shape)
        self.solved_ties = self._of_blocks(self.ties.toarray())
        product = self.ties.T @ self.solved_ties
        self.small = np.eye(shape[1]) - self.scales[:, np.newaxis] * product

    def _of_blocks(self, right: Array) -> Array:
        """The solution without the groups of the penalty."""
        solution = np.empty_like(right)
        for factor, (_, columns, _) in zip(self.factors, self.outputs, strict=True):
            solution[columns] = _solved(factor, right[columns])
        return solution

    def solve_core(self, right: Array) -> Array:
        if not self.factors:
            return super().solve_core(right)
        solution = self._of_blocks(right)  # and Woodbury's identity for the groups
        inside = (self.scales * (self.ties.T @ solution).T).T
        return solution + self.solved_ties @ np.linalg.solve(self.small, inside)

    @property
    def _largest_decomposition(self) -> float:
        return SETTINGS.largest_outputs_decomposition

    @property
    def _n_rows(self) -> int:
        of_blocks = 0 if self.blocks is None else self.blocks.shape[0] * self.blocks.shape[1]
        of_data = of_blocks + (len(self.h) if self.h.any() or not of_blocks else 0)
        return int(of_data + self.n_core + len(self.penalty_rows))

    def _grams(self) -> Iterator[tuple[Indices, Array]]:
        """The columns of each output with their matrix X' H X, without blocks."""
        for rows, columns, design in self.outputs:
            yield columns, design.gram(self.h[rows], np.arange(len(columns)), False)

    def _gram(self) -> Array:
        """The matrix X' H X, computed output by output; with blocks, outputs share their data."""
        matrix = np.zeros((self.n_core, self.n_core))
        if self.blocks is None:
            for columns, gram in self._grams():
                matrix[np.ix_(columns, columns)] = gram
            return matrix
        blocks = np.swapaxes(self.blocks, 1, 2) @ self.blocks
        outputs = np.arange(len(self.outputs))
        blocks[:, outputs, outputs] += self.h.reshape(-1, len(outputs))
        design = self.outputs[0].design
        every = np.arange(design.shape[1])
        for k, (_, columns, _) in enumerate(self.outputs):
            for other in range(k + 1):
                others, h = self.outputs[other].columns, np.ascontiguousarray(blocks[:, k, other])
                if not h.any():
                    continue
                gram = design.gram(h, every, False)[: len(columns), : len(others)]
                matrix[np.ix_(columns, others)] = gram
                matrix[np.ix_(others, columns)] = gram.T
        return matrix

    def _regularised(self, table: Array, free: Array) -> Array:
        """The regularised rows; intercepts of different outputs count as independent."""
        several = free if free[: self.n_coefficients].any() else np.zeros_like(free)
        return super()._regularised(table, several)

    def _data_root(self) -> Array:
        """A matrix A with A'A = X' H X."""
        if self.blocks is None:
            return super()._data_root()
        table = self.design.table(np.arange(self.n_core))
        products: Array = self.blocks @ table.reshape(len(self.blocks), -1, table.shape[1])
        of_blocks = products.reshape(-1, table.shape[1])
        return np.vstack([super()._data_root(), of_blocks]) if self.h.any() else of_blocks


class OutputsRowSystem(RowSystem):
    """The Newton system of several outputs with a matrix over the rows of all outputs.

    Parameters
    ----------
    design, outputs, n_coefficients, n_borders
        See `OutputsSystem`.
    """

    def __init__(
        self, design: Design, outputs: list[OutputRows], n_coefficients: int, n_borders: int
    ) -> None:
        self.outputs = outputs
        super().__init__(design, n_coefficients, n_borders)

    def _take_features(self) -> None:
        """Keep the data of the outputs, with their columns of ones."""

    def _with_intercepts(self, of_coefficients: Array) -> Array:
        """A vector over the coefficients, and 0 for the columns of intercepts."""
        return np.append(of_coefficients, np.zeros(self.n_core - self.n_coefficients))

    def _take_root(self) -> None:
        """Compute R, by the eigenvectors of the block of each sample if the loss couples these."""
        if self.blocks is None:
            super()._take_root()
            return
        blocks, every = np.swapaxes(self.blocks, 1, 2) @ self.blocks, np.arange(len(self.outputs))
        blocks[:, every, every] += self.h.reshape(-1, len(every))
        values, vectors = np.linalg.eigh(blocks)
        roots = np.sqrt(np.maximum(values, 0.0))[:, np.newaxis] * vectors
        self.blocks = np.ascontiguousarray(np.swapaxes(roots, 1, 2))

    def _of_root(self, v: Array) -> Array:
        if self.blocks is None:
            return super()._of_root(v)
        n, K, _ = self.blocks.shape
        return (self.blocks @ v.reshape(n, K, -1)).reshape(v.shape)

    def _of_root_transposed(self, v: Array) -> Array:
        if self.blocks is None:
            return super()._of_root_transposed(v)
        return np.ravel(np.einsum("irk,ir->ik", self.blocks, v.reshape(self.blocks.shape[:2])))

    def _curvature(self, v: Array) -> Array:
        if self.blocks is None:
            return super()._curvature(v)
        return self._of_root_transposed(self._of_root(v))

    def _matvec(self, w: Array) -> Array:
        v, w = np.empty(len(self.h)), self._with_intercepts(w)
        for rows, columns, design in self.outputs:
            v[rows] = design.matvec(w[columns])
        return v

    def _rmatvec(self, v: Array) -> Array:
        w = np.empty(self.n_core)
        for rows, columns, design in self.outputs:
            w[columns] = design.rmatvec(v[rows])
        return w[: self.n_coefficients]

    def _gram_of_rows(self, of_features: Array) -> Array:
        matrix, h = np.zeros((len(self.h),) * 2), self._with_intercepts(of_features)
        for rows, columns, design in self.outputs:
            every = np.arange(len(rows))
            matrix[np.ix_(rows, rows)] = design.transposed.gram(h[columns], every, False)
        return matrix

    def _times_features(self, table: sp.csr_array) -> Table:
        outputs = [output for output in self.outputs if len(output.rows)]
        places = np.argsort(np.concatenate([output.rows for output in outputs]))
        parts = [table[:, columns] @ design.as_given.T for _, columns, design in outputs]
        whole: Table = sp.hstack(parts, "csr") if sp.issparse(parts[0]) else np.hstack(parts)
        return whole[:, places]
