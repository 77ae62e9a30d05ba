"""The base class of regressors."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score

from .._typing import Array, ArrayLike, Attributes, MatrixLike, PerRow
from ..designs import RowBlocks
from ..formulation.formulate import FormulatedProblems, formulate_shards, require_finite
from ..formulation.offsets import offset_columns
from ..formulation.overlapping import with_sums
from ..formulation.validation import checked_weights, finite_targets, given_weights
from ..losses import Loss
from ..losses.shifted import separate_offset, with_offset
from ..problems import Point, Solution
from ..problems.shards.shard import Shard, Targets
from ..problems.shards.shards import LocalShards
from .base import PrimalDualEstimator
from .predictions import ScoredPredictions


class PrimalDualRegressor(ScoredPredictions, RegressorMixin, PrimalDualEstimator):
    """Base class of regressors, for one target or for several with a model each."""

    _takes_outputs: ClassVar[bool] = False  # whether y may have a column for each of several

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._takes_outputs
        return tags

    @abstractmethod
    def _get_loss(self) -> Loss:
        """The Loss object of this model."""

    def _model(self, points: Sequence[Point | Solution], fit: FormulatedProblems) -> Attributes:
        pairs = zip(fit.problems, points, strict=True)
        coefs = [problem.coef_table(point.coef) for problem, point in pairs]
        intercepts = [point.intercept for point in points]
        if fit.names is None:
            intercept = np.asarray(intercepts[0])[()]  # a scalar of NumPy
            return {"intercept_": intercept, **with_sums(coefs[0], self._copies())}
        coef = with_sums(np.stack(coefs), self._copies())
        return {"intercept_": np.stack(intercepts), **coef}

    def _problems(self, X, y, sample_weight, offset=None) -> FormulatedProblems:
        """The validated data, and a problem for each target."""
        X, y, unchecked = self._validated(X, y, y_numeric=True, multi_output=self._takes_outputs)
        y = finite_targets(y, type(self).__name__)
        y = np.ravel(y) if y.ndim == 2 and y.shape[1] == 1 else y
        targets = [np.ascontiguousarray(z) for z in np.atleast_2d(y.T)]
        pairs = list(zip(targets, offset_columns(offset, len(y), len(targets)), strict=True))
        if isinstance(X, RowBlocks):
            problems = [self._problem_of_blocks(X, z, sample_weight, o) for z, o in pairs]
        else:
            posed = [with_offset(self._get_loss(), z, o) for z, o in pairs]
            problems = self._problems_of(X, posed, checked_weights(sample_weight, X))
            if unchecked:
                require_finite(type(self).__name__, problems[0], X)
        names = [f"output {k}" for k in range(len(problems))] if len(problems) > 1 else None
        return FormulatedProblems(X, y, problems, names=names)

    def _problem_of_blocks(self, X, y, sample_weight, offset):
        y, offset, loss = separate_offset(self._get_loss(), y, offset)
        targets = Targets(y, given_weights(sample_weight, X), offset=offset)
        shards = LocalShards(Shard(X, targets, loss))
        return formulate_shards(self._specification(), shards, loss)

    def predict(self, X: MatrixLike, offset: PerRow = None) -> np.ndarray:
        """Predict targets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        offset : float or array-like of shape (n_samples,), default=None
            Offsets of the rows, as in `fit`; 0 by default.

        Returns
        -------
        y : ndarray of shape (n_samples,), or with a column for each of several targets
        """
        predictions = self._scores(X, offset)
        return predictions if np.ndim(self.intercept_) else predictions[:, 0]

    def _score(self, y: ArrayLike, predicted: Array, weights: PerRow, offset: PerRow) -> float:
        return r2_score(y, predicted, sample_weight=weights)
