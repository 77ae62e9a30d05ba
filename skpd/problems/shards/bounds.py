"""Sums over the rows of a shard, with bounds on their errors, for certificates."""

from collections.abc import Sequence
from math import inf

import numpy as np
from sklearn.utils.validation import assert_all_finite

from ... import kernels
from ..._floats import EPSILON
from ..._typing import Array, Indices, Numbers
from ...designs import Design
from ...designs.sums import BoundedSum, Largest, RowFactor, Sums
from ...losses import Loss
from ...losses.row_groups import RowGroups
from .recipes import Change, DualRecipe, null_ends
from .shard import Block, Shard, summed

LEAST_ROOM = 1e-10  # rows nearer to the boundary than this times the largest variable stay

# The targets


@summed(with_data=False)
def target_sums(shard: Shard, block: Block) -> Sums:
    """The weights of all rows, and the least, the mean and the largest target."""
    _, _, y, weights = block
    heavy, groups = weights > 0.0, shard.loss.row_groups(y, weights)
    offset = y[heavy, 1] if shard.loss.has_offset else np.zeros(1)
    y = shard.loss.targets_of(y)
    own = y[heavy]
    shard.loss.require_targets(float(np.min(own, initial=inf)))
    return {
        **_sums_of_groups(groups),
        "largest_offset": Largest(float(np.max(offset, initial=-inf))),
        "minus_least_offset": Largest(float(np.max(-offset, initial=-inf))),
        "n_heavy": int(np.count_nonzero(heavy)),
        "weight": BoundedSum(float(np.sum(weights))),
        "above": BoundedSum(float(np.sum(weights[y > 0.0]))),
        "below": BoundedSum(float(np.sum(weights[y <= 0.0]))),
        "moment": BoundedSum(*kernels.compensated_dot(weights, y)),
        "largest": Largest(float(np.max(own, initial=-inf))),
        "minus_least": Largest(float(np.max(-own, initial=-inf))),
    }


def _sums_of_groups(groups: RowGroups) -> Sums:
    """The totals of the groups, and their centres times these."""
    found: Sums = {}
    for k, group in enumerate(groups):
        moment = group.centre * group.total
        error = group.error * group.total + EPSILON * abs(moment)
        found[f"total_{k}"] = BoundedSum(group.total)
        found[f"moment_{k}"] = BoundedSum(moment, error)
        offset = group.offset * group.total
        error = group.offset_error * group.total + EPSILON * abs(offset)
        found[f"offset_{k}"] = BoundedSum(offset, error)
    return found


@summed(with_data=False)
def constant_sums(shard: Shard, block: Block, constant: float) -> Sums:
    """The mean loss of a constant prediction, and a subgradient."""
    _, _, y, weights = block
    z = np.full(len(y), constant)
    return {
        "value": kernels.dot(weights, shard.loss.value(y, z)),
        "slope": kernels.dot(weights, shard.loss.gradient(y, z)),
    }


@summed(with_data=False)
def null_sums(shard: Shard, block: Block, constant: float, near: bool) -> Sums:
    """Sums of the best constant prediction: losses, slopes and ranges of dual variables."""
    _, _, y, weights = block
    z, loss = np.full(len(y), constant), shard.loss
    exact = loss.with_target_error(0.0)  # errors of targets are none of the value itself
    far = np.full(len(y), loss.distant_constant(constant))
    low, high = null_ends(loss, y, constant, near)
    slope = np.abs(loss.gradient(y, z))
    return {
        "largest": BoundedSum(loss.largest_mean(y, weights, z, 0.0, 0.0)),
        "rounding": BoundedSum(
            exact.largest_mean(y, weights, z, 0.0, 0.0) - kernels.dot(weights, loss.value(y, z))
        ),
        "distant": BoundedSum(kernels.dot(weights, loss.value(y, far))),
        "low": kernels.dot(weights, low),
        "high": kernels.dot(weights, high),
        "slope": kernels.dot(weights, slope),
        "steepest": Largest(float(np.max(slope, initial=0.0))),
        "range": Largest(float(np.max(np.subtract(*loss.dual_bounds(y)[::-1])))),
    }


# The data


