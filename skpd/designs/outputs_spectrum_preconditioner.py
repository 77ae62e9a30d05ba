"""Eigenvalues of the second moments of features, to precondition the curvature of outputs."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._typing import Array
from .curvature_form import ROUNDING
from .design import Design

LARGEST_SPECTRUM = 600  # most eigenvalues, about 0.1 s
LARGEST_TABLE = 16e6  # most numbers in a copy of X and in the eigenvectors, 128 MB each


@dataclass(frozen=True)
class OutputsSpectrum:
    """The eigenvectors Q and eigenvalues s of G = sum_i w_i x_i x_i', where the w_i sum to 1.

    One decomposition serves all linear systems of a fit
    (`skpd.designs.outputs_moment_preconditioner`).

    Attributes
    ----------
    values : ndarray of shape (rank,)
    vectors : ndarray of shape (n_features + ones, rank)
    """

    values: Array
    vectors: Array

    @staticmethod
    def is_affordable(design: Design, m: int) -> bool:
        """Whether the smaller one of the numbers of samples and of the m features is small."""
        n = design.shape[0]
        return min(n, m) <= LARGEST_SPECTRUM and n * m <= LARGEST_TABLE

    @classmethod
    def of(cls, design: Design, weights: Array, ones: bool) -> "OutputsSpectrum | None":
        """The eigenvalues of G, None where they are not affordable."""
        features, total = np.arange(design.shape[1]), float(np.sum(weights))
        n, m = design.shape[0], len(features) + ones
        if not (cls.is_affordable(design, m) and total > 0.0):
            return None
        weights = np.ascontiguousarray(weights / total)
        if m <= n:
            return cls(*np.linalg.eigh(design.gram(weights, features, ones)))
        A = design.table(features)
        if ones:
            A = np.column_stack([A, np.ones(n)])
        A = np.sqrt(weights)[:, np.newaxis] * A
        values, left = np.linalg.eigh(A @ A.T)
        kept = values > n * ROUNDING * values[-1]
        values = values[kept]
        return cls(values, A.T @ (left[:, kept] / np.sqrt(values)))

    def inverse(self, C: Array, ridge: float) -> Callable[[Array], Array]:
        """The function that multiplies a table of coefficients by (G (x) C + ridge I)^-1."""
        Q = self.vectors
        shares, outputs = np.linalg.eigh(C)
        values = np.multiply.outer(np.maximum(self.values, 0.0), np.maximum(shares, 0.0))
        ridge = max(ridge, ROUNDING * float(np.max(values, initial=0.0)))
        # if Q has fewer columns than rows, the orthogonal complement is divided by the ridge
        of_complement = 0.0 if Q.shape[0] == Q.shape[1] else 1.0 / ridge
        factor = 1.0 / (values + ridge) - of_complement

        def times(table: Array) -> Array:
            inner = factor * (Q.T @ (table @ outputs))
            product: Array = Q @ (inner @ outputs.T)
            return product + of_complement * table if of_complement > 0.0 else product

        return times
