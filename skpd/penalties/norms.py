"""Norms of all coefficients at once."""

from dataclasses import dataclass

import numpy as np

from .. import kernels
from .._typing import Array
from .base import Norm, PenaltyCones, Structure
from .group_lasso import GroupL2
from .implied_intervals import Slopes, intervals_within
from .smooth_directions import NEAR, SmoothDirections, of_coordinates


class _OfAll(Norm):
    """The base class of symmetric norms with R(w) >= abs(w_j) for every j."""

    symmetric = True
    has_cones = True

    def intervals(self, slopes: Slopes, bound: float, radius: float) -> Array | None:
        """Intervals from alpha R(w) - R°(v) R(w) <= most."""
        worst_case = self.worst_case(slopes.v, slopes.error)
        slack = slopes.alpha - self.dual_norm(worst_case)
        if slack > 0.0:
            radius = min(radius, max(bound, 0.0) / slack)
        return intervals_within(radius, len(slopes.v))


@dataclass(frozen=True)
class L2Norm(_OfAll):
    """Euclidean norm, ``||w||_2``, not squared.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.penalties import L2Norm
    >>> L2Norm().prox(np.array([3.0, 4.0]), 1.0)
    array([2.4, 3.2])
    """

    def value(self, w: Array) -> float:
        return kernels.euclidean_norm(w)

    def prox(self, w: Array, step: Array | float) -> Array:
        norm, step = kernels.euclidean_norm(w), np.max(step)
        return w * (1.0 - step / norm) if norm > step else np.zeros_like(w)

    def dual_norm(self, v: Array) -> float:
        return kernels.euclidean_norm(v)

    def smooth_directions(self, w: Array) -> SmoothDirections | None:
        norm = self.value(w)
        return of_coordinates(np.full(len(w), norm > 0.0), w / (norm or 1.0))

    def add_cones(self, cones: PenaltyCones, alpha: float) -> None:
        cones.add_group_norms(np.array([0, cones.n_coefficients]), np.array([alpha]))

    def with_coefficient(self, n_features: int, weight: float) -> GroupL2:
        return GroupL2([n_features, 1], weights=[1.0, weight])


@dataclass(frozen=True)
class LInf(_OfAll):
    """Maximum norm, ``max_j |w_j|``.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.penalties import LInf
    >>> LInf().prox(np.array([3.0, -1.0]), 1.0)
    array([ 2., -1.])
    """

    structure = Structure.MAXIMUM
    has_ties = True

    def value(self, w: Array) -> float:
        return kernels.max_abs(w)

    def prox(self, w: Array, step: Array | float) -> Array:
        # Moreau's identity: the prox of a norm is w minus its projection onto the dual ball
        return w - kernels.project_l1_ball(np.ascontiguousarray(w), float(np.max(step)))

    def dual_norm(self, v: Array) -> float:
        return kernels.sum_abs(v)

    def smooth_directions(self, w: Array) -> SmoothDirections | None:
        largest = float(np.max(np.abs(w), initial=0.0))
        at_top = np.abs(w) >= (1.0 - NEAR) * largest
        signs = np.where(at_top, np.sign(w), 0.0)
        subgradient = signs / max(np.count_nonzero(signs), 1)
        if largest == 0.0:
            return of_coordinates(~at_top, subgradient)
        return SmoothDirections(np.column_stack([np.eye(len(w))[:, ~at_top], signs]), subgradient)

    def add_cones(self, cones: PenaltyCones, alpha: float) -> None:
        cones.add_largest_size(alpha)
