"""Estimators for data of Dask: the same models as in memory, whatever becomes of workers."""

import inspect
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import (
    GammaRegressor,
    Lasso,
    LogisticRegression,
    PoissonRegressor,
    SGDClassifier,
    TweedieRegressor,
)
from sklearn.metrics import d2_tweedie_score
from sklearn.svm import LinearSVC

import skpd

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

import dask  # noqa: E402
import pandas as pd  # noqa: E402

import skpd.dask as skpd_dask  # noqa: E402
from tests.dask.chunks import CHUNKS, D, N, in_chunks, in_sparse_chunks  # noqa: E402
from tests.oracles.optima import linear_optimum  # noqa: E402


def test_a_constant_model_says_so_once(client, data):
    X, y, *_ = data
    with pytest.warns(UserWarning, match="That holds for any alpha of at least about") as caught:
        model = skpd_dask.LassoPDCertified(50.0).fit(in_chunks(X), in_chunks(y))
    assert not model.coef_.any()
    assert sum("coefficients are 0" in str(each.message) for each in caught) == 1


MODELS = [
    ("PdproxSVC", {"alpha": 0.01}),
    ("PdproxSVC", {"alpha": 0.01, "loss": "logistic", "class_weight": "balanced"}),
    ("PdproxSVC", {"alpha": 0.01, "penalty": "l2", "fit_intercept": False}),
    ("PdproxSVC", {"alpha": 0.01, "penalty_weights": [0, 1, 1, 1, 1, 1]}),
    ("GroupLassoSVC", {"alpha": 0.01, "groups": 2, "class_weight": {"no": 1.0, "yes": 3.0}}),
    ("ElasticNetPDClassifier", {"alpha": 0.01}),
    ("PdproxRegressor", {"alpha": 0.01}),
    ("PdproxRegressor", {"alpha": 0.01, "loss": "pinball", "quantile": 0.8}),
    ("LassoPDCertified", {"alpha": 0.1}),
    ("ElasticNetPD", {"alpha": 0.1}),
    ("ElasticNetPD", {"alpha": 0.1, "l1_radius": 0.5}),
    ("LogisticPD", {"alpha": 0.01, "penalty": "group", "groups": 2}),
]


@pytest.mark.parametrize("name, params", MODELS, ids=str)
@pytest.mark.parametrize("convert, far", [(in_chunks, 1000.0), (in_sparse_chunks, 0.0)])
def test_models_are_those_of_the_data_in_memory(client, data, name, params, far, convert):
    X, y, labels, weights = data
    X = X + far * params.get("fit_intercept", True)
    local = getattr(skpd, name)(**params, tol=1e-8)
    y = labels if hasattr(local, "decision_function") else y
    local.fit(X, y, sample_weight=weights)
    model = getattr(skpd_dask, name)(**params, tol=1e-8)
    model.fit(convert(X), in_chunks(y), sample_weight=in_chunks(weights))
    one, other = local.certificate_, model.certificate_
    assert model.converged_ and other.relative_gap <= 1e-8
    slack = 1e-12 * one.primal
    assert one.dual <= other.primal + slack and other.dual <= one.primal + slack
    assert_allclose(model.coef_, local.coef_, atol=1e-5)
    assert model.communication_.n_rounds > 0 and model.communication_.workers_lost == 0
    assert_array_equal(model.predict(in_chunks(X)).compute(), model.to_local().predict(X))
    assert_allclose(float(model.score(in_chunks(X), in_chunks(y))), local.score(X, y), atol=1e-6)
    found = model.to_local()
    assert type(found) is type(local)
    assert_allclose(found.dual_coef_.shape, local.dual_coef_.shape)
    assert clone(model).get_params() == model.get_params()


OF_MEANS = {
    "PoissonPD": (PoissonRegressor(alpha=0.1, tol=1e-10), {}),
    "GammaPD": (GammaRegressor(alpha=0.1, tol=1e-10), {}),
    "TweediePD": (TweedieRegressor(power=1.3, alpha=0.1, link="log", tol=1e-10), {"power": 1.3}),
}


