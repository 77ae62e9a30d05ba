"""Intervals of predictions from the rows and coefficients that a small gap pins down.

Each term of the gap G is at most G (`skpd.certificates.row_bounds`). So ``c_i F_i(z_i*) <= G``
bounds the prediction of a row whose dual variable is inside its bounds to within t_i of that of
the model. The coefficients of an optimal model are within b_j of w_j
(`skpd.certificates.coefficients`). Let d be the difference of both models' coefficients of the
columns whose b_j is not small, and of their intercepts. Choose as many linearly independent rows
of (x_i, 1) and units as there are columns, and call them A, so that |A d| <= t. For every matrix K
and every row x ::

    x.d = (x K) (A d) + (x - x K A) d,    |x.d| <= |x K| t + |x - x K A| b

with K the inverse of A up to rounding, which the second term covers. This holds for any choice of
A. Where the optimum is degenerate, the smallest t are large, and the intervals wide. With units in
place of x this bounds the |d_j|, and so |x.d| for all rows by one product with |X|. Of 100,000
sparse rows that decides all but 4,500. These are bounded one by one if that takes little time.
"""

from collections.abc import Callable
from math import inf, sqrt
from typing import NamedTuple

import numpy as np
from scipy.linalg import qr

from .._floats import EPSILON
from .._typing import Array, Indices, Numbers
from .interfaces import ProblemParts
from .prediction_intervals import shrunk

# The root of the largest gap for which intervals are computed, relative to the objective of the
# best constant: for larger ones they exclude little
LARGEST_SHARE = 3e-3
LARGEST_TABLE = 50_000  # entries of X that are held at once, 400 kB
LARGEST_BLOCK = 200  # unknowns; selecting a block takes the square of these times the rows
# Unknowns squared, for each entry of X, above which rows are not bounded one by one: at the limit
# that takes about as long as 14 products with sparse rows
LARGEST_WORK = 50
TINY = np.finfo(float).tiny
ROUNDED = 1.0 + 1e-9  # above the rounding of dual variables, and of a few operations


