"""Prediction of the gradient at the next solution along a path from those at the last ones.

With it, the features that will become active are predicted.
"""

from dataclasses import dataclass

from ..._typing import Array
from ...problems import Problem
from .iterate import Iterate
from .rows import AllRows
from .settings import SETTINGS


@dataclass
class PathSolution:
    """The solution for one alpha of a path, with data for the prediction of the next.

    Attributes
    ----------
    alpha : float
    variables : ndarray
    rows : AllRows
        The rows, at the variables.
    gradient : ndarray
    before : PathSolution or None
    """

    alpha: float
    variables: Array
    rows: AllRows
    gradient: Array
    before: "PathSolution | None"

    def gradient_at(self, alpha: float) -> Array | None:
        """The predicted gradient at the solution for an alpha, or None.

        It is linear in alpha as long as the curvature and the support do not change.
        """
        before = self.before
        if before is None or before.alpha == self.alpha:
            return None
        share = (alpha - self.alpha) / (self.alpha - before.alpha)
        predicted = self.gradient + share * (self.gradient - before.gradient)
        return predicted if 0.0 < share <= SETTINGS.most_change else None


class PathPrediction:
    """The prediction of a solution from those for other alphas.

    Parameters
    ----------
    problem : Problem
    last : PathSolution or None
        The solution for the previous alpha, if the run starts from it.
    """

    def __init__(self, problem: Problem, last: PathSolution | None) -> None:
        self.problem, self.last = problem, last
        self._gradient: Array | None = None  # predicted at the solution
        if last is not None:
            self._gradient = last.gradient_at(problem.alpha)
            last.before = None  # only one earlier solution is needed

    def take_gradient(self) -> Array | None:
        """The predicted gradient of the features at the solution, for the first step only."""
        gradient, self._gradient = self._gradient, None
        return None if gradient is None else gradient[: self.problem.n_coefficients]

    def solution(self, iterate: Iterate) -> PathSolution:
        """The solution of this run, for the prediction of the next."""
        return PathSolution(
            self.problem.alpha, iterate.w, iterate.all_rows, iterate.gradient, before=self.last
        )
