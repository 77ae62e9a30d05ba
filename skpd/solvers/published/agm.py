"""Accelerated gradients by estimate functions, with a gap (Zhang, Saha and Vishwanathan).

For J(x) = f(x) + Psi(x), f smooth and lambda1 strongly convex, Psi with an easy prox and
lambda2 strongly convex, both in the sense of the Bregman divergence Delta of a function d. The
methods build lower models psi_k of J with A_k J(x_k) <= min psi_k (infinite memory) or
J(x_k) <= min q_k (one memory). f is a maximum over dual points, and averages of those at
which its gradients were taken, (22) and (35), prove a gap that falls as fast as the objective.

Here f(w) = min over b of sum_i c_i l(y_i, x_i.w + b): a free intercept is eliminated, which for
the hinge loss is the projection onto a box and a hyperplane (Algorithm 8). A loss with kinks is
smoothed with l* + mu b_i^2 theta_i^2 / 2 instead of l*, at a fixed or a decreasing level mu.
"""

from typing import Literal

import numpy as np

from ..._typing import Array, Numbers
from ...certificates import dual_estimate
from ...designs import spectral_norm_bound
from ...problems import Point, Problem
from ...problems.in_memory import RowsInMemory
from ..accelerated.estimate_functions import AcceleratedIterate, Composite
from ..accelerated.geometry import Entropic, Euclidean
from ..accelerated.settings import SETTINGS
from ..options import Flag
from ..solver_context import SolverContext
from .excessive_gap import DualObjectives
from .smoothed_loss import SmoothedLoss, prox_squares
from .smoothed_objectives import PrimalObjectives


def agm(
    context: SolverContext,
    *,
    variables: Literal["primal", "dual"] = "primal",
    memory: Literal["infinite", "one"] = "infinite",
    prox: Literal["euclidean", "entropic"] = "euclidean",
    adaptive: Flag = True,
    strong_convexity: Literal["penalty", "loss"] = "penalty",
    smoothing: Literal["homotopy", "fixed", "none"] = "fixed",
    data_dependent: Flag = False,
) -> None:
    """Nesterov's accelerated gradients by estimate functions (AGM-EF).

    Parameters
    ----------
    context : SolverContext
        An iteration is a gradient.
    variables : {"primal", "dual"}, default="primal"
        Whether the variables are the coefficients, or the dual variables (sections 5.1.2 and 5.3),
        which needs a penalty with a squared l2 norm; see `skpd.solvers.published.excessive_gap`.
    memory : {"infinite", "one"}, default="infinite"
        "infinite" for Algorithms 1 and 2, "one" for Algorithms 3 and 4.
    prox : {"euclidean", "entropic"}, default="euclidean"
        The prox function. "entropic" is for penalties over an l1 ball only, whose points are
        written as differences of points of a simplex.
    adaptive : bool, default=True
        Whether L is found by a search (Algorithms 2 and 4), or fixed at a bound on the spectral
        norm.
    strong_convexity : {"penalty", "loss"}, default="penalty"
        Whether a squared l2 norm is counted as a part of Psi (lambda2) or of f (lambda1).
    smoothing : {"fixed", "homotopy", "none"}, default="fixed"
        For a loss with kinks: the level that follows from the tolerance, (57), decreasing levels
        with warm starts, or, for dual variables, no smoothing (section 5.3).
    data_dependent : bool, default=False
        Whether to smooth the loss of each row by its own weight (section 5.6), for a loss with
        kinks.

    Raises
    ------
    ValueError
        If ``prox="entropic"`` and the penalty is not over an l1 ball; if dual variables lack a
        squared l2 norm or come with options of primal ones (``prox``,
        ``strong_convexity``), or primal ones lack the smoothing of kinks.
    """
    problem = context.problem
    _check(problem, variables, prox, strong_convexity, smoothing)
    objectives: DualObjectives | _Objectives
    if variables == "dual":
        objectives = DualObjectives(context, memory, adaptive)
        start = objectives.roots * context.first_theta
    else:
        objectives = _Objectives(context, memory, prox, adaptive, strong_convexity)
        start = problem.penalty.feasible(np.asarray(context.first.coef, dtype=np.float64))
    if np.isfinite(problem.loss.smoothness) or smoothing == "none":
        objectives.minimise(start, 0.0, 0.0)
        return
    if data_dependent:
        objectives.squares = prox_squares(problem, context.random_state)
    bounds = np.array(problem.loss.dual_bounds(problem.y))
    effects = problem.weights @ (objectives.squares * np.max(bounds**2, axis=0))
    objectives.minimise_by_levels(start, 0.5 * float(effects), smoothing)  # the effect is D


def _check(
    problem: Problem, variables: str, prox: str, strong_convexity: str, smoothing: str
) -> None:
    """Raise a ValueError for options that do not apply."""
    penalty, dual = problem.penalty, variables == "dual"
    if prox == "entropic" and (dual or not penalty.l1_radius < np.inf):
        raise ValueError(
            "prox 'entropic' of solver 'agm' needs a penalty over an l1 ball and "
            f"variables='primal', got {penalty!r} and variables={variables!r}."
        )
    if dual and strong_convexity == "loss":
        raise ValueError(
            "strong_convexity='loss' of solver 'agm' needs variables='primal', got 'dual'."
        )
    if dual and not penalty.without_ridge()[0] > 0.0:
        raise ValueError(
            f"variables='dual' of solver 'agm' needs a squared l2 norm, got {penalty!r}."
        )
    if smoothing == "none" and not dual and not np.isfinite(problem.loss.smoothness):
        raise ValueError(
            "smoothing='none' of solver 'agm' needs a smooth loss or variables='dual', "
            f"got {problem.loss!r}."
        )


