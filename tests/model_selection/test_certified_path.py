"""Paths that are certified for every alpha, against models of those alphas."""

import warnings
from dataclasses import replace
from itertools import count

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso
from sklearn.metrics import (
    accuracy_score,
    log_loss,
    mean_absolute_error,
    mean_squared_error,
    mean_tweedie_deviance,
    r2_score,
)
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

import skpd
from skpd import (
    DRSVMClassifier,
    ElasticNetPD,
    GammaPD,
    LassoPDCertified,
    LogisticPD,
    MultinomialPD,
    MultiTaskPD,
    PathCV,
    PdproxRegressor,
    PdproxSVC,
    PoissonPD,
    QuantilePD,
    TweediePD,
    regularization_path,
)
from skpd.certificates import primal_objective
from skpd.designs import Design
from skpd.losses import Logistic, Poisson, Squared
from skpd.model_selection.certified_path import GapAlongPath
from skpd.model_selection.path import PathInterrupt, problems_of_path
from skpd.model_selection.score_bounds import SCORES, bounds_of_score, score_bounds
from skpd.penalties import SquaredL2
from skpd.problems import linear_problem
from skpd.solvers import solve

# Grids of two or three alphas are fast, and their best is often an end.
pytestmark = pytest.mark.filterwarnings("ignore:.*end of the grid")

X_2, Y_2 = load_breast_cancer(return_X_y=True)
X_2 = scale(X_2)
X_D, Y_D = load_diabetes(return_X_y=True)
X_D, Y_D = scale(X_D), scale(Y_D)
X_3, Y_3 = load_iris(return_X_y=True)
METRICS = {
    "accuracy": accuracy_score,
    "neg_log_loss": lambda *given, **more: -log_loss(*given, **more),
    "neg_mean_squared_error": lambda *given, **more: -mean_squared_error(*given, **more),
    "neg_mean_absolute_error": lambda *given, **more: -mean_absolute_error(*given, **more),
    "r2": r2_score,
}
MODELS = [
    (LassoPDCertified(), X_D, Y_D, 0.03),
    (ElasticNetPD(), X_D, Y_D, 0.03),
    (PdproxRegressor(loss="huber"), X_D, Y_D, 0.03),
    (PdproxRegressor(loss="absolute"), X_D, Y_D, 0.1),
    (QuantilePD([0.2, 0.8]), X_D, Y_D, 0.1),
    (MultiTaskPD(), X_D, np.column_stack([Y_D, Y_D**2]), 0.03),
    (PdproxSVC(), X_2, Y_2, 0.1),
    (PdproxSVC(penalty="l2", fit_intercept=False), X_2, Y_2, 0.1),
    (PdproxSVC(loss="logistic", penalty="group", groups=[3] * 10), X_2, Y_2, 0.03),
    (PdproxSVC(penalty="fused_lasso", loss="smoothed_hinge"), X_2, Y_2, 0.1),
    (PdproxRegressor(loss="squared", penalty="total_variation"), X_D, Y_D, 0.03),
    (PdproxSVC(penalty="sparse_group", groups=[3] * 10), X_2, Y_2, 0.1),
    (PdproxSVC(bounds=(-0.1, 0.2)), X_2, Y_2, 0.1),
    (PdproxSVC(penalty_weights=[0.0] + [1.0] * 29, loss="logistic"), X_2, Y_2, 0.05),
    (PdproxSVC(noise_budget=100.0), X_2, Y_2, 0.1),
    (PdproxSVC(loss="squared_hinge"), X_3, Y_3, 0.05),
    (MultinomialPD(penalty="l1"), X_3, Y_3, 0.05),
    (DRSVMClassifier(kappa=1.0, norm=2, alpha=0.01), X_2, Y_2, 0.05),
]


