"""Losses of the margin y z, for labels -1 and 1."""

from dataclasses import dataclass
from math import inf, sqrt
from typing import ClassVar

import numpy as np
from scipy.special import expit

from .. import kernels
from .._floats import EPSILON, sum_and_rest
from .._immutable_base import attribute_of_part, computed, number
from .._typing import Array, Interval, Numbers, Scales, Sum
from .base import ScalarLoss, _depth
from .cones import LinearPiece, LossCones
from .jensen_groups import RowGroup, RowGroups
from .maxima_over_multipliers import Multipliers
from .numerical import SIGNED_POWERS, last_above, root_of_slope

SLACK = 1e-9  # of dual variables, above what balancing changes below their precision
ROUNDINGS = 64.0  # bounds the relative rounding errors of a loss and its conjugate, in EPSILON


class MarginLoss(ScalarLoss):
    """A loss of the margin, l(y, z) = phi(y z) with phi non-increasing, for y in {-1, +1}.

    A subclass of your own defines ``conjugate_domain``, ``_phi``, ``_phi_conjugate`` and
    ``_phi_derivative``, as in the example; estimators such as `PdproxSVC` then take it as their
    ``loss``. `skpd.losses.check_loss` tests it.

    Examples
    --------
    A hinge loss of a margin of 2, ``max(0, 2 - m)`` with the conjugate ``2 u`` on [-1, 0]:

    >>> import numpy as np
    >>> from skpd.losses import MarginLoss, check_loss
    >>> class WideHinge(MarginLoss):
    ...     conjugate_domain = (-1.0, 0.0)
    ...
    ...     def _phi(self, t):
    ...         return np.maximum(2.0 - t, 0.0)
    ...
    ...     def _phi_conjugate(self, u):
    ...         return np.where((u >= -1.0) & (u <= 0.0), 2.0 * u, np.inf)
    ...
    ...     def _phi_derivative(self, t):
    ...         return np.where(t < 2.0, -1.0, 0.0)
    >>> check_loss(WideHinge())
    """

    of_labels: ClassVar[bool] = True
    has_decisions: ClassVar[bool] = True

    def value(self, y: Array, z: Array, z_low: Numbers = 0.0) -> Array:
        return self._phi(y * z + y * z_low)

    def _argument(self, y: Array, z: Array, z_low: Numbers) -> tuple[Array, Numbers]:
        return sum_and_rest(y * z, y * z_low)

    def largest(self, y: Array, z: Array, z_low: Numbers, error: Numbers) -> Array:
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

    def dual_values(self, y: Array, weights: Array, theta: Array, scales: Scales) -> list[Sum]:
        values, unscaled = [], y * theta
        for scale in scales:
            u = scale * unscaled
            conjugate = self._phi_conjugate(u)
            sizes = np.abs(conjugate) + np.abs(u)  # of values, and of their changes with u
            rounding = _depth(len(u)) * EPSILON * kernels.dot(weights, sizes)
            values.append((-float(np.sum(weights * conjugate)), rounding))
        return values

    def decision_costs(
        self, y: Array, weights: Array, z: Array, error: Array, theta: Array
    ) -> Array:
        """See `Loss.decision_costs`; both functions are least at the boundary, or 0.

        phi(x) + phi*(u) - u x is convex, and 0 where u is a subgradient of phi. So its least value
        on the other side of 0 is that at 0 if u belongs to the side of the margin.
        """
        sign, u = np.sign(y * z), y * theta
        margin = sign * np.maximum(np.abs(z) - error, 0.0)
        at_0, slope = (float(f(np.zeros(1))[0]) for f in (self._phi, self._phi_derivative))
        conjugate = self._phi_conjugate(u)
        costs = np.where(sign * (u - slope) > 0.0, at_0 + conjugate, 0.0)
        sizes = at_0 + np.abs(conjugate) + np.abs(u)
        if self.smoothness < inf:
            loss = self._phi(margin)
            costs = np.maximum(costs, 0.0) + np.maximum(loss - at_0 - slope * margin, 0.0)
            sizes = sizes + loss + np.abs(slope * margin)
        costs = costs - ROUNDINGS * EPSILON * sizes
        return np.where(margin == 0.0, 0.0, weights * np.maximum(costs, 0.0))

    def best_constant(self, y: Array, weights: Array) -> float:
        positive = float(np.sum(weights[y > 0]))
        return self._best_constant(positive, float(np.sum(weights[y <= 0])))

    def _best_constant(self, positive: float, negative: float) -> float:
        """The b that minimises positive phi(b) + negative phi(-b)."""
        if positive < negative:
            return -self._best_constant(negative, positive)
        derivative = self._phi_derivative
        return root_of_slope(
            lambda b: positive * derivative(b) - negative * derivative(-b), SIGNED_POWERS
        )

    def _min_margin(self, value: float) -> float:
        """A lower bound on the t with phi(t) <= value; infinite where there is none."""
        return last_above(self._phi, value, SIGNED_POWERS)

    def row_groups(self, y: Array, weights: Array) -> RowGroups:
        classes = (np.where(y > 0, weights, 0.0), np.where(y > 0, 0.0, weights))
        return [RowGroup(c, float(np.sum(c))) for c in classes]

    def constant_interval(self, groups: RowGroups, value: float, bounds: list[float]) -> Interval:
        ends = []
        for sign, group, bound in zip((1.0, -1.0), groups, bounds, strict=True):
            total = group.total
            min_margin = self._min_margin(value / total) if total > 0 else -inf
            min_margin -= bound + 64.0 * EPSILON * (1.0 + abs(min_margin) + bound)
            ends.append(sign * min_margin if np.isfinite(min_margin) else -sign * inf)
        lower, upper = ends
        return lower, upper


