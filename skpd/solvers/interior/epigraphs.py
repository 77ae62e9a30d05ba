"""Second-order cones whose heads are unknowns of the Newton system, or have multipliers there."""

from dataclasses import replace
from math import sqrt

import numpy as np

from ..._typing import Array, Indices
from .cones import Cones, EuclideanNorms, Groups
from .systems import NewtonSystem
from .terms import ConeVector


class EuclideanEpigraph(Cones):
    """The constraint ||w||_2 <= lam, a second-order cone.

    The curvature is (2 (J v) (J v)' - J) / size (see `skpd.solvers.interior.cones`), and the
    product with J v is an unknown of the Newton system. Subclasses have a head and a first entry
    of the tail that are affine in lam, and a factor of w in the other entries.

    Parameters
    ----------
    n_coefficients, lam_index, lam, multiplier, share
        See `skpd.solvers.interior.absolute_values.SumEpigraph`.
    product_index : int
        The index of the product among the unknowns.
    """

    of_head, of_tail, root = 1.0, 0.0, 1.0  # derivatives of the head and the tail in lam and w

    def __init__(
        self, n_coefficients: int, lam_index: int, product_index: int, lam: float,
        multiplier: float, share: float,
    ) -> None:  # fmt: skip
        self.size, self.lam_index, self.product_index = n_coefficients, lam_index, product_index
        self.groups = Groups(np.array([0, n_coefficients + 1]))
        self.slack = ConeVector(np.array([lam]), np.zeros(n_coefficients + 1))
        self.dual = ConeVector(np.array([multiplier]), np.zeros(n_coefficients + 1))
        self.share = self.degree = share

    def _add_adjoint(self, dual: ConeVector, out: Array) -> None:
        out[: self.size] -= self.root * dual.tail[1:]
        out[self.lam_index] -= self.of_head * dual.head[0] + self.of_tail * dual.tail[0]

    def factorise(self, system: NewtonSystem) -> None:
        v, lam, product = self.scale(), self.lam_index, self.product_index
        size = float(v.size[0])
        system.diagonal[: self.size] += self.root**2 / size
        system.border(product)[: self.size] -= self.root * v.tail[1:]
        system.add_corner(lam, lam, (self.of_tail**2 - self.of_head**2) / size)
        along = float(self.of_head * v.head[0] - self.of_tail * v.tail[0])
        system.add_corner(lam, product, along)
        system.add_corner(product, product, -0.5 * size)

    def add_centering(self, mu: float | None, corrected: bool, out: Array) -> None:
        self._add_adjoint(self._center(mu, corrected), out)

    def set_step(self, dx: Array) -> None:
        v, lam_step = self.scaling, dx[self.lam_index : self.lam_index + 1]
        head, tail = self.of_head * lam_step, np.append(self.of_tail * lam_step, dx[: self.size])
        tail[1:] *= self.root
        along = 2.0 * (v.head * head - v.tail @ tail)
        image = ConeVector((along * v.head - head) / v.size, (tail - along * v.tail) / v.size)
        self.slack_step, self.dual_step = ConeVector(head, tail), self.centering + -1.0 * image


class SquareEpigraph(EuclideanEpigraph):
    """The constraint l2 ||w||^2 / 2 <= radius - lam, a rotated second-order cone.

    It is 2 a b >= ||q||^2 for a = (radius - lam) / b, a fixed number b and q = sqrt(l2) w, which
    is a second-order cone in ((a + b) / sqrt(2), (a - b) / sqrt(2), q).

    Parameters
    ----------
    n_coefficients, lam_index, product_index, lam, multiplier, share
        See `EuclideanEpigraph`.
    radius, l2 : float
        The radius and the weight of the squared norm.
    """

    def __init__(
        self, n_coefficients: int, lam_index: int, product_index: int, lam: float,
        multiplier: float, share: float, radius: float, l2: float,
    ) -> None:  # fmt: skip
        b = sqrt(radius)  # a number of the size of a
        a = (radius - lam) / b
        head = sqrt(0.5) * (a + b)
        super().__init__(n_coefficients, lam_index, product_index, head, multiplier * head, share)
        self.of_head = self.of_tail = -sqrt(0.5) / b
        self.root = sqrt(l2)
        self.slack.tail[0] = sqrt(0.5) * (a - b)
        self.dual.tail[0] = -multiplier * self.slack.tail[0]


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
    tau_index : int
        The index of tau among the unknowns, whose initial value is 2 a sum_g width_g.
    """

    linear = False

    def __init__(
        self, starts: Indices, weight: float, share: float, width: Array, tau_index: int
    ) -> None:
        heads = np.full(len(width), 2.0 * weight * float(np.sum(width)))
        super().__init__(starts, heads, share, width)
        self.twice, self.tau_index = 2.0 * weight, tau_index

    def add_gradient(self, out: Array) -> None:
        super().add_gradient(out)
        tau = float(self.dual.head[0])
        out[self.tau_index] += float(np.sum(self.slack.head)) - tau / self.twice

    def factorise(self, system: NewtonSystem) -> None:
        super().factorise(system)
        v = self.scaling
        self.along = 2.0 * v.head / (v.size * self.of_head)
        system.border(self.tau_index)[: len(v.tail)] += self.groups.spread(self.along) * v.tail
        corner = -1.0 / self.twice - float(np.sum(1.0 / self.of_head))
        system.add_corner(self.tau_index, self.tau_index, corner)

    def add_centering(self, mu: float | None, corrected: bool, out: Array) -> None:
        super().add_centering(mu, corrected, out)
        out[self.tau_index] += float(np.sum(self.centering.head / self.of_head))

    def set_step(self, dx: Array) -> None:
        """Compute the steps for a fixed tau, and correct them by the step of tau."""
        super().set_step(dx)
        tau_step, v, tail = float(dx[self.tau_index]), self.scaling, self.dual_step.tail
        fall = tau_step / self.of_head
        tail = tail - self.groups.spread(2.0 * v.head * fall / v.size) * v.tail
        self.slack_step = replace(self.slack_step, head=self.slack_step.head - fall)
        self.dual_step = ConeVector(np.full_like(fall, tau_step), tail)
