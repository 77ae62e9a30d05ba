"""The penalty in a quadratic model of a matrix of coefficients."""

from typing import Any

import numpy as np

from ..._typing import Array, Indices, Numbers
from ...penalties import Penalty, Structure


class Terms:
    """The penalty alpha R on the rows of a working set: weights of norms, l1 and l2."""

    def __init__(self, penalty: Penalty, alpha: float, features: Indices, n_outputs: int) -> None:
        if penalty.structure is Structure.GROUPED:
            l1: Numbers
            l1, weights = penalty.group_terms
            rows = penalty.labels[features * n_outputs]
            self.weights = alpha * weights[rows]
            self.l1, self.l2 = alpha * float(l1), alpha * penalty.group_ridge
        else:
            l1, l2, _, _ = penalty.terms
            self.weights = np.zeros(len(features))
            self.l1, self.l2 = alpha * float(l1), alpha * float(l2)

    @property
    def n_penalised(self) -> int:
        return len(self.weights)

    @property
    def numbers(self) -> tuple[Array, float, float]:
        """The numbers (weights, l1, l2) that compiled functions use."""
        return self.weights, self.l1, self.l2

    @property
    def is_smooth(self) -> bool:
        """Whether the penalty consists of squares only."""
        return self.l1 == 0.0 and not self.weights.any()

    def value(self, P: Array) -> float:
        penalised = P[: self.n_penalised]
        value = float(self.weights @ np.linalg.norm(penalised, axis=1))
        value += self.l1 * float(np.sum(np.abs(penalised)))
        return float(value + 0.5 * self.l2 * float(np.sum(penalised * penalised)))

    def support(self, P: Array) -> Indices:
        """The rows that are not 0 or have no kink at 0."""
        if self.is_smooth:
            return np.arange(len(P))
        inside: Any = P.any(axis=1)
        inside[self.n_penalised :] = True
        return np.flatnonzero(inside)

    def stopped(self, before: Array, after: Array) -> Array:
        """The rows after a step, with 0 for entries that change sign and rows that reverse."""
        old, new = before[: self.n_penalised], after[: self.n_penalised]
        if self.l1 > 0.0:
            new[new * old < 0.0] = 0.0
        new[(np.sum(new * old, axis=1) < 0.0) & (self.weights > 0.0)] = 0.0
        return after

    def directions(self, P: Array, support: Indices) -> tuple[Array, Array]:
        """The numbers D and vectors u of the rows of a support; D is 0 for weight 0."""
        on_support = P[support]
        norms = np.linalg.norm(on_support, axis=1)
        weights = np.append(self.weights, np.zeros(len(P) - self.n_penalised))[support]
        u = on_support / np.where(norms > 0.0, norms, 1.0)[:, np.newaxis]
        return np.where(norms > 0.0, weights / np.where(norms > 0.0, norms, 1.0), 0.0), u

    def slopes(self, P: Array, support: Indices) -> Array:
        """The first derivative of the penalty on a support."""
        D, _ = self.directions(P, support)
        penalised = (support < self.n_penalised)[:, np.newaxis]
        on_support = P[support]
        of_penalty = penalised * (self.l1 * np.sign(on_support) + self.l2 * on_support)
        slopes: Array = D[:, np.newaxis] * on_support + of_penalty
        return slopes
