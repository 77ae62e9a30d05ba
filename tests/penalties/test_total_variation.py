"""Total variation and the fused lasso: prox, dual norms, and certified fits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import lsq_linear

from benchmarks import certificates as random
from skpd import PdproxRegressor, PdproxSVC, regularization_path
from skpd.certificates import certify_point, primal_objective
from skpd.designs import Design
from skpd.losses import Absolute, EpsilonInsensitive, Hinge, Squared
from skpd.penalties import L1, FusedLasso, TotalVariation
from skpd.problems import linear_problem
from tests.oracles.optima import linear_optimum
from tests.oracles.reference import linear_programme

BOTH = [TotalVariation(), FusedLasso(l1_ratio=0.3)]


@pytest.mark.parametrize("n", [1, 2, 3, 10, 60])
@pytest.mark.parametrize("weight", [1e-3, 0.3, 2.0, 100.0])
def test_prox_against_a_bounded_least_squares_solver(n, weight, rng):
    """The dual: x = y - D'q with the box-constrained q that makes it smallest."""
    for y in (3 * rng.normal(size=n), np.cumsum(rng.normal(size=n)), np.round(rng.normal(size=n))):
        D = np.diff(np.eye(n), axis=0)
        expected = y
        if n > 1:
            q = lsq_linear(D.T, y, bounds=(-weight, weight), method="bvls", tol=1e-14).x
            expected = y - D.T @ q
        assert_allclose(TotalVariation().prox(y, weight), expected, atol=1e-12)
        shrunk = np.sign(expected) * np.maximum(np.abs(expected) - weight, 0.0)
        assert_allclose(FusedLasso(l1_ratio=0.5).prox(y, 2 * weight), shrunk, atol=1e-12)


def test_prox_of_long_vectors(rng):
    """Optimality at 200,000 points: c_k = partial sums of y - x stay within the weight and
    touch it, with the right sign, wherever x jumps."""
    y = np.cumsum(rng.normal(size=200_000))
    x = TotalVariation().prox(y, 5.0)
    c = np.cumsum(y - x)
    assert np.abs(c).max() <= 5.0 + 1e-7 and abs(c[-1]) < 1e-7
    jumps = np.diff(x)
    assert_allclose(-c[:-1][jumps != 0], 5.0 * np.sign(jumps[jumps != 0]), atol=1e-7)
    assert 100 < np.count_nonzero(jumps) < 100_000


@pytest.mark.parametrize("d", [1, 2, 3, 7])
@pytest.mark.parametrize("l1_ratio", [0.0, 0.01, 0.5, 1.0])
def test_dual_norms_by_linear_programming(d, l1_ratio, rng):
    """sup of v.w over R(w) <= 1, and for total variation over w of mean 0."""
    penalty = FusedLasso(l1_ratio=l1_ratio) if l1_ratio else TotalVariation()
    for _ in range(5):
        v = np.round(rng.normal(size=d), 1)
        # w+, w-, and t >= |w_{k+1} - w_k|
        D, zero = np.diff(np.eye(d), axis=0), np.zeros((d - 1, 1))
        rows = [np.hstack([s * D, -s * D, -np.eye(d - 1)]) for s in (1, -1)] if d > 1 else []
        cost = np.concatenate([np.full(2 * d, l1_ratio), np.full(d - 1, 1 - l1_ratio)])
        mean = np.concatenate([np.ones(d), -np.ones(d), np.zeros(d - 1)])[np.newaxis]
        found = linear_optimum(
            -np.concatenate([v, -v, np.zeros(d - 1)]),
            A_ub=np.vstack([*rows, cost]),
            b_ub=np.concatenate([np.zeros(2 * len(zero)), [1.0]]),
            A_eq=mean if l1_ratio == 0.0 else None,
            b_eq=[0.0] if l1_ratio == 0.0 else None,
        )
        assert found.success
        assert_allclose(penalty.dual_norm(v), -found.fun, rtol=1e-9, atol=1e-12)
        error = 0.01 * rng.random(d)
        worst = penalty.dual_norm(penalty.worst_case(v, error))
        assert worst * (1 + 1e-12) >= max(
            penalty.dual_norm(v + error * sign) for sign in rng.choice([-1, 1], size=(50, d))
        )


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([1e-3, 0.2, 1.0]), st.integers(1, 40))
def test_fused_dual_norm_over_all_intervals(seed, l1, d):
    v = np.random.default_rng(seed).normal(size=d)
    c, k = np.append(0.0, np.cumsum(v)), np.arange(d + 1)
    start, end = np.triu_indices(d + 1, 1)
    ends = (1 - l1) * (1.0 * (k[start] > 0) + (k[end] < d))
    expected = np.max(np.abs(c[end] - c[start]) / ((end - start) * l1 + ends))
    assert_allclose(FusedLasso(l1_ratio=l1).dual_norm(v), expected, rtol=1e-10)


