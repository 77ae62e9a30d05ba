"""Sums of smoothed losses over the rows of a shard, for the method of multipliers."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, cast

import numpy as np

from ..._typing import Array, Indices, Table
from ...designs import Design
from ...designs.row_blocks import stacked
from ...designs.sampling import uniform_by_place
from ...designs.sums import Largest, Sums
from ...kernels import dot
from .recipes import DualRecipe
from .shard import Block, Shard, summed


class At(NamedTuple):
    """The point and the parameters of smoothed losses.

    Attributes
    ----------
    variables : ndarray
        The coefficients, followed by the intercept if there is one.
    multipliers : DualRecipe
    sigma : float
        The parameter of the Moreau envelopes; inf for the losses themselves.
    """

    variables: Array
    multipliers: DualRecipe
    sigma: float


def predictions(design: Design, variables: Array) -> Array:
    d = design.shape[1]
    z = design.matvec(np.ascontiguousarray(variables[:d]))
    return z + variables[d] if len(variables) > d else z


class _Smoothed:
    """The smoothed losses of one block."""

    def __init__(self, shard: Shard, at: At, block: Block, z: Array | None = None) -> None:
        rows, self.design, self.y, self.weights = block
        self.z = predictions(self.design, at.variables) if z is None else z[rows]
        self.theta = at.multipliers.of(shard.kept, shard.loss, rows, self.y)
        self.derivative, self.gradient, self.h = (np.empty(len(self.y)) for _ in range(3))
        self.loss, self.dual = shard.loss.evaluator.smoothed_derivatives(
            self.y, self.weights, self.theta, self.z, at.sigma,
            self.derivative, self.gradient, self.h,
        )  # fmt: skip

    @property
    def sums(self) -> Sums:
        weights, z, curved = self.weights, self.z, self.h > 0.0
        return {
            "loss": self.loss,
            "dual": self.dual,
            "gradient": self.design.rmatvec(self.gradient),
            "slope": float(self.gradient.sum()),
            "n_curved": int(np.count_nonzero(curved)),
            "curved_weight": dot(weights, curved.astype(np.float64)),
            "prediction": dot(weights, z),
            "square": dot(weights, z * z),
        }


def derivatives(shard: Shard, at: At, key: int, moved: "Moved | None" = None) -> Sums:
    """Sums of the losses and their gradient; the derivatives are kept under the key.

    With ``moved``, the largest change of a prediction is returned as well.
    """
    kept, before = shard.new_vector(key), None
    if moved is not None:
        before = shard.predictions_at(moved.before)
    with shard.new_predictions(at.variables) as room:

        def of_block(block: Block) -> Sums:
            found = _Smoothed(shard, at, block)
            kept[block.rows] = found.derivative
            sums = found.sums
            if moved is not None:
                if before is not None:
                    change = found.z - before[block.rows]
                else:
                    change = predictions(block.design, at.variables - moved.before)
                sums |= _furthest(shard, block.rows, change, moved.child_key)
            room[block.rows] = found.z
            return sums

        return shard.sums(of_block)


class Moved(NamedTuple):
    """The previous variables, and the key of a child shard whose rows are not considered."""

    before: Array
    child_key: int


def _furthest(shard: Shard, rows: slice, change: Array, child_key: int) -> Sums:
    far, child = np.abs(change), shard.kept.get(child_key)
    if child is not None:
        first, last = np.searchsorted(child.places, [rows.start, rows.stop])
        far[child.places[first:last] - rows.start] = 0.0
    return {"moved": Largest(float(np.max(far, initial=0.0)))}


def curvature(shard: Shard, at: At, columns: Indices, ones: bool) -> Sums:
    """The matrix X_W' diag(h) X_W for the second derivatives h, over some columns W."""
    z = shard.predictions_at(at.variables)

    def of_block(block: Block) -> Sums:
        found = _Smoothed(shard, at, block, z)
        return {"matrix": found.design.gram(found.h, columns, ones)}

    return shard.sums(of_block)


@summed()
def slopes(shard: Shard, block: Block, at: At, direction: Array, lengths: Sequence[float]) -> Sums:
    """The derivatives of the mean loss along a direction, at several lengths."""
    rows, design, y, weights = block
    z, along = (predictions(design, u) for u in (at.variables, direction))
    given = y, weights, at.multipliers.of(shard.kept, shard.loss, rows, y), z, along
    slope = shard.loss.evaluator.smoothed_slope
    return {"slopes": np.array([slope(*given, length, at.sigma) for length in lengths])}


@summed(with_data=False)
def dual_range(shard: Shard, block: Block, reach: float) -> Sums:
    """The length of the longest interval of a dual variable within [-reach, reach]."""
    _, _, y, _ = block
    lower, upper = shard.loss.dual_bounds(y)
    lengths = np.minimum(upper, reach) - np.maximum(lower, -reach)
    return {"range": Largest(float(np.max(lengths)))}


