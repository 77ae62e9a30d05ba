"""A primal-dual interior-point method for losses and penalties with a representation by cones."""

from math import inf

import numpy as np
from scipy.linalg import LinAlgError

from ..._typing import Array
from ..certificate_schedule import CertificateSchedule, StallDetector
from ..solver_context import SolverContext
from .programme import Programme
from .programmes import programme_of
from .settings import SCHEDULE, SETTINGS

ZEROS = 0.01  # factor of the tolerance in the last iterations, which converge quickly
ENOUGH = 1e-9  # a relative gap small enough to detect zeros without further iterations


def interior_point(context: SolverContext) -> None:
    """A primal-dual interior-point method, for at most a few thousand features or rows.

    Losses and penalties become terms with slacks and multipliers (`skpd.solvers.interior.terms`).
    An iteration is a Newton step towards equal products of slacks and multipliers, by predictor
    and corrector (Mehrotra, 1992), with the scaling of Nesterov and Todd (1997) for second-order
    cones. It costs a Gram matrix of the smaller side of X with its factorisation, and six
    products. The number of iterations, some 10 to 50, hardly depends on the data. The method ends
    unfinished if rounding errors prevent a decrease of the products.

    Parameters
    ----------
    context : SolverContext
        An iteration is a Newton step. The method starts well inside the cones, and not at the
        start.
    """
    solve_programme(context, programme_of(context.problem))


def solve_programme(context: SolverContext, programme: Programme) -> None:
    """Iterate on the terms of a programme, whose points are those of the problem."""
    monitor, state = context.monitor, State(programme)
    schedule, n_iter = CertificateSchedule(context, SCHEDULE), context.monitor.n_iter
    with np.errstate(all="ignore"):
        try:
            while True:
                gap = state.evaluate()
                if not np.isfinite(gap):
                    return
                if schedule.is_due(n_iter, gap):
                    monitor.check(n_iter, programme.point())
                if schedule.is_over:
                    return
                state.step(SETTINGS.products_goal * monitor.goal)
                n_iter += 1
        except (LinAlgError, KeyboardInterrupt) as end:
            monitor.check(n_iter, programme.point())
            if isinstance(end, KeyboardInterrupt):
                raise


def interior_point_to_the_zeros(context: SolverContext) -> None:
    """Run the method to a smaller tolerance, at which coefficients of 0 can be detected.

    Products that are that small may leave residuals that rounding errors no longer let decrease.
    Then the method starts again with the tolerance itself. Without that, 7 of 448 fits of hostile
    data ended unfinished or by a slower method: one with linear constraints, and six with the
    l-infinity norm or total variation of dependent features. None needed Newton systems by larger
    decompositions.
    """
    monitor, tol = context.monitor, context.monitor.tol
    for finer in (min(tol, max(ZEROS * tol, ENOUGH)), tol):
        with monitor.aiming_at(finer):
            interior_point(context)
        if context.is_over(monitor.n_iter):
            return


def minimise(
    programme: Programme, accuracy: float, max_iter: int = SETTINGS.inner_iterations
) -> int:
    """Iterate until the estimated gap is small or limited by rounding; the number of iterations.

    Raises
    ------
    LinAlgError
        If numbers overflow, or the first Newton system cannot be solved.
    """
    state, patience = State(programme), StallDetector(SETTINGS.inner_patience)
    with np.errstate(all="ignore"):
        for n_iter in range(max_iter):
            gap = state.evaluate()
            if gap <= accuracy or patience.is_over(n_iter, gap):
                return n_iter
            if not np.isfinite(gap):
                raise LinAlgError("a programme overflows")
            try:
                state.step(SETTINGS.products_goal * accuracy)
            except LinAlgError:
                if n_iter == 0:
                    raise
                return n_iter  # with an inexact solution, for which bounds are valid as well
    return max_iter


