"""Gradient methods for soft maxima over labelings and for other losses without kinks.

The gradient of L at a model is given by its marginals, which are also the dual point. With half
the squared norm as penalty, the objective is smooth and strongly convex, and the gap of a model
and its marginals is ||gradient||^2 / (2 alpha). It is minimised by L-BFGS (Liu and Nocedal, 1989).
Other penalties use accelerated proximal gradients.
"""

from contextlib import suppress
from math import inf
from typing import cast

import numpy as np
from scipy.optimize import minimize

from ..._typing import Array
from ...certificates import dual_estimate
from ...losses.structured import StructuredLoss
from ...problems import Point, Problem
from ..accelerated.certified_estimates import EstimateSchedule, Result, within
from ..accelerated.outputs import ModelByRows, VectorModel
from ..accelerated.proximal_gradient import proximal_gradients
from ..accelerated.settings import GRADIENTS as STEPS
from ..solver_context import SolverContext
from .settings import GRADIENTS


def smooth(context: SolverContext, *, max_steps: int | None = None) -> None:
    """L-BFGS for a squared l2 penalty, accelerated proximal gradients for others.

    Parameters
    ----------
    context : SolverContext
        An iteration is a step. The loss must be a soft maximum, without an intercept.
    max_steps : int, default=None
        The number of steps after which the method ends unfinished; no limit by default.
    """
    if max_steps is not None:
        max_iter = min(context.max_iter, context.monitor.n_iter + max_steps)
        context = context._replace(max_iter=max_iter)
    ridge, others, _ = context.problem.penalty.without_ridge()
    if others is None:
        context.monitor.method = "l-bfgs"
        with suppress(_Done):
            _quasi_newton(context, _ScoresModel(context.problem), context.problem.alpha * ridge)
    else:
        context.monitor.method = "proximal-gradient"
        proximal_gradients(_ScoresModel(context.problem), context)


def quasi_newton(context: SolverContext, *, budget: float = inf) -> None:
    """L-BFGS for a loss of each row without kinks and a squared l2 penalty.

    Parameters
    ----------
    context : SolverContext
        An iteration is a step.
    budget : float, default=inf
        A computing limit: the number of multiplications after which the method ends unfinished.
    """
    ridge, _, _ = context.problem.penalty.without_ridge()
    context = within(context, budget, STEPS.step_overhead)
    with suppress(_Done):
        _quasi_newton(context, ModelByRows(context.problem), context.problem.alpha * ridge)


class _ScoresModel(VectorModel):
    """The model of a loss of all scores, whose marginals are the dual point."""

    def __init__(self, problem: Problem) -> None:
        weights = problem.loss.weights
        super().__init__(problem, weights, problem.design.column_norms(weights) ** 2)

    def smooth_part(self, z: Array) -> float:
        loss: StructuredLoss = self.problem.loss
        return loss.value(z)[0]

    def evaluate(self, z: Array) -> tuple[float, Array]:
        return cast(tuple[float, Array], self.problem.loss.value_and_theta(z))

    def result(self, x: Array, image: Array) -> Result:
        problem = self.problem
        loss, combination = problem.loss.loss_augmented(image, 0.0)
        primal = loss + problem.alpha * problem.penalty.value(x)
        slope = self.gradient(combination.theta)
        dual = dual_estimate(problem, combination.value(1.0)[0], slope, primal)
        if problem.penalty.is_norm:  # a multiple of the combination, whose entropy is larger
            size = max(problem.penalty.dual_norm(-slope), problem.alpha)
            dual = max(dual, combination.value(problem.alpha / size)[0])
        return Result(primal, dual, lambda: Point(x, 0.0, combination))


class _Done(Exception):
    """An exception that ends L-BFGS when the tolerance or a limit is reached."""


def _quasi_newton(context: SolverContext, model: VectorModel, ridge: float) -> None:
    """Minimise by L-BFGS in scaled variables, restarted while restarts decrease the objective."""
    problem, schedule = context.problem, EstimateSchedule(context)
    x = problem.join(np.array(context.first.coef), context.first.intercept)
    penalised = problem.join(np.full(problem.n_coefficients, ridge), 0.0)
    value, gradient_at = 0.0, np.zeros_like(x)
    # variables in units in which the diagonal of the Hessian is about 1
    diagonal = GRADIENTS.curvature * model.squares + penalised
    units = 1.0 / np.sqrt(np.where((diagonal > 0.0) & (diagonal < inf), diagonal, 1.0))
    x = x / units

    def objective(scaled: Array) -> tuple[float, Array]:
        nonlocal value
        x = scaled * units
        model.linearise(model.image(x))
        value = model.loss + 0.5 * float(x @ (penalised * x))
        gradient_at[:] = model.slope + penalised * x
        return value, units * gradient_at

    def point(x: Array) -> Point:
        coef, intercept = problem.split(x)
        return Point(coef, intercept, problem.dual_point_of(coef, intercept))

    def after_step(x: Array) -> None:
        # the last gradient of a line search is that of the point it accepts
        gap = float(gradient_at @ gradient_at) / (2.0 * ridge)
        schedule.n_iter += 1
        schedule.report(Result(value, value - gap, lambda: point(x * units)))
        if schedule.is_over:
            raise _Done

    options = {
        "maxcor": GRADIENTS.memory, "maxiter": context.max_iter, "ftol": 0.0, "gtol": 0.0,
        "maxfun": 20 * context.max_iter,
    }  # fmt: skip
    for _ in range(GRADIENTS.restarts):
        before = schedule.n_iter
        x = minimize(
            objective, x, jac=True, method="L-BFGS-B", callback=after_step, options=options
        ).x
        if schedule.n_iter == before:
            break
    context.monitor.check(schedule.n_iter, point(x * units))
