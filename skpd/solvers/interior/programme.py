"""A problem as the terms of an objective for the interior-point method."""

from collections.abc import Callable
from functools import singledispatch
from math import inf, sqrt
from typing import Any

import numpy as np

from ..._typing import Array, Indices
from ...designs import Design
from ...designs.design import FAR
from ...losses import Logistic as LogisticLoss
from ...losses import Loss, Squared
from ...penalties import (
    L1,
    L2,
    Box,
    ElasticNet,
    ElasticNetBall,
    FusedLasso,
    GroupL2,
    L1Ball,
    LInf,
    NonNegativeL1,
    Penalty,
    SparseGroup,
    SquaredL2,
    SquaredL2OnL1Ball,
    Structure,
    TotalVariation,
)
from ...problems import Point, Problem
from ...problems.robust import RobustProblem
from .cones import EuclideanNorms
from .epigraphs import (
    DoubtfulLabels,
    EuclideanEpigraph,
    SquareEpigraph,
    SumEpigraph,
)
from .maps import Coefficients, Differences, Predictions
from .systems import FeatureSystem, NewtonSystem, RowSystem
from .terms import Equality, Intervals, Logistic, Quadratic, Term

__all__ = [
    "Programme",
    "bound_coefficients",
    "has_programme",
    "loss_terms",
    "needs_features",
    "programme_of",
]

FEW_FEATURES = 1000  # so many take a matrix of their own even where the rows are fewer
CONSTANT = 1e-13  # spread over mean: what is left of a constant feature
DENSE = 0.25  # share of entries from which on a sparse X is copied as an array


class Basis:
    """The coefficients in the order in which a penalty wants them."""

    dense = False

    def __init__(self, order: Indices) -> None:
        self.order = order

    def columns(self, X: Any) -> Any:
        """X in the basis."""
        return X if np.array_equal(self.order, np.arange(X.shape[1])) else X[:, self.order]

    def coef(self, x: Array) -> Array:
        """The coefficients of the features."""
        coef = np.empty_like(x)
        coef[self.order] = x
        return coef


class Steps(Basis):
    """One coefficient, the level, and the differences of neighbours.

    The column of a difference sums the features on its side that is away from the level. The
    level is that of the largest feature, whose digits would push those of others out of sums.
    """

    dense = True  # whatever X is

    def __init__(self) -> None:
        self.level = -1

    def columns(self, X: Any) -> Any:
        table = X if isinstance(X, np.ndarray) else X.toarray()
        if self.level < 0:
            self.level = int(np.argmax(np.max(np.abs(table), axis=0)))
        k, out = self.level, np.empty(table.shape)
        out[:, 0] = np.sum(table, axis=1)
        out[:, 1 : k + 1] = -np.cumsum(table[:, :k], axis=1, dtype=np.float64)
        out[:, k + 1 :] = np.cumsum(table[:, :k:-1], axis=1, dtype=np.float64)[:, ::-1]
        return out

    def coef(self, x: Array) -> Array:
        k, coef = self.level, np.empty_like(x)
        coef[k:] = np.cumsum(np.append(x[0], x[k + 1 :]))
        coef[k::-1] = x[0] - np.cumsum(np.append(0.0, x[k:0:-1]))
        return coef


