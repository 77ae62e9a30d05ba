"""Regularisation paths against scikit-learn's, single fits and formulas."""

import pickle
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression, lasso_path
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from skpd import (
    CoxPD,
    DRSVMClassifier,
    GroupLassoSVC,
    LassoPDCertified,
    LogisticPD,
    MultinomialPD,
    MultiTaskPD,
    OrdinalPD,
    PdproxRegressor,
    PdproxSVC,
    TraceNormPD,
    regularization_path,
)
from skpd.penalties import ElasticNet
from tests.oracles.scikit_learn import l1_logistic

# A constant model is as good as another for what is tested here.
pytestmark = pytest.mark.filterwarnings("ignore:.*all coefficients are 0")

LAYOUTS = [np.ascontiguousarray, np.asfortranarray, sp.csr_array, sp.csc_array]


def classes(rng, n=150, d=8, k=2):
    X = rng.normal(size=(n, d))
    return X, np.argmax(X[:, :k] + 0.5 * rng.normal(size=(n, k)), axis=1)


def test_same_as_lasso_path(rng):
    X = rng.normal(size=(80, 15))
    X -= X.mean(axis=0)
    y = X[:, :4].sum(axis=1) + 0.3 * rng.normal(size=80)
    y -= y.mean()
    alphas = np.abs(X.T @ y).max() / len(y) * np.logspace(0.0, -2.0, 20)
    _, theirs, _ = lasso_path(X, y, alphas=alphas, tol=1e-12, max_iter=100_000)
    for table in (X, sp.csc_array(X)):
        model = PdproxRegressor(loss="squared", tol=1e-10)
        ours = regularization_path(model, table, y, alphas=20, eps=1e-2)
        assert_allclose(ours.alphas, alphas, rtol=1e-9)
        assert_allclose(ours.coefs, theirs.T, atol=1e-5)
        assert_allclose(ours.intercepts, 0.0, atol=1e-8)
        assert ours.converged.all() and ours.n_iters[0] == 0


@pytest.mark.parametrize("estimator", [
    PdproxRegressor(loss="squared"), PdproxRegressor(loss="squared", penalty=ElasticNet(0.5)),
    PdproxSVC(loss="logistic", fit_intercept=False), PdproxSVC(loss="squared_hinge"),
    GroupLassoSVC(groups=5, loss="logistic"),
], ids=str)  # fmt: skip
def test_many_features_in_any_layout(estimator, rng):
    """By columns, gradients of few of them are kept: it must not matter to the models."""
    X = rng.normal(size=(120, 500)) * (rng.random((120, 500)) < 0.2)
    y = np.sign(X[:, :6].sum(axis=1) + 0.5 * rng.normal(size=120))
    y[y == 0.0] = 1.0
    estimator.set_params(tol=1e-10)
    alphas = regularization_path(estimator, X, y, alphas=1).alphas * 0.8 ** np.arange(16)
    found = [regularization_path(estimator, layout(X), y, alphas=alphas) for layout in LAYOUTS]
    for other in found:
        assert other.converged.all()
        assert_allclose(other.coefs, found[0].coefs, atol=2e-4)
    for k in (0, 7, 15):
        fit = clone(estimator).set_params(alpha=alphas[k]).fit(X, y)
        assert_allclose(found[1].certificates[k].primal, fit.certificate_.primal, rtol=1e-9)


@pytest.mark.parametrize("estimator", [
    PdproxSVC(), PdproxSVC(loss="logistic"), PdproxSVC(fit_intercept=False),
    GroupLassoSVC(groups=2), PdproxSVC(penalty="linf"),
], ids=str)  # fmt: skip
def test_the_first_alpha_is_the_smallest_without_coefficients(estimator, rng):
    X, y = classes(rng)
    estimator.set_params(tol=1e-6)
    largest = regularization_path(estimator, X, y, alphas=1).alphas[0]
    found = regularization_path(estimator, X, y, alphas=[0.9 * largest, largest])
    assert_allclose(found.alphas, [largest, 0.9 * largest])
    assert not found.coefs[0].any() and found.coefs[1].any()
    assert estimator.alpha == 1e-3 and not hasattr(estimator, "coef_")


