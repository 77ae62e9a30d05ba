"""The interior-point method for several outputs: its terms, its systems, and what it finds."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from skpd import MultiTaskPD
from skpd.designs import Design
from skpd.designs.outputs import OutputsDesign
from skpd.estimators.output_parameters import OUTPUT_LOSSES, OUTPUT_PENALTIES
from skpd.losses import CrammerSinger, Softmax
from skpd.penalties import (
    L1,
    FusedLasso,
    GroupElasticNet,
    GroupLInf,
    LInf,
    Spectral,
    SquaredL2OnL1Ball,
)
from skpd.problems import Problem
from skpd.problems.output_rows import RowsOfOutputs, outputs_problem
from skpd.problems.regularisation import Regularisation
from skpd.solvers import METHODS, Monitor, SolverContext
from skpd.solvers.interior import expected_cost, interior_point
from skpd.solvers.interior.programmes import programme_of
from skpd.solvers.interior.row_systems import RowSystem
from skpd.solvers.interior.settings import SETTINGS
from skpd.solvers.interior.systems import FeatureSystem, RowsOfBlock
from skpd.solvers.select import select
from tests.oracles.optima import linear_optimum
from tests.oracles.output_models import Model, penalty_value
from tests.pairs import every_fourth_pair

K = 3
LOSSES = {name: of_outputs(K) for name, of_outputs in OUTPUT_LOSSES.items()}
LOSSES |= {"softmax": Softmax(K), "crammer_singer": CrammerSinger(K)}
MARGINS = ("hinge", "smoothed_hinge", "squared_hinge", "logistic")
RADIUS = 2.0
PENALTIES = {
    **OUTPUT_PENALTIES,
    "mixed": lambda d, K: GroupElasticNet(K, np.ones(d), 0.5),
    "ball": lambda d, K: Spectral(SquaredL2OnL1Ball(RADIUS), K),
}
EXACT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def data(rng, loss, n=24, d=5):
    """Features on scales from 0.01 to 100, some of them far from 0, and targets."""
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-2, 2, d)
    Y = X / X.std(axis=0) @ rng.normal(size=(d, K)) + rng.standard_t(3, size=(n, K)) + [1, -1, 0]
    X[:, 1] += 30.0 * X[:, 1].std()
    if loss in ("softmax", "crammer_singer"):
        return X, np.eye(K)[np.argmax(Y, axis=1)]
    return X, np.where(Y > 0.0, 1.0, -1.0) if loss in MARGINS else Y


def posed(X, Y, loss, penalty, fit_intercept=True, weights=None, share=0.01):
    """A problem with so much of the alpha at which W = 0, or the penalty is worth the loss."""
    weights = np.ones(len(Y)) if weights is None else weights
    d = X.shape[1]
    given = Design(X), Y, weights / weights.sum(), LOSSES[loss], PENALTIES[penalty](d, K)
    problem = outputs_problem(
        *given, alpha=1.0, fit_intercept=fit_intercept, total_weight=float(weights.sum())
    )
    return problem.with_alpha(share * largest(problem))


def largest(problem):
    gradient, penalty = -problem.null_gradient, problem.penalty
    alpha = penalty.largest_alpha(gradient)
    return alpha if alpha > 0.0 else penalty.conjugate(gradient, 1.0) / problem.objective_unit


def reached(problem, tol=1e-9):
    """What the method alone finds."""
    monitor = Monitor(problem, tol)
    monitor.begin()
    interior_point(SolverContext(problem, monitor, None, 60, None))
    return monitor.solution()


def objective(problem, X, Y, loss, penalty, found):
    """By its definition, with weights 1 / n."""
    W = found.coef.reshape(-1, K)
    model = Model(X, Y, np.full(len(Y), 1 / len(Y)), None, K, loss, "l1", 1.0, True)
    ratio, name = {"mixed": (0.5, "l21"), "ball": (1.0, "l2")}.get(penalty, (1.0, penalty))
    assert penalty != "ball" or penalty_value("trace", 1.0, W) <= RADIUS * (1.0 + 1e-12)
    return model.mean_loss(W, found.intercept) + problem.alpha * penalty_value(name, ratio, W)


@pytest.mark.parametrize("loss, penalty", every_fourth_pair(LOSSES, PENALTIES))
def test_losses_with_penalties(loss, penalty, rng):
    X, Y = data(rng, loss, n=16, d=4)
    fit_intercept = (list(LOSSES).index(loss) + list(PENALTIES).index(penalty)) % 2 == 0
    problem = posed(X, Y, loss, penalty, fit_intercept)
    assert expected_cost(problem) < np.inf
    found = reached(problem)
    assert found.certificate.relative_gap <= 1e-9 and found.n_iter <= 40
    value = float(objective(problem, X, Y, loss, penalty, found))
    assert_allclose(found.certificate.primal, value, rtol=1e-9)


@pytest.mark.parametrize("loss", ["hinge", "crammer_singer"])
def test_the_largest_sizes_by_highs(loss, rng):
    """min sum of t / n + alpha sum of u with t at least every piece and u_j >= |w_jk|."""
    X, Y = data(rng, loss)
    (n, d), eye = X.shape, np.eye(K)
    problem = posed(X, Y, loss, "l1inf")
    rows, bounds = [], []  # pieces of a loss: row.(W, b) + bound <= t
    for i, k in np.ndindex(n, K):
        sides = -Y[i, k] * eye[k] if loss == "hinge" else eye[k] - Y[i]
        rows.append(np.concatenate([np.outer(X[i], sides).ravel(), sides]))
        bounds.append(1.0 if loss == "hinge" else 1.0 - Y[i, k])
    of_loss = np.arange(n * K) if loss == "hinge" else np.repeat(np.arange(n), K)
    n_losses = of_loss[-1] + 1
    pieces = np.hstack([rows, np.zeros((n * K, d)), -np.eye(n_losses)[of_loss]])
    heights = np.hstack([np.zeros((d * K, K)), -np.kron(np.eye(d), np.ones((K, 1)))])
    beside = np.zeros((d * K, n_losses))
    limits = [np.hstack([sign * np.eye(d * K), heights, beside]) for sign in (1.0, -1.0)]
    cost = np.concatenate(
        [np.zeros(d * K + K), np.full(d, problem.alpha), np.full(n_losses, 1 / n)]
    )
    free = [(None, None)] * (d * K + K + d) + [(0.0, None)] * n_losses
    A, b = np.vstack([pieces, *limits]), np.concatenate([-np.array(bounds), np.zeros(2 * d * K)])
    best = linear_optimum(cost, A, b, bounds=free, options=EXACT).fun
    certificate = reached(problem).certificate
    assert_allclose(certificate.primal, best, rtol=1e-7)
    assert certificate.dual <= best * (1.0 + 1e-9)


def over_rows_and_features(problem, monkeypatch):
    """The solutions with systems over the rows, and over the more numerous features."""
    solutions = []
    for few, kind in ((0, RowSystem), (1000, FeatureSystem)):
        monkeypatch.setattr(SETTINGS, "few_features", few)
        assert expected_cost(problem) < np.inf
        assert type(programme_of(problem).system()) is kind
        solutions.append(reached(problem, tol=1e-6))
        assert solutions[-1].certificate.relative_gap <= 1e-6
        assert solutions[-1].n_iter <= 40
    return solutions


@pytest.mark.parametrize(
    "loss, penalty", every_fourth_pair(LOSSES, sorted(set(PENALTIES) - {"trace", "ball", "l2"}))
)
def test_systems_over_the_rows_of_wide_data(loss, penalty, rng, monkeypatch):
    X, Y = data(rng, loss, n=14, d=30)
    fit_intercept = (list(LOSSES).index(loss) + list(PENALTIES).index(penalty)) % 2 == 0
    weights = rng.integers(0, 3, len(Y)).astype(float)
    problem = posed(X, Y, loss, penalty, fit_intercept, weights)
    rows, features = over_rows_and_features(problem, monkeypatch)
    assert_allclose(rows.certificate.primal, features.certificate.primal, rtol=1e-5)


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("loss", ["absolute", "squared"])
def test_systems_over_the_rows_of_tasks(loss, sparse, rng, monkeypatch):
    """Tasks with rows of their own, and groups of any coefficients."""
    of_task, n, d = rng.permutation(np.repeat(np.arange(K), 6)), 18, 12
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < (0.3 if sparse else 1.0))
    y = X[:, :3].sum(axis=1) + of_task + rng.standard_t(3, size=n)
    design = OutputsDesign(
        [Design(sp.csr_array(part) if sparse else part) for part in map(X.__getitem__, (
            of_task == k for k in range(K)
        ))],
        [np.flatnonzero(of_task == k) for k in range(K)], n,
    )  # fmt: skip
    penalty = GroupLInf(np.split(rng.permutation(d * K), [3, 10, 12, 25]))
    rows = RowsOfOutputs(design, y, np.full(n, 1 / n), LOSSES[loss], True)
    problem = Problem(rows, Regularisation(penalty, 0.01))
    rows, features = over_rows_and_features(problem, monkeypatch)
    assert_allclose(rows.certificate.primal, features.certificate.primal, rtol=1e-5)


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_tasks_are_problems_of_their_own_without_a_tie(fit_intercept, sparse, rng):
    """An l1 norm leaves every task alone."""
    of_task, n = np.repeat(np.arange(K), 15), 45
    X = rng.normal(size=(n, 4)) * (rng.random((n, 4)) < (0.2 if sparse else 1.0))
    y = X.sum(axis=1) + of_task + rng.standard_t(3, size=n)
    parts = [X[of_task == k] for k in range(K)]
    design = OutputsDesign(
        [Design(sp.csr_array(part) if sparse else part) for part in parts],
        [np.flatnonzero(of_task == k) for k in range(K)], n,
    )  # fmt: skip
    weights = np.full(n, 1 / n)
    rows = RowsOfOutputs(design, y, weights, LOSSES["absolute"], fit_intercept)
    problem = Problem(rows, Regularisation(L1(), 0.02))
    found = reached(problem)
    alone = []
    for k in range(K):
        own = OutputsDesign([design.parts[k]], [np.arange(15)], 15)
        some = replace(rows, design=own, y=y[of_task == k], weights=np.full(15, 1 / 15))
        alone.append(reached(Problem(some, Regularisation(L1(), 0.06))))
    mean = np.mean([one.certificate.primal for one in alone])
    assert_allclose(found.certificate.primal, mean, rtol=1e-7)


def test_groups_in_any_order(rng):
    """Groups of other coefficients than the rows of W."""
    X, Y = data(rng, "absolute", d=4)
    order = rng.permutation(4 * K)
    groups = [list(order[start : start + 4]) for start in (0, 4, 8)]
    penalty = GroupLInf(groups, [1.0, 0.5, 2.0])
    problem = posed(X, Y, "absolute", "l1").with_penalty(penalty, 0.01)
    found = reached(problem)
    assert found.converged
    Z, w = np.kron(X, np.eye(K)), found.coef
    loss = np.abs(Z @ w + np.tile(found.intercept, len(X)) - Y.ravel()).sum() / len(X)
    heights = [np.abs(w[group]).max() for group in groups]
    value = loss + 0.01 * (heights[0] + 0.5 * heights[1] + 2.0 * heights[2])
    assert_allclose(found.certificate.primal, value, rtol=1e-9)


def test_ranks_and_rows_end_exactly_at_zero(rng):
    X, Y = data(rng, "absolute")
    low = reached(posed(X, Y, "absolute", "trace", share=0.3), tol=1e-5).coef.reshape(-1, K)
    values = np.linalg.svd(low, compute_uv=False)
    assert 0 < np.count_nonzero(values > 1e-12 * values[0]) < K
    for penalty in ("l1inf", "exclusive", "squared_groups"):
        coef = reached(posed(X, Y, "absolute", penalty, share=0.3), tol=1e-5).coef
        assert np.any(coef == 0.0) and np.any(coef)


def test_what_has_no_terms_is_left_to_others(rng):
    X, Y = data(rng, "absolute")
    problem = posed(X, Y, "absolute", "l1")
    for penalty in (FusedLasso(), Spectral(LInf(), K)):
        other = problem.with_penalty(penalty, 0.1)
        assert expected_cost(other) == np.inf
        assert [METHODS[attempt.key].name for attempt in select(other)] == ["hybrid-gradient"]
    names = {
        ("absolute", "l1inf"): ["interior-point", "hybrid-gradient"],
        ("squared", "trace"): ["accelerated-gradient", "interior-point", "hybrid-gradient"],
        ("hinge", "l1"): ["output-by-output", "interior-point", "hybrid-gradient"],
        ("hinge", "l21"): ["multipliers", "interior-point", "multipliers", "hybrid-gradient"],
    }
    for (loss, penalty), expected in names.items():
        assert [
            METHODS[attempt.key].name for attempt in select(posed(X, Y, loss, penalty))
        ] == expected


# Some of the models that it fits are constant.
@pytest.mark.filterwarnings("ignore:.*all coefficients are 0")
def test_a_start_without_any_loss_ends(rng):
    """Targets that constants predict: nothing overflows, and nothing is left to do."""
    X = rng.normal(size=(10, 2))
    for penalty in ("l1inf", "exclusive", "squared_groups", "squared_outputs", "trace"):
        model = MultiTaskPD(0.1, loss="absolute", penalty=penalty).fit(X, np.ones((10, 2)))
        assert_array_equal(model.coef_, 0.0)


@pytest.mark.parametrize(
    "kind, in_blocks, n_rows",
    [
        (FeatureSystem, True, 5), (FeatureSystem, False, 5), (FeatureSystem, False, 0),
        (RowSystem, True, 0), (RowSystem, False, 0),
    ],
)  # fmt: skip
@pytest.mark.parametrize("largest", [0.0, 1e9])
def test_systems_against_their_matrices(largest, kind, in_blocks, n_rows, rng, monkeypatch):
    monkeypatch.setattr(SETTINGS, "largest_outputs_decomposition", largest)
    n, d = 9, 4
    base = np.column_stack([rng.normal(size=(n, d)), np.ones(n)])
    X = np.zeros((n * K, d * K + K))
    outputs = []
    for k in range(K):
        rows, columns = np.arange(k, n * K, K), np.append(np.arange(k, d * K, K), d * K + k)
        X[np.ix_(rows, columns)] = base
        outputs.append(RowsOfBlock(rows, columns, Design(base)))
    system = kind(Design(sp.csr_array(X)), d * K, 2, outputs)
    of_penalty, starts = rng.normal(size=(n_rows, d * K)), np.arange(d + 1) * K
    scales, v = np.array([0.1, 0.0, -0.3, -2.0]), rng.uniform(-0.5, 0.5, size=d * K)
    in_groups = sp.block_diag([np.outer(own, own) for own in v.reshape(d, K)]).toarray()
    in_groups *= np.repeat(scales, K)
    roots = rng.normal(size=(n, K, K))
    for _ in range(2):
        system.clear()
        system.diagonal[: d * K] += 0.1
        h = rng.uniform(0.1, 2.0, n * K)
        if in_blocks:
            system.blocks = roots
        else:
            system.add_rows(h)
        system.penalty_rows, system.groups = of_penalty, (starts, scales, v)
        system.borders[:] = borders = rng.normal(size=(len(X.T), 2))
        system.prepare()
        root = sp.block_diag(roots).toarray() if in_blocks else np.diag(np.sqrt(h))
        matrix = X.T @ root.T @ root @ X + np.diag(system.diagonal)
        matrix[: d * K, : d * K] += of_penalty.T @ of_penalty - in_groups
        matrix = np.block([[matrix, borders], [borders.T, np.zeros((2, 2))]])
        right = rng.normal(size=len(matrix))
        assert_allclose(system.solve(right), np.linalg.solve(matrix, right), rtol=1e-6)
