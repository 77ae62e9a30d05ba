"""Certificates of models that scikit-learn fitted, against SciPy and exact arithmetic."""

import warnings
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn import linear_model as lm
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import (
    load_breast_cancer,
    load_iris,
    load_wine,
    make_classification,
)
from sklearn.ensemble import BaggingRegressor, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC
from sklearn.utils.class_weight import compute_sample_weight

from benchmarks import certify as random
from skpd import (
    DRSVMClassifier,
    ElasticNetPD,
    ElasticNetPDClassifier,
    ElasticNetPDCV,
    GroupLassoSVC,
    LassoPDCertifiedCV,
    MultinomialPD,
    MultiTaskPD,
    PdproxRegressor,
    PdproxSVC,
    RigorousCertificate,
    certify,
)
from skpd.certificates import dual_bound
from skpd.certificates.rigorous import rigorous_dual, rigorous_primal
from skpd.designs import Design
from skpd.losses import Absolute, Hinge, Softmax, Squared
from skpd.losses.scaled_huber import ScaledHuber
from skpd.penalties import L1, ElasticNet, SquaredL2, TotalVariation
from skpd.problems import linear_problem
from skpd.problems.output_rows import outputs_problem
from skpd.problems.structured_rows import scores_problem
from skpd.solvers import METHODS
from skpd.solvers.newton.scaled_huber import scaled_huber_bounds
from tests.oracles.optima import NotSolved
from tests.oracles.reference import concomitant_programme, linear_pieces, multinomial_programme
from tests.oracles.scikit_learn import VERSION, l1_logistic

LINEAR = ("Hinge", "EpsilonInsensitive", "Pinball", "Absolute")


def scipy_optimum(programme, arguments):
    """The optimal value by SciPy alone, or a little more: the value of a model it found.

    Positive and negative parts of W turn its l1 norm into a linear function; slack variables
    turn a piecewise-linear loss into one. What is left is smooth, under linear constraints.
    """
    by_highs = programme is random._robust_programme or programme.__name__ == "linear_programme"
    if programme is concomitant_programme or by_highs:
        return programme(*arguments)
    if programme is multinomial_programme:
        X, labels, rows, l1, l2, free = arguments
        K = int(labels.max()) + 1
        own = labels[:, None] == np.arange(K)

        def loss(Z):
            terms = logsumexp(Z, axis=1)
            slope = np.exp(Z - terms[:, None]) - own
            return rows @ (terms - Z[own]), rows[:, None] * slope
    else:
        X, y, rows, fi, penalty, strength, free = arguments
        l1, l2 = (strength * term for term in penalty.terms[:2])
        K = 1

        def loss(Z):
            z = Z[:, 0]
            return rows @ fi.value(y, z), (rows * fi.gradient(y, z))[:, None]

    n, d = X.shape
    total = rows.sum()
    linear = K == 1 and type(fi).__name__ in LINEAR
    A = np.hstack([X, -X, np.full((n, 1), float(free))])  # of w+, w-, b

    def objective(v, slack=True):
        V = v[: K * (2 * d + 1)].reshape(K, -1)
        w, gradient = V[:, :d] - V[:, d:-1], np.zeros_like(v)
        if linear and slack:
            value, G = rows @ v[-n:], np.zeros_like(V)
            gradient[-n:] = rows
        else:
            value, slopes = loss(A @ V.T)
            G = (A.T @ slopes).T
        G[:, :-1] += l1
        G[:, :d] += l2 * w
        G[:, d:-1] -= l2 * w
        gradient[: V.size] = G.ravel()
        value += l1 * np.sum(np.abs(V[:, :-1]) if slack else np.abs(w)) + l2 / 2 * np.sum(w**2)
        return value / total, gradient / total

    bounds = ([(0, None)] * (2 * d) + [(None, None)]) * K + [(None, None)] * (n * linear)
    start = np.zeros(len(bounds))
    constraints = []
    if linear:
        start[-n:] = fi.value(y, np.zeros(n)) + 1
        rows_of = [np.hstack([-s[:, None] * A, np.eye(n)]) for s, _ in linear_pieces(fi, y)]
        offsets = [offset for _, offset in linear_pieces(fi, y)]
        C, c = np.vstack(rows_of), np.concatenate(offsets)
        constraints = [{"type": "ineq", "fun": lambda v: C @ v - c, "jac": lambda v: C}]
    best = np.inf
    for _ in range(1 if linear else 3):
        found = minimize(
            objective, start, jac=True, bounds=bounds, constraints=constraints, method="SLSQP",
            options={"ftol": 1e-15, "maxiter": 1000},
        )  # fmt: skip
        start = found.x
        best = min(best, objective(start, slack=False)[0])
    if not linear:
        polished = minimize(
            objective, start, jac=True, bounds=bounds, method="L-BFGS-B",
            options={"ftol": 1e-16, "gtol": 1e-12, "maxiter": 5000, "maxfun": 10000},
        )  # fmt: skip
        best = min(best, objective(polished.x, slack=False)[0])
    if not np.isfinite(best):  # an exponential overflowed
        raise NotSolved(f"SLSQP and L-BFGS-B on {programme.__name__}")
    return best * total


