"""The losses of the robust SVM, smoothed by multipliers.

The loss of a row h(m, lam) is the maximum of p (1 - m) + r (1 + m - kappa lam) over the triangle
p, r >= 0, p + r <= 1. With multipliers (p0, r0) it is replaced by its Moreau envelope, ::

    max over p, r of  p (1 - m) + r (1 + m - kappa lam) - ||(p, r) - (p0, r0)||^2 / (2 sigma),

whose maximiser is the projection of (p0, r0) + sigma (1 - m, 1 + m - kappa lam). The envelope has
curvature where that is not a corner of the triangle. Vectors of unknowns are (w, b, lam).
"""

from dataclasses import dataclass
from functools import cached_property
from math import inf

import numpy as np

from ..._typing import Array, Indices
from ...designs import Design, newton_cost
from ...designs.gram import OVERHEAD
from .loss import WorstCaseHinge, project_triangle

# the number of rows whose maximisers are computed at a time, so that vectors stay in the cache
BLOCK = 1 << 14
PAIR = 4.0  # the cost of products with X and its transpose for an entry, as in `newton_cost`


@dataclass(frozen=True)
class Curvature:
    """Second derivatives of the mean envelope, over the rows with curvature, plus a diagonal.

    Parameters
    ----------
    design : Design
        The rows of X with curvature.
    predictions, mixed : ndarray
        The second derivatives in a prediction, and the mixed ones in a prediction and lam.
    lam : float
        The second derivative in lam.
    added : ndarray of shape (n_features + 2,)
        The diagonal.
    fit_intercept : bool
    """

    design: Design
    predictions: Array
    mixed: Array
    lam: float
    added: Array
    fit_intercept: bool

    def product(self, v: Array) -> Array:
        """The product of the matrix with a vector."""
        b = float(v[-2]) if self.fit_intercept else 0.0
        z = self.design.matvec(np.ascontiguousarray(v[:-2])) + b
        slopes, radius = self.predictions * z + self.mixed * v[-1], float(v[-1])
        of_lam = float(self.mixed @ z) + self.lam * radius
        of_b = float(np.sum(slopes)) if self.fit_intercept else float(v[-2])
        return np.concatenate([self.design.rmatvec(slopes), [of_b, of_lam]]) + self.added * v

    @cached_property
    def diagonal(self) -> Array:
        """The diagonal of the matrix."""
        of_w = self.design.rmatvec_square(self.predictions)
        of_b = float(np.sum(self.predictions)) if self.fit_intercept else 1.0
        return np.concatenate([of_w, [of_b, self.lam]]) + self.added

    @property
    def products_of_matrix(self) -> float:
        """The number of products that cost as much as the matrix and its factor."""
        cost = newton_cost(self.design, *self.design.shape) - OVERHEAD
        return cost / (PAIR * max(self.design.n_entries, 1))

    @cached_property
    def matrix(self) -> Array:
        """The matrix itself."""
        d = self.design.shape[1]
        full = np.diag(self.added)
        gram = self.design.gram(self.predictions, np.arange(d), True)
        if not self.fit_intercept:
            gram[-1, :] = gram[:, -1] = 0.0
            gram[-1, -1] = 1.0
        full[:-1, :-1] += gram
        corner = float(np.sum(self.mixed)) if self.fit_intercept else 0.0
        border = np.append(self.design.rmatvec(self.mixed), corner)
        full[-1, :-1] = full[:-1, -1] = border
        full[-1, -1] += self.lam
        return full


