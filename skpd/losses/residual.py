"""Losses of the residual z - y."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isfinite, sqrt
from typing import ClassVar

import numpy as np

from .. import kernels
from .._floats import EPSILON, LEAST, sum_and_rest
from .._immutable_base import computed, number
from .._typing import Array, Interval, Numbers, Scales, Sum
from .base import Loss, ScalarLoss, _depth
from .cones import LinearPiece, LossCones
from .jensen_groups import RowGroups, all_rows
from .maxima_over_multipliers import Multipliers
from .numerical import POWERS, last_above, root_of_slope


class ResidualLoss(ScalarLoss):
    """A loss of the residual, l(y, z) = phi(z - y) with phi(0) = 0.

    A subclass of your own defines ``conjugate_domain``, ``_phi``, ``_phi_conjugate`` and
    ``_phi_derivative``, as in the example; estimators such as `PdproxRegressor` then take it as
    their ``loss``. `skpd.losses.check_loss` tests it.

    Examples
    --------
    The loss ``phi(r) = log(cosh(r))``, whose conjugate is finite on [-1, 1]:

    >>> import numpy as np
    >>> from scipy.special import xlog1py
    >>> from skpd.losses import ResidualLoss, check_loss
    >>> class LogCosh(ResidualLoss):
    ...     conjugate_domain = (-1.0, 1.0)
    ...     smoothness = 1.0  # the largest second derivative
    ...     linear_tails = False  # there is curvature wherever there is a slope
    ...
    ...     def _phi(self, t):
    ...         return np.logaddexp(t, -t) - np.log(2.0)
    ...
    ...     def _phi_conjugate(self, u):
    ...         a = np.clip(u, -1.0, 1.0)
    ...         entropy = 0.5 * (xlog1py(1.0 + a, a) + xlog1py(1.0 - a, -a))
    ...         return np.where(a == u, entropy, np.inf)
    ...
    ...     def _phi_derivative(self, t):
    ...         return np.tanh(t)
    >>> check_loss(LogCosh())
    """

    of_residuals: ClassVar[bool] = True

    def value(self, y: Array, z: Array, z_low: Numbers = 0.0) -> Array:
        return self._phi((z - y) + z_low)

    def _argument(self, y: Array, z: Array, z_low: Numbers) -> tuple[Array, Numbers]:
        residual, missed = sum_and_rest(z, -y)
        residual, second_error = sum_and_rest(residual, z_low)
        missed = np.abs(missed) + np.abs(second_error)
        return residual, missed + self.target_error * np.abs(y) if self.target_error else missed

    def gradient(self, y: Array, z: Array) -> Array:
        return self._phi_derivative(z - y)

    def dual_bounds(self, y: Array) -> tuple[Array, Array]:
        lower, upper = self.conjugate_domain
        return np.full(len(y), lower), np.full(len(y), upper)

    def _clip(self, y: Array, theta: Array) -> Array:
        return np.clip(theta, *self.conjugate_domain)

    def conjugate(self, y: Array, theta: Array) -> Array:
        return self._phi_conjugate(theta) + y * theta

    def dual_values(self, y: Array, weights: Array, theta: Array, scales: Scales) -> list[Sum]:
        # The sum is scaled, not its terms: these would be rounded, and may cancel.
        linear, error = kernels.compensated_dot(weights, theta, y)
        if not self.is_compiled:  # phi* may have an error of a few roundings of its argument
            error += 4.0 * EPSILON * kernels.dot(weights, np.abs(theta))
        error += self._error_by_targets(y, weights, theta)
        values = []
        sums = self._conjugate_sums(weights, theta, scales)
        for scale, value in zip(scales, sums, strict=True):
            # phi* >= 0, and its slope times its argument is at most twice it
            rounding = 2.0 * _depth(len(theta)) * EPSILON * value
            rounding += scale * error + 2.0 * EPSILON * (scale * abs(linear) + value)
            values.append((-value - scale * linear, rounding))
        return values

    def _conjugate_sums(self, weights: Array, theta: Array, scales: tuple[float, ...]) -> list:
        """The sums of weights_i phi*(scale theta_i) at several scales."""
        return [float(np.sum(weights * self._phi_conjugate(scale * theta))) for scale in scales]

    def best_constant(self, y: Array, weights: Array) -> float:
        used = y[weights > 0.0]
        ends = np.array([np.min(used), np.max(used)])  # the minimiser is between them
        root = root_of_slope(
            lambda points: np.array([weights @ self._phi_derivative(b - y) for b in points]),
            ends,
            n_parts=2,
        )
        return min(root, float(ends[1]))

    def _residual_interval(self, value: float) -> Interval:
        """The ends of an interval that contains every t with phi(t) <= value."""
        outwards = POWERS[::-1]
        lower = -abs(last_above(self._phi, value, -outwards))
        return lower, abs(last_above(self._phi, value, outwards))

    def row_groups(self, y: Array, weights: Array) -> RowGroups:
        return all_rows(y, weights, self.target_error)

    def constant_interval(self, groups: RowGroups, value: float, bounds: list[float]) -> Interval:
        return interval_of_constants(groups, value, bounds, self._residual_interval)


def interval_of_constants(
    groups: RowGroups, value: float, bounds: list[float], of_residuals: Callable[[float], Interval]
) -> Interval:
    """`Loss.constant_interval` for a single group, by Jensen's inequality for the residuals.

    ``of_residuals`` is an interval that contains every residual with at most a given loss.
    """
    (group,), (bound,) = groups, bounds
    mean = group.centre
    lower, upper = of_residuals(value / group.total)
    radius = bound + group.error + 64.0 * EPSILON * (abs(mean) + max(-lower, upper) + bound)
    return mean + lower - radius, mean + upper + radius


def weighted_quantile(values, weights: Array, quantile):
    positive = weights > 0
    return float(
        np.quantile(values[positive], quantile, weights=weights[positive], method="inverted_cdf")
    )


class QuadraticResidual(ResidualLoss):
    """A loss with ``phi*(u) = epsilon |u| + q u^2 / 2`` on [lower, upper], an interval around 0.

    It is linear or a parabola in pieces: with s = r - clip(r, -epsilon, epsilon) and the slope
    u = clip(s / q, lower, upper), phi(r) = u (s - q u / 2).
    """

    epsilon: float = 0.0

    def pieces(self, y: Array) -> list[LinearPiece] | None:
        (lower, upper), q = self.conjugate_domain, self._conjugate_curvature
        if self.epsilon == 0.0:
            return [LinearPiece(1.0, y, lower, upper, q)]
        return [
            LinearPiece(1.0, y + self.epsilon, 0.0, upper, q),
            LinearPiece(-1.0, y - self.epsilon, 0.0, -lower, q),
        ]

    def largest(self, y: Array, z: Array, z_low: Numbers, error: Numbers) -> Array:
        beyond = np.abs(self._beyond(np.array(self.arguments(y, z, z_low, error))))
        # squares may underflow
        return super().largest(y, z, z_low, error) + np.minimum(np.max(beyond, axis=0), LEAST)

    def _beyond(self, t: Array) -> Array:
        """The part of residuals that is outside of the tube of width epsilon."""
        return t - np.clip(t, -self.epsilon, self.epsilon) if self.epsilon else t

    def _phi(self, t: Array) -> Array:
        (lower, upper), q, beyond = (
            self.conjugate_domain,
            self._conjugate_curvature,
            self._beyond(t),
        )
        if q == 0.0:
            return np.maximum(lower * beyond, upper * beyond)
        slope = np.clip(beyond / q, lower, upper)
        return slope * (beyond - 0.5 * q * slope)

    def _phi_conjugate(self, u: Array) -> Array:
        lower, upper = self.conjugate_domain
        value = self.epsilon * np.abs(u) + 0.5 * self._conjugate_curvature * u * u
        return np.where((u >= lower) & (u <= upper), value, inf)

    def _phi_derivative(self, t: Array) -> Array:
        (lower, upper), beyond = self.conjugate_domain, self._beyond(t)
        if self._conjugate_curvature == 0.0:
            return upper * (beyond > 0.0) + lower * (beyond < 0.0)
        return np.clip(beyond / self._conjugate_curvature, lower, upper)

    def best_constant(self, y: Array, weights: Array) -> float:
        """The root of the slope of the mean loss, which is linear between its breakpoints."""
        (lower, upper), q = self.conjugate_domain, self._conjugate_curvature
        ends = [self.epsilon - q * lower, self.epsilon, -self.epsilon, -self.epsilon - q * upper]
        offsets = np.unique([end for end in ends if isfinite(end)])
        points = np.add.outer(offsets, y).ravel()
        if q == 0.0:  # the slope rises by the same number at all points of a row
            quantile = lower / (lower - upper)
            return weighted_quantile(points, np.tile(weights, len(offsets)), quantile)
        points.sort()

        def slope(b: float) -> float:
            return float(weights @ self._phi_derivative(b - y))

        flat = _depth(len(y)) * EPSILON * -slope(points[0])  # a slope that may be a rounding error
        left = bisect_left(points, -flat, key=slope)
        right = bisect_right(points, flat, lo=left, key=slope)
        if right > left:  # the middle of where the mean loss is least
            return 0.5 * float(points[left] + points[right - 1])
        first, end = points[left - 1 : left + 1]
        low, high = slope(first), slope(end)
        return float(first - low * (end - first) / (high - low))

    def _residual_interval(self, value: float) -> Interval:
        lower, upper = (self._distance(value, abs(end)) for end in self.conjugate_domain)
        return -lower, upper

    def _distance(self, value: float, steepest: float) -> float:
        """The size of the residual with this loss, on the side with this steepest slope."""
        q = self._conjugate_curvature
        if value <= 0.5 * q * steepest * steepest:
            return self.epsilon + sqrt(2.0 * q * value)
        return self.epsilon + value / steepest + 0.5 * q * steepest

    @property
    def evaluator(self) -> kernels.ResidualLoss:
        return kernels.ResidualLoss(
            *self.conjugate_domain, self.epsilon, self._conjugate_curvature
        )


@dataclass(frozen=True)
class Squared(QuadraticResidual):
    """Half the squared residual, phi(r) = r^2 / 2; phi*(u) = u^2 / 2.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.losses import Squared
    >>> Squared().value(np.zeros(1), np.array([3.0]))
    array([4.5])
    """

    quadratic_conjugate: ClassVar[bool] = True
    conjugate_domain: ClassVar[Interval] = (-inf, inf)
    linear_tails: ClassVar[bool] = False
    constant_curvature: ClassVar[bool] = True
    conjugate_curvature: ClassVar[float] = 1.0
    piecewise_quadratic: ClassVar[bool] = True
    pieces = Loss.pieces  # none, as cones have the square itself

    def add_cones(self, cones: LossCones) -> None:
        cones.add_half_squares()

    def _phi_conjugate(self, u: Array) -> Array:
        return self._phi(u)  # everywhere, without the mask of a domain

    def _phi(self, t: Array) -> Array:
        half_square = t * t
        half_square *= 0.5
        return half_square

    def largest(self, y: Array, z: Array, z_low: Numbers, error: Numbers) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            return self._phi(self._largest_residual(y, z, z_low, error))

    def largest_mean(
        self, y: Array, weights: Array, z: Array, z_low: Numbers, error: Numbers
    ) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            size = self._largest_residual(y, z, z_low, error)
        return 0.5 * sum(kernels.compensated_dot(weights, size, size))

    def _largest_residual(self, y: Array, z: Array, z_low: Numbers, error: Numbers):
        # z - y is exact where z_low is not small in comparison; all roundings are relative
        size = z - y
        size += z_low
        np.abs(size, out=size)
        size += error
        if self.target_error:
            size += self.target_error * np.abs(y)
        return size

    def _conjugate_sums(self, weights: Array, theta: Array, scales: tuple[float, ...]) -> list:
        square = sum(kernels.compensated_dot(weights, theta, theta))
        return [scale * scale * (0.5 * square) for scale in scales]

    def _phi_derivative(self, t: Array) -> Array:
        return t

    def best_constant(self, y: Array, weights: Array) -> float:
        return float(np.average(y, weights=weights))

    def best_constants(self, y: Array, weights: Array, rows_of_outputs: list) -> Array:
        if not isinstance(rows_of_outputs[0], slice):  # the rows of tasks differ
            return super().best_constants(y, weights, rows_of_outputs)
        c, table = weights.reshape(-1, len(rows_of_outputs)), y.reshape(-1, len(rows_of_outputs))
        return np.average(table, axis=0, weights=c)


@dataclass(frozen=True)
class Absolute(QuadraticResidual):
    """Absolute residual, ``phi(r) = |r|``; phi* = 0 on [-1, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.losses import Absolute
    >>> Absolute().value(np.zeros(1), np.array([-3.0]))
    array([3.])
    """

    linear_conjugate: ClassVar[bool] = True
    conjugate_domain: ClassVar[Interval] = (-1.0, 1.0)
    conjugate_curvature: ClassVar[float] = 0.0


@dataclass(frozen=True)
class Pinball(QuadraticResidual):
    """Pinball loss of quantile regression, as in scikit-learn's QuantileRegressor.

    phi(r) = (1 - quantile) r for r >= 0 and -quantile r below; phi* = 0 on
    [-quantile, 1 - quantile].

    Parameters
    ----------
    quantile : float, default=0.5
        The quantile that the model estimates, strictly between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.losses import Pinball
    >>> Pinball(quantile=0.9).value(np.zeros(2), np.array([-1.0, 1.0]))
    array([0.9, 0.1])
    """

    quantile: float = number(0.5, above=0.0, below=1.0)
    linear_conjugate: ClassVar[bool] = True
    conjugate_curvature: ClassVar[float] = 0.0

    conjugate_domain = computed(lambda self: (-self.quantile, 1.0 - self.quantile))

    def multipliers(self, y: Array) -> Multipliers:
        slopes = np.tile([-self.quantile, 1.0 - self.quantile], (len(y), 1))
        return Multipliers(slopes, -y[:, np.newaxis] * slopes)


@dataclass(frozen=True)
class Huber(QuadraticResidual):
    """Huber loss: ``r^2 / 2`` up to ``|r| = delta``, ``delta (|r| - delta / 2)`` beyond.

    phi*(u) = u^2 / 2 on [-delta, delta].

    Parameters
    ----------
    delta : float, default=1.35
        The absolute residual beyond which the loss is linear, in units of y, greater than 0.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.losses import Huber
    >>> Huber(delta=1.0).value(np.zeros(2), np.array([0.5, 3.0]))
    array([0.125, 2.5  ])
    """

    delta: float = number(1.35, above=0.0)
    quadratic_conjugate: ClassVar[bool] = True
    conjugate_curvature: ClassVar[float] = 1.0

    conjugate_domain = computed(lambda self: (-self.delta, self.delta))
