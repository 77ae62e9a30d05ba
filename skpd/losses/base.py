"""The interface of losses of rows (`Loss`), and of a single prediction (`ScalarLoss`)."""

from abc import ABC, abstractmethod
from copy import copy
from math import inf, isfinite, log2, sqrt
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from .. import kernels
from .._floats import EPSILON, LEAST
from .._immutable_base import Value, computed
from .._typing import Array, Interval, Numbers, Scales, Sum
from .cones import LinearPiece, LossCones
from .jensen_groups import RowGroups
from .maxima_over_multipliers import Multipliers
from .numerical import NumericalEvaluator, constant_between
from .properties import LossProperties


def _depth(n: int) -> float:
    """An upper bound on the number of additions in which a term of NumPy's sum of n takes part.

    NumPy sums blocks of 128 terms with 8 accumulators, and the sums of the blocks in pairs.
    """
    return 64.0 + log2(n + 1.0)


class Loss(LossProperties, Value, ABC):
    """A loss l(y, z) of each row by itself, of its target y and its prediction z.

    A row may have several predictions, ``n_outputs`` of them. `LossProperties` lists the
    attributes by which a loss declares its structure.
    """

    # What only losses of several outputs have

    if TYPE_CHECKING:

        def spread(self, y: Array, theta: Array) -> Array: ...

        def projection(self, y: Array, theta: Array) -> tuple[Array, Array, Array]: ...

    @property
    @abstractmethod
    def conjugate_domain(self) -> Interval: ...

    @property
    def lipschitz(self) -> float:
        return max(abs(bound) for bound in self.conjugate_domain)

    @property
    def dual_is_free(self) -> bool:
        return not np.isfinite(self.conjugate_domain).any()

    @property
    def piecewise_quadratic(self) -> bool:
        return self.pieces(np.empty(0)) is not None

    @property
    def has_cones(self) -> bool:  # type: ignore[override]
        return self.piecewise_quadratic or type(self).add_cones is not Loss.add_cones

    def multipliers(self, y: Array) -> Multipliers | None:
        """The loss as a maximum over two multipliers for each row, if it is published as one."""
        return None

    @abstractmethod
    def value(self, y: Array, z: Array, z_low: Numbers = 0.0) -> Array:
        """l(y_i, z_i) for arrays y and z.

        Parameters
        ----------
        y, z : ndarray of shape (n_samples,)
            Targets and predictions.
        z_low : ndarray of shape (n_samples,) or 0, default=0
            A correction of z below its precision: the loss is that of z + z_low.
        """

    @abstractmethod
    def gradient(self, y: Array, z: Array) -> Array:
        """A subgradient of l(y_i, .) at z_i."""

    @abstractmethod
    def dual_bounds(self, y: Array) -> tuple[Array, Array]:
        """Lower and upper bounds on theta_i: the domain of l*(y_i, .)."""

    def recession(self, y: Array, weights: Array) -> sp.csr_array:
        """The matrix of ``can_separate``, from the slopes of losses towards -inf and inf.

        They are the bounds on dual variables. A loss stays on the side where its slope tends to 0.
        """
        unit = sp.eye_array(len(weights), format="csr")
        falls, rises = ((bound != 0.0) & (weights > 0.0) for bound in self.dual_bounds(y))
        return sp.vstack([unit[falls], -unit[rises]], format="csr")

    def dual_value(self, y: Array, weights: Array, theta: Array, scale: float = 1.0) -> Sum:
        """The loss's part of the dual objective, - sum_i weights_i l*(y_i, scale theta_i).

        Returns
        -------
        value, rounding : float
            The sum and a bound on its rounding error.
        """
        return self.dual_values(y, weights, theta, (scale,))[0]

    @abstractmethod
    def dual_values(self, y: Array, weights: Array, theta: Array, scales: Scales) -> list[Sum]:
        """`dual_value` at several scales."""

    @abstractmethod
    def largest(self, y: Array, z: Array, z_low: Numbers, error: Numbers) -> Array:
        """The largest value of l(y_i, .) between z_i + z_low_i -+ error_i.

        An upper bound up to the few roundings of phi, which are relative to its value; not finite
        where numbers overflow.
        """

    def largest_mean(
        self, y: Array, weights: Array, z: Array, z_low: Numbers, error: Numbers
    ) -> float:
        """The sum of `largest` times weights, up to a few dozen roundings."""
        losses = self.largest(y, z, z_low, error)
        if not np.isfinite(losses).all():  # of rows without a weight they do not count
            losses = np.where(weights > 0.0, losses, 0.0)
        # products of the least numbers may underflow
        return float(np.sum(weights * losses) + np.count_nonzero(losses) * LEAST)

    def change_by_errors(
        self, y: Array, weights: Array, z: Array, error: Array, value: float
    ) -> float:
        """An estimate of the change of a mean loss of this value by errors of the predictions."""
        if self.lipschitz < inf:
            return self.lipschitz * kernels.dot(weights, error)
        if self.smoothness < inf:  # l'^2 <= 2 smoothness l, and the Cauchy-Schwarz inequality
            return sqrt(2.0 * self.smoothness * value * kernels.dot(weights, error * error))
        return kernels.dot(weights * error, np.abs(self.gradient(y, z)))

    def targets_of(self, y: Array) -> Array:
        """The targets without offsets."""
        return y

    def with_target_error(self, error: float) -> Self:
        """The loss of targets with a relative error, such as that of rounded differences."""
        changed = copy(self)
        object.__setattr__(changed, "target_error", error)
        return changed

    def _error_by_targets(self, y: Array, weights: Array, theta: Array) -> float:
        """A bound on the error of sum_i weights_i theta_i y_i by that of the targets."""
        if not self.target_error:
            return 0.0
        return (1.0 + 1e-9) * self.target_error * kernels.dot(weights, np.abs(theta * y))

    def sizes_of(self, y: Array) -> Array:
        """The largest absolute value of the numbers that the targets hold for each row."""
        return np.abs(y)

    def require_targets(self, min_target: float) -> None:
        """Raise a ValueError if the least of the targets is not in the domain of the loss."""

    @abstractmethod
    def conjugate(self, y: Array, theta: Array) -> Array:
        """l*(y_i, theta_i), inf outside its domain."""

    def decision_costs(
        self, y: Array, weights: Array, z: Array, error: Array, theta: Array
    ) -> Array:
        """Lower bounds on the shares of a gap that different decisions of an optimal model take.

        For the decision at z_i and a dual point theta it is weights_i times the least value of
        ``l(y_i, z_i) - l(y_i, x) - l'(y_i, x) (z_i - x)``, for differentiable losses, plus that of
        ``l(y_i, x) + l*(y_i, theta_i) - theta_i x``, over predictions x on the other side of the
        boundary (`skpd.certificates.row_bounds`); z has rounding errors up to ``error``. For
        losses with ``has_decisions``.
        """
        raise NotImplementedError

    def intervals_of_predictions(
        self, y: Array, theta: Array, costs: Array
    ) -> tuple[Array, Array] | None:
        """The ends of the intervals of z with l(y_i, z) + l*(y_i, theta_i) - theta_i z <= costs_i.

        They may be larger. None where they are not computed.
        """
        return None

    def weights_of_means(self, y: Array, z: Array) -> Array | None:
        """Numbers a_i of predicted means, by which a gap bounds how far these may be off.

        With f = exp(z* - z), or its inverse in the same way for all rows, a_i are such that
        ``l(y_i, z) - l(y_i, z*) - l'(y_i, z*) (z - z*) = a_i (1 - f + f log f)``. None where there
        are none.
        """
        return None

    def box_around(self, y: Array, theta: Array) -> tuple[Array, Array]:
        """Bounds of a box that contains theta, which is in the domain of l*, and is in it."""
        return self.dual_bounds(y)

    def largest_scale(self, y: Array, theta: Array) -> float:
        """The largest t with t theta in the domain of l*."""
        if self.dual_is_free:
            return inf
        lower, upper = self.dual_bounds(y)
        with np.errstate(divide="ignore", invalid="ignore"):
            scales = np.where(theta > 0, upper / theta, np.where(theta < 0, lower / theta, inf))
        return float(np.min(scales))

    # Losses of several outputs

    def of_output(self, k: int) -> "Loss":
        """The loss of the predictions of a single output."""
        return self

    def raises_in_order(
        self, z: Array, z_low: Array, error: Array, rounded: Array, size: float
    ) -> Numbers:
        """The least amounts by which to raise intercepts so that predictions are in the domain.

        Parameters
        ----------
        z, z_low, error : ndarray of shape (n_rows,)
            Predictions with positive weights as a sum, and bounds on their errors.
        rounded : ndarray of shape (n_rows,)
            The same predictions as they are computed for new rows.
        size : float
            The size of the intercepts, for a bound on rounding.

        Returns
        -------
        raises : ndarray of shape (n_outputs,) or float
            The amounts; 0 where the domain of the loss is everything.
        """
        return 0.0

    def best_constants(self, y: Array, weights: Array, rows_of_outputs: list) -> Array:
        """The best constant predictions of several outputs, of shape (n_outputs,).

        ``rows_of_outputs`` has the indices of the entries of y and weights of each output.
        """
        return np.array([self.best_constant(y[rows], weights[rows]) for rows in rows_of_outputs])

    @abstractmethod
    def best_constant(self, y: Array, weights: Array) -> float:
        """The constant z that minimises sum_i weights_i l(y_i, z).

        An infinite value where the infimum is only approached.
        """

    def distant_constant(self, best: Numbers) -> Numbers:
        """A constant whose loss in EPSILON is a rounding error of the loss of the best constant.

        Rounding errors of residuals are relative to the targets, as the loss of the constant 0 is.
        """
        return 0.0 * best

    def constant_with_offsets(self, y: Array, weights: Array, offset: Array) -> float:
        """The constant b that minimises sum_i weights_i l(y_i, b + offset_i)."""
        used = weights > 0.0
        ends = float(np.min(offset[used])), float(np.max(offset[used]))

        def slope(b: float) -> float:
            return kernels.dot(weights, self.gradient(y, offset + b))

        return constant_between(self.best_constant(y, weights), ends, slope)

    @abstractmethod
    def row_groups(self, y: Array, weights: Array) -> RowGroups:
        """The groups of rows for Jensen's inequality: one of all rows, or one for each class."""

    def least_mean_of_constants(self, y: Array, weights: Array) -> float | None:
        """A lower bound on the mean loss of all constants; None if it follows from gradients."""
        return None

    @abstractmethod
    def constant_interval(self, groups: RowGroups, value: float, bounds: list[float]) -> Interval:
        """Bounds on the intercepts b with sum_i weights_i l(y_i, x_i.w + b) <= value.

        Parameters
        ----------
        groups : list of RowGroup
            The `row_groups`.
        value : float
            An upper bound on the weighted loss.
        bounds : list of float
            For each group, a bound on the size of x.w at its mean row x.

        Returns
        -------
        lower, upper : float
        """

    def pieces(self, y: Array) -> list[LinearPiece] | None:
        """The terms of l(y_i, .) as a sum of functions that are quadratic in pieces, or None."""
        return None

    def add_cones(self, cones: LossCones) -> None:
        """Add the functions of which the mean loss consists to a conic programme.

        Its attribute ``y`` has the targets. For every row ``add_half_squares()`` adds
        (z_i - y_i)^2 / 2, ``add_smooth()`` the loss, whose evaluator then has its second
        derivative, and ``add_pieces(pieces)`` a sum of `LinearPiece`. Programmes of several
        outputs have functions for the losses of `skpd.losses.coupled_outputs` instead:
        ``add_row_norms()``, ``add_softmax()``, ``add_largest_scores()`` and
        ``add_ordered_pinballs(quantiles)``.
        """
        cones.add_pieces(self.pieces(cones.y) or [])

    @property
    @abstractmethod
    def evaluator(self):
        """The object that evaluates the loss in solvers: a compiled one where there is one.

        `skpd.losses.numerical.PythonKernel` is its interface.
        """

    def prox_conjugate(self, y: Array, theta: Array, step: Array | float) -> Array:
        """argmin over x of l*(y_i, x) + (x - theta_i)^2 / (2 step_i)."""
        return self.evaluator.prox_conjugate(
            np.ascontiguousarray(y, dtype=np.float64),
            np.ascontiguousarray(theta, dtype=np.float64),
            np.ascontiguousarray(np.broadcast_to(step, np.shape(theta)), dtype=np.float64),
        )

    def project_dual(self, y: Array, theta: Array) -> Array:
        """The nearest dual-feasible point; 0 in place of NaN."""
        if not isfinite(kernels.max_abs(np.ascontiguousarray(theta, dtype=np.float64))):
            theta = np.nan_to_num(theta, nan=0.0, posinf=None)
        return theta if self.dual_is_free else self._clip(y, theta)

    @abstractmethod
    def _clip(self, y: Array, theta: Array) -> Array:
        """The projection of theta onto the interval of `dual_bounds`."""


