"""The programme of a problem: its unknowns and terms in the interior-point method."""

from math import inf
from typing import Any, Self

import numpy as np

from ..._typing import Array, Indices
from ...designs import Design
from ...losses.base import LinearPiece
from ...penalties import Penalty, Structure
from ...problems import Point, Problem
from .absolute_values import SumEpigraph
from .coefficient_bases import CentredFeatures, basis_of
from .cones import EuclideanNorms
from .constraints import constraint_terms
from .epigraphs import SquareEpigraph
from .maps import Coefficients, Map, Predictions
from .settings import SETTINGS
from .systems import FeatureSystem, NewtonSystem, RowSystem
from .terms import DualTerm, Equality, Intervals, Quadratic, SmoothLoss, Term


class Programme:
    """The problem of minimising cost.x + x' diag(ridge) x / 2 + the terms over unknowns x.

    X is copied, in a basis that suits the penalty, with a column of ones for an intercept. The
    columns of an array are centred, with the intercept b + mean.w. This does not change the
    objective, and makes the Gram matrix accurate for features far from 0. Without an intercept
    such features are centred as well, and the column of ones has the coefficient mean.w.

    Losses and penalties add their terms by the methods that `Loss.add_cones` and
    `Penalty.add_cones` list, of which those for several outputs are in
    `skpd.solvers.interior.outputs`.

    Attributes
    ----------
    x : ndarray of shape (n_unknowns,)
        The coefficients, the intercept, and additional unknowns (`new_unknown`).
    terms : list of Term
    losses : list of Term
        The terms of the rows.
    other_scales : ndarray of shape (n_unknowns - n_coefficients,)
        The approximate sizes of the other unknowns.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.counted = np.flatnonzero(problem.weights > 0.0)
        self.y, self.weights = problem.y[self.counted], problem.weights[self.counted]
        self.n_coefficients = problem.design.shape[1]
        self.basis = basis_of(problem.penalty, self.n_coefficients)
        self.mean = np.zeros(self.n_coefficients)
        self.design = self._data()
        d = self.n_coefficients
        self.x = np.zeros(self.design.shape[1])
        if problem.fit_intercept:
            self.x[d:] = self._first_intercept()
        self.cost, self.ridge = np.zeros_like(self.x), np.zeros_like(self.x)
        self.other_scales = np.full(len(self.x) - d, problem.prediction_scale)
        # the product of a term of the penalty, relative to that of a row
        self.share = 1.0 / float(problem.total_weight or len(self.y))
        # the size of coefficients that change predictions by their scale
        sizes = self.sizes
        sizes = np.where(sizes > 0.0, sizes, float(np.max(sizes, initial=0.0)) or 1.0)
        self.width = problem.prediction_scale / sizes
        is_small = self._has_mean_unknown or problem.constraints is not None
        if is_small and problem.penalty.is_norm:
            # coefficients may be small for their features, as they contribute to the mean of the
            # predictions or obey constraints; an upper bound on R at the optimum bounds their size
            self.width = np.minimum(self.width, problem.objective_unit / problem.alpha)
        self.predictions = Predictions(self.design)
        self.extra_rows = np.empty((0, self.n_coefficients))
        self.losses: list[DualTerm] = []
        self.penalties: list[Term] = []
        self.constraints: list[tuple[DualTerm, Indices]] = []
        if self._has_mean_unknown:
            for normal in self._normals():
                self.penalties.append(Equality(normal, self.new_unknown(0.0), self.x, d))

    @property
    def _has_mean_unknown(self) -> bool:
        """Whether a column of ones stands for the means of the features, without an intercept."""
        return not self.problem.fit_intercept and self.design.shape[1] > self.n_coefficients

    def _first_intercept(self) -> Any:
        return self.problem.null_point.intercept

    def _normals(self) -> Array:
        """The normals of the equations that define the coefficients of columns of ones.

        Without an intercept, the coefficient of the column of ones is mean.w.
        """
        return np.append(self.mean, -1.0)[np.newaxis]

    def _data(self) -> Design:
        problem, d = self.problem, self.n_coefficients
        X, n = problem.design.rows_as_they_are(self.counted), len(self.counted)
        ones = problem.fit_intercept
        sparse = not isinstance(X, np.ndarray) and X.nnz < SETTINGS.dense_share * n * d
        if sparse and not self.basis.dense:
            design = Design(self.basis.columns(X))
            self.sizes = design.column_norms(self.weights)
            return design.with_ones() if ones else design
        values = X if isinstance(X, np.ndarray) else X.toarray()
        centred = CentredFeatures(values, self.weights, ones, self.basis)
        self.sizes = centred.sizes
        if not (ones or centred.is_far):
            return Design(self.basis.columns(np.asarray(values, dtype=np.float64)))
        self.mean = centred.mean
        return Design(centred.table).with_ones()

    def new_unknown(self, value: float, cost: float = 0.0, size: float | None = None) -> int:
        """Add an unknown with an initial value, cost and approximate size; return its index."""
        self.x = np.append(self.x, value)
        self.other_scales = np.append(
            self.other_scales, self.problem.prediction_scale if size is None else size
        )
        self.cost, self.ridge = np.append(self.cost, cost), np.append(self.ridge, 0.0)
        return len(self.x) - 1

    def posed(self) -> Self:
        """The programme with the terms of its problem: loss, penalty and constraints."""
        if self.problem.constraints is not None:
            self.constraints = constraint_terms(self)
            self.penalties += [term for term, _ in self.constraints]
        self._add_loss_and_penalty()
        return self

    def _add_loss_and_penalty(self) -> None:
        self.problem.loss.add_cones(self)
        self.problem.penalty.add_cones(self, self.problem.alpha)

    @property
    def terms(self) -> list[Term]:
        return [*self.losses, *self.penalties]

    def system(self, precise: bool = False) -> NewtonSystem:
        """The Newton system, with a matrix of the smaller side of X unless it is precise."""
        rows, d = self._rows_of_system(), self.n_coefficients
        n = rows.shape[0]
        by_rows = not precise and n < d and d > SETTINGS.few_features
        by_rows &= not needs_features(self.problem.penalty)
        kind = RowSystem if by_rows else FeatureSystem
        return kind(rows, d, len(self.x) - rows.shape[1], precise)

    def new_rows(self, matrix: Array) -> Indices:
        """Add rows to the Newton system after those of the data, and return their indices.

        Terms of these rows have a curvature of the same form as the losses of data rows.
        """
        first = len(self.y) + len(self.extra_rows)
        self.extra_rows = np.vstack([self.extra_rows, matrix])
        return np.arange(first, first + len(matrix))

    def _rows_of_system(self) -> Design:
        """The design with all rows over which a Newton system sums the curvature."""
        if not len(self.extra_rows):
            return self.design
        rows = np.zeros((len(self.extra_rows), self.design.shape[1]))
        rows[:, : self.n_coefficients] = self.extra_rows
        return self.design.with_rows(rows)

    def point(self) -> Point:
        x = self.x.copy()
        for term in reversed(self.penalties):  # equalities, which come first, are restored last
            term.move_onto_kinks(x)
        return self._point_of(x)

    def _point_of(self, x: Array) -> Point:
        coef = self.basis.coef(x[: self.n_coefficients])
        theta = self._dual_coef()
        if self.problem.constraints is not None:
            mu = np.zeros(len(self.problem.constraints))
            for term, rows in self.constraints:
                mu[rows] += term.multipliers
            theta = np.append(theta, mu)
        return Point(coef, self._intercept(x), theta)

    def _intercept(self, x: Array) -> Any:
        d = self.n_coefficients
        return float(x[d] - self.mean @ x[:d]) if self.problem.fit_intercept else 0.0

    def _dual_coef(self) -> Array:
        theta = np.zeros(self.problem.n_samples)
        theta[self.counted] = sum(term.multipliers for term in self.losses)
        return theta

    def add_half_squares(self) -> None:
        self.losses.append(Quadratic(self.predictions, self.y, self.weights, self.x))

    def add_smooth(self) -> None:
        evaluator = self.problem.loss.evaluator
        self.losses.append(SmoothLoss(self.predictions, evaluator, self.y, self.weights, self.x))

    def add_pieces(self, pieces: list[LinearPiece]) -> None:
        for piece in pieces:
            self.losses.append(Intervals(
                self.predictions, sign=piece.sign, offset=piece.offset, lower=piece.lower,
                upper=piece.upper, q=piece.curvature, weights=self.weights, x=self.x,
                width=self.problem.prediction_scale,
            ))  # fmt: skip

    def _add(self, image: Map, **term: Any) -> Intervals:
        """Add a term that is linear in pieces (`Intervals`) to those of the penalty."""
        added = Intervals(image, share=self.share, x=self.x, **term)
        self.penalties.append(added)
        return added

    def add_separable(self, l1: Any = 0, l2: Any = 0, lower: Any = -inf, upper: Any = inf) -> None:
        """Add terms for kinks, bounds and squares, each for the coefficients that have them."""
        l1, l2, lower, upper = np.broadcast_arrays(l1, l2, lower, upper, self.width)[:4]
        self.ridge[: self.n_coefficients] += l2
        indices = np.flatnonzero((l1 > 0.0) & (lower < 0.0) & (upper > 0.0))
        if len(indices):
            width, l1_weights = self.width[indices], l1[indices]
            self._add(Coefficients(indices), lower=-l1_weights, upper=l1_weights, width=width)
        for sign, limit in ((1.0, upper), (-1.0, -lower)):
            indices = np.flatnonzero(np.isfinite(limit))
            if len(indices):
                # with a bound of 0, the l1 term is part of the limit, as w_j has one sign
                slope = np.where(limit[indices] == 0.0, l1[indices], 0.0)
                width = self.width[indices]
                self._add(
                    Coefficients(indices), sign=sign, offset=sign * limit[indices], lower=-slope,
                    upper=inf, width=width,
                    slope=np.where(slope > 0.0, slope, self.problem.objective_unit / width),
                )  # fmt: skip

    def add_group_norms(self, starts: Indices, weights: Array) -> None:
        if len(weights):
            counts = np.diff(starts)
            squares = self.width[: starts[-1]] ** 2
            width = np.sqrt(np.add.reduceat(squares, starts[:-1]) / counts)
            self.penalties.append(
                EuclideanNorms(starts, weights, self.share, width * np.sqrt(counts))
            )

    def add_largest_size(self, weight: float) -> None:
        place = self.new_unknown(float(np.max(self.width)), weight)
        self.bound_coefficients(self.n_coefficients, place, weight)

    def bound_coefficients(self, d: int, index: int, multiplier: float) -> list[Intervals]:
        """Add the constraints |w_j| <= t for the first d coefficients and the unknown t."""
        return [
            self._add(
                Coefficients(np.arange(d), index, -sign), sign=sign, lower=0.0, upper=inf,
                width=float(self.x[index]), slope=SETTINGS.first_share * multiplier / d,
            )
            for sign in (1.0, -1.0)
        ]  # fmt: skip

    def add_l1_ball(self, radius: float) -> None:
        # a larger ball decreases the objective by at most the loss of the best constant
        self.penalties.append(SumEpigraph(
            self.n_coefficients, None, self.new_unknown(0.0), radius,
            self.problem.objective_unit / radius, self.share,
        ))  # fmt: skip

    def add_elastic_net_ball(self, radius: float, l1_ratio: float) -> None:
        """Add the constraint of an elastic net ball, with lam the part of the l1 norm."""
        d, lam = self.n_coefficients, SETTINGS.first_share * radius
        multiplier = self.problem.objective_unit / radius
        place = self.new_unknown(lam, size=radius)
        self.penalties.append(SumEpigraph(
            d, place, self.new_unknown(0.0), lam, multiplier, self.share, l1_ratio,
        ))  # fmt: skip
        self.penalties.append(SquareEpigraph(
            d, place, self.new_unknown(0.0), lam, multiplier, self.share, radius, 1.0 - l1_ratio,
        ))  # fmt: skip

    def add_differences(self, weight: float) -> None:
        if weight > 0.0 and self.n_coefficients > 1:
            image, width = self.basis.differences(self.width)
            self._add(image, lower=-weight, upper=weight, width=width)


def needs_features(penalty: Penalty) -> bool:
    """Whether systems must be over the features: the penalty's curvature is singular or banded."""
    return penalty.structure is Structure.CHAINED or len(penalty.free_features.columns) > 0
