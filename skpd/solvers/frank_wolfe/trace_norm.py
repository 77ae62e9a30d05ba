"""Line searches over the trace-norm ball, from the steps of block Frank-Wolfe.

`skpd.solvers.published.trace_norm_frank_wolfe` has the method as Lei et al. (2019) print it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from math import inf
from typing import Any

import numpy as np

from ... import kernels
from ..._typing import Array
from ...problems import Point
from ..accelerated.certified_estimates import within
from ..certificate_schedule import CertificateSchedule, ScheduleSettings
from ..low_rank.factors import BallProjection, ball_level
from ..solver_context import SolverContext
from .dense_table import Table
from .settings import TRACE_NORM


def line_search_over_trace_norm(context: SolverContext, *, budget: float = inf) -> None:
    """Full steps on one side and line searches on the other, for least squares.

    With the full dual step, theta maximises the Lagrangian, and the primal step is to the minimum
    along a line, as long as these steps halve the gap every few steps. Then the roles are
    exchanged: with the full primal step, W minimises the Lagrangian, and the dual step is to the
    maximum of a quadratic lower bound over the span of the moves of the rows and the previous
    move.

    Parameters
    ----------
    context : SolverContext
    budget : float, default=inf
        The largest cost of all steps, in the units of `skpd.designs.newton_cost`.
    """
    context = within(context, budget, TRACE_NORM.step_overhead)
    iterate = TraceNormIterate(context)
    project, dual = BallProjection(context.random_state), _DualSteps(iterate)
    with iterate.certifying_at_the_end():
        if context.start is not None:
            iterate.check()
        _primal_phase(iterate, project, dual)
        dual.ascend(iterate, project)


class TraceNormIterate:
    """The iterate of a run, with its certificates."""

    def __init__(self, context: SolverContext) -> None:
        self.context, self.table, start = context, Table(context.problem), context.start
        self.n_iter = context.monitor.n_iter
        self.schedule = CertificateSchedule(context, ScheduleSettings())
        self.W, self.theta = np.zeros(self.table.shape[1:]), np.zeros_like(self.table.targets)
        if start is not None:
            self.W = start.coef.reshape(self.W.shape)
            self.theta = start.dual_coef.reshape(self.theta.shape)

    def report(self, gap: float = inf) -> None:
        """Certify the iterate with this estimated gap if that is due."""
        if self.schedule.is_due(self.n_iter, gap):
            self.check()

    @contextmanager
    def certifying_at_the_end(self) -> Iterator[None]:
        """End the iteration if numbers overflow, and certify the last iterate of a Ctrl-C."""
        try:
            with suppress(np.linalg.LinAlgError), np.errstate(over="ignore", invalid="ignore"):
                yield
        except KeyboardInterrupt:
            self.check()
            raise

    def check(self) -> None:
        """Certify the current iterate."""
        intercept = self.table.intercept(self.W)
        point = Point(np.ravel(self.W), intercept, np.ravel(self.theta))
        self.context.monitor.check(self.n_iter, point)

    @property
    def ended(self) -> bool:
        return self.context.is_over(self.n_iter)


# The full dual step, and a line search in the primal


def _primal_phase(iterate: TraceNormIterate, project: BallProjection, dual: "_DualSteps") -> None:
    """Take primal steps while every few of them halve the estimated gap; then set a dual point.

    A step goes to the minimum along the line to the projection of a gradient step, whose length
    follows from the curvature along the last step.
    """
    table, estimates, patience = iterate.table, [inf], TRACE_NORM.primal_patience
    alpha, weights, W, theta = table.alpha, table.weights, iterate.W, -table.targets
    if W.any():  # a start may be outside the ball
        start = project(W, table.inner_radius)
        W = iterate.W = start.U @ start.V.T
    product = table.matmul(W) if W.any() else np.zeros_like(theta)
    theta = theta + product
    G = table.rmatmul(weights[:, np.newaxis] * theta)
    size = kernels.euclidean_norm(np.ravel(G, order="K"))  # without overflow of squares
    if size == 0.0:
        return
    curvature = float(np.sum(weights @ table.matmul(G / size) ** 2)) + alpha
    values_of_G, along, slow = BallProjection(iterate.context.random_state).largest, None, False
    while not (slow or iterate.ended):
        gradient = G + alpha * W
        end = project(W - gradient / curvature, table.inner_radius)
        direction = end.U @ end.V.T - W
        change = table.matmul_factors(end) - product
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
        iterate.n_iter, iterate.W, iterate.theta = iterate.n_iter + 1, W, theta
        along = _dual_along(table, theta, values_of_G(G, end.rank)[1])
        estimates.append(min(objective - along(1.0), estimates[-1]))
        slow = len(estimates) > patience + 1 and (
            estimates[-1] > TRACE_NORM.primal_progress * estimates[-1 - patience]
        )
        iterate.report(estimates[-1])
    if along is not None and not iterate.ended:
        length = max(np.linspace(0.0, 1.0, TRACE_NORM.dual_multiples), key=along)
        dual.begin_at(length * theta, length * G)


def _dual_along(table: Table, theta: Array, sigma: Array) -> Callable[[float], float]:
    """The estimate of D(t theta) as a function of t, from the largest singular values of G."""
    ridge, radius = table.alpha, table.radius
    square = 0.5 * float(table.weights @ (theta**2).sum(axis=1))
    linear = float(table.weights @ (theta * table.targets).sum(axis=1))

    def value(t: float) -> float:
        tau = ball_level(t * sigma, ridge * radius)
        excess = np.maximum(t * sigma - tau, 0.0)
        return -t * (t * square + linear) - tau * radius - 0.5 * float(excess @ excess) / ridge

    return value


# The full primal step, and a line search in the dual


class _DualSteps:
    """Dual steps to the maximum of a quadratic model, with the W that minimises the Lagrangian.

    Parameters
    ----------
    iterate : TraceNormIterate
    """

    def __init__(self, iterate: TraceNormIterate) -> None:
        self.share = 1.0  # share of the conjugate's largest curvature
        self.reached = -inf
        self.begin_at(iterate.theta, np.zeros_like(iterate.W))
        if iterate.theta.any():
            self.G = iterate.table.rmatmul(iterate.table.weights[:, np.newaxis] * iterate.theta)

    def begin_at(self, theta: Array, G: Array) -> None:
        """Start from theta with its G."""
        self.theta, self.G = theta, G
        self.before: tuple[Array, Array] | None = None  # the last move of both
        self.kept: tuple[Array, Array, Any] = theta, G, None

    def ascend(self, iterate: TraceNormIterate, project: BallProjection) -> None:
        """Take steps until the run ends."""
        table = iterate.table
        while not iterate.ended:
            iterate.n_iter += 1
            # the minimiser of the Lagrangian, which is (18) with a full step
            minimiser = project(-self.G / table.alpha, table.inner_radius)
            iterate.W, iterate.theta = minimiser.U @ minimiser.V.T, self.theta
            product = table.matmul_factors(minimiser)
            # the move of each row, (14)
            towards = product - table.targets - self.theta
            # the gap, as W minimises the Lagrangian
            estimate = table.mean_square(towards)
            # D(theta), the objective minus the gap: a step that decreased it is undone
            value = table.mean_square(product - table.targets)
            value += 0.5 * table.alpha * float(np.sum(iterate.W * iterate.W)) - estimate
            if value < self.reached - TRACE_NORM.rounding * abs(self.reached):
                self.theta, self.G, self.before = self.kept
                self.share = min(1.0, TRACE_NORM.curvature_increase * self.share)
                self.reached = -inf
                iterate.report()
                continue
            self.reached, self.kept = value, (self.theta, self.G, self.before)
            self.share = TRACE_NORM.curvature_decrease * self.share if project.level > 0.0 else 1.0
            iterate.report(estimate)
            if not iterate.ended:
                self._move(table, towards)
                if iterate.n_iter % TRACE_NORM.refresh_every == 0:
                    self.G = table.rmatmul(table.weights[:, np.newaxis] * self.theta)

    def _move(self, table: Table, towards: Array) -> None:
        """Move theta to the maximum of the model over the span of this move and the last one."""
        weights = table.weights
        last = towards, table.rmatmul(weights[:, np.newaxis] * towards)
        moves = [last] if self.before is None else [last, self.before]
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
