"""LPBoost against the linear programme of all stumps, and its bounds."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from benchmarks.boosting import best_soft_margin, every_stump
from skpd import LPBoostClassifier
from skpd.models.boosting.column_generation import generate_columns
from skpd.models.boosting.hypotheses import AllStumps
from skpd.models.boosting.problem import BoostingProblem
from tests.oracles.optima import optimal_value


def random_problem(seed):
    rng = np.random.default_rng(seed)
    n, d = rng.integers(5, 40), rng.integers(1, 5)
    X = rng.normal(size=(n, d)).round(rng.integers(0, 3))
    y = np.where(X[:, 0] + rng.normal(size=n) > 0, 1.0, -1.0)
    weights = rng.integers(1, 4, size=n).astype(float)
    return X, y, weights / weights.sum(), rng.choice([0.1, 0.3, 0.7, 1.0])


@pytest.mark.parametrize("seed", range(10))
def test_optimum_over_all_stumps(seed):
    X, y, weights, nu = random_problem(seed)
    found = generate_columns(BoostingProblem(weights, nu), y, AllStumps(X), tol=1e-9)
    optimum = best_soft_margin(y * every_stump(X), weights / nu)
    assert found.converged
    assert found.certificate.primal == pytest.approx(optimum, abs=1e-8)
    assert found.certificate.dual == pytest.approx(optimum, abs=1e-8)
    for bound in ("dual", "iterate_dual"):
        assert np.all(found.history[bound] <= optimum + 1e-13)
    for bound in ("primal", "iterate_primal"):
        assert np.all(found.history[bound] >= optimum - 1e-13)
    assert np.all(found.history["restricted_primal"] >= found.history["iterate_dual"])


def test_optimum_with_entropy():
    X, y, weights, _ = random_problem(0)
    nu, entropy, tol = 0.3, 0.1, 1e-5
    edges = y * every_stump(X)
    cp = pytest.importorskip("cvxpy")
    w = cp.Variable(len(y))
    objective = entropy * cp.sum(cp.rel_entr(w, weights)) + cp.max(edges @ w)
    allowed = [w >= 0, w <= weights / nu, cp.sum(w) == 1]
    optimum = optimal_value(cp.Problem(cp.Minimize(objective), allowed))
    found = generate_columns(BoostingProblem(weights, nu, entropy), y, AllStumps(X), tol=tol)
    assert found.converged
    assert found.certificate.gap <= tol
    assert np.all(found.history["dual"] <= optimum + 1e-8)
    assert np.all(found.history["primal"] >= optimum - 1e-8)
    # at most the range of the entropy above the linear programme
    programme = best_soft_margin(edges, weights / nu)
    assert programme <= found.certificate.primal
    assert found.certificate.dual <= programme + entropy * np.log(1 / nu)


@pytest.mark.parametrize("nu", [0.1, 0.4, 1.0])
def test_the_interior_point_method_agrees_with_highs(nu):
    """Also where hypotheses outnumber rows, most of them combinations of others."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((60, 40)).round(1)
    y = np.where(X[:, 0] + rng.standard_normal(60) > 0.0, 1.0, -1.0)
    problem = BoostingProblem(np.full(60, 1 / 60), nu)
    found = generate_columns(problem, y, AllStumps(X), tol=1e-8)
    vertex = generate_columns(problem, y, AllStumps(X), solver="highs", tol=1e-8)
    assert found.converged and vertex.converged
    assert found.certificate.dual <= vertex.certificate.primal
    assert vertex.certificate.dual <= found.certificate.primal
    # weights that the tolerance does not need are 0
    assert np.sum(found.mixture > 0.0) <= 2 * np.sum(vertex.mixture > 0.0)


@pytest.mark.parametrize("entropy", [0.0, 0.1])
def test_rounds_end_where_rounding_errors_limit_the_gap(entropy):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 5))
    y = np.where(X[:, 0] + rng.standard_normal(60) > 0.0, 1.0, -1.0)
    problem = BoostingProblem(np.full(60, 1 / 60), 0.3, entropy)
    found = generate_columns(problem, y, AllStumps(X), tol=0.0, max_iter=300)
    assert not found.converged and found.n_iter < 50
    assert found.certificate.gap < 1e-8


def test_accelerated_gradients_without_entropy():
    X, y, weights, nu = random_problem(3)
    problem = BoostingProblem(weights, nu)
    found = generate_columns(problem, y, AllStumps(X), solver="agm", tol=1e-3)
    optimum = best_soft_margin(y * every_stump(X), weights / nu)
    assert found.converged
    assert found.certificate.dual <= optimum <= found.certificate.primal


