"""Products X' diag(c) theta of one dual point after another, with bounds on their errors."""

import numpy as np

from .. import kernels
from .._typing import Array
from .design import Design


class DualProducts:
    """The products X' diag(c) theta of dual points, with a cache of the last one.

    A solver and the certificate after it use the same product.

    Parameters
    ----------
    design : Design
        X of shape (n_samples, n_features).
    weights : ndarray of shape (n_samples,)
        The weights c_i >= 0.
    """

    incremental = False

    def __init__(self, design: Design, weights: Array) -> None:
        self.design, self.weights = design, weights
        self._last: tuple | None = None

    def __call__(
        self, theta: Array, threshold: float = 0.0, coef: Array | None = None
    ) -> tuple[Array, Array]:
        """The product and a bound on the error of every entry.

        Parameters
        ----------
        theta : ndarray of shape (n_samples,)
        threshold : float, default=0.0
            Entries whose absolute value plus error bound is at most this may be approximate.
        coef : ndarray of shape (n_features,), default=None
            Entries at non-zero coefficients must be computed exactly.

        Returns
        -------
        product, error : ndarray of shape (n_features,)
        """
        last = self._last
        if last is not None and np.array_equal(theta, last[0]):
            return last[1]
        product = self.design.rmatvec_bounded(self.weights, theta)
        for part in product:
            part.flags.writeable = False
        self._last = theta.copy(), product
        return product


class DualProductsOfPath(DualProducts):
    """The products along a path, where successive dual points are similar.

    Most entries that were small are then proven to be still small: by the Cauchy-Schwarz
    inequality x_j' diag(c) theta differs from s x_j' diag(c) theta_0 by at most
    ``||x_j|| ||theta - s theta_0||``, in the norm ``||a||^2 = sum_i c_i a_i^2``, for every scale
    s. The s with the least distance is used. X must be stored by columns.
    """

    incremental = True

    def __init__(self, design: Design, weights: Array) -> None:
        super().__init__(design, weights)
        self._kernel = kernels.DualProducts(design.matrix, weights)
        self._now = self._kernel.product(), self._kernel.error()

    def __call__(
        self, theta: Array, threshold: float = 0.0, coef: Array | None = None
    ) -> tuple[Array, Array]:
        if self._kernel.take(theta, threshold, coef):
            self._now = self._kernel.product(), self._kernel.error()
        return self._now
