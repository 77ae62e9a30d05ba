"""Losses of all scores together, defined as maxima over labelings, and their dual points.

    L(z) = max over labelings y' of   loss(y') + sum_i c_i z_i (F(y')_i - F(y)_i)

with y the true labeling, whose loss is 0, so that L >= 0. L is not a sum over the rows. Its
conjugate is finite at the means of distributions q over the labelings (mixtures) ::

    theta = E_q[F(y')] - F(y),    - L*(theta) >= E_q[loss(y')]

A mixture is stored as these two means. The means of an average of mixtures are averages, and those
of a mixture with the true labeling are multiples, as both means of the true labeling are 0
(Joachims, 2005, A support vector method for multivariate performance measures; Zhang, Saha and
Vishwanathan, Regularized risk minimization by Nesterov's accelerated gradient methods, Examples 3
and 4).

A soft maximum in place of the largest adds the entropy of q, as in conditional random fields.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import fsum, inf
from typing import ClassVar, Self

import numpy as np

from .._floats import EPSILON
from .._typing import Array, Indices, Sum
from ..designs import Design


@dataclass(frozen=True, eq=False)
class Mixture:
    """A dual point: the means of a distribution over labelings, with bounds on their errors.

    Losses create mixtures, and averages of mixtures are mixtures.

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
    """

    theta: Array
    mean_loss: float
    theta_error: float = 0.0
    mean_loss_error: float = 0.0

    __array_ufunc__ = None  # NumPy's scalars then leave products to __rmul__
    is_linear: ClassVar[bool] = True  # whether `value` is linear in the scale

    def value(self, scale: float) -> Sum:
        """A lower bound on -L*(scale theta), 0 <= scale <= 1, and its rounding error."""
        value = scale * self.mean_loss
        return value, scale * self.mean_loss_error + 2.0 * EPSILON * abs(value)

    def __rmul__(self, scale: float) -> Self:
        """The mixture of this one, with the probability ``scale``, and the true labeling."""
        error = EPSILON * float(np.max(np.abs(self.theta), initial=0.0))
        return replace(
            self,
            theta=scale * self.theta,
            mean_loss=scale * self.mean_loss,
            theta_error=scale * self.theta_error + error,
            mean_loss_error=scale * self.mean_loss_error + EPSILON * abs(self.mean_loss),
        )

    @classmethod
    def mixed(cls, shares: Array, mixtures: "Sequence[Mixture]") -> "Mixture":
        """The mixture of several, and of the true labeling with the rest of the probability.

        Parameters
        ----------
        shares : ndarray of shape (n_mixtures,)
            Probabilities of the mixtures. If rounding makes their sum larger than 1, they are
            divided by it.
        """
        shares = np.maximum(shares, 0.0)
        total = fsum(shares)
        shares = shares / total if total > 1.0 else shares
        theta, size = np.zeros_like(mixtures[0].theta), 0.0
        for share, mixture in zip(shares, mixtures, strict=True):
            if share > 0.0:
                theta += share * mixture.theta
                size = max(size, float(np.max(np.abs(mixture.theta), initial=0.0)))
        losses = [m.mean_loss for m in mixtures]
        mean_loss = float(shares @ losses)
        rounding = (len(mixtures) + 4) * EPSILON
        return Mixture(
            theta,
            mean_loss,
            rounding * size + max(m.theta_error for m in mixtures),
            rounding * float(shares @ np.abs(losses)) + max(m.mean_loss_error for m in mixtures),
        )


class StructuredLoss(ABC):
    """A loss of all scores together.

    Attributes
    ----------
    weights : ndarray of shape (n_scores,)
        The c_i > 0: the gradient in the scores is weights * theta.
    largest_theta : ndarray of shape (n_scores,)
        The largest abs(theta_i) of any labeling.
    is_smooth : bool
        Whether it is a soft maximum, with a gradient everywhere.
    has_curvature : bool
        Whether `derivatives` gives a diagonal upper bound on the Hessian, and `hessian` itself.
    hessian_by_table : bool
        Whether the latter needs a table of the rows.
    has_thresholds : bool
        Whether the loss is a sum of margin losses of scores less thresholds, which minimise it.
    ignores_constants : bool
        Whether a constant added to all scores does not change the loss.
    entropy_range : float
        D: the maximum smoothed by mu is below the maximum by at most mu D.
    opposed : tuple of Mixture
        Mixtures whose theta have sums of both signs, which bound an intercept; empty for losses of
        models without an intercept.
    n_exchangeable : int
        The number of scores of which a sample could stand for the others, or 0 if none could.
    largest_target : float
        The size of targets, for bounds on the rounding of an intercept.
    """

    weights: Array
    largest_theta: Array
    is_smooth: ClassVar[bool] = False
    has_curvature: ClassVar[bool] = False
    hessian_by_table: ClassVar[bool] = False
    ignores_constants: ClassVar[bool] = False
    entropy_range: float
    linear_tails: ClassVar[bool] = True  # this and the next ones are said by every loss
    has_radius: ClassVar[bool] = False
    has_cones: ClassVar[bool] = False
    of_labels: ClassVar[bool] = False
    of_classes: ClassVar[bool] = False
    has_thresholds: ClassVar[bool] = False
    has_kinks: ClassVar[bool] = True
    constant_curvature: ClassVar[bool] = False
    smoothness: ClassVar[float] = inf
    is_log_likelihood: ClassVar[bool] = False
    opposed: ClassVar[tuple[Mixture, ...]] = ()
    n_exchangeable: int = 0
    largest_target: ClassVar[float] = 1.0

    @property
    def n_scores(self) -> int:
        return len(self.weights)

    @abstractmethod
    def value(self, z: Array) -> Sum:
        """The loss L(z) and a bound on its rounding error."""

    @abstractmethod
    def mixture(self, z: Array, smoothing: float) -> tuple[float, Mixture]:
        """The maximum at z and where it is attained.

        Parameters
        ----------
        z : ndarray of shape (n_scores,)
        smoothing : float
            mu >= 0. The maximum is over mixtures q of their mean loss plus mu times (the entropy
            of q minus the largest entropy). With 0 the result is one of the best labelings.

        Returns
        -------
        value : float
            The smoothed loss, without a bound on rounding.
        mixture : Mixture
        """

    @property
    def truth(self) -> Mixture:
        """The true labeling."""
        return Mixture(np.zeros(self.n_scores), 0.0)

    def mixed(self, shares: Array, mixtures: Sequence[Mixture]) -> Mixture:
        """The mixture of several: `Mixture.mixed` for the class of mixtures of this loss."""
        return Mixture.mixed(shares, mixtures)

    def sample(self, rows: Indices) -> "tuple[Indices, StructuredLoss]":
        """The indices of some rows, perhaps with a few others, and the loss of these rows."""
        raise NotImplementedError

    def distances_of_slopes(self, design: Design) -> Array | None:
        """Bounds on the distances of the entries of A' diag(c) theta from those at an optimum.

        They are to be multiplied by the root of a gap, for a dual point whose dual value is at
        most the gap below the optimum; None where there are none.
        """
        return None

    def sensitivity(self, error: Array) -> float:
        """An upper bound on the change of L when no score z_i changes by more than error_i."""
        return float(self.weights @ (self.largest_theta * error)) * (1.0 + 1e-9)


class LossOfRows(StructuredLoss):
    """A smooth or piecewise linear loss with a score for each row.

    Attributes
    ----------
    places : ndarray of int
        The rows with positive weights, in the order of the loss.
    offset : ndarray or None
        Numbers that are added to the scores of these rows.
    """

    places: Indices
    offset: Array | None

    @abstractmethod
    def derivatives(self, z: Array) -> tuple[float, Array, Array]:
        """The loss, its gradient over the weights, and an upper bound on its Hessian."""

    def value_and_theta(self, z: Array) -> tuple[float, Array]:
        """The loss and its gradient over the weights, by plain sums."""
        value, theta, _ = self.derivatives(z)
        return value, theta

    def _shifted(self, z: Array) -> Array:
        """The scores of the rows with weights, with their offsets."""
        own: Array = np.ascontiguousarray(z[self.places])
        return own if self.offset is None else own + self.offset

    def _rows(self, values: Array) -> Array:
        """Values of the rows with weights, as those of all rows over their weights 1 / n."""
        found = np.zeros(len(self.weights))
        found[self.places] = values
        found *= len(found)
        return found
