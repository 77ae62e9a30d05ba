"""Primal-dual block Frank-Wolfe over the trace-norm ball (Lei et al., 2019, Algorithm 2).

    minimise over ||W||_* <= radius    sum_i c_i ||y_i - W' x_i||^2 / 2 + (alpha / 2) ||W||_F^2

with W of shape (features, outputs), its dual point theta of shape (samples, outputs) and
G = X' diag(c) theta. The dual is

    D(theta) = -sum_i c_i (||theta_i||^2 / 2 + theta_i.y_i) - min over tau >= 0 of
               (tau radius + sum_j (sigma_j(G) - tau)_+^2 / (2 alpha)),

at any tau a lower bound on the optimum.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import kernels
from .._typing import Array
from ..certificates import Certificate
from ..losses import EPSILON
from .monitor import HISTORY_DTYPE

__all__ = ["TraceNormProblem", "TraceNormSolution", "trace_norm"]

EXTRA = 8  # columns of the subspace beyond the rank
SWEEPS = 2  # subspace iterations, each from the subspace before
PATIENCE = 4  # steps in the primal alone without half off the gap
NOISE = 1e-11  # singular values below this share of the largest are rounding


@dataclass
class TraceNormProblem:
    """The problem, its features and targets centred where an intercept is fitted.

    Parameters
    ----------
    X : {ndarray, sparse array} of shape (n_samples, n_features)
    Y : ndarray of shape (n_samples, n_outputs)
    weights : ndarray of shape (n_samples,)
        c, which sum to 1.
    alpha, radius : float
        Greater than 0.
    centre : bool
    """

    X: Any
    Y: Array
    weights: Array
    alpha: float
    radius: float
    centre: bool

    def __post_init__(self) -> None:
        n, d = self.X.shape
        self.shape = n, d, self.Y.shape[1]
        self.x_mean, self.y_mean = np.zeros(d), np.zeros(self.shape[2])
        if self.centre:
            self.x_mean = np.asarray(self.X.T @ self.weights).ravel()
            self.y_mean = self.weights @ self.Y
        self.targets = self.Y - self.y_mean
        self.null_objective = self.loss(-self.targets)
        self.inner_radius = self.radius * (1.0 - 1e-11)  # room for rounding

    def matmul(self, M: Array) -> Array:
        product = self.X @ M
        return product - self.x_mean @ M if self.centre else product

    def rmatmul(self, R: Array, rows: Any = slice(None)) -> Array:
        """X' R over some of the rows."""
        product = np.asarray(self.X[rows].T @ R)
        return product - np.outer(self.x_mean, R.sum(axis=0)) if self.centre else product

    def loss(self, residuals: Array) -> float:
        return 0.5 * float(np.sum(self.weights @ residuals**2))

    def primal(self, W: Array) -> float:
        return self.loss(self.matmul(W) - self.targets) + 0.5 * self.alpha * float(np.sum(W * W))

    def dual(self, theta: Array) -> float:
        """D(theta), rounded down by a bound on the errors of the products and of the SVD."""
        if not theta.any():
            return 0.0
        scaled = self.weights[:, np.newaxis] * theta
        G = self.rmatmul(scaled)
        squares = self.X.multiply(self.X).sum() if hasattr(self.X, "multiply") else self.X**2
        size = np.sqrt(float(np.sum(squares))) + np.sqrt(len(theta)) * np.linalg.norm(self.x_mean)
        size *= float(np.linalg.norm(scaled))
        error = 4.0 * (sum(self.shape) + 16) * EPSILON * size
        sigma = np.linalg.svd(G, compute_uv=False) + error
        tau = _threshold(sigma, self.alpha * self.radius)
        excess = np.maximum(sigma - tau, 0.0)
        conjugate = tau * self.radius + 0.5 * float(excess @ excess) / self.alpha
        own = self.weights @ (theta * (0.5 * theta + self.targets)).sum(axis=1)
        terms = float(self.weights @ (theta**2 + np.abs(theta * self.targets)).sum(axis=1))
        rounding = (sum(self.shape) + 64) * EPSILON * (terms + conjugate + self.null_objective)
        return max(-float(own) - conjugate - rounding, 0.0)

    def dual_along(self, theta: Array, sigma: Array) -> Callable[[float], float]:
        """D(t theta) as a function of t, from the largest singular values of G, not as proof."""
        square = 0.5 * float(self.weights @ (theta**2).sum(axis=1))
        linear = float(self.weights @ (theta * self.targets).sum(axis=1))

        def value(t: float) -> float:
            tau = _threshold(t * sigma, self.alpha * self.radius)
            excess = np.maximum(t * sigma - tau, 0.0)
            conjugate = tau * self.radius + 0.5 * float(excess @ excess) / self.alpha
            return -t * (t * square + linear) - conjugate

        return value

    def certificate(self, W: Array, theta: Array) -> Certificate:
        primal = self.primal(W) * (1.0 + (sum(self.shape) + 64) * EPSILON)
        dual = min(self.dual(theta), primal)
        unit = max(self.null_objective, EPSILON * self.loss(self.Y))
        gap = primal - dual
        relative = 0.0 if gap <= 0.0 else (gap / unit if unit > 0.0 else np.inf)
        return Certificate(primal, dual, gap, relative, "exact", np.inf, np.inf)


