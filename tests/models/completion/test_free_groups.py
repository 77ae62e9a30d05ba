"""Sums over two groupings of rows: projections onto vanishing sums, and their Newton's method."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from skpd.models.completion import free_groups
from skpd.models.completion.free_groups import FreeGroups, Smooth


def random_groups(rng, n=40, n_left=5, n_right=4):
    left, right = rng.integers(0, n_left, n), rng.integers(0, n_right, n)
    left[:n_left], right[:n_right] = np.arange(n_left), np.arange(n_right)
    return FreeGroups(left, right, n_left, n_right, rng.dirichlet(np.ones(n)))


def indicators(groups):
    """The matrix F of the groups of every row."""
    F = np.zeros((len(groups.left), groups.n_left + groups.n_right))
    rows = np.arange(len(F))
    F[rows, groups.left] = F[rows, groups.n_left + groups.right] = 1.0
    return F


@pytest.mark.parametrize("few", [400, 0])
def test_sums_and_systems_of_weights(few, rng, monkeypatch):
    """The systems of few groups are solved directly, others by conjugate gradients."""
    monkeypatch.setattr(free_groups, "FEW_GROUPS", few)
    groups = random_groups(rng)
    F, free, rows = indicators(groups), rng.normal(size=9), rng.normal(size=40)
    assert_allclose(groups.values(free), F @ free, rtol=1e-14)
    assert_allclose(groups.sums(rows), F.T @ rows, atol=1e-14)
    right_side = F.T @ rows
    found = groups.solve_for_weights(right_side, 1e-12)
    assert_allclose(F.T @ (groups.weights * (F @ found)), right_side, atol=1e-9)
    assert groups._is_small is (few == 400)


@pytest.mark.parametrize("few", [400, 0])
@pytest.mark.parametrize("reach", [np.inf, 0.7])
def test_projections(reach, few, rng, monkeypatch):
    """Of the points between bounds with vanishing sums the nearest, by SLSQP."""
    monkeypatch.setattr(free_groups, "FEW_GROUPS", few)
    groups = random_groups(rng, 30, 3, 3)
    F, c, theta = indicators(groups), groups.weights, rng.normal(size=30)
    lower, upper = np.full(30, -reach), np.full(30, reach)
    found = groups.projected(theta, lower, upper)
    assert np.max(np.abs(found)) <= reach
    assert_allclose(F.T @ (c * found), 0.0, atol=1e-15)
    F = F[:, :-1]  # the sums of both groupings are the same
    expected = minimize(
        lambda x: c @ (x - theta) ** 2, np.zeros(30), jac=lambda x: 2.0 * c * (x - theta),
        bounds=[(-reach, reach)] * 30, method="SLSQP", options={"ftol": 1e-15, "maxiter": 500},
        constraints={"type": "eq", "fun": lambda x: F.T @ (c * x), "jac": lambda x: F.T * c},
    )  # fmt: skip
    assert_allclose(c @ (found - theta) ** 2, expected.fun, rtol=1e-7)


@pytest.mark.parametrize("reach", [np.inf, 0.7])
def test_a_projection_minimises_a_function_with_the_sums_as_its_gradient(reach, rng, monkeypatch):
    groups, theta, free = random_groups(rng), rng.normal(size=40), rng.normal(size=9)
    functions, original = [], FreeGroups.minimised
    monkeypatch.setattr(
        FreeGroups,
        "minimised",
        lambda self, at, *rest: (functions.append(at), original(self, at, *rest))[1],
    )
    groups.projected(theta, np.full(40, -reach), np.full(40, reach))
    [at] = functions
    u, c = theta + groups.values(free), groups.weights
    assert_allclose(at(free).slopes, c * np.clip(u, -reach, reach), rtol=1e-12)
    assert_allclose(at(free).curvature, c * (np.abs(u) < reach), rtol=1e-12)
    width = 1e-6 * np.eye(9)
    differences = [at(free + h).value - at(free - h).value for h in width]
    assert_allclose(np.array(differences) / 2e-6, groups.sums(at(free).slopes), atol=1e-8)


class Script:
    """A function of one left and one right group, of which values and slopes are prescribed."""

    groups = FreeGroups(np.array([0]), np.array([0]), 1, 1, np.array([1.0]))

    def __init__(self, *points):
        self.points, self.seen = [*points], []

    def __call__(self, free):
        self.seen.append(free)
        value, slope = self.points.pop(0) if len(self.points) > 1 else self.points[0]
        return Smooth(value, np.array([slope]), np.array([1.0]))

    def minimised(self, enough=1e-9):
        return self.groups.minimised(self, np.zeros(2), enough, 1e-12)


def step_of(slope):
    """Newton's step at a slope, with a ridge of 0.1 times its root."""
    ridge = 0.1 * np.sqrt(abs(slope))
    return np.linalg.solve(np.ones((2, 2)) + ridge * np.eye(2), [slope, slope])


