"""Certificates of celer's and skglm's models: by stand-ins of the same names, and celer's own."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from numpy import log1p
from numpy.testing import assert_allclose
from scipy.special import xlogy
from sklearn.base import BaseEstimator

from skpd import GroupLassoPD, certify
from skpd.foreign.celer_skglm import CELER, DATAFITS, PENALTIES, SKGLM

GROUPS = [[0, 3], [1, 2, 4], [5, 6, 7]]
FEATURES, TASKS = 8, 3
WEIGHTS = np.linspace(0.5, 2.0, FEATURES)
BY_GROUP = np.array([0.5, 1.0, 2.0])


@pytest.fixture(scope="module")
def data():
    """X, targets, targets of several outputs, two and three classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, FEATURES)) + 0.5
    y = X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=60)
    Y = np.column_stack([y, X[:, 2] + rng.normal(size=60), -y])
    return X, y, Y, np.where(y > 0, "b", "a"), np.digitize(y, [-0.5, 0.5])


def stand_in(library, name, **attributes):
    """A fitted estimator that has the names and attributes of another, and nothing else."""
    kind = type(name, (BaseEstimator,), {"__module__": f"{library}.inside", "fit": None})
    model = kind.__new__(kind)
    vars(model).update({"fit_intercept": True, **attributes})
    return model


def mean_squares(X, y, w, b):
    return np.mean((y - X @ w - b) ** 2) / 2


def logistic(X, y, w, b):
    return np.mean(log1p(np.exp(-y * (X @ w + b))))


def enet(w, ratio, weights=1.0):
    return np.sum(weights * (ratio * np.abs(w) + (1 - ratio) * w**2 / 2))


def group_norms(w, weights, groups=GROUPS):
    return sum(a * np.linalg.norm(w[g]) for g, a in zip(groups, weights, strict=True))


TARGETS = [  # library, name, attributes, alpha R(w) as the documentation has it
    ("celer", "Lasso", {"alpha": 0.1}, lambda w: 0.1 * enet(w, 1)),
    ("celer", "Lasso", {"alpha": 0.1, "weights": WEIGHTS}, lambda w: 0.1 * enet(w, 1, WEIGHTS)),
    ("celer", "LassoCV", {"alpha_": 0.2, "alpha": None}, lambda w: 0.2 * enet(w, 1)),
    ("celer", "ElasticNet", {"alpha": 0.1, "l1_ratio": 0.3, "weights": WEIGHTS},
     lambda w: 0.1 * enet(w, 0.3, WEIGHTS)),
    ("celer", "ElasticNetCV", {"alpha_": 0.2, "l1_ratio_": 0.4, "l1_ratio": [0.4, 0.9]},
     lambda w: 0.2 * enet(w, 0.4)),
    ("celer", "GroupLasso", {"alpha": 0.1, "groups": GROUPS, "weights": BY_GROUP},
     lambda w: 0.1 * group_norms(w, BY_GROUP)),
    ("celer", "GroupLasso", {"alpha": 0.1, "groups": 4},
     lambda w: 0.1 * group_norms(w, [1, 1], [range(4), range(4, 8)])),
    ("celer", "GroupLassoCV", {"alpha_": 0.1, "groups": [5, 3]},
     lambda w: 0.1 * group_norms(w, [1, 1], [range(5), range(5, 8)])),
    ("celer", "GroupLasso", {"alpha": 0.1, "groups": [1] * FEATURES}, lambda w: 0.1 * enet(w, 1)),
    ("skglm", "Lasso", {"alpha": 0.1}, lambda w: 0.1 * enet(w, 1)),
    ("skglm", "WeightedLasso", {"alpha": 0.1, "weights": WEIGHTS},
     lambda w: 0.1 * enet(w, 1, WEIGHTS)),
    ("skglm", "WeightedLasso", {"alpha": 0.1, "weights": None}, lambda w: 0.1 * enet(w, 1)),
    ("skglm", "ElasticNet", {"alpha": 0.1, "l1_ratio": 0.0}, lambda w: 0.1 * enet(w, 0)),
    ("skglm", "GroupLasso", {"alpha": 0.1, "groups": GROUPS, "weights": BY_GROUP},
     lambda w: 0.1 * group_norms(w, BY_GROUP)),
]  # fmt: skip


