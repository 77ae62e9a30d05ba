"""The default for the distributionally robust SVM: which method for which data."""

from dataclasses import replace
from typing import Any

import numpy as np

from .. import kernels
from .._typing import Array, Indices
from ..designs import spectral_norm_bound
from ..penalties import L1
from ..problems import Point
from ..problems.robust import NORMS, RobustProblem, project_triangle
from .auto import last_budget
from .interior import LARGEST_SYSTEM, cost_of_run, interior_point
from .monitor import Monitor
from .pdprox import iterations_within

__all__ = ["hybrid_gradient", "robust_auto", "working_sets"]

FIRST_COLUMNS = 200
MANY_COLUMNS = 1000  # from which on features that stay at zero are left out


class RobustMonitor(Monitor):
    """A monitor that certifies every start: its estimates are for one multiplier a row."""

    def begin(self, alone: bool = True) -> None:
        """Record the best constant prediction, with the multipliers that prove it the best."""
        self.check(0, self.problem.null_point)

    def begin_at(self, start: Point) -> None:
        """Record a start."""
        self.check(0, start)


def robust_auto(
    problem: RobustProblem,
    monitor: Monitor,
    start: Point | None,
    *,
    max_iter: int,
    random_state: np.random.RandomState,
) -> None:
    """The fastest methods known here, one after the other until the problem is solved.

    1. With norm 1 and many features, working sets of them, each solved by 2.
    2. The interior-point method, where a system of the smaller side of X fits.
    3. What is left: a restarted primal-dual hybrid gradient, after 2. for a few times its cost.

    Parameters
    ----------
    problem, monitor, start, max_iter, random_state
        As for `skpd.solvers.pdprox.pdprox_dual`.
    """
    methods: list[Any] = []
    few = min(problem.design.shape) <= LARGEST_SYSTEM
    if isinstance(problem.norm, L1) and problem.n_features > MANY_COLUMNS:
        methods.append(working_sets)
    elif few:
        methods.append(interior_point)
    for method in [*methods, hybrid_gradient]:
        if monitor.done or monitor.n_iter >= max_iter:
            return
        if method is hybrid_gradient and few:
            budget = last_budget(cost_of_run(problem.design))
            more = iterations_within(problem.design, budget, max_iter - monitor.n_iter)
            max_iter = monitor.n_iter + more
        method(problem, monitor, start, max_iter=max_iter, random_state=random_state)
        start = monitor.best


def working_sets(
    problem: RobustProblem,
    monitor: Monitor,
    start: Point | None,
    *,
    max_iter: int,
    random_state: np.random.RandomState,
) -> None:
    """For norm 1: the interior-point method on growing sets of features.

    The multipliers of a set's solution tell which of the other features violate
    ``abs(v_j) <= epsilon - kappa rho``; the worst of them join. It ends unfinished where a set
    grows larger than a system that fits, or where no other feature violates.

    Parameters
    ----------
    problem, monitor, start, max_iter, random_state
        As for `interior_point`.
    """
    columns: Indices = np.empty(0, dtype=np.int64)
    point = problem.null_point if start is None else start
    tol = 0.03
    while not monitor.done and monitor.n_iter < max_iter:
        p, r = point.dual_coef
        v = np.abs(problem.design.rmatvec(problem.weights * problem.y * (p - r)))
        v[columns] = np.inf  # they stay
        v[point.coef != 0.0] = np.inf
        limit = problem.epsilon
        if problem.kappa < np.inf:
            limit -= problem.kappa * float(problem.weights @ r)
        wanted = max(FIRST_COLUMNS, 2 * len(columns))
        violating = int(np.sum(v > limit * (1.0 - 1e-6)))
        if violating <= len(columns) and tol <= 0.3 * monitor.tol:
            return
        size = min(max(len(columns), min(wanted, violating)) or 1, problem.n_features)
        if size > LARGEST_SYSTEM:
            return
        chosen = np.sort(np.argpartition(-v, size - 1)[:size])
        columns = chosen.astype(np.int64)
        tol = max(0.3 * monitor.tol, min(0.1 * monitor.relative_gap, tol))
        some = replace(problem, design=problem.design.columns(columns))
        inner = RobustMonitor(some, tol, lambda _: _interrupted(monitor))
        inner.begin()
        if not inner.done:
            interior_point(
                some, inner, None, max_iter=max_iter - monitor.n_iter, random_state=random_state
            )
        coef = np.zeros(problem.n_features)
        coef[columns] = inner.best.coef
        point = Point(coef, inner.best.intercept, inner.best.dual_coef)
        n_iter = monitor.n_iter + inner.n_iter
        before = monitor.relative_gap
        monitor.check(n_iter, point)
        if monitor.relative_gap > 0.5 * before and tol <= 0.3 * monitor.tol:
            return


def _interrupted(monitor: Monitor) -> bool:
    """Whether the caller ends the run, asked while a part of the problem is being solved."""
    return bool(monitor.on_check is not None and monitor.on_check(monitor))


