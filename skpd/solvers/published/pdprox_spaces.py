"""The spaces of the variables of Pdprox: dual ones of the rows, and coefficients."""

import numpy as np

from ..._typing import Array
from ...losses.maxima_over_multipliers import Multipliers
from ...problems import Point, Problem
from ..solver_context import SolverContext


class DualSide:
    """The dual variables of the rows: theta itself.

    Attributes
    ----------
    size : float
        The norm of the derivatives of theta in the variables of a row.
    """

    size = 1.0

    @staticmethod
    def of(problem: Problem) -> "DualSide":
        """The variables with which the loss is published."""
        multipliers = problem.loss.multipliers(problem.y)
        return DualSide(problem) if multipliers is None else _TwoMultipliers(problem, multipliers)

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def start(self, theta: Array) -> Array:
        return theta

    def ascend(self, a: Array, z: Array, sigma: float) -> Array:
        """A proximal step along the gradient at predictions z."""
        return self.problem.prox_dual(a + sigma * z, sigma)

    def along(self, z: Array) -> Array:
        """The change of the gradient with predictions z."""
        return z

    def theta(self, a: Array) -> Array:
        return a


class _TwoMultipliers(DualSide):
    """Two multipliers for each row, whose step is a projection."""

    def __init__(self, problem: Problem, multipliers: Multipliers) -> None:
        super().__init__(problem)
        self.multipliers = multipliers
        self.size = float(np.linalg.norm(multipliers.slopes[0]))  # the same for all rows

    def start(self, theta: Array) -> Array:
        return self.multipliers.of_theta(theta)

    def ascend(self, a: Array, z: Array, sigma: float) -> Array:
        gradient = self.along(z) + self.multipliers.offsets
        return self.multipliers.projected(a + sigma * gradient)

    def along(self, z: Array) -> Array:
        return self.multipliers.slopes * z[:, np.newaxis]

    def theta(self, a: Array) -> Array:
        return self.multipliers.theta(a)


class Vectors:
    """The space of coefficients, followed by the intercept."""

    def __init__(self, context: SolverContext) -> None:
        self.context = context
        self.problem: Problem = context.problem
        self.side = DualSide.of(self.problem)

    def start(self) -> Array:
        start, problem = self.context.start, self.problem
        if start is None:
            return np.zeros(problem.n_variables)
        return problem.join(start.coef, start.intercept)

    def norm(self) -> float:
        """The spectral norm of the paper's H, that of diag(sqrt(c / n)) X for n rows."""
        problem = self.problem
        roots = self.side.size * np.sqrt(problem.weights / problem.total_weight)
        return self.context.norm(problem, roots)

    def matvec(self, w: Array) -> Array:
        return self.problem.matvec(w)

    def gradient(self, theta: Array) -> Array:
        return self.problem.rmatvec(self.problem.weights * theta)

    def prox(self, w: Array, gradient: Array, tau: Array | float) -> Array:
        return self.problem.prox(w - tau * gradient, tau)

    def point(self, w: Array, theta: Array) -> Point:
        return Point(*self.problem.split(w), theta)
