"""The base classes of estimators for arrays and dataframes of Dask."""

from abc import abstractmethod
from inspect import get_annotations
from typing import Any, ClassVar, cast

import dask.array as da
import numpy as np
from dask import is_dask_collection
from distributed import Client
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from .._compat import HasMethods
from .._typing import Array, Matrix
from ..estimators.base import PrimalDualEstimator
from ..estimators.classifier import PrimalDualClassifier, weights_of_classes
from ..estimators.means import MeanRegressor, rates
from ..estimators.parameters import declared
from ..estimators.regressor import PrimalDualRegressor
from ..foreign.data import require_classes
from ..formulation.formulate import (
    FormulatedProblems,
    formulate_shards,
    formulate_shards_of_classes,
    problems_of_classes,
)
from ..formulation.offsets import with_exposure
from ..losses import Tweedie
from ..losses.shifted import posed_with
from ..problems import Point, Problem
from .collections import (
    Collection,
    PerRow,
    as_array,
    checked,
    chunked_like,
    class_weights,
    client_of,
    workers_with,
)
from .communication_counts import Communication
from .row_store import RowSpecification, require_numbers
from .shards import DaskShards
from .worker_group import WorkerGroup


class OnDask(PrimalDualEstimator):
    """The base class of estimators for Dask collections.

    ``_local`` is the ordinary estimator, whose parameters and ``client`` are the parameters of
    the subclass. Data in memory are fitted as by the ordinary estimator, without workers.
    """

    _local: ClassVar[type[PrimalDualEstimator]]
    _own_constraints: ClassVar[dict] = {"client": [HasMethods(["submit", "who_has"]), None]}
    classes_: np.ndarray
    communication_: Communication
    client: Client | None = None

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        if "_local" in vars(cls):
            cls.__annotations__ = {**get_annotations(cls._local), "client": Client | None}
            declared(cls)

    def to_local(self) -> PrimalDualEstimator:
        """The ordinary estimator with the same parameters and the same model.

        Its ``dual_coef_`` is an array in memory, and the estimator does not need Dask.

        Returns
        -------
        estimator : object
        """
        params = self.get_params(deep=False)
        del params["client"]
        local = self._local(**params)
        for name, value in vars(self).items():
            if name.endswith("_") and name != "communication_":
                setattr(local, name, value.compute() if is_dask_collection(value) else value)
        return local

    # Fits

    def _problems(
        self, X: Any, y: Any, sample_weight: PerRow, offset: PerRow = None
    ) -> FormulatedProblems:
        if is_dask_collection(X):
            workers = self._workers(X, y, sample_weight, offset)
            return self._problems_of_workers(workers, y, cast(Array | None, offset))
        self.__dict__.pop("communication_", None)  # that of an earlier fit
        return cast(Any, super())._problems(X, y, sample_weight, offset)

    @abstractmethod
    def _problems_of_workers(
        self, workers: WorkerGroup, y: Array, offset: Array | None
    ) -> FormulatedProblems:
        """The problems of a fit to the rows that workers hold."""

    def _workers(
        self, X: Collection, y: PerRow, sample_weight: PerRow, offset: PerRow
    ) -> WorkerGroup:
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        self._read_sources(X)
        workers = workers_with(client_of(self.client), X, y, sample_weight, offset)
        single = getattr(X, "dtype", None) == np.float32
        self._precision = np.float32 if single else np.float64
        checked(self, X, reset=True)
        self.communication_ = workers.cost
        return workers

    def _last_points(self, fit: FormulatedProblems) -> list[Point] | None:
        """The last model, whose dual points are the gradients of the losses there."""
        if not hasattr(self, "dual_coef_"):
            return None
        if not (isinstance(fit.X, WorkerGroup) or is_dask_collection(self.dual_coef_)):
            return super()._last_points(fit)
        n_problems, coef = len(fit.problems), np.atleast_2d(self._dense_coef)
        if coef.shape != (n_problems, self.n_features_in_):
            return None
        intercepts = np.ravel(self.intercept_) if self.fit_intercept else np.zeros(n_problems)
        return [Point(coef[k], float(intercepts[k]), None) for k in range(n_problems)]

    # Predictions

    def _of_chunks(
        self, method: str, X: Matrix, n_columns: int | None, dtype: object,
        offset: PerRow = None,
    ) -> Any:  # fmt: skip
        """The lazy result of a method of the ordinary estimator, applied to the chunks of X."""
        check_is_fitted(self)
        without = "dual_coef_", "gap_history_", "communication_", "client", "feature_names_in_"
        local = self._local.__new__(self._local)  # with what predictions need
        local.__dict__.update({k: v for k, v in vars(self).items() if k not in without})
        if not is_dask_collection(X):
            if hasattr(self, "feature_names_in_"):
                local.feature_names_in_ = self.feature_names_in_
            return getattr(local, method)(X, offset)
        of_rows = getattr(local, method)
        checked(self, X, reset=False)
        X = as_array(X, "X")
        dtype = dtype or np.result_type(X.dtype, local.coef_)
        shape = {"drop_axis": 1} if n_columns is None else {"chunks": (X.chunks[0], (n_columns,))}
        offsets = [] if offset is None else [chunked_like(X, offset, "offset")[:, None]]

        def of_chunk(rows: Matrix, *offsets: Array) -> Array:
            return of_rows(rows, *map(np.ravel, offsets))

        return da.map_blocks(of_chunk, X, *offsets, dtype=dtype, **shape)

    def _score(self, y: Any, predicted: Any, weights: PerRow, offset: PerRow) -> Any:
        """The score, as a lazy number for a collection."""
        if not is_dask_collection(predicted):
            return cast(Any, super())._score(y, predicted, weights, offset)
        weights = None if weights is None else chunked_like(predicted, weights, "sample_weight")
        return self._lazy_score(chunked_like(predicted, y, "y"), predicted, weights, offset)

    @abstractmethod
    def _lazy_score(
        self, y: da.Array, predicted: da.Array, weights: PerRow, offset: PerRow
    ) -> Any:
        """The score of predictions for targets and weights, which may be None, in equal chunks."""


