"""Epsilon-insensitive losses, which are 0 for residuals of at most epsilon."""

from bisect import bisect_right
from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np

from .._typing import Array
from .._values import number
from .base import LinearPiece
from .multipliers import Multipliers
from .residual import QuadraticResidual, weighted_quantile


@dataclass(frozen=True)
class _Tube(QuadraticResidual):
    """A function of ``max(0, |r| - epsilon)``."""

    epsilon: float = number(0.1, least=0.0)

    def pieces(self, y: Array) -> list[LinearPiece]:
        lower, upper = self.conjugate_domain
        return [
            LinearPiece(1.0, y + self.epsilon, 0.0, upper, self._curvature),
            LinearPiece(-1.0, y - self.epsilon, 0.0, -lower, self._curvature),
        ]


@dataclass(frozen=True)
class EpsilonInsensitive(_Tube):
    """Epsilon-insensitive loss, ``phi(r) = max(0, |r| - epsilon)``.

    ``phi*(u) = epsilon |u|`` on [-1, 1].

    Parameters
    ----------
    epsilon : float, default=0.1
        Half the width of the tube without loss, in units of y, at least 0.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.losses import EpsilonInsensitive
    >>> EpsilonInsensitive(epsilon=1.0).value(np.zeros(2), np.array([-3.0, 0.5]))
    array([2., 0.])
    """

    linear_conjugate: ClassVar[bool] = True
    conjugate_domain: ClassVar[tuple] = (-1.0, 1.0)

    def _phi(self, t: Array) -> Array:
        return np.maximum(np.abs(t) - self.epsilon, 0.0)

    def _phi_derivative(self, t: Array) -> Array:
        return np.sign(t) * (np.abs(t) > self.epsilon)

    def multipliers(self, y: Array) -> Multipliers:
        offsets = np.outer(y, [-1.0, 1.0]) - self.epsilon
        return Multipliers(np.tile([1.0, -1.0], (len(y), 1)), offsets)

    def best_constant(self, y: Array, weights: Array) -> float:
        # the slope rises by weights_i at y_i - epsilon and at y_i + epsilon
        kinks = np.concatenate([y - self.epsilon, y + self.epsilon])
        return weighted_quantile(kinks, np.concatenate([weights, weights]), 0.5)

    def _residual_interval(self, value: float) -> tuple[float, float]:
        return -value - self.epsilon, value + self.epsilon


@dataclass(frozen=True)
class SquaredEpsilonInsensitive(_Tube):
    """Squared epsilon-insensitive loss, ``phi(r) = max(0, |r| - epsilon)^2``.

    ``phi*(u) = epsilon |u| + u^2 / 4``.

    Parameters
    ----------
    epsilon : float, default=0.1
        Half the width of the tube without loss, in units of y, at least 0.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.losses import SquaredEpsilonInsensitive
    >>> SquaredEpsilonInsensitive(epsilon=1.0).value(np.zeros(2), np.array([-3.0, 0.5]))
    array([4., 0.])
    """

    conjugate_domain: ClassVar[tuple] = (-inf, inf)
    linear_tails: ClassVar[bool] = False
    _curvature: ClassVar[float] = 0.5

    def _phi(self, t: Array) -> Array:
        return np.maximum(np.abs(t) - self.epsilon, 0.0) ** 2

    def _phi_derivative(self, t: Array) -> Array:
        return 2.0 * np.sign(t) * np.maximum(np.abs(t) - self.epsilon, 0.0)

    def best_constant(self, y: Array, weights: Array) -> float:
        # the slope is piecewise linear in b, with kinks at y_i - epsilon and y_i + epsilon:
        # bisect for the two sorted kinks around its root, between which it is linear
        kinks = np.sort(np.concatenate([y - self.epsilon, y + self.epsilon]))

        def slope(b):
            return float(weights @ self._phi_derivative(b - y))

        last = bisect_right(kinks, 0.0, lo=1, hi=len(kinks) - 1, key=slope)
        first, end = kinks[last - 1 : last + 1]
        low, high = slope(first), slope(end)
        share = -low / (high - low) if high > low else 0.5
        return float(first + min(max(share, 0.0), 1.0) * (end - first))

    def _residual_interval(self, value: float) -> tuple[float, float]:
        distance = np.sqrt(value) + self.epsilon
        return -distance, distance
