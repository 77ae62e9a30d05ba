"""Penalties, losses and columns of tasks for estimators of several outputs."""

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np

from .. import losses, penalties
from .._compat import _safe_indexing
from .._typing import Array, Matrix
from ..losses import Loss
from ..penalties import Penalty
from ..penalties.weighted import unpenalised
from .names import LOSSES

# the keys of the tables below, for editors
OutputLossName = Literal[
    "absolute", "epsilon_insensitive", "hinge", "huber", "l2_norm", "logistic", "pinball",
    "smoothed_hinge", "squared", "squared_hinge",
]  # fmt: skip
OutputPenaltyName = Literal[
    "exclusive", "l1", "l1inf", "l2", "l21", "squared_groups", "squared_outputs", "trace"
]

# functions that make a loss from the number of outputs
OUTPUT_LOSSES: dict[str, Callable[[int], Loss]] = {
    name: lambda n_outputs, kind=kind: kind()
    for name, kind in LOSSES.items()
    if name in get_args(OutputLossName)
} | {"l2_norm": losses.L2Norm}

# functions that make a penalty from the numbers of features and of outputs; a group is a row of
# the matrix of coefficients, and for "squared_outputs" a column
OUTPUT_PENALTIES: dict[str, Callable[[int, int], Penalty]] = {
    "l21": lambda d, n_outputs: penalties.GroupL2(n_outputs, np.ones(d)),
    "l1inf": lambda d, n_outputs: penalties.GroupLInf(n_outputs),
    "exclusive": lambda d, n_outputs: penalties.GroupL1Squared(n_outputs),
    "squared_groups": lambda d, n_outputs: penalties.SquaredGroupL2(n_outputs),
    "squared_outputs": lambda d, n_outputs: penalties.SquaredGroupL2(
        np.tile(np.arange(n_outputs), d)
    ),
    "trace": lambda d, n_outputs: penalties.Spectral(penalties.L1(), n_outputs),
    "l1": lambda d, n_outputs: penalties.L1(),
    "l2": lambda d, n_outputs: penalties.SquaredL2(),
}


def output_penalty(
    penalty: str | Penalty, l1_ratio: float, n_features: int, n_outputs: int, alpha: float = 1.0
) -> Penalty:
    """The penalty of a name, plus half the squared Frobenius norm for an l1_ratio below 1.

    For an alpha of 0 it is one that leaves all coefficients free.

    Raises
    ------
    ValueError
        If the penalty does not take the l1_ratio, or does not say the shape of its matrix.
    """
    if alpha == 0.0:
        return unpenalised(penalties.L1() if isinstance(penalty, str) else penalty)
    if n_outputs == 1 and penalty == "l21":
        penalty = "l1"  # the same function, as a sum over entries
    if l1_ratio < 1.0:
        if l1_ratio == 0.0 and penalty in ("l21", "l1"):
            return penalties.SquaredL2()
        if penalty == "l21":
            return penalties.GroupElasticNet(n_outputs, np.ones(n_features), l1_ratio)
        if penalty == "l1":
            return penalties.ElasticNet(l1_ratio)
        raise ValueError(
            f"l1_ratio must be 1 unless penalty is 'l21' or 'l1', got l1_ratio={l1_ratio!r} and "
            f"penalty={penalty!r}."
        )
    if isinstance(penalty, str):
        return OUTPUT_PENALTIES[penalty](n_features, n_outputs)
    if penalty.structure is penalties.Structure.SPECTRAL and penalty.of_one_output is None:
        raise ValueError(
            "n_outputs of Spectral must be the number of columns of the coefficients, "
            f"{n_outputs}, got {penalty!r}."
        )
    return penalty


def checked_loss(loss: str | Loss, n_outputs: int, *, of_tasks: bool = False) -> Loss:
    """The loss of a name or an object, after a check of its number of outputs.

    Raises
    ------
    ValueError
        If the loss is one of another number of outputs.
    """
    if isinstance(loss, str):
        loss = OUTPUT_LOSSES[loss](n_outputs)
    if not loss.couples_outputs:
        return loss
    if loss.of_classes:
        raise ValueError(
            f"loss must be one of outputs, got {loss!r}, which takes classes: fit MultinomialPD "
            "for it."
        )
    if of_tasks:
        raise ValueError("loss 'l2_norm' needs all outputs of a sample, but there are tasks.")
    if loss.of_quantiles:
        raise ValueError(
            f"loss must be one of outputs, got {loss!r}, which takes quantiles of one target: fit "
            "QuantilePD for it."
        )
    if loss.n_outputs != n_outputs:
        raise ValueError(
            f"loss must be one of {n_outputs} outputs, as y has so many, got {loss!r}."
        )
    return losses.Absolute() if n_outputs == 1 else loss  # they are equal


def check_labels(loss: Loss, y: Array) -> None:
    """Raise a ValueError if a loss of labels has targets other than -1 and 1."""
    if loss.of_labels and not np.isin(y, (-1.0, 1.0)).all():
        raise ValueError(
            f"y must hold labels -1 and 1 for the loss {type(loss).__name__}, got values from "
            f"{np.min(y):.3g} to {np.max(y):.3g}."
        )


def without_tasks(X: Matrix, tasks: int | str) -> tuple[Matrix, Array]:
    """Split off the column of X that holds the task of each row.

    Parameters
    ----------
    X : {array-like, sparse matrix, dataframe}
    tasks : int or str
        The index of the column, or its name in a dataframe.

    Raises
    ------
    ValueError
        If there is no such column.
    """
    names = getattr(X, "columns", None)
    if isinstance(tasks, str):
        if names is None or tasks not in list(names):
            raise ValueError(
                "tasks must be the index of a column of X, or a name if X has names, got "
                f"{tasks!r}."
            )
        index = list(names).index(tasks)
    else:
        index = int(tasks)
        if not -X.shape[1] <= index < X.shape[1]:
            raise ValueError(
                f"tasks must be the index of one of the {X.shape[1]} columns of X, got {tasks!r}."
            )
        index %= X.shape[1]
    if hasattr(X, "tocsc"):
        X = X.tocsc()
    others = np.flatnonzero(np.arange(X.shape[1]) != index)
    column = _safe_indexing(X, [index], axis=1)
    labels = column.toarray() if hasattr(column, "toarray") else np.asarray(column)
    return _safe_indexing(X, others, axis=1), np.ravel(labels)
