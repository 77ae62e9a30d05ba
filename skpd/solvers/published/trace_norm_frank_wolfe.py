"""Primal-dual block Frank-Wolfe over the trace-norm ball (Lei et al., 2019, Algorithm 2)."""

import numpy as np

from ...designs import spectral_norm_bound
from ...losses import Loss
from ..frank_wolfe.trace_norm import TraceNormIterate
from ..low_rank.factors import BallProjection
from ..options import OptionalCount, OptionalFactor, PositiveShare
from ..solver_context import SolverContext


def block_frank_wolfe(
    context: SolverContext,
    *,
    eta: PositiveShare = 0.5,
    delta: OptionalFactor = None,
    rank: OptionalCount = None,
    n_rows: OptionalCount = None,
) -> None:
    """Primal-dual block Frank-Wolfe over the trace-norm ball, Algorithm 2 of Lei et al. (2019).

    An iteration moves W by a share eta towards the solution of (18), a matrix of low rank, and
    the k rows of theta with the largest moves by the proximal step (14).

    Parameters
    ----------
    context : SolverContext
        The start is 0 by default.
    eta : float, default=0.5
        The primal step size, by default that of Theorem 4.3.
    delta : float, default=None
        The dual step size, by default that of Theorem 4.3, a bound for the worst case.
    rank : int, default=None
        s, the rank of an update; by default it grows whenever it is too small.
    n_rows : int, default=None
        k, the number of dual rows that change in an iteration, by default
        n s (1 / features + 1 / outputs).
    """
    iterate, problem = TraceNormIterate(context), context.problem
    table, (n, d, c) = iterate.table, iterate.table.shape
    largest = float(np.max(table.weights))
    project, radius = BallProjection(context.random_state, rank), table.inner_radius
    product, W, theta = table.matmul(iterate.W), iterate.W, iterate.theta
    G = table.rmatmul(table.weights[:, np.newaxis] * theta)
    of_all = 0.0 if delta is not None else _step_of_theory(iterate, problem.loss)
    with iterate.certifying_at_the_end():
        while not iterate.ended:
            iterate.n_iter += 1
            update = project(W - (G / table.alpha + W) / eta, radius)
            W = (1.0 - eta) * W + eta * (update.U @ update.V.T)
            product = (1.0 - eta) * product + eta * table.matmul_factors(update)
            k = min(n_rows or max(1, int(n * project.rank * (1.0 / c + 1.0 / d))), n)
            step = (delta or of_all / (k * largest)) * problem.weights
            moved = np.ravel(theta) + step * np.ravel(product + table.y_mean)
            moves = problem.prox_dual(moved, step).reshape(theta.shape) - theta
            # the k rows with the largest moves, of equal ones the first, in order
            rows = np.sort(np.argsort(-np.sum(moves**2, axis=1), kind="stable")[:k])
            theta = theta.copy()
            theta[rows] += moves[rows]
            G = G + table.rmatmul(table.weights[rows, np.newaxis] * moves[rows], rows)
            iterate.W, iterate.theta = W, theta
            iterate.report()


def _step_of_theory(iterate: TraceNormIterate, loss: Loss) -> float:
    """k times the largest weight times the delta of Theorem 4.3."""
    table, random_state = iterate.table, iterate.context.random_state
    roots = np.sqrt(table.weights)[:, np.newaxis]
    norm = spectral_norm_bound(
        lambda v: np.ravel(roots * table.matmul(v[:, np.newaxis])),
        lambda rows: np.ravel(table.rmatmul(roots * rows[:, np.newaxis])),
        table.X.shape, random_state,
    )  # fmt: skip
    # R of Assumption 4.2 times the largest weight, by the norm of the matrix
    of_rows = norm**2 * len(table.weights) * float(np.max(table.weights))
    return 1.0 / (1.0 / loss.smoothness + 22.5 * of_rows / table.alpha)
