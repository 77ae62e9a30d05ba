"""Choice of alpha by cross-validation along paths, and models that are fitted in this way."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import ClassVar, Generic, Self, TypeVar

import numpy as np
from joblib import effective_n_jobs
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state
from sklearn.utils import metadata_routing as routing

from .. import kernels
from .._compat import CallbackSupportMixin, Interval
from .._typing import Array, ArrayLike, Matrix, MatrixLike, Metadata, PerRow
from ..certificates import Certificate
from ..estimators.base import PrimalDualEstimator, fit_method
from ..estimators.parameters import IterationLimit, StoppingParameters, WithOptions, shared
from ..estimators.regressor import PrimalDualRegressor
from ..formulation.alphas import alpha_values, at_alpha
from ..formulation.formulate import require_unit
from ..formulation.offsets import without_none
from ..formulation.progress import CallbackContext, FitTask, subtask
from ..losses import Loss, Squared
from ..penalties import Penalty
from ..problems import Problem
from . import fold_paths
from .fold_paths import Fold, FoldPath, FoldPaths, FollowedPaths, Splits

Paths = TypeVar("Paths", bound=FoldPaths)


class PathSelection(CallbackSupportMixin, Generic[Paths]):
    """Base class of estimators that choose alpha by the models of paths on folds."""

    @abstractmethod
    def _choose_alpha(self, paths: FollowedPaths, folds: Paths) -> str:
        """Set the attributes of the finished fits in place of those of an earlier fit.

        Returns
        -------
        progress : str
            A sentence that says how many fits are finished.
        """

    def _follow_folds(self, folds: Paths, context: CallbackContext) -> FollowedPaths:
        """The values of the models on all folds; ``context`` is that of the whole fit."""
        n_folds = len(folds.folds)
        return folds.follow(
            lambda k: subtask(context, {"estimator": self}, f"fold {k % n_folds}", k)
        )

    def _select(
        self, folds: Paths, task: FitTask, fit_on_all_data: Callable[[CallbackContext], None]
    ) -> FollowedPaths:
        """Choose by the values on the folds and fit the model to all data, in a subtask."""
        n_paths = len(folds.grids) * len(folds.folds)
        context = self._init_callback_context(
            max_subtasks=n_paths + 1, sequential_subtasks=folds.n_threads == 1
        ).call_on_fit_task_begin(**task)
        paths = self._follow_folds(folds, context)
        progress = self._choose_alpha(paths, folds)
        if paths.interrupted:
            raise KeyboardInterrupt(progress)
        at_end: FitTask = {"reconstruction_attributes": {}}
        with subtask(context, task, "fit on all data", n_paths, **at_end) as part:
            fit_on_all_data(part)
        context.call_on_fit_task_end(**task, **at_end)
        return paths


@shared
class CrossValidationParameters(StoppingParameters, IterationLimit, WithOptions):
    """The grid of alphas and the folds, and how the models of a path are fitted."""

    eps: float = 1e-3
    alphas: int | ArrayLike = 100
    cv: Splits = None
    fit_intercept: bool = True
    n_jobs: int | None = None


@dataclass(frozen=True)
class LossFolds(FoldPaths):
    """The paths of problems on folds, with the mean losses of the samples held out.

    Attributes
    ----------
    estimator : PrimalDualEstimator
        The estimator whose solver follows the paths.
    problems : list of Problem
        The problem of all data for each grid.
    """

    estimator: PrimalDualEstimator
    problems: list[Problem]

    def path_of(self, k: int) -> FoldPath:
        """The path of a problem on the training samples of a fold."""
        index, fold = divmod(k, len(self.folds))
        problem = self.problems[index]
        design = problem.design.shared_by(self.n_threads)
        problem = problem.of_rows(problem.rows.with_design(design))
        part, held_out = (problem.of_samples(samples) for samples in self.folds[fold])
        part = part.of_rows(part.rows.without(self.folds[fold][1], self.problems[index].rows))
        require_unit(part)

        def mean_loss(solution):
            model = held_out.join(solution.coef, solution.intercept)
            values = held_out.loss.value(held_out.y, held_out.matvec(model))
            return kernels.dot(held_out.weights, values)

        def mean_losses(alphas, rows):
            return np.array([mean_loss(solution) for (solution,) in rows])

        return FoldPath(self.estimator, [part], self.grids[index], mean_losses)


class PathCrossValidation(PathSelection[LossFolds], PrimalDualRegressor):
    """Base class of models with parameters chosen by the mean loss of held-out samples.

    The parameters are alpha, and l1_ratio where several values are given. The loss is the squared
    one unless a subclass has another.
    """

    alpha: ClassVar[float] = 1.0  # that of the problem before alphas are chosen
    alpha_: float
    l1_ratio_: float
    alphas_: Array
    mse_path_: Array
    loss_path_: Array
    certificates_: list[list[list[Certificate]]]

    alphas: int | ArrayLike
    cv: Splits
    eps: float
    l1_ratio: float | ArrayLike = 1.0

    _chosen_parameters: ClassVar[tuple[str, ...]] = ("alpha", "l1_ratio")
    # the fitted attributes that `_problems` sets, which describe the data
    _of_data: ClassVar[set[str]] = {"n_features_in_", "feature_names_in_"}
    _l1_ratio_range: ClassVar[Interval] = Interval(Real, 0, 1, closed="both")
    _own_constraints: ClassVar[dict] = {
        "eps": [Interval(Real, 0, 1, closed="right")],
        "l1_ratio": [_l1_ratio_range, "array-like"],
    }

    @abstractmethod
    def _penalty_of(self, l1_ratio: float, n_features: int, n_outputs: int) -> Penalty:
        """The penalty of the model with an l1_ratio."""

    def _get_penalty(self) -> Penalty:
        return self._penalty_of(self._l1_ratios()[0], self.n_features_in_, 1)

    def _get_loss(self) -> Loss:
        return Squared()

    @fit_method
    def fit(
        self, X: MatrixLike, y: ArrayLike, sample_weight: PerRow = None, offset: PerRow = None,
        **params: object,
    ) -> Self:  # fmt: skip
        """Choose the parameters by cross-validation, fit the model on all data and certify it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data. Dense arrays, CSR and CSC in float64 or float32 are used as
            they are, without a copy.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets; in two dimensions for several outputs only.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples in the fits and in the mean loss of each fold; the average
            over the folds is not weighted, as in `LassoCV`.
        offset : float or array-like of shape (n_samples,), default=None
            Numbers that are added to the predictions x.w + b, such as the logarithm of an exposure
            for a model of counts; one number is that of all rows. For more than two classes, each
            against the others, the shape is (n_samples, n_classes); `LogisticPD` takes offsets for
            two classes only. Models of several outputs, of kernels and of robust losses take none.
            Predictions for rows that have an offset must be given it too.
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
        fit = self._problems(X, y, sample_weight, self._checked_offset(offset))
        split = {}
        if routing._routing_enabled():
            routed = routing.process_routing(self, "fit", sample_weight=sample_weight, **params)
            split = routed.splitter.split
        (problem,) = fit.problems
        samples = self._folds(fit.X, fit.y, problem, split)
        problems = [self._with_l1_ratio(problem, ratio) for ratio in self._l1_ratios()]
        grids = np.array([self._alphas_of(each) for each in problems])
        n_threads = min(effective_n_jobs(self.n_jobs), len(grids) * len(samples))
        random_state = check_random_state(self.random_state)
        folds = LossFolds(samples, grids, n_threads, random_state, self, problems)
        metadata = without_none(sample_weight=sample_weight) or None
        task: FitTask = {"estimator": self, "X": fit.X, "y": fit.y, "metadata": metadata}

        def fit_on_all_data(context: CallbackContext) -> None:
            chosen = at_alpha(problems[self._chosen], self.alpha_)
            solution = self._solve(
                chosen, start=None, random_state=random_state, on_check=self._reporter(None, task)
            )
            self._set_solutions([solution], fit._replace(problems=[chosen]))

        self._select(folds, task, fit_on_all_data)
        return self

    def _folds(self, X: Matrix, y: Array, problem: Problem, split: Metadata) -> list[Fold]:
        """The folds, after a check that they have samples of positive weight.

        ``split`` holds the routed parameters of the splitter.
        """
        pairs = list(check_cv(self.cv).split(X, y, **split))
        return fold_paths.checked_folds(pairs, problem, len(y))

    def _l1_ratios(self) -> list[float]:
        ratios = np.atleast_1d(np.asarray(self.l1_ratio, dtype=np.float64))
        allowed = self._l1_ratio_range
        if not (ratios.ndim == 1 and len(ratios) and all(ratio in allowed for ratio in ratios)):
            raise ValueError(
                f"The 'l1_ratio' parameter of {type(self).__name__} must be {allowed}, or hold "
                f"such numbers, got {self.l1_ratio!r}."
            )
        return [float(ratio) for ratio in ratios]

    def _with_l1_ratio(self, problem: Problem, l1_ratio: float) -> Problem:
        n_features = problem.n_coefficients // problem.n_outputs
        penalty = self._penalty_of(l1_ratio, n_features, problem.n_outputs)
        return problem.with_penalty(penalty, problem.alpha)

    def _fitted_problems(self, X, y, sample_weight, offset=None) -> list[Problem]:
        (problem,) = super()._fitted_problems(X, y, sample_weight, offset)
        chosen = self._with_l1_ratio(problem, self._l1_ratios()[self._chosen])
        return [at_alpha(chosen, self.alpha_)]

    def _alphas_of(self, problem: Problem) -> Array:
        if isinstance(self.alphas, Integral) and problem.largest_alpha == 0.0:
            return np.full(self.alphas, np.finfo(np.float64).resolution)  # as in LassoCV
        return alpha_values([problem], self.alphas, self.eps, self._fits_alpha_0)

    def _errors(self, losses: Array, problem: Problem) -> dict[str, Array]:
        """The fitted attributes that hold the errors of the models on the folds."""
        return {"mse_path_": 2.0 * losses}

    def _choose_alpha(self, paths: FollowedPaths, folds: LossFolds) -> str:
        fold_paths.forget_fit(self, but=self._of_data)
        grids, n_folds = paths.grids, len(folds.folds)
        starts = range(0, len(paths.certificates), n_folds)
        certificates = [[certificate for (certificate,) in path] for path in paths.certificates]
        self.certificates_ = [certificates[start : start + n_folds] for start in starts]
        losses = paths.values.reshape(len(grids), n_folds, -1).transpose(0, 2, 1)
        one_path = isinstance(self.l1_ratio, Real)  # then results have no axis of l1_ratios
        errors = self._errors(np.ascontiguousarray(losses), folds.problems[0])
        for name, value in errors.items():
            setattr(self, name, value[0] if one_path else value)
        self.alphas_ = grids[0] if one_path or np.ndim(self.alphas) else grids
        mean = np.where(paths.on_every_fold, losses.mean(axis=2), np.inf)
        self._chosen, index = map(int, np.unravel_index(np.argmin(mean), mean.shape))
        progress = paths.progress(f"{next(iter(errors))} and certificates_")
        if not paths.on_every_fold.any():
            return f"{progress}."
        choice = grids[self._chosen, index], self._l1_ratios()[self._chosen]
        for name, value in zip(self._chosen_parameters, choice, strict=False):
            setattr(self, f"{name}_", float(value))
        if not paths.interrupted:
            name, grid, scores = type(self).__name__, grids[self._chosen], losses[self._chosen].T
            fits = "fits of the cross-validation"
            fold_paths.warn_of_unfinished(name, self, paths.gaps, fits)
            fold_paths.warn_of_end(name, self.alphas, grid, scores, index)
        return f"{progress}, and alpha_ for the best."

    def get_metadata_routing(self) -> routing.MetadataRouter:
        """The metadata that `fit` takes and passes on to the splitter.

        Returns
        -------
        routing : MetadataRouter
            Requests of `fit` and of the splitter's ``split``.
        """
        router, split = routing.MetadataRouter(owner=self), fold_paths.called_by_fit("split")
        return router.add_self_request(self).add(splitter=check_cv(self.cv), method_mapping=split)
