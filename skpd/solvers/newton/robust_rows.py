"""The rows of the robust SVM, with the interface of the method of multipliers.

The loss of a row h(m, lam) is the maximum of p (1 - m) + r (1 + m - kappa lam) over the triangle
p, r >= 0, p + r <= 1. With multipliers (p0, r0) it is replaced by its Moreau envelope, ::

    max over p, r of  p (1 - m) + r (1 + m - kappa lam) - ||(p, r) - (p0, r0)||^2 / (2 sigma),

whose maximiser is the projection of (p0, r0) + sigma (1 - m, 1 + m - kappa lam). The envelope has
curvature where that is not a corner of the triangle. Variables are (w, lam, b), and the vector z
is the predictions followed by the cost kappa lam of a flip.
"""

from math import inf
from typing import Any, Self

import numpy as np

from ..._typing import Array, Indices, Mask
from ...designs.gram import PRODUCTS
from ...kernels import dot
from ...losses.worst_case import FlippedHinge, project_triangle
from ...problems import Point, Problem
from ...problems.robust import first_multipliers
from .cone_quadratic import ConeCurvature
from .in_memory import InMemory
from .settings import CONE

# the number of rows whose maximisers are computed at a time, so that vectors stay in the cache
BLOCK = 1 << 14


class RobustRows(InMemory):
    """The rows of a robust SVM, whose dual points are multipliers p and r of shape (2, n_rows)."""

    @classmethod
    def of(cls, problem: Problem, start: Point | None, gram: Any) -> Self:
        """The rows of a problem at a start, or at the best constant prediction."""
        point = problem.rows.null_point if start is None else start
        nothing = np.empty(0)
        theta = first_multipliers(problem) if start is None else start.dual_coef
        theta = np.stack(project_triangle(*np.asarray(theta, dtype=np.float64)))
        rows = cls(problem.loss, gram, problem.design, problem.y, problem.weights, theta, nothing)
        rows.move_to(problem.join(point.coef, point.intercept))
        rows.dual_range = 1.0
        return rows

    def subset(self, rows: Indices) -> Self:
        z = np.append(self.z[:-1][rows], self.z[-1])
        return self.__class__(
            self.evaluator, self.gram, self.design.rows(rows), self.y[rows], self.weights[rows],
            self.theta[:, rows], z,
        )  # fmt: skip

    @property
    def _flips(self) -> float:
        """Minus the slope of a flip in lam: kappa, or 0 where labels are certain."""
        kappa: float = self.evaluator.kappa
        return kappa if kappa < inf else 0.0

    def _matvec(self, variables: Array) -> Array:
        d = self.design.shape[1]
        z = np.empty(len(self.y) + 1)
        z[:-1] = self.design.matvec(np.ascontiguousarray(variables[:d]))
        if len(variables) > d + 1:
            z[:-1] += variables[-1]
        z[-1] = self._flips * variables[d]
        return z

    def move_to(self, variables: Array, problem: Problem | None = None) -> None:
        self.z = self._matvec(variables)

    def _maximisers(self, z: Array, sigma: float) -> Array:
        """The multipliers p and r that attain the envelopes."""
        margins, cost, (p, r) = self.y * z[:-1], float(z[-1]), self.theta
        if not self._flips:
            return np.stack([np.clip(p + sigma * (1.0 - margins), 0.0, 1.0), np.zeros_like(r)])
        maximisers = np.empty_like(self.theta)
        for first in range(0, len(margins), BLOCK):
            block = slice(first, first + BLOCK)
            hinge, flipped = 1.0 - margins[block], (1.0 - cost) + margins[block]
            maximisers[:, block] = project_triangle(
                p[block] + sigma * hinge, r[block] + sigma * flipped
            )
        return maximisers

    def _derivatives(self, sigma: float) -> tuple[float, float]:
        self.derivative = p, r = self._maximisers(self.z, sigma)
        self.h = self.weights * (_is_inside(p) | _is_inside(r))
        self._gradient = self.weights * self.y * (r - p)
        loss = FlippedHinge(float(self.z[-1]) if self._flips else inf)
        losses = loss.value(self.y, self.z[:-1])
        return dot(self.weights, losses), dot(self.weights, p + r)

    def gradient(self, columns: Indices | None = None) -> tuple[Array, Any]:
        of_lam = -self._flips * dot(self.weights, self.derivative[1])
        coef = np.append(self.design.rmatvec(self._gradient), of_lam)
        return (coef if columns is None else coef[columns]), self._sums(self._gradient)

    def certified_gradient(self, problem: Problem, coef: Array) -> tuple[Array, float]:
        return self.gradient()

    def curvature(self, columns: Indices, scale: float, ridge: Array | None, again: bool) -> Any:
        """The generalised Hessian plus a diagonal, for all columns.

        It comes from the derivative of the projection onto the triangle. Inside of the triangle
        that is the identity, on the hypotenuse it is the projection onto the direction
        (1, -1) / sqrt(2), and on the other sides that onto one axis.
        """
        rows = np.flatnonzero(self.h)
        if len(rows) == 0:
            rows = np.zeros(1, dtype=rows.dtype)  # with a curvature of 0
        p, r = self.derivative[:, rows]
        weights, flips = scale * self.weights[rows], self._flips
        flipped = _is_inside(r) * weights
        both = np.where((p > 0.0) & (p + r >= 1.0), 0.5, 1.0)
        added = np.zeros(len(columns) + self.gram.ones) if ridge is None else ridge.copy()
        added[len(columns) - 1] += CONE.regularisation * scale * flips**2
        self._curvature = ConeCurvature(
            self.design.rows(rows), _is_inside(p) * weights + flipped,
            -flips * flipped * self.y[rows], flips**2 * dot(both, flipped), added, self.gram.ones,
        )  # fmt: skip
        return self._curvature

    def cost(self, n_columns: int) -> float:
        return PRODUCTS * self.design.n_entries + self._curvature.cost

    def slope(self, sigma: float) -> float:
        self.evaluate(sigma)
        return self._slope_of(self.derivative)

    def _slope_of(self, multipliers: Array) -> float:
        p, r = multipliers
        of_lam = dot(self.weights, r) * float(self._along[-1])
        return dot(self.weights * self.y * (r - p), self._along[:-1]) - of_lam

    def slopes(self, lengths: list[float], sigma: float) -> list[float]:
        return [
            self._slope_of(self._maximisers(self._before + length * self._along, sigma))
            for length in lengths
        ]

    def bending(self, sigma: float, radius: float) -> Indices:
        margins, cost, (p, r) = self.y * self.z[:-1], float(self.z[-1]), self.theta
        p, change = p + sigma * (1.0 - margins), sigma * radius
        r = r + sigma * (1.0 + margins - cost) if self._flips else np.full_like(p, -inf)
        linear: Mask = (p <= -change) & (r <= -2.0 * change)
        linear |= (p >= 1.0 + change) & (p - r >= 1.0 + 3.0 * change)
        linear |= (r >= 1.0 + 2.0 * change) & (r - p >= 1.0 + 3.0 * change)
        return np.flatnonzero(~linear)


def _is_inside(multiplier: Array) -> Mask:
    return (multiplier > 0.0) & (multiplier < 1.0)
