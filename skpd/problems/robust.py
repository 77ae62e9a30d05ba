"""The Wasserstein distributionally robust SVM as a problem, and its certificate.

    minimise over ||w||_q <= lam, b:   epsilon lam + sum_i c_i h(m_i, lam) + ridge ||w||_2^2 / 2,
    h(m, lam) = max(1 - m, 1 + m - kappa lam, 0),   m_i = y_i (x_i.w + b)

(Li, Chen and So, 2020, problem (1), with their c named ridge here). Multipliers p_i of
1 - m_i and r_i of 1 + m_i - kappa lam, in the triangle p_i, r_i >= 0, p_i + r_i <= 1, give for
every point ::

    P(w, b, lam) >= sum_i c_i (p_i + r_i) - v.w - s b + (epsilon - kappa rho) lam
                    + ridge ||w||^2 / 2,
    v = sum_i c_i (p_i - r_i) y_i x_i,   s = sum_i c_i (p_i - r_i) y_i,   rho = sum_i c_i r_i.

As in `skpd.certificates`, the least value of the right-hand side over a set that holds an
optimum bounds the optimal value from below: the loss is non-negative, so that
lam <= P / epsilon for the best objective value P seen, and h is at least the hinge loss, so
that the hinge loss's interval for b holds here too. With R the dual norm of the q-norm and
e = epsilon - kappa rho, the part of w and lam is ::

    exact       -dist(v, {R <= e})^2 / (2 ridge)                   where e >= 0 and ridge > 0
    lipschitz   -(P / epsilon) max(R(v) - e, 0)
    scaling     0, for t (p, r) with t (R(v) + kappa rho) <= epsilon

and the best is kept.
"""

from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from .. import kernels
from .._floats import EPSILON
from .._typing import Array
from ..certificates import DualBound, dual_bound, primal_objective
from ..designs import Design
from ..losses import Hinge
from ..penalties import L1, L2, LInf, Norm, SquaredL2
from .problem import Problem
from .solution import Point

__all__ = ["NORMS", "RobustProblem", "best_radius", "project_triangle", "robust_problem"]

NORMS: dict[float, type[Norm]] = {1: L1, 2: L2, np.inf: LInf}
ROUNDING = 64.0 * EPSILON  # of a norm, a sum of rows and the few operations on them
GRID = 2.0**52  # multipliers on multiples of its inverse have exact sums and differences


@dataclass
class RobustProblem(Problem):
    """The distributionally robust SVM, the hinge loss beside a norm with labels in doubt.

    As a `Problem` it is that of the hinge loss and ``epsilon`` times the norm, to which it
    reduces for ``kappa = inf`` and ``ridge = 0``; a dual point holds p and r, as an array
    of shape (2, n_samples). `robust_problem` makes one.

    Parameters
    ----------
    kappa : float, default=inf
        What it costs to flip a label; greater than 0.
    ridge : float, default=0.0
        Weight of half the squared norm.
    """

    kappa: float = inf
    ridge: float = 0.0

    @cached_property
    def largest_alpha(self) -> float:
        """Not known: `with_alpha` says what to do."""
        return self.with_alpha(0.0).epsilon

    def with_alpha(self, alpha: float) -> "RobustProblem":
        """Not defined: a path follows the weight of a penalty.

        Raises
        ------
        ValueError
            Always.
        """
        raise ValueError(
            "A path follows alpha, the weight of the penalty, which epsilon of DRSVMClassifier "
            "is not: fit a model for each epsilon, with warm_start=True."
        )

    @property
    def epsilon(self) -> float:
        return self.alpha

    @property
    def norm(self) -> Norm:
        """The q-norm on w, with its dual norm."""
        return self.penalty  # type: ignore[return-value]

    def dual_point(self, predictions: Array) -> Array:
        """The multipliers of the null model: those of others need its radius too."""
        return self.null_point.dual_coef

    def precise_mean_loss(self, coef: Array, free: Any) -> tuple[float, float]:
        """Not offered.

        Raises
        ------
        ValueError
            Always.
        """
        raise ValueError(
            "rigorous=True is not offered for DRSVMClassifier: its bound allows for rounding "
            "errors, but some of them jointly."
        )

    @cached_property
    def null_point(self) -> Point:
        """The best constant prediction, with multipliers that prove it the best.

        With the shares c+ >= c- of the classes, it is b = 0 with the value 1, or the larger
        class's side with 2 c- + 2 epsilon / kappa: lam = 2 / kappa then keeps flipped labels
        from costing more than the others.
        """
        y, weights = self.y, self.weights
        p, r = np.ones(self.n_samples), np.zeros(self.n_samples)
        if not self.fit_intercept:
            return Point(np.zeros(self.n_features), 0.0, np.stack([p, r]))
        shares = {sign: float(np.sum(weights[y == sign])) for sign in (1.0, -1.0)}
        sign = max(shares, key=lambda side: shares[side])
        more, less = shares[sign], shares[-sign]
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
        Radius of the Wasserstein ball, greater than 0.
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


