"""Losses of the labels of all samples: against enumeration, and formulas of rounding."""

from math import log

import mpmath
import numpy as np
import pytest
from mpmath import mpf
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from sklearn.metrics import fbeta_score, roc_auc_score

from benchmarks.multivariate import every_labeling
from skpd import kernels
from skpd.losses import FBeta, PrecisionAtK, RecallAtK, RocAuc
from skpd.models.metric import losses as multivariate
from skpd.models.metric.labeling_sums import best_flips, marginals
from skpd.models.metric.losses import LARGEST_TABLE, _prefix_sums

EPSILON = 2.0**-52


def labels(rng, n, share=0.4):
    y = np.where(rng.random(n) < share, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return rng.permutation(y)


def losses(rng, y):
    k = int(rng.integers(1, len(y)))
    found = [FBeta(y), FBeta(y, 0.3), FBeta(y, 2.0), PrecisionAtK(y, k), RecallAtK(y, k)]
    found.append(PrecisionAtK(y, int(np.sum(y > 0.0))))
    if np.sum(y > 0.0) * np.sum(y < 0.0) <= 10:
        found.append(RocAuc(y))
    return found


@pytest.mark.parametrize("seed", range(8))
def test_values_and_labelings_are_those_of_the_enumeration(seed):
    rng = np.random.default_rng(seed)
    n = 2 + seed
    y, z = labels(rng, n), rng.standard_normal(n) * 10.0 ** rng.integers(-1, 2)
    if seed % 3 == 0:
        z = np.round(z)  # with ties
    for loss in losses(rng, y):
        thetas, deltas = every_labeling(loss)
        expected = np.max(deltas + thetas @ (loss.weights * z))
        value, error = loss.value(z)
        assert abs(value - expected) <= error < 1e-12
        assert loss.entropy_range == pytest.approx(np.log(len(deltas)), rel=1e-12)
        value, mixture = loss.loss_augmented(z, 0.0)
        assert value == pytest.approx(expected, abs=1e-12)
        own = np.all(np.isclose(thetas, mixture.theta), axis=1)
        assert np.min(np.abs(deltas[own] - mixture.mean_loss)) < 1e-14
        assert mixture.mean_loss + mixture.theta @ (loss.weights * z) == pytest.approx(expected)


@pytest.mark.parametrize("smoothing", [1.0, 0.03])
@pytest.mark.parametrize("n", [2, 5, 9])
def test_marginals_are_those_of_the_enumeration(n, smoothing):
    rng = np.random.default_rng(n)
    y, z = labels(rng, n), rng.standard_normal(n)
    for loss in losses(rng, y):
        thetas, deltas = every_labeling(loss)
        exponents = (deltas + thetas @ (loss.weights * z)) / smoothing
        log_sum = logsumexp(exponents)
        shares = np.exp(exponents - log_sum)
        value, mixture = loss.loss_augmented(z, smoothing)
        assert value == pytest.approx(smoothing * (log_sum - np.log(len(deltas))), abs=1e-12)
        assert_allclose(mixture.theta, shares @ thetas, atol=1e-12)
        assert mixture.mean_loss == pytest.approx(shares @ deltas, abs=1e-12)
        assert mixture.theta_error < 1e-10


def test_marginals_of_many_samples_are_a_mixture_at_any_level():
    rng = np.random.default_rng(0)
    y = labels(rng, 150, 0.2)
    z = y + rng.standard_normal(150)
    for loss in (FBeta(y), PrecisionAtK(y, 20), RocAuc(y)):
        exact = loss.value(z)[0]
        for level in (1.0, 1e-3, 1e-6):
            value, mixture = loss.loss_augmented(z, level / loss.entropy_range)
            assert exact - level - 1e-12 <= value <= exact + 1e-12
            assert np.max(np.abs(mixture.theta) - loss.largest_theta) <= mixture.theta_error
            # what the mixture says of z is at most the maximum, and at most the level less
            linear = mixture.mean_loss + mixture.theta @ (loss.weights * z)
            assert exact - level - 1e-10 <= linear <= exact + 1e-10


@pytest.mark.parametrize("beta", [0.3, 1.0, 3.0])
def test_the_worst_labeling_of_many_samples(beta, rng):
    """That of all pairs of numbers of wrong labels, for scores that tell the labels apart."""
    for _ in range(300):
        y = labels(rng, 15, rng.choice([0.2, 0.5, 0.8]))
        size, apart, shift = 10.0 ** rng.uniform(-2.0, 1.0), *rng.integers(-1, 3, 2)
        z = size * (rng.normal(size=15) + apart * y + shift)
        low = np.append(0.0, np.cumsum(np.sort(z[y > 0.0])))
        high = np.append(0.0, np.cumsum(np.sort(z[y < 0.0])[::-1]))
        b, c = np.arange(len(low))[:, None], np.arange(len(high))
        delta = (beta**2 * b + c) / (beta**2 * b[-1] + b[-1] - b + c)
        expected = np.max(delta + 2.0 / 15 * (high - low[:, None]))
        value, rounding = FBeta(y, beta).value(z)
        assert abs(value - expected) <= rounding < 1e-12


@pytest.mark.parametrize("beta", [0.5, 1.0, 3.0])
def test_an_f_score_is_bounded_by_its_loss(beta):
    rng = np.random.default_rng(1)
    y = labels(rng, 60, 0.2)
    loss = FBeta(y, beta)
    for scale in (0.1, 1.0, 10.0):
        z = scale * (y + rng.standard_normal(60))
        predicted = np.where(z > 0.0, 1.0, -1.0)
        assert loss.value(z)[0] >= 1.0 - fbeta_score(y, predicted, beta=beta) - 1e-12
    b, c = np.sum((y > 0) & (predicted < 0)), np.sum((y < 0) & (predicted > 0))
    assert loss.delta(b, c) == pytest.approx(1.0 - fbeta_score(y, predicted, beta=beta))


def test_the_ranking_loss_is_the_mean_hinge_of_pairs():
    rng = np.random.default_rng(2)
    y = labels(rng, 50)
    z = rng.standard_normal(50)
    differences = z[y > 0.0][:, None] - z[y < 0.0][None, :]
    value, mixture = RocAuc(y).loss_augmented(z, 0.0)
    assert value == pytest.approx(np.mean(np.maximum(1.0 - differences, 0.0)), abs=1e-14)
    assert mixture.mean_loss == pytest.approx(np.mean(differences < 1.0), abs=1e-15)
    assert value >= 1.0 - roc_auc_score(y, z)


def test_too_many_samples_for_smoothing_are_refused():
    y = np.where(np.arange(12_000) % 2, 1.0, -1.0)
    with pytest.raises(ValueError, match=f"at most {LARGEST_TABLE:,} entries, got 108,036,003"):
        FBeta(y).loss_augmented(np.zeros(12_000), 0.1)
    with pytest.raises(ValueError, match="got 36,000,000 for 6,000 positive"):
        RocAuc(y).loss_augmented(np.zeros(12_000), 0.1)


@pytest.mark.parametrize("y", [[1.0, 1.0], [0.0, 1.0], [[1.0, -1.0]]])
def test_other_labels_are_refused(y):
    with pytest.raises(ValueError, match="y must be a vector of labels -1 and 1"):
        FBeta(np.array(y))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 16, 17, 99, 100, 101])
