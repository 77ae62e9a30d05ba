"""Dual points that are orthogonal to features that are not penalised.

For a feature j without a penalty, a dual point theta must have sum_i c_i x_ij theta_i = 0; if the
coefficient has a bound on one side, the sum must have one sign. The functions of this module
project theta onto the points of the box with these properties.
"""

from collections.abc import Callable
from functools import partial
from math import copysign, log2
from typing import cast

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from .. import kernels
from .._floats import EPSILON
from .._typing import Array, Indices, Mask
from .dependence import Dependence
from .interfaces import ProblemParts

NEARLY = 1e-6  # a sum below this times its size may have the wrong sign
CERTAIN = 1e-8  # an eigenvalue of scaled columns above it is not a rounding error
NEARLY_DEPENDENT = 1e-10  # relative remainder of a column that is a combination of others
SMALL = 1e-14  # a sum below this times its size counts as 0
MOST_STEPS = 50  # most Newton steps; about ten are usual
LARGEST_WHOLE = 2.0**20  # largest whole number whose products and sums are exact
RIDGE = 1e-14  # relative to a diagonal entry, for systems with dependent columns
PLAIN = 330  # columns with largest entries from 2^-330 to 2^330, 1e-99 to 1e99, stay as they are


def in_units(table: Array, heavy: Mask) -> tuple[Array, Indices]:
    """The columns of a table in units of powers of two, and the exponents of these.

    The columns are 2^-exponent times the given ones, so that their squares and products neither
    overflow nor vanish. Most columns stay as they are, with the exponent 0. Beside columns in
    other units the rows that are not ``heavy``, which have no weight, are 0.
    """
    if heavy.all() and len(table):  # without copies
        largest = np.maximum(np.max(table, axis=0), -np.min(table, axis=0))
    else:
        largest = np.max(np.abs(table), axis=0, initial=0.0, where=heavy[:, np.newaxis])
    _, exponents = np.frexp(largest)
    exponents[np.abs(exponents) <= PLAIN] = 0
    if exponents.any():
        table = np.where(heavy[:, np.newaxis], table, 0.0)
        table = np.asfortranarray(np.ldexp(table, -exponents))
    return table, exponents


def to_balance(problem: ProblemParts, theta: Array) -> Indices:
    """The indices of the free features whose sums must be made 0 by a projection or a change.

    A feature with a bound on one side is not among them if its sum clearly has the right sign, nor
    is one that is left out.
    """
    _, lower, upper = problem.penalty.free_features
    table, weights = problem.free.table, problem.weights
    if np.all(np.isinf(lower) & np.isinf(upper)):
        return np.delete(np.arange(table.shape[1]), problem.free.dependence.nearly)
    sums = (weights * theta) @ table
    sizes = np.sqrt(problem.free.squares) * kernels.max_abs(theta)
    negative = np.where(np.isinf(upper), -sums, -np.inf)
    wrong = np.maximum(negative, np.where(np.isinf(lower), sums, -np.inf))
    return np.flatnonzero(wrong >= -NEARLY * sizes)


def dependence(table: Array, ones: bool, precision: float = EPSILON) -> Dependence:
    """The columns of a table that are combinations of those before them.

    Combinations in exact arithmetic are detected if they are zeros, multiples by powers of two,
    constants, or sums and differences of columns of whole numbers, such as one-hot features. With
    ``ones``, a column of ones comes first. ``precision`` is that of the numbers.
    """
    n_columns = table.shape[1]
    if n_columns < len(table):
        gram = table.T @ table
        if ones:
            sums = np.sum(table, axis=0)
            corner = np.atleast_2d(float(len(table)))
            gram = np.block([[corner, sums], [sums[:, np.newaxis], gram]])
        sizes = np.sqrt(gram.diagonal())
        sizes[sizes == 0.0] = 1.0
        values = np.linalg.eigvalsh(gram / np.outer(sizes, sizes))
        if len(values) == 0 or values[0] > CERTAIN:
            nothing = np.zeros((n_columns + 1, 0))
            return Dependence(list(range(n_columns)), [], nothing, [], nothing, True)
    if ones:
        table = np.vstack([np.ones(len(table)), table.T]).T
    R = cast(Array, np.linalg.qr(table, mode="r"))
    return dependence_of_factor(R, ones, precision, partial(_is_exactly, table))