class _Objectives(PrimalObjectives):
    """The composite objectives of a run; ``squares`` are the b_i^2 of the smoothing."""

    loss: SmoothedLoss

    def __init__(
        self, context: SolverContext, memory: str, prox: str, adaptive: bool, strong_convexity: str
    ) -> None:
        super().__init__(context, memory, adaptive)
        self.squares = np.ones(context.problem.n_samples)
        self.entropic = prox == "entropic"
        self.in_loss = strong_convexity == "loss"

    def composite(self, w: Array, mu: float) -> Composite:
        problem, penalty = self.problem, self.problem.penalty
        loss = self.loss = SmoothedLoss(problem.rows.as_kind(RowsInMemory), mu, self.squares)
        design, weights, alpha = problem.design, problem.weights, problem.alpha
        ridge, rest, rest_share = penalty.without_ridge()
        ridge, root = alpha * ridge, np.sqrt(weights * loss.smoothness)
        if self.entropic:
            return self.entropic_composite(loss, ridge)
        in_loss = ridge if self.in_loss else 0.0
        psi, psi_alpha = (rest, alpha * rest_share) if self.in_loss else (penalty, alpha)

        def value(w: Array) -> float:
            # averages of points of a set are in it up to rounding, outside of which R is infinite
            return 0.0 if psi is None else psi_alpha * psi.value(penalty.feasible(w))

        def prox(v: Array, step: float) -> Array:
            return v if psi is None else psi.prox(v, step * psi_alpha)

        def matvec(v: Array) -> Array:
            return root * design.matvec(v)

        if self.adaptive:
            direction = design.rmatvec(weights * loss(design.matvec(w))[2])
            size, along = float(direction @ direction), matvec(direction)
            lipschitz = float(along @ along) / size if size > 0.0 else 1.0
        else:
            norm = spectral_norm_bound(
                matvec, lambda u: design.rmatvec(root * u), design.shape, self.context.random_state
            )
            lipschitz = norm**2
        return Composite(
            loss, design.matvec, design.rmatvec, value, Euclidean(prox),
            lipschitz=max(lipschitz, 1e-300) + in_loss, in_loss=in_loss,
            in_penalty=ridge - in_loss, adaptive=self.adaptive, n_gradients=int(self.adaptive),
        )  # fmt: skip

    def entropic_composite(self, loss: SmoothedLoss, ridge: float) -> Composite:
        """The objective J in points of a simplex, whose differences are the points of the ball."""
        problem, design = self.problem, self.problem.design
        penalty, curvature = problem.penalty, problem.weights * loss.smoothness
        radius, d = penalty.l1_radius, problem.n_coefficients
        largest = float(np.max(design.column_norms(curvature)) ** 2) + ridge

        def smooth(z: Array) -> tuple[float, Array, Array]:
            # the ridge is part of f, and z has w after the predictions
            value, rows, theta = loss(z[: problem.n_samples])
            w = z[problem.n_samples :]
            rows = np.concatenate([rows, ridge * w])
            return value + 0.5 * ridge * float(w @ w), rows, theta

        def matvec(x: Array) -> Array:
            w = radius * (x[:d] - x[d : 2 * d])
            return np.concatenate([design.matvec(w), w])

        def rmatvec(rows: Array) -> Array:
            g = design.rmatvec(rows[: problem.n_samples]) + rows[problem.n_samples :]
            return radius * np.concatenate([g, -g, [0.0]])

        share = SETTINGS.first_entropic_share if self.adaptive else 1.0
        return Composite(
            smooth, matvec, rmatvec, lambda x: 0.0, Entropic(), radius**2 * largest * share,
            adaptive=self.adaptive,
        )  # fmt: skip

    def variables(self, w: Array) -> Array:
        """A point in the interior of the simplex that represents w."""
        if not self.entropic:
            return w
        parts = np.concatenate([w, -w]).clip(0.0) / self.problem.penalty.l1_radius
        x = np.append(parts, max(1.0 - float(np.sum(parts)), 0.0))
        spread = 0.1  # a share of the weight for all variables, as those of 0 would stay 0
        return (1.0 - spread) * x / np.sum(x) + spread / len(x)

    def coef(self, x: Array) -> Array:
        if not self.entropic:
            return x
        penalty, d = self.problem.penalty, self.problem.n_coefficients
        return penalty.feasible(penalty.l1_radius * (x[:d] - x[d : 2 * d]))

    def intercept(self, iterate: AcceleratedIterate) -> tuple[Array, Numbers]:
        """The linear predictions of an iterate and the best intercept, or one for each output."""
        z = iterate.z[: self.problem.n_samples]
        return z, self.loss.best(z)[0]

    def objective(self, iterate: AcceleratedIterate) -> float:
        problem, (z, intercept) = self.problem, self.intercept(iterate)
        w = problem.penalty.feasible(self.coef(iterate.x))
        z = z + problem.rows.spread(intercept)
        loss = float(problem.weights @ problem.loss.value(problem.y, z))
        return loss + problem.alpha * problem.penalty.value(w)

    def point(self, iterate: AcceleratedIterate, theta: Array, n_averaged: int) -> Point:
        return Point(self.coef(iterate.x), self.intercept(iterate)[1], theta)

    def bound(self, theta: Array, slope: Array, primal: float) -> float:
        problem = self.problem
        theta = problem.loss.project_dual(problem.y, theta)
        rows = problem.weights * theta
        value = -float(problem.weights @ problem.loss.conjugate(problem.y, theta))
        if self.entropic:  # the gradients also include the ridge
            slope = problem.design.rmatvec(rows)
        value -= problem.free.likely_cost(slope, problem.rows.sums(rows), problem.alpha, primal)
        return dual_estimate(problem, value, slope, primal)