class _QuadraticHinge(MarginLoss):
    """A loss with ``phi*(u) = u + q u^2 / 2`` on [lower, 0], linear or a parabola in pieces.

    With s = max(1 - t, 0) and a = min(s / q, -lower), phi(t) = a (s - q a / 2) and phi'(t) = -a.
    """

    conjugate_domain: ClassVar[Interval] = (-1.0, 0.0)

    def pieces(self, y: Array) -> list[LinearPiece]:
        return [LinearPiece(-y, y, 0.0, -self.conjugate_domain[0], self._conjugate_curvature)]

    def _phi(self, t: Array) -> Array:
        slope = -self._phi_derivative(t)
        return slope * (np.maximum(1.0 - t, 0.0) - 0.5 * self._conjugate_curvature * slope)

    def _phi_conjugate(self, u: Array) -> Array:
        inside = (u >= self.conjugate_domain[0]) & (u <= 0.0)
        return np.where(inside, u + 0.5 * self._conjugate_curvature * u * u, inf)

    def _phi_derivative(self, t: Array) -> Array:
        return -np.clip((1.0 - t) / self._conjugate_curvature, 0.0, -self.conjugate_domain[0])

    def _best_constant(self, positive: float, negative: float) -> float:
        # the derivative vanishes where the class weights times the slopes agree
        larger, smaller = max(positive, negative), min(positive, negative)
        b = (larger - smaller) / (larger + smaller)
        width = -self.conjugate_domain[0] * self._conjugate_curvature  # of the parabola
        if 1.0 + b > width:
            b = 1.0 - width * smaller / larger
        return b if positive >= negative else -b

    def _min_margin(self, value: float) -> float:
        steepest, q = -self.conjugate_domain[0], self._conjugate_curvature
        if value < 0.5 * q * steepest * steepest:
            return 1.0 - sqrt(2.0 * q * value)
        return 1.0 - 0.5 * q * steepest - value / steepest

    @property
    def evaluator(self) -> kernels.HingeLoss:
        return kernels.HingeLoss(self.conjugate_domain[0], self._conjugate_curvature)


@dataclass(frozen=True)
class Hinge(_QuadraticHinge):
    """Hinge loss, phi(m) = max(0, 1 - m); phi*(u) = u on [-1, 0].

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.losses import Hinge
    >>> Hinge().value(np.array([1.0, -1.0]), np.array([0.5, 0.5]))
    array([0.5, 1.5])
    """

    linear_conjugate: ClassVar[bool] = True
    conjugate_curvature: ClassVar[float] = 0.0

    def _phi(self, t: Array) -> Array:
        return np.maximum(1.0 - t, 0.0)

    def _phi_derivative(self, t: Array) -> Array:
        return np.where(t < 1.0, -1.0, 0.0)

    def intervals_of_predictions(
        self, y: Array, theta: Array, costs: Array
    ) -> tuple[Array, Array]:
        """The intervals of (1 - p) max(1 - m, 0) + p max(m - 1, 0) <= cost, with p = -y theta."""
        p = -y * theta
        slopes = np.maximum(np.stack([p, 1.0 - p]) - SLACK, 0.0)  # as the rounding of theta
        with np.errstate(divide="ignore", over="ignore"):
            above, below = costs / slopes
        least, largest = 1.0 - below, 1.0 + above
        return np.where(y > 0, least, -largest), np.where(y > 0, largest, -least)

    def _best_constant(self, positive: float, negative: float) -> float:
        return float(np.sign(positive - negative))