class SmoothedRows:
    """The mean of the envelopes of some rows.

    Parameters
    ----------
    design : Design
    y, weights : ndarray of shape (n_samples,)
    loss : WorstCaseHinge
    p, r : ndarray of shape (n_samples,)
        The multipliers, which are also the initial maximisers.
    """

    def __init__(
        self, design: Design, y: Array, weights: Array, loss: WorstCaseHinge, p: Array, r: Array
    ) -> None:
        self.design, self.y, self.weights, self.loss = design, y, weights, loss
        self.flips = loss.kappa if loss.kappa < inf else 0.0  # minus the slope of a flip in lam
        self.p, self.r = self.multipliers = p, r
        self.x, self.margins, self.sigma = np.zeros(design.shape[1] + 2), np.zeros_like(p), 1.0
        # the gradient and the dual value of the rows that are left out, whose losses are linear
        self.linear_gradient, self.linear_value = np.zeros_like(self.x), 0.0

    def margins_of(self, x: Array) -> Array:
        """The margins of a model, or their changes along a direction."""
        return self.y * (self.design.matvec(np.ascontiguousarray(x[:-2])) + x[-2])

    @property
    def flip(self) -> float:
        """The slope of the losses in the multipliers r at a margin of 0."""
        return 1.0 - self.flips * float(self.x[-1]) if self.flips else -inf

    def move_to(self, x: Array, margins: Array, sigma: float) -> None:
        """Move to other unknowns with the given margins."""
        self.x, self.margins, self.sigma = x, margins, sigma
        p, r = self.multipliers
        if not self.flips:
            self.p = np.clip(p + sigma * (1.0 - margins), 0.0, 1.0)
            return
        self.p, self.r = np.empty_like(margins), np.empty_like(margins)
        for first in range(0, len(margins), BLOCK):
            block = slice(first, first + BLOCK)
            hinge, flipped = 1.0 - margins[block], self.flip + margins[block]
            projected = project_triangle(p[block] + sigma * hinge, r[block] + sigma * flipped)
            self.p[block], self.r[block] = projected

    def update_multipliers(self) -> None:
        """Set the multipliers to the maximisers."""
        self.multipliers = self.p, self.r

    def gradient(self) -> Array:
        """The gradient of the mean envelope in the unknowns."""
        slopes = self.weights * self.y * (self.r - self.p)
        of_lam = -self.flips * float(self.weights @ self.r)
        gradient = np.concatenate([self.design.rmatvec(slopes), [float(np.sum(slopes)), of_lam]])
        return gradient + self.linear_gradient

    def slope(self, direction: Array, margins: Array) -> float:
        """The derivative along a direction, with the given changes of the margins."""
        of_lam = self.flips * float(self.weights @ self.r) * float(direction[-1])
        of_rows = float((self.weights * (self.r - self.p)) @ margins) - of_lam
        return of_rows + float(self.linear_gradient @ direction)

    def sums(self) -> tuple[float, float]:
        """The mean loss, and the value sum_i c_i (p_i + r_i) of the maximisers."""
        losses = self.loss.at_radius(float(self.x[-1])).value(np.ones_like(self.y), self.margins)
        # the loss of a row left out is p + r plus its derivative times the unknowns
        of_linear = self.linear_value + float(self.linear_gradient @ self.x)
        proved = float(self.weights @ (self.p + self.r)) + self.linear_value
        return float(self.weights @ losses) + of_linear, proved

    @property
    def n_curved(self) -> int:
        """The number of rows with curvature."""
        return int(np.count_nonzero(_inside(self.p) | _inside(self.r)))

    @property
    def curvature_of_lam(self) -> float:
        """The second derivative of the mean envelope in lam."""
        flipped = np.flatnonzero(_inside(self.r))
        p = self.p[flipped]
        along = np.where((p > 0.0) & (p + self.r[flipped] >= 1.0), 0.5, 1.0)
        return self.flips**2 * self.sigma * float(along @ self.weights[flipped])

    def curvature(self, added: Array, fit_intercept: bool) -> Curvature:
        """The generalised Hessian plus a diagonal.

        It comes from the derivative of the projection onto the triangle. Inside of the triangle
        that is the identity, on the hypotenuse it is the projection onto the direction
        (1, -1) / sqrt(2), and on the other sides that onto one axis.
        """
        hinged, flipped = _inside(self.p), _inside(self.r)
        rows = np.flatnonzero(hinged | flipped)
        if len(rows) == 0:
            rows = np.zeros(1, dtype=rows.dtype)  # with a curvature of 0
        scale = self.sigma * self.weights[rows]
        flips, of_lam = scale * flipped[rows], self.curvature_of_lam
        predictions, mixed = scale * hinged[rows] + flips, -self.flips * flips * self.y[rows]
        design = self.design.rows(rows)
        return Curvature(design, predictions, mixed, of_lam, added, fit_intercept)

    def nearest_to_kinks(self, count: int) -> Indices:
        """The indices of the ``count`` rows nearest to a kink of their loss, increasing."""
        hinge, flipped = 1.0 - self.margins, self.flip + self.margins
        # from the second largest of the three pieces to the largest
        high, low = np.maximum(hinge, flipped), np.minimum(hinge, flipped)
        distance = np.maximum(high, 0.0) - np.maximum(low, np.minimum(high, 0.0))
        return np.sort(np.argpartition(distance, count)[:count])


class ShrunkRobustRows(SmoothedRows):
    """The rows nearest to kinks; the losses of other rows are treated as linear.

    Parameters
    ----------
    whole : SmoothedRows
        All rows, whose maximisers are their multipliers.
    count : int
        The number of remaining rows.
    """

    def __init__(self, whole: SmoothedRows, count: int) -> None:
        self.whole = whole
        self.chosen = chosen = whole.nearest_to_kinks(count)
        design, (p, r) = whole.design.rows(chosen), whole.multipliers
        y, weights = whole.y[chosen], whole.weights[chosen]
        super().__init__(design, y, weights, whole.loss, p[chosen], r[chosen])
        self.move_to(whole.x, whole.margins[chosen], whole.sigma)
        gradient, proved = self.gradient(), self.sums()[1]
        self.linear_gradient = whole.gradient() - gradient
        self.linear_value = whole.sums()[1] - proved

    def restore(self) -> SmoothedRows:
        """All rows at the current unknowns, with the multipliers of the remaining rows."""
        whole = self.whole
        p, r = whole.p.copy(), whole.r.copy()
        p[self.chosen], r[self.chosen] = self.multipliers
        whole.multipliers = p, r
        whole.move_to(self.x, whole.margins_of(self.x), self.sigma)
        return whole


def _inside(multiplier: Array) -> np.ndarray:
    return (multiplier > 0.0) & (multiplier < 1.0)
