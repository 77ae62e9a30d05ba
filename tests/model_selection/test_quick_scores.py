"""Scores of a path at once are those of scikit-learn's scorers, model by model."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skpd
from skpd.model_selection import quick_scores

ALPHAS = [0.3, 0.1, 0.01]
pytestmark = pytest.mark.filterwarnings("ignore:PathCV has chosen the")


def data(rng, n=120, d=6):
    X = rng.normal(size=(n, d))
    return X, X[:, 0] - X[:, 1] + rng.normal(size=n), rng.integers(0, 3, size=n).astype(float)


def searches(model, X, y, scoring, name="alpha", **params):
    ours = skpd.PathCV(model, alphas=ALPHAS, cv=3, scoring=scoring).fit(X, y, **params)
    grid = {name: sorted(ALPHAS, reverse=True)}
    return ours, GridSearchCV(model, grid, cv=3, scoring=scoring).fit(X, y, **params)


@pytest.mark.parametrize("scoring", [None, *quick_scores.OF_TARGETS])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_scores_of_regressors(scoring, convert, rng):
    X, y, _ = data(rng)
    ours, theirs = searches(skpd.ElasticNetPD(tol=1e-10), convert(X), y, scoring)
    for k in range(3):
        name = f"split{k}_test_score"
        assert_allclose(ours.cv_results_[name], theirs.cv_results_[name], rtol=1e-6)


@pytest.mark.parametrize("scoring", [None, *quick_scores.OF_LABELS])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_of_classifiers(scoring, n_classes, rng):
    X, y, _ = data(rng)
    labels = np.array(["c", "a", "b"])[np.digitize(y, [0.0, 1.0][: n_classes - 1])]
    ours, theirs = searches(skpd.LogisticPD(tol=1e-9), X, labels, scoring)
    for k in range(3):
        name = f"split{k}_test_score"
        assert_allclose(ours.cv_results_[name], theirs.cv_results_[name], rtol=1e-4)


def test_other_scores_are_left_to_their_scorers(rng, monkeypatch):
    X, y, _ = data(rng)
    monkeypatch.setattr("skpd.model_selection.scored_folds.predictions_of", None)
    labels = (y > 0.0).astype(int)
    for model, targets, scoring in (
        (skpd.LogisticPD(), labels, "roc_auc"), (skpd.LassoPDCertified(), y, "neg_max_error"),
        (skpd.PoissonPD(), np.exp(0.3 * y), None), (skpd.PdproxSVC(), labels, lambda m, X, y: 0.5),
        (skpd.QuantilePD(), y, None),
    ):  # fmt: skip
        skpd.PathCV(model, alphas=[0.1, 0.01], cv=3, scoring=scoring).fit(X, targets)


def test_weights_and_pipelines(rng):
    X, y, weights = data(rng)
    model = make_pipeline(StandardScaler(), skpd.LassoPDCertified(tol=1e-10))
    ours, theirs = searches(model, X, y, "r2", "lassopdcertified__alpha")
    assert_allclose(
        ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], rtol=1e-6
    )
    search = skpd.PathCV(skpd.LassoPDCertified(tol=1e-10), alphas=ALPHAS, cv=3)
    search.fit(X, y, sample_weight=weights)
    train, test = np.arange(40, 120), np.arange(40)
    lasso = skpd.LassoPDCertified(0.1, tol=1e-10).fit(X[train], y[train], weights[train])
    expected = lasso.score(X[test], y[test], weights[test])
    assert_allclose(search.cv_results_["split0_test_score"][1], expected, rtol=1e-6)
