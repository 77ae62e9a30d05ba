"""Losses as maxima over two multipliers, as the primal-dual prox method takes them."""

from typing import NamedTuple

import numpy as np

from .._typing import Array


class Multipliers(NamedTuple):
    """A loss as the maximum of a bilinear function over two multipliers a_1 and a_2.

    l(y, z) = max over a_1, a_2 >= 0 with a_1 + a_2 <= 1 of
    a_1 (slope_1 z + offset_1) + a_2 (slope_2 z + offset_2)

    (Yang, Mahdavi, Jin and Zhu, 2015, section 3). The dual variable of a row is theta =
    slope_1 a_1 + slope_2 a_2. Slopes and offsets have the shape (n_samples, 2).
    """

    slopes: Array
    offsets: Array

    def theta(self, a: Array) -> Array:
        """The dual variables of multipliers."""
        return np.sum(self.slopes * a, axis=1)

    def of_theta(self, theta: Array) -> Array:
        """The multipliers nearest to those of least norm with these dual variables."""
        squares = np.sum(self.slopes**2, axis=1, keepdims=True)
        return self.projected(theta[:, np.newaxis] * self.slopes / squares)

    def projected(self, a: Array) -> Array:
        """The nearest multipliers a_1, a_2 >= 0 with a_1 + a_2 <= 1."""
        share = np.clip(0.5 * (1.0 + a[:, :1] - a[:, 1:]), 0.0, 1.0)
        positive = np.maximum(a, 0.0)
        too_large = np.sum(positive, axis=1, keepdims=True) > 1.0
        return np.where(too_large, np.hstack([share, 1.0 - share]), positive)
