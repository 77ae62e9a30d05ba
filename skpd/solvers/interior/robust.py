"""The robust SVM as a programme of the interior-point method."""

from dataclasses import replace
from math import inf, sqrt
from typing import Any

import numpy as np

from ..._typing import Array
from ...problems import Point
from ...problems.robust import first_flip, terms_of
from .absolute_values import SumEpigraph
from .epigraphs import EuclideanEpigraph
from .maps import Predictions
from .programme import Programme
from .settings import SETTINGS
from .slack_multiplier_pairs import Maxima
from .systems import NewtonSystem
from .terms import DualTerm


class DoubtfulLabels(Maxima, DualTerm):
    """The term sum_i c_i max(1 - m_i, 1 + m_i - kappa lam, 0) of the robust SVM, for margins m.

    The multipliers of the three scores of a row are p_i, r_i and 1 - p_i - r_i.

    Parameters
    ----------
    predictions : Predictions
    y, weights : ndarray of shape (n_samples,)
    kappa : float
    lam_index : int
        The index of lam among the unknowns.
    flipped : float
        The initial r, below 2/3.
    x : ndarray of shape (n_unknowns,)
        The initial unknowns.
    """

    axis = 0

    def __init__(
        self, predictions: Predictions, y: Array, weights: Array, kappa: float, lam_index: int,
        flipped: float, x: Array,
    ) -> None:  # fmt: skip
        self.predictions, self.y, self.weights = predictions, y, weights
        self.kappa, self.lam_index = kappa, lam_index
        self.dual = np.empty((3, len(y)))
        self.dual[0], self.dual[1], self.dual[2] = 1.0 / 3.0, flipped, 2.0 / 3.0 - flipped
        scores = self._scores(x)
        self.slack = 2.0 + np.abs(scores[0]) - [[1.0], [1.0], [0.0]] - scores
        self.degree = 3.0 * float(np.sum(weights))

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
        border = self.predictions.design.rmatvec(self.weights * self.y * mixed)
        system.border(lam)[:] += border
        system.add_corner(lam, lam, float(self.weights @ twice))


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
