"""Dual points of several outputs: sums, intervals of the intercepts, projections."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skpd import kernels, penalties
from skpd.designs import Design
from skpd.designs.outputs import OutputsDesign
from skpd.losses import Absolute, CrammerSinger, Hinge, L2Norm, Softmax, Squared
from skpd.penalties import L1, Separable, Spectral, WeightedL1
from skpd.problems import linear_problem
from skpd.problems.output_points import on_intervals
from skpd.problems.output_rows import RowsOfOutputs, outputs_problem
from skpd.problems.problem import Problem
from skpd.problems.regularisation import Regularisation

NOTHING = (0.0, 0.0)
N, K = 12, 3


def problem_of(rng, loss, penalty=None, fit_intercept=True):
    X, c = rng.normal(size=(N, 2)) + 0.5, rng.dirichlet(np.full(N, 5.0))
    Y = np.eye(K)[np.arange(N) % K] if loss.of_classes else rng.normal(size=(N, K))
    Y = np.where(Y > 0.0, 1.0, -1.0) if loss.of_labels else Y
    return outputs_problem(
        Design(X), Y, c, loss, penalty or L1(), alpha=0.2, fit_intercept=fit_intercept
    ), X


def exact_theta(problem, theta):
    """The table of a dual point, whose own classes have minus the exact sum of the others."""
    table = [[Fraction(x) for x in row] for row in theta.reshape(-1, K)]
    if problem.loss.of_classes:
        for row, own in zip(table, np.argmax(problem.y.reshape(-1, K), axis=1), strict=True):
            row[own] -= sum(row)
    return table


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("precise", [True, False])
@pytest.mark.parametrize("loss", [Softmax(K), L2Norm(K), Absolute()], ids=str)
def test_sums_of_every_output(loss, precise, fit_intercept, rng):
    free = {"Softmax": [3, 4, 5], "L2Norm": [], "Absolute": [1, 5]}[type(loss).__name__]
    factors = np.where(np.isin(np.arange(6), free), 0.0, 1.0)
    problem, X = problem_of(rng, loss, WeightedL1(factors), fit_intercept)
    theta = loss.project_dual(problem.y, rng.uniform(-0.9, 0.9, N * K))
    point, c = problem.row_point(theta), problem.weights
    products, errors = point.products(precise)
    design, spread = problem.design, np.zeros(N * K)
    if loss.of_classes:
        spread = c * loss.spread(problem.y, theta)
        assert np.max(spread) > 0.0
    product = design.rmatvec_compensated if precise else design.rmatvec_bounded
    plain, own = product(c, theta)
    assert_allclose(products, plain, rtol=1e-13)
    added = 1.01 * np.ravel(np.abs(X).T @ spread.reshape(N, K))
    norms = [np.linalg.norm(x, axis=0) for x in (np.asarray(abs(X)), spread.reshape(N, K))]
    most = 1.02 * np.ravel(np.outer(*norms))  # by the inequality of Cauchy and Schwarz
    assert np.all(errors >= own * 0.5 + added) and np.all(errors <= 2.0 * own + most)
    exact, weights = exact_theta(problem, theta), [Fraction(x) for x in c.reshape(N, K)[:, 0]]
    for j in range(2):
        for k in range(K):
            terms = [w * row[k] * Fraction(x) for w, row, x in zip(weights, exact, X[:, j])]  # noqa: B905
            found = j * K + k
            assert abs(sum(terms) - Fraction(products[found])) <= Fraction(errors[found])
    sums = point.free_sums(products, errors)
    for k, (value, error) in enumerate(sums[:K]):
        if not fit_intercept:
            assert (value, error) == NOTHING
            continue
        rows = slice(k, None, K)
        dot, rounding = kernels.compensated_dot(c[rows].copy(), theta[rows].copy())
        assert value == dot
        assert_allclose(error, rounding + 1.01 * np.sum(spread[rows]), rtol=1e-12)
        total = sum(w * row[k] for w, row in zip(weights, exact, strict=True))
        assert abs(total - Fraction(value)) <= Fraction(error)
    assert sums[K:] == [(products[j], errors[j]) for j in free]
    table = theta.reshape(N, K).copy()
    table[:, 1] = 0.0
    nothing = problem.row_point(np.ravel(table)).sums_without_products()
    assert nothing[1] == NOTHING and (nothing[0] != NOTHING) is fit_intercept
    assert len(problem.left_out) == 0
    gradient = np.arange(6.0)
    assert problem.free.sums(gradient, 0.5) == [0.5] * K + gradient[free].tolist()
    assert problem.free.sums(gradient, [1.0, 2.0, 3.0])[:K] == [1.0, 2.0, 3.0]
    likely = 2.0 * problem.prediction_scale / np.sqrt([1.0] * K + problem.squares[free].tolist())
    assert_allclose(problem.free.likely_sizes, likely, rtol=1e-12)


@pytest.mark.parametrize("penalty, of_one", [(L1(), L1()), (Spectral(L1()), penalties.L2Norm())])
@pytest.mark.parametrize("loss", [Squared(), Hinge()], ids=str)
def test_intervals_of_separate_outputs(loss, penalty, of_one, rng):
    """Those of each output by itself, with its own weights; also of tasks."""
    problem, X = problem_of(rng, loss, penalty)
    Y, c = problem.y.reshape(N, K), problem.weights[::K].copy()
    for k, found in enumerate(problem.free_intervals(1.0)):
        alone = linear_problem(Design(X), Y[:, k].copy(), c, loss, of_one, 0.2)
        assert_allclose([found], alone.free_intervals(1.0), rtol=1e-12)
    without, _ = problem_of(rng, loss, penalty, False)
    assert without.free_intervals(1.0) == [NOTHING] * K
    places = [np.arange(k, N, K) for k in range(K)]
    y = problem.y[:N].copy()
    design = OutputsDesign([Design(X[p]) for p in places], places, N)
    tasks = Problem(RowsOfOutputs(design, y, c, loss), Regularisation(penalty, 0.2))
    for found, own in zip(tasks.free_intervals(1.0), places, strict=True):
        alone = linear_problem(Design(X[own]), y[own], c[own], loss, of_one, 0.2)
        assert_allclose([found], alone.free_intervals(1.0), rtol=1e-12)


@pytest.mark.parametrize("loss", [Softmax(K), CrammerSinger(K)], ids=str)
@pytest.mark.parametrize("weights", [None, [1.0, 4.0, 0.5, 2.0, 1.0, 0.25]])
def test_supports_of_differences_of_classes(weights, loss, rng):
    """(w_own - w_other).x for the worst other class."""
    penalty = L1() if weights is None else WeightedL1(weights)
    problem, _ = problem_of(rng, loss, penalty)
    alphas = np.reshape(np.ones(6) if weights is None else weights, (2, K))
    for own in range(K):
        x, error = np.array([0.5, -2.0]), np.array([0.25, 0.125])
        size = np.abs(x) + error
        expected = max(
            np.max(size[:, np.newaxis] / alphas[:, [own, other]])
            for other in range(K) if other != own
        )  # fmt: skip
        support = problem.free._support_of_class(own, x, error)
        assert_allclose(support(3.0), 3.0 * expected, rtol=1e-12)
        plain = problem.free._support_of_class(own, x, np.zeros(2))
        signed = max(
            np.max(np.abs(x[:, np.newaxis]) / alphas[:, [own, other]])
            for other in range(K) if other != own
        )  # fmt: skip
        assert_allclose(plain(1.0), signed, rtol=1e-12)
    intervals = problem.free_intervals(1.0)
    assert intervals == [intervals[0]] * K and np.isfinite(intervals[0]).all()


def test_supports_of_differences_with_signs(rng):
    """With w >= 0 only the own class's positive entries, and others' negative ones, count."""
    penalty = Separable(np.ones(6), 0.0, 0.0, np.inf)
    problem, _ = problem_of(rng, Softmax(K), penalty)
    for x, expected in (([0.5, -2.0], 6.0), ([0.5, 0.0], 1.5)):
        support = problem.free._support_of_class(1, np.array(x), np.zeros(2))
        assert_allclose(support(3.0), expected, rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("loss", [Softmax(K), CrammerSinger(K), L2Norm(K)], ids=str)
def test_projections_of_coupled_outputs(loss, seed):
    """The sums vanish, and the difference from theta is normal to what they leave."""
    rng = np.random.default_rng(seed)
    problem, _ = problem_of(rng, loss)
    y, c = problem.y, problem.weights
    theta = loss.project_dual(y, 0.7 * rng.normal(size=N * K))
    found = problem.projected(problem.feasible_point(theta)).theta
    assert np.max(np.abs(problem.rows.sums(c * found))) <= 4e-15
    assert_array_equal(problem.balanced(problem.feasible_point(theta)).theta, found)
    for _ in range(20):
        other = loss.project_dual(y, rng.normal(size=N * K))
        other = problem.projected(problem.feasible_point(other)).theta
        assert c * (theta - found) @ (other - found) <= 1e-12
    without, _ = problem_of(rng, loss, fit_intercept=False)
    point = without.feasible_point(theta)
    assert without.projected(point) is point


def test_projections_of_separate_outputs(rng):
    """Those of each output; of one class, whatever the rows without a weight, it is 0."""
    problem, _ = problem_of(rng, Hinge())
    y, c = problem.y, problem.weights
    y[1::K], c[1] = 1.0, 0.0
    y[1] = -1.0
    theta = -y * rng.uniform(0.1, 0.9, N * K)
    found = problem.projected(problem.feasible_point(theta)).theta
    assert not found[1::K].any()
    assert np.max(np.abs(problem.rows.sums(c * found))) <= 1e-15
    lower, upper = problem.loss.dual_bounds(y)
    for k in (0, 2):
        rows = slice(k, None, K)
        own = [np.ascontiguousarray(x[rows]) for x in (theta, lower, upper, c, c)]
        assert_array_equal(found[rows], kernels.project_box_hyperplane(*own, 0.0))
    impossible = on_intervals(problem.rows, theta, np.full(N * K, -1e-320), upper)
    assert np.isfinite(impossible).all()


def test_random_samples_have_the_size_asked_for(rng):
    """Every output of a sample is in or out with it."""
    classes = rng.integers(0, 10, 2000)
    problem = outputs_problem(
        Design(rng.standard_normal((2000, 3))), np.eye(10)[classes], np.full(2000, 1.0 / 2000),
        Softmax(10), L1(), alpha=0.2, fit_intercept=True,
    )  # fmt: skip
    sample = problem.rows.random_sample(4000)
    assert 300 * 10 < len(sample.y) < 500 * 10
    assert_allclose(sample.y.reshape(-1, 10).sum(axis=1), 1.0)
