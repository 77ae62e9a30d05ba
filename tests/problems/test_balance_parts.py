"""The parts of an exact balance: directions, their sums, the change, and bounds on the rest."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skpd import kernels
from skpd.designs import Design
from skpd.losses import Absolute, Hinge, Huber, Squared
from skpd.penalties import L1, Separable, TotalVariation, WeightedL1
from skpd.problems import balance, linear_problem
from skpd.problems.balance import Direction, _Rows, balance_exactly
from tests.oracles.exact_sums import exact_sum

EPSILON = 2.0**-52


def problem_of(rng, loss, penalty, fit_intercept=True, X=None, weights=None):
    X = rng.normal(size=(14, 3)) if X is None else X
    y = np.where(np.arange(len(X)) % 2, 1.0, -1.0)
    c = rng.dirichlet(np.full(len(X), 5.0)) if weights is None else weights
    return linear_problem(Design(X), y, c, loss, penalty, 0.1, fit_intercept)


# Singular values


@pytest.mark.parametrize("least, kind", [
    (1.0, "gram"), (3.3e-7, "gram"), (2.3e-7, "qr"), (1e-9, "qr"), (1.4e-10, "qr"),
    (0.7e-10, None), (1e-13, None),
])  # fmt: skip
def test_min_singular_value_values(least, kind, rng):
    """By a Gram matrix as long as 8 (n + k) k units of precision allow, 2.8e-7 squared here."""
    A = np.linalg.qr(rng.normal(size=(20, 2)))[0] * [1.0, least]
    A = A @ np.linalg.qr(rng.normal(size=(2, 2)))[0]
    found = balance._min_singular_value(A)
    assert (found is not None) is (kind is not None)
    if kind:
        value, least_norm = found
        by_gram = balance.min_singular_value_by_gram(A.T @ A, len(A))
        assert (by_gram is not None) is (kind == "gram")
        assert 0.5 * least <= value <= 2.0 * least
        right = A.T @ (A @ np.array([1.0, -2.0]))
        q = least_norm(right)
        assert np.max(np.abs(A.T @ q - right)) <= 1e-6 * np.max(np.abs(right))
        Q = np.linalg.qr(A)[0]
        assert_allclose(Q @ (Q.T @ q), q, atol=1e-9)  # of least norm, as it is in the span of A


# Directions and their sums


@pytest.mark.parametrize("X, fit_intercept, n", [
    ([[1.0, 2.0], [2.0, 1.0], [0.5, 2.5], [3.0, 4.0]], True, 1),
    ([[1.0, 2.0], [2.0, 1.0], [0.5, 2.5], [3.0, 4.0]], False, 1),
    ([[1.0, -1.0], [2.0, -2.0], [0.0, 0.0], [3.0, 4.0]], False, 0),
    ([[1.0, -1.0], [2.0, -2.0], [0.0, 0.0], [3.0, 4.0]], True, 1),
    ([[1.0, 2.0], [2.0, 2.0], [0.5, 2.5], [3.0, 4.0]], True, 2),
    ([[1.0, 2.0], [2.0, 1.0 + 1e-15], [0.5, 2.5], [3.0, 4.0]], True, 2),
    ([[1.0, 1e-17], [1.0, 0.0], [0.0, 1.0], [3.0, 4.0]], True, 2),
    ([[1.0, 1e-17], [1.0, 0.0], [0.0, 1.0], [3.0, 4.0]], False, 1),
])  # fmt: skip
def test_a_level_that_is_constant_on_some_rows_is_no_direction(X, fit_intercept, n, rng):
    """The first three rows count; also sums that are equal only when rounded are a direction."""
    problem = problem_of(rng, Hinge(), TotalVariation(), fit_intercept, np.array(X))
    found = balance._directions(problem, np.arange(3))
    assert len(found) == n
    if fit_intercept:
        assert_array_equal(found[0].values, np.ones(4))
        assert found[0].low is None
    if n > fit_intercept:
        for row, high, low, error in zip(X, *found[-1][:3], strict=True):
            exact = sum(map(Fraction, row))
            assert abs(Fraction(high) + Fraction(low) - exact) <= Fraction(error)
    assert len(balance._directions(problem, np.arange(0))) == fit_intercept


def test_features_that_others_imply_on_some_rows_are_no_directions(rng, monkeypatch):
    X = rng.normal(size=(14, 5))
    X[:6, 1] = 2.0 * X[:6, 0]
    X[:, 3] = X[:, 0] / 3.0 + X[:, 1] / 7.0
    problem = problem_of(rng, Hinge(), WeightedL1([0.0, 0.0, 1.0, 0.0, 0.0]), X=X)
    places, every = np.array([0, 1, 3]), np.arange(14)
    some = [f.values for f in balance._of_features(problem, places, np.arange(6))]
    assert_array_equal(some, X[:, [0, 4]].T)
    fewer = [f.values for f in balance._of_features(problem, np.array([0, 3]), every)]
    assert_array_equal(fewer, X[:, [0, 4]].T)
    assert balance._of_features(problem, places[:0], every) == []
    assert problem.free.dependence.kept == [0, 1, 3]
    monkeypatch.setattr(balance, "dependence", None)
    found = [f.values for f in balance._of_features(problem, places, every)]
    assert_array_equal(found, X[:, [0, 1, 4]].T)


def test_sums_of_a_direction_and_a_point_in_parts(rng):
    """Their errors are those of precise products, and of what the values miss."""
    problem = problem_of(rng, Hinge(), L1())
    c, n = problem.weights, 14
    theta, change = rng.normal(size=n), 1e-12 * rng.normal(size=n)
    values, low, error = rng.normal(size=n), 1e-17 * rng.normal(size=n), 1e-30 * rng.random(n)
    for direction in (Direction(values), Direction(values, low), Direction(values, low, error)):
        rows = balance._Rows(problem, theta, np.arange(n), np.ones(n), np.zeros(n))
        exact, least, most = Fraction(0), 0.0, 0.0
        for part in (theta, change):
            total = 0.0
            for factor in direction[:2]:
                if factor is not None:
                    exact += exact_sum(c, part, factor)
                    term, rounding = kernels.compensated_dot(c, part, factor)
                    total += term
                    least, most = least + rounding, most + rounding + 2.0 * EPSILON * abs(total)
            if direction.error is not None:
                missed = float(c * direction.error @ np.abs(part))
                least, most = least + missed, most + 1.01 * missed
            ((value, bound),) = rows.sums([direction])
            assert abs(Fraction(value) - exact) <= Fraction(bound)
            assert least <= bound <= 1.01 * most + 2.0 * EPSILON * abs(value)
            rows.change = change
    only = Direction(np.zeros(n), None, error)
    _, bound = balance._sum(problem, only, theta)
    assert_allclose(bound, (1.0 + 1e-6) * (c * error @ np.abs(theta)), rtol=1e-8)


# The change and the rest


def room_of(problem, theta):
    lower, upper = problem.loss.dual_bounds(problem.y)
    room = np.minimum(np.minimum(theta - lower, upper - theta), np.max(np.abs(theta)))
    return np.where((problem.weights > 0.0) & (theta != 0.0), 0.5 * room, 0.0)


@pytest.mark.parametrize("noise", [1e-3, 1e-9])
@pytest.mark.parametrize("penalty, fit_intercept", [
    (L1(), True), (TotalVariation(), True), (TotalVariation(), False),
])  # fmt: skip
@pytest.mark.parametrize("loss", [Hinge(), Absolute(), Huber(1.0)], ids=str)
def test_changes_and_rests_are_those_of_the_formulas(loss, penalty, fit_intercept, noise, rng):
    """The least change in units of the room; rest and cost with factors of 2 and 2048."""
    X, c = np.repeat(rng.normal(size=(7, 3)), 2, axis=0), np.repeat(rng.dirichlet(np.ones(7)), 2)
    X, c[1] = X + 0.1 * rng.normal(size=(14, 3)), 0.0
    problem = problem_of(rng, loss, penalty, fit_intercept, X, c / np.sum(c))
    y, c, rows = problem.y, problem.weights, np.arange(4, 14)
    theta = -y * rng.uniform(0.4, 0.6, 14)
    theta[[0, 2, 3]] = 0.0
    F = np.column_stack([np.ones(10), X[rows].sum(axis=1)])
    F = F[:, not fit_intercept : 1 + problem.has_free_level]
    gram = F.T * c[rows] @ F
    theta[rows] -= F @ np.linalg.solve(gram, F.T @ (c[rows] * theta[rows]))
    theta[rows] += noise * rng.normal(size=10)
    found = balance_exactly(problem, theta)
    room = room_of(problem, theta)
    inside = np.flatnonzero(room > 1e-10 * np.max(room))
    assert_array_equal(inside, np.arange(4, 14))
    directions = balance._directions(problem, np.flatnonzero(theta))
    A = np.stack([f.values[inside] for f in directions], axis=1)
    A *= (np.sqrt(c[inside]) * room[inside])[:, np.newaxis]
    sizes = np.linalg.norm(A, axis=0)
    sums = np.array([float(exact_sum(c, theta, f.values)) for f in directions])
    units = np.linalg.lstsq((A / sizes).T, -sums / sizes, rcond=None)[0]
    change = np.zeros(14)
    change[inside] = room[inside] * units / np.sqrt(c[inside])
    assert_allclose(found.change, change, rtol=1e-6, atol=1e-6 * np.max(np.abs(change)))
    share = np.max(np.abs(found.change[inside]) / room[inside])
    assert_allclose(found.share, share, rtol=1e-14)
    assert_array_equal(found.endpoint, theta + found.change / found.share)
    both = balance._Rows(problem, theta, np.arange(14), room, found.change)
    left = both.sums(directions)
    left = np.array([abs(value) + error for value, error in left])
    least = np.linalg.svd(A / sizes, compute_uv=False)[-1]
    rest = 2.0 * np.sum(left / sizes) / least
    assert_allclose(found.residual, rest * np.max(room), rtol=1e-8)
    own = inside
    chords = [
        loss.conjugate(y[own], theta[own] + side * room[own]) - loss.conjugate(y[own], theta[own])
        for side in (-1.0, 1.0)
    ]
    steepest = np.max(np.abs(chords), axis=0)
    factor = 1.0 if loss.linear_conjugate else 2048.0
    cost = factor * 2.0 * rest * np.sqrt(np.sum(c[own] * steepest**2))
    assert_allclose(found.cost, cost, rtol=1e-8)
    assert len(found.columns) == 0


@pytest.mark.parametrize(
    "share, balanced", [(0.05, True), (0.24, True), (0.26, False), (0.4, False)]
)
def test_changes_are_at_most_a_quarter_of_the_room(share, balanced, rng):
    """For equal rows the change is minus the mean, and the room 1/2 times 1/2."""
    problem = problem_of(
        rng, Absolute(), L1(), weights=np.full(16, 1.0 / 16.0), X=np.ones((16, 1))
    )
    theta = 0.5 * np.where(np.arange(16) % 2, 1.0, -1.0)
    mean = share * 0.25
    theta[::2] += 2.0 * mean
    room = room_of(problem, theta)
    found = balance_exactly(problem, theta)
    assert (found is not None) is balanced
    if balanced:
        expected = -(room**2) * mean / np.mean(room**2)
        assert_allclose(found.change, expected, rtol=1e-12)
        assert (
            abs(exact_sum(problem.weights, theta) + exact_sum(problem.weights, found.change))
            < 1e-17
        )


def test_rows_near_the_boundary_stay(rng):
    """Those with less than 1e-10 times the largest room."""
    problem = problem_of(rng, Absolute(), L1(), weights=np.full(8, 0.125), X=np.ones((8, 1)))
    theta = np.array([0.5, -0.5, 0.5, -0.5 + 1e-6, 1.0 - 0.7e-10, 1.5e-10 - 1.0, 0.0, -1.0])
    theta[7] = -1e-3
    found = balance_exactly(problem, theta)
    room = room_of(problem, theta)
    assert (found.change == 0.0).tolist() == (room <= 1e-10 * np.max(room)).tolist()
    assert (found.change != 0.0).tolist() == [True] * 4 + [False, True, False, True]


@pytest.mark.parametrize("n_inside, found", [(1, False), (2, True)])
def test_as_many_rows_as_directions_are_enough(n_inside, found, rng):
    problem = problem_of(rng, Absolute(), TotalVariation(), weights=np.full(14, 1.0 / 14.0))
    theta = -problem.y
    theta[0], theta[1:n_inside] = 0.25, -0.5
    mean = np.mean(theta)
    sums = problem.design.table(np.arange(3)).sum(axis=1)
    assert mean != 0.0 and np.ptp(sums) > 0.0
    rows = _Rows(problem, theta, np.arange(n_inside), np.full(n_inside, 1e3), np.zeros(14))
    directions = balance._directions(problem, np.arange(14))
    if found:
        rest, cost = rows.balance(directions)
        assert rest < 1e-10 and cost > 0.0 and rows.change[:2].all() and not rows.change[2:].any()
    assert balance_exactly(problem, theta) is None


def test_features_with_a_clear_sign_are_not_balanced(rng):
    one_sided = Separable([0.0, 1.0, 0.0], 0.0, [-np.inf, -np.inf, 0.0], np.inf)
    problem = problem_of(rng, Squared(), one_sided)
    theta = rng.normal(size=14)
    F = np.column_stack([np.ones(14), problem.design.table(np.array([0]))])
    theta -= F @ np.linalg.solve(F.T * problem.weights @ F, F.T @ (problem.weights * theta))
    if problem.weights * theta @ problem.design.table(np.array([2]))[:, 0] < 0.0:
        theta *= -1.0
    found = balance_exactly(problem, theta)
    assert found.columns.tolist() == [0]
    for f in (np.ones(14), problem.free.table[:, 0]):
        left = exact_sum(problem.weights, theta, f) + exact_sum(problem.weights, found.change, f)
        assert abs(left) <= Fraction(1, 10**19)
    assert found.share < 1e-10


def test_what_is_free_besides_an_intercept(rng):
    """Features alone, or nothing."""
    problem = problem_of(rng, Squared(), WeightedL1([1.0, 0.0, 1.0]), False)
    theta, x = 0.1 * rng.normal(size=14), problem.free.table[:, 0]
    theta -= x * (x @ (problem.weights * theta)) / (problem.weights @ x**2)
    assert balance_exactly(problem, theta).columns.tolist() == [1]
    penalised = problem_of(rng, Squared(), L1(), False)
    assert balance_exactly(penalised, theta) is None


def test_a_second_correction_removes_what_the_first_leaves(rng):
    """Of directions of which the Gram matrix has a condition number of 1e10."""
    X = np.array([[1.0, 0.0, 0.0]]) + 1e-5 * rng.normal(size=(14, 3))
    problem = problem_of(rng, Absolute(), TotalVariation(), X=X)
    theta = -problem.y * rng.uniform(0.4, 0.6, 14)
    F, c = np.column_stack([np.ones(14), (X.sum(axis=1) - 1.0) * 1e5]), problem.weights
    theta -= F @ np.linalg.solve(F.T * c @ F, F.T @ (c * theta))
    found = balance_exactly(problem, theta + 1e-7 * rng.normal(size=14))
    assert found.residual < 1e-16
