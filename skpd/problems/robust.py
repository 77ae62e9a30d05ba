"""The Wasserstein distributionally robust SVM as a problem, and its certificate.

    minimise over ||w||_q <= lam, b:   epsilon lam + sum_i c_i h(m_i, lam) + ridge ||w||_2^2 / 2,
    h(m, lam) = max(1 - m, 1 + m - kappa lam, 0),   m_i = y_i (x_i.w + b)

(Li, Chen and So, 2020, problem (1), with their c named ridge here). Multipliers p_i of
1 - m_i and r_i of 1 + m_i - kappa lam, in the triangle p_i, r_i >= 0, p_i + r_i <= 1, give for
every point ::

    P(w, b, lam) >= sum_i c_i (p_i + r_i) - v.w - s b + (epsilon - kappa rho) lam
                    + ridge ||w||^2 / 2,
    v = sum_i c_i (p_i - r_i) y_i x_i,   s = sum_i c_i (p_i - r_i) y_i,   rho = sum_i c_i r_i.

For a certificate (w, lam) is what is penalised, by `skpd.penalties.NormEpigraph`, with the
products (-v, -kappa rho) of a dual point. lam is chosen best for every (w, b). As h is at least
the hinge loss, the hinge loss's interval for b holds here too.
"""

from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any

import numpy as np

from .._floats import EPSILON
from .._typing import Array
from ..certificates.objective import DualPoint
from ..designs import Design
from ..losses import Hinge
from ..penalties import NormEpigraph, SquaredL2
from ..penalties.epigraph import NORMS
from .problem import Problem
from .robust_points import HingePoint, TrianglePoint, balanced_on_grid, on_grid
from .solution import Point

__all__ = ["RobustProblem", "best_radius", "robust_loss", "robust_problem"]

# what is computed once and depends on epsilon
EPSILON_KNOWS = (
    "null_point", "null_objective", "objective_unit", "prediction_scale", "null_predictions",
    "null_gradient", "dual_penalty", "hinge",
)  # fmt: skip
ROUNDING = 64.0 * EPSILON  # of a norm, a sum of rows and the few operations on them


