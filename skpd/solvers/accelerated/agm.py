"""Accelerated gradients by estimate functions, with a gap (Zhang, Saha and Vishwanathan).

For J(x) = f(x) + Psi(x), f smooth and lambda1 strongly convex, Psi with an easy prox and
lambda2 strongly convex, both in the sense of the Bregman divergence Delta of a function d. The
methods build lower models psi_k of J with A_k J(x_k) <= min psi_k (infinite memory) or
J(x_k) <= min q_k (one memory). f is a maximum over dual points, and averages of those at
which its gradients were taken, (22) and (35), prove a gap that falls as fast as the objective.

Lemmas 3, 8 and 16 and the theorems hold for every u_k in the domain of Psi and every x_k that
keep A_k J(x_k) <= min psi_k, (15), or J(x_k) <= min q_k, (27). J along a few directions costs no
product with A where theirs are at hand, for f(x) = g(A x). So with ``search`` the methods try
u_{k+1} = x_k first, and as x_{k+1} the lowest point that they find in the span of x_{k-1}, x_k,
z_k and z_{k+1}: (15) then admits an L far below the curvature of f, an L that it rejects costs no
gradient, and every gradient is that of a dual point at an x_k. Nothing promises that it admits
any L there; where it rejects a few, Algorithms 2 and 4 take their own step.

Here f(w) = min over b of sum_i c_i l(y_i, x_i.w + b): a free intercept is eliminated, which for
the hinge is the projection onto a box and a hyperplane (Algorithm 8). A loss with kinks is
smoothed: l* + mu b_i^2 theta_i^2 / 2 in place of l*, at a fixed level or at levels that fall.
"""

import numpy as np

from ..._typing import Array
from ...certificates import dual_estimate
from ...designs import spectral_norm_bound
from ...problems import Point, Problem
from ..monitor import Monitor
from ..options import BOOLEAN, OneOf, takes_options
from .estimate_functions import Composite, Iterate, infinite_memory, one_memory
from .geometry import Entropic, Euclidean
from .settings import SETTINGS
from .smoothing import _prox_squares, _SmoothedLoss

__all__ = ["agm"]


