"""MultiTaskPD and MultinomialPD as estimators: data, parameters, errors, named solvers."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils.estimator_checks import parametrize_with_checks

from skpd import MultinomialPD, MultiTaskPD, PdproxRegressor, certify
from skpd.losses import L2Norm, Softmax

CHECKED = [
    MultiTaskPD(),
    MultiTaskPD(loss="absolute", penalty="l1inf", max_iter=500),
    MultinomialPD(),
    MultinomialPD(loss="crammer_singer"),
]
LAYOUTS = [np.asfortranarray, sp.csr_array, sp.csc_matrix]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(CHECKED)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def regression(rng, n=40, d=6, K=3):
    X, W = rng.normal(size=(n, d)), rng.normal(size=(d, K))
    W[d // 2 :] = 0.0
    return X, X @ W + [1.0, -2.0, 0.5] + rng.standard_t(3, size=(n, K))


def classes(rng, n=60, d=5, K=3):
    X = rng.normal(size=(n, d))
    y = np.argmax(X @ rng.normal(size=(d, K)) + 0.7 * rng.normal(size=(n, K)), axis=1)
    return X, y


def tasks(rng, n=60, d=4, K=3):
    """Features with the number of each row's task behind them, and a target."""
    X, of_task = rng.normal(size=(n, d)), np.arange(n) % K
    W = rng.normal(size=(d, K))
    y = np.sum(X * W[:, of_task].T, axis=1) + of_task + 0.5 * rng.normal(size=n)
    return np.column_stack([X, of_task]), y


@pytest.mark.parametrize("layout", LAYOUTS)
def test_sparse_and_dense_agree(layout, rng):
    X, Y = regression(rng)
    Xc, y = classes(rng)
    Xt, yt = tasks(rng)
    for model, features, target in [
        (MultiTaskPD(0.1, loss="huber", tol=1e-10), X, Y),
        (MultinomialPD(0.02, penalty="l21", tol=1e-10), Xc, y),
        (MultiTaskPD(0.1, tasks=-1, tol=1e-10), Xt, yt),
    ]:
        dense = model.fit(features, target).coef_
        sparse = model.fit(layout(features), target).coef_
        assert_allclose(dense, sparse, atol=1e-4)
        assert_allclose(model.predict(layout(features)), model.predict(features))


def test_float32(rng):
    X, Y = regression(rng)
    X = X.astype(np.float32)
    single = MultiTaskPD(0.1, loss="absolute", tol=1e-8).fit(X, Y)
    double = MultiTaskPD(0.1, loss="absolute", tol=1e-8).fit(X.astype(float), Y)
    assert single.coef_.dtype == np.float64
    assert_allclose(single.certificate_.primal, double.certificate_.primal, rtol=1e-7)


def test_a_weight_of_two_is_a_repeated_row(rng):
    X, Y = regression(rng)
    Xc, y = classes(rng)
    Xt, yt = tasks(rng)
    for model, features, target in [
        (MultiTaskPD(0.1, loss="l2_norm", tol=1e-9), X, Y),
        (MultinomialPD(0.02, tol=1e-9), Xc, y),
        (MultiTaskPD(0.1, tasks=4, loss="huber", tol=1e-9), Xt, yt),
    ]:
        times = rng.integers(0, 3, len(features))
        times[:9] = 1
        weighted = model.fit(features, target, sample_weight=times).certificate_.primal
        repeated = model.fit(np.repeat(features, times, axis=0), np.repeat(target, times, axis=0))
        assert_allclose(repeated.certificate_.primal, weighted, rtol=1e-8)


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


@pytest.mark.parametrize("penalty", ["l21", "l1inf", "l1", "squared_l2", "trace"])
def test_a_single_output(penalty, rng):
    """The l2 norm is the absolute loss, and the norms of rows are the l1 norm."""
    X, Y = regression(rng)
    options = {"alpha": 0.1, "penalty": penalty, "tol": 1e-6}
    model = MultiTaskPD(loss="l2_norm", **options).fit(X, Y[:, :1])
    names = {"l21": "l1", "l1inf": "l1", "trace": "l2_norm"}
    options["penalty"] = names.get(penalty, penalty)
    single = PdproxRegressor(loss="absolute", **options).fit(X, Y[:, 0])
    assert model.coef_.shape == (1, 6)
    assert_allclose(model.certificate_.primal, single.certificate_.primal, rtol=1e-5)


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
        MultiTaskPD(tasks="shop").fit(X, y)
    with pytest.raises(ValueError, match="one of the 5 columns"):
        MultiTaskPD(tasks=5).fit(X, y)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (MultiTaskPD(loss="hinge"), "labels -1 and 1"),
        (MultiTaskPD(penalty="trace", l1_ratio=0.5), "l1_ratio must be 1"),
        (MultiTaskPD(loss=L2Norm(2)), "loss must be one of 3 outputs"),
        (MultiTaskPD(loss=L2Norm(1)), "loss must be one of 3 outputs"),
        (MultiTaskPD(loss=Softmax(3)), "fit MultinomialPD"),
        (MultiTaskPD(tasks=0, loss="l2_norm"), "needs all outputs of a sample"),
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
        MultiTaskPD().fit(X, Y[:, 0])
    with pytest.raises(ValueError, match="at least 2 classes"):
        MultinomialPD().fit(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match="non-zero"):
        MultiTaskPD().fit(X, Y, sample_weight=np.zeros(len(X)))
    Xt, yt = tasks(rng)
    with pytest.raises(ValueError, match="positive sample_weight"):
        MultiTaskPD(tasks=4).fit(Xt, yt, sample_weight=(Xt[:, 4] > 0).astype(float))
    model = MultinomialPD(loss="crammer_singer", max_iter=1000)
    assert not hasattr(model, "predict_proba") and hasattr(MultinomialPD(), "predict_proba")


@pytest.mark.parametrize("solver", ["pdprox-dual", "pdprox-primal"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_named_solvers(solver, rng):
    X, Y = regression(rng)
    Xc, y = classes(rng)
    for model, features, target in [
        (MultiTaskPD(0.2, loss="absolute", penalty="l1inf"), X, Y),
        (MultiTaskPD(0.2, loss="l2_norm", penalty="trace"), X, Y),
        (MultinomialPD(0.05, loss="crammer_singer", penalty="l21"), Xc, y),
    ]:
        best = model.set_params(tol=1e-6).fit(features, target).certificate_
        model.set_params(solver=solver, tol=2e-3, max_iter=5_000).fit(features, target)
        assert model.solver_ == solver
        unit = best.gap / best.relative_gap
        assert abs(model.certificate_.primal - best.primal) <= 1e-3 * unit
        assert model.certificate_.dual <= best.primal


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
