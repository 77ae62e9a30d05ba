"""PathCV against GridSearchCV over the same alphas, formulas and its own conventions."""

import inspect
import pickle
import re
import warnings
from dataclasses import replace
from functools import wraps

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_iris,
    load_wine,
    make_classification,
)
from sklearn.exceptions import ConvergenceWarning, NotFittedError, UndefinedMetricWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer, make_scorer, max_error
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    PredefinedSplit,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import skpd
from skpd import (
    CoxPD,
    DRSVMClassifier,
    ElasticNetPD,
    ElasticNetPDClassifier,
    GammaPD,
    GapDisplay,
    GroupLassoPD,
    GroupLassoSVC,
    LassoPDCertified,
    LassoPDCertifiedCV,
    LogisticPD,
    LPBoostClassifier,
    MatrixCompletionPD,
    MetricSVC,
    MultinomialPD,
    MultiTaskPD,
    OrdinalPD,
    PathCV,
    PdproxRegressor,
    PdproxSVC,
    PoissonPD,
    QuantilePD,
    TraceNormPD,
    TweediePD,
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


def by_table(table):
    """A scorer that looks up the score of an alpha on a fold, whose first target it is."""
    return lambda estimator, X, y: table[estimator.alpha][int(y[0])]


def test_one_standard_error(rng):
    X, y = rng.normal(size=(40, 3)), np.repeat(np.arange(4.0), 10)
    table = {
        1.0: [0.70, 0.71, 0.69, 0.70],
        0.5: [0.78, 0.86, 0.74, 0.82],  # the mean is 0.80
        0.2: [0.80, 0.90, 0.76, 0.86],  # 0.83, the best, with a standard error of 0.031
        0.1: [0.83, 0.83, 0.83, 0.81],
    }
    error = np.std(table[0.2], ddof=1) / 2.0
    assert 0.03 < error < 0.0316  # 0.80 is within it, 0.70 is not
    parameters = {
        "alphas": list(table), "cv": PredefinedSplit(y.astype(int)), "scoring": by_table(table)
    }  # fmt: skip
    best = PathCV(LassoPDCertified(), **parameters).fit(X, y)
    assert (best.alpha_, best.best_index_) == (0.2, 2)
    simpler = PathCV(LassoPDCertified(), rule="one_standard_error", **parameters).fit(X, y)
    assert (simpler.alpha_, simpler.best_index_) == (0.5, 1)
    assert_allclose(simpler.best_score_, 0.80)
    assert simpler.best_estimator_.alpha == 0.5
    assert_array_equal(simpler.cv_results_["rank_test_score"], [4, 3, 1, 2])
    assert_allclose(simpler.cv_results_["std_test_score"][2], 2.0 * error * np.sqrt(3 / 4))
    assert simpler.cv_results_["params"][3] == {"alpha": 0.1}
    with pytest.raises(ValueError, match="needs 2 folds at least, got 1"):
        simpler.set_params(cv=[(np.arange(20), np.arange(20, 40))]).fit(X, y)


def test_scores_that_are_nan_are_not_chosen(rng):
    X, y = rng.normal(size=(40, 3)), np.repeat(np.arange(4.0), 10)
    table = {1.0: [0.1] * 4, 0.5: [np.nan, 0.9, 0.9, 0.9], 0.2: [0.2] * 4}
    model = PathCV(LassoPDCertified(), alphas=list(table), cv=PredefinedSplit(y.astype(int)))
    model.set_params(scoring=by_table(table)).fit(X, y)
    assert model.alpha_ == 0.2
    assert_array_equal(model.cv_results_["rank_test_score"], [2, 3, 1])
    table.update({1.0: [np.nan, 0.1, 0.1, 0.1], 0.2: [np.nan, np.nan, 0.2, 0.2]})
    with pytest.warns(UserWarning, match=r"leaves out 1 of 4 folds.*SurvivalScorer"):
        model.fit(X, y)
    assert model.alpha_ == 0.5 and model.best_score_ == pytest.approx(0.9)
    table.update({1.0: [0.1, np.nan, 0.1, 0.1], 0.5: [np.nan, 0.9, 0.9, 0.9]})
    with pytest.raises(ValueError, match="has returned nan in a fold for each"):
        model.fit(X, y)
    with pytest.raises(ValueError, match=r"In fold 0 .*: scoring must return a number"):
        model.set_params(scoring=lambda estimator, X, y: {"r2": 1.0}).fit(X, y)


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


def test_the_default_alphas_hold_the_best():
    """The log loss and R^2 have their best within 1e-4 of the first alpha on these data."""
    for load, estimator, scoring in (
        (load_breast_cancer, PdproxSVC(loss="logistic"), "neg_log_loss"),
        (load_wine, PdproxSVC(loss="logistic", penalty="l2"), "neg_log_loss"),
        (load_iris, PdproxSVC(loss="logistic", penalty="l2"), "neg_log_loss"),
        (load_diabetes, LassoPDCertified(), None),
        (load_diabetes, PdproxRegressor(loss="squared", penalty="l2"), None),
    ):
        X, y = load(return_X_y=True)
        search = PathCV(make_pipeline(StandardScaler(), estimator), alphas=25, scoring=scoring)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert 0 < search.fit(X, y).best_index_ < 24


@pytest.mark.parametrize("parameters, message", [
    ({"alphas": [1.0, 0.7, 0.5]}, "smallest of 3 alphas, 0.5.*Add smaller values to alphas"),
    ({"alphas": 4, "eps": 0.5}, "smallest of 4 alphas.*Decrease eps"),
    ({"alphas": [1e-9, 3e-2]}, "largest of 2 alphas, 0.03.*Add larger values to alphas"),
    ({"alphas": [0.5]}, None), ({"alphas": [1e-9, 0.03, 10.0]}, None),
    ({"alphas": [1e-12, 1e-11, 10.0]}, None),  # the least is best, by nothing
], ids=str)  # fmt: skip
def test_a_choice_at_an_end_of_the_grid_warns(parameters, message, rng):
    X = rng.normal(size=(40, 25))
    y = X[:, 0] + rng.normal(size=40)
    if parameters["alphas"] == [1e-12, 1e-11, 10.0]:
        y = X[:, 0]
    for model in (PathCV(LassoPDCertified(), **parameters), LassoPDCertifiedCV(**parameters)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(X, y)
        said = [str(w.message) for w in caught if "end of the grid" in str(w.message)]
        assert len(said) == (message is not None)
        if message:
            assert re.search(f"{type(model).__name__} has chosen the {message}", said[0])
            assert caught[-1].filename == __file__


def test_scores_of_probabilities_that_there_are_not():
    for model in (PdproxSVC(), make_pipeline(StandardScaler(), PdproxSVC())):
        with pytest.raises(ValueError, match=r"fold 0.*asks for predict_proba.*loss='logistic'"):
            PathCV(model, scoring="neg_log_loss", **SHORT).fit(*binary())


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


def test_parameters_of_the_estimator_and_copies():
    X, y = regression()
    model = PathCV(LassoPDCertified(), **SHORT).set_params(estimator__tol=1e-7)
    assert clone(model).estimator.tol == 1e-7 and model.get_params()["estimator__tol"] == 1e-7
    for attribute in ("n_features_in_", "classes_", "best_estimator_"):
        assert not hasattr(model, attribute)
    assert not hasattr(model, "decision_function")
    with pytest.raises(NotFittedError):
        model.predict(X)
    model.fit(X, y)
    assert model.best_estimator_.tol == 1e-7
    assert (model.cv_results_["max_relative_gap"] <= 1e-7).all()
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("estimator, error, message", [
    (LogisticRegression(), TypeError, "one of skpd's"),
    (LPBoostClassifier(), TypeError, "skpd's linear models.*others have no path over alpha"),
    (make_pipeline(StandardScaler(), LogisticRegression()), TypeError, "one of skpd's"),
    (TraceNormPD(radius=1.0), ValueError, "leave the radius out"),
    (MatrixCompletionPD(), ValueError, "factors of different ranks"),
    (LassoPDCertifiedCV(), ValueError, "no parameter 'alpha'. Did you mean 'alphas'"),
    (PdproxRegressor(penalty="box"), ValueError, "alphas must be given as values"),
    (LassoPDCertified(tol=-1.0), ValueError, "'tol' parameter of LassoPDCertified"),
], ids=str)  # fmt: skip
def test_estimators_that_have_no_path(estimator, error, message, rng):
    X, y = rng.integers(4, size=(20, 2)), rng.integers(2, size=20)
    with pytest.raises(error, match=message):
        PathCV(estimator).fit(X, y)


@pytest.mark.parametrize("parameters, message", [
    ({"alphas": 0}, "'alphas' parameter"), ({"alphas": [0.1, -0.1]}, "alphas must hold finite"),
    ({"eps": 1.0}, "'eps' parameter"), ({"rule": "first"}, "'rule' parameter"),
    ({"scoring": "best"}, "'scoring' parameter"), ({"cv": []}, "at least one pair"),
    ({"cv": KFold(1000)}, "n_splits=1000"), ({"n_jobs": True}, "'n_jobs' parameter"),
])  # fmt: skip
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        PathCV(LassoPDCertified(), **parameters).fit(*regression())


def test_one_warning_says_how_many_did_not_converge():
    X, y = regression()
    estimator = LassoPDCertified(solver="cd", max_iter=1, tol=1e-11, random_state=0)
    model = PathCV(estimator, alphas=[0.2, 0.1], cv=3)
    with pytest.warns(
        ConvergenceWarning, match=r"PathCV did not.*tol=1.00e-11 in 7 of 7"
    ) as caught:
        model.fit(X, y)
    caught = [warning for warning in caught if warning.category is ConvergenceWarning]
    assert len(caught) == 1 and caught[0].filename == __file__
    assert (model.cv_results_["max_relative_gap"] > 1e-11).all()


class Tasks:
    """The names of the tasks of a fit."""

    def __init__(self):
        self.names = []

    def setup(self, estimator, context): ...
    def teardown(self, estimator, context): ...
    def on_fit_task_begin(self, estimator, context): ...

    def on_fit_task_end(self, estimator, context):
        self.names.append(context.task_name)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_it_calls_back(n_jobs, callbacks):
    tasks = Tasks()
    PathCV(LassoPDCertified(), n_jobs=n_jobs, **SHORT).set_callbacks(tasks).fit(*regression())
    assert sorted(tasks.names[:3]) == ["fold 0", "fold 1", "fold 2"]
    assert tasks.names[-2:] == ["fit on all data", "fit"]


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("inside", [True, False])  # of a fit, or between two
@pytest.mark.parametrize("classes", [2, 3])
def test_ctrl_c_keeps_what_was_scored(classes, inside, n_jobs, monkeypatch):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < classes], y[y < classes]
    model = PathCV(PdproxSVC(loss="logistic"), alphas=4, cv=2, n_jobs=n_jobs)
    whole = clone(model).fit(X, y)
    solve_one, calls, n_problems = PdproxSVC._solve, [], 1 if classes == 2 else 3

    def interrupt(self, *arguments, **options):
        calls.append(self)
        if len(calls) < last:
            return solve_one(self, *arguments, **options)
        if not inside:
            raise KeyboardInterrupt
        return replace(solve_one(self, *arguments, **options), interrupted=True)

    for last in (1, 4 * n_problems + 2, 7 * n_problems + 1, 8 * n_problems + 1):
        monkeypatch.undo()
        model.fit(X, y)
        calls.clear()
        monkeypatch.setattr(PdproxSVC, "_solve", interrupt)
        with pytest.raises(KeyboardInterrupt) as caught:
            model.fit(X, y)
        scores = np.array([model.cv_results_[f"split{k}_test_score"] for k in range(2)])
        expected = np.array([whole.cv_results_[f"split{k}_test_score"] for k in range(2)])
        tried = ~np.isnan(scores)
        assert_array_equal(scores[tried], expected[tried])
        assert tried.sum() < last
        if n_jobs == 1:
            assert tried.sum() == min((last - 1) // n_problems, 8)
        if last <= 8 * n_problems:
            assert str(caught.value).startswith(f"{tried.sum()} of 8 fits")
        assert hasattr(model, "alpha_") == tried.all(axis=0).any()
        assert not hasattr(model, "best_estimator_")
        with pytest.raises(NotFittedError):
            model.predict(X)


def test_paths_of_a_fold_are_those_of_its_samples():
    """What PathCV scores is what `path` finds on the samples to train on."""
    X, y = binary()
    train, test = np.arange(80), np.arange(80, 120)
    estimator = PdproxSVC(loss="logistic", tol=TIGHT)
    seen = []

    def keep(fitted, X, y):
        seen.append(fitted.decision_function(X))
        return 0.0

    model = PathCV(estimator, alphas=5, cv=[(train, test)], scoring=keep).fit(X, y)
    found = regularization_path(estimator, X[train], y[train], alphas=model.alphas_)
    assert_allclose(seen, found.decision_function(X[test]), atol=1e-9)
    assert model.alpha_ == model.alphas_[0]  # of equal scores the largest


def test_shown_with_the_best_estimator():
    """As scikit-learn's searches are: with the alpha that was chosen, once there is one."""
    X, y = load_diabetes(return_X_y=True)
    search = PathCV(PdproxRegressor(alpha=0.123, loss="squared"), alphas=[0.5, 0.25], cv=3)
    assert "best_estimator_" not in search._repr_html_()
    shown = search.fit(X, y)._repr_html_()
    assert "best_estimator_: PdproxRegressor" in shown
    assert f"alpha={search.alpha_}" in shown


def survival(rng, n=120):
    """Features, and times with events, of which the fields are those of scikit-survival."""
    X, time = rng.normal(size=(n, 3)), rng.exponential(size=n)
    y = np.zeros(n, dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = rng.random(n) < 0.7, time * np.exp(-X[:, 0])
    return X, y


# the estimators whose models make a path, and the targets that they take
WITH_PATHS = [
    (CoxPD(), survival), (OrdinalPD(), "labels"), (PoissonPD(), "counts"),
    (GammaPD(), "costs"), (TweediePD(), "costs"), (QuantilePD(), "numbers"),
    (LassoPDCertified(), "numbers"), (ElasticNetPD(), "numbers"), (GroupLassoPD(1), "numbers"),
    (PdproxRegressor(), "numbers"), (MultiTaskPD(), "outputs"), (PdproxSVC(), "labels"),
    (TraceNormPD(radius=None), "outputs"),
    (LogisticPD(), "signs"), (ElasticNetPDClassifier(), "labels"),
    (GroupLassoSVC(groups=1), "labels"), (MultinomialPD(), "labels"),
    (DRSVMClassifier(), "labels"), (MetricSVC(), "signs"),
]  # fmt: skip


def data_of(kind, rng, n=60):
    if kind is survival:
        return survival(rng, n)
    X = rng.normal(size=(n, 3))
    z = X[:, 0] + 0.5 * rng.normal(size=n)
    targets = {
        "numbers": z, "outputs": np.column_stack([z, -z]), "counts": rng.poisson(np.exp(z)),
        "costs": rng.gamma(2.0, np.exp(z)), "labels": np.digitize(z, [-0.5, 0.5]),
        "signs": np.where(z > 0.0, 1, -1),
    }  # fmt: skip
    return X, targets[kind]


def test_all_estimators_with_paths_are_known():
    """Those of the list, and those that need other data or say that they have no path."""
    others = {
        "BlockScaler", "ChainCRF", "ChainM3N", "ElasticNetPDCV", "KernelPdproxRegressor",
        "KernelPdproxSVC", "LPBoostClassifier", "LassoPDCertifiedCV", "MKLClassifier",
        "MKLRegressor", "MatrixCompletionPD", "MultiTaskPDCV", "PathCV",
    }  # fmt: skip
    fitted = {name for name in skpd.__all__ if hasattr(getattr(skpd, name), "fit")}
    assert fitted - others == {type(estimator).__name__ for estimator, _ in WITH_PATHS}


@pytest.mark.parametrize(("inside", "n_jobs"), [(False, 1), (True, 2)])
@pytest.mark.parametrize(("estimator", "kind"), WITH_PATHS, ids=lambda x: type(x).__name__)
def test_all_that_fit_takes_arrives_by_folds(estimator, kind, inside, n_jobs, rng, monkeypatch):
    X, y = data_of(kind, rng)
    table = {
        "sample_weight": rng.random(60), "offset": rng.normal(size=60), "check_input": False,
        "strata": rng.integers(2, size=60), "exposure": rng.uniform(0.1, 2.0, 60),
    }  # fmt: skip
    names = set(inspect.signature(estimator.fit).parameters) - {"X", "y"}
    given = {name: table[name] for name in names}
    if isinstance(estimator, PdproxSVC | GroupLassoSVC | ElasticNetPDClassifier):
        given["offset"] = rng.normal(size=(60, 3))  # one for each class against the others
    model = make_pipeline(StandardScaler(), estimator) if inside else estimator
    search = PathCV(model, alphas=[0.5, 0.4], cv=KFold(3), n_jobs=n_jobs)
    if names and not estimator._takes_offset:
        with pytest.raises(ValueError, match=f"{type(estimator).__name__} takes no offset"):
            search.fit(X, y, **given)
        del given["offset"]
    seen = {"_problems": [], "fit": []}

    def spy(name):
        method = getattr(type(estimator), name)

        @wraps(method)
        def seeing(*positional, **named):
            bound = inspect.signature(method).bind(*positional, **named)
            seen[name].append(bound.arguments)
            return method(*positional, **named)

        monkeypatch.setattr(type(estimator), name, seeing)

    spy("_problems")
    spy("fit")
    search.fit(X, y, **given)
    folds, arrived = [train for train, _ in KFold(3).split(X)], seen["_problems"][:4] + seen["fit"]
    if n_jobs == 2:  # in the order of the threads
        arrived[1:-1] = sorted(arrived[1:-1], key=lambda each: key_of_fold(each, given, folds))
    of_rows = {name: value for name, value in given.items() if name != "check_input"}
    of_problems = dict(of_rows)
    if "exposure" in of_problems:  # it is a part of the offsets from there on
        of_problems["offset"] = np.log(of_problems.pop("exposure")) + of_problems["offset"]
    expected, parts = [of_problems] * 4 + [of_rows], [slice(None), *folds, slice(None)]
    for rows, found, metadata in zip(parts, arrived, expected, strict=True):
        for name, values in metadata.items():
            assert_array_equal(found[name], values[rows])
    assert arrived[-1].get("check_input") == given.get("check_input")  # which is for fits alone


def key_of_fold(found, given, folds):
    """The number of the fold whose weights were seen; any for estimators without weights."""
    weights = given.get("sample_weight")
    if weights is None:
        return 0
    return [np.array_equal(found["sample_weight"], weights[train]) for train in folds].index(True)


@pytest.mark.filterwarnings("ignore:.*has groups=None")
@pytest.mark.parametrize(("estimator", "kind"), WITH_PATHS, ids=lambda x: type(x).__name__)
def test_every_method_that_predicts_is_within_reach(estimator, kind, rng):
    X, y = data_of(kind, rng)
    model = make_pipeline(StandardScaler(), estimator)
    search = PathCV(model, alphas=[0.1, 0.01], cv=KFold(3))
    methods = [
        name for name in dir(estimator)
        if hasattr(estimator, name)
        and (name.startswith("predict") or name in ("decision_function", "regressor"))
    ]  # fmt: skip
    assert "predict" in methods
    with pytest.raises(NotFittedError):
        search.predict(X)
    search.fit(X, y)
    steps, last = search.best_estimator_[:-1], search.best_estimator_[-1]
    for name in set(methods) - {"regressor"}:
        expected = getattr(last, name)(steps.transform(X))
        assert_array_equal(getattr(search, name)(X), expected)
    own = set(dir(PathCV)) - set(dir(PathCV.__mro__[-2]))
    predicting = {name for name in own if name.startswith("predict")}
    assert {name for name in predicting if hasattr(search, name)} == predicting & set(methods)


def test_regressors_of_quantiles_and_predictions_with_offsets(rng):
    X, y = data_of("numbers", rng)
    search = PathCV(QuantilePD((0.1, 0.9)), alphas=[0.1, 0.01], cv=3).fit(X, y)
    assert_allclose(search.regressor(0.9).predict(X), search.predict(X)[:, 1])
    model = make_pipeline(StandardScaler(), QuantilePD((0.1, 0.9)))
    search = PathCV(model, alphas=[0.1, 0.01], cv=3).fit(X, y)
    assert_allclose(search.regressor(0.9).predict(X), search.predict(X)[:, 1])
    assert not hasattr(PathCV(LassoPDCertified()), "regressor")
    labels, offset = (y > 0).astype(int), rng.normal(size=60)
    search = PathCV(make_pipeline(StandardScaler(), LogisticPD()), alphas=[0.1], cv=3)
    search.fit(X, labels, offset=offset)
    found = search.decision_function(X, offset=offset)
    assert_allclose(found, search.decision_function(X) + offset)
    odds = search.predict_proba(X, offset=offset)
    assert_allclose(np.log(odds[:, 1] / odds[:, 0]), found, rtol=1e-9)


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


@pytest.mark.parametrize("inside", [False, True], ids=["alone", "in a pipeline"])
def test_strata_reach_fits_scores_and_predictions(inside, rng):
    """With and without metadata routing, beside fits and scores of each fold by hand."""
    X, y = survival(rng)
    strata = np.where(rng.random(120) < 0.5, "north", "south")
    cox, alphas = CoxPD(tol=1e-9), [0.1, 0.02]

    def curves(fitted, X, y, strata=None):
        found = fitted[-1] if inside else fitted
        rows = fitted[:-1].transform(X) if inside else X
        return found.predict_survival_function(rows, [0.5]).mean() + 10.0 * (strata is not None)

    def by_hand(train, test, alpha):
        scaler = StandardScaler().fit(X[train]) if inside else FunctionTransformer().fit(X)
        fit = clone(cox).set_params(alpha=alpha)
        fit.fit(scaler.transform(X[train]), y[train], strata=strata[train])
        rows = scaler.transform(X[test])
        means = fit.predict_survival_function(rows, [0.5], strata=strata[test]).mean()
        return fit.score(rows, y[test], strata=strata[test]), means

    folds = list(KFold(3).split(X))
    expected = np.array([[by_hand(*fold, alpha) for alpha in alphas] for fold in folds])
    for routed in (False, True):
        last = clone(cox)
        with config_context(enable_metadata_routing=routed):
            if routed:
                last.set_fit_request(strata=True).set_score_request(strata=True)
        model = make_pipeline(StandardScaler(), last) if inside else last
        for place, scoring in enumerate((None, curves)):
            search = PathCV(model, alphas=alphas, cv=KFold(3), scoring=scoring)
            with config_context(enable_metadata_routing=routed):
                search.fit(X, y, strata=strata)
            own = [search.cv_results_[f"split{k}_test_score"] for k in range(3)]
            more = 10.0 * (place == 1 and not routed)  # a function requests nothing by routing
            assert_allclose(own, expected[..., place] + more, atol=1e-6)
            found = search.predict_survival_function(X[:4], [0.5, 1.0], strata=strata[:4])
            assert found.shape == (4, 2) and np.all((found > 0.0) & (found < 1.0))
        search = PathCV(model, alphas=alphas, cv=KFold(3))
        with config_context(enable_metadata_routing=routed):
            search.fit(X, y, strata=strata)
            whole = search.score(X, y, strata=strata)
        rows = search.best_estimator_[:-1].transform(X) if inside else X
        last = search.best_estimator_[-1] if inside else search.best_estimator_
        assert whole == last.score(rows, y, strata=strata) != last.score(rows, y)


@pytest.mark.filterwarnings("ignore:.*is scored without")
def test_offsets_that_are_not_requested_for_scores(rng):
    """By metadata routing as in a grid search, whose scores have them only where asked for."""
    X, y, offset = rng.normal(size=(60, 3)), rng.poisson(2.0, size=60), rng.normal(size=60)
    with config_context(enable_metadata_routing=True):
        scores = []
        for asked in (True, False):
            model = (
                PoissonPD(tol=1e-9).set_fit_request(offset=True).set_score_request(offset=asked)
            )
            ours = PathCV(model, alphas=[0.1, 0.01], cv=3).fit(X, y, offset=offset)
            theirs = GridSearchCV(model, {"alpha": [0.1, 0.01]}, cv=3).fit(X, y, offset=offset)
            scores.append(ours.cv_results_["mean_test_score"])
            assert_allclose(scores[-1], theirs.cv_results_["mean_test_score"], atol=1e-6)
    assert not np.allclose(*scores)


@pytest.mark.parametrize("certified", [None, 0.1])
def test_folds_of_one_sample_and_constant_folds(certified, rng):
    """R^2 is undefined of one sample, and 0 or 1 of equal targets, as in scikit-learn."""
    X = rng.normal(size=(20, 3))
    model = PathCV(ElasticNetPD(l1_ratio=0.5), alphas=[1.0, 0.1], certified=certified)
    alone = clone(model).set_params(cv=LeaveOneOut())
    with (
        pytest.warns(UndefinedMetricWarning, match="not well-defined with less than two"),
        pytest.warns(UserWarning, match="nan in a fold for each. PathCV takes the largest"),
    ):
        alone.fit(X, X[:, 0])
    assert alone.alpha_ == 1.0 and np.isnan(alone.best_score_)
    y = np.where(np.arange(20) < 5, 3.0, X[:, 0])
    constant = clone(model).set_params(cv=KFold(4)).fit(X, y)
    assert_array_equal(constant.cv_results_["split0_test_score"], 0.0)
    if certified:
        assert alone.may_be_best_.all() and constant.may_be_best_.all()
