"""A primal-dual interior-point method for losses and penalties with a representation by cones."""

from .faces import faces_of_ball
from .method import interior_point, interior_point_to_the_zeros
from .programmes import cost_of_run, expected_cost, has_decompositions

__all__ = [
    "cost_of_run", "expected_cost", "faces_of_ball", "has_decompositions", "interior_point",
    "interior_point_to_the_zeros",
]  # fmt: skip
