"""The l1 norm of linear combinations of the coefficients, such as differences over a graph."""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog, lsq_linear
from scipy.sparse.csgraph import connected_components

from .. import kernels
from .._checks import check_array
from .._floats import EPSILON
from .._typing import Array, ArrayLike, MatrixLike, Table
from .base import cached_attribute
from .cones import PenaltyCones
from .total_variation import Chained

SAFE = 0.5  # factor on the computed least singular value, which makes it a lower bound
SINGULAR = 1e-9  # singular values below this times the largest one count as 0
LEVEL = 1e-12  # a row whose sum is below this times its l1 norm is 0 at constant vectors
PROX = 1e-12  # the relative accuracy of the prox
NOTHING = 1e-12  # coefficients of the prox below this times the largest one count as 0
KEPT = 32  # number of solutions of linear programmes that are kept


class _OfCombinations(Chained):
    """The norm ||D w||_1 for a matrix D whose null space is 0 or the constant vectors.

    The dual norm is the least ``max_e |u_e|`` with ``D'u = v``. A linear programme finds u. The
    effect of the remainder v - D'u is bounded with the least singular value of D, so that
    `dual_norm` is never too small.
    """

    @property
    @abstractmethod
    def combinations(self) -> Table:
        """D, as a sparse array."""

    @cached_attribute
    def free_level(self) -> bool:
        """Whether D m = 0 for constant vectors m."""
        sums = np.abs(self.combinations.sum(axis=1))
        return bool(np.all(sums <= LEVEL * abs(self.combinations).sum(axis=1)))

    @cached_property
    def _least_singular(self) -> float:
        """A lower bound on the least non-zero singular value of D."""
        rank = self.combinations.shape[1] - self.free_level
        values = np.linalg.svd(self.combinations.toarray(), compute_uv=False)
        if len(values) < rank or not values[rank - 1] > SINGULAR * values[0]:
            raise ValueError(
                f"{type(self).__name__} needs a matrix whose null space is 0, or the constant "
                f"vectors alone, got one of a rank below {rank}. Add rows: small multiples of the "
                "identity, or edges of a small weight that join the parts of a graph."
            )
        return SAFE * float(values[rank - 1])

    def for_n_features(self, n_features: int) -> Self:
        if n_features != self.combinations.shape[1]:
            raise ValueError(
                f"{type(self).__name__} is of {self.combinations.shape[1]} features, got "
                f"{n_features}."
            )
        return self

    def value(self, w: Array) -> float:
        return kernels.sum_abs(self.combinations @ w)

    def prox(self, w: Array, step: Array | float) -> Array:
        bound = float(np.max(step))
        if bound == 0.0:
            return np.array(w)
        matrix = self.combinations.toarray().T
        solution = lsq_linear(matrix, w, bounds=(-bound, bound), method="bvls", tol=PROX)
        x = w - matrix @ solution.x
        level = float(np.mean(w)) if self.free_level else 0.0
        if kernels.max_abs(x - level) <= NOTHING * kernels.max_abs(w):  # a rounding error
            return np.full_like(w, level)
        return x

    def dual_norm(self, v: Array) -> float:
        values, error = (v[0], v[1]) if v.ndim == 2 else (v, np.zeros_like(v))
        level = float(np.mean(values)) if self.free_level else 0.0
        centred = values - level
        if not np.isfinite(centred).all():
            return np.inf
        if kernels.max_abs(centred) == 0.0 and not error.any():
            return 0.0
        multipliers = self._known_multipliers(centred)
        residual = centred - self.combinations.T @ multipliers
        # a bound on the rounding errors of the product, the difference and the mean
        rounding = abs(self.combinations).T @ np.abs(multipliers) + np.abs(values) + abs(level)
        rounding = (len(multipliers) + len(values)) * EPSILON * rounding
        remainder = kernels.euclidean_norm(np.abs(residual) + rounding + 2.0 * error)
        norm = kernels.max_abs(multipliers) + remainder / self._least_singular
        return norm * (1.0 + 4.0 * EPSILON)

    def _known_multipliers(self, v: Array) -> Array:
        """The result of `_multipliers`, cached for the last few v.

        A certificate needs the dual norm of the same v several times.
        """
        cache, key = self._last, v.tobytes()
        if key not in cache:
            if len(cache) >= KEPT:
                cache.clear()
            cache[key] = self._multipliers(v)
        return cache[key]

    @cached_property
    def _last(self) -> dict[bytes, Array]:
        return {}

    def _multipliers(self, v: Array) -> Array:
        """A solution u of D'u = v, up to rounding, with the least maximum norm."""
        size = kernels.max_abs(v) or 1.0
        D, m = self.combinations, self.combinations.shape[0]
        ones = np.ones((m, 1))
        sides = [sp.hstack([side * sp.eye_array(m), -ones]) for side in (1.0, -1.0)]
        equal = sp.hstack([D.T, sp.csr_array((D.shape[1], 1))])
        solution = linprog(
            np.append(np.zeros(m), 1.0), A_ub=sp.vstack(sides), b_ub=np.zeros(2 * m), A_eq=equal,
            b_eq=v / size, bounds=(None, None), method="highs",
        )  # fmt: skip
        u = size * solution.x[:m] if solution.x is not None else np.zeros(m)
        # least squares remove the residual that the tolerance of the programme leaves
        return u + np.linalg.lstsq(D.T.toarray(), v - D.T @ u, rcond=None)[0]

    def conjugate(self, v: Array, alpha: float) -> float:
        values, error = (v[0], v[1]) if v.ndim == 2 else (v, np.zeros_like(v))
        if self.free_level and (float(np.sum(values)) != 0.0 or error.any()):
            return np.inf
        return super().conjugate(v, alpha)

    def add_cones(self, cones: PenaltyCones, alpha: float) -> None:
        cones.add_combinations(self.combinations.toarray(), alpha)


