"""A model whose coefficients are all 0 says so once, with the reason and what to try."""

import re
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import LinearConstraint

from benchmarks.constant_models import is_constant, makers, outcome
from skpd import (
    ChainCRF,
    ChainM3N,
    DRSVMClassifier,
    ElasticNetPD,
    ElasticNetPDClassifier,
    GroupLassoSVC,
    KernelPdproxSVC,
    LassoPDCertified,
    LassoPDCertifiedCV,
    MatrixCompletionPD,
    MetricSVC,
    MKLClassifier,
    MKLRegressor,
    MultinomialPD,
    MultiTaskPD,
    PathCV,
    PdproxRegressor,
    PdproxSVC,
    QuantilePD,
    RowBlocks,
    TraceNormPD,
    regularization_path,
)
from tests.oracles.optima import linear_optimum

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 6))
T = X[:, 0] + RNG.normal(size=200)
RARE, THREE = (T > 1.8).astype(int), np.digitize(T, [-0.5, 0.5])
TWO_TARGETS = np.column_stack([T, -T])
PLACES = np.column_stack([RNG.integers(0, 15, 200), RNG.integers(0, 15, 200)])
SEQUENCES = [X[k : k + 10] for k in range(0, 200, 10)]
LABELS = [THREE[k : k + 10].tolist() for k in range(0, 200, 10)]
LARGE = 50.0

CONSTANT = [
    (PdproxSVC(LARGE), X, RARE),
    (PdproxSVC(LARGE, loss="logistic"), X, THREE),
    (PdproxSVC(LARGE, noise_budget=3), X, RARE),
    (PdproxSVC(LARGE, solver="pdprox-dual", solver_options={"output": "best"}), X, RARE),
    (GroupLassoSVC(LARGE, groups=2), X, RARE),
    (GroupLassoSVC(LARGE, groups=[[0, 1, 2], [2, 3, 4, 5]]), X, RARE),
    (ElasticNetPDClassifier(LARGE, loss="smoothed_hinge"), X, RARE),
    (DRSVMClassifier(LARGE), X, RARE),
    (DRSVMClassifier(LARGE, kappa=np.inf), X, THREE),
    (PdproxRegressor(LARGE), X, T),
    (PdproxRegressor(LARGE), RowBlocks([X[:90], X[90:]]), T),
    (LassoPDCertified(LARGE, positive=True), X, T),
    (ElasticNetPD(LARGE), X, T),
    (QuantilePD(alpha=LARGE), X, T),
    (MultiTaskPD(LARGE), X, TWO_TARGETS),
    (MultinomialPD(LARGE, penalty="l21"), X, THREE),
    (MetricSVC(LARGE, penalty="l1"), X, RARE),
    (TraceNormPD(LARGE, radius=None), X, TWO_TARGETS),
    (MKLClassifier(LARGE), X, RARE),
    (MKLRegressor(LARGE), X, T),
    (ChainCRF(LARGE, penalty="l1"), SEQUENCES, LABELS),
    (ChainM3N(LARGE, penalty="group"), SEQUENCES, LABELS),
]


