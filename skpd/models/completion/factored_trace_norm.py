"""The trace norm of a matrix that is given by its factors (`FactoredTraceNorm`)."""

from dataclasses import dataclass

import numpy as np

from ... import kernels
from ..._floats import EPSILON
from ..._typing import Array
from ...designs.largest_singular import largest_singular_value_bound
from ...penalties import L1, Norm, Structure
from .design import EntriesDesign


@dataclass(frozen=True, eq=False)
class FactoredTraceNorm(Norm):
    """The penalty (||U||_F^2 + ||V||_F^2) / 2 of a table of coefficients, U above V.

    This value is at least the trace norm of U V', and equal to it if U and V consist of its
    singular vectors times the square roots of its singular values (Srebro, Rennie and Jaakkola,
    2005, Maximum-margin matrix factorization, Lemma 1). An objective with this penalty and one
    with the trace norm therefore have the same least value. The dual norm is the largest singular
    value of a sparse matrix, which is given by its entries at the observed indices.

    Parameters
    ----------
    design : EntriesDesign
    """

    design: EntriesDesign
    structure = Structure.SPECTRAL
    of_conjugate_arguments = L1()

    def value(self, w: Array) -> float:
        """The value (||U||_F^2 + ||V||_F^2) / 2, rounded up."""
        squares = 0.5 * float(np.sum(w * w))
        return squares * (1.0 + (np.log2(w.size + 2.0) + 16.0) * EPSILON)

    def prox(self, w: Array, step: Array | float) -> Array:
        """The prox of half the sum of squares, w / (1 + step)."""
        return w / (1.0 + step)

    def dual_norm(self, v: Array) -> float:
        return largest_singular_value_bound(self.design.sparse(np.array(v)))

    def conjugate_arguments(self, v: Array, error: Array) -> tuple[Array, Array]:
        """The dual norm as an array of one entry, and a bound on its error.

        The error of a largest singular value is at most the Euclidean norm of the entries' errors.
        """
        norm = largest_singular_value_bound(self.design.sparse(v))
        return np.array([norm]), np.array([kernels.euclidean_norm(error)])
