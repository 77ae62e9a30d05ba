"""Losses of predictions with an offset for each row (`Shifted`)."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from .. import kernels
from .._floats import EPSILON, sum_and_rest
from .._immutable_base import attribute_of_part
from .._typing import Array, Indices, Interval, Numbers, Scales, Sum
from .base import Loss
from .cones import LinearPiece, LossCones
from .jensen_groups import RowGroups
from .maxima_over_multipliers import Multipliers
from .numerical import PythonKernel


def with_offset(loss: Loss, y: Array, offset: Array | None) -> tuple[Array, Loss]:
    """Targets that include offsets o, and the loss of these that l(y, z + o) is.

    For a loss of the residual the targets are y - o, rounded; for others a table with the columns
    y and o.
    """
    y, offset, loss = separate_offset(loss, y, offset)
    return y if offset is None else np.asfortranarray(np.column_stack([y, offset])), loss


def separate_offset(
    loss: Loss, y: Array, offset: Array | None
) -> tuple[Array, Array | None, Loss]:
    """Targets, the offsets that are not part of them (or None), and the loss for both."""
    posed = posed_with(loss, offset)
    return (y, offset, posed) if posed.has_offset or offset is None else (y - offset, None, posed)


def posed_with(loss: Loss, offset: Array | None) -> Loss:
    """The loss of `separate_offset`.

    Raises
    ------
    ValueError
        For a loss of several predictions that are not quantiles.
    """
    if offset is None:
        return loss
    if loss.of_residuals or loss.of_quantiles:
        return loss.with_target_error(EPSILON)
    if loss.couples_outputs:
        raise ValueError(f"offset needs a loss of one prediction for each row, got {loss!r}.")
    return Shifted(loss)


def _columns(y: Array) -> tuple[Array, Array]:
    """The targets and the offsets."""
    targets, offset = (np.ascontiguousarray(column, dtype=np.float64) for column in y.T)
    return targets, offset


@dataclass(frozen=True)
class Shifted(Loss):
    """The loss l(y_i, z_i + o_i) with offsets o_i, for targets with the columns y and o.

    Its conjugate is l*(y_i, theta_i) - theta_i o_i.

    Parameters
    ----------
    inner : Loss
        A loss of one prediction for each row.
    """

    inner: Loss
    has_offset: ClassVar[bool] = True
    is_compiled: ClassVar[bool] = False

    conjugate_domain = attribute_of_part("inner.conjugate_domain")
    lipschitz = attribute_of_part("inner.lipschitz")
    smoothness = attribute_of_part("inner.smoothness")
    has_kinks = attribute_of_part("inner.has_kinks")
    dual_is_free = attribute_of_part("inner.dual_is_free")
    linear_conjugate = attribute_of_part("inner.linear_conjugate")
    quadratic_conjugate = attribute_of_part("inner.quadratic_conjugate")
    groups_have_weights = attribute_of_part("inner.groups_have_weights")
    linear_tails = attribute_of_part("inner.linear_tails")
    can_separate = attribute_of_part("inner.can_separate")
    constant_curvature = attribute_of_part("inner.constant_curvature")
    is_log_likelihood = attribute_of_part("inner.is_log_likelihood")
    has_decisions = attribute_of_part("inner.has_decisions")
    has_cones = attribute_of_part("inner.has_cones")

    @property
    def evaluator(self) -> "ShiftedEvaluator":
        return ShiftedEvaluator(self.inner.evaluator)

    require_targets = attribute_of_part("inner.require_targets")

    def targets_of(self, y: Array) -> Array:
        return np.ascontiguousarray(y[:, 0])

    def sizes_of(self, y: Array) -> Array:
        return np.max(np.abs(y), axis=1)

    def multipliers(self, y: Array) -> Multipliers | None:
        y, offset = _columns(y)
        inner = self.inner.multipliers(y)
        if inner is None:
            return None
        return Multipliers(inner.slopes, inner.offsets + offset[:, np.newaxis] * inner.slopes)

    def pieces(self, y: Array) -> list[LinearPiece] | None:
        y, offset = _columns(np.reshape(y, (-1, 2)))
        pieces = self.inner.pieces(y)
        if pieces is None:
            return None
        return [piece._replace(offset=piece.offset - offset) for piece in pieces]

    def add_cones(self, cones: LossCones) -> None:
        pieces = self.pieces(cones.y)
        if pieces is None:
            cones.add_smooth()
        else:
            cones.add_pieces(pieces)

    # Values

    def value(self, y: Array, z: Array, z_low: Numbers = 0.0) -> Array:
        y, offset = _columns(y)
        z, rounding = sum_and_rest(z, offset)
        return self.inner.value(y, z, z_low + rounding)

    def gradient(self, y: Array, z: Array) -> Array:
        y, offset = _columns(y)
        return self.inner.gradient(y, z + offset)

    def weights_of_means(self, y: Array, z: Array) -> Array | None:
        y, offset = _columns(y)
        return self.inner.weights_of_means(y, z + offset)

    def largest(self, y: Array, z: Array, z_low: Numbers, error: Numbers) -> Array:
        y, offset = _columns(y)
        z, rounding = sum_and_rest(z, offset)
        low = z_low + rounding
        return self.inner.largest(y, z, low, error + EPSILON * np.abs(low))

    def decision_costs(
        self, y: Array, weights: Array, z: Array, error: Array, theta: Array
    ) -> Array:
        y, offset = _columns(y)
        z = z + offset
        return self.inner.decision_costs(y, weights, z, error + EPSILON * np.abs(z), theta)

    # The conjugate

    def dual_bounds(self, y: Array) -> tuple[Array, Array]:
        return self.inner.dual_bounds(self.targets_of(y))

    def _clip(self, y: Array, theta: Array) -> Array:
        return self.inner._clip(self.targets_of(y), theta)

    def conjugate(self, y: Array, theta: Array) -> Array:
        y, offset = _columns(y)
        return self.inner.conjugate(y, theta) - theta * offset

    def dual_values(self, y: Array, weights: Array, theta: Array, scales: Scales) -> list[Sum]:
        y, offset = _columns(y)
        linear, error = kernels.compensated_dot(weights, theta, offset)
        values = []
        sums = self.inner.dual_values(y, weights, theta, scales)
        for scale, (value, rounding) in zip(scales, sums, strict=True):
            size = abs(value) + abs(scale * linear)
            rounding = rounding + scale * error + 2.0 * EPSILON * size
            values.append((value + scale * linear, rounding))
        return values

    # Constants

    def best_constant(self, y: Array, weights: Array) -> float:
        y, offset = _columns(y)
        return self.inner.constant_with_offsets(y, weights, offset)

    distant_constant = attribute_of_part("inner.distant_constant")

    def row_groups(self, y: Array, weights: Array) -> RowGroups:
        y, offset = _columns(y)
        groups = []
        for group in self.inner.row_groups(y, weights):
            mean, error = kernels.compensated_dot(group.weights, offset)
            total = group.total or 1.0
            error = error / total + 4.0 * EPSILON * abs(mean / total)
            groups.append(replace(group, offset=mean / total, offset_error=error))
        return groups

    def constant_interval(self, groups: RowGroups, value: float, bounds: list[float]) -> Interval:
        """See `Loss.constant_interval`; the difference of the mean offsets adds to the bounds."""
        offsets = [group.offset for group in groups if group.total > 0.0]
        middle = 0.5 * (min(offsets) + max(offsets)) if offsets else 0.0
        further = []
        for group, bound in zip(groups, bounds, strict=True):
            distance = abs(group.offset - middle) + group.offset_error
            further.append(bound + distance + 4.0 * EPSILON * (bound + distance + abs(middle)))
        lower, upper = self.inner.constant_interval(groups, value, further)
        rounding = 4.0 * EPSILON * abs(middle)
        return (
            lower - middle - rounding - EPSILON * abs(lower),
            upper - middle + rounding + EPSILON * abs(upper),
        )


class ShiftedEvaluator(PythonKernel[PythonKernel]):
    """The evaluator of a loss for predictions with offsets, from that of the loss itself."""

    def prox_conjugate(self, y: Array, theta: Array, step: Array) -> Array:
        y, offset = _columns(y)
        return self.loss.prox_conjugate(y, theta + step * offset, step)

    def smoothed_derivatives(
        self, y: Array, weights: Array, theta: Array, z: Array, sigma: float, *outputs: Array
    ) -> tuple[float, float]:
        y, offset = _columns(y)
        primal, dual = self.loss.smoothed_derivatives(
            y, weights, theta, z + offset, sigma, *outputs
        )
        return primal, dual + kernels.dot(outputs[1], offset)

    def _derivative(self, y: Array, theta: Array, z: Array, sigma: float) -> Array:
        y, offset = _columns(y)
        return self.loss._derivative(y, theta, z + offset, sigma)

    def smoothed_slope(
        self, y: Array, weights: Array, theta: Array, z: Array, direction: Array, step: float,
        sigma: float,
    ) -> float:  # fmt: skip
        y, offset = _columns(y)
        return self.loss.smoothed_slope(y, weights, theta, z + offset, direction, step, sigma)

    def rows_that_bend(
        self, y: Array, theta: Array, z: Array, sigma: float, derivative: Array, curvature: Array,
        radius: float,
    ) -> Indices:  # fmt: skip
        y, offset = _columns(y)
        return self.loss.rows_that_bend(y, theta, z + offset, sigma, derivative, curvature, radius)
