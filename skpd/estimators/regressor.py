"""The base class of regressors."""

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from .._compat import _check_sample_weight, _fit_context, with_callbacks
from .._typing import ArrayLike
from ..designs import Design, RowBlocks
from ..problems import Point, Solution
from ..problems.shards.shard import Shard, Targets
from ..problems.shards.shards import LocalShards
from .base import _DATA, PrimalDualEstimator, finite_targets
from .docstrings import documented
from .fits import fit_problems
from .predictions import linear_predictions
from .validation import validated

__all__ = ["PrimalDualRegressor"]


class PrimalDualRegressor(RegressorMixin, PrimalDualEstimator):
    """Base class of regressors, for one target or for several with a model each."""

    _takes_outputs: ClassVar[bool] = False  # whether y may have a column for each of several

    @documented
    @_fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model and certify it.

        {X_of_fit}
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets; in two dimensions only for models of several targets.
        {sample_weight_of_fit}

        {results_of_fit}
        """
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        X, y, problems, labels = self._problems(X, y, sample_weight)
        task, n_outputs = {"estimator": self, "X": X, "y": y, "metadata": metadata}, len(problems)
        if n_outputs == 1:
            fit_problems(self, problems, task, None, [self._start_of(X, y)])
        else:
            starts = [self._start(k, X.shape, n_outputs) for k in range(n_outputs)]
            fit_problems(self, problems, task, None, starts, labels)
        return self

    def _start_of(self, X: Any, y: Any) -> Point | None:
        """The point at which a warm start begins, or None if the shapes differ."""
        return self._start(0, X.shape, 1)

    def _model(self, points: Sequence[Point | Solution], y: Any, classes: Any) -> dict[str, Any]:
        found = [self._coefficients(point, np.ndim(y)) for point in points]
        if len(found) == 1:
            return found[0]
        return {name: np.stack([values[name] for values in found]) for name in found[0]}

    def _coefficients(self, point: Point | Solution, y_ndim: int) -> dict[str, Any]:
        """The fitted attributes of a point, for a y with a number of dimensions."""
        return {"coef_": point.coef, "intercept_": point.intercept}

    def _problems(self, X, y, sample_weight):
        """The validated data, a problem for each output and their names."""
        X, y, unchecked = self._validated(X, y, y_numeric=True, multi_output=self._takes_outputs)
        y = finite_targets(y, self)
        y = np.ravel(y) if y.ndim == 2 and y.shape[1] == 1 else y
        outputs = [np.ascontiguousarray(z) for z in np.atleast_2d(y.T)]
        labels = [f"output {k}" for k in range(len(outputs))]
        if isinstance(X, RowBlocks):
            return X, y, [self._problem_of_blocks(X, z, sample_weight) for z in outputs], labels
        sample_weight = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True
        )
        design = Design(X)
        problems = [self._problem(design, z, sample_weight) for z in outputs]
        if unchecked:
            self._require_finite(problems[0], X)
        return X, y, problems, labels

    def _problem_of_blocks(self, X, y, sample_weight):
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        loss = self._get_loss()
        return self._problem_of_shards(
            LocalShards(Shard(X, Targets(y, sample_weight), loss)), loss
        )

    @documented
    def predict(self, X: Any) -> np.ndarray:
        """Predict targets.

        {X_of_rows}

        Returns
        -------
        y : ndarray of shape (n_samples,), or with a column for each of several targets
        """
        check_is_fitted(self)
        X = validated(self, X, reset=False, **_DATA)
        predictions = linear_predictions(X, self._coef_rows, self.intercept_)
        return predictions if np.ndim(self.intercept_) else predictions[:, 0]
