"""Linear regression with any convex loss of the residual and any penalty."""

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from .._typing import ArrayLike
from ..losses import ResidualLoss
from ..penalties import Penalty
from .constraints import LinearlyConstrained
from .names import PENALTIES, RESIDUAL_LOSSES, chosen
from .parameters import BY_FEATURE, OF_NAMES, penalty_by_feature
from .regressor import PrimalDualRegressor

__all__ = ["PdproxRegressor", "WithResidualLoss"]


class WithResidualLoss(PrimalDualRegressor):
    """A loss of residuals by its name, with the parameters of some of these, or an object."""

    _parameter_constraints: ClassVar[dict] = {
        **PrimalDualRegressor._parameter_constraints,
        "loss": [StrOptions(set(RESIDUAL_LOSSES)), ResidualLoss],
        "quantile": [Interval(Real, 0, 1, closed="neither"), None],
        "epsilon": [Interval(Real, 0, np.inf, closed="left"), None],
        "delta": [Interval(Real, 0, np.inf, closed="neither"), None],
    }

    def _get_loss(self) -> ResidualLoss:
        given = {"quantile": self.quantile, "epsilon": self.epsilon, "delta": self.delta}
        loss: ResidualLoss = chosen("loss", self.loss, RESIDUAL_LOSSES, **given)
        return loss


