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
from .._immutable_base import attribute_of_part, computed
from .._typing import Array, Numbers
from ..certificates.interface import DualPoint, Sum
from ..designs import WeightedGram
from ..designs.sampling import uniform_by_index
from ..losses.structured import StructuredDual, StructuredLoss
from ..penalties import Penalty
from .interfaces import MARGIN, Free, ProblemParts, Rows
from .null_model import NullModel
from .problem import Problem
from .regularisation import Regularisation
from .solution import Point
from .structured_points import FreeConstant, StructuredPoint

HALVINGS = 200  # most bisections of an interval of intercepts, until no number is between its ends


@dataclass(frozen=True, eq=False)
class RowsOfScores(Rows):
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

    design: Any
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
        return cast(Array | None, self.design.shift_of_columns(self.loss.weights))

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
        return cast(Array, self.design.rmatvec(self.loss.weights * theta))

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