@pytest.mark.parametrize("library, name, attributes, penalty", TARGETS)
def test_regressors_by_formula(library, name, attributes, penalty, data, rng):
    """The objective at any coefficients, and that the bound is below it and near the least."""
    X, y = data[:2]
    values, duals = [], []
    for scale in (0.0, 0.3, 1.0):
        w = scale * rng.normal(size=FEATURES)
        found = certify(stand_in(library, name, coef_=w, intercept_=0.2, **attributes), X, y)
        assert_allclose(found.primal, mean_squares(X, y, w, 0.2) + penalty(w), rtol=1e-12)
        values.append(found.primal)
        duals.append(found.dual)
    assert_allclose(duals, duals[0], rtol=1e-6)
    assert 0.0 < duals[0] < min(values)


@pytest.mark.parametrize("library", ["celer", "skglm"])
def test_multi_task_by_formula(library, data, rng):
    X, _, Y = data[:3]
    W, b = rng.normal(size=(TASKS, FEATURES)), rng.normal(size=TASKS)
    found = certify(stand_in(library, "MultiTaskLasso", alpha=0.3, coef_=W, intercept_=b), X, Y)
    objective = np.sum((Y - X @ W.T - b) ** 2) / 120 + 0.3 * np.sum(np.linalg.norm(W, axis=0))
    assert_allclose(found.primal, objective, rtol=1e-12)
    assert 0.0 < found.dual < objective


CLASSIFIERS = [  # library, name, attributes, the objective over S, its intercept
    ("celer", "LogisticRegression", {"C": 0.5, "fit_intercept": False},
     lambda X, y, w, b: logistic(X, y, w, 0) + enet(w, 1) / (0.5 * 60), False),
    ("skglm", "SparseLogisticRegression", {"alpha": 0.02, "l1_ratio": 0.7},
     lambda X, y, w, b: logistic(X, y, w, b) + 0.02 * enet(w, 0.7), True),
    ("skglm", "LinearSVC", {"C": 0.5},
     lambda X, y, w, b: np.mean(np.maximum(1 - y * (X @ w), 0)) + w @ w / (2 * 0.5 * 60), False),
]  # fmt: skip


@pytest.mark.parametrize("library, name, attributes, objective, intercept", CLASSIFIERS)
def test_classifiers_by_formula(library, name, attributes, objective, intercept, data, rng):
    X = data[0]
    for y in data[3:]:
        classes = np.unique(y)
        coef = rng.normal(size=(1 if len(classes) == 2 else 3, FEATURES))
        b = rng.normal(size=len(coef)) * intercept
        model = stand_in(library, name, coef_=coef, intercept_=b, classes_=classes, **attributes)
        found = np.ravel(certify(model, X, y))
        for k, certificate in enumerate(found):
            signs = np.where(y == classes[k if len(found) > 1 else 1], 1.0, -1.0)
            assert_allclose(certificate.primal, objective(X, signs, coef[k], b[k]), rtol=1e-12)
            assert 0.0 < certificate.dual < certificate.primal


def part(name, **attributes):
    """A datafit, penalty or solver by its name."""
    made = type(name, (SimpleNamespace,), {})
    return made(**attributes)


def generalised(datafit, penalty, coef, intercept=0.0, fit_intercept=True, **more):
    return stand_in(
        "skglm", "GeneralizedLinearEstimator", datafit=datafit, penalty=penalty, coef_=coef,
        intercept_=intercept, solver=part("AndersonCD", fit_intercept=fit_intercept),
        n_features_in_=FEATURES, **more,
    )  # fmt: skip


def huber(r, delta):
    r = np.abs(r)
    return np.mean(np.where(r < delta, r**2 / 2, delta * r - delta**2 / 2))


