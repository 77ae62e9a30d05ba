"""What is said of data that do not fit, and of what is no estimator."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Lasso

from skpd import (
    ChainCRF,
    CoxPD,
    LPBoostClassifier,
    MatrixCompletionPD,
    MKLClassifier,
    OrdinalPD,
    PdproxRegressor,
    PdproxSVC,
    RowBlocks,
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


# Some of the models that it fits are constant.
@pytest.mark.filterwarnings("ignore:.*all coefficients are 0")
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
        (lambda X, y: certify(PdproxSVC().fit(X, y), X, y, max_iter=1.5), ValueError,
         "max_iter must be an int of at least 1, got 1.5."),
        (lambda X, y: certify(PdproxSVC().fit(X, y), X, y, rigorous="a"), ValueError,
         "rigorous must be True or False, got 'a'."),
        (lambda X, y: certify(PdproxSVC().fit(X, y), X, y, loss="hinge", penalty="l1", alpha="a"),
         ValueError, "alpha must be a number of at least 0, got 'a'."),
        (lambda X, y: certify(PdproxSVC().fit(X, y), X, y, loss="hinge", penalty="l1", alpha=1.0,
                              fit_intercept="no"), ValueError,
         "fit_intercept must be True, False or None, got 'no'."),
        (lambda X, y: certify(PdproxSVC().fit(X, y), X, y, loss="hinge", penalty="l1", alpha=1.0,
                              fit_intercept=1), ValueError,
         "fit_intercept must be True, False or None, got 1."),
        (lambda X, y: certify(PdproxSVC().fit(X, y), X, y, loss="hinge"), TypeError,
         "loss, penalty and alpha must be given together (and fit_intercept with them): penalty "
         "and alpha missing."),
        (lambda X, y: MatrixCompletionPD().fit(["ab", "cd"], [1.0, 2.0]), ValueError,
         "X must hold pairs of labels of a row and a column, got ['ab', 'cd']."),
        (lambda X, y: MatrixCompletionPD().fit([(1, 2), (2, 3)], [1.0, 2.0]).predict((1, 2)),
         ValueError, "X must hold pairs of labels of a row and a column, got (1, 2)."),
        (lambda X, y: MatrixCompletionPD().fit(None, [1.0]), ValueError,
         "X must hold pairs of labels of a row and a column, got None."),
        (lambda X, y: MKLClassifier(kernels=[("rbf", {"gama": 5.0})]).fit(X, y), ValueError,
         "kernels must hold parameters that the kernel takes, for 'rbf' gamma, got gama."),
        (lambda X, y: MKLClassifier(kernels=[("linear", {"gamma": 5.0})]).fit(X, y), ValueError,
         "kernels must hold parameters that the kernel takes, for 'linear' none, got gamma."),
        (lambda X, y: CoxPD().fit(X, np.column_stack([np.arange(N) + 1.0, y > 0]))
         .predict_survival_function(X, "a"), ValueError,
         "times must hold numbers, but could not convert string to float: 'a'."),
        (lambda X, y: OrdinalPD(decision=[1.0]).fit(X, np.arange(N) % 3), ValueError,
         "decision must be costs of shape (3, 3), got (1,)."),
        (lambda X, y: ChainCRF().fit([X], None), ValueError,
         "y must hold the labels of each sequence, got None."),
        (lambda X, y: ChainCRF().fit(pd.DataFrame(X), y), ValueError,
         "X must be a list of at least one sequence, each an array or sparse matrix of shape "
         "(n_tokens, n_features), got DataFrame."),
        (lambda X, y: ChainCRF().fit([], []), ValueError,
         "X must be a list of at least one sequence, each an array or sparse matrix of shape "
         "(n_tokens, n_features), got an empty list."),
        (lambda X, y: LPBoostClassifier().fit(RowBlocks([X]), y), ValueError,
         "LPBoostClassifier takes X as an array or a sparse matrix, got RowBlocks. PdproxSVC, "
         "LogisticPD, GroupLassoSVC, PdproxRegressor, GroupLassoPD, LassoPDCertified, "
         "ElasticNetPD, ElasticNetPDClassifier, PoissonPD, GammaPD and TweediePD take these; "
         "gathered() copies them to memory."),
        (lambda X, y: PdproxSVC(penalty_weights=[1.0, 2.0]).fit(X, y), ValueError,
         "penalty_weights, bounds and the arrays of a penalty must hold a number for each of the "
         "3 features, got 2."),
        (lambda X, y: coef_table("x"), TypeError,
         "model must be an estimator of skpd with coef_, or a pipeline, a search or a calibrated "
         "classifier (ensemble=False) that holds one, got 'x'."),
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
