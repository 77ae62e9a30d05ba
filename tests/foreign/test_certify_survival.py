"""Certificates of the proportional hazards that other libraries fitted, against formulas."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skpd import CoxPD, certify
from skpd.penalties import SquaredL2, for_features

pd = pytest.importorskip("pandas")

N, D = 120, 3
FACTORS = np.array([1.0, 2.0, 4.0])


@pytest.fixture
def data(rng):
    """Features of different scales, times with ties, events, strata."""
    X = rng.normal(size=(N, D)) * [1.0, 3.0, 0.2] + 2.0
    time = np.ceil(8.0 * rng.exponential(np.exp(0.6 * X[:, 0] - 0.3 * X[:, 1])))
    return X, time, rng.random(N) < 0.7, rng.integers(0, 2, N)


def negative_log_likelihood(z, time, event, strata, efron, entry=-1.0):
    """The sum over the events of -z_i + log of the sum over all at risk of exp(z)."""
    total = -np.sum(z[event])
    for t, stratum in {(t, k) for t, k in zip(time[event], strata[event], strict=True)}:
        own = strata == stratum
        dead, at_risk = own & event & (time == t), own & (time >= t) & (entry < t)
        at_once = np.arange(np.sum(dead)) / np.sum(dead) if efron else np.zeros(np.sum(dead))
        sums = np.sum(np.exp(z[at_risk])) - at_once * np.sum(np.exp(z[dead]))
        total += np.sum(np.log(sums))
    return total


@pytest.mark.parametrize("stratified", [False, True])
@pytest.mark.parametrize("penalizer", [0.05, 0.05 * FACTORS], ids=["number", "array"])
def test_models_of_lifelines(stratified, penalizer, data):
    lifelines = pytest.importorskip("lifelines")
    X, time, event, strata = data
    table = pd.DataFrame(X, columns=["b", "a", "c"])
    full = table.assign(time=time, event=event)
    given = {"strata": strata} if stratified else {}
    full = full.assign(**given)
    model = lifelines.CoxPHFitter(penalizer=penalizer)
    model.fit(
        full, "time", "event", strata="strata" if stratified else None,
        fit_options={"precision": 1e-12},
    )  # fmt: skip
    y = np.column_stack([time, event])
    w, scales = model.params_.to_numpy(), X.std(axis=0, ddof=1)
    objective = negative_log_likelihood(X @ w, time, event, stratified * strata, True) / N
    objective += 0.5 * np.sum(penalizer * (scales * w) ** 2)
    found = certify(model, table, y, **given)
    assert_allclose(found.primal, objective, rtol=1e-12)
    assert found.relative_gap <= 1e-9
    with pytest.raises(ValueError, match=r"X must have the columns \['b', 'a', 'c'\], got \['a'"):
        certify(model, table[["a", "b", "c"]], y, **given)
    with pytest.raises(ValueError, match="strata must be given just where the model has some"):
        certify(model, table, y, strata=None if stratified else strata)


@pytest.mark.parametrize("name", ["CoxPHFitter", "CoxTimeVaryingFitter"])
def test_late_entries_of_lifelines(name, data, rng):
    lifelines = pytest.importorskip("lifelines")
    X, time, event, strata = data
    entry = np.floor(time * rng.random(N))
    full = pd.DataFrame(X, columns=["b", "a", "c"]).assign(
        entry=entry, time=time, event=event, strata=strata
    )
    model = getattr(lifelines, name)(penalizer=0.05)
    options = {"event_col": "event", "strata": ["strata"], "fit_options": {"precision": 1e-12}}
    if name == "CoxPHFitter":
        model.fit(full, "time", entry_col="entry", **options)
    else:
        model.fit(
            full.assign(id=np.arange(N)),
            id_col="id",
            start_col="entry",
            stop_col="time",
            **options,
        )
    w, table = model.params_.to_numpy(), full[["b", "a", "c"]]
    objective = negative_log_likelihood(X @ w, time, event, strata, True, entry) / N
    objective += 0.025 * np.sum((X.std(axis=0, ddof=1) * w) ** 2)
    found = certify(model, table, full[["entry", "time", "event"]], strata=strata)
    assert_allclose(found.primal, objective, rtol=1e-12)
    assert found.relative_gap <= 1e-9
    with pytest.raises(ValueError, match=f"{name} was fitted with them"):
        certify(model, table, full[["time", "event"]], strata=strata)


def test_weights_of_lifelines(data, rng):
    """By the optimum of CoxPD, for Efron's treatment of ties between unequal weights."""
    lifelines = pytest.importorskip("lifelines")
    X, time, event, _ = data
    weights = rng.integers(1, 5, N).astype(float)
    table = pd.DataFrame(X).assign(time=time, event=event, weights=weights)
    model = lifelines.CoxPHFitter(penalizer=0.1)
    model.fit(table, "time", "event", weights_col="weights", fit_options={"precision": 1e-12})
    y, scales = np.column_stack([time, event]), X.std(axis=0, ddof=1)
    best = CoxPD(0.1 * N / weights.sum(), penalty="l2", tol=1e-11).fit(X / scales, y, weights)
    found = certify(model, X, y, weights)
    assert found.relative_gap <= 1e-9
    assert_allclose(found.primal, best.certificate_.primal, rtol=1e-9)


