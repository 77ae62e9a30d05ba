"""Losses of all scores together, defined as maxima over labelings, and their dual points.

    L(z) = max over labelings y' of   loss(y') + sum_i c_i z_i (F(y')_i - F(y)_i)

with y the true labeling, whose loss is 0, so that L >= 0. L is not a sum over the rows. Its
conjugate is finite at the means of distributions q over the labelings ::

    theta = E_q[F(y')] - F(y),    - L*(theta) >= E_q[loss(y')]

A dual point is stored as these two means. The means of a convex combination of distributions are
convex combinations, and those of one with the true labeling are multiples, as both means of the
true labeling are 0 (Joachims, 2005, A support vector method for multivariate performance measures;
Zhang, Saha and Vishwanathan, Regularized risk minimization by Nesterov's accelerated gradient
methods, Examples 3 and 4).

A soft maximum in place of the largest adds the entropy of q, as in conditional random fields.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import fsum
from typing import ClassVar, Self

import numpy as np

from .._floats import EPSILON
from .._immutable_base import computed
from .._typing import Array, Indices, Sum
from ..designs import Design
from .properties import LossProperties


@dataclass(frozen=True, eq=False)
class StructuredDual:
    """A dual point: the means of a distribution over labelings, with bounds on their errors.

    Attributes
    ----------
    theta : ndarray of shape (n_scores,)
        E[F(y')] - F(y).
    mean_loss : float
        E[loss(y')], at least 0.
    theta_error : float, default=0.0
        A bound on the rounding error of every entry of theta, compared with an exact distribution.
    mean_loss_error : float, default=0.0
        A bound on the rounding error of the mean loss, compared with the same distribution.
    orthogonal_to : tuple of Design and ndarray of int, default=None
        Columns whose products with theta vanish for a distribution nearby.
    distance : float, default=0.0
        The distance of the latter, in units of `StructuredLoss.distances_of_products`.
    """

    theta: Array
    mean_loss: float
    theta_error: float = 0.0
    mean_loss_error: float = 0.0
    orthogonal_to: tuple[Design, Indices] | None = field(default=None, kw_only=True)
    distance: float = field(default=0.0, kw_only=True)

    @property
    def averages(self) -> Array:
        """The numbers of a distribution that are averages in a convex combination."""
        return np.append(self.theta, self.mean_loss)

    @property
    def errors(self) -> Array:
        """Bounds on the errors of these numbers, and the size of the mean loss."""
        return np.array([self.theta_error, self.mean_loss_error, abs(self.mean_loss)])

    __array_ufunc__ = None  # NumPy's scalars then leave products to __rmul__
    is_linear: ClassVar[bool] = True  # whether `value` is linear in the scale

    # Whether the point is known to be inside the domain of the conjugate loss.
    is_inside: ClassVar[bool] = False

    def value(self, scale: float) -> Sum:
        """A lower bound on -L*(scale theta), 0 <= scale <= 1, and its rounding error."""
        value = scale * self.mean_loss
        return value, scale * self.mean_loss_error + 2.0 * EPSILON * abs(value)

    def __rmul__(self, scale: float) -> Self:
        """The distribution with the probability ``scale``, else the true labeling."""
        error = EPSILON * float(np.max(np.abs(self.theta), initial=0.0))
        return replace(
            self,
            theta=scale * self.theta,
            mean_loss=scale * self.mean_loss,
            theta_error=scale * self.theta_error + error,
            mean_loss_error=scale * self.mean_loss_error + EPSILON * abs(self.mean_loss),
            distance=scale * self.distance,
        )


class StructuredLoss(LossProperties, ABC):
    """A loss of all scores together.

    Attributes
    ----------
    weights : ndarray of shape (n_scores,)
        The c_i > 0: the gradient in the scores is weights * theta.
    largest_theta : ndarray of shape (n_scores,)
        The largest abs(theta_i) of any labeling.
    entropy_range : float
        D: the maximum smoothed by mu is below the maximum by at most mu D.
    is_smooth : bool
        Whether it is a soft maximum, with a gradient everywhere.
    has_curvature : bool
        Whether `derivatives` gives a diagonal upper bound on the Hessian, and `hessian` itself.
    hessian_by_table : bool
        Whether the latter needs a table of the rows.
    ignores_constants : bool
        Whether a constant added to all scores does not change the loss.
    averages_duals : bool
        Whether `dual_of` makes dual points of averages of others.
    points_of_both_signs : tuple of StructuredDual
        Dual points whose theta have sums of both signs, which bound an intercept; empty for losses
        of models without an intercept.
    n_exchangeable : int
        The number of scores of which a sample could stand for the others, or 0 if none could.
    largest_target : float
        The size of targets, for bounds on the rounding of an intercept.
    """

    weights: Array
    largest_theta: Array
    entropy_range: float
    is_smooth: bool = False
    has_curvature: bool = False
    hessian_by_table: ClassVar[bool] = False
    ignores_constants: ClassVar[bool] = False
    averages_duals: ClassVar[bool] = True
    points_of_both_signs: tuple[StructuredDual, ...] = ()
    n_exchangeable: int = 0
    largest_target: float = 1.0

    n_scores = computed(lambda self: len(self.weights))

    def __repr__(self) -> str:
        return f"{type(self).__name__} of {self.n_scores} scores"

    @abstractmethod
    def value(self, z: Array) -> Sum:
        """The loss L(z) and a bound on its rounding error."""

    @abstractmethod
    def loss_augmented(self, z: Array, smoothing: float) -> tuple[float, StructuredDual]:
        """The maximum at z and the dual point where it is attained.

        Parameters
        ----------
        z : ndarray of shape (n_scores,)
        smoothing : float
            mu >= 0. The maximum is over distributions q of their mean loss plus mu times (the
            entropy of q minus the largest entropy). With 0 it is attained at a labeling.

        Returns
        -------
        value : float
            The smoothed loss, without a bound on rounding.
        dual : StructuredDual
        """

    @property
    def true_labeling(self) -> StructuredDual:
        """The true labeling."""
        return StructuredDual(np.zeros(self.n_scores), 0.0)

    def convex_combination(self, shares: Array, duals: Sequence[StructuredDual]) -> StructuredDual:
        """The averages of distributions, and of the true labeling with the remaining share.

        Parameters
        ----------
        shares : ndarray of shape (n_duals,)
            Probabilities of the distributions. If rounding makes their sum larger than 1, they
            are divided by it.
        duals : sequence of StructuredDual
        """
        shares = np.maximum(shares, 0.0)
        shares = shares / max(fsum(shares), 1.0)
        averages = max(1.0 - fsum(shares), 0.0) * self.true_labeling.averages
        for share, dual in zip(shares, duals, strict=True):
            if share > 0.0:
                averages += share * dual.averages
        errors = np.max([dual.errors for dual in duals], axis=0)
        return self.dual_of(averages, errors, 4.0 * (len(duals) + 2) * EPSILON)

    def dual_of(self, averages: Array, errors: Array, rounding: float) -> StructuredDual:
        """The dual point with averages of the `StructuredDual.averages` of others.

        Parameters
        ----------
        averages : ndarray
        errors : ndarray
            The largest of the `StructuredDual.errors` of these dual points.
        rounding : float
            A bound on the rounding errors of averages, relative to the largest of the numbers.
        """
        theta, mean_loss = averages[: self.n_scores], float(averages[self.n_scores])
        theta_error = float(errors[0]) + rounding * float(np.max(self.largest_theta))
        return StructuredDual(
            theta, mean_loss, theta_error, float(errors[1] + rounding * errors[2])
        )

    def largest_square(self, norms: Array) -> float:
        """A bound on ||A' diag(c) theta||^2 for all labelings and rows of A with these norms.

        For a loss that is a mean, it is the mean of those of its parts.
        """
        return float((self.weights * self.largest_theta) @ norms) ** 2

    def sample(self, rows: Indices) -> "tuple[Indices, StructuredLoss]":
        """The indices of some rows, perhaps with a few others, and the loss of these rows."""
        raise NotImplementedError

    def distances_of_products(self, design: Design) -> Array | None:
        """Bounds on the distances of the entries of A' diag(c) theta from those at an optimum.

        They are to be multiplied by the root of a gap, for a dual point whose dual value is at
        most the gap below the optimum; None where there are none.
        """
        return None

    def value_and_theta(self, z: Array) -> tuple[float, Array]:
        """The value of a smooth loss and its gradient over the weights, by plain sums."""
        raise NotImplementedError

    def sensitivity(self, error: Array) -> float:
        """An upper bound on the change of L when no score z_i changes by more than error_i."""
        return float(self.weights @ (self.largest_theta * error)) * (1.0 + 1e-9)


class StructuredLossOfRows(StructuredLoss):
    """A structured loss that is smooth or piecewise linear, with one score for each row.

    Attributes
    ----------
    used_rows : ndarray of int
        The rows with positive weights, in the order of the loss.
    offset : ndarray or None
        Numbers that are added to the scores of these rows.
    """

    used_rows: Indices
    offset: Array | None

    @abstractmethod
    def derivatives(self, z: Array) -> tuple[float, Array, Array]:
        """The loss, its gradient over the weights, and an upper bound on its Hessian."""

    def value_and_theta(self, z: Array) -> tuple[float, Array]:
        return self.derivatives(z)[:2]

    def _shifted(self, z: Array) -> Array:
        """The scores of the rows with weights, with their offsets."""
        scores: Array = np.ascontiguousarray(z[self.used_rows])
        return scores if self.offset is None else scores + self.offset

    @property
    def _components(self) -> Indices:
        """The part of each row, in any of which a constant does not matter; -1 for no part."""
        return np.zeros(len(self.used_rows), dtype=np.int64)

    def without_means(self, table: Array) -> Array:
        """The columns of a table less their means, which do not matter, and 0 in other rows."""
        parts, centred = self._components, np.zeros(table.shape, order="F")
        counts = np.maximum(np.bincount(parts + 1), 1)
        for column, out in zip(table[self.used_rows].T, centred.T, strict=True):
            means = np.bincount(parts + 1, column) / counts
            out[self.used_rows] = np.where(parts >= 0, column - means[parts + 1], 0.0)
        return centred

    def _rows(self, values: Array) -> Array:
        """Values of the rows with weights, as those of all rows over their weights 1 / n."""
        per_row = np.zeros(len(self.weights))
        per_row[self.used_rows] = values
        per_row *= len(per_row)
        return per_row
