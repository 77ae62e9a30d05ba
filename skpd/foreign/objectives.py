"""The objectives of other libraries' estimators, as problems of this package.

Every function here takes a fitted estimator and data and returns its fits, one for each output.
The estimator's own objective, divided by a constant so that the weights of the rows sum to 1, is
that of a `Problem`. The constants are listed in the docstring of `skpd.certify`.
"""

from collections.abc import Callable
from functools import singledispatch
from itertools import combinations
from typing import Any, cast

import numpy as np
from sklearn import linear_model, svm
from sklearn.utils.class_weight import compute_sample_weight

from .._typing import Array, ArrayLike
from ..estimators.base import PrimalDualEstimator
from ..estimators.group_lasso import WithGroups
from ..estimators.names import MARGIN_LOSSES, PENALTIES, RESIDUAL_LOSSES, chosen, elastic_net
from ..estimators.outputs import OUTPUT_PENALTIES
from ..losses import (
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    Loss,
    ModifiedHuber,
    Pinball,
    Softmax,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)
from ..penalties import L1, Penalty, SquaredL2
from ..problems.scaled_huber import ConcomitantHuber
from .celer_skglm import CELER, SKGLM
from .data import (
    Data,
    coefficients,
    fits,
    own_coefficients,
    positive,
    regression_outputs,
    shares,
    signed,
)
from .fits import ConcomitantFit, LinearFit
from .outputs import (
    COUPLED_LOSSES,
    by_hand_of_outputs,
    crammer_singer,
    has_intercept,
    multi_task,
    of_classes,
    ties_outputs,
)

__all__ = ["by_hand", "known_objectives", "objective_of", "own_objective"]


# Least squares


def _lasso(estimator: Any, data: Data) -> list[LinearFit]:
    """The fits of the objective sum_i s_i r_i^2 / (2 sum(s)) + alpha R(w)."""
    alpha = getattr(estimator, "alpha_", None)
    alpha = estimator.alpha if alpha is None else alpha
    ratio = 1.0
    if isinstance(estimator, linear_model.ElasticNetCV):
        ratio = estimator.l1_ratio_
    elif isinstance(estimator, linear_model.ElasticNet):  # of which Lasso is a subclass
        ratio = estimator.l1_ratio
    outputs = regression_outputs(data)
    return fits(
        estimator,
        data,
        outputs,
        Squared(),
        signed(estimator, elastic_net(ratio)),
        lambda total: alpha,
    )


def _ridge(estimator: Any, data: Data) -> list[LinearFit]:
    """The fits of the objective sum_i s_i r_i^2 + alpha ||w||^2."""
    alpha = np.asarray(getattr(estimator, "alpha_", getattr(estimator, "alpha", None)))
    outputs = regression_outputs(data)
    penalty = signed(estimator, SquaredL2())
    return fits(estimator, data, outputs, Squared(), penalty, lambda total: alpha / total)


def _ridge_classifier(estimator: Any, data: Data) -> list[LinearFit]:
    """The fits of the objective sum_i s_i r_i^2 + alpha ||w||^2 with targets -1 and 1."""
    alpha = np.asarray(getattr(estimator, "alpha_", getattr(estimator, "alpha", None)))
    weights = data.sample_weight
    if estimator.class_weight:
        weights = weights * compute_sample_weight(estimator.class_weight, data.y)
    outputs = [(y, weights) for y, _ in data.one_vs_rest(estimator)]
    penalty = signed(estimator, SquaredL2())
    return fits(estimator, data, outputs, Squared(), penalty, lambda total: alpha / total)


# The objective of liblinear is sum_i C s_i l(y_i, x_i.w + b) + R(w, b / intercept_scaling).


def _liblinear(
    estimator: Any, data: Data, outputs: list[tuple[Array, Array]], loss: Loss, penalty: Penalty
) -> list[LinearFit]:
    column = float(estimator.intercept_scaling) if estimator.fit_intercept else None
    C = float(estimator.C)
    return fits(
        estimator, data, outputs, loss, penalty, lambda total: 1.0 / (C * total),
        fit_intercept=False, column=column,
    )  # fmt: skip


