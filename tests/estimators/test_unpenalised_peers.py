"""Coefficients without a penalty beside those of other libraries, on data that they carry."""

import numpy as np
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose
from statsmodels.genmod import families

from skpd import GammaPD, LogisticPD, PoissonPD, TweediePD

TOL = 1e-12
FAMILIES = {
    "poisson": (PoissonPD(0, tol=TOL), families.Poisson()),
    "gamma": (GammaPD(0, tol=TOL), families.Gamma(families.links.Log())),
    "tweedie": (
        TweediePD(0, power=1.5, tol=TOL), families.Tweedie(families.links.Log(), var_power=1.5),
    ),
}  # fmt: skip
DATA = {"poisson": "cpunish", "gamma": "scotland", "tweedie": "cpunish"}


def carried(name):
    """The features and targets of a data set of statsmodels."""
    data = getattr(sm.datasets, name).load()
    return np.asarray(data.exog, dtype=float), np.asarray(data.endog, dtype=float)


@pytest.mark.parametrize("name", FAMILIES)
def test_means_are_those_of_statsmodels(name, rng):
    X, y = carried(DATA[name])
    X = X / X.std(axis=0)  # statsmodels solves normal equations
    ours, family = FAMILIES[name]
    exposure, weights = rng.uniform(0.5, 2.0, len(y)), rng.integers(1, 4, len(y)).astype(float)
    theirs = sm.GLM(
        y, sm.add_constant(X, prepend=False), family=family, offset=np.log(exposure),
        freq_weights=weights,
    ).fit(tol=1e-15, tol_criterion="params", maxiter=500)  # fmt: skip
    ours.fit(X, y, sample_weight=weights, offset=np.log(exposure))
    assert ours.converged_
    assert_allclose(np.append(ours.coef_, ours.intercept_), theirs.params, atol=1e-6)


def test_logistic_regression_is_that_of_statsmodels():
    X, y = carried("spector")
    theirs = sm.Logit(y, sm.add_constant(X, prepend=False)).fit(disp=0, tol=1e-14)
    ours = LogisticPD(0, tol=TOL).fit(X, y)
    coefficients = np.append(ours.coef_, ours.intercept_)
    assert_allclose(coefficients, np.ravel(theirs.params), atol=1e-6)


@pytest.mark.parametrize(("family", "kind"), [("poisson", PoissonPD), ("gamma", GammaPD)])
@pytest.mark.parametrize("alpha", [0.0, 0.05])
def test_free_and_penalised_features_are_those_of_glum(family, kind, alpha, rng):
    from glum import GeneralizedLinearRegressor

    X = rng.normal(size=(400, 6))
    mean = np.exp(0.4 * X[:, 0] - 0.3 * X[:, 1])
    y = rng.poisson(mean).astype(float) if family == "poisson" else rng.gamma(2.0, mean)
    factors = np.array([0.0, 1.0, 2.0, 0.0, 1.0, 0.5])
    options = {"alpha": alpha, "family": family, "gradient_tol": 1e-12, "max_iter": 1000}
    if alpha:
        options |= {"l1_ratio": 1.0, "P1": factors}
    theirs = GeneralizedLinearRegressor(**options).fit(X, y)
    more = {"penalty": "l1", "penalty_weights": factors} if alpha else {}
    ours = kind(alpha, tol=TOL, **more).fit(X, y)
    assert np.count_nonzero(ours.coef_) == (4 if alpha else 6)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-6)
