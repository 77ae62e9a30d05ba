"""The penalty in a quadratic model of a vector of coefficients."""

from abc import ABC, abstractmethod

import numpy as np

from ... import kernels
from ..._typing import Array, Indices
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
            minimise_by_proximal_points(_GroupedQuadratic(H, self), p, r, tol)

    def norms(self, w: Array) -> Array:
        """The Euclidean norms of the groups."""
        squares = w[: self.starts[-1]] ** 2
        return np.sqrt(np.add.reduceat(squares, self.starts[:-1])) if len(squares) else squares

    def of_coordinates(self, of_groups: Array) -> Array:
        """A number of each group for each of its coordinates."""
        return np.repeat(of_groups, np.diff(self.starts))


class _VectorQuadratic(ABC):
    """A matrix H with a penalty, for proximal points."""

    def __init__(self, H: Array) -> None:
        self.H, self.mean_curvature = H, float(np.mean(H.diagonal()))

    def times(self, change: Array) -> Array:
        return product_of_symmetric(self.H, change)

    @abstractmethod
    def prox(self, V: Array, step: float) -> Array:
        """See `PenalisedQuadratic.prox`."""

    @abstractmethod
    def support(self, Z: Array) -> Indices:
        """The coordinates at no kink."""

    @abstractmethod
    def add_curvature(self, matrix: Array, Z: Array, support: Indices) -> None:
        """Add the second derivatives of the penalty at Z to a matrix over the support."""

    def solve(self, right: Array, Z: Array, ridge: float, precise: bool) -> tuple[Array, Array]:
        support = self.support(Z)
        matrix, solution = self.H[np.ix_(support, support)], np.zeros_like(Z)
        matrix.ravel()[:: len(support) + 1] += ridge
        self.add_curvature(matrix, Z, support)
        solution[support] = solution_of_positive(matrix, right[support], precise)
        return solution, self.times(solution)


class _GroupedQuadratic(_VectorQuadratic):
    def __init__(self, H: Array, penalty: GroupedPart) -> None:
        super().__init__(H)
        self.penalty = penalty

    def prox(self, V: Array, step: float) -> Array:
        penalty, p = self.penalty, V.copy()
        penalised = p[: penalty.starts[-1]]
        sizes = np.maximum(np.abs(penalised) - step * penalty.l1, 0.0)
        penalised[:] = np.copysign(sizes, penalised)
        norms = penalty.norms(p)
        left = np.maximum(norms - step * penalty.weights, 0.0)
        penalised *= penalty.of_coordinates(left / np.where(norms > 0.0, norms, 1.0))
        return p

    def support(self, Z: Array) -> Indices:
        penalty, inside = self.penalty, np.ones(len(Z), dtype=bool)
        n_penalised = penalty.starts[-1]
        inside[:n_penalised] = penalty.of_coordinates(penalty.norms(Z)) > 0.0
        if penalty.l1 > 0.0:
            inside[:n_penalised] &= Z[:n_penalised] != 0.0
        return np.flatnonzero(inside)

    def add_curvature(self, matrix: Array, Z: Array, support: Indices) -> None:
        penalty, norms = self.penalty, self.penalty.norms(Z)
        ends, diagonal = np.searchsorted(support, penalty.starts), np.zeros(len(support))
        # the second derivative D (I - u u') of the norm of a group, with D = weight / ||z||
        for g in np.flatnonzero(norms):
            group = slice(ends[g], ends[g + 1])
            u, D = Z[support[group]] / norms[g], penalty.weights[g] / norms[g]
            matrix[group, group] -= D * np.outer(u, u)
            diagonal[group] = D
        matrix.ravel()[:: len(support) + 1] += diagonal


class SeparablePart:
    """The penalty alpha R on the working set, R = sum_j l1 |w_j| + l2 w_j^2 / 2 within bounds."""

    def __init__(self, penalty: SeparablePenalty, alpha: float, columns: Indices) -> None:
        self.columns, self.penalty, self.alpha = columns, restricted(penalty, columns), alpha
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
            minimise_by_proximal_points(_SeparableQuadratic(H, self), p, r, tol)


class _SeparableQuadratic(_VectorQuadratic):
    def __init__(self, H: Array, part: SeparablePart) -> None:
        super().__init__(H)
        self.part, self.n_penalised = part, len(part.columns)
        self.l2 = np.broadcast_to(part.penalty.terms[1], self.n_penalised)

    def prox(self, V: Array, step: float) -> Array:
        p, k = V.copy(), self.n_penalised
        p[:k] = self.part.penalty.prox(V[:k], step * self.part.alpha)
        return p

    def support(self, Z: Array) -> Indices:
        inside, k = np.ones(len(Z), dtype=bool), self.n_penalised
        inside[:k] = self.part.penalty.is_smooth_at(Z[:k])
        return np.flatnonzero(inside)

    def add_curvature(self, matrix: Array, Z: Array, support: Indices) -> None:
        penalised = support[: np.searchsorted(support, self.n_penalised)]
        diagonal = matrix.ravel()[:: len(support) + 1]
        diagonal[: len(penalised)] += self.part.alpha * self.l2[penalised]
