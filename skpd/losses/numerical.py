"""Prox, best constants and level sets of losses without closed forms, by bisection.

The losses of the package have closed forms and compiled functions. A loss that a user writes in
Python may leave these out: its prox, best constants and level sets are then found from phi, its
conjugate and its derivative, by bisections of all rows at once.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from math import ceil, inf, log2
from typing import Any, Generic, TypeVar

import numpy as np
from scipy.optimize import brentq

from .._floats import EPSILON
from .._typing import Array, Indices, Mask

HALVINGS = 64  # bisections, after which an interval is a rounding error of its first length
PARTS = 256  # of an interval at a time, as NumPy takes as long for one point as for many
MOST_HALVINGS = 256  # bisections, after which the ends differ by their rounding errors
# points from which a bisection starts, for arguments of any scale whose squares are finite
POWERS: Array = 2.0 ** np.arange(-500, 501, dtype=np.float64)
SIGNED_POWERS = np.concatenate([-POWERS[::-1], POWERS])
TIGHT = 4.0 * EPSILON  # relative accuracy of best constants
DIFFERENCE = EPSILON ** (1.0 / 3.0)  # step at which the errors of a central difference balance


LossT = TypeVar("LossT")


class PythonKernel(ABC, Generic[LossT]):
    """The interface of compiled losses, for losses written in Python.

    The smooth function of the predictions of a row is the loss itself for an infinite sigma, and
    otherwise its Moreau envelope shifted by theta.
    """

    def __init__(self, loss: LossT) -> None:
        self.loss = loss

    @abstractmethod
    def prox_conjugate(self, y: Array, theta: Array, step: Array) -> Array:
        """argmin over x of l*(y_i, x) + (x - theta_i)^2 / (2 step_i)."""

    @abstractmethod
    def smoothed_derivatives(
        self, y: Array, weights: Array, theta: Array, z: Array, sigma: float, *outputs: Array
    ) -> tuple[float, float]:
        """Write derivatives of the smooth function to the outputs.

        They are the derivative of each row, and those of the weighted mean: its gradient and the
        diagonal of its Hessian, divided by sigma where that is finite. For losses of several
        predictions a fourth output is the vector e of a Hessian diag(d) - e e'.

        Returns
        -------
        primal, dual : float
            The sums of weights_i l(y_i, z_i) and of -weights_i l*(y_i, derivative_i).
        """

    @abstractmethod
    def _derivative(self, y: Array, theta: Array, z: Array, sigma: float) -> Array:
        """The derivative of the smooth function."""

    def smoothed_slope(
        self, y: Array, weights: Array, theta: Array, z: Array, direction: Array, step: float,
        sigma: float,
    ) -> float:  # fmt: skip
        """The slope of the weighted mean along a direction, at a step."""
        slopes = self._derivative(y, theta, z + step * direction, sigma)
        return float(np.sum(weights * direction * slopes))

    def rows_that_bend(
        self, y: Array, theta: Array, z: Array, sigma: float, derivative: Array, curvature: Array,
        radius: float,
    ) -> Indices:  # fmt: skip
        """All rows, as none is proven to be linear within the radius."""
        return np.arange(len(z), dtype=np.int64)


class NumericalEvaluator(PythonKernel[Any]):
    """Derivatives and prox of a loss of single predictions written in Python."""

    def prox_conjugate(self, y: Array, theta: Array, step: Array) -> Array:
        """See `PythonKernel`.

        By Moreau's identity x = theta - step z, where x is a subgradient of l(y, .) at z: z is the
        root of the increasing function l'(y, z) + step z - theta. At z_0 = theta / step this
        function has the value d = l'(y, z_0), and the root is between z_0 and z_0 - d / step.
        """
        gradient = self.loss.gradient
        first = theta / step
        other = first - gradient(y, first) / step
        low, high = np.minimum(first, other), np.maximum(first, other)
        for _ in range(MOST_HALVINGS):
            if np.all(high - low <= 4.0 * EPSILON * (np.abs(first) + np.abs(low) + np.abs(high))):
                break
            middle = 0.5 * (low + high)
            above = gradient(y, middle) + step * middle > theta
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        # at a kink the subgradients of the ends differ; elsewhere they are nearly equal
        return np.clip(theta - step * 0.5 * (low + high), gradient(y, low), gradient(y, high))

    def smoothed_derivatives(
        self, y: Array, weights: Array, theta: Array, z: Array, sigma: float, *outputs: Array
    ) -> tuple[float, float]:
        """See `PythonKernel`; second derivatives are central differences."""
        derivative, gradient, curvature = outputs
        loss = self.loss
        derivative[:] = self._derivative(y, theta, z, sigma)
        at = z if sigma == inf else z + (theta - derivative) / sigma
        width = DIFFERENCE * (np.abs(at) + np.abs(y) + float(weights @ np.abs(at - y)))
        second = (loss.gradient(y, at + width) - loss.gradient(y, at - width)) / (2.0 * width)
        second = np.maximum(second, 0.0)
        np.multiply(weights, derivative, out=gradient)
        np.multiply(weights, second if sigma == inf else second / (second + sigma), out=curvature)
        primal = float(weights @ loss.value(y, z))
        return primal, -float(weights @ loss.conjugate(y, derivative))

    def _derivative(self, y: Array, theta: Array, z: Array, sigma: float) -> Array:
        if sigma == inf:
            return self.loss.gradient(y, z)
        return self.prox_conjugate(y, theta + sigma * z, np.full(len(z), sigma))


def constant_between(
    constant: float, offsets: tuple[float, float], slope: Callable[[float], float]
) -> float:
    """The best constant with offsets, from the one without them.

    Parameters
    ----------
    constant : float
        The best constant without offsets.
    offsets : tuple of float
        The least and the largest offset.
    slope : callable
        The derivative of the mean loss with respect to the constant.
    """
    lower, upper = constant - offsets[1], constant - offsets[0]
    # the slope is at most 0 at the first and at least 0 at the second, up to rounding
    if not np.isfinite(constant) or lower == upper or slope(lower) >= 0.0:
        return lower
    if slope(upper) <= 0.0:
        return upper
    width = TIGHT * (1.0 + max(abs(lower), abs(upper)))
    return float(brentq(slope, lower, upper, xtol=width, rtol=TIGHT, disp=False))


def last_above(phi: Callable[[Array], Array], value: float, points: Array) -> float:
    """The last point, up to rounding, at which a non-increasing phi is above ``value``.

    phi is convex and does not increase along the ordered ``points``. Returns the last of the
    points if phi is above ``value`` at all of them, and inf if it is above at none.
    """
    return _last_that(lambda t: phi(t) > value, points, inf, float(points[-1]))


def root_of_slope(slope: Callable[[Array], Array], points: Array, n_parts: int = PARTS) -> float:
    """The root of a non-decreasing function, by division of intervals between increasing points.

    A function of each point costs least with two parts, and a function of arrays with `PARTS`.
    Returns inf where the function is below 0 at all points.
    """
    return _last_that(lambda t: slope(t) < 0.0, points, float(points[0]), inf, n_parts)


@np.errstate(over="ignore", invalid="ignore")
def _last_that(
    holds: Callable[[Array], Mask], points: Array, nowhere: float, everywhere: float,
    n_parts: int = PARTS,
) -> float:  # fmt: skip
    """The last number at which a condition holds that holds before it, by division of intervals.

    Returns ``nowhere`` if it does not hold at the first of the points, and ``everywhere`` if it
    holds at all of them.
    """
    satisfied = holds(points)
    if satisfied.all():
        return everywhere
    k = int(np.argmin(satisfied))
    if k == 0:
        return nowhere
    first, end = points[k - 1], points[k]
    shares = np.arange(1.0, n_parts) / n_parts
    for _ in range(ceil(HALVINGS / log2(n_parts))):
        between = first + (end - first) * shares
        n_satisfied = int(np.count_nonzero(holds(between)))
        first = between[n_satisfied - 1] if n_satisfied else first
        end = between[n_satisfied] if n_satisfied < len(between) else end
    return float(first)
