"""Data matrices of kernel machines, whose features are those of kernel matrices.

A factor L of a kernel matrix K = L L' + E has few columns. The features that it leaves out are
those of a factor of E, the *residual features*. They are not computed one by one, but the norm of
a product x'L with all features of K is known, as its square is x'K x.
"""

from math import sqrt

import numpy as np
import scipy.sparse as sp

from ... import kernels
from ..._floats import EPSILON
from ..._typing import Array, Indices, Numbers
from ...designs.design import Design
from ...designs.far_columns import FAR
from .factor import KernelFactor
from .matrix import KernelMatrix


class KernelFeatures(Design):
    """The columns of factors of kernel matrices, each followed by one for its residual features.

    That column is 0 in products with coefficients. Products X' diag(c) theta with bounds on their
    errors, which are those of certificates, have the norm of the product with the residual
    features in its place, rounded up. So a bound is valid whatever the accuracy of the factor.

    Parameters
    ----------
    matrices : sequence of KernelMatrix
    factors : sequence of KernelFactor
    n_parallel : int, default=1
        See `Design`.

    Attributes
    ----------
    ends : ndarray of shape (n_kernels,)
        The ends of the groups of columns of the kernels.
    """

    leaves_features_out = True

    def __init__(
        self, matrices: tuple[KernelMatrix, ...], factors: tuple[KernelFactor, ...],
        n_parallel: int = 1,
    ) -> None:  # fmt: skip
        tables = [factor.padded for factor in factors]
        super().__init__(tables[0] if len(tables) == 1 else np.hstack(tables), False, n_parallel)
        self.matrices, self.factors = matrices, factors
        self.ends = np.cumsum([factor.rank + 1 for factor in factors])

    @property
    def labels(self) -> Indices:
        """The index of the kernel of each column."""
        return np.repeat(np.arange(len(self.factors)), [f.rank + 1 for f in self.factors])

    def rmatvec_bounded(self, weights: Array, rows: Array) -> tuple[Array, Array]:
        return self._with_residuals(super().rmatvec_bounded(weights, rows), weights * rows, False)

    def rmatvec_compensated(self, weights: Array, rows: Array) -> tuple[Array, Array]:
        products = super().rmatvec_compensated(weights, rows)
        return self._with_residuals(products, weights * rows, True)

    def _with_residuals(
        self, of_factors: tuple[Array, Array], x: Array, precise: bool
    ) -> tuple[Array, Array]:
        """The products of x with the factors, and the norms of those with residual features."""
        products, errors = np.array(of_factors[0]), np.array(of_factors[1])
        first = 0
        for end, matrix in zip(self.ends.tolist(), self.matrices, strict=True):
            square, error = matrix.squared_norm(x, precise)
            of_factor = slice(first, end - 1)
            factor_norm = kernels.euclidean_norm(products[of_factor]) * (1.0 - 4.0 * EPSILON)
            factor_norm -= kernels.euclidean_norm(errors[of_factor])
            residual_square = square - max(factor_norm, 0.0) ** 2 * (1.0 - 4.0 * EPSILON)
            largest = sqrt(max(residual_square + error, 0.0)) * (1.0 + 4.0 * EPSILON)
            products[end - 1] = sqrt(max(residual_square, 0.0))
            errors[end - 1] = (largest - products[end - 1]) * (1.0 + EPSILON)
            first = end
        return products, errors

    def column_norms(self, weights: Array) -> Array:
        norms = super().column_norms(weights)
        for end, factor in zip(self.ends, self.factors, strict=True):
            norms[end - 1] = sqrt(float(weights @ factor.residual))
        return norms

    # Models

    def weights_of_rows(self, coef: Array) -> Array:
        """The weights a_k of the rows with sum_i a_ki k_k(x_i, .) the function f_k of each kernel.

        They are 0 except at the pivots of the factors.
        """
        pairs = zip(self.factors, self._groups(coef), strict=True)
        return np.stack([factor.weights(part) for factor, part in pairs])

    def norms_of_functions(self, coef: Array) -> Array:
        """The norms ||f_k|| of the functions of the kernels."""
        return np.array([kernels.euclidean_norm(part) for part in self._groups(coef)])

    def _groups(self, coef: Array) -> list[Array]:
        """The coefficients of each kernel, without those that stand for residual features."""
        return [part[:-1] for part in np.split(coef, self.ends[:-1])]


