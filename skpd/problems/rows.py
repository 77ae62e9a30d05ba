"""The part of a problem that belongs to the rows: data, targets, weights and the loss."""

from abc import ABC, abstractmethod
from typing import Any

from .._typing import Array, Indices
from ..designs import Design, DualProducts, WeightedGram
from ..losses import Loss
from ..penalties import Penalty

__all__ = ["Rows"]


class Rows(ABC):
    """Data, targets, weights, the loss and the penalty, and products computed from them.

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
        The products X' diag(weights) theta of dual points.
    squares : ndarray of shape (n_features + fit_intercept,)
        sum_i weights_i x_ij^2, and 1 for an intercept.
    threshold : float
        A size below which entries of the products have no effect on bounds.
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
        """The columns of X of the free coefficients, as an array."""

    @property
    @abstractmethod
    def free_squares(self) -> Array:
        """The weighted mean squares of the free columns."""

    @property
    @abstractmethod
    def independent_free(self) -> list[int]:
        """The free columns that are not combinations of others and of the intercept."""

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
        """A cache of Gram matrices of weighted rows, over some columns and the intercept."""
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
        """The predictions X w + b and a bound on their rounding errors."""
        return self.design.matvec_bounded(coef, intercept)
