"""Accelerated gradients by estimate functions, with a gap (Zhang, Saha and Vishwanathan).

For J(x) = f(x) + Psi(x), f smooth and lambda1 strongly convex, Psi with an easy prox and
lambda2 strongly convex, both in the sense of the Bregman divergence Delta of a function d. The
methods build lower models psi_k of J with A_k J(x_k) <= min psi_k (infinite memory) or
J(x_k) <= min q_k (one memory). f is a maximum over dual points, and averages of those at
which its gradients were taken, (22) and (35), prove a gap that falls as fast as the objective.

Lemmas 3, 8 and 16 and the theorems hold for every u_k in the domain of Psi and every x_k that
keep A_k J(x_k) <= min psi_k, (15), or J(x_k) <= min q_k, (27). J along a few directions costs no
product with A where theirs are at hand, for f(x) = g(A x). So the methods that look for L try
u_{k+1} = x_k first, and as x_{k+1} the lowest point that they find in the span of x_{k-1}, x_k,
z_k and z_{k+1}: (15) then admits an L far below the curvature of f, an L that it rejects costs no
gradient, and every gradient is that of a dual point at an x_k. Nothing promises that it admits
any L there; where it rejects a few, Algorithms 2 and 4 take their own step.

Here f(w) = min over b of sum_i c_i l(y_i, x_i.w + b): a free intercept is eliminated, which for
the hinge is the projection onto a box and a hyperplane (Algorithm 8). A loss with kinks is
smoothed: l* + mu b_i^2 theta_i^2 / 2 in place of l*, at a fixed level or at levels that fall.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import logsumexp

from .. import kernels
from .._typing import Array
from ..certificates import dual_estimate
from ..designs import spectral_norm_bound
from ..losses import Hinge, SmoothedHinge, Squared
from ..penalties import (
    L1,
    ElasticNet,
    L1Ball,
    Penalty,
    SquaredL2,
    SquaredL2OnL1Ball,
)
from ..problems import Point, Problem
from .monitor import Monitor

__all__ = ["Composite", "Entropic", "Euclidean", "Iterate", "agm", "infinite_memory", "one_memory"]

GROWTH, DECAY = 2.0, 1.05  # gamma_u and gamma_d
COMPARE_EVERY = 10  # gradients, the averaged dual points and the latest
LEVELS = 4.0  # by which the smoothing falls
ROUNDING, EPS = 1e-13, np.finfo(float).eps
SMALLEST, LARGEST = 1e-12, 1e100  # L over the first one, and a, where runs go on at the optimum
SEARCHES = 4  # values of L tried with u_{k+1} = x_k, before Algorithms 2 and 4 take their step
SEARCH_DECAY = 1.5  # gamma_d there, where a rejected L costs no gradient
NEWTON_STEPS, BACKTRACKS = 4, 6
NEWTON_ENDS = 1e-2  # of the decrease so far
DRIFT = 1e-9  # of a product, relative, at which it is made anew
STALLS = 3  # iterations that find nothing lower, until a new start
PROX_STEP = 1e-5  # for a slope of Psi, in units of 1 / L


@dataclass(frozen=True)
class Euclidean:
    """d(x) = ||x||_2^2 / 2."""

    prox: Callable[[Array, float], Array]  # argmin of ||x - v||^2 / 2 + step Psi(x)

    def value(self, x: Array) -> float:
        return 0.5 * float(x @ x)

    def gradient(self, x: Array) -> Array:
        return x

    def minimise(self, dual: Array, weight: float, scale: float) -> Array:
        """argmin of weight d(x) - dual.x + scale Psi(x)."""
        return self.prox(dual / weight, scale / weight)


@dataclass(frozen=True)
class Entropic:
    """d(x) = sum_j x_j log x_j on the simplex, whose indicator Psi is."""

    def value(self, x: Array) -> float:
        return float(x @ self.gradient(x))

    def gradient(self, x: Array) -> Array:
        return np.log(np.maximum(x, 1e-300))  # but for a constant, which changes nothing here

    def minimise(self, dual: Array, weight: float, scale: float) -> Array:
        logarithms = dual / weight
        return np.exp(logarithms - logsumexp(logarithms))


@dataclass
class Composite:
    """J = f + Psi.

    Attributes
    ----------
    smooth : callable
        (f, its gradient in z, the dual point) from the product z = A x and x, where f(x) =
        g(A x) + lambda1 ||x||^2 / 2.
    matvec, rmatvec : callable
        Products with A and its transpose.
    psi : callable
    geometry : Euclidean or Entropic
    lipschitz : float
        L, an upper bound on it, or where the search for it begins if it is adaptive.
    in_loss, in_penalty : float
        lambda1 and lambda2.
    adaptive : bool
    n_gradients : int
        Gradients of f so far.
    hessian : callable, default=None
        V g''(z) V' from z and rows V of products with A, to look for x_{k+1} in a span; for a
        Psi that is finite everywhere.
    """

    smooth: Callable[[Array], tuple[float, Array, Array]]
    matvec: Callable[[Array], Array]
    rmatvec: Callable[[Array], Array]
    psi: Callable[[Array], float]
    geometry: Any
    lipschitz: float
    in_loss: float = 0.0
    in_penalty: float = 0.0
    adaptive: bool = True
    n_gradients: int = 0
    hessian: Any = None

    @property
    def searches(self) -> int:
        """Values of L to try with x_{k+1} from a span."""
        return SEARCHES if self.adaptive and self.hessian is not None else 0

    def at(self, x: Array, z: Array, error: float = 0.0) -> "Evaluation":
        value, rows, theta = self.smooth(z)
        f = value + 0.5 * self.in_loss * float(x @ x) if self.in_loss else value
        return Evaluation(x, z, f, f + self.psi(x), rows, theta, error)

    def gradient(self, at: "Evaluation") -> Array:
        """The gradient of f: a product with the transpose of A."""
        self.n_gradients += 1
        gradient = self.rmatvec(at.rows)
        return gradient + self.in_loss * at.x if self.in_loss else gradient

    def between(self, here: "Evaluation", other: Array, z: Array, part: float) -> "Evaluation":
        """At (1 - part) x + part other, z the product with other."""
        return self.at(
            part * other + (1.0 - part) * here.x,
            part * z + (1.0 - part) * here.z,
        )

    def divergence(self, x: Array, y: Array) -> float:
        d = self.geometry
        return d.value(x) - d.value(y) - float(d.gradient(y) @ (x - y))


@dataclass(frozen=True)
class Evaluation:
    """f and J at x, the gradient of f in z = A x, the dual point, and a bound on z's error."""

    x: Array
    z: Array
    f: float
    objective: float
    rows: Array
    theta: Array
    error: float

    def below(self, other: "Evaluation") -> bool:
        """Whether J is lower here by more than rounding."""
        return self.objective < other.objective - ROUNDING * abs(other.objective)

    @property
    def point(self) -> tuple[Array, Array, float]:
        return self.x, self.z, self.error


