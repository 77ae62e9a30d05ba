"""Objectives of several outputs, tasks or classes by their definitions alone, and by Clarabel.

The objective is the weighted mean over the samples of the sum of the losses of their outputs,
plus alpha times a penalty of the matrix W, of shape (n_features, n_outputs). Nothing here is taken
from skpd, whose models `benchmarks.outputs` compares with it.
"""

import contextlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tests.oracles.optima import NotSolved

RESIDUALS = ("squared", "absolute", "huber", "epsilon_insensitive", "pinball", "l2_norm")
MARGINS = ("hinge", "smoothed_hinge", "squared_hinge", "logistic")
CLASSES = ("softmax", "crammer_singer")
PENALTIES = (
    "l21", "l1inf", "exclusive", "trace", "squared_groups", "squared_outputs", "l1", "l2"
)  # fmt: skip
DELTA, EPSILON, QUANTILE = 1.35, 0.1, 0.5  # the default parameters
TOLERANCES = (1e-9, 1e-12)  # of Clarabel


@dataclass
class Model:
    """A problem with several outputs.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Without a column of tasks.
    y : ndarray of shape (n_samples, n_outputs), or (n_samples,) with tasks
        Targets or labels -1 and 1; for classes a 1 in the column of each sample's own.
    weights : ndarray of shape (n_samples,)
        They sum to 1.
    tasks : ndarray of shape (n_samples,) or None
        The number of each sample's task.
    """

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    tasks: np.ndarray | None
    n_outputs: int
    loss: str
    penalty: str
    l1_ratio: float
    fit_intercept: bool
    alpha: float = 1.0

    def blocks(self):
        """Rows, outputs and targets that belong together: all of them or those of a task."""
        if self.tasks is None:
            return [(np.arange(len(self.X)), list(range(self.n_outputs)), self.y)]
        rows = [np.flatnonzero(self.tasks == k) for k in range(self.n_outputs)]
        return [(own, [k], self.y[own, None]) for k, own in enumerate(rows)]

    def objective(self, W, b):
        """The value at a model, in extended precision."""
        return self.mean_loss(W, b) + self.alpha * penalty_value(
            self.penalty, self.l1_ratio, np.asarray(W, dtype=np.longdouble)
        )

    def mean_loss(self, W, b):
        W, b, X = (np.asarray(x, dtype=np.longdouble) for x in (W, b, self.X))
        total = np.longdouble(0.0)
        for rows, outputs, y in self.blocks():
            z = X[rows] @ W[:, outputs] + b[outputs]
            total += self.weights[rows] @ loss_values(self.loss, y, z)
        return total


def loss_values(loss, y, z):
    """The loss of each row."""
    if loss == "l2_norm":
        return np.sqrt(np.sum((z - y) ** 2, axis=1))
    if loss in CLASSES:
        ahead = z - np.sum(z * y, axis=1, keepdims=True)
        if loss == "crammer_singer":
            return np.max(ahead + (1 - y), axis=1)
        largest = np.max(ahead, axis=1, keepdims=True)
        return largest[:, 0] + np.log(np.sum(np.exp(ahead - largest), axis=1))
    r, size, slack = z - y, np.abs(z - y), np.maximum(1 - y * z, 0)
    values = {
        "squared": lambda: r**2 / 2,
        "absolute": lambda: size,
        "huber": lambda: np.where(size <= DELTA, r**2 / 2, DELTA * (size - DELTA / 2)),
        "epsilon_insensitive": lambda: np.maximum(size - EPSILON, 0),
        "pinball": lambda: np.maximum((1 - QUANTILE) * r, -QUANTILE * r),
        "hinge": lambda: slack,
        "smoothed_hinge": lambda: np.where(slack <= 1, slack**2 / 2, slack - 0.5),
        "squared_hinge": lambda: slack**2,
        "logistic": lambda: np.logaddexp(0, -y * z),
    }[loss]()
    return np.sum(values, axis=1)


