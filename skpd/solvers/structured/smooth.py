"""Gradient methods for soft maxima over labelings, such as conditional random fields.

The gradient of L at a model is given by its marginals, which are also the dual point. With half
the squared norm as penalty, the objective is smooth and strongly convex, and the gap of a model
and its marginals is ||gradient||^2 / (2 alpha). It is minimised by L-BFGS (Liu and Nocedal, 1989).
Other penalties use accelerated proximal gradients with backtracking (Beck and Teboulle, 2009,
FISTA), and restarts if the momentum is an ascent direction (O'Donoghue and Candes, 2015).
"""

from contextlib import suppress
from typing import Any

import numpy as np
from scipy.optimize import minimize

from ..._typing import Array
from ...problems import Point
from ..run import Run
from .settings import GRADIENTS


def smooth(run: Run) -> None:
    """L-BFGS for a squared l2 penalty, accelerated proximal gradients for others.

    Parameters
    ----------
    run : Run
        An iteration is a step. The loss must be a soft maximum, without an intercept.
    """
    problem, monitor, steps = run.problem, run.monitor, _Steps(run)
    x = np.array(run.first.coef)
    ridge, others, _ = problem.penalty.without_ridge()
    if others is None:
        monitor.method = "l-bfgs"
        steps.quasi_newton(x, problem.alpha * ridge)
    else:
        monitor.method = "proximal-gradient"
        steps.proximal(problem.penalty.feasible(x))


class _Done(Exception):
    """An exception that ends the run when the monitor's tolerance is reached."""


class _Steps:
    """The steps of a run, which are counted and reported to the monitor."""

    def __init__(self, run: Run) -> None:
        self.run, self.problem, self.monitor = run, run.problem, run.monitor
        self.n_iter = self.checked_at = run.monitor.n_iter

    def loss(self, x: Array) -> tuple[float, Array]:
        """The loss L(A x) and its gradient in x."""
        problem: Any = self.problem
        value, theta = problem.loss.value_and_theta(problem.design.matvec(x))
        return value, problem.design.rmatvec(problem.loss.weights * theta)

    def advance(self, x: Array, gap: float) -> None:
        """Count a step to x, and certify x if its estimated gap is small enough.

        Raises
        ------
        _Done
            If this was the last step.
        """
        self.n_iter += 1
        waited = self.n_iter - self.checked_at
        last = self.n_iter >= self.run.max_iter
        if gap <= self.run.goal or waited >= GRADIENTS.check_every or last:
            self.check(x)
        if self.monitor.done or last:
            raise _Done

    def check(self, x: Array) -> None:
        self.checked_at = self.n_iter
        self.monitor.check(self.n_iter, Point(x, 0.0, self.problem.dual_point_of(x, 0.0)))

    # Half a squared norm

    def quasi_newton(self, x: Array, ridge: float) -> None:
        """Minimise by L-BFGS, restarted as long as restarts decrease the objective."""
        gradient_at = np.zeros_like(x)

        def objective(x: Array) -> tuple[float, Array]:
            value, slope = self.loss(x)
            gradient_at[:] = slope + ridge * x
            return value + 0.5 * ridge * float(x @ x), gradient_at.copy()

        def after_step(x: Array) -> None:
            # the last gradient of a line search is that of the point it accepts
            gap = float(gradient_at @ gradient_at) / (2.0 * ridge)
            self.advance(x.copy(), gap)

        options = {
            "maxcor": GRADIENTS.memory, "maxiter": self.run.max_iter, "ftol": 0.0, "gtol": 0.0,
            "maxfun": 20 * self.run.max_iter,
        }  # fmt: skip
        try:
            for _ in range(GRADIENTS.restarts):
                before = self.n_iter
                found = minimize(
                    objective, x, jac=True, method="L-BFGS-B", callback=after_step, options=options
                )
                x = found.x
                if self.n_iter == before:
                    break
            self.check(x)
        except _Done:
            pass

    # Other penalties

    def proximal(self, x: Array) -> None:
        """Minimise by accelerated proximal gradients."""
        with suppress(_Done):
            self._proximal(x)

    def _proximal(self, x: Array) -> None:
        y, momentum = x, 1.0
        value, slope = self.loss(y)
        lipschitz = max(float(np.linalg.norm(slope)), np.finfo(float).tiny)
        while True:
            after, found, lipschitz = self._step(y, value, slope, lipschitz)
            if float((y - after) @ (after - x)) > 0.0:
                momentum, y = 1.0, after
            else:
                following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
                y = after + (momentum - 1.0) / following * (after - x)
                momentum = following
            x = after
            self.advance(x, np.inf)
            value, slope = found if y is after else self.loss(y)
            lipschitz *= GRADIENTS.longer

    def _step(
        self, y: Array, value: float, slope: Array, lipschitz: float
    ) -> tuple[Any, Any, Any]:
        """A proximal gradient step for which the quadratic upper bound on the loss holds."""
        penalty, alpha = self.problem.penalty, self.problem.alpha
        noise = 10.0 * np.finfo(float).eps * abs(value)
        for _ in range(GRADIENTS.doublings):
            x = penalty.prox(y - slope / lipschitz, alpha / lipschitz)
            found = self.loss(x)
            step = x - y
            # tested by values, or by slopes if the difference of values is a rounding error
            bound = value + float(slope @ step) + 0.5 * lipschitz * float(step @ step)
            curved = float((found[1] - slope) @ step) <= lipschitz * float(step @ step)
            if found[0] <= bound or (found[0] <= bound + noise and curved):
                break
            lipschitz *= 2.0
        return x, found, lipschitz