def _linear_svc(estimator: Any, data: Data) -> list[LinearFit]:
    if estimator.multi_class == "crammer_singer":
        return crammer_singer(estimator, data)
    outputs = list(data.one_vs_rest(estimator, data.class_weight(estimator, weighted=True)))
    loss = Hinge() if estimator.loss == "hinge" else SquaredHinge()
    penalty: Penalty = L1() if estimator.penalty == "l1" else SquaredL2()
    return _liblinear(estimator, data, outputs, loss, penalty)


def _linear_svr(estimator: Any, data: Data) -> list[LinearFit]:
    make = (
        EpsilonInsensitive
        if estimator.loss == "epsilon_insensitive"
        else SquaredEpsilonInsensitive
    )
    loss = make(epsilon=float(estimator.epsilon))
    return _liblinear(estimator, data, regression_outputs(data), loss, SquaredL2())


# The objective of libsvm is sum_i C s_i l(y_i, x_i.w + b) + ||w||^2 / 2 with a free intercept.


def _svc(estimator: Any, data: Data) -> list[LinearFit]:
    """The fits of `SVC`: one for two classes, otherwise one for each pair of classes.

    The first class of a pair has the label 1 in its problem.
    """
    class_weight = data.class_weight(estimator, weighted=False)
    outputs = list(data.one_vs_rest(estimator, class_weight))
    if len(outputs) > 1:
        labels = data.labels(estimator.classes_)
        weights = data.sample_weight * class_weight[labels]
        pairs = combinations(range(len(class_weight)), 2)
        outputs = [
            (np.where(labels == one, 1.0, -1.0), weights * np.isin(labels, (one, other)))
            for one, other in pairs
        ]
    C = float(estimator.C)
    return fits(
        estimator, data, outputs, Hinge(), SquaredL2(), lambda total: 1.0 / (C * total),
        fit_intercept=True,
    )  # fmt: skip


def _svr(estimator: Any, data: Data) -> list[LinearFit]:
    C, loss = float(estimator.C), EpsilonInsensitive(epsilon=float(estimator.epsilon))
    return fits(
        estimator, data, regression_outputs(data), loss, SquaredL2(),
        lambda total: 1.0 / (C * total), fit_intercept=True,
    )  # fmt: skip


# The objective of logistic regression is sum_i s_i l(y_i, x_i.w + b) + R(w) / C.


def _logistic(estimator: Any, data: Data) -> list[LinearFit]:
    C, ratio = _logistic_penalty(estimator)
    penalty = elastic_net(ratio)
    class_weight = data.class_weight(estimator, weighted=True)
    classes = estimator.classes_
    if len(classes) == 2:
        outputs = list(data.one_vs_rest(estimator, class_weight))
        if estimator.solver == "liblinear":
            column = float(estimator.intercept_scaling) if estimator.fit_intercept else None
        else:
            column = None
        return fits(
            estimator, data, outputs, Logistic(), penalty, lambda total: 1.0 / (C * total),
            column=column,
        )  # fmt: skip
    return [of_classes(estimator, data, Softmax(len(classes)), penalty, C, class_weight)]


def _logistic_penalty(estimator: Any) -> tuple[float, float]:
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
    "hinge": lambda epsilon: Hinge(),
    "log_loss": lambda epsilon: Logistic(),
    "modified_huber": lambda epsilon: ModifiedHuber(),
    "squared_hinge": lambda epsilon: SquaredHinge(),
    "squared_error": lambda epsilon: Squared(),
    "huber": Huber,
    "epsilon_insensitive": EpsilonInsensitive,
    "squared_epsilon_insensitive": SquaredEpsilonInsensitive,
}


