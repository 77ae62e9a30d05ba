"""Cross-validated lasso estimators: scikit-learn's, options, callbacks and Ctrl-C."""

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LassoCV
from sklearn.model_selection import GroupKFold

from skpd import ElasticNetPDCV, LassoPDCertifiedCV
from tests.estimators.test_lasso import data

# Grids of two or three alphas are fast, and their best is often an end.
pytestmark = pytest.mark.filterwarnings("ignore:.*end of the grid")


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.usefixtures("alphas_of_scikit_learn")
def test_cross_validation_is_scikit_learns(container, weighted, positive, rng):
    X, y = data(rng, n=60, d=8)
    weights = rng.random(60) if weighted else None
    arguments = {"alphas": 12, "cv": 4, "positive": positive}
    ours = LassoPDCertifiedCV(**arguments, tol=1e-12, n_jobs=2).fit(container(X), y, weights)
    theirs = LassoCV(**arguments, tol=1e-14, max_iter=10**5).fit(X, y, weights)
    assert_allclose(ours.alphas_, theirs.alphas_)
    assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-6)
    assert_allclose(ours.alpha_, theirs.alpha_)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-7)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-7)
    assert ours.converged_ and ours.certificate_.relative_gap <= 1e-12
    assert ours.duality_gap_ == ours.certificate_.gap == ours.gap_history_["gap"][-1]


# Some of the models that it fits are constant.
@pytest.mark.filterwarnings("ignore:.*all coefficients are 0")
@pytest.mark.filterwarnings("ignore:LassoPDCertifiedCV did not converge. after")
def test_cross_validation_options(rng):
    X, y = data(rng, n=60, d=8)
    alphas = [0.01, 1.0, 0.1]
    ours = LassoPDCertifiedCV(alphas=alphas, cv=[(np.arange(40), np.arange(40, 60))], solver="cd",
                              random_state=0)  # fmt: skip
    ours.fit(X, y)
    theirs = LassoCV(alphas=alphas, cv=[(np.arange(40), np.arange(40, 60))], tol=1e-12).fit(X, y)
    assert_allclose(ours.alphas_, theirs.alphas_)
    assert_allclose(ours.mse_path_[:, 0], theirs.mse_path_, rtol=0.01)
    constant = LassoPDCertifiedCV(alphas=3, cv=3).fit(X, np.full(60, 2.0))
    assert not constant.coef_.any() and constant.intercept_ == 2.0
    with pytest.raises(ValueError, match="all train samples of fold 0"):
        LassoPDCertifiedCV(cv=[(np.arange(3), np.arange(3, 60))]).fit(
            X, y, sample_weight=np.arange(60) > 5
        )
    with pytest.raises(ValueError, match="of at least 0, got"):
        LassoPDCertifiedCV(alphas=[0.1, -0.1]).fit(X, y)
    with pytest.warns(ConvergenceWarning, match=r"LassoPDCertifiedCV did not.*10 of 15") as caught:
        LassoPDCertifiedCV(alphas=alphas, solver="cd", tol=1e-9, max_iter=2, random_state=0).fit(
            X, y
        )
    assert {warning.filename for warning in caught} == {__file__}
    assert [warning.category for warning in caught].count(ConvergenceWarning) == 2


@pytest.mark.parametrize("estimator", [LassoPDCertifiedCV, ElasticNetPDCV])
@pytest.mark.parametrize("train, test, message", [
    (np.arange(40), [40, 60], "the test samples of fold 1 are not: index 60 is out of bounds"),
    ([0, -61], np.arange(40), "the train samples of fold 1 are not: index -61 is out of bounds"),
    (np.arange(61) < 9, [50], "the train samples of fold 1 are not: boolean index did not match"),
    (np.arange(4.0), [50], "the train samples of fold 1 are not: arrays used as indices must be"),
])  # fmt: skip
def test_folds_outside_of_the_data(estimator, train, test, message, rng):
    X, y = data(rng, n=60, d=8)
    good = np.arange(30), np.arange(-30, 0)
    with pytest.raises(
        ValueError, match=f"'cv' parameter.* 60 samples, from -60 to 59.*{message}"
    ):
        estimator(cv=[good, (train, test)]).fit(X, y)
    with pytest.raises(ValueError, match="'cv' parameter must yield at least one pair"):
        estimator(cv=[]).fit(X, y)
    masks = [np.arange(60) < 30, np.arange(60) >= 30]
    found = [estimator(cv=[fold], alphas=4).fit(X, y).mse_path_ for fold in (good, masks)]
    assert_array_equal(*found)


