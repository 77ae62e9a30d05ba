"""The radius of a robust SVM as a variable, and its best value (`Radius`)."""

from dataclasses import dataclass
from math import inf, nan
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from ..._floats import EPSILON
from ..._typing import Array, Indices, Numbers
from ...certificates.relative_gaps import ROUNDING
from ...penalties import L1, ElasticNet
from ...penalties.base import NO_FEATURES, FreeFeatures
from ...problems.interfaces import ProblemParts
from ...problems.lifts import Lift
from ...problems.null_model import NullModel, scale_of
from ...problems.problem import Problem
from ...problems.regularisation import Regularisation
from ...problems.solution import Point
from .norm_epigraph import NORMS, NormEpigraph
from .rows import RowsWithRadius, epigraph_of

if TYPE_CHECKING:
    from ...problems.interfaces import Rows

FIRST_SHARE = 0.5  # the mean multiplier of flips at a start, in units of its largest value


class RobustTerms(NamedTuple):
    """The numbers of a robust SVM.

    Attributes
    ----------
    q : {1, 2, inf}
        The norm in which lam bounds w.
    epsilon : float
        The radius of the Wasserstein ball; may be 0 for incremental methods.
    kappa : float
        The cost of flipping a label.
    ridge : float
        Weight of half the squared norm.
    """

    q: float
    epsilon: float
    kappa: float
    ridge: float

    @property
    def norm(self) -> Any:
        """The q-norm on w, with its dual norm."""
        return NORMS[self.q]()

    def dual_coef(self, y: Array, multipliers: Array) -> Array:
        """The dual point of multipliers p and r; without a radius, as one number for each row."""
        return multipliers if self.epsilon else -y * (multipliers[0] - multipliers[1])


def kappa_of(problem: ProblemParts) -> float:
    """The cost of flipping a label."""
    return problem.rows.as_kind(RowsWithRadius).loss.kappa


def terms_of(problem: ProblemParts) -> RobustTerms:
    """The numbers of the robust SVM that a problem with a radius stands for."""
    penalty, alpha = epigraph_of(problem), problem.alpha
    return RobustTerms(penalty.q, alpha, kappa_of(problem), alpha * penalty.weight)


@dataclass(frozen=True, eq=False)
class Radius(Lift):
    """The radius lam of the coefficients of a robust SVM, as a variable after them.

    Parameters
    ----------
    q, kappa, ridge : float
        See `RobustTerms`.
    order : ndarray of shape (n_features,) or None
        The features in the order of the problem, in which those without a penalty are the last.
        None if all have a penalty.
    free : FreeFeatures, default=NO_FEATURES
        The coefficients without a penalty, with their bounds.
    """

    n_more: ClassVar[int] = 1
    q: float
    kappa: float
    ridge: float
    order: Indices | None = None
    free: FreeFeatures = NO_FEATURES

    def project(self, variables: np.ndarray) -> np.ndarray:
        if self.order is None:
            return super().project(variables)
        coef = np.empty(len(self.order), dtype=variables.dtype)
        coef[self.order] = variables[:-1]
        return coef

    def extend(self, problem: ProblemParts, variables: Array, intercept: Numbers) -> Array:
        """The variables (w, lam), with the least lam that minimises the objective."""
        if self.order is not None and len(variables) == len(self.order):
            variables = variables[self.order]
        coef = np.ascontiguousarray(variables[: problem.design.shape[1]])
        margins = problem.y * problem.predictions(coef, intercept)[0]
        size = NORMS[self.q]().value(coef[: len(coef) - len(self.free.columns)])
        return np.append(coef, best_radius(problem, margins, size))

    def regularisation_at(
        self, regularisation: Regularisation | None, alpha: float
    ) -> Regularisation:
        weight = self.ridge / alpha if alpha > 0.0 else 0.0  # see `plain_problem` for alpha = 0
        return Regularisation(NormEpigraph(self.q, weight, self.free), alpha)

    def null(self, rows: "Rows", alpha: float) -> NullModel:
        """The best constant prediction, with multipliers that prove that it is the best.

        With the shares c+ >= c- of the classes, it is b = 0 with the value 1, or the sign of the
        larger class with the value 2 c- + 2 epsilon / kappa. In the second case lam = 2 / kappa,
        the least at which the losses of flipped labels are not larger than the hinge losses.
        """
        y = rows.y
        theta = np.stack([np.ones(len(y)), np.zeros(len(y))])
        intercept, radius = 0.0, 0.0
        if rows.fit_intercept:
            sign, more, less = _classes(rows)
            flipped = 0.5 * (more - less)
            if alpha / self.kappa < flipped:
                flipped, intercept, radius = alpha / self.kappa, sign, 2.0 / self.kappa
            theta[1, y == sign] = flipped / more
            theta[0, y == sign] = (flipped + less) / more
        point = Point(np.append(np.zeros(rows.design.shape[1]), radius), intercept, theta)
        z = np.full(len(y), intercept)
        losses = rows.as_kind(RowsWithRadius).loss.at_radius(radius).largest(y, z, 0.0, 0.0)
        objective = alpha * radius + float(np.sum(rows.weights * losses))
        slope = float(rows.weights @ np.abs(rows.loss.gradient(y, z)))
        return NullModel(
            point, objective, unit=max(objective, EPSILON),
            prediction_scale=scale_of(objective, slope), lower=objective * (1.0 - ROUNDING),
        )  # fmt: skip

    def largest_alpha(self, problem: ProblemParts) -> float:
        """An epsilon at and above which lam = 0, and so w = 0, is optimal.

        At this epsilon there are feasible multipliers with p_i + r_i = 1, which prove the optimal
        value 1 (or, for kappa = inf, the hinge loss of the best constant). The smaller one of two
        choices is returned: kappa / 2 for p = r = 1/2, or ||v||° + kappa rho for r = 0 in the
        smaller class and equal r_i in the other.
        """
        if len(self.free.columns):
            return nan
        rows = problem.rows
        share = np.ones(rows.n_samples)  # p - r
        if rows.fit_intercept:
            sign, more, less = _classes(rows)
            share[rows.y == sign] = less / more
        v = rows.design.rmatvec(rows.weights * rows.y * share)
        size = NORMS[self.q]().dual_norm(v)
        if self.kappa == inf:
            return size
        flipped = 0.5 * max(1.0 - float(rows.weights @ share), 0.0)
        return min(0.5 * self.kappa, size + self.kappa * flipped)


