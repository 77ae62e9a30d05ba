"""Half the unit deviances of counts and costs, whose mean is the exponential of the prediction."""

from abc import abstractmethod
from dataclasses import dataclass, field
from math import expm1, inf, log
from typing import ClassVar

import numpy as np
from scipy.special import expit, xlogy

from .. import kernels
from .._floats import EPSILON, sum_and_rest
from .._immutable_base import computed, number
from .._typing import Array, Interval, Numbers, Scales, Sum
from .base import Loss, _depth
from .cones import LossCones
from .jensen_groups import RowGroup, RowGroups, all_rows
from .numerical import POWERS, last_above
from .residual import interval_of_constants

LARGEST = 1e100  # size of dual variables, beyond which sums of products may overflow
ROUNDINGS = 64.0  # bounds the relative rounding errors of a loss and its conjugate, in EPSILON


class Deviance(Loss):
    """Half the unit deviance of a target y >= 0 and the mean exp(z).

    It is 0 where the mean is y. A sum over the rows of deviances for a constant z follows from the
    sums of the weights and of the targets, and is least at the logarithm of the mean target.
    """

    has_log_link: ClassVar[bool] = True
    groups_have_weights: ClassVar[bool] = False
    has_kinks: ClassVar[bool] = False
    linear_tails: ClassVar[bool] = False
    has_newton_steps: ClassVar[bool] = True  # of the losses derived from this one
    can_separate: ClassVar[bool] = True
    dual_is_free: ClassVar[bool] = False
    conjugate_domain: Interval = (-inf, inf)
    power: float  # of the distribution by whose deviance predictions are scored

    zeros = computed(lambda self: self.power < 2.0)  # whether targets may be 0

    def add_cones(self, cones: LossCones) -> None:
        cones.add_smooth()

    def require_targets(self, min_target: float) -> None:
        if min_target < 0.0 or (min_target == 0.0 and not self.zeros):
            allowed = "0 or greater" if self.zeros else "greater than 0"
            raise ValueError(f"y must be {allowed} for the loss {self!r}, got {min_target:.6g}.")

    def unit_variance(self, mean: Array) -> Array:
        """The variance of targets with a mean, up to the dispersion."""
        return mean**self.power

    def distant_constant(self, best: Numbers) -> Numbers:
        return best + 1.0  # of a mean that is e times as large: that of 0 may be any number

    def largest(self, y: Array, z: Array, z_low: Numbers, error: Numbers) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            r, missed = self._argument(y, z, z_low)
            # the last term bounds the roundings of r - errors, r + errors and of their multiples
            errors = error + missed
            errors = errors + 4.0 * EPSILON * (np.abs(r) + errors)
            # a convex function is largest at an end of an interval
            return np.maximum(*(self._of_argument(y, end) for end in (r - errors, r + errors)))

    @abstractmethod
    def _origin(self, y: Array) -> Array:
        """The numbers u for which the loss is a function of y and z - u, rounded to doubles."""

    def _argument(self, y: Array, z: Array, z_low: Numbers) -> tuple[Array, Array]:
        """The difference z - u, and its rounding error."""
        origin = self._origin(y)
        r, missed = sum_and_rest(z, -origin)
        r, second_error = sum_and_rest(r, z_low)
        return r, np.abs(missed) + np.abs(second_error) + 2.0 * EPSILON * np.abs(origin)

    @abstractmethod
    def _of_argument(self, y: Array, r: Array) -> Array:
        """The loss as a function of y and z - u, or an upper bound."""

    @abstractmethod
    def _conjugate_and_size(self, y: Array, theta: Array) -> tuple[Array, Array]:
        """l*(y, theta) - theta u, and a bound on its rounding error in EPSILON."""

    def conjugate(self, y: Array, theta: Array) -> Array:
        return self._conjugate_and_size(y, theta)[0] + theta * self._origin(y)

    def dual_values(self, y: Array, weights: Array, theta: Array, scales: Scales) -> list[Sum]:
        origin = self._origin(y)
        linear, error = kernels.compensated_dot(weights, theta, origin)
        error += 2.0 * EPSILON * kernels.dot(weights, np.abs(theta * origin))
        values = []
        for scale in scales:
            conjugates, size = self._conjugate_and_size(y, scale * theta)
            value = -float(np.sum(weights * conjugates)) - scale * linear
            total_size = (_depth(len(theta)) + 2.0) * kernels.dot(weights, size)
            rounding = scale * error + EPSILON * (total_size + 2.0 * scale * abs(linear))
            values.append((value, rounding))
        return values

    def _clip(self, y: Array, theta: Array) -> Array:
        lower, upper = self.dual_bounds(y)
        return np.clip(theta, np.maximum(lower, -LARGEST), np.minimum(upper, LARGEST))

    def best_constant(self, y: Array, weights: Array) -> float:
        mean = float(np.average(y, weights=weights))
        if not mean > 0.0:
            raise ValueError(
                f"y must have targets greater than 0 (with a positive sample_weight) for the loss "
                f"{self!r}, got only zeros: the best constant prediction of the mean is then 0, "
                "whose logarithm is infinite."
            )
        return log(mean)


