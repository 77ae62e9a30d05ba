"""Primal-dual block Frank-Wolfe over the trace-norm ball (Lei et al., 2019, Algorithm 2)."""

from contextlib import suppress
from math import inf
from typing import Annotated, Any

import numpy as np

from ... import kernels
from ..._typing import Array
from ...problems import Point
from ..cadence import Cadence, CadenceSettings
from ..options import Count, OneOf, OrNone
from ..run import Run
from .settings import TRACE_NORM
from .singular import Projector, threshold
from .table import Table


def trace_norm(
    run: Run,
    *,
    step_size: Annotated[str, OneOf("line-search", "theory")] = "line-search",
    rank: Annotated[int | None, OrNone(Count())] = None,
    n_rows: Annotated[int | None, OrNone(Count())] = None,
) -> None:
    """Primal-dual block Frank-Wolfe over the trace-norm ball.

    Parameters
    ----------
    run : Run
        The start is W = 0 by default.
    step_size : {"line-search", "theory"}, default="line-search"
        "theory": the step sizes of Theorem 4.3. "line-search": the full primal step, after which
        W minimises the Lagrangian, and in the dual the step to the maximum of a quadratic lower
        bound over the span of the moves of the rows and the previous move. Unless ``rank`` or
        ``n_rows`` are given, it starts with the roles exchanged, with full dual steps, after which
        theta maximises the Lagrangian, and line search in the primal, as long as these halve the
        gap every few steps.
    rank : int, default=None
        s, the rank of an update; by default it grows whenever it is too small.
    n_rows : int, default=None
        k, the number of dual rows that change in an iteration, those with the largest moves. By
        default all rows with "line-search", and n s (1 / features + 1 / outputs) with "theory".
    """
    own = _Iterate(run)
    project = Projector(own.table, run.random_state, rank)
    try:
        # the iteration ends if numbers overflow
        with suppress(np.linalg.LinAlgError), np.errstate(over="ignore", invalid="ignore"):
            if step_size == "theory":
                _theory_steps(own, project, n_rows)
                return
            dual = _DualSteps(own, n_rows)
            if rank is None and n_rows is None:
                _primal_phase(own, project, dual)
            dual.ascend(own, project)
    except KeyboardInterrupt:
        own.check()  # certify the last iterate
        raise


class _Iterate:
    """The iterate of a run, with its certificates."""

    def __init__(self, run: Run) -> None:
        self.run, self.table, start = run, Table(run.problem), run.start
        self.n_iter, self.cadence = run.monitor.n_iter, Cadence(run, CadenceSettings())
        n, d, c = self.table.shape
        self.W, self.theta = np.zeros((d, c)), np.zeros((n, c))
        if start is not None:
            self.W, self.theta = start.coef.reshape(d, c), start.dual_coef.reshape(n, c)

    def report(self, gap: float = inf) -> None:
        """Certify the iterate with this estimated gap if that is due."""
        if self.cadence.is_due(self.n_iter, gap):
            self.check()

    def check(self) -> None:
        """Certify the current iterate."""
        intercept = self.table.intercept(self.W)
        point = Point(np.ravel(self.W), intercept, np.ravel(self.theta))
        self.run.monitor.check(self.n_iter, point)

    @property
    def ended(self) -> bool:
        return self.run.is_over(self.n_iter)


# The full dual step, and a line search in the primal


