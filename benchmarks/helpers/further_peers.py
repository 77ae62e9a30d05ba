"""ReHLine, cyanure, glum and Snap ML as contenders, each at what makes it fastest.

All of them minimise the objectives of `benchmarks.helpers.models` without intercept; they differ
in how they scale them. A setting is a tolerance, each in the package's own sense.
"""

from functools import partial

import numpy as np
import scipy.sparse as sp

from benchmarks.helpers.contenders import LARGEST_HESSIAN, OFTEN, TOLERANCES, Contender
from benchmarks.helpers.models import DELTA, L1_RATIO, QUANTILE

PASSES = 10_000  # of cyanure over the data: it keeps a record as long as these at every fit
FEW_COLUMNS = 1000  # up to which cyanure itself takes no active set
DENSE_COLUMN = 0.1  # the share of entries from which tabmat keeps a column as dense

OF_REHLINE = {
    "hinge": {"name": "svm"},
    "smoothed_hinge": {"name": "sSVM"},
    "squared_hinge": {"name": "squared SVM"},
    "pinball": {"name": "QR", "qt": QUANTILE},
    "huber": {"name": "huber", "tau": DELTA},
}


def rehline(X, y, model, alpha, tol, order, shrink):
    """Coordinate descent in the dual, on a sum over the samples."""
    from rehline import plqERM_ElasticNet, plqERM_Ridge

    options = {
        "C": 1.0 / (alpha * len(y)), "tol": tol, "max_iter": OFTEN, "shrink": shrink,
        "coordinate_order": order,
    }  # fmt: skip
    loss = OF_REHLINE[model.loss]
    if model.penalty == "l2":
        return plqERM_Ridge(loss, **options).fit(X, y).coef_
    return plqERM_ElasticNet(loss, l1_ratio=L1_RATIO, **options).fit(X, y).coef_


OF_CYANURE = {"squared": "square", "logistic": "logistic", "squared_hinge": "sqhinge"}


def cyanure_penalty(model, alpha):
    """The penalty as cyanure takes it, whose squared hinge is half of that of the model."""
    size = 0.5 * alpha if model.loss == "squared_hinge" else alpha
    if model.penalty == "elastic-net":
        parts = {"lambda_1": size * L1_RATIO, "lambda_2": size * (1.0 - L1_RATIO)}
        return {"penalty": "elasticnet", **parts}
    return {"penalty": {"l1": "l1", "l2": "l2"}[model.penalty], "lambda_1": size}


def cyanure(X, y, model, alpha, tol, solver):
    from cyanure.estimators import Classifier, Regression

    options = {
        "fit_intercept": False, "tol": tol, "max_iter": PASSES, "solver": solver, "safe": False,
        "verbose": False, **cyanure_penalty(model, alpha),
    }  # fmt: skip
    if model.loss == "squared":
        return Regression(**options).fit(X, y).coef_
    return Classifier(loss=OF_CYANURE[model.loss], **options).fit(X, y).coef_


def cyanure_active_set(X, y, model, alpha, tol):
    """The active sets of cyanure's Lasso and L1Logistic, without their process for it."""
    from cyanure import estimators

    if X.shape[1] <= FEW_COLUMNS:
        return cyanure(X, y, model, alpha, tol, "auto")
    common = {
        "lambda_1": alpha, "fit_intercept": False, "tol": tol, "max_iter": PASSES, "safe": False,
        "verbose": False,
    }  # fmt: skip
    if model.loss == "squared":
        whole = estimators.Lasso(**common)
        part = estimators.Regression(penalty="l1", **common)
    else:
        whole = estimators.L1Logistic(**common)
        part = estimators.Classifier(loss="logistic", penalty="l1", **common)
    return estimators.fit_large_feature_number(whole, part, X, y).coef_


def glum(X, y, model, alpha, tol, solver):
    from glum import GeneralizedLinearRegressor

    if solver != "lbfgs" and X.shape[1] > LARGEST_HESSIAN:
        raise RuntimeError(f"no room for second derivatives of {X.shape[1]} coefficients")
    logistic = model.loss == "logistic"
    options = {
        "fit_intercept": False, "solver": solver, "gradient_tol": tol, "max_iter": OFTEN,
        "check_input": False, "copy_X": False, "family": "binomial" if logistic else "normal",
    }  # fmt: skip
    ratio = {"l1": 1.0, "elastic-net": L1_RATIO, "l2": 0.0}[model.penalty]
    fit = GeneralizedLinearRegressor(alpha=alpha, l1_ratio=ratio, **options)
    return fit.fit(X, (y > 0).astype(float) if logistic else y).coef_


