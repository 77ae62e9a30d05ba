"""The terms of an objective in the interior-point method.

An objective is a sum of terms f(A x) of the unknowns x: the loss of the rows, the penalty on the
coefficients. A term has slacks and multipliers, whose products converge to 0. For a Newton step it
provides its gradient A'u at the multipliers u, its curvature A' diag(h) A after eliminating its
own variables, the change of the gradient that brings the products to their targets, and the
changes of its slacks and multipliers with x.
"""

from abc import ABC, abstractmethod
from math import inf
from typing import Any, NamedTuple

import numpy as np

from ... import kernels
from ..._typing import Array
from ..._values import attribute_of_part
from .maps import Map
from .settings import SETTINGS
from .systems import NewtonSystem


class Term(ABC):
    """The interface of a term of the objective, with its own slacks and multipliers.

    Attributes
    ----------
    degree : float
        The sum of the products on the central path, in units of mu.
    linear : bool
        Whether the slacks depend on x only, and not on the multipliers. If all terms are linear, x
        and the multipliers may take steps of different lengths.
    quadratic : bool
        Whether the Newton model has no error except for the products.
    """

    degree: float = 0.0
    linear: bool = False
    quadratic: bool = True

    @abstractmethod
    def add_gradient(self, out: Array) -> None:
        """Add A'u to a vector of the unknowns."""

    @abstractmethod
    def factorise(self, system: NewtonSystem) -> None:
        """Add the curvature to the system, and prepare for steps from the current point."""

    def add_shift(self, mu: float | None, affine: Any, out: Array) -> None:  # noqa: B027
        """Add the change of the gradient that gives products of mu for a fixed x.

        Without a mu the products do not change. ``affine`` is the direction of the predictor,
        whose second-order part is subtracted. Terms without products add nothing.
        """

    @abstractmethod
    def direction(self, dx: Array) -> Any:
        """The changes of slacks and multipliers for a change dx of x."""

    @abstractmethod
    def move(self, direction: Any, primal: float, dual: float) -> None:
        """Move slacks and multipliers along a direction by the given lengths."""

    def watch(self, direction: Any) -> None:
        """Predict from a Newton step which slacks and multipliers converge to 0.

        Of a slack and its multiplier, the one that decreases by a larger factor in a full step
        converges to 0 (El-Bakry, Tapia and Zhang, 1994).
        """
        return

    def settle(self, x: Array) -> None:
        """Move unknowns onto the kinks to which they converge, as predicted by `watch`."""
        return

    def add_model_error(self, direction: Any, length: float, out: Array) -> None:
        """Add the error of the Newton model of the gradient at a length along a direction."""
        return

    def products(self) -> float:
        """The sum of the products of slacks and multipliers."""
        return 0.0

    def products_after(self, direction: Any, primal: float, dual: float) -> float:
        """The sum of the products after steps of the given lengths."""
        return 0.0

    def largest_steps(self, direction: Any) -> tuple[float, float]:
        """The largest primal and dual steps at which slacks and multipliers are not negative."""
        return inf, inf


class Quadratic(Term):
    """The term sum_k c_k s_k^2 / 2 with s = A x - offset."""

    def __init__(self, image: Map, offset: Array, weights: Array, x: Array) -> None:
        self.image, self.weights = image, weights
        self.s = image.times(x) - offset

    @property
    def multipliers(self) -> Array:
        return self.s

    def add_gradient(self, out: Array) -> None:
        self.image.add_adjoint(self.weights * self.multipliers, out)

    def factorise(self, system: NewtonSystem) -> None:
        self.image.add_curvature(self.weights, system)

    def direction(self, dx: Array) -> Array:
        return self.image.times(dx)

    def move(self, direction: Array, primal: float, dual: float) -> None:
        self.s = self.s + primal * direction


class Equality(Term):
    """The constraint normal.x = offset, with its multiplier as an unknown.

    Parameters
    ----------
    normal : ndarray of shape (n_core,) or fewer
        The normal; its further entries are 0.
    place : int
        The index of the multiplier among the unknowns.
    x : ndarray
        The current unknowns.
    n_coefficients : int
        The number of coefficients among the unknowns, which `settle` may change.
    offset : float, default=0.0
    """

    def __init__(
        self, normal: Array, place: int, x: Array, n_coefficients: int, offset: float = 0.0
    ) -> None:
        self.normal, self.place = normal, place
        self.n_coefficients, self.offset = n_coefficients, offset
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

    def direction(self, dx: Array) -> tuple[float, float]:
        return float(self.normal @ dx[: len(self.normal)]), float(dx[self.place])

    def move(self, direction: tuple[float, float], primal: float, dual: float) -> None:
        self.value += primal * direction[0]
        self.multiplier += dual * direction[1]

    def settle(self, x: Array) -> None:
        """Restore the equality after coefficients were moved, by changing non-zero ones."""
        some = slice(self.n_coefficients)
        shares = self.normal[some] * np.abs(x[some])
        size = float(self.normal[some] @ shares)
        if size > 0.0:
            x[some] -= (self._value(x) / size) * shares


class PairsChange(NamedTuple):
    """Changes of slacks and multipliers: arrays, or vectors in cones."""

    slack: Any
    dual: Any