class KernelRows(Design):
    """A kernel matrix K as data, whose coefficients a are weights of the rows: predictions K a.

    The function sum_i a_i k(x_i, .) has the squared norm a'K a
    (`skpd.models.kernel_machines.kernel_norm.SquaredKernelNorm`). Products of a dual point with
    bounds on their errors are given in an orthonormal basis of the features of K, the first vector
    of which is the product itself, so that its first entry is its norm and the others are 0. A
    penalty that is a function of the norm needs no more.

    Parameters
    ----------
    kernel : KernelMatrix
    """

    leaves_features_out = True

    def __init__(self, kernel: KernelMatrix) -> None:
        super().__init__(sp.csr_array((kernel.n_samples, kernel.n_samples)))  # products use K
        self.kernel, self.matrices = kernel, (kernel,)
        self._features = KernelFeatures((kernel,), (KernelFactor.empty(kernel.diagonal),))

    def shift_of_columns(self, weights: Array, far: float = FAR) -> None:
        """None: columns far from 0 stay, as the method works on K itself, not on features."""

    def matvec(self, coef: Array) -> Array:
        return self.kernel.product(coef)[0]

    def mean_row_bounded(self, weights: Array, scale: float) -> tuple[Array, Array]:
        """The mean row and a bound on its error.

        Where rows of K are computed when they are needed, the result is 0, with the largest norm
        of the mean as a bound: a norm of a sum is at most the sum of the norms.
        """
        if not self.kernel.computes_rows:
            return super().mean_row_bounded(weights, scale)
        largest = scale * float(weights @ self.kernel.sizes)
        rounding = 2.0 * (self.kernel.n_samples + 4.0) * EPSILON
        return self._in_own_basis(0.0), self._in_own_basis(largest * (1.0 + rounding))

    def matvec_bounded(self, coef: Array, intercept: float) -> tuple[Array, Array]:
        z, _, error = self._predictions(coef, intercept, precise=False)
        return z, error

    def matvec_compensated(self, coef: Array, intercept: float) -> tuple[Array, Array, Array]:
        return self._predictions(coef, intercept, precise=True)

    def _predictions(
        self, coef: Array, intercept: float, precise: bool
    ) -> tuple[Array, Array, Array]:
        values, low, error = self.kernel.predictions_of(coef, *self.kernel.product(coef, precise))
        z = values + intercept
        return z, low, error + EPSILON * np.abs(z)

    def rmatvec_bounded(self, weights: Array, rows: Array) -> tuple[Array, Array]:
        product, error = self._features.rmatvec_bounded(weights, rows)
        return self._in_own_basis(product), self._in_own_basis(error)

    def rmatvec_compensated(self, weights: Array, rows: Array) -> tuple[Array, Array]:
        product, error = self._features.rmatvec_compensated(weights, rows)
        return self._in_own_basis(product), self._in_own_basis(error)

    def column_norms(self, weights: Array) -> Array:
        return self._in_own_basis(self._features.column_norms(weights))

    def _in_own_basis(self, first: Numbers) -> Array:
        """A vector of the features from its first entry."""
        return np.append(first, np.zeros(self.shape[1] - 1))

    def weights_of_rows(self, coef: Array) -> Array:
        """The weights a, of shape (1, n_samples)."""
        return coef[np.newaxis]

    def norms_of_functions(self, coef: Array) -> Array:
        """The norm of the function, of shape (1,)."""
        return np.sqrt([max(self.kernel.squared_norm(coef)[0], 0.0)])
