"""Terms of absolute values of coefficients, whose bounds t are eliminated from a Newton step."""

from abc import abstractmethod

import numpy as np

from ..._typing import Array, Indices, Numbers
from .cones import Groups
from .systems import NewtonSystem
from .terms import Maxima, NumberPairs


class Sides(NumberPairs):
    """The base class of terms with bounds t on |w|: slacks t - w and t + w, and multipliers.

    Attributes
    ----------
    slack, dual : ndarray of shape (2, n_coefficients)
    at_zero : ndarray of shape (n_coefficients,)
        The mask of coefficients that are expected to converge to 0.
    """

    def __init__(self, bounds: Array, dual: Array, share: float) -> None:
        self.slack, self.dual = np.stack([bounds, bounds]), np.stack([dual, dual])
        self.size, self.share, self.degree = len(bounds), share, 2.0 * share * len(bounds)
        self.at_zero = np.zeros(self.size, dtype=bool)

    def _add_adjoint(self, dual: Array, out: Array) -> None:
        out[: self.size] += dual[0] - dual[1]

    def predict_kinks(self) -> None:
        self.at_zero = np.all(self.slack_step / self.slack < self.dual_step / self.dual, axis=0)

    def move_onto_kinks(self, x: Array) -> None:
        x[: self.size][self.at_zero] = 0.0


class LargestSizes(Sides, Maxima):
    """The term sum_g a_g max_j |w_gj| over consecutive groups of the first coefficients.

    Parameters
    ----------
    starts : ndarray of shape (n_groups + 1,)
    share : float
        The products on the central path, in units of mu.
    weights : ndarray of shape (n_groups,)
        The weights a_g.
    width : ndarray of shape (n_groups,)
        The initial bounds; the initial w is 0.
    """

    def __init__(self, starts: Indices, share: float, weights: Array, width: Array) -> None:
        groups = self.groups = Groups(starts)
        super().__init__(groups.spread(width), groups.spread(0.5 * weights / groups.sizes), share)
        self.totals = weights

    def _scores(self, x: Array) -> Array:
        return np.stack([x[: self.size], -x[: self.size]])

    def _sums(self, pairs: Array) -> Array:
        return self.groups.sums(pairs[0] + pairs[1])

    def _spread(self, bounds: Array) -> Array:
        return self.groups.spread(bounds)

    def factorise(self, system: NewtonSystem) -> None:
        self._differentiate()
        first, second = self.ratio
        system.diagonal[: self.size] += first + second
        system.groups = self.groups.starts, 1.0 / self.ratio_sums, first - second


class Sizes(Sides):
    """The base class of terms with a bound t_j of its own on each |w_j|.

    Both multipliers of a bound sum to a slope that the whole term determines.

    Attributes
    ----------
    sums, tilt : ndarray of shape (n_coefficients,)
        The sums h of both ratios of multipliers to slacks, and their differences over h. The
        elimination of t for a fixed slope leaves the curvature h (1 - tilt^2) in w.
    """

    @abstractmethod
    def _slopes(self) -> Numbers:
        """The slopes at the current point."""

    @abstractmethod
    def _bound_step(self, alone: Array, dx: Array) -> Array:
        """The step of the bounds, from the one for fixed slopes."""

    def factorise(self, system: NewtonSystem) -> None:
        first, second = self.ratio = self.dual / self.slack
        self.sums = first + second
        self.tilt = (first - second) / self.sums
        system.diagonal[: self.size] += 4.0 * first * second / self.sums

    def add_centering(self, mu: float | None, corrected: bool, out: Array) -> None:
        missing = self._slopes() - np.sum(self.dual, axis=0)
        self.alone = (np.sum(self._center(mu, corrected), axis=0) - missing) / self.sums
        self.set_step(np.zeros_like(out))
        self._add_adjoint(self.dual_step, out)

    def set_step(self, dx: Array) -> None:
        w = dx[: self.size]
        t = self._bound_step(self.alone + self.tilt * w, dx)
        self._set_slack_step(np.stack([t - w, t + w]))


