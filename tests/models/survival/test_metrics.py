"""Scores of survival models: against definitions, scikit-survival and statsmodels."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skpd import CoxPD, LogisticPD, PathCV
from skpd.metrics import (
    SurvivalScorer,
    brier_score,
    concordance_index,
    cumulative_dynamic_auc,
    partial_likelihood_deviance,
)

FIELDS = [("event", bool), ("time", float)]
SCORERS = [
    SurvivalScorer("deviance"),
    SurvivalScorer("deviance", grouped=False),
    SurvivalScorer("concordance", tau=1.0),
    SurvivalScorer("brier", times=[0.25, 0.5, 1.0]),
    SurvivalScorer("brier", times=0.5),
    SurvivalScorer("auc", times=[0.25, 0.5, 1.0]),
]


def survival(rng, n=150, ties=True):
    """Features, times and events, with about a third censored."""
    X = rng.normal(size=(n, 4))
    time, end = rng.exponential(np.exp(-X[:, 0] + 0.5 * X[:, 1])), rng.exponential(2.0, n)
    event, time = time <= end, np.minimum(time, end)
    y = np.zeros(n, dtype=FIELDS)
    y["event"], y["time"] = event, np.ceil(8.0 * time) / 8.0 if ties else time
    return X, y


def chance_of_no_censoring(y, at):
    """The product over the censored times, of which events at the same time come before."""
    chance = 1.0
    for t in np.unique(y["time"][~y["event"] & (y["time"] <= at)]):
        censored = np.sum((y["time"] == t) & ~y["event"])
        chance *= 1.0 - censored / (censored + np.sum(y["time"] > t))
    return chance


@pytest.fixture
def halves(rng):
    """Samples of a fit, others that end before them, their scores and probabilities, and times."""
    _, y = survival(rng, 300)
    train, test = y[:150], y[150:][y[150:]["time"] < y[:150]["time"].max()]
    scores = np.round(rng.normal(size=len(test)) - test["time"], 1)  # some are equal
    return train, test, scores, rng.random((len(test), 4)), np.array([0.25, 0.5, 0.625, 1.1])


def test_scores_by_definition(halves):
    train, test, scores, probabilities, times = halves
    time, event = test["time"], test["event"]
    columns = np.column_stack([time, event])  # instead of fields
    at_times = [chance_of_no_censoring(train, t) for t in times]
    own = np.array([chance_of_no_censoring(train, t) for t in time])
    before, after = event[:, None] & (time[:, None] <= times), time[:, None] > times
    errors = before * probabilities**2 / own[:, None] + after * (1 - probabilities) ** 2 / at_times
    expected = errors.mean(axis=0)
    found, integrated = brier_score(columns, probabilities, times, y_train=train)
    assert_allclose(found, expected)
    whole = np.sum(np.diff(times) * (expected[1:] + expected[:-1]) / 2.0) / (times[-1] - times[0])
    assert_allclose(integrated, whole)

    order = 0.5 * (1.0 + np.sign(scores[:, None] - scores))
    ordered = 0.5 * (1.0 + np.sign(probabilities[:, None] - probabilities))
    for at_all, given in ((np.stack([order] * 4, axis=2), scores), (ordered, probabilities)):
        areas, mean = cumulative_dynamic_auc(columns, given, times, y_train=train)
        for k in range(4):
            pairs = (before[:, k] / own)[:, None] * after[:, k]
            assert_allclose(areas[k], np.sum(pairs * at_all[:, :, k]) / np.sum(pairs))
        alive = np.cumprod([
            1.0 - np.sum(event & (time == t)) / np.sum(time >= t) for t in np.unique(time)
        ])  # fmt: skip
        alive = np.append(1.0, alive)[np.searchsorted(np.unique(time), times, side="right")]
        shares = np.append(1.0, alive[:-1]) - alive
        assert_allclose(mean, np.sum(shares * areas) / np.sum(shares))

    for tau in (1.0, np.inf):
        earlier = (time[:, None] < time) | ((time[:, None] == time) & ~event)
        earlier &= event[:, None] & (time[:, None] < tau)
        for y_train, weight in ((None, 1.0), (train, 1.0 / own[:, None] ** 2)):
            expected = np.sum(weight * earlier * order) / np.sum(weight * earlier)
            found = concordance_index(columns, scores, y_train=y_train, tau=tau)
            assert_allclose(found, expected)


def test_no_times_are_refused_as_by_scikit_survival(rng):
    metrics = pytest.importorskip("sksurv.metrics")
    _, y = survival(rng, 100, False)
    for score in (metrics.cumulative_dynamic_auc, metrics.brier_score):
        with pytest.raises(ValueError):
            score(y[:50], y[50:], np.zeros((50, 0)), [])
    with pytest.raises(ValueError, match="times must be finite numbers that increase"):
        cumulative_dynamic_auc(y[50:], np.zeros(50), [], y_train=y[:50])


def test_weights_are_repetitions(halves):
    _, y, scores, probabilities, times = halves
    times = times[:3]
    weights = np.arange(len(y)) % 3
    rows = np.repeat(np.arange(len(y)), weights)
    scores_and_mean = brier_score(y, probabilities[:, :3], times, sample_weight=weights)
    expected, mean = brier_score(y[rows], probabilities[rows, :3], times)
    assert_allclose(scores_and_mean[0], expected)
    assert_allclose(scores_and_mean[1], mean)
    found = cumulative_dynamic_auc(y, scores, times, sample_weight=weights)
    areas, mean = cumulative_dynamic_auc(y[rows], scores[rows], times)
    assert_allclose(found[0], areas)
    assert_allclose(found[1], mean)
    found = concordance_index(y, scores, sample_weight=weights)
    assert_allclose(found, concordance_index(y[rows], scores[rows]))
    found = partial_likelihood_deviance(y, scores, ties="breslow", sample_weight=weights)
    expected = partial_likelihood_deviance(y[rows], scores[rows], ties="breslow")
    assert_allclose(found, expected)


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("ties", ["efron", "breslow"])
def test_deviances_of_statsmodels(ties, late, rng):
    """The log likelihood of the saturated model is that of events at one time alone."""
    duration = pytest.importorskip("statsmodels.duration.hazard_regression")
    X, y = survival(rng)
    strata, coef = rng.integers(0, 2, len(y)), rng.normal(size=4)
    options = {"ties": ties, "strata": strata}
    entry = y["time"] * rng.random(len(y)) if late else None
    model = duration.PHReg(y["time"], X, status=y["event"], entry=entry, **options)
    _, tied = np.unique(strata[y["event"]] + 1j * y["time"][y["event"]], return_counts=True)
    terms = [np.arange(1, d + 1) if ties == "efron" else np.full(d, d) for d in tied]
    saturated = -np.sum(np.log(np.concatenate(terms)))
    expected = 2.0 * (saturated - model.loglike(coef))
    targets = np.column_stack([entry, y["time"], y["event"]]) if late else y
    found = partial_likelihood_deviance(targets, X @ coef, **options)
    assert_allclose(found, expected, rtol=1e-11)
    best = partial_likelihood_deviance(targets, 200.0 * (y["event"] - y["time"]), **options)
    assert_allclose(best, 0.0, atol=1e-7)  # scores of thousands are rounded


def deviance_of(model, X, y, **options):
    return partial_likelihood_deviance(y, X @ model.coef_, ties=model.ties, **options)


@pytest.mark.parametrize("ties", ["efron", "breslow"])
def test_grouped_deviances_choose_alpha(ties, rng):
    """In scikit-learn's search and in a path, with earlier steps in a pipeline."""
    X, y = survival(rng)
    folds, alphas = list(KFold(4, shuffle=True, random_state=0).split(X)), [0.1, 0.05, 0.01]
    expected = np.empty((3, 4, 2))
    for k, (train, test) in enumerate(folds):
        scaler = StandardScaler().fit(X[train])
        Z, both = scaler.transform(X), np.append(train, test)
        for a, alpha in enumerate(alphas):
            model = CoxPD(alpha, ties=ties, tol=1e-10).fit(Z[train], y[train])
            of_train = deviance_of(model, Z[train], y[train])
            expected[a, k, 0] = of_train - deviance_of(model, Z[both], y[both])
            expected[a, k, 1] = -deviance_of(model, Z[test], y[test])
    cox = CoxPD(ties=ties, tol=1e-10)
    for place, grouped in enumerate((True, False)):
        scorer = SurvivalScorer("deviance", grouped=grouped)
        pipeline, name = make_pipeline(StandardScaler(), cox), "coxpd__alpha"
        search = GridSearchCV(pipeline, {name: alphas}, cv=folds, scoring=scorer).fit(X, y)
        path = PathCV(pipeline, alphas=alphas, cv=folds, scoring=scorer).fit(X, y)
        for results in (search.cv_results_, path.cv_results_):
            found = np.stack([results[f"split{k}_test_score"] for k in range(4)], axis=1)
            assert_allclose(found, expected[..., place], rtol=1e-6)
        assert path.alpha_ == search.best_params_[name]
        assert_allclose(path.score(X, y), scorer(path.best_estimator_, X, y))