@dataclass(frozen=True)
class Iterate:
    """x_k with its product, the averaged dual point and the factor of Theorems 6, 10, 14, 18.

    J(x_k) - J(x) <= bound * Delta(x, x_0) for every x, and the gap at ``theta`` is at most
    bound * max Delta(., x_0). ``slope`` is the gradient of f less its strong convexity, averaged
    as theta is; ``latest`` are the dual point where the gradient was taken last and its slope.
    """

    x: Array
    z: Array
    theta: Array
    slope: Array
    objective: float
    bound: float
    lipschitz: float
    latest: tuple[Array, Array]


def infinite_memory(composite: Composite, x: Array) -> Iterator[Iterate]:
    """AGM-EF with infinite memory, Algorithms 1 and 2."""
    c, d = composite, composite.geometry
    in_loss, in_penalty = c.in_loss, c.in_penalty
    both = in_loss + in_penalty
    first, z, L = x, x, c.lipschitz * (DECAY if c.adaptive else 1.0)
    here = before = c.at(x, c.matvec(x))
    product_z = here.z
    gradient_here, stalls = c.gradient(here) if c.searches else x, 0
    total = 0.0  # A_k
    origin = d.gradient(first)
    dual, constant = origin, float(origin @ first) - d.value(first)
    theta: Any = 0.0
    slope: Any = 0.0
    while True:
        searches, new = c.searches, here
        if c.adaptive:
            L = L / (SEARCH_DECAY if searches else DECAY)
        least = L
        while True:
            L = max(L, in_loss * (1.0 + 1e-8), SMALLEST * c.lipschitz)
            p, q = L - in_loss, 1.0 + 2.0 * both * total
            a = (q + np.sqrt(q * q + 4.0 * p * total * (1.0 + both * total))) / (2.0 * p)
            a = min(float(a), LARGEST)
            after = total + a
            t1, t2 = 1.0 + both * total, in_loss * a
            t3 = in_penalty * a * total / after
            t = t1 + t2 + t3
            if searches:
                u, gradient = here, gradient_here
            else:
                u = c.between(here, z, product_z, a * t1 / (t * after - t2 * a))
                gradient = c.gradient(u)
            towards = in_loss * d.gradient(u.x) - gradient
            new_dual = dual + a * towards
            new_constant = constant + a * (u.f + float(towards @ u.x) - in_loss * d.value(u.x))
            new_z = d.minimise(new_dual, 1.0 + in_loss * after, after)
            new_product_z = c.matvec(new_z)
            if searches:
                points = (new_z, new_product_z, 0.0), (z, product_z, 0.0), before.point
                new, holds = _lowest(c, here, new, points), False
            else:
                step = c.between(here, new_z, new_product_z, a / after)
                holds = not c.adaptive or _below_model(c, step, u, gradient, L)
                new = step if not c.searches or step.objective < new.objective else new
            model = (
                new_constant + (1.0 + in_loss * after) * d.value(new_z) - float(new_dual @ new_z)
                + after * c.psi(new_z)
            )  # fmt: skip
            slack = ROUNDING * after * (abs(new.objective) + abs(u.f))
            if holds or after * new.objective <= model + slack:
                break
            L *= GROWTH
            if searches:
                searches -= 1
                L = L if searches else least
        total, dual, constant = after, new_dual, new_constant
        stalls = 0 if new.below(here) else stalls + 1
        before = before if new is here else here
        here, z, product_z = new, new_z, new_product_z
        theta = theta + (a / total) * (u.theta - theta)
        slope = slope - (a / total) * (towards + slope)
        latest = u.theta, -towards
        if c.searches:
            gradient_here = c.gradient(here)
            latest = here.theta, gradient_here - in_loss * d.gradient(here.x)
        yield Iterate(here.x, here.z, theta, slope, here.objective, 1.0 / total, L, latest)
        if c.searches and stalls == STALLS:
            return


