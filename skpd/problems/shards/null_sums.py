"""The best constant prediction for the rows of shards, from sums over the rows."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from scipy.optimize import brentq

from ..._floats import EPSILON
from ...losses import Loss
from ...losses.numerical import constant_between
from ...losses.row_groups import RowGroup
from ...losses.shifted import Shifted
from .bounds import constant_sums, null_sums, target_sums
from .recipes import DualRecipe
from .shards import Shards

ENOUGH = 1e-7  # accuracy of the best constant, relative to the range of the targets


@dataclass(frozen=True)
class TargetSums:
    """Sums over the targets, with weights that sum to 1.

    Attributes
    ----------
    n_heavy : int
        The number of rows with a positive weight.
    above, below : float
        The total weights of the rows with positive targets, and of the others.
    mean : float
        The mean target.
    least, largest : float
    offsets : tuple of float
        The least and the largest offset.
    row_groups : list of RowGroup
        The groups of rows of the loss, without the arrays of weights.
    """

    n_heavy: int
    above: float
    below: float
    mean: float
    least: float
    largest: float
    offsets: tuple[float, float]
    row_groups: list[RowGroup]

    @classmethod
    def of(cls, shards: Shards) -> "tuple[TargetSums, float]":
        """The sums for weights divided by their total, and this total.

        Raises
        ------
        ValueError
            If the total is not positive and finite.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            found = shards.sums(target_sums)
            total = float(found["weight"].bounded[0])
        if not 0.0 < total < np.inf:
            raise ValueError(
                "sample_weight (times class_weight) must have a positive, finite sum, got a sum "
                f"of {total}."
            )
        return cls(
            n_heavy=found["n_heavy"],
            above=found["above"].bounded[0] / total,
            below=found["below"].bounded[0] / total,
            mean=found["moment"].bounded[0] / total,
            least=-found["minus_least"].value,
            largest=found["largest"].value,
            offsets=(-found["minus_least_offset"].value, found["largest_offset"].value),
            row_groups=[
                _row_group(found, k, total) for k in range(len(found)) if f"total_{k}" in found
            ],
        ), total


def _row_group(found: dict[str, Any], k: int, total: float) -> RowGroup:
    """A group without its array of weights, from sums divided by the total weight."""
    own = found[f"total_{k}"].bounded[0]
    means = []
    for name in ("moment", "offset"):
        moment, error = found[f"{name}_{k}"].bounded
        mean, some = moment / (own or 1.0), own or 1.0
        # the sum of the weights and their quotients have rounding errors
        means += [mean, error / some + 16.0 * EPSILON * abs(mean)]
    return RowGroup(np.empty(0), own / total, *means)


@dataclass(frozen=True)
class NullSums:
    """Sums at the best constant prediction, and the recipe of its dual point.

    Attributes
    ----------
    constant : float
    recipe : DualRecipe
        The dual point: a subgradient of the losses, whose sum vanishes if the constant is free.
    objective, rounding, distant : float
        The mean loss, rounded up; the part of it that is due to rounding; and the mean loss of
        `Loss.distant_constant`.
    slope, steepest : float
        The mean and the largest absolute slope of the losses.
    slope_of_dual : float
        The weighted sum of the dual point.
    dual_range : float
        The length of the longest interval of a dual variable, which may be inf.
    """

    constant: float
    recipe: DualRecipe
    objective: float
    rounding: float
    distant: float
    slope: float
    steepest: float
    slope_of_dual: float
    dual_range: float

    @classmethod
    def of(
        cls, shards: Shards, loss: Loss, targets: TargetSums, fit_intercept: bool
    ) -> "NullSums":
        constant = _best_constant(shards, loss, targets) if fit_intercept else 0.0
        constant = constant if np.isfinite(constant) else 0.0
        near = fit_intercept and loss.has_kinks
        found = shards.sums(null_sums, constant, near)
        low, high = found["low"], found["high"]
        share = min(max(-low / (high - low), 0.0), 1.0) if high > low else 0.5
        return cls(
            constant=constant,
            recipe=DualRecipe(null=(constant, near, share)),
            objective=found["largest"].bounded[0],
            rounding=max(found["rounding"].bounded[0], 0.0),
            distant=found["distant"].bounded[0],
            slope=found["slope"],
            steepest=found["steepest"].value,
            slope_of_dual=low + share * (high - low),
            dual_range=found["range"].value,
        )


def _best_constant(shards: Shards, loss: Loss, targets: TargetSums) -> float:
    """The constant with nearly the least mean loss."""
    if loss.has_offset:
        constant = _best_constant(shards, cast(Shifted, loss).inner, targets)
        return constant_between(
            constant, targets.offsets, lambda b: float(shards.sums(constant_sums, b)["slope"])
        )
    if loss.of_labels:
        weights = np.array([targets.above, targets.below])
        return loss.best_constant(np.array([1.0, -1.0]), weights)
    if loss.constant_curvature or loss.has_log_link:
        return loss.best_constant(np.array([targets.mean]), np.ones(1))
    # the mean loss is convex, and its minimiser is between the least and the largest target
    width = targets.largest - targets.least
    tried: list[tuple[float, float]] = []

    def slope(b: float) -> float:
        found = shards.sums(constant_sums, b)
        tried.append((found["value"], b))
        return float(found["slope"])

    with suppress(ValueError):  # the slope has the same sign at both ends: one of them is best
        brentq(slope, targets.least, targets.largest, xtol=ENOUGH * width, disp=False)
    return min(tried)[1]
