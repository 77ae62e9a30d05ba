"""The programme of a problem in the interior-point method: its unknowns, terms and systems."""

from collections.abc import Callable

import numpy as np

from ..._typing import Array, Indices
from ...designs import Design
from ...penalties import Structure
from ...problems import Point, Problem
from .loss_terms import Equality
from .maps import Map, Predictions
from .row_systems import RowSystem
from .settings import SETTINGS
from .systems import FeatureSystem, NewtonSystem
from .tables import Tables, basis_of
from .terms import DualTerm, Term


class Programme:
    """The problem of minimising cost.x + x' diag(ridge) x / 2 + the terms over unknowns x.

    Parameters
    ----------
    problem : Problem
    unit : float, default=None
        The scale of objective values and of predictions; those of the problem by default.

    Attributes
    ----------
    x : ndarray of shape (n_unknowns,)
        The coefficients, the intercepts, and additional unknowns (`new_unknown`).
    losses, penalties : list of Term
        The terms of the rows, and the others.
    constraints : list of (DualTerm, ndarray)
        The terms of linear constraints, with the indices of their rows.
    other_scales : ndarray of shape (n_unknowns - n_coefficients,)
        The approximate sizes of the other unknowns.
    completed : callable
        The point of the problem with given coefficients, intercept and multipliers of the rows.
    """

    completed: Callable[[Point], Point]

    def __init__(self, problem: Problem, unit: float | None = None) -> None:
        self.problem = problem
        self.unit = problem.objective_unit if unit is None else unit
        self.scale = problem.prediction_scale if unit is None else unit
        self.counted = np.flatnonzero(problem.weights > 0.0)
        self.y, self.weights = problem.y[self.counted], problem.weights[self.counted]
        d = self.n_coefficients = problem.design.shape[1]
        self.basis = basis_of(problem.penalty, d)
        self.tables = Tables(problem, self.counted, self.basis)
        self.design = self.tables.design
        self.predictions: Map = Predictions(self.design)
        self.x = np.zeros(self.design.shape[1])
        self.cost, self.ridge = np.zeros_like(self.x), np.zeros_like(self.x)
        self.other_scales = np.full(len(self.x) - d, self.scale)
        # the product of a term of the penalty, relative to that of a row
        self.share = 1.0 / float(problem.total_weight or len(self.y))
        # the size of coefficients that change predictions by their scale
        sizes = self.tables.sizes
        sizes = np.where(sizes > 0.0, sizes, float(np.max(sizes, initial=0.0)) or 1.0)
        self.width = self.scale / sizes
        has_means = not problem.fit_intercept and self.design.shape[1] > d
        if (has_means or problem.constraints is not None) and problem.penalty.is_norm:
            # coefficients may be small for their features, as they contribute to the mean of the
            # predictions or obey constraints; an upper bound on R at the optimum bounds their size
            self.width = np.minimum(self.width, self.unit / problem.alpha)
        self.extra_rows = np.empty((0, d))
        self.losses: list[DualTerm] = []
        self.penalties: list[Term] = []
        self.constraints: list[tuple[DualTerm, Indices]] = []
        self.completed = lambda point: point
        if has_means:
            for normal in self.tables.normals():
                self.penalties.append(Equality(normal, self.new_unknown(0.0), self.x, d))
        elif problem.fit_intercept and unit is None:
            self.x[d:] = self.tables.relative(problem.null_point.intercept)

    def new_unknown(self, value: float, cost: float = 0.0, size: float | None = None) -> int:
        """Add an unknown with an initial value, cost and approximate size; return its index."""
        self.x = np.append(self.x, value)
        self.other_scales = np.append(self.other_scales, self.scale if size is None else size)
        self.cost, self.ridge = np.append(self.cost, cost), np.append(self.ridge, 0.0)
        return len(self.x) - 1

    def minimise_minus_intercept(self) -> None:
        """Add -b to the objective; as columns are centred, b is its unknown minus mean.w."""
        d = self.n_coefficients
        self.cost[d], self.cost[:d] = -1.0, self.tables.means[0]

    @property
    def terms(self) -> list[Term]:
        return [*self.losses, *self.penalties]

    def system(self) -> NewtonSystem:
        """The Newton system, with a matrix of the smaller side of X."""
        problem, rows, d = self.problem, self._rows_of_system(), self.n_coefficients
        n_borders = len(self.x) - rows.shape[1]
        if problem.rows.of_outputs:
            kind = RowSystem if has_row_systems(problem) else FeatureSystem
            return kind(rows, d, n_borders, self.tables.outputs)
        # systems of the rows are too inexact to detect zeros under constraints
        least = SETTINGS.few_features if problem.constraints is None else SETTINGS.largest_system
        by_rows = rows.shape[0] < d and d > least and not needs_features(problem)
        return (RowSystem if by_rows else FeatureSystem)(rows, d, n_borders)

    def new_rows(self, matrix: Array) -> Indices:
        """Add rows to the Newton system after those of the data, and return their indices.

        Terms of these rows have a curvature of the same form as the losses of data rows.
        """
        first = len(self.y) + len(self.extra_rows)
        self.extra_rows = np.vstack([self.extra_rows, matrix])
        return np.arange(first, first + len(matrix))

    def _rows_of_system(self) -> Design:
        """The design with all rows over which a Newton system sums the curvature."""
        if not len(self.extra_rows):
            return self.design
        rows = np.zeros((len(self.extra_rows), self.design.shape[1]))
        rows[:, : self.n_coefficients] = self.extra_rows
        return self.design.with_rows(rows)

    def point(self) -> Point:
        """The point with unknowns moved onto the kinks that the last step approached.

        With several outputs, it is not moved if this would increase the objective by more than
        all products.
        """
        x = self.x.copy()
        for term in reversed(self.penalties):  # equalities, which come first, are restored last
            term.move_onto_kinks(x)
        moved = self._point_of(x)
        if not self.problem.rows.of_outputs:
            return moved
        as_it_is = self._point_of(self.x)
        limit = self._objective(as_it_is) + sum(term.products() for term in self.terms)
        return moved if self._objective(moved) <= limit else as_it_is

    def _point_of(self, x: Array) -> Point:
        problem, multipliers = self.problem, sum(term.multipliers for term in self.losses)
        theta = np.zeros((*np.shape(multipliers)[:-1], problem.n_samples))
        theta[..., self.counted] = multipliers
        if problem.constraints is not None:
            mu = np.zeros(len(problem.constraints))
            for term, rows in self.constraints:
                mu[rows] += term.multipliers
            theta = np.append(theta, mu)
        coef = self.basis.coef(x[: self.n_coefficients])
        return self.completed(Point(coef, self.tables.intercept(x), theta))

    def _objective(self, point: Point) -> float:
        problem = self.problem
        coef, intercept = problem.feasible_model(point.coef, point.intercept)
        z = problem.matvec(problem.join(coef, intercept))
        loss = float(problem.weights @ problem.loss.value(problem.y, z))
        return loss + problem.alpha * problem.penalty.value(coef)


def needs_features(problem: Problem) -> bool:
    """Whether systems are over the features: the penalty's curvature is singular or banded."""
    penalty = problem.penalty
    return penalty.structure is Structure.CHAINED or len(penalty.free_features.columns) > 0


def has_row_systems(problem: Problem) -> bool:
    """Whether Newton systems of several outputs have a matrix over the rows of all outputs.

    They are at most half as many as the coefficients. Squared l2 penalties are left to methods in
    the row space.
    """
    penalty, n, d = problem.penalty, problem.n_samples, problem.n_variables
    if penalty.is_ridge or penalty.structure is Structure.SPECTRAL or needs_features(problem):
        return False
    is_wide = d >= max(SETTINGS.features_per_row * n, SETTINGS.few_features)
    return is_wide and n <= SETTINGS.largest_system and not problem.loss.of_quantiles
