"""Sums over the rows that are taken in several places, and the bounds on their errors."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skpd import LassoPDCertified
from skpd.designs import Design, RowBlocks, row_blocks
from skpd.designs.sampling import uniform_by_index
from skpd.designs.sums import BoundedSum, Largest, added
from skpd.losses import Absolute, Hinge
from skpd.penalties import L1
from skpd.problems.shards import balance
from skpd.problems.shards.bounds import point_sums
from skpd.problems.shards.problem_of_shards import problem_of_shards
from skpd.problems.shards.remote_dual import RemoteDualPoint
from skpd.problems.shards.shard import Shard, Targets
from skpd.problems.shards.shards import LocalShards
from skpd.problems.shards.smoothing import SmoothingPoint, derivatives, nonlinear_rows


def test_sums_are_bounded_in_rational_arithmetic():
    """Also where parts cancel, and whatever the order."""
    rng = np.random.default_rng(0)
    parts = rng.normal(size=200) * 10.0 ** rng.integers(-20, 20, 200)
    parts = np.concatenate([parts, -parts * (1.0 + 1e-15)])
    exact = sum(map(Fraction, parts.tolist()))
    for order in (np.arange(400), rng.permutation(400)):
        found = added({"sum": BoundedSum(parts[k])} for k in order)["sum"]
        value, error = found.bounded
        assert abs(exact - Fraction(float(value))) <= Fraction(float(error))
        assert error <= 4e-16 * abs(value) + 1e-29 * np.sum(np.abs(parts))
    assert added([{"most": Largest(1.0)}, {"most": Largest(3.0)}])["most"].value == 3.0


@pytest.mark.parametrize("precise", [False, True])
def test_products_are_bounded_in_rational_arithmetic(precise):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)) * 10.0 ** rng.integers(-8, 8, size=(60, 4))
    X = np.vstack([X, -X[::-1] * (1.0 + 1e-9)])
    weights, theta = rng.random(120), rng.uniform(-1.0, 1.0, 120)
    weights[60:], theta[60:] = weights[:60][::-1], theta[:60][::-1]
    shard = Shard(RowBlocks(np.array_split(X, 7)), Targets(np.zeros(120), weights), Absolute())
    shard.vectors[0] = theta
    found = point_sums(shard, None, RemoteDualPoint(0), precise)
    value, error = found["products"].bounded
    for j in range(4):
        products = zip(weights.tolist(), theta.tolist(), X[:, j].tolist(), strict=True)
        exact = sum(Fraction(a) * Fraction(b) * Fraction(x) for a, b, x in products)
        assert abs(exact - Fraction(float(value[j]))) <= Fraction(float(error[j]))
    if precise:
        sizes = np.abs(weights * theta) @ np.abs(X)
        assert np.all(error <= 1e-15 * np.abs(value) + 1e-29 * sizes)
    slope, rounding = found["slope"].bounded
    exact = sum(Fraction(a) * Fraction(b) for a, b in zip(weights, theta, strict=True))
    assert abs(exact - Fraction(float(slope))) <= Fraction(float(rounding))


def test_numbers_by_place():
    found = uniform_by_index(np.arange(100_000))
    assert_array_equal(found[500:700], uniform_by_index(np.arange(500, 700)))
    assert found.min() >= 0.0 and found.max() < 1.0
    counts = np.histogram(found, 10, (0.0, 1.0))[0]
    assert np.abs(counts - 10_000).max() < 400  # four standard deviations


class CountedBlocks(RowBlocks):
    n_reads = 0

    def block(self, k):
        self.n_reads += 1
        return super().block(k)


def test_rows_that_bend_are_read_once_they_are_few(rng):
    table, variables = rng.normal(size=(300, 3)), np.array([0.5, -1.0, 2.0, 0.1])
    X, y = CountedBlocks(np.array_split(table, 4)), np.sign(rng.normal(size=300))
    shard, at = (
        Shard(X, Targets(y, total=300.0), Hinge()),
        SmoothingPoint(variables, RemoteDualPoint(), 1.0),
    )
    derivatives(shard, at, 0)
    assert X.n_reads == 4
    assert nonlinear_rows(shard, at, 1, 0.2, 10, np.inf)["weight"] == np.inf
    assert nonlinear_rows(shard, at, 1, 0.2, np.inf, 0.01)["weight"] == np.inf
    assert X.n_reads == 4
    assert 1 not in shard.children
    found, child = nonlinear_rows(shard, at, 1, 0.2, np.inf, np.inf), shard.children[1]
    margins = y * (table @ variables[:3] + variables[3])  # the envelope is linear beyond [0, 1]
    places = np.flatnonzero((margins > -0.2) & (margins < 1.2))
    assert_array_equal(child.row_indices, places)
    assert_array_equal(child.blocks.gathered(), table[places])
    assert found["n_rows"] == len(places)
    assert X.n_reads == 8


def test_certificates_of_rounded_models_are_as_accurate_as_those_of_a_run(monkeypatch, rng):
    X = rng.normal(size=(400, 5)).astype(np.float32)
    y = X[:, 0] + rng.normal(size=400).astype(np.float32)
    least = LassoPDCertified(0.1, tol=1e-12).fit(X.astype(np.float64), y).certificate_
    monkeypatch.setattr(row_blocks, "GATHERED", 0)
    # neither precise products nor a balanced point are asked for
    monkeypatch.setattr(Design, "rmatvec_high_low", None)
    monkeypatch.setattr(balance, "_balance", None)
    model = LassoPDCertified(0.1).fit(RowBlocks(np.array_split(X, 3)), y)
    assert model.coef_.dtype == np.float32
    assert model.certificate_.relative_gap <= 1e-4
    assert model.certificate_.dual <= least.primal
    assert model.certificate_.primal >= least.dual


def test_separable_classes_with_a_free_feature():
    """No interval holds the intercept: the dual point is balanced exactly."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=300) > 0.0, 1.0, -1.0)
    from skpd import PdproxSVC

    local = PdproxSVC(0.01, penalty_weights=[1, 1, 0], tol=1e-10).fit(X, y)
    penalty = PdproxSVC(penalty_weights=[1, 1, 0])._get_penalty()
    blocks = RowBlocks(np.array_split(X, 4))
    shards = LocalShards(Shard(blocks, Targets(y), Hinge()))
    problem = problem_of_shards(shards, Hinge(), penalty, 0.01, True)
    theta = problem.plain_dual(np.ravel(local.dual_coef_))
    point = problem.feasible_point(theta)
    balanced = problem.balanced(point)
    assert balanced is not point
    assert balanced.free_sums(*balanced.products(True)) == [(0.0, 0.0)] * 2
    assert balanced.value(1.0)[1] < 1e-9 and balanced.value(0.5)[0] > 0.0


def test_weights_must_have_a_sum():
    blocks = RowBlocks([np.ones((3, 1))])
    shards = LocalShards(Shard(blocks, Targets(np.ones(3), np.zeros(3)), Hinge()))
    with pytest.raises(ValueError, match="must have a positive, finite sum, got a sum of 0"):
        problem_of_shards(shards, Hinge(), L1(), 1.0, True)
