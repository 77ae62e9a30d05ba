"""Over the trace-norm ball: optimality, certificates, Ctrl-C and tables as they are."""

import itertools
import warnings
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge

from skpd import MultiTaskPD, TraceNormPD, certify
from skpd.certificates import dual_bound, primal_objective
from skpd.certificates.rigorous import rigorous_dual, rigorous_primal
from skpd.designs import Design
from skpd.losses import Squared
from skpd.penalties import L1, L1Ball, Spectral, SquaredL2OnL1Ball
from skpd.problems import Point
from skpd.problems.output_rows import outputs_problem
from skpd.solvers import solve
from skpd.solvers.frank_wolfe.dense_table import Table


def many_outputs(rng, n=60, d=12, c=8, rank=2):
    X = rng.normal(size=(n, d))
    factors = rng.normal(size=(d, rank)), rng.normal(size=(rank, c))
    return X, X @ factors[0] @ factors[1] + 1.0, np.linalg.norm(factors[0] @ factors[1], "nuc")


def test_a_ball_that_does_not_bind_is_ridge_regression(rng):
    X, Y, norm = many_outputs(rng)
    weights = rng.random(60)
    model = TraceNormPD(0.1, radius=10 * norm, tol=1e-12).fit(X, Y, sample_weight=weights)
    c = weights / weights.sum()
    centred, targets = X - c @ X, Y - c @ Y
    ridge = np.linalg.solve(
        centred.T @ (c[:, None] * centred) + 0.1 * np.eye(12), centred.T @ (c[:, None] * targets)
    )
    # the objective is 0.1 strongly convex: this is how far a gap of tol lets W be
    error = np.sqrt(2.0 * 1e-12 * 0.5 * float(c @ (targets**2).sum(axis=1)) / 0.1)
    assert error < 1e-4
    assert np.linalg.norm(model.coef_ - ridge.T) <= error
    assert_allclose(
        model.predict(X), X @ ridge + c @ Y - (c @ X) @ ridge,
        rtol=0.0, atol=error * np.max(np.linalg.norm(centred, axis=1)),
    )  # fmt: skip
    assert model.rank_ == 2


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csc_array])
def test_the_optimality_conditions_of_the_trace_norm(container, rng):
    """-X'(X W - Y) / n - alpha W is a multiple of U V' on the range of W, and no larger off it."""
    X, Y, norm = many_outputs(rng)
    Y = Y - 1.0
    model = TraceNormPD(
        0.1, radius=0.5 * norm, tol=1e-11, fit_intercept=False, max_iter=20_000
    ).fit(container(X), Y)
    W = model.coef_.T
    assert np.linalg.norm(W, "nuc") <= 0.5 * norm
    U, sigma, V = np.linalg.svd(W)
    assert (sigma > 1e-8).sum() == model.rank_
    gradient = -X.T @ (X @ W - Y) / len(X) - 0.1 * W
    inside = U[:, : model.rank_].T @ gradient @ V[: model.rank_].T
    multiplier = np.trace(inside) / model.rank_
    assert_allclose(inside, multiplier * np.eye(model.rank_), atol=1e-4 * multiplier)
    assert np.linalg.norm(gradient, 2) <= multiplier * (1 + 1e-4)


def test_trace_norm_bounds_hold_for_any_step(rng):
    X, Y, norm = many_outputs(rng)
    best = TraceNormPD(0.1, radius=0.5 * norm, tol=1e-9, max_iter=20_000).fit(X, Y).certificate_
    for options in ({}, {"n_rows": 5}, {"rank": 1}, {"delta": 1e6}, {"eta": 0.01}):
        model = TraceNormPD(
            0.1, radius=0.5 * norm, tol=1e-9, max_iter=50, solver="frank-wolfe",
            solver_options=options,
        )  # fmt: skip
        with pytest.warns(ConvergenceWarning):
            model.fit(X, Y)
        assert model.certificate_.dual <= best.primal
        assert model.certificate_.primal >= best.dual
        assert np.linalg.norm(model.coef_, "nuc") <= 0.5 * norm
    single = TraceNormPD(0.1, tol=1e-8).fit(X, Y[:, 0])
    assert single.coef_.shape == (12,) and isinstance(single.intercept_, np.float64)


