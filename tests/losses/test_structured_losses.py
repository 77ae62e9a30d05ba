"""Losses of all scores: mixtures of labelings, what each loss says."""

from math import inf, log

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skpd import losses as L
from skpd.losses.jensen_groups import RowGroup
from skpd.losses.structured import StructuredDual
from skpd.models.metric.labeling_sums import marginals
from skpd.models.ordinal.losses import OrdinalLoss
from skpd.models.sequences.losses import ChainLogLoss, ChainLoss
from skpd.models.sequences.recursions import Chains, sum_product
from skpd.models.survival.partial_likelihood import PartialLikelihood

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
        "linear_tails": L.FBeta(y),
        "linear_tails 2": L.PrecisionAtK(y, 1),
        "linear_tails 3": L.RocAuc(y),
        "linear_tails 4": ChainLoss(*chains),
        "linear_tails is_smooth": ChainLogLoss(*chains),
        "ignores_constants of_classes": OrdinalLoss(labels, np.ones(3), None, L.Hinge()),
        "ignores_constants of_classes is_smooth has_curvature": OrdinalLoss(
            labels, np.ones(3), None, L.Logistic()
        ),
        "is_smooth has_curvature hessian_by_table ignores_constants": cox,
    }


FLAGS = [
    "is_smooth", "has_curvature", "hessian_by_table", "ignores_constants", "linear_tails",
    "has_cones", "of_labels", "of_classes", "constant_curvature",
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
    assert len(loss.points_of_both_signs) == (2 if isinstance(loss, L.FBeta) else 0)
    assert_array_equal(loss.true_labeling.theta, 0.0)
    assert loss.true_labeling.mean_loss == 0.0
    assert loss.loss_augmented(np.zeros(loss.n_scores), 0.0)[1].is_linear == (
        not isinstance(loss, PartialLikelihood | ChainLogLoss | OrdinalLoss)
        or (loss.has_kinks and not chains)
    )
    error = np.arange(1.0, loss.n_scores + 1.0)
    most = loss.weights @ (loss.largest_theta * error) * (1.0 + 1e-9)
    if not isinstance(loss, OrdinalLoss | PartialLikelihood):
        assert_allclose(loss.sensitivity(error), most, rtol=1e-14)
        assert loss.distances_of_products(None) is None


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


def test_results_of_recursions_are_immutable():
    chains = Chains(np.array([2]), 2)
    marginal = marginals(np.zeros((2, 2)), (np.ones(1), np.ones(1)), (1, 1))
    near = sum_product(chains, np.zeros((2, 2)), np.zeros((2, 2)))
    far = sum_product(chains, 200.0 * np.eye(2), np.zeros((2, 2)))
    for found, name in ((marginal, "error"), (near, "nodes"), (far, "nodes")):
        with pytest.raises(AttributeError):
            setattr(found, name, 0.0)
    with pytest.raises(AttributeError):
        RowGroup(np.ones(2), 2.0).total = 0.0
