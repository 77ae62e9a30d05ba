"""Models of counts and costs, and offsets, against scikit-learn and Clarabel."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.linear_model import GammaRegressor, PoissonRegressor, TweedieRegressor
from sklearn.metrics import d2_tweedie_score, mean_poisson_deviance, roc_auc_score
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skpd import (
    GammaPD,
    KernelPdproxSVC,
    LassoPDCertified,
    LassoPDCertifiedCV,
    LogisticPD,
    MultinomialPD,
    MultiTaskPD,
    PathCV,
    PdproxRegressor,
    PdproxSVC,
    PoissonPD,
    QuantilePD,
    RowBlocks,
    TweediePD,
    certify,
    regularization_path,
)
from skpd.losses import Poisson
from skpd.losses.shifted import with_offset
from skpd.penalties import L1
from skpd.problems.shards.problem_of_shards import problem_of_shards
from skpd.problems.shards.shard import Shard, Targets
from skpd.problems.shards.shards import LocalShards
from skpd.solvers import solve
from tests.oracles.reference import conic_programme

N, D = 150, 6
MODELS = {
    "poisson": (PoissonPD(1e-3, penalty="l1"), PoissonRegressor()),
    "gamma": (GammaPD(1e-3, penalty="l1"), GammaRegressor()),
    "tweedie": (
        TweediePD(power=1.4, alpha=1e-3, penalty="l1"),
        TweedieRegressor(power=1.4, link="log"),
    ),
}


@pytest.fixture
def data(rng):
    X = rng.normal(size=(N, D))
    offset = np.log(rng.uniform(0.2, 2.0, N))
    mean = np.exp(0.5 * X[:, 0] - 0.3 * X[:, 1] + offset - 0.2)
    y = {
        "poisson": rng.poisson(mean).astype(float),
        "gamma": rng.gamma(2.0, 0.5 * mean),
        "tweedie": rng.poisson(mean) * rng.gamma(2.0, size=N),
    }
    return X, y, offset, rng.uniform(0.1, 2.0, N)


def model_and_targets(name, y):
    if name == "negative_binomial":
        return PoissonPD(dispersion=0.7, alpha=1e-3, penalty="l1"), y["poisson"]
    return MODELS[name][0], y[name]


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("name", MODELS)
def test_coefficients_of_scikit_learn(name, fit_intercept, data):
    X, y, _, weights = data
    ours, theirs = MODELS[name]
    theirs.set_params(
        alpha=0.1, fit_intercept=fit_intercept, solver="newton-cholesky", tol=1e-12, max_iter=1000
    )
    ours.set_params(alpha=0.1, penalty="l2", fit_intercept=fit_intercept, tol=1e-13)
    theirs.fit(X, y[name], sample_weight=weights)
    ours.fit(X, y[name], sample_weight=weights)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-6)
    assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-5)
    score = theirs.score(X, y[name], sample_weight=weights)
    assert_allclose(ours.score(X, y[name], sample_weight=weights), score, atol=1e-6)
    power = {"poisson": 1.0, "gamma": 2.0, "tweedie": 1.4}[name]
    assert_allclose(
        ours.score(X, y[name]), d2_tweedie_score(y[name], ours.predict(X), power=power)
    )


@pytest.mark.parametrize(
    "penalty", ["l1", "group", "elasticnet", "linf", "fused_lasso", "l1_ball"]
)
@pytest.mark.parametrize("name", [*MODELS, "negative_binomial"])
def test_optima_of_clarabel_with_offsets(name, penalty, data):
    X, y, offset, weights = data
    model, t = model_and_targets(name, y)
    groups = 2 if penalty == "group" else None
    alpha = 1.0 if penalty == "l1_ball" else 0.03
    model.set_params(alpha=alpha, penalty=penalty, groups=groups, fit_intercept=True, tol=1e-9)
    model.fit(X, t, sample_weight=weights, offset=offset)
    loss, shares = model._get_loss(), weights / weights.sum()
    table, posed = with_offset(loss, t, offset)
    best = conic_programme(X, table, shares, posed, model._get_penalty(), alpha, True)
    assert_allclose(model.certificate_.primal, best, rtol=1e-7)
    assert model.certificate_.dual <= best * (1.0 + 1e-8)
    for X_too in (sp.csr_array(X), sp.csc_array(X), np.asfortranarray(X), RowBlocks([X])):
        model.fit(X_too, t, sample_weight=weights, offset=offset)
        assert_allclose(model.certificate_.primal, best, rtol=1e-7)
    again = certify(model, X, t, weights, offset=offset, rigorous=True)
    assert again.dual <= best * (1.0 + 1e-8)
    assert again.relative_gap <= 1e-7


# Some of the models that it fits are constant.
@pytest.mark.filterwarnings("ignore:.*all coefficients are 0")
@pytest.mark.parametrize("shift", [-600.0, 600.0])
@pytest.mark.parametrize("name", [*MODELS, "negative_binomial"])
def test_a_constant_offset_moves_the_intercept_alone(name, shift, data):
    X, y, offset, _ = data
    model, t = model_and_targets(name, y)
    model.set_params(alpha=0.03, penalty="l1", fit_intercept=True, tol=1e-9)
    near = clone(model).fit(X, t, offset=offset)
    for X_too in (X, RowBlocks(np.array_split(X, 2))):
        far = clone(model).fit(X_too, t, offset=offset + shift)
        assert_allclose(far.coef_, near.coef_, atol=1e-5)
        assert_allclose(far.intercept_, near.intercept_ - shift, atol=1e-5)
        # the gap is relative to the same constant
        constants = [
            clone(model).set_params(alpha=1e6).fit(X_too, t, offset=offset + more).certificate_
            for more in (0.0, shift)
        ]
        assert_allclose(*(found.primal for found in constants), rtol=1e-9)
        assert [found.relative_gap for found in constants] == [0.0, 0.0]


def test_costs_of_all_sizes(rng):
    X = rng.normal(size=(N, D))
    y = np.exp(20.0 * rng.normal(size=N) + 3.0 * X[:, 0])  # from 1e-20 to 1e20
    model = GammaPD(1e-4, tol=1e-8, penalty="l1").fit(X, y)

    def objective(coef, intercept):
        z = X @ coef + intercept
        return np.mean(y * np.exp(-z) + z - np.log(y) - 1.0) + 1e-4 * np.abs(coef).sum()

    value = objective(model.coef_, model.intercept_)
    assert_allclose(value, model.certificate_.primal, rtol=1e-9)
    assert value < 0.95 * objective(0.0 * model.coef_, np.log(y.mean()))
    larger = GammaPD(1e-4, tol=1e-8, penalty="l1").fit(X, 1e200 * y)  # the deviance has no unit
    assert_allclose(larger.certificate_.primal, value, rtol=1e-6)


@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared_hinge", "generalized_hinge"])
@pytest.mark.parametrize("penalty", ["l1", "elasticnet"])
def test_offsets_of_classifiers(loss, penalty, data, rng):
    X, _, offset, weights = data
    label = np.where(X[:, 0] + 2.0 * offset + rng.logistic(size=N) > 0.0, "yes", "no")
    model = PdproxSVC(alpha=0.05, loss=loss, penalty=penalty, tol=1e-9)
    model.fit(X, label, sample_weight=weights, offset=offset)
    own = model._get_loss()
    table, posed = with_offset(own, np.where(label == "yes", 1.0, -1.0), offset)
    best = conic_programme(
        X, table, weights / weights.sum(), posed, model._get_penalty(), 0.05, True
    )
    assert_allclose(model.certificate_.primal, best, rtol=1e-7)
    assert model.certificate_.dual <= best * (1.0 + 1e-8)
    scores = model.decision_function(X, offset=offset)
    assert_allclose(scores, X @ model.coef_[0] + model.intercept_[0] + offset)
    assert_allclose(model.predict(X, offset=offset) == "yes", scores > 0.0)
    assert model.score(X, label, offset=offset) == np.mean((scores > 0.0) == (label == "yes"))
    if loss == "logistic":
        assert_allclose(model.predict_proba(X, offset=offset)[:, 1], 1.0 / (1.0 + np.exp(-scores)))


def test_offsets_of_three_classes(data, rng):
    X, _, offset, _ = data
    offsets = np.column_stack([offset, 0.0 * offset, -offset])
    y = (X[:, :3] + offsets + rng.gumbel(size=(N, 3))).argmax(axis=1)
    model = PdproxSVC(alpha=0.01, loss="logistic", tol=1e-9).fit(X, y, offset=offsets)
    for k in range(3):
        own = LogisticPD(alpha=0.01, penalty="l1", tol=1e-9).fit(X, y == k, offset=offsets[:, k])
        assert_allclose(model.coef_[k], own.coef_[0], atol=1e-4)
    scores = model.decision_function(X, offset=offsets)
    assert_allclose(scores, X @ model.coef_.T + model.intercept_ + offsets)


def test_offsets_of_regressors_are_taken_off_the_targets(data, rng):
    X, _, offset, _ = data
    y = X[:, 0] + offset + rng.normal(size=N)
    for model in (PdproxRegressor(loss="huber"), LassoPDCertified(), QuantilePD((0.3, 0.6))):
        model.set_params(alpha=0.01).fit(X, y, offset=offset)
        predicted, score = model.predict(X, offset=offset), model.score(X, y, offset=offset)
        coef = model.coef_.copy()
        model.fit(X, y - offset)
        assert_allclose(coef, model.coef_)
        assert_allclose(predicted.T, model.predict(X).T + offset)
        assert score > model.score(X, y)
    chosen = LassoPDCertifiedCV(alphas=10).fit(X, y, offset=offset)
    assert chosen.alpha_ == LassoPDCertifiedCV(alphas=10).fit(X, y - offset).alpha_


# Of so few alphas the best is often an end.
@pytest.mark.filterwarnings("ignore:.*end of the grid")
@pytest.mark.filterwarnings("ignore:.*is scored without")
def test_paths_and_cross_validation_with_offsets(data):
    X, y, offset, weights = data
    y = y["poisson"]
    model = PoissonPD(tol=1e-9, alpha=1e-3, penalty="l1")
    found = regularization_path(
        model, X, y, alphas=[0.1, 0.01], sample_weight=weights, offset=offset
    )
    alone = PoissonPD(0.01, tol=1e-9, penalty="l1").fit(X, y, weights, offset)
    assert_allclose(found.coefs[1], alone.coef_, atol=1e-5)
    means = found.predict(X, offset=offset)[1]
    assert_allclose(means, alone.predict(X, offset=offset), rtol=1e-4)
    folds = list(KFold(3).split(X))
    search = PathCV(make_pipeline(StandardScaler(), model), alphas=[0.1, 0.01], cv=folds)
    search.fit(X, y, offset=offset)
    for k, (train, test) in enumerate(folds):
        scaler = StandardScaler().fit(X[train])
        one = PoissonPD(0.01, tol=1e-9, penalty="l1").fit(
            scaler.transform(X[train]), y[train], None, offset[train]
        )
        score = one.score(scaler.transform(X[test]), y[test], offset=offset[test])
        assert_allclose(search.cv_results_[f"split{k}_test_score"][1], score, atol=1e-6)
    assert_allclose(search.predict(X[:3], offset=offset[:3]).shape, (3,))
    assert search.score(X, y, offset=offset) > search.score(X, y)
    label = y > 0
    by_auc = PathCV(LogisticPD(penalty="l1"), alphas=[0.01], cv=folds, scoring="roc_auc")
    by_auc.fit(X, label, offset=offset)
    train, test = folds[0]
    one = LogisticPD(0.01, penalty="l1").fit(X[train], label[train], offset=offset[train])
    auc = roc_auc_score(label[test], one.decision_function(X[test], offset=offset[test]))
    assert_allclose(by_auc.cv_results_["split0_test_score"], auc)


@pytest.mark.parametrize("loss", [Poisson(), PdproxSVC(loss="hinge")._get_loss()], ids=str)
@pytest.mark.parametrize("n_blocks", [1, 5])
def test_sums_over_blocks_make_the_same_model(loss, n_blocks, data):
    X, y, offset, weights = data
    y = np.where(y["poisson"] > 0, 1.0, -1.0) if loss.of_labels else y["poisson"]
    table, posed = with_offset(loss, y, offset)
    blocks = RowBlocks(np.array_split(X + 50.0, n_blocks))  # features far from 0
    shards = LocalShards(Shard(blocks, Targets(y, weights, offset=offset), posed))
    problem = problem_of_shards(shards, posed, L1(), 0.02, True)
    assert not problem.rows.in_memory
    found = solve(problem, tol=1e-8, max_iter=1000, random_state=np.random.RandomState(0))
    best = conic_programme(X + 50.0, table, weights / weights.sum(), posed, L1(), 0.02, True)
    assert_allclose(found.certificate.primal, best, rtol=1e-6)
    assert found.certificate.dual <= best * (1.0 + 1e-8)
    assert found.certificate.relative_gap <= 1e-8


def test_scores_are_of_rows_with_weights():
    """As of the rows with positive weights alone; means of others may overflow."""
    X = np.array([[0.0], [1.0], [2.0], [1e4]])
    model = PoissonPD(alpha=1e-4, penalty="l1").fit(X[:3], [1.0, 2.0, 4.0])
    assert model.score(X[:3], [1, 1, 2], [1, 1, 0]) == 0.0
    y, weights = np.array([1.0, 2.0, 4.0, 3.0]), np.array([1.0, 2.0, 0.5, 0.0])
    expected = 1.0 - mean_poisson_deviance(
        y[:3], model.predict(X[:3]), sample_weight=weights[:3]
    ) / mean_poisson_deviance(
        y[:3], np.full(3, np.average(y, weights=weights)), sample_weight=weights[:3]
    )
    assert_allclose(model.score(X, y, weights), expected, rtol=1e-12)
    for far in (X, -X):  # exp(7000) and exp(-7000)
        with pytest.raises(ValueError, match=r"X must be on a smaller scale: a mean exp\(x.w"):
            model.score(far, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.score(X, y[:2])


# Some of the models that it fits are constant.
@pytest.mark.filterwarnings("ignore:.*all coefficients are 0")
def test_scores_of_folds_without_claims(data):
    X, y, _, _ = data
    model = PoissonPD(0.01, penalty="l1").fit(X, y["poisson"])
    assert model.score(X, np.zeros(N)) == 0.0
    assert model.score(X, np.full(N, 2.0)) == 0.0
    constant = PoissonPD(0.01, penalty="l1").fit(X, np.full(N, 4.0))
    constant.intercept_ = 0.0
    assert constant.score(X, np.ones(N)) == 1.0
    rare = np.zeros(N)
    rare[::30] = 1.0
    search = PathCV(PoissonPD(1e-3, penalty="l1"), alphas=3, cv=KFold(10)).fit(X, rare)
    assert np.isfinite(search.best_score_)


def test_targets_and_offsets_that_are_refused(data):
    X, y, offset, weights = data
    with pytest.raises(ValueError, match=r"y must be 0 or greater .* got -1"):
        PoissonPD(1e-3, penalty="l1").fit(X, y["poisson"] - 1.0)
    with pytest.raises(ValueError, match="y must be greater than 0"):
        GammaPD(1e-3, penalty="l1").fit(X, y["poisson"])
    with pytest.raises(ValueError, match="y must be greater than 0"):
        GammaPD(1e-3, penalty="l1").fit(RowBlocks([X]), y["poisson"])
    positive = y["poisson"] > 0  # rows of weight 0 do not count
    GammaPD(1e-3, penalty="l1").fit(X, y["poisson"], sample_weight=positive * weights)
    with pytest.raises(ValueError, match="got only zeros"):
        PoissonPD(1e-3, penalty="l1").fit(X, np.zeros(N))
    PoissonPD(fit_intercept=False, alpha=1e-3, penalty="l1").fit(
        X, np.append(np.zeros(N - 1), 1.0)
    )
    with pytest.raises(ValueError, match="'power' parameter of TweediePD"):
        TweediePD(power=2.5, alpha=1e-3, penalty="l1").fit(X, y["gamma"])
    with pytest.raises(ValueError, match=r"offset must have the shape \(150,\), got \(3,\)"):
        PoissonPD().fit(X, y["poisson"], offset=np.zeros(3))
    with pytest.raises(ValueError, match="offset must hold numbers, but could not convert"):
        PoissonPD().fit(X, y["poisson"], offset="exposure")
    with pytest.raises(ValueError, match="NaN"):
        PoissonPD(1e-3, penalty="l1").fit(X, y["poisson"], offset=np.full(N, np.nan))
    model = PoissonPD(0.01, penalty="l1").fit(X, y["poisson"], offset=offset)
    with pytest.raises(ValueError, match="offset must have the shape"):
        model.predict(X, offset=offset[:5])
    label = np.arange(N) % 3
    for other in (KernelPdproxSVC(), MultinomialPD(), MultiTaskPD(loss="l2_norm", alpha=1e-3)):
        with pytest.raises(ValueError, match=f"{type(other).__name__} takes no offset"):
            other.fit(X, label, offset=offset)
    with pytest.raises(ValueError, match="LogisticPD takes an offset for two classes only"):
        LogisticPD().fit(X, label, offset=np.zeros((N, 3)))
