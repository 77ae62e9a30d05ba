"""Paths on which a model is certified for every alpha, and not only for those of a grid.

A model w and a dual point theta found at one alpha bound the gap at all others. The objective of w
is ``L + alpha R(w)`` with its mean loss L. For every scale t the dual objective is at least ::

    D(alpha, t) = -sum_i c_i l_i*(t theta_i) - (alpha R)*(-t u),   u = X' diag(c) theta,

if the sums of theta over free coordinates vanish. D is jointly concave in (alpha, t), as
(alpha R)* is a supremum of linear functions of both. So the gap at the best t is convex in alpha:
if it is at most eps at two alphas, it is at all between. For a norm t is at most alpha / R°(u),
also above 1 where the conjugate losses allow: then the gap grows with the square of the distance
from the alpha of the fit, and the number of models with one over the root of eps.

Each next alpha is one whose model is expected to reach up to the least alpha of the model before
it. Where it does not, a model between the two follows. (Giesen, Müller, Laue and Swiercy, 2012,
Approximating concavely parameterized optimization problems; Ndiaye, Le, Fercoq, Salmon and
Takeuchi, 2019, Safe grid search with optimal complexity.)
"""

from collections.abc import Callable, Iterator, Sequence
from math import inf, log
from typing import NamedTuple, cast

import numpy as np
from scipy.optimize import minimize_scalar

from ..certificates import primal_objective
from ..certificates.interface import DualPoint
from ..problems import Problem, Solution

SHARE = 0.1  # the gap at the alpha of a fit, as a share of eps
STEPS = 40  # halvings in the search for the end of a certified range
CLOSE = 1e-3  # relative accuracy of the logarithm of the ratio of alphas to that end
ACCURACY = 1e-6  # relative accuracy of the best scale
SAFE = 1.0 - 1e-9  # a factor below the rounding errors of norms and sums
# the ratio of the upper to the lower part of a certified range, in logarithms, at the beginning
FIRST = 1.0
FURTHER = 2.0  # the factor of an upper part that ends where the path begins
CAUTION = 0.9  # the share of the expected upper part that is used
AFTER_FAILURE = 0.9  # the ratio of an alpha to the last one, whose fit has a gap above eps

# solutions for an alpha, with gaps of at most a share of the unit, from those for another or None
SolveAt = Callable[[float, float, list[Solution] | None], list[Solution]]


class GapAlongPath:
    """The gaps of a model and its dual point at all alphas.

    Parameters
    ----------
    problem : Problem
    solution : Solution
        A solution for the alpha of the problem.
    """

    def __init__(self, problem: Problem, solution: Solution) -> None:
        self.problem, self.alpha = problem, problem.alpha
        self.coef = np.asarray(solution.coef, np.float64)
        model = self.coef, np.asarray(solution.intercept, np.float64)[()]
        penalty = self.alpha * problem.penalty.value(self.coef)
        self.mean_loss = max(primal_objective(problem, *model) - penalty, 0.0) / SAFE
        point = problem.feasible_point(solution.dual_coef)
        self.point = None if point is None else problem.balanced(point)
        if self.point is not None:
            self._prepare(self.point)

    def _prepare(self, point: DualPoint) -> None:
        """Products of the dual point, with the sums that may be left over free coordinates."""
        problem = self.problem
        u, errors = point.products(True)
        v, errors_of_v = problem.penalty.conjugate_arguments(-u, errors)
        # asked for its dual norm only if it is one
        penalty = problem.penalty.of_conjugate_arguments
        self.worst_case = penalty.worst_case(v, errors_of_v)
        self.norm = penalty.dual_norm(self.worst_case) / SAFE if penalty.is_norm else 0.0
        self.largest = point.largest_scale()
        self.free = 0.0  # for a scale of 1
        intervals = problem.free_intervals(problem.null_objective)
        for (total, error), ends in zip(point.free_sums(u, errors), intervals, strict=True):
            if total != 0.0 or error > 0.0:
                self.free += max(abs(end) for end in ends) * (abs(total) + error)

    def _dual(self, scale: float, other: Problem) -> float:
        """A lower bound on the optimal value of the problem with another alpha, by a scale."""
        value, rounding = cast(DualPoint, self.point).value(scale)
        penalty = other.penalty.of_conjugate_arguments
        by_penalty = 0.0  # for a norm whose dual norm is small enough
        if not penalty.is_norm:
            by_penalty = penalty.conjugate(scale * self.worst_case, other.alpha) / SAFE
        return float(value - 1.01 * rounding - by_penalty - scale * self.free)

    def dual(self, other: Problem) -> float:
        """The lower bound on the optimal value of the problem with another alpha."""
        if self.point is None:
            return 0.0  # the losses are at least 0
        ratio = other.alpha / self.alpha
        limit = min(self.largest, 2.0 * max(ratio, 1.0))
        if other.penalty.of_conjugate_arguments.is_norm and self.norm > 0.0:
            limit = min(self.largest, other.alpha / self.norm)
            if self.point.linear and limit < inf:
                return max(self._dual(limit, other), 0.0)
        # SciPy fails for the bounds of -inf that bad scales may have
        optimum = minimize_scalar(
            lambda scale: -max(self._dual(scale, other), -other.objective_unit),
            bounds=(0.0, limit), method="bounded", options={"xatol": ACCURACY * limit},
        )  # fmt: skip
        scales = limit, min(ratio, limit), min(1.0, limit)
        return max(-float(optimum.fun), *(self._dual(scale, other) for scale in scales), 0.0)

    def share(self, alpha: float) -> float:
        """The gap at an alpha, as a share of the objective of the best constant."""
        other = self.problem.with_alpha(alpha)
        upper = self.mean_loss + alpha * other.penalty.value(self.coef) / SAFE
        return (upper - self.dual(other)) / self.problem.objective_unit