def one_memory(composite: Composite, x: Array) -> Iterator[Iterate]:
    """AGM-EF with a memory of one, Algorithms 3 and 4."""
    c, d = composite, composite.geometry
    in_loss, in_penalty = c.in_loss, c.in_penalty
    u = c.at(x, c.matvec(x))
    gradient, L = c.gradient(u), c.lipschitz
    while True:  # x_0 = z_0
        z = d.minimise(L * d.gradient(x) - gradient, L, 1.0)
        here = c.at(z, c.matvec(z))
        if not c.adaptive or _below_model(c, here, u, gradient, L):
            break
        L *= GROWTH
    before, product_z, stalls = u, here.z, 0
    theta, slope = latest = u.theta, gradient - in_loss * d.gradient(x)
    level = u.f + float(gradient @ (z - x)) + L * c.divergence(z, x) + c.psi(z)  # min q_k
    curvature, bound, scale = L + in_penalty, 1.0, L - in_loss
    while True:
        if c.searches:
            gradient_here = c.gradient(here)
            latest = here.theta, gradient_here - in_loss * d.gradient(here.x)
        yield Iterate(here.x, here.z, theta, slope, here.objective, bound * scale, L, latest)
        if c.searches and stalls == STALLS:
            return
        searches, new = c.searches, here
        if c.adaptive:
            L = L / (SEARCH_DECAY if searches else DECAY)
        least = L
        while True:
            L = max(L, in_loss * (1.0 + 1e-8), SMALLEST * c.lipschitz)
            # (1 - a)(c + lambda2 a) + lambda1 a = L a^2
            p, q = L + in_penalty, curvature - in_penalty - in_loss
            a = 2.0 * curvature / (q + np.sqrt(q * q + 4.0 * p * curvature))
            a = min(float(a), 1.0)
            after = (1.0 - a) * curvature + (in_loss + in_penalty) * a
            t1, t2, t3 = (1.0 - a) * curvature, in_loss * a, in_penalty * a * (1.0 - a)
            t = t1 + t2 + t3
            if searches:
                u, gradient = here, gradient_here
            else:
                u = c.between(here, z, product_z, t1 * a / (t - t2 * a))
                gradient = c.gradient(u)
            dual = t1 * d.gradient(z) + t2 * d.gradient(u.x) - a * gradient
            new_z = d.minimise(dual, t1 + t2, a)
            new_product_z = c.matvec(new_z)
            if searches:
                points = (new_z, new_product_z, 0.0), (z, product_z, 0.0), before.point
                new, holds = _lowest(c, here, new, points), False
            else:
                step = c.between(here, new_z, new_product_z, a)
                holds = not c.adaptive or _below_model(c, step, u, gradient, L)
                new = step if not c.searches or step.objective < new.objective else new
            new_level = (
                (1.0 - a) * level + t1 * c.divergence(new_z, z) + t2 * c.divergence(new_z, u.x)
                + a * (u.f + float(gradient @ (new_z - u.x)) + c.psi(new_z))
            )  # fmt: skip
            slack = ROUNDING * (abs(new.objective) + abs(u.f))
            if holds or new.objective <= new_level + slack:
                break
            L *= GROWTH
            if searches:
                searches -= 1
                L = L if searches else least
        curvature, level = after, new_level
        stalls = 0 if new.below(here) else stalls + 1
        before = before if new is here else here
        here, z, product_z = new, new_z, new_product_z
        bound *= 1.0 - a
        latest = u.theta, gradient - in_loss * d.gradient(u.x)
        theta, slope = theta + a * (latest[0] - theta), slope + a * (latest[1] - slope)


