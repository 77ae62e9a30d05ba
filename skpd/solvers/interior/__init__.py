"""A primal-dual interior-point method for losses and penalties with a representation by cones."""

from .method import interior_point, interior_point_to_the_zeros
from .programme import has_row_systems
from .programmes import cost_of_run, expected_cost

__all__ = [
    "cost_of_run",
    "expected_cost",
    "has_row_systems",
    "interior_point",
    "interior_point_to_the_zeros",
]  # fmt: skip
