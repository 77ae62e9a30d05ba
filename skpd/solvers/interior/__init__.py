"""A primal-dual interior-point method for losses and penalties with a representation by cones."""

from . import constraints  # noqa: F401 (which registers its programme)
from .faces import faces_of_ball
from .method import cost_of_run, expected_cost, has_decompositions, interior_point
from .outputs import expected_cost_of_outputs

__all__ = [
    "cost_of_run",
    "expected_cost",
    "expected_cost_of_outputs",
    "faces_of_ball",
    "has_decompositions",
    "interior_point",
]
