"""LogisticPD against scikit-learn's LogisticRegression and the conditions of its optimum."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.optimize import Bounds, LinearConstraint, minimize
from scipy.special import expit, logsumexp, softmax
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from skpd import LogisticPD
from tests.oracles.scikit_learn import l1_logistic

ALPHA = 0.02
GROUPS = np.repeat(["a", "b", "c"], [4, 4, 5])


@pytest.fixture(params=[2, 3], ids=["two classes", "three classes"])
def wine(request):
    X, y = load_wine(return_X_y=True)
    rows = y < request.param
    return StandardScaler().fit_transform(X)[rows], np.array(["x", "y", "z"])[y[rows]]


@pytest.mark.parametrize(
    "given", [{"penalty": "l2"}, {"penalty": "l1"}, {"penalty": "elasticnet", "l1_ratio": 0.3}]
)
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array, sp.csc_array])
def test_model_is_that_of_scikit_learn(wine, given, layout):
    X, y = wine
    sample_weight = np.random.default_rng(0).uniform(0.0, 2.0, len(y))
    l1_ratio = {"l1": 1.0, "l2": 0.0}.get(given["penalty"], given.get("l1_ratio"))
    theirs = l1_logistic(l1_ratio, C=1.0 / (ALPHA * sample_weight.sum()))
    theirs.fit(X, y, sample_weight)
    ours = LogisticPD(ALPHA, tol=1e-11, **given).fit(layout(X), y, sample_weight)
    assert ours.coef_.shape == theirs.coef_.shape
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)
    assert_allclose(ours.decision_function(X).shape, theirs.decision_function(X).shape)
    assert (ours.predict(X) == theirs.predict(X)).all()


def test_groups_hold_the_coefficients_of_all_classes(wine):
    """The gradient of a group has norm alpha weight_g, or at most that where the group is 0."""
    X, y = wine
    model = LogisticPD(0.1, penalty="group", groups=GROUPS, tol=1e-12).fit(X, y)
    targets = y[:, np.newaxis] == model.classes_
    if len(model.classes_) == 2:
        slopes = expit(model.decision_function(X))[:, np.newaxis] - targets[:, 1:]
    else:
        slopes = softmax(model.decision_function(X), axis=1) - targets
    gradient = slopes.T @ X / len(y)
    assert_allclose(slopes.mean(axis=0), 0.0, atol=1e-6)
    zero = 0
    for group in "abc":
        w, g = model.coef_[:, group == GROUPS], gradient[:, group == GROUPS]
        bound = 0.1 * np.sqrt(w.size)
        if w.any():
            assert_allclose(g, -bound * w / np.linalg.norm(w), atol=1e-5)
        else:
            zero += 1
            assert np.linalg.norm(g) <= bound + 1e-9
    assert 0 < zero < 3


def test_numbers_of_classes_may_change():
    X, y = load_wine(return_X_y=True)
    model = LogisticPD(1e-1, warm_start=True).fit(X, y)
    assert model.coef_.shape == (3, 13)
    assert model.fit(X[y > 0], y[y > 0]).coef_.shape == (1, 13)
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_errors(wine):
    X, y = wine
    with pytest.raises(ValueError, match=r"penalty='group' needs groups"):
        LogisticPD(penalty="group").fit(X, y)
    with pytest.raises(
        ValueError, match="l1_ratio belongs to penalty='elasticnet' or 'sparse_group'"
    ):
        LogisticPD(l1_ratio=0.5).fit(X, y)
    without = LogisticPD(penalty_weights=np.r_[0.0, np.ones(12)], tol=1e-6)
    assert without.fit(X, y).converged_
    few = r"'x' has none" if len(set(y)) > 2 else "got 1 of the 2 class"
    with pytest.raises(ValueError, match=few):
        LogisticPD(class_weight={"x": 0.0}).fit(X, y)


WEIGHTS = np.linspace(0.5, 2.0, 13)
LIMITS = (-0.3, np.full(13, 0.4))
ABOVE = (None, 0.4)
COMBINATIONS = LinearConstraint(np.eye(2, 13) + np.eye(2, 13, 1), [0.0, -0.1], [0.2, 0.1])


@pytest.mark.parametrize(
    ("bounds", "constraints"),
    [(None, None), (LIMITS, None), (ABOVE, None), (None, COMBINATIONS), (LIMITS, [COMBINATIONS])],
)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_weights_bounds_and_constraints_hold_for_each_class(wine, bounds, constraints, kind):
    """The optimum is that of SciPy's SLSQP for the objective in its formula."""
    X, y = wine
    model = LogisticPD(
        ALPHA, penalty_weights=WEIGHTS, bounds=bounds, constraints=constraints, tol=1e-9
    ).fit(kind(X), y)
    K, d = model.coef_.shape
    targets = y[:, np.newaxis] == model.classes_[-K:]

    def objective(numbers):
        W, b = numbers[: K * d].reshape(K, d), numbers[K * d :]
        z = X @ W.T + b
        every = z if K > 1 else np.column_stack([np.zeros(len(z)), z])
        slopes = softmax(every, axis=1)[:, -K:] - targets
        gradient = slopes.T @ X / len(y) + ALPHA * WEIGHTS * W
        value = np.mean(logsumexp(every, axis=1) - np.sum(z * targets, axis=1))
        value += 0.5 * ALPHA * np.sum(WEIGHTS * W**2)
        return value, np.r_[gradient.ravel(), slopes.mean(axis=0)]

    lower, upper = (-np.inf, np.inf) if bounds is None else bounds
    lower = -np.inf if lower is None else lower
    limits = Bounds(*(np.r_[np.tile(np.broadcast_to(x, d), K), np.full(K, end)]
                      for x, end in ((lower, -np.inf), (upper, np.inf))))  # fmt: skip
    linear = ()
    if constraints is not None:
        A = np.hstack([np.kron(np.eye(K), COMBINATIONS.A), np.zeros((2 * K, K))])
        linear = LinearConstraint(A, np.tile(COMBINATIONS.lb, K), np.tile(COMBINATIONS.ub, K))
        expected = (2,) if K == 1 else (3, 2)
        assert model.constraint_multipliers_.shape == expected
        used = (model.coef_ @ COMBINATIONS.A.T - COMBINATIONS.ub) / ALPHA
        assert np.all(model.constraint_multipliers_[np.reshape(used, expected) < -1e-3] <= 1e-6)
    best = minimize(
        objective, np.zeros(K * (d + 1)), jac=True, bounds=limits, constraints=linear,
        method="SLSQP", options={"maxiter": 1000, "ftol": 1e-14},
    )  # fmt: skip
    assert model.certificate_.dual <= best.fun + 1e-9
    assert model.certificate_.primal == pytest.approx(best.fun, abs=1e-8)
    assert_allclose(model.coef_.ravel(), best.x[: K * d], atol=1e-4)
    with pytest.raises(ValueError, match="bounds must be a pair"):
        LogisticPD(bounds=(0.0,)).fit(X, y)
