"""Certificates of kernel machines: whatever the factors, the rounding and the matrix."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks import small_problems as random
from skpd import KernelPdproxRegressor, KernelPdproxSVC
from skpd.certificates import certify_point, dual_bound, primal_objective
from skpd.losses import EpsilonInsensitive, Hinge, Logistic, SmoothedHinge, SquaredHinge
from skpd.models.kernel_machines.adaptive_factors import solve_kernel_machine
from skpd.models.kernel_machines.factor import KernelFactor
from skpd.models.kernel_machines.features import KernelFeatures
from skpd.models.kernel_machines.matrix import KernelMatrix
from skpd.models.kernel_machines.problem import kernel_machines
from skpd.models.kernel_machines.settings import PairSettings
from tests.oracles.exact_objectives import phi


@pytest.fixture(scope="module")
def moons():
    return make_moons(150, noise=0.25, random_state=0)


@pytest.mark.parametrize("case", ["kernel", "sum", "half_square", "norms"])
def test_against_clarabel(case):
    rng = np.random.default_rng(5)
    for tol in (1e-8, 1e-8, 1e-3):
        certificate, unit, value = random.CASES[case](rng, tol)
        if value is not None:
            assert certificate.dual <= value + 1e-9 * unit
            assert certificate.primal <= value + 2.0 * tol * unit


@pytest.mark.parametrize("penalty_of", [random.of_square, random.of_sum, random.of_half_square])
def test_bounds_of_arbitrary_points_whatever_the_factors(rng, penalty_of):
    """Below the optimum, also with factors that leave most of a kernel out."""
    X = rng.normal(size=(30, 2))
    y = np.where(X[:, 0] * X[:, 1] > 0.0, 1.0, -1.0)
    matrices = [KernelMatrix(rbf_kernel(X, gamma=g) + 1e-13 * np.eye(30)) for g in (0.1, 3.0)]
    for loss in (Hinge(), SquaredHinge()):
        options = {"loss": loss, "penalty_of": penalty_of, "alpha": 0.02, "fit_intercept": True}
        weights, seed = np.full(30, 1 / 30), np.random.RandomState(0)
        matrices = matrices[:1] if penalty_of is random.of_square else matrices
        (machine,) = kernel_machines(matrices, [y], weights, tol=1e-9, **options)
        best = solve_kernel_machine(machine, tol=1e-9, max_iter=10_000, random_state=seed)
        assert best.converged
        for trace in (30.0, 5.0, 0.1):
            fresh = tuple(KernelMatrix(m.to_array()).factor(trace) for m in matrices)
            coarse = machine.with_design(KernelFeatures(machine.matrices, fresh)).problem
            for theta in (best.dual_coef, -y * rng.uniform(0.0, 1.0, 30), rng.normal(size=30)):
                coef = 0.1 * rng.normal(size=coarse.n_coefficients)
                coef[coarse.design.ends - 1] = 0.0
                certificate, _ = certify_point(coarse, coef, 0.1, theta)
                assert certificate.dual <= best.certificate.primal
            # the bound does not depend on the factor but for rounding
            assert certify_point(coarse, 0.0 * coef, 0.0, best.dual_coef)[0].dual >= (
                best.certificate.dual - 1e-7
            )


@pytest.fixture
def quadrants(rng):
    """The matrix of a kernel, and labels."""
    X = rng.normal(size=(60, 2))
    return rbf_kernel(X, gamma=0.5), np.where(X[:, 0] * X[:, 1] > 0.0, 1.0, -1.0)


def one_machine(matrix, y, loss, **options):
    (machine,) = kernel_machines(
        [KernelMatrix(matrix)], [y], np.full(len(y), 1 / len(y)), loss=loss,
        penalty_of=random.of_square, tol=1e-6,
        **{"alpha": 1e-3, "fit_intercept": True} | options,
    )  # fmt: skip
    return machine


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_bounds_of_arbitrary_weights_of_the_rows(rng, quadrants, fit_intercept):
    """Without a factor: any weights are an upper bound, any dual point a lower one."""
    matrix, y = quadrants
    for loss in (Hinge(), SquaredHinge(), EpsilonInsensitive(0.1)):
        machine = one_machine(matrix, y, loss, alpha=0.02, fit_intercept=fit_intercept)
        assert machine.has_pairs and machine.problem.design.factors[0].rank == 0
        best = solve_kernel_machine(
            machine, tol=1e-9, max_iter=10_000, random_state=np.random.RandomState(0)
        )
        assert best.converged and best.method == "pair-descent"
        own, b = machine.in_rows.problem, 0.1 * fit_intercept
        for theta in (best.dual_coef, rng.normal(size=60), np.zeros(60)):
            coef = 0.1 * rng.normal(size=60)
            certificate, _ = certify_point(own, coef, b, theta)
            assert certificate.dual <= best.certificate.primal
            value = np.mean(loss.value(y, matrix @ coef + b)) + 0.01 * coef @ matrix @ coef
            assert certificate.primal == pytest.approx(value, rel=1e-12)
            assert certificate.primal >= best.certificate.dual


def test_intervals_of_intercepts_whatever_the_factors(quadrants):
    """They hold for all features, also for those that a factor leaves out."""
    matrix, y = quadrants
    machine = one_machine(matrix, y, Hinge(), alpha=0.02)
    fine = solve_kernel_machine(
        machine, tol=1e-9, max_iter=10_000, random_state=np.random.RandomState(0)
    )
    whole = machine.with_residuals([0.0]).problem
    empty = machine.with_design(
        KernelFeatures(machine.matrices, (KernelFactor.empty(np.ones(60)),))
    ).problem
    found = [
        p.free_intervals(p.null_objective)[0] for p in (whole, empty, machine.in_rows.problem)
    ]
    assert_allclose(found[1:], [found[0]] * 2, rtol=1e-6)
    assert found[0][0] <= fine.intercept <= found[0][1]


def test_pairs_that_take_long_leave_it_to_factors(quadrants, monkeypatch):
    matrix, y = quadrants
    monkeypatch.setattr(PairSettings, "most_steps", lambda self, n_rows: 30)
    machine = one_machine(matrix, y, Hinge())
    found = solve_kernel_machine(
        machine, tol=1e-6, max_iter=10_000, random_state=np.random.RandomState(0)
    )
    assert found.converged and found.method != "pair-descent"
    monkeypatch.undo()
    best = solve_kernel_machine(
        machine, tol=1e-6, max_iter=10_000, random_state=np.random.RandomState(0)
    )
    assert best.certificate.dual <= found.certificate.primal
    assert found.certificate.dual <= best.certificate.primal


def test_a_coarse_factor_is_refined(quadrants):
    matrix, y = quadrants
    machine = one_machine(matrix, y, Logistic())
    coarse = machine.with_design(
        KernelFeatures(machine.matrices, (KernelMatrix(matrix).factor(10.0),))
    )
    coarse_rank, rank = (m.problem.design.factors[0].rank for m in (coarse, machine))
    assert coarse_rank < rank
    found = solve_kernel_machine(
        coarse, tol=1e-6, max_iter=10_000, random_state=np.random.RandomState(0)
    )
    assert found.converged and found.certificate.relative_gap <= 1e-6


def indefinite(rng, n=24):
    """A kernel matrix of rank 3 that has lost 1e-8 of its diagonal, and noisy labels."""
    X = rng.normal(size=(n, 3))
    matrix = X @ X.T
    matrix -= 1e-8 * np.mean(np.diagonal(matrix)) * np.eye(n)
    return matrix, np.where(X[:, 0] + 0.8 * rng.normal(size=n) > 0.0, 1.0, -1.0)


def exact_objective(matrix, y, model, alpha, loss, of_norm=None):
    """That of the function that predicts, in rational numbers.

    The norm may be that of another matrix.
    """
    n, of = len(y), [Fraction(a) for a in np.ravel(model.support_coef_).tolist()]

    def product(matrix):
        rows = [map(Fraction, row) for row in matrix[:, model.support_].tolist()]
        return [sum(k * a for k, a in zip(row, of, strict=True)) for row in rows]

    f, images = product(matrix), product(matrix if of_norm is None else of_norm)
    b = Fraction(float(np.ravel(model.intercept_)[0]))
    square = sum(a * images[i] for a, i in zip(of, model.support_, strict=True))
    losses = sum(loss(Fraction(t), z + b) for t, z in zip(y.tolist(), f, strict=True))
    return losses / n + Fraction(alpha) * square / 2


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("alpha", [1e-2, 1e-4, 1e-6])
def test_the_certificate_is_that_of_the_predictions_of_an_indefinite_matrix(rng, alpha):
    matrix, y = indefinite(rng)
    target = y + 0.1 * rng.normal(size=len(y))
    for model, of, loss in (
        (KernelPdproxSVC(loss="hinge"), y, lambda t, z: phi(Hinge(), t * z)),
        (KernelPdproxSVC(loss="smoothed_hinge"), y, lambda t, z: phi(SmoothedHinge(), t * z)),
        (KernelPdproxRegressor(loss="absolute"), target, lambda t, z: abs(t - z)),
        (KernelPdproxRegressor(loss="squared"), target, lambda t, z: (t - z) ** 2 / 2),
    ):
        model.set_params(alpha=alpha, kernel="precomputed", tol=1e-8).fit(matrix, of)
        exact, certificate = exact_objective(matrix, of, model, alpha, loss), model.certificate_
        assert Fraction(certificate.primal) >= exact
        assert certificate.primal <= float(exact) + certificate.gap
        assert model.converged_ == (certificate.relative_gap <= 1e-8)
        # with its negative eigenvalues at 0 the matrix is still below the one that bounds
        values, vectors = np.linalg.eigh(matrix)
        semidefinite = (vectors * np.maximum(values, 0.0)) @ vectors.T
        other = clone(model).set_params(tol=1e-7).fit(semidefinite, of)
        assert certificate.dual <= other.certificate_.primal


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "kernel, offset, scale", [("poly", 1e5, 1.0), ("linear", 1e5, 10.0), ("rbf", 0.0, 1.0)]
)
def test_the_primal_is_that_of_the_values_that_predict(kernel, offset, scale):
    """Products of other shapes round the values of features far from 0 in other ways."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) + offset
    y = np.where(X[:, 0] - offset + 0.5 * rng.normal(size=60) > 0.0, 1, -1)
    X *= scale
    options = {"kernel": kernel, "degree": 2, "coef0": 1.0, "loss": "squared_hinge", "tol": 1e-2}

    def squared_hinge(t, z):
        return phi(SquaredHinge(), t * z)

    for alpha in (1e-5, 1e-3):
        model = KernelPdproxSVC(alpha, **options).fit(X, y)
        values, of_fit = np.zeros((60, 60)), model._kernel.between(X)
        values[:, model.support_] = model._kernel.between(X, model.support_vectors_)
        exact = exact_objective(values, y, model, alpha, squared_hinge, of_fit)
        assert exact <= Fraction(model.certificate_.primal)


