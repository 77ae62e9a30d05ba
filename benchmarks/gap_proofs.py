"""What a gap proves of predictions, decisions, rows and paths, beside optima found otherwise.

The optima are those of Newton's method here, of the closed form, of scikit-learn or of HiGHS and
Clarabel. A model is that of a solver with a random tolerance, or an optimum that was changed.
"""

import time
from collections import defaultdict

import numpy as np
from scipy.special import expit
from sklearn.linear_model import Lasso

from benchmarks.helpers import smooth_losses
from benchmarks.helpers.campaigns import solved
from benchmarks.helpers.newton_optimum import SmoothProblem, minimiser
from benchmarks.helpers.smooth_losses import RowLoss
from skpd.certificates import certify_point
from skpd.designs import Design
from skpd.losses import Hinge, Logistic, SmoothedHinge, Softmax, Squared, SquaredHinge
from skpd.model_selection.certified_path import GapAlongPath, certified_models
from skpd.model_selection.score_bounds import SCORES, score_bounds
from skpd.penalties import L1, ElasticNet, SquaredL2
from skpd.problems import Point, linear_problem
from skpd.problems.output_rows import outputs_problem
from skpd.solvers import solve
from tests.oracles.reference import conic_solution, linear_solution

NEAR = 1e-6  # predictions of an optimum nearer to the boundary than this are on neither side
ROUNDING = 1e-9  # of distances


LOSSES = {"squared": Squared(), "logistic": Logistic(), "hinge": Hinge(),
          "squared hinge": SquaredHinge(), "smoothed hinge": SmoothedHinge()}  # fmt: skip
PENALTIES = {"l1": L1(), "l2": SquaredL2(), "both": ElasticNet(0.5)}
SMOOTH = {"squared": "squared", "logistic": "logistic", "squared hinge": "squared_hinge"}


def by_newton(X, loss, ridge, k=1):
    """The minimiser of a smooth loss and ridge ||w||^2 / 2, with free intercepts."""
    A = np.column_stack([X, np.ones(len(X))])
    ridges = np.repeat(np.append(np.full(X.shape[1], ridge), 0.0), k)
    return minimiser(SmoothProblem(A, loss, k, ridge=ridges))


def a_problem(kinds, rng):
    return next(solved(1, lambda number: Drawn(str(rng.choice(kinds)), rng)))


class Drawn:
    """A random problem with its optimal predictions."""

    def __init__(self, kind, rng):
        self.kind = kind
        n, d = int(rng.integers(8, 60)), int(rng.integers(1, 8))
        X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-1, 1, size=d)
        weights = rng.choice([1.0, rng.random()], size=n)
        if rng.random() < 0.3:
            weights[rng.integers(n)] = 0.0
        weights /= weights.sum()
        score = X @ rng.normal(size=d) / np.sqrt(d) + rng.normal(size=n)
        alpha, self.k = 10.0 ** rng.uniform(-3, 0.5), 1
        self.X, self.weights = X, weights
        y = np.where(score > np.quantile(score, rng.uniform(0.2, 0.8)), 1.0, -1.0)
        y[:2] = 1.0, -1.0
        if kind.startswith("squared,"):
            y = score
        name, norm = kind.split(", ")
        penalty = PENALTIES[norm]
        if name == "softmax":
            self.k = 3
            labels = np.digitize(score, np.quantile(score, [0.3, 0.7]))
            labels[:3] = 0, 1, 2
            self.problem = outputs_problem(
                Design(X), np.eye(3)[labels], weights, Softmax(3), penalty, alpha=alpha,
                fit_intercept=True,
            )  # fmt: skip
            w = by_newton(X, smooth_losses.Softmax(labels, weights), alpha, 3)
        else:
            self.problem = linear_problem(
                Design(X), y, weights, LOSSES[name], penalty, alpha, True
            )
            w = self.of_one_output(name, norm, y, alpha)
        self.variables = w
        self.z = np.column_stack([X, np.ones(n)]) @ w

    def of_one_output(self, name, norm, y, alpha):
        """The coefficients and the intercept of the optimum."""
        X, weights = self.X, self.weights
        if norm == "l2" and name in SMOOTH:
            return by_newton(X, RowLoss(SMOOTH[name], y, weights), alpha)
        if (name, norm) == ("squared", "l1"):
            centre = weights @ X
            root = np.sqrt(len(y) * weights)[:, None]
            model = Lasso(alpha, fit_intercept=False, tol=1e-14, max_iter=10**6)
            model.fit(root * (X - centre), root[:, 0] * (y - weights @ y))
            return np.append(model.coef_, weights @ y - centre @ model.coef_)[:, None]
        solution = linear_solution if (name, norm) == ("hinge", "l1") else conic_solution
        penalty = PENALTIES[norm]
        _, coef, intercept = solution(X, y, weights, LOSSES[name], penalty, alpha, True)
        return np.append(coef, intercept)[:, None]

    def predictions(self, coef, intercept):
        return self.X @ np.reshape(coef, (-1, self.k)) + np.reshape(intercept, (1, -1))