class PowerDeviance(Deviance):
    """The deviances of distributions whose variance is proportional to a power of the mean.

    With a = 2 - power, b = power - 1 and r = z - log(y) they are
    ``y^a ((exp(a r) - 1) / a + (exp(-b r) - 1) / b)``, or its limit where a or b is 0.
    """

    conjugate_domain = computed(lambda self: (-inf, 1.0 if self.power == 2.0 else inf))

    @property
    def evaluator(self):
        kinds = {1.0: kernels.PoissonLoss, 2.0: kernels.GammaLoss}
        return kinds.get(self.power, kernels.TweedieLoss)(float(self.power))

    def _scales(self, y: Array) -> Array:
        """The factors y^a of the loss as a function of r."""
        if self.power == 2.0:
            return np.ones(len(y))
        y = np.ascontiguousarray(y, dtype=np.float64)
        return y if self.power == 1.0 else y ** (2.0 - self.power)

    def value(self, y: Array, z: Array, z_low: Numbers = 0.0) -> Array:
        return self._of_argument(y, (z - self._origin(y)) + z_low)

    def _origin(self, y: Array) -> Array:
        """The logarithm of positive targets, and 0 for others."""
        return np.log(np.where(y > 0.0, y, 1.0))

    def _of_argument(self, y: Array, r: Array) -> Array:
        return self.evaluator.values(self._scales(y), np.ascontiguousarray(r))

    def gradient(self, y: Array, z: Array) -> Array:
        r = np.ascontiguousarray(z - self._origin(y))
        return self.evaluator.derivatives(self._scales(y), r)

    def constant_with_offsets(self, y: Array, weights: Array, offset: Array) -> float:
        """The root of the slope, sum_i c_i (exp(a (b + o_i)) - y_i exp((a - 1) (b + o_i)))."""
        constant = self.best_constant(y, weights)
        middle = float(np.average(offset, weights=weights))
        a, offset = 2.0 - self.power, offset - middle  # exponentials of differences
        with np.errstate(over="ignore"):
            up = kernels.dot(weights, np.exp(a * offset))
            down = kernels.dot(weights * y, np.exp((a - 1.0) * offset))
        root = log(down) - log(up) - middle
        return root if np.isfinite(root) else constant - middle

    def dual_bounds(self, y: Array) -> tuple[Array, Array]:
        lower = -np.asarray(y) if self.power == 1.0 else np.where(y > 0.0, -inf, 0.0)
        return lower, np.full(len(y), self.conjugate_domain[1])

    def _conjugate_and_size(self, y: Array, theta: Array) -> tuple[Array, Array]:
        theta = np.ascontiguousarray(theta, np.float64)
        conjugates = self.evaluator.conjugates(self._scales(y), theta)
        # the terms that may cancel are at most this times theta, as is the effect of y^a
        largest = sum(1.0 / x for x in (2.0 - self.power, self.power - 1.0) if x > 0.0)
        return conjugates, np.abs(conjugates) + largest * np.abs(theta)

    def row_groups(self, y: Array, weights: Array) -> RowGroups:
        """One group, of the rows with y > 0, whose losses are y^a times one function of r."""
        return all_rows(self._origin(y), weights * self._scales(y), 2.0 * EPSILON)

    def constant_interval(self, groups: RowGroups, value: float, bounds: list[float]) -> Interval:
        if not groups[0].total > 0.0:
            return -inf, inf
        value *= 1.0 + 16.0 * EPSILON  # for the rounding of the scaled weights
        return interval_of_constants(groups, value, bounds, self._interval_of_r)

    def _interval_of_r(self, value: float) -> Interval:
        """The ends of an interval that contains every r with phi(r) <= value."""
        kernel, outwards = self.evaluator, POWERS[::-1]

        def phi(r: Array) -> Array:
            values: Array = kernel.values(np.ones(len(r)), r)
            return values

        return -abs(last_above(phi, value, -outwards)), abs(last_above(phi, value, outwards))


