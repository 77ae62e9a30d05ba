"""Accelerated gradients by estimate functions: the papers' bounds, along the run."""

from itertools import islice

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

from skpd.designs import Design
from skpd.losses import Absolute, Hinge, Logistic, Pinball, SmoothedHinge, Squared, SquaredHinge
from skpd.penalties import L1, ElasticNet, L1Ball, SquaredL2, SquaredL2OnL1Ball
from skpd.problems import linear_problem
from skpd.solvers import solve
from skpd.solvers.accelerated.estimate_functions import Composite, infinite_memory, one_memory
from skpd.solvers.accelerated.geometry import Entropic, Euclidean
from tests.oracles.reference import linear_programme


def ridge_composite(X, y, mu, *, steps, in_loss):
    """Logistic loss and ridge penalty over the ball of radius 2."""
    n = len(y)

    def smooth(z):
        return np.mean(np.logaddexp(0, -y * z)), -y * expit(-y * z) / n, -y * expit(-y * z)

    ridge = 0.0 if in_loss else mu

    def prox(v, step):
        x = v / (1 + step * ridge)
        return x * min(1.0, 2.0 / max(np.linalg.norm(x), 1e-300))

    L = 0.25 * np.linalg.norm(X, 2) ** 2 / n + (mu if in_loss else 0.0)
    return L, Composite(
        smooth, lambda x: X @ x, lambda r: X.T @ r, lambda x: ridge / 2 * x @ x, Euclidean(prox),
        lipschitz=L if steps == "fixed" else L / 30, in_loss=mu if in_loss else 0.0,
        in_penalty=0.0 if in_loss else mu, adaptive=steps != "fixed",
    )  # fmt: skip


@pytest.mark.parametrize("run", [infinite_memory, one_memory])
@pytest.mark.parametrize("steps", ["fixed", "adaptive"])
@pytest.mark.parametrize("in_loss", [True, False])
@pytest.mark.parametrize("mu", [0.0, 1e-2])
@pytest.mark.parametrize("data", ["generated", "a1a"])
def test_bounds_of_the_theorems(run, steps, in_loss, mu, data, rng, request):
    """Theorems 6 and 14 against the optimum of a long run, 10 and 18 against the dual average."""
    if data == "a1a":
        X, y = request.getfixturevalue("skpd_data")("a1a", 123)
        X = X.toarray()
    else:
        X = rng.normal(size=(80, 6)) * np.arange(1, 7)
        y = np.where(X[:, 0] + rng.normal(size=80) > 0, 1.0, -1.0)
    n, d = X.shape

    def objective(x):
        return np.mean(np.logaddexp(0, -y * (X @ x))) + mu / 2 * x @ x

    def dual(theta):
        # min over the ball of mu/2 ||x||^2 + g.x, minus the mean conjugate
        g, a = X.T @ theta / n, np.abs(theta)
        size = min(np.linalg.norm(g) / mu if mu else np.inf, 2.0)
        entropy = a * np.log(a) + (1 - a) * np.log(1 - a)
        return mu / 2 * size**2 - np.linalg.norm(g) * size - np.mean(entropy)

    exact = _long_run(objective, X, y, mu)
    L, composite = ridge_composite(X, y, mu, steps=steps, in_loss=in_loss)
    distance, diameter = 0.5 * exact @ exact, 0.5 * 2.0**2
    found = []
    for iterate in islice(run(composite, np.zeros(d)), 60):
        gap = objective(iterate.x) - objective(exact)
        assert gap <= iterate.bound * distance + 1e-12
        if not in_loss or mu == 0.0:  # phi(., theta) is as strongly convex as f is treated
            assert objective(iterate.x) - dual(iterate.theta) <= iterate.bound * diameter + 1e-12
        for theta, slope in ((iterate.theta, iterate.slope), iterate.latest):
            assert_allclose(slope, X.T @ theta / n, atol=1e-12)
        found.append(iterate.lipschitz)
        assert iterate.bound <= _rate(run, found, in_loss * mu, mu) * (1 + 1e-9)
        if steps == "fixed":
            assert iterate.lipschitz == L
        else:
            assert iterate.lipschitz <= 2 * L


def _rate(run, L, in_loss, mu):
    """Lemmas 8 and 16 for the values of L so far, Theorems 6 and 14 where they are the same."""
    L = np.array(L)
    if run is infinite_memory:
        # as in Lemma 5, whose proof is that of Lemma 8, 4 L where Lemma 8 prints L
        linear = (L[0] - in_loss) / np.prod(1 + np.sqrt(mu / (4 * L[1:]))) ** 2
        return min(linear, 4 / (2 / np.sqrt(L[0]) + np.sum(1 / np.sqrt(L[1:]))) ** 2)
    whole = L + mu - in_loss
    linear = np.prod(1 - np.sqrt(mu / whole[1:]))
    slow = 4 / whole[0] / (2 / np.sqrt(whole[0]) + np.sum(1 / np.sqrt(whole[1:]))) ** 2
    return (L[0] - in_loss) * min(linear, slow)


def _long_run(objective, X, y, mu):
    from scipy.optimize import minimize

    found = minimize(
        lambda x: (objective(x), X.T @ (-y * expit(-y * (X @ x))) / len(y) + mu * x),
        np.zeros(X.shape[1]), jac=True, method="SLSQP", options={"ftol": 1e-16, "maxiter": 1000},
        constraints={"type": "ineq", "fun": lambda x: 4 - x @ x, "jac": lambda x: -2 * x},
    )  # fmt: skip
    return found.x * min(1.0, 2.0 / np.linalg.norm(found.x))