@dataclass(frozen=True)
class GeneralizedHinge(MarginLoss):
    """Generalised hinge loss of classification with a reject option.

    phi(m) = 1 - slope m for m <= 0, 1 - m for 0 < m < 1 and 0 for m >= 1 (Bartlett and
    Wegkamp, 2008). Its bilinear form has two multipliers a1, a2 >= 0 with a1 + a2 <= 1, and the
    model depends on them through u = -(slope a1 + a2) only. The best pair for given u has
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

    slope: float = number(2.0, above=1.0)

    conjugate_domain = computed(lambda self: (-self.slope, 0.0))

    def pieces(self, y: Array) -> list[LinearPiece]:
        return [LinearPiece(-y, y, 0.0, 1.0), LinearPiece(-y, 0.0 * y, 0.0, self.slope - 1.0)]

    def multipliers(self, y: Array) -> Multipliers:
        return Multipliers(np.outer(-y, [self.slope, 1.0]), np.ones((len(y), 2)))

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

    def _min_margin(self, value: float) -> float:
        return 1.0 - value if value <= 1.0 else (1.0 - value) / self.slope

    evaluator = computed(lambda self: kernels.GeneralizedHingeLoss(self.slope))


@dataclass(frozen=True)
class SmoothedHinge(_QuadraticHinge):
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

    mu: float = number(1.0, above=0.0)
    quadratic_conjugate: ClassVar[bool] = True
    conjugate_curvature = attribute_of_part("mu")


@dataclass(frozen=True)
class SquaredHinge(_QuadraticHinge):
    """Squared hinge loss, phi(m) = max(0, 1 - m)^2; phi*(u) = u + u^2 / 4 for u <= 0.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.losses import SquaredHinge
    >>> SquaredHinge().value(np.ones(2), np.array([-1.0, 0.5]))
    array([4.  , 0.25])
    """

    quadratic_conjugate: ClassVar[bool] = True
    conjugate_domain: ClassVar[Interval] = (-inf, 0.0)
    linear_tails: ClassVar[bool] = False
    conjugate_curvature: ClassVar[float] = 0.5

    def _phi(self, t: Array) -> Array:
        return np.maximum(1.0 - t, 0.0) ** 2


@dataclass(frozen=True)
class ModifiedHuber(_QuadraticHinge):
    """Modified Huber loss, as in scikit-learn's SGDClassifier.

    phi(m) = max(0, 1 - m)^2 for m >= -1 and -4 m below; phi*(u) = u + u^2 / 4 on [-4, 0].

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.losses import ModifiedHuber
    >>> ModifiedHuber().value(np.ones(3), np.array([-2.0, -1.0, 0.5]))
    array([8.  , 4.  , 0.25])
    """

    conjugate_domain: ClassVar[Interval] = (-4.0, 0.0)
    _conjugate_curvature: ClassVar[float] = 0.5


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

    is_log_likelihood: ClassVar[bool] = True
    can_separate: ClassVar[bool] = True
    conjugate_domain: ClassVar[Interval] = (-1.0, 0.0)
    linear_tails: ClassVar[bool] = False
    smoothness: ClassVar[float] = 0.25

    def add_cones(self, cones: LossCones) -> None:
        cones.add_smooth()

    def _phi(self, t: Array) -> Array:
        return self.evaluator.values(np.ascontiguousarray(t, dtype=np.float64))

    def _phi_conjugate(self, u: Array) -> Array:
        return self.evaluator.conjugates(np.ascontiguousarray(u, dtype=np.float64))

    def _phi_derivative(self, t: Array) -> Array:
        return -expit(-t)

    def _best_constant(self, positive: float, negative: float) -> float:
        if min(positive, negative) == 0.0:
            return inf if positive > 0 else -inf
        return float(np.log(positive) - np.log(negative))

    def _min_margin(self, value: float) -> float:
        # log(1 + exp(-m)) <= value; for large values exp(value) - 1 overflows
        return -(value + np.log(-np.expm1(-value))) if value > 0.0 else inf

    evaluator = computed(lambda self: kernels.LogisticLoss())
