"""Primal-dual block Frank-Wolfe over the trace-norm ball (Lei et al., 2019, Algorithm 2)."""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._typing import Array
from ...certificates import Certificate
from ...problems.trace_norm import TraceNormProblem, norm, threshold
from ..monitor import HISTORY_DTYPE

__all__ = ["TraceNormSolution", "trace_norm"]

EXTRA = 8  # columns of the subspace beyond the rank
SWEEPS = 2  # subspace iterations, each from the subspace before
PATIENCE = 4  # steps in the primal alone without half off the gap
NOISE = 1e-11  # singular values below this share of the largest are rounding


@dataclass(frozen=True)
class TraceNormSolution:
    """What was found, with its certificate; as `skpd.problems.Solution`."""

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
        self.accuracy = 0.05 * tol * problem.null_objective
        self.best_W, self.best_theta = self.W, self.theta
        self.best = problem.certificate(self.W, self.theta, self.accuracy)
        self.history: list[tuple] = []

    def at(self, n_iter: int, W: Array, theta: Array, rank: int) -> None:
        """Where the run is: what `check` certifies."""
        self.n_iter, self.W, self.theta, self.rank = n_iter, W, theta, rank

    def check(self) -> bool:
        """Whether to stop."""
        found = self.problem.certificate(self.W, self.theta, self.accuracy)
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
        length = float(np.sum(np.linalg.svd(W, compute_uv=False))) * (1.0 + 1e-12)
        if length > self.problem.radius:  # by rounding
            W = W * (self.problem.radius / length)
            best = self.problem.certificate(W, self.best_theta, self.accuracy)
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
    size = norm(G)
    if size == 0.0:
        return
    curvature = float(np.sum(weights @ problem.matmul(G / size) ** 2)) + alpha
    s = 8
    while True:
        gradient = G + alpha * W
        while True:
            U, sigma, right = top(W - gradient / curvature, s)
            tau = threshold(sigma, problem.inner_radius)
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
        # where numbers overflow there is no next step
        with suppress(np.linalg.LinAlgError), np.errstate(over="ignore", invalid="ignore"):
            _run(
                problem, monitor, max_iter, random_state, step_size == "line-search", rank, n_rows
            )
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
            tau = threshold(sigma, problem.inner_radius)
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
