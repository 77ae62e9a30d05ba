"""Losses of multivariate scores, their solvers and MultivariateSVC."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import f1_score, fbeta_score, roc_auc_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from benchmarks.multivariate import every_labeling, optimum
from skpd import MultivariateSVC, certify, path
from skpd.designs import Design
from skpd.losses import FBeta, PrecisionAtK, RecallAtK, RocAuc
from skpd.losses.multivariate import LARGEST_TABLE
from skpd.penalties import L1, GroupL2, SquaredL2
from skpd.problems.score_rows import scores_problem
from skpd.solvers import solve

SCORINGS = ["f1", "fbeta", "precision_at_k", "recall_at_k", "roc_auc"]


def labels(rng, n, share=0.4):
    y = np.where(rng.random(n) < share, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return rng.permutation(y)


def losses(rng, y):
    k = int(rng.integers(1, len(y)))
    found = [FBeta(y), FBeta(y, 0.3), FBeta(y, 2.0), PrecisionAtK(y, k), RecallAtK(y, k)]
    found.append(PrecisionAtK(y, int(np.sum(y > 0.0))))
    if np.sum(y > 0.0) * np.sum(y < 0.0) <= 10:
        found.append(RocAuc(y))
    return found


@pytest.mark.parametrize("seed", range(8))
def test_values_and_labelings_are_those_of_the_enumeration(seed):
    rng = np.random.default_rng(seed)
    n = 2 + seed
    y, z = labels(rng, n), rng.standard_normal(n) * 10.0 ** rng.integers(-1, 2)
    if seed % 3 == 0:
        z = np.round(z)  # with ties
    for loss in losses(rng, y):
        thetas, deltas = every_labeling(loss)
        expected = np.max(deltas + thetas @ (loss.weights * z))
        value, error = loss.value(z)
        assert abs(value - expected) <= error < 1e-12
        assert loss.entropy_range == pytest.approx(np.log(len(deltas)), rel=1e-12)
        value, mixture = loss.mixture(z, 0.0)
        assert value == pytest.approx(expected, abs=1e-12)
        own = np.all(np.isclose(thetas, mixture.theta), axis=1)
        assert np.min(np.abs(deltas[own] - mixture.mean_loss)) < 1e-14
        assert mixture.mean_loss + mixture.theta @ (loss.weights * z) == pytest.approx(expected)


@pytest.mark.parametrize("smoothing", [1.0, 0.03])
@pytest.mark.parametrize("n", [2, 5, 9])
def test_marginals_are_those_of_the_enumeration(n, smoothing):
    rng = np.random.default_rng(n)
    y, z = labels(rng, n), rng.standard_normal(n)
    for loss in losses(rng, y):
        thetas, deltas = every_labeling(loss)
        exponents = (deltas + thetas @ (loss.weights * z)) / smoothing
        log_sum = logsumexp(exponents)
        shares = np.exp(exponents - log_sum)
        value, mixture = loss.mixture(z, smoothing)
        assert value == pytest.approx(smoothing * (log_sum - np.log(len(deltas))), abs=1e-12)
        assert_allclose(mixture.theta, shares @ thetas, atol=1e-12)
        assert mixture.mean_loss == pytest.approx(shares @ deltas, abs=1e-12)
        assert mixture.theta_error < 1e-10


def test_marginals_of_many_samples_are_a_mixture_at_any_level():
    rng = np.random.default_rng(0)
    y = labels(rng, 150, 0.2)
    z = y + rng.standard_normal(150)
    for loss in (FBeta(y), PrecisionAtK(y, 20), RocAuc(y)):
        exact = loss.value(z)[0]
        for level in (1.0, 1e-3, 1e-6):
            value, mixture = loss.mixture(z, level / loss.entropy_range)
            assert exact - level - 1e-12 <= value <= exact + 1e-12
            assert np.max(np.abs(mixture.theta) - loss.largest_theta) <= mixture.theta_error
            # what the mixture says of z is at most the maximum, and at most the level less
            linear = mixture.mean_loss + mixture.theta @ (loss.weights * z)
            assert exact - level - 1e-10 <= linear <= exact + 1e-10


@pytest.mark.parametrize("beta", [0.5, 1.0, 3.0])
def test_an_f_score_is_bounded_by_its_loss(beta):
    rng = np.random.default_rng(1)
    y = labels(rng, 60, 0.2)
    loss = FBeta(y, beta)
    for scale in (0.1, 1.0, 10.0):
        z = scale * (y + rng.standard_normal(60))
        predicted = np.where(z > 0.0, 1.0, -1.0)
        assert loss.value(z)[0] >= 1.0 - fbeta_score(y, predicted, beta=beta) - 1e-12
    b, c = np.sum((y > 0) & (predicted < 0)), np.sum((y < 0) & (predicted > 0))
    assert loss.delta(b, c) == pytest.approx(1.0 - fbeta_score(y, predicted, beta=beta))


def test_the_ranking_loss_is_the_mean_hinge_of_pairs():
    rng = np.random.default_rng(2)
    y = labels(rng, 50)
    z = rng.standard_normal(50)
    differences = z[y > 0.0][:, None] - z[y < 0.0][None, :]
    value, mixture = RocAuc(y).mixture(z, 0.0)
    assert value == pytest.approx(np.mean(np.maximum(1.0 - differences, 0.0)), abs=1e-14)
    assert mixture.mean_loss == pytest.approx(np.mean(differences < 1.0), abs=1e-15)
    assert value >= 1.0 - roc_auc_score(y, z)


@pytest.mark.parametrize("penalty", [SquaredL2(), L1(), GroupL2(2)])
@pytest.mark.parametrize("kind", ["f1", "fbeta with an intercept", "precision_at_k", "roc_auc"])
def test_the_optimum_is_that_over_all_labelings(kind, penalty):
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
        found = solve(problem, "agm", tol=3e-3, max_iter=2000, random_state=None, **options)
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


def test_too_many_samples_for_smoothing_are_refused():
    y = np.where(np.arange(12_000) % 2, 1.0, -1.0)
    with pytest.raises(ValueError, match=f"at most {LARGEST_TABLE:,} entries, got 108,036,003"):
        FBeta(y).mixture(np.zeros(12_000), 0.1)
    with pytest.raises(ValueError, match="got 36,000,000 for 6,000 positive"):
        RocAuc(y).mixture(np.zeros(12_000), 0.1)


@pytest.mark.parametrize("y", [[1.0, 1.0], [0.0, 1.0], [[1.0, -1.0]]])
def test_other_labels_are_refused(y):
    with pytest.raises(ValueError, match="y must be a vector of labels -1 and 1"):
        FBeta(np.array(y))


# The estimator


@pytest.fixture(scope="module")
def imbalanced():
    return make_classification(200, 8, weights=[0.85], class_sep=1.2, random_state=0)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([
    MultivariateSVC(),
    MultivariateSVC(scoring="precision_at_k"),
    MultivariateSVC(solver="agm", max_iter=5),
])  # fmt: skip
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("scoring", SCORINGS)
def test_fits_are_certified_and_scored_by_what_they_optimise(scoring, imbalanced):
    X, y = imbalanced
    names = np.array(["no", "yes"])[y]
    model = MultivariateSVC(1e-2, scoring=scoring, tol=1e-6).fit(X, names)
    assert model.converged_
    assert model.solver_ == "cutting-planes"
    assert model.coef_.shape == (1, 8)
    assert list(model.classes_) == ["no", "yes"]
    z = X @ model.coef_[0]
    order = np.argsort(-z)[: np.sum(y)]
    expected = {
        "f1": f1_score(y, z > 0.0),
        "fbeta": f1_score(y, z > 0.0),
        "roc_auc": roc_auc_score(y, z),
    }.get(scoring, np.mean(y[order]))
    assert model.score(X, names) == pytest.approx(expected)
    bound = model.certificate_.primal - 0.5e-2 * np.sum(model.coef_**2)
    assert bound >= 1.0 - expected - 1e-9
    if scoring not in ("f1", "fbeta"):
        assert np.sum(model.predict(X) == "yes") == np.sum(y)
    other = MultivariateSVC(1e-2, scoring=scoring, tol=1e-6).fit(sp.csr_array(X), names)
    assert_allclose(other.certificate_.primal, model.certificate_.primal, rtol=2e-6)


def test_certify_and_paths_take_it(imbalanced):
    X, y = imbalanced
    model = MultivariateSVC(1e-2, scoring="roc_auc", tol=1e-3).fit(X, y)
    certificate = certify(model, X, y, rigorous=True)
    assert certificate.primal == pytest.approx(model.certificate_.primal, abs=1e-12)
    assert model.certificate_.dual <= certificate.primal
    assert certificate.dual >= model.certificate_.dual - 1e-6
    assert certificate.gap <= 1e-3
    found = path(MultivariateSVC(penalty="l1"), X, y, alphas=5)
    alone = clone(found.models[2]).fit(X, y)
    unit = alone.certificate_.gap / alone.relative_gap_ if alone.relative_gap_ else 1.0
    assert abs(alone.certificate_.primal - found.certificates[2].primal) <= 2e-4 * unit
    assert not np.any(found.models[0].coef_)
    with pytest.raises(ValueError, match="sample_weight must be None"):
        certify(model, X, y, np.ones(len(y)))


def test_a_warm_start_begins_at_the_last_model(imbalanced):
    X, y = imbalanced
    model = MultivariateSVC(1e-2, warm_start=True, fit_intercept=True).fit(X, y)
    cold, before = model.n_iter_, model.certificate_.primal
    model.fit(X, y)
    assert model.n_iter_ < cold
    assert model.certificate_.primal <= before + 1e-12


def test_rare_positives_are_found_if_they_can_be_told_apart():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((600, 5))
    y = X[:, 0] + 0.3 * rng.standard_normal(600) > 2.2
    model = MultivariateSVC(1e-4, fit_intercept=True).fit(X, y)
    assert 0.0 < np.mean(y) < 0.05
    assert model.score(X, y) > 0.5
    noisy = X[:, 0] + 0.8 * rng.standard_normal(600) > 2.4
    nothing = MultivariateSVC(1e-2).fit(X, noisy)  # of which the loss is 1, and no model's is less
    assert nothing.certificate_.dual > 1.0 - 1e-4
    assert nothing.score(X, noisy) < 0.5


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"beta": 2.0}, "beta belongs to scoring='fbeta', got beta=2.0 with scoring='f1'"),
        ({"k": 3}, "k belongs to scoring='precision_at_k' or 'recall_at_k'"),
        ({"scoring": "roc_auc", "fit_intercept": True}, "fit_intercept must be False"),
        ({"scoring": "recall_at_k", "k": 201}, "k must be from 1 to the number of samples less"),
        ({"scoring": "accuracy"}, "must be a str among"),
        ({"penalty": "total_variation"}, "no coefficient free"),
        ({"solver_options": {"memory": "one"}}, "no options"),
        ({"solver": "agm", "solver_options": {"memory": "two"}}, "'infinite', 'one'"),
    ],
)
def test_what_does_not_go_together_is_refused(parameters, message, imbalanced):
    with pytest.raises(ValueError, match=message):
        MultivariateSVC(**parameters).fit(*imbalanced)


def test_other_numbers_of_classes_are_refused(imbalanced):
    X, y = imbalanced
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        MultivariateSVC().fit(X, np.arange(len(y)) % 3)
    with pytest.raises(ValueError, match="got 1 class"):
        MultivariateSVC().fit(X, np.zeros(len(y)))


def test_a_share_is_rounded_up_to_samples(imbalanced):
    X, y = imbalanced
    share = MultivariateSVC(1e-2, scoring="precision_at_k", k=0.1).fit(X, y)
    count = MultivariateSVC(1e-2, scoring="precision_at_k", k=20).fit(X, y)
    assert_allclose(share.coef_, count.coef_)
    assert np.sum(share.predict(X) == 1) == 20


def test_a_method_that_gives_up_says_so(imbalanced):
    X, y = imbalanced
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ConvergenceWarning, match="MultivariateSVC did not converge"):
            MultivariateSVC(1e-4, max_iter=2).fit(X, y)


def test_what_rounding_forbids_ends_soon():
    """Of 10,000 iterations a few hundred are enough to see that the gap no longer falls."""
    X = np.random.default_rng(0).standard_normal((5, 4)) + 1e8
    model = MultivariateSVC(alpha=0.5, penalty="l2", fit_intercept=True)
    with pytest.warns(ConvergenceWarning, match="Rounding of numbers of this size"):
        model.fit(X, [1, -1, 1, -1, 1])
    assert model.n_iter_ < 1000
