"""Sums over the rows of a shard, with bounds on their errors, for certificates."""

from collections.abc import Sequence
from math import inf

import numpy as np

from ... import kernels
from ..._floats import EPSILON
from ..._typing import Array, Indices, Numbers
from ...designs import Design
from ...designs.sums import BoundedSum, Largest, RowFactor, Sums
from ...losses import Loss
from ..balance import largest_chords, slack_in_box
from .remote_dual import BalancingChange, RemoteDualPoint, null_slopes
from .shard import Block, Shard, summed

# Rows nearer to the boundary of the box than this times the largest dual variable do not move:
# their part of the Gram matrix, of the order of the slack squared, is below its rounding errors.
LEAST_SLACK = 1e-10

# The targets


@summed
def target_sums(shard: Shard, block: Block) -> Sums:
    """The weights of all rows, and the least, the mean and the largest target."""
    loss, weights = shard.loss, block.weights
    has_weight = weights > 0.0
    offsets = block.y[has_weight, 1] if loss.has_offset else np.zeros(1)
    y = loss.targets_of(block.y)
    targets = y[has_weight]
    loss.require_targets(float(np.min(targets, initial=inf)))
    return {
        **_sums_of_row_groups(loss, block),
        "largest_offset": Largest(float(np.max(offsets, initial=-inf))),
        "minus_smallest_offset": Largest(float(np.max(-offsets, initial=-inf))),
        "n_weighted": int(np.count_nonzero(has_weight)),
        "weight": BoundedSum(float(np.sum(weights))),
        "above": BoundedSum(float(np.sum(weights[y > 0.0]))),
        "below": BoundedSum(float(np.sum(weights[y <= 0.0]))),
        "moment": BoundedSum(*kernels.compensated_dot(weights, y)),
        "largest": Largest(float(np.max(targets, initial=-inf))),
        "minus_smallest": Largest(float(np.max(-targets, initial=-inf))),
    }


def _sums_of_row_groups(loss: Loss, block: Block) -> Sums:
    """The totals of the groups of rows of Jensen's inequality, and their centres times these."""
    numbers = [
        (group.total, group.centre, group.error, group.offset, group.offset_error)
        for group in loss.row_groups(block.y, block.weights)
    ]
    totals, centres, errors, offsets, offset_errors = np.array(numbers).reshape(-1, 5).T
    moments, shifts = totals * centres, totals * offsets
    return {
        "group_totals": BoundedSum(totals),
        "group_moments": BoundedSum(moments, totals * errors + EPSILON * np.abs(moments)),
        "group_offsets": BoundedSum(shifts, totals * offset_errors + EPSILON * np.abs(shifts)),
    }


@summed
def constant_sums(shard: Shard, block: Block, constant: float) -> Sums:
    """The mean loss of a constant prediction, and a subgradient."""
    z = np.full(len(block.y), constant)
    return {
        "value": kernels.dot(block.weights, shard.loss.value(block.y, z)),
        "slope": kernels.dot(block.weights, shard.loss.gradient(block.y, z)),
    }


@summed
def null_sums(shard: Shard, block: Block, constant: float, at_kinks: bool) -> Sums:
    """Sums of the best constant prediction: losses, slopes and ranges of dual variables."""
    loss, y, weights = shard.loss, block.y, block.weights
    z = np.full(len(y), constant)
    exact = loss.with_target_error(0.0)  # errors of targets are none of the value itself
    distant = np.full(len(y), loss.distant_constant(constant))
    ends = null_slopes(loss, y, constant, at_kinks)
    low, high = (loss.project_dual(y, end) for end in ends)
    slope = np.abs(loss.gradient(y, z))
    return {
        "largest": BoundedSum(loss.largest_mean(y, weights, z, 0.0, 0.0)),
        "rounding": BoundedSum(
            exact.largest_mean(y, weights, z, 0.0, 0.0) - kernels.dot(weights, loss.value(y, z))
        ),
        "distant": BoundedSum(kernels.dot(weights, loss.value(y, distant))),
        "low": BoundedSum(*kernels.compensated_dot(weights, low)),
        "high": BoundedSum(*kernels.compensated_dot(weights, high)),
        "slope": kernels.dot(weights, slope),
        "steepest": Largest(float(np.max(slope, initial=0.0))),
        "range": Largest(float(np.max(np.subtract(*loss.dual_bounds(y)[::-1])))),
    }


