"""Free numbers added to the predictions of groups of rows, each row in two groups.

A row i belongs to a left group a(i) and a right group b(i), say a row and a column of a matrix,
and its prediction holds f_a(i) + g_b(i). As f and g are free, dual points theta must have sums of
c_i theta_i of 0 over each group.

With groups for nodes and rows for edges, c_i theta_i is a flow from the left to the right, and the
sums vanish where it is conserved: the sum of a left group is what leaves it, that of a right one
what arrives. In a strongly connected part of the graph of what theta can still rise (along the
edge) or fall (against it) an amount that is missing in one node can be sent there from any other.
So where rounding leaves sums r, there is a point with sums of exactly 0 nearby, whose flow differs
by at most sum |r| on each edge, and by as much on a path, which no more edges than nodes are part
of, from a node to a root and from there to another.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from .._floats import EPSILON
from .._typing import Array, Indices

__all__ = ["FreeGroups"]

SMALL_WEIGHT = 1e-6  # of the largest: rows with less do not connect groups
FEW_GROUPS = 400  # an inverse takes 20 ms, and less memory than many rows
LINEAR_STEPS = 200  # of conjugate gradients, which take ten or twenty
LINEAR_ACCURACY = 1e-8  # of the steps of a projection, which are repeated
NEWTON_STEPS = 50  # of a projection, which takes a few
HALVINGS = 30
ARMIJO = 1e-4  # of the decrease that the slope promises
NEARER = 0.5  # of the largest sum: a step that makes it so is taken as well
RIDGE = 1e-12  # of the weights of groups: rounding
SHORT = 0.1  # of the root of the relative error: a ridge that vanishes with it
LONG = float(np.finfo(np.longdouble).eps)
TINY = np.finfo(float).tiny


@dataclass(frozen=True, eq=False)
class FreeGroups:
    """The groups of rows and their weights.

    Parameters
    ----------
    left, right : ndarray of shape (n_rows,)
        The groups of each row, from 0.
    n_left, n_right : int
    weights : ndarray of shape (n_rows,)
        The weights c_i >= 0.
    """

    left: Indices
    right: Indices
    n_left: int
    n_right: int
    weights: Array

    def values(self, free: Array) -> Array:
        """What the numbers of the left groups and, behind them, the right ones add to the rows."""
        return free[self.left] + free[self.n_left + self.right]

    def sums(self, rows: Array) -> Array:
        """The sums of the rows over the groups, left and right."""
        left = np.bincount(self.left, rows, self.n_left)
        return np.append(left, np.bincount(self.right, rows, self.n_right))

    @cached_property
    def _pattern(self) -> tuple[Indices, Indices, Indices]:
        """The rows in the order of their left groups, their right ones, where each left begins."""
        order, _ = self._orders[0]
        counts = np.bincount(self.left, minlength=self.n_left)
        return order, self.right[order], np.append(0, np.cumsum(counts))

    def _between(self, h: Array) -> Any:
        """The sums of h over the rows of each pair of a left and a right group."""
        order, right, starts = self._pattern
        return sp.csr_array((h[order], right, starts), shape=(self.n_left, self.n_right))

    def _system(self, h: Array) -> Array:
        """F' diag(h) F as an array."""
        system, between = np.diag(self.sums(h)), self._between(h).toarray()
        system[: self.n_left, self.n_left :] = between
        system[self.n_left :, : self.n_left] = between.T
        return system

    @property
    def _is_small(self) -> bool:
        return self.n_left + self.n_right <= FEW_GROUPS

    @cached_property
    def _of_weights(self) -> Array:
        return self.sums(self.weights)

    @cached_property
    def _inverse(self) -> Array:
        system = self._system(self.weights)
        return np.asarray(np.linalg.pinv(system, rcond=RIDGE, hermitian=True), dtype=np.float64)

    def solve_for_weights(self, right_side: Array, accuracy: float) -> Array:
        """f with sums of weights * values(f) as given, which are sums of rows.

        The system is singular, as a number can go from left groups to right ones.
        """
        if self._is_small:
            f: Any = self._inverse @ right_side
            return np.asarray(f)
        return self._solve(self.weights, right_side, RIDGE, accuracy)

    def _solve(self, h: Array, right_side: Array, ridge: float, accuracy: float) -> Array:
        """The same for h >= 0, with a share of the weights of the groups on the diagonal.

        By conjugate gradients, or directly where the groups are few.
        """
        more = ridge * self._of_weights + TINY
        if self._is_small:
            f: Any = np.linalg.solve(self._system(h) + np.diag(more), right_side)
            return f
        between = self._between(h)
        across, diagonal = between.T, self.sums(h) + more
        inverse = 1.0 / diagonal
        x, residual = np.zeros_like(right_side), right_side.copy()
        z = inverse * residual
        direction, size = z, float(residual @ z)
        first = size
        for _ in range(LINEAR_STEPS):
            if not size > accuracy**2 * first:
                break
            f, g = direction[: self.n_left], direction[self.n_left :]
            product = diagonal * direction + np.append(between @ g, across @ f)
            curvature = float(direction @ product)
            if not curvature > 0.0:
                break
            length = size / curvature
            x, residual = x + length * direction, residual - length * product
            z = inverse * residual
            after = float(residual @ z)
            direction, size = z + after / size * direction, after
        return x

    def projected(self, theta: Array, lower: Array, upper: Array) -> Array:
        """About the nearest point between bounds whose weighted sums vanish.

        It is theta - values(f), clipped, for the f that minimises a convex function with these
        sums for its gradient, by Newton's method.
        """
        c, free = self.weights, np.zeros(self.n_left + self.n_right)

        def at(free: Array) -> tuple[Array, Array, float, Array, float]:
            u = theta - self.values(free)
            x = np.clip(u, lower, upper)
            sums = self.sums(c * x)
            value = 0.5 * float(c @ (u * u - (u - x) ** 2))
            return u, x, value, sums, float(np.max(np.abs(sums)))

        u, x, value, sums, largest = at(free)
        most = float(np.max(self._of_weights))
        for _ in range(NEWTON_STEPS):
            relative = largest / most
            if not relative > EPSILON:
                break
            # rows at their bounds may leave directions without curvature: less and less of a
            # ridge keeps steps along them short
            ridge = max(RIDGE, SHORT * relative**0.5)
            step = self._solve(c * (u == x), sums, ridge, LINEAR_ACCURACY)
            slope, length = float(sums @ step), 1.0
            for _ in range(HALVINGS):
                after = at(free + length * step)
                # near the end the value no longer shows the decrease
                if after[2] <= value - ARMIJO * length * slope or after[4] <= NEARER * largest:
                    break
                length *= 0.5
            else:
                break
            free, (u, x, value, sums, largest) = free + length * step, after
        return x

    def connected(self, lower: Array, upper: Array) -> Any:
        """Which rows have both groups in one strongly connected part of the graph."""
        strong = self.weights > SMALL_WEIGHT * np.max(self.weights, initial=0.0)
        up, down = strong & (upper > 0.0), strong & (lower < 0.0)
        left, right = self.left, self.n_left + self.right
        tails = np.concatenate([left[up], right[down]])
        heads = np.concatenate([right[up], left[down]])
        n = self.n_left + self.n_right
        graph = sp.coo_array((np.ones(len(tails), dtype=np.int8), (tails, heads)), shape=(n, n))
        _, part = connected_components(graph, connection="strong")
        return part[left] == part[right]

    @cached_property
    def least_strong_weight(self) -> float:
        """The least weight of a row that connects groups."""
        most = float(np.max(self.weights, initial=0.0))
        return float(np.min(self.weights[self.weights > SMALL_WEIGHT * most], initial=most))

    def largest_sums(self, theta: Array) -> float:
        """A bound on the sum of the sizes of all sums of c theta, rounding included."""
        product = self.weights.astype(np.longdouble) * theta
        total = 0.0
        for order, starts in self._orders:
            some = product[order]
            sums = np.add.reduceat(some, starts)
            sizes = np.add.reduceat(np.abs(some), starts)
            counts = np.diff(np.append(starts, len(some)))
            total += float(np.sum(np.abs(sums) + (counts + 4.0) * LONG * sizes))
        return total * (1.0 + 1e-6)

    @cached_property
    def _orders(self) -> list[tuple[Indices, Indices]]:
        """The rows in the order of their groups, and where each group begins."""
        found = []
        for groups in (self.left, self.right):
            order = np.argsort(groups, kind="stable")
            starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
            found.append((order, starts))
        return found
