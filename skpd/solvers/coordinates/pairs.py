"""Sequential minimal optimisation for kernel machines with one RKHS kernel matrix."""

import numpy as np

from ... import kernels
from ...problems import Point
from ..run import Run
from .settings import PAIRS


def pair_descent(run: Run) -> None:
    """Dual descent along pairs of rows chosen by second-order information (Fan et al., 2005).

    The method uses the kernel matrix and no factor of it; the cost of a step is that of a few
    operations on vectors of the rows. It ends unfinished if a factor would have cost less.

    Parameters
    ----------
    run : Run
        An iteration is as many steps as there are rows. The loss must have a piecewise quadratic
        conjugate. The start is not used.
    """
    problem, monitor = run.problem, run.monitor
    monitor.method = "pair-descent"
    n = problem.n_samples
    descent = kernels.pair_descent(
        problem.loss.evaluator, problem.penalty.kernel.matrix, problem.y, problem.weights,
        problem.alpha, problem.fit_intercept,
    )  # fmt: skip
    goal = PAIRS.share * monitor.tol * problem.objective_unit
    most = min(PAIRS.most_steps(n), n * run.left)
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
        if taken == 0.0:  # limited by rounding errors
            return
        if gap <= goal:
            goal *= PAIRS.next_share
            descent.refresh()
