"""Losses of several predictions, with the interface of compiled losses for the solvers."""

import numpy as np

from .. import kernels
from .._typing import Array
from .numerical import PythonKernel


class CoupledEvaluator(PythonKernel):
    """Derivatives of a coupled loss and its Moreau envelope, with the compiled losses' interface.

    The method of multipliers calls these functions.
    """

    def smoothed_derivatives(
        self, y: Array, weights: Array, theta: Array, z: Array, sigma: float, derivative: Array,
        gradient: Array, curvature: Array, factor: Array,
    ) -> tuple[float, float]:  # fmt: skip
        """Write derivatives of the loss or its envelope; return the primal and dual sums.

        The Hessian of row i in z is diag(curvature_i) - factor_i factor_i', divided by sigma where
        that is finite.
        """
        loss = self.loss
        derivative[:], d, e = loss.derivatives(y, theta, z, sigma)
        np.multiply(weights, derivative, out=gradient)
        np.multiply(weights, d, out=curvature)
        np.multiply(np.sqrt(weights), e, out=factor)
        own, y, z, theta = loss._of_rows(weights), *map(loss._table, (y, z, derivative))
        return float(own @ loss._values(y, z)), float(own @ loss._dual_values(y, theta))

    def _derivative(self, y: Array, theta: Array, z: Array, sigma: float) -> Array:
        return self.loss.derivatives(y, theta, z, sigma)[0]


class SoftmaxEvaluator(CoupledEvaluator):
    """Compiled derivatives of the softmax, which is smooth and needs no Moreau envelope."""

    def smoothed_derivatives(
        self, y: Array, weights: Array, theta: Array, z: Array, sigma: float, derivative: Array,
        gradient: Array, curvature: Array, factor: Array,
    ) -> tuple[float, float]:  # fmt: skip
        primal, dual = kernels.softmax_derivatives(
            y, weights, z, self.loss.n_outputs, derivative, gradient, curvature, factor
        )
        return float(primal), float(dual)
