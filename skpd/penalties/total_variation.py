"""Penalties on the differences of neighbouring coefficients."""

from dataclasses import dataclass
from math import fsum, inf

import numpy as np

from .. import kernels
from .._immutable_base import number
from .._typing import Array
from .base import Norm, PenaltyCones, Structure
from .separable import soft_threshold


class _Chain(Norm):
    """The base class of penalties on differences of neighbours.

    No single point of a box has the largest dual norm for sure. So `worst_case` returns the box as
    (v, error), and the other methods take such a pair as well as a vector v.
    """

    structure = Structure.CHAINED
    has_cones = has_ties = True
    l1_ratio: float = 0.0  # the share of the l1 norm

    def worst_case(self, v: Array, error: Array) -> Array:
        return np.stack([v, error])

    def add_cones(self, cones: PenaltyCones, alpha: float) -> None:
        cones.add_separable(alpha * self.l1_ratio)
        cones.add_differences(alpha * (1.0 - self.l1_ratio))

    @staticmethod
    def _with_error(v: Array) -> tuple[Array, float]:
        if v.ndim == 1:
            return np.ascontiguousarray(v), 0.0
        return v[0], float(np.sum(v[1]))


@dataclass(frozen=True)
class TotalVariation(_Chain):
    """Total variation of the coefficients in their order, ``sum_j |w_{j+1} - w_j|``.

    The penalty favours coefficients that are constant on intervals, and does not penalise their
    level. With X the identity and the squared loss the model is total variation denoising.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.penalties import TotalVariation
    >>> TotalVariation().prox(np.array([0.0, 0.0, 5.0, 5.0]), 1.0)
    array([0.5, 0.5, 4.5, 4.5])
    """

    free_level = True
    of_neighbours = True

    def value(self, w: Array) -> float:
        return kernels.sum_abs(np.diff(w))

    def prox(self, w: Array, step: Array | float) -> Array:
        return kernels.prox_total_variation(np.ascontiguousarray(w), float(np.max(step)))

    def dual_norm(self, v: Array) -> float:
        return kernels.total_variation_dual_norm(*self._with_error(v))

    def conjugate(self, v: Array, alpha: float) -> float:
        values, error = self._with_error(v)
        return super().conjugate(v, alpha) if fsum(values) == error == 0.0 else inf


@dataclass(frozen=True)
class FusedLasso(_Chain):
    """Fused lasso: ``l1_ratio`` times the l1 norm, the rest times the total variation.

    The penalty is ``l1_ratio ||w||_1 + (1 - l1_ratio) sum_j |w_{j+1} - w_j|``; its proximal
    operator is that of the second part, then that of the first (Friedman, Hastie, Höfling
    and Tibshirani, 2007).

    Parameters
    ----------
    l1_ratio : float, default=0.5
        Share of the l1 norm, in (0, 1]; use `TotalVariation` for 0.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.penalties import FusedLasso
    >>> FusedLasso(l1_ratio=0.5).prox(np.array([0.0, 0.0, 5.0, 5.0]), 2.0)
    array([0. , 0. , 3.5, 3.5])
    """

    l1_ratio: float = number(0.5, above=0.0, maximum=1.0)

    def value(self, w: Array) -> float:
        variation = kernels.sum_abs(np.diff(w))
        return self.l1_ratio * kernels.sum_abs(w) + (1.0 - self.l1_ratio) * variation

    def prox(self, w: Array, step: Array | float) -> Array:
        step = float(np.max(step))
        fused = kernels.prox_total_variation(np.ascontiguousarray(w), step * (1.0 - self.l1_ratio))
        return soft_threshold(fused, step * self.l1_ratio)

    def dual_norm(self, v: Array) -> float:
        return kernels.fused_dual_norm(*self._with_error(v), self.l1_ratio, 1.0 - self.l1_ratio)
