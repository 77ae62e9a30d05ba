"""Kernel machines against scikit-learn and closed forms."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, make_moons
from sklearn.metrics.pairwise import pairwise_kernels, rbf_kernel
from sklearn.svm import SVC, SVR

from skpd import (
    KernelPdproxRegressor,
    KernelPdproxSVC,
    MKLClassifier,
    PdproxRegressor,
    PdproxSVC,
    certify,
    coef_table,
    regularization_path,
)
from skpd.models.kernel_machines import kernel_values
from skpd.models.kernel_machines.matrix import KernelMatrixByRows
from skpd.models.kernel_machines.settings import PAIRS

TIGHT = 1e-9


@pytest.fixture(scope="module")
def moons():
    return make_moons(150, noise=0.25, random_state=0)


@pytest.fixture(scope="module")
def wave():
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 6.0, size=(120, 1))
    return X, np.sin(X[:, 0]) + 0.2 * rng.normal(size=120)


def hinge_objective(matrix, signs, model, alpha):
    """That of scikit-learn's SVC, with C = 1 / (alpha n)."""
    a = np.zeros(len(signs))
    a[model.support_] = model.dual_coef_[0]
    z = matrix @ a + model.intercept_
    return np.mean(np.maximum(1.0 - signs * z, 0.0)) + 0.5 * alpha * a @ matrix @ a


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "laplacian", "precomputed"])
@pytest.mark.parametrize("alpha", [0.1, 1e-3])
def test_hinge_is_svc(moons, kernel, alpha):
    X, y = moons
    options = {"gamma": 0.7, "coef0": 0.5, "degree": 2}
    model = KernelPdproxSVC(alpha, kernel="rbf", tol=1e-7)
    ours = clone(model).set_params(kernel=kernel, **options)
    matrix = X
    if kernel == "precomputed":
        ours.set_params(kernel="precomputed")
        matrix = rbf_kernel(X, gamma=0.7)
    ours.fit(matrix, y)
    if kernel != "precomputed":
        matrix = pairwise_kernels(X, metric=kernel, filter_params=True, **options)
    theirs = SVC(C=1.0 / (alpha * len(y)), kernel="precomputed", tol=1e-9).fit(matrix, y)
    value = hinge_objective(matrix, 2.0 * y - 1.0, theirs, alpha)
    assert ours.converged_
    assert ours.certificate_.dual <= value + 1e-12
    assert_allclose(ours.certificate_.primal, value, rtol=1e-6)
    rows = matrix if kernel == "precomputed" else X
    assert_allclose(ours.decision_function(rows), theirs.decision_function(matrix), atol=0.02)
    assert np.mean(ours.predict(rows) == theirs.predict(matrix)) > 0.99


def test_a_matrix_of_nearly_equal_values_needs_no_factor(moons):
    """Its columns are far from 0, but pairs of rows do without shifted ones."""
    X, y = moons
    ours = KernelPdproxSVC(1e-3, gamma=1e-4, tol=1e-8).fit(X, y)
    theirs = SVC(C=1.0 / (1e-3 * len(y)), gamma=1e-4, tol=1e-9).fit(X, y)
    assert ours.solver_ == "pair-descent"
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)


def test_epsilon_insensitive_is_svr(wave):
    X, y = wave
    alpha = 1e-3
    ours = KernelPdproxRegressor(
        alpha, gamma=1.0, loss="epsilon_insensitive", epsilon=0.1, tol=1e-8
    ).fit(X, y)
    theirs = SVR(C=1.0 / (alpha * len(y)), gamma=1.0, epsilon=0.1, tol=1e-9).fit(X, y)
    assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-3)
    assert len(ours.support_) < len(y)


def test_squared_loss_is_kernel_ridge(wave):
    """Its equations: (K + n alpha I) a = y - b and sum a = 0."""
    X, y = wave
    n, alpha = len(y), 1e-3
    matrix = rbf_kernel(X, gamma=1.0)
    system = np.block([
        [matrix + n * alpha * np.eye(n), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))],
    ])  # fmt: skip
    solution = np.linalg.solve(system, np.append(y, 0.0))
    a, b = solution[:-1], solution[-1]
    model = KernelPdproxRegressor(alpha, gamma=1.0, loss="squared", tol=1e-10).fit(X, y)
    assert_allclose(model.predict(X), matrix @ a + b, atol=1e-4)
    value = 0.5 * np.mean((y - matrix @ a - b) ** 2) + 0.5 * alpha * a @ matrix @ a
    assert model.certificate_.dual <= value * (1.0 + 1e-13)
    assert_allclose(model.certificate_.primal, value, rtol=1e-10)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
