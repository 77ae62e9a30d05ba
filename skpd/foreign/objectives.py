"""The objectives of other libraries' estimators, as problems of this package.

Every function here takes a fitted estimator and data and returns its fits, one for each output.
The estimator's own objective, divided by a constant so that the weights of the rows sum to 1, is
that of a `Problem`. The constants are listed in the docstring of `skpd.certify`.
"""

from collections.abc import Callable
from functools import singledispatch
from itertools import combinations

import numpy as np
from sklearn import linear_model, svm
from sklearn.base import BaseEstimator
from sklearn.utils.class_weight import compute_sample_weight

from .. import losses
from .._typing import Array, ArrayLike, MatrixLike, PerRow
from ..estimators.base import PrimalDualEstimator
from ..estimators.group_lasso import WithGroups
from ..estimators.names import elastic_net
from ..losses import Loss
from ..penalties import L1, Penalty, SquaredL2
from .celer_skglm import CELER, SKGLM
from .data import Data, Objective, coef_name, coefficients, signed
from .families import (
    ELASTIC_NET,
    LASSO,
    Family,
    alpha,
    alpha_of_sum,
    intercept_column,
    inverse_C,
    targets,
)
from .generalized import GAMMA, GLUM, POISSON, STATSMODELS, TWEEDIE
from .linear_fit import LinearFit
from .outputs import crammer_singer, multi_task, of_classes
from .survival import COX

# Least squares, of targets or of classes -1 and 1


def _ridge_classes(estimator: BaseEstimator, data: Data) -> list[tuple[Array, Array]]:
    weights = data.sample_weight
    if estimator.class_weight:
        weights = weights * compute_sample_weight(estimator.class_weight, data.y)
    return [(y, weights) for y, _ in data.one_vs_rest(estimator)]


def _ridge(outputs: Callable[[BaseEstimator, Data], list]) -> Family:
    """The objective sum_i s_i r_i^2 + alpha ||w||^2."""
    return Family(
        lambda e: losses.Squared(), lambda e: signed(e, SquaredL2()), alpha_of_sum, outputs
    )


# Outputs of classes with class weights; "balanced" counts rows or sums their weights


def _counted_classes(estimator: BaseEstimator, data: Data) -> list[tuple[Array, Array]]:
    return list(data.one_vs_rest(estimator, data.class_weight(estimator, weighted=False)))


def _weighted_classes(estimator: BaseEstimator, data: Data) -> list[tuple[Array, Array]]:
    return list(data.one_vs_rest(estimator, data.class_weight(estimator, weighted=True)))


# The objective of liblinear is sum_i C s_i l(y_i, x_i.w + b) + R(w, b / intercept_scaling).

LINEAR_SVC = Family(
    lambda e: losses.Hinge() if e.loss == "hinge" else losses.SquaredHinge(),
    lambda e: L1() if e.penalty == "l1" else SquaredL2(),
    inverse_C, _weighted_classes, column=intercept_column,
)  # fmt: skip
LINEAR_SVR = Family(
    lambda e: SGD_LOSSES[e.loss](float(e.epsilon)), lambda e: SquaredL2(), inverse_C, targets,
    column=intercept_column,
)  # fmt: skip


def _linear_svc(estimator: BaseEstimator, data: Data) -> list[LinearFit]:
    joint = estimator.multi_class == "crammer_singer"
    return crammer_singer(estimator, data) if joint else LINEAR_SVC(estimator, data)


# The objective of libsvm is sum_i C s_i l(y_i, x_i.w + b) + ||w||^2 / 2 with a free intercept.


def _pairs_of_classes(estimator: BaseEstimator, data: Data) -> list[tuple[Array, Array]]:
    """The outputs of `SVC`: one for two classes, otherwise one for each pair of classes.

    The first class of a pair has the label 1 in its problem.
    """
    class_weight = data.class_weight(estimator, weighted=False)
    if len(class_weight) == 2:
        return list(data.one_vs_rest(estimator, class_weight))
    labels = data.labels(estimator.classes_)
    weights = data.sample_weight * class_weight[labels]
    return [
        (np.where(labels == one, 1.0, -1.0), weights * np.isin(labels, (one, other)))
        for one, other in combinations(range(len(class_weight)), 2)
    ]


# The objective of logistic regression is sum_i s_i l(y_i, x_i.w + b) + R(w) / C.

