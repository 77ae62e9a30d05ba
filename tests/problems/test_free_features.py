"""Unpenalised features: which are combinations of others, and the projection onto what they ask.

The tests of dependence are at both sides of each tolerance.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from skpd.designs import Design
from skpd.losses import Absolute, Hinge, Squared
from skpd.penalties import Separable, WeightedL1
from skpd.problems import free_features, linear_problem
from skpd.problems.free_directions import FreeDirections
from skpd.problems.free_features import (
    _is_exactly,
    dependence,
    dependence_of_factor,
    project_onto_free,
    to_balance,
)

NOT_SEPARABLE = np.array([[1.0, 1.0, 2.0], [2.0, 0.0, 2.0], [4.0, 5.0, 9.0], [3.0, -2.0, 1.0]])


def never(kept, j, factors):
    return False


@pytest.mark.parametrize("left, precision, kept", [
    (1.5e-10, 1e-16, True), (0.7e-10, 1e-16, False), (8e-6, 1e-7, True), (6e-6, 1e-7, False),
])  # fmt: skip
@pytest.mark.parametrize("size", [0.25, 4.0])
def test_what_is_left_of_a_dependent_column(left, precision, kept, size):
    """1e-10 of its size, or 64 units of the precision."""
    R = np.array([[1.0, size], [0.0, size * left]])
    found = dependence_of_factor(R, False, precision, never)
    assert found[:2] == (([0, 1], []) if kept else ([0], [1]))
    assert found.factors.shape == (len(found.kept) + 1, len(found.nearly))
    if not kept:
        assert_allclose(found.factors, [[0.0], [size]], atol=1e-12)
        assert dependence_of_factor(R, False, precision, lambda *_: True)[:2] == ([0], [])


@pytest.mark.parametrize("mean, left, precision, kept", [
    (0.5, 1.5e-10, 1e-16, True), (0.5, 0.4e-10, 1e-16, False), (8.0, 1.5e-10, 1e-16, True),
    (1000.0, 9.5e-9, 1e-12, True), (1000.0, 12e-9, 1e-12, True), (1000.0, 7e-9, 1e-12, False),
])  # fmt: skip
def test_what_is_left_beside_a_constant(mean, left, precision, kept):
    """1e-10 of the distance from a constant, or 8 units of the precision of its size."""
    R = np.array([[2.0, 1.0, mean], [0.0, 1.0, 0.5], [0.0, 0.0, left]])
    found = dependence_of_factor(R, True, precision, never)
    size = np.linalg.norm([mean, 0.5])
    assert kept == (left > max(1e-10 * 0.5, 8.0 * precision * size))
    assert found[:2] == (([0, 1], []) if kept else ([0], [1]))
    if not kept:
        assert_allclose(R[:, :2] @ found.factors, R[:, 2:], atol=1e-7)


def test_constants_and_zeros():
    """A column of zeros is a combination of none; a first column may be implied by the ones."""
    R = np.array([[2.0, 0.0, 6.0, 1.0], [0.0, 0.0, 0.0, 1.0]])
    found = dependence_of_factor(R, True, 1e-16, never)
    assert found[:2] == ([2], [1])
    assert_allclose(found.factors, [[3.0], [0.0]], atol=1e-12)
    table = np.column_stack([np.zeros(5), np.full(5, 3.7), np.arange(5.0), np.zeros(5)])
    assert dependence(table, True)[:2] == ([2], [])
    assert dependence(table, False)[:2] == ([1, 2], [])


@pytest.mark.parametrize("ones", [True, False])
def test_independent_columns_need_no_factor(ones, rng, monkeypatch):
    monkeypatch.setattr(free_features, "dependence_of_factor", None)
    table = rng.normal(size=(9, 4))
    table[:, 2] *= 1e9
    kept, nearly, factors, *_ = dependence(table, ones)
    assert kept == [0, 1, 2, 3] and nearly == [] and factors.shape == (5, 0)
    assert dependence(table[:, :0], ones)[0] == []
    near = np.column_stack([table[:, 0], table[:, 0] + 5e-4 * table[:, 1]])
    assert dependence(near, False).kept == [0, 1]  # eigenvalues of 1e-8 and more are certain


@pytest.mark.parametrize("shape", [(4, 4), (3, 5)])
def test_as_many_columns_as_rows(shape, rng):
    table = rng.normal(size=shape)
    assert dependence(table, False)[:2] == (list(range(shape[0])), list(range(shape[0], shape[1])))
    kept, nearly, factors, *_ = dependence(table, True)
    assert kept == list(range(shape[0] - 1)) and nearly == list(range(shape[0] - 1, shape[1]))
    found = factors[0] + table[:, kept] @ factors[1:]
    assert_allclose(found, table[:, nearly], atol=1e-10)


@pytest.mark.parametrize("column, factor, expected", [
    (2.0 * NOT_SEPARABLE[:, 0] + 0.5, 2.0, False),
    (4.0 * NOT_SEPARABLE[:, 0], 4.0 + 1e-15, True),
    (-0.125 * NOT_SEPARABLE[:, 0], -0.125, True),
    (3.0 * NOT_SEPARABLE[:, 0], 3.0, False),
    (0.0 * NOT_SEPARABLE[:, 0], 0.0, False),
])  # fmt: skip
def test_multiples_of_a_column(column, factor, expected):
    """Those by powers of 2 are exact."""
    table = np.column_stack([NOT_SEPARABLE[:, 0], column])
    if factor:
        assert _is_exactly(table, [0], 1, np.array([factor])) is expected
    assert dependence(table, False)[:2] == (([0], []) if expected or not factor else (
        ([0, 1], []) if factor == 2.0 else ([0], [1])
    ))  # fmt: skip


@pytest.mark.parametrize("constant, column, expected", [
    (1.0, 3.7, True), (1.0, -3.0, True), (3.7, 7.4, False), (2.0, 4.0, False),
])  # fmt: skip
def test_multiples_of_a_constant(constant, column, expected):
    """Those of ones are exact; others are compared by powers of 2 of their value."""
    table = np.column_stack([np.full(4, constant), np.full(4, column)])
    factors = np.array([column / constant * (1.0 + 1e-15)])
    assert _is_exactly(table, [0], 1, factors) is expected


@pytest.mark.parametrize("second, exact", [(0.9e-6, True), (1e-6, True), (1.5e-6, False)])
def test_small_factors_are_rounding_errors(second, exact, rng):
    table = np.column_stack([rng.normal(size=(5, 2)), np.zeros(5)])
    table[:, 2] = table[:, 0]
    assert _is_exactly(table, [0, 1], 2, np.array([1.0, second])) is exact


def test_sums_of_whole_numbers():
    """Below 2^20; and the rounded factors must give the column."""
    near = np.array([1.0 + 1e-9, 1.0 - 1e-9])
    assert _is_exactly(NOT_SEPARABLE, [0, 1], 2, near) is True
    assert _is_exactly(0.1 * NOT_SEPARABLE, [0, 1], 2, near) is False
    assert _is_exactly(np.abs(NOT_SEPARABLE), [0, 1], 2, near) is False
    for largest, exact in ((2.0**20 - 1.0, True), (2.0**20, False), (2.0**20 + 8.0, False)):
        table = np.array([[largest, 1.0, largest - 1.0], [1.0, 2.0, -1.0]])
        assert _is_exactly(table, [0, 1], 2, np.array([1.0, -1.0])) is exact
    assert dependence(NOT_SEPARABLE, False)[:2] == ([0, 1], [])
    assert dependence(NOT_SEPARABLE / 3.0, False)[:2] == ([0, 1], [2])


def test_combinations_of_other_columns(rng):
    """One-hot features, multiples by powers of 2 and constants are exact; sums of many are not."""
    one_hot = np.eye(4)[rng.integers(0, 4, 50)]
    assert dependence(one_hot, True)[:2] == ([0, 1, 2], [])
    assert dependence(one_hot, False).kept == [0, 1, 2, 3]
    thirds = np.array([[0.1, -0.1, 0.1 * 3], [0.7, -0.7, 0.7 * 3], [1.3, -1.3, 1.3 * 3]])
    assert dependence(thirds, False)[:2] == ([0], [2])  # three times a column is rounded
    table = rng.normal(size=(200, 100))
    table[:, 40:] = table[:, :40] @ rng.normal(size=(40, 60))
    kept, nearly, factors, *_ = dependence(table, False)
    assert kept == list(range(40)) and nearly == list(range(40, 100))
    assert_allclose(table[:, kept] @ factors[1:], table[:, nearly], rtol=1e-9, atol=1e-9)
    assert not factors[0].any()
    copies = table[:, np.arange(80) % 40] * np.repeat([1.0, -1.0], 40)
    assert dependence(copies, True).kept == list(range(40))


@pytest.mark.parametrize("ratio, clear", [(1.5e-6, True), (0.7e-6, False), (-1e-3, False)])
def test_sums_of_the_right_sign_need_no_balance(ratio, clear):
    """A coefficient with one bound asks for a sum of one sign, up to 1e-6 of its size."""
    signs = np.tile([1.0, -1.0], 3)
    X = np.column_stack([signs + ratio, signs - ratio, signs + ratio, signs, signs - ratio])
    lower = np.array([0.0, -np.inf, -np.inf, -np.inf, -1.0])
    upper = np.array([np.inf, 0.0, np.inf, np.inf, 1.0])
    penalty = Separable([0.0, 0.0, 0.0, 1.0, 0.0], 0.0, lower, upper)
    y, c = np.ones(6), np.full(6, 1.0 / 6.0)
    problem = linear_problem(Design(X), y, c, Absolute(), penalty, 0.1, False)
    assert to_balance(problem, np.full(6, 0.25)).tolist() == ([2] if clear else [0, 1, 2])
    free = linear_problem(Design(X), y, c, Absolute(), WeightedL1([0, 1, 0, 0, 1]), 0.1, False)
    every = np.delete(np.arange(3), free.free.dependence.nearly)
    assert_array_equal(to_balance(free, np.full(6, 0.25)), every)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("unit", [1.0, 1e8, 1e-8])
@pytest.mark.parametrize("loss, spread", [(Hinge(), 1.0), (Absolute(), 3.0), (Squared(), 3.0)])
def test_projections_onto_free_hyperplanes(loss, spread, unit, fit_intercept, rng):
    """Of the box's points with vanishing sums the nearest: theta less a combination, clipped."""
    for _ in range(4):
        X, y = rng.normal(size=(14, 3)), np.where(rng.random(14) < 0.5, 1.0, -1.0)
        c = rng.dirichlet(np.full(14, 3.0))
        X[:, 0] *= unit
        penalty = WeightedL1([0.0, 0.0, 1.0])
        problem = linear_problem(Design(X), y, c, loss, penalty, 0.1, fit_intercept)
        lower, upper = loss.dual_bounds(y)
        theta = np.clip(spread * rng.normal(size=14), lower, upper)
        found = project_onto_free(problem, theta)
        F = np.column_stack([np.ones(14), X[:, :2]][not fit_intercept :])
        F /= np.max(np.abs(F), axis=0)
        assert np.all((found >= lower) & (found <= upper))
        assert_allclose(F.T @ (c * found), 0.0, atol=3e-14)
        bounds = [(max(a, -99.0), min(b, 99.0)) for a, b in zip(lower, upper, strict=True)]
        expected = minimize(
            lambda x, theta=theta, c=c: c @ (x - theta) ** 2, np.zeros(14), bounds=bounds,
            jac=lambda x, theta=theta, c=c: 2.0 * c * (x - theta), method="SLSQP",
            constraints={"type": "eq", "fun": lambda x, F=F, c=c: F.T @ (c * x)},
            options={"ftol": 1e-15, "maxiter": 500},
        )  # fmt: skip
        assert_allclose(c @ (found - theta) ** 2, expected.fun, rtol=1e-5, atol=1e-12)


def test_many_more_features_than_rows_span_them():
    """That is taken for granted beyond 1e7 entries."""
    rows = SimpleNamespace(design=SimpleNamespace(shape=(3, 4_000_000)), fit_intercept=True)
    penalty = SimpleNamespace(free_features=SimpleNamespace(columns=range(3_400_000)))
    free = FreeDirections(rows, penalty)
    assert free.outnumber_rows
    free.__dict__["dependence"] = SimpleNamespace(kept=[0])
    penalty.free_features.columns = range(3_300_000)
    assert not free.outnumber_rows
