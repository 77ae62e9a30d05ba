"""Rows of shards, with the interface of the method of multipliers.

Losses and their gradient are computed in one pass over the rows, and the curvature in another.
Vectors over the rows (multipliers and derivatives) stay with the rows; predictions are recomputed
in each pass.
"""

from typing import Any, cast

import numpy as np

from ... import kernels
from ..._typing import Array, Indices
from ...designs import newton_cost
from ...designs.gram import ROUNDING, MatrixCurvature
from ...kernels import dot
from ...problems import Point, Problem
from ...problems.shards.recipes import DualRecipe, SharedVector
from ...problems.shards.shards import Shards
from ...problems.shards.smoothing import (
    At,
    Moved,
    curvature,
    derivatives,
    dual_range,
    merge_multipliers,
    near_rows,
    slopes,
)
from .rows import AllRows, ShrunkRows
from .settings import SETTINGS


class ShardedRows(AllRows):
    """The rows of shards, which are used through sums.

    Parameters
    ----------
    shards : Shards
    data : SharedData
    loss : Loss
    variables : ndarray
    multipliers : SharedVector
    gram : SharedGram
    """

    far_solutions = True
    halvings_at_once = 3  # several step lengths in one pass, as a pass is expensive

    def __init__(
        self, shards: Shards, data: Any, loss: Any, variables: Array, multipliers: SharedVector,
        gram: "SharedGram",
    ) -> None:  # fmt: skip
        # The problem is not stored: its workspace refers to the rows, and the reference cycle
        # would keep both in memory after the run.
        self.shards, self.data, self.loss, self.gram = shards, data, loss, gram
        self.w, self.multipliers = variables.copy(), multipliers
        self._at: tuple = (None, None, None)
        self._found: dict[str, Any] = {}
        self._derivative = multipliers
        self._before = self._along = self.w

    @classmethod
    def of(cls, problem: Problem, start: Point | None) -> "ShardedRows":
        """All rows of a problem, at a start or at the best constant prediction."""
        loss, point = problem.loss, problem.null_point if start is None else start
        variables = problem.join(point.coef, point.intercept)
        longest, nothing = np.inf, SharedVector(DualRecipe(), problem.n_samples)
        theta = nothing
        if loss.linear_tails:
            # cut off at the steepest slope at the best constant
            reach = problem.rows.null_sums.steepest if loss.lipschitz == np.inf else np.inf
            longest = problem.rows.null_sums.dual_range
            if reach < np.inf:
                longest = float(problem.rows.shards.sums(dual_range, reach)["range"].value)
            if start is not None:
                theta = cast(SharedVector, problem.plain_dual(start.dual_coef))
            else:
                theta = SharedVector(DualRecipe(reach=reach), problem.n_samples)
        gram = SharedGram(bool(problem.fit_intercept))
        rows = cls(problem.rows.shards, problem.design, loss, variables, theta, gram)
        rows.dual_range = longest
        return rows

    def move_to(self, variables: Array, problem: Any = None) -> None:
        self.w = variables.copy()

    def _is_at(self, sigma: float) -> bool:
        w, multipliers, last = self._at
        return w is self.w and multipliers is self.multipliers and last == sigma

    def evaluate(self, sigma: float) -> tuple[float, float]:
        if not self._is_at(sigma):
            self._differentiate(sigma)
        return self._found["loss"], self._found["dual"]

    def _differentiate(self, sigma: float, moved: Moved | None = None) -> None:
        self._at = self.w, self.multipliers, sigma
        self._derivative = self.multipliers  # releases the last derivative
        kept = self.shards.new()
        self._found = self.shards.sums(derivatives, self._where(), kept.key, moved)
        recipe = DualRecipe(kept.key)
        self._derivative = SharedVector(recipe, self.shards.shape[0], kept, self.w)

    def _where(self) -> At:
        _, multipliers, sigma = self._at
        return At(self.w, multipliers.recipe, sigma)

    def gradient(self, columns: Indices | None = None) -> tuple[Array, Any]:
        coef = self._found["gradient"]
        return (coef if columns is None else coef[columns]), self._slope

    @property
    def _slope(self) -> float:
        return self._found["slope"] if self.gram.ones else 0.0

    def certified_gradient(self, problem: Any, coef: Array) -> tuple[Array, float]:
        return self.gradient()

    def curvature(self, columns: Indices, scale: float, ridge: Array | None, again: bool) -> Any:
        return self.gram.curvature(self, columns, scale, ridge, again)

    def gram_of(self, columns: Indices) -> Array:
        """The matrix X_W' diag(h) X_W for the second derivatives h."""
        found = self.shards.sums(curvature, self._where(), columns, self.gram.ones)
        return found["matrix"]

    @property
    def n_curved(self) -> int:
        return int(self._found["n_curved"])

    def may_hold(self, n_columns: int) -> bool:
        return n_columns <= SETTINGS.largest_working_set

    def cost(self, n_columns: int) -> float:
        return newton_cost(self.data, self.n_curved, n_columns)

    def go_along(self, direction: Array) -> None:
        self._before, self._along = self.w, direction
        self.w = self._before + direction

    def slope(self, sigma: float) -> float:
        self.evaluate(sigma)
        slope = dot(self._found["gradient"], self._along[: self.data.shape[1]])
        return slope + (self._slope * float(self._along[-1]) if self.gram.ones else 0.0)

    def slopes(self, lengths: list[float], sigma: float) -> list[float]:
        at = At(self._before, self.multipliers.recipe, sigma)
        found = self.shards.sums(slopes, at, self._along, lengths)
        return list(map(float, found["slopes"]))

    def go_back(self, length: float) -> None:
        self.w = self._before + length * self._along

    def dual_point(self) -> SharedVector:
        return self._derivative

    def update_multipliers(self) -> None:
        self.multipliers = self._derivative

    def shrink(
        self, variables: Array, gradient: Array, sigma: float, radius: float | None
    ) -> tuple[ShrunkRows | None, float | None]:
        found = self._found
        if found["curved_weight"] > SETTINGS.curved_share:  # the weights sum to 1
            return None, radius
        if radius is None:
            radius = float(np.sqrt(max(found["square"] - found["prediction"] ** 2, 0.0)))
        kept, shards = self.shards.new(), self.shards
        most = self.data.most_copied_rows / self.data.n_shards
        heaviest = SETTINGS.bending_share
        near = shards.sums(near_rows, self._where(), kept.key, radius, most, heaviest)
        if not 0.0 < near["weight"] < heaviest:
            return None, SETTINGS.radius_shrink * radius
        child = shards.child(kept, near["n_rows"])
        theta = SharedVector(DualRecipe(kept.key), near["n_rows"], kept)
        some = ShardedRows(child, self.data, self.loss, self.w, theta, self.gram)
        loss, dual = some.evaluate(sigma)
        part, slope = some.gradient()
        rest = gradient[: len(part)] - part, gradient[len(part) :] - slope
        self.gram.forget()
        return ShrunkRows(
            some, variables, found["loss"] - loss, found["dual"] - dual, rest
        ), radius

    def restore(self, shrunk: ShrunkRows, variables: Array, sigma: float) -> float:
        some: Any = shrunk.rows
        if self.loss.linear_tails:
            kept = self.shards.new()
            base = self._derivative if shrunk.updated else self.multipliers
            self._derivative = self.multipliers = base  # releases the other vector
            self.shards.sums(
                merge_multipliers, base.recipe, some.shards.kept.key, some.multipliers.recipe,
                kept.key,
            )  # fmt: skip
            recipe = DualRecipe(kept.key)
            self.multipliers = SharedVector(recipe, self.shards.shape[0], kept, variables.copy())
        moved = Moved(self.w, some.shards.kept.key)
        self.w = variables.copy()
        self._differentiate(sigma, moved)
        self.gram.forget()
        return float(self._found["moved"].value)


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
        self._of: Any = None
        self._system = kernels.SupportSystem()  # of the last matrix

    def curvature(
        self, rows: ShardedRows, columns: Indices, scale: float, ridge: Array | None, again: bool
    ) -> MatrixCurvature:
        """The curvature scale X_W' diag(h) X_W + diag(ridge)."""
        constant = rows.loss.constant_curvature
        state = None if constant else rows._at
        known = np.isin(columns, self._columns, assume_unique=True).all()
        is_last = bool(known) and (again or constant or _same(state, self._of))
        if not is_last:
            taken = columns
            if constant:  # the matrix can be used for later steps as well
                taken = np.union1d(columns, self._columns)
                if rows.data.dense and rows.data.shape[1] <= ALL_COLUMNS:
                    taken = np.arange(rows.data.shape[1])
            self._matrix, self._columns, self._of = rows.gram_of(taken), taken, state
        places = np.searchsorted(self._columns, columns)
        if self.ones:
            places = np.append(places, len(self._columns))
        if not is_last or scale != 1.0 or ridge is not None:
            self._system = kernels.SupportSystem()
        H = scale * self._matrix[np.ix_(places, places)]
        diagonal = H.ravel()[:: len(H) + 1]
        diagonal += (0.0 if ridge is None else ridge) + ROUNDING * diagonal
        return MatrixCurvature(H, self._system)


ALL_COLUMNS = 500  # up to this number the Gram matrix of all columns is formed in a pass


def _same(one: Any, other: Any) -> bool:
    return other is not None and all(a is b for a, b in zip(one, other, strict=True))
