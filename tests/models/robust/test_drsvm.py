"""DRSVMClassifier: against HiGHS and the paper's tables, its worst case and its solvers."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from skpd import DRSVMClassifier, PdproxSVC
from skpd.designs import Design
from skpd.models.robust.certain_labels import certain_labels
from skpd.models.robust.hybrid_gradient import hybrid_gradient
from skpd.models.robust.interior_point import robust_interior_point
from skpd.models.robust.problem import robust_problem
from skpd.models.robust.robust_multipliers import robust_multipliers
from skpd.solvers import Monitor, SolverContext, methods_of, select, solve
from tests.oracles.robust_reference import robust_linear_programme


def solved(problem, method=None, **options):
    """The solution by "auto", or what a method reports to a monitor."""
    state = np.random.RandomState(0)
    if method is None:
        return solve(problem, tol=1e-8, max_iter=300, random_state=state).certificate
    monitor = Monitor(problem, options.pop("tol"))
    monitor.begin()
    method(SolverContext(problem, monitor, None, options.pop("max_iter"), state), **options)
    return monitor.solution().certificate


@pytest.mark.parametrize("norm", [1, np.inf])
def test_auto_against_linear_programmes(norm):
    rng = np.random.default_rng(0)
    for _ in range(25):
        n, d = int(rng.integers(5, 60)), int(rng.integers(1, 12))
        X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
        y = np.where(X[:, 0] + rng.normal(size=n) > 0.5, 1.0, -1.0)
        y[:2] = [1.0, -1.0]
        weights = rng.random(n) + 0.1
        weights /= weights.sum()
        parameters = {
            "epsilon": 10.0 ** rng.uniform(-3, 0),
            "kappa": rng.choice([0.3, 1.0, 5.0, np.inf]),
            "norm": norm,
            "fit_intercept": bool(rng.random() < 0.5),
        }
        best = robust_linear_programme(X, y, weights, **parameters)[0]
        certificate = solved(robust_problem(Design(X), y, weights, **parameters))
        assert certificate.relative_gap <= 1e-6
        assert_allclose(certificate.primal, best, rtol=1e-6, atol=1e-9)
        assert certificate.dual <= best + 1e-9


@pytest.mark.parametrize(
    "method, shape, norm, options",
    [
        (hybrid_gradient, (60, 10), 1, {"tol": 1e-4, "max_iter": 20_000}),
        (hybrid_gradient, (60, 10), np.inf, {"tol": 1e-4, "max_iter": 20_000}),
    ],
)
@pytest.mark.parametrize("kappa", [1.0, np.inf])
def test_other_methods_against_linear_programmes(method, shape, norm, options, kappa):
    rng = np.random.default_rng(1)
    X = rng.normal(size=shape)
    y = np.sign(X[:, 0] + X[:, 1] + rng.normal(size=shape[0]))
    weights = np.full(shape[0], 1 / shape[0])
    parameters = {"epsilon": 0.1, "kappa": kappa, "norm": norm, "fit_intercept": True}
    best = robust_linear_programme(X, y, weights, **parameters)[0]
    problem = robust_problem(Design(sp.csr_array(X)), y, weights, **parameters)
    certificate = solved(problem, method, **options)
    assert certificate.relative_gap <= options["tol"]
    assert certificate.dual <= best + 1e-9
    assert best - 1e-9 <= certificate.primal <= best + options["tol"]


def tall_problem(n, d, layout=np.asarray, **parameters):
    """Labels with noise, and weights some of which are 0."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    y = np.where(X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=n) > 0.3, 1.0, -1.0)
    weights = rng.random(n) * (rng.random(n) < 0.9)
    parameters = {"epsilon": 0.01, "kappa": 1.0, "norm": 2, **parameters}
    return robust_problem(Design(layout(X)), y, weights / weights.sum(), **parameters)


