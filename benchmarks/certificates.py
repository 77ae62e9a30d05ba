"""No certificate above the optimum, over random problems and dual points.

Every problem draws a loss, a penalty, a layout, a precision, weights and awkward data:
duplicate, zero and badly scaled columns, constant targets, a class of one sample. Its
optimal value comes from an independent solver: HiGHS where the problem is a linear
programme, Clarabel through CVXPY otherwise. The certificate is asked for at random,
extreme and half-optimal primal and dual points and must stay below that value.
"""

import time

import numpy as np
import scipy.sparse as sp

from benchmarks.helpers.campaigns import solved
from skpd import losses, penalties
from skpd.certificates import certify_point
from skpd.designs import Design
from skpd.losses.shifted import with_offset
from skpd.penalties.increasing_functions import PowerOfNorm
from skpd.problems import linear_problem
from skpd.solvers import solve
from tests.oracles.reference import conic_solution, linear_solution

POLYHEDRAL_LOSSES = [
    losses.Hinge(), losses.GeneralizedHinge(slope=3.0), losses.Absolute(),
    losses.EpsilonInsensitive(epsilon=0.2), losses.Pinball(quantile=0.3),
    losses.PiecewiseLinear(knots=(-1.0, 0.2, 1.0), slopes=(-2.0, 0.0, 0.5, 2.0)),
]  # fmt: skip
POLYHEDRAL_PENALTIES = [
    penalties.L1(), penalties.NonNegativeL1(), penalties.LInf(), penalties.L1Ball(radius=0.7),
    penalties.Box(lower=-0.5, upper=0.3), penalties.FusedLasso(l1_ratio=0.4),
]  # fmt: skip
LOSSES = [
    *POLYHEDRAL_LOSSES, losses.SmoothedHinge(mu=0.5), losses.SquaredHinge(), losses.Logistic(),
    losses.Squared(), losses.Huber(delta=0.5), losses.ModifiedHuber(),
    losses.SquaredEpsilonInsensitive(epsilon=0.5), losses.Poisson(), losses.Gamma(),
    losses.Tweedie(power=1.5), losses.NegativeBinomial(dispersion=0.7),
]  # fmt: skip
PENALTIES = [
    *POLYHEDRAL_PENALTIES, penalties.L2Norm(), penalties.SquaredL2(),
    penalties.ElasticNet(l1_ratio=0.6), penalties.GroupL2(groups=2),
    penalties.SparseGroup(groups=2, l1_ratio=0.4),
    penalties.SquaredL2OnL1Ball(radius=0.7, weight=0.3),
    penalties.ElasticNetBall(radius=0.7, l1_ratio=0.4),
]  # fmt: skip
FUNCTIONS_OF_NORMS = [
    penalties.SquaredGroupL2(groups=2), penalties.FunctionOfNorm(penalties.L1()),
    penalties.FunctionOfNorm(penalties.GroupL2(groups=2), PowerOfNorm(1.5, 0.5)),
]  # fmt: skip


LINEAR_LOSSES = tuple(map(type, POLYHEDRAL_LOSSES))
LINEAR_PENALTIES = (
    *map(type, POLYHEDRAL_PENALTIES), penalties.TotalVariation, penalties.WeightedL1,
)  # fmt: skip


def random_problem(rng, loss, penalty, *, mild=False):
    """A small problem with awkward data; returns it with its dense X.

    ``mild`` leaves out the scales that an independent solver cannot handle. In place of a penalty
    there may be a function of ``rng`` and the number of features that draws one.
    """
    n, d = int(rng.integers(2, 14)), 2 * int(rng.integers(1, 4))
    if callable(penalty):
        penalty = penalty(rng, d)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < rng.choice([0.3, 1.0]))
    if rng.random() < 0.3:
        X[:, rng.integers(d)] = X[:, rng.integers(d)]  # duplicate columns
    if rng.random() < 0.2:
        X[:, rng.integers(d)] = rng.choice([0.0, 1.0])  # constant column
    if rng.random() < 0.05:
        X[:] = 0.0
    if not mild and rng.random() < 0.3:
        X *= 10.0 ** rng.integers(-8, 9, size=d)
    if isinstance(loss, losses.MarginLoss):
        y = np.where(rng.random(n) < rng.choice([0.1, 0.5]), 1.0, -1.0)
        y[:2] = [1.0, -1.0]
    elif loss.has_log_link:
        y = rng.gamma(rng.choice([0.5, 3.0]), 10.0 ** rng.integers(-1, 2), n)
        if loss.zeros:
            y = np.where(rng.random(n) < 0.3, 0.0, np.ceil(y) if rng.random() < 0.5 else y)
            y[0] = 1.0
    else:
        y = rng.normal(size=n) * 10.0 ** rng.integers(-1, 2)
        if rng.random() < 0.2:
            y[:] = y[0]
        if not mild and rng.random() < 0.2:
            y = y + 1e6
    weights = rng.random(n) + 0.05 if rng.random() < 0.5 else np.ones(n)
    if n > 4 and rng.random() < 0.2:
        weights[2] = 0.0
    if rng.random() < 0.3:
        y, loss = with_offset(loss, y, rng.normal(size=n))
    stored = X.astype(np.float32) if rng.random() < 0.3 else X
    X = stored.astype(np.float64)
    layouts = [np.ascontiguousarray, np.asfortranarray, sp.csr_array, sp.csc_matrix]
    problem = linear_problem(
        design=Design(layouts[rng.integers(4)](stored)),
        y=y,
        weights=weights / weights.sum(),
        loss=loss,
        penalty=penalty,
        alpha=10.0 ** rng.uniform(-2, 0.5) if mild else 10.0 ** rng.uniform(-4, 2),
        fit_intercept=bool(rng.random() < 0.5),
    )
    return problem, X


