"""The optimisation problems that estimators define and solvers solve."""

from .problem import Problem
from .solution import Point, Solution

__all__ = ["Point", "Problem", "Solution"]
