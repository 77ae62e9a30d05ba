"""Accelerated gradient methods by estimate functions."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._typing import Array
from .geometry import Entropic
from .settings import GRADIENTS, SETTINGS


@dataclass
class Composite:
    """A composite objective J = f + Psi.

    Attributes
    ----------
    smooth : callable
        Returns f, its gradient in z and the dual point from the product z = A x and x, where
        f(x) = g(A x) + lambda1 ||x||^2 / 2.
    matvec, rmatvec : callable
        Products with A and its transpose.
    psi : callable
    geometry : Euclidean or Entropic
    lipschitz : float
        An upper bound on L, or the start of the search for L if it is adaptive.
    in_loss, in_penalty : float
        lambda1 and lambda2.
    adaptive : bool
    n_gradients : int
        The number of gradients of f so far.
    hessian : callable, default=None
        Returns V g''(z) V' from z and rows V of products with A, for a search of x_{k+1} in a
        span. It is given for a Psi that is finite everywhere.
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
        """The number of values of L to try with x_{k+1} from a span."""
        return SETTINGS.most_searches if self.adaptive and self.hessian is not None else 0

    def at(self, x: Array, z: Array, error: float = 0.0) -> "Evaluation":
        value, rows, theta = self.smooth(z)
        f = value + 0.5 * self.in_loss * float(x @ x) if self.in_loss else value
        return Evaluation(x, z, f, f + self.psi(x), rows, theta, error)

    def gradient(self, at: "Evaluation") -> Array:
        """The gradient of f, which costs a product with the transpose of A."""
        self.n_gradients += 1
        gradient = self.rmatvec(at.rows)
        return gradient + self.in_loss * at.x if self.in_loss else gradient

    def between(self, here: "Evaluation", other: Array, z: Array, part: float) -> "Evaluation":
        """The evaluation at (1 - part) x + part other, where z is the product of A and other."""
        return self.at(
            part * other + (1.0 - part) * here.x,
            part * z + (1.0 - part) * here.z,
        )

    def divergence(self, x: Array, y: Array) -> float:
        d = self.geometry
        return d.value(x) - d.value(y) - float(d.gradient(y) @ (x - y))


@dataclass(frozen=True)
class Evaluation:
    """The values f and J at x, the gradient of f in z = A x, the dual point, and z's error."""

    x: Array
    z: Array
    f: float
    objective: float
    rows: Array
    theta: Array
    error: float


@dataclass(frozen=True)
class Iterate:
    """An iterate x_k with its product, the averaged dual point and the bound of the theorems.

    By Theorems 6, 10, 14 and 18, J(x_k) - J(x) <= bound * Delta(x, x_0) for every x, and the gap
    at ``theta`` is at most bound * max Delta(., x_0). ``slope`` is the gradient of f without its
    strong convexity, averaged as theta is. ``latest`` are the dual point of the last gradient, and
    its slope.
    """

    x: Array
    z: Array
    theta: Array
    slope: Array
    objective: float
    bound: float
    lipschitz: float
    latest: tuple[Array, Array]


class _Search:
    """The point x_k of an iteration, the last z_k, and the search for L and the next ones.

    Attributes
    ----------
    here, before : Evaluation
        The objective at x_k and x_{k-1}.
    z, product_z : ndarray
    gradient : ndarray
        The gradient at x_k, with a search in a span.
    lipschitz : float
    new : Evaluation
        The objective at the next point.
    new_z : ndarray
    """

    gradient: Array
    new: Evaluation
    new_z: Array

    def __init__(self, composite: Composite, here: Evaluation, before: Evaluation) -> None:
        self.composite, self.here, self.before = composite, here, before
        self.z, self.product_z = here.x, here.z
        self.lipschitz, self.stalls = composite.lipschitz, 0

    @property
    def has_stalled(self) -> bool:
        return bool(self.composite.searches) and self.stalls == SETTINGS.stalled_searches

    def begin(self) -> None:
        """Begin with a lower L than the last one."""
        self.searches, self.new = self.composite.searches, self.here
        if self.composite.adaptive:
            self.lipschitz /= (
                SETTINGS.search_decay if self.searches else GRADIENTS.curvature_decrease
            )
        self.least = self.lipschitz

    def trial(self) -> float:
        """The L to try."""
        c = self.composite
        least_convex = c.in_loss * SETTINGS.least_over_convexity
        least = SETTINGS.least_lipschitz * c.lipschitz
        self.lipschitz = max(self.lipschitz, least_convex, least)
        return self.lipschitz

    def origin(self, part: float, whole: float) -> tuple[Evaluation, Array]:
        """The point u_{k+1} and its gradient; the share of z_k in it is ``part / whole``."""
        if self.searches:
            return self.here, self.gradient
        u = self.composite.between(self.here, self.z, self.product_z, part / whole)
        return u, self.composite.gradient(u)

    def offer(self, new_z: Array, share: float, u: Evaluation, gradient: Array) -> bool:
        """Compute the next point from z_{k+1}; whether L is admitted by the gradient at u."""
        c, self.new_z, self.new_product_z = self.composite, new_z, self.composite.matvec(new_z)
        if self.searches:
            last, before = (self.z, self.product_z, 0.0), self.before
            points = (new_z, self.new_product_z, 0.0), last, (before.x, before.z, before.error)
            self.new = _lowest(c, self.here, self.new, points)
            return False
        step = c.between(self.here, new_z, self.new_product_z, share)
        if not c.searches or step.objective < self.new.objective:
            self.new = step
        return not c.adaptive or _below_model(c, step, u, gradient, self.lipschitz)

    def reject(self) -> None:
        """Continue with a larger L, or with the step of Algorithm 2 or 4 after some rejections."""
        self.lipschitz *= GRADIENTS.curvature_increase
        if self.searches:
            self.searches -= 1
            self.lipschitz = self.lipschitz if self.searches else self.least

    def accept(self) -> None:
        """Move to the next points."""
        level = self.here.objective
        is_lower = self.new.objective < level - _rounding(level)  # by more than rounding errors
        self.stalls = 0 if is_lower else self.stalls + 1
        self.before = self.before if self.new is self.here else self.here
        self.here, self.z, self.product_z = self.new, self.new_z, self.new_product_z

    def iterate(self, theta: Array, slope: Array, bound: float, latest: tuple) -> Iterate:
        """The iterate x_k, with the gradient there if it is used for a search in a span."""
        c, here = self.composite, self.here
        if c.searches:
            self.gradient = c.gradient(here)
            latest = here.theta, self.gradient - c.in_loss * c.geometry.gradient(here.x)
        return Iterate(here.x, here.z, theta, slope, here.objective, bound, self.lipschitz, latest)


