"""Prox functions of accelerated gradient methods."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..._typing import Array


@dataclass(frozen=True)
class Euclidean:
    """The prox function d(x) = ||x||_2^2 / 2."""

    prox: Callable[[Array, float], Array]  # argmin of ||x - v||^2 / 2 + step Psi(x)

    def value(self, x: Array) -> float:
        return 0.5 * float(x @ x)

    def gradient(self, x: Array) -> Array:
        return x

    def squared_norm(self, step: Array) -> float:
        """The squared norm in which d is strongly convex, here the l2 norm."""
        return float(step @ step)

    def minimise(self, dual: Array, weight: float, scale: float) -> Array:
        """The minimiser of weight d(x) - dual.x + scale Psi(x)."""
        return self.prox(dual / weight, scale / weight)


@dataclass(frozen=True)
class Entropic:
    """The prox function d(x) = sum_j x_j log x_j on the simplex, with its indicator as Psi."""

    def value(self, x: Array) -> float:
        return float(x @ self.gradient(x))

    def gradient(self, x: Array) -> Array:
        return np.log(np.maximum(x, 1e-300))  # up to a constant, which has no effect

    def squared_norm(self, step: Array) -> float:
        """The squared l1 norm."""
        return float(np.sum(np.abs(step))) ** 2

    def minimise(self, dual: Array, weight: float, scale: float) -> Array:
        x: Array = np.exp((dual - np.max(dual)) / weight)
        return x / np.sum(x)
