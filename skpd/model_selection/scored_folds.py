"""The scores of an estimator, or of a pipeline that ends in one, on samples held out."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from functools import partial, update_wrapper
from inspect import signature
from numbers import Real
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import metadata_routing as routing

from .._compat import _check_method_params, _safe_indexing
from .._typing import Array, ArrayLike, Indices, MatrixLike, Metadata
from ..estimators.base import PrimalDualEstimator
from ..estimators.wrappers import with_last_step
from ..problems import Problem
from .fold_paths import FoldPath, FoldPaths, FollowedPaths
from .path import problems_of_path, split_pipeline
from .quick_scores import predictions_of, quick_score

AT_ONCE = 1_000_000  # coefficients of the models that are scored together


@dataclass(frozen=True)
class Samples:
    """Samples, with the metadata for the earlier steps of a pipeline, the model and the scorer."""

    X: MatrixLike
    y: ArrayLike
    of_steps: Metadata
    of_model: Metadata
    of_score: Metadata

    def part(self, chosen: Indices) -> "Samples":
        """A part of the samples."""
        of_steps, of_model, of_score = (
            _check_method_params(self.X, metadata, chosen)
            for metadata in (self.of_steps, self.of_model, self.of_score)
        )
        X, y = _safe_indexing(self.X, chosen), _safe_indexing(self.y, chosen)
        return Samples(X, y, of_steps, of_model, of_score)


@dataclass(frozen=True)
class ScoredFolds(FoldPaths):
    """The paths of an estimator on folds, with the scores of the samples held out.

    Attributes
    ----------
    estimator : estimator
        An estimator that has a path, or a pipeline that ends in one.
    samples : Samples
    scorer : callable
        A scorer of scikit-learn, which returns a number for an estimator, X and y.
    scoring : str, callable or None
        What it was made from.
    problems : sequence of Problem
        Those of all samples.
    """

    estimator: PrimalDualEstimator | Pipeline
    samples: Samples
    scorer: Callable[..., float]
    scoring: object
    problems: Sequence[Problem]

    def path_of(self, k: int) -> FoldPath:
        train, test = (self.samples.part(chosen) for chosen in self.folds[k])
        estimator = clone(self.estimator)
        steps, model = split_pipeline(estimator)
        X_train, X_test = train.X, test.X
        with _errors_of_fold(k):
            if steps is not None:
                X_train = steps.fit_transform(X_train, train.y, **train.of_steps)
                estimator.steps[:-1], X_test = _knowing(steps, X_test)
            fit = problems_of_path(model, X_train, train.y, **train.of_model)
        design = fit.problems[0].design.shared_by(self.n_threads)

        quick = quick_score(model, self.scoring, fit, np.asarray(test.y))
        if set(test.of_model) - {"sample_weight"} or set(test.of_score) - {"sample_weight"}:
            quick = None

        def scores(alphas, rows):
            if quick is None:
                return np.array([score(*each) for each in zip(alphas, rows, strict=True)])
            with _errors_of_fold(k):
                models = [model._model(solutions, fit) for solutions in rows]
                first = model._with_model(float(alphas[0]), rows[0], fit)
                return quick(predictions_of(first, models, X_test), weights)

        def score(alpha, solutions):
            with _errors_of_fold(k):
                last = model._with_model(float(alpha), solutions, fit)
                fitted = predicting_with(with_last_step(estimator, last), test.of_model)
                with _reason_without_probabilities(last):
                    value = self.scorer(fitted, test.X, test.y, **test.of_score)
                return _number(value)

        problems = [each.of_rows(each.rows.with_design(design)) for each in fit.problems]
        if steps is None and self.problems[0].has_values:
            chosen, pairs = self.folds[k][1], zip(problems, self.problems, strict=False)
            problems = [each.of_rows(each.rows.without(chosen, all_.rows)) for each, all_ in pairs]
        held_out, weights = None, test.of_score.get("sample_weight")
        rows = problems[0].rows
        if len(problems) == 1 and not (rows.of_outputs or rows.of_scores):
            y = test.y if fit.labels is None else np.where(test.y == fit.labels[1], 1.0, -1.0)
            offset = model._total_offset(X_test, **test.of_model)
            held_out = X_test, np.asarray(y, dtype=float), weights, offset
        n_coefficients = sum(problem.n_coefficients for problem in problems)
        n_at_once = 1 if quick is None else max(1, AT_ONCE // n_coefficients)
        return FoldPath(model, problems, self.grids[0], scores, held_out, n_at_once)


def _knowing(steps: Pipeline, X: MatrixLike) -> tuple[list[tuple[str, BaseEstimator]], MatrixLike]:
    """Fitted steps that transform X at once, as this is known, and the result for X."""
    knowing = []
    for name, step in steps.steps:
        if step not in (None, "passthrough"):
            before, X, transform = X, step.transform(X), step.transform
            step = copy(step)
            step.transform = partial(_transformed, transform, before, X)
        knowing.append((name, step))
    return knowing, X


def _transformed(
    transform: Callable[..., MatrixLike], known: MatrixLike, result: MatrixLike, X: MatrixLike,
    **params: ArrayLike,
) -> MatrixLike:  # fmt: skip
    return result if X is known and not params else transform(X, **params)


def predicting_with(estimator: BaseEstimator, metadata: Metadata) -> BaseEstimator:
    """A copy of an estimator whose predictions are for rows with these offsets, strata and so on.

    Without metadata routing, nothing else passes them to the score of the last step.
    """
    metadata = {name: each for name, each in metadata.items() if name != "sample_weight"}
    if not metadata:
        return estimator
    model = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    other, routed = copy(model), routing._routing_enabled()
    for name in dir(model):
        predicts = name.startswith("predict") or name in ("decision_function", "score")
        method = getattr(model, name, None) if predicts else None
        if method is not None:  # that of the model itself, by what it takes
            names = set() if routed and name == "score" else signature(method).parameters
            of_method = {each: value for each, value in metadata.items() if each in names}
            setattr(other, name, update_wrapper(partial(method, **of_method), method))
    return with_last_step(estimator, other)


@contextmanager
def _errors_of_fold(k: int) -> Iterator[None]:
    """Context that adds the number of the fold to the messages of errors."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"In fold {k} of the cross-validation: {error}") from error


