"""The lasso estimators and their solvers against scikit-learn's and the papers."""

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import ElasticNet as TheirElasticNet
from sklearn.linear_model import Lasso, LassoCV
from sklearn.model_selection import GroupKFold

from skpd import (
    ElasticNetPDCV,
    LassoPDCertified,
    LassoPDCertifiedCV,
    PdproxRegressor,
    regularization_path,
)
from skpd.designs import Design
from skpd.losses import Absolute, Huber, Logistic, Squared, SquaredHinge
from skpd.penalties import L1, Box, ElasticNet, L2Norm, NonNegativeL1
from skpd.problems import Point, linear_problem
from skpd.solvers import METHODS, Monitor, SolverContext, check_solver_options, solve
from tests.oracles.draws import Draws
from tests.oracles.reference import conic_solution
from tests.oracles.scikit_learn import l1_logistic

# Grids of two or three alphas are fast, and their best is often an end.
pytestmark = pytest.mark.filterwarnings("ignore:.*end of the grid")


def with_long_indices(X):
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


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


class Trace:
    """A monitor that keeps the iterates instead of judging them."""

    done, n_iter, tol, goal = False, 0, 0.0, 0.0

    def __init__(self):
        self.points = {}

    def check(self, n_iter, point):
        self.points[n_iter] = point

    def goal_at(self, primal, dual):
        return self.goal


def iterates(problem, solver, epochs, seed=0, start=None, **options):
    trace = Trace()
    random_state = np.random.RandomState(seed)
    METHODS[solver].run(SolverContext(problem, trace, start, epochs, random_state), **options)
    return trace.points


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


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_approx_is_algorithm_1_of_fercoq_and_richtarik(fit_intercept, rng):
    """The form with full vectors x, y, z, of which Algorithm 2 is a change of variables."""
    X, y = data(rng, n=12, d=4)
    n, alpha, epochs = 12, 0.1, 6
    problem = problem_of(X, y, Squared(), L1(), alpha, fit_intercept)
    if fit_intercept:
        X, y = X - X.mean(axis=0), y - y.mean()
    L = (X**2).sum(axis=0) / n
    draw, x, theta = Draws(5, 4), np.zeros(4), 1 / 4
    z = x.copy()
    for _ in range(epochs * 4):
        between = (1 - theta) * x + theta * z
        j = draw()
        step = 1 / (4 * theta * L[j])
        v = z[j] - step * (X[:, j] @ (X @ between - y) / n)
        after = z.copy()
        after[j] = np.sign(v) * max(abs(v) - step * alpha, 0.0)
        x, z = between + 4 * theta * (after - z), after
        theta = (np.sqrt(theta**4 + 4 * theta**2) - theta**2) / 2
    found = iterates(problem, "approx", epochs, seed=5)[epochs]
    assert_allclose(found.coef, x, atol=1e-12)


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


def test_warm_start_and_path(rng):
    X, y = data(rng)
    for solver in ("auto", "cd", "approx"):
        model = LassoPDCertified(0.05, solver=solver, tol=1e-5, warm_start=True, random_state=0)
        model.fit(X, y)
        assert model.fit(X, y).n_iter_ == 0
    found = regularization_path(LassoPDCertified(tol=1e-12), X, y, alphas=10, eps=1e-2)
    centred = X - X.mean(axis=0)
    assert_allclose(found.alphas[0], np.abs(centred.T @ (y - y.mean())).max() / len(y))
    for alpha, coef in zip(found.alphas, found.coefs, strict=True):
        theirs = Lasso(alpha, tol=1e-14, max_iter=10**5).fit(X, y)
        assert_allclose(coef, theirs.coef_, atol=1e-6)


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.usefixtures("alphas_of_scikit_learn")
def test_cross_validation_is_scikit_learns(container, weighted, positive, rng):
    X, y = data(rng, n=60, d=8)
    weights = rng.random(60) if weighted else None
    arguments = {"alphas": 12, "cv": 4, "positive": positive}
    ours = LassoPDCertifiedCV(**arguments, tol=1e-12, n_jobs=2).fit(container(X), y, weights)
    theirs = LassoCV(**arguments, tol=1e-14, max_iter=10**5).fit(X, y, weights)
    assert_allclose(ours.alphas_, theirs.alphas_)
    assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-6)
    assert_allclose(ours.alpha_, theirs.alpha_)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-7)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-7)
    assert ours.converged_ and ours.certificate_.relative_gap <= 1e-12
    assert ours.duality_gap_ == ours.certificate_.gap == ours.gap_history_["gap"][-1]


