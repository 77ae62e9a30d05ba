"""Terms of an objective in the interior-point method: interface, slacks and multipliers."""

from abc import abstractmethod
from dataclasses import dataclass
from math import inf
from typing import Protocol, TypeVar

import numpy as np

from ..._typing import Array, Numbers
from .systems import NewtonSystem


class Term(Protocol):
    """A term f(A x) of the objective: the loss of the rows, or a part of the penalty.

    A term keeps its own variables: slacks and multipliers, whose products converge to 0, and the
    steps of both. An iteration of `skpd.solvers.interior.method.State` calls ::

        add_gradient(out)                   the gradient A'u at the multipliers u
        factorise(system)                   the curvature A' diag(h) A without its own variables
        add_centering(mu, corrected, out)   the change of the gradient by which products become mu
        set_step(dx)                        the steps of slacks and multipliers, with x + dx
        largest_steps()                     how far they may go before they are negative
        move(primal, dual)                  slacks and multipliers at these lengths

    The last four come twice if there is a predictor, for which only `move` is left out.

    Attributes
    ----------
    degree : float
        The sum of the products on the central path, in units of mu.
    linear : bool
        Whether the slacks depend on x only, and not on the multipliers. If all terms are linear, x
        and the multipliers may take steps of different lengths.
    quadratic : bool
        Whether the Newton model has no error except for the products.
    """

    degree: float = 0.0
    linear: bool = False
    quadratic: bool = True

    def add_gradient(self, out: Array) -> None:
        """Add A'u to a vector of the unknowns."""

    def factorise(self, system: NewtonSystem) -> None:
        """Add the curvature to the system, and prepare for steps from the current point."""

    def add_centering(self, mu: float | None, corrected: bool, out: Array) -> None:
        """Add the change of the gradient that gives products of mu for a fixed x.

        Without a mu the products do not change. If ``corrected``, the last step was that of the
        predictor, whose second-order part is subtracted. Terms without products add nothing.
        """
        return

    def set_step(self, dx: Array) -> None:
        """Compute the steps of slacks and multipliers for a change dx of x."""

    def move(self, primal: float, dual: float) -> None:
        """Take the steps of slacks and multipliers, at the given lengths."""

    def predict_kinks(self) -> None:
        """Predict from a Newton step which slacks and multipliers converge to 0.

        Of a slack and its multiplier, the one that decreases by a larger factor in a full step
        converges to 0 (El-Bakry, Tapia and Zhang, 1994).
        """
        return

    def move_onto_kinks(self, x: Array) -> None:
        """Move unknowns onto the kinks to which `predict_kinks` expects them to converge."""
        return

    def add_model_error(self, length: float, out: Array) -> None:
        """Add the error of the Newton model of the gradient at a length of the step."""
        return

    def products(self) -> float:
        """The sum of the products of slacks and multipliers."""
        return 0.0

    def products_after(self, primal: float, dual: float) -> float:
        """The sum of the products after steps of the given lengths."""
        return 0.0

    def largest_steps(self) -> tuple[float, float]:
        """The largest primal and dual lengths at which slacks and multipliers stay in the cone."""
        return inf, inf


class DualTerm(Term, Protocol):
    """A term whose multipliers are dual variables of the problem: a loss or a constraint."""

    @property
    def multipliers(self) -> Array:
        """The derivatives of the term in A x, without the weights."""


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


class Pairs(Term, Protocol[Vector]):
    """The base class of terms with pairs of slacks and multipliers in a cone.

    Attributes
    ----------
    slack, dual : ndarray or ConeVector
    slack_step, dual_step : ndarray or ConeVector
        The steps that `set_step` computed.
    share : float
        The products on the central path, in units of mu.
    """

    linear: bool = True
    slack: Vector
    dual: Vector
    slack_step: Vector
    dual_step: Vector
    share: float = 1.0

    def _add_adjoint(self, dual: Vector, out: Array) -> None:
        """Add the gradient that multipliers have in the unknowns."""

    def _product(self, slack: Vector, dual: Vector) -> float:
        """The sum of the products of slacks and multipliers."""

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
        return np.sum(pairs, axis=self.axis, keepdims=True)

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
