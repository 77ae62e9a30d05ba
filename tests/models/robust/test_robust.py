"""The distributionally robust SVM: its objective, its certificate, its null model."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from skpd.certificates import certify_point, dual_bound, primal_objective
from skpd.designs import Design
from skpd.models.robust.lift import terms_of
from skpd.models.robust.problem import robust_problem
from skpd.solvers import solve
from tests.oracles.optima import optimal_value
from tests.oracles.robust_reference import robust_linear_programme

NORMS = [1, 2, np.inf]
LAYOUTS = [np.ascontiguousarray, np.asfortranarray, sp.csr_array, sp.csc_matrix]


def random_data(rng, *, mild=False):
    """X, y and weights with duplicate, zero and badly scaled columns and classes of one row."""
    n, d = int(rng.integers(2, 20)), int(rng.integers(1, 7))
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < rng.choice([0.3, 1.0]))
    if rng.random() < 0.3:
        X[:, rng.integers(d)] = X[:, rng.integers(d)]
    if rng.random() < 0.2:
        X[:, rng.integers(d)] = rng.choice([0.0, 1.0])
    if not mild and rng.random() < 0.3:
        X *= 10.0 ** rng.integers(-8, 9, size=d)
    y = np.where(rng.random(n) < rng.choice([0.1, 0.5]), 1.0, -1.0)
    y[:2] = [1.0, -1.0]
    weights = rng.random(n) + 0.05 if rng.random() < 0.5 else np.ones(n)
    stored = X.astype(np.float32) if rng.random() < 0.3 else X
    return LAYOUTS[rng.integers(4)](stored), stored.astype(float), y, weights / weights.sum()


def random_parameters(rng, norm, *, mild=False):
    low, high = (-2, 0.3) if mild else (-5, 3)
    return {
        "epsilon": 10.0 ** rng.uniform(low, high),
        "kappa": rng.choice([np.inf, 10.0 ** rng.uniform(-1 if mild else -6, 2)]),
        "norm": norm,
        "fit_intercept": bool(rng.random() < 0.5),
    }


def problem_of(stored, y, weights, **parameters):
    return robust_problem(Design(stored), y, weights, **parameters)


@pytest.mark.parametrize("norm", [1, np.inf])
def test_certificate_is_exact_at_the_solution_of_a_linear_programme(norm):
    rng = np.random.default_rng(3)
    for _ in range(40):
        stored, X, y, weights = random_data(rng, mild=True)
        parameters = random_parameters(rng, norm, mild=True)
        best, w, b, _, theta = robust_linear_programme(X, y, weights, **parameters)
        problem = problem_of(stored, y, weights, **parameters)
        b = b if problem.fit_intercept else 0.0
        certificate, _ = certify_point(problem, problem.extend(w, b), b, theta)
        assert_allclose([certificate.primal, certificate.dual], best, rtol=0, atol=1e-8)
        assert certificate.dual <= best + 1e-10


@pytest.mark.parametrize("norm", [1, np.inf])
def test_objective_takes_the_best_radius(norm):
    """Against HiGHS with the coefficients fixed and b and lam free, and lam on a grid."""
    rng = np.random.default_rng(4)
    for _ in range(40):
        stored, X, y, weights = random_data(rng, mild=True)
        parameters = random_parameters(rng, norm, mild=True)
        coef = rng.normal(size=X.shape[1]) * rng.choice([0.0, 1.0, 10.0])
        best, _, b, _, _ = robust_linear_programme(X, y, weights, coef=coef, **parameters)
        problem = problem_of(stored, y, weights, **parameters)
        b = b if problem.fit_intercept else 0.0
        variables = problem.extend(coef, b)
        assert_allclose(primal_objective(problem, variables, b), best, rtol=1e-9, atol=1e-9)
        margins, size = y * (X @ coef + b), terms_of(problem).norm.value(coef)
        radius = variables[-1]

        def value(lam, margins=margins, problem=problem, weights=weights):
            losses = problem.loss.at_radius(lam).value(np.ones(len(margins)), margins)
            return problem.alpha * lam + weights @ losses

        grid = np.linspace(size, 2.0 * radius + 2.0, 300)
        assert value(radius) <= min(value(lam) for lam in grid) + 1e-12


def test_null_model_against_linear_programmes():
    """The best constant prediction: data without information, and its proof of optimality."""
    rng = np.random.default_rng(5)
    for _ in range(60):
        _, X, y, weights = random_data(rng)
        parameters = random_parameters(rng, 1, mild=True)
        best = robust_linear_programme(0 * X, y, weights, **parameters)[0]
        problem = problem_of(0 * X, y, weights, **parameters)
        assert_allclose(problem.null_objective, best, rtol=1e-9)
        null = problem.null_point
        certificate, _ = certify_point(problem, null.coef, null.intercept, null.dual_coef)
        assert certificate.relative_gap <= 1e-12


@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize("norm", NORMS)
def test_weak_duality_against_arbitrary_points(norm, ridge):
    """Every lower bound is below the objective of every point, also at extreme scales."""
    rng = np.random.default_rng(6)
    for _ in range(25):
        stored, X, y, weights = random_data(rng)
        n, d = X.shape
        problem = problem_of(
            stored, y, weights, ridge=ridge * 10.0 ** rng.integers(-4, 3),
            **random_parameters(rng, norm),
        )  # fmt: skip
        bounds, objectives = [0.0], [problem.null_objective]
        for scale in (0.0, 1e-9, 1e-3, 0.3, 1.0, 1e8):
            coef, intercept = scale * rng.normal(size=d), scale * rng.normal()
            intercept *= problem.fit_intercept
            for theta in (
                scale * rng.normal(size=(2, n)),
                scale * np.ones((2, n)),
                scale * rng.random((2, n)) * (rng.random((2, n)) < 0.5),
                problem.null_point.dual_coef * scale,
            ):
                certificate, repaired = certify_point(problem, coef, intercept, theta)
                assert certificate.dual <= certificate.primal
                assert certificate.kind in ("exact", "scaling", "lipschitz")
                assert (repaired >= 0.0).all() and (repaired.sum(axis=0) <= 1.0 + 1e-12).all()
                bounds.append(certificate.dual)
                objectives.append(certificate.primal)
        # along the line from the null model, where good models lie
        direction = np.linalg.lstsq(X, y, rcond=None)[0]
        objectives += [primal_objective(problem, t * direction, 0.0) for t in 2.0 ** -np.arange(8)]
        assert max(bounds) <= min(objectives) * (1 + 1e-13)


def exact_objective(problem, X, coef, intercept):
    """P(w, b) of norm 1 at the best lam, which is ||w||_1 or a kink, in rational arithmetic."""
    w, kappa = [Fraction(v) for v in coef], problem.loss.kappa
    margins = [
        int(sign)
        * (sum(Fraction(x) * v for x, v in zip(row, w, strict=True)) + Fraction(intercept))
        for row, sign in zip(X, problem.y, strict=True)
    ]

    def value(radius):
        flips = [1 + m - Fraction(kappa) * radius if kappa < np.inf else 0 for m in margins]
        losses = [max(1 - m, flip, 0) for m, flip in zip(margins, flips, strict=True)]
        mean = sum(Fraction(c) * loss for c, loss in zip(problem.weights, losses, strict=True))
        ridge = Fraction(problem.lift.ridge) * sum(v * v for v in w) / 2
        return Fraction(problem.alpha) * radius + mean + ridge

    norm = sum(abs(v) for v in w)
    kinks = [min(2 * m, 1 + m) / Fraction(kappa) for m in margins] if kappa < np.inf else []
    return min(value(max(norm, radius)) for radius in [norm, *kinks])


def test_objectives_are_rounded_up(rng):
    """Against rational arithmetic, with margins that leave next to nothing of 1 - m."""
    for _ in range(300):
        n, d, scale = 4, 2, 10.0 ** rng.choice([-30, -8, 0, 8, 30])
        X, y = scale * rng.normal(size=(n, d)), rng.choice([-1.0, 1.0], n)
        y[:2] = [1.0, -1.0]
        w, b = rng.normal(size=d) / scale, float(rng.choice([0.0, 1.0, -1.0, 1 + 1e-15]))
        X *= ((y - b) / (X @ w))[:, np.newaxis] if rng.random() < 0.7 else 1.0
        X[rng.random(n) < 0.3] = 0.0
        weights = 10.0 ** rng.choice([0, -12], n) * (rng.random(n) + 0.01)
        problem = robust_problem(
            Design(X), y, weights / weights.sum(), epsilon=10.0 ** rng.uniform(-18, 0),
            kappa=rng.choice([np.inf, 10.0 ** rng.uniform(-3, 6)]), norm=1,
            ridge=rng.choice([0.0, 1e-9]),
        )  # fmt: skip
        for coef, intercept in ((w, b), (np.zeros(d), problem.null_point.intercept)):
            variables = problem.extend(coef, intercept)
            found = Fraction(primal_objective(problem, variables, intercept))
            assert found >= exact_objective(problem, X, coef, intercept)


def exact_dual(X, y, weights, theta, epsilon, kappa):
    """What the lipschitz bound of norm 1 is made of, in rational arithmetic."""
    p, r = [[Fraction(v) for v in row] for row in theta]
    c = [Fraction(v) for v in weights]
    value = sum(ci * (pi + ri) for ci, pi, ri in zip(c, p, r, strict=True))
    v = [
        abs(sum(c[i] * (p[i] - r[i]) * int(y[i]) * Fraction(X[i, j]) for i in range(len(c))))
        for j in range(X.shape[1])
    ]
    excess = max(v) + Fraction(kappa) * sum(ci * ri for ci, ri in zip(c, r, strict=True))
    return value, max(excess - Fraction(epsilon), 0)


@pytest.mark.parametrize("column_scale", [1.0, 1e8])
def test_lower_bound_survives_rounding(column_scale, rng):
    """Against rational arithmetic, with columns whose products cancel to their last digits."""
    for _ in range(20):
        n, d = 16, 3
        X = rng.normal(size=(n, d)) * np.array([1.0, 1.0, column_scale])
        y, theta = rng.choice([-1.0, 1.0], n), 0.5 * rng.random((2, n))
        slope = y * (theta[0] - theta[1])
        X[:, 2] -= slope * (X[:, 2] @ slope) / (slope @ slope)  # v_3 is all rounding error
        problem = problem_of(
            X, y, np.full(n, 1 / 16), epsilon=0.05, kappa=0.1, norm=1, fit_intercept=False
        )
        bound = dual_bound(problem, theta, np.inf)
        value, excess = exact_dual(X, y, problem.weights, bound.theta, 0.05, 0.1)
        exact = value - Fraction(bound.radius) * excess
        assert Fraction(bound.value) <= exact
        assert float(exact - Fraction(bound.value)) <= 1e-11


@pytest.mark.parametrize("norm", [1, 2, np.inf])
@pytest.mark.parametrize("kappa", [0.5, np.inf])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_features_without_a_penalty_and_with_bounds(norm, kappa, fit_intercept, rng):
    """Against Clarabel: features 1 and 4 are known exactly, so that the norm leaves them out."""
    X, ridge = rng.normal(size=(50, 6)), float(rng.choice([0.0, 0.1]))
    y = np.where(X[:, 0] + X[:, 1] - X[:, 2] + rng.normal(size=50) > 0.0, 1.0, -1.0)
    c = rng.uniform(0.5, 1.5, 50) / 50.0
    c /= c.sum()
    cp = pytest.importorskip("cvxpy")
    w, lam, b = cp.Variable(6), cp.Variable(), cp.Variable() if fit_intercept else 0.0
    m, penalised = cp.multiply(y, X @ w + b), w[[0, 2, 3, 5]]
    loss = cp.maximum(1.0 - m, 0.0)
    if kappa < np.inf:
        loss = cp.maximum(loss, 1.0 + m - kappa * lam)
    objective = 0.05 * lam + c @ loss + 0.5 * ridge * cp.sum_squares(penalised)
    allowed = [cp.norm(penalised, norm) <= lam, w[1] >= -0.1, w[1] <= 0.3, w[4] >= 0, w[4] <= 2]
    best = optimal_value(cp.Problem(cp.Minimize(objective), allowed))
    problem = robust_problem(
        Design(X), y, c, epsilon=0.05, kappa=kappa, norm=norm, ridge=ridge,
        fit_intercept=fit_intercept, bounds_of_free={1: (-0.1, 0.3), 4: (0.0, 2.0)},
    )  # fmt: skip
    found = solve(problem, tol=1e-8, max_iter=500, random_state=np.random.RandomState(0))
    assert found.converged and abs(found.certificate.primal - best) <= 1e-7
    assert found.certificate.dual <= best + 1e-8
    coef = problem.project(found.coef)
    assert -0.1 <= coef[1] <= 0.3 and 0.0 <= coef[4] <= 2.0
