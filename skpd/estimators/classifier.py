"""The base class of classifiers, binary and one-vs-rest."""

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
from joblib import effective_n_jobs
from scipy.special import log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from .._compat import available_if
from .._typing import Array, Attributes, MatrixLike, PerRow
from ..designs import RowBlocks
from ..formulation import formulate
from ..formulation.formulate import FormulatedProblems
from ..formulation.offsets import offset_columns
from ..formulation.overlapping import with_sums
from ..formulation.validation import checked_weights, given_weights, require_numbers
from ..losses import Loss
from ..losses.shifted import separate_offset, with_offset
from ..problems import Point, Solution
from ..problems.shards.shard import Shard, Targets
from ..problems.shards.shards import LocalShards
from .base import PrimalDualEstimator
from .predictions import ScoredPredictions


def _has_probabilities(estimator: BaseEstimator) -> bool:
    if estimator._gives_probabilities():
        return True
    raise AttributeError(
        f"{type(estimator).__name__} predicts no probabilities: its loss is not a negative log "
        "likelihood. Fit LogisticPD, take loss='logistic' (loss='softmax' for MultinomialPD), or "
        "wrap it in sklearn.calibration.CalibratedClassifierCV."
    )


class PrimalDualClassifier(ScoredPredictions, ClassifierMixin, PrimalDualEstimator):
    """Base class of classifiers, one-vs-rest for more than two classes."""

    classes_: np.ndarray

    @abstractmethod
    def _get_loss(self) -> Loss:
        """The Loss object of this model."""

    def _model(self, points: Sequence[Point | Solution], fit: FormulatedProblems) -> Attributes:
        pairs = zip(fit.problems, points, strict=True)
        coefs = np.vstack([problem.coef_table(point.coef) for problem, point in pairs])
        intercepts = np.hstack([point.intercept for point in points])
        coef = with_sums(coefs, self._copies())
        return {"classes_": fit.labels, "intercept_": intercepts, **coef}

    def _problems(self, X, y, sample_weight, offset=None) -> FormulatedProblems:
        """The validated data, the problems, and the classes."""
        X, y, unchecked = self._validated(X, y)
        classes = checked_classes(y)
        offsets = offset_columns(offset, len(y), len(formulate.positive_classes(classes)))
        if isinstance(X, RowBlocks):
            problems = self._problems_of_blocks(X, y, classes, sample_weight, offsets)
        else:
            sample_weight = checked_weights(sample_weight, X)
            labels = np.searchsorted(classes, y)
            by_class = weights_of_classes(self.class_weight, classes, y, sample_weight)
            weights = sample_weight * by_class[labels]
            n_present = int(np.count_nonzero(np.bincount(labels, weights > 0)))
            formulate.require_two_classes(type(self).__name__, n_present, classes)
            problems = self._problems_of_classes(X, labels, weights, classes, offsets)
            if unchecked:
                formulate.require_finite(type(self).__name__, problems[0], X)
        return formulate.problems_of_classes(X, y, problems, classes)

    def _problems_of_classes(self, X, labels, weights, classes, offsets):
        """The problems of one class against the others, or that of all classes."""
        loss = self._get_loss()
        pairs = zip(formulate.positive_classes(classes), offsets, strict=True)
        targets = [with_offset(loss, np.where(labels == k, 1.0, -1.0), each) for k, each in pairs]
        return self._problems_of(X, targets, weights)

    def _problems_of_blocks(self, X, y, classes, sample_weight, offsets):
        """A problem for each positive class, of rows in blocks."""
        sample_weight = given_weights(sample_weight, X)
        by_class = weights_of_classes(self.class_weight, classes, y, sample_weight)
        class_weight = None if self.class_weight is None else (classes, by_class)
        n_parallel = min(effective_n_jobs(self.n_jobs), len(formulate.positive_classes(classes)))

        _, _, loss = separate_offset(self._get_loss(), y, offsets[0])

        def shards_of(k, positive):
            targets = Targets(y, sample_weight, positive, class_weight, offset=offsets[k])
            return LocalShards(Shard(X, targets, loss, n_parallel=n_parallel))

        specification = self._specification()
        return formulate.formulate_shards_of_classes(specification, classes, loss, shards_of)

    def decision_function(self, X: MatrixLike, offset: PerRow = None) -> Array:
        """Signed distances to the hyperplanes, up to the norm of the coefficients.

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
        scores = self._scores(X, offset)
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X: MatrixLike, offset: PerRow = None) -> np.ndarray:
        """Predict class labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        offset : float or array-like of shape (n_samples,), default=None
            Offsets of the rows, as in `fit`; 0 by default.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        scores = self.decision_function(X, offset)
        chosen = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[chosen]

    @available_if(_has_probabilities)
    def predict_proba(self, X: MatrixLike, offset: PerRow = None) -> Array:
        """Predict probabilities of the classes, for the logistic loss or the softmax.

        For more than two classes handled one-vs-rest, the probabilities of the single classes are
        divided by their sum.

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
        return np.exp(self._log_probabilities(X, offset))

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: MatrixLike, offset: PerRow = None) -> Array:
        """Predict logarithms of the probabilities of the classes.

        The logarithms are finite where the results of `predict_proba` underflow.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        offset : float or array-like of shape (n_samples,), default=None
            Offsets of the rows, as in `fit`; 0 by default.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
            The classes are in the order of ``classes_``.
        """
        return self._log_probabilities(X, offset)

    def _gives_probabilities(self) -> bool:
        """Whether the loss is a negative log likelihood."""
        return self._get_loss().is_log_likelihood

    def _log_probabilities(self, X: MatrixLike, offset: PerRow = None) -> Array:
        """Logarithms of the probabilities, of shape (n_samples, n_classes)."""
        scores, loss = self.decision_function(X, offset), self._get_loss()
        ones, z = np.ones(scores.size), np.ravel(scores)
        if scores.ndim == 1:
            return np.column_stack([-loss.value(label * ones, z) for label in (-1.0, 1.0)])
        return log_softmax(-loss.value(ones, z).reshape(scores.shape), axis=1)


def checked_classes(y):
    """The sorted classes of the targets, after a check that these are class labels."""
    if y.dtype.kind in "biuf":
        ends = np.array([np.min(y), np.max(y)])
        are_two = ends[0] < ends[1] and np.all(ends == np.trunc(ends))
        if are_two and np.all((y == ends[0]) | (y == ends[1])):
            return ends
    check_classification_targets(y)
    return np.unique(y)


def weights_of_classes(class_weight, classes, y, sample_weight):
    """The weight of each class; 1 for a class without samples of positive weight."""
    if class_weight is None:
        return np.ones(len(classes))
    shares = class_weight
    if isinstance(class_weight, dict):
        require_numbers("class_weight", [*class_weight.values()])
        shares = {label: np.float64(share) for label, share in class_weight.items()}
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = compute_class_weight(shares, classes=classes, y=y, sample_weight=sample_weight)
    if class_weight == "balanced":
        weights = np.where(np.isfinite(weights), weights, 1.0)
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise ValueError(
            "The 'class_weight' parameter must hold finite weights of at least 0, got "
            f"{class_weight!r}."
        )
    return weights
