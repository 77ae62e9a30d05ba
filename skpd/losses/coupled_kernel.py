"""What the method of multipliers asks of a coupled loss, as compiled losses answer it."""

from typing import Any

import numpy as np

from .. import kernels
from .._typing import Array, Indices

__all__ = ["CoupledKernel", "SoftmaxKernel"]


class CoupledKernel:
    """What the method of multipliers asks of a coupled loss, as compiled losses answer it."""

    def __init__(self, loss: Any) -> None:
        self.loss = loss

    def smoothed_derivatives(
        self, y: Array, weights: Array, theta: Array, z: Array, sigma: float, derivative: Array,
        gradient: Array, curvature: Array, factor: Array,
    ) -> tuple[float, float]:  # fmt: skip
        """As of the kernels, with the root of the weights times e in ``factor``."""
        loss = self.loss
        derivative[:], d, e = loss.derivatives(y, theta, z, sigma)
        np.multiply(weights, derivative, out=gradient)
        np.multiply(weights, d, out=curvature)
        np.multiply(np.sqrt(weights), e, out=factor)
        primal = float(weights @ loss.value(y, z))
        return primal, -float(weights @ loss.conjugate(y, derivative))

    def smoothed_slope(
        self, y: Array, weights: Array, theta: Array, z: Array, direction: Array, step: float,
        sigma: float,
    ) -> float:  # fmt: skip
        slope = self.loss.derivatives(y, theta, z + step * direction, sigma)[0]
        return float(np.sum(weights * direction * slope))

    def rows_that_bend(
        self, y: Array, theta: Array, z: Array, sigma: float, derivative: Array, curvature: Array,
        radius: float,
    ) -> Indices:  # fmt: skip
        """All rows: which of them stay linear is not asked."""
        return np.arange(len(z), dtype=np.int64)


class SoftmaxKernel(CoupledKernel):
    """The same of the softmax, compiled: it is its own envelope, as it is smooth."""

    def smoothed_derivatives(
        self, y: Array, weights: Array, theta: Array, z: Array, sigma: float, derivative: Array,
        gradient: Array, curvature: Array, factor: Array,
    ) -> tuple[float, float]:  # fmt: skip
        primal, dual = kernels.softmax_derivatives(
            y, weights, z, self.loss.n_outputs, derivative, gradient, curvature, factor
        )
        return float(primal), float(dual)
