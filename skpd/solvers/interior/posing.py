"""The terms of losses and penalties in the interior-point method."""

from collections.abc import Callable
from functools import singledispatch
from math import inf, sqrt
from typing import Any

import numpy as np

from ..._typing import Array, Indices
from ...losses import Logistic as LogisticLoss
from ...losses import Loss, Squared
from ...penalties import (
    L1,
    Box,
    ElasticNet,
    ElasticNetBall,
    FusedLasso,
    GeneralizedLasso,
    GraphTotalVariation,
    GroupL2,
    L1Ball,
    L2Norm,
    LInf,
    NonNegativeL1,
    Penalty,
    Separable,
    SparseGroup,
    SquaredL2,
    SquaredL2OnL1Ball,
    TotalVariation,
    WeightedL1,
)
from ...problems import Problem
from ...problems.robust import RobustProblem
from .cones import EuclideanNorms
from .epigraphs import (
    DoubtfulLabels,
    EuclideanEpigraph,
    SquareEpigraph,
    SumEpigraph,
)
from .maps import Coefficients, Combinations, Differences
from .programme import Programme, RobustProgramme, basis_of
from .settings import SETTINGS
from .terms import Intervals, Logistic, Quadratic, Term

__all__ = [
    "PENALTIES", "add_groups", "bound_coefficients", "has_programme", "has_terms", "loss_terms",
    "programme_of",
]  # fmt: skip


@singledispatch
def programme_of(problem: Problem) -> Programme:
    """The programme of a problem, for a loss and a penalty with terms."""
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
    size = sqrt(float(np.sum(problem.squares[: problem.n_features])))
    lam = SETTINGS.first_radius / max(epsilon, size)
    flipped = min(1.0 / 3.0, SETTINGS.first_flip * epsilon / kappa)
    place = programme.new_unknown(lam, epsilon)
    rows = programme.predictions, programme.y, programme.weights
    programme.losses = [DoubtfulLabels(*rows, kappa, place, flipped, programme.x)]
    multiplier = epsilon - kappa * flipped
    if problem.q == inf:
        bound_coefficients(programme, place, multiplier)
        return programme
    epigraph = SumEpigraph if problem.q == 1 else EuclideanEpigraph
    programme.penalties.append(epigraph(
        problem.n_features, place, programme.new_unknown(0.0), lam, multiplier,
        programme.share,
    ))  # fmt: skip
    return programme


def loss_terms(loss: Loss, programme: Programme) -> list[Term]:
    """The terms of the losses of all rows."""
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


def has_terms(loss: Loss) -> bool:
    """Whether there are terms for a loss of single predictions."""
    return type(loss) in SMOOTH_TERMS or loss.pieces(np.empty(0)) is not None


def _all(programme: Programme) -> Indices:
    """The indices of all coefficients."""
    return np.arange(programme.n_features)


def _add_l1(programme: Programme, some: Indices, weight: float | Array) -> None:
    """Add the terms weight_j |w_j| of some coefficients."""
    programme.penalties.append(Intervals(
        Coefficients(some), lower=-weight, upper=weight, share=programme.share, x=programme.x,
        width=programme.width[some],
    ))  # fmt: skip


def _add_limit(
    programme: Programme, some: Indices, sign: float, limit: float | Array, slope: float | Array
) -> None:
    """Add the constraints sign w_j <= limit_j and terms slope_j |w_j| of some coefficients."""
    widths = programme.width[some]
    programme.penalties.append(Intervals(
        Coefficients(some), sign=sign, offset=sign * limit, lower=-slope, upper=inf,
        share=programme.share, x=programme.x, width=widths,
        slope=np.where(slope > 0.0, slope, programme.problem.objective_unit / widths),
    ))  # fmt: skip


def add_groups(programme: Programme, starts: Indices, weights: Array) -> None:
    """Add the weighted Euclidean norms of groups of consecutive coefficients."""
    counts = np.diff(starts)
    squares = programme.width[: starts[-1]] ** 2
    width = np.sqrt(np.add.reduceat(squares, starts[:-1]) / counts)
    programme.penalties.append(
        EuclideanNorms(starts, weights, programme.share, width * np.sqrt(counts))
    )


def bound_coefficients(programme: Programme, place: int, multiplier: float) -> None:
    """Add the constraints abs(w_j) <= t, where t is the unknown at the index ``place``."""
    d = programme.n_features
    for sign in (1.0, -1.0):
        programme.penalties.append(Intervals(
            Coefficients(np.arange(d), place, -sign), sign=sign, lower=0.0, upper=inf,
            share=programme.share, x=programme.x, width=float(programme.x[place]),
            slope=SETTINGS.first_slope * multiplier / d,
        ))  # fmt: skip


