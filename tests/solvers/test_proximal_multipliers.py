"""The default engine: its compiled parts, and its answers against independent optima."""

import signal
import threading
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.linear_model import Lasso

from benchmarks import certificates as random
from skpd import kernels
from skpd.designs import Design, WeightedGram
from skpd.designs.gram import CurvatureForm, MatrixCurvature
from skpd.losses import Absolute, Hinge, Squared
from skpd.penalties import (
    L1,
    Box,
    ElasticNet,
    GroupL2,
    NonNegativeL1,
    SquaredL2,
    SquaredL2OnL1Ball,
)
from skpd.problems import Point, linear_problem
from skpd.solvers import METHODS, Monitor, SolverContext, solve
from skpd.solvers.newton import in_memory, quadratic
from skpd.solvers.newton import penalty_of_model as parts
from skpd.solvers.newton.proximal_multipliers import proximal_multipliers
from skpd.solvers.newton.quadratic import quadratic_model
from skpd.solvers.newton.settings import QUADRATIC, SETTINGS
from tests.oracles.reference import linear_programme
from tests.pairs import every_fourth_pair

ENGINE_PENALTIES = [
    p for p in random.PENALTIES if hasattr(type(p), "terms") or hasattr(type(p), "group_terms")
]


@pytest.mark.parametrize("ones", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "layout", [np.ascontiguousarray, np.asfortranarray, sp.csr_array, sp.csc_array]
)
def test_gram(layout, dtype, ones, rng):
    X = (rng.normal(size=(60, 12)) * (rng.random((60, 12)) < 0.5)).astype(dtype)
    h = rng.random(60) * (rng.random(60) < 0.6)
    for columns in ([0, 1, 2, 3], [1, 4, 5, 11], list(range(12)), []):
        columns = np.array(columns, dtype=np.int64)
        design = Design(layout(X))
        out = np.full((len(columns) + ones, len(columns) + ones), np.nan)
        design.matrix.gram(h, columns, ones, out)
        A = X[:, columns].astype(np.float64)
        A = np.column_stack([A, np.ones(60)]) if ones else A
        assert_allclose(out, A.T @ (h[:, None] * A), atol=1e-12)
        assert_allclose(design.gram(h, columns, ones), out, atol=1e-12)


@pytest.mark.parametrize("ones", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray])
def test_gram_of_a_tall_matrix(layout, dtype, ones, rng):
    """Panels of its rows with equal weights, with others, and with rows left out."""
    n = 5300
    X = rng.normal(size=(n, 9)).astype(dtype)
    uneven, gaps = np.full(n, 0.25), np.full(n, 0.5)
    uneven[1100:1400], uneven[4000:] = rng.random(300), 2.0
    gaps[rng.random(n) < 0.1] = 0.0
    columns = np.array([0, 2, 3, 4, 7, 8])
    A = np.column_stack([X[:, columns].astype(np.float64), np.ones((n, int(ones)))])
    for h in (np.full(n, 0.5), uneven, gaps, -uneven, np.zeros(n)):
        out = np.full((6 + ones, 6 + ones), np.nan)
        Design(layout(X)).matrix.gram(h, columns, ones, out)
        assert_allclose(out, A.T @ (h[:, None] * A), atol=1e-9)


def test_gram_of_rows_without_curvature(rng):
    """After a change of the rows nothing is left that could be updated."""
    design, columns, h = Design(rng.normal(size=(9, 3))), np.arange(3), rng.random(9)
    gram, none = WeightedGram(True), np.zeros(9)
    gram.of(design, h, columns)
    gram.forget()
    assert_allclose(gram.of(design, none, columns), np.zeros((4, 4)))


def test_a_matrix_is_given_again_with_its_factors(rng):
    """For the same weights and columns; a solver must find in it what it put there."""
    design, gram = Design(rng.normal(size=(30, 6))), WeightedGram(True)
    h, columns = rng.random(30), np.array([0, 2, 5])
    H = gram.curvature(design, h, 1.0, columns)
    before = H.matrix.copy()
    g, w = rng.normal(size=4), np.zeros(4)
    p = quadratic_model(H).minimise(g, w, L1(), 0.1, columns, 1e-12)
    assert gram.curvature(design, h.copy(), 1.0, columns.copy()) is H
    assert np.array_equal(H.matrix, before)
    again = quadratic_model(H).minimise(g, w, L1(), 0.1, columns, 1e-12)
    assert_allclose(again, p, rtol=1e-12)
    others = gram.curvature(design, h, 1.0, columns[:2])  # the factors are of its entries as well
    assert others.system is H.system
    assert_allclose(others.matrix, before[np.ix_([0, 1, 3], [0, 1, 3])])
    h[3] += 1.0
    assert gram.curvature(design, h, 1.0, columns).system is not H.system


