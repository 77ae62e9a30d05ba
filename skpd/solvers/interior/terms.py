"""The terms of an objective as an interior-point method sees them.

An objective is a sum of terms f(A x) of a few unknowns x: the loss of the rows, the penalty on
the coefficients. Between two iterations a term holds slacks and multipliers, whose products
go to 0, and a Newton step asks it four things: its gradient A'u at the multipliers u,
its curvature A' diag(h) A with everything of its own eliminated, what it adds to the gradient
for products to become what they should be, and how its slacks and multipliers change with x.
"""

from abc import ABC, abstractmethod
from math import inf
from typing import Any

import numpy as np
from scipy.special import expit

from ... import kernels
from ..._typing import Array
from .maps import Map
from .settings import SETTINGS
from .systems import NewtonSystem

__all__ = ["Equality", "Intervals", "Logistic", "Quadratic", "Term", "largest_step"]


def largest_step(x: Array, change: Array) -> float:
    """The largest t with x + t change >= 0."""
    fastest = float(np.min(change / x, initial=0.0))
    return -1.0 / fastest if fastest < 0.0 else inf


class Term(ABC):
    """A term of the objective, with slacks and multipliers of its own.

    Attributes
    ----------
    degree : float
        The sum of the weights of its products: they sum to degree times mu on the central path.
    linear : bool
        Whether its slacks depend on x alone, and not on its multipliers: if that is so of all
        terms, x and the multipliers may take steps of their own lengths.
    quadratic : bool
        Whether its Newton model has no error, but for the products.
    """

    degree: float = 0.0
    linear: bool = False
    quadratic: bool = True

    @abstractmethod
    def add_gradient(self, out: Array) -> None:
        """Adds A'u to a vector of the unknowns."""

    @abstractmethod
    def factorise(self, system: NewtonSystem) -> None:
        """Adds its curvature to the system, and keeps what the steps from here need."""

    @abstractmethod
    def add_shift(self, mu: float | None, affine: Any, out: Array) -> None:
        """Adds what its gradient changes by for products equal to mu, x staying where it is.

        Without a mu the products are to stay as they are.
        ``affine`` is the direction of the predictor, whose second-order part is taken off.
        """

    @abstractmethod
    def direction(self, dx: Array) -> Any:
        """How its slacks and multipliers change with x."""

    @abstractmethod
    def move(self, direction: Any, primal: float, dual: float) -> None:
        """Goes so far along a direction."""

    def watch(self, direction: Any) -> None:
        """Sees from a Newton step which kinks its slacks and multipliers are on the way to.

        Of a slack and its multiplier, that which the whole step makes fall further, relative to
        what it is, ends at 0 (El-Bakry, Tapia and Zhang, 1994).
        """
        return

    def settle(self, x: Array) -> None:
        """Moves unknowns onto the kinks that they are on the way to."""
        return

    def add_model_error(self, direction: Any, length: float, out: Array) -> None:
        """Adds the error of the Newton model of its gradient, so far along a direction."""
        return

    def products(self) -> float:
        """The sum of the products of slacks and multipliers."""
        return 0.0

    def products_after(self, direction: Any, primal: float, dual: float) -> float:
        """The same after steps of such lengths."""
        return 0.0

    def largest_steps(self, direction: Any) -> tuple[float, float]:
        """The largest steps at which slacks and multipliers are not negative."""
        return inf, inf


class Quadratic(Term):
    """sum_k c_k s_k^2 / 2 with s = A x - offset."""

    def __init__(self, image: Map, offset: Array, weights: Array, x: Array) -> None:
        self.image, self.weights = image, weights
        self.s = image.times(x) - offset

    @property
    def multipliers(self) -> Array:
        return self.s

    def add_gradient(self, out: Array) -> None:
        self.image.add_adjoint(self.weights * self.s, out)

    def factorise(self, system: NewtonSystem) -> None:
        self.image.add_curvature(self.weights, system)

    def add_shift(self, mu: float | None, affine: Any, out: Array) -> None:
        pass

    def direction(self, dx: Array) -> Array:
        return self.image.times(dx)

    def move(self, direction: Array, primal: float, dual: float) -> None:
        self.s = self.s + primal * direction


class Equality(Term):
    """The constraint normal.x = offset, with its multiplier as an unknown.

    Parameters
    ----------
    normal : ndarray of shape (n_core,) or fewer
        The entries behind it are 0.
    place : int
        That of the multiplier.
    x : ndarray
        The unknowns, as they are now.
    n_features : int
        The coefficients among the unknowns, which `settle` may move.
    offset : float, default=0.0
    """

    def __init__(
        self, normal: Array, place: int, x: Array, n_features: int, offset: float = 0.0
    ) -> None:
        self.normal, self.place = normal, place
        self.n_features, self.offset = n_features, offset
        self.value, self.multiplier = self._value(x), 0.0

    def _value(self, x: Array) -> float:
        return float(self.normal @ x[: len(self.normal)]) - self.offset

    @property
    def multipliers(self) -> Array:
        return np.array([self.multiplier])

    def add_gradient(self, out: Array) -> None:
        out[: len(self.normal)] += self.multiplier * self.normal
        out[self.place] += self.value

    def factorise(self, system: NewtonSystem) -> None:
        system.border(self.place)[: len(self.normal)] += self.normal

    def add_shift(self, mu: float | None, affine: Any, out: Array) -> None:
        pass

    def direction(self, dx: Array) -> tuple[float, float]:
        return float(self.normal @ dx[: len(self.normal)]), float(dx[self.place])

    def move(self, direction: tuple[float, float], primal: float, dual: float) -> None:
        self.value += primal * direction[0]
        self.multiplier += dual * direction[1]

    def settle(self, x: Array) -> None:
        """Restores it after coefficients were moved: by shares of those that are not 0."""
        some = slice(self.n_features)
        shares = self.normal[some] * np.abs(x[some])
        size = float(self.normal[some] @ shares)
        if size > 0.0:
            x[some] -= (self._value(x) / size) * shares