@pytest.mark.parametrize("kappa", [0.1, 5.0, np.inf])
@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_certain_labels_solve_the_problem_unless_the_third_piece_is_active(kappa, ridge):
    problem = tall_problem(4000, 8, norm=1, kappa=kappa, ridge=ridge)
    found = solved(problem, certain_labels, tol=1e-7, max_iter=200)
    best = solved(problem, robust_interior_point, tol=1e-9, max_iter=100)
    assert (found.relative_gap <= 1e-7) == (kappa > 1.0)
    assert found.dual <= best.primal + 1e-12
    assert best.dual <= found.primal + 1e-12


def test_certain_labels_from_a_start_and_until_asked_to_end():
    problem = tall_problem(4000, 8, norm=1, kappa=5.0)
    monitor = Monitor(problem, 1e-4)
    monitor.begin()
    certain_labels(SolverContext(problem, monitor, None, 200, None))
    again = Monitor(problem, 1e-6)
    again.begin(has_start=True)
    certain_labels(SolverContext(problem, again, monitor.best, 200, None))
    assert again.relative_gap <= 1e-6 and again.n_iter < 20
    calls = []
    options = {"tol": 1e-12, "max_iter": 500, "random_state": None, "solver": "certain-labels"}
    solution = solve(problem, on_check=lambda _: calls.append(0) or len(calls) > 1, **options)
    assert solution.stopped and len(calls) == 3  # the last one is of what was found until then
    with pytest.raises(ValueError, match="needs a robust SVM with norm 1"):
        solve(tall_problem(400, 3), **options)


@pytest.mark.parametrize("kappa", [0.3, 1.0, 5.0, np.inf])
@pytest.mark.parametrize("ridge", [0.0, 0.1])
@pytest.mark.parametrize(
    "layout, fit_intercept",
    [(np.asarray, True), (sp.csr_array, True), (sp.csc_array, False), (np.float32, False)],
)
def test_multipliers_against_interior_point(kappa, ridge, layout, fit_intercept):
    """On samples first, with rows left out: 4,000 are many for 8 features."""
    problem = tall_problem(4000, 8, layout, kappa=kappa, ridge=ridge, fit_intercept=fit_intercept)
    found = solved(problem, robust_multipliers, tol=1e-7, max_iter=200)
    best = solved(problem, robust_interior_point, tol=1e-9, max_iter=100)
    assert found.relative_gap <= 1e-7
    assert_allclose(found.primal, best.primal, rtol=1e-6)
    assert found.dual <= best.primal + 1e-12
    assert best.dual <= found.primal + 1e-12


