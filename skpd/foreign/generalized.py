"""The objectives of generalised linear models of scikit-learn, glum and statsmodels.

Of these only scikit-learn is imported: the other estimators are recognised by the names of the
library and the class. The objectives are those in the documentation of scikit-learn 1.9, glum 3.4
and statsmodels 0.15, with D the deviance of all rows and S the sum of the weights:

    PoissonRegressor, GammaRegressor, TweedieRegressor    D / (2 S) + alpha ||w||^2 / 2
    GeneralizedLinearRegressor (glum)                     D / (2 S) + alpha sum_j R_j(w_j),
                        R_j(w) = l1_ratio P1_j |w| + (1 - l1_ratio) P2_j w^2 / 2
    GLM, Logit, Poisson (statsmodels)             sum_i s_i l(y_i, x_i.w) + sum_j alpha_j |w_j|
    QuantReg (statsmodels)                        sum_i s_i l(y_i, x_i.w)

The models of statsmodels have no intercept of their own. The loss l of GLM and Poisson is half the
deviance, and alpha is 0 but for the method ``fit_regularized`` of Logit and Poisson.
"""

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
from sklearn.base import BaseEstimator

from .. import losses
from .._typing import Array, Numbers
from ..losses import Loss
from ..penalties import Penalty, Separable, SquaredL2, WeightedL1
from .data import Data, Objective, fits
from .families import Family, alpha, classes, given, targets
from .linear_fit import LinearFit


def tweedie_loss(power: float, name: str) -> Loss:
    """The loss of a Tweedie distribution with a log link.

    Raises
    ------
    ValueError
        If the power is not from 1 to 2: the deviance is then not convex.
    """
    if not 1.0 <= power <= 2.0:
        raise ValueError(
            f"certify knows {name} with a power from 1 to 2, got {power}: with a log link "
            "the deviance of other powers is not convex."
        )
    return {1.0: losses.Poisson(), 2.0: losses.Gamma()}.get(power) or losses.Tweedie(power)


def _refuse_link(name: str, link: str) -> ValueError:
    return ValueError(f"certify knows {name} with a log link for these targets, got {link!r}.")


# scikit-learn


def _tweedie_regressor(estimator: BaseEstimator) -> Loss:
    power = float(estimator.power)
    if estimator.link == "identity" or (estimator.link == "auto" and power <= 0.0):
        if power == 0.0:
            return losses.Squared()
        raise _refuse_link("TweedieRegressor", "identity")
    return tweedie_loss(power, "TweedieRegressor")


def of_scikit_learn(loss: Callable[[BaseEstimator], Loss]) -> Family:
    """The family of an estimator of scikit-learn with half the mean deviance."""
    return Family(loss, lambda e: SquaredL2(), alpha, targets)


POISSON = of_scikit_learn(lambda e: losses.Poisson())
GAMMA = of_scikit_learn(lambda e: losses.Gamma())
TWEEDIE = of_scikit_learn(_tweedie_regressor)


# glum


def _glum_loss(estimator: BaseEstimator) -> Loss:
    name = type(estimator).__name__
    family, link = estimator._family_instance, type(estimator._link_instance).__name__
    kind = type(family).__name__.removesuffix("Distribution")
    own_links = {"Normal": "IdentityLink", "Binomial": "LogitLink"}
    if link != own_links.get(kind, "LogLink"):
        raise _refuse_link(name, link)
    if kind == "Tweedie":
        return tweedie_loss(float(family.power), name)
    if kind == "NegativeBinomial":
        return losses.NegativeBinomial(float(family.theta))
    known: dict[str, Loss] = {
        "Normal": losses.Squared(), "Binomial": losses.Logistic(),
        "Poisson": losses.Poisson(), "Gamma": losses.Gamma(),
    }  # fmt: skip
    if kind not in known:
        raise ValueError(
            f"certify knows {name} with a family 'normal', 'binomial', 'poisson', 'gamma', "
            f"'tweedie' or 'negative.binomial', got {estimator.family!r}."
        )
    return known[kind]


def _strengths(estimator: BaseEstimator, name: str) -> Numbers:
    """The weights of features of P1 or P2, a number for the identity."""
    parameter = getattr(estimator, name)
    if parameter is None or (isinstance(parameter, str) and parameter == "identity"):
        return 1.0
    strengths = np.asarray(parameter, dtype=np.float64)
    if strengths.ndim != 1:
        raise ValueError(
            f"certify knows {type(estimator).__name__} with {name} as a number for each feature, "
            f"got an array of shape {strengths.shape}."
        )
    return strengths


