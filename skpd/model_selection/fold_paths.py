"""Paths on the training samples of folds, in threads, with a value of each of their models."""

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from numbers import Integral
from threading import Event
from typing import TypeAlias

import numpy as np
from sklearn import config_context, get_config
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import metadata_routing as routing

from .._typing import Array, ArrayLike, Indices, Mask, Matrix, PerRow
from .._warn import warn, warn_of_convergence
from ..certificates import Certificate
from ..estimators.base import PrimalDualEstimator
from ..formulation.solve_problems import map_in_threads
from ..problems import Problem, Solution

RISE = 0.01  # the change of the mean at an end, in its standard errors, that calls for a warning
LEAST_RISE = 1e-9  # and as a share of its range, since standard errors may be rounding errors

Fold = tuple[Indices, Indices]  # the samples to train on and those to test on
# a number of folds, a splitter, or the folds themselves
Splits: TypeAlias = int | BaseCrossValidator | Iterable[tuple[ArrayLike, ArrayLike]] | None


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
    values : callable
        Returns a number for each of several alphas and their solutions, one for each problem.
    held_out : tuple or None
        X, y, weights and offsets of the samples held out, y with -1 and 1 for two classes; None
        where a model has several problems or outputs.
    n_at_once : int, default=1
        The number of models whose values are computed together.
    """

    estimator: PrimalDualEstimator
    problems: Sequence[Problem]
    alphas: Array
    values: Callable[[Array, Sequence[Sequence[Solution]]], Array]
    held_out: tuple[Matrix, Array, PerRow, PerRow] | None = None
    n_at_once: int = 1

    def solutions(self, seed: int | None, stop: Event) -> Iterator[tuple[Solution, ...]]:
        """The solutions of all problems for each alpha, one alpha after the other."""
        limits = self.alphas, seed, stop
        paths = [self.estimator._follow(each, *limits, brief=True) for each in self.problems]
        return zip(*paths, strict=False)


@dataclass(frozen=True)
class FollowedPaths:
    """Values and certificates of the models on several paths.

    The paths of the folds follow each other for each grid.

    Attributes
    ----------
    grids : ndarray of shape (n_grids, n_alphas)
        Decreasing.
    values : ndarray of shape (n_grids * n_folds, n_alphas)
        The value of each model; nan for fits that are missing.
    certificates : list of lists of lists of Certificate
        For each path the certificates of its finished alphas, one for each problem, without
        bounds on single coefficients.
    interrupted : bool
        Whether Ctrl-C has ended the paths.
    """

    grids: Array
    values: Array
    certificates: list[list[list[Certificate]]]
    interrupted: bool

    @property
    def on_every_fold(self) -> Mask:
        """A mask of the alphas that are finished on every fold, of shape (n_grids, n_alphas)."""
        n_finished = np.reshape(list(map(len, self.certificates)), (len(self.grids), -1))
        return np.arange(self.grids.shape[1]) < n_finished.min(axis=1)[:, np.newaxis]

    @property
    def scored(self) -> Array:
        """The values without the paths that have none, if others have some."""
        missing = np.isnan(self.values).all(axis=1)
        return self.values if self.interrupted or missing.all() else self.values[~missing]

    @property
    def gaps(self) -> list[float]:
        """The relative gaps of all fits."""
        return [c.relative_gap for path in self.certificates for fits in path for c in fits]

    def progress(self, attribute: str) -> str:
        """The beginning of a sentence that says how many fits are finished.

        ``attribute`` is the name of the one that holds their values.
        """
        n_finished = sum(map(len, self.certificates))
        return (
            f"{n_finished} of {self.values.size} fits are finished, {self.on_every_fold.sum()} of "
            f"{self.grids.size} alphas on every fold: see {attribute}"
        )


@dataclass(frozen=True)
class FoldPaths:
    """The paths of one or several grids of alphas on the training samples of each fold.

    Attributes
    ----------
    folds : list of pairs of ndarray
    grids : ndarray of shape (n_grids, n_alphas)
        Decreasing.
    n_threads : int
    random_state : RandomState
        Source of a seed for each path.
    """

    folds: list[Fold]
    grids: Array
    n_threads: int
    random_state: np.random.RandomState

    @abstractmethod
    def path_of(self, k: int) -> FoldPath:
        """The path with a number; the paths of the folds follow each other for each grid."""

    def follow(self, task: Callable[[int], AbstractContextManager]) -> FollowedPaths:
        """Follow the paths in threads and compute the values of their models.

        A thread makes a path when it begins with it, so that no more data is copied at once than
        there are threads. ``task`` makes the context in which the path with a number is followed.
        """
        n_paths, stop = len(self.grids) * len(self.folds), Event()
        values = np.full((n_paths, self.grids.shape[1]), np.nan)
        certificates: list[list[list[Certificate]]] = [[] for _ in range(n_paths)]
        config = get_config()  # each thread has a configuration of its own

        def follow_one(k: int, seed: int | None) -> None:
            with config_context(**config), task(k):
                path = self.path_of(k)
                rows: list[tuple[Solution, ...]] = []

                def evaluate() -> None:
                    first = len(certificates[k])
                    last = first + len(rows)
                    values[k, first:last] = path.values(path.alphas[first:last], rows)
                    brief = [[fit.certificate.without_arrays() for fit in row] for row in rows]
                    certificates[k].extend(brief)
                    rows.clear()

                try:
                    for row in path.solutions(seed, stop):
                        rows.append(row)
                        if len(rows) >= path.n_at_once:
                            evaluate()
                finally:
                    if rows and path.n_at_once > 1:
                        evaluate()

        try:
            map_in_threads(follow_one, n_paths, self.random_state, self.n_threads, stop)
        except KeyboardInterrupt:
            stop.set()
        return FollowedPaths(self.grids, values, certificates, stop.is_set())


def called_by_fit(method: str) -> routing.MethodMapping:
    """The routing of metadata from `fit` to a method of a part of the estimator."""
    return routing.MethodMapping().add(caller="fit", callee=method)


def checked_folds(folds: list, problem: Problem, n: int) -> list[Fold]:
    """The folds of n samples as arrays of indices from 0 to n - 1."""
    if not folds:
        raise ValueError(
            "The 'cv' parameter must yield at least one pair (train, test), got none."
        )

    def checked(samples: np.ndarray, which: str) -> Indices:
        try:
            chosen = np.arange(n)[samples]
        except IndexError as error:
            raise ValueError(
                f"The 'cv' parameter must yield indices of the {n} samples, from {-n} to {n - 1}, "
                f"or masks of as many bools, which the {which} are not: {error}."
            ) from error
        if not np.any(problem.weights[problem.rows.rows_of(chosen)] > 0.0):
            raise ValueError(
                f"sample_weight must be positive somewhere in every fold, but is 0 in all {which}."
            )
        return chosen

    return [
        (checked(train, f"train samples of fold {k}"), checked(test, f"test samples of fold {k}"))
        for k, (train, test) in enumerate(folds)
    ]


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
        warn_of_convergence(
            f"{name} did not converge to tol={model.tol:.2e} in {unfinished} of {len(gaps)} "
            f"{fits}. Increase max_iter (now {model.max_iter}) or tol, or eps, "
            "which leaves out the smallest alphas."
        )


@contextmanager
def without_warning_of(model: PrimalDualEstimator) -> Iterator[None]:
    """Context without the warning of a fit that did not converge, which a later one includes."""
    with warnings.catch_warnings():
        start = f"{type(model).__name__} did not converge"
        warnings.filterwarnings("ignore", start, ConvergenceWarning)
        yield


def warn_of_end(
    name: str, alphas: int | ArrayLike, grid: Array, scores: Array, index: int
) -> None:
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
    index : int
        Index of the choice.
    """
    of_number, last = isinstance(alphas, Integral), len(grid) - 1
    at_end = (index == last and grid[last] > 0.0) or (index == 0 and not of_number)
    if last == 0 or not at_end:
        return
    mean, errors = scores.mean(axis=0), scores.std(axis=0) / np.sqrt(len(scores))
    change = abs(mean[index] - mean[abs(index - 1)])
    if not change > max(RISE * errors[index], LEAST_RISE * np.ptp(mean)):
        return
    end, other = ("smallest", "smaller") if index else ("largest", "larger")
    advice = "Decrease eps." if of_number else f"Add {other} values to alphas."
    warn(
        f"{name} has chosen the {end} of {len(grid)} alphas, {grid[index]:.3g}. Scores still "
        f"change at this end of the grid, so that a {other} alpha may be better. {advice}"
    )
