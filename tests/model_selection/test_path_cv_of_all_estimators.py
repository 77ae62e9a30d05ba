"""What PathCV hands to the fits, scores and predictions of all estimators that have paths."""

import inspect
from functools import wraps

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skpd
from skpd import (
    CoxPD,
    DRSVMClassifier,
    ElasticNetPD,
    ElasticNetPDClassifier,
    GammaPD,
    GroupLassoPD,
    GroupLassoSVC,
    LassoPDCertified,
    LogisticPD,
    MetricSVC,
    MultinomialPD,
    MultiTaskPD,
    OrdinalPD,
    PathCV,
    PdproxRegressor,
    PdproxSVC,
    PoissonPD,
    QuantilePD,
    TraceNormPD,
    TweediePD,
)

# A constant model is as good as another for what is tested here; grids of two or three alphas are
# fast, and their best is often an end.
pytestmark = pytest.mark.filterwarnings("ignore:.*(all coefficients are 0|end of the grid)")


def survival(rng, n=120):
    """Features, and times with events, of which the fields are those of scikit-survival."""
    X, time = rng.normal(size=(n, 3)), rng.exponential(size=n)
    y = np.zeros(n, dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = rng.random(n) < 0.7, time * np.exp(-X[:, 0])
    return X, y


# the estimators whose models make a path, and the targets that they take
WITH_PATHS = [
    (CoxPD(), survival), (OrdinalPD(), "labels"), (PoissonPD(), "counts"),
    (GammaPD(), "costs"), (TweediePD(), "costs"), (QuantilePD(), "numbers"),
    (LassoPDCertified(), "numbers"), (ElasticNetPD(), "numbers"),
    (GroupLassoPD(groups=1), "numbers"), (PdproxRegressor(), "numbers"),
    (MultiTaskPD(), "outputs"), (PdproxSVC(), "labels"), (TraceNormPD(radius=None), "outputs"),
    (LogisticPD(), "signs"), (ElasticNetPDClassifier(), "labels"),
    (GroupLassoSVC(groups=1), "labels"), (MultinomialPD(), "labels"),
    (DRSVMClassifier(), "labels"), (MetricSVC(), "signs"),
]  # fmt: skip


def data_of(kind, rng, n=60):
    if kind is survival:
        return survival(rng, n)
    X = rng.normal(size=(n, 3))
    z = X[:, 0] + 0.5 * rng.normal(size=n)
    targets = {
        "numbers": z, "outputs": np.column_stack([z, -z]), "counts": rng.poisson(np.exp(z)),
        "costs": rng.gamma(2.0, np.exp(z)), "labels": np.digitize(z, [-0.5, 0.5]),
        "signs": np.where(z > 0.0, 1, -1),
    }  # fmt: skip
    return X, targets[kind]


def test_all_estimators_with_paths_are_known():
    """Those of the list, and those that need other data or say that they have no path."""
    others = {
        "BlockScaler", "ChainCRF", "ChainM3N", "ElasticNetPDCV", "KernelPdproxRegressor",
        "KernelPdproxSVC", "LPBoostClassifier", "LassoPDCertifiedCV", "MKLClassifier",
        "MKLRegressor", "MatrixCompletionPD", "MultiTaskPDCV", "PathCV",
    }  # fmt: skip
    fitted = {name for name in skpd.__all__ if hasattr(getattr(skpd, name), "fit")}
    assert fitted - others == {type(estimator).__name__ for estimator, _ in WITH_PATHS}


@pytest.mark.parametrize(("inside", "n_jobs"), [(False, 1), (True, 2)])
@pytest.mark.parametrize(("estimator", "kind"), WITH_PATHS, ids=lambda x: type(x).__name__)
def test_all_that_fit_takes_arrives_by_folds(estimator, kind, inside, n_jobs, rng, monkeypatch):
    X, y = data_of(kind, rng)
    table = {
        "sample_weight": rng.random(60), "offset": rng.normal(size=60), "check_input": False,
        "strata": rng.integers(2, size=60), "exposure": rng.uniform(0.1, 2.0, 60),
    }  # fmt: skip
    names = set(inspect.signature(estimator.fit).parameters) - {"X", "y"}
    given = {name: table[name] for name in names}
    if isinstance(estimator, PdproxSVC | GroupLassoSVC | ElasticNetPDClassifier):
        given["offset"] = rng.normal(size=(60, 3))  # one for each class against the others
    model = make_pipeline(StandardScaler(), estimator) if inside else estimator
    search = PathCV(model, alphas=[0.5, 0.4], cv=KFold(3), n_jobs=n_jobs)
    if names and not estimator._takes_offset:
        with pytest.raises(ValueError, match=f"{type(estimator).__name__} takes no offset"):
            search.fit(X, y, **given)
        del given["offset"]
    seen = {"_problems": [], "fit": []}

    def spy(name):
        method = getattr(type(estimator), name)

        @wraps(method)
        def seeing(*positional, **named):
            bound = inspect.signature(method).bind(*positional, **named)
            seen[name].append(bound.arguments)
            return method(*positional, **named)

        monkeypatch.setattr(type(estimator), name, seeing)

    spy("_problems")
    spy("fit")
    search.fit(X, y, **given)
    folds, arrived = [train for train, _ in KFold(3).split(X)], seen["_problems"][:4] + seen["fit"]
    if n_jobs == 2:  # in the order of the threads
        arrived[1:-1] = sorted(arrived[1:-1], key=lambda each: key_of_fold(each, given, folds))
    of_rows = {name: value for name, value in given.items() if name != "check_input"}
    of_problems = dict(of_rows)
    if "exposure" in of_problems:  # it is a part of the offsets from there on
        of_problems["offset"] = np.log(of_problems.pop("exposure")) + of_problems["offset"]
    expected, parts = [of_problems] * 4 + [of_rows], [slice(None), *folds, slice(None)]
    for rows, found, metadata in zip(parts, arrived, expected, strict=True):
        for name, values in metadata.items():
            assert_array_equal(found[name], values[rows])
    assert arrived[-1].get("check_input") == given.get("check_input")  # which is for fits alone


def key_of_fold(found, given, folds):
    """The number of the fold whose weights were seen; any for estimators without weights."""
    weights = given.get("sample_weight")
    if weights is None:
        return 0
    return [np.array_equal(found["sample_weight"], weights[train]) for train in folds].index(True)


@pytest.mark.filterwarnings("ignore:.*has groups=None")
@pytest.mark.parametrize(("estimator", "kind"), WITH_PATHS, ids=lambda x: type(x).__name__)
def test_every_method_that_predicts_is_within_reach(estimator, kind, rng):
    X, y = data_of(kind, rng)
    model = make_pipeline(StandardScaler(), estimator)
    search = PathCV(model, alphas=[0.1, 0.01], cv=KFold(3))
    methods = [
        name for name in dir(estimator)
        if hasattr(estimator, name)
        and (name.startswith("predict") or name in ("decision_function", "regressor"))
    ]  # fmt: skip
    assert "predict" in methods
    with pytest.raises(NotFittedError):
        search.predict(X)
    search.fit(X, y)
    steps, last = search.best_estimator_[:-1], search.best_estimator_[-1]
    for name in set(methods) - {"regressor"}:
        expected = getattr(last, name)(steps.transform(X))
        assert_array_equal(getattr(search, name)(X), expected)
    own = set(dir(PathCV)) - set(dir(PathCV.__mro__[-2]))
    predicting = {name for name in own if name.startswith("predict")}
    assert {name for name in predicting if hasattr(search, name)} == predicting & set(methods)


def test_regressors_of_quantiles_and_predictions_with_offsets(rng):
    X, y = data_of("numbers", rng)
    search = PathCV(QuantilePD((0.1, 0.9)), alphas=[0.1, 0.01], cv=3).fit(X, y)
    assert_allclose(search.regressor(0.9).predict(X), search.predict(X)[:, 1])
    model = make_pipeline(StandardScaler(), QuantilePD((0.1, 0.9)))
    search = PathCV(model, alphas=[0.1, 0.01], cv=3).fit(X, y)
    assert_allclose(search.regressor(0.9).predict(X), search.predict(X)[:, 1])
    assert not hasattr(PathCV(LassoPDCertified()), "regressor")
    labels, offset = (y > 0).astype(int), rng.normal(size=60)
    search = PathCV(make_pipeline(StandardScaler(), LogisticPD()), alphas=[0.1], cv=3)
    search.fit(X, labels, offset=offset)
    found = search.decision_function(X, offset=offset)
    assert_allclose(found, search.decision_function(X) + offset)
    odds = search.predict_proba(X, offset=offset)
    assert_allclose(np.log(odds[:, 1] / odds[:, 0]), found, rtol=1e-9)


@pytest.mark.filterwarnings("ignore:.*is scored without")
def test_offsets_that_are_not_requested_for_scores(rng):
    """By metadata routing as in a grid search, whose scores have them only where asked for."""
    X, y, offset = rng.normal(size=(60, 3)), rng.poisson(2.0, size=60), rng.normal(size=60)
    with config_context(enable_metadata_routing=True):
        scores = []
        for asked in (True, False):
            model = (
                PoissonPD(tol=1e-9).set_fit_request(offset=True).set_score_request(offset=asked)
            )
            ours = PathCV(model, alphas=[0.1, 0.01], cv=3).fit(X, y, offset=offset)
            theirs = GridSearchCV(model, {"alpha": [0.1, 0.01]}, cv=3).fit(X, y, offset=offset)
            scores.append(ours.cv_results_["mean_test_score"])
            assert_allclose(scores[-1], theirs.cv_results_["mean_test_score"], atol=1e-6)
    assert not np.allclose(*scores)
