"""Changes of dual points over blocks of rows that balance their free sums exactly."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skpd.designs import RowBlocks
from skpd.losses import Absolute, Hinge, Huber, Squared
from skpd.penalties import L1, WeightedL1
from skpd.problems.balance import min_singular_value_by_gram
from skpd.problems.dual_points import BalancedPoint
from skpd.problems.shards import bounds
from skpd.problems.shards.problem_of_shards import problem_of_shards
from skpd.problems.shards.remote_dual import BalancingChange, RemoteDualPoint
from skpd.problems.shards.shard import Shard, Targets
from skpd.problems.shards.shards import LocalShards
from tests.oracles.exact_sums import exact_sum
from tests.problems.test_shard_points import N, inside, problems, shard_of


def room_of(problem, theta, largest):
    lower, upper = problem.loss.dual_bounds(problem.y)
    room = np.minimum(np.minimum(theta - lower, upper - theta), largest)
    room = np.where((problem.weights > 0.0) & (theta != 0.0), 0.5 * room, 0.0)
    return np.where(room > 1e-10 * largest, room, 0.0)


@pytest.mark.parametrize("columns, ones", [([], True), ([0, 2], True), ([1], False)])
@pytest.mark.parametrize("loss", [Hinge(), Huber(1.0), Squared()], ids=str)
def test_sums_of_changes(loss, columns, ones, rng):
    """Those of room_i^2 (F q)_i, with the room half the distance from the boundary."""
    penalty = WeightedL1([float(j not in columns) for j in range(3)])
    blocks, local, X = problems(rng, loss, penalty, ones)
    theta, y, c = inside(local, rng), local.y, local.weights
    theta[[0, 6]] = 0.0
    if loss.of_labels:  # rows at the boundary, or all but there
        theta[1] = -y[1]
        theta[3], theta[4] = -y[3] * (1.0 - 2e-10), -y[4] * (1.0 - 5.2e-10)
    largest = 2.0
    F = np.column_stack([np.ones(N), X[:, columns]][not ones :])
    q = 1e-2 * rng.normal(size=F.shape[1])
    change = BalancingChange(np.array(columns, dtype=int), ones, q, largest, 0.5)
    shard, key = shard_of(blocks), 99
    shard.vectors[key] = theta
    remote = RemoteDualPoint(key, change=change)
    room = room_of(local, theta, largest)
    moved = room**2 * (F @ q)
    scaled = (np.sqrt(c) * room)[:, np.newaxis] * F

    found = bounds.box_sums(shard, remote)
    assert_allclose(found["gram"], scaled.T @ scaled, rtol=1e-12, atol=1e-16)
    assert found["n_inside"] == np.count_nonzero(room)
    value, error = found["sums"].bounded
    for k, f in enumerate(F.T):
        assert abs(Fraction(value[k]) - exact_sum(c, theta, f)) <= Fraction(error[k])
        assert error[k] <= 1e-15

    found = bounds.balance_sums(shard, remote)
    value, error = found["residual"].bounded
    for k, f in enumerate(F.T):
        exact = exact_sum(c, theta, f) + exact_sum(c, moved, f)
        assert abs(Fraction(value[k]) - exact) <= Fraction(error[k] + 1e-17)
    own = room > 0.0
    assert_allclose(found["share"].value, np.max(np.abs(moved[own]) / room[own]), rtol=1e-12)
    assert_allclose(found["minus_root"].value, -np.sqrt(np.min(c[own])), rtol=1e-14)
    assert_allclose(found["slack"].value, np.max(room), rtol=1e-14)
    here = loss.conjugate(y[own], theta[own])
    chords = [
        np.abs(loss.conjugate(y[own], theta[own] + side * room[own]) - here)
        for side in (-1.0, 1.0)
    ]
    steepness = np.sum(c[own] * np.maximum(*chords) ** 2)
    assert_allclose(found["steepness"], steepness, rtol=1e-12)

    found = bounds.point_sums(shard, None, remote, True)
    towards = theta + moved / 0.5
    for name, point in (("products", theta), ("change_products", moved)):
        value, error = found[name].bounded
        exact = [float(exact_sum(c, point, x)) for x in X.T]
        assert_allclose(value, exact, rtol=1e-12, atol=1e-17)
    for prefix, point in (("", theta), ("boundary_", towards)):
        expected = loss.dual_value(y, c, point)[0]
        assert_allclose(found[f"{prefix}value_0"].bounded[0], expected, rtol=1e-12)
        scale = loss.largest_scale(y, point)
        assert_allclose(found[f"{prefix}minus_scale"].value, -scale, rtol=1e-12)
    values = bounds.dual_values(shard, remote, (0.5, 1.0))
    for k, scale in enumerate((0.5, 1.0)):
        expected = loss.dual_value(y, c, towards, scale)[0]
        assert_allclose(values[str(k)].bounded[0], expected, rtol=1e-12)
    assert "change_products" not in bounds.point_sums(shard, None, RemoteDualPoint(key), True)


def test_factors_of_columns(rng):
    """The triangular factor of the rows with a weight."""
    blocks, local, X = problems(rng, Hinge())
    F = np.column_stack([np.ones(N), X[:, [2, 0]]])[local.weights > 0.0]
    for ones in (True, False):
        found = bounds.free_factor(shard_of(blocks), np.array([2, 0]), ones)
        R, own = found["factor"].R, F[:, not ones :]
        assert_allclose(R.T @ R, own.T @ own, rtol=1e-12, atol=1e-13)
        assert found["precision"].value == local.design.precision


# Balanced points


@pytest.mark.parametrize("columns", [[], [1]])
@pytest.mark.parametrize("loss", [Hinge(), Squared(), Huber(1.0)], ids=str)
def test_balanced_points_of_shards(loss, columns, rng):
    """The sums vanish but for a rest, of which bound and cost are those of the formulas."""
    penalty = WeightedL1([float(j not in columns) for j in range(3)])
    blocks, local, X = problems(rng, loss, penalty)
    y, c = local.y, local.weights
    theta = local.projected(local.feasible_point(inside(local, rng))).theta
    theta = local.loss.project_dual(y, theta * 0.9 + 1e-4 * rng.normal(size=N))
    point = blocks.feasible_point(blocks.plain_dual(theta))
    found = blocks.balanced(point)
    assert isinstance(found, BalancedPoint) and not found.only_precise
    balance, changed, _ = point.sums.balanced
    given = point.sums.balanced
    assert blocks.balanced(point).balance is balance and point.sums.balanced is given
    room = room_of(local, theta, np.max(np.abs(theta)))
    F = np.column_stack([np.ones(N), X[:, columns]])
    moved = room**2 * (F @ changed.point.change.q)
    own = room > 0.0
    A = (np.sqrt(c) * room)[:, np.newaxis] * F
    sizes = np.linalg.norm(A, axis=0)
    expected = np.linalg.lstsq((A / sizes).T, -(F.T @ (c * theta)) / sizes, rcond=None)[0]
    assert_allclose(moved * np.sqrt(c), room * expected, atol=1e-12)
    left = [float(exact_sum(c, theta, f) + exact_sum(c, moved, f)) for f in F.T]
    assert np.max(np.abs(left)) < 1e-16
    assert_array_equal(balance.columns, columns)
    assert_allclose(balance.share, np.max(np.abs(moved[own]) / room[own]), rtol=1e-12)
    sums = bounds.balance_sums(shard_of(blocks), point.theta.changed(changed.point.change).point)
    values, errors = sums["residual"].bounded
    least = np.linalg.svd(A / sizes, compute_uv=False)[-1]
    rest = 2.0 * np.sum((np.abs(values) + errors) / sizes) / least
    assert_allclose(balance.residual, rest * np.max(room), rtol=1e-6)
    cost = 2048.0 * 2.0 * rest * np.sqrt(sums["steepness"])
    assert_allclose(balance.cost, cost, rtol=1e-6)
    assert changed.point.change.share == balance.share
    towards = theta + moved / balance.share
    assert_allclose(found._endpoint.value(1.0)[0], loss.dual_value(y, c, towards)[0], rtol=1e-12)
    value = (1.0 - balance.share) * loss.dual_value(y, c, theta)[0]
    value += balance.share * loss.dual_value(y, c, towards)[0]
    assert_allclose(found.value(1.0)[0], value, rtol=1e-12)
    products, _ = found.products(True)
    assert_allclose(products, X.T @ (c * theta) + X.T @ (c * moved), atol=1e-15)


@pytest.mark.parametrize("share, balanced", [(0.05, True), (0.2, True), (0.21, False)])
def test_changes_of_shards_are_at_most_a_quarter_of_the_room(share, balanced):
    theta = 0.5 * np.tile([1.0, -1.0], 8)
    theta[::2] += 0.5 * share
    X, loss = np.ones((16, 1)), Absolute()
    shards = LocalShards(Shard(RowBlocks(np.split(X, [3])), Targets(np.zeros(16)), loss))
    problem = problem_of_shards(shards, loss, L1(), 0.1, True)
    point = problem.feasible_point(problem.plain_dual(theta))
    lower, upper = -1.0, 1.0
    room = 0.5 * np.minimum(np.minimum(theta - lower, upper - theta), np.max(theta))
    change = room * np.mean(theta) / np.mean(room**2)
    assert bool(np.max(change) <= 0.25) is balanced
    assert (problem.balanced(point) is not point) is balanced
    if balanced:
        assert_allclose(point.sums.balanced[0].share, np.max(change), rtol=1e-12)


def test_points_that_shards_do_not_balance(rng):
    """Without directions, with fewer rows than those, with dependent ones, or with sums of 0."""
    blocks, local, _ = problems(rng, Hinge(), fit_intercept=False)
    point = blocks.feasible_point(blocks.plain_dual(inside(local, rng)))
    assert blocks.balanced(point) is point
    blocks, local, _ = problems(rng, Hinge(), WeightedL1([1.0, 0.0, 1.0]))
    theta = np.where(np.arange(N) == 5, -0.5, -1.0) * local.y
    point = blocks.feasible_point(blocks.plain_dual(theta))
    assert blocks.balanced(point) is point
    X = np.ones((8, 1))
    loss, y = Hinge(), np.tile([1.0, -1.0], 4)
    shards = LocalShards(Shard(RowBlocks([X[:3], X[3:]]), Targets(y), loss))
    problem = problem_of_shards(shards, loss, WeightedL1([0.0]), 0.1, True)
    point = problem.feasible_point(problem.plain_dual(-0.5 * y))
    found = problem.balanced(point)
    assert problem.left_out.tolist() == [0]
    balance = point.sums.balanced[0]
    assert balance.share == 0.0 and len(balance.columns) == 0
    assert_allclose(found.value(1.0)[0], 0.5, rtol=1e-12)
    assert found.products(True)[0] == [0.0]
    zeros = LocalShards(Shard(RowBlocks([0.0 * X[:3], 0.0 * X[3:]]), Targets(y), loss))
    problem = problem_of_shards(zeros, loss, WeightedL1([0.0]), 0.1, True)
    point = problem.feasible_point(problem.plain_dual(-0.5 * y))
    assert problem.balanced(point) is point


@pytest.mark.parametrize("least, known", [(1.0, True), (3.3e-7, True), (2.3e-7, False)])
def test_min_singular_value_values_of_gram_matrices(least, known, rng):
    """As long as 8 (n + k) k units of precision allow, 2.8e-7 squared here."""
    Q = np.linalg.qr(rng.normal(size=(2, 2)))[0]
    found = min_singular_value_by_gram(4.0 * Q.T @ np.diag([1.0, least**2]) @ Q, 20)
    assert (found is not None) is known
    if known:
        assert least <= found <= 4.0 * least
