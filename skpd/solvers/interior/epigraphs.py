from math import sqrt
from typing import Any

import numpy as np

from ..._typing import Array
from .cones import Cones, Groups, Heads
from .maps import Predictions
from .systems import NewtonSystem
from .terms import Pairs, PairsChange


class DoubtfulLabels(Pairs):
    """The term sum_i c_i max(0, 1 - m_i, 1 + m_i - kappa lam) of the robust SVM.

    With a bound s_i on each loss there are three slacks and multipliers for each row, ::

        s_i >= 1 - m_i (p_i),  s_i >= 1 + m_i - kappa lam (r_i),  s_i >= 0 (1 - p_i - r_i).

    Parameters
    ----------
    predictions : Predictions
    y, weights : ndarray of shape (n_samples,)
    kappa : float
    place : int
        The index of lam among the unknowns.
    flipped : float
        The initial r, below 2/3.
    x : ndarray of shape (n_unknowns,)
        The initial unknowns.
    """

    def __init__(
        self, predictions: Predictions, y: Array, weights: Array, kappa: float, place: int,
        flipped: float, x: Array,
    ) -> None:  # fmt: skip
        self.predictions, self.y, self.weights = predictions, y, weights
        self.kappa, self.place = kappa, place
        self.dual = np.empty((3, len(y)))
        self.dual[0], self.dual[1], self.dual[2] = 1.0 / 3.0, flipped, 2.0 / 3.0 - flipped
        margins = y * predictions.times(x)
        bound = 2.0 + np.abs(margins)
        self.slack = np.stack(
            [bound - 1.0 + margins, bound - 1.0 - margins + kappa * x[place], bound]
        )
        self.degree = 3.0 * float(np.sum(weights))

    @property
    def multipliers(self) -> Array:
        """The multipliers p and r, which are in the triangle."""
        return self.dual[:2] / self.dual.sum(axis=0)

    def add_gradient(self, out: Array) -> None:
        self._add_adjoint(self.dual[1] - self.dual[0], self.dual[1], out)

    def _add_adjoint(self, margins: Array, flipped: Array, out: Array) -> None:
        self.predictions.add_adjoint(self.weights * self.y * margins, out)
        out[self.place] -= self.kappa * float(self.weights @ flipped)

    def factorise(self, system: NewtonSystem) -> None:
        kappa, weights = self.kappa, self.weights
        self.ratio = self.dual / self.slack
        one, two, three = self.ratio
        self.total = one + two + three
        # second derivatives of the rows' barriers in (m, lam), after eliminating s
        margin = (4.0 * one * two + (one + two) * three) / self.total
        mixed = -kappa * two * (2.0 * one + three) / self.total
        twice = kappa * kappa * two * (one + three) / self.total
        system.add_rows(weights * margin)
        system.border(self.place)[:] += self.predictions.design.rmatvec(weights * self.y * mixed)
        system.add_corner(self.place, self.place, float(weights @ twice))

    def add_shift(self, mu: float | None, affine: PairsChange | None, out: Array) -> None:
        wanted = self.aim(mu, affine)
        self.sums = (wanted.sum(axis=0) - (1.0 - self.dual.sum(axis=0))) / self.total
        one, two = self.ratio[:2]
        flipped = wanted[1] - two * self.sums
        self._add_adjoint(flipped - (wanted[0] - one * self.sums), flipped, out)

    def direction(self, dx: Array) -> PairsChange:
        margins = self.y * self.predictions.times(dx)
        raised = self.kappa * dx[self.place]
        one, two = self.ratio[:2]
        slack = np.empty_like(self.slack)
        slack[2] = self.sums - ((one - two) * margins + two * raised) / self.total
        slack[0] = slack[2] + margins
        slack[1] = slack[2] - margins + raised
        return PairsChange(slack, self.wanted - self.ratio * slack)


