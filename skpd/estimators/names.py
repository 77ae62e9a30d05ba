"""Losses and penalties that have a name, and the parameters that belong to the names."""

from collections.abc import Callable, Collection, Mapping
from functools import cache
from inspect import signature
from typing import Any, Literal, TypeVar, get_args

from .. import losses, penalties
from .._immutable_base import Value
from .._typing import Groups
from ..losses import MarginLoss, ResidualLoss
from ..penalties import Penalty

Named = TypeVar("Named", bound=Value)  # a loss or a penalty

# the keys of the tables below, for editors and the validation of parameters
MarginLossName = Literal[
    "generalized_hinge", "hinge", "logistic", "modified_huber", "smoothed_hinge", "squared_hinge"
]
ResidualLossName = Literal[
    "absolute", "epsilon_insensitive", "huber", "pinball", "squared", "squared_epsilon_insensitive"
]
PenaltyName = Literal[
    "box", "elastic_net_ball", "elasticnet", "exclusive", "fused_lasso", "group", "l1", "l1_ball",
    "l1inf", "l2", "l2_norm", "linf", "nonnegative_l1", "sparse_group", "squared_groups",
    "total_variation",
]  # fmt: skip


def _losses_named(names: object) -> dict[str, Any]:
    """The losses of names, which are those of the classes, as in "squared_hinge"."""
    return {name: getattr(losses, name.title().replace("_", "")) for name in get_args(names)}


MARGIN_LOSSES: dict[str, Callable[..., MarginLoss]] = _losses_named(MarginLossName)
RESIDUAL_LOSSES: dict[str, Callable[..., ResidualLoss]] = _losses_named(ResidualLossName)

LOSSES = {**MARGIN_LOSSES, **RESIDUAL_LOSSES}  # the losses of a single prediction


def elastic_net(l1_ratio: float = 0.5, positive: bool = False) -> Penalty:
    """Penalty l1_ratio ||w||_1 + (1 - l1_ratio) ||w||_2^2 / 2, for ratios from 0 to 1 inclusive.

    Parameters
    ----------
    l1_ratio : float, default=0.5
        Share of the l1 norm, in [0, 1].
    positive : bool, default=False
        Whether the coefficients must not be negative.

    Returns
    -------
    penalty : Penalty
    """
    if positive:
        return penalties.for_features(elastic_net(l1_ratio), lower=0.0)
    if l1_ratio in (0.0, 1.0):
        return penalties.L1() if l1_ratio else penalties.SquaredL2()
    return penalties.ElasticNet(float(l1_ratio))


PENALTIES: dict[str, Callable[..., Penalty]] = {
    "box": penalties.Box,
    "elastic_net_ball": penalties.ElasticNetBall,
    "elasticnet": elastic_net,
    "exclusive": penalties.GroupL1Squared,
    "fused_lasso": penalties.FusedLasso,
    "group": penalties.GroupL2,
    "l1": penalties.L1,
    "l1_ball": penalties.L1Ball,
    "l1inf": penalties.GroupLInf,
    "l2": penalties.SquaredL2,
    "l2_norm": penalties.L2Norm,
    "linf": penalties.LInf,
    "nonnegative_l1": penalties.NonNegativeL1,
    "sparse_group": penalties.SparseGroup,
    "squared_groups": penalties.SquaredGroupL2,
    "total_variation": penalties.TotalVariation,
}


@cache
def _parameters_of(kind: Callable[..., Named]) -> Collection[str]:
    return signature(kind).parameters


def chosen(
    kind: str, value: str | Named, table: Mapping[str, Callable[..., Named]],
    **parameters: Groups | float,
) -> Named:  # fmt: skip
    """The loss or penalty of a name; an object is returned as it is.

    Parameters
    ----------
    kind : {"loss", "penalty"}
        Name of the estimator's parameter.
    value : str or object
        A key of the table, or the loss or penalty itself.
    table : dict
    **parameters : dict
        An estimator's parameters that belong to some of the names; None where it has no value.

    Returns
    -------
    found : Loss or Penalty

    Raises
    ------
    ValueError
        If a parameter has a value but does not belong to this name, or to an object, which has
        parameters of its own; or if one that the name needs is missing.
    """
    values = {key: each for key, each in parameters.items() if each is not None}
    wanted = _parameters_of(table[value]) if isinstance(value, str) else {}
    for key, parameter in values.items():
        if key not in wanted:
            users = [name for name in sorted(table) if key in _parameters_of(table[name])]
            raise ValueError(
                f"{key} belongs to {kind}={' or '.join(map(repr, users))}, got {key}="
                f"{parameter!r} with {kind}={value!r}."
            )
    if not isinstance(value, str):
        return value
    if "groups" in wanted and "groups" not in values:  # there is no default
        raise ValueError(f"{kind}={value!r} needs groups, got groups=None.")
    return table[value](**values)
