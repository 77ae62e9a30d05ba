"""The default solver for penalties that are convex functions of a norm."""

from functools import partial

from ..penalties import Structure
from ..problems import Problem
from .norms import by_slopes
from .select import TRIALS, Choice, auto

__all__ = ["of_slopes"]

SLOPES = "slopes-of-norm", "a function of a norm: models with the norm are faster to find"


def of_slopes(problem: Problem, long: bool) -> list[Choice]:
    """The choice of rounds of problems with the norm itself, solved by their own default."""
    return [Choice(*SLOPES, partial(by_slopes, method=auto))]


TRIALS[Structure.OF_NORM] = of_slopes
