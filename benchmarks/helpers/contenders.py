"""The contenders: which models each can fit, with which settings, and how."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec

import numpy as np
import scipy.sparse as sp

from benchmarks.helpers import conic
from benchmarks.helpers.matrix_models import MATRIX_MODELS
from benchmarks.helpers.models import L1_RATIO, MODELS, QUANTILE

TOLERANCES = tuple(10.0**-k for k in range(1, 11))
LARGEST_HESSIAN = 10_000  # columns: a matrix of second derivatives has then 800 MB
OFTEN = 10**7  # iterations: the time limit ends a fit


@dataclass(frozen=True)
class Contender:
    """A solver with its settings, the loosest first.

    ``fit``, of X, y, the model, alpha and a setting, returns the coefficients, or a pair of
    them and of a dict of what else the solver says; it can be pickled. Where alpha is a list,
    the coefficients are a table with a row for each.
    ``variant`` tells apart several ways of one contender to fit the same model. The data
    comes in ``layout``, the one that the solver works on or is fastest with, made before the
    clock starts; by columns for the models in ``by_columns``, and dense data also for those in
    ``dense_by_columns``. Then ``prepare`` makes of it what the solver keeps of X, if it keeps
    something else.
    """

    name: str
    package: str
    models: tuple[str, ...]
    settings: tuple
    fit: Callable
    variant: str = ""
    layout: str = "columns"
    compiles: bool = False
    by_columns: tuple[str, ...] = ()
    dense_by_columns: tuple[str, ...] = ()
    prepare: Callable | None = None

    @property
    def installed(self):
        return find_spec(self.package) is not None

    def arrange(self, X, model):
        """X in the layout of this contender for a model of this name."""
        columns = self.layout == "columns" or model in self.by_columns
        if sp.issparse(X):
            # older libraries know the matrix classes alone
            X = sp.csc_matrix(X) if columns else sp.csr_matrix(X)
        elif columns or model in self.dense_by_columns:
            X = np.asfortranarray(X)
        return self.prepare(X) if self.prepare else X


def skpd(X, y, model, alpha, tol):
    fit = model.estimator(X.shape[1], alpha, tol=tol).fit(X, y)
    return fit.coef_, {
        "converged": bool(fit.converged_),
        "n_iter": int(fit.n_iter_),
        "solver": fit.solver_,
        "dual": float(fit.certificate_.dual),
    }


def linear_programme(X, y, model, alpha, method):
    """The l1 hinge model by HiGHS, in the form that takes it less time.

    Mostly that is the dual, by far: max 1'u over 0 <= u <= 1 and X' diag(y) u = v with
    |v| <= n alpha, where the multipliers of the equations are -w. With many more features
    than samples it is the primal in w+, w- and the losses.
    """
    from scipy.optimize import linprog

    n, d = X.shape
    if d <= 4 * n:
        parts = conic.programme(model.loss, model.penalty, X, y, alpha, False)
        return conic.solve_by_highs(parts, method)[1]
    S = sp.diags_array(y) @ sp.csr_array(X)
    A = sp.hstack([-S, S, -sp.eye_array(n)], format="csc")
    cost = np.concatenate([np.full(2 * d, alpha * n), np.ones(n)])
    found = linprog(cost, A_ub=A, b_ub=-np.ones(n), method=method)
    if not found.success:
        raise RuntimeError(found.message)
    return found.x[:d] - found.x[d : 2 * d]


def conic_programme(X, y, model, alpha, tol):
    """The hinge models by Clarabel, in the dual form of `linear_programme`."""
    parts = conic.programme(model.loss, model.penalty, X, y, alpha, False)
    return conic.solve_by_clarabel(parts, tol=tol)[1]


def linear_svc(X, y, model, alpha, tol):
    from sklearn.svm import LinearSVC

    several = model.loss == "crammer_singer"
    own = {"multi_class": "crammer_singer"} if several else {"loss": "hinge"}
    options = {"fit_intercept": False, "tol": tol, "max_iter": OFTEN, "random_state": 0}
    return LinearSVC(C=1.0 / (alpha * len(y)), **own, **options).fit(X, y).coef_


def quantile_regressor(X, y, model, alpha, method):
    from sklearn.linear_model import QuantileRegressor

    fit = QuantileRegressor(quantile=QUANTILE, alpha=alpha, fit_intercept=False, solver=method)
    return fit.fit(X, y).coef_


def sklearn_descent(X, y, model, alpha, tol):
    from sklearn.linear_model import ElasticNet, Lasso

    options = {"fit_intercept": False, "copy_X": False, "tol": tol, "max_iter": OFTEN}
    if model.penalty == "l1":
        return Lasso(alpha=alpha, **options).fit(X, y).coef_
    return ElasticNet(alpha=alpha, l1_ratio=L1_RATIO, **options).fit(X, y).coef_


def sklearn_logistic(X, y, model, alpha, tol, solver):
    from sklearn.linear_model import LogisticRegression

    if solver == "newton-cholesky" and X.shape[1] * (y.max() + 1) > LARGEST_HESSIAN:
        raise RuntimeError(f"no room for second derivatives of {X.shape[1]} x {y.max() + 1}")
    C, ratio = 1.0 / (alpha * len(y)), float(model.penalty == "l1")
    options = {"fit_intercept": False, "tol": tol, "max_iter": OFTEN, "random_state": 0}
    return LogisticRegression(C=C, l1_ratio=ratio, solver=solver, **options).fit(X, y).coef_


def celer(X, y, model, alpha, tol):
    from celer import ElasticNet, Lasso, LogisticRegression

    options = {"fit_intercept": False, "tol": tol, "max_iter": 10_000}
    if model.loss == "logistic":
        return LogisticRegression(C=1.0 / (alpha * len(y)), **options).fit(X, y).coef_
    if model.penalty == "l1":
        return Lasso(alpha=alpha, **options).fit(X, y).coef_
    return ElasticNet(alpha=alpha, l1_ratio=L1_RATIO, **options).fit(X, y).coef_


def skglm(X, y, model, alpha, tol):
    from skglm import ElasticNet, Lasso, SparseLogisticRegression

    options = {"fit_intercept": False, "tol": tol, "max_iter": 10_000}
    if model.loss == "logistic":
        return SparseLogisticRegression(alpha=alpha, **options).fit(X, y).coef_
    if model.penalty == "l1":
        return Lasso(alpha=alpha, **options).fit(X, y).coef_
    return ElasticNet(alpha=alpha, l1_ratio=L1_RATIO, **options).fit(X, y).coef_


def adelie(X, y, model, alpha, tol):
    import adelie as ad

    matrix = (ad.matrix.sparse if sp.issparse(X) else ad.matrix.dense)(X, method="naive")
    logistic = model.loss == "logistic"
    loss = ad.glm.binomial((y > 0).astype(float)) if logistic else ad.glm.gaussian(y)
    options = {
        "intercept": False, "early_exit": False, "progress_bar": False, "tol": tol,
        "irls_tol": tol, "max_iters": OFTEN, "lmda_path": np.atleast_1d(alpha),
    }  # fmt: skip
    ratio = L1_RATIO if model.penalty == "elastic-net" else 1.0
    state = ad.grpnet(matrix, loss, alpha=ratio, **options)
    if state.betas.shape[0] != np.size(alpha):
        raise RuntimeError(f"{state.betas.shape[0]} of {np.size(alpha)} solutions returned")
    return state.betas.toarray()


QUADRATIC = ("lasso", "elastic-net")
SPARSE_MODELS = (*QUADRATIC, "l1-logistic")
METHODS = ("highs-ipm", "highs-ds", "highs")
CONIC = (1e-3, 1e-4, 1e-5, 1e-6, 1e-8, 1e-10)
AS_THEY_COME = ("l1-hinge", "group-hinge", "l2-hinge", "l1-pinball")

OURS = Contender(
    "skpd",
    "skpd",
    tuple(MODELS),
    (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-9),
    skpd,
    layout="as it comes",
    by_columns=(*SPARSE_MODELS, *MATRIX_MODELS),
    dense_by_columns=tuple(name for name in MODELS if name not in AS_THEY_COME),
)
PEERS = [
    *(
        Contender("HiGHS", "scipy", ("l1-hinge",), (method,), linear_programme, method, "rows")
        for method in METHODS
    ),
    Contender("Clarabel", "clarabel", ("l1-hinge", "group-hinge"), CONIC, conic_programme,
              layout="rows"),
    Contender("LinearSVC", "sklearn", ("l2-hinge",), TOLERANCES, linear_svc, layout="rows"),
    *(
        Contender("QuantileRegressor", "sklearn", ("l1-pinball",), (method,), quantile_regressor,
                  method)
        for method in METHODS
    ),
    Contender("scikit-learn", "sklearn", QUADRATIC, TOLERANCES, sklearn_descent),
    Contender("liblinear", "sklearn", ("l1-logistic",), TOLERANCES,
              partial(sklearn_logistic, solver="liblinear"), layout="rows"),
    Contender("saga", "sklearn", ("l1-logistic",), TOLERANCES,
              partial(sklearn_logistic, solver="saga"), layout="rows"),
    Contender("celer", "celer", QUADRATIC, TOLERANCES, celer),
    Contender("celer", "celer", ("l1-logistic",), TOLERANCES, celer, layout="rows"),
    Contender("skglm", "skglm", SPARSE_MODELS, TOLERANCES, skglm, compiles=True),
    Contender("adelie", "adelie", SPARSE_MODELS, (*TOLERANCES, 1e-12, 1e-14), adelie),
]  # fmt: skip
