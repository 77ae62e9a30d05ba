"""Penalties with a number for each feature, and features that are not penalised."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.optimize import Bounds
from sklearn.base import clone
from sklearn.linear_model import ElasticNet as SkElasticNet
from sklearn.linear_model import Lasso, LinearRegression, QuantileRegressor, Ridge

from benchmarks import certificates as random
from skpd import (
    ElasticNetPD,
    GroupLassoSVC,
    LassoPDCertified,
    PdproxRegressor,
    PdproxSVC,
    RowBlocks,
    certify,
)
from skpd.designs import Design
from skpd.losses import Absolute, Hinge, Logistic, Squared
from skpd.penalties import L2Norm, Separable, WeightedL1, for_features
from skpd.problems import linear_problem
from skpd.solvers import solve
from tests.oracles.reference import linear_programme

LAYOUTS = [np.ascontiguousarray, np.asfortranarray, sp.csr_array, sp.csc_array]


def regression(rng, n=60, d=8):
    X = rng.normal(size=(n, d))
    return X, X[:, :3] @ [2.0, -1.0, 0.5] + 1.5 + 0.5 * rng.normal(size=n)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: WeightedL1([1.0, -1.0]), "weights of WeightedL1 must be finite numbers"),
        (lambda: WeightedL1([1.0, np.inf]), "weights of WeightedL1 must be finite"),
        (lambda: WeightedL1([1.0, 2.0]).for_n_features(3), "each of the 3 features, got 2"),
        (lambda: Separable(1.0, lower=0.5), "lower of Separable must be numbers from -inf to 0"),
        (lambda: Separable([1.0, 1.0], [1.0]), "same length, got lengths"),
        (lambda: for_features(L2Norm(), [1.0]), "need a penalty of single coefficients"),
    ],
)
def test_what_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("loss", random.LOSSES, ids=str)
@pytest.mark.parametrize("drawn", random.BY_FEATURE)
def test_random_problems_hold_the_optimum(loss, drawn):
    """As in the benchmark of that name, where HiGHS can tell: certified to 1e-9."""
    rng = np.random.default_rng(3)
    for _ in range(3):
        problem, X = random.random_problem(rng, loss, drawn, mild=True)
        found = solve(problem, tol=1e-9, max_iter=10**5, random_state=np.random.RandomState(0))
        assert found.converged
        if drawn is random.weighted_l1 and type(loss) in map(type, random.POLYHEDRAL_LOSSES):
            value = linear_programme(
                X, problem.y, problem.weights, problem.loss, problem.penalty, problem.alpha,
                problem.fit_intercept,
            )  # fmt: skip
            assert found.certificate.dual - 1e-9 <= value <= found.certificate.primal + 1e-9


LEFT_OUT = [1, 4, 6]  # features
OTHERS = [0, 2, 3, 5, 7]


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array, lambda X: RowBlocks([X])])
@pytest.mark.parametrize("loss", ["squared", "absolute", "huber", "hinge", "logistic"])
@pytest.mark.parametrize("penalty", ["l1", "l2", "elasticnet"])
def test_features_of_infinite_weight_are_left_out(penalty, loss, layout, rng):
    """The optimum is that of the data without them; so are bounds of 0 on both sides."""
    X, y = regression(rng)
    of_labels = loss in ("hinge", "logistic")
    options = {"penalty": penalty, "loss": loss, "tol": 1e-8}
    options["l1_ratio"] = 0.5 if penalty == "elasticnet" else None
    model = (PdproxSVC if of_labels else PdproxRegressor)(0.1, **options)
    target = np.where(y > 1.5, "a", "b") if of_labels else y
    weights = np.ones(8)
    weights[OTHERS[0]] = 0.0 if penalty == "l1" else 1.0
    alone = (
        clone(model).set_params(penalty_weights=weights[OTHERS]).fit(layout(X[:, OTHERS]), target)
    )
    by_bounds = np.where(np.isin(np.arange(8), LEFT_OUT), 0.0, np.inf)
    infinite = np.where(by_bounds == 0.0, np.inf, weights)
    for parameters in (
        {"penalty_weights": infinite},
        {"penalty_weights": weights, "bounds": (-by_bounds, by_bounds)},
    ):
        found = clone(model).set_params(**parameters).fit(layout(X), target)
        assert found.converged_ and not np.any(np.ravel(found.coef_)[LEFT_OUT])
        assert_allclose(np.ravel(found.coef_)[OTHERS], np.ravel(alone.coef_), atol=1e-4)
        bounds, best = found.certificate_, alone.certificate_
        assert bounds.dual <= best.primal * (1 + 1e-12)
        assert best.dual <= bounds.primal * (1 + 1e-12)


@pytest.mark.parametrize("solver", ["pdprox-dual", "pdprox-primal", "cd", "approx"])
@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_named_solvers_leave_features_of_infinite_weight_out(penalty, solver, rng):
    X, y = regression(rng)
    weights = np.ones(8)
    weights[LEFT_OUT] = np.inf
    model = PdproxRegressor(0.1, loss="squared", penalty=penalty, tol=1e-3)
    best = model.fit(X[:, OTHERS], y).certificate_
    model.set_params(penalty_weights=weights, solver=solver, max_iter=10**4)
    found = model.fit(X, y)
    assert found.converged_ and not found.coef_[LEFT_OUT].any()
    assert found.certificate_.dual <= best.primal and best.dual <= found.certificate_.primal


def test_infinite_weights_are_those_of_celer(rng):
    X, y = regression(rng)
    weights = np.array([1.0, np.inf, 0.5, 2.0, np.inf, 1.0, 1.0, 1.0])
    theirs = pytest.importorskip("celer").Lasso(0.1, weights=weights, tol=1e-12).fit(X, y)
    ours = LassoPDCertified(0.1, penalty_weights=weights, tol=1e-12).fit(X, y)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-7)
    assert certify(theirs, X, y).relative_gap < 1e-9


@pytest.mark.parametrize("layout", LAYOUTS)
def test_lasso_with_free_features_is_the_lasso_of_what_they_leave(layout, rng):
    """Frisch, Waugh and Lovell: of the others and y, what a regression on the free ones leaves."""
    X, y = regression(rng)
    weights = np.array([0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    first = LinearRegression().fit(X[:, :2], np.column_stack([X[:, 2:], y]))
    rest = np.column_stack([X[:, 2:], y]) - first.predict(X[:, :2])
    expected = Lasso(0.1, fit_intercept=False, tol=1e-12).fit(rest[:, :-1], rest[:, -1]).coef_
    model = LassoPDCertified(0.1, penalty_weights=weights, tol=1e-10).fit(layout(X), y)
    assert_allclose(model.coef_[2:], expected, atol=1e-6)
    assert model.converged_ and model.certificate_.relative_gap <= 1e-10


def test_quantile_regression_with_an_adjustment(rng):
    """All features free: the linear programme of QuantileRegressor without a penalty."""
    X, y = regression(rng)
    model = PdproxRegressor(penalty_weights=np.zeros(8), tol=1e-9).fit(X, y)
    expected = QuantileRegressor(quantile=0.5, alpha=0.0, solver="highs").fit(X, y)
    value = np.mean(np.abs(y - expected.predict(X)))
    assert_allclose(model.certificate_.primal, value, rtol=1e-8)
    assert model.certificate_.dual <= value * (1 + 1e-9)


@pytest.mark.parametrize("bounds", [(0.0, np.inf), (0.0, [np.inf] * 8), Bounds(0.0, np.inf)])
def test_bounds_of_zero_are_positive(bounds, rng):
    X, y = regression(rng)
    expected = SkElasticNet(0.1, l1_ratio=0.7, positive=True, tol=1e-10).fit(X, y)
    model = ElasticNetPD(0.1, l1_ratio=0.7, bounds=bounds, tol=1e-11).fit(X, y)
    assert_allclose(model.coef_, expected.coef_, atol=1e-6)
    assert np.all(model.coef_ >= 0.0)
    lasso = LassoPDCertified(0.1, bounds=bounds, tol=1e-11).fit(X, y)
    assert_allclose(
        lasso.coef_, LassoPDCertified(0.1, positive=True, tol=1e-11).fit(X, y).coef_, atol=1e-6
    )


def test_groups_without_a_penalty(rng):
    X, y = regression(rng)
    labels = np.where(y > y.mean(), 1, 0)
    clf = GroupLassoSVC(0.5, groups=2, group_weights=[0.0, 1.0, 1.0, 1.0], tol=1e-8).fit(X, labels)
    assert clf.converged_
    assert np.all(clf.coef_[0, :2] != 0.0) and np.all(clf.coef_[0, 2:] == 0.0)
    alone = PdproxSVC(penalty_weights=[0.0, 0.0], tol=1e-8).fit(X[:, :2], labels)
    assert_allclose(clf.certificate_.primal, alone.certificate_.primal, rtol=1e-7)


@pytest.mark.parametrize("estimator", [
    Lasso(0.1, positive=True, tol=1e-9), SkElasticNet(0.1, positive=True, tol=1e-9),
    Ridge(1.0, positive=True, tol=1e-10),
], ids=str)  # fmt: skip
def test_certify_takes_positive(estimator, rng):
    X, y = regression(rng)
    certificate = certify(estimator.fit(X, y), X, y)
    assert certificate.relative_gap <= 2e-6
    estimator.coef_ = estimator.coef_ - 0.01
    assert certify(estimator, X, y).primal == np.inf


def test_the_parameters_of_estimators_are_checked(rng):
    X, y = regression(rng)
    with pytest.raises(ValueError, match="penalty_weights must be numbers from 0"):
        PdproxRegressor(penalty_weights=[-1.0] * 8).fit(X, y)
    with pytest.raises(ValueError, match=r"penalty_weights, .* each of the 8 features, got 3"):
        PdproxRegressor(penalty_weights=[1.0, 2.0, 0.0]).fit(X, y)
    with pytest.raises(ValueError, match="bounds must be a pair"):
        LassoPDCertified(bounds=(0.0, 1.0, 2.0)).fit(X, y)
    with pytest.raises(ValueError, match="lower <= 0 <= upper, must be numbers from -inf to 0"):
        LassoPDCertified(bounds=(0.5, 1.0)).fit(X, y)
    with pytest.raises(ValueError, match="without an l1_radius"):
        ElasticNetPD(l1_radius=1.0, penalty_weights=np.ones(8)).fit(X, y)
    with pytest.raises(ValueError, match="need a penalty of single coefficients"):
        PdproxRegressor(penalty="linf", bounds=(0.0, 1.0)).fit(X, y)


@pytest.mark.parametrize("solver", ["pdprox-dual", "pdprox-primal"])
def test_the_published_methods_take_them_too(solver, rng):
    X, y = regression(rng, n=40, d=4)
    weights = np.array([0.0, 1.0, 0.5, 2.0])
    model = PdproxRegressor(0.05, penalty_weights=weights, tol=1e-8).fit(X, y)
    other = PdproxRegressor(
        0.05, penalty_weights=weights, solver=solver, tol=1e-3, max_iter=20_000
    ).fit(X, y)
    assert other.certificate_.dual <= model.certificate_.primal
    assert_allclose(other.certificate_.primal, model.certificate_.primal, rtol=2e-3)


def test_coordinate_descent_takes_weights(rng):
    X, y = regression(rng)
    weights = rng.uniform(0.2, 2.0, 8)
    exact = LassoPDCertified(0.1, penalty_weights=weights, tol=1e-10).fit(X, y)
    for solver in ("cd", "approx"):
        model = LassoPDCertified(0.1, penalty_weights=weights, solver=solver, tol=1e-6).fit(X, y)
        assert_allclose(model.coef_, exact.coef_, atol=1e-2)
        assert model.certificate_.relative_gap <= 1e-6


@pytest.mark.parametrize("loss", [Hinge(), Logistic(), Squared(), Absolute()], ids=str)
def test_separable_along_a_free_feature(loss, rng):
    """Where free features classify all rows or fit them, the optimum is 0 or a limit."""
    X = rng.normal(size=(30, 4))
    y = np.sign(X[:, 0])
    penalty = WeightedL1([0.0, 1.0, 1.0, 1.0])
    problem = linear_problem(Design(X), y, np.full(30, 1 / 30), loss, penalty, 0.1, True)
    found = solve(problem, tol=1e-4, max_iter=2000, random_state=np.random.RandomState(0))
    assert found.certificate.dual <= found.certificate.primal
    if loss.of_labels:
        assert found.certificate.primal <= 1e-3


def test_more_free_features_than_rows(rng):
    """No dual point is sought: the classes are separable, and P >= 0 is tight."""
    own = sp.diags_array(1.0 + np.arange(60.0))  # no row is 0
    X = sp.hstack([own, sp.random_array((60, 3000), density=0.02, rng=rng)], format="csr")
    y = np.where(rng.random(60) < 0.5, 1.0, -1.0)
    weights = np.full(60, 1 / 60)
    problem = linear_problem(Design(X), y, weights, Hinge(), WeightedL1(np.zeros(3060)), 1.0)
    found = solve(problem, tol=1e-9, max_iter=100, random_state=np.random.RandomState(0))
    assert found.converged and found.certificate.primal <= 1e-9
    assert np.min(y * (X @ found.coef + found.intercept)) >= 1.0 - 1e-9
    assert problem.free.outnumber_rows and found.certificate.left_out == ()