def _lowest(
    c: Composite,
    origin: Evaluation,
    best: Evaluation,
    others: tuple[tuple[Array, Array, float], ...],
) -> Evaluation:
    """A low point of J in the affine span of ``origin`` and others, by Newton from ``best``.

    The others come with their products with A and bounds on the errors of these. The product with
    the point found is a sum of theirs, and made anew where their errors may have grown in it.
    """
    W = np.array([x - origin.x for x, _, _ in others])
    V = np.array([z - origin.z for _, z, _ in others])
    errors = EPS * (np.linalg.norm(V, axis=1) + np.linalg.norm(origin.z)) + origin.error
    errors += [error for _, _, error in others]
    W, V, errors = (rows[np.any(W, axis=1)] for rows in (W, V, errors))
    ridge = (c.in_loss + c.in_penalty) * (W @ W.T)
    small = PROX_STEP / c.lipschitz
    for _ in range(NEWTON_STEPS):
        # Psi' by its Moreau envelope, exact where Psi is linear on what is added to its ridge
        moved = best.x - c.geometry.prox(best.x, small)
        slope = V @ best.rows + W @ (c.in_loss * best.x + (1.0 / small + c.in_penalty) * moved)
        if not np.all(np.isfinite(slope)):
            break
        H = c.hessian(best.z, V) + ridge
        scale = 1.0 / np.sqrt(np.maximum(np.diag(H), np.finfo(float).tiny))
        values, vectors = np.linalg.eigh(scale * H * scale[:, None])
        values, vectors = values[values > 1e-10], vectors[:, values > 1e-10]
        step = -scale * (vectors @ (vectors.T @ (scale * slope) / values))
        decrease = -float(slope @ step)
        so_far = origin.objective - best.objective
        if not decrease > max(NEWTON_ENDS * so_far, 1e-15 * abs(best.objective)):
            break
        for _ in range(BACKTRACKS):
            error = best.error + float(np.abs(step) @ errors)
            new = c.at(best.x + step @ W, best.z + step @ V, error)
            if new.objective <= best.objective - 1e-4 * decrease:
                break
            step, decrease = 0.25 * step, 0.25 * decrease
        else:
            break
        best = new
    if best.error > DRIFT * np.linalg.norm(best.z):
        return c.at(best.x, c.matvec(best.x))
    return best


