"""Proximal points of penalised quadratics, and fits with more features than rows that use them."""

import numpy as np
import pytest
from sklearn.linear_model import MultiTaskLasso

import skpd
from skpd.designs.outputs_curvature import GramMatrices
from skpd.penalties import GroupL2, Separable, SparseGroup
from skpd.solvers.newton.output_quadratic import minimise_blocks
from skpd.solvers.newton.penalty_of_model import GroupedPart, SeparablePart, VectorQuadratic
from skpd.solvers.newton.proximal_points import (
    minimise_by_proximal_points,
    sweep_while_it_converges,
)
from skpd.solvers.newton.settings import PROXIMAL_POINTS


def wide(seed, n=60, d=150, correlation=0.95, n_outputs=3):
    """Features of an autoregression with fewer rows, and outputs that depend on ten of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    for j in range(1, d):
        X[:, j] = correlation * X[:, j - 1] + np.sqrt(1.0 - correlation**2) * X[:, j]
    signal = X[:, ::15] @ rng.normal(size=(d // 15, n_outputs))
    return X, signal + 0.3 * rng.normal(size=signal.shape)


def violation_of_groups(p, gradient, groups, weights, l1):
    """The largest distance of -gradient from the subdifferential of the penalty at p."""
    largest = 0.0
    for group, weight in zip(groups, weights, strict=True):
        at, v = p[group], -gradient[group]
        norm = np.linalg.norm(at)
        if norm > 0.0:
            rest = v - weight * at / norm
            of_entries = np.where(
                at != 0.0, rest - l1 * np.sign(at), np.maximum(np.abs(rest) - l1, 0.0)
            )
            largest = max(largest, np.max(np.abs(of_entries)))
        else:  # the distance of the soft-thresholded v from the ball of radius weight
            inside = np.maximum(np.abs(v) - l1, 0.0)
            largest = max(largest, np.linalg.norm(inside) - weight)
    return largest


@pytest.mark.parametrize("ratio", [0.0, 0.3])
@pytest.mark.parametrize("share", [0.3, 0.02, 0.001])
def test_the_minimiser_of_a_singular_quadratic_with_groups_is_optimal(ratio, share):
    X, Y = wide(0)
    H, g = X.T @ X / len(X), -X.T @ Y[:, 0] / len(X)
    labels = np.repeat(np.arange(50), 3)
    groups = labels.reshape(-1, 3) * 3 + np.arange(3)
    alpha = share * np.max(np.linalg.norm(g[groups], axis=1))
    penalty = SparseGroup(labels, l1_ratio=ratio) if ratio else GroupL2(labels)
    part = GroupedPart(penalty.for_n_features(150), alpha, np.arange(150))
    p, r = np.zeros(150), g.copy()
    minimise_by_proximal_points(VectorQuadratic(H, part), p, r, 1e-9)
    assert np.count_nonzero(p) > 0
    np.testing.assert_allclose(r, g + H @ p, rtol=0, atol=1e-12)
    assert violation_of_groups(p, r, groups, part.weights, part.l1) <= 1e-9


@pytest.mark.parametrize("unit", [1.0, 1e-5, 1e5])
def test_units_of_the_features_beside_an_intercept_do_not_matter(unit):
    """With equal steps for all coordinates, those of small features would be short."""
    X, Y = wide(2)
    A = np.column_stack([unit * X, np.ones(len(X))])
    H, g = A.T @ A / len(X), -A.T @ (Y[:, 0] + 1.0) / len(X)
    labels = np.repeat(np.arange(50), 3)
    groups = labels.reshape(-1, 3) * 3 + np.arange(3)
    alpha = 0.01 * np.max(np.linalg.norm(g[groups], axis=1))
    part = GroupedPart(GroupL2(labels).for_n_features(150), alpha, np.arange(150))
    p, r = np.zeros(151), g.copy()
    minimise_by_proximal_points(VectorQuadratic(H, part), p, r, 1e-9 * unit)
    assert abs(r[150]) <= 1e-9 * max(unit, 1.0)
    assert violation_of_groups(p[:150], r[:150], groups, part.weights, 0.0) <= 1e-9 * unit


@pytest.mark.parametrize("l2", [0.0, 1e-2])
@pytest.mark.parametrize("share", [0.3, 0.001])
def test_the_minimiser_of_a_singular_quadratic_within_bounds_is_optimal(l2, share):
    X, Y = wide(4)
    H, g = X.T @ X / len(X), -X.T @ Y[:, 0] / len(X)
    alpha, l1 = share * np.max(np.abs(g)), np.where(np.arange(150) % 30 == 7, 0.0, 1.0)
    bounds = {"lower": np.where(np.arange(150) % 2, -np.inf, 0.0), "upper": 0.2}
    penalty = Separable(l1, l2=l2, **bounds).for_n_features(150)
    part = SeparablePart(penalty, alpha, np.arange(150))
    p, r = np.zeros(150), g.copy()
    minimise_by_proximal_points(VectorQuadratic(H, part), p, r, 1e-9)
    assert np.count_nonzero(p == 0.2) > 0 and np.count_nonzero(p == 0.0) > 0
    np.testing.assert_allclose(r, g + H @ p, rtol=0, atol=1e-12)
    # slopes of the penalised quadratic to the right and to the left of every coefficient
    smooth = r + alpha * l2 * p
    right = smooth + alpha * l1 * np.where(p >= 0.0, 1.0, -1.0)
    left = smooth + alpha * l1 * np.where(p > 0.0, 1.0, -1.0)
    assert np.all((right >= -1e-9) | (p == 0.2))
    assert np.all((left <= 1e-9) | (p == bounds["lower"]))


@pytest.mark.parametrize(
    "factor, ends_early, settled, n_turns",
    [
        (0.5, True, True, 11),  # 2^-10 is the first change below a thousandth
        (0.9, True, False, PROXIMAL_POINTS.first_turns + 1),  # the 20th would be .14
        (0.9, False, False, 20),
        (1.0, True, False, PROXIMAL_POINTS.first_turns + 1),
    ],
)
def test_sweeps_go_on_while_they_converge(factor, ends_early, settled, n_turns):
    changes = []

    def turn():
        changes.append(factor ** len(changes))
        return changes[-1]

    assert sweep_while_it_converges(turn, 1e-3, 20, ends_early=ends_early) is settled
    assert len(changes) == n_turns


@pytest.mark.parametrize("ends_early", [True, False])
def test_growing_changes_of_many_turns_do_not_overflow(ends_early):
    changes = iter([1e-3, 1e-2, *np.full(399, 0.1)])
    assert not sweep_while_it_converges(
        lambda: float(next(changes)), 1e-9, 401, ends_early=ends_early
    )


@pytest.mark.parametrize("n_blocks", [1, 3])
def test_the_minimiser_of_blocks_is_optimal(n_blocks):
    """Also where the outputs have matrices of their own, with intercepts in the last row."""
    X, Y = wide(1)
    A = np.column_stack([X, np.ones(len(X))])
    scales = np.array([1.0, 2.0, 0.5])[:n_blocks]
    matrices = np.multiply.outer(A.T @ A / len(X), scales)
    G = -A.T @ Y / len(X)
    alpha = 0.01 * np.max(np.linalg.norm(G[:-1], axis=1))
    of_rows = np.where(np.arange(150) % 40 == 10, 0.0, 1.0)  # with rows that are not penalised
    penalty = GroupL2(np.repeat(np.arange(150), 3), weights=of_rows).for_n_features(450)
    columns = np.arange(450)
    p = minimise_blocks(
        GramMatrices(matrices, 3), np.ravel(G), np.zeros(453), penalty, alpha, columns, 1e-9
    ).reshape(-1, 3)
    gradient = G + np.einsum("ijk,jk->ik", np.broadcast_to(matrices, (151, 151, 3)), p)
    groups = columns.reshape(-1, 3)
    weights = alpha * penalty.group_terms[1]
    assert violation_of_groups(np.ravel(p), np.ravel(gradient), groups, weights, 0.0) <= 1e-8
    np.testing.assert_allclose(gradient[-1], 0.0, atol=1e-8)


@pytest.mark.parametrize("share", [50.0, 1250.0])
def test_tasks_of_wide_data_agree_with_scikit_learn(share):
    X, Y = wide(2)
    alpha = np.max(np.linalg.norm(X.T @ (Y - Y.mean(axis=0)), axis=1)) / len(X) / share
    model = skpd.MultiTaskPD(alpha=alpha, tol=1e-10).fit(X, Y)
    peer = MultiTaskLasso(alpha=alpha, tol=1e-10, max_iter=100_000).fit(X, Y)
    assert model.converged_
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-4 * np.abs(peer.coef_).max())
    residual = Y - X @ peer.coef_.T - peer.intercept_
    objective = 0.5 * np.sum(residual**2) / len(X)
    objective += alpha * np.sum(np.linalg.norm(peer.coef_, axis=0))
    assert model.certificate_.dual <= objective
    assert model.certificate_.primal <= objective * (1.0 + 1e-9)


@pytest.mark.parametrize("penalty", ["l1", "l21"])
def test_classes_of_wide_data_start_from_larger_alphas(penalty):
    """Few iterations, and the optimum of a run that starts at another point."""
    X, Y = wide(3)
    classes = np.argmax(Y, axis=1)
    first = skpd.MultinomialPD(penalty=penalty, alpha=1e-3).fit(X, classes)
    small = skpd.MultinomialPD(penalty=penalty, alpha=2e-5, tol=1e-8).fit(X, classes)
    other = skpd.MultinomialPD(penalty=penalty, alpha=2e-5, tol=1e-8, warm_start=True)
    other.set_params(alpha=1e-3).fit(X, classes)
    other.set_params(alpha=2e-5).fit(X, classes)
    assert first.converged_ and small.converged_ and other.converged_
    assert small.certificate_.dual <= other.certificate_.primal
    assert other.certificate_.dual <= small.certificate_.primal
    assert small.n_iter_ <= 10
