"""The penalty in a quadratic model of a vector of coefficients."""

import numpy as np
from scipy.linalg.lapack import dposv

from ... import kernels
from ..._typing import Array, Indices
from ...designs.gram import MatrixCurvature
from ...designs.threads import blas_threads_for
from ...penalties import GroupElasticNet, GroupL2, Penalty
from ...penalties.weighted import restricted
from .settings import QUADRATIC


class GroupedPart:
    """The penalty alpha R on the working set, with R = sum_j l1 |w_j| + sum_g weight_g ||w_g||."""

    def __init__(self, penalty: GroupL2 | GroupElasticNet, alpha: float, columns: Indices) -> None:
        labels = penalty.labels[columns]
        l1, group_weights = penalty.group_terms
        self.l1 = alpha * l1
        self.order = np.argsort(labels, kind="stable")
        labels = labels[self.order]
        first = np.diff(labels, prepend=-1) > 0  # whether a feature is the first of its group
        self.starts = np.append(np.flatnonzero(first), len(labels))
        self.weights = alpha * group_weights[labels[first]]
        self.groups = np.cumsum(first) - 1
        self.coordinates = kernels.GroupedCoordinates(self.l1, self.weights, self.starts)

    def minimise(self, curvature: MatrixCurvature, p: Array, r: Array, tol: float) -> None:
        """Update p to a minimiser of the model, and the gradient r of its smooth part."""
        H = curvature.matrix
        with blas_threads_for(len(p)):
            for _ in range(QUADRATIC.most_rounds):
                change = kernels.block_coordinate_descent(
                    H, self.coordinates, p, r, QUADRATIC.sweeps, tol
                )
                if change <= tol:
                    break
                self.newton_step(H, p, r)

    def newton_step(self, H: Array, p: Array, r: Array) -> None:
        """Take a Newton step on the coordinates that are not at a kink.

        Those that cross a kink stop there.
        """
        support = self.support(p)
        support = support[H[support, support] > 0.0]
        k = len(support)
        if k == 0:
            return
        system = H.take(support, axis=0).take(support, axis=1)
        slope = r[support] + self.add_derivatives(p[support], support, system)
        system.ravel()[:: k + 1] *= QUADRATIC.diagonal_factor
        _, step, info = dposv(system.T, slope, lower=True, overwrite_a=True)
        if info == 0:
            self.move(H, p, r, support, -step)

    def support(self, p: Array) -> Indices:
        inside = np.ones(len(p), dtype=bool)
        n_penalised = len(self.groups)
        if self.l1 > 0.0:
            inside[:n_penalised] = p[:n_penalised] != 0.0
        else:
            inside[:n_penalised] = self._norms(p[:n_penalised], self.groups)[self.groups] > 0.0
        return np.flatnonzero(inside)

    def _norms(self, p: Array, groups: Indices) -> Array:
        return np.sqrt(np.bincount(groups, p * p, minlength=len(self.weights)))

    def add_derivatives(self, p: Array, support: Indices, system: Array) -> Array:
        """Add the second derivatives to the system, and return the first.

        With u = p_g / ||p_g|| they are l1 sign(p) + weight u, and (weight / ||p_g||) (I - u u').
        """
        k = int(np.searchsorted(support, len(self.groups)))
        groups = self.groups[support[:k]]
        norms = self._norms(p[:k], groups)[groups]
        u, weights = p[:k] / norms, self.weights[groups]
        system[np.arange(k), np.arange(k)] += weights / norms
        counts = np.bincount(groups, minlength=len(self.weights))
        first = np.cumsum(counts) - counts
        row = np.repeat(np.arange(k), counts[groups])  # all pairs within a group
        column = np.arange(len(row)) - np.repeat(
            np.cumsum(counts[groups]) - counts[groups], counts[groups]
        )
        column += first[groups[row]]
        system[row, column] -= (weights / norms * u)[row] * u[column]
        slope = np.zeros(len(p))
        slope[:k] = weights * u + self.l1 * np.sign(p[:k])
        return slope

    def value(self, p: Array, support: Indices) -> float:
        penalised = support < len(self.groups)
        norms = self._norms(p[penalised], self.groups[support[penalised]])
        return float(self.weights @ norms + self.l1 * np.sum(np.abs(p[penalised])))

    def clip(self, before: Array, after: Array, support: Indices) -> Array:
        if self.l1 == 0.0:
            return after
        penalised = support < len(self.groups)
        return np.where(penalised & (after * before < 0.0), 0.0, after)

    def move(self, H: Array, p: Array, r: Array, support: Indices, step: Array) -> None:
        before = p[support]
        value, change = self.value(before, support), np.zeros_like(p)
        for length in 0.5 ** np.arange(7):
            after = self.clip(before, before + length * step, support)
            change[support] = after - before
            response = H @ change
            if change @ (r + 0.5 * response) + self.value(after, support) < value:
                p[support] = after
                r += response
                return


class SeparablePart:
    """The penalty alpha R on the working set, R = sum_j l1 |w_j| + l2 w_j^2 / 2 within bounds."""

    def __init__(self, penalty: Penalty, alpha: float, columns: Indices) -> None:
        self.columns = columns
        self.coordinates = restricted(penalty, columns).kernel_terms(alpha, len(columns))

    def minimise(self, curvature: MatrixCurvature, p: Array, r: Array, tol: float) -> None:
        """Update p to a minimiser of the model, and the gradient r of its smooth part."""
        sweeps = QUADRATIC.sweeps + min(len(p) // 20, 20)
        kernels.minimise_separable(
            curvature.system, curvature.matrix, self.columns, self.coordinates, p, r, sweeps,
            tol, QUADRATIC.most_rounds,
        )  # fmt: skip