def _below_model(c: Composite, new: Evaluation, u: Evaluation, gradient: Array, L: float):
    """f(x) <= f(u) + f'(u).(x - u) + (L / 2) ||x - u||^2, which is all that the proofs need."""
    step = new.x - u.x
    size = float(np.sum(np.abs(step))) if isinstance(c.geometry, Entropic) else np.nan
    square = size**2 if np.isfinite(size) else float(step @ step)
    return new.f <= u.f + float(gradient @ step) + 0.5 * L * square + ROUNDING * abs(u.f)


class _SmoothedLoss:
    """f as a function of z = X w: the mean loss, smoothed, at the best intercept."""

    def __init__(self, problem: Problem, mu: float, squares: Array) -> None:
        self.problem, self.mu = problem, mu
        self.added = mu * squares  # mu b_i^2
        self.intercept = problem.null_point.intercept
        self.z: Any = None  # where the best intercept was asked for last

    @property
    def smoothness(self) -> Array | float:
        """The second derivatives of the rows' losses at most."""
        own = 1.0 / self.problem.loss.smoothness  # strong convexity of l*
        return 1.0 / (own + self.added)

    def theta(self, z: Array) -> Array:
        problem = self.problem
        if self.mu == 0.0:
            return problem.loss.gradient(problem.y, z)
        step = 1.0 / self.added
        return problem.loss.prox_conjugate(problem.y, step * z, step)

    def best(self, z: Array) -> tuple[float, Array]:
        """The best intercept and the dual point there."""
        if z is not self.z:
            self.z, self.known = z, self._best(z)
        return self.known

    def hessian(self, z: Array, V: Array) -> Array:
        """V f''(z) V', by differences of the dual point at the intercept that is best at z."""
        problem = self.problem
        b, theta = self.best(z)
        step = 1e-6 * problem.reach
        curvature = problem.weights * (self.theta(z + (b + step)) - theta) / step
        total = float(np.sum(curvature))
        if problem.fit_intercept and total > 0.0:  # which goes along with z
            V = V - (V @ curvature / total)[:, None]
        return (V * curvature) @ V.T

    def _best(self, z: Array) -> tuple[float, Array]:
        problem = self.problem
        weights, loss, y = problem.weights, problem.loss, problem.y
        if not problem.fit_intercept:
            return 0.0, self.theta(z)
        if isinstance(loss, Squared) and self.mu == 0.0:
            b = float(weights @ (y - z))
            return b, z + b - y
        if isinstance(loss, Hinge | SmoothedHinge):
            # max of sum c (theta (z - y) - q theta^2 / 2) on a box and sum c theta = 0
            q = self.added + (loss.mu if isinstance(loss, SmoothedHinge) else 0.0)
            lower, upper = loss.dual_bounds(y)
            theta = kernels.project_box_hyperplane(
                (z - y) / q, lower, upper, weights, weights * q, 0.0
            )
            implied = q * theta - (z - y)  # b where theta_i is inside, a bound where it is not
            inside = (theta > lower) & (theta < upper) & (weights > 0.0)
            if inside.any():
                return float(np.average(implied[inside], weights=weights[inside])), theta
            low = np.max(implied[(theta >= upper) & (weights > 0.0)], initial=-np.inf)
            high = np.min(implied[(theta <= lower) & (weights > 0.0)], initial=np.inf)
            ends = [end for end in (low, high) if np.isfinite(end)]
            return (float(np.mean(ends)) if ends else 0.0), theta

        def slope(b: float) -> float:
            return float(weights @ self.theta(z + b))

        low = high = self.intercept
        width = 1e-3 * problem.reach
        while slope(low) > 0.0 and width < 1e12 * problem.reach:
            low, width = low - width, 2.0 * width
        while slope(high) < 0.0 and width < 1e12 * problem.reach:
            high, width = high + width, 2.0 * width
        if low < high and slope(low) < 0.0 < slope(high):
            self.intercept = float(brentq(slope, low, high, xtol=1e-15 * (1.0 + abs(low))))
        else:
            self.intercept = high if slope(low) < 0.0 else low
        return self.intercept, self.theta(z + self.intercept)

    def __call__(self, z: Array) -> tuple[float, Array, Array]:
        problem = self.problem
        b, theta = self.best(z)
        prediction = z + b if b != 0.0 else z
        weights = problem.weights
        if self.mu == 0.0:
            value = float(weights @ problem.loss.value(problem.y, prediction))
        else:
            conjugate = problem.loss.conjugate(problem.y, theta)
            value = float(weights @ (theta * prediction - conjugate - 0.5 * self.added * theta**2))
        return value, weights * theta, theta