def test_the_advice_for_a_matrix_that_is_not_definite(rng):
    matrix, y = indefinite(rng)
    with pytest.warns(ConvergenceWarning, match="kernel positive semidefinite to more"):
        KernelPdproxSVC(1e-6, kernel="precomputed", tol=1e-8).fit(matrix, y)


def test_weak_duality_where_the_matrix_is_indefinite(rng):
    """With twice the least shift, at points that go along the most negative direction."""
    for _ in range(200):
        n = int(rng.integers(2, 12))
        V, _ = np.linalg.qr(rng.normal(size=(n, n)))
        values = np.append(rng.uniform(0.0, 1.0, n - 1), -rng.uniform(0.0, 0.3))
        given = (V * values) @ V.T
        shift = max(-float(np.linalg.eigvalsh(given)[0]), 0.0) + 1e-12
        raised = KernelMatrix(given + 2.0 * shift * np.eye(n), np.full(n, 2.0 * shift))
        y, alpha = rng.choice([-1.0, 1.0], n), 10.0 ** rng.uniform(-3.0, 1.0)
        (machine,) = kernel_machines(
            [raised], [y], np.full(n, 1.0 / n), loss=Hinge(), penalty_of=random.of_square,
            alpha=alpha, fit_intercept=False, tol=1e-6,
        )  # fmt: skip
        own, theta = machine.in_rows.problem, -y * rng.uniform(0.0, 1.0, n)
        bound = dual_bound(own, theta, np.inf).value
        least = -theta / (n * alpha)
        for a in (least, *(least + t * V[:, -1] for t in rng.normal(size=10) / alpha)):
            losses = np.mean(np.maximum(1.0 - y * (given @ a), 0.0))
            value = losses + 0.5 * alpha * (a @ given @ a + 2.0 * shift * (a @ a))
            assert bound <= value * (1.0 + 1e-12)
            assert primal_objective(own, a, 0.0) == pytest.approx(value, rel=1e-12)


def test_the_certificate_says_nothing_of_columns_of_factors(moons):
    X, y = moons
    certificate = KernelPdproxSVC(0.01).fit(X, y).certificate_
    assert certificate.coefficient_bounds.shape == (0, 2) and certificate.proven_zero.size == 0
