"""Regularisation paths: one model for each alpha, each started from the one before."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from numbers import Integral, Real
from threading import Event
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state

from .._typing import Array, ArrayLike
from .._warn import warn
from ..penalties import Separable
from ..problems import Point, Problem, Solution
from ..solvers import solve
from ..solvers.newton.path_by_moments import path_by_moments
from .base import PrimalDualEstimator
from .fits import map_in_threads
from .posing import FitProblems
from .regularization_path import RegularizationPath


class PathInterrupt(KeyboardInterrupt):
    """Interruption of `path` by Ctrl-C, with the models that were finished before.

    Attributes
    ----------
    path : RegularizationPath
        The models of the largest alphas, for which all classes were finished.
    """

    path: RegularizationPath


def path(
    estimator: PrimalDualEstimator | Pipeline,
    X: Any,
    y: ArrayLike,
    *,
    alphas: int | ArrayLike = 50,
    eps: float | None = None,
    sample_weight: ArrayLike | None = None,
) -> RegularizationPath:
    """Fit an estimator for many alphas, each from the solution for the one before.

    For `DRSVMClassifier` the path is over ``epsilon``, which has the place of alpha in the
    objective; the parameter ``alpha``, the weight of a ridge, is left as it is.

    The data is validated and prepared once. For five alphas or more and a smooth loss with a
    separable or group penalty, preparation includes a copy of X by columns, unless X is stored in
    this way; a dense X may take another byte for each entry, for products in eight bits. Least
    squares on up to 150 features instead need the second moments of X and y, once for all alphas.

    Parameters
    ----------
    estimator : estimator
        A classifier or regressor of this package, or a pipeline whose last step is one. The
        estimator is not changed; its ``alpha`` (``epsilon``) and ``warm_start`` have no effect.
        With a pipeline the path is that of the last step, for X transformed by clones of the
        earlier steps, which are fitted to all of X.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Training data.
    y : array-like of shape (n_samples,)
        Class labels or targets.
    alphas : int or array-like of shape (n_alphas,), default=50
        Values of alpha, greater than 0, in any order; or their number: then they are at
        equal ratios, from the smallest alpha at which the best constant prediction is certain
        to be optimal down to ``eps`` times that. For squared norms and other penalties without
        such an alpha they begin at an alpha for which no objective is better than that of the
        best constant by more than 1 %.
    eps : float, default=None
        Ratio of the smallest to the largest alpha, in (0, 1], where ``alphas`` is a number. None
        for 1e-4, and 1e-7 for the penalties without a smallest alpha for the constant.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples, as in `fit`; in a pipeline for the last step only.

    Returns
    -------
    path : RegularizationPath

    Raises
    ------
    TypeError
        If the estimator is not one of this package, nor a pipeline that ends in one.
    ValueError
        If a parameter or the data is invalid, or if ``alphas`` is a number and no alpha is the
        largest of interest, as for constraints; or if the estimator's models do not make a path:
        `TraceNormPD` with a radius, `MatrixCompletionPD`.
    PathInterrupt
        After Ctrl-C, a `KeyboardInterrupt` whose attribute ``path`` is the RegularizationPath
        of the alphas that were finished; see `PathInterrupt`.

    Warns
    -----
    ConvergenceWarning
        If a relative gap is still above the estimator's ``tol`` after ``max_iter``
        iterations.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skpd import PdproxSVC, path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), PdproxSVC())
    >>> found = path(model, X, y, alphas=[0.3, 0.1, 0.01])
    >>> found
    RegularizationPath(3 alphas from 0.3 to 0.01, 3 of 3 fits converged, 3 to 11 of 30 features)
    >>> (found.coefs != 0).sum(axis=1)
    array([ 3,  6, 11])
    >>> found.decision_function(X[:5]).shape
    (3, 5)
    """
    steps, estimator = split_pipeline(clone(estimator))
    if steps is not None:
        X = steps.fit_transform(X, y)
    fit = problems_of_path(estimator, X, y, sample_weight)
    problems = fit.problems
    values = alpha_values(problems, alphas, eps)
    stop = Event()
    found: list[list[Solution]] = [[] for _ in problems]

    def solve_class(k: int, seed: int) -> None:
        found[k].extend(follow(estimator, problems[k], values, seed, stop))

    random_state = check_random_state(estimator.random_state)
    n_threads = min(effective_n_jobs(estimator.n_jobs), len(problems))
    try:
        map_in_threads(solve_class, len(problems), random_state, n_threads, stop)
    except KeyboardInterrupt:
        stop.set()
    rows = list(zip(*found, strict=False))  # what all classes have come to
    fitted = [
        estimator._with_model(float(alpha), row, fit)
        for alpha, row in zip(values, rows, strict=False)
    ]
    models = _gathered(values, rows, problems, fitted, steps, estimator._path_parameter)
    if stop.is_set():
        interrupt = PathInterrupt(
            f"{len(models.alphas)} of {len(values)} alphas are finished: the attribute path of "
            "this exception holds their models."
        )
        interrupt.path = models
        raise interrupt
    converged = models.converged
    if not converged.all():
        worst = max(s.certificate.relative_gap for solutions in found for s in solutions)
        warn(
            f"{type(estimator).__name__} did not converge for {int((~converged).sum())} of "
            f"{converged.size} fits of a path: the largest relative gap is {worst:.2e}, above "
            f"tol={estimator.tol:.2e}. Increase max_iter (now {estimator.max_iter}) or tol, or "
            "leave out the smallest alphas.",
            ConvergenceWarning,
        )
    return models


def split_pipeline(estimator: Any) -> tuple[Pipeline | None, PrimalDualEstimator]:
    """The steps of a pipeline before its last, or None, and the last, an estimator of skpd."""
    steps, last = None, estimator
    if isinstance(estimator, Pipeline):
        steps, last = estimator[:-1] if len(estimator) > 1 else None, estimator[-1]
    if not isinstance(last, PrimalDualEstimator):
        raise TypeError(
            "estimator must be one of skpd's, or a pipeline whose last step is, got "
            f"{estimator!r}."
        )
    return steps, last


def problems_of_path(
    estimator: PrimalDualEstimator, X: Any, y: Any, sample_weight: Any = None
) -> FitProblems:
    """The validated data and the problems of an estimator for a path.

    ``estimator`` is a clone whose own alpha has no effect.
    """
    if estimator._path_parameter != "alpha" or estimator.alpha == 0.0:
        estimator.set_params(**{estimator._path_parameter: 1.0})
    estimator._validate_params()
    fit = estimator._problems(X, y, sample_weight)
    if estimator._no_path:
        raise ValueError(estimator._no_path)
    return fit


def _gathered(
    alphas: Array,
    rows: list[tuple[Solution, ...]],
    problems: Sequence[Problem],
    models: list[PrimalDualEstimator],
    steps: Pipeline | None,
    parameter: str,
) -> RegularizationPath:
    """The path of the finished alphas, from rows of solutions with one for each problem."""
    shape: tuple[int, ...] = (len(rows), len(problems)) if len(problems) > 1 else (len(rows),)
    problem = problems[0]
    intercept_shape = problem.rows.intercept_shape
    coef_shape = problem.table_shape

    def table(value, dtype, *more):
        values = [[value(solution) for solution in row] for row in rows]
        return np.array(values, dtype=dtype).reshape(*shape, *more)

    return RegularizationPath(
        alphas=alphas[: len(rows)],
        coefs=table(lambda solution: problem.coef_table(solution.coef), np.float64, *coef_shape),
        intercepts=table(lambda solution: solution.intercept, np.float64, *intercept_shape),
        certificates=table(lambda solution: solution.certificate, object).tolist(),
        converged=table(lambda solution: solution.converged, np.bool_),
        n_iters=table(lambda solution: solution.n_iter, np.int64),
        models=models,
        steps=steps,
        parameter=parameter,
    )


# The last alpha over the first. On the data sets of scikit-learn the best models with the l1 norm
# are at 2e-4 to 2e-2 of the first alpha, those with half the squared norm at 1e-6 to 1e-3
EPS, EPS_OF_SQUARES = 1e-4, 1e-7
USEFUL = 0.01  # of the objective: how much better a model is that is worth a look
STEPS = 10**6  # for each power of ten, in the search for such an alpha
NULL_TOL, NULL_ITERATIONS = 1e-6, 1000  # of the model on features that are not penalised
MANY_ALPHAS = 5  # from which on a copy of X by columns pays


def follow(
    estimator: PrimalDualEstimator, problem: Problem, alphas: Array, seed: int, stop: Event
) -> Iterator[Solution]:
    """The solutions for decreasing alphas, each from the one before.

    Ctrl-C sets ``stop``; when it is set the current fit ends and is left out.
    """
    start, random_state = None, np.random.RandomState(seed)
    known: list[Solution | None] = [None] * len(alphas)
    if len(alphas) >= MANY_ALPHAS and estimator._solver() == "auto":
        if estimator._copies() is None and estimator._precision == np.float64:
            known = path_by_moments(problem, alphas, estimator.tol)
        problem = problem if all(known) else problem.by_columns()
    for alpha, solution in zip(alphas, known, strict=True):
        if stop.is_set():
            return
        solution = solution or estimator._solve(
            problem.with_alpha(float(alpha)),
            start=start,
            random_state=random_state,
            on_check=lambda monitor: stop.is_set(),
        )
        if solution.interrupted:
            stop.set()
        if solution.interrupted or solution.stopped:
            return
        yield solution
        start = Point(solution.coef, solution.intercept, solution.dual_coef)


def alpha_values(problems: Sequence[Problem], alphas: int | ArrayLike, eps: float | None) -> Array:
    """The alphas of a path, decreasing: the given ones, or a number of them at equal ratios."""
    if isinstance(alphas, Integral):
        return _equal_ratios(problems, alphas, eps)
    for place, alpha in enumerate(np.ravel(np.asarray(alphas, dtype=object))):
        if isinstance(alpha, str):  # which NumPy would read
            raise TypeError(f"alphas[{place}] must be an instance of float, not str: {alpha!r}.")
    values = np.sort(np.asarray(alphas, dtype=np.float64).ravel())[::-1]
    if not (len(values) > 0 and np.isfinite(values).all() and values[-1] > 0.0):
        raise ValueError(f"alphas must hold finite numbers greater than 0, got {alphas!r}.")
    return values


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
    penalty = Separable(np.zeros(len(columns)), 0.0, lower, upper)
    null = problem.of_columns(columns, penalty)
    random_state = np.random.RandomState(0)
    model = solve(null, tol=NULL_TOL, max_iter=NULL_ITERATIONS, random_state=random_state)
    gradient = problem.design.rmatvec(problem.weights * model.dual_coef)
    gradient[columns] = 0.0  # but for the tolerance
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
    gradient, least = _null_gradient(problem), USEFUL * problem.objective_unit
    steps = range(-300 * STEPS, 300 * STEPS)

    def enough(step: int) -> bool:
        return problem.penalty.conjugate(-gradient, 10.0 ** (step / STEPS)) <= least

    place = bisect_left(steps, True, key=enough)
    return 10.0 ** (steps[place] / STEPS) if 0 < place < len(steps) else np.nan
