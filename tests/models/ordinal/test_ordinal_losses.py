"""The loss of ordered classes: thresholds, dual points, and formulas of rounding."""

from math import log, sqrt

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime

from skpd import kernels
from skpd.designs import Design
from skpd.losses import Hinge, Logistic, ModifiedHuber, SquaredHinge
from skpd.models.ordinal.losses import OrdinalLoss, _split

N, D, EPSILON = 150, 4, 2.0**-52


@pytest.mark.parametrize("inner", [Logistic(), Hinge()], ids=str)
def test_the_loss_its_thresholds_and_its_dual_points(inner, rng):
    for trial in range(40):
        n, K = int(rng.integers(6, 30)), int(rng.integers(2, 5))
        labels = rng.integers(0, K, n)
        labels[:K] = np.arange(K)
        weights = rng.random(n) + 0.05
        offset = rng.normal(size=n) if trial % 2 else None
        loss = OrdinalLoss(labels, weights, offset, inner)
        z = rng.normal(size=n) * rng.choice([0.1, 1.0, 5.0])
        value, rounding = loss.value(z)
        u, c = z if offset is None else z + offset, weights / weights.sum()
        thresholds = loss.best_thresholds(z)
        assert np.all(np.diff(thresholds) >= 0.0)
        total = 0.0
        for k, t in enumerate(thresholds):
            signs = np.where(labels > k, 1.0, -1.0)
            near = [t, t + 1e-3, t - 1e-3, *(u - 1.0), *(u + 1.0)]
            values = [c @ inner.value(signs, u - other) for other in near]
            assert values[0] <= min(values) + 1e-12
            total += values[0]
        assert_allclose(value, total)
        _, mixture = loss.loss_augmented(z, 0.0)
        constant, error = mixture.value(1.0)
        theta = mixture.theta / n
        assert abs(constant + theta @ z - value) <= error + rounding + 1e-9 * (1.0 + value)
        for share in (1.0, 0.5, 0.0):
            constant, error = (share * mixture).value(1.0)
            for _ in range(3):
                other = 3.0 * rng.normal(size=n)
                most, rounding = loss.value(other)
                assert constant - error + share * (theta @ other) <= most + rounding
        if inner == Logistic():
            gradient = approx_fprime(z, lambda q, loss=loss: loss.value(q)[0], 1e-6)
            assert_allclose(loss.derivatives(z)[1] / n, gradient, atol=1e-5)


def test_the_hessian(rng):
    X, y, offset, weights = rng.normal(size=(N, D)), rng.integers(0, 4, N), *rng.random((2, N))
    loss, w, h = OrdinalLoss(y, weights, offset, Logistic()), rng.normal(size=D), 1e-6

    def gradient(w):
        return X.T @ loss.derivatives(X @ w)[1] / N

    differences = [(gradient(w + h * e) - gradient(w - h * e)) / (2 * h) for e in np.eye(D)]
    assert_allclose(loss.hessian(X @ w, Design(X), np.arange(X.shape[1])), differences, atol=1e-8)


def drawn(rng, inner, offset=True, n=40):
    """A loss with rows without weights, the arrays that it is made of, and scores."""
    labels = rng.integers(0, 4, n)
    labels[:4] = np.arange(4)
    weights = rng.uniform(0.1, 2.0, n) * (np.arange(n) % 5 != 4)
    offset = rng.normal(size=n) if offset else None
    return (
        OrdinalLoss(labels, weights, offset, inner),
        (labels, weights, offset),
        rng.normal(size=n),
    )


