"""Chains: recursions against enumeration, optima against SciPy and Clarabel, the estimators."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from skpd import ChainCRF, ChainM3N, PathCV
from tests.oracles.chain_labelings import K, features, generated, labelings, scores_of
from tests.oracles.optima import optimal_value


def crf_objective(X, y, alpha, cost=None):
    """The mean negative log-likelihood and half the squared norm, over all labelings.

    With a cost the number of wrong labels is in the exponent, (45) of Zhang et al.
    """
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
        for rows, true in zip(terms, y, strict=True):
            scores = rows @ v
            if cost:
                scores = scores + [np.sum(q != true) for q in labelings(len(true))]
            q = np.exp(scores - logsumexp(scores))
            value, slope = value + logsumexp(scores) / len(X), slope + rows.T @ q / len(X)
        return value, slope

    return objective, terms, d * K + K * K


@pytest.mark.parametrize("cost", [None, "hamming"])
@pytest.mark.parametrize("seed", range(5))
def test_random_fields_reach_the_optimum_of_scipy(seed, cost):
    X, y, _ = generated(seed)
    y[0][0], y[0][1], y[1][0] = 0, 1, 2
    alpha = 10.0 ** np.random.default_rng(seed).uniform(-3, 0)
    objective, _, size = crf_objective(X, y, alpha, cost)
    found = minimize(objective, np.zeros(size), jac=True, options={"gtol": 1e-10})
    model = ChainCRF(alpha=alpha, cost=cost, tol=1e-9).fit(X, y)
    assert model.converged_
    assert model.solver_ == "l-bfgs"
    assert model.certificate_.dual <= found.fun * (1.0 + 1e-14)
    assert model.certificate_.primal == pytest.approx(found.fun, rel=1e-8)
    v = np.append(np.ravel(model.coef_.T), np.ravel(model.transitions_))
    assert objective(v)[0] == pytest.approx(model.certificate_.primal, rel=1e-10)


def optimum_by_clarabel(X, y, alpha, penalty, hinge):
    """Over all labelings of every chain."""
    _, terms, size = crf_objective(X, y, alpha)
    cp = pytest.importorskip("cvxpy")
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


def test_costs_in_the_exponent_are_refused_by_other_names():
    X, y, _ = generated(7)
    with pytest.raises(ValueError, match="'cost' parameter of ChainCRF must be a known name"):
        ChainCRF(cost="zero_one").fit(X, y)


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


def test_columns_of_frames_are_checked():
    """A model of frames knows their columns, as other estimators do."""
    X, y, _ = generated(10)
    frames = [pd.DataFrame(table, columns=list("abcd")) for table in X]
    model = ChainCRF().fit(frames, y)
    assert list(model.feature_names_in_) == list("abcd")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        labels = model.predict(frames)
    for ours, expected in zip(labels, ChainCRF().fit(X, y).predict(X), strict=True):
        np.testing.assert_array_equal(ours, expected)
    with pytest.raises(ValueError, match="The feature names should match"):
        model.predict([frame[list("dcba")] for frame in frames])
    with pytest.raises(
        ValueError, match=r"same columns in the same order, got \['d', 'c', 'b', 'a'\]"
    ):
        model.fit([frames[0], frames[1][list("dcba")], *frames[2:]], y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)
    numbered = [pd.DataFrame(X[0]), *X[1:]]  # numbers are no names
    assert not hasattr(ChainCRF().fit(numbered, y), "feature_names_in_")


def test_squares_of_features_that_overflow(rng):
    """Steps are in units of the data then, and coefficients stay finite."""
    X = [1e200 * rng.normal(size=(5, 3)) for _ in range(6)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ChainCRF(alpha=1.0).fit(X, [["a", "b", "a", "b", "b"]] * 6)
    assert np.isfinite(model.coef_).all() and np.isfinite(model.transitions_).all()


# Of so few alphas the best is often an end.
@pytest.mark.filterwarnings("ignore:.*end of the grid")
def test_alpha_chosen_along_the_path():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(4, 3)) for _ in range(12)]
    y = [(tokens[:, 0] > 0.0).astype(int) for tokens in X]
    alphas = [0.1, 0.01]
    search = PathCV(ChainCRF(), alphas=alphas, cv=3).fit(X, y)
    grid = GridSearchCV(ChainCRF(), {"alpha": alphas}, cv=3).fit(X, y)
    for name in ("mean_test_score", "std_test_score"):
        np.testing.assert_allclose(search.cv_results_[name], grid.cv_results_[name])
