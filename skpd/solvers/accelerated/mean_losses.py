"""Mean losses with their derivatives in predictions, for gradient methods."""

from math import inf
from typing import Protocol, cast

import numpy as np
from numpy.typing import DTypeLike

from ..._typing import Array
from ...kernels import dot
from ...losses.structured import StructuredLoss
from ...problems import Problem
from .settings import QUASI_NEWTON as SETTINGS


class Losses(Protocol):
    """The losses at predictions Z + b, with the derivatives of the last ones.

    Attributes
    ----------
    theta : ndarray
        The dual point, or what a certificate takes for it.
    sums : ndarray of shape (n_outputs,)
        The derivatives in b, empty without intercepts.
    dtype : dtype
        The precision of products.
    """

    problem: Problem
    theta: Array
    sums: Array
    dtype: DTypeLike = np.float64

    def predictions(self, coef: Array) -> Array:
        """The predictions of coefficients, without intercepts."""

    def evaluate(self, z: Array, b: Array) -> float:
        """The mean loss at predictions z + b."""

    def moved(self, z: Array, db: Array) -> Array:
        """The predictions z + db."""

    def gradient(self) -> Array:
        """The gradient in the coefficients."""

    def slope(self, along: Array) -> float:
        """The derivative of the mean loss along changes of predictions."""

    def curvature(self, along: Array) -> float:
        """The second derivative of the mean loss along changes of predictions; 0 if unknown."""

    def change_of_intercepts(self, along: Array | None = None) -> Array:
        """The Newton step of the intercepts, with predictions that change as well."""


class LossesOfValues(Losses):
    """Losses of predictions of rows in memory, for one output or several."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.n_outputs = problem, problem.n_outputs
        self.ones, self.sums = bool(problem.fit_intercept), np.empty(0)
        # products that all outputs share are taken in the precision of X
        if problem.design.shares_data:
            self.dtype = problem.design.base.dtype

    def predictions(self, coef: Array) -> Array:
        return self.problem.design.matvec(coef.astype(self.dtype)).astype(np.float64)

    def moved(self, z: Array, db: Array) -> Array:
        return np.ravel(z.reshape(-1, self.n_outputs) + db) if self.ones else z


class LossesOfRows(LossesOfValues):
    """Losses with compiled derivatives."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        n, self.couples = problem.n_samples, bool(problem.loss.couples_outputs)
        self.theta, self._slopes, self.h = np.empty(n), np.empty(n), np.empty(n)
        self._factor = np.empty(n if self.couples else 0)
        self._no_multipliers = np.zeros(n)

    def evaluate(self, z: Array, b: Array) -> float:
        problem, outputs = self.problem, (self._factor,) if self.couples else ()
        loss, _ = problem.loss.evaluator.smoothed_derivatives(
            problem.y, problem.weights, self._no_multipliers, self.moved(z, b), inf,
            self.theta, self._slopes, self.h, *outputs,
        )  # fmt: skip
        if self.ones:
            self.sums = self._sums(self._slopes)
        return float(loss)

    def _sums(self, rows: Array) -> Array:
        table = rows.reshape(-1, self.n_outputs)
        return np.ones(len(table)) @ table

    def gradient(self) -> Array:
        rows = self._slopes.astype(self.dtype)
        return self.problem.design.rmatvec(rows).astype(np.float64)

    def slope(self, along: Array) -> float:
        return dot(self._slopes, along)

    def curvature(self, along: Array) -> float:
        value = dot(self.h, along * along)
        if self.couples:
            e, along = (x.reshape(-1, self.n_outputs) for x in (self._factor, along))
            value -= float(np.sum(np.einsum("ik,ik->i", e, along) ** 2))
        return value

    def change_of_intercepts(self, along: Array | None = None) -> Array:
        if not self.ones:
            return np.empty(0)
        sums, hessian = self.sums.copy(), np.diag(self._sums(self.h))
        e = self._factor.reshape(-1, self.n_outputs)
        if self.couples:
            hessian -= e.T @ e
        if along is not None:
            sums += self._sums(self.h * along)
            if self.couples:
                sums -= e.T @ np.einsum("ik,ik->i", e, along.reshape(e.shape))
        return _newton_step(hessian, sums)


