"""Penalties with a number for each feature, and features that are not penalised."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import Bounds, minimize
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
    regularization_path,
)
from skpd.designs import Design
from skpd.losses import Absolute, Hinge, Logistic, Squared
from skpd.penalties import (
    L1,
    ElasticNet,
    GroupL2,
    L2Norm,
    NonNegativeL1,
    Separable,
    SparseGroup,
    SquaredL2,
    WeightedL1,
    for_features,
)
from skpd.problems import linear_problem
from skpd.solvers import solve
from tests.oracles.reference import linear_programme

LAYOUTS = [np.ascontiguousarray, np.asfortranarray, sp.csr_array, sp.csc_array]
SEPARABLE = [
    WeightedL1([0.0, 0.5, 2.0, 1.0]),
    Separable([1.0, 0.0, 0.5, 0.0], [0.0, 2.0, 1.0, 0.0]),
    Separable(1.0, 0.0, lower=[0.0, -1.0, -np.inf, -2.0], upper=[np.inf, 0.0, 3.0, 1.0]),
    Separable([0.0, 1.0, 0.3, 0.0], 0.5, lower=0.0),
    Separable(0.7, 0.2, upper=[0.4, 0.5, 2.0, np.inf]),
    Separable(
        [1.0, 0.0, 0.5, 1.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, -1.0], [0.0, 0.0, 0.0, 2.0]
    ),
]


def regression(rng, n=60, d=8):
    X = rng.normal(size=(n, d))
    return X, X[:, :3] @ [2.0, -1.0, 0.5] + 1.5 + 0.5 * rng.normal(size=n)


@pytest.mark.parametrize("penalty", SEPARABLE, ids=str)
def test_conjugates_and_bounds_by_sampling(penalty, rng):
    """The value of the conjugate is attained, and no w within the radius goes beyond a bound."""
    penalty, alpha = penalty.for_n_features(4), 0.6
    l1, l2, lower, upper = (np.broadcast_to(x, 4) for x in penalty.terms)
    free = penalty.free_features.columns
    for scale in (0.1, 1.0, 5.0):
        v = scale * rng.normal(size=4)
        conjugate = penalty.conjugate(v, alpha)
        w = np.clip(3.0 * rng.normal(size=(20_000, 4)), lower, upper)
        w[:, free] = 0.0
        sizes = np.abs(w) @ l1 + w**2 @ l2 / 2
        assert conjugate >= np.max(w @ v - alpha * sizes)
        if np.isfinite(conjugate):
            grid = np.clip(np.linspace(-200, 200, 400_001)[:, None], lower, upper)
            best = np.max(grid * v - alpha * (l1 * np.abs(grid) + l2 * grid**2 / 2), axis=0)
            assert_allclose(conjugate, np.delete(best, free).sum(), atol=1e-3)
        for radius in (0.3, 4.0):
            inside = np.vstack([w[sizes <= radius], np.zeros(4)])
            bounded = penalty.bounded_conjugate(v, alpha, radius)
            values = inside @ v - alpha * (np.abs(inside) @ l1 + inside**2 @ l2 / 2)
            assert bounded >= np.max(values) - 1e-12
            assert penalty.support(v, radius) >= np.max(inside @ v) - 1e-12
        assert penalty.bounded_conjugate(v, alpha, 0.0) == 0.0
        error = rng.random(4)
        worst = penalty.worst_case(v, error)
        for _ in range(50):
            near = v + error * rng.uniform(-1, 1, 4)
            assert penalty.bounded_conjugate(near, alpha, 2.0) <= (
                penalty.bounded_conjugate(worst, alpha, 2.0) * (1 + 1e-6) + 1e-9
            )


@pytest.mark.parametrize("penalty", SEPARABLE, ids=str)
def test_prox_is_the_minimiser(penalty, rng):
    penalty = penalty.for_n_features(4)
    v, step = rng.normal(size=4), rng.uniform(0.2, 2.0, 4)
    x = penalty.prox(v, step)

    def objective(x):
        return np.sum((x - v) ** 2 / (2 * step)) + penalty.value(x)

    assert np.isfinite(objective(x))
    for _ in range(200):
        other = penalty.feasible(x + 0.1 * rng.normal(size=4))
        assert objective(x) <= objective(other) + 1e-12


def test_the_bound_on_a_ball_of_two_terms_is_tight():
    """sup of v.w - alpha R over R <= r, by SLSQP."""
    penalty = Separable(
        [0.5, 1.0, 0.0], [1.0, 0.0, 2.0], upper=[np.inf, 0.7, np.inf]
    ).for_n_features(3)
    v, alpha, radius = np.array([2.0, 3.0, -1.0]), 0.3, 1.2
    found = minimize(
        lambda w: -(v @ w - alpha * penalty.value(w)),
        [0.1, 0.1, -0.1],
        bounds=[(0, None), (0, 0.7), (None, 0)],
        constraints={"type": "ineq", "fun": lambda w: radius - penalty.value(w)},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert_allclose(penalty.bounded_conjugate(v, alpha, radius), -found.fun, rtol=1e-6)


def test_what_a_penalty_declares():
    assert WeightedL1([1.0, 0.0]).is_norm and WeightedL1([1.0, 0.0]).even
    assert_array_equal(WeightedL1([1.0, 0.0]).free_features.columns, [1])
    bounded = Separable(1.0, 0.0, lower=[0.0, -1.0]).for_n_features(2)
    assert not bounded.is_norm and not bounded.even and not bounded.is_finite
    assert Separable(1.0, 0.0, lower=0.0).for_n_features(2).is_norm
    grouped = GroupL2(groups=[2, 1], weights=[0.0, 1.0]).for_n_features(3)
    assert_array_equal(grouped.free_features.columns, [0, 1])
    assert len(SparseGroup(groups=3, weights=[0.0]).for_n_features(3).free_features.columns) == 0
    assert_allclose(grouped.dual_norm(np.array([9.0, 9.0, 2.0])), 2.0)


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


@pytest.mark.parametrize("layout", LAYOUTS)
def test_features_of_infinite_weight_are_left_out_of_paths_and_least_squares(layout, rng):
    X, y = regression(rng)
    weights = np.ones(8)
    weights[LEFT_OUT] = np.inf
    path = regularization_path(LassoPDCertified(penalty_weights=weights), layout(X), y, alphas=5)
    alone = regularization_path(LassoPDCertified(), layout(X[:, OTHERS]), y, alphas=5)
    assert_allclose(path.alphas, alone.alphas)
    assert not path.coefs[:, LEFT_OUT].any()
    assert_allclose(path.coefs[:, OTHERS], alone.coefs, atol=1e-3)
    least = LassoPDCertified(0.0, penalty_weights=weights, tol=1e-12).fit(layout(X), y)
    assert not least.coef_[LEFT_OUT].any()
    expected = LinearRegression().fit(X[:, OTHERS], y).coef_
    assert_allclose(least.coef_[OTHERS], expected, atol=1e-6)
    with pytest.raises(ValueError, match=r"penalty_weights must be numbers from 0\.0 to inf"):
        LassoPDCertified(0.0, penalty_weights=-weights).fit(X, y)


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


def test_weights_are_scales_of_the_features(rng):
    """t_j |w_j| is the plain penalty of features divided by t_j."""
    X, y = regression(rng)
    weights = rng.uniform(0.5, 2.0, X.shape[1])
    for make in (LassoPDCertified, PdproxRegressor):
        scaled = make(0.1, tol=1e-10).fit(X / weights, y).coef_ / weights
        found = make(0.1, penalty_weights=weights, tol=1e-10).fit(X, y)
        assert_allclose(found.coef_, scaled, atol=1e-5)


def test_one_hot_features_without_a_penalty(rng):
    """Their columns sum to the intercept's: one direction fewer, in exact arithmetic."""
    n = 300
    codes = rng.integers(0, 4, n)
    X = sp.csr_array(np.column_stack([np.eye(4)[codes], rng.normal(size=(n, 6))]))
    y = np.sign(codes - 1.5 + X[:, [4]].toarray().ravel() + rng.normal(size=n))
    weights = np.r_[np.zeros(4), np.ones(6)]
    for loss in ("hinge", "logistic", "squared_hinge"):
        clf = PdproxSVC(0.01, loss=loss, penalty_weights=weights, tol=1e-8).fit(X, y)
        assert clf.converged_ and clf.certificate_.dual > 0.0


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


