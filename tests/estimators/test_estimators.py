"""The estimators as scikit-learn estimators: classes, warm starts, sizes and peers."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import HuberRegressor, Lasso, LogisticRegression, QuantileRegressor
from sklearn.svm import LinearSVC

from skpd import (
    DRSVMClassifier,
    ElasticNetPDClassifier,
    GroupLassoSVC,
    LassoPDCertified,
    PdproxRegressor,
    PdproxSVC,
    TraceNormPD,
    certify,
)
from skpd.losses import Huber, Pinball
from skpd.penalties import L1, Norm
from tests.oracles.reference import linear_programme
from tests.oracles.robust_reference import robust_linear_programme

# A constant model is as good as another for what is tested here; groups=None makes a lasso of the
# group lasso, which is fitted as another estimator.
pytestmark = pytest.mark.filterwarnings("ignore:.*(all coefficients are 0|has groups=None)")

ESTIMATORS = [PdproxSVC, GroupLassoSVC, PdproxRegressor]
SMOOTH_AND_NOT = [("hinge", "l1"), ("hinge", "l2"), ("logistic", "l1"), ("hinge", "linf")]


@pytest.fixture(scope="module")
def regression():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 6))
    return X, X @ np.array([1.0, -2.0, 0.0, 0.0, 0.5, 0.0]) + 3 + 0.3 * rng.normal(size=80)


def test_class_weight_multiplies_sample_weight(cancer):
    X, y = cancer
    by_class = PdproxSVC(alpha=0.02, tol=1e-6, class_weight={0: 3.0, 1: 0.5}).fit(X, y)
    by_sample = PdproxSVC(alpha=0.02, tol=1e-6).fit(X, y, sample_weight=np.where(y, 0.5, 3.0))
    assert_allclose(by_class.coef_, by_sample.coef_, atol=1e-5)
    balanced = PdproxSVC(alpha=0.02, tol=1e-6, class_weight="balanced").fit(X, y)
    shares = len(y) / (2 * np.bincount(y))
    by_hand = PdproxSVC(alpha=0.02, tol=1e-6).fit(X, y, sample_weight=shares[y])
    assert_allclose(balanced.coef_, by_hand.coef_, atol=1e-5)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_one_vs_rest(n_jobs):
    X, y = load_digits(return_X_y=True)
    X, y, names = X[:400] / 16, y[:400], np.array(list("abcdefghij"))
    model = PdproxSVC(alpha=1e-2, tol=1e-3, n_jobs=n_jobs).fit(X, names[y])
    assert model.coef_.shape == (10, 64) and model.intercept_.shape == (10,)
    assert model.dual_coef_.shape == (10, 400) and model.decision_function(X).shape == (400, 10)
    assert len(model.certificate_) == len(model.gap_history_) == 10
    assert model.duality_gap_ == max(c.gap for c in model.certificate_)
    assert model.relative_gap_ == max(c.relative_gap for c in model.certificate_)
    assert model.score(X, names[y]) > 0.9
    binary = PdproxSVC(alpha=1e-2, tol=1e-3).fit(X, y == 3)
    assert_allclose(binary.coef_[0], model.coef_[3])
    assert binary.certificate_ == model.certificate_[3]


def test_against_scikit_learn(cancer, regression):
    X, y = cancer
    svc = LinearSVC(
        loss="squared_hinge", penalty="l1", dual=False, C=1.0, tol=1e-10, max_iter=10**5,
        fit_intercept=False,
    ).fit(X, y)  # fmt: skip
    mine = PdproxSVC(alpha=1 / len(y), loss="squared_hinge", fit_intercept=False, tol=1e-9)
    assert_allclose(mine.fit(X, y).coef_, svc.coef_, atol=1e-3)
    logistic = LogisticRegression(C=1.0, tol=1e-10, max_iter=10**4).fit(X, y)
    mine = PdproxSVC(alpha=1 / len(y), loss="logistic", penalty="l2", tol=1e-10)
    assert_allclose(mine.fit(X, y).coef_, logistic.coef_, atol=1e-3)

    X, y = regression
    for quantile in (0.1, 0.5, 0.9):
        theirs = QuantileRegressor(quantile=quantile, alpha=0.02, solver="highs").fit(X, y)
        mine = PdproxRegressor(alpha=0.02, loss=Pinball(quantile=quantile), tol=1e-9).fit(X, y)
        assert_allclose(mine.coef_, theirs.coef_, atol=1e-5)
        assert_allclose(mine.intercept_, theirs.intercept_, atol=1e-5)
    theirs = Lasso(alpha=0.02, tol=1e-12).fit(X, y)
    mine = PdproxRegressor(alpha=0.02, loss="squared", tol=1e-10).fit(X, y)
    assert_allclose(mine.coef_, theirs.coef_, atol=1e-4)
    # HuberRegressor with its fitted scale is Huber's loss with delta = epsilon * scale
    theirs = HuberRegressor(alpha=0.0, epsilon=1.35, tol=1e-10, max_iter=1000).fit(X, y)
    mine = PdproxRegressor(
        alpha=1e-9, penalty="l2", loss=Huber(delta=1.35 * theirs.scale_), tol=1e-10
    ).fit(X, y)
    assert_allclose(mine.coef_, theirs.coef_, atol=1e-4)


class HalvedL1(Norm):
    """A user's penalty, ||w||_1 / 2, with the three methods that a norm needs."""

    def value(self, w):
        return float(np.abs(w).sum()) / 2

    def prox(self, w, step):
        return np.sign(w) * np.maximum(np.abs(w) - np.asarray(step) / 2, 0)

    def dual_norm(self, v):
        return 2 * float(np.abs(v).max())