@dataclass(frozen=True)
class Tweedie(PowerDeviance):
    """Half the unit deviance of the Tweedie distributions with a power from 1 to 2.

    The variance of y is proportional to the power of the mean: 1 for counts (`Poisson`), 2 for
    positive costs (`Gamma`), and between them for sums of a random number of costs, which may be
    0. With a = 2 - power, b = power - 1 and r = z - log(y) the loss is
    ``y^a ((exp(a r) - 1) / a + (exp(-b r) - 1) / b)``, or its limit where a or b is 0.

    Parameters
    ----------
    power : float, default=1.5
        The power, from 1 to 2: for other powers the loss is not convex.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.losses import Tweedie
    >>> Tweedie(power=1.5).value(np.array([1.0, 0.0]), np.log([4.0, 4.0]))
    array([1., 4.])
    """

    power: float = number(1.5, minimum=1.0, maximum=2.0)


@dataclass(frozen=True)
class Poisson(PowerDeviance):
    """Half the unit deviance of counts, ``exp(z) - y z + y log(y) - y``.

    l*(y, theta) = (theta + y) log(theta + y) - theta - y log(y) for theta >= -y.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.losses import Poisson
    >>> Poisson().value(np.array([1.0, 0.0]), np.zeros(2))
    array([0., 1.])
    """

    power: float = field(default=1.0, init=False, repr=False)

    def weights_of_means(self, y: Array, z: Array) -> Array:
        return np.exp(z)


@dataclass(frozen=True)
class Gamma(PowerDeviance):
    """Half the unit deviance of positive costs, ``y exp(-z) + z - log(y) - 1``.

    l*(y, theta) = (1 - theta) log(1 - theta) + theta log(y) + theta for theta <= 1.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.losses import Gamma
    >>> Gamma().value(np.array([1.0, 2.0]), np.log([1.0, 2.0]))
    array([0., 0.])
    """

    power: float = field(default=2.0, init=False, repr=False)

    def weights_of_means(self, y: Array, z: Array) -> Array:
        return y * np.exp(-z)


