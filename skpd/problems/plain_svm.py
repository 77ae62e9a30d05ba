"""The distributionally robust SVM at a radius of 0: the mean hinge loss of the data themselves.

With epsilon = 0 the radius lam of the coefficients costs nothing. Once

    kappa lam >= min(2 m_i, 1 + m_i)   for all rows,

1 + m_i - kappa lam is at most max(1 - m_i, 0), so that for every kappa > 0 the least value over
lam >= ||w||_q is the mean hinge loss: neither kappa nor the norm have a part in it.

Without a ridge all coefficients are free directions (`skpd.problems.free_directions`), and the
objective is bounded below by 0, which is its value where a hyperplane separates the classes.
"""

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from .._typing import Array
from ..certificates.objective import DualPoint
from ..penalties import Separable, SquaredL2
from ..penalties.epigraph import NORMS
from .problem import Problem
from .robust import RobustProblem

__all__ = ["PlainSVM", "plain_svm"]


@dataclass(frozen=True, eq=False)
class PlainSVM(Problem):
    """The hinge loss, alone or beside half the squared norm, for the robust SVM's methods too.

    Its dual points hold a number for each row, theta_i = -y_i p_i; those of the robust SVM, p and
    r, are taken for theta_i = -y_i (p_i - r_i). `plain_svm` makes one.

    Parameters
    ----------
    q : {1, 2, inf}, default=2
        The norm in which incremental methods bound w by lam.
    """

    q: float = 2
    # as `RobustProblem`, to those methods; labels that are certain, as kappa has no part
    epsilon = 0.0
    kappa = inf

    @property
    def ridge(self) -> float:
        return self.alpha if self.penalty.is_quadratic else 0.0

    @property
    def norm(self) -> Any:
        return NORMS[self.q]()

    def feasible_point(self, theta: Array) -> DualPoint | None:
        return super().feasible_point(self.from_multipliers(theta))

    def from_multipliers(self, theta: Array) -> Array:
        """theta of the multipliers p and r, where it is not of rows already."""
        return -self.y * (theta[0] - theta[1]) if np.ndim(theta) == 2 else theta

    def to_multipliers(self, theta: Array) -> Array:
        """p and r of shape (2, n_samples)."""
        p = np.abs(theta)
        return np.stack([p, np.zeros_like(p)])


def plain_svm(problem: RobustProblem) -> PlainSVM:
    """The problem that a distributionally robust SVM with epsilon = 0 is."""
    nothing = Separable(np.zeros(problem.n_features), 0.0, -inf, inf)
    return PlainSVM(
        design=problem.design,
        y=problem.y,
        weights=problem.weights,
        loss=problem.loss,
        penalty=SquaredL2() if problem.ridge > 0.0 else nothing,
        alpha=problem.ridge or 1.0,
        fit_intercept=problem.fit_intercept,
        total_weight=problem.total_weight,
        q=problem.q,
    )