@pytest.mark.parametrize("ties", ["efron", "breslow"])
@pytest.mark.parametrize("alpha", [5.0, 5.0 * FACTORS], ids=["number", "array"])
def test_ridge_of_scikit_survival(ties, alpha, data):
    sksurv = pytest.importorskip("sksurv.linear_model")
    X, time, event, _ = data
    y = np.rec.fromarrays([event, time], names="event, time")
    model = sksurv.CoxPHSurvivalAnalysis(alpha=alpha, ties=ties, tol=1e-13).fit(X, y)
    w = model.coef_
    objective = negative_log_likelihood(X @ w, time, event, np.zeros(N), ties == "efron")
    objective += 0.5 * np.sum(alpha * w**2)
    found = certify(model, X, y)
    assert_allclose(N * found.primal, objective, rtol=1e-12)
    assert found.relative_gap <= 1e-9
    penalty = for_features(SquaredL2(), np.broadcast_to(alpha, D))
    best = CoxPD(1.0 / N, penalty=penalty, ties=ties, tol=1e-11).fit(X, y).certificate_
    assert_allclose(found.primal, best.primal, rtol=1e-9)
    model.coef_ = 0.8 * w
    worse = certify(model, X, y)
    assert worse.dual <= best.primal < worse.primal


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("ratio", [0.3, 1.0])
def test_paths_of_scikit_survival(normalize, ratio, data):
    sksurv = pytest.importorskip("sksurv.linear_model")
    X, time, event, _ = data
    y = np.rec.fromarrays([event, time], names="event, time")
    model = sksurv.CoxnetSurvivalAnalysis(
        n_alphas=5, alpha_min_ratio=0.05, l1_ratio=ratio, penalty_factor=FACTORS,
        normalize=normalize, tol=1e-13,
    ).fit(X, y)  # fmt: skip
    norms = np.linalg.norm(X - X.mean(axis=0), axis=0) if normalize else 1.0
    factors = FACTORS / FACTORS.mean()
    found = certify(model, X, y, tol=1e-10)
    for certificate, alpha, w in zip(found, model.alphas_, model.coef_.T, strict=True):
        v = norms * w
        objective = negative_log_likelihood(X @ w, time, event, np.zeros(N), False) / N
        objective += alpha * np.sum(factors * (ratio * np.abs(v) + (1.0 - ratio) * v**2 / 2))
        assert_allclose(certificate.primal, objective, rtol=1e-12)
        assert certificate.relative_gap <= 1e-8
    assert len(found) == 5 and np.all(model.coef_[:2, -1])


def test_what_is_not_known(data):
    lifelines = pytest.importorskip("lifelines")
    X, time, event, _ = data
    table, y = pd.DataFrame(X).assign(time=time, event=event), np.column_stack([time, event])

    def fitted(fit=lifelines.CoxPHFitter.fit, **parameters):
        model = lifelines.CoxPHFitter(**parameters)
        return fit(model, table, "time", "event")

    splines = {"baseline_estimation_method": "spline", "n_baseline_knots": 2}
    for model, message in (
        (fitted(penalizer=0.1, l1_ratio=0.5), "l1_ratio=0.0 alone, got 0.5: it smooths l1 norms"),
        (fitted(**splines), "baseline_estimation_method='breslow' alone, got 'spline'"),
    ):
        with pytest.raises(ValueError, match=message):
            certify(model, X, y)
    with pytest.raises(TypeError, match=r"does not know what lifelines.*WeibullAFTFitter"):
        certify(lifelines.WeibullAFTFitter().fit(table, "time", "event"), X, y)
    with pytest.raises(TypeError, match=r"got lifelines.*CoxPHFitter, which has no params_"):
        certify(lifelines.CoxPHFitter(), X, y)
    late = np.column_stack([np.zeros(N), y])
    with pytest.raises(ValueError, match="y must have times of entry just where the model has"):
        certify(fitted(penalizer=0.1), X, late)
    sksurv = pytest.importorskip("sksurv.linear_model")
    y = np.rec.fromarrays([event, time], names="event, time")
    with pytest.raises(ValueError, match="CoxPHSurvivalAnalysis was fitted without them"):
        certify(sksurv.CoxPHSurvivalAnalysis(alpha=0.1).fit(X, y), X, late)
