"""Projections onto the trace-norm ball by the largest singular values."""

from typing import Any, NamedTuple

import numpy as np

from ... import kernels
from ..._typing import Array
from ...problems.trace_norm import TraceNormProblem
from .settings import TRACE_NORM

__all__ = ["Projection", "TopSingular", "grown", "project", "project_to_rank", "threshold"]


class TopSingular:
    """The largest singular triplets by subspace iteration, from where the last call ended."""

    def __init__(self, random_state: np.random.RandomState) -> None:
        self.random_state = random_state
        self.V: Any = None

    def __call__(self, M: Array, rank: int) -> tuple[Array, Array, Array]:
        n_columns = min(rank + TRACE_NORM.extra_columns, *M.shape)
        V = np.empty((M.shape[1], 0)) if self.V is None else self.V[:, :n_columns]
        new = self.random_state.standard_normal((M.shape[1], n_columns - V.shape[1]))
        V = np.hstack([V, new])
        for sweep in range(TRACE_NORM.subspace_sweeps):
            Q = np.linalg.qr(M @ V)[0]
            V = M.T @ Q
            if sweep < TRACE_NORM.subspace_sweeps - 1:
                V = np.linalg.qr(V)[0]
        U, sigma, right = np.linalg.svd(V.T, full_matrices=False)
        self.V = right.T
        return Q @ U, sigma, right


def threshold(sigma: Array, total: float) -> float:
    """The least tau >= 0 with sum_j (sigma_j - tau)_+ <= total."""
    inside = kernels.project_l1_ball(np.ascontiguousarray(sigma), total)
    return float(np.max(sigma - inside, initial=0.0))


class Projection(NamedTuple):
    """The projection of a matrix onto the ball, left @ right; tau is 0 for one inside."""

    left: Array
    right: Array
    tau: float


def project(problem: TraceNormProblem, top: TopSingular, M: Array, s: int) -> Projection:
    """Of the rank that it has, if s or more."""
    most = min(M.shape)
    while True:
        U, sigma, right = top(M, s)
        sigma = sigma[: s + 1]
        tau = threshold(sigma, problem.inner_radius)
        kept = _above(sigma, tau)
        if len(sigma) == most or not kept.all() or not sigma.any():
            return _of_values(U, sigma, right, tau, kept)
        s = min(2 * s, most)


def grown(s: int, found: Projection) -> int:
    """The rank that `project` went up to."""
    while s < len(found.right):
        s *= 2
    return s


def project_to_rank(
    problem: TraceNormProblem, top: TopSingular, M: Array, rank: int
) -> Projection:
    """That of the nearest matrix of a rank."""
    U, sigma, right = top(M, rank)
    sigma = sigma[:rank]
    tau = threshold(sigma, problem.inner_radius)
    kept = _above(sigma, tau)
    return _of_values(U, sigma, right, tau, kept)


def _above(sigma: Array, tau: float) -> Any:
    """Which singular values are above a threshold, and are not rounding."""
    return sigma > max(tau, TRACE_NORM.value_noise * float(np.max(sigma, initial=0.0)))


def _of_values(U: Array, sigma: Array, right: Array, tau: float, kept: Any) -> Projection:
    n_values = len(kept)
    left = U[:, :n_values][:, kept] * (sigma[kept] - tau)
    return Projection(left, right[:n_values][kept], tau)
