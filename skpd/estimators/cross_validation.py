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

from .. import kernels
from .._typing import Array, Indices
from ..losses import Squared
from ..penalties import Penalty
from ..problems import Problem
from .base import _CALLBACK_LOCK, map_in_threads
from .path import alpha_values, follow
from .regressor import PrimalDualRegressor

__all__ = ["L1RatioCrossValidation", "PathCrossValidation", "checked_folds"]

Fold = tuple[Indices, Indices]  # the samples to train on and those to test on


class PathCrossValidation(PrimalDualRegressor):
    """A model with alpha chosen by the mean loss of held-out samples; least squares by default."""

    alpha: ClassVar[float] = 1.0  # of the problem that those of the paths are made of
    warm_start: ClassVar[bool] = False
    alpha_: float
    alphas_: Array
    mse_path_: Array
    certificates_: list
    _chosen: int

    # fitted attributes that say what the data is like, which `_problems` sets
    _of_data: ClassVar[set] = {"n_features_in_", "feature_names_in_"}
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

    def _penalties(self, problem: Problem) -> Sequence[Penalty]:
        """The penalties to choose from, one for each l1_ratio; the first is the problem's."""
        return [problem.penalty]

    def _get_loss(self) -> Squared:
        return Squared()

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
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets; in two dimensions for several outputs only.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples in the fits and in the mean loss of each fold; the average
            over the folds is not weighted, as in `LassoCV`.
        **params : dict
            Parameters of the splitter, with scikit-learn's metadata routing.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If a parameter, the data or the weights are invalid, if ``cv`` yields indices out of
            range, or if a fold has no sample of positive weight to train or to test on, with
            tasks none of some task to train on.
        KeyboardInterrupt
            After Ctrl-C, its message says how far the fit came. ``alphas_``, the errors on the
            folds, with nan for what is missing, and ``certificates_`` then hold what was finished,
            ``alpha_`` the best of the values that were tried on every fold, if there is one,
            and, if all were, ``coef_`` and the like the best model of all data so far.
        """
        _raise_for_params(params, self, "fit")
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        X, y, (problem,), _ = self._problems(X, y, sample_weight)
        split = {}
        if _routing_enabled():
            routed = process_routing(self, "fit", sample_weight=sample_weight, **params)
            split = routed.splitter.split
        folds = self._folds(X, y, problem, split)
        others = self._penalties(problem)[1:]
        problems = [problem, *(replace(problem, penalty=penalty) for penalty in others)]
        grids = np.array([self._alphas_of(each) for each in problems])
        n_paths = len(problems) * len(folds)
        n_threads = min(effective_n_jobs(self.n_jobs), n_paths)
        task = {"estimator": self, "X": X, "y": y, "metadata": metadata}
        context = self._init_callback_context(
            max_subtasks=n_paths + 1, sequential_subtasks=n_threads == 1
        ).call_on_fit_task_begin(**task)

        def subtask(name, k):
            return context.subcontext(task_name=name, task_id=None if n_threads == 1 else k)

        random_state, stop = check_random_state(self.random_state), Event()
        losses, certificates = self._follow_folds(
            problems, folds, grids, random_state, n_threads, stop, subtask
        )
        progress = self._keep(losses, grids, certificates, problem)
        if stop.is_set():
            raise KeyboardInterrupt(progress)
        self._warn_of_unfinished()
        own = subtask("fit on all data", n_paths).call_on_fit_task_begin(**task)
        solution = self._solve(
            problems[self._chosen].with_alpha(self.alpha_),
            start=None,
            random_state=random_state,
            on_check=self._reporter(None, task),
        )
        for name, value in self._model([solution], y, None).items():
            setattr(self, name, value)
        self.dual_coef_ = problem.dual_table(solution.dual_coef)
        self._set_solutions(solution)
        own.call_on_fit_task_end(**task, reconstruction_attributes={})
        context.call_on_fit_task_end(**task, reconstruction_attributes={})
        return self

    def _folds(self, X: Any, y: Any, problem: Problem, split: dict[str, Any]) -> list[Fold]:
        """The folds, seen to have samples of positive weight; ``split`` is what is routed."""
        return checked_folds(list(check_cv(self.cv).split(X, y, **split)), problem, len(y))

    def _follow_folds(self, problems, folds, grids, random_state, n_threads, stop, subtask):
        """A path for each penalty and fold, in threads.

        Parameters
        ----------
        problems : list of Problem
            For each penalty that of all data.
        folds : list of pairs of ndarray
        grids : ndarray of shape (n_penalties, n_alphas)
        random_state : RandomState
        n_threads : int
        stop : Event
            Set by Ctrl-C, which ends the paths where they are.
        subtask : callable
            The callback context of a path, by its name and number.

        Returns
        -------
        losses : ndarray of shape (n_penalties, n_alphas, n_folds)
            The mean loss of the samples held out; nan for what was not reached.
        certificates : list of lists of lists
            For each penalty and fold those of the alphas that were reached.
        """
        losses = np.full((*grids.shape, len(folds)), np.nan)
        certificates: list[list[list]] = [[[] for _ in folds] for _ in problems]
        design = problems[0].design.shared_by(n_threads)
        shared = [problem.of_design(design) for problem in problems]
        pairs = list(product(range(len(problems)), range(len(folds))))

        def follow_fold(k: int, seed: int) -> None:
            which, fold = pairs[k]
            train, test = folds[fold]
            with _CALLBACK_LOCK:
                own = subtask(f"fold {fold}", k).call_on_fit_task_begin(estimator=self)
            part, held_out = shared[which].of_samples(train), shared[which].of_samples(test)
            self._require_unit(part)
            for a, solution in enumerate(follow(self, part, grids[which], seed, stop)):
                losses[which, a, fold] = _mean_loss(held_out, solution)
                certificates[which][fold].append(solution.certificate)
            with _CALLBACK_LOCK:
                own.call_on_fit_task_end(estimator=self)

        seeds = random_state.randint(np.iinfo(np.int32).max, size=len(pairs))
        try:
            map_in_threads(follow_fold, seeds, n_threads, stop)
        except KeyboardInterrupt:
            stop.set()
        return losses, certificates

    def _fitted_problems(self, X: Any, y: Any, sample_weight: Any) -> list[Problem]:
        (problem,) = super()._fitted_problems(X, y, sample_weight)
        penalty = self._penalties(problem)[self._chosen]
        return [replace(problem, penalty=penalty, alpha=self.alpha_)]

    def _alphas_of(self, problem: Problem) -> Array:
        if isinstance(self.alphas, Integral) and problem.largest_alpha == 0.0:
            return np.full(self.alphas, np.finfo(np.float64).resolution)  # as LassoCV
        return alpha_values([problem], self.alphas, self.eps)

    def _one_path(self) -> bool:
        """Whether what was tried has no axis of penalties."""
        return True

    def _errors(self, losses: Array, problem: Problem) -> dict[str, Array]:
        """The fitted attributes that say how good the models are on the folds."""
        return {"mse_path_": 2.0 * losses}

    def _keep(self, losses: Array, grids: Array, certificates: list, problem: Problem) -> str:
        """Set what was tried and the best of it, in place of what an earlier fit has left.

        Parameters
        ----------
        losses : ndarray of shape (n_penalties, n_alphas, n_folds)
        grids : ndarray of shape (n_penalties, n_alphas)
        certificates : list of lists of lists
            For each penalty and fold those of the alphas that were tried.
        problem : Problem
            That of all data.

        Returns
        -------
        progress : str
            How much of it was tried.
        """
        for name in [name for name in vars(self) if name.endswith("_")]:
            if name not in self._of_data:
                delattr(self, name)
        self.certificates_ = certificates
        errors = self._errors(losses, problem)
        for name, value in {**errors, "alphas_": grids}.items():
            setattr(self, name, value[0] if self._one_path() else value)
        n_tried = np.array([[len(path) for path in folds] for folds in certificates])
        everywhere = np.arange(grids.shape[1]) < n_tried.min(axis=1)[:, np.newaxis]
        if everywhere.any():
            self._choose(np.where(everywhere, losses.mean(axis=2), np.inf), grids)
        best = ", and alpha_ for the best" if everywhere.any() else ""
        return (
            f"{n_tried.sum()} of {losses.size} fits are finished, {everywhere.sum()} of "
            f"{grids.size} values on every fold: see {next(iter(errors))} and certificates_{best}."
        )

    def _choose(self, mean: Array, grids: Array) -> None:
        """Set the parameters with the least mean loss."""
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


class L1RatioCrossValidation(PathCrossValidation):
    """With l1_ratio chosen as well, where it holds several values."""

    l1_ratio: Any
    l1_ratio_: float
    _l1_ratio_range: ClassVar[Interval] = Interval(Real, 0, 1, closed="both")

    @abstractmethod
    def _penalty_of(self, l1_ratio: float, problem: Problem) -> Penalty:
        """That of the model with such an l1_ratio on the data of a problem."""

    def _l1_ratios(self) -> list[float]:
        ratios = np.atleast_1d(np.asarray(self.l1_ratio, dtype=np.float64))
        allowed = self._l1_ratio_range
        if not (ratios.ndim == 1 and len(ratios) and all(ratio in allowed for ratio in ratios)):
            raise ValueError(
                f"The 'l1_ratio' parameter of {type(self).__name__} must be {allowed}, or hold "
                f"such numbers, got {self.l1_ratio!r}."
            )
        return [float(ratio) for ratio in ratios]

    def _penalties(self, problem: Problem) -> list[Penalty]:
        others = [self._penalty_of(ratio, problem) for ratio in self._l1_ratios()[1:]]
        return [problem.penalty, *others]

    def _one_path(self) -> bool:
        return isinstance(self.l1_ratio, Real)

    def _choose(self, mean: Array, grids: Array) -> None:
        super()._choose(mean, grids)
        self.l1_ratio_ = self._l1_ratios()[self._chosen]


def _mean_loss(held_out, solution):
    predictions = held_out.matvec(held_out.join(solution.coef, solution.intercept))
    return kernels.dot(held_out.weights, held_out.loss.value(held_out.y, predictions))


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
    if not np.any(problem.weights[problem.rows_of(chosen)] > 0.0):
        raise ValueError(
            f"sample_weight must be positive somewhere in every fold, but is 0 in all {which}."
        )
    return chosen
