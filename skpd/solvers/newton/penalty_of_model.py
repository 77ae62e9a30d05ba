"""The penalty in a quadratic model of a vector of coefficients."""

import numpy as np

from ... import kernels
from ..._typing import Array, Indices, Mask
from ...designs.gram import MatrixCurvature, product_of_symmetric
from ...penalties import GroupElasticNet, GroupL2
from ...penalties.separable import SeparablePenalty
from ...penalties.weighted import restricted
from .proximal_points import (
    minimise_by_proximal_points,
    solution_of_positive,
    sweep_while_it_converges,
)
from .settings import QUADRATIC


class GroupedPart:
    """The penalty alpha R on the working set, with R = sum_j l1 |w_j| + sum_g weight_g ||w_g||.

    The coordinates of a group follow each other, and those without a penalty are the last.
    """

    def __init__(self, penalty: GroupL2 | GroupElasticNet, alpha: float, columns: Indices) -> None:
        labels = penalty.labels[columns]
        l1, group_weights = penalty.group_terms
        self.order = np.argsort(labels, kind="stable")
        labels = labels[self.order]
        first = np.diff(labels, prepend=-1) > 0  # whether a feature is the first of its group
        self.n_penalised = len(labels)
        self.starts = np.append(np.flatnonzero(first), len(labels))
        self.l1, self.weights = alpha * l1, alpha * group_weights[labels[first]]
        self.coordinates = kernels.GroupedCoordinates(self.l1, self.weights, self.starts)

    def minimise(self, curvature: MatrixCurvature, p: Array, r: Array, tol: float) -> None:
        """Update p to a minimiser of the model, and the gradient r of its smooth part."""
        H, coordinates = curvature.matrix, self.coordinates
        if len(p) <= QUADRATIC.small_groups:
            change = kernels.minimise_grouped(
                H, coordinates, p, r, QUADRATIC.sweeps, tol, QUADRATIC.rounds
            )
            settled = change <= tol
        else:
            sweeps = QUADRATIC.sweeps_of_groups
            settled = sweep_while_it_converges(
                lambda: kernels.minimise_grouped(H, coordinates, p, r, sweeps, tol, rounds=1),
                tol, QUADRATIC.most_rounds,
            )  # fmt: skip
        if not settled:
            minimise_by_proximal_points(VectorQuadratic(H, self), p, r, tol)

    def curvatures(self, diagonal: Array) -> Array:
        """The means of the groups, as the norm of a group needs equal steps."""
        sizes = np.diff(self.starts)
        return self._of_coordinates(np.add.reduceat(diagonal, self.starts[:-1]) / sizes)

    def prox(self, V: Array, step: Array) -> Array:
        """The minimiser of sum_j (p_j - V_j)^2 / (2 step_j) + alpha R over penalised ones."""
        p = np.copysign(np.maximum(np.abs(V) - step * self.l1, 0.0), V)
        norms = self._norms(p)
        left = np.maximum(norms - step[self.starts[:-1]] * self.weights, 0.0)
        return p * self._of_coordinates(left / np.where(norms > 0.0, norms, 1.0))

    def is_smooth_at(self, Z: Array) -> Mask:
        """A mask of the penalised coordinates at no kink and no bound."""
        is_smooth: Mask = self._of_coordinates(self._norms(Z)) > 0.0
        return is_smooth & (Z != 0.0) if self.l1 > 0.0 else is_smooth

    def add_curvature(self, matrix: Array, Z: Array, support: Indices) -> None:
        """Add the second derivatives of the penalty at Z to a matrix over the support."""
        norms = self._norms(Z[: self.n_penalised])
        ends, diagonal = np.searchsorted(support, self.starts), np.zeros(len(support))
        # the second derivative D (I - u u') of the norm of a group, with D = weight / ||z||
        for g in np.flatnonzero(norms):
            group = slice(ends[g], ends[g + 1])
            u, D = Z[support[group]] / norms[g], self.weights[g] / norms[g]
            matrix[group, group] -= D * np.outer(u, u)
            diagonal[group] = D
        matrix.ravel()[:: len(support) + 1] += diagonal

    def _norms(self, penalised: Array) -> Array:
        """The Euclidean norms of the groups."""
        if not len(penalised):
            return penalised
        return np.sqrt(np.add.reduceat(penalised**2, self.starts[:-1]))

    def _of_coordinates(self, of_groups: Array) -> Array:
        """A number of each group for each of its coordinates."""
        return np.repeat(of_groups, np.diff(self.starts))


