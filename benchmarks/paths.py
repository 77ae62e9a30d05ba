"""Time of a regularisation path of skpd to an accuracy against those of other solvers.

A path has 50 alphas at equal ratios, from the smallest at which w = 0 is optimal down to a
hundredth of it, without intercept. Peers run their own path functions or, where they have
none for a model, a loop of fits, each from the solution before if they can. The accuracy of a
path is that of its worst alpha: the largest difference to the best objective known for an
alpha, as a share of the objective of w = 0. All else is as in the benchmark `peers`, the
entries of the table too: a peer's time over skpd's, above 1 where skpd is faster.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from benchmarks.helpers import contenders
from benchmarks.helpers.contenders import OFTEN, QUADRATIC, SPARSE_MODELS, TOLERANCES, Contender
from benchmarks.helpers.models import L1_RATIO, PATH
from benchmarks.peers import compare, options_of

CASES = {
    model: {data: (PATH,) for data in ("a9a", "reuters", "dense", "power-law")}
    for model in SPARSE_MODELS
}


def skpd(X, y, model, alphas, tol):
    from skpd import regularization_path

    found = regularization_path(
        model.estimator(X.shape[1], alphas[0], tol=tol), X, y, alphas=alphas
    )
    return found.coefs, {
        "converged": bool(found.converged.all()),
        "n_iter": int(found.n_iters.sum()),
        "dual": [float(certificate.dual) for certificate in found.certificates],
    }


def l1_ratio(model):
    """The share of the l1 norm in a penalty."""
    return L1_RATIO if model.penalty == "elastic-net" else 1.0


def sklearn_path(X, y, model, alphas, tol):
    from sklearn.linear_model import enet_path, lasso_path

    options = {"alphas": alphas, "copy_X": False, "tol": tol, "max_iter": OFTEN}
    if model.penalty == "l1":
        return lasso_path(X, y, **options)[1].T
    return enet_path(X, y, l1_ratio=L1_RATIO, **options)[1].T


def sklearn_logistic_loop(X, y, model, alphas, tol, solver):
    """One fit after the other; saga starts from the one before, liblinear cannot."""
    from sklearn.linear_model import LogisticRegression

    options = {"fit_intercept": False, "tol": tol, "max_iter": OFTEN, "random_state": 0}
    fit = LogisticRegression(l1_ratio=1, solver=solver, warm_start=solver == "saga", **options)
    return [fit.set_params(C=1.0 / (a * len(y))).fit(X, y).coef_[0].copy() for a in alphas]


def celer(X, y, model, alphas, tol):
    from celer import celer_path

    options = {"tol": tol, "max_iter": 10_000}
    if model.loss == "logistic":
        # a sum over the samples, not a mean
        alphas = len(y) * np.array(alphas)
        return celer_path(X, y, "logreg", alphas=alphas, use_PN=True, **options)[1].T
    return celer_path(X, y, "lasso", alphas=alphas, l1_ratio=l1_ratio(model), **options)[1].T


def skglm(X, y, model, alphas, tol):
    from skglm import ElasticNet, Lasso, SparseLogisticRegression

    options = {"fit_intercept": False, "tol": tol, "max_iter": 10_000}
    if model.loss == "logistic":  # which has no path
        fit = SparseLogisticRegression(warm_start=True, **options)
        return [fit.set_params(alpha=a).fit(X, y).coef_[0].copy() for a in alphas]
    fit = Lasso(**options) if model.penalty == "l1" else ElasticNet(l1_ratio=L1_RATIO, **options)
    return fit.path(X, y, alphas)[1].T


OURS = replace(contenders.OURS, models=SPARSE_MODELS, fit=skpd)
PEERS = [
    Contender("scikit-learn", "sklearn", QUADRATIC, TOLERANCES, sklearn_path),
    *(
        Contender(solver, "sklearn", ("l1-logistic",), TOLERANCES,
                  partial(sklearn_logistic_loop, solver=solver), layout="rows")
        for solver in ("liblinear", "saga")
    ),
    Contender("celer", "celer", SPARSE_MODELS, TOLERANCES, celer),
    Contender("skglm", "skglm", SPARSE_MODELS, TOLERANCES, skglm, compiles=True),
    # takes a list of alphas as it is
    next(peer for peer in contenders.PEERS if peer.name == "adelie"),
]  # fmt: skip


def entrants(model):
    return [OURS, *(peer for peer in PEERS if model in peer.models)]


OPTIONS = options_of("paths", CASES, entrants)


def main(options):
    compare(options, "paths", CASES, entrants)
