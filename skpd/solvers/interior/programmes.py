"""The programme of a problem by its form, and what a run of the method costs."""

from math import inf
from typing import cast

from ...designs import Design, newton_cost, newton_cost_of_outputs
from ...designs.gram import BLAS
from ...designs.outputs import OutputsDesign
from ...penalties import Structure
from ...problems import Problem
from .constraints import constraint_terms
from .programme import Programme, has_row_systems, needs_features
from .representation import Representation
from .settings import SETTINGS

SOLUTIONS = 2  # of a Newton system: predictor and corrector


def programme_of(problem: Problem) -> Programme:
    """The programme of a problem whose loss and penalty have a representation by cones."""
    programme = Programme(problem)
    if problem.constraints is not None:
        programme.constraints = constraint_terms(programme)
        programme.penalties += [term for term, _ in programme.constraints]
    cones = Representation(programme)
    problem.loss.add_cones(cones)
    problem.penalty.add_cones(cones, problem.alpha)
    return programme


def expected_cost(problem: Problem) -> float:
    """The cost of a run, in the units of `newton_cost`; inf if it cannot solve the problem."""
    if problem.rows.of_outputs:
        return expected_cost_of_outputs(problem)
    n, d = problem.design.shape
    if not (problem.penalty.has_cones and problem.loss.has_cones):
        return inf
    if (d if needs_features(problem) else min(n, d)) > SETTINGS.largest_system:
        return inf
    return cost_of_run(problem.design)


def cost_of_run(design: Design) -> float:
    """The cost of a run on data that fit in memory, in the units of `newton_cost`."""
    iteration = newton_cost(design, *design.shape) + SETTINGS.iteration_overhead
    return SETTINGS.expected_iterations * iteration


def _cost_of_row_systems(problem: Problem) -> float:
    """The cost of an iteration with a matrix over the rows: its factor, and refinements.

    Products with their own transpose and factors compute half a matrix, which is large.
    """
    n, K, design = problem.n_samples, problem.n_outputs, problem.design
    n_solutions = SOLUTIONS + K * problem.fit_intercept
    n_entries = design.n_entries * (K if design.shares_data else 1)
    products = n_solutions * (SETTINGS.refinements * n_entries + 2.0 * n * n)
    return n * n * (n / 3.0 + design.n_inputs) / (2.0 * SETTINGS.large_matrices * BLAS) + products


def expected_cost_of_outputs(problem: Problem) -> float:
    """The cost of a run for several outputs."""
    design, K = problem.design, problem.n_outputs
    d, over_rows = problem.n_variables, has_row_systems(problem)
    has_cones = problem.loss.has_cones and problem.penalty.has_cones_of_outputs
    if not has_cones or (d > SETTINGS.largest_system and not over_rows):
        return inf
    # the memory of the data and of blocks of curvature
    width = max(design.n_inputs, K) if problem.loss.couples_outputs else design.n_inputs
    entries = float(problem.n_samples) * width
    of_penalty = 0.0
    if problem.penalty.structure is Structure.SPECTRAL:
        order = sum(problem.penalty.shape_of(problem.n_coefficients))
        numbers = 0.5 * order * (order + 1) * problem.n_coefficients
        entries = max(entries, numbers)
        of_penalty = (numbers * problem.n_coefficients + d**3 / 3.0) / BLAS
    if over_rows and problem.fit_intercept:
        entries = max(entries, float(d) * K)  # the products with the columns of intercepts
    if entries > SETTINGS.largest_system**2:
        return inf
    if over_rows:
        step = _cost_of_row_systems(problem)
    else:
        couples = problem.loss.couples_outputs
        step = newton_cost_of_outputs(cast(OutputsDesign, design), problem.n_samples, d, couples)
    return SETTINGS.expected_iterations * (step + of_penalty + SETTINGS.iteration_overhead)
