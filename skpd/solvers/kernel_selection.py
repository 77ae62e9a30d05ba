"""The default for models of kernels."""

from functools import partial

from ..problems import Problem
from ..problems.kernel import KernelProblem
from .coordinates.dual import dual_descent, has_square
from .select import DUAL_DESCENT, Choice, select

__all__ = ["select_for_kernels"]

# Passes of dual descent over the rows, before methods that take Newton steps in as many unknowns
# as there are rows: each of their steps costs as much as hundreds of passes.
MOST_PASSES = 5000.0


@select.register
def select_for_kernels(problem: KernelProblem, warm: bool = False) -> list[Choice]:
    """As for other problems, but with more time for dual descent.

    The columns of a factor are about as many as the rows, or as few as these can be told apart.
    """
    choices = select.dispatch(Problem)(problem, warm)
    if not (
        has_square(problem.penalty) and problem.loss.linear_tails and problem.loss.is_compiled
    ):
        return choices
    descent = Choice(*DUAL_DESCENT, partial(dual_descent, most_passes=MOST_PASSES))
    return [descent, *(choice for choice in choices if choice.name != descent.name)]
