"""The lasso estimators and their solvers against scikit-learn's and the papers."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.linear_model import ElasticNet as TheirElasticNet
from sklearn.linear_model import Lasso

from skpd import LassoPDCertified, LassoPDCertifiedCV, PdproxRegressor
from skpd.designs import Design
from skpd.losses import Absolute, Huber, Logistic, Squared, SquaredHinge
from skpd.penalties import L1, Box, ElasticNet, L2Norm, NonNegativeL1
from skpd.problems import Point, linear_problem
from skpd.solvers import METHODS, check_solver_options, solve
from tests.designs.test_design import with_long_indices
from tests.oracles.draws import Draws
from tests.oracles.iterates import iterates
from tests.oracles.reference import conic_solution
from tests.oracles.scikit_learn import l1_logistic

# Grids of two or three alphas are fast, and their best is often an end.
pytestmark = pytest.mark.filterwarnings("ignore:.*end of the grid")


LAYOUTS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "CSR": sp.csr_array,
    "CSC": sp.csc_matrix,
    "float32": lambda X: X.astype(np.float32),
    "CSC float32": lambda X: sp.csc_array(X.astype(np.float32)),
    "CSR int64": lambda X: with_long_indices(sp.csr_array(X)),
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
}


def data(rng, n=80, d=15):
    X = np.round(rng.normal(size=(n, d)) + 0.3, 2) * (rng.random((n, d)) < 0.6)
    return X, X[:, :4].sum(axis=1) - 2 * X[:, 3] + 0.3 * rng.normal(size=n) + 3


@pytest.mark.parametrize("solver", ["auto", "cd"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_same_as_scikit_learn(layout, solver, rng):
    for k in range(3):
        X, y = data(rng)
        X = LAYOUTS[layout](X)
        weights = [None, rng.random(len(y)), rng.integers(0, 3, len(y)).astype(float)][k]
        for positive in (False, True):
            arguments = {"alpha": 0.05, "positive": positive, "fit_intercept": k != 1}
            exact = (X.toarray() if sp.issparse(X) else X).astype(np.float64)
            theirs = Lasso(**arguments, tol=2e-15 * len(y), max_iter=10**5).fit(exact, y, weights)
            ours = LassoPDCertified(**arguments, tol=2e-13, solver=solver, random_state=k)
            ours.fit(X, y, weights)
            # the least of objective values equal up to rounding fixes coefficients to its root
            atol = 1e-8 if solver == "auto" else 1e-7
            rtol = 1e-7 if ours.coef_.dtype == np.float32 else 0.0
            assert_allclose(ours.coef_, theirs.coef_, rtol=rtol, atol=atol)
            assert_allclose(ours.intercept_, theirs.intercept_, rtol=rtol, atol=3 * atol)


def problem_of(X, y, loss, penalty, alpha, fit_intercept=True):
    n = X.shape[0]
    return linear_problem(Design(X), y, np.full(n, 1 / n), loss, penalty, alpha, fit_intercept)


@pytest.mark.parametrize("solver", ["cd", "approx"])
@pytest.mark.parametrize("loss, penalty", [
    (Logistic(), L1()), (Squared(), ElasticNet(0.4)), (SquaredHinge(), L1()),
    (Huber(), NonNegativeL1()), (Squared(), Box(lower=-0.1, upper=0.2)),
], ids=str)  # fmt: skip
def test_other_smooth_losses_and_separable_penalties(loss, penalty, solver, rng):
    """The certified gap closes at the solution of scikit-learn or, where it has none, Clarabel."""
    X, z = data(rng)
    y = z if isinstance(loss, Squared | Huber) else np.where(z > np.median(z), 1.0, -1.0)
    problem = problem_of(X, y, loss, penalty, 0.02)
    options = {"max_iter": 4000, "random_state": np.random.RandomState(1)}
    found = solve(problem, solver, tol=1e-6, **options)
    assert found.converged
    found = solve(problem, solver, tol=1e-10 if solver == "cd" else 1e-7, **options)
    if isinstance(loss, Logistic):
        coef = l1_logistic(1.0, C=1 / (0.02 * len(y))).fit(X, y).coef_[0]
    elif isinstance(penalty, ElasticNet):
        model = TheirElasticNet(alpha=0.02, l1_ratio=0.4, tol=1e-12, max_iter=10**5)
        coef = model.fit(X, y).coef_
    else:
        value, coef, _ = conic_solution(X, y, problem.weights, loss, penalty, 0.02, True)
        assert_allclose(found.certificate.primal, value, rtol=1e-6)
    assert_allclose(found.coef, coef, atol=1e-3)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_algorithm_1_as_printed(fit_intercept, rng):
    """Exact minimisation along random coordinates; the average of the last T - T_0 iterates."""
    X, y = data(rng, n=12, d=4)
    n, alpha, epochs = 12, 0.1, 9
    problem = problem_of(X, y, Squared(), L1(), alpha, fit_intercept)
    centred = X - X.mean(axis=0) if fit_intercept else X
    targets = y - y.mean() if fit_intercept else y
    w, draw, kept = np.zeros(4), Draws(3, 4), []
    for _ in range(epochs * 4):
        j = draw()
        rest = targets - centred @ w + centred[:, j] * w[j]
        best = centred[:, j] @ rest / n
        w[j] = np.sign(best) * max(abs(best) - alpha, 0.0) / (centred[:, j] @ centred[:, j] / n)
        kept.append(w.copy())
    last = iterates(problem, "cd", epochs, seed=3, average=False)[epochs]
    assert_allclose(last.coef, w, atol=1e-12)
    assert_allclose(last.dual_coef, centred @ w - targets, atol=1e-12)
    for burn_in, first in ((0.0, 0), (0.5, 5 * 4)):
        mean = iterates(problem, "cd", epochs, seed=3, burn_in=burn_in)[epochs]
        expected = np.mean(kept[first:], axis=0)
        assert_allclose(mean.coef, expected, atol=1e-12)
        assert_allclose(mean.dual_coef, centred @ expected - targets, atol=1e-12)


@pytest.fixture(scope="module")
def hard():
    """A lasso on which coordinate descent is slow, and its optimal value by scikit-learn."""
    rng = np.random.default_rng(4)
    common = rng.normal(size=(300, 1))
    X = np.hstack([common + 0.15 * rng.normal(size=(300, 60)), rng.normal(size=(300, 20))])
    y = X @ np.where(rng.random(80) < 0.3, rng.normal(size=80), 0.0) + rng.normal(size=300)
    problem = problem_of(X, y, Squared(), L1(), 1.0, False)
    problem = problem.with_alpha(problem.largest_alpha / 300)
    theirs = Lasso(problem.alpha, fit_intercept=False, tol=1e-14, max_iter=10**6).fit(X, y)
    value = np.mean((y - X @ theirs.coef_) ** 2) / 2 + problem.alpha * np.abs(theirs.coef_).sum()
    return problem, X, value


def gaps(problem, X, points):
    """Dünner et al.'s duality gap of the lasso at the points, with B = P / alpha."""
    n, y, alpha = len(problem.y), problem.y, problem.alpha
    found = {}
    for t, point in points.items():
        theta = X @ point.coef - y
        primal = theta @ theta / (2 * n) + alpha * np.abs(point.coef).sum()
        u = X.T @ theta / n
        excess = max(np.abs(u).max() - alpha, 0.0)
        radius = min(primal, y @ y / (2 * n)) / alpha
        found[t] = alpha * np.abs(point.coef).sum() + point.coef @ u + radius * excess
    return found