def _sgd(estimator: Any, data: Data, outputs: list[tuple[Array, Array]]) -> list[LinearFit]:
    if estimator.loss not in SGD_LOSSES:
        raise ValueError(
            f"The loss of {data.name} must be one of {', '.join(SGD_LOSSES)} to certify it, got "
            f"{estimator.loss!r}."
        )
    loss = SGD_LOSSES[estimator.loss](float(estimator.epsilon))
    ratio = {"l1": 1.0, "l2": 0.0, "elasticnet": estimator.l1_ratio}.get(estimator.penalty, 0.0)
    alpha = float(estimator.alpha) if estimator.penalty is not None else 0.0
    n_samples = data.X.shape[0]
    return fits(
        estimator, data, outputs, loss, elastic_net(ratio),
        lambda total: alpha * (n_samples / total),
    )  # fmt: skip


def _sgd_classifier(estimator: Any, data: Data) -> list[LinearFit]:
    class_weight = data.class_weight(estimator, weighted=False)
    return _sgd(estimator, data, list(data.one_vs_rest(estimator, class_weight)))


def _sgd_regressor(estimator: Any, data: Data) -> list[LinearFit]:
    return _sgd(estimator, data, regression_outputs(data))


# Robust and quantile regression


def _quantile(estimator: Any, data: Data) -> list[LinearFit]:
    """The fits of the objective sum_i s_i l(y_i, x_i.w + b) / sum(s) + alpha ||w||_1."""
    loss = Pinball(quantile=float(estimator.quantile))
    alpha = float(estimator.alpha)
    return fits(estimator, data, regression_outputs(data), loss, L1(), lambda total: alpha)


def _huber(estimator: Any, data: Data) -> list[ConcomitantFit]:
    """The fit of the objective sum_i s_i (sigma + 2 sigma h(r_i / sigma)) + alpha ||w||^2.

    Here h is the Huber loss and sigma > 0 the scale (`ConcomitantHuber`).
    """
    coef, intercept = coefficients(estimator, data, data.targets.shape[1])
    weights, total = shares(data.sample_weight, data.name)
    problem = ConcomitantHuber(
        design=data.design,
        y=np.ascontiguousarray(data.targets[:, 0]),
        weights=weights,
        epsilon=float(estimator.epsilon),
        alpha=positive(float(estimator.alpha) / total, data.name),
        fit_intercept=bool(estimator.fit_intercept),
    )
    return [ConcomitantFit(problem, coef[0], float(intercept[0]), float(estimator.scale_))]


OBJECTIVES: dict[type, Callable[[Any, Data], list]] = {
    linear_model.Lasso: _lasso,
    linear_model.LassoCV: _lasso,
    linear_model.LassoLars: _lasso,
    linear_model.LassoLarsCV: _lasso,
    linear_model.LassoLarsIC: _lasso,
    linear_model.ElasticNet: _lasso,
    linear_model.ElasticNetCV: _lasso,
    linear_model.MultiTaskLasso: multi_task,
    linear_model.MultiTaskLassoCV: multi_task,
    linear_model.MultiTaskElasticNet: multi_task,
    linear_model.MultiTaskElasticNetCV: multi_task,
    linear_model.Ridge: _ridge,
    linear_model.RidgeCV: _ridge,
    linear_model.RidgeClassifier: _ridge_classifier,
    linear_model.RidgeClassifierCV: _ridge_classifier,
    svm.LinearSVC: _linear_svc,
    svm.LinearSVR: _linear_svr,
    svm.SVC: _svc,
    svm.SVR: _svr,
    linear_model.LogisticRegression: _logistic,
    linear_model.LogisticRegressionCV: _logistic,
    linear_model.SGDClassifier: _sgd_classifier,
    linear_model.SGDRegressor: _sgd_regressor,
    linear_model.QuantileRegressor: _quantile,
    linear_model.HuberRegressor: _huber,
}


BY_NAME = {"celer": CELER, "skglm": SKGLM}  # libraries that are not imported


