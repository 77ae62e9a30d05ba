"""Kernel machines: functions f_k in the Hilbert spaces (RKHS) of one or several kernels.

With K_k the RKHS kernel matrices between the rows, c weights that sum to 1, and R a function of
the norms of the f_k,

    primal   P(f, b) = sum_i c_i l_i(sum_k f_k(x_i) + b) + alpha R(||f_1||, ||f_2||, ...)
    dual     D(theta) = - sum_i c_i l_i*(theta_i) - (alpha R)*(||v_1||, ||v_2||, ...)
             where ||v_k||^2 = (c theta)' K_k (c theta).

A solver uses a decomposition K_k = L_k L_k' + E_k with a low-rank factor L_k
(`skpd.designs.KernelMatrix`). The columns of L_k are features, with a group of coefficients w_k
such that ||f_k|| = ||w_k||. This problem is over a subset of all functions, so that its objective
values are upper bounds. The products of a dual point with the residual features, those of a factor
of E_k, are not computed one by one. But their norm is known, as ||v_k||^2 is computed from K_k
itself. Each group has an additional coefficient that stands for the residual features. Its column
of the design is 0, and the product of a dual point with it is that norm, rounded up. So a bound
is valid whatever the accuracy of the factor.

A matrix K of kernel values in floating point is seldom positive semidefinite, and predictions are
computed with K itself. So let S >= 0 be a diagonal matrix for which K + S / 2 is positive
semidefinite, and use the norm of K + S: a function sum_i a_i k(x_i, .) has the values K a and the
squared norm a'(K + S) a, which is at least a'K a, so that P is at least the objective of the
function that predicts. For every number t and sign ::

    (a +- t x)'K (a +- t x)  >=  - (a +- t x)'S (a +- t x) / 2  >=  - a'S a - t^2 x'S x,

    thus  a'(K + S) a +- 2 t x'K a + t^2 x'(K + S) x  >=  0   for every t,

which is the Cauchy-Schwarz inequality (x'K a)^2 <= a'(K + S) a x'(K + S) x, as it holds without S
for a positive semidefinite K. The proof needs no other property of K. With x = c theta and the
norms of K + S this inequality and that of Fenchel and Young give D(theta) <= P(a, b), for R
applied to norms; with x a unit vector it gives the intervals of intercepts. Where K is positive
semidefinite, the interval from D to P contains the optimum of K itself, as S decreases D and
increases P.

A solver works on K + S only, so that its objective value may be below the least P, but not below
the largest D. A bound that assumes P <= U, by a radius U / alpha, also holds in this case if U is
its largest value: where P > U, it is at most P.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, sqrt
from typing import Any

import numpy as np

from .. import kernels
from .._floats import EPSILON
from .._typing import Array
from ..certificates.objective import Sum
from ..designs import Design, KernelFactor, KernelMatrix
from ..losses import Loss
from ..penalties import Penalty, SquaredL2
from .columns import Columns
from .dual_points import RowPoint
from .in_memory import FLAT, RowsInMemory
from .problem import Problem
from .solution import Point

PenaltyOf = Callable[[Array], Penalty]
# The largest reduction of a bound by the residuals, as a share of the requested gap
RESIDUAL_SHARE = 0.1


@dataclass(frozen=True, eq=False)
class ExpandedModel:
    """A model whose functions are sums over the rows, f_k = sum_i a_ki k_k(x_i, .).

    Attributes
    ----------
    weights : ndarray of shape (n_kernels, n_samples)
        The numbers a_ki.
    intercept : float
    norms : ndarray of shape (n_kernels,)
        The norms ||f_k||.
    objective : float
        The objective value P, rounded up.
    """

    weights: Array
    intercept: float
    norms: Array
    objective: float


@dataclass(frozen=True, eq=False)
class KernelProblem(Problem):
    """A problem whose features are columns of factors of kernel matrices.

    Parameters
    ----------
    rows, columns, workspace, free
        See `skpd.problems.Problem`. The rows have a group of columns for each kernel: those of
        its factor, and a column of zeros. The penalty is a function of the Euclidean norms of
        these groups.
    matrices : tuple of KernelMatrix
    factors : tuple of KernelFactor
    penalty_of : callable
        Returns the penalty for a vector with the index of the kernel of each coefficient.
    """

    matrices: tuple[KernelMatrix, ...] = ()
    factors: tuple[KernelFactor, ...] = ()
    penalty_of: PenaltyOf | None = None

    @cached_property
    def squares(self) -> Array:  # type: ignore[override]
        """The sums sum_i c_i x_ij^2, with sum_i c_i E_ii for the residual features."""
        squares = self.design.column_norms(self.weights) ** 2
        for end, factor in zip(self.ends, self.factors, strict=True):
            squares[end - 1] = float(self.weights @ factor.residual)
        return np.append(squares, 1.0) if self.fit_intercept else squares

    @cached_property
    def ends(self) -> Array:
        """The end of the group of columns of each kernel."""
        return np.cumsum([factor.rank + 1 for factor in self.factors])

    def groups_of(self, coef: Array) -> list[Array]:
        """The coefficients of each kernel, without those that stand for residual features."""
        return [part[:-1] for part in np.split(coef, self.ends[:-1])]

    def norms_of(self, coef: Array) -> Array:
        """The norms ||f_k|| of the kernels."""
        return np.array([kernels.euclidean_norm(part) for part in self.groups_of(coef)])

    def row_point(self, theta: Array) -> RowPoint:
        return KernelPoint(self, theta)

    def residual_cost(self, theta: Array, upper: float) -> float:
        """An estimate of the reduction of a bound by the residual features."""
        v = KernelPoint(self, theta).products(precise=False)[0]
        without = v.copy()
        without[self.ends - 1] = 0.0
        penalty, radius = self.penalty, upper / self.alpha
        costs = [penalty.bounded_conjugate(u, self.alpha, radius) for u in (v, without)]
        return float(costs[0] - costs[1])

    @property
    def has_pairs(self) -> bool:
        """Whether the method of pairs applies: one kernel, squared norm, piecewise quadratic loss.

        Losses with constant curvature are excluded.
        """
        loss, penalty = self.loss, self.penalty
        own_method = loss.is_compiled and loss.piecewise_quadratic and not loss.constant_curvature
        return own_method and len(self.matrices) == 1 and penalty == SquaredL2()

    @property
    def features_say_nothing(self) -> bool:
        cost = self.residual_cost(self.null_point.dual_coef, self.null_objective)
        return cost <= FLAT * self.null_objective and super().features_say_nothing

    @property
    def is_complete(self) -> bool:
        """Whether all factors have reached the largest possible accuracy."""
        return all(factor.is_complete for factor in self.factors)

    def expanded(self, point: Point, accuracy: float = 0.0) -> ExpandedModel:
        """The model of a point as sums over the rows, with non-zero weights at the pivots only.

        Its objective value is recomputed, in twice the working precision where rounding errors are
        larger than ``accuracy``.
        """
        parts = zip(self.factors, self.groups_of(point.coef), strict=True)
        weights = np.stack([f.weights(w) for f, w in parts])
        return self._expansion(weights, point.intercept, accuracy)

    def expanded_by_dual(self, point: Point, accuracy: float = 0.0) -> ExpandedModel:
        """The model f_k = -scale_k sum_i c_i theta_i k_k(x_i, .) of a dual point.

        Its weights are sparse where the dual point is, up to rounding: the projections of a
        certificate move zeros by rounding errors, which would make support vectors of all rows.
        """
        x = self.weights * point.dual_coef
        # the largest norms of the functions x_i k(x_i, .)
        sizes = np.abs(x) * np.max([matrix.sizes for matrix in self.matrices], axis=0)
        x = np.where(sizes > EPSILON * np.max(sizes), x, 0.0)
        return self._expansion(-np.outer(self.scales_of(point), x), point.intercept, accuracy)

    def _expansion(self, weights: Array, intercept: float, accuracy: float) -> ExpandedModel:
        """The model with these weights, and its objective value with an error below ``accuracy``.

        Products in twice the working precision are used only where they are necessary.
        """
        for precise in (False, True):
            most, least, norms = self._objective_of(weights, intercept, precise)
            if most - least <= accuracy:
                break
        return ExpandedModel(weights, float(intercept), norms, most)

    def _objective_of(
        self, weights: Array, intercept: float, precise: bool
    ) -> tuple[float, float, Array]:
        """The value P rounded up, P without bounds on rounding errors, and the norms ||f_k||."""
        z, low, error = np.full((3, self.n_samples), [[float(intercept)], [0.0], [0.0]])
        norms, most_norms = np.zeros(self.n_coefficients), np.zeros(self.n_coefficients)
        for matrix, end, a in zip(self.matrices, self.ends, weights, strict=True):
            if a.any():
                product = matrix.product(a, precise)
                high, more, of_product = matrix.predictions_of(a, *product)
                z, low, error = z + high, low + more, error + of_product
                error += EPSILON * (np.abs(z) + np.abs(low))
                value, of_value = matrix.squared_norm_of(a, *product)
                norms[end - 1] = sqrt(max(value, 0.0))
                most_norms[end - 1] = sqrt(max(value + of_value, 0.0))
        most = self.loss.largest_mean(self.y, self.weights, z, low, error)
        most += self.alpha * float(self.penalty.value(most_norms))
        least = float(np.sum(self.weights * self.loss.value(self.y, z, low)))
        least += self.alpha * float(self.penalty.value(norms))
        most = inf if np.isnan(most) else float(most) * (1.0 + 64.0 * EPSILON)
        return most, least, most_norms[self.ends - 1]

    def with_factors(
        self, factors: tuple[KernelFactor, ...], design: Design | None = None
    ) -> "KernelProblem":
        """The problem with other factors and the design of their columns."""
        assert self.penalty_of is not None
        rows = self.rows.with_design(design or _features(factors))
        columns = Columns(self.penalty_of(_labels(factors)), self.alpha)
        return replace(self, rows=rows, columns=columns, factors=factors)

    def with_residuals(self, traces: list[float]) -> "KernelProblem":
        """The problem with factors whose residuals have at most these traces, if possible."""
        pairs = zip(self.matrices, traces, strict=True)
        return self.with_factors(tuple(matrix.factor(trace) for matrix, trace in pairs))

    def start_at(self, coarser: "KernelProblem", point: Any) -> Point:
        """A starting point: the functions of a dual point for a problem with coarser factors."""
        x = self.weights * point.dual_coef
        parts = []
        scales = coarser.scales_of(point)
        for factor, scale in zip(self.factors, scales, strict=True):
            parts += [-scale * (factor.table.T @ x), np.zeros(1)]
        return Point(np.concatenate(parts), point.intercept, point.dual_coef)

    def scales_of(self, point: Any) -> Array:
        """The ratios scale_k = ||f_k|| / ||v_k||.

        At the optimum f_k = -scale_k sum_i c_i theta_i k_k(x_i, .).
        """
        x = self.weights * point.dual_coef
        sizes = np.sqrt([max(matrix.squared_norm(x)[0], 0.0) for matrix in self.matrices])
        norms = self.norms_of(point.coef)
        return np.divide(norms, sizes, out=np.zeros_like(norms), where=sizes > 0.0)

    def residual_traces(self, tol: float) -> list[float]:
        """Traces of residuals whose effect on a bound is small in comparison with ``tol``.

        The residual norm (c theta)' E (c theta) is at most the trace of E times ||c theta||^2.
        The latter is at most sum_i c_i^2 times the squared Lipschitz constant of the loss. It is
        also at most 2 smoothness P max(c), as the squared slope of a loss l is at most
        2 smoothness l. The bound decreases by the residual norm over 2 alpha for half the squared
        norm as penalty, and by about P / alpha^2 times it for a norm.
        """
        upper = self.null_objective
        bounds = [inf]
        if self.loss.lipschitz < inf:
            bounds.append(self.loss.lipschitz**2 * float(self.weights @ self.weights))
        if self.loss.smoothness < inf:
            most = float(np.max(self.weights))
            bounds.append(2.0 * self.loss.smoothness * upper * most)
        square = min(bounds)
        cost = RESIDUAL_SHARE * tol * self.objective_unit
        if not 0.0 < square < inf:
            return [0.0] * len(self.matrices)
        per_trace = 0.5 * square / self.alpha
        if self.penalty.is_norm:
            per_trace *= upper / self.alpha
        trace = cost / per_trace if per_trace > 0.0 else 0.0
        return [trace] * len(self.matrices)


class KernelPoint(RowPoint):
    """A dual point whose products include those with the residual features of the factors."""

    problem: KernelProblem

    def products(self, precise: bool) -> tuple[Array, Array]:
        found, bounds = super().products(precise)
        products, errors = np.array(found), np.array(bounds)
        problem, first = self.problem, 0
        squared_norms = self._squared_norms(precise)
        for end, (square, error) in zip(problem.ends, squared_norms, strict=True):
            known = products[first : end - 1]
            least = kernels.euclidean_norm(known) * (1.0 - 4.0 * EPSILON)
            least -= kernels.euclidean_norm(errors[first : end - 1])
            rest = square - max(least, 0.0) ** 2 * (1.0 - 4.0 * EPSILON)
            most = sqrt(max(rest + error, 0.0)) * (1.0 + 4.0 * EPSILON)
            products[end - 1] = sqrt(max(rest, 0.0))
            errors[end - 1] = (most - products[end - 1]) * (1.0 + EPSILON)
            first = end
        return products, errors

    def _squared_norms(self, precise: bool) -> list[Sum]:
        if precise not in self._known_norms:
            x = self.problem.weights * self.theta
            self._known_norms[precise] = [
                m.squared_norm(x, precise) for m in self.problem.matrices
            ]
        return self._known_norms[precise]

    @cached_property
    def _known_norms(self) -> dict[bool, list[Sum]]:
        return {}


def kernel_problems(
    matrices: list[KernelMatrix], targets: Sequence[Array], weights: Array, *, loss: Loss,
    penalty_of: PenaltyOf, alpha: float, fit_intercept: bool, tol: float,
    total_weight: float | None = None, n_parallel: int = 1,
) -> list[KernelProblem]:  # fmt: skip
    """Kernel problems of the same rows, with factors accurate enough for a relative gap.

    Their factors have no columns if `KernelProblem.has_pairs`, as the method of pairs uses K.

    Parameters
    ----------
    matrices : list of KernelMatrix
    targets : sequence of ndarray of shape (n_samples,)
        The targets y of each problem.
    weights, loss, alpha, fit_intercept, total_weight
        See `skpd.problems.Problem`.
    penalty_of : callable
        Returns the penalty for a vector with the index of the kernel of each coefficient.
    tol : float
        The relative gap.
    n_parallel : int, default=1
        The number of problems that are solved at the same time.

    Returns
    -------
    problems : list of KernelProblem
    """
    empty = tuple(KernelFactor.empty(matrix.diagonal) for matrix in matrices)
    design, labels = _features(empty), _labels(empty)
    columns = Columns(penalty_of(labels), alpha)
    problems = [
        KernelProblem(
            RowsInMemory(design, y, weights, loss, fit_intercept, total_weight), columns,
            matrices=tuple(matrices), factors=empty, penalty_of=penalty_of,
        )
        for y in targets
    ]  # fmt: skip
    if problems[0].has_pairs:  # the method of pairs uses K, not a factor
        return problems
    traces = np.min([problem.residual_traces(tol) for problem in problems], axis=0)
    pairs = zip(matrices, traces.tolist(), strict=True)
    factors = tuple(matrix.factor(trace) for matrix, trace in pairs)
    design = _features(factors).shared_by(n_parallel)
    return [problem.with_factors(factors, design) for problem in problems]


def _labels(factors: tuple[KernelFactor, ...]) -> Array:
    """The index of the kernel of each column, including the columns of the residuals."""
    return np.repeat(np.arange(len(factors)), [factor.rank + 1 for factor in factors])


def _features(factors: tuple[KernelFactor, ...]) -> Design:
    """The design with the columns of all factors, and columns of zeros for the residuals."""
    if len(factors) == 1:
        return Design(factors[0].padded)
    return Design(np.hstack([factor.padded for factor in factors]))
