"""Certificates of models that scikit-learn fitted, against independent solvers and formulas."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn import linear_model as lm
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC
from sklearn.utils.class_weight import compute_sample_weight

from benchmarks import certify as random
from skpd import MultinomialPD, MultiTaskPD, certify
from skpd.certificates import dual_bound
from skpd.certificates.rigorous import rigorous_dual
from skpd.designs import Design
from skpd.losses import Huber, Softmax
from skpd.penalties import L1, ElasticNet, SquaredL2
from skpd.problems.output_rows import outputs_problem
from tests.oracles.optima import NotSolved
from tests.oracles.reference import multinomial_programme

BUILDERS = [build for build in random.BUILDERS if build is not random._trace_norm]


@pytest.mark.parametrize("fit", random.FITS)
@pytest.mark.parametrize("build", BUILDERS, ids=lambda build: build.__name__)
def test_against_independent_solvers(build, fit):
    """10 models for each of 36 pairs: below the optimum, and within 1e-6 of it.

    By HiGHS for linear programmes, else by Clarabel. A model is drawn anew where its solver
    or these give up, which happens to few.
    """
    rng, done, drawn = np.random.default_rng(0), 0, 0
    while done < 10:
        drawn += 1
        assert drawn <= 13
        model = random.random_model(rng, build, fit)
        if model is None:
            continue
        try:
            found = random.excesses(*model, rigorous=bool(done % 2))
        except NotSolved:
            continue
        done += 1
        assert found
        for above, short, gap in found:
            assert above <= 1e-9
            assert short <= 1e-6
            assert gap >= 0


# The plateau of liblinear


def test_plateau_on_a9a(skpd_data):
    """At C = 1, where the optimum of the mean hinge loss is known to eight digits."""
    X, y = skpd_data("a9a", 123)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    optimum = 0.35115039
    clf = LinearSVC(loss="hinge", C=1.0, tol=1e-12, fit_intercept=False, random_state=0)
    with pytest.warns(ConvergenceWarning):
        clf.fit(X, y)
    certificate = certify(clf, X, y)
    margins = y * (X @ clf.coef_[0])
    objective = np.maximum(1 - margins, 0).mean() + (clf.coef_**2).sum() / 2 / len(y)
    assert_allclose(certificate.primal, objective, rtol=1e-12)
    assert_allclose(certificate.dual, optimum, atol=1e-7)
    assert_allclose(certificate.gap, objective - optimum, atol=1e-7)
    assert certificate.gap > 1e-6


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_no_gap_where_there_is_no_plateau(cancer):
    for C in (1e-3, 1e-2):
        clf = LinearSVC(
            loss="hinge", C=C, tol=1e-12, max_iter=10**6, fit_intercept=False, random_state=0
        ).fit(*cancer)
        assert certify(clf, *cancer).relative_gap <= 1e-6


# Estimators and what wraps them


def test_objectives_in_their_own_units(cancer, diabetes, rng):
    """The factors of the documentation, with weights that make them differ."""
    X, y = diabetes
    s = rng.random(len(y)) + 0.5
    S = s.sum()
    ridge = lm.Ridge(alpha=3.0).fit(X, y, s)
    own = (s * (y - ridge.predict(X)) ** 2).sum() + 3.0 * (ridge.coef_**2).sum()
    assert_allclose(certify(ridge, X, y, s).primal * 2 * S, own)
    for positive in (False, True):
        squares = lm.LinearRegression(positive=positive).fit(X, y, s)
        own = (s * (y - squares.predict(X)) ** 2).sum()
        certificate = certify(squares, X, y, s)
        assert_allclose(certificate.primal * 2 * S, own)
        assert certificate.relative_gap <= 1e-9
        squares.coef_ = squares.coef_ + (np.abs(squares.coef_) > 1.0)
        assert (
            certify(squares, X, y, s).dual <= certificate.primal < certify(squares, X, y, s).primal
        )
    X, y = cancer
    s = rng.random(len(y)) + 0.5
    S, sign = s.sum(), 2.0 * y - 1
    svc = LinearSVC(C=0.1, intercept_scaling=3.0).fit(X, y, s)
    slack = np.maximum(1 - sign * svc.decision_function(X), 0)
    own = 0.1 * (s * slack**2).sum() + (svc.coef_**2).sum() / 2 + (svc.intercept_[0] / 3) ** 2 / 2
    assert_allclose(certify(svc, X, y, s).primal * 0.1 * S, own)
    sgd = lm.SGDClassifier(loss="log_loss", alpha=0.1, penalty="l1").fit(X, y, sample_weight=s)
    loss = np.logaddexp(0, -sign * sgd.decision_function(X))
    own = (s * loss).sum() / len(y) + 0.1 * np.abs(sgd.coef_).sum()
    assert_allclose(certify(sgd, X, y, s).primal * S / len(y), own)


# The two problems of their own


def test_multinomial_weak_duality(rng):
    """Any probabilities give a bound below any model; those of the optimum a tight one."""
    X, y = make_classification(60, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=0)
    for penalty in (L1(), SquaredL2(), ElasticNet(l1_ratio=0.5)):
        for free in (True, False):
            classes = y[:, np.newaxis] == np.arange(3)
            problem = outputs_problem(
                Design(X), classes, np.full(60, 1 / 60), Softmax(3), penalty, alpha=0.05,
                fit_intercept=free,
            )  # fmt: skip
            l1, l2 = (0.05 * term * 60 for term in penalty.terms[:2])
            arguments = (X, y, np.ones(60), l1, l2, free)
            optimum = multinomial_programme(*arguments) / 60
            for scale in (0.1, 1.0, 100.0):
                p = np.exp(scale * rng.normal(size=(60, 3)))
                p /= p.sum(axis=1, keepdims=True)
                theta = np.ravel(p - classes)
                assert rigorous_dual(problem, theta, np.log(3.0))[0] <= optimum
                assert dual_bound(problem, theta, np.log(3.0)).value <= optimum


def test_several_outputs(rng):
    """The objective of scikit-learn's estimators is theirs, and its least value is certified."""
    X = rng.normal(size=(60, 8)) + 1.0
    Y = X[:, :3] @ rng.normal(size=(3, 2)) + rng.normal(size=(60, 2))
    fits = [
        lm.MultiTaskLasso(0.1, tol=1e-10), lm.MultiTaskElasticNet(0.1, l1_ratio=0.3, tol=1e-10),
        lm.MultiTaskLassoCV(alphas=3, cv=3, tol=1e-10),
        lm.MultiTaskElasticNetCV(alphas=3, cv=3, l1_ratio=[0.3, 0.9], tol=1e-10),
    ]  # fmt: skip
    for estimator in fits:
        estimator.fit(X, Y)
        alpha = getattr(estimator, "alpha_", None) or estimator.alpha
        ratio = getattr(estimator, "l1_ratio_", getattr(estimator, "l1_ratio", 1.0))
        ratio = 1.0 if isinstance(estimator, lm.MultiTaskLassoCV) else ratio
        norms = np.linalg.norm(estimator.coef_, axis=0)
        objective = 0.5 * np.sum((Y - estimator.predict(X)) ** 2) / 60
        objective += alpha * (ratio * norms.sum() + 0.5 * (1.0 - ratio) * norms @ norms)
        for rigorous in (False, True):
            certificate = certify(estimator, X, Y, rigorous=rigorous)
            assert_allclose(certificate.primal, objective, rtol=1e-12)
            assert certificate.relative_gap < 1e-6