def dependence_of_factor(
    R: Array, ones: bool, precision: float, is_exact: Callable[[list[int], int, Array], bool]
) -> Dependence:
    """The `dependence` of columns with a triangular factor R, by orthogonalisation in order.

    A column is a combination if its residual is at most a rounding error: `NEARLY_DEPENDENT`
    times its distance from a constant, or a few units in the last place of its size.
    """
    sizes, tol = np.linalg.norm(R, axis=0), max(NEARLY_DEPENDENT, 64.0 * precision)
    basis = np.empty((len(R), 0))
    kept: list[int] = []
    others: list[int] = []
    for j in range(R.shape[1]):
        v, centred = R[:, j], sizes[j]
        for _ in range(2):  # a second time for what rounding has left
            v = v - basis @ (basis.T @ v)
        if ones and kept:
            centred = np.linalg.norm(R[:, j] - basis[:, 0] * (basis[:, 0] @ R[:, j]))
        left = float(np.linalg.norm(v))
        if left > max(tol * centred, 8.0 * precision * sizes[j]):
            basis = np.column_stack([basis, v / left])
            kept.append(j)
        else:
            others.append(j)
    factors = cast(Array, np.linalg.lstsq(R[:, kept], R[:, others], rcond=None)[0])
    nearly = [
        k for k, j in enumerate(others) if sizes[j] > 0.0 and not is_exact(kept, j, factors[:, k])
    ]
    if not ones:
        factors = np.vstack([np.zeros(len(others)), factors])
    others = [j - ones for j in others]
    return Dependence(
        [j - ones for j in kept if j >= ones],
        [others[k] for k in nearly], factors[:, nearly], others, factors,
    )  # fmt: skip


def _is_exactly(table: Array, kept: list[int], j: int, factors: Array) -> bool:
    """Whether a column is a combination of others in exact arithmetic.

    Multiples by powers of two and of ones are free of rounding, and sums of whole numbers.
    """
    used = np.flatnonzero(np.abs(factors) > NEARLY)
    parts, column = table[:, [kept[k] for k in used]], table[:, j]
    if len(used) == 1:
        is_constant = np.ptp(parts) == 0.0
        power = factor = float(column[0] if is_constant else factors[used[0]])
        if not (is_constant and parts[0, 0] == 1.0):
            power = copysign(2.0 ** (round(log2(abs(factor))) if factor else 0), factor)
        return bool(np.array_equal(power * parts[:, 0], column))
    factors = np.rint(factors[used])
    largest = max(float(np.max(np.abs(x), initial=0.0)) for x in (parts, column, factors))
    is_whole = all(np.array_equal(x, np.rint(x)) for x in (parts, column))
    return is_whole and largest < LARGEST_WHOLE and np.array_equal(parts @ factors, column)


def project_onto_free(problem: ProblemParts, theta: Array) -> Array:
    """The approximate projection onto the points of the box whose free sums vanish.

    With F the columns of the free features in question, and a column of ones with an intercept,
    the projection is clip(theta - F mu) to the box, for the mu at which the concave dual function

        sum_i c_i ((x_i - theta_i)^2 / 2 + (F mu)_i x_i),    x = clip(theta - F mu),

    is largest: a semismooth Newton method finds it.
    """
    features = to_balance(problem, theta)
    table, sizes = problem.free.table[:, features], np.sqrt(problem.free.squares[features])
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
        table_inside = table[inside]
        gram = table_inside.T @ (weights[inside, np.newaxis] * table_inside)
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
