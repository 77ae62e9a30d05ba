"""The restricted problems of boosting as programmes of the interior-point method.

With U the edge vectors of the hypotheses as rows, `skpd.models.boosting.problem` is, for mixtures
a of the hypotheses and a level rho ::

    minimise -rho + sum_i f_i(rho - (U'a)_i)   subject to   a >= 0, sum_h a_h = 1,
    f_i(s) = max over 0 <= w_i <= caps_i of w_i s - entropy w_i log(w_i / c_i),

whose multipliers w are a distribution over the rows. A Newton system has a row for each
hypothesis. Far from the optimum the solutions of the method are in the middle of those that are
nearly as good, which takes column generation fewer rounds than vertices do (Gondzio,
Gonzalez-Brevis and Munari, New developments in the primal-dual column generation technique, 2013).
"""

from contextlib import suppress
from math import inf
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError

from ..._typing import Array
from ...designs import Design
from ...losses import Hinge
from ...penalties import L1
from ...problems import linear_problem
from ...solvers.interior.loss_terms import Equality, Intervals
from ...solvers.interior.maps import Coefficients, Map
from ...solvers.interior.method import minimise
from ...solvers.interior.programme import Programme
from ...solvers.interior.systems import NewtonSystem
from ...solvers.interior.terms import DualTerm, NumberPairs
from .problem import BoostingProblem
from .settings import SETTINGS


class Pair(NamedTuple):
    """A distribution over the rows and a mixture of the hypotheses, both without a proof.

    ``reached`` is whether the method has reached the requested accuracy.
    """

    w: Array
    mixture: Array
    reached: bool


class CappedDistribution(NumberPairs, DualTerm):
    """The term max over 0 <= w <= caps of w.s - entropy sum_i w_i log(w_i / c_i) with s = A x.

    With slacks z and y of the two bounds, whose multipliers are w and caps - w ::

        s = entropy (log(w / c) + 1) - z + y,    z w = mu,    y (caps - w) = mu

    on the central path. All but s is eliminated, which leaves the curvature
    1 / (entropy / w + z / w + y / (caps - w)).
    """

    def __init__(self, image: Map, problem: BoostingProblem, x: Array) -> None:
        self.image, self.problem, self.s = image, problem, image.times(x)
        self.linear, c = problem.entropy == 0.0, problem.weights
        self.dual = np.stack([c, problem.caps - c])
        lower = np.abs(self.s) + SETTINGS.first_slack
        self.slack = np.stack([lower, lower + self.s - problem.entropy])
        self.degree = float(self.dual.size)

    @property
    def multipliers(self) -> Array:
        return self.dual[0]

    def _add_adjoint(self, dual: Array, out: Array) -> None:
        self.image.add_adjoint(dual[0], out)

    def factorise(self, system: NewtonSystem) -> None:
        entropy, w = self.problem.entropy, self.dual[0]
        self.ratio = self.dual / self.slack
        self.h = 1.0 / (np.sum(1.0 / self.ratio, axis=0) + entropy / w)
        slope = entropy * (np.log(w / self.problem.weights) + 1.0) if entropy else 0.0
        self.residual = self.s - slope + self.slack[0] - self.slack[1]
        self.image.add_curvature(self.h, system)

    def add_centering(self, mu: float | None, corrected: bool, out: Array) -> None:
        lower, upper = self._center(mu, corrected) / self.ratio
        self.pull = self.residual + lower - upper
        self.image.add_adjoint(self.h * self.pull, out)

    def set_step(self, dx: Array) -> None:
        self.s_step = self.image.times(dx)
        dw = self.h * (self.s_step + self.pull)
        self._set_slack_step((self.centering - np.stack([dw, -dw])) / self.ratio)

    def move(self, primal: float, dual: float) -> None:
        super().move(primal, dual)
        self.s = self.s + primal * self.s_step


def _programme(problem: BoostingProblem, edges: Array) -> Programme:
    """The programme of a restricted problem, which starts with equal weights."""
    n_hypotheses, c = len(edges), problem.weights
    programme = Programme(
        linear_problem(Design(-edges.T), np.zeros_like(c), c, Hinge(), L1(), 1.0), unit=1.0
    )
    programme.x[:n_hypotheses] = 1.0 / n_hypotheses
    programme.x[n_hypotheses] = 1.0
    programme.minimise_minus_intercept()
    sum_index = programme.new_unknown(0.0)
    x, every = programme.x, np.arange(n_hypotheses)
    programme.losses.append(CappedDistribution(programme.predictions, problem, x))
    programme.penalties += [
        Equality(np.ones(n_hypotheses), sum_index, x, n_hypotheses, 1.0),
        Intervals(
            Coefficients(every), sign=-1.0, lower=0.0, upper=inf, x=x, width=1.0 / n_hypotheses,
            slope=SETTINGS.first_slack,
        ),
    ]  # fmt: skip
    return programme


def boosting_interior_point(
    problem: BoostingProblem, edges: Array, start: Array, gap: float
) -> Pair:
    """Solve a restricted problem by predictor and corrector steps, to a gap of two bounds.

    The method starts in the middle; ``start`` is a mixture to return where it finds none. The
    other parameters are those of `skpd.models.boosting.restricted_problems.accelerated_boosting`.
    """
    if np.min(problem.caps - problem.weights) <= 0.0:  # nu is 1: there is one distribution
        mixture = np.zeros(len(edges))
        mixture[np.argmax(edges @ problem.weights)] = 1.0
        return Pair(problem.weights, mixture, reached=True)
    programme = _programme(problem, edges)
    with suppress(LinAlgError), np.errstate(all="ignore"):
        minimise(programme, SETTINGS.share * gap)
    w = problem.feasible(programme.losses[0].multipliers)
    mixture = np.maximum(programme.x[: len(edges)], 0.0)
    total = float(np.sum(mixture))
    if not (np.isfinite(w).all() and 0.0 < total < inf):
        return Pair(problem.weights, start, reached=False)
    mixture /= total
    upper = problem.entropy * problem.divergence(w)[0] + float(np.max(edges @ w))
    return Pair(w, mixture, upper - problem.distribution(mixture @ edges)[0] <= gap)
