"""Choice of alpha and l1_ratio by cross-validation along regularisation paths."""

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from numbers import Integral, Real
from threading import Event
from typing import Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _raise_for_params,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.validation import _check_sample_weight

from .. import kernels
from .._typing import Array
from ..designs import Design
from ..losses import Squared
from ..penalties import Penalty
from ..problems import Problem
from .base import _CALLBACK_LOCK, map_in_threads
from .path import alpha_values, follow
from .regressor import PrimalDualRegressor

__all__ = ["PathCrossValidation"]


class PathCrossValidation(PrimalDualRegressor):
    """Least squares with alpha, and l1_ratio where there is one, chosen by cross-validation."""

    alpha: ClassVar[float] = 1.0  # of the problem that those of the paths are made of
    warm_start: ClassVar[bool] = False
    alpha_: float
    alphas_: Array
    mse_path_: Array
    certificates_: list
    _chosen: int

    _parameter_constraints: ClassVar[dict] = {
        **{
            name: constraint
            for name, constraint in PrimalDualRegressor._parameter_constraints.items()
            if name not in ("alpha", "warm_start")
        },
        "eps": [Interval(Real, 0, 1, closed="neither")],
        "alphas": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "cv": ["cv_object"],
        "n_jobs": [Integral, None],
    }

    @abstractmethod
    def _penalties(self) -> Sequence[Penalty]:
        """The penalties to choose from, one for each l1_ratio."""

    def _get_loss(self) -> Squared:
        return Squared()

    def _get_penalty(self) -> Penalty:
        return self._penalties()[0]

    @_fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **params: Any
    ) -> Self:
        """Choose the parameters by cross-validation, fit the model on all data and certify it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples in the fits and in the mean squared error of each fold;
            the average over the folds is not weighted, as in `LassoCV`.
        **params : dict
            Parameters of the splitter, with scikit-learn's metadata routing.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If a parameter, the data or the weights are invalid, if ``cv`` yields indices out of
            range, or if a fold has no sample of positive weight to train or to test on.
        KeyboardInterrupt
            After Ctrl-C, its message says how far the fit came. ``alphas_``, ``mse_path_``, with
            nan for what is missing, and ``certificates_`` then hold the fits that were finished,
            ``alpha_`` the best of the values that were tried on every fold, if there is one,
            and, if all were, ``coef_`` and the like the best model of all data so far.
        """
        _raise_for_params(params, self, "fit")
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        X, y, (problem,), _ = self._problems(X, y, sample_weight)
        targets = problem.y
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
        split = {}
        if _routing_enabled():
            routed = process_routing(self, "fit", sample_weight=sample_weight, **params)
            split = routed.splitter.split
        folds = list(check_cv(self.cv).split(X, y, **split))
        _check_folds(folds, weights)
        penalties = self._penalties()
        problems = [problem, *(replace(problem, penalty=other) for other in penalties[1:])]
        grids = np.array([self._alphas_of(each) for each in problems])
        mse_paths = np.full((len(penalties), grids.shape[1], len(folds)), np.nan)
        certificates: list[list[list]] = [[[] for _ in folds] for _ in penalties]
        pairs = list(product(range(len(penalties)), range(len(folds))))
        n_threads = min(effective_n_jobs(self.n_jobs), len(pairs))
        task = {"estimator": self, "X": X, "y": y, "metadata": metadata}
        context = self._init_callback_context(
            max_subtasks=len(pairs) + 1, sequential_subtasks=n_threads == 1
        ).call_on_fit_task_begin(**task)
        stop = Event()
        by_rows = X.tocsr() if hasattr(X, "tocsr") else X

        def subtask(name, k):
            return context.subcontext(task_name=name, task_id=None if n_threads == 1 else k)

        def follow_fold(k: int, seed: int) -> None:
            which, fold = pairs[k]
            train, test = folds[fold]
            with _CALLBACK_LOCK:
                own = subtask(f"fold {fold}", k).call_on_fit_task_begin(estimator=self)
            design = Design(by_rows[train], n_parallel=n_threads)
            part = self._problem(design, targets[train], weights[train])
            part = replace(part, penalty=penalties[which])
            held_out, y_test = Design(by_rows[test]), targets[test]
            w_test = weights[test] / np.sum(weights[test])
            for a, solution in enumerate(follow(self, part, grids[which], seed, stop)):
                residuals = held_out.matvec(solution.coef) + solution.intercept - y_test
                mse_paths[which, a, fold] = kernels.dot(w_test, residuals * residuals)
                certificates[which][fold].append(solution.certificate)
            with _CALLBACK_LOCK:
                own.call_on_fit_task_end(estimator=self)

        random_state = check_random_state(self.random_state)
        seeds = random_state.randint(np.iinfo(np.int32).max, size=len(pairs))
        try:
            map_in_threads(follow_fold, seeds, n_threads, stop)
        except KeyboardInterrupt:
            stop.set()
        progress = self._keep(mse_paths, grids, certificates)
        if stop.is_set():
            raise KeyboardInterrupt(progress)
        self._warn_of_unfinished()
        own = subtask("fit on all data", len(pairs)).call_on_fit_task_begin(**task)
        solution = self._solve(
            problems[self._chosen].with_alpha(self.alpha_),
            start=None,
            random_state=random_state,
            on_check=self._reporter(None, task),
        )
        self.coef_ = solution.coef
        self.intercept_ = solution.intercept
        self.dual_coef_ = solution.dual_coef
        self._set_solutions(solution)
        own.call_on_fit_task_end(**task, reconstruction_attributes={})
        context.call_on_fit_task_end(**task, reconstruction_attributes={})
        return self

    def _fitted_problems(self, X: Any, y: Any, sample_weight: Any) -> list[Problem]:
        (problem,) = self._problems(X, y, sample_weight)[2]
        penalty = self._penalties()[self._chosen]
        return [replace(problem, penalty=penalty, alpha=self.alpha_)]

    def _alphas_of(self, problem: Problem) -> Array:
        if isinstance(self.alphas, Integral) and problem.largest_alpha == 0.0:
            return np.full(self.alphas, np.finfo(np.float64).resolution)  # as LassoCV
        return alpha_values([problem], self.alphas, self.eps)

    def _one_path(self) -> bool:
        """Whether what was tried has no axis of penalties."""
        return True

    def _keep(self, mse_paths: Array, grids: Array, certificates: list) -> str:
        """Set what was tried and the best of it, in place of what an earlier fit has left.

        Parameters
        ----------
        mse_paths : ndarray of shape (n_penalties, n_alphas, n_folds)
        grids : ndarray of shape (n_penalties, n_alphas)
        certificates : list of lists of lists
            For each penalty and fold those of the alphas that were tried.

        Returns
        -------
        progress : str
            How much of it was tried.
        """
        for name in [name for name in vars(self) if name.endswith("_") and name[-4:] != "_in_"]:
            delattr(self, name)
        self.certificates_ = certificates
        self.mse_path_, self.alphas_ = mse_paths, grids
        if self._one_path():
            self.mse_path_, self.alphas_ = mse_paths[0], grids[0]
        n_tried = np.array([[len(path) for path in folds] for folds in certificates])
        everywhere = np.arange(grids.shape[1]) < n_tried.min(axis=1)[:, np.newaxis]
        if everywhere.any():
            self._choose(np.where(everywhere, mse_paths.mean(axis=2), np.inf), grids)
        best = ", and alpha_ for the best" if everywhere.any() else ""
        return (
            f"{n_tried.sum()} of {mse_paths.size} fits are finished, {everywhere.sum()} of "
            f"{grids.size} values on every fold: see mse_path_ and certificates_{best}."
        )

    def _choose(self, mean: Array, grids: Array) -> None:
        """Set the parameters with the least mean squared error."""
        self._chosen, place = (int(i) for i in np.unravel_index(np.argmin(mean), mean.shape))
        self.alpha_ = float(grids[self._chosen, place])

    def _warn_of_unfinished(self) -> None:
        gaps = [c.relative_gap for paths in self.certificates_ for path in paths for c in path]
        unfinished = sum(gap > self.tol for gap in gaps)
        if unfinished:
            warnings.warn(
                f"{type(self).__name__} did not converge to tol={self.tol:.2e} in {unfinished} of "
                f"{len(gaps)} fits of the cross-validation. Increase max_iter (now "
                f"{self.max_iter}) or tol, or eps, which leaves out the smallest alphas.",
                ConvergenceWarning,
                stacklevel=5,  # the caller of fit, past its two decorators
            )

    def get_metadata_routing(self) -> MetadataRouter:
        """The metadata that `fit` takes and hands on to the splitter.

        Returns
        -------
        routing : MetadataRouter
        """
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(
                splitter=check_cv(self.cv),
                method_mapping=MethodMapping().add(caller="fit", callee="split"),
            )
        )


def _check_folds(folds, weights):
    if not folds:
        raise ValueError(
            "The 'cv' parameter must yield at least one pair (train, test), got none."
        )
    n = len(weights)
    for k, fold in enumerate(folds):
        for rows, name in zip(fold, ("train", "test"), strict=True):
            try:
                chosen = weights[rows]
            except IndexError as error:
                raise ValueError(
                    f"The 'cv' parameter must yield indices of the {n} samples, from {-n} to "
                    f"{n - 1}, or masks of as many bools, which the {name} samples of fold {k} "
                    f"are not: {error}."
                ) from error
            if not np.any(chosen > 0.0):
                raise ValueError(
                    "sample_weight must be positive somewhere in every fold, but is 0 in all "
                    f"{name} samples of fold {k}."
                )
