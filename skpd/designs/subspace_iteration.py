"""The largest singular values of a sequence of matrices that change little between calls."""

from typing import Any

import numpy as np

from .._typing import Array


class SubspaceIteration:
    """The largest singular triplets by subspace iteration, started at the last call's subspace.

    Parameters
    ----------
    random_state : RandomState
        The source of random start vectors.
    extra_columns : int
        The number of vectors of the subspace in addition to the requested ones.
    sweeps : int
        The number of products with M and M' in a call.
    cold_sweeps : int
        The number of products with M and M' in a call with new random vectors.
    """

    def __init__(
        self,
        random_state: np.random.RandomState,
        extra_columns: int,
        sweeps: int,
        cold_sweeps: int,
    ) -> None:
        self.random_state, self.extra_columns = random_state, extra_columns
        self.sweeps, self.cold_sweeps = sweeps, cold_sweeps
        self.V: Any = None

    def __call__(self, M: Any, rank: int) -> tuple[Array, Array, Array]:
        """U, the singular values and V' of a matrix, or of a linear map with its transpose."""
        n_rows, n_columns = M.shape
        width = min(rank + self.extra_columns, n_rows, n_columns)
        V = np.empty((n_columns, 0)) if self.V is None else self.V[:, :width]
        new = self.random_state.standard_normal((n_columns, width - V.shape[1]))
        sweeps = self.cold_sweeps if new.size else self.sweeps
        V, transposed = np.hstack([V, new]), M.T
        for sweep in range(sweeps):
            Q = np.linalg.qr(M @ V)[0]
            V = transposed @ Q
            if sweep < sweeps - 1:
                V = np.linalg.qr(V)[0]
        U, sigma, right = np.linalg.svd(V.T, full_matrices=False)
        self.V = right.T
        return Q @ U, sigma, right
