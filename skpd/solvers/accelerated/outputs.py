"""Accelerated proximal gradients for smooth losses of several outputs and any penalty.

The method is that of Beck and Teboulle (2009), with backtracking of the step length, which may
increase again, and restarts if the momentum is an ascent direction (O'Donoghue and Candes, 2015).
An iteration costs a product with X, one with its transpose and a prox; for the squared loss and
more samples than features, it costs a product with a Gram matrix and a prox.
"""

from math import inf, sqrt
from typing import Any

import numpy as np

from ..._typing import Array
from ...certificates import dual_estimate, relative_gap
from ...designs.threads import one_blas_thread
from ...problems import Point, Problem
from ..run import Run
from .settings import GRADIENTS as SETTINGS


def accelerated_gradients(run: Run, *, budget: float = inf) -> None:
    """Accelerated proximal gradients, for a smooth loss.

    The method ends unfinished if the gap no longer decreases.

    Parameters
    ----------
    run : Run
    budget : float, default=inf
        A computing limit: the number of multiplications after which the method ends unfinished.
    """
    problem, monitor = run.problem, run.monitor
    cost = SETTINGS.step_cost * problem.design.n_entries + SETTINGS.step_overhead
    most = int(min(budget / cost, run.left))
    iterate = _Iterate(problem, run.first)
    first, best, improved_at, check_at = monitor.n_iter, inf, 0, 0
    for t in range(1, most + 1):
        iterate.step()
        last = t == most
        if t % SETTINGS.estimate_every and not last:
            continue
        gap = iterate.estimated_gap(monitor.primal)
        if gap < SETTINGS.progress * best:
            best, improved_at = gap, t
        stalled = t - improved_at > SETTINGS.patience
        near = relative_gap(problem, gap) <= monitor.tol and t >= check_at
        if near or last or stalled or t % SETTINGS.check_every == 0:
            monitor.check(first + t, iterate.point())
            check_at = t + t // SETTINGS.check_share
        if monitor.done or stalled:
            return


class _Iterate:
    """The iterate x, the extrapolated point y, and their images under the map."""

    def __init__(self, problem: Problem, start: Point) -> None:
        self.problem = problem
        self.map = _ByGram(problem) if _has_small_gram(problem) else _ByRows(problem)
        self.x = self.y = problem.join(start.coef, start.intercept)
        self.of_x = self.of_y = self.map.image(self.x)
        self.momentum = 1.0
        self.gradient = self.map.gradient(self.of_y)
        # the relative step sizes of the variables, one for each feature if the penalty allows it
        scale = problem.squares
        scale = 1.0 / np.where(scale > 0.0, scale, np.max(scale, initial=0.0) or 1.0)
        d = problem.n_coefficients
        self.scale = np.append(problem.penalty.step_sizes(scale[:d]), scale[d:])
        towards = self.scale * self.gradient
        along, size = problem.matvec(towards), float(self.gradient @ towards)
        most = float(problem.weights @ along**2) * problem.loss.smoothness
        self.curvature = most / size if size > 0.0 and most > 0.0 else 1.0

    def step(self) -> None:
        """Take a proximal gradient step from y, and compute the next y."""
        problem = self.problem
        self.curvature *= SETTINGS.curvature_decrease
        while True:
            step = self.scale / self.curvature
            x = problem.prox(self.y - step * self.gradient, step)
            of_x, move = self.map.image(x), x - self.y
            above, rounding = self.map.above_tangent(of_x, self.of_y, move)
            most = 0.5 * float(move @ (move / step))
            if above <= most + rounding or not np.isfinite(self.curvature):
                break
            self.curvature *= SETTINGS.curvature_increase
        if float((self.y - x) @ ((x - self.x) / self.scale)) > 0.0:
            self.momentum = 1.0
        momentum = 0.5 * (1.0 + sqrt(1.0 + 4.0 * self.momentum**2))
        ahead = (self.momentum - 1.0) / momentum
        self.y, self.of_y = x + ahead * (x - self.x), of_x + ahead * (of_x - self.of_x)
        self.x, self.of_x, self.momentum = x, of_x, momentum
        self.gradient = self.map.gradient(self.of_y)

    def estimated_gap(self, upper: float) -> float:
        """The estimated gap of the objective at x and the dual point of the map.

        The free sums of the dual point over the intercepts are ignored, as a certificate projects
        the dual point.
        """
        problem = self.problem
        z = self.map.predictions(self.x, self.of_x)
        theta, gradient = self.map.dual_point(z, self.of_x, self.gradient)
        coef, _ = problem.split(gradient)
        w, _ = problem.split(self.x)
        upper = min(upper, _mean_loss(problem, z) + problem.alpha * problem.penalty.value(w))
        value = -float(problem.weights @ problem.loss.conjugate(problem.y, theta))
        return upper - dual_estimate(problem, value, coef, upper)

    def point(self) -> Point:
        z = self.map.predictions(self.x, self.of_x)
        theta, _ = self.map.dual_point(z, self.of_x, self.gradient)
        return Point(*self.problem.split(self.x), theta)