# A model and a dual point


@summed
def point_sums(
    shard: Shard, block: Block, model: tuple[Array, float] | None = None,
    dual: RemoteDualPoint | None = None, precise: bool = False,
) -> Sums:  # fmt: skip
    """The sums of a model and of a dual point, of which one may be None, from one pass."""
    sums = {} if model is None else _loss_sums(shard.loss, block, model, precise)
    return sums if dual is None else sums | _dual_sums(shard, block, dual, precise)


def _loss_sums(loss: Loss, block: Block, model: tuple[Array, float], precise: bool) -> Sums:
    """The mean loss of a model, rounded up, and sums of the errors of its predictions."""
    y, weights = block.y, block.weights
    low: Numbers = 0.0
    if precise:
        z, low, error = block.design.matvec_compensated(*model)
    else:
        z, error = block.design.matvec_bounded(*model)
    return {
        "loss": BoundedSum(loss.largest_mean(y, weights, z, low, error)),
        "loss_about": kernels.dot(weights, np.ascontiguousarray(loss.value(y, z, low))),
        "error": kernels.dot(weights, error),
        "squared_error": kernels.dot(weights, error * error),
    }


def _dual_sums(shard: Shard, block: Block, dual: RemoteDualPoint, precise: bool) -> Sums:
    """The sums of a dual point, including its change, that a certificate uses."""
    loss, y, weights, theta = shard.loss, block.y, block.weights, dual.on(shard, block)
    sums = {
        "products": _product(block.design, weights, theta, precise),
        "slope": BoundedSum(*kernels.compensated_dot(weights, theta)),
        "largest": Largest(kernels.max_abs(theta)),
        **_values_and_scale(loss, y, weights, theta, ""),
    }
    if dual.change is None:
        return sums
    change = _change_of(loss, block, theta, dual.change)
    boundary = theta + change / dual.change.share
    sums["change_products"] = _product(block.design, weights, change, precise)
    return sums | _values_and_scale(loss, y, weights, boundary, "boundary_")


def _product(design: Design, weights: Array, rows: Array, precise: bool) -> BoundedSum:
    """The product X' (weights * rows), with a bound on its error."""
    if not precise:
        return BoundedSum(*design.rmatvec_bounded(weights, rows))
    high, low, error = design.rmatvec_high_low(weights, rows)
    return BoundedSum(high, error, low)


def _values_and_scale(loss: Loss, y: Array, weights: Array, theta: Array, prefix: str) -> Sums:
    """Minus the sums of the conjugate losses at some scales, and minus the largest scale."""
    scales = (1.0, 0.5) if loss.quadratic_conjugate else (1.0,)
    values = loss.dual_values(y, weights, theta, scales)
    sums: Sums = {f"{prefix}value_{k}": BoundedSum(*v) for k, v in enumerate(values)}
    return sums | {f"{prefix}minus_scale": Largest(-loss.largest_scale(y, theta))}


@summed
def dual_values(
    shard: Shard, block: Block, dual: RemoteDualPoint, scales: Sequence[float]
) -> Sums:
    """Minus the sums of the conjugate losses at multiples of a dual point.

    If the dual point has a change, the multiples are those of theta + change / share.
    """
    theta = dual.on(shard, block)
    if dual.change is not None:
        theta = theta + _change_of(shard.loss, block, theta, dual.change) / dual.change.share
    values = shard.loss.dual_values(block.y, block.weights, theta, tuple(scales))
    return {str(k): BoundedSum(*value) for k, value in enumerate(values)}


