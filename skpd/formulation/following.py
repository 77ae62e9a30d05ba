"""Solutions for decreasing alphas, each from the one before."""

from collections.abc import Callable, Iterator
from threading import Event

import numpy as np
from sklearn.utils import check_random_state

from .._typing import Array
from ..problems import Point, Problem, Solution
from ..solvers.newton.by_moments import path_by_moments
from .alphas import at_alpha

MANY_ALPHAS = 5  # the number of alphas from which on a copy of X by columns saves time


def follow(
    solve: Callable[..., Solution], problem: Problem, alphas: Array, seed: int | None, stop: Event,
    tol_by_moments: float | None = None, *, named_solver: bool = False,
) -> Iterator[Solution]:  # fmt: skip
    """The solutions for decreasing alphas, each from the one before.

    Ctrl-C sets ``stop``; when it is set the current fit ends and is left out.

    Parameters
    ----------
    solve : callable
        Solves a problem, with the keywords ``start``, ``random_state`` and ``on_check``.
    problem : Problem
    alphas : ndarray of shape (n_alphas,)
    seed : int or None
    stop : threading.Event
    tol_by_moments : float, default=None
        The relative gap of solutions that second moments of the data give; None without them.
    named_solver : bool, default=False
        Whether a published algorithm is to solve the problem as it is.
    """
    start, random_state = None, check_random_state(seed)
    options = {"random_state": random_state, "on_check": lambda monitor: stop.is_set()}
    by_moments: list[Solution | None] = [None] * len(alphas)
    if len(alphas) >= MANY_ALPHAS and not named_solver:
        if tol_by_moments is not None:
            penalised = alphas[: np.count_nonzero(alphas)]  # those of 0 are the last
            by_moments[: len(penalised)] = path_by_moments(problem, penalised, tol_by_moments)
        if by_moments.count(None) >= MANY_ALPHAS:
            problem = problem.by_columns()
    for alpha, solution in zip(alphas, by_moments, strict=True):
        if stop.is_set():
            return
        if solution is None:
            solution = solve(at_alpha(problem, float(alpha)), start=start, **options)
        if solution.interrupted:
            stop.set()
        if solution.interrupted or solution.stopped:
            return
        yield solution
        start = point_of(solution)


def point_of(solution: Solution) -> Point:
    """The point of a solution, as a start."""
    return Point(solution.coef, solution.intercept, solution.dual_coef)