def test_rates(hard):
    """The gap of the average of all iterates falls as 1 / t, far behind the last iterate's;
    the objective of APPROX obeys the bound of its Theorem 3, which falls as 1 / t^2."""
    problem, X, value = hard
    n, y, alpha = len(problem.y), problem.y, problem.alpha
    average = gaps(problem, X, iterates(problem, "cd", 3000, burn_in=0.0))
    times = np.array([t for t in average if t >= 300])
    slope = np.polyfit(np.log(times), np.log([average[t] for t in times]), 1)[0]
    assert -1.4 < slope < -0.7
    last = gaps(problem, X, iterates(problem, "cd", 3000, average=False))
    assert last[3000] < 1e-2 * average[3000]

    def objective(point):
        residual = X @ point.coef - y
        return residual @ residual / (2 * n) + alpha * np.abs(point.coef).sum()

    # Theorem 3 of Fercoq and Richtarik, tau = 1, k = d t, in expectation:
    # F(x_k) - F* <= 4 d^2 C / (k - 1 + 2 d)^2, C = (1 - 1 / d) (F(0) - F*) + ||x*||_L^2 / 2
    d = X.shape[1]
    theirs = Lasso(alpha, fit_intercept=False, tol=1e-14, max_iter=10**6).fit(X, y)
    distance = theirs.coef_**2 @ (X**2).sum(axis=0) / n
    C = (1 - 1 / d) * (y @ y / (2 * n) - value) + distance / 2
    runs = [iterates(problem, "approx", 1000, seed=seed) for seed in range(3)]
    for t in (10, 100, 1000):
        mean = np.mean([objective(run[max(s for s in run if s <= t)]) - value for run in runs])
        assert mean <= 4 * d**2 * C / (0.9 * d * t - 1 + 2 * d) ** 2
    gap = gaps(problem, X, runs[0])
    assert gap[1000] < gap[10] / 100**1.5