class Covered(NamedTuple):
    """The solutions of an alpha, one for each problem, and the alphas that they are good for."""

    alpha: float
    solutions: list[Solution]
    lowest: float
    highest: float
    converged: bool  # whether the gap is below eps, by so much that the path can go on


def certified_models(
    problems: Sequence[Problem], solve_at: SolveAt, first: float, last: float, eps: float
) -> Iterator[Covered]:
    """Solutions that cover all alphas between two ends, from the largest to the smallest.

    Parameters
    ----------
    problems : sequence of Problem
    solve_at : callable
        The solutions for an alpha, with gaps of at most a share of the objective of the best
        constant, from those for another alpha or None.
    first, last : float
        The largest and the smallest alpha.
    eps : float
        The gap allowed, as a share of the objective of the best constant.
    """

    def at(alpha: float, start: list[Solution] | None) -> Covered:
        solutions = solve_at(alpha, SHARE * eps, start)
        gaps = [
            GapAlongPath(problem.with_alpha(alpha), solution)
            for problem, solution in zip(problems, solutions, strict=True)
        ]

        def good(other: float) -> bool:
            return all(gap.share(other) <= eps * SAFE for gap in gaps)

        if not good(alpha):
            return Covered(alpha, solutions, alpha, alpha, False)
        lowest, highest = _furthest(good, alpha, last), _furthest(good, alpha, first)
        return Covered(alpha, solutions, lowest, highest, lowest < alpha or alpha <= last)

    first, last = float(first), float(last)
    model, growth = at(first, None), FIRST
    # models for smaller alphas, whose ranges do not extend to that of the model before them
    following: list[Covered] = []
    while True:
        yield model
        if model.lowest <= last:
            return
        end = model.lowest if model.converged else max(AFTER_FAILURE * model.alpha, last)
        if not following:
            step = CAUTION * growth * log(model.alpha / end) if model.converged else 0.0
            following.append(at(max(end * np.exp(-step), last), model.solutions))
        while following[-1].converged and following[-1].highest < end:
            middle = float(np.sqrt(end * following[-1].alpha))
            following.append(at(middle, following[-1].solutions))
        model = following.pop()
        if model.lowest < model.alpha < model.highest:
            downwards, upwards = log(model.alpha / model.lowest), log(model.highest / model.alpha)
            growth = upwards / downwards
            if model.highest == first:  # its range may extend beyond the path
                growth = max(FURTHER * growth, FIRST)


def _furthest(good: Callable[[float], bool], start: float, end: float) -> float:
    """The alpha closest to ``end`` that is found to be good, as are all from ``start`` on."""
    if good(end):
        return end
    low, high = 0.0, 1.0
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        if good(start ** (1.0 - middle) * end**middle):
            low = middle
        else:
            high = middle
        if high - low < CLOSE * low:
            break
    return float(start ** (1.0 - low) * end**low)
