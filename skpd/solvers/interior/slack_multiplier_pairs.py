"""Terms with pairs of slacks and multipliers: numbers that are not negative, or cone vectors."""

from abc import abstractmethod
from dataclasses import dataclass
from math import inf
from typing import Generic, TypeVar, cast

import numpy as np

from ..._typing import Array, Numbers
from .terms import Term


@dataclass(frozen=True, eq=False)
class ConeVector:
    """A vector (t_g, w_g) for every group of coefficients: its head t and its tail w."""

    head: Array
    tail: Array

    def __add__(self, other: "ConeVector") -> "ConeVector":
        return ConeVector(self.head + other.head, self.tail + other.tail)

    def __rmul__(self, factor: float) -> "ConeVector":
        return ConeVector(factor * self.head, factor * self.tail)


Vector = TypeVar("Vector", Array, ConeVector)


class Pairs(Term, Generic[Vector]):
    """The base class of terms with pairs of slacks and multipliers in a cone.

    Attributes
    ----------
    slack, dual : ndarray or ConeVector
    slack_step, dual_step : ndarray or ConeVector
        The steps that `set_step` computed.
    share : float
        The products on the central path, in units of mu.
    """

    linear = True
    slack: Vector
    dual: Vector
    slack_step: Vector
    dual_step: Vector
    share: float = 1.0

    @abstractmethod
    def _add_adjoint(self, dual: Vector, out: Array) -> None:
        """Add the gradient that multipliers have in the unknowns."""

    @abstractmethod
    def _product(self, slack: Vector, dual: Vector) -> float:
        """The sum of the products of slacks and multipliers."""

    @abstractmethod
    def _largest_step(self, x: Vector, step: Vector) -> float:
        """The largest t with x + t step in the cone."""

    def add_gradient(self, out: Array) -> None:
        self._add_adjoint(self.dual, out)

    def largest_steps(self) -> tuple[float, float]:
        primal = self._largest_step(self.slack, self.slack_step)
        return primal, self._largest_step(self.dual, self.dual_step)

    def products(self) -> float:
        return self._product(self.slack, self.dual)

    def products_after(self, primal: float, dual: float) -> float:
        slack = self.slack + primal * self.slack_step
        return self._product(slack, self.dual + dual * self.dual_step)

    def move(self, primal: float, dual: float) -> None:
        self.slack = self.slack + primal * self.slack_step
        self.dual = self.dual + dual * self.dual_step


class NumberPairs(Pairs[Array]):
    """The base class of terms with pairs of slacks and multipliers that are not negative.

    Attributes
    ----------
    weights : float or ndarray
        The weights of the products in a sum.
    ratio : ndarray
        The ratios of multipliers to slacks.
    centering : ndarray
        The changes of multipliers that give products of mu, for fixed slacks.
    """

    weights: Numbers = 1.0
    ratio: Array
    centering: Array

    def _center(self, mu: float | None, corrected: bool) -> Array:
        """Compute ``centering``, which is 0 without a mu."""
        if mu is None:
            self.centering = np.zeros_like(self.dual)
        else:
            second = self.slack_step * self.dual_step if corrected else 0.0
            self.centering = (self.share * mu - second) / self.slack - self.dual
        return self.centering

    def _set_slack_step(self, slack_step: Array) -> None:
        self.slack_step = slack_step
        self.dual_step = self.centering - self.ratio * slack_step

    def _largest_step(self, x: Array, step: Array) -> float:
        fastest = float(np.min(step / x, initial=0.0))
        return -1.0 / fastest if fastest < 0.0 else inf

    def _product(self, slack: Array, dual: Array) -> float:
        # the product of vectors is more accurate than the sum of rounded products
        return float((self.weights * slack).ravel() @ dual.ravel())


class Maxima(NumberPairs):
    """The base class of terms sum_g a_g max over k of s_gk, for scores s_gk that are affine in x.

    With a bound t_g on each maximum there is a slack and a multiplier for every score, ::

        t_g - s_gk >= 0 (p_gk),    sum_k p_gk = a_g,

    and the bounds are eliminated from a Newton step. With r_g the ratios of multipliers to slacks,
    this leaves the curvature diag(r_g) - r_g r_g' / sum(r_g) in the scores of a group.

    Attributes
    ----------
    axis : int
        The axis of k in slacks and multipliers.
    totals : float or ndarray
        The a_g.
    """

    axis: int
    totals: Numbers = 1.0

    @abstractmethod
    def _scores(self, x: Array) -> Array:
        """The part of the scores that is linear in x."""

    def _sums(self, pairs: Array) -> Array:
        """The sums over the scores of each group."""
        return cast(Array, np.sum(pairs, axis=self.axis, keepdims=True))

    def _spread(self, bounds: Array) -> Array:
        """The bound of the group of each score."""
        return bounds

    def _differentiate(self) -> None:
        self.ratio = self.dual / self.slack
        self.ratio_sums = self._sums(self.ratio)

    def add_centering(self, mu: float | None, corrected: bool, out: Array) -> None:
        centering = self._center(mu, corrected)
        missing = self.totals - self._sums(self.dual)
        self.bound_step = (self._sums(centering) - missing) / self.ratio_sums
        self._add_adjoint(centering - self.ratio * self._spread(self.bound_step), out)

    def set_step(self, dx: Array) -> None:
        scores = self._scores(dx)
        bound_step = self.bound_step + self._sums(self.ratio * scores) / self.ratio_sums
        self._set_slack_step(self._spread(bound_step) - scores)
