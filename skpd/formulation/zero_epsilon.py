"""A robust SVM with epsilon = 0 is solved as the ordinary SVM that it is equivalent to."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..problems import Point, Problem, Solution
from ..problems.robust import plain_problem


def solve_without_radius(
    solve: Callable[[Problem, Point | None], Solution], problem: Problem, start: Point | None
) -> Solution:
    """The solution of a robust problem with epsilon = 0, in its own variables.

    With the multipliers p and r of a row, the dual variable of the ordinary problem is
    -y (p - r). Its solution has r = 0.
    """
    if start is not None:
        p, r = start.dual_coef
        start = replace(start, coef=problem.project(start.coef), dual_coef=-problem.y * (p - r))
    solution = solve(plain_problem(problem), start)
    p = np.abs(solution.dual_coef)
    coef = problem.extend(solution.coef, float(solution.intercept))
    return replace(solution, coef=coef, dual_coef=np.stack([p, np.zeros_like(p)]))
