"""Primal-dual block Frank-Wolfe: what an iteration costs, and where it ends."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from skpd import kernels
from skpd.designs import Design
from skpd.losses import Hinge, Logistic, SmoothedHinge, Squared
from skpd.penalties import L1, L1Ball, SquaredL2OnL1Ball
from skpd.problems import linear_problem
from skpd.solvers import METHODS, SolverContext, select, solve
from skpd.solvers.monitor import Monitor
from skpd.solvers.published.pdbfw import pdbfw


def classes(rng, n, d, layout=np.asarray):
    X = rng.normal(size=(n, d))
    y = np.where(X[:, :3].sum(axis=1) + rng.normal(size=n) > 0, 1.0, -1.0)
    return Design(layout(X)), X, y, np.full(n, 1 / n)


def method(design, loss, y, c, mu, radius, *, line_search=False, dual_step=0.0, s=0, k=0):
    return kernels.block_frank_wolfe(
        design.matrix, loss.evaluator, y, c, np.zeros(len(y)),
        mu, radius, 0.0, 0.0, line_search, 0.5, dual_step, s, k,
    )  # fmt: skip


@pytest.mark.parametrize("line_search", [True, False])
def test_an_iteration_visits_n_s_entries(line_search, rng):
    """Not n d: the entries of s columns and of n s / d rows, whatever d is."""
    n, s = 200, 5
    for d in (100, 400, 1600):
        design, _, y, c = classes(rng, n, d)
        run = method(
            design, SmoothedHinge(), y, c, 0.05, 1.0, line_search=line_search, dual_step=0.1, s=s
        )
        run.run(-1.0, 5, np.inf)
        before = run.entries
        run.run(-1.0, 50, np.inf)
        per_iteration = (run.entries - before) / 50
        # columns that leave or enter count too, and rows are read twice by the line search,
        # which also counts the passes over vectors of length n and d
        assert per_iteration <= 2 * n * s * (1 if not line_search else 3) + 2 * (n + d)


@pytest.mark.parametrize("line_search", [True, False])
def test_sparse_data_takes_the_same_steps(line_search, rng):
    """Columns are collected once they are needed, after passes over all rows."""
    n, d, s = 300, 500, 12
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 1.0 / np.arange(1, d + 1) ** 0.6)
    y = np.where(X[:, 20:23].sum(axis=1) + 0.1 * rng.normal(size=n) > 0, 1.0, -1.0)
    runs = [
        method(
            Design(layout(X)), SmoothedHinge(), y, np.full(n, 1 / n), 0.05, 2.0,
            line_search=line_search, dual_step=0.1, s=s, k=40,
        )
        for layout in (np.asarray, sp.csr_array)
    ]  # fmt: skip
    for _ in range(200):
        for run in runs:
            run.run(-1.0, 1, np.inf)
        assert_allclose(runs[0].variables(), runs[1].variables(), atol=1e-11)
        assert_allclose(runs[0].theta(), runs[1].theta(), atol=1e-11)
    before = runs[1].entries
    runs[1].run(-1.0, 20, np.inf)
    columns = np.sort(np.count_nonzero(X, axis=0))[-s:].sum()
    rows = (2 if line_search else 1) * 40 / n * np.count_nonzero(X)
    assert (runs[1].entries - before) / 20 <= columns + rows < np.count_nonzero(X)


def test_theory_converges(rng):
    design, _, y, c = classes(rng, 30, 20)
    problem = linear_problem(design, y, c, SmoothedHinge(), SquaredL2OnL1Ball(1.0), 1.0, False)
    found = solve(problem, "pdbfw", tol=1e-3, max_iter=50_000, random_state=rng)
    assert found.converged


@pytest.mark.parametrize("penalty", [L1Ball(1.3), SquaredL2OnL1Ball(1.3), L1Ball(1e3)])
def test_search_for_the_multiplier(penalty, rng):
    """Where block Frank-Wolfe does not apply, or gives up."""
    design, _, y, c = classes(rng, 200, 30)
    problem = linear_problem(design, y, c, Logistic(), penalty, 1e-4)
    monitor = Monitor(problem, 1e-6)
    monitor.begin()
    run = SolverContext(problem, monitor, None, 20_000, np.random.RandomState(0))
    METHODS["multiplier-search"].run(run)
    assert monitor.solution().converged


def test_what_is_selected_over_the_ball(rng):
    """One select for every estimator, with names and reasons."""
    design, _, y, c = classes(rng, 3000, 60)

    def names(loss, penalty):
        attempts = select(linear_problem(design, y, c, loss, penalty, 10.0))
        assert all(attempt.reason for attempt in attempts)
        return [METHODS[attempt.key].name for attempt in attempts]

    rest = ["interior-point", "hybrid-gradient"]
    assert names(SmoothedHinge(), SquaredL2OnL1Ball(2.0)) == ["block-frank-wolfe", *rest]
    assert names(SmoothedHinge(), L1Ball(2.0)) == rest
    assert names(Logistic(), SquaredL2OnL1Ball(2.0)) == rest
    assert names(Squared(), L1Ball(2.0)) == ["multiplier-search", *rest]
    nothing = Design(np.zeros((20, 3)))  # every condition holds of zeros but that of a ridge
    found = select(linear_problem(nothing, y[:20], np.full(20, 0.05), Squared(), L1Ball(1.0), 1.0))
    assert METHODS[found[0].key].name == "interior-point"
    found = solve(
        linear_problem(design, y, c, Squared(), L1Ball(0.1), 1.0), tol=1e-7, max_iter=1000,
        random_state=np.random.RandomState(0),
    )  # fmt: skip
    assert found.method == "multiplier-search" and found.converged


def test_what_it_needs(rng):
    design, _, y, c = classes(rng, 20, 5)
    monitor = Monitor(linear_problem(design, y, c, Hinge(), L1(), 0.1), 1e-3)
    with pytest.raises(ValueError, match="over an l1 ball, got L1"):
        pdbfw(SolverContext(monitor.problem, monitor, None, 9, rng))
    for loss in (Hinge(), Logistic()):
        problem = linear_problem(design, y, c, loss, SquaredL2OnL1Ball(1.0), 0.1)
        with pytest.raises(ValueError, match=rf"Assumption 4.1.*got {type(loss).__name__}"):
            solve(problem, "pdbfw", tol=1e-3, max_iter=9, random_state=rng)
    with pytest.raises(ValueError, match="must fit"):
        method(design, Hinge(), y[:-1], c, 0.1, 1.0)