def test_every_model_is_that_of_a_fit(rng):
    X, y = classes(rng)
    weights = rng.integers(0, 3, size=len(y)).astype(float)
    alphas = [0.1, 0.03, 0.01]
    estimator = PdproxSVC(tol=1e-9, class_weight="balanced")
    found = regularization_path(estimator, X, y, alphas=alphas, sample_weight=weights)
    for k, alpha in enumerate(alphas):
        fit = PdproxSVC(alpha, tol=1e-9, class_weight="balanced").fit(X, y, weights)
        assert_allclose(found.certificates[k].primal, fit.certificate_.primal, rtol=1e-8)
        assert_allclose(found.coefs[k], fit.coef_[0], atol=1e-4)
        assert found.certificates[k].relative_gap <= 1e-9


def test_one_vs_rest(rng):
    X, y = classes(rng, k=3)
    for n_jobs in (None, 2):
        found = regularization_path(
            PdproxSVC(loss="logistic", tol=1e-10, n_jobs=n_jobs), X, y, alphas=4
        )
        assert found.coefs.shape == (4, 3, 8) and found.intercepts.shape == (4, 3)
        assert [len(row) for row in found.certificates] == [3] * 4
    theirs = l1_logistic(1.0, C=1 / (found.alphas[-1] * len(y)), tol=1e-10).fit(X, y == 1)
    assert_allclose(found.coefs[-1, 1], theirs.coef_[0], atol=1e-4)


@pytest.mark.parametrize("scale", [1.0, 1e-80])
def test_alphas_of_squared_norms(scale, rng):
    """No model of the first improves on P_0 by more than 1 %, by |g|^2 / (2 alpha) = P_0 / 100."""
    X, y = scale * rng.normal(size=(60, 4)), rng.normal(size=60)
    centred, weights = y - y.mean(), np.full(60, 1 / 60)
    null, model = 0.5 * np.var(y), PdproxRegressor(loss="squared", penalty="l2", tol=1e-10)
    found = regularization_path(model, X, y, alphas=3)
    gradient = X.T @ (weights * centred)
    first = gradient @ gradient / (0.02 * null)
    assert_allclose(found.alphas, [first, 10**-3.5 * first, 1e-7 * first], rtol=1e-5)
    assert 0.99 * null <= found.certificates[0].primal < null
    # a feature that is not penalised is part of the constant
    free = model.set_params(penalty_weights=[0, 1, 1, 1])
    left = np.column_stack([np.ones(60), X[:, 0] / scale])
    residual = y - left @ np.linalg.lstsq(left, y)[0]
    gradient = X[:, 1:].T @ (weights * residual)
    first = regularization_path(free, X, y, alphas=1).alphas[0]
    assert_allclose(first, gradient @ gradient / (0.02 * null), rtol=1e-2)


@pytest.mark.parametrize("model", [CoxPD(), OrdinalPD(penalty="l1"), LogisticPD(penalty="l1")])
def test_largest_alphas_beside_free_features(model, rng):
    """It is the one from which on the penalised coefficients are 0."""
    X, order = rng.normal(size=(100, 5)), rng.normal(size=100)
    score = X[:, 0] + X[:, 3] + order
    classes, times = np.digitize(score, [-1.0, 1.0]), np.column_stack([np.exp(-score), order < 1])
    y = times if isinstance(model, CoxPD) else classes
    model = clone(model).set_params(penalty_weights=[0, 0, 1, 1, 1], tol=1e-9)
    (first,) = regularization_path(model, X, y, alphas=1).alphas
    for factor, n_features in ((1.01, 2), (0.99, 3)):
        coef = model.set_params(alpha=factor * first).fit(X, y).coef_
        assert np.count_nonzero(np.any(np.atleast_2d(coef), axis=0)) == n_features


