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
from .._floats import EPSILON
from .._typing import Array
from ..certificates.objective import NOTHING, DualPoint, Interval, Objective, Sum
from ..certificates.rigorous import of_weights, rigorous_primal
from ..designs import Design
from ..penalties import Penalty

__all__ = ["MultinomialProblem"]


@dataclass(frozen=True, eq=False)
class MultinomialProblem(Objective):
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

    @property
    def n_samples(self) -> int:
        return len(self.labels)

    @property
    def largest_target(self) -> float:
        return 1.0

    @cached_property
    def null_objective(self) -> float:
        """P at the best constant prediction."""
        size = self.n_classes * self.design.shape[1]
        return rigorous_primal(self, np.zeros(size), self.null_intercept)[0]

    @property
    def null_rounding(self) -> float:
        return 0.0

    @property
    def objective_unit(self) -> float:
        """P at the best constant prediction, what a relative gap is relative to."""
        return self.null_objective

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

    def mean_loss(self, coef: Array, free: Any, accuracy: float) -> float:
        return self.precise_mean_loss(coef, free)[0]

    def precise_mean_loss(self, coef: Array, free: Any) -> tuple[float, float]:
        """For the rows of W one after the other, and an intercept for each class."""
        z, errors = np.empty(self.own.shape), np.empty(self.own.shape)
        rows = np.reshape(coef, (self.n_classes, -1))
        for k, (w, b) in enumerate(zip(rows, free, strict=True)):
            high, low, error = self.design.matvec_compensated(np.ascontiguousarray(w), float(b))
            z[:, k] = high
            errors[:, k] = error + np.abs(low) + 4.0 * EPSILON * np.abs(high)
        losses = self._losses(z)
        # the log of a sum of exponentials moves by no more than its arguments
        moved = 2.0 * np.max(errors, axis=1) + 8.0 * EPSILON * np.max(np.abs(z), axis=1)
        moved += (32.0 + self.n_classes) * EPSILON * losses
        about = float(np.sum(self.weights * losses))
        return about + float(np.sum(self.weights * moved)), about

    def feasible_point(self, theta: Array) -> "MultinomialPoint | None":
        """The probabilities of the other classes than the rows' own, clipped and shrunk."""
        p = np.clip(np.where(self.own, 0.0, np.nan_to_num(theta)), 0.0, 1.0)
        total = p.sum(axis=1)
        room = self.largest_total
        p *= np.where(total > room, room / np.maximum(total, room), 1.0)[:, np.newaxis]
        return MultinomialPoint(self, p) if p.any() else None

    @property
    def largest_total(self) -> float:
        """Of the probabilities of the other classes, so that something is left for a row's own."""
        return 1.0 - 2.0 * self.n_classes * EPSILON

    def projected(self, point: DualPoint) -> DualPoint:
        return point

    def balanced(self, point: DualPoint, near: Array | None) -> DualPoint:
        return point

    def free_intervals(self, upper: float) -> list[Interval]:
        """Those of the intercepts; that of a reference may be 0, as the free sums sum to 0."""
        if not self.fit_intercept:
            return [NOTHING] * self.n_classes
        furthest = self.furthest(upper)
        reference = int(np.argmin(furthest))
        found = []
        for k in range(self.n_classes):
            size = 0.0 if k == reference else float(max(furthest[k], furthest[reference]))
            found.append((-size, size))
        return found

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


class MultinomialPoint(DualPoint):
    """A dual point by the probabilities of the other classes, of shape (n_samples, n_classes)."""

    linear, quadratic, only_precise = False, False, True

    def __init__(self, problem: MultinomialProblem, p: Array) -> None:
        self.problem, self.theta = problem, p

    @cached_property
    def total(self) -> Array:
        """The sum of the other classes' probabilities, off by at most `spread`."""
        return self.theta.sum(axis=1)

    @cached_property
    def spread(self) -> Array:
        """n_classes units in the last place of a sum."""
        return self.problem.n_classes * EPSILON * self.total

    def value(self, scale: float) -> Sum:
        p, total, weights = scale * self.theta, scale * self.total, self.problem.weights
        entropy = -(xlogy(p, p).sum(axis=1) + xlog1py(1.0 - total, -total))
        # the slope of (1 - t) log(1 - t) is below 40 in size where 1 - t >= 2 K EPSILON
        moved = (32.0 + self.problem.n_classes) * EPSILON * (entropy + 2.0 * total)
        moved += 40.0 * scale * self.spread
        value = float(np.sum(weights * entropy))
        return value, float(np.sum(weights * moved)) + of_weights(len(p)) * value

    def _class(self, k: int) -> tuple[Array, Array]:
        """theta_.k, and the weighted bounds on its errors."""
        own = self.problem.own[:, k]
        theta = np.where(own, -self.total, self.theta[:, k])
        return theta, self.problem.weights * np.where(own, self.spread, 0.0)

    def products(self, precise: bool) -> tuple[Array, Array]:
        problem, K = self.problem, self.problem.n_classes
        u, error = np.empty((K, problem.design.shape[1])), np.empty((K, problem.design.shape[1]))
        for k in range(K):
            theta, uncertain = self._class(k)
            u[k], error[k] = problem.design.rmatvec_compensated(problem.weights, theta)
            error[k] += 1.01 * problem.design.column_sums(uncertain)
        return u.ravel(), error.ravel()

    def sums_without_products(self) -> list[Sum]:
        found = []
        for k in range(self.problem.n_classes):
            theta, uncertain = self._class(k)
            slope, rest = kernels.compensated_dot(self.problem.weights, theta)
            found.append((slope, rest + 1.01 * float(np.sum(uncertain))))
        return found

    def free_sums(self, products: Array, errors: Array) -> list[Sum]:
        return self.sums_without_products()

    def largest_scale(self) -> float:
        return self.problem.largest_total / float(np.max(self.total)) * (1.0 - 4.0 * EPSILON)
