"""Accelerated proximal gradients for smooth losses of several outputs and any penalty.

An iteration costs a product with X, one with its transpose and a prox; for the squared loss and
more samples than features, it costs a product with a Gram matrix and a prox.
"""

from math import inf

import numpy as np

from ..._typing import Array
from ...certificates import dual_estimate
from ...problems import Point, Problem
from ..solver_context import SolverContext
from .certified_estimates import Result, within
from .proximal_gradient import SmoothModel, proximal_gradients
from .settings import GRADIENTS as SETTINGS


def accelerated_gradients(context: SolverContext, *, budget: float = inf) -> None:
    """Accelerated proximal gradients, for a smooth loss.

    The method ends unfinished if the gap no longer decreases.

    Parameters
    ----------
    context : SolverContext
    budget : float, default=inf
        A computing limit: the number of multiplications after which the method ends unfinished.
    """
    model = _ByGram if _has_small_gram(context.problem) else ModelByRows
    proximal_gradients(model(context.problem), within(context, budget, SETTINGS.step_overhead))


class VectorModel(SmoothModel):
    """The coefficients, followed by the intercepts.

    Attributes
    ----------
    squares : ndarray
        The weighted sums of the squares of the columns.
    scale : ndarray
        Relative step sizes of the variables, one for each feature if the penalty allows it.
    """

    def __init__(self, problem: Problem, weights: Array, squares: Array) -> None:
        super().__init__(problem, weights)
        self.squares = squares
        scale = 1.0 / np.where(squares > 0.0, squares, np.max(squares, initial=0.0) or 1.0)
        d = problem.n_coefficients
        self.scale = np.append(problem.penalty.step_sizes(scale[:d]), scale[d:])

    def start(self, point: Point) -> Array:
        return self.problem.join(self.problem.penalty.feasible(point.coef), point.intercept)

    def image(self, x: Array) -> Array:
        return self.problem.matvec(x)

    def gradient(self, theta: Array) -> Array:
        return self.problem.rmatvec(self.weights * theta)

    def first_curvature(self) -> float:
        direction = self.scale * self.slope
        along, size = self.problem.matvec(direction), float(self.slope @ direction)
        curvature = float(self.weights @ along**2)
        return curvature / size if size > 0.0 and curvature > 0.0 else 1.0

    def proximal_step(self, y: Array, curvature: float) -> Array:
        step = self.scale / curvature
        return self.problem.prox(y - step * self.slope, step)

    def inner(self, x: Array, other: Array) -> float:
        return float(x @ (other / self.scale))


class ModelByRows(VectorModel):
    """The model of losses of the rows, with the derivatives of the losses at y as dual point."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem, problem.weights, problem.squares)

    def first_curvature(self) -> float:
        return self.problem.loss.smoothness * super().first_curvature()

    def result(self, x: Array, image: Array) -> Result:
        return self.result_at(x, image, self.theta, self.slope)

    def result_at(self, x: Array, z: Array, theta: Array, slope: Array) -> Result:
        """The iterate x with predictions z, and a dual point with the gradient that it gives.

        The free sums of the dual point over the intercepts are ignored, as a certificate projects
        the dual point.
        """
        problem = self.problem
        coef, intercept = problem.split(x)
        primal = self.smooth_part(z) + problem.alpha * problem.penalty.value(coef)
        value = -float(self.weights @ problem.loss.conjugate(problem.y, theta))
        dual = dual_estimate(problem, value, problem.split(slope)[0], primal)
        return Result(primal, dual, lambda: Point(coef, intercept, theta))


class _ByGram(ModelByRows):
    """The model with images G x, G = X' C X, for the squared loss of outputs that share X.

    Iterations have no products with X; predictions are computed only for estimates of the gap.
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        design = problem.design
        weights = np.ascontiguousarray(problem.weights[:: problem.n_outputs])
        features, ones = np.arange(design.n_inputs), bool(problem.fit_intercept)
        self._gram = design.base.gram(weights, features, ones)
        self._at_0 = self.gradient(problem.loss.gradient(problem.y, np.zeros(problem.n_samples)))

    def image(self, x: Array) -> Array:
        product: Array = self._gram @ x.reshape(len(self._gram), -1)
        return np.ravel(product)

    def linearise(self, image: Array) -> None:
        self.z, self.slope = image, image + self._at_0

    def above_tangent(self, image: Array, step: Array) -> float:
        return 0.5 * float(step @ (image - self.z))

    def result(self, x: Array, image: Array) -> Result:
        z = self.problem.matvec(x)
        theta = self.problem.loss.gradient(self.problem.y, z)
        return self.result_at(x, z, theta, image + self._at_0)


def _has_small_gram(problem: Problem) -> bool:
    """Whether products with a Gram matrix cost less than those with X, including its formation."""
    design = problem.design
    if not (problem.loss.constant_curvature and design.shares_data and design.base.dense):
        return False
    n, d = design.base.shape
    return bool(d < n and d <= SETTINGS.gram_passes * problem.n_outputs)
