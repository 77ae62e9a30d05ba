"""Random small models of kernels, norms and groups that overlap, against Clarabel.

Kernel machines and sums of kernels with either penalty, with every loss, weights and awkward
kernels (of low rank, badly scaled, with rows that occur twice); linear models with a function
of a norm or the square of a sum of norms; and the hinge loss with groups that share features. What
skpd finds must be within 1e-8 of the optimum, in units of the objective at 0, and no certificate
above it, whatever the accuracy that is asked for.
"""

import numpy as np

from benchmarks import certificates as random
from benchmarks.helpers.campaigns import solved
from skpd import GroupLassoSVC, penalties
from skpd.designs import Design
from skpd.losses import Hinge, MarginLoss
from skpd.models.kernel_machines.adaptive_factors import solve_kernel_machine
from skpd.models.kernel_machines.matrix import KernelMatrix
from skpd.models.kernel_machines.problem import kernel_machines
from skpd.penalties import FunctionOfNorm, GroupL2
from skpd.penalties.increasing_functions import PowerOfNorm
from skpd.problems import linear_problem
from skpd.solvers import solve
from tests.oracles.reference import conic_solution

LINEAR_PENALTIES = [
    FunctionOfNorm(penalties.L1()),
    FunctionOfNorm(penalties.L2Norm(), PowerOfNorm(1.5, 0.5)),
    FunctionOfNorm(penalties.LInf(), PowerOfNorm(2.0, 3.0)), FunctionOfNorm(GroupL2(groups=2)),
    penalties.SquaredGroupL2(groups=2),
]  # fmt: skip
ACCURACY = 1e-8


def of_square(labels):
    return penalties.SquaredL2()


def of_sum(labels):
    members = [np.flatnonzero(labels == k) for k in range(labels.max() + 1)]
    return GroupL2(groups=members, weights=np.ones(len(members)))


def of_half_square(labels):
    return FunctionOfNorm(of_sum(labels), PowerOfNorm(2.0, 0.5))


def random_matrix(rng, X):
    """A kernel matrix of some rows, positive definite but for rounding, and a factor of it."""
    kind = rng.integers(3)
    squares = np.sum((X[:, np.newaxis] - X) ** 2, axis=2)
    matrix = [X @ X.T, (1.0 + X @ X.T) ** 2, np.exp(-rng.choice([0.01, 1.0]) * squares)][kind]
    matrix = matrix * rng.choice([0.1, 1.0, 10.0])
    matrix.flat[:: len(X) + 1] *= 1.0 + 1e-13
    values, vectors = np.linalg.eigh(matrix)
    return KernelMatrix(matrix), vectors * np.sqrt(np.maximum(values, 0.0))


def random_rows(rng, loss):
    """Rows, targets and weights that sum to 1."""
    n = int(rng.integers(3, 25))
    X = rng.normal(size=(n, int(rng.integers(1, 4))))
    if rng.random() < 0.3:
        X[-1] = X[0]
    z = np.sin(2.0 * X[:, 0]) + 0.5 * rng.normal(size=n)
    z = np.exp(z) if loss.has_log_link else z
    y = np.where(z > 0.0, 1.0, -1.0) if isinstance(loss, MarginLoss) else z
    weights = rng.integers(0, 4, size=n) + 1e-3 if rng.random() < 0.5 else np.ones(n)
    return X, y, weights / weights.sum()


def unit_of(problem):
    """The objective at f = 0 and b = 0, of which the errors of Clarabel are a share."""
    zeros = np.zeros_like(problem.y)
    return float(problem.weights @ problem.loss.value(problem.y, zeros)) or 1.0