def test_matrix_models_by_hand(rng):
    """Of all outputs together, where the loss or the penalty ties them."""
    X = rng.normal(size=(50, 6))
    Y = X[:, :2] @ rng.normal(size=(2, 3)) + rng.normal(size=(50, 3))
    for loss, penalty in (("l2_norm", "l1"), ("absolute", "l1inf"), ("squared", "trace")):
        model = MultiTaskPD(0.1, loss=loss, penalty=penalty, tol=1e-8).fit(X, Y)
        found = certify(model, X, Y, loss=loss, penalty=penalty, alpha=0.1)
        assert_allclose(found.primal, model.certificate_.primal, rtol=1e-10)
        assert found.relative_gap < 1e-6
    labels = np.argmax(Y, axis=1)
    for loss in ("softmax", "crammer_singer"):
        model = MultinomialPD(0.1, loss=loss, tol=1e-8).fit(X, labels)
        found = certify(model, X, labels, loss=loss, penalty="l2", alpha=0.1)
        assert_allclose(found.primal, model.certificate_.primal, rtol=1e-10)
        assert found.relative_gap < 1e-6
    with pytest.raises(ValueError, match="beside this loss"):
        certify(model, X, labels, loss="softmax", penalty="linf", alpha=0.1)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_crammer_singer(n_classes, fit_intercept):
    X, y = make_classification(
        80, 5, n_informative=4, n_redundant=0, n_classes=n_classes, random_state=0
    )
    svc = LinearSVC(
        multi_class="crammer_singer", C=0.3, fit_intercept=fit_intercept, intercept_scaling=2.0,
        tol=1e-8, max_iter=100_000, random_state=0,
    ).fit(X, y)  # fmt: skip
    scores = svc.decision_function(X)
    coef, intercept = svc.coef_, svc.intercept_
    if n_classes == 2:
        scores = np.column_stack([-0.5 * scores, 0.5 * scores])
        coef, intercept = np.vstack([-0.5 * coef, 0.5 * coef]), 0.5 * np.r_[-intercept, intercept]
    own = scores[np.arange(80), y]
    losses = np.max(scores + (np.arange(n_classes) != y[:, None]), axis=1) - own
    square = np.sum(coef**2) + np.sum((intercept / 2.0) ** 2)
    for rigorous in (False, True):
        certificate = certify(svc, X, y, rigorous=rigorous)
        assert_allclose(certificate.primal, losses.mean() + 0.5 * square / (0.3 * 80), rtol=1e-9)
        assert certificate.relative_gap < 1e-5


