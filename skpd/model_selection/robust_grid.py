"""Grids of epsilon and kappa for the robust SVM, in units of the data."""

from dataclasses import replace
from math import inf
from numbers import Integral, Real
from typing import cast

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone

from .._typing import Array, ArrayLike, Matrix, MatrixLike, PerRow
from ..certificates import primal_objective
from ..designs.threads import one_blas_thread
from ..estimators.robust_svm import DRSVMClassifier
from ..losses.flipped_labels import WorstCaseHinge
from ..problems import Problem
from ..problems.robust import Radius, null_pieces
from ..solvers import solve
from .path import problems_of_path, split_pipeline

PAIRS = 2000  # whose median distance is known to a few per cent
ABOVE = 1.01  # the bound from which on features are of no use, where all coefficients are 0
KAPPA_RATIO = 4.0  # between the values of kappa
TOL, MAX_ITER = 1e-3, 200  # of the models that are fitted
SHARE, SHARES = 0.1, 4  # of the epsilon at which features are of no use; how often it is tried
FITS = 3  # more are hardly better
# Rows to which models are fitted: of few for each feature they fit what is chance
MOST_ROWS, ROWS_PER_FEATURE = 2000, 40


@one_blas_thread
def robust_grid(
    estimator: BaseEstimator,
    X: MatrixLike,
    y: ArrayLike,
    *,
    n_epsilons: int = 8,
    eps: float = 1e-3,
    n_kappas: int = 3,
    sample_weight: PerRow = None,
) -> list[dict[str, Array]]:
    """A grid of epsilon and kappa for `DRSVMClassifier`, in units of the data.

    Both parameters are distances, whose useful values depend on the scale of the features:

    - kappa is the cost of flipping a label. Its finite values are the median distance between
      two samples, in the dual norm of ``norm``, this distance over 4, over 16 and so on; the
      value inf, for labels that are certain, is added.
    - epsilon is the distance by which samples may move on average. From some epsilon on the best
      model ignores all features; a few fits for each kappa find this epsilon (to 1e-3 of the
      objective). The values are below it, at equal ratios.

    Parameters
    ----------
    estimator : DRSVMClassifier or Pipeline
        The estimator, or a pipeline that ends in one; the earlier steps are fitted to X by
        clones, and the names of the grid begin with that of the last step.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Training data.
    y : array-like of shape (n_samples,)
        Class labels.
    n_epsilons : int, default=8
        Number of values of epsilon for each kappa.
    eps : float, default=1e-3
        Ratio of the smallest value to the epsilon from which on features are of no use, in
        (0, 1).
    n_kappas : int, default=3
        Number of finite values of kappa.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples.

    Returns
    -------
    grid : list of dict
        For each kappa the names ``epsilon`` and ``kappa`` with arrays of values, for the
        ``param_grid`` of `sklearn.model_selection.GridSearchCV`.

    Raises
    ------
    TypeError
        If the estimator is not a `DRSVMClassifier`, nor a pipeline that ends in one.
    ValueError
        If a parameter or the data is invalid, or if no epsilon is found at which features are of
        any use.

    See Also
    --------
    regularization_path : The models for many epsilons, each from the one before.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skpd import DRSVMClassifier, robust_grid
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), DRSVMClassifier())
    >>> grid = robust_grid(model, X, y, n_epsilons=3, n_kappas=1)
    >>> [name for name in grid[0]]
    ['drsvmclassifier__epsilon', 'drsvmclassifier__kappa']
    >>> search = GridSearchCV(model, grid, cv=3).fit(X, y)
    >>> bool(search.best_score_ > 0.95)
    True
    """
    for name, value in (("n_epsilons", n_epsilons), ("n_kappas", n_kappas)):
        minimum = int(name == "n_epsilons")
        if not (isinstance(value, Integral) and not isinstance(value, bool) and value >= minimum):
            raise ValueError(f"{name} must be an int of at least {minimum}, got {value!r}.")
    if not (isinstance(eps, Real) and 0.0 < eps < 1.0):
        raise ValueError(f"eps must be a number in (0, 1), got {eps!r}.")
    steps, model = split_pipeline(clone(estimator))
    if not isinstance(model, DRSVMClassifier):
        raise TypeError(
            "estimator must be a DRSVMClassifier, or a pipeline whose last step is one, got "
            f"{estimator!r}."
        )
    if steps is not None:
        X = steps.fit_transform(X, y)
    model.set_params(kappa=np.inf)
    X, _, problems, *_ = problems_of_path(model, X, y, sample_weight=sample_weight)
    distance = _typical_distance(X, problems[0])
    kappas = [distance * KAPPA_RATIO**-k for k in range(n_kappas)] if distance > 0.0 else []
    prefix = "" if steps is None else f"{estimator.steps[-1][0]}__"
    ratios, grid = np.geomspace(1.0, eps, n_epsilons + 1)[1:], []
    for kappa in [np.inf, *kappas]:
        of_kappa = [_with_kappa(problem, kappa) for problem in problems]
        largest = max(useful_epsilon(x.with_alpha(ABOVE * x.largest_alpha)) for x in of_kappa)
        if largest > 0.0:
            values = {"epsilon": largest * ratios, "kappa": np.array([kappa])}
            grid.append({f"{prefix}{name}": value for name, value in values.items()})
    if not grid:
        raise ValueError(
            "X must say something of the classes for a grid of epsilon: none was found at which a "
            "model is better than the best constant prediction."
        )
    return grid


