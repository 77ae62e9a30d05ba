"""The base class of models of chains of labels."""

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from typing import Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from ..._typing import Array, ArrayLike, Attributes, Indices, Matrix
from ...designs import Design
from ...estimators.base import _DATA, PrimalDualEstimator, fit_method
from ...estimators.parameters import WarmStartParameters, WithOptions, shared
from ...formulation.formulate import FormulatedProblems
from ...formulation.validation import validated, validated_array
from ...losses.structured import StructuredLoss
from ...penalties import L1, GroupL2, Penalty, SquaredL2
from ...problems import Point, Solution
from ...problems.structured_rows import scores_problem
from .design import ChainsDesign
from .labeled_sequences import encoded, split_at, stacked
from .recursions import Chains, best_labels


class ChainAttributes:
    """The fitted attributes of chain models, which would be parameters in their class."""

    classes_: np.ndarray
    transitions_: Array
    alpha: float


@shared
class ChainEstimator(ChainAttributes, WithOptions, WarmStartParameters, PrimalDualEstimator):
    """Base class of models of chains of labels."""

    fit_intercept = False

    penalty: Literal["l2", "l1", "group"] = "l2"
    solver: Literal["auto", "agm"] = "auto"
    max_iter: int = 10_000

    @abstractmethod
    def _loss_of(self, labels: Indices, lengths: Indices, n_labels: int) -> StructuredLoss:
        """The loss of labels from 0 on, chain by chain."""

    def _get_penalty(self) -> Penalty:
        if self.penalty == "group":
            return GroupL2(self._group_size)
        return L1() if self.penalty == "l1" else SquaredL2()

    @fit_method
    def fit(self, X: Sequence[Matrix], y: Sequence[ArrayLike]) -> Self:  # type: ignore[override]
        """Fit the model and certify it.

        Parameters
        ----------
        X : list of {array-like, sparse matrix} of shape (n_tokens_i, n_features)
            The sequences: for each the features of its tokens.
        y : list of array-like of shape (n_tokens_i,)
            The labels of the tokens of each sequence, at least two different ones, of any type
            that can be hashed.

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
        return self._fit(self._problems(X, y, None))

    def _problems(self, X, y, sample_weight, offset=None) -> FormulatedProblems:
        """The validated data, the one problem, and the classes."""
        tokens, lengths = stacked(X)
        tokens = validated(self, tokens, **_DATA)
        validate_data(self, next(iter(X)), skip_check_array=True)  # names of columns
        classes, labels = encoded(y, lengths)
        self._group_size = len(classes)
        design = ChainsDesign(Design(tokens), len(classes))
        loss = self._loss_of(labels, lengths, len(classes))
        penalty, alpha = self._get_penalty(), float(self.alpha)
        problem = scores_problem(design, loss, penalty, alpha, n_labels=len(labels))
        return FormulatedProblems(tokens, labels, [problem], classes)

    def _last_points(self, fit: FormulatedProblems) -> list[Point] | None:
        (problem,) = fit.problems
        coef = np.append(np.ravel(self._dense_coef.T), np.ravel(self.transitions_))
        if coef.shape != problem.rows.coef_shape or len(self.classes_) != len(fit.labels):
            return None
        return [Point(coef, 0.0, None)]

    def _model(self, points: Sequence[Point | Solution], fit: FormulatedProblems) -> Attributes:
        (point,), classes, K = points, fit.labels, len(fit.labels)
        return {
            "classes_": classes,
            "coef_": point.coef[: -K * K].reshape(-1, K).T.copy(),
            "transitions_": point.coef[-K * K :].reshape(K, K).copy(),
            "intercept_": np.zeros(K, point.coef.dtype),
        }

    def _chains_and_scores(self, X: Sequence[Matrix]) -> tuple[Chains, Array]:
        """The chains and the scores of their tokens."""
        check_is_fitted(self)
        tokens, lengths = stacked(X)
        validate_data(self, next(iter(X)), reset=False, skip_check_array=True)
        tokens = validated_array(tokens, input_name="X", **_DATA)
        chains = Chains(lengths, len(self.classes_))
        scores: Array = np.asarray(tokens @ self._dense_coef.T, dtype=np.float64)
        return chains, np.ascontiguousarray(scores)

    def predict(self, X: Sequence[Matrix]) -> list[np.ndarray]:
        """Predict the labeling of every sequence with the largest score, by the Viterbi algorithm.

        Parameters
        ----------
        X : list of {array-like, sparse matrix} of shape (n_tokens_i, n_features)

        Returns
        -------
        labels : list of ndarray of shape (n_tokens_i,)
        """
        chains, scores = self._chains_and_scores(X)
        _, labels = best_labels(chains, scores, self.transitions_)
        return split_at(self.classes_[labels], chains.lengths)

    def score(self, X: Sequence[Matrix], y: Sequence[Sequence[Hashable]]) -> float:
        """The share of tokens whose labels are predicted correctly.

        Parameters
        ----------
        X : list of {array-like, sparse matrix} of shape (n_tokens_i, n_features)
        y : list of array-like of shape (n_tokens_i,)
            True labels.

        Returns
        -------
        score : float

        Raises
        ------
        ValueError
            If y does not have a label for each token of X.
        """
        predicted = self.predict(X)
        if list(map(len, y)) != list(map(len, predicted)):
            raise ValueError("y must have a label for each token of X.")
        right = [a == b for ours, true in zip(predicted, y, strict=True)
                 for a, b in zip(ours, true, strict=True)]  # fmt: skip
        return float(np.mean(right))
