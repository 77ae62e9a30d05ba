"""Convex increasing functions V of a number z >= 0, for penalties V(||w||)."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isfinite

from .._immutable_base import Value, computed, number
from .base import _product

BISECTIONS = 200  # most halvings; bisection ends earlier, when no number is between the ends


class IncreasingFunction(Value, ABC):
    """A convex non-decreasing function V of a number z >= 0 with V(0) = 0 and V(z) -> inf.

    A class must define ``value``, ``slope`` and ``conjugate``; the inverse is found from these by
    bisection unless it is overridden.

    Attributes
    ----------
    is_square : bool
        Whether V(t z) = t^2 V(z).
    """

    is_square = False

    @abstractmethod
    def value(self, z: float) -> float:
        """V(z)."""

    @abstractmethod
    def slope(self, z: float) -> float:
        """The right derivative of V at z, at least 0."""

    @abstractmethod
    def conjugate(self, s: float) -> float:
        """The conjugate V*(s) = sup over z >= 0 of s z - V(z) for s >= 0, which may be inf."""

    def inverse(self, value: float) -> float:
        """The largest z with V(z) <= value, rounded up."""
        if not isfinite(value):
            return inf
        lower, upper = 0.0, 1.0
        while upper < inf and self.value(upper) <= value:
            lower, upper = upper, 2.0 * upper
        return bisected(lower, upper, lambda z: self.value(z) <= value)


@dataclass(frozen=True)
class PowerOfNorm(IncreasingFunction):
    """The function V(z) = scale z^exponent.

    Parameters
    ----------
    exponent : float, default=2.0
        The power, greater than 1; use the norm itself for 1.
    scale : float, default=1.0
        Greater than 0.
    """

    exponent: float = number(2.0, above=1.0)
    scale: float = number(1.0, above=0.0)

    is_square = computed(lambda self: bool(self.exponent == 2.0))

    def value(self, z: float) -> float:
        return self.scale * _power(z, self.exponent)

    def slope(self, z: float) -> float:
        return self.scale * self.exponent * _power(z, self.exponent - 1.0)

    def conjugate(self, s: float) -> float:
        """The conjugate (1 - 1 / p) s z with p the exponent and z the point of slope s."""
        z = _power(s / (self.scale * self.exponent), 1.0 / (self.exponent - 1.0))
        return (1.0 - 1.0 / self.exponent) * _product(z, s)

    def inverse(self, value: float) -> float:
        return _power(value / self.scale, 1.0 / self.exponent)


def bisected(lower: float, upper: float, holds: Callable[[float], bool]) -> float:
    """The least number, up to rounding, at which a condition that holds below it does not hold."""
    for _ in range(BISECTIONS):
        middle = 0.5 * (lower + upper)
        if not lower < middle < upper:
            break
        lower, upper = (middle, upper) if holds(middle) else (lower, middle)
    return upper


def _power(z: float, exponent: float) -> float:
    """The power z^exponent, inf where it overflows."""
    try:
        return float(z) ** exponent
    except OverflowError:
        return inf