def kernel_case(rng, n_kernels, penalty_of, tol):
    """The certificate of a random model of kernels, its unit, and Clarabel's optimum."""
    loss = random.pick(rng, random.LOSSES)
    X, y, weights = random_rows(rng, loss)
    matrices, tables = zip(*(random_matrix(rng, X) for _ in range(n_kernels)), strict=True)
    alpha, intercept = 10.0 ** rng.uniform(-3, 0), bool(rng.integers(2))
    machine, = kernel_machines(
        list(matrices), [y], weights, loss=loss, penalty_of=penalty_of, alpha=alpha,
        fit_intercept=intercept, tol=tol,
    )  # fmt: skip
    found = solve_kernel_machine(
        machine, tol=tol, max_iter=100_000, random_state=np.random.RandomState(0)
    )
    labels = np.repeat(np.arange(n_kernels), len(y))
    table = np.hstack(tables)
    value = conic_solution(table, y, weights, loss, penalty_of(labels), alpha, intercept)[0]
    return found.certificate, unit_of(machine.problem), value


def some_norm(rng, d):
    return random.pick(rng, LINEAR_PENALTIES)


def linear_case(rng, penalty_of, tol):
    """The same for a linear model."""
    loss = random.pick(rng, random.LOSSES)
    _, y, weights = random_rows(rng, loss)
    X = rng.normal(size=(len(y), 2 * int(rng.integers(1, 4))))
    penalty = penalty_of(rng, X.shape[1])
    alpha, intercept = 10.0 ** rng.uniform(-3, 0), bool(rng.integers(2))
    problem = linear_problem(Design(X), y, weights, loss, penalty, alpha, intercept)
    found = solve(problem, tol=tol, max_iter=100_000, random_state=np.random.RandomState(0))
    value = conic_solution(X, y, weights, loss, penalty, alpha, intercept)[0]
    return found.certificate, unit_of(problem), value


def overlapping_case(rng, tol):
    """The same for groups that share features, with a vector of coefficients for each group."""
    X, y, weights = random_rows(rng, Hinge())
    y[:2] = 1.0, -1.0
    X = rng.normal(size=(len(y), 5))
    groups = [[0, 1, 2], [2, 3], [3, 4, 0]]
    factors, alpha = rng.uniform(0.5, 2.0, size=3), 10.0 ** rng.uniform(-3, 0)
    intercept = bool(rng.integers(2))
    model = GroupLassoSVC(
        alpha, groups=groups, group_weights=factors, fit_intercept=intercept, tol=tol
    ).fit(X, y, sample_weight=weights)
    ends = np.cumsum(list(map(len, groups)))[:-1]
    copies = GroupL2(groups=np.split(np.arange(8), ends), weights=factors)
    table = X[:, np.concatenate(groups)]
    value = conic_solution(table, y, weights, Hinge(), copies, alpha, intercept)[0]
    return model.certificate_, 1.0, value


CASES = {
    "kernel": lambda rng, tol: kernel_case(rng, 1, of_square, tol),
    "sum": lambda rng, tol: kernel_case(rng, int(rng.integers(1, 4)), of_sum, tol),
    "half_square": lambda rng, tol: kernel_case(rng, int(rng.integers(1, 4)), of_half_square, tol),
    "norms": lambda rng, tol: linear_case(rng, some_norm, tol),
    "overlapping": overlapping_case,
}  # fmt: skip


OPTIONS = {
    "--problems": (200, "of each part"),
    "--seed": 0,
    "--parts": {"nargs": "+", "choices": list(CASES), "default": list(CASES)},
}


def main(options):
    rng, wrong = np.random.default_rng(options.seed), 0
    for name in options.parts:
        above, far, unsolved = -np.inf, 0.0, 0

        def draw(number, case=CASES[name]):
            tol = [ACCURACY, ACCURACY, 1e-4][number % 3]
            return tol, *case(rng, tol)

        for tol, certificate, unit, value in solved(options.problems, draw):
            above = max(above, (certificate.dual - value) / unit)
            if certificate.relative_gap > tol:
                unsolved += 1
            elif tol == ACCURACY:
                far = max(far, abs(certificate.primal - value) / unit)
        print(
            f"{name:12} {options.problems} problems: largest excess of a certificate {above:.1e}, "
            f"optima apart by {far:.1e} at most, {unsolved} not solved to the accuracy asked for",
            flush=True,
        )
        wrong += above > 1e-9 or far > 2.0 * ACCURACY
    raise SystemExit(1 if wrong else 0)