def test_prefix_sums(n, rng):
    values = rng.normal(size=n)
    assert_allclose(_prefix_sums(values), np.append(0.0, np.cumsum(values)), atol=1e-14)


def test_prefix_sums_make_few_rounding_errors():
    """Numbers that are all rounded down in a sum one after the other."""
    sums = _prefix_sums(np.full(1_000_000, 0.1))
    assert abs(sums[-1] - 1e5) <= 2000 * EPSILON * 1e5 / 8
    assert_array_equal(_prefix_sums(np.empty(0)), [0.0])


@pytest.mark.parametrize("kind", ["fbeta", "at k", "auc"])
def test_roundings_of_values_and_mixtures(kind, rng):
    y, z = labels(rng, 30), 3.0 * rng.normal(size=30)
    loss = {"fbeta": FBeta(y, 2.0), "at k": RecallAtK(y, 7), "auc": RocAuc(y)}[kind]
    P, M = np.sum(y > 0.0), np.sum(y < 0.0)
    value, rounding = loss.value(z)
    found, mixture = loss.loss_augmented(z, 0.0)
    linear, error = kernels.compensated_dot(loss.weights, mixture.theta, z)
    assert found == value
    if kind == "auc":
        sizes = loss.weights @ np.abs(mixture.theta * z)
        error += EPSILON * (4.0 + 4.0 * sizes) + EPSILON * (1.0 + np.abs(z).max())
        assert (mixture.theta_error, mixture.mean_loss_error) == (EPSILON, 2.0 * EPSILON)
        assert_allclose(loss.weights, np.where(y > 0.0, 1.0 / P, 1.0 / M))
        assert_array_equal(loss.largest_theta, 1.0)
    else:
        error += EPSILON * (5.0 + abs(value) + 2.0 * abs(linear))
        total = 2.0 * np.abs(z).mean() * (1.0 + 1e-9)
        error += EPSILON * ((2.0 * np.sqrt(30) + 20.0) * total + 40.0)
        assert (mixture.theta_error, mixture.mean_loss_error) == (0.0, 4.0 * EPSILON)
        assert_allclose(loss.weights, 1.0 / 30)
        assert_array_equal(loss.largest_theta, 2.0)
    assert_allclose(rounding, error, rtol=1e-14)
    mixture = loss.loss_augmented(z, 0.1)[1]
    if kind == "auc":
        expected = max(P, M) * EPSILON, 30 * EPSILON
    else:
        counts, scale = np.arange(P + 1.0)[:, None], 2.0 / (30 * 0.1)
        counts = counts, np.arange(M + 1.0)[None, :]
        delta = np.where(loss.allowed(*counts), loss.delta(*counts), -np.inf)
        gains = -scale * z[y > 0.0], scale * z[y < 0.0]
        error = marginals(delta / 0.1, gains, loss._worst(z)).error
        expected = 2.0 * error + 2.0 * EPSILON, error + 32 * EPSILON
    assert_allclose([mixture.theta_error, mixture.mean_loss_error], expected, rtol=1e-13)


