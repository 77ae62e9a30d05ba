"""Linear constraints on the coefficients as terms of a programme."""

from typing import Any

import numpy as np
from scipy.linalg import qr

from ..._typing import Array, Indices
from .loss_terms import Equality, Intervals
from .maps import Combinations
from .terms import DualTerm

SAME = 1e-10  # a row of length 1 with a smaller remainder is a combination of others

FAR = 1e15  # bounds above this times the expected size of a row are treated as infinite


def constraint_terms(programme: Any) -> list[tuple[DualTerm, Indices]]:
    """The terms of the linear constraints of a programme, each with the indices of its rows of C.

    A constraint whose two bounds are equal is an equality, the others are limits on linear
    combinations. In the Newton system a limit is an additional row after those of the data, so
    that the decompositions that preserve the digits of rows at a kink do the same for active
    limits. Columns of C beyond the coefficients, such as that of a radius, have to be 0.
    """
    problem, d = programme.problem, programme.n_coefficients
    terms: list[tuple[DualTerm, Indices]] = []
    lower, upper = problem.constraints.lower, problem.constraints.upper
    matrix = programme.basis.columns(problem.constraints.matrix.toarray()[:, :d])
    limits = np.flatnonzero(lower < upper)
    # the expected sizes of the rows of C w, and of their multipliers
    widths = np.abs(matrix) @ programme.width
    widths[widths == 0.0] = 1.0
    slopes = programme.unit / widths
    for k in _independent(matrix, np.flatnonzero(lower == upper)):
        place = programme.new_unknown(0.0, size=slopes[k])
        terms.append((Equality(matrix[k], place, programme.x, d, lower[k]), np.array([k])))
    row_indices = programme.new_rows(matrix[limits])
    for sign, limit in ((1.0, upper), (-1.0, lower)):
        # huge bounds are left out, as they would cause cancellation; they are still checked
        rows = np.flatnonzero((sign * limit < FAR * widths)[limits])
        if len(rows):
            chosen = limits[rows]
            side = Intervals(
                Combinations(matrix[chosen], row_indices[rows]), sign=sign, offset=limit[chosen],
                lower=0.0, upper=np.inf, share=programme.share, x=programme.x,
                width=widths[chosen], slope=slopes[chosen],
            )  # fmt: skip
            terms.append((side, chosen))
    return terms


def _independent(matrix: Array, rows: Indices) -> Indices:
    """The given rows of a matrix without those that are combinations of others."""
    sizes = np.linalg.norm(matrix[rows], axis=1)
    rows, sizes = rows[sizes > 0.0], sizes[sizes > 0.0]
    if not len(rows):
        return rows
    _, triangle, order = qr(matrix[rows].T / sizes, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(triangle))
    return rows[order[: len(diagonal)][diagonal > SAME]]
