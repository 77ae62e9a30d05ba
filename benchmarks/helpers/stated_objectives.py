"""The objectives of the models that `benchmarks.certify` draws, from their documentation.

Each as sum_i rows_i loss_i + strength * penalty, in scikit-learn's own units: for each output
(programme, arguments, rows), with the programmes of `tests.oracles.reference`.
"""

from functools import partial

import numpy as np
import scipy.sparse as sp
from sklearn.utils.class_weight import compute_class_weight, compute_sample_weight

from skpd import losses
from skpd.penalties import L1, ElasticNet, SquaredL2
from tests.oracles.optima import NotSolved
from tests.oracles.reference import (
    conic_programme,
    linear_programme,
    multinomial_programme,
    trace_norm_programme,
)
from tests.oracles.robust_reference import robust_conic_programme, robust_linear_programme

LINEAR = (losses.Hinge, losses.EpsilonInsensitive, losses.Pinball)
LOSSES = {
    "hinge": losses.Hinge(), "squared_hinge": losses.SquaredHinge(),
    "log_loss": losses.Logistic(), "modified_huber": losses.ModifiedHuber(),
    "squared_error": losses.Squared(), "huber": losses.Huber(delta=0.3),
    "epsilon_insensitive": losses.EpsilonInsensitive(epsilon=0.3),
    "squared_epsilon_insensitive": losses.SquaredEpsilonInsensitive(epsilon=0.3),
}  # fmt: skip


def with_constant(model, X):
    """X with liblinear's column for a penalised intercept, and whether there is a free one."""
    by_liblinear = getattr(model, "solver", "liblinear") == "liblinear"
    if not (by_liblinear and model.fit_intercept):
        return X, model.fit_intercept
    return np.hstack([X, np.full((len(X), 1), model.intercept_scaling)]), False


def one_vs_rest(y):
    """For each problem of two classes its class, and 1 for the rows of this and -1 for others."""
    classes = np.unique(y)
    for c in classes if len(classes) > 2 else classes[1:]:
        yield c, np.where(y == c, 1.0, -1.0)


def class_weights(model, y, s):
    """The weight of each row's class."""
    classes = np.unique(y)
    found = compute_class_weight(model.class_weight, classes=classes, y=y, sample_weight=s)
    return found[np.searchsorted(classes, y)]


def of_lasso(model, X, y, s):
    rows, free = s / s.sum(), model.fit_intercept
    return [_linear(X, y, rows, losses.Squared(), model.l1_ratio, model.alpha, free)]


def of_ridge(model, X, y, s):
    return [_linear(X, y, 2 * s, losses.Squared(), 0.0, 2 * model.alpha, model.fit_intercept)]


def of_quantile(model, X, y, s):
    loss = losses.Pinball(quantile=model.quantile)
    return [_linear(X, y, s / s.sum(), loss, 1.0, model.alpha, model.fit_intercept)]


def of_means(model, X, y, s, loss=None):
    loss = loss or losses.Tweedie(power=model.power)
    return [_linear(X, y, s / s.sum(), loss, 0.0, model.alpha, model.fit_intercept)]


def of_linear_svr(model, X, y, s):
    X, free = with_constant(model, X)
    loss = type(LOSSES[model.loss])(epsilon=model.epsilon)
    return [_linear(X, y, model.C * s, loss, 0.0, 1.0, free)]


def share_of_l1(model):
    return {"l1": 1.0, "l2": 0.0, "elasticnet": model.l1_ratio}[model.penalty]


def of_sgd_regressor(model, X, y, s):
    loss, ratio = LOSSES[model.loss], share_of_l1(model)
    return [_linear(X, y, s / len(y), loss, ratio, model.alpha, model.fit_intercept)]


def of_trace_norm(model, X, y, s):
    arguments = (X, y, s / s.sum(), model.alpha, model.radius, model.fit_intercept)
    return [(trace_norm_programme, arguments, s / s.sum())]