@dataclass(frozen=True)
class TraceNormSolution:
    """What was found, with its certificate; as `skpd.problem.Solution`."""

    coef: Array
    dual_coef: Array
    certificate: Certificate
    rank: int
    n_iter: int
    converged: bool
    history: Any
    interrupted: bool = False  # by Ctrl-C


class _Monitor:
    """Where a run is, and the best matrix and dual point that were certified, apart."""

    def __init__(
        self,
        problem: TraceNormProblem,
        tol: float,
        on_check: Callable[[int, Certificate], Any] | None,
    ) -> None:
        n, d, c = problem.shape
        self.problem, self.tol, self.on_check = problem, tol, on_check
        self.start = time.perf_counter()
        self.W, self.theta = np.zeros((d, c)), np.zeros((n, c))
        self.n_iter, self.rank = 0, 0
        self.best_W, self.best_theta = self.W, self.theta
        self.best = problem.certificate(self.W, self.theta)
        self.history: list[tuple] = []

    def at(self, n_iter: int, W: Array, theta: Array, rank: int) -> None:
        """Where the run is: what `check` certifies."""
        self.n_iter, self.W, self.theta, self.rank = n_iter, W, theta, rank

    def check(self) -> bool:
        """Whether to stop."""
        found = self.problem.certificate(self.W, self.theta)
        if found.primal < self.best.primal:
            self.best_W = self.W
        if found.dual > self.best.dual:
            self.best_theta = self.theta
        primal, dual = min(found.primal, self.best.primal), max(found.dual, self.best.dual)
        gap = primal - dual
        scale = found.relative_gap / found.gap if found.gap > 0.0 else 0.0
        self.best = Certificate(primal, dual, gap, gap * scale, "exact", np.inf, np.inf)
        seconds = time.perf_counter() - self.start
        self.history.append((self.n_iter, seconds, primal, dual, gap))
        stop = self.on_check is not None and bool(self.on_check(self.n_iter, self.best))
        return stop or self.best.relative_gap <= self.tol

    def solution(self, interrupted: bool) -> TraceNormSolution:
        W, best = self.best_W, self.best
        norm = float(np.sum(np.linalg.svd(W, compute_uv=False))) * (1.0 + 1e-12)
        if norm > self.problem.radius:  # by rounding
            W = W * (self.problem.radius / norm)
            best = self.problem.certificate(W, self.best_theta)
        return TraceNormSolution(
            coef=W,
            dual_coef=self.best_theta,
            certificate=best,
            rank=self.rank,
            n_iter=self.n_iter,
            converged=best.relative_gap <= self.tol,
            history=np.array(self.history, dtype=HISTORY_DTYPE),
            interrupted=interrupted,
        )


def _threshold(sigma: Array, total: float) -> float:
    """The least tau >= 0 with sum_j (sigma_j - tau)_+ <= total."""
    inside = kernels.project_l1_ball(np.ascontiguousarray(sigma), total)
    return float(np.max(sigma - inside, initial=0.0))


class _TopSingular:
    """The largest singular triplets by subspace iteration, from where the last call ended."""

    def __init__(self, random_state: np.random.RandomState) -> None:
        self.random_state = random_state
        self.V: Any = None

    def __call__(self, M: Array, rank: int) -> tuple[Array, Array, Array]:
        n_columns = min(rank + EXTRA, *M.shape)
        V = np.empty((M.shape[1], 0)) if self.V is None else self.V[:, :n_columns]
        new = self.random_state.standard_normal((M.shape[1], n_columns - V.shape[1]))
        V = np.hstack([V, new])
        for sweep in range(SWEEPS):
            Q = np.linalg.qr(M @ V)[0]
            V = M.T @ Q
            if sweep < SWEEPS - 1:
                V = np.linalg.qr(V)[0]
        U, sigma, right = np.linalg.svd(V.T, full_matrices=False)
        self.V = right.T
        return Q @ U, sigma, right


