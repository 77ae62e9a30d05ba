"""Problems with one loss of all scores: multivariate scores, sequences.

    minimise over w, b   L(A w + b) + alpha R(w),

where L is a maximum over labelings (`skpd.losses.structured`). Dual points are mixtures of
labelings. With theta and E[loss] the means of a mixture, every model has ::

    P(w, b) >= E[loss] + sum_i c_i theta_i (A w + b)_i + alpha R(w)

so that a certificate needs the mean loss and A' diag(c) theta. Mixing with the true labeling,
whose loss and theta are 0, corresponds to the scaling of dual points in other problems. An
intercept requires sum_i c_i theta_i = 0, which a mixture with a labeling whose sum has the
opposite sign satisfies. Two labelings with sums of both signs also bound the intercept, as L is at
least the linear function of each of them.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf, sqrt
from typing import Any

import numpy as np

from .. import kernels
from .._floats import EPSILON
from .._typing import Array
from ..certificates.objective import NOTHING, DualPoint, Interval, Sum
from ..losses.structured import Mixture, StructuredLoss
from ..penalties import Penalty
from .base import BaseProblem
from .solution import Point

__all__ = ["StructuredPoint", "StructuredProblem"]

MARGIN = 1e-9  # relative margin of a norm, above its rounding error
HALVINGS = 200  # most bisections of an interval of intercepts, until no number is between its ends
SAFE = 1e-6  # relative margin of an interval that is multiplied by a sum of nearly 0


@dataclass(frozen=True, eq=False)
class StructuredProblem(BaseProblem):
    """The problem of minimising L(A w + b) + alpha R(w), for a loss L of all scores.

    Parameters
    ----------
    design : Design
        The matrix A, of shape (n_scores, n_features).
    loss : StructuredLoss
    penalty : Penalty
        A penalty that leaves no coefficient free.
    alpha : float
    fit_intercept : bool, default=False
    n_labels : int, default=None
        The number of samples; the number of scores by default.

    Raises
    ------
    ValueError
        If the penalty leaves coefficients free, or if there is an intercept although a constant
        added to all scores does not change the predicted labels.
    """

    design: Any
    loss: StructuredLoss  # type: ignore[assignment]
    penalty: Penalty
    alpha: float
    fit_intercept: bool = False
    n_labels: int | None = None
    workspace: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        penalty = self.penalty.bind(self.design.shape[1])
        if penalty.free_level or len(penalty.free_features.columns):
            raise ValueError(
                "The penalty of a structured loss must leave no coefficient free, got "
                f"{penalty!r}."
            )
        if self.fit_intercept and not self.loss.opposed:
            raise ValueError(
                "fit_intercept must be False for this loss: a constant added to all scores is "
                "of no use to it."
            )
        object.__setattr__(self, "penalty", penalty)

    @property
    def coef_shape(self) -> tuple[int, ...]:
        return (self.n_features,)

    @property
    def n_samples(self) -> int:
        return self.loss.n_scores if self.n_labels is None else self.n_labels

    @property
    def largest_target(self) -> float:
        return 1.0

    def with_alpha(self, alpha: float) -> "StructuredProblem":
        """The problem with another alpha, which shares cached values that do not depend on it."""
        other = replace(self, alpha=alpha)
        for name in ("null_point", "_column_norms", "_bounding"):
            if name in vars(self):
                vars(other)[name] = vars(self)[name]
        return other

    def by_columns(self) -> "StructuredProblem":
        """The problem prepared for a path, which is the problem itself."""
        return self

    # Models

    def scores(self, coef: Array, intercept: float) -> Array:
        z: Array = self.design.matvec(np.ascontiguousarray(coef))
        return z + intercept if intercept else z

    def _require_no_intercept(self, free: Any) -> None:
        if abs(free) > 0.0 and not self.fit_intercept:
            raise ValueError(f"intercept must be 0 without fit_intercept, got {free!r}.")

    def mean_loss(self, coef: Array, free: Any, accuracy: float) -> float:
        self._require_no_intercept(free)
        z, error = self.design.matvec_bounded(np.ascontiguousarray(coef), float(free))
        if not np.isfinite(z).all():
            return inf
        value, rounding = self.loss.value(z)
        rounding += self.loss.sensitivity(error)
        if rounding > accuracy:
            return min(value + rounding, self.precise_mean_loss(coef, free)[0])
        return value + rounding

    def precise_mean_loss(self, coef: Array, free: Any) -> tuple[float, float]:
        self._require_no_intercept(free)
        z, low, error = self.design.matvec_compensated(np.ascontiguousarray(coef), float(free))
        if not np.isfinite(z).all():
            return inf, inf
        value, rounding = self.loss.value(z)
        return value + rounding + self.loss.sensitivity(np.abs(low) + error), value

    # The best constant

    @cached_property
    def null_point(self) -> Point:
        """The best constant score, found by bisection, with a mixture as dual point."""
        coef = np.zeros(self.n_features)
        if not self.fit_intercept:
            return Point(coef, 0.0, self._mixture_at(0.0))
        ends = sorted(
            self._intervals_of_constant(self.loss.value(np.zeros(self.loss.n_scores))[0])
        )
        low, high = (float(end) for end in ends)
        left, right = self._mixture_at(low), self._mixture_at(high)
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            if not low < middle < high:
                break
            found = self._mixture_at(middle)
            if self._slope(found)[0] < 0.0:
                low, left = middle, found
            else:
                high, right = middle, found
        values = [self.loss.value(np.full(self.loss.n_scores, b))[0] for b in (low, high)]
        slopes = self._slope(left)[0], self._slope(right)[0]
        share = slopes[1] / (slopes[1] - slopes[0]) if slopes[1] > slopes[0] else 0.5
        share = min(max(share, 0.0), 1.0)
        mixed = self.loss.mixed(np.array([share, 1.0 - share]), [left, right])
        return Point(coef, (low, high)[int(np.argmin(values))], mixed)

    def _intervals_of_constant(self, upper: float) -> Interval:
        """An interval outside of which constants have larger losses than the constant 0."""
        bounds = [(upper - m.mean_loss) / self._slope(m)[0] for m in self.loss.opposed]
        return min(bounds) - 1.0, max(bounds) + 1.0

    def _mixture_at(self, constant: float) -> Mixture:
        return self.loss.mixture(np.full(self.loss.n_scores, constant), 0.0)[1]

    @cached_property
    def null_objective(self) -> float:
        return self.mean_loss(np.zeros(self.n_features), self.null_point.intercept, 0.0)

    @property
    def null_rounding(self) -> float:
        return 0.0

    @property
    def objective_unit(self) -> float:
        return self.null_objective

    @property
    def null_may_be_optimal(self) -> bool:
        return True

    @cached_property
    def largest_alpha(self) -> float:
        """An alpha at and above which the best constant is optimal."""
        return self.penalty.largest_alpha(-self.null_gradient)

    @property
    def null_gradient(self) -> Array:
        """A gradient of the loss at the best constant."""
        theta = self.null_point.dual_coef.theta
        return self.design.rmatvec(self.loss.weights * theta)

    def estimated_gap(self, point: Point) -> float:
        mixture = point.dual_coef
        gradient = self.design.rmatvec(self.loss.weights * mixture.theta)
        upper = self.loss.value(self.scores(point.coef, point.intercept))[0]
        upper += self.alpha * self.penalty.value(point.coef)
        value = mixture.value(1.0)[0]
        best = value - self.penalty.bounded_conjugate(-gradient, self.alpha, upper / self.alpha)
        if self.penalty.is_norm:
            norm = self.penalty.largest_alpha(-gradient)
            best = max(best, min(1.0, self.alpha / norm) * value if norm > 0.0 else value)
        return upper - max(best, 0.0)

    def dual_point_of(self, coef: Array, intercept: Any) -> Mixture:
        return self.loss.mixture(self.scores(coef, intercept), 0.0)[1]

    # Dual points

    def dual_table(self, dual_coef: Any) -> Array:
        table: Array = dual_coef.theta
        return table

    def plain_dual(self, theta: Any) -> Any:
        return theta

    def zero_dual(self, theta: Any) -> Any:
        return self.loss.truth

    def copied_dual(self, theta: Any) -> Any:
        return theta

    def feasible_point(self, theta: Any) -> "StructuredPoint | None":
        return StructuredPoint(self, theta) if np.any(theta.theta) else None

    def projected(self, point: Any) -> DualPoint:
        """The mixture with a labeling whose sum has the opposite sign, so that the sums cancel."""
        if not self.fit_intercept or point.is_balanced:
            return point
        slope, _ = self._slope(point.theta)
        for other in self.loss.opposed:
            beyond, _ = self._slope(other)
            if slope * beyond < 0.0:
                share = slope / (slope - beyond)
                mixed = self.loss.mixed(np.array([1.0 - share, share]), [point.theta, other])
                return StructuredPoint(self, mixed, abs(beyond))
        return point

    def balanced(self, point: Any, near: Array | None) -> DualPoint:
        return self.projected(point)

    def _slope(self, mixture: Mixture) -> Sum:
        """The sum of c_i theta_i, and a bound on its error."""
        weights = self.loss.weights
        value, error = kernels.compensated_dot(weights, mixture.theta)
        return value, error + mixture.theta_error * float(np.sum(weights)) * (1.0 + MARGIN)

    def free_intervals(self, upper: float) -> list[Interval]:
        """The interval of b, from L >= loss + sum_i c_i theta_i (A w + b)_i for two labelings."""
        if not self.fit_intercept:
            return [NOTHING]
        radius, low, high = upper / self.alpha, -inf, inf
        for mixture, (v, error), (slope, slope_error) in self._bounding:
            reach = self.penalty.support(self.penalty.widest(v, error), radius)
            room = max(upper - mixture.mean_loss + mixture.mean_loss_error + reach, 0.0)
            end = room / max(abs(slope) - slope_error, 0.0) * (1.0 + SAFE)
            low, high = (max(low, -end), high) if slope < 0.0 else (low, min(high, end))
        return [(low, high)] if low <= high else [(-inf, inf)]

    @cached_property
    def _bounding(self) -> list[tuple[Mixture, tuple[Array, Array], Sum]]:
        """The mixtures `StructuredLoss.opposed` with -A' diag(c) theta and sum_i c_i theta_i.

        Both come with bounds on their errors.
        """
        found = []
        for mixture in self.loss.opposed:
            v, error = StructuredPoint(self, mixture).products(True)
            found.append((mixture, (-v, error), self._slope(mixture)))
        return found

    @cached_property
    def _column_norms(self) -> Array:
        """Upper bounds on sum_i c_i abs(a_ij), by the Cauchy-Schwarz inequality."""
        weights = self.loss.weights
        norms: Array = self.design.column_norms(weights)
        return sqrt(float(np.sum(weights))) * norms * (1.0 + MARGIN)


class StructuredPoint(DualPoint):
    """A mixture of labelings as a dual point, which may be balanced by another mixture.

    Parameters
    ----------
    problem : StructuredProblem
    mixture : Mixture
    beyond : float, default=0.0
        For a mixture that is balanced by another, the sum sum_i c_i theta_i of the other one.
        Shares that differ by at most 4 units in the last place give a sum of exactly 0.
    """

    linear, quadratic, only_precise = True, False, True

    def __init__(self, problem: StructuredProblem, mixture: Mixture, beyond: float = 0.0) -> None:
        self.problem, self.theta, self.is_balanced = problem, mixture, beyond > 0.0
        self.linear = mixture.is_linear
        # a bound on the difference of the other mixture's share from that with a sum of 0
        self._moved = 0.0
        if self.is_balanced:
            value, error = problem._slope(mixture)
            self._moved = 4.0 * EPSILON + 2.0 * (abs(value) + error) / beyond

    def value(self, scale: float) -> Sum:
        value, rounding = self.theta.value(scale)
        largest = 1.0 + abs(self.problem.null_objective)
        return value, rounding + scale * self._moved * largest

    def products(self, precise: bool) -> tuple[Array, Array]:
        problem, mixture = self.problem, self.theta
        theta = np.ascontiguousarray(mixture.theta)
        products, errors = problem.design.rmatvec_compensated(problem.loss.weights, theta)
        largest = float(np.max(problem.loss.largest_theta))
        missing = mixture.theta_error + 2.0 * self._moved * largest
        return products, errors + missing * problem._column_norms

    def sums_without_products(self) -> list[Sum]:
        if not self.problem.fit_intercept or self.is_balanced:
            return [NOTHING]
        return [self.problem._slope(self.theta)]

    def free_sums(self, products: Array, errors: Array) -> list[Sum]:
        return self.sums_without_products()

    def largest_scale(self) -> float:
        return 1.0
