"""Choice of alpha and l1_ratio by cross-validation along regularisation paths."""

from abc import abstractmethod
from collections.abc import Sequence
from itertools import product
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state
from sklearn.utils import metadata_routing as routing

from .. import kernels
from .._compat import Interval
from .._typing import Array, ArrayLike, MatrixLike, PerRow
from ..estimators.base import fit_method
from ..estimators.regressor import PrimalDualRegressor
from ..formulation.alphas import alpha_values
from ..formulation.formulate import require_unit
from ..formulation.offsets import given
from ..formulation.progress import subtask
from ..losses import Squared
from ..penalties import Penalty
from ..problems import Problem
from .folds import (
    Fold,
    FoldPath,
    called_by_fit,
    checked_folds,
    follow_folds,
    forget_fit,
    warn_of_end,
    warn_of_unfinished,
)


class PathCrossValidation(PrimalDualRegressor):
    """Base class of models with alpha chosen by the mean loss of held-out samples.

    The loss is the squared one unless a subclass has another.
    """

    alpha: ClassVar[float] = 1.0  # of the problem that those of the paths are made of
    alpha_: float
    alphas_: Array
    mse_path_: Array
    certificates_: list
    _chosen: int

    # fitted attributes that say what the data is like, which `_problems` sets
    _of_data: ClassVar[set] = {"n_features_in_", "feature_names_in_"}
    _own_constraints: ClassVar[dict] = {"eps": [Interval(Real, 0, 1, closed="right")]}

    def _penalties(self, problem: Problem) -> Sequence[Penalty]:
        """The penalties to choose from, one for each l1_ratio; the first is the problem's own."""
        return [problem.penalty]

    def _get_loss(self) -> Squared:
        return Squared()

    @fit_method
    def fit(
        self, X: MatrixLike, y: ArrayLike, sample_weight: PerRow = None, offset: PerRow = None,
        **params: Any,
    ) -> Self:  # fmt: skip
        """Choose the parameters by cross-validation, fit the model on all data and certify it.

        {X_of_fit}
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets; in two dimensions for several outputs only.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples in the fits and in the mean loss of each fold; the average
            over the folds is not weighted, as in `LassoCV`.
        {offset_of_fit}
        **params : dict
            Parameters of the splitter, with scikit-learn's metadata routing.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If a parameter, the data or the weights are invalid, if ``cv`` yields indices out of
            range, or if a fold has no sample of positive weight to train or to test on, or none of
            some task to train on.
        KeyboardInterrupt
            After Ctrl-C; the message says which fits are finished. The attributes ``alphas_``,
            ``certificates_`` and the errors on the folds, nan where they are missing, then hold
            the finished fits, and ``alpha_`` the best of the values that were tried on every fold.
            If all folds were finished, ``coef_`` and the like are the best model of all data so
            far.
        """
        routing._raise_for_params(params, self, "fit")
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        fit = self._problems(X, y, sample_weight, **self._offset(offset))
        X, y, (problem,), *_ = fit
        split = {}
        if routing._routing_enabled():
            routed = routing.process_routing(self, "fit", sample_weight=sample_weight, **params)
            split = routed.splitter.split
        folds = self._folds(X, y, problem, split)
        others = self._penalties(problem)[1:]
        problems = [problem, *(problem.with_penalty(penalty, problem.alpha) for penalty in others)]
        grids = np.array([self._alphas_of(each) for each in problems])
        n_paths = len(problems) * len(folds)
        n_threads = min(effective_n_jobs(self.n_jobs), n_paths)
        task = {"estimator": self, "X": X, "y": y, "metadata": metadata}
        context = self._init_callback_context(
            max_subtasks=n_paths + 1, sequential_subtasks=n_threads == 1
        ).call_on_fit_task_begin(**task)
        random_state = check_random_state(self.random_state)
        losses, certificates, interrupted = self._follow_folds(
            problems, folds, grids, random_state, n_threads, context
        )
        progress = self._keep(losses, grids, certificates, problem)
        if interrupted:
            raise KeyboardInterrupt(progress)
        gaps = [c.relative_gap for paths in certificates for path in paths for c in path]
        name, fits = type(self).__name__, "fits of the cross-validation"
        warn_of_unfinished(name, self, gaps, fits)
        grid = grids[self._chosen]
        place = int(np.argmax(grid == self.alpha_))
        warn_of_end(name, self.alphas, grid, losses[self._chosen].T, place)
        chosen = problems[self._chosen].with_alpha(self.alpha_)
        with subtask(context, task, "fit on all data", n_paths, reconstruction_attributes={}):
            solution = self._solve(
                chosen, start=None, random_state=random_state, on_check=self._reporter(None, task)
            )
            self._set_solutions([solution], fit._replace(problems=[chosen]))
        context.call_on_fit_task_end(**task, reconstruction_attributes={})
        return self

    def _folds(self, X: MatrixLike, y: Any, problem: Problem, split: dict[str, Any]) -> list[Fold]:
        """The folds, after a check that they have samples of positive weight.

        ``split`` holds the routed parameters of the splitter.
        """
        return checked_folds(list(check_cv(self.cv).split(X, y, **split)), problem, len(y))

    def _follow_folds(self, problems, folds, grids, random_state, n_threads, context):
        """A path for each penalty and fold, in threads.

        Parameters
        ----------
        problems : list of Problem
            The problem of all data for each penalty.
        folds : list of pairs of ndarray
        grids : ndarray of shape (n_penalties, n_alphas)
        random_state : RandomState
        n_threads : int
        context : CallbackContext
            That of the whole fit.

        Returns
        -------
        losses : ndarray of shape (n_penalties, n_alphas, n_folds)
            The mean loss of the samples held out; nan for fits that are missing.
        certificates : list of lists of lists
            The certificates of the finished fits, for each penalty and fold.
        interrupted : bool
            Whether Ctrl-C has ended the paths.
        """
        design = problems[0].design.shared_by(n_threads)
        shared = [problem.of_rows(problem.rows.with_design(design)) for problem in problems]
        pairs = list(product(range(len(problems)), range(len(folds))))

        def path_of(k: int) -> FoldPath:
            which, fold = pairs[k]
            part, held_out = (shared[which].of_samples(samples) for samples in folds[fold])
            require_unit(part)

            def mean_loss(alpha, solutions):
                z, _ = held_out.predictions(solutions[0].coef, solutions[0].intercept)
                values = held_out.loss.value(held_out.y, z)
                return kernels.dot(held_out.weights, values)

            return FoldPath(self, [part], grids[which], mean_loss)

        found = follow_folds(
            path_of,
            (len(pairs), grids.shape[1]),
            random_state,
            n_threads,
            lambda k: subtask(context, {"estimator": self}, f"fold {pairs[k][1]}", k),
        )
        losses = found.values.reshape(len(problems), len(folds), -1).transpose(0, 2, 1)
        flat = [[certificate for (certificate,) in path] for path in found.certificates]
        n_folds = len(folds)
        certificates = [flat[k : k + n_folds] for k in range(0, len(flat), n_folds)]
        return np.ascontiguousarray(losses), certificates, found.interrupted

    def _fitted_problems(
        self, X: MatrixLike, y: ArrayLike, sample_weight: PerRow, offset: PerRow = None
    ) -> list[Problem]:
        (problem,) = super()._fitted_problems(X, y, sample_weight, **given(offset))
        penalty = self._penalties(problem)[self._chosen]
        return [problem.with_penalty(penalty, self.alpha_)]

    def _alphas_of(self, problem: Problem) -> Array:
        if isinstance(self.alphas, Integral) and problem.largest_alpha == 0.0:
            return np.full(self.alphas, np.finfo(np.float64).resolution)  # as LassoCV
        return alpha_values([problem], self.alphas, self.eps)

    def _one_path(self) -> bool:
        """Whether there is a single penalty, so that results have no axis of penalties."""
        return True

    def _errors(self, losses: Array, problem: Problem) -> dict[str, Array]:
        """The fitted attributes that hold the errors of the models on the folds."""
        return {"mse_path_": 2.0 * losses}

    def _keep(self, losses: Array, grids: Array, certificates: list, problem: Problem) -> str:
        """Set the attributes of the cross-validation, in place of those of an earlier fit.

        Parameters
        ----------
        losses : ndarray of shape (n_penalties, n_alphas, n_folds)
        grids : ndarray of shape (n_penalties, n_alphas)
        certificates : list of lists of lists
            The certificates of the finished fits, for each penalty and fold.
        problem : Problem
            The problem of all data.

        Returns
        -------
        progress : str
            A sentence that says how many fits are finished.
        """
        forget_fit(self, but=self._of_data)
        self.certificates_ = certificates
        errors = self._errors(losses, problem)
        for name, value in errors.items():
            setattr(self, name, value[0] if self._one_path() else value)
        self.alphas_ = grids[0] if self._one_path() or np.ndim(self.alphas) else grids
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

    def get_metadata_routing(self) -> routing.MetadataRouter:
        """The metadata that `fit` takes and passes on to the splitter.

        Returns
        -------
        routing : MetadataRouter
            Requests of `fit` and of the splitter's ``split``.
        """
        router = routing.MetadataRouter(owner=self).add_self_request(self)
        return router.add(splitter=check_cv(self.cv), method_mapping=called_by_fit("split"))


class L1RatioCrossValidation(PathCrossValidation):
    """Base class of models with alpha and, where several values are given, l1_ratio chosen."""

    l1_ratio: Any
    l1_ratio_: float
    _l1_ratio_range: ClassVar[Interval] = Interval(Real, 0, 1, closed="both")

    @abstractmethod
    def _penalty_of(self, l1_ratio: float, problem: Problem) -> Penalty:
        """The penalty of the model with an l1_ratio, for the data of a problem."""

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