@summed()
def survey(shard: Shard, block: Block, null: DualRecipe, name: str) -> Sums:
    """Sums over the columns of X, of all rows and of the rows of each group.

    Raises
    ------
    ValueError
        If a number is not finite. The message contains ``name``, the name of the estimator.
    """
    rows, design, y, weights = block
    data = design.rows_as_they_are(np.arange(len(y)))
    assert_all_finite(data, estimator_name=name, input_name="X")
    theta = null.of(shard.kept, shard.loss, rows, y)
    ones, groups = np.ones(len(y)), shard.loss.row_groups(y, weights)
    means = [_product(design, group.weights, ones, False) for group in groups]
    if not shard.loss.groups_have_weights:
        means.append(_product(design, weights, ones, False))
    return {
        "n_entries": design.n_entries,
        "squares": design.column_norms(weights) ** 2,
        "gradient": design.rmatvec(weights * theta),
        **{f"row_{k}": mean for k, mean in enumerate(means)},
    }


def _product(design: Design, weights: Array, rows: Array, precise: bool) -> BoundedSum:
    """The product X' (weights * rows), with a bound on its error."""
    if not precise:
        return BoundedSum(*design.rmatvec_bounded(weights, rows))
    high, low, error = design.rmatvec_high_low(weights, rows)
    return BoundedSum(high, error, low)


# A model and a dual point


@summed()
def point_sums(
    shard: Shard, block: Block, model: tuple[Array, float] | None, dual: DualRecipe | None,
    precise: bool,
) -> Sums:  # fmt: skip
    """The sums of a model and of a dual point, of which one may be None, from one pass."""
    found = {} if model is None else _loss_sums(shard.loss, block, model, precise)
    return found if dual is None else found | _dual_sums(shard, block, dual, precise)


def _loss_sums(loss: Loss, block: Block, model: tuple[Array, float], precise: bool) -> Sums:
    """The mean loss of a model, rounded up, and sums of the errors of its predictions."""
    _, design, y, weights = block
    low: Numbers = 0.0
    if precise:
        z, low, error = design.matvec_compensated(*model)
    else:
        z, error = design.matvec_bounded(*model)
    return {
        "loss": BoundedSum(loss.largest_mean(y, weights, z, low, error)),
        "loss_about": kernels.dot(weights, np.ascontiguousarray(loss.value(y, z, low))),
        "error": kernels.dot(weights, error),
        "squared_error": kernels.dot(weights, error * error),
    }


def _dual_sums(shard: Shard, block: Block, dual: DualRecipe, precise: bool) -> Sums:
    """The sums of a dual point, including its change, that a certificate uses."""
    rows, design, y, weights = block
    loss, theta = shard.loss, dual.of(shard.kept, shard.loss, rows, y)
    found = {
        "products": _product(design, weights, theta, precise),
        "slope": BoundedSum(*kernels.compensated_dot(weights, theta)),
        "largest": Largest(kernels.max_abs(theta)),
        "square": kernels.dot(weights * theta, theta),
        **_values_and_scale(loss, y, weights, theta, ""),
    }
    if dual.change is None:
        return found
    change = _change_of(loss, block, theta, dual.change)
    towards = theta + change / dual.change.share
    found["change_products"] = _product(design, weights, change, precise)
    return found | _values_and_scale(loss, y, weights, towards, "towards_")


def _values_and_scale(loss: Loss, y: Array, weights: Array, theta: Array, prefix: str) -> Sums:
    """Minus the sums of the conjugate losses at some scales, and minus the largest scale."""
    scales = (1.0, 0.5) if loss.quadratic_conjugate else (1.0,)
    values = loss.dual_values(y, weights, theta, scales)
    found: Sums = {f"{prefix}value_{k}": BoundedSum(*v) for k, v in enumerate(values)}
    return found | {f"{prefix}minus_scale": Largest(-loss.largest_scale(y, theta))}


def dual_values(shard: Shard, dual: DualRecipe, scales: Sequence[float]) -> Sums:
    """Minus the sums of the conjugate losses at multiples of a dual point.

    If the dual point has a change, the multiples are those of theta + change / share.
    """

    def of_block(block: Block) -> Sums:
        rows, _, y, weights = block
        theta = dual.of(shard.kept, shard.loss, rows, y)
        if dual.change is not None:
            change = _change_of(shard.loss, block, theta, dual.change)
            theta = theta + change / dual.change.share
        found = shard.loss.dual_values(y, weights, theta, tuple(scales))
        return {str(k): BoundedSum(*value) for k, value in enumerate(found)}

    with_data = dual.change is not None and len(dual.change.columns) > 0
    return shard.sums(of_block, with_data)


