"""What the estimators of a family minimise: a mean loss and a penalty (`Family`)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator

from .._typing import Array, Numbers
from ..estimators.names import elastic_net
from ..losses import Loss, Squared
from ..penalties import Penalty, for_features
from .data import Data, fits, signed
from .linear_fit import LinearFit


@dataclass(frozen=True)
class Family:
    """Estimators with the same objective, of a mean loss plus alpha times a penalty.

    A call with an estimator and its data returns the fits, one for each output.

    Attributes
    ----------
    loss, penalty : callable
        Functions of the estimator.
    alpha : callable
        A function of the estimator, the sum of the weights of the rows, and their number.
    outputs : callable
        A function of the estimator and the data that returns targets and weights of each output.
    fit_intercept : bool, default=None
        Whether there is a free intercept; the estimator's own by default.
    column : callable, default=None
        A function of the estimator: the value of a column whose coefficient is the intercept.
    """

    loss: Callable[[BaseEstimator], Loss]
    penalty: Callable[[BaseEstimator], Penalty]
    alpha: Callable[[BaseEstimator, float, int], Numbers]
    outputs: Callable[[BaseEstimator, Data], list]
    fit_intercept: bool | None = None
    column: Callable[[BaseEstimator], float | None] = lambda estimator: None

    def __call__(self, estimator: BaseEstimator, data: Data) -> list[LinearFit]:
        outputs, n_rows = self.outputs(estimator, data), data.X.shape[0]
        return fits(
            estimator, data, outputs, self.loss(estimator), self.penalty(estimator),
            lambda total: self.alpha(estimator, total, n_rows),
            fit_intercept=self.fit_intercept, column=self.column(estimator),
        )  # fmt: skip


def given(estimator: BaseEstimator, name: str) -> Numbers:
    """The value of a parameter, or the value that cross-validation chose for it."""
    chosen = getattr(estimator, f"{name}_", None)
    return getattr(estimator, name) if chosen is None else chosen


# The weight of the penalty beside the mean loss


def alpha(estimator: BaseEstimator, total: float, n_rows: int) -> Numbers:
    """The weight of objectives with the mean loss."""
    return given(estimator, "alpha")


def alpha_of_sum(estimator: BaseEstimator, total: float, n_rows: int) -> Numbers:
    """The weight of objectives with the sum of the losses, which may be one for each output."""
    return np.asarray(given(estimator, "alpha")) / total


def inverse_C(estimator: BaseEstimator, total: float, n_rows: int) -> float:
    """The weight of objectives with C times the sum of the losses."""
    return 1.0 / (float(estimator.C) * total)


def intercept_column(estimator: BaseEstimator) -> float | None:
    """The column of liblinear, whose coefficient is the intercept; None where there is none."""
    return float(estimator.intercept_scaling) if estimator.fit_intercept else None


# Outputs


def targets(estimator: BaseEstimator, data: Data) -> list[tuple[Array, Array]]:
    """The outputs of a regression."""
    return data.outputs()


def classes(estimator: BaseEstimator, data: Data) -> list[tuple[Array, Array]]:
    """The outputs of a classifier without class weights, one for two classes."""
    return list(data.one_vs_rest(estimator))


# Least squares with an l1 norm: sum_i s_i r_i^2 / (2 sum(s)) + alpha R(w)


def _weighted(estimator: BaseEstimator, ratio: float) -> Penalty:
    """The elastic net, with the signs and the weights of features of an estimator that has any."""
    penalty, weights = elastic_net(ratio), getattr(estimator, "weights", None)
    return signed(estimator, penalty if weights is None else for_features(penalty, weights))


LASSO = Family(lambda e: Squared(), lambda e: _weighted(e, 1.0), alpha, targets)
ELASTIC_NET = Family(
    lambda e: Squared(), lambda e: _weighted(e, float(given(e, "l1_ratio"))), alpha, targets
)