def test_conjugate_of_the_total_variation():
    penalty = TotalVariation()
    assert penalty.conjugate(np.array([1.0, -0.5, -0.5]), 1.0 + 1e-12) == 0.0
    assert penalty.conjugate(np.array([1.0, -0.5, -0.5]), 0.9) == np.inf
    assert penalty.conjugate(np.array([0.1, 0.0, 0.0]), 1.0) == np.inf  # its sum is not 0


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_denoising(fit_intercept, rng):
    """With X the identity the solution is the prox of the targets."""
    y = np.repeat([0.0, 2.0, -1.0, 1.0], 15) + 0.3 * rng.normal(size=60)
    model = PdproxRegressor(
        0.02, penalty=TotalVariation(), loss="squared", fit_intercept=fit_intercept, tol=1e-9
    ).fit(np.eye(60), y)
    x = TotalVariation().prox(y, 60 * 0.02)
    assert_allclose(model.coef_ + model.intercept_, x, atol=1e-4)
    value = np.mean((x - y) ** 2) / 2 + 0.02 * np.abs(np.diff(x)).sum()
    assert model.certificate_.dual <= value * (1 + 1e-14)
    assert model.certificate_.primal >= value * (1 - 1e-14)
    assert model.certificate_.relative_gap <= 1e-9


def ordered(rng, n=40, d=12):
    X = rng.normal(size=(n, d))
    return X, X @ np.repeat([1.0, -1.0, 0.0], 4) + 1.0 + 0.3 * rng.normal(size=n)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("penalty", BOTH, ids=str)
@pytest.mark.parametrize("loss", [Absolute(), EpsilonInsensitive(epsilon=0.1), Hinge()], ids=str)
def test_fits_against_linear_programmes(loss, penalty, fit_intercept, rng):
    X, y = ordered(rng)
    weights = rng.integers(1, 4, len(y)) / 1.0
    if isinstance(loss, Hinge):
        y = np.where(y > 1, 1.0, -1.0)
        model = PdproxSVC(0.05, loss=loss, penalty=penalty, fit_intercept=fit_intercept, tol=1e-6)
    else:
        model = PdproxRegressor(
            0.05, loss=loss, penalty=penalty, fit_intercept=fit_intercept, tol=1e-6
        )
    certificate = model.fit(X, y, weights).certificate_
    c = weights / weights.sum()
    value = linear_programme(X, y, c, loss, penalty, 0.05, fit_intercept)
    assert certificate.dual <= value + 1e-9 and value <= certificate.primal + 1e-9
    assert certificate.relative_gap <= 1e-6


