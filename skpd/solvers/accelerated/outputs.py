"""Accelerated proximal gradients for smooth losses of several outputs and any penalty.

The method of Beck and Teboulle (2009) with a step length found by backtracking, which may grow
again, and restarts where the momentum points uphill (O'Donoghue and Candes, 2015). An iteration
costs a product with X, one with its transpose and a prox.
"""

from math import inf, sqrt

import numpy as np

from ..._typing import Array
from ...certificates import dual_estimate, relative_gap
from ...problems import Point
from ...problems.outputs import OutputsProblem
from ..monitor import Monitor
from .settings import GRADIENTS as SETTINGS

__all__ = ["accelerated_gradients"]


def accelerated_gradients(
    problem: OutputsProblem,
    monitor: Monitor,
    start: Point | None,
    *,
    max_iter: int,
    random_state: np.random.RandomState,
) -> None:
    """Accelerated proximal gradients, for a smooth loss.

    It ends unfinished where the gap no longer falls.

    Parameters
    ----------
    problem, monitor, start, max_iter, random_state
        As for `skpd.solvers.proximal.pdprox.pdprox_dual`; ``random_state`` is not used.
    """
    run = _Run(problem, problem.null_point if start is None else start)
    first, best, improved_at, check_at = monitor.n_iter, inf, 0, 0
    for t in range(1, max_iter - first + 1):
        run.step()
        last = t == max_iter - first
        if t % SETTINGS.estimate_every and not last:
            continue
        gap = run.estimated_gap(monitor.primal)
        if gap < SETTINGS.progress * best:
            best, improved_at = gap, t
        stalled = t - improved_at > SETTINGS.patience
        near = relative_gap(problem, gap) <= monitor.tol and t >= check_at
        if near or last or stalled or t % SETTINGS.check_every == 0:
            monitor.check(first + t, run.point())
            check_at = t + t // SETTINGS.check_share
        if monitor.done or stalled:
            return


class _Run:
    """The iterate x, the point y that is ahead of it, and their predictions."""

    def __init__(self, problem: OutputsProblem, start: Point) -> None:
        self.problem = problem
        self.x = self.y = problem.join(start.coef, start.intercept)
        self.z_x = self.z_y = problem.matvec(self.x)
        self.momentum = 1.0
        self._differentiate()
        # the steps of the variables beside each other, of single features if the penalty allows it
        scale = problem.squares
        scale = 1.0 / np.where(scale > 0.0, scale, np.max(scale, initial=0.0) or 1.0)
        d = problem.n_features
        self.scale = np.append(problem.penalty.step_sizes(scale[:d]), scale[d:])
        towards = self.scale * self.gradient
        along, size = problem.matvec(towards), float(self.gradient @ towards)
        most = float(problem.weights @ along**2) * problem.loss.smoothness
        self.curvature = most / size if size > 0.0 and most > 0.0 else 1.0

    def _differentiate(self) -> None:
        problem = self.problem
        self.theta = problem.loss.gradient(problem.y, self.z_y)
        self.loss = self._mean_loss(self.z_y)
        self.gradient = problem.rmatvec(problem.weights * self.theta)

    def _mean_loss(self, z: Array) -> float:
        problem = self.problem
        return float(problem.weights @ problem.loss.value(problem.y, z))

    def step(self) -> None:
        """A proximal gradient step from y, and the next y."""
        problem = self.problem
        self.curvature *= SETTINGS.curvature_decrease
        while True:
            step = self.scale / self.curvature
            x = problem.prox(self.y - step * self.gradient, step)
            z, move = problem.matvec(x), x - self.y
            most = self.loss + float(self.gradient @ move)
            most += 0.5 * float(move @ (move / step))
            rounding = SETTINGS.objective_rounding * abs(self.loss)
            if self._mean_loss(z) <= most + rounding or not np.isfinite(self.curvature):
                break
            self.curvature *= SETTINGS.curvature_increase
        if float((self.y - x) @ ((x - self.x) / self.scale)) > 0.0:
            self.momentum = 1.0
        momentum = 0.5 * (1.0 + sqrt(1.0 + 4.0 * self.momentum**2))
        ahead = (self.momentum - 1.0) / momentum
        self.y, self.z_y = x + ahead * (x - self.x), z + ahead * (z - self.z_x)
        self.x, self.z_x, self.momentum = x, z, momentum
        self._differentiate()

    def estimated_gap(self, upper: float) -> float:
        """Of the objective at x and the dual point at y, by plain sums.

        The sums of the dual point that intercepts want to vanish are left out, as a certificate
        projects it.
        """
        problem = self.problem
        coef, _ = problem.split(self.gradient)
        w, _ = problem.split(self.x)
        objective = self._mean_loss(self.z_x) + problem.alpha * problem.penalty.value(w)
        upper = min(upper, objective)
        value = -float(problem.weights @ problem.loss.conjugate(problem.y, self.theta))
        return upper - dual_estimate(problem, value, coef, upper)

    def point(self) -> Point:
        return Point(*self.problem.split(self.x), self.theta)