class Pairs(Term):
    """The base class of terms with pairs of slacks and multipliers, here numbers.

    Attributes
    ----------
    slack, dual : ndarray
    share : float
        The products on the central path, in units of mu.
    weights : float or ndarray
        The weights of the products in a sum.
    """

    linear = True
    slack: Any
    dual: Any
    share: float = 1.0
    weights: Any = 1.0

    def aim(self, mu: float | None, affine: PairsChange | None) -> Any:
        """Compute the changes of multipliers that give products of mu, for fixed slacks.

        Without a mu they are 0.
        """
        self.wanted = np.zeros_like(self.dual)
        if mu is not None:
            target: Any = self.share * mu
            if affine is not None:
                target = target - affine.slack * affine.dual
            self.wanted = target / self.slack - self.dual
        return self.wanted

    def largest_steps(self, direction: Any) -> tuple[float, float]:
        primal = self._largest_step(self.slack, direction.slack)
        return primal, self._largest_step(self.dual, direction.dual)

    def _largest_step(self, x: Any, change: Any) -> float:
        """The largest t with x + t change in the cone, here of numbers that are not negative."""
        fastest = float(np.min(change / x, initial=0.0))
        return -1.0 / fastest if fastest < 0.0 else inf

    def products(self) -> float:
        return self._product(self.slack, self.dual)

    def products_after(self, direction: Any, primal: float, dual: float) -> float:
        slack = self._moved(self.slack, direction.slack, primal)
        return self._product(slack, self._moved(self.dual, direction.dual, dual))

    def _product(self, slack: Any, dual: Any) -> float:
        # more accurate than the sum of rounded products
        return float((self.weights * slack).ravel() @ dual.ravel())

    def move(self, direction: Any, primal: float, dual: float) -> None:
        self.slack = self._moved(self.slack, direction.slack, primal)
        self.dual = self._moved(self.dual, direction.dual, dual)

    def _moved(self, x: Any, change: Any, length: float) -> Any:
        return x + length * change


class Smooth(Quadratic):
    """The base class of smooth terms f(s) with s = A x, whose gradients are their multipliers.

    The step length is limited by the error of the Newton model.
    """

    quadratic = False

    @abstractmethod
    def derivative(self, s: Array) -> Array:
        """The derivatives of f without the weights."""

    @property
    def multipliers(self) -> Array:
        return self.derivative(self.s)

    @abstractmethod
    def model_change(self, direction: Array, length: float) -> Array:
        """The change of the derivatives by the Newton model, at a length along a direction."""

    def add_model_error(self, direction: Array, length: float, out: Array) -> None:
        error = self.derivative(self.s + length * direction) - self.multipliers
        error -= self.model_change(direction, length)
        self.image.add_adjoint(self.weights * error, out)


class SmoothLoss(Smooth):
    """The smooth term sum_k c_k l(y_k, s_k) with s = A x, for a loss with a second derivative."""

    def __init__(self, image: Map, evaluator: Any, y: Array, weights: Array, x: Array) -> None:
        super().__init__(image, np.zeros(len(y)), weights, x)
        self.y, self.evaluator = y, evaluator

    def derivative(self, s: Array) -> Array:
        return self._derivatives(s)[0]

    def _derivatives(self, s: Array) -> tuple[Array, Array]:
        """The first derivatives, and the second ones times the weights."""
        first, weighted, curvature = (np.empty(len(s)) for _ in range(3))
        self.evaluator.smoothed_derivatives(
            self.y, self.weights, s, s, inf, first, weighted, curvature
        )
        return first, curvature

    def factorise(self, system: NewtonSystem) -> None:
        _, curvature = self._derivatives(self.s)
        curvature = np.maximum(curvature, self.weights * SETTINGS.least_curvature)
        self.h = curvature / self.weights
        self.image.add_curvature(curvature, system)

    def model_change(self, direction: Array, length: float) -> Array:
        return length * self.h * direction


class Intervals(Term):
    """The term sum_k c_k max over lower_k <= u <= upper_k of u s_k - q u^2 / 2.

    Here s = sign (A x - offset). Such terms are losses of rows and penalties of coefficients that
    are linear or quadratic in pieces: ``abs(s)`` for [-1, 1], max(0, s) for [0, 1], half the
    square of max(0, s) with q = 1 for [0, inf), and the constraint s <= 0 with q = 0 for [0, inf).
    With slacks p, x >= 0 of the bounds on u ::

        s = q u + x - p,    p (u - lower) = mu,    x (upper - u) = mu

    on the central path. All variables except s are eliminated from a Newton step, which leaves the
    curvature 1 / (q + p / (u - lower) + x / (upper - u)) in s.

    Parameters
    ----------
    image : Map
        The map A.
    sign, offset : float or ndarray of shape (n_terms,)
    lower, upper : float or ndarray of shape (n_terms,)
        Bounds on u; lower must be finite, and upper finite either everywhere or nowhere.
    q : float
    weights : ndarray of shape (n_terms,) or 1.0
        The weights c.
    share : float
        The products of these terms on the central path, in units of mu.
    x : ndarray of shape (n_unknowns,)
        The initial unknowns.
    width : float or ndarray of shape (n_terms,)
        The initial size of the slacks, in the units of s.
    slope : float or ndarray of shape (n_terms,)
        The initial distance of u from a lower bound, if there is no upper bound and q is 0.
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

    products = attribute_of_part("rows.products")
    products_after = attribute_of_part("rows.products_after")
    largest_steps = attribute_of_part("rows.largest_steps")
    move = attribute_of_part("rows.move")

    def factorise(self, system: NewtonSystem) -> None:
        self.image.add_curvature(self.rows.factorise(), system)

    def add_shift(self, mu: float | None, affine: kernels.IntervalStep | None, out: Array) -> None:
        self.image.add_adjoint(self.rows.shift(mu, affine), out)

    def direction(self, dx: Array) -> kernels.IntervalStep:
        return self.rows.direction(self.image.times(dx))


def _of_length(size: int, values: Any) -> Array:
    """The values broadcast to one number for each term."""
    return np.ascontiguousarray(np.broadcast_to(values, (size,)), dtype=np.float64)
