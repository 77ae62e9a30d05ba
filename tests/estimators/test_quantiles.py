"""Quantiles that do not cross: the loss, the problem, the solvers and QuantilePD."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import LinearConstraint, minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import d2_pinball_score, mean_pinball_loss
from sklearn.model_selection import GridSearchCV

from skpd import MultiTaskPD, PdproxRegressor, QuantilePD, certify
from skpd.designs import Design
from skpd.losses import NonCrossingPinball, Pinball
from skpd.penalties import L1
from skpd.problems.output_rows import outputs_problem
from skpd.solvers import Monitor, SolverContext
from skpd.solvers.hybrid_gradient.restarted import hybrid_gradient
from tests.losses.test_quantile_losses import random_quantiles
from tests.oracles.optima import linear_optimum

THREE = (0.1, 0.5, 0.9)


def heteroscedastic(rng, n=30, d=8):
    """Few samples for so many features, with noise that grows with the last one."""
    X = rng.normal(size=(n, d))
    return X, X[:, 0] + (0.2 + np.abs(X[:, -1])) * rng.normal(size=n)


def objective(model, X, y, weights=None):
    """That of a model with the l1 norm, by its definition."""
    z = model.predict(X)
    of_quantiles = (
        mean_pinball_loss(y, z[:, k], sample_weight=weights, alpha=quantile)
        for k, quantile in enumerate(model.quantiles)
    )
    return sum(of_quantiles) + model.alpha * np.abs(model.coef_).sum()


def optimum(X, y, quantiles, alpha, weights=None):
    """The least objective with the l1 norm and the order, by HiGHS."""
    (n, d), K, eye = X.shape, len(quantiles), np.eye(len(quantiles))
    weights = np.ones(n) if weights is None else weights
    c, counted = weights / weights.sum(), weights > 0.0
    data = np.hstack([X, -X, np.ones((n, 1))])  # of w+, w- and b
    steps = np.kron(np.diff(eye, axis=0), data[counted])
    slopes = np.ravel(np.outer(quantiles, c))
    cost = np.tile(np.append(np.full(2 * d, alpha), 0.0), K)
    bounds = ([(0.0, None)] * (2 * d) + [(None, None)]) * K + [(0.0, None)] * (2 * n * K)
    found = linear_optimum(
        np.concatenate([cost, np.tile(c, K) - slopes, slopes]),
        A_eq=np.hstack([np.kron(eye, data), -np.eye(n * K), np.eye(n * K)]), b_eq=np.tile(y, K),
        A_ub=np.hstack([-steps, np.zeros((len(steps), 2 * n * K))]), b_ub=np.zeros(len(steps)),
        bounds=bounds, options={"dual_feasibility_tolerance": 1e-10,
                                "primal_feasibility_tolerance": 1e-10},
    )  # fmt: skip
    assert found.status == 0
    return found.fun


# The loss


@pytest.mark.parametrize(
    "bad", [(), (0.5, 0.5), (0.9, 0.1), (0.0, 0.5), (0.5, 1.0), (0.5, "x"), [[0.1]]]
)
def test_quantiles_must_increase(bad, rng):
    X, y = heteroscedastic(rng)
    for fail in (lambda: NonCrossingPinball(bad), lambda: QuantilePD(bad).fit(X, y)):
        with pytest.raises(ValueError, match="quantiles must be strictly increasing numbers in"):
            fail()


def test_several_targets_do_not_take_it(rng):
    X, y = heteroscedastic(rng)
    with pytest.raises(ValueError, match="fit QuantilePD for it"):
        MultiTaskPD(loss=NonCrossingPinball(THREE), alpha=1e-3).fit(X, np.column_stack([y, y, y]))


# Optimal values


@pytest.mark.parametrize("seed", range(6))
def test_the_linear_programme(seed):
    """Bounds around HiGHS's optimum, and no crossing where quantiles alone would cross."""
    rng = np.random.default_rng(seed)
    X, y = heteroscedastic(rng, n=int(rng.integers(15, 40)))
    weights = rng.choice([0.0, 1.0, 3.0], len(y)) if seed % 2 else None
    quantiles, alpha = random_quantiles(rng, int(rng.integers(2, 6))), 3e-3
    best = optimum(X, y, quantiles, alpha, weights)
    model = QuantilePD(quantiles, alpha=alpha, tol=1e-9).fit(X, y, sample_weight=weights)
    found, counted = model.certificate_, slice(None) if weights is None else weights > 0.0
    assert model.converged_ and model.solver_ in ("multipliers", "interior-point")
    assert_allclose([found.primal, found.dual], best, rtol=1e-8)
    assert found.dual <= best * (1.0 + 1e-12)
    assert_allclose(objective(model, X, y, weights), found.primal, rtol=1e-12)
    z = model.predict(X[counted])
    assert np.diff(z, axis=1).min() >= -1e-12 * np.abs(z).max()
    alone = [
        PdproxRegressor(alpha, loss=Pinball(q)).fit(X, y, sample_weight=weights) for q in quantiles
    ]
    crossing = np.diff([one.predict(X[counted]) for one in alone], axis=0)
    assert crossing.min() < -1e-3