class State:
    """The state of the iteration on the terms of a programme."""

    def __init__(self, programme: Programme) -> None:
        self.programme, self.terms = programme, programme.terms
        self.degree = sum(term.degree for term in self.terms)
        # if slacks also depend on multipliers, both must take steps of the same length
        self.linear = all(term.linear for term in self.terms) and not programme.ridge.any()
        self.system = programme.system()
        self.residuals_before = inf

    def evaluate(self) -> float:
        """Compute the residual of the optimality conditions, and return the estimated gap."""
        programme = self.programme
        gradient = programme.cost + programme.ridge * programme.x
        for term in self.terms:
            term.add_gradient(gradient)
        self.residual = -gradient
        self.products = sum(term.products() for term in self.terms)
        self.residuals = self.cost_of(gradient)
        return self.products + self.residuals

    def cost_of(self, gradient: Array) -> float:
        """The estimated contribution to the gap of a gradient that should be 0."""
        programme = self.programme
        x, d = programme.x, programme.n_coefficients
        sizes = np.maximum(programme.width, np.abs(x[:d]))
        cost = float(np.abs(gradient[:d]) @ sizes)
        return cost + float(np.abs(gradient[d:]) @ programme.other_scales)

    def step(self, goal: float) -> None:
        """Take a step with predictor (mu = 0) and corrector.

        The corrector has a mu that depends on the result of the predictor. If the products are
        below ``goal``, only the residuals are reduced.
        """
        system = self.system
        system.clear()
        system.diagonal += self.programme.ridge[: system.n_core]
        for term in self.terms:
            term.factorise(system)
        system.prepare()
        mu: float | None = 0.0
        corrected, remaining = False, 0.0
        # with a decreasing mu, rounding errors limit the residuals; otherwise they should halve
        balance = self.products <= goal
        balance &= self.residuals <= SETTINGS.residual_progress * self.residuals_before
        self.residuals_before = self.residuals if balance else inf
        if balance:
            mu = None
        elif self.degree > 0.0:
            self.newton(0.0)
            corrected, remaining = True, self.remaining_share()
            min_product = SETTINGS.residual_share * remaining * self.residuals
            min_product = min(min_product, SETTINGS.largest_growth * self.products)
            share = remaining**SETTINGS.centring_power
            mu = max(share * self.products, min_product) / self.degree
        dx = self.newton(mu, corrected)
        if not np.isfinite(dx).all():
            raise LinAlgError("a Newton step overflows")
        distance = max(SETTINGS.boundary_distance * remaining, SETTINGS.least_boundary_distance)
        primal, dual = self.lengths(1.0 - distance)
        self.programme.x = self.programme.x + primal * dx
        for term in self.terms:
            if mu is not None:
                term.predict_kinks()
            term.move(primal, dual)

    def remaining_share(self) -> float:
        """The share of the products that remains after the predictor."""
        lengths = self.lengths(1.0)
        after = sum(term.products_after(*lengths) for term in self.terms)
        return min(1.0, max(after / self.products, 0.0))

    def newton(self, mu: float | None, corrected: bool = False) -> Array:
        """Set the steps of all terms to products of mu; return the step of the unknowns."""
        shift = np.zeros_like(self.residual)
        for term in self.terms:
            term.add_centering(mu, corrected, shift)
        dx = self.system.solve(self.residual - shift)
        for term in self.terms:
            term.set_step(dx)
        return dx

    def lengths(self, share: float) -> tuple[float, float]:
        """Primal and dual step lengths at which slacks and multipliers stay positive."""
        steps = [term.largest_steps() for term in self.terms]
        primal = min(1.0, share * min(step[0] for step in steps))
        dual = min(1.0, share * min(step[1] for step in steps))
        if self.linear:
            return primal, dual
        length = self.trusted_length(min(primal, dual))
        return length, length

    def trusted_length(self, length: float) -> float:
        """The step length, halved until the error of the Newton model is small."""
        if all(term.quadratic for term in self.terms):
            return length
        for _ in range(SETTINGS.model_halvings):
            error = np.zeros_like(self.residual)
            for term in self.terms:
                term.add_model_error(length, error)
            if self.cost_of(error) <= self.products + self.residuals:
                break
            length *= 0.5
        return length
