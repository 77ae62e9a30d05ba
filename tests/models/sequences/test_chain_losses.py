"""Losses of chains: recursions against enumeration, rounding bounds against their formulas."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp

from skpd.models.sequences.losses import ChainLogLoss, ChainLoss
from skpd.models.sequences.recursions import (
    Beliefs,
    Chains,
    LogBeliefs,
    best_labels,
    log_partition,
    sum_product,
)
from tests.oracles.chain_labelings import (
    LENGTHS,
    K,
    chain_by_chain,
    features,
    generated,
    labelings,
    scores_of,
)

EPSILON = 2.0**-52


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
def test_sums_and_maxima_are_those_over_all_labelings(scale):
    _, _, z = generated(1, scale)
    chains = Chains(LENGTHS, K)
    nodes, T = chains.split(z)
    beliefs = sum_product(chains, nodes, T)
    value, labels = best_labels(chains, nodes, T)
    parts, counts, marginals, best, pairs = 0.0, np.zeros((K, K)), [], [], 0.0
    for own, _ in ((own, None) for own in chain_by_chain(z)[0]):
        scores, found = scores_of(own, T)
        parts += logsumexp(scores)
        q = np.exp(scores - logsumexp(scores))
        marginals.append(sum(p * features(y)[0] for p, y in zip(q, found, strict=True)))
        counts += sum(p * features(y)[1] for p, y in zip(q, found, strict=True))
        best.append(found[int(np.argmax(scores))])
        pairs += np.max(scores)
    np.testing.assert_allclose(beliefs.log_partition, parts, rtol=1e-12)
    np.testing.assert_allclose(log_partition(chains, nodes, T), parts, rtol=1e-12)
    np.testing.assert_allclose(beliefs.nodes, np.vstack(marginals), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(beliefs.counts, counts, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(beliefs.edges().sum(axis=0), counts, rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(labels, np.concatenate(best))
    np.testing.assert_allclose(value, pairs, rtol=1e-12)


@pytest.mark.parametrize("scale", [300.0, 1e4])
def test_far_scores_keep_the_partition_function_and_true_mixtures(scale):
    _, y, z = generated(2, scale)
    loss = ChainLogLoss(np.concatenate(y), LENGTHS, K)
    own, T = chain_by_chain(z)
    expected = 0.0
    for nodes, true in zip(own, y, strict=True):
        f, c = features(true)
        expected += logsumexp(scores_of(nodes, T)[0]) - np.sum(f * nodes) - np.sum(c * T)
    value, error = loss.value(z)
    assert abs(value - expected / len(y)) <= error + 1e-12 * abs(value)
    _, mixture = loss.loss_augmented(z, 0.0)
    entropy, error = mixture.value(1.0)
    # a mixture says that L is at least its entropy plus its mean score
    assert entropy - error + (loss.weights * mixture.theta) @ z <= value * (1.0 + 1e-12)


@pytest.mark.parametrize("scale", [1.0, 100.0, 1e3, 1e5])
def test_probabilities_are_those_over_all_labelings_at_any_scale(scale):
    *_, z = generated(3, scale)
    own, T = chain_by_chain(z)
    chains = Chains(LENGTHS, K)
    beliefs = sum_product(chains, *chains.split(z))
    nodes, counts = [], np.zeros((K, K))
    for part in own:
        scores, found = scores_of(part, T)[0], labelings(len(part))
        probabilities = np.exp(scores - logsumexp(scores))
        nodes.append(sum(p * features(q)[0] for p, q in zip(probabilities, found, strict=True)))
        counts += sum(p * features(q)[1] for p, q in zip(probabilities, found, strict=True))
    close = {"rtol": 1e-9 + beliefs.relative_error, "atol": 1e-90}
    assert_allclose(beliefs.nodes, np.concatenate(nodes), **close)
    assert_allclose(beliefs.counts, counts, **close)
    assert_allclose(np.sum(beliefs.edges(), axis=0), counts, **close)
    assert beliefs.relative_error < 1e-6


@pytest.mark.parametrize("mu", [0.5, 5e-4])
def test_the_smoothed_margin_loss_has_the_gradient_of_differences(mu):
    _, y, z = generated(4, 1.0)
    loss = ChainLoss(np.concatenate(y), LENGTHS, K)
    gradient = loss.weights * loss.loss_augmented(z, mu)[1].theta
    step = 1e-6 * mu
    for k, slope in enumerate(gradient):
        e = step * np.eye(len(z))[k]
        change = loss.loss_augmented(z + e, mu)[0] - loss.loss_augmented(z - e, mu)[0]
        assert change / (2 * step) == pytest.approx(slope, abs=1e-5)


@pytest.mark.parametrize("has_cost", [False, True])
def test_the_dual_value_is_the_entropy_with_the_cost_and_minus_the_conjugate(has_cost):
    _, y, z = generated(3)
    loss = ChainLogLoss(np.concatenate(y), LENGTHS, K, has_cost=has_cost)
    _, mixture = loss.loss_augmented(z, 0.0)
    own, T = chain_by_chain(z)
    entropy, primal, mean_cost = 0.0, 0.0, 0.0
    for nodes, true in zip(own, y, strict=True):
        scores, found = scores_of(nodes, T)
        f, c = features(true)
        costs = has_cost * np.array([np.sum(labels != true) for labels in found])
        exponents = scores + costs - np.sum(f * nodes) - np.sum(c * T)
        q = np.exp(exponents - logsumexp(exponents))
        entropy -= np.sum(q * np.log(q)) / len(y)
        mean_cost += q @ costs / len(y)
        primal += logsumexp(exponents) / len(y)
    assert loss.value(z)[0] == pytest.approx(primal, rel=1e-12)
    assert mixture.mean_loss == pytest.approx(mean_cost, rel=1e-12)
    value, error = mixture.value(1.0)
    assert value == pytest.approx(entropy + mean_cost, rel=1e-12)
    assert error < 1e-11
    fenchel = loss.value(z)[0] - (loss.weights * mixture.theta) @ z
    assert value == pytest.approx(fenchel, rel=1e-12)
    # shrunk towards the true labeling it is what the same labelings have, and concave
    half, _ = mixture.value(0.5)
    assert (0.5 * mixture).value(1.0)[0] == pytest.approx(half, rel=1e-12)
    assert half >= 0.5 * value
    other = loss.loss_augmented(-z, 0.0)[1]
    mixed = loss.convex_combination(np.array([0.3, 0.5]), [mixture, other])
    np.testing.assert_allclose(mixed.theta, 0.3 * mixture.theta + 0.5 * other.theta, atol=1e-15)
    assert mixed.value(1.0)[0] >= 0.3 * value + 0.5 * other.value(1.0)[0]
    # at most minus the conjugate at its theta: at most L less the product, whatever the scores
    for seed in range(20):
        point = generated(seed, 3.0)[2]
        bound = loss.value(point)[0] - (loss.weights * mixed.theta) @ point
        assert mixed.value(1.0)[0] <= bound + 1e-12
    assert loss.true_labeling.value(1.0)[0] == 0.0


@pytest.mark.parametrize("mu", [0.0, 0.5])
def test_the_margin_loss_is_that_of_the_worst_labeling(mu):
    _, y, z = generated(4)
    loss = ChainLoss(np.concatenate(y), LENGTHS, K)
    own, T = chain_by_chain(z)
    expected, mean_loss = 0.0, 0.0
    for nodes, true in zip(own, y, strict=True):
        scores, found = scores_of(nodes, T)
        f, c = features(true)
        hamming = np.array([np.sum(q != true) for q in found])
        margins = scores + hamming - np.sum(f * nodes) - np.sum(c * T)
        if mu == 0.0:
            expected += np.max(margins) / len(y)
            mean_loss += hamming[np.argmax(margins)] / len(y)
        else:
            log_sum = logsumexp(margins / mu)
            expected += mu * (log_sum - len(true) * np.log(K)) / len(y)
            mean_loss += np.exp(margins / mu - log_sum) @ hamming / len(y)
    value, mixture = loss.loss_augmented(z, mu)
    assert value == pytest.approx(expected, rel=1e-12)
    assert mixture.mean_loss == pytest.approx(mean_loss, rel=1e-12)
    assert value <= loss.value(z)[0] + 1e-12 <= value + mu * loss.entropy_range + 1e-11


@pytest.mark.parametrize("loss", [ChainLoss, ChainLogLoss])
def test_averages_of_dual_points_are_convex_combinations(loss):
    _, y, z = generated(3)
    loss = loss(np.concatenate(y), LENGTHS, K, has_cost=True)
    level = 0.0 if loss.is_smooth else 0.5
    duals = [loss.loss_augmented(x, level)[1] for x in (z, -z)]
    averages = 0.3 * duals[0].averages + 0.7 * duals[1].averages
    errors = np.maximum(*(dual.errors for dual in duals))
    found = loss.dual_of(averages, errors, 6 * EPSILON)
    expected = loss.convex_combination(np.array([0.3, 0.7]), duals)
    assert_allclose(found.theta, expected.theta, atol=1e-15)
    assert_allclose(found.value(1.0)[0], expected.value(1.0)[0], rtol=1e-13)
    assert found.value(1.0)[1] == pytest.approx(expected.value(1.0)[1], rel=0.2)
    assert_allclose(found.theta_error, errors[0] + 6 * EPSILON)
    assert_allclose(found.mean_loss_error, errors[1] + 6 * EPSILON * errors[2])


def test_the_largest_squares_of_labelings_are_means_over_chains():
    """Of rows of A whose entries are 1 for tokens of norms 1, 2, ...: all labelings of a chain."""
    loss, tokens = ChainLoss(np.zeros(12, int), LENGTHS, K), np.arange(1.0, 13.0)
    found = loss.largest_square(np.append(np.repeat(tokens, K), np.ones(K * K)))
    expected = 0.0
    for norms in np.split(tokens, np.cumsum(LENGTHS)[:-1]):
        f, c = features(np.zeros(len(norms), int))
        largest = max(
            np.linalg.norm(norms @ (g - f)) ** 2 + np.sum((e - c) ** 2)
            for g, e in map(features, labelings(len(norms)))
        )
        bound = 2.0 * (np.sum(norms) + len(norms) - 1) ** 2
        assert largest <= bound * (1.0 + 1e-12)
        expected += bound / 4
    assert_allclose(found, expected)


def test_places_of_tokens_and_pairs():
    chains = Chains(LENGTHS, K)
    assert_array_equal(chains.starts, [0, 2, 7, 8, 12])
    assert (chains.n_chains, chains.n_tokens, chains.n_edges, chains.longest) == (4, 12, 8, 5)
    assert_array_equal(chains.edges, [0, 2, 3, 4, 5, 8, 9, 10])
    assert_array_equal(chains.n_neighbours, [1, 1, 1, 2, 2, 2, 1, 0, 1, 2, 2, 1])
    nodes, transitions = chains.split(np.arange(45.0))
    assert_array_equal(nodes, np.arange(36.0).reshape(12, K))
    assert_array_equal(transitions, np.arange(36.0, 45.0).reshape(K, K))


@pytest.mark.parametrize("part", [0, 1], ids=["tokens", "transitions"])
def test_logarithms_are_for_scores_more_than_150_apart(part):
    chains, scores = Chains(LENGTHS, K), [np.zeros((12, K)), np.zeros((K, K))]
    for apart, kind in ((150.0, Beliefs), (np.nextafter(150.0, 151.0), LogBeliefs)):
        scores[part][1] = [-0.5 * apart, 0.0, 0.5 * apart]
        assert type(sum_product(chains, *scores)) is kind


@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_roundings_of_probabilities(scale):
    """For each of 5 tokens a sum of 3 terms, and of logarithms relative to their size."""
    *_, z = generated(3, scale)
    chains = Chains(LENGTHS, K)
    found = sum_product(chains, *chains.split(z))
    expected = 4.0 * 5 * (K + 8) * EPSILON
    if scale == 1e3:
        parts = found.forward, found.backward, found.potentials
        for messages in parts[:2]:  # whose largest entries are at 0
            assert_array_equal(messages.max(axis=1), 0.0)
        expected = 4.0 * 5 * (K + 16) * EPSILON * (1.0 + sum(np.abs(x).max() for x in parts))
    assert_allclose(found.relative_error, expected, rtol=1e-13)


@pytest.mark.parametrize("kind", [ChainLoss, ChainLogLoss])
def test_what_losses_of_chains_say_of_themselves(kind):
    _, y, z = generated(4)
    y = np.concatenate(y)
    loss = kind(y, LENGTHS, K)
    # means over the 4 chains, and sums over the 8 pairs
    assert_allclose(loss.weights, np.append(np.full(36, 1 / 4), np.full(9, 8 / 4)))
    assert_array_equal(loss.largest_theta, 1.0)
    assert_allclose(loss.entropy_range, 12 / 4 * np.log(K))
    nodes, transitions = z[:36].reshape(12, K), z[36:]
    nodes = nodes - nodes[np.arange(12), y][:, np.newaxis]
    if kind is ChainLoss:
        nodes += y[:, np.newaxis] != np.arange(K)
    sizes = 3.0 * np.abs(nodes).max(axis=1).sum() + 5.0 * 8 * np.abs(transitions).max()
    sizes += 12 * (np.log(K) + K + 10.0)
    assert_allclose(loss.value(z)[1], (6.0 * 5 + K * K + 64.0) * EPSILON * sizes / 4, rtol=1e-13)


@pytest.mark.parametrize("kind", [ChainLoss, ChainLogLoss])
def test_a_chain_of_one_token_has_no_pairs(kind):
    loss = kind(np.array([1]), np.array([1]), 2)
    z = np.array([0.5, 1.0, 7.0, 7.0, 7.0, 7.0])
    expected = 0.5 if kind is ChainLoss else np.log1p(np.exp(-0.5))
    assert_allclose(loss.value(z)[0], expected)
    assert_allclose(loss.weights, 1.0)


def test_roundings_of_mixtures_of_labelings():
    _, y, z = generated(4)
    loss, soft = (kind(np.concatenate(y), LENGTHS, K) for kind in (ChainLoss, ChainLogLoss))
    hard = loss.loss_augmented(z, 0.0)[1]
    assert (hard.theta_error, hard.mean_loss_error) == (EPSILON, EPSILON * hard.mean_loss)
    of_probabilities, sums = 4.0 * 5 * (K + 8) * EPSILON, (4 + 5 + 16) * EPSILON
    smoothed, mixture = loss.loss_augmented(z, 0.5)[1], soft.loss_augmented(z, 0.0)[1]
    assert_allclose(smoothed.theta_error, of_probabilities + sums, rtol=1e-13)
    assert_allclose(mixture.theta_error, of_probabilities + sums, rtol=1e-13)
    expected = (of_probabilities + 64 * EPSILON) * smoothed.mean_loss
    assert_allclose(smoothed.mean_loss_error, expected, rtol=1e-13)
    assert mixture.relative_error == of_probabilities
    # nothing but underflow is left where all other labelings are out of reach
    far = loss.loss_augmented(np.append(1e4 * np.ravel(loss.true_nodes), np.zeros(9)), 1.0)[1]
    assert (far.mean_loss, far.mean_loss_error) == (0.0, 1e-100 * 12 / 4)
    for scale in (1.0, 0.25):
        nodes = scale * mixture.nodes + (1.0 - scale) * soft.true_nodes
        edges = scale * mixture.edges
        edges[soft.true_edges] += 1.0 - scale
        sizes = 8 + 12 - sum(np.sum(p * np.log(p)) for p in (nodes, edges))
        relative = of_probabilities + 64 * EPSILON + K * EPSILON
        assert_allclose(mixture.value(scale)[1], 1.1 * relative * sizes / 4, rtol=1e-12)
        shrunk = scale * mixture
        assert_allclose(shrunk.relative_error, of_probabilities + 4 * EPSILON, rtol=1e-13)
        expected = scale * mixture.theta_error + EPSILON * np.abs(mixture.theta).max()
        assert_allclose(shrunk.theta_error, expected, rtol=1e-13)
        assert (shrunk.mean_loss, shrunk.mean_loss_error) == (0.0, 0.0)
        assert_allclose(shrunk.nodes, nodes)
    mixed = soft.convex_combination(np.array([0.2, 0.3]), [mixture, 0.5 * mixture])
    expected = of_probabilities + 4 * EPSILON + 4 * (2 + 2) * EPSILON
    assert_allclose(mixed.relative_error, expected, rtol=1e-13)
    assert soft.true_labeling.relative_error == 0.0


@pytest.mark.parametrize("shares", [[0.3, 0.5], [0.9, 0.6], [-1e-17, 1.0], [-0.5, 0.5]])
def test_mixtures_of_random_fields_are_averages(shares):
    """Shares below 0 are 0, and shares of more than 1 together are divided by their sum."""
    _, y, z = generated(3)
    loss = ChainLogLoss(np.concatenate(y), LENGTHS, K)
    mixtures = [loss.loss_augmented(x, 0.0)[1] for x in (z, -z)]
    found = loss.convex_combination(np.array(shares), mixtures)
    shares = np.maximum(shares, 0.0) / max(np.maximum(shares, 0.0).sum(), 1.0)
    parts = [(1.0 - shares.sum(), loss.true_labeling), *zip(shares, mixtures, strict=True)]
    for name in ("nodes", "edges", "theta"):
        expected = sum(share * getattr(mixture, name) for share, mixture in parts)
        assert_allclose(getattr(found, name), expected, atol=1e-15)


def test_the_true_labeling_and_values_with_gradients():
    _, y, z = generated(3)
    loss = ChainLogLoss(np.concatenate(y), LENGTHS, K)
    assert_array_equal(loss.true_labeling.theta, 0.0)
    assert_array_equal(np.argmax(loss.true_labeling.nodes, axis=1), np.concatenate(y))
    assert_array_equal(loss.true_labeling.edges.sum(axis=0), loss.true_counts)
    value, theta = loss.value_and_theta(z)
    assert_allclose(value, loss.value(z)[0], rtol=1e-13)
    assert_allclose(theta, loss.loss_augmented(z, 0.0)[1].theta, atol=1e-15)
    with pytest.raises(ValueError, match=r"smoothing must be 0 for a soft maximum, got 0.1"):
        loss.loss_augmented(z, 0.1)
