"""The objectives of proportional hazards of skglm, lifelines and scikit-survival.

None of the libraries is imported: estimators are recognised by the names of the library and the
class. The objectives are those of skglm 0.5, lifelines 0.30 and scikit-survival 0.28. L is the
`skpd.models.survival.partial_likelihood`, S the sum of the weights, n the number of rows, and
R(w) = ratio |w| + (1 - ratio) w^2 / 2 with the ``l1_ratio`` of the estimator:

    CoxEstimator (skglm)                        L(X w) + alpha sum_j R(w_j)
    CoxPHFitter (lifelines)                     S L(X w) + n sum_j penalizer_j (d_j w_j)^2 / 2
    CoxTimeVaryingFitter (lifelines)            the same, of rows that are at risk in intervals
    CoxPHSurvivalAnalysis (scikit-survival)     S L(X w) + sum_j alpha_j w_j^2 / 2
    CoxnetSurvivalAnalysis (scikit-survival)    L(X w) + alpha sum_j penalty_factor_j R(d_j w_j)

The numbers d_j are 1 for Coxnet without ``normalize``, else the l2 norms of the columns after
subtracting their means; for lifelines these over the root of n - 1, the standard deviations.
"""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Literal

import numpy as np
from sklearn.base import BaseEstimator

from .._typing import Array, Numbers
from ..estimators.names import elastic_net
from ..models.survival.cox import CoxPD
from ..models.survival.targets import entries_times_and_events
from ..penalties import Penalty, Separable
from .data import Data, Objective, coefficients, with_weight
from .linear_fit import LinearFit


def _fits(
    data: Data, coefs: Array, penalty: Penalty, alphas: Sequence[float],
    ties: Literal["efron", "breslow"], has_entries: bool = False,
) -> list[LinearFit]:  # fmt: skip
    """The fits of L(X w) plus alpha times the penalty, one for each alpha.

    Raises
    ------
    ValueError
        If y has times of entry and the model none, or the other way round.
    """
    entry = entries_times_and_events(data.y, data.X.shape[0])[0]
    if (entry is not None) != has_entries:
        raise ValueError(
            f"y must have times of entry just where the model has some: {data.name} was fitted "
            f"with{'' if has_entries else 'out'} them."
        )
    rows = data.sample_weight, data.offset, data.strata
    model = CoxPD(penalty=penalty, ties=ties)
    (problem,) = model._problems(data.design.as_given, data.y, *rows).problems
    d, stored = data.X.shape[1], SimpleNamespace(coef_=coefs)
    pairs = zip(alphas, coefficients(stored, data.name, d, len(alphas))[0], strict=True)
    return [
        LinearFit(problem.with_penalty(*with_weight(penalty, a, data.name)), w, 0.0)
        for a, w in pairs
    ]


def _elastic_net(weights: Array, scales: Numbers = 1.0, ratio: float = 0.0) -> Penalty:
    """The sum of weights_j R(scales_j w_j)."""
    l1, l2 = ratio * weights * scales, (1.0 - ratio) * weights * np.square(scales)
    ends = np.full(len(weights), np.inf)
    return Separable(l1, l2, -ends, ends)


def _norms(data: Data) -> Array:
    """The l2 norms of the columns after subtracting their means."""
    table = data.design.table(np.arange(data.X.shape[1]))
    return np.linalg.norm(table - table.mean(axis=0), axis=0)


def _skglm(estimator: BaseEstimator, data: Data) -> list[LinearFit]:
    penalty = elastic_net(float(estimator.l1_ratio))
    return _fits(data, estimator.coef_, penalty, [float(estimator.alpha)], estimator.method)


KNOWN = {"l1_ratio": 0.0, "baseline_estimation_method": "breslow"}


def _lifelines(estimator: BaseEstimator, data: Data) -> list[LinearFit]:
    for name, allowed in KNOWN.items():
        if (found := getattr(estimator, name, allowed)) != allowed:
            raise ValueError(
                f"certify knows {data.name} with {name}={allowed!r} alone, got {found!r}: it "
                "smooths l1 norms, in each iteration less, and other likelihoods are not CoxPD's."
            )
    if (estimator.strata is None) != (data.strata is None):
        fitted = f"{data.name} was fitted with strata={estimator.strata!r}"
        raise ValueError(f"strata must be given just where the model has some: {fitted}.")
    names = list(estimator.params_.index)
    if data.columns is not None and list(data.columns) != names:
        raise ValueError(f"X must have the columns {names}, got {list(data.columns)}.")
    n, d = data.X.shape
    weights = np.broadcast_to(estimator.penalizer, d).astype(np.float64)
    penalty = _elastic_net(weights, _norms(data) / np.sqrt(n - 1.0))
    alpha = n / float(np.sum(data.sample_weight))
    has_entries = getattr(estimator, "entry_col", "start") is not None
    return _fits(data, estimator.params_, penalty, [alpha], "efron", has_entries)


def _ridge(estimator: BaseEstimator, data: Data) -> list[LinearFit]:
    weights = np.broadcast_to(estimator.alpha, data.X.shape[1]).astype(np.float64)
    penalty, alpha = _elastic_net(weights), 1.0 / float(np.sum(data.sample_weight))
    return _fits(data, estimator.coef_, penalty, [alpha], estimator.ties)


def _coxnet(estimator: BaseEstimator, data: Data) -> list[LinearFit]:
    """The fits of all ``alphas_``."""
    scales, ratio = _norms(data) if estimator.normalize else 1.0, float(estimator.l1_ratio)
    penalty = _elastic_net(estimator.penalty_factor_, scales, ratio)
    return _fits(data, estimator.coef_.T, penalty, estimator.alphas_, "breslow")


COX: dict[str, dict[str, Objective]] = {
    "skglm": {"CoxEstimator": _skglm},
    "lifelines": {"CoxPHFitter": _lifelines, "CoxTimeVaryingFitter": _lifelines},
    "sksurv": {"CoxPHSurvivalAnalysis": _ridge, "CoxnetSurvivalAnalysis": _coxnet},
}