@dataclass(frozen=True, eq=False)
class RobustProblem(Problem):
    """The distributionally robust SVM, the hinge loss beside a norm with labels in doubt.

    As a `Problem` it is that of the hinge loss and ``epsilon`` times the norm, to which it
    reduces for ``kappa = inf`` and ``ridge = 0``; a dual point holds p and r, as an array
    of shape (2, n_samples). `robust_problem` makes one.

    Parameters
    ----------
    q : {1, 2, inf}, default=2
        The norm, which is the penalty as well.
    kappa : float, default=inf
        What it costs to flip a label; greater than 0.
    ridge : float, default=0.0
        Weight of half the squared norm.
    """

    q: float = 2
    kappa: float = inf
    ridge: float = 0.0
    centred = None  # its methods take the features as they are

    @property
    def epsilon(self) -> float:
        return self.alpha

    @property
    def norm(self) -> Any:
        """The q-norm on w, with its dual norm."""
        return self.penalty

    def with_alpha(self, alpha: float) -> "RobustProblem":
        """The same problem with another epsilon."""
        _ = self.free, self.squares, self._classes
        other: Any = self._with(alpha=alpha)
        for name in EPSILON_KNOWS:
            vars(other).pop(name, None)
        return other

    @cached_property
    def largest_alpha(self) -> float:
        """An epsilon from which on lam = 0, and so w = 0, is optimal.

        It is where multipliers with p_i + r_i = 1 are feasible, which prove the value 1, or the
        hinge loss's of the best constant for kappa = inf: ||v||° + kappa rho of those with r = 0
        in the smaller class and equal ones in the other, or kappa / 2 of p = r = 1/2.
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
        """P at the null model over epsilon, the least of lines: their values at 0 and slopes."""
        pieces = [(1.0, 0.0)]
        if self.fit_intercept:
            pieces.append((2.0 * self._classes[2], 2.0 / self.kappa))
        return pieces

    @cached_property
    def _classes(self) -> tuple[float, float, float]:
        """The sign of the larger class, its share of the weights, and that of the other."""
        shares = {sign: float(np.sum(self.weights[self.y == sign])) for sign in (1.0, -1.0)}
        sign = max(shares, key=lambda side: shares[side])
        return sign, shares[sign], shares[-sign]

    def dual_point(self, predictions: Array) -> Array:
        """The multipliers of the null model: those of others need its radius too."""
        return self.null_point.dual_coef

    @property
    def null_may_be_optimal(self) -> bool:
        """It may for all that is known of epsilon."""
        return True

    def estimated_gap(self, point: Point) -> float:
        """Not known: `dual_estimate` is for one multiplier a row."""
        return 0.0

    # What certificates ask

    @cached_property
    def dual_penalty(self) -> NormEpigraph:
        """That of (w, lam), of which lam is chosen best in `mean_loss`."""
        return NormEpigraph(self.q, self.ridge / self.epsilon)

    @cached_property
    def hinge(self) -> Problem:
        """The problem of the hinge loss and the norm: its dual points are those without flips."""
        fields = self.design, self.y, self.weights, self.loss, self.penalty, self.alpha
        return Problem(*fields, self.fit_intercept)

    def mean_loss(self, coef: Array, free: Any, accuracy: float) -> float:
        """With what the best lam costs beyond the norm of w, and the ridge."""
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
        # lam is a number, and its cost and the norm's cancel
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
        """With the nearest p on the grid that balances the classes, or almost."""
        if not self.fit_intercept:
            return point
        if self.kappa == inf:
            return HingePoint(self, self.hinge.projected(point.inner))
        try:
            return TrianglePoint(self, balanced_on_grid(self, *point.theta), point.theta[1])
        except ValueError:  # r alone may be too unbalanced
            return point

    def balanced(self, point: Any, near: Array | None) -> DualPoint:
        if self.kappa == inf:
            near = near if self.ridge == 0.0 else None
            return HingePoint(self, self.hinge.balanced(point.inner, near))
        return point

    @cached_property
    def null_point(self) -> Point:
        """The best constant prediction, with multipliers that prove it the best.

        With the shares c+ >= c- of the classes, it is b = 0 with the value 1, or the larger
        class's side with 2 c- + 2 epsilon / kappa: lam = 2 / kappa then keeps flipped labels
        from costing more than the others.
        """
        y = self.y
        p, r = np.ones(self.n_samples), np.zeros(self.n_samples)
        if not self.fit_intercept:
            return Point(np.zeros(self.n_features), 0.0, np.stack([p, r]))
        sign, more, less = self._classes
        flipped = 0.5 * (more - less)
        intercept = 0.0
        if self.epsilon / self.kappa < flipped:
            flipped, intercept = self.epsilon / self.kappa, sign
        r[y == sign] = flipped / more
        p[y == sign] = (flipped + less) / more
        return Point(np.zeros(self.n_features), intercept, np.stack([p, r]))

    @cached_property
    def null_objective(self) -> float:
        """P at the null model, an upper bound up to a relative rounding error."""
        margins = self.y * self.null_point.intercept
        radius = best_radius(self, margins, 0.0)
        losses = _largest_loss(margins, margins, radius, self.kappa)
        return self.epsilon * radius + float(np.sum(self.weights * losses))

    @cached_property
    def null_rounding(self) -> float:
        """P at the null model is a sum of a few numbers."""
        return 0.0

    @cached_property
    def objective_unit(self) -> float:
        """What a relative gap is relative to: P at the null model, or its rounding error."""
        return max(self.null_objective, EPSILON)


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
        As for `skpd.problems.Problem`.
    epsilon : float
        Radius of the Wasserstein ball, greater than 0; for 0 see `skpd.problems.plain_svm`.
    kappa, ridge : float
        As for `RobustProblem`.
    norm : {1, 2, inf}
        The q of the norm on w.

    Returns
    -------
    problem : RobustProblem
    """
    return RobustProblem(
        design=design,
        y=y,
        weights=weights,
        loss=Hinge(),
        penalty=NORMS[norm](),
        alpha=float(epsilon),
        fit_intercept=fit_intercept,
        total_weight=total_weight,
        q=norm,
        kappa=float(kappa),
        ridge=float(ridge),
    )


def robust_loss(margins: Array, radius: float, kappa: float) -> Array:
    """h(m_i, lam) for every margin."""
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
    # its operands are rounded, and may cancel
    flipped = flipped + EPSILON * (1.0 + np.abs(upper) + kappa * radius)
    return np.maximum(hinge, flipped)


def best_radius(problem: RobustProblem, margins: Array, norm: float) -> float:
    """The least lam >= norm that minimises the objective at these margins.

    A row's loss falls with the slope kappa up to lam = min(2 m, 1 + m) / kappa: lam is the
    kink beyond which the rows left weigh at most epsilon / kappa.
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
