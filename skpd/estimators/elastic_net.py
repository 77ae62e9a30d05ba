"""Elastic nets: regression and classification, with a penalty or over an l1 ball."""

from dataclasses import KW_ONLY
from typing import ClassVar, Literal

from .._typing import PerFeature
from ..penalties import L1Ball, Penalty, SquaredL2OnL1Ball
from .base import PrimalDualEstimator
from .lasso import LassoLike
from .names import elastic_net
from .parameters import (
    POSITIVE,
    SHARE,
    ClassifierParameters,
    FitParameters,
    FitsWithoutPenalty,
    declared,
    shared,
)
from .svm import MarginClassifier

PENALISED = ("auto", "agm", "cd", "approx")
CONSTRAINED: tuple[str, ...] = ("auto", "agm", "pdbfw")


@shared
class _ElasticNetModel(FitsWithoutPenalty, PrimalDualEstimator):
    """Base class of elastic nets: the penalty or constraint, and the solvers for it."""

    l1_ratio: float = 0.5
    l1_radius: float | None = None
    penalty_weights: PerFeature = None
    bounds: PerFeature = None
    solver: Literal["auto", "agm", "cd", "approx", "pdbfw"] = "auto"

    positive = False  # a parameter of regression alone
    _takes_blocks: ClassVar[bool] = True
    _own_constraints: ClassVar[dict] = {"l1_ratio": [SHARE], "l1_radius": [POSITIVE, None]}

    def _get_penalty(self) -> Penalty:
        ratio, radius = float(self.l1_ratio), self.l1_radius
        if radius is not None:
            if self.positive or self.penalty_weights is not None or self.bounds is not None:
                raise ValueError(
                    f"{type(self).__name__} takes positive, penalty_weights and bounds without "
                    f"an l1_radius, got l1_radius={radius!r}."
                )
            if ratio < 1.0 and self.alpha > 0.0:
                return SquaredL2OnL1Ball(float(radius), weight=1.0 - ratio)
            return L1Ball(float(radius))
        return self._by_feature(elastic_net(ratio, self.positive))

    def _solver(self) -> str:
        """The name of the solver, after a check that it applies to the model."""
        name, allowed, where = type(self).__name__, CONSTRAINED, "with an l1_radius"
        if self.l1_radius is None:
            allowed, where = PENALISED, "where l1_radius is None"
        if self.solver not in allowed:
            raise ValueError(
                f"The 'solver' parameter of {name} must be one of {allowed} {where}, got "
                f"{self.solver!r}."
            )
        if self.solver == "pdbfw" and self.l1_ratio == 1.0:
            raise ValueError(
                f"The 'solver' parameter of {name} must be 'auto' or 'agm' where l1_ratio is 1, "
                "got 'pdbfw', which needs the squared l2 penalty of an l1_ratio below 1."
            )
        return self.solver


