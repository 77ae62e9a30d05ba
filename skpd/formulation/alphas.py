"""The values of alpha of a path: those given, or a number of them at equal ratios."""

from bisect import bisect_left
from collections.abc import Sequence
from numbers import Integral, Real

import numpy as np

from .._typing import Array, ArrayLike
from ..penalties import Separable, Structure
from ..penalties.weighted import unpenalised
from ..problems import Problem
from ..solvers import solve

# The ratio of the last alpha to the first. On the data sets of scikit-learn the best models with
# the l1 norm are at 2e-4 to 2e-2 of the first alpha, those with half the squared norm at 1e-6 to
# 1e-3.
EPS, EPS_OF_SQUARES = 1e-4, 1e-7
# the decrease that makes a model useful, as a share of the objective of the best constant
USEFUL = 0.01
STEPS = 10**6  # steps for each power of ten in the search for a useful alpha
# the accuracy of the model on features that are not penalised
NULL_TOL, NULL_ITERATIONS = 1e-6, 1000


def alpha_values(
    problems: Sequence[Problem], alphas: int | ArrayLike, eps: float | None, zero: bool = False
) -> Array:
    """The alphas of a path, decreasing: the given ones, or a number of them at equal ratios.

    With ``zero`` an alpha may be 0, if the penalty is one of single coefficients (`at_alpha`).
    """
    if isinstance(alphas, Integral):
        return _equal_ratios(problems, alphas, eps)
    for index, alpha in enumerate(np.ravel(np.asarray(alphas, dtype=object))):
        if isinstance(alpha, str):  # NumPy would make a number of it
            raise TypeError(f"alphas[{index}] must be an instance of float, not str: {alpha!r}.")
    values = np.sort(np.asarray(alphas, dtype=np.float64).ravel())[::-1]
    zero = zero and problems[0].penalty.structure is Structure.SEPARABLE
    if not (len(values) > 0 and np.isfinite(values).all() and values[-1] >= 0.0):
        allowed = "of at least 0" if zero else "greater than 0"
        raise ValueError(f"alphas must hold one or more finite numbers {allowed}, got {alphas!r}.")
    if values[-1] == 0.0 and not zero:
        raise ValueError(
            f"alphas must hold finite numbers greater than 0, got {alphas!r}: 0, no penalty, is "
            "on the grids of models that may have none, with a penalty of single coefficients, "
            "such as 'l1' or 'l2', without certified."
        )
    return values


def at_alpha(problem: Problem, alpha: float) -> Problem:
    """The problem for another alpha; for 0 that of a penalty that leaves all features free."""
    if alpha > 0.0:
        return problem.with_alpha(alpha)
    return problem.with_penalty(unpenalised(problem.penalty), 1.0)


def _equal_ratios(problems, n_alphas, eps):
    if isinstance(n_alphas, bool) or n_alphas < 1:
        raise ValueError(f"alphas as a number must be at least 1, got {n_alphas!r}.")
    if not (eps is None or (isinstance(eps, Real) and 0.0 < eps <= 1.0)):
        raise ValueError(f"eps must be a number in (0, 1], got {eps!r}.")
    largest, ratio = max(map(_largest_alpha, problems)), EPS
    if not 0.0 < largest < np.inf:
        largest, ratio = max(map(_useful_alpha, problems)), EPS_OF_SQUARES
    if not 0.0 < largest < np.inf:
        name = type(problems[0].penalty).__name__
        raise ValueError(
            f"alphas must be given as values: with the penalty {name} and this data no alpha is "
            "seen from which on features are of no use."
        )
    return largest * np.geomspace(1.0, ratio if eps is None else eps, n_alphas)


def _null_gradient(problem: Problem) -> Array:
    """The gradient of the loss where all penalised coefficients are 0.

    With features that are not penalised, the gradient follows from a dual point of the model on
    these features.
    """
    columns, lower, upper = problem.penalty.free_features
    if not len(columns):
        return problem.null_gradient
    if not problem.rows.in_memory:
        raise ValueError(
            "alphas must be given as values for X in blocks or chunks with features that are not "
            "penalised, got a number of them."
        )
    ends = np.zeros((2, problem.n_coefficients))  # of which those that are penalised are 0
    ends[:, columns] = lower, upper
    null = problem.with_penalty(Separable(0.0, 0.0, *ends), 1.0)
    random_state = np.random.RandomState(0)
    model = solve(null, tol=NULL_TOL, max_iter=NULL_ITERATIONS, random_state=random_state)
    theta = np.ravel(problem.rows.dual_table(model.dual_coef))
    gradient = problem.design.rmatvec(problem.weights * theta)
    gradient[columns] = 0.0  # it is 0 at the optimum
    return gradient


def _largest_alpha(problem: Problem) -> float:
    """The smallest alpha at which all penalised coefficients are 0; nan if there is none."""
    if not len(problem.penalty.free_features.columns):
        return problem.largest_alpha
    return problem.penalty.largest_alpha(-_null_gradient(problem))


def _useful_alpha(problem: Problem) -> float:
    """An alpha above which no model is better than the best constant by more than a share.

    This is for the penalties that allow no model of coefficients 0, such as squared norms. The
    loss is convex, so that with its gradient g at the best constant, where the objective is P_0,
    it is at least P_0 + g'w, and the objective of any model at least P_0 - (alpha R)*(-g). The
    conjugate is |g|^2 / (2 alpha) for half the squared Euclidean norm, and never increases with
    alpha.
    """
    gradient, useful_change = _null_gradient(problem), USEFUL * problem.objective_unit
    steps = range(-300 * STEPS, 300 * STEPS)

    def is_useless(step: int) -> bool:
        return problem.penalty.conjugate(-gradient, 10.0 ** (step / STEPS)) <= useful_change

    index = bisect_left(steps, True, key=is_useless)
    return 10.0 ** (steps[index] / STEPS) if 0 < index < len(steps) else np.nan
