"""The pinball losses of several quantiles that must not cross.

A row has the target y, repeated for each quantile, and the predictions z_1, ..., z_K ::

    l(y, z) = sum_k pinball_k(z_k - y)    if z_1 <= ... <= z_K, else inf,

with slopes -q_k and 1 - q_k. With multipliers mu_k >= 0 of z_k <= z_{k+1} and mu_0 = mu_K = 0 ::

    l*(y, theta) = y sum_k theta_k    if -q_k <= theta_k + mu_{k-1} - mu_k <= 1 - q_k for some mu,

as the multipliers cancel in the sum. Such mu exist if and only if ::

    theta_1 + ... + theta_j >= -(q_1 + ... + q_j),
    theta_{j+1} + ... + theta_K <= (1 - q_{j+1}) + ... + (1 - q_K)     for all j.

To see this, note that ordered predictions are sums of steps: the inequalities are
theta.(z - y) <= l(y, z) for z - y = -1 in the first j entries and 0 in the others, and for
z - y = 1 in the last K - j entries and 0 in the others. For K = 1 the loss is the pinball loss.
"""

from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any, ClassVar

import numpy as np

from .. import kernels
from .._checks import shown
from .._floats import EPSILON
from .._immutable_base import attribute_of_part, computed
from .._typing import Array, Indices, Interval, Numbers
from .cones import LossCones
from .coupled_outputs import FURTHEST, CoupledEvaluator, CoupledResidualLoss
from .jensen_groups import RowGroups
from .residual import Pinball, interval_of_constants, weighted_quantile