def split_by_density(X):
    """A matrix of tabmat that keeps columns with many entries as dense."""
    import tabmat

    return tabmat.from_csc(X, DENSE_COLUMN) if sp.issparse(X) else X


def single_precision(X):
    """The precision of all that Snap ML keeps."""
    return X.astype(np.float32)


def snap(X, y, model, alpha, tol, *, dual, threads):
    """Coordinate descent on a sum over the samples."""
    from snapml import LinearRegression, LogisticRegression, SupportVectorMachine

    options = {
        "regularizer": alpha * len(y), "tol": tol, "max_iter": OFTEN, "n_jobs": threads,
        "random_state": 0,
    }  # fmt: skip
    if model.loss in ("hinge", "squared_hinge"):
        return SupportVectorMachine(loss=model.loss, **options).fit(X, y).coef_
    kind = LogisticRegression if model.loss == "logistic" else LinearRegression
    penalty = {"l1": "l1", "l2": "l2"}[model.penalty]
    return kind(penalty=penalty, dual=dual, **options).fit(X, y).coef_


L1_MODELS, RIDGE_MODELS = ("lasso", "l1-logistic"), ("ridge", "l2-logistic")
MIXED_MODELS = ("elastic-net", "elastic-net-logistic")
SQUARED_HINGE = ("l2-squared-hinge", "l1-squared-hinge")
CYANURE_MODELS = (*L1_MODELS, *RIDGE_MODELS, *MIXED_MODELS, *SQUARED_HINGE)
SVM_MODELS = ("l2-hinge", "l2-squared-hinge")
PLQ_MODELS = (
    "l2-hinge", "elastic-net-hinge", "l2-smoothed-hinge", "l2-squared-hinge", "l2-pinball",
    "elastic-net-pinball", "l2-huber", "elastic-net-huber",
)  # fmt: skip

FURTHER_PEERS = [
    *(
        Contender("ReHLine", "rehline", PLQ_MODELS, TOLERANCES,
                  partial(rehline, order=order, shrink=shrink),
                  f"{order}, {'shrinking' if shrink else 'whole'}", "rows")
        for order, shrink in (("random", 1), ("cyclic", 1), ("cyclic", 0))
    ),
    *(
        Contender("cyanure", "cyanure", models, TOLERANCES, partial(cyanure, solver=solver),
                  solver, "rows")
        for solver, models in (
            ("auto", CYANURE_MODELS), ("catalyst-svrg", CYANURE_MODELS),
            ("qning-svrg", CYANURE_MODELS),
            # with an elastic net it ends elsewhere, at any tolerance
            ("qning-miso", (*L1_MODELS, *RIDGE_MODELS, *SQUARED_HINGE)),
        )
    ),
    Contender("cyanure", "cyanure", L1_MODELS, TOLERANCES, cyanure_active_set, "active set",
              "rows"),
    Contender("glum", "glum", (*L1_MODELS, *RIDGE_MODELS, *MIXED_MODELS), TOLERANCES,
              partial(glum, solver="auto")),
    Contender("glum", "glum", (*L1_MODELS, *RIDGE_MODELS, *MIXED_MODELS), TOLERANCES,
              partial(glum, solver="irls-cd"), "split by density", prepare=split_by_density),
    Contender("glum", "glum", RIDGE_MODELS, TOLERANCES, partial(glum, solver="lbfgs"), "lbfgs"),
    Contender("Snap ML", "snapml", (*L1_MODELS, *RIDGE_MODELS), TOLERANCES,
              partial(snap, dual=False, threads=1), "primal", prepare=single_precision),
    *(
        Contender("Snap ML", "snapml", (*RIDGE_MODELS, *SVM_MODELS), TOLERANCES,
                  partial(snap, dual=True, threads=threads), f"dual, threads: {threads}", "rows",
                  prepare=single_precision)
        for threads in (1, 2)
    ),
]  # fmt: skip
