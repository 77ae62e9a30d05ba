"""Least squares for many outputs over the trace-norm ball, and its certificate.

    minimise over ||W||_* <= radius    sum_i c_i ||y_i - W' x_i||^2 / 2 + (alpha / 2) ||W||_F^2

with W of shape (features, outputs), its dual point theta of shape (samples, outputs) and
G = X' diag(c) theta. The dual is

    D(theta) = -sum_i c_i (||theta_i||^2 / 2 + theta_i.y_i) - min over tau >= 0 of
               (tau radius + sum_j (sigma_j(G) - tau)_+^2 / (2 alpha)),

at any tau a lower bound on the optimum.

With intercepts b the features may be taken to be x_i - m, exactly and for any m, if b + W' m is
the intercept: no bound presupposes more of m than that it is near the mean row. The upper bound is
the objective at W and b as they are stored. The lower one charges s = sum_i c_i theta_i, which
ought to be 0, by ||s|| ||b + W' m - y|| at an optimum, where y is near the mean of the targets:
by Jensen's inequality that is at most sqrt(2 P), and what m and y are off the means comes on top.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import kernels
from .._floats import EPSILON
from .._typing import Array
from ..certificates import Certificate
from ..certificates.repairs import PLAIN
from ..designs import Design
from ..losses import Squared
from ..penalties import L2

__all__ = ["TraceNormProblem", "norm", "threshold"]


@dataclass
class TraceNormProblem:
    """The problem, its features and targets centred where an intercept is fitted.

    Parameters
    ----------
    X : {ndarray, sparse array} of shape (n_samples, n_features)
    Y : ndarray of shape (n_samples, n_outputs)
    weights : ndarray of shape (n_samples,)
        c, which sum to 1.
    alpha, radius : float
        Greater than 0.
    centre : bool
    """

    X: Any
    Y: Array
    weights: Array
    alpha: float
    radius: float
    centre: bool

    def __post_init__(self) -> None:
        n, d = self.X.shape
        self.shape = n, d, self.Y.shape[1]
        self.design = Design(self.X)
        self.x_mean, self.y_mean = np.zeros(d), np.zeros(self.shape[2])
        self.off = 0.0, 0.0  # how far these are at most off the means
        if self.centre:
            ones = np.ones(n)
            self.x_mean, x_error = self.design.rmatvec_compensated(self.weights, ones)
            self.y_mean, y_error = Design(self.Y).rmatvec_compensated(self.weights, ones)
            sum_of_weights = 64.0 * EPSILON  # off 1
            self.off = (
                norm(x_error) + sum_of_weights * norm(self.x_mean),
                norm(y_error) + sum_of_weights * norm(self.y_mean),
            )
        self.targets = self.Y - self.y_mean
        self.null_objective = self.loss(-self.targets)
        self.inner_radius = self.radius * (1.0 - 1e-11)  # room for rounding

    @cached_property
    def size(self) -> float:
        """The Frobenius norm of the features, about: an upper bound on it centred or not."""
        entries = self.X.data if sp.issparse(self.X) else self.X
        return norm(entries) + np.sqrt(len(self.Y)) * norm(self.x_mean)

    @cached_property
    def row_norms(self) -> Array:
        """Those of X, with what squares lose to underflow."""
        return self.design.row_norms() + 1e-150 * np.sqrt(self.shape[1])

    def matmul(self, M: Array) -> Array:
        product = self.X @ M
        return product - self.x_mean @ M if self.centre else product

    def rmatmul(self, R: Array, rows: Any = slice(None)) -> Array:
        """X' R over some of the rows."""
        product = np.asarray(self.X[rows].T @ R)
        return product - np.outer(self.x_mean, R.sum(axis=0)) if self.centre else product

    def loss(self, residuals: Array) -> float:
        return 0.5 * self._mean(residuals**2)

    def _mean(self, rows: Array) -> float:
        return float(np.sum(self.weights @ rows))

    def intercept(self, W: Array) -> Array:
        """The best b for W, rounded."""
        return self.y_mean - self.x_mean @ W

    def primal(self, W: Array, accuracy: float = 0.0) -> float:
        """P at W and `intercept`, rounded up, with precise products where rounding matters."""
        b, loss = self.intercept(W), Squared()
        z = self.X @ W + b
        error = np.outer(self.row_norms, np.linalg.norm(W, axis=0)) + np.abs(b)
        error *= (self.shape[1] + 4) * EPSILON
        value = self._mean(loss.largest(self.Y, z, 0.0, error))
        if not value - self.loss(z - self.Y) <= max(PLAIN * value, accuracy):
            value = 0.0
            for w, intercept, y in zip(W.T, b, self.Y.T, strict=True):
                found = self.design.matvec_compensated(np.ascontiguousarray(w), float(intercept))
                value += self._mean(loss.largest(y, *found))
        value += 0.5 * self.alpha * float(np.sum(W * W))
        return np.inf if np.isnan(value) else value * (1.0 + self.rounding)

    @property
    def rounding(self) -> float:
        """The relative error of a sum over rows, features and outputs, of terms of one sign."""
        return (sum(self.shape) + 64) * EPSILON

    def dual(self, theta: Array, accuracy: float = 0.0) -> float:
        """D(theta), rounded down by bounds on all errors; precise products where these matter."""
        if not theta.any():
            return 0.0
        scaled = self.weights[:, np.newaxis] * theta
        slope = scaled.sum(axis=0) if self.centre else np.zeros(self.shape[2])
        uncertain = self.centre * (len(theta) + 2) * EPSILON * np.abs(scaled).sum(axis=0)
        G = np.asarray(self.X.T @ scaled) - np.outer(self.x_mean, slope)
        error = 2.0 * self.rounding * self.size * norm(scaled)
        value, rounding = self._dual(theta, G, error, np.abs(slope) + uncertain)
        if not rounding <= max(PLAIN * self.null_objective, accuracy):
            value, rounding = self._dual(theta, *self._precise_products(theta))
        return value - rounding if value > rounding else 0.0

    def _precise_products(self, theta: Array) -> tuple[Array, float, Array]:
        """X' diag(c) theta centred, a bound on its error, and one on the sizes of the slopes."""
        G, errors = np.empty((2, *self.shape[1:]))
        slopes = np.zeros(self.shape[2])
        for k, column in enumerate(np.ascontiguousarray(theta.T)):
            u, error = self.design.rmatvec_compensated(self.weights, column)
            slope, uncertain = 0.0, 0.0
            if self.centre:
                slope, uncertain = kernels.compensated_dot(self.weights, column)
            shift, mean = slope * self.x_mean, np.abs(self.x_mean)
            G[:, k] = u - shift
            errors[:, k] = error + uncertain * mean + EPSILON * (np.abs(shift) + np.abs(G[:, k]))
            slopes[k] = abs(slope) + uncertain
        return G, norm(errors), slopes

    def _dual(self, theta: Array, G: Array, error: float, slope: Array) -> tuple[float, float]:
        """D(theta) without errors, and what they take away, given those of G and of the slope."""
        if not (np.isfinite(G).all() and np.isfinite(error)):
            return 0.0, np.inf
        sigma: Any = np.linalg.svd(G, compute_uv=False)
        error += 4.0 * (sum(self.shape[1:]) + 16) * EPSILON * float(sigma[0])
        plain, conjugate = self._conjugate(sigma), self._conjugate(sigma + error)
        own = float(self.weights @ (theta * (0.5 * theta + self.targets)).sum(axis=1))
        terms = float(self.weights @ (theta**2 + np.abs(theta * self.targets)).sum(axis=1))
        reach = 1.000001 * np.sqrt(2.0 * self.null_objective)
        reach += self.off[0] * self.radius + self.off[1]
        rounding = conjugate - plain + (norm(slope) * reach if slope.any() else 0.0)
        rounding += self.rounding * (terms + conjugate + self.null_objective)
        return -own - plain, (rounding if np.isfinite(rounding) else np.inf)

    def _conjugate(self, sigma: Array) -> float:
        """The conjugate at the best tau, or at a large one where alpha over- or underflows."""
        tau = threshold(sigma, self.alpha * self.radius)
        excess = np.maximum(sigma - tau, 0.0)
        best = tau * self.radius + 0.5 * float(excess @ excess) / self.alpha
        return min(best, float(sigma[0]) * self.radius)

    def dual_along(self, theta: Array, sigma: Array) -> Callable[[float], float]:
        """D(t theta) as a function of t, from the largest singular values of G, not as proof."""
        square = 0.5 * float(self.weights @ (theta**2).sum(axis=1))
        linear = float(self.weights @ (theta * self.targets).sum(axis=1))

        def value(t: float) -> float:
            tau = threshold(t * sigma, self.alpha * self.radius)
            excess = np.maximum(t * sigma - tau, 0.0)
            conjugate = tau * self.radius + 0.5 * float(excess @ excess) / self.alpha
            return -t * (t * square + linear) - conjugate

        return value

    def certificate(self, W: Array, theta: Array, accuracy: float = 0.0) -> Certificate:
        primal = float(self.primal(W, accuracy))
        dual = float(min(self.dual(theta, accuracy), primal))
        unit = max(self.null_objective, EPSILON * self.loss(self.Y))
        gap = primal - dual
        relative = 0.0 if gap <= 0.0 else (gap / unit if unit > 0.0 else np.inf)
        return Certificate(primal, dual, gap, relative, "exact", np.inf, np.inf)


def norm(values: Array) -> float:
    """The Euclidean norm of all entries, safe from under- and overflow."""
    return L2().value(np.ravel(values, order="K"))


def threshold(sigma: Array, total: float) -> float:
    """The least tau >= 0 with sum_j (sigma_j - tau)_+ <= total."""
    inside = kernels.project_l1_ball(np.ascontiguousarray(sigma), total)
    return float(np.max(sigma - inside, initial=0.0))