def _mean_loss(problem: Problem, z: Array) -> float:
    return float(problem.weights @ problem.loss.value(problem.y, z))


class _ByRows:
    """The map to predictions, for any smooth loss."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def image(self, x: Array) -> Array:
        return self.problem.matvec(x)

    def gradient(self, z: Array) -> Array:
        problem = self.problem
        self._theta = problem.loss.gradient(problem.y, z)
        self._loss = _mean_loss(problem, z)
        self._gradient = problem.rmatvec(problem.weights * self._theta)
        return self._gradient

    def above_tangent(self, z: Array, z_before: Array, move: Array) -> tuple[float, float]:
        """The mean loss minus its tangent at the last gradient, and a bound on rounding errors."""
        tangent = self._loss + float(self._gradient @ move)
        rounding = SETTINGS.objective_rounding * abs(self._loss)
        return _mean_loss(self.problem, z) - tangent, rounding

    def predictions(self, x: Array, z: Array) -> Array:
        return z

    def dual_point(self, z: Array, image: Array, gradient: Array) -> tuple[Array, Array]:
        """The dual point theta and the gradient at the last evaluation of the gradient."""
        return self._theta, gradient


class _ByGram:
    """The map to G x with G = X' C X, for the squared loss of outputs that share X.

    Iterations have no products with X; predictions are computed only for estimates of the gap.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        design: Any = problem.design
        weights = np.ascontiguousarray(problem.weights[:: problem.n_outputs])
        features, ones = np.arange(design.n_inputs), bool(problem.fit_intercept)
        with one_blas_thread():
            self._gram = design.base.gram(weights, features, ones)
        slopes = problem.loss.gradient(problem.y, np.zeros(problem.n_samples))
        self._at_0 = problem.rmatvec(problem.weights * slopes)

    def image(self, x: Array) -> Array:
        product: Array = self._gram @ x.reshape(len(self._gram), -1)
        return np.ravel(product)

    def gradient(self, image: Array) -> Array:
        return image + self._at_0

    def above_tangent(self, image: Array, before: Array, move: Array) -> tuple[float, float]:
        return 0.5 * float(move @ (image - before)), 0.0

    def predictions(self, x: Array, image: Array) -> Array:
        return self.problem.matvec(x)

    def dual_point(self, z: Array, image: Array, gradient: Array) -> tuple[Array, Array]:
        return self.problem.loss.gradient(self.problem.y, z), image + self._at_0


def _has_small_gram(problem: Problem) -> bool:
    """Whether products with a Gram matrix cost less than those with X, including its formation."""
    design: Any = problem.design
    if not (problem.loss.constant_curvature and design.shares_data and design.base.dense):
        return False
    n, d = design.base.shape
    return d < n and d <= SETTINGS.gram_passes * problem.n_outputs