@pytest.mark.parametrize("entropy", [0.0, 1e-8, 1e-4, 0.1, 10.0])
def test_bounds_of_any_distribution_and_mixture(entropy):
    rng = np.random.default_rng(1)
    for seed in range(20):
        X, y, weights, nu = random_problem(seed)
        problem, edges = BoostingProblem(weights, nu, entropy), y * every_stump(X)
        mixture = rng.dirichlet(np.full(len(edges), 0.1))
        margins = mixture @ edges
        value, nearest = problem.distribution(margins)
        lower = problem.lower_bound(margins, 0.0)
        assert lower == pytest.approx(value, abs=1e-7 if entropy == 1e-8 else 1e-11)
        assert lower <= value + 1e-15
        for w in (nearest, problem.feasible(rng.dirichlet(np.ones(len(y))))):
            assert np.all((w >= 0) & (w <= problem.caps * (1 + 1e-15)))
            assert np.sum(w) == pytest.approx(1.0, abs=1e-12)
            divergence = np.sum(w[w > 0] * np.log(w[w > 0] / weights[w > 0]))
            assert lower <= entropy * divergence + w @ margins + 1e-13
            upper = problem.upper_bound(w, (np.max(edges @ w), 0.0))
            assert upper >= entropy * divergence + np.max(edges @ w)


@pytest.mark.parametrize("seed", range(10))
def test_best_stump_is_the_best_of_all(seed):
    X, y, _, _ = random_problem(seed)
    w = np.random.default_rng(seed).dirichlet(np.ones(len(y)))
    [(stump, values)], (edge, rounding) = AllStumps(X).best(w * y)
    best = np.max(every_stump(X) @ (w * y))
    assert edge == pytest.approx(best, abs=1e-14)
    assert edge + rounding >= best
    np.testing.assert_array_equal(stump.predict(X), values)
    assert values @ (w * y) == pytest.approx(edge, abs=1e-14)


def test_other_weak_learner_is_certified_over_what_it_found():
    X, y, _, _ = random_problem(8)
    clf = LPBoostClassifier(DecisionTreeClassifier(max_depth=1), nu=0.5, random_state=0).fit(X, y)
    edges = y * np.array([h.predict(X) for h in clf.estimators_])
    found = best_soft_margin(edges, np.full(len(y), 2.0 / len(y)))
    assert clf.certified_over_ == "hypotheses found"
    assert clf.certificate_.dual == pytest.approx(found, abs=1e-9)
    assert clf.certificate_ == clf.restricted_certificate_
    stumps = LPBoostClassifier(nu=0.5).fit(X, y)
    assert clf.certificate_.dual <= stumps.certificate_.primal


def test_three_classes_one_against_the_rest():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="OneVsRestClassifier"):
        LPBoostClassifier().fit(X, y)
    assert OneVsRestClassifier(LPBoostClassifier(nu=0.2)).fit(X, y).score(X, y) > 0.9


def test_it_says_what_is_wrong():
    X, y, _, _ = random_problem(8)
    with pytest.raises(ValueError, match="solver='highs' is for linear programmes"):
        LPBoostClassifier(entropy=0.1, solver="highs").fit(X, y)
    with pytest.raises(ValueError, match="entropy must be 0 or at least"):
        LPBoostClassifier(entropy=1e-20).fit(X, y)
    with pytest.raises(ValueError, match="KNeighborsClassifier does not"):
        LPBoostClassifier(KNeighborsClassifier()).fit(X, y)
    with pytest.raises(ValueError, match="samples of 2 classes"):
        LPBoostClassifier().fit(X, y, sample_weight=(y > 0).astype(float))
    with pytest.warns(ConvergenceWarning, match="after 1 rounds"):
        clf = LPBoostClassifier(max_iter=1).fit(X, y)
    assert not clf.converged_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LPBoostClassifier().fit(X, y)


def test_an_entropy_far_below_the_tolerance_is_next_to_none():
    """F is that of the linear programme but for entropy log(1 / nu)."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((17, 3))
    y = np.where(X[:, 0] + rng.standard_normal(17) > 0.0, 1, -1)
    model = LPBoostClassifier(entropy=1e-8, tol=0.01).fit(X, y)
    programme = LPBoostClassifier(tol=1e-8).fit(X, y)
    assert model.converged_ and model.solver_ == "interior-point"
    assert model.certificate_.dual <= programme.certificate_.primal + 1e-7
    assert programme.certificate_.dual <= model.certificate_.primal


@pytest.mark.parametrize("seed", [2, 3])
def test_tight_tolerances_with_entropy(seed):
    """Where accelerated gradients alone end at gaps of 5e-8 to 7e-7."""
    X, y, weights, _ = random_problem(seed)
    problem = BoostingProblem(weights, 0.1, 1e-3)
    found = generate_columns(problem, y, AllStumps(X), tol=1e-10)
    rough = generate_columns(problem, y, AllStumps(X), solver="agm", tol=1e-5)
    assert found.converged and rough.converged
    assert rough.certificate.dual <= found.certificate.primal
    assert found.certificate.dual <= rough.certificate.primal
