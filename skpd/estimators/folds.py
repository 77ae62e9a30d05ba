"""Paths on the training samples of folds, in threads, valued on the samples held out."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from numbers import Integral
from threading import Event
from typing import Any

import numpy as np
from sklearn import config_context, get_config
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metadata_routing import MethodMapping

from .._typing import Array, Indices
from .._warn import warn
from ..certificates import Certificate
from ..problems import Problem, Solution
from .base import PrimalDualEstimator
from .fits import map_in_threads
from .path import follow

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
    """

    estimator: PrimalDualEstimator
    problems: Sequence[Problem]
    alphas: Array
    value: Callable[[float, Sequence[Solution]], float]

    def solutions(self, seed: int, stop: Event) -> Iterator[tuple[Solution, ...]]:
        """The solutions of all problems for each alpha, one alpha after the other."""
        paths = [follow(self.estimator, each, self.alphas, seed, stop) for each in self.problems]
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
                # without arrays of the size of the coefficients
                brief = [replace(solution.certificate, evidence=None) for solution in solutions]
                values[k, a] = path.value(path.alphas[a], solutions)
                certificates[k].append(brief)

    try:
        map_in_threads(follow_one, n_paths, random_state, n_threads, stop)
    except KeyboardInterrupt:
        stop.set()
    return FollowedPaths(values, certificates, stop.is_set())


def called_by_fit(method: str) -> MethodMapping:
    """The routing of metadata from `fit` to a method of a part of the estimator."""
    return MethodMapping().add(caller="fit", callee=method)


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


def _checked_samples(samples: Any, which: str, problem: Problem, n: int) -> Indices:
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


def forget_fit(estimator: Any, but: set[str]) -> None:
    """Remove the attributes of an earlier fit, except some."""
    for name in [name for name in vars(estimator) if name.endswith("_")]:
        if name not in but:
            delattr(estimator, name)


def warn_of_unfinished(name: str, model: Any, gaps: Sequence[float], fits: str) -> None:
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