def objectives(problems, found, place, alpha):
    """The objectives of the models at a place of a path, at another alpha."""
    coefs = np.reshape(found.coefs[place], (len(problems), *problems[0].table_shape))
    intercepts = np.reshape(found.intercepts[place], (len(problems), -1))
    for problem, coef, intercept in zip(problems, coefs, intercepts, strict=True):
        other = problem.with_alpha(alpha)
        free = intercept if problem.rows.of_outputs else float(intercept[0])
        variables = other.extend(np.ravel(coef.T), free)
        yield primal_objective(other, variables, free)


@pytest.mark.parametrize(
    ("model", "X", "y", "eps"), MODELS, ids=lambda value: type(value).__name__
)
def test_a_model_is_good_for_every_alpha(model, X, y, eps):
    ends = [0.4, 0.04]
    found = regularization_path(model, X, y, alphas=ends, certified=eps)
    assert found.alphas[0] == 0.4 and np.all(np.diff(found.alphas) < 0.0)
    assert np.all(found.covered[1:, 1] >= found.covered[:-1, 0])
    assert found.covered[-1, 0] <= 0.04
    problems = problems_of_path(clone(model), X, y).problems
    alphas = np.geomspace(*ends, 12)
    exact = regularization_path(clone(model).set_params(tol=1e-8), X, y, alphas=alphas)
    for k, alpha in enumerate(alphas):
        own = list(objectives(problems, found, found.index_at(alpha), alpha))
        best = [certificate.primal for certificate in np.atleast_1d(exact.certificates[k])]
        units = [problem.objective_unit for problem in problems]
        excess = np.subtract(own, best) / units
        assert np.all(excess <= eps) and np.all(excess >= -1e-7)


def test_excess_of_the_lasso_against_scikit_learn():
    """The objective of the certified model, beside that of `Lasso`, at 400 alphas."""
    eps = 3e-3
    found = regularization_path(LassoPDCertified(), X_D, Y_D, alphas=[0.4, 0.01], certified=eps)
    unit = 0.5 * np.var(Y_D)

    def objective(coef, intercept, alpha):
        return 0.5 * np.mean((Y_D - X_D @ coef - intercept) ** 2) + alpha * np.abs(coef).sum()

    for alpha in np.geomspace(0.4, 0.01, 400):
        best = Lasso(alpha, tol=1e-12, max_iter=10**6).fit(X_D, Y_D)
        place = found.index_at(alpha)
        own = objective(found.coefs[place], found.intercepts[place], alpha)
        assert own - objective(best.coef_, best.intercept_, alpha) <= eps * unit


SEARCHES = [
    (PdproxSVC(loss="logistic", penalty="l2"), X_2, Y_2, "neg_log_loss"),
    (PdproxSVC(loss="squared_hinge", penalty="l2"), X_2, Y_2, None),
    (PdproxSVC(penalty="elasticnet", l1_ratio=0.1), X_2, Y_2, "accuracy"),
    (ElasticNetPD(l1_ratio=0.5), X_D, Y_D, None),
    (PdproxRegressor(loss="huber", penalty="l2"), X_D, Y_D, "neg_mean_absolute_error"),
    (GammaPD(penalty="l2"), X_D[:90], np.exp(Y_D[:90]), None),
    (TweediePD(penalty="elasticnet"), X_D[:90], np.maximum(Y_D[:90], 0.0), None),
    (PoissonPD(penalty="l2"), X_D[:90], np.round(np.exp(Y_D[:90])), "neg_mean_absolute_error"),
]