def first_flip(problem: Problem) -> float:
    """The initial multiplier r of a flip, in the middle of its range."""
    return float(min(1.0 / 3.0, FIRST_SHARE * problem.alpha / kappa_of(problem)))


def first_multipliers(problem: Problem) -> Array:
    """Initial multipliers p and r of every row, in the middle of their ranges."""
    p = 0.5 if kappa_of(problem) == inf else 1.0 / 3.0
    return np.repeat([[p], [first_flip(problem)]], problem.n_samples, axis=1)


def _classes(rows: "Rows") -> tuple[float, float, float]:
    """The sign of the larger class, its share of the weights, and the other class's share."""
    shares = {sign: float(np.sum(rows.weights[rows.y == sign])) for sign in (1.0, -1.0)}
    sign = max(shares, key=lambda side: shares[side])
    return sign, shares[sign], shares[-sign]


def certain_problem(problem: Problem) -> Problem:
    """The problem of norm 1 in which all labels are certain, in the coefficients alone.

    Its objective is the mean hinge loss with epsilon times the norm, which for lam = ||w||_1 is
    nowhere above that of the robust SVM. Both are equal where the third piece of the loss is not
    active,

        kappa ||w||_1 >= min(2 m_i, 1 + m_i)    for all rows,

    so that a minimiser which fulfils this is one of the robust SVM.
    """
    alpha = problem.alpha + problem.lift.as_kind(Radius).ridge
    share = problem.alpha / alpha
    penalty = ElasticNet(share) if share < 1.0 else L1()
    return Problem(problem.rows.as_kind(RowsWithRadius).of_hinge, Regularisation(penalty, alpha))


def best_radius(problem: ProblemParts, margins: Array, norm: float) -> float:
    """The least lam >= norm that minimises the objective at these margins.

    The loss of a row decreases with slope -kappa up to the kink lam = min(2 m, 1 + m) / kappa. The
    best lam is the least kink such that rows with larger kinks have a weight of at most
    epsilon / kappa.
    """
    kappa = kappa_of(problem)
    if kappa == inf:
        return norm
    kinks = np.minimum(2.0 * margins, 1.0 + margins)
    rows = np.flatnonzero(kinks > kappa * norm)
    order = rows[np.argsort(-kinks[rows])]
    beyond = np.cumsum(problem.weights[order]) > problem.alpha / kappa
    if not beyond.any():
        return norm
    return float(max(norm, float(kinks[order[np.argmax(beyond)]]) / kappa))