@pytest.mark.parametrize("options", [{}, {"solver": "frank-wolfe", "max_iter": 200}], ids=str)
@pytest.mark.parametrize("share", [0.5, 0.7, 0.9])
def test_ctrl_c_leaves_a_certified_matrix(share, options, rng, monkeypatch):
    """The best so far, wherever it comes: its value, and bounds of the optimum."""
    X, Y, norm = many_outputs(rng)
    model = TraceNormPD(0.1, radius=0.5 * norm, tol=1e-9, random_state=0, **options)
    best = TraceNormPD(0.1, radius=0.5 * norm, tol=1e-9, max_iter=20_000).fit(X, Y).certificate_
    matmul, calls = Table.matmul, []

    def interrupt(self, M):
        calls.append(M)
        if len(calls) == last:
            raise KeyboardInterrupt
        return matmul(self, M)

    monkeypatch.setattr(Table, "matmul", interrupt)
    last = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        clone(model).fit(X, Y)
    last = round(share * len(calls))
    calls.clear()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    found = model.certificate_
    assert len(calls) <= last + 2 and model.gap_history_["gap"][-1] == model.duality_gap_
    value = 0.5 * np.mean(np.sum((Y - model.predict(X)) ** 2, axis=1))
    value += 0.05 * np.sum(model.coef_**2)
    assert_allclose(found.primal, value, rtol=1e-12)
    assert found.dual <= best.primal and found.primal >= best.dual
    assert np.linalg.norm(model.coef_, "nuc") <= 0.5 * norm
    assert found.primal < 0.5 * np.sum(np.var(Y, axis=0))  # better than 0


def exact_objective(X, Y, W, b, alpha):
    """P(W, b) in rational arithmetic."""
    value = Fraction(alpha) * sum(Fraction(w) ** 2 for w in W.ravel()) / 2
    for row, target in zip(X, Y, strict=True):
        for w, intercept, y in zip(W, b, target, strict=True):
            z = sum(Fraction(x) * Fraction(v) for x, v in zip(row, w, strict=True))
            value += (z + Fraction(intercept) - Fraction(y)) ** 2 / (2 * len(X))
    return value


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("shift", [0.0, 1e6, 1e8, -1e10])
def test_the_interval_holds_the_optimum_of_shifted_features(shift, container, rng):
    """A shift of X moves the intercept and nothing else; it is exact in multiples of 2^-16."""
    X, Y, _ = many_outputs(rng, n=16, d=6, c=3)
    X = np.round(X * 2.0**16) / 2.0**16
    options = {"alpha": 2.0**-10, "radius": 5.0, "max_iter": 20_000}
    best = TraceNormPD(tol=1e-10, **options).fit(X, Y).certificate_
    model = TraceNormPD(tol=1e-6, **options).fit(container(X + shift), Y)
    certificate = model.certificate_
    assert certificate.dual <= best.primal and certificate.primal >= best.dual
    assert certificate.relative_gap <= 1e-6
    exact = exact_objective(X + shift, Y, model.coef_, model.intercept_, 2.0**-10)
    assert Fraction(certificate.primal) >= exact
    assert certificate.primal - float(exact) <= 1e-6 * 0.5 * np.sum(np.var(Y, axis=0))