def _primal_phase(run: _Iterate, project: Projector, dual: "_DualSteps") -> None:
    """Take primal steps while every few of them halve the estimated gap; then set a dual point.

    A step goes to the minimum along the line to the projection of a gradient step, whose length
    follows from the curvature along the last step.
    """
    table, estimates, patience = run.table, [inf], TRACE_NORM.primal_patience
    alpha, weights, W, theta = table.alpha, table.weights, run.W, -table.targets
    product = table.matmul(W) if W.any() else np.zeros_like(theta)
    theta = theta + product
    G = table.rmatmul(weights[:, np.newaxis] * theta)
    size = kernels.euclidean_norm(np.ravel(G, order="K"))  # without overflow of squares
    if size == 0.0:
        return
    curvature = float(np.sum(weights @ table.matmul(G / size) ** 2)) + alpha
    values_of_G, along, slow = Projector(table, run.run.random_state).top, None, False
    while not (slow or run.ended):
        gradient = G + alpha * W
        found = project(W - gradient / curvature)
        direction = found.left @ found.right - W
        change = table.matmul(found.left) @ found.right - product
        square = float(np.sum(direction**2))
        bend = float(np.sum(weights @ change**2)) + alpha * square
        slope = -float(np.sum(gradient * direction))
        if not (slope > 0.0 and bend > 0.0):
            break
        curvature, length = bend / square, min(1.0, slope / bend)
        W, product = W + length * direction, product + length * change
        theta = product - table.targets
        G = table.rmatmul(weights[:, np.newaxis] * theta)
        objective = table.mean_square(theta) + 0.5 * alpha * float(np.sum(W * W))
        run.n_iter, run.W, run.theta = run.n_iter + 1, W, theta
        along = _dual_along(table, theta, values_of_G(G, len(found.right))[1])
        estimates.append(min(objective - along(1.0), estimates[-1]))
        slow = len(estimates) > patience + 1 and (
            estimates[-1] > TRACE_NORM.primal_progress * estimates[-1 - patience]
        )
        run.report(estimates[-1])
    if along is not None and not run.ended:
        length = max(np.linspace(0.0, 1.0, TRACE_NORM.dual_multiples), key=along)
        dual.begin_at(length * theta, length * G)


def _dual_along(table: Table, theta: Array, sigma: Array):
    """The estimate of D(t theta) as a function of t, from the largest singular values of G."""
    ridge, radius = table.alpha, table.radius
    square = 0.5 * float(table.weights @ (theta**2).sum(axis=1))
    linear = float(table.weights @ (theta * table.targets).sum(axis=1))

    def value(t: float) -> float:
        tau = threshold(t * sigma, ridge * radius)
        excess = np.maximum(t * sigma - tau, 0.0)
        return -t * (t * square + linear) - tau * radius - 0.5 * float(excess @ excess) / ridge

    return value


# The full primal step, and a line search in the dual