class SquaredSums(Sizes):
    """The term a sum_g (sum_j |w_gj|)^2 over consecutive groups of the first coefficients.

    The slope of a group is 2 a sum_j t_gj, which couples its bounds: the curvature in w has the
    additional term c_g tilt tilt' with c_g = 2 a / (1 + 2 a sum(1 / h)).

    Parameters
    ----------
    starts, share
        See `LargestSizes`.
    weight : float
        The weight a.
    bounds : ndarray of shape (n_coefficients,)
        The initial t; the initial w is 0.
    """

    linear = False

    def __init__(self, starts: Indices, share: float, weight: float, bounds: Array) -> None:
        self.groups, self.twice = Groups(starts), 2.0 * weight
        super().__init__(bounds, 0.5 * self._slopes_of(bounds), share)

    def _slopes_of(self, bounds: Array) -> Array:
        return self.groups.spread(self.twice * self.groups.sums(bounds))

    def _slopes(self) -> Array:
        return self._slopes_of(0.5 * (self.slack[0] + self.slack[1]))

    def factorise(self, system: NewtonSystem) -> None:
        super().factorise(system)
        self.coupling = self.twice / (1.0 + self.twice * self.groups.sums(1.0 / self.sums))
        system.groups = self.groups.starts, -self.coupling, self.tilt

    def _bound_step(self, alone: Array, dx: Array) -> Array:
        slope_step = self.coupling * self.groups.sums(alone)
        return alone - self.groups.spread(slope_step) / self.sums


class SumEpigraph(Sizes):
    """The constraint l1 ||w||_1 <= lam, as l1 sum_j t_j = lam for bounds t_j on |w_j|.

    The slope is l1 tau for the multiplier tau of this equation, which is an unknown of the Newton
    system, so that the curvature of w is diagonal.

    Parameters
    ----------
    n_coefficients : int
    lam_index : int or None
        The index of lam among the unknowns; None if lam is a fixed number.
    tau_index : int
        The index of tau.
    lam, tau : float
        The initial lam, or its fixed value, and the initial tau.
    share : float
        The products on the central path, in units of mu.
    l1 : float, default=1.0
    """

    def __init__(
        self, n_coefficients: int, lam_index: int | None, tau_index: int, lam: float, tau: float,
        share: float, l1: float = 1.0,
    ) -> None:  # fmt: skip
        bounds = np.full(n_coefficients, lam / l1 / max(n_coefficients, 1))
        super().__init__(bounds, np.full(n_coefficients, 0.5 * l1 * tau), share)
        self.lam_index, self.tau_index, self.l1 = lam_index, tau_index, l1
        self.lam, self.tau = lam, tau

    def _slopes(self) -> float:
        return self.l1 * self.tau

    def add_gradient(self, out: Array) -> None:
        super().add_gradient(out)
        out[self.tau_index] += 0.5 * self.l1 * float(np.sum(self.slack)) - self.lam
        if self.lam_index is not None:
            out[self.lam_index] -= self.tau

    def factorise(self, system: NewtonSystem) -> None:
        super().factorise(system)
        system.border(self.tau_index)[: self.size] += self.l1 * self.tilt
        corner = -(self.l1**2) * float(np.sum(1.0 / self.sums))
        system.add_corner(self.tau_index, self.tau_index, corner)
        if self.lam_index is not None:
            system.add_corner(self.lam_index, self.tau_index, -1.0)

    def add_centering(self, mu: float | None, corrected: bool, out: Array) -> None:
        super().add_centering(mu, corrected, out)
        out[self.tau_index] += self.l1 * float(np.sum(self.alone))

    def _bound_step(self, alone: Array, dx: Array) -> Array:
        return alone - self.l1 * dx[self.tau_index] / self.sums

    def set_step(self, dx: Array) -> None:
        super().set_step(dx)
        self.tau_step = float(dx[self.tau_index])
        self.lam_step = 0.0 if self.lam_index is None else float(dx[self.lam_index])

    def move(self, primal: float, dual: float) -> None:
        super().move(primal, dual)
        self.lam += primal * self.lam_step
        self.tau += dual * self.tau_step
