"""Offsets of the predictions of rows, as numbers that `fit` and the predictions take."""

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import _num_samples

from .._typing import Array, ArrayLike, MatrixLike, PerRow
from .validation import require_numbers


def without_none(**values: PerRow) -> dict[str, ArrayLike]:
    """The keyword arguments, such as an offset or weights of the rows, that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def offset_columns(offset: PerRow, n_samples: int, n_outputs: int) -> list[Array | None]:
    """The offsets of each output, or None for each without any.

    Raises
    ------
    ValueError
        If they are not finite numbers, one for each sample and output.
    """
    if offset is None:
        return [None] * n_outputs
    table = _table(offset, n_samples, n_outputs)
    return [np.ascontiguousarray(column) for column in table.T]


def with_exposure(X: MatrixLike, offset: PerRow, exposure: PerRow) -> PerRow:
    """The offsets of the rows of X plus the logarithms of their exposures, if they have any."""
    if exposure is None:
        return offset
    n_samples = _num_samples(X)
    table = _table(exposure, n_samples, 1, "exposure")
    if not np.all(table > 0.0):
        raise ValueError(f"exposure must be greater than 0, got {np.min(table):.6g}.")
    return np.ravel(np.log(table) + (0.0 if offset is None else _table(offset, n_samples, 1)))


def with_offsets(scores: Array, offset: PerRow) -> Array:
    """Predictions of shape (n_samples, n_outputs) plus offsets, which may be None.

    Several outputs of one target, such as quantiles, may share the offset.
    """
    if offset is None:
        return scores
    n_outputs = 1 if np.ndim(offset) == 1 else scores.shape[1]
    total: Array = scores + _table(offset, len(scores), n_outputs)
    return total


def _table(offset: ArrayLike, n_samples: int, n_outputs: int, name: str = "offset") -> Array:
    """The offsets as an array of shape (n_samples, n_outputs); a number is that of all."""
    require_numbers(name, offset)
    if np.ndim(offset) == 0:
        offset = np.full((n_samples, n_outputs), offset)
    table: Array = check_array(offset, ensure_2d=False, ensure_min_samples=0, input_name=name)
    shape = (n_samples,) if n_outputs == 1 else (n_samples, n_outputs)
    if table.shape not in (shape, (n_samples, n_outputs)):
        raise ValueError(f"{name} must have the shape {shape}, got {table.shape}.")
    return table.reshape(n_samples, n_outputs).astype(np.float64, copy=False)
