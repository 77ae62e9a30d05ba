"""Lower bounds on a structured loss: maxima of planes of convex combinations of labelings.

For every convex combination of labelings theta_k with the mean loss e_k ::

    L(A w + b) >= e_k + g_k.w + s_k b,   g_k = A' diag(c) theta_k,   s_k = sum_i c_i theta_ki

Where there is an intercept, the variables are w and b + m.w, for the means m of the columns of A:
the slopes of w are then those of centred columns, whatever the means are.
"""

from typing import Any

import numpy as np

from ..._typing import Array
from ...certificates.dual_corrections import least_linear
from ...losses.structured import StructuredDual
from ...problems import Problem
from ...problems.structured_rows import RowsOfScores


class Cuts:
    """Planes below a structured loss.

    The first plane is that of the true labeling, L >= 0.

    Parameters
    ----------
    problem : Problem

    Attributes
    ----------
    duals : list of StructuredDual
    losses : ndarray of shape (n_cuts,)
        The mean losses e_k.
    slopes : ndarray of shape (n_cuts, n_variables)
        The slopes g_k - s_k m, followed by s_k if there is an intercept.
    shares : ndarray of shape (n_cuts,)
        With half the squared norm, those of the last minimiser of the planes and 0 for later
        planes, from which the next problem starts.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.n_variables = problem.n_coefficients + problem.fit_intercept
        n_rows = problem.design.shape[0]
        self.mean = np.zeros(problem.n_coefficients)
        if problem.fit_intercept:
            self.mean = problem.design.column_sums(np.full(n_rows, 1.0 / n_rows))
        self.loss = problem.rows.as_kind(RowsOfScores).loss
        self.duals = [self.loss.true_labeling]
        self.losses = np.zeros(1)
        self._rows = np.zeros((16, self.n_variables))
        self._unused = np.zeros(1, dtype=np.int64)
        self.shares = np.ones(1)
        self._gram = np.zeros((1, 1))

    def __len__(self) -> int:
        return len(self.duals)

    @property
    def slopes(self) -> Array:
        return self._rows[: len(self)]

    def split(self, variables: Array) -> tuple[Array, Any]:
        """The coefficients and the intercept of variables."""
        coef, intercept = self.problem.split(variables)
        return coef, intercept - float(self.mean @ coef)

    def join(self, coef: Array, intercept: float) -> Array:
        """The variables of coefficients and an intercept."""
        return self.problem.join(coef, intercept + float(self.mean @ coef))

    def add(self, combination: StructuredDual) -> None:
        problem, k = self.problem, len(self)
        if k == len(self._rows):
            self._rows = np.vstack([self._rows, np.zeros_like(self._rows)])
        weighted = self.loss.weights * combination.theta
        self._rows[k, : problem.n_coefficients] = problem.design.rmatvec(weighted)
        if problem.fit_intercept:
            self._rows[k, -1] = float(np.sum(weighted))
            self._rows[k, :-1] -= self._rows[k, -1] * self.mean
        self.duals.append(combination)
        self.losses = np.append(self.losses, combination.mean_loss)
        self._unused = np.append(self._unused, 0)
        self.shares = np.append(self.shares, 0.0)

    @property
    def gram(self) -> Array:
        """The inner products of the slopes of the coefficients of all planes."""
        slopes, known = self.slopes[:, : self.problem.n_coefficients], len(self._gram)
        products = slopes @ slopes[known:].T
        self._gram = np.block(
            [[self._gram, products[:known]], [products[:known].T, products[known:]]]
        )
        return self._gram

    def forget(self, shares: Array, patience: int) -> None:
        """Drop planes without a share in ``patience`` successive dual points; keep the first.

        The shares are those of the first planes; later ones are kept.
        """
        first = self._unused[: len(shares)]
        first[:] = np.where(shares > 0.0, 0, first + 1)
        first[0] = 0
        kept = np.flatnonzero(self._unused <= patience)
        if len(kept) == len(self):
            return
        self._rows[: len(kept)] = self._rows[kept]
        self.duals = [self.duals[k] for k in kept]
        self.losses, self._unused = self.losses[kept], self._unused[kept]
        self.shares, known = self.shares[kept], kept[kept < len(self._gram)]
        self._gram = self._gram[np.ix_(known, known)]

    def combined(self, shares: Array) -> StructuredDual:
        """The convex combination of the dual points of the first planes, with these shares."""
        return self.loss.convex_combination(shares, self.duals[: len(shares)])

    def bound(self, shares: Array, upper: float) -> float:
        """The estimated lower bound of a convex combination of the planes, which proves nothing.

        ``upper`` is the objective value of a model.
        """
        problem = self.problem
        slope, value = shares @ self.slopes, float(shares @ self.losses)
        v = -slope[: problem.n_coefficients]
        if problem.fit_intercept:
            v -= slope[-1] * self.mean
            value += least_linear((float(slope[-1]), 0.0), problem.free_intervals(upper)[0])
        penalty, alpha = problem.penalty, problem.alpha
        best = value - penalty.bounded_conjugate(v, alpha, upper / alpha)
        if penalty.is_norm:
            norm = penalty.largest_alpha(v)
            best = max(best, min(1.0, alpha / norm) * value if norm > 0.0 else value)
        return best
