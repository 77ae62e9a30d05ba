"""Certificates of models inside of others, and of what is no model of its own."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import linear_model as lm
from sklearn.base import is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import BaggingRegressor, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC

from skpd import (
    DRSVMClassifier,
    ElasticNetPD,
    ElasticNetPDClassifier,
    ElasticNetPDCV,
    GroupLassoSVC,
    LassoPDCertifiedCV,
    PdproxRegressor,
    PdproxSVC,
    certify,
)
from skpd.losses import Hinge, Squared
from skpd.penalties import L1, SquaredL2
from skpd.solvers import METHODS
from tests.oracles.scikit_learn import VERSION


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


# Of so few alphas the best is often an end.
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
