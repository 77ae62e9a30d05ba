"""The l1 norm of combinations of the coefficients: total variation over a graph, and others."""

import numpy as np
import pytest
import scipy.sparse as sp

from skpd import PdproxRegressor, PdproxSVC
from skpd._floats import EPSILON
from skpd.penalties import (
    GeneralizedLasso,
    GraphTotalVariation,
    TotalVariation,
    check_penalty,
)
from tests.oracles.optima import linear_optimum

RING = [[0, 1], [1, 2], [2, 3], [3, 4], [4, 0], [1, 3]]


def second_differences(d):
    return np.vstack([np.diff(np.eye(d), n=2, axis=0), 0.1 * np.eye(d)])


def test_it_is_what_it_says():
    check_penalty(GraphTotalVariation([[0, 1], [1, 2], [2, 0], [2, 3]]), 4)


def test_a_chain_is_the_total_variation():
    chain, known = GraphTotalVariation([[0, 1], [1, 2], [2, 3], [3, 4]]), TotalVariation()
    rng = np.random.default_rng(0)
    for _ in range(10):
        v = rng.standard_normal(5)
        v -= np.mean(v)
        assert chain.value(v) == pytest.approx(known.value(v))
        assert chain.dual_norm(v) == pytest.approx(known.dual_norm(v), rel=1e-9)
        np.testing.assert_allclose(chain.prox(v, 0.3), known.prox(v, 0.3), atol=1e-10)


def test_the_dual_norm_is_never_too_small():
    """It is the largest v.w with R(w) <= 1, which a linear programme in w has as well."""
    rng = np.random.default_rng(1)
    for penalty in (GraphTotalVariation(RING), GeneralizedLasso(second_differences(5))):
        D = penalty.combinations.toarray()
        m, d = D.shape
        for scale in (1e-8, 1.0, 1e8):
            v = scale * rng.standard_normal(d)
            v -= np.mean(v)
            # w, and above its combinations their sizes, which sum to at most 1
            above = [np.hstack([side * D, -np.eye(m)]) for side in (1.0, -1.0)]
            total = np.append(np.zeros(d), np.ones(m))[None]
            found = linear_optimum(
                np.append(-v / scale, np.zeros(m)), np.vstack([*above, total]),
                np.append(np.zeros(2 * m), 1.0), bounds=[(-100, 100)] * d + [(0, None)] * m,
            )  # fmt: skip
            least = -scale * found.fun
            assert least * (1.0 - 1e-9) <= penalty.dual_norm(v) <= least * (1.0 + 1e-7)
            error = np.full(d, 1e-3 * scale)
            assert penalty.dual_norm(penalty.worst_case(v, error)) >= penalty.dual_norm(v)


def optimum(X, y, D, alpha, intercept, hinge):
    """By HiGHS, over w, b, slacks of the rows and sizes of the combinations."""
    (n, d), m = X.shape, len(D)
    b = np.full((n, 1), 1.0 if intercept else 0.0)
    zeros = np.zeros((n, m))
    if hinge:
        rows = [np.hstack([-y[:, None] * np.hstack([X, b]), -np.eye(n), zeros])]
        limits = [-np.ones(n)]
    else:
        data = np.hstack([X, b])
        rows = [np.hstack([side * data, -np.eye(n), zeros]) for side in (1.0, -1.0)]
        limits = [y, -y]
    wide = np.hstack([D, np.zeros((m, 1 + n))])
    rows += [np.hstack([side * wide, -np.eye(m)]) for side in (1.0, -1.0)]
    limits += [np.zeros(m)] * 2
    cost = np.concatenate([np.zeros(d + 1), np.full(n, 1.0 / n), np.full(m, alpha)])
    bounds = [(None, None)] * (d + 1) + [(0, None)] * (n + m)
    return linear_optimum(cost, np.vstack(rows), np.concatenate(limits), bounds=bounds).fun


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("hinge", [False, True])
@pytest.mark.parametrize("kind", ["ring", "weighted", "second"])
def test_optimum_is_that_of_a_linear_programme(kind, hinge, intercept):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((25, 5))
    y = X @ [1.0, 1.0, 1.0, -1.0, -1.0] + 0.5 * rng.standard_normal(25) + 0.3
    y = np.where(y > 0.0, 1.0, -1.0) if hinge else y
    penalty = {
        "ring": GraphTotalVariation(RING),
        "weighted": GraphTotalVariation(RING, [1.0, 0.1, 3.0, 1.0, 0.5, 2.0]),
        "second": GeneralizedLasso(sp.csr_array(second_differences(5))),
    }[kind]
    expected = optimum(X, y, penalty.combinations.toarray(), 0.05, intercept, hinge)
    options = {"penalty": penalty, "fit_intercept": intercept, "tol": 1e-9}
    model = PdproxSVC(0.05, **options) if hinge else PdproxRegressor(0.05, **options)
    if not hinge:
        model.set_params(loss="absolute")
    for data in (X, sp.csr_array(X)):
        found = model.fit(data, y).certificate_
        assert model.converged_
        assert found.primal == pytest.approx(expected, abs=1e-8)
        assert found.dual <= expected + 1e-12


