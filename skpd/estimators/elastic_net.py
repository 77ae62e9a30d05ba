"""Elastic nets, penalised or over an l1 ball, for regression and for classes."""

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from .._typing import ArrayLike
from ..losses import MarginLoss, Squared
from ..penalties import L1Ball, Penalty, SquaredL2OnL1Ball
from .base import PrimalDualEstimator
from .classifier import PrimalDualClassifier
from .lasso_attributes import LassoLike
from .names import MARGIN_LOSSES, chosen, elastic_net
from .parameters import BY_FEATURE, penalty_by_feature

__all__ = ["PENALISED", "ElasticNetPD", "ElasticNetPDClassifier"]

PENALISED = ("auto", "agm", "cd", "approx")
CONSTRAINED = ("auto", "agm", "pdbfw")


class _ElasticNetModel(PrimalDualEstimator):
    """What both share: the penalty or constraint, and the solvers that go with it."""

    l1_ratio: float
    l1_radius: float | None
    positive: bool = False
    penalty_weights: ArrayLike | None
    bounds: Any

    _takes_blocks: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict] = {
        **PrimalDualEstimator._parameter_constraints,
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "l1_radius": [Interval(Real, 0, np.inf, closed="neither"), None],
        "solver": [StrOptions({*PENALISED, *CONSTRAINED})],
        **BY_FEATURE,
    }

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
        penalty = elastic_net(ratio, self.positive)
        return penalty_by_feature(penalty, self.penalty_weights, self.bounds, self.alpha)

    def _solver(self) -> str:
        """The solver's own name, if it applies."""
        name = type(self).__name__
        if self.l1_radius is None:
            if self.solver not in PENALISED:
                raise ValueError(
                    f"The 'solver' parameter of {name} must be one of {PENALISED} where "
                    f"l1_radius is None, got {self.solver!r}."
                )
            return self.solver
        if self.solver not in CONSTRAINED:
            raise ValueError(
                f"The 'solver' parameter of {name} must be one of {CONSTRAINED} with an "
                f"l1_radius, got {self.solver!r}."
            )
        if self.solver == "pdbfw" and self.l1_ratio == 1.0:
            raise ValueError(
                f"The 'solver' parameter of {name} must be 'auto' or 'agm' where l1_ratio is 1, "
                "got 'pdbfw', which needs the squared l2 penalty of an l1_ratio below 1."
            )
        return self.solver