def keep_gradient(shard: Shard, model: tuple[Array, float], key: int) -> Sums:
    """Keep the derivatives of the losses at a model."""
    vector = shard.new_vector(key)

    def of_block(block: Block) -> Sums:
        z = block.design.matvec(model[0]) + model[1]
        vector[block.rows] = shard.loss.gradient(block.y, z)
        return {}

    return shard.sums(of_block)


def keep_repaired(shard: Shard, model: tuple[Array, float], key: int, new_key: int) -> Sums:
    """Keep a copy of a vector, or, if it is lost, the derivatives of the losses at a model."""
    if key not in shard.kept:
        return keep_gradient(shard, model, new_key)
    shard.new_vector(new_key)[:] = shard.kept[key]
    return {}


# Changes that balance a dual point, see `skpd.problems.balance`


def _room_and_directions(
    loss: Loss, block: Block, theta: Array, change: Change
) -> tuple[Array, Array]:
    """Half the distances of theta_i from the boundary of the box, and the free directions.

    The distances of rows that stay fixed count as 0. The directions are of shape (n_rows,
    n_directions).
    """
    lower, upper = loss.dual_bounds(block.y)
    room = np.minimum(np.minimum(theta - lower, upper - theta), change.largest)
    room = np.where((block.weights > 0.0) & (theta != 0.0), 0.5 * room, 0.0)
    parts = [np.ones((len(theta), 1))] if change.ones else []
    if len(change.columns):
        parts.append(block.design.table(change.columns))
    return np.where(room > LEAST_ROOM * change.largest, room, 0.0), np.hstack(parts)


def _change_of(loss: Loss, block: Block, theta: Array, change: Change) -> Array:
    room, directions = _room_and_directions(loss, block, theta, change)
    return room * room * (directions @ change.q)


@summed()
def free_factor(shard: Shard, block: Block, columns: Indices, ones: bool) -> Sums:
    """The triangular factor of some columns, after ones, and the precision of the data."""
    table = block.design.table(columns)[block.weights > 0.0]
    parts = [np.ones((len(table), 1)), table] if ones else [table]
    return {
        "factor": RowFactor(np.hstack(parts)), "precision": Largest(block.design.precision)
    }  # fmt: skip


def box_sums(shard: Shard, dual: DualRecipe) -> Sums:
    """The Gram matrix of the free directions times room, with weights, and their free sums."""
    change = dual.change
    assert change is not None

    def of_block(block: Block) -> Sums:
        weights, theta = block.weights, dual.of(shard.kept, shard.loss, block.rows, block.y)
        room, directions = _room_and_directions(shard.loss, block, theta, change)
        scaled = (np.sqrt(weights) * room)[:, np.newaxis] * directions
        return {
            "gram": scaled.T @ scaled,
            "n_inside": int(np.count_nonzero(room)),
            "sums": _sums_with(weights, theta, directions),
        }

    return shard.sums(of_block, with_data=len(change.columns) > 0)


def _sums_with(weights: Array, theta: Array, table: Array) -> BoundedSum:
    columns = np.ascontiguousarray(table.T)
    found = np.array([kernels.compensated_dot(weights, theta, f) for f in columns])
    return BoundedSum(found[:, 0], found[:, 1])


def balance_sums(shard: Shard, dual: DualRecipe) -> Sums:
    """The remaining free sums after a change, and sums that bound their effect."""
    change = dual.change
    assert change is not None

    def of_block(block: Block) -> Sums:
        rows, _, y, weights = block
        loss, theta = shard.loss, dual.of(shard.kept, shard.loss, rows, y)
        room, directions = _room_and_directions(loss, block, theta, change)
        moved = room * room * (directions @ change.q)
        left = _sums_with(weights, theta, directions) + _sums_with(weights, moved, directions)
        inside = room > 0.0
        y, theta, room, weights = y[inside], theta[inside], room[inside], weights[inside]
        # the slope of a convex function near theta is at most those of chords to both sides
        here = loss.conjugate(y, theta)
        chords = [np.abs(loss.conjugate(y, theta + side * room) - here) for side in (-1, 1)]
        return {
            "left": left,
            "share": Largest(float(np.max(np.abs(moved[inside]) / room, initial=0.0))),
            "minus_root": Largest(float(np.max(-np.sqrt(weights), initial=-inf))),
            "steepness": float(np.sum(weights * np.maximum(*chords) ** 2)),
            "room": Largest(float(np.max(room, initial=0.0))),
        }

    return shard.sums(of_block, with_data=len(change.columns) > 0)
