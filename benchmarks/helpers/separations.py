"""Whether free coefficients separate: a linear programme over directions, by HiGHS.

A direction v of the free coefficients lowers the loss for ever, or never raises it, where D v >= 0
and E v = 0; it separates where D v is not 0 besides. The rows of D and E are those of a loss.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from tests.oracles.optima import NotSolved


@dataclass(frozen=True, eq=False)
class Directions:
    """The rows of D, and those of E."""

    D: np.ndarray
    E: np.ndarray

    def separate(self):
        """Whether a direction separates.

        With the largest sum of t over 0 <= t <= 1 and t <= D v: any direction that separates can
        be made so long that the sum is at least 1.
        """
        D, E = np.unique(self.D, axis=0), self.E
        D = D[np.any(D != 0.0, axis=1)]
        if not D.size:
            return False
        sizes = np.maximum(np.max(np.abs(D), axis=0), np.max(np.abs(E), axis=0, initial=0.0))
        sizes = np.where(sizes > 0.0, sizes, 1.0)
        D, E, (m, p) = D / sizes, E / sizes, D.shape
        cost = np.concatenate([np.zeros(p), -np.ones(m)])
        A_ub = sp.hstack([sp.csc_array(-D), sp.eye_array(m)], format="csc")
        equations = {}
        if len(E):
            zeros = sp.csc_array((len(E), m))
            equations = {
                "A_eq": sp.hstack([sp.csc_array(E), zeros], format="csc"),
                "b_eq": np.zeros(len(E)),
            }
        bounds = [(None, None)] * p + [(0.0, 1.0)] * m
        found = linprog(cost, A_ub=A_ub, b_ub=np.zeros(m), bounds=bounds, **equations)
        if not found.success:
            raise NotSolved(found.message)
        return -found.fun > 0.5


def _no_rows(p):
    return np.zeros((0, p))


def of_labels(A, y):
    """Of losses of margins that fall for ever: y_i a_i v >= 0."""
    return Directions(y[:, None] * A, _no_rows(A.shape[1]))


def of_counts(A, y):
    """Of exponential means: a_i v = 0 where y_i > 0, and a_i v <= 0 where it is 0."""
    return Directions(-A[y == 0.0], A[y > 0.0])


def of_softmax(A, labels, K):
    """The score of the own class rises at least as much as those of all others."""
    n, p = A.shape
    blocks = []
    for k in range(K):
        rows = np.zeros((n, K, p))
        rows[np.arange(n), labels] += A
        rows[:, k] -= A
        blocks.append(rows.reshape(n, K * p)[labels != k])
    return Directions(np.vstack(blocks), _no_rows(K * p))


def of_order(A, y, K):
    """Of ordered classes, with their thresholds."""
    blocks = []
    for k in range(K - 1):
        signs = np.where(y > k, 1.0, -1.0)[:, None]
        blocks.append(signs * np.hstack([A, np.tile(-np.eye(K - 1)[k], (len(A), 1))]))
    return Directions(np.vstack(blocks), _no_rows(A.shape[1] + K - 1))


def of_risk_sets(A, entry, exit_, event, strata):
    """The score of each event rises at least as much as those of the rows at risk."""
    blocks = [_no_rows(A.shape[1])]
    for i in np.flatnonzero(event):
        risk = (strata == strata[i]) & (entry < exit_[i]) & (exit_[i] <= exit_)
        blocks.append(A[i] - A[risk])
    return Directions(np.vstack(blocks), _no_rows(A.shape[1]))
