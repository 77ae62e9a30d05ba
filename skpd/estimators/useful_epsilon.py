"""Up to which epsilon a robust SVM uses features."""

from math import inf

import numpy as np

from ..problems.robust import RobustProblem, best_radius
from ..solvers import solve

__all__ = ["useful_epsilon"]

TOL, MAX_ITER = 1e-3, 200  # of the models that are fitted
SHARE, SHARES = 0.1, 4  # of the epsilon at which features are of no use; how often it is tried
FITS = 4  # more are hardly better


def useful_epsilon(problem: RobustProblem) -> float:
    """An epsilon up to which a model that uses features has a lower objective than any constant.

    The objective of a model with its lam is P + (epsilon - epsilon_0) lam, a line over epsilon
    that lies above the least objective, and that of the best constant is the least of a few lines
    (`RobustProblem.null_pieces`). Where the two meet, from below, features have been of use all
    the way. A model fitted there meets it further on: Newton's method from the left.

    Parameters
    ----------
    problem : RobustProblem
        One where constants are as good as any model.

    Returns
    -------
    epsilon : float
        0 if none is found.
    """
    found, epsilon = 0.0, min(problem.epsilon, problem.largest_alpha)
    for fits in range(SHARES + FITS):
        if not found and fits >= SHARES:
            break
        epsilon = found or SHARE * epsilon
        if not epsilon > 0.0:
            break
        here = problem.with_alpha(epsilon)
        state = np.random.RandomState(0)
        model = solve(here, tol=TOL, max_iter=MAX_ITER, random_state=state)
        if model.interrupted:
            raise KeyboardInterrupt
        z = here.matvec(here.join(model.coef, model.intercept))
        radius = best_radius(here, here.y * z, here.norm.value(model.coef))
        primal = model.certificate.primal
        if primal < here.null_objective * (1.0 - TOL):
            found = _meeting(here, primal, radius)
        elif found:
            break
    return found if found < problem.epsilon else 0.0


def _meeting(problem: RobustProblem, primal: float, radius: float) -> float:
    """The epsilon at which a model that is better than constants is as good as these."""
    best = inf
    for value, slope in problem.null_pieces:
        room = value + slope * problem.epsilon - primal
        if radius > slope:
            best = min(best, problem.epsilon + room / (radius - slope))
    return best
