"""Multinomial logistic regression: its dual, and bounds on its optimal value.

With K classes, predictions z_i = W x_i + b in R^K and the softmax p_i of z_i,

    primal   P(W, b) = sum_i c_i [log sum_k exp(z_ik) - z_i,y_i] + alpha R(W)
    dual     D(theta) = sum_i c_i H(p_i) - (alpha R)*(-U),    U_k = X' diag(c) theta_.k

where theta_i = p_i - e_{y_i}, p_i is any point of the simplex, H(p) = -sum_k p_k log p_k its
entropy, and R is a penalty of all entries of W. A free b adds s_k = sum_i c_i theta_ik = 0.

A dual point is stored as the p_ik of the other classes, k != y_i: whatever these are, p_iy
stands for one minus their exact sum, so that rounding never leaves the simplex.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import xlog1py, xlogy

from .. import kernels
from .._typing import Array
from ..certificates.rigorous import UNDERFLOW, of_coefficients, of_weights
from ..designs import Design
from ..losses.base import EPSILON
from ..penalties import Penalty

__all__ = ["MultinomialProblem"]


@dataclass
class MultinomialProblem:
    """minimise over W, b:  sum_i c_i l(y_i, W x_i + b) + alpha R(W), l the log loss of a softmax.

    Parameters
    ----------
    design : Design
        The data X of shape (n_samples, n_features).
    labels : ndarray of shape (n_samples,)
        Indices of the classes, each of which has a row of positive weight.
    n_classes : int
    weights : ndarray of shape (n_samples,)
        The weights c_i >= 0, which sum to 1.
    penalty : Penalty
        A separable penalty: of all entries of W in a row.
    alpha : float
        Weight of the penalty, greater than 0.
    fit_intercept : bool
    """

    design: Design
    labels: Array
    n_classes: int
    weights: Array
    penalty: Penalty
    alpha: float
    fit_intercept: bool

    @cached_property
    def own(self) -> Array:
        """Whether a class is the row's, of shape (n_samples, n_classes)."""
        return self.labels[:, np.newaxis] == np.arange(self.n_classes)

    @cached_property
    def null_intercept(self) -> Array:
        """The best constant prediction."""
        if not self.fit_intercept:
            return np.zeros(self.n_classes)
        return np.log(self.weights @ self.own)

    @cached_property
    def objective_unit(self) -> float:
        """P at the best constant prediction, what a relative gap is relative to."""
        shape = (self.n_classes, self.design.shape[1])
        return self.objective(np.zeros(shape), self.null_intercept)[0]

    def predictions(self, coef: Array, intercept: Array) -> Array:
        """Z of shape (n_samples, n_classes)."""
        columns = [self.design.matvec(np.ascontiguousarray(w)) for w in coef]
        return np.column_stack(columns) + intercept

    def gradient(self, rows: Array) -> Array:
        """X' diag(c) rows for rows of shape (n_samples, n_classes), transposed."""
        return np.stack([self.design.rmatvec(self.weights * column) for column in rows.T])

    def _losses(self, z: Array) -> Array:
        """log sum_k exp(z_ik) - z_i,y_i, without cancellation."""
        rows = np.arange(len(z))
        ahead = z - z[rows, self.labels][:, np.newaxis]
        largest = np.max(ahead, axis=1)  # at least 0
        terms = np.exp(ahead - largest[:, np.newaxis])
        terms[rows, np.argmax(ahead, axis=1)] = 0.0
        return largest + np.log1p(np.sum(terms, axis=1))

    def objective(self, coef: Array, intercept: Array) -> tuple[float, float]:
        """An upper bound on P(W, b), and by how much it is above the value as computed."""
        z, errors = np.empty(self.own.shape), np.empty(self.own.shape)
        for k, (w, b) in enumerate(zip(coef, intercept, strict=True)):
            high, low, error = self.design.matvec_compensated(np.ascontiguousarray(w), float(b))
            z[:, k] = high
            errors[:, k] = error + np.abs(low) + 4.0 * EPSILON * np.abs(high)
        losses = self._losses(z)
        # the log of a sum of exponentials moves by no more than its arguments
        moved = 2.0 * np.max(errors, axis=1) + 8.0 * EPSILON * np.max(np.abs(z), axis=1)
        moved += (32.0 + self.n_classes) * EPSILON * losses
        penalty = self.alpha * self.penalty.value(np.ravel(coef))
        plain = float(np.sum(self.weights * losses)) + penalty
        delta = of_weights(len(z))
        value = (plain + float(np.sum(self.weights * moved))) * (1.0 + 2.0 * delta)
        value += of_coefficients(coef.size) * penalty + UNDERFLOW
        return (value, value - plain) if np.isfinite(value) else (np.inf, 0.0)

    def dual_bound(self, p: Array, upper: float) -> tuple[float, float, str]:
        """The better of the bounds of p and, for a norm, of p on the way to e_y.

        Parameters
        ----------
        p : ndarray of shape (n_samples, n_classes)
            Probabilities; those of the rows' own classes are not used.
        upper : float
            An upper bound on the optimal value.

        Returns
        -------
        value, rounding : float
            A lower bound on the optimal value, and by how much it is below what was computed.
        kind : {"exact", "lipschitz", "scaling"}
        """
        p = np.clip(np.where(self.own, 0.0, np.nan_to_num(p)), 0.0, 1.0)
        total = p.sum(axis=1)
        room = 1.0 - 2.0 * self.n_classes * EPSILON
        p *= np.where(total > room, room / np.maximum(total, room), 1.0)[:, np.newaxis]
        best, norm = self._bound(p, upper)
        if norm > self.alpha:
            scaled, _ = self._bound(p * (self.alpha / norm * (1.0 - 4.0 * EPSILON)), upper)
            if scaled[0] > best[0]:
                best = (scaled[0], scaled[1], "scaling")
        return best

    def _bound(self, p: Array, upper: float) -> tuple[tuple[float, float, str], float]:
        """The bound of one dual point, and the dual norm of its U (0 without one)."""
        weights, alpha, K = self.weights, self.alpha, self.n_classes
        penalty: Any = self.penalty
        total = p.sum(axis=1)  # off by at most K units in the last place
        spread = K * EPSILON * total
        entropy = -(xlogy(p, p).sum(axis=1) + xlog1py(1.0 - total, -total))
        # the slope of (1 - t) log(1 - t) is below 40 in size where 1 - t >= 2 K EPSILON
        moved = (32.0 + K) * EPSILON * (entropy + 2.0 * total) + 40.0 * spread
        value = float(np.sum(weights * entropy))
        rounding = float(np.sum(weights * moved)) + of_weights(len(p)) * value
        u, error = np.empty((K, self.design.shape[1])), np.empty((K, self.design.shape[1]))
        slopes = []
        for k in range(K):
            theta = np.where(self.own[:, k], -total, p[:, k])
            uncertain = weights * np.where(self.own[:, k], spread, 0.0)
            u[k], error[k] = self.design.rmatvec_compensated(weights, theta)
            error[k] += 1.01 * self.design.column_sums(uncertain)
            slope, rest = kernels.compensated_dot(weights, theta)
            slopes.append((slope, rest + 1.01 * float(np.sum(uncertain))))
        radius, wider = upper / alpha * (1.0 + 8.0 * EPSILON), 1.0 + 8.0 * EPSILON
        v = -u.ravel()
        plain = value - self._conjugate(v, alpha, radius)[0]
        widest = penalty.widest(v, error.ravel() * wider) * wider
        above, kind = self._conjugate(widest, alpha * (1.0 - 8.0 * EPSILON), radius)
        above *= 1.0 + of_coefficients(u.size)
        from_intercept = 0.0
        if self.fit_intercept:
            from_intercept = self._least_linear([(s, 0.0) for s, _ in slopes], upper)
            plain += from_intercept
            from_intercept = self._least_linear(slopes, upper)
        bound = value - 1.01 * rounding - above + from_intercept
        bound -= 8.0 * EPSILON * (value + above + abs(from_intercept)) + UNDERFLOW
        bound *= 1.0 - of_weights(len(p))
        norm = penalty.dual_norm(widest) if penalty.is_norm else 0.0
        if not bound > 0.0:  # P >= 0
            return (0.0, max(plain, 0.0) if np.isfinite(plain) else 0.0, "scaling"), norm
        return (bound, plain - bound, kind), norm

    def _conjugate(self, v: Array, alpha: float, radius: float) -> tuple[float, str]:
        exact = self.penalty.conjugate(v, alpha)
        bounded = self.penalty.bounded_conjugate(v, alpha, radius)
        return (exact, "exact") if exact <= bounded else (bounded, "lipschitz")

    def _least_linear(self, slopes: list[tuple[float, float]], upper: float) -> float:
        """The least value of sum_k s_k b_k over the b of good models, as sum_k s_k = 0.

        One of the b_k, the reference, may be 0.
        """
        if all(slope == (0.0, 0.0) for slope in slopes):
            return 0.0
        furthest = self.furthest(upper)
        reference = int(np.argmin(furthest))
        size = sum(
            (abs(slope) + rest) * max(furthest[k], furthest[reference])
            for k, (slope, rest) in enumerate(slopes)
            if k != reference
        )
        return -float(size)

    @cached_property
    def _means(self) -> list[tuple[float, Array]]:
        """The weight and the mean row of each class."""
        totals = self.weights @ self.own
        sums = [self.design.rmatvec(self.weights * rows) for rows in self.own.T]
        return [(float(total), rows / total) for total, rows in zip(totals, sums, strict=True)]

    def furthest(self, upper: float) -> Array:
        """Bounds on b_j - b_k, for every j, where P(W, b) <= upper; of shape (n_classes,).

        By Jensen's inequality the loss at the mean row of class k is at most upper over the
        weight of the class, and so is b_j - b_k but for the reach of (w_k - w_j).x there.
        """
        reaches = [
            upper / total + self.penalty.support(np.concatenate([mean, -mean]), upper / self.alpha)
            for total, mean in self._means
        ]
        return 1.000001 * np.array(reaches)  # the rounding of products included
