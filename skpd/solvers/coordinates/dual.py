"""Dual coordinate descent for the squared l2 penalty, where features are many."""

from math import inf
from typing import Any

import numpy as np

from ...penalties import Penalty, Structure
from ...problems import Point, Problem
from ..monitor import Monitor
from ..newton.settings import SETTINGS as NEWTON
from .settings import DUAL

__all__ = ["dual_descent", "has_square"]

PROXIMAL = 1e-2  # weight of the proximal term on the intercept, in the units of the problem


def has_square(penalty: Penalty) -> bool:
    """Whether a penalty is a square and perhaps an l1 norm, the same for all coefficients."""
    some: Any = penalty
    if penalty.structure is not Structure.SEPARABLE or any(map(np.ndim, some.terms)):
        return False
    _, l2, lower, upper = some.terms
    return l2 > 0.0 and (lower, upper) == (-inf, inf)


def _weights(problem: Problem) -> tuple[float, float]:
    penalty: Any = problem.penalty
    return penalty.terms[:2]


def dual_descent(
    problem: Problem,
    monitor: Monitor,
    start: Point | None,
    *,
    max_iter: int,
    random_state: np.random.RandomState,
    budget: float = np.inf,
) -> None:
    """Dual coordinate descent with shrinking (Hsieh et al., 2008), for a penalty with a square.

    That is alpha (l2 ||w||_2^2 / 2 + l1 ||w||_1) with one l2 > 0 for all coefficients: these are
    the gradient of the conjugate, -X' diag(c) theta shrunk by alpha l1, over alpha l2.

    It ends unfinished where hundreds of passes have not been enough and Newton steps are
    possible: where alpha is small. A free intercept is drawn to its last value by a
    proximal term, and all is solved again from there until that has no effect.

    Parameters
    ----------
    problem, monitor, start, max_iter, random_state
        As for `pdprox_dual`; an iteration is an epoch, a pass over the rows not left out.
        ``random_state`` orders the rows.
    budget : float, default=inf
        The multiplications at which it ends unfinished as well (see `skpd.designs.newton_cost`).
    """
    l1, l2 = _weights(problem)
    alpha, threshold = problem.alpha * l2, l1 / l2
    theta = np.zeros(problem.n_samples)
    constant = offset = 0.0
    if problem.fit_intercept:
        curvature = problem.objective_unit / problem.prediction_scale / problem.prediction_scale
        # whatever it is, it must leave numbers to calculate with
        constant = float(np.clip(np.sqrt(alpha / PROXIMAL) / np.sqrt(curvature), 1e-100, 1e100))
        offset = problem.null_point.intercept / constant
    if start is not None:
        theta = problem.loss.project_dual(problem.y, start.dual_coef)
        offset = start.intercept / constant if constant > 0.0 else 0.0
    design = problem.design.by_rows
    descent = design.matrix.dual_descent(
        problem.loss.kernel, problem.y, problem.weights, theta, alpha, constant, threshold, offset,
        int(random_state.randint(1, np.iinfo(np.int32).max)),
    )  # fmt: skip
    n_entries = max(1, design.matrix.n_entries)
    pause = problem.n_samples * min(DUAL.pause_passes, DUAL.pause_entries / n_entries)
    most = np.inf
    if problem.n_features <= NEWTON.largest_working_set:
        most = DUAL.most_passes * problem.n_samples
    most = min(most, problem.n_samples * budget / (DUAL.step_cost * n_entries))
    goal = max(monitor.tol * problem.objective_unit, np.finfo(float).tiny)
    free = constant > 0.0
    target = (0.5 if free else 0.9) * goal
    inner = 0.1 * problem.objective_unit if free else target
    n_iter, visits = monitor.n_iter, 0.0
    while n_iter < max_iter and not monitor.done and visits < most:
        visits_left = min(pause, most - visits)
        epochs, visited, gap = descent.run(max(target, inner), max_iter - n_iter, visits_left)
        n_iter, visits = n_iter + epochs, visits + visited
        theta = descent.theta()
        gradient, _ = problem.products(theta)  # that the certificate to come will want
        coef = -gradient / alpha
        coef = coef - np.clip(coef, -threshold, threshold)
        point = Point(coef, constant * float(descent.variables()[-1]), theta)
        if np.isinf(gap):
            monitor.check(n_iter, point)
            continue
        moved = abs(descent.recentre()) * problem.prediction_scale if free else 0.0
        if moved + gap <= goal:
            monitor.check(n_iter, point)
            if monitor.done:
                return
            descent.refresh()
            target *= 0.5
        inner = min(0.3 * moved, 0.5 * inner)
