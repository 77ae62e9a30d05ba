"""What estimators say of parameters that they do not have, and of values that they refuse."""

import inspect
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC, SVR
from sklearn.utils._param_validation import InvalidParameterError

from skpd import (
    ChainCRF,
    CoxPD,
    DRSVMClassifier,
    ElasticNetPD,
    ElasticNetPDCV,
    GroupLassoPD,
    KernelPdproxRegressor,
    KernelPdproxSVC,
    LassoPDCertified,
    LogisticPD,
    LPBoostClassifier,
    MetricSVC,
    MKLClassifier,
    MultinomialPD,
    MultiTaskPD,
    PathCV,
    PdproxRegressor,
    PdproxSVC,
    PoissonPD,
    QuantilePD,
    regularization_path,
)
from skpd.losses import Hinge, Huber
from skpd.penalties import L1

N = 30
LAMBDA = "pass alpha={0} if the losses are averaged there, alpha={0} / n_samples if summed."


@pytest.fixture(scope="module")
def classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    return X, np.where(X[:, 0] + rng.normal(size=N) > 0.0, 1, -1)


@pytest.mark.parametrize(
    "kind, name, message",
    [
        (PdproxSVC, "C", "pass alpha=1 / (C * n_samples)."),
        (KernelPdproxSVC, "C", "pass alpha=1 / (C * n_samples)."),
        (MetricSVC, "C", "choose alpha by cross-validation, as no formula gives it from C."),
        (PdproxSVC, "nu", "choose alpha by cross-validation, as no formula gives it from nu."),
        (PdproxRegressor, "lambda", LAMBDA.format("lambda")),
        (PdproxRegressor, "lambda_", LAMBDA.format("lambda_")),
        (ElasticNetPD, "reg_param", LAMBDA.format("reg_param")),
        (PdproxRegressor, "reg_alpha", LAMBDA.format("reg_alpha")),
        (CoxPD, "penalizer", LAMBDA.format("penalizer")),
        (LassoPDCertified, "l1", LAMBDA.format("l1")),
        (ElasticNetPD, "l1", "pass alpha=l1 + l2 and l1_ratio=l1 / (l1 + l2)."),
        (PoissonPD, "P1", "pass penalty_weights, a number for each feature."),
        (LassoPDCertified, "weights", "pass penalty_weights, a number for each feature."),
        (PoissonPD, "exposure",
         "pass it to fit of PoissonPD, GammaPD or TweediePD, else its log as offset."),
        (CoxPD, "strata", "pass it to fit."),
        (PoissonPD, "link", "leave it out, as PoissonPD, GammaPD and TweediePD have a log link."),
        (PdproxSVC, "normalize",
         "scale the features by make_pipeline(StandardScaler(), PdproxSVC())."),
        (PdproxRegressor, "positive", "pass bounds=(0, np.inf)."),
        (ElasticNetPDCV, "n_alphas", "pass alphas=n_alphas."),
        (PdproxSVC, "alphas", "fit PathCV(PdproxSVC()), which chooses alpha."),
        (PdproxSVC, "dual", "leave it out, as no solver needs it."),
        (PdproxSVC, "intercept_scaling", "leave it out, as no solver needs it."),
        (PoissonPD, "family",
         "choose the class: LogisticPD, PoissonPD, GammaPD, TweediePD, ElasticNetPD."),
    ],
)  # fmt: skip
def test_parameters_of_peers(kind, name, message):
    whole = f"^{re.escape(f'{kind.__name__} has no parameter {name!r}: {message}')}$"
    with pytest.raises(TypeError, match=whole):
        kind(**{name: 1.0})
    with pytest.raises(ValueError, match=whole):
        kind().set_params(**{name: 1.0})


@pytest.mark.parametrize(
    "kind, name, similar",
    [
        (PdproxSVC, "alpah", "alpha"),
        (PdproxSVC, "verbose_", "verbose"),
        (PdproxSVC, "random_seed", "random_state"),
        (PdproxSVC, "max_iters", "max_iter"),
        (PdproxSVC, "intercept", "fit_intercept"),
        (GroupLassoPD, "weights", "group_weights"),
        (GroupLassoPD, "penalty_weights", "group_weights"),
        (QuantilePD, "quantile", "quantiles"),
        (LPBoostClassifier, "base_estimator", "estimator"),
    ],
)
def test_parameters_that_resemble_others(kind, name, similar):
    whole = f"^{kind.__name__} has no parameter '{name}'. Did you mean '{similar}'[?]$"
    with pytest.raises(TypeError, match=whole):
        kind(**{name: 1.0})
    with pytest.raises(ValueError, match=whole):
        kind().set_params(**{name: 1.0})


def test_the_parameters_are_listed_where_none_is_similar():
    with pytest.raises(
        TypeError, match=r"^ChainCRF has no parameter 'foo'. It has alpha, cost, penalty, "
    ):
        ChainCRF(foo=1)
    with pytest.raises(ValueError, match=r"^penalty='l1' has no parameters of its own, got 'pen"):
        PdproxSVC().set_params(penalty__l1=1.0)


