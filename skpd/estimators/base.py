"""The base class of estimators: parts that they declare, validation, and fitted attributes."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from typing import ClassVar, Self, TypeVar

import numpy as np
from joblib import effective_n_jobs
from scipy.optimize import Bounds

from .._compat import _fit_context, with_callbacks
from .._typing import Array, ArrayLike, Constraints, Groups, Matrix, MatrixLike, PerFeature, PerRow
from .._warn import warn
from ..designs import Design, RowBlocks
from ..designs.threads import one_blas_thread
from ..formulation.formulate import FormulatedProblems, Specification, formulate
from ..formulation.validation import _DATA, validated
from ..losses import Loss
from ..penalties import Penalty
from ..preprocessing.column_sources import carried_sources
from ..preprocessing.feature_names import Names, by_feature, required_names
from ..preprocessing.groups import groups_by_index, required_sources
from ..problems import Problem
from .fitting import SolvedModel
from .names import PENALTIES, chosen
from .penalty_by_feature import Ends, penalty_by_feature, with_zero

MAPPED = 1 << 30  # an array that is mapped from a file of as many bytes (1 GB) is read in blocks
LARGE = 1 << 20  # an array of as many entries is not read only to see that they are finite

Method = TypeVar("Method", bound=Callable)


def fit_method(method: Method) -> Method:
    """Decorate a method that fits: it validates parameters, informs callbacks, and limits BLAS."""
    return _fit_context(prefer_skip_nested_validation=True)(
        with_callbacks(one_blas_thread(method))
    )


class PrimalDualEstimator(SolvedModel):
    """Base class of linear models that a solver fits to a `Problem`, with a certificate.

    An estimator declares the parts of its problems: a loss, a penalty, and parameters for other
    parts, which have a default here. `fit` turns them into a `Specification`, from which problems
    are formulated; it solves these and sets the attributes from their solutions.
    """

    groups_: Array

    # the values of these parameters for estimators without them
    groups: Groups = None
    penalty_weights: PerFeature = None
    bounds: PerFeature = None
    constraints: Constraints = None
    noise_budget: float | None = None

    _named_penalties: ClassVar[dict] = PENALTIES  # the penalties that have a name
    _predicts_means: ClassVar[bool] = False  # whether predictions are exp(x.w + b)
    _needs_groups: ClassVar[bool] = False  # whether a fit without groups warns
    _checks_classes: ClassVar[bool] = False  # whether `_fitted_problems` compares the classes
    _columns_of_groups: tuple[str, ...] = ()  # all columns of `track_columns`
    _tracked_names: Names = None  # of the features that it makes
    _names_of_fit: Names = None  # for other data without names

    # Parts of the problems

    @fit_method
    def fit(
        self, X: MatrixLike, y: ArrayLike, sample_weight: PerRow = None, offset: PerRow = None
    ) -> Self:
        """Fit the model and certify it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data. Dense arrays, CSR and CSC in float64 or float32 are used as
            they are, without a copy.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets; in two dimensions only for models of several targets. For classifiers labels
            of classes, at least two of which need samples of positive weight.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, non-negative and not all zero; 1 by default. A weight
            of 2 equals a repeated row. With negative ones the objective is not convex, so
            that nothing could be proven of it.
        offset : float or array-like of shape (n_samples,), default=None
            Numbers that are added to the predictions x.w + b, such as the logarithm of an exposure
            for a model of counts; one number is that of all rows. For more than two classes, each
            against the others, the shape is (n_samples, n_classes); `LogisticPD` takes offsets for
            two classes only. Models of several outputs, of kernels and of robust losses take none.
            Predictions for rows that have an offset must be given it too.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If a parameter, the data or the weights are invalid.
        KeyboardInterrupt
            After Ctrl-C; the fitted attributes then hold the best model so far and its
            certificate.
        """
        fit = self._problems(X, y, sample_weight, self._checked_offset(offset))
        return self._fit(fit, sample_weight)

    def _get_penalty(self) -> Penalty:
        """The Penalty object of this model."""
        return self._by_feature(self._unweighted_penalty())

    def _by_feature(self, penalty: Penalty, n_outputs: int = 1) -> Penalty:
        """A penalty with the weights and bounds of the features."""
        names, alpha = self._feature_names, float(self.alpha)
        weights = by_feature("penalty_weights", self.penalty_weights, names, 1.0)
        return penalty_by_feature(penalty, weights, self._ends[0], alpha, n_outputs)

    @property
    def _ends(self) -> tuple[Ends, Bounds | None]:
        """The bounds of the penalty, and those that exclude 0, which are constraints."""
        names, unbounded = self._feature_names, (-np.inf, np.inf)
        bounds = by_feature("bounds", self.bounds, names, unbounded)
        takes_constraints = "constraints" in self._parameter_constraints
        return with_zero(bounds) if bounds is not None and takes_constraints else (bounds, None)

    @property
    def _feature_names(self) -> Names:
        """The names of the features of X, None where it has none."""
        names = getattr(self, "feature_names_in_", self._tracked_names)
        return self._names_of_fit if names is None else names

    def _unweighted_penalty(self) -> Penalty:
        """The penalty of the name or the object, without weights and bounds of features."""
        parameters = {"l1_ratio": self.l1_ratio, "groups": self._indexed_groups}
        return chosen("penalty", self.penalty, self._named_penalties, **parameters)

    @property
    def _named_groups(self) -> Groups:
        """The groups, of which the parameter may be a function of the names of features."""
        if not callable(self.groups):
            return self.groups
        return self.groups(required_names("groups", self._feature_names))

    @property
    def _indexed_groups(self) -> Groups:
        """Groups with the indices of their features instead of the names of columns."""
        groups = self._named_groups
        if isinstance(groups, str):
            return self.groups_
        return groups_by_index(groups, self._feature_names)

    # Problems

    def _specification(self, penalty: Penalty | None = None) -> Specification:
        """What the parameters say of the problem; the penalty is theirs unless one is passed."""
        budget, constraints, ends = self.noise_budget, self.constraints, self._ends[1]
        if ends is not None:
            several = constraints if isinstance(constraints, list | tuple) else [constraints]
            constraints = [*(each for each in several if each is not None), ends]
        return Specification(
            type(self).__name__, self._get_penalty() if penalty is None else penalty,
            float(self.alpha), bool(self.fit_intercept), self._solver(), constraints,
            self._copies(), None if budget is None else float(budget),
        )  # fmt: skip

    def _require_path(self) -> None:
        """Raise a ValueError that says what to do instead if the models make no path."""

    @abstractmethod
    def _problems(
        self, X: MatrixLike, y: ArrayLike, sample_weight: PerRow, offset: PerRow = None
    ) -> FormulatedProblems:
        """The validated data and the problems of a fit."""

    def _problems_of(
        self, X: MatrixLike, targets: Sequence[tuple[Array, Loss]], sample_weight: Array
    ) -> list[Problem]:
        """A problem for each pair of targets and their loss, or one of all of them."""
        design = Design(X, n_parallel=min(effective_n_jobs(self.n_jobs), len(targets)))
        return [self._problem(design, *target, sample_weight) for target in targets]

    def _problem(self, design: Design, y: Array, loss: Loss, sample_weight: Array) -> Problem:
        """The problem of one target."""
        return formulate(self._specification(), design, y, loss, sample_weight)

    def _fitted_problems(self, X, y, sample_weight, offset=None) -> list[Problem]:
        """The problems that the fitted model solves on some data."""
        fitted = self._as_fitted()
        return fitted._problems(X, y, sample_weight, self._checked_offset(offset)).problems

    def _as_fitted(self) -> Self:
        """A copy whose groups and names are those of the data that it was fitted to."""
        fitted = copy(self)
        fitted._names_of_fit = self._feature_names
        fitted.groups = getattr(self, "groups_", self.groups)
        return fitted

    # Validation

    def _read_sources(self, X: MatrixLike) -> None:
        """Keep what an array of `track_columns` says of its features.

        These are their names and, for ``groups="auto"``, in ``groups_`` the columns that they
        come from.
        """
        self._tracked_names = getattr(carried_sources(X), "names", None)
        if hasattr(self, "groups_"):
            del self.groups_
        if isinstance(self.groups, str):
            sources = required_sources(X)
            self.groups_, self._columns_of_groups = sources.labels(), sources.columns

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _validated(self, X, y, **options) -> tuple[Matrix | RowBlocks, np.ndarray, bool]:
        """Validated X and y, and whether `require_finite` must check X later."""
        if self._needs_groups and self.groups is None:
            warn(
                f"{type(self).__name__} has groups=None: each feature is a group of its own, "
                "which makes it the lasso. Pass groups, or groups=1 to silence this."
            )
        self._read_sources(X)
        is_large = isinstance(X, np.memmap) and X.ndim == 2 and X.nbytes >= MAPPED
        if is_large and self._takes_blocks and self._solver() == "auto":
            X = RowBlocks([X]) if self._get_penalty().structure.is_block_separable else X
        known = isinstance(X, np.ndarray) and X.dtype in _DATA["dtype"]
        unchecked = isinstance(X, RowBlocks) or (known and X.size >= LARGE)
        if y is None and isinstance(X, RowBlocks):
            y = X.target
        X, y = validated(self, X, y, ensure_all_finite=not unchecked, **_DATA, **options)
        if isinstance(X, RowBlocks):
            X = X.gathered_if_small()
        return X, y, unchecked