class Programme:
    """minimise cost.x + x' diag(ridge) x / 2 + the terms, over unknowns x.

    X is copied, in a basis that suits the penalty, with a column of ones for an intercept. The
    columns of an array are centred: b + mean.w is the intercept then, which leaves the objective
    as it is and the Gram matrix accurate where features are far from 0. Without an intercept
    such features are centred too, and the column of ones has mean.w as its coefficient.

    Attributes
    ----------
    x : ndarray of shape (n_unknowns,)
        The coefficients, the intercept, and what the terms add (`new_unknown`).
    terms : list of Term
    losses : list of Term
        Those of the rows.
    other_scales : ndarray of shape (n_unknowns - n_features,)
        About the sizes of the other unknowns.
    """

    def __init__(self, problem: Problem, basis: Basis | None = None) -> None:
        self.problem = problem
        self.counted = np.flatnonzero(problem.weights > 0.0)
        self.y, self.weights = problem.y[self.counted], problem.weights[self.counted]
        self.n_features = problem.n_features
        self.basis = basis or Basis(np.arange(self.n_features))
        self.mean = np.zeros(self.n_features)
        self.design = self._data()
        d = self.n_features
        self.x = np.zeros(self.design.shape[1])
        if problem.fit_intercept:
            self.x[d] = problem.null_point.intercept
        self.cost, self.ridge = np.zeros_like(self.x), np.zeros_like(self.x)
        self.other_scales = np.full(len(self.x) - d, problem.prediction_scale)
        # of a product of the penalty beside one of a row
        self.share = 1.0 / float(problem.total_weight or len(self.y))
        # the size of coefficients that change predictions by as much as losses differ
        sizes = self.sizes
        sizes = np.where(sizes > 0.0, sizes, float(np.max(sizes, initial=0.0)) or 1.0)
        self.width = problem.prediction_scale / sizes
        self.predictions = Predictions(self.design)
        self.losses: list[Any] = []
        self.penalties: list[Any] = []
        if not problem.fit_intercept and self.design.shape[1] > d:
            normal = np.append(self.mean, -1.0)
            self.penalties.append(Equality(normal, self.new_unknown(0.0), self.x))

    def _data(self) -> Design:
        problem, d = self.problem, self.n_features
        X, n = problem.design.rows_as_they_are(self.counted), len(self.counted)
        ones = problem.fit_intercept
        if not isinstance(X, np.ndarray) and X.nnz < DENSE * n * d and not self.basis.dense:
            design = Design(self.basis.columns(X))
            self.sizes = design.column_norms(self.weights)
            return design.with_ones() if ones else design
        values = X if isinstance(X, np.ndarray) else X.toarray()
        table = np.ones((n, d + 1))
        features = table[:, :d]
        features[:] = values
        mean = self.weights @ features
        features -= mean
        spread = np.sqrt(self.weights @ features**2)
        far = (np.abs(mean) > FAR * spread) & (spread > CONSTANT * np.abs(mean))
        # sums over features are as inexact as the terms, whatever is left of them
        terms = np.abs(self.basis.columns((spread + np.abs(mean))[np.newaxis])[0])
        columns = self.basis.columns(features)
        if columns is not features:
            features[:] = columns
            mean = self.basis.columns(mean[np.newaxis])[0]
            spread = np.sqrt(self.weights @ features**2)
        constant = spread <= CONSTANT * terms
        features[:, constant] = 0.0
        self.sizes = np.where(constant, 0.0 if ones else np.abs(mean), spread)
        if not (ones or far.any()):
            return Design(self.basis.columns(np.asarray(values, dtype=np.float64)))
        self.mean = mean
        return Design(table)

    def new_unknown(self, value: float, cost: float = 0.0, size: float | None = None) -> int:
        """The place of one more unknown, and about how large it is."""
        self.x = np.append(self.x, value)
        self.other_scales = np.append(
            self.other_scales, self.problem.prediction_scale if size is None else size
        )
        self.cost, self.ridge = np.append(self.cost, cost), np.append(self.ridge, 0.0)
        return len(self.x) - 1

    @property
    def terms(self) -> list[Term]:
        return self.losses + self.penalties

    def system(self) -> NewtonSystem:
        """The Newton system, of the smaller side of X."""
        n, d = len(self.y), self.n_features
        by_rows = n < d and d > FEW_FEATURES and not needs_features(self.problem.penalty)
        kind = RowSystem if by_rows else FeatureSystem
        return kind(self.design, d, len(self.x) - self.design.shape[1])

    def point(self) -> Point:
        problem, d = self.problem, self.n_features
        x = self.x.copy()
        for term in self.penalties:
            term.settle(x)
        coef = self.basis.coef(x[:d])
        intercept = float(x[d] - self.mean @ x[:d]) if problem.fit_intercept else 0.0
        return Point(coef, intercept, self._dual_coef())

    def _dual_coef(self) -> Array:
        theta = np.zeros(self.problem.n_samples)
        theta[self.counted] = sum(term.multipliers for term in self.losses)
        return theta


class RobustProgramme(Programme):
    """The same with two multipliers p and r for a row."""

    def _dual_coef(self) -> Array:
        theta = np.zeros((2, self.problem.n_samples))
        (rows,) = self.losses
        if isinstance(rows, DoubtfulLabels):
            theta[:, self.counted] = rows.multipliers
        else:
            theta[0, self.counted] = np.clip(-self.y * rows.multipliers, 0.0, 1.0)
        return theta


