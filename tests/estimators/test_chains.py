"""Chains: recursions against enumeration, optima against SciPy and Clarabel, the estimators."""

import itertools
import pickle
import warnings

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from skpd import ChainCRF, ChainM3N
from skpd.designs import Design
from skpd.designs.chains import ChainsDesign
from skpd.losses.chain_recursions import Chains, best_labels, log_partition, sum_product
from skpd.losses.chains import ChainLogLoss, ChainLoss
from tests.oracles.optima import optimal_value

K = 3
LENGTHS = np.array([2, 5, 1, 4])


def labelings(length):
    return [np.array(q) for q in itertools.product(range(K), repeat=length)]


def features(labeling):
    """The indicators of a labeling: of tokens, and the numbers of transitions."""
    counts = np.zeros((K, K))
    np.add.at(counts, (labeling[:-1], labeling[1:]), 1.0)
    return np.eye(K)[labeling], counts


def scores_of(nodes, T):
    """The scores of all labelings of a chain, and these."""
    found = labelings(len(nodes))
    return np.array([
        np.sum(f * nodes) + np.sum(c * T) for f, c in map(features, found)
    ]), found  # fmt: skip


def generated(seed=0, scale=1.0, d=4, lengths=LENGTHS):
    rng = np.random.default_rng(seed)
    X = [rng.standard_normal((n, d)) for n in lengths]
    y = [rng.integers(0, K, size=n) for n in lengths]
    n_tokens = int(np.sum(lengths))
    z = scale * rng.standard_normal(n_tokens * K + K * K)
    return X, y, z


def chain_by_chain(z, lengths=LENGTHS):
    nodes, T = z[: -K * K].reshape(-1, K), z[-K * K :].reshape(K, K)
    return np.split(nodes, np.cumsum(lengths)[:-1]), T


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
    _, mixture = loss.mixture(z, 0.0)
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
    gradient = loss.weights * loss.mixture(z, mu)[1].theta
    step = 1e-6 * mu
    for k, slope in enumerate(gradient):
        e = step * np.eye(len(z))[k]
        change = loss.mixture(z + e, mu)[0] - loss.mixture(z - e, mu)[0]
        assert change / (2 * step) == pytest.approx(slope, abs=1e-5)


def test_the_dual_value_is_the_entropy_and_minus_the_conjugate():
    _, y, z = generated(3)
    loss = ChainLogLoss(np.concatenate(y), LENGTHS, K)
    _, mixture = loss.mixture(z, 0.0)
    own, T = chain_by_chain(z)
    entropy = 0.0
    for nodes in own:
        scores, _ = scores_of(nodes, T)
        q = np.exp(scores - logsumexp(scores))
        entropy -= np.sum(q * np.log(q)) / len(y)
    value, error = mixture.value(1.0)
    assert value == pytest.approx(entropy, rel=1e-12)
    assert error < 1e-11
    fenchel = loss.value(z)[0] - (loss.weights * mixture.theta) @ z
    assert value == pytest.approx(fenchel, rel=1e-12)
    # shrunk towards the true labeling it is what the same labelings have, and concave
    half, _ = mixture.value(0.5)
    assert (0.5 * mixture).value(1.0)[0] == pytest.approx(half, rel=1e-12)
    assert half >= 0.5 * value
    other = loss.mixture(-z, 0.0)[1]
    mixed = loss.mixed(np.array([0.3, 0.5]), [mixture, other])
    np.testing.assert_allclose(mixed.theta, 0.3 * mixture.theta + 0.5 * other.theta, atol=1e-15)
    assert mixed.value(1.0)[0] >= 0.3 * value + 0.5 * other.value(1.0)[0]
    # at most minus the conjugate at its theta: at most L less the product, whatever the scores
    for seed in range(20):
        point = generated(seed, 3.0)[2]
        bound = loss.value(point)[0] - (loss.weights * mixed.theta) @ point
        assert mixed.value(1.0)[0] <= bound + 1e-12
    assert loss.truth.value(1.0)[0] == 0.0


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
    value, mixture = loss.mixture(z, mu)
    assert value == pytest.approx(expected, rel=1e-12)
    assert mixture.mean_loss == pytest.approx(mean_loss, rel=1e-12)
    assert value <= loss.value(z)[0] + 1e-12 <= value + mu * loss.entropy_range + 1e-11


