"""The objectives of Yang et al. as saddle points, for the baselines.

    P(w) = (1 / n) sum_i max over a_i in [lower, 1] of (a_i t_i - epsilon |a_i|) + lam R(w),
    t = Z w + offsets,

is the hinge loss of Z = -diag(y) X with offsets of 1 over [0, 1], and the absolute or the
epsilon-insensitive loss of Z = X with offsets -y over [-1, 1]. R is a norm, which has a projection
onto balls of its dual norm, by which its prox is computed as well.
"""

from dataclasses import dataclass

import numpy as np


class GroupNorms:
    """The sum over groups g of d_g coefficients of sqrt(d_g) ||w_g||_2."""

    def __init__(self, sizes):
        self.sizes, self.roots = np.array(sizes), np.sqrt(sizes)
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)[:-1]])
        self.longest = 1.0 / np.min(self.roots)  # the largest ||w||_2 where R(w) = 1
        self.longest_dual = np.sqrt(np.sum(self.sizes))  # and ||v||_2 where R*(v) = 1

    def lengths(self, w):
        return np.maximum(np.sqrt(np.add.reduceat(w * w, self.starts)), 1e-300)

    def value(self, w):
        return float(self.roots @ self.lengths(w))

    def projected(self, v, radius):
        """Onto the points whose dual norm is at most the radius."""
        shares = np.minimum(1.0, radius * self.roots / self.lengths(v))
        return v * np.repeat(shares, self.sizes)

    def slope(self, w):
        return w * np.repeat(self.roots / self.lengths(w), self.sizes)

    def zeros(self, w):
        """The share of groups without a coefficient other than 0."""
        return float(np.mean(np.add.reduceat(w != 0.0, self.starts) == 0))


class RowMaxima:
    """The l1,inf norm, the sum over rows of a matrix of their largest absolute value."""

    def __init__(self, n_rows, n_columns):
        self.shape = n_rows, n_columns
        self.longest, self.longest_dual = np.sqrt(n_columns), np.sqrt(n_rows)

    def value(self, w):
        return float(np.sum(np.max(np.abs(w.reshape(self.shape)), axis=1)))

    def projected(self, v, radius):
        """Rows to l1 norms of at most the radius: sorted sums show what each is shrunk by."""
        V = np.abs(v.reshape(self.shape))
        sums = np.cumsum(-np.sort(-V, axis=1), axis=1) - radius
        shrunk_by = np.max(sums / np.arange(1, self.shape[1] + 1), axis=1, keepdims=True)
        inside = V.sum(axis=1, keepdims=True) <= radius
        return np.sign(v) * np.maximum(V - np.where(inside, 0.0, shrunk_by), 0.0).ravel()

    def slope(self, w):
        W = w.reshape(self.shape)
        rows, largest = np.arange(len(W)), np.argmax(np.abs(W), axis=1)
        slope = np.zeros(self.shape)
        slope[rows, largest] = np.sign(W[rows, largest])
        return slope.ravel()

    def zeros(self, w):
        return float(np.mean(~np.any(w.reshape(self.shape), axis=1)))


class TraceNorm:
    """The sum of the singular values of a matrix with more columns than rows."""

    def __init__(self, n_rows, n_columns):
        self.shape = n_rows, n_columns
        self.longest, self.longest_dual = 1.0, np.sqrt(n_rows)

    def value(self, w):
        W = w.reshape(self.shape)
        return float(np.sum(np.sqrt(np.maximum(np.linalg.eigvalsh(W @ W.T), 0.0))))

    def projected(self, v, radius):
        V = v.reshape(self.shape)
        squares, vectors = np.linalg.eigh(V @ V.T)
        values = np.sqrt(np.maximum(squares, 1e-300))
        return ((vectors * np.minimum(1.0, radius / values)) @ (vectors.T @ V)).ravel()

    def slope(self, w):
        left, values, right = np.linalg.svd(w.reshape(self.shape), full_matrices=False)
        rank = np.count_nonzero(values > 1e-9 * values[0])
        return (left[:, :rank] @ right[:rank]).ravel()


@dataclass(frozen=True, eq=False)
class SaddlePoint:
    """The objective P, see the module."""

    Z: object
    offsets: np.ndarray
    norm: object
    lam: float
    lower: float = -1.0
    epsilon: float = 0.0

    @property
    def start(self):
        return np.zeros(self.Z.shape[1])

    def errors(self, w):
        return self.Z @ w + self.offsets

    def multipliers(self, t, level):
        """The maximisers a_i of a_i t_i - epsilon |a_i| - level a_i^2 / 2, for a level above 0."""
        beyond = np.sign(t) * np.maximum(np.abs(t) - self.epsilon, 0.0)
        return np.clip(beyond / level, self.lower, 1.0)

    def objective(self, w):
        t = self.errors(w)
        losses = np.maximum(np.maximum(t, self.lower * t) - self.epsilon, 0.0)
        return float(np.mean(losses)) + self.lam * self.norm.value(w)

    def loss_slope(self, w, level=1e-300):
        """A subgradient of the loss, or the gradient of one that is smoothed at a level."""
        return self.Z.T @ self.multipliers(self.errors(w), level) / len(self.offsets)

    def penalty_slope(self, w):
        return self.lam * self.norm.slope(w)

    def prox(self, w, step):
        return w - self.norm.projected(w, step * self.lam)