class ElasticNetPD(_ElasticNetModel, LassoLike):
    """Elastic net regression, penalised or over an l1 ball, fitted with a certificate.

    Minimises, with the weighted mean over the samples,

        mean((y - X w - b)^2) / 2 + alpha l1_ratio ||w||_1 + alpha (1 - l1_ratio) ||w||_2^2 / 2,

    exactly as `sklearn.linear_model.ElasticNet`; or, with an ``l1_radius``, the first and the
    last term subject to ``||w||_1 <= l1_radius``.

    Parameters
    ----------
    alpha : float, default=1.0
        Weight of the penalty, at least 0. With 0 it is least squares.
    l1_ratio : float, default=0.5
        Share of the l1 norm, in [0, 1]; with an ``l1_radius`` the squared l2 norm keeps the
        weight ``alpha (1 - l1_ratio)``.
    positive : bool, default=False
        Whether the coefficients must not be negative; without an ``l1_radius``.
    l1_radius : float, default=None
        Radius of the l1 ball that takes the place of the l1 penalty, greater than 0.
    penalty_weights : array-like of shape (n_features,), default=None
        A weight of at least 0 for each feature, by which its part of the penalty is multiplied:
        for a penalty of single coefficients. Features with a weight of 0 are not penalised.
    bounds : pair (lower, upper) or scipy.optimize.Bounds, default=None
        Bounds of the coefficients, with lower <= 0 <= upper: numbers or arrays of shape
        (n_features,), -inf and inf for none. For a penalty of single coefficients.
    solver : {"auto", "agm", "pdbfw", "cd", "approx"}, default="auto"
        "auto" is the fastest method known for the problem, see `skpd.solvers.select`. "agm" is
        the accelerated gradient method of Zhang et al., see
        `skpd.solvers.accelerated.agm.agm`; "pdbfw" primal-dual block Frank-Wolfe, for an
        ``l1_radius`` and an ``l1_ratio`` below 1, see `skpd.solvers.frank_wolfe.pdbfw.pdbfw`;
        both as printed by default, which for "pdbfw" can take thousands of passes over the data
        and needs a loss like the squared one or the smoothed hinge: its
        ``solver_options={"step_size": "line-search"}`` do not.
        "cd" and "approx" are the coordinate methods of `LassoPDCertified`, without
        ``l1_radius``.
    solver_options : dict, default=None
        Options of a named solver, see there.
    tol : float, default=1e-4
        Stop when the certified relative gap is at most this: the objective is then at
        most ``tol`` times that of the best constant prediction above the optimum.
    max_iter : int, default=50_000
        Iterations at most: gradients for "agm", Newton steps or passes over the rows or changes
        of a block for the others.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.
    warm_start : bool, default=False
        Start from the last fit's primal and dual solution where the shapes agree.
    random_state : int, RandomState instance or None, default=None
        The order of rows in dual coordinate descent, and the start vectors of norm estimates.
    verbose : int, default=0
        1 prints ever fewer lines on the way, where the iterations have doubled or the gap has
        halved, and the last certificate; 2 a line for every certificate.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Coefficients, in the precision of X.
    intercept_ : float, or ndarray of shape (n_targets,)
        Intercept; 0 without ``fit_intercept``.
    dual_coef_ : ndarray of shape (n_samples,) or (n_targets, n_samples)
        Dual solution theta: up to the tolerance, the residuals ``X w + b - y``.
    certificate_ : Certificate, or list of them for several targets
        The interval that holds the optimal objective value.
    duality_gap_ : float
        Length of that interval; the largest for several targets.
    dual_gap_ : float, or ndarray of shape (n_targets,)
        The same, for each target: its name in scikit-learn.
    sparse_coef_ : sparse array of shape (1, n_features) or (n_targets, n_features)
        ``coef_`` in sparse format.
    relative_gap_ : float
        The same over the objective of the best constant prediction: what ``tol`` bounds.
    gap_history_ : structured ndarray
        The best interval over time, with fields n_iter, seconds, primal, dual, gap, and that of
        the recorded iterate itself, with fields iterate_primal and iterate_dual.
    solver_ : str
        The method that finished: a name of ``solver``, or with "auto" one of "dual-descent",
        "multipliers", "interior-point", "interior-point-faces", "hybrid-gradient", over the l1
        ball also "block-frank-wolfe" and "multiplier-search", or "null-model" where the best
        constant prediction is good enough (`skpd.solvers.select`).
    converged_ : bool
        Whether the relative gap reached ``tol``.
    n_iter_ : int
        Iterations.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had string names.

    Raises
    ------
    ValueError
        In `fit`, if the solver does not apply to the model.

    Warns
    -----
    ConvergenceWarning
        If the relative gap is still above ``tol`` after ``max_iter`` iterations.
    UserWarning
        If all coefficients are 0; it says why, and what to try.

    See Also
    --------
    ElasticNetPDCV : The same with alpha and l1_ratio chosen by cross-validation.
    ElasticNetPDClassifier : The same for classes.
    path : Models for many values of alpha.

    References
    ----------
    Lei, Zhuo, Caramanis, Dhillon, Dimakis: Primal-dual block Frank-Wolfe. NeurIPS 2019.

    Zhang, Saha, Vishwanathan: Regularized risk minimization by Nesterov's accelerated gradient
    methods: algorithmic extensions and empirical studies, 2011.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skpd import ElasticNetPD
    >>> X, y = load_diabetes(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> model = ElasticNetPD(alpha=1.0, l1_ratio=0.9).fit(X, y)
    >>> print(f"{model.score(X, y):.2f}")
    0.51
    >>> constrained = ElasticNetPD(alpha=1.0, l1_ratio=0.9, l1_radius=50.0).fit(X, y)
    >>> print(f"{abs(constrained.coef_).sum():.1f}")
    50.0
    """

    _parameter_constraints: ClassVar[dict] = {
        **_ElasticNetModel._parameter_constraints,
        **LassoLike._parameter_constraints,
        "solver": _ElasticNetModel._parameter_constraints["solver"],
    }

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        l1_ratio: float = 0.5,
        positive: bool = False,
        l1_radius: float | None = None,
        penalty_weights: ArrayLike | None = None,
        bounds: Any = None,
        solver: str = "auto",
        solver_options: dict[str, Any] | None = None,
        tol: float = 1e-4,
        max_iter: int = 50_000,
        fit_intercept: bool = True,
        warm_start: bool = False,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.positive = positive
        self.l1_radius = l1_radius
        self.penalty_weights = penalty_weights
        self.bounds = bounds
        self.solver = solver
        self.solver_options = solver_options
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def _get_loss(self) -> Squared:
        return Squared()


