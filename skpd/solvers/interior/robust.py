"""The robust SVM as a programme of the interior-point method."""

from math import inf, sqrt
from typing import Self

import numpy as np

from ..._typing import Array
from ...problems.robust import RobustProblem
from .epigraphs import DoubtfulLabels, EuclideanEpigraph, SumEpigraph
from .programme import Programme
from .settings import SETTINGS


class RobustProgramme(Programme):
    """The programme of the robust SVM, with two multipliers p and r for each row."""

    problem: RobustProblem

    def posed(self) -> Self:
        problem, d = self.problem, self.n_coefficients
        self.ridge[:d] = problem.ridge
        if problem.kappa == inf:
            return super().posed()
        epsilon, kappa = problem.epsilon, problem.kappa
        size = sqrt(float(np.sum(problem.squares[:d])))
        lam = SETTINGS.first_radius / max(epsilon, size)
        flipped = min(1.0 / 3.0, SETTINGS.first_flip * epsilon / kappa)
        place = self.new_unknown(lam, epsilon)
        rows = self.predictions, self.y, self.weights
        self.losses = [DoubtfulLabels(*rows, kappa, place, flipped, self.x)]
        multiplier = epsilon - kappa * flipped
        if problem.q == inf:
            self.bound_coefficients(place, multiplier)
            return self
        epigraph = SumEpigraph if problem.q == 1 else EuclideanEpigraph
        height = self.new_unknown(0.0)
        self.penalties.append(epigraph(d, place, height, lam, multiplier, self.share))
        return self

    def _dual_coef(self) -> Array:
        theta = np.zeros((2, self.problem.n_samples))
        (rows,) = self.losses
        if self.problem.kappa < inf:
            theta[:, self.counted] = rows.multipliers
        else:
            theta[0, self.counted] = np.clip(-self.y * rows.multipliers, 0.0, 1.0)
        return theta