@pytest.mark.parametrize(
    ("model", "X", "y", "scoring"), SEARCHES, ids=lambda value: type(value).__name__
)
def test_no_alpha_outside_of_the_ranges_that_may_be_best_is_better(model, X, y, scoring):
    cv = KFold(3, shuffle=True, random_state=0)
    ends = [1.0, 0.01]
    search = PathCV(model, alphas=ends, certified=1e-3, cv=cv, scoring=scoring).fit(X, y)
    ranges, candidates = search.alpha_ranges_, search.may_be_best_
    assert ranges[0, 1] == 1.0 and ranges[-1, 0] <= 0.01
    assert_allclose(ranges[1:, 1], ranges[:-1, 0], rtol=0.0)
    assert candidates.any() and candidates[search.best_index_]
    assert len(search.alphas_) == len(ranges)
    alphas = np.geomspace(*ends, 25)
    exact = clone(model).set_params(tol=1e-9)
    grid = PathCV(exact, alphas=alphas, cv=cv, scoring=scoring).fit(X, y)
    best = grid.alphas_[np.argmax(grid.cv_results_["mean_test_score"])]
    places = np.flatnonzero((ranges[:, 0] <= best) & (best <= ranges[:, 1]))
    assert len(places) and candidates[places].all()


@pytest.mark.parametrize("name", SCORES)
def test_scores_of_optimal_models_are_within_their_bounds(name, rng):
    """With optima to 1e-12, for alphas of a range that a looser model is certified for."""
    n_inside = 0
    for _ in range(8):
        X, X_test = rng.normal(size=(40, 3)), rng.normal(size=(30, 3))
        truth = rng.normal(size=3)
        y, y_test = (Z @ truth + rng.normal(size=len(Z)) for Z in (X, X_test))
        loss = Squared()
        if name in ("accuracy", "neg_log_loss"):
            y, y_test, loss = np.sign(y), np.sign(y_test), Logistic()
        alpha, weights = 10.0 ** rng.uniform(-2, 0), rng.random(30)
        problem = linear_problem(Design(X), y, np.full(40, 1 / 40), loss, SquaredL2(), alpha)
        low, high = alpha, 1.05 * alpha

        def solved(at, tol, problem=problem):
            return solve(
                problem.with_alpha(at), tol=tol, max_iter=1000,
                random_state=np.random.RandomState(0),
            )  # fmt: skip

        loose = solved(low, 10.0 ** rng.uniform(-6, -2))
        gap = GapAlongPath(problem.with_alpha(low), loose)
        eps = max(gap.share(low), gap.share(high))
        held_out = X_test, y_test, weights, None
        bounds = score_bounds(SCORES[name], problem.with_alpha(low), loose, eps, held_out)
        for at in (low, 0.5 * (low + high), high):
            best = solved(at, 1e-12)
            z = X_test @ best.coef + best.intercept
            kinds = {
                "accuracy": np.sign(z),
                "neg_log_loss": np.column_stack([1 - expit(z), expit(z)]),
            }
            score = METRICS[name](y_test, kinds.get(name, z), sample_weight=weights)
            assert bounds[0] - 1e-9 <= score <= bounds[1] + 1e-9
            n_inside += 1
        assert bounds[1] - bounds[0] < 2.0
    assert n_inside == 24


MEANS = [
    (GammaPD(), 2.0), (PoissonPD(), 1.0), (PoissonPD(dispersion=0.5), 1.0), (TweediePD(), 1.5),
]  # fmt: skip


def share_of_deviance(y, mean, weights, power, offset):
    """The share that means explain of the least deviance of a constant times the exposures."""

    def deviance(mean):
        return mean_tweedie_deviance(y, mean, sample_weight=weights, power=power)

    least = minimize_scalar(lambda b: deviance(np.exp(b + offset))).fun
    return 1.0 - deviance(mean) / least


