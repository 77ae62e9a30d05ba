"""The terms of losses and constraints, and of penalties that are linear in pieces.

A loss of several predictions has a block of curvature for each row. The bound on the loss of a row
is eliminated from a Newton step. The remaining block is R'R, and its root R is added to the system
(`skpd.solvers.interior.systems`).
"""

from math import inf
from typing import Any, NamedTuple

import numpy as np

from ... import kernels
from ..._typing import Array, Numbers
from ...losses import Loss
from .cones import EuclideanNorms
from .maps import Map
from .settings import SETTINGS
from .systems import NewtonSystem
from .terms import ConeVector, DualTerm, Maxima


class Quadratic(DualTerm):
    """The term sum_k c_k s_k^2 / 2 with s = A x - offset, and the base class of smooth terms f(s).

    The gradient of f is the multiplier. The step length is limited by the error of the Newton
    model, of which a quadratic f has none.
    """

    def __init__(self, image: Map, offset: Numbers, weights: Array, x: Array) -> None:
        self.image, self.weights, self.s = image, weights, image.times(x) - offset

    def derivative(self, s: Array) -> Array:
        """The derivatives of f without the weights."""
        return s

    def model_change(self, s_step: Array) -> Array:
        """The change of the derivatives by the Newton model, for a change of s."""
        return s_step

    @property
    def multipliers(self) -> Array:
        return self.derivative(self.s)

    def add_gradient(self, out: Array) -> None:
        self.image.add_adjoint(self.weights * self.multipliers, out)

    def factorise(self, system: NewtonSystem) -> None:
        self.image.add_curvature(self.weights, system)

    def set_step(self, dx: Array) -> None:
        self.s_step = self.image.times(dx)

    def move(self, primal: float, dual: float) -> None:
        self.s = self.s + primal * self.s_step

    def add_model_error(self, length: float, out: Array) -> None:
        s_step = length * self.s_step
        error = self.derivative(self.s + s_step) - self.multipliers - self.model_change(s_step)
        self.image.add_adjoint(self.weights * error, out)


class SmoothLoss(Quadratic):
    """The smooth term sum_k c_k l(y_k, s_k) with s = A x, for a loss with a second derivative."""

    quadratic = False

    def __init__(self, image: Map, y: Array, weights: Array, x: Array, evaluator: Any) -> None:
        super().__init__(image, 0.0, weights, x)
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
        """The derivatives of the terms in A x, or in predictions of which A x is a function."""
        return self.image.of_predictions(self.rows.multipliers())

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


class CoupledPredictions(NamedTuple):
    """The data of terms of the rows.

    Attributes
    ----------
    image : Map
        The map to the predictions z, with the outputs of a row side by side.
    y : ndarray of shape (n_samples, n_outputs)
        Targets, or 1 for the class of a row and 0 for other classes.
    weights : ndarray of shape (n_samples,)
        The weights c.
    x : ndarray of shape (n_unknowns,)
        The initial unknowns.
    """

    image: Map
    y: Array
    weights: Array
    x: Array


def _root_of_spread(r: Array) -> Array:
    """The roots diag(sqrt(r)) (I - 1 r' / sum(r)) of diag(r) - r r' / sum(r), for rows r."""
    shares = r / np.sum(r, axis=1, keepdims=True)
    centred = np.eye(r.shape[1]) - shares[:, np.newaxis]
    return np.sqrt(r)[:, :, np.newaxis] * centred


class LargestScores(Maxima, DualTerm):
    """The term sum_i c_i max_k (z_ik + [k is not y_i] - z_iy), the loss of Crammer and Singer.

    Parameters
    ----------
    rows : CoupledPredictions
    """

    axis = 1

    def __init__(self, rows: CoupledPredictions) -> None:
        image, y, weights, x = rows
        self.image, self.y, self.weights = image, y, weights[:, np.newaxis]
        scores = self._scores(x) + (1.0 - y)
        self.slack = 1.0 + np.max(scores, axis=1, keepdims=True) - scores
        self.dual = np.full(y.shape, 1.0 / y.shape[1])
        self.degree = y.shape[1] * float(np.sum(weights))

    @property
    def multipliers(self) -> Array:
        return np.ravel(self.dual / self._sums(self.dual) - self.y)

    def _scores(self, x: Array) -> Array:
        z = self.image.times(x).reshape(self.y.shape)
        return z - self._sums(self.y * z)

    def _add_adjoint(self, dual: Array, out: Array) -> None:
        in_z = dual - self._sums(dual) * self.y
        self.image.add_adjoint(np.ravel(self.weights * in_z), out)

    def factorise(self, system: NewtonSystem) -> None:
        self._differentiate()
        system.blocks = _root_of_spread(self.weights * self.ratio)


class RowNorms(EuclideanNorms, DualTerm):
    """The term sum_i c_i ||z_i - y_i||_2.

    Parameters
    ----------
    rows : CoupledPredictions
    width : float
        The initial size of residuals.
    """

    weights: Array

    def __init__(self, rows: CoupledPredictions, width: float) -> None:
        image, y, weights, x = rows
        n, n_outputs = y.shape
        heads = np.ones(n)
        super().__init__(np.arange(n + 1) * n_outputs, heads, 1.0, width * heads, image)
        self.weights, self.n_outputs = weights, n_outputs
        residual = image.times(x) - np.ravel(y)
        norms = np.sqrt(self.groups.sums(residual * residual))
        self.slack = ConeVector(width + norms, residual)
        self.degree = float(np.sum(weights))

    @property
    def multipliers(self) -> Array:
        return -self.dual.tail

    def _add_adjoint(self, dual: ConeVector, out: Array) -> None:
        self.image.add_adjoint(-self.groups.spread(self.weights) * dual.tail, out)

    def factorise(self, system: NewtonSystem) -> None:
        """Add the blocks (I - 2 v v' / (2 v_0^2 - 1)) / size to the system.

        Their roots are (I - k v v') / sqrt(size).
        """
        scaling = self.scale()
        inside = 2.0 * scaling.head * scaling.head - 1.0
        self.of_head = inside / scaling.size
        v = scaling.tail.reshape(-1, self.n_outputs)
        k = 2.0 / (inside * (1.0 + np.sqrt(1.0 / inside)))
        roots = np.eye(self.n_outputs) - k[:, None, None] * (v[:, :, None] * v[:, None, :])
        system.blocks = roots * np.sqrt(self.weights / scaling.size)[:, None, None]


class SoftmaxRows(Quadratic):
    """The smooth term sum_i c_i (log sum_k exp(z_ik) - z_iy).

    Parameters
    ----------
    rows : CoupledPredictions
    loss : Loss
        The softmax loss.
    """

    quadratic = False

    def __init__(self, rows: CoupledPredictions, loss: Loss) -> None:
        image, y, weights, x = rows
        self.y, self.loss, self.shape = np.ravel(y), loss, y.shape
        super().__init__(image, 0.0, np.repeat(weights, y.shape[1]), x)

    def derivative(self, s: Array) -> Array:
        return self.loss.gradient(self.y, s)

    def factorise(self, system: NewtonSystem) -> None:
        p = np.maximum(self.multipliers + self.y, SETTINGS.least_curvature)
        p = p.reshape(self.shape)
        self.p = p / np.sum(p, axis=1, keepdims=True)
        system.blocks = _root_of_spread(self.weights.reshape(self.shape) * self.p)

    def model_change(self, s_step: Array) -> Array:
        change = s_step.reshape(self.shape)
        return np.ravel(self.p * (change - np.sum(self.p * change, axis=1, keepdims=True)))
