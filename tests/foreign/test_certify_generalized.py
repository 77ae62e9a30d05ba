"""Certificates for the generalised linear models of other libraries."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import GammaRegressor, PoissonRegressor, TweedieRegressor
from sklearn.metrics import mean_tweedie_deviance

from skpd import PoissonPD, TweediePD, certify

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


def test_bounds_of_glum_and_coefficients(data):
    X, y, offset, _ = data
    options = {"alpha": 0.05, "l1_ratio": 1.0, "gradient_tol": 1e-10}
    theirs = glum.GeneralizedLinearRegressor(
        family="poisson", lower_bounds=np.zeros(D), **options
    ).fit(X, y["count"], offset=offset)
    assert certify(theirs, X, y["count"], offset=offset).relative_gap <= 1e-8
    ours = PoissonPD(0.05, bounds=(0.0, np.inf), tol=1e-13)
    ours.fit(X, y["count"], offset=offset)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    theirs = glum.GeneralizedLinearRegressor(family="tweedie (1.5)", **options).fit(X, y["sum"])
    ours = TweediePD(0.05, power=1.5, tol=1e-13).fit(X, y["sum"])
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)


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


def test_datafits_of_skglm(data):
    X, y, _, _ = data
    for datafit, name in ((skglm.datafits.Poisson(), "count"), (skglm.datafits.Gamma(), "cost")):
        solver = skglm.solvers.ProxNewton(fit_intercept=True, tol=1e-10)
        model = skglm.GeneralizedLinearEstimator(datafit, skglm.penalties.L1(0.05), solver)
        assert certify(model.fit(X, y[name]), X, y[name]).relative_gap <= 1e-8


def test_what_is_refused(data):
    X, y, _, _ = data
    cases = [
        (TweedieRegressor(power=3.0).fit(X, y["cost"]), "with a power from 1 to 2, got 3"),
        (TweedieRegressor(power=1.0, link="identity"), "with a log link"),
        (glum.GeneralizedLinearRegressor(alpha=0.1, family="inverse.gaussian").fit(X, y["cost"]),
         "got 'inverse.gaussian'"),
        (glum.GeneralizedLinearRegressor(alpha=0.1, scale_predictors=True).fit(X, y["sum"]),
         "scale_predictors=False alone"),
        (glum.GeneralizedLinearRegressor(family="poisson").fit(X, y["count"]), "no penalty"),
        (sm.GLM(y["sum"], X).fit(), "got Gaussian"),
    ]  # fmt: skip
    for model, message in cases:
        if not hasattr(model, "coef_") and not hasattr(model, "params"):
            model.coef_, model.intercept_ = np.zeros(D), 0.0
        with pytest.raises(ValueError, match=message):
            certify(model, X, y["cost"])
    regularized = sm.GLM(y["count"], X, family=sm.families.Poisson()).fit_regularized(alpha=0.1)
    with pytest.raises(TypeError, match="is not an estimator"):
        certify(regularized, X, y["count"])
