"""Classifiers of ordered classes (`OrdinalPD`)."""

from collections.abc import Sequence
from copy import copy
from dataclasses import KW_ONLY, field
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_array

from ..._checks import shown
from ..._compat import StrOptions, available_if
from ..._typing import Array, ArrayLike, Attributes, ClassWeight, MatrixLike, PerRow
from ..._warn import warn
from ...designs import Design
from ...estimators.base import _DATA, PrimalDualEstimator
from ...estimators.classifier import checked_classes, weights_of_classes
from ...estimators.names import PenaltyName
from ...estimators.parameters import ScoreParameters, declared
from ...estimators.predictions import ScoredPredictions
from ...formulation.formulate import FormulatedProblems, shares_of
from ...formulation.offsets import offset_columns
from ...formulation.validation import checked_weights, validated
from ...losses import Hinge, Logistic, MarginLoss
from ...penalties import Penalty
from ...problems import Point, Problem, Solution
from ...solvers.structured.master import require_master
from .losses import OrdinalLoss
from .problem import ordered_problem
from .rows import OrderedRows

LOSSES: dict[str, MarginLoss] = {"logistic": Logistic(), "hinge": Hinge()}


def _is_logistic(estimator: BaseEstimator) -> bool:
    if estimator.loss == "logistic":
        return True
    raise AttributeError("OrdinalPD predicts probabilities with loss='logistic' only.")