def penalty_value(penalty, l1_ratio, W):
    rows = np.sqrt(np.sum(W**2, axis=1))
    value = {
        "l21": lambda: np.sum(rows),
        "l1inf": lambda: np.sum(np.max(np.abs(W), axis=1)),
        "exclusive": lambda: np.sum(np.sum(np.abs(W), axis=1) ** 2),
        "trace": lambda: np.sum(np.linalg.svd(W.astype(np.float64), compute_uv=False)),
        "squared_groups": lambda: np.sum(rows) ** 2,
        "squared_outputs": lambda: np.sum(np.sqrt(np.sum(W**2, axis=0))) ** 2,
        "l1": lambda: np.sum(np.abs(W)),
        "l2": lambda: np.sum(W**2) / 2,
    }[penalty]()
    return l1_ratio * value + (1 - l1_ratio) * np.sum(W**2) / 2


def about_largest_alpha(model, b, unit):
    """About the alpha at which W = 0 is optimal or, for squares, worth the loss there."""
    n, d = len(model.X), model.X.shape[1]
    steps = 1e-5 * np.eye(model.n_outputs)
    gradient = np.zeros((d, model.n_outputs))
    for rows, outputs, y in model.blocks():
        z = np.zeros((n, len(outputs)))[rows] + b[outputs]
        for k in outputs:
            step = steps[k][outputs]
            slope = loss_values(model.loss, y, z + step) - loss_values(model.loss, y, z - step)
            gradient[:, k] = model.X[rows].T @ (model.weights[rows] * slope / 2e-5)
    norms = np.linalg.norm(gradient, axis=1)
    return {
        "l21": lambda: np.max(norms),
        "l1inf": lambda: np.max(np.sum(np.abs(gradient), axis=1)),
        "exclusive": lambda: np.sum(np.max(np.abs(gradient), axis=1) ** 2) / (4 * unit),
        "trace": lambda: np.linalg.norm(gradient, 2),
        "squared_groups": lambda: np.max(norms) ** 2 / (4 * unit),
        "squared_outputs": lambda: np.max(np.linalg.norm(gradient, axis=0)) ** 2 / (4 * unit),
        "l1": lambda: np.max(np.abs(gradient)),
        "l2": lambda: np.sum(norms**2) / (2 * unit),
    }[model.penalty]()


def best_constants(model):
    """The intercepts that are best beside W = 0, and the objective there."""
    b = np.zeros(model.n_outputs)
    if model.fit_intercept:
        reference = _Reference(model, 1.0, constant=True)
        for tolerance in TOLERANCES:
            with contextlib.suppress(NotSolved):
                b = reference.solve(tolerance)[1]
    return b, float(model.mean_loss(np.zeros((model.X.shape[1], model.n_outputs)), b))


def optimum(model, unit):
    """The least objective found at a point, and the solver's value there.

    Clarabel solves at two tolerances, SCS where it fails. As the objective is evaluated at the
    points that they find, whatever they err by it is above the optimum.
    """
    reference, least, value = _Reference(model, unit), np.inf, np.nan
    for tolerance in (*TOLERANCES, None):
        if tolerance is None and np.isfinite(least):
            break
        with contextlib.suppress(NotSolved):
            W, b, solved = reference.solve(tolerance)
            at_point = float(model.objective(W, b))
            if at_point < least:
                least, value = at_point, solved * unit
    if not np.isfinite(least):
        raise NotSolved(f"neither Clarabel nor SCS has a point for {model}")
    return least, value


