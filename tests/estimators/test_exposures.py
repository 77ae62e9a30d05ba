"""Exposures, residuals, dispersion and shares of deviance, against statsmodels."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from sklearn.metrics import d2_tweedie_score, mean_tweedie_deviance
from sklearn.model_selection import GridSearchCV, KFold

from skpd import (
    GammaPD,
    LogisticPD,
    PathCV,
    PdproxRegressor,
    PoissonPD,
    RowBlocks,
    TweediePD,
    regularization_path,
)

N, D = 200, 4
MODELS = {
    "poisson": (PoissonPD(), 1.0),
    "negative_binomial": (PoissonPD(dispersion=0.7), 1.0),
    "gamma": (GammaPD(), 2.0),
    "tweedie": (TweediePD(power=1.4), 1.4),
}


@pytest.fixture
def data(rng):
    X, exposure = rng.normal(size=(N, D)), rng.uniform(0.1, 3.0, N)
    mean = exposure * np.exp(0.5 * X[:, 0] - 0.3 * X[:, 1] + 0.3)
    counts = rng.poisson(mean)
    y = {
        "poisson": counts.astype(float),
        "negative_binomial": counts.astype(float),
        "gamma": rng.gamma(2.0, 0.5 * mean),
        "tweedie": counts * rng.gamma(2.0, size=N),
    }
    return X, y, exposure, 0.3 * rng.normal(size=N)


def family(name):
    families = pytest.importorskip("statsmodels.api").families
    return {
        "poisson": families.Poisson(),
        "negative_binomial": families.NegativeBinomial(alpha=0.7),
        "gamma": families.Gamma(families.links.Log()),
        "tweedie": families.Tweedie(var_power=1.4, link=families.links.Log()),
    }[name]


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("name", MODELS)
def test_models_of_statsmodels(name, fit_intercept, data):
    sm = pytest.importorskip("statsmodels.api")
    X, y, exposure, offset = data
    y, weights = y[name], np.arange(N) % 3 + 1.0
    A = sm.add_constant(X) if fit_intercept else X
    model, _ = MODELS[name]
    model.set_params(alpha=0.0, fit_intercept=fit_intercept, tol=1e-13)
    model.fit(X, y, weights, offset, exposure)
    for scale, kind in (("X2", "pearson"), ("dev", "deviance")):
        given = {"exposure": exposure, "offset": offset, "freq_weights": weights}
        theirs = sm.GLM(y, A, family=family(name), **given).fit(tol=1e-13, scale=scale)
        coef = np.append(model.intercept_, model.coef_) if fit_intercept else model.coef_
        assert_allclose(coef, theirs.params, atol=1e-6)
        own = model.estimate_scale(X, y, weights, offset, exposure, kind=kind)
        assert_allclose(own, theirs.scale, rtol=1e-6)
    # the numbers of the same coefficients
    model.coef_, model.intercept_ = theirs.params[-D:], theirs.params[0] if fit_intercept else 0.0
    given = X, y, offset, exposure
    assert_allclose(model.predict(X, offset, exposure), theirs.fittedvalues, rtol=1e-12)
    assert_allclose(model.residuals(*given), theirs.resid_deviance, atol=1e-10)
    assert_allclose(model.residuals(*given, kind="pearson"), theirs.resid_pearson, atol=1e-10)
    own = model.estimate_scale(X, y, weights, offset, exposure, kind="deviance")
    assert_allclose(own, theirs.scale, rtol=1e-10)


@pytest.mark.parametrize("name", ["poisson", "gamma", "tweedie"])
def test_shares_of_the_deviance_of_statsmodels(name, data):
    """Its null model is a constant times the exposures."""
    sm = pytest.importorskip("statsmodels.api")
    X, y, exposure, offset = data
    model = MODELS[name][0].set_params(alpha=0.0, fit_intercept=True)
    given = {"exposure": exposure, "offset": offset}
    theirs = sm.GLM(y[name], sm.add_constant(X), family=family(name), **given).fit(tol=1e-13)
    model.fit(X, y[name], **given)
    model.intercept_, model.coef_ = theirs.params[0], theirs.params[1:]
    expected = 1.0 - theirs.deviance / theirs.null_deviance
    assert_allclose(model.score(X, y[name], **given), expected, rtol=1e-8)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore:.*is scored without")
def test_scores(name, data, rng):
    X, y, exposure, offset = data
    y, weights = y[name], rng.uniform(size=N)
    weights[:30] = 0.0
    model, power = MODELS[name]
    model.set_params(alpha=0.01, fit_intercept=True).fit(X, y)
    for w in (None, weights):
        expected = d2_tweedie_score(y, model.predict(X), sample_weight=w, power=power)
        assert_allclose(model.score(X, y, w), expected, rtol=1e-12)
        assert_allclose(model.score(X, y, w, exposure=3.0, offset=-np.log(3.0)), expected)

        def deviance(mean, w=w):
            return mean_tweedie_deviance(y, mean, sample_weight=w, power=power)

        for more in ({"exposure": exposure}, {"exposure": exposure, "offset": offset}):
            shift = np.log(exposure) + more.get("offset", 0.0)
            null = minimize_scalar(lambda b, shift=shift: deviance(np.exp(b + shift))).fun
            expected = 1.0 - deviance(model.predict(X, **more)) / null
            assert_allclose(model.score(X, y, w, **more), expected, rtol=1e-10, atol=1e-12)
            constant = model.fit(X, y, **more).set_params(alpha=0.01)
            constant.coef_ = np.zeros(D)
            assert constant.score(X, y, w, **more) <= 1e-12
    far = model.score(X, y, offset=700.0 + 0.0 * offset)  # a constant moves means by exp(700)
    assert np.isfinite(far)


def test_scores_where_no_rate_is_explained(data):
    X, _, exposure, _ = data
    model = PoissonPD(alpha=0.01).fit(X, np.ones(N), exposure=exposure)
    exposure = 2.0 ** np.arange(-3, 5).repeat(25)
    assert model.score(X, 3.0 * exposure, exposure=exposure) == 0.0
    assert model.score(X, np.zeros(N), exposure=exposure) == 0.0
    assert model.score(X[:2], [0.0, 1.0], [1.0, 1.0], exposure=[0.5, 1.0]) < 1.0


def test_exposures_that_are_refused(data):
    X, y, exposure, offset = data
    y = y["poisson"]
    model = PoissonPD().fit(X, y, exposure=exposure)
    calls = (
        lambda e: model.fit(X, y, exposure=e),
        lambda e: model.predict(X, exposure=e),
        lambda e: model.score(X, y, exposure=e),
        lambda e: model.residuals(X, y, exposure=e),
        lambda e: model.estimate_scale(X, y, exposure=e),
        lambda e: regularization_path(model, X, y, alphas=[0.1], exposure=e),
        lambda e: PathCV(model, alphas=[0.1]).fit(X, y, exposure=e),
    )
    for call in calls:
        for e, message in (
            (np.where(np.arange(N) == 3, 0.0, exposure), "exposure must be greater than 0, got 0"),
            (-1.0, "exposure must be greater than 0, got -1"),
            (np.where(np.arange(N) == 3, np.nan, exposure), "Input exposure contains NaN"),
            (np.where(np.arange(N) == 3, np.inf, exposure), "Input exposure contains infinity"),
            ("years", "exposure must hold numbers, but could not convert"),
        ):
            with pytest.raises(ValueError, match=message):
                call(e)
    for call in calls[:-1]:
        with pytest.raises(ValueError, match=r"exposure must have the shape \(200,\), got \(3,\)"):
            call(exposure[:3])
    with pytest.raises(ValueError, match=r"offset must have the shape \(200,\), got \(3,\)"):
        model.fit(X, y, offset=offset[:3], exposure=exposure)
    with pytest.raises(TypeError, match=r"LogisticPD\.fit has no parameter 'exposure'"):
        LogisticPD().fit(X, y > 1, exposure=exposure)
    with pytest.raises(TypeError, match=r"PdproxRegressor\.fit has no parameter 'exposure'"):
        regularization_path(PdproxRegressor(), X, y, exposure=exposure)


def test_residuals_that_are_refused(data):
    X, y, _, _ = data
    model = GammaPD(alpha=0.1).fit(X, y["gamma"])
    with pytest.raises(ValueError, match="kind must be 'deviance' or 'pearson', got 'working'"):
        model.residuals(X, y["gamma"], kind="working")
    with pytest.raises(ValueError, match="kind must be 'deviance' or 'pearson', got 'dev'"):
        model.estimate_scale(X, y["gamma"], kind="dev")
    with pytest.raises(ValueError, match="y must be greater than 0"):
        model.residuals(X, np.zeros(N))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.residuals(X, y["gamma"][:1])
    assert np.isnan(model.estimate_scale(X[:D], y["gamma"][:D]))
    selected = GammaPD(alpha=0.1, penalty="l1").fit(X, y["gamma"])
    n_numbers = np.count_nonzero(selected.coef_) + 1
    assert n_numbers < D + 1
    squares = np.sum(selected.residuals(X, y["gamma"]) ** 2)
    scale = selected.estimate_scale(X, y["gamma"], kind="deviance")
    assert_allclose(scale, squares / (N - n_numbers))


def test_searches_route_exposures(data):
    X, y, exposure, _ = data
    y = y["poisson"]
    with sklearn.config_context(enable_metadata_routing=True):
        model = PoissonPD(alpha=1e-3).set_fit_request(exposure=True)
        model.set_score_request(exposure=True)
        grid = {"alpha": [0.1, 0.01]}
        search = GridSearchCV(model, grid, cv=KFold(3)).fit(X, y, exposure=exposure)
        found = PathCV(model, alphas=[0.1, 0.01], cv=KFold(3)).fit(X, y, exposure=exposure)
    train, test = next(KFold(3).split(X))
    one = PoissonPD(0.01).fit(X[train], y[train], exposure=exposure[train])
    score = one.score(X[test], y[test], exposure=exposure[test])
    assert_allclose(search.cv_results_["split0_test_score"][1], score)
    assert_allclose(found.cv_results_["split0_test_score"][1], score, atol=1e-4)


def test_scores_without_the_exposure_of_the_fit_say_so(data):
    """In a search without routing, which fits with it and scores without."""
    X, y, exposure, _ = data
    search = GridSearchCV(PoissonPD(), {"alpha": [0.1, 0.01]}, cv=3)
    with pytest.warns(
        UserWarning, match="fitted with an exposure or offset and is scored without"
    ):
        search.fit(X, y["poisson"], exposure=exposure)
    model = PoissonPD().fit(X, y["poisson"], exposure=exposure)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.score(X, y["poisson"], exposure=exposure)
        PoissonPD().fit(X, y["poisson"]).score(X, y["poisson"])


def test_scales_count_the_rank_of_the_features(data):
    """A duplicate of a column and a constant change neither residuals nor their freedom."""
    X, y, *_ = data
    twice = np.column_stack([X, X[:, :1], 2.0 * X[:, 1:2], np.ones(N)])
    plain = GammaPD(alpha=0.0, tol=1e-9).fit(X, y["gamma"])
    scale = plain.estimate_scale(X, y["gamma"])
    squares = plain.residuals(X, y["gamma"], kind="pearson") ** 2
    assert_allclose(scale, np.sum(squares) / (N - D - 1), rtol=1e-12)
    for layout in (np.asarray, sp.csr_array, lambda Z: RowBlocks([Z[:50], Z[50:]])):
        model = GammaPD(alpha=0.0, tol=1e-9).fit(layout(twice), y["gamma"])
        assert_allclose(model.estimate_scale(layout(twice), y["gamma"]), scale, rtol=1e-6)


def test_residuals_of_means_that_are_not_numbers(data):
    X, y, *_ = data
    model = PoissonPD().fit(X, y["poisson"])
    for kind in ("deviance", "pearson"):
        for far in (1e6, -1e6):
            with pytest.raises(ValueError, match="is 0 or infinite"):
                model.residuals(X, y["poisson"], offset=far, kind=kind)
