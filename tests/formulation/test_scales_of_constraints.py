"""Linear constraints at the ends of the scale, that say nothing, or that do not go together."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import LinearConstraint
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning

from skpd import PdproxRegressor
from skpd.losses import ResidualLoss
from skpd.penalties import L1, FunctionOfNorm, GroupL2, NonNegativeL1
from skpd.problems.linear_constraints import LinearConstraints


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return X / X.std(axis=0), (y - y.mean()) / y.std()


def test_restored_coefficients_keep_their_zeros():
    matrix = sparse.csr_array(np.array([[1.0, 1.0, 1.0, 0.0], [0.0, 1.0, -1.0, 0.0]]))
    constraints = LinearConstraints(matrix, np.array([1.0, 0.0]), np.array([1.0, np.inf]))
    assert not constraints.allow_zero
    off = np.array([0.4, 0.0, 0.5, 7.0])
    assert not constraints.hold(off)
    found = constraints.restored(np.array([0.4, 0.6001, 0.0, 7.0]))
    assert constraints.hold(found) and found[2] == 0.0 and found[3] == 7.0
    np.testing.assert_allclose(found, [0.4, 0.6001, 0.0, 7.0], atol=1e-4)
    assert constraints.hold(constraints.restored(off))  # where zeros cannot stay
    np.testing.assert_array_equal(constraints.multipliers(np.array([2.0, 3.0])), [2.0, 0.0])
    value, rounding = constraints.support(np.array([-2.0, -3.0]))
    assert value == -2.0 and 0.0 < rounding < 1e-13


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        (LinearConstraint(np.ones(3), 0.0, 1.0), "column for each of the 10 features"),
        (LinearConstraint(np.ones(10), 1.0, 0.0), "lb <= ub"),
        (LinearConstraint(np.ones(10), np.inf, np.inf), "lb <= ub"),
        (LinearConstraint(np.full(10, np.nan), 0.0, 1.0), "finite"),
        ([np.ones(10)], "LinearConstraint or a list"),
        (
            [LinearConstraint(np.ones(10), 1.0, 2.0), LinearConstraint(np.ones(10), 3.0, 4.0)],
            "cannot be obeyed",
        ),
    ],
)
def test_errors(diabetes, constraints, message):
    with pytest.raises(ValueError, match=message):
        PdproxRegressor(constraints=constraints).fit(*diabetes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"solver": "pdprox-dual"}, "need solver='auto'"),
        ({"penalty_weights": [0.0] + [1.0] * 9}, "need finite bounds of these features"),
        ({"bounds": (-1.0, 0.01)}, "cannot be obeyed"),
        ({"penalty": "l1_ball"}, "do not seem to go together"),
    ],
)
def test_what_does_not_go_together(diabetes, options, message):
    two = LinearConstraint(np.ones(10), 2.0, 2.0)
    with pytest.raises(ValueError, match=message):
        PdproxRegressor(constraints=two, **options).fit(*diabetes)


def test_penalties_and_losses_without_cones_are_refused(diabetes):
    class Own(ResidualLoss):
        conjugate_domain = (-1.0, 1.0)
        _phi = _phi_conjugate = _phi_derivative = np.abs

    constraint = LinearConstraint(np.ones(10), 0.0, 1.0)
    with pytest.raises(ValueError, match="a penalty of skpd"):
        PdproxRegressor(penalty=FunctionOfNorm(L1()), constraints=constraint).fit(*diabetes)
    with pytest.raises(ValueError, match="a loss of skpd"):
        PdproxRegressor(loss=Own(), constraints=constraint).fit(*diabetes)


def test_rows_of_any_scale(diabetes):
    """The same constraints in other units have the same model, and multipliers in those units."""
    X, y = diabetes
    rows = np.vstack([np.ones(10), np.diff(np.eye(10), axis=0)[0]])
    lower, upper = np.array([0.2, 0.0]), np.array([0.2, np.inf])
    once = PdproxRegressor(0.01, constraints=LinearConstraint(rows, lower, upper)).fit(X, y)
    for scales in ([2.0**990, 2.0**-900], [2.0**-980, 2.0**3]):
        s = np.array(scales)
        scaled = LinearConstraint(s[:, None] * rows, s * lower, s * upper)
        model = PdproxRegressor(0.01, constraints=scaled).fit(X, y)
        np.testing.assert_array_equal(model.coef_, once.coef_)
        np.testing.assert_array_equal(
            model.constraint_multipliers_ * s, once.constraint_multipliers_
        )
    tiny = LinearConstraint(np.eye(10) * 1e300, 1.0, 1.0)
    model = PdproxRegressor(0.01, constraints=tiny).fit(X, y)
    np.testing.assert_allclose(model.coef_, 1e-300, rtol=1e-12)
    assert model.converged_


@pytest.mark.parametrize("unit", [2.0**-200, 2.0**90, 2.0**300])
def test_bounds_in_any_unit(diabetes, unit):
    """Features in other units have coefficients and bounds in the reciprocal ones."""
    X, y = diabetes
    rows = np.vstack([np.ones(10), np.diff(np.eye(10), axis=0)[0]])
    lower, upper = np.array([0.2, 0.5]), np.array([0.2, 2.0])
    once = PdproxRegressor(0.01, constraints=LinearConstraint(rows, lower, upper)).fit(X, y)
    scaled = LinearConstraint(rows, lower * unit, upper * unit)
    model = PdproxRegressor(0.01 / unit, constraints=scaled).fit(X / unit, y)
    assert model.converged_
    assert model.certificate_.dual <= once.certificate_.primal
    assert once.certificate_.dual <= model.certificate_.primal
    np.testing.assert_allclose(rows[0] @ model.coef_, 0.2 * unit, rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-20, 1e-100, 1e-310])
def test_features_that_say_nothing(diabetes, scale):
    """Predictions hardly change: the l1 norm of coefficients that sum to 1 is 1."""
    X, y = diabetes
    total = LinearConstraint(np.ones(10), 1.0, 1.0)
    model = PdproxRegressor(
        0.1, loss="squared", penalty=NonNegativeL1(), constraints=total, fit_intercept=False
    ).fit(X * scale, y)
    assert model.converged_
    assert (
        model.certificate_.dual
        <= np.mean(y**2) / 2.0 + 0.1
        <= model.certificate_.primal * (1.0 + 1e-12)
    )
    np.testing.assert_allclose(model.constraint_multipliers_, -0.1, rtol=1e-3)


@pytest.mark.parametrize("penalty", [NonNegativeL1(), L1(), GroupL2(groups=2)])
def test_feasible_after_one_iteration(penalty):
    """HiGHS finds coefficients that obey them; so does a fit that has hardly begun."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((30, 8))
        C = rng.standard_normal((7, 8))
        middle, width = C @ np.abs(rng.standard_normal(8)), 0.1 * rng.random(7)
        constraint = LinearConstraint(C, middle - width, middle + width)
        model = PdproxRegressor(0.1, penalty=penalty, constraints=constraint, max_iter=1, tol=1e-6)
        with pytest.warns(ConvergenceWarning, match="Increase max_iter"):
            model.fit(X, X[:, 0] + rng.standard_normal(30))
        assert np.all(np.abs(C @ model.coef_ - middle) <= width + 1e-12)
        assert np.isfinite(model.certificate_.primal)


