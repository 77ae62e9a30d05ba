"""Models of Dask for data in memory, and for both in turn."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.linear_model import (
    Lasso,
)
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

import skpd

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

import pandas as pd  # noqa: E402

import skpd.dask as skpd_dask  # noqa: E402
from tests.dask.chunks import N, in_chunks  # noqa: E402
from tests.dask.test_models_of_dask import MODELS  # noqa: E402


@pytest.mark.parametrize("name, params", MODELS, ids=str)
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array, pd.DataFrame])
def test_data_in_memory_are_fitted_as_by_the_ordinary_estimators(data, name, params, convert):
    X, y, labels, weights = data
    X = convert(X)
    local, model = (getattr(m, name)(**params, random_state=0) for m in (skpd, skpd_dask))
    y = labels if hasattr(local, "decision_function") else y
    local.fit(X, y, weights)
    model.fit(X, y, weights)
    assert_array_equal(model.coef_, local.coef_)
    assert_array_equal(model.dual_coef_, local.dual_coef_)
    assert_array_equal(model.predict(X), local.predict(X))
    assert model.score(X, y, weights) == local.score(X, y, weights)
    assert skpd.certify(model, X, y, weights) == skpd.certify(local, X, y, weights)


def test_a_grid_search_hands_over_folds_in_memory(data):
    X, y, *_ = data
    frame = pd.DataFrame(X, columns=list("abcdef"))
    grid = {"lasso__alpha": [1.0, 0.1, 0.03, 0.01]}
    searches = [
        GridSearchCV(Pipeline([("scaler", StandardScaler()), ("lasso", lasso)]), grid, cv=3)
        for lasso in (Lasso(tol=1e-10), skpd_dask.LassoPDCertified(tol=1e-10))
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        theirs, ours = (search.fit(frame, y) for search in searches)
    assert ours.best_params_ == theirs.best_params_
    name = "mean_test_score"
    assert_allclose(ours.cv_results_[name], theirs.cv_results_[name], rtol=1e-7)
    assert_allclose(ours.best_estimator_[-1].coef_, theirs.best_estimator_[-1].coef_, atol=1e-6)
    named = skpd_dask.LassoPDCertified(0.1).fit(frame, y)
    with pytest.raises(ValueError, match="feature names"):
        named.predict(frame[list("bacdef")])


def test_fits_in_memory_and_with_workers_take_turns(client, data):
    X, y, *_ = data
    model = skpd_dask.LassoPDCertified(0.1, tol=1e-9, warm_start=True)
    expected = Lasso(0.1, tol=1e-12).fit(X, y).coef_
    for n_rounds in (0, 1, 1, 0, 0):
        given = (in_chunks(X), in_chunks(y)) if n_rounds else (X, y)
        assert_allclose(model.fit(*given).coef_, expected, atol=1e-6)
        assert hasattr(model, "communication_") == n_rounds
    several = skpd_dask.LassoPDCertified(0.1).fit(X, np.column_stack([y, -y]))
    predicted = several.predict(in_chunks(X)).compute()
    assert_array_equal(predicted, several.predict(X))
    assert predicted.shape == (N, 2)


def test_warm_starts_in_memory_of_groups_that_overlap(data):
    X, _, labels, _ = data
    groups = [[0, 1, 2], [2, 3, 4, 5]]
    model = skpd_dask.GroupLassoSVC(0.01, groups=groups, warm_start=True).fit(X, labels)
    local = skpd.GroupLassoSVC(0.01, groups=groups).fit(X, labels)
    assert_array_equal(model.coef_, local.coef_)
    assert_allclose(model.fit(X, labels).coef_, local.coef_, atol=1e-2)
