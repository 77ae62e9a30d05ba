"""Linear constraints on the coefficients as terms of a programme."""

from typing import Any

import numpy as np
from scipy.linalg import qr

from ..._typing import Array, Indices
from ...problems.constrained import ConstrainedProblem
from .maps import Combinations
from .posing import PENALTIES, loss_terms, programme_of
from .programme import Basis, Programme, basis_of
from .terms import Equality, Intervals

__all__ = ["ConstrainedProgramme"]

SAME = 1e-10  # what others leave of a row of length 1 that is their combination, but for rounding

FAR = 1e15  # times what coefficients are likely to make of a row: a bound that is never met


class ConstrainedProgramme(Programme):
    """The same with an equality for each constraint whose bounds are one number, and limits.

    The curvature of a limit is that of one more row of the data, behind which they come in the
    Newton system: the decompositions that keep the digits of rows at a kink keep those of active
    limits.

    Attributes
    ----------
    matrix : ndarray of shape (n_constraints, n_features)
        C in the basis.
    limits : ndarray of int
        The constraints that are no equalities.
    constraint_terms : list of tuple
        Terms, each with the constraints that it is of.
    """

    def __init__(self, problem: ConstrainedProblem, basis: Basis | None) -> None:
        super().__init__(problem, basis)
        constraints = problem.constraints
        self.constraint_terms: list[tuple[Equality | Intervals, Indices]] = []
        lower, upper = constraints.lower, constraints.upper
        self.matrix = self.basis.columns(constraints.matrix.toarray())
        self.limits = np.flatnonzero(lower < upper)
        # R is not much more than this at the optimum, however small features are
        if problem.penalty.is_norm:
            self.width = np.minimum(self.width, problem.objective_unit / problem.alpha)
        # what the coefficients are likely to make of a row, and a price to go with it
        widths = np.abs(self.matrix) @ self.width
        widths[widths == 0.0] = 1.0
        slopes = problem.objective_unit / widths
        for k in _independent(self.matrix, np.flatnonzero(lower == upper)):
            place = self.new_unknown(0.0, size=slopes[k])
            equality = Equality(self.matrix[k], place, self.x, self.n_features, lower[k])
            self.constraint_terms.append((equality, np.array([k])))
        places = self.new_rows(self.matrix[self.limits])
        for sign, limit in ((1.0, upper), (-1.0, lower)):
            # bounds as good as infinite, which are checked all the same, would hide other digits
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
    """Those of the rows that do not follow from others."""
    sizes = np.linalg.norm(matrix[rows], axis=1)
    rows, sizes = rows[sizes > 0.0], sizes[sizes > 0.0]
    if not len(rows):
        return rows
    _, triangle, order = qr(matrix[rows].T / sizes, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(triangle))
    return rows[order[: len(diagonal)][diagonal > SAME]]


@programme_of.register
def _(problem: ConstrainedProblem) -> Programme:
    programme = ConstrainedProgramme(problem, basis_of(problem.penalty))
    programme.losses = loss_terms(problem.loss, programme)
    PENALTIES[type(problem.penalty)](problem.penalty, programme)
    return programme