# Some of the models that it fits are constant.
@pytest.mark.filterwarnings("ignore:.*all coefficients are 0")
def test_a_start_that_is_optimal_has_multipliers():
    X = np.random.default_rng(0).standard_normal((20, 3))
    y = X[:, 0] + 1.0
    model = PdproxRegressor(10.0, constraints=LinearConstraint(np.eye(3), -1.0, 1.0)).fit(X, y)
    np.testing.assert_array_equal(model.constraint_multipliers_, np.zeros(3))


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared", "pinball"])
def test_targets_that_a_constant_fits(loss, fit_intercept):
    """Without a loss at w = 0, which is not allowed, the nearest model that is has the least."""
    X, bound = np.array([[1.0], [-1.0], [2.0], [-2.0]]), 0.05
    model = PdproxRegressor(
        loss=loss, alpha=1.0, fit_intercept=fit_intercept, tol=1e-9,
        constraints=LinearConstraint([[1.0]], bound, np.inf),
    ).fit(X, np.zeros(4))  # fmt: skip
    loss_of = {"epsilon_insensitive": 0.0, "squared": bound**2 * 2.5 / 2, "pinball": 0.0375}
    np.testing.assert_allclose(model.coef_, bound, rtol=1e-9)
    assert model.converged_
    assert model.certificate_.dual <= bound + loss_of[loss] <= model.certificate_.primal
    np.testing.assert_allclose(model.certificate_.primal, bound + loss_of[loss], rtol=1e-8)


def test_an_empty_list_of_constraints_is_none(diabetes):
    X, y = diabetes
    empty = PdproxRegressor(0.1, constraints=[]).fit(X, y)
    assert not hasattr(empty, "constraint_multipliers_")
    np.testing.assert_array_equal(empty.coef_, PdproxRegressor(0.1).fit(X, y).coef_)
