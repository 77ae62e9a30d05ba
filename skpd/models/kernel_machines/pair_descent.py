"""Sequential minimal optimisation for kernel machines with one RKHS kernel matrix."""

from math import ceil, inf

import numpy as np

from ... import kernels
from ..._typing import Indices
from ...problems import Point, Problem
from ...problems.plan import Attempt, Method, Plan
from ...solvers.certificate_schedule import PAUSE_ENTRIES
from ...solvers.proximal_rounds import MethodInRounds, solve_in_rounds
from ...solvers.solver_context import SolverContext
from .kernel_norm import SquaredKernelNorm
from .settings import PAIRS


def pair_descent(context: SolverContext) -> None:
    """Dual descent along pairs of rows chosen by second-order information (Fan et al., 2005).

    The method uses the kernel matrix and no factor of it; the cost of a step is that of a few
    operations on vectors of the rows. It ends unfinished if a factor would have cost less.

    Parameters
    ----------
    context : SolverContext
        An iteration is as many steps as there are rows. The loss must have a piecewise quadratic
        conjugate. The start is not used.
    """
    context.monitor.method = "pair-descent"
    solve_in_rounds(_PairDescent(context.problem), context)


class _PairDescent(MethodInRounds):
    """The compiled iteration."""

    constant = 0.0  # pairs of rows satisfy the equation of a free intercept

    def __init__(self, problem: Problem) -> None:
        self.problem, self.n = problem, problem.n_samples
        self.kernel = problem.penalty.as_kind(SquaredKernelNorm).kernel
        self.compiled = kernels.pair_descent(
            problem.loss.evaluator, self.kernel.diagonal, problem.y, problem.weights,
            problem.alpha, problem.fit_intercept,
        )  # fmt: skip
        self.n_blocks = 0
        self._give_rows(np.empty(0, dtype=np.int64))
        self.pause = max(PAUSE_ENTRIES / (PAIRS.step_cost * self.n), 1.0)
        self.steps, self.most_steps = 0.0, PAIRS.most_steps(self.n)

    @property
    def exhausted(self) -> bool:
        return self.steps >= self.most_steps

    def run(self, accuracy: float, most: int) -> tuple[int, float]:
        before, gap = self.steps, inf
        wanted = max(PAIRS.first_check, PAIRS.check_factor * before)
        wanted = min(wanted, before + most * self.n, self.most_steps)
        while self.steps < wanted:
            taken, gap = self.compiled.run(accuracy, min(self.pause, wanted - self.steps))
            self.steps += taken
            if gap <= accuracy:
                break
            missing = self.compiled.missing_rows(PAIRS.rows_at_once)
            self._give_rows(missing)
            if taken == 0.0 and not len(missing):
                break
        if self.steps == before:  # none is needed or possible, up to rounding errors
            self.most_steps = self.steps
        return ceil(self.steps / self.n) - ceil(before / self.n), gap

    def _give_rows(self, rows: Indices) -> None:
        """Give these rows of K to the iteration, and all others that are known."""
        blocks = self.kernel.blocks(rows)
        for block in blocks[self.n_blocks :]:
            self.compiled.add_rows(block.rows, block.values)
        self.n_blocks = len(blocks)

    def point(self) -> Point:
        theta = self.compiled.theta()
        coef = -self.problem.weights * theta / self.problem.alpha
        return Point(coef, self.compiled.intercept(), theta)


PAIR_DESCENT = Method(
    "pair-descent", pair_descent, lambda problem: True, "weights of the rows of a kernel matrix"
)
BY_PAIRS = Plan(
    lambda problem, warm: [Attempt("pair-descent", "one kernel and a squared norm")],
    {"pair-descent": PAIR_DESCENT},
)
