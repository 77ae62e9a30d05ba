"""The Wasserstein distributionally robust SVM as a problem, and its certificate.

    minimise over ||w||_q <= lam, b:   epsilon lam + sum_i c_i h(m_i, lam) + ridge ||w||_2^2 / 2,
    h(m, lam) = max(1 - m, 1 + m - kappa lam, 0),   m_i = y_i (x_i.w + b)

(Li, Chen and So, 2020, problem (1), with their c named ridge here). Multipliers p_i of
1 - m_i and r_i of 1 + m_i - kappa lam, in the triangle p_i, r_i >= 0, p_i + r_i <= 1, give for
every point ::

    P(w, b, lam) >= sum_i c_i (p_i + r_i) - v.w - s b + (epsilon - kappa rho) lam
                    + ridge ||w||^2 / 2,
    v = sum_i c_i (p_i - r_i) y_i x_i,   s = sum_i c_i (p_i - r_i) y_i,   rho = sum_i c_i r_i.

In a certificate the penalised variables are (w, lam), with the penalty
`skpd.penalties.NormEpigraph` and the products (-v, -kappa rho) of a dual point. For a model (w, b)
the best lam is chosen. As h is at least the hinge loss, the interval of b for the hinge loss is
valid here as well.
"""

from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any, NamedTuple

import numpy as np

from .._floats import EPSILON
from .._typing import Array
from ..certificates.objective import DualPoint
from ..designs import Design
from ..losses import Hinge
from ..penalties import NormEpigraph, Penalty, Separable, SquaredL2
from ..penalties.epigraph import NORMS
from .columns import Columns
from .in_memory import RowsInMemory
from .null_model import NullModel, scale_of
from .problem import Problem
from .robust_points import HingePoint, TrianglePoint, balanced_on_grid, on_grid
from .solution import Point

ROUNDING = 64.0 * EPSILON  # relative rounding error of a norm, a sum and operations on them