def test_errors(rng):
    X, y = classes(rng)
    with pytest.raises(TypeError, match="one of skpd's"):
        regularization_path(LogisticRegression(), X, y)
    with pytest.raises(ValueError, match="alphas must be given as values"):
        regularization_path(PdproxSVC(penalty="box"), X, y)
    for estimator in (GroupLassoSVC(groups=1), DRSVMClassifier()):
        with pytest.raises(ValueError, match="0, no penalty, is on the grids of models that may"):
            regularization_path(estimator, X, y, alphas=[0.1, 0.0])
    for alphas in ([], [0.1, -0.1], [np.nan]):
        with pytest.raises(ValueError, match="alphas must hold one or more finite"):
            regularization_path(PdproxSVC(), X, y, alphas=alphas)
    for alphas in (0, True):
        with pytest.raises(ValueError, match=f"at least 1, got {alphas}"):
            regularization_path(PdproxSVC(), X, y, alphas=alphas)
    with pytest.raises(ValueError, match="eps must be"):
        regularization_path(PdproxSVC(), X, y, eps=1.5)
    with pytest.raises(ValueError, match="'tol' parameter"):
        regularization_path(PdproxSVC(tol=-1), X, y)
    with pytest.raises(ValueError, match="at least 2 classes"):
        regularization_path(PdproxSVC(), X, np.zeros(len(y)))


def test_it_says_where_it_did_not_converge(rng):
    X, y = classes(rng)
    with pytest.warns(ConvergenceWarning, match=r"2 of 2 fits.*max_iter \(now 1\)") as caught:
        found = regularization_path(PdproxSVC(max_iter=1, tol=1e-9), X, y, alphas=[0.02, 0.01])
    assert not found.converged.any() and caught[0].filename == __file__


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("inside", [True, False])  # of a fit, or between two
@pytest.mark.parametrize("k, last", [(2, 1), (2, 3), (3, 2), (3, 11)])
def test_ctrl_c_keeps_the_models_that_are_finished(k, last, inside, n_jobs, rng, monkeypatch):
    X, y = classes(rng, k=k)
    estimator = PdproxSVC(loss="logistic", n_jobs=n_jobs)
    alphas = [0.1, 0.05, 0.02, 0.01]
    whole = regularization_path(estimator, X, y, alphas=alphas)
    solve_one, calls = PdproxSVC._solve, []

    def interrupt(self, *arguments, **options):
        calls.append(self)
        if len(calls) < last:
            return solve_one(self, *arguments, **options)
        if not inside:
            raise KeyboardInterrupt
        return replace(solve_one(self, *arguments, **options), interrupted=True)

    monkeypatch.setattr(PdproxSVC, "_solve", interrupt)
    with pytest.raises(KeyboardInterrupt, match=r"\d of 4 alphas are finished") as caught:
        regularization_path(estimator, X, y, alphas=alphas)
    found = pickle.loads(pickle.dumps(caught.value)).path
    n = len(found.alphas)
    assert str(caught.value).startswith(f"{n} of 4")
    if k == 2:
        assert n == last - 1
    elif n_jobs == 1:  # one class after the other
        assert n == max(last - 1 - 2 * len(alphas), 0)
    assert found.coefs.shape == (n, *whole.coefs.shape[1:])
    assert found.intercepts.shape == found.converged.shape == (n, *whole.converged.shape[1:])
    for name in ("alphas", "coefs", "intercepts", "converged", "n_iters"):
        assert_array_equal(getattr(found, name), getattr(whole, name)[:n])
        assert getattr(found, name).dtype == getattr(whole, name).dtype
    assert found.certificates == whole.certificates[:n]


@pytest.mark.parametrize("shape", [(1, 4), (6, 1), (1, 1)])
def test_one_row_or_column_is_both_by_rows_and_by_columns(shape, rng):
    X, y = rng.normal(size=shape), np.arange(1.0, shape[0] + 1.0)
    found = regularization_path(
        PdproxRegressor(loss="squared", fit_intercept=False), X, y, alphas=5
    )
    _, coefs, _ = lasso_path(X, y, alphas=found.alphas, tol=1e-14, max_iter=100_000)
    for alpha, w, certificate in zip(found.alphas, coefs.T, found.certificates, strict=True):
        optimum = 0.5 * np.mean((y - X @ w) ** 2) + alpha * np.abs(w).sum()
        assert certificate.dual <= optimum
        assert certificate.primal >= optimum - 1e-9


