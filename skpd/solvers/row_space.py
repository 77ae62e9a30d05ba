"""Squared l2 penalties with fewer rows than features, in coordinates of the span of the rows.

The coefficients of each output lie in the span of the rows of X. For X = Z Q' with Q'Q = I they
are Q V, with ||Q V|| = ||V|| and X Q V = Z V. The problem in V, with as many features as rows, has
the same objective: products, systems and steps of descent are those of an n x n table.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import qr, solve_triangular

from .._floats import EPSILON
from .._typing import Array
from ..designs import Design
from ..designs.outputs import SharedDesign
from ..problems import Problem
from ..problems.lifts import IN_COEFFICIENTS
from .equivalent import centred, equivalent_context
from .interior.settings import SETTINGS as INTERIOR
from .selection_settings import SETTINGS
from .solver_context import SolverContext

ANY_MEAN = -1.0  # in standard deviations: all columns are centred


class Coordinates(NamedTuple):
    """Z (n, n), and the maps of coefficients W (d, K) to V (n, K) and back."""

    table: Array
    project: Callable[[Array], Array]
    expand: Callable[[Array], Array]


def has_row_space(problem: Problem) -> bool:
    """Whether a problem has a squared l2 penalty, fewer rows than features and one X."""
    rows = problem.rows
    if not (problem.has_values and problem.penalty.is_ridge and problem.constraints is None):
        return False
    if rows.of_outputs and not rows.design.shares_data:
        return False
    n, d = problem.design.base.shape
    is_plain = problem.lift is IN_COEFFICIENTS and not rows.design.leaves_features_out
    return is_plain and n < d


def has_smooth_row_space(problem: Problem) -> bool:
    """Whether an n x n table is much smaller than a dense X, and the loss has curvature."""
    if problem.loss.linear_tails or not has_row_space(problem):
        return False
    n, d = problem.design.base.shape
    is_small = n <= SETTINGS.most_rows_of_gram and d >= SETTINGS.features_per_row * n
    is_wide = is_small and n * d >= SETTINGS.least_wide_table and problem.design.base.dense
    return is_wide or (n * d <= SETTINGS.largest_precise_table and _needs_precision(problem))


def _needs_precision(problem: Problem) -> bool:
    """Whether the ridge is so small that rounding errors of systems would change coefficients."""
    squares = problem.squares[: problem.n_coefficients]
    return problem.alpha <= SETTINGS.least_ridge * float(np.sum(squares)) / problem.n_outputs


def has_cones_in_row_space(problem: Problem) -> bool:
    """Whether systems of the interior-point method for all outputs fit in memory only there."""
    if not (problem.rows.of_outputs and problem.loss.has_cones and has_row_space(problem)):
        return False
    largest, (n, d) = INTERIOR.largest_system, problem.design.base.shape
    fits = problem.n_samples <= largest and n * d <= largest**2
    return fits and problem.n_variables > largest


def in_row_space(context: SolverContext, *, method: Callable[[SolverContext], None]) -> None:
    """Solve a problem in coordinates of the span of the rows.

    Parameters
    ----------
    context : SolverContext
        An iteration is one of the method.
    method : callable
        The method for the problem in these coordinates.
    """
    problem, K, workspace = context.problem, context.problem.n_outputs, context.problem.workspace
    is_precise = _needs_precision(problem)
    if is_precise and problem.fit_intercept:
        shift = problem.design.shift_of_columns(problem.weights, ANY_MEAN)
        if shift is not None:
            context = centred(context, problem.of_rows(problem.rows.shifted(shift)), shift)
            problem = context.problem
    if workspace is None or workspace.row_space is None or is_precise:
        X = problem.design.base.as_given
        coordinates = _coordinates(X.toarray() if sp.issparse(X) else X, is_precise)
        design: Any = Design(coordinates.table)
        design = SharedDesign(design, K) if problem.rows.of_outputs else design
        rows = problem.rows.with_design(design)
        reduced = problem.of_rows(rows).in_workspace(workspace is not None and workspace.of_path)
        if workspace is not None and not is_precise:
            workspace.row_space = reduced, coordinates
    else:
        reduced, coordinates = workspace.row_space
        reduced = reduced.with_penalty(problem.penalty, problem.alpha)

    def mapped(change: Callable[[Array], Array], coef: Array) -> Array:
        return np.ravel(change(coef.reshape(-1, K)))

    method(
        equivalent_context(
            context, reduced,
            lambda point: replace(point, coef=mapped(coordinates.project, point.coef)),
            lambda point: replace(point, coef=mapped(coordinates.expand, point.coef)),
        )
    )  # fmt: skip


def _coordinates(X: Array, is_precise: bool) -> Coordinates:
    """Coordinates by the Cholesky factor of X X', or by the slower QR of X' where it is singular.

    For 500 x 5,000 they take 30 and 140 ms. The singular vectors of X are precise for all of its
    directions, and take still longer.
    """
    X = np.asarray(X, dtype=np.float64)
    if is_precise:
        U, sizes, Q = np.linalg.svd(X, full_matrices=False)
        rank = int(np.count_nonzero(sizes > max(X.shape) * EPSILON * sizes[0]))
        Q = Q[:rank]
        return Coordinates(U[:, :rank] * sizes[:rank], lambda W: Q @ W, lambda V: Q.T @ V)
    try:
        L: Array = np.asarray(np.linalg.cholesky(X @ X.T), dtype=np.float64)
    except np.linalg.LinAlgError:
        L = np.zeros((1, 1))
    sizes = np.diagonal(L)
    if np.min(sizes) > SETTINGS.least_pivot * np.max(sizes):
        return Coordinates(
            L,
            lambda W: solve_triangular(L, X @ W, lower=True, check_finite=False),
            lambda V: X.T @ solve_triangular(L, V, lower=True, trans="T", check_finite=False),
        )
    Q, R = qr(X.T, mode="economic", check_finite=False)
    return Coordinates(np.ascontiguousarray(R.T), lambda W: Q.T @ W, lambda V: Q @ V)
