"""The models of a regularisation path."""

from dataclasses import dataclass
from typing import Any

__all__ = ["RegularizationPath"]


@dataclass(frozen=True)
class RegularizationPath:
    """The models of a path, from the largest alpha to the smallest.

    Where more than two classes are handled one-vs-rest, the arrays have an axis of classes
    behind that of the alphas, and the lists hold lists. Of `MultiTaskPD` and `MultinomialPD` the
    coefficients and intercepts have an axis of outputs or classes.

    Attributes
    ----------
    alphas : ndarray of shape (n_alphas,)
    coefs : ndarray of shape (n_alphas, n_features)
    intercepts : ndarray of shape (n_alphas,)
    certificates : list of Certificate
        The interval that holds the optimal objective value, for every alpha.
    converged : ndarray of bool, of shape (n_alphas,)
        Whether the relative gap reached the estimator's ``tol``.
    n_iters : ndarray of int, of shape (n_alphas,)
    """

    alphas: Any
    coefs: Any
    intercepts: Any
    certificates: list
    converged: Any
    n_iters: Any
