"""Sums of dual points over blocks of rows: those in memory to the last digits, and bounds."""

from fractions import Fraction
from math import prod

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skpd.designs import Design, RowBlocks
from skpd.losses import Absolute, Hinge, Huber, Logistic, Poisson, Squared
from skpd.losses.shifted import with_offset
from skpd.penalties import L1, WeightedL1
from skpd.problems import linear_problem
from skpd.problems.dual_points import BalancedPoint
from skpd.problems.shards import bounds
from skpd.problems.shards.build import problem_of_shards
from skpd.problems.shards.points import DualSums, gathered_part
from skpd.problems.shards.recipes import Change, DualRecipe
from skpd.problems.shards.shard import Shard, Targets
from skpd.problems.shards.shards import LocalShards

EPSILON = 2.0**-52
NOTHING = (0.0, 0.0)
N, CUTS = 30, [4, 5, 17]


def data_of(rng, loss, n=N):
    X, weights = rng.normal(size=(n, 3)), rng.uniform(0.5, 1.5, n)
    y = rng.choice([-1.0, 1.0], n) if loss.of_labels else rng.normal(size=n) + 0.5
    y = rng.poisson(2.0, n).astype(float) if loss.has_log_link else y
    weights[2] = weights[9] = 0.0
    y[9] = y[9] if loss.of_labels else 50.0  # of no weight
    return X, y, weights


def problems(rng, loss, penalty=None, fit_intercept=True):
    """The same problem in blocks and in memory, with weights that have the same rounding."""
    X, y, weights = data_of(rng, loss)
    penalty = penalty or L1()
    shards = LocalShards(Shard(RowBlocks(np.split(X, CUTS)), Targets(y, weights), loss))
    blocks = problem_of_shards(shards, loss, penalty, 0.1, fit_intercept)
    total = blocks.total_weight
    local = linear_problem(Design(X), y, weights / total, loss, penalty, 0.1, fit_intercept)
    return blocks, local, X


def shard_of(problem):
    return problem.rows.shards._shard


def inside(problem, rng):
    lower, upper = (np.clip(x, -1.0, 1.0) for x in problem.loss.dual_bounds(problem.y))
    return lower + rng.uniform(0.3, 0.7, len(lower)) * (upper - lower)


def exact_sum(*vectors):
    total = Fraction(0)
    for entries in zip(*(np.asarray(x).tolist() for x in vectors), strict=True):
        total += prod(map(Fraction, entries))
    return total


LOSSES = pytest.mark.parametrize(
    "loss", [Hinge(), Logistic(), Squared(), Huber(1.0), Absolute(), Poisson()], ids=str
)


@LOSSES
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_sums_before_a_model(fit_intercept, loss, rng):
    """Targets, strata, the best constant, and the sums over columns."""
    blocks, local, X = problems(rng, loss, fit_intercept=fit_intercept)
    targets, y, c = blocks.rows.targets, local.y, local.weights
    heavy = c > 0.0
    assert targets.n_heavy == N - 2
    assert (targets.least, targets.largest) == (np.min(y[heavy]), np.max(y[heavy]))
    assert targets.offsets == NOTHING
    sums = [targets.above, targets.below, targets.mean]
    assert_allclose(sums, [c @ (y > 0.0), c @ (y <= 0.0), c @ y], rtol=1e-13)
    for found, own in zip(blocks.rows.strata, local.rows.strata, strict=True):
        assert_allclose([found.total, found.centre], [own.total, own.centre], rtol=1e-13)
        assert own.error <= found.error <= own.error + 40.0 * EPSILON * abs(own.centre)
    assert_allclose(blocks.null_objective, local.null_objective, rtol=1e-8)
    assert 0.0 <= blocks.null_rounding <= 1e-13 * blocks.null_objective
    constant = blocks.null_point.intercept
    assert_allclose(constant, local.null_point.intercept, atol=1e-6)
    null = blocks.rows.null_sums
    value = c @ loss.value(y, np.full(N, constant))
    assert_allclose(null.objective, value, rtol=1e-13)
    far = np.full(N, loss.distant_constant(constant))
    assert_allclose(null.distant, c @ loss.value(y, far), rtol=1e-13)
    slopes = np.abs(loss.gradient(y, np.full(N, constant)))
    assert_allclose([null.slope, null.steepest], [c @ slopes, np.max(slopes)], rtol=1e-12)
    lower, upper = loss.dual_bounds(y)
    assert null.dual_range == np.max(upper - lower)
    assert_allclose(blocks.squares, local.squares, rtol=1e-13)
    theta = np.asarray(blocks.dual_table(blocks.null_point.dual_coef))
    assert_allclose(blocks.null_gradient, X.T @ (c * theta), atol=1e-15)
    assert abs(blocks.rows.null_slope - c @ theta) < 1e-15
    means = zip(blocks.rows.mean_rows, local.rows.mean_rows, strict=True)
    for (found, error), (own, _) in means:
        assert_allclose(found, own, rtol=1e-13)
        assert np.all(error <= 60.0 * EPSILON * (np.abs(c) @ np.abs(X)) / 0.1)
    assert_allclose(blocks.free_intervals(1.0), local.free_intervals(1.0), rtol=1e-12)


