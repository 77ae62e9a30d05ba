"""The l1 norm of combinations of the coefficients: total variation over a graph, and others."""

import numpy as np
import pytest
import scipy.sparse as sp

from skpd import PdproxRegressor, PdproxSVC
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
            assert penalty.dual_norm(penalty.widest(v, error)) >= penalty.dual_norm(v)


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
        (lambda: GraphTotalVariation(RING).bind(7), "is of 5 features, got 7"),
    ],
)
def test_what_has_no_certificate_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