def infinite_memory(composite: Composite, x: Array) -> Iterator[Iterate]:
    """The iterates of AGM-EF with infinite memory, Algorithms 1 and 2."""
    c, d = composite, composite.geometry
    in_loss, in_penalty = c.in_loss, c.in_penalty
    both, begin = in_loss + in_penalty, c.at(x, c.matvec(x))
    s = _Search(c, begin, begin)
    s.lipschitz = c.lipschitz * (GRADIENTS.curvature_decrease if c.adaptive else 1.0)
    if c.searches:
        s.gradient = c.gradient(s.here)
    total = 0.0  # A_k
    dual = d.gradient(x)
    constant = float(dual @ x) - d.value(x)
    theta: Any = 0.0
    slope: Any = 0.0
    while True:
        s.begin()
        while True:
            p, q = s.trial() - in_loss, 1.0 + 2.0 * both * total
            a = (q + np.sqrt(q * q + 4.0 * p * total * (1.0 + both * total))) / (2.0 * p)
            a = min(float(a), SETTINGS.largest_weight)
            after = total + a
            t1, t2 = 1.0 + both * total, in_loss * a
            t3 = in_penalty * a * total / after
            t = t1 + t2 + t3
            u, gradient = s.origin(a * t1, t * after - t2 * a)
            towards = in_loss * d.gradient(u.x) - gradient
            new_dual = dual + a * towards
            new_constant = constant + a * (u.f + float(towards @ u.x) - in_loss * d.value(u.x))
            z = d.minimise(new_dual, 1.0 + in_loss * after, after)
            holds = s.offer(z, a / after, u, gradient)
            model = (
                new_constant + (1.0 + in_loss * after) * d.value(z) - float(new_dual @ z)
                + after * c.psi(z)
            )  # fmt: skip
            slack = GRADIENTS.rounding * after * (abs(s.new.objective) + abs(u.f))
            if holds or after * s.new.objective <= model + slack:
                break
            s.reject()
        total, dual, constant = after, new_dual, new_constant
        s.accept()
        theta = theta + (a / total) * (u.theta - theta)
        slope = slope - (a / total) * (towards + slope)
        yield s.iterate(theta, slope, 1.0 / total, (u.theta, -towards))
        if s.has_stalled:
            return


