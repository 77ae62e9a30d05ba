"""The distributionally robust SVM at a radius of 0: the mean hinge loss of the data themselves.

With epsilon = 0 the objective does not depend on the radius lam of the coefficients, except
through the losses. For lam with

    kappa lam >= min(2 m_i, 1 + m_i)   for all rows,

1 + m_i - kappa lam is at most max(1 - m_i, 0). So for every kappa > 0 the least value over
lam >= ||w||_q is the mean hinge loss, which depends neither on kappa nor on the norm.

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
    """The hinge loss with or without half the squared norm, for the methods of the robust SVM.

    Dual points have a number for each row, theta_i = -y_i p_i. Multipliers p and r of the robust
    SVM are converted to theta_i = -y_i (p_i - r_i). The function `plain_svm` creates the problem.

    Parameters
    ----------
    q : {1, 2, inf}, default=2
        The norm in which incremental methods bound w by lam.
    """

    q: float = 2
    # The attributes of `RobustProblem` that its methods use, for kappa = inf (certain labels)
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
        """The vector theta from multipliers p and r, or the given vector if it is one already."""
        return -self.y * (theta[0] - theta[1]) if np.ndim(theta) == 2 else theta

    def to_multipliers(self, theta: Array) -> Array:
        """The multipliers p and r = 0 as an array of shape (2, n_samples)."""
        p = np.abs(theta)
        return np.stack([p, np.zeros_like(p)])


def plain_svm(problem: RobustProblem) -> PlainSVM:
    """The `PlainSVM` that is equivalent to a distributionally robust SVM with epsilon = 0."""
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
