"""Certificates for the generalised linear models of other libraries."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linprog
from scipy.special import xlogy
from sklearn.linear_model import GammaRegressor, PoissonRegressor, TweedieRegressor
from sklearn.metrics import mean_tweedie_deviance

from skpd import GammaPD, LogisticPD, PoissonPD, TweediePD, certify
from skpd.losses import Poisson
from skpd.penalties import WeightedL1

glum = pytest.importorskip("glum")
sm = pytest.importorskip("statsmodels.api")
skglm = pytest.importorskip("skglm")

N, D = 300, 4


@pytest.fixture
def data(rng):
    X, offset = rng.normal(size=(N, D)), 0.3 * rng.normal(size=N)
    counts = rng.poisson(np.exp(0.4 * X[:, 0] + offset)).astype(float)
    costs = rng.gamma(2.0, np.exp(0.4 * X[:, 0]))
    return (
        X,
        {"count": counts, "cost": costs, "sum": counts * costs},
        offset,
        rng.uniform(0.1, 2.0, N),
    )


@pytest.mark.parametrize(
    ("model", "name", "power"),
    [
        (PoissonRegressor(), "count", 1.0),
        (GammaRegressor(), "cost", 2.0),
        (TweedieRegressor(power=1.3), "sum", 1.3),
        (TweedieRegressor(power=0.0), "sum", 0.0),
    ],
    ids=str,
)
def test_models_of_scikit_learn(model, name, power, data):
    X, y, _, weights = data
    model.set_params(alpha=0.1, solver="newton-cholesky", tol=1e-10)
    model.fit(X, y[name], sample_weight=weights)
    found = certify(model, X, y[name], weights)
    half = 0.5 * mean_tweedie_deviance(
        y[name], model.predict(X), sample_weight=weights, power=power
    )
    assert_allclose(found.primal, half + 0.05 * np.sum(model.coef_**2))
    assert found.relative_gap <= 1e-9
    model.coef_ = 0.9 * model.coef_
    assert certify(model, X, y[name], weights).dual <= found.primal


@pytest.mark.parametrize("ratio", [0.0, 0.5, 1.0])
@pytest.mark.parametrize(
    ("family", "name"),
    [
        ("poisson", "count"), ("gamma", "cost"), ("tweedie (1.3)", "sum"), ("normal", "sum"),
        ("negative.binomial (0.5)", "count"), ("binomial", "label"),
    ],
)  # fmt: skip
def test_models_of_glum(family, name, ratio, data):
    X, y, offset, weights = data
    t = (y["count"] > 0).astype(float) if name == "label" else y[name]
    model = glum.GeneralizedLinearRegressor(
        alpha=0.05, l1_ratio=ratio, family=family, gradient_tol=1e-9,
        P1=np.array([1.0, 2.0, 1.0, 0.0]), P2=np.array([1.0, 2.0, 0.5, 3.0]),
    ).fit(X, t, sample_weight=weights, offset=offset)  # fmt: skip
    assert certify(model, X, t, weights, offset=offset).relative_gap <= 1e-8


@pytest.mark.parametrize(
    ("family", "name"),
    [
        (sm.families.Poisson(), "count"),
        (sm.families.NegativeBinomial(alpha=0.5), "count"),
        (sm.families.Gamma(sm.families.links.Log()), "cost"),
        (sm.families.Tweedie(var_power=1.5), "sum"),
    ],
    ids=["poisson", "negative_binomial", "gamma", "tweedie"],
)
def test_models_of_statsmodels_without_a_penalty(family, name, data):
    X, y, offset, weights = data
    X = sm.add_constant(X)
    model = sm.GLM(y[name], X, family=family, offset=offset, var_weights=weights)
    results = model.fit(tol=1e-12, maxiter=200)
    found = certify(results, X, y[name], weights, offset=offset)
    assert_allclose(2.0 * weights.sum() * found.primal, results.deviance, rtol=1e-8)
    assert found.relative_gap <= 1e-8


ALPHAS = np.array([0.0, 2.0, 4.0, 1.0, 8.0])  # of the constant and the features


@pytest.mark.parametrize("alpha", [None, 3.0, ALPHAS], ids=["none", "number", "array"])
@pytest.mark.parametrize("kind", ["Logit", "Poisson"])
def test_discrete_models_of_statsmodels(kind, alpha, data):
    X, y, offset, weights = data
    A, count = sm.add_constant(X), y["count"]
    labels = (count > 0).astype(float)
    t = labels if kind == "Logit" else count
    model = getattr(sm, kind)(t, A, offset=offset)
    if alpha is None:
        results, alpha = model.fit(disp=0, tol=1e-12), 0.0
    else:
        results = model.fit_regularized(alpha=alpha, disp=0, acc=1e-15)
    z, w = A @ results.params + offset, results.params
    losses = np.log1p(np.exp(z)) - t * z
    if kind == "Poisson":  # half the deviance
        losses = np.exp(z) - count * z + xlogy(count, count) - count
    found = certify(results, A, t)
    assert_allclose(N * found.primal, np.sum(losses) + np.sum(alpha * np.abs(w)), rtol=1e-12)
    assert found.relative_gap <= 1e-6
    ours = LogisticPD if kind == "Logit" else PoissonPD
    penalty = WeightedL1(np.broadcast_to(alpha, D + 1).astype(float))
    best = ours(1.0 / N, penalty=penalty, fit_intercept=False, tol=1e-10)
    best = best.fit(A, t, offset=offset).certificate_
    assert_allclose(found.primal, best.primal, rtol=1e-6)
    weighted = certify(results, A, t, weights)  # which no fit has, with the offset of the result
    objective = np.sum(weights * losses) + np.sum(alpha * np.abs(w))
    assert_allclose(weights.sum() * weighted.primal, objective, rtol=1e-12)
    assert weighted.dual < weighted.primal


@pytest.mark.parametrize("quantile", [0.2, 0.5])
def test_quantile_regression_of_statsmodels(quantile, data):
    X, y, _, _ = data
    A, t = sm.add_constant(X), y["sum"] + X[:, 1]
    results = sm.QuantReg(t, A).fit(q=quantile)
    residuals = t - A @ results.params
    found = certify(results, A, t)
    pinball = np.maximum(quantile * residuals, (quantile - 1.0) * residuals)
    assert_allclose(found.primal, np.mean(pinball), rtol=1e-12)
    assert found.relative_gap <= 1e-4
    best = linprog(  # by the positive and negative parts of the residuals
        np.repeat([0.0, quantile / N, (1.0 - quantile) / N], [D + 1, N, N]),
        A_eq=np.hstack([A, np.eye(N), -np.eye(N)]), b_eq=t,
        bounds=[(None, None)] * (D + 1) + [(0.0, None)] * (2 * N),
    ).fun  # fmt: skip
    assert found.dual <= best * (1.0 + 1e-9)
    assert_allclose(found.dual, best, rtol=1e-6)


@pytest.mark.parametrize("kind", ["GLM", "Poisson"])
def test_offset_and_exposure_of_the_result(kind, data, rng):
    X, y, offset, _ = data
    A, count, exposure = sm.add_constant(X), y["count"], rng.uniform(0.5, 2.0, N)
    family = {"family": sm.families.Poisson()} if kind == "GLM" else {}
    results = getattr(sm, kind)(count, A, offset=offset, exposure=exposure, **family)
    results = results.fit(disp=0, tol=1e-12)
    own = offset + np.log(exposure)
    z = A @ results.params + own
    half = np.mean(np.exp(z) - count * z + xlogy(count, count) - count)
    found = certify(results, A, count)
    assert_allclose(found.primal, half, rtol=1e-12)
    assert found.relative_gap <= 1e-8
    assert_allclose(certify(results, A, count, offset=own).primal, half, rtol=1e-12)
    with pytest.raises(ValueError, match=f"the one that {kind} of .* got another one"):
        certify(results, A, count, offset=offset)
    half = np.mean((np.exp(z) - count * z + xlogy(count, count) - count)[:100])
    fewer = certify(results, A[:100], count[:100], offset=own[:100])
    assert_allclose(fewer.primal, half, rtol=1e-12)
    for rows in (np.arange(100), np.arange(N)[::-1]):
        with pytest.raises(ValueError, match="got None for other rows"):
            certify(results, A[rows], count[rows])
    only = sm.Poisson(count, A, exposure=exposure).fit(disp=0, tol=1e-12)
    assert certify(only, A, count).relative_gap <= 1e-8


def test_datafits_of_skglm(data):
    X, y, _, _ = data
    solver = skglm.solvers.ProxNewton(fit_intercept=True, tol=1e-10)
    penalty = skglm.penalties.L1(0.05)
    model = skglm.GeneralizedLinearEstimator(skglm.datafits.Poisson(), penalty, solver)
    assert certify(model.fit(X, y["count"]), X, y["count"]).relative_gap <= 1e-8
    # fitting it would compile all of the solver once more
    costs = skglm.GeneralizedLinearEstimator(skglm.datafits.Gamma(), penalty, solver)
    own = GammaPD(0.05, tol=1e-9, penalty="l1").fit(X, y["cost"])
    costs.coef_, costs.intercept_ = own.coef_, own.intercept_
    costs.n_features_in_ = X.shape[1]
    assert certify(costs, X, y["cost"]).relative_gap <= 1e-8


def test_what_is_refused(data):
    X, y, _, _ = data
    cases = [
        (TweedieRegressor(power=3.0).fit(X, y["cost"]), "with a power from 1 to 2, got 3"),
        (TweedieRegressor(power=1.0, link="identity"), "with a log link"),
        (glum.GeneralizedLinearRegressor(alpha=0.1, family="inverse.gaussian").fit(X, y["cost"]),
         "got 'inverse.gaussian'"),
        (glum.GeneralizedLinearRegressor(alpha=0.1, scale_predictors=True).fit(X, y["sum"]),
         "scale_predictors=False alone"),
        (sm.GLM(y["sum"], X).fit(), "got Gaussian"),
    ]  # fmt: skip
    for model, message in cases:
        if not hasattr(model, "coef_") and not hasattr(model, "params"):
            model.coef_, model.intercept_ = np.zeros(D), 0.0
        with pytest.raises(ValueError, match=message):
            certify(model, X, y["cost"])
    poisson = {"family": sm.families.Poisson()}
    regularized = sm.GLM(y["count"], X, **poisson).fit_regularized(alpha=0.1, L1_wt=0.0)
    for results in (
        regularized, sm.GLM(y["count"], X, **poisson).fit_constrained("x1 = 0"),
        sm.Poisson(y["count"], X).fit_constrained("x1 = 0", disp=0),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="must be those of its method fit or, for Logit"):
            certify(results, X, y["count"])
    by_hand = certify(regularized, X, y["count"], loss=Poisson(), penalty="l2", alpha=0.1)
    assert by_hand.relative_gap <= 1e-5
    labels = (y["count"] > 0).astype(float)
    with pytest.raises(TypeError, match=r"does not know what statsmodels.*\.Probit minimises"):
        certify(sm.Probit(labels, X).fit(disp=0), X, labels)
    with pytest.raises(
        ValueError, match=r"Logit of statsmodels was fitted with, array\(\[0., 1.\]"
    ):
        certify(sm.Logit(labels, X).fit(disp=0), X, y["count"])
    with pytest.raises(TypeError, match=r"got statsmodels.*\.OLS, which has no params"):
        certify(sm.OLS(labels, X), X, labels)


def test_bounds_of_glum_and_coefficients(data):
    X, y, offset, _ = data
    options = {"alpha": 0.05, "l1_ratio": 1.0, "gradient_tol": 1e-10}
    theirs = glum.GeneralizedLinearRegressor(
        family="poisson", lower_bounds=np.zeros(D), **options
    ).fit(X, y["count"], offset=offset)
    assert certify(theirs, X, y["count"], offset=offset).relative_gap <= 1e-8
    ours = PoissonPD(0.05, bounds=(0.0, np.inf), tol=1e-13, penalty="l1")
    ours.fit(X, y["count"], offset=offset)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    theirs = glum.GeneralizedLinearRegressor(family="tweedie (1.5)", **options).fit(X, y["sum"])
    ours = TweediePD(0.05, power=1.5, tol=1e-13, penalty="l1").fit(X, y["sum"])
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
