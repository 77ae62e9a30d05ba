"""Penalties that are second-order cones: Euclidean norms of groups of coefficients.

A norm a ||w|| is represented as a t with (t, w) in the cone ||w|| <= t, whose multiplier (a, v) is
in the same cone. On the central path their Jordan product is mu (1, 0). Newton steps use the
scaling of Nesterov and Todd (1997): with J = diag(1, -1, ..., -1) and the scaling point v,
W^2 = size (2 v v' - J) maps the multiplier to the slack.
"""

from math import inf

import numpy as np
from scipy.linalg import LinAlgError

from ..._typing import Array, Indices, Numbers
from .maps import Coefficients, Map
from .systems import NewtonSystem
from .terms import ConeVector, Pairs


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

    def determinants(self, x: ConeVector) -> Array:
        """The determinants t_g^2 - ||w_g||^2 of the groups."""
        norms = np.sqrt(self.sums(x.tail * x.tail))
        return (x.head - norms) * (x.head + norms)

    def product(self, x: ConeVector, y: ConeVector) -> ConeVector:
        """The Jordan product (x.y, x_0 y_1 + y_0 x_1)."""
        head = x.head * y.head + self.sums(x.tail * y.tail)
        return ConeVector(head, self.spread(x.head) * y.tail + self.spread(y.head) * x.tail)


class NesterovTodd:
    """The Nesterov-Todd scaling of a slack and a multiplier in the cones."""

    def __init__(self, groups: Groups, slack: ConeVector, dual: ConeVector) -> None:
        first, second = groups.determinants(slack), groups.determinants(dual)
        if not (np.all(first > 0.0) and np.all(second > 0.0)):
            raise LinAlgError("rounding has taken a point out of its cone")
        first, second = np.sqrt(first), np.sqrt(second)
        head, tail = slack.head / first, slack.tail / groups.spread(first)
        dual_head, dual_tail = dual.head / second, dual.tail / groups.spread(second)
        cosine = np.sqrt(0.5 * (1.0 + head * dual_head + groups.sums(tail * dual_tail)))
        self.groups = groups
        self.tail = (tail - dual_tail) / groups.spread(2.0 * cosine)
        self.head = np.sqrt(1.0 + groups.sums(self.tail * self.tail))
        self.size = first / second
        self.scaled = self.times(dual)

    def times(self, x: ConeVector, sign: float = 1.0) -> ConeVector:
        """The product W x, or W^-1 x with sign -1."""
        spread = self.groups.spread
        along = self.groups.sums(self.tail * x.tail)
        head = self.head * x.head + sign * along
        tail = x.tail + spread(sign * x.head + along / (1.0 + self.head)) * self.tail
        factor = self.size ** (0.5 * sign)
        return ConeVector(head * factor, tail * spread(factor))

    def centering(
        self, mu: float | None, predictor: tuple[ConeVector, ConeVector] | None
    ) -> ConeVector:
        """The change of the multiplier that gives a Jordan product of mu, for a fixed slack.

        Without a mu the product does not change. ``predictor`` has the steps of slack and
        multiplier in the predictor.
        """
        groups, scaled = self.groups, self.scaled
        if mu is None:
            return ConeVector(np.zeros_like(scaled.head), np.zeros_like(scaled.tail))
        product = groups.product(scaled, scaled)
        head, tail = mu - product.head, -product.tail
        if predictor is not None:
            second = groups.product(self.times(predictor[0], -1.0), self.times(predictor[1]))
            head, tail = head - second.head, tail - second.tail
        # the x with scaled o x = (head, tail)
        first = scaled.head * head - groups.sums(scaled.tail * tail)
        first /= groups.determinants(scaled)
        solved_tail = (tail - groups.spread(first) * scaled.tail) / groups.spread(scaled.head)
        return self.times(ConeVector(first, solved_tail), -1.0)


