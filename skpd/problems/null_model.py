"""The best constant prediction of rows, from which relative gaps are measured (`NullModel`)."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._floats import EPSILON
from .solution import Point


@dataclass(frozen=True)
class NullModel:
    """The best constant prediction, its objective value and the scales that follow from it.

    Attributes
    ----------
    point : Point
        The coefficients 0, the constant, and a subgradient of the losses there as dual point. Its
        sums over the rows of each free number vanish, if rounding allows it.
    objective : float
        The objective value, rounded up to a relative rounding error.
    rounding : float
        The increase of ``objective`` by bounds on rounding errors.
    unit : float
        The scale of objective values: ``objective`` without ``rounding``, or its rounding error.
    prediction_scale : float
        The scale of predictions: the loss of the best constant divided by the mean absolute slope
        of the losses there.
    lower : float or None
        A lower bound on the objective value of every constant. None if it follows from the dual
        point of ``point`` (`skpd.certificates.relative_gaps`).
    """

    point: Point
    objective: float
    rounding: float = 0.0
    unit: float = 0.0
    prediction_scale: float = 1.0
    lower: float | None = None


@np.errstate(over="ignore", invalid="ignore")
def null_model(rows: Any) -> NullModel:
    """The null model of rows in memory."""
    y, weights, loss, point = rows.y, rows.weights, rows.loss, rows.best_constant
    z = rows.predictions_of_constant(point.intercept)
    objective = exact = loss.largest_mean(y, weights, z, 0.0, 0.0)
    if loss.target_error:  # errors of targets are none of the value itself
        exact = loss.with_target_error(0.0).largest_mean(y, weights, z, 0.0, 0.0)
    losses = loss.value(y, z)
    if not np.isfinite(losses).all():  # of rows without a weight they do not count
        losses = np.where(weights > 0.0, losses, 0.0)
    rounding = max(exact - float(np.sum(weights * losses)), 0.0)
    unit = objective - rounding if objective < np.inf else objective  # exactly 0 without a loss
    if np.any(point.intercept):
        far = rows.predictions_of_constant(loss.distant_constant(point.intercept))
        unit = max(objective, EPSILON * float(np.sum(weights * loss.value(y, far))))
    # a point of a loss with kinks is balanced between subgradients
    gradient = loss.gradient(y, z) if loss.has_kinks else point.dual_coef
    slope = float(weights @ np.abs(gradient))
    lower = loss.least_mean_of_constants(y, weights) if rows.fit_intercept else None
    return NullModel(point, objective, rounding, unit, scale_of(objective, slope), lower)


def scale_of(objective: float, slope: float) -> float:
    """The scale of predictions of a loss with this value and mean slope at the best constant."""
    return objective / slope if slope > 0.0 and objective > 0.0 else 1.0