@takes_options(
    memory=OneOf("infinite", "one"),
    prox=OneOf("euclidean", "entropic"),
    adaptive=BOOLEAN,
    search=BOOLEAN,
    strong_convexity=OneOf("penalty", "loss"),
    smoothing=OneOf("homotopy", "fixed"),
    data_dependent=BOOLEAN,
)
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
    search: bool = False,
    strong_convexity: str = "penalty",
    smoothing: str = "fixed",
    data_dependent: bool = False,
) -> None:
    """Nesterov's accelerated gradients by estimate functions (AGM-EF).

    Parameters
    ----------
    problem, monitor, start, max_iter
        As for `skpd.solvers.proximal.pdprox.pdprox_dual`; an iteration is a gradient.
    random_state : RandomState
        Start vectors of norm estimates.
    memory : {"infinite", "one"}, default="infinite"
        Algorithms 1 and 2, or 3 and 4.
    prox : {"euclidean", "entropic"}, default="euclidean"
        "entropic" for penalties over an l1 ball only, whose points it writes as differences of
        points of a simplex.
    adaptive : bool, default=True
        Whether L is searched for (Algorithms 2 and 4), or fixed at a bound on the spectral norm.
    search : bool, default=False
        Whether, with ``adaptive``, each point is looked for in the span of the last ones, which
        the bounds allow, or is the one of Algorithms 2 and 4. Penalties with a domain of their
        own, and the entropic prox, always take the latter.
    strong_convexity : {"penalty", "loss"}, default="penalty"
        Where a squared l2 norm is counted: in Psi (lambda2) or in f (lambda1).
    smoothing : {"fixed", "homotopy"}, default="fixed"
        For a loss with kinks: from the start the level of the tolerance, (57), or levels that
        fall, each warm started.
    data_dependent : bool, default=False
        Whether to smooth each row by a weight of its own (section 5.6), for a loss with kinks.

    Raises
    ------
    ValueError
        If ``prox="entropic"`` and the penalty is not over an l1 ball.
    """
    if prox == "entropic" and not problem.penalty.l1_radius < np.inf:
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
    tol = max(monitor.tol, SETTINGS.least_tol)
    last = SETTINGS.last_level * tol * problem.objective_unit / largest
    gap = monitor.primal - monitor.dual
    mu = max(last, SETTINGS.first_level * gap / largest) if smoothing == "homotopy" else last
    while not monitor.done and run.n_iter < max_iter:
        final = mu <= last
        error = 0.0 if final else SETTINGS.level_gap * mu * largest
        w = run.minimise(w, _SmoothedLoss(problem, mu, squares), error)
        mu = SETTINGS.last_level_factor * mu if final else mu / SETTINGS.level_factor
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
        self.search = search and problem.penalty.is_finite
        self.in_loss = strong_convexity == "loss"
        self.n_iter = monitor.n_iter
        self.averages = True  # whether the averaged dual points prove more than the latest
        self.compare_at = 0

    def composite(self, loss: _SmoothedLoss, w: Array) -> Composite:
        """J in the variables of the prox, w the start of the search for L."""
        problem = self.problem
        design, penalty, alpha = problem.design, problem.penalty, problem.alpha
        weights = problem.weights
        ridge, rest, rest_alpha = penalty.without_ridge()
        ridge, rest_alpha = alpha * ridge, alpha * rest_alpha
        curvature = weights * loss.smoothness
        root = np.sqrt(curvature)
        if self.entropic:
            return self.entropic_composite(loss, ridge)
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

    def entropic_composite(self, loss: _SmoothedLoss, ridge: float) -> Composite:
        """J in the points of a simplex of which the differences are the points of the ball."""
        problem, design = self.problem, self.problem.design
        penalty, curvature = problem.penalty, problem.weights * loss.smoothness
        radius, d = penalty.l1_radius, problem.n_features
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

        share = SETTINGS.first_entropic_share if self.adaptive else 1.0
        return Composite(
            smooth, matvec, rmatvec, lambda x: 0.0, Entropic(),
            lipschitz=radius**2 * largest * share,
            adaptive=self.adaptive,
        )  # fmt: skip

    def variables(self, w: Array) -> Array:
        """The point of the simplex that stands for w, inside it."""
        if not self.entropic:
            return w
        parts = (
            np.concatenate([np.maximum(w, 0.0), np.maximum(-w, 0.0)])
            / self.problem.penalty.l1_radius
        )
        x = np.append(parts, max(1.0 - float(np.sum(parts)), 0.0))
        spread = SETTINGS.entropic_spread
        return (1.0 - spread) * x / np.sum(x) + spread / len(x)

    def coef(self, x: Array) -> Array:
        if not self.entropic:
            return x
        d = self.problem.n_features
        return self.problem.penalty.feasible(
            self.problem.penalty.l1_radius * (x[:d] - x[d : 2 * d])
        )

    def minimise(self, w: Array, loss: _SmoothedLoss, error: float) -> Array:
        """Iterates until the gap of the loss itself is at most ``error``, or all is done."""
        problem, monitor = self.problem, self.monitor
        goal = monitor.tol * problem.objective_unit
        composite = self.composite(loss, w)
        before, check_at = self.n_iter, self.n_iter + SETTINGS.check_every
        x, lowest = self.variables(w), np.inf
        while True:
            for iterate in self.method(composite, x):
                self.n_iter = before + composite.n_gradients
                x, w = iterate.x, self.coef(iterate.x)
                last = self.n_iter >= self.max_iter
                gap, point = self.gap(w, iterate, loss)
                if gap <= max(error, SETTINGS.near_goal * goal) or self.n_iter >= check_at or last:
                    monitor.check(self.n_iter, point)
                    part = (self.n_iter - before) // SETTINGS.check_share
                    check_at = self.n_iter + max(SETTINGS.check_every, part)
                    if monitor.done or last or gap <= error != 0.0:
                        return w
            # searches found nothing lower: a new start, without them if this one gained nothing
            if lowest - iterate.objective <= SETTINGS.objective_rounding * abs(iterate.objective):
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
            self.compare_at = self.n_iter + SETTINGS.compare_every
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
        value -= problem.likely_cost_of_free(slope, float(np.sum(rows)), primal)
        return dual_estimate(problem, value, slope, primal)