@dataclass(frozen=True)
class NegativeBinomial(Deviance):
    """Half the unit deviance of counts whose variance is mean + dispersion mean^2.

    With k = 1 / dispersion and t = z - log(k) it is ``y log(1 + exp(-t)) + k log(1 + exp(t))``
    less its least value, which is a logistic loss with the weight y + k.

    Parameters
    ----------
    dispersion : float, default=1.0
        The dispersion, greater than 0; 0 would be the Poisson distribution.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.losses import NegativeBinomial
    >>> NegativeBinomial(dispersion=1.0).value(np.zeros(1), np.zeros(1))
    array([0.69314718])
    """

    dispersion: float = number(1.0, above=0.0)
    power: float = field(default=1.0, init=False, repr=False)

    k = computed(lambda self: 1.0 / self.dispersion)

    def unit_variance(self, mean: Array) -> Array:
        return mean + self.dispersion * mean**2

    evaluator = computed(lambda self: kernels.NegativeBinomialLoss(self.k))

    def value(self, y: Array, z: Array, z_low: Numbers = 0.0) -> Array:
        return self._value_and_size(y, (z - log(self.k)) + z_low)[0]

    def _value_and_size(self, y: Array, t: Array) -> tuple[Array, Array]:
        """The loss, and the sum of the sizes of the terms that may cancel."""
        first, second = y * np.logaddexp(0.0, -t), self.k * np.logaddexp(0.0, t)
        minimum = self._min_of_terms(y)
        return np.maximum(first + second - minimum, 0.0), first + second + minimum

    def _min_of_terms(self, y: Array) -> Array:
        """The least value over z of the two terms, y log(1 + k / y) + k log(1 + y / k)."""
        small, large = np.minimum(y, self.k), np.maximum(y, self.k)
        return -xlogy(small, small / (y + self.k)) + large * np.log1p(small / large)

    def _of_argument(self, y: Array, r: Array) -> Array:
        value, size = self._value_and_size(y, r)
        return value + ROUNDINGS * EPSILON * size

    def gradient(self, y: Array, z: Array) -> Array:
        t = z - log(self.k)
        slope: Array = self.k * expit(t) - y * expit(-t)
        return slope

    def dual_bounds(self, y: Array) -> tuple[Array, Array]:
        return -np.asarray(y), np.full(len(y), self.k)

    def _origin(self, y: Array) -> Array:
        return np.full(len(y), log(self.k))

    def _conjugate_and_size(self, y: Array, theta: Array) -> tuple[Array, Array]:
        total, up, down = y + self.k, y + theta, self.k - theta
        small, large = np.minimum(up, down), np.maximum(up, down)  # their sum is the total
        inside = small >= 0.0
        share = np.where(inside, small / total, 0.0)
        first, second = xlogy(np.where(inside, small, 0.0), share), large * np.log1p(-share)
        minimum = self._min_of_terms(y)
        value = np.where(inside, first + second + minimum, inf)
        size = np.abs(first) + np.abs(second) + minimum + np.abs(theta)
        return value, np.where(inside, size, 0.0)

    def row_groups(self, y: Array, weights: Array) -> RowGroups:
        """The rows with the weights of both terms.

        The centre of each, times its total, is the sum of the least values of the losses.
        """
        minimum = float(weights @ self._min_of_terms(y)) * (1.0 + ROUNDINGS * EPSILON)
        groups = []
        for factor in (y, np.full(len(y), self.k)):
            total = float(weights @ factor)
            groups.append(RowGroup(weights * factor, total, minimum / (total or 1.0)))
        return groups

    def constant_interval(self, groups: RowGroups, value: float, bounds: list[float]) -> Interval:
        """Bounds on intercepts from Jensen's inequality for each of the two terms alone."""
        ends = []
        for group, bound in zip(groups, bounds, strict=True):
            end = -inf
            if group.total > 0.0:
                max_term = (value / group.total + group.centre) * (1.0 + ROUNDINGS * EPSILON)
                # log(1 + exp(-t)) <= max_term, as in the logistic loss
                end = -(max_term + log(-expm1(-max_term))) if max_term > 0.0 else inf
                end -= bound + ROUNDINGS * EPSILON * (1.0 + abs(end) + bound)
            ends.append(end)
        log_k = log(self.k)
        rounding = 4.0 * EPSILON * abs(log_k)
        return ends[0] + log_k - rounding, log_k - ends[1] + rounding
