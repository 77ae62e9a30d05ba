"""Accelerated gradients by estimate functions, with a gap (Zhang, Saha and Vishwanathan).

For J(x) = f(x) + Psi(x), f smooth and lambda1 strongly convex, Psi with an easy prox and
lambda2 strongly convex, both in the sense of the Bregman divergence Delta of a function d. The
methods build lower models psi_k of J with A_k J(x_k) <= min psi_k (infinite memory) or
J(x_k) <= min q_k (one memory). f is a maximum over dual points, and averages of those at
which its gradients were taken, (22) and (35), prove a gap that falls as fast as the objective.

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
from ..design import spectral_norm_bound
from ..losses import Hinge, SmoothedHinge, Squared
from ..penalties import L1, ElasticNet, L1Ball, Penalty, SquaredL2, SquaredL2OnL1Ball
from ..problem import Point, Problem
from .monitor import Monitor

__all__ = ["Composite", "Entropic", "Euclidean", "Iterate", "agm", "infinite_memory", "one_memory"]

GROWTH, DECAY = 2.0, 1.05  # gamma_u and gamma_d
COMPARE_EVERY = 10  # gradients, the averaged dual points and the latest
LEVELS = 4.0  # by which the smoothing falls
ROUNDING = 1e-13


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

    def f(self, x: Array, z: Array) -> float:
        return self.smooth(z)[0] + 0.5 * self.in_loss * float(x @ x)

    def linearise(self, x: Array, z: Array) -> tuple[float, Array, Array]:
        """f, its gradient and the dual point at x."""
        self.n_gradients += 1
        value, rows, theta = self.smooth(z)
        gradient = self.rmatvec(rows)
        if self.in_loss:
            value += 0.5 * self.in_loss * float(x @ x)
            gradient = gradient + self.in_loss * x
        return value, gradient, theta

    def divergence(self, x: Array, y: Array) -> float:
        d = self.geometry
        return d.value(x) - d.value(y) - float(d.gradient(y) @ (x - y))


@dataclass(frozen=True)
class Iterate:
    """x_k with its product, the averaged dual point and the factor of Theorems 6, 10, 14, 18.

    J(x_k) - J(x) <= bound * Delta(x, x_0) for every x, and the gap at ``theta`` is at most
    bound * max Delta(., x_0).
    """

    x: Array
    z: Array
    theta: Array
    objective: float
    bound: float
    lipschitz: float


def infinite_memory(composite: Composite, x: Array) -> Iterator[Iterate]:
    """AGM-EF with infinite memory, Algorithms 1 and 2."""
    c, d = composite, composite.geometry
    in_loss, in_penalty = c.in_loss, c.in_penalty
    both = in_loss + in_penalty
    first, z, L = x, x, c.lipschitz * (DECAY if c.adaptive else 1.0)
    product_x = product_z = c.matvec(x)
    total = 0.0  # A_k
    origin = d.gradient(first)
    dual, constant = origin, float(origin @ first) - d.value(first)
    theta: Any = 0.0
    while True:
        if c.adaptive:
            L = L / DECAY
        while True:
            L = max(L, in_loss * (1.0 + 1e-8))
            p, q = L - in_loss, 1.0 + 2.0 * both * total
            a = (q + np.sqrt(q * q + 4.0 * p * total * (1.0 + both * total))) / (2.0 * p)
            after = total + a
            t1, t2 = 1.0 + both * total, in_loss * a
            t3 = in_penalty * a * total / after
            t = t1 + t2 + t3
            part_z = a * t1 / (t * after - t2 * a)
            u = part_z * z + (1.0 - part_z) * x
            product_u = part_z * product_z + (1.0 - part_z) * product_x
            value, gradient, theta_u = c.linearise(u, product_u)
            towards = in_loss * d.gradient(u) - gradient
            new_dual = dual + a * towards
            new_constant = constant + a * (value + float(towards @ u) - in_loss * d.value(u))
            new_z = d.minimise(new_dual, 1.0 + in_loss * after, after)
            new_product_z = c.matvec(new_z)
            new_x = (total * x + a * new_z) / after
            new_product_x = (total * product_x + a * new_product_z) / after
            objective_f = c.f(new_x, new_product_x)
            objective = objective_f + c.psi(new_x)
            if not c.adaptive:
                break
            model = (
                new_constant + (1.0 + in_loss * after) * d.value(new_z) - float(new_dual @ new_z)
                + after * c.psi(new_z)
            )  # fmt: skip
            slack = ROUNDING * after * (abs(objective) + abs(value))
            if after * objective <= model + slack or _below_model(
                c, objective_f, value, gradient, new_x - u, L
            ):
                break
            L *= GROWTH
        total, dual, constant = after, new_dual, new_constant
        x, product_x, z, product_z = new_x, new_product_x, new_z, new_product_z
        theta = theta + (a / total) * (theta_u - theta)
        yield Iterate(x, product_x, theta, objective, 1.0 / total, L)


def one_memory(composite: Composite, x: Array) -> Iterator[Iterate]:
    """AGM-EF with a memory of one, Algorithms 3 and 4."""
    c, d = composite, composite.geometry
    in_loss, in_penalty = c.in_loss, c.in_penalty
    value, gradient, theta = c.linearise(x, c.matvec(x))
    u, L = x, c.lipschitz
    while True:  # x_0 = z_0
        z = d.minimise(L * d.gradient(u) - gradient, L, 1.0)
        product_z = c.matvec(z)
        objective_f = c.f(z, product_z)
        if not c.adaptive or _below_model(c, objective_f, value, gradient, z - u, L):
            break
        L *= GROWTH
    x, product_x = z, product_z
    objective = objective_f + c.psi(x)
    level = value + float(gradient @ (z - u)) + L * c.divergence(z, u) + c.psi(z)  # min q_k
    curvature, bound, scale = L + in_penalty, 1.0, L - in_loss
    yield Iterate(x, product_x, theta, objective, scale, L)
    while True:
        if c.adaptive:
            L = L / DECAY
        while True:
            L = max(L, in_loss * (1.0 + 1e-8))
            # (1 - a)(c + lambda2 a) + lambda1 a = L a^2
            p, q = L + in_penalty, curvature - in_penalty - in_loss
            a = 2.0 * curvature / (q + np.sqrt(q * q + 4.0 * p * curvature))
            a = min(float(a), 1.0)
            after = (1.0 - a) * curvature + (in_loss + in_penalty) * a
            t1, t2, t3 = (1.0 - a) * curvature, in_loss * a, in_penalty * a * (1.0 - a)
            t = t1 + t2 + t3
            part_z = t1 * a / (t - t2 * a)
            u = part_z * z + (1.0 - part_z) * x
            product_u = part_z * product_z + (1.0 - part_z) * product_x
            value, gradient, theta_u = c.linearise(u, product_u)
            dual = t1 * d.gradient(z) + t2 * d.gradient(u) - a * gradient
            new_z = d.minimise(dual, t1 + t2, a)
            new_product_z = c.matvec(new_z)
            new_x = (1.0 - a) * x + a * new_z
            new_product_x = (1.0 - a) * product_x + a * new_product_z
            objective_f = c.f(new_x, new_product_x)
            objective = objective_f + c.psi(new_x)
            new_level = (
                (1.0 - a) * level + t1 * c.divergence(new_z, z) + t2 * c.divergence(new_z, u)
                + a * (value + float(gradient @ (new_z - u)) + c.psi(new_z))
            )  # fmt: skip
            slack = ROUNDING * (abs(objective) + abs(value))
            if (
                not c.adaptive
                or objective <= new_level + slack
                or _below_model(c, objective_f, value, gradient, new_x - u, L)
            ):
                break
            L *= GROWTH
        curvature, level = after, new_level
        x, product_x, z, product_z = new_x, new_product_x, new_z, new_product_z
        bound *= 1.0 - a
        theta = theta + a * (theta_u - theta)
        yield Iterate(x, product_x, theta, objective, bound * scale, L)


def _below_model(c: Composite, f: float, value: float, gradient: Array, step: Array, L: float):
    """f(x) <= f(u) + f'(u).(x - u) + (L / 2) ||x - u||^2, which is all that the proofs need."""
    size = float(np.sum(np.abs(step))) if isinstance(c.geometry, Entropic) else np.nan
    square = size**2 if np.isfinite(size) else float(step @ step)
    return f <= value + float(gradient @ step) + 0.5 * L * square + ROUNDING * abs(value)


