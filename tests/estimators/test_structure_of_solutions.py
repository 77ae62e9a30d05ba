"""Equal neighbours, ties and ranks of the models that fits return, at any tolerance.

Optima are those of HiGHS and Clarabel, in which numbers that differ by less than 1e-7 are equal.
"""

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import LinearConstraint

from skpd import MultiTaskPD, PdproxRegressor
from skpd.penalties import GroupL2

TOLERANCES = [1e-4, 1e-8, 1e-10]
PENALTIES = {
    "total_variation": cp.tv,
    "fused_lasso": lambda w: 0.5 * cp.norm1(w) + 0.5 * cp.tv(w),
    "linf": cp.norm_inf,
}


def parts(w, accuracy=0.0):
    """How many neighbours are equal, how many coefficients are 0 and have the largest size."""
    size = np.abs(w)
    equal = np.abs(np.diff(w)) <= accuracy
    return np.sum(equal), np.sum(size <= accuracy), np.sum(size >= size.max() - accuracy)


@pytest.fixture(scope="module")
def chain():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 20))
    return X, X @ np.repeat([1.0, -2.0, 0.0, 3.0], 5) + 0.5 * rng.normal(size=80)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_chains_and_ties_are_those_of_conic_solvers(loss, penalty, chain):
    X, y = chain
    w, b = cp.Variable(20), cp.Variable()
    residuals = y - X @ w - b
    mean = cp.sum_squares(residuals) / 160 if loss == "squared" else cp.norm1(residuals) / 80
    programme = cp.Problem(cp.Minimize(mean + 0.1 * PENALTIES[penalty](w)))
    if loss == "absolute":
        programme.solve(solver="HIGHS")
    else:
        programme.solve(solver="CLARABEL", tol_gap_abs=1e-13, tol_gap_rel=1e-13, tol_feas=1e-13)
    for tol in TOLERANCES:
        model = PdproxRegressor(0.1, loss=loss, penalty=penalty, tol=tol).fit(X, y)
        assert model.converged_
        assert model.certificate_.dual <= programme.value * (1.0 + 1e-9)
        # at 1e-4 a neighbour more may be equal, as that is within the tolerance
        exact = parts(model.coef_)
        least = np.array(parts(w.value, 1e-7))
        assert np.all(exact >= least) if tol == 1e-4 else exact == tuple(least)


def test_constraints_keep_their_zeros(chain):
    """The slopes of the loss alone lead away from zeros that limits make."""
    X, y = chain
    positive = LinearConstraint(np.eye(20), 0.0, np.inf)
    for tol in TOLERANCES:
        model = PdproxRegressor(0.1, loss="squared", penalty="linf", constraints=positive, tol=tol)
        assert np.sum(model.fit(X, y).coef_ == 0.0) == 9  # as the same by Clarabel, within 1e-7


@pytest.fixture(scope="module")
def tasks():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 8)) + 0.5 * rng.normal(size=(60, 1))
    return X, X @ rng.normal(size=(8, 2)) @ rng.normal(size=(2, 4)) + rng.normal(size=(60, 4))


@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_ties_of_rows_and_ranks_of_matrices(loss, tasks):
    X, Y = tasks
    W, b = cp.Variable((8, 4)), cp.Variable((1, 4))
    R = Y - X @ W - np.ones((60, 1)) @ b
    mean = cp.sum_squares(R) / 120 if loss == "squared" else cp.sum(cp.abs(R)) / 60
    for name, penalty, alpha in (
        ("l1inf", cp.sum(cp.max(cp.abs(W), axis=1)), 1.0), ("trace", cp.normNuc(W), 1.0)
    ):  # fmt: skip
        programme = cp.Problem(cp.Minimize(mean + alpha * penalty))
        programme.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
        right = W.value
        for tol in (1e-4, 1e-8):
            coef = MultiTaskPD(alpha, loss=loss, penalty=name, tol=tol).fit(X, Y).coef_.T
            if name == "trace":
                rank = np.linalg.matrix_rank(right, tol=1e-5)
                assert np.linalg.matrix_rank(coef, tol=1e-12 * np.abs(coef).max()) == rank
                continue
            for row, best in zip(coef, right, strict=True):
                assert parts(row)[2] >= parts(best, 1e-5 * np.abs(best).max())[2]


@pytest.mark.parametrize("layout", ["by rows of W", "by columns of a group"])
def test_groups_of_entries_of_a_matrix(layout):
    """Any partition of the entries: labels in the order of the rows of W, one for each entry."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 20))
    Y = X[:, :5] @ rng.normal(size=(5, 3)) + 0.3 * rng.normal(size=(40, 3))
    group = np.repeat(range(4), 5)
    labels = np.repeat(group, 3) if layout == "by rows of W" else np.tile(group, 3)
    table = labels.reshape(20, 3)
    B, c = cp.Variable((20, 3)), cp.Variable((1, 3))
    norms = sum(cp.norm(B[table == k]) for k in range(4))
    mean = cp.sum_squares(Y - X @ B - np.ones((40, 1)) @ c) / 80
    cp.Problem(cp.Minimize(mean + 0.5 * norms)).solve(solver=cp.CLARABEL)
    penalty = GroupL2(labels, weights=np.ones(4))
    model = MultiTaskPD(0.5, penalty=penalty, tol=1e-9).fit(X, Y)
    assert model.converged_
    assert_allclose(model.coef_.T, B.value, atol=1e-3)
