"""The loss of ordered classes, with a threshold between any two that follow each other.

For K ordered classes and a margin loss phi the loss of scores z is

    L(z) = min over t of  sum_i c_i sum_{k < K - 1} phi(s_ik (z_i - t_k)),

with s_ik = 1 if the class of row i is above k, and -1 otherwise (all thresholds; Shashua and
Levin, 2002; Rennie and Srebro, 2005). Each threshold is the minimiser of a sum of its own, and as
the rows above one are among those above the one before, the minimisers are in order. By duality

    L(z) >= sum_i c_i theta_i z_i - sum_i c_i sum_k phi*(s_ik theta_ik),   theta_i = sum_k theta_ik

for all theta_ik in the domain of the conjugates with sum_i c_i theta_ik = 0. The derivatives at
the thresholds satisfy this. A rounding error of the sum is removed by a factor below 1 for the
rows of the larger of both sides.
"""

from dataclasses import dataclass, field, replace
from math import inf, log, sqrt
from typing import ClassVar, cast

import numpy as np
import scipy.sparse as sp

from ... import kernels
from ..._floats import EPSILON
from ..._immutable_base import attribute_of_part, computed
from ..._typing import Array, Indices, Sum
from ...designs import Design
from ...losses.base import _depth
from ...losses.margin import MarginLoss
from ...losses.structured import StructuredDual, StructuredLossOfRows

NEGLIGIBLE = 1e-8  # a step for a threshold whose square is a rounding error, relative to it
FLAT = 1e-18  # a slope of the mean loss that is a rounding error
FAR = 50.0  # a distance from a row from which on its loss is linear, up to rounding
NEWTON_STEPS = 100  # most steps for a threshold, which takes a few
ROUNDINGS = 64.0  # bounds the relative rounding errors of a loss and its conjugate, in EPSILON


@dataclass(frozen=True, eq=False)
class ThresholdDual(StructuredDual):
    """Derivatives theta_ik for all thresholds, whose weighted sums over the rows vanish.

    Attributes
    ----------
    loss : OrdinalLoss
    table : ndarray of shape (n_thresholds, n_rows) or None
        The s_ik theta_ik of the rows with positive weights; None where conjugates are linear and
        nobody asked for them.
    """

    loss: "OrdinalLoss" = field(default=cast("OrdinalLoss", None))
    table: Array | None = None

    is_linear = attribute_of_part("loss.inner.linear_conjugate")
    is_inside = computed(lambda self: self.table is not None and np.max(self.table) < 0.0)

    def value(self, scale: float) -> Sum:
        if self.is_linear:
            return super().value(scale)
        value, rounding = self.loss.dual_value(cast(Array, self.table), scale)
        return value, rounding + self.mean_loss_error

    def __rmul__(self, scale: float) -> "ThresholdDual":
        table = None if self.table is None else scale * self.table
        return replace(super().__rmul__(scale), table=table)


