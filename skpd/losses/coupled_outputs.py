"""Losses of several predictions at once: of the vector of a row's outputs.

A vector of predictions of all rows holds the outputs of the first row, then those of the second;
targets, weights and dual points likewise.

====================  =================================  =================================
loss                  l(y, z)                            dual points of a row
====================  =================================  =================================
`L2Norm`              ||z - y||_2                        the unit ball, l* = theta.y
`Softmax`             log sum_k exp(z_k) - z_y           p - e_y, l* = sum_k p_k log p_k
`CrammerSinger`       max_k (z_k + [k is not y]) - z_y   p - e_y, l* = -sum over k not y of p_k
`NonCrossingPinball`  sum_k pinball_k(z_k - y), inf      see there, l* = y sum_k theta_k
                      unless z_1 <= z_2 <= ...
====================  =================================  =================================

with p in the simplex. For the second and third, y is the class of the row, given as a vector that
is 1 for this class and 0 for the others; a dual point is defined by its entries for the other
classes, and the entry for the row's class stands for minus their exact sum.
"""

from abc import abstractmethod
from dataclasses import dataclass, field
from math import inf
from typing import ClassVar, TypeVar

import numpy as np

from .. import kernels
from .._checks import check_number
from .._floats import EPSILON
from .._immutable_base import attribute_of_part, computed
from .._typing import Array, Interval, Numbers, Scales, Sum
from .base import Loss
from .cones import LossCones
from .jensen_groups import RowGroups, all_rows
from .numerical import PythonKernel

MEDIAN_STEPS = 100  # most steps of Weiszfeld's iteration for the geometric median
Derivatives = tuple[Array, Array, Array]  # a gradient or projection, and d and e of diag(d) - e e'
FURTHEST = 1e150  # in place of infinite dual points, so that their sums and norms are finite
INSIDE = 8.0 * EPSILON  # relative distance of dual points from the boundary, for each output


class CoupledLoss(Loss):
    """A loss of the ``n_outputs`` predictions of a row."""

    couples_outputs: ClassVar[bool] = True

    # Vectors of all predictions, and tables of shape (n_rows, n_outputs)

    def _table(self, values: np.ndarray) -> np.ndarray:
        return np.reshape(values, (-1, self.n_outputs))

    def _shared(self, values: Array) -> Array:
        """The values of rows divided equally among their outputs, of the length of z."""
        return np.repeat(values / self.n_outputs, self.n_outputs)

    def _of_rows(self, weights: Array) -> Array:
        """The weights of the rows: all outputs of a row have the same weight."""
        return np.ascontiguousarray(weights[:: self.n_outputs])

    def value(self, y: Array, z: Array, z_low: Numbers = 0.0) -> Array:
        return self._shared(self._values(self._table(y), self._table(z + z_low)))

    @abstractmethod
    def _values(self, y: Array, z: Array) -> Array:
        """The losses of the rows, of shape (n_rows,)."""

    def gradient(self, y: Array, z: Array) -> Array:
        return np.ravel(self._gradient(self._table(y), self._table(z)))

    @abstractmethod
    def _gradient(self, y: Array, z: Array) -> Array: ...

    def conjugate(self, y: Array, theta: Array) -> Array:
        return self._shared(-self._dual_values(self._table(y), self._table(theta)))

    @abstractmethod
    def _dual_values(self, y: Array, theta: Array) -> Array:
        """The values -l*(y_i, theta_i) of the rows, for theta in the domain."""

    @abstractmethod
    def derivatives(self, y: Array, theta: Array, z: Array, sigma: float) -> Derivatives:
        """The gradient in z, and d and e of the Hessian, divided by sigma where that is finite.

        They are derivatives of the loss for an infinite sigma, otherwise of its Moreau envelope
        shifted by theta.
        """

    def _clip(self, y: Array, theta: Array) -> Array:
        return self.project_dual(y, theta)

    # the size, relative to that of the domain, within which rounding leaves dual points
    _inside = computed(lambda self: 1.0 - self.n_outputs * INSIDE)

    @abstractmethod
    def largest_scale(self, y: Array, theta: Array) -> float:
        """The largest t with t theta in the domain of the conjugate."""


CoupledLossT = TypeVar("CoupledLossT", bound=CoupledLoss)


class CoupledResidualLoss(CoupledLoss):
    """A positively homogeneous function of the residuals of a row: l*(y, theta) is y.theta."""

    linear_conjugate: ClassVar[bool] = True
    of_residuals: ClassVar[bool] = True

    def row_groups(self, y: Array, weights: Array) -> RowGroups:
        return all_rows(y, weights, self.target_error)

    def _dual_values(self, y: Array, theta: Array) -> Array:
        return -np.einsum("ik,ik->i", y, theta)

    def dual_values(self, y: Array, weights: Array, theta: Array, scales: Scales) -> list[Sum]:
        linear, error = kernels.compensated_dot(weights, theta, y)
        error += self._error_by_targets(y, weights, theta)
        return [(-t * linear, t * error + 2.0 * EPSILON * t * abs(linear)) for t in scales]