class Cones(Pairs[ConeVector]):
    """The base class of terms with slacks and multipliers in second-order cones.

    Attributes
    ----------
    groups : Groups
    weights : float or ndarray of shape (n_groups,)
        The weights of the products in a sum.
    centering : ConeVector
        The change of the multiplier that gives Jordan products of mu, for a fixed slack.
    """

    groups: Groups
    weights: Numbers = 1.0
    scaling: "NesterovTodd"
    centering: ConeVector

    def scale(self) -> "NesterovTodd":
        """Compute the scaling at the current point."""
        self.scaling = NesterovTodd(self.groups, self.slack, self.dual)
        return self.scaling

    def _center(self, mu: float | None, corrected: bool) -> ConeVector:
        """Compute ``centering``."""
        predictor = (self.slack_step, self.dual_step) if corrected else None
        mu = None if mu is None else self.share * mu
        self.centering = self.scaling.centering(mu, predictor)
        return self.centering

    def _largest_step(self, x: ConeVector, step: ConeVector) -> float:
        groups = self.groups
        a, c = groups.determinants(step), groups.determinants(x)
        b = x.head * step.head - groups.sums(x.tail * step.tail)
        root = np.sqrt(np.maximum(b * b - a * c, 0.0))
        head = np.where(step.head < 0.0, -x.head / step.head, inf)
        outward = np.where((b > 0.0) & (a < 0.0), -(b + root) / a, inf)
        crossing = (b <= 0.0) & (b * b >= a * c) & (root - b > 0.0)
        inward = np.where(crossing, c / (root - b), inf)
        return float(np.min(np.minimum(head, np.minimum(outward, inward)), initial=inf))

    def _product(self, slack: ConeVector, dual: ConeVector) -> float:
        products = slack.head * dual.head + self.groups.sums(slack.tail * dual.tail)
        return float(np.sum(self.weights * products))


class EuclideanNorms(Cones):
    """The term sum_g a_g ||w_g|| over consecutive groups of the first coefficients, or of A x.

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
    image : Map, default=None
        The map A.
    """

    def __init__(
        self, starts: Indices, weights: Array, share: float, width: Array, image: Map | None = None
    ) -> None:
        self.groups = Groups(starts)
        n_coefficients = int(starts[-1])
        self.image = image or Coefficients(np.arange(n_coefficients))
        self.slack = ConeVector(np.array(width), np.zeros(n_coefficients))
        self.dual = ConeVector(np.array(weights), np.zeros(n_coefficients))
        self.share, self.degree = share, share * len(weights)
        self.at_zero = np.zeros(len(weights), dtype=bool)

    def _add_adjoint(self, dual: ConeVector, out: Array) -> None:
        self.image.add_adjoint(-dual.tail, out)

    def predict_kinks(self) -> None:
        # a group ends at 0 if its head decreases by a larger factor than its multiplier's distance
        # from the boundary
        after = self.groups.determinants(self.dual + self.dual_step)
        share = after / self.groups.determinants(self.dual)
        self.at_zero = 1.0 + self.slack_step.head / self.slack.head < share

    def move_onto_kinks(self, x: Array) -> None:
        zeros = self.groups.spread(self.at_zero)
        self.image.set_where(zeros, np.zeros(np.count_nonzero(zeros)), x)

    def factorise(self, system: NewtonSystem) -> None:
        scaling = self.scale()
        size, head = scaling.size, scaling.head
        system.diagonal[: len(scaling.tail)] += self.groups.spread(1.0 / size)
        self.of_head = (2.0 * head * head - 1.0) / size
        system.groups = self.groups.starts, 2.0 / (size * size * self.of_head), scaling.tail

    def add_centering(self, mu: float | None, corrected: bool, out: Array) -> None:
        self._center(mu, corrected)
        self._set_steps(np.zeros_like(self.dual.tail))
        self._add_adjoint(self.dual_step, out)

    def set_step(self, dx: Array) -> None:
        self._set_steps(self.image.times(dx))

    def _set_steps(self, tail: Array) -> None:
        """Set dual_step = centering - W^-2 slack_step, for a fixed head of the multiplier.

        With the head, v.w - v_0 head is eliminated as well: the difference of the two would
        lose all digits of a group near the boundary of its cone, where v_0^2 is large.
        """
        groups, v, centering = self.groups, self.scaling, self.centering
        along = groups.sums(v.tail * tail) / v.size
        head = (centering.head + 2.0 * v.head * along) / self.of_head
        reflected = 2.0 * (along + v.head * centering.head) / self.of_head
        image = tail - groups.spread(reflected) * v.tail
        dual = centering.tail - image / groups.spread(v.size)
        self.slack_step = ConeVector(head, tail)
        self.dual_step = ConeVector(np.zeros_like(head), dual)