@dataclass(frozen=True, eq=False)
class GeneralizedLasso(_OfCombinations):
    """Generalized lasso penalty, ``||D w||_1`` for a matrix D (Tibshirani and Taylor, 2011).

    The null space of D must be 0 or the constant vectors; in the second case the level of the
    coefficients is not penalised, as with `TotalVariation`.

    Parameters
    ----------
    matrix : array-like or sparse matrix of shape (n_rows, n_features)
        D.

    Raises
    ------
    ValueError
        If D is not a matrix of finite numbers, or if its null space is neither of these.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.penalties import GeneralizedLasso
    >>> second_differences = np.diff(np.eye(4), n=2, axis=0)
    >>> penalty = GeneralizedLasso(np.vstack([second_differences, 0.1 * np.eye(4)]))
    >>> float(round(penalty.value(np.array([0.0, 1.0, 2.0, 3.0])), 6))
    0.6
    """

    matrix: MatrixLike

    def __post_init__(self) -> None:
        _ = self._least_singular  # raises if the null space is not allowed

    @cached_property
    def combinations(self) -> Table:
        matrix = self.matrix
        if isinstance(matrix, sp.sparray | sp.spmatrix):
            matrix = matrix.toarray()
        table = np.asarray(matrix, dtype=np.float64)
        if table.ndim != 2 or 0 in table.shape or not np.isfinite(table).all():
            raise ValueError(
                "matrix of GeneralizedLasso must hold finite numbers in the shape (n_rows, "
                f"n_features), got an array of shape {table.shape}."
            )
        return sp.csr_array(table)


@dataclass(frozen=True, eq=False)
class GraphTotalVariation(_OfCombinations):
    """Total variation over a connected graph, the sum of ``weight_e |w_i - w_j|`` over its edges.

    The penalty favours equal coefficients of neighbours, and does not penalise their level.

    Parameters
    ----------
    edges : array-like of int, of shape (n_edges, 2)
        The features i and j that each edge connects, from 0 on.
    weights : array-like of shape (n_edges,), default=None
        Weights of the edges, greater than 0; 1 by default.

    Raises
    ------
    ValueError
        If edges are not pairs of different features, if weights are not greater than 0, or if the
        graph is not connected.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.penalties import GraphTotalVariation
    >>> ring = GraphTotalVariation([[0, 1], [1, 2], [2, 3], [3, 0]])
    >>> ring.value(np.array([0.0, 0.0, 1.0, 1.0]))
    2.0
    """

    edges: ArrayLike
    weights: ArrayLike | None = None

    def __post_init__(self) -> None:
        parts, _ = connected_components(abs(self.combinations.T) @ abs(self.combinations))
        if parts > 1:
            raise ValueError(
                "edges of GraphTotalVariation must connect all features from 0 to "
                f"{self.combinations.shape[1] - 1}, got a graph of {parts} parts. Join them by "
                "edges of a small weight."
            )
        _ = self._least_singular

    @cached_property
    def combinations(self) -> Table:
        pairs = np.asarray(self.edges)
        if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
            raise ValueError(
                "edges of GraphTotalVariation must be pairs of whole numbers, got an array of "
                f"shape {pairs.shape} and type {pairs.dtype}."
            )
        if len(pairs) == 0 or pairs.min() < 0 or np.any(pairs[:, 0] == pairs[:, 1]):
            raise ValueError("edges of GraphTotalVariation must connect two different features.")
        edge_weights = np.ones(len(pairs)) if self.weights is None else self.weights
        weights = check_array("weights of GraphTotalVariation", edge_weights, minimum=0.0)
        if np.shape(weights) != (len(pairs),) or not np.all(weights > 0.0):
            raise ValueError(
                f"weights of GraphTotalVariation must be {len(pairs)} numbers greater than 0, one "
                f"for each edge, got {self.weights!r}."
            )
        rows, shape = np.arange(len(pairs)), (len(pairs), int(pairs.max()) + 1)
        first, second = (sp.csr_array((weights, (rows, ends)), shape=shape) for ends in pairs.T)
        return sp.csr_array(first - second)
