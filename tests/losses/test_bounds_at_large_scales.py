"""Bounds on losses and dual values in exact arithmetic, for offsets, means and scales up to 1e18.

For every loss, an upper bound on the loss of a prediction is compared with its exact value. A dual
value is compared with the exact right-hand side of Fenchel and Young's inequality,

    sum_i c_i theta_i z_i + D(theta) <= sum_i c_i l(y_i, z_i),

at the predictions of which theta is the derivative, where it is nearly an equality.
"""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from skpd import losses as L
from skpd.losses.shifted import with_offset
from skpd.models.metric.losses import FBeta, RocAuc
from skpd.models.ordinal.losses import OrdinalLoss
from skpd.models.sequences.losses import ChainLogLoss, ChainLoss
from skpd.models.survival.partial_likelihood import PartialLikelihood
from tests.oracles.exact_objectives import (
    MARGIN,
    RESIDUAL,
    chain,
    class_losses,
    deviance,
    exact,
    multivariate,
    quantile_losses,
)

EPSILON = 2.0**-52
N, SIZES = 12, 10.0 ** np.array([0, 4, 8, 13, 18])
KINDS = ("offset", "mean", "scale")

SCALAR = {
    "hinge": L.Hinge(),
    "squared_hinge": L.SquaredHinge(),
    "smoothed_hinge": L.SmoothedHinge(),
    "generalized_hinge": L.GeneralizedHinge(),
    "modified_huber": L.ModifiedHuber(),
    "logistic": L.Logistic(),
    "squared": L.Squared(),
    "absolute": L.Absolute(),
    "epsilon_insensitive": L.EpsilonInsensitive(),
    "squared_epsilon_insensitive": L.SquaredEpsilonInsensitive(),
    "huber": L.Huber(),
    "pinball": L.Pinball(),
}
LOG_LINKS = [L.Poisson(), L.Gamma(), L.Tweedie(1.001), L.Tweedie(1.3), L.Tweedie(1.999)]
LOG_LINKS += [L.NegativeBinomial(d) for d in (1e-12, 5e-3, 1.0, 1e6)]


def negative_binomial(k, y, z):
    """y log(y / m) - (y + k) log((y + k) / (m + k)) with the mean m = exp(z)."""
    mean, k = mpmath.exp(z), mpf(k)
    first = y * mpmath.log(y / mean) if y else mpf(0)
    return first - (y + k) * mpmath.log((y + k) / (mean + k))


def weights_of(rng):
    weights = rng.random(N) + 0.1
    return weights / weights.sum()


def require_bounds(loss, targets, weights, z, of_rows):
    """Compare bounds at doubles z with the exact losses of rows, and with their sizes."""
    values = of_rows(exact(z))
    most = loss.largest_mean(targets, weights, z, 0.0, np.zeros_like(z))
    mean = mpmath.fdot(exact(weights), values)
    assert mean <= mpf(most) * (1 + 64 * EPSILON)
    theta = loss.project_dual(targets, loss.gradient(targets, z))
    products = mpmath.fdot(exact(weights), exact(theta) * exact(z))
    for scale in (1.0, 0.5):
        dual, rounding = loss.dual_value(targets, weights, theta, scale)
        assert mpf(dual) - mpf(rounding) <= mean - mpf(scale) * products
    sizes = np.abs(theta) * (np.abs(z) + loss.sizes_of(targets))
    size = float(mean) + weights @ sizes
    dual, rounding = loss.dual_value(targets, weights, theta)
    assert rounding <= 4e-12 * size
    return dual, mean - products, size


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SCALAR)
def test_scalar_losses(name, kind, size, rng):
    loss = SCALAR[name]
    y, offset, z = rng.normal(size=(3, N))
    scale = size if kind == "scale" else 1.0
    y = np.where(y > 0.0, 1.0, -1.0) if name in MARGIN else scale * y
    offset, z = scale * offset, scale * z
    if kind == "offset":
        offset = offset + size * rng.normal(size=N)
        z = z - offset
    elif kind == "mean" and name in RESIDUAL:
        y, z = y + size, z + size
    elif kind == "mean":
        z, offset = z + size, offset - size
    targets, posed = with_offset(loss, y, offset)

    def of_rows(at):
        predictions = zip(exact(y), at + exact(offset), strict=True)
        if name in MARGIN:
            return [MARGIN[name](t * p) for t, p in predictions]
        return [RESIDUAL[name](p - t) for t, p in predictions]

    require_bounds(posed, targets, weights_of(rng), z, of_rows)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", LOG_LINKS, ids=repr)
