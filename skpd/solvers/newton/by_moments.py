"""Models of least squares, one or for all alphas of a path, from the moments of a few features."""

import numpy as np
from scipy.linalg import LinAlgError, solve

from ..._typing import Array
from ...certificates import Certificate, largest_gap
from ...designs.gram import MatrixCurvature
from ...problems import Point, Problem, Solution
from ...problems.moments import Moments
from ..monitor import HISTORY_DTYPE
from ..solver_context import SolverContext
from .quadratic import quadratic_model
from .settings import SETTINGS

# The most features of a path for each alpha: with more, working sets of few of them take less time
FEATURES_OF_ALPHA = 40
# The most features of a single model, and the rows for each of them, of dense and sparse tables
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
    loss, outputs = problem.loss, problem.rows.of_outputs
    is_known = problem.penalty.structure.is_block_separable and problem.has_values
    if outputs:
        is_known = is_known and problem.penalty.is_ridge and problem.design.shares_data
    return (
        is_known and loss.constant_curvature and loss.conjugate_curvature == 1.0
        and not problem.design.leaves_features_out and problem.constraints is None
        and not len(problem.free_columns)
    )  # fmt: skip


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def path_by_moments(problem: Problem, alphas: Array, tol: float) -> list[Solution | None]:
    """The solutions for decreasing alphas, None where their gaps are above the tolerance.

    The steps and the certificates take the same time for any number of rows, and on small tables
    less than the decisions of a solver. Solutions come without the dual points of the rows.
    """
    moments = None
    if _has_moments(problem):
        n, d = problem.design.base.shape
        most = min(n, FEATURES_OF_ALPHA * len(alphas), SETTINGS.largest_working_set)
        moments = Moments(problem) if d <= most or is_tall_table(problem) else None
    if moments is None or not moments.in_range:
        return [None] * len(alphas)
    try:
        models = _models(problem, moments, alphas, tol)
    except LinAlgError:  # the matrix is singular up to rounding
        return [None] * len(alphas)
    certificates = moments.certificates(alphas.tolist(), models)
    n_steps = models[:, : moments.n_features].any(axis=(1, 2)).astype(int).tolist()

    def is_good(certificate: Certificate) -> bool:  # a gap may be nan
        goal = largest_gap(problem, tol, certificate.primal, certificate.dual)
        return 0.0 <= certificate.gap <= goal

    return [
        Solution(*problem.split(np.ravel(U)), None, certificate, n_iter, True, NO_HISTORY)
        if is_good(certificate)
        else None
        for U, n_iter, certificate in zip(models, n_steps, certificates, strict=True)
    ]  # fmt: skip


def _models(problem: Problem, moments: Moments, alphas: Array, tol: float) -> Array:
    """The models U of all alphas, each from the one before."""
    G, S, d, K = moments.gram, moments.sums, moments.n_features, problem.n_outputs
    means, of_targets = np.zeros(d), np.zeros(K)
    if problem.fit_intercept:
        means, of_targets = G[d, :d] / G[d, d], S[d] / G[d, d]
    # those of X and -Y less their means, as the best intercepts subtract them
    H = np.ascontiguousarray(G[:d, :d] - np.outer(G[:d, -1], means))
    slopes_at_0 = S[:d] - np.outer(G[:d, -1], of_targets) if problem.fit_intercept else S
    W, models = np.zeros((d, K)), np.zeros((len(alphas), len(G), K))
    model, columns, diagonal = quadratic_model(MatrixCurvature(H)), np.arange(d), np.arange(d)
    for U, alpha in zip(models, alphas.tolist(), strict=True):
        if alpha >= problem.largest_alpha:  # above, and not only within rounding, W = 0
            continue
        if problem.rows.of_outputs:
            shifted = H.copy()
            shifted[diagonal, diagonal] += alpha * problem.penalty.without_ridge()[0]
            W = np.asarray(solve(shifted, -slopes_at_0, assume_a="pos", check_finite=False))
        else:
            w, accuracy = W[:, 0], SHARE * tol * alpha
            slopes = H @ w + slopes_at_0[:, 0]
            w = model.minimise(slopes, w, problem.penalty, alpha, columns, accuracy)
            W = w[:, np.newaxis]
        U[:d] = W
    if problem.fit_intercept:
        models[:, d] = -of_targets - means @ models[:, :d]
    return models


def is_tall_table(problem: Problem) -> bool:
    """Whether moments take fewer passes over the rows than steps and their certificate do."""
    if not _has_moments(problem):  # which rows out of memory have not
        return False
    design = problem.design.base
    n, d = design.shape
    if problem.rows.of_outputs:
        return bool(d <= min(n, SETTINGS.largest_working_set))
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
        sums = problem.rows.sums(problem.weights * theta) / problem.rows.weights_of_free
        theta -= problem.rows.spread(sums)
    point = Point(solution.coef, solution.intercept, theta)
    monitor.accept(monitor.n_iter + 1, point, solution.certificate)
