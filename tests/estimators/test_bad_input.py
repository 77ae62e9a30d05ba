"""Bad and degenerate input: what is refused, and valid certificates of what is not."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import InvalidParameterError

from skpd import (
    DRSVMClassifier,
    ElasticNetPD,
    ElasticNetPDClassifier,
    ElasticNetPDCV,
    GroupLassoSVC,
    LassoPDCertified,
    LassoPDCertifiedCV,
    PdproxRegressor,
    PdproxSVC,
    TraceNormPD,
    certify,
    regularization_path,
)
from skpd.losses import Hinge, Huber
from skpd.penalties import L1
from tests.estimators.test_estimators import ESTIMATORS
from tests.oracles.reference import linear_programme

# A constant model is as good as another for what is tested here; groups=None makes a lasso of the
# group lasso, which is fitted as another estimator.
pytestmark = pytest.mark.filterwarnings("ignore:.*(all coefficients are 0|has groups=None)")


CLASSIFIERS = [PdproxSVC, GroupLassoSVC]


ALL = [
    DRSVMClassifier, ElasticNetPD, ElasticNetPDCV, ElasticNetPDClassifier, GroupLassoSVC,
    LassoPDCertified, LassoPDCertifiedCV, PdproxRegressor, PdproxSVC, TraceNormPD,
]  # fmt: skip


@pytest.mark.parametrize("estimator", ALL)
def test_y_must_be_given(estimator, cancer):
    X, y = cancer
    fitted = estimator().set_params(tol=0.5)
    message = "requires y to be passed, but the target y is None"
    with pytest.raises(ValueError, match=f"This {estimator.__name__} estimator {message}"):
        fitted.fit(X, None)
    if estimator is not TraceNormPD:
        with pytest.raises(ValueError, match=message):
            regularization_path(fitted, X, None)
        with pytest.raises(ValueError, match=f"certify {message}"):
            certify(fitted.fit(X, y), X, None)
    with pytest.raises(ValueError, match=r"y must hold numbers alone .* got None in row 0"):
        fitted.fit(X, [None, *y[1:]])


@pytest.mark.parametrize("estimator", ALL)
def test_bools_are_not_numbers(estimator, cancer):
    """Only a parameter that is a switch, or verbose, may be True."""
    X, y = cancer
    flags = {"fit_intercept", "positive", "warm_start", "verbose"}
    for name in set(estimator().get_params()) - flags:
        with pytest.raises(InvalidParameterError, match=rf"'{name}' parameter of.*Got True inst"):
            estimator(**{name: True}).fit(X, y)
    numbers = {"tol": np.float32(0.5), "max_iter": np.int64(30), "verbose": False}
    estimator(**numbers, fit_intercept=np.True_).fit(X, y)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("estimator", [PdproxSVC(), PdproxRegressor(fit_intercept=False)])
def test_large_arrays_must_be_finite(estimator, dtype, order, rng):
    """Which a product shows, unless their row is without weight or a residual there."""
    X = np.array(rng.normal(size=(33_000, 32)), dtype=dtype, order=order)
    y = (X[:, 0] > 0).astype(float)
    for bad, message in ((np.nan, "Input X contains NaN"), (np.inf, "Input X contains infinity")):
        for row, weight in ((0, 1.0), (int(np.argmin(y)), 1.0), (20_000, 0.0)):
            stained = X.copy(order="K")
            stained[row, 7] = bad
            sample_weight = np.ones(len(y))
            sample_weight[row] = weight
            with pytest.raises(ValueError, match=message):
                estimator.fit(stained, y, sample_weight)


def test_large_arrays_whose_products_overflow_are_finite(rng):
    X = rng.normal(size=(33_000, 32))
    X[:, 3] = 1.7e308
    y = rng.normal(size=len(X))
    with pytest.warns(ConvergenceWarning), np.errstate(all="ignore"):
        fit = PdproxRegressor(max_iter=2).fit(X, y)
    assert np.isfinite(fit.coef_).all()


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("weights, message", [
    (lambda n: -np.ones(n), "[Nn]egative"),
    (lambda n: np.zeros(n), "zero"),
    (lambda n: np.full(n, np.nan), "NaN"),
    (lambda n: np.ones(n - 1), "inconsistent|shape"),
    (lambda n: np.full(n, 1e306), "finite sum"),
])  # fmt: skip
def test_bad_weights(estimator, weights, message, cancer):
    X, y = cancer
    with pytest.raises(ValueError, match=message):
        estimator().fit(X, y, sample_weight=weights(len(y)))


@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_one_class(estimator, cancer):
    X, y = cancer
    with pytest.raises(ValueError, match="2 classes"):
        estimator().fit(X, np.ones_like(y))
    with pytest.raises(ValueError, match="2 classes"):
        estimator().fit(X, y, sample_weight=y)


@pytest.mark.parametrize("estimator, parameters, message", [
    *[(e, {"alpha": a}, "'alpha' parameter") for e in ESTIMATORS
      for a in (-1.0, np.nan, np.inf, "x")],
    *[(e, {"alpha": a}, "'alpha' parameter") for e in ESTIMATORS if not e._fits_alpha_0
      for a in (0, 0.0)],
    *[(e, {"loss": "log"}, "'loss' parameter") for e in ESTIMATORS],
    *[(e, {"solver": "newton"}, "'solver' parameter") for e in ESTIMATORS],
    *[(e, {"tol": -1.0}, "'tol' parameter") for e in ESTIMATORS],
    *[(e, {"max_iter": 0}, "'max_iter' parameter") for e in ESTIMATORS],
    (PdproxSVC, {"penalty": "l3"}, "'penalty' parameter.*'l2_norm'"),
    (PdproxSVC, {"penalty": ["l1"]}, "'penalty' parameter"),
    (PdproxSVC, {"loss": Huber()}, "'loss' parameter"),
    (PdproxRegressor, {"loss": Hinge()}, "'loss' parameter"),
    (PdproxSVC, {"penalty": L1}, "'penalty' parameter.*must be an object, got the class L1"),
    (PdproxSVC, {"class_weight": "even"}, "'class_weight' parameter"),
    (PdproxSVC, {"class_weight": {0: -1.0}}, "'class_weight' parameter"),
    (PdproxSVC, {"class_weight": {0: np.nan}}, "'class_weight' parameter"),
    (PdproxSVC, {"class_weight": {0: 1e306, 1: 1e306}}, "finite sum"),
    (PdproxSVC, {"solver_options": {"average": True}}, "got 'average'"),
    (GroupLassoSVC, {"groups": 7}, "divide the number of features, 30"),
    (GroupLassoSVC, {"groups": [[0, 1], [1, 2]]}, "overlap"),
    (GroupLassoSVC, {"groups": [[0, 1], [2, 3]]}, "miss"),
    (GroupLassoSVC, {"groups": [10, 10]}, "number of features, 30, .* with the sum 20"),
    (GroupLassoSVC, {"groups": 3, "group_weights": [1.0]}, "10 finite numbers"),
], ids=str)  # fmt: skip
def test_bad_parameters_are_named(estimator, parameters, message, cancer):
    with pytest.raises(ValueError, match=message):
        estimator(**parameters).fit(*cancer)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("case", [
    "constant column", "duplicate columns", "zero X", "one feature", "two samples",
    "1e-8 and 1e8",
])  # fmt: skip
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_degenerate_data_get_a_valid_certificate(estimator, case):
    """Converged or not, the interval holds the optimum that HiGHS finds."""
    X, y = make_classification(40, 6, random_state=0)
    if case == "constant column":
        X[:, 2] = 3.0
    elif case == "duplicate columns":
        X[:, 2] = X[:, 4]
    elif case == "zero X":
        X[:] = 0.0
    elif case == "one feature":
        X = X[:, :1]
    elif case == "two samples":
        X, y = X[:2], np.array([0, 1])
    X_fit = X * 10.0 ** np.array([-8, 8, 0, -8, 8, 0]) if case == "1e-8 and 1e8" else X
    target = y * 2.0 - 1
    model = estimator(alpha=0.05, max_iter=5000).fit(X_fit, target)
    certificate = model.certificate_
    assert np.isfinite([certificate.primal, certificate.dual]).all()
    assert 0 <= certificate.dual <= certificate.primal
    loss = model._get_loss()
    if case != "1e-8 and 1e8":  # no solver can be trusted with these
        value = linear_programme(X, target, np.full(len(y), 1 / len(y)), loss, L1(), 0.05, True)
        assert certificate.dual <= value + 1e-10 and value <= certificate.primal + 1e-10
        assert certificate.relative_gap <= 1e-4


def test_constant_targets_are_fitted_exactly():
    X = np.random.default_rng(0).normal(size=(30, 3))
    for loss in ("squared", "absolute", "huber", "pinball", "epsilon_insensitive"):
        model = PdproxRegressor(loss=loss).fit(X, np.full(30, 7.3))
        assert model.converged_ and not model.coef_.any()
        assert_allclose(model.predict(X), 7.3, atol=0.1 + 1e-12)


@pytest.mark.parametrize(
    "model", [PdproxRegressor(loss="squared"), PdproxRegressor(loss="huber"), LassoPDCertified()]
)
def test_targets_whose_squares_overflow_are_refused(model, rng):
    X, y = rng.normal(size=(12, 3)), rng.normal(size=12)
    if model.get_params().get("loss") == "huber":
        model.set_params(loss=Huber(delta=1e200))
    with pytest.raises(
        ValueError, match=r"y must be on a smaller scale, got values up to .*e\+200"
    ):
        model.fit(X, 1e200 * y)
