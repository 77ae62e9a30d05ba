"""The base class of classifiers, binary and one-vs-rest."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from scipy.special import log_softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from .._compat import StrOptions, _check_sample_weight, _fit_context, with_callbacks
from .._typing import Array, ArrayLike
from ..designs import Design, RowBlocks
from ..problems import Point, Solution
from ..problems.shards.shard import Shard, Targets
from ..problems.shards.shards import LocalShards
from .base import _DATA, PrimalDualEstimator
from .docstrings import documented
from .fits import fit_problems
from .predictions import linear_predictions
from .probabilities import ProbabilisticClassifier
from .validation import checked_weights, validated

__all__ = ["PrimalDualClassifier", "checked_classes", "weights_of_classes"]


class PrimalDualClassifier(ProbabilisticClassifier, ClassifierMixin, PrimalDualEstimator):
    """Base class of classifiers, one-vs-rest for more than two classes."""

    _parameter_constraints: ClassVar[dict] = {
        **PrimalDualEstimator._parameter_constraints,
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "n_jobs": [Integral, None],
    }

    @documented
    @_fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the classifier and certify it.

        {X_of_fit}
        y : array-like of shape (n_samples,)
            Class labels; at least two classes need samples of positive weight.
        {sample_weight_of_fit}

        {results_of_fit}
        """
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        X, y, problems, classes = self._problems(X, y, sample_weight)
        task = {"estimator": self, "X": X, "y": y, "metadata": metadata}
        names = [f"class {label}" for label in classes]
        starts = self._starts(problems, X)
        fit_problems(self, problems, task, classes, starts, names, self.n_jobs)
        return self

    def _starts(self, problems, X):
        """The point at which a warm start of each problem begins, or None."""
        return [self._start(k, X.shape, len(problems)) for k in range(len(problems))]

    def _model(self, points: Sequence[Point | Solution], y: Any, classes: Any) -> dict[str, Any]:
        return {
            "classes_": classes,
            "coef_": np.vstack([point.coef for point in points]),
            "intercept_": np.array([point.intercept for point in points]),
        }

    def _problems(self, X, y, sample_weight):
        """The validated data, a problem for each output and the classes."""
        X, y, unchecked = self._validated(X, y)
        classes = checked_classes(y)
        if isinstance(X, RowBlocks):
            return X, y, self._problems_of_blocks(X, y, classes, sample_weight), classes
        labels, weights = self._labels_and_weights(X, y, classes, sample_weight)
        problems = self._problems_of_classes(X, labels, weights, classes)
        if unchecked:
            self._require_finite(problems[0], X)
        return X, y, problems, classes

    def _problems_of_classes(self, X, labels, weights, classes):
        """One problem for two classes, else one against the others for each."""
        positives = range(len(classes)) if len(classes) > 2 else [1]
        design = Design(X, n_parallel=min(effective_n_jobs(self.n_jobs), len(positives)))
        return [
            self._problem(design, np.where(labels == k, 1.0, -1.0), weights) for k in positives
        ]

    def _labels_and_weights(self, X, y, classes, sample_weight):
        """The index of each sample's class, and its weight times that of the class."""
        sample_weight = checked_weights(sample_weight, X)
        labels = np.searchsorted(classes, y)
        weights = sample_weight * weights_of_classes(self, classes, y, sample_weight)[labels]
        self._require_two(np.count_nonzero(np.bincount(labels, weights > 0)), classes)
        return labels, weights

    def _problems_of_blocks(self, X, y, classes, sample_weight):
        """A problem for each output, of rows in blocks."""
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        class_weight = None
        if self.class_weight is not None:
            class_weight = classes, weights_of_classes(self, classes, y, sample_weight)
        positives = range(len(classes)) if len(classes) > 2 else [len(classes) - 1]
        n_parallel, loss = min(effective_n_jobs(self.n_jobs), len(positives)), self._get_loss()
        problems = []
        for k in positives:
            targets = Targets(y, sample_weight, classes[k], class_weight)
            shards = LocalShards(Shard(X, targets, loss, n_parallel=n_parallel))
            problems.append(self._problem_of_shards(shards, loss))
        return self._of_two(problems, classes)

    def _of_two(self, problems, classes):
        """The problems, after a check that at least two classes have a positive weight."""
        weights = [problem.rows.targets.above for problem in problems]
        if len(problems) == 1:
            weights.append(problems[0].rows.targets.below)
        self._require_two(np.count_nonzero(weights), classes)
        return problems

    def _require_two(self, n_present, classes):
        if n_present < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes whose sample_weight "
                f"and class_weight are positive, got {n_present} of the {len(classes)} "
                f"class(es) in y."
            )

    @documented
    def decision_function(self, X: Any) -> Array:
        """Signed distances to the hyperplanes, up to the norm of the coefficients.

        {scores_of_rows}
        """
        check_is_fitted(self)
        X = validated(self, X, reset=False, **_DATA)
        scores = linear_predictions(X, self.coef_, self.intercept_)
        return scores.ravel() if scores.shape[1] == 1 else scores

    @documented
    def predict(self, X: Any) -> np.ndarray:
        """Predict class labels.

        {labels_of_rows}
        """
        scores = self.decision_function(X)
        chosen = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[chosen]

    def _gives_probabilities(self) -> bool:
        return self._get_loss().is_log_likelihood

    def _log_probabilities(self, X: Any) -> Array:
        scores, loss = self.decision_function(X), self._get_loss()
        ones, z = np.ones(scores.size), np.ravel(scores)
        if scores.ndim == 1:
            return np.column_stack([-loss.value(label * ones, z) for label in (-1.0, 1.0)])
        log_probabilities: Array = log_softmax(-loss.value(ones, z).reshape(scores.shape), axis=1)
        return log_probabilities


def checked_classes(y):
    """The sorted classes of the targets, after a check that these are class labels."""
    if y.dtype.kind in "biuf":
        ends = np.array([np.min(y), np.max(y)])
        if ends[0] < ends[1] and np.all(ends == np.trunc(ends)) and np.isin(y, ends).all():
            return ends
    check_classification_targets(y)
    return np.unique(y)


def weights_of_classes(estimator, classes, y, sample_weight):
    """The weight of each class; 1 for a class without samples of positive weight."""
    if estimator.class_weight is None:
        return np.ones(len(classes))
    with np.errstate(divide="ignore", invalid="ignore"):
        class_weight = compute_class_weight(
            estimator.class_weight, classes=classes, y=y, sample_weight=sample_weight
        )
    if estimator.class_weight == "balanced":
        class_weight = np.where(np.isfinite(class_weight), class_weight, 1.0)
    if not (np.isfinite(class_weight).all() and (class_weight >= 0).all()):
        raise ValueError(
            "The 'class_weight' parameter must hold finite weights of at least 0, got "
            f"{estimator.class_weight!r}."
        )
    return class_weight
