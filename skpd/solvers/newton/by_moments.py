"""Models of least squares, one or for all alphas of a path, from the moments of a few features."""

import numpy as np

from ..._typing import Array
from ...certificates import Certificate, largest_gap
from ...designs.gram import MatrixCurvature
from ...kernels import dot
from ...problems import Point, Problem, Solution
from ...problems.moments import Moments
from ..monitor import HISTORY_DTYPE
from ..solver_context import SolverContext
from .quadratic import quadratic_model
from .settings import SETTINGS

# The most features of a path for each alpha: with more, working sets of few of them take less time
FEATURES_OF_ALPHA = 40
# For a single model, in features, and in rows for each feature of dense and of sparse tables
MAX_FEATURES_OF_TALL = 400
ROWS_PER_FEATURE, ROWS_PER_SPARSE_FEATURE = 20, 100
# With longer rows, whose moments are sums over pairs of entries, and sparse columns, of which few
# are read, a working set of a penalty that selects features takes half the time
MAX_ENTRIES, MAX_SPARSE_ENTRIES = 50, 15
# share of the tolerance for errors of gradients, which add to a gap in proportion to a radius
SHARE = 0.1
NO_HISTORY = np.empty(0, HISTORY_DTYPE)


def _has_moments(problem: Problem) -> bool:
    """Whether moments of the features certify the models of a problem."""
    loss = problem.loss
    return (
        problem.penalty.structure.is_block_separable and problem.has_single_values
        and loss.constant_curvature and loss.conjugate_curvature == 1.0
        and not problem.design.leaves_features_out and problem.constraints is None
        and not len(problem.free_columns)
    )  # fmt: skip


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def path_by_moments(problem: Problem, alphas: Array, tol: float) -> list[Solution | None]:
    """The solutions for decreasing alphas, None where their gaps are above the tolerance.

    The steps and the certificates take the same time for any number of rows, and on small tables
    less than the decisions of a solver. Solutions come without the dual points of the rows.
    """
    most = min(FEATURES_OF_ALPHA * len(alphas), problem.n_samples, SETTINGS.largest_working_set)
    few = problem.n_coefficients <= most and _has_moments(problem)
    moments = Moments(problem) if few or is_tall_table(problem) else None
    if moments is None or not moments.in_range:
        return [None] * len(alphas)
    M, d = moments.matrix, problem.n_coefficients
    # H are the moments of X and -y less their means, as the best intercept subtracts them
    means = M[d] / M[d, d] if problem.fit_intercept else np.zeros(len(M))
    H = M - np.outer(M[d], means)
    model = quadratic_model(MatrixCurvature(np.ascontiguousarray(H[:d, :d])))
    w, columns, models = np.zeros(d), np.arange(d), np.zeros((len(alphas), len(M)))
    for u, alpha in zip(models, alphas.tolist(), strict=True):
        if not alpha >= problem.largest_alpha:  # above, and not only within rounding, w = 0
            slopes, accuracy = H[:d, :d] @ w + H[:d, -1], SHARE * tol * alpha
            u[:d] = w = model.minimise(slopes, w, problem.penalty, alpha, columns, accuracy)
    models[:, -1] = 1.0
    models[:, d] -= models @ means
    certificates = moments.certificates(alphas.tolist(), models)
    n_steps = models[:, :d].any(axis=1).astype(int).tolist()

    def is_good(certificate: Certificate) -> bool:  # a gap may be nan
        goal = largest_gap(problem, tol, certificate.primal, certificate.dual)
        return 0.0 <= certificate.gap <= goal

    return [
        Solution(*problem.split(u[:-1]), None, certificate, n_iter, True, NO_HISTORY)
        if is_good(certificate)
        else None
        for u, n_iter, certificate in zip(models, n_steps, certificates, strict=True)
    ]  # fmt: skip


def is_tall_table(problem: Problem) -> bool:
    """Whether moments take fewer passes over the rows than steps and their certificate do."""
    if not _has_moments(problem):  # which rows out of memory have not
        return False
    design, (n, d) = problem.design, problem.design.shape
    if n * d <= SETTINGS.small_table or d > MAX_FEATURES_OF_TALL:
        return False
    rows_per_feature = ROWS_PER_FEATURE if design.dense else ROWS_PER_SPARSE_FEATURE
    most_entries = MAX_ENTRIES if design.dense else MAX_SPARSE_ENTRIES
    short_rows = design.n_entries <= most_entries * n and (design.dense or design.matrix.by_row)
    return n >= rows_per_feature * d and (short_rows or problem.penalty.is_quadratic)


def by_moments(context: SolverContext) -> None:
    """The model of least squares of a tall table, and its certificate, from moments of the data.

    The method ends unfinished if bounds on the rounding errors of moments are too large.

    Parameters
    ----------
    context : SolverContext
        An iteration is the whole method.
    """
    problem, monitor = context.problem, context.monitor
    (solution,) = path_by_moments(problem, np.array([problem.alpha]), monitor.tol)
    if solution is None:
        return
    theta = problem.matvec(problem.join(solution.coef, solution.intercept)) - problem.y
    if problem.fit_intercept:
        theta -= dot(problem.weights, theta)
    point = Point(solution.coef, solution.intercept, theta)
    monitor.accept(monitor.n_iter + 1, point, solution.certificate)