@dataclass(frozen=True)
class NonCrossingPinball(CoupledResidualLoss):
    """The pinball losses of several quantiles, inf where these are not in order.

    The predictions of all quantiles are side by side, and the target of the sample is repeated for
    each of them. The method `value` returns the sum of the pinball losses for any predictions:
    whether the predictions are in order is decided for a model as a whole
    (`skpd.problems.output_rows`), as rounding errors may hide it.

    Parameters
    ----------
    quantiles : tuple of float of length n_outputs
        Strictly increasing, in (0, 1).

    Raises
    ------
    ValueError
        If the quantiles are not strictly increasing or not in (0, 1).

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.losses import NonCrossingPinball
    >>> loss = NonCrossingPinball((0.1, 0.9))
    >>> float(loss.value(np.zeros(2), np.array([-1.0, 2.0])).sum().round(3))
    0.3

    Where the constraint of order is active, the entries of a dual point may lie outside of the
    intervals [-0.1, 0.9] and [-0.9, 0.1] of the single pinball losses:

    >>> loss.project_dual(np.zeros(2), np.array([1.5, -0.7])).round(6)
    array([ 1.5, -0.7])
    """

    quantiles: Any
    of_quantiles: ClassVar[bool] = True
    lipschitz: ClassVar[float] = inf
    conjugate_domain: ClassVar[tuple] = (-inf, inf)  # of a single entry, the others being free

    def __post_init__(self) -> None:
        try:
            values = np.atleast_1d(np.asarray(self.quantiles, dtype=np.float64))
        except (TypeError, ValueError):
            values = np.empty(0)
        increasing = len(values) and np.all(np.diff(values, prepend=0.0, append=1.0) > 0.0)
        if values.ndim > 1 or not increasing:
            raise ValueError(
                "quantiles must be strictly increasing numbers in (0, 1), such as 0.9 for the "
                f"percentile 90, got {shown(self.quantiles)}."
            )
        object.__setattr__(self, "quantiles", tuple(values.tolist()))
        object.__setattr__(self, "n_outputs", len(values))

    def add_cones(self, cones: LossCones) -> None:
        cones.add_ordered_pinballs(self.quantiles)

    @cached_property
    def _slopes(self) -> tuple[Array, Array]:
        """The slopes of the pinball losses below and above the target, each of shape (K,)."""
        q = np.array(self.quantiles)
        return -q, 1.0 - q

    evaluator = computed(lambda self: OrderedEvaluator(self))

    # the compiled functions of rows, which have the formulas of levels and derivatives
    compiled = computed(lambda self: kernels.OrderedPinballs(list(self.quantiles)))

    def _values(self, y: Array, z: Array) -> Array:
        residual, (lower, upper) = z - y, self._slopes
        return np.maximum(residual, 0.0) @ upper + np.minimum(residual, 0.0) @ lower

    def _gradient(self, y: Array, z: Array) -> Array:
        """The gradient of the pinballs, a subgradient of the loss at ordered predictions."""
        lower, upper = self._slopes
        return np.where(z > y, upper, np.where(z < y, lower, 0.0))

    def largest(self, y: Array, z: Array, z_low: Numbers, error: Numbers) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            residual, errors = z - y, error + np.abs(z_low) + self.target_error * np.abs(y)
            errors = errors + (errors > 0.0) * 2.0 * EPSILON * (np.abs(residual) + errors)
            # a pinball is convex, and so is largest at an end of an interval
            ends = (self._table(residual + side * errors) for side in (-1.0, 1.0))
            sums = np.sum(np.max([end * q for end in ends for q in self._slopes], axis=0), axis=1)
            return self._shared(sums * (1.0 + self.n_outputs * EPSILON))

    def of_output(self, k: int) -> Pinball:
        """The pinball loss of a single quantile, which may cross the others."""
        return Pinball(self.quantiles[k]).with_target_error(self.target_error)

    # Predictions in order, where in turn each intercept is raised by the largest crossing

    def _apart(self, z: Array, z_low: Numbers = 0.0, error: Numbers = 0.0) -> tuple[Array, Array]:
        """The differences of predictions of successive quantiles, and bounds on their errors.

        Both are of shape (n_rows, n_outputs - 1).
        """
        z, z_low, error = (self._table(np.broadcast_to(x, len(z))) for x in (z, z_low, error))
        high, low = np.diff(z, axis=1), np.diff(z_low, axis=1)
        rounding = 4.0 * EPSILON * (np.abs(high) + np.abs(low))
        return high + low, error[:, 1:] + error[:, :-1] + rounding

    def raises_in_order(
        self, z: Array, z_low: Array, error: Array, rounded: Array, size: float
    ) -> Array:
        apart, errors = self._apart(z, z_low, error)
        overlaps = np.max(np.maximum(errors - apart, -self._apart(rounded)[0]), axis=0)
        return _raises(overlaps, size)

    def largest_mean(
        self, y: Array, weights: Array, z: Array, z_low: Numbers, error: Numbers
    ) -> float:
        """The largest mean loss, of the model with intercepts raised by possible crossings.

        Errors of predictions may hide crossings of at most their size. The value is inf where
        predictions cross by more than that.
        """
        counted = weights != 0.0
        parts = (np.broadcast_to(x, len(z))[counted] for x in (z, z_low, error))
        apart, errors = self._apart(*parts)
        if not np.all(apart >= -errors):
            return inf
        raises = _raises(np.max(errors - apart, axis=0), 0.0)
        z_low = z_low + np.tile(raises, len(z) // self.n_outputs)
        return super().largest_mean(y, weights, z, z_low, error)

    def change_by_errors(
        self, y: Array, weights: Array, z: Array, error: Array, value: float
    ) -> float:
        """An estimate of the change of the loss by errors, including the raised intercepts."""
        return 2.0 * self.n_outputs * float(np.max(error) * np.sum(weights))

    # Dual points

    def dual_bounds(self, y: Array) -> tuple[Array, Array]:
        lower, upper = np.full(self.n_outputs, -inf), np.full(self.n_outputs, inf)
        lower[0], upper[-1] = self._slopes[0][0], self._slopes[1][-1]
        n = len(y) // self.n_outputs
        return np.tile(lower, n), np.tile(upper, n)

    def _excess(self, theta: Array) -> Array:
        """An upper bound for each row on the least s > 0 with theta / s in the domain."""
        columns = np.ascontiguousarray(theta.T)  # sums over short rows would take longer
        sizes, of_first = self.n_outputs * EPSILON * np.sum(np.abs(columns), axis=0), -columns
        excess = np.full(len(theta), -inf)
        # the largest values of -(theta_1 + ... + theta_j) and of theta_K + ... + theta_j
        max_sums = np.cumsum(-self._slopes[0]), np.cumsum(self._slopes[1][::-1])
        for terms, limits in zip((of_first, columns[::-1]), max_sums, strict=True):
            total = sizes
            for term, limit in zip(terms, limits, strict=True):
                total = total + term
                np.maximum(excess, total / limit, out=excess)
        return excess

    def project_dual(self, y: Array, theta: Array) -> Array:
        """The nearest points of the domain, scaled towards 0 by a bound on rounding errors."""
        table = self._table(np.clip(np.nan_to_num(theta), -FURTHEST, FURTHEST))
        outside = self._excess(table) > 2.0 - self._inside  # the others are scaled at least
        if outside.any():
            table = table.copy()
            table[outside] = self._nearest(table[outside])
        excess, max_excess = self._excess(table), self._inside
        shrunk = np.where(excess > max_excess, max_excess / np.maximum(excess, max_excess), 1.0)
        return np.ravel(table * shrunk[:, np.newaxis])

    def largest_scale(self, y: Array, theta: Array) -> float:
        excess = float(np.max(self._excess(self._table(theta))))
        return self._inside / excess if excess > 0.0 else inf

    def _nearest(self, theta: Array) -> Array:
        """The projection of rows onto the domain.

        By Moreau's identity it is v minus the prox of l(0, .) at v. The prox is s - clip(s, 0, 1),
        with s the nearest non-decreasing row to v + q, as the slopes of all pinballs rise by 1
        at 0.
        """
        levels = np.ravel(theta + np.array(self.quantiles))
        s = self._table(self.compiled.nearest(levels))
        return theta - s + np.clip(s, 0.0, 1.0)

    def prox_conjugate(self, y: Array, theta: Array, step: Array | float) -> Array:
        return np.ravel(self._nearest(self._table(theta - step * y)))

    def box_around(self, y: Array, theta: Array) -> tuple[Array, Array]:
        """Bounds of a box that contains theta and is contained in the domain.

        The box has the slopes of the pinballs, moved by mu_k - mu_{k-1}, with the least
        multipliers mu for which theta is in it.
        """
        table, (lower, upper) = self._table(theta), self._slopes
        n, K = table.shape
        mu, after = np.zeros((n, K + 1)), np.zeros(n)
        for k in range(K - 1):
            mu[:, k + 1] = np.maximum(mu[:, k] + table[:, k] - upper[k], 0.0)
        for k in range(K - 1, 0, -1):
            after = np.maximum(after + lower[k] - table[:, k], 0.0)
            mu[:, k] = np.maximum(mu[:, k], after)
        moved = np.diff(mu, axis=1)
        return np.ravel(lower + moved), np.ravel(upper + moved)

    # Moreau envelopes

    # the gradient of the envelope, and d and e of the Hessian over sigma (`RankOneLoss`)
    derivatives = attribute_of_part("compiled.derivatives")

    # Constants

    def best_constants(self, y: Array, weights: Array, rows_of_outputs: list) -> Array:
        pairs = zip(rows_of_outputs, self.quantiles, strict=True)
        return np.array([weighted_quantile(y[rows], weights[rows], q) for rows, q in pairs])

    def best_constant(self, y: Array, weights: Array) -> float:
        """The best constant that is shared by all quantiles."""
        return weighted_quantile(y, weights, float(np.mean(self.quantiles)))

    def constant_interval(self, groups: RowGroups, value: float, bounds: list[float]) -> Interval:
        """Bounds on the intercept of any of the quantiles.

        They use the first quantile's slope below the target and the last one's above it, the
        smallest in size.
        """
        below, above = self._slopes[0][0], self._slopes[1][-1]
        return interval_of_constants(groups, value, bounds, lambda v: (v / below, v / above))


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


class OrderedEvaluator(CoupledEvaluator[NonCrossingPinball]):
    """Derivatives for the method of multipliers, of predictions that may cross."""

    def smoothed_derivatives(
        self, y: Array, weights: Array, theta: Array, z: Array, sigma: float, *outputs: Array
    ) -> tuple[float, float]:
        """Add a bound on what it costs to bring the predictions in order.

        Raising all predictions of a quantile raises the mean of their pinballs by at most the
        upper slope.
        """
        compiled = self.loss.compiled.smoothed_derivatives
        primal, dual, overlaps = compiled(y, weights, theta, z, sigma, *outputs)
        return float(primal + _raises(overlaps, 0.0) @ self.loss._slopes[1]), float(dual)

    smoothed_slope = attribute_of_part("loss.compiled.smoothed_slope")

    def rows_that_bend(
        self, y: Array, theta: Array, z: Array, sigma: float, derivative: Array, curvature: Array,
        radius: float,
    ) -> Indices:  # fmt: skip
        """The rows with a level that is in [0, 1] or not in order, or may soon be."""
        return self.loss.compiled.entries_that_bend(y, theta, z, sigma, radius)
