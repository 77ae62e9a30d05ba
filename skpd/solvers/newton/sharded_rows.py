"""Rows of shards, with the interface of the method of multipliers.

Losses and their gradient are computed in one pass over the rows, and the curvature in another.
Vectors over the rows (multipliers and derivatives) stay with the rows; predictions are recomputed
in each pass.
"""

from functools import partial
from typing import Any, cast

import numpy as np

from ... import kernels
from ..._typing import Array, Indices
from ...designs import Design, newton_cost
from ...designs.curvature_form import ROUNDING
from ...designs.gram import MatrixCurvature
from ...kernels import dot
from ...losses import Loss
from ...problems import Point, Problem
from ...problems.shards.data_summary import DataSummary
from ...problems.shards.remote_dual import RemoteDualPoint, RemoteVector
from ...problems.shards.rows import RowsInShards
from ...problems.shards.shards import ChildShards, Shards
from ...problems.shards.smoothing import (
    LeftOut,
    SmoothingPoint,
    curvature,
    derivatives,
    dual_range,
    merge_multipliers,
    nonlinear_rows,
    slopes,
)
from .rows import AllRows, ShrunkRows
from .settings import SETTINGS

State = tuple[Array, RemoteVector, float]  # variables, multipliers and sigma of an evaluation


class ShardedRows(AllRows):
    """The rows of shards, which are used through sums.

    Parameters
    ----------
    shards : Shards
    data : DataSummary
    loss : Loss
    variables : ndarray
    multipliers : RemoteVector
    gram : SharedGram
    """

    far_solutions = True
    halvings_at_once = 3  # several step lengths in one pass, as a pass is expensive

    def __init__(
        self, shards: Shards, data: DataSummary, loss: Loss, variables: Array,
        multipliers: RemoteVector, gram: "SharedGram",
    ) -> None:  # fmt: skip
        # The problem is not stored: its workspace refers to the rows, and the reference cycle
        # would keep both in memory after the run.
        self.shards, self.data, self.loss, self.gram = shards, data, loss, gram
        self.w, self.multipliers = variables.copy(), multipliers
        self._at: State | None = None
        self._sums: dict[str, Any] = {}
        self._derivative = multipliers
        self._before = self._along = self.w

    @classmethod
    def of(cls, problem: Problem, start: Point | None) -> "ShardedRows":
        """All rows of a problem, at a start or at the best constant prediction."""
        rows, loss = problem.rows.as_kind(RowsInShards), problem.loss
        point = problem.null_point if start is None else start
        variables = problem.join(point.coef, point.intercept)
        longest, theta = np.inf, RemoteVector(problem.n_samples)
        if loss.linear_tails:
            # cut off at the steepest slope at the best constant
            cutoff = rows.null_sums.steepest if loss.lipschitz == np.inf else np.inf
            longest = rows.null_sums.dual_range
            if cutoff < np.inf:
                ranges = rows.shards.sums(partial(dual_range, cutoff=cutoff))
                longest = float(ranges["range"].value)
            if start is not None:
                theta = problem.plain_dual(start.dual_coef)
            else:
                theta = RemoteVector(problem.n_samples, RemoteDualPoint(cutoff=cutoff))
        gram = SharedGram(bool(problem.fit_intercept))
        state = cls(rows.shards, rows.design, loss, variables, theta, gram)
        state.dual_range = longest
        return state

    def move_to(self, variables: Array) -> None:
        self.w = variables.copy()

    def evaluate(self, sigma: float) -> tuple[float, float]:
        if not _is_same(self._at, (self.w, self.multipliers, sigma)):
            self._differentiate(sigma)
        return self._sums["loss"], self._sums["dual"]

    def _differentiate(self, sigma: float, left_out: LeftOut | None = None) -> None:
        self._at = self.w, self.multipliers, sigma
        self._derivative = self.multipliers  # releases the last derivative
        owner, at = self.shards.new_key(), self._smoothing_point()
        self._sums = self.shards.sums(
            partial(derivatives, at=at, key=owner.key, left_out=left_out)
        )
        self._derivative = RemoteVector(self.shards.shape[0], owner=owner, model=self.w)

    def _smoothing_point(self) -> SmoothingPoint:
        assert self._at is not None
        _, multipliers, sigma = self._at
        return SmoothingPoint(self.w, multipliers.point, sigma)

    def gradient(self, columns: Indices | None = None) -> tuple[Array, float]:
        coef = self._sums["gradient"]
        return (coef if columns is None else coef[columns]), self._slope

    @property
    def _slope(self) -> float:
        return self._sums["slope"] if self.gram.ones else 0.0

    def certified_gradient(self, problem: Problem, coef: Array) -> tuple[Array, float]:
        return self.gradient()

    def curvature(self, columns: Indices, scale: float, ridge: Array | None) -> MatrixCurvature:
        return self.gram.curvature(self, columns, scale, ridge)

    def gram_of(self, columns: Indices) -> Array:
        """The matrix X_W' diag(h) X_W for the second derivatives h."""
        at, ones = self._smoothing_point(), self.gram.ones
        matrix = partial(curvature, at=at, columns=columns, ones=ones)
        return self.shards.sums(matrix)["matrix"]

    @property
    def n_curved(self) -> int:
        return int(self._sums["n_curved"])

    def may_hold(self, n_columns: int) -> bool:
        return n_columns <= SETTINGS.largest_working_set

    def cost(self, n_columns: int) -> float:
        return newton_cost(cast(Design, self.data), self.n_curved, n_columns)

    def go_along(self, direction: Array) -> None:
        self._before, self._along = self.w, direction
        self.w = self._before + direction

    def slope(self, sigma: float) -> float:
        self.evaluate(sigma)
        slope = dot(self._sums["gradient"], self._along[: self.data.shape[1]])
        return slope + (self._slope * float(self._along[-1]) if self.gram.ones else 0.0)

    def slopes(self, lengths: list[float], sigma: float) -> list[float]:
        at = SmoothingPoint(self._before, self.multipliers.point, sigma)
        along = partial(slopes, at=at, direction=self._along, lengths=lengths)
        return self.shards.sums(along)["slopes"].tolist()

    def go_back(self, length: float) -> None:
        self.w = self._before + length * self._along

    def dual_point(self) -> RemoteVector:
        return self._derivative

    def update_multipliers(self) -> None:
        self.multipliers = self._derivative

    def shrink(
        self, gradient: Array, sigma: float, radius: float | None
    ) -> tuple[ShrunkRows | None, float | None]:
        sums = self._sums
        if sums["curved_weight"] > SETTINGS.curved_share:  # the weights sum to 1
            return None, radius
        if radius is None:
            radius = float(np.sqrt(max(sums["square"] - sums["prediction"] ** 2, 0.0)))
        owner = self.shards.new_key()
        selected = self.shards.sums(partial(
            nonlinear_rows, at=self._smoothing_point(), key=owner.key, radius=radius,
            max_rows=self.data.most_copied_at_once, max_weight=SETTINGS.bending_share,
        ))  # fmt: skip
        if not 0.0 < selected["weight"] < SETTINGS.bending_share:
            return None, SETTINGS.radius_shrink * radius
        child = self.shards.child(owner, selected["n_rows"])
        theta = RemoteVector(selected["n_rows"], owner=owner)
        subset = ShardedRows(child, self.data, self.loss, self.w, theta, self.gram)
        self.gram.forget()
        return ShrunkRows(subset, sigma, (sums["loss"], sums["dual"]), gradient), radius

    def restore(self, shrunk: ShrunkRows, variables: Array, sigma: float) -> float:
        subset = cast(ShardedRows, shrunk.rows)
        child_key = cast(ChildShards, subset.shards).owner.key
        if self.loss.linear_tails:
            owner = self.shards.new_key()
            base = self._derivative if shrunk.updated else self.multipliers
            self._derivative = self.multipliers = base  # releases the other vector
            self.shards.each(partial(
                merge_multipliers, base=base.point, child_key=child_key,
                of_child=subset.multipliers.point, key=owner.key,
            ))  # fmt: skip
            model = variables.copy()
            self.multipliers = RemoteVector(self.shards.shape[0], owner=owner, model=model)
        left_out = LeftOut(self.w, child_key)
        self.w = variables.copy()
        self._differentiate(sigma, left_out)
        self.gram.forget()
        return float(self._sums["moved"].value)