def _with_kappa(problem: Problem, kappa: float) -> Problem:
    """The problem of a robust SVM with another cost of flips."""
    rows = replace(problem.rows, loss=WorstCaseHinge(kappa))
    return replace(problem, rows=rows, lift=replace(cast(Radius, problem.lift), kappa=kappa))


def _typical_distance(X: Matrix, problem: Problem) -> float:
    """The median distance of two different rows with positive weights."""
    rows, state = np.flatnonzero(problem.weights > 0.0), np.random.RandomState(0)
    first, second = state.choice(rows, PAIRS), state.choice(rows, PAIRS)
    order = {1: np.inf, 2: 2, np.inf: 1}[problem.penalty.q]
    if sp.issparse(X):
        X = sp.csr_array(X)
        distances = sp.linalg.norm(X[first] - X[second], order, axis=1)
    else:
        distances = np.linalg.norm(np.subtract(X[first], X[second], dtype=float), order, axis=1)
    distances = distances[distances > 0.0]
    return float(np.median(distances)) if len(distances) else 0.0


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
    useful, epsilon = 0.0, min(problem.alpha, problem.largest_alpha)
    for fits in range(SHARES + FITS):
        if not useful and fits >= SHARES:
            break
        epsilon = useful or SHARE * epsilon
        if not epsilon > 0.0:
            break
        here = problem.with_alpha(epsilon)
        state = np.random.RandomState(0)
        of_sample = here if sample is problem else sample.with_alpha(epsilon)
        model = solve(of_sample, tol=TOL, max_iter=MAX_ITER, random_state=state)
        if model.interrupted:
            raise KeyboardInterrupt
        variables = here.extend(model.coef, model.intercept)
        primal, radius = primal_objective(here, variables, model.intercept), variables[-1]
        if primal < here.null_objective * (1.0 - TOL):
            useful = _meeting(here, primal, radius)
        elif useful:
            break
    return useful if useful < problem.alpha else 0.0


def _sample(problem: Problem) -> Problem:
    """The problem of a sample of the rows; the problem itself if rows are few or lack a class."""
    counted = np.flatnonzero(problem.weights > 0.0)
    max_rows = max(MOST_ROWS, ROWS_PER_FEATURE * problem.design.shape[1])
    if len(counted) <= max_rows:
        return problem
    chosen = np.sort(np.random.RandomState(0).permutation(counted)[:max_rows])
    if len(np.unique(problem.y[chosen])) < len(np.unique(problem.y[counted])):
        return problem
    return problem.of_samples(chosen)


def _meeting(problem: Problem, primal: float, radius: float) -> float:
    """The epsilon at which a model that is better than constants becomes as good as these."""
    meeting = inf
    for value, slope in null_pieces(problem):
        difference = value + slope * problem.alpha - primal
        if radius > slope:
            meeting = min(meeting, problem.alpha + difference / (radius - slope))
    return meeting
