"""Ordered classes: against formulas, Clarabel and mord."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.model_selection import GridSearchCV, cross_val_predict

from skpd import OrdinalPD, PathCV, certify
from skpd.certificates import primal_objective
from skpd.designs import Design
from skpd.losses import Hinge
from skpd.models.ordinal.losses import OrdinalLoss
from skpd.models.ordinal.problem import ordered_problem
from skpd.models.ordinal.rows import threshold_rows
from skpd.penalties import L1, GroupL2, L2Norm, SquaredL2
from skpd.problems import Point
from skpd.solvers import solve
from skpd.solvers.newton.steps import NewtonSteps
from tests.oracles.reference import ordinal_programme

N, D = 150, 4


@pytest.fixture
def data(rng):
    X, offset = rng.normal(size=(N, D)), 0.5 * rng.normal(size=N)
    score = 1.5 * X[:, 0] - X[:, 1] + offset + rng.logistic(size=N)
    return X, np.digitize(score, [-2.0, 0.0, 1.5]), offset, rng.uniform(0.3, 2.0, N)


@pytest.mark.parametrize("penalty", ["l2", "l1", "group", "elasticnet"])
@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_optima_of_clarabel(loss, penalty, data):
    X, y, offset, weights = data
    groups = 2 if penalty == "group" else None
    model = OrdinalPD(0.02, loss=loss, penalty=penalty, groups=groups, tol=1e-8)
    model.fit(X, y, weights, offset)
    best = ordinal_programme(
        X, y, weights / weights.sum(), offset, loss, model._get_penalty(), 0.02
    )
    assert_allclose(model.certificate_.primal, best, rtol=1e-7)
    assert model.certificate_.dual <= best * (1.0 + 1e-8)
    # the thresholds are those of the objective
    margins = np.where(y[:, None] > np.arange(3), 1.0, -1.0)
    margins *= (X @ model.coef_ + offset)[:, None] - model.thresholds_
    each = np.logaddexp(0.0, -margins) if loss == "logistic" else np.maximum(1.0 - margins, 0.0)
    value = weights / weights.sum() @ each.sum(axis=1) + 0.02 * model._get_penalty().value(
        model.coef_
    )
    assert_allclose(value, model.certificate_.primal, rtol=1e-9)
    sparse = OrdinalPD(0.02, loss=loss, penalty=penalty, groups=groups, tol=1e-8)
    sparse.fit(sp.csr_array(X), y, weights, offset)
    assert_allclose(sparse.certificate_.primal, best, rtol=1e-7)


@pytest.mark.parametrize("penalty", [L1(), SquaredL2(), GroupL2(2), L2Norm()], ids=str)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_rows_of_thresholds_are_an_ordinary_problem(penalty, n_classes, data):
    rng = np.random.RandomState(0)
    X, y, offset, weights = data
    weights[:20] = 0.0
    for table in (X, sp.csr_array(X)):
        loss = OrdinalLoss(np.minimum(y, n_classes - 1), weights, offset, Hinge())
        problem = ordered_problem(Design(table), loss, penalty, 0.02)
        rows = threshold_rows(problem)
        w = rng.normal(size=D)
        t = loss.best_thresholds(X @ w)
        value = primal_objective(rows, np.append(w, t[1:] - t[0]), -t[0])
        assert_allclose((n_classes - 1) * value, primal_objective(problem, w, 0.0))
        start = {"start": Point(w, 0.0, loss.loss_augmented(X @ w, 0.0)[1])}
        for given in ({}, start):
            found = solve(problem, tol=1e-9, max_iter=1000, random_state=rng, **given)
            assert found.method == "threshold-rows"
            assert found.certificate.relative_gap <= 1e-9
        planes = solve(problem, "cutting-planes", tol=1e-6, max_iter=1000, random_state=rng)
        assert_allclose(found.certificate.primal, planes.certificate.primal, rtol=1e-6)


def test_ctrl_c_keeps_the_model_of_the_rows_of_thresholds(rng, monkeypatch):
    X = rng.normal(size=(3000, 20))
    y = np.digitize(X[:, 0] + rng.logistic(size=3000), [-1.0, 0.0, 1.0])

    def take(steps, iterate, *arguments):
        taken.append(0)
        if len(taken) == 9:
            raise KeyboardInterrupt
        return whole(steps, iterate, *arguments)

    taken, whole = [], NewtonSteps.take
    monkeypatch.setattr(NewtonSteps, "take", take)
    model = OrdinalPD(0.02, loss="hinge", penalty="l1", tol=1e-9)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.coef_.any()
    assert 1e-9 < model.relative_gap_ < 1.0


def test_penalties_without_free_coefficients_take_cutting_planes(data):
    X, y, _, _ = data
    model = OrdinalPD(0.02, loss="hinge", penalty="linf", tol=1e-6).fit(X, y)
    assert model.solver_ == "cutting-planes"
    assert model.relative_gap_ <= 1e-6
    with pytest.raises(ValueError, match="loss='logistic' takes it"):
        OrdinalPD(loss="hinge", penalty="squared_groups", groups=2).fit(X, y)


@pytest.mark.filterwarnings("ignore:scipy.optimize. The `disp`:DeprecationWarning")  # by mord
def test_models_of_mord(data):
    mord = pytest.importorskip("mord")
    X, y, _, weights = data
    theirs = mord.LogisticAT(alpha=0.02 * weights.sum(), max_iter=100_000)
    theirs.fit(X, y, sample_weight=weights)
    ours = OrdinalPD(0.02, tol=1e-12).fit(X, y, weights)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    assert_allclose(ours.thresholds_, theirs.theta_, atol=1e-6)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)
    assert_array_equal(ours.predict(X), theirs.predict(X))


def test_predictions_by_words_and_offsets(data):
    X, y, offset, _ = data
    order = np.array(["poor", "fair", "good", "best"])
    words = order[y]
    model = OrdinalPD(0.01, classes=order).fit(X, words, offset=offset)
    assert_array_equal(model.order_, order)
    assert_array_equal(model.classes_, np.sort(order))
    assert_array_equal(model.coef_, OrdinalPD(0.01).fit(X, y, offset=offset).coef_)
    scores = X @ model.coef_ + offset
    expected = order[(scores[:, None] > model.thresholds_).sum(axis=1)]
    decisions = model.decision_function(X, offset)
    assert_array_equal(model.classes_[decisions.argmax(axis=1)], expected)
    assert_allclose(decisions[:, model.classes_ == "poor"][:, 0], model.thresholds_[0] - scores)
    assert_array_equal(model.predict(X, offset), expected)
    assert model.score(X, words, offset=offset) == np.mean(expected == words)
    probabilities = model.predict_proba(X, offset)
    assert_allclose(probabilities.sum(axis=1), 1.0)
    of_poor = 1.0 / (1.0 + np.exp(scores - model.thresholds_[0]))
    assert_allclose(probabilities[:, model.classes_ == "poor"][:, 0], of_poor, atol=1e-12)
    assert probabilities.min() >= 0.0
    two = OrdinalPD(0.01).fit(X, y > 1)
    assert two.thresholds_.shape == (1,)
    assert_allclose(two.decision_function(X), X @ two.coef_ - two.thresholds_)
    assert not hasattr(OrdinalPD(loss="hinge"), "predict_proba")
    with pytest.raises(ValueError, match="sample_weight and class_weight, got 3 of 4 classes"):
        OrdinalPD().fit(X, y, sample_weight=(y != 2) * 1.0)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_class_weights_are_sample_weights(loss, data):
    X, y, offset, weights = data
    order = np.array(["poor", "fair", "good", "best"])
    by_class = dict(zip(order.tolist(), [1.0, 0.5, 3.0, 2.0], strict=True))
    sums = np.bincount(y, weights)
    factors = {"balanced": sums.sum() / (4 * sums), "dict": np.array([1.0, 0.5, 3.0, 2.0])}
    for given, factor in (("balanced", factors["balanced"]), (by_class, factors["dict"])):
        model = OrdinalPD(0.02, loss=loss, classes=order, class_weight=given, tol=1e-9)
        model.fit(X, order[y], weights, offset)
        expected = OrdinalPD(0.02, loss=loss, tol=1e-9).fit(X, y, weights * factor[y], offset)
        assert_allclose(model.coef_, expected.coef_, rtol=1e-12)
        assert_allclose(model.certificate_.primal, expected.certificate_.primal, rtol=1e-12)
        found = certify(model, X, order[y], weights, offset=offset)
        assert_allclose(found.primal, model.certificate_.primal, rtol=1e-9)
    with pytest.raises(ValueError, match="sample_weight and class_weight, got 3 of 4 classes"):
        OrdinalPD(class_weight={2: 0.0}).fit(X, y)
    with pytest.raises(ValueError, match="'class_weight' parameter must hold finite weights"):
        OrdinalPD(class_weight={2: -1.0}).fit(X, y)


# Of so few alphas the best is often an end.
@pytest.mark.filterwarnings("ignore:.*end of the grid")
def test_rules_of_prediction(data):
    """The median and the mode have the least expected costs of absolute and of 0-1 errors."""
    X, y, offset, _ = data
    order = np.array(["poor", "fair", "good", "best"])
    model = OrdinalPD(0.01, classes=order).fit(X, order[y], offset=offset)
    distance = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    in_order = [np.flatnonzero(model.classes_ == each)[0] for each in order]
    probabilities = model.predict_proba(X, offset)[:, in_order]
    median = order[np.sum(np.cumsum(probabilities, axis=1) < 0.5, axis=1)]
    mode = order[probabilities.argmax(axis=1)]
    assert np.mean(median != mode) > 0.05
    skewed = np.where(distance.T > 0, distance, 0.0) * np.array([[1.0], [1.0], [5.0], [9.0]])
    expected = [
        order[min(range(4), key=lambda k: sum(row[j] * skewed[j, k] for j in range(4)))]
        for row in probabilities
    ]
    for rule, labels in (
        ("median", median), ("mode", mode), (distance, median), (1.0 - np.eye(4), mode),
        (skewed.tolist(), expected),
    ):  # fmt: skip
        model.set_params(decision=rule)
        assert_array_equal(model.predict(X, offset), labels)
        assert model.score(X, order[y], offset=offset) == np.mean(labels == order[y])
    of_folds = cross_val_predict(OrdinalPD(0.01), X, y, cv=3, method="predict_proba")
    found = cross_val_predict(OrdinalPD(0.01, decision="mode"), X, y, cv=3)
    assert_array_equal(found, of_folds.argmax(axis=1))
    path = PathCV(OrdinalPD(decision="mode"), alphas=[0.1, 0.01], cv=3).fit(X, y)
    best = OrdinalPD(path.alpha_, decision="mode").fit(X, y)
    assert_array_equal(path.predict(X), best.predict_proba(X).argmax(axis=1))


@pytest.mark.parametrize(
    "options, message",
    [
        ({"decision": "mean"}, "'decision' parameter of OrdinalPD must be a known name"),
        ({"decision": np.eye(3)}, r"of shape \(4, 4\), got \(3, 3\)"),
        ({"decision": [[0.0, 1.0, 2.0, np.nan]] * 4}, "Input decision contains NaN"),
        ({"decision": "mode", "loss": "hinge"}, "must be 'median' for loss='hinge', .* 'mode'"),
        ({"decision": np.eye(4), "loss": "hinge"}, "must be 'median' for loss='hinge'"),
    ],
)
def test_rules_that_are_refused(options, message, data):
    X, y, _, _ = data
    with pytest.raises(ValueError, match=message):
        OrdinalPD(**options).fit(X, y)


def test_the_order_of_words(data):
    X, y, _, _ = data
    order = ["poor", "fair", "good", "best"]
    words = np.array(order)[y]
    numbers = OrdinalPD(0.01).fit(X, y)
    given = pd.Series(pd.Categorical(words, order, ordered=True))
    ordered = OrdinalPD(0.01).fit(X, given)
    assert ordered.order_.tolist() == order
    assert_array_equal(ordered.coef_, numbers.coef_)
    # the certificate is one of the fitted order, also where the words come without one
    assert certify(ordered, X, words).relative_gap == certify(numbers, X, y).relative_gap <= 1e-4
    search = PathCV(OrdinalPD(), alphas=3, cv=3).fit(X, given)
    expected = PathCV(OrdinalPD(), alphas=3, cv=3).fit(X, y)
    assert search.best_score_ == expected.best_score_
    with pytest.warns(UserWarning, match="of the alphabet: best < fair < good < poor"):
        by_alphabet = OrdinalPD(0.01).fit(X, words)
    assert by_alphabet.order_.tolist() == sorted(order)
    with pytest.raises(ValueError, match="must hold every class of y, once and in order"):
        OrdinalPD(classes=order[1:]).fit(X, words)
    with pytest.raises(ValueError, match="must hold every class of y, once and in order"):
        OrdinalPD(classes=[*order, "poor"]).fit(X, words)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_every_scorer_takes_words_as_their_numbers(n_classes, data):
    """Scorers that work for words with another classifier give what they give for codes.

    The codes are the places of the words in the alphabet, so that one class is positive for both.
    """
    X, y, _, _ = data
    order = np.array(["poor", "fair", "good", "best"])[:n_classes]
    y = np.minimum(y, n_classes - 1)
    words = order[y]
    codes, code_order = (np.searchsorted(np.sort(order), each) for each in (words, order))
    by_words = OrdinalPD(0.01, classes=order).fit(X, words)
    by_codes = OrdinalPD(0.01, classes=code_order).fit(X, codes)
    assert_array_equal(by_words.coef_, OrdinalPD(0.01).fit(X, y).coef_)
    peer, compared = LogisticRegression().fit(X, words), 0
    for name in get_scorer_names():
        score = get_scorer(name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                is_for_words = np.isfinite(score(peer, X, words))
            except (ValueError, TypeError):
                is_for_words = False
            if is_for_words:
                found = score(by_words, X, words), score(by_codes, X, codes)
                assert_allclose(*found, rtol=1e-12, err_msg=name)
                compared += 1
    assert compared > 10
    options = {"cv": 3, "method": "predict_proba"}
    found = cross_val_predict(OrdinalPD(0.01, classes=order), X, words, **options)
    expected = cross_val_predict(OrdinalPD(0.01), X, y, **options)
    assert_allclose(found[:, np.argsort(np.argsort(order))], expected, atol=1e-12)
    grid = {"alpha": [1e-3, 1.0]}
    for scoring in ("neg_log_loss", "accuracy"):
        search = GridSearchCV(OrdinalPD(classes=order), grid, scoring=scoring, cv=3).fit(X, words)
        other = GridSearchCV(OrdinalPD(), grid, scoring=scoring, cv=3).fit(X, y)
        assert_allclose(
            search.cv_results_["mean_test_score"], other.cv_results_["mean_test_score"]
        )


def test_enums_of_polars_are_in_order(data):
    polars = pytest.importorskip("polars")
    X, y, _, _ = data
    order = ["poor", "fair", "good", "best"]
    words = polars.Series(np.array(order)[y]).cast(polars.Enum(order))
    model = OrdinalPD(0.01).fit(X, words)
    assert model.order_.tolist() == order
    assert_array_equal(model.coef_, OrdinalPD(0.01).fit(X, y).coef_)


# Some of the models that it fits are constant.
@pytest.mark.filterwarnings("ignore:.*all coefficients are 0")
def test_classes_that_offsets_separate_by_far():
    """The loss is 0 but for rounding with any thresholds between the scores."""
    X, offset = np.array([[1.1], [1.8], [-2.6]]), np.array([-0.1, 1001.0, 2001.4])
    model = OrdinalPD(0.01).fit(X, [0, 1, 1], offset=offset)
    assert model.converged_ and 0.0 <= model.certificate_.primal < 1e-11
    assert 1.0 < model.thresholds_[0] < 1000.0
    assert_array_equal(model.predict(X, offset), [0, 1, 1])


def test_weights_whose_sum_overflows(data):
    X, y, _, _ = data
    with pytest.raises(ValueError, match="must have a finite sum, got inf"):
        OrdinalPD().fit(X, y, np.full(len(y), 1e308))
