"""Projections onto the trace-norm ball by the largest singular values."""

from typing import NamedTuple

import numpy as np

from ... import kernels
from ..._typing import Array
from ...designs import SubspaceIteration
from .settings import TRACE_NORM
from .table import Table


def threshold(sigma: Array, total: float) -> float:
    """The least tau >= 0 with sum_j (sigma_j - tau)_+ <= total."""
    inside = kernels.project_l1_ball(np.ascontiguousarray(sigma), total)
    return float(np.max(sigma - inside, initial=0.0))


class Projection(NamedTuple):
    """The projection of a matrix onto the ball, left @ right; tau is 0 for one inside."""

    left: Array
    right: Array
    tau: float


class Projector:
    """The projections of a sequence of matrices onto the ball, by few singular vectors.

    Parameters
    ----------
    table : Table
    random_state : RandomState
    rank : int, default=None
        The rank of the nearest matrix that is projected instead of the matrix itself.

    Attributes
    ----------
    s : int
        The number of singular values that are computed first; it grows whenever it is too small,
        unless there is a rank.
    """

    def __init__(
        self, table: Table, random_state: np.random.RandomState, rank: int | None = None
    ) -> None:
        self.radius, self.grows = table.inner_radius, rank is None
        sweeps = TRACE_NORM.subspace_sweeps
        self.s = min(rank or TRACE_NORM.first_rank, *table.shape[1:])
        self.top = SubspaceIteration(random_state, TRACE_NORM.extra_columns, sweeps, sweeps)

    def __call__(self, M: Array) -> Projection:
        s, most = self.s, min(M.shape)
        while True:
            U, sigma, right = self.top(M, s)
            sigma = sigma[: s + self.grows]
            tau = threshold(sigma, self.radius)
            kept = sigma > max(tau, TRACE_NORM.value_noise * float(np.max(sigma, initial=0.0)))
            enough = len(sigma) == most or not kept.all() or not sigma.any()
            if enough or not self.grows:
                break
            s = min(2 * s, most)
        left = U[:, : len(kept)][:, kept] * (sigma[kept] - tau)
        right = right[: len(kept)][kept]
        while self.s < len(right):
            self.s *= 2
        return Projection(left, right, tau)
