"""A primal-dual interior-point method for every loss and every penalty with a cone."""

from .method import LARGEST_SYSTEM, expected_cost, interior_point

__all__ = ["LARGEST_SYSTEM", "expected_cost", "interior_point"]