def test_errors_of_probabilities_are_at_most_1(rng):
    y, z = labels(rng, 9), 1e3 * rng.normal(size=9)
    mixture = FBeta(y).loss_augmented(z, 1e-15)[1]
    assert_allclose(mixture.theta_error, 2.0 + 2.0 * EPSILON, rtol=1e-15)
    assert_allclose(mixture.mean_loss_error, 1.0 + 11 * EPSILON, rtol=1e-15)


def test_labelings_that_bound_an_intercept(rng):
    """All samples positive, and none: theta is the difference from the labels."""
    y = labels(rng, 20)
    loss = FBeta(y, 2.0)
    P, M = np.sum(y > 0.0), np.sum(y < 0.0)
    score = fbeta_score(y, np.ones(20), beta=2.0)
    (positive, negative), close = loss.points_of_both_signs, {"rtol": 1e-14}
    assert_array_equal(positive.theta, np.where(y > 0.0, 0.0, 2.0))
    assert_array_equal(negative.theta, np.where(y > 0.0, -2.0, 0.0))
    assert_allclose([positive.mean_loss, negative.mean_loss], [1.0 - score, 1.0], **close)
    for mixture in loss.points_of_both_signs:
        assert (mixture.theta_error, mixture.mean_loss_error) == (0.0, 4.0 * EPSILON)
    assert loss.allowed(1, 1) is True
    assert_allclose(loss.delta(0, M), M / (5.0 * P + M), **close)


@pytest.mark.parametrize("k", [0, 1, 4, 5])
def test_the_number_of_samples_to_be_labelled(k):
    y = np.array([1.0, -1.0, 1.0, -1.0, -1.0])
    if 1 <= k < 5:
        assert PrecisionAtK(y, k).k == k
    else:
        with pytest.raises(ValueError, match=f"number of samples less one, 4, got {k}"):
            PrecisionAtK(y, k)


def test_the_largest_tables(monkeypatch, rng):
    y, z = labels(rng, 9), np.zeros(9)
    P, M = int(np.sum(y > 0.0)), int(np.sum(y < 0.0))
    sizes = {FBeta(y): (P + 1) ** 2 + (M + 1) ** 2 + (P + 1) * (M + 1), RocAuc(y): P * M}
    for loss, size in sizes.items():
        monkeypatch.setattr(multivariate, "LARGEST_TABLE", size)
        loss.loss_augmented(z, 0.1)
        monkeypatch.setattr(multivariate, "LARGEST_TABLE", size - 1)
        with pytest.raises(ValueError, match=f"got {size} for {P} positive and {M} negative"):
            loss.loss_augmented(z, 0.1)


