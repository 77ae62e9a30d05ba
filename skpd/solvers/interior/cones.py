"""Penalties that are second-order cones: Euclidean norms of groups of coefficients.

A norm a ||w|| is represented as a t with (t, w) in the cone ||w|| <= t, whose multiplier (a, v) is
in the same cone. On the central path their Jordan product is mu (1, 0). Newton steps use the
scaling of Nesterov and Todd (1997): with J = diag(1, -1, ..., -1) and the scaling point v,
W^2 = size (2 v v' - J) maps the multiplier to the slack.
"""

from math import inf
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError

from ..._typing import Array, Indices
from .systems import NewtonSystem
from .terms import Pairs, PairsChange


class Groups:
    """Consecutive groups of coefficients, for vectors of pairs (t_g, w_g) of head and tail."""

    def __init__(self, starts: Indices) -> None:
        self.starts = starts
        self.sizes = np.diff(starts)

    def sums(self, x: Array) -> Array:
        return np.add.reduceat(x, self.starts[:-1])

    def spread(self, heads: Array) -> Array:
        """The head of the group of each coefficient."""
        return np.repeat(heads, self.sizes)

    def determinants(self, head: Array, tail: Array) -> Array:
        """The determinants t_g^2 - ||w_g||^2 of the groups."""
        norms = np.sqrt(self.sums(tail * tail))
        return (head - norms) * (head + norms)

    def product(self, x: "Heads", y: "Heads") -> "Heads":
        """The Jordan product (x.y, x_0 y_1 + y_0 x_1)."""
        head = x.head * y.head + self.sums(x.tail * y.tail)
        return Heads(head, self.spread(x.head) * y.tail + self.spread(y.head) * x.tail)


class Heads(NamedTuple):
    """A vector (t_g, w_g) for every group."""

    head: Array
    tail: Array


class NesterovTodd:
    """The Nesterov-Todd scaling of a slack and a multiplier in the cones."""

    def __init__(self, groups: Groups, slack: Heads, dual: Heads) -> None:
        first, second = groups.determinants(*slack), groups.determinants(*dual)
        if not (np.all(first > 0.0) and np.all(second > 0.0)):
            raise LinAlgError("rounding has taken a point out of its cone")
        first, second = np.sqrt(first), np.sqrt(second)
        head, tail = slack.head / first, slack.tail / groups.spread(first)
        other, beside = dual.head / second, dual.tail / groups.spread(second)
        cosine = np.sqrt(0.5 * (1.0 + head * other + groups.sums(tail * beside)))
        self.groups = groups
        self.tail = (tail - beside) / groups.spread(2.0 * cosine)
        self.head = np.sqrt(1.0 + groups.sums(self.tail * self.tail))
        self.size = first / second
        self.scaled = self.times(dual)

    def times(self, x: Heads, sign: float = 1.0) -> Heads:
        """The product W x, or W^-1 x with sign -1."""
        spread = self.groups.spread
        along = self.groups.sums(self.tail * x.tail)
        head = self.head * x.head + sign * along
        tail = x.tail + spread(sign * x.head + along / (1.0 + self.head)) * self.tail
        factor = self.size ** (0.5 * sign)
        return Heads(head * factor, tail * spread(factor))

    def wanted(self, mu: float | None, affine: tuple[Heads, Heads] | None) -> Heads:
        """The change of the multiplier that gives a Jordan product of mu, for a fixed slack.

        Without a mu the product does not change. ``affine`` has the changes of slack and
        multiplier in the predictor.
        """
        groups, scaled = self.groups, self.scaled
        if mu is None:
            return Heads(np.zeros_like(scaled.head), np.zeros_like(scaled.tail))
        product = groups.product(scaled, scaled)
        head, tail = mu - product.head, -product.tail
        if affine is not None:
            second = groups.product(self.times(affine[0], -1.0), self.times(affine[1]))
            head, tail = head - second.head, tail - second.tail
        # the x with scaled o x = (head, tail)
        first = scaled.head * head - groups.sums(scaled.tail * tail)
        first /= groups.determinants(*scaled)
        rest = (tail - groups.spread(first) * scaled.tail) / groups.spread(scaled.head)
        return self.times(Heads(first, rest), -1.0)