@pytest.mark.parametrize("loss", random.LOSSES, ids=str)
def test_weak_duality_on_awkward_problems(loss):
    """Bounds stay below every objective, and below HiGHS's optimum, also where nothing bounds
    the level: one class on one side, rows of zeros, equal sums."""
    rng = np.random.default_rng(5)
    for k in range(5):
        polyhedral = loss in random.POLYHEDRAL_LOSSES
        problem, X = random.random_problem(rng, loss, TotalVariation(), mild=k < 3)
        certificates, primals = [], [problem.null_objective]
        for coef, intercept, theta in random.random_points(rng, problem):
            certificate, _ = certify_point(problem, coef, intercept, theta)
            certificates.append(certificate.dual)
            primals.append(primal_objective(problem, coef, intercept))
            level = 10.0 ** rng.uniform(-2, 6) * rng.choice([-1.0, 1.0])
            primals.append(primal_objective(problem, coef + level, intercept))
        assert max(certificates) <= min(primals) * (1 + 1e-13)
        if polyhedral and k < 3:
            value = linear_programme(
                X, problem.y, problem.weights, problem.loss, problem.penalty, problem.alpha,
                problem.fit_intercept,
            )  # fmt: skip
            at_zero = problem.weights @ problem.loss.value(problem.y, np.zeros(len(problem.y)))
            assert max(certificates) <= value + 1e-9 * max(at_zero, 1.0)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_intervals_hold_the_optimum(fit_intercept, rng):
    """Least squares with a huge alpha: w is constant and b + g m a line through the targets."""
    for _ in range(20):
        n = 15
        X = rng.normal(size=(n, 4)) + rng.choice([0.0, 5.0])
        y = rng.normal(size=n) * 3 + rng.choice([0.0, 10.0])
        problem = linear_problem(
            Design(X), y, np.full(n, 1 / n), Squared(), TotalVariation(), 1e6, fit_intercept
        )
        g = X.sum(axis=1)
        table = np.column_stack([g, np.ones(n)]) if fit_intercept else g[:, None]
        solution, residual, *_ = np.linalg.lstsq(table, y)
        low, high = problem.free_intervals(residual[0] / (2 * n) * (1 + 1e-9))[1]
        assert low <= solution[0] <= high and high - low < 1e3
        if fit_intercept:
            low, high = problem.free_intervals(residual[0] / (2 * n) * (1 + 1e-9))[0]
            assert low <= solution[1] <= high and high - low < 1e3


def test_rows_of_equal_sum(rng):
    """One-hot rows: the intercept and the level are the same, and the certificate closes."""
    X = np.eye(5)[rng.integers(0, 5, 40)]
    y = X @ np.array([1.0, 1.0, 3.0, 3.0, 3.0]) + 0.2 * rng.normal(size=40)
    assert (
        Design(X).common_row_sum() is not None
        and Design(X + 0.1 * rng.random(5)).common_row_sum() is None
    )
    a, b = (
        PdproxRegressor(0.02, penalty=TotalVariation(), fit_intercept=fit_intercept, tol=1e-7).fit(
            X, y
        )
        for fit_intercept in (False, True)
    )
    assert_allclose(a.certificate_.primal, b.certificate_.primal, rtol=1e-6)
    value = linear_programme(X, y, np.full(40, 1 / 40), Absolute(), TotalVariation(), 0.02, True)
    for model in (a, b):
        assert model.converged_
        assert model.certificate_.dual <= value + 1e-9 <= model.certificate_.primal + 2e-9


def test_there_is_no_largest_alpha(rng):
    X, y = ordered(rng)
    with pytest.raises(ValueError, match="alphas must be given as values"):
        regularization_path(PdproxRegressor(penalty=TotalVariation()), X, y)
    found = regularization_path(
        PdproxRegressor(penalty=FusedLasso(l1_ratio=0.5), tol=1e-5), X, y, alphas=3
    )
    assert not found.coefs[0].any() and found.coefs[1].any()


def test_fused_lasso_at_its_end_is_the_lasso(rng):
    X, y = ordered(rng)
    fits = [
        PdproxRegressor(0.1, penalty=penalty, tol=1e-7).fit(X, y)
        for penalty in (L1(), FusedLasso(l1_ratio=1.0))
    ]
    assert_allclose(fits[0].certificate_.primal, fits[1].certificate_.primal, rtol=1e-6)


def test_invalid_ratios_are_named():
    for ratio in (0.0, 1.5, "x"):
        with pytest.raises(ValueError, match="l1_ratio of FusedLasso"):
            FusedLasso(l1_ratio=ratio)
