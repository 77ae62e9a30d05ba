"""Regularisation paths: one model for each alpha, each started from the one before."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from inspect import signature
from numbers import Real
from operator import attrgetter

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state

from .._checks import require_same_samples
from .._typing import Array, ArrayLike, MatrixLike
from .._warn import warn_of_convergence
from ..designs.threads import one_blas_thread
from ..estimators.base import PrimalDualEstimator
from ..estimators.unknown_parameters import require_call
from ..formulation.alphas import alpha_values
from ..formulation.following import point_of
from ..formulation.formulate import FormulatedProblems
from ..formulation.solve_problems import solve_problem
from ..problems import Problem, Solution
from .certified_path import Covered, SolveAt, certified_models
from .regularization_path import RegularizationPath


class PathInterrupt(KeyboardInterrupt):
    """Interruption of `regularization_path` by Ctrl-C, with the models that were finished before.

    Attributes
    ----------
    path : RegularizationPath
        The models of the largest alphas, for which all classes were finished.
    """

    path: RegularizationPath


@one_blas_thread
def regularization_path(
    estimator: PrimalDualEstimator | Pipeline,
    X: MatrixLike,
    y: ArrayLike,
    *,
    alphas: int | ArrayLike = 100,
    eps: float | None = None,
    certified: float | None = None,
    **metadata: ArrayLike,
) -> RegularizationPath:
    """Fit an estimator for many alphas, each from the solution for the one before.

    For `DRSVMClassifier` the path runs over ``epsilon`` in place of alpha in the
    objective; the parameter ``alpha``, the weight of a ridge, is left as it is.

    The data is validated and prepared once. For five alphas or more and a smooth loss with a
    separable or group penalty, preparation includes a copy of X by columns, unless X is stored in
    this way; a dense X may take another byte for each entry, for products in eight bits. Least
    squares with no more features than rows instead need the second moments of X and y, once for
    all alphas.

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
    alphas : int or array-like of shape (n_alphas,), default=100
        Values of alpha in any order, greater than 0, or at least 0 where the model may be
        without a penalty; or their number: then they are at equal ratios, from the smallest alpha
        at which the best constant prediction is certain to be optimal down to ``eps`` times that.
        For squared norms and other penalties without such an alpha they begin at an alpha for
        which no objective is better than that of the best constant by more than 1 %.
    eps : float, default=None
        Ratio of the smallest to the largest alpha, in (0, 1], where ``alphas`` is a number. None
        for 1e-4, and 1e-7 for the penalties without a smallest alpha for the constant.
    certified : float, default=None
        A share in (0, 1) of the objective of the best constant: for every alpha between the
        largest and the smallest of ``alphas`` the gap of one of the models is at most this. The
        other alphas are then chosen, as many as this takes, and ``tol`` has no effect. Fewest are
        needed for smooth losses, in proportion to the inverse root of this number.
    **metadata : dict of array-like of shape (n_samples,)
        What the `fit` of the estimator takes beside X and y, such as ``sample_weight``,
        ``offset``, the ``exposure`` of `PoissonPD` or the ``strata`` of `CoxPD`; in a pipeline for
        the last step only.

    Returns
    -------
    path : RegularizationPath

    Raises
    ------
    TypeError
        If the estimator is not a linear model of this package, nor a pipeline that ends in one,
        or if its `fit` does not take the metadata.
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
        iterations, or that of ``certified`` is not reached for some alphas.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skpd import PdproxSVC, regularization_path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), PdproxSVC())
    >>> found = regularization_path(model, X, y, alphas=[0.3, 0.1, 0.01])
    >>> found
    RegularizationPath(3 alphas from 0.3 to 0.01, 3 of 3 fits converged, 3 to 11 of 30 features)
    >>> (found.coefs != 0).sum(axis=1)
    array([ 3,  6, 11])
    >>> found.decision_function(X[:5]).shape
    (3, 5)

    Models for every alpha from 0.3 to 0.01, at most 10 % above the optimum in units of the
    objective of the best constant, and the place of the one for alpha = 0.05:

    >>> found = regularization_path(model, X, y, alphas=[0.3, 0.01], certified=0.1)
    >>> len(found.alphas), found.index_at(0.05)
    (5, 3)
    """
    steps, estimator = (clone(part, safe=False) for part in split_pipeline(estimator))
    if steps is not None:
        X = steps.fit_transform(X, y)
    fit = problems_of_path(estimator, X, y, **metadata)
    problems = fit.problems
    values = alpha_values(problems, alphas, eps, certified is None and estimator._fits_alpha_0)
    if certified is not None:
        return _certified(estimator, fit, values, certified, steps)
    solutions, interrupted = estimator._follow_all(problems, values)
    rows = list(zip(*solutions, strict=False))  # the alphas that are finished for all classes
    models = _gathered(estimator, fit, values, rows, steps)
    if interrupted:
        raise _interrupt(models, f"{len(models.alphas)} of {len(values)} alphas are finished")
    return models


def _interrupt(models: RegularizationPath, progress: str) -> PathInterrupt:
    """The exception after Ctrl-C, with the models that are finished."""
    interrupt = PathInterrupt(
        f"{progress}: the attribute path of this exception holds their models."
    )
    interrupt.path = models
    return interrupt


def _certified(
    estimator: PrimalDualEstimator, fit: FormulatedProblems, ends: Array, eps: float,
    steps: Pipeline | None,
) -> RegularizationPath:  # fmt: skip
    """The path whose models have a small gap for every alpha between two."""
    if isinstance(eps, bool) or not (isinstance(eps, Real) and 0.0 < eps < 1.0):
        raise ValueError(f"certified must be None or a number in (0, 1), got {eps!r}.")
    problems = [problem.by_columns() for problem in fit.problems]
    solve_at = solving_at([estimator] * len(problems), problems, estimator.random_state)
    covered: list[Covered] = []
    stopped = True
    with suppress(KeyboardInterrupt):
        covered.extend(certified_models(problems, solve_at, ends[0], ends[-1], float(eps)))
        stopped = False
    models = _gathered(
        estimator, fit, np.array([model.alpha for model in covered]),
        [tuple(model.solutions) for model in covered], steps,
        np.array([(model.lowest, model.highest) for model in covered]).reshape(-1, 2),
    )  # fmt: skip
    if stopped:
        raise _interrupt(models, f"{len(covered)} alphas are finished")
    warn_of_missed(type(estimator).__name__, eps, covered, estimator.max_iter)
    return models


def solving_at(
    estimators: Sequence[PrimalDualEstimator], problems: Sequence[Problem],
    random_state: int | np.random.RandomState | None,
) -> SolveAt:  # fmt: skip
    """The function by which `certified_models` solves problems, each by the solver of its own."""
    generator = check_random_state(random_state)

    def solve_at(alpha: float, share: float, start: list[Solution] | None) -> list[Solution]:
        starts = [None] * len(problems) if start is None else list(map(point_of, start))
        solutions = []
        for estimator, problem, first in zip(estimators, problems, starts, strict=True):
            at_alpha, accuracy = problem.with_alpha(alpha), share * problem.objective_unit
            call = replace(estimator._solver_call(at_alpha), tol=share, accuracy=accuracy)
            solutions.append(solve_problem(at_alpha, call, first, generator))
            if solutions[-1].interrupted:
                raise KeyboardInterrupt
        return solutions

    return solve_at


def warn_of_missed(name: str, eps: float, covered: Sequence[Covered], max_iter: int) -> None:
    """Warn if the gap of a certified path is not reached near some of its alphas."""
    if missed := [models.alpha for models in covered if not models.converged]:
        warn_of_convergence(
            f"{name} is not certified to {eps:.2g} on the whole path: near {len(missed)} of its "
            f"{len(covered)} alphas, the first of which is {missed[0]:.3g}, the gap is a larger "
            "share of the objective of the best constant. "
            f"Increase certified or max_iter (now {max_iter}), or leave out the smallest alphas."
        )


def split_pipeline(estimator: BaseEstimator) -> tuple[Pipeline | None, PrimalDualEstimator]:
    """The steps of a pipeline before its last, or None, and the last, an estimator of skpd."""
    steps, last = None, estimator
    if isinstance(estimator, Pipeline):
        instead = "search over alpha by GridSearchCV, which fits the whole pipeline to each fold"
        require_same_samples(estimator, instead)
        steps, last = estimator[:-1] if len(estimator) > 1 else None, estimator[-1]
    if not isinstance(last, PrimalDualEstimator):
        raise TypeError(
            "estimator must be one of skpd's linear models, or a pipeline whose last step is: "
            f"others have no path over alpha, got {estimator!r}."
        )
    return steps, last


def problems_of_path(
    estimator: PrimalDualEstimator, X: MatrixLike, y: ArrayLike, **metadata: ArrayLike
) -> FormulatedProblems:
    """The validated data and the problems of an estimator for a path.

    ``estimator`` is a clone whose own alpha has no effect. Metadata may be None.
    """
    require_call(signature(estimator.fit), f"{type(estimator).__name__}.fit", X, y, **metadata)
    metadata["offset"] = estimator._total_offset(X, **metadata)
    of_rows = metadata.keys() & signature(estimator._problems).parameters.keys()
    rows = {"sample_weight": None} | {name: metadata[name] for name in of_rows}
    if estimator._path_parameter != "alpha" or estimator.alpha == 0.0:
        estimator.set_params(**{estimator._path_parameter: 1.0})
    estimator._validate_params()
    fit = estimator._problems(X, y, **rows)
    estimator._require_path()
    return fit


def _gathered(
    estimator: PrimalDualEstimator, fit: FormulatedProblems, alphas: Array,
    rows: Sequence[tuple[Solution, ...]], steps: Pipeline | None, covered: Array | None = None,
) -> RegularizationPath:  # fmt: skip
    """The path of the finished alphas, from rows of solutions with one for each problem."""
    problem, copies, several = fit.problems[0], estimator._copies(), len(fit.problems) > 1
    shape: tuple[int, ...] = (len(rows), len(fit.problems)) if several else (len(rows),)
    coef_shape = problem.table_shape if copies is None else (copies.n_features,)

    def coef_of(solution):
        coef = problem.coef_table(solution.coef)
        return coef if copies is None else copies.sums(coef)

    def table(value, dtype, *more):
        values = [[value(solution) for solution in row] for row in rows]
        return np.array(values, dtype=dtype).reshape(*shape, *more)

    models = [
        estimator._with_model(float(a), row, fit) for a, row in zip(alphas, rows, strict=False)
    ]
    for model, row in zip(models, rows, strict=True):
        model._set_certificates(row)
    return RegularizationPath(
        alphas=alphas[: len(rows)],
        coefs=table(coef_of, np.float64, *coef_shape),
        intercepts=table(attrgetter("intercept"), np.float64, *problem.rows.intercept_shape),
        certificates=[model.certificate_ for model in models],
        converged=table(attrgetter("converged"), np.bool_),
        n_iters=table(attrgetter("n_iter"), np.int64),
        models=models,
        steps=steps,
        parameter=estimator._path_parameter,
        covered=covered,
    )