def said(model, X, y):
    """The messages of a fit, which are all of its caller."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    assert all(each.filename == __file__ for each in caught)
    return [str(each.message) for each in caught]


def bound_of(message):
    """The alpha or epsilon from which on a message says that 0 is optimal."""
    found = re.search(r"That holds for any (?:alpha|epsilon) of at least about (\S+);", message)
    return float(found.group(1))


@pytest.mark.parametrize("model, X, y", CONSTANT, ids=[repr(case[0]) for case in CONSTANT])
def test_every_estimator_says_it_once(model, X, y):
    """And from where on 0 is optimal, as it is a hundredth above; and names a smaller alpha."""
    (message,) = said(model, X, y)
    assert is_constant(model)
    assert message.startswith(f"{type(model).__name__} ignores all features: all coefficients are")
    bound, parameter = bound_of(message), model._path_parameter
    smaller = float(re.search(rf"such as {parameter}=([0-9.e-]+[0-9])", message).group(1))
    assert_allclose(smaller, 0.1 * bound, rtol=0.06)
    (above,) = said(model.set_params(**{parameter: 1.01 * bound}), X, y)
    assert bound_of(above) == bound


@pytest.mark.parametrize(
    "model, y, slopes",
    [
        (LassoPDCertified(LARGE), T, T - T.mean()),
        (PdproxRegressor(LARGE, loss="squared", penalty="l1"), T, T - T.mean()),
        (PdproxSVC(LARGE, loss="logistic"), RARE, RARE - RARE.mean()),
    ],
)
def test_the_bound_of_a_smooth_loss_is_where_models_begin(model, y, slopes):
    bound = np.max(np.abs(X.T @ slopes)) / len(y)
    assert_allclose(bound_of(said(model, X, y)[0]), bound, rtol=5e-3)
    model.set_params(alpha=0.97 * bound)
    assert said(model, X, y) == [] and model.coef_.any()


def test_a_rare_class_and_the_hinge_loss():
    """By HiGHS the constant is optimal, also far below the alpha that the slopes say."""
    signs, (n, d) = 2.0 * RARE - 1.0, X.shape
    rows = -np.hstack([signs[:, None] * np.hstack([X, -X, np.ones((n, 1))]), np.eye(n)])
    bounds = [(0, None)] * (2 * d) + [(None, None)] + [(0, None)] * n
    cost = np.r_[np.full(2 * d, 1e-3), 0.0, np.full(n, 1 / n)]
    best = linear_optimum(cost, A_ub=rows, b_ub=-np.ones(n), bounds=bounds)
    assert_allclose(best.fun, 2 * RARE.mean(), rtol=1e-9)
    (message,) = said(PdproxSVC(1e-3), X, RARE)
    assert "kink" in message and "'balanced'" in message and "loss='logistic'" in message
    assert said(PdproxSVC(1e-3, class_weight="balanced"), X, RARE) == []
    assert said(PdproxSVC(1e-3, loss="logistic"), X, RARE) == []
    (message,) = said(PdproxRegressor(1e-3), X, T * (T > 1.8))
    assert "kink" in message and "loss='huber'" in message


@pytest.mark.parametrize("value", [0.0, 5.0])
@pytest.mark.parametrize(
    "model, y",
    [
        (PdproxSVC(), RARE),
        (PdproxSVC(penalty="l2", class_weight="balanced"), RARE),
        (LassoPDCertified(), T),
        (DRSVMClassifier(0.01), RARE),
        (DRSVMClassifier(0.01, kappa=np.inf), THREE),
        (KernelPdproxSVC(), RARE),
        (MultiTaskPD(1e-3), TWO_TARGETS),
    ],
)
def test_constant_features(model, y, value):
    (message,) = said(model, np.full_like(X, value), y)
    assert "where y or all features are constant" in message and "smaller" not in message


@pytest.mark.parametrize("value", [0.0, 3.3])
def test_constant_targets_and_bounds(value):
    for model in (LassoPDCertified(), PdproxRegressor()):
        (message,) = said(model, X, np.full(200, value))
        assert "where y or all features are constant" in message
    (message,) = said(LassoPDCertified(positive=True), np.abs(X), -np.abs(X) @ np.ones(6))
    assert "No coefficient that bounds allow" in message


def test_constraints_and_ratings():
    only_zero = LinearConstraint(np.eye(6), 0.0, 0.0)
    (message,) = said(PdproxRegressor(constraints=only_zero), X, T)
    assert "within tol" in message
    (message,) = said(MatrixCompletionPD(LARGE), PLACES, T)
    assert message.startswith(
        "MatrixCompletionPD finds nothing but biases: all coefficients are 0"
    )


def test_a_fit_that_has_not_converged_says_both():
    model = PdproxSVC(1e-3, loss="logistic", solver="pdprox-primal", max_iter=1)
    message, other = said(model, X, THREE > 1)
    assert is_constant(model) and "The fit has not converged" in message
    assert "did not converge" in other and "coefficients are 0" not in other


def test_of_many_classes_all_must_be_constant():
    """One class against the rest may well have no better model: the others have."""
    y = np.where(T > 1.8, 2, (T > 0).astype(int))
    model = PdproxSVC(1e-3)
    assert said(model, X, y) == []
    assert not model.coef_.any(axis=1).all() and model.coef_.any()


def test_inner_models_are_not_told_of():
    """Of a path and of folds none, of the choice that is returned one."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".*at this end of the")
        found = regularization_path(PdproxSVC(loss="logistic"), X, RARE, alphas=[LARGE, 1.0, 0.01])
        assert not found.coefs[0].any() and found.coefs[2].any()
        PathCV(PdproxSVC(loss="logistic"), alphas=[LARGE, 0.01]).fit(X, RARE)
        LassoPDCertifiedCV(alphas=[LARGE, 0.01]).fit(X, T)
    (message,) = said(LassoPDCertifiedCV(alphas=[LARGE, 2.0 * LARGE]), X, T)
    assert "LassoPDCertifiedCV ignores all features" in message
    with pytest.warns(UserWarning, match="PdproxSVC ignores all features") as caught:
        PathCV(PdproxSVC(), alphas=[LARGE], cv=2).fit(X, RARE)
    assert len(caught) == 1


@pytest.mark.parametrize("seed", range(3))
def test_every_kind_of_model_on_random_data(seed):
    """As the campaign does it: said exactly where all coefficients are 0."""
    rng = np.random.default_rng(seed)
    table = np.hstack([np.eye(4)[rng.choice(4, 40)], np.zeros((40, 1))])
    for model, targets in makers(rng):
        found = outcome(model, table, targets(rng, table))
        assert found in ("said", "silent"), (model, found)
