"""The problem of shards, which this process or others hold."""

from ...losses import Loss
from ...penalties import Penalty
from ..problem import Problem
from ..regularisation import Regularisation
from .null_sums import TargetSums
from .rows import RowsInShards
from .shards import Shards


def problem_of_shards(
    shards: Shards, loss: Loss, penalty: Penalty, alpha: float, fit_intercept: bool, name: str = ""
) -> Problem:
    """The problem of shards, whose weights are divided by their sum.

    Parameters
    ----------
    shards : Shards
        Shards with weights of any positive sum.
    loss : Loss
    penalty : Penalty
    alpha : float
    fit_intercept : bool
    name : str, default=""
        The name of the estimator, for messages.

    Raises
    ------
    ValueError
        If the weights have no positive, finite sum.
    """
    targets, total = TargetSums.of(shards)
    shards.divide_weights(total)
    rows = RowsInShards(shards, targets, loss, fit_intercept, total, name)
    return Problem(rows, Regularisation(penalty, alpha))