@pytest.mark.parametrize("name", OF_MEANS)
def test_counts_and_costs_are_those_of_scikit_learn(client, data, name):
    X, y, _, weights = data
    y = 0.1 + np.exp(0.5 * y) if name == "GammaPD" else np.floor(np.exp(0.5 * y))
    theirs, params = OF_MEANS[name]
    theirs.fit(X, y, weights)
    given = in_chunks(X), in_chunks(y), in_chunks(weights)
    ours = getattr(skpd_dask, name)(alpha=0.1, penalty="l2", tol=1e-10, **params).fit(*given)
    # |w - w*|^2 <= 2 gap / alpha, as the penalty is half the squared norm
    slack = np.sqrt(2.0 * ours.certificate_.gap / 0.1) + 1e-6
    assert np.linalg.norm(ours.coef_ - theirs.coef_) <= slack
    means, predicted = ours.predict(given[0]).compute(), theirs.predict(X)
    assert_allclose(means, predicted, rtol=1e-4)
    expected = d2_tweedie_score(y, means, sample_weight=weights, power=ours._get_loss().power)
    assert_allclose(float(ours.score(*given)), expected, rtol=1e-12)
    assert skpd_dask.certify(theirs, *given, client=client).relative_gap <= 1e-6
    shift = np.cos(np.arange(N))
    ours.fit(*given, in_chunks(shift))
    local = ours.to_local()
    lazy = ours.score(*given, in_chunks(shift))
    assert_allclose(float(lazy), local.score(X, y, weights, shift), rtol=1e-12)
    assert_allclose(local.fit(X, y, weights, shift).coef_, ours.coef_, atol=1e-4)
    exposure = 1.0 + np.arange(N) % 3
    lazy = {"exposure": in_chunks(exposure), "offset": in_chunks(shift)}
    more = {"exposure": exposure, "offset": shift}
    ours.fit(*given, **lazy)
    assert_allclose(ours.coef_, local.fit(X, y, weights, **more).coef_, atol=1e-4)
    local = ours.to_local()
    for each in (lazy, more, {**lazy, "offset": pd.Series(shift)}):
        assert_allclose(ours.predict(given[0], **each).compute(), local.predict(X, **more))
        score = ours.score(*given[:2], **each)
        assert_allclose(float(score), local.score(X, y, **more), rtol=1e-12)
    only = ours.score(*given, exposure=lazy["exposure"])
    assert_allclose(float(only), local.score(X, y, weights, exposure=exposure), rtol=1e-12)
    assert_allclose(ours.predict(X, **more), local.predict(X, **more))
    assert_allclose(ours.score(X, y, **more), local.score(X, y, **more))
    residuals = ours.residuals(given[0], in_chunks(y), **lazy)
    assert_allclose(residuals, local.residuals(X, y, **more))
    total = in_chunks(shift + np.log(exposure))
    found = skpd_dask.certify(ours, *given, client=client, offset=total)
    assert found.relative_gap <= 1e-8
    with pytest.raises(RuntimeError, match="exposure must be greater than 0, got -1"):
        ours.fit(*given, exposure=in_chunks(exposure - 2.0))
    with pytest.raises(ValueError, match="exposure must be greater than 0, got -1"):
        ours.predict(given[0], exposure=in_chunks(exposure - 2.0)).compute()


def test_logistic_regression_is_that_of_scikit_learn(client, data):
    X, _, labels, weights = data
    theirs = LogisticRegression(C=1.0 / (0.05 * weights.sum()), tol=1e-10).fit(X, labels, weights)
    ours = skpd_dask.LogisticPD(alpha=0.05, penalty="l2", tol=1e-10)
    ours.fit(in_chunks(X), in_chunks(labels), in_chunks(weights))
    slack = np.sqrt(2.0 * ours.certificate_.gap / 0.05) + 1e-6
    assert np.linalg.norm(ours.coef_ - theirs.coef_) <= slack
    found = ours.predict_proba(in_chunks(X)).compute()
    assert_allclose(found, theirs.predict_proba(X), atol=1e-4)
    three = np.arange(N) % 3
    with pytest.raises(ValueError, match=r"LogisticPD takes 2 classes on Dask, got 3: fit Pd"):
        skpd_dask.LogisticPD().fit(in_chunks(X), in_chunks(three))
    ours.fit(X, three)
    assert_array_equal(ours.predict_proba(in_chunks(X)).compute(), ours.predict_proba(X))


