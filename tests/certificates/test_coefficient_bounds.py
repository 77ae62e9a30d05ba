"""What certificates say of single coefficients, against independent solutions."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Lasso, MultiTaskLasso

from benchmarks import coefficients
from benchmarks.certificates import random_problem, solution
from skpd import (
    Certificate,
    GroupLassoSVC,
    MultiTaskPD,
    PdproxRegressor,
    PdproxSVC,
    TraceNormPD,
    certify,
)
from skpd.certificates import certify_point, primal_objective
from skpd.losses import Absolute, Hinge
from skpd.penalties import L1, LInf, NonNegativeL1, WeightedL1


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return X / X.std(axis=0), (y - y.mean()) / y.std()


def inside(coef, bounds):
    return np.all((coef >= bounds[..., 0] - 1e-9) & (coef <= bounds[..., 1] + 1e-9))


# Some of the models that it fits are constant.
@pytest.mark.filterwarnings("ignore:.*all coefficients are 0")
@pytest.mark.parametrize("max_iter", [1, 3, 20_000])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_lasso_lies_inside(diabetes, max_iter):
    X, y = diabetes
    theirs = Lasso(0.1, tol=1e-14).fit(X, y).coef_
    model = PdproxRegressor(
        0.1, loss="squared", solver="pdprox-dual", tol=1e-5, max_iter=max_iter
    ).fit(X, y)
    certificate = model.certificate_
    assert inside(theirs, certificate.coefficient_bounds)
    assert not theirs[certificate.proven_zero].any()
    if max_iter > 3:
        assert_array_equal(certificate.proven_zero, theirs == 0.0)
        assert (np.ptp(certificate.coefficient_bounds[theirs == 0.0], axis=1) == 0.0).all()


def test_a_ridge_gives_digits(diabetes):
    X, y = diabetes
    alpha, ratio, G = 0.1, 0.5, {}
    for tol in (1e-4, 1e-8):
        model = PdproxRegressor(alpha, penalty="elasticnet", l1_ratio=ratio, tol=tol).fit(X, y)
        G[tol] = model.certificate_
    # strong convexity: alpha (1 - ratio) (w - w')^2 / 2 <= gap, on either side of the centre
    for certificate in G.values():
        width = 2.0 * np.sqrt(2.0 * certificate.gap / (alpha * (1.0 - ratio)))
        assert np.ptp(certificate.coefficient_bounds, axis=1).max() <= width * (1.0 + 1e-5)
    assert inside(model.coef_, G[1e-4].coefficient_bounds)
    assert not G[1e-4].proven_zero.any()  # the absolute loss has kinks


def test_the_formula_for_the_l1_norm(diabetes):
    """-G / (alpha + v_j) <= w_j <= G / (alpha - v_j), v = -X' theta / n, for |v_j| <= alpha."""
    X, y = diabetes
    alpha = 0.1
    model = PdproxRegressor(alpha, tol=1e-2, fit_intercept=False).fit(X, y)
    certificate, v = model.certificate_, -X.T @ model.dual_coef_ / len(y)
    assert certificate.kind in ("exact", "scaling") and np.abs(v).max() <= alpha * (1.0 + 1e-9)
    found = certificate.coefficient_bounds
    for side, sign in ((1, 1.0), (0, -1.0)):
        room = alpha - sign * v
        expected = np.minimum(certificate.gap / np.maximum(room, 1e-300), certificate.radius)
        clear = room > 1e-6
        assert_allclose(sign * found[clear, side], expected[clear], rtol=1e-5)