def objective_of(estimator: Any) -> Callable[[Any, Data], list] | None:
    """The function that makes the fits of another library's estimator; None if it is not known."""
    kind = type(estimator)
    by_name = BY_NAME.get(kind.__module__.partition(".")[0], {})
    return OBJECTIVES.get(kind) or by_name.get(kind.__name__)


def known_objectives() -> str:
    """The estimators of other libraries whose objective is known, for messages."""
    libraries = {"scikit-learn": {kind.__name__ for kind in OBJECTIVES}, **BY_NAME}
    known = [f"{name}'s {', '.join(sorted(kinds))}" for name, kinds in libraries.items()]
    return "; of ".join(known)


@singledispatch
def own_objective(
    estimator: PrimalDualEstimator, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
) -> list[LinearFit]:
    """The fits of one of this package's estimators."""
    if hasattr(estimator, "classes_"):
        Data.of(estimator, X, y, sample_weight).labels(estimator.classes_)
    problems = estimator._fitted_problems(X, y, sample_weight)
    n_outputs = [problem.n_outputs for problem in problems]
    name, n_features = type(estimator).__name__, int(np.prod(problems[0].rows.coef_shape))
    coef, intercept = own_coefficients(estimator, name, n_features // n_outputs[0], sum(n_outputs))
    found, last = [], np.cumsum(n_outputs)
    for problem, n, end in zip(problems, n_outputs, last, strict=True):
        rows = slice(end - n, end)
        w = np.ascontiguousarray(coef[rows].T).reshape(problem.rows.coef_shape)
        found.append(
            LinearFit(problem, w, intercept[rows].reshape(problem.rows.intercept_shape)[()])
        )
    return found


@own_objective.register
def _(
    estimator: WithGroups, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
) -> list[LinearFit]:
    """The fits of a group lasso; for overlapping groups with the copies of the coefficients."""
    copies = estimator._copies()
    if copies is None:
        return own_objective.dispatch(PrimalDualEstimator)(estimator, X, y, sample_weight)
    problems = estimator._fitted_problems(X, y, sample_weight)
    latent, intercepts = np.atleast_2d(estimator.latent_coef_), np.ravel(estimator.intercept_)
    fits = zip(problems, latent, intercepts, strict=True)
    return [LinearFit(problem, coef, float(intercept)) for problem, coef, intercept in fits]


def by_hand(
    estimator: Any,
    data: Data,
    loss: str | Loss,
    penalty: str | Penalty,
    alpha: float,
    fit_intercept: bool | None,
) -> list[LinearFit]:
    """The fits of any estimator with coef_ and intercept_ for an objective that the user gives."""
    if ties_outputs(loss, penalty):
        return [by_hand_of_outputs(estimator, data, loss, penalty, alpha, fit_intercept)]
    names = {**MARGIN_LOSSES, **RESIDUAL_LOSSES}
    if isinstance(loss, str) and loss not in names:
        known = sorted({*names, *COUPLED_LOSSES})
        raise ValueError(f"loss must be a Loss or one of {known}, got {loss!r}.")
    if isinstance(penalty, str) and penalty not in PENALTIES:
        known = sorted({*PENALTIES, *OUTPUT_PENALTIES})
        raise ValueError(f"penalty must be a Penalty or one of {known}, got {penalty!r}.")
    loss = cast(Loss, chosen("loss", loss, names))
    penalty = cast(Penalty, chosen("penalty", penalty, PENALTIES))
    free = has_intercept(estimator, fit_intercept)
    if loss.of_labels:
        outputs = list(data.one_vs_rest(_Classes(estimator, data.y)))
    else:
        outputs = regression_outputs(data)
    return fits(estimator, data, outputs, loss, penalty, lambda total: alpha, fit_intercept=free)


class _Classes:
    """The classes of an estimator; those of y where it has none."""

    def __init__(self, estimator: Any, y: Array) -> None:
        self.classes_ = getattr(estimator, "classes_", np.unique(y))
