"""Groups that share features, as a partition of copies of the features."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from .._typing import Array, Attributes, Groups, Indices
from ..certificates import certify_point, largest_gap
from ..problems import Problem, Solution


class Copies(NamedTuple):
    """Copies of features, one for every group that a feature is in.

    With the coefficients v_g of the copies of group g, the features have the coefficients
    w = sum_g v_g, and the group lasso of the v_g, minimised over all such sums, is the latent
    group lasso (Jacob, Obozinski and Vert, 2009, Group lasso with overlap and graph lasso).

    Attributes
    ----------
    features : ndarray of int, of shape (n_copies,)
        The feature of each copy, group by group.
    groups : ndarray of int, of shape (n_copies,)
        The group of each copy.
    n_features : int
    """

    features: Indices
    groups: Indices
    n_features: int

    def sums(self, coef: Array) -> Array:
        """The coefficients of the features, from those of the copies."""
        return np.asarray(np.bincount(self.features, coef, self.n_features), np.float64)

    def summable(self, coef: Array) -> Array:
        """The coefficients rounded to a power of 2 for each feature, so that `sums` are exact.

        A sum of n numbers is exact in float64 if all are multiples of 2^(e - 52) and the sum of
        their sizes is at most 2^(e + 1); e is such that the sum of the given sizes is below 2^e.
        """
        exponents = 52 - np.frexp(self.sums(np.abs(coef)))[1][self.features]
        return np.ldexp(np.rint(np.ldexp(coef, exponents)), -exponents)

    def shares(self, coef: Array) -> Array:
        """Coefficients of copies that sum to those of the features, in equal parts."""
        parts = coef / np.bincount(self.features, minlength=self.n_features)
        return parts[self.features]


def copies_of(groups: Groups, n_features: int) -> Copies | None:
    """The copies for lists of features; None where no feature is in two of them.

    Parameters
    ----------
    groups : object
        Groups in a format of `skpd.penalties.GroupL2`.
    n_features : int

    Raises
    ------
    ValueError
        If groups overlap, but miss a feature or name one twice in one list.
    """
    if not isinstance(groups, list | tuple):
        return None
    if not all(isinstance(group, list | tuple | np.ndarray) for group in groups):
        return None
    lists = [np.asarray(group) for group in groups]
    if not lists or any(group.ndim != 1 or group.dtype.kind not in "iu" for group in lists):
        return None  # `GroupL2` raises the error
    features = np.concatenate(lists).astype(np.int64)
    if len(features) == 0 or features.min() < 0 or features.max() >= n_features:
        return None
    counts = np.bincount(features, minlength=n_features)
    if not np.any(counts > 1):
        return None
    if np.any(counts < 1):
        raise ValueError(
            "groups that overlap must hold every feature, but they miss feature "
            f"{int(np.argmin(counts))} ({int(np.sum(counts < 1))} features in all)."
        )
    if any(len(np.unique(group)) < len(group) for group in lists):
        raise ValueError("groups must not name a feature twice in one list.")
    labels = np.repeat(np.arange(len(lists)), [len(group) for group in lists])
    return Copies(features, labels, n_features)


def certified_sums(problem: Problem, solution: Solution, copies: Copies, tol: float) -> Solution:
    """The solution with coefficients of copies whose sums are exact, and their certificate."""
    coef = copies.summable(solution.coef)
    intercept = float(solution.intercept)  # there is a problem for each class
    point = np.asarray(coef, np.float64), intercept, solution.dual_coef
    certificate, theta = certify_point(problem, *point)
    converged = certificate.gap <= largest_gap(problem, tol, certificate.primal, certificate.dual)
    return replace(
        solution, coef=coef, dual_coef=theta, certificate=certificate, converged=converged
    )


def with_sums(coef: Array, copies: Copies | None) -> Attributes:
    """The coefficients as attributes, with their sums for features where they are of copies."""
    if copies is None:
        return {"coef_": coef}
    return {"latent_coef_": coef, "coef_": np.apply_along_axis(copies.sums, -1, coef)}
