"""The trace norm with many outputs, by few singular vectors at a time."""

import numpy as np
import pytest
import scipy.sparse as sp

from skpd import MatrixCompletionPD, TraceNormPD
from skpd.losses import Absolute, EpsilonInsensitive, Pinball
from skpd.models.completion.alternating_multipliers import alternating_multipliers
from skpd.models.completion.design import EntriesDesign
from skpd.models.completion.free_groups import FreeGroups
from skpd.models.completion.problem import entries_problem
from skpd.models.completion.rows import RowsOfEntries
from skpd.solvers.accelerated.outputs import accelerated_gradients
from skpd.solvers.low_rank.factors import Factors, compressed
from skpd.solvers.monitor import Monitor
from skpd.solvers.solver_context import SolverContext
from tests.oracles.optima import optimal_value


@pytest.mark.parametrize("fit_intercept, rank", [(False, 1), (False, 3), (True, 3)])
def test_orthonormal_features(fit_intercept, rank, rng):
    """With X'X = n I the solution is X'Y / n with its singular values less alpha."""
    n, d, n_outputs = 150, 110, 105
    X = rng.normal(size=(n, d))
    X = np.sqrt(n) * np.linalg.qr(X - X.mean(axis=0))[0]
    Y = X @ rng.normal(size=(d, 3)) @ rng.normal(size=(3, n_outputs))
    Y += rng.normal(size=(n, n_outputs)) + 2.0 * fit_intercept
    means = Y.mean(axis=0) if fit_intercept else np.zeros(n_outputs)
    left, values, right = np.linalg.svd(X.T @ Y / n, full_matrices=False)
    alpha = 0.5 * (values[rank - 1] + values[rank])
    kept = np.maximum(values - alpha, 0.0)
    W = (left * kept) @ right
    optimum = 0.5 * np.sum((X @ W + means - Y) ** 2) / n + alpha * kept.sum()
    model = TraceNormPD(alpha, radius=None, fit_intercept=fit_intercept, tol=1e-9).fit(X, Y)
    assert model.converged_ and model.solver_ == "singular-gradient"
    assert model.rank_ == np.count_nonzero(kept)
    assert model.certificate_.dual <= optimum * (1 + 1e-14)
    assert model.certificate_.primal == pytest.approx(optimum, rel=1e-8)
    np.testing.assert_allclose(model.coef_.T, W, atol=1e-3 * np.abs(W).max())


@pytest.mark.parametrize("loss, layout", [
    ("huber", np.asarray), ("smoothed_hinge", sp.csr_array), ("logistic", sp.csc_array),
])  # fmt: skip
def test_the_same_as_by_whole_decompositions(loss, layout, rng):
    n, d, n_outputs = 120, 100, 101
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.3)
    Y = X @ rng.normal(size=(d, 2)) @ rng.normal(size=(2, n_outputs))
    Y += rng.normal(size=(n, n_outputs))
    if loss != "huber":
        Y = np.where(Y > 0.0, 1.0, -1.0)
    weights = rng.integers(0, 3, size=n)
    model = TraceNormPD(2.0, radius=None, loss=loss, tol=1e-5)
    found = model.fit(layout(X), Y, weights)
    assert found.converged_ and found.solver_ == "singular-gradient"
    problem = model._problems(layout(X), Y, weights)[2][0].in_workspace()
    monitor = Monitor(problem, 1e-5)
    monitor.begin()
    accelerated_gradients(SolverContext(problem, monitor, None, 3000, None))
    assert monitor.done
    np.testing.assert_allclose(found.certificate_.primal, monitor.primal, rtol=2e-5)
    assert found.certificate_.dual <= monitor.primal
    assert monitor.dual <= found.certificate_.primal


def test_it_goes_on_below_the_rounding_of_its_line_search(rng):
    """Where a move changes the objective by less than rounding it says nothing of curvatures."""
    places = np.sort(rng.choice(80 * 60, size=1500, replace=False))
    left, right = np.divmod(places, 60)
    U, V = rng.normal(size=(80, 2)), rng.normal(size=(60, 2))
    y = np.sum(U[left] * V[right], axis=1) + 0.1 * rng.normal(size=1500)
    model = MatrixCompletionPD(0.01, biases=False, tol=1e-10, max_iter=200, random_state=0)
    model.fit(np.column_stack([left, right]), y)
    assert model.certificate_.relative_gap <= 1e-10


def test_squares_of_small_differences(rng):
    U, V = rng.normal(size=(30, 3)), rng.normal(size=(20, 3))
    for size in (1.0, 1e-6, 1e-12):
        change = size * rng.normal(size=U.shape)
        difference = Factors(U + change, V) - Factors(U, V)
        expected = np.sum((((U + change) - U) @ V.T) ** 2)
        assert difference.dot(difference) == pytest.approx(expected, rel=1e-2)
    several = Factors(np.hstack([U, U]), np.hstack([V, 2.0 * V]))
    small = compressed(several)
    assert small.U.shape[1] == 3
    np.testing.assert_allclose(small.U @ small.V.T, 3.0 * U @ V.T, atol=1e-12)


@pytest.mark.parametrize("repeated, with_biases", [(False, False), (True, True)])
@pytest.mark.parametrize("loss", [Absolute(), Pinball(0.3), EpsilonInsensitive(0.2)])
def test_alternating_multipliers(loss, repeated, with_biases, rng):
    """They find what Clarabel finds for the whole matrix, which is small."""
    cp = pytest.importorskip("cvxpy")
    places = np.sort(rng.choice(12 * 9, size=80, replace=repeated))
    left, right = np.divmod(places, 9)
    z = np.sum(rng.normal(size=(12, 2))[left] * rng.normal(size=(9, 2))[right], axis=1)
    y = z + rng.normal(size=80)
    weights = rng.uniform(0.5, 1.5, size=80) / 80.0
    groups = FreeGroups(left, right, 12, 9, weights) if with_biases else None
    rows = RowsOfEntries(EntriesDesign(left, right, 12, 9), y, weights, loss, groups)
    monitor = Monitor(entries_problem(rows, 0.02), 1e-5)
    monitor.begin()
    state = np.random.RandomState(0)
    alternating_multipliers(SolverContext(monitor.problem, monitor, None, 3000, state))
    M, a, b = cp.Variable((12, 9)), cp.Variable(12), cp.Variable(9)
    predicted = cp.hstack(
        [M[i, j] + with_biases * (a[i] + b[j]) for i, j in zip(left, right, strict=True)]
    )
    slope = getattr(loss, "quantile", 0.5)
    wide = getattr(loss, "epsilon", 0.0)
    above = cp.pos(cp.abs(predicted - y) - wide)
    if isinstance(loss, Pinball):
        above = cp.maximum(slope * (y - predicted), (slope - 1.0) * (y - predicted))
    objective = weights @ above + 0.02 * cp.normNuc(M)
    best = optimal_value(cp.Problem(cp.Minimize(objective)))
    assert monitor.done
    assert monitor.dual <= best * (1.0 + 1e-6) and best <= monitor.primal * (1.0 + 1e-6)