@dataclass(frozen=True)
class RankOneLoss(CoupledLoss):
    """A coupled loss whose Hessian is a diagonal matrix minus a matrix of rank one.

    For each row the Hessian of the loss, or of its Moreau envelope, is diag(d) - e e' with vectors
    d and e of length n_outputs. The method of multipliers uses this form.

    Parameters
    ----------
    n_outputs : int
    """

    n_outputs: int = field()

    def __post_init__(self) -> None:
        check_number(self, "n_outputs", minimum=1)

    @abstractmethod
    def _offset(self, y: Array) -> Array:
        """The b with l(y, z) = sup of theta.(z + b) over the domain of the conjugate."""

    @abstractmethod
    def projection(self, y: Array, theta: Array) -> Derivatives:
        """The projection of theta onto the closed domain of the conjugate, and its derivative.

        Returns the projection, and d and e of its derivative diag(d) - e e', all of the length of
        theta.
        """

    def derivatives(self, y: Array, theta: Array, z: Array, sigma: float) -> Derivatives:
        if sigma == inf:
            return self.gradient(y, z), np.zeros_like(z), np.zeros_like(z)
        return self.projection(y, theta + sigma * (z + self._offset(y)))

    def prox_conjugate(self, y: Array, theta: Array, step: Numbers) -> Array:
        return self.projection(y, theta + step * self._offset(y))[0]

    @property
    def evaluator(self) -> "CoupledEvaluator[CoupledLoss]":
        return CoupledEvaluator(self)


class CoupledEvaluator(PythonKernel[CoupledLossT]):
    """Derivatives of a coupled loss and its Moreau envelope, with the compiled losses' interface.

    The method of multipliers calls these functions.
    """

    prox_conjugate = attribute_of_part("loss.prox_conjugate")

    def smoothed_derivatives(
        self, y: Array, weights: Array, theta: Array, z: Array, sigma: float, *outputs: Array
    ) -> tuple[float, float]:
        loss, (derivative, gradient, curvature, factor) = self.loss, outputs
        derivative[:], d, e = loss.derivatives(y, theta, z, sigma)
        np.multiply(weights, derivative, out=gradient)
        np.multiply(weights, d, out=curvature)
        np.multiply(np.sqrt(weights), e, out=factor)
        row_weights, y, z, theta = loss._of_rows(weights), *map(loss._table, (y, z, derivative))
        values, dual_values = loss._values(y, z), loss._dual_values(y, theta)
        return float(row_weights @ values), float(row_weights @ dual_values)

    def _derivative(self, y: Array, theta: Array, z: Array, sigma: float) -> Array:
        return self.loss.derivatives(y, theta, z, sigma)[0]


@dataclass(frozen=True)
class L2Norm(CoupledResidualLoss, RankOneLoss):
    """The Euclidean norm of a row's residuals, ``||z - y||_2``; l* = theta.y on the unit ball.

    Parameters
    ----------
    n_outputs : int

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.losses import L2Norm
    >>> 2 * L2Norm(2).value(np.zeros(2), np.array([3.0, 4.0]))
    array([5., 5.])
    """

    conjugate_domain: ClassVar[tuple] = (-1.0, 1.0)

    def add_cones(self, cones: LossCones) -> None:
        cones.add_row_norms()

    def _offset(self, y: Array) -> Array:
        return -y

    def _values(self, y: Array, z: Array) -> Array:
        return np.linalg.norm(z - y, axis=1)

    def _gradient(self, y: Array, z: Array) -> Array:
        residual = z - y
        norms = np.linalg.norm(residual, axis=1, keepdims=True)
        return residual / np.where(norms > 0.0, norms, 1.0)

    def largest(self, y: Array, z: Array, z_low: Numbers, error: Numbers) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            sizes = np.abs(z - y) * (1.0 + EPSILON) + np.abs(z_low) + error
            sizes += self.target_error * np.abs(y)
            norms = np.linalg.norm(self._table(sizes), axis=1)
            return self._shared(norms * (1.0 + (self.n_outputs + 8.0) * EPSILON))

    def dual_bounds(self, y: Array) -> tuple[Array, Array]:
        return np.full(len(y), -1.0), np.full(len(y), 1.0)

    def project_dual(self, y: Array, theta: Array) -> Array:
        theta = self._table(np.clip(np.nan_to_num(theta), -FURTHEST, FURTHEST))
        sizes = np.linalg.norm(theta, axis=1, keepdims=True)
        limit = self._inside
        return np.ravel(theta * np.where(sizes > limit, limit / np.maximum(sizes, limit), 1.0))

    def largest_scale(self, y: Array, theta: Array) -> float:
        size = float(np.max(np.linalg.norm(self._table(theta), axis=1)))
        return self._inside / size if size > 0.0 else inf

    def best_constants(self, y: Array, weights: Array, rows_of_outputs: list) -> Array:
        """The geometric median, by Weiszfeld's iteration."""
        table, row_weights = self._table(y), self._of_rows(weights)
        point = np.average(table, axis=0, weights=row_weights)
        best, min_value = point, inf
        for _ in range(MEDIAN_STEPS):
            norms = np.linalg.norm(table - point, axis=1)
            value = float(row_weights @ norms)
            if not value < min_value * (1.0 - EPSILON):
                break
            best, min_value = point, value
            inverse = row_weights / np.maximum(norms, EPSILON * (1.0 + np.linalg.norm(point)))
            point = inverse @ table / float(np.sum(inverse))
        return best

    def best_constant(self, y: Array, weights: Array) -> float:
        return float(np.average(y, weights=weights))

    def constant_interval(self, groups: RowGroups, value: float, bounds: list[float]) -> Interval:
        """Bounds on the intercept of one output, whose residual is at most the norm of all."""
        (group,), (bound,) = groups, bounds
        max_residual = value / group.total
        radius = max_residual + bound + group.error
        radius += 64.0 * EPSILON * (abs(group.centre) + radius)
        return group.centre - radius, group.centre + radius

    def projection(self, y: Array, theta: Array) -> Derivatives:
        table = self._table(theta)
        norms = np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1.0)
        projected = table / norms
        d = np.broadcast_to(1.0 / norms, table.shape)
        e = np.where(norms > 1.0, projected / np.sqrt(norms), 0.0)
        return np.ravel(projected), np.ravel(d), np.ravel(e)
