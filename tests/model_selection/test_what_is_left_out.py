"""Pipelines that resample, folds without a score, and random numbers that nobody asked for."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state

from skpd import (
    CoxPD,
    LassoPDCertified,
    LogisticPD,
    MetricSVC,
    OrdinalPD,
    PathCV,
    PdproxSVC,
    certify,
    regularization_path,
)
from skpd.metrics import SurvivalScorer


def classes(n=200):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] + rng.normal(size=n) > 1.3).astype(int)


def test_pipelines_that_resample():
    """What takes the data apart from the fit refuses them; a grid search fits them as a whole."""
    make_pipeline = pytest.importorskip("imblearn.pipeline").make_pipeline
    sampler = pytest.importorskip("imblearn.over_sampling").RandomOverSampler(random_state=0)
    X, y = classes()
    pipeline = make_pipeline(StandardScaler(), sampler, LogisticPD())
    message = "its step 'randomoversampler' resamples: "
    for call in (
        lambda: regularization_path(pipeline, X, y, alphas=[0.1, 0.01]),
        lambda: PathCV(pipeline, alphas=3).fit(X, y),
    ):
        with pytest.raises(ValueError, match=f"{message}.*GridSearchCV"):
            call()
    with pytest.raises(ValueError, match=message):
        certify(pipeline.fit(X, y), X, y)
    search = GridSearchCV(pipeline, {"logisticpd__alpha": [0.1, 0.01]}).fit(X, y)
    scaled, model = StandardScaler().fit_transform(X), search.best_estimator_[-1]
    alone = LogisticPD(alpha=model.alpha).fit(*sampler.fit_resample(scaled, y))
    assert_allclose(model.coef_, alone.coef_)


def test_folds_without_comparable_pairs():
    """Their scores are nan; the choice is that of the other folds."""
    rng = np.random.default_rng(0)
    X, time, event = rng.normal(size=(60, 3)), rng.exponential(size=60), np.zeros(60)
    event[[40, 41, 56, 57, 58]] = 1.0  # in the last two folds of five
    y = np.column_stack([time, event])
    model = PathCV(CoxPD(), cv=KFold(5))
    with pytest.warns(UserWarning, match=r"leaves out 3 of 5 folds.*deviance"):
        model.fit(X, y)
    scores = np.mean([model.cv_results_[f"split{k}_test_score"] for k in (3, 4)], axis=0)
    assert_allclose(model.cv_results_["mean_test_score"], scores)
    assert model.best_score_ == scores.max()
    assert np.isnan(model.cv_results_["split0_test_score"]).all()
    model.set_params(scoring=SurvivalScorer("deviance")).fit(X, y)
    assert np.isfinite(model.cv_results_["mean_test_score"]).all()


# Some of the models that it fits are constant.
@pytest.mark.filterwarnings("ignore:.*all coefficients are 0")
@pytest.mark.parametrize(
    "estimator", [PdproxSVC(), LassoPDCertified(0.1), LogisticPD(), PathCV(PdproxSVC(), alphas=3)]
)
def test_the_global_generator_is_left_alone(estimator):
    X, y = classes()
    _, before, place, *_ = check_random_state(None).get_state()
    estimator.fit(X, y)
    _, after, there, *_ = check_random_state(None).get_state()
    assert np.array_equal(before, after) and place == there


@pytest.mark.parametrize("k", [0.0, 1.5, "x", True])
def test_shares_of_metric_svc(k):
    X, y = classes()
    with pytest.raises(ValueError, match="k' parameter of MetricSVC"):
        MetricSVC(metric="precision_at_k", k=k).fit(X, y)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_decision_values_of_orders_lead_to_predictions(loss, n_classes):
    """Under each rule of decision the largest score is that of the predicted class."""
    X, _ = classes()
    z = X[:, 0] + np.random.default_rng(1).logistic(size=len(X))
    y = np.digitize(z, np.quantile(z, np.arange(1, n_classes) / n_classes))
    costs = np.abs(np.subtract.outer(np.arange(n_classes), np.arange(n_classes))) ** 2.0
    costs[0, 1] *= 9.0
    rules = ["median"] if loss == "hinge" else ["median", "mode", costs]
    for rule in rules:
        model = OrdinalPD(0.01, loss=loss, decision=rule).fit(X, y)
        scores = model.decision_function(X)
        if n_classes == 2:
            assert scores.shape == (len(X),)
            chosen = (scores > 0.0).astype(int)
        else:
            chosen = np.argmax(scores, axis=1)
        assert np.array_equal(model.classes_[chosen], model.predict(X))