@pytest.mark.parametrize(("model", "power"), MEANS, ids=str)
@pytest.mark.parametrize("scoring", [None, "r2", "neg_mean_absolute_error"])
def test_scores_of_optimal_means_are_within_their_bounds(model, power, scoring, rng):
    """With scores of scikit-learn for the predictions of optima to 1e-11."""
    n_inside = 0
    for _ in range(6):
        X, X_test = rng.normal(size=(40, 3)), rng.normal(size=(20, 3))
        truth = rng.normal(size=3)
        y, y_test = (rng.poisson(np.exp(Z @ truth)) + (power == 2.0) for Z in (X, X_test))
        alpha, weights, offset = 10.0 ** rng.uniform(-2, 0), rng.random(20), rng.normal(size=20)
        model = clone(model).set_params(penalty="l2", alpha=alpha)
        (problem,) = problems_of_path(clone(model), X, y).problems
        score, solutions = bounds_of_score(model, scoring), []
        for at, tol in ((alpha, 10.0 ** rng.uniform(-6, -2)), (1.02 * alpha, 1e-11)):
            fitted = clone(model).set_params(tol=tol)
            solutions.append(fitted._solve(
                problem.with_alpha(at), start=None, random_state=np.random.RandomState(0)
            ))  # fmt: skip
        loose, best = solutions
        gap = GapAlongPath(problem.with_alpha(alpha), loose)
        eps = max(gap.share(alpha), gap.share(1.02 * alpha))
        held_out = X_test, y_test.astype(float), weights, offset
        bounds = score_bounds(score, problem.with_alpha(alpha), loose, eps, held_out)
        mean = np.exp(X_test @ best.coef + best.intercept + offset)
        if scoring is None:
            found = share_of_deviance(y_test, mean, weights, power, offset)
        else:
            found = METRICS[scoring](y_test, mean, sample_weight=weights)
        assert bounds[0] <= found <= bounds[1]
        n_inside += np.isfinite(bounds).all()
    assert n_inside == 6


def test_bounds_of_scores_where_they_say_nothing(rng):
    X, y = rng.normal(size=(30, 2)), rng.poisson(3.0, size=30)
    (problem,) = problems_of_path(PoissonPD(penalty="l2"), X, y).problems
    solution = PoissonPD(penalty="l2")._solve(
        problem, start=None, random_state=np.random.RandomState(0)
    )
    for scoring, targets, X_test in (
        (None, [2.0, 2.0], X[:2]), ("r2", [0.1, 0.1], X[:2]), ("r2", [1.0], X[:1]),
        (None, [2.0, 2.0 + 1e-6], X[:2]), (None, [1.0, 2.0], X[:2] * 1e4),
    ):  # fmt: skip
        score = bounds_of_score(PoissonPD(), scoring)
        held_out = X_test, np.array(targets), None, None
        found = score_bounds(score, problem, solution, 1e-3, held_out)
        assert found == (-np.inf, np.inf)
    assert problem.loss == Poisson()
    assert bounds_of_score(PoissonPD(), "neg_mean_poisson_deviance") is None


def test_log_losses_that_end_where_those_of_scikit_learn_do(rng):
    """A row on the wrong side of a far decision, whose probability is clipped."""
    X = np.r_[rng.normal(size=(40, 1)), [[0.0]]]
    y = np.sign(X[:, 0] + 0.1)
    model = LogisticPD(1e-4, penalty="l2", tol=1e-9)
    fitted = model.fit(X, y)
    (problem,) = problems_of_path(clone(model), X, y).problems
    solution = model._solve(problem, start=None, random_state=np.random.RandomState(0))
    X_test, wrong = np.array([[1e4], [1.0]]), np.array([-1.0, 1.0])
    held_out = X_test, wrong, None, None
    low, high = score_bounds(SCORES["neg_log_loss"], problem, solution, 1e-9, held_out)
    assert low <= -log_loss(wrong, fitted.predict_proba(X_test)) <= high


