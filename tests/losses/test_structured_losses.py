"""Losses of all scores: mixtures of labelings, what each loss says, the scaled Huber loss."""

from math import inf, log

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar

from skpd import losses as L
from skpd.losses.chain_recursions import Chains, sum_product
from skpd.losses.chains import ChainLogLoss, ChainLoss
from skpd.losses.jensen_groups import RowGroup
from skpd.losses.labeling_sums import marginals
from skpd.losses.ordinal import OrdinalLoss
from skpd.losses.scaled_huber import ScaledHuber
from skpd.losses.structured import StructuredDual
from skpd.losses.survival import PartialLikelihood

EPSILON = 2.0**-52


def fields(mixture):
    return mixture.mean_loss, mixture.theta_error, mixture.mean_loss_error


@pytest.mark.parametrize("scale", [1.0, 0.25, 0.0, np.float64(0.5)])
def test_shares_of_a_mixture(scale):
    mixture = StructuredDual(np.array([0.5, -2.0]), 0.75, 1e-14, 3e-14)
    shrunk = scale * mixture
    assert type(shrunk) is StructuredDual
    assert_array_equal(shrunk.theta, scale * mixture.theta)
    errors = scale * 1e-14 + 2.0 * EPSILON, scale * 3e-14 + 0.75 * EPSILON
    assert_allclose(fields(shrunk), [scale * 0.75, *errors], rtol=1e-15)
    rounding = scale * 3e-14 + 2.0 * EPSILON * scale * 0.75
    assert_allclose(mixture.value(scale), [scale * 0.75, rounding], rtol=1e-15)
    assert fields(StructuredDual(np.zeros(2), 0.5)) == (0.5, 0.0, 0.0)
    assert mixture.is_linear


@pytest.mark.parametrize(
    "shares", [[0.5, 0.25], [0.5, 0.5], [1.0, 0.6], [-0.1, 0.5], [0.0, 1.0], [0.0, 0.0]]
)
def test_averages_of_mixtures(shares):
    """Shares below 0 are 0, and more than 1 in all are divided by their sum."""
    mixtures = [
        StructuredDual(np.array([2.0, -1.0]), 0.75, 1e-14, 3e-14),
        StructuredDual(np.array([0.5, -2.0]), -1.25, 2e-14, 1e-14),
    ]
    p, q = np.maximum(shares, 0.0) / max(np.maximum(shares, 0.0).sum(), 1.0)
    found = L.FBeta(np.array([1.0, -1.0])).convex_combination(np.array(shares), mixtures)
    assert_allclose(found.theta, [p * 2.0 + q * 0.5, -p - q * 2.0], rtol=1e-15)
    # rounding errors are relative to the largest theta and mean loss, here 2 and 1.25
    mean, errors = p * 0.75 - q * 1.25, (32 * EPSILON + 2e-14, 20 * EPSILON + 3e-14)
    assert_allclose(fields(found), [mean, *errors], rtol=1e-15)


def every_loss():
    y, labels = np.array([1.0, -1.0, 1.0]), np.array([0, 1, 2])
    cox = PartialLikelihood(np.ones(3), y > 0.0, np.ones(3), np.zeros(3, int))
    chains = labels, np.array([2, 1]), 3
    return {
        "linear_tails": ScaledHuber(y, np.full(3, 1 / 3), 1.35),
        "linear_tails 1": L.FBeta(y),
        "linear_tails 2": L.PrecisionAtK(y, 1),
        "linear_tails 3": L.RocAuc(y),
        "linear_tails 4": ChainLoss(*chains),
        "linear_tails is_smooth": ChainLogLoss(*chains),
        "ignores_constants of_classes has_thresholds": OrdinalLoss(
            labels, np.ones(3), None, L.Hinge()
        ),
        "ignores_constants of_classes has_thresholds is_smooth has_curvature": OrdinalLoss(
            labels, np.ones(3), None, L.Logistic()
        ),
        "is_smooth has_curvature hessian_by_table ignores_constants": cox,
    }


FLAGS = [
    "is_smooth", "has_curvature", "hessian_by_table", "ignores_constants", "linear_tails",
    "has_radius", "has_cones", "of_labels", "of_classes", "has_thresholds", "constant_curvature",
    "is_log_likelihood",
]  # fmt: skip