@pytest.mark.parametrize("inner", [Logistic(), Hinge(), SquaredHinge(), ModifiedHuber()], ids=str)
def test_what_the_loss_says_of_itself(inner, rng):
    loss, (labels, weights, _), _ = drawn(rng, inner)
    kept, c = weights > 0.0, weights / weights.sum()
    assert loss.n_thresholds == 3 and loss.n_exchangeable == kept.sum()
    assert_allclose(loss.weights, 1 / 40)
    # each theta_i c_i is the sum of a derivative for each threshold
    steepest = {Logistic(): 1.0, Hinge(): 1.0, ModifiedHuber(): 4.0}.get(inner, np.inf)
    assert_allclose(loss.largest_theta[kept], 40 * c[kept] * 3 * steepest)
    assert_array_equal(loss.largest_theta[~kept], 0.0)
    assert_allclose(loss.entropy_range, 3 * log(2.0))
    assert_array_equal(loss.signs, np.where(labels[kept] > np.arange(3)[:, np.newaxis], 1, -1))
    masses = [(c[labels > k].sum(), c[labels <= k].sum()) for k in range(3)]
    assert_allclose(loss.masses, masses)
    smooth = inner != Hinge()
    assert (loss.is_smooth, loss.has_curvature, loss.has_kinks) == (smooth, smooth, not smooth)
    assert repr(loss) == f"OrdinalLoss({inner!r})"
    error = rng.random(40)
    expected = 3.0 * steepest * (c @ error) * (1.0 + 1e-9)
    assert_allclose(loss.sensitivity(error), expected, rtol=1e-13)
    assert_allclose(loss.sensitivity(0.5), 1.5 * steepest * (1.0 + 1e-9), rtol=1e-13)
    assert_array_equal(loss.true_labeling.theta, 0.0)
    assert loss.true_labeling.value(1.0)[0] == 0.0
    with pytest.raises(ValueError, match=r"smoothing must be 0 for ordered classes, got 0.5"):
        loss.loss_augmented(np.zeros(40), 0.5)


@pytest.mark.parametrize("inner", [Logistic(), Hinge()], ids=str)
@pytest.mark.parametrize("offset", [True, False])
def test_samples_have_a_row_of_each_class(inner, offset, rng):
    loss, (labels, weights, own), z = drawn(rng, inner, offset)
    rows, found = loss.sample(np.array([30, 20, 31]))
    firsts = [np.flatnonzero((labels == k) & (weights > 0.0))[0] for k in range(4)]
    assert_array_equal(rows, np.unique([20, 30, 31, *firsts]))
    offset = own[rows] if offset else None
    expected = OrdinalLoss(labels[rows], weights[rows], offset, inner)
    assert_allclose(found.value(z[rows]), expected.value(z[rows]), rtol=1e-14)