def hybrid_gradient(
    problem: RobustProblem,
    monitor: Monitor,
    start: Point | None,
    *,
    max_iter: int,
    random_state: np.random.RandomState,
) -> None:
    """The reflected Halpern iteration of `pdprox_restarted` for (w, b, lam) and (p, r).

    With x = (w, b, mu), lam = scale mu, the step projects x - tau K'(p, r) onto the epigraph
    and (p_i, r_i) + sigma K x onto the triangles, K x = (-m, m - kappa lam) beside ones. The scale
    makes a column of lam as long as X is large.

    Parameters
    ----------
    problem, monitor, start, max_iter, random_state
        As for `skpd.solvers.pdprox.pdprox_dual`.
    """
    saddle = _Saddle(problem, random_state)
    x, theta = saddle.begin(problem.null_point if start is None else start)
    x_anchor, theta_anchor = x, theta
    weight, k = saddle.first_weight, 0
    first = monitor.n_iter
    next_check, gap_restart, gap_previous = 10, np.inf, np.inf
    for t in range(1, max_iter - first + 1):
        k += 1
        tau, sigma = saddle.step / weight, saddle.step * weight
        x_prox = saddle.project(x - tau * saddle.gradient(theta), tau)
        theta_prox = np.stack(project_triangle(*(theta + sigma * saddle.slopes(2.0 * x_prox - x))))
        momentum = k / (k + 1.0)
        x = momentum * (2.0 * x_prox - x) + (1.0 - momentum) * x_anchor
        theta = momentum * (2.0 * theta_prox - theta) + (1.0 - momentum) * theta_anchor
        if t < next_check and t < max_iter - first:
            continue
        coef, intercept = problem.split(x_prox[:-1])
        gap = monitor.check(first + t, Point(np.array(coef), intercept, theta_prox))
        if monitor.done:
            return
        next_check = t + min(40, t)
        if (
            gap <= 0.2 * gap_restart
            or (gap <= 0.8 * gap_restart and gap > gap_previous)
            or k >= 0.36 * t
        ):
            distance = float(np.linalg.norm(x_prox - x_anchor))
            dual_distance = saddle.dual_norm(theta_prox - theta_anchor)
            if min(distance, dual_distance) > 1e-10 * max(distance, dual_distance):
                weight = np.sqrt(weight * dual_distance / distance)
            x, theta = x_prox, theta_prox
            x_anchor, theta_anchor = x, theta
            k, gap_restart, gap_previous = 0, gap, np.inf
        else:
            gap_previous = gap


class _Saddle:
    """The saddle point problem, with dual variables in the metric of the weights."""

    def __init__(self, problem: RobustProblem, random_state: np.random.RandomState) -> None:
        self.problem = problem
        self.q = next(q for q, kind in NORMS.items() if isinstance(problem.norm, kind))
        self.flips = problem.kappa < np.inf
        self.root = np.sqrt(problem.weights)
        size = spectral_norm_bound(
            lambda x: self.root * problem.matvec(x),
            lambda rows: problem.rmatvec(self.root * rows),
            (problem.n_samples, problem.n_variables),
            random_state,
        )
        size = size if size > 0.0 else 1.0
        self.scale = max(size / problem.kappa, np.finfo(float).tiny) if self.flips else 1.0
        # sum_i c_i (m_i^2 + (m_i - kappa lam)^2) <= (golden ratio + 1) size^2 ||x||^2
        self.step = 1.0 / (size * np.sqrt(0.5 * (3.0 + np.sqrt(5.0))) * (1.0 + 1e-9))
        self.first_weight = size

    def begin(self, point: Point) -> tuple[Array, Array]:
        problem = self.problem
        radius = problem.norm.value(point.coef) / self.scale
        x = np.append(problem.join(point.coef, point.intercept), radius)
        return x, np.stack(project_triangle(*np.asarray(point.dual_coef, dtype=float)))

    def slopes(self, x: Array) -> Array:
        """1 - m and 1 + m - kappa lam."""
        problem = self.problem
        margins = problem.y * problem.matvec(np.ascontiguousarray(x[:-1]))
        out = np.stack([1.0 - margins, np.full_like(margins, -np.inf)])
        if self.flips:
            out[1] = 1.0 + margins - problem.kappa * self.scale * x[-1]
        else:
            out[1] = -1e100
        return out

    def gradient(self, theta: Array) -> Array:
        """The gradient of the Lagrangian in x, without the ridge."""
        problem = self.problem
        rows = problem.rmatvec(problem.weights * problem.y * (theta[1] - theta[0]))
        radius = problem.epsilon
        if self.flips:
            radius -= problem.kappa * float(problem.weights @ theta[1])
        return np.append(rows, self.scale * radius)

    def project(self, x: Array, tau: float) -> Array:
        """The proximal step: onto the epigraph, with the ridge as in the paper's (28)."""
        problem = self.problem
        grow = 1.0 + tau * problem.ridge
        coef, intercept = problem.split(x[:-1])
        coef, radius = kernels.project_epigraph(
            np.ascontiguousarray(coef) / grow, float(x[-1]) / np.sqrt(grow), self.q,
            self.scale * np.sqrt(grow),
        )  # fmt: skip
        return np.append(problem.join(coef, intercept), np.sqrt(grow) * radius)

    def dual_norm(self, theta: Array) -> float:
        return float(np.sqrt(np.sum(self.problem.weights * theta**2)))