class PairsOfSides(Pairs):
    """The base class of terms whose first pairs are those of t - w >= 0, and then of t + w >= 0.

    Attributes
    ----------
    size : int
        The number of coefficients w.
    """

    size: int

    def add_gradient(self, out: Array) -> None:
        d, dual = self.size, self.dual.ravel()
        out[:d] += dual[:d] - dual[d : 2 * d]

    def watch(self, direction: PairsChange) -> None:
        falls = (direction.slack / self.slack < direction.dual / self.dual).ravel()
        self.at_zero = falls[: self.size] & falls[self.size : 2 * self.size]

    def settle(self, x: Array) -> None:
        x[: self.size][self.at_zero] = 0.0


class SumEpigraph(PairsOfSides):
    """The constraint l1 ||w||_1 <= lam.

    It is represented by u - w >= 0, u + w >= 0 and lam >= l1 sum(u). The multiplier of the last
    constraint is an unknown of the Newton system, so that the curvature of w is diagonal.

    Parameters
    ----------
    n_coefficients : int
    place : int or None
        The index of lam among the unknowns; None if lam is a fixed number.
    multiplier_place : int
        The index of the multiplier.
    lam, multiplier : float
        The initial lam, or its fixed value, and the initial multiplier.
    share : float
        The products on the central path, in units of mu.
    l1 : float, default=1.0
    """

    def __init__(
        self, n_coefficients: int, place: int | None, multiplier_place: int, lam: float,
        multiplier: float, share: float, l1: float = 1.0,
    ) -> None:  # fmt: skip
        d = self.size = n_coefficients
        self.place, self.multiplier_place, self.share = place, multiplier_place, share
        self.degree, self.l1 = share * (2 * d + 1), l1
        self.slack = np.append(np.full(2 * d, 0.5 * lam / l1 / max(d, 1)), 0.5 * lam)
        self.dual = np.append(np.full(2 * d, 0.5 * l1 * multiplier), multiplier)
        self.at_zero = np.zeros(d, dtype=bool)

    def add_gradient(self, out: Array) -> None:
        super().add_gradient(out)
        if self.place is not None:
            out[self.place] -= self.dual[-1]

    def factorise(self, system: NewtonSystem) -> None:
        d = self.size
        self.ratio = self.dual / self.slack
        one, two = self.ratio[:d], self.ratio[d : 2 * d]
        self.sums = one + two
        self.beside = (one - two) / self.sums
        system.diagonal[:d] += 4.0 * one * two / self.sums
        system.border(self.multiplier_place)[:d] += self.l1 * self.beside
        if self.place is not None:
            system.add_corner(self.place, self.multiplier_place, -1.0)
        corner = -1.0 / self.ratio[-1] - self.l1**2 * float(np.sum(1.0 / self.sums))
        system.add_corner(self.multiplier_place, self.multiplier_place, corner)

    def add_shift(self, mu: float | None, affine: Any, out: Array) -> None:
        d, wanted = self.size, self.aim(mu, affine)
        one, two = wanted[:d], wanted[d : 2 * d]
        off = one + two - (self.l1 * self.dual[-1] - self.dual[:d] - self.dual[d : 2 * d])
        self.shift = off / self.sums
        out[:d] += one - two - self.beside * off
        constant = wanted[-1] / self.ratio[-1] + self.l1 * float(np.sum(self.shift))
        out[self.multiplier_place] += constant

    def direction(self, dx: Array) -> PairsChange:
        w = dx[: self.size]
        u = self.shift + self.beside * w - self.l1 * dx[self.multiplier_place] / self.sums
        last = -self.l1 * float(np.sum(u))
        last += 0.0 if self.place is None else dx[self.place]
        slack = np.concatenate([u - w, u + w, [last]])
        return PairsChange(slack, self.wanted - self.ratio * slack)


