"""Classes, times and orders without a penalty on some features, beside other libraries."""

import numpy as np
import pytest
import statsmodels.api as sm
from lifelines.datasets import load_rossi
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression, Ridge

from skpd import CoxPD, LogisticPD, MultinomialPD, MultiTaskPD

TOL = 1e-12


@pytest.fixture
def rossi():
    table = load_rossi().astype(float)
    return table.drop(columns=["week", "arrest"]), table["week"], table["arrest"]


def differences(coef, intercept):
    """Coefficients of classes beside those of the first."""
    return np.column_stack([coef, intercept])[1:] - np.append(coef[0], intercept[0])


@pytest.mark.parametrize("kind", [LogisticPD, MultinomialPD])
def test_several_classes_are_those_of_statsmodels(kind):
    data = sm.datasets.anes96.load()
    X, y = np.asarray(data.exog, dtype=float)[:, :5], np.asarray(data.endog).astype(int)
    X = X / X.std(axis=0)
    theirs = sm.MNLogit(y, sm.add_constant(X, prepend=False)).fit(
        disp=0, method="newton", tol=1e-14
    )
    ours = kind(0, tol=TOL).fit(X, y)
    assert ours.converged_
    assert_allclose(differences(ours.coef_, ours.intercept_), theirs.params.T, atol=1e-6)
    learnt = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12, max_iter=1000).fit(
        X, y
    )
    expected = differences(learnt.coef_, learnt.intercept_)
    assert_allclose(differences(ours.coef_, ours.intercept_), expected, atol=1e-6)


@pytest.mark.parametrize("ties", ["efron", "breslow"])
@pytest.mark.parametrize("stratified", [False, True])
def test_cox_is_that_of_statsmodels(ties, stratified, rossi):
    X, week, arrest = rossi
    strata = np.asarray(X.pop("race")) if stratified else None
    X = X / X.std()
    theirs = sm.PHReg(week, X, status=arrest, strata=strata, ties=ties).fit(
        method="newton", tol=1e-14
    )
    ours = CoxPD(0, ties=ties, tol=TOL).fit(X, np.column_stack([week, arrest]), strata=strata)
    assert ours.converged_
    assert_allclose(ours.coef_, theirs.params, atol=1e-6)


def test_several_outputs_are_least_squares(rng):
    X, W = rng.normal(size=(200, 4)), rng.normal(size=(4, 3))
    Y = X @ W + rng.normal(size=(200, 3))
    theirs = Ridge(alpha=0).fit(X, Y)
    ours = MultiTaskPD(0, tol=TOL).fit(X, Y)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-6)
