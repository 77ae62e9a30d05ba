"""Kernel machines: functions f_k in the Hilbert spaces of one or several kernels.

With the matrices K_k of the kernels between the rows, c weights that sum to 1, and R a function
of norms that depends on those of groups of coefficients alone,

    primal   P(f, b) = sum_i c_i l_i(sum_k f_k(x_i) + b) + alpha R(||f_1||, ||f_2||, ...)
    dual     D(theta) = - sum_i c_i l_i*(theta_i) - (alpha R)*(||v_1||, ||v_2||, ...)
             where ||v_k||^2 = (c theta)' K_k (c theta).

A solver sees K_k = L_k L_k' + E_k with a low-rank factor L_k (`skpd.designs.KernelMatrix`), whose
columns are features: a group of coefficients w_k with the norm ||f_k|| = ||w_k||. It is a problem
of some of the functions, so that its objective values are upper bounds. The products of a dual
point with the features left out, those of a factor of E_k, are not known one by one; but their
norm is, as ||v_k||^2 comes from K_k itself. Each group has one more coefficient that stands for
them. Its column of the design is 0, and the product of a dual point with it is that norm,
rounded up: so a bound neither depends on the accuracy of the factor nor trusts it.

A matrix K of kernel values in floating point is seldom positive semidefinite, and predictions are
made by K itself. So let S be a diagonal, at least 0, for which K + S / 2 is positive semidefinite,
and measure with K + S: a function sum_i a_i k(x_i, .) has the values K a and the squared norm
a'(K + S) a, no less than a'K a, so that P is no less than the objective of what predicts. For
every number t and sign ::

    (a +- t x)'K (a +- t x)  >=  - (a +- t x)'S (a +- t x) / 2  >=  - a'S a - t^2 x'S x,

    thus  a'(K + S) a +- 2 t x'K a + t^2 x'(K + S) x  >=  0   for every t,

which is Cauchy and Schwarz's inequality, (x'K a)^2 <= a'(K + S) a x'(K + S) x, as it is of a
positive semidefinite K without S. Nothing else is asked of K: with x = c theta and the norms of
K + S it gives D(theta) <= P(a, b) by Fenchel and Young's inequality, for R applied to norms, and
with x a unit vector the intervals of intercepts. Where K is positive semidefinite the interval
from D to P holds the optimum of K itself: D falls by S, and P rises.

A solver works on K + S throughout, so that what it takes for P may be below the least P, but is
not below the largest D. A bound that presupposes P <= U, by a radius U / alpha, holds in this
case too, if U is its largest value: where P > U it is no more than P.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, sqrt
from typing import Any, ClassVar

import numpy as np

from .. import kernels
from .._floats import EPSILON
from .._typing import Array
from ..certificates.objective import Sum
from ..designs import Design, KernelFactor, KernelMatrix
from ..losses import Loss
from ..penalties import Penalty, SquaredL2
from .column_side import FLAT
from .dual_points import RowPoint
from .problem import Problem
from .solution import Point

__all__ = ["ExpandedModel", "KernelProblem", "kernel_problems"]

PenaltyOf = Callable[[Array], Penalty]
# What the residuals may cost a bound, as a share of the gap that is asked for
RESIDUAL_SHARE = 0.1


@dataclass(frozen=True, eq=False)
class ExpandedModel:
    """Functions as sums over the rows, f_k = sum_i a_ki k_k(x_i, .).

    Attributes
    ----------
    weights : ndarray of shape (n_kernels, n_samples)
        a.
    intercept : float
    norms : ndarray of shape (n_kernels,)
        ||f_k||.
    objective : float
        P, rounded up.
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
    design, y, weights, loss, penalty, alpha, fit_intercept, total_weight, workspace
        As for `skpd.problems.Problem`. The design has a group of columns for each kernel, those
        of its factor and one more of zeros; the penalty depends on the Euclidean norms of these
        groups alone, and not on their signs.
    matrices : tuple of KernelMatrix
    factors : tuple of KernelFactor
    penalty_of : callable
        The penalty, of the number of the kernel to which each coefficient belongs.
    """

    no_path: ClassVar[str] = (
        "Models of kernels make no path: the features of their factors depend on alpha. Fit one "
        "for each alpha."
    )
    matrices: tuple[KernelMatrix, ...] = ()
    factors: tuple[KernelFactor, ...] = ()
    penalty_of: PenaltyOf | None = None

    @cached_property
    def ends(self) -> Array:
        """Where the group of each kernel ends."""
        return np.cumsum([factor.rank + 1 for factor in self.factors])

    def groups_of(self, coef: Array) -> list[Array]:
        """Coefficients kernel by kernel, without those that stand for the residuals."""
        return [part[:-1] for part in np.split(coef, self.ends[:-1])]

    def norms_of(self, coef: Array) -> Array:
        """||f_k|| of each kernel."""
        return np.array([kernels.euclidean_norm(part) for part in self.groups_of(coef)])

    def row_point(self, theta: Array) -> RowPoint:
        return KernelPoint(self, theta)

    @cached_property
    def squares(self) -> Array:
        """With sum_i c_i E_ii for the features left out."""
        squares = self.design.column_norms(self.weights) ** 2
        for end, factor in zip(self.ends, self.factors, strict=True):
            squares[end - 1] = float(self.weights @ factor.residual)
        return np.append(squares, 1.0) if self.fit_intercept else squares

    def residual_cost(self, theta: Array, upper: float) -> float:
        """About what the residuals take off the bound of a dual point."""
        v = KernelPoint(self, theta).products(precise=False)[0]
        without = v.copy()
        without[self.ends - 1] = 0.0
        penalty, radius = self.penalty, upper / self.alpha
        costs = [penalty.bounded_conjugate(u, self.alpha, radius) for u in (v, without)]
        return float(costs[0] - costs[1])

    @property
    def has_pairs(self) -> bool:
        """Whether its dual is half a square of one kernel, with losses of quadratic pieces."""
        loss, penalty = self.loss, self.penalty
        own_method = loss.is_compiled and loss.piecewise_quadratic and not loss.constant_curvature
        return own_method and len(self.matrices) == 1 and penalty == SquaredL2()

    @property
    def features_say_nothing(self) -> bool:
        cost = self.residual_cost(self.null_point.dual_coef, self.null_objective)
        return cost <= FLAT * self.null_objective and super().features_say_nothing

    @property
    def is_complete(self) -> bool:
        """Whether the factors are as accurate as they can be."""
        return all(factor.is_complete for factor in self.factors)

    def expanded(self, point: Point, accuracy: float = 0.0) -> ExpandedModel:
        """The model of a point as sums over the rows, with weights at the pivots.

        Its objective value is computed anew, in twice the working precision where rounding costs
        more than ``accuracy``.
        """
        parts = zip(self.factors, self.groups_of(point.coef), strict=True)
        weights = np.stack([f.weights(w) for f, w in parts])
        return self._expansion(weights, point.intercept, accuracy)

    def expanded_by_dual(self, point: Point, accuracy: float = 0.0) -> ExpandedModel:
        """The model that its dual point makes: sparse where the loss makes that sparse."""
        x = self.weights * point.dual_coef
        return self._expansion(-np.outer(self.scales_of(point), x), point.intercept, accuracy)

    def _expansion(self, weights: Array, intercept: float, accuracy: float) -> ExpandedModel:
        """By plain products where these will do."""
        for precise in (False, True):
            most, least, norms = self._objective_of(weights, intercept, precise)
            if most - least <= accuracy:
                break
        return ExpandedModel(weights, float(intercept), norms, most)

    def _objective_of(
        self, weights: Array, intercept: float, precise: bool
    ) -> tuple[float, float, Array]:
        """P rounded up, and without its rounding errors; and ||f_k||."""
        z, low, error = np.full((3, self.n_samples), [[float(intercept)], [0.0], [0.0]])
        norms, most_norms = np.zeros(self.n_features), np.zeros(self.n_features)
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
        """The same with other factors, and with the design that these make."""
        assert self.penalty_of is not None
        if design is None:
            design = _features(factors)
        penalty = self.penalty_of(_labels(factors))
        return replace(self, design=design, penalty=penalty, factors=factors, workspace=None)

    def with_residuals(self, traces: list[float]) -> "KernelProblem":
        """The same with factors whose residuals have at most these traces, where they can."""
        pairs = zip(self.matrices, traces, strict=True)
        return self.with_factors(tuple(matrix.factor(trace) for matrix, trace in pairs))

    def start_at(self, coarser: "KernelProblem", point: Any) -> Point:
        """A point of a problem of coarser factors: the functions of its dual point."""
        x = self.weights * point.dual_coef
        parts = []
        scales = coarser.scales_of(point)
        for factor, scale in zip(self.factors, scales, strict=True):
            parts += [-scale * (factor.table.T @ x), np.zeros(1)]
        return Point(np.concatenate(parts), point.intercept, point.dual_coef)

    def scales_of(self, point: Any) -> Array:
        """||f_k|| / ||v_k||: at the optimum f_k is - scale_k sum_i c_i theta_i k_k(x_i, .)."""
        x = self.weights * point.dual_coef
        sizes = np.sqrt([max(matrix.squared_norm(x)[0], 0.0) for matrix in self.matrices])
        norms = self.norms_of(point.coef)
        return np.divide(norms, sizes, out=np.zeros_like(norms), where=sizes > 0.0)

    def residual_traces(self, tol: float) -> list[float]:
        """Traces of residuals that cannot cost a bound a part of a relative gap that matters.

        (c theta)' E (c theta) is at most the trace of E times ||c theta||^2, which is at most
        sum_i c_i^2 times the square of the Lipschitz constant of the loss, or, as the square of
        its slope is at most 2 smoothness l, 2 smoothness P max(c). A bound loses half of it over
        alpha by a squared norm, and about P over alpha^2 times that by a norm.
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
    """A dual point with its products with the features that the factors leave out."""

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
    """Problems of the same rows, with factors that are accurate enough for a relative gap.

    They have empty factors where `KernelProblem.has_pairs`.

    Parameters
    ----------
    matrices : list of KernelMatrix
    targets : sequence of ndarray of shape (n_samples,)
        The y of each problem.
    weights, loss, alpha, fit_intercept, total_weight
        As for `skpd.problems.Problem`.
    penalty_of : callable
        The penalty, of the number of the kernel to which each coefficient belongs.
    tol : float
        The relative gap.
    n_parallel : int, default=1
        How many of the problems are solved at a time.

    Returns
    -------
    problems : list of KernelProblem
    """
    empty = tuple(KernelFactor.empty(matrix.diagonal) for matrix in matrices)
    design, labels = _features(empty), _labels(empty)
    problems = [
        KernelProblem(
            design, y, weights, loss, penalty_of(labels), alpha, fit_intercept, total_weight,
            matrices=tuple(matrices), factors=empty, penalty_of=penalty_of,
        )
        for y in targets
    ]  # fmt: skip
    if problems[0].has_pairs:  # which asks for K alone
        return problems
    traces = np.min([problem.residual_traces(tol) for problem in problems], axis=0)
    pairs = zip(matrices, traces.tolist(), strict=True)
    factors = tuple(matrix.factor(trace) for matrix, trace in pairs)
    design = _features(factors).shared_by(n_parallel)
    return [problem.with_factors(factors, design) for problem in problems]


def _labels(factors: tuple[KernelFactor, ...]) -> Array:
    """The number of the kernel of each column: those of its factor, and that of the residual."""
    return np.repeat(np.arange(len(factors)), [factor.rank + 1 for factor in factors])


def _features(factors: tuple[KernelFactor, ...]) -> Design:
    """The columns of all factors, and zeros for the residuals."""
    if len(factors) == 1:
        return Design(factors[0].padded)
    return Design(np.hstack([factor.padded for factor in factors]))
