"""Certificates for linear models that others fitted."""

import warnings
from copy import copy
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection._search import BaseSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _check_feature_names, check_is_fitted

from .._typing import ArrayLike
from ..certificates import Certificate
from ..estimators.base import PrimalDualEstimator
from ..estimators.matrix_completion import MatrixCompletionPD
from ..estimators.wrappers import final_estimator, full_name, inner_estimators
from ..losses import Loss
from ..penalties import Penalty
from .completion import completion_by_hand
from .data import Data
from .objectives import by_hand, known_objectives, objective_of, own_objective

__all__ = ["certified", "certify", "check_linear", "missing_of_objective", "unknown_objective"]


def certify(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    rigorous: bool = False,
    tol: float = 1e-7,
    max_iter: int = 20_000,
    loss: str | Loss | None = None,
    penalty: str | Penalty | None = None,
    alpha: float | None = None,
    fit_intercept: bool | None = None,
) -> Certificate | list[Certificate]:
    """Certify how far a fitted linear model is from optimal, whoever fitted it.

    The estimator's own objective, as its parameters and the data define it, is evaluated at
    ``coef_`` and ``intercept_``, and bounded from below for all models. Nothing else of the
    fit is looked at or trusted.

    Parameters
    ----------
    estimator : estimator
        A fitted `Lasso`, `LassoLars`, `ElasticNet`, `MultiTaskLasso`, `MultiTaskElasticNet`,
        `Ridge`, `RidgeClassifier`, `LinearSVC`, `LinearSVR`, `SVC` or `SVR` with
        ``kernel="linear"``, `LogisticRegression`, `SGDClassifier`, `SGDRegressor`,
        `QuantileRegressor` or `HuberRegressor` of scikit-learn, their variants with
        cross-validation; a `Lasso`, `ElasticNet`, `GroupLasso`,
        `MultiTaskLasso` or `LogisticRegression` of celer; a `Lasso`, `WeightedLasso`,
        `ElasticNet`, `GroupLasso`, `MultiTaskLasso`, `SparseLogisticRegression`, `LinearSVC` or
        `GeneralizedLinearEstimator` of skglm; or an estimator of this package;
        also a `OneVsRestClassifier`, a `Pipeline` or a search over parameters, also one within
        the other, whose (last, best) estimator is one of these.
        Anything else with ``coef_`` and ``intercept_`` together with ``loss``, ``penalty``
        and ``alpha``. Factors and biases that anybody found for a matrix can be set as the
        attributes of a `MatrixCompletionPD`.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The data it was fitted to; for a `Pipeline` before its transformations.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Targets or class labels. For `MatrixCompletionPD` and a sparse matrix None.
    sample_weight : array-like of shape (n_samples,), default=None
        The weights it was fitted with, non-negative; 1 by default.
    rigorous : bool, default=False
        Bound the rounding error of every sum by itself, so that the interval holds the
        optimal value in exact arithmetic, and report by how much that widens it.
    tol : float, default=1e-7
        Improve on the lower bound until it is within ``tol`` of the optimum, as a relative
        gap, whatever the model is. ``np.inf`` leaves it at what the loss's gradient at the
        model gives, at the cost of a few products; below about 1e-12 rounding is in the way.
    max_iter : int, default=20_000
        Iterations of the solver that improves on the lower bound, at most.
    loss : {"hinge", "squared_hinge", "smoothed_hinge", "generalized_hinge", "logistic", \
            "absolute", "epsilon_insensitive", "huber", "pinball", "squared", "l2_norm", \
            "softmax", "crammer_singer"} or Loss, default=None
        With ``penalty`` and ``alpha``, an objective in place of the estimator's own: the
        weighted mean of the loss plus ``alpha`` times the penalty. More than two classes are
        taken one-vs-rest, but for the last two, which take all of them together.
    penalty : {"l1", "l2", "l2_norm", "linf", "l21", "l1inf", "exclusive", "trace", \
            "squared_groups"} or Penalty, default=None
        See ``loss``. The last five are those of a matrix (`MultiTaskPD`): then, and with a
        loss of several outputs, the certificate is one of all outputs together.
    alpha : float, default=None
        See ``loss``; greater than 0.
    fit_intercept : bool, default=None
        See ``loss``: whether the intercept is free, or 0. The estimator's own by default.

    Returns
    -------
    certificate : Certificate, or list of them
        A list with one for each class of a one-vs-rest classifier with more than two
        classes, for each pair of them of an `SVC`, in the order of its ``coef_`` and with S the
        sum over the rows of the two, or for each of several targets. A multinomial model has
        one. With ``rigorous`` it is a `RigorousCertificate`.

    Raises
    ------
    TypeError
        If the estimator has no coefficients, or if its objective is not known.
    ValueError
        If the data does not fit the model, if a setting of the estimator makes its objective one
        that is not known, or if the objective has no penalty: then nothing
        bounds the coefficients, and no lower bound survives rounding.

    Warns
    -----
    ConvergenceWarning
        If the lower bound is not within ``tol`` of the optimum after ``max_iter``
        iterations. It holds, but part of the gap may be its own.

    Notes
    -----
    ``primal``, ``dual`` and ``gap`` are in units of the weighted mean loss plus alpha times
    the penalty, with s_i the sample weights, times class weights, and S their sum. The
    estimator's own objective is larger by a factor, and the relative gap has no unit:

    ==========================================  ==================  ===================
    estimator                                   loss                factor
    ==========================================  ==================  ===================
    Lasso, LassoLars, ElasticNet                r^2 / 2             1
    MultiTaskLasso, MultiTaskElasticNet         sum r_k^2 / 2       1
    Ridge, RidgeClassifier                      r^2 / 2             2 S
    LinearSVC, LinearSVR, SVC, SVR              its own             C S
    LogisticRegression                          its own             C S
    SGDClassifier, SGDRegressor                 its own             S / n_samples
    QuantileRegressor                           its own             1
    HuberRegressor                              see below           2 S
    celer's LogisticRegression                  its own             S
    skglm's LinearSVC                           hinge               C S
    other estimators of celer and skglm         its own             1
    ==========================================  ==================  ===================

    Each estimator's objective is honoured as it is. liblinear penalises the intercept, divided
    by ``intercept_scaling``, like a coefficient. It and stochastic gradient descent apply
    ``class_weight`` to the class itself and weight 1 to the rest where classes are more than
    two. Stochastic gradient descent divides by the number of rows, not by the sum of the
    weights; rows that early stopping holds out are taken to be part of the objective.
    HuberRegressor's objective has its scale as another variable, and so has the bound.

    *Rigour.* The interval is then proven for the objective in exact arithmetic, with X, y,
    sample_weight, the class weights and the parameters as the floating-point numbers that
    they are: for products with X, all sums, norms and conjugates, the division of weights by
    their sum, the conversion of C to alpha, the radius and the intercept's interval. Assumed
    are IEEE 754 arithmetic, rounding to nearest, and an error of at most 16 units in the
    last place of exp, log, log1p and what SciPy makes of them, which is several times what
    their makers document. A penalty or a loss of your own is taken at its word, and so is the
    quotient of an intercept and ``intercept_scaling`` as the coefficient that it stands for.
    Without ``rigorous`` the same errors are allowed for, but some of them jointly.

    References
    ----------
    Dünner, Forte, Takáč, Jaggi: Primal-dual rates and certificates. ICML 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.svm import LinearSVC
    >>> from skpd import certify
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> clf = LinearSVC(loss="hinge", max_iter=20_000, random_state=0).fit(X, y)
    >>> certificate = certify(clf, X, y)
    >>> print(f"{certificate.primal:.5f}")
    0.04662
    >>> certificate.relative_gap <= 1e-6
    True
    """
    estimator, X = final_estimator(estimator, X)
    if y is None and not isinstance(estimator, MatrixCompletionPD):
        raise ValueError("certify requires y to be passed, but the target y is None.")
    if not tol >= 0.0:
        raise ValueError(f"tol must be at least 0, got {tol!r}.")
    options: dict[str, Any] = {"rigorous": rigorous, "tol": tol, "max_iter": max_iter}
    missing = missing_of_objective(loss, penalty, alpha, fit_intercept)
    if isinstance(estimator, OneVsRestClassifier) and missing:
        return _one_vs_rest(estimator, X, y, sample_weight, options)
    check_linear(estimator)
    if hasattr(estimator, "feature_names_in_"):
        _check_feature_names(estimator, X, reset=False)
    if missing:
        models = _own_models(estimator, X, y, sample_weight)
    else:
        assert loss is not None and penalty is not None and alpha is not None
        objective = loss, penalty, float(alpha)
        models = _models_by_hand(estimator, X, y, sample_weight, objective, fit_intercept)
    return certified(models, **options)