class ClassifierOnDask(OnDask, PrimalDualClassifier):
    """The base class of classifiers, one-vs-rest for more than two classes."""

    _max_classes: ClassVar[float] = np.inf  # of data that workers hold
    _checks_classes: ClassVar[bool] = True  # with those that the workers know

    def _problems_of_workers(
        self, workers: WorkerGroup, y: Array, offset: Array | None
    ) -> FormulatedProblems:
        classes, weights = class_weights(workers)
        check_classification_targets(classes)
        if len(classes) > self._max_classes:
            raise ValueError(
                f"{type(self).__name__} takes {self._max_classes} classes on Dask, got "
                f"{len(classes)}: fit PdproxSVC(loss='logistic'), one class against the others."
            )
        factors = weights_of_classes(self.class_weight, classes, classes, weights)
        class_weight = None if self.class_weight is None else (classes, factors)
        loss = self._get_loss()
        if offset is not None and len(classes) > 2:
            raise ValueError(
                f"offset takes two classes on Dask, got {len(classes)}: each class would need "
                "one of its own."
            )

        def shards_of(place: int, positive: np.generic) -> DaskShards:
            return DaskShards(workers, RowSpecification(loss, positive, class_weight))

        posed = posed_with(loss, offset)
        problems = formulate_shards_of_classes(self._specification(), classes, posed, shards_of)
        return problems_of_classes(workers, y, problems, classes)

    def _fitted_problems(self, X, y, sample_weight, offset=None) -> list[Problem]:
        fit = self._as_fitted()._problems(X, y, sample_weight, offset)
        require_classes(fit.labels, self.classes_, type(self).__name__)
        return fit.problems

    def decision_function(self, X: Matrix, offset: PerRow = None) -> Any:
        n_columns = len(self.classes_) if len(getattr(self, "classes_", ())) > 2 else None
        return self._of_chunks("decision_function", X, n_columns, None, offset)

    def predict(self, X: Matrix, offset: PerRow = None) -> Any:
        check_is_fitted(self)
        return self._of_chunks("predict", X, None, self.classes_.dtype, offset)

    def _log_probabilities(self, X: Matrix, offset: PerRow = None) -> Any:
        check_is_fitted(self)
        return self._of_chunks("predict_log_proba", X, len(self.classes_), np.float64, offset)

    def _lazy_score(self, y: da.Array, predicted: da.Array, weights: Any, offset: Any) -> Any:
        """The accuracy."""
        return mean_of(y == predicted, weights)


class RegressorOnDask(OnDask, PrimalDualRegressor):
    """The base class of regressors of one target."""

    def _problems_of_workers(
        self, workers: WorkerGroup, y: Array, offset: Array | None
    ) -> FormulatedProblems:
        workers.of_chunks(require_numbers)
        loss = self._get_loss()
        shards = DaskShards(workers, RowSpecification(loss))
        problem = formulate_shards(self._specification(), shards, posed_with(loss, offset))
        return FormulatedProblems(workers, np.empty(0), [problem])

    def predict(self, X: Matrix, offset: PerRow = None) -> Any:
        n_targets = len(self.intercept_) if np.ndim(getattr(self, "intercept_", 0.0)) else None
        return self._of_chunks("predict", X, n_targets, None, offset)

    def _lazy_score(self, y: da.Array, predicted: Any, weights: Any, offset: Any) -> Any:
        """The share of the variance or deviance."""
        if offset is not None and self._predicts_means:
            offset, loss = chunked_like(predicted, offset, "offset"), cast(Any, self._get_loss())
            y, predicted, weights = rates(y, predicted, weights, offset, loss.power)
        constant = mean_of(y, weights) + 0.0 * y
        residual = mean_of(self._deviances(y, predicted), weights)
        return 1.0 - residual / mean_of(self._deviances(y, constant), weights)

    def _deviances(self, targets: da.Array, means: da.Array) -> da.Array:
        """The deviance of each target from its mean, up to a constant factor."""
        return (targets - means) ** 2


class MeansOnDask(RegressorOnDask, MeanRegressor):
    """The base class of regressors whose predictions are exp(x.w + b), the mean of y."""

    def _total_offset(
        self, X: Any, offset: PerRow = None, exposure: PerRow = None, **_: object
    ) -> Any:
        if exposure is None or not is_dask_collection(X):
            return super()._total_offset(X, offset, exposure)
        exposure = chunked_like(as_array(X, "X"), exposure, "exposure")
        offset = 0.0 if offset is None else chunked_like(as_array(X, "X"), offset, "offset")
        return da.map_blocks(with_exposure, exposure, offset, exposure, meta=np.empty(0))

    def predict(self, X: Matrix, offset: PerRow = None, exposure: PerRow = None) -> Any:
        return super().predict(X, self._total_offset(X, offset, exposure))

    def _deviances(self, targets: da.Array, means: da.Array) -> da.Array:
        value = Tweedie(float(self._get_loss().power)).value

        def of_chunk(y: Array, mean: Array) -> Array:
            return value(y.astype(np.float64), np.log(mean.astype(np.float64)))

        return da.map_blocks(of_chunk, targets, means, dtype=np.float64)


def mean_of(values: da.Array, weights: da.Array | None) -> da.Array:
    """The weighted mean of a dask array whose chunks may have unknown lengths."""
    return values.mean() if weights is None else (weights * values).sum() / weights.sum()