@pytest.mark.parametrize("steps", [[], [StandardScaler()], [StandardScaler(), MinMaxScaler()]])
def test_a_path_in_a_pipeline_is_that_of_its_last_step(steps, rng):
    X, y = classes(rng)
    X = 100.0 * X + 7.0
    estimator, weights = PdproxSVC(loss="logistic", tol=1e-10), rng.random(len(y))
    pipeline = make_pipeline(*steps, estimator)
    found = regularization_path(pipeline, X, y, alphas=4, sample_weight=weights)
    by_hand = X
    for step in steps:
        by_hand = clone(step).fit_transform(by_hand)
        with pytest.raises(NotFittedError):
            check_is_fitted(step)
    expected = regularization_path(estimator, by_hand, y, alphas=4, sample_weight=weights)
    assert_array_equal(found.alphas, expected.alphas)
    assert_array_equal(found.coefs, expected.coefs)
    assert_array_equal(found.decision_function(X), expected.decision_function(by_hand))


def test_a_regressor_predicts_along_its_path(rng):
    X, W = rng.normal(size=(60, 5)), rng.normal(size=(5, 2))
    Y = X @ W + 0.1 * rng.normal(size=(60, 2))
    one = regularization_path(LassoPDCertified(), X, Y[:, 0], alphas=4)
    assert_allclose(one.predict(X), one.coefs @ X.T + one.intercepts[:, np.newaxis])
    for estimator in (MultiTaskPD(), TraceNormPD(radius=None)):
        several = regularization_path(estimator, X, Y, alphas=4)
        expected = X @ several.coefs.transpose(0, 2, 1) + several.intercepts[:, np.newaxis]
        assert_allclose(several.predict(X), expected)
    assert regularization_path(TraceNormPD(radius=None), X, Y[:, 0], alphas=4).predict(
        X
    ).shape == (4, 60)
    assert not hasattr(one, "decision_function")


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("estimator", [PdproxSVC(), MultinomialPD(penalty="l21")], ids=str)
def test_a_classifier_scores_along_its_path(estimator, k, rng):
    X, y = classes(rng, k=k)
    found = regularization_path(estimator, sp.csr_array(X), y, alphas=3)
    scores = found.decision_function(X)
    assert scores.shape == ((3, 150) if k == 2 else (3, 150, 3))
    assert_array_equal(found.predict(X), [model.predict(X) for model in found.models])
    for alpha, own, model in zip(found.alphas, scores, found.models, strict=True):
        fit = clone(estimator).set_params(alpha=alpha, tol=1e-9).fit(X, y)
        assert model.alpha == alpha
        assert_allclose(own, fit.decision_function(X), atol=0.05)
        chosen = own > 0 if k == 2 else own.argmax(axis=1)
        assert_array_equal(model.predict(X), model.classes_[chosen.astype(int)])


def test_what_a_path_says_of_itself(rng):
    X, y = classes(rng, k=3)
    found = regularization_path(PdproxSVC(loss="logistic"), X, y, alphas=[0.5, 0.0123456])
    used = np.count_nonzero(found.coefs.any(axis=1), axis=1)
    assert used[0] == 0 and repr(found) == (
        "RegularizationPath(2 alphas from 0.5 to 0.0123, 6 of 6 fits converged, "
        f"0 to {used[1]} of 8 features)"
    )
    assert repr(pickle.loads(pickle.dumps(found))) == repr(found)
    nothing = replace(found, alphas=[], models=[])
    assert repr(nothing) == "RegularizationPath(no alphas)"
    with pytest.raises(ValueError, match="no models to predict by"):
        nothing.predict(X)


def test_plots_name_the_columns_that_a_pipeline_makes():
    """A scaler hands on an array, but knows the names."""
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = make_pipeline(StandardScaler(), PdproxRegressor(loss="squared"))
    models = regularization_path(model, X, y, alphas=4, eps=1e-2)
    legend = models.plot(n_named=3).get_legend()
    assert {text.get_text() for text in legend.get_texts()} == {"bmi", "s5", "bp"}
    plt.close("all")


def test_models_carry_their_certificates(rng):
    X, y = classes(rng)
    y[:10] = 2
    path = regularization_path(PdproxSVC(loss="logistic"), X, y, alphas=[0.1, 0.01])
    for model, certificate, converged in zip(
        path.models, path.certificates, path.converged, strict=True
    ):
        assert model.certificate_ == certificate
        assert model.converged_ == converged.all() and model.n_iter_ >= 1
        assert model.relative_gap_ == max(each.relative_gap for each in certificate)