def project_triangle(p: Array, r: Array) -> tuple[Array, Array]:
    """The nearest points with p, r >= 0 and p + r <= 1."""
    excess = np.maximum(0.5 * (p + r - 1.0), 0.0)
    over = np.maximum(p, 0.0) + np.maximum(r, 0.0) > 1.0
    along = np.clip(np.where(over, p - excess, p), 0.0, 1.0)
    # on the hypotenuse r = 1 - p, which rounding must not leave
    return along, np.where(over, 1.0 - along, np.clip(r, 0.0, 1.0))


@primal_objective.register
def _(problem: RobustProblem, coef: Array, intercept: float, accuracy: float = 0.0) -> float:
    """P(w, b) at the best lam, rounded up; inf where it is NaN."""
    if abs(intercept) > 0.0 and not problem.fit_intercept:
        raise ValueError(f"intercept must be 0 without fit_intercept, got {intercept!r}.")
    coef = np.ascontiguousarray(coef, dtype=np.float64)
    z, low, error = problem.design.matvec_compensated(coef, float(intercept))
    if not (np.isfinite(z).all() and np.isfinite(coef).all()):
        return inf
    with np.errstate(over="ignore", invalid="ignore"):
        radius = best_radius(problem, problem.y * z, problem.norm.value(coef) * (1.0 + ROUNDING))
        ends = problem.loss.arguments(problem.y, z, low, error)
        losses = _largest_loss(*ends, radius, problem.kappa)
        value = float(np.sum(problem.weights * losses)) + problem.epsilon * radius
        value += problem.ridge * SquaredL2().value(coef)
    return inf if np.isnan(value) else value * (1.0 + ROUNDING)


@dual_bound.register
def _(
    problem: RobustProblem, theta: Array, upper: float, accuracy: float = 0.0, *,
    coef: Array | None = None,
) -> DualBound:  # fmt: skip
    """The best of the repaired lower bounds that multipliers (p, r) of the rows give."""
    upper = min(upper, problem.null_objective) * (1.0 + ROUNDING)
    radius = upper / problem.epsilon
    interval = problem.intercept_interval(upper)
    p, r = _on_grid(problem, theta)
    length = float(interval[1] - interval[0])
    candidates = [_Repair(problem, p, r, upper, radius, interval).best()]
    if problem.fit_intercept:
        with suppress(ValueError):  # r alone may be too unbalanced
            p = _balanced(problem, p, r)
            candidates.append(_Repair(problem, p, r, upper, radius, interval).best())
    if problem.kappa == inf and problem.ridge == 0.0:  # what bounds the hinge loss has, it has
        p = np.clip(np.nan_to_num(np.asarray(theta, dtype=float).reshape(2, -1)[0]), 0.0, 1.0)
        of_hinge = dual_bound.dispatch(Problem)
        plain = of_hinge(problem, -problem.y * p, upper, accuracy, coef=coef)
        p = -problem.y * plain.theta
        candidates.append(plain._replace(theta=np.stack([p, np.zeros_like(p)])))
    best = max(candidates, key=lambda bound: bound.value)
    if not best.value > 0.0:  # p = r = 0 proves that P >= 0
        best = DualBound(0.0, "scaling", np.zeros((2, problem.n_samples)))
    return DualBound(best.value, best.kind, best.theta, float(radius), 0.5 * length)


def _on_grid(problem: RobustProblem, theta: Array) -> tuple[Array, Array]:
    """Multipliers in the triangle whose sums and differences are exact."""
    p, r = np.nan_to_num(
        np.asarray(theta, dtype=np.float64).reshape(2, -1), posinf=1.0, neginf=0.0
    )
    p, r = project_triangle(np.clip(p, -1e100, 1e100), np.clip(r, -1e100, 1e100))
    if problem.kappa == inf:
        r = np.zeros_like(r)
    largest = float(np.max(p + r, initial=0.0))
    if 0.0 < largest < 2.0**-20:  # what a scale undoes that is a power of two
        scale = 2.0 ** np.floor(-np.log2(largest) - 1.0)
        p, r = p * scale, r * scale
    return np.floor(p * GRID) / GRID, np.floor(r * GRID) / GRID


