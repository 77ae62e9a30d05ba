"""A primal-dual interior-point method for every loss and every penalty with a cone."""

from .faces import faces_of_ball
from .method import cost_of_run, expected_cost, interior_point

__all__ = ["cost_of_run", "expected_cost", "faces_of_ball", "interior_point"]
