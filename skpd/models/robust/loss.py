"""The worst-case hinge loss of a distributionally robust SVM, with a radius shared by all rows."""

from dataclasses import dataclass
from math import inf

import numpy as np

from ..._floats import EPSILON
from ..._typing import Array, Numbers
from ...losses.base import Loss
from ...losses.margin import Hinge, MarginLoss

GRID = 2.0**52  # multipliers on multiples of its inverse have exact sums and differences


@dataclass(frozen=True)
class FlippedHinge(MarginLoss):
    """The hinge loss of a label that may be flipped, max(1 - m, 1 + m - cost, 0).

    Parameters
    ----------
    cost : float
        The cost kappa lam of a flip, at least 0.
    """

    cost: float
    conjugate_domain = (-1.0, 1.0)

    def _phi(self, t: Array) -> Array:
        return np.maximum(np.maximum(1.0 - t, 1.0 + t - self.cost), 0.0)

    def _phi_conjugate(self, u: Array) -> Array:
        """The value -p - (1 - cost) r at the best multipliers in the triangle with r - p = u."""
        p, r = np.maximum(-u, 0.0), np.maximum(u, 0.0)
        both = 0.5 * (1.0 - p - r) * max(2.0 - self.cost, 0.0)
        return np.where(np.abs(u) <= 1.0, (self.cost - 1.0) * r - p - both, inf)

    def _phi_derivative(self, t: Array) -> Array:
        hinge, flipped = 1.0 - t, 1.0 + t - self.cost
        slopes = np.where(flipped > hinge, 1.0, -1.0)
        return np.where(np.maximum(hinge, flipped) > 0.0, slopes, 0.0)

    def largest(self, y: Array, z: Array, z_low: Numbers, error: Numbers) -> Array:
        lower, upper = self.arguments(y, z, z_low, error)
        # the operands of the flipped loss have rounding errors, and may cancel
        flipped = (1.0 + upper) - self.cost
        flipped = flipped + EPSILON * (1.0 + np.abs(upper) + self.cost)
        return np.maximum(np.maximum(1.0 - lower, 0.0), flipped)


@dataclass(frozen=True)
class WorstCaseHinge(Hinge):
    """The worst-case hinge loss h(m, lam) = max(1 - m, 1 + m - kappa lam, 0) at a radius lam.

    It is the maximum of p (1 - m) + r (1 + m - kappa lam) over multipliers in the triangle
    p, r >= 0, p + r <= 1 (Li, Chen and So, 2020). A dual point is an array of shape
    (2, n_samples) of p and r. The functions of `Hinge` are those for an infinite radius.

    Parameters
    ----------
    kappa : float, default=inf
        The cost of flipping a label; greater than 0.
    """

    kappa: float = inf

    def at_radius(self, radius: float) -> Loss:
        """The loss of a row for a radius."""
        return Hinge() if self.kappa == inf else FlippedHinge(self.kappa * radius)

    def decision_costs(
        self, y: Array, weights: Array, z: Array, error: Array, theta: Array
    ) -> Array:
        """See `Loss.decision_costs`: 1 - p - r for rows that are predicted right.

        For a margin m <= 0 and any radius h(m, lam) - p (1 - m) - r (1 + m - kappa lam) is at
        least (1 - p) (1 - m) - r (1 + m), which is least at m = 0.
        """
        p, r = theta
        costs = np.maximum(1.0 - p - r - 4.0 * EPSILON, 0.0)
        return np.where(y * z > error, weights * costs, 0.0)

    def project_dual(self, y: Array, theta: Array) -> Array:
        """Multipliers in the triangle whose sums and differences are exact.

        A dual point of the hinge loss, of shape (n_samples,), is one with r = 0.
        """
        multipliers = np.asarray(theta, dtype=np.float64)
        if multipliers.shape == y.shape:
            multipliers = np.stack([-y * multipliers, np.zeros(len(y))])
        p, r = np.nan_to_num(multipliers.reshape(2, -1), posinf=1.0, neginf=0.0)
        if self.kappa == inf:
            r = np.zeros_like(p)
        p, r = project_triangle(np.clip(p, -1e100, 1e100), np.clip(r, -1e100, 1e100))
        largest = float(np.max(p + r, initial=0.0))
        if 0.0 < largest < 2.0**-20:  # small multipliers are scaled by a power of 2, exactly
            scale = 2.0 ** np.floor(-np.log2(largest) - 1.0)
            p, r = p * scale, r * scale
        return np.floor(np.stack([p, r]) * GRID) / GRID


def project_triangle(p: Array, r: Array) -> tuple[Array, Array]:
    """The nearest points with p, r >= 0 and p + r <= 1."""
    projected_p, projected_r = np.maximum(p, 0.0), np.maximum(r, 0.0)
    over = np.flatnonzero(projected_p + projected_r > 1.0)
    excess = np.maximum(0.5 * (p[over] + r[over] - 1.0), 0.0)
    projected_p[over] = np.clip(p[over] - excess, 0.0, 1.0)
    # on the hypotenuse r is computed as 1 - p, so that rounding does not leave the triangle
    projected_r[over] = 1.0 - projected_p[over]
    return projected_p, projected_r
