"""How far the iterates of Pdprox are above the optimum, for the tables of Yang et al."""

import numpy as np
from sklearn.base import clone

from benchmarks.papers import fitted
from benchmarks.papers.subgradients import METHODS, tuned

AFTER = (30, 150, 1000)  # iterations
HEADER = ["data", "lambda", "method", *(f"after {n}" for n in AFTER)]
RATIOS = (1000.0, 100.0, 10.0, 1.0, 0.1, 0.01, 0.001)  # of the dual to the primal step
PDPROX = {
    "Algorithm 1": ("pdprox-dual", {}),
    "Algorithm 3": ("pdprox-dual", {"algorithm": 3}),
    "Algorithm 2": ("pdprox-primal", {}),
    "Algorithm 3, last iterate": ("pdprox-dual", {"algorithm": 3, "average": False}),
    "auto": ("auto", None),
    "agm": ("agm", {"smoothing": "homotopy"}),
}


def after(n_iter, model, X, y, solver="pdprox-dual", options=None):
    """A model fitted by so many iterations of a solver."""
    model = clone(model).set_params(solver=solver, solver_options=options)
    return fitted(model.set_params(tol=0.0, max_iter=n_iter), X, y)


def excesses(optimum, model, X, y, solver="pdprox-dual", options=None, numbers=AFTER):
    """The shares of the objective of w = 0 by which those of iterates are above the optimum."""
    histories = [after(n, model, X, y, solver, options).gap_history_ for n in numbers]
    return [(h["iterate_primal"][-1] - optimum) / h["primal"][0] for h in histories]


def with_best_ratio(optimum, model, X, y, options=None, numbers=AFTER):
    """The ratio of steps that is best after 150 iterations, and its excesses."""
    options = options or {}

    def excess(ratio):
        own = {**options, "step_ratio": ratio}
        return excesses(optimum, model, X, y, options=own, numbers=AFTER[1:2])[0]

    ratio = min(RATIOS, key=excess)
    own = {**options, "step_ratio": ratio}
    return ratio, excesses(optimum, model, X, y, options=own, numbers=numbers)


def sparsity(model, X, y, norm, ratio=None):
    """The mean share of zeros in w after 100, 200, ..., 500 iterations of Algorithm 1."""
    last, numbers = {"average": False, "step_ratio": ratio}, range(100, 501, 100)
    iterates = [after(n, model, X, y, options=last).coef_.T.ravel() for n in numbers]
    return np.mean([norm.zeros(w) for w in iterates])


def cells(values):
    return [f"{value:.1e}" for value in values]


def of_baselines(optimum, problem, exponents=range(-10, 11)):
    """The excesses of the tuned baselines, by their names."""
    unit = problem.objective(problem.start)
    for method in METHODS:
        objectives = tuned(problem, method, AFTER[-1], AFTER[1], exponents)
        yield method, [(objectives[n - 1] - optimum) / unit for n in AFTER]


def rows_of(data, lam, found):
    """A row for the excesses of each method."""
    return [[data, f"{lam:g}", method, *cells(values)] for method, values in found.items()]
