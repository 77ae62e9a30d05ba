"""Dual points of observed entries of a matrix, with and without biases of both groupings."""

from fractions import Fraction
from math import inf

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skpd.losses import Hinge, Huber, Logistic, Squared
from skpd.models.completion.design import EntriesDesign
from skpd.models.completion.free_groups import FreeGroups
from skpd.models.completion.problem import entries_problem
from skpd.models.completion.rows import BalancedEntryPoint, EntryPoint, RowsOfEntries

EPSILON = 2.0**-52
ROOM = 1e-9
NOTHING = (0.0, 0.0)


def problem_of(rng, loss, biases=True, n=40, n_left=4, n_right=3):
    """A problem with repeated entries."""
    left, right = rng.integers(0, n_left, n), rng.integers(0, n_right, n)
    order = np.lexsort((right, left))
    left, right, c = left[order], right[order], rng.dirichlet(np.full(n, 5.0))
    y = rng.choice([-1.0, 1.0], n) if loss.of_labels else rng.normal(size=n)
    groups = FreeGroups(left, right, n_left, n_right, c) if biases else None
    design = EntriesDesign(left, right, n_left, n_right)
    return entries_problem(RowsOfEntries(design, y, c, loss, groups), 0.05)


@pytest.mark.parametrize("biases", [False, True])
def test_products_are_sums_of_the_rows_of_an_entry(biases, rng):
    problem = problem_of(rng, Hinge(), biases)
    theta, c = -problem.y * rng.uniform(0.1, 0.9, 40), problem.weights
    point, groups = problem.feasible_point(theta), problem.rows.groups
    products, errors = point.products(True)
    places = problem.rows.design.to_rows(np.arange(len(products)))
    sizes = np.bincount(places, c * np.abs(theta))
    assert_allclose(errors, (np.bincount(places).max() + 1.0) * EPSILON * sizes, rtol=1e-12)
    for k, (product, error) in enumerate(zip(products, errors, strict=True)):
        rows = np.flatnonzero(places == k)
        exact = sum(Fraction(c[i]) * Fraction(theta[i]) for i in rows)
        assert abs(exact - Fraction(product)) <= Fraction(error)
    size = (groups.largest_sums(theta), 0.0) if biases else NOTHING
    assert point.sums_without_products() == [size]
    assert problem.free_intervals(1.0) == [(-inf, inf) if biases else NOTHING]
    if not biases:
        assert problem.balanced(point) is point


def bounds_of(problem):
    """Bounds on dual variables, which are 0 for rows that no cycle contains."""
    lower, upper = problem.loss.dual_bounds(problem.y)
    some = problem.rows.groups.connected(lower, upper)
    return np.where(some, lower, 0.0), np.where(some, upper, 0.0)


@pytest.mark.parametrize("loss", [Hinge(), Huber(2.0), Squared()], ids=str)
def test_balanced_points(loss, rng):
    """The projection, less a share of 2e-9 that leaves room for a point with sums of 0."""
    problem = problem_of(rng, loss)
    if loss.of_labels:  # the first left group has one label only: its rows are in no cycle
        problem.y[problem.rows.groups.left == 0] = 1.0
    lower, upper = bounds_of(problem)
    assert_array_equal(problem.free.balanced_bounds, (lower, upper))
    start = np.clip(rng.normal(size=40), lower, upper)
    point = problem.balanced(problem.feasible_point(start))
    projected = problem.rows.groups.projected(start, lower, upper)
    expected = np.clip((1.0 - 2.0 * ROOM) * projected, lower, upper)
    assert_allclose(point.theta, expected, rtol=1e-15)
    assert not point.theta[lower == upper].any()
    assert problem.rows.groups.largest_sums(point.theta) < 1e-14
    assert point.sums_without_products() == [NOTHING]
    assert (lower == upper).any() == loss.of_labels


@pytest.mark.parametrize("scale", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("loss", [Hinge(), Huber(2.0), Squared(), Logistic()], ids=str)
def test_values_of_balanced_points(loss, scale, rng):
    """Less the flow on all paths, times the steepest chord to the ends of the room."""
    scale = scale if loss.dual_is_free else min(scale, 1.0)
    problem = problem_of(rng, loss)
    lower, upper = bounds_of(problem)
    # of which the sums differ from 0 by about 1e-13
    start = problem.rows.groups.projected(np.clip(rng.normal(size=40), lower, upper), lower, upper)
    start = np.clip(0.9 * start + 1e-13 * rng.normal(size=40), lower, upper)
    point, c = BalancedEntryPoint(problem, start), problem.weights
    flow = problem.rows.groups.largest_sums(point.theta)
    assert flow > 1e-14
    path, theta, y = 2.0 * (4 + 3) * flow, scale * point.theta, problem.y
    steepest, here = 0.0, loss.conjugate(y, theta)
    for side, bounds in ((-1.0, lower), (1.0, upper)):
        room = np.where(np.isfinite(bounds), ROOM * np.abs(bounds), 1.0)
        some = room > 0.0
        there = loss.conjugate(y[some], theta[some] + side * room[some])
        rounding = 16.0 * EPSILON * (np.abs(there) + np.abs(here[some]) + 1.0)
        rise = (there - here[some] + rounding) / room[some]
        steepest = max(steepest, float(np.max(rise)))
    value, error = EntryPoint(problem, point.theta).value(scale)
    found, rounding = point.value(scale)
    assert found == value
    assert_allclose(rounding - error, scale * path * steepest, rtol=1e-6)
    if loss.dual_is_free:  # slopes of the conjugates are theta + y
        most = np.max(np.abs(theta + y)) + 0.5
        assert_allclose(rounding - error, scale * path * most, rtol=1e-3)
    products, errors = point.products(True)
    sizes = np.bincount(problem.rows.design.to_rows(np.arange(len(products))))
    own = (sizes.max() + 1.0) * EPSILON * problem.rows.design.of_rows(np.abs(c * point.theta))
    assert_allclose(errors, np.sqrt(2.0 * (own**2 + path**2 / len(own))), rtol=1e-12)
    largest = loss.largest_scale(y, point.theta)
    assert point.largest_scale() == largest * (1.0 - 2.0 * ROOM) or largest == inf


@pytest.mark.parametrize("factor, finite", [(0.98, True), (1.02, False)])
@pytest.mark.parametrize("loss, room", [(Huber(2.0), 2.0 * ROOM), (Squared(), 1.0)], ids=str)
def test_no_point_where_sums_need_more_than_the_room(loss, room, factor, finite, rng):
    problem = problem_of(rng, loss)
    groups = problem.rows.groups
    theta = np.clip(np.zeros(40), *bounds_of(problem))
    theta[0] = 1.0
    change = groups.largest_sums(theta) / groups.weights.min()
    point = BalancedEntryPoint(problem, factor * room / change * theta)
    assert np.isfinite(point.value(1.0)[0]) == np.isfinite(point.value(0.5)[0]) == finite
    assert np.isfinite(point.value(0.5)[1]) and point.value(1.0)[0] < 1e-6
    if loss.dual_is_free and finite:
        assert point.value(1.05)[0] == -inf


def test_dual_points_without_a_cycle(rng):
    """Each group of one class alone: 0 is the only point, of value 0."""
    problem = problem_of(rng, Hinge())
    problem.y[:] = 1.0
    point = problem.balanced(problem.feasible_point(np.full(40, -0.5)))
    assert_array_equal(point.theta, np.zeros(40))
    assert point.value(1.0) == (0.0, 0.0)
