"""The objectives of estimators of several outputs or classes, as problems of all outputs."""

from collections.abc import Callable

import numpy as np
from sklearn import linear_model
from sklearn.base import BaseEstimator

from .._typing import Array
from ..designs import Design
from ..estimators.output_parameters import output_penalty
from ..losses import CrammerSinger, Hinge, LabelLoss, Loss, Squared
from ..penalties import Penalty, SquaredL2
from ..problems.output_rows import outputs_problem
from .data import Data, coefficients, fits, shares, with_weight
from .families import given, intercept_column
from .linear_fit import LinearFit


def multi_task(estimator: BaseEstimator, data: Data) -> list[LinearFit]:
    """The fit of the objective sum_i ||r_i||^2 / (2 n) + alpha R(W) of all outputs together."""
    alpha = float(given(estimator, "alpha"))
    ratio = float(getattr(estimator, "l1_ratio_", getattr(estimator, "l1_ratio", 1.0)))
    if isinstance(estimator, linear_model.MultiTaskLassoCV):
        ratio = 1.0
    Y = data.targets
    penalty = output_penalty("l21", ratio, data.X.shape[1], Y.shape[1])
    free = bool(estimator.fit_intercept)
    return [joint_fit(estimator, data, Y, Squared(), penalty, lambda total: alpha, free=free)]


def joint_fit(
    estimator: BaseEstimator, data: Data, Y: Array, loss: Loss, penalty: Penalty,
    alpha: Callable[[float], float], *, free: bool, class_weight: Array | float = 1.0,
    column: float | None = None,
) -> LinearFit:  # fmt: skip
    """The fit of an objective of all outputs together.

    Parameters
    ----------
    Y : ndarray of shape (n_samples, n_outputs)
    alpha : callable
        Returns the weight of the penalty from the sum of the weights.
    free : bool
        Whether there are free intercepts.
    class_weight : ndarray of shape (n_samples,), default=1.0
        Factors of the weights.
    column : float, default=None
        The value of an extra column whose coefficients stand for the intercepts.
    """
    weights, total = shares(data.sample_weight * class_weight, data.name)
    design, n_features = data.design, data.X.shape[1]
    coef, intercept = coefficients(estimator, data.name, n_features, Y.shape[1], column)
    if column is not None:
        design, free = Design(data.with_column(column)), False
    penalty, weight = with_weight(penalty, alpha(total), data.name)
    problem = outputs_problem(
        design, Y, weights, loss, penalty, alpha=weight, fit_intercept=free, total_weight=total
    )
    return LinearFit(problem, np.ravel(coef.T), intercept)


def crammer_singer(estimator: BaseEstimator, data: Data) -> list[LinearFit]:
    """The fits of liblinear's Crammer-Singer SVM, whose intercepts are penalised.

    For two classes the model stores the difference of the coefficients of the classes only.
    """
    classes, C = estimator.classes_, float(estimator.C)
    class_weight, column = data.class_weight(estimator, weighted=True), intercept_column(estimator)
    if len(classes) == 2:
        # with the coefficients -w / 2 and w / 2 the penalty is half of that of w, and the loss is
        # the hinge loss
        outputs = list(data.one_vs_rest(estimator, class_weight))
        return fits(
            estimator, data, outputs, Hinge(), SquaredL2(), lambda total: 0.5 / (C * total),
            column=column,
        )  # fmt: skip
    loss = CrammerSinger(len(classes))
    return [of_classes(estimator, data, loss, SquaredL2(), C, class_weight, column)]


def of_classes(
    estimator: BaseEstimator, data: Data, loss: LabelLoss, penalty: Penalty, C: float,
    class_weight: Array, column: float | None = None,
) -> LinearFit:  # fmt: skip
    """The fit of the objective C sum_i s_i l(y_i, W x_i + b) + R(W), with a loss of classes."""
    labels = data.labels(estimator.classes_)
    Y = labels[:, np.newaxis] == np.arange(len(estimator.classes_))
    if not Y[data.sample_weight * class_weight[labels] > 0.0].any(axis=0).all():
        raise ValueError(
            f"Every class of {data.name} must have samples of positive sample_weight and "
            "class_weight."
        )
    return joint_fit(
        estimator, data, Y, loss, penalty, lambda total: 1.0 / (C * total),
        free=bool(estimator.fit_intercept), class_weight=class_weight[labels], column=column,
    )  # fmt: skip