# Some of the models that it fits are constant.
@pytest.mark.filterwarnings("ignore:.*all coefficients are 0")
@pytest.mark.parametrize("seed", range(3))
def test_below_the_optimum_of_a_linear_programme(client, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(N, 5)), rng.choice([-1.0, 1.0], N)
    ones, alpha = np.ones((N, 1)), 0.02
    rows = np.hstack([-y[:, None] * X, y[:, None] * X, -y[:, None] * ones, -np.eye(N)])
    cost = np.concatenate([np.full(10, alpha), [0.0], np.full(N, 1 / N)])
    signs = [(0, None)] * 10 + [(None, None)] + [(0, None)] * N
    best = linear_optimum(cost, rows, -np.ones(N), bounds=signs).fun
    model = skpd_dask.PdproxSVC(alpha, tol=1e-8).fit(in_chunks(X), in_chunks(y))
    assert model.certificate_.dual <= best * (1.0 + 1e-12)
    assert_allclose(model.certificate_.primal, best, rtol=1e-7)


def test_the_same_numbers_wherever_the_chunks_are(client, data):
    X, _, labels, _ = data
    workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
    fits = []
    for places in ([0, 0, 0, 0], [0, 1, 0, 1], [1, 1, 0, 0]):
        blocks = [
            client.scatter(block, workers=[workers[place]], hash=False)
            for block, place in zip(np.split(X, np.cumsum(CHUNKS)[:-1]), places, strict=True)
        ]
        given = da.concatenate([
            da.from_delayed(dask.delayed(block), (n, D), float)
            for block, n in zip(blocks, CHUNKS, strict=True)
        ])  # fmt: skip
        fits.append(skpd_dask.PdproxSVC(0.01).fit(given, in_chunks(labels)))
    for other in fits[1:]:
        assert_array_equal(other.coef_, fits[0].coef_)
        assert_array_equal(other.dual_coef_.compute(), fits[0].dual_coef_.compute())
        assert other.certificate_.dual == fits[0].certificate_.dual


@pytest.mark.filterwarnings("ignore:Dask currently has limited support")
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_dataframes_and_chunks_of_unknown_lengths(client, data):
    dd = pytest.importorskip("dask.dataframe")
    X, _, labels, _ = data
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(D)]).assign(label=labels, keep=X[:, 2])
    given = dd.from_pandas(table, npartitions=3)
    given = given[given.keep < 1.0]  # whose lengths are not known
    some = X[:, 2] < 1.0
    model = skpd_dask.PdproxSVC(0.01, loss="logistic", tol=1e-9)
    names = [f"x{j}" for j in range(D)]
    model.fit(given[names], given.label)
    local = skpd.PdproxSVC(0.01, loss="logistic", tol=1e-9).fit(X[some], labels[some])
    assert_allclose(model.coef_, local.coef_, atol=1e-8)
    assert_array_equal(model.feature_names_in_, names)
    assert_array_equal(model.predict(given[names]).compute(), local.predict(X[some]))
    probabilities = model.predict_proba(given[names]).compute()
    assert_allclose(probabilities, local.predict_proba(X[some]), atol=1e-8)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(given[names[::-1]])
    with pytest.raises(ValueError, match="X must hold numbers, got columns of the types"):
        model.fit(given[["x0", "label"]], given.label)


def test_weights_by_the_names_of_a_dataframe(client, data):
    dd = pytest.importorskip("dask.dataframe")
    X, y, *_ = data
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(D)]).assign(y=y)
    given = dd.from_pandas(frame, npartitions=3)
    model = skpd_dask.LassoPDCertified(0.1, penalty_weights={"x[01]": 0.0}, tol=1e-9)
    model.fit(given.drop(columns="y"), given.y)
    local = skpd.LassoPDCertified(0.1, penalty_weights=[0, 0, 1, 1, 1, 1], tol=1e-9).fit(X, y)
    assert_allclose(model.coef_, local.coef_, atol=1e-8)
    with pytest.raises(ValueError, match="X has none"):
        model.fit(in_chunks(X), in_chunks(y))
    with pytest.raises(ValueError, match="groups='auto' needs features that say"):
        skpd_dask.GroupLassoSVC(groups="auto").fit(in_chunks(X), in_chunks(y > 0.0))