BUILDERS = [build for build in random.BUILDERS if build is not random._trace_norm]


@pytest.mark.parametrize("fit", random.FITS)
@pytest.mark.parametrize("build", BUILDERS, ids=lambda build: build.__name__)
def test_against_scipy(build, fit):
    """10 models for each of 36 pairs: below the optimum, and within 1e-6 of it.

    A model is drawn anew where its solver or SciPy's gives up, which happens to few.
    """
    rng, done, drawn = np.random.default_rng(0), 0, 0
    while done < 10:
        drawn += 1
        assert drawn <= 13
        model = random.random_model(rng, build, fit)
        if model is None:
            continue
        try:
            found = random.excesses(*model, scipy_optimum, rigorous=bool(done % 2))
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
    huber = lm.HuberRegressor(alpha=0.1).fit(X, y, s)
    r, sigma = np.abs(y - huber.predict(X)), huber.scale_
    h = np.where(r < 1.35 * sigma, (r / sigma) ** 2, 2 * 1.35 * r / sigma - 1.35**2)
    own = (s * (sigma + sigma * h)).sum() + 0.1 * (huber.coef_**2).sum()
    assert_allclose(certify(huber, X, y, s).primal * 2 * S, own)
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


@pytest.mark.parametrize(
    "estimator",
    [
        PdproxSVC(penalty="linf", tol=1e-2),
        PdproxSVC(loss="logistic", penalty="l1", class_weight="balanced", tol=1e-3),
        GroupLassoSVC(alpha=0.01, groups=[[j, j + 10, j + 20] for j in range(10)], tol=1e-2),
        PdproxRegressor(loss="huber", tol=1e-2),
    ],
    ids=str,
)
def test_own_estimators(estimator, cancer, diabetes, rng):
    X, y = diabetes if isinstance(estimator, PdproxRegressor) else cancer
    s = rng.random(len(y))
    estimator.fit(X, y, s)
    certificate = certify(estimator, X, y, s, tol=1e-3)
    assert_allclose(certificate.primal, estimator.certificate_.primal, rtol=1e-11)  # rounding
    assert certificate.dual >= estimator.certificate_.dual * (1 - 1e-12)
    # its own interval holds the optimum, and so does this one
    assert certificate.relative_gap <= estimator.certificate_.relative_gap * (1 + 1e-9)
    assert certify(estimator, X, y, s, tol=np.inf).gap >= certificate.gap * (1 - 1e-9)


@pytest.mark.filterwarnings("ignore:.*end of the grid")
@pytest.mark.parametrize(
    "estimator",
    [
        LassoPDCertifiedCV(alphas=5, tol=1e-8),
        ElasticNetPDCV(l1_ratio=[0.2, 0.9], alphas=5, tol=1e-8),
        ElasticNetPD(0.1, l1_radius=20.0, tol=1e-8),
        ElasticNetPDClassifier(0.1, l1_radius=1.0, tol=1e-8, loss="smoothed_hinge"),
        DRSVMClassifier(tol=1e-8),
        DRSVMClassifier(norm=2, kappa=np.inf, alpha=0.1, tol=1e-8),
    ],
    ids=str,
)
def test_own_estimators_of_other_kinds(estimator, cancer, diabetes):
    """Two intervals that hold one optimum, of the model that was chosen."""
    data = cancer if is_classifier(estimator) else diabetes
    own = estimator.fit(*data).certificate_
    certificate = certify(estimator, *data)
    assert certificate.relative_gap <= 2e-7
    assert max(certificate.dual, own.dual) <= min(certificate.primal, own.primal) * (1 + 1e-12)


