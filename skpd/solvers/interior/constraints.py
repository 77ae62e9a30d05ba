"""Linear constraints on the coefficients as terms of a programme."""

from typing import Any

import numpy as np
from scipy.linalg import qr

from ..._typing import Array, Indices
from ...problems import Problem
from .maps import Combinations
from .programme import Programme
from .terms import Equality, Intervals

SAME = 1e-10  # a row of length 1 with a smaller remainder is a combination of others

FAR = 1e15  # bounds above this times the expected size of a row are treated as infinite


class ConstrainedProgramme(Programme):
    """The programme of a constrained problem: equalities, and limits on linear combinations.

    A constraint whose two bounds are equal is an equality, the others are limits. In the Newton
    system a limit is an additional row after those of the data, so that the decompositions that
    preserve the digits of rows at a kink do the same for active limits.

    Attributes
    ----------
    matrix : ndarray of shape (n_constraints, n_coefficients)
        C in the basis of the coefficients.
    limits : ndarray of int
        The constraints that are not equalities.
    constraint_terms : list of tuple
        The terms, each with the indices of its constraints.
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        constraints: Any = problem.constraints
        self.constraint_terms: list[tuple[Equality | Intervals, Indices]] = []
        lower, upper = constraints.lower, constraints.upper
        self.matrix = self.basis.columns(constraints.matrix.toarray())
        self.limits = np.flatnonzero(lower < upper)
        # an approximate upper bound on R at the optimum, also for features of a small scale
        if problem.penalty.is_norm:
            self.width = np.minimum(self.width, problem.objective_unit / problem.alpha)
        # the expected sizes of the rows of C w, and of their multipliers
        widths = np.abs(self.matrix) @ self.width
        widths[widths == 0.0] = 1.0
        slopes = problem.objective_unit / widths
        for k in _independent(self.matrix, np.flatnonzero(lower == upper)):
            place = self.new_unknown(0.0, size=slopes[k])
            equality = Equality(self.matrix[k], place, self.x, self.n_coefficients, lower[k])
            self.constraint_terms.append((equality, np.array([k])))
        places = self.new_rows(self.matrix[self.limits])
        for sign, limit in ((1.0, upper), (-1.0, lower)):
            # huge bounds are left out, as they would cause cancellation; they are still checked
            rows = np.flatnonzero((sign * limit < FAR * widths)[self.limits])
            if len(rows):
                some = self.limits[rows]
                image = Combinations(self.matrix[some], places[rows])
                side = Intervals(
                    image, sign=sign, offset=limit[some], lower=0.0, upper=np.inf,
                    share=self.share, x=self.x, width=widths[some], slope=slopes[some],
                )  # fmt: skip
                self.constraint_terms.append((side, some))
        self.penalties += [term for term, _ in self.constraint_terms]

    def _dual_coef(self) -> Array:
        theta = super()._dual_coef()
        problem: Any = self.problem
        mu = np.zeros(len(problem.constraints))
        for term, some in self.constraint_terms:
            mu[some] += term.multipliers
        return np.append(theta, mu)


def _independent(matrix: Array, rows: Indices) -> Indices:
    """The given rows of a matrix without those that are combinations of others."""
    sizes = np.linalg.norm(matrix[rows], axis=1)
    rows, sizes = rows[sizes > 0.0], sizes[sizes > 0.0]
    if not len(rows):
        return rows
    _, triangle, order = qr(matrix[rows].T / sizes, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(triangle))
    return rows[order[: len(diagonal)][diagonal > SAME]]
