"""The best constant prediction for the rows of shards, from sums over the rows."""

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import brentq

from ..._floats import EPSILON
from ...losses import Loss
from ...losses.jensen_groups import RowGroup
from ...losses.numerical import constant_between
from ...losses.shifted import Shifted
from .bounds import constant_sums, null_sums, target_sums
from .remote_dual import RemoteDualPoint
from .shards import Shards

OF_SUMS = 1e-12  # relative rounding error of sums over the rows of shards
ENOUGH = 1e-7  # accuracy of the best constant, relative to the range of the targets


@dataclass(frozen=True)
class TargetSums:
    """Sums over the targets, with weights that sum to 1.

    Attributes
    ----------
    n_weighted : int
        The number of rows with a positive weight.
    above, below : float
        The total weights of the rows with positive targets, and of the others.
    mean : float
        The mean target.
    smallest, largest : float
    offsets : tuple of float
        The least and the largest offset.
    row_groups : list of RowGroup
        The row groups of the loss, without the arrays of weights.
    """

    n_weighted: int
    above: float
    below: float
    mean: float
    smallest: float
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
            sums = shards.sums(target_sums)
            total = float(sums["weight"].bounded[0])
        if not 0.0 < total < np.inf:
            raise ValueError(
                "sample_weight (times class_weight) must have a positive, finite sum, got a sum "
                f"of {total}."
            )
        above, below, mean = (sums[key].bounded[0] / total for key in ("above", "below", "moment"))
        smallest, largest = -sums["minus_smallest"].value, sums["largest"].value
        offsets = -sums["minus_smallest_offset"].value, sums["largest_offset"].value
        groups = _row_groups(sums, total)
        of_rows = cls(sums["n_weighted"], above, below, mean, smallest, largest, offsets, groups)
        return of_rows, total


def _row_groups(sums: dict[str, Any], total: float) -> list[RowGroup]:
    """Row groups without arrays of weights, from sums that are divided by the total weight."""
    totals = sums["group_totals"].bounded[0]
    divisors = np.where(totals > 0.0, totals, 1.0)
    numbers = [totals / total]
    for name in ("group_moments", "group_offsets"):
        moments, errors = sums[name].bounded
        means = moments / divisors
        # the sum of the weights and their quotients have rounding errors
        numbers += [means, errors / divisors + 16.0 * EPSILON * np.abs(means)]
    return [RowGroup(np.empty(0), *group) for group in np.transpose(numbers).tolist()]


@dataclass(frozen=True)
class NullSums:
    """Sums at the best constant prediction, and its dual point.

    Attributes
    ----------
    constant : float
    point : RemoteDualPoint
        The dual point: a subgradient of the losses, whose sum vanishes if the constant is free.
    objective, rounding, distant : float
        The mean loss, rounded up; the part of it that is due to rounding; and the mean loss of
        `Loss.distant_constant`.
    slope, steepest : float
        The mean and the largest absolute slope of the losses.
    slope_of_dual : float
        The weighted sum of the dual point.
    lower : float or None
        A lower bound on the mean loss of every constant; None if it follows from the dual point.
    dual_range : float
        The length of the longest interval of a dual variable, which may be inf.
    """

    constant: float
    point: RemoteDualPoint
    objective: float
    rounding: float
    distant: float
    slope: float
    steepest: float
    slope_of_dual: float
    lower: float | None
    dual_range: float

    @classmethod
    def of(
        cls, shards: Shards, loss: Loss, targets: TargetSums, fit_intercept: bool
    ) -> "NullSums":
        constant, lower = 0.0, None
        if fit_intercept:
            constant, lower = _best_constant(shards, loss, targets)
            constant = constant if np.isfinite(constant) else 0.0
        at_kinks = fit_intercept and loss.has_kinks
        sums = shards.sums(partial(null_sums, constant=constant, at_kinks=at_kinks))
        low, high = sums["low"].bounded[0], sums["high"].bounded[0]
        share = min(max(-low / (high - low), 0.0), 1.0) if high > low else 0.5
        objective = sums["largest"].bounded[0]
        point = RemoteDualPoint(null=(constant, at_kinks, share))
        rounding, distant = max(sums["rounding"].bounded[0], 0.0), sums["distant"].bounded[0]
        lower = None if lower is None else min(max(lower, 0.0), objective)
        return cls(
            constant, point, objective, rounding, distant, sums["slope"], sums["steepest"].value,
            low + share * (high - low), lower, sums["range"].value,
        )  # fmt: skip


def _best_constant(shards: Shards, loss: Loss, targets: TargetSums) -> tuple[float, float | None]:
    """The constant with nearly the least mean loss, and a lower bound on that loss or None."""

    def sums_at(constant: float) -> dict[str, float]:
        return shards.sums(partial(constant_sums, constant=constant))

    if loss.has_offset:
        constant, _ = _best_constant(shards, loss.as_kind(Shifted).inner, targets)
        return constant_between(constant, targets.offsets, lambda b: sums_at(b)["slope"]), None
    if loss.of_labels:
        weights = np.array([targets.above, targets.below])
        return loss.best_constant(np.array([1.0, -1.0]), weights), None
    if loss.constant_curvature or loss.has_log_link:
        return loss.best_constant(np.array([targets.mean]), np.ones(1)), None
    # the mean loss is convex, and its minimiser is between the least and the largest target
    width = targets.largest - targets.smallest
    tried: list[tuple[float, float, float]] = []

    def slope(b: float) -> float:
        sums = sums_at(b)
        tried.append((sums["value"], b, sums["slope"]))
        return sums["slope"]

    with suppress(ValueError):  # the slope has the same sign at both ends: one of them is best
        xtol = ENOUGH * width if width > 0.0 else ENOUGH
        brentq(slope, targets.smallest, targets.largest, xtol=xtol, disp=False)
    return min(tried)[1], _least_by_tangents(tried, targets)


def _least_by_tangents(tried: list[tuple[float, float, float]], targets: TargetSums) -> float:
    """A lower bound on a convex function, from values and slopes around its minimiser."""
    left = max([b for _, b, slope in tried if slope <= 0.0], default=targets.smallest)
    right = min([b for _, b, slope in tried if slope >= 0.0], default=targets.largest)
    tangents = [value + min(slope * (left - b), slope * (right - b)) for value, b, slope in tried]
    return max(tangents) * (1.0 - OF_SUMS)