@pytest.mark.parametrize("flags", every_loss())
def test_what_losses_of_all_scores_say(flags):
    loss, said = every_loss()[flags], set(flags.split()) & set(FLAGS)
    assert {name for name in FLAGS if getattr(loss, name)} == said
    assert loss.has_kinks == ("has_curvature" not in flags)
    assert loss.smoothness == inf
    chains = isinstance(loss, ChainLoss | ChainLogLoss)
    assert loss.n_scores == len(loss.weights) == (18 if chains else 3)
    assert loss.n_exchangeable == (3 if isinstance(loss, OrdinalLoss) else 0)
    assert loss.largest_target == 1.0
    assert len(loss.points_of_both_signs) == (2 if isinstance(loss, L.FBeta | ScaledHuber) else 0)
    assert_array_equal(loss.true_labeling.theta, 0.0)
    assert loss.true_labeling.mean_loss == 0.0
    assert loss.loss_augmented(np.zeros(loss.n_scores), 0.0)[1].is_linear == (
        not isinstance(loss, PartialLikelihood | ChainLogLoss | OrdinalLoss)
        or (loss.has_kinks and not chains)
    )
    error = np.arange(1.0, loss.n_scores + 1.0)
    most = loss.weights @ (loss.largest_theta * error) * (1.0 + 1e-9)
    if not loss.has_thresholds and not isinstance(loss, PartialLikelihood):
        assert_allclose(loss.sensitivity(error), most, rtol=1e-14)
        assert loss.distances_of_products(None) is None


# The Huber loss with its scale


def huber(r, epsilon, sigma):
    size = np.abs(r) / sigma
    return sigma * np.where(size <= epsilon, 0.5 * size**2, epsilon * (size - 0.5 * epsilon))


@pytest.mark.parametrize("epsilon", [1.0, 1.35, 3.0])
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e4])
def test_the_best_scale(epsilon, size, rng):
    y, z = size * rng.standard_t(2, size=(2, 30))
    weights = rng.random(30)
    weights /= weights.sum()
    loss, r = ScaledHuber(y, weights, epsilon), z - y

    def objective(sigma):
        return 0.5 * sigma + weights @ huber(r, epsilon, sigma)

    scale = loss.best_scale(r)
    least = weights @ np.abs(r)  # at the scale 0, which is the best one for epsilon = 1
    if epsilon > 1.0:
        bounds = 1e-3 * size, 10.0 * size
        least = minimize_scalar(objective, bounds=bounds, options={"xatol": 1e-9 * size}).fun
    value, rounding = loss.value(z)
    assert_allclose(value, least, rtol=1e-10)
    if epsilon > 1.0:
        assert_allclose(objective(scale), least, rtol=1e-10)
        assert loss.best_scale(r, 0.5 * scale) == scale
        assert_allclose(weights @ np.clip(r / scale, -epsilon, epsilon) ** 2, 1.0, rtol=1e-12)
    # a relative error of each residual, and of the sum
    error = weights @ (epsilon * 4.0 * EPSILON * (np.abs(z) + np.abs(y))) * (1.0 + 1e-9)
    assert_allclose(rounding, error + 64.0 * EPSILON * value, rtol=1e-12)
    given = ScaledHuber(y, weights, epsilon, 0.7 * size)
    assert_allclose(given.value(z)[0], objective(0.7 * size), rtol=1e-13)
    assert loss.best_scale(r, 2.0 * scale) == 2.0 * scale
    # theta.z + the mean loss is at most the loss anywhere, and equal here
    found, mixture = loss.loss_augmented(z, 0.0)
    assert found == value
    assert_allclose(mixture.mean_loss + (weights * mixture.theta) @ z, value, rtol=1e-10)
    assert weights @ mixture.theta**2 <= 1.0 and np.abs(mixture.theta).max() <= epsilon
    for other in size * rng.normal(size=(5, 30)):
        bound = mixture.mean_loss + (weights * mixture.theta) @ other
        assert bound <= loss.value(other)[0] * (1.0 + 1e-12)


