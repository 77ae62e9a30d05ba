"""A primal-dual interior-point method for losses and penalties with a representation by cones."""

from .linf_working_sets import interior_on_working_sets
from .method import interior_point, interior_point_to_the_zeros
from .programme import has_row_systems
from .programmes import cost_of_run, expected_cost

__all__ = [
    "cost_of_run",
    "expected_cost",
    "has_row_systems",
    "interior_on_working_sets",
    "interior_point",
    "interior_point_to_the_zeros",
]  # fmt: skip