def test_weights_offsets_and_strata_reach_deviances(rng):
    X, y = survival(rng)
    strata, offset = np.where(rng.random(150) < 0.5, "a", "b"), rng.normal(size=150)
    weights = rng.uniform(0.5, 2.0, 150)
    of_rows = {"strata": strata, "offset": offset, "sample_weight": weights}
    search = PathCV(CoxPD(tol=1e-9), alphas=[0.05], cv=KFold(3), scoring=SCORERS[0])
    search.fit(X, y, **of_rows)
    for k, (train, test) in enumerate(KFold(3).split(X)):
        model = CoxPD(0.05, tol=1e-9)
        model.fit(X[train], y[train], **{name: each[train] for name, each in of_rows.items()})
        deviances = [
            partial_likelihood_deviance(
                y[rows], X[rows] @ model.coef_ + offset[rows], sample_weight=weights[rows],
                strata=strata[rows],
            ) for rows in (train, np.append(train, test))
        ]  # fmt: skip
        found = search.cv_results_[f"split{k}_test_score"][0]
        assert_allclose(found, deviances[0] - deviances[1], rtol=1e-6)


def test_deviances_of_samples_that_enter_late(rng):
    X, y = survival(rng)
    y = np.column_stack([y["time"] * rng.random(150), y["time"], y["event"]])
    model = CoxPD(0.05).fit(X[:100], y[:100])
    expected = deviance_of(model, X[:100], y[:100]) - deviance_of(model, X, y)
    assert_allclose(SurvivalScorer("deviance")(model, X[100:], y[100:]), expected)
    for scorer in SCORERS[2:]:
        with pytest.raises(ValueError, match="y must have times and events alone here"):
            scorer(model, X[100:], y[100:])