@contextmanager
def _reason_without_probabilities(model: PrimalDualEstimator) -> Iterator[None]:
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


def _number(score: float) -> float:
    if not isinstance(score, Real):
        raise ValueError(f"scoring must return a number for each model, got {score!r}.")
    return float(score)


def taken_by(scorer: Callable, metadata: Metadata) -> Metadata:
    """The metadata that a scorer takes: scikit-learn's take weights at most."""
    names = set(signature(scorer).parameters)
    if hasattr(scorer, "_accept_sample_weight"):
        names = {"sample_weight"} if scorer._accept_sample_weight() else set()
    return {name: value for name, value in metadata.items() if name in names}


def cv_results(paths: FollowedPaths, parameter: str) -> dict[str, Any]:
    """Scores in the format of ``cv_results_`` of scikit-learn's searches, and the largest gaps."""
    (alphas,), mean = paths.grids, np.mean(paths.scored, axis=0)
    ranks = rankdata(np.where(np.isnan(mean), np.inf, -mean), method="min")
    gaps = np.full(len(alphas), np.nan)
    for path in paths.certificates:
        for index, fits in enumerate(path):
            gaps[index] = np.fmax(gaps[index], max(c.relative_gap for c in fits))
    return {
        f"param_{parameter}": alphas,
        "params": [{parameter: float(alpha)} for alpha in alphas],
        **{f"split{k}_test_score": scores for k, scores in enumerate(paths.values)},
        "mean_test_score": mean,
        "std_test_score": np.std(paths.scored, axis=0),
        "rank_test_score": ranks.astype(np.int32),
        "max_relative_gap": gaps,
    }


def repeats_of(folds: Sequence[tuple[Indices, Indices]]) -> float:
    """The number of times that folds test each sample, of those that they test."""
    tested = np.concatenate([test for _, test in folds])
    return len(tested) / len(np.unique(tested))


def index_of_choice(scores: Array, mean: Array, rule: str, n_repeats: float = 1.0) -> int:
    """Index of the alpha that a rule takes, for scores of shape (n_folds, n_alphas).

    Folds that repeat each other are not independent: the standard error is that of the folds of
    one of ``n_repeats`` repeats.
    """
    best = int(np.argmax(np.where(np.isnan(mean), -np.inf, mean)))
    if rule == "best":
        return best
    error = np.std(scores[:, best], ddof=1) / np.sqrt(len(scores) / n_repeats)
    return int(np.argmax(mean >= mean[best] - error))