class SharedGram:
    """A cache of the last Gram matrix of shards, and the point of its computation.

    Parameters
    ----------
    ones : bool
        Whether a column of ones follows the columns of X.
    """

    def __init__(self, ones: bool) -> None:
        self.ones = ones
        self.forget()

    def forget(self) -> None:
        """Empty the cache, as the rows are different ones."""
        self._columns: Indices = np.empty(0, dtype=np.int64)
        self._matrix: Array = np.empty((0, 0))
        self._of: State | None = None
        self._system = kernels.SupportSystem()  # of the last matrix

    def curvature(
        self, rows: ShardedRows, columns: Indices, scale: float, ridge: Array | None
    ) -> MatrixCurvature:
        """The curvature scale X_W' diag(h) X_W + diag(ridge)."""
        constant = rows.loss.constant_curvature
        state = None if constant else rows._at
        known = np.isin(columns, self._columns, assume_unique=True).all()
        is_last = bool(known) and (constant or _is_same(state, self._of))
        if not is_last:
            taken = columns
            if constant:  # the matrix can be used for later steps as well
                taken = np.union1d(columns, self._columns)
                if rows.data.dense and len(taken) >= MANY_COLUMNS * rows.data.shape[1]:
                    taken = np.arange(rows.data.shape[1])
            self._matrix, self._columns, self._of = rows.gram_of(taken), taken, state
        indices = np.searchsorted(self._columns, columns)
        if self.ones:
            indices = np.append(indices, len(self._columns))
        if not is_last or scale != 1.0 or ridge is not None:
            self._system = kernels.SupportSystem()
        H = scale * self._matrix[np.ix_(indices, indices)]
        diagonal = H.ravel()[:: len(H) + 1]
        diagonal += (0.0 if ridge is None else ridge) + ROUNDING * diagonal
        return MatrixCurvature(H, self._system)


# A pass forms the Gram matrix of all columns if this share of them is needed: it then costs at
# most the square of the inverse, 4 times as much, and saves passes for the columns that follow.
MANY_COLUMNS = 0.5


def _is_same(one: State | None, other: State | None) -> bool:
    if one is None or other is None:
        return False
    return one[0] is other[0] and one[1] is other[1] and one[2] == other[2]
