"""Half the squared norm of a function that is a sum over the rows (`SquaredKernelNorm`)."""

from dataclasses import dataclass

from ..._floats import EPSILON
from ..._typing import Array
from ...penalties.base import Penalty
from ...penalties.norms import SquaredL2
from .matrix import KernelMatrix

RIDGE = SquaredL2()
ACCURATE = 1e-11  # rounding errors below this times the value need no precise products


@dataclass(frozen=True)
class SquaredKernelNorm(Penalty):
    """Half the squared norm ``a'K a / 2`` of the function sum_i a_i k(x_i, .) of weights a.

    Its dual vectors are products with the features of K in an orthonormal basis, for which it is
    half the squared Euclidean norm (`skpd.models.kernel_machines.features.KernelRows`).

    Parameters
    ----------
    kernel : KernelMatrix

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.models.kernel_machines.matrix import KernelMatrix
    >>> from skpd.models.kernel_machines.kernel_norm import SquaredKernelNorm
    >>> penalty = SquaredKernelNorm(KernelMatrix(np.array([[2.0, 1.0], [1.0, 2.0]])))
    >>> round(penalty.value(np.array([1.0, -1.0])), 12)
    1.0
    """

    kernel: KernelMatrix
    is_quadratic = True
    symmetric = True

    def value(self, w: Array) -> float:
        """The value, rounded up."""
        return self.value_within(w, 0.0)

    def value_within(self, w: Array, accuracy: float) -> float:
        value, error = self.kernel.squared_norm(w)
        if error > max(ACCURATE * value, accuracy):
            value, error = self.kernel.squared_norm(w, precise=True)
        return 0.5 * max(value + error, 0.0) * (1.0 + EPSILON)

    prox, conjugate, support = RIDGE.prox, RIDGE.conjugate, RIDGE.support
    without_ridge = RIDGE.without_ridge