def test_several_classes_paths_and_warm_starts(client, data):
    X, y, _, _ = data
    y, given = np.digitize(y, [-1.0, 1.0]), in_chunks(X)
    model = skpd_dask.PdproxSVC(0.01, loss="logistic", n_jobs=2, tol=1e-9, warm_start=True)
    model.fit(given, y)
    local = skpd.PdproxSVC(0.01, loss="logistic", tol=1e-9).fit(X, y)
    assert_allclose(model.coef_, local.coef_, atol=1e-8)
    scores = model.decision_function(given)
    assert scores.chunks == (CHUNKS, (3,))
    assert_allclose(scores.compute(), local.decision_function(X), atol=1e-8)
    first = model.n_iter_
    assert model.fit(given, y).n_iter_ < first
    along = [
        skpd.regularization_path(each, data_, np.where(y > 1, 1, 0), alphas=5)
        for each, data_ in (
            (skpd.PdproxSVC(loss="logistic", tol=1e-9), X),
            (skpd_dask.PdproxSVC(loss="logistic", tol=1e-9), given),
        )
    ]
    assert_allclose(along[1].coefs, along[0].coefs, atol=1e-7)


def test_certificates_of_other_models(client, data):
    X, y, labels, weights = data
    for model, target in (
        (Lasso(0.1), y), (LogisticRegression(C=0.1, class_weight="balanced"), labels),
        (LinearSVC(C=0.1, loss="hinge", intercept_scaling=3.0, max_iter=100_000), labels),
        (SGDClassifier(alpha=0.01, random_state=0), np.digitize(y, [-1.0, 1.0])),
        (skpd.PdproxSVC(0.01, loss="logistic"), labels),
    ):  # fmt: skip
        model.fit(X, target, sample_weight=weights)
        given = in_chunks(X), in_chunks(target), in_chunks(weights)
        rigorous = isinstance(model, (Lasso, skpd.PdproxSVC))
        ones = skpd.certify(model, X, target, weights, rigorous=rigorous)
        others = skpd_dask.certify(model, *given, rigorous=rigorous)
        for one, other in zip(np.ravel(ones), np.ravel(others), strict=True):
            assert_allclose(other.primal, one.primal, rtol=1e-10)
            assert_allclose(other.dual, one.dual, rtol=1e-6)

    class Foreign(BaseEstimator):  # such as a model of dask-ml or XGBoost
        coef_, intercept_ = np.full(D, 0.1), 0.5

        def fit(self):
            return self

    by_hand = {"loss": "logistic", "penalty": "l2", "alpha": 0.1, "fit_intercept": True}
    by_hand["tol"] = 1e-10
    one = skpd.certify(Foreign(), X, labels, **by_hand)
    other = skpd_dask.certify(Foreign(), in_chunks(X), in_chunks(labels), **by_hand)
    assert_allclose([other.primal, other.dual], [one.primal, one.dual], rtol=1e-9)


def test_certify_leaves_the_rows_of_a_classifier_with_the_workers(client, data, monkeypatch):
    X, _, labels, _ = data
    chunks = in_chunks(X), in_chunks(labels)
    local = skpd.PdproxSVC(0.01, tol=1e-8).fit(X, labels)
    model = skpd_dask.PdproxSVC(0.01, tol=1e-8).fit(*chunks)
    communication = model.communication_
    expected = skpd.certify(local, X, labels)
    with monkeypatch.context() as patch:
        patch.setattr(da.Array, "__array__", None)  # which makes an array of all rows
        for each in (local, model):
            found = skpd_dask.certify(each, *chunks)
            assert_allclose([found.primal, found.dual], [expected.primal] * 2, rtol=1e-6)
    assert model.communication_ is communication
    for each in (local, model):
        with pytest.raises(ValueError, match="y must hold the classes that PdproxSVC was fitted"):
            skpd_dask.certify(each, chunks[0], in_chunks(labels == "yes"))
    with pytest.raises(ValueError, match="y must hold the classes that PdproxSVC was fitted"):
        skpd.certify(model, X, labels == "yes")


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_columns_of_one_file_have_other_partitions(client, data, tmp_path):
    """Dask reads a column in fewer parts than many: they are counted, and y is cut like X."""
    dd = pytest.importorskip("dask.dataframe")
    pytest.importorskip("pyarrow")
    X, _, labels, weights = data
    X = np.tile(X, 5)
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(5 * D)])
    table = table.assign(label=np.where(labels == "yes", 1, 0), weight=weights)
    dd.from_pandas(table, npartitions=20).to_parquet(tmp_path)
    given = dd.read_parquet(tmp_path)
    some, label = given[list(table.columns[: 5 * D])], given.label
    assert label.to_dask_array().npartitions < some.to_dask_array().npartitions
    model = skpd_dask.PdproxSVC(0.01, penalty="l2", tol=1e-9)
    local = skpd.PdproxSVC(0.01, penalty="l2", tol=1e-9)
    model.fit(some, label, given.weight)
    local.fit(X, table.label, weights)
    assert_allclose(model.coef_, local.coef_, atol=1e-6)
    found = model.score(some, label, given.weight).compute()
    assert found == pytest.approx(local.score(X, table.label, weights))
    with pytest.raises(ValueError, match="one entry for each row of X, got 600 for"):
        model.fit(some[some.x0 > 0.0], label)


