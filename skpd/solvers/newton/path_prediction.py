"""What the solutions along a path tell of the next one.

A step to another alpha goes along the tangent of the path, and then as far to the side as the
path left its last tangent. The gradient at the next solution is predicted as well: it says which
features are about to join.
"""

from dataclasses import dataclass
from math import log

import numpy as np

from ..._typing import Array, Indices
from ...problems import Problem
from .iterate import Iterate
from .rows import AllRows
from .settings import SETTINGS

__all__ = ["PathPrediction", "PathSolution"]


@dataclass
class PathSolution:
    """The solution for one alpha of a path, and what it tells of the next.

    Attributes
    ----------
    alpha : float
    variables : ndarray
    rows : AllRows
        At the variables.
    gradient : ndarray
    matrix_alpha : float
        Where the last Gram matrix was taken.
    bend : ndarray or None
        From where a step along the tangent led to the solution.
    bend_unit : float
        What the bend is proportional to, see `bend_unit_at`.
    before : PathSolution or None
    """

    alpha: float
    variables: Array
    rows: AllRows
    gradient: Array
    matrix_alpha: float
    bend: Array | None
    bend_unit: float
    before: "PathSolution | None"

    def bend_unit_at(self, alpha: float) -> float:
        """Of second order in the step of log alpha and in the way from the matrix to here."""
        step, way = abs(log(alpha / self.alpha)), abs(log(self.matrix_alpha / self.alpha))
        return step * (0.5 * step + way)

    def bend_at(self, alpha: float) -> Array | None:
        """How far the solution for an alpha is expected beside the tangent."""
        unit = self.bend_unit_at(alpha)
        if self.bend is None or not 0.0 < unit <= SETTINGS.most_change * self.bend_unit:
            return None
        return unit / self.bend_unit * self.bend

    def gradient_at(self, alpha: float) -> Array | None:
        """It is linear in alpha as long as the curvature and the support stay the same."""
        if self.before is None or self.before.alpha == self.alpha:
            return None
        share = (alpha - self.alpha) / (self.alpha - self.before.alpha)
        if not 0.0 < share <= SETTINGS.most_change:
            return None
        return self.gradient + share * (self.gradient - self.before.gradient)


class PathPrediction:
    """What is expected of a solution after those for other alphas.

    Parameters
    ----------
    problem : Problem
    last : PathSolution or None
        The solution for the alpha before, if the run starts from it.

    Attributes
    ----------
    matrix_alpha : float
        The alpha for which the last Gram matrix was taken.
    """

    def __init__(self, problem: Problem, last: PathSolution | None) -> None:
        self.problem, self.last = problem, last
        self.matrix_alpha = problem.alpha if last is None else last.matrix_alpha
        self.tangent: Array | None = None  # where a path would be now if it did not bend
        self.bend: Array | None = None  # from there to where it is expected
        self.bend_unit = 0.0
        self._gradient: Array | None = None  # expected at the solution
        if last is None:
            return
        if not problem.loss.constant_curvature:  # else a path has corners only
            self.bend = last.bend_at(problem.alpha)
            self.bend_unit = last.bend_unit_at(problem.alpha)
        self._gradient = last.gradient_at(problem.alpha)
        last.before = None  # one is enough

    def take_gradient(self) -> Array | None:
        """The gradient of the features expected at the solution, for the first step only."""
        gradient, self._gradient = self._gradient, None
        return None if gradient is None else gradient[: self.problem.n_features]

    def beside_tangent(self, w: Array, inside: Indices, p: Array) -> Array:
        """The minimiser p of the first quadratic model, moved to where the path is expected.

        It is a point on the tangent of the path, for the variables ``inside`` the working set.
        """
        if self.bend_unit == 0.0 or self.tangent is not None:
            return p
        self.tangent = w.copy()
        self.tangent[inside] = p
        if self.bend is None:
            return p
        moved = p + self.bend[inside]
        return np.where((moved * p > 0.0) | (inside >= self.problem.n_features), moved, p)

    def solution(self, iterate: Iterate) -> PathSolution:
        """What to tell the next run."""
        return PathSolution(
            alpha=self.problem.alpha,
            variables=iterate.w,
            rows=iterate.all_rows,
            gradient=iterate.gradient,
            matrix_alpha=self.matrix_alpha,
            bend=None if self.tangent is None else iterate.w - self.tangent,
            bend_unit=self.bend_unit,
            before=self.last,
        )
