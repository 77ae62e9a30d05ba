"""Models from moments: certificates in exact arithmetic, models against scikit-learn's."""

from fractions import Fraction
from operator import ge

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.linear_model import ElasticNet, Lasso, Ridge

import skpd
from skpd.designs import Design
from skpd.losses import Huber, Squared
from skpd.penalties import L1, NonNegativeL1, SquaredL2
from skpd.penalties import ElasticNet as ElasticNetPenalty
from skpd.problems import linear_problem
from skpd.problems.moments import Moments
from skpd.problems.output_rows import outputs_problem
from skpd.solvers import solve
from skpd.solvers.newton.by_moments import path_by_moments

ALPHAS = np.geomspace(1.0, 1e-3, 12)
# l1 and l2 of a sum of l1 |w| + l2 w^2 / 2
PENALTIES = [(L1(), 1, 0), (NonNegativeL1(), 1, 0), (SquaredL2(), 0, 1),
             (ElasticNetPenalty(0.5), Fraction(1, 2), Fraction(1, 2))]  # fmt: skip


def exact(numbers):
    return [Fraction(x) for x in numbers.tolist()]


def problem_of(X, y, penalty=None, loss=None, fit_intercept=True, weights=None):
    weights = np.full(len(y), 1.0) if weights is None else weights
    weights = weights / weights.sum()
    penalty = penalty or L1()
    return linear_problem(Design(X), y, weights, loss or Squared(), penalty, 1.0, fit_intercept)


def table(rng, n=40, d=6):
    X = rng.normal(size=(n, d)) * rng.uniform(0.5, 2.0, size=d)
    y = X[:, :3] @ np.array([2.0, -1.0, 0.5]) + 3.0 + 0.3 * rng.normal(size=n)
    return X, y, rng.integers(0, 4, size=n).astype(float)


@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e30])
@pytest.mark.parametrize(("shift", "of_y"), [(0.0, 0.0), (1e3, 1e3), (1e7, 1.0), (0.0, 1e7)])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(("penalty", "l1", "l2"), PENALTIES)
def test_bounds_hold_in_exact_arithmetic(penalty, l1, l2, fit_intercept, shift, of_y, scale, rng):
    X, y, weights = table(rng, n=25, d=3)
    X, y = scale * (X + shift), y - of_y
    weights[0] = 1e-12
    problem = problem_of(X, y, penalty, None, fit_intercept, weights)
    moments, alpha = Moments(problem), 0.1 * float(np.max(np.abs(problem.null_gradient)))
    if l2:
        alpha = float(l2) * scale**2
    A = np.column_stack([X, np.ones(len(y)), -y] if fit_intercept else [X, -y])
    at = problem.with_alpha(alpha)
    found = solve(at, tol=1e-12, max_iter=100, random_state=np.random.RandomState(0))
    models = np.tile(problem.join(found.coef, found.intercept), (5, 1))
    models *= 1.0 + np.array([[0.0], [1e-8], [1e-2], [1.0], [0.0]])
    models[-1, -1] *= 0.9  # an intercept with which the residuals have another sum than 0

    def objective(u):
        c, u = exact(problem.weights), exact(np.append(u, 1.0))
        squares = [sum(map(Fraction.__mul__, exact(row), u)) ** 2 for row in A]
        loss = sum(map(Fraction.__mul__, c, squares)) / 2
        return loss + Fraction(alpha) * sum(l1 * abs(w) + l2 * w * w / 2 for w in u[:3])

    values = list(map(objective, models))
    certificates = moments.certificates([alpha] * len(models), models[:, :, np.newaxis])
    assert all(found.dual <= min(values) for found in certificates)
    assert all(map(ge, [found.primal for found in certificates], values))
    if max(shift, of_y) < 1e7:
        assert certificates[0].gap <= 1e-5 * problem.null_objective


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize(("ours", "theirs"), [
    (skpd.LassoPDCertified(), Lasso()),
    (skpd.LassoPDCertified(positive=True), Lasso(positive=True)),
    (skpd.ElasticNetPD(l1_ratio=0.3), ElasticNet(l1_ratio=0.3)),
    (skpd.LassoPDCertified(fit_intercept=False), Lasso(fit_intercept=False)),
    (skpd.PdproxRegressor(loss="squared", penalty="l2"), Ridge()),
    (skpd.GroupLassoPD(groups=1), Lasso()),
], ids=str)  # fmt: skip
def test_same_as_scikit_learn_without_a_solver(ours, theirs, layout, rng, monkeypatch):
    X, y, weights = table(rng)
    monkeypatch.setattr(type(ours), "_solve", None)
    ours.set_params(tol=1e-9)
    found = skpd.regularization_path(ours, layout(X), y, alphas=ALPHAS, sample_weight=weights)
    for alpha, w, b, certificate in zip(
        found.alphas, found.coefs, found.intercepts, found.certificates, strict=True
    ):
        if isinstance(theirs, Ridge):
            alpha *= weights.sum()
        model = theirs.set_params(alpha=alpha, tol=1e-13).fit(X, y, sample_weight=weights)
        assert_allclose(w, model.coef_, atol=1e-5)
        assert_allclose(b, model.intercept_, atol=1e-5)
        assert certificate.relative_gap <= 1e-9
        assert np.all(certificate.coefficient_bounds[:, 0] <= model.coef_ + 1e-9)
        assert np.all(certificate.coefficient_bounds[:, 1] >= model.coef_ - 1e-9)
        assert not np.any(model.coef_[certificate.proven_zero])


