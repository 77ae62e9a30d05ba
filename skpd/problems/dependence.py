"""Columns that are combinations of others (`Dependence`)."""

from typing import NamedTuple, cast

import numpy as np

from .._typing import Array


class Dependence(NamedTuple):
    """The columns that are combinations of the other ones, and of a constant if there is one.

    Attributes
    ----------
    kept : list of int
        Independent columns.
    nearly : list of int
        Columns that are combinations of those up to rounding. Others that are not kept are
        combinations in exact arithmetic.
    factors : ndarray of shape (n_kept, n_nearly)
        The factors of these combinations, preceded by a row of those of the constant.
    others : list of int
        All combinations, up to rounding and in exact arithmetic.
    all_factors : ndarray of shape (n_kept, n_others)
        The factors of all combinations.
    is_certain : bool
        Whether all columns are independent by far.
    """

    kept: list[int]
    nearly: list[int]
    factors: Array
    others: list[int]
    all_factors: Array
    is_certain: bool = False

    def least_norm(self, w: Array) -> tuple[Array, Array]:
        """The coefficients of least norm with the same predictions, and the change of a constant.

        With F the factors, columns X_o = X_k F change nothing if c is taken off the coefficients
        of others and F c is added to those that are kept. The norm is least for
        (I + F'F) c = w_o - F'w_k, solved by the smaller of the matrices I + F'F and I + F F'.
        """
        F, least = self.all_factors[1:], w.copy()
        c: Array = w[self.others] - F.T @ w[self.kept]
        if len(self.others) <= len(self.kept):
            c = cast(Array, np.linalg.solve(np.eye(len(c)) + F.T @ F, c))
        else:
            c = c - F.T @ np.linalg.solve(np.eye(len(F)) + F @ F.T, F @ c)
        least[self.others] -= c
        least[self.kept] += F @ c
        return least, self.all_factors[0] @ c