class SeparablePart:
    """The penalty alpha R on the working set, R = sum_j l1 |w_j| + l2 w_j^2 / 2 within bounds."""

    def __init__(self, penalty: SeparablePenalty, alpha: float, columns: Indices) -> None:
        self.columns, self.penalty, self.alpha = columns, restricted(penalty, columns), alpha
        self.n_penalised = len(columns)
        self.coordinates = self.penalty.kernel_terms(alpha, len(columns))

    def minimise(self, curvature: MatrixCurvature, p: Array, r: Array, tol: float) -> None:
        """Update p to a minimiser of the model, and the gradient r of its smooth part."""
        H, sweeps = curvature.matrix, QUADRATIC.sweeps + min(len(p) // 20, 20)
        few = len(p) <= QUADRATIC.few_coefficients
        rounds = QUADRATIC.most_rounds if few else QUADRATIC.rounds
        settled = kernels.minimise_separable(
            curvature.system, H, self.columns, self.coordinates, p, r, sweeps, tol, rounds
        )
        if not (settled or few):
            minimise_by_proximal_points(VectorQuadratic(H, self), p, r, tol)

    def curvatures(self, diagonal: Array) -> Array:
        """The curvatures themselves, as the penalty is a sum over the coordinates."""
        return diagonal

    def prox(self, V: Array, step: Array) -> Array:
        """The minimiser of sum_j (p_j - V_j)^2 / (2 step_j) + alpha R over penalised ones."""
        return self.penalty.prox(V, step * self.alpha)

    def is_smooth_at(self, Z: Array) -> Mask:
        """A mask of the penalised coordinates at no kink and no bound."""
        return self.penalty.is_smooth_at(Z)

    def add_curvature(self, matrix: Array, Z: Array, support: Indices) -> None:
        """Add the second derivatives of the penalty at Z to a matrix over the support."""
        penalised = support[: np.searchsorted(support, self.n_penalised)]
        l2 = np.broadcast_to(self.penalty.terms[1], self.n_penalised)
        diagonal = matrix.ravel()[:: len(support) + 1]
        diagonal[: len(penalised)] += self.alpha * l2[penalised]


class VectorQuadratic:
    """A matrix H with a penalty, for proximal points."""

    def __init__(self, H: Array, part: GroupedPart | SeparablePart) -> None:
        self.H, self.part, self.curvatures = H, part, H.diagonal().copy()
        k = part.n_penalised
        self.curvatures[:k] = part.curvatures(self.curvatures[:k])

    def times(self, change: Array) -> Array:
        return product_of_symmetric(self.H, change)

    def prox(self, V: Array, step: Array) -> Array:
        p, k = V.copy(), self.part.n_penalised
        p[:k] = self.part.prox(V[:k], step[:k])
        return p

    def solve(self, right: Array, Z: Array, ridge: Array, precise: bool) -> tuple[Array, Array]:
        inside, k = np.ones(len(Z), dtype=bool), self.part.n_penalised
        inside[:k] = self.part.is_smooth_at(Z[:k])
        support = np.flatnonzero(inside)
        matrix, solution = self.H[np.ix_(support, support)], np.zeros_like(Z)
        matrix.ravel()[:: len(support) + 1] += ridge[support]
        self.part.add_curvature(matrix, Z, support)
        solution[support] = solution_of_positive(matrix, right[support], precise)
        return solution, self.times(solution)