class _SmoothedLoss:
    """f as a function of z = X w: the mean loss, smoothed, at the best intercept."""

    def __init__(self, problem: Problem, mu: float, squares: Array) -> None:
        self.problem, self.mu = problem, mu
        self.added = mu * squares  # mu b_i^2
        self.intercept = problem.null_point.intercept

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
    run = _Run(problem, monitor, max_iter, random_state, memory, prox, adaptive, strong_convexity)
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
        self, problem, monitor, max_iter, random_state, memory, prox, adaptive, strong_convexity
    ) -> None:
        self.problem, self.monitor, self.max_iter = problem, monitor, max_iter
        self.random_state, self.adaptive = random_state, adaptive
        self.method = infinite_memory if memory == "infinite" else one_memory
        self.entropic = prox == "entropic"
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
        for iterate in self.method(composite, self.variables(w)):
            self.n_iter = before + composite.n_gradients
            w = self.coef(iterate.x)
            last = self.n_iter >= self.max_iter
            gap, point = self.gap(w, iterate, loss)
            if gap <= max(error, 0.9 * goal) or self.n_iter >= check_at or last:
                monitor.check(self.n_iter, point)
                check_at = self.n_iter + max(10, (self.n_iter - before) // 4)
                if monitor.done or last or gap <= error:
                    break
        return w

    def gap(self, w: Array, iterate: Iterate, loss: _SmoothedLoss) -> tuple[float, Point]:
        """What the monitor would find, from sums at hand but for one product, and for which point.

        The averages of the theory prove a gap whatever the problem is; the latest dual point
        alone often proves a smaller one where the problem is strongly convex.
        """
        problem = self.problem
        z = iterate.z[: problem.n_samples]
        intercept, latest = loss.best(z)
        primal = float(problem.weights @ problem.loss.value(problem.y, z + intercept))
        primal += problem.alpha * problem.penalty.value(problem.penalty.feasible(w))
        if self.n_iter >= self.compare_at:
            bounds = [self.bound(theta, primal) for theta in (iterate.theta, latest)]
            self.averages, lower = bounds[0] >= bounds[1], max(bounds)
            self.compare_at = self.n_iter + COMPARE_EVERY
        else:
            lower = self.bound(iterate.theta if self.averages else latest, primal)
        gap = min(primal, self.monitor.primal) - max(lower, self.monitor.dual)
        return gap, Point(w, intercept, iterate.theta if self.averages else latest)

    def bound(self, theta: Array, primal: float) -> float:
        """The lower bound that the monitor would find, of a dual point."""
        problem = self.problem
        theta = problem.loss.project_dual(problem.y, theta)
        rows = problem.weights * theta
        value = -float(problem.weights @ problem.loss.conjugate(problem.y, theta))
        slope = float(np.sum(rows))
        return dual_estimate(problem, value, problem.design.rmatvec(rows), slope, primal)