@singledispatch
def programme_of(problem: Problem) -> Programme:
    """The programme of a problem whose penalty has one."""
    programme = Programme(problem, basis_of(problem.penalty))
    programme.losses = loss_terms(problem.loss, programme)
    PENALTIES[type(problem.penalty)](problem.penalty, programme)
    return programme


@programme_of.register
def _(problem: RobustProblem) -> Programme:
    programme = RobustProgramme(problem)
    programme.ridge[: problem.n_features] = problem.ridge
    if problem.kappa == inf:
        programme.losses = loss_terms(problem.loss, programme)
        PENALTIES[type(problem.penalty)](problem.penalty, programme)
        return programme
    epsilon, kappa = problem.epsilon, problem.kappa
    radius = 10.0 / max(epsilon, sqrt(float(np.sum(problem.squares[: problem.n_features]))))
    flipped = min(1.0 / 3.0, 0.5 * epsilon / kappa)
    place = programme.new_unknown(radius, epsilon)
    programme.losses = [
        DoubtfulLabels(
            programme.predictions,
            programme.y,
            programme.weights,
            kappa,
            place,
            flipped,
            programme.x,
        )
    ]
    multiplier = epsilon - kappa * flipped
    if problem.q == inf:
        bound_coefficients(programme, place, multiplier)
        return programme
    epigraph = SumEpigraph if problem.q == 1 else EuclideanEpigraph
    programme.penalties.append(epigraph(
        problem.n_features, place, programme.new_unknown(0.0), radius, multiplier,
        programme.share,
    ))  # fmt: skip
    return programme


def basis_of(penalty: Any) -> Basis | None:
    if penalty.structure is Structure.GROUPED:
        return Basis(penalty.partition.order)
    return Steps() if penalty.free_level else None


def loss_terms(loss: Loss, programme: Programme) -> list[Term]:
    """The loss of all rows."""
    rows, y, weights, x = programme.predictions, programme.y, programme.weights, programme.x
    if type(loss) in SMOOTH_TERMS:
        return [SMOOTH_TERMS[type(loss)](rows, y, weights, x)]
    return [
        Intervals(
            rows, sign=piece.sign, offset=piece.offset, lower=piece.lower, upper=piece.upper,
            q=piece.curvature, weights=weights, x=x, width=programme.problem.prediction_scale,
        )
        for piece in loss.pieces(y) or []
    ]  # fmt: skip


SMOOTH_TERMS: dict[type[Loss], Callable[..., Term]] = {Squared: Quadratic, LogisticLoss: Logistic}


def _add_l1(programme: Programme, weight: float, first: int = 0) -> None:
    """weight ||w||_1, from the first coefficient that counts."""
    programme.penalties.append(Intervals(
        Coefficients(first, programme.n_features), lower=-weight, upper=weight,
        share=programme.share, x=programme.x, width=programme.width[first:],
    ))  # fmt: skip


def _add_limit(programme: Programme, sign: float, limit: float, slope: float) -> None:
    """sign w_j <= limit, and slope |w_j| on the other side of 0."""
    programme.penalties.append(Intervals(
        Coefficients(0, programme.n_features), sign=sign, offset=sign * limit, lower=-slope,
        upper=inf, share=programme.share, x=programme.x, width=programme.width,
        slope=slope or programme.problem.objective_unit / programme.width,
    ))  # fmt: skip


def _add_groups(programme: Programme, starts: Indices, weights: Array) -> None:
    counts = np.diff(starts)
    width = np.sqrt(np.add.reduceat(programme.width**2, starts[:-1]) / counts)
    programme.penalties.append(
        EuclideanNorms(starts, weights, programme.share, width * np.sqrt(counts))
    )


def bound_coefficients(programme: Programme, place: int, multiplier: float) -> None:
    """abs(w_j) <= t, for the unknown t of a place."""
    d = programme.n_features
    for sign in (1.0, -1.0):
        programme.penalties.append(Intervals(
            Coefficients(0, d, place, -sign), sign=sign, lower=0.0, upper=inf,
            share=programme.share, x=programme.x, width=float(programme.x[place]),
            slope=0.5 * multiplier / d,
        ))  # fmt: skip


def _l1(penalty: L1, programme: Programme) -> None:
    _add_l1(programme, programme.problem.alpha)


def _non_negative(penalty: NonNegativeL1, programme: Programme) -> None:
    _add_limit(programme, -1.0, 0.0, programme.problem.alpha)


def _squared_l2(penalty: SquaredL2, programme: Programme) -> None:
    programme.ridge[: programme.n_features] += programme.problem.alpha