def intervals_of_pinned_rows(
    problem: ProblemParts, model: tuple[Array, Numbers], gap: float, theta: Array,
    coefficients: Callable[[], Array | None],
) -> tuple[Array, Array, Array] | None:  # fmt: skip
    """The ends of intervals of every optimal model's predictions, and the model's predictions.

    None for most losses.

    Parameters
    ----------
    problem : Problem
        A problem with a scalar loss for each row, whose rows are in memory.
    model : tuple of ndarray and float
        Coefficients and intercept.
    gap : float
        The gap of the model and theta, with room for rounding.
    theta : ndarray of shape (n_samples,)
        A dual point in the domain of the conjugate losses.
    coefficients : callable
        Returns intervals of the coefficients of every optimal model, of shape (n_features, 2).
    """
    share = sqrt(gap / problem.objective_unit) if problem.objective_unit > 0.0 else inf
    intervals = _of_single_rows(problem, gap, theta) if share <= LARGEST_SHARE else None
    of_coefficients = None if intervals is None else coefficients()
    if intervals is None or of_coefficients is None:
        return None
    coef, free = model
    (lower, upper), (z, error) = intervals, problem.predictions(coef, free)
    certain = shrunk(z, error)
    columns, bounds, small = _unknowns(problem, model, of_coefficients, share)
    size = len(bounds)
    if not 0 < size <= LARGEST_BLOCK:
        return lower, upper, certain

    def table(rows: Indices) -> Array:
        """The chosen columns of some rows, and ones for the intercept."""
        x = problem.design.rows(rows).table(columns)
        return np.column_stack([x, np.ones(len(x))]) if problem.fit_intercept else x

    def products(of_columns: Array) -> Array:
        """The products |X| of_columns, which bound those with differences of coefficients."""
        return problem.design.matrix.matvec_absolute(of_columns) * ROUNDED

    error = error + products(small)
    distances = np.maximum(upper - z, z - lower) + error
    with np.errstate(divide="ignore", over="ignore"):
        is_near = np.isfinite(distances) & (distances * share <= gap / problem.weights)
    rows = np.flatnonzero(is_near)
    rows = rows[np.argsort(distances[rows])][: LARGEST_TABLE // size]
    block = _Block.of(table(rows), distances[rows], bounds)
    if block is None:
        return lower, upper, certain
    differences = np.zeros(len(coef))
    differences[columns] = block.largest_differences[: len(columns)]
    half_widths = products(differences) + error
    half_widths += float(np.sum(block.largest_differences[len(columns) :]))
    ends = np.maximum(lower, z - half_widths), np.minimum(upper, z + half_widths)
    unsure = np.flatnonzero((ends[0] <= 0.0) & (ends[1] >= 0.0))  # whose decisions may differ
    if len(unsure) * size**2 > LARGEST_WORK * problem.design.n_entries:
        return *ends, certain
    n_at_once = max(LARGEST_TABLE // max(problem.design.longest_row, size), 1)
    for first in range(0, len(unsure), n_at_once):
        rows = unsure[first : first + n_at_once]
        half_widths[rows] = block.half_widths(table(rows)) + error[rows]
    return np.maximum(lower, z - half_widths), np.minimum(upper, z + half_widths), certain


def _unknowns(
    problem: ProblemParts, model: tuple[Array, Numbers], of_coefficients: Array, share: float
) -> tuple[Indices, Array, Array]:
    """The columns whose b_j is not small, bounds on the |d|, and the b_j of other columns."""
    coef, free = model
    reach = np.max(np.abs(of_coefficients - coef[:, np.newaxis]), axis=1) * ROUNDED
    columns = np.flatnonzero(~(reach <= share * float(np.max(np.abs(coef), initial=0.0))))
    bounds, small = reach[columns], reach.copy()
    small[columns] = 0.0
    if problem.fit_intercept:
        lowest, highest = problem.free_intervals(problem.null_objective)[0]
        bounds = np.append(bounds, max(highest - float(free), float(free) - lowest) * ROUNDED)
    return columns, bounds, small


def _of_single_rows(problem: ProblemParts, gap: float, theta: Array) -> tuple[Array, Array] | None:
    """The intervals of predictions for which a row by itself takes no more than the gap."""
    with np.errstate(divide="ignore", over="ignore"):
        costs = gap * ROUNDED / problem.weights
    return problem.loss.intervals_of_predictions(problem.y, theta, costs)


class _Block(NamedTuple):
    """Rows A with |A d| <= distances and |d| <= bounds, and the inverse K of A up to rounding."""

    A: Array
    K: Array
    distances: Array
    bounds: Array

    @classmethod
    def of(cls, rows: Array, distances: Array, bounds: Array) -> "_Block | None":
        """The rows or units with the smallest distances that are independent; None if singular."""
        if not np.isfinite(bounds).all():
            return None
        candidates = np.vstack([rows, np.eye(len(bounds))])
        distances = np.maximum(np.append(distances, bounds), TINY)
        scaled = candidates / distances[:, np.newaxis]
        _, order = qr(scaled.T, mode="r", pivoting=True, check_finite=False)
        chosen = order[: len(bounds)]
        try:
            K = np.linalg.inv(candidates[chosen])
        except np.linalg.LinAlgError:
            return None
        return cls(candidates[chosen], K, distances[chosen], bounds)

    def half_widths(self, table: Array) -> Array:
        """Bounds on |x.d| for the rows x of a table, as in the module."""
        product = table @ self.K
        rounding = len(self.bounds) * 4.0 * EPSILON * (np.abs(product) @ np.abs(self.A))
        residual = np.abs(table - product @ self.A) + rounding
        return (np.abs(product) @ self.distances + residual @ self.bounds) * ROUNDED

    @property
    def largest_differences(self) -> Array:
        """Bounds on the |d_j|."""
        return np.minimum(self.half_widths(np.eye(len(self.bounds))), self.bounds)
