"""Dual points that are exactly orthogonal to the free directions, and known beyond rounding.

A free direction f, such as an intercept or a feature that is not penalised, asks of a dual point
that sum_i c_i f_i theta_i = 0. What rounding leaves of such a sum costs a bound that sum times an
interval that holds the free variable. The interval is long where alpha is small or features are
far from 0, and infinite where classes are separable or a feature is not penalised. Here the
dual point is theta + change + rest:

change
    cancels the sums with the least norm, on rows that are well inside the box of the conjugate
    loss. It is kept apart from theta, so that it is not rounded away, and what sums are left
    is known in twice the working precision.
rest
    cancels these as well. It need not be known: a vector of that kind exists, of a norm of at
    most the size of the sums left over the least singular value of the directions, which bounds
    what it changes.

The change can do one thing more. X' diag(c) theta is as inexact as theta is, which costs a bound
that times the coefficients that the penalty allows: too much for balls far larger than the optimal
coefficients, or for features far from 0. Along the directions in which the penalty is
differentiable at coefficients near the optimum (`skpd.penalties.tangents`) its optimal values are
known, and the change can give it these.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from .. import kernels
from .._floats import EPSILON
from .._typing import Array, Indices
from ..penalties.tangents import smooth_directions
from .free_features import independent_columns, to_balance
from .rows import Rows

__all__ = ["Balance", "balance_exactly"]

MOST = 0.25  # of the way to the boundary of the box that a change may go
LEAST_ROOM = 1e-10  # of the largest: rows with less room stay where they are
PASSES = 2  # of which the second, with precise sums, takes off the rounding errors of the first
# A scaled point s theta has steeper conjugates than theta: by s for quadratic ones, and up to
# log(1e-308) in place of 1/2 for the logistic loss
SCALES = 2048.0
LARGEST_TABLE = 1e8  # rows times features squared, for what is not proven: 0.1 s
CONDITION = 1e10  # largest of the directions, so that half of their singular values is certain


class Direction(NamedTuple):
    """A free direction: its values, beyond them what rounding took off, and a bound on the rest.

    The latter two are None where the values are exact.
    """

    values: Array
    low: Array | None = None
    error: Array | None = None


@dataclass(frozen=True)
class Balance:
    """How a dual point theta becomes orthogonal to the free directions.

    Attributes
    ----------
    change : ndarray of shape (n_samples,)
    towards : ndarray of shape (n_samples,)
        The point theta + change / share, which is inside the box too. As conjugates are convex,
        they are at most (1 - share) times that of theta plus share times that of this point.
    share : float
    rest : float
        A bound on the norm of the rest, sqrt(sum_i c_i rest_i^2).
    cost : float
        A bound on what the rest adds to the sum of the conjugates of t (theta + change), over
        the square of t if that is above 1.
    columns : ndarray
        The features whose sums vanish.
    """

    change: Array
    towards: Array
    share: float
    rest: float
    cost: float
    columns: Indices


def balance_exactly(problem: Rows, theta: Array, coef: Array | None = None) -> Balance | None:
    """A change after which the sums of a dual point over the free directions vanish.

    Parameters
    ----------
    problem : Rows
    theta : ndarray of shape (n_samples,)
        Dual-feasible.
    coef : ndarray of shape (n_features,), default=None
        Coefficients that may be optimal: the change makes theta agree with them as well, below
        the precision of theta where need be, along all directions in which the penalty is
        differentiable there. That need not succeed, and is no part of what is proven.

    Returns
    -------
    balance : Balance or None
        None where the rows inside the box cannot take up the sums.
    """
    weights = problem.weights
    lower, upper = problem.loss.dual_bounds(problem.y)
    room = np.minimum(np.minimum(theta - lower, upper - theta), kernels.max_abs(theta))
    # rows at 0 stay there, where conjugates may have a kink
    room = np.where((weights > 0.0) & (theta != 0.0), 0.5 * room, 0.0)
    inside = np.flatnonzero(room > LEAST_ROOM * float(np.max(room, initial=0.0)))
    moving = np.flatnonzero(theta)
    directions = _directions(problem, moving)
    places = to_balance(problem, theta) if len(problem.free_columns) else problem.free_columns
    columns = problem.free_columns[places]
    directions += _of_features(problem, places, moving)
    free = problem.fit_intercept or problem.has_free_level or len(columns) > 0
    smooth = (
        None if coef is None or not len(inside) else _known_products(problem, coef, len(inside))
    )
    if not (free or smooth) or len(inside) < len(directions):
        return None
    # changes are measured in units of the room that a row has
    rows = _Rows(problem, theta, inside, room[inside], np.zeros_like(theta))
    if smooth:
        rows.change_towards(smooth, directions)
    balanced = rows.balance(directions) if directions else (0.0, 0.0)
    if balanced is None:
        return None
    change, room = rows.change, room[inside]
    share = float(np.max(np.abs(change[inside]) / room, initial=0.0))
    if not share <= MOST:
        return None
    towards = theta + change / share if share > 0.0 else theta
    return Balance(change, towards, share, *balanced, columns)


@dataclass
class _Rows:
    """The rows that may change: those inside the box, the room that each has, the change."""

    problem: Rows
    theta: Array
    inside: Indices
    room: Array
    change: Array

    def table(self, directions: list[Direction]) -> Array:
        """The directions, in units of the rooms and of the square roots of the weights."""
        everywhere = len(self.inside) == len(self.theta)
        columns = [f.values if everywhere else f.values[self.inside] for f in directions]
        return (self.scales * np.stack(columns)).T

    @property
    def scales(self) -> Array:
        return np.sqrt(self.problem.weights[self.inside]) * self.room

    def sums(self, directions: list[Direction]) -> list[tuple[float, float]]:
        parts = [self.theta, self.change] if self.change.any() else [self.theta]
        return [_sum(self.problem, f, parts) for f in directions]

    def plain_sums(self, directions: list[Direction]) -> Array:
        rows = self.problem.weights * (self.theta + self.change)
        return np.array([kernels.dot(rows, f.values) for f in directions])

    def add(self, q: Array) -> None:
        """Adds a change in those units."""
        self.change[self.inside] += self.room * q / np.sqrt(self.problem.weights[self.inside])

    def balance(self, directions: list[Direction]) -> tuple[float, float] | None:
        """Changes the rows so that sums vanish but for a rest; what that is and costs."""
        A = self.table(directions)
        sizes = np.sqrt(np.einsum("ij,ij->j", A, A))
        if not np.all(sizes > 0.0):
            return None
        A /= sizes
        found = _least_singular(A)
        if found is None:
            return None
        least, normal_solve = found
        self.add(A @ normal_solve(-self.plain_sums(directions) / sizes))
        if not np.max(np.abs(self.change[self.inside]) / self.room) <= MOST:
            return None
        sums = np.array([value for value, _ in self.sums(directions)])
        self.add(A @ normal_solve(-sums / sizes))
        left = np.array([abs(value) + error for value, error in self.sums(directions)])
        rest = 2.0 * float(np.sum(left / sizes)) / least
        root = np.sqrt(self.problem.weights[self.inside])
        if not float(np.max(rest / root)) <= MOST:
            return None
        # the slope of a convex function near theta is at most that of a chord to either side
        loss, y, middle = self.problem.loss, self.problem.y[self.inside], self.theta[self.inside]
        here = loss.conjugate(y, middle)
        chords = [loss.conjugate(y, middle + side * self.room) - here for side in (-1.0, 1.0)]
        steepest = np.max(np.abs(chords), axis=0)
        cost = 2.0 * rest * float(np.sqrt(np.sum((root * steepest) ** 2)))
        return rest * float(np.max(self.room)), SCALES * cost

    def change_towards(self, wanted: tuple[Array, Array], directions: list[Direction]) -> None:
        """Adds the least change after which, about, T'X' diag(c) theta has given values."""
        design, weights = self.problem.design, self.problem.weights
        T, values = wanted
        A = np.asarray(design.rows_as_they_are(self.inside) @ T)
        A = np.column_stack([*(f.values[self.inside] for f in directions), A])
        A *= self.scales[:, np.newaxis]
        sizes = np.sqrt(np.sum(A * A, axis=0))
        sizes[sizes == 0.0] = 1.0
        U, singular, V = np.linalg.svd(A / sizes, full_matrices=False)
        known = singular > singular[0] / CONDITION
        for _ in range(PASSES):
            u = design.rmatvec_compensated(weights, self.theta)[0]
            u = u + design.rmatvec_compensated(weights, self.change)[0]
            left = [value for value, _ in self.sums(directions)]
            left = np.append(left, T.T @ u - values) / sizes
            self.add(-U[:, known] @ (V[known] @ left / singular[known]))


def _least_singular(A: Array) -> tuple[float, Callable[[Array], Array]] | None:
    """The least singular value of A, known to one half, and x with A'A x = b for any b.

    From A'A where its rounding errors allow, else from a QR factorisation. None where A has
    columns that are nearly dependent.
    """
    n, k = A.shape
    gram = A.T @ A
    values = np.linalg.eigvalsh(gram)
    if values[0] > 8.0 * (n + k) * k * EPSILON * values[-1]:
        return sqrt(float(values[0])), partial(np.linalg.solve, gram)
    r: Any = np.linalg.qr(A, mode="r")
    singular = np.linalg.svd(r, compute_uv=False)
    if not singular[-1] * CONDITION > singular[0]:
        return None
    return float(singular[-1]), lambda b: np.linalg.solve(r, np.linalg.solve(r.T, b))


def _known_products(problem: Rows, coef: Array, n_rows: int) -> tuple[Array, Array] | None:
    """Directions T, and what T'X' diag(c) theta is at the optimum (`skpd.penalties.tangents`)."""
    if problem.n_features**2 * n_rows > LARGEST_TABLE:
        return None
    found = smooth_directions(problem.penalty, coef)
    if found is None or not found.directions.size:
        return None
    T, subgradient = found
    return T, -problem.alpha * (T.T @ subgradient)


def _directions(problem: Rows, rows: Indices) -> list[Direction]:
    """The intercept and the level.

    A level that is nothing else on these rows than 0 or the intercept is left out.
    """
    found = []
    if problem.fit_intercept:
        found.append(Direction(np.ones(problem.n_samples)))
    if problem.has_free_level and len(rows):
        level = Direction(*problem.design.matvec_compensated(np.ones(problem.n_features), 0.0))
        common = None
        if np.ptp(level.values[rows]) == 0.0:  # perhaps in exact arithmetic too
            common = problem.design.rows(rows).common_row_sum()
        if not (common == 0.0 or (problem.fit_intercept and common is not None)):
            found.append(level)
    return found


def _of_features(problem: Rows, places: Indices, rows: Indices) -> list[Direction]:
    """The directions of some free features, but for those implied on these rows.

    Others and the intercept imply them.
    """
    table = problem.free_table
    if len(places) == table.shape[1] and len(rows) == len(table):
        kept = problem.independent_free
    else:
        some = table.T[np.ix_(places, rows)].T  # whole columns are copied at once
        kept = independent_columns(some, problem.fit_intercept)
    return [Direction(np.ascontiguousarray(table[:, places[j]])) for j in kept]


def _sum(problem: Rows, direction: Direction, parts: list[Array]) -> tuple[float, float]:
    """sum_i c_i f_i theta_i of a dual point given in parts, with a bound on its error."""
    weights, value, bound = problem.weights, 0.0, 0.0
    for part in parts:
        for factor in (direction.values, direction.low):
            if factor is not None:
                term, rounding = kernels.compensated_dot(weights, part, factor)
                value, bound = value + term, bound + rounding
                bound += EPSILON * abs(value)
        if direction.error is not None:
            bound += (1.0 + 1e-6) * kernels.dot(weights * direction.error, np.abs(part))
    return value, bound * (1.0 + 8.0 * EPSILON)