def _without_ridge(penalty: Penalty, alpha: float) -> tuple[float, Penalty | None, float]:
    """The weight of ||w||^2 / 2 in alpha R, and what is left with its weight."""
    if isinstance(penalty, SquaredL2):
        return alpha, None, 0.0
    if isinstance(penalty, ElasticNet):
        return alpha * (1.0 - penalty.l1_ratio), L1(), alpha * penalty.l1_ratio
    if isinstance(penalty, SquaredL2OnL1Ball):
        return alpha * penalty.weight, L1Ball(penalty.radius), 1.0
    return 0.0, penalty, alpha


def _prox_squares(problem: Problem, random_state: np.random.RandomState) -> Array:
    """b_i^2 proportional to ``|a_i . v|``, v the first singular vector (section 5.6).

    Their mean, weighted, is 1; none is so small that its row's loss would stay unsmoothed.
    """
    design, weights = problem.design, problem.weights
    v = random_state.standard_normal(design.shape[1])
    product = design.matvec(v)
    for _ in range(6):
        v = design.rmatvec(weights * product)
        norm = float(np.linalg.norm(v))
        if norm == 0.0:
            return np.ones(design.shape[0])
        v /= norm
        product = design.matvec(v)
    squares = np.abs(product)
    squares = np.maximum(squares, 0.1 * float(weights @ squares))
    return squares / float(weights @ squares)


def agm(
    problem: Problem,
    monitor: Monitor,
    start: Point | None,
    *,
    max_iter: int,
    random_state: np.random.RandomState,
    memory: str = "infinite",
    prox: str = "euclidean",
    adaptive: bool = True,
    search: bool = True,
    strong_convexity: str = "penalty",
    smoothing: str = "homotopy",
    data_dependent: bool = False,
) -> None:
    """Nesterov's accelerated gradients by estimate functions (AGM-EF).

    Parameters
    ----------
    problem, monitor, start, max_iter
        As for `skpd.solvers.pdprox.pdprox_dual`; an iteration is a gradient.
    random_state : RandomState
        Start vectors of norm estimates.
    memory : {"infinite", "one"}, default="infinite"
        Algorithms 1 and 2, or 3 and 4.
    prox : {"euclidean", "entropic"}, default="euclidean"
        "entropic" for penalties over an l1 ball only, whose points it writes as differences of
        points of a simplex.
    adaptive : bool, default=True
        Whether L is searched for (Algorithms 2 and 4), or fixed at a bound on the spectral norm.
    search : bool, default=True
        Whether, with ``adaptive``, each point is looked for in the span of the last ones, which
        the bounds allow, or is the one of Algorithms 2 and 4. Penalties with a domain of their
        own, and the entropic prox, always take the latter.
    strong_convexity : {"penalty", "loss"}, default="penalty"
        Where a squared l2 norm is counted: in Psi (lambda2) or in f (lambda1).
    smoothing : {"homotopy", "fixed"}, default="homotopy"
        For a loss with kinks: levels that fall, each warm started, or from the start that of the
        tolerance, (57).
    data_dependent : bool, default=False
        Whether to smooth each row by a weight of its own (section 5.6), for a loss with kinks.

    Raises
    ------
    ValueError
        If ``prox="entropic"`` and the penalty is not over an l1 ball.
    """
    on_ball = isinstance(problem.penalty, L1Ball | SquaredL2OnL1Ball)
    if prox == "entropic" and not on_ball:
        raise ValueError(
            "prox 'entropic' of solver 'agm' needs a penalty over an l1 ball, "
            f"got {type(problem.penalty).__name__}."
        )
    loss = problem.loss
    smooth = bool(np.isfinite(loss.smoothness))
    squares = np.ones(problem.n_samples)
    if data_dependent and not smooth:
        squares = _prox_squares(problem, random_state)
    bounds = np.array(loss.dual_bounds(problem.y))
    largest = 0.5 * float(problem.weights @ (squares * np.max(bounds**2, axis=0)))  # D
    run = _Run(
        problem, monitor, max_iter, random_state, memory, prox, adaptive, search, strong_convexity
    )
    point = problem.null_point if start is None else start
    w = problem.penalty.feasible(np.asarray(point.coef, dtype=np.float64))
    if smooth:
        run.minimise(w, _SmoothedLoss(problem, 0.0, squares), 0.0)
        return
    last = 0.5 * max(monitor.tol, 1e-12) * problem.objective_unit / largest
    gap = monitor.primal - monitor.dual
    mu = max(last, 0.1 * gap / largest) if smoothing == "homotopy" else last
    while not monitor.done and run.n_iter < max_iter:
        final = mu <= last
        error = 0.0 if final else 2.0 * mu * largest
        w = run.minimise(w, _SmoothedLoss(problem, mu, squares), error)
        mu = mu / LEVELS if not final else 0.25 * mu
        mu = max(mu, last) if not final else mu