def _glum_penalty(estimator: BaseEstimator) -> Penalty:
    refused = {"scale_predictors": False, "A_ineq": None, "monotonic_constraints": None}
    for name, allowed in refused.items():
        if (found := getattr(estimator, name)) is not allowed:
            raise ValueError(
                f"certify knows {type(estimator).__name__} with {name}={allowed} alone, got "
                f"{found!r}."
            )
    ratio = float(given(estimator, "l1_ratio"))
    l1, l2 = ratio * _strengths(estimator, "P1"), (1.0 - ratio) * _strengths(estimator, "P2")
    d = np.size(estimator.coef_)
    l1, l2 = (np.ascontiguousarray(np.broadcast_to(x, d), dtype=np.float64) for x in (l1, l2))
    ends = [
        np.full(d, limit) if bound is None else np.broadcast_to(bound, d).astype(np.float64)
        for limit, bound in ((-np.inf, estimator.lower_bounds), (np.inf, estimator.upper_bounds))
    ]
    return Separable(l1, l2, *ends)


def _glum_alpha(estimator: BaseEstimator, total: float, n_rows: int) -> Numbers:
    return given(estimator, "alpha") or 0.0


def _glum_outputs(estimator: BaseEstimator, data: Data) -> list[tuple[Array, Array]]:
    if type(estimator._family_instance).__name__ != "BinomialDistribution":
        return targets(estimator, data)
    return _zeros_and_ones(data)


def _zeros_and_ones(data: Data) -> list[tuple[Array, Array]]:
    return classes(SimpleNamespace(classes_=np.array([0.0, 1.0])), data)


GLUM = Family(_glum_loss, _glum_penalty, _glum_alpha, _glum_outputs)


# statsmodels


def _glm_loss(results: BaseEstimator) -> Loss:
    family = results.model.family
    kind, link = type(family).__name__, type(family.link).__name__
    if kind not in ("Poisson", "Gamma", "Tweedie", "NegativeBinomial"):
        raise ValueError(
            "certify knows GLM of statsmodels with the families Poisson, Gamma, Tweedie and "
            f"NegativeBinomial, got {kind}."
        )
    if link != "Log":
        raise _refuse_link("GLM of statsmodels", link)
    if kind == "NegativeBinomial":
        return losses.NegativeBinomial(float(family.alpha))
    powers = {"Poisson": 1.0, "Gamma": 2.0}
    return tweedie_loss(powers.get(kind) or float(family.var_power), "GLM of statsmodels")


RESULTS: dict[str, Callable[[BaseEstimator], Loss]] = {  # by the model that has the result
    "GLM": _glm_loss,
    "Logit": lambda results: losses.Logistic(),
    "Poisson": lambda results: losses.Poisson(),
    "QuantReg": lambda results: losses.Pinball(quantile=float(results.q)),
}


def _statsmodels(results: BaseEstimator, data: Data) -> list[LinearFit]:
    """The fit of a model whose intercept, if there is one, is the coefficient of a column of X."""
    kind = type(results.model).__name__
    if hasattr(results, "constraints") or type(results).__name__.startswith("Regularized"):
        raise ValueError(
            f"The results of {kind} must be those of its method fit or, for Logit and Poisson, "
            "fit_regularized: others of statsmodels do not hold what they minimise."
        )
    data = _with_offset_of(results, replace(data, name=f"{kind} of statsmodels"))
    loss = RESULTS[kind](results)
    alpha = (getattr(results, "mle_settings", None) or {}).get("alpha", 0.0)
    l1 = np.broadcast_to(alpha, np.shape(results.params)).astype(np.float64)
    outputs = _zeros_and_ones(data) if loss.of_labels else targets(results, data)
    return fits(
        results, data, outputs, loss, WeightedL1(l1), lambda total: 1.0 / total,
        fit_intercept=False,
    )  # fmt: skip


def _with_offset_of(results: BaseEstimator, data: Data) -> Data:
    """The data with the offset that a result was fitted with, the log of its exposure included.

    Raises
    ------
    ValueError
        If the given offset is another one for the same targets, or if none is given for others.
    """
    model = results.model  # which holds the logarithm of the exposure
    parts = [getattr(model, name, None) for name in ("offset", "exposure")]
    if all(part is None for part in parts):
        return data
    offset = np.sum([np.asarray(part) for part in parts if part is not None], axis=0)
    same_rows = np.array_equal(np.ravel(model.endog), np.ravel(data.y))
    if data.offset is None and same_rows:
        return replace(data, offset=offset)
    if data.offset is not None and not (same_rows and not np.allclose(data.offset, offset)):
        return data
    raise ValueError(
        f"offset must be the one that {data.name} was fitted with, the sum of its offset and the "
        f"logarithm of its exposure, got {'another one' if same_rows else 'None for other rows'}."
    )


STATSMODELS: dict[str, Objective] = dict.fromkeys(RESULTS, _statsmodels)