def test_cross_validated_variants(cancer, diabetes):
    for estimator in (
        lm.LassoCV(cv=3, tol=1e-10), lm.ElasticNetCV(cv=3, l1_ratio=[0.3, 0.9], tol=1e-10),
        lm.RidgeCV(), lm.LassoLarsCV(cv=3), lm.LassoLarsIC(), lm.LassoLars(0.1),
    ):  # fmt: skip
        assert certify(estimator.fit(*diabetes), *diabetes).relative_gap <= 1e-8
    of_1_8 = {"l1_ratios": (0,), "use_legacy_attributes": False} if VERSION >= (1, 8) else {}
    estimator = lm.LogisticRegressionCV(
        Cs=[0.1, 1.0], cv=3, tol=1e-10, max_iter=1000, scoring="accuracy", **of_1_8
    )
    assert certify(estimator.fit(*cancer), *cancer).relative_gap <= 1e-8
    assert certify(lm.RidgeClassifierCV().fit(*cancer), *cancer).relative_gap <= 1e-8


def test_pipelines_and_searches(cancer):
    X, y = load_breast_cancer(return_X_y=True)
    svc = LinearSVC(loss="hinge", C=0.1, random_state=0)
    alone = certify(svc.fit(*cancer), *cancer)
    pipeline = make_pipeline(StandardScaler(), LinearSVC(loss="hinge", C=0.1, random_state=0))
    assert certify(pipeline.fit(X, y), X, y) == alone
    assert certify(pipeline[-1], *cancer) == alone
    search = GridSearchCV(pipeline, {"linearsvc__C": [0.1]}, cv=3).fit(X, y)
    assert certify(search, X, y) == alone


@pytest.mark.parametrize("wrap", [
    make_pipeline,
    lambda model: make_pipeline(GridSearchCV(model, {"alpha": [0.1, 1.0]}, cv=3)),
    lambda model: GridSearchCV(make_pipeline(model), {"lasso__alpha": [0.1, 1.0]}, cv=3),
    lambda model: make_pipeline("passthrough", make_pipeline(model)),
])  # fmt: skip
def test_wrappers_within_each_other(wrap, diabetes):
    """None of them changes the data here: the certificate is that of the model alone."""
    found = certify(wrap(lm.Lasso(alpha=0.1)).fit(*diabetes), *diabetes)
    assert found == certify(lm.Lasso(alpha=0.1).fit(*diabetes), *diabetes)


def test_a_search_without_a_model(diabetes):
    search = GridSearchCV(lm.Lasso(), {"alpha": [1.0]}, cv=3, refit=False)
    with pytest.raises(NotFittedError):
        certify(search, *diabetes)
    with pytest.raises(ValueError, match="refit=False and holds no model: refit must be True"):
        certify(search.fit(*diabetes), *diabetes)


@pytest.mark.parametrize("estimator, where", [
    (SVC(), None),
    (RandomForestClassifier(n_estimators=2), None),
    (lm.RANSACRegressor(lm.Ridge(), min_samples=0.5, random_state=0), "estimator_"),
    (TransformedTargetRegressor(lm.Lasso()), "regressor_"),
    (MultiOutputRegressor(lm.Lasso()), "estimators_[0]"),
    (BaggingRegressor(lm.Lasso(), n_estimators=2), "estimators_[0]"),
    (CalibratedClassifierCV(LinearSVC()), "calibrated_classifiers_[0].estimator"),
    (CalibratedClassifierCV(make_pipeline(LinearSVC())), "calibrated_classifiers_[0].estimator"),
], ids=str)  # fmt: skip
def test_models_without_coefficients_are_not_called_unfitted(estimator, where, cancer, diabetes):
    X, y = cancer if is_classifier(estimator) else diabetes
    y = np.column_stack([y, y]) if isinstance(estimator, MultiOutputRegressor) else y
    with pytest.raises(NotFittedError):
        certify(estimator, X, y)
    with pytest.raises(TypeError, match=r"which has no coef_.*LinearSVC, LinearSVR") as caught:
        certify(estimator.fit(X, y), X, y)
    module = type(estimator).__module__.rsplit("._", 1)[0]
    message = str(caught.value)
    assert f"got {module}.{type(estimator).__name__}, which" in message
    assert ("pass that" in message) == (where is not None)
    if where is not None:
        assert f"It holds one, estimator.{where}: pass that" in message
        inner = eval(f"estimator.{where}")
        assert certify(inner, X, y.T[0] if y.ndim > 1 else y).gap >= 0.0