LOGISTIC = Family(
    lambda e: losses.Logistic(),
    lambda e: elastic_net(_logistic_penalty(e)[1]),
    lambda e, total, _: 1.0 / (_logistic_penalty(e)[0] * total),
    _weighted_classes,
    column=lambda e: intercept_column(e) if e.solver == "liblinear" else None,
)


def _logistic(estimator: BaseEstimator, data: Data) -> list[LinearFit]:
    if len(estimator.classes_) == 2:
        return LOGISTIC(estimator, data)
    C, ratio = _logistic_penalty(estimator)
    loss = losses.Softmax(len(estimator.classes_))
    class_weight = data.class_weight(estimator, weighted=True)
    return [of_classes(estimator, data, loss, elastic_net(ratio), C, class_weight)]


def _logistic_penalty(estimator: BaseEstimator) -> tuple[float, float]:
    """The pair (C, l1_ratio); before scikit-learn 1.10 l1_ratio may follow from ``penalty``."""
    if isinstance(estimator, linear_model.LogisticRegressionCV):
        C, ratio = np.ravel(estimator.C_)[0], np.ravel(estimator.l1_ratio_)[0]
    else:
        C, ratio = estimator.C, estimator.l1_ratio
    ratio = 0.0 if ratio is None else float(ratio)
    named = getattr(estimator, "penalty", "deprecated")
    if named is None:
        return np.inf, 0.0
    return float(C), {"l1": 1.0, "l2": 0.0}.get(named, ratio)


# The objective of stochastic gradient descent is
# sum_i s_i l(y_i, x_i.w + b) / n_samples + alpha R(w).

SGD_LOSSES: dict[str, Callable[[float], Loss]] = {
    "hinge": lambda epsilon: losses.Hinge(),
    "log_loss": lambda epsilon: losses.Logistic(),
    "modified_huber": lambda epsilon: losses.ModifiedHuber(),
    "squared_hinge": lambda epsilon: losses.SquaredHinge(),
    "squared_error": lambda epsilon: losses.Squared(),
    "huber": losses.Huber,
    "epsilon_insensitive": losses.EpsilonInsensitive,
    "squared_epsilon_insensitive": losses.SquaredEpsilonInsensitive,
}


def _sgd_loss(estimator: BaseEstimator) -> Loss:
    if estimator.loss not in SGD_LOSSES:
        raise ValueError(
            f"The loss of {type(estimator).__name__} must be one of {', '.join(SGD_LOSSES)} to "
            f"certify it, got {estimator.loss!r}."
        )
    return SGD_LOSSES[estimator.loss](float(estimator.epsilon))


def _sgd_penalty(estimator: BaseEstimator) -> Penalty:
    ratios = {"l1": 1.0, "l2": 0.0, "elasticnet": estimator.l1_ratio}
    return elastic_net(ratios.get(estimator.penalty, 0.0))


def _sgd_alpha(estimator: BaseEstimator, total: float, n_rows: int) -> float:
    alpha = float(estimator.alpha) if estimator.penalty is not None else 0.0
    return alpha * (n_rows / total)


def _of_linear(names: str, objective: Objective) -> dict[type, Objective]:
    """The objective of several classes of `sklearn.linear_model`, by their names."""
    return dict.fromkeys((getattr(linear_model, name) for name in names.split()), objective)


OBJECTIVES: dict[type, Objective] = {
    **_of_linear("Lasso LassoCV LassoLars LassoLarsCV LassoLarsIC", LASSO),
    **_of_linear("ElasticNet ElasticNetCV", ELASTIC_NET),
    **_of_linear("MultiTaskLasso MultiTaskLassoCV", multi_task),
    **_of_linear("MultiTaskElasticNet MultiTaskElasticNetCV", multi_task),
    **_of_linear("Ridge RidgeCV", _ridge(targets)),
    **_of_linear("RidgeClassifier RidgeClassifierCV", _ridge(_ridge_classes)),
    linear_model.LinearRegression: Family(
        lambda e: losses.Squared(), lambda e: signed(e, SquaredL2()), lambda *_: 0.0, targets
    ),
    svm.LinearSVC: _linear_svc,
    svm.LinearSVR: LINEAR_SVR,
    svm.SVC: Family(
        lambda e: losses.Hinge(), lambda e: SquaredL2(), inverse_C, _pairs_of_classes,
        fit_intercept=True,
    ),
    svm.SVR: Family(
        lambda e: losses.EpsilonInsensitive(float(e.epsilon)), lambda e: SquaredL2(), inverse_C,
        targets, fit_intercept=True,
    ),
    **_of_linear("LogisticRegression LogisticRegressionCV", _logistic),
    linear_model.SGDClassifier: Family(_sgd_loss, _sgd_penalty, _sgd_alpha, _counted_classes),
    linear_model.SGDRegressor: Family(_sgd_loss, _sgd_penalty, _sgd_alpha, targets),
    # sum_i s_i l(y_i, x_i.w + b) / sum(s) + alpha ||w||_1
    linear_model.QuantileRegressor: Family(
        lambda e: losses.Pinball(quantile=float(e.quantile)), lambda e: L1(), alpha, targets
    ),
    linear_model.PoissonRegressor: POISSON,
    linear_model.GammaRegressor: GAMMA,
    linear_model.TweedieRegressor: TWEEDIE,
}  # fmt: skip


