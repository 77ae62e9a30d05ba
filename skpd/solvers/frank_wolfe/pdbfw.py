"""Primal-dual block Frank-Wolfe over the l1 ball (Lei et al., 2019)."""

from typing import Annotated, Any

import numpy as np

from ... import kernels
from ...problems import Point, Problem
from ..cadence import PAUSE_ENTRIES
from ..options import Count, Number, OneOf, OrNone, require_compiled
from ..proximal_rounds import MethodInRounds, constant_column, solve_in_rounds
from ..run import Run
from .l1_ball import ridge_of
from .settings import BLOCKS


def pdbfw(
    run: Run,
    *,
    step_size: Annotated[str, OneOf("line-search", "theory")] = "theory",
    sparsity: Annotated[int | None, OrNone(Count())] = None,
    n_coordinates: Annotated[int | None, OrNone(Count())] = None,
    patience: Annotated[float, Number(0, np.inf, "(]")] = np.inf,
) -> None:
    """Primal-dual block Frank-Wolfe, Algorithm 1 of Lei et al. (2019).

    An iteration changes s primal and k dual coordinates and keeps the products of both with
    X up to date, at the cost of s columns and k rows of X instead of all of it. An intercept,
    which the paper does not have, is centred in rounds (`skpd.solvers.proximal_rounds`).

    Parameters
    ----------
    run : Run
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
    patience : float, default=inf
        The number of passes over X after which the method ends unfinished.

    Raises
    ------
    ValueError
        If the method is not defined for the penalty or the loss.
    """
    problem = run.problem
    _require(problem, step_size)
    counts = sparsity or 0, n_coordinates or 0
    solve_in_rounds(_BlockFrankWolfe(run, step_size, counts, patience), run)


class _BlockFrankWolfe(MethodInRounds):
    """The compiled iteration; ``counts`` are s and k."""

    def __init__(self, run: Run, step_size: str, counts: tuple[int, int], patience: float) -> None:
        problem = run.problem
        self.constant = constant_column(problem, ridge_of(problem))
        self.compiled = _compiled(run, self.constant, step_size, counts)
        self.most_entries = patience * problem.design.n_entries
        size = problem.n_samples + problem.n_coefficients
        self.most = int(np.clip(PAUSE_ENTRIES / size, 1, BLOCKS.refresh_every))
        self.goes_on = False

    @property
    def exhausted(self) -> bool:
        return self.compiled.entries >= self.most_entries

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


def _compiled(run: Run, constant: float, step_size: str, counts: tuple[int, int]) -> Any:
    """The compiled iteration; ``constant`` is the column of an intercept, ``counts`` s and k."""
    problem, intercept = run.problem, run.first.intercept
    loss, weights, mu = problem.loss, problem.weights, ridge_of(problem)
    dual_step = 0.0
    if step_size == "theory":  # Corollary 4.1.1, k times delta
        squares = problem.design.row_norms() ** 2 + constant**2
        dual_step = 1.0 / (1.0 / loss.smoothness + 12.5 * float(np.max(weights * squares)) / mu)
        dual_step /= float(np.max(weights))  # scaled by c_i in every row
    return kernels.block_frank_wolfe(
        problem.design.by_rows.matrix, loss.evaluator, problem.y, weights, run.first_theta,
        mu, problem.penalty.l1_radius, constant, intercept / constant if constant > 0.0 else 0.0,
        step_size == "line-search", 0.5, dual_step, *counts,
    )  # fmt: skip
