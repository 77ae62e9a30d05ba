"""Support vector machines with any convex penalty."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import StrOptions

from .._typing import Array, ArrayLike
from ..certificates import certify_point
from ..losses import Loss, MarginLoss
from ..penalties import GroupL2, Penalty
from ..problems import Point, Problem, Solution
from ..problems.shards.problem import ShardedProblem
from ..problems.shards.shards import Shards
from .budget import WithNoiseBudget
from .classifier import PrimalDualClassifier
from .constraints import LinearlyConstrained
from .groups import weights_of_groups
from .names import MARGIN_LOSSES, PENALTIES, chosen
from .overlapping import Copies, copies_of
from .parameters import BY_FEATURE, OF_NAMES, penalty_by_feature

__all__ = ["GroupLassoSVC", "PdproxSVC"]


class _MarginClassifier(PrimalDualClassifier):
    _takes_blocks: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict] = {
        **PrimalDualClassifier._parameter_constraints,
        "loss": [StrOptions(set(MARGIN_LOSSES)), MarginLoss],
    }

    def _get_loss(self) -> MarginLoss:
        loss: MarginLoss = chosen("loss", self.loss, MARGIN_LOSSES)
        return loss


class PdproxSVC(WithNoiseBudget, LinearlyConstrained, _MarginClassifier):
    """Linear classifier with any margin loss and any penalty, fitted with a certificate.

    Minimises the weighted mean of the loss plus ``alpha`` times the penalty. More than
    two classes are handled one-vs-rest.

    Parameters
    ----------
    alpha : float, default=1e-3
        Weight of the penalty (the papers' lambda), greater than 0. As in
        `SGDClassifier` it multiplies the penalty beside the *mean* loss.
    penalty : str or Penalty, default="l1"
        The penalty on the coefficients; an object of `skpd.penalties` or a name: "l1", "l2" (half
        the squared Euclidean norm, as in scikit-learn), "elasticnet", "group" (group lasso),
        "sparse_group", "l2_norm" (the norm itself), "linf", "total_variation", "fused_lasso",
        "nonnegative_l1", "l1inf", "exclusive", "squared_groups", or the constraints "box",
        "l1_ball" and "elastic_net_ball" with their defaults.
    l1_ratio : float, default=None
        Share of the l1 norm for the names "elasticnet" (0.5 by default), "sparse_group",
        "fused_lasso" and "elastic_net_ball".
    groups : "auto", int, array-like, list or dict, default=None
        The partition of the features for the names of groups, as for `GroupLassoSVC`.
    penalty_weights : array-like of shape (n_features,), default=None
        A weight of at least 0 for each feature, by which its part of the penalty is multiplied:
        for a penalty of single coefficients. Features with a weight of 0 are not penalised.
    bounds : pair (lower, upper) or scipy.optimize.Bounds, default=None
        Bounds of the coefficients, with lower <= 0 <= upper: numbers or arrays of shape
        (n_features,), -inf and inf for none. For a penalty of single coefficients.
    constraints : scipy.optimize.LinearConstraint or list of them, default=None
        Linear constraints ``lb <= A @ coef <= ub`` on the coefficients of each class,
        for A of shape (n_constraints, n_features), an array or sparse: monotone effects, a sum
        that is given, effects of groups that must not differ. They hold up to the rounding errors
        of ``A @ coef``. With them ``solver`` must be "auto", there may be a few thousand
        constraints, and a few thousand samples or features; features that have a part in one
        must be penalised.
    noise_budget : float, default=None
        For labels of which some are wrong: the hinge losses' multipliers, one of at most 1 for
        each sample, sum to at most this (the m of Yang et al., (19), in samples, or in their
        weight). Only the worst so many samples then count. With a small budget the optimum is
        often the model 0: the user guide says when, and what that means. It needs
        ``loss="hinge"`` and a penalty of single coefficients, "l2_norm" or "group".
    loss : {"hinge", "squared_hinge", "smoothed_hinge", "generalized_hinge", \
            "modified_huber", "logistic"} or MarginLoss, default="hinge"
        The loss; a name or an object of `skpd.losses`, or of a class of your own
        (`skpd.losses.MarginLoss` says how).
    solver : {"auto", "pdprox-dual", "pdprox-primal"}, default="auto"
        "auto" is the fastest method known for the problem, see
        `skpd.solvers.select.auto`. The others are Algorithms 1 and
        3 and Algorithm 2 of Yang et al. (2015), with their step sizes.
    solver_options : dict, default=None
        Options of a named solver. "pdprox-dual": ``algorithm`` (1 or 3); both:
        ``implementation`` ("double-primal", "double-dual"), ``average`` (bool),
        ``step_scale`` and ``step_ratio`` (float); see `skpd.solvers.proximal.pdprox`.
    tol : float, default=1e-4
        Stop when the certified relative gap is at most this: the objective is then at
        most ``tol`` times that of the best constant prediction above the optimum.
    max_iter : int, default=50_000
        Iterations at most: about one product with X and one with its transpose each for
        the published methods; Newton steps, or passes over the rows, for "auto".
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.
    class_weight : dict or "balanced", default=None
        Weights of the classes, which multiply ``sample_weight``.
    warm_start : bool, default=False
        Start from the last fit's primal and dual solution where the shapes agree.
    n_jobs : int, default=None
        Threads over the classes of a one-vs-rest fit.
    random_state : int, RandomState instance or None, default=None
        The order of rows in dual coordinate descent ("auto"), and the start vector of the
        spectral norm estimate of the named solvers.
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
    constraint_multipliers_ : ndarray of shape (n_classes, n_constraints)
        Only with ``constraints``: their multipliers, at least 0 at ``ub`` and at most 0 at
        ``lb``. Raising a bound by a small t lowers the optimal objective by t times this.
    groups_ : ndarray of str, of shape (n_features,)
        Only with ``groups="auto"``: the names of the columns that each feature comes from.
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
        The method that finished: a name of ``solver``, or with "auto" one of "dual-descent",
        "multipliers", "interior-point", "interior-point-faces", "hybrid-gradient", or
        "null-model" where the best constant prediction is good enough (`skpd.solvers.select`).
    converged_ : bool
        Whether the relative gap reached ``tol``.
    n_iter_ : int
        Iterations; the most of any class.
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
    GroupLassoSVC : The same with a group lasso penalty.
    PdproxRegressor : Robust and quantile regression.

    Notes
    -----
    Callbacks (``set_callbacks``) see a task for every decibel of the relative gap, so
    that a `ProgressBar` moves with its logarithm towards ``tol``. A `ScoringMonitor`
    scores the model of the moment; in one-vs-rest, where the other classes are not
    there yet, only the model at the end.

    References
    ----------
    Yang, Mahdavi, Jin, Zhu: An efficient primal dual prox method for non-smooth
    optimization. Machine Learning 98, 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skpd import PdproxSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> clf = PdproxSVC(alpha=0.01).fit(X, y)
    >>> print(f"{clf.score(X, y):.2f}")
    0.98
    >>> clf.certificate_.relative_gap <= clf.tol
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **WithNoiseBudget._parameter_constraints,
        **LinearlyConstrained._parameter_constraints,
        **_MarginClassifier._parameter_constraints,
        "penalty": _MarginClassifier._penalty_constraint,
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
        noise_budget: float | None = None,
        loss: str | MarginLoss = "hinge",
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
        self.penalty = penalty
        self.l1_ratio = l1_ratio
        self.groups = groups
        self.penalty_weights = penalty_weights
        self.bounds = bounds
        self.constraints = constraints
        self.noise_budget = noise_budget
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

    def _get_penalty(self) -> Penalty:
        given = {"l1_ratio": self.l1_ratio, "groups": self._places_of(self.groups)}
        penalty = chosen("penalty", self.penalty, PENALTIES, **given)
        return penalty_by_feature(penalty, self.penalty_weights, self.bounds)


class GroupLassoSVC(_MarginClassifier):
    """Linear classifier with a group lasso penalty, fitted with a certificate.

    Minimises the weighted mean of the loss plus ``alpha`` times
    ``sum_g weight_g ||w_g||_2``, which selects whole groups of features.

    Parameters
    ----------
    alpha : float, default=1e-3
        Weight of the penalty (the papers' lambda), greater than 0.
    groups : "auto", int, array-like of shape (n_features,), list or dict, default=None
        The partition of the features. "auto": the features that come from the same column, for
        an X that `sourced` has transformed. A label for each feature, strings or whole numbers,
        as `groups_from` makes them of a transformer; a list of lists, or a dict of lists, of the
        names of the columns of X, or of their indices; a list of sizes, or one size, of
        consecutive groups. None is a group for each feature, the lasso, with a warning.
        Lists may overlap: the coefficients are then sums of one vector for each group, the
        latent group lasso, and data has a copy of a feature for each group that it is in.
    group_weights : array-like of shape (n_groups,) or dict, default=None
        Weight of each group, at least 0; the square root of its size by default. Groups with a
        weight of 0 are not penalised. Groups by labels are in the order in which these first
        appear. A dict holds weights by the labels or names of groups, of those that do not have
        the default.
    loss : {"hinge", "squared_hinge", "smoothed_hinge", "generalized_hinge", \
            "modified_huber", "logistic"} or MarginLoss, default="hinge"
        The loss; a name or an object of `skpd.losses`.
    solver : {"auto", "pdprox-dual", "pdprox-primal"}, default="auto"
        As for `PdproxSVC`.
    solver_options : dict, default=None
        Options of a named solver, as for `PdproxSVC`.
    tol : float, default=1e-4
        Stop when the certified relative gap is at most this: the objective is then at
        most ``tol`` times that of the best constant prediction above the optimum.
    max_iter : int, default=50_000
        Iterations at most, as for `PdproxSVC`.
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
    latent_coef_ : ndarray of shape (1, n_copies) or (n_classes, n_copies)
        Only with groups that overlap: the coefficients of every group, one group after the other,
        whose sums are ``coef_``; ``certificate_.coefficient_bounds`` is of these.
    groups_ : ndarray of str, of shape (n_features,)
        Only with ``groups="auto"``: the names of the columns that each feature comes from.
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
        The method that finished: a name of ``solver``, or with "auto" one of "dual-descent",
        "multipliers", "interior-point", "interior-point-faces", "hybrid-gradient", or
        "null-model" where the best constant prediction is good enough (`skpd.solvers.select`).
    converged_ : bool
        Whether the relative gap reached ``tol``.
    n_iter_ : int
        Iterations; the most of any class.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had string names.

    Raises
    ------
    ValueError
        In `fit`, if the groups do not cover the features.

    Warns
    -----
    UserWarning
        If ``groups`` is None.

    See Also
    --------
    PdproxSVC : The same with any penalty.

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

    _parameter_constraints: ClassVar[dict] = {
        **_MarginClassifier._parameter_constraints,
        "groups": OF_NAMES["groups"],
        "group_weights": ["array-like", dict, None],
    }

    def __init__(
        self,
        alpha: float = 1e-3,
        *,
        groups: Any = None,
        group_weights: ArrayLike | None = None,
        loss: str | MarginLoss = "hinge",
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
        self.groups = groups
        self.group_weights = group_weights
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

    @property
    def _groups(self) -> Any:
        return 1 if self.groups is None else self._places_of(self.groups)

    def _copies(self) -> Copies | None:
        """Of the features that are in several groups, once the features are known."""
        n_features = getattr(self, "n_features_in_", None)
        return None if n_features is None else copies_of(self._groups, n_features)

    def _get_penalty(self) -> Penalty:
        copies = self._copies()
        groups = self._groups if copies is None else copies.groups
        named = self.groups if isinstance(self.groups, dict) else groups
        weights = weights_of_groups(self.group_weights, named, self._columns_of_groups)
        return GroupL2(groups, weights)

    def _problem(self, design: Any, y: Array, sample_weight: Array) -> Problem:
        copies = self._copies()
        if copies is not None:
            design = design.columns(copies.features)
        found: Problem = super()._problem(design, y, sample_weight)
        return found

    def _problem_of_shards(self, shards: Shards, loss: Loss) -> ShardedProblem:
        if self._copies() is not None:
            raise ValueError("groups that overlap need X in memory, got RowBlocks.")
        return super()._problem_of_shards(shards, loss)

    def _solve(self, problem, *, start, random_state, on_check=None):
        """Certified for coefficients of copies whose sums, which predict, are exact."""
        options = {"start": start, "random_state": random_state, "on_check": on_check}
        solution, copies = super()._solve(problem, **options), self._copies()
        if copies is None:
            return solution
        coef = copies.summable(solution.coef)
        point = np.float64(coef), np.float64(solution.intercept), solution.dual_coef
        certificate, theta = certify_point(problem, *point)
        converged = certificate.relative_gap <= self.tol
        return replace(
            solution, coef=coef, dual_coef=theta, certificate=certificate, converged=converged
        )

    def _model(self, points: Sequence[Point | Solution], y: Any, classes: Any) -> dict[str, Any]:
        model, copies = super()._model(points, y, classes), self._copies()
        if copies is not None:
            latent = model["coef_"]
            model |= {"latent_coef_": latent, "coef_": np.stack(list(map(copies.sums, latent)))}
        return model

    def _start(self, k: int, shape: tuple[int, ...], n_outputs: int) -> Point | None:
        start, copies = super()._start(k, shape, n_outputs), self._copies()
        if start is None or copies is None:
            return start
        return replace(start, coef=copies.shares(start.coef))

    def _problems(self, X, y, sample_weight):
        if self.groups is None:
            warnings.warn(
                "GroupLassoSVC has groups=None: each feature is a group of its own, which makes "
                "it the lasso. Pass groups, or groups=1 for this model.",
                UserWarning,
                stacklevel=5,  # the caller of fit, past its two decorators
            )
        return super()._problems(X, y, sample_weight)
