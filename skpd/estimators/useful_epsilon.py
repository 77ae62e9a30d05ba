"""The epsilon up to which a robust SVM uses features."""

from math import inf

import numpy as np

from ..certificates import primal_objective
from ..problems import Problem
from ..problems.robust import null_pieces
from ..solvers import solve

TOL, MAX_ITER = 1e-3, 200  # of the models that are fitted
SHARE, SHARES = 0.1, 4  # of the epsilon at which features are of no use; how often it is tried
FITS = 3  # more are hardly better
# Rows to which models are fitted: of few for each feature they fit what is chance
MOST_ROWS, ROWS_PER_FEATURE = 2000, 40


def useful_epsilon(problem: Problem) -> float:
    """An epsilon up to which a model that uses features has a lower objective than any constant.

    The objective of a model with its lam is P + (epsilon - epsilon_0) lam, a line over epsilon
    that lies above the least objective; the objective of the best constant is the least of a few
    lines (`null_pieces`). Features are of use for all epsilons below the point where
    the two meet. A model fitted at this point meets the constants at a larger epsilon: this is
    Newton's method from the left. Models are fitted to a sample of the rows, but their objective
    is that on all rows.

    Parameters
    ----------
    problem : Problem
        A problem where constants are as good as any model.

    Returns
    -------
    epsilon : float
        0 if none is found.
    """
    sample = _sample(problem)
    found, epsilon = 0.0, min(problem.alpha, problem.largest_alpha)
    for fits in range(SHARES + FITS):
        if not found and fits >= SHARES:
            break
        epsilon = found or SHARE * epsilon
        if not epsilon > 0.0:
            break
        here = problem.with_alpha(epsilon)
        state = np.random.RandomState(0)
        of_sample = here if sample is problem else sample.with_alpha(epsilon)
        model = solve(of_sample, tol=TOL, max_iter=MAX_ITER, random_state=state)
        if model.interrupted:
            raise KeyboardInterrupt
        variables = here.completed(model.coef, model.intercept)
        primal, radius = primal_objective(here, variables, model.intercept), variables[-1]
        if primal < here.null_objective * (1.0 - TOL):
            found = _meeting(here, primal, radius)
        elif found:
            break
    return found if found < problem.alpha else 0.0


def _sample(problem: Problem) -> Problem:
    """The problem of a sample of the rows; the problem itself if rows are few or lack a class."""
    counted = np.flatnonzero(problem.weights > 0.0)
    most = max(MOST_ROWS, ROWS_PER_FEATURE * problem.design.shape[1])
    if len(counted) <= most:
        return problem
    chosen = np.sort(np.random.RandomState(0).permutation(counted)[:most])
    if len(np.unique(problem.y[chosen])) < len(np.unique(problem.y[counted])):
        return problem
    return problem.of_samples(chosen)


def _meeting(problem: Problem, primal: float, radius: float) -> float:
    """The epsilon at which a model that is better than constants becomes as good as these."""
    best = inf
    for value, slope in null_pieces(problem):
        room = value + slope * problem.alpha - primal
        if radius > slope:
            best = min(best, problem.alpha + room / (radius - slope))
    return best