def test_rounding_of_strata(rng):
    """One unit of the sums beside the errors of their blocks, and 16 of the mean."""
    blocks, local, _ = problems(rng, Squared())
    found = bounds.target_sums(shard_of(blocks))
    parts = np.split(np.arange(N), CUTS)
    y, c = local.y, local.weights
    strata = [local.loss.strata(y[p], c[p])[0] for p in parts]
    moments = np.array([s.centre * s.total for s in strata])
    errors = sum(s.error * s.total for s in strata) + EPSILON * np.sum(np.abs(moments))
    assert_allclose(found["moment_0"].error, errors, rtol=1e-3)


def test_sums_over_offsets(rng):
    """The least and the largest of rows with a weight; a row without one has another."""
    y, weights, offset = np.tile([1.0, -1.0], 4), np.ones(8), rng.normal(size=8)
    weights[3], offset[3] = 0.0, 9.0
    _, loss = with_offset(Logistic(), y, offset)
    targets = Targets(y, weights, offset=offset)
    shards = LocalShards(Shard(RowBlocks([np.ones((3, 1)), np.ones((5, 1))]), targets, loss))
    found = problem_of_shards(shards, loss, L1(), 0.1, True).rows.targets
    heavy = offset[weights > 0.0]
    assert found.offsets == (np.min(heavy), np.max(heavy))


class CountedBlocks(RowBlocks):
    n_reads = 0

    def block(self, k):
        self.n_reads += 1
        return super().block(k)


@pytest.mark.parametrize("columns, n_reads", [([], 0), ([1], 2)])
def test_sums_without_features_read_none(columns, n_reads, rng):
    blocks = CountedBlocks(np.split(rng.normal(size=(8, 2)), [3]))
    shard = Shard(blocks, Targets(np.tile([1.0, -1.0], 4), total=8.0), Hinge())
    shard.kept[0] = np.tile([-0.5, 0.5], 4)
    change = Change(np.array(columns, dtype=int), True, np.zeros(1 + len(columns)), 0.5)
    recipe = DualRecipe(0, change=change)
    for sums, *arguments in (
        (bounds.target_sums,),
        (bounds.constant_sums, 0.5),
        (bounds.null_sums, 0.5, True),
        (bounds.dual_values, DualRecipe(0), (1.0,)),
        (gathered_part, recipe),
    ):
        sums(shard, *arguments)
        assert blocks.n_reads == 0
    for k, sums in enumerate((bounds.box_sums, bounds.balance_sums)):
        sums(shard, recipe)
        assert blocks.n_reads == (k + 1) * n_reads
    bounds.dual_values(shard, recipe, (1.0,))
    assert blocks.n_reads == 3 * n_reads


@LOSSES
def test_sums_of_a_constant(loss, rng):
    blocks, local, _ = problems(rng, loss)
    found = bounds.constant_sums(shard_of(blocks), 0.25)
    y, c, z = local.y, local.weights, np.full(N, 0.25)
    assert_allclose(found["value"], c @ loss.value(y, z), rtol=1e-14)
    assert_allclose(found["slope"], c @ loss.gradient(y, z), atol=1e-15)


