"""Validated data, targets and weights, from which the objectives of all estimators are made."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils import column_or_1d

from .._checks import shown
from .._typing import Array, ArrayLike, Indices, Matrix, MatrixLike, PerRow
from ..designs import Design, RowBlocks
from ..designs.products_with_tables import with_columns
from ..estimators.classifier import weights_of_classes
from ..formulation.offsets import offset_columns
from ..formulation.validation import checked_weights, require_lengths, validated_array
from ..losses import Loss
from ..losses.shifted import separate_offset, with_offset
from ..penalties import Penalty, Structure, for_features
from ..penalties.weighted import unpenalised
from ..problems import Problem, linear_problem
from ..problems.shards.problem_of_shards import problem_of_shards
from ..problems.shards.shard import Shard, Targets
from ..problems.shards.shards import LocalShards
from .linear_fit import LinearFit


@dataclass(frozen=True)
class Data:
    """Validated X and sample_weight, and the targets as given."""

    X: Matrix | RowBlocks
    y: np.ndarray
    sample_weight: Array
    name: str  # of the estimator, for messages
    offset: Array | None = None
    strata: PerRow = None  # labels, for proportional hazards
    columns: Sequence[str] | None = None  # the names that a data frame has
    _with_column: dict[float, Design | RowBlocks] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls, estimator: BaseEstimator, X: MatrixLike, y: ArrayLike, sample_weight: PerRow,
        offset: PerRow = None, strata: PerRow = None,
    ) -> "Data":  # fmt: skip
        columns = getattr(X, "columns", None)
        if isinstance(X, RowBlocks):
            X = X.gathered_if_small()
        if not isinstance(X, RowBlocks):
            X = validated_array(X, accept_sparse=("csr", "csc"), dtype=[np.float64, np.float32])
        require_lengths(X=X, y=y, sample_weight=sample_weight)
        sample_weight = checked_weights(sample_weight, X)
        (offset,) = offset_columns(offset, X.shape[0], 1)
        name = type(estimator).__name__
        return cls(X, np.asarray(y), sample_weight, name, offset, strata, columns)

    @cached_property
    def design(self) -> Design:
        """The data as a `Design`.

        Raises
        ------
        ValueError
            If the data are not in memory.
        """
        if isinstance(self.X, RowBlocks):
            raise ValueError(
                f"{self.name}, as a model of several outputs or with a scale, needs X in memory, "
                "got RowBlocks."
            )
        return Design(self.X)

    def with_column(self, value: float) -> Matrix | RowBlocks:
        """The data with one more column that holds a constant."""
        if isinstance(self.X, RowBlocks):
            return self.X.with_column(value)
        X = self.X if np.dtype(self.X.dtype).type(value) == value else self.X.astype(np.float64)
        return with_columns(X, np.full((X.shape[0], 1), value, dtype=X.dtype))

    @cached_property
    def targets(self) -> Array:
        """The targets of a regression as numbers, of shape (n_samples, n_targets)."""
        y = validated_array(self.y, ensure_2d=False, dtype=np.float64)
        return y.reshape(len(y), -1)

    def labels(self, classes: np.ndarray) -> Indices:
        """The index of the class of each row.

        Raises
        ------
        ValueError
            If the classes in y are not exactly the given ones.
        """
        labels_in_y, labels = np.unique(column_or_1d(self.y), return_inverse=True)
        require_classes(labels_in_y, classes, self.name)
        return labels

    def one_vs_rest(
        self, estimator: BaseEstimator, class_weight: Array | None = None
    ) -> Iterator[tuple[Array, Array]]:
        """Pairs of targets, -1 or 1, and weights, one pair for each output.

        ``class_weight`` has the weight of each class. With more than two classes, the rows of
        other classes have weight 1, as in liblinear and in scikit-learn's stochastic gradient
        descent.
        """
        labels = self.labels(estimator.classes_)
        for k, factors in weights_of_outputs(len(estimator.classes_), class_weight):
            yield np.where(labels == k, 1.0, -1.0), self.sample_weight * factors[labels]

    def outputs(self) -> list[tuple[Array, Array]]:
        """Pairs of targets and weights, one pair for each target of a regression."""
        return [(y, self.sample_weight) for y in self.targets.T]

    def rows_of(
        self, output: tuple[Array, Array], loss: Loss, column: float | None
    ) -> tuple[float, Callable[..., Problem]]:
        """The total weight of the rows of one output, and a function that makes their problem.

        The function takes the penalty, alpha and whether there is an intercept. If ``column`` is
        given, the rows have a constant last column of this value.
        """
        y, weights = output
        weights, total = shares(weights, self.name)
        X = self._matrix(column)
        if isinstance(X, RowBlocks):
            y, offset, loss = separate_offset(loss, y, self.offset)
            shards = LocalShards(Shard(X, Targets(y, weights, offset=offset), loss))
            return total, partial(problem_of_shards, shards, loss, name=self.name)
        y, loss = with_offset(loss, np.ascontiguousarray(y), self.offset)
        loss.require_targets(float(np.min(loss.targets_of(y)[weights > 0.0])))
        return total, partial(linear_problem, X, y, weights, loss, total_weight=total)

    def _matrix(self, column: float | None) -> Design | RowBlocks:
        """The data as `Design` or `RowBlocks`, with a constant last column if given."""
        if column is None:
            return self.X if isinstance(self.X, RowBlocks) else self.design
        if column not in self._with_column:
            X = self.with_column(column)
            self._with_column[column] = X if isinstance(X, RowBlocks) else Design(X)
        return self._with_column[column]

    def class_weight(self, estimator: BaseEstimator, *, weighted: bool) -> Array:
        """The weight of each class; ``weighted`` is whether "balanced" uses sample_weight."""
        self.labels(estimator.classes_)
        sample_weight = self.sample_weight if weighted else None
        y = column_or_1d(self.y)
        return weights_of_classes(estimator.class_weight, estimator.classes_, y, sample_weight)


Objective = Callable[[BaseEstimator, Data], list[LinearFit]]  # makes the fits of an estimator


def require_classes(labels_in_y: np.ndarray, classes: np.ndarray, name: str) -> None:
    """Raise a ValueError unless the labels in y are those that a model was fitted with."""
    if not np.array_equal(labels_in_y, classes):
        raise ValueError(
            f"y must hold the classes that {name} was fitted with, {shown(classes)}, got "
            f"{shown(labels_in_y)}."
        )


def weights_of_outputs(n_classes: int, class_weight: Array | None) -> list[tuple[int, Array]]:
    """The positive class of each output, one-vs-rest, and its weights of all classes."""
    weights = np.ones(n_classes) if class_weight is None else np.asarray(class_weight)
    if n_classes == 2:
        return [(1, weights)]
    return [(k, np.where(np.arange(n_classes) == k, weights[k], 1.0)) for k in range(n_classes)]


COEF = {"statsmodels": "params", "lifelines": "params_"}


def coef_name(estimator: BaseEstimator) -> str:
    """The attribute with the coefficients, by the library of the estimator."""
    return COEF.get(type(estimator).__module__.partition(".")[0], "coef_")


def coefficients(
    estimator: BaseEstimator, name: str, n_features: int, n_outputs: int,
    column: float | None = None,
) -> tuple[Array, Array]:  # fmt: skip
    """The coefficients (n_outputs, n_features) and intercepts (n_outputs,) of an estimator.

    With a constant last column of value ``column``, its coefficients stand for the intercepts.

    Raises
    ------
    ValueError
        If ``coef_`` has another shape, or if they are not finite.
    """
    stored = getattr(estimator, coef_name(estimator))
    coef = stored.toarray() if sp.issparse(stored) else np.asarray(stored)
    coef = np.atleast_2d(coef.astype(np.float64))
    if coef.shape != (n_outputs, n_features):
        raise ValueError(
            f"X has {n_features} features and y makes {n_outputs} output(s), but the "
            f"coef_ of {name} has shape {np.shape(stored)}."
        )
    intercept = np.ravel(np.asarray(getattr(estimator, "intercept_", 0.0), dtype=np.float64))
    intercept = np.broadcast_to(intercept, n_outputs)
    if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
        raise ValueError(f"coef_ and intercept_ of {name} must be finite.")
    if column is None:
        return coef, intercept
    return np.hstack([coef, intercept[:, np.newaxis] / column]), np.zeros(n_outputs)


def shares(weights: Array, name: str) -> tuple[Array, float]:
    """The weights divided by their sum, and the sum."""
    total = float(np.sum(weights))
    if not 0.0 < total < np.inf:
        raise ValueError(
            f"sample_weight (times class_weight) must have a positive, finite sum to certify "
            f"{name}, got {total}."
        )
    return weights / total, total


def fits(
    estimator: BaseEstimator, data: Data, outputs: list[tuple[Array, Array]], loss: Loss,
    penalty: Penalty, alpha: Callable[[float], float | Array], *,
    fit_intercept: bool | None = None, column: float | None = None,
) -> list[LinearFit]:  # fmt: skip
    """The fits of an estimator, one for each output.

    Parameters
    ----------
    outputs : list
        Targets and weights of each output, as the functions of ``data`` return them.
    alpha : callable
        Returns the weight of the penalty for an objective with the mean loss, from the sum of the
        weights.
    fit_intercept : bool, default=None
        Whether there is a free intercept; the estimator's own by default.
    column : float, default=None
        The value of an extra column whose coefficient stands for the intercept and is
        penalised like others.
    """
    n_features = data.X.shape[1]
    coef, intercept = coefficients(estimator, data.name, n_features, len(outputs), column)
    free = estimator.fit_intercept if fit_intercept is None else fit_intercept
    models = []
    for k, output in enumerate(outputs):
        total, problem_with = data.rows_of(output, loss, column)
        weight = float(np.broadcast_to(alpha(total), len(outputs))[k])
        weighted = with_weight(penalty, weight, data.name)
        problem = problem_with(*weighted, column is None and bool(free))
        models.append(LinearFit(problem, coef[k], float(intercept[k])))
    return models


def with_weight(penalty: Penalty, alpha: float, name: str) -> tuple[Penalty, float]:
    """A penalty and its weight; for an alpha of 0 one that leaves all coefficients free."""
    if alpha == 0.0 and penalty.structure is Structure.SEPARABLE:
        return unpenalised(penalty), 1.0
    return penalty, positive(alpha, name)


def positive(alpha: float, name: str) -> float:
    """The given alpha; a ValueError unless it is positive and finite."""
    if not 0.0 < alpha < np.inf:
        raise ValueError(
            f"{name} has no penalty to speak of (alpha = {alpha} beside the mean loss), so that "
            "nothing bounds the coefficients of an optimal model, and no lower bound survives "
            "rounding: alpha must be in (0, inf) or, for a model that has one, C in (0, inf)."
        )
    return alpha


def signed(estimator: BaseEstimator, penalty: Penalty) -> Penalty:
    """The penalty, with the constraint w >= 0 if the estimator has ``positive=True``."""
    return for_features(penalty, lower=0.0) if getattr(estimator, "positive", False) else penalty