@pytest.mark.parametrize("sparse", [False, True])
def test_the_map_and_its_transpose(sparse):
    X, _, z = generated(5)
    tokens = np.vstack(X)
    design = ChainsDesign(Design(sp.csr_array(tokens) if sparse else tokens), K)
    rng = np.random.default_rng(0)
    v = rng.standard_normal(design.shape[1])
    W, T = v[: -K * K].reshape(-1, K), v[-K * K :]
    expected = np.append(np.ravel(tokens @ W), T)
    high, low, error = design.matvec_compensated(v, 0.0)
    bounded, bound = design.matvec_bounded(v, 0.0)
    np.testing.assert_allclose(design.matvec(v), expected, rtol=1e-12, atol=1e-13)
    assert np.all(np.abs(high + low - expected) <= error + 1e-13)
    assert np.all(np.abs(bounded - high) <= bound + error + np.abs(low))
    c = rng.uniform(0.5, 1.0, size=len(z))
    product, error = design.rmatvec_compensated(c, z)
    np.testing.assert_allclose(product, design.rmatvec(c * z), rtol=1e-12, atol=1e-12)
    assert product @ v == pytest.approx((c * z) @ expected, rel=1e-12)
    squares = np.append(np.repeat(np.sqrt(c[: -K * K].reshape(-1, K).T @ tokens**2), 1), 0)
    norms = design.column_norms(c)
    assert norms[0] == pytest.approx(squares.reshape(-1)[0], rel=1e-12)
    np.testing.assert_allclose(norms[-K * K :], np.sqrt(c[-K * K :]), rtol=1e-12)
    matrix = np.array([design.matvec(e) for e in np.eye(design.shape[1])]).T
    np.testing.assert_allclose(design.row_norms(), np.linalg.norm(matrix, axis=1), rtol=1e-12)


def crf_objective(X, y, alpha):
    """The mean negative log-likelihood and half the squared norm, over all labelings."""
    d, terms = X[0].shape[1], []
    for x, true in zip(X, y, strict=True):
        rows = []
        for labeling in labelings(len(x)):
            f, c = features(labeling)
            g, e = features(true)
            rows.append(np.append(np.ravel(x.T @ (f - g)), np.ravel(c - e)))
        terms.append(np.array(rows))

    def objective(v):
        value, slope = 0.5 * alpha * v @ v, alpha * v
        for rows in terms:
            scores = rows @ v
            q = np.exp(scores - logsumexp(scores))
            value, slope = value + logsumexp(scores) / len(X), slope + rows.T @ q / len(X)
        return value, slope

    return objective, terms, d * K + K * K


@pytest.mark.parametrize("seed", range(5))
def test_random_fields_reach_the_optimum_of_scipy(seed):
    X, y, _ = generated(seed)
    y[0][0], y[0][1], y[1][0] = 0, 1, 2
    alpha = 10.0 ** np.random.default_rng(seed).uniform(-3, 0)
    objective, _, size = crf_objective(X, y, alpha)
    found = minimize(objective, np.zeros(size), jac=True, options={"gtol": 1e-10})
    model = ChainCRF(alpha=alpha, tol=1e-9).fit(X, y)
    assert model.converged_
    assert model.solver_ == "l-bfgs"
    assert model.certificate_.dual <= found.fun * (1.0 + 1e-14)
    assert model.certificate_.primal == pytest.approx(found.fun, rel=1e-8)
    v = np.append(np.ravel(model.coef_.T), np.ravel(model.transitions_))
    assert objective(v)[0] == pytest.approx(model.certificate_.primal, rel=1e-10)


def optimum_by_clarabel(X, y, alpha, penalty, hinge):
    """Over all labelings of every chain."""
    _, terms, size = crf_objective(X, y, alpha)
    v, loss = cp.Variable(size), 0.0
    for rows, true in zip(terms, y, strict=True):
        hamming = np.array([np.sum(q != true) for q in labelings(len(true))])
        loss += (cp.max(rows @ v + hamming) if hinge else cp.log_sum_exp(rows @ v)) / len(X)
    groups = [v[i : i + K] for i in range(0, size, K)]
    R = {
        "l2": 0.5 * cp.sum_squares(v),
        "l1": cp.norm1(v),
        "group": np.sqrt(K) * sum(cp.norm2(group) for group in groups),
    }[penalty]
    return optimal_value(cp.Problem(cp.Minimize(loss + alpha * R)))