@pytest.mark.filterwarnings("ignore:.*all coefficients are 0")
@pytest.mark.filterwarnings("ignore:LassoPDCertifiedCV did not converge. after")
def test_cross_validation_options(rng):
    X, y = data(rng, n=60, d=8)
    alphas = [0.01, 1.0, 0.1]
    ours = LassoPDCertifiedCV(alphas=alphas, cv=[(np.arange(40), np.arange(40, 60))], solver="cd",
                              random_state=0)  # fmt: skip
    ours.fit(X, y)
    theirs = LassoCV(alphas=alphas, cv=[(np.arange(40), np.arange(40, 60))], tol=1e-12).fit(X, y)
    assert_allclose(ours.alphas_, theirs.alphas_)
    assert_allclose(ours.mse_path_[:, 0], theirs.mse_path_, rtol=0.01)
    constant = LassoPDCertifiedCV(alphas=3, cv=3).fit(X, np.full(60, 2.0))
    assert not constant.coef_.any() and constant.intercept_ == 2.0
    with pytest.raises(ValueError, match="all train samples of fold 0"):
        LassoPDCertifiedCV(cv=[(np.arange(3), np.arange(3, 60))]).fit(
            X, y, sample_weight=np.arange(60) > 5
        )
    with pytest.raises(ValueError, match="of at least 0, got"):
        LassoPDCertifiedCV(alphas=[0.1, -0.1]).fit(X, y)
    with pytest.warns(ConvergenceWarning, match=r"LassoPDCertifiedCV did not.*10 of 15") as caught:
        LassoPDCertifiedCV(alphas=alphas, solver="cd", tol=1e-9, max_iter=2, random_state=0).fit(
            X, y
        )
    assert {warning.filename for warning in caught} == {__file__}
    assert [warning.category for warning in caught].count(ConvergenceWarning) == 2


@pytest.mark.parametrize("estimator", [LassoPDCertifiedCV, ElasticNetPDCV])
@pytest.mark.parametrize("train, test, message", [
    (np.arange(40), [40, 60], "the test samples of fold 1 are not: index 60 is out of bounds"),
    ([0, -61], np.arange(40), "the train samples of fold 1 are not: index -61 is out of bounds"),
    (np.arange(61) < 9, [50], "the train samples of fold 1 are not: boolean index did not match"),
    (np.arange(4.0), [50], "the train samples of fold 1 are not: arrays used as indices must be"),
])  # fmt: skip
def test_folds_outside_of_the_data(estimator, train, test, message, rng):
    X, y = data(rng, n=60, d=8)
    good = np.arange(30), np.arange(-30, 0)
    with pytest.raises(
        ValueError, match=f"'cv' parameter.* 60 samples, from -60 to 59.*{message}"
    ):
        estimator(cv=[good, (train, test)]).fit(X, y)
    with pytest.raises(ValueError, match="'cv' parameter must yield at least one pair"):
        estimator(cv=[]).fit(X, y)
    masks = [np.arange(60) < 30, np.arange(60) >= 30]
    found = [estimator(cv=[fold], alphas=4).fit(X, y).mse_path_ for fold in (good, masks)]
    assert_array_equal(*found)


def test_cross_validation_routes_metadata(rng):
    from sklearn import config_context

    X, y = data(rng, n=60, d=8)
    groups = np.repeat(np.arange(6), 10)
    with config_context(enable_metadata_routing=True):
        ours = LassoPDCertifiedCV(alphas=4, cv=GroupKFold(3), tol=1e-10).fit(X, y, groups=groups)
        theirs = LassoCV(alphas=4, cv=GroupKFold(3), tol=1e-12).fit(X, y, groups=groups)
    assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-5)
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        LassoPDCertifiedCV().fit(X, y, groups=groups)


class Tasks:
    """The names of the tasks of a fit."""

    def __init__(self):
        self.names = []

    def setup(self, estimator, context): ...
    def teardown(self, estimator, context): ...
    def on_fit_task_begin(self, estimator, context): ...

    def on_fit_task_end(self, estimator, context):
        self.names.append(context.task_name)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_cross_validation_calls_back(n_jobs, rng, callbacks):
    X, y = data(rng, n=60, d=8)
    tasks = Tasks()
    model = LassoPDCertifiedCV(alphas=4, cv=3, n_jobs=n_jobs).set_callbacks(tasks)
    model.fit(X, y)
    assert sorted(tasks.names[:3]) == ["fold 0", "fold 1", "fold 2"]
    assert tasks.names[3:] == ["fit on all data", "fit"]


