"""A data matrix whose rows are read in blocks: what `Design` answers, added up block by block."""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from .. import kernels
from .._floats import EPSILON
from .._typing import Array, Indices
from .design import Design
from .far_columns import FAR, SAMPLE, shift_by_means
from .row_blocks import RowBlocks

__all__ = ["BlocksDesign", "design_of"]

GATHERED = 1 << 26  # bytes of data that are gathered in memory: 64 MB
COPIED = 1 << 29  # bytes of rows that a solver may go on with in memory: 512 MB
SAMPLE_BLOCKS = 10  # from which the rows are that tell which columns are far from 0


def design_of(X: Any, n_parallel: int = 1) -> Any:
    """The design of validated data: of an array, a sparse matrix or `RowBlocks`.

    Blocks that are small altogether are gathered in memory.

    Parameters
    ----------
    X : {ndarray, sparse matrix, RowBlocks} of shape (n_samples, n_features)
    n_parallel : int, default=1
        As for `Design`.
    """
    if not isinstance(X, RowBlocks):
        return Design(X, n_parallel=n_parallel)
    if X.shape[0] * X.shape[1] * X.dtype.itemsize <= GATHERED:
        return Design(X.gathered(), n_parallel=n_parallel)
    return BlocksDesign(X, n_parallel)