def test_generalised_models_by_formula(data, rng):
    X, y, Y, labels, _ = data
    w, b = rng.normal(size=FEATURES), 0.3
    z, counts = X @ w + b, rng.poisson(1.0, 60).astype(float)
    r, signs, sample = y - z, np.where(labels == "b", 1.0, -1.0), rng.random(60)
    grouped = part(
        "WeightedGroupL2", alpha=0.1, weights=BY_GROUP, positive=False,
        grp_ptr=np.array([0, 2, 5, 8]), grp_indices=np.concatenate(GROUPS),
    )  # fmt: skip
    l1 = part("L1", alpha=0.1, positive=False)
    both = part("L1_plus_L2", alpha=0.1, l1_ratio=0.6, positive=False)
    weighted = part("WeightedL1", alpha=0.1, weights=WEIGHTS, positive=False)
    cases = [
        (part("Quadratic"), l1, y, np.mean(r**2) / 2 + 0.1 * enet(w, 1)),
        (part("WeightedQuadratic", sample_weights=sample), l1, y,
         np.average(r**2, weights=sample) / 2 + 0.1 * enet(w, 1)),
        (part("Huber", delta=0.7), both, y, huber(r, 0.7) + 0.1 * enet(w, 0.6)),
        (part("Quadratic"), weighted, y, np.mean(r**2) / 2 + 0.1 * enet(w, 1, WEIGHTS)),
        (part("Quadratic"), part("L2", alpha=0.1), y, np.mean(r**2) / 2 + 0.1 * enet(w, 0)),
        (part("QuadraticGroup"), grouped, y, np.mean(r**2) / 2 + 0.1 * group_norms(w, BY_GROUP)),
        (part("Logistic"), l1, labels, logistic(X, signs, w, b) + 0.1 * enet(w, 1)),
        (part("LogisticGroup"), grouped, labels,
         logistic(X, signs, w, b) + 0.1 * group_norms(w, BY_GROUP)),
        (part("Poisson"), l1, counts,
         np.mean(np.exp(z) - counts * z + xlogy(counts, counts) - counts) + 0.1 * enet(w, 1)),
        (part("PoissonGroup"), grouped, counts,
         np.mean(np.exp(z) - counts * z + xlogy(counts, counts) - counts)
         + 0.1 * group_norms(w, BY_GROUP)),
        (part("Gamma"), l1, counts + 1.0,
         np.mean((counts + 1) * np.exp(-z) + z - np.log(counts + 1) - 1) + 0.1 * enet(w, 1)),
    ]  # fmt: skip
    assert {type(case[0]).__name__ for case in cases} == set(DATAFITS)
    assert {type(case[1]).__name__ for case in cases} == set(PENALTIES)
    for datafit, penalty, target, objective in cases:
        model = generalised(datafit, penalty, w, b, classes_=np.array(["a", "b"]))
        found = certify(model, X, target)
        assert_allclose(found.primal, objective, rtol=1e-12)
        assert 0.0 < found.dual < objective
    svm = generalised(
        part("QuadraticSVC"), part("IndicatorBox", alpha=0.5), w, 0.0, False,
        classes_=np.array(["a", "b"]),
    )  # fmt: skip
    objective = np.mean(np.maximum(1 - signs * (X @ w), 0)) + w @ w / (2 * 0.5 * 60)
    assert_allclose(certify(svm, X, labels).primal, objective, rtol=1e-12)
    W, b = rng.normal(size=(FEATURES, TASKS)), rng.normal(size=TASKS)
    tasks = generalised(part("QuadraticMultiTask"), part("L2_1", alpha=0.3), W, b)
    objective = np.sum((Y - X @ W - b) ** 2) / 120 + 0.3 * np.sum(np.linalg.norm(W, axis=1))
    assert_allclose(certify(tasks, X, Y).primal, objective, rtol=1e-12)


