"""Choosing epsilon and kappa: epsilon = 0, paths, warnings."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skpd import DRSVMClassifier, PathCV, PdproxSVC, certify, regularization_path
from tests.oracles.optima import linear_optimum
from tests.oracles.robust_reference import robust_linear_programme

CASES = [(1, 1.0, 200, 6), (2, np.inf, 200, 6), (2, 1.0, 900, 8)]
LAYOUTS = [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_matrix]


def mean_hinge_programme(X, y, weights, fit_intercept):
    """The least mean hinge loss by HiGHS: variables w, b and the losses."""
    n, d = X.shape
    A = -np.hstack([y[:, None] * X, y[:, None], np.eye(n)])
    free = (None, None)
    bounds = [free] * d + [free if fit_intercept else (0, 0)] + [(0, None)] * n
    cost = np.r_[np.zeros(d + 1), weights]
    return linear_optimum(cost, A_ub=A, b_ub=-np.ones(n), bounds=bounds).fun


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def noisy(rng, n=150, d=5):
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    return X, np.where(X[:, 0] + rng.normal(size=n) > 0.4, 1, 0)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kappa", [1e-3, np.inf])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_epsilon_0_is_the_mean_hinge_loss(layout, kappa, fit_intercept, rng):
    for norm in (1, 2, np.inf):
        X, y = noisy(rng)
        weights = rng.integers(0, 4, len(y))
        best = mean_hinge_programme(X, 2.0 * y - 1, weights / weights.sum(), fit_intercept)
        model = DRSVMClassifier(
            epsilon=0.0, kappa=kappa, norm=norm, fit_intercept=fit_intercept, tol=1e-9
        ).fit(layout(X), y, sample_weight=weights)
        certificate = model.certificate_
        assert model.converged_ and certificate.dual <= best + 1e-10
        assert_allclose([certificate.primal, certificate.dual], best, rtol=0, atol=1e-8)
        loss = np.maximum(1 - (2 * y - 1) * model.decision_function(X), 0)
        assert_allclose(np.average(loss, weights=weights), best, atol=1e-8)
        assert_allclose(
            model.worst_case_loss(layout(X), y, sample_weight=weights), best, atol=1e-8
        )
        assert certify(model, layout(X), y, weights).dual <= best + 1e-10
        data = model.worst_case_distribution(X, y, sample_weight=weights)
        assert_allclose(data.mass, weights[weights > 0] / weights.sum())
        assert np.array_equal(data.X, X[weights > 0]) and not data.cost.any()


def test_epsilon_0_of_separable_classes(cancer):
    """The least value is 0, and no bound is better than that the loss is not negative."""
    model = DRSVMClassifier(epsilon=0.0).fit(*cancer)
    assert model.converged_ and model.certificate_.dual == 0.0
    assert model.certificate_.primal <= 1e-9 and model.score(*cancer) == 1.0


def test_epsilon_0_one_vs_rest_and_ridge(rng):
    X, y = load_iris(return_X_y=True)
    X = np.round(X + rng.normal(size=X.shape), 2)
    model = DRSVMClassifier(epsilon=0.0, tol=1e-9).fit(X, y)
    assert model.dual_coef_.shape == (3, 2, 150)
    for k, certificate in enumerate(model.certificate_):
        best = mean_hinge_programme(X, np.where(y == k, 1.0, -1.0), np.full(150, 1 / 150), True)
        assert_allclose([certificate.primal, certificate.dual], best, rtol=0, atol=1e-8)
    ridge = DRSVMClassifier(epsilon=0.0, alpha=0.1, tol=1e-9).fit(X, y == 2)
    svm = PdproxSVC(alpha=0.1, penalty="l2", tol=1e-9).fit(X, y == 2)
    assert_allclose(ridge.certificate_.primal, svm.certificate_.primal, rtol=1e-8)
    assert_allclose(ridge.coef_, svm.coef_, atol=1e-4)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", ["isg", "ippa", "hybrid"])
def test_epsilon_0_by_incremental_methods(solver, rng):
    X, y = noisy(rng)
    best = mean_hinge_programme(X, 2.0 * y - 1, np.full(150, 1 / 150), True)
    model = DRSVMClassifier(epsilon=0.0, solver=solver, max_iter=300).fit(X, y)
    assert model.certificate_.dual <= best + 1e-12
    assert best - 1e-12 <= model.certificate_.primal <= best + 5e-3


def test_epsilon_0_resumes_and_is_the_limit(rng):
    X, y = noisy(rng)
    model = DRSVMClassifier(epsilon=0.0, warm_start=True, tol=1e-8).fit(X, y)
    value = model.certificate_.primal
    model.fit(X, y)
    assert model.n_iter_ == 0 and model.certificate_.primal <= value
    near = model.set_params(epsilon=1e-9).fit(X, y)
    assert_allclose(near.certificate_.primal, value, atol=1e-7)


@pytest.mark.parametrize("kappa", [1.0, np.inf])
@pytest.mark.parametrize("norm", [1, np.inf])
def test_a_model_that_ignores_all_features_warns(norm, kappa, rng):
    """With a bound that HiGHS confirms, and no search for it by fits."""
    X, y = noisy(rng)
    model = DRSVMClassifier(epsilon=5.0, norm=norm, kappa=kappa)
    with pytest.warns(UserWarning, match="DRSVMClassifier ignores all features") as caught:
        model.fit(X, y)
    assert not model.coef_.any() and model.solver_ == "null-model"
    (message,) = (str(w.message) for w in caught)
    assert caught[0].filename == __file__
    bound = float(message.split("from about epsilon=")[1].split()[0])
    weights = np.full(len(y), 1 / len(y))
    given = {"norm": norm, "kappa": kappa, "fit_intercept": True}
    without, best = (
        robust_linear_programme(Z, 2.0 * y - 1, weights, epsilon=1.01 * bound, **given)[0]
        for Z in (0 * X, X)
    )
    assert without - best <= 1e-9


def test_many_sparse_features_are_not_useless(rng):
    """A bound far above epsilon is no word of smaller ones, whose features are of use."""
    n, d = 20_000, 600
    X = sp.random_array((n, d), density=0.01, format="csr", rng=rng)
    y = np.where(X @ np.r_[np.full(30, 3.0), np.zeros(d - 30)] > 0.1, 1, -1)
    with pytest.warns(UserWarning, match="0 is optimal from about epsilon") as caught:
        DRSVMClassifier(epsilon=0.5, norm=1).fit(X, y)
    assert len(caught) == 1
    assert DRSVMClassifier(0.001, norm=1, kappa=np.inf, tol=1e-3).fit(X, y).coef_.any()


@pytest.mark.filterwarnings("ignore:DRSVMClassifier ignores all features")
@pytest.mark.parametrize("norm, kappa, n, d", CASES)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_path_over_epsilon(norm, kappa, n, d, fit_intercept, rng):
    """Each model is that of a fit, and the first is the best constant."""
    X, y = noisy(rng, n, d)
    model = DRSVMClassifier(
        epsilon=0.0, kappa=kappa, norm=norm, fit_intercept=fit_intercept, tol=1e-7
    )
    found = regularization_path(model, X, y, alphas=5)
    assert found.parameter == "epsilon" and found.converged.all()
    assert "5 epsilons from" in repr(found) and not found.coefs[0].any()
    for k in (1, 2, 4):
        assert found.models[k].epsilon == found.alphas[k]
        fit = DRSVMClassifier(**{**model.get_params(), "epsilon": found.alphas[k]}).fit(X, y)
        certificate = found.certificates[k]
        assert certificate.dual <= fit.certificate_.primal * (1 + 1e-12)
        assert fit.certificate_.dual <= certificate.primal * (1 + 1e-12)
        assert certificate.relative_gap <= 1e-7


def test_path_over_epsilon_starts_from_the_model_before():
    """With many rows, by the method of multipliers, which uses a start."""
    rng = np.random.default_rng(0)
    X, y = noisy(rng, 60_000, 40)
    found = regularization_path(DRSVMClassifier(), X, y, alphas=[0.03, 0.025, 0.02])
    alone = [
        regularization_path(DRSVMClassifier(), X, y, alphas=[e]).n_iters[0] for e in (0.025, 0.02)
    ]
    assert found.n_iters[1:].sum() < sum(alone)


def test_cross_validated_epsilon(cancer):
    """The scores are those of a search over the same values and folds."""
    model = make_pipeline(StandardScaler(), DRSVMClassifier(tol=1e-6))
    X, y = load_breast_cancer(return_X_y=True)
    values = [0.3, 0.1, 0.03]
    search = PathCV(model, alphas=values, cv=3).fit(X, y)
    grid = GridSearchCV(model, {"drsvmclassifier__epsilon": values}, cv=3).fit(X, y)
    for name in ("mean_test_score", "split1_test_score"):
        assert_allclose(search.cv_results_[name], grid.cv_results_[name], atol=0.006)
    assert_allclose(search.cv_results_["param_epsilon"], values)
    assert search.cv_results_["params"][0] == {"epsilon": 0.3}
    assert search.best_estimator_[-1].epsilon == search.alpha_