def of_robust(model, X, y, s):
    rows = s * class_weights(model, y, s)
    rows = rows / rows.sum()
    values = [getattr(model, name) for name in ("epsilon", "kappa", "norm", "alpha")]
    return [
        (robust_programme, (X, signs, rows, *values, model.fit_intercept), rows)
        for _, signs in one_vs_rest(y)
    ]


def of_ridge_classifier(model, X, y, s):
    rows = s * compute_sample_weight(model.class_weight, y)
    return [part for _, signs in one_vs_rest(y) for part in of_ridge(model, X, signs, rows)]


def of_logistic(model, X, y, s):
    X, free = with_constant(model, X)
    labels = np.unique(y, return_inverse=True)[1]
    rows, ratio = model.C * s * class_weights(model, y, s), model.l1_ratio or 0.0
    if labels.max() > 1:
        return [(multinomial_programme, (X, labels, rows, ratio, 1.0 - ratio, free), rows)]
    return [_linear(X, 2.0 * labels - 1, rows, losses.Logistic(), ratio, 1.0, free)]


def of_linear_svc(model, X, y, s):
    ratio, weights = float(model.penalty == "l1"), class_weights(model, y, s)
    return _classes(model, *with_constant(model, X), y, model.C * s, weights, ratio, 1.0)


def of_sgd_classifier(model, X, y, s):
    weights, ratio = class_weights(model, y, None), share_of_l1(model)
    free = model.fit_intercept
    return _classes(model, X, free, y, s / len(y), weights, ratio, model.alpha)


def _classes(model, X, free, y, rows, weights, ratio, strength):
    """Each class and the rest, which has weight 1 where there are more than two."""
    found, several = [], len(np.unique(y)) > 2
    for c, signs in one_vs_rest(y):
        own = rows * (np.where(y == c, weights, 1.0) if several else weights)
        found.append(_linear(X, signs, own, LOSSES[model.loss], ratio, strength, free))
    return found


STATED = {
    "Lasso": of_lasso, "ElasticNet": of_lasso, "Ridge": of_ridge,
    "QuantileRegressor": of_quantile, "PoissonRegressor": partial(of_means, loss=losses.Poisson()),
    "GammaRegressor": partial(of_means, loss=losses.Gamma()), "TweedieRegressor": of_means,
    "LinearSVR": of_linear_svr, "SGDRegressor": of_sgd_regressor, "TraceNormPD": of_trace_norm,
    "DRSVMClassifier": of_robust, "RidgeClassifier": of_ridge_classifier,
    "LogisticRegression": of_logistic, "LinearSVC": of_linear_svc,
    "SGDClassifier": of_sgd_classifier,
}  # fmt: skip


def stated(model, X, y, sample_weight):
    """(programme, arguments, rows) of every output."""
    X = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=float)
    s = np.ones(len(X)) if sample_weight is None else sample_weight
    return STATED[type(model).__name__](model, X, y, s)


def robust_programme(X, y, rows, epsilon, kappa, norm, ridge, free):
    options = {"epsilon": epsilon, "kappa": kappa, "norm": norm, "fit_intercept": free}
    if norm == 2 or ridge > 0.0:
        try:
            return robust_conic_programme(X, y, rows, ridge=ridge, **options)[0]
        except Exception as error:  # of the solver, which CVXPY raises in many kinds
            raise NotSolved from error
    kept = rows > 0.0
    return robust_linear_programme(X[kept], y[kept], rows[kept], **options)[0]


def penalty_of(l1_ratio):
    return {0.0: SquaredL2(), 1.0: L1()}.get(l1_ratio) or ElasticNet(l1_ratio=l1_ratio)


def _linear(X, y, rows, loss, ratio, strength, free):
    penalty = penalty_of(float(ratio))
    linear = isinstance(loss, LINEAR) and isinstance(penalty, L1)
    arguments = (X, np.asarray(y, dtype=float), rows, loss, penalty, strength, free)
    return linear_programme if linear else conic_programme, arguments, rows
