"""Offsets of the predictions of rows, as numbers that `fit` and the predictions take."""

import numpy as np
from sklearn.utils import check_array

from .._typing import Array, ArrayLike, PerRow
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


def with_offsets(scores: Array, offset: PerRow) -> Array:
    """Predictions of shape (n_samples, n_outputs) plus offsets, which may be None.

    Several outputs of one target, such as quantiles, may share the offset.
    """
    if offset is None:
        return scores
    n_outputs = 1 if np.ndim(offset) == 1 else scores.shape[1]
    total: Array = scores + _table(offset, len(scores), n_outputs)
    return total


def _table(offset: ArrayLike, n_samples: int, n_outputs: int) -> Array:
    """The offsets as an array of shape (n_samples, n_outputs); a number is that of all."""
    require_numbers("offset", offset)
    if np.ndim(offset) == 0:
        offset = np.full((n_samples, n_outputs), offset)
    table: Array = check_array(offset, ensure_2d=False, dtype=np.float64, input_name="offset")
    shape = (n_samples,) if n_outputs == 1 else (n_samples, n_outputs)
    if table.shape not in (shape, (n_samples, n_outputs)):
        raise ValueError(f"offset must have the shape {shape}, got {table.shape}.")
    return table.reshape(n_samples, n_outputs)
