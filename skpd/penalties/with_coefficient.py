"""Any penalty with the absolute value of one more coefficient (`WithCoefficient`)."""

from dataclasses import dataclass, replace
from math import inf
from typing import cast

import numpy as np

from .._immutable_base import attribute_of_part
from .._typing import Array
from .base import Norm, Penalty, _product
from .separable import soft_threshold


@dataclass(frozen=True, eq=False)
class WithCoefficient(Penalty):
    """The penalty R(w) + weight |t| of coefficients w, followed by t.

    Parameters
    ----------
    penalty : Penalty
        R, of vectors, which leaves no level free.
    weight : float
        A number greater than 0.
    """

    penalty: Penalty
    weight: float
    is_norm = attribute_of_part("penalty.is_norm")
    even = attribute_of_part("penalty.even")
    is_finite = attribute_of_part("penalty.is_finite")
    free_features = attribute_of_part("penalty.free_features")

    def for_n_features(self, n_features: int) -> "WithCoefficient":
        return replace(self, penalty=self.penalty.for_n_features(n_features - 1))

    def value(self, w: Array) -> float:
        return self.penalty.value(w[:-1]) + self.weight * abs(float(w[-1]))

    def feasible(self, w: Array) -> Array:
        return np.append(self.penalty.feasible(w[:-1]), w[-1])

    def prox(self, w: Array, step: Array | float) -> Array:
        step = float(np.min(step))
        last = soft_threshold(w[-1:], step * self.weight)
        return np.append(self.penalty.prox(w[:-1], step), last)

    def worst_case(self, v: Array, error: Array) -> Array:
        of_penalty = self.penalty.worst_case(v[:-1], error[:-1])  # in two rows for some penalties
        last = np.zeros((*of_penalty.shape[:-1], 1))
        last.flat[0] = abs(v[-1]) + error[-1]
        return np.append(of_penalty, last, axis=-1)

    def dual_norm(self, v: Array) -> float:
        return max(cast(Norm, self.penalty).dual_norm(v[..., :-1]), self._last(v))

    def conjugate(self, v: Array, alpha: float) -> float:
        return self.penalty.conjugate(v[..., :-1], alpha) if self._last(v) <= alpha else inf

    def support(self, v: Array, radius: float) -> float:
        if self.is_norm:
            return _product(radius, self.dual_norm(v))
        return self.penalty.support(v[..., :-1], radius) + _product(radius, self._last(v))

    def bounded_conjugate(self, v: Array, alpha: float, radius: float) -> float:
        if self.is_norm:
            return _product(radius, max(self.dual_norm(v) - alpha, 0.0))
        bound = self.penalty.bounded_conjugate(v[..., :-1], alpha, radius)
        return bound + _product(radius, max(self._last(v) - alpha, 0.0))

    def _last(self, v: Array) -> float:
        """The dual norm of the last coefficient, or of the first of its two rows."""
        return abs(float(v[..., -1].flat[0])) / self.weight