def _primal_steps(problem: TraceNormProblem, top: _TopSingular):
    """Block Frank-Wolfe in the primal alone: W with its exact dual point, G and objective.

    A step goes towards the projection of a gradient step of the length that the curvature
    along the last one suggests, of as small a rank as that has, to the minimum along it.
    """
    (n, d, c), alpha, weights = problem.shape, problem.alpha, problem.weights
    W, product = np.zeros((d, c)), np.zeros((n, c))
    theta = -problem.targets
    G = problem.rmatmul(weights[:, np.newaxis] * theta)
    size = float(np.sum(G * G))
    if size == 0.0:
        return
    curvature = float(np.sum(weights @ problem.matmul(G) ** 2)) / size + alpha
    s = 8
    while True:
        gradient = G + alpha * W
        while True:
            U, sigma, right = top(W - gradient / curvature, s)
            tau = _threshold(sigma, problem.inner_radius)
            kept = sigma > max(tau, NOISE * float(np.max(sigma, initial=0.0)))
            if kept.sum() <= s or len(sigma) == min(d, c):
                break
            s *= 2
        left, right = U[:, kept] * (sigma[kept] - tau), right[kept]
        direction, along = left @ right - W, problem.matmul(left) @ right - product
        square = float(np.sum(direction**2))
        bend = float(np.sum(weights @ along**2)) + alpha * square
        slope = -float(np.sum(gradient * direction))
        if not (slope > 0.0 and bend > 0.0):
            return
        curvature, length = bend / square, min(1.0, slope / bend)
        W, product = W + length * direction, product + length * along
        theta = product - problem.targets
        G = problem.rmatmul(weights[:, np.newaxis] * theta)
        yield (
            W,
            theta,
            G,
            problem.loss(theta) + 0.5 * alpha * float(np.sum(W * W)),
            int(kept.sum()),
        )


def trace_norm(
    problem: TraceNormProblem,
    *,
    tol: float,
    max_iter: int,
    random_state: np.random.RandomState,
    step_size: str = "line-search",
    rank: int | None = None,
    n_rows: int | None = None,
    on_check: Callable[[int, Certificate], Any] | None = None,
) -> TraceNormSolution:
    """Primal-dual block Frank-Wolfe over the trace-norm ball.

    Parameters
    ----------
    problem : TraceNormProblem
    tol : float
        Relative gap at which to stop.
    max_iter : int
    random_state : RandomState
        Start of the subspace iteration.
    step_size : {"line-search", "theory"}, default="line-search"
        "theory": the step sizes of Theorem 4.3. "line-search": the full primal step, after which
        W minimises the Lagrangian, and in the dual the step to the maximum of a quadratic lower
        bound over the span of the rows' moves and the move before. Unless ``rank`` or ``n_rows``
        are given it begins the other way round, with the full dual step, after which theta
        maximises the Lagrangian, and the line search in the primal, for as long as that
        halves the gap every few steps.
    rank : int, default=None
        s, the rank of an update; by default it grows whenever it is not enough.
    n_rows : int, default=None
        k, the dual rows that change in an iteration, those with the largest moves; all of them by
        default with the line search, n s (1 / features + 1 / outputs) with the theory.
    on_check : callable, default=None
        Called with the iteration and the certificate after every check.

    Returns
    -------
    solution : TraceNormSolution
        After Ctrl-C the best points so far, with ``interrupted`` set.
    """
    monitor = _Monitor(problem, tol, on_check)
    try:
        _run(problem, monitor, max_iter, random_state, step_size == "line-search", rank, n_rows)
    except KeyboardInterrupt:
        monitor.on_check = None
        monitor.check()  # where it is, which may be far beyond the last check
        return monitor.solution(interrupted=True)
    return monitor.solution(interrupted=False)