SOLVERS = {
    "squared, l2": ("auto", "agm", "pdprox-dual", "cd"),
    "squared, l1": ("auto", "pdprox-dual", "cd"),
    "logistic, l2": ("auto", "agm", "pdprox-dual", "cd"),
    "softmax, l2": ("auto",),
    "squared hinge, l2": ("auto", "agm", "pdprox-dual"),
    "hinge, l1": ("auto", "pdprox-dual"),
    "hinge, l2": ("auto", "agm", "pdprox-dual"),
    "hinge, both": ("auto",),
    "smoothed hinge, both": ("auto", "agm"),
}


def a_model(drawn, rng):
    """A model with its certificate, and what it is from."""
    problem = drawn.problem
    solver = str(rng.choice([*SOLVERS[drawn.kind], "changed"]))
    if solver == "changed":
        size = 10.0 ** rng.uniform(-6, 0)
        w = drawn.variables * (1.0 + size * rng.normal(size=drawn.variables.shape))
        coef, intercept = np.ravel(w[:-1]), w[-1] if drawn.k > 1 else float(w[-1, 0])
        best = solve(problem, tol=1e-6, max_iter=1000, random_state=np.random.RandomState(0))
        theta = best.dual_coef
        if rng.random() < 0.5:
            theta = problem.dual_point_of(coef, intercept)
        return solver, coef, intercept, certify_point(problem, coef, intercept, theta)[0]
    found = solve(
        problem, solver, tol=10.0 ** rng.uniform(-8, -0.5), max_iter=int(rng.integers(1, 400)),
        random_state=np.random.RandomState(0),
    )  # fmt: skip
    return solver, found.coef, found.intercept, found.certificate


def scale_of(kind, z):
    """The numbers whose distance is bounded."""
    if kind.startswith("logistic"):
        return expit(z)
    if kind.startswith("softmax"):
        p = np.exp(z - z.max(axis=1, keepdims=True))
        return p / p.sum(axis=1, keepdims=True)
    return z


def decisions(z):
    """The decision of each row, and whether it is a clear one."""
    if z.shape[1] == 1:
        return z[:, 0] > 0.0, np.abs(z[:, 0]) > NEAR
    ordered = np.sort(z, axis=1)
    return np.argmax(z, axis=1), ordered[:, -1] - ordered[:, -2] > NEAR