@pytest.mark.parametrize("offset", [True, False])
@pytest.mark.parametrize("inner", [Logistic(), Hinge()], ids=str)
def test_roundings(inner, offset, rng):
    loss, (_, _, own), z = drawn(rng, inner, offset)
    kept, c = loss.used_rows, loss.shares
    n, depth = len(kept), 64.0 + np.log2(len(kept) + 1.0)
    u = z[kept] + own[kept] if offset else z[kept]
    value, rounding = loss.value(z)
    thresholds = loss.best_thresholds(z)
    sizes = 3 * (c @ np.abs(u)) + np.abs(thresholds).sum()
    expected = 2.0 * EPSILON * sizes + (depth + 64.0) * EPSILON * (1.0 + value)
    assert_allclose(rounding, expected, rtol=1e-12)
    margins = loss.signs * (u - thresholds[:, np.newaxis])
    losses = inner.value(np.ones(margins.size), np.ravel(margins)).reshape(margins.shape)
    assert_allclose(value, (losses @ c).sum(), rtol=1e-13)

    table = -rng.random((3, n))
    for scale in (1.0, 0.5):
        a = -scale * table
        value, rounding = loss.dual_value(table, scale)
        of_entropy = a * np.log(a) + (1.0 - a) * np.log1p(-a)
        conjugates = of_entropy if inner == Logistic() else -a
        expected, theta = -(conjugates @ c).sum(), np.sum(loss.signs * scale * table, axis=0)
        slope = np.where(a > 0.99, 40.0, 5.0) if inner == Logistic() else 1.0
        sizes = ((np.abs(conjugates) + slope * a) @ c).sum()
        bound = 2.0 * (depth + 64.0 + 3) * EPSILON * sizes
        if offset:
            shift, error = kernels.compensated_dot(c, theta, loss.offset)
            expected += shift
            size = (c * np.abs(loss.offset)) @ a.sum(axis=0)
            bound += error + 2.0 * (depth + 64.0) * EPSILON * size
        assert_allclose(value, expected, rtol=1e-12)
        assert_allclose(rounding, bound, rtol=1e-12)

    # both sides of each threshold have the same sum, that of the smaller one
    mixture = loss.balanced_dual(table)
    for k, signs in enumerate(loss.signs):
        above = signs > 0.0
        sums = [c[side] @ table[k, side] for side in (above, ~above)]
        for side, total in zip((above, ~above), sums, strict=True):
            table[k, side] *= max(sums) / total
    assert_allclose(mixture.theta[kept], 40 * c * np.sum(loss.signs * table, axis=0), rtol=1e-13)
    assert abs(np.sum(mixture.theta)) <= 1e-12
    errors = (depth + 16.0) * EPSILON * c * np.abs(table).sum(axis=0)
    assert_allclose(mixture.theta_error, np.sqrt(40 * np.sum(errors**2)), rtol=1e-12)
    assert_allclose(mixture.value(1.0)[0], loss.dual_value(table, 1.0)[0], rtol=1e-12)
    if inner == Hinge():
        value, rounding = loss.dual_value(table, 1.0)
        assert_allclose(mixture.mean_loss, value, rtol=1e-12)
        # part of the bound is the error of one sum, which depends on the processor
        assert_allclose(mixture.mean_loss_error, rounding, rtol=1e-4)
    else:
        assert (mixture.mean_loss, mixture.mean_loss_error) == (0.0, 0.0)
        assert_allclose((0.25 * mixture).table, 0.25 * table, rtol=1e-13)
        assert_allclose((0.25 * mixture).theta, 0.25 * mixture.theta, rtol=1e-13)


def test_thresholds_of_the_hinge_are_in_the_middle_of_the_best():
    """Two rows 4 apart: all thresholds from 1 to 3 are as good; three rows of which two weigh."""
    loss = OrdinalLoss(np.array([0, 1]), np.ones(2), None, Hinge())
    assert_allclose(loss.best_thresholds(np.array([0.0, 4.0])), 2.0)
    assert loss.value(np.array([0.0, 4.0]))[0] == 0.0
    assert_allclose(loss.best_thresholds(np.array([4.0, 0.0])), 2.0)
    assert_allclose(loss.value(np.array([4.0, 0.0]))[0], 3.0)
    loss = OrdinalLoss(np.array([0, 1, 1]), np.array([1.0, 1.0, 3.0]), None, Hinge())
    # slopes rise by 1/5 at z + 1 of the first and by 1/5, 3/5 at z - 1 of the others, from -1/5
    assert_allclose(loss.best_thresholds(np.array([2.0, 5.0, 0.5])), -0.5)
    assert_allclose(loss.best_thresholds(np.array([2.0, 5.0, 9.0])), 3.5)
    loss = OrdinalLoss(np.array([0, 0, 1]), np.ones(3), None, Hinge())
    assert_allclose(loss.best_thresholds(np.array([2.0, 5.0, 9.0])), 7.0)
    # beside a row of next to no weight all thresholds from 1 to its last kink are as good
    loss = OrdinalLoss(np.array([0, 1]), np.array([1.0, 1e-17]), None, Hinge())
    assert_allclose(loss.best_thresholds(np.array([0.0, 4.0])), 2.0)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3, 1e6])
def test_thresholds_of_the_logistic_loss_have_no_slope(scale, rng):
    loss, (_, _, own), z = drawn(rng, Logistic())
    z = scale * z
    u, t = z[loss.used_rows] + own[loss.used_rows], loss.best_thresholds(z)
    for k, signs in enumerate(loss.signs):
        near = np.array([t[k] - 1e-7 * (1.0 + abs(t[k])), t[k] + 1e-7 * (1.0 + abs(t[k]))])
        slopes = [
            loss.shares @ (signs / (1.0 + np.exp(np.minimum(signs * (u - x), 700)))) for x in near
        ]
        assert slopes[0] <= 1e-15 and slopes[1] >= -1e-15