def _separable(penalty: Any, programme: Programme) -> None:
    """Add terms for kinks, bounds and squares, each for the coefficients that have them."""
    alpha = programme.problem.alpha
    l1, l2, lower, upper = (np.broadcast_to(x, programme.n_features) for x in penalty.terms)
    programme.ridge[: programme.n_features] += alpha * l2
    two_sided = np.flatnonzero((l1 > 0.0) & (lower < 0.0) & (upper > 0.0))
    if len(two_sided):
        _add_l1(programme, two_sided, alpha * l1[two_sided])
    for sign, limit in ((1.0, upper), (-1.0, -lower)):
        some = np.flatnonzero(np.isfinite(limit))
        # with a bound of 0, the l1 term is part of the limit, as w_j has one sign
        one_sided = np.where(limit[some] == 0.0, alpha * l1[some], 0.0)
        if len(some):
            _add_limit(programme, some, sign, limit[some], one_sided)


def _l1_ball(penalty: L1Ball | SquaredL2OnL1Ball, programme: Programme) -> None:
    problem, radius = programme.problem, penalty.radius
    programme.ridge[: programme.n_features] += problem.alpha * penalty.without_ridge()[0]
    # a larger ball decreases the objective by at most the loss of the best constant
    programme.penalties.append(SumEpigraph(
        programme.n_features, None, programme.new_unknown(0.0), radius,
        problem.objective_unit / radius, programme.share,
    ))  # fmt: skip


def _elastic_net_ball(penalty: ElasticNetBall, programme: Programme) -> None:
    """Add the constraint of an elastic net ball, with lam the part of the l1 norm."""
    radius, l1, d = penalty.radius, penalty.l1_ratio, programme.n_features
    lam, multiplier = SETTINGS.first_l1_part * radius, programme.problem.objective_unit / radius
    place = programme.new_unknown(lam, size=radius)
    programme.penalties.append(SumEpigraph(
        d, place, programme.new_unknown(0.0), lam, multiplier, programme.share, l1,
    ))  # fmt: skip
    programme.penalties.append(SquareEpigraph(
        d, place, programme.new_unknown(0.0), radius, lam, multiplier, programme.share, 1.0 - l1,
    ))  # fmt: skip


def _l2(penalty: L2Norm, programme: Programme) -> None:
    alpha, d = programme.problem.alpha, programme.n_features
    add_groups(programme, np.array([0, d]), np.array([alpha]))


def _l_infinity(penalty: LInf, programme: Programme) -> None:
    alpha = programme.problem.alpha
    place = programme.new_unknown(float(np.max(programme.width)), alpha)
    bound_coefficients(programme, place, alpha)


def _groups(penalty: GroupL2 | SparseGroup, programme: Programme) -> None:
    alpha = programme.problem.alpha
    l1, _ = penalty.group_terms
    _, starts, weights = penalty.penalised_first
    if l1 > 0.0:
        _add_l1(programme, _all(programme), alpha * l1)
    if len(weights):
        add_groups(programme, starts, alpha * weights)


def _total_variation(penalty: TotalVariation, programme: Programme) -> None:
    if programme.n_features > 1:
        _add_l1(programme, _all(programme)[1:], programme.problem.alpha)


def _fused_lasso(penalty: FusedLasso, programme: Programme) -> None:
    alpha = programme.problem.alpha
    _add_l1(programme, _all(programme), alpha * penalty.l1_ratio)
    if penalty.l1_ratio < 1.0 and programme.n_features > 1:
        weight = alpha * (1.0 - penalty.l1_ratio)
        programme.penalties.append(Intervals(
            Differences(programme.n_features), lower=-weight, upper=weight, share=programme.share,
            x=programme.x, width=np.minimum(programme.width[1:], programme.width[:-1]),
        ))  # fmt: skip


def _combinations(penalty: GeneralizedLasso | GraphTotalVariation, programme: Programme) -> None:
    matrix, alpha = penalty.combinations.toarray(), programme.problem.alpha
    widths = np.abs(matrix) @ programme.width
    programme.penalties.append(Intervals(
        Combinations(matrix, programme.new_rows(matrix)), lower=-alpha, upper=alpha,
        share=programme.share, x=programme.x, width=np.where(widths > 0.0, widths, 1.0),
    ))  # fmt: skip


def has_programme(penalty: Penalty) -> bool:
    """Whether there are terms for a penalty."""
    return type(penalty) in PENALTIES


PENALTIES: dict[type[Penalty], Callable] = {
    **dict.fromkeys(
        (L1, NonNegativeL1, SquaredL2, ElasticNet, Box, WeightedL1, Separable), _separable
    ),
    L1Ball: _l1_ball,
    SquaredL2OnL1Ball: _l1_ball,
    ElasticNetBall: _elastic_net_ball,
    L2Norm: _l2,
    LInf: _l_infinity,
    GroupL2: _groups,
    SparseGroup: _groups,
    TotalVariation: _total_variation,
    FusedLasso: _fused_lasso,
    GeneralizedLasso: _combinations,
    GraphTotalVariation: _combinations,
}
