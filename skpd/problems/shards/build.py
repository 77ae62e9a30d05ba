"""Functions that create problems of rows in blocks, or of shards that other processes hold."""

from ...designs import RowBlocks
from ...losses import Loss
from ...penalties import Penalty
from ..columns import Columns
from ..problem import Problem
from .null_sums import TargetSums
from .rows import RowsInShards
from .shard import Shard, Targets
from .shards import LocalShards, Shards


def problem_of_blocks(
    blocks: RowBlocks, targets: Targets, loss: Loss, penalty: Penalty, alpha: float,
    fit_intercept: bool, *, name: str = "", n_parallel: int = 1,
) -> Problem:  # fmt: skip
    """The problem of rows in blocks, which are read by this process.

    Parameters
    ----------
    blocks : RowBlocks
    targets : Targets
        Targets with weights of any positive sum.
    loss : Loss
    penalty : Penalty
    alpha : float
    fit_intercept : bool
    name : str, default=""
        The name of the estimator, for messages.
    n_parallel : int, default=1
        The number of such problems that are solved at the same time.

    Raises
    ------
    ValueError
        If the weights have no positive, finite sum.
    """
    shards = LocalShards(Shard(blocks, targets, loss, n_parallel=n_parallel))
    return problem_of_shards(shards, loss, penalty, alpha, fit_intercept, name)


def problem_of_shards(
    shards: Shards, loss: Loss, penalty: Penalty, alpha: float, fit_intercept: bool, name: str = ""
) -> Problem:
    """The problem of shards, whose weights are divided by their sum."""
    targets, total = TargetSums.of(shards)
    shards.divide_weights(total)
    rows = RowsInShards(shards, targets, loss, fit_intercept, total, name)
    return Problem(rows, Columns(penalty, alpha))
