"""Unpenalised numbers added to the predictions of groups of rows, each row in two groups.

Each row i belongs to a left group a(i) and a right group b(i), for example a row and a column of a
matrix, and f_a(i) + g_b(i) is added to its prediction. As f and g are free, the sums of
c_i theta_i over each group must be 0 for a dual point theta.

Consider the graph with a node for each group and an edge for each row. Then c_i theta_i is a flow
from left to right. The sum of a left group is the flow that leaves it, the sum of a right group
the flow that arrives. Flow can be added along an edge where theta_i can increase, and against it
where theta_i can decrease. In a strongly connected component of the graph of these possibilities,
an amount that is missing in one node can be sent there from any other node. So if rounding leaves
sums r, there is a point with sums of exactly 0 nearby. Its flow differs by at most sum |r| on each
edge, and only on paths from a node to a root and from the root to another node, each of which has
fewer edges than there are nodes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ..._floats import EPSILON
from ..._immutable_base import computed
from ..._typing import Array, Indices, Mask
from ...designs.conjugate_gradients import conjugate_gradients

SMALL_WEIGHT = 1e-6  # rows with less than this times the largest weight do not connect groups
FEW_GROUPS = 400  # most groups for which an inverse is computed
LINEAR_STEPS = 200  # most steps of conjugate gradients; ten or twenty are usual
LINEAR_ACCURACY = 1e-8  # relative accuracy of the linear systems of a projection
NEWTON_STEPS = 50  # most Newton steps of a projection; a few are usual
HALVINGS = 30
ARMIJO = 1e-4  # required share of the decrease that the slope predicts
NEARER = 0.5  # a step that reduces the largest sum by this factor is also accepted
RIDGE = 1e-12  # smallest ridge, relative to the weights of groups, against rounding errors
SHORT = 0.1  # factor of the ridge in a Newton step, times the root of the relative error
LEAST_LENGTH = 0.1  # shorter steps multiply that factor for the next step
SHORTER = 100.0  # by this, and others divide it
LONG = float(np.finfo(np.longdouble).eps)
TINY = np.finfo(float).tiny


class Smooth(NamedTuple):
    """A convex function of the values of unpenalised numbers, with its slopes and curvatures.

    ``known`` is whatever else was computed there.
    """

    value: float
    slopes: Array
    curvature: Array
    known: Any = None


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
        """The sums f_a(i) + g_b(i) for all rows, from the vector (f, g)."""
        f, g = free[: self.n_left], free[self.n_left :]
        return f.take(self.left) + g.take(self.right)  # a fifth of the time of f[self.left]

    def sums(self, rows: Array) -> Array:
        """The sums of row values over the left groups, followed by the right groups."""
        left = np.bincount(self.left, rows, self.n_left)
        return np.append(left, np.bincount(self.right, rows, self.n_right))

    @cached_property
    def _pattern(self) -> tuple[Indices, Indices, Indices]:
        """The order of the rows by left group, their right groups, and the starts of left groups.

        These are the index arrays of a CSR matrix.
        """
        order, _ = self._orders[0]
        counts = np.bincount(self.left, minlength=self.n_left)
        return order, self.right[order], np.append(0, np.cumsum(counts))

    def _between(self, h: Array) -> sp.csr_array:
        """The sums of h over the rows of each pair of groups, of shape (n_left, n_right)."""
        order, right, starts = self._pattern
        return sp.csr_array((h[order], right, starts), shape=(self.n_left, self.n_right))

    def _system(self, h: Array) -> Array:
        """The matrix F' diag(h) F as an array, with F the indicators of the groups."""
        system, between = np.diag(self.sums(h)), self._between(h).toarray()
        system[: self.n_left, self.n_left :] = between
        system[self.n_left :, : self.n_left] = between.T
        return system

    _is_small = computed(lambda self: self.n_left + self.n_right <= FEW_GROUPS)

    @cached_property
    def _of_weights(self) -> Array:
        return self.sums(self.weights)

    @cached_property
    def _inverse(self) -> Array:
        system = self._system(self.weights)
        return np.asarray(np.linalg.pinv(system, rcond=RIDGE, hermitian=True), dtype=np.float64)

    def solve_for_weights(self, right_side: Array, accuracy: float) -> Array:
        """A solution f of sums(weights * values(f)) = right_side, for sums of rows.

        The system is singular: a constant added to all left groups and subtracted from all right
        groups does not change the values.
        """
        if self._is_small:
            return self._inverse @ right_side
        return self._solve(self.weights, right_side, RIDGE, accuracy)

    def _solve(self, h: Array, right_side: Array, ridge: float, accuracy: float) -> Array:
        """The solution of F' diag(h) F f = right_side with a ridge, for h >= 0.

        ``ridge`` is multiplied with the weights of the groups. The method is conjugate gradients,
        or a direct solver for few groups.
        """
        more = ridge * self._of_weights + TINY
        if self._is_small:
            f: Any = np.linalg.solve(self._system(h) + np.diag(more), right_side)
            return f
        between = self._between(h)
        across, diagonal = between.T, self.sums(h) + more
        inverse = 1.0 / diagonal

        def product(x: Array) -> Array:
            f, g = x[: self.n_left], x[self.n_left :]
            return diagonal * x + np.append(between @ g, across @ f)

        return conjugate_gradients(
            product, lambda x: inverse * x, right_side, max_iter=LINEAR_STEPS, share=accuracy**2
        ).solution

    def minimised(
        self, at: Callable[[Array], Smooth], free: Array, target: float, accuracy: float
    ) -> tuple[Array, Smooth]:
        """The unpenalised numbers that minimise a convex function, by Newton's method.

        Parameters
        ----------
        at : callable
            The function at unpenalised numbers (`Smooth`).
        free : ndarray
            The start.
        target : float
            The largest sum of slopes at which to stop, in units of the weights of groups.
        accuracy : float
            The relative accuracy of the linear systems.
        """
        here, largest_weight = at(free), float(np.max(self._of_weights))
        sums = self.sums(here.slopes)
        largest, short = float(np.max(np.abs(sums))), SHORT
        for _ in range(NEWTON_STEPS):
            relative = largest / largest_weight
            if not relative > target:
                break
            # If many rows are at their bounds, some directions have no curvature. A ridge, which
            # decreases with the error and increases after a short step, keeps steps along them
            # short.
            ridge = max(RIDGE, short * relative**0.5)
            step = self._solve(here.curvature, sums, ridge, accuracy)
            slope, length = float(sums @ step), 1.0
            for _ in range(HALVINGS):
                after = at(free - length * step)
                sums_after = self.sums(after.slopes)
                largest_after = float(np.max(np.abs(sums_after)))
                # near convergence the decrease of the value is below its rounding error
                lower = after.value <= here.value - ARMIJO * length * slope
                if lower or largest_after <= NEARER * largest:
                    break
                length *= 0.5
            else:
                break
            free, here, sums, largest = free - length * step, after, sums_after, largest_after
            short = short * SHORTER if length < LEAST_LENGTH else max(short / SHORTER, SHORT)
        return free, here

    def projected(self, theta: Array, lower: Array, upper: Array) -> Array:
        """The approximate projection onto the points between bounds whose weighted sums vanish.

        The projection is theta + values(f), clipped, where f minimises a convex function whose
        gradient is the vector of sums.
        """
        c = self.weights

        def at(free: Array) -> Smooth:
            u = theta + self.values(free)
            x = np.clip(u, lower, upper)
            return Smooth(0.5 * float(c @ (u * u - (u - x) ** 2)), c * x, c * (u == x))

        start = np.zeros(self.n_left + self.n_right)
        free, _ = self.minimised(at, start, EPSILON, LINEAR_ACCURACY)
        return np.clip(theta + self.values(free), lower, upper)

    def connected(self, lower: Array, upper: Array) -> Mask:
        """A mask of the rows whose two groups are in one strongly connected component."""
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
        largest_weight = float(np.max(self.weights, initial=0.0))
        strong = self.weights[self.weights > SMALL_WEIGHT * largest_weight]
        return float(np.min(strong, initial=largest_weight))

    def largest_sums(self, theta: Array) -> float:
        """An upper bound on the sum of abs(sum of c theta) over all groups, with rounding."""
        product = self.weights.astype(np.longdouble) * theta
        total = 0.0
        for order, starts in self._orders:
            ordered = product[order]
            sums = np.add.reduceat(ordered, starts)
            sizes = np.add.reduceat(np.abs(ordered), starts)
            counts = np.diff(np.append(starts, len(ordered)))
            total += float(np.sum(np.abs(sums) + (counts + 4.0) * LONG * sizes))
        return total * (1.0 + 1e-6)

    @cached_property
    def _orders(self) -> list[tuple[Indices, Indices]]:
        """The order of the rows by group and the starts of the groups, for left and right."""
        orders = []
        for groups in (self.left, self.right):
            order = np.argsort(groups, kind="stable")
            starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
            orders.append((order, starts))
        return orders
