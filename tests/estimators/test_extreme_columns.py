"""Features without a penalty at the ends of the scale: the model of other units, in these units.

A column times a power of two with its coefficient over it is the same model, exactly. So the
optimum of ordinary columns, by scikit-learn, SciPy or skpd's own certificate there, is that of
the extreme ones.
"""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor

from skpd import (
    CoxPD,
    ElasticNetPD,
    LassoPDCertified,
    LogisticPD,
    MultinomialPD,
    MultiTaskPD,
    OrdinalPD,
    PdproxRegressor,
    PdproxSVC,
    PoissonPD,
    RowBlocks,
    certify,
)
from skpd.designs import Design

LAYOUTS = {
    "dense": np.array, "Fortran": np.asfortranarray, "CSR": sp.csr_array, "CSC": sp.csc_matrix,
}  # fmt: skip
EXPONENTS = (-1000, -565, -540, 515, 600, 900)  # of columns whose squares vanish or overflow


def data(rng, n=40, d=3):
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.8)
    score = X @ np.array([1.0, -1.0, 0.5])[:d] + rng.logistic(size=n)
    return X, score


def times(score, event):
    y = np.empty(len(score), dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = event, np.exp(-score)
    return y


MODELS = {
    "squared": (lambda: PdproxRegressor(0.0, loss="squared"), lambda s: s),
    "huber": (lambda: PdproxRegressor(0.0, loss="huber"), lambda s: s),
    "absolute": (lambda: PdproxRegressor(0.0), lambda s: s),
    "logistic": (lambda: LogisticPD(alpha=0.0), lambda s: s > 0.0),
    "hinge": (lambda: PdproxSVC(alpha=0.0), lambda s: s > 0.0),
    "softmax": (lambda: MultinomialPD(alpha=0.0), lambda s: np.digitize(s, [-1.0, 1.0])),
    "ordinal": (lambda: OrdinalPD(alpha=0.0), lambda s: np.digitize(s, [-1.0, 1.0])),
    "poisson": (lambda: PoissonPD(alpha=0.0), lambda s: np.floor(np.exp(0.5 * s))),
    "cox": (lambda: CoxPD(alpha=0.0), lambda s: times(s, s > -1.0)),
    "tasks": (lambda: MultiTaskPD(0.0), lambda s: np.column_stack([s, np.abs(s)])),
}


@pytest.mark.parametrize("exponent", EXPONENTS)
@pytest.mark.parametrize("name", MODELS)
def test_powers_of_two_change_units_alone(name, exponent, rng):
    make, target = MODELS[name]
    X, score = data(rng)
    y, unit = target(score), np.ldexp(1.0, [exponent, 0, -exponent // 2])
    plain = make().set_params(tol=1e-9).fit(X, y)
    model = make().set_params(tol=1e-9).fit(X * unit, y)
    assert plain.converged_ and model.converged_
    assert model.certificate_.dual <= plain.certificate_.primal * (1.0 + 1e-12)
    assert_allclose(model.certificate_.primal, plain.certificate_.primal, rtol=1e-8)
    assert_allclose(model.coef_ * unit, plain.coef_, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("exponent", EXPONENTS)
def test_least_squares_in_every_layout(layout, exponent, rng):
    X, score = data(rng)
    unit = np.ldexp(1.0, [exponent, exponent // 2, 0])
    model = ElasticNetPD(0.0, tol=1e-10).fit(LAYOUTS[layout](X * unit), score)
    right = LinearRegression().fit(X, score)
    assert_allclose(model.coef_ * unit, right.coef_, rtol=1e-5)
    best = np.mean((score - right.predict(X)) ** 2) / 2.0
    assert best * (1.0 - 1e-8) <= model.certificate_.dual <= best * (1.0 + 1e-14)


@pytest.mark.parametrize("exponent", [-149, -140, -75, 62, 100, 126])
@pytest.mark.parametrize("name", ["squared", "logistic", "poisson"])
def test_float32(name, exponent, rng):
    """Columns below 1e-38 have fewer digits; the model is that of the rounded columns."""
    make, target = MODELS[name]
    X, score = data(rng)
    Z = np.ldexp(X, [exponent, 0, 0]).astype(np.float32)
    y = target(score)
    of_double = make().set_params(tol=1e-9).fit(np.ldexp(Z.astype(float), [-exponent, 0, 0]), y)
    model = make().set_params(tol=1e-4).fit(Z, y)
    best = of_double.certificate_.primal
    assert model.certificate_.dual <= best * (1.0 + 1e-9)
    assert np.isfinite(model.certificate_.primal) and np.isfinite(model.coef_).all()


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_blocks_have_valid_bounds(exponent, rng):
    X, score = data(rng)
    blocks = RowBlocks(
        [np.ldexp(X[rows], [exponent, 0, 0]) for rows in (slice(25), slice(25, 40))]
    )
    with np.errstate(all="ignore"):
        certificate = PdproxRegressor(0.0, loss="squared").fit(blocks, score).certificate_
    best = np.mean((score - LinearRegression().fit(X, score).predict(X)) ** 2) / 2.0
    assert certificate.dual <= best * (1.0 + 1e-12)
    assert certificate.primal >= best * (1.0 - 1e-12)


@pytest.mark.parametrize("exponent", [-1000, -565, 900])
def test_certify_of_peers(exponent, rng):
    """Their coefficients of ordinary columns, in the units of extreme ones."""
    X, score = data(rng)
    for peer, y in (
        (PoissonRegressor(alpha=0.0, tol=1e-10, max_iter=1000), np.floor(np.exp(0.5 * score))),
        (LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000), score > 0.0),
    ):
        best = certify(peer.fit(X, y), X, y)
        peer.coef_ = np.ldexp(peer.coef_, [-exponent, 0, 0])
        there = certify(peer, np.ldexp(X, [exponent, 0, 0]), y)
        assert_allclose(there.primal, best.primal, rtol=1e-14)
        assert there.dual <= best.primal * (1.0 + 1e-14)


def test_wide_data_beyond_the_range_of_squares(rng):
    """Every y is reached, which no constant does, so the objective is 0 and not the constant's."""
    w, y = rng.normal(size=(5, 7)), rng.normal(size=5)
    for unit in (1e-170, 1e150, 1e155, 1e250):
        certificate = ElasticNetPD(alpha=0).fit(w * unit, y).certificate_
        assert certificate.primal <= 1e-12 and certificate.dual <= certificate.primal


@pytest.mark.filterwarnings("ignore:.* ignores all features")
@pytest.mark.parametrize("make", [MultinomialPD, LogisticPD, OrdinalPD, CoxPD])
def test_columns_of_zeros(make):
    score = np.array([0.0, 1.0, 2.0, 0.0, 1.0, 1.0])
    y = times(score, score > 0.0) if make is CoxPD else score
    options = {"fit_intercept": False} if make in (MultinomialPD, LogisticPD) else {}
    model = make(alpha=0, **options).fit(np.zeros((6, 1)), y)
    assert model.converged_ and not model.coef_.any()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_norms_of_columns(layout):
    """Euclidean norms without underflow or overflow, where they are numbers at all."""
    X = np.array([[3e-200, 3e200, 0.0, 3.0], [4e-200, 4e200, 0.0, -4.0]])
    design = Design(LAYOUTS[layout](X))
    norms = design.column_norms(np.full(2, 0.25))
    assert_allclose(norms, [2.5e-200, 2.5e200, 0.0, 2.5], rtol=1e-15)


def test_penalised_columns_beside_extreme_ones(rng):
    """The lasso of the residuals of a free column, whatever its unit."""
    X, score = data(rng, d=3)
    weights = [0.0, 1.0, 1.0]
    plain = PdproxRegressor(
        0.1, loss="squared", penalty="l1", penalty_weights=weights, tol=1e-9
    ).fit(X, score)
    for exponent in EXPONENTS:
        Z = np.ldexp(X, [exponent, 0, 0])
        model = plain.__class__(**plain.get_params()).fit(Z, score)
        assert_allclose(np.ldexp(model.coef_, [exponent, 0, 0]), plain.coef_, atol=1e-6)
        assert_allclose(model.certificate_.dual, plain.certificate_.dual, rtol=1e-7)


def test_weights_of_many_scales_say_rounding(rng):
    """A gap that rounding errors may be is not said to be none."""
    X, score = data(rng)
    text = str(LassoPDCertified(alpha=0).fit(X[:3], score[:3]).certificate_)
    assert "within rounding errors" in text