class ElasticNetPDClassifier(_ElasticNetModel, PrimalDualClassifier):
    """Elastic net classification, penalised or over an l1 ball, fitted with a certificate.

    Minimises the weighted mean of the loss plus ``alpha l1_ratio ||w||_1 + alpha (1 - l1_ratio)
    ||w||_2^2 / 2``; or, with an ``l1_radius``, the loss and the last term subject to ``||w||_1 <=
    l1_radius``. More than two classes are handled one-vs-rest.

    Parameters
    ----------
    alpha : float, default=1e-3
        Weight of the penalty, greater than 0.
    l1_ratio : float, default=0.5
        Share of the l1 norm, in [0, 1]; with an ``l1_radius`` the squared l2 norm keeps the
        weight ``alpha (1 - l1_ratio)``.
    l1_radius : float, default=None
        Radius of the l1 ball that takes the place of the l1 penalty, greater than 0.
    penalty_weights : array-like of shape (n_features,), default=None
        A weight of at least 0 for each feature, by which its part of the penalty is multiplied.
    bounds : pair (lower, upper) or scipy.optimize.Bounds, default=None
        Bounds of the coefficients, with lower <= 0 <= upper: numbers or arrays of shape
        (n_features,), -inf and inf for none.
    loss : str or MarginLoss, default="smoothed_hinge"
        The loss; a name, as for `PdproxSVC`, or an object of `skpd.losses`, such as
        ``SmoothedHinge(mu=0.1)``.
    solver : {"auto", "agm", "pdbfw", "cd", "approx"}, default="auto"
        As for `ElasticNetPD`.
    solver_options : dict, default=None
        Options of a named solver, as for `ElasticNetPD`.
    tol : float, default=1e-4
        Stop when the certified relative gap is at most this: the objective is then at
        most ``tol`` times that of the best constant prediction above the optimum.
    max_iter : int, default=50_000
        Iterations at most, as for `ElasticNetPD`.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.
    class_weight : dict or "balanced", default=None
        Weights of the classes, which multiply ``sample_weight``.
    warm_start : bool, default=False
        Start from the last fit's primal and dual solution where the shapes agree.
    n_jobs : int, default=None
        Threads over the classes of a one-vs-rest fit.
    random_state : int, RandomState instance or None, default=None
        The order of rows in dual coordinate descent, and the start vectors of norm estimates.
    verbose : int, default=0
        1 prints ever fewer lines on the way, where the iterations have doubled or the gap has
        halved, and the last certificate; 2 a line for every certificate.

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
    certificate_ : Certificate, or list of them for one-vs-rest
        The interval that holds the optimal objective value.
    duality_gap_ : float
        Length of that interval; the largest for one-vs-rest.
    relative_gap_ : float
        The same over the objective of the best constant prediction, of which ``tol`` bounds the
        largest.
    gap_history_ : structured ndarray, or list of them for one-vs-rest
        The best interval over time, with fields n_iter, seconds, primal, dual, gap, and that of
        the recorded iterate itself, with fields iterate_primal and iterate_dual.
    solver_ : str, or list of them for one-vs-rest
        The method that finished, as for `ElasticNetPD`.
    converged_ : bool
        Whether the relative gap reached ``tol``.
    n_iter_ : int
        Iterations; the most of any class.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had string names.

    See Also
    --------
    ElasticNetPD : The same for regression.

    References
    ----------
    Lei, Zhuo, Caramanis, Dhillon, Dimakis: Primal-dual block Frank-Wolfe. NeurIPS 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skpd import ElasticNetPDClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> clf = ElasticNetPDClassifier(alpha=0.01, l1_radius=2.0).fit(X, y)
    >>> print(f"{clf.score(X, y):.2f}")
    0.98
    >>> print(f"{abs(clf.coef_).sum():.2f}")
    2.00
    """

    _parameter_constraints: ClassVar[dict] = {
        **PrimalDualClassifier._parameter_constraints,
        **_ElasticNetModel._parameter_constraints,
        "loss": [StrOptions(set(MARGIN_LOSSES)), MarginLoss],
    }

    def __init__(
        self,
        alpha: float = 1e-3,
        *,
        l1_ratio: float = 0.5,
        l1_radius: float | None = None,
        penalty_weights: ArrayLike | None = None,
        bounds: Any = None,
        loss: str | MarginLoss = "smoothed_hinge",
        solver: str = "auto",
        solver_options: dict[str, Any] | None = None,
        tol: float = 1e-4,
        max_iter: int = 50_000,
        fit_intercept: bool = True,
        class_weight: dict | str | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.l1_radius = l1_radius
        self.penalty_weights = penalty_weights
        self.bounds = bounds
        self.loss = loss
        self.solver = solver
        self.solver_options = solver_options
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _get_loss(self) -> MarginLoss:
        loss: MarginLoss = chosen("loss", self.loss, MARGIN_LOSSES)
        return loss
