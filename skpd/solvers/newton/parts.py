"""The penalty in a quadratic model of a vector of coefficients."""

from functools import cached_property

import numpy as np

from ... import kernels
from ..._typing import Array, Indices
from ...penalties.weighted import restricted


class _Inverse:
    """The matrix diag(1 / d) + sum_g v_g v_g', with consecutive groups g of the first entries."""

    def __init__(self, d: Array, v: Array, starts: Indices) -> None:
        self.d, self.v, self.starts = d, v, starts

    def times(self, x: Array) -> Array:
        out, k = x / self.d, len(self.v)
        if k > 0:
            sums = np.add.reduceat(self.v * x[:k], self.starts)
            out[:k] += self.v * np.repeat(sums, np.diff(self.starts, append=k))
        return out

    def root_times(self, table: Array) -> Array:
        """A matrix F with F'F = table' M table, where M is this matrix."""
        root, k = table / np.sqrt(self.d)[:, np.newaxis], len(self.v)
        if k == 0:
            return root
        sums = np.add.reduceat(self.v[:, np.newaxis] * table[:k], self.starts, axis=0)
        return np.concatenate([root, sums])


class _GroupedPart:
    """The penalty alpha R on the working set, with R = sum_j l1 |w_j| + sum_g weight_g ||w_g||."""

    def __init__(self, penalty, alpha: float, columns: Indices) -> None:
        labels = penalty.labels[columns]
        l1, group_weights = penalty.group_terms
        self.l1 = alpha * l1
        self.order = np.argsort(labels, kind="stable")
        labels = labels[self.order]
        first = np.diff(labels, prepend=-1) > 0  # whether a feature is the first of its group
        self.starts = np.append(np.flatnonzero(first), len(labels))
        self.weights = alpha * group_weights[labels[first]]
        self.groups = np.cumsum(first) - 1

    def coordinates(self) -> kernels.GroupedCoordinates:
        return kernels.GroupedCoordinates(self.l1, self.weights, self.starts)

    def descend(self, H: Array, p: Array, r: Array, sweeps: int, tol: float) -> float:
        return kernels.block_coordinate_descent(
            H, self.starts, self.weights, self.l1, p, r, sweeps, tol
        )

    def sweeps(self, m: int) -> int:
        return 5

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
        k, norms = self._own(p, support)
        groups = self.groups[support[:k]]
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
        return self.first_derivatives(p, support)

    def first_derivatives(self, p: Array, support: Indices) -> Array:
        k, norms = self._own(p, support)
        slope = np.zeros(len(p))
        slope[:k] = self.weights[self.groups[support[:k]]] * p[:k] / norms
        slope[:k] += self.l1 * np.sign(p[:k])
        return slope

    def _own(self, p: Array, support: Indices) -> tuple[int, Array]:
        """The number of penalised coordinates in the support, and the norms of their groups."""
        k = int(np.searchsorted(support, len(self.groups)))
        groups = self.groups[support[:k]]
        return k, self._norms(p[:k], groups)[groups]

    def inverse_of_second(self, p: Array, support: Indices, ridge: Array) -> _Inverse:
        """The inverse of diag(d) - c u u' for each group, c = weight / ||p_g|| and d = ridge + c.

        The inverse divides by 1 - c sum_j u_j^2 / d_j, which is computed as
        sum_j u_j^2 ridge_j / d_j to avoid cancellation.
        """
        k, norms = self._own(p, support)
        groups = self.groups[support[:k]]
        u, c = p[:k] / norms, self.weights[groups] / norms
        diagonal = ridge.copy()
        diagonal[:k] += c
        starts = np.flatnonzero(np.diff(groups, prepend=-1))
        if k == 0:
            return _Inverse(diagonal, np.empty(0), starts)
        divisor = np.add.reduceat(u * u * ridge[:k] / diagonal[:k], starts)
        v = u / diagonal[:k] * np.sqrt(c / np.repeat(divisor, np.diff(starts, append=k)))
        return _Inverse(diagonal, v, starts)

    def value(self, p: Array, support: Indices) -> float:
        own = support < len(self.groups)
        norms = self._norms(p[own], self.groups[support[own]])
        return float(self.weights @ norms + self.l1 * np.sum(np.abs(p[own])))

    def clip(self, before: Array, after: Array, support: Indices) -> Array:
        if self.l1 == 0.0:
            return after
        own = support < len(self.groups)
        return np.where(own & (after * before < 0.0), 0.0, after)

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


class _SeparablePart:
    """The penalty alpha R on the working set, R = sum_j l1 |w_j| + l2 w_j^2 / 2 within bounds."""

    def __init__(self, penalty, alpha: float, columns: Indices, system) -> None:
        own = restricted(penalty, columns)
        self.terms = own.kernel_terms(alpha)
        self._given = alpha, own.terms
        self.columns, self.n_penalised = columns, len(columns)
        self.system = system or kernels.SupportSystem()

    @cached_property
    def _arrays(self) -> tuple[Array, Array, Array, Array]:
        """The arrays alpha l1, alpha l2, lower and upper of the features."""
        alpha, terms = self._given
        l1, l2, lower, upper = (np.broadcast_to(term, self.n_penalised) for term in terms)
        return alpha * l1, alpha * l2, lower, upper

    def coordinates(self) -> kernels.SeparableCoordinates:
        return kernels.SeparableCoordinates(self.terms, self.n_penalised)

    def descend(self, H: Array, p: Array, r: Array, sweeps: int, tol: float) -> float:
        return kernels.coordinate_descent(H, self.n_penalised, self.terms, p, r, sweeps, tol)

    def minimise(self, H: Array, p: Array, r: Array, sweeps: int, tol: float, rounds: int) -> None:
        kernels.minimise_separable(
            self.system, H, self.columns, self.terms, p, r, sweeps, tol, rounds
        )

    def sweeps(self, m: int) -> int:
        return 5 + min(m // 20, 20)

    def support(self, p: Array) -> Indices:
        inside = np.ones(len(p), dtype=bool)
        own, (l1, _, lower, upper) = p[: self.n_penalised], self._arrays
        inside[: self.n_penalised] = (own > lower) & (own < upper) & ((own != 0.0) | (l1 == 0.0))
        return np.flatnonzero(inside)

    def _of(self, support: Indices, numbers: Array) -> Array:
        """The numbers of the features in the support, and 0 for the intercept after them."""
        return np.append(numbers, np.zeros(2))[np.minimum(support, self.n_penalised)]

    def add_derivatives(self, p: Array, support: Indices, system: Array) -> Array:
        """Add the second derivatives to the system, and return the first."""
        system.ravel()[:: len(p) + 1] += self._of(support, self._arrays[1])
        return self.first_derivatives(p, support)

    def first_derivatives(self, p: Array, support: Indices) -> Array:
        l1, l2, _, _ = self._arrays
        return self._of(support, l1) * np.sign(p) + self._of(support, l2) * p

    def inverse_of_second(self, p: Array, support: Indices, ridge: Array) -> _Inverse:
        diagonal = ridge + self._of(support, self._arrays[1])
        return _Inverse(diagonal, np.empty(0), np.empty(0, dtype=np.int64))

    def move(self, H: Array, p: Array, r: Array, support: Indices, step: Array) -> None:
        kernels.step_on_support(H, self.n_penalised, self.terms, support, step, p, r)
