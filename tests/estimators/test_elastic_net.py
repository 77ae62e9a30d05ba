"""ElasticNetPD, its twin for classes, and both over the l1 ball."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.linear_model import ElasticNet, ElasticNetCV

from skpd import ElasticNetPD, ElasticNetPDClassifier, ElasticNetPDCV
from skpd.losses import SmoothedHinge, Squared
from skpd.penalties import SquaredL2OnL1Ball
from tests.oracles.reference import conic_programme
from tests.oracles.scikit_learn import l1_logistic

# Grids of two or three alphas are fast, and their best is often an end.
pytestmark = pytest.mark.filterwarnings("ignore:.*end of the grid")


# Some of the models that it fits are constant.
@pytest.mark.filterwarnings("ignore:.*all coefficients are 0")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_equals_scikit_learn_on_random_problems(rng):
    """Weights and intercepts to 1e-8, where scikit-learn converges to that."""
    n_compared = 0
    for _ in range(200):
        n, d = int(rng.integers(5, 60)), int(rng.integers(1, 40))
        X = rng.normal(size=(n, d))
        y = X @ (rng.normal(size=d) * (rng.random(d) < 0.3)) + rng.normal(size=n) + 3.0
        alpha, ratio = 10.0 ** rng.uniform(-2, 0.5), rng.uniform(0.05, 0.95)
        weights = rng.random(n) + 0.1 if rng.random() < 0.5 else None
        free = bool(rng.random() < 0.7)
        theirs = ElasticNet(
            alpha, l1_ratio=ratio, fit_intercept=free, tol=1e-15, max_iter=20_000
        ).fit(X, y, sample_weight=weights)
        # the last digits of the weights are beyond what the gap can tell
        mine = ElasticNetPD(alpha, l1_ratio=ratio, fit_intercept=free, tol=0.0, max_iter=8)
        mine.fit(X, y, sample_weight=weights)
        assert mine.certificate_.relative_gap <= 1e-12
        if theirs.n_iter_ == 20_000:
            continue
        n_compared += 1
        assert_allclose(mine.coef_, theirs.coef_, rtol=1e-8, atol=1e-8)
        assert_allclose(mine.intercept_, theirs.intercept_, rtol=1e-8, atol=1e-8)
    assert n_compared >= 190


def test_classifier_equals_scikit_learn(cancer):
    X, y = cancer
    theirs = l1_logistic(0.5, C=1.0).fit(X, y)
    mine = ElasticNetPDClassifier(alpha=1 / len(y), loss="logistic", tol=1e-10).fit(X, y)
    assert_allclose(mine.coef_, theirs.coef_, atol=1e-4)


# the steps of the theory take far longer than these tests
LINE_SEARCH = {"auto": None, "pdbfw": {"step_size": "line-search"}, "agm": None}


@pytest.mark.parametrize("solver", ["auto", "pdbfw", "agm"])
@pytest.mark.parametrize("free", [True, False])
def test_over_the_ball_against_clarabel(solver, free, rng):
    X = rng.normal(size=(50, 6))
    y = X @ np.array([1.0, -2.0, 0.0, 0.0, 0.5, 0.0]) + 1.0 + rng.normal(size=50)
    weights = rng.random(50)
    c = weights / weights.sum()
    for alpha, radius in ((0.1, 1.5), (0.1, 100.0)):
        model = ElasticNetPD(
            alpha, l1_ratio=0.25, l1_radius=radius, solver=solver, fit_intercept=free, tol=1e-8,
            solver_options=LINE_SEARCH[solver],
        ).fit(X, y, sample_weight=weights)  # fmt: skip
        ball = SquaredL2OnL1Ball(radius, 0.75)
        optimum = conic_programme(X, y, c, Squared(), ball, alpha, free)
        certificate = model.certificate_
        assert certificate.relative_gap <= 1e-8
        assert certificate.dual <= optimum * (1 + 1e-9)
        assert certificate.primal >= optimum * (1 - 1e-6)
        assert np.abs(model.coef_).sum() <= radius


@pytest.mark.parametrize("solver", ["auto", "pdbfw", "agm"])
@pytest.mark.parametrize("free", [True, False])
def test_classes_over_the_ball_against_clarabel(solver, free, cancer):
    X, y = cancer[0][:, :8], 2.0 * cancer[1] - 1.0
    c = np.full(len(y), 1 / len(y))
    loss = SmoothedHinge(mu=0.5)
    model = ElasticNetPDClassifier(
        0.02, l1_ratio=0.5, l1_radius=0.8, loss=loss, solver=solver, fit_intercept=free, tol=1e-7,
        solver_options=LINE_SEARCH[solver],
    ).fit(X, y)  # fmt: skip
    ball = SquaredL2OnL1Ball(0.8, 0.5)
    optimum = conic_programme(X, y, c, loss, ball, 0.02, free)
    assert model.certificate_.dual <= optimum + 1e-10
    assert model.certificate_.primal >= optimum - 1e-6
    assert model.certificate_.relative_gap <= 1e-7


@pytest.mark.parametrize("weighted", [False, True])
def test_cross_validation_is_scikit_learns(weighted, diabetes, rng):
    X, y = diabetes
    weights = rng.random(len(y)) + 0.1 if weighted else None
    options = {"l1_ratio": [0.3, 0.9], "alphas": 10, "tol": 1e-9}
    mine = ElasticNetPDCV(**options).fit(X, y, sample_weight=weights)
    theirs = ElasticNetCV(max_iter=50_000, **options).fit(X, y, sample_weight=weights)
    assert_allclose(mine.alphas_, theirs.alphas_)
    assert_allclose(mine.mse_path_, theirs.mse_path_, rtol=1e-4)
    assert mine.l1_ratio_ == theirs.l1_ratio_
    assert_allclose(mine.alpha_, theirs.alpha_)
    assert_allclose(mine.coef_, theirs.coef_, atol=1e-2)
    assert mine.certificate_.relative_gap <= 1e-9
    assert np.shape(mine.certificates_) == (2, 5, 10)
    single = ElasticNetPDCV(alphas=[1.0, 0.1], cv=3).fit(sp.csr_array(X), y)
    assert single.mse_path_.shape == (2, 3) and single.alphas_.tolist() == [1.0, 0.1]


@pytest.mark.parametrize("estimator, parameters, message", [
    (ElasticNetPD, {"solver": "pdbfw"}, "'solver' parameter.*l1_radius is None, got 'pdbfw'"),
    (ElasticNetPD, {"solver": "pdbfw", "l1_radius": 1.0, "l1_ratio": 1.0}, "l1_ratio is 1"),
    (ElasticNetPD, {"solver": "cd", "l1_radius": 1.0}, "with an l1_radius, got 'cd'"),
    (ElasticNetPD, {"solver": "cg"}, "'solver' parameter"),
    (ElasticNetPD, {"l1_ratio": 1.5}, "'l1_ratio' parameter"),
    (ElasticNetPD, {"l1_radius": 0.0}, "'l1_radius' parameter"),
    (ElasticNetPD, {"alpha": -1.0}, "'alpha' parameter"),
    (ElasticNetPD, {"positive": True, "l1_radius": 1.0}, "takes positive"),
    (ElasticNetPD, {"alpha": 1e-3, "solver": "agm", "solver_options": {"prox": "entropic"}},
     "over an l1 ball"),
    (ElasticNetPD, {"solver": "agm", "solver_options": {"memory": "two"}}, "'memory'"),
    (ElasticNetPD, {"solver": "pdbfw", "l1_radius": 1.0, "solver_options": {"sparsity": 0}},
     r"an int in the range \[1, inf\) or None"),
    (ElasticNetPDClassifier, {"loss": "hinges"}, "'loss' parameter"),
    (ElasticNetPDCV, {"l1_ratio": [0.5, 2.0]}, "'l1_ratio' parameter"),
    (ElasticNetPDCV, {"alphas": [-1.0]}, "alphas must hold one or more finite numbers"),
], ids=str)  # fmt: skip
def test_bad_parameters_are_named(estimator, parameters, message, cancer):
    with pytest.raises(ValueError, match=message):
        estimator(**parameters).fit(*cancer)


# Some of the models that it fits are constant.
@pytest.mark.filterwarnings("ignore:.*all coefficients are 0")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("tol", [0.0, 1e-15, 1e-6])
@pytest.mark.parametrize("radius", [1e-320, 1e-310, 1e-300, 1e-15, 1e-8])
@pytest.mark.parametrize("l1_ratio", [0.5, 1.0])
def test_a_radius_of_any_size(l1_ratio, radius, tol, rng):
    """In a ball so small the loss falls from that of w = 0 by its slope times the radius."""
    X, y = rng.normal(size=(12, 20)), rng.normal(size=12)
    null, slope = 0.5 * np.mean(y**2), np.max(np.abs(X.T @ y)) / 12
    model = ElasticNetPD(
        1e-3, l1_ratio=l1_ratio, l1_radius=radius, tol=tol, fit_intercept=False, max_iter=300
    ).fit(X, y)
    assert np.sum(np.abs(model.coef_)) <= radius
    # the loss bends by at most the largest mean square of a feature
    best, bend = null - radius * slope, 0.5 * radius**2 * (np.max(np.mean(X**2, axis=0)) + 1e-3)
    assert model.certificate_.dual <= (best + bend) * (1.0 + 1e-14)
    assert model.certificate_.primal >= best * (1.0 - 1e-14)