class OrdinalLoss(StructuredLossOfRows):
    """The loss of ordered classes.

    Parameters
    ----------
    labels : ndarray of int of shape (n_samples,)
        The classes of the rows, from 0 to K - 1; each has a row of positive weight.
    sample_weight : ndarray of shape (n_samples,)
    offset : ndarray of shape (n_samples,) or None
        Numbers that are added to the scores.
    inner : MarginLoss
    """

    linear_tails: ClassVar[bool] = False
    ignores_constants: ClassVar[bool] = True
    of_classes: ClassVar[bool] = True
    averages_duals: ClassVar[bool] = False
    can_separate = attribute_of_part("inner.can_separate")
    has_kinks = attribute_of_part("inner.has_kinks")

    def __init__(
        self, labels: Indices, sample_weight: Array, offset: Array | None, inner: MarginLoss
    ) -> None:
        n, self.n_thresholds = len(labels), int(np.max(labels))
        self.inner, self._row_data = inner, (labels, sample_weight, offset)
        self.is_smooth = self.has_curvature = not inner.has_kinks
        self.weights = np.full(n, 1.0 / n)
        self.used_rows = np.flatnonzero(sample_weight > 0.0)
        self.n_exchangeable = len(self.used_rows)
        used_weights = sample_weight[self.used_rows]
        self.shares = used_weights / float(np.sum(used_weights))
        self.offset = None if offset is None else np.ascontiguousarray(offset[self.used_rows])
        above = labels[self.used_rows] > np.arange(self.n_thresholds)[:, np.newaxis]
        self.signs = np.where(above, 1.0, -1.0)
        max_dual = self.n_thresholds * max(-inner.conjugate_domain[0], 0.0)
        self.largest_theta = np.zeros(n)
        self.largest_theta[self.used_rows] = n * self.shares * max_dual
        self.entropy_range = self.n_thresholds * log(2.0)
        # the weights of the rows above and below each threshold
        self.masses = [
            (float(np.sum(self.shares[above])), float(np.sum(self.shares[~above])))
            for above in self.signs > 0.0
        ]
        # the last scores and their thresholds, from which the next search starts
        at_null = np.array([-inner._best_constant(*masses) for masses in self.masses])
        self._last = np.empty(0), at_null
        self._expanded: tuple[Array, Array | None, list] = self._last[0], None, []

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.inner!r})"

    def sample(self, rows: Indices) -> tuple[Indices, "OrdinalLoss"]:
        labels, sample_weight, offset = self._row_data
        _, first = np.unique(labels[self.used_rows], return_index=True)
        rows = np.union1d(rows, self.used_rows[first])  # each class has a row
        sampled_offset = None if offset is None else offset[rows]
        return rows, OrdinalLoss(labels[rows], sample_weight[rows], sampled_offset, self.inner)

    # The loss

    def best_thresholds(self, z: Array) -> Array:
        """The thresholds that minimise the loss of scores z."""
        return self._thresholds(self._shifted(z))

    def _thresholds(self, u: Array) -> Array:
        if not np.array_equal(u, self._last[0]):  # several functions ask for those of the same z
            find = self._by_breakpoints if self.inner.has_kinks else self._by_newton
            thresholds = np.array([find(u, k) for k in range(self.n_thresholds)])
            self._last = u, np.maximum.accumulate(thresholds)
        return self._last[1]

    def _by_newton(self, u: Array, k: int) -> float:
        """The root of the slope in a threshold, by Newton's method with bisections."""
        signs = self.signs[k]
        low, high = float(np.min(u)), float(np.max(u))
        distance = abs(self.inner._best_constant(*self.masses[k]))
        low, high = low - distance, high + distance  # where the slopes of all rows have one sign
        t = min(max(low, self._last[1][k]), high)  # low after scores that were not finite
        moved = high - low
        for _ in range(NEWTON_STEPS):
            _, gradient, diagonal = self._expansion(u, t, signs)
            slope, curvature = -float(np.sum(gradient)), float(np.sum(diagonal))
            if abs(slope) <= FLAT:
                break
            low, high = (low, t) if slope > 0.0 else (t, high)
            step = -slope / curvature if curvature > 0.0 else np.inf
            resolution = 2.0 * EPSILON * (1.0 + abs(t))
            if abs(step) <= resolution and abs(slope * step) <= FLAT:
                break
            # steps that are lost in a large threshold lead nowhere
            inside = low < t + step < high and resolution <= 2.0 * abs(step) <= moved
            after = t + step if inside else _split(u, low, high)
            moved, t = abs(after - t), after
            # the error after a Newton step is about the square of the step
            if moved <= (NEGLIGIBLE if inside else 0.5 * resolution):
                break
        return float(t)

    def _expansion(self, u: Array, t: float, signs: Array) -> tuple[float, Array, Array]:
        """The mean loss of a threshold, with its gradient and diagonal Hessian in the scores."""
        z = u - t
        derivative, gradient, diagonal = np.empty((3, len(u)))
        value, _ = self.inner.evaluator.smoothed_derivatives(
            signs, self.shares, z, z, np.inf, derivative, gradient, diagonal
        )
        return value, gradient, diagonal

    def _at_thresholds(self, u: Array) -> list[tuple[float, Array, Array]]:
        """The expansions at all thresholds."""
        thresholds = self._thresholds(u)
        last = self._expanded
        if last[1] is not thresholds or not np.array_equal(u, last[0]):
            pairs = zip(thresholds, self.signs, strict=True)
            last = u, thresholds, [self._expansion(u, t, signs) for t, signs in pairs]
            self._expanded = last
        return last[2]

    def _by_breakpoints(self, u: Array, k: int) -> float:
        """The middle of the thresholds with the least hinge loss."""
        signs = self.signs[k]
        points = u - signs  # where the slope rises by c_i: from 0 to c_i above, -c_i to 0 below
        order = np.argsort(points, kind="stable")
        slopes = np.cumsum(self.shares[order]) - float(np.sum(self.shares[signs < 0.0]))
        rounding = len(u) * EPSILON
        first = int(np.argmax(slopes >= -rounding))
        last = int(np.argmax(slopes > rounding)) if slopes[-1] > rounding else len(u) - 1
        return float(0.5 * (points[order[first]] + points[order[max(first, last)]]))

    def _value_of(self, u: Array, thresholds: Array) -> tuple[float, float]:
        """The loss, and a bound on its rounding error."""
        margins = self.signs * (u - thresholds[:, np.newaxis])
        losses = self.inner._phi(np.ravel(margins)).reshape(margins.shape)
        value = float(np.sum(losses @ self.shares))
        sizes = self.n_thresholds * kernels.dot(self.shares, np.abs(u)) + np.sum(
            np.abs(thresholds)
        )
        rounding = 2.0 * EPSILON * self.inner.lipschitz * sizes
        return value, rounding + (_depth(len(u)) + ROUNDINGS) * EPSILON * (1.0 + value)

    def value(self, z: Array) -> Sum:
        u = self._shifted(z)
        return self._value_of(u, self._thresholds(u))

    def sensitivity(self, error: Array) -> float:
        errors = np.broadcast_to(error, len(self.weights))[self.used_rows]
        change = self.n_thresholds * self.inner.lipschitz * kernels.dot(self.shares, errors)
        return change * (1.0 + 1e-9)

    def derivatives(self, z: Array) -> tuple[float, Array, Array]:
        """The loss, its gradient over the weights, and an upper bound on its Hessian.

        The bound is that for fixed thresholds, a diagonal matrix.
        """
        values, first, second = zip(*self._at_thresholds(self._shifted(z)), strict=True)
        return sum(values), self._rows(sum(first)), self._rows(sum(second))

    def hessian(self, z: Array, design: Design, columns: Indices) -> Array | None:
        """The Hessian of the loss in the coefficients of some columns.

        Each threshold follows the mean of the rows, weighted by their curvature, which takes a
        product of this mean off the Hessian for fixed thresholds.
        """
        expansions = self._at_thresholds(self._shifted(z))
        second = [self.weights * self._rows(curvature) for _, _, curvature in expansions]
        sums = design.rmatmul(np.column_stack(second))[columns]
        masses = np.maximum([np.sum(curvature) for curvature in second], np.finfo(float).tiny)
        hessian: Array = design.gram(np.sum(second, axis=0), columns, False)
        hessian -= (sums / masses) @ sums.T
        return hessian if np.isfinite(hessian).all() else None

    def recession(self) -> sp.csr_array:
        """The matrix of ``can_separate``: scores are on their side of each threshold.

        The columns of the thresholds follow those of the scores.
        """
        n, m = len(self.weights), self.n_thresholds
        unit = sp.eye_array(n + m, format="csr")
        thresholds = unit[n + np.repeat(np.arange(m), len(self.used_rows))]
        scores = unit[np.tile(self.used_rows, m)]
        return sp.diags_array(np.ravel(self.signs)) @ (scores - thresholds)

    # Dual points

    def distances_of_products(self, design: Design) -> Array | None:
        """See `StructuredLoss.distances_of_products`.

        For smooth margin losses sum_ik c_i (theta_ik - theta_ik*)^2 <= 2 smoothness gap; the
        Cauchy-Schwarz inequality over all rows and thresholds bounds the products.
        """
        if self.inner.has_kinks:
            return None
        weights = np.zeros(len(self.weights))
        weights[self.used_rows] = self.shares
        norms: Array = design.column_norms(weights)
        return sqrt(2.0 * self.inner.smoothness * self.n_thresholds) * (1.0 + 1e-9) * norms

    def loss_augmented(self, z: Array, smoothing: float) -> tuple[float, ThresholdDual]:
        if smoothing > 0.0:
            raise ValueError(f"smoothing must be 0 for ordered classes, got {smoothing!r}.")
        u = self._shifted(z)
        thresholds = self._thresholds(u)
        value, _ = self._value_of(u, thresholds)
        table = np.array([
            self._balanced(signs, u - t) for signs, t in zip(self.signs, thresholds, strict=True)
        ])  # fmt: skip
        return value, self.balanced_dual(table)

    def _balanced(self, signs: Array, z: Array) -> Array:
        """Derivatives of the margin losses at z whose sums on both sides are about equal."""
        theta = self.inner._phi_derivative(signs * z)
        kink = np.abs(1.0 - signs * z) <= 1e-9 * (1.0 + np.abs(z))
        if self.inner.has_kinks and kink.any():  # any number between the slopes at the kink
            low, high = np.where(kink, -1.0, theta), np.where(kink, 0.0, theta)
            lower = np.where(signs > 0.0, low, -high)
            upper = np.where(signs > 0.0, high, -low)
            point = kernels.project_box_hyperplane(
                0.5 * (lower + upper), lower, upper, self.shares, self.shares, 0.0
            )
            theta = signs * point if np.isfinite(point).all() else theta
        return theta

    def balanced_dual(self, table: Array, keep_table: bool = False) -> ThresholdDual:
        """The dual point of s_ik theta_ik, scaled so that sums on both sides are equal.

        Parameters
        ----------
        table : ndarray of shape (n_thresholds, n_rows)
            Dual variables of the margin losses, which are at most 0.
        keep_table : bool, default=False
            Whether to keep them, as they are, where conjugates are linear: there the two means
            are enough.
        """
        scaled = table.copy()
        for theta, above in zip(scaled, self.signs > 0.0, strict=True):
            sums = [float(np.sum((self.shares * theta)[side])) for side in (above, ~above)]
            larger = max(sums)  # both are at most 0
            for side, total in zip((above, ~above), sums, strict=True):
                if total < larger:
                    theta[side] *= larger / total
        dual = self.dual_of_table(scaled)
        return replace(dual, table=table) if keep_table else dual

    def dual_of_table(self, table: Array) -> ThresholdDual:
        """The dual point of s_ik theta_ik, compared with one whose sums are exactly 0."""
        theta = self._rows(self.shares * np.sum(self.signs * table, axis=0))
        # sums over the rows and the factors of both sides have relative errors
        error = (_depth(len(self.shares)) + 16.0) * EPSILON
        sizes = self.shares * np.sum(np.abs(table), axis=0)
        root = float(np.sqrt(len(self.weights) * np.sum((error * sizes) ** 2)))
        if self.inner.linear_conjugate:
            mean = self.dual_value(table, 1.0)
            return ThresholdDual(theta, mean[0], root, mean[1], loss=self)
        return ThresholdDual(theta, 0.0, root, 0.0, loss=self, table=table)

    def dual_value(self, table: Array, scale: float) -> Sum:
        """Minus the conjugates of scaled theta_ik, plus the part of the offsets."""
        scaled, n = scale * table, len(self.shares)
        conjugates = self.inner._phi_conjugate(np.ravel(scaled)).reshape(scaled.shape)
        value = -float(np.sum(conjugates @ self.shares))
        # the logistic conjugate has slopes of log(1 - theta) and of conjugate / theta at most
        slope = 1.0 if self.inner.linear_conjugate else np.where(scaled < -0.99, 40.0, 5.0)
        sizes = float(np.sum((np.abs(conjugates) + slope * np.abs(scaled)) @ self.shares))
        rounding = 2.0 * (_depth(n) + ROUNDINGS + self.n_thresholds) * EPSILON * sizes
        if self.offset is not None:
            theta = np.sum(self.signs * scaled, axis=0)
            shift, error = kernels.compensated_dot(self.shares, theta, self.offset)
            size = kernels.dot(self.shares, np.abs(self.offset) * np.sum(np.abs(scaled), axis=0))
            value += shift
            rounding += error + 2.0 * (_depth(n) + ROUNDINGS) * EPSILON * size
        return value, rounding

    def dual_of(self, averages: Array, errors: Array, rounding: float) -> ThresholdDual:
        return ThresholdDual(**vars(super().dual_of(averages, errors, rounding)), loss=self)

    true_labeling = computed(lambda self: self.dual_of_table(np.zeros_like(self.signs)))


def _split(u: Array, low: float, high: float) -> float:
    """A point that halves the scores in an interval, for the search of a threshold.

    Where there are none, slopes change only near the scores around the interval: points at a
    distance from these are tried first.
    """
    if not high - low > 4.0 * FAR:
        return 0.5 * (low + high)
    between = u[(u > low) & (u < high)]
    if len(between):
        return float(np.median(between))
    below, above = np.max(u, initial=-inf, where=u <= low), np.min(u, initial=inf, where=u >= high)
    if low < below + FAR:
        return float(below) + FAR
    return float(above) - FAR if high > above - FAR else 0.5 * (low + high)