def test_scales_of_special_residuals():
    y, weights = np.zeros(4), np.full(4, 0.25)
    loss = ScaledHuber(y, weights, 2.0)
    tiny = float(np.finfo(float).tiny)
    assert loss.best_scale(np.zeros(4)) == tiny
    assert_allclose(loss.best_scale(np.ones(4)), 1.0)
    # as epsilon^2 / 4 = 1, all scales up to that at the edge are as good
    assert loss.best_scale(np.array([0.0, 0.0, 0.0, 5.0])) == 2.5
    # 1.5^2 / 4 of the row that is clipped leaves 7 / 16 for the second one
    loss = ScaledHuber(y, weights, 1.5)
    assert_allclose(loss.best_scale(np.array([9.0, 1.0, 0.0, 0.0])), np.sqrt(0.25 / (7 / 16)))
    assert_allclose(loss.value(np.array([9.0, 1.0, 0.0, 0.0]))[0],
                    0.25 * (1.5 * 9.0) + np.sqrt(0.25 * 7 / 16))  # fmt: skip
    # at the edge itself both expressions are the same
    given = ScaledHuber(y, weights, 1.5, 2.0)
    assert_allclose(given.value(np.array([3.0, -3.0, 0.0, 0.0]))[0], 1.0 + 0.5 * 9.0 / 4.0)


def test_dual_points_of_the_scaled_huber_loss(rng):
    y, weights = rng.normal(size=20), np.full(20, 0.05)
    loss = ScaledHuber(y, weights, 1.5)
    assert loss.largest_target == np.abs(y).max()
    assert_array_equal(loss.largest_theta, 1.5)
    small = loss.dual_point(np.full(20, 0.5))
    assert_array_equal(small.theta, 0.5)
    assert_allclose(small.mean_loss, -0.5 * y.mean(), rtol=1e-13)
    assert small.theta_error == 0.0 and 0.0 < small.mean_loss_error < 1e-15
    large = loss.dual_point(np.append(np.full(10, 9.0), np.full(10, 1.2)))
    size = np.sqrt(0.5 * (1.5**2 + 1.2**2)) * (1.0 + 20 * EPSILON)
    assert_allclose(large.theta, np.repeat([1.5, 1.2], 10) / size, rtol=1e-15)
    assert weights @ large.theta**2 < 1.0
    assert_array_equal(loss.dual_point(np.full(20, np.nan)).theta, 0.0)
    for mixture, sign in zip(loss.points_of_both_signs, (1.0, -1.0), strict=True):
        assert_allclose(mixture.theta, sign, rtol=21 * EPSILON)
        assert_allclose(mixture.mean_loss, -sign * y.mean(), rtol=1e-13)


def test_entropy_ranges():
    """Of labelings of three samples, two of which have k = 1 as the first does, and of pairs."""
    y = np.array([1.0, -1.0, 1.0])
    assert_allclose(L.FBeta(y).entropy_range, 3 * log(2.0))
    assert_allclose(L.PrecisionAtK(y, 1).entropy_range, log(4.0))
    assert_allclose(L.PrecisionAtK(y, 2).entropy_range, log(3.0))
    assert_allclose(L.RocAuc(y).entropy_range, 2 * log(2.0))


@pytest.mark.parametrize("flags", every_loss())
def test_dual_points_are_immutable_and_themselves_alone(flags):
    """Arrays could not be compared as numbers are."""
    loss = every_loss()[flags]
    one, other = (loss.loss_augmented(np.zeros(loss.n_scores), 0.0)[1] for _ in range(2))
    for mixture in (one, loss.true_labeling):
        with pytest.raises(AttributeError):
            mixture.mean_loss = 1.0
        assert mixture == mixture and mixture != other
        assert len({mixture, other}) == 2
    if isinstance(loss, ScaledHuber):
        assert loss != ScaledHuber(loss.y, loss.weights, loss.epsilon)


def test_results_of_recursions_are_immutable():
    chains = Chains(np.array([2]), 2)
    marginal = marginals(np.zeros((2, 2)), (np.ones(1), np.ones(1)), (1, 1))
    near = sum_product(chains, np.zeros((2, 2)), np.zeros((2, 2)))
    far = sum_product(chains, 200.0 * np.eye(2), np.zeros((2, 2)))
    for found, name in ((marginal, "error"), (near, "nodes"), (far, "nodes")):
        with pytest.raises(AttributeError):
            setattr(found, name, 0.0)
    scaled = ScaledHuber(np.ones(2), np.ones(2), 1.5)
    for found, name in ((scaled, "scale"), (RowGroup(np.ones(2), 2.0), "total")):
        with pytest.raises(AttributeError):
            setattr(found, name, 0.0)
