"""Dual descent over the rows for the loss of Crammer and Singer and the squared l2 penalty."""

from math import inf, log

import numpy as np

from ...designs import newton_cost
from ...penalties import Structure
from ...problems import Point, Problem
from ..proximal_rounds import solve_in_rounds
from ..run import Run
from .dual import RowDescent, has_square, weights_of
from .settings import CLASSES


def has_class_descent(problem: Problem) -> bool:
    """Whether `class_descent` applies to a problem.

    The dual points of a row must be a simplex on which the conjugate is linear, and the penalty a
    squared l2 norm with the same weight for all coefficients. There must be no free intercepts, as
    their dual equations couple all rows.
    """
    penalty, loss = problem.penalty, problem.loss
    return (
        loss.of_classes
        and loss.linear_conjugate
        and penalty.structure is Structure.SEPARABLE
        and penalty.is_quadratic
        and has_square(penalty)
        and problem.design.shares_data
        and not problem.fit_intercept
    )


def class_descent(run: Run) -> None:
    """Sequential dual descent with shrinking (Keerthi et al., 2008), without intercepts.

    The method ends unfinished if, by its progress, Newton's method is expected to be faster.

    Parameters
    ----------
    run : Run
        An iteration is an epoch, a pass over the rows not left out, in a random order.
    """
    solve_in_rounds(_ClassDescent(run), run)


class _ClassDescent(RowDescent):
    """The compiled iteration."""

    constant = 0.0

    def __init__(self, run: Run) -> None:
        problem = run.problem
        self.monitor, self.prospects = run.monitor, _Prospects(problem, run.goal)
        self.ridge = problem.alpha * weights_of(problem)[1]
        design = problem.design.parts[0].by_rows
        K = problem.n_outputs
        compiled = design.matrix.class_descent(
            problem.y, np.ascontiguousarray(problem.weights[::K]), run.first_theta, self.ridge,
            run.seed(),
        )  # fmt: skip
        super().__init__(problem, compiled, design.shape[0], design.n_entries * K)

    @property
    def exhausted(self) -> bool:
        return self.prospects.are_poor(self.visits, self.monitor.primal - self.monitor.dual)

    def point(self) -> Point:
        theta = self.compiled.theta()
        gradient, _ = self.problem.products(theta)  # cached for the certificate
        return Point(-gradient / self.ridge, np.zeros(self.problem.n_outputs), theta)


class _Prospects:
    """Prediction of whether the descent ends before the method of multipliers would.

    The gap decreases at a linear rate that depends on the data and the active faces of the dual.
    The rate of the second half of the work so far is assumed for the rest.
    """

    def __init__(self, problem: Problem, goal: float) -> None:
        self.goal = goal
        design = problem.design.parts[0]
        step = newton_cost(design, design.shape[0], problem.n_coefficients)
        self.other_cost = CLASSES.newton_steps * (step + CLASSES.newton_overhead)
        entry = CLASSES.dense_cost if design.dense else CLASSES.sparse_cost
        length = design.n_entries / max(design.shape[0], 1)
        self.visit = entry * length * problem.n_outputs + CLASSES.visit_overhead
        self.history: list[tuple[float, float]] = []  # the work done, and the gap

    def are_poor(self, visits: float, gap: float) -> bool:
        """Whether to give up, with this gap after so many updates of rows."""
        work = self.visit * visits
        self.history.append((work, gap))
        if work < CLASSES.trial_share * self.other_cost or gap <= self.goal:
            return False
        return self._work_left(work, gap) > self.other_cost

    def _work_left(self, work: float, gap: float) -> float:
        before, gap_before = next(pair for pair in self.history if pair[0] >= 0.5 * work)
        if not gap < gap_before:
            return inf
        return (work - before) * log(gap / self.goal) / log(gap_before / gap)
