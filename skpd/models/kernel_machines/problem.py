"""Kernel machines: functions f_k in the Hilbert spaces (RKHS) of one or several kernels.

With K_k the RKHS kernel matrices between the rows, c weights that sum to 1, and R a function of
the norms of the f_k,

    primal   P(f, b) = sum_i c_i l_i(sum_k f_k(x_i) + b) + alpha R(||f_1||, ||f_2||, ...)
    dual     D(theta) = - sum_i c_i l_i*(theta_i) - (alpha R)*(||v_1||, ||v_2||, ...)
             where ||v_k||^2 = (c theta)' K_k (c theta).

A solver uses a decomposition K_k = L_k L_k' + E_k with a low-rank factor L_k
(`skpd.models.kernel_machines.matrix.KernelMatrix`). The columns of L_k are features, with a group
of coefficients w_k such that ||f_k|| = ||w_k||. This problem is over a subset of all functions, so
that its objective values are upper bounds. The products of a dual point with the residual
features, those of a factor of E_k, are not computed one by one. But their norm is known, as
||v_k||^2 is computed from K_k itself. Each group has an additional coefficient that stands for the
residual features. Its column of the design is 0, and the product of a dual point with it is that
norm, rounded up. So a bound is valid whatever the accuracy of the factor.

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
from dataclasses import dataclass
from functools import cached_property
from math import inf, sqrt

import numpy as np

from ..._floats import EPSILON
from ..._immutable_base import attribute_of_part
from ..._typing import Array, Indices
from ...losses import Loss
from ...penalties import Penalty, SquaredL2
from ...problems.in_memory import RowsInMemory
from ...problems.problem import Problem
from ...problems.regularisation import Regularisation
from ...problems.solution import Point, Solution
from .factor import KernelFactor
from .features import KernelFeatures, KernelRows
from .kernel_norm import SquaredKernelNorm
from .matrix import KernelMatrix
from .pair_descent import BY_PAIRS

PenaltyOf = Callable[[Indices], Penalty]
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
class KernelMachine:
    """A problem of features of kernel matrices, and the functions that its coefficients stand for.

    Parameters
    ----------
    problem : Problem
        A problem whose design is `skpd.models.kernel_machines.features.KernelFeatures`, or
        `skpd.models.kernel_machines.features.KernelRows` for one kernel and half the squared norm
        (`in_rows`).
    penalty_of : callable
        Returns the penalty, a function of the Euclidean norms of groups of coefficients, for a
        vector with the index of the kernel of each coefficient.
    """

    problem: Problem
    penalty_of: PenaltyOf

    @property
    def has_pairs(self) -> bool:
        """Whether the method of pairs applies: one kernel, squared norm, piecewise quadratic loss.

        Losses with constant curvature are excluded.
        """
        loss, penalty = self.problem.loss, self.problem.penalty
        own_method = loss.is_compiled and loss.piecewise_quadratic and not loss.constant_curvature
        return own_method and len(self.matrices) == 1 and penalty == SquaredL2()

    @property
    def in_rows(self) -> "KernelMachine":
        """The problem of one kernel and half the squared norm in weights of the rows.

        A method that works on K itself needs no factor.
        """
        (matrix,) = self.matrices
        rows = self.problem.rows.with_design(KernelRows(matrix))
        regularisation = Regularisation(SquaredKernelNorm(matrix), self.problem.alpha)
        return KernelMachine(Problem(rows, regularisation, plan=BY_PAIRS), self.penalty_of)

    @property
    def features(self) -> KernelFeatures:
        """The features of the kernel matrices, where the data are not K itself."""
        return self.problem.design.as_kind(KernelFeatures)

    # The weights of the rows in the function of each kernel, and the norms of these functions.
    weights_of_rows = attribute_of_part("problem.design.weights_of_rows")
    norms_of_functions = attribute_of_part("problem.design.norms_of_functions")

    matrices = attribute_of_part("problem.design.matrices")

    @property
    def is_complete(self) -> bool:
        """Whether all factors have reached the largest possible accuracy."""
        return all(factor.is_complete for factor in self.features.factors)

    # Functions

    def expanded(self, point: Point, accuracy: float = 0.0) -> ExpandedModel:
        """The model of a point as sums over the rows.

        Its objective value is recomputed, in twice the working precision where rounding errors are
        larger than ``accuracy``.
        """
        weights = self.weights_of_rows(point.coef)
        return self._expansion(weights, point.intercept, accuracy)

    def expanded_by_dual(self, point: Point, accuracy: float = 0.0) -> ExpandedModel:
        """The model f_k = -scale_k sum_i c_i theta_i k_k(x_i, .) of a dual point.

        Its weights are sparse where the dual point is, up to rounding: the projections of a
        certificate move zeros by rounding errors, which would make support vectors of all rows.
        """
        x = self.problem.weights * point.dual_coef
        # the largest norms of the functions x_i k(x_i, .)
        sizes = np.abs(x) * np.max([matrix.sizes for matrix in self.matrices], axis=0)
        x = np.where(sizes > EPSILON * np.max(sizes), x, 0.0)
        return self._expansion(-np.outer(self.scales_of(point), x), point.intercept, accuracy)

    def _expansion(self, weights: Array, intercept: float, accuracy: float) -> ExpandedModel:
        """The model with these weights, and its objective value with an error below ``accuracy``.

        Products in twice the working precision are used only where they are necessary.
        """
        for precise in (False, True):
            upper, value, norms = self._objective_of(weights, intercept, precise)
            if upper - value <= accuracy:
                break
        return ExpandedModel(weights, float(intercept), norms, upper)

    def _objective_of(
        self, weights: Array, intercept: float, precise: bool
    ) -> tuple[float, float, Array]:
        """The value P rounded up, P without bounds on rounding errors, and the norms ||f_k||."""
        problem, loss = self.problem, self.problem.loss
        z, low, error = np.full((3, problem.n_samples), [[float(intercept)], [0.0], [0.0]])
        norms, most_norms = np.zeros((2, len(self.matrices)))
        for k, (matrix, a) in enumerate(zip(self.matrices, weights, strict=True)):
            if a.any():
                product = matrix.product(a, precise)
                high, more, of_product = matrix.predictions_of(a, *product)
                z, low, error = z + high, low + more, error + of_product
                error += EPSILON * (np.abs(z) + np.abs(low))
                value, of_value = matrix.squared_norm_of(a, *product)
                norms[k] = sqrt(max(value, 0.0))
                most_norms[k] = sqrt(max(value + of_value, 0.0))
        upper = loss.largest_mean(problem.y, problem.weights, z, low, error)
        upper += problem.alpha * float(self._of_norms.value(most_norms))
        objective = float(np.sum(problem.weights * loss.value(problem.y, z, low)))
        objective += problem.alpha * float(self._of_norms.value(norms))
        upper = inf if np.isnan(upper) else float(upper) * (1.0 + 64.0 * EPSILON)
        return upper, objective, most_norms

    @cached_property
    def _of_norms(self) -> Penalty:
        """The penalty of functions with one coefficient each, their norms."""
        n_kernels = len(self.matrices)
        penalty: Penalty = self.penalty_of(np.arange(n_kernels)).for_n_features(n_kernels)
        return penalty

    def scales_of(self, point: Point | Solution) -> Array:
        """The ratios scale_k = ||f_k|| / ||v_k||.

        At the optimum f_k = -scale_k sum_i c_i theta_i k_k(x_i, .).
        """
        x = self.problem.weights * point.dual_coef
        sizes = np.sqrt([max(matrix.squared_norm(x)[0], 0.0) for matrix in self.matrices])
        norms = self.norms_of_functions(point.coef)
        return np.divide(norms, sizes, out=np.zeros_like(norms), where=sizes > 0.0)

    # Factors

    def with_design(self, design: KernelFeatures) -> "KernelMachine":
        """The problem with other factors."""
        regularisation = Regularisation(self.penalty_of(design.labels), self.problem.alpha)
        problem = Problem(self.problem.rows.with_design(design), regularisation)
        return KernelMachine(problem, self.penalty_of)

    def with_residuals(self, traces: list[float]) -> "KernelMachine":
        """The problem with factors whose residuals have at most these traces, if possible."""
        pairs = zip(self.matrices, traces, strict=True)
        factors = tuple(matrix.factor(trace) for matrix, trace in pairs)
        return self.with_design(KernelFeatures(self.matrices, factors))

    def start_at(self, coarser: "KernelMachine", point: Point | Solution) -> Point:
        """A starting point: the functions of a dual point for a problem with coarser factors."""
        x = self.problem.weights * point.dual_coef
        parts = []
        pairs = zip(self.features.factors, coarser.scales_of(point), strict=True)
        for factor, scale in pairs:
            parts += [-scale * (factor.table.T @ x), np.zeros(1)]
        return Point(np.concatenate(parts), point.intercept, point.dual_coef)

    def residual_cost(self, theta: Array, upper: float) -> float:
        """An estimate of the reduction of a bound by the residual features."""
        problem = self.problem
        v = problem.design.rmatvec_bounded(problem.weights, theta)[0]
        without = v.copy()
        without[self.features.ends - 1] = 0.0
        radius = upper / problem.alpha
        costs = [problem.penalty.bounded_conjugate(u, problem.alpha, radius) for u in (v, without)]
        return float(costs[0] - costs[1])

    def residual_traces(self, tol: float) -> list[float]:
        """Traces of residuals whose effect on a bound is small in comparison with ``tol``.

        The residual norm (c theta)' E (c theta) is at most the trace of E times ||c theta||^2.
        The latter is at most sum_i c_i^2 times the squared Lipschitz constant of the loss. It is
        also at most 2 smoothness P max(c), as the squared slope of a loss l is at most
        2 smoothness l. The bound decreases by the residual norm over 2 alpha for half the squared
        norm as penalty, and by about P / alpha^2 times it for a norm.
        """
        problem, upper = self.problem, self.problem.null_objective
        bounds = [inf]
        if problem.loss.lipschitz < inf:
            bounds.append(problem.loss.lipschitz**2 * float(problem.weights @ problem.weights))
        if problem.loss.smoothness < inf:
            largest_weight = float(np.max(problem.weights))
            bounds.append(2.0 * problem.loss.smoothness * upper * largest_weight)
        square = min(bounds)
        cost = RESIDUAL_SHARE * tol * problem.objective_unit
        if not 0.0 < square < inf:
            return [0.0] * len(self.matrices)
        per_trace = 0.5 * square / problem.alpha
        if problem.penalty.is_norm:
            per_trace *= upper / problem.alpha
        trace = cost / per_trace if per_trace > 0.0 else 0.0
        return [trace] * len(self.matrices)


def kernel_machines(
    matrices: list[KernelMatrix], targets: Sequence[Array], weights: Array, *, loss: Loss,
    penalty_of: PenaltyOf, alpha: float, fit_intercept: bool, tol: float,
    total_weight: float | None = None, n_parallel: int = 1, factored: bool = False,
) -> list[KernelMachine]:  # fmt: skip
    """Kernel machines of the same rows, with factors accurate enough for a relative gap.

    Their factors have no columns if `KernelMachine.has_pairs`, as the method of pairs uses K,
    unless they are asked for.

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
    factored : bool, default=False
        Whether there are factors in any case, as methods for features use them.

    Returns
    -------
    machines : list of KernelMachine
    """
    empty = tuple(KernelFactor.empty(matrix.diagonal) for matrix in matrices)
    design = KernelFeatures(tuple(matrices), empty)
    regularisation = Regularisation(penalty_of(design.labels), alpha)
    rows = [RowsInMemory(design, y, weights, loss, fit_intercept, total_weight) for y in targets]
    machines = [KernelMachine(Problem(each, regularisation), penalty_of) for each in rows]
    if factored or not machines[0].has_pairs:  # the method of pairs uses K, not a factor
        traces = np.min([machine.residual_traces(tol) for machine in machines], axis=0)
        pairs = zip(matrices, traces.tolist(), strict=True)
        factors = tuple(matrix.factor(trace) for matrix, trace in pairs)
        design = KernelFeatures(tuple(matrices), factors, n_parallel)
        machines = [machine.with_design(design) for machine in machines]
    return machines
