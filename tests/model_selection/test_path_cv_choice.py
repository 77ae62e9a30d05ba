"""What PathCV chooses, and how: rules, grids, warnings, errors, callbacks and Ctrl-C."""

import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning, NotFittedError, UndefinedMetricWarning
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, LeaveOneOut, PredefinedSplit, RepeatedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skpd import (
    ElasticNetPD,
    LassoPDCertified,
    LassoPDCertifiedCV,
    LPBoostClassifier,
    MatrixCompletionPD,
    PathCV,
    PdproxRegressor,
    PdproxSVC,
    TraceNormPD,
)
from tests.model_selection.test_path_cv import SHORT, binary, regression

# A constant model is as good as another for what is tested here; grids of two or three alphas are
# fast, and their best is often an end.
pytestmark = pytest.mark.filterwarnings("ignore:.*(all coefficients are 0|end of the grid)")


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


def test_repeats_of_folds_make_no_smaller_standard_error():
    X, y = regression(442)
    folds = RepeatedKFold(n_splits=5, n_repeats=8, random_state=0)
    search = PathCV(LassoPDCertified(), alphas=40, cv=folds, rule="one_standard_error").fit(X, y)
    mean = search.cv_results_["mean_test_score"]
    best = np.argmax(mean)
    of_best = [search.cv_results_[f"split{k}_test_score"][best] for k in range(40)]
    error = np.std(of_best, ddof=1) / np.sqrt(5)
    assert search.best_index_ == np.argmax(mean >= mean[best] - error)
    assert search.best_index_ < np.argmax(mean >= mean[best] - error / np.sqrt(8))


def test_selectors_keep_what_the_best_model_uses():
    X, y = regression()
    selector = SelectFromModel(PathCV(LassoPDCertified(), alphas=10), threshold=1e-12).fit(X, y)
    search = selector.estimator_
    assert_array_equal(search.coef_, search.best_estimator_.coef_)
    assert search.intercept_ == search.best_estimator_.intercept_
    assert_array_equal(selector.get_support(), search.coef_ != 0.0)
    piped = PathCV(make_pipeline(StandardScaler(), LassoPDCertified()), alphas=3).fit(X, y)
    assert not hasattr(piped, "coef_")  # which of the steps it is of would not be clear


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
    ({"alphas": 0}, "'alphas' parameter"),
    ({"alphas": [0.1, -0.1]}, "alphas must hold one or more finite"),
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


def test_shown_with_the_best_estimator():
    """As scikit-learn's searches are: with the alpha that was chosen, once there is one."""
    X, y = load_diabetes(return_X_y=True)
    search = PathCV(PdproxRegressor(alpha=0.123, loss="squared"), alphas=[0.5, 0.25], cv=3)
    assert "best_estimator_" not in search._repr_html_()
    shown = search.fit(X, y)._repr_html_()
    assert "best_estimator_: PdproxRegressor" in shown
    assert f"alpha={search.alpha_}" in shown


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
