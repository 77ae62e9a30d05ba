"""The data and the loss of a problem: whatever is as long as there are rows."""

from abc import ABC, abstractmethod
from typing import Any

from .._typing import Array, Indices
from ..designs import Design, DualProducts, WeightedGram
from ..losses import Loss
from ..penalties import Penalty

__all__ = ["Rows"]


class Rows(ABC):
    """Data, targets, weights, the loss and the penalty, and what is computed from them.

    Attributes
    ----------
    design : Design
        X of shape (n_samples, n_features).
    y, weights : ndarray of shape (n_samples,)
    loss : Loss
    penalty : Penalty
    alpha : float
    fit_intercept, has_free_level : bool
        The free directions: a constant added to all predictions, or to all coefficients.
    products : DualProducts
        X' diag(weights) theta of dual points.
    squares : ndarray of shape (n_features + fit_intercept,)
        sum_i weights_i x_ij^2, and 1 for an intercept.
    threshold : float
        What entries of these may be without a part in any bound.
    """

    design: Design
    y: Any
    weights: Any
    loss: Loss
    fit_intercept: bool
    penalty: Penalty
    alpha: float

    @property
    @abstractmethod
    def has_free_level(self) -> bool: ...

    @property
    @abstractmethod
    def free_columns(self) -> Indices:
        """The coefficients that the penalty leaves free."""

    @property
    @abstractmethod
    def free_table(self) -> Array:
        """Their columns of X, as an array."""

    @property
    @abstractmethod
    def free_squares(self) -> Array:
        """Their weighted mean squares."""

    @property
    @abstractmethod
    def independent_free(self) -> list[int]:
        """Those of these columns that no others, nor an intercept, imply."""

    @property
    @abstractmethod
    def products(self) -> DualProducts: ...

    @property
    @abstractmethod
    def squares(self) -> Array: ...

    @property
    @abstractmethod
    def threshold(self) -> float: ...

    def new_gram(self) -> Any:
        """What keeps Gram matrices of weighted rows and some columns, the intercept's included."""
        return WeightedGram(bool(self.fit_intercept))

    @property
    def n_samples(self) -> int:
        return self.design.shape[0]

    @property
    def n_features(self) -> int:
        return self.design.shape[1]

    @abstractmethod
    def precise_predictions(self, coef: Array, intercept: Any) -> tuple[Array, Array, Array]: ...

    def predictions(self, coef: Array, intercept: Any) -> tuple[Array, Array]:
        """X w + b and a bound on its rounding error."""
        return self.design.matvec_bounded(coef, intercept)
