"""The default cost of a flipped label of DRSVMClassifier, in units of the data."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skpd import DRSVMClassifier, PathCV, certify, regularization_path
from skpd.designs import Design
from skpd.models.robust.problem import robust_problem

LAYOUTS = [np.asarray, np.asfortranarray, np.float32, sp.csr_array, sp.csc_matrix]
ORDERS = {1: np.inf, 2: 2, np.inf: 1}  # of the norm in which rows move


def scale_of(X, norm, weights=None):
    """Four times the norm of the standard deviations, by NumPy."""
    mean = np.average(X, axis=0, weights=weights)
    deviations = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weights))
    return 4.0 * np.linalg.norm(deviations, ORDERS[norm])


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(return_X_y=True)


@pytest.fixture
def noisy(rng):
    X = rng.normal(size=(80, 4)) * [1.0, 3.0, 0.1, 2.0] * (rng.random((80, 4)) < 0.6)
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=80) > 0.2, 1, 0)


@pytest.mark.parametrize("norm", ORDERS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_scale_against_formula(norm, layout, offset, noisy, rng):
    X, y = noisy[0] + [0.0, offset, 0.0, 0.0], noisy[1]
    weights = rng.integers(0, 4, len(y)) * np.where(y == 1, 2.0, 1.0)
    model = DRSVMClassifier(norm=norm, tol=1e-2).fit(layout(X), y)
    assert_allclose(model.kappa_, scale_of(X, norm), rtol=1e-5)
    model.set_params(class_weight={0: 3.0}).fit(layout(X), y, sample_weight=weights)
    expected = scale_of(X, norm, weights * np.where(y == 0, 3.0, 1.0))
    assert_allclose(model.kappa_, expected, rtol=1e-5)
    number = DRSVMClassifier(norm=norm, kappa=model.kappa_, class_weight={0: 3.0}, tol=1e-2)
    number.fit(layout(X), y, sample_weight=weights)
    assert np.array_equal(number.coef_, model.coef_)


@pytest.mark.parametrize("solver", ["auto", "isg"])
@pytest.mark.parametrize(
    "X, kappa",
    [
        (np.full((6, 2), 0.1), np.inf),  # no feature varies but by rounding
        (np.zeros((6, 2)), np.inf),
        (1e200 * np.arange(12.0).reshape(6, 2), np.inf),  # the variance overflows
        (np.column_stack([np.full(6, 0.1), [0.0, 0.0, 0.0, 2.0, 2.0, 2.0]]), 4.0),
    ],
)
def test_degenerate_features(X, kappa, solver):
    options = None if solver == "auto" else {"output": "best"}
    model = DRSVMClassifier(solver=solver, max_iter=20, solver_options=options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # not converged, or all coefficients are 0
        model.fit(X, np.repeat([0, 1], 3))
    assert_allclose(model.kappa_, kappa, rtol=1e-12)
    assert 0.0 <= model.certificate_.dual <= model.certificate_.primal <= 1.0 + 1e-12


def test_one_row_of_each_class():
    model = DRSVMClassifier(0.1).fit([[0.0], [3.0]], [0, 1])
    assert_allclose(model.kappa_, 4.0 * 1.5, rtol=1e-12)
    assert model.score([[0.0], [3.0]], [0, 1]) == 1.0


@pytest.mark.parametrize("epsilon", [0.0, 0.05])
def test_other_data_is_met_with_the_fitted_number(epsilon, noisy):
    """By `certify`, the worst case and pickles; a clone finds its own."""
    X, y = noisy
    model = DRSVMClassifier(epsilon, tol=1e-6).fit(X, y)
    kappa = model.kappa_
    assert_allclose(certify(model, X, y).primal, model.certificate_.primal, rtol=1e-9)
    Z, labels = 3.0 * X[:50], y[:50]
    again = pickle.loads(pickle.dumps(model))
    bounds = certify(again, Z, labels)
    problem = robust_problem(
        Design(Z), 2.0 * labels - 1.0, np.full(50, 1 / 50), epsilon=epsilon, kappa=kappa, norm=2
    )
    margins = (2.0 * labels - 1.0) * model.decision_function(Z)
    lam = problem.extend(model.coef_[0], model.intercept_[0])[-1]
    flipped = np.maximum(1.0 - margins, 1.0 + margins - kappa * lam)
    expected = epsilon * lam + np.mean(np.maximum(flipped, 0.0))
    assert_allclose(again.worst_case_loss(Z, labels), expected, rtol=1e-9)
    assert_allclose(bounds.primal, expected, rtol=1e-9)
    found = again.worst_case_distribution(Z, labels)
    flips = found.y != labels[found.source]
    assert np.all(found.cost[flips] >= kappa) and found.mass @ found.cost <= epsilon * (1 + 1e-9)
    assert model.kappa_ == again.kappa_ == kappa
    assert_allclose(clone(model).fit(Z, labels).kappa_, scale_of(Z, 2))


# Of so few alphas the best is often an end.
@pytest.mark.filterwarnings("ignore:.*end of the grid")
def test_paths_and_folds_use_the_number_of_their_own_rows(cancer):
    X, y = cancer
    scaler, model = StandardScaler(), DRSVMClassifier(tol=1e-3)
    found = regularization_path(model, scaler.fit_transform(X), y, alphas=[0.3, 0.1])
    assert_allclose([each.kappa_ for each in found.models], scale_of(scaler.transform(X), 2))
    numbers = []

    def accuracy(fitted, X, y):
        numbers.append(fitted[-1].kappa_)
        return fitted.score(X, y)

    folds = list(StratifiedKFold(3).split(X, y))
    pipeline = make_pipeline(StandardScaler(with_std=False), model)
    search = PathCV(pipeline, alphas=[3.0, 1.0], cv=folds, scoring=accuracy).fit(X, y)
    assert_allclose(numbers, np.repeat([scale_of(X[train], 2) for train, _ in folds], 2))
    assert_allclose(search.best_estimator_[-1].kappa_, scale_of(X, 2))


@pytest.mark.parametrize("kappa", ["scal", 0.0, -1.0, np.nan, None])
def test_other_values_are_refused(kappa, noisy):
    with pytest.raises(ValueError, match="'kappa' parameter of DRSVMClassifier must be"):
        DRSVMClassifier(kappa=kappa).fit(*noisy)


def test_numbers_that_are_not_finite_are_named(rng):
    X = rng.normal(size=(1 << 17, 8))
    X[5, 3] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN"):
        DRSVMClassifier().fit(X, X[:, 0] > 0.0)