def test_a_penalty_of_the_user(cancer):
    X, y = cancer
    mine = PdproxSVC(alpha=0.04, penalty=HalvedL1(), tol=1e-4, max_iter=50_000).fit(X, y)
    theirs = PdproxSVC(alpha=0.02, tol=1e-6).fit(X, y)
    assert mine.certificate_.dual <= theirs.certificate_.primal
    assert theirs.certificate_.dual <= mine.certificate_.primal
    assert mine.certificate_.relative_gap <= 1e-4


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_warm_start(estimator, cancer, regression):
    """With a smooth loss, fits take Newton steps of one kind with a start and without."""
    X, y = regression if estimator is PdproxRegressor else cancer
    loss = "huber" if estimator is PdproxRegressor else "logistic"
    model = estimator(alpha=0.02, tol=1e-6, loss=loss, warm_start=True).fit(X, y)
    cold = model.n_iter_
    assert model.fit(X, y).n_iter_ == 0
    assert model.set_params(alpha=0.019).fit(X, y).n_iter_ < cold
    assert model.fit(X[:, :5], y).converged_  # another shape starts afresh
    without = model.fit(X, y).set_params(fit_intercept=False).fit(X, y)
    fresh = estimator(alpha=0.019, tol=1e-6, loss=loss, fit_intercept=False).fit(X, y)
    assert not np.any(without.intercept_)
    assert without.certificate_.primal >= fresh.certificate_.dual
    assert fresh.certificate_.primal >= without.certificate_.dual