def test_points_that_halve_scores():
    """The median of those between; without any, points 50 from those around, then the middle."""
    u = np.array([-1e3, 10.0, 20.0, 60.0, 1e3])
    assert _split(u, 0.0, 200.0) == 100.0
    assert _split(u, 0.0, np.nextafter(200.0, 300.0)) == 20.0
    assert _split(u, 60.0, 1e3) == 110.0
    assert _split(u, 200.0, 1e3) == 950.0
    assert _split(u, 110.0, 1e3) == 950.0
    assert _split(u, 109.0, 1e3) == 110.0
    assert _split(u, 110.0, 950.0) == 530.0
    assert _split(u, 110.0, 951.0) == 950.0
    assert _split(u, -500.0, -200.0) == -350.0
    assert _split(u, 2e3, 3e3) == 2500.0
    assert _split(u, -3e3, -2e3) == -2500.0


def test_derivatives_are_kept_for_the_same_scores(rng):
    loss, _, z = drawn(rng, Logistic())
    first = loss.derivatives(z)
    for other in (z + 1.0, 2.0 * z):
        loss.derivatives(other)
    again = loss.derivatives(z)
    for old, new in zip(first, again, strict=True):
        assert_allclose(new, old, rtol=1e-9)
    # the Hessian for fixed thresholds is at most a quarter of the weights
    assert np.all(first[2] <= 40 * 3 * 0.25 * (loss._rows(loss.shares) / 40) * (1 + 1e-12))


def test_distances_of_slopes(rng):
    X = rng.normal(size=(40, 3))
    loss, (_, weights, _), _ = drawn(rng, Logistic())
    norms = np.sqrt(weights / weights.sum() @ X**2)
    expected = sqrt(2.0 * 0.25 * 3) * (1.0 + 1e-9) * norms
    assert_allclose(loss.distances_of_products(Design(X)), expected, rtol=1e-12)
    assert drawn(rng, Hinge())[0].distances_of_products(Design(X)) is None


def test_derivatives_at_kinks_are_balanced():
    """Rows at the kink take what the sums of both sides leave."""
    loss = OrdinalLoss(np.array([0, 0, 1]), np.array([1.0, 1.0, 4.0]), None, Hinge())
    z = np.array([0.0, -9.0, 2.0])  # margins of 1 at the threshold 1, and of 10
    theta = loss._balanced(loss.signs[0], z - 1.0)
    assert_allclose(theta[1], 0.0)
    assert_allclose(theta[0], 4.0 * theta[2])
    assert np.all((theta >= -1.0) & (theta <= 0.0)) and theta[0] < 0.0
    assert_allclose(loss._balanced(loss.signs[0], z - 1.0 - 1e-6), [0.0, 0.0, -1.0])
    # within 1e-9 of their sizes rows are at a kink
    assert loss._balanced(loss.signs[0], z - 1.0 + 1.5e-9)[0] > -1.0
    assert_allclose(loss._balanced(loss.signs[0], z - 1.0 + 2.5e-9), [-1.0, 0.0, 0.0])
    assert_allclose(loss._balanced(loss.signs[0], z - 1.0 + 1e-6), [-1.0, 0.0, 0.0])


@pytest.mark.parametrize("gap", [1e3, 1e5, 1e7])
@pytest.mark.parametrize("share", [1e-2, 1e-9])
def test_thresholds_near_one_of_two_scores_far_apart(gap, share):
    """The slope, 1 - share - 1 / (1 + e^(t - gap)) up to a factor, is 0 at gap + log(share)."""
    for sign in (1.0, -1.0):
        weights = np.array([1.0 - share, 1.0])
        loss = OrdinalLoss(np.array([1, 0]), weights[:: int(sign)], None, Logistic())
        found = loss.best_thresholds(np.array([0.0, gap]))[0]
        expected = np.log(share / (1.0 - share))
        assert_allclose(found, gap + expected if sign > 0.0 else -expected, atol=1e-5, rtol=1e-9)
