"""MultiTaskPD, MultiTaskPDCV and MultinomialPD: data, parameters, errors, cross-validation."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.linear_model import MultiTaskElasticNetCV, MultiTaskLassoCV
from sklearn.model_selection import GroupKFold, StratifiedKFold

from skpd import MultinomialPD, MultiTaskPD, MultiTaskPDCV, certify
from skpd.losses import Huber, L2Norm, Pinball, Softmax
from tests.solvers.test_outputs import classes, regression, tasks

# Grids of two or three alphas are fast, and their best is often an end.
pytestmark = pytest.mark.filterwarnings("ignore:.*end of the grid")

LAYOUTS = [np.asfortranarray, sp.csr_array, sp.csc_matrix]


# Some of the models that it fits are constant.
@pytest.mark.filterwarnings("ignore:.*all coefficients are 0")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
@pytest.mark.parametrize(
    "model",
    [
        *(
            MultiTaskPD(loss=loss, penalty=penalty, alpha=1e-3)
            for loss in ("squared", "absolute", "l2_norm")
            for penalty in ("l21", "l1inf", "exclusive", "trace", "squared_groups", "l2")
        ),
        *(
            MultinomialPD(loss=loss, penalty=penalty)
            for loss in ("softmax", "crammer_singer")
            for penalty in ("l2", "l1", "l21", "trace")
        ),
    ],
    ids=str,
)
def test_numbers_of_any_size(model, scale, rng):
    """What overflows ends a fit, with neither an error nor a bound above what W = 0 reaches."""
    X, y = rng.normal(size=(20, 3)), np.arange(20) % 3
    if isinstance(model, MultiTaskPD):
        y = rng.normal(size=(20, 2))
    null = clone(model).set_params(alpha=1e6, max_iter=20).fit(X, y).certificate_.primal
    model = clone(model).set_params(alpha=1e-3, max_iter=20).fit(scale * X, y)
    certificate = model.certificate_
    assert 0.0 <= certificate.dual <= certificate.primal <= null * (1.0 + 1e-6)
    assert np.isfinite(model.coef_).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("penalty", ["l1inf", "squared_groups"])
def test_small_targets(penalty, rng):
    """Squares of what coefficients are likely to be underflow."""
    X, Y = regression(rng)
    Y *= 1e-300
    model = MultiTaskPD(loss="absolute", penalty=penalty, max_iter=50, alpha=1e-3).fit(X, Y)
    null = np.mean(np.sum(np.abs(Y - np.median(Y, axis=0)), axis=1))
    assert 0.0 <= model.certificate_.dual <= model.certificate_.primal <= null * (1.0 + 1e-12)


def test_an_output_alone_stands_for_the_weight_of_its_rows(rng):
    """By which methods measure their steps, as if rows of weight 2 were two."""
    X, Y = regression(rng)
    weights = rng.uniform(size=len(X))
    (problem,) = MultiTaskPD(penalty="l1", alpha=1e-3)._problems(X, Y, weights).problems
    assert_allclose([problem.rows.of_output(k).total_weight for k in range(3)], weights.sum())
    X, y = tasks(rng)
    weights = rng.uniform(size=len(X))
    (problem,) = MultiTaskPD(penalty="l1", tasks=4, alpha=1e-3)._problems(X, y, weights).problems
    expected = np.bincount(X[:, 4].astype(int), weights)
    assert_allclose([problem.rows.of_output(k).total_weight for k in range(3)], expected)


def test_tasks_by_name(rng):
    X, y = tasks(rng)
    frame = pd.DataFrame(X[:, :4], columns=list("abcd"))
    frame.insert(1, "shop", np.array(["x", "y", "z"])[X[:, 4].astype(int)])
    by_name = MultiTaskPD(0.1, tasks="shop", tol=1e-9).fit(frame, y)
    by_index = MultiTaskPD(0.1, tasks=4, tol=1e-9).fit(X, y)
    assert_array_equal(by_name.tasks_, ["x", "y", "z"])
    assert_array_equal(by_index.tasks_, [0.0, 1.0, 2.0])
    assert by_name.n_features_in_ == 5 and by_name.coef_.shape == (3, 4)
    assert_allclose(by_name.coef_, by_index.coef_, atol=1e-6)
    assert_allclose(by_name.predict(frame), by_index.predict(X), atol=1e-6)
    other = frame.iloc[:2].assign(shop=["x", "nowhere"])
    with pytest.raises(ValueError, match="nowhere"):
        by_name.predict(other)
    with pytest.raises(ValueError, match="index of a column"):
        MultiTaskPD(tasks="shop", alpha=1e-3).fit(X, y)
    with pytest.raises(ValueError, match="one of the 5 columns"):
        MultiTaskPD(tasks=5, alpha=1e-3).fit(X, y)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (MultiTaskPD(loss="hinge", alpha=1e-3), "labels -1 and 1"),
        (MultiTaskPD(penalty="trace", l1_ratio=0.5, alpha=1e-3), "l1_ratio must be 1"),
        (MultiTaskPD(loss=L2Norm(2), alpha=1e-3), "loss must be one of 3 outputs"),
        (MultiTaskPD(loss=L2Norm(1), alpha=1e-3), "loss must be one of 3 outputs"),
        (MultiTaskPD(loss=Softmax(3), alpha=1e-3), "fit MultinomialPD"),
        (MultiTaskPD(tasks=0, loss="l2_norm", alpha=1e-3), "needs all outputs of a sample"),
    ],
)
def test_errors_of_parameters(model, message, rng):
    X, Y = regression(rng)
    y = Y if model.tasks is None else Y[:, 0]
    if model.tasks is not None:
        X[:, 0] = np.arange(len(X)) % 2
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)


def test_errors_of_data(rng):
    X, Y = regression(rng)
    with pytest.raises(ValueError, match="two dimensions"):
        MultiTaskPD(1e-3).fit(X, Y[:, 0])
    with pytest.raises(ValueError, match="at least 2 classes"):
        MultinomialPD().fit(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match="non-zero"):
        MultiTaskPD(1e-3).fit(X, Y, sample_weight=np.zeros(len(X)))
    Xt, yt = tasks(rng)
    with pytest.raises(ValueError, match="positive sample_weight"):
        MultiTaskPD(tasks=4, alpha=1e-3).fit(Xt, yt, sample_weight=(Xt[:, 4] > 0).astype(float))
    model = MultinomialPD(loss="crammer_singer", max_iter=1000)
    assert not hasattr(model, "predict_proba") and hasattr(MultinomialPD(), "predict_proba")


def test_certify_takes_the_column_of_tasks(rng):
    """The objective is that of the fit, and another set of tasks is an error."""
    X = np.column_stack([rng.normal(size=(60, 3)) + 30.0, rng.integers(0, 3, 60)])
    y = X[:, 0] + rng.normal(size=60)
    model = MultiTaskPD(0.1, loss="absolute", tasks=3, tol=1e-8).fit(X, y)
    for rigorous in (False, True):
        certificate = certify(model, X, y, rigorous=rigorous)
        assert_allclose(certificate.primal, model.certificate_.primal, rtol=1e-10)
        assert certificate.relative_gap < 1e-6
    with pytest.raises(ValueError, match="tasks that MultiTaskPD was fitted with"):
        certify(model, X[X[:, 3] > 0], y[X[:, 3] > 0])


# Cross-validation


@pytest.mark.parametrize("layout", [np.asarray, *LAYOUTS, np.float32])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_cross_validation_is_that_of_the_multi_task_lasso(layout, fit_intercept, rng):
    X, Y = regression(rng, n=50)
    options = {"alphas": 12, "eps": 0.01, "cv": 4, "fit_intercept": fit_intercept}
    tol = 1e-11 if layout is np.float32 else 1e-12
    ours = MultiTaskPDCV(**options, tol=tol).fit(layout(X), Y)
    X = np.asarray(X.astype(np.float32), float) if layout is np.float32 else X
    theirs = MultiTaskLassoCV(**options, tol=1e-13, max_iter=10**5).fit(X, Y)
    assert_allclose(ours.alphas_, theirs.alphas_, rtol=1e-6 if layout is np.float32 else 1e-12)
    assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-6)
    assert_allclose(ours.mse_path_, 2.0 * ours.loss_path_ / 3)
    assert_allclose(ours.alpha_, theirs.alpha_, rtol=1e-6)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    assert_allclose(ours.intercept_, np.broadcast_to(theirs.intercept_, 3), atol=1e-6)
    assert ours.converged_ and ours.certificate_.relative_gap <= tol
    assert ours.duality_gap_ == ours.certificate_.gap == ours.gap_history_["gap"][-1]
    assert ours.dual_coef_.shape == Y.shape and np.shape(ours.certificates_) == (1, 4, 12)


@pytest.mark.parametrize("l1_ratio", [0.5, [0.3, 0.9]])
def test_cross_validation_is_that_of_the_multi_task_elastic_net(l1_ratio, rng):
    X, Y = regression(rng, n=50)
    options = {"l1_ratio": l1_ratio, "alphas": 8}
    ours = MultiTaskPDCV(**options, tol=1e-11, n_jobs=2).fit(X, Y)
    theirs = MultiTaskElasticNetCV(**options, tol=1e-13, max_iter=10**5).fit(X, Y)
    assert ours.mse_path_.shape == theirs.mse_path_.shape
    assert_allclose(ours.alphas_, theirs.alphas_)
    assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-5)
    assert_allclose([ours.alpha_, ours.l1_ratio_], [theirs.alpha_, theirs.l1_ratio_])
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)


# the loss of each sample from its targets and predictions, both of shape (n_samples, n_outputs)
LOSSES_OF_SAMPLES = {
    "absolute": lambda y, z: np.abs(y - z).sum(axis=1),
    "l2_norm": lambda y, z: np.linalg.norm(y - z, axis=1),
    "logistic": lambda y, z: np.log1p(np.exp(-y * z)).sum(axis=1),
    Pinball(0.8): lambda y, z: np.maximum(0.8 * (y - z), 0.2 * (z - y)).sum(axis=1),
}


# Some of the models that it fits are constant.
@pytest.mark.filterwarnings("ignore:.*all coefficients are 0")
@pytest.mark.parametrize(
    ("loss", "penalty"),
    list(zip(LOSSES_OF_SAMPLES, ["l2", "l1inf", "l21", "l1"], strict=True)),
)
def test_cross_validation_by_hand(loss, penalty, rng):
    """Each fold alone: the weighted mean loss of what it holds out."""
    X, Y = regression(rng)
    if loss == "logistic":
        Y = np.sign(Y)
    weights, alphas = rng.random(len(X)), np.array([0.3, 0.03])
    options = {"loss": loss, "penalty": penalty, "tol": 1e-6}
    folds = [(np.r_[:20, :5], np.arange(-20, 0)), (np.arange(20, 40), np.arange(20))]  # five twice
    model = MultiTaskPDCV(alphas=alphas, cv=folds, **options).fit(X, Y, sample_weight=weights)
    expected = np.empty((2, 2))
    for f, (train, test) in enumerate(folds):
        for a, alpha in enumerate(alphas):
            one = MultiTaskPD(alpha, **options).fit(X[train], Y[train], weights[train])
            losses = LOSSES_OF_SAMPLES[loss](Y[test], X[test] @ one.coef_.T + one.intercept_)
            expected[a, f] = np.average(losses, weights=weights[test])
    assert_allclose(model.loss_path_, expected, rtol=1e-3)
    assert model.alpha_ == alphas[np.argmin(expected.mean(axis=1))]
    assert not hasattr(model, "mse_path_")
    final = MultiTaskPD(model.alpha_, **options).fit(X, Y, weights)
    assert_allclose(model.certificate_.primal, final.certificate_.primal, rtol=1e-5)
    assert model.certificate_.dual <= final.certificate_.primal


@pytest.mark.parametrize("layout", [np.asarray, sp.csc_array])
def test_cross_validation_of_tasks(layout, rng):
    """A number of folds means shares of every task, here sorted; the last has two samples only."""
    X, y = tasks(rng)
    order = np.argsort(X[:, 4], kind="stable")[:-18]
    X, y = X[order], y[order]
    with pytest.warns(UserWarning, match="least populated class"):  # which the fit does not
        splits = list(StratifiedKFold(3).split(X, X[:, 4]))
    options = {"tasks": 4, "alphas": 5, "loss": "huber", "tol": 1e-10}
    by_number = MultiTaskPDCV(cv=3, n_jobs=2, **options).fit(layout(X), y)
    by_splits = MultiTaskPDCV(cv=splits, **options).fit(X, y)
    assert_array_equal(by_number.tasks_, [0, 1, 2])
    assert_allclose(by_number.loss_path_, by_splits.loss_path_, rtol=1e-5)
    train, test = splits[2]
    one = MultiTaskPD(by_number.alphas_[3], tasks=4, loss="huber", tol=1e-10)
    z = one.fit(X[train], y[train]).predict(X[test])
    expected = np.mean(Huber().value(y[test], z))
    assert_allclose(by_number.loss_path_[3, 2], expected, rtol=1e-5)
    assert_allclose(by_number.predict(X), by_splits.predict(X), atol=1e-4)
    again = [splits[0], (np.repeat(splits[0][0], 2), splits[0][1][::-1])]  # the same samples twice
    squared = MultiTaskPDCV(tasks=4, alphas=[0.1], cv=again, tol=1e-10).fit(X, y)
    assert_allclose(squared.mse_path_, 2.0 * squared.loss_path_)
    assert_allclose(*squared.mse_path_[0], rtol=1e-6)


def test_cross_validation_without_a_task(rng):
    X, y = tasks(rng)
    folds = [(X[:, 4] < 2, X[:, 4] == 2)]
    with pytest.raises(ValueError, match=r"'cv' parameter.*fold 0 have none of task .*2\.0"):
        MultiTaskPDCV(tasks=4, cv=folds).fit(X, y)
    single = np.append(np.arange(0, 60, 3), 1)  # and one sample of another task
    with pytest.raises(ValueError, match=r"'cv' parameter.*have none of task .*1\.0"):
        MultiTaskPDCV(tasks=4, cv=2).fit(X[single], y[single])
    with pytest.raises(ValueError, match=r"'cv' parameter.*largest task, which has 20, got 30"):
        MultiTaskPDCV(tasks=4, cv=30).fit(X, y)
    weights = np.where((X[:, 4] == 1) & (np.arange(60) != 1), 0.0, 1.0)
    with pytest.raises(ValueError, match=r"positive sample_weight.*have none of task .*1\.0"):
        MultiTaskPDCV(tasks=4, cv=2).fit(X, y, sample_weight=weights)


def test_cross_validation_routes_metadata_and_certifies(rng):
    X, Y = regression(rng)
    groups = np.arange(len(X)) % 5
    model = MultiTaskPDCV(l1_ratio=[0.5, 0.8], alphas=3, cv=GroupKFold(5), tol=1e-9)
    with config_context(enable_metadata_routing=True):
        model.fit(X, Y, groups=groups)
    folds = list(GroupKFold(5).split(X, groups=groups))
    given = MultiTaskPDCV(l1_ratio=[0.5, 0.8], alphas=3, cv=folds, tol=1e-9).fit(X, Y)
    assert_array_equal(model.mse_path_, given.mse_path_)
    certificate = certify(model, X, Y)
    assert_allclose(certificate.primal, model.certificate_.primal, rtol=1e-12)
    assert certificate.relative_gap <= 1e-8
    Xt, y = tasks(rng)
    model = MultiTaskPDCV(tasks=4, alphas=3, cv=2, tol=1e-9).fit(Xt, y)
    assert certify(model, Xt, y).relative_gap <= 1e-8


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"l1_ratio": [0.5, 1.1]}, r"'l1_ratio' parameter of MultiTaskPDCV.*got \[0.5, 1.1"),
        ({"l1_ratio": 0.5, "penalty": "trace"}, "l1_ratio must be 1"),
        ({"alphas": [0.1, -1.0]}, "greater than 0"),
        ({"loss": "hinge"}, "labels -1 and 1"),
        ({"cv": [(np.arange(20), [40])]}, "'cv' parameter.*test samples of fold 0"),
        ({"cv": 41}, "n_splits=41"),
    ],
)
def test_errors_of_cross_validation(parameters, message, rng):
    X, Y = regression(rng)
    with pytest.raises(ValueError, match=message):
        MultiTaskPDCV(**parameters).fit(X, Y)


def test_warm_start(rng):
    X, Y = regression(rng)
    Xc, y = classes(rng)
    Xt, yt = tasks(rng)
    for model, features, target in [
        (MultiTaskPD(0.1, loss="absolute", penalty="l1inf"), X, Y),
        (MultinomialPD(0.02, loss="crammer_singer", penalty="trace"), Xc, y),
        (MultiTaskPD(0.1, tasks=4, penalty="trace", loss="huber"), Xt, yt),
    ]:
        model.set_params(tol=1e-5, warm_start=True).fit(features, target)
        cold, first = model.n_iter_, model.certificate_.primal
        model.fit(features, target)
        assert model.n_iter_ < cold / 2
        assert_allclose(model.certificate_.primal, first, rtol=1e-4)
        model.fit(features[:30], target[:30])  # other data starts anew
        assert model.converged_


def test_classes_whose_weights_differ_by_far():
    X, y = make_blobs(centers=3, cluster_std=20, random_state=0)
    weights = {0: 1000.0, 1: 1e-4, 2: 1e-4}
    model = MultinomialPD(loss="crammer_singer", class_weight=weights)
    with pytest.warns(UserWarning, match="all coefficients are 0"):
        model.fit(X[:50], y[:50])
    assert model.converged_ and np.mean(model.predict(X[50:]) == 0) > 0.87