@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray, sp.csr_array])
def test_float32_is_never_copied(layout, rng):
    """Neither fit nor predict allocates memory on the scale of X."""
    X = layout(rng.normal(size=(20_000, 100)).astype(np.float32))
    size = X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes
    y = rng.integers(0, 2, 20_000)
    model = PdproxSVC(alpha=0.1, tol=0.5)
    tracemalloc.start()
    model.fit(X, y)
    model.predict(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # 8 MB of data beside vectors of 160 kB, some dozens of them alive at a time
    assert peak < 0.75 * size


# Bad input


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
@pytest.mark.parametrize("alpha", [5e-324, 1e-3, 1e300])
@pytest.mark.parametrize(
    "model",
    [
        *(PdproxSVC(loss=loss, penalty=penalty) for loss, penalty in SMOOTH_AND_NOT),
        *(GroupLassoSVC(loss=loss) for loss in ("hinge", "logistic")),
        *(
            DRSVMClassifier(norm=norm, solver=s)
            for norm in (1, 2, np.inf)
            for s in ("auto", "isg")
        ),
        *(
            ElasticNetPDClassifier(l1_radius=radius, loss="smoothed_hinge")
            for radius in (None, 1.0, 1e-300, 1e300)
        ),
    ],
    ids=str,
)
def test_numbers_of_any_size(model, alpha, scale, rng):
    """What overflows ends a fit, with neither an error nor a bound above what w = 0 reaches."""
    X = rng.normal(size=(12, 3))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=12) > 0.0, 1, -1)
    name = "epsilon" if isinstance(model, DRSVMClassifier) else "alpha"
    model = clone(model).set_params(max_iter=20, **{name: alpha}).fit(scale * X, y)
    certificate = model.certificate_
    assert 0.0 <= certificate.dual <= certificate.primal <= 1.0 + 1e-12  # every loss at z = 0
    assert np.isfinite(model.coef_).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_raw_features_with_the_squared_hinge_loss():
    """Rows are left out and come back here at once, which products have to follow."""
    X, y = load_digits(return_X_y=True)
    model = PdproxSVC(loss="squared_hinge", alpha=1 / len(X)).fit(X, y)
    assert np.all(model.converged_)
    margins = np.where(y[:, None] == np.arange(10), 1, -1) * model.decision_function(X)
    objectives = np.mean(np.maximum(0.0, 1.0 - margins) ** 2, axis=0)
    objectives += np.abs(model.coef_).sum(axis=1) / len(X)
    for value, certificate in zip(objectives, model.certificate_, strict=True):
        assert_allclose(certificate.primal, value, rtol=1e-9)
        assert certificate.dual <= value and certificate.relative_gap <= 1e-4

    label = np.where(y == 6, 1, -1)
    theirs = LinearSVC().fit(X, y == 6)  # penalises its intercept as well
    w, b = theirs.coef_[0], theirs.intercept_[0]
    value = np.mean(np.maximum(0.0, 1.0 - label * (X @ w + b)) ** 2)
    value += (w @ w + b * b) / (2 * len(X))
    certificate = certify(theirs, X, y == 6)
    assert_allclose(certificate.primal, value, rtol=1e-9)
    assert certificate.relative_gap <= 1e-3

    X, y = load_breast_cancer(return_X_y=True)
    model = PdproxSVC(0.01, loss="squared_hinge", tol=1e-14, max_iter=100).fit(X, y)
    slack = np.maximum(0.0, 1.0 - (2 * y - 1) * (X @ model.coef_[0] + model.intercept_))
    value = np.mean(slack**2) + 0.01 * np.abs(model.coef_).sum()
    assert_allclose(model.certificate_.primal, value, rtol=1e-12)
    assert model.certificate_.dual <= value and model.certificate_.relative_gap <= 1e-12


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("case", ["lasso", "pinball", "robust"])
def test_sizes_at_which_terms_vanish(case, rng):
    """Least squares, linear programmes and powers of ten tell the optimum without a fit."""
    X, rows = rng.normal(size=(30, 4)), np.full(30, 1 / 30)
    y = X @ [1.0, -2.0, 0.0, 0.5] + rng.normal(size=30)
    if case == "lasso":  # the penalty is below rounding
        model = LassoPDCertified(0.1, max_iter=200).fit(X, 1e78 * y)
        best = np.linalg.lstsq(np.column_stack([X, np.ones(30)]), y)[1].item() / 60 * 1e156
    elif case == "pinball":  # the square of a norm is below the smallest float
        model = PdproxRegressor(0.1, loss="pinball", penalty="l2", max_iter=200)
        model.fit(X, 1e-200 * y)
        best = 1e-200 * linear_programme(X, y, rows, model._get_loss(), L1(), 0.0, True)
    else:  # flipping labels costs too much to be of use
        model = DRSVMClassifier(
            1e-100, kappa=1e300, norm=np.inf, fit_intercept=False, max_iter=200
        ).fit(1e-100 * X, np.sign(y))
        best = robust_linear_programme(
            X, np.sign(y), rows, epsilon=1.0, kappa=np.inf, norm=np.inf, fit_intercept=False
        )[0]
    certificate = model.certificate_
    assert 0.0 <= certificate.dual <= best * (1 + 1e-9)
    assert best * (1 - 1e-9) <= certificate.primal < np.inf


def test_solver_names_the_method_that_finished(cancer):
    X, y = cancer
    assert PdproxSVC(0.02).fit(X, y).solver_ == "interior-point"
    assert PdproxSVC(0.02, loss="logistic").fit(X, y).solver_ == "multipliers"
    assert PdproxSVC(100.0).fit(X, y).solver_ == "null-model"
    assert PdproxSVC(0.02, solver="pdprox-dual", tol=0.1).fit(X, y).solver_ == "pdprox-dual"
    assert DRSVMClassifier(0.02).fit(X, y).solver_ == "robust-interior-point"
    three = np.digitize(X[:, 0], [-0.5, 0.5])
    assert PdproxSVC(0.02).fit(X, three).solver_ == ["interior-point"] * 3
    outputs = np.column_stack([y, X[:, 1]])
    assert TraceNormPD(1e-3).fit(X, outputs).solver_ == "interior-point"
    model = TraceNormPD(1e-3, radius=0.1).fit(X, outputs)
    assert model.solver_ == "line-search-frank-wolfe"
