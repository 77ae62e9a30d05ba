"""Linear constraints on coefficients: linear programmes, closed forms, isotonic fits."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import LinearConstraint, lsq_linear
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.isotonic import IsotonicRegression
from sklearn.model_selection import GridSearchCV

from skpd import ElasticNetPD, PathCV, PdproxRegressor, PdproxSVC, certify, regularization_path
from skpd.certificates import dual_bound
from skpd.losses import Hinge, Pinball
from skpd.penalties import L1
from tests.oracles.optima import linear_optimum
from tests.oracles.reference import linear_solution


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return X / X.std(axis=0), (y - y.mean()) / y.std()


def optimum(X, y, loss, alpha, constraint, weights, fit_intercept):
    """The least of the mean hinge loss, or of the pinball loss of a quantile, by HiGHS."""
    loss = Hinge() if loss == "hinge" else Pinball(loss)
    given = X, y, weights, loss, L1(), alpha, fit_intercept, constraint
    return linear_solution(*given)[:2]


def random_problem(seed):
    rng = np.random.default_rng(seed)
    n, d, m = int(rng.integers(8, 40)), int(rng.integers(2, 9)), int(rng.integers(1, 6))
    X, w = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-1, 1, d), rng.standard_normal(d)
    loss = ["hinge", 0.1, 0.5][seed % 3]
    y = X @ w + np.abs(X @ w).mean() * rng.standard_normal(n)
    if loss == "hinge":
        y = np.where(y > np.median(y), 1.0, -1.0)
    A, near = rng.standard_normal((m, d)), (seed % 2) * rng.standard_normal(d)
    lower, upper = (A @ near + side * rng.exponential(0.3, m) for side in (-1.0, 1.0))
    lower[rng.random(m) < 0.3], upper[rng.random(m) < 0.3] = -np.inf, np.inf
    equal = rng.random(m) < 0.2
    lower[equal] = upper[equal] = (A @ near)[equal]
    weights = rng.choice([1.0, 2.0, 3.5], n) if seed % 4 < 2 else np.ones(n)
    alpha, fit_intercept = 10.0 ** rng.uniform(-3, -1), bool(rng.random() < 0.7)
    return X, y, loss, alpha, LinearConstraint(A, lower, upper), weights, fit_intercept


@pytest.mark.parametrize("seed", range(24))
def test_agrees_with_linear_programmes(seed):
    X, y, loss, alpha, constraint, weights, fit_intercept = random_problem(seed)
    least, coef = optimum(X, y, loss, alpha, constraint, weights / weights.sum(), fit_intercept)
    shared = {"constraints": constraint, "tol": 1e-9, "fit_intercept": fit_intercept}
    if loss == "hinge":
        model = PdproxSVC(alpha, **shared)
    else:
        model = PdproxRegressor(alpha, loss="pinball", quantile=loss, **shared)
    layout = [np.asarray, sparse.csr_array, sparse.csc_array][seed % 3]
    model.fit(layout(X), y, sample_weight=weights)
    certificate = model.certificate_
    assert certificate.primal == pytest.approx(least, rel=1e-8)
    assert certificate.dual <= least * (1.0 + 1e-10)
    w = np.ravel(model.coef_)
    rounding = 1e-13 * np.abs(constraint.A) @ np.abs(w)
    assert np.all(constraint.A @ w >= constraint.lb - rounding)
    assert np.all(constraint.A @ w <= constraint.ub + rounding)
    lower, upper = certificate.coefficient_bounds.T
    assert np.all(lower <= coef + 1e-6) and np.all(coef - 1e-6 <= upper)
    for rigorous in (False, True):
        again = certify(model, X, y, weights, rigorous=rigorous)
        assert again.dual <= least * (1.0 + 1e-10)
        assert again.primal == pytest.approx(least, rel=1e-7)


@pytest.mark.parametrize("seed", range(12))
def test_no_dual_point_proves_too_much(seed):
    """Neither with multipliers of the wrong sign, nor with sums that are not 0."""
    X, y, loss, alpha, constraint, weights, fit_intercept = random_problem(seed)
    weights = weights / weights.sum()
    least, _ = optimum(X, y, loss, alpha, constraint, weights, fit_intercept)
    model = PdproxRegressor(alpha, loss="pinball", quantile=0.5, constraints=constraint)
    if loss != "hinge":
        model.set_params(quantile=loss)
    else:
        model = PdproxSVC(alpha, constraints=constraint)
    model.set_params(fit_intercept=fit_intercept, tol=1e-6)
    (problem,) = model._problems(X, y, weights)[2]
    assert problem.constraints is not None
    solution = model._solve(problem, start=None, random_state=np.random.RandomState(0))
    assert least * (1.0 - 1e-5) <= solution.certificate.dual <= least * (1.0 + 1e-10)
    rng, upper = np.random.default_rng(seed), solution.certificate.primal
    for scale in (1e-6, 1e-3, 0.1, 1.0, 100.0):
        noise = rng.standard_normal(solution.dual_coef.shape) * np.abs(solution.dual_coef).max()
        bound = dual_bound(problem, solution.dual_coef + scale * noise, upper)
        assert bound.value <= least * (1.0 + 1e-10)
    assert dual_bound(problem, np.full_like(noise, np.nan), upper).value <= least


def test_ridge_with_equalities_in_closed_form(diabetes):
    """(X'X / n + alpha) w + C'mu = X'y / n and C w = e, for centred data."""
    X, y = diabetes
    X, y, alpha, e = X - X.mean(axis=0), y - y.mean(), 0.05, np.array([0.3, -0.1])
    (n, d), C = X.shape, np.vstack([np.ones(10), np.arange(10.0)])
    system = np.block([[X.T @ X / n + alpha * np.eye(d), C.T], [C, np.zeros((2, 2))]])
    solution = np.linalg.solve(system, np.append(X.T @ y / n, e))
    model = PdproxRegressor(
        alpha, penalty="l2", loss="squared", constraints=LinearConstraint(C, e, e), tol=1e-12
    ).fit(X, y)
    np.testing.assert_allclose(model.coef_, solution[:d], atol=1e-7)
    np.testing.assert_allclose(model.constraint_multipliers_, solution[d:], atol=1e-7)
    np.testing.assert_allclose(C @ model.coef_, e, atol=1e-15)


def test_multipliers_are_derivatives(diabetes):
    X, y = diabetes
    A = np.diff(np.eye(10), axis=0)

    def fit(upper):
        constraint = LinearConstraint(A, -0.1, upper)
        return PdproxRegressor(0.02, loss="huber", constraints=constraint, tol=1e-11).fit(X, y)

    upper, step = np.full(9, 0.05), 1e-4
    mu = fit(upper).constraint_multipliers_
    assert np.any(mu > 1e-3) and np.any(mu < -1e-3)  # at upper and at lower bounds
    for k in np.flatnonzero(mu > 1e-3):
        sides = [fit(upper + side * step * np.eye(9)[k]).certificate_.dual for side in (-1, 1)]
        assert mu[k] == pytest.approx((sides[0] - sides[1]) / (2.0 * step), rel=1e-3)


def test_isotonic_regression():
    """Of levels, one column for each: scikit-learn's isotonic fit where alpha vanishes."""
    rng = np.random.default_rng(0)
    level = rng.integers(0, 12, 200)
    y = np.sqrt(level) + 0.7 * rng.standard_normal(200)
    expected = IsotonicRegression().fit(level, y).predict(np.arange(12))
    monotone = LinearConstraint(np.diff(np.eye(12), axis=0), 0.0, np.inf)
    model = PdproxRegressor(
        1e-9, penalty="l2", loss="squared", constraints=monotone, tol=1e-12
    ).fit(np.eye(12)[level], y)
    np.testing.assert_allclose(model.predict(np.eye(12)), expected, atol=1e-5)
    assert np.all(np.diff(model.coef_) >= 0.0)


def test_groups_with_the_same_mean_score(diabetes):
    """Fairness: the means of the decision function over two groups differ by at most 0.01."""
    X, y = diabetes
    group, labels = X[:, 1] > 0.0, y > 0.0
    X = np.delete(X, 1, axis=1)
    difference = X[group].mean(axis=0) - X[~group].mean(axis=0)
    free = PdproxSVC(0.01).fit(X, labels)
    fair = PdproxSVC(0.01, constraints=LinearConstraint(difference, -0.01, 0.01)).fit(X, labels)
    apart = [np.ptp([m.decision_function(X[g]).mean() for g in (group, ~group)])
             for m in (free, fair)]  # fmt: skip
    assert apart[0] > 0.1 and apart[1] <= 0.01 + 1e-12
    assert fair.certificate_.dual > free.certificate_.primal  # which is what fairness costs
    assert fair.solver_ == "interior-point"


@pytest.mark.parametrize(
    "options",
    [
        {"penalty": "l2"},
        {"penalty": "elasticnet"},
        {"penalty": "group", "groups": 2},
        {"penalty": "linf"},
        {"penalty": "l2_norm"},
        {"penalty": "fused_lasso"},
        {"penalty": "l1", "bounds": (-0.2, 0.3)},
        {"penalty": "l1", "penalty_weights": np.arange(1.0, 11.0)},
    ],
    ids=lambda options: f"{options['penalty']}-{len(options)}",
)
@pytest.mark.parametrize("loss", ["absolute", "squared"])
def test_every_penalty_with_a_cone(diabetes, loss, options):
    """With a certified gap, and above the optimum without constraints."""
    X, y = diabetes
    A = np.vstack([np.diff(np.eye(10), axis=0)[:4], np.ones(10)])
    constraint = LinearConstraint(A, [0.0] * 4 + [0.4], [np.inf] * 4 + [0.4])
    free = PdproxRegressor(0.01, loss=loss, tol=1e-7, **options).fit(X, y)
    model = clone(free).set_params(constraints=constraint).fit(X, y)
    assert model.relative_gap_ <= 1e-7
    assert model.certificate_.primal > free.certificate_.dual
    assert np.all(np.diff(model.coef_)[:4] >= -1e-13)
    assert model.coef_.sum() == pytest.approx(0.4, rel=1e-13)
    # what does not bind changes nothing
    loose = clone(free).set_params(constraints=LinearConstraint(A, -50.0, 50.0)).fit(X, y)
    assert loose.certificate_.primal == pytest.approx(free.certificate_.primal, rel=1e-6)
    np.testing.assert_allclose(loose.constraint_multipliers_, 0.0, atol=1e-5)


def test_total_variation_leaves_the_level_free(diabetes):
    X, y = diabetes
    monotone = LinearConstraint(np.diff(np.eye(10), axis=0), 0.0, np.inf)
    model = PdproxRegressor(0.1, penalty="total_variation", constraints=monotone).fit(X, y)
    assert model.converged_ and np.all(np.diff(model.coef_) >= 0.0)
    with pytest.raises(ValueError, match="rows of A that sum to 0"):
        model.set_params(constraints=LinearConstraint(np.ones(10), 1.0, 1.0)).fit(X, y)


def test_rows_that_say_nothing_new(diabetes):
    """Equalities twice, a row of zeros, and more constraints than features."""
    X, y = diabetes
    once = LinearConstraint(np.ones(10), 0.5, 0.5)
    rows = np.vstack([np.ones(10), 2.0 * np.ones(10), np.zeros(10), np.eye(10), -np.eye(10)])
    lower, upper = np.full(23, -9.0), np.full(23, 9.0)
    lower[:3] = upper[:3] = 0.5, 1.0, 0.0
    models = [
        PdproxRegressor(0.01, constraints=constraint, tol=1e-8).fit(X, y)
        for constraint in (once, [LinearConstraint(rows, lower, upper)])
    ]
    np.testing.assert_allclose(models[0].coef_, models[1].coef_, atol=1e-5)
    assert models[1].constraint_multipliers_.shape == (23,)


# Of so few alphas the best is often an end.
@pytest.mark.filterwarnings("ignore:.*end of the grid")
def test_paths_and_searches(diabetes):
    X, y = diabetes
    monotone = LinearConstraint(np.diff(np.eye(10), axis=0), 0.0, np.inf)
    estimator = PdproxRegressor(loss="squared", constraints=monotone, tol=1e-7)
    models = regularization_path(estimator, X, y, alphas=[0.3, 0.1, 0.01])
    for alpha, coef in zip(models.alphas, models.coefs, strict=True):
        single = clone(estimator).set_params(alpha=alpha).fit(X, y)
        np.testing.assert_allclose(coef, single.coef_, atol=1e-3)
        assert np.all(np.diff(coef) >= 0.0)
    search = GridSearchCV(estimator, {"alpha": [0.1, 0.01]}, cv=3).fit(X, y)
    chosen = PathCV(estimator, alphas=[0.1, 0.01], cv=3).fit(X, y)
    assert chosen.alpha_ == search.best_params_["alpha"]
    np.testing.assert_allclose(
        chosen.cv_results_["mean_test_score"][::1], search.cv_results_["mean_test_score"],
        atol=1e-4,
    )  # fmt: skip


def test_more_features_than_rows(rng):
    X = rng.standard_normal((40, 100))
    y = X[:, :5].sum(axis=1) + rng.standard_normal(40)
    constraint = LinearConstraint(np.repeat([[1.0, 0.0]], [5, 95], axis=1), 2.0, 2.0)
    wide = PdproxRegressor(0.05, constraints=constraint, tol=1e-7)
    dense, csr = (clone(wide).fit(layout(X), y) for layout in (np.asarray, sparse.csr_array))
    assert dense.converged_ and csr.converged_
    assert dense.certificate_.primal == pytest.approx(csr.certificate_.primal, rel=1e-7)
    assert dense.coef_[:5].sum() == pytest.approx(2.0, rel=1e-13)
    alone = PdproxRegressor(0.05, tol=1e-7).fit(X, y)
    assert alone.certificate_.primal < dense.certificate_.dual


@pytest.mark.parametrize("penalty", ["l1", "linf"])
@pytest.mark.parametrize("seed", range(5))
def test_zeros_are_those_of_linear_programmes(seed, penalty):
    """Whether the penalty makes them, or a limit, as it does alone with the l-infinity norm."""
    rng = np.random.default_rng(seed)
    n, d = 100, 8
    X = rng.standard_normal((n, d))
    y = X[:, 0] - 0.5 * X[:, 1] + rng.standard_normal(n)
    positive = LinearConstraint(np.eye(d), 0.0, np.inf)
    model = PdproxRegressor(0.1, penalty=penalty, constraints=positive, fit_intercept=False)
    coef = model.fit(X, y).coef_
    # in w >= 0, its norm or the parts of that, and the losses
    heights = np.eye(d) if penalty == "l1" else np.ones((d, 1))
    losses = [[s * X, np.zeros((n, heights.shape[1])), -np.eye(n)] for s in (1.0, -1.0)]
    below = np.block([*losses, [np.eye(d), -heights, np.zeros((d, n))]])
    cost = np.r_[np.zeros(d), np.full(heights.shape[1], 0.1), np.full(n, 1.0 / n)]
    exact = linear_optimum(cost, below, np.r_[y, -y, np.zeros(d)]).x[:d]
    np.testing.assert_array_equal(coef == 0.0, np.abs(exact) < 1e-9)
    assert (coef == 0.0).any() and (coef >= 0.0).all()


@pytest.mark.parametrize("seed", range(4))
def test_bounds_and_sums_without_a_penalty(seed):
    """The absolute loss over a simplex with a least share, against a linear programme."""
    rng = np.random.default_rng(seed)
    n, d, lower = 40, 5, np.array([0.1, 0.0, 0.0, 0.0, 0.0])
    X = rng.normal(size=(n, d))
    y = X @ rng.dirichlet(np.ones(d)) + 0.3 * rng.standard_t(2, n)
    whole = LinearConstraint(np.ones((1, d)), 1.0, 1.0)
    model = PdproxRegressor(
        alpha=0, loss="absolute", bounds=(lower, 1.0), constraints=whole, tol=1e-9
    ).fit(X, y)
    # coefficients, the intercept, and the sizes of the residuals
    ones, sizes = np.ones((n, 1)), -np.eye(n)
    A = np.vstack([np.hstack([X, ones, sizes]), np.hstack([-X, -ones, sizes])])
    equal = np.append(np.ones(d), np.zeros(n + 1))[np.newaxis]
    programme = linear_optimum(
        np.append(np.zeros(d + 1), np.full(n, 1.0 / n)), A, np.append(y, -y), A_eq=equal,
        b_eq=[1.0], bounds=[*((low, 1.0) for low in lower), (None, None), *[(0.0, None)] * n],
    )  # fmt: skip
    certificate = model.certificate_
    assert certificate.dual <= programme.fun + 1e-9 <= certificate.primal + 1e-8
    np.testing.assert_allclose(model.coef_.sum(), 1.0, rtol=1e-9)
    assert np.all(model.coef_ >= lower - 1e-9)
    assert model.constraint_multipliers_.shape == (2,)  # of the sum, then of the first bound


def test_bounds_that_exclude_0(diabetes):
    """As bounded least squares of SciPy finds, for arrays and for names of columns."""
    X, y = diabetes
    lower, upper = np.full(10, -np.inf), np.full(10, np.inf)
    lower[2], upper[3] = 30.0, -1.0
    Z = X - X.mean(axis=0)
    scale = np.sqrt(0.1 * len(y))
    rows = np.vstack([Z, scale * np.eye(10)])
    right = lsq_linear(rows, np.append(y - y.mean(), np.zeros(10)), (lower, upper), tol=1e-12).x
    model = PdproxRegressor(alpha=0.1, loss="squared", penalty="l2", tol=1e-10)
    found = clone(model).set_params(bounds=(lower, upper)).fit(X, y)
    np.testing.assert_allclose(found.coef_, right, atol=1e-3)
    frame = pd.DataFrame(X, columns=list("abcdefghij"))
    named = clone(model).set_params(bounds={"c": (30.0, None), "d": (None, -1.0)}).fit(frame, y)
    np.testing.assert_allclose(named.coef_, found.coef_, rtol=1e-9)
    with pytest.raises(ValueError, match="lower <= 0 <= upper"):
        ElasticNetPD(bounds=(1.0, 2.0)).fit(X, y)
