"""Certificates for fitted linear models of this package and of other libraries (`certify`)."""

from copy import copy
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_regressor
from sklearn.linear_model import HuberRegressor
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from .._compat import BaseSearchCV, _check_feature_names
from .._typing import ArrayLike, MatrixLike, PerRow
from .._warn import warn_of_convergence
from ..certificates import Certificate, Certificates
from ..estimators.base import PrimalDualEstimator
from ..estimators.wrappers import final_estimator, full_name, inner_estimators
from ..formulation.offsets import without_none
from ..losses import Loss
from ..models.completion.estimator import MatrixCompletionPD
from ..penalties import Penalty
from .completion import factors_of
from .data import Data, coef_name
from .given_objective import GivenObjective
from .linear_fit import LinearFit
from .objectives import known_objectives, minimiser, objective_of, own_objective


def certify(
    estimator: BaseEstimator,
    X: MatrixLike,
    y: ArrayLike,
    sample_weight: PerRow = None,
    *,
    rigorous: bool = False,
    tol: float = 1e-7,
    max_iter: int = 20_000,
    loss: str | Loss | None = None,
    penalty: str | Penalty | None = None,
    alpha: float | None = None,
    fit_intercept: bool | None = None,
    offset: PerRow = None,
    strata: PerRow = None,
) -> Certificate:
    """Certify how far a fitted linear model of any library is from optimal.

    The objective that the estimator's parameters and the data define is evaluated at ``coef_`` and
    ``intercept_``, and a lower bound on its optimal value is computed. Nothing else of the fit is
    used or trusted.

    Parameters
    ----------
    estimator : estimator
        A fitted `Lasso`, `LassoLars`, `ElasticNet`, `MultiTaskLasso`, `MultiTaskElasticNet`,
        `LinearRegression`, `Ridge`, `RidgeClassifier`, `LinearSVC`, `LinearSVR`, `SVC` or `SVR`
        with ``kernel="linear"``, `LogisticRegression`, `SGDClassifier`, `SGDRegressor`,
        `QuantileRegressor`, `PoissonRegressor`, `GammaRegressor` or
        `TweedieRegressor` of scikit-learn, or one of their variants with cross-validation; a
        `Lasso`, `ElasticNet`, `GroupLasso`, `MultiTaskLasso` or `LogisticRegression` of celer; a
        `Lasso`, `WeightedLasso`, `ElasticNet`, `GroupLasso`, `MultiTaskLasso`,
        `SparseLogisticRegression`, `LinearSVC`, `CoxEstimator` or `GeneralizedLinearEstimator` of
        skglm; a `GeneralizedLinearRegressor` of glum; the result of ``fit`` of a `GLM`, `Logit`,
        `Poisson` or `QuantReg` of statsmodels, or of ``fit_regularized`` of a `Logit` or
        `Poisson`; a `CoxPHFitter` or `CoxTimeVaryingFitter` of lifelines with ``l1_ratio=0``; a
        `CoxPHSurvivalAnalysis` or `CoxnetSurvivalAnalysis` of scikit-survival; or an estimator of
        this package.
        The estimator may also be a `OneVsRestClassifier`, a `Pipeline` or a search over
        parameters, possibly nested, whose (last, best) estimator is one of these.
        Any other estimator with ``coef_`` and ``intercept_`` requires ``loss``, ``penalty`` and
        ``alpha``. Factors and biases of a matrix from another library can be set as the attributes
        of a `MatrixCompletionPD`.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The data that the estimator was fitted to; for a `Pipeline` before its transformations.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Targets, class labels, or times and events as for `CoxPD`; None for `MatrixCompletionPD`
        and a sparse matrix X.
    sample_weight : array-like of shape (n_samples,), default=None
        The non-negative weights that the estimator was fitted with; 1 by default.
    rigorous : bool, default=False
        Bound the rounding error of every sum separately, so that the interval contains the
        optimal value in exact arithmetic, and report the width that these bounds add to it.
    tol : float, default=1e-7
        A solver improves the lower bound until it is within ``tol`` of the optimum, as a relative
        gap, whatever the model is. With ``np.inf`` the lower bound is that of the gradient of the
        loss at the model, which costs a few products with the data. Values below about 1e-12 are
        out of reach because of rounding errors.
    max_iter : int, default=20_000
        The largest number of iterations of the solver that improves the lower bound.
    loss : {"hinge", "squared_hinge", "smoothed_hinge", "generalized_hinge", "logistic", \
            "absolute", "epsilon_insensitive", "huber", "pinball", "squared", "l2_norm", \
            "softmax", "crammer_singer"} or Loss, default=None
        With ``penalty`` and ``alpha``, an objective to use instead of the estimator's own: the
        weighted mean of the loss plus ``alpha`` times the penalty. More than two classes are
        treated one-vs-rest, except by "softmax" and "crammer_singer", which are losses of all
        classes together.
    penalty : {"l1", "l2", "l2_norm", "linf", "l21", "l1inf", "exclusive", "trace", \
            "squared_groups", "squared_outputs"} or Penalty, default=None
        See ``loss``. The last six are penalties on a matrix of coefficients (`MultiTaskPD`). With
        one of these, or with a loss of several outputs, there is one certificate for all outputs
        together.
    alpha : float, default=None
        See ``loss``; at least 0.
    fit_intercept : bool, default=None
        See ``loss``: whether the intercept is free, or 0. By default as in the estimator.
    offset : float or array-like of shape (n_samples,), default=None
        The numbers that were added to the predictions of the rows when the estimator was fitted;
        for one that was fitted with an exposure the logarithms of that are among them. By default
        those that a result of statsmodels holds.
    strata : array-like of shape (n_samples,) or (n_samples, n_columns), default=None
        The labels of the strata that a `CoxPD` or `CoxPHFitter` was fitted with.

    Returns
    -------
    certificate : Certificate
        Several are a `Certificates`, a sequence with the attributes of the worst: for each class
        of a one-vs-rest classifier with more than two classes, for each of several targets, for
        each of the ``alphas_`` of a `CoxnetSurvivalAnalysis`, or for each pair of classes of an
        `SVC`, in the order of its ``coef_`` and with S (see Notes) the sum over the rows of the
        two classes. A multinomial model has one certificate. With ``rigorous`` each is of the
        class `RigorousCertificate`.

    Raises
    ------
    TypeError
        If the estimator has no coefficients, or if its objective is not known.
    ValueError
        If the data does not fit the model, or if the objective is not known for a setting of the
        estimator.

    Warns
    -----
    ConvergenceWarning
        If the lower bound is not within ``tol`` of the optimum after ``max_iter``
        iterations. The bound is still valid, but part of the gap may be due to the bound.

    Notes
    -----
    ``primal``, ``dual`` and ``gap`` are in units of the weighted mean loss plus alpha times the
    penalty. The estimator's own objective is larger by the factor in this table, with S the sum of
    the sample weights times class weights. The relative gap has no unit.

    ==========================================  ==================  ===================
    estimator                                   loss                factor
    ==========================================  ==================  ===================
    Lasso, LassoLars, ElasticNet                r^2 / 2             1
    MultiTaskLasso, MultiTaskElasticNet         sum r_k^2 / 2       1
    LinearRegression, Ridge, RidgeClassifier    r^2 / 2             2 S
    LinearSVC, LinearSVR, SVC, SVR              its own             C S
    LogisticRegression                          its own             C S
    SGDClassifier, SGDRegressor                 its own             S / n_samples
    QuantileRegressor                           its own             1
    PoissonRegressor, GammaRegressor,
    TweedieRegressor, those of glum             half the deviance   1
    GLM, Logit, Poisson of statsmodels          half the deviance   S
    QuantReg of statsmodels                     pinball             S
    CoxPHFitter, CoxTimeVaryingFitter,
    CoxPHSurvivalAnalysis                       its own             S
    CoxnetSurvivalAnalysis                      its own             1
    celer's LogisticRegression                  its own             S
    skglm's LinearSVC                           hinge               C S
    other estimators of celer and skglm         its own             1
    ==========================================  ==================  ===================

    The objective of each estimator is taken exactly as its library defines it. liblinear penalises
    the intercept, divided by ``intercept_scaling``, like a coefficient. For more than two classes,
    liblinear and stochastic gradient descent apply ``class_weight`` to the class itself, and
    weight 1 to the other classes. Stochastic gradient descent divides by the number of rows, not
    by the sum of the weights; rows that early stopping holds out are counted as part of the
    objective.

    With ``rigorous=True`` the interval is proven for the objective in exact arithmetic, where X,
    y, sample_weight, the class weights and the parameters are the given floating-point numbers.
    The bounds on rounding errors include those of products with X, of all sums, norms and
    conjugates, of the division of weights by their sum, of the conversion of C to alpha, of the
    radius and of the interval of the intercept. The proof assumes IEEE 754 arithmetic, rounding to
    nearest, and an error of at most 16 units in the last place of exp, log, log1p and the SciPy
    functions that use them, which is several times the documented errors. The functions of a
    penalty or a loss of your own are assumed to be correct, and the quotient of an intercept and
    ``intercept_scaling`` and the scales of features in the penalties of proportional hazards are
    taken as exact. Without ``rigorous``, some of these errors have a joint allowance.

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
    if not (isinstance(tol, Real) and tol >= 0.0):
        raise ValueError(f"tol must be a number of at least 0, got {tol!r}.")
    if not (isinstance(max_iter, Integral) and max_iter >= 1):
        raise ValueError(f"max_iter must be an int of at least 1, got {max_iter!r}.")
    if not isinstance(rigorous, bool | np.bool_):
        raise ValueError(f"rigorous must be True or False, got {rigorous!r}.")
    has_fit = hasattr(estimator, "fit")  # results of statsmodels have none
    if strata is not None and not (has_fit and has_fit_parameter(estimator, "strata")):
        raise ValueError(f"strata must be None for {full_name(estimator)}, whose fit has none.")
    objective = GivenObjective.of(loss, penalty, alpha, fit_intercept)
    if isinstance(estimator, OneVsRestClassifier) and objective is None:
        options = {"rigorous": rigorous, "tol": tol, "max_iter": max_iter}
        return _one_vs_rest(estimator, X, y, sample_weight, offset=offset, **options)
    check_linear(estimator)
    if hasattr(estimator, "feature_names_in_"):
        _check_feature_names(estimator, X, reset=False)
    if isinstance(estimator, MatrixCompletionPD) and objective is not None:
        raise ValueError(
            "loss, penalty and alpha must be None for MatrixCompletionPD, which has its own, got "
            f"{loss!r}, {penalty!r} and {alpha!r}."
        )
    if isinstance(estimator, PrimalDualEstimator) and objective is None:
        more = without_none(offset=offset, strata=strata)
        of_model = factors_of if isinstance(estimator, MatrixCompletionPD) else own_objective
        models = of_model(copy(estimator), X, y, sample_weight, **more)
    else:
        data = Data.of(estimator, X, y, sample_weight, offset, strata)
        models = fits_of(estimator, data, objective)
    return certified(models, rigorous=rigorous, tol=tol, max_iter=max_iter)


def fits_of(
    estimator: BaseEstimator, data: Data, given_objective: GivenObjective | None
) -> list[LinearFit]:
    """The fits of an estimator, for a given objective or for that which its library defines."""
    if given_objective is not None:
        return given_objective.linear_fits(estimator, data)
    objective = objective_of(estimator)
    if objective is None:
        raise TypeError(unknown_objective(estimator))
    return objective(estimator, data)


def certified(
    models: list[LinearFit], *, rigorous: bool, tol: float, max_iter: int
) -> Certificate:
    """The certificates of fits, with a warning where the lower bound is not within ``tol``."""
    # numbers that overflow become infinite, with which a certificate is valid but not tight
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        pairs = [model.certify(tol, max_iter, rigorous) for model in models]
        certificates, gaps = zip(*pairs, strict=True)
    if max(gaps) > tol:
        worst = int(np.argmax(gaps))
        warn_of_convergence(
            f"certify: the lower bound is within a relative gap of {gaps[worst]:.1e} of the "
            f"optimum, not within tol={tol:.1e}. So much of the model's relative gap of "
            f"{certificates[worst].relative_gap:.1e} may be the bound's own. Increase max_iter "
            f"(now {max_iter}) or tol, or bring the features to a common scale."
        )
    return Certificates.of(certificates)


def _known(estimator: BaseEstimator) -> bool:
    """Whether `certify` knows the objective of an estimator, or of one that it contains."""
    inside = OneVsRestClassifier, BaseSearchCV, Pipeline
    return isinstance(estimator, (PrimalDualEstimator, *inside)) or (
        objective_of(estimator) is not None
    )


def check_linear(estimator: BaseEstimator) -> None:
    """Raise an error for an estimator that is not fitted or has no coefficients."""
    of_package = isinstance(estimator, PrimalDualEstimator)
    attribute = estimator._model_attribute if of_package else coef_name(estimator)
    has_coef = hasattr(estimator, attribute)
    # others are no estimators of scikit-learn's kind
    if hasattr(estimator, "fit") and (of_package or attribute == "coef_"):
        check_is_fitted(estimator, attribute if has_coef or of_package else None)
    if has_coef:
        return
    where = " or ".join(f"estimator.{name}" for name in inner_estimators(estimator, _known))
    advice = where and (
        f" It holds one, {where}: pass that, with the rows, the features and the targets that it "
        "was fitted to."
    )
    raise TypeError(
        f"certify takes linear models with coef_ and intercept_, got {full_name(estimator)}, "
        f"which has no {attribute}.{advice} The objectives it knows are those of skpd's "
        f"estimators and of {known_objectives()}."
    )


def unknown_objective(estimator: BaseEstimator) -> str:
    if isinstance(estimator, HuberRegressor):
        return (
            "certify does not know what HuberRegressor minimises, whose scale is a variable too. "
            "At its scale s = scale_ the objective is that of PdproxRegressor(loss='huber', "
            "delta=epsilon * s, penalty='l2', alpha=alpha * s / n_samples), which has a "
            "certificate. certify takes these as loss=Huber(delta), penalty=SquaredL2(), alpha."
        )
    classifies = hasattr(estimator, "__sklearn_tags__") and not is_regressor(estimator)
    loss = "Hinge()" if classifies else "Squared()"
    return (
        f"certify does not know what {full_name(minimiser(estimator))} minimises. If it is a mean "
        "loss plus alpha times a penalty, say so: certify(estimator, X, y, "
        f"loss={loss}, penalty=L1(), alpha=0.01, fit_intercept=True), with a loss of "
        "skpd.losses and a penalty of skpd.penalties. For an objective that sums the loss "
        "and multiplies it by C, alpha is 1 / (C * n_samples); without a penalty it is 0."
    )


def _one_vs_rest(
    estimator: OneVsRestClassifier, X: MatrixLike, y: ArrayLike, sample_weight: PerRow, **more: Any
) -> Certificate:
    """The certificates of the classes' own estimators."""
    check_is_fitted(estimator)
    indicators = np.asarray(estimator.label_binarizer_.transform(y).toarray())
    pairs = zip(estimator.estimators_, indicators.T, strict=True)
    return Certificates.of([certify(each, X, z, sample_weight, **more) for each, z in pairs])
