"""The objectives of the estimators of celer and skglm.

Neither library is imported: estimators are recognised by the names of the library and the class.
The objectives are those in the documentation of celer 0.7 (Massias et al.) and skglm 0.5 (Bertrand
et al.), with a_j or a_g the ``weights`` and ratio the ``l1_ratio`` of the estimator:

    Lasso, WeightedLasso, ElasticNet    ||r||^2 / (2 n) + alpha sum_j a_j R(w_j),
                                        R(w) = ratio |w| + (1 - ratio) w^2 / 2
    GroupLasso                          ||r||^2 / (2 n) + alpha sum_g a_g ||w_g||_2
    MultiTaskLasso                      ||R||_F^2 / (2 n) + alpha sum_j ||w^j||_2
    LogisticRegression (celer)          sum_i l(y_i, x_i.w) + ||w||_1 / C
    SparseLogisticRegression (skglm)    mean_i l(y_i, x_i.w + b) + alpha sum_j R(w_j)
    LinearSVC (skglm)                   C sum_i l(y_i, x_i.w) + ||w||^2 / 2

LinearSVC of skglm has no intercept, whatever its ``fit_intercept``: skglm 0.5 solves the dual of
the problem without an intercept.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Integral
from types import SimpleNamespace

import numpy as np
from sklearn.base import BaseEstimator

from .._typing import Array
from ..estimators.names import elastic_net
from ..losses import Gamma, Hinge, Huber, Logistic, Loss, Poisson, Squared
from ..penalties import L1, GroupL2, NonNegativeGroupL2, Penalty, SquaredL2, WeightedL1
from .data import Data, Objective, fits, signed
from .families import ELASTIC_NET, LASSO, Family, alpha, classes, inverse_C, targets
from .linear_fit import LinearFit
from .outputs import multi_task
from .survival import COX


def _group_penalty(estimator: BaseEstimator) -> Penalty:
    groups = _index_lists(estimator.groups, np.size(estimator.coef_))
    weights = getattr(estimator, "weights", None)
    return _groups_of(estimator)(groups, np.ones(len(groups)) if weights is None else weights)


def _index_lists(groups: int | Sequence[int] | Sequence[Array], n_features: int) -> list[Array]:
    """The indices of the features of each group, from a size, a list of sizes or index lists.

    Unlike in `GroupL2`, a list of whole numbers holds sizes, not labels.
    """
    if isinstance(groups, (int, np.integer)):
        groups = [int(groups)] * (n_features // int(groups))
    if all(isinstance(group, Integral) for group in groups):
        return np.split(np.arange(n_features), np.cumsum(groups)[:-1])
    return [np.asarray(group) for group in groups]


def _groups_of(part: BaseEstimator) -> type[GroupL2]:
    return NonNegativeGroupL2 if getattr(part, "positive", False) else GroupL2


# Generalised linear models of skglm have a datafit and a penalty. The tables have those that
# losses and penalties of this package correspond to.

DATAFITS: dict[str, Callable[[BaseEstimator], Loss]] = {
    **dict.fromkeys(
        ["Quadratic", "QuadraticGroup", "WeightedQuadratic"], lambda datafit: Squared()
    ),
    **dict.fromkeys(["Logistic", "LogisticGroup"], lambda datafit: Logistic()),
    "Huber": lambda datafit: Huber(delta=float(datafit.delta)),
    **dict.fromkeys(["Poisson", "PoissonGroup"], lambda datafit: Poisson()),
    "Gamma": lambda datafit: Gamma(),
}
PENALTIES: dict[str, Callable[[BaseEstimator], Penalty]] = {
    "L1": lambda penalty: signed(penalty, L1()),
    "L1_plus_L2": lambda penalty: signed(penalty, elastic_net(float(penalty.l1_ratio))),
    "WeightedL1": lambda penalty: signed(penalty, WeightedL1(np.array(penalty.weights))),
    "L2": lambda penalty: SquaredL2(),
    "WeightedGroupL2": lambda penalty: _weighted_groups(penalty),
}
PAIRS = {"QuadraticMultiTask": "L2_1", "QuadraticSVC": "IndicatorBox"}  # allowed only together


def _weighted_groups(penalty: BaseEstimator) -> Penalty:
    groups = np.split(np.asarray(penalty.grp_indices), np.asarray(penalty.grp_ptr)[1:-1])
    return _groups_of(penalty)(groups, np.array(penalty.weights))


def _generalised(estimator: BaseEstimator, data: Data) -> list[LinearFit]:
    datafit, penalty = estimator.datafit, estimator.penalty
    kinds = type(datafit).__name__, type(penalty).__name__
    free = bool(getattr(estimator.solver, "fit_intercept", False))
    if kinds == ("QuadraticMultiTask", "L2_1"):
        coef = np.asarray(estimator.coef_)
        if len(coef) == estimator.n_features_in_:  # the solver's orientation
            coef = coef.T
        model = SimpleNamespace(coef_=coef, intercept_=estimator.intercept_)
        model.alpha, model.fit_intercept = float(penalty.alpha), free
        return multi_task(model, data)
    if kinds == ("QuadraticSVC", "IndicatorBox"):
        C = float(penalty.alpha)
        return fits(
            estimator, data, classes(estimator, data), Hinge(), SquaredL2(),
            lambda total: 1.0 / (C * total), fit_intercept=False,
        )  # fmt: skip
    if kinds[0] not in DATAFITS or kinds[1] not in PENALTIES:
        pairs = "; or ".join(f"{one} with {other}" for one, other in PAIRS.items())
        raise ValueError(
            f"certify knows GeneralizedLinearEstimator with a datafit of {', '.join(DATAFITS)} "
            f"and a penalty of {', '.join(PENALTIES)}; or {pairs}; got {kinds[0]} with {kinds[1]}."
        )
    loss, alpha = DATAFITS[kinds[0]](datafit), float(penalty.alpha)
    if kinds[0] == "WeightedQuadratic":
        weights = data.sample_weight * np.asarray(datafit.sample_weights, dtype=np.float64)
        data = replace(data, sample_weight=weights)
    outputs = (classes if loss.of_labels else targets)(estimator, data)
    return fits(
        estimator, data, outputs, loss, PENALTIES[kinds[1]](penalty), lambda total: alpha,
        fit_intercept=free,
    )  # fmt: skip


GROUP_LASSO = Family(lambda e: Squared(), _group_penalty, alpha, targets)
CELER: dict[str, Objective] = {
    **dict.fromkeys(["Lasso", "LassoCV"], LASSO),
    **dict.fromkeys(["ElasticNet", "ElasticNetCV"], ELASTIC_NET),
    **dict.fromkeys(["GroupLasso", "GroupLassoCV"], GROUP_LASSO),
    **dict.fromkeys(["MultiTaskLasso", "MultiTaskLassoCV"], multi_task),
    "LogisticRegression": Family(lambda e: Logistic(), lambda e: L1(), inverse_C, classes),
}
SKGLM: dict[str, Objective] = {
    **dict.fromkeys(["Lasso", "WeightedLasso"], LASSO),
    "ElasticNet": ELASTIC_NET,
    "GroupLasso": GROUP_LASSO,
    "MultiTaskLasso": multi_task,
    "SparseLogisticRegression": Family(
        lambda e: Logistic(), lambda e: elastic_net(float(getattr(e, "l1_ratio", 1.0))), alpha,
        classes,
    ),
    "LinearSVC": Family(
        lambda e: Hinge(), lambda e: SquaredL2(), inverse_C, classes, fit_intercept=False
    ),
    "GeneralizedLinearEstimator": _generalised,
    **COX["skglm"],
}  # fmt: skip