def certified(
    models: list, *, rigorous: bool, tol: float, max_iter: int, stacklevel: int = 3
) -> Certificate | list[Certificate]:
    """The certificates of models as points of problems, with a warning where they are loose."""
    # numbers that overflow are infinite, and no certificate takes them for better than they are
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        options = {"rigorous": rigorous, "tol": tol, "max_iter": max_iter}
        certificates, reached = zip(*(model.certify(**options) for model in models), strict=True)
    if max(reached) > tol:
        worst = int(np.argmax(reached))
        warnings.warn(
            f"certify: the lower bound is within a relative gap of {reached[worst]:.1e} of the "
            f"optimum, not within tol={tol:.1e}. So much of the model's relative gap of "
            f"{certificates[worst].relative_gap:.1e} may be the bound's own. Increase max_iter "
            f"(now {max_iter}) or tol, or bring the features to a common scale.",
            ConvergenceWarning,
            stacklevel=stacklevel,
        )
    return certificates[0] if len(certificates) == 1 else list(certificates)


def missing_of_objective(loss: Any, penalty: Any, alpha: Any, fit_intercept: Any) -> list[str]:
    """What is not given of an objective: all of it, or nothing.

    Raises
    ------
    TypeError
        If it is given in part.
    """
    given = {"loss": loss, "penalty": penalty, "alpha": alpha}
    missing = [name for name, value in given.items() if value is None]
    if 0 < len(missing) < 3 or (missing and fit_intercept is not None):
        raise TypeError(
            "loss, penalty and alpha must be given together (and fit_intercept with them): "
            f"{', '.join(missing)} is missing."
        )
    return missing