@pytest.mark.parametrize("norm", [1, np.inf])
@pytest.mark.parametrize("kappa", [0.3, 1.0, 5.0])
@pytest.mark.parametrize("shape, layout", [((1200, 12), np.asarray), ((1500, 100), sp.csr_array)])
def test_multipliers_of_polyhedral_norms_against_linear_programmes(norm, kappa, shape, layout):
    """By conjugate gradients where a matrix of 100 features costs more."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=shape) * (rng.random(shape) < 5.0 / shape[1])
    y = np.where(X[:, ::3].sum(axis=1) + 0.2 * rng.normal(size=shape[0]) > 0.1, 1.0, -1.0)
    weights = rng.uniform(0.5, 1.5, shape[0])
    weights /= weights.sum()
    parameters = {"epsilon": 1e-3, "kappa": kappa, "norm": norm, "fit_intercept": True}
    best = robust_linear_programme(X, y, weights, **parameters)[0]
    problem = robust_problem(Design(layout(X)), y, weights, **parameters)
    found = solved(problem, robust_multipliers, tol=1e-4, max_iter=400)
    assert found.relative_gap <= 1e-4
    assert found.dual <= best + 1e-9
    assert best - 1e-9 <= found.primal <= best + 1e-4


@pytest.mark.parametrize("kappa", [1.0, np.inf])
@pytest.mark.parametrize("n, d", [(300, 1), (400, 6), (150, 3)])
def test_multipliers_without_a_sample(n, d, kappa):
    if d == 1:  # where all norms are the same
        rng = np.random.default_rng(4)
        X = rng.normal(size=(n, 1))
        y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0.3, 1.0, -1.0)
        weights = np.full(n, 1 / n)
        parameters = {"epsilon": 0.02, "kappa": kappa, "fit_intercept": True}
        best = robust_linear_programme(X, y, weights, norm=1, **parameters)[0]
        problem = robust_problem(Design(X), y, weights, norm=2, **parameters)
    else:
        problem = tall_problem(n, d, kappa=kappa, epsilon=0.05)
        best = solved(problem, robust_interior_point, tol=1e-9, max_iter=100).primal
    found = solved(problem, robust_multipliers, tol=1e-6, max_iter=300)
    assert found.relative_gap <= 1e-6
    assert_allclose(found.primal, best, rtol=1e-5)


def test_multipliers_end_when_asked_to():
    problem = tall_problem(4000, 8)
    for max_iter in (1, 7):
        monitor = Monitor(problem, 1e-12)
        monitor.begin()
        robust_multipliers(SolverContext(problem, monitor, None, max_iter, None))
        assert monitor.n_iter <= max_iter
    solution = solve(
        problem, tol=1e-12, max_iter=500, random_state=None,
        on_check=lambda monitor: monitor.n_iter > 0,
    )  # fmt: skip
    assert solution.stopped

    def interrupt(monitor):
        raise KeyboardInterrupt

    monitor = Monitor(problem, 1e-12, lambda monitor: monitor.n_iter > 0 and interrupt(monitor))
    monitor.begin()
    with pytest.raises(KeyboardInterrupt):
        robust_multipliers(SolverContext(problem, monitor, None, 500, None))
    assert monitor.best.coef.any()


def test_most_rows_at_kinks():
    """Where all margins are 1 in the end the method of multipliers hands over."""
    rng = np.random.default_rng(5)
    X = np.ones((6000, 6))
    X[:, 1:] = rng.random((6000, 5)) < 0.3
    y = np.where(rng.random(6000) < 0.75, 1.0, -1.0)
    weights = np.full(6000, 1 / 6000)
    problem = robust_problem(
        Design(X), y, weights, epsilon=0.1, kappa=1.0, norm=2, fit_intercept=False
    )
    best = solved(problem, robust_interior_point, tol=1e-9, max_iter=100)
    monitor = Monitor(problem, 1e-7)
    monitor.begin()
    robust_multipliers(SolverContext(problem, monitor, None, 200, None))
    assert monitor.dual <= best.primal + 1e-12
    assert_allclose(solved(problem).primal, best.primal, rtol=1e-6)


def test_which_method_is_first():
    def first(problem):
        return methods_of(problem)[select(problem)[0].key].name

    assert first(tall_problem(20_000, 60)) == "robust-multipliers"
    assert first(tall_problem(20_000, 60, norm=1)) == "certain-labels"
    assert first(tall_problem(400, 3, norm=1)) == "robust-interior-point"  # small
    assert first(tall_problem(20_000, 60, norm=np.inf)) == "robust-multipliers"
    assert first(tall_problem(2000, 60)) == "robust-interior-point"  # few rows
    assert first(tall_problem(400, 3)) == "robust-interior-point"  # small
    far = tall_problem(20_000, 60, lambda X: X + 1000.0)
    assert first(far) == "robust-interior-point"
    problem = tall_problem(20_000, 60)
    names = [methods_of(problem)[attempt.key].name for attempt in select(problem)]
    assert names == ["robust-multipliers", "robust-interior-point", "robust-hybrid-gradient"]


TABLE = [
    ("a1a", 1, 0.0, 0.65109034), ("a1a", 2, 0.0, 0.63388041), ("a1a", np.inf, 0.0, 0.62242991),
    ("a1a", 1, 1.0, 0.78714239), ("a1a", np.inf, 1.0, 0.78532484),
    ("a9a", 1, 0.0, 0.64218544), ("a9a", 2, 0.0, 0.63885856),
]  # fmt: skip


@pytest.mark.parametrize("name, norm, alpha, optimum", TABLE)
def test_paper_tables(skpd_data, name, norm, alpha, optimum):
    """Tables 2, 3, 4, 7 and 8, to more digits by an interior-point solver at 1e-8."""
    X, y = skpd_data(name, n_features=123)
    model = DRSVMClassifier(
        epsilon=0.1, kappa=1.0, norm=norm, alpha=alpha, fit_intercept=False, tol=1e-6
    ).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-6
    assert model.certificate_.dual - 1e-8 <= optimum <= model.certificate_.primal + 1e-8


@pytest.mark.parametrize("solver", ["isg", "ippa", "hybrid"])
@pytest.mark.parametrize("norm, alpha, optimum", [(1, 0.0, 0.65109034), (np.inf, 1.0, 0.78532484)])
def test_incremental_methods_reach_the_paper_tables(skpd_data, solver, norm, alpha, optimum):
    X, y = skpd_data("a1a", n_features=123)
    model = DRSVMClassifier(
        epsilon=0.1, kappa=1.0, norm=norm, alpha=alpha, fit_intercept=False, solver=solver,
        random_state=0, tol=1e-5, max_iter=700,
        solver_options={"shuffle": True, "cycles": True, "output": "best"},
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    assert optimum - 1e-8 <= model.certificate_.primal <= optimum + 1e-5
    assert model.certificate_.dual <= optimum + 1e-8


@pytest.mark.parametrize("penalty, norm", [("l1", 1), ("l2_norm", 2), ("linf", np.inf)])
def test_certain_labels_are_a_norm_penalty(cancer, penalty, norm):
    """For kappa = inf two solvers that share nothing but the data find the same objective."""
    svm = PdproxSVC(alpha=0.05, penalty=penalty, tol=1e-5, max_iter=100_000).fit(*cancer)
    robust = DRSVMClassifier(epsilon=0.05, kappa=np.inf, norm=norm, tol=1e-7).fit(*cancer)
    assert svm.certificate_.dual <= robust.certificate_.primal * (1 + 1e-12)
    assert robust.certificate_.dual <= svm.certificate_.primal * (1 + 1e-12)
    assert_allclose(robust.radius_, np.linalg.norm(robust.coef_[0], norm))


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_one_vs_rest(n_jobs):
    X, y = load_iris(return_X_y=True)
    model = DRSVMClassifier(0.01, n_jobs=n_jobs).fit(X, y)
    assert model.radius_.shape == (3,) and model.dual_coef_.shape == (3, 2, 150)
    assert len(model.certificate_) == 3 and model.score(X, y) > 0.9
    losses = [certificate.primal for certificate in model.certificate_]
    assert_allclose(model.worst_case_loss(X, y), losses, rtol=1e-9)
    with pytest.raises(ValueError, match="got 3"):
        model.worst_case_distribution(X, y)


def transport_cost(X, y, found, p, kappa):
    """What a distribution's own plan costs: the distance of each point from its source."""
    X = X.toarray() if sp.issparse(X) else X
    moved = found.X.toarray() if sp.issparse(found.X) else found.X
    distances = np.linalg.norm(moved - X[found.source], p, axis=1)
    flips = found.y != y[found.source]
    return found.mass @ (distances + np.where(flips, kappa if flips.any() else 0.0, 0.0))


