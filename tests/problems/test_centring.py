"""Features far from 0: the same models, certificates and work as for the same features near 0."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from skpd import PdproxRegressor, PdproxSVC, regularization_path
from skpd.designs import Design
from skpd.losses import Hinge, Squared
from skpd.penalties import L1, GroupL2
from skpd.problems import linear_problem
from skpd.solvers.equivalent import centred_problem

LOSSES = {
    "hinge": lambda y, z: np.maximum(0.0, 1.0 - y * z),
    "logistic": lambda y, z: np.logaddexp(0.0, -y * z),
    "squared": lambda y, z: 0.5 * (z - y) ** 2,
}
PENALTIES = {
    "l1": (L1(), lambda w: np.abs(w).sum()),
    "l2": ("l2", lambda w: 0.5 * w @ w),
    "group": (GroupL2(2), lambda w: np.sqrt(2) * np.linalg.norm(w.reshape(-1, 2), axis=1).sum()),
    "linf": ("linf", lambda w: np.abs(w).max()),
}
LAYOUTS = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
}
TOL, ALPHA = 1e-8, 0.02


@pytest.fixture
def data(rng):
    """Standard normal features, and targets for either kind of loss."""
    X = rng.normal(size=(150, 8))
    z = X[:, :3] @ [1.0, -1.0, 0.5] + 0.5 * rng.normal(size=150)
    return X, z


def model(loss, penalty, **parameters):
    kind = PdproxRegressor if loss == "squared" else PdproxSVC
    return kind(ALPHA, loss=loss, penalty=PENALTIES[penalty][0], tol=TOL, **parameters)


def targets(loss, z):
    return z + 1.0 if loss == "squared" else np.where(z > 0.2, 1.0, -1.0)


def objective(fitted, loss, penalty, X, y):
    """That of the coefficients and the intercept as they are, with predictions from fractions."""
    w, intercept = np.ravel(fitted.coef_), Fraction(float(np.ravel(fitted.intercept_)[0]))
    coef = [Fraction(float(value)) for value in w]
    predictions = [
        float(sum(Fraction(float(x)) * v for x, v in zip(row, coef, strict=True)) + intercept)
        for row in X
    ]
    value = np.mean(LOSSES[loss](y, np.array(predictions)))
    return float(value + fitted.alpha * PENALTIES[penalty][1](w))


def null_objective(loss, y):
    """The objective of the best constant."""
    if loss == "squared":
        return 0.5 * np.var(y)
    share = np.mean(y == 1.0)
    if loss == "hinge":
        return 2.0 * min(share, 1.0 - share)
    return -share * np.log(share) - (1.0 - share) * np.log(1.0 - share)


@pytest.mark.parametrize("shift", [1e2, 1e4, -1e6])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", LOSSES)
def test_a_shift_changes_nothing(loss, penalty, layout, shift, data):
    X, z = data
    y = targets(loss, z)
    near = model(loss, penalty).fit(LAYOUTS[layout](X), y)
    shifted = LAYOUTS[layout](X + shift)
    far = model(loss, penalty).fit(shifted, y)
    assert near.converged_ and far.converged_
    assert far.n_iter_ <= 2 * near.n_iter_ and near.n_iter_ <= 2 * far.n_iter_
    unit = null_objective(loss, y)
    for fitted, features in ((near, X), (far, shifted)):
        certificate = fitted.certificate_
        value = objective(fitted, loss, penalty, features, y)
        assert certificate.relative_gap <= TOL
        assert_allclose(certificate.primal, value, rtol=0.0, atol=TOL * unit)
        assert value <= certificate.primal * (1.0 + 1e-15)
    # adding the shift rounds the features, which moves the optimum by about as much
    accuracy = 2.0 * TOL * unit + 1e-15 * abs(shift) * np.abs(far.coef_).sum()
    assert abs(near.certificate_.primal - far.certificate_.primal) <= accuracy
    assert_allclose(far.coef_, near.coef_, atol=2e-3)


@pytest.mark.parametrize("shift", [1e2, 1e4])
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", LOSSES)
def test_single_precision(loss, penalty, shift, data):
    """What single precision leaves of shifted features is what is fitted, and certified.

    Coefficients of single precision move predictions by its unit times the shift: that is the gap.
    """
    X, z = data
    y = targets(loss, z)
    stored = (X + shift).astype(np.float32)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*less precise in float32", ConvergenceWarning)
        single = model(loss, penalty).fit(stored, y)
    double = model(loss, penalty).fit(stored.astype(np.float64), y)
    unit = null_objective(loss, y)
    assert single.relative_gap_ <= 1e-6 * shift and double.converged_
    value = objective(single, loss, penalty, stored, y)
    assert_allclose(single.certificate_.primal, value, rtol=0.0, atol=TOL * unit)
    for one, other in ((single, double), (double, single)):
        assert one.certificate_.dual <= other.certificate_.primal
    assert_allclose(single.coef_, double.coef_, atol=2e-3)


@pytest.mark.parametrize("layout", [sp.csr_array, sp.csc_array, sp.csr_matrix])
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", LOSSES)
def test_one_far_column_of_sparse_features(loss, penalty, layout, data, rng):
    """A year beside counts: nearly dense, with a few entries that are not stored."""
    X, z = data
    X = np.where(np.abs(X) > 1.0, X, 0.0)
    X[:, 3] = 2000.0 + rng.integers(0, 20, len(X))
    y = targets(loss, z + 0.2 * (X[:, 3] - 2010.0))
    for gaps in (0, 3):
        X[:gaps, 3] = 0.0
        sparse = model(loss, penalty).fit(layout(X), y)
        dense = model(loss, penalty).fit(X, y)
        assert sparse.converged_ and dense.converged_
        value = objective(sparse, loss, penalty, X, y)
        unit = null_objective(loss, y)
        assert_allclose(sparse.certificate_.primal, value, rtol=0.0, atol=TOL * unit)
        for one, other in ((sparse, dense), (dense, sparse)):
            assert one.certificate_.dual <= other.certificate_.primal
        if gaps == 0:
            near = X - 2010.0 * (np.arange(8) == 3)
            near = model(loss, penalty).fit(layout(near), y)
            difference = sparse.certificate_.primal - near.certificate_.primal
            assert abs(difference) <= 2.0 * TOL * unit
            assert sparse.n_iter_ <= 2 * near.n_iter_


@pytest.mark.parametrize("loss", LOSSES)
def test_constant_and_near_columns_beside_far_ones(loss, data):
    X, z = data
    y = targets(loss, z)
    shift = np.array([0.0, 1e4, 0.0, -300.0, 0.0, 1e6, 20.0, 0.0])
    X[:, 4] = 0.0
    near = model(loss, "l1").fit(X, y)
    far = X + shift
    far[:, 4] = 1e4  # constant: it does what the intercept does, at a price
    far = model(loss, "l1").fit(far, y)
    unit = null_objective(loss, y)
    assert far.converged_ and far.coef_.ravel()[4] == 0.0
    accuracy = 2.0 * TOL * unit + 1e-9 * np.abs(far.coef_).sum()
    assert abs(far.certificate_.primal - near.certificate_.primal) <= accuracy


# Some of the models that it fits are constant.
@pytest.mark.filterwarnings("ignore:.*all coefficients are 0")
@pytest.mark.parametrize("loss, shift", [("hinge", 1e4), ("logistic", 1e4), ("squared", -1e6)])
@pytest.mark.parametrize("penalty", ["l1", "group"])
def test_a_path_is_that_of_single_fits(loss, penalty, shift, data):
    X, z = data
    y, far = targets(loss, z), X + shift
    estimator = model(loss, penalty)
    found = regularization_path(estimator, far, y, alphas=8, eps=0.02)
    assert found.converged.all()
    unit = null_objective(loss, y)
    for k, alpha in enumerate(found.alphas):
        fit = clone(estimator).set_params(alpha=alpha).fit(far, y)
        difference = found.certificates[k].primal - fit.certificate_.primal
        assert abs(difference) <= TOL * unit
        assert found.certificates[k].dual <= fit.certificate_.primal
        assert_allclose(found.coefs[k], fit.coef_.ravel(), atol=2e-3)
        fit.coef_, fit.intercept_ = found.coefs[k], found.intercepts[k]
        value = objective(fit, loss, penalty, far, y)
        assert_allclose(found.certificates[k].primal, value, rtol=0.0, atol=TOL * unit)


def test_weights_shift_by_weighted_means(data, rng):
    """Rows of weight 0 have no part in the shift."""
    X, z = data
    y, far = targets("hinge", z), X + 1e4
    weights = rng.integers(0, 3, len(y)).astype(float)
    weighted = model("hinge", "l1").fit(far, y, sample_weight=weights)
    repeats = weights.astype(int)
    repeated = model("hinge", "l1").fit(np.repeat(far, repeats, axis=0), np.repeat(y, repeats))
    assert weighted.converged_ and repeated.converged_
    assert weighted.certificate_.dual <= repeated.certificate_.primal
    assert repeated.certificate_.dual <= weighted.certificate_.primal
    assert_allclose(weighted.coef_, repeated.coef_, atol=1e-4)


@pytest.mark.parametrize("layout", [
    np.ascontiguousarray, np.asfortranarray, sp.csr_array, sp.csc_array,
])  # fmt: skip
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_designs_are_shifted_column_by_column(layout, dtype, rng):
    X = rng.normal(size=(40, 5)) * (rng.random((40, 5)) < 0.5)
    X[:, [1, 4]] = rng.normal([50.0, -700.0], 1.0, size=(40, 2))
    X[:, 2] = 9.0
    X, weights = X.astype(dtype), rng.dirichlet(np.ones(40))
    design = Design(layout(X))
    shift = design.shift_of_columns(weights)
    table = X.astype(np.float64)
    assert_allclose(shift, weights @ table * [0, 1, 0, 0, 1], rtol=1e-12)
    v = rng.normal(size=5)
    assert_allclose(design.shifted(shift).matvec(v), (table - shift) @ v, atol=1e-10)
    assert Design(layout(X[:, [0, 2, 3]])).shift_of_columns(weights) is None


def test_problems_are_centred_only_with_an_intercept(rng):
    X, y, rows = rng.normal(size=(20, 3)) + 100.0, np.ones(20), np.full(20, 1 / 20)
    with_intercept = linear_problem(Design(X), y, rows, Squared(), L1(), 0.1)
    other, shift = centred_problem(with_intercept)
    assert_allclose(shift, X.mean(axis=0), rtol=1e-12)
    w = rng.normal(size=3)
    z = with_intercept.matvec(np.append(w, 2.0))
    assert_allclose(other.matvec(np.append(w, 2.0 + shift @ w)), z, rtol=1e-12)
    assert (
        centred_problem(
            linear_problem(Design(X), y, rows, Squared(), L1(), 0.1, fit_intercept=False)
        )
        is None
    )
    assert centred_problem(linear_problem(Design(X - 100.0), y, rows, Hinge(), L1(), 0.1)) is None
