"""Probabilities of the classes against scikit-learn's."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler

from skpd import DRSVMClassifier, ElasticNetPDClassifier, GroupLassoSVC, MultinomialPD, PdproxSVC

ALPHA = 0.01
RIDGE = {"loss": "logistic", "penalty": "l2", "tol": 1e-12}


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), np.array(["setosa", "versicolor", "virginica"])[y]


def logistic_regression(n_samples):
    return LogisticRegression(C=1.0 / (ALPHA * n_samples), tol=1e-10, max_iter=10_000)


def test_two_classes(iris):
    X, y = iris
    labels = y == "versicolor"
    ours = PdproxSVC(ALPHA, **RIDGE).fit(X, labels)
    theirs = logistic_regression(len(y)).fit(X, labels)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-7)
    assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), atol=1e-6)
    theirs = logistic_regression(len(y) * 4 // 5)  # C counts the samples of a fold
    scores = cross_val_score(ours, X, labels, scoring="neg_log_loss")
    assert_allclose(scores, cross_val_score(theirs, X, labels, scoring="neg_log_loss"), atol=1e-6)


def test_one_vs_rest(iris):
    X, y = iris
    ours = PdproxSVC(ALPHA, **RIDGE).fit(X, y)
    theirs = OneVsRestClassifier(logistic_regression(len(y))).fit(X, y)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)


def test_far_from_the_hyperplane(iris):
    X, y = iris
    for labels in (y, y == "setosa"):
        clf = PdproxSVC(ALPHA, **RIDGE).fit(X, labels)
        probabilities, logarithms = clf.predict_proba(1e6 * X), clf.predict_log_proba(1e6 * X)
        assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)
        assert np.isfinite(logarithms).all()
        if logarithms.shape[1] == 2:  # log(1 + exp(-z)) = -z for large scores against the class
            scores = clf.decision_function(1e6 * X)
            assert_allclose(logarithms.min(axis=1), -np.abs(scores), rtol=1e-12)


def test_only_where_the_loss_is_a_likelihood():
    without = [
        PdproxSVC(), PdproxSVC(loss="squared_hinge"), GroupLassoSVC(), DRSVMClassifier(),
        ElasticNetPDClassifier(), MultinomialPD(loss="crammer_singer"),
        PdproxSVC(loss="unknown"),
    ]  # fmt: skip
    assert not any(hasattr(estimator, "predict_proba") for estimator in without)
    having = [
        PdproxSVC(loss="logistic"), GroupLassoSVC(loss="logistic"),
        ElasticNetPDClassifier(loss="logistic"), MultinomialPD(),
    ]  # fmt: skip
    assert all(hasattr(estimator, "predict_log_proba") for estimator in having)
    with pytest.raises(AttributeError) as caught:
        _ = PdproxSVC().predict_proba
    assert "CalibratedClassifierCV" in str(caught.value)


def test_calibrated_hinge(iris):
    X, y = iris
    clf = CalibratedClassifierCV(PdproxSVC(ALPHA, penalty="l2")).fit(X, y)
    assert cross_val_score(clf, X, y, scoring="neg_log_loss").mean() > np.log(1.0 / 3.0)