# Some of the models that it fits are constant.
@pytest.mark.filterwarnings("ignore:.*all coefficients are 0")
@pytest.mark.parametrize("norm, p", [(1, np.inf), (2, 2), (np.inf, 1)])
@pytest.mark.parametrize("kappa", [0.3, 3.0, np.inf])
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_worst_case_distribution(norm, p, kappa, layout, cancer, rng):
    """It lies in the ball by its own transport cost, and attains the objective."""
    X, y = layout(cancer[0]), cancer[1]
    weights = rng.integers(0, 3, len(y))
    for epsilon, alpha in ((0.001, 0.0), (0.1, 0.05)):
        model = DRSVMClassifier(epsilon, kappa=kappa, norm=norm, alpha=alpha, tol=1e-8)
        model.fit(X, y, sample_weight=weights)
        found = model.worst_case_distribution(X, y, sample_weight=weights)
        assert found.mass.min() > 0.0
        mass = np.bincount(found.source, found.mass, minlength=len(y))
        assert_allclose(mass, weights / weights.sum(), atol=1e-15)
        cost = transport_cost(X, y, found, p, kappa)
        assert_allclose(cost, found.mass @ found.cost, rtol=1e-9)
        assert cost <= epsilon * (1 + 1e-9)
        margins = np.where(found.y == 1, 1, -1) * model.decision_function(found.X)
        loss = found.mass @ np.maximum(1 - margins, 0)
        objective = loss + 0.5 * alpha * np.sum(model.coef_**2)
        assert_allclose(objective, model.certificate_.primal, rtol=1e-6)
        assert_allclose(loss, model.worst_case_loss(X, y, sample_weight=weights), rtol=1e-9)


