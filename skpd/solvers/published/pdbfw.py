"""Primal-dual block Frank-Wolfe over the l1 ball (Lei et al., 2019)."""

from numbers import Real
from typing import Annotated, Any, Literal

import numpy as np
from sklearn.utils._param_validation import Interval

from ... import kernels
from ...problems import Point, Problem
from ..certificate_schedule import PAUSE_ENTRIES
from ..frank_wolfe.multiplier_search import ridge_of
from ..options import OptionalCount, OptionalFactor, PositiveShare, require_compiled
from ..proximal_rounds import MethodInRounds, constant_column, solve_in_rounds
from ..solver_context import SolverContext

# The most iterations after which products are recomputed, as updates accumulate rounding errors
REFRESH_EVERY = 1000

Patience = Annotated[float, Interval(Real, 0, np.inf, closed="right")]


def pdbfw(
    context: SolverContext,
    *,
    step_size: Literal["line-search", "theory"] = "theory",
    sparsity: OptionalCount = None,
    n_coordinates: OptionalCount = None,
    eta: PositiveShare = 0.5,
    delta: OptionalFactor = None,
    patience: Patience = np.inf,
) -> None:
    """Primal-dual block Frank-Wolfe, Algorithm 1 of Lei et al. (2019).

    An iteration changes s primal and k dual coordinates and keeps the products of both with
    X up to date, at the cost of s columns and k rows of X instead of all of it. An intercept,
    which the paper does not have, is centred in rounds (`skpd.solvers.proximal_rounds`).

    Parameters
    ----------
    context : SolverContext
        The penalty must be `skpd.penalties.SquaredL2OnL1Ball`. The dual point of the start is
        used; it is 0 by default, as in the paper.
    step_size : {"theory", "line-search"}, default="theory"
        "theory" is the paper's algorithm with the step sizes of Theorem 4.1: half a step
        in the primal, and in the dual the proximal step of the k coordinates with the largest
        moves, for a loss that is smooth, and strongly convex wherever it is not linear
        (Assumption 4.1). "line-search", for any loss, takes the full primal step, after which x
        minimises the Lagrangian, and maximises the dual along k coordinates one after the
        other, in a random order of the rows and without those that do not change. The step sizes
        of the theory hold for the worst case and are much slower on most data.
    sparsity : int, default=None
        s, the largest number of non-zero coefficients of an update; by default it grows whenever
        it is too small.
    n_coordinates : int, default=None
        k; by default n s / d, so that k rows have as many entries as s columns.
    eta : float, default=0.5
        The primal step size of "theory", by default that of Theorem 4.1.
    delta : float, default=None
        The dual step size of "theory" for ``n_coordinates`` rows, by default that of
        Corollary 4.1.1. That is a bound for the worst case: 1,000 times the step may converge as
        well, and much faster.
    patience : float, default=inf
        The number of passes over X after which the method ends unfinished.

    Raises
    ------
    ValueError
        If the method is not defined for the penalty or the loss.
    """
    problem = context.problem
    _require(problem, step_size)
    if delta is not None and n_coordinates is None:
        raise ValueError(
            f"delta of solver 'pdbfw' needs n_coordinates, for which it is, got delta={delta:g} "
            "alone."
        )
    if delta is None and step_size == "theory":
        delta = _step_of_theory(problem) / (n_coordinates or 1)
    constant = _constant(problem)
    offset = context.first.intercept / constant if constant > 0.0 else 0.0
    compiled = kernels.block_frank_wolfe(
        problem.design.by_rows.matrix, problem.loss.evaluator, problem.y, problem.weights,
        context.first_theta, ridge_of(problem), problem.penalty.l1_radius, constant, offset,
        step_size == "line-search", eta, (delta or 0.0) * (n_coordinates or 1), sparsity or 0,
        n_coordinates or 0,
    )  # fmt: skip
    solve_in_rounds(_BlockFrankWolfe(context, compiled, patience), context)


class _BlockFrankWolfe(MethodInRounds):
    """The compiled iteration, which ends after ``patience`` passes over X."""

    def __init__(self, context: SolverContext, compiled: Any, patience: float) -> None:
        problem, self.compiled = context.problem, compiled
        self.constant = _constant(problem)
        self.most_entries = patience * problem.design.n_entries
        size = problem.n_samples + problem.n_coefficients
        self.most = int(np.clip(PAUSE_ENTRIES / size, 1, REFRESH_EVERY))
        self.goes_on = False

    @property
    def exhausted(self) -> bool:
        return bool(self.compiled.entries >= self.most_entries)

    def run(self, accuracy: float, most: int) -> tuple[int, float]:
        if self.goes_on:
            self.compiled.refresh()
        taken, gap = self.compiled.run(accuracy, min(most, self.most), PAUSE_ENTRIES)
        self.goes_on = gap > accuracy
        return taken, gap

    def point(self) -> Point:
        variables, theta = self.compiled.variables(), self.compiled.theta()
        return Point(variables[:-1], self.constant * float(variables[-1]), theta)


def _require(problem: Problem, step_size: str) -> None:
    """Raise an error if the algorithm, or its theory, does not apply to the problem."""
    penalty, loss = problem.penalty, problem.loss
    require_compiled(loss, "pdbfw")
    if not (penalty.l1_radius < np.inf and penalty.without_ridge()[0] > 0.0):
        raise ValueError(
            f"solver 'pdbfw' needs the squared l2 penalty over an l1 ball, got {penalty!r}."
        )
    if step_size == "theory" and not (np.isfinite(loss.smoothness) and loss.piecewise_quadratic):
        raise ValueError(
            "step_size 'theory' of solver 'pdbfw' needs a loss that is smooth, and strongly "
            f"convex wherever it is not linear (Assumption 4.1), got {loss!r}: pass "
            "solver_options={'step_size': 'line-search'}."
        )


def _constant(problem: Problem) -> float:
    """The entry of the column for the intercept."""
    return constant_column(problem, ridge_of(problem))


def _step_of_theory(problem: Problem) -> float:
    """k times the delta of Corollary 4.1.1, which is scaled by c_i in every row."""
    largest = float(np.max(problem.weights))
    squares = problem.design.row_norms() ** 2 + _constant(problem) ** 2
    curvature = 12.5 * float(np.max(problem.weights * squares)) / ridge_of(problem)
    return 1.0 / (1.0 / problem.loss.smoothness + curvature) / largest