def keep_gradient(shard: Shard, model: tuple[Array, float], key: int) -> None:
    """Keep the derivatives of the losses at a model."""

    def gradient(block: Block) -> Array:
        return shard.loss.gradient(block.y, block.design.matvec(model[0]) + model[1])

    shard.vectors[key] = shard.vector(gradient)


def keep_repaired(shard: Shard, model: tuple[Array, float], key: int, new_key: int) -> None:
    """Keep a copy of a vector, or, if it is lost, the derivatives of the losses at a model."""
    if key in shard.vectors:
        shard.vectors[new_key] = shard.vectors[key].copy()
    else:
        keep_gradient(shard, model, new_key)


# Changes that balance a dual point, see `skpd.problems.balance`


def _slack_and_directions(
    loss: Loss, block: Block, theta: Array, change: BalancingChange
) -> tuple[Array, Array]:
    """Half the distances of theta_i from the boundary of the box, and the free directions.

    The distances of rows that stay fixed count as 0. The directions are of shape (n_rows,
    n_directions).
    """
    slack = slack_in_box(loss, block.y, block.weights, theta, change.largest)
    directions = _directions(block, change.columns, change.ones)
    return np.where(slack > LEAST_SLACK * change.largest, slack, 0.0), directions


def _directions(block: Block, columns: Indices, ones: bool) -> Array:
    """Ones for the intercept, if it is a direction, and the columns of the free features."""
    parts = [np.ones((len(block.y), 1))] if ones else []
    if len(columns):
        parts.append(block.design.table(columns))
    return np.hstack(parts)


def _change_of(loss: Loss, block: Block, theta: Array, change: BalancingChange) -> Array:
    slack, directions = _slack_and_directions(loss, block, theta, change)
    return slack * slack * (directions @ change.q)


@summed
def free_factor(shard: Shard, block: Block, columns: Indices, ones: bool) -> Sums:
    """The triangular factor of some columns, after ones, and the precision of the data."""
    rows = _directions(block, columns, ones)[block.weights > 0.0]
    return {"factor": RowFactor(rows), "precision": Largest(block.design.precision)}


@summed
def box_sums(shard: Shard, block: Block, dual: RemoteDualPoint) -> Sums:
    """The Gram matrix of the free directions times slack, with weights, and their free sums."""
    assert dual.change is not None
    theta = dual.on(shard, block)
    slack, directions = _slack_and_directions(shard.loss, block, theta, dual.change)
    scaled = (np.sqrt(block.weights) * slack)[:, np.newaxis] * directions
    return {
        "gram": scaled.T @ scaled,
        "n_inside": int(np.count_nonzero(slack)),
        "sums": _free_sums(block.weights, theta, directions),
    }


def _free_sums(weights: Array, theta: Array, directions: Array) -> BoundedSum:
    columns = np.ascontiguousarray(directions.T)
    sums = np.array([kernels.compensated_dot(weights, theta, f) for f in columns])
    return BoundedSum(sums[:, 0], sums[:, 1])


@summed
def balance_sums(shard: Shard, block: Block, dual: RemoteDualPoint) -> Sums:
    """The remaining free sums after a change, and sums that bound their effect."""
    assert dual.change is not None
    loss, y, weights, theta = shard.loss, block.y, block.weights, dual.on(shard, block)
    slack, directions = _slack_and_directions(loss, block, theta, dual.change)
    change = slack * slack * (directions @ dual.change.q)
    residual = _free_sums(weights, theta, directions) + _free_sums(weights, change, directions)
    inside = slack > 0.0
    y, theta, slack, weights = y[inside], theta[inside], slack[inside], weights[inside]
    steepest = largest_chords(loss, y, theta, slack)
    return {
        "residual": residual,
        "share": Largest(float(np.max(np.abs(change[inside]) / slack, initial=0.0))),
        "minus_root": Largest(float(np.max(-np.sqrt(weights), initial=-inf))),
        "steepness": float(np.sum(weights * steepest**2)),
        "rounding": float(np.sum(weights * EPSILON * (np.abs(theta) / slack + 1.0) * steepest)),
        "slack": Largest(float(np.max(slack, initial=0.0))),
    }