def test_the_name_of_a_task_says_which_model_it_applies():
    """Otherwise dask would give the predictions of a model for those of another."""
    X = np.random.default_rng(0).normal(size=(50, 3))
    models = [skpd.LassoPDCertified(0.1).fit(X, X[:, k]) for k in (0, 1)]
    assert dask.base.tokenize(models[0]) != dask.base.tokenize(models[1])


def test_offsets_of_chunks(client, data):
    X, y, label, weights = data
    offset = np.cos(np.arange(N))
    chunks = in_chunks(X), in_chunks(offset)
    local = skpd.PdproxRegressor(0.05, tol=1e-9).fit(X, y, weights, offset)
    model = skpd_dask.PdproxRegressor(0.05, tol=1e-9)
    model.fit(chunks[0], in_chunks(y), in_chunks(weights), chunks[1])
    assert_allclose(model.coef_, local.coef_, atol=1e-4)
    assert_allclose(model.predict(*chunks).compute(), model.to_local().predict(X, offset))
    score = model.score(chunks[0], in_chunks(y), offset=chunks[1]).compute()
    assert_allclose(score, model.to_local().score(X, y, offset=offset))
    local = skpd.PdproxSVC(0.05, loss="logistic", tol=1e-9).fit(X, label, weights, offset)
    model = skpd_dask.PdproxSVC(0.05, loss="logistic", tol=1e-9)
    model.fit(chunks[0], in_chunks(label), in_chunks(weights), chunks[1])
    assert_allclose(model.coef_, local.coef_, atol=1e-4)
    scores = model.decision_function(*chunks).compute()
    assert_allclose(scores, model.to_local().decision_function(X, offset))
    assert_array_equal(model.predict(*chunks).compute(), model.to_local().predict(X, offset))
    given = chunks[0], in_chunks(label), in_chunks(weights)
    found = skpd_dask.certify(model.to_local(), *given, client=client, offset=chunks[1])
    assert found.relative_gap <= 1e-8
    assert skpd_dask.certify(model, *given, client=client).relative_gap > 1e-3
    three = np.arange(N) % 3
    with pytest.raises(ValueError, match="offset takes two classes on Dask, got 3"):
        skpd_dask.PdproxSVC().fit(chunks[0], in_chunks(three), offset=chunks[1])
    with pytest.raises(ValueError, match="offset must hold a finite number for each row"):
        skpd_dask.PdproxSVC().fit(
            chunks[0], in_chunks(label), offset=in_chunks(np.full(N, np.inf))
        )


# Data in memory, which need no client


@pytest.mark.parametrize("name", skpd_dask.models.__all__)
def test_estimators_document_what_the_others_lack(name):
    local, remote = getattr(skpd, name), getattr(skpd_dask, name)
    others = set(inspect.signature(remote).parameters) - set(inspect.signature(local).parameters)
    entries = inspect.getdoc(remote).split("Parameters\n")[1].split("Attributes\n")[0]
    assert set(re.findall(r"(?m)^(\w+) :", entries)) == others == {"client"}
    assert f"`skpd.{name}`" in inspect.getdoc(remote)