@LOSSES
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_points_are_those_of_rows_in_memory(fit_intercept, loss, rng):
    blocks, local, _ = problems(rng, loss, fit_intercept=fit_intercept)
    theta = inside(local, rng)
    found = blocks.feasible_point(blocks.plain_dual(theta))
    own = local.row_point(theta)
    assert_allclose(blocks.dual_table(found.theta), theta, rtol=0.0)
    assert found.largest == np.max(np.abs(theta))
    assert found.largest_scale() == own.largest_scale()
    assert_allclose(found.errors_by_precision(), own.errors_by_precision(), rtol=1e-13)
    for scale in (1.0, 0.5, 0.3):
        (value, rounding), (expected, other) = found.value(scale), own.value(scale)
        assert_allclose(value, expected, rtol=1e-13, atol=1e-16)
        assert abs(value - expected) <= rounding + other
        assert rounding <= 3.0 * other + 8.0 * EPSILON * abs(value)
    (sums,) = found.sums_without_products()
    if fit_intercept:
        exact = exact_sum(local.weights, theta)
        assert abs(Fraction(sums[0]) - exact) <= Fraction(sums[1]) <= Fraction(8.0 * EPSILON)
    else:
        assert sums == NOTHING
    for precise in (True, False):
        (u, error), (v, _) = found.products(precise), own.products(precise)
        assert_allclose(u, v, rtol=1e-13, atol=1e-17)
        sizes = np.abs(local.weights * theta) @ np.abs(local.design.table(np.arange(3)))
        assert np.all(error <= (6.0 * EPSILON * np.abs(u) + 1e-29 if precise else 1e-13 * sizes))
    assert found.products(True)[1] is not found.products(False)[1]


@pytest.mark.parametrize("loss", [Hinge(), Squared(), Logistic()], ids=str)
def test_values_at_other_scales_are_summed_at_most_once(loss, rng, monkeypatch):
    """Of linear conjugates they are multiples, with four more units of rounding."""
    blocks, local, _ = problems(rng, loss)
    theta = inside(local, rng)
    point, calls, shards = blocks.feasible_point(blocks.plain_dual(theta)), [], blocks.rows.shards
    value, rounding = point.value(1.0)
    original = type(shards).sums
    monkeypatch.setattr(
        type(shards),
        "sums",
        lambda self, *rest: (calls.append(rest[-1]), original(self, *rest))[1],
    )
    for _ in range(2):
        found, more = point.value(0.25)
    assert calls == ([] if loss.linear_conjugate or loss.quadratic_conjugate else [(0.25,)])
    if loss.linear_conjugate:
        assert found == 0.25 * value
        assert_allclose(more, 0.25 * rounding + EPSILON * abs(value), rtol=1e-14)
    assert_allclose(found, local.row_point(theta).value(0.25)[0], rtol=1e-13)


def test_sums_of_points_are_computed_on_demand(rng, monkeypatch):
    blocks, local, _ = problems(rng, Hinge())
    theta, calls = blocks.plain_dual(inside(local, rng)), []
    shards = blocks.rows.shards
    monkeypatch.setattr(
        type(shards),
        "sums",
        lambda self, *rest: (calls.append(rest[-1]), {"precise": rest[-1]})[1],
    )
    sums = DualSums(shards, theta.recipe)
    assert calls == [] and sums.balanced is None
    for precise in (True, False, True, False):
        assert sums(precise) == {"precise": precise}
    assert calls == [True, False]
    plain = DualSums(shards, theta.recipe, {"known": 1.0})
    assert plain(False) == {"known": 1.0} and calls == [True, False]