def test_worst_case_of_points_without_loss():
    """No point can be made worse but by mass that moves far: the value is approached."""
    X, y = np.array([[3.0], [-3.0]]), np.array([1, 0])
    model = DRSVMClassifier(1e-3, kappa=np.inf, fit_intercept=False).fit(X, y)
    model.coef_, model.intercept_ = np.array([[1.0]]), np.zeros(1)
    found = model.worst_case_distribution(X, y)
    margins = np.where(found.y == 1, 1, -1) * model.decision_function(found.X)
    assert_allclose(found.mass @ np.maximum(1 - margins, 0), 1e-3, atol=1e-8)
    assert_allclose(model.worst_case_loss(X, y), 1e-3)
    assert found.mass @ found.cost <= 1e-3 * (1 + 1e-9)


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"epsilon": -0.1}, "'epsilon' parameter"),
        ({"epsilon": np.inf}, "'epsilon' parameter"),
        ({"kappa": 0.0}, "'kappa' parameter"),
        ({"norm": 3}, "'norm' parameter"),
        ({"alpha": -1.0}, "'alpha' parameter"),
        ({"solver": "pdprox-dual"}, "'solver' parameter"),
        ({"solver_options": {"ratio": 0.9}}, "of solver='auto' must be empty, as it takes none"),
        ({"solver": "isg", "solver_options": {"ratio": 1.0}}, r"'ratio'\] must be a float in"),
        ({"solver": "isg", "solver_options": {"scheme": "k"}}, r"'scheme'\] must be one of"),
        ({"solver": "isg", "solver_options": {"batch_size": 0}}, r"'batch_size'\] must be an int"),
        ({"solver": "ippa", "solver_options": {"switch": 0.1}}, "must be among .*'first_step'"),
    ],
)
def test_bad_parameters_are_named(parameters, message, cancer):
    with pytest.raises(ValueError, match=message):
        DRSVMClassifier(**parameters).fit(*cancer)


def test_unknown_labels_are_named(cancer):
    model = DRSVMClassifier().fit(*cancer)
    with pytest.raises(ValueError, match=r"classes seen in fit, \[0, 1\], got 6"):
        model.worst_case_loss(cancer[0], cancer[1] + 6)


@pytest.mark.parametrize("norm", [1, 2, np.inf])
@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_fewer_rows_than_features(norm, ridge):
    """The rows' system, against the columns' one on the same data: features that are zero."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(30, 20))
    y, weights = np.sign(X[:, 0] + 0.3 * rng.normal(size=30)), np.full(30, 1 / 30)
    wide = sp.hstack([sp.csr_array(X), sp.csr_array((30, 1100))], format="csr")
    few = robust_problem(Design(X), y, weights, epsilon=0.05, kappa=2.0, norm=norm, ridge=ridge)
    many = robust_problem(
        Design(wide), y, weights, epsilon=0.05, kappa=2.0, norm=norm, ridge=ridge
    )
    assert_allclose(solved(many).primal, solved(few).primal, rtol=1e-5)
