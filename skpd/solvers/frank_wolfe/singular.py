"""Projections onto the trace-norm ball by the largest singular values."""

from typing import Any, NamedTuple

import numpy as np

from ... import kernels
from ..._typing import Array
from ...designs import SubspaceIteration
from .settings import TRACE_NORM
from .table import Table


def top_singular(random_state: np.random.RandomState) -> SubspaceIteration:
    """The subspace iteration for the largest singular triplets of the matrices of a run."""
    sweeps = TRACE_NORM.subspace_sweeps
    return SubspaceIteration(random_state, TRACE_NORM.extra_columns, sweeps, sweeps)


def threshold(sigma: Array, total: float) -> float:
    """The least tau >= 0 with sum_j (sigma_j - tau)_+ <= total."""
    inside = kernels.project_l1_ball(np.ascontiguousarray(sigma), total)
    return float(np.max(sigma - inside, initial=0.0))


class Projection(NamedTuple):
    """The projection of a matrix onto the ball, left @ right; tau is 0 for one inside."""

    left: Array
    right: Array
    tau: float


def project(table: Table, top: SubspaceIteration, M: Array, s: int) -> Projection:
    """The projection of M onto the ball, with rank s first, and larger ranks if necessary."""
    most = min(M.shape)
    while True:
        U, sigma, right = top(M, s)
        sigma = sigma[: s + 1]
        tau = threshold(sigma, table.inner_radius)
        kept = _above(sigma, tau)
        if len(sigma) == most or not kept.all() or not sigma.any():
            return _of_values(U, sigma, right, tau, kept)
        s = min(2 * s, most)


def grown(s: int, found: Projection) -> int:
    """The rank of the singular value decomposition that `project` needed, s times a power of 2."""
    while s < len(found.right):
        s *= 2
    return s


def project_to_rank(table: Table, top: SubspaceIteration, M: Array, rank: int) -> Projection:
    """The projection onto the ball of the nearest matrix to M of a given rank."""
    U, sigma, right = top(M, rank)
    sigma = sigma[:rank]
    tau = threshold(sigma, table.inner_radius)
    kept = _above(sigma, tau)
    return _of_values(U, sigma, right, tau, kept)


def _above(sigma: Array, tau: float) -> Any:
    """A mask of the singular values above a threshold and above rounding errors."""
    return sigma > max(tau, TRACE_NORM.value_noise * float(np.max(sigma, initial=0.0)))


def _of_values(U: Array, sigma: Array, right: Array, tau: float, kept: Any) -> Projection:
    n_values = len(kept)
    left = U[:, :n_values][:, kept] * (sigma[kept] - tau)
    return Projection(left, right[:n_values][kept], tau)
