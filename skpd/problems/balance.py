"""Dual points that are exactly orthogonal to the free directions, beyond rounding errors.

A free direction f, such as an intercept or a feature that is not penalised, requires of a dual
point that sum_i c_i f_i theta_i = 0. If rounding makes this sum differ from 0, a lower bound is
reduced by the sum times the length of an interval that contains the unpenalised variable. The
interval is long where alpha is small or features are far from 0, and infinite where classes are
separable or a feature is not penalised. Here the dual point is theta + change + residual:

change
    is the vector of least norm that cancels the sums, on rows that are well inside the box of the
    conjugate loss. It is stored separately from theta, so that it is not rounded away, and the
    remaining sums are computed in twice the working precision.
residual
    cancels the remaining sums. It is not computed: such a vector exists, with a norm of at most
    the norm of the remaining sums divided by the least singular value of the directions, and this
    bound on its norm bounds its effect.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import NamedTuple

import numpy as np

from .. import kernels
from .._floats import EPSILON, without_negligible
from .._immutable_base import computed
from .._typing import Array, Indices
from ..losses import Loss
from .free_features import dependence, to_balance
from .interfaces import ProblemParts

MAX_SHARE = 0.25  # largest change, as a share of the distance to the boundary of the box
MIN_SLACK = 1e-10  # rows nearer to the boundary than this times the largest distance stay
PASSES = 2  # number of corrections; the second removes rounding errors
# The slopes of conjugates at a scaled point s theta are larger than at theta: by a factor s for
# quadratic conjugates, and up to log(1e-308) in place of 1/2 for the logistic loss. Linear ones
# have the same slopes.
SCALES = 2048.0
NEGLIGIBLE = 1e-9  # multipliers below this times the largest may be set to 0
CONDITION = 1e10  # largest condition number at which singular values are known to one half


class Direction(NamedTuple):
    """A free direction: its values, their rounding errors, and a bound on what these miss.

    The latter two are None where the values are exact. Those of a free feature are its column.
    """

    values: Array
    low: Array | None = None
    error: Array | None = None


@dataclass(frozen=True)
class BalanceBounds:
    """Bounds on what a change of a dual point does, and on what it leaves to the residual.

    Attributes
    ----------
    share : float
        The change is this share of the way from theta to the endpoint.
    residual : float
        A bound on the norm of the residual, sqrt(sum_i c_i residual_i^2).
    cost : float
        A bound on the effect of the residual on the sum of the conjugates at t (theta + change),
        divided by max(1, t^2).
    endpoint_error : float
        A bound on the effect of the rounding of the endpoint on the sum of the conjugates there,
        in the unit of ``cost``.
    columns : ndarray
        The indices of the features whose sums vanish.
    """

    share: float
    residual: float
    cost: float
    endpoint_error: float
    columns: Indices


@dataclass(frozen=True)
class Balance(BalanceBounds):
    """A change of a dual point theta that makes it orthogonal to the free directions.

    Attributes
    ----------
    change : ndarray of shape (n_samples,)
    endpoint : ndarray of shape (n_samples,)
        The point theta + change / share, which is also inside the box. By convexity the conjugates
        at theta + change are at most (1 - share) times those at theta plus share times those here.
    """

    change: Array
    endpoint: Array


def balance_exactly(problem: ProblemParts, theta: Array) -> Balance | None:
    """A change after which the sums of a dual point over the free directions vanish.

    Parameters
    ----------
    problem : ProblemParts
    theta : ndarray of shape (n_samples,)
        Dual-feasible.

    Returns
    -------
    balance : Balance or None
        None where the rows inside the box cannot take up the sums.
    """
    weights = problem.weights
    slack = slack_in_box(problem.loss, problem.y, weights, theta, kernels.max_abs(theta))
    inside = np.flatnonzero(slack > MIN_SLACK * float(np.max(slack, initial=0.0)))
    moving = np.flatnonzero(theta)
    directions = _directions(problem, moving)
    features = to_balance(problem, theta) if len(problem.free_columns) else problem.free_columns
    columns = problem.free_columns[features]
    directions += _of_features(problem, features, moving)
    free = problem.fit_intercept or problem.has_free_level or len(columns) > 0
    if not free or len(inside) < len(directions):
        return None
    # changes are measured in units of the distance (slack) of each row from the boundary
    rows = _Rows(problem, theta, inside, slack[inside], np.zeros_like(theta))
    balanced = rows.balance(directions) if directions else (0.0, 0.0)
    if balanced is None:
        return None
    change = rows.change
    share = float(np.max(np.abs(change[inside]) / rows.slack, initial=0.0))
    if not share <= MAX_SHARE:
        return None
    if share == 0.0:
        return Balance(share, *balanced, 0.0, columns, change, theta)
    endpoint = theta + change / share
    # the quotient and the sum are rounded, in the rows that change
    error = rows.effect_on_conjugates(EPSILON * np.maximum(np.abs(theta), np.abs(endpoint)))
    return Balance(share, *balanced, error, columns, change, endpoint)


def slack_in_box(loss: Loss, y: Array, weights: Array, theta: Array, largest: float) -> Array:
    """Half the distances of theta_i from the boundary of the box, at most half of ``largest``.

    Rows with theta_i = 0 do not change, as conjugates may have a kink there: theirs count as 0.
    """
    lower, upper = loss.dual_bounds(y)
    slack = np.minimum(np.minimum(theta - lower, upper - theta), largest)
    return np.where((weights > 0.0) & (theta != 0.0), 0.5 * slack, 0.0)


def largest_chords(loss: Loss, y: Array, theta: Array, slack: Array) -> Array:
    """The largest changes of the conjugates over the slack on both sides of theta.

    The slope of a convex function near theta is at most those of chords to both sides.
    """
    here = loss.conjugate(y, theta)
    chords = [loss.conjugate(y, theta + side * slack) - here for side in (-1.0, 1.0)]
    return np.maximum(*np.abs(chords))


def balance_nearby(
    problem: ProblemParts, theta: Array, project: Callable[[Array], Array]
) -> tuple[Array, Balance | None]:
    """A dual point nearby and the change that balances it, or the projection without a change.

    The point is the given one, its projection, or this without small multipliers, as rows that
    the free directions separate may prevent the balance.
    """
    # without features a projection takes less time than the test whether it is needed
    balance = balance_exactly(problem, theta) if len(problem.free_columns) else None
    if balance is None:
        theta = project(theta)
        balance = balance_exactly(problem, theta)
    if balance is None:
        theta = without_negligible(theta, NEGLIGIBLE)
        balance = balance_exactly(problem, theta)
    return theta, balance


@dataclass
class _Rows:
    """The rows inside the box with their distances (slack) from its boundary, and their change."""

    problem: ProblemParts
    theta: Array
    inside: Indices
    slack: Array
    change: Array
    _of_theta: list[tuple[float, float]] | None = None  # the sums of theta

    def table(self, directions: list[Direction]) -> Array:
        """The directions times slack and square roots of the weights, one in each column."""
        everywhere, scales = len(self.inside) == len(self.theta), self.scales
        rows = np.empty((len(directions), len(scales)))
        for row, f in zip(rows, directions, strict=True):
            np.multiply(scales, f.values if everywhere else f.values[self.inside], out=row)
        return rows.T

    scales = computed(lambda self: np.sqrt(self.problem.weights[self.inside]) * self.slack)

    def sums(self, directions: list[Direction]) -> list[tuple[float, float]]:
        """The sums of the dual point and its change, with bounds on their errors."""
        if self._of_theta is None:
            self._of_theta = [_sum(self.problem, f, self.theta) for f in directions]
        if not self.change.any():
            return self._of_theta
        changes = [_sum(self.problem, f, self.change) for f in directions]
        sums = []
        for (value, bound), (more, error) in zip(self._of_theta, changes, strict=True):
            both = value + more
            sums.append((both, (bound + error + EPSILON * abs(both)) * (1.0 + 8.0 * EPSILON)))
        return sums

    def add(self, q: Array) -> None:
        """Add a change q, in units of slack over the square roots of the weights."""
        self.change[self.inside] += self.slack * q / np.sqrt(self.problem.weights[self.inside])

    def balance(self, directions: list[Direction]) -> tuple[float, float] | None:
        """Make the sums of the rows nearly vanish; bounds on the residual and on its cost."""
        A = self.table(directions)
        sizes = np.sqrt(np.einsum("ij,ij->j", A, A))
        if not np.all(sizes > 0.0):
            return None
        A /= sizes
        inverse = _min_singular_value(A)
        if inverse is None:
            return None
        smallest, least_norm = inverse
        for _ in range(PASSES):
            sums = np.array([value for value, _ in self.sums(directions)])
            self.add(least_norm(-sums / sizes))
            if not np.max(np.abs(self.change[self.inside]) / self.slack) <= MAX_SHARE:
                return None
        left = np.array([abs(value) + error for value, error in self.sums(directions)])
        residual = 2.0 * float(np.sum(left / sizes)) / smallest
        root = np.sqrt(self.problem.weights[self.inside])
        if not float(np.max(residual / root)) <= MAX_SHARE:
            return None
        cost = 2.0 * residual * float(np.sqrt(np.sum((root * self.steepest) ** 2)))
        return residual * float(np.max(self.slack)), cost

    @cached_property
    def steepest(self) -> Array:
        """Bounds on slopes of the conjugates at multiples of points near theta, times slack."""
        loss, y, middle = self.problem.loss, self.problem.y[self.inside], self.theta[self.inside]
        steepest = largest_chords(loss, y, middle, self.slack)
        return steepest * (1.0 if loss.linear_conjugate else SCALES)

    def effect_on_conjugates(self, errors: Array) -> float:
        """A bound on the change of the sum of the conjugates by errors of the rows."""
        shares = errors[self.inside] / self.slack * self.steepest
        return 2.0 * float(np.sum(self.problem.weights[self.inside] * shares))


def _min_singular_value(A: Array) -> tuple[float, Callable[[Array], Array]] | None:
    """The least singular value of A, up to a factor 1/2, and the least q with A'q = b for any b.

    A factorisation of A'A is used if its rounding errors are small enough, otherwise a QR
    factorisation. None if A has nearly dependent columns.
    """
    gram = A.T @ A
    least = min_singular_value_by_gram(gram, len(A))
    if least is not None:
        return least, lambda b: A @ np.linalg.solve(gram, b)
    Q, R = np.linalg.qr(A)
    singular = np.linalg.svd(R, compute_uv=False)
    if not singular[-1] * CONDITION > singular[0]:
        return None
    return float(singular[-1]), lambda b: Q @ np.linalg.solve(R.T, b)


def min_singular_value_by_gram(gram: Array, n_rows: int) -> float | None:
    """The least singular value of a matrix with this Gram matrix, up to a factor 1/2.

    None where the rounding errors of sums over that many rows may be larger.
    """
    k = len(gram)
    values = np.linalg.eigvalsh(gram)
    if not values[0] > 8.0 * (n_rows + k) * k * EPSILON * values[-1]:
        return None
    return sqrt(float(values[0]))


def _directions(problem: ProblemParts, rows: Indices) -> list[Direction]:
    """The directions of the intercept and of the level.

    The level is left out if it is constant on these rows, and so a multiple of the intercept.
    """
    directions = []
    if problem.fit_intercept:
        directions.append(Direction(np.ones(problem.n_samples)))
    if problem.has_free_level and len(rows):
        level = Direction(*problem.design.matvec_compensated(np.ones(problem.n_coefficients), 0.0))
        common = None
        if np.ptp(level.values[rows]) == 0.0:  # perhaps in exact arithmetic too
            common = problem.design.rows(rows).common_row_sum()
        if not (common == 0.0 or (problem.fit_intercept and common is not None)):
            directions.append(level)
    return directions


def _of_features(problem: ProblemParts, features: Indices, rows: Indices) -> list[Direction]:
    """The directions of some free features, without those that others imply on these rows.

    A feature is implied if it is a combination of the others and the intercept.
    """
    if not len(features):
        return []
    table, whole = problem.free.table, problem.free.dependence
    if len(features) + len(whole.nearly) == table.shape[1] and len(rows) == len(table):
        kept = np.array(whole.kept, dtype=np.int64)
    else:
        of_moving = table.T[np.ix_(features, rows)].T  # whole columns are copied at once
        of_rows = dependence(of_moving, problem.fit_intercept)
        kept = features[sorted([*of_rows.kept, *of_rows.nearly])]
    return [Direction(np.ascontiguousarray(table[:, j])) for j in kept]


def _sum(problem: ProblemParts, direction: Direction, theta: Array) -> tuple[float, float]:
    """The sum of c_i f_i theta_i, with a bound on its error."""
    weights, value, bound = problem.weights, 0.0, 0.0
    for factor in (direction.values, direction.low):
        if factor is not None:
            term, rounding = kernels.compensated_dot(weights, theta, factor)
            value, bound = value + term, bound + rounding
            bound += EPSILON * abs(value)
    if direction.error is not None:
        bound += (1.0 + 1e-6) * kernels.dot(weights * direction.error, np.abs(theta))
    return value, bound * (1.0 + 8.0 * EPSILON)
