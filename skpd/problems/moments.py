"""Certificates of models of least squares from second moments of the data (`Moments`)."""

from math import sqrt

import numpy as np

from .._floats import EPSILON
from .._typing import Array
from ..certificates import Certificate, bound_below, relative_gap
from ..certificates.bounds import ROUNDING
from ..certificates.coefficients import ImpliedBounds
from ..certificates.interface import NOTHING
from ..certificates.relative_gaps import reference_of
from ..certificates.row_bounds import row_bounds
from ..penalties.implied_intervals import Slopes
from .interfaces import MARGIN
from .problem import Problem

# With norms of columns below 1 / TINY and positive weights above TINY no product overflows, and
# numbers that underflow are far below the bounds on rounding errors, as norms are at least TINY^2
TINY = 1e-50


class Moments:
    """The matrix M = A' diag(c) A of A = (X, 1, -y), without the ones if there is no intercept.

    The residuals of a model are A u with u = (w, b, 1). They are a dual point theta, too. The mean
    loss is u'M u / 2, and the sums A' diag(c) theta are M u. So certificates need no products with
    the data, and those of all models of a path are computed at once.

    A computed sum over n rows is wrong by at most n EPSILON times the sum of the sizes. With the
    norms N_j = sqrt(M_jj) and by the inequality of Cauchy and Schwarz, an entry of M is then wrong
    by at most n EPSILON N_j N_k, and one of M u by n EPSILON N_j (N . |u|).

    Parameters
    ----------
    problem : Problem
        Its loss is half the squared residual. It has rows in memory, no constraints, and no free
        coordinates except an intercept.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem, h, y = problem, problem.weights, problem.y
        gram = problem.design.gram(h, np.arange(problem.n_coefficients), problem.fit_intercept)
        sums = problem.null_gradient  # X' diag(c) (b - y) at the best constant b
        if problem.fit_intercept:
            sums = np.append(sums - problem.null.point.intercept * gram[-1, :-1], -(h @ y))
        self.matrix = np.block([[gram, sums[:, np.newaxis]], [sums, (h * y) @ y]])
        self.norms = np.sqrt(np.diagonal(self.matrix)) + TINY**2
        # a relative bound on the errors of M, of M u and of a sum over u, at least twice these but
        # for the entries X' diag(c) y, which are sums of two products with the data
        self.rounding = (problem.n_samples + len(gram) + 16) * EPSILON
        self.row_bounds = row_bounds(problem, 0.0, None, None)  # the same for every gap
        if problem.fit_intercept:
            mean_row = self.matrix[-2, :-2], self.rounding * self.norms[-2] * self.norms[:-2]
            self.supports = problem.free.supports([mean_row])
        # as in `Rows.distances_of_products`, for a loss of smoothness 1
        self.sizes = (1.0 + MARGIN + self.rounding) * self.norms[: problem.n_coefficients]
        self.shape = problem.table_shape
        self.in_range = bool(np.max(self.norms) < 1.0 / TINY and np.min(h[h > 0.0]) > TINY)

    def certificates(self, alphas: list[float], models: Array) -> list[Certificate]:
        """The certificates of models, given by a u in each row, for an alpha each.

        With an intercept the dual point is the one nearest to the residuals whose sum is 0, at a
        distance s of at most |(M u)_b| / N_b. This changes a sum by N_j s at most and decreases
        the dual value -theta'(theta / 2 + y) by N_y s, as a projection is not longer.
        """
        problem, d, norms = self.problem, self.problem.n_coefficients, self.norms
        sums, sizes = models @ self.matrix, np.abs(models) @ norms
        losses, errors = 0.5 * np.sum(models * sums, axis=1), self.rounding * sizes
        largest = losses + errors * sizes
        if problem.fit_intercept:
            errors = 2.0 * errors + np.abs(sums[:, d]) / norms[d]
        values = sums[:, -1] - losses - errors * (sizes + norms[-1])
        numbers = alphas, largest.tolist(), values.tolist()
        vectors = models[:, :d], -sums[:, :d], np.multiply.outer(errors, norms[:d])
        return list(map(self._certificate, *numbers, *vectors))

    def _certificate(
        self, alpha: float, loss: float, value: float, w: Array, v: Array, error: Array
    ) -> Certificate:
        problem, penalty, shape = self.problem, self.problem.penalty, self.shape
        primal = (loss + alpha * float(penalty.value(w))) * (1.0 + ROUNDING)
        upper = min(primal, problem.null_objective) * (1.0 + ROUNDING)
        radius = upper / alpha
        lost = penalty.bounded_conjugate(penalty.worst_case(v, error), alpha, radius)
        dual = bound_below(problem, value - lost - ROUNDING * (abs(value) + lost + upper), primal)
        lowest, highest = NOTHING
        if problem.fit_intercept:
            lowest, highest = problem.free.intercept_with(upper, radius, self.supports)
        gap, slopes = primal - dual, Slopes(v, error, alpha)
        distances = sqrt(2.0 * max(gap, 0.0)) * self.sizes
        return Certificate(
            primal, dual, gap, relative_gap(problem, primal, dual), "lipschitz", radius,
            0.5 * (highest - lowest), "monotone" if primal < problem.null_objective else "initial",
            ImpliedBounds(penalty, slopes, gap - lost, radius, distances, shape), shape,
            self.row_bounds, reference=reference_of(problem, dual),
        )  # fmt: skip
