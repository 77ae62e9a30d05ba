"""Primal-dual prox methods (Yang, Mahdavi, Jin and Zhu, 2015) and their restarted successor.

With the intercept as one more coefficient, all of them solve

    min over w  max over theta   sum_i c_i (theta_i z_i - l*(y_i, theta_i)) + alpha R(w),
    z = X w,

by proximal steps: theta up along G_theta = diag(c) z, w down along G_w = X' diag(c) theta.
The paper's losses are maxima over a set Q of multipliers of a bilinear function; the
projection onto Q is the proximal operator of l* used here. A loss that the paper writes
with two multipliers (generalised hinge, epsilon-insensitive) needs only theta, the
combination of the two with which the row enters the gradient, so H = X' diag(c) for every
loss.
"""

from typing import Annotated, Any

import numpy as np

from ..._typing import Array
from ...designs import spectral_norm_bound
from ...problems import Point, Problem
from ..options import POSITIVE, Factor, Flag, OneOf, OrNone
from ..run import Run
from .restarts import HybridGradient, iterate_with_restarts
from .settings import REPORTS

Implementation = Annotated[str, OneOf("double-primal", "double-dual")]
Ratio = Annotated[float | None, OrNone(POSITIVE)]


def pdprox_dual(
    run: Run,
    *,
    algorithm: Annotated[int, OneOf(1, 3)] = 1,
    implementation: Implementation = "double-dual",
    average: Flag = True,
    step_scale: Factor = 1.0,
    step_ratio: Ratio = None,
) -> None:
    """Pdprox-dual, Algorithms 1 and 3.

    Parameters
    ----------
    run : Run
        The start is 0 by default, as in the paper.
    algorithm : {1, 3}, default=1
        1 updates the extra dual variable beta by a second projection, 3 by
        extrapolation.
    implementation : {"double-dual", "double-primal"}, default="double-dual"
        The variable of which two copies are kept (section 4.4); "double-primal" requires
        Algorithm 3.
    average : bool, default=True
        Report the average of the iterates, for which the paper's bounds hold, or the
        last iterate.
    step_scale : float, default=1.0
        The factor of both step sizes; the paper's bounds hold for factors of at most 1.
    step_ratio : float, default=None
        The ratio of the dual to the primal step size, whose product is then the inverse of the
        squared norm of the data (section 4.4). By default both are the paper's gamma, for which
        its bounds (Theorem 6) are proven. Two different step sizes are a heuristic in the paper.
        With ``algorithm=3`` they give the method of Chambolle and Pock (2011), which is proven for
        such a product.
    """
    if implementation == "double-primal" and algorithm == 1:
        raise ValueError(
            "implementation 'double-primal' of solver 'pdprox-dual' needs algorithm 3, "
            "got algorithm 1."
        )
    problem = run.problem
    tau, sigma = _step_sizes(run, step_scale, step_ratio)
    w, theta = _start(run)
    beta, z, w_previous = theta, problem.matvec(w), w
    report = _Reports(run, average)
    for t in range(1, run.max_iter + 1):
        if implementation == "double-primal":
            w_extra = 2.0 * w - w_previous
            theta = problem.prox_dual(theta + sigma * problem.matvec(w_extra), sigma)
        else:
            theta = problem.prox_dual(beta + sigma * z, sigma)
        gradient = problem.rmatvec(problem.weights * theta)
        w_previous, w = w, problem.prox(w - tau * gradient, tau)
        if implementation == "double-dual":
            z_previous, z = z, problem.matvec(w)
            if algorithm == 1:
                beta = problem.prox_dual(beta + sigma * z, sigma)
            else:
                beta = theta + sigma * (z - z_previous)
        if report(t, w, theta):
            break


def pdprox_primal(
    run: Run,
    *,
    implementation: Implementation = "double-primal",
    average: Flag = True,
    step_scale: Factor = 1.0,
    step_ratio: Ratio = None,
) -> None:
    """Pdprox-primal, Algorithm 2.

    The parameters are those of `pdprox_dual`; ``implementation="double-dual"`` keeps the last two
    dual iterates instead of the extra primal variable u. The theorem is proven for one step size;
    there is no guarantee with a ``step_ratio``.
    """
    problem = run.problem
    tau, sigma = _step_sizes(run, step_scale, step_ratio)
    w, theta = _start(run)
    u, theta_previous = w, theta
    gradient = problem.rmatvec(problem.weights * theta)
    report = _Reports(run, average)
    for t in range(1, run.max_iter + 1):
        if implementation == "double-dual":
            theta_extra = 2.0 * theta - theta_previous
            gradient = problem.rmatvec(problem.weights * theta_extra)
            w = problem.prox(w - tau * gradient, tau)
        else:
            w = problem.prox(u - tau * gradient, tau)
        theta_previous = theta
        theta = problem.prox_dual(theta + sigma * problem.matvec(w), sigma)
        if implementation == "double-primal":
            gradient_previous = gradient
            gradient = problem.rmatvec(problem.weights * theta)
            u = w + tau * (gradient_previous - gradient)
        if report(t, w, theta):
            break