def test_pairs_just_apart():
    """A pair with a difference of 1 is in no set, as its hinge is 0."""
    loss = RocAuc(np.array([1.0, 1.0, -1.0]))
    for score, count in ((1.0, 0), (np.nextafter(1.0, 0.0), 1), (0.5, 1)):
        mixture = loss.loss_augmented(np.array([score, 9.0, 0.0]), 0.0)[1]
        assert_array_equal(mixture.theta, [-count, 0.0, count / 2])
        assert mixture.mean_loss == count / 2


# Sums over labelings


def enumerated(cells, gains):
    """The weights of all labelings as logarithms, with what each flips, in 400 bits."""
    n = len(gains[0]) + len(gains[1])
    flips = (np.arange(2**n)[:, np.newaxis] >> np.arange(n)) & 1
    b, c = flips[:, : len(gains[0])].sum(axis=1), flips[:, len(gains[0]) :].sum(axis=1)
    all_gains = [mpf(float(g)) for g in np.concatenate(gains)]
    logs = [
        mpf(float(cells[i, j])) + mpmath.fdot(all_gains, map(int, row))
        for i, j, row in zip(b, c, flips, strict=True)
    ]
    return logs, flips, b, c


@pytest.mark.parametrize("size", [0.1, 3.0, 1e4, 1e9])
@pytest.mark.parametrize("shape", [(3, 4), (1, 5), (4, 1)])
def test_sums_over_labelings_at_any_scale(shape, size, rng):
    gains = tuple(size * rng.normal(size=n) for n in shape)
    cells = size * rng.normal(size=(shape[0] + 1, shape[1] + 1))
    cells[0, 1] = cells[1, 0] = -np.inf
    logs, flips, b, c = enumerated(cells, gains)
    first = int(np.argmax([float(x) for x in logs]))
    found = marginals(cells, gains, (int(b[first]), int(c[first])))
    terms = [mpmath.exp(x - logs[first]) for x in logs]
    total = mpmath.fsum(terms)
    shares = np.array([float(x / total) for x in terms])
    assert_allclose(found.log_sum, float(logs[first] + mpmath.log(total)), rtol=1e-14)
    close = {"rtol": found.error, "atol": 1e-300}
    assert_allclose(np.concatenate(found.flips), shares @ flips, **close)
    table = np.zeros_like(cells)
    np.add.at(table, (b, c), shares)
    assert_allclose(found.cells, table, **close)
    # logarithms of weights are relative to those of the best labeling
    tilts = []
    for gain, count in zip(gains, (b[first], c[first]), strict=True):
        ordered = np.sort(gain)[::-1]
        kept = ordered[count] if count < len(gain) else ordered[-1]
        tilts.append(0.5 * ((ordered[count - 1] if count else ordered[0]) + kept))
    moved = (tilt * np.arange(n + 1) for tilt, n in zip(tilts, shape, strict=True))
    joint = cells + np.add.outer(*moved)
    above = max(joint.max() - joint[b[first], c[first]], 0.0)
    n = sum(shape)
    largest = n * log(2.0) + 750.0 + above
    expected = 2.0 * EPSILON * (3.0 * (n + 4) * (largest + 2.0) + 2.0 * (n + 2))
    assert_allclose(found.error, expected, rtol=1e-12)


def test_the_samples_with_the_largest_values(rng):
    values = rng.normal(size=9)
    for count in range(10):
        assert set(best_flips(values, count)) == set(np.argsort(-values)[:count])


def test_no_sample_is_flipped_of_a_class_without_any():
    found = marginals(np.array([[0.5, 1.0]]), (np.empty(0), np.array([2.0])), (0, 1))
    assert_allclose(found.log_sum, np.logaddexp(0.5, 3.0))
    assert_allclose(found.flips[1], 1.0 / (1.0 + np.exp(-2.5)))
    assert len(found.flips[0]) == 0