def test_ctrl_c_ends_a_cross_validation(rng, monkeypatch):
    X, y = data(rng, n=60, d=8)
    check, calls = Monitor.check, []

    def interrupt(self, *arguments):
        calls.append(self)
        if len(calls) == 8:
            raise KeyboardInterrupt
        return check(self, *arguments)

    monkeypatch.setattr(Monitor, "check", interrupt)
    with pytest.raises(KeyboardInterrupt):
        LassoPDCertifiedCV(alphas=10, solver="cd", random_state=0).fit(X, y)
    assert len(calls) <= 8 + 4  # each of the other four folds looks at most once


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("inside", [True, False])  # of a fit, or between two
@pytest.mark.parametrize("estimator", [
    LassoPDCertifiedCV(alphas=6, solver="cd", random_state=0),
    ElasticNetPDCV(l1_ratio=[0.5, 1.0], alphas=3),
], ids=str)  # fmt: skip
def test_ctrl_c_keeps_what_was_cross_validated(estimator, inside, n_jobs, rng, monkeypatch):
    X, y = data(rng, n=60, d=8)
    estimator = clone(estimator).set_params(cv=2, n_jobs=n_jobs)
    whole = clone(estimator).fit(X, y)
    solve_one, calls = type(estimator)._solve, []

    def interrupt(self, *arguments, **options):
        calls.append(self)
        if len(calls) < last:
            return solve_one(self, *arguments, **options)
        if not inside:
            raise KeyboardInterrupt
        return replace(solve_one(self, *arguments, **options), interrupted=True)

    monkeypatch.setattr(type(estimator), "_solve", interrupt)
    for last in (1, 3, 8, 12):
        calls.clear()
        estimator.coef_ = whole.coef_  # of an earlier fit
        with pytest.raises(KeyboardInterrupt, match="fits are finished") as caught:
            estimator.fit(X, y)
        tried = ~np.isnan(estimator.mse_path_)
        assert str(caught.value).startswith(f"{tried.sum()} of 12")
        assert tried.sum() < last and (n_jobs == 2 or tried.sum() == last - 1)
        assert_array_equal(estimator.mse_path_[tried], whole.mse_path_[tried])
        assert_array_equal(estimator.alphas_, whole.alphas_)
        for ours, theirs in zip(estimator.certificates_, whole.certificates_, strict=True):
            for certificates, complete in zip(ours, theirs, strict=True):
                assert certificates == complete[: len(certificates)]
        assert sum(len(path) for paths in estimator.certificates_ for path in paths) == tried.sum()
        everywhere = tried.all(axis=-1)
        assert hasattr(estimator, "alpha_") == everywhere.any()
        if everywhere.any():
            mean = np.where(everywhere, whole.mse_path_.mean(axis=-1), np.inf)
            assert estimator.alpha_ == whole.alphas_.flat[np.argmin(mean)]
        with pytest.raises(NotFittedError):
            estimator.predict(X)


def test_ctrl_c_keeps_the_folds_that_moments_have_solved(rng, monkeypatch):
    X, y = data(rng, n=60, d=8)
    whole = LassoPDCertifiedCV(alphas=6, cv=3).fit(X, y)
    paths, calls = import_module("skpd.formulation.following"), []
    solve_all = paths.path_by_moments

    def interrupt(*arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return solve_all(*arguments)

    monkeypatch.setattr(paths, "path_by_moments", interrupt)
    model = LassoPDCertifiedCV(alphas=6, cv=3)
    with pytest.raises(KeyboardInterrupt, match="6 of 18 fits are finished"):
        model.fit(X, y)
    assert_array_equal(model.mse_path_[:, 0], whole.mse_path_[:, 0])
    assert np.isnan(model.mse_path_[:, 1:]).all() and model.certificates_[0][1:] == [[], []]


def test_ctrl_c_in_the_fit_on_all_data(rng, monkeypatch):
    X, y = data(rng, n=60, d=8)
    whole = LassoPDCertifiedCV(alphas=3, cv=2).fit(X, y)
    model = LassoPDCertifiedCV(alphas=3, cv=2)
    solve_one, begun = LassoPDCertifiedCV._solve, True

    def last(self, problem, **arguments):
        found = solve_one(self, problem, **arguments)
        if problem.n_samples < 60:
            return found
        if not begun:  # before there is any model
            raise KeyboardInterrupt
        return replace(found, interrupted=True)

    monkeypatch.setattr(LassoPDCertifiedCV, "_solve", last)
    for begun in (True, False):
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
        assert model.alpha_ == whole.alpha_
        assert_array_equal(model.mse_path_, whole.mse_path_)
        if begun:
            assert model.certificate_ == whole.certificate_
            assert_array_equal(model.coef_, whole.coef_)
    with pytest.raises(NotFittedError):  # what the fit before has left is gone
        model.predict(X)


def test_ctrl_c_in_a_path_keeps_what_is_finished(rng, monkeypatch):
    X, Y = rng.normal(size=(40, 5)), rng.normal(size=(40, 2))
    arguments = {"alphas": [0.4, 0.3, 0.2, 0.1], "return_n_iter": True}
    whole = LassoPDCertified.path(X, Y, **arguments)
    solve_one, calls = LassoPDCertified._solve, []

    def interrupt(self, problem, **options):
        calls.append(problem)
        if len(calls) == 7:  # the third alpha of the second target
            raise KeyboardInterrupt
        return solve_one(self, problem, **options)

    monkeypatch.setattr(LassoPDCertified, "_solve", interrupt)
    with pytest.raises(KeyboardInterrupt, match="2 of 4 alphas are finished") as caught:
        LassoPDCertified.path(X, Y, **arguments)
    for finished, array in zip(caught.value.path, whole, strict=True):
        assert_array_equal(finished, array[..., :2])
