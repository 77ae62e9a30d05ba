"""Prediction of the next solution along a path from the last ones.

A step to another alpha follows the tangent of the path, corrected by the deviation of the path
from its last tangent. The gradient at the next solution is predicted as well, and with it the
features that will become active.
"""

from dataclasses import dataclass
from math import log

import numpy as np

from ..._typing import Array, Indices
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
    matrix_alpha : float
        The alpha at which the last Gram matrix was computed.
    bend : ndarray or None
        The difference between the solution and the end of the step along the tangent.
    bend_unit : float
        A number that the bend is proportional to, see `bend_unit_at`.
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
        """The unit of the bend, of second order in steps of log alpha.

        These are the step to the given alpha and the step from that of the Gram matrix.
        """
        step, way = abs(log(alpha / self.alpha)), abs(log(self.matrix_alpha / self.alpha))
        return step * (0.5 * step + way)

    def bend_at(self, alpha: float) -> Array | None:
        """The predicted deviation of the solution for an alpha from the tangent, or None."""
        unit = self.bend_unit_at(alpha)
        if self.bend is None or not 0.0 < unit <= SETTINGS.most_change * self.bend_unit:
            return None
        return unit / self.bend_unit * self.bend

    def gradient_at(self, alpha: float) -> Array | None:
        """The predicted gradient at the solution for an alpha, or None.

        The gradient is linear in alpha as long as the curvature and the support do not change.
        """
        if self.before is None or self.before.alpha == self.alpha:
            return None
        share = (alpha - self.alpha) / (self.alpha - self.before.alpha)
        if not 0.0 < share <= SETTINGS.most_change:
            return None
        return self.gradient + share * (self.gradient - self.before.gradient)


class PathPrediction:
    """The prediction of a solution from those for other alphas.

    Parameters
    ----------
    problem : Problem
    last : PathSolution or None
        The solution for the previous alpha, if the run starts from it.

    Attributes
    ----------
    matrix_alpha : float
        The alpha at which the last Gram matrix was computed.
    """

    def __init__(self, problem: Problem, last: PathSolution | None) -> None:
        self.problem, self.last = problem, last
        self.matrix_alpha = problem.alpha if last is None else last.matrix_alpha
        self.tangent: Array | None = None  # the end of the step along the tangent
        self.bend: Array | None = None  # the predicted deviation from the tangent
        self.bend_unit = 0.0
        self._gradient: Array | None = None  # predicted at the solution
        if last is None:
            return
        if not problem.loss.constant_curvature:  # otherwise the path is piecewise linear
            self.bend = last.bend_at(problem.alpha)
            self.bend_unit = last.bend_unit_at(problem.alpha)
        self._gradient = last.gradient_at(problem.alpha)
        last.before = None  # only one earlier solution is needed

    def take_gradient(self) -> Array | None:
        """The predicted gradient of the features at the solution, for the first step only."""
        gradient, self._gradient = self._gradient, None
        return None if gradient is None else gradient[: self.problem.n_coefficients]

    def beside_tangent(self, w: Array, inside: Indices, p: Array) -> Array:
        """The minimiser p of the first quadratic model, corrected by the predicted bend.

        The minimiser is a point on the tangent of the path, for the variables ``inside`` the
        working set.
        """
        if self.bend_unit == 0.0 or self.tangent is not None:
            return p
        self.tangent = w.copy()
        self.tangent[inside] = p
        if self.bend is None:
            return p
        moved = p + self.bend[inside]
        return np.where((moved * p > 0.0) | (inside >= self.problem.n_coefficients), moved, p)

    def solution(self, iterate: Iterate) -> PathSolution:
        """The solution of this run, for the prediction of the next."""
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
