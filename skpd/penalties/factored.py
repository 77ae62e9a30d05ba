"""The trace norm of a matrix that is known by its factors."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .. import kernels
from .._floats import EPSILON
from .._typing import Array
from ..designs.entries import EntriesDesign
from ..designs.largest_singular import largest_singular_value_bound
from .base import Norm, Penalty, Structure
from .separable import L1

__all__ = ["FactoredTraceNorm"]


@dataclass(frozen=True, eq=False)
class FactoredTraceNorm(Norm):
    """(||U||_F^2 + ||V||_F^2) / 2 of a table of coefficients, U above V.

    That is at least the trace norm of U V', and equal to it for U and V made of its singular
    vectors times the roots of its singular values (Srebro, Rennie and Jaakkola, 2005,
    Maximum-margin matrix factorization, Lemma 1). So the least values of an objective with it and
    of one with the trace norm are the same, and its dual norm is the largest singular value of a
    matrix. That has as many entries as the data, which is how it is given here.

    Parameters
    ----------
    design : EntriesDesign
    """

    design: EntriesDesign
    structure: ClassVar[Structure] = Structure.SPECTRAL

    @property
    def of_reduced(self) -> Penalty:
        return L1()

    def value(self, w: Array) -> float:
        """Half the sum of the squares, rounded up."""
        squares = 0.5 * float(np.sum(w * w))
        return squares * (1.0 + (np.log2(w.size + 2.0) + 16.0) * EPSILON)

    def prox(self, w: Array, step: Array | float) -> Array:
        """That of half the squares."""
        return w / (1.0 + step)

    def dual_norm(self, v: Array) -> float:
        return largest_singular_value_bound(self.design.sparse(np.array(v)))

    def reduced(self, v: Array, error: Array) -> tuple[Array, Array]:
        """The dual norm, whose error is at most the Euclidean norm of those of the entries."""
        norm = largest_singular_value_bound(self.design.sparse(v))
        return np.array([norm]), np.array([kernels.euclidean_norm(error)])