BY_NAME: dict[str, dict[str, Objective]] = {  # libraries that are not imported
    "celer": CELER,
    "skglm": SKGLM,
    "glum": dict.fromkeys(["GeneralizedLinearRegressor", "GeneralizedLinearRegressorCV"], GLUM),
    "statsmodels": STATSMODELS,
    "lifelines": COX["lifelines"],
    "sksurv": COX["sksurv"],
}


def minimiser(estimator: BaseEstimator) -> BaseEstimator:
    """What says what was minimised: the model of a result of statsmodels, or the estimator."""
    results = coef_name(estimator) == "params"
    return getattr(estimator, "model", estimator) if results else estimator


def objective_of(estimator: BaseEstimator) -> Objective | None:
    """The function that makes the fits of another library's estimator; None if it is not known."""
    kind = type(minimiser(estimator))
    by_name = BY_NAME.get(kind.__module__.partition(".")[0], {})
    return OBJECTIVES.get(kind) or by_name.get(kind.__name__)


def known_objectives() -> str:
    """The estimators of other libraries whose objective is known, for messages."""
    libraries = {"scikit-learn": {kind.__name__ for kind in OBJECTIVES}, **BY_NAME}
    known = [f"{name}'s {', '.join(sorted(kinds))}" for name, kinds in libraries.items()]
    return "; of ".join(known)


@singledispatch
def own_objective(
    estimator: PrimalDualEstimator, X: MatrixLike, y: ArrayLike, sample_weight: PerRow,
    **more: ArrayLike,
) -> list[LinearFit]:  # fmt: skip
    """The fits of one of this package's estimators.

    ``more`` are the offsets and the strata, where there are any.
    """
    if hasattr(estimator, "classes_") and not estimator._checks_classes:
        Data.of(estimator, X, y, sample_weight).labels(np.sort(estimator.classes_))
    problems = estimator._fitted_problems(X, y, sample_weight, **more)
    n_outputs = [problem.n_outputs for problem in problems]
    name, n_features = type(estimator).__name__, problems[0].table_shape[-1]
    coef, intercept = coefficients(estimator, name, n_features, sum(n_outputs))
    models, last = [], np.cumsum(n_outputs)
    for problem, n, end in zip(problems, n_outputs, last, strict=True):
        rows = slice(end - n, end)
        w, b = coef[rows].T, intercept[rows].reshape(problem.rows.intercept_shape)[()]
        if problem.lift.n_more:
            w = problem.extend(w[:, 0], b)
        else:
            w = np.ascontiguousarray(w).reshape(problem.rows.coef_shape)
        models.append(LinearFit(problem, w, b))
    return models


@own_objective.register
def _(
    estimator: WithGroups, X: MatrixLike, y: ArrayLike, sample_weight: PerRow, **more: ArrayLike
) -> list[LinearFit]:
    """The fits of a group lasso; for overlapping groups with the copies of the coefficients."""
    copies = estimator._copies()
    if copies is None:
        return own_objective.dispatch(PrimalDualEstimator)(estimator, X, y, sample_weight, **more)
    problems = estimator._fitted_problems(X, y, sample_weight, **more)
    latent, intercepts = np.atleast_2d(estimator.latent_coef_), np.ravel(estimator.intercept_)
    fits = zip(problems, latent, intercepts, strict=True)
    return [LinearFit(problem, coef, float(intercept)) for problem, coef, intercept in fits]