def _run(
    problem: TraceNormProblem,
    monitor: _Monitor,
    max_iter: int,
    random_state: np.random.RandomState,
    line_search: bool,
    rank: int | None,
    n_rows: int | None,
) -> None:
    """The iterations of `trace_norm`."""
    (n, d, c), alpha, weights = problem.shape, problem.alpha, problem.weights
    eta = 1.0 if line_search else 0.5
    largest = 0.0
    if not line_search:
        # R of Assumption 4.2 times the largest weight, by the norm of the matrix
        top = _TopSingular(random_state)
        dense = np.asarray(problem.rmatmul(weights[:, np.newaxis] * problem.matmul(np.eye(d))))
        largest = float(top(dense, 1)[1][0]) * n * float(np.max(weights))
    top = _TopSingular(random_state)
    W, product = np.zeros((d, c)), np.zeros((n, c))
    theta, G = np.zeros((n, c)), np.zeros((d, c))
    before: tuple[Array, Array] | None = None
    most = min(d, c)
    s = min(rank or 8, most)
    checked, n_iter, active = np.inf, 0, 0
    # the share of the conjugate's largest curvature that is counted with
    share, reached, kept_point = 1.0, -np.inf, (theta, G, before)

    done = monitor.check()
    goal = monitor.tol * problem.null_objective
    if line_search and rank is None and n_rows is None and not done:
        estimates: list[float] = []
        largest_of_G = _TopSingular(random_state)
        for primal_step in _primal_steps(problem, top):
            n_iter += 1
            W, theta, G, objective, active = primal_step
            monitor.at(n_iter, W, theta, active)
            sigma = largest_of_G(G, active)[1]
            along = problem.dual_along(theta, sigma)
            estimates.append(min([objective - along(1.0), *estimates[-1:]]))
            slow = len(estimates) > PATIENCE and estimates[-1] > 0.5 * estimates[-1 - PATIENCE]
            if estimates[-1] <= 0.9 * goal:
                done = monitor.check()
            if done or slow or n_iter >= max_iter:
                break
        if n_iter and not done and n_iter < max_iter:
            checked = estimates[-1]
            length = max(np.linspace(0.0, 1.0, 21), key=along)
            theta, G = length * theta, length * G
    while not done and n_iter < max_iter:
        n_iter += 1
        # primal: the step (18), of rank s
        centre = W - (G / alpha + W) / eta
        while True:
            U, sigma, right = top(centre, s)
            sigma = sigma[: s + 1] if rank is None else sigma[:s]
            tau = _threshold(sigma, problem.inner_radius)
            kept = sigma > max(tau, NOISE * float(np.max(sigma, initial=0.0)))
            if rank is not None or len(sigma) == most or not kept.all() or not sigma.any():
                break
            s = min(2 * s, most)
        active = int(kept.sum())
        left, right = U[:, : len(kept)][:, kept] * (sigma[kept] - tau), right[: len(kept)][kept]
        part = problem.matmul(left) @ right
        W = (1.0 - eta) * W + eta * (left @ right)
        product = (1.0 - eta) * product + eta * part
        monitor.at(n_iter, W, theta, active)
        # dual: where each row would go, (14)
        towards = product - problem.targets - theta
        estimate = problem.loss(towards)  # the gap, where W minimises the Lagrangian
        if line_search:
            # D(theta), the objective less the gap: a step that has lowered it is undone
            value = problem.loss(product - problem.targets)
            value += 0.5 * alpha * float(np.sum(W * W)) - estimate
            if value < reached - 1e-12 * abs(reached):
                theta, G, before = kept_point
                share = min(1.0, 4.0 * share)
                reached = -np.inf
                continue
            reached, kept_point = value, (theta, G, before)
            # on the ball the conjugate bends less than 1 / alpha, inside just that
            share = 0.8 * share if tau > 0.0 else 1.0
        due = n_iter % 25 == 0 if not line_search else estimate <= max(0.1 * checked, 0.9 * goal)
        if due or n_iter % 200 == 0:
            done = monitor.check()
            checked = min(estimate, checked)
            if done:
                break
        k = n_rows or (n if line_search else max(1, int(n * s * (1.0 / c + 1.0 / d))))
        k = min(k, n)
        rows: Any = slice(None)
        if k < n:
            rows = np.sort(np.argpartition(-np.sum(towards**2, axis=1), k - 1)[:k])
        scaled = weights[rows, np.newaxis] * towards[rows]
        change = problem.rmatmul(scaled, rows)
        if not line_search:
            step = weights[rows] / (k * np.max(weights) * (1.0 + 22.5 * largest / alpha))
            step = (step / (1.0 + step))[:, np.newaxis]
            theta = theta.copy()
            theta[rows] += step * towards[rows]
            G = G + problem.rmatmul(weights[rows, np.newaxis] * step * towards[rows], rows)
            continue
        move = towards
        if k < n:
            move = np.zeros_like(towards)
            move[rows] = towards[rows]
        moves = [(move, change)] if before is None else [(move, change), before]
        slope = np.array([float(np.sum(weights @ (towards * m))) for m, _ in moves])
        H = np.array([
            [
                float(np.sum(weights @ (m * p))) + share * float(np.sum(g * q)) / alpha
                for p, q in moves
            ]
            for m, g in moves
        ])  # fmt: skip
        size = np.sqrt(np.maximum(np.diag(H), np.finfo(float).tiny))
        system = H / np.outer(size, size) + 1e-12 * np.eye(len(moves))
        lengths = np.linalg.solve(system, slope / size) / size
        total = [sum(a * m[i] for a, m in zip(lengths, moves, strict=True)) for i in (0, 1)]
        theta, G = theta + total[0], G + total[1]
        before = total[0], total[1]
        if n_iter % 100 == 0:  # rid of the rounding of its changes
            G = problem.rmatmul(weights[:, np.newaxis] * theta)
    else:
        if not done:
            monitor.at(n_iter, W, theta, active)
            monitor.check()
