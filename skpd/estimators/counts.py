"""Regression of counts."""

from dataclasses import KW_ONLY
from typing import ClassVar

from ..losses import Poisson
from ..losses.deviances import NegativeBinomial, PowerDeviance
from .means import MeanRegressor
from .parameters import NOT_NEGATIVE, declared


@declared
class PoissonPD(MeanRegressor):
    """Regression of counts, or of counts per exposure, with any penalty and a certificate.

    The mean of y is exp(x.w + b). Minimises the weighted mean of half the Poisson deviance, or of
    that of the negative binomial distribution, plus ``alpha`` times the penalty.

    Parameters
    ----------
    alpha : float, default=1.0
        Weight of the penalty beside the *mean* loss, at least 0; with 0 no feature is penalised.
        Objective and default are those of `sklearn.linear_model.PoissonRegressor`.
    dispersion : float, default=0.0
        The excess of the variance of y over its mean, over the square of the mean: 0 for the
        Poisson distribution, greater than 0 for the negative binomial distribution.
    penalty : str or Penalty, default="l2"
        The penalty on the coefficients; an object of `skpd.penalties` or a name, as for
        `PdproxSVC`.
    l1_ratio : float, default=None
        Share of the l1 norm, for the names of penalties that have one (`PdproxSVC`).
    groups : "auto", int, array-like, list, dict or callable, default=None
        The groups of features for penalties of groups: one size of consecutive groups, or a list
        of sizes; a label for each feature; a list or dict of lists of names, patterns or indices;
        "auto" for the features that come from one column, after `track_columns`; or a callable of
        the names that returns one of these.
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
    constraints : scipy.optimize.LinearConstraint or list of them, default=None
        Linear constraints ``lb <= A @ coef <= ub`` on the coefficients (of each class), for A
        of shape (n_constraints, n_features), an array or sparse: for monotone effects, a given
        sum of coefficients, or effects of groups that must not differ. The constraints hold up
        to the rounding errors of ``A @ coef``. With them ``solver`` must be "auto", there may
        be a few thousand constraints, and a few thousand samples or features; features that
        occur in a constraint must be penalised or between two finite bounds.
    solver : {"auto", "pdprox-dual", "pdprox-primal", "agm", "cd", "approx"}, default="auto"
        "auto" is the fastest method known for the problem, see `skpd.solvers.select`. The
        "pdprox" are Algorithms 1 and 3 and Algorithm 2 of Yang et al. (2015), with their step
        sizes; "agm" the accelerated gradients of Zhang et al. (2011), for a loss of single
        predictions that is smooth or has bounded slopes; "cd" and "approx" the coordinate
        methods of Dünner et al. (2016) and of Fercoq and Richtárik (2015), for a smooth loss
        with a penalty of single coefficients, or without an intercept for any loss with a
        squared l2 norm in the penalty. `fit` raises a ValueError for a solver that does not
        apply.
    solver_options : dict, default=None
        Options of a named solver. "pdprox-dual": ``algorithm`` (1 or 3) and ``accelerated``
        (bool); "pdprox-primal": ``rows_per_step`` (int), the rows of a random block in each step;
        both "pdprox": ``implementation`` ("double-primal", "double-dual"), ``average`` (bool),
        ``step_scale`` and ``step_ratio`` (float), see `skpd.solvers.published.pdprox`; "agm":
        those of `skpd.solvers.published.agm.agm`; "cd": ``variables``, ``average`` and
        ``burn_in``, and "approx": ``variables`` and ``coordinates_per_step``, see
        `skpd.solvers.published.random_coordinates`. All take ``output``: "algorithm", the
        default, is what the paper's algorithm returns, with its certificate, and "best" the
        best point of the run.
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
    coef_ : ndarray of shape (n_features,)
        Coefficients, in the precision of X.
    intercept_ : float
        Intercept; 0 without ``fit_intercept``.
    dual_coef_ : ndarray of shape (n_samples,)
        Dual solution theta: up to the tolerance, the derivative of each sample's loss
        with respect to its prediction.
    constraint_multipliers_ : ndarray of shape (n_constraints,) or (n_classes, n_constraints)
        Only with ``constraints``: their multipliers, at least 0 at ``ub`` and at most 0 at
        ``lb``, followed by those of bounds that exclude 0. Raising a bound by a small t lowers the
        optimal objective by t times this.
    groups_ : ndarray of str, of shape (n_features,)
        Only with ``groups="auto"``: the names of the columns that each feature comes from.
    certificate_ : Certificate
        The interval that holds the optimal objective value.
    duality_gap_ : float
        Length of that interval.
    relative_gap_ : float
        That length as a share of what could be improved on the best constant prediction,
        compared with ``tol``: 0 is optimal, and 1 means that nothing was learnt.
    gap_history_ : structured ndarray
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
    GammaPD : Regression of positive costs.
    TweediePD : Regression of costs that may be 0.
    PdproxRegressor : Regression with a loss of the residual.

    References
    ----------
    Yang, Mahdavi, Jin, Zhu: An efficient primal dual prox method for non-smooth
    optimization. Machine Learning 98, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd import PoissonPD
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3))
    >>> y = rng.poisson(np.exp(X[:, 0] - 0.5))
    >>> PoissonPD(alpha=0.02, penalty="l1").fit(X, y).coef_.round(1)
    array([0.9, 0. , 0. ])
    """

    _own_constraints: ClassVar[dict] = {"dispersion": [NOT_NEGATIVE]}

    alpha: float = 1.0
    _: KW_ONLY
    dispersion: float = 0.0

    def _get_loss(self) -> PowerDeviance | NegativeBinomial:
        return NegativeBinomial(float(self.dispersion)) if self.dispersion else Poisson()