@pytest.mark.parametrize(
    ("model", "penalty"),
    [(ChainCRF, "l1"), (ChainCRF, "group"), (ChainM3N, "l2"), (ChainM3N, "l1")],
)
def test_optima_are_those_of_clarabel(model, penalty):
    X, y, _ = generated(7, lengths=np.array([2, 3, 1, 3]))
    y[0][0], y[0][1], y[1][0] = 0, 1, 2
    optimum = optimum_by_clarabel(X, y, 0.05, penalty, model is ChainM3N)
    fitted = model(alpha=0.05, penalty=penalty, tol=1e-8).fit(X, y)
    assert fitted.converged_
    assert fitted.certificate_.dual <= optimum + 1e-9
    assert fitted.certificate_.primal == pytest.approx(optimum, rel=3e-8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        early = model(alpha=0.05, penalty=penalty, tol=1e-8, max_iter=2).fit(X, y)
    assert early.certificate_.dual <= optimum + 1e-9 <= early.certificate_.primal + 2e-9


@pytest.mark.parametrize(
    ("penalty", "options"),
    [
        ("l2", {}),
        ("l2", {"memory": "one"}),
        ("l2", {"smoothing": "homotopy"}),
        ("l1", {}),
        ("group", {}),
    ],
)
def test_accelerated_gradients_reach_the_optimum_of_clarabel(penalty, options):
    X, y, _ = generated(7, lengths=np.array([2, 3, 1, 3]))
    y[0][0], y[0][1], y[1][0] = 0, 1, 2
    optimum = optimum_by_clarabel(X, y, 0.05, penalty, True)
    model = ChainM3N(0.05, penalty=penalty, solver="agm", solver_options=options, tol=1e-2)
    fitted = model.fit(X, y)
    assert fitted.converged_ and fitted.solver_ == "agm"
    assert fitted.certificate_.dual <= optimum + 1e-9
    assert fitted.certificate_.primal == pytest.approx(optimum, rel=0.1)


@pytest.mark.parametrize("model", [ChainCRF, ChainM3N])
def test_estimators_take_sparse_data_and_any_labels(model):
    X, y, _ = generated(8)
    names = np.array(["noun", "verb", "other"])
    y = [names[labels] for labels in y]
    dense = model(alpha=0.1, tol=1e-7).fit(X, y)
    sparse = clone(dense).fit([sp.csr_array(x) for x in X], [list(labels) for labels in y])
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-3)
    assert list(dense.classes_) == ["noun", "other", "verb"]
    assert dense.coef_.shape == (K, 4)
    assert dense.transitions_.shape == (K, K)
    predicted = pickle.loads(pickle.dumps(dense)).predict(X)
    right = np.concatenate(predicted) == np.concatenate(y)
    assert dense.score(X, y) == pytest.approx(np.mean(right))
    # the labels are those of the largest score among all labelings
    for x, labels in zip(X, predicted, strict=True):
        scores, found = scores_of(x @ dense.coef_.T, dense.transitions_)
        np.testing.assert_array_equal(dense.classes_[found[np.argmax(scores)]], labels)
    again = clone(dense).set_params(warm_start=True).fit(X, y).fit(X, y)
    assert again.n_iter_ <= dense.n_iter_
    mixed = model(alpha=0.1).fit(X, [[(a, 1) if a == "noun" else a for a in s] for s in y])
    assert ("noun", 1) in list(mixed.classes_)


def test_marginals_are_those_over_all_labelings():
    X, y, _ = generated(9)
    model = ChainCRF(alpha=0.1).fit(X, y)
    for x, marginals in zip(X, model.predict_marginals(X), strict=True):
        scores, found = scores_of(x @ model.coef_.T, model.transitions_)
        q = np.exp(scores - logsumexp(scores))
        expected = sum(p * np.eye(K)[labeling] for p, labeling in zip(q, found, strict=True))
        np.testing.assert_allclose(marginals, expected, rtol=1e-10)


def test_data_that_do_not_fit_are_refused():
    X, y, _ = generated(10)
    model = ChainCRF()
    with pytest.raises(ValueError, match="X must be a list"):
        model.fit([], [])
    with pytest.raises(ValueError, match="as many sequences"):
        model.fit(X, y[1:])
    with pytest.raises(ValueError, match=r"y\[1\] must have a label for each of the 5 tokens"):
        model.fit(X, [y[0], y[1][:-1], *y[2:]])
    with pytest.raises(ValueError, match="same number of features"):
        model.fit([X[0][:, :2], *X[1:]], y)
    with pytest.raises(ValueError, match="at least 2 different labels"):
        model.fit(X, [np.zeros(len(labels)) for labels in y])
    fitted = ChainCRF().fit(X, y)
    for value, name in ((np.nan, "NaN"), (np.inf, "infinity")):
        bad = [np.full_like(X[0], value), *X[1:]]
        for call in (lambda bad=bad: model.fit(bad, y), lambda bad=bad: fitted.predict(bad)):
            with pytest.raises(ValueError, match=f"X contains {name}"):
                call()
        labels = [np.append(y[0][:-1].astype(float), value), *y[1:]]
        with pytest.raises(ValueError, match="labels in y must not be NaN or infinity"):
            model.fit(X, labels)
    with pytest.raises(ValueError, match=r"X\[0\] must have no masked values"):
        model.fit([np.ma.masked_less(X[0], 0.0), *X[1:]], y)
    with pytest.raises(TypeError, match="sample_weight"):
        model.fit(X, y, sample_weight=np.ones(4))


def test_squares_of_features_that_overflow(rng):
    """Steps are in units of the data then, and coefficients stay finite."""
    X = [1e200 * rng.normal(size=(5, 3)) for _ in range(6)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ChainCRF(alpha=1.0).fit(X, [["a", "b", "a", "b", "b"]] * 6)
    assert np.isfinite(model.coef_).all() and np.isfinite(model.transitions_).all()