def test_certificates_of_the_trace_norm_far_from_the_optimum(rng):
    """Random models and dual points, in rational arithmetic and at many scales."""
    for scale in (1e-60, 1e-3, 1.0, 1e8):
        for shift in (0.0, 1e3, 1e12):
            X, Y = scale * (rng.normal(size=(9, 3)) + shift), 10.0 * rng.normal(size=(9, 2))
            c = np.full(9, 1 / 9)
            ball = Spectral(SquaredL2OnL1Ball(2.0 / scale), 2)
            alpha = 1e-3 * scale**2
            problem = outputs_problem(
                Design(X), Y, c, Squared(), ball, alpha=alpha, fit_intercept=True
            )
            W, theta = rng.normal(size=(3, 2)) / scale, rng.normal(size=(9, 2))
            W /= np.linalg.norm(W * scale, "nuc")
            w, b = np.ravel(W), Table(problem).intercept(W)
            exact = exact_objective(X, Y, W.T, b, problem.alpha)
            primal = primal_objective(problem, w, b)
            assert Fraction(primal) >= exact * (1 - Fraction(1, 10**15))
            assert Fraction(rigorous_primal(problem, w, b)[0]) >= exact
            for point in (theta, X @ W + b - Y, 0.1 * (X @ W + b - Y)):
                dual_point = np.ravel(point)
                assert Fraction(dual_bound(problem, dual_point, primal).value) <= exact
                assert Fraction(rigorous_dual(problem, dual_point, primal)[0]) <= exact


def test_precise_products_where_rounding_would_widen_the_interval(rng):
    """Of features near 1e6 plain products know 10 digits, the certificate more."""
    X, Y, _ = many_outputs(rng, n=40, d=6, c=3)
    model = TraceNormPD(1e-3, radius=5.0, tol=1e-10, max_iter=20_000).fit(X + 1e6, Y)
    assert model.certificate_.relative_gap <= 1e-9


@pytest.mark.parametrize("rigorous", [False, True])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_certify_a_matrix(container, rigorous, rng):
    """Its own model, ridge regression as what a ball that does not bind makes of it, and W = 0."""
    X, Y, norm = many_outputs(rng)
    s = rng.random(len(X))
    model = TraceNormPD(0.1, radius=0.5 * norm, tol=1e-9, max_iter=20_000)
    own = model.fit(container(X), Y, s).certificate_
    found = certify(model, container(X), Y, s, rigorous=rigorous)
    assert found.relative_gap <= 2e-7
    assert max(found.dual, own.dual) <= min(found.primal, own.primal)
    ridge = Ridge(0.1 * s.sum()).fit(X, Y, s)
    wide = clone(model).set_params(radius=10 * norm, tol=0.5).fit(X, Y, s)
    wide.coef_, wide.intercept_ = ridge.coef_, ridge.intercept_
    assert certify(wide, X, Y, s, rigorous=rigorous).relative_gap <= 1e-9
    wide.coef_ = 0.0 * ridge.coef_
    wide.intercept_ = s @ Y / s.sum()
    null = certify(wide, X, Y, s, rigorous=rigorous)
    c = s / s.sum()
    assert_allclose(null.primal, 0.5 * np.sum(c @ (Y - c @ Y) ** 2), rtol=1e-9)
    assert_allclose(null.relative_gap, 1.0, rtol=1e-9)


def test_line_searches_begin_inside_of_the_ball():
    """From coefficients without residuals outside of it, and from zeros."""
    rng = np.random.default_rng(9)
    X, radius = rng.normal(size=(50, 6)), 2.0
    Y = X @ rng.normal(size=(6, 3))
    coef = np.linalg.lstsq(X, Y, rcond=None)[0]
    assert np.linalg.norm(coef, "nuc") > radius
    ball, c = Spectral(SquaredL2OnL1Ball(radius), 3), np.full(50, 0.02)
    problem = outputs_problem(Design(X), Y, c, Squared(), ball, alpha=0.1, fit_intercept=False)
    for start in (coef, np.zeros((6, 3))):
        solution = solve(
            problem, "line-search-frank-wolfe", tol=1e-6, max_iter=30,
            random_state=np.random.RandomState(0),
            start=Point(np.ravel(start), np.zeros(3), np.zeros(150)),
        )  # fmt: skip
        assert solution.converged
        assert np.linalg.norm(solution.coef.reshape(6, 3), "nuc") <= radius * (1.0 + 1e-9)