def test_it_stops_where_it_has_to(hard):
    problem, _, value = hard
    for solver in ("cd", "approx"):
        random_state = np.random.RandomState(0)
        found = solve(problem, solver, tol=1e-2, max_iter=5000, random_state=random_state)
        assert found.converged and found.n_iter < 5000
        assert (
            found.certificate.dual <= value * (1 + 1e-12) <= found.certificate.primal * (1 + 2e-12)
        )
        assert found.history["n_iter"][1:11].tolist() == list(range(1, 11))
        start = Point(found.coef, found.intercept, found.dual_coef)
        again = solve(
            problem, solver, tol=5e-3, max_iter=5000, random_state=random_state, start=start
        )
        assert again.converged


# Some of the models that it fits are constant.
@pytest.mark.filterwarnings("ignore:.*all coefficients are 0")
def test_columns_that_do_not_move(rng):
    X, y = data(rng)
    X[:, 3] = 0.0
    X[:, 5] = X[:, 6]
    for solver in ("cd", "approx"):
        for table in (X, X * 1e-170, np.zeros_like(X), X[:, :1], X[:1]):
            model = LassoPDCertified(0.05, solver=solver, tol=1e-3, max_iter=2000, random_state=0)
            model.fit(table, y[: len(table)])
            assert model.converged_ and np.isfinite(model.coef_).all()
            if table is X:
                assert model.coef_[3] == 0.0


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_columns_far_from_0(container, rng):
    """An intercept that is minimised over makes the means of the columns matter no more."""
    X, y = data(rng)
    X = np.where(X != 0.0, X + 1000.0, 0.0) if container is sp.csr_array else X + 1000.0
    theirs = Lasso(0.05, tol=1e-12, max_iter=10**6).fit(X, y)
    for solver in ("cd", "approx"):
        ours = LassoPDCertified(0.05, solver=solver, tol=1e-7, max_iter=3000, random_state=0)
        ours.fit(container(X), y)
        assert ours.converged_
        value = np.mean((y - theirs.predict(X)) ** 2) / 2 + 0.05 * np.abs(theirs.coef_).sum()
        assert ours.certificate_.dual <= value * (1 + 1e-9)
        assert value <= ours.certificate_.primal * (1 + 1e-6)
    X[:, 2] = 7.0  # constant beside the intercept
    ours = LassoPDCertified(0.05, solver="cd", tol=1e-6, random_state=0).fit(container(X), y)
    assert ours.converged_ and ours.coef_[2] == 0.0


def test_unfit_problems_are_refused(rng):
    X, y = data(rng)
    arguments = {"tol": 1e-3, "max_iter": 10, "random_state": np.random.RandomState(0)}
    for solver in ("cd", "approx"):
        with pytest.raises(ValueError, match=r"smooth loss.*got Absolute\(\)"):
            solve(problem_of(X, y, Absolute(), L1(), 0.1), solver, **arguments)
        with pytest.raises(ValueError, match=r"single coefficients.*with L2Norm\(\)"):
            solve(problem_of(X, y, Squared(), L2Norm(), 0.1), solver, **arguments)
        with pytest.raises(ValueError, match=r"or without an intercept .* l2 norm in it, got Abs"):
            PdproxRegressor(loss="absolute", penalty="l2", solver=solver).fit(X, y)
    with pytest.raises(ValueError, match="'solver' parameter of LassoPDCertified"):
        LassoPDCertified(solver="pdprox-dual").fit(X, y)
    for options in ({"average": 1}, {"burn_in": 1.0}, {"burn_in": -0.1}, {"burn_in": "x"}):
        with pytest.raises(ValueError, match="must be"):
            check_solver_options(METHODS["cd"], options)
    with pytest.raises(ValueError, match=r"'coordinates_per_step'.*'variables', got 'average'"):
        LassoPDCertified(solver="approx", solver_options={"average": True}).fit(X, y)
    with pytest.raises(ValueError, match="1d array"):
        LassoPDCertifiedCV().fit(X, np.column_stack([y, y]))
