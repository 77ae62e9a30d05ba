"""PathCV against GridSearchCV over the same alphas."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_diabetes, load_iris, make_classification
from sklearn.metrics import get_scorer, make_scorer, max_error
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from skpd import (
    ElasticNetPD,
    ElasticNetPDClassifier,
    GapDisplay,
    GroupLassoSVC,
    LassoPDCertified,
    MultinomialPD,
    MultiTaskPD,
    PathCV,
    PdproxRegressor,
    PdproxSVC,
    TraceNormPD,
    certify,
    regularization_path,
)

# A constant model is as good as another for what is tested here; grids of two or three alphas are
# fast, and their best is often an end.
pytestmark = pytest.mark.filterwarnings("ignore:.*(all coefficients are 0|end of the grid)")

TIGHT = 1e-11
SHORT = {"alphas": 2, "cv": 3}
EXACT = LassoPDCertified(tol=1e-10)


def regression(n=90):
    X, y = load_diabetes(return_X_y=True)
    return X[:n], y[:n]


def binary(n=120):
    X, y = make_classification(n, 10, n_informative=4, flip_y=0.1, random_state=0)
    return X, np.array(["no", "yes"])[y]


def multiclass():
    X, y = load_iris(return_X_y=True)
    return X[::2], load_iris().target_names[y[::2]]


def outputs(rng, n=60):
    X, W = rng.normal(size=(n, 6)), np.zeros((6, 3))
    W[:2] = rng.normal(size=(2, 3))
    return X, X @ W + 0.5 * rng.normal(size=(n, 3))


def same_as_grid_search(ours, X, y, parameter="alpha", **fit):
    """PathCV and GridSearchCV, fitted and seen to have the same scores and choice."""
    ours.fit(X, y, **fit)
    names = [name for name in fit if name == "sample_weight"]
    theirs = GridSearchCV(
        ours.estimator, {parameter: ours.alphas_}, cv=ours.cv, scoring=ours.scoring
    )
    if names and parameter != "alpha":
        fit = {parameter.replace("alpha", name): fit[name] for name in names}
    theirs.fit(X, y, **fit)
    for name, values in theirs.cv_results_.items():
        if "test_score" in name and "rank" not in name:
            assert_allclose(ours.cv_results_[name], values, rtol=1e-6, atol=1e-6)
    assert_allclose(ours.cv_results_["param_alpha"], ours.alphas_)
    assert_allclose(ours.best_score_, theirs.best_score_, atol=1e-6)
    assert ours.best_index_ == np.argmin(ours.cv_results_["rank_test_score"])
    assert ours.alpha_ == ours.alphas_[ours.best_index_]
    assert ours.cv_results_["max_relative_gap"].max() <= TIGHT
    return theirs


@pytest.mark.parametrize("estimator, scoring", [
    (PdproxRegressor(loss="squared", tol=TIGHT), None),
    (LassoPDCertified(tol=TIGHT), "neg_mean_absolute_error"),
    (ElasticNetPD(tol=TIGHT), make_scorer(max_error, greater_is_better=False)),
], ids=str)  # fmt: skip
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_regressors_have_the_scores_of_grid_search(estimator, scoring, n_jobs):
    X, y = regression()
    ours = PathCV(estimator, alphas=5, eps=0.05, scoring=scoring, n_jobs=n_jobs)
    theirs = same_as_grid_search(ours, X, y)
    assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-6)
    assert is_regressor(ours) and not is_classifier(ours)
    assert_allclose(ours.score(X, y), theirs.score(X, y), rtol=1e-6)


@pytest.mark.parametrize("estimator, scoring", [
    (PdproxSVC(loss="logistic", tol=TIGHT), "roc_auc"),
    (GroupLassoSVC(groups=2, loss="logistic", class_weight="balanced", tol=TIGHT), None),
    (MultinomialPD(penalty="l1", tol=TIGHT), "neg_log_loss"),
    (ElasticNetPDClassifier(tol=TIGHT), "balanced_accuracy"),
], ids=str)  # fmt: skip
def test_classifiers_have_the_scores_of_grid_search(estimator, scoring):
    X, y = binary()
    ours = PathCV(estimator, alphas=4, eps=0.05, scoring=scoring)
    theirs = same_as_grid_search(ours, X, y)
    assert_array_equal(ours.classes_, ["no", "yes"])
    assert_array_equal(ours.predict(X), theirs.predict(X))
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-3)
    assert hasattr(ours, "predict_proba") == hasattr(estimator, "predict_proba")
    assert is_classifier(ours)


@pytest.mark.parametrize("estimator, scoring", [
    (PdproxSVC(loss="squared_hinge", tol=TIGHT), None),
    (MultinomialPD(penalty="l21", tol=TIGHT), "roc_auc_ovr"),
], ids=str)  # fmt: skip
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csc_matrix])
def test_several_classes(estimator, scoring, container):
    X, y = multiclass()
    ours = PathCV(estimator, alphas=3, scoring=scoring, cv=3, n_jobs=2)
    same_as_grid_search(ours, container(X), y)
    assert ours.best_estimator_.coef_.shape == (3, 4)


@pytest.mark.parametrize("estimator, alphas", [
    (MultiTaskPD(tol=TIGHT), 5), (MultiTaskPD(penalty="l2", tol=TIGHT), [1.0, 0.1]),
    (TraceNormPD(radius=None, tol=TIGHT), 5),
], ids=str)  # fmt: skip
def test_several_outputs(estimator, alphas, rng):
    ours = PathCV(estimator, alphas=alphas, cv=3)
    same_as_grid_search(ours, *outputs(rng))
    assert ours.predict(np.zeros((2, 6))).shape == (2, 3)


def test_tasks(rng):
    X, y = rng.normal(size=(60, 4)), rng.normal(size=60)
    X[:, 2] = np.tile([3.0, 7.0], 30)
    same_as_grid_search(PathCV(MultiTaskPD(tasks=2, tol=TIGHT), alphas=4, cv=3), X, y)
    alone = PathCV(MultiTaskPD(tasks=2), alphas=4, cv=[(np.arange(0, 60, 2), np.arange(60))])
    with pytest.raises(ValueError, match=r"In fold 0 .*: The tasks in X must be among"):
        alone.fit(X, y)


@pytest.mark.parametrize("scoring", [None, "neg_mean_squared_error"])
def test_weights_are_those_of_fits_and_scores(scoring, rng):
    X, y = regression()
    weights = rng.integers(0, 3, size=len(y)).astype(float)
    ours = PathCV(LassoPDCertified(tol=TIGHT), alphas=6, scoring=scoring)
    same_as_grid_search(ours, X, y, sample_weight=weights)
    score = get_scorer(scoring) if scoring else type(EXACT).score
    expected = score(ours.best_estimator_, X, y, sample_weight=weights)
    assert ours.score(X, y, sample_weight=weights) == expected


def test_a_scorer_without_weights_is_given_none(rng):
    X, y = regression()
    weights = rng.random(len(y))
    ours = PathCV(LassoPDCertified(tol=TIGHT), alphas=4, scoring=make_scorer(max_error))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The scoring", UserWarning)  # of GridSearchCV
        same_as_grid_search(ours, X, y, sample_weight=weights)


def test_a_pipeline_is_fitted_anew_in_every_fold():
    X, y = binary()
    X = pd.DataFrame(100.0 * X + 7.0, columns=[f"feature {j}" for j in range(10)])
    model = make_pipeline(StandardScaler(), PdproxSVC(loss="logistic", tol=TIGHT))
    ours = PathCV(model, alphas=6, scoring="roc_auc")
    theirs = same_as_grid_search(ours, X, y, "pdproxsvc__alpha")
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-3)
    assert list(ours.feature_names_in_) == list(X.columns) and ours.n_features_in_ == 10
    assert ours.estimator[-1].alpha == 1e-3 and not hasattr(ours.estimator[-1], "coef_")
    assert ours.best_estimator_[-1].alpha == ours.alpha_


def test_weights_in_a_pipeline_are_those_of_its_last_step(rng):
    X, y = regression()
    weights, model = rng.random(len(y)), make_pipeline(StandardScaler(), EXACT)
    ours = PathCV(model, alphas=[2.0], cv=KFold(3)).fit(X, y, sample_weight=weights)
    for k, (train, test) in enumerate(KFold(3).split(X)):
        scaler = StandardScaler().fit(X[train])
        fit = LassoPDCertified(2.0, tol=1e-10).fit(
            scaler.transform(X[train]), y[train], sample_weight=weights[train]
        )
        expected = fit.score(scaler.transform(X[test]), y[test], sample_weight=weights[test])
        assert_allclose(ours.cv_results_[f"split{k}_test_score"], expected, atol=1e-6)
    assert_allclose(ours.best_estimator_[0].mean_, X.mean(axis=0))


def test_inside_pipelines_and_other_searches():
    X, y = binary()
    inner = PathCV(PdproxSVC(loss="logistic", tol=TIGHT), alphas=5, cv=3)
    model = make_pipeline(StandardScaler(), inner).fit(X, y)
    grid = GridSearchCV(inner.estimator, {"alpha": model[-1].alphas_}, cv=3)
    grid.fit(StandardScaler().fit_transform(X), y)
    assert_allclose(
        model[-1].cv_results_["mean_test_score"], grid.cv_results_["mean_test_score"], atol=1e-6
    )
    assert_array_equal(model.predict(X), grid.predict(StandardScaler().fit_transform(X)))
    by_hand = [
        clone(model).fit(X[train], y[train]).score(X[test], y[test])
        for train, test in StratifiedKFold(3).split(X, y)
    ]
    assert_allclose(cross_val_score(model, X, y, cv=3), by_hand)
    assert certify(model, X, y).relative_gap <= 1e-9
    display = GapDisplay.from_estimator(model, x="n_iter")
    assert display.names == ["PdproxSVC"]


def test_folds_without_a_class():
    X, y = multiclass()
    two = np.flatnonzero(y != "virginica")
    folds = [(two, np.arange(len(y))), (np.arange(len(y)), np.arange(len(y)))]
    ours = PathCV(PdproxSVC(loss="logistic", tol=TIGHT), alphas=5, cv=folds)
    same_as_grid_search(ours, X, y)  # which never predicts it in that fold
    alone = [(np.flatnonzero(y == "setosa"), np.arange(len(y)))]
    with pytest.raises(ValueError, match=r"In fold 0 of the cross-validation: .* at least 2 clas"):
        ours.set_params(cv=alone).fit(X, y)
    assert not hasattr(ours, "best_estimator_")
    with pytest.raises(ValueError, match=r"In fold 0 of the cross-validation: .*"):
        PathCV(MultinomialPD(), scoring="roc_auc_ovr", cv=folds, alphas=[0.1]).fit(X, y)


@pytest.mark.parametrize("cv", [GroupKFold(3), LeaveOneGroupOut()], ids=str)
def test_groups_for_the_splitter_as_grid_search_takes_them(cv, rng):
    X, y = regression()
    groups = rng.integers(4, size=90)
    ours = PathCV(LassoPDCertified(tol=TIGHT), alphas=4, cv=cv)
    same_as_grid_search(ours, X, y, groups=groups)
    with pytest.raises(ValueError, match="'groups' parameter should not be None"):
        ours.fit(X, y)


def test_metadata_is_routed(rng):
    X, y = regression()
    groups, weights = np.repeat(np.arange(9), 10), rng.random(90)
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        PathCV(LassoPDCertified(), **SHORT).fit(X, y, strata=groups)
    with pytest.raises(TypeError, match=r"LassoPDCertified\.fit has no parameter 'strata'"):
        regularization_path(LassoPDCertified(), X, y, strata=groups)
    with config_context(enable_metadata_routing=True):
        for of_fit, of_score in ((True, False), (False, True), (True, True)):
            estimator = LassoPDCertified(tol=TIGHT).set_fit_request(sample_weight=of_fit)
            scorer = get_scorer("r2").set_score_request(sample_weight=of_score)
            ours = PathCV(estimator, alphas=4, cv=GroupKFold(3), scoring=scorer, n_jobs=2)
            same_as_grid_search(ours, X, y, groups=groups, sample_weight=weights)
            metadata = {"sample_weight": weights} if of_score else {}
            assert ours.score(X, y, **metadata) == scorer(ours.best_estimator_, X, y, **metadata)
        with pytest.raises(ValueError, match="sample_weight"):
            PathCV(LassoPDCertified(), **SHORT).fit(X, y, sample_weight=weights)


def test_metadata_of_the_steps_of_a_pipeline(rng):
    X, y = regression()
    weights = rng.random(90)
    with config_context(enable_metadata_routing=True):
        model = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=True),
            LassoPDCertified(tol=TIGHT).set_fit_request(sample_weight=True)
            .set_score_request(sample_weight=True),
        )  # fmt: skip
        scorer = get_scorer("r2").set_score_request(sample_weight=True)
        for scoring in (scorer, None):  # which is the same
            ours = PathCV(model, alphas=4, cv=3, scoring=scoring)
            ours.fit(X, y, sample_weight=weights)
            theirs = GridSearchCV(model, {"lassopdcertified__alpha": ours.alphas_}, cv=3)
            theirs.set_params(scoring=scorer).fit(X, y, sample_weight=weights)
            expected = theirs.cv_results_["mean_test_score"]
            assert_allclose(ours.cv_results_["mean_test_score"], expected, atol=1e-6)
    assert_allclose(ours.best_estimator_[0].mean_, np.average(X, axis=0, weights=weights))


class Counting(FunctionTransformer):
    """A transformer that does nothing, and counts how often."""

    def fit(self, X, y=None):
        CALLS.append(("fit", len(X)))
        return super().fit(X, y)

    def transform(self, X):
        CALLS.append(("transform", len(X)))
        return super().transform(X)


CALLS: list = []


def test_scorers_see_what_those_of_grid_search_see():
    X, y = regression()
    X = pd.DataFrame(X, columns=[f"feature {j}" for j in range(10)])
    model = make_pipeline("passthrough", StandardScaler(), Counting(), EXACT)
    seen = []

    def score(fitted, X, y):
        seen.append((
            type(fitted), list(fitted.named_steps), fitted[-1].alpha, list(X.columns),
            fitted[1].mean_, fitted.predict(X), fitted[-1].predict(fitted[:-1].transform(X)),
            fitted.predict(X.iloc[:3]), fitted.score(X, y),
        ))  # fmt: skip
        return -float(np.mean((y - seen[-1][5]) ** 2))

    CALLS.clear()
    alphas = [1.0, 0.5, 0.25, 0.1]
    ours = PathCV(model, alphas=alphas, cv=KFold(3), scoring=score).fit(X, y)
    of_tests = [call for call in CALLS if call == ("transform", 30)]
    assert len(of_tests) == 3  # once for each fold, whatever the number of alphas is
    assert CALLS.count(("fit", 60)) == 3
    assert_array_equal([each[2] for each in seen], alphas * 3)
    own, seen = seen, []
    grid = {"lassopdcertified__alpha": alphas}
    theirs = GridSearchCV(model, grid, cv=KFold(3), scoring=score).fit(X, y)
    seen = [seen[3 * a + k] for k in range(3) for a in range(4)] if seen[1][2] == 1.0 else seen
    for ours_saw, they_saw in zip(own, seen, strict=True):
        assert ours_saw[:4] == they_saw[:4]
        for mine, their in zip(ours_saw[4:], they_saw[4:], strict=True):
            assert_allclose(mine, their, atol=1e-6)
    assert_allclose(ours.best_score_, theirs.best_score_, rtol=1e-8)
    assert ours.alpha_ == theirs.best_params_["lassopdcertified__alpha"]
