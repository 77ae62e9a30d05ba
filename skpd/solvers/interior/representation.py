"""The terms that losses and penalties have in a programme of the interior-point method."""

from math import inf, sqrt
from typing import Any

import numpy as np

from ..._typing import Array, Indices
from ...losses.cones import LinearPiece
from .absolute_values import LargestSizes, SquaredSums, SumEpigraph
from .cones import EuclideanNorms
from .epigraphs import SquaredSumOfNorms, SquareEpigraph
from .loss_terms import (
    CoupledPredictions,
    Intervals,
    LargestScores,
    Quadratic,
    RowNorms,
    SmoothLoss,
    SoftmaxRows,
)
from .maps import Coefficients, Map, OutputDifferences, WithColumn
from .programme import Programme
from .settings import SETTINGS
from .trace_norm import TraceNorm


class Representation:
    """The representation by cones of losses and penalties, which add their terms to a programme.

    It has the functions of `LossCones` and `PenaltyCones`.

    Parameters
    ----------
    programme : Programme
    """

    def __init__(self, programme: Programme) -> None:
        self.programme, self.problem = programme, programme.problem
        self.y, self.n_coefficients = programme.y, programme.n_coefficients
        self.width, self.share, self.unit = programme.width, programme.share, programme.unit
        self.new_unknown, self.penalties = programme.new_unknown, programme.penalties

    # Losses

    def add_half_squares(self) -> None:
        self.programme.losses.append(Quadratic(*self._rows))

    def add_smooth(self) -> None:
        self.programme.losses.append(SmoothLoss(*self._rows, self.problem.loss.evaluator))

    @property
    def _rows(self) -> tuple[Map, Array, Array, Array]:
        programme = self.programme
        return programme.predictions, self.y, programme.weights, programme.x

    def add_pieces(self, pieces: list[LinearPiece]) -> None:
        for sign, offset, lower, upper, q in pieces:
            self._add_intervals(sign=sign, offset=offset, lower=lower, upper=upper, q=q)

    def _add_intervals(self, **term: Any) -> None:
        """Add a term of the rows that is linear or quadratic in pieces (`Intervals`)."""
        programme = self.programme
        programme.losses.append(Intervals(
            programme.predictions, weights=programme.weights, x=programme.x,
            width=programme.scale, **term,
        ))  # fmt: skip

    @property
    def _coupled(self) -> CoupledPredictions:
        """The data of the terms of losses of several predictions."""
        programme, K = self.programme, self.problem.loss.n_outputs
        weights = np.ascontiguousarray(programme.weights[::K])
        return CoupledPredictions(
            programme.predictions, self.y.reshape(-1, K), weights, programme.x
        )

    def add_largest_scores(self) -> None:
        self.programme.losses.append(LargestScores(self._coupled))

    def add_row_norms(self) -> None:
        self.programme.losses.append(RowNorms(self._coupled, self.programme.scale))

    def add_softmax(self) -> None:
        self.programme.losses.append(SoftmaxRows(self._coupled, self.problem.loss))

    def add_ordered_pinballs(self, quantiles: tuple[float, ...]) -> None:
        rows, K = self._coupled, len(quantiles)
        levels = np.tile(quantiles, len(rows.y))
        self._add_intervals(offset=self.y, lower=-levels, upper=1.0 - levels)
        self.programme.losses.append(Intervals(
            OutputDifferences(self.programme.design, K), lower=0.0, upper=inf,
            weights=np.repeat(rows.weights, K - 1), x=rows.x, width=self.programme.scale,
        ))  # fmt: skip

    # Penalties of coefficients

    def _add(self, image: Map, **term: Any) -> Intervals:
        """Add a term that is linear in pieces (`Intervals`) to those of the penalty."""
        added = Intervals(image, share=self.share, x=self.programme.x, **term)
        self.penalties.append(added)
        return added

    def add_separable(self, l1: Any = 0, l2: Any = 0, lower: Any = -inf, upper: Any = inf) -> None:
        """Add terms for kinks, bounds and squares, each for the coefficients that have them."""
        l1, l2, lower, upper = np.broadcast_arrays(l1, l2, lower, upper, self.width)[:4]
        self.programme.ridge[: self.n_coefficients] += l2
        indices = np.flatnonzero((l1 > 0.0) & (lower < 0.0) & (upper > 0.0))
        if len(indices):
            width, weights = self.width[indices], l1[indices]
            self._add(Coefficients(indices), lower=-weights, upper=weights, width=width)
        for sign, limit in ((1.0, upper), (-1.0, -lower)):
            indices = np.flatnonzero(np.isfinite(limit))
            if len(indices):
                # with a bound of 0, the l1 term is part of the limit, as w_j has one sign
                slope = np.where(limit[indices] == 0.0, l1[indices], 0.0)
                width = self.width[indices]
                self._add(
                    Coefficients(indices), sign=sign, offset=sign * limit[indices], lower=-slope,
                    upper=inf, width=width,
                    slope=np.where(slope > 0.0, slope, self.unit / width),
                )  # fmt: skip

    def add_differences(self, weight: float) -> None:
        if weight > 0.0 and self.n_coefficients > 1:
            image, width = self.programme.basis.differences(self.width)
            self._add(image, lower=-weight, upper=weight, width=width)

    def add_largest_size(self, weight: float) -> None:
        place = self.new_unknown(float(np.max(self.width)), weight)
        self.bound_coefficients(self.n_coefficients, place, weight)

    def bound_coefficients(self, d: int, index: int, multiplier: float) -> list[Intervals]:
        """Add the constraints |w_j| <= t for the first d coefficients and the unknown t."""
        width, slope = float(self.programme.x[index]), SETTINGS.first_share * multiplier / d
        return [
            self._add(
                WithColumn(Coefficients(np.arange(d)), -sign, index), sign=sign, lower=0.0,
                upper=inf, width=width, slope=slope,
            )
            for sign in (1.0, -1.0)
        ]  # fmt: skip

    def add_l1_ball(self, radius: float) -> None:
        self._add_sum_epigraph(None, radius, radius)

    def add_elastic_net_ball(self, radius: float, l1_ratio: float) -> None:
        """Add the constraint of an elastic net ball, with lam the part of the l1 norm."""
        lam = SETTINGS.first_share * radius
        place = self.new_unknown(lam, size=radius)
        multiplier = self._add_sum_epigraph(place, lam, radius, l1_ratio)
        self.penalties.append(SquareEpigraph(
            self.n_coefficients, place, self.new_unknown(0.0), lam, multiplier, self.share,
            radius, 1.0 - l1_ratio,
        ))  # fmt: skip

    def _add_sum_epigraph(
        self, place: int | None, lam: float, radius: float, l1: float = 1.0
    ) -> float:
        """Add l1 ||w||_1 <= lam, and return the initial multiplier."""
        # a larger ball decreases the objective by at most the loss of the best constant
        multiplier = self.unit / radius
        self.penalties.append(SumEpigraph(
            self.n_coefficients, place, self.new_unknown(0.0), lam, multiplier, self.share, l1
        ))  # fmt: skip
        return multiplier

    # Penalties of groups and matrices

    def add_group_norms(self, starts: Indices, weights: Array) -> None:
        if len(weights):
            width = self._width_of_groups(starts)
            self.penalties.append(EuclideanNorms(starts, weights, self.share, width))

    def _width_of_groups(self, starts: Indices, max_sum: float = inf) -> Array:
        """Initial bounds on the norms of groups, whose sum is at most ``max_sum``."""
        width = self.width[: starts[-1]]
        size = float(np.max(width))  # the squares are scaled by it, as they may underflow
        width = size * np.sqrt(np.add.reduceat((width / size) ** 2, starts[:-1]))
        return width * min(1.0, max_sum / float(np.sum(width)))

    def add_largest_sizes(self, starts: Indices, weights: Array) -> None:
        if len(weights):
            # the penalty at an optimum is at most the objective at W = 0
            width = self._width_of_groups(starts, self.unit / float(np.min(weights)))
            self.penalties.append(LargestSizes(starts, self.share, weights, width))

    def add_squared_sums(self, starts: Indices, weight: float) -> None:
        norm = float(np.linalg.norm(np.diff(starts).astype(np.float64)))
        bounds = np.full(self.n_coefficients, sqrt(self.unit / weight) / norm)
        self.penalties.append(SquaredSums(starts, self.share, weight, bounds))

    def add_squared_sum_of_norms(self, starts: Indices, weight: float) -> None:
        width = self._width_of_groups(starts, sqrt(self.unit / weight))
        tau = 2.0 * weight * float(np.sum(width))
        place = self.new_unknown(tau, size=tau)
        self.penalties.append(SquaredSumOfNorms(starts, weight, self.share, width, place))

    def add_trace_norm(self, shape: tuple[int, int], weight: float) -> None:
        size = min(float(np.linalg.norm(self.width)), self.unit / weight)
        self.penalties.append(TraceNorm(shape, weight, self.share, size))

    def add_trace_norm_ball(self, shape: tuple[int, int], radius: float) -> None:
        # a larger ball decreases the objective by at most the loss of the best constant
        place, tau = self.new_unknown(0.0), self.unit / radius
        size = 2.0 * radius / sum(shape)
        self.penalties.append(TraceNorm(shape, tau, self.share, size, place, radius))