def _start(run: Run) -> tuple[Array, Array]:
    problem, start = run.problem, run.start
    if start is None:
        return np.zeros(problem.n_variables), run.first_theta
    return problem.join(start.coef, start.intercept), run.first_theta


def _step_sizes(run: Run, step_scale: float, step_ratio: float | None) -> tuple[float, float]:
    """The paper's primal step tau and dual step sigma, the latter in units of a prediction.

    The paper's H is X' diag(c) for n equal weights c_i = 1 / n. A row of weight s_i stands for s_i
    rows with equal dual variables. With n the total weight, the squared norm of the dual variables
    is n sum_i c_i theta_i^2, the spectral norm of H is that of diag(sqrt(c / n)) X, and a dual
    step sigma adds (sigma / n) z_i to theta_i.

    With C = ||H||_2^2, both steps are sqrt(1 / (2 C)), or, with a ``step_ratio`` sigma / tau, two
    different steps with sigma tau = 1 / C (section 4.4). ``step_scale`` is a factor of both; the
    bounds hold for factors of at most 1.
    """
    problem = run.problem
    n = problem.total_weight
    root = np.sqrt(problem.weights / n)
    norm = spectral_norm_bound(
        lambda v: root * problem.matvec(v),
        lambda rows: problem.rmatvec(root * rows),
        (problem.n_samples, problem.n_variables),
        run.random_state,
    )
    norm = norm if norm > 0.0 else 1.0
    if step_ratio is None:
        tau = sigma = step_scale / (np.sqrt(2.0) * norm)
    else:
        tau = step_scale / (np.sqrt(step_ratio) * norm)
        sigma = step_scale * np.sqrt(step_ratio) / norm
    return tau, sigma / n


class _Reports:
    """Reports of the (averaged) iterates to a monitor, at iteration numbers 10 % apart."""

    def __init__(self, run: Run, average: bool) -> None:
        self.run = run
        self.problem: Problem = run.problem
        self.sums: list[Any] | None = [0.0, 0.0] if average else None
        self.next = 1

    def __call__(self, t: int, w: Array, theta: Array):
        if self.sums is not None:
            self.sums[0] = self.sums[0] + w
            self.sums[1] = self.sums[1] + theta
        if t < self.next and t < self.run.max_iter:
            return False
        self.next = max(t + REPORTS.report_every, int(REPORTS.report_factor * t))
        if self.sums is not None:
            w, theta = self.sums[0] / t, self.sums[1] / t
        self.run.monitor.check(t, Point(*self.problem.split(w), theta))
        return self.run.monitor.done


def pdprox_restarted(run: Run, *, budget: float = np.inf) -> None:
    """Primal-dual hybrid gradient with diagonal preconditioning and restarts on the gap.

    The iteration is that of Pdprox-dual in its double-primal form (Chambolle and Pock,
    2011) as a reflected Halpern iteration that restarts (`skpd.solvers.proximal.restarts`).
    Step sizes are those of Pock and Chambolle (2011) with exponent 1, the inverse row
    and column sums of the absolute values, for which the step needs no norm of X.

    One iteration costs one pass over the rows: the gradient of the next step is computed from
    each row while it is in the cache. With a loss that is not compiled, or several outputs, it
    costs two products.

    Parameters
    ----------
    run : Run
    budget : float, default=inf
        A computing limit: the number of multiplications at which the method ends unfinished (see
        `skpd.designs.newton_cost`).
    """
    problem = run.problem
    is_fused = problem.loss.is_compiled and not problem.rows.of_outputs
    kind = _FusedVariables if is_fused else _Variables
    variables = kind(run._replace(start=run.first))
    iterate_with_restarts(variables, run, variables.first_weight, budget)


