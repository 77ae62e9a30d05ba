"""What is said of data that do not fit, and of what is no estimator."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Lasso

from skpd import (
    CoxPD,
    MatrixCompletionPD,
    OrdinalPD,
    PdproxRegressor,
    PdproxSVC,
    certify,
    coef_table,
    feature_groups,
    regularization_path,
)

N = 30


@pytest.fixture(scope="module")
def classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    return X, np.where(X[:, 0] + rng.normal(size=N) > 0.0, 1, -1)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda X, y: PdproxSVC().fit(X, y[:-1]), ValueError,
         "Found inconsistent numbers of samples: 30 in X, 29 in y."),
        (lambda X, y: PdproxSVC().fit(X, y, np.ones(7)), ValueError,
         "sample_weight.shape == (7,), expected (30,)!"),
        (lambda X, y: certify(Lasso().fit(X, y), X, y, np.ones(3)), ValueError,
         "Found inconsistent numbers of samples: 30 in X, 30 in y, 3 in sample_weight."),
        (lambda X, y: PdproxSVC().fit("data.csv", y), ValueError,
         "X must be a table of rows and features, got 'data.csv'."),
        (lambda X, y: PdproxRegressor().fit(X, np.full(N, "a")), ValueError,
         "y must hold numbers, but could not convert string to float: 'a'."),
        (lambda X, y: PdproxRegressor().fit(X, pd.Series(np.full(N, "a"), dtype=object)),
         ValueError, "y must hold numbers, but could not convert string to float: 'a'."),
        (lambda X, y: PdproxRegressor().fit([["a", 1.0], ["b", 2.0]], [1, 2]), ValueError,
         "X must hold numbers, but its columns [0] do not. Encode them by a OneHotEncoder in a "
         "pipeline: make_pipeline(make_column_transformer((OneHotEncoder(handle_unknown='ignore')"
         ", [0]), remainder='passthrough'), PdproxRegressor())."),
        (lambda X, y: MatrixCompletionPD().fit([[0, 1], [1, 0]], ["a", "b"]), ValueError,
         "y must hold numbers, but could not convert string to float: 'a'."),
        (lambda X, y: CoxPD().fit(X, np.column_stack([y > 0, np.arange(N)])), ValueError,
         "The events in y, its last column, must be 0 or 1, got array([ 0., 1., 2., ..., 27., "
         "28., 29.])."),
        (lambda X, y: OrdinalPD(classes=["low", "high"]).fit(X, np.arange(N) % 3), ValueError,
         "The 'classes' parameter of OrdinalPD must hold every class of y, once and in order, got "
         "['low', 'high'] for the classes [0, 1, 2]."),
        (lambda X, y: certify(PdproxSVC().fit(X, y), X, y, tol="a"), ValueError,
         "tol must be a number of at least 0, got 'a'."),
        (lambda X, y: coef_table("x"), TypeError,
         "model must be an estimator of skpd with coef_, a pipeline that ends in one, or a search "
         "with best_estimator_, got 'x'."),
        (lambda X, y: feature_groups("x"), TypeError,
         "feature_groups takes a fitted transformer, got 'x'."),
        (lambda X, y: regularization_path("x", X, y), TypeError,
         "estimator must be one of skpd's linear models, or a pipeline whose last step is: others "
         "have no path over alpha, got 'x'."),
    ],
)  # fmt: skip
def test_data_and_models_that_do_not_fit(classes, call, error, message):
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        call(*classes)


def test_certify_of_no_estimator(classes):
    with pytest.raises(
        TypeError, match=r"^certify takes linear models .*, got builtins\.str, whi"
    ):
        certify("x", *classes)
