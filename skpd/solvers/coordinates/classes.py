"""Dual descent over the rows for the loss of Crammer and Singer and the squared l2 penalty."""

from typing import Any

import numpy as np

from ... import kernels
from ...problems import Problem
from ..equivalent import centred_beyond
from ..proximal_rounds import solve_in_rounds
from ..solver_context import SolverContext
from .dual import DualDescent, has_square
from .settings import DUAL


def has_class_descent(problem: Problem) -> bool:
    """Whether `class_descent` applies to a problem.

    The dual points of a row must be a simplex on which the conjugate is linear, and the penalty a
    squared l2 norm with the same weight for all coefficients.
    """
    penalty, loss = problem.penalty, problem.loss
    return (
        loss.of_classes
        and loss.linear_conjugate
        and penalty.is_quadratic
        and has_square(penalty)
        and problem.design.shares_data
    )


def class_descent(context: SolverContext, *, most_passes: float = np.inf) -> None:
    """Sequential dual descent with shrinking (Keerthi et al., 2008).

    The method ends unfinished, and treats free intercepts, as `dual_descent` does.

    Parameters
    ----------
    context : SolverContext
        An iteration is an epoch, a pass over the rows not left out, in a random order.
    most_passes : float, default=inf
        The passes over all rows after which the method ends unfinished.
    """
    context = centred_beyond(context, DUAL.far, DUAL.largest_copy)
    method = _ClassDescent(context, context.problem.design.parts[0].by_rows)
    method.leave_to_newton()
    method.limit_passes(most_passes)
    solve_in_rounds(method, context)


class _ClassDescent(DualDescent):
    """The compiled iteration for a loss of the scores of all classes."""

    def start(self, context: SolverContext, rows: kernels.Matrix) -> Any:
        problem = context.problem
        weights = np.ascontiguousarray(problem.weights[:: problem.n_outputs])
        offsets = np.zeros(problem.n_outputs)
        if self.constant > 0.0:
            offsets += context.first.intercept / self.constant
        return rows.class_descent(
            problem.y, weights, context.first_theta, self.ridge, self.constant, offsets,
            context.seed(),
        )  # fmt: skip

    @property
    def intercept(self) -> Any:
        variables = self.compiled.variables().reshape(self.problem.design.n_inputs + 1, -1)
        return self.constant * variables[-1, : self.problem.n_outputs]
