"""Products X' diag(c) theta of one dual point after another, with bounds on their errors."""

from .. import kernels
from .._typing import Array
from .design import Design

__all__ = ["DualProducts", "DualProductsOfPath"]


class DualProducts:
    """The products, the last of them kept: a solver and, after it, a certificate want the same.

    Parameters
    ----------
    design : Design
        X of shape (n_samples, n_features).
    weights : ndarray of shape (n_samples,)
        The c_i >= 0.
    """

    incremental = False

    def __init__(self, design: Design, weights: Array) -> None:
        self.design, self.weights = design, weights
        self._last: tuple | None = None

    def __call__(
        self, theta: Array, enough: float = 0.0, coef: Array | None = None
    ) -> tuple[Array, Array]:
        """The product and a bound on the error of every entry.

        Parameters
        ----------
        theta : ndarray of shape (n_samples,)
        enough : float, default=0.0
            Entries that are at most this, their error included, need not be any more exact.
        coef : ndarray of shape (n_features,), default=None
            Unless this is not 0 there.

        Returns
        -------
        product, error : ndarray of shape (n_features,)
        """
        last = self._last
        if last is not None and kernels.equal(theta, last[0]):
            return last[1]
        product = self.design.rmatvec_bounded(self.weights, theta)
        for part in product:
            part.flags.writeable = False
        self._last = theta.copy(), product
        return product


class DualProductsOfPath(DualProducts):
    """The products along a path, where dual points follow each other closely.

    Most entries that were small can then be seen to be still small: by the inequality of
    Cauchy and Schwarz x_j' diag(c) theta differs from s x_j' diag(c) theta_0 by at most
    ``||x_j|| ||theta - s theta_0||``, in the norm ``||a||^2 = sum_i c_i a_i^2``, whatever the
    scale s; the nearest one is taken. X must be stored by columns.
    """

    incremental = True

    def __init__(self, design: Design, weights: Array) -> None:
        super().__init__(design, weights)
        self._kernel = kernels.DualProducts(design.matrix, weights)
        self._now = self._kernel.product(), self._kernel.error()

    def __call__(
        self, theta: Array, enough: float = 0.0, coef: Array | None = None
    ) -> tuple[Array, Array]:
        if self._kernel.take(theta, enough, coef):
            self._now = self._kernel.product(), self._kernel.error()
        return self._now