class Cones(Pairs):
    """The base class of terms with slacks and multipliers in second-order cones.

    Attributes
    ----------
    groups : Groups
    slack, dual : Heads
    share : float
        The Jordan products on the central path, in units of mu.
    """

    groups: Groups

    def scale(self) -> NesterovTodd:
        """Compute the scaling at the current point."""
        self.scaling = NesterovTodd(self.groups, self.slack, self.dual)
        return self.scaling

    def aim(self, mu: float | None, affine: PairsChange | None) -> Heads:
        """Compute the wanted change of the multiplier (`NesterovTodd.wanted`)."""
        self.wanted = self.scaling.wanted(None if mu is None else self.share * mu, affine)
        return self.wanted

    def _largest_step(self, x: Heads, change: Heads) -> float:
        groups = self.groups
        a, c = groups.determinants(*change), groups.determinants(*x)
        b = x.head * change.head - groups.sums(x.tail * change.tail)
        root = np.sqrt(np.maximum(b * b - a * c, 0.0))
        head = np.where(change.head < 0.0, -x.head / change.head, inf)
        outward = np.where((b > 0.0) & (a < 0.0), -(b + root) / a, inf)
        crossing = (b <= 0.0) & (b * b >= a * c) & (root - b > 0.0)
        inward = np.where(crossing, c / (root - b), inf)
        return float(np.min(np.minimum(head, np.minimum(outward, inward)), initial=inf))

    def _product(self, slack: Heads, dual: Heads) -> float:
        return float(slack.head @ dual.head + slack.tail @ dual.tail)

    def _moved(self, x: Heads, change: Heads, length: float) -> Heads:
        return Heads(x.head + length * change.head, x.tail + length * change.tail)


class EuclideanNorms(Cones):
    """The term sum_g a_g ||w_g|| over consecutive groups of the first coefficients.

    The heads t_g do not occur elsewhere in the objective. So their multipliers are a_g throughout,
    and they are eliminated, which leaves the curvature (I - 2 v v' / (2 v_0^2 - 1)) / size of a
    group.

    Parameters
    ----------
    starts : ndarray of shape (n_groups + 1,)
    weights : ndarray of shape (n_groups,)
        The weights a_g, greater than 0.
    share : float
        The Jordan products on the central path, in units of mu.
    width : ndarray of shape (n_groups,)
        The initial t; the initial w is 0.
    """

    def __init__(self, starts: Indices, weights: Array, share: float, width: Array) -> None:
        self.groups = Groups(starts)
        n_coefficients = int(starts[-1])
        self.slack = Heads(np.array(width), np.zeros(n_coefficients))
        self.dual = Heads(np.array(weights), np.zeros(n_coefficients))
        self.share, self.degree = share, share * len(weights)
        self.at_zero = np.zeros(len(weights), dtype=bool)

    def _arguments(self, x: Array) -> Array:
        """The w of all groups."""
        return x[: len(self.dual.tail)]

    def _add_adjoint(self, tail: Array, out: Array) -> None:
        """Add the gradient that multipliers have in the unknowns."""
        out[: len(tail)] -= tail

    def add_gradient(self, out: Array) -> None:
        self._add_adjoint(self.dual.tail, out)

    def watch(self, direction: PairsChange) -> None:
        # a group ends at 0 if its head decreases by a larger factor than its multiplier's distance
        # from the boundary
        moved = self._moved(self.dual, direction.dual, 1.0)
        left = self.groups.determinants(*moved) / self.groups.determinants(*self.dual)
        self.at_zero = 1.0 + direction.slack.head / self.slack.head < left

    def settle(self, x: Array) -> None:
        x[: len(self.dual.tail)][self.groups.spread(self.at_zero)] = 0.0

    def factorise(self, system: NewtonSystem) -> None:
        scaling = self.scale()
        size, head = scaling.size, scaling.head
        system.diagonal[: len(scaling.tail)] += self.groups.spread(1.0 / size)
        self.of_head = (2.0 * head * head - 1.0) / size
        system.take_groups(self.groups.starts, 2.0 / (size * size * self.of_head), scaling.tail)

    def add_shift(self, mu: float | None, affine: PairsChange | None, out: Array) -> None:
        tail = self.aim(mu, affine).tail
        self._add_adjoint(self._change(np.zeros_like(tail)).dual.tail, out)

    def direction(self, dx: Array) -> PairsChange:
        return self._change(self._arguments(dx))

    def _change(self, tail: Array) -> PairsChange:
        """The changes with dual = wanted - W^-2 (head, tail), for a fixed head of the dual.

        With the head, v.w - v_0 head is eliminated as well: the difference of the two would
        lose all digits of a group near the boundary of its cone, where v_0^2 is large.
        """
        groups, v = self.groups, self.scaling
        along = groups.sums(v.tail * tail) / v.size
        head = (self.wanted.head + 2.0 * v.head * along) / self.of_head
        reflected = 2.0 * (along + v.head * self.wanted.head) / self.of_head
        image = tail - groups.spread(reflected) * v.tail
        dual = self.wanted.tail - image / groups.spread(v.size)
        return PairsChange(Heads(head, tail), Heads(np.zeros_like(head), dual))
