"""Paths on the training samples of folds, in threads, with values or scores of their models."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from dataclasses import dataclass
from functools import partial, update_wrapper
from inspect import signature
from numbers import Integral, Real
from threading import Event
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn import config_context, get_config
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state
from sklearn.utils import metadata_routing as routing

from .._compat import _check_method_params, _safe_indexing
from .._typing import Array, ArrayLike, Indices, Matrix, MatrixLike, PerRow
from .._warn import warn
from ..certificates import Certificate
from ..estimators.base import PrimalDualEstimator
from ..estimators.wrappers import with_last_step
from ..formulation.solution import map_in_threads
from ..problems import Problem, Solution
from .path import problems_of_path, split_pipeline

RISE = 0.01  # standard errors of the mean: what a choice at an end may leave out

Fold = tuple[Indices, Indices]  # the samples to train on and those to test on


@dataclass(frozen=True)
class FoldPath:
    """A path on the training samples of a fold, with a value of each model.

    Attributes
    ----------
    estimator : PrimalDualEstimator
        The estimator whose solver follows the path.
    problems : sequence of Problem
        The problems of the training samples; one for each class of one-vs-rest.
    alphas : ndarray of shape (n_alphas,)
        Decreasing.
    value : callable
        Returns a number for an alpha and its solutions, one for each problem.
    held_out : tuple or None
        X, y, weights and offsets of the samples held out, y with -1 and 1 for two classes; None
        where a model has several problems or outputs.
    """

    estimator: PrimalDualEstimator
    problems: Sequence[Problem]
    alphas: Array
    value: Callable[[float, Sequence[Solution]], float]
    held_out: tuple[Matrix, Array, PerRow, PerRow] | None = None

    def solutions(self, seed: int, stop: Event) -> Iterator[tuple[Solution, ...]]:
        """The solutions of all problems for each alpha, one alpha after the other."""
        paths = [self.estimator._follow(each, self.alphas, seed, stop) for each in self.problems]
        return zip(*paths, strict=False)


@dataclass(frozen=True)
class FollowedPaths:
    """Values and certificates of the models on several paths.

    Attributes
    ----------
    values : ndarray of shape (n_paths, n_alphas)
        The value of each model; nan for fits that are missing.
    certificates : list of lists of lists of Certificate
        For each path the certificates of its finished alphas, one for each problem, without
        bounds on single coefficients.
    interrupted : bool
        Whether Ctrl-C has ended the paths.
    """

    values: Array
    certificates: list[list[list[Certificate]]]
    interrupted: bool


def follow_folds(
    make_path: Callable[[int], FoldPath],
    shape: tuple[int, int],
    random_state: np.random.RandomState,
    n_threads: int,
    task: Callable[[int], AbstractContextManager],
) -> FollowedPaths:
    """Follow paths in threads and compute the values of their models.

    Parameters
    ----------
    make_path : callable
        Makes the path with a number. A thread calls it when it begins with the path, so that no
        more data is copied at once than there are threads.
    shape : tuple of int
        The numbers of paths and of alphas.
    random_state : RandomState
        Source of a seed for each path.
    n_threads : int
    task : callable
        Makes the context in which the path with a number is followed.
    """
    n_paths, n_alphas = shape
    values, stop = np.full((n_paths, n_alphas), np.nan), Event()
    certificates: list[list[list[Certificate]]] = [[] for _ in range(n_paths)]
    config = get_config()  # threads have one of their own

    def follow_one(k: int, seed: int) -> None:
        with config_context(**config), task(k):
            path = make_path(k)
            for a, solutions in enumerate(path.solutions(seed, stop)):
                brief = [solution.certificate.without_arrays() for solution in solutions]
                values[k, a] = path.value(path.alphas[a], solutions)
                certificates[k].append(brief)

    try:
        map_in_threads(follow_one, n_paths, random_state, n_threads, stop)
    except KeyboardInterrupt:
        stop.set()
    return FollowedPaths(values, certificates, stop.is_set())


def called_by_fit(method: str) -> routing.MethodMapping:
    """The routing of metadata from `fit` to a method of a part of the estimator."""
    return routing.MethodMapping().add(caller="fit", callee=method)


def checked_folds(folds: list, problem: Problem, n: int) -> list[Fold]:
    """The folds of n samples as arrays of indices from 0 to n - 1."""
    if not folds:
        raise ValueError(
            "The 'cv' parameter must yield at least one pair (train, test), got none."
        )
    return [
        (
            _checked_samples(train, f"train samples of fold {k}", problem, n),
            _checked_samples(test, f"test samples of fold {k}", problem, n),
        )
        for k, (train, test) in enumerate(folds)
    ]


def _checked_samples(samples: np.ndarray, which: str, problem: Problem, n: int) -> Indices:
    try:
        chosen = np.arange(n)[samples]
    except IndexError as error:
        raise ValueError(
            f"The 'cv' parameter must yield indices of the {n} samples, from {-n} to {n - 1}, or "
            f"masks of as many bools, which the {which} are not: {error}."
        ) from error
    if not np.any(problem.weights[problem.rows.rows_of(chosen)] > 0.0):
        raise ValueError(
            f"sample_weight must be positive somewhere in every fold, but is 0 in all {which}."
        )
    return chosen


def forget_fit(estimator: BaseEstimator, but: set[str]) -> None:
    """Remove the attributes of an earlier fit, except some."""
    for name in [name for name in vars(estimator) if name.endswith("_")]:
        if name not in but:
            delattr(estimator, name)


def warn_of_unfinished(name: str, model: BaseEstimator, gaps: Sequence[float], fits: str) -> None:
    """Warn if fits ended above the tolerance.

    Parameters
    ----------
    name : str
        Name of the estimator that the user has called.
    model : PrimalDualEstimator
        An estimator with the ``tol`` and ``max_iter`` of the fits.
    gaps : sequence of float
        The relative gaps of the fits.
    fits : str
        Description of the fits.
    """
    unfinished = sum(gap > model.tol for gap in gaps)
    if unfinished:
        warn(
            f"{name} did not converge to tol={model.tol:.2e} in {unfinished} of {len(gaps)} "
            f"{fits}. Increase max_iter (now {model.max_iter}) or tol, or eps, "
            "which leaves out the smallest alphas.",
            ConvergenceWarning,
        )


def warn_of_end(name: str, alphas: Any, grid: Array, scores: Array, place: int) -> None:
    """Warn if the choice is at an end of the grid where the scores still change.

    Parameters
    ----------
    name : str
        Name of the estimator that the user has called.
    alphas : int or array-like
        Parameter of the estimator. For a number of alphas, the largest alpha makes the best
        constant, or nearly.
    grid : ndarray of shape (n_alphas,)
        Decreasing.
    scores : ndarray of shape (n_folds, n_alphas)
        Scores or losses.
    place : int
        Index of the choice.
    """
    of_number, last = isinstance(alphas, Integral), len(grid) - 1
    if last == 0 or not (place == last or (place == 0 and not of_number)):
        return
    mean, errors = scores.mean(axis=0), scores.std(axis=0) / np.sqrt(len(scores))
    if not abs(mean[place] - mean[abs(place - 1)]) > RISE * errors[place]:
        return
    which, other = ("smallest", "smaller") if place else ("largest", "larger")
    advice = "Decrease eps." if of_number else f"Add {other} values to alphas."
    warn(
        f"{name} has chosen the {which} of {len(grid)} alphas, {grid[place]:.3g}. Scores still "
        f"change at this end of the grid, so that a {other} alpha may be better. {advice}",
    )


@dataclass(frozen=True)
class Samples:
    """Samples, with the metadata for the earlier steps of a pipeline, the model and the scorer."""

    X: MatrixLike
    y: ArrayLike
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

    estimator: PrimalDualEstimator | Pipeline
    samples: Samples
    folds: list[Fold]
    alphas: Array
    scorer: Callable[..., float]
    n_threads: int

    def follow(self, task: Callable[[int], AbstractContextManager]) -> FollowedPaths:
        """The scores on all folds; ``task`` is passed to `follow_folds`."""
        random_state = check_random_state(split_pipeline(self.estimator)[1].random_state)
        shape = len(self.folds), len(self.alphas)
        return follow_folds(self.path_of, shape, random_state, self.n_threads, task)

    def path_of(self, k: int) -> FoldPath:
        """The path on the training samples of a fold, for all alphas."""
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

        def score(alpha, solutions):
            with _errors_of_fold(k):
                last = model._with_model(float(alpha), solutions, fit)
                fitted = predicting_with(with_last_step(estimator, last), test.of_model)
                with _reason_without_probabilities(last):
                    found = self.scorer(fitted, test.X, test.y, **test.of_score)
                return _number(found)

        problems = [each.of_rows(each.rows.with_design(design)) for each in fit.problems]
        held_out = None
        rows = problems[0].rows
        if len(problems) == 1 and not (rows.of_outputs or rows.of_scores):
            y = test.y if fit.labels is None else np.where(test.y == fit.labels[1], 1.0, -1.0)
            weights, offset = test.of_score.get("sample_weight"), test.of_model.get("offset")
            held_out = X_test, np.asarray(y, dtype=float), weights, offset
        return FoldPath(model, problems, self.alphas, score, held_out)


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


def _transformed(transform: Callable, known: Any, result: Any, X: Any, **params: Any) -> Any:
    return result if X is known and not params else transform(X, **params)


def predicting_with(estimator: BaseEstimator, metadata: dict[str, Any]) -> BaseEstimator:
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
        if method is not None:  # of the model itself, so that a score is not given them in secret
            names = set() if routed and name == "score" else signature(method).parameters
            own = {each: value for each, value in metadata.items() if each in names}
            setattr(other, name, update_wrapper(partial(method, **own), method))
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


def taken_by(scorer: Callable, metadata: dict[str, Any]) -> dict[str, Any]:
    """The metadata that a scorer takes: scikit-learn's take weights at most."""
    names = set(signature(scorer).parameters)
    if hasattr(scorer, "_accept_sample_weight"):
        names = {"sample_weight"} if scorer._accept_sample_weight() else set()
    return {name: value for name, value in metadata.items() if name in names}


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
    best = int(np.argmax(np.where(np.isnan(mean), -np.inf, mean)))
    if rule == "best":
        return best
    error = np.std(scores[:, best], ddof=1) / np.sqrt(len(scores))
    return int(np.argmax(mean >= mean[best] - error))
