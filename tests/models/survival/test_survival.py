"""Proportional hazards: against formulas, Clarabel, lifelines and scikit-survival."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import GridSearchCV

from benchmarks.helpers import cliff_data
from skpd import CoxPD, LogisticPD, PathCV, certify, coef_table, regularization_path
from skpd.models.survival.partial_likelihood import PartialLikelihood
from tests.oracles.reference import cox_programme

N, D = 150, 4


def censored(rng, n=N, d=D, ties=True, share=0.5):
    """Features, times and events, of which about a share is censored."""
    X = rng.normal(size=(n, d))
    time = rng.exponential(np.exp(-0.8 * X[:, 0] + 0.4 * X[:, 1]))
    end = np.quantile(time, 1.0 - share) * rng.uniform(0.5, 1.5, n) if share else np.inf
    event = time <= end
    event[np.argmin(np.minimum(time, end))] = True
    time = np.minimum(time, end)
    return X, np.ceil(8.0 * time) / 8.0 if ties else time, event


@pytest.mark.parametrize("penalty", ["l1", "group", "elasticnet", "l2"])
@pytest.mark.parametrize("ties", ["efron", "breslow"])
@pytest.mark.parametrize("share", [0.0, 0.5, 0.95])
def test_optima_of_clarabel(penalty, ties, share, rng):
    X, time, event = censored(rng, share=share, n=60)
    weights, offset = rng.uniform(0.5, 2.0, 60), 0.3 * rng.normal(size=60)
    strata = rng.integers(0, 2, 60)
    groups = 2 if penalty == "group" else None
    model = CoxPD(0.04, penalty=penalty, groups=groups, ties=ties, tol=1e-8)
    y = np.column_stack([time, event])
    model.fit(X, y, sample_weight=weights, offset=offset, strata=strata)
    loss = PartialLikelihood(time, event, weights, strata, offset, efron=ties == "efron")
    best = cox_programme(X, loss, model._get_penalty(), 0.04)
    assert_allclose(model.certificate_.primal, best, rtol=1e-7)
    assert model.certificate_.dual <= best * (1.0 + 1e-8)
    sparse = CoxPD(0.04, penalty=penalty, groups=groups, ties=ties, tol=1e-8)
    sparse.fit(sp.csr_array(X), y, sample_weight=weights, offset=offset, strata=strata)
    assert_allclose(sparse.certificate_.primal, best, rtol=1e-7)


def test_coefficients_and_curves_of_scikit_survival(rng):
    linear_model = pytest.importorskip("sksurv.linear_model")
    X, time, event = censored(rng)
    y = np.array(list(zip(event, time, strict=True)), dtype=[("event", bool), ("time", float)])
    theirs = linear_model.CoxPHSurvivalAnalysis(alpha=0.05 * N, ties="efron", tol=1e-12).fit(X, y)
    ours = CoxPD(0.05, penalty="l2", tol=1e-11).fit(X, y)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    X, time, event = censored(rng, ties=False)
    y = np.array(list(zip(event, time, strict=True)), dtype=[("event", bool), ("time", float)])
    theirs = linear_model.CoxPHSurvivalAnalysis(alpha=0.05 * N, tol=1e-12).fit(X, y)
    ours = CoxPD(0.05, penalty="l2", tol=1e-11).fit(X, y)
    times = np.quantile(time, [0.3, 0.6])
    curves = [f(times) for f in theirs.predict_survival_function(X[:5])]
    assert_allclose(ours.predict_survival_function(X[:5], times), curves, atol=1e-6)
    assert_allclose(ours.score(X, y), theirs.score(X, y))


def test_coefficients_of_lifelines(rng):
    lifelines = pytest.importorskip("lifelines")
    X, time, event = censored(rng)
    X /= X.std(axis=0, ddof=1)  # lifelines penalises features of standard deviation 1
    table = pd.DataFrame(X).assign(time=time, event=event)
    theirs = lifelines.CoxPHFitter(penalizer=0.05, l1_ratio=0.0)
    theirs.fit(table, "time", "event", fit_options={"precision": 1e-12})
    ours = CoxPD(0.05, penalty="l2", tol=1e-11).fit(X, np.column_stack([time, event]))
    assert_allclose(ours.coef_, theirs.params_, atol=1e-6)


def test_medians_of_lifelines_and_quantiles_of_curves(rng):
    lifelines = pytest.importorskip("lifelines")
    X, time, event = censored(rng, ties=False)  # where its baseline is Breslow's
    X /= X.std(axis=0, ddof=1)
    y, table = np.column_stack([time, event]), pd.DataFrame(X).assign(time=time, event=event)
    theirs = lifelines.CoxPHFitter(penalizer=0.05).fit(table, "time", "event")
    ours = CoxPD(0.05, penalty="l2", tol=1e-9).fit(X, y)
    found = ours.predict_quantile(X)
    assert 0 < np.isinf(found).sum() < N  # with half of the times censored
    assert_array_equal(found, theirs.predict_median(X))
    assert_array_equal(ours.predict_quantile(X, 0.2), theirs.predict_percentile(X, 0.8))
    strata, offset = rng.integers(0, 2, N), rng.normal(size=N)
    search = PathCV(CoxPD(), alphas=[0.02]).fit(X, y, strata=strata, offset=offset)
    found = search.predict_quantile(X, 0.3, strata=strata, offset=offset)
    times = np.unique(time[event])
    curves = search.predict_survival_function(X, times, strata=strata, offset=offset)
    first = np.argmax(curves <= 0.7, axis=1)
    assert_array_equal(found, np.where(curves.min(axis=1) <= 0.7, times[first], np.inf))
    with pytest.raises(ValueError, match="strata must be given"):
        search.predict_quantile(X)
    for quantile in (0.0, 1.0, np.nan):
        with pytest.raises(ValueError, match=rf"quantile must be in \(0, 1\), got {quantile}"):
            ours.predict_quantile(X, quantile)


def test_baselines_of_strata(rng):
    X, time, event = censored(rng)
    strata = np.where(rng.random(N) < 0.5, "north", "south")
    y = np.column_stack([time, event])
    model = CoxPD(0.01, ties="breslow", tol=1e-8).fit(X, y, strata=strata)
    risk = np.exp(X @ model.coef_)
    assert [label for label, _, _ in model.baseline_] == ["north", "south"]
    for label, at, hazard in model.baseline_:
        own = strata == label
        steps = [event[own & (time == t)].sum() / risk[own & (time >= t)].sum() for t in at]
        assert_allclose(hazard, np.cumsum(steps))
    found = model.predict_survival_function(X[:3], [0.0, 0.5, 9.0], strata=strata[:3])
    assert_array_equal(found[:, 0], 1.0)
    assert np.all(np.diff(found, axis=1) <= 0.0)
    times = np.unique(time[event])
    assert_array_equal(
        model.predict_survival_function(X, strata=strata),
        model.predict_survival_function(X, times, strata=strata),
    )
    with pytest.raises(ValueError, match="strata must be given"):
        model.predict_survival_function(X[:3], [0.5])
    with pytest.raises(ValueError, match="strata must hold one of"):
        model.predict_survival_function(X[:3], [0.5], strata=["north", "east", "south"])
    found = certify(model, X, y, strata=strata)
    assert_allclose(found.primal, model.certificate_.primal)
    assert found.relative_gap <= model.tol
    labels = r"strata must hold the labels \['north', 'south'\] of the fit, got "
    for other in (None, strata == "north", np.full(N, "north")):
        with pytest.raises(ValueError, match=labels):
            certify(model, X, y, strata=other)
    with pytest.raises(ValueError, match=r"labels \[0.0\] of the fit, got \['north', 'south'\]"):
        certify(CoxPD().fit(X, y), X, y, strata=strata)
    with pytest.raises(ValueError, match=r"strata must be None for skpd.*LogisticPD"):
        certify(LogisticPD().fit(X, event), X, event, strata=strata)


def test_strata_of_several_columns(rng):
    """As columns, a MultiIndex or tuples they are the strata of words for the same pairs."""
    X, time, event = censored(rng)
    y, weights = np.column_stack([time, event]), rng.uniform(0.5, 2.0, N)
    pairs = [("north" if far else "south", int(year)) for far, year in rng.integers(0, 2, (N, 2))]
    words = [f"{place} {year}" for place, year in pairs]
    expected = CoxPD(0.01).fit(X, y, strata=words)
    frame = pd.DataFrame(pairs, columns=["place", "year"])
    columns = [list(pair) for pair in pairs]
    objects = np.array(columns, dtype=object)
    for strata in (pairs, pd.MultiIndex.from_tuples(pairs), frame, objects, columns):
        model = CoxPD(0.01).fit(X, y, strata=strata)
        assert certify(model, X, y, strata=strata) == certify(expected, X, y, strata=words)
        (last,) = regularization_path(CoxPD(), X, y, alphas=[0.01], strata=strata).models
        assert_array_equal(last.coef_, model.coef_)
        assert_array_equal(model.coef_, expected.coef_)
        assert [label for label, _, _ in model.baseline_] == sorted(set(pairs))
        assert_array_equal(
            model.predict_survival_function(X, [0.2, 0.5], strata=strata),
            expected.predict_survival_function(X, [0.2, 0.5], strata=words),
        )
        score = model.score(X, y, weights, strata=strata)
        assert score == expected.score(X, y, weights, strata=words)
        assert score != model.score(X, y, weights)
        with pytest.raises(ValueError, match=r"strata must hold one of .*got \{\('east', 0\)\}"):
            model.predict_survival_function(X[:2], strata=[("east", 0), ("north", 1)])
    scores, others = (
        PathCV(CoxPD(), alphas=[0.01]).fit(X, y, strata=each).cv_results_["mean_test_score"]
        for each in (frame, words)
    )
    assert_array_equal(scores, others)
    of_one = CoxPD(0.01).fit(X, y, strata=frame[["place"]])
    assert [label for label, _, _ in of_one.baseline_] == ["north", "south"]
    numbers = np.array([[place == "north", year] for place, year in pairs], dtype=float)
    of_numbers = CoxPD(0.01).fit(X, y, strata=numbers)
    assert_array_equal(of_numbers.coef_, CoxPD(0.01).fit(X, y, strata=numbers @ [2, 1]).coef_)
    assert [label for label, _, _ in of_numbers.baseline_][:2] == [(0.0, 0.0), (0.0, 1.0)]
    with pytest.raises(ValueError, match=r"strata must have the shape \(150,\), got \(3,\)"):
        CoxPD().fit(X, y, strata=numbers[:3])
    for missing in (None, np.nan):
        with pytest.raises(ValueError, match="strata must have a label for each sample"):
            CoxPD().fit(X, y, strata=frame.astype(object).replace({"place": {"north": missing}}))
    with pytest.raises(ValueError, match="strata must have a label for each sample"):
        CoxPD().fit(X, y, strata=[("north", np.nan), *pairs[1:]])
    with pytest.raises(ValueError, match="strata must have a label for each sample"):
        expected.score(X, y, strata=[np.nan] * N)


# Of so few alphas the best is often an end.
@pytest.mark.filterwarnings("ignore:.*end of the grid")
def test_paths_searches_and_warm_starts(rng):
    X, time, event = censored(rng)
    y = np.column_stack([time, event])
    found = regularization_path(CoxPD(tol=1e-9), X, y, alphas=[0.1, 0.01])
    assert_allclose(found.coefs[1], CoxPD(0.01, tol=1e-9).fit(X, y).coef_, atol=1e-5)
    strata = np.where(rng.random(N) < 0.5, "north", "south")
    of_strata = regularization_path(CoxPD(tol=1e-9), X, y, alphas=[0.1, 0.01], strata=strata)
    for model, more in ((found.models[1], {}), (of_strata.models[1], {"strata": strata})):
        alone = CoxPD(0.01, tol=1e-9).fit(X, y, **more)
        assert [label for label, _, _ in model.baseline_] == sorted(set(more.get("strata", [0.0])))
        for own, expected in zip(model.baseline_, alone.baseline_, strict=True):
            assert_array_equal(own[1], expected[1])
            assert_allclose(own[2], expected[2], atol=1e-5)
        curves = model.predict_survival_function(X, **more)
        assert_allclose(curves, alone.predict_survival_function(X, **more), atol=1e-5)
    assert certify(found.models[1], X, y).relative_gap <= 1e-8
    search = PathCV(CoxPD(), alphas=[0.1, 0.01], cv=3).fit(X, y)
    grid = GridSearchCV(CoxPD(), {"alpha": [0.1, 0.01]}, cv=3).fit(X, y)
    assert_allclose(search.cv_results_["mean_test_score"], grid.cv_results_["mean_test_score"])
    model = CoxPD(0.01, warm_start=True).fit(X, y)
    assert model.fit(X, y).n_iter_ <= 1
    assert len(coef_table(model)) == D
    assert certify(model, X, y).relative_gap <= model.tol


def test_what_is_refused(rng):
    X, time, event = censored(rng)
    y = np.column_stack([time, event])
    with pytest.raises(ValueError, match="y must have an event"):
        CoxPD().fit(X, np.column_stack([time, np.zeros(N)]))
    with pytest.raises(ValueError, match="must be 0 or 1"):
        CoxPD().fit(X, np.column_stack([time, 2.0 * event]))
    entry = np.where(np.arange(N) == 7, time, 0.0)
    with pytest.raises(ValueError, match=rf"got entry {time[7]:.6g} and exit {time[7]:.6g}"):
        CoxPD().fit(X, np.column_stack([entry, time, event]))
    for shape, given in (("150, 4", np.column_stack([y, y])), ("150,", time)):
        with pytest.raises(ValueError, match=rf"entry, exit and event, got the shape \({shape}\)"):
            CoxPD().fit(X, given)
    for bad, message in ((np.nan, "NaN"), (np.inf, "infinity")):
        columns = np.column_stack([np.where(np.arange(N) == 7, bad, time), event])
        fields = np.zeros(N, dtype=[("event", bool), ("time", float)])
        fields["event"], fields["time"] = event, columns[:, 0]
        for given in (columns, fields):
            with pytest.raises(ValueError, match=message):
                CoxPD().fit(X, given)
            with pytest.raises(ValueError, match=message):
                CoxPD().fit(X, y).score(X, given)
    with pytest.raises(ValueError, match="y must have no masked values"):
        CoxPD().fit(X, np.ma.masked_equal(y, y[3, 0]))
    with pytest.raises(ValueError, match="two fields, bools for events"):
        CoxPD().fit(X, np.zeros(N, dtype=[("a", float), ("b", float)]))
    with pytest.raises(ValueError, match=r"strata must have the shape \(150,\)"):
        CoxPD().fit(X, y, strata=np.zeros(3))
    for missing in (None, np.nan):
        with pytest.raises(ValueError, match="strata must have a label for each sample"):
            CoxPD().fit(X, y, strata=np.array([missing, *["a"] * (N - 1)], dtype=object))
    with pytest.raises(ValueError, match="strata must have labels of one type"):
        CoxPD().fit(X, y, strata=np.array([1, *["a"] * (N - 1)], dtype=object))
    with pytest.raises(ValueError, match="of samples: 150 in X, 149 in y"):
        CoxPD().fit(X, y[1:])


# Some of the models that it fits are constant.
@pytest.mark.filterwarnings("ignore:.*all coefficients are 0")
@pytest.mark.parametrize("ties", ["breslow", "efron"])
@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_optima_where_derivatives_are_0(ties, penalty):
    """All events at the last time: Breslow's terms are log(6), Efron's log(6), ..., log(1)."""
    model = CoxPD(ties=ties, penalty=penalty).fit(np.arange(6.0)[:, None], np.ones((6, 2)))
    expected = np.log(6.0) if ties == "breslow" else np.mean(np.log(np.arange(1.0, 7.0)))
    assert model.converged_ and not model.coef_.any()
    assert_allclose([model.certificate_.dual, model.certificate_.primal], expected, rtol=1e-11)


# Some of the models that it fits are constant.
@pytest.mark.filterwarnings("ignore:.*all coefficients are 0")
@pytest.mark.parametrize("penalty", ["l1", "l2", "elasticnet"])
def test_risk_sets_of_one_row_say_nothing(penalty, rng):
    """Each stratum has one row: the likelihood is 1 for all coefficients."""
    X, time = rng.normal(size=(20, 3)), rng.exponential(size=20)
    y = np.column_stack([time, np.arange(20) % 3 > 0])
    options = {"strata": np.arange(20), "offset": 1e5 * rng.normal(size=20)}
    model = CoxPD(penalty=penalty, penalty_weights=[1.0, 2.0, 3.0]).fit(X, y, **options)
    assert model.converged_ and model.n_iter_ == 0 and not model.coef_.any()
    assert 0.0 <= model.certificate_.primal < 1e-13


def test_numbers_too_large_or_missing(rng):
    X, time = rng.normal(size=(20, 3)), rng.exponential(size=20)
    y = np.column_stack([time, np.ones(20)])
    model = CoxPD().fit(X, y)
    assert model.score(X, y, np.full(20, 1e200)) == model.score(X, y)
    with pytest.raises(ValueError, match="must have a finite sum, got inf"):
        CoxPD().fit(X, y, np.full(20, 1e308))
    with pytest.raises(ValueError, match="times must be numbers, got NaN"):
        model.predict_survival_function(X, times=[1.0, np.nan])


def test_directions_without_curvature_do_not_end_the_steps():
    """On a text with a small alpha few rows of large scores decide; damped steps go on."""
    X, by_target = cliff_data.targets("text", 0)
    model = CoxPD(alpha=6e-6).fit(X, by_target["times"])
    assert model.converged_ and model.solver_ == "multipliers" and model.n_iter_ <= 30


def test_negative_times_change_nothing_but_the_clock(rng):
    """A partial likelihood depends on the order of the times alone."""
    X = rng.normal(size=(120, 4))
    time, event = rng.exponential(np.exp(-X[:, 0])), rng.random(120) < 0.7
    model = CoxPD(alpha=0.02, tol=1e-9).fit(X, np.column_stack([time, event]))
    earlier = CoxPD(alpha=0.02, tol=1e-9).fit(X, np.column_stack([time - 2.0, event]))
    np.testing.assert_allclose(earlier.coef_, model.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        earlier.predict_survival_function(X[:3], times=[-1.5, -1.0]),
        model.predict_survival_function(X[:3], times=[0.5, 1.0]), rtol=1e-9,
    )  # fmt: skip