def test_cross_validation_routes_metadata(rng):
    from sklearn import config_context

    X, y = data(rng, n=60, d=8)
    groups = np.repeat(np.arange(6), 10)
    with config_context(enable_metadata_routing=True):
        ours = LassoPDCertifiedCV(alphas=4, cv=GroupKFold(3), tol=1e-10).fit(X, y, groups=groups)
        theirs = LassoCV(alphas=4, cv=GroupKFold(3), tol=1e-12).fit(X, y, groups=groups)
    assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-5)
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        LassoPDCertifiedCV().fit(X, y, groups=groups)


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
def test_cross_validation_calls_back(n_jobs, rng, callbacks):
    X, y = data(rng, n=60, d=8)
    tasks = Tasks()
    model = LassoPDCertifiedCV(alphas=4, cv=3, n_jobs=n_jobs).set_callbacks(tasks)
    model.fit(X, y)
    assert sorted(tasks.names[:3]) == ["fold 0", "fold 1", "fold 2"]
    assert tasks.names[3:] == ["fit on all data", "fit"]


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("inside", [True, False])  # of a fit, or between two
@pytest.mark.parametrize("estimator", [
    LassoPDCertifiedCV(alphas=6, solver="cd", random_state=0),
    ElasticNetPDCV(l1_ratio=[0.5, 1.0], alphas=3),
], ids=str)  # fmt: skip
def test_ctrl_c_keeps_what_was_cross_validated(estimator, inside, n_jobs, rng, monkeypatch):
    X, y = data(rng, n=60, d=8)
    estimator = clone(estimator).set_params(cv=2, n_jobs=n_jobs)
    whole = clone(estimator).fit(X, y)
    solve_one, calls = type(estimator)._solve, []

    def interrupt(self, *arguments, **options):
        calls.append(self)
        if len(calls) < last:
            return solve_one(self, *arguments, **options)
        if not inside:
            raise KeyboardInterrupt
        return replace(solve_one(self, *arguments, **options), interrupted=True)

    monkeypatch.setattr(type(estimator), "_solve", interrupt)
    for last in (1, 3, 8, 12):
        calls.clear()
        estimator.coef_ = whole.coef_  # of an earlier fit
        with pytest.raises(KeyboardInterrupt, match="fits are finished") as caught:
            estimator.fit(X, y)
        tried = ~np.isnan(estimator.mse_path_)
        assert str(caught.value).startswith(f"{tried.sum()} of 12")
        assert tried.sum() < last and (n_jobs == 2 or tried.sum() == last - 1)
        assert_array_equal(estimator.mse_path_[tried], whole.mse_path_[tried])
        assert_array_equal(estimator.alphas_, whole.alphas_)
        for ours, theirs in zip(estimator.certificates_, whole.certificates_, strict=True):
            for certificates, complete in zip(ours, theirs, strict=True):
                assert certificates == complete[: len(certificates)]
        assert sum(len(path) for paths in estimator.certificates_ for path in paths) == tried.sum()
        everywhere = tried.all(axis=-1)
        assert hasattr(estimator, "alpha_") == everywhere.any()
        if everywhere.any():
            mean = np.where(everywhere, whole.mse_path_.mean(axis=-1), np.inf)
            assert estimator.alpha_ == whole.alphas_.flat[np.argmin(mean)]
        with pytest.raises(NotFittedError):
            estimator.predict(X)


def test_ctrl_c_keeps_the_folds_that_moments_have_solved(rng, monkeypatch):
    X, y = data(rng, n=60, d=8)
    whole = LassoPDCertifiedCV(alphas=6, cv=3).fit(X, y)
    paths, calls = import_module("skpd.formulation.following"), []
    solve_all = paths.path_by_moments

    def interrupt(*arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return solve_all(*arguments)

    monkeypatch.setattr(paths, "path_by_moments", interrupt)
    model = LassoPDCertifiedCV(alphas=6, cv=3)
    with pytest.raises(KeyboardInterrupt, match="6 of 18 fits are finished"):
        model.fit(X, y)
    assert_array_equal(model.mse_path_[:, 0], whole.mse_path_[:, 0])
    assert np.isnan(model.mse_path_[:, 1:]).all() and model.certificates_[0][1:] == [[], []]


def test_ctrl_c_in_the_fit_on_all_data(rng, monkeypatch):
    X, y = data(rng, n=60, d=8)
    whole = LassoPDCertifiedCV(alphas=3, cv=2).fit(X, y)
    model = LassoPDCertifiedCV(alphas=3, cv=2)
    solve_one, begun = LassoPDCertifiedCV._solve, True

    def last(self, problem, **arguments):
        found = solve_one(self, problem, **arguments)
        if problem.n_samples < 60:
            return found
        if not begun:  # before there is any model
            raise KeyboardInterrupt
        return replace(found, interrupted=True)

    monkeypatch.setattr(LassoPDCertifiedCV, "_solve", last)
    for begun in (True, False):
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
        assert model.alpha_ == whole.alpha_
        assert_array_equal(model.mse_path_, whole.mse_path_)
        if begun:
            assert model.certificate_ == whole.certificate_
            assert_array_equal(model.coef_, whole.coef_)
    with pytest.raises(NotFittedError):  # what the fit before has left is gone
        model.predict(X)
