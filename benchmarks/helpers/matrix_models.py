"""Models of several outputs or classes, written from their definitions alone, and their cases.

All are without intercept: mean_i loss(y_i, W x_i) + alpha penalty(W), where W has a row for
every output or class, as ``coef_`` has.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.special import logsumexp

from skpd import MultinomialPD, MultiTaskPD


def own_scores(classes, Z):
    """The score of each sample's own class."""
    return Z[np.arange(len(Z)), classes]


def softmax(classes, Z):
    return logsumexp(Z, axis=1) - own_scores(classes, Z)


def crammer_singer(classes, Z):
    """How far the best class comes within 1 of the own one."""
    rivals = Z + 1.0
    rivals[np.arange(len(Z)), classes] -= 1.0
    return rivals.max(axis=1) - own_scores(classes, Z)


LOSSES = {
    "squared": lambda Y, Z: 0.5 * ((Z - Y) ** 2).sum(axis=1),
    "absolute": lambda Y, Z: np.abs(Z - Y).sum(axis=1),
    "hinge": lambda Y, Z: np.maximum(0.0, 1.0 - Y * Z).sum(axis=1),
    "softmax": softmax,
    "crammer_singer": crammer_singer,
}
OF_CLASSES = {"softmax", "crammer_singer"}
OF_SIGNS = {"absolute", "hinge"}  # of 1 for the own class and -1 for the others


def one_hot(classes):
    return np.eye(classes.max() + 1)[classes]


SLOPES_AT_ZERO = {
    "squared": lambda Y: -Y,
    "absolute": lambda Y: -Y,  # which holds signs
    "hinge": lambda Y: -Y,
    "softmax": lambda classes: 1.0 / (classes.max() + 1) - one_hot(classes),
}


def row_norms(U):
    """The Euclidean norm for every feature."""
    return np.linalg.norm(U, axis=0)


PENALTIES = {
    "l21": lambda W: row_norms(W).sum(),
    "l1": lambda W: np.abs(W).sum(),
    "l2": lambda W: 0.5 * (W * W).sum(),
}
# W = 0 is optimal where this function of the loss's gradient is at most alpha
SMALLEST_ALPHAS = {
    "l21": lambda U: row_norms(U).max(),
    "l1": lambda U: np.abs(U).max(),
}


@dataclass(frozen=True)
class MatrixModel:
    """A loss and a penalty, by name."""

    loss: str
    penalty: str

    def target(self, data):
        """The classes, their signs or the real targets."""
        if self.loss in OF_CLASSES:
            return data.classes
        return 2.0 * one_hot(data.classes) - 1.0 if self.loss in OF_SIGNS else data.targets

    def zero(self, X, y):
        """The coefficients that are all 0."""
        return np.zeros((y.max() + 1 if y.ndim == 1 else y.shape[1], X.shape[1]))

    def objective(self, X, y, alpha, W):
        """The value at coefficients."""
        return float(np.mean(LOSSES[self.loss](y, X @ W.T)) + alpha * PENALTIES[self.penalty](W))

    def alpha_max(self, X, y):
        """The smallest alpha at which W = 0 is optimal."""
        gradient = (X.T @ SLOPES_AT_ZERO[self.loss](y)).T / X.shape[0]
        return float(SMALLEST_ALPHAS[self.penalty](gradient))

    def estimator(self, n_features, alpha, **parameters):
        """The estimator of skpd."""
        kind = MultinomialPD if self.loss in OF_CLASSES else MultiTaskPD
        return kind(alpha, loss=self.loss, penalty=self.penalty, fit_intercept=False, **parameters)


def places_of_tasks(X):
    """For each row the place of its task, which the first column names, among all tasks."""
    return np.unique(X[:, 0], return_inverse=True)[1]


def by_task(X):
    """The other columns, in a block for each task, of rows that begin with their task."""
    d = X.shape[1] - 1
    columns = places_of_tasks(X)[:, np.newaxis] * d + np.arange(d)
    starts = np.arange(0, columns.size + 1, d)
    blocks = sp.csr_matrix((X[:, 1:].ravel(), columns.ravel(), starts))
    blocks.eliminate_zeros()
    return blocks


@dataclass(frozen=True)
class TasksModel:
    """The squared loss where each sample has a task, and features are selected for all of them."""

    def target(self, data):
        """The one real target of each sample."""
        return data.response

    def zero(self, X, y):
        """The coefficients that are all 0."""
        return np.zeros((len(np.unique(X[:, 0])), X.shape[1] - 1))

    def objective(self, X, y, alpha, W):
        """The value at coefficients, a row or a block of them for each task."""
        W = W.reshape(-1, X.shape[1] - 1)
        Z = np.einsum("ij,ij->i", X[:, 1:], W[places_of_tasks(X)])
        return float(0.5 * np.mean((Z - y) ** 2) + alpha * PENALTIES["l21"](W))

    def alpha_max(self, X, y):
        """The smallest alpha at which W = 0 is optimal."""
        gradient = (by_task(X).T @ y).reshape(-1, X.shape[1] - 1) / len(y)
        return float(SMALLEST_ALPHAS["l21"](gradient))

    def estimator(self, n_features, alpha, **parameters):
        """The estimator of skpd."""
        return MultiTaskPD(alpha, tasks=0, fit_intercept=False, **parameters)


MATRIX_MODELS = {
    "multitask": MatrixModel("squared", "l21"),
    "multitask-tasks": TasksModel(),
    "multitask-absolute": MatrixModel("absolute", "l21"),
    "multitask-hinge": MatrixModel("hinge", "l21"),
    "multinomial-l21": MatrixModel("softmax", "l21"),
    "multinomial-l1": MatrixModel("softmax", "l1"),
    "multinomial-l2": MatrixModel("softmax", "l2"),
    "crammer-singer": MatrixModel("crammer_singer", "l2"),
}

# 100/n and 1/n are what C = 0.01 and C = 1 say to other solvers
SPARSE, RIDGE, ROBUST = ("max/10", "max/100"), ("100/n", "1/n"), ("max/3", "max/10")
DATA = ("digits", "wide", "gen", "reuters-10")
MATRIX_CASES = {
    **{name: {data: SPARSE for data in DATA} for name in ("multitask", "multinomial-l21")},
    "multitask-tasks": {"school": SPARSE},
    "multinomial-l1": {data: SPARSE for data in DATA},
    "multinomial-l2": {data: RIDGE for data in DATA},
    "crammer-singer": {data: RIDGE for data in DATA},
    # Clarabel has no room for larger data
    "multitask-absolute": {"digits": ROBUST},
    "multitask-hinge": {"digits": ROBUST},
}
