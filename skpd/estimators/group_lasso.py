"""The group lasso for classification and regression."""

from dataclasses import KW_ONLY
from typing import ClassVar, cast

from .._typing import Array, ArrayLike, Groups
from ..formulation.overlapping import Copies, copies_of
from ..penalties import GroupL2, NonNegativeGroupL2, Penalty
from ..preprocessing.groups import weights_of_groups
from .base import PrimalDualEstimator
from .parameters import ClassifierParameters, SolverParameters, WithSolver, declared
from .regression import WithResidualLoss
from .svm import MarginClassifier


class WithGroups(PrimalDualEstimator):
    """Base class of estimators with a group lasso penalty, whose groups may overlap."""

    _takes_blocks: ClassVar[bool] = True
    _needs_groups: ClassVar[bool] = True
    _own_constraints: ClassVar[dict] = {"group_weights": ["array-like", dict, None]}

    group_weights: ArrayLike | None
    positive: bool = False
    latent_coef_: Array

    @property
    def _groups(self) -> Groups:
        return 1 if self.groups is None else self._indexed_groups

    def _copies(self) -> Copies | None:
        """Copies of the features that are in several groups; None where groups do not overlap."""
        n_features = getattr(self, "n_features_in_", None)
        return None if n_features is None else copies_of(self._groups, n_features)

    def _get_penalty(self) -> Penalty:
        copies = self._copies()
        groups = self._groups if copies is None else copies.groups
        labels = groups
        if isinstance(names := self._named_groups, dict):
            labels = dict(zip(names, cast(list, self._groups), strict=True))
        weights = weights_of_groups(self.group_weights, labels, self._columns_of_groups)
        return (NonNegativeGroupL2 if self.positive else GroupL2)(groups, weights)


@declared
class GroupLassoSVC(ClassifierParameters, WithSolver, WithGroups, MarginClassifier):
    """Linear classifier with a group lasso penalty, fitted with a certificate.

    Minimises the weighted mean of the loss plus ``alpha`` times
    ``sum_g weight_g ||w_g||_2``, which selects whole groups of features.

    Parameters
    ----------
    alpha : float, default=1e-3
        Weight of the penalty (the papers' lambda), greater than 0.
    groups : "auto", int, array-like of shape (n_features,), list, dict or callable, default=None
        The partition of the features. "auto": the features that come from the same column, for
        an X that `track_columns` has transformed. A label for each feature, strings or whole
        numbers, as `feature_groups` makes them of a transformer; a list of lists, or a dict of
        lists, of the names of the columns of X, of patterns such as ``"region_*"``, or of
        indices; a list of sizes, or one size, of consecutive groups; a callable that `fit`
        calls with the array of the names, and that returns one of these. None is a group for
        each feature, the lasso, with a warning. Lists may overlap: the coefficients are then
        sums of one vector for each group, the latent group lasso, and data has a copy of a
        feature for each group that it is in. Every feature must be in a group; `fit` raises a
        ValueError otherwise.
    group_weights : array-like of shape (n_groups,) or dict, default=None
        Weight of each group, at least 0; the square root of its size by default. Groups with a
        weight of 0 are not penalised. Groups by labels are in the order in which these first
        appear. A dict holds weights by the labels or names of groups, of those that do not
        have the default.
    loss : str or MarginLoss, default="hinge"
        The loss: "hinge", "squared_hinge", "smoothed_hinge", "generalized_hinge",
        "modified_huber", "logistic", an object of `skpd.losses` such as ``SmoothedHinge(mu=0.1)``,
        or one of a class of your own (`skpd.losses.MarginLoss` describes how).
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
    latent_coef_ : ndarray of shape (n_copies,), or with a row for each row of ``coef_``
        Only with groups that overlap: the coefficients of every group, one group after the
        other, whose sums are ``coef_``; ``certificate_.coefficient_bounds`` is of these.
    groups_ : ndarray of str, of shape (n_features,)
        Only with ``groups="auto"``: the names of the columns that each feature comes from.
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
    UserWarning
        If ``groups`` is None.

    See Also
    --------
    GroupLassoPD : Regression with groups of features.
    LogisticPD : Logistic regression, also with groups of features.
    PdproxSVC : Classifier with any penalty.

    References
    ----------
    Yang, Mahdavi, Jin, Zhu: An efficient primal dual prox method for non-smooth
    optimization. Machine Learning 98, 2015, section 5.1.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skpd import GroupLassoSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> groups = [[j, j + 10, j + 20] for j in range(10)]  # mean, error, worst
    >>> clf = GroupLassoSVC(alpha=0.03, groups=groups).fit(X, y)
    >>> sum(bool(clf.coef_[0, group].any()) for group in groups)
    6
    """

    alpha: float = 1e-3
    _: KW_ONLY
    groups: Groups = None
    group_weights: ArrayLike | None = None


