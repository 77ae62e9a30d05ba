"""Dual coordinate descent for the squared l2 penalty and many features."""

from math import inf
from typing import Any

import numpy as np

from ... import kernels
from ...designs import Design
from ...penalties import Penalty, Structure
from ...problems import Point, Problem
from ..certificate_schedule import PAUSE_ENTRIES
from ..equivalent import centred_beyond
from ..newton.settings import SETTINGS as NEWTON
from ..proximal_rounds import MethodInRounds, constant_column, solve_in_rounds
from ..selection_settings import SETTINGS as SELECTION
from ..solver_context import SolverContext
from .settings import DUAL


def has_square(penalty: Penalty) -> bool:
    """Whether a penalty is a squared l2 norm plus an l1 norm, with equal weights and no bounds."""
    if penalty.structure is not Structure.SEPARABLE or any(map(np.ndim, penalty.terms)):
        return False
    _, l2, lower, upper = map(float, penalty.terms)
    return l2 > 0.0 and (lower, upper) == (-inf, inf)


def takes_few_passes(problem: Problem) -> bool:
    """Whether few passes are likely for a problem with `has_square`.

    Their number grows with the rows of each feature, for the squared hinge loss faster than for
    others, unless these are few of one class, most of which leave the passes. With an l1 norm, it
    grows with the ratio of the mean square of a row to n times the weight of the squared l2 norm,
    and with a free intercept there are several rounds.
    """
    loss, most_rows, d = problem.loss, SELECTION.many_rows, problem.n_coefficients
    ridge = problem.alpha * _weights(problem)[1]
    steepness = float(np.sum(problem.squares[:d])) / (ridge * problem.n_samples)
    if not loss.linear_tails:
        is_squared_hinge = loss.of_labels and loss.quadratic_conjugate
        most_rows = SELECTION.rows_of_squared_hinge if is_squared_hinge else 0
        leaves_few = is_squared_hinge and problem.null_objective <= SELECTION.rare_class
        if leaves_few and problem.null_objective * steepness <= SELECTION.steepness_of_rare:
            most_rows = SELECTION.rows_of_rare_class
    if problem.n_samples >= most_rows * problem.n_variables:
        return False
    return bool(problem.penalty.is_quadratic or (not problem.fit_intercept and steepness <= 1.0))


def _weights(problem: Problem) -> tuple[float, float]:
    """The weights l1 and l2 of the penalty."""
    l1, l2, _, _ = map(float, problem.penalty.terms)
    return l1, l2


def dual_descent(context: SolverContext, *, budget: float = np.inf) -> None:
    """Dual coordinate descent with shrinking (Hsieh et al., 2008), for squared l2 penalties.

    The penalty is alpha (l2 ||w||_2^2 / 2 + l1 ||w||_1) with l2 > 0. The coefficients are the
    gradient of its conjugate: -X' diag(c) theta, soft-thresholded by alpha l1, over alpha l2.

    The method ends unfinished if hundreds of passes have not been sufficient, as for a small
    alpha, and Newton steps are possible. A free intercept is treated by proximal rounds
    (`skpd.solvers.proximal_rounds`), and features that are not near 0 are centred beside one.

    Parameters
    ----------
    context : SolverContext
        An iteration is an epoch, a pass over the rows not left out, in a random order.
    budget : float, default=inf
        A computing limit: the number of multiplications at which the method ends unfinished (see
        `skpd.designs.newton_cost`).
    """
    context = centred_beyond(context, DUAL.far, DUAL.largest_copy)
    method = DualDescent(context, context.problem.design.by_rows)
    method.leave_to_newton()
    method.limit_passes(budget / (DUAL.step_cost * method.pass_work))
    solve_in_rounds(method, context)


class DualDescent(MethodInRounds):
    """The compiled iteration over the rows of ``design``, with limits of row updates."""

    def __init__(self, context: SolverContext, design: Design) -> None:
        problem = self.problem = context.problem
        l1, l2 = _weights(problem)
        self.ridge, self.threshold = problem.alpha * l2, l1 / l2
        self.constant = constant_column(problem, self.ridge)
        self.compiled = self.start(context, design.matrix)
        self.n_rows = design.shape[0]
        self.pass_work = max(1, design.n_entries) * problem.n_outputs
        self.pause = self.n_rows * min(DUAL.passes, PAUSE_ENTRIES / self.pass_work)
        self.visits, self.most_visits = 0.0, np.inf  # row updates, and their limit

    def start(self, context: SolverContext, rows: kernels.Matrix) -> Any:
        """The compiled iteration at the first dual point."""
        problem, constant = context.problem, self.constant
        return rows.dual_descent(
            problem.loss.evaluator, problem.y, problem.weights, context.first_theta, self.ridge,
            constant, self.threshold,
            context.first.intercept / constant if constant > 0.0 else 0.0, context.seed(),
        )  # fmt: skip

    def leave_to_newton(self) -> None:
        """Limit the passes if Newton steps are possible."""
        if self.problem.n_coefficients <= NEWTON.largest_working_set:
            self.limit_passes(DUAL.most_passes)

    def limit_passes(self, most: float) -> None:
        self.most_visits = min(self.most_visits, self.n_rows * most)

    @property
    def exhausted(self) -> bool:
        return self.visits >= self.most_visits

    def run(self, accuracy: float, most: int) -> tuple[int, float]:
        epochs, visited, gap = self.compiled.run(
            accuracy, most, min(self.pause, self.most_visits - self.visits)
        )
        self.visits += visited
        return epochs, gap

    def point(self) -> Point:
        theta = self.compiled.theta()
        gradient, _ = self.problem.products(theta)  # cached for the certificate
        coef = -gradient / self.ridge
        coef = coef - np.clip(coef, -self.threshold, self.threshold)
        return Point(coef, self.intercept, theta)

    @property
    def intercept(self) -> Any:
        return self.constant * float(self.compiled.variables()[-1])