# Some of the models that it fits are constant.
@pytest.mark.filterwarnings("ignore:.*all coefficients are 0")
# Some of the models that it fits are constant.
@pytest.mark.filterwarnings("ignore:.*(all coefficients are 0|did not converge)")
def test_a_search_warns_of_its_own_level_only():
    """Gaps of folds are compared with ``certified``, and not with ``tol``."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        PathCV(PdproxSVC(), alphas=[0.4, 0.1], certified=0.1, cv=3).fit(X_2, Y_2)
    slow = PdproxSVC(solver="pdprox-dual", max_iter=3)
    with pytest.warns(ConvergenceWarning, match="PathCV is not certified to 1e-06"):
        PathCV(slow, alphas=[0.4, 0.2], certified=1e-6, cv=3).fit(X_2, Y_2)


def test_ranges_where_nothing_is_known_of_scores():
    search = PathCV(PdproxSVC(), alphas=[0.4, 0.1], certified=0.1, cv=3).fit(X_2, Y_2)
    assert search.may_be_best_.all() and search.alpha_ in search.alphas_
    search = PathCV(PdproxSVC(loss="squared_hinge"), alphas=[0.4, 0.1], certified=0.1, cv=3)
    assert search.fit(X_3, Y_3).may_be_best_.all()


def test_pipelines_and_automatic_ends():
    model = make_pipeline(StandardScaler(), PdproxSVC())
    found = regularization_path(model, X_2, Y_2, eps=0.1, certified=0.05)
    assert_allclose(found.alphas[0] / 10.0, found.covered[-1, 0], rtol=1e-12)
    assert found.predict(X_2[:4]).shape == (len(found.alphas), 4)


def interrupting(monkeypatch, call):
    """Let a fit end as after Ctrl-C, the one with this number."""
    calls, solve_one = count(1), skpd.model_selection.path.solve_problem

    def solve_and_end(*given):
        return replace(solve_one(*given), interrupted=next(calls) == call)

    monkeypatch.setattr("skpd.model_selection.path.solve_problem", solve_and_end)


def test_interrupted_path_keeps_what_is_finished(monkeypatch):
    interrupting(monkeypatch, 4)
    with pytest.raises(PathInterrupt, match="3 alphas are finished") as caught:
        regularization_path(PdproxSVC(), X_2, Y_2, alphas=[0.4, 0.01], certified=0.05)
    assert len(caught.value.path.models) == len(caught.value.path.covered) == 3


def test_interrupted_search_keeps_what_is_finished(monkeypatch):
    interrupting(monkeypatch, 8)
    search = PathCV(PdproxSVC(), alphas=[0.4, 0.01], certified=0.05, cv=3)
    with pytest.raises(KeyboardInterrupt, match="6 of 6 fits are finished"):
        search.fit(X_2, Y_2)
    assert len(search.alphas_) == 2 and not hasattr(search, "best_estimator_")


def test_interrupted_search_without_a_model(monkeypatch):
    interrupting(monkeypatch, 1)
    with pytest.raises(KeyboardInterrupt):
        PathCV(PdproxSVC(), alphas=[0.4, 0.01], certified=0.05, cv=3).fit(X_2, Y_2)


def test_index_at_outside_of_the_path():
    found = regularization_path(PdproxSVC(), X_2, Y_2, alphas=[0.4, 0.1], certified=0.1)
    with pytest.raises(ValueError, match=r"No model is certified for alpha=0.5: those .* 0.1"):
        found.index_at(0.5)
    with pytest.raises(ValueError, match="found without certified"):
        regularization_path(PdproxSVC(), X_2, Y_2, alphas=[0.4, 0.1]).index_at(0.2)


@pytest.mark.parametrize("certified", [0.0, 1.0, -1.0, True, "0.1", np.nan])
def test_certified_out_of_range(certified):
    with pytest.raises(ValueError, match=r"certified must be None or a number in \(0, 1\), got"):
        regularization_path(PdproxSVC(), X_2, Y_2, certified=certified)


def test_a_gap_that_is_not_reached_is_said():
    model = PdproxSVC(solver="pdprox-dual", max_iter=3)
    with pytest.warns(ConvergenceWarning, match="is not certified to 1e-06 on the whole path"):
        found = regularization_path(model, X_2, Y_2, alphas=[0.4, 0.2], certified=1e-6)
    assert found.alphas[-1] == 0.2
