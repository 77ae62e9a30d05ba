"""Penalties on the rows of a matrix: sums of maximum norms, and squares of l1 norms.

Groups of consecutive coefficients are the rows. Additional variables are eliminated from a Newton
step, group by group.
"""

from abc import abstractmethod
from typing import Any

import numpy as np

from ..._typing import Array, Indices
from .cones import EuclideanNorms, Groups
from .epigraphs import PairsOfSides
from .terms import PairsChange


class _Sizes(PairsOfSides):
    """The base class of terms with bounds t on |w|, slacks t - w and t + w and their multipliers.

    Parameters
    ----------
    starts : ndarray of shape (n_groups + 1,)
    share : float
        The products on the central path, in units of mu.
    bounds : ndarray of shape (n_coefficients,)
        The initial t; the initial w is 0.
    dual : ndarray of shape (n_coefficients,)
        The initial multipliers of both sides.
    """

    def __init__(self, starts: Indices, share: float, bounds: Array, dual: Array) -> None:
        self.groups, self.size = Groups(starts), int(starts[-1])
        self.slack, self.dual = np.stack([bounds, bounds]), np.stack([dual, dual])
        self.share, self.degree = share, 2.0 * share * self.size
        self.at_zero = np.zeros(self.size, dtype=bool)

    def _differentiate(self) -> None:
        self.ratio = self.dual / self.slack
        self.sums, self.differences = self.ratio[0] + self.ratio[1], self.ratio[0] - self.ratio[1]

    def add_shift(self, mu: float | None, affine: Any, out: Array) -> None:
        wanted = self.aim(mu, affine)
        self._aim_bounds(wanted[0] + wanted[1])
        dual = self.direction(np.zeros(self.size)).dual
        out[: self.size] += dual[0] - dual[1]

    def direction(self, dx: Array) -> PairsChange:
        w = dx[: self.size]
        t = self._bounds(w)
        slack = np.stack([t - w, t + w])
        return PairsChange(slack, self.wanted - self.ratio * slack)

    @abstractmethod
    def _aim_bounds(self, wanted: Array) -> None:
        """Prepare `_bounds` for the wanted changes of the sums of both multipliers."""

    @abstractmethod
    def _bounds(self, w: Array) -> Array:
        """The changes of the bounds for those of the coefficients."""


class LargestSizes(_Sizes):
    """The term sum_g a_g max_j |w_gj|, with a bound t_g for each group.

    The curvature of a group is diag(h) - g g' / sum(h), where h are the sums and g the differences
    of the ratios of multipliers to slacks.

    Parameters
    ----------
    starts, share
        See `SquaredSums`.
    weights : ndarray of shape (n_groups,)
        The weights a_g.
    width : ndarray of shape (n_groups,)
        The initial bounds.
    """

    def __init__(self, starts: Indices, share: float, weights: Array, width: Array) -> None:
        groups = Groups(starts)
        dual = groups.spread(0.5 * weights / groups.sizes)
        super().__init__(starts, share, groups.spread(width), dual)
        self.norm_weights = weights

    def factorise(self, system: Any) -> None:
        self._differentiate()
        self.totals = self.groups.sums(self.sums)
        system.diagonal[: self.size] += self.sums
        system.take_groups(self.groups.starts, 1.0 / self.totals, self.differences)

    def _aim_bounds(self, wanted: Array) -> None:
        missing = self.norm_weights - self.groups.sums(self.dual[0] + self.dual[1])
        self.raised = (self.groups.sums(wanted) - missing) / self.totals

    def _bounds(self, w: Array) -> Array:
        raised = self.raised + self.groups.sums(self.differences * w) / self.totals
        return self.groups.spread(raised)


class SquaredSums(_Sizes):
    """The term a sum_g (sum_j |w_gj|)^2, with a bound t_gj on each |w_gj|.

    The multipliers of t_gj sum to 2 a sum_j t_gj, which is the same for the whole group. With h
    and g as for `LargestSizes`, the curvature of a group is
    diag(h - g^2 / h) + c (g / h) (g / h)' with c = 2 a / (1 + 2 a sum(1 / h)).

    Parameters
    ----------
    starts, share
        See `_Sizes`.
    weight : float
        The weight a.
    bounds : ndarray of shape (n_coefficients,)
        The initial t.
    """

    linear = False

    def __init__(self, starts: Indices, share: float, weight: float, bounds: Array) -> None:
        groups = Groups(starts)
        super().__init__(starts, share, bounds, groups.spread(weight * groups.sums(bounds)))
        self.weight = weight

    def factorise(self, system: Any) -> None:
        self._differentiate()
        twice, h = 2.0 * self.weight, self.sums
        self.beside = self.differences / h
        self.coupling = twice / (1.0 + twice * self.groups.sums(1.0 / h))
        system.diagonal[: self.size] += 4.0 * self.ratio[0] * self.ratio[1] / h
        system.take_groups(self.groups.starts, -self.coupling, self.beside)

    def _aim_bounds(self, wanted: Array) -> None:
        t = 0.5 * (self.slack[0] + self.slack[1])
        slope = self.groups.spread(2.0 * self.weight * self.groups.sums(t))
        self.off = wanted + self.dual[0] + self.dual[1] - slope

    def _bounds(self, w: Array) -> Array:
        # (f + g w) / h minus the coupling of a group
        alone = self.off / self.sums + self.beside * w
        return alone - self.groups.spread(self.coupling * self.groups.sums(alone)) / self.sums


class SquaredSumOfNorms(EuclideanNorms):
    """The term a (sum_g ||w_g||)^2.

    The heads t_g of the cones have one multiplier, tau = 2 a sum_g t_g, an unknown of the Newton
    system.

    Parameters
    ----------
    starts, share, width
        See `skpd.solvers.interior.cones.EuclideanNorms`.
    weight : float
        The weight a.
    place : int
        The index of tau among the unknowns, whose initial value is 2 a sum_g width_g.
    """

    linear = False

    def __init__(
        self, starts: Indices, weight: float, share: float, width: Array, place: int
    ) -> None:
        heads = np.full(len(width), 2.0 * weight * float(np.sum(width)))
        super().__init__(starts, heads, share, width)
        self.twice, self.place = 2.0 * weight, place

    def add_gradient(self, out: Array) -> None:
        super().add_gradient(out)
        tau = float(self.dual.head[0])
        out[self.place] += float(np.sum(self.slack.head)) - tau / self.twice

    def factorise(self, system: Any) -> None:
        super().factorise(system)
        v = self.scaling
        self.along = 2.0 * v.head / (v.size * self.of_head)
        system.border(self.place)[: len(v.tail)] += self.groups.spread(self.along) * v.tail
        corner = -1.0 / self.twice - float(np.sum(1.0 / self.of_head))
        system.add_corner(self.place, self.place, corner)

    def add_shift(self, mu: float | None, affine: PairsChange | None, out: Array) -> None:
        super().add_shift(mu, affine, out)
        out[self.place] += float(np.sum(self.wanted.head / self.of_head))

    def direction(self, dx: Array) -> PairsChange:
        """The changes for a fixed multiplier of the heads, corrected by the change of tau."""
        tau, v = float(dx[self.place]), self.scaling
        slack, dual = super().direction(dx)
        fall = tau / self.of_head
        tail = dual.tail - self.groups.spread(2.0 * v.head * fall / v.size) * v.tail
        return PairsChange(
            slack._replace(head=slack.head - fall),
            dual._replace(head=np.full_like(slack.head, tau), tail=tail),
        )