def check(drawn, rng):
    """(what, from, said, true) of each statement about a model."""
    solver, coef, intercept, certificate = a_model(drawn, rng)
    z = drawn.predictions(coef, intercept)
    if certificate.prediction_distance is not None:
        apart = np.sum((scale_of(drawn.kind, z) - scale_of(drawn.kind, drawn.z)) ** 2, axis=1)
        true = np.sqrt(drawn.weights @ apart)
        yield "distance", solver, certificate.prediction_distance, true, ROUNDING
    if certificate.decisions_that_may_differ is not None:
        (mine, clear), (best, known) = decisions(z), decisions(drawn.z)
        true = np.count_nonzero((mine != best) & known & clear)
        yield "decisions", solver, certificate.decisions_that_may_differ, true, 0
    inactive = certificate.proven_inactive_rows
    if inactive.any():
        y, best = drawn.problem.y, drawn.z[:, 0]
        active = drawn.problem.loss.gradient(y, best + NEAR * y) != 0.0
        yield "inactive", solver, 0, np.count_nonzero(active & inactive), 0


def statements(n_problems, seed=0):
    """Violations, and said over true, of random problems."""
    rng, wrong, ratios = np.random.default_rng(seed), 0, defaultdict(list)
    for number in range(n_problems):
        drawn = a_problem(list(SOLVERS), rng)
        for what, solver, said, true, room in check(drawn, rng):
            if true > said + room:
                wrong += 1
                print(f"problem {number}, {drawn.kind}, {solver}: {what} {true} above {said}")
            if true > 1e-7:
                ratios[what, solver].append(said / true)
    print(f"{n_problems} problems: {wrong} statements about predictions or rows are wrong")
    for (what, solver), values in sorted(ratios.items()):
        low, middle, high = np.quantile(values, [0.0, 0.5, 1.0])
        print(
            f"  {what:10} {solver:12} said over true: least {low:.3g}, median {middle:.3g}, "
            f"largest {high:.3g} of {len(values)}"
        )
    return wrong


def without_rows(n_problems, seed=1):
    """Refits without the rows that are proven inactive: the largest change of a model."""
    rng, worst, refits, left_out = np.random.default_rng(seed), 0.0, 0, 0
    while refits < n_problems:
        drawn = a_problem(["hinge, l2", "squared hinge, l2", "smoothed hinge, both"], rng)
        state = np.random.RandomState(0)
        problem = drawn.problem
        loose = solve(problem, tol=10.0 ** rng.uniform(-8, -2), max_iter=1000, random_state=state)
        out = loose.certificate.proven_inactive_rows
        kept = ~out
        share = float(np.sum(drawn.weights[kept]))
        if not out.any() or len(set(problem.y[kept & (drawn.weights > 0.0)])) < 2:
            continue
        fewer = linear_problem(
            Design(drawn.X[kept]), problem.y[kept], drawn.weights[kept] / share, problem.loss,
            problem.penalty, problem.alpha / share, True,
        )  # fmt: skip
        fits = [
            solve(p, tol=1e-15, max_iter=2000, random_state=np.random.RandomState(0))
            for p in (problem, fewer)
        ]
        apart = np.abs(fits[0].coef - fits[1].coef) / max(1.0, np.max(np.abs(fits[0].coef)))
        worst = max(worst, float(np.max(apart)))
        refits, left_out = refits + 1, left_out + int(out.sum())
    print(f"{refits} refits without {left_out} rows: coefficients change by at most {worst:.1e}")
    return worst > 1e-8


def exact(problem, alpha, start=None, tol=1e-9):
    return solve(
        problem.with_alpha(alpha), tol=tol, max_iter=2000, start=start,
        random_state=np.random.RandomState(0),
    )  # fmt: skip