class _Reference:
    """A model as a conic programme, over its unit, in features shifted and scaled."""

    def __init__(self, model, unit, constant=False):
        cp = pytest.importorskip("cvxpy")

        self.model, self.constant = model, constant
        d, K = model.X.shape[1], model.n_outputs
        self.shift = model.X.mean(axis=0) if model.fit_intercept else np.zeros(d)
        scaled = model.X - self.shift
        scale = np.sqrt(np.mean(scaled**2, axis=0))
        self.scale = np.where(scale > 0, scale, 1.0)
        scaled = scaled / self.scale
        self.V, self.b = cp.Variable((d, K)), cp.Variable((1, K))
        total = 0.0
        for rows, outputs, y in model.blocks():
            z = np.ones((len(rows), 1)) @ self.b[:, outputs] if model.fit_intercept else 0.0
            if not constant:
                z = z + scaled[rows] @ self.V[:, outputs]
            total += model.weights[rows] @ _rows(cp, model.loss, y, z)
        if not constant:
            W = cp.multiply(1.0 / self.scale[:, None], self.V)
            total += model.alpha * _penalty(cp, model.penalty, model.l1_ratio, W)
        self.programme = cp.Problem(cp.Minimize(total / unit))

    def solve(self, tolerance) -> tuple[np.ndarray, np.ndarray, float]:
        """W, b and the value; by SCS without a tolerance."""
        cp = pytest.importorskip("cvxpy")

        options: dict[str, Any] = {"solver": cp.SCS, "eps": 1e-9, "max_iters": 100_000}
        if tolerance is not None:
            names = ("tol_gap_abs", "tol_gap_rel", "tol_feas")
            options = {"solver": cp.CLARABEL, **dict.fromkeys(names, tolerance)}
        try:
            self.programme.solve(**options)
        except cp.error.SolverError as error:
            raise NotSolved from error
        solved = self.programme.status in ("optimal", "optimal_inaccurate")
        if not solved or (not self.constant and self.V.value is None):
            raise NotSolved(self.programme.status)
        K = self.model.n_outputs
        b = np.ravel(self.b.value) if self.model.fit_intercept else np.zeros(K)
        if self.constant:
            return np.zeros((len(self.scale), K)), b, float(self.programme.value)
        W = self.V.value / self.scale[:, None]
        return W, b - self.shift @ W, float(self.programme.value)


def _rows(cp, loss, y, z):
    """The loss of each row."""
    if loss == "l2_norm":
        return cp.norm(z - y, 2, axis=1)
    if loss in CLASSES:
        own = cp.sum(cp.multiply(z, y), axis=1)
        of_all = cp.log_sum_exp(z, axis=1) if loss == "softmax" else cp.max(z + (1 - y), axis=1)
        return of_all - own
    r, slack = z - y, cp.pos(1 - cp.multiply(y, z))
    values = {
        "squared": lambda: cp.square(r) / 2,
        "absolute": lambda: cp.abs(r),
        "huber": lambda: cp.huber(r, DELTA) / 2,
        "epsilon_insensitive": lambda: cp.pos(cp.abs(r) - EPSILON),
        "pinball": lambda: cp.maximum((1 - QUANTILE) * r, -QUANTILE * r),
        "hinge": lambda: slack,
        "smoothed_hinge": lambda: cp.huber(slack, 1.0) / 2,
        "squared_hinge": lambda: cp.square(slack),
        "logistic": lambda: cp.logistic(-cp.multiply(y, z)),
    }[loss]()
    return cp.sum(values, axis=1)


def _penalty(cp, penalty, l1_ratio, W):
    rows = cp.norm(W, 2, axis=1)
    value = {
        "l21": lambda: cp.sum(rows),
        "l1inf": lambda: cp.sum(cp.max(cp.abs(W), axis=1)),
        "exclusive": lambda: cp.sum(cp.square(cp.sum(cp.abs(W), axis=1))),
        "trace": lambda: cp.normNuc(W),
        "squared_groups": lambda: cp.square(cp.sum(rows)),
        "squared_outputs": lambda: cp.square(cp.sum(cp.norm(W, 2, axis=0))),
        "l1": lambda: cp.sum(cp.abs(W)),
        "l2": lambda: cp.sum_squares(W) / 2,
    }[penalty]()
    if l1_ratio == 1.0:
        return value
    return l1_ratio * value + (1 - l1_ratio) * cp.sum_squares(W) / 2