def test_classes_of_the_same_name_are_named_with_their_module(diabetes):
    namesake = type("Lasso", (lm.Lasso,), {"__module__": "elsewhere.linear"})
    model = namesake(alpha=0.1).fit(*diabetes)
    with pytest.raises(TypeError, match=r"what elsewhere\.linear\.Lasso minimises"):
        certify(model, *diabetes)
    found = certify(model, *diabetes, loss="squared", penalty="l1", alpha=0.1)
    assert found == certify(lm.Lasso(alpha=0.1).fit(*diabetes), *diabetes)


def test_one_certificate_for_each_class_or_target(rng):
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    svc = LinearSVC(C=0.1, random_state=0, tol=1e-10, max_iter=100_000)
    found = certify(svc.fit(X, y), X, y)
    each = [certify(svc.fit(X, y == k), X, y == k) for k in range(3)]
    assert_allclose([c.dual for c in found], [c.dual for c in each], rtol=1e-6)
    wrapped = certify(OneVsRestClassifier(svc).fit(X, y), X, y)
    assert_allclose([c.dual for c in wrapped], [c.dual for c in each], rtol=1e-6)
    Y = rng.normal(size=(len(y), 2))
    for estimator in (lm.Ridge(alpha=np.array([1.0, 2.0])), lm.Lasso(alpha=0.01, tol=1e-10)):
        assert len(certify(estimator.fit(X, Y), X, Y)) == 2
        assert all(c.relative_gap <= 1e-8 for c in certify(estimator, X, Y))


def test_objective_by_hand(cancer):
    """libsvm's linear SVC: hinge loss, squared l2, a free intercept and C."""
    X, y = cancer
    clf = SVC(kernel="linear", C=0.1, tol=1e-8).fit(X, y)
    with pytest.raises(TypeError, match=r"loss=Hinge\(\), penalty=L1\(\), alpha"):
        certify(NuSVC(kernel="linear").fit(X, y), X, y)
    alpha = 1 / (0.1 * len(y))
    certificate = certify(clf, X, y, loss="hinge", penalty="l2", alpha=alpha)
    assert certificate.relative_gap <= 1e-6
    same = certify(clf, X, y, loss=Hinge(), penalty=SquaredL2(), alpha=alpha, fit_intercept=True)
    assert certificate == same == certify(clf, X, y)
    with pytest.raises(ValueError, match="intercept must be 0"):
        certify(clf, X, y, loss="hinge", penalty="l1", alpha=alpha, fit_intercept=False)
    known = lm.Lasso(alpha=1.0).fit(X, y)
    other = certify(known, X, y, loss=Squared(), penalty=L1(), alpha=0.1)
    assert_allclose(other.primal, np.var(y) / 2)  # alpha = 1 left no coefficient
    with pytest.raises(TypeError, match="given together"):
        certify(known, X, y, alpha=0.1)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "estimator, message",
    [
        (lm.HuberRegressor(alpha=0.0), "alpha must be in"),
        (lm.SGDClassifier(loss="perceptron"), "'perceptron'"),
    ],
    ids=str,
)
def test_refusals_name_the_parameter(estimator, message, cancer):
    with pytest.raises(ValueError, match=message):
        certify(estimator.fit(*cancer), *cancer)


class OwnLasso(lm.Lasso):
    """An estimator that may minimise something else."""


def test_data_that_does_not_fit(cancer):
    X, y = cancer
    clf = LinearSVC(random_state=0)
    with pytest.raises(NotFittedError):
        certify(clf, X, y)
    clf.fit(X, y)
    with pytest.raises(ValueError, match="coef_ of LinearSVC has shape"):
        certify(clf, X[:, :5], y)
    with pytest.raises(ValueError, match="classes that LinearSVC was fitted with"):
        certify(clf, X, y + 1)
    with pytest.raises(ValueError, match=r"(?i)sample.weight"):
        certify(clf, X, y, np.zeros(len(y)))
    with pytest.raises(ValueError, match="tol must be"):
        certify(clf, X, y, tol=-1.0)
    own = PdproxSVC(tol=0.1).fit(X, y)
    with pytest.raises(ValueError, match="classes that PdproxSVC"):
        certify(own, X, y + 1)
    with pytest.raises(TypeError, match="Perceptron"):
        certify(lm.Perceptron().fit(X, y), X, y)
    with pytest.raises(TypeError, match="OwnLasso"):  # a subclass of a known one
        certify(OwnLasso().fit(X, y), X, y)


