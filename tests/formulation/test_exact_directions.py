"""Directions and their absence in whole numbers, against Fractions and against HiGHS."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog

from skpd.formulation import exact_directions
from skpd.formulation.exact_directions import ExactRows

FREE = np.ones((2, 10))


def rows_of(matrix, table):
    return ExactRows(sp.csr_array(np.asarray(matrix, dtype=float)), np.asarray(table, dtype=float))


def exactly(matrix, table):
    """The rows M T as fractions."""
    return [
        [
            sum((int(m) * Fraction(x) for m, x in zip(row, column, strict=True)), Fraction(0))
            for column in np.asarray(table, dtype=float).T
        ]
        for row in np.asarray(matrix)
    ]


def decide(matrix, table, columns=None, ends=None):
    exact = rows_of(matrix, table)
    columns = np.arange(np.shape(table)[1]) if columns is None else np.array(columns)
    ends = FREE[:, : len(columns)] if ends is None else np.array(ends, dtype=float)
    return exact, *exact.direction(columns, ends)


def products(exact, matrix, table, columns, d):
    """A d as fractions, with d in the units of the columns."""
    units = [Fraction(2) ** int(exact.unit[j]) for j in columns]
    rows = exactly(matrix, table)
    return [
        sum(row[j] / unit * x for j, unit, x in zip(columns, units, d.tolist(), strict=True))
        for row in rows
    ]


@pytest.mark.parametrize("seed", range(40))
def test_random_rows_as_by_fractions_and_highs(seed):
    """A direction is checked in fractions; if there is none, HiGHS finds Stiemke's multipliers."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(2, 12)), int(rng.integers(1, 4))
    matrix = np.eye(n, dtype=int) * rng.choice([-1, 1], size=n)
    table = rng.integers(-3, 4, size=(n, k)) * np.ldexp(1.0, rng.integers(-300, 300, size=k))
    exact, is_decided, d = decide(matrix, table)
    assert is_decided
    if d is not None:
        values = products(exact, matrix, table, range(k), d)
        assert min(values) >= 0 and max(values) > 0
    else:
        A = matrix @ np.ldexp(table, -np.frexp(np.abs(table).max(axis=0) + 5e-324)[1])
        proof = linprog(np.zeros(n), A_eq=A.T, b_eq=np.zeros(k), bounds=(1.0, None))
        assert proof.status == 0


@pytest.mark.parametrize("exponent", [10, 52, 60, 500, 1000])
def test_margins_far_below_rounding(exponent):
    margin = 2.0**-exponent
    signs = np.diag([-1, -1, 1, 1])
    for nearest, separates in ((margin, True), (-margin, False)):
        table = [[-1.0], [-nearest], [nearest], [1.0]]
        _, is_decided, d = decide(signs, table)
        assert is_decided and (d is not None) == separates


def test_columns_that_depend_up_to_the_last_digit():
    """With 1 + 2^-52 in place of 1 one direction lowers a row that all others leave alone."""
    table = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, 1.0]])
    assert decide(np.eye(3), table)[2] is None
    table[2, 1] += 2.0**-52
    exact, is_decided, d = decide(np.eye(3), table)
    assert is_decided and max(products(exact, np.eye(3), table, [0, 1], d)) > 0


def test_bounds_exclude_signs():
    table = [[1.0, 0.0], [2.0, -1.0]]
    for ends, there in (
        ([[1, 1], [1, 1]], True), ([[0, 0], [1, 1]], True), ([[0, 0], [1, 0]], False),
        ([[0, 1], [0, 0]], False), ([[0, 0], [0, 1]], True), ([[0, 0], [0, 0]], False),
    ):  # fmt: skip
        exact, is_decided, d = decide(np.eye(2), table, ends=ends)
        increases, decreases = np.array(ends)
        assert is_decided and (d is not None) == there
        if d is not None:
            assert all(x == 0 or (increases if x > 0 else decreases)[j] for j, x in enumerate(d))
            assert min(products(exact, np.eye(2), table, [0, 1], d)) >= 0


def test_some_columns_and_others_than_features():
    """Columns after the samples' are those of thresholds, which are whole numbers themselves."""
    matrix = np.array([[1, 0, -1], [0, -1, 1]])
    table = np.array([[3.0, 0.1], [1.0, 0.1]])
    exact = rows_of(matrix, table)
    assert exact.direction(np.array([0, 2]), np.ones((2, 2)))[1] is not None
    assert exact.direction(np.array([1, 2]), np.ones((2, 2))) == (True, None)
    assert exact.rows(np.array([0]))[0].tolist()[2] == -1
    assert exact.total().tolist()[2] == 0


def test_levels_are_exact():
    table = np.array([[1.0, 1.0], [1.0 + 2.0**-52, 1.0], [1.0, 1.0 + 2.0**-52]])
    exact = rows_of(np.eye(3), table)
    levels = exact.levels(np.array([0, 1]), np.array([1, -1], dtype=object))
    assert levels.tolist() == [1, 2, 0]


def test_what_takes_too_long_is_not_decided(monkeypatch):
    table = np.arange(6.0).reshape(3, 2)
    assert decide(np.eye(3), table)[1]
    monkeypatch.setattr(exact_directions, "MOST_COLUMNS", 1)
    assert decide(np.eye(3), table)[1:] == (False, None)
    monkeypatch.setattr(exact_directions, "MOST_COLUMNS", 32)
    monkeypatch.setattr(exact_directions, "LARGEST", 5)
    assert decide(np.eye(3), table)[1:] == (False, None)
    monkeypatch.setattr(exact_directions, "LARGEST", 3e6)
    monkeypatch.setattr(exact_directions, "MOST_PIVOTS", 0)
    assert decide(np.eye(3), table)[1:] == (False, None)


@pytest.mark.parametrize("left, is_rounding", [(2.0**-52, True), (2.0**-44, False)])
def test_what_is_left_of_dependent_columns(left, is_rounding):
    table = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, 1.0 + left]])
    exact, _, d = decide(np.eye(3), table)
    assert exact.is_rounding(np.arange(2), d) == is_rounding
    margins = decide(np.eye(2), [[2.0**-60], [2.0**-61]])
    assert not margins[0].is_rounding(np.arange(1), margins[2])
