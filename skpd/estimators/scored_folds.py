"""Paths of an estimator on folds with scores of its models, and the choice among them."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from inspect import signature
from numbers import Real
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.utils import check_random_state

from .._compat import _check_method_params, _safe_indexing
from .._typing import Array, Indices
from .folds import Fold, FoldPath, FollowedPaths, follow_folds
from .path import problems_of_path, split_pipeline


@dataclass(frozen=True)
class Samples:
    """Samples, with the metadata for the earlier steps of a pipeline, the model and the scorer."""

    X: Any
    y: Any
    of_steps: dict[str, Any]
    of_model: dict[str, Any]
    of_score: dict[str, Any]

    def part(self, chosen: Indices) -> "Samples":
        """A part of the samples."""
        of_steps, of_model, of_score = (
            _check_method_params(self.X, metadata, chosen)
            for metadata in (self.of_steps, self.of_model, self.of_score)
        )
        X, y = _safe_indexing(self.X, chosen), _safe_indexing(self.y, chosen)
        return Samples(X, y, of_steps, of_model, of_score)


@dataclass(frozen=True)
class ScoredFolds:
    """Paths of an estimator on the folds of samples.

    Attributes
    ----------
    estimator : estimator
        An estimator that has a path, or a pipeline that ends in one.
    samples : Samples
    folds : list of pairs of ndarray
    alphas : ndarray of shape (n_alphas,)
        Decreasing.
    scorer : callable
        A scorer of scikit-learn, which returns a number for an estimator, X and y.
    n_threads : int
    """

    estimator: Any
    samples: Samples
    folds: list[Fold]
    alphas: Array
    scorer: Callable[..., float]
    n_threads: int

    def follow(self, task: Callable[[int], AbstractContextManager]) -> FollowedPaths:
        """The scores on all folds; ``task`` is passed to `follow_folds`."""
        random_state = check_random_state(split_pipeline(self.estimator)[1].random_state)
        shape = len(self.folds), len(self.alphas)
        return follow_folds(self._path, shape, random_state, self.n_threads, task)

    def _path(self, k: int) -> FoldPath:
        """The path on the training samples of a fold, for all alphas."""
        train, test = (self.samples.part(chosen) for chosen in self.folds[k])
        steps, model = split_pipeline(clone(self.estimator))
        X_train, X_test = train.X, test.X
        with _errors_of_fold(k):
            if steps is not None:
                X_train = steps.fit_transform(X_train, train.y, **train.of_steps)
                X_test = steps.transform(X_test)
            fit = problems_of_path(model, X_train, train.y, **train.of_model)
        design = fit.problems[0].design.shared_by(self.n_threads)

        def score(alpha, solutions):
            with _errors_of_fold(k):
                fitted = model._with_model(float(alpha), solutions, fit)
                with _reason_without_probabilities(fitted):
                    found = self.scorer(fitted, X_test, test.y, **test.of_score)
                return _number(found)

        return FoldPath(
            model,
            [each.of_rows(each.rows.with_design(design)) for each in fit.problems],
            self.alphas,
            score,
        )


@contextmanager
def _errors_of_fold(k: int) -> Iterator[None]:
    """Context that adds the number of the fold to the messages of errors."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"In fold {k} of the cross-validation: {error}") from error


@contextmanager
def _reason_without_probabilities(model: Any) -> Iterator[None]:
    """Context that explains why a model has no probabilities, where a scorer asks for them."""
    try:
        yield
    except AttributeError as error:
        if "proba" not in str(error):
            raise
        try:
            _ = model.predict_proba
        except AttributeError as reason:
            message = f"scoring asks for predict_proba. {reason.__cause__ or reason}"
            raise ValueError(message) from error
        raise


def _number(score: Any) -> float:
    if not isinstance(score, Real):
        raise ValueError(f"scoring must return a number for each model, got {score!r}.")
    return float(score)


def takes_weights(scorer: Callable) -> bool:
    """Whether a scorer takes sample_weight, by the metadata of scikit-learn's or the signature."""
    if hasattr(scorer, "_accept_sample_weight"):
        return scorer._accept_sample_weight()
    return "sample_weight" in signature(scorer).parameters


def cv_results(found: FollowedPaths, alphas: Array, parameter: str) -> dict[str, Any]:
    """Scores in the format of ``cv_results_`` of scikit-learn's searches, and the largest gaps."""
    mean = np.mean(found.values, axis=0)
    ranks = rankdata(np.where(np.isnan(mean), np.inf, -mean), method="min")
    gaps = np.full(len(alphas), np.nan)
    for path in found.certificates:
        for place, fits in enumerate(path):
            gaps[place] = np.fmax(gaps[place], max(c.relative_gap for c in fits))
    return {
        f"param_{parameter}": alphas,
        "params": [{parameter: float(alpha)} for alpha in alphas],
        **{f"split{k}_test_score": scores for k, scores in enumerate(found.values)},
        "mean_test_score": mean,
        "std_test_score": np.std(found.values, axis=0),
        "rank_test_score": ranks.astype(np.int32),
        "max_relative_gap": gaps,
    }


def place_of_choice(scores: Array, mean: Array, rule: str) -> int:
    """Index of the alpha that a rule takes, for scores of shape (n_folds, n_alphas)."""
    best = int(np.nanargmax(mean))
    if rule == "best":
        return best
    error = np.std(scores[:, best], ddof=1) / np.sqrt(len(scores))
    return int(np.argmax(mean >= mean[best] - error))
