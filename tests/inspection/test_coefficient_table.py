"""Coefficients as a data frame, beside the attributes of the models."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from skpd import (
    ElasticNetPD,
    GroupLassoSVC,
    KernelPdproxSVC,
    LogisticPD,
    MultinomialPD,
    PathCV,
    PdproxSVC,
    QuantilePD,
    coef_table,
)

pytest.importorskip("pandas")
FRAME, LABELS = load_breast_cancer(return_X_y=True, as_frame=True)


def test_names_bounds_and_zeros_of_a_pipeline():
    model = make_pipeline(StandardScaler(), LogisticPD(0.02, penalty="l1")).fit(FRAME, LABELS)
    table, certificate = coef_table(model), model[-1].certificate_
    assert list(table.columns) == ["coef", "lower", "upper", "proven_zero"]
    assert list(table.index) == list(FRAME.columns)
    assert_array_equal(table["coef"], model[-1].coef_[0])
    assert_array_equal(table[["lower", "upper"]], certificate.coefficient_bounds)
    assert_array_equal(table["proven_zero"], certificate.proven_zero)


def test_names_where_a_step_has_none():
    def angle():
        return FunctionTransformer(np.arctan)  # without get_feature_names_out

    def names(*steps):
        model = make_pipeline(*steps, ElasticNetPD(0.01)).fit(FRAME.to_numpy(), LABELS)
        return list(coef_table(model).index)

    numbered = [f"x{j}" for j in range(30)]
    assert names(angle()) == names(angle(), StandardScaler()) == numbered
    assert names(StandardScaler(), angle()) == names("passthrough", StandardScaler()) == numbered
    columns = make_column_transformer(
        (StandardScaler(), [3, 2]), ("drop", [4]),
        (make_pipeline(StandardScaler(), angle()), [0, 1]), (SelectKBest(k=1), [5, 6]),
        remainder="passthrough",
    )  # fmt: skip
    found = names(columns)
    assert found[:4] == [
        "standardscaler__x3", "standardscaler__x2", "pipeline__x2", "pipeline__x3",
    ]  # fmt: skip
    assert found[4] in ("selectkbest__x5", "selectkbest__x6")
    assert found[5:] == [f"remainder__x{j}" for j in range(7, 30)]
    columns.set_params(verbose_feature_names_out=False)
    assert names(columns) == numbered[:28]  # where x2 and x3 would be two features each


def test_names_of_a_frame_beside_a_part_without_names():
    columns = make_column_transformer(
        (FunctionTransformer(np.log1p), ["mean area"]), ("passthrough", ["mean radius"])
    )
    model = make_pipeline(columns, ElasticNetPD(0.01)).fit(FRAME, LABELS)
    assert list(coef_table(model).index) == ["functiontransformer__x0", "passthrough__mean radius"]
    logs = make_pipeline(FunctionTransformer(np.log1p), ElasticNetPD(0.01)).fit(FRAME, LABELS)
    assert list(coef_table(logs).index) == list(FRAME.columns)  # a frame too after the step


def test_classes_one_against_the_rest_and_together():
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = np.array(["a", "b", "c"])[y]
    for model in (PdproxSVC(0.01), MultinomialPD(0.01)):
        table = coef_table(model.fit(X, names))
        assert list(table["output"]) == ["a"] * 4 + ["b"] * 4 + ["c"] * 4
        assert list(table.index) == list(X.columns) * 3
        assert_array_equal(table["coef"], model.coef_.ravel())
        bounds = np.reshape(
            [c.coefficient_bounds for c in np.atleast_1d(model.certificate_)], (-1, 2)
        )
        assert_array_equal(table[["lower", "upper"]], bounds)


def test_quantiles_without_names():
    X, y = load_diabetes(return_X_y=True)
    table = coef_table(QuantilePD((0.2, 0.8)).fit(X, y))
    assert list(table["output"]) == [0.2] * 10 + [0.8] * 10
    assert list(table.index) == [f"x{j}" for j in range(10)] * 2


def test_searches():
    scaled = make_pipeline(StandardScaler(), ElasticNetPD())
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    for search in (PathCV(scaled, alphas=4), GridSearchCV(scaled, {"elasticnetpd__alpha": [1.0]})):
        table = coef_table(search.fit(X, y))
        assert list(table.index) == list(X.columns)
        assert_array_equal(table["coef"], search.best_estimator_[-1].coef_)


def test_groups_that_overlap_have_no_bounds():
    groups = [[0, 1, 2], [2, 3, 4], list(range(4, 30))]
    model = make_pipeline(StandardScaler(), GroupLassoSVC(groups=groups)).fit(FRAME, LABELS)
    table = coef_table(model)
    assert_array_equal(table["coef"], model[-1].coef_[0])
    assert np.all(np.isinf(table["lower"])) and not table["proven_zero"].any()


def test_sparse_coefficients():
    model = LogisticPD(0.1, penalty="l1").fit(FRAME, LABELS)
    coef = model.coef_[0].copy()
    assert_array_equal(coef_table(model.sparsify())["coef"], coef)


def test_models_without_a_table():
    with pytest.raises(TypeError, match=r"an estimator of skpd with coef_, .* KernelPdproxSVC"):
        coef_table(KernelPdproxSVC().fit(FRAME, LABELS))
    with pytest.raises(TypeError, match="got StandardScaler"):
        coef_table(StandardScaler().fit(FRAME))
    with pytest.raises(NotFittedError):
        coef_table(LogisticPD())
