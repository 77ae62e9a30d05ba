"""The default for a model over the l1 ball."""

from functools import cache

import numpy as np
from scipy.optimize import brentq

from ..._typing import Array
from ...penalties import L1, ElasticNet, SquaredL2
from ...problems import Point, Problem, Solution
from ..interior import expected_cost, interior_point
from ..monitor import Monitor
from ..proximal.pdprox import pdprox_restarted
from ..select import auto
from .pdbfw import pdbfw

__all__ = ["l1_ball"]

PASSES = 60.0  # over X, that block Frank-Wolfe gets
CONDITION = 30.0  # largest max_i c_i ||x_i||^2 / mu at which these are likely to do


def l1_ball(
    problem: Problem,
    monitor: Monitor,
    start: Point | None,
    *,
    max_iter: int,
    random_state: np.random.RandomState,
) -> None:
    """The fastest methods known here over the l1 ball, one after the other until it is solved.

    1. Primal-dual block Frank-Wolfe with its line search, where the squared l2 penalty is not
       small beside the rows: its number of passes over the data grows with the ratio.
    2. The penalised problem at the multiplier lambda of the constraint, by `auto`: the norm of
       its solution is a decreasing function of lambda whose root is found in a few solutions,
       each from the one before.
    3. The interior-point method, where it can hold a system of the features or the rows.
    4. What is left: the restarted primal-dual hybrid gradient.

    Parameters
    ----------
    problem, monitor, start, max_iter, random_state
        As for `skpd.solvers.proximal.pdprox.pdprox_dual`; the penalty is `L1Ball` or
        `SquaredL2OnL1Ball`.
    """
    if _ridge(problem) > 0.0:
        largest = float(np.max(problem.weights * problem.design.row_norms() ** 2))
        curvature = min(problem.loss.smoothness, 1.0 / max(monitor.tol, 1e-12))
        if largest * curvature <= CONDITION * _ridge(problem):
            pdbfw(
                problem, monitor, start, max_iter=max_iter, random_state=random_state,
                step_size="line-search", patience=PASSES,
            )  # fmt: skip
            start = monitor.best
    by_systems = [interior_point] if expected_cost(problem) < np.inf else []
    for method in (_search, *by_systems, pdprox_restarted):
        if monitor.done or monitor.n_iter >= max_iter:
            return
        method(problem, monitor, start, max_iter=max_iter, random_state=random_state)
        start = monitor.best


def _ridge(problem: Problem) -> float:
    """The weight of half the squared norm."""
    return problem.alpha * problem.penalty.without_ridge()[0]


def _penalised(problem: Problem, multiplier: float) -> Problem:
    """The problem with multiplier ||w||_1 in place of the constraint."""
    alpha = _ridge(problem) + multiplier
    share = multiplier / alpha
    if share == 0.0:
        return problem.with_penalty(SquaredL2(), alpha)
    return problem.with_penalty(ElasticNet(share) if share < 1.0 else L1(), alpha)


def _stretched(problem: Problem, found: Solution) -> Array:
    """The coefficients, or a multiple on the sphere if that is better."""
    radius = problem.penalty.l1_radius
    coef, norm = found.coef, float(np.sum(np.abs(found.coef)))
    if not 0.0 < norm < radius:
        return coef
    z = problem.design.matvec(coef)

    def objective(factor: float) -> float:
        losses = problem.loss.value(problem.y, factor * z + found.intercept)
        ridge = problem.penalty.value((1.0 - 1e-15) * factor * coef)
        return float(problem.weights @ losses) + problem.alpha * ridge

    factor = radius / norm
    return (1.0 - 1e-15) * factor * coef if objective(factor) < objective(1.0) else coef


class _EnoughError(Exception):
    """Ends the search for a root."""


def _search(
    problem: Problem,
    monitor: Monitor,
    start: Point | None,
    *,
    max_iter: int,
    random_state: np.random.RandomState,
) -> None:
    """The multiplier at which the solution of the penalised problem has the radius as norm."""
    radius = problem.penalty.l1_radius
    point = start if start is not None else problem.null_point
    tol = max(0.1 * monitor.tol, 1e-13)

    def solution(multiplier: float, accuracy: float) -> Solution:
        nonlocal point
        inner = _penalised(problem, multiplier)
        own = Monitor(inner, accuracy)
        own.n_iter = monitor.n_iter
        own.check(own.n_iter, point)
        if not own.done:
            auto(inner, own, point, max_iter=max_iter, random_state=random_state)
        found = own.solution()
        point = Point(found.coef, found.intercept, found.dual_coef)
        coef = _stretched(problem, found)
        n_iter = max(found.n_iter, monitor.n_iter + 1)
        monitor.check(n_iter, Point(coef, found.intercept, found.dual_coef))
        if monitor.done or monitor.n_iter >= max_iter:
            raise _EnoughError
        return found

    @cache  # from another start the norm may be on the other side of the radius
    def excess(logarithm: float) -> float:
        """How far the norm is from the radius, on a scale on which it is close to linear."""
        found = solution(float(np.exp(logarithm)), tol)
        norm = float(np.sum(np.abs(found.coef)))
        return float(np.log(np.clip(norm / radius, 1e-300, 1e300)))

    # the multiplier from which on the solution is 0
    largest = problem.with_penalty(L1(), 1.0).largest_alpha
    if not 0.0 < largest < np.inf:
        return
    try:
        upper = float(np.log(largest))
        # downwards until the norm is too large, where the constraint may not bind at all
        lower = upper
        for _ in range(12):
            lower -= np.log(10.0)
            if excess(lower) > 0.0:
                break
            upper = lower
        else:
            if _ridge(problem) > 0.0:
                solution(0.0, tol)
            return
        if excess(upper) <= 0.0:  # or this solution is not exact enough to tell
            brentq(excess, lower, upper, xtol=1e-14, rtol=1e-14, maxiter=100, disp=False)
    except _EnoughError:
        return
