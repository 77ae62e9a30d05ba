"""A budget of the hinge losses' multipliers."""

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

from skpd import PdproxSVC, RowBlocks
from skpd.designs import Design
from skpd.losses import Hinge
from skpd.penalties import L1, SquaredL2
from skpd.problems.in_memory import RowsInMemory
from skpd.problems.noise_budget import noise_budget_problem
from skpd.problems.regularisation import Regularisation
from tests.oracles.optima import linear_optimum


def generated(n=60, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 0.5
    y = np.where(X[:, 0] + rng.standard_normal(n) > 0.3, 1.0, -1.0)
    return X, y, rng.integers(1, 4, size=n).astype(float)


def optimum(X, y, weights, alpha, budget, intercept, constraints=None):
    """By HiGHS, with w = u - v, the shift t of all margins, slacks and b."""
    n, d = X.shape
    signed = y[:, None] * X
    cost = np.concatenate([
        np.full(2 * d, alpha), [budget / weights.sum()], weights / weights.sum()
    ])  # fmt: skip
    blocks, bounds = [-signed, signed, -np.ones((n, 1)), -np.eye(n)], [(0, None)] * len(cost)
    if intercept:
        blocks.append(-y[:, None])
        cost, bounds = np.append(cost, 0.0), [*bounds, (None, None)]
    left, right = np.hstack(blocks), -np.ones(n)
    if constraints is not None:
        matrix, lower, upper = constraints.A, constraints.lb, constraints.ub
        on_all = np.hstack([matrix, -matrix, np.zeros((len(matrix), len(cost) - 2 * d))])
        left, right = np.vstack([left, on_all, -on_all]), np.concatenate([right, upper, -lower])
    return linear_optimum(cost, left, right, bounds=bounds).fun


# Some of the models that it fits are constant.
@pytest.mark.filterwarnings("ignore:.*all coefficients are 0")
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("budget", [3.0, 60.0, 1000.0])
def test_optimum_is_that_of_a_linear_programme(budget, intercept):
    X, y, weights = generated()
    expected = optimum(X, y, weights, 0.02, budget, intercept)
    for solver, tol in (("auto", 1e-9), ("pdprox-dual", 1e-2), ("pdprox-primal", 1e-2)):
        model = PdproxSVC(
            0.02,
            noise_budget=budget,
            fit_intercept=intercept,
            solver=solver,
            solver_options=None if solver == "auto" else {"output": "best"},
            tol=tol,
            max_iter=100_000,
        ).fit(X, y, weights)
        found = model.certificate_
        assert model.converged_
        assert found.dual <= expected + 1e-12
        assert found.primal >= expected - 1e-12
        # what is reported is the objective of the model itself: the worst rows, within the budget
        margins = y * (X @ model.coef_[0] + model.intercept_[0])
        room, value = budget, 0.0
        for k in np.argsort(margins):
            share = min(weights[k], room)
            value += share * max(1.0 - margins[k], 0.0)
            room -= share
        value = value / weights.sum() + 0.02 * np.abs(model.coef_).sum()
        assert found.primal == pytest.approx(value, rel=1e-9)
        assert found.coefficient_bounds.shape == (5, 2)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("lower", [-0.1, 0.4])
def test_with_constraints_it_is_that_of_a_linear_programme_too(lower, intercept):
    X, y, weights = generated()
    matrix = np.array([[1.0, 1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, -1.0, 0.5]])
    constraints = LinearConstraint(matrix, [lower, -0.05], [0.6, 0.02])
    expected = optimum(X, y, weights, 0.01, 60.0, intercept, constraints)
    model = PdproxSVC(
        0.01, noise_budget=60.0, constraints=constraints, fit_intercept=intercept, tol=1e-8
    ).fit(X, y, weights)
    sums = matrix @ model.coef_[0]
    assert np.all((sums >= constraints.lb - 1e-12) & (sums <= constraints.ub + 1e-12))
    assert model.constraint_multipliers_.shape == (2,)
    assert expected - 1e-9 <= model.certificate_.primal <= expected + 1e-7
    assert expected - 1e-7 <= model.certificate_.dual <= expected + 1e-12
    free = optimum(X, y, weights, 0.01, 60.0, intercept)
    assert expected > free + 1e-4  # the constraints matter


def test_a_large_budget_is_none():
    X, y, weights = generated()
    with_budget = PdproxSVC(0.02, noise_budget=weights.sum(), tol=1e-10).fit(X, y, weights)
    without = PdproxSVC(0.02, tol=1e-10).fit(X, y, weights)
    np.testing.assert_allclose(with_budget.coef_, without.coef_, atol=1e-6)
    assert np.abs(with_budget.dual_coef_ @ weights).max() < 1e-9


def test_projection_is_that_of_lemma_13():
    _, y, weights = generated(12)
    rng = np.random.default_rng(3)
    c = weights[:12] / weights[:12].sum()
    X = rng.standard_normal((12, 2))
    rows = RowsInMemory(Design(X), y, c, Hinge())
    lifted = noise_budget_problem(rows, Regularisation(L1(), 0.1), 0.25)
    problem = lifted.lift.problem_of_model(lifted)
    theta, step = rng.standard_normal(12), 0.3
    found = -y * problem.prox_dual(theta, step)
    # of the sum of the conjugates -p_i and the squared distance, over box and budget
    target = -y * theta + step
    expected = minimize(
        lambda p: 0.5 * c @ (p - target) ** 2, np.full(12, 0.2), jac=lambda p: c * (p - target),
        bounds=[(0.0, 1.0)] * 12, constraints=LinearConstraint(c, -np.inf, 0.25),
        method="trust-constr", options={"gtol": 1e-12, "xtol": 1e-14, "maxiter": 5000},
    )  # fmt: skip
    assert c @ found == pytest.approx(0.25, abs=1e-12)
    np.testing.assert_allclose(found, expected.x, atol=1e-4)


def test_squared_penalty_against_its_saddle_point():
    X, y, _ = generated(20, 3)
    n, alpha, nu = 20, 0.05, 0.3
    model = PdproxSVC(alpha, penalty="l2", noise_budget=nu * n, tol=1e-9, fit_intercept=False)
    found = model.fit(X, y).certificate_
    gram = (X * y[:, None]) @ (X * y[:, None]).T / (alpha * n * n)
    expected = minimize(
        lambda p: 0.5 * p @ gram @ p - p.mean(), np.full(n, 0.1),
        jac=lambda p: gram @ p - 1.0 / n, bounds=[(0.0, 1.0)] * n,
        constraints={"type": "ineq", "fun": lambda p: nu - p.mean(),
                     "jac": lambda p: np.full(n, -1.0 / n)},
        method="SLSQP", options={"ftol": 1e-14, "maxiter": 1000},
    )  # fmt: skip
    assert found.primal == pytest.approx(-expected.fun, abs=1e-8)
    assert found.dual <= -expected.fun + 1e-9


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"loss": "generalized_hinge"}, "noise_budget needs a loss of margins"),
        ({"penalty": "total_variation"}, "leaves no level free"),
        ({"noise_budget": 0.0}, "noise_budget"),
    ],
)
def test_what_does_not_go_with_it_is_refused(changes, message):
    X, y, _ = generated()
    with pytest.raises(ValueError, match=message):
        PdproxSVC(**{"noise_budget": 5.0, **changes}).fit(X, y)


def test_blocks_are_refused():
    X, y, _ = generated()
    with pytest.raises(ValueError, match="in memory, got RowBlocks"):
        PdproxSVC(noise_budget=5.0).fit(RowBlocks([X] * 30_000), np.tile(y, 30_000))


def test_scaling_keeps_the_budget():
    X, y, _ = generated()
    c = np.full(60, 1.0 / 60)
    rows = RowsInMemory(Design(X), y, c, Hinge())
    problem = noise_budget_problem(rows, Regularisation(SquaredL2(), 0.1), 0.2)
    point = problem.feasible_point(-y)
    assert c @ np.abs(point.theta) <= 0.2 + 1e-15
    assert problem.null_objective == pytest.approx(0.2)