@pytest.mark.parametrize("loss", [Hinge(), Squared()], ids=str)
@pytest.mark.parametrize("precise", [True, False])
def test_mean_losses(precise, loss, rng):
    blocks, local, X = problems(rng, loss)
    w, y, c = rng.normal(size=3), local.y, local.weights
    found = bounds.point_sums(shard_of(blocks), (w, 0.5), None, precise)
    z = X @ w + 0.5
    assert_allclose(found["loss_about"], c @ loss.value(y, z), rtol=1e-13)
    value, error = found["loss"].bounded
    assert c @ loss.value(y, z) <= value + error <= (1.0 + 1e-12) * (c @ loss.value(y, z))
    design = local.design
    error = design.matvec_compensated(w, 0.5)[2] if precise else design.matvec_bounded(w, 0.5)[1]
    assert_allclose(found["error"], c @ error, rtol=0.1)
    assert_allclose(found["squared_error"], c @ error**2, rtol=0.1)
    assert set(found) == {"loss", "loss_about", "error", "squared_error"}
    bounds.keep_gradient(shard_of(blocks), (w, 0.5), 7)
    assert_allclose(shard_of(blocks).kept[7], loss.gradient(y, z), atol=1e-13)
    bounds.keep_repaired(shard_of(blocks), (w, 0.5), 7, 8)
    assert_array_equal(shard_of(blocks).kept[8], shard_of(blocks).kept[7])
    bounds.keep_repaired(shard_of(blocks), (w, -0.5), 6, 9)
    assert_allclose(shard_of(blocks).kept[9], loss.gradient(y, z - 1.0), atol=1e-13)


# Changes of a dual point


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
    change = Change(np.array(columns, dtype=int), ones, q, largest, 0.5)
    shard, key = shard_of(blocks), 99
    shard.kept[key] = theta
    recipe = DualRecipe(key, change=change)
    room = room_of(local, theta, largest)
    moved = room**2 * (F @ q)
    scaled = (np.sqrt(c) * room)[:, np.newaxis] * F

    found = bounds.box_sums(shard, recipe)
    assert_allclose(found["gram"], scaled.T @ scaled, rtol=1e-12, atol=1e-16)
    assert found["n_inside"] == np.count_nonzero(room)
    value, error = found["sums"].bounded
    for k, f in enumerate(F.T):
        assert abs(Fraction(value[k]) - exact_sum(c, theta, f)) <= Fraction(error[k])
        assert error[k] <= 1e-15

    found = bounds.balance_sums(shard, recipe)
    value, error = found["left"].bounded
    for k, f in enumerate(F.T):
        exact = exact_sum(c, theta, f) + exact_sum(c, moved, f)
        assert abs(Fraction(value[k]) - exact) <= Fraction(error[k] + 1e-17)
    own = room > 0.0
    assert_allclose(found["share"].value, np.max(np.abs(moved[own]) / room[own]), rtol=1e-12)
    assert_allclose(found["minus_root"].value, -np.sqrt(np.min(c[own])), rtol=1e-14)
    assert_allclose(found["room"].value, np.max(room), rtol=1e-14)
    here = loss.conjugate(y[own], theta[own])
    chords = [
        np.abs(loss.conjugate(y[own], theta[own] + side * room[own]) - here)
        for side in (-1.0, 1.0)
    ]
    steepness = np.sum(c[own] * np.maximum(*chords) ** 2)
    assert_allclose(found["steepness"], steepness, rtol=1e-12)

    found = bounds.point_sums(shard, None, recipe, True)
    towards = theta + moved / 0.5
    for name, point in (("products", theta), ("change_products", moved)):
        value, error = found[name].bounded
        exact = [float(exact_sum(c, point, x)) for x in X.T]
        assert_allclose(value, exact, rtol=1e-12, atol=1e-17)
    for prefix, point in (("", theta), ("towards_", towards)):
        expected = loss.dual_value(y, c, point)[0]
        assert_allclose(found[f"{prefix}value_0"].bounded[0], expected, rtol=1e-12)
        scale = loss.largest_scale(y, point)
        assert_allclose(found[f"{prefix}minus_scale"].value, -scale, rtol=1e-12)
    assert_allclose(found["square"], c @ theta**2, rtol=1e-13)
    values = bounds.dual_values(shard, recipe, (0.5, 1.0))
    for k, scale in enumerate((0.5, 1.0)):
        expected = loss.dual_value(y, c, towards, scale)[0]
        assert_allclose(values[str(k)].bounded[0], expected, rtol=1e-12)
    assert "change_products" not in bounds.point_sums(shard, None, DualRecipe(key), True)


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
    found = blocks.balanced(point, None)
    assert isinstance(found, BalancedPoint) and not found.only_precise
    assert blocks.balanced(point, rng.normal(size=3)) is point
    balance, changed, _ = point.given.balanced
    given = point.given.balanced
    assert blocks.balanced(point, None).balance is balance and point.given.balanced is given
    room = room_of(local, theta, np.max(np.abs(theta)))
    F = np.column_stack([np.ones(N), X[:, columns]])
    moved = room**2 * (F @ changed.recipe.change.q)
    own = room > 0.0
    A = (np.sqrt(c) * room)[:, np.newaxis] * F
    sizes = np.linalg.norm(A, axis=0)
    expected = np.linalg.lstsq((A / sizes).T, -(F.T @ (c * theta)) / sizes, rcond=None)[0]
    assert_allclose(moved * np.sqrt(c), room * expected, atol=1e-12)
    left = [float(exact_sum(c, theta, f) + exact_sum(c, moved, f)) for f in F.T]
    assert np.max(np.abs(left)) < 1e-16
    assert_array_equal(balance.columns, columns)
    assert_allclose(balance.share, np.max(np.abs(moved[own]) / room[own]), rtol=1e-12)
    sums = bounds.balance_sums(shard_of(blocks), point.theta.changed(changed.recipe.change).recipe)
    values, errors = sums["left"].bounded
    least = np.linalg.svd(A / sizes, compute_uv=False)[-1]
    rest = 2.0 * np.sum((np.abs(values) + errors) / sizes) / least
    assert_allclose(balance.rest, rest * np.max(room), rtol=1e-6)
    cost = 2048.0 * 2.0 * rest * np.sqrt(sums["steepness"])
    assert_allclose(balance.cost, cost, rtol=1e-6)
    assert changed.recipe.change.share == balance.share
    towards = theta + moved / balance.share
    assert_allclose(found._towards.value(1.0)[0], loss.dual_value(y, c, towards)[0], rtol=1e-12)
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
    assert (problem.balanced(point, None) is not point) is balanced
    if balanced:
        assert_allclose(point.given.balanced[0].share, np.max(change), rtol=1e-12)


