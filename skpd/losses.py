"""Losses: convex functions of a target and a prediction, and their conjugates.

Every loss here is a convex function ``phi`` of one number ``t``:

================  =================  ==================  ==================
kind              t                  l(y, z)             l*(y, theta)
================  =================  ==================  ==================
`MarginLoss`      margin m = y z     phi(m)              phi*(y theta)
`ResidualLoss`    residual r = z-y   phi(r)              phi*(theta) + y theta
================  =================  ==================  ==================

with z = x.w + b the prediction and, for margin losses, y in {-1, +1}. A loss gives
``phi``, its conjugate ``phi*`` with the interval on which that is finite, and a
subgradient; the base class turns these into functions of y and z. The proximal
operators of the conjugates are compiled (``kernels/losses.hpp``).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import inf, isfinite, log2, sqrt
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import expit

from . import kernels
from ._numbers import check_number
from ._typing import Array

__all__ = [
    "Absolute",
    "EpsilonInsensitive",
    "GeneralizedHinge",
    "Hinge",
    "Huber",
    "Logistic",
    "Loss",
    "MarginLoss",
    "ModifiedHuber",
    "Pinball",
    "ResidualLoss",
    "SmoothedHinge",
    "Squared",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
]


EPSILON = float(np.finfo(np.float64).eps)


def _weighted_sum(weights: Array, values: Array, sizes: Array) -> tuple[float, float]:
    """sum_i weights_i values_i and a bound on its rounding error.

    ``sizes`` bounds the values and how much a relative change of their argument changes
    them.
    """
    rounding = _depth(len(values)) * EPSILON * kernels.dot(weights, sizes)
    return float(np.sum(weights * values)), rounding


def _sum_and_rest(a: Array, b: Array | float) -> tuple[Array, Array | float]:
    """a + b rounded, and what that misses of it, exactly (Knuth's TwoSum)."""
    total = a + b
    if not np.any(b):
        return total, 0.0
    share = total - a
    return total, (a - (total - share)) + (b - share)


def _depth(n: int) -> float:
    """Additions that a term goes through: NumPy sums blocks of 128, then their sums in pairs."""
    return 64.0 + log2(n + 1.0)


@dataclass(frozen=True)
class Stratum:
    """Rows that share one convex function of the distance of z from a common centre.

    Jensen's inequality over such rows bounds the loss at their mean prediction by their
    mean loss.

    Attributes
    ----------
    weights : ndarray of shape (n_samples,)
        The weights of its rows, 0 elsewhere.
    total : float
        Their sum.
    centre, error : float
        The mean target of a residual loss, and a bound on its rounding error.
    """

    weights: Array
    total: float
    centre: float = 0.0
    error: float = 0.0


class Piece(NamedTuple):
    """max over lower <= u <= upper of u s - curvature u^2 / 2, with s = sign (z - offset).

    ``sign`` and ``offset`` have a value for each row; ``lower`` is finite, ``upper`` may be inf.
    """

    sign: Array | float
    offset: Array
    lower: float
    upper: float
    curvature: float = 0.0


class Loss(ABC):
    """A convex loss l(y, z), non-negative, with 0 in the domain of its conjugate.

    Attributes
    ----------
    conjugate_domain : tuple of float
        The interval on which phi* is finite.
    lipschitz : float
        The Lipschitz constant of l(y, .), which may be inf.
    smoothness : float
        The Lipschitz constant of the derivative of l(y, .); inf where it jumps.
    linear_conjugate : bool
        Whether l*(y, .) is linear along every segment [0, theta] of its domain.
    quadratic_conjugate : bool
        Whether it is a parabola along every such segment.
    linear_tails : bool
        Whether l(y, .) is linear with a slope other than 0 on an interval, where it has
        a gradient but no curvature.
    constant_curvature : bool
        Whether l(y, .) is a parabola.
    """

    linear_conjugate: ClassVar[bool] = False
    quadratic_conjugate: ClassVar[bool] = False
    linear_tails: ClassVar[bool] = True
    constant_curvature: ClassVar[bool] = False

    @property
    @abstractmethod
    def conjugate_domain(self) -> tuple[float, float]: ...

    @property
    def smoothness(self) -> float:
        return inf

    @abstractmethod
    def _phi(self, t: Array) -> Array: ...

    @abstractmethod
    def _phi_conjugate(self, u: Array) -> Array: ...

    @abstractmethod
    def _phi_derivative(self, t: Array) -> Array: ...

    @property
    def lipschitz(self) -> float:
        return max(abs(bound) for bound in self.conjugate_domain)

    @abstractmethod
    def value(self, y: Array, z: Array, z_low: Array | float = 0.0) -> Array:
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

    def dual_value(
        self, y: Array, weights: Array, theta: Array, scale: float = 1.0
    ) -> tuple[float, float]:
        """The loss's part of the dual objective, - sum_i weights_i l*(y_i, scale theta_i).

        Returns
        -------
        value, rounding : float
            The sum and a bound on its rounding error.
        """
        return self.dual_values(y, weights, theta, (scale,))[0]

    @abstractmethod
    def dual_values(
        self, y: Array, weights: Array, theta: Array, scales: tuple[float, ...]
    ) -> list[tuple[float, float]]:
        """`dual_value` at several scales."""

    @abstractmethod
    def _argument(self, y: Array, z: Array, z_low: Array | float) -> tuple[Array, Array | float]:
        """The t of z + z_low, rounded, and what that misses of it."""

    def arguments(
        self, y: Array, z: Array, z_low: Array | float, error: Array | float
    ) -> tuple[Array, Array]:
        """Bounds on the t of the predictions between z_i + z_low_i -+ error_i.

        What the rounding of t itself misses is between them: phi is a difference such as 1 - t or
        ``|t| - epsilon``, in which nothing else may be left of t.
        """
        t, missed = self._argument(y, z, z_low)
        room = error + np.abs(missed)
        room = room + (room > 0.0) * 2.0 * EPSILON * (np.abs(t) + room)  # of the ends themselves
        return t - room, t + room

    def largest(self, y: Array, z: Array, z_low: Array | float, error: Array | float) -> Array:
        """The largest value of l(y_i, .) between z_i + z_low_i -+ error_i.

        An upper bound up to the few roundings of phi, which are relative to its value; not finite
        where numbers overflow.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            # phi is convex, and so largest at an end
            return np.maximum(*map(self._phi, self.arguments(y, z, z_low, error)))

    def largest_mean(
        self, y: Array, weights: Array, z: Array, z_low: Array | float, error: Array | float
    ) -> float:
        """The sum of `largest` times weights, up to a few dozen roundings."""
        return float(np.sum(weights * self.largest(y, z, z_low, error)))

    @abstractmethod
    def conjugate(self, y: Array, theta: Array) -> Array:
        """l*(y_i, theta_i), inf outside its domain."""

    @abstractmethod
    def best_constant(self, y: Array, weights: Array) -> float:
        """The constant z that minimises sum_i weights_i l(y_i, z).

        An infinite value where the infimum is only approached.
        """

    @abstractmethod
    def strata(self, y: Array, weights: Array) -> list[Stratum]:
        """The rows by the convex function that they share: all of them, or each class."""

    @abstractmethod
    def constant_interval(
        self, strata: list[Stratum], value: float, reaches: list[float]
    ) -> tuple[float, float]:
        """Bounds on b from sum_i weights_i l(y_i, x_i.w + b) <= value.

        Parameters
        ----------
        strata : list of Stratum
        value : float
            An upper bound on the weighted loss.
        reaches : list of float
            For each stratum, a bound on the size of x.w at its mean row x.

        Returns
        -------
        lower, upper : float
        """

    def pieces(self, y: Array) -> list[Piece] | None:
        """l(y_i, .) as a sum of terms that are linear or quadratic in pieces, or None."""
        return None

    @property
    @abstractmethod
    def kernel(self):
        """The compiled counterpart of this loss."""

    def prox_conjugate(self, y: Array, theta: Array, step: Array | float) -> Array:
        """argmin over x of l*(y_i, x) + (x - theta_i)^2 / (2 step_i)."""
        return self.kernel.prox_conjugate(
            np.ascontiguousarray(y, dtype=np.float64),
            np.ascontiguousarray(theta, dtype=np.float64),
            np.ascontiguousarray(np.broadcast_to(step, np.shape(theta)), dtype=np.float64),
        )

    def project_dual(self, y: Array, theta: Array) -> Array:
        """The nearest dual-feasible point; 0 in place of NaN."""
        if not isfinite(kernels.max_abs(np.ascontiguousarray(theta, dtype=np.float64))):
            theta = np.nan_to_num(theta, nan=0.0, posinf=None)
        unbounded = self.conjugate_domain == (-inf, inf)
        return theta if unbounded else self._clip(y, theta)

    @abstractmethod
    def _clip(self, y: Array, theta: Array) -> Array:
        """theta clipped to its bounds."""


class MarginLoss(Loss):
    """l(y, z) = phi(y z) with phi non-increasing, for y in {-1, +1}."""

    def value(self, y: Array, z: Array, z_low: Array | float = 0.0) -> Array:
        return self._phi(y * z + y * z_low)

    def _argument(self, y: Array, z: Array, z_low: Array | float) -> tuple[Array, Array | float]:
        return _sum_and_rest(y * z, y * z_low)

    def largest(self, y: Array, z: Array, z_low: Array | float, error: Array | float) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            return self._phi(self.arguments(y, z, z_low, error)[0])  # phi does not increase

    def gradient(self, y: Array, z: Array) -> Array:
        return y * self._phi_derivative(y * z)

    def dual_bounds(self, y: Array) -> tuple[Array, Array]:
        lower, upper = self.conjugate_domain
        return np.where(y > 0, lower, -upper), np.where(y > 0, upper, -lower)

    def _clip(self, y: Array, theta: Array) -> Array:
        return y * np.clip(y * theta, *self.conjugate_domain)

    def conjugate(self, y: Array, theta: Array) -> Array:
        return self._phi_conjugate(y * theta)

    def dual_values(
        self, y: Array, weights: Array, theta: Array, scales: tuple[float, ...]
    ) -> list[tuple[float, float]]:
        values, unscaled = [], y * theta
        for scale in scales:
            u = scale * unscaled
            conjugate = self._phi_conjugate(u)
            value, rounding = _weighted_sum(weights, conjugate, np.abs(conjugate) + np.abs(u))
            values.append((-value, rounding))
        return values

    def best_constant(self, y: Array, weights: Array) -> float:
        positive = float(np.sum(weights[y > 0]))
        return self._best_constant(positive, float(np.sum(weights[y <= 0])))

    @abstractmethod
    def _best_constant(self, positive: float, negative: float) -> float:
        """argmin over b of positive phi(b) + negative phi(-b)."""

    @abstractmethod
    def _least_margin(self, value: float) -> float:
        """The least t with phi(t) <= value."""

    def strata(self, y: Array, weights: Array) -> list[Stratum]:
        classes = (np.where(y > 0, weights, 0.0), np.where(y > 0, 0.0, weights))
        return [Stratum(c, float(np.sum(c))) for c in classes]

    def constant_interval(
        self, strata: list[Stratum], value: float, reaches: list[float]
    ) -> tuple[float, float]:
        bounds = []
        for sign, stratum, reach in zip((1.0, -1.0), strata, reaches, strict=True):
            total = stratum.total
            least = self._least_margin(value / total) if total > 0 else -inf
            least -= reach + 64.0 * EPSILON * (1.0 + abs(least) + reach)
            bounds.append(sign * least if np.isfinite(least) else -sign * inf)
        lower, upper = bounds
        return lower, upper


def _slope_down(y: Array, steepest: float, curvature: float = 0.0, end: float = 1.0) -> Piece:
    """A term that decreases in the margin y z up to ``end``, at most so steeply, and is 0 then."""
    return Piece(-y, end * y, 0.0, steepest, curvature)


class ResidualLoss(Loss):
    """l(y, z) = phi(z - y) with phi(0) = 0."""

    def value(self, y: Array, z: Array, z_low: Array | float = 0.0) -> Array:
        return self._phi((z - y) + z_low)

    def _argument(self, y: Array, z: Array, z_low: Array | float) -> tuple[Array, Array | float]:
        residual, missed = _sum_and_rest(z, -y)
        residual, rest = _sum_and_rest(residual, z_low)
        return residual, np.abs(missed) + np.abs(rest)

    def gradient(self, y: Array, z: Array) -> Array:
        return self._phi_derivative(z - y)

    def dual_bounds(self, y: Array) -> tuple[Array, Array]:
        lower, upper = self.conjugate_domain
        return np.full(len(y), lower), np.full(len(y), upper)

    def _clip(self, y: Array, theta: Array) -> Array:
        return np.clip(theta, *self.conjugate_domain)

    def conjugate(self, y: Array, theta: Array) -> Array:
        return self._phi_conjugate(theta) + y * theta

    def dual_values(
        self, y: Array, weights: Array, theta: Array, scales: tuple[float, ...]
    ) -> list[tuple[float, float]]:
        # the scaled sum, not the sum of scaled and so rounded terms, which may cancel
        linear, error = kernels.compensated_dot(weights, theta, y)
        values = []
        sums = self._conjugate_sums(weights, theta, scales)
        for scale, value in zip(scales, sums, strict=True):
            # phi* >= 0, and its slope times its argument is at most twice it
            rounding = 2.0 * _depth(len(theta)) * EPSILON * value
            rounding += scale * error + 2.0 * EPSILON * (scale * abs(linear) + value)
            values.append((-value - scale * linear, rounding))
        return values

    def _conjugate_sums(self, weights: Array, theta: Array, scales: tuple[float, ...]) -> list:
        """sum_i weights_i phi*(scale theta_i) at several scales."""
        return [float(np.sum(weights * self._phi_conjugate(scale * theta))) for scale in scales]

    @abstractmethod
    def _residual_interval(self, value: float) -> tuple[float, float]:
        """The interval of t with phi(t) <= value."""

    def strata(self, y: Array, weights: Array) -> list[Stratum]:
        total = float(np.sum(weights))
        mean, error = kernels.compensated_dot(weights, y)
        return [Stratum(weights, total, mean / total, error / total)]

    def constant_interval(
        self, strata: list[Stratum], value: float, reaches: list[float]
    ) -> tuple[float, float]:
        (stratum,), (reach,) = strata, reaches
        mean = stratum.centre
        lower, upper = self._residual_interval(value / stratum.total)
        room = reach + stratum.error + 64.0 * EPSILON * (abs(mean) + max(-lower, upper) + reach)
        return mean + lower - room, mean + upper + room


@dataclass(frozen=True)
class Hinge(MarginLoss):
    """Hinge loss, phi(m) = max(0, 1 - m); phi*(u) = u on [-1, 0].

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.losses import Hinge
    >>> Hinge().value(np.array([1.0, -1.0]), np.array([0.5, 0.5]))
    array([0.5, 1.5])
    """

    linear_conjugate: ClassVar[bool] = True
    conjugate_domain: ClassVar[tuple] = (-1.0, 0.0)

    def pieces(self, y: Array) -> list[Piece]:
        return [_slope_down(y, 1.0)]

    def _phi(self, t: Array) -> Array:
        return np.maximum(1.0 - t, 0.0)

    def _phi_conjugate(self, u: Array) -> Array:
        return np.where((u >= -1.0) & (u <= 0.0), u, inf)

    def _phi_derivative(self, t: Array) -> Array:
        return np.where(t < 1.0, -1.0, 0.0)

    def _best_constant(self, positive: float, negative: float) -> float:
        return float(np.sign(positive - negative))

    def _least_margin(self, value: float) -> float:
        return 1.0 - value

    @property
    def kernel(self):
        return kernels.HingeLoss(-1.0, 0.0)


@dataclass(frozen=True)
class GeneralizedHinge(MarginLoss):
    """Generalised hinge loss of classification with a reject option.

    phi(m) = 1 - slope m for m <= 0, 1 - m for 0 < m < 1 and 0 beyond (Bartlett and
    Wegkamp, 2008). Of the two multipliers a1, a2 >= 0, a1 + a2 <= 1 of its bilinear
    form, u = -(slope a1 + a2) alone enters the model; the best pair for given u has
    a1 + a2 = min(-u, 1), so that phi*(u) = max(u, -1) on [-slope, 0].

    Parameters
    ----------
    slope : float, default=2.0
        The cost of a confident error, greater than 1.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.losses import GeneralizedHinge
    >>> GeneralizedHinge(slope=3.0).value(np.ones(3), np.array([-1.0, 0.5, 2.0]))
    array([4. , 0.5, 0. ])
    """

    slope: float = 2.0

    def __post_init__(self) -> None:
        check_number(self, "slope", above=1.0)

    @property
    def conjugate_domain(self) -> tuple[float, float]:
        return (-self.slope, 0.0)

    def pieces(self, y: Array) -> list[Piece]:
        return [_slope_down(y, 1.0), _slope_down(y, self.slope - 1.0, end=0.0)]

    def _phi(self, t: Array) -> Array:
        return np.maximum(np.maximum(1.0 - self.slope * t, 1.0 - t), 0.0)

    def _phi_conjugate(self, u: Array) -> Array:
        return np.where((u >= -self.slope) & (u <= 0.0), np.maximum(u, -1.0), inf)

    def _phi_derivative(self, t: Array) -> Array:
        return np.where(t < 0.0, -self.slope, np.where(t < 1.0, -1.0, 0.0))

    def _best_constant(self, positive: float, negative: float) -> float:
        # piecewise linear with kinks at -1, 0, 1
        kinks = np.array([0.0, 1.0, -1.0])
        return float(kinks[np.argmin(positive * self._phi(kinks) + negative * self._phi(-kinks))])

    def _least_margin(self, value: float) -> float:
        return 1.0 - value if value <= 1.0 else (1.0 - value) / self.slope

    @property
    def kernel(self):
        return kernels.GeneralizedHingeLoss(self.slope)


@dataclass(frozen=True)
class SmoothedHinge(MarginLoss):
    """Smoothed hinge loss: a parabola of width mu joins the two lines of the hinge.

    phi(m) = 0 for m >= 1, (1 - m)^2 / (2 mu) for 1 - mu < m < 1 and 1 - m - mu / 2
    below; phi*(u) = u + mu u^2 / 2 on [-1, 0].

    Parameters
    ----------
    mu : float, default=1.0
        Width of the quadratic piece, greater than 0.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.losses import SmoothedHinge
    >>> SmoothedHinge(mu=1.0).value(np.ones(3), np.array([-1.0, 0.5, 2.0]))
    array([1.5  , 0.125, 0.   ])
    """

    mu: float = 1.0
    quadratic_conjugate: ClassVar[bool] = True
    conjugate_domain: ClassVar[tuple] = (-1.0, 0.0)

    def __post_init__(self) -> None:
        check_number(self, "mu", above=0.0)

    @property
    def smoothness(self) -> float:
        return 1.0 / self.mu

    def pieces(self, y: Array) -> list[Piece]:
        return [_slope_down(y, 1.0, self.mu)]

    def _phi(self, t: Array) -> Array:
        slack = np.maximum(1.0 - t, 0.0)
        # the quotient first: a square could underflow
        return np.where(slack < self.mu, 0.5 * slack * (slack / self.mu), slack - 0.5 * self.mu)

    def _phi_conjugate(self, u: Array) -> Array:
        return np.where((u >= -1.0) & (u <= 0.0), u + 0.5 * self.mu * u * u, inf)

    def _phi_derivative(self, t: Array) -> Array:
        return -np.clip((1.0 - t) / self.mu, 0.0, 1.0)

    def _best_constant(self, positive: float, negative: float) -> float:
        # the derivative vanishes where the class weights times the slopes agree
        most, least = max(positive, negative), min(positive, negative)
        b = (most - least) / (most + least)
        if 1.0 + b > self.mu:
            b = 1.0 - self.mu * least / most
        return b if positive >= negative else -b

    def _least_margin(self, value: float) -> float:
        if value < 0.5 * self.mu:
            return 1.0 - np.sqrt(2.0 * self.mu * value)
        return 1.0 - 0.5 * self.mu - value

    @property
    def kernel(self):
        return kernels.HingeLoss(-1.0, self.mu)


@dataclass(frozen=True)
class SquaredHinge(MarginLoss):
    """Squared hinge loss, phi(m) = max(0, 1 - m)^2; phi*(u) = u + u^2 / 4 for u <= 0.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.losses import SquaredHinge
    >>> SquaredHinge().value(np.ones(2), np.array([-1.0, 0.5]))
    array([4.  , 0.25])
    """

    quadratic_conjugate: ClassVar[bool] = True
    conjugate_domain: ClassVar[tuple] = (-inf, 0.0)
    linear_tails: ClassVar[bool] = False
    smoothness: ClassVar[float] = 2.0

    def pieces(self, y: Array) -> list[Piece]:
        return [_slope_down(y, inf, 0.5)]

    def _phi(self, t: Array) -> Array:
        return np.maximum(1.0 - t, 0.0) ** 2

    def _phi_conjugate(self, u: Array) -> Array:
        return np.where(u <= 0.0, u + 0.25 * u * u, inf)

    def _phi_derivative(self, t: Array) -> Array:
        return -2.0 * np.maximum(1.0 - t, 0.0)

    def _best_constant(self, positive: float, negative: float) -> float:
        return (positive - negative) / (positive + negative)

    def _least_margin(self, value: float) -> float:
        return 1.0 - np.sqrt(value)

    @property
    def kernel(self):
        return kernels.HingeLoss(-inf, 0.5)


@dataclass(frozen=True)
class ModifiedHuber(MarginLoss):
    """Modified Huber loss, as in scikit-learn's SGDClassifier.

    phi(m) = max(0, 1 - m)^2 for m >= -1 and -4 m below; phi*(u) = u + u^2 / 4 on [-4, 0].

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.losses import ModifiedHuber
    >>> ModifiedHuber().value(np.ones(3), np.array([-2.0, -1.0, 0.5]))
    array([8.  , 4.  , 0.25])
    """

    conjugate_domain: ClassVar[tuple] = (-4.0, 0.0)
    smoothness: ClassVar[float] = 2.0

    def pieces(self, y: Array) -> list[Piece]:
        return [_slope_down(y, 4.0, 0.5)]

    def _phi(self, t: Array) -> Array:
        slack = np.maximum(1.0 - t, 0.0)
        return np.where(slack < 2.0, slack * slack, -4.0 * t)

    def _phi_conjugate(self, u: Array) -> Array:
        return np.where((u >= -4.0) & (u <= 0.0), u + 0.25 * u * u, inf)

    def _phi_derivative(self, t: Array) -> Array:
        return -np.clip(2.0 * (1.0 - t), 0.0, 4.0)

    def _best_constant(self, positive: float, negative: float) -> float:
        return (positive - negative) / (positive + negative)  # within [-1, 1]

    def _least_margin(self, value: float) -> float:
        return 1.0 - np.sqrt(value) if value <= 4.0 else -0.25 * value

    @property
    def kernel(self):
        return kernels.HingeLoss(-4.0, 0.5)


@dataclass(frozen=True)
class Logistic(MarginLoss):
    """Logistic loss, phi(m) = log(1 + exp(-m)).

    phi*(u) = a log(a) + (1 - a) log(1 - a) with a = -u in [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.losses import Logistic
    >>> Logistic().value(np.ones(1), np.zeros(1))
    array([0.69314718])
    """

    conjugate_domain: ClassVar[tuple] = (-1.0, 0.0)
    linear_tails: ClassVar[bool] = False
    smoothness: ClassVar[float] = 0.25

    def _phi(self, t: Array) -> Array:
        return self.kernel.values(np.ascontiguousarray(t, dtype=np.float64))

    def _phi_conjugate(self, u: Array) -> Array:
        return self.kernel.conjugates(np.ascontiguousarray(u, dtype=np.float64))

    def _phi_derivative(self, t: Array) -> Array:
        return -expit(-t)

    def _best_constant(self, positive: float, negative: float) -> float:
        if min(positive, negative) == 0.0:
            return inf if positive > 0 else -inf
        return float(np.log(positive) - np.log(negative))

    def _least_margin(self, value: float) -> float:
        # log(1 + exp(-m)) <= value; for large values exp(value) - 1 overflows
        return -(value + np.log(-np.expm1(-value))) if value > 0.0 else inf

    @property
    def kernel(self):
        return kernels.LogisticLoss()


def _weighted_quantile(values, weights: Array, quantile):
    positive = weights > 0
    return float(
        np.quantile(values[positive], quantile, weights=weights[positive], method="inverted_cdf")
    )


@dataclass(frozen=True)
class Squared(ResidualLoss):
    """Half the squared residual, phi(r) = r^2 / 2; phi*(u) = u^2 / 2.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.losses import Squared
    >>> Squared().value(np.zeros(1), np.array([3.0]))
    array([4.5])
    """

    quadratic_conjugate: ClassVar[bool] = True
    conjugate_domain: ClassVar[tuple] = (-inf, inf)
    linear_tails: ClassVar[bool] = False
    constant_curvature: ClassVar[bool] = True
    lipschitz: ClassVar[float] = inf
    smoothness: ClassVar[float] = 1.0

    def _phi(self, t: Array) -> Array:
        half_square = t * t
        half_square *= 0.5
        return half_square

    def _phi_conjugate(self, u: Array) -> Array:
        return self._phi(u)

    def largest(self, y: Array, z: Array, z_low: Array | float, error: Array | float) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            return self._phi(self._largest_residual(y, z, z_low, error))

    def largest_mean(
        self, y: Array, weights: Array, z: Array, z_low: Array | float, error: Array | float
    ) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            size = self._largest_residual(y, z, z_low, error)
        return 0.5 * sum(kernels.compensated_dot(weights, size, size))

    def _largest_residual(self, y: Array, z: Array, z_low: Array | float, error: Array | float):
        # z - y is exact unless z_low is small beside it: all roundings are relative to its size
        size = z - y
        size += z_low
        np.abs(size, out=size)
        size += error
        return size

    def _conjugate_sums(self, weights: Array, theta: Array, scales: tuple[float, ...]) -> list:
        square = sum(kernels.compensated_dot(weights, theta, theta))
        return [scale * scale * (0.5 * square) for scale in scales]

    def _phi_derivative(self, t: Array) -> Array:
        return t

    def best_constant(self, y: Array, weights: Array) -> float:
        return float(np.average(y, weights=weights))

    def _residual_interval(self, value: float) -> tuple[float, float]:
        reach = sqrt(2.0 * value)
        return -reach, reach

    @property
    def kernel(self):
        return kernels.ResidualLoss(-inf, inf, 0.0, 1.0)


@dataclass(frozen=True)
class Absolute(ResidualLoss):
    """Absolute residual, ``phi(r) = |r|``; phi* = 0 on [-1, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.losses import Absolute
    >>> Absolute().value(np.zeros(1), np.array([-3.0]))
    array([3.])
    """

    linear_conjugate: ClassVar[bool] = True
    conjugate_domain: ClassVar[tuple] = (-1.0, 1.0)

    def pieces(self, y: Array) -> list[Piece]:
        return [Piece(1.0, y, -1.0, 1.0)]

    def _phi(self, t: Array) -> Array:
        return np.abs(t)

    def _phi_conjugate(self, u: Array) -> Array:
        return np.where(np.abs(u) <= 1.0, 0.0, inf)

    def _phi_derivative(self, t: Array) -> Array:
        return np.sign(t)

    def best_constant(self, y: Array, weights: Array) -> float:
        return _weighted_quantile(y, weights, 0.5)

    def _residual_interval(self, value: float) -> tuple[float, float]:
        return -value, value

    @property
    def kernel(self):
        return kernels.ResidualLoss(-1.0, 1.0, 0.0, 0.0)


@dataclass(frozen=True)
class EpsilonInsensitive(ResidualLoss):
    """Epsilon-insensitive loss, ``phi(r) = max(0, |r| - epsilon)``.

    ``phi*(u) = epsilon |u|`` on [-1, 1].

    Parameters
    ----------
    epsilon : float, default=0.1
        Half the width of the tube without loss, in units of y, at least 0.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.losses import EpsilonInsensitive
    >>> EpsilonInsensitive(epsilon=1.0).value(np.zeros(2), np.array([-3.0, 0.5]))
    array([2., 0.])
    """

    epsilon: float = 0.1
    linear_conjugate: ClassVar[bool] = True
    conjugate_domain: ClassVar[tuple] = (-1.0, 1.0)

    def __post_init__(self) -> None:
        check_number(self, "epsilon", least=0.0)

    def pieces(self, y: Array) -> list[Piece]:
        return [
            Piece(1.0, y + self.epsilon, 0.0, 1.0),
            Piece(-1.0, y - self.epsilon, 0.0, 1.0),
        ]

    def _phi(self, t: Array) -> Array:
        return np.maximum(np.abs(t) - self.epsilon, 0.0)

    def _phi_conjugate(self, u: Array) -> Array:
        return np.where(np.abs(u) <= 1.0, self.epsilon * np.abs(u), inf)

    def _phi_derivative(self, t: Array) -> Array:
        return np.sign(t) * (np.abs(t) > self.epsilon)

    def best_constant(self, y: Array, weights: Array) -> float:
        # the slope rises by weights_i at y_i - epsilon and at y_i + epsilon
        kinks = np.concatenate([y - self.epsilon, y + self.epsilon])
        return _weighted_quantile(kinks, np.concatenate([weights, weights]), 0.5)

    def _residual_interval(self, value: float) -> tuple[float, float]:
        return -value - self.epsilon, value + self.epsilon

    @property
    def kernel(self):
        return kernels.ResidualLoss(-1.0, 1.0, self.epsilon, 0.0)


@dataclass(frozen=True)
class SquaredEpsilonInsensitive(ResidualLoss):
    """Squared epsilon-insensitive loss, ``phi(r) = max(0, |r| - epsilon)^2``.

    ``phi*(u) = epsilon |u| + u^2 / 4``.

    Parameters
    ----------
    epsilon : float, default=0.1
        Half the width of the tube without loss, in units of y, at least 0.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.losses import SquaredEpsilonInsensitive
    >>> SquaredEpsilonInsensitive(epsilon=1.0).value(np.zeros(2), np.array([-3.0, 0.5]))
    array([4., 0.])
    """

    epsilon: float = 0.1
    conjugate_domain: ClassVar[tuple] = (-inf, inf)
    linear_tails: ClassVar[bool] = False
    smoothness: ClassVar[float] = 2.0

    def __post_init__(self) -> None:
        check_number(self, "epsilon", least=0.0)

    def pieces(self, y: Array) -> list[Piece]:
        return [
            Piece(1.0, y + self.epsilon, 0.0, inf, 0.5),
            Piece(-1.0, y - self.epsilon, 0.0, inf, 0.5),
        ]

    def _phi(self, t: Array) -> Array:
        return np.maximum(np.abs(t) - self.epsilon, 0.0) ** 2

    def _phi_conjugate(self, u: Array) -> Array:
        return self.epsilon * np.abs(u) + 0.25 * u * u

    def _phi_derivative(self, t: Array) -> Array:
        return 2.0 * np.sign(t) * np.maximum(np.abs(t) - self.epsilon, 0.0)

    def best_constant(self, y: Array, weights: Array) -> float:
        # the slope is piecewise linear in b, with kinks at y_i - epsilon and y_i + epsilon:
        # halve the sorted kinks to the two around its zero, between which it is linear
        kinks = np.sort(np.concatenate([y - self.epsilon, y + self.epsilon]))

        def slope(b):
            return float(weights @ self._phi_derivative(b - y))

        first, last = 0, len(kinks) - 1
        while last - first > 1:
            middle = (first + last) // 2
            if slope(kinks[middle]) <= 0.0:
                first = middle
            else:
                last = middle
        low, high = slope(kinks[first]), slope(kinks[last])
        share = -low / (high - low) if high > low else 0.5
        return float(kinks[first] + min(max(share, 0.0), 1.0) * (kinks[last] - kinks[first]))

    def _residual_interval(self, value: float) -> tuple[float, float]:
        reach = np.sqrt(value) + self.epsilon
        return -reach, reach

    @property
    def kernel(self):
        return kernels.ResidualLoss(-inf, inf, self.epsilon, 0.5)


@dataclass(frozen=True)
class Pinball(ResidualLoss):
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

    quantile: float = 0.5
    linear_conjugate: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_number(self, "quantile", above=0.0, below=1.0)

    @property
    def conjugate_domain(self) -> tuple[float, float]:
        return (-self.quantile, 1.0 - self.quantile)

    def pieces(self, y: Array) -> list[Piece]:
        return [Piece(1.0, y, *self.conjugate_domain)]

    def _phi(self, t: Array) -> Array:
        return np.maximum((1.0 - self.quantile) * t, -self.quantile * t)

    def _phi_conjugate(self, u: Array) -> Array:
        lower, upper = self.conjugate_domain
        return np.where((u >= lower) & (u <= upper), 0.0, inf)

    def _phi_derivative(self, t: Array) -> Array:
        return np.where(t > 0.0, 1.0 - self.quantile, np.where(t < 0.0, -self.quantile, 0.0))

    def best_constant(self, y: Array, weights: Array) -> float:
        return _weighted_quantile(y, weights, self.quantile)

    def _residual_interval(self, value: float) -> tuple[float, float]:
        return -value / self.quantile, value / (1.0 - self.quantile)

    @property
    def kernel(self):
        return kernels.ResidualLoss(*self.conjugate_domain, 0.0, 0.0)


@dataclass(frozen=True)
class Huber(ResidualLoss):
    """Huber loss: ``r^2 / 2`` up to ``|r| = delta``, ``delta (|r| - delta / 2)`` beyond.

    phi*(u) = u^2 / 2 on [-delta, delta].

    Parameters
    ----------
    delta : float, default=1.35
        Where the loss turns linear, in units of y, greater than 0.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.losses import Huber
    >>> Huber(delta=1.0).value(np.zeros(2), np.array([0.5, 3.0]))
    array([0.125, 2.5  ])
    """

    delta: float = 1.35
    quadratic_conjugate: ClassVar[bool] = True
    smoothness: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        check_number(self, "delta", above=0.0)

    @property
    def conjugate_domain(self) -> tuple[float, float]:
        return (-self.delta, self.delta)

    def pieces(self, y: Array) -> list[Piece]:
        return [Piece(1.0, y, -self.delta, self.delta, 1.0)]

    def _phi(self, t: Array) -> Array:
        size = np.abs(t)
        tail = self.delta * (size - 0.5 * self.delta)
        return np.where(size <= self.delta, 0.5 * t * t, tail)

    def _phi_conjugate(self, u: Array) -> Array:
        return np.where(np.abs(u) <= self.delta, 0.5 * u * u, inf)

    def _phi_derivative(self, t: Array) -> Array:
        return np.clip(t, -self.delta, self.delta)

    def best_constant(self, y: Array, weights: Array) -> float:
        # sum_i weights_i clip(b - y_i, -delta, delta) = 0 is the optimality condition of
        # projecting -y onto a box and a hyperplane, with b its multiplier
        centre = _weighted_quantile(y, weights, 0.5)
        edge = np.full(len(y), self.delta)
        point = centre - np.ascontiguousarray(y, dtype=np.float64)
        theta = kernels.project_box_hyperplane(point, -edge, edge, weights, weights, 0.0)
        inside = (np.abs(theta) < self.delta) & (weights > 0)
        if not inside.any():
            return centre
        return centre + float(np.average((theta - point)[inside], weights=weights[inside]))

    def _residual_interval(self, value: float) -> tuple[float, float]:
        if value <= 0.5 * self.delta**2:
            reach = np.sqrt(2.0 * value)
        else:
            reach = value / self.delta + 0.5 * self.delta
        return -reach, reach

    @property
    def kernel(self):
        return kernels.ResidualLoss(-self.delta, self.delta, 0.0, 1.0)