@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared_hinge"])
def test_bounds_hold_and_are_reached(loss, rng):
    X, y = regression(rng)
    labels = np.where(y > y.mean(), "b", "a")
    free = PdproxSVC(1e-3, loss=loss, tol=1e-8).fit(X, labels)
    upper = 0.5 * np.abs(free.coef_.ravel()) + 0.01
    clf = PdproxSVC(1e-3, loss=loss, bounds=(-upper, upper), tol=1e-8).fit(X, labels)
    assert clf.converged_ and np.all(np.abs(clf.coef_) <= upper)
    assert np.any(np.abs(clf.coef_) == upper)
    assert clf.certificate_.dual > free.certificate_.primal * (1 - 1e-6)


def test_groups_without_a_penalty(rng):
    X, y = regression(rng)
    labels = np.where(y > y.mean(), 1, 0)
    clf = GroupLassoSVC(0.5, groups=2, group_weights=[0.0, 1.0, 1.0, 1.0], tol=1e-8).fit(X, labels)
    assert clf.converged_
    assert np.all(clf.coef_[0, :2] != 0.0) and np.all(clf.coef_[0, 2:] == 0.0)
    alone = PdproxSVC(penalty_weights=[0.0, 0.0], tol=1e-8).fit(X[:, :2], labels)
    assert_allclose(clf.certificate_.primal, alone.certificate_.primal, rtol=1e-7)