def _own_models(estimator: Any, X: Any, y: Any, sample_weight: Any) -> list:
    """The fits of what an estimator says that it minimises."""
    if isinstance(estimator, PrimalDualEstimator):
        return own_objective(copy(estimator), X, y, sample_weight)
    objective = objective_of(estimator)
    if objective is not None:
        return objective(estimator, Data.of(estimator, X, y, sample_weight))
    raise TypeError(unknown_objective(estimator))


def _models_by_hand(
    estimator: Any, X: Any, y: Any, sample_weight: Any,
    objective: tuple[str | Loss, str | Penalty, float], fit_intercept: bool | None,
) -> list:  # fmt: skip
    """The fits of an objective that is given, for whatever has coefficients."""
    if isinstance(estimator, MatrixCompletionPD):
        return own_objective(completion_by_hand(estimator, *objective), X, y, sample_weight)
    data = Data.of(estimator, X, y, sample_weight)
    return by_hand(estimator, data, *objective, fit_intercept)


def _known(estimator: Any) -> bool:
    """Whether `certify` knows the objective, or looks inside for a model whose it does."""
    inside = OneVsRestClassifier, BaseSearchCV, Pipeline
    return isinstance(estimator, (PrimalDualEstimator, *inside)) or (
        objective_of(estimator) is not None
    )


def check_linear(estimator: Any) -> None:
    """Refuse what is not fitted, and what has no coefficients although it is."""
    own = isinstance(estimator, PrimalDualEstimator)
    attribute = estimator._model_attribute if own else "coef_"
    has_coef = hasattr(estimator, attribute)
    check_is_fitted(estimator, attribute if has_coef or own else None)
    if has_coef:
        return
    where = " or ".join(f"estimator.{name}" for name in inner_estimators(estimator, _known))
    advice = where and (
        f" It holds one, {where}: pass that, with the rows, the features and the targets that it "
        "was fitted to."
    )
    raise TypeError(
        f"certify takes linear models with coef_ and intercept_, got {full_name(estimator)}, "
        f"which has no coef_.{advice} The objectives it knows are those of skpd's estimators and "
        f"of {known_objectives()}."
    )


def unknown_objective(estimator: Any) -> str:
    return (
        f"certify does not know what {full_name(estimator)} minimises. If it is a mean "
        "loss plus alpha times a penalty, say so: certify(estimator, X, y, "
        "loss=Hinge(), penalty=L1(), alpha=0.01, fit_intercept=True), with a loss of "
        "skpd.losses and a penalty of skpd.penalties. For an objective that sums the loss "
        "and multiplies it by C, alpha is 1 / (C * n_samples)."
    )


def _one_vs_rest(estimator, X, y, sample_weight, options):
    """The certificates of the classes' own estimators."""
    check_is_fitted(estimator)
    own = np.asarray(estimator.label_binarizer_.transform(y).toarray())
    found = [
        certify(binary, X, own[:, k], sample_weight, **options)
        for k, binary in enumerate(estimator.estimators_)
    ]
    return found[0] if len(found) == 1 else found