class ScalarLoss(Loss):
    """A convex function phi of one number t, which follows from y and z.

    A class must define ``conjugate_domain``, ``_phi``, ``_phi_conjugate`` and
    ``_phi_derivative``. The prox, the best constant and the level sets are found numerically
    (`skpd.losses.numerical`) unless it overrides them.
    """

    @abstractmethod
    def _phi(self, t: Array) -> Array:
        """The values phi(t), with an error of a few roundings of the value and of t."""

    @abstractmethod
    def _phi_conjugate(self, u: Array) -> Array:
        """The values phi*(u), inf outside its domain.

        The error is at most a few roundings of the value and of u.
        """

    @abstractmethod
    def _phi_derivative(self, t: Array) -> Array:
        """A subgradient of phi at t, in the domain of phi*."""

    # the curvature q of a loss that is quadratic in pieces
    _conjugate_curvature: ClassVar[Any] = computed(lambda self: self.conjugate_curvature or 0.0)

    @property
    def smoothness(self) -> float:  # type: ignore[override]
        return 1.0 / self._conjugate_curvature if self._conjugate_curvature else inf

    evaluator: Any = computed(NumericalEvaluator)

    @property
    def is_compiled(self) -> bool:  # type: ignore[override]
        return type(self).evaluator is not ScalarLoss.evaluator

    @abstractmethod
    def _argument(self, y: Array, z: Array, z_low: Numbers) -> tuple[Array, Numbers]:
        """The argument t of phi for the prediction z + z_low, rounded, and its rounding error."""

    def arguments(self, y: Array, z: Array, z_low: Numbers, error: Numbers) -> tuple[Array, Array]:
        """Bounds on the arguments t of phi for predictions between z_i + z_low_i -+ error_i.

        The bounds include the rounding error of t itself: it may be all that is left of t in
        differences such as 1 - t or ``|t| - epsilon``, of which phi is a function.
        """
        t, missed = self._argument(y, z, z_low)
        errors = error + np.abs(missed)
        # the second term bounds the rounding errors of t - errors and t + errors
        errors = errors + (errors > 0.0) * 2.0 * EPSILON * (np.abs(t) + errors)
        return t - errors, t + errors

    def largest(self, y: Array, z: Array, z_low: Numbers, error: Numbers) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            # a convex function is largest at an end of an interval
            return np.maximum(*map(self._phi, self.arguments(y, z, z_low, error)))
