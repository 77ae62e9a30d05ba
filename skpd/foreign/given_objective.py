"""Objectives that users give for any linear model: a mean loss plus alpha times a penalty."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from numbers import Real
from types import SimpleNamespace
from typing import Self

import numpy as np
from sklearn.base import BaseEstimator

from ..estimators import multinomial
from ..estimators.names import LOSSES, PENALTIES, chosen
from ..estimators.output_parameters import (
    OUTPUT_LOSSES,
    OUTPUT_PENALTIES,
    checked_loss,
    output_penalty,
)
from ..losses import L2Norm, Loss
from ..penalties import Penalty
from .data import Data, fits
from .linear_fit import LinearFit
from .outputs import joint_fit

COUPLED_LOSSES: dict[str, Callable[[int], Loss]] = {"l2_norm": L2Norm, **multinomial.LOSSES}
# penalties of single coefficients: with a loss of single predictions, outputs are independent
ALONE = {"l1", "l2"}


@dataclass(frozen=True)
class GivenObjective:
    """An objective that the user gives: a mean loss plus alpha times a penalty."""

    loss: str | Loss
    penalty: str | Penalty
    alpha: float
    fit_intercept: bool | None

    @classmethod
    def of(
        cls, loss: str | Loss | None, penalty: str | Penalty | None, alpha: float | None,
        fit_intercept: bool | None,
    ) -> Self | None:  # fmt: skip
        """The objective of the parts, None if none of them is given.

        Raises
        ------
        TypeError
            If some of the parts are given, but not all.
        ValueError
            If alpha is no number, or fit_intercept neither True nor False.
        """
        if loss is not None and penalty is not None and alpha is not None:
            if not isinstance(alpha, Real):
                raise ValueError(f"alpha must be a number of at least 0, got {alpha!r}.")
            if not (fit_intercept is None or isinstance(fit_intercept, bool | np.bool_)):
                raise ValueError(
                    f"fit_intercept must be True, False or None, got {fit_intercept!r}."
                )
            return cls(loss, penalty, float(alpha), fit_intercept)
        parts = {"loss": loss, "penalty": penalty, "alpha": alpha}
        missing = [name for name, value in parts.items() if value is None]
        if len(missing) < 3 or fit_intercept is not None:
            raise TypeError(
                "loss, penalty and alpha must be given together (and fit_intercept with them): "
                f"{' and '.join(missing)} missing."
            )
        return None

    def linear_fits(self, estimator: BaseEstimator, data: Data) -> list[LinearFit]:
        """The fits of any estimator with coef_ and intercept_, one for each output."""
        loss, penalty = self.loss, self.penalty
        coupled = loss in COUPLED_LOSSES if isinstance(loss, str) else loss.couples_outputs
        if coupled or (isinstance(penalty, str) and penalty in {*OUTPUT_PENALTIES} - ALONE):
            return [self._fit_of_outputs(estimator, data)]
        _require_known("loss", loss, {*LOSSES, *COUPLED_LOSSES})
        _require_known("penalty", penalty, {*PENALTIES, *OUTPUT_PENALTIES})
        loss = chosen("loss", loss, LOSSES)
        penalty = chosen("penalty", penalty, PENALTIES)
        if loss.of_labels:
            labels = getattr(estimator, "classes_", np.unique(data.y))  # of y where it has none
            outputs = list(data.one_vs_rest(SimpleNamespace(classes_=labels)))
        else:
            outputs = data.outputs()
        free = self._has_intercept(estimator)
        return fits(estimator, data, outputs, loss, penalty, self._alpha, fit_intercept=free)

    def _fit_of_outputs(self, estimator: BaseEstimator, data: Data) -> LinearFit:
        """The fit of any estimator with coef_ and intercept_ for an objective of all outputs."""
        loss = self.loss
        takes_classes = loss in list(multinomial.LOSSES) or getattr(loss, "of_classes", False)
        if takes_classes:
            classes = getattr(estimator, "classes_", np.unique(data.y))
            Y = (data.labels(classes)[:, np.newaxis] == np.arange(len(classes))).astype(np.float64)
        else:
            Y = data.targets
        if isinstance(loss, str):
            names = {**OUTPUT_LOSSES, **COUPLED_LOSSES}
            _require_known("loss", loss, names)
            loss = names[loss](Y.shape[1])
        if not takes_classes:
            loss = checked_loss(loss, Y.shape[1])
        _require_known("penalty", self.penalty, OUTPUT_PENALTIES, " beside this loss")
        penalty = output_penalty(self.penalty, 1.0, data.X.shape[1], Y.shape[1])
        free = self._has_intercept(estimator)
        return joint_fit(estimator, data, Y, loss, penalty, self._alpha, free=free)

    def _alpha(self, total: float) -> float:
        return self.alpha

    def _has_intercept(self, estimator: BaseEstimator) -> bool:
        """Whether the intercept is free: as given, or by the attributes of the estimator."""
        if self.fit_intercept is not None:
            return self.fit_intercept
        fitted = np.any(getattr(estimator, "intercept_", 0.0))
        return bool(getattr(estimator, "fit_intercept", fitted))


def _require_known(parameter: str, value: object, names: Collection[str], where: str = "") -> None:
    """Raise a ValueError for a name of a loss or penalty that is none of the given ones."""
    if isinstance(value, str) and value not in names:
        kind, known = parameter.capitalize(), sorted(names)
        raise ValueError(f"{parameter} must be a {kind} or one of {known}{where}, got {value!r}.")
