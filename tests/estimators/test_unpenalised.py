"""Models without a penalty, alpha=0, against scikit-learn and statsmodels."""

import numpy as np
import pytest
import scipy.sparse as sp
import statsmodels.api as sm
from numpy.testing import assert_allclose
from sklearn.linear_model import (
    GammaRegressor,
    LogisticRegression,
    PoissonRegressor,
    QuantileRegressor,
    Ridge,
    SGDClassifier,
    TweedieRegressor,
)

from skpd import (
    ElasticNetPDClassifier,
    GammaPD,
    LogisticPD,
    PathCV,
    PdproxRegressor,
    PdproxSVC,
    PoissonPD,
    RowBlocks,
    TweediePD,
    certify,
    regularization_path,
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


def test_certify_takes_models_of_statsmodels(data):
    X, targets = data
    exog = sm.add_constant(X)
    poisson = sm.GLM(targets["counts"], exog, family=sm.families.Poisson()).fit(tol=1e-12)
    logit = sm.Logit(targets["labels"], exog).fit(disp=0)
    assert_allclose(
        PoissonPD(0, tol=1e-9).fit(X, targets["counts"]).coef_, poisson.params[1:], atol=1e-6
    )
    assert certify(poisson, exog, targets["counts"]).gap <= 1e-10
    assert certify(logit, exog, targets["labels"]).gap <= 1e-10
    unfinished = PoissonRegressor(alpha=0, max_iter=1, tol=0.5).fit(X, targets["counts"])
    certificate = certify(unfinished, X, targets["counts"])
    best = certify(poisson, exog, targets["counts"])
    assert certificate.dual <= best.primal and certificate.gap >= certificate.primal - best.primal


def test_certify_takes_least_squares_and_stochastic_gradients(data):
    X, targets = data
    ridge = Ridge(alpha=0).fit(X, targets["numbers"])
    assert certify(ridge, X, targets["numbers"]).gap <= 1e-12
    sgd = SGDClassifier(loss="log_loss", penalty=None, random_state=0).fit(X, targets["labels"])
    best = certify(LogisticPD(0, tol=1e-9).fit(X, targets["labels"]), X, targets["labels"])
    certificate = certify(sgd, X, targets["labels"])
    assert certificate.dual <= best.primal <= certificate.primal
    assert certificate.dual >= best.dual - 1e-3


def test_grids_may_end_in_0(data):
    X, targets = data
    models = regularization_path(PoissonPD(tol=1e-9), X, targets["counts"], alphas=[0.1, 0.0])
    alone = PoissonPD(0, tol=1e-9).fit(X, targets["counts"])
    assert_allclose(models.coefs[1], alone.coef_, atol=1e-6)
    search = PathCV(LogisticPD(), alphas=[10.0, 0.0], scoring="neg_log_loss")
    assert search.fit(X, targets["labels"]).alpha_ == 0.0


@pytest.mark.parametrize(
    ("model", "kind", "message"),
    [
        (PdproxSVC(0, penalty="group", groups=1), "labels", "alpha=0, no penalty, needs"),
        (PoissonPD(0, penalty="linf"), "counts", "alpha=0, no penalty, needs"),
        (LogisticPD(0), "three", "with 3 outputs or classes together needs"),
        (PoissonPD(-1.0), "counts", "'alpha' parameter"),
    ],
)
def test_what_has_no_model_without_a_penalty_says_so(model, kind, message, data):
    X, targets = data
    y = np.arange(len(X)) % 3 if kind == "three" else targets[kind]
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