class _DualSteps:
    """Dual steps to the maximum of a quadratic model, with the W that minimises the Lagrangian.

    Parameters
    ----------
    run : _Iterate
    n_rows
        See `trace_norm`.
    """

    def __init__(self, run: _Iterate, n_rows: int | None) -> None:
        n, d, c = run.table.shape
        self.n_rows = min(n_rows or n, n)
        self.share = 1.0  # share of the conjugate's largest curvature
        self.reached = -inf
        self.begin_at(run.theta, np.zeros((d, c)))
        if run.theta.any():
            self.G = run.table.rmatmul(run.table.weights[:, np.newaxis] * run.theta)

    def begin_at(self, theta: Array, G: Array) -> None:
        """Start from theta with its G."""
        self.theta, self.G = theta, G
        self.before: tuple[Array, Array] | None = None  # the last move of both
        self.kept: tuple[Array, Array, Any] = theta, G, None

    def ascend(self, run: _Iterate, project: Projector) -> None:
        """Take steps until the run ends."""
        table = run.table
        while not run.ended:
            run.n_iter += 1
            found = project(-self.G / table.alpha)  # minimises the Lagrangian: (18), a full step
            run.W, run.theta = found.left @ found.right, self.theta
            product = table.matmul(found.left) @ found.right
            # the move of each row, (14)
            towards = product - table.targets - self.theta
            # the gap, as W minimises the Lagrangian
            estimate = table.mean_square(towards)
            # D(theta), the objective minus the gap: a step that decreased it is undone
            value = table.mean_square(product - table.targets)
            value += 0.5 * table.alpha * float(np.sum(run.W * run.W)) - estimate
            if value < self.reached - TRACE_NORM.rounding * abs(self.reached):
                self.theta, self.G, self.before = self.kept
                self.share = min(1.0, TRACE_NORM.curvature_increase * self.share)
                self.reached = -inf
                run.report()
                continue
            self.reached, self.kept = value, (self.theta, self.G, self.before)
            self.share = TRACE_NORM.curvature_decrease * self.share if found.tau > 0.0 else 1.0
            run.report(estimate)
            if not run.ended:
                self._move(table, towards)
                if run.n_iter % TRACE_NORM.refresh_every == 0:
                    self.G = table.rmatmul(table.weights[:, np.newaxis] * self.theta)

    def _move(self, table: Table, towards: Array) -> None:
        """Move theta to the maximum of the model over the span of this move and the last one."""
        weights, rows = table.weights, _largest_rows(towards, self.n_rows)
        change = table.rmatmul(weights[rows, np.newaxis] * towards[rows], rows)
        move = towards
        if self.n_rows < len(towards):
            move = np.zeros_like(towards)
            move[rows] = towards[rows]
        moves = [(move, change)] if self.before is None else [(move, change), self.before]
        slope = np.array([float(np.sum(weights @ (towards * m))) for m, _ in moves])
        curvature = self.share / table.alpha
        H = np.array([
            [float(np.sum(weights @ (m * p))) + curvature * float(np.sum(g * q)) for p, q in moves]
            for m, g in moves
        ])  # fmt: skip
        size = np.sqrt(np.maximum(np.diag(H), np.finfo(float).tiny))
        system = H / np.outer(size, size) + TRACE_NORM.rounding * np.eye(len(moves))
        lengths = np.linalg.solve(system, slope / size) / size
        total = [sum(a * m[i] for a, m in zip(lengths, moves, strict=True)) for i in (0, 1)]
        self.theta, self.G = self.theta + total[0], self.G + total[1]
        self.before = total[0], total[1]


def _largest_rows(towards: Array, k: int) -> Any:
    """The k rows with the largest moves."""
    if k >= len(towards):
        return slice(None)
    return np.sort(np.argpartition(-np.sum(towards**2, axis=1), k - 1)[:k])


# The algorithm as published


def _theory_steps(run: _Iterate, project: Projector, n_rows: int | None) -> None:
    """Run Algorithm 2 with the step sizes of Theorem 4.3."""
    table, weights, alpha = run.table, run.table.weights, run.table.alpha
    n, d, c = table.shape
    eta = 0.5
    # R of Assumption 4.2 times the largest weight, by the norm of the matrix
    gram = table.rmatmul(weights[:, np.newaxis] * table.matmul(np.eye(d)))
    largest = Projector(table, run.run.random_state).top(gram, 1)[1][0]
    of_rows = float(largest) * n * float(np.max(weights))
    product, W, theta = table.matmul(run.W), run.W, run.theta
    G = table.rmatmul(weights[:, np.newaxis] * theta)
    while not run.ended:
        run.n_iter += 1
        found = project(W - (G / alpha + W) / eta)
        W = (1.0 - eta) * W + eta * (found.left @ found.right)
        product = (1.0 - eta) * product + eta * (table.matmul(found.left) @ found.right)
        run.W, run.theta = W, theta
        run.report()
        towards = product - table.targets - theta
        k = min(n_rows or max(1, int(n * project.s * (1.0 / c + 1.0 / d))), n)
        rows = _largest_rows(towards, k)
        step = weights[rows] / (k * np.max(weights) * (1.0 + 22.5 * of_rows / alpha))
        step = (step / (1.0 + step))[:, np.newaxis]
        theta = theta.copy()
        theta[rows] += step * towards[rows]
        G = G + table.rmatmul(weights[rows, np.newaxis] * step * towards[rows], rows)
