"""Problems with one loss of all scores: multivariate scores, sequences.

    minimise over w, b   L(A w + b) + alpha R(w),

where L is a maximum over labelings (`skpd.losses.structured`). Dual points are convex combinations
of labelings. With theta and E[loss] the means of a convex combination, every model has ::

    P(w, b) >= E[loss] + sum_i c_i theta_i (A w + b)_i + alpha R(w)

so that a certificate needs the mean loss and A' diag(c) theta. Combining with the true labeling,
whose loss and theta are 0, corresponds to the scaling of dual points in other problems. An
intercept requires sum_i c_i theta_i = 0, which the combination with a labeling whose sum has the
opposite sign satisfies. Two labelings with sums of both signs also bound the intercept, as L is at
least the linear function of each of them.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, sqrt
from typing import Any, Self, cast

import numpy as np

from .. import kernels
from .._floats import EPSILON
from .._immutable_base import attribute_of_part, computed
from .._typing import Array, Indices, Numbers
from ..certificates.interface import NOTHING, DualPoint, Interval, Sum
from ..designs import Design, WeightedGram
from ..designs.sampling import uniform_by_index
from ..losses.structured import StructuredDual, StructuredLoss, StructuredLossOfRows
from ..penalties import Penalty
from .free_directions import FreeDirections, proven
from .interfaces import MARGIN, Free, ProblemParts, Rows
from .null_model import NullModel
from .problem import Problem
from .regularisation import Regularisation
from .solution import Point

NO_COLUMNS = np.empty(0, dtype=np.int64)
SAFE = 1e-6  # relative margin of an interval that is multiplied by a sum of nearly 0


class FreeConstant(FreeDirections):
    """The intercept that is added to all scores, or free coefficients."""

    rows: "RowsOfScores"

    @cached_property
    def table(self) -> Array:  # type: ignore[override]
        """The free columns in their units, without what the loss ignores."""
        table, _ = self._in_units
        return (
            self.rows.loss.as_kind(StructuredLossOfRows).without_means(table)
            if len(self.columns)
            else table
        )

    @cached_property
    def squares(self) -> Array:
        return self.rows.weights @ (self.table * self.table)

    def intervals_of_constants(self, upper: float) -> list[Interval]:
        return self._intercepts(upper, 0.0)

    def _intercepts(self, upper: float, radius: float) -> list[Interval]:
        """The interval of b, from L >= loss + sum_i c_i theta_i (A w + b)_i for two labelings."""
        if not self.rows.fit_intercept:
            return [NOTHING]
        low, high = -inf, inf
        for combination, (v, error), (slope, slope_error) in self.rows.bounding:
            largest_change = 0.0
            if radius > 0.0:
                largest_change = self.penalty.support(self.penalty.worst_case(v, error), radius)
            mean_loss = combination.mean_loss - combination.mean_loss_error
            excess = max(upper - mean_loss + largest_change, 0.0)
            end = excess / max(abs(slope) - slope_error, 0.0) * (1.0 + SAFE)
            low, high = (max(low, -end), high) if slope < 0.0 else (low, min(high, end))
        return [proven(low, high)]

    def projected(self, problem: ProblemParts, point: DualPoint) -> DualPoint:
        """The convex combination with a labeling of opposite sum, whose sums cancel."""
        rows = self.rows
        if not rows.fit_intercept or point.as_kind(StructuredPoint).is_balanced:
            return point
        slope, _ = rows.slope_of(point.theta)
        for other in rows.loss.points_of_both_signs:
            beyond, _ = rows.slope_of(other)
            if slope * beyond < 0.0:
                share = slope / (slope - beyond)
                shares = np.array([1.0 - share, share])
                combined = rows.loss.convex_combination(shares, [point.theta, other])
                return StructuredPoint(rows, combined, abs(beyond))
        return point

    def balanced(self, problem: ProblemParts, point: DualPoint) -> DualPoint:
        if not len(self.columns):
            return self.projected(problem, point)
        known = point.as_kind(StructuredPoint).theta.orthogonal_to
        if known is not None and known[0] is self.rows.design:
            return point
        return self.balanced_beside(problem, point)

    def balanced_beside(self, problem: ProblemParts, point: DualPoint) -> DualPoint:
        """A point nearby whose sums over free coefficients vanish, if one is proven to exist."""
        return point


class StructuredPoint(DualPoint):
    """A convex combination of labelings as a dual point, which may be balanced by another one.

    Parameters
    ----------
    rows : RowsOfScores
    combination : StructuredDual
    beyond : float, default=0.0
        For a combination that is balanced by another, the sum sum_i c_i theta_i of the other one.
        Shares that differ by at most 4 units in the last place give a sum of exactly 0.
    columns : ndarray of int, default=()
        The free coefficients.
    """

    theta: StructuredDual
    quadratic = False

    def __init__(
        self, rows: "RowsOfScores", combination: StructuredDual, beyond: float = 0.0,
        columns: Indices = NO_COLUMNS,
    ) -> None:  # fmt: skip
        self.rows, self.theta, self.is_balanced = rows, combination, beyond > 0.0
        self.columns = columns
        self.linear = combination.is_linear
        # a bound on the difference of the other combination's share from that with a sum of 0
        self._moved = 0.0
        if self.is_balanced:
            value, error = rows.slope_of(combination)
            self._moved = 4.0 * EPSILON + 2.0 * (abs(value) + error) / beyond

    def value(self, scale: float) -> Sum:
        value, rounding = self.theta.value(scale)
        largest = 1.0 + abs(self.rows.null.objective)
        return value, rounding + scale * self._moved * largest

    def products(self, precise: bool) -> tuple[Array, Array]:
        rows, combination = self.rows, self.theta
        theta = np.ascontiguousarray(combination.theta)
        design = rows.design
        product = design.rmatvec_compensated if precise else design.rmatvec_bounded
        products, errors = product(rows.loss.weights, theta)
        largest = float(np.max(rows.loss.largest_theta))
        missing = combination.theta_error + 2.0 * self._moved * largest
        errors = errors + missing * rows.column_norms
        if combination.distance > 0.0:
            errors += combination.distance * cast(Array, rows.distances_of_columns)
        return products, errors

    def sums_without_products(self) -> list[Sum]:
        if not self.rows.fit_intercept or self.is_balanced:
            return [NOTHING]
        return [self.rows.slope_of(self.theta)]

    def free_sums(self, products: Array, errors: Array) -> list[Sum]:
        sums, columns = self.sums_without_products(), self.columns
        known = self.theta.orthogonal_to
        vanish = np.zeros(len(columns), dtype=bool)
        if known is not None and known[0] is self.rows.design:
            vanish = np.isin(columns, known[1])
        of_columns = zip(products[columns].tolist(), errors[columns].tolist(), strict=True)
        return sums + [NOTHING if v else x for v, x in zip(vanish, of_columns, strict=True)]

    def largest_scale(self) -> float:
        return 1.0


HALVINGS = 200  # most bisections of an interval of intercepts, until no number is between its ends


@dataclass(frozen=True, eq=False)
class RowsOfScores(Rows[Any]):
    """The scores of L(A w + b), for a loss L of all scores.

    Parameters
    ----------
    design : Design
        The matrix A, of shape (n_scores, n_features).
    loss : StructuredLoss
    fit_intercept : bool, default=False
    n_labels : int, default=None
        The number of samples; the number of scores by default.

    Raises
    ------
    ValueError
        If there is an intercept although a constant added to all scores does not change the
        predicted labels.
    """

    design: Design
    loss: StructuredLoss  # type: ignore[assignment]
    fit_intercept: bool = False
    n_labels: int | None = None
    of_scores = True
    largest_target = attribute_of_part("loss.largest_target")
    weights = attribute_of_part("loss.weights")
    n_weighty = attribute_of_part("loss.n_exchangeable")
    absorbs_shifts = attribute_of_part("loss.ignores_constants")

    def __post_init__(self) -> None:
        if self.fit_intercept and not self.loss.points_of_both_signs:
            raise ValueError(
                "fit_intercept must be False for this loss: a constant added to all scores is "
                "of no use to it."
            )

    n_samples = computed(lambda self: self.n_labels or self.loss.n_scores)

    def random_sample(self, size: int) -> Self:
        uniforms = uniform_by_index(np.arange(self.loss.n_scores))
        rows, loss = self.loss.sample(np.flatnonzero(uniforms < size / self.n_weighty))
        return replace(self, design=self.design.rows(rows), loss=loss)

    def shift_of_features(self, penalty: Penalty) -> Array | None:
        return self.design.shift_of_columns(self.loss.weights)

    def shifted_intercept(self, intercept: Numbers, shift: Array, coef: Array) -> Numbers:
        return intercept

    def new_gram(self, penalty: Penalty) -> WeightedGram | None:
        return WeightedGram(bool(self.fit_intercept)) if self.loss.has_curvature else None

    def free_of(self, penalty: Penalty) -> Free:
        """The intercept and the free coefficients.

        Raises
        ------
        ValueError
            If the penalty leaves coefficients free.
        """
        if penalty.free_level or len(penalty.free_features.columns):
            raise ValueError(
                "A maximum over labelings needs a penalty that leaves no coefficient free, got "
                f"{penalty!r}."
            )
        return FreeConstant(self, penalty)

    # Models

    def scores(self, coef: Array, intercept: float) -> Array:
        z: Array = self.design.matvec(np.ascontiguousarray(coef))
        return z + intercept if intercept else z

    def mean_loss(
        self, problem: ProblemParts, coef: Array, free: Numbers, accuracy: float
    ) -> float:
        self.require_no_intercept(free)
        z, error = self.design.matvec_bounded(np.ascontiguousarray(coef), float(free))
        if not np.isfinite(z).all():
            return inf
        value, rounding = self.loss.value(z)
        rounding += self.loss.sensitivity(error)
        if rounding > accuracy:
            return min(value + rounding, self.precise_mean_loss(problem, coef, free)[0])
        return value + rounding

    def precise_mean_loss(
        self, problem: ProblemParts, coef: Array, free: Numbers
    ) -> tuple[float, float]:
        self.require_no_intercept(free)
        z, low, error = self.design.matvec_compensated(np.ascontiguousarray(coef), float(free))
        if not np.isfinite(z).all():
            return inf, inf
        value, rounding = self.loss.value(z)
        return value + rounding + self.loss.sensitivity(np.abs(low) + error), value

    # The best constant

    @cached_property
    def null(self) -> NullModel:
        point = self._null_point
        value, rounding = self.loss.value(self.scores(point.coef, point.intercept))
        return NullModel(point, value + rounding, rounding, value + rounding)

    @property
    def _null_point(self) -> Point:
        """The best constant score, found by bisection, with a convex combination as dual point."""
        coef = np.zeros(self.n_coefficients)
        if not self.fit_intercept:
            return Point(coef, 0.0, self._dual_at(0.0))
        at_zero = self.loss.value(np.zeros(self.loss.n_scores))[0]
        # outside of this interval constants have larger losses than the constant 0
        points = self.loss.points_of_both_signs
        bounds = [(at_zero - m.mean_loss) / self.slope_of(m)[0] for m in points]
        low, high = float(min(bounds) - 1.0), float(max(bounds) + 1.0)
        left, right = self._dual_at(low), self._dual_at(high)
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            if not low < middle < high:
                break
            combination = self._dual_at(middle)
            if self.slope_of(combination)[0] < 0.0:
                low, left = middle, combination
            else:
                high, right = middle, combination
        values = [self.loss.value(np.full(self.loss.n_scores, b))[0] for b in (low, high)]
        slopes = self.slope_of(left)[0], self.slope_of(right)[0]
        share = slopes[1] / (slopes[1] - slopes[0]) if slopes[1] > slopes[0] else 0.5
        share = min(max(share, 0.0), 1.0)
        combined = self.loss.convex_combination(np.array([share, 1.0 - share]), [left, right])
        return Point(coef, (low, high)[int(np.argmin(values))], combined)

    def _dual_at(self, constant: float) -> StructuredDual:
        return self.loss.loss_augmented(np.full(self.loss.n_scores, constant), 0.0)[1]

    @cached_property
    def null_gradient(self) -> Array:
        """A gradient of the loss at the best constant."""
        theta = self.null_point.dual_coef.theta
        return self.design.rmatvec(self.loss.weights * theta)

    # The derivative of the loss in the intercept at the best constant.
    null_slope = computed(lambda self: self.slope_of(self.null_point.dual_coef)[0])

    def distances_of_products(self, problem: ProblemParts, gap: float) -> Array | None:
        distances = self.distances_of_columns
        return None if distances is None else sqrt(max(gap, 0.0)) * (1.0 + MARGIN) * distances

    @cached_property
    def distances_of_columns(self) -> Array | None:
        """The `StructuredLoss.distances_of_products`."""
        return self.loss.distances_of_products(self.design)

    def dual_point_of(self, coef: Array, intercept: Numbers) -> StructuredDual:
        return self.loss.loss_augmented(self.scores(coef, float(intercept)), 0.0)[1]

    # Dual points

    def dual_table(self, dual_coef: StructuredDual) -> Array:
        return dual_coef.theta

    def plain_dual(self, theta: StructuredDual) -> StructuredDual:
        return theta

    def zero_dual(self, theta: StructuredDual) -> StructuredDual:
        return self.loss.true_labeling

    def feasible_point(self, problem: ProblemParts, theta: StructuredDual) -> DualPoint | None:
        return StructuredPoint(self, theta, columns=problem.free_columns)

    def slope_of(self, combination: StructuredDual) -> Sum:
        """The sum of c_i theta_i, and a bound on its error."""
        weights = self.loss.weights
        value, error = kernels.compensated_dot(weights, combination.theta)
        return value, error + combination.theta_error * float(np.sum(weights)) * (1.0 + MARGIN)

    @cached_property
    def bounding(self) -> list[tuple[StructuredDual, tuple[Array, Array], Sum]]:
        """The `StructuredLoss.points_of_both_signs` with -A' diag(c) theta and sum_i c_i theta_i.

        Both come with bounds on their errors.
        """
        bounds = []
        for combination in self.loss.points_of_both_signs:
            v, error = StructuredPoint(self, combination).products(True)
            bounds.append((combination, (-v, error), self.slope_of(combination)))
        return bounds

    @cached_property
    def column_norms(self) -> Array:
        """Upper bounds on sum_i c_i abs(a_ij), by the Cauchy-Schwarz inequality."""
        weights = self.loss.weights
        norms: Array = self.design.column_norms(weights)
        return sqrt(float(np.sum(weights))) * norms * (1.0 + MARGIN)


def scores_problem(
    design: Any, loss: StructuredLoss, penalty: Penalty, alpha: float,
    fit_intercept: bool = False, n_labels: int | None = None,
) -> Problem:  # fmt: skip
    """The problem of minimising L(A w + b) + alpha R(w), for a loss L of all scores.

    Parameters
    ----------
    design, loss, fit_intercept, n_labels
        See `RowsOfScores`.
    penalty : Penalty
        A penalty that leaves no coefficient free.
    alpha : float

    Raises
    ------
    ValueError
        If the penalty leaves coefficients free, or if there is an intercept
        although a constant added to all scores does not change the predicted labels.
    """
    regularisation = Regularisation(penalty, alpha).for_n_features(design.shape[1])
    return Problem(RowsOfScores(design, loss, fit_intercept, n_labels), regularisation)