# Some of the models that it fits are constant.
@pytest.mark.filterwarnings("ignore:.*all coefficients are 0")
@pytest.mark.parametrize("kind", ["ties", "constant", "far", "twice", "indicators", "one row"])
def test_data_that_is_special(kind, rng):
    X, y = heteroscedastic(rng, n=25, d=6)
    if kind == "ties":
        y = np.round(y)
    elif kind == "constant":
        y = np.full(25, 3.7)
    elif kind == "far":
        X = X + 1e3
    elif kind == "twice":
        X = np.hstack([X, X])
    elif kind == "indicators":
        X = (X > 0.8).astype(np.float64)
    else:
        X, y = X[:1], y[:1]
    model = QuantilePD(THREE, alpha=1e-3, tol=1e-8).fit(X, y)
    best = optimum(X, y, THREE, 1e-3)
    assert model.converged_
    assert_allclose(model.certificate_.primal, best, rtol=1e-6, atol=1e-12)
    assert model.certificate_.dual <= best * (1.0 + 1e-12) + 1e-15
    z = model.predict(X)
    assert np.diff(z, axis=1).min() >= -1e-12 * np.abs(z).max()


@pytest.mark.parametrize("penalty", ["l2", "l21"])
def test_smooth_penalties(penalty, rng):
    """Against SLSQP, at an optimum where no row of coefficients is 0."""
    X, y = heteroscedastic(rng, n=14, d=2)
    (n, d), K, alpha = X.shape, 2, 0.02
    quantiles = np.array([0.4, 0.6])

    def parts(x):
        return x[: d * K].reshape(d, K), x[d * K : d * K + K], x[d * K + K :].reshape(n, K)

    def value(x):
        W, _, excess = parts(x)
        of_rows = np.sum(W * W, axis=1)
        of_W = 0.5 * of_rows.sum() if penalty == "l2" else np.sqrt(of_rows).sum()
        return excess.sum() / n + alpha * of_W

    constraints = []
    for linear, least in (
        (lambda W, b, t: t - (1.0 - quantiles) * (X @ W + b), -np.outer(y, 1.0 - quantiles)),
        (lambda W, b, t: t + quantiles * (X @ W + b), np.outer(y, quantiles)),
        (lambda W, b, t: np.diff(X @ W + b, axis=1), np.zeros((n, 1))),
    ):
        rows = [np.ravel(linear(*parts(unit))) for unit in np.eye(d * K + K + n * K)]
        constraints.append(LinearConstraint(np.array(rows).T, np.ravel(least), np.inf))
    first = np.concatenate([np.full(d * K, 0.1), np.zeros(K), np.full(n * K, np.abs(y).max() + 1)])
    expected = minimize(value, first, method="SLSQP", constraints=constraints,
                        options={"ftol": 1e-14, "maxiter": 500})  # fmt: skip
    model = QuantilePD(quantiles, alpha=alpha, penalty=penalty, tol=1e-9).fit(X, y)
    assert model.converged_ and model.solver_ in ("multipliers", "interior-point")
    assert_allclose(model.certificate_.primal, expected.fun, rtol=1e-6)
    assert_allclose(model.certificate_.dual, expected.fun, rtol=1e-6)