class _Variables(HybridGradient):
    """The coefficients w, followed by the intercept, and the dual variables theta.

    The gradient of the next step is A' diag(c) theta.
    """

    def __init__(self, run: Run) -> None:
        self.problem: Problem = run.problem
        problem = self.problem
        self.tau, self.sigma = _diagonal_step_sizes(problem)
        self.dual_metric = problem.weights / self.sigma
        self.first_weight = _first_primal_weight(problem, self.tau, self.dual_metric)
        self.w, self.theta = _start(run)
        self.w_prox, self.theta_prox = self.w, np.empty_like(self.theta)
        self.w_anchor, self.theta_anchor = self.w, self.theta.copy()
        self.gradient = problem.rmatvec(problem.weights * self.theta)

    def step(self, primal_weight: float, momentum: float) -> None:
        problem, tau, sigma = self.problem, self.tau / primal_weight, self.sigma * primal_weight
        self.w_prox = problem.prox(self.w - tau * self.gradient, tau)
        reflected = 2.0 * self.w_prox - self.w
        z = problem.matvec(reflected)
        self.theta_prox = problem.loss.prox_conjugate(problem.y, self.theta + sigma * z, sigma)
        self.theta = momentum * (2.0 * self.theta_prox - self.theta)
        self.theta += (1.0 - momentum) * self.theta_anchor
        self.w = momentum * reflected + (1.0 - momentum) * self.w_anchor
        self.gradient = problem.rmatvec(problem.weights * self.theta)

    def point(self) -> Point:
        return Point(*self.problem.split(self.w_prox), self.theta_prox)

    def distances(self) -> tuple[float, float]:
        moved, dual_moved = self.w_prox - self.w_anchor, self.theta_prox - self.theta_anchor
        distance = np.sqrt(np.sum(moved**2 / self.tau))
        return distance, np.sqrt(np.sum(self.dual_metric * dual_moved**2))

    def restart(self) -> None:
        # the anchor is a copy, as the next step overwrites theta and theta_prox
        self.w = self.w_anchor = self.w_prox
        self.theta, self.theta_anchor = self.theta_prox.copy(), self.theta_prox.copy()
        self.gradient = self.problem.rmatvec(self.problem.weights * self.theta)


class _FusedVariables(_Variables):
    """The variables of `_Variables`, with both products of a step in one pass over the rows."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self.coef_gradient = np.zeros(run.problem.n_coefficients)

    def step(self, primal_weight: float, momentum: float) -> None:
        problem, tau = self.problem, self.tau / primal_weight
        self.w_prox = problem.prox(self.w - tau * self.gradient, tau)
        reflected = 2.0 * self.w_prox - self.w
        dual_sum = problem.design.matrix.reflected_halpern_step(
            problem.loss.evaluator, problem.y, problem.weights, self.sigma, self.theta_anchor,
            primal_weight, momentum, *problem.split(reflected), self.theta, self.theta_prox,
            self.coef_gradient,
        )  # fmt: skip
        self.w = momentum * reflected + (1.0 - momentum) * self.w_anchor
        self.gradient = problem.join(self.coef_gradient, dual_sum)


def _first_primal_weight(problem: Problem, tau: Array, dual_metric: Array) -> float:
    """An estimate of the ratio of the distances that dual and primal variables will move.

    The distance of the dual variables is estimated by the gradient of the loss at the best
    constant. The change of the predictions is estimated by the loss divided by its gradient there,
    and that of a coefficient by tau_j times this change.
    """
    theta = problem.null_point.dual_coef
    slope = float(problem.weights @ np.abs(theta))
    distance = problem.null_objective / slope * np.sqrt(np.median(tau)) if slope > 0.0 else 0.0
    dual_distance = np.sqrt(np.sum(dual_metric * theta**2))
    ratio = dual_distance / distance if distance > 0.0 else 1.0
    return float(ratio) if np.isfinite(ratio) and ratio > 0.0 else 1.0


def _diagonal_step_sizes(problem: Problem):
    """The steps tau_j = 1 / sum_i c_i |x_ij| and sigma_i = 1 / sum_j |x_ij|.

    The primal steps are reduced to those that `Penalty.step_sizes` allows.
    """
    columns = problem.design.column_sums(problem.weights)
    rows = problem.design.row_sums()
    if problem.fit_intercept:
        rows = rows + 1.0
    # the step of a zero row or column has no effect
    largest = float(np.max(columns, initial=0.0)) or 1.0
    tau = 1.0 / np.where(columns > 0.0, columns, largest)
    tau = problem.penalty.step_sizes(tau)
    sigma = 1.0 / np.where(rows > 0.0, rows, 1.0)
    return problem.join(tau, 1.0), sigma
