"""The optimisation problems that estimators define and solvers solve."""

from .in_memory import linear_problem
from .problem import Problem
from .solution import Point, Solution

__all__ = ["Point", "Problem", "Solution", "linear_problem"]