@pytest.mark.parametrize("scale, name", [((1e200, 1.0), "X"), ((1.0, 1e200), "y")])
def test_numbers_too_large_for_the_trace_norm(scale, name, rng):
    X, Y, _ = many_outputs(rng)
    with pytest.raises(ValueError, match=f"^{name} must hold values of at most 1e.70 in size"):
        TraceNormPD().fit(scale[0] * X, scale[1] * Y)


@pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("loss", ["squared", "absolute", "l2_norm"])
@pytest.mark.parametrize("load", [load_wine, load_breast_cancer])
def test_tables_as_they_are(load, loss):
    """On scales from 0.1 to 1,000 fits converge, in a wide ball to the model of Ridge."""
    X, y = load(return_X_y=True)
    Y = np.eye(3)[y] + X[:, :1] / X[:, 0].max()
    model = TraceNormPD(1e-3, radius=1.0, loss=loss).fit(X, Y)
    assert model.certificate_.relative_gap <= 1e-4
    assert np.linalg.norm(model.coef_, "nuc") <= 1.0 + 1e-12
    if loss == "squared":
        free = TraceNormPD(1e-3, radius=1e3, tol=1e-9).fit(X, Y)
        ridge = Ridge(1e-3 * len(X), solver="svd").fit(X, Y)
        size = np.abs(ridge.coef_).max()
        assert_allclose(free.coef_, ridge.coef_, atol=1e-3 * size)


@pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")
def test_matrices_with_entries_on_several_scales(rng):
    """A row is a matrix of 18 x 18, whose coefficients are few beside those of 324 outputs."""
    X = rng.normal(size=(100, 324)) * 10.0 ** rng.uniform(-2, 2, 324)
    y = X @ rng.normal(size=324) / np.linalg.norm(X, axis=1) + rng.normal(size=100)
    model = TraceNormPD(1e-3, radius=5.0, loss="absolute", n_columns=18).fit(X, y)
    assert model.solver_ == "interior-point" and model.certificate_.relative_gap <= 1e-4
    assert np.linalg.norm(model.coef_.reshape(18, 18), "nuc") <= 5.0 + 1e-12


def test_balls_of_other_matrices_than_that_of_the_outputs(rng):
    """The rows of a matrix may be 8 coefficients of 4 outputs; their number must be given."""
    X, Y, _ = many_outputs(rng)
    model = MultiTaskPD(0.1, penalty=Spectral(SquaredL2OnL1Ball(2.0), 8)).fit(X, Y[:, :4])
    assert model.certificate_.relative_gap <= 1e-4
    for values, K in itertools.product((L1(), L1Ball(1.0), SquaredL2OnL1Ball(2.0)), (1, 4)):
        with pytest.raises(ValueError, match=f"n_outputs of Spectral must be .*, {K}, got"):
            MultiTaskPD(0.1, penalty=Spectral(values)).fit(X, Y[:, :K])


# Some of the models that it fits are constant.
@pytest.mark.filterwarnings("ignore:.*all coefficients are 0")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "alpha, radius", [(5e-324, 1.0), (1e300, 1.0), (1.0, 1e300), (1.0, 1e-300)]
)
def test_parameters_of_any_size(alpha, radius, rng):
    X, Y, _ = many_outputs(rng)
    for scale in (1e-300, 1e-60, 1.0, 1e60):
        found = TraceNormPD(alpha, radius=radius, max_iter=20).fit(scale * X, Y).certificate_
        assert 0.0 <= found.dual <= found.primal <= 0.5 * np.sum(np.var(Y, axis=0)) * (1 + 1e-12)