class PdproxRegressor(LinearlyConstrained, WithResidualLoss):
    """Robust, quantile or least-squares regression with any penalty and a certificate.

    Minimises the weighted mean of the loss plus ``alpha`` times the penalty.

    Parameters
    ----------
    alpha : float, default=1e-3
        Weight of the penalty (the papers' lambda), greater than 0. As in `Lasso` it
        multiplies the penalty beside the *mean* loss.
    penalty : str or Penalty, default="l1"
        The penalty on the coefficients; an object of `skpd.penalties` or a name, as for
        `PdproxSVC`.
    l1_ratio : float, default=None
        Share of the l1 norm, for the names of penalties that have one (`PdproxSVC`).
    groups : "auto", int, array-like, list or dict, default=None
        The partition of the features for the names of groups, as for `GroupLassoSVC`.
    penalty_weights : array-like of shape (n_features,), default=None
        A weight of at least 0 for each feature, by which its part of the penalty is multiplied:
        for a penalty of single coefficients. Features with a weight of 0 are not penalised.
    bounds : pair (lower, upper) or scipy.optimize.Bounds, default=None
        Bounds of the coefficients, with lower <= 0 <= upper: numbers or arrays of shape
        (n_features,), -inf and inf for none. For a penalty of single coefficients.
    constraints : scipy.optimize.LinearConstraint or list of them, default=None
        Linear constraints ``lb <= A @ coef <= ub`` on the coefficients,
        for A of shape (n_constraints, n_features), an array or sparse: monotone effects, a sum
        that is given, effects of groups that must not differ. They hold up to the rounding errors
        of ``A @ coef``. With them ``solver`` must be "auto", there may be a few thousand
        constraints, and a few thousand samples or features; features that have a part in one
        must be penalised.
    loss : {"absolute", "epsilon_insensitive", "squared_epsilon_insensitive", "huber", \
            "pinball", "squared"} or ResidualLoss, default="absolute"
        The loss; a name or an object of `skpd.losses`, or of a class of your own
        (`skpd.losses.ResidualLoss` says how). "squared" carries the factor 1/2, as in `Lasso`.
    quantile : float, default=None
        The quantile of the loss "pinball", in (0, 1); 0.5 by default.
    epsilon : float, default=None
        Half the width of the tube of "epsilon_insensitive" and "squared_epsilon_insensitive", at
        least 0, in the unit of y; 0.1 by default.
    delta : float, default=None
        The residual beyond which the loss "huber" is linear, greater than 0, in the unit of y;
        1.35 by default.
    solver : {"auto", "pdprox-dual", "pdprox-primal"}, default="auto"
        As for `PdproxSVC`.
    solver_options : dict, default=None
        As for `PdproxSVC`.
    tol : float, default=1e-4
        Stop when the certified relative gap is at most this: the objective is then at
        most ``tol`` times that of the best constant prediction above the optimum.
    max_iter : int, default=50_000
        Iterations at most: about one product with X and one with its transpose each for
        the published methods; Newton steps, or passes over the rows, for "auto".
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.
    warm_start : bool, default=False
        Start from the last fit's primal and dual solution where the shapes agree.
    random_state : int, RandomState instance or None, default=None
        The order of rows in dual coordinate descent ("auto"), and the start vector of the
        spectral norm estimate of the named solvers.
    verbose : int, default=0
        1 prints ever fewer lines on the way, where the iterations have doubled or the gap has
        halved, and the last certificate; 2 a line for every certificate.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients, in the precision of X.
    intercept_ : float
        Intercept; 0 without ``fit_intercept``.
    dual_coef_ : ndarray of shape (n_samples,)
        Dual solution theta: up to the tolerance, the derivative of each sample's loss
        with respect to its prediction.
    constraint_multipliers_ : ndarray of shape (n_constraints,)
        Only with ``constraints``: their multipliers, at least 0 at ``ub`` and at most 0 at
        ``lb``. Raising a bound by a small t lowers the optimal objective by t times this.
    groups_ : ndarray of str, of shape (n_features,)
        Only with ``groups="auto"``: the names of the columns that each feature comes from.
    certificate_ : Certificate
        The interval that holds the optimal objective value.
    duality_gap_ : float
        Length of that interval.
    relative_gap_ : float
        The same over the objective of the best constant prediction: what ``tol`` bounds.
    gap_history_ : structured ndarray
        The best interval over time, with fields n_iter, seconds, primal, dual, gap, and that of
        the recorded iterate itself, with fields iterate_primal and iterate_dual.
    solver_ : str
        The method that finished: a name of ``solver``, or with "auto" one of "dual-descent",
        "multipliers", "interior-point", "interior-point-faces", "hybrid-gradient", or
        "null-model" where the best constant prediction is good enough (`skpd.solvers.select`).
    converged_ : bool
        Whether the relative gap reached ``tol``.
    n_iter_ : int
        Iterations.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had string names.

    Warns
    -----
    ConvergenceWarning
        If the relative gap is still above ``tol`` after ``max_iter`` iterations.
    UserWarning
        If all coefficients are 0; it says why, and what to try.

    See Also
    --------
    PdproxSVC : The same for classes.

    References
    ----------
    Yang, Mahdavi, Jin, Zhu: An efficient primal dual prox method for non-smooth
    optimization. Machine Learning 98, 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skpd import PdproxRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> model = PdproxRegressor(alpha=0.1, loss="pinball", quantile=0.9).fit(X, y)
    >>> print(f"{(y <= model.predict(X)).mean():.2f}")
    0.90
    """

    _takes_blocks: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict] = {
        **LinearlyConstrained._parameter_constraints,
        **WithResidualLoss._parameter_constraints,
        "penalty": WithResidualLoss._penalty_constraint,
        **OF_NAMES,
        **BY_FEATURE,
    }

    def __init__(
        self,
        alpha: float = 1e-3,
        *,
        penalty: str | Penalty = "l1",
        l1_ratio: float | None = None,
        groups: Any = None,
        penalty_weights: ArrayLike | None = None,
        bounds: Any = None,
        constraints: Any = None,
        loss: str | ResidualLoss = "absolute",
        quantile: float | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
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
        self.penalty = penalty
        self.l1_ratio = l1_ratio
        self.groups = groups
        self.penalty_weights = penalty_weights
        self.bounds = bounds
        self.constraints = constraints
        self.loss = loss
        self.quantile = quantile
        self.epsilon = epsilon
        self.delta = delta
        self.solver = solver
        self.solver_options = solver_options
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def _get_penalty(self) -> Penalty:
        given = {"l1_ratio": self.l1_ratio, "groups": self._places_of(self.groups)}
        penalty = chosen("penalty", self.penalty, PENALTIES, **given)
        return penalty_by_feature(penalty, self.penalty_weights, self.bounds)
