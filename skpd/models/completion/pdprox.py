"""The primal-dual prox method for matrix completion, with any loss.

The methods are those of `skpd.solvers.published.pdprox`. M is stored as factors, as the prox of
the trace norm returns a matrix of low rank, and all other large objects are vectors over the rows.
"""

from dataclasses import dataclass
from math import sqrt
from typing import Any, Literal

from ..._typing import Array
from ...problems import Point
from ...solvers.low_rank.factors import Factors, Sum, compressed
from ...solvers.options import Factor, Flag, OptionalFactor
from ...solvers.published.pdprox import dual_iterations, step_sizes
from ...solvers.published.pdprox_spaces import DualSide
from ...solvers.solver_context import SolverContext
from .soft_impute import EntriesModel


@dataclass(frozen=True, eq=False)
class _Variables:
    """The matrix M and the free numbers, with sums and quotients."""

    M: Factors
    free: Array

    def __add__(self, other: "_Variables") -> "_Variables":
        M = self.M + other.M
        M = compressed(M) if M.rank > min(len(M.U), len(M.V)) else M
        return _Variables(M, self.free + other.free)

    def __radd__(self, zero: float) -> "_Variables":
        return self

    def __truediv__(self, n: float) -> "_Variables":
        M, root = compressed(self.M), 1.0 / sqrt(n)
        return _Variables(Factors(root * M.U, root * M.V), self.free / n)


class _Matrices:
    """The space of M and the free numbers, as `skpd.solvers.published.pdprox_spaces.Vectors`."""

    def __init__(self, context: SolverContext) -> None:
        self.context, self.problem, self.model = context, context.problem, EntriesModel(context)
        self.side = DualSide.of(context.problem)

    def start(self) -> _Variables:
        return _Variables(self.model.start(self.context.first), self.context.first.intercept)

    def matvec(self, w: _Variables) -> Array:
        return self.model.shifted(self.model.image(w.M), w.free)

    def gradient(self, theta: Array) -> tuple[Any, Array | float]:
        """The gradient in M, and the step of the free numbers."""
        has_free = self.model.has_free
        return self.model.gradient(theta), self.model.free_step(theta) if has_free else 0.0

    def prox(self, w: _Variables, gradient: tuple[Any, Any], step: float) -> _Variables:
        """A proximal step, whose size is in units of the inverse of the largest weight."""
        tau = step / self.model.rows.largest_weight
        M = self.model.threshold(Sum(w.M, -tau, gradient[0]), tau * self.problem.alpha)
        return _Variables(M, w.free - step * gradient[1])

    def point(self, w: _Variables, theta: Array) -> Point:
        return Point(w.M.coef, w.free, theta)


def pdprox_dual_of_entries(
    context: SolverContext,
    *,
    algorithm: Literal[1, 3] = 1,
    average: Flag = True,
    step_scale: Factor = 1.0,
    step_ratio: OptionalFactor = None,
) -> None:
    """Pdprox-dual, Algorithms 1 and 3, in the double-dual implementation.

    The parameters are those of `skpd.solvers.published.pdprox.pdprox_dual`. Averages of matrices
    are also stored as factors, whose rank grows.
    """
    space = _Matrices(context)
    rows = space.model.rows
    norm = sqrt(rows.largest_weight * space.model.square_of_map / rows.n_samples)
    norm *= space.side.size
    tau, sigma = step_sizes(norm, rows.n_samples, step_scale, step_ratio)
    dual_iterations(space, algorithm, "double-dual", average, tau * rows.largest_weight, sigma)