class Logistic(Quadratic):
    """sum_k c_k log(1 + exp(-y_k s_k)) with s = A x: smooth, and its own multiplier.

    Its Newton model is that of the point where it is, and trusted only as far as it is right.
    """

    quadratic = False

    def __init__(self, image: Map, y: Array, weights: Array, x: Array) -> None:
        super().__init__(image, np.zeros_like(y), weights, x)
        self.y = y

    @property
    def multipliers(self) -> Array:
        return self._derivative(self.s)

    def _derivative(self, s: Array) -> Array:
        return -self.y * expit(-self.y * s)

    def add_gradient(self, out: Array) -> None:
        self.image.add_adjoint(self.weights * self.multipliers, out)

    def factorise(self, system: NewtonSystem) -> None:
        size = np.abs(self.multipliers)
        self.h = np.maximum(size * (1.0 - size), SETTINGS.least_logistic_curvature)
        self.image.add_curvature(self.weights * self.h, system)

    def add_model_error(self, direction: Array, length: float, out: Array) -> None:
        error = self._derivative(self.s + length * direction) - self.multipliers
        error -= length * self.h * direction
        self.image.add_adjoint(self.weights * error, out)


class Intervals(Term):
    """sum_k c_k max over lower_k <= u <= upper_k of u s_k - q u^2 / 2, s = sign (A x - offset).

    It is the loss of a row or the penalty of a coefficient that is linear or quadratic in
    pieces: ``abs(s)`` on [-1, 1], max(0, s) on [0, 1], half the square of that with q = 1 on
    [0, inf), and the constraint s <= 0 with q = 0 there. With slacks p, x >= 0 of its bounds, ::

        s = q u + x - p,    p (u - lower) = mu,    x (upper - u) = mu

    on the central path, and everything but s is eliminated from a Newton step: the curvature
    in s is 1 / (q + p / (u - lower) + x / (upper - u)).

    Parameters
    ----------
    image : Map
        A.
    sign, offset : float or ndarray of shape (n_terms,)
    lower, upper : float or ndarray of shape (n_terms,)
        With lower finite and upper finite everywhere or nowhere.
    q : float
    weights : ndarray of shape (n_terms,) or 1.0
        c.
    share : float
        The products of these terms on the central path, in units of mu.
    x : ndarray of shape (n_unknowns,)
        Where to begin.
    width : float or ndarray of shape (n_terms,)
        A first size of the slacks, in the units of s.
    slope : float or ndarray of shape (n_terms,)
        A first distance of u from a lower bound, where there is no upper one and q is 0.
    """

    def __init__(
        self, image: Map, *, sign: Any = 1.0, offset: Any = 0.0, lower: Any, upper: Any,
        q: float = 0.0, weights: Any = 1.0, share: float = 1.0, x: Array, width: Any,
        slope: Any = 1.0,
    ) -> None:  # fmt: skip
        self.image = image
        self.linear = q == 0.0
        s = sign * (image.times(x) - offset)
        size = len(s)
        self.offset = _of_length(size, offset)
        two_sided = bool(np.isfinite(upper).all())
        weights = _of_length(size, weights)
        self.rows = kernels.IntervalTerms(
            s, _of_length(size, sign), weights, _of_length(size, lower),
            _of_length(size, upper) if two_sided else None, _of_length(size, width),
            _of_length(size, slope), q, share,
        )  # fmt: skip
        self.at_kink = np.zeros(size, dtype=bool)
        self.degree = share * (1 + two_sided) * float(np.sum(weights))

    @property
    def multipliers(self) -> Array:
        """The derivatives of the terms in A x."""
        return self.rows.multipliers()

    def add_gradient(self, out: Array) -> None:
        self.image.add_adjoint(self.rows.gradient(), out)

    def watch(self, direction: kernels.IntervalStep) -> None:
        self.at_kink = self.rows.towards_kinks(direction).view(bool)

    def settle(self, x: Array) -> None:
        self.image.set_where(self.at_kink, self.offset[self.at_kink], x)

    def products(self) -> float:
        return self.rows.products()

    def factorise(self, system: NewtonSystem) -> None:
        self.image.add_curvature(self.rows.factorise(), system)

    def add_shift(self, mu: float | None, affine: kernels.IntervalStep | None, out: Array) -> None:
        self.image.add_adjoint(self.rows.shift(mu, affine), out)

    def direction(self, dx: Array) -> kernels.IntervalStep:
        return self.rows.direction(self.image.times(dx))

    def largest_steps(self, direction: kernels.IntervalStep) -> tuple[float, float]:
        return self.rows.largest_steps(direction)

    def products_after(self, direction: kernels.IntervalStep, primal: float, dual: float) -> float:
        return self.rows.products_after(direction, primal, dual)

    def move(self, direction: kernels.IntervalStep, primal: float, dual: float) -> None:
        self.rows.move(direction, primal, dual)


def _of_length(size: int, values: Any) -> Array:
    """A number for each term."""
    return np.ascontiguousarray(np.broadcast_to(values, (size,)), dtype=np.float64)