def test_groups_of_coefficients_that_are_not_negative(data, rng):
    X, y, w = *data[:2], np.abs(rng.normal(size=FEATURES))
    penalty = part(
        "WeightedGroupL2", alpha=0.1, weights=BY_GROUP, positive=True,
        grp_ptr=np.array([0, 2, 5, 8]), grp_indices=np.concatenate(GROUPS),
    )  # fmt: skip
    found = certify(generalised(part("QuadraticGroup"), penalty, w, 0.3), X, y)
    objective = np.mean((y - X @ w - 0.3) ** 2) / 2 + 0.1 * group_norms(w, BY_GROUP)
    assert_allclose(found.primal, objective, rtol=1e-12)
    best = GroupLassoPD(0.1, groups=GROUPS, group_weights=BY_GROUP, positive=True).fit(X, y)
    assert 0.0 < found.dual <= best.certificate_.primal < objective
    model = stand_in(
        "skglm", "GroupLasso", alpha=0.1, groups=GROUPS, weights=BY_GROUP, positive=True, coef_=w,
        intercept_=0.3, fit_intercept=True,
    )  # fmt: skip
    assert_allclose(certify(model, X, y).primal, objective, rtol=1e-12)


def test_what_is_not_known_is_named(data):
    X, y, w = *data[:2], np.zeros(FEATURES)
    with pytest.raises(ValueError, match=r"datafit of Quadratic, .* got Cox with L1"):
        certify(generalised(part("Cox"), part("L1", alpha=0.1), w), X, y)
    with pytest.raises(ValueError, match=r"penalty of L1, .* got Quadratic with MCPenalty"):
        certify(generalised(part("Quadratic"), part("MCPenalty", alpha=0.1), w), X, y)
    with pytest.raises(TypeError, match=r"does not know what skglm.inside.MCPRegression"):
        certify(stand_in("skglm", "MCPRegression", alpha=0.1, coef_=w), X, y)
    with pytest.raises(
        TypeError, match=r"celer's ElasticNet, .*; of skglm's CoxEstimator, ElasticNet"
    ):
        certify(stand_in("other", "Thing", trees_=1), X, y)
    with pytest.raises(TypeError, match="does not know what other"):  # of the name of a known one
        certify(stand_in("other", "Lasso", alpha=0.1, coef_=w), X, y)
    named = {(library, name) for library, name, *_ in [*TARGETS, *CLASSIFIERS]}
    every = {*(("celer", name) for name in CELER), *(("skglm", name) for name in SKGLM)}
    assert {name for _, name in every - named} == {
        "MultiTaskLasso", "MultiTaskLassoCV", "GeneralizedLinearEstimator", "CoxEstimator"
    }  # fmt: skip


def test_cox_by_formula(data, rng):
    """Without ties -1/n sum over the events of z_i - log(sum over times from t_i on of exp(z))."""
    X, w = data[0], rng.normal(size=FEATURES)
    time, event, z = rng.permutation(60) + 1.0, rng.random(60) < 0.6, X @ w
    at_risk = time >= time[:, np.newaxis]
    likelihood = np.sum((z - np.log(at_risk @ np.exp(z)))[event]) / 60
    y = np.column_stack([time, event])
    for ratio, method in ((1.0, "breslow"), (0.4, "efron")):
        model = stand_in(
            "skglm", "CoxEstimator", alpha=0.1, l1_ratio=ratio, method=method, coef_=w
        )
        found = certify(model, X, y)
        assert_allclose(found.primal, -likelihood + 0.1 * enet(w, ratio), rtol=1e-12)
        assert 0.0 < found.dual < found.primal


def is_optimal(model, X, y):
    """Whether a model solved to a small tolerance has a small gap, so that objectives agree."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    return max(c.relative_gap for c in np.ravel(certify(model, X, y))) <= 1e-6


def test_models_of_celer(data):
    celer = pytest.importorskip("celer")
    X, y, _, labels, classes = data
    options = {"tol": 1e-9}
    for model in (
        celer.Lasso(0.1, **options),
        celer.Lasso(0.1, weights=WEIGHTS, **options),
        celer.Lasso(0.1, positive=True, **options),
        celer.Lasso(0.1, fit_intercept=False, **options),
        celer.ElasticNet(0.1, l1_ratio=0.4, weights=WEIGHTS, **options),
        celer.GroupLasso(groups=[5, 3], alpha=0.1, **options),
        celer.GroupLasso(groups=GROUPS, alpha=0.1, weights=BY_GROUP, **options),
    ):
        assert is_optimal(model, X, y)
    for target in (labels, classes):
        assert is_optimal(celer.LogisticRegression(C=1.0, **options), X, target)