@pytest.mark.parametrize(
    "ours, theirs, labels",
    [
        (PdproxSVC(penalty="l2"), SVC(C=0.3, kernel="linear"), 2),
        (DRSVMClassifier(epsilon=0.0), SVC(C=0.3, kernel="linear"), 2),
        (LogisticPD(), LogisticRegression(C=0.3), 2),
        (MultinomialPD(), LogisticRegression(C=0.3), 3),
        (PdproxRegressor(penalty="l2", loss="epsilon_insensitive", epsilon=0.1),
         SVR(C=0.3, kernel="linear", epsilon=0.1), 0),
    ],
    ids=lambda model: type(model).__name__,
)  # fmt: skip
def test_the_conversion_of_C(classes, ours, theirs, labels):
    X, y = classes
    if labels != 2:
        y = np.digitize(X[:, 0], [-0.5, 0.5]) if labels else X[:, 1] + 0.3 * y
    with pytest.raises(TypeError) as error:
        type(ours)(C=0.3)
    code = re.search(r"alpha=(.*)\.$", str(error.value))[1]
    alpha = eval(code, {"C": 0.3, "n_samples": N})
    found = clone(ours).set_params(alpha=alpha, tol=1e-9).fit(X, y)
    assert_allclose(np.ravel(found.coef_), np.ravel(theirs.set_params(tol=1e-9).fit(X, y).coef_),
                    atol=2e-4)  # fmt: skip


def test_kernel_machines_have_the_conversion_of_C(classes):
    X, y = classes
    found = KernelPdproxSVC(alpha=1 / (2.0 * N), gamma=0.5, tol=1e-9).fit(X, y)
    theirs = SVC(C=2.0, gamma=0.5, tol=1e-9).fit(X, y)
    assert_allclose(found.decision_function(X), theirs.decision_function(X), atol=1e-4)


def test_signatures_stay_those_of_the_constructors():
    for method, names in (
        (PdproxRegressor, ["alpha", "loss", "quantile"]),
        (PdproxRegressor.fit, ["self", "X", "y"]),
        (PathCV.fit, ["self", "X", "y"]),
    ):
        assert list(inspect.signature(method).parameters)[:3] == names


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda X, y: PdproxSVC().fit(X, y, sample_weights=y), TypeError,
         "PdproxSVC.fit has no parameter 'sample_weights'. Did you mean 'sample_weight'?"),
        (lambda X, y: PdproxRegressor().fit(X, y, weights=y), TypeError,
         "PdproxRegressor.fit has no parameter 'weights'. Did you mean 'sample_weight'?"),
        (lambda X, y: CoxPD().fit(X, y, exposure=y), TypeError,
         "CoxPD.fit has no parameter 'exposure': pass it to fit of PoissonPD, GammaPD or "
         "TweediePD, else its log as offset."),
        (lambda X, y: CoxPD().fit(X, duration_col="T"), TypeError,
         "CoxPD.fit has no parameter 'duration_col': pass times and events as columns of y, after "
         "entries if there are any, not in X."),
        (lambda X, y: MetricSVC().fit(X, y, sample_weight=y), TypeError,
         "MetricSVC.fit has no parameter 'sample_weight'. It has X, y."),
        (lambda X, y: PdproxSVC().fit(X), TypeError,
         "PdproxSVC.fit(): missing a required argument: 'y'."),
        (lambda X, y: PdproxSVC(0.1, "l1"), TypeError,
         "PdproxSVC(): too many positional arguments: pass loss and others by name."),
        (lambda X, y: PdproxSVC().fit(X, y, None, None, 1), TypeError,
         "PdproxSVC.fit(): too many positional arguments."),
        (lambda X, y: LogisticPD(bounds=(1, -1)).fit(X, y), ValueError,
         "bounds need as many lower as upper ones, lower <= upper, got (1, -1)."),
        (lambda X, y: LogisticPD(bounds=([0.1] * 3, [1.0])).fit(X, y), ValueError,
         "bounds need as many lower as upper ones, lower <= upper, got ([0.1, 0.1, 0.1], [1.0])."),
        (lambda X, y: PdproxRegressor().fit(X, np.full(N, np.nan)), ValueError,
         "Input y contains NaN."),
        (lambda X, y: PdproxRegressor().fit(X, np.ones((N, 2))), ValueError,
         "y should be a 1d array, got an array of shape (30, 2) instead. MultiTaskPD fits several "
         "targets, with tasks= also where rows lack some of them."),
        (lambda X, y: regularization_path(PdproxSVC(), X, y, sample_weights=y), TypeError,
         "PdproxSVC.fit has no parameter 'sample_weights'. Did you mean 'sample_weight'?"),
        (lambda X, y: regularization_path(PdproxSVC(), X, y, n_alphas=9), TypeError,
         "PdproxSVC.fit has no parameter 'n_alphas': pass alphas=n_alphas."),
        (lambda X, y: GridSearchCV(PdproxSVC(), {"C": [1.0]}).fit(X, y), ValueError,
         "PdproxSVC has no parameter 'C': pass alpha=1 / (C * n_samples)."),
        (lambda X, y: PathCV(PdproxSVC()).set_params(estimator__C=1.0), ValueError,
         "PdproxSVC has no parameter 'C': pass alpha=1 / (C * n_samples)."),
    ],
)  # fmt: skip
def test_calls_that_do_not_fit(classes, call, error, message):
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        call(*classes)


