"""Certificates of models of least squares from second moments of the data (`Moments`)."""

from math import sqrt

import numpy as np

from .._floats import EPSILON
from .._typing import Array
from ..certificates import Certificate, bound_below, relative_gap
from ..certificates.coefficients import ImpliedBounds
from ..certificates.interface import NOTHING
from ..certificates.relative_gaps import ROUNDING, reference_of
from ..certificates.row_bounds import row_bounds
from ..penalties.implied_intervals import Slopes
from .interfaces import MARGIN
from .problem import Problem

# With norms of columns below 1 / TINY and positive weights above TINY no product overflows, and
# numbers that underflow are far below the bounds on rounding errors, as norms are at least TINY^2
TINY = 1e-50


class Moments:
    """The sums G = A' diag(c) A of A = (X, 1), S = -A' diag(c) Y and the squares sum_i c_i y_ik^2.

    There are no ones without an intercept, and Y has a column for each output. The residuals
    A U - Y of a model U = (W; b) are a dual point theta, too. The mean loss of output k is
    (u_k'(G u_k + s_k) + v_k) / 2 with v_k = s_k'u_k + squares_k, and A' diag(c) theta_k is
    G u_k + s_k. So certificates need no products with the data, and those of all models of a path
    are computed at once.

    A computed sum over n rows is wrong by at most n EPSILON times the sum of the sizes. With the
    norms N_j of the columns of A and Y and by the inequality of Cauchy and Schwarz, an entry of G
    is then wrong by at most n EPSILON N_j N_k, and one of A' diag(c) theta_k by
    n EPSILON N_j (N . |u_k| + N_k).

    Parameters
    ----------
    problem : Problem
        Its loss is half the squared residual. It has rows in memory, no constraints, and no free
        coordinates except intercepts; several outputs have one X.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem, K, ones = problem, problem.n_outputs, bool(problem.fit_intercept)
        self.gram, norms, n_terms = problem.rows.second_moments
        h, Y = problem.weights[::K], problem.y.reshape(-1, K)
        self.n_features = d = len(self.gram) - ones
        self.sums = problem.null_gradient.reshape(d, K)  # X' diag(c) (b - y) at the best b
        if ones:
            b = np.atleast_1d(problem.null.point.intercept)
            sums = self.sums - np.multiply.outer(self.gram[-1, :-1], b)
            self.sums = np.vstack([sums, -(h @ Y)])
        self.squares = h @ (Y * Y)
        self.norms = norms + TINY**2
        self.norms_of_targets = np.sqrt(self.squares) + TINY**2
        # a relative bound on the errors of these sums, and of those over a model, at least twice
        # these but for the entries of S, which are sums of two products with the data
        self.rounding = (n_terms + len(self.gram) + 16) * EPSILON
        self.row_bounds = row_bounds(problem, 0.0, None, None)  # the same for every gap
        if ones:
            mean_row = self.gram[-1, :-1], self.rounding * self.norms[-1] * self.norms[:-1]
            mean, error = (np.ravel(np.multiply.outer(x, np.eye(K)[0])) for x in mean_row)
            self.supports = problem.free.supports([(mean, error)])
        # as in `Rows.distances_of_products`, for a loss of smoothness 1
        self.sizes = np.repeat((1.0 + MARGIN + self.rounding) * self.norms[:d], K)
        self.shape = problem.table_shape
        largest = max(np.max(self.norms), np.max(self.norms_of_targets))
        self.in_range = bool(largest < 1.0 / TINY and np.min(h[h > 0.0]) > TINY)

    def certificates(self, alphas: list[float], models: Array) -> list[Certificate]:
        """The certificates of models U of shape (n_alphas, n_features + ones, n_outputs).

        With an intercept the dual point is the one nearest to the residuals whose sums are 0, for
        an output at a distance s of at most |sum| / N_b. This changes a sum by N_j s at most and
        decreases the dual value -theta'(theta / 2 + y) by N_y s, as a projection is not longer.
        """
        sums = self.gram @ models + self.sums
        of_targets = np.einsum("amk,mk->ak", models, self.sums) + self.squares
        losses = 0.5 * (np.einsum("amk,amk->ak", models, sums) + of_targets)
        sizes = self.norms @ np.abs(models) + self.norms_of_targets
        errors = self.rounding * sizes
        largest = losses + errors * sizes
        if self.problem.fit_intercept:
            errors = 2.0 * errors + np.abs(sums[:, -1]) / np.sqrt(self.gram[-1, -1])
        values = of_targets - losses - errors * (sizes + self.norms_of_targets)
        d, n_alphas = self.n_features, len(alphas)
        tables = models[:, :d], -sums[:, :d], self.norms[:d, None] * errors[:, None]
        numbers = alphas, largest.sum(axis=1).tolist(), values.sum(axis=1).tolist()
        vectors = (np.ascontiguousarray(x).reshape(n_alphas, -1) for x in tables)
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
