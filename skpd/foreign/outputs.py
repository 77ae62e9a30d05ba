"""The objectives of estimators of several outputs or classes, as problems of all outputs."""

from collections.abc import Callable, Collection

import numpy as np
from sklearn import linear_model
from sklearn.base import BaseEstimator

from .._typing import Array
from ..designs import Design
from ..estimators.output_parameters import (
    OUTPUT_LOSSES,
    OUTPUT_PENALTIES,
    checked_loss,
    output_penalty,
)
from ..losses import CrammerSinger, Hinge, L2Norm, LabelLoss, Loss, Softmax, Squared
from ..penalties import Penalty, SquaredL2
from ..problems.output_rows import outputs_problem
from .data import Data, coefficients, fits, shares, with_weight
from .families import given, intercept_column
from .linear_fit import LinearFit

COUPLED_LOSSES: dict[str, Callable[[int], Loss]] = {
    "l2_norm": L2Norm,
    "softmax": Softmax,
    "crammer_singer": CrammerSinger,
}
# penalties of single coefficients: with a loss of single predictions, outputs are independent
ALONE = {"l1", "l2"}


def multi_task(estimator: BaseEstimator, data: Data) -> list[LinearFit]:
    """The fit of the objective sum_i ||r_i||^2 / (2 n) + alpha R(W) of all outputs together."""
    alpha = float(given(estimator, "alpha"))
    ratio = float(getattr(estimator, "l1_ratio_", getattr(estimator, "l1_ratio", 1.0)))
    if isinstance(estimator, linear_model.MultiTaskLassoCV):
        ratio = 1.0
    Y = data.targets
    penalty = output_penalty("l21", ratio, data.X.shape[1], Y.shape[1])
    free = bool(estimator.fit_intercept)
    return [_joint(estimator, data, Y, Squared(), penalty, lambda total: alpha, free=free)]


def _joint(
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
    return _joint(
        estimator, data, Y, loss, penalty, lambda total: 1.0 / (C * total),
        free=bool(estimator.fit_intercept), class_weight=class_weight[labels], column=column,
    )  # fmt: skip


def ties_outputs(loss: str | Loss, penalty: str | Penalty) -> bool:
    """Whether a loss and a penalty define one problem of all outputs together."""
    coupled = loss in COUPLED_LOSSES if isinstance(loss, str) else loss.couples_outputs
    return coupled or (isinstance(penalty, str) and penalty in {*OUTPUT_PENALTIES} - ALONE)


def require_known(parameter: str, value: object, names: Collection[str], where: str = "") -> None:
    """Raise a ValueError for a name of a loss or penalty that is none of the given ones."""
    if isinstance(value, str) and value not in names:
        kind, known = parameter.capitalize(), sorted(names)
        raise ValueError(f"{parameter} must be a {kind} or one of {known}{where}, got {value!r}.")


def has_intercept(estimator: BaseEstimator, fit_intercept: bool | None) -> bool:
    """Whether the intercept is free: as given, or by the attributes of the estimator."""
    if fit_intercept is not None:
        return fit_intercept
    fitted = np.any(getattr(estimator, "intercept_", 0.0))
    return bool(getattr(estimator, "fit_intercept", fitted))


def by_hand_of_outputs(
    estimator: BaseEstimator, data: Data, loss: str | Loss, penalty: str | Penalty, alpha: float,
    fit_intercept: bool | None,
) -> LinearFit:  # fmt: skip
    """The fit of any estimator with coef_ and intercept_ for an objective of all outputs."""
    classes = getattr(estimator, "classes_", None)
    takes_classes = loss in ("softmax", "crammer_singer") or (
        not isinstance(loss, str) and loss.of_classes
    )
    if takes_classes:
        classes = np.unique(data.y) if classes is None else classes
        Y = (data.labels(classes)[:, np.newaxis] == np.arange(len(classes))).astype(np.float64)
    else:
        Y = data.targets
    n_features, n_outputs = data.X.shape[1], Y.shape[1]
    if isinstance(loss, str):
        names = {**OUTPUT_LOSSES, **COUPLED_LOSSES}
        require_known("loss", loss, names)
        loss = names[loss](n_outputs)
    if not takes_classes:
        loss = checked_loss(loss, n_outputs)
    require_known("penalty", penalty, OUTPUT_PENALTIES, " beside this loss")
    penalty = output_penalty(penalty, 1.0, n_features, n_outputs)
    free = has_intercept(estimator, fit_intercept)
    return _joint(estimator, data, Y, loss, penalty, lambda total: alpha, free=free)
