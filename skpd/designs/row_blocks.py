"""Data in blocks of rows that need not be in memory all at once."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from itertools import pairwise
from os import PathLike
from typing import ClassVar, NoReturn

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from .._typing import Array, Indices, Table
from .block_sources import Part, parts_of
from .products_with_tables import with_columns

GATHERED = 1 << 26  # data of at most this many bytes, 64 MB, are read into memory


class RowBlocks:
    """A data matrix in blocks of rows, which are read one after the other.

    Estimators accept it as X, with y and weights as arrays. At any time only two blocks, vectors
    with a number for each row, and a subset of the rows chosen by the solver are in memory.

    Parameters
    ----------
    blocks : iterable
        The blocks. Each is an array of shape (n_rows, n_features), a sparse matrix, or the path of
        a file: ``.npy`` (of `numpy.save`), ``.npz`` (of `scipy.sparse.save_npz`, or of
        `numpy.savez` with one array) or ``.parquet`` (read with pyarrow, with a block for each row
        group). Large arrays, such as a `numpy.memmap`, are read in parts. Numbers in float32
        remain so; other numbers are converted to float64.
    columns : list of str, default=None
        The columns of Parquet files to read, in this order; by default all except the target.
    target : str or int, default=None
        The column of the targets y, which is not a feature: its name in Parquet files, otherwise
        its index, which may be negative.

    Attributes
    ----------
    target : ndarray of shape (n_samples,) or None
        The column ``target``, which is read at the first access; use ``fit(X, X.target)``.
    header : object
        A table without rows that has the columns of Parquet files, None for other blocks.
    shape : tuple of int
        (n_samples, n_features).
    n_blocks : int
        The number of blocks that are read one after the other.
    dtype : dtype
        float32 if all blocks are, else float64.

    Raises
    ------
    ValueError
        If there are no blocks, or if a block is not a matrix of numbers with as many features as
        the first. If a file cannot be read, or has changed since it was opened, the message
        contains its name.
    OSError
        If a file does not exist or cannot be read.
    ImportError
        If a file is a Parquet file and pyarrow is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd import PdproxSVC, RowBlocks
    >>> rng = np.random.default_rng(0)
    >>> blocks = [rng.normal(size=(500, 4)) for _ in range(3)]
    >>> y = np.concatenate([block[:, 0] > 0.0 for block in blocks])
    >>> X = RowBlocks(blocks)
    >>> X
    RowBlocks of shape (1500, 4): 3 blocks of float64
    >>> PdproxSVC(alpha=0.01).fit(X, y).converged_
    True
    """

    ndim: ClassVar[int] = 2
    _name = "block {} of RowBlocks"

    def __init__(
        self, blocks: Iterable[Table], *, columns: list[str] | None = None,
        target: str | int | None = None,
    ) -> None:  # fmt: skip
        if isinstance(blocks, (str, PathLike, np.ndarray)) or sp.issparse(blocks):
            blocks = [blocks]  # a single matrix or file
        self._parts: list[Part] = []
        for k, matrix_or_path in enumerate(blocks):
            self._parts += parts_of(matrix_or_path, self._name.format(k), columns, target)
        if not self._parts:
            raise ValueError("RowBlocks must have at least one block, got none.")
        d = self._parts[0].source.shape[1]
        for part in self._parts:
            if part.source.shape[1] != d:
                raise ValueError(
                    f"All blocks of RowBlocks must have as many features as the first, {d}, got "
                    f"{part.source.shape[1]} in {part.source.name}."
                )
        headers = [part.source.header for part in self._parts]
        names = {None if header is None else tuple(header.column_names) for header in headers}
        if len(names) > 1:
            raise ValueError(
                "All blocks of RowBlocks must have columns of the same names in the same order, "
                f"got {names}: name those to read in columns."
            )
        self.header = headers[0]
        self._firsts = np.cumsum([0, *(part.n_rows for part in self._parts)])
        self.shape: tuple[int, int] = int(self._firsts[-1]), d
        single = all(part.source.dtype == np.float32 for part in self._parts)
        self.dtype = np.dtype(np.float32 if single else np.float64)
        self.sparse = all(part.source.sparse for part in self._parts)
        self._constant: float | None = None  # the value of a last column
        self._function: Callable[[Table], Table] | None = None  # applied to each block
        self._target: Array | None = None

    @property
    def n_blocks(self) -> int:
        return len(self._parts)

    @property
    def target(self) -> Array | None:
        if self._target is None and self._parts[0].source.target is not None:
            self._target = np.concatenate([part.read(target=True) for part in self._parts])
        return self._target

    @property
    def in_memory(self) -> bool:
        """Whether all blocks are in memory."""
        return all(part.source.in_memory for part in self._parts)

    def __repr__(self) -> str:
        several = "block" if self.n_blocks == 1 else "blocks"
        kind = f"sparse {self.dtype}" if self.sparse else f"{self.dtype}"
        return f"RowBlocks of shape {self.shape}: {self.n_blocks} {several} of {kind}"

    def __array__(self, *_: DTypeLike, **__: bool | None) -> NoReturn:
        raise ValueError(
            "RowBlocks are no array, as they need not fit in memory, and this wants one: "
            "gathered() copies them to one."
        )

    def __len__(self) -> int:
        return self.shape[0]

    def read(self) -> Iterator[tuple[slice, Table]]:
        """Read the blocks one after the other; the next block is read while one is used.

        Yields
        ------
        rows : slice
            The indices of the rows of the block in the whole matrix.
        block : ndarray or CSR matrix
            The block in float64 or float32.
        """
        if self.in_memory:
            for k, rows in enumerate(self.slices()):
                yield rows, self.block(k)
            return
        with ThreadPoolExecutor(1) as reader:
            coming = reader.submit(self.block, 0)
            for k, rows in enumerate(self.slices()):
                block = coming.result()
                if k + 1 < self.n_blocks:
                    coming = reader.submit(self.block, k + 1)
                yield rows, block

    def slices(self) -> Iterator[slice]:
        """The indices of the rows of each block, in the order in which blocks are read."""
        ends = self._firsts.tolist()
        return (slice(*pair) for pair in pairwise(ends))

    def block(self, k: int) -> Table:
        """Read the block with this number, as an array or a CSR matrix."""
        block = self._parts[k].read()
        if self._function is not None:
            block = self._function(block)
        if self._constant is None:
            return block
        return with_columns(block, np.full((block.shape[0], 1), self._constant, self.dtype))

    def with_column(self, value: float) -> "RowBlocks":
        """The data with an additional last column that holds a constant.

        Parameters
        ----------
        value : float

        Returns
        -------
        blocks : RowBlocks
        """
        other = copy(self)
        other._constant, other.shape = value, (self.shape[0], self.shape[1] + 1)
        if self.dtype.type(value) != value:
            other.dtype = np.dtype(np.float64)
        return other

    def mapped(self, function: Callable[[Table], Table]) -> "RowBlocks":
        """The data with a function applied to each block when it is read.

        Parameters
        ----------
        function : callable
            A function of a block that returns a block of the same shape and type.

        Returns
        -------
        blocks : RowBlocks
        """
        other = copy(self)
        other._function, other.header = function, None
        return other

    def gathered(self) -> Table:
        """Read the whole matrix to memory.

        Returns
        -------
        X : ndarray or CSR matrix
            The matrix, which is sparse if any of the blocks is.
        """
        return stacked([block for _, block in self.read()])

    def gathered_if_small(self) -> "Table | RowBlocks":
        """Read the whole matrix to memory if an array of it has at most 64 MB.

        Returns
        -------
        X : ndarray, CSR matrix or RowBlocks
        """
        n_bytes = self.shape[0] * self.shape[1] * self.dtype.itemsize
        return self.gathered() if n_bytes <= GATHERED else self

    def rows(self, indices: Indices) -> Table:
        """Read some of the rows to memory.

        Parameters
        ----------
        indices : ndarray of int
            Indices of rows in any order; a row whose index occurs twice is returned twice.

        Returns
        -------
        X : ndarray or CSR matrix
            The rows, sparse if any of the blocks that contain them is.
        """
        order = np.argsort(indices, kind="stable")
        ends = np.searchsorted(indices[order], self._firsts)
        if not len(indices):
            return np.empty((0, self.shape[1]), self.dtype)
        picked = []
        for k in range(self.n_blocks):
            rows_of_block = indices[order[ends[k] : ends[k + 1]]] - self._firsts[k]
            if len(rows_of_block):
                picked.append(self.block(k)[rows_of_block])
        positions = np.empty(len(order), dtype=np.intp)
        positions[order] = np.arange(len(order))
        matrix = stacked(picked)
        return matrix if np.all(order[1:] > order[:-1]) else matrix[positions]


def stacked(blocks: Sequence[Table]) -> Table:
    """The blocks stacked to one matrix, which is sparse if any of them is."""
    if len(blocks) == 1:  # without the copy that the functions below make
        return blocks[0]
    if any(map(sp.issparse, blocks)):
        return sp.vstack(blocks, format="csr")
    return np.concatenate(blocks)