def put(shard: Shard, key: int, dual_coef: Array) -> Sums:
    """Keep this shard's part of a dual point of all rows."""
    vector = shard.new_vector(key)
    vector[:] = dual_coef[shard.first : shard.first + shard.n_rows]
    return {}


def near_rows(shard: Shard, at: At, key: int, radius: float, most: float, heaviest: float) -> Sums:
    """Keep the rows whose smoothed loss is not linear within a radius as a child shard.

    Returns the number and the total weight of these rows. No child is created if they are more
    than ``most``, or if their weight is above ``heaviest``. Stopping at that weight saves 20 % of
    a hinge loss on 1,000,000 x 50 in memory; ``most`` stops larger data first.
    """
    z = shard.predictions_at(at.variables)

    def of_block(block: Block) -> tuple:
        rows, _, y, weights = block
        found = _Smoothed(shard, at, block, z)
        near = shard.loss.evaluator.rows_that_bend(
            y, found.theta, found.z, at.sigma, found.derivative, found.h, radius
        )
        return near + rows.start, y[near], weights[near], found.theta[near]

    parts = shard.map(of_block, with_data=z is None)
    return _Picked(shard, parts, most, heaviest).keep(key)


class _Picked:
    """Rows of a shard that are to become a child shard, unless too many or too heavy.

    The parts of the blocks are indices of rows, their targets, weights and multipliers. Their data
    are read once it is known that they are wanted.
    """

    def __init__(
        self, shard: Shard, parts: Iterator[tuple], most: float = np.inf, heaviest: float = np.inf
    ) -> None:
        self.n_rows, self.weight, self.too_many = 0, 0.0, False
        self._shard, self._parts = shard, list[tuple]()
        for part in parts:
            self.n_rows += len(part[0])
            self.weight += float(np.sum(part[2]))
            self._parts.append(part)
            self.too_many = self.n_rows > most or self.weight > heaviest
            if self.too_many:
                return

    @property
    def stacked(self) -> tuple:
        """The parts of all blocks, concatenated, and the data before the targets."""
        places, *vectors = map(np.concatenate, zip(*self._parts, strict=True))

        def of_block(block: Block) -> Table:
            own = slice(*np.searchsorted(places, [block.rows.start, block.rows.stop]))
            return block.design.rows_as_they_are(places[own] - block.rows.start)

        data = [part for part in self._shard.map(of_block) if part.shape[0]]
        return places, stacked(data), *vectors

    def keep(self, key: int) -> Sums:
        """Keep the child shard under a key; it keeps the multipliers under the same key."""
        if self.n_rows == 0 or self.too_many:
            return {"n_rows": self.n_rows, "weight": 0.0 if self.n_rows == 0 else np.inf}
        places, data, y, weights, theta = self.stacked
        child = self._shard.of_rows(data, y, weights)
        child.kept[key], child.places = theta, places
        self._shard.kept[key] = child
        return {"n_rows": self.n_rows, "weight": self.weight}


def merge_multipliers(
    shard: Shard, base: DualRecipe, child_key: int, of_child: DualRecipe, key: int
) -> Sums:
    """Keep a copy of a dual point with the multipliers of a child shard for its rows."""
    vector, child = shard.new_vector(key), cast(Shard | None, shard.kept.get(child_key))

    def of_block(block: Block) -> Sums:
        vector[block.rows] = base.of(shard.kept, shard.loss, block.rows, block.y)
        return {}

    def of_child_block(block: Block) -> Sums:
        assert child is not None
        places = child.places[block.rows]
        vector[places] = of_child.of(child.kept, shard.loss, block.rows, block.y)
        return {}

    shard.sums(of_block, with_data=False)
    return child.sums(of_child_block, with_data=False) if child is not None else {}


def sample(shard: Shard, key: int, share: float) -> Sums:
    """Keep a reproducible sample of about a given share of the rows as a child shard.

    The sample does not depend on the distribution of the rows over shards.
    """
    return _chosen(shard, share).keep(key)


def sampled_rows(shard: Shard, share: float) -> tuple | None:
    """The data, targets and weights of the rows that `sample` selects; None if there are none."""
    picked = _chosen(shard, share)
    return picked.stacked[1:4] if picked.n_rows else None


def _chosen(shard: Shard, share: float) -> _Picked:
    def of_block(block: Block) -> tuple:
        rows, _, y, weights = block
        places = np.arange(rows.start, rows.stop)
        chosen = uniform_by_place(places + shard.first) < share
        own = np.flatnonzero(chosen & (weights > 0.0))
        return places[own], y[own], weights[own], np.zeros(len(own))

    return _Picked(shard, shard.map(of_block, with_data=False))