@dataclass(frozen=True, eq=False)
class RobustProblem(Problem):
    """The distributionally robust SVM, with a norm penalty and possibly uncertain labels.

    The attributes inherited from `Problem` are those of the hinge loss with ``epsilon`` times the
    norm, to which the problem reduces for ``kappa = inf`` and ``ridge = 0``. A dual point is an
    array of shape (2, n_samples) of p and r. The function `robust_problem` creates the problem.

    Parameters
    ----------
    q : {1, 2, inf}, default=2
        The norm, which is the penalty as well.
    kappa : float, default=inf
        The cost of flipping a label; greater than 0.
    ridge : float, default=0.0
        Weight of half the squared norm.
    """

    is_robust = True

    q: float = 2
    kappa: float = inf
    ridge: float = 0.0
    centred = None  # the methods for this problem do not shift features

    @property
    def terms(self) -> "RobustTerms":
        return RobustTerms(self.q, self.epsilon, self.kappa, self.ridge)

    @property
    def epsilon(self) -> float:
        return self.alpha

    @property
    def norm(self) -> Any:
        """The q-norm on w, with its dual norm."""
        return self.penalty

    @cached_property
    def largest_alpha(self) -> float:
        """An epsilon at and above which lam = 0, and so w = 0, is optimal.

        At this epsilon there are feasible multipliers with p_i + r_i = 1, which prove the optimal
        value 1 (or, for kappa = inf, the hinge loss of the best constant). The smaller one of two
        choices is returned: kappa / 2 for p = r = 1/2, or ||v||° + kappa rho for r = 0 in the
        smaller class and equal r_i in the other.
        """
        share = np.ones(self.n_samples)  # p - r
        if self.fit_intercept:
            sign, more, less = self._classes
            share[self.y == sign] = less / more
        size = self.norm.dual_norm(self.design.rmatvec(self.weights * self.y * share))
        if self.kappa == inf:
            return size
        flipped = 0.5 * max(1.0 - float(self.weights @ share), 0.0)
        return min(0.5 * self.kappa, size + self.kappa * flipped)

    @cached_property
    def null_gradient(self) -> Array:
        p, r = self.null_point.dual_coef
        return self.design.rmatvec(self.weights * self.y * (r - p))

    @property
    def null_pieces(self) -> list[tuple[float, float]]:
        """Lines (value at 0, slope) in epsilon whose minimum is P at the null model."""
        pieces = [(1.0, 0.0)]
        if self.fit_intercept:
            pieces.append((2.0 * self._classes[2], 2.0 / self.kappa))
        return pieces

    @cached_property
    def _classes(self) -> tuple[float, float, float]:
        """The sign of the larger class, its share of the weights, and the other class's share."""
        shares = {sign: float(np.sum(self.weights[self.y == sign])) for sign in (1.0, -1.0)}
        sign = max(shares, key=lambda side: shares[side])
        return sign, shares[sign], shares[-sign]

    def dual_point_of(self, coef: Array, intercept: Any) -> Array:
        """The multipliers of the null model, as those of other models depend on the radius too."""
        return self.null_point.dual_coef

    @property
    def null_may_be_optimal(self) -> bool:
        """The value True: the null model is always tried."""
        return True

    def estimated_gap(self, point: Point) -> float:
        """The value 0 for an unknown gap, as `dual_estimate` requires one multiplier per row."""
        return 0.0

    # The interface of certificates

    @cached_property
    def dual_penalty(self) -> NormEpigraph:
        """The penalty on (w, lam), over whose last variable `mean_loss` is a minimum."""
        return NormEpigraph(self.q, self.ridge / self.epsilon)

    @cached_property
    def hinge(self) -> Problem:
        """The problem of the hinge loss and the norm, whose dual points are those with r = 0."""
        return Problem(self.rows, self.columns)

    def mean_loss(self, coef: Array, free: Any, accuracy: float) -> float:
        """The mean loss, plus epsilon (lam - ||w||_q) for the best lam, plus the ridge."""
        if self.kappa == inf:
            return self.hinge.mean_loss(coef, free, accuracy) + self._ridge(coef)
        if abs(free) > 0.0 and not self.fit_intercept:
            raise ValueError(f"intercept must be 0 without fit_intercept, got {free!r}.")
        return self.precise_mean_loss(coef, free)[0]

    def precise_mean_loss(self, coef: Array, free: Any) -> tuple[float, float]:
        if self.kappa == inf:
            value, about = self.hinge.precise_mean_loss(coef, free)
            return value + self._ridge(coef), about + self._ridge(coef)
        z, low, error = self.design.matvec_compensated(coef, float(free))
        if not (np.isfinite(z).all() and np.isfinite(coef).all()):
            return inf, inf
        with np.errstate(over="ignore", invalid="ignore"):
            norm = self.norm.value(coef)
            radius = best_radius(self, self.y * z, norm * (1.0 + ROUNDING))
            beside = self.epsilon * (radius - norm) + self._ridge(coef)
            loss: Any = self.loss
            least, largest = loss.arguments(self.y, z, low, error)
            most = float(np.sum(self.weights * _largest_loss(least, largest, radius, self.kappa)))
            about = float(np.sum(self.weights * robust_loss(self.y * z, radius, self.kappa)))
        # the rounding error of epsilon (lam - norm), which may cancel
        rounding = 4.0 * EPSILON * self.epsilon * (radius + norm)
        return most + beside + rounding, about + beside

    def _ridge(self, coef: Array) -> float:
        return self.ridge * SquaredL2().value(coef) if self.ridge > 0.0 else 0.0

    def feasible_point(self, theta: Array) -> "TrianglePoint | HingePoint | None":
        if self.kappa == inf:
            p = np.nan_to_num(np.asarray(theta, dtype=np.float64).reshape(2, -1)[0])
            inner = self.hinge.feasible_point(-self.y * p)
            return None if inner is None else HingePoint(self, inner)
        p, r = on_grid(theta)
        return TrianglePoint(self, p, r) if p.any() or r.any() else None

    def projected(self, point: Any) -> DualPoint:
        """The point with the nearest p on the grid for which s is 0, or nearly 0."""
        if not self.fit_intercept:
            return point
        if self.kappa == inf:
            return HingePoint(self, self.hinge.projected(point.inner))
        try:
            return TrianglePoint(self, balanced_on_grid(self, *point.theta), point.theta[1])
        except ValueError:  # there may be no p that balances r
            return point

    def balanced(self, point: Any, near: Array | None) -> DualPoint:
        if self.kappa == inf:
            near = near if self.ridge == 0.0 else None
            return HingePoint(self, self.hinge.balanced(point.inner, near))
        return point

    @cached_property
    def null_point(self) -> Point:  # type: ignore[override]
        """The best constant prediction, with multipliers that prove that it is the best.

        With the shares c+ >= c- of the classes, it is b = 0 with the value 1, or the sign of the
        larger class with the value 2 c- + 2 epsilon / kappa. In the second case lam = 2 / kappa,
        the least at which the losses of flipped labels are not larger than the hinge losses.
        """
        y = self.y
        p, r = np.ones(self.n_samples), np.zeros(self.n_samples)
        if not self.fit_intercept:
            return Point(np.zeros(self.n_coefficients), 0.0, np.stack([p, r]))
        sign, more, less = self._classes
        flipped = 0.5 * (more - less)
        intercept = 0.0
        if self.epsilon / self.kappa < flipped:
            flipped, intercept = self.epsilon / self.kappa, sign
        r[y == sign] = flipped / more
        p[y == sign] = (flipped + less) / more
        return Point(np.zeros(self.n_coefficients), intercept, np.stack([p, r]))

    @cached_property
    def null(self) -> NullModel:
        """The null model, whose objective value is a sum of a few numbers."""
        margins = self.y * self.null_point.intercept
        radius = best_radius(self, margins, 0.0)
        losses = _largest_loss(margins, margins, radius, self.kappa)
        objective = self.epsilon * radius + float(np.sum(self.weights * losses))
        z = np.full(self.n_samples, self.null_point.intercept)
        slope = float(self.weights @ np.abs(self.loss.gradient(self.y, z)))
        unit, scale = max(objective, EPSILON), scale_of(objective, slope)
        return NullModel(self.null_point, objective, unit=unit, prediction_scale=scale)


