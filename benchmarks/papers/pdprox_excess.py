"""How far the iterates of Pdprox are above the optimum, for the tables of Yang et al."""

import warnings

from sklearn.exceptions import ConvergenceWarning

from skpd import PdproxSVC

AFTER = (30, 150, 1000)  # iterations
HEADER = ["data", "lambda", "method", *(f"after {n}" for n in AFTER)]
RATIOS = (1000.0, 100.0, 10.0, 1.0, 0.1, 0.01, 0.001)  # of the dual to the primal step
PDPROX = {
    "Algorithm 1": ("pdprox-dual", {}),
    "Algorithm 3": ("pdprox-dual", {"algorithm": 3}),
    "Algorithm 2": ("pdprox-primal", {}),
    "Algorithm 3, last iterate": ("pdprox-dual", {"algorithm": 3, "average": False}),
    "auto": ("auto", None),
}


def fitted(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


def excess(X, y, optimum, n_iter, model=None, **parameters):
    """The share of the objective of w = 0 by which that of an iterate is above the optimum."""
    model = (model or PdproxSVC(fit_intercept=False)).set_params(**parameters)
    found = fitted(model.set_params(tol=0.0, max_iter=n_iter), X, y)
    history = found.gap_history_
    return (history["iterate_primal"][-1] - optimum) / history["primal"][0]
