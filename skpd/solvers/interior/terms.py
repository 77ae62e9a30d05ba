"""The terms of an objective in the interior-point method, and their interface (`Term`)."""

from abc import ABC, abstractmethod
from math import inf
from typing import Any

import numpy as np

from ... import kernels
from ..._typing import Array, Numbers
from .maps import Map
from .settings import SETTINGS
from .systems import NewtonSystem


class Term(ABC):
    """A term f(A x) of the objective: the loss of the rows, or a part of the penalty.

    A term keeps its own variables: slacks and multipliers, whose products converge to 0, and the
    steps of both. An iteration of `skpd.solvers.interior.method.State` calls ::

        add_gradient(out)                   the gradient A'u at the multipliers u
        factorise(system)                   the curvature A' diag(h) A without its own variables
        add_centering(mu, corrected, out)   the change of the gradient by which products become mu
        set_step(dx)                        the steps of slacks and multipliers, with x + dx
        largest_steps()                     how far they may go before they are negative
        move(primal, dual)                  slacks and multipliers at these lengths

    The last four come twice if there is a predictor, for which only `move` is left out.

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

    def add_centering(  # noqa: B027
        self, mu: float | None, corrected: bool, out: Array
    ) -> None:
        """Add the change of the gradient that gives products of mu for a fixed x.

        Without a mu the products do not change. If ``corrected``, the last step was that of the
        predictor, whose second-order part is subtracted. Terms without products add nothing.
        """

    @abstractmethod
    def set_step(self, dx: Array) -> None:
        """Compute the steps of slacks and multipliers for a change dx of x."""

    @abstractmethod
    def move(self, primal: float, dual: float) -> None:
        """Take the steps of slacks and multipliers, at the given lengths."""

    def predict_kinks(self) -> None:  # noqa: B027
        """Predict from a Newton step which slacks and multipliers converge to 0.

        Of a slack and its multiplier, the one that decreases by a larger factor in a full step
        converges to 0 (El-Bakry, Tapia and Zhang, 1994).
        """

    def move_onto_kinks(self, x: Array) -> None:  # noqa: B027
        """Move unknowns onto the kinks to which `predict_kinks` expects them to converge."""

    def add_model_error(self, length: float, out: Array) -> None:  # noqa: B027
        """Add the error of the Newton model of the gradient at a length of the step."""

    def products(self) -> float:
        """The sum of the products of slacks and multipliers."""
        return 0.0

    def products_after(self, primal: float, dual: float) -> float:
        """The sum of the products after steps of the given lengths."""
        return 0.0

    def largest_steps(self) -> tuple[float, float]:
        """The largest primal and dual lengths at which slacks and multipliers stay in the cone."""
        return inf, inf


class DualTerm(Term):
    """A term whose multipliers are dual variables of the problem: a loss or a constraint."""

    @property
    @abstractmethod
    def multipliers(self) -> Array:
        """The derivatives of the term in A x, without the weights."""


class Quadratic(DualTerm):
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

    def set_step(self, dx: Array) -> None:
        self.s_step = self.image.times(dx)

    def move(self, primal: float, dual: float) -> None:
        self.s = self.s + primal * self.s_step


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
    def model_change(self, s_step: Array) -> Array:
        """The change of the derivatives by the Newton model, for a change of s."""

    def add_model_error(self, length: float, out: Array) -> None:
        s_step = length * self.s_step
        error = self.derivative(self.s + s_step) - self.multipliers - self.model_change(s_step)
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

    def model_change(self, s_step: Array) -> Array:
        return self.h * s_step


class Equality(DualTerm):
    """The constraint normal.x = offset, with its multiplier as an unknown.

    Parameters
    ----------
    normal : ndarray of shape (n_core,) or fewer
        The normal; its further entries are 0.
    index : int
        The index of the multiplier among the unknowns.
    x : ndarray
        The current unknowns.
    n_coefficients : int
        The number of coefficients among the unknowns, which `move_onto_kinks` may change.
    offset : float, default=0.0
    """

    def __init__(
        self, normal: Array, index: int, x: Array, n_coefficients: int, offset: float = 0.0
    ) -> None:
        self.normal, self.index = normal, index
        self.n_coefficients, self.offset = n_coefficients, offset
        self.value, self.multiplier = self._product(x) - offset, 0.0

    def _product(self, x: Array) -> float:
        return float(self.normal @ x[: len(self.normal)])

    @property
    def multipliers(self) -> Array:
        return np.array([self.multiplier])

    def add_gradient(self, out: Array) -> None:
        out[: len(self.normal)] += self.multiplier * self.normal
        out[self.index] += self.value

    def factorise(self, system: NewtonSystem) -> None:
        system.border(self.index)[: len(self.normal)] += self.normal

    def set_step(self, dx: Array) -> None:
        self.value_step, self.multiplier_step = self._product(dx), float(dx[self.index])

    def move(self, primal: float, dual: float) -> None:
        self.value += primal * self.value_step
        self.multiplier += dual * self.multiplier_step

    def move_onto_kinks(self, x: Array) -> None:
        """Restore the equality after coefficients were moved, by changing non-zero ones."""
        coefficients = slice(self.n_coefficients)
        shares = self.normal[coefficients] * np.abs(x[coefficients])
        size = float(self.normal[coefficients] @ shares)
        if size > 0.0:
            x[coefficients] -= (self._product(x) - self.offset) / size * shares


class Intervals(DualTerm):
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
        self, image: Map, *, sign: Numbers = 1.0, offset: Numbers = 0.0, lower: Numbers,
        upper: Numbers, q: float = 0.0, weights: Numbers = 1.0, share: float = 1.0, x: Array,
        width: Numbers, slope: Numbers = 1.0,
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

    def factorise(self, system: NewtonSystem) -> None:
        self.image.add_curvature(self.rows.factorise(), system)

    def add_centering(self, mu: float | None, corrected: bool, out: Array) -> None:
        predictor = self.step if corrected else None
        self.image.add_adjoint(self.rows.shift(mu, predictor), out)

    def set_step(self, dx: Array) -> None:
        self.step = self.rows.direction(self.image.times(dx))

    def move(self, primal: float, dual: float) -> None:
        self.rows.move(self.step, primal, dual)

    def predict_kinks(self) -> None:
        self.at_kink = self.rows.towards_kinks(self.step).view(bool)

    def move_onto_kinks(self, x: Array) -> None:
        self.image.set_where(self.at_kink, self.offset[self.at_kink], x)

    def products(self) -> float:
        return self.rows.products()

    def products_after(self, primal: float, dual: float) -> float:
        return self.rows.products_after(self.step, primal, dual)

    def largest_steps(self) -> tuple[float, float]:
        return self.rows.largest_steps(self.step)


def _of_length(size: int, values: Numbers) -> Array:
    """The values broadcast to one number for each term."""
    return np.ascontiguousarray(np.broadcast_to(values, (size,)), dtype=np.float64)
