"""Problems of several quantiles that must not cross on the data.

    minimise over W, b   sum_i c_i sum_k pinball_k(x_i.w_k + b_k - y_i) + alpha R(W)
    subject to           x_i.w_k + b_k <= x_i.w_{k+1} + b_{k+1}    for all rows i and all k

The rows are those of positive weight. As the differences of predictions are affine in x, the
quantiles do not cross within the convex hull of the rows either.

The constraint of order is part of the loss of a row (`skpd.losses.NonCrossingPinball`), so that
lower bounds are computed as for other losses. An upper bound requires a model whose predictions
are in order in exact arithmetic. As intercepts are free, each of them in turn is raised by the
largest amount by which the previous quantile is above it.
"""

from math import inf
from typing import Any

import numpy as np

from .._floats import EPSILON
from .._typing import Array
from ..certificates.objective import DualPoint
from ..losses import Loss, NonCrossingPinball, Pinball
from .output_points import OutputsPoint
from .outputs import OutputsProblem

__all__ = ["NonCrossingProblem"]


class NonCrossingProblem(OutputsProblem):
    """The problem of several quantiles of one target, each an output with an intercept.

    The parameters are those of `OutputsProblem`, with the loss `NonCrossingPinball` and the target
    repeated for every quantile.
    """

    loss: NonCrossingPinball

    def loss_of_output(self, k: int) -> Loss:
        """The pinball loss of a single quantile, which may cross the others."""
        return Pinball(self.loss.quantiles[k])

    # Models in order

    def feasible_model(self, coef: Array, intercept: Any) -> tuple[Array, Any]:
        """The model with intercepts raised until neither exact nor rounded predictions cross."""
        coef, intercept = super().feasible_model(coef, intercept)
        coef = np.ascontiguousarray(coef, dtype=np.float64)
        apart, errors = self._apart(*self.precise_predictions(coef, intercept))
        rounded, _ = self._apart(self.predictions(coef, intercept)[0])
        overlaps = np.max(np.maximum(errors - apart, -rounded), axis=0)
        return coef, intercept + _raises(overlaps, float(np.max(np.abs(intercept))))

    def _apart(
        self, z: Array, low: Array | float = 0.0, error: Array | float = 0.0
    ) -> tuple[Array, Array]:
        """The differences of predictions of successive quantiles, and bounds on their errors.

        Both are of shape (n_counted_rows, n_outputs - 1).
        """
        counted = np.flatnonzero(self.weights)
        z, low, error = (
            np.broadcast_to(x, self.n_samples)[counted].reshape(-1, self.n_outputs)
            for x in (z, low, error)
        )
        high, low = np.diff(z, axis=1), np.diff(low, axis=1)
        rounding = 4.0 * EPSILON * (np.abs(high) + np.abs(low))
        return high + low, error[:, 1:] + error[:, :-1] + rounding

    def _largest_loss(self, z: Array, low: Array | float, error: Array) -> float:
        """The largest mean loss, of the model with intercepts raised by possible crossings.

        Errors of predictions may hide crossings of at most their size. The value is inf where
        predictions cross by more than that.
        """
        apart, errors = self._apart(z, low, error)
        if not np.all(apart >= -errors):
            return inf
        raises = _raises(np.max(errors - apart, axis=0), 0.0)
        return super()._largest_loss(z, low + self.spread(raises), error)

    def _loss_by_errors(self, value: float, error: Array) -> float:
        """An estimate of the change of the loss by errors, including the raised intercepts."""
        return 2.0 * self.n_outputs * float(np.max(error) * np.sum(self.weights))

    # Dual points

    def projected(self, point: DualPoint) -> DualPoint:
        """The projection of each quantile onto a box around the point and sums of 0."""
        bounds = self.loss.box_around(self.y, point.theta)
        theta = self._projected_on_intervals(point.theta, *bounds)
        return OutputsPoint(self, self.loss.project_dual(self.y, theta))


def _raises(overlaps: Array, size: float) -> Array:
    """The least amounts by which to raise the quantiles so that they do not cross, rounded up.

    The amount of the first quantile is 0.

    Parameters
    ----------
    overlaps : ndarray of shape (n_outputs - 1,)
        The largest amount by which each quantile except the last is above the next; negative if
        it is below.
    size : float
        The size of the intercepts to which the amounts are added, for a bound on rounding.
    """
    raises = np.zeros(len(overlaps) + 1)
    for k, overlap in enumerate(overlaps):
        needed = raises[k] + overlap
        if raises[k] > 0.0 or needed > 0.0:
            needed += 4.0 * EPSILON * (size + raises[k] + abs(overlap))
        raises[k + 1] = max(needed, 0.0)
    return raises
