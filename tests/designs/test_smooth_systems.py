"""Linear systems of smooth penalties, beside dense solutions and conditions of optimality."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from skpd import LogisticPD, PdproxSVC, PoissonPD, regularization_path
from skpd.designs import Design, WeightedGram
from skpd.designs.curvature_form import CurvatureForm
from skpd.designs.smooth_systems import SystemCurvature, SystemFactors
from skpd.penalties import SeparablePenalty

LAYOUTS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "CSR": sp.csr_array,
    "CSC": sp.csc_array,
}


def table(rng, n=400, d=90):
    scales = 10.0 ** rng.uniform(-2, 2, d)
    return np.round(rng.standard_normal((n, d)) + 0.5, 2).astype(np.float32) * np.round(scales, 3)


def dense_solution(X, h, ones, ridge, right):
    A = np.column_stack([X, np.ones(len(X))]) if ones else X
    return np.linalg.solve(A.T @ (h[:, np.newaxis] * A) + np.diag(ridge), right)


@pytest.mark.parametrize("ones", [True, False])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("steps", [(0.0, 0.0), (0.0, 1000.0), (1000.0, 1000.0)])
def test_solutions(steps, layout, ones, rng):
    """Factors, conjugate gradients with one, and without, have the solution of the system."""
    X = LAYOUTS[layout](table(rng))
    dense = (X.toarray() if sp.issparse(X) else X).astype(np.float64)
    factors = SystemFactors()
    for max_steps in steps:
        h = rng.uniform(0.5, 1.5, len(dense)) * (rng.random(len(dense)) < 0.9)
        ridge = np.append(np.full(90, 0.3), np.zeros(int(ones)))
        right = rng.standard_normal(90 + ones)
        curvature = SystemCurvature(Design(X), h, ones, max_steps, factors)
        solution = curvature.solution(right, ridge, 1e-9)
        expected = dense_solution(dense, h, ones, ridge, right)
        assert_allclose(solution, expected, rtol=1e-6, atol=1e-9)


def test_a_singular_system_leaves_the_last_iterate(rng):
    curvature = SystemCurvature(Design(table(rng)), np.zeros(400), False, 0.0, SystemFactors())
    assert_array_equal(curvature.solution(np.ones(90), np.zeros(90), 1e-9), np.zeros(90))


def test_where_systems_are_used(rng):
    """They are for working sets of all features, whose Gram matrix would cost more."""
    columns, h = np.arange(90), np.ones(400)
    design = Design(table(rng))
    form = CurvatureForm.SYSTEM
    at_once = WeightedGram(ones=True, by_systems=True)
    assert at_once.curvature(design, h, 1.0, columns).form is form
    assert at_once.curvature(design, h, 1.0, columns[1:]).form is not form
    assert at_once.curvature(design, h, 0.5, columns).form is not form
    assert WeightedGram(ones=True).curvature(design, h, 1.0, columns).form is not form


@pytest.fixture
def systems(monkeypatch):
    """The systems that are solved."""
    solved, solution = [], SystemCurvature.solution

    def counted(self, right, ridge, tol):
        solved.append(self)
        return solution(self, right, ridge, tol)

    monkeypatch.setattr(SystemCurvature, "solution", counted)
    return solved


def table_of_halves(rng):
    X = rng.standard_normal((3000, 90)) + 0.5
    return np.round(X * (rng.random(X.shape) < 0.5), 2)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("loss", ["logistic", "poisson"])
def test_models_are_stationary(loss, fit_intercept, layout, rng, systems):
    """The gradient of the mean loss is -alpha w, and its sum is 0 with an intercept."""
    X = table_of_halves(rng).astype(np.float32)
    weights = rng.integers(0, 3, 3000).astype(float)
    z = X[:, :5].sum(axis=1) / 3.0 - 0.5
    y = np.sign(z + rng.logistic(size=3000)) if loss == "logistic" else rng.poisson(np.exp(z))
    kind = LogisticPD if loss == "logistic" else PoissonPD
    model = kind(0.01, penalty="l2", fit_intercept=fit_intercept, tol=1e-10)
    model.fit(LAYOUTS[layout](X), y, weights)
    assert model.converged_ and model.solver_ == "multipliers"
    assert bool(systems) == (layout not in ("CSR", "CSC"))
    w, c = np.ravel(model.coef_), weights / weights.sum()
    z = X.astype(np.float64) @ w + model.intercept_
    slopes = -y / (1.0 + np.exp(y * z)) if loss == "logistic" else np.exp(z) - y
    assert_allclose(X.astype(np.float64).T @ (c * slopes), -0.01 * w, atol=1e-6)
    if fit_intercept:
        assert abs(c @ slopes) < 1e-7


class TwoSquares(SeparablePenalty):
    """The squared norm, without the half."""

    terms = (0.0, 2.0, -np.inf, np.inf)
    is_quadratic = True


def test_a_penalty_of_your_own(rng, systems):
    """The curvature of the penalty is its own."""
    X = table_of_halves(rng)
    y = np.sign(X[:, :5].sum(axis=1) - 0.5 + rng.logistic(size=3000))
    arguments = {"loss": "logistic", "tol": 1e-10}
    own = PdproxSVC(0.01, penalty=TwoSquares(), **arguments).fit(X, y)
    half = PdproxSVC(0.02, penalty="l2", **arguments).fit(X, y)
    assert own.solver_ == "multipliers" and systems
    assert_allclose(own.coef_, half.coef_, atol=1e-6)


def test_no_penalty_at_the_end_of_a_path(rng, systems):
    """Its model has a gradient of 0."""
    X = table_of_halves(rng)
    y = np.sign(X[:, :5].sum(axis=1) - 0.5 + rng.logistic(size=3000))
    model = PdproxSVC(penalty="l2", loss="logistic", tol=1e-8)
    path = regularization_path(model, X, y, alphas=[0.1, 0.0])
    w, b = np.ravel(path.coefs[-1]), np.ravel(path.intercepts[-1])
    slopes = -y / (1.0 + np.exp(y * (X @ w + b)))
    assert_allclose(X.T @ slopes / 3000, 0.0, atol=1e-5)
    assert systems
