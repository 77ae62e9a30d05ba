"""Times of entry: against formulas, Newton's method, lifelines, statsmodels and brute force."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skpd import CoxPD, PathCV, certify, regularization_path
from skpd.models.survival.concordance_index import concordance
from skpd.models.survival.partial_likelihood import PartialLikelihood
from skpd.models.survival.targets import entries_times_and_events, times_and_events

N, D = 150, 3


def entering(rng, n=N, ties=True):
    """Features, times of entry and exit, and events; with ties all times are eighths."""
    X = rng.normal(size=(n, D))
    time = rng.exponential(np.exp(-0.8 * X[:, 0] + 0.4 * X[:, 1])) + 0.05
    entry = time * rng.random(n) * (rng.random(n) < 0.7)
    if ties:
        time, entry = np.ceil(8.0 * time) / 8.0, np.floor(8.0 * entry) / 8.0
    event = rng.random(n) < 0.6
    event[0] = True
    return X, entry, time, event


def subjects(rng, n=60):
    """Features that change in time: a data frame with a row for each interval of a subject."""
    rows = []
    for subject in range(n):
        X, stop = rng.normal(size=2), np.ceil(10.0 * rng.exponential()) + 2.0
        changes = np.unique(rng.integers(1, int(stop), rng.integers(0, 4)))
        ends = [0.0, *changes.astype(float), stop]
        for start, end in pairwise(ends):
            event = end == stop and rng.random() < 0.7
            rows.append((subject, start, end, event, *X, rng.normal(), subject % 2))
    return pd.DataFrame(rows, columns=["id", "start", "stop", "event", "a", "b", "c", "clinic"])


def derivatives_by_definition(X, y, weights, offset, strata, ties, w):
    """The loss, but for a constant, with gradient and Hessian, from a loop over the risk sets."""
    entry, time, event = y.T
    z, c = X @ w + offset, weights / weights.sum()
    value, gradient, hessian = 0.0, np.zeros(D), np.zeros((D, D))
    for k, t in set(zip(strata[event == 1], time[event == 1], strict=True)):
        at_risk = np.flatnonzero((strata == k) & (entry < t) & (t <= time))
        tied = (event[at_risk] == 1) & (time[at_risk] == t)
        n_terms = tied.sum() if ties == "efron" else 1
        rows, top = X[at_risk], z[at_risk].max()
        for j in range(n_terms):
            p = weights[at_risk] * np.exp(z[at_risk] - top) * (1.0 - tied * j / n_terms)
            share, size, p = c[at_risk][tied].sum() / n_terms, p.sum(), p / p.sum()
            value += share * (top + np.log(size))
            gradient += share * (p @ rows)
            hessian += share * ((rows.T * p) @ rows - np.outer(p @ rows, p @ rows))
        value -= c[at_risk][tied] @ z[at_risk][tied]
        gradient -= c[at_risk][tied] @ rows[tied]
    return value, gradient, hessian


def ridge_by_newton(alpha, *data):
    """The least loss plus alpha ||w||^2 / 2 and where it is, by damped Newton steps."""
    w = np.zeros(D)

    def objective(w):
        value, gradient, hessian = derivatives_by_definition(*data, w)
        ridge = alpha * w @ w / 2
        return value + ridge, gradient + alpha * w, hessian + alpha * np.eye(D)

    for _ in range(100):
        value, gradient, hessian = objective(w)
        if np.abs(gradient).max() < 1e-14:
            break
        step = np.linalg.solve(hessian, gradient)
        length = 1.0
        while objective(w - length * step)[0] > value and length > 1e-3:
            length /= 2.0
        w = w - length * step
    assert np.abs(objective(w)[1]).max() < 1e-12
    return objective(w)[0], w


# Some of the models that it fits are constant.
@pytest.mark.filterwarnings("ignore:.*all coefficients are 0")
@pytest.mark.parametrize("ties", ["efron", "breslow"])
def test_bounds_and_optima_of_newton(ties, rng):
    for trial in range(25):
        n = int(rng.integers(8, 30))
        X, entry, time, event = entering(rng, n, ties=trial % 3 > 0)
        y = np.column_stack([entry, time, event])
        weights = rng.uniform(0.2, 3.0, n) if trial % 2 else np.ones(n)
        offset = rng.normal(size=n) * (trial % 5 == 0)
        strata = rng.integers(0, 3, n) * (trial % 4 == 0)
        alpha = 10.0 ** rng.uniform(-4, -1)
        data = X, y, weights, offset, strata, ties
        best, w = ridge_by_newton(alpha, *data)
        # a number that depends on weights and events makes the loss at least 0
        loss = PartialLikelihood(time, event, weights, strata, efron=ties == "efron")
        best -= loss.constant
        model = CoxPD(alpha, penalty="l2", ties=ties, tol=1e-9)
        model.fit(X, y, weights, offset=offset, strata=strata)
        assert model.certificate_.dual <= best + 1e-14 * (1.0 + abs(best))
        assert_allclose(model.certificate_.primal, best, rtol=1e-8, atol=1e-11)
        distance = np.linalg.norm(model.coef_ - w)  # the objective is strongly convex
        assert alpha * distance**2 / 2 <= model.certificate_.gap + 1e-12 * (1.0 + best)
        gap = certify(model, X, y, weights, offset=offset, strata=strata).gap
        assert gap <= 1e-6 * (1.0 + best)


def test_coefficients_of_lifelines(rng):
    lifelines = pytest.importorskip("lifelines")
    X, entry, time, event = entering(rng)
    X /= X.std(axis=0, ddof=1)  # lifelines penalises features of standard deviation 1
    clinic, weights = rng.integers(0, 2, N), rng.integers(1, 4, N).astype(float)
    table = pd.DataFrame(X).assign(time=time, event=event, entry=entry, w=weights, clinic=clinic)
    theirs = lifelines.CoxPHFitter(penalizer=0.05)
    theirs.fit(
        table, "time", "event", entry_col="entry", weights_col="w", strata="clinic",
        fit_options={"precision": 1e-12},
    )  # fmt: skip
    y = np.column_stack([entry, time, event])
    alpha = 0.05 * N / weights.sum()
    ours = CoxPD(alpha, penalty="l2", tol=1e-12).fit(X, y, weights, strata=clinic)
    assert_allclose(ours.coef_, theirs.params_, atol=1e-6)


def test_coefficients_of_features_that_change(rng):
    """Those of lifelines; a row that is cut in two changes nothing."""
    lifelines = pytest.importorskip("lifelines")
    table = subjects(rng)
    features = ["a", "b", "c"]
    table[features] /= table[features].std()
    theirs = lifelines.CoxTimeVaryingFitter(penalizer=0.05)
    theirs.fit(
        table.drop(columns="clinic"), id_col="id", event_col="event", start_col="start",
        stop_col="stop", fit_options={"precision": 1e-12},
    )  # fmt: skip
    X, y = table[features], table[["start", "stop", "event"]]
    ours = CoxPD(0.05, penalty="l2", tol=1e-12).fit(X, y)
    assert_allclose(ours.coef_, theirs.params_, atol=1e-6)

    long = y["stop"] - y["start"] >= 2.0
    first = y[long].assign(stop=y["start"] + 1.0, event=False)
    rest = y.assign(start=y["start"] + long)
    X, y = pd.concat([X[long], X]), pd.concat([first, rest])
    alpha = 0.05 * len(table) / len(y)
    cut = CoxPD(alpha, penalty="l2", tol=1e-12).fit(X, y)
    assert_allclose(cut.coef_, ours.coef_, atol=1e-6)
    ((_, times, hazards),), ((_, other_times, other_hazards),) = ours.baseline_, cut.baseline_
    assert_array_equal(times, other_times)
    assert_allclose(hazards, other_hazards, rtol=1e-5)


@pytest.mark.parametrize("ties", ["efron", "breslow"])
def test_coefficients_of_statsmodels(ties, rng):
    """No entry is at the time of an event, at which statsmodels counts a row as at risk."""
    regression = pytest.importorskip("statsmodels.duration.hazard_regression")
    X, entry, time, event = entering(rng, 400)
    entry = np.maximum(entry - 0.01, 0.0)
    theirs = regression.PHReg(time, X, status=event, entry=entry, ties=ties).fit()
    y = np.column_stack([entry, time, event])
    ours = CoxPD(1e-8, penalty="l2", ties=ties, tol=1e-12).fit(X, y)
    assert_allclose(ours.coef_, theirs.params, atol=1e-6)


def test_baselines_and_curves_of_late_rows(rng):
    X, entry, time, event = entering(rng)
    model = CoxPD(0.01, ties="breslow", tol=1e-8).fit(X, np.column_stack([entry, time, event]))
    risk = np.exp(X @ model.coef_)
    ((_, at, hazard),) = model.baseline_
    steps = [event[time == t].sum() / risk[(entry < t) & (time >= t)].sum() for t in np.unique(at)]
    assert_allclose(hazard, np.cumsum(steps))
    curves = model.predict_survival_function(X[:4], at)
    assert_allclose(curves, np.exp(-np.outer(risk[:4], np.cumsum(steps))))


def test_formats_of_targets(rng):
    X, entry, time, event = entering(rng)
    y = np.column_stack([entry, time, event])
    model = CoxPD().fit(X, y)
    fields = np.rec.fromarrays([event, entry, time], names="event, start, stop")
    between = np.rec.fromarrays([entry, event, time], names="b, c, a")
    for given in (fields, between, pd.DataFrame(y), y.tolist()):
        assert_array_equal(CoxPD().fit(X, given).coef_, model.coef_)
        assert model.score(X, given) == model.score(X, y)
    early = np.column_stack([np.zeros(N), time, event])
    assert_array_equal(CoxPD().fit(X, early).coef_, CoxPD().fit(X, y[:, 1:]).coef_)
    assert model.score(X, early) == model.score(X, y[:, 1:])
    found = entries_times_and_events(early[:, 1:], N)
    assert found[0] is None
    for expected, times in zip(times_and_events(y[:, 1:], N), found[1:], strict=True):
        assert_array_equal(expected, times)


def test_targets_that_are_refused(rng):
    X, entry, time, event = entering(rng)
    seventh = np.arange(N) == 7
    for bad, message in (
        (np.nan, "NaN"), (np.inf, "infinity"),
        (99.0, f"less than the exits, got entry 99 and exit {time[7]:.6g}"),
    ):  # fmt: skip
        columns = np.where(seventh, bad, entry), time, event
        fields = np.rec.fromarrays(columns, names="start, stop, event")
        for given in (np.column_stack(columns), fields):
            with pytest.raises(ValueError, match=message):
                CoxPD().fit(X, given)
    with pytest.raises(ValueError, match="a field more for entries, in front of"):
        CoxPD().fit(X, np.rec.fromarrays([entry, entry, time, event], names="a, b, c, d"))
    with pytest.raises(ValueError, match="times and events alone here, got times of entry too"):
        times_and_events(np.column_stack([entry, time, event]), N)


def test_concordance_of_late_rows_by_definition(rng):
    for n in (3, 30, 700):
        for weights in (np.ones(n), rng.uniform(0.1, 2.0, n)):
            time = rng.integers(1, 20, n).astype(float)
            entry = np.minimum(np.floor(2.0 * time * rng.random(n)) / 2.0, time - 0.5)
            event, scores = rng.random(n) < 0.6, np.round(rng.normal(size=n), 1)
            strata = rng.integers(0, 2, n)
            later = (time[:, None] < time) | ((time[:, None] == time) & ~event)
            pairs = event[:, None] & later & (strata[:, None] == strata) & (entry < time[:, None])
            both = weights[:, None] * weights * pairs
            order = 0.5 * (1.0 + np.sign(scores[:, None] - scores))
            expected = np.sum(both * order) / np.sum(both) if pairs.any() else np.nan
            found = concordance(time, event, scores, weights, strata, entry)
            assert_allclose(found, expected, equal_nan=True)
    # the other sample enters at the only event, so that no pair remains
    none = np.array([1.0, 2.0]), np.array([True, False]), np.ones(2), np.array([0.3, 0.7])
    assert np.isnan(concordance(*none, np.zeros(2), np.array([0.0, 1.0])))


# Some of the models that it fits are constant.
# Of so few alphas the best is often an end.
@pytest.mark.filterwarnings("ignore:.*(all coefficients are 0|end of the grid)")
def test_searches_and_paths_of_rows_that_belong_together(rng):
    table = subjects(rng, 80)
    X, y, strata = table[["a", "b", "c"]], table[["start", "stop", "event"]], table["clinic"]
    cv, alphas = GroupKFold(3), [0.1, 0.01]
    search = PathCV(make_pipeline(StandardScaler(), CoxPD(tol=1e-8)), alphas=alphas, cv=cv)
    search.fit(X, y, groups=table["id"], strata=strata)
    for train, test in cv.split(X, y, table["id"]):
        assert not set(table["id"].iloc[train]) & set(table["id"].iloc[test])
        own = StandardScaler().fit(X.iloc[train])
        model = CoxPD(0.1, tol=1e-8)
        model.fit(own.transform(X.iloc[train]), y.iloc[train], strata=strata.iloc[train])
        rows = own.transform(X.iloc[test]), y.iloc[test]
        scores = [split[0] for k, split in sorted(search.cv_results_.items()) if "split" in k]
        assert model.score(*rows, strata=strata.iloc[test]) in scores
    curves = search.predict_survival_function(X[:5], [3.0, 8.0], strata=strata[:5])
    assert curves.shape == (5, 2)
    assert [label for label, _, _ in search.best_estimator_[-1].baseline_] == [0, 1]
    assert certify(search, X, y, strata=strata).relative_gap <= 1e-7
    (last,) = regularization_path(CoxPD(tol=1e-8), X, y, alphas=[0.01], strata=strata).models
    alone = CoxPD(0.01, tol=1e-8).fit(X, y, strata=strata)
    assert_allclose(last.coef_, alone.coef_, atol=1e-5)
    fields = np.rec.fromarrays([y["start"], y["stop"], y["event"]], names="a, b, c")
    options = {"cv": cv, "refit": False}
    results = [
        GridSearchCV(CoxPD(), {"alpha": alphas}, **options).fit(X, each, groups=table["id"])
        for each in (y, fields)
    ]
    means = [each.cv_results_["mean_test_score"] for each in results]
    assert_array_equal(*means)
    of_path = PathCV(CoxPD(), alphas=alphas, cv=cv).fit(X, y, groups=table["id"])
    assert_allclose(of_path.cv_results_["mean_test_score"], means[0])