def test_newton_steps_have_a_ridge():
    script = Script((1.0, 0.04), (0.0, 0.0))
    free, here = script.minimised()
    assert_allclose(script.seen, [np.zeros(2), -step_of(0.04)], rtol=1e-12)
    assert_array_equal(free, script.seen[1])
    assert here.value == 0.0


@pytest.mark.parametrize("decrease, slope, accepted", [
    (1.5e-4, 0.04, True), (0.9e-4, 0.04, False), (-1.0, 0.02, True), (-1.0, 0.0201, False),
    (1e-4, 0.04, True), (-1.0, -0.02, True),
])  # fmt: skip
def test_a_step_decreases_the_value_or_halves_the_sums(decrease, slope, accepted):
    """By 1e-4 of what the slopes predict."""
    predicted = float(np.sum(0.04 * step_of(0.04)))
    first = 1.0, 0.04
    script = Script(first, (1.0 - decrease * predicted * (1.0 + 1e-9), slope), (0.0, 0.0))
    free, here = script.minimised()
    expected = [1.0] if accepted else [1.0, 0.5]
    steps = script.seen[1 : 1 + len(expected)]
    assert_allclose(steps, np.outer(expected, -step_of(0.04)), rtol=1e-12)
    if accepted:  # the next step begins there
        assert_allclose(script.seen[2], steps[0] - step_of(slope), rtol=1e-12)
    else:
        assert_array_equal(free, steps[1])
    assert here.value == 0.0


def test_predictions_are_of_shorter_steps():
    """A step of one half needs one half of the decrease."""
    predicted = float(np.sum(0.04 * step_of(0.04)))
    script = Script((1.0, 0.04), (2.0, 0.04), (1.0 - 0.6e-4 * predicted, 0.04), (0.0, 0.0))
    script.minimised()
    assert_allclose(script.seen[2], -0.5 * step_of(0.04), rtol=1e-12)
    assert_allclose(script.seen[3], -1.5 * step_of(0.04), rtol=1e-12)


def test_the_method_gives_up():
    """After 30 halvings or 50 steps; where the sums are small it does not begin."""
    script = Script((1.0, 0.04), (1.0, 0.04))
    free, here = script.minimised()
    assert len(script.seen) == 1 + 30 and not free.any() and here.value == 1.0
    assert_allclose(script.seen[-1], -(0.5**29) * step_of(0.04), rtol=1e-12)
    endless = Script((1.0, 0.04), *((-float(k), 0.04) for k in range(99)))
    endless.minimised()
    assert len(endless.seen) == 1 + 50
    for enough, n_seen in ((0.04, 1), (0.039, 2)):
        script = Script((1.0, 0.04), (0.0, 0.0))
        script.minimised(enough)
        assert len(script.seen) == n_seen


def test_rows_that_connect_groups():
    """With bounds on one side a group of one kind of row alone has no way back."""
    left, right = np.array([0, 0, 1, 1, 2]), np.array([0, 1, 0, 1, 0])
    lower, upper = np.array([-1.0, 0.0, 0.0, -1.0, -1.0]), np.array([0.0, 1.0, 1.0, 0.0, 0.0])
    for share, whole in ((1.0, True), (1.5e-6, True), (0.7e-6, False)):
        weights = 2.0**-10 * np.array([share, 1.0, 1.0, 1.0, 1.0])
        groups = FreeGroups(left, right, 3, 2, weights)
        assert groups.connected(lower, upper).tolist() == [whole] * 4 + [False]
        least = 2.0**-10 * (share if whole else 1.0)
        assert groups.least_strong_weight == least
        both = FreeGroups(left, right, 3, 2, np.array([*weights[:4], 2.0**-11]))
        assert both.connected(np.full(5, -1.0), np.ones(5)).tolist() == [True] * 5
        assert both.least_strong_weight == min(least, 2.0**-11)


def test_sums_are_rounded_up(rng):
    """Products +a and -a in each group leave (2 + 4) units of extended precision of 2 a."""
    groups = random_groups(rng)
    theta = rng.normal(size=40)
    terms = [Fraction(a) * Fraction(b) for a, b in zip(groups.weights, theta, strict=True)]
    exact = Fraction(0)
    for of_rows, n in ((groups.left, 5), (groups.right, 4)):
        for k in range(n):
            exact += abs(sum(terms[i] for i in np.flatnonzero(of_rows == k)))
    found = Fraction(groups.largest_sums(theta)) / exact
    assert 0.99e-6 < float(found - 1) < 1.01e-6
    opposed = FreeGroups(np.array([0, 0]), np.array([1, 1]), 1, 2, np.array([0.5, 0.5]))
    unit = float(np.finfo(np.longdouble).eps)
    found = opposed.largest_sums(np.array([0.3, -0.3]))
    assert_allclose(found, 2.0 * (2.0 + 4.0) * unit * 0.3 * (1.0 + 1e-6), rtol=1e-9)