def test_a_bound_that_was_not_reached_warns(diabetes):
    estimator = lm.QuantileRegressor(alpha=0.01).fit(*diabetes)
    with pytest.warns(ConvergenceWarning, match="Increase max_iter"):
        certify(estimator, *diabetes, max_iter=1, tol=1e-12)


def test_ctrl_c(monkeypatch, cancer):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setitem(METHODS, "auto", METHODS["auto"]._replace(run=interrupted))
    clf = LinearSVC(loss="hinge", max_iter=10, random_state=0)
    with pytest.warns(ConvergenceWarning):
        clf.fit(*cancer)
    with pytest.raises(KeyboardInterrupt):
        certify(clf, *cancer)


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
            optimum = scipy_optimum(multinomial_programme, arguments) / 60
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


def test_concomitant_weak_duality(diabetes, rng):
    X, y = diabetes
    n = len(y)
    loss = ScaledHuber(y, np.full(n, 1 / n), 1.35)
    problem = scores_problem(Design(X), loss, SquaredL2(), 1e-3, fit_intercept=True)
    optimum = concomitant_programme(X, y, np.full(n, 1 / n), 1.35, 1e-3, True)
    for scale in (0.1, 1.0, 100.0):
        assert (
            rigorous_dual(problem, loss.dual_point(scale * rng.normal(size=n)), 1e9)[0] <= optimum
        )
    upper, lower, _ = scaled_huber_bounds(problem, np.zeros(10), 0.0, 1e-9, 100)
    assert_allclose([upper, lower], optimum, rtol=1e-8)


# Rigour, in exact arithmetic


def exact_solution(A, b):
    """Gaussian elimination in rational numbers."""
    n = len(b)
    rows = [[*A[i], b[i]] for i in range(n)]
    for i in range(n):
        pivot = next(k for k in range(i, n) if rows[k][i] != 0)
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [v / rows[i][i] for v in rows[i]]
        for k in range(n):
            if k != i:
                rows[k] = [u - rows[k][i] * v for u, v in zip(rows[k], rows[i], strict=True)]
    return [row[-1] for row in rows]


def exact(values):
    return [Fraction(float(v)) for v in values]


def exact_ridge(X, y, s, alpha, w, b):
    """sum_i s_i r_i^2 + alpha ||w||^2 over 2 sum(s), in rational numbers."""
    total = sum(exact(s))
    value = alpha * sum(v * v for v in w)
    for row, target, weight in zip(X, y, s, strict=True):
        z = sum(x * v for x, v in zip(exact(row), w, strict=True)) + b
        value += Fraction(weight) * (z - Fraction(target)) ** 2
    return value / (2 * total)


@pytest.mark.parametrize("column, offset", [(1.0, 0.0), (1e8, 0.0), (1e-7, 1e6), (3e3, -1e9)])
@pytest.mark.parametrize("free", [True, False])
def test_rigorous_ridge_against_the_exact_optimum(column, offset, free, rng):
    for _ in range(3):
        n, d = 9, 3
        X = rng.normal(size=(n, d)) * [1.0, column, 1.0]
        y, s = rng.normal(size=n) + offset, rng.random(n) / 3
        alpha = float(10.0 ** rng.uniform(-3, 1))
        estimator = lm.Ridge(alpha=alpha, fit_intercept=free, solver="svd").fit(X, y, s)
        certificate = certify(estimator, X, y, s, rigorous=True)
        # the normal equations
        rows = [exact(row) + ([Fraction(1)] if free else []) for row in X]
        m, weights, targets = d + free, exact(s), exact(y)
        A = [
            [sum(c * r[j] * r[k] for c, r in zip(weights, rows, strict=True)) for k in range(m)]
            for j in range(m)
        ]
        for j in range(d):
            A[j][j] += Fraction(alpha)
        g = [
            sum(c * r[j] * t for c, r, t in zip(weights, rows, targets, strict=True))
            for j in range(m)
        ]
        best = exact_solution(A, g)
        b = best[d] if free else Fraction(0)
        optimum = exact_ridge(X, y, s, Fraction(alpha), best[:d], b)
        model = exact_ridge(
            X, y, s, Fraction(alpha), exact(estimator.coef_), Fraction(float(estimator.intercept_))
        )
        assert isinstance(certificate, RigorousCertificate)
        assert Fraction(certificate.dual) <= optimum
        assert Fraction(certificate.primal) >= model
        assert certificate.rounding >= 0
        assert certificate.gap >= float(model - optimum)


