"""Sums over the columns of the data in shards, from a first pass (`DataSummary`)."""

from dataclasses import dataclass
from functools import partial

import numpy as np
from sklearn.utils.validation import assert_all_finite

from ..._immutable_base import computed
from ..._typing import Array
from ...designs.sums import BoundedSum, Sums
from .remote_dual import RemoteDualPoint
from .shard import Block, Shard, summed
from .shards import Shards

# The bytes of rows that a shard, or this process, may copy to work on a subset of them: 256 MB,
# which is little on any machine that has data too large for its memory.
COPIED = 1 << 28


@summed
def summary_sums(shard: Shard, block: Block, null: RemoteDualPoint, name: str) -> Sums:
    """Sums over the columns of X, of all rows and of the rows of each row group.

    Raises
    ------
    ValueError
        If a number is not finite. The message contains ``name``, the name of the estimator.
    """
    design, loss, weights = block.design, shard.loss, block.weights
    data = design.rows_as_they_are(np.arange(len(weights)))
    assert_all_finite(data, estimator_name=name, input_name="X")
    weights_of_sums = [group.weights for group in loss.row_groups(block.y, weights)]
    if not loss.groups_have_weights:
        weights_of_sums.append(weights)
    ones = np.ones(len(weights))
    rows, errors = zip(*(design.rmatvec_bounded(c, ones) for c in weights_of_sums), strict=True)
    return {
        "n_entries": design.n_entries,
        "squares": design.column_norms(weights) ** 2,
        "gradient": design.rmatvec(weights * null.on(shard, block)),
        "rows": BoundedSum(np.array(rows), np.array(errors)),
    }


@dataclass(frozen=True)
class DataSummary:
    """Properties of data in files or other processes, and sums over their columns.

    Attributes
    ----------
    shape : tuple of int
    dense : bool
    n_shards : int
    n_entries : float
        The number of entries that a product reads.
    squares : ndarray of shape (n_features,)
        sum_i c_i x_ij^2.
    gradient : ndarray of shape (n_features,)
        The gradient of the mean loss at the best constant prediction.
    rows : tuple of ndarray
        The weighted sum of the rows of each row group, followed by that of all rows if the groups
        do not have the weights of the rows; and bounds on the errors.
    """

    shape: tuple[int, int]
    dense: bool
    n_shards: int
    n_entries: float
    squares: Array
    gradient: Array
    rows: tuple[Array, Array]

    @classmethod
    def of(cls, shards: Shards, null: RemoteDualPoint, name: str) -> "DataSummary":
        """The summary of shards; a ValueError if a number of the data is not finite."""
        sums = shards.sums(partial(summary_sums, null=null, name=name))
        return cls(
            shards.shape, shards.dense, shards.n_shards, sums["n_entries"], sums["squares"],
            sums["gradient"], sums["rows"].bounded,
        )  # fmt: skip

    # The largest number of rows that all shards together may copy to work on a subset.
    most_copied_rows = computed(lambda self: self.n_shards * self.most_copied_at_once)

    @property
    def most_copied_at_once(self) -> float:
        """The largest number of rows that one shard, or this process, may copy."""
        length = self.n_entries / max(self.shape[0], 1)
        return COPIED / max(length * (8.0 if self.dense else 12.0), 1.0)