@declared
class GroupLassoPD(SolverParameters, WithGroups, WithResidualLoss):
    """Linear regression with a group lasso penalty, fitted with a certificate.

    Minimises the weighted mean of the loss plus ``alpha`` times
    ``sum_g weight_g ||w_g||_2``, which selects whole groups of features. The squared loss carries
    the factor 1/2, as in `Lasso`.

    Parameters
    ----------
    alpha : float, default=1.0
        Weight of the penalty (the papers' lambda), greater than 0. As in `Lasso` it
        multiplies the penalty beside the *mean* loss.
    groups : "auto", int, array-like of shape (n_features,), list, dict or callable, default=None
        The partition of the features. "auto": the features that come from the same column, for
        an X that `track_columns` has transformed. A label for each feature, strings or whole
        numbers, as `feature_groups` makes them of a transformer; a list of lists, or a dict of
        lists, of the names of the columns of X, of patterns such as ``"region_*"``, or of
        indices; a list of sizes, or one size, of consecutive groups; a callable that `fit`
        calls with the array of the names, and that returns one of these. None is a group for
        each feature, the lasso, with a warning. Lists may overlap: the coefficients are then
        sums of one vector for each group, the latent group lasso, and data has a copy of a
        feature for each group that it is in. Every feature must be in a group; `fit` raises a
        ValueError otherwise.
    group_weights : array-like of shape (n_groups,) or dict, default=None
        Weight of each group, at least 0; the square root of its size by default. Groups with a
        weight of 0 are not penalised. Groups by labels are in the order in which these first
        appear. A dict holds weights by the labels or names of groups, of those that do not
        have the default.
    positive : bool, default=False
        Whether the coefficients must not be negative. Such models are fitted without working
        sets of groups, and take longer for many features.
    loss : str or ResidualLoss, default="squared"
        The loss: "absolute", "epsilon_insensitive", "squared_epsilon_insensitive", "huber",
        "pinball", "squared", an object of `skpd.losses`, or one of a class of your own
        (`skpd.losses.ResidualLoss` describes how). "squared" carries the factor 1/2, as in
        `Lasso`.
    quantile : float, default=None
        The quantile of the loss "pinball", in (0, 1); 0.5 by default.
    epsilon : float, default=None
        Half the width of the tube of "epsilon_insensitive" and "squared_epsilon_insensitive",
        at least 0, in the unit of y; 0.1 by default.
    delta : float, default=None
        The residual beyond which the loss "huber" is linear, greater than 0, in the unit of y;
        1.35 by default.
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
    latent_coef_ : ndarray of shape (n_copies,), or with a row for each row of ``coef_``
        Only with groups that overlap: the coefficients of every group, one group after the
        other, whose sums are ``coef_``; ``certificate_.coefficient_bounds`` is of these.
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
    UserWarning
        If ``groups`` is None.

    See Also
    --------
    GroupLassoSVC : Classifier with groups of features.
    PdproxRegressor : Regression with any penalty.

    References
    ----------
    Yang, Mahdavi, Jin, Zhu: An efficient primal dual prox method for non-smooth
    optimization. Machine Learning 98, 2015.

    Yuan, Lin: Model selection and estimation in regression with grouped variables. JRSS B 68,
    2006.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skpd import GroupLassoPD
    >>> X, y = load_diabetes(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> groups = {"person": [0, 1], "body": [2, 3], "blood": [4, 5, 6, 7, 8, 9]}
    >>> model = GroupLassoPD(alpha=9.0, groups=groups).fit(X, y)
    >>> {name: bool(model.coef_[members].any()) for name, members in groups.items()}
    {'person': False, 'body': True, 'blood': True}
    """

    alpha: float = 1.0
    _: KW_ONLY
    groups: Groups = None
    group_weights: ArrayLike | None = None
    positive: bool = False
