"""Sums of smoothed losses over the rows of a shard, for the proximal method of multipliers."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..._typing import Array, Indices, Table
from ...designs import Design
from ...designs.row_blocks import stacked
from ...designs.sampling import uniform_by_index
from ...designs.sums import Largest, Sums, added
from ...kernels import dot
from .remote_dual import RemoteDualPoint
from .shard import Block, Shard, summed


class SmoothingPoint(NamedTuple):
    """The point and the parameters of smoothed losses.

    Attributes
    ----------
    variables : ndarray
        The coefficients, followed by the intercept if there is one.
    multipliers : RemoteDualPoint
    sigma : float
        The parameter of the Moreau envelopes; inf for the losses themselves.
    """

    variables: Array
    multipliers: RemoteDualPoint
    sigma: float


def predictions(design: Design, variables: Array) -> Array:
    d = design.shape[1]
    z = design.matvec(np.ascontiguousarray(variables[:d]))
    return z + variables[d] if len(variables) > d else z


class _SmoothedLosses:
    """The smoothed losses of one block, with their derivatives and second derivatives h."""

    def __init__(
        self, shard: Shard, at: SmoothingPoint, block: Block, z: Array | None = None
    ) -> None:
        y, self.weights = block.y, block.weights
        self.z = predictions(block.design, at.variables) if z is None else z[block.rows]
        self.theta = at.multipliers.on(shard, block)
        self.derivative, self.gradient, self.h = (np.empty(len(y)) for _ in range(3))
        self.loss, self.dual = shard.loss.evaluator.smoothed_derivatives(
            y, self.weights, self.theta, self.z, at.sigma, self.derivative, self.gradient, self.h
        )

    def sums(self, design: Design) -> Sums:
        weights, z, curved = self.weights, self.z, self.h > 0.0
        return {
            "loss": self.loss,
            "dual": self.dual,
            "gradient": design.rmatvec(self.gradient),
            "slope": float(self.gradient.sum()),
            "n_curved": int(np.count_nonzero(curved)),
            "curved_weight": dot(weights, curved.astype(np.float64)),
            "prediction": dot(weights, z),
            "square": dot(weights, z * z),
        }


class LeftOut(NamedTuple):
    """The variables at which rows were left out, and the key of the shard of the others."""

    variables: Array
    child_key: int


def derivatives(
    shard: Shard, at: SmoothingPoint, key: int, left_out: LeftOut | None = None
) -> Sums:
    """Sums of the losses and their gradient; the derivatives are kept under the key.

    With ``left_out``, the largest change of a prediction of a row that was left out is returned as
    well.
    """
    derivative = shard.vectors[key] = np.empty(shard.n_rows)
    before = None if left_out is None else shard.predictions_at(left_out.variables)
    with shard.new_predictions(at.variables) as z:

        def of_block(block: Block) -> Sums:
            losses = _SmoothedLosses(shard, at, block)
            derivative[block.rows] = losses.derivative
            sums = losses.sums(block.design)
            if left_out is not None:
                if before is not None:
                    change = losses.z - before[block.rows]
                else:
                    change = predictions(block.design, at.variables - left_out.variables)
                sums["moved"] = _largest_change(shard, block.rows, change, left_out.child_key)
            z[block.rows] = losses.z
            return sums

        return added(shard.map(of_block))


def _largest_change(shard: Shard, rows: slice, change: Array, child_key: int) -> Largest:
    """The largest change of a prediction of a row that is not in the child shard."""
    sizes, child = np.abs(change), shard.children.get(child_key)
    if child is not None:
        first, last = np.searchsorted(child.row_indices, [rows.start, rows.stop])
        sizes[child.row_indices[first:last] - rows.start] = 0.0
    return Largest(float(np.max(sizes, initial=0.0)))


def curvature(shard: Shard, at: SmoothingPoint, columns: Indices, ones: bool) -> Sums:
    """The matrix X_W' diag(h) X_W for the second derivatives h, over some columns W."""
    z = shard.predictions_at(at.variables)

    def of_block(block: Block) -> Sums:
        losses = _SmoothedLosses(shard, at, block, z)
        return {"matrix": block.design.gram(losses.h, columns, ones)}

    return added(shard.map(of_block))


@summed
def slopes(
    shard: Shard, block: Block, at: SmoothingPoint, direction: Array, lengths: Sequence[float]
) -> Sums:
    """The derivatives of the mean loss along a direction, at several lengths."""
    z, along = (predictions(block.design, u) for u in (at.variables, direction))
    theta, slope = at.multipliers.on(shard, block), shard.loss.evaluator.smoothed_slope
    rows = block.y, block.weights, theta, z, along
    return {"slopes": np.array([slope(*rows, length, at.sigma) for length in lengths])}


