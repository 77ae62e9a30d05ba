"""Sums of dual points over blocks of rows: those in memory to the last digits, and bounds."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skpd.designs import Design, RowBlocks
from skpd.losses import Absolute, Hinge, Huber, Logistic, Poisson, Squared
from skpd.losses.shifted import with_offset
from skpd.penalties import L1
from skpd.problems import linear_problem
from skpd.problems.shards import bounds
from skpd.problems.shards.points import DualSums, entries
from skpd.problems.shards.problem_of_shards import problem_of_shards
from skpd.problems.shards.remote_dual import BalancingChange, RemoteDualPoint
from skpd.problems.shards.shard import Shard, Targets
from skpd.problems.shards.shards import LocalShards
from tests.oracles.exact_sums import exact_sum
from tests.problems.test_shards import CountedBlocks

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


LOSSES = pytest.mark.parametrize(
    "loss", [Hinge(), Logistic(), Squared(), Huber(1.0), Absolute(), Poisson()], ids=str
)


@LOSSES
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_sums_before_a_model(fit_intercept, loss, rng):
    """Targets, groups, the best constant, and the sums over columns."""
    blocks, local, X = problems(rng, loss, fit_intercept=fit_intercept)
    targets, y, c = blocks.rows.targets, local.y, local.weights
    heavy = c > 0.0
    assert targets.n_weighted == N - 2
    assert (targets.smallest, targets.largest) == (np.min(y[heavy]), np.max(y[heavy]))
    assert targets.offsets == NOTHING
    sums = [targets.above, targets.below, targets.mean]
    assert_allclose(sums, [c @ (y > 0.0), c @ (y <= 0.0), c @ y], rtol=1e-13)
    for found, own in zip(blocks.rows.row_groups, local.rows.row_groups, strict=True):
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


@pytest.mark.parametrize("loss", [Absolute(), Huber()], ids=str)
def test_the_best_constant_of_equal_targets(loss, rng):
    shard = Shard(RowBlocks([rng.normal(size=(5, 2))]), Targets(np.full(5, 2.0)), loss)
    null = problem_of_shards(LocalShards(shard), loss, L1(), 0.1, True).null
    assert null.point.intercept == 2.0
    assert null.objective == 0.0


def test_rounding_of_row_groups(rng):
    """One unit of the sums beside the errors of their blocks, and 16 of the mean."""
    blocks, local, _ = problems(rng, Squared())
    found = bounds.target_sums(shard_of(blocks))
    parts = np.split(np.arange(N), CUTS)
    y, c = local.y, local.weights
    strata = [local.loss.row_groups(y[p], c[p])[0] for p in parts]
    moments = np.array([s.centre * s.total for s in strata])
    errors = sum(s.error * s.total for s in strata) + EPSILON * np.sum(np.abs(moments))
    assert_allclose(found["group_moments"].error, [errors], rtol=1e-3)


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


@pytest.mark.parametrize("columns, n_reads", [([], 0), ([1], 2)])
def test_sums_without_features_read_none(columns, n_reads, rng):
    blocks = CountedBlocks(np.split(rng.normal(size=(8, 2)), [3]))
    shard = Shard(blocks, Targets(np.tile([1.0, -1.0], 4), total=8.0), Hinge())
    shard.vectors[0] = np.tile([-0.5, 0.5], 4)
    change = BalancingChange(np.array(columns, dtype=int), True, np.zeros(1 + len(columns)), 0.5)
    remote = RemoteDualPoint(0, change=change)
    for sums, *arguments in (
        (bounds.target_sums,),
        (bounds.constant_sums, 0.5),
        (bounds.null_sums, 0.5, True),
        (bounds.dual_values, RemoteDualPoint(0), (1.0,)),
        (entries, remote),
    ):
        sums(shard, *arguments)
        assert blocks.n_reads == 0
    for k, sums in enumerate((bounds.box_sums, bounds.balance_sums)):
        sums(shard, remote)
        assert blocks.n_reads == (k + 1) * n_reads
    bounds.dual_values(shard, remote, (1.0,))
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
        lambda self, sums: (calls.append(sums.keywords["scales"]), original(self, sums))[1],
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
        lambda self, sums: (calls.append(sums.keywords["precise"]), sums.keywords)[1],
    )
    sums = DualSums(shards, theta.point)
    assert calls == [] and sums.balanced is None
    for precise in (True, False, True, False):
        assert sums(precise) == {"dual": theta.point, "precise": precise}
    assert calls == [True, False]
    plain = DualSums(shards, theta.point, {"known": 1.0})
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
    assert_allclose(shard_of(blocks).vectors[7], loss.gradient(y, z), atol=1e-13)
    bounds.keep_repaired(shard_of(blocks), (w, 0.5), 7, 8)
    assert_array_equal(shard_of(blocks).vectors[8], shard_of(blocks).vectors[7])
    bounds.keep_repaired(shard_of(blocks), (w, -0.5), 6, 9)
    assert_allclose(shard_of(blocks).vectors[9], loss.gradient(y, z - 1.0), atol=1e-13)