def exact_hinge(X, y, c, strength, w, b, column):
    """(sum_i c_i hinge_i + strength ||w||_1 or ||.||^2 / 2 of (w, b / column)) / sum(c)."""
    value = Fraction(0)
    for row, target, weight in zip(X, y, c, strict=True):
        z = sum(x * v for x, v in zip(exact(row), w, strict=True)) + b
        value += weight * max(Fraction(0), 1 - Fraction(int(target)) * z)
    square = sum(v * v for v in w) + (b / column) ** 2
    return (value + strength * square / 2) / sum(c)


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e7])
def test_rigorous_hinge_in_rational_numbers(scale, rng):
    """liblinear's objective with awkward C, weights, weights of classes and intercept column."""
    for _ in range(4):
        n = 12
        X = rng.normal(size=(n, 2)) * scale
        y = np.where(rng.random(n) < 0.5, 1, -1)
        y[:2] = [1, -1]
        s, C = rng.random(n) + 0.01, float(rng.random() / scale**2 + 1e-3)
        clf = LinearSVC(
            loss="hinge", C=C, intercept_scaling=0.3, class_weight={1: 0.7, -1: 1.3}, tol=1e-10,
            max_iter=100_000, random_state=0,
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            clf.fit(X, y, s)
            certificate = certify(clf, X, y, s, rigorous=True, tol=1e-10, max_iter=500)
        c = [
            Fraction(C) * v * Fraction(0.7 if t > 0 else 1.3)
            for v, t in zip(exact(s), y, strict=True)
        ]
        model = exact_hinge(
            X, y, c, 1, exact(clf.coef_[0]), Fraction(float(clf.intercept_[0])), Fraction(0.3)
        )
        assert Fraction(certificate.dual) <= model
        assert Fraction(certificate.primal) * (1 + Fraction(1, 2**50)) >= model


def test_rigorous_bounds_where_digits_cancel(rng):
    """An l1 problem whose optimum is known exactly, and whose products cancel."""
    for _ in range(20):
        n = int(rng.integers(2, 30))
        x, c = rng.normal(size=n), rng.random(n)
        weights = c / c.sum()
        X = np.column_stack([x, x * (1 + 2.0**-50), x * 1e-9])
        y = x * float(rng.normal()) * 1e5
        alpha = float(rng.random() * 1e-3)
        problem = linear_problem(Design(X), y, weights, Absolute(), L1(), alpha, False)
        for theta in (np.sign(rng.normal(size=n)), rng.uniform(-1, 1, n), -np.sign(y)):
            upper = rigorous_primal(problem, np.zeros(3), 0.0)[0]
            value, rounding = rigorous_dual(problem, theta, upper, np.zeros(3))
            cs, t = exact(c), exact(theta)
            total = sum(cs)
            u = [
                abs(sum(w * v * f for w, v, f in zip(cs, t, exact(X[:, j]), strict=True))) / total
                for j in range(3)
            ]
            linear = sum(w * v * f for w, v, f in zip(cs, t, exact(y), strict=True)) / total
            at_zero = sum(w * abs(f) for w, f in zip(cs, exact(y), strict=True)) / total
            excess = max(max(u) - Fraction(alpha), 0)
            best = max(-linear - at_zero / Fraction(alpha) * excess, Fraction(0))
            assert Fraction(value) <= best
            assert float(best) - value <= rounding + 1e-9 * float(at_zero)
            assert Fraction(upper) >= at_zero


def decimal_logistic(X, y, c, strength, w, b):
    """(sum_i c_i log(1 + exp(-y z)) + strength ||w||^2 / 2) / sum(c) to 60 digits."""
    with localcontext() as context:
        context.prec = 80

        def number(v):
            return Decimal(float(v))  # exact

        value = number(strength) * sum(number(v) ** 2 for v in w) / 2
        for row, target, weight in zip(X, y, c, strict=True):
            z = sum(number(x) * number(v) for x, v in zip(row, w, strict=True)) + number(b)
            value += number(weight) * (1 + (-int(target) * z).exp()).ln()
        return Fraction(value / sum(number(v) for v in c))


@pytest.mark.parametrize("scale", [1e-8, 1.0, 30.0])
def test_rigorous_logistic_in_long_decimals(scale, rng):
    for _ in range(4):
        n = 25
        X = rng.normal(size=(n, 2)) * scale
        y = np.where(rng.random(n) < 0.3, 1, -1)
        y[:2] = [1, -1]
        s = rng.random(n) + 0.01
        clf = lm.LogisticRegression(C=1.0, tol=1e-14, solver="newton-cholesky").fit(X, y, s)
        certificate = certify(clf, X, y, s, rigorous=True, tol=1e-11)
        model = decimal_logistic(X, y, s, 1.0, clf.coef_[0], clf.intercept_[0])
        assert Fraction(certificate.dual) <= model <= Fraction(certificate.primal)
        assert certificate.relative_gap <= 1e-10
        assert 0 < certificate.rounding <= 1e-12 * certificate.primal


def test_rigorous_is_not_tighter(cancer, diabetes):
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    for estimator, data in (
        (lm.LogisticRegression(tol=1e-8), (X, y)),
        (lm.HuberRegressor(), diabetes),
        (lm.Lasso(alpha=1.0), diabetes),
        (LinearSVC(loss="hinge", C=0.01, random_state=0, max_iter=10**5), cancer),
        (l1_logistic(1.0, solver="liblinear", tol=1e-4), cancer),
        (PdproxRegressor(5.0, penalty=TotalVariation(), loss="squared", tol=1e-10), diabetes),
        (DRSVMClassifier(tol=1e-8), cancer),
        (DRSVMClassifier(norm=1, kappa=np.inf, tol=1e-8), cancer),
        (DRSVMClassifier(norm=np.inf, alpha=0.1, tol=1e-8), cancer),
    ):
        estimator.fit(*data)
        plain, rigorous = certify(estimator, *data), certify(estimator, *data, rigorous=True)
        assert rigorous.primal >= plain.primal * (1 - 1e-13)
        assert_allclose(rigorous.dual, plain.dual, rtol=1e-11)
        assert 0 < rigorous.rounding <= 1e-11 * rigorous.primal


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


def test_linear_svr_of_both_losses(diabetes):
    for loss in ("epsilon_insensitive", "squared_epsilon_insensitive"):
        svr = LinearSVR(loss=loss, C=0.01, epsilon=1.0, tol=1e-10, max_iter=10**6, dual=True)
        assert certify(svr.fit(*diabetes), *diabetes).relative_gap <= 1e-6


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("rigorous", [False, True])
@pytest.mark.parametrize("alpha", [1e-300, 1e-3, 1e300])
@pytest.mark.parametrize("scale", [1e-300, 1e160, 1e300])
@pytest.mark.parametrize("model", [lm.Ridge(), lm.HuberRegressor()], ids=str)
def test_data_of_any_size(model, scale, alpha, rigorous, rng):
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    model = clone(model).fit(X, y).set_params(alpha=alpha)
    found = certify(model, scale * X, y, max_iter=20, rigorous=rigorous)
    assert 0.0 <= found.dual <= found.primal
    # what w = 0 reaches, with the standard deviation for the scale of HuberRegressor
    reached = 0.5 * np.var(y) if isinstance(model, lm.Ridge) else np.std(y)
    assert found.dual <= reached * (1.0 + 1e-12)


@pytest.mark.parametrize("offset", [0.0, 1e4])
@pytest.mark.parametrize("seed", range(4))
def test_huber_of_data_that_a_model_fits_exactly(seed, offset):
    """With as many rows as unknowns the scale is 0 at the optimum, and the rest a formula."""
    rng, alpha = np.random.default_rng(seed), 1e-6
    X = rng.standard_normal((7, 6)) + offset
    y = X[:, 0] - offset + rng.standard_normal(7)
    model = lm.HuberRegressor(alpha=alpha).fit(X, np.zeros(7))
    interpolant = np.linalg.solve(np.column_stack([X - offset, np.ones(7)]), y)[:6]
    expected = alpha * np.sum(interpolant**2) / 2.0 / 7.0
    assert certify(model, X, y).dual == pytest.approx(expected, rel=0.0, abs=1e-7)
