"""Models without a penalty, alpha=0, against other packages."""

import numpy as np
import pytest
import scipy.sparse as sp
import statsmodels.api as sm
from numpy.testing import assert_allclose
from scipy.optimize import linprog
from sklearn.linear_model import (
    GammaRegressor,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    QuantileRegressor,
    Ridge,
    SGDClassifier,
    TweedieRegressor,
)
from sklearn.metrics import log_loss
from sklearn.preprocessing import OneHotEncoder

from skpd import (
    CoxPD,
    ElasticNetPD,
    ElasticNetPDClassifier,
    GammaPD,
    LogisticPD,
    MultinomialPD,
    OrdinalPD,
    PdproxRegressor,
    PdproxSVC,
    PoissonPD,
    RowBlocks,
    TweediePD,
    certify,
)

EXACT = {"tol": 1e-11, "max_iter": 10_000}
CASES = {
    "logistic": (LogisticPD(0, tol=1e-9), LogisticRegression(C=np.inf, **EXACT), "labels"),
    "margins": (
        PdproxSVC(0, loss="logistic", tol=1e-9), LogisticRegression(C=np.inf, **EXACT), "labels",
    ),
    "elastic net": (
        ElasticNetPDClassifier(0, loss="logistic", tol=1e-9),
        LogisticRegression(C=np.inf, **EXACT), "labels",
    ),
    "counts": (PoissonPD(0, tol=1e-9), PoissonRegressor(alpha=0, **EXACT), "counts"),
    "costs": (GammaPD(0, tol=1e-9), GammaRegressor(alpha=0, **EXACT), "costs"),
    "both": (
        TweediePD(0, power=1.5, tol=1e-9), TweedieRegressor(alpha=0, power=1.5, **EXACT), "counts",
    ),
    "medians": (
        PdproxRegressor(0, loss="pinball", tol=1e-9), QuantileRegressor(alpha=0), "numbers",
    ),
}  # fmt: skip
LAYOUTS = [np.asarray, sp.csr_array, lambda X: RowBlocks(np.array_split(X, 3))]


@pytest.fixture
def data(rng):
    X = rng.normal(size=(300, 4))
    score = X[:, 0] - 0.5 * X[:, 1]
    return X, {
        "labels": (score + rng.logistic(size=300) > 0.0).astype(int),
        "counts": rng.poisson(np.exp(0.5 * score)).astype(float),
        "costs": rng.gamma(2.0, np.exp(0.5 * score)),
        "numbers": score + rng.normal(size=300),
    }


@pytest.mark.parametrize("layout", LAYOUTS, ids=["dense", "sparse", "blocks"])
@pytest.mark.parametrize("name", CASES)
def test_coefficients_are_those_of_scikit_learn(name, layout, data):
    X, targets = data
    ours, theirs, kind = CASES[name]
    ours.fit(layout(X), targets[kind])
    theirs.fit(X, targets[kind])
    assert ours.converged_
    assert_allclose(np.ravel(ours.coef_), np.ravel(theirs.coef_), atol=1e-6)
    assert_allclose(np.ravel(ours.intercept_), np.ravel(theirs.intercept_), atol=1e-6)
    certificate = certify(theirs, X, targets[kind])
    assert 0.0 <= certificate.gap <= 1e-8
    assert ours.certificate_.dual <= certificate.primal


def test_certify_takes_least_squares_and_stochastic_gradients(data):
    X, targets = data
    ridge = Ridge(alpha=0).fit(X, targets["numbers"])
    assert certify(ridge, X, targets["numbers"]).gap <= 1e-12
    sgd = SGDClassifier(loss="log_loss", penalty=None, random_state=0).fit(X, targets["labels"])
    best = certify(LogisticPD(0, tol=1e-9).fit(X, targets["labels"]), X, targets["labels"])
    certificate = certify(sgd, X, targets["labels"])
    assert certificate.dual <= best.primal <= certificate.primal
    assert certificate.dual >= best.dual - 1e-3