@summed
def dual_range(shard: Shard, block: Block, cutoff: float) -> Sums:
    """The length of the longest interval of a dual variable within [-cutoff, cutoff]."""
    lower, upper = shard.loss.dual_bounds(block.y)
    lengths = np.minimum(upper, cutoff) - np.maximum(lower, -cutoff)
    return {"range": Largest(float(np.max(lengths)))}


def put(shard: Shard, key: int, dual_coef: Array) -> None:
    """Keep this shard's part of a dual point of all rows."""
    shard.vectors[key] = dual_coef[shard.first : shard.first + shard.n_rows].copy()


def nonlinear_rows(
    shard: Shard, at: SmoothingPoint, key: int, radius: float, max_rows: float, max_weight: float
) -> Sums:
    """Keep the rows whose smoothed loss is not linear within a radius as a child shard.

    Returns the number and the total weight of these rows. No child is created if they are more
    than ``max_rows``, or if their weight is above ``max_weight``.
    """
    z = shard.predictions_at(at.variables)

    def of_block(block: Block) -> tuple[Any, ...]:
        losses = _SmoothedLosses(shard, at, block, z)
        indices = shard.loss.evaluator.rows_that_bend(
            block.y, losses.theta, losses.z, at.sigma, losses.derivative, losses.h, radius
        )
        chosen = block.y[indices], block.weights[indices], losses.theta[indices]
        return indices + block.rows.start, *chosen

    return _Selection(shard, shard.map(of_block), max_rows, max_weight).keep(key)


class _Selection:
    """Rows of a shard that are to become a child shard, unless too many or too heavy.

    The parts of the blocks are indices of rows, their targets, weights and multipliers. The data
    of the rows are read when all of them are known and not too many.
    """

    def __init__(
        self, shard: Shard, parts: Iterator[tuple[Any, ...]], max_rows: float = np.inf,
        max_weight: float = np.inf,
    ) -> None:  # fmt: skip
        self.n_rows, self.weight, self.is_too_large = 0, 0.0, False
        self._shard, self._parts = shard, list[tuple[Any, ...]]()
        for part in parts:
            self.n_rows += len(part[0])
            self.weight += float(np.sum(part[2]))
            self._parts.append(part)
            self.is_too_large = self.n_rows > max_rows or self.weight > max_weight
            if self.is_too_large:
                return

    def rows(self) -> tuple[Table, Indices, Array, Array, Array]:
        """The data of the rows, and the parts of all blocks."""
        indices, *vectors = map(np.concatenate, zip(*self._parts, strict=True))

        def of_block(block: Block) -> Table:
            first, last = np.searchsorted(indices, [block.rows.start, block.rows.stop])
            return block.design.rows_as_they_are(indices[first:last] - block.rows.start)

        data = [part for part in self._shard.map(of_block) if part.shape[0]]
        return stacked(data), indices, *vectors

    def keep(self, key: int) -> Sums:
        """Keep the shard of the rows under a key; it keeps the multipliers under the same key."""
        if self.n_rows == 0 or self.is_too_large:
            return {"n_rows": self.n_rows, "weight": np.inf if self.n_rows else 0.0}
        data, indices, y, weights, theta = self.rows()
        child = self._shard.children[key] = self._shard.of_rows(data, indices, y, weights)
        child.vectors[key] = theta
        return {"n_rows": self.n_rows, "weight": self.weight}


def merge_multipliers(
    shard: Shard, base: RemoteDualPoint, child_key: int, of_child: RemoteDualPoint, key: int
) -> None:
    """Keep a copy of a dual point with the multipliers of a child shard for its rows."""
    vector = shard.vectors[key] = shard.vector(partial(base.on, shard))
    child = shard.children.get(child_key)
    if child is not None:
        vector[child.row_indices] = child.vector(partial(of_child.on, child))


def sampled_rows(shard: Shard, share: float) -> tuple[Table, Array, Array] | None:
    """The data, targets and weights of a reproducible sample of about a given share of the rows.

    The sample does not depend on the distribution of the rows over shards; None if it is empty.
    """

    def of_block(block: Block) -> tuple[Any, ...]:
        indices = np.arange(block.rows.start, block.rows.stop)
        chosen = (uniform_by_index(indices + shard.first) < share) & (block.weights > 0.0)
        return indices[chosen], block.y[chosen], block.weights[chosen], np.zeros(chosen.sum())

    selection = _Selection(shard, shard.map(of_block))
    if selection.n_rows == 0:
        return None
    data, _, y, weights, _ = selection.rows()
    return data, y, weights