def pick(rng, options):
    return options[rng.integers(len(options))]


def some_free(rng, d):
    """Weights of which some are 0."""
    return rng.uniform(0.2, 2.0, d) * (rng.random(d) < 0.7)


def weighted_l1(rng, d):
    return penalties.WeightedL1(some_free(rng, d))


def bounded(rng, d):
    """An l1 norm and squares with weights of their own, with bounds on some coefficients.

    Coefficients with two bounds of 0 are 0.
    """
    upper = np.where(rng.random(d) < 0.5, np.inf, rng.choice([0.0, 0.3, 5.0], d))
    lower = np.where(rng.random(d) < 0.5, -np.inf, rng.choice([0.0, -0.4], d))
    return penalties.Separable(
        some_free(rng, d), rng.choice([0.0, 1.0]) * some_free(rng, d), lower, upper
    )


def grouped(rng, d):
    kind = penalties.GroupL2 if rng.random() < 0.5 else penalties.NonNegativeGroupL2
    return kind(groups=2, weights=some_free(rng, d // 2))


BY_FEATURE = [weighted_l1, bounded, grouped]


def random_points(rng, problem):
    """Primal and dual points: random, extreme and from a few iterations of a solver."""
    n, d = problem.design.shape
    for scale in (0.0, 1e-6, 0.3, 1e8):
        coef = problem.penalty.prox(scale * rng.normal(size=d), 1e-3)
        intercept = rng.normal() * scale if problem.fit_intercept else 0.0
        yield coef, intercept, scale * rng.normal(size=n)
        z = problem.matvec(problem.join(coef, intercept))
        yield coef, intercept, problem.loss.gradient(problem.y, z)
    for max_iter in (5, 100, 3000):
        found = solve(problem, tol=1e-9, max_iter=max_iter, random_state=np.random.RandomState(0))
        yield found.coef, found.intercept, found.dual_coef


def optimum(problem, X):
    """The optimal value by an independent solver."""
    return solution(problem, X)[0]


def solution(problem, X):
    """Optimal value, coefficients and intercept by an independent solver."""
    arguments = (
        X, problem.y, problem.weights, problem.loss, problem.penalty, problem.alpha,
        problem.fit_intercept,
    )  # fmt: skip
    loss = getattr(problem.loss, "inner", problem.loss)  # of `Shifted`
    if isinstance(problem.penalty, LINEAR_PENALTIES) and isinstance(loss, LINEAR_LOSSES):
        return linear_solution(*arguments)
    return conic_solution(*arguments)


def excess(rng, problem, X):
    """Largest certified lower bound minus the optimum, and the smallest gap certified.

    The excess is relative to the objective at w = 0, b = 0, the scale of the independent
    solver's errors.
    """
    value = optimum(problem, X)
    duals, gaps = [], []
    for coef, intercept, theta in random_points(rng, problem):
        certificate, _ = certify_point(problem, coef, intercept, theta)
        duals.append(certificate.dual)
        gaps.append(certificate.relative_gap)
    at_zero = float(problem.weights @ problem.loss.value(problem.y, np.zeros(len(problem.y))))
    return (max(duals) - value) / (at_zero or 1.0), min(gaps)


OPTIONS = {"--problems": 10_000, "--seed": 0, "--tolerance": (1e-9, "of the independent solver")}


def main(options):
    rng, start = np.random.default_rng(options.seed), time.perf_counter()
    drawn = [*PENALTIES, *FUNCTIONS_OF_NORMS, penalties.TotalVariation(), *BY_FEATURE]
    worst, wrong, gaps = -np.inf, 0, []

    def draw(number):
        loss, penalty = pick(rng, LOSSES), pick(rng, drawn)
        problem, X = random_problem(rng, loss, penalty, mild=True)
        return problem, *excess(rng, problem, X)

    for problem, above, gap in solved(options.problems, draw):
        worst = max(worst, above)
        gaps.append(gap)
        if above > options.tolerance:
            wrong += 1
            print(f"ABOVE by {above:.2e}: {problem}")
        if len(gaps) % 1000 == 0:
            print(
                f"{len(gaps)} problems, {time.perf_counter() - start:.0f} s: {wrong} certificates "
                f"above the optimum by more than {options.tolerance:g}, "
                f"largest excess {worst:.1e}, "
                f"median of the best relative gap {np.median(gaps):.1e}",
                flush=True,
            )
    raise SystemExit(1 if wrong else 0)
