"""The base class of estimators: parts that they declare, validation, and fitted attributes."""

from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._compat import CallbackSupportMixin, _fit_context, with_callbacks
from .._typing import Array, ArrayLike
from .._warn import warn
from ..certificates import Certificate
from ..designs import Design, RowBlocks
from ..losses import Loss
from ..penalties import Penalty
from ..problems import Point, Problem, Solution
from ..solvers import Monitor, check_solver_options, method_named
from .docstrings import documented
from .fits import dual_coef_of, fit_problems, last_points, solve_problem
from .groups import groups_by_place, required_sources
from .names import PENALTIES, chosen
from .offsets import required, with_offsets
from .overlapping import Copies
from .parameters import ParameterValidation, penalty_by_feature
from .posing import FitProblems, linear_problem
from .predictions import linear_predictions
from .validation import validated

_DATA = {"accept_sparse": ("csr", "csc"), "dtype": [np.float64, np.float32]}
MAPPED = 1 << 30  # bytes from which on an array mapped from a file is taken in blocks: 1 GB
LARGE = 1 << 20  # entries of an array that are not read once more to see that they are finite


def _has_coefficients(estimator: Any) -> bool:
    return estimator._model_attribute == "coef_"


def fit_method(method: Any) -> Any:
    """Decorate a method that fits: it then validates parameters and informs callbacks."""
    return documented(_fit_context(prefer_skip_nested_validation=True)(with_callbacks(method)))


