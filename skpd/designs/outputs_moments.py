"""The features' second moments, known as well as it pays, which precondition the curvature.

That of all outputs, sum_i x_i x_i' (x) C_i, is about G (x) C with C = sum_i C_i and
G = sum_i w_i x_i x_i', the w_i summing to 1. The same G serves all Newton steps, as only the
weights of the rows would change it.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._typing import Array, Indices
from .design import Design
from .gram import ROUNDING
from .outputs_spectrum import OutputsSpectrum

__all__ = ["FeatureMoments", "Scales"]

TABLES = 2.5  # multiplications of matrices with each other in the time of one with a narrow table
EIGENVALUES = 10.0  # multiplications for each entry and each row of a matrix, by LAPACK
SMALL = 100  # eigenvalues that are not worth a question
STEPS = 50  # without the scales of the features: text needs fewer without them, raw data does not


@dataclass(frozen=True)
class Scales:
    """A diagonal G.

    Attributes
    ----------
    values : ndarray of shape (n_features + ones,)
    """

    values: Array

    def inverse(self, C: Array, ridge: float) -> Callable[[Array], Array]:
        """The product of (G (x) C + ridge I)^-1 with a table that has a column for each output."""
        shares, outputs = np.linalg.eigh(C)
        values = np.multiply.outer(self.values, np.maximum(shares, 0.0))
        values += max(ridge, ROUNDING * float(np.max(values, initial=0.0)))

        def times(table: Array) -> Array:
            product: Array = ((table @ outputs) / values) @ outputs.T
            return product

        return times


class FeatureMoments:
    """G as it is worth knowing: its mean diagonal entry at first.

    Where features and outputs are alike but for the outputs' shares in the curvature, that is
    enough. A system that has taken as many steps as the eigenvalues of G cost, if they can be
    had, shows that it is not.

    Parameters
    ----------
    design : Design
        X.
    weights : ndarray of shape (n_samples,)
    features : ndarray of shape (n_features,)
    ones : bool
        Whether there is a column of ones behind the features.
    n_outputs : int
    known : bool
        Whether G is the curvature but for a number, so that its eigenvalues solve a system.
    """

    def __init__(
        self, design: Design, weights: Array, features: Indices, ones: bool, *, n_outputs: int,
        known: bool,
    ) -> None:  # fmt: skip
        self._data = design, weights, features, ones
        self.now: Scales | OutputsSpectrum = Scales(self._mean_scale())
        self.most = 0.0 if known else self._worth(n_outputs)

    def _mean_scale(self) -> Array:
        """The same for all rows of X that have entries."""
        design, weights, features, ones = self._data
        squares = design.row_norms() ** 2
        mean = float(weights @ squares) / max(float(np.sum(weights)), np.finfo(float).tiny)
        return np.full(len(features) + ones, (mean + ones) / (len(features) + ones))

    def _scales(self) -> Array:
        design, weights, features, ones = self._data
        shares = weights / max(float(np.sum(weights)), np.finfo(float).tiny)
        scales = design.rmatmul_square(shares[:, np.newaxis])[features, 0]
        return np.append(scales, 1.0) if ones else scales

    def _worth(self, n_outputs: int) -> float:
        """Steps that take as long as the eigenvalues, or up to the scales if there are none."""
        design, _, features, ones = self._data
        if not OutputsSpectrum.is_affordable(design, len(features) + ones):
            return STEPS
        n, m = design.shape[0], len(features) + ones
        least = min(n, m)
        if least <= SMALL:
            return 0.0
        system = design.n_entries * least + EIGENVALUES * least**3
        if n < m:
            system += n * n * m  # for the eigenvectors of the features
        return system / (2.0 * TABLES * design.n_entries * n_outputs)

    def learn(self) -> None:
        """Know more of G."""
        self.most = np.inf
        self.now = OutputsSpectrum.of(*self._data) or Scales(self._scales())
