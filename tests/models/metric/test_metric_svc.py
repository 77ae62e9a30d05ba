"""Losses of multivariate scores, their solvers and MetricSVC."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import f1_score, roc_auc_score

from benchmarks.multivariate import optimum
from skpd import MetricSVC, certify, regularization_path
from skpd.designs import Design
from skpd.losses import FBeta, PrecisionAtK, RocAuc
from skpd.penalties import L1, GroupL2, SquaredL2
from skpd.problems.structured_rows import scores_problem
from skpd.solvers import solve
from tests.models.metric.test_multivariate_losses import labels

METRICS = ["f1", "fbeta", "precision_at_k", "recall_at_k", "roc_auc"]


@pytest.mark.parametrize("penalty", [SquaredL2(), L1(), GroupL2(2)])
@pytest.mark.parametrize("kind", ["f1", "fbeta with an intercept", "precision_at_k", "roc_auc"])
def test_the_optimum_is_that_over_all_labelings(kind, penalty):
    pytest.importorskip("cvxpy")
    rng = np.random.default_rng(len(kind))
    n = 7 if kind == "roc_auc" else 8
    X, y = rng.standard_normal((n, 4)), labels(rng, n, 0.2 if kind == "roc_auc" else 0.4)
    loss = {"f1": FBeta(y), "precision_at_k": PrecisionAtK(y, 3), "roc_auc": RocAuc(y)}.get(kind)
    loss = loss or FBeta(y, 2.0)
    problem = scores_problem(Design(X), loss, penalty, 0.05, "intercept" in kind)
    expected = optimum(problem, X)
    for max_iter in (2, 5, 500):
        found = solve(problem, tol=1e-9, max_iter=max_iter, random_state=None)
        assert found.certificate.dual <= expected + 1e-9
        assert found.certificate.primal >= expected - 1e-9
    assert found.converged
    assert found.certificate.primal == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("intercept", [False, True])
def test_the_optimum_with_more_features_than_planes(intercept):
    pytest.importorskip("cvxpy")
    rng = np.random.default_rng(9)
    X, y = rng.standard_normal((9, 60)), labels(rng, 9)
    problem = scores_problem(Design(X), FBeta(y), SquaredL2(), 0.5, intercept)
    found = solve(problem, tol=1e-8, max_iter=500, random_state=None)
    assert found.converged
    assert found.certificate.primal == pytest.approx(optimum(problem, X), abs=2e-8)


@pytest.mark.parametrize("penalty", [SquaredL2(), L1()])
@pytest.mark.parametrize("loss", [FBeta, RocAuc])
def test_accelerated_gradients_come_to_the_optimum(loss, penalty):
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((24, 4)), labels(rng, 24)
    problem = scores_problem(Design(X), loss(y), penalty, 0.1)
    best = solve(problem, tol=1e-9, max_iter=500, random_state=None).certificate
    for options in ({}, {"memory": "one", "smoothing": "homotopy"}):
        options = {**options, "output": "best"}  # averages take three times the gradients
        found = solve(problem, "agm", tol=3e-3, max_iter=20_000, random_state=None, **options)
        assert found.converged
        assert best.dual - 1e-12 <= found.certificate.primal <= best.primal + 3e-3
        assert found.certificate.dual <= best.primal


def test_a_fixed_lipschitz_constant_proves_bounds_too():
    rng = np.random.default_rng(6)
    X, y = rng.standard_normal((16, 3)), labels(rng, 16)
    problem = scores_problem(Design(X), FBeta(y), SquaredL2(), 0.5, True)
    best = solve(problem, tol=1e-9, max_iter=500, random_state=None).certificate
    found = solve(problem, "agm", tol=0.05, max_iter=400, random_state=None, adaptive=False)
    assert found.certificate.dual <= best.primal
    assert found.certificate.primal >= best.dual


# The estimator


@pytest.fixture(scope="module")
def imbalanced():
    return make_classification(200, 8, weights=[0.85], class_sep=1.2, random_state=0)


@pytest.mark.parametrize("metric", METRICS)
def test_fits_are_certified_and_scored_by_what_they_optimise(metric, imbalanced):
    X, y = imbalanced
    names = np.array(["no", "yes"])[y]
    model = MetricSVC(1e-2, metric=metric, tol=1e-6).fit(X, names)
    assert model.converged_
    assert model.solver_ == "cutting-planes"
    assert model.coef_.shape == (1, 8)
    assert list(model.classes_) == ["no", "yes"]
    z = X @ model.coef_[0] + model.intercept_[0]
    order = np.argsort(-z)[: np.sum(y)]
    expected = {
        "f1": f1_score(y, z > 0.0),
        "fbeta": f1_score(y, z > 0.0),
        "roc_auc": roc_auc_score(y, z),
    }.get(metric, np.mean(y[order]))
    assert model.score(X, names) == pytest.approx(expected)
    bound = model.certificate_.primal - 0.5e-2 * np.sum(model.coef_**2)
    assert bound >= 1.0 - expected - 1e-9
    assert (model.intercept_[0] != 0.0) == (metric in ("f1", "fbeta"))  # ranks need none
    if metric not in ("f1", "fbeta"):
        assert np.sum(model.predict(X) == "yes") == np.sum(y)
    other = MetricSVC(1e-2, metric=metric, tol=1e-6).fit(sp.csr_array(X), names)
    assert_allclose(other.certificate_.primal, model.certificate_.primal, rtol=2e-6)


def test_certify_and_paths_take_it(imbalanced):
    X, y = imbalanced
    model = MetricSVC(1e-2, metric="roc_auc", tol=1e-3).fit(X, y)
    certificate = certify(model, X, y, rigorous=True)
    assert certificate.primal == pytest.approx(model.certificate_.primal, abs=1e-12)
    assert model.certificate_.dual <= certificate.primal
    assert certificate.dual >= model.certificate_.dual - 1e-6
    assert certificate.gap <= 1e-3
    found = regularization_path(MetricSVC(penalty="l1"), X, y, alphas=5)
    alone = clone(found.models[2]).fit(X, y)
    unit = alone.certificate_.gap / alone.relative_gap_ if alone.relative_gap_ else 1.0
    assert abs(alone.certificate_.primal - found.certificates[2].primal) <= 2e-4 * unit
    assert not np.any(found.models[0].coef_)
    with pytest.raises(ValueError, match="sample_weight must be None"):
        certify(model, X, y, np.ones(len(y)))


# Some of the models that it fits are constant.
@pytest.mark.filterwarnings("ignore:.*all coefficients are 0")
def test_rare_positives_are_found_if_they_can_be_told_apart():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((600, 5))
    y = X[:, 0] + 0.3 * rng.standard_normal(600) > 2.2
    model = MetricSVC(1e-4).fit(X, y)
    assert 0.0 < np.mean(y) < 0.05
    assert model.score(X, y) > 0.5
    noisy = X[:, 0] + 0.8 * rng.standard_normal(600) > 2.4
    nothing = MetricSVC(1e-2).fit(X, noisy)  # of which the loss is 1, and no model's is less
    assert nothing.certificate_.dual > 1.0 - 1e-4
    assert nothing.score(X, noisy) < 0.5


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"beta": 2.0}, "beta belongs to metric='fbeta', got beta=2.0 with metric='f1'"),
        ({"k": 3}, "k belongs to metric='precision_at_k' or 'recall_at_k'"),
        ({"metric": "recall_at_k", "k": 201}, "k must be from 1 to the number of samples less"),
        ({"metric": "accuracy"}, "must be a known name"),
        ({"penalty": "total_variation"}, "no coefficient free"),
        ({"solver_options": {"memory": "one"}}, "be empty, as it takes none"),
        ({"solver": "agm", "solver_options": {"memory": "two"}}, "'infinite', 'one'"),
    ],
)
def test_what_does_not_go_together_is_refused(parameters, message, imbalanced):
    with pytest.raises(ValueError, match=message):
        MetricSVC(**parameters).fit(*imbalanced)


def test_other_numbers_of_classes_are_refused(imbalanced):
    X, y = imbalanced
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        MetricSVC().fit(X, np.arange(len(y)) % 3)
    with pytest.raises(ValueError, match="got 1 class"):
        MetricSVC().fit(X, np.zeros(len(y)))


def test_a_share_is_rounded_up_to_samples(imbalanced):
    X, y = imbalanced
    share = MetricSVC(1e-2, metric="precision_at_k", k=0.1).fit(X, y)
    count = MetricSVC(1e-2, metric="precision_at_k", k=20).fit(X, y)
    assert_allclose(share.coef_, count.coef_)
    assert np.sum(share.predict(X) == 1) == 20


def test_a_method_that_gives_up_says_so(imbalanced):
    X, y = imbalanced
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ConvergenceWarning, match="MetricSVC did not converge"):
            MetricSVC(1e-4, max_iter=2).fit(X, y)


def test_what_rounding_forbids_ends_soon():
    """Of 10,000 iterations a few hundred are enough to see that the gap no longer falls."""
    X = np.random.default_rng(0).standard_normal((5, 4)) + 1e8
    model = MetricSVC(alpha=0.5, penalty="l1")
    with pytest.warns(ConvergenceWarning, match="Rounding of numbers of this size"):
        model.fit(X, [1, -1, 1, -1, 1])
    assert model.n_iter_ < 1000
    squared = MetricSVC(alpha=0.5, penalty="l2").fit(X, [1, -1, 1, -1, 1])
    assert squared.converged_  # by planes of centred columns


def test_a_warm_start_begins_at_the_last_model(imbalanced):
    X, y = imbalanced
    model = MetricSVC(1e-2, warm_start=True).fit(X, y)
    cold, before = model.n_iter_, model.certificate_.primal
    model.fit(X, y)
    assert model.n_iter_ < cold
    assert model.certificate_.primal <= before + 1e-12