def test_neighbours_on_a_grid_share_coefficients():
    rng = np.random.default_rng(3)
    side = 4
    truth = np.zeros((side, side))
    truth[1:3, 1:3] = 1.0
    places = np.arange(side * side).reshape(side, side)
    edges = np.vstack([
        np.column_stack([places[:, :-1].ravel(), places[:, 1:].ravel()]),
        np.column_stack([places[:-1].ravel(), places[1:].ravel()]),
    ])  # fmt: skip
    X = rng.standard_normal((300, side * side))
    y = X @ truth.ravel() + 0.1 * rng.standard_normal(300)
    model = PdproxRegressor(0.05, loss="squared", penalty=GraphTotalVariation(edges)).fit(X, y)
    assert len(np.unique(np.round(model.coef_, 3))) <= 4
    np.testing.assert_allclose(model.coef_, truth.ravel(), atol=0.3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GraphTotalVariation([[0, 1], [2, 3]]), "graph of 2 parts"),
        (lambda: GraphTotalVariation([[0, 0]]), "two different features"),
        (lambda: GraphTotalVariation([0, 1]), "pairs of whole numbers"),
        (lambda: GraphTotalVariation([[0, 1]], [0.0]), "greater than 0"),
        (lambda: GeneralizedLasso(np.diff(np.eye(5), n=2, axis=0)), "rank below 4"),
        (lambda: GeneralizedLasso([1.0, 2.0]), "finite numbers in the shape"),
        (lambda: GraphTotalVariation(RING).for_n_features(7), "is of 5 features, got 7"),
    ],
)
def test_what_has_no_certificate_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_the_level_is_free_where_constant_vectors_have_no_combinations():
    assert GraphTotalVariation(RING).free_level
    assert GeneralizedLasso(np.diff(np.eye(3), axis=0)).free_level
    assert GeneralizedLasso([[1.0, -1.0], [1.0 + 1e-13, -1.0]]).free_level  # a rounding error
    assert not GeneralizedLasso([[1.0, -1.0], [1.0 + 1e-9, -1.0], [0.0, 1.0]]).free_level
    assert GeneralizedLasso([[1.0, -1.0], [0.0, 0.0]]).free_level  # as 0 is at most 0
    assert not GeneralizedLasso(np.eye(2)).free_level
    assert GraphTotalVariation([[0, 1]]).is_norm and not GeneralizedLasso(np.eye(2)).free_level


def test_the_least_singular_value_is_halved():
    for matrix, least in ((np.diag([3.0, 1.0]), 1.0), ([[3.0, 4.0], [4.0, -3.0]], 5.0)):
        assert GeneralizedLasso(matrix)._least_singular == pytest.approx(0.5 * least)
    assert GraphTotalVariation([[0, 1]])._least_singular == pytest.approx(0.5 * 2.0**0.5)
    assert GeneralizedLasso(np.diag([1.0, 2e-9]))._least_singular == pytest.approx(1e-9)
    assert GeneralizedLasso(np.diag([1e-6, 2e-15]))._least_singular == pytest.approx(1e-15, abs=0)
    for matrix in (
        np.diag([1.0, 0.5e-9]), np.diag([1e6, 0.5e-3]), np.diag([1.0, 0.0]), [[1.0, 2.0]],
        [[1.0, -1.0 - 3e-12]],
    ):  # fmt: skip
        with pytest.raises(ValueError, match="rank below 2"):
            GeneralizedLasso(matrix)


def test_dual_norms_with_errors_of_the_point():
    """The least multipliers, and twice the norm of the errors over half the singular value."""
    for D, v, least in (
        (np.diag([2.0, 0.5]), [1.0, 1.0], 2.0),
        (np.diff(np.eye(3), axis=0), [1.0, 0.5, -1.5], 1.5),
    ):
        penalty, v = GeneralizedLasso(D), np.array(v)
        assert least <= penalty.dual_norm(v) <= least * (1.0 + 1e-13)
        error = np.full(len(v), 1e-3)
        room = 2.0 * np.linalg.norm(error) / penalty._least_singular
        assert penalty.dual_norm(np.stack([v, error])) == pytest.approx(least + room, rel=1e-10)
        # the same without a direction
        room = penalty.dual_norm(np.stack([0.0 * v, error]))
        assert room == pytest.approx(2.0 * np.linalg.norm(error) / penalty._least_singular)
        assert penalty.dual_norm(0.0 * v) == 0.0
        with np.errstate(invalid="ignore"):
            assert penalty.dual_norm(v * np.inf) == np.inf
        for alpha in (least * 0.99, least * 1.01):
            expected = 0.0 if alpha > least else np.inf
            assert penalty.conjugate(v, alpha) == expected
            assert penalty.conjugate(np.stack([v, 0.0 * v]), alpha) == expected
        # beyond the level there is nothing to bound what it adds
        beyond = np.inf if penalty.free_level else 0.0
        moved = v + np.eye(len(v))[0] * 1e-9
        assert penalty.conjugate(np.stack([v, 1e-9 + 0.0 * v]), 2.0 * least) == beyond
        assert penalty.conjugate(moved, 2.0 * least) == beyond