def paths(n_problems, n_alphas=1000, seed=2):
    """Models of certified paths that are above eps at one of many alphas."""
    rng, wrong = np.random.default_rng(seed), 0
    for number in range(n_problems):
        drawn = a_problem([kind for kind in SOLVERS if kind != "softmax, l2"], rng)
        kind, eps = drawn.kind, 10.0 ** rng.uniform(-2.5, -1)
        problem = drawn.problem.in_workspace()
        first = problem.largest_alpha
        first = first if 0.0 < first < np.inf else 10.0
        last = first * 10.0 ** rng.uniform(-2, -1)

        def solve_at(alpha, tol, start, problem=problem):
            point = start and Point(start[0].coef, start[0].intercept, start[0].dual_coef)
            return [exact(problem, alpha, point, tol)]

        models = list(certified_models([problem], solve_at, first, last, eps))
        start, unit = None, problem.objective_unit
        for alpha in np.geomspace(first, last, n_alphas):
            found = exact(problem, alpha, start)
            start = Point(found.coef, found.intercept, found.dual_coef)
            above = np.inf
            for model in models:
                if model.lowest <= alpha <= model.highest:
                    at, best = problem.with_alpha(alpha), model.solutions[0]
                    value = at.mean_loss(best.coef, best.intercept, 0.0)
                    value += alpha * problem.penalty.value(best.coef)
                    above = (value - found.certificate.primal) / unit
                    break
            if above > eps:
                wrong += 1
                print(f"problem {number}, {kind}: {above} above {eps} at {alpha}")
    print(f"{n_problems} paths at {n_alphas} alphas: {wrong} models above eps")
    return wrong


SCORED = {
    "accuracy": lambda y, z, c: c @ (y * z > 0.0),
    "neg_log_loss": lambda y, z, c: -c @ np.logaddexp(0.0, -y * z),
    "r2": lambda y, z, c: 1.0 - c @ (y - z) ** 2 / (c @ (y - c @ y) ** 2),
    "neg_mean_squared_error": lambda y, z, c: -c @ (y - z) ** 2,
    "neg_mean_absolute_error": lambda y, z, c: -c @ np.abs(y - z),
}


def scores(n_problems, seed=3):
    """Scores of optimal models for held-out rows, at three alphas of a certified range."""
    rng, wrong, widths = np.random.default_rng(seed), 0, defaultdict(list)
    for number in range(n_problems):
        drawn = a_problem(["squared, l2", "logistic, l2", "squared hinge, l2"], rng)
        problem, of_labels = drawn.problem, not drawn.kind.startswith("squared,")
        names = ["accuracy", "neg_log_loss"] if of_labels else list(SCORED)[2:]
        name, low = str(rng.choice(names)), problem.alpha
        high = low * 10.0 ** rng.uniform(0, 0.1)
        loose = exact(problem, low, tol=10.0 ** rng.uniform(-7, -2))
        reach = GapAlongPath(problem, loose)
        eps = max(reach.share(alpha) for alpha in (low, high))
        X, c = rng.normal(size=(50, drawn.X.shape[1])), rng.dirichlet(np.ones(50))
        y = X @ rng.normal(size=X.shape[1]) + rng.normal(size=50)
        y = np.sign(y) if of_labels else y
        lower, upper = score_bounds(SCORES[name], problem, loose, eps, (X, y, c, None))
        loss = RowLoss(SMOOTH[drawn.kind.removesuffix(", l2")], problem.y, drawn.weights)
        for alpha in (low, np.sqrt(low * high), high):
            w = by_newton(drawn.X, loss, alpha)[:, 0]
            score = SCORED[name](y, X @ w[:-1] + w[-1], c)
            if not lower - ROUNDING <= score <= upper + ROUNDING:
                wrong += 1
                print(f"problem {number}, {drawn.kind}, {name}: {score} not in {lower}, {upper}")
        widths[name].append(upper - lower)
    print(f"{n_problems} held-out samples at 3 alphas: {wrong} scores outside of their bounds")
    for name, values in sorted(widths.items()):
        print(f"  {name:24} width: median {np.median(values):.2g} of {len(values)}")
    return wrong


OPTIONS = {"--problems": 10_000, "--refits": 1000, "--paths": 200}


def main(options):
    start = time.perf_counter()
    wrong = statements(options.problems)
    wrong += without_rows(options.refits) + paths(options.paths) + scores(options.refits)
    print(f"{time.perf_counter() - start:.0f} s")
    raise SystemExit(1 if wrong else 0)