class RobustTerms(NamedTuple):
    """The terms of the robust SVM beside the loss, with which incremental methods work.

    Attributes
    ----------
    q : {1, 2, inf}
        The norm in which lam bounds w.
    epsilon, kappa, ridge : float
        See `RobustProblem`; epsilon may be 0.
    """

    q: float
    epsilon: float
    kappa: float
    ridge: float

    def dual_coef(self, y: Array, multipliers: Array) -> Array:
        """The dual point of multipliers p and r; without a radius, as one number for each row."""
        return multipliers if self.epsilon else -y * (multipliers[0] - multipliers[1])


def plain_problem(problem: RobustProblem) -> Problem:
    """The ordinary problem that is equivalent to a robust SVM with epsilon = 0.

    Its objective does not depend on the radius lam of the coefficients, except through the losses.
    For lam with

        kappa lam >= min(2 m_i, 1 + m_i)   for all rows,

    1 + m_i - kappa lam is at most max(1 - m_i, 0). So for every kappa > 0 the least value over
    lam >= ||w||_q is the mean hinge loss, which depends neither on kappa nor on the norm. Without
    a ridge all coefficients are free directions (`skpd.problems.free_directions`), and the
    objective is bounded below by 0, which is its value where a hyperplane separates the classes.
    """
    penalty: Penalty = SquaredL2()
    if problem.ridge == 0.0:
        penalty = Separable(np.zeros(problem.n_coefficients), 0.0, -inf, inf)
    return Problem(problem.rows, Columns(penalty, problem.ridge or 1.0))


def robust_problem(
    design: Design,
    y: Array,
    weights: Array,
    *,
    epsilon: float,
    kappa: float = inf,
    norm: float = 1,
    ridge: float = 0.0,
    fit_intercept: bool = True,
    total_weight: float | None = None,
) -> RobustProblem:
    """The distributionally robust SVM as a problem.

    Parameters
    ----------
    design, y, weights, fit_intercept, total_weight
        See `skpd.problems.Problem`.
    epsilon : float
        Radius of the Wasserstein ball, greater than 0; for 0 see `plain_problem`.
    kappa, ridge : float
        See `RobustProblem`.
    norm : {1, 2, inf}
        The q of the norm on w.

    Returns
    -------
    problem : RobustProblem
    """
    rows = RowsInMemory(design, y, weights, Hinge(), fit_intercept, total_weight)
    columns = Columns(NORMS[norm](), float(epsilon))
    return RobustProblem(rows, columns, q=norm, kappa=float(kappa), ridge=float(ridge))


def robust_loss(margins: Array, radius: float, kappa: float) -> Array:
    """The losses h(m_i, lam) of all margins."""
    hinge = np.maximum(1.0 - margins, 0.0)
    if kappa == inf:
        return hinge
    return np.maximum(hinge, 1.0 + margins - kappa * radius)


def _largest_loss(lower: Array, upper: Array, radius: float, kappa: float) -> Array:
    """An upper bound on h(., lam) between two margins, up to a relative rounding error."""
    hinge = np.maximum(1.0 - lower, 0.0)
    if kappa == inf:
        return hinge
    flipped = (1.0 + upper) - kappa * radius
    # the operands have rounding errors, and may cancel
    flipped = flipped + EPSILON * (1.0 + np.abs(upper) + kappa * radius)
    return np.maximum(hinge, flipped)


def best_radius(problem: RobustProblem, margins: Array, norm: float) -> float:
    """The least lam >= norm that minimises the objective at these margins.

    The loss of a row decreases with slope -kappa up to the kink lam = min(2 m, 1 + m) / kappa. The
    best lam is the least kink such that rows with larger kinks have a weight of at most
    epsilon / kappa.
    """
    if problem.kappa == inf:
        return norm
    kinks = np.minimum(2.0 * margins, 1.0 + margins)
    rows = np.flatnonzero(kinks > problem.kappa * norm)
    order = rows[np.argsort(-kinks[rows])]
    beyond = np.cumsum(problem.weights[order]) > problem.epsilon / problem.kappa
    if not beyond.any():
        return norm
    return max(norm, float(kinks[order[np.argmax(beyond)]]) / problem.kappa)
