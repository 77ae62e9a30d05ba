"""Losses of the residual of two or more pieces, most of them 0 for small residuals."""

from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import ClassVar

import numpy as np

from .. import kernels
from .._checks import check_array
from .._immutable_base import computed, number
from .._typing import Array, Interval
from .cones import LinearPiece
from .maxima_over_multipliers import Multipliers
from .residual import QuadraticResidual, ResidualLoss


@dataclass(frozen=True)
class PiecewiseLinear(ResidualLoss):
    """A convex function of the residual that is linear between knots, with phi(0) = 0.

    Its conjugate on [slope_0, slope_m] is the integral of the inverse of the slope: ``phi*(u) =
    sum_k knot_k (length of the part of [0, u] between slope_k and slope_{k+1})``.

    Parameters
    ----------
    knots : tuple of float of length m
        Residuals at which the slope changes, increasing.
    slopes : tuple of float of length m + 1
        The slopes before the first, between and after the last knot, increasing, the first below
        and the last above 0. The least value of phi must be at 0.

    Raises
    ------
    ValueError
        If the numbers of knots and slopes, their order or their signs are not as described.

    Examples
    --------
    A loss that is 0 for errors up to 1, with slope 1 beyond, and slope 2 for residuals above 3:

    >>> import numpy as np
    >>> from skpd.losses import PiecewiseLinear
    >>> loss = PiecewiseLinear(knots=(-1.0, 1.0, 3.0), slopes=(-1.0, 0.0, 1.0, 2.0))
    >>> loss.value(np.zeros(4), np.array([-3.0, 0.5, 2.0, 4.0]))
    array([2., 0., 1., 4.])
    """

    knots: tuple[float, ...]
    slopes: tuple[float, ...]
    conjugate_curvature: ClassVar[None] = None

    def __post_init__(self) -> None:
        knots, slopes = (
            check_array(f"{name} of PiecewiseLinear", getattr(self, name), minimum=-inf)
            for name in ("knots", "slopes")
        )
        object.__setattr__(self, "knots", tuple(np.atleast_1d(knots).tolist()))
        object.__setattr__(self, "slopes", tuple(np.atleast_1d(slopes).tolist()))
        at_0 = np.searchsorted(self.knots, 0.0), np.searchsorted(self.knots, 0.0, side="right")
        if not (
            np.all(np.diff(self.knots) > 0.0) and np.all(np.diff(self.slopes) > 0.0)
            and len(self.slopes) == len(self.knots) + 1 and self.slopes[0] < 0.0 < self.slopes[-1]
            and self.slopes[at_0[0]] <= 0.0 <= self.slopes[at_0[1]]
        ):  # fmt: skip
            raise ValueError(
                "PiecewiseLinear wants increasing knots, one more increasing slope of both signs "
                f"and its least value at 0, got knots={self.knots} and slopes={self.slopes}."
            )

    conjugate_domain = computed(lambda self: (self.slopes[0], self.slopes[-1]))

    @cached_property
    def _jumps(self) -> list[tuple[float, float, float]]:
        """The breakpoints with the parts of their jumps of the slope below and above 0."""
        pairs = zip(self.knots, self.slopes[:-1], self.slopes[1:], strict=True)
        return [(t, max(-a, 0.0) - max(-b, 0.0), max(b, 0.0) - max(a, 0.0)) for t, a, b in pairs]

    def pieces(self, y: Array) -> list[LinearPiece]:
        return [LinearPiece(1.0, y + t, -below, above) for t, below, above in self._jumps]

    def _phi(self, t: Array) -> Array:
        total = np.zeros(np.shape(t))
        for point, below, above in self._jumps:
            total += below * np.maximum(point - t, 0.0) + above * np.maximum(t - point, 0.0)
        return total

    def _phi_conjugate(self, u: Array) -> Array:
        lower, upper = np.array(self.slopes[:-1]), np.array(self.slopes[1:])
        parts = np.clip(u[:, np.newaxis], lower, upper) - np.clip(0.0, lower, upper)
        inside = (u >= self.slopes[0]) & (u <= self.slopes[-1])
        return np.where(inside, parts @ np.array(self.knots), inf)

    def _phi_derivative(self, t: Array) -> Array:
        # at a breakpoint the subgradient nearest to 0
        before, behind = (np.searchsorted(self.knots, t, side) for side in ("left", "right"))
        return np.clip(0.0, np.take(self.slopes, before), np.take(self.slopes, behind))

    def best_constant(self, y: Array, weights: Array) -> float:
        points = np.add.outer(y, self.knots).ravel()
        order = np.argsort(points)
        rises = np.multiply.outer(weights, np.diff(self.slopes)).ravel()[order]
        behind = float(np.sum(weights)) * self.slopes[0] + np.cumsum(rises)
        return float(points[order][np.argmax(behind >= 0.0)])

    def _residual_interval(self, value: float) -> Interval:
        values = self._phi(np.array(self.knots))
        ends = zip(self.knots, values, self.slopes[:-1], self.slopes[1:], strict=True)
        lower, upper = zip(*((t + (value - v) / a if a < 0.0 else -inf,
                              t + (value - v) / b if b > 0.0 else inf)
                             for t, v, a, b in ends), strict=True)  # fmt: skip
        return max(lower), min(upper)

    @property
    def evaluator(self) -> kernels.PiecewiseLinearLoss:
        return kernels.PiecewiseLinearLoss(
            self.knots, self.slopes, self._phi(np.array(self.knots)).tolist()
        )


@dataclass(frozen=True)
class EpsilonInsensitive(QuadraticResidual):
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

    epsilon: float = number(0.1, minimum=0.0)
    linear_conjugate: ClassVar[bool] = True
    conjugate_domain: ClassVar[Interval] = (-1.0, 1.0)

    def multipliers(self, y: Array) -> Multipliers:
        offsets = np.outer(y, [-1.0, 1.0]) - self.epsilon
        return Multipliers(np.tile([1.0, -1.0], (len(y), 1)), offsets)


@dataclass(frozen=True)
class SquaredEpsilonInsensitive(QuadraticResidual):
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

    epsilon: float = number(0.1, minimum=0.0)
    conjugate_domain: ClassVar[Interval] = (-inf, inf)
    linear_tails: ClassVar[bool] = False
    _conjugate_curvature: ClassVar[float] = 0.5

    def _phi(self, t: Array) -> Array:
        return np.square(self._beyond(t))  # also for infinite residuals
