"""Sources of blocks of rows: arrays, sparse matrices, and files of NumPy, SciPy and Parquet.

A source knows its shape without reading the rows, and reads them part by part.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from .._checks import require_unmasked
from .._typing import Table
from .products_with_tables import canonical

Block: TypeAlias = Table | str | os.PathLike[str]
PART_BYTES = 1 << 24  # size of parts, 16 MB, so that vectors of the rows fit in a cache
PRECISIONS = (np.float64, np.float32)


class Source(ABC):
    """A matrix that is read by rows.

    Attributes
    ----------
    shape : tuple of int
    dtype : dtype
        The type of the numbers that `read` returns, float64 or float32.
    sparse : bool
    in_memory : bool
        Whether the matrix is in memory, so that reading ahead has no advantage.
    name : str
        The name of the source, for messages.
    """

    shape: tuple[int, int]
    dtype: np.dtype
    sparse: bool = False
    in_memory: bool = False
    name: str
    header: Any = None  # a dataframe without rows, where columns have names
    target: str | int | None = None
    file: "tuple[Path, tuple[int, int]] | None" = None  # path and stamp at opening

    def _holds(self, name: str, shape: tuple[int, ...], dtype: np.dtype) -> None:
        """Record the name, the shape and the type, of which all but float32 become float64."""
        if len(shape) != 2 or 0 in shape:
            raise ValueError(
                f"{name} must have the shape (n_rows, n_features), with at least one of "
                f"each, got {shape}."
            )
        if np.dtype(dtype).kind not in "fiub":
            raise ValueError(f"{name} must hold real numbers, got the type {dtype}.")
        self.name, self.shape = name, (shape[0], shape[1])
        self.dtype = dtype if dtype in PRECISIONS else np.dtype(np.float64)

    @abstractmethod
    def read(self, first: int, last: int) -> Table:
        """The rows in range(first, last) as an array or a CSR matrix."""

    def read_target(self, first: int, last: int) -> np.ndarray:
        """The column ``target`` of the rows in range(first, last)."""
        raise NotImplementedError

    def ends(self) -> Iterator[tuple[int, int]]:
        """The ends (first, last) of the ranges of rows in which the matrix is to be read."""
        n, d = self.shape
        rows = max(1, PART_BYTES // max(1, d * np.dtype(self.dtype).itemsize))
        return ((first, min(first + rows, n)) for first in range(0, n, rows))


class Part:
    """A range of rows of a source."""

    def __init__(self, source: Source, first: int, last: int) -> None:
        self.source, self.first, self.last = source, first, last
        self._is_finite = False  # until its rows have been read once

    @property
    def n_rows(self) -> int:
        return self.last - self.first

    def read(self, target: bool = False) -> Table:
        """The rows as an array or a CSR matrix of float64 or float32, or their targets.

        Raises
        ------
        ValueError, OSError
            If the rows cannot be read, if a number is not finite, or if the file has changed since
            it was opened.
        """
        source = self.source
        with naming(source.name):
            if source.file is not None and stamp(source.file[0]) != source.file[1]:
                raise ValueError("it has changed since it was opened")
            if target:
                return source.read_target(self.first, self.last)
            values = source.read(self.first, self.last)
            if not (
                self._is_finite or np.isfinite(values.data if source.sparse else values).all()
            ):
                raise ValueError(f"{source.name}: Input X contains NaN or infinity")
            self._is_finite = True
            return values


def stamp(path: Path) -> tuple[int, int]:
    """The size of a file and its time of modification."""
    status = path.stat()
    return status.st_size, status.st_mtime_ns


@contextmanager
def naming(name: str) -> Iterator[None]:
    """A context that adds the name of a block to the errors of libraries that read it."""
    try:
        yield
    except Exception as error:
        if isinstance(error, (ImportError, MemoryError)) or name in str(error):
            raise
        kind = OSError if isinstance(error, OSError) else ValueError
        raise kind(f"{name} cannot be read: {type(error).__name__}: {error}") from error


def parts_of(
    block: Block, name: str, columns: list[str] | None, target: str | int | None
) -> list[Part]:
    """The parts of a block, with its name for messages.

    Raises
    ------
    ValueError
        If the block is neither a matrix nor a file with one.
    """
    source: Source
    if isinstance(block, (str, os.PathLike)):
        path = Path(block)
        if path.suffix not in FILES:
            raise ValueError(
                f"{name} must be a matrix or a file that ends in "
                f"{', '.join(FILES)}, got {str(path)!r}."
            )
        with naming(str(path)):
            file = path, stamp(path)
            named = (columns, target) if path.suffix == ".parquet" else ()
            source = FILES[path.suffix](path, *named)
            source.file = file
    else:
        kind = SparseSource if sp.issparse(block) else ArraySource
        source = kind(block, name)
    if source.header is None and columns is not None:
        raise ValueError("columns of RowBlocks are for Parquet files, got a block that is none.")
    if source.header is None and target is not None:
        source = WithoutTarget(source, target)
    return [Part(source, *ends) for ends in source.ends()]


class ArraySource(Source):
    """An array in memory or mapped from a file, whose rows are views if their type allows."""

    def __init__(self, array: np.ndarray, name: str) -> None:
        require_unmasked(name, array)
        array = array if isinstance(array, np.ndarray) else np.asarray(array)
        self._holds(name, array.shape, array.dtype)
        self.in_memory = not isinstance(array, np.memmap)
        self._array = array

    def read(self, first: int, last: int) -> Table:
        return np.require(self._array[first:last], self.dtype, "A")


class NpySource(ArraySource):
    """A file of `numpy.save`, mapped to memory."""

    def __init__(self, path: Path) -> None:
        super().__init__(np.load(path, mmap_mode="r", allow_pickle=False), str(path))


class SparseSource(Source):
    """A sparse matrix in memory."""

    sparse = in_memory = True

    def __init__(self, matrix: Table, name: str) -> None:
        self._holds(name, matrix.shape, matrix.dtype)
        self._matrix = _by_rows(matrix, self.dtype)

    def read(self, first: int, last: int) -> Table:
        """The rows as views of the arrays of the matrix."""
        matrix = self._matrix
        begin, end = matrix.indptr[first], matrix.indptr[last]
        parts = matrix.data[begin:end], matrix.indices[begin:end], matrix.indptr[first : last + 1]
        return sp.csr_array((*parts[:2], parts[2] - begin), shape=(last - first, matrix.shape[1]))

    def ends(self) -> Iterator[tuple[int, int]]:
        """The ends of ranges of rows with about `PART_BYTES` bytes each."""
        matrix, first = self._matrix, 0
        step = max(1, PART_BYTES // (matrix.data.itemsize + matrix.indices.itemsize))
        while first < (n := matrix.shape[0]):
            place = np.searchsorted(matrix.indptr, matrix.indptr[first] + step, side="right")
            last = min(max(int(place) - 1, first + 1), n)
            yield first, last
            first = last


class WithoutTarget(Source):
    """A source without one of its columns, the target."""

    def __init__(self, source: Source, target: str | int | None) -> None:
        (n, d), self._source = source.shape, source
        if not isinstance(target, (int, np.integer)) or not -d <= target < d or d == 1:
            raise ValueError(
                f"target must be the number of one of several columns of {source.name}, which "
                f"has {d}, got {target!r}."
            )
        self.shape, self.dtype, self.sparse = (n, d - 1), source.dtype, source.sparse
        self.in_memory, self.name, self.file = source.in_memory, source.name, source.file
        self.target = int(target) % d

    def read(self, first: int, last: int) -> Table:
        return self._source.read(first, last)[:, np.arange(self.shape[1] + 1) != self.target]

    def read_target(self, first: int, last: int) -> np.ndarray:
        column = self._source.read(first, last)[:, [self.target]]
        return np.ravel(column.toarray() if self.sparse else column)

    def ends(self) -> Iterator[tuple[int, int]]:
        return self._source.ends()


class NpzSource(Source):
    """A file of `scipy.sparse.save_npz`, or of `numpy.savez` with one array, read as a whole."""

    def __init__(self, path: Path) -> None:
        self.name, self._path = str(path), path
        with np.load(path, allow_pickle=False) as file:
            self.sparse = "format" in file.files
            if not self.sparse and len(file.files) != 1:
                raise ValueError(
                    f"{self.name} must hold one array or a matrix saved by "
                    f"scipy.sparse.save_npz, got {file.files}."
                )
            if self.sparse:
                shape, dtype = tuple(map(int, file["shape"])), file["data"].dtype
            else:
                (array,) = (file[key] for key in file.files)
                shape, dtype = array.shape, array.dtype
        self._holds(self.name, shape, dtype)

    def read(self, first: int, last: int) -> Table:
        if self.sparse:
            return _by_rows(sp.load_npz(self._path), self.dtype)
        with np.load(self._path, allow_pickle=False) as file:
            (array,) = (file[key] for key in file.files)
        return np.require(array, self.dtype, "A")

    def ends(self) -> Iterator[tuple[int, int]]:
        """The ends of a single part, as such a file cannot be read by rows."""
        return iter([(0, self.shape[0])])


class ParquetSource(Source):
    """A Parquet file with columns of numbers, read by its row groups.

    Parameters
    ----------
    path : Path
    columns : list of str or None
        The columns to read; None for all except the target.
    target : str or None

    Raises
    ------
    ImportError
        If pyarrow is not installed.
    """

    def __init__(self, path: Path, columns: list[str] | None, target: str | int | None) -> None:
        try:
            import pyarrow.parquet as parquet
        except ImportError as error:
            raise ImportError(
                "RowBlocks reads Parquet files by pyarrow, which is not installed: "
                "pip install pyarrow"
            ) from error
        self.name, self._file = str(path), parquet.ParquetFile(path)
        self._reading = Lock()  # the reader is not thread-safe
        names = self._file.schema_arrow.names
        self.target = target
        self._columns = [c for c in names if c != target] if columns is None else list(columns)
        missing = [name for name in self._columns if name not in names or name == target]
        missing += [] if target in [None, *names] else [target]
        if missing:
            raise ValueError(
                "columns of RowBlocks, as well as target, must be among those of "
                f"{self.name}, got {missing}."
            )
        self.header = self._file.schema_arrow.empty_table().select(self._columns)
        types = {_numpy_type(self._file.schema_arrow, name, path) for name in self._columns}
        groups = self._file.metadata
        counts = [groups.row_group(k).num_rows for k in range(groups.num_row_groups)]
        self._firsts = np.concatenate([[0], np.cumsum(counts)]).tolist()
        dtype = np.dtype(np.float32 if types == {np.dtype(np.float32)} else np.float64)
        self._holds(self.name, (self._firsts[-1], len(self._columns)), dtype)

    def _table(self, first: int, columns: Sequence[str | int | None]) -> Any:
        with self._reading:
            return self._file.read_row_group(self._firsts.index(first), columns=columns)

    def read(self, first: int, last: int) -> Table:
        table = self._table(first, self._columns)
        values = np.empty((table.num_rows, len(self._columns)), self.dtype, order="F")
        for place, name in enumerate(self._columns):
            # missing values become NaN, for which a fit raises an error with the name of the file
            values[:, place] = table.column(name).to_numpy()
        return values

    def read_target(self, first: int, last: int) -> np.ndarray:
        return self._table(first, [self.target]).column(0).to_numpy()

    def ends(self) -> Iterator[tuple[int, int]]:
        pairs = zip(self._firsts[:-1], self._firsts[1:], strict=True)
        return ((first, last) for first, last in pairs if first < last)


def _numpy_type(schema: Any, name: str, path: Path) -> np.dtype:
    try:
        dtype = np.dtype(schema.field(name).type.to_pandas_dtype())
    except (NotImplementedError, TypeError):  # a type of Arrow without equivalent in NumPy
        dtype = np.dtype(object)
    if dtype.kind not in "fiub":
        raise ValueError(
            f"Columns of {path} must hold numbers, got {name!r} of the type "
            f"{schema.field(name).type}: name others in columns."
        )
    return dtype


FILES: dict[str, Callable[..., Source]] = {
    ".npy": NpySource,
    ".npz": NpzSource,
    ".parquet": ParquetSource,
}


def _by_rows(matrix: Table, dtype: np.dtype) -> Table:
    """The matrix in canonical CSR format, with validated index arrays.

    Raises
    ------
    ValueError
        If the index arrays do not fit the shape.
    """
    if matrix.format in ("csr", "csc", "bsr"):
        matrix.check_format(full_check=True)
    return canonical(sp.csr_array(matrix.astype(dtype, copy=False)))