@pytest.mark.parametrize(
    "model, message",
    [
        (PdproxRegressor(loss="gaussian"), "Got 'gaussian' instead. Did you mean 'squared'?"),
        (PdproxRegressor(loss="hinge"),
         "Got 'hinge' instead. PdproxSVC(loss='hinge') has this loss."),
        (PdproxRegressor(loss="binomial"),
         "Got 'binomial' instead. PdproxSVC(loss='logistic') has this loss."),
        (PdproxRegressor(loss="softmax"), "Got 'softmax' instead. MultinomialPD has this loss."),
        (PdproxRegressor(loss="negative_binomial"),
         "Got 'negative_binomial' instead. PoissonPD(dispersion=...) has this loss."),
        (PdproxSVC(loss="huber"),
         "Got 'huber' instead. PdproxRegressor(loss='huber') has this loss."),
        (PdproxSVC(loss="squared"), "Got 'squared' instead. Did you mean 'squared_hinge'? "
         "PdproxRegressor(loss='squared') has this loss."),
        (PdproxRegressor(penalty="trace"),
         "Got 'trace' instead. MultiTaskPD or MultinomialPD has this penalty."),
        (LogisticPD(penalty="linf"),
         "Got 'linf' instead. PdproxSVC or PdproxRegressor has this penalty."),
        (MultiTaskPD(penalty="nuclear"), "Got 'nuclear' instead. Did you mean 'trace'?"),
        (PdproxRegressor(penalty=None), "Got None instead. For no penalty pass alpha=0."),
        (PdproxSVC(penalty="none"), "Got 'none' instead. For no penalty pass alpha=0."),
        (PdproxSVC(penalty=3), "must be a known name or an object. Got 3 instead."),
        (PdproxSVC(loss=np.ones(3)), "or an object. Got array([1., 1., 1.]) instead."),
        (PdproxRegressor(loss="pinball", quantile=90),
         "The 'quantile' parameter must be in (0, 1), got 90: pass 0.9."),
        (MKLClassifier(kernels="rbf"), "Got 'rbf' instead. For a single kernel pass ['rbf']."),
        (KernelPdproxRegressor(kernel="gaussian"), "Got 'gaussian' instead. Did you mean 'rbf'?"),
        (KernelPdproxSVC(gamma="median"), "must be a known name or a float in the "
         "range [0.0, inf). Got 'median' instead."),
        (PdproxSVC(class_weight="even"), "must be a known name or an instance of 'dict' or "
         "None. Got 'even' instead."),
    ],
    ids=str,
)  # fmt: skip
def test_values_of_other_estimators(classes, model, message):
    with pytest.raises(InvalidParameterError, match=rf"{re.escape(message)}( The names are .*)?$"):
        model.fit(*classes)


def test_errors_inside_of_a_fit_stay_as_they_are(classes):
    class Broken(Huber):
        def value(self, y, z):
            raise TypeError("from inside")

    with pytest.raises(TypeError, match=r"^from inside$"):
        PdproxRegressor(loss=Broken(1.0)).fit(*classes)


def test_losses_and_penalties_of_another_kind(classes):
    for model in (PdproxSVC(penalty=Hinge()), PdproxRegressor(loss=L1())):
        with pytest.raises(
            InvalidParameterError, match=r"must be a str among .* or an instance of"
        ):
            model.fit(*classes)


def test_no_penalty_is_weights_of_zero(classes):
    X, y = classes
    theirs = LogisticRegression(C=np.inf, tol=1e-10).fit(X, y)
    ours = PdproxSVC(loss="logistic", penalty="l2", penalty_weights=np.zeros(3), tol=1e-9)
    assert_allclose(ours.fit(X, y).coef_, theirs.coef_, atol=1e-4)


def test_bounds_as_pairs(classes):
    X, y = classes
    pairs = [(0.0, 1.0)] * 3
    message = (
        "bounds must be a pair (lower, upper), each a number or an array, or an object of "
        "scipy.optimize.Bounds, got [(0.0, 1.0), (0.0, 1.0), (0.0, 1.0)]. A list with a pair for "
        "each feature is turned into one by list(zip(*bounds))."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        PdproxRegressor(bounds=pairs).fit(X, y)
    found = PdproxRegressor(bounds=list(zip(*pairs, strict=True))).fit(X, y)
    assert_allclose(found.coef_, PdproxRegressor(bounds=(0.0, 1.0)).fit(X, y).coef_)
    with pytest.raises(ValueError, match=r"got \[\(0, 1\), .{60,80} \.\.\. .{20}\. A list"):
        PdproxRegressor(bounds=[(0, 1)] * 300).fit(X, y)
