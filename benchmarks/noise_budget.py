"""The hinge loss with a budget of multipliers: certified.

Random small problems with weights, shifts and either penalty, against HiGHS (l1) and Clarabel
(squared l2): the largest distance of the optimum from that of the independent solver, and the
largest excess of a lower bound over it, relative to the best constant. Bounds are those of every
fit, and of fits that end after 1, 2 and 5 iterations. The table of its paper is in
`benchmarks.papers.pdprox_budget`.
"""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.helpers.campaigns import solved, unit_of
from skpd import PdproxSVC
from tests.oracles.optima import linear_optimum, optimal_value


def random_problem(rng):
    n, d = int(rng.integers(5, 60)), int(rng.integers(1, 9))
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-1, 1, size=d)
    X += rng.choice([0.0, 1.0]) * rng.standard_normal(d)
    y = np.where(X @ rng.standard_normal(d) + rng.standard_normal(n) > 0.0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    weights = rng.choice([np.ones(n), rng.integers(0, 4, size=n).astype(float)])
    weights[:2] = 1.0
    alpha, budget = 10.0 ** rng.uniform(-3, -0.5), weights.sum() * rng.uniform(0.02, 1.2)
    return X, y, weights, alpha, budget, bool(rng.integers(2))


def optimum_of_l1(X, y, weights, alpha, budget, intercept):
    """By HiGHS, over w = u - v, t, the slacks of the rows and b."""
    n, d = X.shape
    c, signed = weights / weights.sum(), y[:, None] * X
    cost = np.concatenate([np.full(2 * d, alpha), [budget / weights.sum()], c])
    blocks, bounds = [-signed, signed, -np.ones((n, 1)), -np.eye(n)], [(0, None)] * len(cost)
    if intercept:
        blocks.append(-y[:, None])
        cost, bounds = np.append(cost, 0.0), [*bounds, (None, None)]
    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    return linear_optimum(cost, np.hstack(blocks), -np.ones(n), bounds=bounds, options=tight).fun


def optimum_of_square(X, y, weights, alpha, budget, intercept):
    """By Clarabel, of the saddle point's own dual: over p in the box with the budget."""
    import cvxpy as cp

    c, p = weights / weights.sum(), cp.Variable(len(y))
    limits = [p >= 0.0, p <= 1.0, c @ p <= budget / weights.sum()]
    if intercept:
        limits.append((c * y) @ p == 0.0)
    v = X.T @ cp.multiply(c * y, p)
    objective = cp.Maximize(c @ p - cp.sum_squares(v) / (2.0 * alpha))
    return optimal_value(cp.Problem(objective, limits))


OPTIONS = {"--problems": 200, "--seed": 0}


def main(options):
    rng = np.random.default_rng(options.seed)
    warnings.simplefilter("ignore", ConvergenceWarning)
    furthest, excess, n_solved = 0.0, -np.inf, 0

    def draw(number):
        given, penalty = random_problem(rng), str(rng.choice(["l1", "l2"]))
        return *given, penalty, (optimum_of_l1 if penalty == "l1" else optimum_of_square)(*given)

    for X, y, weights, alpha, budget, intercept, penalty, optimum in solved(
        options.problems, draw
    ):
        for max_iter in (1, 2, 5, 5000):
            model = PdproxSVC(
                alpha, penalty=penalty, noise_budget=budget, fit_intercept=intercept, tol=1e-9,
                max_iter=max_iter,
            ).fit(X, y, weights)  # fmt: skip
            found = model.certificate_
            excess = max(excess, (found.dual - optimum) / unit_of(found))
        n_solved += model.converged_
        furthest = max(furthest, abs(found.primal - optimum) / unit_of(found))
    print(
        f"{options.problems} problems: {n_solved} reach 1e-9, optimum within {furthest:.1e} of "
        f"the independent solver's, bounds at most {excess:.1e} above it"
    )