@pytest.mark.parametrize("penalty", [
    L1(), ElasticNet(0.3), SquaredL2(), NonNegativeL1(), Box(-0.5, 1.0),
], ids=str)  # fmt: skip
@pytest.mark.parametrize("steps", [None, "of each"])
def test_features_that_are_active_or_violate(penalty, steps, rng):
    alpha, step = 0.7, 0.2
    w = rng.normal(size=200) * (rng.random(200) < 0.3)
    w, g, expected = penalty.prox(w, 0.0), rng.normal(size=200), rng.normal(size=200)
    sizes = np.ones(200) if steps is None else rng.random(200)
    given = (w, g, penalty.kernel_terms(alpha, 200), step, sizes if steps else None)
    steps = step * sizes
    violation = np.abs(w - penalty.prox(w - steps * g, steps * alpha)) / steps
    joining = penalty.prox(w - steps * expected, steps * alpha) != 0.0
    for hint, chosen in ((None, violation > 0.0), (expected, (violation > 0.0) & joining)):
        chosen |= w != 0.0
        columns, found, largest = kernels.active_or_violating(*given, hint)
        assert_array_equal(columns, np.flatnonzero(chosen))
        assert_allclose(found, violation[chosen], rtol=1e-12, atol=1e-12)
        assert_allclose(largest, violation.max(), rtol=1e-12)


def test_gram_refuses_columns_that_do_not_fit(rng):
    design = Design(rng.normal(size=(5, 3)))
    for columns in ([2, 1], [0, 0], [0, 3], [-1, 0]):
        with pytest.raises(ValueError, match="columns must increase"):
            design.matrix.gram(np.ones(5), np.array(columns), False, np.empty((2, 2)))


