"""Gradient methods for soft maxima over labelings and for other losses without kinks.

The gradient of L at a model is given by its marginals, which are also the dual point. With half
the squared norm as penalty, the objective is smooth and strongly convex, and the gap of a model
and its marginals is ||gradient||^2 / (2 alpha). It is minimised by L-BFGS (Liu and Nocedal, 1989).
Other penalties use accelerated proximal gradients.
"""

from ..._typing import Array
from ...certificates import dual_estimate
from ...losses.structured import StructuredLoss
from ...problems import Point, Problem
from ..accelerated.certified_estimates import Result
from ..accelerated.limited_memory import QuasiNewtonIterate, minimise
from ..accelerated.mean_losses import LossOfScores
from ..accelerated.outputs import VectorModel
from ..accelerated.proximal_gradient import proximal_gradients
from ..solver_context import SolverContext


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
        problem, first = context.problem, context.first
        squares = problem.design.column_norms(problem.weights) ** 2
        start = first.coef, 0.0, problem.alpha * ridge, squares
        minimise(context, QuasiNewtonIterate(LossOfScores(problem), *start))
    else:
        context.monitor.method = "proximal-gradient"
        proximal_gradients(_ScoresModel(context.problem), context)


class _ScoresModel(VectorModel):
    """The model of a loss of all scores, whose marginals are the dual point."""

    def __init__(self, problem: Problem) -> None:
        weights = problem.weights
        super().__init__(problem, weights, problem.design.column_norms(weights) ** 2)
        self.scores = problem.loss.as_kind(StructuredLoss)

    def smooth_part(self, z: Array) -> float:
        return self.scores.value(z)[0]

    def evaluate(self, z: Array) -> tuple[float, Array]:
        return self.scores.value_and_theta(z)

    def result(self, x: Array, image: Array) -> Result:
        problem = self.problem
        loss, combination = self.scores.loss_augmented(image, 0.0)
        primal = loss + problem.alpha * problem.penalty.value(x)
        slope = self.gradient(combination.theta)
        dual = dual_estimate(problem, combination.value(1.0)[0], slope, primal)
        if problem.penalty.is_norm:  # a multiple of the combination, whose entropy is larger
            size = max(problem.penalty.dual_norm(-slope), problem.alpha)
            dual = max(dual, combination.value(problem.alpha / size)[0])
        return Result(primal, dual, lambda: Point(x, 0.0, combination))