def test_scorers_take_the_samples_of_the_fit(rng):
    X, y = survival(rng, 240)
    train, test = np.arange(160), np.arange(160, 240)
    strata, times = rng.integers(0, 2, 240), [0.25, 0.5, 1.0]
    model = CoxPD(0.05).fit(X[train], y[train])
    curves = model.predict_survival_function(X[test], times)
    weight = rng.uniform(0.5, 2.0, 80)
    given = {"y_train": y[train], "sample_weight": weight}
    expected = [
        concordance_index(y[test], model.predict(X[test]), tau=1.0, **given),
        -brier_score(y[test], curves, times, **given)[1],
        -brier_score(y[test], curves[:, 1:2], 0.5, **given)[0].item(),
        cumulative_dynamic_auc(y[test], model.predict(X[test]), times, **given)[1],
    ]
    found = [score(model, X[test], y[test], sample_weight=weight) for score in SCORERS[2:]]
    assert_allclose(found, expected)
    with_none = CoxPD(0.05).fit(X[train], y[train], sample_weight=train < 80)
    without = CoxPD(0.05).fit(X[:80], y[:80])
    stratified = CoxPD(0.05).fit(X[train], y[train], strata=strata[train])
    curves = stratified.predict_survival_function(X[test], times, strata=strata[test])
    _, expected = cumulative_dynamic_auc(y[test], -curves, times, y_train=y[train])
    assert SCORERS[-1](stratified, X[test], y[test], strata=strata[test]) == expected
    for scorer in SCORERS:
        of_rows = X[test], y[test]
        assert_allclose(scorer(with_none, *of_rows), scorer(without, *of_rows), rtol=1e-6)
        again = pickle.loads(pickle.dumps(clone(scorer, safe=False)))
        assert again(model, *of_rows) == scorer(model, *of_rows)
        values = cross_val_score(CoxPD(0.05), X, y, cv=3, scoring=scorer)
        assert np.all(np.isfinite(values))
        with pytest.raises(ValueError, match="strata must be given"):
            scorer(stratified, *of_rows)


