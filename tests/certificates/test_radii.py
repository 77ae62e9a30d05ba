"""The radii of the lipschitz bound, and certificates against independent optima."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from skpd.certificates import certify_point, dual_bound
from skpd.designs import Design
from skpd.losses import Hinge, Logistic, MarginLoss, Squared
from skpd.penalties import L1, ElasticNet, GroupL2, NonNegativeL1, SparseGroup
from skpd.problems import linear_problem
from skpd.solvers import solve

N, D, ALPHA = 24, 6, 0.05


def problem_of(loss, penalty, rng, alpha=ALPHA):
    X = rng.normal(size=(N, D))
    z = X[:, 0] - X[:, 3] + 0.5 * rng.normal(size=N)
    y = np.where(z > 0, 1.0, -1.0) if isinstance(loss, MarginLoss) else z
    return linear_problem(Design(X), y, np.full(N, 1 / N), loss, penalty, alpha, False), X


def test_the_three_radii_of_the_lasso(rng):
    """B = f(0) / alpha, P(w) / alpha, and the latter for every coefficient alone."""
    problem, X = problem_of(Squared(), L1(), rng)
    w = 0.5 * rng.normal(size=D)
    w *= 0.3 / np.abs(w).sum()
    theta = X @ w - problem.y
    primal = theta @ theta / (2 * N) + ALPHA * np.abs(w).sum()
    start = problem.y @ problem.y / (2 * N)
    assert primal < start
    u = X.T @ theta / N
    value = -np.mean(theta**2 / 2 + theta * problem.y)
    excess = np.maximum(np.abs(u) - ALPHA, 0.0)
    expected = {
        "monotone": value - primal / ALPHA * excess.max(),
        "initial": value - start / ALPHA * excess.max(),
        "coordinate": value - primal / ALPHA * excess.sum(),
    }
    assert np.count_nonzero(excess) > 1
    for kind, dual in expected.items():
        certificate, _ = certify_point(problem, w, 0.0, theta, lipschitz=kind, scaling=False)
        assert certificate.radius_kind == kind
        assert_allclose(certificate.radius, (start if kind == "initial" else primal) / ALPHA)
        assert_allclose(certificate.dual, max(dual, 0.0), rtol=1e-12)
        assert certificate.kind == ("lipschitz" if dual > 0 else "scaling")
    best, _ = certify_point(problem, w, 0.0, theta)
    assert best.dual >= max(expected.values()) - 1e-15 and best.radius_kind == "monotone"
    null, _ = certify_point(problem, np.zeros(D), 0.0, theta)
    assert (
        null.radius_kind == "initial"
        and null.radius
        == certify_point(problem, np.zeros(D), 0.0, theta, lipschitz="initial")[0].radius
    )


def test_best_scale_of_the_lasso(rng):
    """The dual is a parabola in the scale: its peak, or the edge of the dual ball."""
    problem, X = problem_of(Squared(), L1(), rng)
    edges = 0
    for _ in range(50):
        theta = (X @ rng.normal(size=D) * rng.choice([0.1, 1.0]) - problem.y) * rng.choice(
            [0.1, 1]
        )
        edge = ALPHA / np.abs(X.T @ theta / N).max()
        t = min(max(-np.mean(theta * problem.y) / np.mean(theta**2), 0.0), edge)
        edges += t == edge
        bound = dual_bound(problem, theta, np.inf)
        scaled = -np.mean((t * theta) ** 2 / 2 + t * theta * problem.y)
        assert bound.value >= scaled - 1e-12
        if bound.kind == "scaling" and scaled > 0.0:
            assert_allclose(bound.value, scaled, rtol=1e-9)
            assert_allclose(bound.theta, t * theta, rtol=1e-5)
    assert 0 < edges < 50


@pytest.mark.parametrize("loss", [Squared(), Logistic()], ids=str)
@pytest.mark.parametrize("penalty", [
    L1(), NonNegativeL1(), GroupL2(groups=2), SparseGroup(groups=3, l1_ratio=0.4),
], ids=str)  # fmt: skip
def test_finite_where_the_ordinary_gap_is_infinite(loss, penalty, rng):
    """At the paper's dual point of an iterate X'theta lies outside of the dual ball."""
    problem, X = problem_of(loss, penalty, rng)
    infinite = 0
    for epochs in (2, 5, 10, 20, 40):
        arguments = {"tol": 0.0, "max_iter": epochs, "random_state": np.random.RandomState(0)}
        solver = {} if "Group" in str(penalty) else {"solver": "cd", "average": False}
        point = solve(problem, **solver, **arguments)
        theta = loss.gradient(problem.y, X @ point.coef)
        certificate, _ = certify_point(problem, point.coef, 0.0, theta, scaling=False)
        ordinary = problem.penalty.conjugate(-X.T @ theta / N, ALPHA)
        infinite += ordinary == np.inf and certificate.dual > 0.0
    assert infinite >= 1 and np.isfinite(certificate.gap)
    assert certificate.relative_gap < 1e-2


def test_coordinate_radius_of_an_elastic_net(rng):
    """Against the supremum over a grid of each coefficient."""
    penalty = ElasticNet(l1_ratio=0.4)
    grid = np.linspace(-2.0, 2.0, 4001) / 0.4
    for _ in range(20):
        v = 3.0 * rng.normal(size=4)
        values = np.outer(v, grid) - 0.7 * (0.4 * np.abs(grid) + 0.3 * grid**2)
        found = penalty.coordinate_conjugate(v, 0.7, 2.0)
        assert_allclose(found, values.max(axis=1).sum(), rtol=1e-5)
        assert found >= values.max(axis=1).sum() * (1 - 1e-15)
    v = np.array([2.0, -3.0, 0.5])
    assert_allclose(NonNegativeL1().coordinate_conjugate(v, 1.0, 3.0), 3.0)
    assert_allclose(L1().coordinate_conjugate(v, 1.0, 3.0), 9.0)


def test_ball_bound_of_an_elastic_net(rng):
    """The sup over the l1 ball, by SciPy with w split by sign: below both simpler bounds."""
    penalty, alpha, radius = ElasticNet(l1_ratio=0.5), 1.0, 1.0
    better = 0
    for _ in range(20):
        v = 2.5 * rng.normal(size=5)
        found = penalty.bounded_conjugate(v, alpha, radius)
        gain = np.maximum(np.abs(v) - 0.5, 0.0)
        best = minimize(
            lambda w, gain=gain: 0.25 * w @ w - gain @ w,
            np.zeros(5),
            jac=lambda w, gain=gain: 0.5 * w - gain,
            bounds=[(0, None)] * 5,
            constraints=[{"type": "ineq", "fun": lambda w: 2.0 - w.sum()}],
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
        assert_allclose(found, -best.fun, rtol=1e-6, atol=1e-9)
        simple = min(penalty.conjugate(v, alpha), 2.0 * gain.max())
        assert found <= simple * (1 + 1e-14)
        better += found < 0.99 * simple
    assert better > 5


def dual_optimum(problem, X):
    """The dual's optimal value by SLSQP, from the definitions of section 2 of Dünner et al."""
    y, loss, penalty, alpha = problem.y, problem.loss, problem.penalty, problem.alpha
    name = type(penalty).__name__

    def negative_dual(theta):
        if isinstance(loss, Squared):
            return np.mean(theta**2 / 2 + theta * y), (theta + y) / N
        a = -y * theta
        if isinstance(loss, Hinge):
            return -np.mean(a), y / N
        a = np.clip(a, 1e-12, 1 - 1e-12)
        value = np.mean(a * np.log(a) + (1 - a) * np.log(1 - a))
        return value, -y * np.log(a / (1 - a)) / N

    cost, constraints = negative_dual, []
    if name == "ElasticNet":
        l1, l2 = alpha * penalty.l1_ratio, alpha * (1 - penalty.l1_ratio)

        def cost(theta):
            value, slope = negative_dual(theta)
            u = X.T @ theta / N
            shrunk = u - np.clip(u, -l1, l1)
            return value + shrunk @ shrunk / (2 * l2), slope + X @ shrunk / (N * l2)
    else:  # || max(|u_g| - alpha l1, 0) ||^2 <= (alpha (1 - l1) weight)^2 for each group
        size = penalty.groups
        l1 = getattr(penalty, "l1_ratio", 0.0)
        limit = (alpha * (1 - l1)) ** 2 * size

        def rooms(theta):
            u = X.T @ theta / N
            shrunk = u - np.clip(u, -alpha * l1, alpha * l1)
            return limit - (shrunk.reshape(-1, size) ** 2).sum(axis=1)

        def slopes(theta):
            u = X.T @ theta / N
            shrunk = u - np.clip(u, -alpha * l1, alpha * l1)
            parts = -2 * (X * shrunk) / N
            return parts.reshape(N, -1, size).sum(axis=2).T

        constraints = [{"type": "ineq", "fun": rooms, "jac": slopes}]
    lower, upper = loss.dual_bounds(y)
    start = np.clip(-1e-3 * np.sign(y), lower, upper)
    found = minimize(
        cost, start, jac=True, bounds=list(zip(lower, upper, strict=True)),
        constraints=constraints, method="SLSQP", options={"ftol": 1e-15, "maxiter": 2000},
    )  # fmt: skip
    assert found.success, found.message
    return -found.fun