class _Run:
    """Minimises composite objectives and reports to the monitor."""

    def __init__(
        self, problem, monitor, max_iter, random_state, memory, prox, adaptive, search,
        strong_convexity,
    ) -> None:  # fmt: skip
        self.problem, self.monitor, self.max_iter = problem, monitor, max_iter
        self.random_state, self.adaptive = random_state, adaptive
        self.method = infinite_memory if memory == "infinite" else one_memory
        self.entropic = prox == "entropic"
        self.search = search and type(problem.penalty).feasible is Penalty.feasible
        self.in_loss = strong_convexity == "loss"
        self.n_iter = monitor.n_iter
        self.averages = True  # whether the averaged dual points prove more than the latest
        self.compare_at = 0

    def composite(self, loss: _SmoothedLoss, w: Array) -> Composite:
        """J in the variables of the prox, w the start of the search for L."""
        problem = self.problem
        design, penalty, alpha = problem.design, problem.penalty, problem.alpha
        weights = problem.weights
        ridge, rest, rest_alpha = _without_ridge(penalty, alpha)
        curvature = weights * loss.smoothness
        root = np.sqrt(curvature)
        if self.entropic:
            radius, d = penalty.radius, problem.n_features
            largest = float(np.max(design.column_norms(curvature)) ** 2) + ridge

            def smooth(z):
                # the ridge is part of f: z carries w behind the predictions
                value, rows, theta = loss(z[: problem.n_samples])
                own = z[problem.n_samples :]
                rows = np.concatenate([rows, ridge * own])
                return value + 0.5 * ridge * float(own @ own), rows, theta

            def matvec(x):
                w = radius * (x[:d] - x[d : 2 * d])
                return np.concatenate([design.matvec(w), w])

            def rmatvec(rows):
                g = design.rmatvec(rows[: problem.n_samples]) + rows[problem.n_samples :]
                return radius * np.concatenate([g, -g, [0.0]])

            return Composite(
                smooth, matvec, rmatvec, lambda x: 0.0, Entropic(),
                lipschitz=radius**2 * largest / (16.0 if self.adaptive else 1.0),
                adaptive=self.adaptive,
            )  # fmt: skip
        in_loss = ridge if self.in_loss else 0.0
        if self.in_loss:
            psi = (lambda w: rest_alpha * rest.value(w)) if rest is not None else lambda w: 0.0
            near = (
                (lambda v, step: rest.prox(v, step * rest_alpha))
                if rest is not None
                else (lambda v, step: v)
            )
        else:

            def psi(w):
                return alpha * penalty.value(w)

            def near(v, step):
                return penalty.prox(v, step * alpha)

        if self.adaptive:
            direction = design.rmatvec(weights * loss(design.matvec(w))[2])
            size = float(direction @ direction)
            along = root * design.matvec(direction) if size > 0.0 else root
            lipschitz = float(along @ along) / size if size > 0.0 else 1.0
        else:
            lipschitz = spectral_norm_bound(
                lambda v: root * design.matvec(v), lambda u: design.rmatvec(root * u),
                design.shape, self.random_state,
            ) ** 2  # fmt: skip
        # averages of points inside a set are inside but for rounding, where R is infinite
        return Composite(
            loss, design.matvec, design.rmatvec, lambda w: psi(penalty.feasible(w)),
            Euclidean(near), lipschitz=max(lipschitz, 1e-300) + in_loss, in_loss=in_loss,
            in_penalty=ridge - in_loss, adaptive=self.adaptive, n_gradients=int(self.adaptive),
            hessian=loss.hessian if self.search else None,
        )  # fmt: skip

    def variables(self, w: Array) -> Array:
        """The point of the simplex that stands for w, inside it."""
        if not self.entropic:
            return w
        parts = (
            np.concatenate([np.maximum(w, 0.0), np.maximum(-w, 0.0)]) / self.problem.penalty.radius
        )
        x = np.append(parts, max(1.0 - float(np.sum(parts)), 0.0))
        return 0.9 * x / np.sum(x) + 0.1 / len(x)

    def coef(self, x: Array) -> Array:
        if not self.entropic:
            return x
        d = self.problem.n_features
        return self.problem.penalty.feasible(self.problem.penalty.radius * (x[:d] - x[d : 2 * d]))

    def minimise(self, w: Array, loss: _SmoothedLoss, error: float) -> Array:
        """Iterates until the gap of the loss itself is at most ``error``, or all is done."""
        problem, monitor = self.problem, self.monitor
        goal = monitor.tol * problem.objective_unit
        composite = self.composite(loss, w)
        before, check_at = self.n_iter, self.n_iter + 10
        x, lowest = self.variables(w), np.inf
        while True:
            for iterate in self.method(composite, x):
                self.n_iter = before + composite.n_gradients
                x, w = iterate.x, self.coef(iterate.x)
                last = self.n_iter >= self.max_iter
                gap, point = self.gap(w, iterate, loss)
                if gap <= max(error, 0.9 * goal) or self.n_iter >= check_at or last:
                    monitor.check(self.n_iter, point)
                    check_at = self.n_iter + max(10, (self.n_iter - before) // 4)
                    if monitor.done or last or gap <= error != 0.0:
                        return w
            # searches found nothing lower: a new start, without them if this one gained nothing
            if lowest - iterate.objective <= ROUNDING * abs(iterate.objective):
                composite.hessian = None
            lowest = iterate.objective

    def gap(self, w: Array, iterate: Iterate, loss: _SmoothedLoss) -> tuple[float, Point]:
        """What the monitor would find, from sums at hand, and for which point.

        The averages of the theory prove a gap whatever the problem is; the latest dual point
        alone often proves a smaller one where the problem is strongly convex.
        """
        problem = self.problem
        z = iterate.z[: problem.n_samples]
        intercept = loss.best(z)[0]
        primal = float(problem.weights @ problem.loss.value(problem.y, z + intercept))
        primal += problem.alpha * problem.penalty.value(problem.penalty.feasible(w))
        duals = (iterate.theta, iterate.slope), iterate.latest
        if self.n_iter >= self.compare_at:
            bounds = [self.bound(*dual, primal) for dual in duals]
            self.averages, lower = bounds[0] >= bounds[1], max(bounds)
            self.compare_at = self.n_iter + COMPARE_EVERY
            theta = duals[0 if self.averages else 1][0]
        else:
            theta, slope = duals[0 if self.averages else 1]
            lower = self.bound(theta, slope, primal)
        gap = min(primal, self.monitor.primal) - max(lower, self.monitor.dual)
        return gap, Point(w, intercept, theta)

    def bound(self, theta: Array, slope: Array, primal: float) -> float:
        """The lower bound that the monitor would find, of a dual point and its slope."""
        problem = self.problem
        theta = problem.loss.project_dual(problem.y, theta)
        rows = problem.weights * theta
        value = -float(problem.weights @ problem.loss.conjugate(problem.y, theta))
        if self.entropic:  # whose gradients are of more than the loss
            slope = problem.design.rmatvec(rows)
        return dual_estimate(problem, value, slope, float(np.sum(rows)), primal)