@pytest.mark.parametrize("layout", [np.ascontiguousarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("ones", [True, False])
def test_weighted_gram_follows_its_weights_and_columns(layout, ones, rng):
    X = rng.normal(size=(200, 12))
    design, gram = Design(layout(X)), WeightedGram(ones)
    h, rows = rng.random(200) * (rng.random(200) < 0.5), np.arange(200)
    columns = np.arange(12)
    some = design
    for turn in range(30):
        if turn == 10:  # as when rows are left out, and come back
            rows = np.flatnonzero((h > 0.0) | (rng.random(200) < 0.3))
            gram.forget()
            some = design.rows(rows)
        if turn == 20:
            gram.forget()
            rows, some = np.arange(200), design
        moved = rng.choice(rows, size=80 if turn % 7 == 0 else 5)
        h[moved] = np.where(h[moved] > 0.0, 0.0, rng.random(len(moved)))
        if turn % 3 == 0:
            columns = np.sort(rng.choice(12, size=rng.integers(6, 13), replace=False))
        found = gram.of(some, h[rows], columns)
        table = np.column_stack([X[:, columns], np.ones(200)]) if ones else X[:, columns]
        assert_allclose(found, table.T @ (h[:, np.newaxis] * table), atol=1e-10)
        found *= np.nan  # is the caller's


@pytest.mark.parametrize(
    ("loss", "sigma"),
    [
        (loss, sigma)
        for loss in random.LOSSES
        for sigma in (0.3, 20.0, np.inf)
        if sigma < np.inf or not loss.has_kinks
    ],
    ids=str,
)
def test_smoothed_derivatives(loss, sigma, rng):
    """The derivative is that of the envelope, by its definition; the curvature its slope."""
    n, h = 400, 1e-6
    y = np.sign(rng.normal(size=n)) if hasattr(loss, "_min_margin") else rng.normal(size=n)
    y = np.abs(y) if loss.has_log_link else y
    z = 3 * rng.normal(size=n)
    theta = loss.project_dual(y, rng.normal(size=n))
    weights = 0.1 + rng.random(n)

    def derivatives(z):
        first, gradient, curvature = np.empty(n), np.empty(n), np.empty(n)
        primal, dual = loss.evaluator.smoothed_derivatives(
            y, weights, theta, z, sigma, first, gradient, curvature
        )
        assert_allclose(primal, weights @ loss.value(y, z), rtol=1e-12)
        assert_allclose(dual, loss.dual_value(y, weights, first)[0], rtol=1e-9, atol=1e-12)
        assert_allclose(gradient, weights * first)
        return first, curvature / weights * (sigma if np.isfinite(sigma) else 1.0)

    first, second = derivatives(z)
    if sigma == np.inf:
        assert_allclose(first, loss.gradient(y, z), atol=1e-12)
    else:
        assert_allclose(first, loss.prox_conjugate(y, theta + sigma * z, sigma), atol=1e-9)
    quotient = (derivatives(z + h)[0] - derivatives(z - h)[0]) / (2 * h)
    near_kink = np.abs(quotient - second) > 1e-4 * (1 + np.abs(second))
    assert near_kink.mean() <= 0.01  # a difference across a kink is no derivative
    direction = rng.normal(size=n)
    slope = loss.evaluator.smoothed_slope(y, weights, theta, z, direction, 0.7, sigma)
    expected = weights @ (derivatives(z + 0.7 * direction)[0] * direction)
    assert_allclose(slope, expected, rtol=1e-10, atol=1e-12)


def _minimum(H, *arguments):
    return quadratic_model(MatrixCurvature(H)).minimise(*arguments)


@pytest.fixture
def unlimited(monkeypatch):
    """As many rounds and passes as a quadratic model takes."""
    settings = replace(QUADRATIC, most_rounds=300, most_passes=np.inf)
    for module in (parts, quadratic):
        monkeypatch.setattr(module, "QUADRATIC", settings)


def test_a_newton_step_counts_coordinates_of_a_group_that_it_leaves():
    """Newton's method takes x from 1.15 to -1.52 on sqrt(x^2 + 1), which is larger there."""
    p, r = np.array([1.15, 1.0]), np.zeros(2)
    group = kernels.GroupedCoordinates(0.0, np.ones(1), np.array([0, 2]))
    kernels.minimise_grouped(np.diag([1e-9, 0.0]), group, p, r, sweeps=0, tol=-1.0, rounds=2)
    assert p[1] == 1.0 and abs(p[0]) < 1.15


@pytest.mark.usefixtures("unlimited")
@pytest.mark.parametrize("penalty", ENGINE_PENALTIES, ids=str)
@pytest.mark.parametrize("intercept", [True, False])
def test_penalised_quadratic(penalty, intercept, rng):
    """Against the proximal gradient fixed point, which characterises the minimiser."""
    for d in (4, 8, 8, 12, 16):
        m = d + intercept
        A = rng.normal(size=(20, m))
        H, g, w = A.T @ A / 20, rng.normal(size=m), rng.normal(size=m)
        bound = penalty.for_n_features(d)
        w[:d] = bound.prox(w[:d], 1e-3)
        columns = np.arange(d, dtype=np.int64)
        p = _minimum(H, g, w, bound, 0.3, columns, 1e-12)
        gradient = g + H @ (p - w)
        step = 0.1
        fixed = bound.prox(p[:d] - step * gradient[:d], step * 0.3)
        assert_allclose(fixed, p[:d], atol=1e-9)
        if intercept:
            assert abs(gradient[-1]) <= 1e-9


@pytest.mark.usefixtures("unlimited")
def test_many_coordinates_cross_their_kinks(rng):
    """From a dense point of a problem whose columns are alike, where descent alone is slow."""
    for _ in range(10):
        A = np.cumsum(rng.normal(size=(80, 60)), axis=1)
        H, g, w = A.T @ A / 80, rng.normal(size=60), rng.normal(size=60)
        p = _minimum(H, g, w, L1().for_n_features(60), 0.5, np.arange(60), 1e-10)
        gradient = g + H @ (p - w)
        assert 20 < np.count_nonzero(p) < 55
        assert_allclose(gradient[p != 0.0], -0.5 * np.sign(p[p != 0.0]), atol=1e-9)
        assert np.max(np.abs(gradient)) <= 0.5 + 1e-9


@pytest.mark.usefixtures("unlimited")
def test_groups_of_scattered_features(rng):
    """A working set in increasing order, its groups not."""
    penalty = GroupL2(groups=[[0, 5], [3, 1], [2, 4]]).for_n_features(6)
    A = rng.normal(size=(20, 6))
    H, g = A.T @ A / 20, rng.normal(size=6)
    p = _minimum(H, g, np.zeros(6), penalty, 0.2, np.arange(6), 1e-12)

    def objective(q):
        return g @ q + q @ H @ q / 2 + 0.2 * penalty.value(q)

    best = min(
        minimize(objective, p + 0.1 * rng.normal(size=6), method="Nelder-Mead",
                 options={"maxiter": 5000, "xatol": 1e-9, "fatol": 1e-13}).fun
        for _ in range(3)
    )  # fmt: skip
    assert objective(p) <= best + 1e-9


def test_a_coordinate_without_curvature_of_its_own(rng):
    """The penalty's is enough."""
    penalty = ElasticNet(l1_ratio=0.5).for_n_features(2)
    H, g, w = np.diag([2.0, 0.0]), np.array([1.0, -3.0]), np.array([0.0, 0.5])
    p = _minimum(H, g, w, penalty, 1.0, np.arange(2), 1e-12)
    assert_allclose(p, [-(1.0 - 0.5) / 2.5, (3.0 - 0.5) / 0.5])


@pytest.fixture(params=[True, False], ids=["by columns", "by Gram matrix"])
def by_columns(request, monkeypatch):
    """The form of the curvature, whatever it costs."""
    monkeypatch.setattr(WeightedGram, "_favours_columns", lambda *arguments: request.param)
    return request.param


LAYOUTS = [np.ascontiguousarray, np.asfortranarray, sp.csr_array, sp.csc_array]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.usefixtures("unlimited")
@pytest.mark.parametrize("penalty", ENGINE_PENALTIES, ids=str)
def test_penalised_quadratic_by_columns(penalty, layout, dtype, rng, monkeypatch):
    """The same fixed point, with more columns than rows that curve and with fewer."""
    monkeypatch.setattr(WeightedGram, "_favours_columns", lambda *arguments: True)
    n, d = 30, 24
    X = (rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)).astype(dtype)
    bound, design = penalty.for_n_features(d), Design(layout(X))
    table = np.column_stack([X.astype(np.float64), np.ones(n)])
    h = rng.random(n) * (rng.random(n) < 0.6)
    step = 0.02
    for ones in (True, False):
        gram = WeightedGram(ones)
        for columns in (np.arange(6, 18), np.arange(d)):
            inside = np.append(columns, np.full(int(ones), d))
            ridge = 0.1 + rng.random(len(inside))
            curvature = gram.curvature(design, h, 3.0, columns, ridge)
            A = table[:, inside]
            H = 3.0 * A.T @ (h[:, None] * A) + np.diag(ridge)
            g, w = rng.normal(size=len(inside)), np.zeros(d + 1)
            w[:d] = bound.prox(rng.normal(size=d), 1e-3)
            p = w.copy()
            model = quadratic_model(curvature)
            p[inside] = model.minimise(g, w[inside], bound, 0.1, columns, 1e-11)
            gradient = np.zeros(d + 1)
            gradient[inside] = g + H @ (p - w)[inside]
            fixed = bound.prox(p[:d] - step * gradient[:d], step * 0.1)
            assert_allclose(fixed[columns], p[columns], atol=1e-8)
            assert not ones or abs(gradient[d]) <= 1e-8
            assert curvature.passes > 0


@pytest.mark.usefixtures("unlimited")
@pytest.mark.parametrize("ones", [True, False])
@pytest.mark.parametrize("penalty", [L1(), NonNegativeL1(), ElasticNet(l1_ratio=0.9)], ids=str)
def test_factors_follow_a_support(penalty, ones, rng):
    """Along a path, on working sets whose columns come, go and come back."""
    d, system = 200, kernels.SupportSystem()
    A = rng.normal(size=(260, d + 1)) + rng.normal(size=(260, 1))
    H = A.T @ A / 260
    c, w = 0.5 * H @ np.append(rng.normal(size=d) + 0.3, 1.0), np.zeros(d + 1)
    supports = []
    alphas = np.geomspace(0.5, 1e-3, 60) * np.max(np.abs(c))
    alphas[::3] *= 1.3  # some columns leave for a while
    for alpha in alphas:
        columns = np.flatnonzero((w[:d] != 0.0) | (np.abs(H[:d] @ w - c[:d]) > 0.9 * alpha))
        inside = np.append(columns, np.full(int(ones), d))
        part = np.ascontiguousarray(H[np.ix_(inside, inside)])
        model = quadratic_model(MatrixCurvature(part, system))
        slope = (H @ w - c)[inside]
        w[inside] = model.minimise(slope, w[inside], penalty, alpha, columns, 1e-12)
        gradient = H @ w - c
        fixed = penalty.prox(w[:d] - gradient[:d], alpha)
        assert_allclose(fixed[columns], w[columns], atol=1e-10)
        assert not ones or abs(gradient[d]) <= 1e-10
        supports.append(set(np.flatnonzero(w)))
    pairs = list(pairwise(supports))
    assert any(later - before for before, later in pairs)  # some joined,
    assert any(before - later for before, later in pairs)  # some left, and some came back
    assert any((first - second) & third for (first, second), (_, third) in pairwise(pairs))


def test_scaled_columns_refuse_what_does_not_fit(rng):
    design, weights = Design(rng.normal(size=(5, 3))), np.ones(2)
    with pytest.raises(ValueError, match="does not fit the matrix"):
        kernels.ScaledColumns(design.matrix, np.ones(4), np.array([0]), False)
    h = np.array([1.0, 0.0, 2.0, 0.0, 1.0])
    with pytest.raises(ValueError, match="columns must lie in the matrix"):
        kernels.ScaledColumns(design.matrix, h, np.array([3]), False)
    columns = kernels.ScaledColumns(design.matrix, h, np.array([2, 0]), False)
    assert (columns.size, columns.n_rows) == (2, 3)
    penalty = kernels.SeparableCoordinates(2, 1.0, 1.0, 0.0, -np.inf, np.inf)
    ends = (np.zeros(2), np.zeros(2), weights, penalty, np.zeros(2))
    for places, rows in ((np.array([0, 2]), 3), (np.array([0, 1]), 2)):
        with pytest.raises(ValueError, match=r"outside the columns|differ in length"):
            columns.descend(places, *ends, np.zeros(rows), 1, 0.0)
    with pytest.raises(ValueError, match="starts must"):
        kernels.GroupedCoordinates(1.0, np.ones(2), np.array([0, 2, 1]))
    groups = kernels.GroupedCoordinates(1.0, np.ones(1), np.array([0, 3]))
    with pytest.raises(ValueError, match="the penalty does not fit"):
        columns.descend(np.array([0, 1]), *ends[:3], groups, np.zeros(2), np.zeros(3), 1, 0.0)


@pytest.fixture
def interruptible():
    """A process that was started in the background may ignore SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_ends_a_long_descent(rng):
    matrix, none = Design(rng.normal(size=(50, 20))).matrix, np.empty(0, np.int64)
    columns = kernels.ScaledColumns(matrix, np.ones(50), none, True)
    penalty = kernels.SeparableCoordinates(0, 1.0, 0.0, 1.0, -np.inf, np.inf)
    zero = np.zeros(1)
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        columns.descend(
            np.array([0]), np.ones(1), zero, zero, penalty, np.zeros(1), np.zeros(50), 2**30, -1.0
        )
    timer.join()


def test_wide_working_sets_get_no_gram_matrix(rng):
    def form(design, n_columns):
        h = np.ones(design.shape[0])
        columns, ridge = np.arange(n_columns), np.zeros(n_columns)
        return WeightedGram(False).curvature(design, h, 1.0, columns, ridge).form

    wide, tall = Design(rng.normal(size=(100, 1000))), Design(rng.normal(size=(20_000, 50)))
    assert form(wide, 1000) is CurvatureForm.COLUMNS and form(wide, 30) is CurvatureForm.MATRIX
    assert form(tall, 50) is CurvatureForm.MATRIX
    sparse = Design(sp.random_array((3, 5000), density=0.1, format="csr", random_state=rng))
    assert form(sparse, 4500) is CurvatureForm.COLUMNS


@pytest.mark.parametrize(
    "loss, penalty", every_fourth_pair(random.LOSSES, ENGINE_PENALTIES), ids=str
)
def test_pairs_to_eight_digits(loss, penalty, by_columns):
    """The engine alone, in at most 300 Newton steps, on awkward but not extreme data."""
    rng = np.random.default_rng(5)
    for _ in range(4):
        problem, _ = random.random_problem(rng, loss, penalty, mild=True)
        monitor = Monitor(problem, 1e-8)
        monitor.check(0, problem.null_point)
        if not monitor.done:
            proximal_multipliers(SolverContext(problem, monitor, None, 300, None))
        assert monitor.relative_gap <= 1e-8


@pytest.mark.parametrize("name, width, penalty, alpha, optimum", [
    ("a1a", 123, L1(), 1e-2, 0.43504673),
    ("a9a", 123, L1(), 1e-3, 0.36833879),
    ("reuters", 8315, L1(), 1e-3, 0.22788886),
    ("a9a", 123, GroupL2(groups=3), 1e-3, 0.37227132),
    ("a9a", 123, SquaredL2(), 1 / 32561, 0.35115039),
], ids=str)  # fmt: skip
def test_reference_optima(skpd_data, name, width, penalty, alpha, optimum):
    X, y = skpd_data(name, width)
    problem = linear_problem(
        Design(X), y, np.full(len(y), 1 / len(y)), Hinge(), penalty, alpha, False
    )
    for tol in (1e-6, 1e-9):
        found = solve(problem, tol=tol, max_iter=5000, random_state=np.random.RandomState(0))
        certificate = found.certificate
        assert certificate.dual <= optimum + 5e-9 and certificate.primal >= optimum - 5e-9
        assert certificate.relative_gap <= tol


def test_lasso_with_more_features_than_rows(rng, by_columns):
    X = rng.normal(size=(80, 600))
    y = X[:, :5].sum(axis=1) + 0.1 * rng.normal(size=80)
    alpha = np.abs(X.T @ (y - y.mean())).max() / 80 / 20
    theirs = Lasso(alpha=alpha, tol=1e-12, max_iter=100_000).fit(X, y)
    for layout in (np.ascontiguousarray, sp.csc_array):
        problem = linear_problem(
            Design(layout(X)), y, np.full(80, 1 / 80), Squared(), L1(), alpha, True
        )
        found = solve(problem, tol=1e-10, max_iter=300, random_state=np.random.RandomState(0))
        assert found.converged
        assert_allclose(found.coef, theirs.coef_, atol=1e-6)


def test_what_a_path_tells_of_the_next_alpha(rng):
    """The gradient of the lasso is linear in alpha while the support stays, as scikit-learn's."""
    n, d = 80, 12
    X = rng.normal(size=(n, d))
    y = X @ np.append(np.ones(6), np.zeros(6)) + 0.5 * rng.normal(size=n)
    first = linear_problem(
        Design(X), y, np.full(n, 1 / n), Squared(), L1().for_n_features(d), 0.2, False
    )
    first, start = first.in_workspace(), None
    for alpha in (0.2, 0.19, 0.185):
        problem = first.with_alpha(alpha)
        found = solve(
            problem, "multipliers", tol=1e-10, max_iter=100, random_state=None, start=start
        )
        start = Point(found.coef, 0.0, found.dual_coef)
    solved = first.workspace.solved
    assert solved.alpha == 0.185 and solved.before.alpha == 0.19 and solved.before.before is None
    w = Lasso(0.17, fit_intercept=False, tol=1e-14).fit(X, y).coef_
    assert np.array_equal(w != 0, found.coef != 0)
    assert_allclose(solved.gradient_at(0.17), X.T @ (X @ w - y) / n, atol=1e-8)
    for alpha in (0.185, 0.2, 0.1):  # not decreasing, or too far
        assert solved.gradient_at(alpha) is None


def test_it_hands_over_where_it_stalls(rng, monkeypatch):
    """More active features than a working set may hold: the primal-dual method goes on."""
    X = rng.normal(size=(60, 40))
    y = X @ rng.normal(size=40)
    problem = linear_problem(Design(X), y, np.full(60, 1 / 60), Absolute(), SquaredL2(), 0.1, True)
    monkeypatch.setattr(in_memory, "SETTINGS", replace(SETTINGS, largest_working_set=10))
    alone = Monitor(problem, 1e-4)
    alone.check(0, problem.null_point)
    proximal_multipliers(SolverContext(problem, alone, None, 50_000, None))
    found = solve(problem, tol=1e-4, max_iter=50_000, random_state=np.random.RandomState(0))
    assert not alone.done and alone.n_iter == 0
    assert found.converged and found.n_iter > 0


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("intercept", [True, False])
def test_hinge_with_more_features_than_rows(layout, intercept, rng, by_columns):
    X = rng.normal(size=(40, 150)) * (rng.random((40, 150)) < 0.5)
    y, weights = np.sign(X[:, 0] + rng.normal(size=40)), np.full(40, 1 / 40)
    value = linear_programme(X, y, weights, Hinge(), L1(), 0.02, intercept)
    problem = linear_problem(Design(layout(X)), y, weights, Hinge(), L1(), 0.02, intercept)
    found = solve(problem, tol=1e-9, max_iter=300, random_state=np.random.RandomState(0))
    assert found.converged
    assert_allclose(found.certificate.primal, value, rtol=1e-8)


def test_a_sample_is_drawn_from_the_rows_that_count(rng):
    """Many rows of weight zero leave the solution, and the start, alone."""
    X = rng.normal(size=(30_000, 2))
    y = np.sign(X[:, 0] + rng.normal(size=30_000))
    for kept in (3, 20_000):
        weights = np.zeros(30_000)
        weights[:kept] = 1 / kept
        problem = linear_problem(Design(X), y, weights, Hinge(), L1(), 0.05, False)
        few = linear_problem(
            Design(X[:kept]), y[:kept], weights[:kept], Hinge(), L1(), 0.05, False
        )
        arguments = {"tol": 1e-9, "max_iter": 300, "random_state": np.random.RandomState(0)}
        found, expected = solve(problem, **arguments), solve(few, **arguments)
        assert found.converged
        assert_allclose(found.certificate.primal, expected.certificate.primal, rtol=1e-8)


@pytest.mark.parametrize("sigma", [0.3, 20.0])
@pytest.mark.parametrize("loss", random.LOSSES, ids=str)
def test_rows_that_bend(loss, sigma, rng):
    """All but those whose derivative is the same on an interval around z."""
    n, radius = 400, 0.5
    y = np.sign(rng.normal(size=n)) if hasattr(loss, "_min_margin") else rng.normal(size=n)
    z, weights = 3 * rng.normal(size=n), np.ones(n)
    theta = loss.project_dual(y, rng.normal(size=n))
    first, gradient, curvature = np.empty((3, n))
    loss.evaluator.smoothed_derivatives(y, weights, theta, z, sigma, first, gradient, curvature)
    rows = loss.evaluator.rows_that_bend(y, theta, z, sigma, first, curvature, radius)
    slopes = np.array([
        loss.prox_conjugate(y, theta + sigma * (z + shift), sigma)
        for shift in np.linspace(-radius, radius, 41)
    ])  # fmt: skip
    moves = np.ptp(slopes, axis=0) > 1e-9
    assert np.isin(np.flatnonzero(moves), rows).all()
    # at a kink itself the derivative need not move for a row to have curvature
    assert np.isin(rows, np.flatnonzero(moves | (curvature > 0.0))).all()
    if loss.linear_tails:
        assert len(rows) < n


@pytest.mark.parametrize("alpha", [1e-3, 0.1])
def test_rows_that_bend_while_they_are_left_out_come_back(alpha):
    """Their linear losses may take an objective below every bound, even below 0."""
    rng = np.random.default_rng(39)
    X = rng.normal(size=(120, 25)) * (1 + 3 * rng.random(25))
    z = X @ np.r_[rng.normal(size=5), np.zeros(20)]
    y = z + 0.5 * np.std(z) * rng.normal(size=120)
    weights = np.full(120, 1 / 120)
    ball = SquaredL2OnL1Ball(1.0)
    problem = linear_problem(Design(X), y, weights, Absolute(), ball, alpha, True)
    monitor = Monitor(problem, 1e-6)
    monitor.begin()
    state = np.random.RandomState(0)
    METHODS["multiplier-search"].run(SolverContext(problem, monitor, None, 300, state))
    exact = solve(problem, tol=1e-8, max_iter=1000, random_state=state)
    assert monitor.dual <= exact.certificate.primal and exact.certificate.dual <= monitor.primal