# Certificates on the way


# Some of the models that it fits are constant.
@pytest.mark.filterwarnings("ignore:.*all coefficients are 0")
@pytest.mark.parametrize("solver", ["auto", "pdprox-dual", "pdprox-primal"])
@pytest.mark.parametrize("max_iter", [1, 3, 30])
def test_the_certificate_of_any_iterate(solver, max_iter, rng):
    X, y = heteroscedastic(rng)
    best = optimum(X, y, THREE, 1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = QuantilePD(THREE, solver=solver, max_iter=max_iter, tol=1e-12).fit(X, y)
    assert model.certificate_.dual <= best <= model.certificate_.primal
    assert_allclose(objective(model, X, y), model.certificate_.primal, rtol=1e-12)
    z = model.predict(X)
    assert np.diff(z, axis=1).min() >= -1e-12 * np.abs(z).max()


def problem_of(X, y, alpha):
    loss, n = NonCrossingPinball(THREE), len(y)
    return outputs_problem(
        Design(X), np.repeat(y[:, np.newaxis], 3, axis=1), np.full(n, 1.0 / n), loss, L1(),
        alpha=alpha, fit_intercept=True,
    )  # fmt: skip


def test_the_hybrid_gradient(rng):
    """What is left where a Newton system has no room."""
    X, y = heteroscedastic(rng, n=40, d=4)
    problem = problem_of(X, y, 0.01)
    monitor = Monitor(problem, 1e-4)
    monitor.begin()
    hybrid_gradient(SolverContext(problem, monitor, None, 20_000, np.random.RandomState(0)))
    best = optimum(X, y, THREE, 0.01)
    assert monitor.relative_gap <= 1e-4
    assert monitor.dual <= best <= monitor.primal


def test_intercepts_are_raised_where_models_cross(rng):
    """By the largest crossing with the quantile before, as that was raised itself."""
    X, y = heteroscedastic(rng, n=10, d=1)
    X[:, 0] = np.linspace(-1.0, 1.0, 10)
    problem = problem_of(X, y, 0.01)
    coef, crossing = np.array([0.0, 1.0, 0.0]), np.zeros(3)
    assert problem.mean_loss(coef, crossing, 0.0) == np.inf
    same, raised = problem.feasible_model(coef, crossing)
    assert_array_equal(same, coef)
    assert_allclose(raised, [0.0, 1.0, 2.0])
    z = X * coef + raised
    expected = sum(mean_pinball_loss(y, z[:, k], alpha=q) for k, q in enumerate(THREE))
    assert_allclose(problem.mean_loss(coef, raised, 0.0), expected)
    assert_array_equal(problem.feasible_model(coef, raised)[1], raised)


def test_certify(rng):
    X, y = heteroscedastic(rng)
    model = QuantilePD(THREE, tol=1e-6).fit(X, y)
    best = optimum(X, y, THREE, 1e-3)
    for rigorous in (False, True):
        found = certify(model, X, y, rigorous=rigorous)
        assert found.dual <= best <= found.primal
        assert_allclose(found.primal, model.certificate_.primal, rtol=1e-12)
        assert found.relative_gap < 2e-6
    model.intercept_ = model.intercept_ - [0.0, 0.0, 10.0]
    assert certify(model, X, y).primal == np.inf


# The estimator


@pytest.mark.parametrize("penalty", ["l1", "l2", "l21"])
def test_one_quantile(penalty, rng):
    X, y = heteroscedastic(rng)
    model = QuantilePD((0.3,), alpha=0.02, penalty=penalty, tol=1e-9).fit(X, y)
    name = "l1" if penalty == "l21" else penalty
    other = PdproxRegressor(0.02, loss=Pinball(0.3), penalty=name, tol=1e-9).fit(X, y)
    assert model.coef_.shape == (1, 8) and model.intercept_.shape == (1,)
    assert_allclose(model.certificate_.primal, other.certificate_.primal, rtol=1e-8)
    assert_allclose(model.predict(X)[:, 0], other.predict(X), atol=1e-6)


def test_no_crossing_in_the_hull(rng):
    X, y = heteroscedastic(rng)
    model = QuantilePD(THREE).fit(X, y)
    inside = rng.dirichlet(np.full(len(X), 0.1), 500) @ X
    assert np.diff(model.predict(inside), axis=1).min() >= -1e-12


@pytest.mark.filterwarnings("ignore:.*is less precise in float32")
@pytest.mark.parametrize("container", [sp.csr_array, sp.csc_matrix, np.asfortranarray])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_layouts_and_types(container, dtype, rng):
    X, y = heteroscedastic(rng)
    X = (X * (np.abs(X) > 0.5)).astype(dtype)
    dense = QuantilePD(THREE, tol=1e-8).fit(X.astype(np.float64), y)
    model = QuantilePD(THREE, tol=1e-8).fit(container(X), y)
    assert_allclose(model.certificate_.primal, dense.certificate_.primal, rtol=1e-7)
    z = model.predict(container(X))
    assert z.shape == (30, 3)
    assert np.diff(z, axis=1).min() >= -1e-12 * np.abs(z).max()


def test_the_score_is_the_mean_of_d2(rng):
    X, y = heteroscedastic(rng)
    weights = rng.uniform(size=len(y))
    model = QuantilePD(THREE).fit(X, y)
    expected = [
        d2_pinball_score(y, z, sample_weight=weights, alpha=q)
        for q, z in zip(THREE, model.predict(X).T, strict=True)
    ]
    assert_allclose(model.score(X, y, sample_weight=weights), np.mean(expected))
    search = GridSearchCV(QuantilePD(THREE), {"alpha": [1e-3, 0.1]}, cv=3).fit(X, y)
    assert search.best_params_["alpha"] == 0.1


def test_what_rounding_forbids_ends_soon():
    """Of 50,000 iterations some thousands are enough to see that the gap no longer falls."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 3))
    y = X[:, 0] + rng.standard_normal(20)
    model = QuantilePD([0.1, 0.5, 0.9], alpha=0.01)
    with pytest.warns(ConvergenceWarning, match="Rounding of numbers of this size"):
        model.fit(X * 1e60, y * 1e60)
    assert model.n_iter_ < 10_000


@pytest.mark.parametrize("together", [True, False])
def test_conformal_intervals_of_mapie(together, rng):
    """Intervals are the quantiles moved by a number for each side, and hold new targets."""
    mapie = pytest.importorskip("mapie.regression", reason="MAPIE is optional")
    X = rng.normal(size=(2400, 3))
    y = X[:, 0] + np.exp(0.5 * X[:, 1]) * rng.gamma(1.0, 2.0, 2400)
    levels, fitted = (0.05, 0.95, 0.5), slice(0, 200)
    if together:
        quantiles = QuantilePD((0.05, 0.5, 0.95), alpha=1e-3).fit(X[fitted], y[fitted])
        models = [quantiles.regressor(level) for level in levels]
    else:
        models = [
            PdproxRegressor(1e-3, loss="pinball", quantile=level).fit(X[fitted], y[fitted])
            for level in levels
        ]
    conformal = mapie.ConformalizedQuantileRegressor(models, confidence_level=0.9, prefit=True)
    conformal.conformalize(X[200:1200], y[200:1200])
    low, high = conformal.predict_interval(X[1200:])[1][:, :, 0].T
    assert np.ptp(low - models[0].predict(X[1200:])) <= 1e-9
    assert np.ptp(high - models[1].predict(X[1200:])) <= 1e-9
    # with 1,000 rows the coverage has a standard deviation of 0.01, and its share that of 0.009
    assert 0.86 <= np.mean((low <= y[1200:]) & (y[1200:] <= high)) <= 0.94