def test_genes_are_penalised_beside_age_and_stage(data):
    X, targets = data
    time, event = targets["costs"], targets["labels"].astype(bool)
    factors = np.array([0.0, 0.0, 1.0, 1.0])
    ours = CoxPD(0.1, penalty_weights=factors, ties="breslow", tol=1e-9)
    ours.fit(X, np.column_stack([time, event]))
    assert ours.converged_
    # the optimum of the smooth problem on the features that are left
    used = np.flatnonzero(ours.coef_)
    assert {0, 1} <= set(used)
    signs = 0.1 * factors[used] * np.sign(ours.coef_[used])
    refit = sm.PHReg(time, X[:, used], status=event, ties="breslow")
    scores = refit.score(ours.coef_[used]) / len(X)
    assert_allclose(scores, signs, atol=1e-6)
    sksurv = pytest.importorskip("sksurv.linear_model")
    theirs = sksurv.CoxnetSurvivalAnalysis(
        penalty_factor=factors, alphas=[0.05], l1_ratio=1.0, tol=1e-14, max_iter=10**6
    ).fit(X, np.rec.fromarrays([event, time], names="event, time"))
    assert np.mean(factors) == 0.5  # by which coxnet divides the factors
    assert_allclose(ours.coef_, theirs.coef_[:, 0], atol=1e-6)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_ordered_classes(loss, data):
    """The same model as one of rows of thresholds, by scikit-learn and HiGHS."""
    X, targets = data
    classes = np.digitize(targets["numbers"], [-1.0, 0.0, 1.0])
    ours = OrdinalPD(0, loss=loss, tol=1e-8).fit(X, classes)
    assert ours.converged_
    rows = np.vstack([np.column_stack([X, np.tile(-np.eye(3)[k], (len(X), 1))]) for k in range(3)])
    above = np.concatenate([classes > k for k in range(3)])
    if loss == "logistic":
        theirs = LogisticRegression(C=np.inf, fit_intercept=False, **EXACT).fit(rows, above)
        assert_allclose(ours.coef_, theirs.coef_[0, :4], atol=1e-5)
        assert_allclose(ours.thresholds_, theirs.coef_[0, 4:], atol=1e-5)
        optimum = 3.0 * log_loss(above, theirs.predict_proba(rows))
    else:
        signed = np.where(above, 1.0, -1.0)[:, np.newaxis] * rows
        found = linprog(
            np.append(np.zeros(7), np.full(len(rows), 1.0 / len(X))),
            A_ub=np.column_stack([-signed, -np.eye(len(rows))]), b_ub=np.full(len(rows), -1.0),
            bounds=[(None, None)] * 7 + [(0, None)] * len(rows),
        )  # fmt: skip
        optimum = found.fun
    certificate = ours.certificate_
    assert certificate.dual <= optimum * (1 + 1e-12)
    assert_allclose([certificate.dual, certificate.primal], optimum, rtol=1e-7)


def test_dependent_features_have_the_coefficients_of_least_norm(data):
    X, targets = data
    hazards = np.column_stack([targets["costs"], targets["labels"]])
    twice = np.column_stack([X, X[:, 0], X[:, 1] + X[:, 2]])
    codes = np.random.default_rng(3).integers(0, 3, (300, 2))
    one_hot = OneHotEncoder(sparse_output=False).fit_transform(codes)
    for Z in (twice, one_hot):
        ours = ElasticNetPD(0, tol=1e-9).fit(Z, targets["numbers"])
        theirs = LinearRegression().fit(Z, targets["numbers"])
        assert_allclose(ours.coef_, theirs.coef_, atol=1e-8)
        assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-8)
        for model, y in [
            (PoissonPD(0, tol=1e-9), targets["counts"]),
            (LogisticPD(0, tol=1e-9), targets["labels"]),
            (CoxPD(0, penalty="l2", tol=1e-9), hazards),
            (OrdinalPD(0, tol=1e-9), np.digitize(targets["numbers"], [-1.0, 1.0])),
            (LogisticPD(0, tol=1e-9), np.digitize(targets["numbers"], [-1.0, 1.0])),
        ]:
            model.fit(Z, y)
            assert model.converged_
            # the projection onto the rows, and of models of a constant onto centred ones
            basis = np.linalg.svd(Z - Z.mean(axis=0), full_matrices=False)
            V = basis[2][basis[1] > 1e-9 * basis[1][0]]
            coef = np.atleast_2d(model.coef_)
            assert_allclose(coef @ V.T @ V, coef, atol=1e-9)
    wide = ElasticNetPD(0).fit(X[:3], targets["numbers"][:3])
    assert_allclose(wide.coef_, LinearRegression().fit(X[:3], targets["numbers"][:3]).coef_)
    assert wide.certificate_.gap <= 1e-12


@pytest.mark.parametrize(
    ("model", "kind", "message"),
    [
        (PdproxSVC(0, penalty="group", groups=1), "labels", "alpha=0, no penalty, needs"),
        (PoissonPD(0, penalty="linf"), "counts", "alpha=0, no penalty, needs"),
        (MultinomialPD(0, loss="crammer_singer"), "three", "needs a penalty of every coefficient"),
        (LogisticPD(0, bounds=(0, None)), "three", "may have no bounds where classes"),
        (PoissonPD(-1.0), "counts", "'alpha' parameter"),
    ],
)
def test_what_has_no_model_without_a_penalty_says_so(model, kind, message, data):
    X, targets = data
    y = np.arange(len(X)) % 3 if kind == "three" else targets[kind]
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