def test_losses_with_log_links(loss, kind, size, rng):
    y, offset, z = np.round(rng.gamma(1.0, 3.0, N)) + 0.5, rng.normal(size=N), rng.normal(size=N)
    y[::3] = 0.0 if loss.zeros else y[::3]
    if kind == "scale":
        y, z = y * size, z + np.log(size)
    else:
        far = size * (rng.normal(size=N) if kind == "offset" else 1.0)
        offset, z = offset + far, z - far
    targets, posed = with_offset(loss, y, offset)

    def of_rows(at):
        pairs = zip(exact(y), at + exact(offset), strict=True)
        if isinstance(loss, L.NegativeBinomial):
            return [negative_binomial(loss.k, t, p) for t, p in pairs]
        return [deviance(loss.power, t, p) for t, p in pairs]

    require_bounds(posed, targets, weights_of(rng), z, of_rows)


@pytest.mark.parametrize("loss", [*LOG_LINKS[:5], L.NegativeBinomial()], ids=repr)
def test_powers_that_overflow_are_infinite(loss):
    y = np.array([1.0, 2.0])
    for z in (-1e6, 1e6):
        largest = loss.largest(y, np.full(2, z), 0.0, 0.0)
        pairs = [(mpf(t), mpf(z)) for t in y]
        if isinstance(loss, L.NegativeBinomial):
            values = [negative_binomial(loss.k, *pair) for pair in pairs]
        else:
            values = [deviance(loss.power, *pair) for pair in pairs]
        for most, value in zip(largest, values, strict=True):
            assert value <= mpf(float(most)) * (1 + 64 * EPSILON)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_ordered_quantiles(kind, size, rng):
    quantiles = (0.1, 0.5, 0.8)
    loss, K = L.NonCrossingPinball(quantiles), len(quantiles)
    scale = size if kind == "scale" else 1.0
    y, offset = scale * rng.normal(size=(2, N))
    z = np.sort(scale * rng.normal(size=(N, K)), axis=1)
    if kind == "mean":
        y, z = y + size, z + size
    if kind == "offset":
        # all predictions of a row are less the same number, so that they remain in order
        offset = offset + size * rng.normal(size=N)
        z = z - offset[:, np.newaxis]
    y, offset = np.repeat(y, K), np.repeat(offset, K)
    targets, posed = with_offset(loss, y, offset)

    def of_rows(at):
        losses, _ = quantile_losses(quantiles, y[::K], (at + exact(offset)).reshape(N, K))
        return np.repeat(np.array(losses, dtype=object) / K, K)

    require_bounds(posed, targets, np.repeat(weights_of(rng), K) / K * K, z.ravel(), of_rows)


def as_fraction(weight):
    return Fraction(float(weight)).limit_denominator(1000)


def require_linear_bound(loss, z, value, offset=0.0):
    """Compare a loss of all scores and the linear bound of a mixture with an exact value at z.

    The weights of scores are quotients of small whole numbers, taken before they are rounded.
    """
    found, rounding = loss.value(z)
    assert value <= mpf(found) + mpf(rounding)
    mixture = loss.loss_augmented(z, 0.0)[1]
    weights = [mpf(w.numerator) / w.denominator for w in map(as_fraction, loss.weights)]
    products = mpmath.fdot(weights, exact(mixture.theta) * exact(z))
    missed = mixture.theta_error * float(np.sqrt(np.sum(loss.weights)))
    missed *= float(np.sqrt(np.sum(loss.weights * z * z)))
    for scale in (1.0, 0.5):
        dual, of_dual = mixture.value(scale)
        right = value - mpf(scale) * products
        assert mpf(dual) - mpf(of_dual) - mpf(missed) <= right
    size = float(value) + float(np.mean(np.abs(mixture.theta) * (np.abs(z) + np.abs(offset))))
    assert rounding <= 4e-12 * (size + np.max(np.abs(z)) + np.max(np.abs(offset)))


def partial_likelihood(time, event, weights, strata, scores):
    """The sum over events of c (log sum_j s_j exp(z_j) - z_i - log s_i), by Breslow's method."""
    weights, found = exact(weights), mpf(0)
    for i in np.flatnonzero(event):
        risk = [
            weights[j] * mpmath.exp(scores[j] - scores[i])
            for j in range(len(time))
            if time[j] >= time[i] and strata[j] == strata[i]
        ]
        found += weights[i] * (mpmath.log(mpmath.fsum(risk)) - mpmath.log(weights[i]))
    return found / mpmath.fsum(weights)