def test_entropic_prox_on_the_simplex(rng):
    """min of a quadratic over the simplex: its gradient is constant on the support."""
    H = rng.normal(size=(30, 8))
    target = rng.normal(size=30)

    def smooth(z):
        return 0.5 * np.sum((z - target) ** 2), z - target, z - target

    L = np.max(np.sum(H**2, axis=0))
    for run in (infinite_memory, one_memory):
        composite = Composite(
            smooth, lambda x: H @ x, lambda r: H.T @ r, lambda x: 0.0, Entropic(), lipschitz=L / 16
        )
        steps = run(composite, np.full(8, 1 / 8))
        x = next(islice(steps, 4000, None)).x
        assert_allclose(x.sum(), 1.0)
        gradient = H.T @ (H @ x - target)
        assert gradient @ x - gradient.min() <= 1e-4 * np.abs(gradient).max()


@pytest.mark.parametrize("options", [
    {}, {"memory": "one"}, {"adaptive": False}, {"strong_convexity": "loss"},
    {"strong_convexity": "loss", "memory": "one"},
], ids=str)  # fmt: skip
@pytest.mark.parametrize("free", [True, False])
def test_smooth_losses(options, free, rng):
    X = rng.normal(size=(60, 20))
    y = np.where(X[:, 0] + rng.normal(size=60) > 0.3, 1.0, -1.0)
    for loss in (Squared(), Logistic(), SmoothedHinge(mu=0.5)):
        for penalty in (SquaredL2OnL1Ball(0.7), ElasticNet(0.5), SquaredL2()):
            problem = linear_problem(Design(X), y, np.full(60, 1 / 60), loss, penalty, 0.1, free)
            found = solve(
                problem, "agm", tol=1e-8, max_iter=2000, random_state=np.random, **options
            )
            assert found.converged


@pytest.mark.parametrize("options", [
    {}, {"smoothing": "fixed"}, {"data_dependent": True}, {"memory": "one"}, {"prox": "entropic"},
], ids=str)  # fmt: skip
@pytest.mark.parametrize("loss", [Hinge(), Absolute()])
@pytest.mark.parametrize("free", [True, False])
def test_losses_with_kinks_by_smoothing(options, loss, free, rng):
    """Against HiGHS, the hinge with a bias by the box and hyperplane among them."""
    X = rng.normal(size=(60, 8))
    y = np.where(X[:, 0] + rng.normal(size=60) > 0.3, 1.0, -1.0)
    c = np.full(60, 1 / 60)
    problem = linear_problem(Design(X), y, c, loss, L1Ball(0.7), 1.0, free)
    found = solve(
        problem, "agm", tol=2e-3, max_iter=5000, random_state=np.random.RandomState(0), **options
    )
    optimum = linear_programme(X, y, c, loss, L1Ball(0.7), 1.0, free)
    assert found.converged
    assert found.certificate.dual <= optimum + 1e-10 <= found.certificate.primal + 2e-10


def test_what_the_entropic_prox_needs(rng):
    design, y = Design(rng.normal(size=(9, 3))), rng.normal(size=9)
    problem = linear_problem(design, y, np.full(9, 1 / 9), Squared(), L1(), 1e-3)
    with pytest.raises(ValueError, match=r"prox 'entropic'.*got L1"):
        solve(problem, "agm", tol=1e-9, max_iter=9, random_state=np.random, prox="entropic")


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("smoothing", ["fixed", "homotopy", "none"])
@pytest.mark.parametrize(
    ("loss", "penalty"),
    [
        (Hinge(), SquaredL2()),
        (Hinge(), ElasticNet(0.5)),
        (Hinge(), SquaredL2OnL1Ball(1.0)),
        (Logistic(), ElasticNet(0.5)),
        (SquaredHinge(), SquaredL2()),
        (Pinball(0.3), ElasticNet(0.2)),
        (Squared(), SquaredL2()),
    ],
)
def test_dual_variables_reach_the_optimum(loss, penalty, smoothing, fit_intercept, rng):
    X, weights = rng.normal(size=(80, 6)), rng.integers(0, 4, size=80) * 1.0
    y = np.sign(X[:, 0] + 0.5 * rng.normal(size=80))
    weights /= weights.sum()
    problem = linear_problem(Design(X), y, weights, loss, penalty, 0.02, fit_intercept)
    random_state = np.random.RandomState(0)
    optimum = solve(problem, tol=1e-9, max_iter=10_000, random_state=random_state).certificate
    found = solve(
        problem, "agm", tol=1e-3, max_iter=5000, random_state=random_state,
        variables="dual", smoothing=smoothing, data_dependent=smoothing == "fixed",
    )  # fmt: skip
    assert found.converged
    assert found.certificate.dual <= optimum.primal
    assert optimum.dual <= found.certificate.primal <= optimum.primal + 1e-3


def test_options_of_dual_variables_are_checked(rng):
    X, y = rng.normal(size=(20, 3)), np.repeat([-1.0, 1.0], 10)
    weights, options = np.full(20, 0.05), {"tol": 1e-3, "max_iter": 9, "random_state": None}
    for penalty, given, message in (
        (L1(), {"variables": "dual"}, "needs a squared l2 norm"),
        (SquaredL2(), {"variables": "dual", "prox": "entropic"}, "variables='primal'"),
        (SquaredL2(), {"variables": "dual", "strong_convexity": "loss"}, "needs variables="),
        (SquaredL2(), {"smoothing": "none"}, "needs a smooth loss or variables='dual'"),
    ):
        problem = linear_problem(Design(X), y, weights, Hinge(), penalty, 0.1, False)
        with pytest.raises(ValueError, match=message):
            solve(problem, "agm", **options, **given)
