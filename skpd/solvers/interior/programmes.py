"""The programme of a problem by its form, and what a run of the method costs."""

from math import inf

from ...designs import Design, newton_cost
from ...problems import Problem
from .outputs import OutputsProgramme, expected_cost_of_outputs
from .programme import Programme, needs_features
from .robust import RobustProgramme
from .settings import SETTINGS


def programme_of(problem: Problem) -> Programme:
    """The programme of a problem whose loss and penalty have a representation by cones."""
    kind: type[Programme] = Programme
    if problem.loss.has_radius:
        kind = RobustProgramme
    elif problem.rows.of_outputs:
        kind = OutputsProgramme
    return kind(problem).posed()


def expected_cost(problem: Problem) -> float:
    """The cost of a run, in the units of `newton_cost`; inf if it cannot solve the problem."""
    if problem.rows.of_outputs:
        return expected_cost_of_outputs(problem)
    n, d = problem.design.shape
    if not (problem.penalty.has_cones and problem.loss.has_cones):
        return inf
    if min(n, d) > SETTINGS.largest_system:
        return inf
    if needs_features(problem.penalty) and d > SETTINGS.largest_system:
        return inf
    return cost_of_run(problem.design)


def has_decompositions(problem: Problem) -> bool:
    """Whether ``precise`` systems use an orthogonal decomposition."""
    n, d = problem.design.shape
    return bool((n + d) * d**2 <= SETTINGS.largest_precise_decomposition)


def cost_of_run(design: Design) -> float:
    """The cost of a run on data that fit in memory, in the units of `newton_cost`."""
    iteration = newton_cost(design, *design.shape) + SETTINGS.iteration_overhead
    return SETTINGS.expected_iterations * iteration
