"""Sequential minimal optimisation for models of one kernel."""

import numpy as np

from ... import kernels
from ...problems import Point
from ...problems.representer import RepresenterProblem
from ..monitor import Monitor
from .settings import PAIRS

__all__ = ["pair_descent"]


def pair_descent(
    problem: RepresenterProblem,
    monitor: Monitor,
    start: Point | None,
    *,
    max_iter: int,
    random_state: np.random.RandomState,
) -> None:
    """Two rows of the dual at a time, chosen by second-order information (Fan et al., 2005).

    It needs the matrix of the kernel and no factor of it: a step costs as much as a few vectors
    of the rows. It ends unfinished where a factor would have cost less.

    Parameters
    ----------
    problem : RepresenterProblem
        With a loss whose conjugate has quadratic pieces.
    monitor : Monitor
    start : Point or None
        Not used.
    max_iter : int
        Iterations at most, each of as many steps as there are rows.
    random_state : RandomState
        Not used.
    """
    monitor.method = "pair-descent"
    n = problem.n_samples
    descent = kernels.pair_descent(
        problem.loss.kernel, problem.kernel.matrix, problem.y, problem.weights, problem.alpha,
        problem.fit_intercept,
    )  # fmt: skip
    goal = PAIRS.share * monitor.tol * problem.objective_unit
    most = min(PAIRS.most_steps(n), n * (max_iter - monitor.n_iter))
    pause = max(PAIRS.pause_entries / n, 1.0)
    steps, checked = 0.0, 0.0
    while not monitor.done and steps < most:
        taken, gap = descent.run(goal, min(pause, most - steps))
        steps += taken
        if gap > goal and taken > 0.0 and steps < min(most, PAIRS.check_factor * checked):
            continue
        theta, checked = descent.theta(), steps
        coef = -problem.weights * theta / problem.alpha
        monitor.check(int(np.ceil(steps / n)), Point(coef, descent.intercept(), theta))
        if taken == 0.0:  # nothing more can be had by plain sums
            return
        if gap <= goal:
            goal *= PAIRS.next_share
            descent.refresh()