@pytest.mark.parametrize("loss", [Squared(), Logistic(), Hinge()], ids=str)
@pytest.mark.parametrize("penalty", [
    GroupL2(groups=3), SparseGroup(groups=2, l1_ratio=0.4), ElasticNet(l1_ratio=0.5),
    ElasticNet(l1_ratio=0.999),
], ids=str)  # fmt: skip
def test_against_scipy(loss, penalty, rng):
    """The certified interval holds SciPy's optimum and closes on it; each radius is valid."""
    for _ in range(3):
        problem, X = problem_of(loss, penalty, rng)
        value = dual_optimum(problem, X)
        arguments = {"max_iter": 20_000, "random_state": np.random.RandomState(0)}
        found = solve(problem, tol=1e-7, **arguments)
        assert found.converged
        assert found.certificate.dual <= value + 1e-8 and value <= found.certificate.primal + 1e-8
        kinds = ["monotone", "initial"] + ["coordinate"] * hasattr(penalty, "terms")
        for scale in (0.5, 0.95, 1.05):
            for kind in kinds:
                for scaling in (False, True):
                    bound = dual_bound(
                        problem, scale * found.dual_coef, found.certificate.primal,
                        lipschitz=kind, scaling=scaling,
                    )  # fmt: skip
                    assert bound.value <= value + 1e-8


def test_invalid_choices(rng):
    problem, _ = problem_of(Squared(), GroupL2(groups=2), rng)
    with pytest.raises(ValueError, match=r"lipschitz must be one of.*got 'global'"):
        dual_bound(problem, problem.y, 1.0, lipschitz="global")
    with pytest.raises(ValueError, match=r"needs a penalty like L1.*got GroupL2"):
        dual_bound(problem, problem.y, 1.0, lipschitz="coordinate")