def _balanced(problem: RobustProblem, p: Array, r: Array) -> Array:
    """The nearest p on the grid with sum_i c_i (p_i - r_i) y_i = 0, or almost."""
    normal = problem.weights * problem.y
    total = float(np.sum(normal * r))
    p = kernels.project_box_hyperplane(
        p, np.zeros_like(p), 1.0 - r, normal, np.maximum(problem.weights, 1e-300), total
    )
    return np.floor(p * GRID) / GRID


class _Repair:
    """Lower bounds from one dual point, at any scale t of it."""

    def __init__(self, problem, p, r, upper, radius, interval) -> None:
        self.problem, self.p, self.r, self.upper, self.radius = problem, p, r, upper, radius
        weights, y = problem.weights, problem.y
        v, error = problem.design.rmatvec_compensated(weights, (p - r) * y)
        self.finite = bool(np.isfinite(v).all() and np.isfinite(error).all())
        self.v, self.error = problem.norm.widest(v, error), error
        value, rounding = kernels.compensated_dot(weights, p + r)
        self.value = value - rounding
        rho, rounding = kernels.compensated_dot(weights, r)
        self.flipped = 0.0 if problem.kappa == inf else problem.kappa * (rho + rounding)
        slope, rounding = kernels.compensated_dot(weights, p - r, y)
        self.from_intercept = 0.0
        if interval != (0.0, 0.0) and (slope, rounding) != (0.0, 0.0):
            corners = np.outer([-slope - rounding, -slope + rounding], interval)
            self.from_intercept = -inf if np.isnan(corners).any() else float(corners.min())
        self.dual_norm = problem.norm.dual_norm(self.v) * (1.0 + ROUNDING)

    def parts(self, t: float) -> tuple[float, float]:
        """What w and lam may take away at scale t: exactly, and by lam <= radius."""
        problem = self.problem
        room = problem.epsilon - t * self.flipped
        room -= 4.0 * EPSILON * (problem.epsilon + t * self.flipped)
        excess = t * self.dual_norm - room
        lipschitz = self.radius * excess if excess > 0.0 else 0.0
        if problem.ridge == 0.0:
            return (0.0 if excess <= 0.0 else inf), lipschitz
        if room >= 0.0:
            distance = self._distance(t, room)
            return 0.5 * distance * (distance / problem.ridge), lipschitz
        norm = t * L2().value(self.v) * (1.0 + ROUNDING)
        return 0.5 * norm * (norm / problem.ridge) - self.radius * room, lipschitz

    def _distance(self, t: float, room: float) -> float:
        """An upper bound on the Euclidean distance of t v from {R <= room}."""
        v, norm = t * self.v, self.problem.norm
        room *= 1.0 - ROUNDING
        if isinstance(norm, L1):
            left = np.maximum(np.abs(v) - room, 0.0)
        elif isinstance(norm, L2):
            return max(t * self.dual_norm - room, 0.0)
        else:
            left = v - kernels.project_l1_ball(np.ascontiguousarray(v), room)
            inside = norm.dual_norm(v - left)
            if inside > room:
                left = v - (v - left) * (room / inside) * (1.0 - ROUNDING)
        return (L2().value(left) + t * L2().value(self.error)) * (1.0 + ROUNDING)

    def bound(self, t: float) -> float:
        taken = min(self.parts(t))
        inside, intercept = t * self.value, t * self.from_intercept
        terms = abs(inside) + abs(taken) + abs(intercept) + self.upper
        value = inside - taken + intercept - ROUNDING * terms
        return -inf if np.isnan(value) else value

    def best(self) -> DualBound:
        problem = self.problem
        if not self.finite:
            return DualBound(-inf, "exact", np.stack([self.p, self.r]))
        exact, lipschitz = self.parts(1.0)
        best = DualBound(
            self.bound(1.0),
            "exact" if exact <= lipschitz else "lipschitz",
            np.stack([self.p, self.r]),
        )
        size = float(np.max(self.p + self.r, initial=0.0))
        most = 1.0 / size if size > 0.0 else 1.0
        cost = self.dual_norm + self.flipped
        feasible = min(problem.epsilon / cost if cost > 0.0 else inf, most) * (1.0 - 8.0 * EPSILON)
        scales = [feasible]
        if problem.ridge > 0.0:
            found = minimize_scalar(
                lambda t: -self.bound(t), bounds=(0.0, most * (1.0 - 8.0 * EPSILON)),
                method="bounded", options={"maxiter": 40, "xatol": 1e-12},
            )  # fmt: skip
            scales.append(float(found.x))
        for t in scales:
            value = self.bound(t)
            if value > best.value:
                best = DualBound(value, "scaling", t * np.stack([self.p, self.r]))
        return best