# Rigour, in exact arithmetic


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 3.0, 1: 1.0, 2: 0.1}])
def test_svc_of_libsvm_by_pairs(class_weight, rng):
    """Its own C sum_i s_i max(0, 1 - y_i f(x_i)) + w.w / 2, from what it predicts for a pair."""
    X, y = load_iris(return_X_y=True)
    X = X + rng.normal(size=X.shape)
    s = rng.random(150) * (rng.random(150) < 0.9)
    svc = SVC(kernel="linear", C=0.7, tol=1e-8, class_weight=class_weight)
    svc.set_params(decision_function_shape="ovo").fit(X, y, sample_weight=s)
    found = certify(svc, X, y, s)
    each = s * compute_sample_weight(class_weight, y)
    for k, (one, other) in enumerate(((0, 1), (0, 2), (1, 2))):
        rows = np.isin(y, (one, other))
        margins = np.where(y == one, 1.0, -1.0) * svc.decision_function(X)[:, k]
        total = 0.7 * each[rows].sum()
        own = 0.7 * each[rows] @ np.maximum(0.0, 1.0 - margins[rows])
        own += 0.5 * svc.coef_[k] @ svc.coef_[k]
        assert found[k].primal * total == pytest.approx(own, rel=1e-9)
        assert found[k].gap <= 1e-5 * found[k].primal
    two = y < 2
    binary = clone(svc).set_params(class_weight=None).fit(X[two], y[two])
    assert certify(binary, X[two], y[two]).relative_gap <= 1e-5
    sparse = clone(binary).fit(sp.csr_array(X[two]), y[two])
    assert certify(sparse, sp.csr_array(X[two]), y[two]).relative_gap <= 1e-5


def test_svr_of_libsvm_and_what_has_no_coefficients(diabetes):
    X, y = diabetes
    svr = SVR(kernel="linear", C=0.01, epsilon=1.0, tol=1e-8).fit(X, y)
    assert certify(svr, X, y).relative_gap <= 1e-5
    with pytest.raises(TypeError, match=r"SVC, which has no coef_"):
        certify(SVC().fit(X, y > 100.0), X, y > 100.0)
    with pytest.raises(TypeError, match=r"does not know what .*NuSVC minimises"):
        certify(NuSVC(kernel="linear").fit(X, y > 100.0), X, y > 100.0)
    huber = lm.HuberRegressor(epsilon=1.5, alpha=2.0, tol=1e-8, max_iter=10_000).fit(X, y)
    with pytest.raises(TypeError, match=r"PdproxRegressor\(loss='huber', delta=epsilon \* s"):
        certify(huber, X, y)
    s = huber.scale_
    parts = {"loss": Huber(1.5 * s), "penalty": SquaredL2(), "alpha": 2.0 * s / len(y)}
    assert certify(huber, X, y, **parts).relative_gap <= 1e-4


def test_linear_svr_of_both_losses(diabetes):
    for loss in ("epsilon_insensitive", "squared_epsilon_insensitive"):
        svr = LinearSVR(loss=loss, C=0.01, epsilon=1.0, tol=1e-10, max_iter=10**6, dual=True)
        assert certify(svr.fit(*diabetes), *diabetes).relative_gap <= 1e-6


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("rigorous", [False, True])
@pytest.mark.parametrize("alpha", [1e-300, 1e-3, 1e300])
@pytest.mark.parametrize("scale", [1e-300, 1e160, 1e300])
def test_data_of_any_size(scale, alpha, rigorous, rng):
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    model = lm.Ridge().fit(X, y).set_params(alpha=alpha)
    found = certify(model, scale * X, y, max_iter=20, rigorous=rigorous)
    assert 0.0 <= found.dual <= found.primal
    assert found.dual <= 0.5 * np.var(y) * (1.0 + 1e-12)  # what w = 0 reaches
