"""Outputs that are solved one after the other."""

from collections.abc import Callable

import numpy as np

from ..penalties import Penalty, Separable, Structure
from ..problems import Point, Problem
from ..problems.regularisation import Regularisation
from .certificate_schedule import ROUNDS
from .solver_context import SolverContext

FINER = 0.1  # factor of the tolerance in another round


def has_separate_outputs(problem: Problem) -> bool:
    """Whether neither the loss nor the penalty ties outputs together, other than their order."""
    ties = problem.loss.couples_outputs and not problem.loss.of_quantiles
    return problem.penalty.structure is Structure.SEPARABLE and not ties


def _of_output(problem: Problem, k: int) -> Problem:
    """The problem of one output, divided by the sum of its weights.

    With a loss of single predictions and a penalty of single coefficients, the problems of the
    outputs are independent.
    """
    total = float(np.sum(problem.weights[problem.rows.row_indices[k]]))
    penalty: Penalty = problem.penalty
    if any(map(np.ndim, penalty.terms)):  # a number for each entry of the matrix
        of_output = slice(k, None, problem.n_outputs)
        penalty = Separable(
            *(np.asarray(x)[of_output] if np.ndim(x) else x for x in penalty.terms)
        )
    return Problem(problem.rows.of_output(k), Regularisation(penalty, problem.alpha / total))


def output_by_output(
    context: SolverContext, *, method: Callable[..., None], rounds: int = ROUNDS
) -> None:
    """Solve the separate problems of the outputs, the sum of whose gaps is the gap of all.

    If the sum is too large, the problems are solved more accurately, in at most ``rounds`` rounds.
    No further round follows if a problem has not reached its tolerance.
    """
    problem, monitor, start = context.problem, context.monitor, context.start
    K = problem.n_outputs
    alone = [_of_output(problem, k) for k in range(K)]
    tol = monitor.tol  # what the outputs may gain adds up, as do their gaps
    for _ in range(rounds):
        coef, intercept = np.zeros((problem.n_coefficients // K, K)), np.zeros(K)
        theta, n_iter, reached = np.zeros(problem.n_samples), monitor.n_iter, True
        for k, one in enumerate(alone):
            rows, start_of_output = problem.rows.row_indices[k], None
            if start is not None:
                w, b = start.coef.reshape(-1, K)[:, k], float(np.atleast_1d(start.intercept)[k])
                start_of_output = Point(
                    np.ascontiguousarray(w), b, np.ascontiguousarray(start.dual_coef[rows])
                )
            of_output = context._replace(start=start_of_output)
            result = of_output.solved(one.in_workspace(), tol, method)
            coef[:, k], theta[rows] = result.best.coef, result.best.dual_coef
            intercept[k] = float(result.best.intercept)
            n_iter = max(n_iter, monitor.n_iter + result.n_iter)
            reached &= result.done
        start = Point(np.ravel(coef), intercept, theta)
        monitor.check(n_iter, start)
        if not reached or context.is_over(monitor.n_iter):
            return
        tol *= FINER