class LossOfScores(Losses):
    """A soft maximum over labelings, whose marginals are the dual point."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.sums = problem, np.empty(0)
        self.loss = problem.loss.as_kind(StructuredLoss)

    def predictions(self, coef: Array) -> Array:
        return self.problem.design.matvec(coef)

    def evaluate(self, z: Array, b: Array) -> float:
        loss, self.theta = self.loss.value_and_theta(z)
        self._slopes = self.loss.weights * self.theta
        return float(loss)

    def moved(self, z: Array, db: Array) -> Array:
        return z

    def gradient(self) -> Array:
        return self.problem.design.rmatvec(self._slopes)

    def slope(self, along: Array) -> float:
        return dot(self._slopes, along)

    def curvature(self, along: Array) -> float:
        return 0.0

    def change_of_intercepts(self, along: Array | None = None) -> Array:
        return self.sums


class LossesOfClasses(LossesOfValues):
    """The softmax loss of rows: the probabilities are the rows of a table E over their sums."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        targets = problem.y.reshape(-1, self.n_outputs)
        self._c = np.ascontiguousarray(problem.weights[:: self.n_outputs])
        self._E, self._shares = np.empty(targets.shape), self._c @ targets
        self._labels = np.arange(len(targets)), np.argmax(targets, axis=1)
        self._z, self._hessian = np.empty(0), np.empty((0, 0))

    def evaluate(self, z: Array, b: Array) -> float:
        if z is not self._z:
            self._z, self._hessian = z, np.empty((0, 0))
        E = np.add(z.reshape(self._E.shape), b, out=self._E)
        if not max(np.max(E), -np.min(E)) <= SETTINGS.largest_exponent:
            E -= np.max(E, axis=1, keepdims=True)
        true_scores = E[self._labels]
        totals = np.exp(E, out=E) @ np.ones(self.n_outputs)
        self._scales = 1.0 / totals
        self._weighted_scales = self._c * self._scales
        if self.ones:
            self.sums = self._weighted_scales @ E - self._shares
        return float(self._c @ (np.log(totals) - true_scores))

    @property
    def theta(self) -> Array:  # type: ignore[override]
        return np.ravel(self._scales[:, np.newaxis] * self._E) - self.problem.y

    def gradient(self) -> Array:
        slopes = np.empty(self._E.shape, self.dtype)
        weights = self._weighted_scales[:, np.newaxis]
        np.multiply(weights, self._E, out=slopes, casting="same_kind")
        slopes[self._labels] -= self._c
        return self.problem.design.rmatvec(np.ravel(slopes)).astype(np.float64)

    def _means(self, along: Array) -> tuple[Array, Array]:
        """A table of changes of predictions, and their means by the probabilities."""
        table = along.reshape(self._E.shape)
        return table, self._scales * np.einsum("ik,ik->i", self._E, table)

    def slope(self, along: Array) -> float:
        table, means = self._means(along)
        return float(self._c @ (means - table[self._labels]))

    def curvature(self, along: Array) -> float:
        table, means = self._means(along)
        squares = np.einsum("ik,ik,ik->i", self._E, table, table)
        return float(self._weighted_scales @ squares - self._c @ means**2)

    def change_of_intercepts(self, along: Array | None = None) -> Array:
        if not self.ones:
            return np.empty(0)
        if not len(self._hessian):  # those of intercepts near by differ little
            rows = np.empty(self._E.shape, self.dtype)
            roots = (np.sqrt(self._c) * self._scales)[:, np.newaxis]
            np.multiply(roots, self._E, out=rows, casting="same_kind")
            self._hessian = np.diag(self.sums + self._shares) - rows.T @ rows
        sums = self.sums
        if along is not None:
            table, means = self._means(along)
            of_rows = table - means[:, np.newaxis]
            sums = sums + self._weighted_scales @ np.multiply(self._E, of_rows, out=of_rows)
        return _newton_step(self._hessian.copy(), sums)


def _newton_step(hessian: Array, sums: Array) -> Array:
    """The step of intercepts, of which a shift of all may have no curvature."""
    largest = float(np.max(hessian.diagonal())) or 1.0
    hessian += SETTINGS.ridge_of_intercepts * largest * np.eye(len(hessian))
    return cast(Array, -np.linalg.solve(hessian, sums))


def losses_of(problem: Problem) -> LossesOfValues:
    """The mean loss of a problem with a prediction for each target."""
    is_softmax = problem.loss.of_classes and not problem.loss.has_kinks
    return (LossesOfClasses if is_softmax else LossesOfRows)(problem)
