"""The interface from penalties to conic programmes (`PenaltyCones`)."""

from math import inf
from typing import Protocol

from .._typing import Array, Indices, Numbers


class PenaltyCones(Protocol):
    """The functions of coefficients w that a conic programme represents by cones.

    `Penalty.add_cones` adds those of which alpha R consists. For a penalty of groups, coefficients
    are in the order of `Penalty.group_order`, and ``starts`` has the start of each group, followed
    by the end of the last one. The last four functions are for programmes of several outputs only.

    Attributes
    ----------
    n_coefficients : int
        The number of coefficients.
    """

    n_coefficients: int

    def add_separable(
        self, l1: Numbers = 0, l2: Numbers = 0, lower: Numbers = -inf, upper: Numbers = inf
    ) -> None:
        """Add l1_j |w_j| + l2_j w_j^2 / 2 on [lower_j, upper_j] for every coefficient."""

    def add_group_norms(self, starts: Indices, weights: Array) -> None:
        """Add weight_g ||w_g||_2 for every group."""

    def add_largest_size(self, weight: float) -> None:
        """Add the term weight max_j |w_j|."""

    def add_l1_ball(self, radius: float) -> None:
        """Add the constraint ||w||_1 <= radius."""

    def add_elastic_net_ball(self, radius: float, l1_ratio: float) -> None:
        """Add the constraint l1_ratio ||w||_1 + (1 - l1_ratio) ||w||_2^2 / 2 <= radius."""

    def add_differences(self, weight: float) -> None:
        """Add the term weight sum_j |w_{j+1} - w_j|."""

    def add_largest_sizes(self, starts: Indices, weights: Array) -> None:
        """Add weight_g max_j |w_gj| for every group."""

    def add_squared_sums(self, starts: Indices, weight: float) -> None:
        """Add the term weight sum_g (sum_j |w_gj|)^2."""

    def add_squared_sum_of_norms(self, starts: Indices, weight: float) -> None:
        """Add the term weight (sum_g ||w_g||_2)^2."""

    def add_trace_norm(self, shape: tuple[int, int], weight: float) -> None:
        """Add weight times the trace norm of the matrix of this shape whose rows make up w."""

    def add_trace_norm_ball(self, shape: tuple[int, int], radius: float) -> None:
        """Add the constraint that this trace norm is at most the radius."""
