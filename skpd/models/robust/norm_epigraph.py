"""A norm written with its radius as an additional variable (`NormEpigraph`)."""

from dataclasses import dataclass, field
from math import inf

import numpy as np

from ... import kernels
from ..._floats import EPSILON
from ..._immutable_base import computed
from ..._typing import Array
from ...penalties.base import NO_FEATURES, FreeFeatures, Penalty, _half_square, _product
from ...penalties.norms import L1, L2Norm, LInf
from ...penalties.separable import _weighted_square

NORMS: dict[float, type[L1] | type[L2Norm] | type[LInf]] = {1: L1, 2: L2Norm, np.inf: LInf}
ROUNDING = 64.0 * EPSILON  # relative rounding error of a norm and a few operations on it


@dataclass(frozen=True)
class NormEpigraph(Penalty):
    """The penalty ``lam + weight ||w||_2^2 / 2`` under the constraint ``||w||_q <= lam``.

    The variables are (w, lam), with lam the last of them. With weight 0 the penalty is a gauge
    whose polar is ``R°(v, t) = max(R°(v) + t, 0)``. The conjugate is infinite at dual points
    (v, t) with t > alpha. Between w and lam there may be coefficients that are free within bounds.

    Parameters
    ----------
    q : {1, 2, inf}
        The norm.
    weight : float, default=0.0
        Weight of half the squared Euclidean norm, at least 0.
    free_features : FreeFeatures, default=NO_FEATURES
        The free coefficients, with bounds that hold 0.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.penalties import NormEpigraph
    >>> penalty = NormEpigraph(q=1)
    >>> penalty.value(np.array([0.5, -1.0, 2.0]))
    2.0
    >>> penalty.conjugate(np.array([0.5, -0.5, 0.25]), 1.0)
    0.0
    """

    q: float
    weight: float = 0.0
    free_features: FreeFeatures = field(default=NO_FEATURES, repr=False)
    even = False
    is_finite = False

    def of_norm(self, v: Array) -> Array:
        """The part w of variables (w, lam), or of a dual point."""
        return np.ascontiguousarray(v[: len(v) - 1 - len(self.free_features.columns)])

    norm = computed(lambda self: NORMS[self.q]())  # of w

    is_norm = computed(lambda self: self.weight == 0.0)

    def value(self, w: Array) -> float:
        coef, radius = self.of_norm(w), float(w[-1])
        free = w[len(coef) : -1]
        if not (self.norm.value(coef) <= radius and np.array_equal(free, self._clipped(free))):
            return inf
        return radius + _weighted_square(self.weight, coef)

    def prox(self, w: Array, step: Array | float) -> Array:
        """The projection of a scaled point, as in (28) of Li, Chen and So (2020)."""
        step = float(np.max(step))
        grow = 1.0 + step * self.weight
        coef, radius = kernels.project_epigraph(
            self.of_norm(w) / grow, (float(w[-1]) - step) / np.sqrt(grow), self.q,
            np.sqrt(grow),
        )  # fmt: skip
        free = self._clipped(w[len(coef) : -1])
        return np.concatenate([coef, free, [np.sqrt(grow) * radius]])

    def feasible(self, w: Array) -> Array:
        """A feasible point: w with the radius max(lam, ||w||_q)."""
        coef = self.of_norm(w)
        free = self._clipped(w[len(coef) : -1])
        return np.concatenate([coef, free, [max(float(w[-1]), self.norm.value(coef))]])

    def _clipped(self, free: Array) -> Array:
        return np.clip(free, *self.free_features[1:])

    def dual_norm(self, v: Array) -> float:
        """The polar R°(v, t) = max(R°(v) + t, 0), for weight 0."""
        return max(self._of_coefficients(v) + float(v[-1]), 0.0)

    def _of_coefficients(self, v: Array) -> float:
        """The dual norm R°(v) of the part v of a dual point (v, t), rounded up."""
        return self.norm.dual_norm(self.of_norm(v)) * (1.0 + ROUNDING)

    def _slack(self, v: Array, alpha: float) -> float:
        """The difference alpha - t at a dual point (v, t), rounded down."""
        return alpha - float(v[-1]) - 4.0 * EPSILON * (alpha + abs(float(v[-1])))

    def conjugate(self, v: Array, alpha: float) -> float:
        slack = self._slack(v, alpha)
        if self.weight == 0.0:
            return 0.0 if self._of_coefficients(v) <= slack else inf
        if slack < 0.0:
            return inf
        return _half_square(self._distance(v, slack), alpha * self.weight)

    def bounded_conjugate(self, v: Array, alpha: float, radius: float) -> float:
        slack = self._slack(v, alpha)
        bound = _product(radius, max(self._of_coefficients(v) - slack, 0.0))
        if self.weight == 0.0:
            return bound
        if slack >= 0.0:
            return min(bound, self.conjugate(v, alpha))
        size = kernels.euclidean_norm(self.of_norm(v)) * (1.0 + ROUNDING)
        return min(bound, _half_square(size, alpha * self.weight) - radius * slack)

    def support(self, v: Array, radius: float) -> float:
        return _product(radius, self.dual_norm(v))

    def _distance(self, v: Array, slack: float) -> float:
        """An upper bound on the Euclidean distance of v from the dual ball of radius slack."""
        norm = self.norm
        slack *= 1.0 - ROUNDING
        if self.q == 2:
            return max(self._of_coefficients(v) - slack, 0.0)
        v = self.of_norm(v)
        if self.q == 1:
            left = np.maximum(np.abs(v) - slack, 0.0)
        else:
            left = v - kernels.project_l1_ball(v, slack)
            inside = norm.dual_norm(v - left)
            if inside > slack:
                left = v - (v - left) * (slack / inside)
        return kernels.euclidean_norm(left) * (1.0 + ROUNDING)

    def worst_case(self, v: Array, error: Array) -> Array:
        coef = np.abs(v[:-1]) + error[:-1]
        return np.append(coef, v[-1] + error[-1])
