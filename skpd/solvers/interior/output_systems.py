"""The Newton systems of several outputs: rows in blocks, and penalties of matrices.

    X' H X + D + sum_i B_i' B_i

X has a column for each coefficient of a matrix, H a block for each sample, where the loss takes
its predictions together, and B_i are rows that a penalty adds.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..._typing import Array, Indices
from ...designs import Design
from .settings import SETTINGS
from .systems import FeatureSystem, _cholesky

__all__ = ["OutputRows", "OutputsSystem"]


class OutputRows(NamedTuple):
    """The rows and columns of X that belong to an output, and what is there."""

    rows: Indices
    columns: Indices
    design: Design


class OutputsSystem(FeatureSystem):
    """With a matrix of the coefficients, decomposed by its rows while that takes milliseconds.

    Parameters
    ----------
    design : Design
        X.
    outputs : list of OutputRows
        The same by outputs, whose columns have no rows in common.
    n_features, n_borders : int
        As for `NewtonSystem`.
    """

    def __init__(
        self, design: Design, outputs: list[OutputRows], n_features: int, n_borders: int
    ) -> None:
        self.outputs = outputs
        super().__init__(design, n_features, n_borders)

    def clear(self) -> None:
        super().clear()
        self.blocks: Array | None = None
        self.penalty_rows: list[Any] = []

    def add_blocks(self, roots: Array) -> None:
        """Adds X' H X by roots of H's blocks, of shape (n_samples, n_outputs, n_outputs).

        The root of a block is a matrix R with R'R equal to it.
        """
        self.blocks = roots

    def add_penalty_rows(self, rows: Any) -> None:
        """Adds B'B for B of shape (n_rows, n_features), an array or sparse."""
        self.penalty_rows.append(rows)

    def factorise(self) -> None:
        n, d = self.design.shape
        rows = n + d + sum(own.shape[0] for own in self.penalty_rows)
        self.root = None
        if rows * d**2 <= SETTINGS.largest_outputs_decomposition:
            self.root = self._root()
            self.factor = np.asarray(np.linalg.qr(self.root, mode="r")).T
            return
        matrix = self._penalty_matrix()
        if self.blocks is None:
            for rows, columns, design in self.outputs:
                gram = design.gram(self.h[rows], np.arange(len(columns)), False)
                matrix[np.ix_(columns, columns)] += gram
        else:
            self._add_gram_of_blocks(self.blocks, matrix)
        self.factor = _cholesky(matrix.T)

    def _add_gram_of_blocks(self, roots: Array, matrix: Array) -> None:
        """Adds X' H X output by output, all of which have the same data."""
        blocks = np.swapaxes(roots, 1, 2) @ roots
        every = np.arange(len(self.outputs[0].columns))
        for k, (_, columns, design) in enumerate(self.outputs):
            for other in range(k + 1):
                beside = self.outputs[other].columns
                gram = design.gram(np.ascontiguousarray(blocks[:, k, other]), every, False)
                matrix[np.ix_(columns, beside)] += gram
                if other < k:
                    matrix[np.ix_(beside, columns)] += gram.T

    def _penalty_matrix(self) -> Array:
        """The part of the penalty."""
        matrix = np.diag(self.diagonal)
        if self.groups is not None:
            starts, scales, v = self.groups
            for g, scale in enumerate(scales):
                some = slice(starts[g], starts[g + 1])
                matrix[some, some] -= scale * np.outer(v[some], v[some])
        d = self.n_features
        for rows in self.penalty_rows:
            square = rows.T @ rows
            matrix[:d, :d] += square.toarray() if sp.issparse(square) else square
        return matrix

    def _root(self) -> Array:
        diagonal, penalty = self._penalty_root()
        beside = self.n_core - self.n_features  # the intercepts, that no penalty knows
        for own in self.penalty_rows:
            rows = own.toarray() if sp.issparse(own) else own
            penalty.append(np.hstack([rows, np.zeros((len(rows), beside))]))
            diagonal[: self.n_features] += np.sum(rows * rows, axis=0)
        return self._regularised(np.vstack([self._data_rows(), *penalty]), diagonal == 0.0)

    def _data_rows(self) -> Array:
        """Rows whose squares sum to X' H X."""
        table: Array = self.design.table(np.arange(self.n_core))
        if self.blocks is None:
            return np.sqrt(self.h)[:, np.newaxis] * table
        found: Array = self.blocks @ table.reshape(len(self.blocks), -1, table.shape[1])
        return found.reshape(table.shape)
