"""Choosing epsilon and kappa: epsilon = 0, a grid in units of the data, paths, warnings."""

import warnings
from unittest import mock

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skpd import DRSVMClassifier, PdproxSVC, certify, regularization_path, robust_grid
from skpd.designs import Design
from skpd.losses import Hinge
from skpd.model_selection.robust_grid import useful_epsilon
from skpd.penalties import L1
from skpd.problems.robust import robust_problem
from skpd.solvers import solve
from tests.oracles.reference import linear_programme
from tests.oracles.robust_reference import robust_linear_programme

CASES = [(1, 1.0, 200, 6), (2, np.inf, 200, 6), (2, 1.0, 900, 8)]
LAYOUTS = [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_matrix]


def mean_hinge_programme(X, y, weights, fit_intercept):
    return linear_programme(X, y, weights, Hinge(), L1(), 0.0, fit_intercept)


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


def test_epsilon_0_resumes_and_is_the_limit(rng):
    X, y = noisy(rng)
    model = DRSVMClassifier(epsilon=0.0, warm_start=True, tol=1e-8).fit(X, y)
    value = model.certificate_.primal
    model.fit(X, y)
    assert model.n_iter_ == 0 and model.certificate_.primal <= value
    near = model.set_params(epsilon=1e-9).fit(X, y)
    assert_allclose(near.certificate_.primal, value, atol=1e-7)


@pytest.mark.parametrize("norm", [1, np.inf])
@pytest.mark.parametrize("kappa", [0.5, 3.0, np.inf])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_largest_epsilon_of_use(norm, kappa, fit_intercept, rng):
    """By HiGHS: at a tenth above the bound constants are optimal, just below what is found not."""
    X, y = noisy(rng)
    y, weights = 2.0 * y - 1, np.full(len(y), 1 / len(y))
    given = {"kappa": kappa, "norm": norm, "fit_intercept": fit_intercept}

    def gain(epsilon):
        """What features take off the objective of the best constant."""
        without, best = (
            robust_linear_programme(Z, y, weights, epsilon=epsilon, **given)[0] for Z in (0 * X, X)
        )
        return without - best

    problem = robust_problem(Design(X), y, weights, epsilon=1.0, **given)
    bound = problem.largest_alpha
    assert gain(1.001 * bound) <= 1e-9
    found = useful_epsilon(problem.with_alpha(1.1 * bound))
    assert 0.1 * bound <= found <= bound * (1 + 1e-9)
    assert gain(0.999 * found) > 0.0
    assert gain(1.1 * found) <= 1e-2 * gain(0.5 * found)


@pytest.mark.parametrize("kappa", [1.0, np.inf])
def test_of_many_rows_a_sample_is_fitted(kappa, rng):
    """What is found holds for all of them, and is hardly less than with all of them."""
    X = rng.normal(size=(6000, 3))
    y = np.where(X[:, 0] + 2.0 * rng.normal(size=6000) > 0.0, 1.0, -1.0)
    problem = robust_problem(Design(X), y, np.full(6000, 1 / 6000), epsilon=1.0, kappa=kappa)
    large = problem.with_alpha(1.1 * problem.largest_alpha)
    found = useful_epsilon(large)
    with mock.patch("skpd.model_selection.robust_grid.MOST_ROWS", 10_000):
        by_all = useful_epsilon(large)
    assert 0.8 * by_all <= found < large.alpha
    below = problem.with_alpha(0.99 * found)
    best = solve(below, tol=1e-7, max_iter=1000, random_state=np.random.RandomState(0))
    assert best.coef.any() and best.certificate.primal < below.null_objective


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


@pytest.mark.parametrize(
    "norm, layout", [(1, sp.csr_array), (2, np.asarray), (2, sp.csc_array), (np.inf, np.asarray)]
)
def test_grid_in_units_of_the_data(norm, layout, cancer):
    """Features ten times as large make both ten times as large; kappas are median distances."""
    X, y = cancer[0][:200], cancer[1][:200]
    X = X * (np.abs(X) > 0.3)
    grid = robust_grid(DRSVMClassifier(norm=norm), layout(X), y)
    ten = robust_grid(DRSVMClassifier(norm=norm), layout(10 * X), y)
    assert len(grid) == 4
    for small, large in zip(grid, ten, strict=True):
        assert_allclose(10 * small["epsilon"], large["epsilon"])
        assert_allclose(10 * small["kappa"], large["kappa"])
    order = {1: np.inf, 2: 2, np.inf: 1}[norm]
    distances = np.linalg.norm(X[:, None] - X, order, axis=2)
    kappas = [values["kappa"].item() for values in grid]
    assert_allclose(kappas[1], np.median(distances[distances > 0]), rtol=0.1)
    assert_allclose(kappas[2:], kappas[1] / np.array([4.0, 16.0])) and kappas[0] == np.inf
    # of certain labels: no more than the distance of the means, weighted by the smaller class
    bound = np.mean(y == 0) * np.linalg.norm(X[y == 0].mean(0) - X[y == 1].mean(0), order)
    for values in grid:
        assert_allclose(values["epsilon"][1:] / values["epsilon"][:-1], 1e-3**0.125)
        largest = values["epsilon"][0] / 1e-3**0.125
        assert 0.1 * bound < largest <= bound or values["kappa"].item() < np.inf
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = DRSVMClassifier(
                values["epsilon"][0], kappa=values["kappa"].item(), norm=norm
            ).fit(X, y)
        assert model.coef_.any()
        with pytest.warns(UserWarning, match="ignores all features"):
            model.set_params(epsilon=1.5 * largest).fit(X, y)


def test_grid_search_over_the_grid(cancer):
    model = make_pipeline(StandardScaler(), DRSVMClassifier(tol=1e-3))
    X, y = load_breast_cancer(return_X_y=True)
    grid = robust_grid(model, X, y, n_epsilons=2, n_kappas=1)
    assert set(grid[0]) == {"drsvmclassifier__epsilon", "drsvmclassifier__kappa"}
    search = GridSearchCV(model, grid, cv=3).fit(X, y)
    assert len(search.cv_results_["params"]) == 4 and search.best_score_ > 0.95


@pytest.mark.parametrize(
    "estimator, options, error, message",
    [
        (PdproxSVC(), {}, TypeError, "must be a DRSVMClassifier, or a pipeline"),
        (DRSVMClassifier(), {"n_epsilons": 0}, ValueError, "n_epsilons must be an int of at"),
        (DRSVMClassifier(), {"n_kappas": -1}, ValueError, "n_kappas must be an int of at least 0"),
        (DRSVMClassifier(), {"eps": 1.0}, ValueError, r"eps must be a number in \(0, 1\)"),
        (DRSVMClassifier(), {"sample_weight": [1.0]}, ValueError, "sample_weight"),
    ],
)
def test_grid_refusals_name_the_parameter(estimator, options, error, message, cancer):
    with pytest.raises(error, match=message):
        robust_grid(estimator, *cancer, **options)


def test_no_grid_without_information(cancer):
    with pytest.raises(ValueError, match="must say something of the classes"):
        robust_grid(DRSVMClassifier(), 0 * cancer[0], cancer[1])


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