def test_what_is_left_to_a_solver(rng):
    X, y, _ = table(rng)
    wide = np.tile(X, 8)  # more features than rows
    for problem in (
        problem_of(X, y, loss=Huber()), problem_of(wide, y), problem_of(1e60 * X, y),
        problem_of(X, y, weights=np.append(1e-60, np.ones(len(y) - 1))),
    ):  # fmt: skip
        assert path_by_moments(problem, ALPHAS, 1e-4) == [None] * len(ALPHAS)
    found = path_by_moments(problem_of(X + 1e7, y), ALPHAS, 1e-4)  # too far for the small alphas
    assert found[-1] is None
    path = skpd.regularization_path(skpd.LassoPDCertified(), X + 1e7, y, alphas=ALPHAS)
    assert path.converged.all()
    for options in ({"penalty_weights": [0, 1, 1, 1, 1, 1]}, {"bounds": (-1.0, 1.0)}):
        model = skpd.LassoPDCertified(tol=1e-9, **options)
        path = skpd.regularization_path(model, X, y, alphas=ALPHAS)
        single = model.set_params(alpha=ALPHAS[-1]).fit(X, y)
        assert_allclose(path.coefs[-1], single.coef_, atol=1e-5)


def tall(rng, n=3000, d=40):
    X = rng.normal(size=(n, d)) * rng.uniform(0.5, 2.0, size=d) + rng.normal(size=d)
    y = X[:, :3] @ np.array([2.0, -1.0, 0.5]) + 3.0 + rng.normal(size=n)
    return X, y, rng.integers(0, 4, size=n).astype(float)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("order", ["C", "F"])
def test_ridge_on_many_rows(order, fit_intercept, rng):
    """Its model solves the normal equations, and its dual solution are the residuals."""
    X, y, s = tall(rng)
    model = skpd.PdproxRegressor(
        0.3, loss="squared", penalty="l2", fit_intercept=fit_intercept, tol=1e-9
    )
    model.fit(np.asarray(X, order=order), y, s)
    assert model.solver_ == "moments" and model.converged_ and model.n_iter_ == 1
    c = s / s.sum()
    centre = (c @ X, c @ y) if fit_intercept else (0.0, 0.0)
    Z, t = X - centre[0], y - centre[1]
    w = np.linalg.solve(Z.T @ (c[:, np.newaxis] * Z) + 0.3 * np.eye(40), Z.T @ (c * t))
    assert_allclose(model.coef_, w, rtol=1e-9)
    residuals = Z @ w - t
    assert_allclose(model.dual_coef_, residuals, atol=1e-9)
    best = c @ residuals**2 / 2.0 + 0.15 * w @ w
    certificate = model.certificate_
    assert certificate.dual <= best * (1.0 + 1e-13) and best <= certificate.primal * (1.0 + 1e-13)
    assert certificate.gap <= 1e-9 * best
    assert np.all(certificate.coefficient_bounds[:, 0] <= w + 1e-12)
    assert np.all(certificate.coefficient_bounds[:, 1] >= w - 1e-12)