def test_points_that_shards_do_not_balance(rng):
    """Without directions, with fewer rows than those, with dependent ones, or with sums of 0."""
    blocks, local, _ = problems(rng, Hinge(), fit_intercept=False)
    point = blocks.feasible_point(blocks.plain_dual(inside(local, rng)))
    assert blocks.balanced(point, None) is point
    blocks, local, _ = problems(rng, Hinge(), WeightedL1([1.0, 0.0, 1.0]))
    theta = np.where(np.arange(N) == 5, -0.5, -1.0) * local.y
    point = blocks.feasible_point(blocks.plain_dual(theta))
    assert blocks.balanced(point, None) is point
    X = np.ones((8, 1))
    loss, y = Hinge(), np.tile([1.0, -1.0], 4)
    shards = LocalShards(Shard(RowBlocks([X[:3], X[3:]]), Targets(y), loss))
    problem = problem_of_shards(shards, loss, WeightedL1([0.0]), 0.1, True)
    point = problem.feasible_point(problem.plain_dual(-0.5 * y))
    found = problem.balanced(point, None)
    assert problem.left_out.tolist() == [0]
    balance = point.given.balanced[0]
    assert balance.share == 0.0 and len(balance.columns) == 0
    assert_allclose(found.value(1.0)[0], 0.5, rtol=1e-12)
    assert found.products(True)[0] == [0.0]
    zeros = LocalShards(Shard(RowBlocks([0.0 * X[:3], 0.0 * X[3:]]), Targets(y), loss))
    problem = problem_of_shards(zeros, loss, WeightedL1([0.0]), 0.1, True)
    point = problem.feasible_point(problem.plain_dual(-0.5 * y))
    assert problem.balanced(point, None) is point


@pytest.mark.parametrize("least, known", [(1.0, True), (3.3e-7, True), (2.3e-7, False)])
def test_least_singular_values_of_gram_matrices(least, known, rng):
    """As long as 8 (n + k) k units of precision allow, 2.8e-7 squared here."""
    from skpd.problems.shards.balance import _least_singular

    Q = np.linalg.qr(rng.normal(size=(2, 2)))[0]
    found = _least_singular(4.0 * Q.T @ np.diag([1.0, least**2]) @ Q, 20)
    assert (found is not None) is known
    if known:
        assert least <= found <= 4.0 * least