class BlocksDesign:
    """A data matrix of shape (n_samples, n_features) that is read in blocks of rows.

    Each product reads all of it, in the same order, so that results do not differ from one run
    to the next.

    Parameters
    ----------
    blocks : RowBlocks
    n_parallel : int, default=1
        As for `Design`.
    shift : ndarray of shape (n_features,), default=None
        What is taken off every row.
    """

    in_memory: ClassVar[bool] = False

    def __init__(self, blocks: RowBlocks, n_parallel: int = 1, shift: Array | None = None) -> None:
        self.blocks, self.shape, self.dense = blocks, blocks.shape, not blocks.sparse
        self._n_parallel, self._shift = n_parallel, shift

    def _parts(self) -> Iterator[tuple[slice, Design]]:
        for rows, block in self.blocks.read():
            part = Design(block, n_parallel=self._n_parallel)
            yield rows, part if self._shift is None else part.shifted(self._shift)

    def _for_rows(self, function: Callable[[slice, Design], tuple[Array, ...]], k: int) -> list:
        """k vectors of the rows, from those of each block."""
        found = [np.empty(self.shape[0]) for _ in range(k)]
        for rows, part in self._parts():
            for whole, own in zip(found, function(rows, part), strict=True):
                whole[rows] = own
        return found

    def _sum(self, function: Callable[[slice, Design], Any]) -> Any:
        """The sum over the blocks."""
        return sum(function(rows, part) for rows, part in self._parts())

    # What solvers ask before they choose

    @cached_property
    def n_entries(self) -> int:
        """Entries that a product reads."""
        n, d = self.shape
        return n * d if self.dense else int(self._sum(lambda rows, part: part.n_entries))

    @property
    def most_copied_rows(self) -> float:
        """How many rows may be copied to memory."""
        length = self.n_entries / max(self.shape[0], 1)
        return COPIED / max(length * (8.0 if self.dense else 12.0), 1.0)

    @cached_property
    def longest_row(self) -> int:
        return max(part.longest_row for _, part in self._parts())

    @cached_property
    def column_counts(self) -> Indices:
        found: Indices = self._sum(lambda rows, part: part.column_counts)
        return found

    def work_on(self, columns: Indices) -> float:
        """About the time of `rmatvec_some` over that of `rmatvec`: both read all rows."""
        return 1.0

    def shared_by(self, n_parallel: int) -> "BlocksDesign":
        return BlocksDesign(self.blocks, n_parallel, self._shift)

    # Parts of it in memory

    def whole_rows(self, rows: Indices) -> Indices:
        return rows

    def rows(self, indices: Indices) -> Design:
        """Some of the rows, in memory."""
        picked = Design(self.blocks.rows(indices), n_parallel=self._n_parallel)
        return picked if self._shift is None else picked.shifted(self._shift)

    def rows_as_they_are(self, indices: Indices) -> Any:
        """Some of the rows as an array or a sparse matrix."""
        return self.rows(indices).rows_as_they_are(np.arange(len(indices)))

    def columns(self, indices: Indices) -> Design:
        """Some of the columns, in memory."""
        return Design(self.table(indices), by_columns=True, n_parallel=self._n_parallel)

    def table(self, columns: Indices) -> Array:
        """Some of the columns as an array."""
        found = np.empty((self.shape[0], len(columns)), order="F")
        for rows, part in self._parts():
            found[rows] = part.table(columns)
        return found

    # Products

    def matvec(self, coef: Array) -> Array:
        if kernels.max_abs(coef) == 0.0:
            return np.zeros(self.shape[0])
        (found,) = self._for_rows(lambda rows, part: (part.matvec(coef),), 1)
        return found

    def rmatvec(self, rows: Array) -> Array:
        found: Array = self._sum(lambda own, part: part.rmatvec(rows[own]))
        return found

    def rmatvec_some(self, rows: Array, columns: Indices) -> Array:
        return self.rmatvec(rows)[columns]

    def matvec_bounded(self, coef: Array, intercept: float) -> tuple[Array, Array]:
        if kernels.max_abs(coef) == 0.0:
            return np.full(self.shape[0], intercept), np.zeros(self.shape[0])
        z, error = self._for_rows(lambda rows, part: part.matvec_bounded(coef, intercept), 2)
        return z, error

    def rmatvec_bounded(self, weights: Array, rows: Array) -> tuple[Array, Array]:
        """X' (weights * rows) and a bound on its error: each sum of two is rounded once."""
        total, error = np.zeros(self.shape[1]), np.zeros(self.shape[1])
        for own, part in self._parts():
            product, own_error = part.rmatvec_bounded(weights[own], rows[own])
            total = total + product
            error += own_error + EPSILON * np.abs(total)
        return total, error * (1.0 + 2.0 * self.blocks.n_blocks * EPSILON)

    def matvec_compensated(self, coef: Array, intercept: float) -> tuple[Array, Array, Array]:
        if kernels.max_abs(coef) == 0.0:
            nothing = np.zeros(self.shape[0])
            return np.full(self.shape[0], intercept), nothing, nothing
        high, low, error = self._for_rows(
            lambda rows, part: part.matvec_compensated(coef, intercept), 3
        )
        return high, low, error

    def rmatvec_compensated(self, weights: Array, rows: Array) -> tuple[Array, Array]:
        """The same in twice the working precision: what sums lose is added up as well (Knuth)."""
        total, low, error = (np.zeros(self.shape[1]) for _ in range(3))
        for own, part in self._parts():
            product, own_low, own_error = part.rmatvec_high_low(weights[own], rows[own])
            before, total = total, total + product
            shared = total - before
            lost = (before - (total - shared)) + (product - shared)
            low += lost + own_low
            error += own_error + EPSILON * (np.abs(low) + np.abs(lost) + np.abs(own_low))
        found = total + low  # sums of blocks may cancel: low need not be small
        error += 4.0 * EPSILON * np.abs(found)
        return found, error * (1.0 + 4.0 * self.blocks.n_blocks * EPSILON)

    def gram(self, h: Array, columns: Indices, ones: bool) -> Array:
        found: Array = self._sum(lambda rows, part: part.gram(h[rows], columns, ones))
        return found

    def cross_gram(self, h: Array, left: Indices, right: Indices, ones: bool) -> Array:
        found: Array = self._sum(lambda rows, part: part.cross_gram(h[rows], left, right, ones))
        return found

    # Sums of sizes and squares

    def row_sums(self) -> Array:
        (found,) = self._for_rows(lambda rows, part: (part.row_sums(),), 1)
        return found

    def row_norms(self) -> Array:
        (found,) = self._for_rows(lambda rows, part: (part.row_norms(),), 1)
        return found

    def column_sums(self, weights: Array) -> Array:
        found: Array = self._sum(lambda rows, part: part.column_sums(weights[rows]))
        return found

    def column_norms(self, weights: Array) -> Array:
        squares = self._sum(lambda rows, part: part.column_norms(weights[rows]) ** 2)
        found: Array = np.sqrt(squares)
        return found

    # Others

    def shift_of_columns(self, weights: Array, far: float = FAR) -> Array | None:
        """As of `Design`: rows of some of the blocks tell which columns are far from 0."""
        return shift_by_means(self, self._sample.columns_that_seem_far(far), weights)

    @cached_property
    def _sample(self) -> Design:
        n = self.shape[0]
        step = max(1, n // SAMPLE_BLOCKS)
        starts = np.arange(0, n, step)[:SAMPLE_BLOCKS]
        rows = np.add.outer(starts, np.arange(min(SAMPLE // SAMPLE_BLOCKS, step)))
        return self.rows(np.unique(np.minimum(np.ravel(rows), n - 1)))

    def shifted(self, shift: Array) -> "BlocksDesign":
        """X less a number in every column; each block is copied when it is read."""
        both = shift if self._shift is None else self._shift + shift
        return BlocksDesign(self.blocks, self._n_parallel, both)

    def common_row_sum(self) -> float | None:
        """As of `Design`: blocks agree if their first rows do."""
        firsts = []
        for rows, part in self._parts():
            if part.common_row_sum() is None:
                return None
            firsts.append(rows.start)
        return self.rows(np.array(firsts)).common_row_sum()