@pytest.mark.parametrize("kernel, gap", [("precomputed", 1e-8), ("linear", 1e-7)])
def test_raw_features_with_a_linear_kernel(kernel, gap, loss):
    """Almost all of K x cancels, and a gap of 1e-8 is certified still for the given values.

    Values that predict may be rounded otherwise, which leaves 1e-7.
    """
    X, y = load_breast_cancer(return_X_y=True)
    options = {"alpha": 1e-2, "loss": loss, "tol": 1.2 * gap}
    ours = KernelPdproxSVC(kernel=kernel, **options)
    ours.fit(X if kernel == "linear" else X @ X.T, y)
    linear = PdproxSVC(penalty="l2", **options).fit(X, y)
    assert ours.converged_ and linear.converged_ and ours.duality_gap_ <= gap
    assert ours.certificate_.dual <= linear.certificate_.primal
    assert_allclose(ours.certificate_.primal, linear.certificate_.primal, rtol=1e-6)
    # P is strongly convex: P(w) - P(w*) is at least alpha ||w - w*||^2 / 2
    gaps = np.array([ours.duality_gap_, linear.duality_gap_])
    distance = np.linalg.norm(ours.support_coef_ @ X[ours.support_] - linear.coef_)
    assert distance <= np.sum(np.sqrt(2.0 * gaps / 1e-2))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", [0, 1])