@declared
class ElasticNetPD(FitParameters, _ElasticNetModel, LassoLike):
    """Elastic net regression, penalised or over an l1 ball, fitted with a certificate.

    Minimises, with the weighted mean over the samples,

        mean((y - X w - b)^2) / 2 + alpha l1_ratio ||w||_1 + alpha (1 - l1_ratio) ||w||_2^2 / 2,

    exactly as `sklearn.linear_model.ElasticNet`; or, with an ``l1_radius``, the first and the
    last term subject to ``||w||_1 <= l1_radius``.

    Parameters
    ----------
    alpha : float, default=1.0
        Weight of the penalty, at least 0. With 0 the model is least squares.
    positive : bool, default=False
        Whether the coefficients must not be negative.
    l1_ratio : float, default=0.5
        Share of the l1 norm, in [0, 1]; with an ``l1_radius`` the squared l2 norm keeps the
        weight ``alpha (1 - l1_ratio)``.
    l1_radius : float, default=None
        Radius of the l1 ball that takes the place of the l1 penalty, greater than 0; not with
        ``positive``, ``penalty_weights`` or ``bounds``.
    penalty_weights : array-like of shape (n_features,), dict or callable, default=None
        A weight of at least 0 for each feature, by which its part of the penalty is
        multiplied, for penalties of single coefficients. Features with a weight of 0 are not
        penalised; with an infinite weight they are left out, with a coefficient of 0. A dict
        has the weights of some features, the others have 1: by the names of the columns of X,
        a data frame or what `track_columns` has made, or by patterns such as ``"region_*"``.
        Names go before patterns, and later patterns before earlier ones. A callable is called
        by `fit` with the array of all names, and returns an array or such a dict.
    bounds : pair (lower, upper), scipy.optimize.Bounds, dict or callable, default=None
        Bounds of the coefficients, for penalties of single coefficients: numbers or arrays of
        shape (n_features,); None, -inf and inf for none. Bounds that exclude 0 are constraints,
        of estimators that take these; others refuse them. A dict has a pair of numbers for names
        or patterns, and a callable of the names returns any of these, as for
        ``penalty_weights``.
    solver : {"auto", "agm", "pdbfw", "cd", "approx"}, default="auto"
        "auto" is the fastest method known for the problem, see `skpd.solvers.select`. "agm" is
        the accelerated gradient method of Zhang et al., see `skpd.solvers.published.agm.agm`.
        "cd" and "approx" are the coordinate methods of `LassoPDCertified`, without an
        ``l1_radius``. "pdbfw" is primal-dual block Frank-Wolfe, for an ``l1_radius`` and an
        ``l1_ratio`` below 1, see `skpd.solvers.published.pdbfw.pdbfw`. As printed, which is
        its default, it needs a smooth loss such as the squared loss or the smoothed hinge, and
        can take thousands of passes over the data; ``solver_options={"step_size":
        "line-search"}`` takes any loss, and fewer passes. `fit` raises a ValueError for a
        solver that does not apply.
    solver_options : dict, default=None
        Options of a named solver; the functions above describe them. All take ``output``:
        "algorithm", the default, is what the paper's algorithm returns, with its certificate, and
        "best" the best point of the run.
    tol : float, default=1e-4
        Stop when the certified relative gap is at most this: the model then leaves at most the
        share ``tol`` of what any model could improve on the best constant prediction. Where
        the objective is small, a fit also goes on until the gap is at most 100 ``tol`` of it.
    max_iter : int, default=50_000
        Iterations at most. An iteration is a Newton step, a pass over the rows or the
        coordinates, or, in a method of gradients, about one product with X and one with its
        transpose.
    fit_intercept : bool, default=True
        Whether to fit an intercept (for each output or class), which is not penalised.
    warm_start : bool, default=False
        Start from the last fit's primal and dual solution where the shapes agree.
    random_state : int, RandomState instance or None, default=None
        The random numbers that a solver draws: for the order of rows or coordinates, and for
        the start vectors of norms and of singular vectors.
    verbose : int, default=0
        1 prints a line whenever the iterations have doubled or the gap has halved, and the
        last certificate; 2 prints a line for every certificate.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Coefficients, in the precision of X.
    intercept_ : float, or ndarray of shape (n_targets,)
        Intercept; 0 without ``fit_intercept``.
    dual_coef_ : ndarray of shape (n_samples,) or (n_targets, n_samples)
        Dual solution theta: up to the tolerance, the residuals ``X w + b - y``.
    certificate_ : Certificate
        The interval that holds the optimal objective value. For several targets a
        `Certificates`: a sequence with one for each target and the attributes, such as
        ``gap``, of the worst.
    duality_gap_ : float
        Length of that interval; the largest for several targets.
    dual_gap_ : float, or ndarray of shape (n_targets,)
        Length of the interval of each target, under its name in scikit-learn.
    sparse_coef_ : sparse array of shape (1, n_features) or (n_targets, n_features)
        ``coef_`` in sparse format.
    relative_gap_ : float
        The largest length of an interval as a share of what could be improved on the best
        constant prediction, compared with ``tol``: 0 is optimal, and 1 means that nothing was
        learnt.
    gap_history_ : structured ndarray, or list of them for several targets
        The best interval over time, with fields n_iter, seconds, primal, dual, gap, and that
        of the recorded iterate itself, with fields iterate_primal and iterate_dual.
    solver_ : str, or list of them for one-vs-rest or several targets
        The method that finished: the value of ``solver``, or with "auto" the method that was
        chosen, such as "multipliers" or "interior-point", or "null-model" where the best
        constant prediction is good enough. The :ref:`reference <solvers>` lists all names.
    converged_ : bool
        Whether the gap is as small as ``tol`` asks for.
    n_iter_ : int
        Iterations; the most of any class or target.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had string names.

    Raises
    ------
    ValueError
        In `fit`, if the solver does not apply, or if ``l1_radius`` is given together with
        ``positive``, ``penalty_weights`` or ``bounds``.

    Warns
    -----
    ConvergenceWarning
        If the relative gap is still above ``tol`` after ``max_iter`` iterations.
    UserWarning
        If all coefficients are 0; the message says why, and what to try.

    See Also
    --------
    ElasticNetPDCV : Elastic net with alpha and l1_ratio chosen by cross-validation.
    ElasticNetPDClassifier : Classifier with an elastic net penalty or an l1 ball.
    path : Models for many values of alpha.

    References
    ----------
    Lei, Zhuo, Caramanis, Dhillon, Dimakis: Primal-dual block Frank-Wolfe. NeurIPS 2019.

    Zhang, Saha, Vishwanathan: Regularized risk minimization by Nesterov's accelerated gradient
    methods: algorithmic extensions and empirical studies, 2011.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from skpd import ElasticNetPD
    >>> X, y = load_diabetes(return_X_y=True)
    >>> X = scale(X)
    >>> model = ElasticNetPD(alpha=1.0, l1_ratio=0.9).fit(X, y)
    >>> print(f"{model.score(X, y):.2f}")
    0.51
    >>> constrained = ElasticNetPD(alpha=1.0, l1_ratio=0.9, l1_radius=50.0).fit(X, y)
    >>> print(f"{abs(constrained.coef_).sum():.1f}")
    50.0
    """

    alpha: float = 1.0
    _: KW_ONLY
    positive: bool = False