@pytest.mark.parametrize("penalty", ["l1", "group", "l2_norm", "linf", "l2"])
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_loose_fits_hold_tight_ones(loss, penalty, rng):
    X = rng.normal(size=(60, 6))
    y = X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=60) > 0
    groups = 2 if penalty == "group" else None
    fits = [
        PdproxSVC(0.05, loss=loss, penalty=penalty, groups=groups, tol=tol).fit(X, y)
        for tol in (3e-2, 1e-3, 1e-9)
    ]
    widths = [np.ptp(clf.certificate_.coefficient_bounds, axis=1).sum() for clf in fits]
    for clf in fits:
        assert inside(fits[-1].coef_[0], clf.certificate_.coefficient_bounds)
    assert widths[0] >= widths[2]


@pytest.mark.parametrize("loss", [Hinge(), Absolute()], ids=str)
@pytest.mark.parametrize(
    "penalty",
    [L1(), NonNegativeL1(), LInf(),
     lambda rng, d: WeightedL1(rng.random(d) * (rng.random(d) < 0.7))],
)  # fmt: skip
def test_random_linear_programmes(loss, penalty, rng):
    for _ in range(10):
        problem, X = random_problem(rng, loss, penalty, mild=True)
        _, coef, intercept = solution(problem, X)
        coef = problem.penalty.feasible(coef)
        objective = primal_objective(problem, coef, intercept)
        for scale in (0.0, 0.3):
            theta = problem.loss.gradient(problem.y, X @ coef + intercept)
            theta = theta + scale * rng.normal(size=len(theta))
            near = problem.penalty.feasible(coef + scale * rng.normal(size=len(coef)))
            certificate, _ = certify_point(problem, near, intercept, theta)
            assert not coefficients.outside(certificate, coef, objective).startswith("WRONG")


def test_several_outputs(diabetes):
    X, y = diabetes
    Y = np.column_stack([y, y**2])
    theirs = MultiTaskLasso(0.1, tol=1e-12).fit(X, Y).coef_
    certificate = MultiTaskPD(0.1, tol=1e-9).fit(X, Y).certificate_
    assert certificate.coefficient_bounds.shape == (2, 10, 2)
    assert inside(theirs, certificate.coefficient_bounds)
    assert_array_equal(certificate.proven_zero, theirs == 0.0)


def test_groups_that_are_proven_zero(rng):
    X = sp.random_array((200, 12), density=0.5, random_state=rng, format="csr")
    y = X.toarray()[:, :3].sum(axis=1) > 0.7
    clf = GroupLassoSVC(0.02, groups=3, loss="logistic", tol=1e-10).fit(X, y)
    zero = clf.certificate_.proven_zero.reshape(4, 3)
    assert_array_equal(zero, np.repeat(~clf.coef_.reshape(4, 3).any(axis=1), 3).reshape(4, 3))
    assert zero.any() and not zero.all()


def test_certify_says_it_of_others(diabetes):
    X, y = diabetes
    certificate = certify(Lasso(0.1).fit(X, y), X, y)
    tight = Lasso(0.1, tol=1e-14).fit(X, y).coef_
    assert inside(tight, certificate.coefficient_bounds)
    assert_array_equal(certificate.proven_zero, tight == 0.0)


def test_nothing_where_nothing_is_known(diabetes):
    X, y = diabetes
    jumps = PdproxRegressor(0.1, penalty="total_variation").fit(X, y)
    unknown = [(jumps.certificate_, (10,))]
    rigorous = certify(MultiTaskLasso(0.1).fit(X, np.c_[y, y]), X, np.c_[y, y], rigorous=True)
    unknown += [(rigorous, (2, 10))]
    trace = TraceNormPD(0.1).fit(X, np.c_[y, y])
    unknown += [(trace.certificate_, trace.coef_.shape)]
    unknown += [(Certificate(0.5, 0.375, 0.125, 0.25, "scaling", 2.5, 1.0), (0,))]
    for certificate, shape in unknown:
        assert_array_equal(certificate.proven_zero, np.zeros(shape, dtype=bool), strict=True)
        nothing = np.stack([np.full(shape, -np.inf), np.full(shape, np.inf)], axis=-1)
        assert_array_equal(certificate.coefficient_bounds, nothing, strict=True)