def test_path_begins_where_all_penalised_coefficients_are_zero(rng):
    X, y = regression(rng)
    weights = np.r_[0.0, np.ones(7)]
    found = regularization_path(
        LassoPDCertified(penalty_weights=weights, tol=1e-10), X, y, alphas=20
    )
    assert np.all(np.abs(found.coefs[0, 1:]) < 1e-8) and found.coefs[0, 0] != 0.0
    assert np.any(found.coefs[1, 1:] != 0.0)
    assert found.converged.all()


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
    with pytest.raises(ValueError, match="The lower bounds must be numbers from -inf to 0"):
        LassoPDCertified(bounds=(0.5, 1.0)).fit(X, y)
    with pytest.raises(ValueError, match="without an l1_radius"):
        ElasticNetPD(l1_radius=1.0, penalty_weights=np.ones(8)).fit(X, y)
    with pytest.raises(ValueError, match="need a penalty of single coefficients"):
        PdproxRegressor(penalty="linf", bounds=(0.0, 1.0)).fit(X, y)


def test_terms_of_a_penalty_with_weights():
    assert isinstance(for_features(L1(), [1.0, 2.0]), WeightedL1)
    found = for_features(ElasticNet(0.25), [2.0, 0.0], upper=1.0)
    assert_allclose(found.l1, [0.5, 0.0])
    assert_allclose(found.l2, [1.5, 0.0])
    assert_array_equal(for_features(NonNegativeL1(), [1.0, 0.0]).terms[2], 0.0)
    ridge = for_features(SquaredL2(), [1.0, 3.0]).for_n_features(2)
    amount, rest, share = ridge.without_ridge()
    assert (amount, share) == (1.0, 1.0)
    assert_allclose(rest.l2, [0.0, 2.0])


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
