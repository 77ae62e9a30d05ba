"""Logistic regression of two classes or more."""

from dataclasses import KW_ONLY
from typing import ClassVar, Literal

import numpy as np
from scipy.special import log_softmax
from sklearn.utils.validation import check_is_fitted

from .._typing import Array, ClassWeight, MatrixLike, PerRow
from ..formulation.formulate import formulate_classes
from ..losses import Logistic, Softmax
from ..penalties import Penalty
from .classifier import PrimalDualClassifier
from .names import PENALTIES
from .parameters import AnyPenaltyParameters, declared

NAMES = {name: PENALTIES[name] for name in ("elasticnet", "group", "l1", "l2", "sparse_group")}


@declared
class LogisticPD(AnyPenaltyParameters, PrimalDualClassifier):
    """Logistic regression of two classes or more, fitted with a certificate.

    Minimises the weighted mean of the negative log likelihood of the classes plus ``alpha`` times
    the penalty. Two classes have one vector of coefficients; more classes have a vector each and
    the softmax of their scores. With ``penalty="l2"`` this is the objective of
    `LogisticRegression` divided by C times the sum of the weights, for its C of
    ``1 / (alpha * n_samples)``.

    Parameters
    ----------
    alpha : float, default=1e-3
        Weight of the penalty, at least 0; with 0, for two classes, no feature is penalised.
    penalty : {"l2", "l1", "elasticnet", "group", "sparse_group"} or Penalty, default="l2"
        Half the squared l2 norm of the coefficients, their l1 norm, both, the group lasso, whose
        groups hold the coefficients of their features for all classes, or the l1 norm and the
        group lasso. An object of `skpd.penalties` is, for more than two classes, one of the
        coefficients of all classes for the first feature, then for the next.
    l1_ratio : float, default=None
        Share of the l1 norm for "elasticnet" and "sparse_group", in [0, 1]; 0.5 by default.
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
    random_state : int, RandomState instance or None, default=None
        The random numbers that a solver draws: for the order of rows or coordinates, and for
        the start vectors of norms and of singular vectors.
    verbose : int, default=0
        1 prints a line whenever the iterations have doubled or the gap has halved, and the
        last certificate; 2 prints a line for every certificate.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients, in the precision of X; for two classes those of the score of
        ``classes_[1]``.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts; 0 without ``fit_intercept``.
    dual_coef_ : ndarray of shape (1, n_samples) or (n_samples, n_classes)
        Dual solution theta: up to the tolerance, the derivative of each sample's loss with respect
        to its scores.
    constraint_multipliers_ : ndarray of shape (n_constraints,) or (n_classes, n_constraints)
        Only with ``constraints``: their multipliers, at least 0 at ``ub`` and at most 0 at
        ``lb``, followed by those of bounds that exclude 0. Raising a bound by a small t lowers the
        optimal objective by t times this.
    groups_ : ndarray of str, of shape (n_features,)
        Only with ``groups="auto"``: the names of the columns that each feature comes from.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
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

    Raises
    ------
    ValueError
        In `fit`, if a class has no samples of positive weight, or if more than two classes are
        given in blocks.

    Warns
    -----
    ConvergenceWarning
        If the relative gap is still above ``tol`` after ``max_iter`` iterations.
    UserWarning
        If all coefficients are 0; the message says why, and what to try.

    See Also
    --------
    MultinomialPD : Classifier with more penalties of the matrix of coefficients.
    PdproxSVC : Classifier with any margin loss and any penalty, one-vs-rest.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skpd import LogisticPD
    >>> X, y = load_wine(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), LogisticPD(alpha=0.01)).fit(X, y)
    >>> model.predict_proba(X[60:61]).round(2)
    array([[0.01, 0.96, 0.04]])
    >>> print(f"{model[-1].certificate_.primal:.3f}, none below {model[-1].certificate_.dual:.3f}")
    0.092, none below 0.092
    """

    _named_penalties: ClassVar[dict] = NAMES
    _takes_blocks: ClassVar[bool] = True

    alpha: float = 1e-3
    _: KW_ONLY
    penalty: Literal["elasticnet", "group", "l1", "l2", "sparse_group"] | Penalty = "l2"
    class_weight: ClassWeight = None

    def _get_loss(self) -> Logistic:
        """The loss of two classes; more classes have the softmax."""
        return Logistic()

    def _problems_of_classes(self, X, labels, weights, classes, offsets):
        K = len(classes)
        if K == 2:
            return super()._problems_of_classes(X, labels, weights, classes, offsets)
        if offsets[0] is not None:
            raise ValueError(
                "LogisticPD takes an offset for two classes only: fit "
                "PdproxSVC(loss='logistic'), one class against the others."
            )
        penalty = self._unweighted_penalty()
        # groups, weights and bounds of a feature are those of its coefficient for each class
        if self.penalty in ("group", "sparse_group"):
            labels_of_groups = penalty.for_n_features(X.shape[1]).labels
            penalty = penalty.with_params(groups=np.repeat(labels_of_groups, K))
        specification = self._specification(self._by_feature(penalty, n_outputs=K))
        return [formulate_classes(specification, X, labels, weights, classes, Softmax(K))]

    def _problems_of_blocks(self, X, y, classes, sample_weight, offsets):
        if len(classes) > 2:
            raise ValueError(
                f"LogisticPD needs X in memory for more than two classes, got {len(classes)} in "
                "blocks: fit PdproxSVC(loss='logistic'), one class against the others."
            )
        return super()._problems_of_blocks(X, y, classes, sample_weight, offsets)

    def _log_probabilities(self, X: MatrixLike, offset: PerRow = None) -> Array:
        check_is_fitted(self)
        if len(self.classes_) == 2:
            return super()._log_probabilities(X, offset)
        return log_softmax(self.decision_function(X), axis=1)
