"""Offsets, targets, weights and conditions at the ends of the scale: numbers, and right ones."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LinearRegression, Ridge

from skpd import CoxPD, MultiTaskPD, OrdinalPD, PdproxRegressor, PoissonPD

pytestmark = pytest.mark.filterwarnings(
    "ignore:.* ignores all features", "ignore:.* did not converge"
)
ROWS = np.random.default_rng(0).normal(size=(12, 3))


def times(n=12):
    return np.column_stack([np.arange(n) + 1.0, np.arange(n) % 3 > 0])


@pytest.mark.parametrize("offset", [1e200, 1e300, 2e307])
def test_offsets_that_all_rows_share_change_no_hazards(offset):
    plain = CoxPD(tol=1e-9).fit(ROWS, times())
    model = CoxPD(tol=1e-9).fit(ROWS, times(), offset=np.full(12, offset))
    assert_allclose(model.coef_, plain.coef_, atol=1e-6)
    assert_allclose(model.certificate_.primal, plain.certificate_.primal, rtol=1e-8)


@pytest.mark.parametrize("scale", [1e150, 1e155, 1e160, 1e200, 1e300])
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_orders_of_huge_features_have_finite_objectives(scale, alpha):
    """Where w = 0 is within rounding of the best, its objective is that of the thresholds."""
    y = np.arange(12) % 3
    certificate = OrdinalPD(alpha=alpha).fit(ROWS * scale, y).certificate_
    null = OrdinalPD(alpha=0.0, tol=1e-9).fit(np.zeros((12, 1)), y).certificate_.primal
    assert np.isfinite([certificate.primal, certificate.dual]).all()
    assert certificate.dual <= certificate.primal <= null * (1.0 + 1e-9)


@pytest.mark.parametrize("exponent", [-120, -158, -200, -300])
@pytest.mark.parametrize("loss", ["huber", "squared", "absolute"])
def test_objectives_of_tiny_targets_are_not_below_the_exact_ones(loss, exponent):
    """Squares of such residuals vanish; the objective in fractions has them."""
    y = ROWS[:, 0] * 10.0**exponent
    model = PdproxRegressor(0.1, loss=loss, penalty="l1").fit(ROWS, y)
    w, b = [Fraction(x) for x in model.coef_], Fraction(float(model.intercept_))
    exact = sum(map(abs, w)) / 10
    for row, target in zip(ROWS, y, strict=True):
        score = sum((Fraction(x) * v for x, v in zip(row, w, strict=True)), b)
        residual = abs(Fraction(target) - score)
        exact += (residual if loss == "absolute" else residual**2 / 2) / len(y)
    primal = Fraction(model.certificate_.primal)
    assert primal > 0 and primal >= exact * (1 - Fraction(1, 10**12))
    assert model.certificate_.dual <= primal


@pytest.mark.parametrize("condition", [1e6, 1e8, 1e9])
def test_conditions_of_free_features(condition, rng):
    """Least squares of the same span by columns that are far from dependent, and a few counts."""
    X = rng.normal(size=(30, 4))
    X[:, 3] = X[:, 2] + X[:, 3] / condition
    y = X[:, 0] + rng.normal(size=30)
    model = PdproxRegressor(0.0, loss="squared", tol=1e-8).fit(X, y)
    same = np.column_stack(
        [X[:, :3], condition * (X[:, 3] - X[:, 2])]
    )  # the differences are exact
    best = np.mean((y - LinearRegression().fit(same, y).predict(same)) ** 2) / 2.0
    assert model.converged_ and model.n_iter_ < 10
    assert best * (1.0 - 1e-7) <= model.certificate_.dual <= best * (1.0 + 1e-13)
    small = np.column_stack([np.ones(5), X[:5, 1:]])
    counts = PoissonPD(alpha=0.0, fit_intercept=False).fit(small, [0.0, 3.0, 1.0, 4.0, 2.0])
    assert counts.converged_ and counts.n_iter_ < 200


def walks(rng):
    X = np.cumsum(rng.normal(size=(50, 600)), axis=1) / 10.0
    return X, X @ rng.normal(size=600) / 50.0 + rng.normal(size=50)


@pytest.mark.parametrize("alpha", [1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 1e-14])
def test_ridge_leads_to_the_least_norm(alpha, rng):
    """Within 1e-4 of scikit-learn's Ridge and, as alpha falls, of the least norm of alpha = 0."""
    X, y = walks(rng)
    Y = np.column_stack([y, X[:, 5], rng.normal(size=50)])
    one = PdproxRegressor(alpha, loss="squared", penalty="l2").fit(X, y)
    three = MultiTaskPD(alpha, penalty="l2").fit(X, Y)
    for model, targets in ((one, y), (three, Y)):
        right = Ridge(alpha * 50, solver="svd").fit(X, targets).coef_
        assert np.linalg.norm(model.coef_ - right) <= 1e-4 * np.linalg.norm(right)
        assert model.converged_
    if alpha < 1e-11:
        least = PdproxRegressor(0.0, loss="squared").fit(X, y).coef_
        assert_allclose(one.coef_, least, atol=1e-4 * np.abs(least).max())


def test_gaps_within_rounding_errors_say_so():
    """Weights of 1e200 beside 1e-200: rounding errors are as large as what is possible."""
    X, y = ROWS[:2], np.array([1.0, 2.0])
    weights = np.array([1e200, 1e-200])
    model = PdproxRegressor(0.0, loss="squared", fit_intercept=False).fit(X, y, weights)
    certificate = model.certificate_
    assert certificate.relative_gap == 0.0
    assert "no model of this kind is better, within rounding errors" in str(certificate)
    assert "improvement" not in str(certificate)