def test_lasso_on_many_rows(rng):
    """Far features and single precision are left to steps whose bounds are tighter."""
    X, y, s = tall(rng)
    peer = Lasso(alpha=0.2, tol=1e-14, max_iter=100_000).fit(X, y, s)
    model = skpd.LassoPDCertified(alpha=0.2, tol=1e-9).fit(X, y, s)
    assert model.solver_ == "moments"
    assert_allclose(model.coef_, peer.coef_, atol=1e-7)
    assert_allclose(model.intercept_, peer.intercept_, atol=1e-6)
    steps = solve(
        problem_of(X, y, weights=s).with_alpha(0.2), "multipliers", tol=1e-9, max_iter=100,
        random_state=None,
    )  # fmt: skip
    assert_allclose(model.coef_, steps.coef, atol=1e-7)
    radius = steps.certificate.intercept_radius
    assert_allclose(model.certificate_.intercept_radius, radius, rtol=1e-7)
    far = skpd.LassoPDCertified(alpha=0.2, tol=1e-6).fit(X + 1e6, y, s)
    assert far.converged_
    assert_allclose(far.coef_, peer.coef_, atol=1e-3)
    single = skpd.LassoPDCertified(alpha=0.2).fit(X.astype(np.float32), y, s)
    assert single.converged_ and single.coef_.dtype == np.float32
    assert_allclose(single.coef_, peer.coef_, atol=1e-2)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_bounds_of_several_outputs_hold_in_exact_arithmetic(fit_intercept, shift, rng):
    X, y, weights = table(rng, n=25, d=3)
    X, Y = X + shift, np.column_stack([y, y**2, -y])
    c, alpha = weights / weights.sum(), 0.3
    problem = outputs_problem(
        Design(X), Y, c, Squared(), SquaredL2(), alpha=alpha, fit_intercept=fit_intercept
    )
    moments = Moments(problem)
    best = Ridge(alpha, fit_intercept=fit_intercept).fit(X, Y, c)
    intercepts = np.broadcast_to(best.intercept_, (1, 3))
    model = np.vstack([best.coef_.T, intercepts][: 1 + fit_intercept])
    models = model * (1.0 + np.array([0.0, 1e-6, 1e-2])[:, np.newaxis, np.newaxis])
    A = np.column_stack([X, np.ones(len(X))][: 1 + fit_intercept])

    def objective(U):
        value = Fraction(0)
        for row, of_row, weight in zip(A, Y, exact(problem.weights[:: len(Y.T)]), strict=True):
            for u, y in zip(U.T, of_row, strict=True):
                residual = sum(map(Fraction.__mul__, exact(row), exact(u))) - Fraction(y)
                value += weight * residual**2 / 2
        return value + Fraction(alpha) * sum(w * w for w in exact(np.ravel(U[:3]))) / 2

    values = list(map(objective, models))
    certificates = moments.certificates([alpha] * 3, models)
    assert all(each.dual <= min(values) for each in certificates)
    assert all(map(ge, [each.primal for each in certificates], values))
    assert certificates[0].gap <= (1e-9 if not shift else 1e-4) * problem.null_objective


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("weighted", [False, True])
def test_ridge_of_many_targets_is_that_of_scikit_learn(layout, weighted, rng):
    X, _, weights = table(rng, n=300, d=20)
    Y = X[:, :7] + rng.normal(size=(300, 7))
    c = weights if weighted else np.ones(300)
    ours = skpd.MultiTaskPD(0.1, penalty="l2", loss="squared", tol=1e-10)
    ours.fit(layout(X), Y, sample_weight=c)
    theirs = Ridge(0.1 * c.sum()).fit(X, Y, c)
    assert ours.solver_ == "moments"
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-10)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-10)
    residuals = X @ theirs.coef_.T + theirs.intercept_ - Y
    assert_allclose(ours.dual_coef_, residuals, atol=1e-9)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_sums_of_a_fold_are_those_of_all_without_the_rest(fit_intercept, rng):
    X, y, weights = table(rng)
    weights[:20] = 1e-3  # the fold has little weight
    problem = problem_of(X, y, fit_intercept=fit_intercept, weights=weights)
    test = np.arange(20, 40)
    train = problem.of_samples(np.arange(20))
    rows = train.rows.without(test, problem.rows)
    gram, norms, n = rows.second_moments
    expected, exact_norms, _ = train.rows.second_moments
    bound = n * np.finfo(float).eps * np.outer(norms, norms)
    assert rows.part_of is not None and np.all(np.abs(gram - expected) <= 2.0 * bound)
    assert np.all(norms >= exact_norms)
    assert train.rows.without(test[1:], problem.rows).part_of is None