def test_rows_of_very_different_size(seed):
    """The optimum of the linear model, by the same certificate."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(24, 4)), rng.normal(size=24)
    X[3] *= 1e5
    ours = KernelPdproxRegressor(0.0065, kernel="linear", tol=1e-11).fit(X, y)
    linear = PdproxRegressor(0.0065, penalty="l2", loss="absolute", tol=1e-9).fit(X, y)
    assert linear.converged_ and ours.relative_gap_ < 1e-6
    assert ours.certificate_.dual <= linear.certificate_.primal
    assert linear.certificate_.dual <= ours.certificate_.primal


def test_one_vs_rest_shares_the_kernel_matrix():
    X, y = load_iris(return_X_y=True)
    model = KernelPdproxSVC(0.01, n_jobs=2).fit(X, y)
    assert len(model.certificate_) == 3 and model.support_coef_.shape == (3, len(model.support_))
    assert model.score(X, y) > 0.95
    for k in range(3):
        alone = KernelPdproxSVC(0.01).fit(X, y == k)
        gap = model.certificate_[k].gap + alone.certificate_.gap
        assert abs(model.certificate_[k].primal - alone.certificate_.primal) <= gap


ROW_BY_ROW = {
    "hinge": KernelPdproxSVC(1e-3),
    "hinge without an intercept": KernelPdproxSVC(1e-3, fit_intercept=False),
    "squared hinge": KernelPdproxSVC(1e-2, loss="squared_hinge", class_weight={0: 3.0}),
    "poly": KernelPdproxSVC(1e-2, kernel="poly"),
    "cosine": KernelPdproxSVC(1e-2, kernel="cosine"),
    "logistic": KernelPdproxSVC(1e-2, loss="logistic"),
    "classes": KernelPdproxSVC(1e-3, n_jobs=2),
    "absolute": KernelPdproxRegressor(1e-2),
    "epsilon-insensitive": KernelPdproxRegressor(1e-2, loss="epsilon_insensitive", epsilon=0.3),
    "huber": KernelPdproxRegressor(1e-2, loss="huber", fit_intercept=False),
}


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("name", ROW_BY_ROW)
def test_rows_of_the_kernel_matrix_that_are_computed_when_needed(
    name, container, moons, monkeypatch
):
    """The optimum is that of the whole matrix, and rows that no step needs are not computed."""
    monkeypatch.setattr(PAIRS, "rows_at_once", 8)
    computed, keep = [], KernelMatrixByRows._keep
    monkeypatch.setattr(
        KernelMatrixByRows, "_keep",
        lambda self, block: computed.extend(block.rows.tolist()) or keep(self, block),
    )  # fmt: skip
    X, y = moons
    y = y + (X[:, 0] > 1.0) if name == "classes" else y
    weights = np.random.default_rng(0).random(len(y)) + 0.5
    whole = clone(ROW_BY_ROW[name]).set_params(tol=1e-6).fit(X, y, weights)
    assert not computed
    monkeypatch.setattr(kernel_values, "LARGEST_TESTED", 20)
    ours = clone(whole).fit(container(X), y, weights)
    certificates = zip(np.ravel(ours.certificate_), np.ravel(whole.certificate_), strict=True)
    for mine, other in certificates:
        assert mine.dual <= other.primal and other.dual <= mine.primal
        assert mine.relative_gap <= 1e-6
    assert len(set(computed)) == len(computed)
    if name.startswith("hinge"):
        assert len(ours.support_) <= len(computed) < 100
    assert_allclose(on_a_grid(ours), on_a_grid(whole), atol=0.05)


def on_a_grid(model):
    """The values of the functions on a grid, by the model that predicts."""
    grid = np.stack(np.meshgrid(np.linspace(-1, 2, 5), np.linspace(-1, 1, 5)), axis=-1)
    predict = getattr(model, "decision_function", model.predict)
    return predict(grid.reshape(-1, 2))


def test_sparse_rows_callables_and_pickles(moons):
    X, y = moons
    dense = KernelPdproxSVC(0.01, gamma=1.0).fit(X, y)
    sparse = KernelPdproxSVC(0.01, gamma=1.0).fit(sp.csr_array(X), y)
    assert_allclose(sparse.certificate_.primal, dense.certificate_.primal, atol=2e-4)
    copy = pickle.loads(pickle.dumps(dense))
    assert np.array_equal(copy.decision_function(X), dense.decision_function(X))

    def square(u, v, c):
        return (u @ v.T + c) ** 2

    own = KernelPdproxSVC(0.01, kernel=square, kernel_params={"c": 1.0}, tol=1e-7).fit(X, y)
    poly = {"kernel": "poly", "gamma": 1.0, "degree": 2, "coef0": 1.0}
    named = KernelPdproxSVC(0.01, tol=1e-7, **poly).fit(X, y)
    assert_allclose(own.certificate_.primal, named.certificate_.primal, atol=2e-7)
    assert_allclose(own.predict(X), named.predict(X))
    svc = SVC(kernel=lambda U, V: square(U, V, 1.0), C=1 / (0.01 * len(y)), tol=1e-8).fit(X, y)
    assert_allclose(own.decision_function(X), svc.decision_function(X), atol=1e-3)
    of_sparse = KernelPdproxSVC(0.01, kernel=lambda U, V: U @ V.T).fit(sp.csr_array(X), y)
    linear = KernelPdproxSVC(0.01, kernel="linear").fit(X, y)
    assert_allclose(of_sparse.decision_function(sp.csr_array(X)), linear.decision_function(X))
    for wrong in (lambda U, V: 1.0, lambda U, V: U):
        for model in (KernelPdproxSVC(kernel=wrong), MKLClassifier(kernels=["rbf", wrong])):
            with pytest.raises(ValueError, match=r"of shape \(\d+, \d+\), got \(.*metric=f\)"):
                model.fit(X, y)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_linear_coefficients_and_support_are_those_of_svc_and_svr(container, moons, wave):
    X, y = np.column_stack([moons[0], moons[0][:, 0] ** 2]), moons[1]
    y = y + (X[:, 0] > 1.0)
    alpha = 0.02
    for labels in (y, np.minimum(y, 1)):
        ours = KernelPdproxSVC(alpha, kernel="linear", tol=TIGHT).fit(container(X), labels)
        assert_allclose(
            X @ ours.coef_.T + ours.intercept_,
            np.atleast_2d(ours.decision_function(container(X)).T).T,
        )
        assert ours.n_support_.tolist() == [
            np.sum(labels[ours.support_] == label) for label in ours.classes_
        ]
    theirs = SVC(C=1 / (alpha * len(y)), kernel="linear", tol=1e-10).fit(X, labels)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    assert_array_equal(ours.n_support_, theirs.n_support_)
    X, y = wave
    theirs = SVR(C=1 / (alpha * len(y)), kernel="linear", epsilon=0.1, tol=1e-10).fit(X, y)
    ours = KernelPdproxRegressor(
        alpha, kernel="linear", loss="epsilon_insensitive", epsilon=0.1, tol=TIGHT
    ).fit(container(X), y)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    assert_array_equal(ours.n_support_, theirs.n_support_)
    with pytest.raises(ValueError, match="KernelPdproxRegressor: the certificate of a fit with"):
        certify(ours, X, y)
    with pytest.raises(TypeError, match="model must be an estimator of skpd with coef_"):
        coef_table(ours)
    assert not hasattr(KernelPdproxRegressor().fit(X, y), "coef_")
    assert not hasattr(KernelPdproxSVC(kernel="linear"), "coef_")  # as it is not fitted


@pytest.mark.parametrize("mean", [1e5, 1e8])
def test_features_far_from_zero(moons, mean):
    """The model of the features without their means, by scikit-learn."""
    X, y = moons
    alpha = 0.01
    peer = SVC(C=1.0 / (alpha * len(y)), gamma="scale", tol=1e-8).fit(X, y)
    model = KernelPdproxSVC(alpha, tol=1e-7).fit(X + mean, y)
    assert_allclose(model.decision_function(X + mean), peer.decision_function(X), atol=1e-3)
    MKLClassifier(tol=1e-3).fit(X + mean, y)


def test_features_that_overflow(moons):
    X, y = moons
    for estimator in (KernelPdproxSVC(kernel="poly"), MKLClassifier()):
        with pytest.raises(ValueError, match="X must be on a smaller scale"):
            estimator.fit(1e200 * X, y)


def test_errors(moons):
    X, y = moons
    with pytest.raises(ValueError, match="must be a square matrix for kernel='precomputed'"):
        KernelPdproxSVC(kernel="precomputed").fit(X, y)
    with pytest.raises(ValueError, match="kernel='sigmoid' must make a positive semidefinite"):
        KernelPdproxSVC(kernel="sigmoid", gamma=2.0, coef0=-1.0).fit(X, y)
    with pytest.raises(ValueError, match="Fit one for each alpha"):
        regularization_path(KernelPdproxSVC(), X, y, alphas=[0.1, 0.01])


@pytest.mark.parametrize("estimator", [KernelPdproxSVC(0.01), KernelPdproxSVC(0.01, tol=1e-8)])
def test_support_vectors_are_rows_that_have_a_loss(estimator):
    """Rows with a margin above 1 have weight 0: rounding errors make no support vectors."""
    X, y = make_moons(200, noise=0.2, random_state=0)
    model = estimator.fit(X, y)
    margins = np.where(y == 1, 1.0, -1.0) * model.decision_function(X)
    assert (margins[model.support_] < 1.0 + 1e-4).all()
    assert 50 < len(model.support_) < 80


@pytest.mark.parametrize("solver", ["pdprox-dual", "pdprox-primal"])
def test_published_methods_reach_the_optimum_of_svc(solver, moons):
    X, y = moons
    alpha, options = 0.01, {"solver": solver, "tol": 1e-3}
    exact = SVC(C=1.0 / (alpha * len(y)), gamma=1.0, tol=1e-8).fit(X, y)
    model = KernelPdproxSVC(alpha, gamma=1.0, **options).fit(X, y)
    assert model.converged_ and model.solver_ == solver
    margins = (2 * y - 1) * exact.decision_function(X)
    own = exact.dual_coef_[0] @ rbf_kernel(exact.support_vectors_, gamma=1.0) @ exact.dual_coef_[0]
    optimum = np.mean(np.maximum(1 - margins, 0)) + alpha / 2 * own
    assert model.certificate_.dual <= optimum + 1e-9
    assert model.certificate_.primal == pytest.approx(optimum, abs=1e-3)
    with pytest.raises(ValueError, match="solver_options of solver"):
        KernelPdproxSVC(solver=solver, solver_options={"order": 1}).fit(X, y)


def test_scoring_monitor_sees_the_model_of_the_moment(moons, callbacks):
    X, y = moons
    monitor = callbacks.ScoringMonitor(scoring="accuracy")
    model = KernelPdproxSVC(1e-3, tol=1e-6).set_callbacks(monitor).fit(X, y)
    scores = monitor.get_logs().data_as_pandas["accuracy"]
    assert len(scores) >= 2 and abs(scores.iloc[-1] - model.score(X, y)) < 0.02
