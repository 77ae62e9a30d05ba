"""The tables of Yang et al. on the group lasso, on generated sequences."""

from itertools import combinations

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from benchmarks.papers import Table
from benchmarks.papers import pdprox_excess as pdprox
from benchmarks.papers.saddle_points import GroupNorms, SaddlePoint
from skpd import PdproxRegressor, PdproxSVC
from skpd.penalties import GroupL2


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
    """X, y, the sizes of groups, and lambda with the parameters of the fit."""
    X, y, sizes = sequences()
    for lam in (1e-3, 1e-5):
        yield X, y, sizes, lam, {"alpha": lam, "penalty": GroupL2(sizes)}


def saddle_point(X, y, sizes, lam, loss):
    """The group lasso for first-order methods; 1 is the objective at w = 0 for both losses."""
    norm = GroupNorms(sizes)
    if loss == "hinge":
        signed = sp.csr_array(-X.multiply(y[:, None]))
        return SaddlePoint(signed, np.ones(len(y)), norm, lam, lower=0.0)
    return SaddlePoint(X, -y, norm, lam)


def figure_2():
    """The group lasso with the hinge loss, and with the absolute loss of the labels.

    An iteration of auto is a Newton step, one of agm a gradient at a decreasing smoothing.
    Gradient descent, FOBOS, RDA and accelerated gradients have the best of 21 first steps after
    150 iterations, and their best iterate counts; Pdprox has its own steps, or the best after 150
    iterations of 7 ratios of two.
    """
    rows = []
    losses = {"hinge": PdproxSVC, "absolute": PdproxRegressor}
    for X, y, sizes, lam, shared in group_lassos():
        for loss, estimator in losses.items():
            model = estimator(loss=loss, fit_intercept=False, **shared)
            best = clone(model).set_params(tol=1e-7).fit(X, y).certificate_.dual
            found = {
                method: pdprox.excesses(best, model, X, y, solver, options)
                for method, (solver, options) in pdprox.PDPROX.items()
            }
            for method, (solver, options) in pdprox.PDPROX.items():
                if solver == "pdprox-dual" and method != "Algorithm 3":
                    ratio, values = pdprox.with_best_ratio(best, model, X, y, options)
                    found[f"{method}, sigma / tau = {ratio:g}"] = values
            problem = saddle_point(X, y, sizes, lam, loss)
            found |= pdprox.of_baselines(best, problem)
            rows += pdprox.rows_of(f"sequences, {loss}", lam, found)
    return Table(pdprox.HEADER, rows)