@declared
class ElasticNetPDClassifier(ClassifierParameters, MarginClassifier, _ElasticNetModel):
    """Elastic net classification, penalised or over an l1 ball, fitted with a certificate.

    Minimises the weighted mean of the loss plus ``alpha l1_ratio ||w||_1 + alpha (1 - l1_ratio)
    ||w||_2^2 / 2``; or, with an ``l1_radius``, the loss and the last term subject to ``||w||_1 <=
    l1_radius``. More than two classes are handled one-vs-rest.

    Parameters
    ----------
    alpha : float, default=1e-3
        Weight of the penalty, at least 0; with 0 no feature is penalised.
    l1_ratio : float, default=0.5
        Share of the l1 norm, in [0, 1]; with an ``l1_radius`` the squared l2 norm keeps the
        weight ``alpha (1 - l1_ratio)``.
    l1_radius : float, default=None
        Radius of the l1 ball that takes the place of the l1 penalty, greater than 0; not with
        ``penalty_weights`` or ``bounds``.
    penalty_weights : array-like of shape (n_features,), dict or callable, default=None
        A weight of at least 0 for each feature, by which its part of the penalty is
        multiplied, for penalties of single coefficients. Features with a weight of 0 are not
        penalised; with an infinite weight they are left out, with a coefficient of 0. A dict
        has the weights of some features, the others have 1: by the names of the columns of X,
        a data frame or what `track_columns` has made, or by patterns such as ``"region_*"``.
        Names go before patterns, and later patterns before earlier ones. A callable is called
        by `fit` with the array of all names, and returns an array or such a dict.
    bounds : pair (lower, upper), scipy.optimize.Bounds, dict or callable, default=None
        Bounds of the coefficients, for penalties of single coefficients: numbers or arrays of
        shape (n_features,); None, -inf and inf for none. Bounds that exclude 0 are constraints,
        of estimators that take these; others refuse them. A dict has a pair of numbers for names
        or patterns, and a callable of the names returns any of these, as for
        ``penalty_weights``.
    loss : str or MarginLoss, default="hinge"
        The loss: "hinge", "squared_hinge", "smoothed_hinge", "generalized_hinge",
        "modified_huber", "logistic", an object of `skpd.losses` such as ``SmoothedHinge(mu=0.1)``,
        or one of a class of your own (`skpd.losses.MarginLoss` describes how).
    solver : {"auto", "agm", "pdbfw", "cd", "approx"}, default="auto"
        "auto" is the fastest method known for the problem, see `skpd.solvers.select`. "agm" is
        the accelerated gradient method of Zhang et al., see `skpd.solvers.published.agm.agm`.
        "cd" and "approx" are the coordinate methods of `LassoPDCertified`, without an
        ``l1_radius``. "pdbfw" is primal-dual block Frank-Wolfe, for an ``l1_radius`` and an
        ``l1_ratio`` below 1, see `skpd.solvers.published.pdbfw.pdbfw`. As printed, which is
        its default, it needs a smooth loss such as the squared loss or the smoothed hinge, and
        can take thousands of passes over the data; ``solver_options={"step_size":
        "line-search"}`` takes any loss, and fewer passes. `fit` raises a ValueError for a
        solver that does not apply.
    solver_options : dict, default=None
        Options of a named solver; the functions above describe them. All take ``output``:
        "algorithm", the default, is what the paper's algorithm returns, with its certificate, and
        "best" the best point of the run.
    tol : float, default=1e-4
        Stop when the certified relative gap is at most this: the model then leaves at most the
        share ``tol`` of what any model could improve on the best constant prediction.
    max_iter : int, default=50_000
        Iterations at most. An iteration is a Newton step, a pass over the rows or the
        coordinates, or, in a method of gradients, about one product with X and one with its
        transpose.
    fit_intercept : bool, default=True
        Whether to fit an intercept (for each output or class), which is not penalised.
    class_weight : dict or "balanced", default=None
        Weights of the classes, which multiply ``sample_weight``.
    warm_start : bool, default=False
        Start from the last fit's primal and dual solution where the shapes agree.
    n_jobs : int, default=None
        Threads over the classes of a one-vs-rest fit.
    random_state : int, RandomState instance or None, default=None
        The random numbers that a solver draws: for the order of rows or coordinates, and for
        the start vectors of norms and of singular vectors.
    verbose : int, default=0
        1 prints a line whenever the iterations have doubled or the gap has halved, and the
        last certificate; 2 prints a line for every certificate.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients, in the precision of X.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts; 0 without ``fit_intercept``.
    dual_coef_ : ndarray of shape (1, n_samples) or (n_classes, n_samples)
        Dual solution theta: up to the tolerance, the derivative of each sample's loss
        with respect to its prediction.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    certificate_ : Certificate
        The interval that holds the optimal objective value. For one-vs-rest a `Certificates`:
        a sequence with one for each class and the attributes, such as ``gap``, of the worst.
    duality_gap_ : float
        Length of that interval; the largest for one-vs-rest.
    relative_gap_ : float
        The largest length of an interval as a share of what could be improved on the best
        constant prediction, compared with ``tol``: 0 is optimal, and 1 means that nothing was
        learnt.
    gap_history_ : structured ndarray, or list of them for one-vs-rest
        The best interval over time, with fields n_iter, seconds, primal, dual, gap, and that
        of the recorded iterate itself, with fields iterate_primal and iterate_dual.
    solver_ : str, or list of them for one-vs-rest or several targets
        The method that finished: the value of ``solver``, or with "auto" the method that was
        chosen, such as "multipliers" or "interior-point", or "null-model" where the best
        constant prediction is good enough. The :ref:`reference <solvers>` lists all names.
    converged_ : bool
        Whether the gap is as small as ``tol`` asks for.
    n_iter_ : int
        Iterations; the most of any class or target.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had string names.

    Warns
    -----
    ConvergenceWarning
        If the relative gap is still above ``tol`` after ``max_iter`` iterations.
    UserWarning
        If all coefficients are 0; the message says why, and what to try.

    See Also
    --------
    ElasticNetPD : Elastic net regression.
    PdproxSVC : Classifier with any margin loss and any penalty.

    References
    ----------
    Lei, Zhuo, Caramanis, Dhillon, Dimakis: Primal-dual block Frank-Wolfe. NeurIPS 2019.

    Zhang, Saha, Vishwanathan: Regularized risk minimization by Nesterov's accelerated gradient
    methods: algorithmic extensions and empirical studies, 2011.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skpd import ElasticNetPDClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> clf = ElasticNetPDClassifier(alpha=0.01, l1_radius=2.0).fit(X, y)
    >>> print(f"{clf.score(X, y):.2f}")
    0.96
    >>> print(f"{abs(clf.coef_).sum():.2f}")
    2.00
    """

    alpha: float = 1e-3
