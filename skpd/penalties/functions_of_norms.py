"""Convex increasing functions of a norm, V(||w||) (Yang et al., 2015, Lemma 16)."""

from copy import copy
from dataclasses import dataclass, field
from math import inf

import numpy as np

from .._immutable_base import attribute_of_part
from .._typing import Array
from .base import Norm, Penalty, Structure, _product
from .declaration_checks import check_function
from .increasing_functions import IncreasingFunction, PowerOfNorm, bisected


@dataclass(frozen=True, eq=False)
class FunctionOfNorm(Penalty):
    """A convex increasing function of a norm, ``V(||w||)``.

    An example is the square of the sum of group norms, which selects groups, or kernels in
    multiple kernel learning, as the sum itself does (`SquaredGroupL2` is a faster implementation).
    Other powers grow slower or faster with the norm.

    Parameters
    ----------
    norm : Norm
        A norm that is finite everywhere, or for non-negative coefficients, and penalises every
        coefficient.
    function : IncreasingFunction, default=PowerOfNorm()
        V; the square by default.

    Raises
    ------
    ValueError
        If ``norm`` is not a norm, or if it leaves a coefficient or the level free; if ``function``
        is not convex, or if its conjugate is too small.

    References
    ----------
    Yang, Mahdavi, Jin, Zhu: An efficient primal dual prox method for non-smooth optimization.
    Machine Learning 98, 2015, Lemma 16.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.penalties import L1, FunctionOfNorm
    >>> penalty = FunctionOfNorm(L1())
    >>> penalty.value(np.array([3.0, -1.0]))
    16.0
    >>> penalty.prox(np.array([3.0, -1.0]), 0.5).round(6)
    array([1.5, 0. ])
    """

    norm: Norm
    function: IncreasingFunction = field(default_factory=PowerOfNorm)
    structure = Structure.OF_NORM
    even = attribute_of_part("norm.even")
    symmetric = attribute_of_part("norm.symmetric")
    is_finite = attribute_of_part("norm.is_finite")
    group_order = attribute_of_part("norm.group_order")
    free_features = attribute_of_part("norm.free_features")
    feasible = attribute_of_part("norm.feasible")
    worst_case = attribute_of_part("norm.worst_case")

    def __post_init__(self) -> None:
        # what is no penalty has no such attributes
        if not getattr(self.norm, "is_norm", False) or getattr(self.norm, "free_level", True):
            raise ValueError(
                f"norm must be a norm of skpd.penalties that is 0 at 0 alone, got {self.norm!r}."
            )
        if not isinstance(self.function, IncreasingFunction):
            raise ValueError(f"function must be an IncreasingFunction, got {self.function!r}.")
        try:
            check_function(self.function)
        except AssertionError as error:
            raise ValueError(f"function must pass check_function: {error}") from error

    def for_n_features(self, n_features: int) -> "FunctionOfNorm":
        bound = copy(self)
        object.__setattr__(bound, "norm", self.norm.for_n_features(n_features))
        if len(bound.norm.free_features.columns):
            raise ValueError(
                f"norm must penalise every coefficient, got weights of 0 in {self.norm!r}."
            )
        return bound

    is_quadratic = attribute_of_part("function.is_square")

    def value(self, w: Array) -> float:
        norm = self.norm.value(w)
        return self.function.value(norm) if norm < inf else inf

    def prox(self, w: Array, step: Array | float) -> Array:
        """The prox of eta times the norm, with eta the slope of V at the norm of the result.

        As eta grows, the norm of the result decreases, and with it the slope there, so that
        bisection finds eta.
        """
        step = float(np.min(step))
        slope = self.function.slope(self.norm.value(self.norm.feasible(w)))
        # the prox of the norm is 0 for eta >= R°(w) / step
        lower, upper = 0.0, min(slope, self.norm.dual_norm(w) / step)

        def steeper(eta: float) -> bool:
            return self.function.slope(self.norm.value(self.norm.prox(w, step * eta))) > eta

        return self.norm.prox(w, step * bisected(lower, upper, steeper))

    def conjugate(self, v: Array, alpha: float) -> float:
        """The conjugate alpha V*(R°(v) / alpha), as v.w is at most R°(v) ||w||."""
        return self._conjugate(self.norm.dual_norm(v), alpha)

    def _conjugate(self, size: float, alpha: float) -> float:
        with np.errstate(over="ignore", divide="ignore"):
            slope = float(np.divide(size, alpha)) if size > 0.0 else 0.0
        return _product(alpha, self.function.conjugate(slope)) if slope < inf else inf

    def support(self, v: Array, radius: float) -> float:
        return _product(self.function.inverse(radius), self.norm.dual_norm(v))

    def bounded_conjugate(self, v: Array, alpha: float, radius: float) -> float:
        """The supremum of R°(v) z - alpha V(z) over the z with V(z) <= radius."""
        size, largest = self.norm.dual_norm(v), self.function.inverse(radius)
        whole = self._conjugate(size, alpha)
        if not largest < inf or size <= alpha * self.function.slope(largest):
            return whole
        within = _product(largest, size) - alpha * self.function.value(largest)
        return max(min(whole, within), 0.0)

    def largest_alpha(self, v: Array) -> float:
        size, slope = self.norm.dual_norm(v), self.function.slope(0.0)
        if size == 0.0:
            return 0.0
        return size / slope if slope > 0.0 else inf
