"""Dual points that are orthogonal to features that are not penalised.

For a feature j without a penalty, a dual point theta must have sum_i c_i x_ij theta_i = 0; if the
coefficient has a bound on one side, the sum must have one sign. The functions of this module
project theta onto the points of the box with these properties.
"""

from math import sqrt
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, solve_triangular

from .. import kernels
from .._typing import Array, Indices

NEARLY = 1e-6  # a sum below this times its size may have the wrong sign
CERTAIN = 1e-8  # an eigenvalue of scaled columns above it is not a rounding error
HOPELESS = 1e-11  # a column whose remainder is below this times its size is implied by others
SMALL = 1e-14  # a sum below this times its size counts as 0
MOST_STEPS = 50  # most Newton steps; about ten are usual
LARGEST_WHOLE = 2.0**20  # largest whole number whose products and sums are exact
RIDGE = 1e-14  # relative to a diagonal entry, for systems with dependent columns


def to_balance(problem: Any, theta: Array) -> Indices:
    """The indices of the free features whose sums must be made 0 by a projection or a change.

    A feature with a bound on one side is not among them if its sum clearly has the right sign.
    """
    _, lower, upper = problem.penalty.free_features
    table, weights = problem.free.table, problem.weights
    if np.all(np.isinf(lower) & np.isinf(upper)):
        return np.arange(table.shape[1])
    sums = (weights * theta) @ table
    sizes = np.sqrt(problem.free.squares) * kernels.max_abs(theta)
    wrong = np.maximum(
        np.where(np.isinf(upper), -sums, -np.inf), np.where(np.isinf(lower), sums, -np.inf)
    )
    return np.flatnonzero(wrong >= -NEARLY * sizes)


def independent_columns(table: Array, ones: bool) -> list[int]:
    """The columns of a table without those that are combinations of others in exact arithmetic.

    Combinations are detected if they are zeros, copies, or sums and differences of columns of
    whole numbers, such as one-hot features. With ``ones``, a column of ones comes first.
    """
    if ones:
        table = np.vstack([np.ones(len(table)), table.T]).T
    gram = table.T @ table
    sizes = np.sqrt(gram.diagonal())
    if np.all(sizes > 0.0):
        values = np.linalg.eigvalsh(gram / np.outer(sizes, sizes))
        if len(values) == 0 or values[0] > CERTAIN:
            return list(range(table.shape[1] - ones))
    kept = _without_combinations(table, gram, sizes)
    return [j - ones for j in kept if j >= ones]


def _without_combinations(table: Array, gram: Array, sizes: Array) -> list[int]:
    """The columns that `independent_columns` keeps, by a growing Cholesky factor.

    The factor is that of the Gram matrix of the columns kept so far. All columns are kept from the
    first one on whose dependence cannot be decided.
    """
    largest = np.max(np.abs(table), axis=0, initial=0.0)
    whole = np.all(table == np.rint(table), axis=0) & (largest < LARGEST_WHOLE)
    kept: list[int] = []
    factor = np.zeros_like(gram)
    for j in range(table.shape[1]):
        if largest[j] == 0.0:
            continue
        k = len(kept)
        row = solve_triangular(factor[:k, :k], gram[kept, j], lower=True) if k else np.empty(0)
        left = float(np.sqrt(max(gram[j, j] - row @ row, 0.0)))
        if k and left <= sqrt(CERTAIN) * sizes[j]:
            factors = solve_triangular(factor[:k, :k], row, lower=True, trans=1)
            if _is_exactly(table, kept, j, np.rint(factors), whole):
                continue
            left = float(np.linalg.norm(table[:, j] - table[:, kept] @ factors))
            if left <= HOPELESS * sizes[j]:
                return [*kept, *range(j, table.shape[1])]
        factor[k, :k], factor[k, k] = row, left
        kept.append(j)
    return kept


def _is_exactly(table: Array, kept: list[int], j: int, factors: Array, whole: Array) -> bool:
    """Whether a column is a combination of others by whole factors, in exact arithmetic.

    The sums are free of rounding for copies, also with the opposite sign, and for whole numbers.
    """
    used = factors != 0.0
    is_exact = bool(whole[np.array(kept)[used]].all()) or float(np.abs(factors).sum()) == 1.0
    if not (is_exact and float(np.abs(factors).max()) < LARGEST_WHOLE):
        return False
    # a few rows are compared first, which suffice to rule out most combinations
    parts = table[:100], table
    return all(np.array_equal(part[:, kept] @ factors, part[:, j]) for part in parts)


def project_onto_free(problem: Any, theta: Array) -> Array:
    """The approximate projection onto the points of the box whose free sums vanish.

    With F the columns of the free features in question, and a column of ones with an intercept,
    the projection is clip(theta - F mu) to the box, for the mu at which the concave dual function

        sum_i c_i ((x_i - theta_i)^2 / 2 + (F mu)_i x_i),    x = clip(theta - F mu),

    is largest: a semismooth Newton method finds it.
    """
    places = to_balance(problem, theta)
    table, sizes = problem.free.table[:, places], np.sqrt(problem.free.squares[places])
    if problem.fit_intercept:
        table = np.column_stack([np.ones(problem.n_samples), table])
        sizes = np.append(1.0, sizes)  # the weights sum to 1
    weights = problem.weights
    lower, upper = problem.loss.dual_bounds(problem.y)
    target = SMALL * sizes * kernels.max_abs(theta)

    def at(mu: Array) -> tuple[Array, Array, float]:
        shift = table @ mu
        x = np.clip(theta - shift, lower, upper)
        return x, (weights * x) @ table, float(weights @ (0.5 * (x - theta) ** 2 + shift * x))

    mu = np.zeros(table.shape[1])
    x, sums, value = at(mu)
    for _ in range(MOST_STEPS):
        if np.all(np.abs(sums) <= target):
            break
        inside = np.flatnonzero((x > lower) & (x < upper))
        some = table[inside]
        gram = some.T @ (weights[inside, np.newaxis] * some)
        gram.ravel()[:: len(gram) + 1] += RIDGE * sizes * sizes
        try:
            step = cho_solve(cho_factor(gram), sums)
        except LinAlgError:
            break
        for _ in range(MOST_STEPS):
            next_x, next_sums, next_value = at(mu + step)
            if next_value >= value:
                break
            step *= 0.5
        else:
            break
        largest, before = (np.max(np.abs(total) / sizes) for total in (next_sums, sums))
        if largest >= before and next_value == value:
            break
        mu, x, sums, value = mu + step, next_x, next_sums, next_value
    return x
