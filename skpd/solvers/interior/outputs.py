"""Problems of several outputs as programmes of the interior-point method."""

from collections.abc import Callable
from math import inf, sqrt
from typing import Any, cast

import numpy as np
import scipy.sparse as sp

from ..._typing import Array, Indices
from ...designs import Design, newton_cost_of_outputs
from ...designs.gram import BLAS
from ...penalties import Structure
from ...problems import Point, Problem
from .absolute_values import LargestSizes, SquaredSums
from .coefficient_bases import Basis, CentredFeatures
from .epigraphs import SquaredSumOfNorms
from .output_systems import OutputRows, OutputsRowSystem, OutputsSystem
from .output_terms import CoupledRows, LargestScores, OutputsInOrder, RowNorms, SoftmaxRows
from .programme import Programme, needs_features
from .settings import SETTINGS
from .systems import NewtonSystem
from .terms import Intervals
from .trace_norm import TraceNorm, TraceNormBall

SOLUTIONS = 2  # of a Newton system: predictor and corrector


class OutputsProgramme(Programme):
    """The programme of several outputs, with a column of X for each coefficient and intercept.

    For losses of classes, the last intercept is fixed at 0, as only differences of scores change
    the loss.

    Attributes
    ----------
    means : ndarray of shape (n_outputs, n_coefficients)
        The means that were subtracted from the columns of each output.
    """

    def _data(self) -> Design:
        """The design with the X of every output in its own rows and columns."""
        problem, K, d = self.problem, self.problem.n_outputs, self.n_coefficients
        rows, parts = self._parts()
        place = np.argsort(self.basis.order)
        columns = [place[k::K] for k in range(K)]
        self.means, self.sizes = np.zeros((K, d)), np.zeros(d)
        ones, weights = problem.fit_intercept, [self.weights[indices] for indices in rows]
        if sp.issparse(parts[0]):
            norms = self._each(lambda x, c: Design(x).column_norms(c), parts, weights)
        else:
            as_given = Basis(np.arange(parts[0].shape[1]))
            centred = self._each(
                lambda x, c: CentredFeatures(x, c, ones, as_given), parts, weights
            )
            norms = [part.sizes for part in centred]
            ones = ones or any(part.is_far for part in centred)
            if ones:
                parts = [part.table for part in centred]
                for k, part in enumerate(centred):
                    self.means[k, columns[k]] = part.mean
        for indices, sizes in zip(columns, norms, strict=True):
            self.sizes[indices] = sizes
        n_ones = len(self._relative(np.zeros(K))) if ones else 0
        designs = self._each(Design, parts)
        designs[:n_ones] = self._each(Design.with_ones, designs)[:n_ones]
        for k in range(n_ones):
            columns[k] = np.append(columns[k], d + k)
        self.outputs = list(map(OutputRows, rows, columns, designs))
        return _assembled(self.outputs, (len(self.counted), d + n_ones))

    def _each(self, function: Callable[..., Any], *lists: list[Any]) -> list[Any]:
        """The results of a function for all outputs, called once if they share X and weights."""
        if self.problem.design.shares_data:
            return [function(*(values[0] for values in lists))] * len(lists[0])
        return list(map(function, *lists))

    def _parts(self) -> tuple[list[Indices], list[Any]]:
        """The indices of the rows of each output among those with a weight, and their X.

        Either all X are arrays or all are sparse.
        """
        problem = self.problem
        numbers, counts = np.arange(problem.n_samples), problem.weights > 0.0
        of_outputs = [numbers[indices] for indices in problem.rows.row_indices]
        rows = [np.searchsorted(self.counted, indices[counts[indices]]) for indices in of_outputs]
        samples = [np.flatnonzero(counts[indices]) for indices in of_outputs]
        parts = self._each(Design.rows_as_they_are, problem.design.parts, samples)
        entries = sum(part.size for part in parts)
        size = sum(part.shape[0] * part.shape[1] for part in parts)
        if entries < SETTINGS.dense_share * size and all(map(sp.issparse, parts)):
            return rows, parts
        return rows, self._each(lambda x: x.toarray() if sp.issparse(x) else np.asarray(x), parts)

    def _relative(self, values: Array) -> Array:
        """The numbers of the outputs, minus the last one for losses of classes.

        Only these differences affect the loss of classes.
        """
        return values[:-1] - values[-1] if self.problem.loss.of_classes else values

    def _first_intercept(self) -> Array:
        return self._relative(self.problem.null_point.intercept)

    def _normals(self) -> Array:
        means = self._relative(self.means)
        return np.hstack([means, -np.eye(len(means))])

    def _intercept(self, x: Array) -> Array:
        problem, d, K = self.problem, self.n_coefficients, self.problem.n_outputs
        if not problem.fit_intercept:
            return np.zeros(K)
        intercept = -self.means @ x[:d]
        of_ones = x[d : self.design.shape[1]]
        intercept[: len(of_ones)] += of_ones
        return cast(Array, problem.split(np.append(x[:d], intercept))[1])

    def point(self) -> Point:
        """The point with unknowns moved onto the kinks that the last step approached.

        The point is not moved if this would increase the objective by more than all products.
        """
        settled, as_it_is = super().point(), self._point_of(self.x)
        limit = self._objective(as_it_is) + sum(term.products() for term in self.terms)
        return settled if self._objective(settled) <= limit else as_it_is

    def _objective(self, point: Point) -> float:
        problem = self.problem
        coef, intercept = problem.feasible_model(point.coef, point.intercept)
        z = problem.matvec(problem.join(coef, intercept))
        loss = float(problem.weights @ problem.loss.value(problem.y, z))
        return loss + problem.alpha * problem.penalty.value(coef)

    def system(self, precise: bool = False) -> NewtonSystem:
        n_borders = len(self.x) - self.design.shape[1]
        by_rows = has_row_systems(self.problem) and not precise
        kind = OutputsRowSystem if by_rows else OutputsSystem
        return kind(self.design, self.outputs, self.n_coefficients, n_borders)

    @property
    def _coupled(self) -> CoupledRows:
        """The data of the terms of losses of several predictions."""
        K = self.problem.loss.n_outputs
        weights = np.ascontiguousarray(self.weights[::K])
        return CoupledRows(self.predictions, self.y.reshape(-1, K), weights, self.x)

    def add_largest_scores(self) -> None:
        self.losses.append(LargestScores(self._coupled))

    def add_row_norms(self) -> None:
        self.losses.append(RowNorms(self._coupled, self.problem.prediction_scale))

    def add_softmax(self) -> None:
        self.losses.append(SoftmaxRows(self._coupled, self.problem.loss))

    def add_ordered_pinballs(self, quantiles: tuple[float, ...]) -> None:
        rows, width = self._coupled, self.problem.prediction_scale
        levels = np.tile(quantiles, len(rows.y))
        self.losses.append(Intervals(
            rows.image, offset=np.ravel(rows.y), lower=-levels, upper=1.0 - levels,
            weights=self.weights, x=rows.x, width=width,
        ))  # fmt: skip
        self.losses.append(OutputsInOrder(rows, self.design, width))

    def _width_of_groups(self, starts: Indices, max_sum: float) -> Array:
        """Initial bounds on the norms of groups, whose sum is at most ``max_sum``."""
        width = self.width[: starts[-1]]
        size = float(np.max(width))  # the squares are scaled by it, as they may underflow
        width = size * np.sqrt(np.add.reduceat((width / size) ** 2, starts[:-1]))
        return width * min(1.0, max_sum / float(np.sum(width)))

    def add_largest_sizes(self, starts: Indices, weights: Array) -> None:
        if len(weights):
            # the penalty at an optimum is at most the objective at W = 0
            max_sum = self.problem.objective_unit / float(np.min(weights))
            width = self._width_of_groups(starts, max_sum)
            self.penalties.append(LargestSizes(starts, self.share, weights, width))

    def add_squared_sums(self, starts: Indices, weight: float) -> None:
        norm = float(np.linalg.norm(np.diff(starts).astype(np.float64)))
        bound = sqrt(self.problem.objective_unit / weight) / norm
        bounds = np.full(self.n_coefficients, bound)
        self.penalties.append(SquaredSums(starts, self.share, weight, bounds))

    def add_squared_sum_of_norms(self, starts: Indices, weight: float) -> None:
        width = self._width_of_groups(starts, sqrt(self.problem.objective_unit / weight))
        tau = 2.0 * weight * float(np.sum(width))
        place = self.new_unknown(tau, size=tau)
        self.penalties.append(SquaredSumOfNorms(starts, weight, self.share, width, place))

    def add_trace_norm(self, shape: tuple[int, int], weight: float) -> None:
        max_size = self.problem.objective_unit / weight
        size = min(float(np.linalg.norm(self.width)), max_size)
        self.penalties.append(TraceNorm(shape, weight, self.share, size))

    def add_trace_norm_ball(self, shape: tuple[int, int], radius: float) -> None:
        # a larger ball decreases the objective by at most the loss of the best constant
        tau = self.problem.objective_unit / radius
        place = self.new_unknown(0.0)
        self.penalties.append(TraceNormBall(shape, place, radius, tau, self.share))