def test_rounding_of_dual_norms():
    """2 rounded up by (m + d) EPSILON of |D'| |u| + |v| over half the singular value, and 4."""
    found = GeneralizedLasso([[1.0]]).dual_norm(np.array([2.0]))
    expected = 2.0 + (2.0 * 4.0 / 0.5 + 4.0 * 2.0) * EPSILON
    assert found == pytest.approx(expected, rel=2.0 * EPSILON, abs=0.0)
    level = GraphTotalVariation([[0, 1]]).dual_norm(np.array([2.0, 0.0]))
    rounding = 3.0 * EPSILON * np.linalg.norm([1.0 + 2.0 + 1.0, 1.0 + 0.0 + 1.0])
    expected = 1.0 + rounding / 0.5**0.5 + 4.0 * EPSILON
    assert level == pytest.approx(expected, rel=2.0 * EPSILON, abs=0.0)


def test_multipliers_are_kept_for_a_while(monkeypatch):
    penalty, calls = GeneralizedLasso(np.eye(2)), []
    monkeypatch.setattr(
        GeneralizedLasso, "_multipliers", lambda self, v: calls.append(v) or np.array(v)
    )
    for _ in range(2):
        for k in range(32):
            penalty.dual_norm(np.array([1.0, k]))
    assert len(calls) == 32 == len(penalty._last)
    penalty.dual_norm(np.array([2.0, 0.0]))
    assert len(calls) == 33 and len(penalty._last) == 1


def test_the_prox_of_what_is_nearly_constant_is_constant():
    penalty = GraphTotalVariation(RING)
    w = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    assert penalty.prox(w, 9.0).tolist() == [3.0] * 5
    assert penalty.prox(w, 0.0).tolist() == w.tolist()
    assert penalty.prox(w, np.zeros(5)) is not w
    assert GeneralizedLasso(np.eye(2)).prox(np.array([1.0, -0.5]), 1.0).tolist() == [0.0, 0.0]
    near = GeneralizedLasso(np.eye(2)).prox(np.array([1.0, 1.0 + 1e-9]), 1.0)
    np.testing.assert_allclose(near, [0.0, 1e-9], atol=1e-15)
    for above, kept in ((0.5e-12, False), (1.5e-12, True)):
        for scale in (1.0, 1024.0):
            w = scale * np.array([1.0, 1.0 + above])
            assert GeneralizedLasso(np.eye(2)).prox(w, scale).any() == kept
    for matrix in (sp.csr_array(np.diag([2.0, 0.5])), np.diag([2.0, 0.5])):
        found = GeneralizedLasso(matrix).prox(np.array([3.0, -1.0]), 1.0)
        np.testing.assert_allclose(found, [1.0, -0.5], atol=1e-12)


@pytest.mark.parametrize("matrix", [[[1.0, np.nan]], np.empty((0, 2)), np.empty((2, 0)), [1.0]])
def test_what_is_no_matrix(matrix):
    with pytest.raises(ValueError, match="must hold finite numbers in the shape"):
        GeneralizedLasso(matrix)


@pytest.mark.parametrize(
    ("edges", "weights", "message"),
    [
        ([[0, 1, 2]], None, "pairs of whole numbers"),
        ([[0.0, 1.0]], None, "pairs of whole numbers"),
        (np.empty((0, 2), dtype=int), None, "two different features"),
        ([[-1, 0]], None, "two different features"),
        ([[0, 1]], [1.0, 1.0], "1 numbers greater than 0"),
        ([[0, 1]], 1.0, "1 numbers greater than 0"),
        ([[0, 1]], [-1.0], "weights of GraphTotalVariation"),
        ([[0, 1]], [np.inf], "weights of GraphTotalVariation"),
        ([[0, 2]], None, "from 0 to 2, got a graph of 2 parts"),
    ],
)
def test_edges_and_weights_that_are_refused(edges, weights, message):
    with pytest.raises(ValueError, match=message):
        GraphTotalVariation(edges, weights)


def test_combinations_of_a_graph():
    found = GraphTotalVariation([[0, 1], [2, 1]], [2.0, 1e-3]).combinations.toarray()
    assert found.tolist() == [[2.0, -2.0, 0.0], [0.0, -1e-3, 1e-3]]
    assert GraphTotalVariation([[0, 1]]).combinations.toarray().tolist() == [[1.0, -1.0]]
