"""Several outputs with fewer rows than features, in coordinates of the span of the rows.

With a squared l2 penalty, the coefficients of each output lie in the span of the rows of X. For
X = Z Q' with Q'Q = I they are Q V, with ||Q V|| = ||V|| and X Q V = Z V. The problem in V, with
as many features as rows, has the same objective, and systems of its coefficients fit in memory.
"""

from dataclasses import replace
from math import inf

import numpy as np
from scipy.linalg import qr

from ..designs import Design
from ..designs.outputs import SharedDesign
from ..problems import Point, Problem
from .equivalent import equivalent_context
from .interior import expected_cost, interior_point
from .interior.settings import SETTINGS
from .solver_context import SolverContext


def has_row_space(problem: Problem) -> bool:
    """Whether the interior-point method can solve a problem in these coordinates only."""
    rows, penalty, design = problem.rows, problem.penalty, problem.design
    if not (rows.in_memory and rows.of_outputs and penalty.is_ridge and design.shares_data):
        return False
    n, d = design.base.shape
    largest = SETTINGS.largest_system
    fits = n * problem.n_outputs <= largest and n * d <= largest**2
    return n < d and fits and problem.loss.has_cones and expected_cost(problem) == inf


def in_row_space(context: SolverContext) -> None:
    """The interior-point method in coordinates of the span of the rows.

    Parameters
    ----------
    context : SolverContext
        An iteration is one of the interior-point method.
    """
    problem, K = context.problem, context.problem.n_outputs
    base = problem.design.base
    Q, R = qr(base.table(np.arange(base.shape[1])).T, mode="economic", check_finite=False)
    design = SharedDesign(Design(np.ascontiguousarray(R.T)), K)
    reduced = problem.of_rows(problem.rows.with_design(design)).in_workspace()

    def there(point: Point) -> Point:
        return replace(point, coef=np.ravel(Q.T @ point.coef.reshape(-1, K)))

    def back(point: Point) -> Point:
        return replace(point, coef=np.ravel(Q @ point.coef.reshape(-1, K)))

    interior_point(equivalent_context(context, reduced, there, back))
