"""The interior-point method for the robust SVM."""

from functools import partial
from math import inf, sqrt

import numpy as np

from ..._typing import Array
from ...problems import Point, Problem
from ...solvers.interior.absolute_values import SumEpigraph
from ...solvers.interior.epigraphs import EuclideanEpigraph
from ...solvers.interior.method import solve_programme
from ...solvers.interior.programme import Programme
from ...solvers.interior.representation import Representation
from ...solvers.interior.settings import SETTINGS
from ...solvers.interior.systems import NewtonSystem
from ...solvers.interior.terms import DualTerm, Maxima
from ...solvers.solver_context import SolverContext
from .lift import first_flip, kappa_of, terms_of


class DoubtfulLabels(Maxima, DualTerm):
    """The term sum_i c_i max(1 - m_i, 1 + m_i - kappa lam, 0) of the robust SVM, for margins m.

    The multipliers of the three scores of a row are p_i, r_i and 1 - p_i - r_i.

    Parameters
    ----------
    programme : Programme
    kappa : float
    lam_index : int
        The index of lam among the unknowns.
    flipped : float
        The initial r, below 2/3.
    """

    axis = 0

    def __init__(self, programme: Programme, kappa: float, lam_index: int, flipped: float) -> None:
        self.predictions, self.kappa, self.lam_index = programme.predictions, kappa, lam_index
        self.y, self.weights = programme.y, programme.weights
        first = [[1.0 / 3.0], [flipped], [2.0 / 3.0 - flipped]]
        self.dual = np.tile(first, len(self.y))
        scores = self._scores(programme.x)
        self.slack = 2.0 + np.abs(scores[0]) - [[1.0], [1.0], [0.0]] - scores
        self.degree = 3.0 * float(np.sum(self.weights))

    @property
    def multipliers(self) -> Array:
        """The multipliers p and r, which are in the triangle."""
        return self.dual[:2] / self._sums(self.dual)

    def _scores(self, x: Array) -> Array:
        margins = self.y * self.predictions.times(x)
        return np.stack([-margins, margins - self.kappa * x[self.lam_index], 0.0 * margins])

    def _add_adjoint(self, dual: Array, out: Array) -> None:
        self.predictions.add_adjoint(self.weights * self.y * (dual[1] - dual[0]), out)
        out[self.lam_index] -= self.kappa * float(self.weights @ dual[1])

    def factorise(self, system: NewtonSystem) -> None:
        self._differentiate()
        (one, two, three), (total,) = self.ratio, self.ratio_sums
        # second derivatives of the rows' barriers in (m, lam)
        margin = (4.0 * one * two + (one + two) * three) / total
        mixed = -self.kappa * two * (2.0 * one + three) / total
        twice = self.kappa**2 * two * (one + three) / total
        system.add_rows(self.weights * margin)
        lam = self.lam_index
        self.predictions.add_adjoint(self.weights * self.y * mixed, system.border(lam))
        system.add_corner(lam, lam, float(self.weights @ twice))


def robust_interior_point(context: SolverContext) -> None:
    """The `interior_point` method with multipliers p and r for each row."""
    programme = Programme(context.problem)
    add_robust_terms(programme)
    solve_programme(context, programme)


def add_robust_terms(programme: Programme) -> None:
    """Add the loss and the penalty of the robust SVM, with multipliers p and r for each row."""
    problem, cones = programme.problem, Representation(programme)
    _, lower, upper = problem.penalty.free_features
    d = programme.n_coefficients - len(lower)
    q, epsilon, kappa, ridge = terms = terms_of(problem)
    programme.ridge[:d] = ridge
    programme.completed = partial(_completed, problem)
    if len(lower):
        free = np.full((2, programme.n_coefficients), [[-inf], [inf]])
        free[:, d:] = lower, upper
        cones.add_separable(lower=free[0], upper=free[1])
    if kappa == inf:
        problem.loss.add_cones(cones)
        if not len(lower):
            terms.norm.add_cones(cones, epsilon)
            return
    size = sqrt(float(np.sum(problem.squares[:d])))
    lam = SETTINGS.first_radius / max(epsilon, size)
    place, multiplier = programme.new_unknown(lam, epsilon), epsilon
    if kappa < inf:
        flipped = first_flip(problem)
        multiplier -= kappa * flipped
        programme.losses.append(DoubtfulLabels(programme, kappa, place, flipped))
    if q == inf:
        cones.bound_coefficients(d, place, multiplier)
        return
    epigraph = SumEpigraph if q == 1 else EuclideanEpigraph
    height = programme.new_unknown(0.0)
    programme.penalties.append(epigraph(d, place, height, lam, multiplier, programme.share))


def _completed(problem: Problem, point: Point) -> Point:
    """A point with two multipliers for each row; a certificate has the best radius."""
    theta: Array = point.dual_coef
    if kappa_of(problem) == inf:
        theta = np.stack([np.clip(-problem.y * theta, 0.0, 1.0), np.zeros_like(theta)])
    return Point(np.append(point.coef, 0.0), point.intercept, theta)
