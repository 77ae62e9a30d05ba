"""Gram matrices, and the minimisation of penalised quadratics."""

import signal
import threading
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from skpd import kernels
from skpd.designs import Design, WeightedGram
from skpd.designs.gram import CurvatureForm, MatrixCurvature
from skpd.penalties import L1, ElasticNet, GroupL2, NonNegativeL1
from skpd.solvers.newton.quadratic import quadratic_model
from skpd.solvers.newton.settings import QUADRATIC
from tests.solvers.test_proximal_multipliers import ENGINE_PENALTIES, LAYOUTS


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


def _minimum(H, *arguments):
    return quadratic_model(MatrixCurvature(H)).minimise(*arguments)


@pytest.fixture
def unlimited(monkeypatch):
    """As many rounds and passes as a quadratic model takes."""
    monkeypatch.setattr(QUADRATIC, "most_rounds", 300)
    monkeypatch.setattr(QUADRATIC, "most_passes", np.inf)


def test_a_newton_step_counts_coordinates_of_a_group_that_it_leaves():
    """Newton's method takes x from 1.15 to -1.52 on sqrt(x^2 + 1), which is larger there."""
    p, r = np.array([1.15, 1.0]), np.zeros(2)
    group = kernels.GroupedCoordinates(0.0, np.ones(1), np.array([0, 2]))
    kernels.minimise_grouped(np.diag([1e-9, 0.0]), group, p, r, 0, -1.0, 2)
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