def _assembled(outputs: list[OutputRows], shape: tuple[int, int]) -> Design:
    """The sparse design with the rows and columns of all outputs."""
    tables = [sp.coo_array(x.design.rows_as_they_are(np.arange(len(x.rows)))) for x in outputs]
    row = np.concatenate([x.rows[t.row] for x, t in zip(outputs, tables, strict=True)])
    column = np.concatenate([x.columns[t.col] for x, t in zip(outputs, tables, strict=True)])
    values = np.concatenate([t.data for t in tables]).astype(np.float64, copy=False)
    return Design(sp.csr_array((values, (row, column)), shape=shape))


def has_row_systems(problem: Problem) -> bool:
    """Whether Newton systems of several outputs have a matrix over the rows of all outputs.

    They are at most half as many as the coefficients. Squared l2 penalties are left to methods in
    the row space.
    """
    penalty, n, d = problem.penalty, problem.n_samples, problem.n_variables
    if penalty.is_ridge or penalty.structure is Structure.SPECTRAL or needs_features(penalty):
        return False
    is_wide = d >= max(SETTINGS.features_per_row * n, SETTINGS.few_features)
    return is_wide and n <= SETTINGS.largest_system and not problem.loss.of_quantiles


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
    """The cost of a run, in the units of `newton_cost`; inf if it cannot solve the problem."""
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
        step = newton_cost_of_outputs(design, problem.n_samples, d, couples)
    return SETTINGS.expected_iterations * (step + of_penalty + SETTINGS.iteration_overhead)
