"""The tables of Yang et al. on the group lasso, on generated sequences."""

from itertools import combinations

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from benchmarks.papers import Table
from benchmarks.papers.excessive_gap import Saddle, excessive_gap
from benchmarks.papers.pdprox_excess import AFTER, HEADER, PDPROX, excess
from benchmarks.papers.subgradients import METHODS, Composite, tuned
from skpd import PdproxRegressor, PdproxSVC
from skpd.designs import Design
from skpd.losses import Absolute, Hinge
from skpd.penalties import GroupL2
from skpd.problems import linear_problem
from skpd.solvers import solve


def sequences(n=4000, letters=4, places=7):
    """Sequences with the indicators of the letters at up to three places, and their groups."""
    rng = np.random.default_rng(0)
    code = rng.integers(letters, size=(n, places))
    groups = [some for k in (1, 2, 3) for some in combinations(range(places), k)]
    columns, sizes, first = [], [], 0
    for some in groups:
        columns.append(first + code[:, some] @ letters ** np.arange(len(some)))
        sizes.append(letters ** len(some))
        first += sizes[-1]
    ones = np.full(n * len(groups), 1.0 / np.sqrt(len(groups)))
    rows = np.repeat(np.arange(n), len(groups))
    X = sp.csr_array((ones, (rows, np.stack(columns, axis=1).ravel())), shape=(n, first))
    score = np.isin(code[:, 2], (0, 1)) * 1.0 + (code[:, 3] == code[:, 4])
    score += 0.8 * rng.normal(size=n)
    return X, np.where(score > np.median(score), 1.0, -1.0), sizes


def group_lassos():
    """X, y, the sizes of groups, lambda with the parameters of the fit, and the optimum."""
    X, y, sizes = sequences()
    for lam in (1e-3, 1e-5):
        shared = {"alpha": lam, "penalty": GroupL2(sizes)}
        best = PdproxSVC(fit_intercept=False, tol=1e-7, **shared).fit(X, y).certificate_.dual
        yield X, y, sizes, lam, shared, best


def grouped(Z, sizes, lam, loss):
    """The group lasso of signed rows Z = diag(y) X for first-order methods; 1 is the objective
    at w = 0 for both losses, as |y - z| = |1 - y z| for labels."""
    n, starts = Z.shape[0], np.concatenate([[0], np.cumsum(sizes)[:-1]])
    limits, transposed = lam * np.sqrt(sizes), Z.T.tocsr()

    def norms(w):
        return np.maximum(np.sqrt(np.add.reduceat(w * w, starts)), 1e-300)

    def errors(w):
        t = 1.0 - Z @ w
        return np.maximum(t, 0.0) if loss == "hinge" else t

    return Composite(
        np.zeros(Z.shape[1]),
        lambda w: np.mean(np.abs(errors(w))),
        lambda w: -transposed @ np.sign(errors(w)) / n,
        lambda w: limits @ norms(w),
        lambda w, step: w * np.repeat(np.maximum(1.0 - step * limits / norms(w), 0.0), sizes),
        lambda w: w * np.repeat(limits / norms(w), sizes),
    )


def accelerated(X, y, loss, shared, best):
    """The excess after AFTER gradients of accelerated gradients on smoothed losses."""
    weights = np.full(len(y), 1.0 / len(y))
    problem = linear_problem(
        Design(X), y, weights, loss, shared["penalty"], shared["alpha"], False
    )
    found = []
    for n in AFTER:
        random_state = np.random.RandomState(0)
        options = {"tol": 0.0, "max_iter": n, "smoothing": "homotopy"}
        primal = solve(problem, "agm", random_state=random_state, **options).certificate.primal
        found.append((primal - best) / problem.objective_unit)
    return found


def figure_2():
    """The group lasso with the hinge loss, and with the absolute loss of the labels."""
    rows = []
    losses = {"hinge": (PdproxSVC, Hinge()), "absolute": (PdproxRegressor, Absolute())}
    for X, y, sizes, lam, shared, _ in group_lassos():
        Z = X.multiply(y[:, None]).tocsr()
        for loss, (estimator, function) in losses.items():
            model = estimator(loss=loss, fit_intercept=False, **shared)
            best = clone(model).set_params(tol=1e-7).fit(X, y).certificate_.dual
            found = {
                method: [
                    excess(X, y, best, n, clone(model), solver=solver, solver_options=options)
                    for n in AFTER
                ]
                for method, (solver, options) in PDPROX.items()
            }
            for method in METHODS:
                objectives = tuned(grouped(Z, sizes, lam, loss), method, AFTER[-1], AFTER[1])
                found[method] = [objectives[n - 1] - best for n in AFTER]
            found["accelerated gradients"] = accelerated(X, y, function, shared, best)
            for method, values in found.items():
                cells = [f"{value:.1e}" for value in values]
                rows.append([f"sequences, {loss}", f"{lam:g}", method, *cells])
    note = (
        "An iteration of auto is a Newton step. Gradient descent, FOBOS and RDA have the best of "
        "21 first steps after 150 iterations, and their best iterate counts; the steps of Pdprox "
        "are not tuned, those of the paper are. Accelerated gradients are those of agm, with a "
        "smoothing that decreases."
    )
    return Table(HEADER, rows, note)


def figure_5():
    """Pdprox-dual against the excessive gap technique (Pdexg): the group lasso of figure 2."""
    rows = []
    for X, y, sizes, lam, shared, best in group_lassos():
        saddle = Saddle(sp.csr_array(X.multiply(y[:, None])), np.array(sizes), lam)
        states = enumerate(excessive_gap(saddle, AFTER[-1]), 1)
        found = {
            "Pdexg": [saddle.objective(state.w) - best for k, state in states if k in AFTER],
            "Pdprox-dual": [excess(X, y, best, n, solver="pdprox-dual", **shared) for n in AFTER],
        }
        for method, values in found.items():
            rows.append(["sequences", f"{lam:g}", method, *(f"{e:.1e}" for e in values)])
    note = (
        "An iteration of Pdprox-dual takes two products with X or its transpose, beside those of "
        "certificates, one of Pdexg three. Pdexg starts with levels of smoothing of the same "
        "effect."
    )
    return Table(HEADER, rows, note)