def _elastic_net(penalty: ElasticNet, programme: Programme) -> None:
    alpha = programme.problem.alpha
    _add_l1(programme, alpha * penalty.l1_ratio)
    programme.ridge[: programme.n_features] += alpha * (1.0 - penalty.l1_ratio)


def _box(penalty: Box, programme: Programme) -> None:
    _add_limit(programme, 1.0, penalty.upper, 0.0)
    _add_limit(programme, -1.0, -penalty.lower, 0.0)


def _add_l1_ball(programme: Programme, radius: float) -> None:
    # it is worth at most the loss of the best constant to have a larger ball
    multiplier = programme.problem.objective_unit / radius
    programme.penalties.append(SumEpigraph(
        programme.n_features, None, programme.new_unknown(0.0), radius, multiplier,
        programme.share,
    ))  # fmt: skip


def _l1_ball(penalty: L1Ball, programme: Programme) -> None:
    _add_l1_ball(programme, penalty.radius)


def _l1_ball_and_ridge(penalty: SquaredL2OnL1Ball, programme: Programme) -> None:
    programme.ridge[: programme.n_features] += programme.problem.alpha * penalty.weight
    _add_l1_ball(programme, penalty.radius)


def _elastic_net_ball(penalty: ElasticNetBall, programme: Programme) -> None:
    """With lam the part of the radius that goes to the l1 norm."""
    radius, l1, d = penalty.radius, penalty.l1_ratio, programme.n_features
    lam, multiplier = 0.5 * radius, programme.problem.objective_unit / radius
    place = programme.new_unknown(lam, size=radius)
    programme.penalties.append(SumEpigraph(
        d, place, programme.new_unknown(0.0), lam, multiplier, programme.share, l1,
    ))  # fmt: skip
    programme.penalties.append(SquareEpigraph(
        d, place, programme.new_unknown(0.0), radius, lam, multiplier, programme.share, 1.0 - l1,
    ))  # fmt: skip


def _l2(penalty: L2, programme: Programme) -> None:
    alpha, d = programme.problem.alpha, programme.n_features
    _add_groups(programme, np.array([0, d]), np.array([alpha]))


def _l_infinity(penalty: LInf, programme: Programme) -> None:
    alpha = programme.problem.alpha
    place = programme.new_unknown(float(np.max(programme.width)), alpha)
    bound_coefficients(programme, place, alpha)


def _groups(penalty: GroupL2 | SparseGroup, programme: Programme) -> None:
    alpha = programme.problem.alpha
    l1, weights = penalty.group_terms
    if l1 > 0.0:
        _add_l1(programme, alpha * l1)
    if weights.any():
        _add_groups(programme, penalty.partition.starts, alpha * weights)


def _total_variation(penalty: TotalVariation, programme: Programme) -> None:
    if programme.n_features > 1:
        _add_l1(programme, programme.problem.alpha, first=1)


def _fused_lasso(penalty: FusedLasso, programme: Programme) -> None:
    alpha = programme.problem.alpha
    _add_l1(programme, alpha * penalty.l1_ratio)
    if penalty.l1_ratio < 1.0 and programme.n_features > 1:
        weight = alpha * (1.0 - penalty.l1_ratio)
        programme.penalties.append(Intervals(
            Differences(programme.n_features), lower=-weight, upper=weight, share=programme.share,
            x=programme.x, width=np.minimum(programme.width[1:], programme.width[:-1]),
        ))  # fmt: skip


def has_programme(penalty: Penalty) -> bool:
    """Whether a penalty is among those with terms here."""
    return type(penalty) in PENALTIES


def needs_features(penalty: Penalty) -> bool:
    """Whether a penalty's curvature is singular or has bands: then systems are of the features."""
    return penalty.structure is Structure.CHAINED


PENALTIES: dict[type[Penalty], Callable] = {
    L1: _l1,
    NonNegativeL1: _non_negative,
    SquaredL2: _squared_l2,
    ElasticNet: _elastic_net,
    Box: _box,
    L1Ball: _l1_ball,
    SquaredL2OnL1Ball: _l1_ball_and_ridge,
    ElasticNetBall: _elastic_net_ball,
    L2: _l2,
    LInf: _l_infinity,
    GroupL2: _groups,
    SparseGroup: _groups,
    TotalVariation: _total_variation,
    FusedLasso: _fused_lasso,
}