def test_requests_of_metadata(rng):
    X, y = survival(rng)
    strata = np.where(rng.random(150) < 0.5, "a", "b")
    with config_context(enable_metadata_routing=True):
        cox = CoxPD().set_fit_request(strata=True)
        for scorer in SCORERS:
            scorer = clone(scorer, safe=False).set_score_request(strata=True)
            grid = GridSearchCV(cox, {"alpha": [0.05]}, cv=KFold(3), scoring=scorer)
            path = PathCV(cox, alphas=[0.05], cv=KFold(3), scoring=scorer)
            found, expected = (
                search.fit(X, y, strata=strata).cv_results_["mean_test_score"]
                for search in (path, grid)
            )
            assert_allclose(found, expected, rtol=1e-3)


def test_what_is_refused(halves, rng):
    train, test, scores, probabilities, times = halves
    with pytest.raises(ValueError, match="ties must be 'efron' or 'breslow', got 'exact'"):
        partial_likelihood_deviance(test, scores, ties="exact")
    with pytest.raises(ValueError, match=r"y_score must have the shape \(\d+,\), got \(3,\)"):
        concordance_index(test, scores[:3])
    with pytest.raises(ValueError, match=r"y_prob must have the shape \(\d+, 4\), got"):
        brier_score(test, probabilities[:, :3], times)
    with pytest.raises(ValueError, match=r"y_score must have the shape \(\d+,\) or \(\d+, 4\)"):
        cumulative_dynamic_auc(test, probabilities[:, :3], times)
    with pytest.raises(ValueError, match="Input y_score contains NaN"):
        concordance_index(test, np.full(len(test), np.nan))
    for bad in ([1.0, 0.5], [[0.5, 1.0]], [np.nan], [1.0, 1.0], []):
        with pytest.raises(ValueError, match="times must be finite numbers that increase"):
            brier_score(test, probabilities[:, : len(bad)], bad)
        with pytest.raises(ValueError, match="times must be finite numbers that increase"):
            cumulative_dynamic_auc(test, scores, bad)
    with pytest.raises(ValueError, match=r"must be before the end of y_true, got 3\.5"):
        brier_score([[1.0, 1], [2.0, 0], [4.0, 0]], np.ones((3, 1)), 3.5, sample_weight=[1, 1, 0])
    for at in ([0.0], [1e3], [0.5, 1e3]):
        with pytest.raises(ValueError, match="times must be between the first event and the end"):
            cumulative_dynamic_auc(test, scores, at, y_train=np.append(train, late(1e4)))
    for end in (late(1.0), censored_at_1 := np.array([(False, 1.0)], dtype=FIELDS)):
        y_train = np.append(train[train["time"] < 1.0], end)
        with pytest.raises(ValueError, match="must be before the end of y_train, got 1"):
            brier_score(test, probabilities[:, :1], 1.1, y_train=y_train)
        with pytest.raises(ValueError, match=r"events before tau, must be before the end of y_t"):
            concordance_index(test, scores, y_train=y_train)
        concordance_index(test, scores, y_train=y_train, tau=1.0)
    with pytest.raises(ValueError, match="must be before the end of y_train, got 1"):
        brier_score(test, probabilities[:, :1], 1.0, y_train=censored_at_1)
    with pytest.raises(ValueError, match=r"metric must be one of .*, got 'r2'"):
        SurvivalScorer("r2")
    X, y = survival(rng)
    with pytest.raises(ValueError, match="times must be finite numbers that increase, got None"):
        SurvivalScorer("brier")(CoxPD().fit(X, y), X, y)
    whole, dropped = CoxPD().fit(X, y), CoxPD().fit(X, y).drop_dual_coef()
    assert len(pickle.dumps(dropped)) < len(pickle.dumps(whole)) - 150 * 4 * 8
    assert_array_equal(dropped.predict_quantile(X), whole.predict_quantile(X))
    for model in (dropped, CoxPD(), LogisticPD().fit(X, y["event"])):
        with pytest.raises(ValueError, match="estimator must end in a CoxPD with dual_coef_"):
            SCORERS[0](model, X, y)


def late(time):
    """One event."""
    return np.array([(True, time)], dtype=FIELDS)
