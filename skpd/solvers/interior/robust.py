"""The robust SVM as a programme of the interior-point method."""

from dataclasses import replace
from math import inf, sqrt
from typing import Any

import numpy as np

from ..._typing import Array
from ...problems import Point, Problem
from ...problems.robust import terms_of
from .epigraphs import DoubtfulLabels, EuclideanEpigraph, SumEpigraph
from .programme import Programme
from .settings import SETTINGS


def first_flip(problem: Problem) -> float:
    """The initial multiplier of a flip, in the middle of its range."""
    return min(1.0 / 3.0, SETTINGS.first_share * problem.alpha / problem.loss.kappa)


class RobustProgramme(Programme):
    """The programme of the robust SVM, with two multipliers p and r for each row."""

    def _add_loss_and_penalty(self) -> None:
        penalty: Any = self.problem.penalty
        _, lower, upper = penalty.free_features
        d = self.n_coefficients - len(lower)
        q, epsilon, kappa, ridge = terms = terms_of(self.problem)
        self.ridge[:d] = ridge
        if d < self.n_coefficients:
            free = np.full((2, self.n_coefficients), [[-inf], [inf]])
            free[:, d:] = lower, upper
            self.add_separable(lower=free[0], upper=free[1])
        elif kappa == inf:
            self.problem.loss.add_cones(self)
            terms.norm.add_cones(self, epsilon)
            return
        size = sqrt(float(np.sum(self.problem.squares[:d])))
        lam = SETTINGS.first_radius / max(epsilon, size)
        flipped = first_flip(self.problem)
        place = self.new_unknown(lam, epsilon)
        rows = self.predictions, self.y, self.weights
        multiplier = epsilon
        if kappa == inf:
            self.problem.loss.add_cones(self)
        else:
            self.losses = [DoubtfulLabels(*rows, kappa, place, flipped, self.x)]
            multiplier -= kappa * flipped
        if q == inf:
            self.bound_coefficients(d, place, multiplier)
            return
        epigraph = SumEpigraph if q == 1 else EuclideanEpigraph
        height = self.new_unknown(0.0)
        self.penalties.append(epigraph(d, place, height, lam, multiplier, self.share))

    def _point_of(self, x: Array) -> Point:
        point = super()._point_of(x)
        return replace(point, coef=np.append(point.coef, 0.0))  # a certificate has the best radius

    def _dual_coef(self) -> Array:
        theta = np.zeros((2, self.problem.n_samples))
        (rows,) = self.losses
        if self.problem.loss.kappa < inf:
            theta[:, self.counted] = rows.multipliers
        else:
            theta[0, self.counted] = np.clip(-self.y * rows.multipliers, 0.0, 1.0)
        return theta