class EuclideanEpigraph(Cones):
    """The constraint ||w||_2 <= lam, a second-order cone.

    The curvature is (2 (J v) (J v)' - J) / size (see `skpd.solvers.interior.cones`), and the
    product with J v is an unknown of the Newton system. Subclasses have a head and a first entry
    of the tail that are affine in lam, and a factor of w in the rest of the tail.

    Parameters
    ----------
    n_coefficients, place, multiplier_place, lam, multiplier, share
        See `SumEpigraph`; ``multiplier_place`` is the index of the product.
    """

    of_head, of_tail, root = 1.0, 0.0, 1.0  # derivatives of the head and the tail in lam and w

    def __init__(
        self, n_coefficients: int, place: int, multiplier_place: int, lam: float,
        multiplier: float, share: float,
    ) -> None:  # fmt: skip
        self.size, self.place, self.product_place = n_coefficients, place, multiplier_place
        self.groups = Groups(np.array([0, n_coefficients + 1]))
        self.slack = Heads(np.array([lam]), np.zeros(n_coefficients + 1))
        self.dual = Heads(np.array([multiplier]), np.zeros(n_coefficients + 1))
        self.share = self.degree = share

    def add_gradient(self, out: Array) -> None:
        self._add_adjoint(self.dual, out)

    def _add_adjoint(self, dual: Heads, out: Array) -> None:
        out[: self.size] -= self.root * dual.tail[1:]
        out[self.place] -= self.of_head * dual.head[0] + self.of_tail * dual.tail[0]

    def factorise(self, system: NewtonSystem) -> None:
        scaling = self.scale()
        size = float(scaling.size[0])
        system.diagonal[: self.size] += self.root**2 / size
        system.border(self.product_place)[: self.size] -= self.root * scaling.tail[1:]
        system.add_corner(self.place, self.place, (self.of_tail**2 - self.of_head**2) / size)
        along = float(self.of_head * scaling.head[0] - self.of_tail * scaling.tail[0])
        system.add_corner(self.place, self.product_place, along)
        system.add_corner(self.product_place, self.product_place, -0.5 * size)

    def add_shift(self, mu: float | None, affine: PairsChange | None, out: Array) -> None:
        self._add_adjoint(self.aim(mu, affine), out)

    def direction(self, dx: Array) -> PairsChange:
        head, v = self.of_head * dx[self.place], self.scaling
        tail = np.append(self.of_tail * dx[self.place], self.root * dx[: self.size])
        along = 2.0 * (v.head * head - float(v.tail @ tail))
        dual = Heads(
            self.wanted.head - (along * v.head - head) / v.size,
            self.wanted.tail - (tail - along * v.tail) / v.size,
        )
        return PairsChange(Heads(np.array([head]), tail), dual)


class SquareEpigraph(EuclideanEpigraph):
    """The constraint l2 ||w||^2 / 2 <= radius - lam, a rotated second-order cone.

    It is 2 a b >= ||q||^2 for a = (radius - lam) / b, a fixed number b and q = sqrt(l2) w, which
    is a second-order cone in ((a + b) / sqrt(2), (a - b) / sqrt(2), q).

    Parameters
    ----------
    n_coefficients, place, multiplier_place, lam, multiplier, share
        See `EuclideanEpigraph`.
    radius, l2 : float
        The radius and the weight of the squared norm.
    """

    def __init__(
        self, n_coefficients: int, place: int, multiplier_place: int, lam: float,
        multiplier: float, share: float, radius: float, l2: float,
    ) -> None:  # fmt: skip
        b = sqrt(radius)  # a number of the size of a
        a = (radius - lam) / b
        head = sqrt(0.5) * (a + b)
        super().__init__(n_coefficients, place, multiplier_place, head, multiplier * head, share)
        self.of_head = self.of_tail = -sqrt(0.5) / b
        self.root = sqrt(l2)
        self.slack.tail[0] = sqrt(0.5) * (a - b)
        self.dual.tail[0] = -multiplier * self.slack.tail[0]