def one_memory(composite: Composite, x: Array) -> Iterator[Iterate]:
    """The iterates of AGM-EF with a memory of one, Algorithms 3 and 4."""
    c, d = composite, composite.geometry
    in_loss, in_penalty = c.in_loss, c.in_penalty
    u = c.at(x, c.matvec(x))
    gradient, L = c.gradient(u), c.lipschitz
    while True:  # x_0 = z_0
        z = d.minimise(L * d.gradient(x) - gradient, L, 1.0)
        here = c.at(z, c.matvec(z))
        if not c.adaptive or _below_model(c, here, u, gradient, L):
            break
        L *= GRADIENTS.curvature_increase
    s = _Search(c, here, u)
    s.lipschitz = L
    theta, slope = latest = u.theta, gradient - in_loss * d.gradient(x)
    level = u.f + float(gradient @ (z - x)) + L * c.divergence(z, x) + c.psi(z)  # min q_k
    curvature, bound, scale = L + in_penalty, 1.0, L - in_loss
    while True:
        yield s.iterate(theta, slope, bound * scale, latest)
        if s.has_stalled:
            return
        s.begin()
        while True:
            # (1 - a)(c + lambda2 a) + lambda1 a = L a^2
            p, q = s.trial() + in_penalty, curvature - in_penalty - in_loss
            a = 2.0 * curvature / (q + np.sqrt(q * q + 4.0 * p * curvature))
            a = min(float(a), 1.0)
            after = (1.0 - a) * curvature + (in_loss + in_penalty) * a
            t1, t2, t3 = (1.0 - a) * curvature, in_loss * a, in_penalty * a * (1.0 - a)
            t = t1 + t2 + t3
            u, gradient = s.origin(t1 * a, t - t2 * a)
            dual = t1 * d.gradient(s.z) + t2 * d.gradient(u.x) - a * gradient
            z = d.minimise(dual, t1 + t2, a)
            holds = s.offer(z, a, u, gradient)
            new_level = (
                (1.0 - a) * level + t1 * c.divergence(z, s.z) + t2 * c.divergence(z, u.x)
                + a * (u.f + float(gradient @ (z - u.x)) + c.psi(z))
            )  # fmt: skip
            slack = GRADIENTS.rounding * (abs(s.new.objective) + abs(u.f))
            if holds or s.new.objective <= new_level + slack:
                break
            s.reject()
        curvature, level = after, new_level
        s.accept()
        bound *= 1.0 - a
        latest = u.theta, gradient - in_loss * d.gradient(u.x)
        theta, slope = theta + a * (latest[0] - theta), slope + a * (latest[1] - slope)


def _lowest(
    c: Composite,
    origin: Evaluation,
    best: Evaluation,
    others: tuple[tuple[Array, Array, float], ...],
) -> Evaluation:
    """A low point of J in the affine span of ``origin`` and others, by Newton's method.

    Newton's method starts at ``best``. The others are given with their products with A and bounds
    on the errors of these. The product with the result is a linear combination of theirs, and is
    recomputed if its error bound is too large.
    """
    W = np.array([x - origin.x for x, _, _ in others])
    V = np.array([z - origin.z for _, z, _ in others])
    sizes = np.linalg.norm(V, axis=1) + np.linalg.norm(origin.z)
    errors = np.finfo(float).eps * sizes + origin.error
    errors += [error for _, _, error in others]
    W, V, errors = (rows[np.any(W, axis=1)] for rows in (W, V, errors))
    ridge = (c.in_loss + c.in_penalty) * (W @ W.T)
    small = SETTINGS.slope_step / c.lipschitz
    for _ in range(SETTINGS.newton_steps):
        # Psi' by its Moreau envelope, exact where Psi without its ridge is linear
        moved = best.x - c.geometry.prox(best.x, small)
        slope = V @ best.rows + W @ (c.in_loss * best.x + (1.0 / small + c.in_penalty) * moved)
        if not np.all(np.isfinite(slope)):
            break
        H = c.hessian(best.z, V) + ridge
        scale = 1.0 / np.sqrt(np.maximum(np.diag(H), np.finfo(float).tiny))
        values, vectors = np.linalg.eigh(scale * H * scale[:, None])
        kept = values > SETTINGS.least_eigenvalue
        values, vectors = values[kept], vectors[:, kept]
        step = -scale * (vectors @ (vectors.T @ (scale * slope) / values))
        decrease = -float(slope @ step)
        if not decrease > _rounding(best.objective):
            break
        for _ in range(SETTINGS.most_backtracks):
            error = best.error + float(np.abs(step) @ errors)
            new = c.at(best.x + step @ W, best.z + step @ V, error)
            if new.objective <= best.objective - SETTINGS.sufficient_decrease * decrease:
                break
            step = SETTINGS.backtrack_factor * step
            decrease = SETTINGS.backtrack_factor * decrease
        else:
            break
        best = new
    if best.error > SETTINGS.product_drift * np.linalg.norm(best.z):
        return c.at(best.x, c.matvec(best.x))
    return best


def _below_model(c: Composite, new: Evaluation, u: Evaluation, gradient: Array, L: float):
    """Whether f(x) <= f(u) + f'(u).(x - u) + (L / 2) ||x - u||^2, which the proofs require."""
    step = new.x - u.x
    size = float(np.sum(np.abs(step))) if isinstance(c.geometry, Entropic) else np.nan
    square = size**2 if np.isfinite(size) else float(step @ step)
    return new.f <= u.f + float(gradient @ step) + 0.5 * L * square + _rounding(u.f)


def _rounding(value: float) -> float:
    """A bound on the rounding error of an objective value."""
    return GRADIENTS.rounding * abs(value)