class PrimalDualEstimator(CallbackSupportMixin, ParameterValidation):
    """Base class of linear models that a solver fits to a `Problem`, with a certificate.

    An estimator declares the parts of its problems: a loss, a penalty, and parameters for other
    parts, which have a default here. The functions of `posing` put the parts together, and those
    of `fits` solve the problems and set the fitted attributes.
    """

    coef_: Any
    intercept_: Any
    dual_coef_: Array
    groups_: Array
    certificate_: Certificate | list[Certificate]
    duality_gap_: float
    relative_gap_: float
    gap_history_: Any
    n_iter_: int
    converged_: bool

    # parameters, as they are for the estimators that do not have them
    solver: str = "auto"
    solver_options: dict[str, Any] | None = None
    fit_intercept: bool = True
    warm_start: bool = False
    n_jobs: int | None = None
    groups: Any = None
    penalty_weights: Any = None
    bounds: Any = None
    constraints: Any = None
    noise_budget: float | None = None

    _path_parameter: ClassVar[str] = "alpha"  # whose values a path follows
    _no_path: str = ""  # why there is no path, and what to do instead
    _named_penalties: ClassVar[dict] = PENALTIES  # those that have a name
    _takes_blocks: ClassVar[bool] = False  # whether X may be `RowBlocks`
    _takes_offset: ClassVar[bool] = True  # whether the predictions of rows may have offsets
    _predicts_means: ClassVar[bool] = False  # exp(x.w + b), with a score of its own
    _needs_groups: ClassVar[bool] = False  # whether a fit without groups warns
    _columns_of_groups: tuple[str, ...] = ()  # those of `sourced`, also without a feature
    _advice: ClassVar[str] = "bring the features to a common scale"  # where a fit fails
    _precision: Any = np.float64  # of the coefficients: that of the last X of `_problems`
    _model_attribute: ClassVar[str] = "coef_"  # which there is if, and only if, it is fitted
    _weights_attribute: ClassVar[str] = "coef_"  # which is 0 in a constant model
    _constant_model: ClassVar[str] = "ignores all features"  # what such a model does

    # Parts of the problems

    @fit_method
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
    ) -> Self:  # fmt: skip
        """Fit the model and certify it.

        {X_of_fit}
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets; in two dimensions only for models of several targets. For classifiers labels
            of classes, at least two of which need samples of positive weight.
        {sample_weight_of_fit}
        {offset_of_fit}

        {results_of_fit}
        """
        fit = self._problems(X, y, sample_weight, **required(self, offset))
        return fit_problems(self, fit, sample_weight)

    @abstractmethod
    def _get_loss(self) -> Loss:
        """The Loss object of this model."""

    def _get_penalty(self) -> Penalty:
        """The Penalty object of this model."""
        given = {"l1_ratio": self.l1_ratio, "groups": self._places_of(self.groups)}
        penalty = chosen("penalty", self.penalty, self._named_penalties, **given)
        return penalty_by_feature(penalty, self.penalty_weights, self.bounds)

    def _copies(self) -> Copies | None:
        """Copies of the features that are in several groups; None where groups do not overlap."""
        return None

    def _places_of(self, groups: Any) -> Any:
        """Groups with the indices of their features in place of the names of columns."""
        if isinstance(groups, str):
            return self.groups_
        return groups_by_place(groups, getattr(self, "feature_names_in_", None))

    # Problems

    @abstractmethod
    def _problems(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, offset: Any = None
    ) -> FitProblems:
        """The validated data and the problems of a fit; those with ``_takes_offset`` take one."""

    def _problems_of(
        self, X: Any, targets: Sequence[tuple[Array, Loss]], sample_weight: Array
    ) -> list[Any]:
        """A problem for each pair of targets and their loss, or one of all of them."""
        design = Design(X, n_parallel=min(effective_n_jobs(self.n_jobs), len(targets)))
        return [self._problem(design, *target, sample_weight) for target in targets]

    def _problem(self, design: Design, y: Array, loss: Loss, sample_weight: Array) -> Problem:
        """The problem of one target."""
        return linear_problem(self, design, y, loss, sample_weight)

    def _fitted_problems(self, X, y, sample_weight, offset=None) -> list[Problem]:
        """The problems that the fitted model solves on some data."""
        fitted = self._with_groups_found()
        return fitted._problems(X, y, sample_weight, **required(self, offset)).problems

    def _with_groups_found(self) -> Self:
        """The model, or a copy whose groups are those of the data that it was fitted to."""
        if not hasattr(self, "groups_"):
            return self
        fitted = copy(self)
        fitted.groups = self.groups_
        return fitted

    # Validation

    def _find_groups(self, X: Any) -> None:
        """Set ``groups_`` to the columns that the features come from, for ``groups="auto"``."""
        if hasattr(self, "groups_"):
            del self.groups_
        if isinstance(self.groups, str):
            sources = required_sources(X)
            self.groups_, self._columns_of_groups = sources.labels(), sources.columns

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is a model; an interrupted fit may have set other attributes."""
        return hasattr(self, self._model_attribute)

    def _validated(self, X, y, **options):
        """Validated X and y, and whether `require_finite` must check X later."""
        if self._needs_groups and self.groups is None:
            warn(
                f"{type(self).__name__} has groups=None: each feature is a group of its own, "
                "which makes it the lasso. Pass groups, or groups=1 for this model.",
            )
        self._find_groups(X)
        if isinstance(X, np.memmap) and X.ndim == 2 and X.nbytes >= MAPPED and self._reads_blocks:
            X = RowBlocks([X])
        known = isinstance(X, np.ndarray) and X.dtype in _DATA["dtype"]
        unchecked = isinstance(X, RowBlocks) or (known and X.size >= LARGE)
        if y is None and isinstance(X, RowBlocks):
            y = X.target
        X, y = validated(self, X, y, ensure_all_finite=not unchecked, **_DATA, **options)
        if isinstance(X, RowBlocks):
            X = X.gathered_if_small()
        return X, y, unchecked

    @property
    def _reads_blocks(self) -> bool:
        """Whether the solver "auto" fits this model from `RowBlocks`."""
        by_engine = self._takes_blocks and self._solver() == "auto"
        return by_engine and self._get_penalty().structure.in_parts

    # Solution

    def _solver(self) -> str:
        """The name of the solver among those of `skpd.solvers`."""
        return self.solver

    def _checked_options(self, problem: Problem) -> dict[str, Any]:
        """The options of the solver, after a check that it takes them."""
        return check_solver_options(method_named(self._solver(), problem), self.solver_options)

    def _last_points(self, fit: FitProblems) -> list[Point] | None:
        """The last model as points of problems; None if the shapes differ."""
        return last_points(self, fit)

    def _solve(self, problem, *, start, random_state, on_check=None) -> Solution:
        """Solve and certify a problem."""
        return solve_problem(self, problem, start, random_state, on_check)

    # Fitted attributes

    def _best_point(self, monitor: Monitor) -> Any:
        """The best point of a solver so far, for `_model`."""
        return monitor.best

    @abstractmethod
    def _model(self, points: Sequence[Point | Solution], fit: FitProblems) -> dict[str, Any]:
        """The fitted attributes that make predictions, from a point for each of the problems."""

    def _other_attributes(self, solutions: Sequence[Solution], fit: FitProblems) -> dict[str, Any]:
        """The dual solution, and attributes that belong to a fit but make no predictions."""
        return {"dual_coef_": dual_coef_of(solutions, fit)}

    def _scores(self, X: Any, offset: Any = None) -> Array:
        """The predictions of the model for rows, of shape (n_samples, n_outputs)."""
        check_is_fitted(self)
        X = validated(self, X, reset=False, **_DATA)
        return with_offsets(linear_predictions(X, self._coef_rows, self.intercept_), offset)

    def _with_model(
        self, alpha: float, points: Sequence[Point | Solution], fit: FitProblems
    ) -> Self:
        """Copy the estimator with another alpha and its model, for predictions only.

        The estimator must have validated the data by `_problems`, whose result is ``fit``.
        """
        other = copy(self)
        for name, value in {self._path_parameter: alpha, **self._model(points, fit)}.items():
            setattr(other, name, value)
        return other

    # The form of the model

    @available_if(_has_coefficients)
    def sparsify(self) -> Self:
        """Convert ``coef_`` to a sparse array.

        A sparse array takes less memory, in pickles too, where more than half of the coefficients
        are 0. Predictions, warm starts and `certify` accept it. It has two dimensions, also where
        ``coef_`` had one.

        Returns
        -------
        self : object
        """
        check_is_fitted(self)
        self.coef_ = sp.csr_array(np.atleast_2d(self._dense_coef))
        return self

    @available_if(_has_coefficients)
    def densify(self) -> Self:
        """Convert ``coef_`` back to the array that `fit` makes.

        Returns
        -------
        self : object
        """
        check_is_fitted(self)
        self.coef_ = self._dense_coef
        return self

    def drop_dual_coef(self) -> Self:
        """Remove ``dual_coef_``, which has a number for each sample, also in pickles.

        Only a warm start of the next `fit` needs it, which then starts anew. The attribute
        ``certificate_`` and its bounds on the coefficients are kept.

        Returns
        -------
        self : object
        """
        check_is_fitted(self)
        self.__dict__.pop("dual_coef_", None)
        return self

    @property
    def _dense_coef(self) -> Array:
        """The coefficients as a dense array, also after `sparsify`."""
        if not sp.issparse(self.coef_):
            return self.coef_
        table = self.coef_.toarray()
        return table if np.ndim(self.intercept_) else table[0]

    @property
    def _coef_rows(self) -> Any:
        """The coefficients with a row for each output, in dense or sparse format."""
        return self.coef_ if sp.issparse(self.coef_) else np.atleast_2d(self.coef_)
