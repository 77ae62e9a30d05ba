"""Second moments of the features, which precondition the curvature of several outputs.

The curvature sum_i x_i x_i' (x) C_i is approximately G (x) C with C = sum_i C_i and
G = sum_i w_i x_i x_i', where the w_i sum to 1. One G is used for all Newton steps, as it depends
on the step through the weights only. Its eigenvalues are computed only if they save enough steps.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._typing import Array
from .curvature_form import ROUNDING
from .design import Design
from .outputs_spectrum_preconditioner import OutputsSpectrum

TABLES = 2.5  # relative cost of multiplications with a narrow table
EIGENVALUES = 10.0  # multiplications of LAPACK for each entry and each row of a matrix
SMALL = 100  # up to this size eigenvalues are always computed


@dataclass(frozen=True)
class Scales:
    """An approximation of G by a diagonal matrix.

    Attributes
    ----------
    values : ndarray of shape (n_features + ones,)
    """

    values: Array

    def inverse(self, C: Array, ridge: float) -> Callable[[Array], Array]:
        """The function that multiplies a table of coefficients by (G (x) C + ridge I)^-1."""
        shares, outputs = np.linalg.eigh(C)
        values = np.multiply.outer(self.values, np.maximum(shares, 0.0))
        values += max(ridge, ROUNDING * float(np.max(values, initial=0.0)))

        def times(table: Array) -> Array:
            return ((table @ outputs) / values) @ outputs.T

        return times


def mean_squares(design: Design, weights: Array, ones: bool) -> Array:
    """The weighted means of the squares of the columns of X, and of a column of ones if ``ones``.

    They have the shape (n_features + ones,).
    """
    shares = weights / max(float(np.sum(weights)), np.finfo(float).tiny)
    squares = design.rmatvec_square(shares)
    return np.append(squares, 1.0) if ones else squares


class FeatureMoments:
    """An approximation of G that is refined when it is worth its cost.

    At first G is its diagonal. Once a linear system has taken as much time as the eigenvalues of G
    would cost, these are computed, unless they are not affordable.

    Parameters
    ----------
    design : Design
        X.
    weights : ndarray of shape (n_samples,)
    ones : bool
        Whether a column of ones follows the features.
    n_outputs : int
    is_curvature : bool
        Whether G is the curvature up to a factor, so that its eigenvalues solve a system.
    """

    def __init__(
        self, design: Design, weights: Array, ones: bool, *, n_outputs: int, is_curvature: bool
    ) -> None:
        self._data = design, weights, ones
        self.now: Scales | OutputsSpectrum = Scales(mean_squares(design, weights, ones))
        self.max_steps = 0.0 if is_curvature else self._worth(n_outputs)

    def _worth(self, n_outputs: int) -> float:
        """The steps that cost as much as the eigenvalues of G; inf if these are not affordable."""
        design, _, ones = self._data
        n, m = design.shape[0], design.shape[1] + ones
        if not OutputsSpectrum.is_affordable(design, m):
            return np.inf
        rank = min(n, m)
        if rank <= SMALL:
            return 0.0
        system = design.n_entries * rank + EIGENVALUES * rank**3
        if n < m:
            system += n * n * m  # for the eigenvectors of the features
        return system / (2.0 * TABLES * design.n_entries * n_outputs)

    def learn(self) -> None:
        """Replace the diagonal of G by its eigenvalues, if these are affordable."""
        self.max_steps = np.inf
        self.now = OutputsSpectrum.of(*self._data) or self.now