@declared
class OrdinalPD(ScoreParameters, ScoredPredictions, ClassifierMixin, PrimalDualEstimator):
    """Classifier of ordered classes, by one score and a threshold between any two neighbours.

    Minimises, over the coefficients and the thresholds t, the weighted mean over the samples of
    the sum over the thresholds of a margin loss of x.w - t, for classes above the threshold, and
    of t - x.w for the others, plus ``alpha`` times the penalty. The thresholds are in order.

    Parameters
    ----------
    alpha : float, default=1e-3
        Weight of the penalty beside the *mean* loss, at least 0; with 0 no feature is penalised.
    classes : array-like of shape (n_classes,), default=None
        The classes in increasing order. By default that of an ordered categorical of pandas or of
        an Enum of polars, or else of numbers or of the alphabet. With words y may also hold their
        places in the order of the alphabet, as `sklearn.model_selection.cross_val_predict` passes
        them for probabilities.
    loss : {"logistic", "hinge"}, default="logistic"
        The margin loss. "logistic" gives probabilities.
    decision : {"median", "mode"} or array-like of shape (n_classes, n_classes), \
            default="median"
        The class that `predict` gives; the fit is the same for all. "median" is the class between
        whose thresholds the score lies: for the logistic loss the median of the probabilities.
        "mode" is the most probable class. A matrix has the cost of predicting each class, by
        columns, for a sample of each class, by rows, in the order of ``order_``: the class with
        the least expected cost is predicted. All but "median" need ``loss="logistic"``.
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
    tol : float, default=1e-4
        Stop when the certified relative gap is at most this: the model then leaves at most the
        share ``tol`` of what any model could improve on the best constant prediction. Where
        the objective is small, a fit also goes on until the gap is at most 100 ``tol`` of it.
    max_iter : int, default=50_000
        Maximum number of iterations.
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
    classes_ : ndarray of shape (n_classes,)
        The classes of y as NumPy sorts them, in the order of the columns of probabilities and
        decision values, which scikit-learn's scorers expect.
    order_ : ndarray of shape (n_classes,)
        The classes of y in increasing order.
    coef_ : ndarray of shape (n_features,)
        Coefficients.
    thresholds_ : ndarray of shape (n_classes - 1,)
        Thresholds, none of which is smaller than the one before.
    intercept_ : float
        0, as the thresholds have its place.
    dual_coef_ : ndarray of shape (n_samples,)
        Dual solution: up to the tolerance, the derivative of the mean loss with respect to the
        score of each sample, times the number of samples.
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
    LogisticPD : Logistic regression of classes without an order.
    MultinomialPD : Several classes with one joint loss.

    References
    ----------
    Rennie, Srebro: Loss functions for preference levels: Regression with discrete ordered labels.
    IJCAI Multidisciplinary Workshop on Advances in Preference Handling, 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd import OrdinalPD
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3))
    >>> y = np.digitize(2.0 * X[:, 0] + rng.logistic(size=500), [-1.0, 1.0])
    >>> model = OrdinalPD(alpha=0.01, penalty="l1").fit(X, y)
    >>> model.coef_.round(1), model.thresholds_.round(1)
    (array([1.9, 0. , 0.1]), array([-0.7,  1.3]))

    Where it costs more to take the lowest class for the highest, this is predicted less often:

    >>> costs = [[0, 1, 20], [1, 0, 1], [2, 1, 0]]
    >>> cautious = OrdinalPD(alpha=0.01, penalty="l1", decision=costs).fit(X, y)
    >>> [int(np.sum(y[each.predict(X) == 2] == 0)) for each in (model, cautious)]
    [5, 0]
    """

    classes_: np.ndarray = field(init=False)
    order_: np.ndarray = field(init=False)
    thresholds_: Array = field(init=False)

    fit_intercept = False
    _own_constraints: ClassVar[dict] = {
        "classes": ["array-like", None],
        "decision": [StrOptions({"median", "mode"}), "array-like"],
    }

    alpha: float = 1e-3
    _: KW_ONLY
    classes: ArrayLike | None = None
    loss: Literal["logistic", "hinge"] = "logistic"
    decision: Literal["median", "mode"] | ArrayLike = "median"
    penalty: PenaltyName | Penalty = "l2"
    class_weight: ClassWeight = None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # classes of the checks have no order
        return tags

    def _problems(self, X, y, sample_weight, offset=None) -> FormulatedProblems:
        """The validated data, the one problem, and the classes."""
        self._read_sources(X)
        kind: Any = getattr(y, "dtype", None)
        # data types of pandas are ordered, and those of polars are an Enum
        has_order = getattr(kind, "ordered", False) or type(kind).__name__ == "Enum"
        order = kind.categories if has_order else None
        X, y = validated(self, X, y, **_DATA)
        classes = self._in_order(checked_classes(y), order)
        weights = checked_weights(sample_weight, X)
        alphabet = np.argsort(classes)
        labels = alphabet[np.searchsorted(classes, y, sorter=alphabet)]
        weights = weights * weights_of_classes(self.class_weight, classes, y, weights)[labels]
        self._costs(len(classes))  # raises an error if they are not valid
        mass = np.bincount(labels, weights)
        if len(classes) < 2 or not np.all(mass > 0.0):
            raise ValueError(
                "OrdinalPD needs 2 classes or more, each with a sample of positive sample_weight "
                f"and class_weight, got {np.count_nonzero(mass)} of {len(classes)} classes."
            )
        (offsets,) = offset_columns(offset, len(labels), 1)
        shares_of(weights)  # raises an error if their sum is not finite
        loss = OrdinalLoss(labels, weights, offsets, LOSSES[self.loss])
        problem = ordered_problem(Design(X), loss, self._get_penalty(), self.alpha or 1.0)
        if loss.has_kinks:
            require_master(problem, "loss='logistic'")
        return FormulatedProblems(X, y, [problem], classes)

    def _fitted_problems(self, X, y, sample_weight, offset=None) -> list[Problem]:
        fitted = copy(self)
        fitted.classes = self.order_  # a part of the y of the fit may lack classes
        return super(OrdinalPD, fitted)._fitted_problems(X, y, sample_weight, offset)

    def _in_order(self, classes: np.ndarray, order: ArrayLike | None) -> np.ndarray:
        """The classes of y in increasing order, of which words have none of their own.

        Parameters
        ----------
        found : ndarray of shape (n_classes,)
            The classes as numpy sorts them.
        order : array-like or None
            An order that y comes with.
        """
        order = order if self.classes is None else self.classes
        if order is not None:
            known = np.asarray(order)
            if classes.dtype.kind in "iu" and known.dtype.kind in "OUST":  # codes of words
                known = np.unique(known, return_inverse=True)[1]
            if len(np.unique(known)) < known.size or not np.isin(classes, known).all():
                raise ValueError(
                    "The 'classes' parameter of OrdinalPD must hold every class of y, once and in "
                    f"order, got {np.ravel(order).tolist()} for the classes {classes.tolist()}."
                )
            return known[np.isin(known, classes)].astype(classes.dtype)
        if len(classes) > 2 and classes.dtype.kind not in "biuf":
            warn(
                "OrdinalPD takes the classes in the order of the alphabet: "
                f"{' < '.join(map(str, classes))}. What to do: pass them in increasing order as "
                "the parameter classes."
            )
        return classes

    def _model(self, points: Sequence[Point | Solution], fit: FormulatedProblems) -> Attributes:
        rows, coef = fit.problems[0].rows.as_kind(OrderedRows), points[0].coef
        thresholds = rows.loss.best_thresholds(rows.scores(np.asarray(coef, np.float64), 0.0))
        return {
            "classes_": np.sort(fit.labels), "order_": fit.labels, "coef_": coef,
            "intercept_": coef.dtype.type(0.0), "thresholds_": thresholds,
        }  # fmt: skip

    # Predictions

    def decision_function(self, X: MatrixLike, offset: PerRow = None) -> Array:
        """Scores of the classes, of which that of the predicted one is the largest.

        For the median they say how far x.w + offset is inside the interval of each class, for the
        mode they are probabilities, and for costs minus the expected ones.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        offset : float or array-like of shape (n_samples,), default=None
            Offsets of the rows, as in `fit`; 0 by default.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes positive where ``classes_[1]`` is predicted.
        """
        z, t, costs = self._scores(X, offset), self.thresholds_, self._costs(len(self.order_))
        if costs is not None:
            scores = -self._sorted(self._probabilities(z) @ costs)
            return scores[:, 1] - scores[:, 0] if len(t) == 1 else scores
        if len(t) == 1:
            return np.ravel(z - t) * (1.0 if self.order_[0] == self.classes_[0] else -1.0)
        above = np.hstack([np.full_like(z, np.inf), z - t])
        below = np.hstack([t - z, np.full_like(z, np.inf)])
        return self._sorted(np.minimum(above, below))

    def _sorted(self, columns: Array) -> Array:
        """Columns in the order of ``classes_``, given in that of ``order_``."""
        return columns[:, np.argsort(self.order_)]

    def predict(self, X: MatrixLike, offset: PerRow = None) -> np.ndarray:
        """Predict class labels, by the rule in the parameter ``decision``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        offset : float or array-like of shape (n_samples,), default=None
            Offsets of the rows, as in `fit`; 0 by default.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        scores, costs = self._scores(X, offset), self._costs(len(self.order_))
        if costs is not None:
            return self.order_[np.argmin(self._probabilities(scores) @ costs, axis=1)]
        return self.order_[np.searchsorted(self.thresholds_, scores[:, 0], side="left")]

    def _costs(self, n_classes: int) -> Array | None:
        """The cost of predicting a class, by columns, for each true one; None for the median."""
        rule, shape = self.decision, (n_classes, n_classes)
        if isinstance(rule, str) and rule == "median":
            return None
        if self.loss != "logistic":
            raise ValueError(f"decision must be 'median' for loss='hinge', got {shown(rule)}.")
        if np.ndim(rule) == 0:
            return -np.eye(n_classes)
        if np.shape(rule) != shape:
            raise ValueError(f"decision must be costs of shape {shape}, got {np.shape(rule)}.")
        return check_array(rule, input_name="decision")

    @available_if(_is_logistic)
    def predict_proba(self, X: MatrixLike, offset: PerRow = None) -> Array:
        """Predict probabilities of the classes.

        The probability of a class above a threshold is that of the logistic model of this
        threshold. The columns are in the order of ``classes_``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        offset : float or array-like of shape (n_samples,), default=None
            Offsets of the rows, as in `fit`; 0 by default.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            The classes are in the order of ``classes_``.
        """
        return self._sorted(self._probabilities(self._scores(X, offset)))

    def _probabilities(self, scores: Array) -> Array:
        """The probabilities of the classes in the order of ``order_``."""
        above = expit(scores - self.thresholds_)
        ends = np.ones((len(above), 1)), np.zeros((len(above), 1))
        return -np.diff(np.hstack([ends[0], above, ends[1]]), axis=1)
