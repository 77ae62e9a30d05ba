"""Solvers of several outputs or classes as contenders, each at what makes it fastest.

All of them minimise the objectives of `benchmarks.helpers.matrix_models`; they differ in how they
scale them.
"""

from functools import partial

import numpy as np
import scipy.sparse as sp

from benchmarks.helpers import conic
from benchmarks.helpers.contenders import (
    CONIC,
    OFTEN,
    TOLERANCES,
    Contender,
    linear_svc,
    sklearn_logistic,
)
from benchmarks.helpers.further_peers import PASSES
from benchmarks.helpers.matrix_models import by_task

SWEEPS = 10_000  # outer iterations of celer and skglm


def multi_task_lasso(X, Y, model, alpha, tol):
    from sklearn.linear_model import MultiTaskLasso

    fit = MultiTaskLasso(alpha, fit_intercept=False, copy_X=False, tol=tol, max_iter=OFTEN)
    return fit.fit(X, Y).coef_


def celer(X, Y, model, alpha, tol):
    """Its path of one alpha: its MultiTaskLasso calls what scikit-learn no longer has."""
    from celer.homotopy import mtl_path

    return mtl_path(X, Y, alphas=[alpha], tol=tol, max_iter=SWEEPS)[1][:, :, 0]


def skglm(X, Y, model, alpha, tol):
    from skglm.datafits import QuadraticMultiTask
    from skglm.penalties import L2_1
    from skglm.solvers import MultiTaskBCD

    solver = MultiTaskBCD(tol=tol, max_iter=SWEEPS, fit_intercept=False)
    return solver.solve(X, Y, QuadraticMultiTask(), L2_1(alpha))[0].T


def blocks_and_groups(X):
    """What a group lasso takes: a block of columns for each task, and each feature's columns."""
    blocks = sp.csc_matrix(by_task(X))
    columns = np.arange(blocks.shape[1]).reshape(-1, X.shape[1] - 1)
    return blocks, [group.tolist() for group in columns.T]


def celer_groups(given, y, model, alpha, tol):
    from celer import GroupLasso

    X, groups = given
    options = {"fit_intercept": False, "tol": tol, "max_iter": SWEEPS}
    return GroupLasso(groups, alpha, **options).fit(X, y).coef_


def skglm_groups(given, y, model, alpha, tol):
    from skglm import GroupLasso

    X, groups = given
    options = {"fit_intercept": False, "tol": tol, "max_iter": SWEEPS}
    weights = np.ones(len(groups))
    return GroupLasso(groups, alpha, weights=weights, **options).fit(X, y).coef_


def cyanure(X, y, model, alpha, tol, solver):
    from cyanure.estimators import Classifier, Regression

    options = {
        "fit_intercept": False, "tol": tol, "max_iter": PASSES, "solver": solver, "safe": False,
        "verbose": False, "lambda_1": alpha,
        "penalty": {"l21": "l1l2", "l1": "l1", "l2": "l2"}[model.penalty],
    }  # fmt: skip
    if model.loss == "squared":
        fit = Regression(**options)
    else:
        fit = Classifier(loss="multiclass-logistic", multi_class="multinomial", **options)
    return fit.fit(X, y).coef_.T


def conic_programme(X, Y, model, alpha, tol):
    """The models of the hinge and the absolute error by Clarabel, in their dual form.

    It is max <Y, U> over X'U = V, where the rows of V have norms up to n alpha, the products
    y u are in [0, 1] for the hinge and in [-1, 1] for the absolute error, and the multipliers
    of the equations are -W.
    """
    (n, d), K = X.shape, Y.shape[1]
    signed = sp.kron(sp.csr_array(X), sp.eye_array(K)).T @ sp.diags_array(np.ravel(Y))
    lower = 0.0 if model.loss == "hinge" else -1.0
    parts = [
        conic.Part(-signed, -1.0, 0.0, lower, 1.0),
        conic.balls(sp.eye_array(d * K, format="csc"), np.full(d, n * alpha), np.full(d, K)),
    ]
    return conic.solve_by_clarabel(parts, tol=tol)[1].reshape(d, K).T


SOFTMAX = ("multinomial-l21", "multinomial-l1", "multinomial-l2")
MATRIX_PEERS = [
    Contender("scikit-learn", "sklearn", ("multitask",), TOLERANCES, multi_task_lasso),
    Contender("celer", "celer", ("multitask",), TOLERANCES, celer),
    Contender("skglm", "skglm", ("multitask",), TOLERANCES, skglm, compiles=True),
    Contender("celer", "celer", ("multitask-tasks",), TOLERANCES, celer_groups,
              prepare=blocks_and_groups),
    Contender("skglm", "skglm", ("multitask-tasks",), TOLERANCES, skglm_groups, compiles=True,
              prepare=blocks_and_groups),
    *(
        Contender(solver, "sklearn", ("multinomial-l2",), TOLERANCES,
                  partial(sklearn_logistic, solver=solver), layout="rows")
        for solver in ("lbfgs", "newton-cg", "newton-cholesky")
    ),
    Contender("saga", "sklearn", ("multinomial-l1", "multinomial-l2"), TOLERANCES,
              partial(sklearn_logistic, solver="saga"), layout="rows"),
    Contender("LinearSVC", "sklearn", ("crammer-singer",), TOLERANCES, linear_svc, layout="rows"),
    *(
        Contender("cyanure", "cyanure", ("multitask", *SOFTMAX), TOLERANCES,
                  partial(cyanure, solver=solver), solver, "rows")
        # with sparse data its methods of reduced variance crash where there are several outputs
        for solver in ("auto", "qning-svrg", "catalyst-miso", "qning-miso", "qning-ista")
    ),
    Contender("Clarabel", "clarabel", ("multitask-absolute", "multitask-hinge"), CONIC,
              conic_programme, layout="rows"),
]  # fmt: skip
