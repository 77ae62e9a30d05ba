"""Accelerated proximal gradients in any vector space (FISTA, Beck and Teboulle, 2009).

To minimise f(x) + alpha R(x) for a smooth f of predictions that are linear in x:

    x_{k+1} = prox of (alpha / L) R  at  y_k - f'(y_k) / L
    t_{k+1} = (1 + sqrt(1 + 4 t_k^2)) / 2
    y_{k+1} = x_{k+1} + (t_k - 1) / t_{k+1} (x_{k+1} - x_k)

L is found by backtracking and may decrease again. The momentum restarts where it is an ascent
direction (O'Donoghue and Candes, 2015).
"""

from math import inf, sqrt
from typing import Any, Protocol

import numpy as np

from ..._typing import Array
from ...problems import Point, Problem
from ..solver_context import SolverContext
from .certified_estimates import EstimateSchedule, Result
from .settings import GRADIENTS as SETTINGS


class SmoothModel(Protocol):
    """A smooth loss of predictions that are linear in x, and a penalty with a prox.

    Points x are vectors or other objects with sums, differences and multiples.

    Parameters
    ----------
    problem : Problem
    weights : ndarray
        The weights of the predictions in the mean loss.

    Attributes
    ----------
    loss, slope : float, object
        The mean loss at y and its gradient in x.
    z, theta : ndarray
        The predictions at y and the derivatives of their losses.
    """

    problem: Problem
    weights: Array
    loss: float
    slope: Array
    z: Array
    theta: Array

    def __init__(self, problem: Problem, weights: Array) -> None:
        self.problem, self.weights = problem, weights

    def start(self, point: Point) -> Any:
        """The x of a point."""

    def image(self, x: Any) -> Array:
        """The part of the predictions that is linear in x."""

    def gradient(self, theta: Array) -> Any:
        """The gradient A' diag(c) theta."""

    def first_curvature(self) -> float:
        """The start of the search for L, after the gradient at the start."""

    def proximal_step(self, y: Any, curvature: float) -> Any:
        """The prox of R / curvature at y - gradient / curvature."""

    def result(self, x: Any, image: Array) -> Result:
        """The iterate x with a dual point, for estimates of the gap and certificates."""

    def inner(self, x: Any, other: Any) -> float:
        """The inner product in the metric of the steps."""
        return float(x @ other)

    def predictions(self, image: Array) -> Array:
        return image

    def smooth_part(self, z: Array) -> float:
        """The part of the objective that has gradients: the mean loss at predictions z."""
        return float(self.weights @ self.problem.loss.value(self.problem.y, z))

    def evaluate(self, z: Array) -> tuple[float, Array]:
        """The mean loss at z and the derivatives of the losses."""
        return self.smooth_part(z), self.problem.loss.gradient(self.problem.y, z)

    @property
    def size_of_differences(self) -> float:
        """The size of the numbers whose difference `above_tangent` computes."""
        return 0.0 if self.problem.loss.constant_curvature else abs(self.loss)

    def linearise(self, image: Array) -> None:
        """Compute the loss and its gradient at the image of y."""
        self.z = self.predictions(image)
        self.loss, self.theta = self.evaluate(self.z)
        self.slope = self.gradient(self.theta)

    def above_tangent(self, image: Array, step: Array) -> float:
        """The mean loss at y + step, of the given image, minus its tangent at y."""
        z = self.predictions(image)
        move, loss = z - self.z, self.problem.loss
        if loss.constant_curvature:
            return 0.5 * float(loss.smoothness * (self.weights @ (move * move)))
        return self.smooth_part(z) - self.loss - float(self.weights @ (self.theta * move))


def proximal_gradients(model: SmoothModel, context: SolverContext) -> None:
    """Iterate until the tolerance or a limit is reached, or the gap no longer decreases."""
    schedule = EstimateSchedule(context)
    iterate = _Iterate(model, context.first)
    try:
        while not schedule.is_over:
            iterate.step()
            schedule.n_iter += 1
            if schedule.is_estimated:
                schedule.report(model.result(iterate.x, iterate.of_x))
    except KeyboardInterrupt:
        point = model.result(iterate.x, iterate.of_x).point()
        context.monitor.check(schedule.n_iter, point)
        raise


class _Iterate:
    """The iterate x and the extrapolated point y, with their images."""

    def __init__(self, model: SmoothModel, start: Point) -> None:
        self.model = model
        self.x = self.y = model.start(start)
        self.of_x = self.of_y = model.image(self.x)
        model.linearise(self.of_y)
        self.momentum, self.curvature = 1.0, model.first_curvature()
        # the second-order term of the last step, at which a term near the rounding error of the
        # loss says nothing of the curvature
        self.bend = inf

    def step(self) -> None:
        """Take a proximal gradient step from y, and compute the next y."""
        model = self.model
        noise = SETTINGS.rounding * model.size_of_differences
        if self.bend > SETTINGS.measurable * noise:
            self.curvature /= SETTINGS.curvature_decrease
        while True:
            x = model.proximal_step(self.y, self.curvature)
            of_x, step = model.image(x), x - self.y
            self.bend = 0.5 * self.curvature * model.inner(step, step)
            if model.above_tangent(of_x, step) <= self.bend + noise or not np.isfinite(
                self.curvature
            ):
                break
            self.curvature *= SETTINGS.curvature_increase
        move = x - self.x
        if model.inner(step, move) < 0.0:
            self.momentum = 1.0
        momentum = 0.5 * (1.0 + sqrt(1.0 + 4.0 * self.momentum**2))
        ahead = (self.momentum - 1.0) / momentum
        self.y = x + ahead * move if ahead else x
        self.of_y = of_x + ahead * (of_x - self.of_x)
        self.x, self.of_x, self.momentum = x, of_x, momentum
        model.linearise(self.of_y)