def ordered_classes(labels, weights, thresholds, scores):
    """The mean over the rows of the sums of log(1 + exp(-m)) over all thresholds."""
    weights = exact(weights)
    values = [
        mpmath.fsum([
            MARGIN["logistic"]((1 if label > k else -1) * (score - t))
            for k, t in enumerate(exact(thresholds))
        ])
        for label, score in zip(labels, scores, strict=True)
    ]  # fmt: skip
    return mpmath.fdot(weights, values) / mpmath.fsum(weights)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", ["offset", "mean", "scale"])
@pytest.mark.parametrize("model", ["cox", "ordinal"])
def test_losses_of_all_scores(model, kind, size, rng):
    weights, strata = rng.random(N) + 0.1, rng.integers(0, 2, N)
    offset, z = rng.normal(size=(2, N))
    if kind == "scale":
        offset, z = offset * size, z * size
    else:
        far = size * (rng.normal(size=N) if kind == "offset" else 1.0)
        offset, z = offset + far, z - far
    scores = exact(z) + exact(offset)
    if model == "cox":
        time, event = np.round(4.0 * rng.random(N)), rng.random(N) < 0.7
        loss = PartialLikelihood(time, event, weights, strata, offset, efron=False)
        value = partial_likelihood(time, event, weights, strata, scores)
    else:
        labels = np.arange(N) % 3
        loss = OrdinalLoss(labels, weights, offset, L.Logistic())
        value = ordered_classes(labels, weights, loss.best_thresholds(z), scores)
    require_linear_bound(loss, z, value, offset)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", ["mean", "scale"])
@pytest.mark.parametrize("name", ["softmax", "crammer_singer"])
def test_losses_of_classes(name, kind, size, rng):
    K, labels = 3, np.arange(N) % 3
    loss = {"softmax": L.Softmax, "crammer_singer": L.CrammerSinger}[name](K)
    y, weights = np.eye(K)[labels].ravel(), np.repeat(weights_of(rng), K)
    z = size * rng.normal(size=(N, K)) if kind == "scale" else rng.normal(size=(N, K)) + size
    mean = mpmath.fdot(exact(weights[::K]), class_losses(name, labels, exact(z)))
    most = loss.largest_mean(y, weights, z.ravel(), 0.0, np.zeros(N * K))
    assert mean <= mpf(most) * (1 + 64 * EPSILON)
    theta = loss.project_dual(y, loss.gradient(y, z.ravel())).reshape(N, K)
    derivatives = exact(theta)
    own = np.arange(N), labels  # stands for minus the exact sum of the others
    derivatives[own] = derivatives[own] - np.sum(derivatives, axis=1)
    products = mpmath.fdot(exact(weights), np.ravel(derivatives * exact(z)))
    for scale in (1.0, 0.5):
        dual, rounding = loss.dual_value(y, weights, theta.ravel(), scale)
        assert mpf(dual) - mpf(rounding) <= mean - mpf(scale) * products
    dual, rounding = loss.dual_value(y, weights, theta.ravel())
    assert rounding <= 1e-12


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", ["mean", "scale"])
@pytest.mark.parametrize("name", ["chain", "chain, soft", "f1", "roc_auc"])
def test_losses_of_all_labels(name, kind, size, rng):
    K, lengths, n = 2, np.array([3, 2]), 5
    if name.startswith("chain"):
        labels = rng.integers(0, K, n)
        loss = (ChainLogLoss if "soft" in name else ChainLoss)(labels, lengths, K)
        z = rng.normal(size=n * K + K * K)
    else:
        y = np.array([1.0, -1.0, 1.0, -1.0, -1.0])
        loss, z = (FBeta(y) if name == "f1" else RocAuc(y)), rng.normal(size=n)
    z = size * z if kind == "scale" else z + size
    if name.startswith("chain"):
        nodes, transitions = exact(z[: n * K]).reshape(n, K), z[n * K :].reshape(K, K)
        parts = [(labels[:3], nodes[:3]), (labels[3:], nodes[3:])]
        values = [chain(*part, transitions, soft="soft" in name) for part in parts]
        value = mpmath.fsum(values) / len(parts)
    else:
        value = multivariate(name, y, exact(z))
    require_linear_bound(loss, z, value)
